/* A built kernel. build.c makes it (the first part); compile.c and launch.c keep what they derive from it. */
#ifndef WEIRI_PROGRAM_H
#define WEIRI_PROGRAM_H

#include "plan.h"

typedef struct weiri_module weiri_module; /* launch.c: the program on one device */

struct weir_program {
    weir_ctx *ctx;
    weir_kernel *k;
    weiri_plan *plan;
    const char *name;
    weir_arch arch;      /* never DEFAULT */
    weiri_buf source;    /* emitted, without the preamble */
    weir_notes notes;    /* as asked for at the build */
    weir_device *device; /* of the build; NULL: the first GPU, else the simulator, chosen at the first launch */
    weir_times times;
    double watchdog; /* seconds one wait may last on a GPU, 0: for ever */

    /* compile.c */
    weiri_buf full;     /* preamble and source, made on demand */
    weiri_buf log, ptx; /* of the last compilation; ptx on demand */
    weiri_buf noted;    /* what ptxas notes in that log */
    void *cubin;
    size_t cubin_size; /* 0: not compiled yet */

    /* launch.c */
    weiri_module *modules; /* one per device it ran on */
    weir_bound *bound;     /* the last launch's bindings, reused while the arguments stay the same */
    weiri_buf needs;       /* of the last weir_accepts */

    /* trace.c */
    weir_program *twin; /* the traced build of the same plan, made on demand; it shares k and plan */
    bool traced;        /* this is such a twin */
    weir_timeline *into; /* where the launch under way leaves its events, or NULL */
};

/* Preamble and source, as NVRTC gets them; NULL with the context's error on lack of memory or an impossible wgmma. */
const char *weiri_program_full(weir_program *p);
/* Frees what compile.c and launch.c keep; build.c's part is its own. */
void weiri_program_drop_compiled(weir_program *p);
void weiri_program_drop_launched(weir_program *p);
/* The same plan and source with the instruments of a trace; NULL on lack of memory. */
weir_program *weiri_program_twin(weir_program *p);
void weiri_program_drop_traced(weir_program *p); /* the twin; drop_compiled does it too */

#endif
