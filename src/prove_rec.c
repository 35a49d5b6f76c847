/* What accesses touch (locations), what is known of each access (records), and who arrives and waits at barriers. */
#include "proving.h"

/* ---- locations and records ---------------------------------------------------------------------------------------------- */

static int loc_for(joiner *j, int ai, int cta, const weiri_effect *e) {
    weiri_prog *g = j->g;
    weiri_loc l = { .cta = cta, .actor = -1, .region = -1, .reg = -1 };
    if (e->reg >= 0) {
        l.actor = ai;
        l.reg = e->reg;
    } else {
        l.region = weiri_data_region(g->p, e->region);
        if (j->shared[e->region]) l.actor = ai;
        l.lo = e->lo;
        l.hi = e->hi > 0 ? e->hi : pg_bytes_of_stage(g->p, e->region);
    }
    int where = l.region >= 0 ? l.region : g->p->smem.n + ai;
    for (int i = 0; i < j->here[where].n; i++) {
        const weiri_loc *x = &g->locs.v[j->here[where].v[i]];
        if (x->cta == l.cta && x->actor == l.actor && x->reg == l.reg && x->lo == l.lo && x->hi == l.hi) return j->here[where].v[i];
    }
    WEIRI_PUSH(g->a, j->here[where], g->locs.n);
    l.ring = l.region >= 0 ? pg_ring_of(j, pg_thing_region(j, cta, l.actor, l.region)) : 0;
    WEIRI_PUSH(g->a, g->locs, l);
    return g->locs.n - 1;
}

static int find_rec(const weiri_prog *g, int loc, int actor, weiri_rec_kind kind, int by, int deal, bool fenced) {
    const weiri_loc *l = &g->locs.v[loc];
    for (int i = 0; i < l->recs.n; i++) {
        const weiri_rec *r = &g->recs.v[l->recs.v[i]];
        if (r->actor == actor && r->kind == kind && r->by == by && r->deal == deal && fenced == (r->fence_bit >= 0))
            return l->recs.v[i];
    }
    return -1;
}

static bool in_tensor_memory(const weiri_prog *g, int loc) {
    int region = g->locs.v[loc].region;
    return region >= 0 && g->p->smem.v[region].tmem;
}

/* Does the async proxy fill these bytes again? */
static bool refills(const joiner *j, const weiri_loc *l) {
    bool any = l->region >= 0 && j->refilled[l->region];
    for (int i = 0; l->region >= 0 && i < j->meets[l->region].n; i++) any = any || j->refilled[j->meets[l->region].v[i]];
    return any;
}

static int rec_for(joiner *j, int loc, int actor, const weiri_action *act, const weiri_effect *e) {
    weiri_prog *g = j->g;
    const weiri_rec_kind kind = weiri_prog_kind(act, e);
    const bool tensor = in_tensor_memory(g, loc); /* a commit of the tensor core is fenced already */
    const bool fenced = tensor ? kind == REC_READ || kind == REC_WRITE
                        : kind == REC_READ ? weiri_plain_read(act, e) && refills(j, &g->locs.v[loc])
                                           : kind == REC_WRITE || kind == REC_CP_WRITE;
    const int by = weiri_prog_by(act), old = find_rec(g, loc, actor, kind, by, e->deal, fenced);
    if (old >= 0) return old;
    int ring = g->locs.v[loc].ring;
    weiri_rec r = { .loc = loc, .actor = actor, .kind = kind, .by = by, .deal = e->deal, .ring = ring };
    r.bit = g->rings.v[ring].bits++;
    r.fence_bit = fenced ? g->rings.v[ring].bits++ : -1;
    r.seen = tensor ? 1 + g->rings.v[ring].bits++ : 0;
    bool write = kind == REC_WRITE || kind == REC_LOAD || kind == REC_CP_WRITE || kind == REC_MMA_WRITE;
    r.filled = write && !tensor && g->locs.v[loc].region >= 0 ? g->rings.v[ring].bits++ : -1;
    WEIRI_PUSH(g->a, g->recs, r);
    WEIRI_PUSH(g->a, g->locs.v[loc].recs, g->recs.n - 1);
    WEIRI_PUSH(g->a, g->actors.v[actor].recs, g->recs.n - 1);
    return g->recs.n - 1;
}

/* The records of an action in tensors that others access, too. */
static void gmem_recs(weiri_prog *g, int ai, const weiri_action *act) {
    if (g->gmem_ring < 0 || !weiri_gmem_works(act)) return;
    for (int i = g->place_of[act->op->id]; i >= 0; i = g->places.v[i].next) {
        const weiri_gplace *p = &g->places.v[i];
        if (!p->clashes) continue;
        weiri_rec r = { .loc = -1,
                        .actor = ai,
                        .by = weiri_prog_by(act),
                        .kind = p->share == SHARE_CP                ? REC_CP_WRITE
                                : p->share == SHARE_BULK && p->write ? REC_BULK_READ
                                : p->write                           ? REC_WRITE
                                                                     : REC_READ,
                        .ring = g->gmem_ring,
                        .fence_bit = -1,
                        .filled = -1,
                        .place = i + 1 };
        weiri_ring *ring = &g->rings.v[g->gmem_ring];
        r.bit = ring->bits++;
        if (r.kind == REC_CP_WRITE) r.fence_bit = ring->bits++;
        WEIRI_PUSH(g->a, g->actors.v[ai].recs, g->recs.n);
        WEIRI_PUSH(g->a, g->gmem, g->recs.n);
        WEIRI_PUSH(g->a, g->recs, r);
    }
}

/* ---- barriers ----------------------------------------------------------------------------------------------------------- */

/* The record that all threads of a warpgroup have got past what bit `bit` of a barrier stands for. */
static int passed_rec(weiri_prog *g, int bar, int actor, int bit) {
    weiri_rec w = { .loc = -1, .actor = actor, .by = BY_ALL, .kind = REC_PASSED, .ring = g->bars[bar].ring,
                    .bit = g->bars[bar].bit + bit, .fence_bit = -1, .filled = -1 };
    WEIRI_PUSH(g->a, g->actors.v[actor].recs, g->recs.n);
    WEIRI_PUSH(g->a, g->recs, w);
    return g->recs.n - 1;
}

/* Who arrives where; at barriers that copies reach, too, that alone says nothing of a phase. */
static void note_arrivals(weiri_prog *g, const weiri_actor *me, const weiri_action *act) {
    int to[64], n = weiri_prog_spots(g, me->cta, act, to), row = me->row + me->by[weiri_prog_by(act)];
    for (int t = 0; t < n; t++) {
        weiri_bari *b = &g->bars[to[t] * g->nbars + act->bar];
        weiri_arriver x = { .actor = (int)(me - g->actors.v), .row = row, .passed = -1 };
        if (act->kind != ACT_ARRIVE) b->lands = true;
        else if (arriver_of(b, row) < 0) WEIRI_PUSH(g->a, b->arrivers, x);
    }
}

/* A barrier's bits, and the records of what warpgroups pass there. */
static void place_bar(joiner *j, int i) {
    weiri_prog *g = j->g;
    weiri_bari *b = &g->bars[i];
    b->ring = pg_ring_of(j, j->ncur + i);
    b->pairs = b->lands ? 0 : b->arrivers.n;
    weiri_ring *r = &g->rings.v[b->ring];
    b->bit = r->bits;
    r->bits += waiter_bit(b, b->waiters.n);
    int w = 0, a = 0; /* both are in the actors' order */
    while (w < b->waiters.n || a < b->pairs) {
        bool waits = w < b->waiters.n && (a >= b->pairs || b->waiters.v[w].actor <= b->arrivers.v[a].actor);
        const int x = waits ? b->waiters.v[w].actor : b->arrivers.v[a].actor;
        const weiri_actor *me = &g->actors.v[x];
        bool wg = g->p->tasks[me->task].wg_actor;
        if (waits) {
            if (wg) b->waiters.v[w].passed = passed_rec(g, i, x, waiter_bit(b, w));
            w++;
            continue;
        }
        if (wg && b->arrivers.v[a].row == me->row + me->by[BY_LANE]) {
            b->arrivers.v[a].passed = passed_rec(g, i, x, arrival_bit(a, false));
            passed_rec(g, i, x, arrival_bit(a, true));
        }
        a++;
    }
}

/* ---- all of them -------------------------------------------------------------------------------------------------------- */

static void records_of(joiner *j, int ai) {
    weiri_prog *g = j->g;
    const weiri_actor *me = &g->actors.v[ai];
    const weiri_code *c = &g->code.v[me->code];
    int to[64];
    g->actors.v[ai].eff = WEIRI_NEW_N(g->a, int, c->ins.n + 1);
    g->actors.v[ai].gmem = WEIRI_NEW_N(g->a, int, c->ins.n + 1);
    for (int i = 0; i < c->ins.n; i++) {
        const weiri_action *act = c->ins.v[i].op == IN_ACT ? c->ins.v[i].act : NULL;
        g->actors.v[ai].eff[i] = g->eff.n;
        g->actors.v[ai].gmem[i] = g->gmem.n;
        if (!act || !weiri_prog_runs(g, me, act)) continue;
        gmem_recs(g, ai, act);
        for (int e = 0; e < act->neff; e++) {
            int n = weiri_prog_effect(g, me, act, &act->eff[e], to);
            for (int t = 0; t < n; t++) {
                int rec = rec_for(j, loc_for(j, ai, to[t], &act->eff[e]), ai, act, &act->eff[e]);
                g->recs.v[rec].body = act->kind == ACT_BODY;
                g->recs.v[rec].pushed = act->kind == ACT_PUSH_BULK;
                if (weiri_joins_itself(act)) g->recs.v[rec].joins = true;
                WEIRI_PUSH(g->a, g->eff, rec);
            }
        }
        if (act->bar >= 0 && act->kind != ACT_WAIT) note_arrivals(g, me, act);
        if (act->kind == ACT_WAIT) {
            weiri_bari *b = &g->bars[me->cta * g->nbars + act->bar];
            weiri_waiter x = { .actor = ai, .passed = -1 };
            if (waiter_of(b, ai) < 0) WEIRI_PUSH(g->a, b->waiters, x);
        }
    }
}

void pg_place_records(joiner *j) {
    for (int i = 0; i < j->g->actors.n; i++) records_of(j, i);
    for (int i = 0; i < j->nbar; i++) place_bar(j, i);
}

static bool locs_meet(const weiri_loc *x, const weiri_loc *y) {
    if (x->cta != y->cta) return false;
    if (x->region < 0) return x->reg == y->reg;
    if (x->region == y->region) /* whole for all, or shares of warpgroups, which are disjoint */
        return x->lo < y->hi && y->lo < x->hi && x->actor == y->actor;
    return true;
}

/* Which locations share bytes with location x, in order. */
static void overlaps_of(joiner *j, int x) {
    weiri_prog *g = j->g;
    weiri_loc *l = &g->locs.v[x];
    int regions = l->region >= 0 ? j->meets[l->region].n : 0;
    for (int i = -1; i < regions; i++) {
        const numbers *here = &j->here[l->region < 0 ? g->p->smem.n + l->actor : i < 0 ? l->region : j->meets[l->region].v[i]];
        for (int n = 0; n < here->n; n++)
            if (locs_meet(l, &g->locs.v[here->v[n]])) WEIRI_PUSH(g->a, l->over, here->v[n]);
    }
    for (int i = 1; i < l->over.n; i++) {
        int y = l->over.v[i], at = i;
        for (; at > 0 && l->over.v[at - 1] > y; at--) l->over.v[at] = l->over.v[at - 1];
        l->over.v[at] = y;
    }
}

void pg_find_over(joiner *j) {
    for (int x = 0; x < j->g->locs.n; x++) overlaps_of(j, x);
}
