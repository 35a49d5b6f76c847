/* One run of the compiled program: every actor goes as far as it can. What happened before what is kept as sets: for each
 * access that still matters, who knows it has happened. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "prove.h"

/* LAPS, even: the laps that cursors and barriers seem to have behind them at launch, so that what is older stays positive. */
enum { TILE_DONE = 1000, AGE_MAX = 60, COMPLETE = -1, LAPS = 4, GEN_MANY = -1 };

/* ---- state -------------------------------------------------------------------------------------------------------------- */

size_t weiri_state_size(const weiri_prog *g) {
    return sizeof(int) * (size_t)g->nints + sizeof(uint64_t) * (size_t)g->nrows * (size_t)g->nwords;
}

void weiri_run_init(weiri_run *r, const weiri_prog *g, weiri_arena *a, void *state) {
    r->g = g;
    r->a = a;
    r->v = state;
    r->w = (uint64_t *)(void *)(r->v + g->nints);
}

static uint64_t *row(const weiri_run *r, int i) { return r->w + (size_t)i * (size_t)r->g->nwords; }
static int *actor_vars(const weiri_run *r, int ai) { return r->v + r->g->actors.v[ai].vars; }

/* A bit of a ring's stage: word and mask. */
typedef struct bit { int word; uint64_t mask; } bit;
static bit bit_of(const weiri_prog *g, int ring, int stage, int n) {
    const weiri_ring *q = &g->rings.v[ring];
    return (bit){ q->word + stage * q->words + n / 64, 1ull << (n % 64) };
}
static bool has(const weiri_run *r, int rw, bit b) { return row(r, rw)[b.word] & b.mask; }
static void set(weiri_run *r, int rw, bit b) { row(r, rw)[b.word] |= b.mask; }
/* Nobody knows it any more, and it does not stand. */
static void forget(weiri_run *r, bit b) {
    for (int i = 0; i < r->g->nrows; i++) row(r, i)[b.word] &= ~b.mask;
}

/* ---- knowledge of actors ------------------------------------------------------------------------------------------------ */

/* The row that must know something before threads `by` of the actor may rely on it. */
static int need_row(const weiri_actor *me, int by) { return me->row + me->by[by == BY_ALL ? BY_EACH : by]; }

static void join(weiri_run *r, int to, int from) {
    uint64_t *d = row(r, to), *s = row(r, from);
    for (int i = 0; i < r->g->nwords; i++) d[i] |= s[i];
}

static void set_all(weiri_run *r, const weiri_actor *me, bit b) {
    for (int i = 0; i < me->nrows; i++) set(r, me->row + i, b);
}

/* What threads `by` know flows into row `to`. */
static void give(weiri_run *r, const weiri_actor *me, int by, int to) {
    if (by == BY_ALL)
        for (int i = 0; i < me->nrows; i++) join(r, to, me->row + i);
    else join(r, to, me->row + me->by[by]);
}

/* What completes by itself comes later than all the thread did before, but releases nothing that the thread wrote. */
static void follow(weiri_run *r, int from, int to) {
    for (int i = 0; i < r->g->nwords; i++) row(r, to)[i] |= row(r, from)[i] & ~r->g->write_mask[i];
}

static void take(weiri_run *r, const weiri_actor *me, int by, int from) {
    if (by == BY_ALL)
        for (int i = 0; i < me->nrows; i++) join(r, me->row + i, from);
    else join(r, me->row + me->by[by], from);
}

/* The actor's threads meet: all know what any knew. */
static void meet(weiri_run *r, const weiri_actor *me) {
    for (int i = 1; i < me->nrows; i++) join(r, me->row, me->row + i);
    for (int i = 1; i < me->nrows; i++) join(r, me->row + i, me->row);
}

/* ---- faults ------------------------------------------------------------------------------------------------------------- */

/* Order in a report: what certainly fails, then races, then what may happen to a barrier because of them, then the end. */
static int order_of(const char *rule, bool maybe) {
    static const char *const order[] = { "PROVE-TX", "PROVE-COUNT", "PROVE-DEADLOCK", "PROVE-ASYNC-READ", "PROVE-PROXY", "PROVE-RACE", "PROVE-PARITY", "PROVE-PDL",
                                         "PROVE-EXIT", "PROVE-LOST" };
    int i = 0;
    while (i < 9 && strcmp(order[i], rule)) i++;
    return maybe && i < 2 ? 6 : i;
}

static weiri_fault *fault(weiri_run *r, const char *rule, const weiri_action *act, int ai, int with) {
    static const weiri_fault none = { 0 };
    int task = ai >= 0 ? r->g->actors.v[ai].task : -1, id = act ? act->id : 0;
    for (int i = 0; i < r->nfaults; i++)
        if (r->fault[i].rule == rule && r->fault[i].act == id && r->fault[i].with == with) return NULL;
    if (r->nfaults == (int)(sizeof r->fault / sizeof *r->fault)) return NULL;
    weiri_fault *f = &r->fault[r->nfaults++];
    *f = none;
    f->rule = rule;
    f->act = id;
    f->actor = task;
    f->with = with;
    f->order = order_of(rule, false);
    f->who = ai;
    f->other = -1;
    f->at = weiri_act_at(act);
    return r->replay ? f : NULL;
}

static const char *actor_name(const weiri_run *r, int ai) { return r->g->actors.v[ai].name; }

static const char *verb(const weiri_action *a) {
    switch (a->kind) {
    case ACT_MMA: return "the mma";
    case ACT_LOAD_BULK: return "the bulk load";
    case ACT_STORE_BULK: return "the bulk store";
    case ACT_CP_ASYNC: return "the cp.async";
    default: return "the work";
    }
}

static const char *storage_name(const weiri_run *r, const weiri_loc *l, int stage) {
    const weiri_plan *p = r->g->p;
    if (l->region < 0) {
        const char *n = l->reg < p->k->res.n ? p->k->res.v[l->reg]->name : "?";
        return weiri_arena_fmt(r->a, "register tile '%s'", n);
    }
    if (p->smem.v[l->region].stages < 2) return weiri_arena_fmt(r->a, "'%s'", p->smem.v[l->region].name);
    return weiri_arena_fmt(r->a, "stage %d of '%s'", stage, p->smem.v[l->region].name);
}

/* ---- uses of cursors ---------------------------------------------------------------------------------------------------- */

static int mod(int x, int m) { return (x % m + m) % m; }
static int lap(int use, int stages) { return (use - mod(use, stages)) / stages; }

static int local_cursor(const weiri_code *c, int cur) {
    for (int i = 0; i < c->ncursors; i++)
        if (c->cursor[i] == cur) return i;
    return -1;
}

static int *cursor_vars(const weiri_run *r, const weiri_actor *me, int cur) {
    int i = local_cursor(&r->g->code.v[me->code], cur);
    return i < 0 ? NULL : r->v + me->cursors + C_VARS * i;
}

/* Which use of the cursor, counted from the launch (or from the origin of a canonical state). */
static int use_of(const weiri_run *r, const weiri_actor *me, int cur, weiri_stage_ref ref, int back) {
    const int *c = cur >= 0 ? cursor_vars(r, me, cur) : NULL;
    if (!c) return 0;
    return ref == STAGE_CLOSE ? c[C_CLOSE] : ref == STAGE_HELD ? c[C_OPEN] - 1 - back : c[C_OPEN];
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */

static bool writes(weiri_rec_kind k) { return k == REC_WRITE || k == REC_MMA_WRITE || k == REC_LOAD || k == REC_CP_WRITE; }
static bool generic(weiri_rec_kind k) { return k == REC_READ || k == REC_WRITE || k == REC_CP_WRITE; }
static bool mma(weiri_rec_kind k) { return k == REC_MMA_READ || k == REC_MMA_WRITE; }

static int64_t byte_of(const weiri_plan *p, const weiri_loc *l, int stage, int64_t in) {
    const weiri_region *g = &p->smem.v[l->region];
    return g->offset + stage * g->stage_bytes + in;
}

/* Do stage i of x and stage j of y share bytes? */
static bool bytes_meet(const weiri_prog *g, const weiri_loc *x, int i, const weiri_loc *y, int j) {
    return byte_of(g->p, x, i, x->lo) < byte_of(g->p, y, j, y->hi) && byte_of(g->p, y, j, y->lo) < byte_of(g->p, x, i, x->hi);
}

/* Is y, done before x, ordered by other means than events? In-order MMAs, threads that fill a stage together, slices of a load. */
static bool allied(const weiri_run *r, const weiri_rec *x, int genx, const weiri_rec *y, int geny) {
    const weiri_actor *a = &r->g->actors.v[x->actor], *b = &r->g->actors.v[y->actor];
    if (x->actor == y->actor) {
        if (generic(x->kind) && generic(y->kind)) return true;
        if (mma(x->kind) && mma(y->kind)) return true;
        if (generic(y->kind) && r->g->locs.v[y->loc].region < 0) return true; /* a thread's own registers, behind wgmma.fence */
    }
    if (x->kind == REC_LOAD && y->kind == REC_LOAD) return a->cta != b->cta && a->task == b->task && genx == geny;
    if (x->kind == REC_WRITE && y->kind == REC_WRITE) return a->task == b->task && genx == geny;
    return false;
}

static void race(weiri_run *r, int ai, const weiri_action *act, const weiri_rec *me, int stage, const weiri_rec *other, int ostage, bool proxy) {
    const weiri_prog *g = r->g;
    const weiri_loc *l = &g->locs.v[me->loc];
    const char *rule = proxy ? "PROVE-PROXY" : other->kind == REC_MMA_READ && l->region >= 0 ? "PROVE-ASYNC-READ" : "PROVE-RACE";
    const weiri_actor *him = &g->actors.v[other->actor];
    int with = ((him->task * 8 + (int)other->kind) * 4 + other->by) * 1024 + (l->region >= 0 ? l->region : 512 + l->reg);
    weiri_fault *f = fault(r, rule, act, ai, with);
    if (!f) return;
    f->other = other->actor;
    const weiri_action *old = r->rec_act[other->aux + R_VARS * ostage];
    const char *what = storage_name(r, l, stage), *mine = actor_name(r, ai), *his = him->name;
    const char *other_what = g->locs.v[other->loc].region == l->region ? what : storage_name(r, &g->locs.v[other->loc], ostage);
    f->object = l->region >= 0 ? g->p->smem.v[l->region].name : NULL;
    f->other_at = weiri_act_at(old);
    const char *same = strcmp(what, other_what) ? weiri_arena_fmt(r->a, ", the bytes of %s,", other_what) : "";
    if (proxy) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' %s %s through the async proxy; threads of '%s' wrote it with no fence between the write and its hand-over",
                                  verb(act), mine, writes(me->kind) ? "overwrites" : "reads", what, his);
        f->hint = "the writing threads must run fence.proxy.async after the write and before they arrive";
        f->other_what = "the write";
    } else if (other->kind == REC_MMA_READ && l->region < 0) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' touches %s while an mma may still read it", verb(act), mine, what);
        f->hint = "drain the mma first";
        f->other_what = "the mma";
    } else if (other->kind == REC_MMA_WRITE) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' touches %s while an mma may still add to it", verb(act), mine, what);
        f->hint = "drain the tile first";
        f->other_what = "the mma";
    } else if (writes(me->kind) && !writes(other->kind)) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' writes %s%s while %s of '%s' may still read it", verb(act), mine, what, same,
                                  old ? verb(old) : "work", his);
        f->hint = other->kind == REC_MMA_READ ? "drain the mma before the stage is released"
                : other->kind == REC_BULK_READ ? "wait for the bulk group (read) before the stage is filled again"
                : "release the stage after the read, and acquire it before the write";
        f->other_what = "the read";
    } else if (writes(other->kind) && !writes(me->kind)) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' reads %s%s, and nothing says that %s of '%s' has finished", verb(act), mine, what, same,
                                  old ? verb(old) : "the write", his);
        f->hint = "wait for the stage before it is read";
        f->other_what = "the write";
    } else {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' and %s of '%s' both write %s%s in no order", verb(act), mine, old ? verb(old) : "the write", his, what, same);
        f->hint = "acquire the stage before it is written";
        f->other_what = "the other write";
    }
}

/* Threads `by` of actor ai access what record `ri` stands for, at `stage`, in use `gen` of its cursor. */
static void touch(weiri_run *r, int ai, const weiri_action *act, int ri, int stage, int gen) {
    const weiri_prog *g = r->g;
    const weiri_rec *me = &g->recs.v[ri];
    const weiri_loc *l = &g->locs.v[me->loc];
    const weiri_actor *self = &g->actors.v[ai];
    int need = need_row(self, me->by);
    for (int o = 0; o < l->over.n; o++) {
        const weiri_loc *m = &g->locs.v[l->over.v[o]];
        int from = 0, to = g->rings.v[m->ring].stages;
        if (l->region < 0 || (m->region == l->region && l->hi <= g->p->smem.v[l->region].stage_bytes && m->hi <= g->p->smem.v[l->region].stage_bytes))
            from = stage, to = stage + 1;
        for (int x = 0; x < m->recs.n; x++) {
            const weiri_rec *q = &g->recs.v[m->recs.v[x]];
            if (!writes(me->kind) && !writes(q->kind)) continue;
            for (int s = from; s < to; s++) {
                bit b = bit_of(g, q->ring, s, q->bit);
                if (!has(r, 0, b)) continue;
                if (l->region >= 0 && !bytes_meet(g, l, stage, m, s)) continue;
                int *aux = r->v + q->aux + R_VARS * s;
                if (allied(r, me, gen, q, aux[R_GEN])) continue;
                bool fenced = q->fence_bit >= 0 && !generic(me->kind);
                bool known = has(r, need, b);
                if (!known) race(r, ai, act, me, stage, q, s, false);
                else if (fenced && !has(r, need, bit_of(g, q->ring, s, q->fence_bit))) race(r, ai, act, me, stage, q, s, true);
                /* ordered, and covered by this write: whatever it could meet later meets this write too */
                else if (writes(me->kind) && q != me && m->region == l->region && s == stage && l->lo <= m->lo && m->hi <= l->hi) {
                    forget(r, b);
                    if (q->fence_bit >= 0) forget(r, bit_of(g, q->ring, s, q->fence_bit));
                    aux[R_AGE] = aux[R_GEN] = 0;
                }
            }
        }
    }
    bit b = bit_of(g, me->ring, stage, me->bit);
    forget(r, b);
    if (me->fence_bit >= 0) forget(r, bit_of(g, me->ring, stage, me->fence_bit));
    set(r, 0, b);
    if (me->fence_bit >= 0) set(r, 0, bit_of(g, me->ring, stage, me->fence_bit));
    int *aux = r->v + me->aux + R_VARS * stage;
    aux[R_AGE] = 0;
    aux[R_GEN] = me->kind == REC_LOAD || me->kind == REC_WRITE ? gen : 0;
    if (me->kind == REC_READ || me->kind == REC_WRITE) {
        aux[R_AGE] = COMPLETE;
        set(r, self->row + self->by[me->by], b);
    }
    if (r->replay) r->rec_act[me->aux + R_VARS * stage] = act;
}

/* Asynchronous accesses of the actor grow older by a group, or are found complete. */
static void groups(weiri_run *r, const weiri_actor *me, bool bulk, bool cp, int wait, int by) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < me->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[me->recs.v[i]];
        if (cp ? q->kind != REC_CP_WRITE : bulk ? q->kind != REC_BULK_READ : !mma(q->kind)) continue;
        if (bulk && by != BY_ALL && by != q->by) continue; /* bulk groups belong to the thread that issued them */
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            int *age = r->v + q->aux + R_VARS * s + R_AGE;
            if (*age == COMPLETE || !has(r, 0, b)) continue;
            if (wait < 0) {
                if (*age < AGE_MAX) ++*age;
            } else if (*age > wait) {
                *age = COMPLETE;
                if (bulk || cp) set(r, me->row + me->by[q->by], b);
                else set_all(r, me, b);
            }
        }
    }
}

/* ---- mbarriers ---------------------------------------------------------------------------------------------------------- */

typedef struct spot { int cta, bar, stage; const weiri_bari *b; int *v; int gather, done; } spot;

static spot spot_of(const weiri_run *r, int cta, int bar, int stage) {
    const weiri_bari *b = &r->g->bars[cta * r->g->nbars + bar];
    return (spot){ cta, bar, stage, b, r->v + b->vars + B_VARS * stage, b->row + 2 * stage, b->row + 2 * stage + 1 };
}
static bit spot_bit(const weiri_run *r, const spot *s, int n) { return bit_of(r->g, s->b->ring, s->stage, s->b->bit + n); }

static const char *spot_name(const weiri_run *r, const spot *s) {
    const char *n = r->g->p->bars.v[s->bar].name;
    return r->g->nctas > 1 ? weiri_arena_fmt(r->a, "%s[%d] of CTA %d", n, s->stage, s->cta) : weiri_arena_fmt(r->a, "%s[%d]", n, s->stage);
}

/* The phase ends if nothing is missing. Whoever waited for the phase before must have been seen by then. */
static void complete(weiri_run *r, const spot *s, const weiri_action *act, int ai) {
    const weiri_prog *g = r->g;
    if (s->v[B_PENDING] != 0 || s->v[B_TX] != 0) return;
    for (int i = 0; i < g->actors.n; i++) {
        if (s->b->waiter[i] < 0) continue;
        bit w = spot_bit(r, s, 2 + s->b->waiter[i]);
        if (has(r, 0, w) && !has(r, s->gather, w)) {
            weiri_fault *f = fault(r, "PROVE-PARITY", act, ai, 4096 + g->actors.v[i].task);
            if (f) {
                f->text = weiri_arena_fmt(r->a, "%s may end its next phase while '%s' still waits for the one before: the parity it waits for comes round again",
                                          spot_name(r, s), actor_name(r, i));
                f->hint = "let the arrivals of a phase follow every wait for the phase before it";
                f->object = g->p->bars.v[s->bar].name;
            }
        }
        forget(r, w);
    }
    /* newest completion becomes the one before */
    bit now = spot_bit(r, s, 0), before = spot_bit(r, s, 1);
    for (int i = 0; i < g->nrows; i++) {
        uint64_t *x = row(r, i);
        bool known = x[now.word] & now.mask;
        x[before.word] &= ~before.mask;
        if (known) x[before.word] |= before.mask;
        x[now.word] &= ~now.mask;
    }
    set(r, 0, now);
    set(r, s->gather, now);
    memcpy(row(r, s->done), row(r, s->gather), sizeof(uint64_t) * (size_t)g->nwords);
    memset(row(r, s->gather), 0, sizeof(uint64_t) * (size_t)g->nwords);
    s->v[B_PHASE]++;
    s->v[B_PENDING] = g->p->bars.v[s->bar].count;
}

/* The barrier must have been initialised, as far as `need` knows. */
static void usable(weiri_run *r, const spot *s, const weiri_action *act, int ai, int need) {
    const weiri_prog *g = r->g;
    if (!g->has_init) return;
    bit b = bit_of(g, 0, 0, g->bit_init + s->cta);
    if (has(r, 0, b) && has(r, need, b)) return;
    weiri_fault *f = fault(r, "PROVE-RACE", act, ai, 8192 + s->cta);
    if (!f) return;
    f->text = weiri_arena_fmt(r->a, "'%s' may use %s before it is initialised", actor_name(r, ai), spot_name(r, s));
    f->hint = "initialise the mbarriers, fence, and join the CTA (or the cluster) before the first use";
    f->object = g->p->bars.v[s->bar].name;
}

/* An arrival (or bytes) meant for phase `k`: is that the phase it falls into, in every order? */
static bool in_phase(weiri_run *r, const spot *s, const weiri_action *act, int ai, int need, int k, bool tx) {
    const weiri_prog *g = r->g;
    bit now = spot_bit(r, s, 0);
    bool late = s->v[B_PHASE] > k, early = s->v[B_PHASE] < k || (has(r, 0, now) && !has(r, need, now));
    if (!late && !early) return true;
    int before = r->nfaults;
    weiri_fault *f = fault(r, tx ? "PROVE-TX" : "PROVE-COUNT", act, ai, 4 * act->bar + (late ? 1 : 0));
    if (r->nfaults > before && !late) r->fault[before].order = order_of(r->fault[before].rule, true);
    if (f) {
        const weiri_bar *b = &g->p->bars.v[s->bar];
        f->object = b->name;
        if (late) {
            f->text = weiri_arena_fmt(r->a, "%s of '%s' at %s come%s after the phase they belong to is complete: it counts %d arrival%s and %" PRId64 " bytes",
                                      tx ? "bytes" : "arrivals", actor_name(r, ai), spot_name(r, s), "", b->count, b->count == 1 ? "" : "s", b->tx);
            f->hint = tx ? "the bytes armed for a phase must be all that arrive in it" : "the count must be the number of arrivals of a phase";
            f->expected = weiri_arena_fmt(r->a, tx ? "all bytes of a phase armed" : "a count of all arrivals of a phase");
            f->got = tx ? weiri_arena_fmt(r->a, "%" PRId64 " bytes", b->tx) : weiri_arena_fmt(r->a, "%d", b->count);
        } else {
            f->text = weiri_arena_fmt(r->a, "%s of '%s' at %s may fall into the phase before: nothing says that it is over", tx ? "bytes" : "an arrival",
                                      actor_name(r, ai), spot_name(r, s));
            f->hint = "wait for the phase before, or for something that follows it";
        }
    }
    if (s->v[B_PHASE] != k) r->fatal = true;
    return s->v[B_PHASE] == k;
}

static void arrive(weiri_run *r, const spot *s, const weiri_action *act, int ai, int by, int k, int n, int64_t bytes, bool knows) {
    const weiri_actor *me = &r->g->actors.v[ai];
    int need = need_row(me, by);
    usable(r, s, act, ai, need);
    if (!in_phase(r, s, act, ai, need, k, false)) return;
    s->v[B_PENDING] -= n;
    s->v[B_TX] += (int)bytes;
    if (s->v[B_PENDING] < 0) {
        weiri_fault *f = fault(r, "PROVE-COUNT", act, ai, 4 * act->bar + 2);
        if (f) {
            const weiri_bar *b = &r->g->p->bars.v[s->bar];
            f->text = weiri_arena_fmt(r->a, "%d arrival%s too many in a phase of %s", -s->v[B_PENDING], s->v[B_PENDING] == -1 ? "" : "s", spot_name(r, s));
            f->expected = weiri_arena_fmt(r->a, "%d a phase (%s)", b->count, b->sum ? b->sum : "count");
            f->got = weiri_arena_fmt(r->a, "%d", b->count - s->v[B_PENDING]);
            f->object = b->name;
        }
        r->fatal = true;
        return;
    }
    if (s->cta != me->cta) {
        bit b = bit_of(r->g, 0, 0, r->g->bit_remote + ai * r->g->nctas + s->cta);
        forget(r, b);
        set(r, 0, b);
        if (by == BY_ALL) set_all(r, me, b);
        else set(r, me->row + me->by[by], b);
    }
    if (knows) give(r, me, by, s->gather);
}

static bool too_many_bytes(weiri_run *r, const spot *s, const weiri_action *act, int ai) {
    if (s->v[B_PENDING] != 0 || s->v[B_TX] >= 0) return false;
    weiri_fault *f = fault(r, "PROVE-TX", act, ai, 4 * act->bar + 2);
    if (f) {
        const weiri_bar *b = &r->g->p->bars.v[s->bar];
        f->text = weiri_arena_fmt(r->a, "%d bytes more arrive in a phase of %s than its arrivals expect", -s->v[B_TX], spot_name(r, s));
        f->hint = "arm the bytes that all copies into the stage bring";
        f->object = b->name;
    }
    r->fatal = true;
    return true;
}

/* Waiting for phase k: true when it is over. */
static bool wait(weiri_run *r, const spot *s, const weiri_action *act, int ai, int by, int k) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int need = need_row(me, by), ahead = s->v[B_PHASE] - k;
    usable(r, s, act, ai, need);
    bit prev = spot_bit(r, s, ahead == 1 ? 1 : 0); /* the phase before k ended */
    if (ahead < 0 || ahead > 1 || (has(r, 0, prev) && !has(r, need, prev))) {
        weiri_fault *f = fault(r, "PROVE-PARITY", act, ai, act->bar);
        if (f) {
            f->object = g->p->bars.v[s->bar].name;
            f->text = ahead > 1 ? weiri_arena_fmt(r->a, "'%s' waits for a phase of %s that was over two phases ago: its parity has come round again", actor_name(r, ai), spot_name(r, s))
                                : weiri_arena_fmt(r->a, "'%s' waits for a phase of %s while the one before may still be open: it may pass at once, on the same parity", actor_name(r, ai), spot_name(r, s));
            f->hint = "every phase must be waited for, in turn, by each side";
        }
        if (ahead < 0 || ahead > 1) {
            r->fatal = true;
            return false;
        }
    }
    if (ahead < 1) return false;
    take(r, me, by, s->done);
    if (s->b->waiter[ai] >= 0) {
        bit w = spot_bit(r, s, 2 + s->b->waiter[ai]);
        forget(r, w);
        set(r, 0, w);
        if (by == BY_ALL) set_all(r, me, w);
        else set(r, me->row + me->by[by], w);
    }
    return true;
}

/* ---- tapes -------------------------------------------------------------------------------------------------------------- */

int *weiri_run_tape(const weiri_run *r, int tape, int tile) {
    const weiri_prog *g = r->g;
    return g->tapes.v[tape].tile ? r->v + g->tile_at + T_VARS * (tile * g->ntile + g->tile_tape[tape]) : r->v + g->root_at + T_VARS * g->root_tape[tape];
}

static uint64_t letters(const int *t) { return (uint64_t)(uint32_t)t[T_LO] | (uint64_t)(uint32_t)t[T_HI] << 32; }
static void set_letters(int *t, uint64_t x) {
    t[T_LO] = (int)(uint32_t)x;
    t[T_HI] = (int)(uint32_t)(x >> 32);
}

typedef struct view { int *tape; int *off; int id; } view; /* a tape as an actor sees it */
static view view_of(const weiri_run *r, const weiri_actor *me, int tape) {
    int id = weiri_prog_tape(r->g, tape, me->cta), tile = r->v[me->vars + V_TILE];
    return (view){ weiri_run_tape(r, id, tile < 0 || tile >= WEIRI_TILES ? 0 : tile), r->v + me->offs + id, id };
}

/* Units of the running instance still ahead; *ended: no more can follow. */
static int units(const view *x, bool *ended) {
    uint64_t l = letters(x->tape);
    int n = 0, i = *x->off;
    while (i < x->tape[T_LEN] && (l >> i & 1)) i++, n++;
    *ended = i < x->tape[T_LEN];
    return n;
}

/* Are there `need` more iterations? 1 yes, 0 no, -1: ask *want. */
static int more(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, const int *v, int need, int *want) {
    need -= v[L_SUB];
    if (need <= 0) return 1;
    for (int p = v[L_PART]; p < l->trips.nparts; p++) {
        const weiri_part *part = &l->trips.part[p];
        view x = view_of(r, me, part->tape);
        bool ended;
        int n = units(&x, &ended) - part->skip;
        if (n > 0 && n * part->rep >= need) return 1;
        if (!ended) {
            *want = x.id;
            return -1;
        }
        if (n > 0) need -= n * part->rep;
    }
    return 0;
}

static void next_iteration(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, int *v) {
    if (v[L_SUB] > 0) {
        v[L_SUB]--;
        return;
    }
    for (; v[L_PART] < l->trips.nparts; v[L_PART]++) {
        const weiri_part *part = &l->trips.part[v[L_PART]];
        view x = view_of(r, me, part->tape);
        bool ended;
        int n = units(&x, &ended);
        if (n > part->skip) {
            ++*x.off;
            v[L_SUB] = part->rep - 1;
            return;
        }
        *x.off += n + 1;
    }
}

static void leave_loop(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, int *v) {
    for (; v[L_PART] < l->trips.nparts; v[L_PART]++) {
        view x = view_of(r, me, l->trips.part[v[L_PART]].tape);
        bool ended;
        *x.off += units(&x, &ended) + 1;
    }
    memset(v, 0, sizeof(int) * L_VARS);
}

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

static void effects(weiri_run *r, int ai, int pc, const weiri_action *act) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int at = me->eff[pc], to[64];
    /* all reads before the writes: an action does not race with itself */
    for (int pass = 0; pass < 2; pass++)
        for (int e = 0, i = at; e < act->neff; e++) {
            const weiri_effect *x = &act->eff[e];
            int n = weiri_prog_effect(g, me, act, x, to);
            int use = x->cur >= 0 && x->stage != STAGE_NONE ? use_of(r, me, x->cur, x->stage, x->back) : 0;
            int stages = x->cur >= 0 && x->stage != STAGE_NONE ? g->p->cursors.v[x->cur].stages : 1;
            for (int t = 0; t < n; t++, i++)
                if ((pass == 1) == x->write) touch(r, ai, act, g->eff.v[i], mod(use, stages), use);
        }
}

/* Bytes that land on a barrier by themselves. The write is known to whoever waits for the phase, not to the issuer. */
static void land(weiri_run *r, int ai, int pc, const weiri_action *act, int use, int stage) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int by = weiri_prog_by(act), need = need_row(me, by), to[64], n = weiri_prog_targets(g, me->cta, act, to);
    effects(r, ai, pc, act);
    if (act->bar < 0) return;
    for (int t = 0; t < n && !r->fatal; t++) {
        spot s = spot_of(r, to[t], act->bar, stage);
        usable(r, &s, act, ai, need);
        if (!in_phase(r, &s, act, ai, need, lap(use, g->p->bars.v[act->bar].stages), true)) return;
        s.v[B_TX] -= (int)act->bytes;
        follow(r, need, s.gather);
        for (int e = 0, i = me->eff[pc]; e < act->neff; e++) {
            int tt[64], nt = weiri_prog_effect(g, me, act, &act->eff[e], tt);
            for (int q = 0; q < nt; q++, i++) {
                const weiri_rec *rec = &g->recs.v[g->eff.v[i]];
                if (tt[q] == to[t] && rec->kind == REC_LOAD) set(r, s.gather, bit_of(g, rec->ring, stage, rec->bit));
            }
        }
        if (too_many_bytes(r, &s, act, ai)) return;
        complete(r, &s, act, ai);
    }
}

static void log_event(weiri_run *r, int ai, const weiri_action *act, int use, int stages) {
    if (!r->replay) return;
    bool before = act->kind == ACT_WAIT && r->g->p->cursors.v[act->cur].producer; /* it waits for the phase before its use */
    weiri_event e = { ai, act, stages ? mod(use, stages) : -1, stages ? lap(use, stages) - LAPS - before : 0 };
    WEIRI_PUSH(r->a, r->log, e);
}

static int ctas_actors(const weiri_prog *g, int cta) {
    int n = 0;
    for (int i = 0; i < g->actors.n; i++) n += cta < 0 || g->actors.v[i].cta == cta;
    return n;
}

/* Several actors meet at a named barrier or the CTA's: true when the last has come; all then go on. */
static bool rendezvous(weiri_run *r, int ai, const weiri_action *act, bool stay) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int id = weiri_prog_named(g, me, act), slot = 17 * me->cta + (id < 0 || id > 16 ? 0 : id);
    int *count = r->v + g->named_at + slot, gather = g->named_row + slot;
    int full = id == 16 ? ctas_actors(g, me->cta) : act->threads;
    *count += id == 16 ? 1 : me->threads;
    give(r, me, BY_ALL, gather);
    if (*count > full) {
        weiri_fault *f = fault(r, "PROVE-COUNT", act, ai, 16384 + id);
        if (f) {
            f->text = weiri_arena_fmt(r->a, "named barrier %d takes %d threads, '%s' brings it to %d", id, full, me->name, *count);
            f->expected = weiri_arena_fmt(r->a, "%d threads", full);
            f->got = weiri_arena_fmt(r->a, "%d", *count);
        }
        r->fatal = true;
        return false;
    }
    if (stay) r->v[me->vars + V_STOP] = 1;
    if (*count < full) return !stay;
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *o = &g->actors.v[i];
        int *v = r->v + o->vars;
        if (o->cta != me->cta || !v[V_STOP]) continue;
        const weiri_action *his = g->code.v[o->code].ins.v[v[V_PC]].act;
        if (weiri_prog_named(g, o, his) != id) continue;
        take(r, o, BY_ALL, gather);
        v[V_STOP] = 0;
        if (i != ai) v[V_PC]++;
    }
    memset(row(r, gather), 0, sizeof(uint64_t) * (size_t)g->nwords);
    *count = 0;
    return true;
}

/* Executes the action; false: it must wait. */
static bool perform(weiri_run *r, int ai, int pc, const weiri_action *act) {
    const weiri_prog *g = r->g;
    const weiri_plan *p = g->p;
    const weiri_actor *me = &g->actors.v[ai];
    if (!weiri_prog_runs(g, me, act)) return true;
    int by = weiri_prog_by(act), need = need_row(me, by);
    int use = use_of(r, me, act->cur, act->stage, act->back);
    int stages = act->bar >= 0 ? p->bars.v[act->bar].stages : act->cur >= 0 ? p->cursors.v[act->cur].stages : 0;
    int stage = stages ? mod(use, stages) : 0, to[64];
    switch (act->kind) {
    case ACT_WAIT: {
        spot s = spot_of(r, me->cta, act->bar, stage);
        if (!wait(r, &s, act, ai, by, lap(use, stages) - (p->cursors.v[act->cur].producer ? 1 : 0))) return false;
        break;
    }
    case ACT_ARRIVE: {
        int n = weiri_prog_targets(g, me->cta, act, to);
        for (int t = 0; t < n && !r->fatal; t++) {
            spot s = spot_of(r, to[t], act->bar, stage);
            arrive(r, &s, act, ai, by, lap(use, stages), act->arrivals, 0, true);
            if (!r->fatal && !too_many_bytes(r, &s, act, ai)) complete(r, &s, act, ai);
        }
        break;
    }
    case ACT_EXPECT: {
        spot s = spot_of(r, me->cta, act->bar, stage);
        arrive(r, &s, act, ai, by, lap(use, stages), act->arrivals ? act->arrivals : 1, act->bytes, true);
        if (!r->fatal && !too_many_bytes(r, &s, act, ai)) complete(r, &s, act, ai);
        break;
    }
    case ACT_CP_ARRIVE:
    case ACT_UMMA_COMMIT: { /* arrives by itself once the accesses before it are done; brings nothing else */
        int n = weiri_prog_targets(g, me->cta, act, to);
        for (int t = 0; t < n && !r->fatal; t++) {
            spot s = spot_of(r, to[t], act->bar, stage);
            arrive(r, &s, act, ai, by, lap(use, stages), act->arrivals, 0, false);
            if (r->fatal) break;
            follow(r, need, s.gather);
            for (int i = 0; i < me->recs.n; i++) {
                const weiri_rec *q = &g->recs.v[me->recs.v[i]];
                if (act->kind == ACT_CP_ARRIVE ? q->kind != REC_CP_WRITE : !mma(q->kind)) continue;
                for (int x = 0; x < g->rings.v[q->ring].stages; x++)
                    if (has(r, 0, bit_of(g, q->ring, x, q->bit))) set(r, s.gather, bit_of(g, q->ring, x, q->bit));
            }
            if (!too_many_bytes(r, &s, act, ai)) complete(r, &s, act, ai);
        }
        break;
    }
    case ACT_ADVANCE: {
        int *c = cursor_vars(r, me, act->cur);
        if (c) c[act->stage == STAGE_CLOSE ? C_CLOSE : C_OPEN]++;
        return true; /* no event */
    }
    case ACT_LOAD_BULK: land(r, ai, pc, act, use, stage); break;
    case ACT_BODY:
        if (act->bar >= 0 && act->bytes > 0) { /* a body that brings bytes: on the stage it writes */
            for (int e = 0; e < act->neff; e++)
                if (act->eff[e].write && act->eff[e].cur >= 0) use = use_of(r, me, act->eff[e].cur, act->eff[e].stage, act->eff[e].back);
            if (me->index == 0) land(r, ai, pc, act, use, mod(use, stages));
            break;
        }
        effects(r, ai, pc, act);
        break;
    case ACT_MMA: case ACT_STORE_BULK: case ACT_CP_ASYNC: effects(r, ai, pc, act); break;
    case ACT_MMA_COMMIT: groups(r, me, false, false, -1, by); break;
    case ACT_MMA_WAIT: groups(r, me, false, false, act->n, by); break;
    case ACT_BULK_COMMIT: groups(r, me, true, false, -1, by); break;
    case ACT_BULK_WAIT: groups(r, me, true, false, act->n, by); break;
    case ACT_CP_COMMIT: groups(r, me, false, true, -1, by); break;
    case ACT_CP_WAIT: groups(r, me, false, true, act->n, by); break;
    case ACT_FENCE_ASYNC:
        for (int i = 0; i < me->recs.n; i++) {
            const weiri_rec *q = &g->recs.v[me->recs.v[i]];
            if (q->fence_bit < 0 || (by != BY_ALL && by != q->by)) continue;
            for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
                int own = me->row + me->by[q->by];
                if (has(r, 0, bit_of(g, q->ring, s, q->bit)) && has(r, own, bit_of(g, q->ring, s, q->bit)))
                    set(r, own, bit_of(g, q->ring, s, q->fence_bit));
            }
        }
        break;
    case ACT_WARP_SYNC:
        if (me->nrows <= 3) meet(r, me);
        else join(r, me->row + me->by[BY_LANE], me->row + me->by[BY_ALL]); /* the elected lanes of the warps, together, know all */
        break;
    case ACT_NAMED_SYNC:
    case ACT_CTA_SYNC:
        meet(r, me);
        if (!rendezvous(r, ai, act, true)) return false;
        break;
    case ACT_NAMED_ARRIVE: rendezvous(r, ai, act, false); break;
    case ACT_CLUSTER_ARRIVE: {
        int *c = r->v + g->cluster_at;
        actor_vars(r, ai)[V_CLUSTER] = 1 + c[1];
        give(r, me, BY_ALL, g->cluster_row);
        if (++c[0] == g->actors.n) {
            memcpy(row(r, g->cluster_row + 1), row(r, g->cluster_row), sizeof(uint64_t) * (size_t)g->nwords);
            memset(row(r, g->cluster_row), 0, sizeof(uint64_t) * (size_t)g->nwords);
            c[0] = 0;
            c[1] ^= 1;
        }
        break;
    }
    case ACT_CLUSTER_WAIT: {
        int *v = actor_vars(r, ai);
        if (v[V_CLUSTER] && r->v[g->cluster_at + 1] == v[V_CLUSTER] - 1) return false;
        if (v[V_CLUSTER]) take(r, me, BY_ALL, g->cluster_row + 1);
        v[V_CLUSTER] = 0;
        break;
    }
    case ACT_INIT: {
        bit b = bit_of(g, 0, 0, g->bit_init + me->cta);
        set(r, 0, b);
        set(r, me->row, b);
        break;
    }
    case ACT_GRID_WAIT:
        set(r, 0, bit_of(g, 0, 0, g->bit_wait + ai));
        set_all(r, me, bit_of(g, 0, 0, g->bit_wait + ai));
        break;
    case ACT_GRID_LAUNCH: {
        bool known = false;
        for (int i = 0; i < g->actors.n; i++) known = known || has(r, need, bit_of(g, 0, 0, g->bit_wait + i));
        weiri_fault *f = known ? NULL : fault(r, "PROVE-PDL", act, ai, 0);
        if (f) {
            f->text = weiri_arena_fmt(r->a, "'%s' may launch the next kernel before any task has waited for the previous one", me->name);
            f->hint = "wait_griddep() before launch_griddep(), in the same task or ordered before it";
        }
        break;
    }
    default: break;
    }
    log_event(r, ai, act, use, stages);
    return true;
}

/* ---- steps -------------------------------------------------------------------------------------------------------------- */

typedef enum outcome { MOVED, WAITS, ASKS, ENDED } outcome;

static void reset_keys(const weiri_run *r, const weiri_actor *me, const weiri_code *c, int scope) {
    for (int i = 0; i < c->keys.n; i++)
        if (c->keys.v[i].scope == scope) r->v[me->keys + i] = 0;
}

static outcome step(weiri_run *r, int ai, int *want) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    const weiri_code *c = &g->code.v[me->code];
    int *v = r->v + me->vars, pc = v[V_PC];
    const weiri_ins *x = &c->ins.v[pc];
    if (v[V_STOP]) return WAITS;
    r->steps++;
    switch (x->op) {
    case IN_ACT:
        if (!perform(r, ai, pc, x->act)) return WAITS;
        v[V_PC]++;
        return MOVED;
    case IN_LOOP: {
        int *l = r->v + me->loops + L_VARS * x->a;
        l[L_PART] = l[L_IDX] = 0;
        l[L_SUB] = (int)c->loops.v[x->a].trips.base;
        v[V_PC]++;
        return MOVED;
    }
    case IN_TEST: {
        const weiri_loop *loop = &c->loops.v[x->a];
        int *l = r->v + me->loops + L_VARS * x->a, yes = more(r, me, loop, l, 1, want);
        if (yes < 0) return ASKS;
        if (yes) {
            next_iteration(r, me, loop, l);
            reset_keys(r, me, c, x->a);
        } else leave_loop(r, me, loop, l);
        v[V_PC] = yes ? pc + 1 : x->jump;
        return MOVED;
    }
    case IN_BACK: {
        const weiri_loop *loop = &c->loops.v[x->a];
        int *i = r->v + me->loops + L_VARS * x->a + L_IDX, period = loop->period ? loop->period : 1;
        if (++*i >= loop->count_to + period) *i -= period;
        v[V_PC] = x->jump;
        return MOVED;
    }
    case IN_TILES: {
        int *stream = r->v + g->stream_at, next = v[V_TILE] + 1;
        if (next < stream[0]) {
            v[V_TILE] = next;
            for (int i = 0; i < g->tapes.n; i++)
                if (g->tapes.v[i].tile) r->v[me->offs + i] = 0;
            reset_keys(r, me, c, -1);
            v[V_PC]++;
            return MOVED;
        }
        if (!stream[1]) {
            *want = WEIRI_WANT_TILE;
            return ASKS;
        }
        v[V_TILE] = TILE_DONE;
        for (int i = 0; i < g->tapes.n; i++)
            if (g->tapes.v[i].tile) r->v[me->offs + i] = 0;
        reset_keys(r, me, c, -1);
        v[V_PC] = x->jump;
        return MOVED;
    }
    case IN_FIRST: v[V_PC] = r->v[me->loops + L_VARS * x->a + L_IDX] == 0 ? pc + 1 : x->jump; return MOVED;
    case IN_LAST: {
        int yes = more(r, me, &c->loops.v[x->a], r->v + me->loops + L_VARS * x->a, 1, want);
        if (yes < 0) return ASKS;
        v[V_PC] = yes ? x->jump : pc + 1;
        return MOVED;
    }
    case IN_EVERY: {
        int i = r->v[me->loops + L_VARS * x->a + L_IDX];
        v[V_PC] = i >= x->phase && (i - x->phase) % x->period == 0 ? pc + 1 : x->jump;
        return MOVED;
    }
    case IN_WHEN: {
        view t = view_of(r, me, c->keys.v[x->a].tape);
        bool constant = c->keys.v[x->a].constant;
        int *cached = r->v + me->keys + x->a, at = constant ? 0 : *t.off;
        if (constant || !*cached) {
            if (at >= t.tape[T_LEN]) {
                *want = t.id;
                return ASKS;
            }
            int truth = (int)(letters(t.tape) >> at & 1);
            if (constant) {
                v[V_PC] = truth == x->b ? pc + 1 : x->jump;
                return MOVED;
            }
            *cached = 1 + truth;
            ++*t.off;
        }
        v[V_PC] = *cached - 1 == x->b ? pc + 1 : x->jump;
        return MOVED;
    }
    case IN_HELD: {
        const int *k = r->v + me->cursors + C_VARS * x->a;
        v[V_PC] = k[C_OPEN] - k[C_CLOSE] > x->b ? pc + 1 : x->jump;
        return MOVED;
    }
    case IN_JUMP: v[V_PC] = x->jump; return MOVED;
    case IN_END:
    case IN_SKIP: break;
    }
    return ENDED;
}

/* Forgets letters that everybody has read, and tiles that everybody has left. */
static void tidy_tapes(weiri_run *r) {
    const weiri_prog *g = r->g;
    int *stream = r->v + g->stream_at, first = TILE_DONE;
    for (int i = 0; i < g->actors.n; i++) {
        const int *v = actor_vars(r, i);
        if (g->code.v[g->actors.v[i].code].tiles && v[V_TILE] < first) first = v[V_TILE];
    }
    if (first == TILE_DONE) first = stream[0]; /* all have left the tile loop */
    if (first > 0) {
        size_t each = sizeof(int) * T_VARS * (size_t)g->ntile;
        int *t = r->v + g->tile_at, keep = WEIRI_TILES - first;
        if (keep > 0) memmove(t, t + T_VARS * g->ntile * first, each * (size_t)keep);
        for (int i = keep > 0 ? keep : 0; i < WEIRI_TILES; i++) memset(t + T_VARS * g->ntile * i, 0, each);
        stream[0] -= first;
        for (int i = 0; i < g->actors.n; i++) {
            int *v = actor_vars(r, i);
            if (v[V_TILE] >= 0 && v[V_TILE] < TILE_DONE) v[V_TILE] -= first;
        }
    }
    for (int tape = 0; tape < g->tapes.n; tape++) {
        const weiri_tape *t = &g->tapes.v[tape];
        if (t->kind == TAPE_CONST) continue;
        for (int tile = 0; tile < (t->tile ? stream[0] : 1); tile++) {
            int *x = weiri_run_tape(r, tape, tile), least = x[T_LEN];
            if (!least) continue;
            for (int i = 0; i < g->actors.n; i++) {
                const weiri_actor *me = &g->actors.v[i];
                const int *v = r->v + me->vars;
                if (t->cta >= 0 && t->cta != me->cta) continue;
                int end = g->code.v[me->code].tape_end[tape], off = r->v[me->offs + tape];
                if (!end) continue;
                if (!t->tile ? v[V_PC] >= end : v[V_TILE] > tile || (v[V_TILE] == tile && v[V_PC] >= end)) continue;
                if (t->tile && v[V_TILE] < tile) off = 0;
                if (off < least) least = off;
            }
            if (!least) continue;
            x[T_LEN] -= least;
            set_letters(x, least < 64 ? letters(x) >> least : 0);
            for (int i = 0; i < g->actors.n; i++) {
                int *off = r->v + g->actors.v[i].offs + tape;
                if (t->tile && actor_vars(r, i)[V_TILE] != tile) continue;
                *off = *off > least ? *off - least : 0;
            }
        }
    }
}

static void stuck(weiri_run *r);
static void at_exit(weiri_run *r);

void weiri_run_go(weiri_run *r) {
    const weiri_prog *g = r->g;
    r->nfaults = 0;
    r->stuck = r->done = r->fatal = false;
    r->want = WEIRI_WANT_NONE;
    bool moved = true, all = true;
    while (moved && !r->fatal) {
        moved = false;
        all = true;
        r->want = WEIRI_WANT_NONE;
        r->want_tile = TILE_DONE;
        for (int i = 0; i < g->actors.n && !r->fatal; i++) {
            outcome o;
            int want = WEIRI_WANT_NONE;
            while ((o = step(r, i, &want)) == MOVED && !r->fatal) moved = true;
            all = all && o == ENDED;
            if (o != ASKS) continue;
            /* of several questions, that of whoever is furthest behind */
            int tile = actor_vars(r, i)[V_TILE];
            if (want == WEIRI_WANT_TILE) tile++;
            else if (!g->tapes.v[want].tile) tile = -1;
            if (r->want == WEIRI_WANT_NONE || tile < r->want_tile) r->want = want, r->want_tile = tile;
        }
    }
    if (r->fatal) return;
    r->done = all;
    int before = r->v[g->stream_at];
    tidy_tapes(r);
    if (r->want >= 0 && g->tapes.v[r->want].tile) r->want_tile -= before - r->v[g->stream_at];
    if (r->done) at_exit(r);
    else if (r->want == WEIRI_WANT_NONE) {
        r->stuck = true;
        stuck(r);
    }
}

void weiri_run_start(weiri_run *r) {
    const weiri_prog *g = r->g;
    memset(r->v, 0, weiri_state_size(g));
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        r->v[me->vars + V_TILE] = -1;
        for (int q = 0; q < c->ncursors; q++) {
            int *u = r->v + me->cursors + C_VARS * q;
            u[C_OPEN] = u[C_CLOSE] = LAPS * g->p->cursors.v[c->cursor[q]].stages;
        }
    }
    for (int i = 0; i < g->nctas * g->nbars; i++)
        for (int s = 0; s < g->p->bars.v[i % g->nbars].stages; s++) {
            int *b = r->v + g->bars[i].vars + B_VARS * s;
            b[B_PHASE] = LAPS;
            b[B_PENDING] = g->p->bars.v[i % g->nbars].count;
        }
}

static int forced(const weiri_run *r, const weiri_tape *t) { return r->force && t->steady && t->form >= 0 ? r->force[t->form] : -1; }

bool weiri_run_may(const weiri_run *r, int letter) {
    const weiri_prog *g = r->g;
    const int *stream = r->v + g->stream_at;
    if (r->want == WEIRI_WANT_TILE) return letter ? stream[0] < WEIRI_TILES : !g->one_tile;
    const weiri_tape *t = &g->tapes.v[r->want];
    const int *x = weiri_run_tape(r, r->want, r->want_tile);
    if (x[T_LEN] >= WEIRI_LETTERS && (letter || t->kind != TAPE_TRIPS)) return false;
    if (t->kind != TAPE_TRIPS) return true;
    int force = forced(r, t);
    if (force >= 0) return letter ? x[T_COUNT] < force : x[T_COUNT] == force;
    return letter ? t->most < 0 || x[T_COUNT] < t->most : x[T_COUNT] >= t->least;
}

bool weiri_run_far(const weiri_run *r) {
    if (r->want == WEIRI_WANT_NONE) return false;
    if (r->want == WEIRI_WANT_TILE) return r->v[r->g->stream_at] >= WEIRI_TILES;
    return weiri_run_tape(r, r->want, r->want_tile)[T_LEN] >= WEIRI_LETTERS;
}

void weiri_run_choose(weiri_run *r, int letter) {
    const weiri_prog *g = r->g;
    int *stream = r->v + g->stream_at;
    if (r->want == WEIRI_WANT_TILE) {
        if (letter) stream[0]++;
        stream[1] = !letter || g->one_tile;
        return;
    }
    const weiri_tape *t = &g->tapes.v[r->want];
    int *x = weiri_run_tape(r, r->want, r->want_tile), force = forced(r, t);
    if (letter) set_letters(x, letters(x) | 1ull << x[T_LEN]);
    x[T_LEN]++;
    if (t->kind != TAPE_TRIPS) return;
    int top = t->least > t->most ? t->least : t->most;
    if (force > top) top = force;
    x[T_COUNT] = letter ? (x[T_COUNT] < top ? x[T_COUNT] + 1 : top) : 0;
    if (r->replay) x[T_TOTAL] = letter ? x[T_TOTAL] + 1 : 0;
}

/* ---- ends --------------------------------------------------------------------------------------------------------------- */

static bool anyone_knows(const weiri_run *r, int cta, bit b) {
    for (int i = 0; i < r->g->actors.n; i++) {
        const weiri_actor *a = &r->g->actors.v[i];
        if (a->cta != cta) continue;
        for (int q = 0; q < a->nrows; q++)
            if (has(r, a->row + q, b)) return true;
    }
    return false;
}

/* All have ended: what may still be on its way into a CTA that is gone, and what nobody has looked at? */
static void at_exit(weiri_run *r) {
    const weiri_prog *g = r->g;
    const weiri_plan *p = g->p;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        const weiri_loc *l = &g->locs.v[q->loc];
        if (l->region < 0 || (q->kind != REC_LOAD && q->kind != REC_BULK_READ && q->kind != REC_MMA_READ)) continue;
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            if (!has(r, 0, b)) continue;
            bool over = q->kind == REC_LOAD ? anyone_knows(r, l->cta, b) : r->v[q->aux + R_VARS * s + R_AGE] == COMPLETE;
            if (!over && q->kind == REC_MMA_READ) over = anyone_knows(r, l->cta, b);
            if (over) continue;
            const weiri_action *act = r->replay ? r->rec_act[q->aux + R_VARS * s] : NULL;
            const weiri_actor *him = &g->actors.v[q->actor];
            weiri_fault *f = fault(r, "PROVE-EXIT", NULL, q->actor, (int)q->kind * 1024 + l->region);
            if (!f) continue;
            f->at = weiri_act_at(act);
            f->text = weiri_arena_fmt(r->a, q->kind == REC_LOAD ? "%s of '%s' may still write %s of CTA %d when that CTA has ended"
                                                                : "%s of '%s' may still read %s of CTA %d when that CTA has ended",
                                      act ? verb(act) : "the copy", him->name, storage_name(r, l, s), l->cta);
            f->hint = q->kind == REC_LOAD ? "wait for the stage before the task ends, or end in a cluster barrier" : "wait for the group before the task ends";
            f->object = p->smem.v[l->region].name;
        }
    }
    for (int i = 0; i < g->actors.n; i++)
        for (int cta = 0; cta < g->nctas; cta++) {
            bit b = bit_of(g, 0, 0, g->bit_remote + i * g->nctas + cta);
            if (!has(r, 0, b) || anyone_knows(r, cta, b)) continue;
            weiri_fault *f = fault(r, "PROVE-EXIT", NULL, i, 32768);
            if (!f) continue;
            f->text = weiri_arena_fmt(r->a, "'%s' may arrive at a barrier of CTA %d when that CTA has ended", actor_name(r, i), cta);
            f->hint = "end the kernel in a cluster barrier";
            const weiri_task *t = p->tasks[g->actors.v[i].task].task;
            f->at = t && t->at.n > 0 ? &t->at.at[0] : NULL;
        }
    for (int bar = 0; bar < g->nbars; bar++) {
        bool data = false;
        const weir_res *res = NULL;
        for (int i = 0; i < p->pipes.n; i++)
            if (p->pipes.v[i].full == bar && p->pipes.v[i].region >= 0) data = true, res = p->pipes.v[i].res;
        for (int cta = 0; data && cta < g->nctas; cta++) {
            const weiri_bari *b = &g->bars[cta * g->nbars + bar];
            for (int s = 0; s < p->bars.v[bar].stages && b->waiters; s++) {
                spot sp = spot_of(r, cta, bar, s);
                bit done = spot_bit(r, &sp, 0);
                bool seen = false;
                for (int i = 0; i < g->actors.n; i++)
                    for (int q = 0; b->waiter[i] >= 0 && q < g->actors.v[i].nrows; q++) seen = seen || has(r, g->actors.v[i].row + q, done);
                if (!has(r, 0, done) || seen) continue;
                weiri_fault *f = fault(r, "PROVE-LOST", NULL, -1, bar);
                if (!f) continue;
                f->text = weiri_arena_fmt(r->a, "what was committed to %s is never waited for", spot_name(r, &sp));
                f->hint = "let the consumer run as many steps as the producer";
                f->object = p->bars.v[bar].name;
                f->at = res && res->at.n > 0 ? &res->at.at[0] : NULL;
            }
        }
    }
}

/* Has every actor that arrives at this barrier in a phase done so for the phase that is open? */
static bool all_arrived(const weiri_run *r, const spot *s, int *arrivals) {
    const weiri_prog *g = r->g;
    int stages = g->p->bars.v[s->bar].stages, use = s->v[B_PHASE] * stages + s->stage, to[64], n = 0;
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        for (int x = 0; x < c->ins.n; x++) {
            const weiri_action *a = c->ins.v[x].op == IN_ACT ? c->ins.v[x].act : NULL;
            if (!a || a->bar != s->bar || a->kind < ACT_ARRIVE || a->kind > ACT_UMMA_COMMIT || !weiri_prog_runs(g, me, a)) continue;
            int k = weiri_prog_targets(g, me->cta, a, to);
            bool here = false;
            for (int t = 0; t < k; t++) here = here || to[t] == s->cta;
            const int *cur = cursor_vars(r, me, a->cur);
            if (!here || !cur) continue;
            n++;
            if (cur[a->stage == STAGE_CLOSE ? C_CLOSE : C_OPEN] <= use) return false;
        }
    }
    *arrivals = g->p->bars.v[s->bar].count - s->v[B_PENDING];
    return n > 0;
}

static const weiri_action *stopped_at(const weiri_run *r, int ai) {
    const weiri_actor *me = &r->g->actors.v[ai];
    const weiri_ins *x = &r->g->code.v[me->code].ins.v[r->v[me->vars + V_PC]];
    return x->op == IN_ACT ? x->act : NULL;
}

const char *weiri_run_stop_text(weiri_run *r, int ai, const weiri_action **act) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    const weiri_action *a = *act = stopped_at(r, ai);
    if (!a) return NULL;
    if (a->kind == ACT_WAIT) {
        int stages = g->p->bars.v[a->bar].stages, use = use_of(r, me, a->cur, a->stage, a->back);
        spot s = spot_of(r, me->cta, a->bar, mod(use, stages));
        int phase = lap(use, stages) - LAPS - (g->p->cursors.v[a->cur].producer ? 1 : 0);
        const char *miss = s.v[B_PENDING] > 0 && s.v[B_TX] > 0
                               ? weiri_arena_fmt(r->a, "%d of %d arrivals and %d bytes are missing", s.v[B_PENDING], g->p->bars.v[a->bar].count, s.v[B_TX])
                           : s.v[B_PENDING] > 0 ? weiri_arena_fmt(r->a, "%d of %d arrivals are missing", s.v[B_PENDING], g->p->bars.v[a->bar].count)
                                                : weiri_arena_fmt(r->a, "%d bytes are missing", s.v[B_TX]);
        return weiri_arena_fmt(r->a, "waits at %s for phase %d (parity %d): %s", spot_name(r, &s), phase, phase & 1, miss);
    }
    if (a->kind == ACT_NAMED_SYNC)
        return weiri_arena_fmt(r->a, "waits at named barrier %d: %d of %d threads have come", weiri_prog_named(g, me, a),
                               r->v[g->named_at + 17 * me->cta + weiri_prog_named(g, me, a)], a->threads);
    if (a->kind == ACT_CTA_SYNC) return "waits for the CTA";
    return "waits for the cluster";
}

/* Nobody can go on. The cause, if one barrier's numbers are wrong, else the ring of waits. */
static void stuck(weiri_run *r) {
    const weiri_prog *g = r->g;
    const char *rule = "PROVE-DEADLOCK";
    int first = -1, with = 0;
    const weiri_bar *bar = NULL;
    char got[96] = "", expected[96] = "";
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_action *a = stopped_at(r, i);
        if (!a) continue;
        if (first < 0) first = i;
        if (a->kind != ACT_WAIT) continue;
        int stages = g->p->bars.v[a->bar].stages;
        spot s = spot_of(r, g->actors.v[i].cta, a->bar, mod(use_of(r, &g->actors.v[i], a->cur, a->stage, a->back), stages));
        int n = 0;
        bool tx = s.v[B_PENDING] == 0 && s.v[B_TX] > 0, count = s.v[B_PENDING] > 0 && all_arrived(r, &s, &n);
        if (!tx && !count) continue;
        rule = tx ? "PROVE-TX" : "PROVE-COUNT";
        first = i;
        bar = &g->p->bars.v[a->bar];
        if (r->replay && tx) {
            snprintf(got, sizeof got, "%" PRId64 " bytes", bar->tx - s.v[B_TX]);
            snprintf(expected, sizeof expected, "%" PRId64 " bytes", bar->tx);
        } else if (r->replay) {
            snprintf(got, sizeof got, "%d arrivals", n);
            snprintf(expected, sizeof expected, "%d (%s)", bar->count, bar->sum ? bar->sum : "count");
        }
        if (tx) break;
    }
    if (first < 0) return;
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_action *a = stopped_at(r, i);
        if (i != first && a && g->actors.v[i].task != g->actors.v[first].task) with = with * 31 + a->id;
    }
    weiri_fault *f = fault(r, rule, stopped_at(r, first), first, bar ? 1 : with & 0xffffff);
    if (!f) return;
    weiri_buf b;
    weiri_buf_init(&b, g->p->k->ctx);
    const weiri_action *a;
    weiri_put(&b, "'%s' %s", actor_name(r, first), weiri_run_stop_text(r, first, &a));
    int named = 0;
    for (int i = 0; i < g->actors.n && named < 6; i++) {
        const char *t = i == first ? NULL : weiri_run_stop_text(r, i, &a);
        if (!t || (g->actors.v[i].task == g->actors.v[first].task && g->actors.v[i].cta != g->actors.v[first].cta)) continue;
        if (!named) f->other = i, f->other_at = weiri_act_at(a), f->other_what = "the other waits here";
        weiri_put(&b, "; '%s' %s", actor_name(r, i), t);
        named++;
    }
    for (int i = 0; i < g->actors.n && named < 6; i++) {
        const weiri_actor *o = &g->actors.v[i];
        if (stopped_at(r, i) || o->cta != g->actors.v[first].cta || o->code >= g->p->ntasks) continue;
        weiri_put(&b, "; '%s' has ended", o->name);
        named++;
    }
    f->text = weiri_arena_str(r->a, b.s ? b.s : "");
    weiri_buf_free(&b);
    if (bar) {
        f->object = bar->name;
        f->expected = weiri_arena_str(r->a, expected);
        f->got = weiri_arena_str(r->a, got);
        f->hint = rule[6] == 'T' ? "arm exactly the bytes that the copies into the stage bring" : "the count must be the number of arrivals of a phase";
    } else {
        f->hint = "give each wait an arrival that does not itself depend on the wait";
    }
}

/* ---- canonical form ------------------------------------------------------------------------------------------------------ */

/* Uses are counted from the next open of the ring's reference cursor, LAPS laps in. A ring that turns has its stages renamed to
 * match; others are moved by whole laps. What is too old to matter is cut off at 0. */
void weiri_run_canonical(const weiri_prog *g, void *state, void *scratch) {
    weiri_run a = { 0 }, b = { 0 };
    weiri_run_init(&a, g, NULL, state);
    weiri_run_init(&b, g, NULL, scratch);
    int origin[256];
    bool any = false;
    if (g->rings.n > 256) return;
    for (int i = 0; i < g->rings.n; i++) {
        const weiri_ring *q = &g->rings.v[i];
        origin[i] = 0;
        if (q->ref_actor < 0) continue;
        int u = a.v[g->actors.v[q->ref_actor].cursors + C_VARS * q->ref_cur + C_OPEN];
        if (!q->turns) u = lap(u, q->stages) * q->stages;
        origin[i] = u - LAPS * q->stages;
        any = any || origin[i] != 0;
    }
    if (!any) return;
    memcpy(scratch, state, weiri_state_size(g));
    /* bits of a stage move with it, in every row */
    for (int rw = 0; rw < g->nrows; rw++) {
        uint64_t *from = row(&b, rw), *to = row(&a, rw);
        for (int i = 0; i < g->rings.n; i++) {
            const weiri_ring *q = &g->rings.v[i];
            for (int s = 0; q->turns && s < q->stages; s++)
                memcpy(to + q->word + mod(s - origin[i], q->stages) * q->words, from + q->word + s * q->words, sizeof(uint64_t) * (size_t)q->words);
        }
    }
    memcpy(b.w, a.w, sizeof(uint64_t) * (size_t)g->nrows * (size_t)g->nwords);
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        const weiri_bari *q = &g->bars[i];
        int n = g->rings.v[q->ring].stages, o = origin[q->ring];
        for (int s = 0; s < n; s++) {
            const int *from = b.v + q->vars + B_VARS * s;
            int use = from[B_PHASE] * n + s - o, t = mod(use, n), *to = a.v + q->vars + B_VARS * t;
            memcpy(to, from, sizeof(int) * B_VARS);
            to[B_PHASE] = use < 0 ? 0 : lap(use, n);
            for (int w = 0; w < 2; w++) memcpy(row(&a, q->row + 2 * t + w), row(&b, q->row + 2 * s + w), sizeof(uint64_t) * (size_t)g->nwords);
        }
    }
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        int n = g->rings.v[q->ring].stages, o = origin[q->ring];
        for (int s = 0; s < n; s++) {
            const int *from = b.v + q->aux + R_VARS * s;
            int *to = a.v + q->aux + R_VARS * mod(s - o, n);
            memcpy(to, from, sizeof(int) * R_VARS);
            bool stands = has(&a, 0, bit_of(g, q->ring, mod(s - o, n), q->bit));
            if (to[R_GEN] != 0 && to[R_GEN] != GEN_MANY) to[R_GEN] = from[R_GEN] - o > 0 && stands ? from[R_GEN] - o : 0;
        }
    }
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        bool ended = c->ins.v[a.v[me->vars + V_PC]].op == IN_END;
        for (int k = 0; k < c->ncursors; k++) {
            const weiri_ring *q = &g->rings.v[me->ring[k]];
            int *u = a.v + me->cursors + C_VARS * k;
            u[C_OPEN] -= origin[me->ring[k]];
            u[C_CLOSE] -= origin[me->ring[k]];
            if (ended && (q->ref_actor != i || q->ref_cur != k)) u[C_OPEN] = u[C_CLOSE] = 0;
        }
    }
}

bool weiri_run_merge(const weiri_prog *g, void *into, const void *other) {
    weiri_run a = { 0 }, b = { 0 };
    weiri_run_init(&a, g, NULL, into);
    weiri_run_init(&b, g, NULL, (void *)(uintptr_t)other);
    bool changed = false;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            bit at = bit_of(g, q->ring, s, q->bit);
            int *x = a.v + q->aux + R_VARS * s;
            const int *y = b.v + q->aux + R_VARS * s;
            if (!has(&b, 0, at)) continue;
            if (!has(&a, 0, at)) {
                memcpy(x, y, sizeof(int) * R_VARS);
                continue;
            }
            int age = x[R_AGE] == COMPLETE ? y[R_AGE] : y[R_AGE] == COMPLETE ? x[R_AGE] : x[R_AGE] < y[R_AGE] ? x[R_AGE] : y[R_AGE];
            int gen = x[R_GEN] == y[R_GEN] ? x[R_GEN] : GEN_MANY;
            changed = changed || age != x[R_AGE] || gen != x[R_GEN];
            x[R_AGE] = age;
            x[R_GEN] = gen;
        }
    }
    /* A record that stands in one state alone is known as there: the other says nothing against it. Of what must have happened
     * (initialisation, the grid's wait) only what both had happen counts. */
    const uint64_t *sx = row(&a, 0), *sy = row(&b, 0);
    for (int rw = g->nrows - 1; rw >= 0; rw--) {
        uint64_t *x = row(&a, rw);
        const uint64_t *y = row(&b, rw);
        for (int i = 0; i < g->nwords; i++) {
            uint64_t must = g->must_mask[i], z = rw ? (x[i] | ~sx[i]) & (y[i] | ~sy[i]) & (sx[i] | sy[i]) : x[i] | y[i];
            z = (z & ~must) | (x[i] & y[i] & must);
            changed = changed || z != x[i];
            x[i] = z;
        }
    }
    return changed;
}
