/* The oracles: plain breadth-first explorers that reduce nothing, to hold the prover against. Tests only.
 *
 * weirx_actions runs an unrolled plan through all interleavings of its threads and engines, as the hardware would, and looks at
 * every state: is somebody stuck, do two accesses meet, does an arrival fall into another phase than the one it was meant for?
 *
 * weirx_credits is the model of the reference checker: tasks as flat lists of moves, pipelines as counters of credits, races as
 * windows (see t/vectors/bfs.lua, which says the same in readable form). */
#ifndef WEIRX_EXPLORE_H
#define WEIRX_EXPLORE_H

#include "unroll.h"

/* ORDER WEIRX: explorelib.c has the names */
enum {
    WEIRX_DEADLOCK = 1, WEIRX_COUNT = 2, WEIRX_TX = 4, WEIRX_PARITY = 8, WEIRX_RACE = 16, WEIRX_ASYNC_READ = 32, WEIRX_PROXY = 64,
    WEIRX_EXIT = 128, WEIRX_LOST = 256, WEIRX_PDL = 512,
    WEIRX_STUCK_COUNT = 1024, WEIRX_STUCK_TX = 2048,   /* with DEADLOCK: a phase lacks arrivals that nobody owes; lacks bytes alone */
    WEIRX_UNFILLED = 4096                              /* a read of what nobody has written, or what other storage has overwritten */
};

typedef struct weirx_result {
    uint64_t states, complete, deadlocks;
    uint64_t widest;             /* states of the widest level */
    int faults;                  /* bits */
    int depth;                   /* of the first fault, in moves */
    bool cut;                    /* limit reached, or it does not fit: `why` */
    const char *why;
    weiri_buf path;              /* to the first fault, a move a line; if asked for */
} weirx_result;

/* faults: the kinds of interest for the path; 0: no path. The result's path is the caller's to free. */
weirx_result weirx_actions(const weiri_unrolled *u, uint64_t limit, int path_to);

/* ---- credits ------------------------------------------------------------------------------------------------------------ */

enum { WEIRX_TASKS = 16, WEIRX_RESOURCES = 32 };

typedef struct weirx_op {
    char letter;                 /* A acquire, C commit, P producer work, a wait, r release, c consumer work; others do nothing */
    int resource;
    bool write;                  /* c: the write-capable phase */
    uint32_t counts;             /* A C a r: resources it counts for, a bit each */
    bool pdl_wait, pdl_launch;
} weirx_op;

typedef struct weirx_resource {
    int stages;                  /* empty credits at the start */
    bool queue;                  /* its moves never block */
    bool piped;
    int nsrc, ndst;              /* waits or releases, acquires or commits that make a round */
    bool tracked;                /* it shares bytes with another: its accesses are kept as windows */
    bool umma_consumer, thread_producer;
    uint32_t members;            /* of a group, else itself */
    uint32_t paired;             /* resources whose reads end when a wait on this one returns */
    uint32_t writer_meets, reader_meets;  /* resources that its producer's, its consumer's bytes overlap */
} weirx_resource;

typedef struct weirx_credit_model {
    int ntasks, nresources;
    weirx_op *op[WEIRX_TASKS];
    int length[WEIRX_TASKS];
    weirx_resource resource[WEIRX_RESOURCES];
    bool pdl_done;               /* the wait for the previous kernel has already happened */
} weirx_credit_model;

typedef struct weirx_credits_result {
    uint64_t states, complete, deadlock, race, pdl, cursor_vectors, widest;
    int64_t first;               /* depth of the first record, -1 none */
    bool limit_hit;
    const char *why;             /* does not fit */
} weirx_credits_result;

weirx_credits_result weirx_credits(const weirx_credit_model *m, uint64_t limit);

#endif
