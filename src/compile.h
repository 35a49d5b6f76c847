/* CUDA source to CUBIN: NVRTC, opened at run time, behind a cache on disk. */
#ifndef WEIRI_COMPILE_H
#define WEIRI_COMPILE_H

#include "program.h"

typedef struct weiri_binary {
    void *cubin;
    size_t cubin_size;
    weiri_buf log, ptx; /* ptx: only when asked for */
    bool cache_hit;
    double nvrtc_ms; /* of ms, inside NVRTC */
    double ms;
} weiri_binary;

/* Compiles for one architecture. E_NO_COMPILER: no NVRTC, or it does not know the architecture; E_COMPILE: out->log says why,
 * unaltered. `out` is to be freed in every case. Asking for ptx passes the cache by. */
weir_status weiri_compile(weir_ctx *ctx, const char *name, const char *source, weir_arch arch, bool want_ptx,
                          weiri_binary *out);
void weiri_binary_free(weir_ctx *ctx, weiri_binary *b);

/* Fills in p->cubin, p->log and p->times.compile, .cache_hit; nothing to do when already compiled. */
weir_status weiri_program_compile(weir_program *p);

/* What ptxas said (PTX ISA gives no list; the C75xx codes are its notes on wgmma and setmaxnreg). */
typedef struct weiri_log_facts {
    int registers;                        /* per thread at entry, 0: the log does not tell */
    int spill_stores, spill_loads, stack; /* bytes */
    int codes[16], ncodes;                /* C75xx notes, each once */
    int warnings;
} weiri_log_facts;
void weiri_compile_log_check(const char *log, weiri_log_facts *out);
/* One line naming what a shipped configuration may not have: spills, C75xx notes, warnings. "" when there is nothing. */
void weiri_compile_log_complaint(const weiri_log_facts *f, char *out, size_t size);

/* Keeps the complaint about a compilation of p, and does with it what was asked for at the build. */
weir_status weiri_program_note(weir_program *p, const char *log);

const char *weiri_arch_name(weir_arch a); /* "sm_90a" */

#endif
