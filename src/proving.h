/* Between the files that make a program of a plan: prove_code.c calls them in order. prove_compile.c writes the code of each task,
 * block by block, with prove_key.c and prove_ask.c for conditions and prove_nest.c for loops in each other; prove_tape.c has what
 * lengths are read off, prove_units.c what loops tell of conditions and of other loops; prove_who.c has the actors, prove_ring.c
 * what turns together, prove_rec.c what is known of accesses. */
#ifndef WEIRI_PROVING_H
#define WEIRI_PROVING_H

#include "prove_know.h"

/* The names as the linker sees them. */
#define pg_place_actors weiri_pg_place_actors
#define pg_find_named weiri_pg_find_named
#define pg_new_tape weiri_pg_new_tape
#define pg_loop_of weiri_pg_loop_of
#define pg_around_by_cta weiri_pg_around_by_cta
#define pg_key_for weiri_pg_key_for
#define pg_told_around weiri_pg_told_around
#define pg_compile_condition weiri_pg_compile_condition
#define pg_compile_nest weiri_pg_compile_nest
#define pg_emit weiri_pg_emit
#define pg_open_loop weiri_pg_open_loop
#define pg_close_loop weiri_pg_close_loop
#define pg_compile weiri_pg_compile
#define pg_compile_tasks weiri_pg_compile_tasks
#define pg_asks weiri_pg_asks
#define pg_next_ask weiri_pg_next_ask
#define pg_inside_others weiri_pg_inside_others
#define pg_tape_for weiri_pg_tape_for
#define pg_stretch_of weiri_pg_stretch_of
#define pg_place_tapes weiri_pg_place_tapes
#define pg_tell weiri_pg_tell
#define pg_cap_loops weiri_pg_cap_loops
#define pg_count_conditions weiri_pg_count_conditions
#define pg_join_all weiri_pg_join_all
#define pg_new_ring weiri_pg_new_ring
#define pg_ring_of weiri_pg_ring_of
#define pg_thing_region weiri_pg_thing_region
#define pg_bytes_of_stage weiri_pg_bytes_of_stage
#define pg_place_records weiri_pg_place_records
#define pg_find_over weiri_pg_find_over

/* ---- code of a task ----------------------------------------------------------------------------------------------------- */

typedef struct asked_as { uint32_t value; int tape; bool not; } asked_as;
typedef struct builder {
    weiri_prog *g;
    weiri_code *c;
    int task;                /* -1: no body */
    bool in_tiles;
    weiri_code room;         /* whose lists the code that is being written borrows */
    WEIRI_LIST(int) handles; /* of the loops' forms, all codes in order */
    WEIRI_LIST(int) open;    /* loops around here */
    WEIRI_LIST(const char *) key_name;   /* by tape: of a key */
    WEIRI_LIST(bool) key_each;   /* asked once an iteration */
    WEIRI_LIST(uint32_t) key_value;
    WEIRI_LIST(asked_as) asked;  /* conditions that are another's, in other values */
    int *cursors, *cursor_at;    /* cursors in order of their tasks; by task: its first */
} builder;

/* Greatest number that divides both. */
static inline int pg_common(int x, int y) {
    while (y) {
        int r = x % y;
        x = y, y = r;
    }
    return x;
}

/* prove_who.c: actors[]; the ids of the named barriers in use */
void pg_place_actors(weiri_prog *g);
void pg_find_named(weiri_prog *g);

/* prove_key.c */
/* A new tape, or one a CTA: the first. */
int pg_new_tape(weiri_prog *g, weiri_tape t);
/* Of a loop around here. */
int pg_loop_of(const builder *b, const weiri_node *n);
/* Does it hang on the CTA how often, or whether, one comes to what stands in the block? */
bool pg_around_by_cta(const weir_kernel *k, const weiri_node *n);
/* The key of a condition: one per name, or per value; how long its truth holds. *not: the key's truth is that of its opposite. */
int pg_key_for(builder *b, uint32_t value, const char *name, const weiri_node *n, bool *not);
/* Is the guard's condition that of one around it, or its opposite? *runs: does its body run, then? */
bool pg_told_around(const weir_kernel *k, const weiri_node *n, bool *runs);

/* prove_ask.c: a guard by a condition, and what is in it */
void pg_compile_condition(builder *b, const weiri_pnode *n);

/* prove_nest.c */
/* A loop of x * y steps as a loop of y in one of x, and so on: others may have written it so. Or in the order of their forms. */
bool pg_compile_nest(builder *b, const weiri_pnode *n);

/* prove_compile.c */
/* Where the instruction stands. */
int pg_emit(builder *b, weiri_ins i);
/* Writes a loop's head, and what leads back to it. */
int pg_open_loop(builder *b, const weiri_node *node, int handle);
void pg_close_loop(builder *b, int test);
/* The block and those behind it; all tasks, and what CTAs without a body run. */
void pg_compile(builder *b, const weiri_pnode *n);
void pg_compile_tasks(builder *b);

/* ---- tapes -------------------------------------------------------------------------------------------------------------- */

/* A tape that tells how often loops of a class run, that stand in `deep` others of it: of all tasks, or of those that ask alike. */
typedef struct trips_tape { int cls, deep, tape, code, from, to; bool in; } trips_tape;
typedef WEIRI_LIST(trips_tape) trips_list;
typedef struct stretch { int code, from, to; bool in; } stretch; /* of code, in or outside the loop over tiles */

/* prove_tape.c */
/* How often does the loop at `i` ask how often loops of the class run? */
int pg_asks(const builder *b, int code, int i, int cls);
/* From `i` on, the next that asks or has one that asks inside; `to`: there is none. */
int pg_next_ask(const builder *b, int code, int i, int to, int cls);
/* In how many loops of the class stands the one at `i`? Whoever reads answers of the one must not come to those of the other in
 * between. */
int pg_inside_others(const builder *b, int code, int i, int cls);
/* The tape of the class for the loop at `at`, in the stretch. */
int pg_tape_for(builder *b, trips_list *all, const stretch *s, int cls, int at);
/* The stretch that the instruction at `i` is in. */
stretch pg_stretch_of(const weiri_code *c, int code, int i);
/* Symbols get their tapes once all loops are known. */
void pg_place_tapes(builder *b);

/* prove_units.c */
/* A condition that is known at launch, and that every task asks where such a loop is behind it, is no question. */
void pg_tell(builder *b);
/* A loop that runs as often as there are units ahead, up to a number, reads none: they are another's. */
void pg_cap_loops(builder *b, trips_list *all);
/* Conditions that the units of some loop decide, wherever they are asked, are no questions. */
void pg_count_conditions(builder *b, trips_list *all);

/* ---- rings and records -------------------------------------------------------------------------------------------------- */

typedef WEIRI_LIST(int) numbers;

/* Things that turn together are found by union: cursors of actors, barriers of CTAs, storage. */
typedef struct joiner {
    weiri_prog *g;
    int *up; int *stages; bool *fixed;
    int ncur, nbar;              /* actors' cursors, CTAs x bars; then CTAs x regions and actors x regions shared out */
    int *cursor_at;              /* by actor: its first cursor */
    int *actor;                  /* by cursor: its actor */
    bool *shared;                /* by region: are its stages shared out to warpgroups? */
    bool *refilled;              /* by region: does the async proxy fill it? */
    int *share, nshare;          /* by region whose bytes it has: its number among those, or -1 */
    int *first, *next;           /* by root: its first cursor; by cursor: the one behind it, -1 none */
    int *ring;                   /* by root */
    int things;
    numbers *meets;              /* by region: those that share bytes with it, itself left out */
    numbers *here;               /* by region, then by actor for register tiles: locations */
} joiner;

/* prove_ring.c */
/* Joins what turns together; false: a cursor walks more or fewer stages than what it is used for has. */
bool pg_join_all(joiner *j);
int pg_new_ring(weiri_prog *g, int stages);
/* The ring of a cursor, a barrier or storage. */
int pg_ring_of(joiner *j, int thing);
int pg_thing_region(const joiner *j, int cta, int actor, int region);
/* What a stage's accesses touch: the tile, however far apart the plan has put the stages. */
int64_t pg_bytes_of_stage(const weiri_plan *p, int region);

/* prove_rec.c: locations, records, who comes to barriers; which locations share bytes */
void pg_place_records(joiner *j);
void pg_find_over(joiner *j);

#endif
