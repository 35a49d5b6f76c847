#!/usr/bin/env lua5.4
-- What a host may count on: names, calls, size and dependencies of the shared library, and the installed CMake package.
local tap = require "tap"

local build = os.getenv "WEIR_BUILD" or "build"
local shared, archive = build .. "/libweir.so", build .. "/libweir.a"

-- Output of a shell command, and whether it succeeded.
local function sh(command)
  local pipe <close> = assert(io.popen("{ " .. command .. "; } 2>&1"))
  local text = pipe:read "a"
  return text, (pipe:close())
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

-- Names that nm prints for `what`, as a set.
local function symbols(what, path)
  local set = {}
  for line in sh(("nm -P %s %s"):format(what, path)):gmatch "[^\n]+" do
    local name = line:match "^([%w_.]+)%S* %a" -- "name@VERSION T 12f0 8"; an archive's members have lines of their own
    if name then set[name] = true end
  end
  return set
end

local function keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return table.concat(list, " ")
end

-- Keeps the names for which `test` holds.
local function where(set, test)
  local out = {}
  for name in pairs(set) do if test(name) then out[name] = true end end
  return out
end

-- Names.
local exported = symbols("-D --defined-only", shared)
tap.is("", keys(where(exported, function(name) return not name:match "^weir_" end)), "the shared library exports weir_ names only")

local module_exports = symbols("-D --defined-only", build .. "/lua/weir/core.so")
tap.is("luaopen_weir_core", keys(where(module_exports, function(name) return not name:match "^weir_" end)),
  "the Lua module adds luaopen_weir_core alone")

local missing = {}
for name in read "include/weir.h":gmatch "\nWEIR_API[^;(]-([%w_]+)%(" do
  if not exported[name] and name ~= "weir_openlib" then missing[name] = true end
end
tap.is("", keys(missing), "every function of weir.h is in the shared library")

local internal = symbols("--defined-only -g", archive)
tap.is("", keys(where(internal, function(name) return not name:match "^weiri?_" end)),
  "every global name of the static library starts with weir_ or weiri_")

-- Calls.
local undefined = symbols("-D --undefined-only", shared)
local banned = {}
for name in ([[printf puts putchar perror vprintf __printf_chk __vprintf_chk stdout stderr exit _exit _Exit quick_exit abort
  __assert_fail atexit signal sigaction setlocale putenv setenv chdir]]):gmatch "%S+" do
  if undefined[name] then banned[name] = true end
end
tap.is("", keys(banned), "the core prints nothing, ends nothing and leaves the process's settings alone")

local writable = {}
for section, name in sh("objdump -t " .. archive):gmatch "(%.%S+)%s+%x+%s+([%w_.]+)\n" do
  if section:match "^%.t?bss" or section == ".data" or section == ".tdata" then
    if name ~= section then writable[name] = true end
  end
end
tap.is("", keys(writable), "the core has no writable globals")

-- Dependencies and size.
local needed = {}
for name in sh("readelf -d " .. shared):gmatch "NEEDED[^\n]-%[([^%]]+)%]" do
  if not name:match "^lib[cm]%.so" and not name:match "^libdl%.so" and not name:match "^ld%-linux" then needed[name] = true end
end
tap.is("", keys(needed), "the shared library needs libc and libm alone")

local scratch = build .. "/hosting"
sh(("rm -rf %s && mkdir -p %s"):format(scratch, scratch))
sh(("strip -o %s/stripped.so %s"):format(scratch, shared))
local size = #read(scratch .. "/stripped.so")
tap.ok(size > 0 and size <= 46 << 15, ("stripped, the shared library has at most 1.44 MiB (%d bytes)"):format(size))

-- The header alone.
write(scratch .. "/header.c", '#include "weir.h"\nint main(void) { return 0; }\n')
for _, compiler in ipairs { "cc -std=c11 -x c", "c++ -std=c++17 -x c++" } do
  local text = sh(compiler .. " -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only " .. scratch .. "/header.c")
  tap.is("", text, "weir.h stands alone: " .. compiler)
end

-- The installed package.
local prefix = scratch .. "/prefix"
local text, ok = sh(("cmake --install %s --prefix %s"):format(build, prefix))
tap.ok(ok, "cmake --install") if not ok then tap.diag(text) end
write(scratch .. "/CMakeLists.txt", [[
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(weir 0.1 REQUIRED)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE weir::weir)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE weir::weir_static)
]])
write(scratch .. "/main.c", [[
#include <weir.h>
int main(void) {
    weir_ctx *ctx = weir_open(NULL);
    if (!ctx) return 1;
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "empty" });
    int bad = !k || weir_kernel_name(k)[0] != 'e';
    weir_close(ctx);
    return bad;
}
]])
text, ok = sh(("cd %s && cmake -S . -B out -DCMAKE_PREFIX_PATH=$PWD/prefix && cmake --build out"):format(scratch))
tap.ok(ok, "a CMake project finds weir and builds") if not ok then tap.diag(text) end
for _, program in ipairs { "with_shared", "with_static" } do
  text, ok = sh(("%s/out/%s"):format(scratch, program))
  tap.ok(ok, "it runs: " .. program) if not ok then tap.diag(text) end
end

tap.done()
