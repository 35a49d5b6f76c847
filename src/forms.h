/* Whole numbers in one normal form, and what follows from it: which loops run equally often, which conditions are one, which spans of a
 * tensor may meet. Everything is about all launches: "false" says that nothing is known. */
#ifndef WEIRI_FORMS_H
#define WEIRI_FORMS_H

#include "model.h"
#include "range.h"

/* A symbol is a number of loop iterations (or the truth of a condition) that the proof leaves open. Every loop is `base`
 * iterations and then, part by part, `rep` iterations for each unit of a symbol but its last `skip`; per > 1: one for each so many units, the
 * last of which may be fewer (of such a loop it is the one part). */
typedef struct weiri_part { int tape, rep, skip, per; } weiri_part;
#define WEIRI_MAX_PARTS 12
#define WEIRI_NEST 4 /* factors of a product that is taken for loops in each other */

typedef struct weiri_trips { int64_t base; weiri_part part[WEIRI_MAX_PARTS]; int nparts; bool fixed; } weiri_trips;
typedef struct weiri_forms weiri_forms;

/* Collects the loops of all tasks; then settles how their counts add up. `deep`: minima and maxima are taken apart; are there any? */
weiri_forms *weiri_forms_new(const weir_kernel *k, weiri_arena *a, bool deep);
bool weiri_forms_apart(const weiri_forms *f);
/* Before any loop is filed: those of one length that move nothing in common, nor with others in common, have a number each. Are there such? */
bool weiri_forms_part(weiri_forms *f);
/* A handle. lane >= 0: of the loop that a lane's is dealt from, which starts `lane` earlier and steps by 1. */
int weiri_forms_loop(weiri_forms *f, const weiri_node *loop, int lane);
/* ... of a guard on what a division leaves over, which runs once or not at all, under the condition or (not truth) its opposite; -1: it is none.
 * *sum: it compares numbers; one such as well, if `all`. */
int weiri_forms_guard(weiri_forms *f, const weiri_node *guard, bool truth, bool *sum, bool all);
/* ... of loops in each other that run as often in all as this one, whose length is a product. How many; 0: it is none. */
int weiri_forms_nest(weiri_forms *f, const weiri_node *loop, int handles[WEIRI_NEST]);
/* By which loops in each other can be put into one order: those of a number of steps last. */
int64_t weiri_forms_order(const weiri_forms *f, int loop);
void weiri_forms_settle(weiri_forms *f);
uint64_t weiri_forms_tried(const weiri_forms *f);   /* what it has cost so far: classes tried as parts of others, bounds looked for */
/* The loop's shape: part[].tape is the class here, which the caller maps to its tapes. */
weiri_trips weiri_forms_trips(const weiri_forms *f, int loop, bool in_turn);
/* Some loop is so and so many times as long as others: in turn, as many instances of theirs. */
bool weiri_forms_repeat(const weiri_forms *f);
int weiri_forms_class_count(const weiri_forms *f);
/* Lower and upper bound of a class's units; its first loop. */
void weiri_forms_class(const weiri_forms *f, int cls, int *least, int *most, bool *steady, bool *per_cta,
                       const weiri_node **node);
/* May a loop of the class run more or less often at another time in one tile of one CTA? */
bool weiri_forms_wanders(const weiri_forms *f, int cls);
/* What the number of units is a multiple of. */
int64_t weiri_forms_multiple(const weiri_forms *f, int cls);
/* Units of a class with these arguments; false: not computable. */
bool weiri_forms_eval(const weiri_forms *f, int cls, weiri_env *env, int64_t *out);
/* Are two values always equal, whichever tasks compute them? By structure: false says nothing. */
bool weiri_forms_same(const weir_kernel *k, uint32_t x, uint32_t y);
/* Do two loops, in others that do so pair by pair, run equally often at any time? */
bool weiri_forms_same_count(const weiri_forms *f, int x, int y);
/* Of two blocks of one kind: do the loops run through the same numbers, or the guards let in under the same condition? */
bool weiri_forms_same_loop(const weir_kernel *k, const weiri_node *x, const weiri_node *y);
/* ... at any time in one task and in the other? Then their indices are one number, at each of the loops' times. */
bool weiri_forms_same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y);
/* Is condition x, however it is written, y, or (*not) its opposite? */
bool weiri_forms_alike(const weir_kernel *k, uint32_t x, uint32_t y, bool *not);
/* A condition, known at launch, on nothing but how often a loop has run: `equal`: so often; else so often or less; `not`: the opposite. */
typedef struct weiri_ran { bool equal, not; int64_t times; int period; } weiri_ran;
bool weiri_forms_ran(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out);
/* ... how many units a class has (with `around`: but for as many as that loop has iterations behind it); `period`: what they leave over, divided by that. */
bool weiri_forms_units(weiri_forms *f, int cls, uint32_t condition, const weiri_node *around, weiri_ran *out);
/* ... on how many units of its class are left unread in an iteration of a loop, whose trips have that one part. No lane's loop. */
bool weiri_forms_ahead(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out);
/* Does a loop run once for each unit there is, or is left unread in an iteration of the loop `around`, up to *cap, but for the last *but? */
bool weiri_forms_capped(weiri_forms *f, int loop, int cls, int around, int *cap, int *but);
/* Loops of so many units a step become readers of those units. Before settling. Returns whether there are any. */
bool weiri_forms_group(weiri_forms *f);
/* Has the class a tape of its own: is it neither a sum nor read in groups? */
bool weiri_forms_plain(const weiri_forms *f, int cls);
/* A span of elements along an axis of a tensor: from value * by + plus on, `extent` of them; value 0: none. */
typedef struct weiri_span { uint32_t value; int64_t by, plus, extent; } weiri_span;
typedef enum weiri_meet { SPANS_APART, SPANS_MEET, SPANS_MAY } weiri_meet;
/* Do two spans meet, in one tile (coordinates and arguments are alike, loop indices and what is read may differ)? `ctas`: of two CTAs. */
weiri_meet weiri_forms_meet(weiri_forms *f, const weiri_span *x, const weiri_span *y, bool ctas);
/* A number for what the span starts at but for the plain number *at: spans of one number are as far apart as their *at are, in any two CTAs and at
 * any time of one tile; -1: that is not known. */
int weiri_forms_base(weiri_forms *f, const weiri_span *x, int64_t *at);
/* Do two spans of one extent, in one tile, fall together or lie apart, and never overlap by a part? */
bool weiri_forms_aligned(weiri_forms *f, const weiri_span *x, const weiri_span *y);
/* Of a place of `rank` spans that node `n` names: is it, in one tile, another one each time that the loops around come there? */
bool weiri_forms_moved(weiri_forms *f, const weiri_span *x, int rank, const weiri_node *n);
/* Are two spans apart in any two tiles that differ along that coordinate of the queue? */
bool weiri_forms_dealt(weiri_forms *f, const weiri_span *x, const weiri_span *y, const weir_res *queue, int axis);
/* By the conditions and loops around two nodes of one task: does a turn (what is outside of all: a launch) that comes to the one never come to
 * the other? Loops' bounds must have been collected. */
bool weiri_forms_exclude(weiri_forms *f, const weiri_node *x, const weiri_node *y);
/* ... does a turn come to the node once at most? */
bool weiri_forms_once(weiri_forms *f, const weiri_node *node);
/* How a value changes: its leaves vary with the launch only / with the tile / with the CTA of a cluster. */
bool weiri_forms_varies(const weir_kernel *k, uint32_t id, bool *tile, bool *cta);
/* ... or with tensors that the kernel does not write: at one place, one number whenever it is read. */
bool weiri_forms_settled(const weir_kernel *k, uint32_t id, bool *tile, bool *cta);

#endif
