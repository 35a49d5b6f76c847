/* A plan with its sizes known, as straight lines: what each thread that matters does, move by move. promela.c writes the lines
 * down; the tests' explorer runs through all their interleavings. Shares nothing with the prover but the plan. */
#ifndef WEIRI_UNROLL_H
#define WEIRI_UNROLL_H

#include "plan.h"

typedef struct weiri_sizes {
    const int64_t *dims;     /* by k->dims */
    int tiles;               /* work tiles that each CTA gets, at most; the first ones in row order */
    uint64_t truths;         /* conditions that sizes do not decide: a bit a firing, shared by all tasks */
} weiri_sizes;

typedef enum weiri_move_kind {
    MOVE_WAIT,               /* until lap `lap` of `cell` is over */
    MOVE_ARRIVE,             /* `n` arrivals at `cell`, meant for lap `lap`; `bytes` are armed with them */
    MOVE_SEND,               /* `bytes` on their way to `cell` as `item`, meant for `lap` */
    MOVE_LATER,              /* `n` arrivals on their way, as `item`, once what the thread issued before is done */
    MOVE_TOUCH,              /* reads and writes alone */
    MOVE_DRAIN,              /* passes when the first `n` mma batches of the actor's other threads are issued; accesses end here */
    MOVE_FENCE,              /* own plain writes become visible to the async proxy */
    MOVE_MEET, MOVE_LEAVE,   /* comes to, and waits for, the rendezvous `meet` */
    MOVE_INIT, MOVE_GRID_WAIT, MOVE_GRID_LAUNCH
} weiri_move_kind;

typedef struct weiri_move {
    weiri_move_kind kind;
    const weiri_action *act;
    int cell, lap, n;
    int64_t bytes;
    int item, meet;
    int touch, ntouch;       /* in touches[] */
} weiri_move;

typedef enum weiri_touch_kind { TOUCH_PLAIN, TOUCH_MMA, TOUCH_LOAD, TOUCH_STORE, TOUCH_CP } weiri_touch_kind;
enum { WEIRI_NEVER = 1 << 30 };
typedef struct weiri_touch {
    int thread, move;        /* begins there */
    int place;
    weiri_touch_kind kind;
    bool write;
    int end;                 /* over once the thread has passed this move; NEVER */
    int item;                /* ... or once this item has landed; -1 */
    int batch;               /* MMA: the actor's so-manieth; over for all of its threads when one has drained it */
    int use;                 /* of the cursor: which filling of the stage */
    int deal;                /* by threads: which of them has what; index in the plan's deals[] */
    bool joins;              /* by a body that joins its task's threads itself */
    bool late;               /* a read by plain loads, which the thread's next arrival does not wait for: a fence does */
    bool overtakes;          /* a write of the async proxy, which does not queue behind such reads */
} weiri_touch;

/* Bytes [lo, hi) of a CTA's shared memory, of `region` (whose bytes they are), or register tile `reg` of one thread. */
typedef struct weiri_upl { int cta; int64_t lo, hi; int region, reg, thread; int share; const char *name; int stage; } weiri_upl;

typedef struct weiri_thread {
    int task, cta, actor, index, first;  /* actor, its number in the task, its first thread; its threads follow each other */
    int of;                       /* how many threads the actor has here */
    int weight;                   /* hardware threads it stands for */
    const char *name;
    WEIRI_LIST(weiri_move) moves;
    WEIRI_LIST(int) mma, mma_end; /* by batch: issued, drained at these moves */
} weiri_thread;

typedef struct weiri_cell { int cta, bar, stage, count; } weiri_cell;   /* one mbarrier */
typedef struct weiri_meet { int cta, full; const char *name; } weiri_meet;
typedef struct weiri_item { int thread, move; } weiri_item;

typedef struct weiri_unrolled {
    const weiri_plan *p;
    weiri_arena a;
    const char *why;              /* it could not be unrolled */
    int ctas;
    WEIRI_LIST(weiri_thread) threads;
    WEIRI_LIST(weiri_cell) cells;
    WEIRI_LIST(weiri_meet) meets;
    WEIRI_LIST(weiri_item) items;
    WEIRI_LIST(weiri_touch) touches;
    WEIRI_LIST(weiri_upl) places;
    int firings;                  /* bits of `truths` that were asked for */
    int nmoves;
    bool lost, stale;             /* a task does not store what it has committed to a stage without barriers; stores what it has not */
} weiri_unrolled;

weiri_unrolled *weiri_unroll(const weiri_plan *p, const weiri_sizes *sizes);   /* NULL: no memory */
void weiri_unrolled_free(weiri_unrolled *u);

/* Do both access the same bytes, one of them writing, with nothing but their order to keep them apart? */
bool weiri_touches_clash(const weiri_unrolled *u, const weiri_touch *x, const weiri_touch *y);
bool weiri_places_meet(const weiri_upl *x, const weiri_upl *y);
/* Is a place written by threads and met by the async proxy, so that fences matter there? */
bool weiri_place_watched(const weiri_unrolled *u, int place);
/* The same of one that threads read and the async proxy fills. */
bool weiri_place_refilled(const weiri_unrolled *u, int place);

/* promela.c: the lines as a model for spin. sizes: text for its head. False: out of memory. */
bool weiri_promela(const weiri_unrolled *u, const char *sizes, weiri_buf *b);

#endif
