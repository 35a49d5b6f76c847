# Writes each of FILES as a NUL-terminated C array: weir_cuda.h becomes `const char weiri_weir_cuda_h[]`. Where one says
# `#include "x.h"` of a file in PARTS, that file's text stands instead: NVRTC is given one text.
#   cmake -DFILES="a;b" -DPARTS="c" -DOUT=embedded.c -P embed.cmake
# Bytes, not string literals: C11 promises no more than 4095 characters in one literal.
set(text "/* Written by cmake/embed.cmake. */\n#include \"embedded.h\"\n")
foreach(file ${FILES})
    file(READ "${file}" hex HEX)
    foreach(part ${PARTS})
        file(READ "${part}" inside HEX)
        get_filename_component(name "${part}" NAME)
        string(HEX "#include \"${name}\"\n" line)
        string(REPLACE "${line}" "${inside}" hex "${hex}")
    endforeach()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    if(bytes MATCHES "0x[89a-f]")
        string(FIND "${bytes}" "${CMAKE_MATCH_0}" at)
        math(EXPR at "${at} / 5")
        message(FATAL_ERROR "${file}: byte ${at} is not ASCII; NVRTC and the host compiler need plain ASCII")
    endif()
    string(REGEX REPLACE "(0x0a,)" "\\1\n" bytes "${bytes}") # a line of text a line
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "weiri_${name}" name)
    string(APPEND text "\nconst char ${name}[] = {\n${bytes}\n0x00};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
