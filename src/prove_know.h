/* What the parts of a run share: bits and rows of knowledge, uses of cursors, stages of barriers. */
#ifndef WEIRI_PROVE_KNOW_H
#define WEIRI_PROVE_KNOW_H

#include <string.h>

#include "prove.h"

/* LAPS, even: the laps that cursors and barriers seem to have behind them at launch, so that what is older stays positive;
 * ANCIENT: a phase from before even those. AGE_MAX: groups, more than the 7 that a wait leaves open at most (weiri_lower).
 * GEN_MANY: a record merged from several uses. */
enum { TILE_DONE = 1000, AGE_MAX = 9, COMPLETE = -1, LAPS = 4, ANCIENT = -1000, GEN_MANY = -1 };

/* ---- knowledge ---------------------------------------------------------------------------------------------------------- */

static inline int *actor_vars(const weiri_run *r, int ai) { return r->v + r->g->actors.v[ai].vars; }

static inline void worked(const weiri_prog *g, int words) { *g->work += (uint64_t)words; }

/* A bit of a ring's stage: word and mask. */
typedef struct bit { int word; uint64_t mask; } bit;
static inline int at_of(const weiri_prog *g, int ring, int stage, int n) {
    return g->rings.v[ring].at + stage * g->rings.v[ring].stride + n;
}
static inline bit bit_of(const weiri_prog *g, int ring, int stage, int n) {
    int at = at_of(g, ring, stage, n);
    return (bit){ at / 64, 1ull << (at % 64) };
}
/* A word of a row, NULL where it is not kept. Row 0, which says what stands, keeps all. */
static inline uint64_t *kept(const weiri_run *r, int rw, int word) {
    if (!rw) return r->w + word;
    const weiri_known *x = &r->g->rows[rw];
    const weiri_words *k = x->keep->run.v, *end = k + x->keep->run.n;
    while (k < end && word >= k->end) k++;
    return k < end && word >= k->first ? r->w + x->first + k->at + (word - k->first) : NULL;
}
static inline bool has(const weiri_run *r, int rw, bit b) {
    const uint64_t *x = kept(r, rw, b.word);
    return x && *x & b.mask;
}
static inline void set(weiri_run *r, int rw, bit b) {
    uint64_t *x = kept(r, rw, b.word);
    if (x) *x |= b.mask;
}
/* Nobody knows it any more, and it does not stand. What does not stand nobody knows. (The mask may be of several bits.) */
static inline void forget(weiri_run *r, bit b) {
    if (!(r->w[b.word] & b.mask)) return;
    const weiri_held *h = &r->g->held[b.word];
    worked(r->g, h->n);
    for (int i = 0; i < h->n; i++) r->w[h->at[i]] &= ~b.mask;
}
/* Forgets b as well, together with what is gathered in *all, where one word has both. */
static inline void forget_with(weiri_run *r, bit *all, bit b) {
    if (all->word != b.word) {
        forget(r, *all);
        *all = (bit){ b.word, 0 };
    }
    all->mask |= b.mask;
}
/* A row takes another's place, and that is empty; both keep the same. */
static inline void hand_over(weiri_run *r, int to, int from) {
    const weiri_known *x = &r->g->rows[to], *y = &r->g->rows[from];
    worked(r->g, x->keep->n);
    memcpy(r->w + x->first, r->w + y->first, sizeof(uint64_t) * (size_t)x->keep->n);
    memset(r->w + y->first, 0, sizeof(uint64_t) * (size_t)y->keep->n);
}

static inline void set_all(weiri_run *r, const weiri_actor *me, bit b) {
    for (int i = 0; i < me->nrows; i++) set(r, me->row + i, b);
}

/* The row that must know something before threads `by` of the actor may rely on it. */
static inline int need_row(const weiri_actor *me, int by) { return me->row + me->by[by == BY_ALL ? BY_EACH : by]; }

/* ---- uses of cursors ---------------------------------------------------------------------------------------------------- */

static inline int mod(int x, int m) { return (x % m + m) % m; }
static inline int lap(int use, int stages) { return (use - mod(use, stages)) / stages; }

/* A cursor's number in the code, -1: it is another task's. */
static inline int local_cursor(const weiri_prog *g, const weiri_code *c, int cur) {
    int i = g->local[cur];
    return i < c->ncursors && c->cursor[i] == cur ? i : -1;
}

static inline int *cursor_vars(const weiri_run *r, const weiri_actor *me, int cur) {
    int i = local_cursor(r->g, &r->g->code.v[me->code], cur);
    return i < 0 ? NULL : r->v + me->cursors + C_VARS * i;
}

/* Which use of the cursor, counted from the launch (or from the origin of a canonical state). */
static inline int use_of(const weiri_run *r, const weiri_actor *me, int cur, weiri_stage_ref ref, int back) {
    const int *c = cur >= 0 ? cursor_vars(r, me, cur) : NULL;
    if (!c) return 0;
    return ref == STAGE_CLOSE  ? c[C_CLOSE]
           : ref == STAGE_HELD ? c[C_OPEN] - (1 + back) * r->g->p->cursors.v[cur].stride
                               : c[C_OPEN];
}

/* ---- barriers ----------------------------------------------------------------------------------------------------------- */

/* One stage of a barrier run in one CTA: its ints, and the rows of what has arrived so far and of the last complete phase. */
typedef struct spot { int cta, bar, stage; const weiri_bari *b; int *v; int gather, done; } spot;

static inline spot spot_of(const weiri_run *r, int cta, int bar, int stage) {
    const weiri_bari *b = &r->g->bars[cta * r->g->nbars + bar];
    return (spot){ cta, bar, stage, b, r->v + b->vars + B_VARS * stage, b->row + 2 * stage, b->row + 2 * stage + 1 };
}
static inline bit spot_bit(const weiri_run *r, const spot *s, int n) {
    return bit_of(r->g, s->b->ring, s->stage, s->b->bit + n);
}

/* Bits of a barrier's stage: newest completion, the one before; of an arriver, for the open phase or the last one; of a waiter. */
enum { BIT_NOW, BIT_BEFORE, BIT_PAIRS };
static inline int arrival_bit(int arriver, bool last) { return BIT_PAIRS + 2 * arriver + last; }
static inline int waiter_bit(const weiri_bari *b, int waiter) { return BIT_PAIRS + 2 * b->pairs + waiter; }

static inline int waiter_of(const weiri_bari *b, int actor) {
    int i = b->waiters.n - 1;
    while (i >= 0 && b->waiters.v[i].actor != actor) i--;
    return i;
}
static inline int arriver_of(const weiri_bari *b, int row) {
    int i = b->arrivers.n - 1;
    while (i >= 0 && b->arrivers.v[i].row != row) i--;
    return i;
}

static inline const char *spot_name(const weiri_run *r, const spot *s) {
    const char *n = r->g->p->bars.v[s->bar].name;
    if (r->g->nctas > 1) return weiri_arena_fmt(r->a, "%s[%d] of CTA %d", n, s->stage, s->cta);
    return weiri_arena_fmt(r->a, "%s[%d]", n, s->stage);
}

/* ---- parts -------------------------------------------------------------------------------------------------------------- */

static inline bool weiri_is_mma(weiri_rec_kind k) { return k == REC_MMA_READ || k == REC_MMA_WRITE; }

/* prove_access.c */
/* Records a fault unless it is known; gives it back for its texts while replaying, else NULL. */
weiri_fault *weiri_fault_add(weiri_run *r, const char *rule, const weiri_action *act, int ai, int with);
void weiri_fault_maybe(weiri_run *r, int before);   /* the fault after the first `before`, if new, is one that may happen */
const char *weiri_fault_verb(const weiri_action *a);                                   /* "the mma" */
const char *weiri_fault_storage(const weiri_run *r, const weiri_action *act, const weiri_loc *l,
                                int stage); /* "stage 2 of 'a'", as the action calls it */
const char *weiri_fault_object(const weiri_run *r, const weiri_action *act, const weiri_loc *l); /* "a"; NULL: registers */
/* Threads of actor ai access what record `ri` stands for, at `stage`, in use `gen` of its cursor. */
void weiri_access(weiri_run *r, int ai, const weiri_action *act, int ri, int stage, int gen);
/* A group is closed (wait < 0), or all but the newest `wait` groups are complete. */
typedef enum weiri_group_kind { GROUP_MMA, GROUP_BULK, GROUP_BULK_READ /* only what is read */, GROUP_CP } weiri_group_kind;
void weiri_access_groups(weiri_run *r, const weiri_actor *me, weiri_group_kind kind, int wait, int by);
/* prove_gmem.c: the access of record `ri`, its bit; tiles that all have left are forgotten */
void weiri_gmem_access(weiri_run *r, int ai, const weiri_action *act, int ri);
bit weiri_gmem_bit(const weiri_run *r, int ai, int ri);
void weiri_gmem_leave(weiri_run *r, int tiles);
/* prove_end.c */
void weiri_run_at_exit(weiri_run *r);   /* all have ended */
void weiri_run_stuck(weiri_run *r);     /* nobody can go on */

#endif
