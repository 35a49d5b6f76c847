/* Words that are taken in emitted source: by C++, by CUDA and the C library, by the device preamble, by the emitter itself. */
#ifndef WEIRI_WORDS_H
#define WEIRI_WORDS_H

#include <stdbool.h>

/* What a word is wherever it stands, "a word of C++" say; NULL: it is free. */
const char *weiri_taken_by(const char *word);
bool weiri_is_ours(const char *word);      /* begins with w_ or W_ */
bool weiri_in_preamble(const char *word);  /* the device preamble says it somewhere */
bool weiri_is_local(const char *word);     /* a variable or function that emitted text uses: row, v12 */
bool weiri_is_function(const char *word);  /* declared at file scope before the first line: sqrt, cudaSuccess, size_t */
bool weiri_is_family(const char *word);    /* taken, and so is whatever else begins so */

#endif
