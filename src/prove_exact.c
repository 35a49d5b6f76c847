/* A run in which nothing is left open: with the arguments of one launch, every length and condition comes out as the kernel
 * computes it, from the indices of the loops around as well. It tells whether a fault that the search has found can happen. */
#include "prove_know.h"

typedef struct asking { weiri_run *r; int actor; } asking;

static const weiri_code *code_of(const weiri_run *r, int actor) { return &r->g->code.v[r->g->actors.v[actor].code]; }
static int64_t *iteration(const weiri_run *r, int actor, int loop) {
    const weiri_actor *me = &r->g->actors.v[actor];
    return &r->iter[loop_at(me, &r->g->code.v[me->code], loop)];
}

static bool index_now(const void *of, const weiri_node *loop, int64_t *out);

static bool number(const asking *of, uint32_t value, bool counts, int64_t *out) {
    weiri_env e = *of->r->launch;
    e.index = index_now, e.of = of;
    const int in = of->r->v[of->r->g->actors.v[of->actor].vars + V_TILE], tile = of->r->left + in;
    if (of->r->coords && in == TILE_DONE) {
        e.all = (const int64_t(*)[WEIR_MAX_RANK])of->r->coords;
        e.had = of->r->left + of->r->v[of->r->g->stream_at];
    } else if (of->r->coords && in >= 0) {
        e.coord = of->r->coords[tile];
        for (int i = 1; i < WEIRI_PAST && i <= tile; i++) e.before[i] = of->r->coords[tile - i];
    }
    e.cta = of->r->g->actors.v[of->actor].cta;
    e.counts = counts;
    return weiri_range_number(&e, value, out);
}

/* Start and step, of a lane's loop those of the one that all lanes share. */
static bool numbers(const asking *of, const weiri_loop *l, int64_t *from, int64_t *by) {
    if (!number(of, l->node->start, true, from) || !number(of, l->node->step, true, by)) return false;
    if (l->deal && l->lane >= 0) *from -= l->lane, *by = 1;
    return true;
}

/* The number that a loop's index is now: of the loop itself, or (for a condition under a key) of one around that runs through
 * the same. */
static bool index_now(const void *p, const weiri_node *loop, int64_t *out) {
    const asking *of = p;
    const weiri_code *c = code_of(of->r, of->actor);
    const int pc = of->r->v[of->r->g->actors.v[of->actor].vars + V_PC];
    int64_t from = 0, by = 0;
    for (int alike = 0; alike < 2; alike++)
        for (int i = 0; i < pc; i++) {
            if (c->ins.v[i].op != IN_LOOP || c->ins.v[i + 1].jump <= pc) continue;
            const weiri_loop *l = &c->loops.v[c->ins.v[i].a];
            if (alike ? !weiri_forms_same_index(of->r->g->p->k, l->node, loop) : l->node != loop) continue;
            numbers(of, l, &from, &by); /* the loop was entered: they are known */
            *out = from + by * *iteration(of->r, of->actor, c->ins.v[i].a);
            return true;
        }
    return false;
}

static int undecided(weiri_run *r) {
    r->fatal = r->unknown = true;
    return 0;
}

int weiri_exact_more(weiri_run *r, int actor, int loop, int64_t done, int need) {
    const asking of = { r, actor };
    const weiri_loop *l = &code_of(r, actor)->loops.v[loop];
    int64_t from, to, by;
    if (!numbers(&of, l, &from, &by) || !number(&of, l->node->stop, true, &to)) return undecided(r);
    int64_t last = from + (done + need - 1) * by;
    return by > 0 ? last < to : last > to; /* steps of 0 go downwards, as in the kernel: there is none, or no end */
}

int weiri_exact_truth(weiri_run *r, int actor, uint32_t condition) {
    const asking of = { r, actor };
    int64_t x;
    return number(&of, condition, false, &x) ? x != 0 : undecided(r);
}

weiri_exact weiri_run_exact(weiri_run *r, const weiri_env *launch, int tiles) {
    r->replay = true; /* texts */
    r->launch = launch;
    r->iter = WEIRI_NEW_N(r->a, int64_t, r->g->nints + 1);
    weiri_run_start(r);
    weiri_run_go(r);
    while (!r->nfaults && !r->fatal && r->want == WEIRI_WANT_TILE) {
        int more = r->left + r->v[r->g->stream_at] < tiles;
        if (!weiri_run_may(r, more)) break; /* tasks too far apart */
        weiri_run_choose(r, more);
        weiri_run_go(r);
    }
    return r->nfaults ? EXACT_FAULT : r->unknown ? EXACT_UNKNOWN : EXACT_NONE;
}
