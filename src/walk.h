/* One work tile of every task as a straight line of ops, walked in rows: each row gives every task the chance of one op, and an
 * op that waits for a barrier runs only when the counterpart has. The schedule table prints it; balance.c judges its end. */
#ifndef WEIRI_WALK_H
#define WEIRI_WALK_H

#include "model.h"

struct weiri_forms;

/* Moves that count uses of a pipeline; the order of weir_pipe_desc.interleave. */
typedef enum weiri_use { USE_ACQUIRE, USE_COMMIT, USE_WAIT, USE_RELEASE, USES, USE_NONE = USES } weiri_use;
extern const char *const weiri_use_names[USES];

typedef struct weiri_step { const weiri_op *op; int index; /* which use of the pipeline, from 0 */ } weiri_step;

/* One task's uses of one pipeline by one move. */
typedef struct weiri_line {
    WEIRI_LIST(int) index;  /* rising */
    int done;               /* of them executed */
    bool lane;              /* others take the indices in between */
} weiri_line;

typedef struct weiri_task_line {
    const weiri_node *tiles; /* its work-tile loop, or NULL */
    WEIRI_LIST(weiri_step) steps;
    int at;                 /* next one */
} weiri_task_line;

typedef struct weiri_walk {
    const weir_kernel *k;
    weiri_arena a;
    struct weiri_forms *forms;
    int *units;             /* by class of trip counts */
    weiri_task_line *task;
    weiri_line *lines;      /* [(task * resources + resource) * USES + use], bare resources */
    int tiles, nsteps;
    bool looks_back;        /* a task asks for the tile it had before */
    bool too_long;
    WEIRI_LIST(uint32_t) assumed;               /* conditions taken as true */
    WEIRI_LIST(const weiri_node *) open_loops;  /* loops whose length is not known */
    /* flattening one task */
    int ti;
    int *count;             /* [resource * USES + use], bare resources and groups */
    int *iter, *trips;      /* by node id: of the loops that are open */
    bool *entered;          /* by node id: a loop that ran, a condition that held, in some turn */
    bool silent;            /* a tile of another lane: its uses pass, nothing runs */
    bool had;               /* the task has had a tile before */
} weiri_walk;

/* Ops of one tile (of one for each lane; of two where a task looks back at the one before), each loop with its length or, where only the launch knows it, a small one. */
void weiri_walk_init(weiri_walk *s, const weir_kernel *k);
void weiri_walk_free(weiri_walk *s);

/* What a blocked step lacks. */
typedef struct weiri_lack {
    const weir_res *res;
    weiri_use counterpart;
    int index;
    int task; /* who owes it, -1: nobody does it */
} weiri_lack;
/* May the step run? If not, the first thing it lacks is in *why. */
bool weiri_walk_enabled(const weiri_walk *s, const weiri_step *x, weiri_lack *why);
void weiri_walk_execute(weiri_walk *s, int task); /* its next step */
bool weiri_walk_ended(const weiri_task_line *t);

weiri_use weiri_use_of(const weiri_op *op);
weiri_line *weiri_walk_line(const weiri_walk *s, int task, const weir_res *r, weiri_use u);
int weiri_walk_trips(const weiri_walk *s, const weiri_node *loop);
const weiri_node *weiri_loop_around(const weiri_node *n);

/* Phases of r that all arrivals of a move completed: made[USES]. What is left of them at the end: full, commits not waited for;
 * empty, acquires not released, negative: releases without acquire. */
typedef struct weiri_rest { int made[USES], full, empty; } weiri_rest;
weiri_rest weiri_walk_rest(const weiri_walk *s, const weir_res *r);

/* balance.c: findings V-SIM-01 to 04 of a walk to its end. *sure: every length and condition was a constant, so that they hold
 * whatever the launch brings; otherwise only tasks that wait for each other, or for what nobody does, are found. */
void weiri_balance(const weir_kernel *k, weiri_findings *out, bool *sure);

#endif
