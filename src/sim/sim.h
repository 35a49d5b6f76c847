/* The simulator: compiles emitted source with the host's C++ compiler, loads it, and runs every thread of the grid as a fiber
 * against models of mbarriers, TMA, wgmma, clusters and named barriers. It stops at the first fault and says whose it is.
 *
 *   host.c    source -> shared library, disk and memory cache
 *   fiber.c   stacks and switching
 *   run.c     grid, scheduler, deadlock report
 *   smem.c    shared memory byte by byte: who wrote it, what still reads it; plain accesses
 *   sync.c    mbarriers, named barriers, clusters, warps, registers
 *   copy.c    TMA, bulk groups, cp.async
 *   wgmma.c   the tensor core of sm_90a
 *   mma.c     mma.sync, that of sm_80
 *   sums.c    how the two round
 *   tcgen05.c that of sm_100a, and tensor memory
 *   scaled.c  numbers of its block-scaled kinds
 *   match.c   the events of an actor against the plan
 */
#ifndef WEIRI_SIM_H
#define WEIRI_SIM_H

#include "../mem.h"
#include "../plan.h"
#include "../trace.h"

/* One kernel argument, in the order of plan->params: the bytes of the C parameter; for a KP_TMAP a weiri_tmap. */
typedef struct weiri_sim_param { const void *data; size_t size; } weiri_sim_param;

/* The launch before in a stream, as far as a dependent launch may begin before it has ended. The simulator runs one grid after the other:
 * what the later one would see too early is told from the records of global memory. Clusters are numbered over all launches. */
typedef struct weiri_sim_before {
    const void *stream;
    uint32_t first, end;             /* its clusters; equal: there is none, or the host has waited for it */
    bool launched;                   /* a thread of it has run launch_dependents */
    uint32_t lost, lost_end;         /* clusters of launches that may outlast it: none of its threads has waited for them */
    int cluster;                     /* CTAs of one */
    char name[48], lost_name[48];
} weiri_sim_before;

typedef struct weiri_sim_run {
    const weiri_plan *plan;
    const char *source;              /* emitted text, without preamble */
    const weiri_sim_param *params; int nparams;
    int grid;                        /* CTAs */
    int resident;                    /* CTAs that run at once, rounded up to whole clusters; 0: 8 */
    uint64_t seed;                   /* 0: 1 */
    weiri_sim_before *before;        /* in: the launch before; out: this one. NULL: every launch waits for all before it */
    bool pdl; const void *stream;    /* may begin before that one has ended */
    weir_timeline *trace;            /* gets the events of its CTAs, or NULL */
} weiri_sim_run;

/* WEIR_OK; WEIR_E_SIM: `findings` has the text; WEIR_E_COMPILE: it has the host compiler's messages; WEIR_E_NO_COMPILER,
 * WEIR_E_IO, WEIR_E_MEMORY. All but WEIR_OK leave a text in weir_error too. */
weir_status weiri_sim_launch(weir_ctx *c, const weiri_sim_run *r, weiri_buf *findings);

/* The simulator's global memory: 256-aligned, not cleared. Bodies may access these ranges alone. */
void *weiri_sim_malloc(weir_ctx *c, size_t size);
void weiri_sim_free(weir_ctx *c, void *p);                         /* NULL is ignored */
/* Lets bodies access memory that is the host's own (a foreign address as argument), until unlent. Ranges may be lent twice. */
/* Is p in memory of a simulated device? Then *left: the bytes from it to the end of its tensor. */
bool weiri_sim_holds(weir_ctx *c, const void *p, size_t *left);
bool weiri_sim_lend(weir_ctx *c, const void *p, size_t size);
void weiri_sim_unlend(weir_ctx *c, const void *p, size_t size);
/* Names the range that holds p, for messages; forgotten with the range. */
void weiri_sim_name(weir_ctx *c, const void *p, const char *name);

void weiri_sim_close(weir_ctx *c);

#endif
