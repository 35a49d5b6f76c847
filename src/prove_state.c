/* States: laid out, brought to a canonical form, merged. */
#include "prove_know.h"

size_t weiri_state_size(const weiri_prog *g) {
    return sizeof(int) * (size_t)g->nints + sizeof(uint64_t) * (size_t)g->nknow;
}

void weiri_run_init(weiri_run *r, const weiri_prog *g, weiri_arena *a, void *state) {
    r->g = g;
    r->a = a;
    r->v = state;
    r->w = (uint64_t *)(void *)(r->v + g->nints);
}

void weiri_run_start(weiri_run *r) {
    const weiri_prog *g = r->g;
    memset(r->v, 0, weiri_state_size(g));
    r->parked = WEIRI_NEW_N(r->a, weiri_parked, g->actors.n + 1);
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        r->v[me->vars + V_TILE] = -1;
        for (int q = 0; q < c->ncursors; q++) {
            int *u = r->v + me->cursors + C_VARS * q;
            const weiri_cursor *cur = &g->p->cursors.v[c->cursor[q]];
            u[C_OPEN] = u[C_CLOSE] = LAPS * cur->stages + weiri_prog_lane(g, me, c->cursor[q]);
        }
    }
    for (int i = 0; i < g->nctas * g->nbars; i++)
        for (int s = 0; s < g->p->bars.v[i % g->nbars].stages; s++) {
            int *b = r->v + g->bars[i].vars + B_VARS * s;
            b[B_PHASE] = LAPS;
            b[B_PENDING] = weiri_bar_count(&g->p->bars.v[i % g->nbars], i / g->nbars);
        }
}

/* ---- canonical form ----------------------------------------------------------------------------------------------------- */

/* Uses are counted from the next open of the ring's reference cursor, LAPS laps in. A ring that turns has its stages renamed to
 * match; others are moved by whole laps. What is older than that is merely old. */

/* What is taken off uses of a stage (or by a cursor of that lane). */
static int origin_of(const weiri_prog *g, int ring, int stage) {
    const weiri_ring *q = &g->rings.v[ring];
    return q->lanes > 1 ? g->lane_origin[q->first_lane + stage % q->lanes] : g->ring_origin[ring];
}

static int next_of(const weiri_run *r, int actor, int cur, int var) {
    return r->v[r->g->actors.v[actor].cursors + C_VARS * cur + var];
}

static bool is_ref(const weiri_prog *g, const weiri_ring *q, int lane, int actor, int cur) {
    if (q->lanes < 2) return q->ref_actor == actor && q->ref_cur == cur;
    const weiri_lane *l = &g->lanes.v[q->first_lane + lane];
    return l->ref_actor == actor && l->ref_cur == cur;
}

bool weiri_run_turned(const weiri_run *r, const int *from, int times) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->rings.n; i++) {
        const weiri_ring *q = &g->rings.v[i];
        const weiri_lane whole = { q->ref_actor, q->ref_cur, q->ref_var };
        for (int n = 0; n < q->lanes; n++) {
            const weiri_lane *l = q->lanes > 1 ? &g->lanes.v[q->first_lane + n] : &whole;
            if (l->ref_actor < 0) continue;
            int at = g->actors.v[l->ref_actor].cursors + C_VARS * l->ref_cur + l->ref_var, moved = r->v[at] - from[at];
            if (moved && moved < times * q->stages) return false;
        }
    }
    return true;
}

void weiri_run_canonical(const weiri_prog *g, void *state, void *scratch) {
    weiri_run a = { 0 }, b = { 0 };
    weiri_run_init(&a, g, NULL, state);
    weiri_run_init(&b, g, NULL, scratch);
    bool any = false;
    for (int i = 0; i < g->rings.n; i++) {
        const weiri_ring *q = &g->rings.v[i];
        g->ring_origin[i] = 0;
        for (int n = 0; q->lanes > 1 && n < q->lanes; n++) {
            const weiri_lane *l = &g->lanes.v[q->first_lane + n];
            int u = l->ref_actor < 0 ? LAPS * q->stages : next_of(&a, l->ref_actor, l->ref_cur, l->ref_var);
            g->lane_origin[q->first_lane + n] = (lap(u, q->stages) - LAPS) * q->stages;
            any = any || g->lane_origin[q->first_lane + n] != 0;
        }
        if (q->ref_actor < 0 || q->lanes > 1) continue;
        int u = next_of(&a, q->ref_actor, q->ref_cur, q->ref_var);
        if (!q->turns) u = lap(u, q->stages) * q->stages;
        g->ring_origin[i] = u - LAPS * q->stages;
        any = any || g->ring_origin[i] != 0;
    }
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        bool ended = c->ins.v[a.v[me->vars + V_PC]].op == IN_END;
        for (int l = 0; l < c->loops.n; l++) { /* a count is of use from the loop's end to the last question */
            const weiri_loop *loop = &c->loops.v[l];
            const int pc = a.v[me->vars + V_PC];
            if (loop->told && (pc < loop->end || pc >= loop->told)) a.v[loop_at(me, c, l) + L_RAN] = 0;
        }
        for (int k = 0; k < c->ncursors; k++) {
            const weiri_ring *q = &g->rings.v[me->ring[k]];
            int *u = a.v + me->cursors + C_VARS * k;
            int lane = weiri_prog_lane(g, me, c->cursor[k]), from = origin_of(g, me->ring[k], lane);
            u[C_OPEN] -= from;
            u[C_CLOSE] -= from;
            bool ref = is_ref(g, q, lane, i, k); /* by what matters */
            /* a count that nothing depends on says nothing; it could grow for ever */
            if ((ended || !c->matters[C_OPEN][k]) && !ref) u[C_OPEN] = 0;
            if ((ended && !ref) || !c->matters[C_CLOSE][k]) u[C_CLOSE] = 0;
        }
    }
    worked(g, g->nints + g->nknow);
    if (!any) return;
    memcpy(scratch, state, weiri_state_size(g));
    /* bits of a stage move with it, in every row */
    for (int i = 0; i < g->rings.n; i++) {
        const weiri_ring *q = &g->rings.v[i];
        int by = q->turns ? mod(-g->ring_origin[i], q->stages) * q->stride : 0, all = q->stages * q->stride;
        if (!by) continue;
        const weiri_held *held = &g->held[q->at / 64];
        if (q->stride % 64) { /* a field of one word */
            uint64_t field = (all < 64 ? (1ull << all) - 1 : ~0ull);
            for (int n = 0; n < held->n; n++) {
                uint64_t *w = a.w + held->at[n], x = *w >> q->at % 64 & field;
                x = (x << by | x >> (all - by)) & field;
                *w = (*w & ~(field << q->at % 64)) | x << q->at % 64;
            }
        } else {
            size_t words = (size_t)all / 64, head = words - (size_t)by / 64;
            for (int n = 0; n < held->n; n++) { /* who keeps one of the ring's words keeps all, */
                if (!kept(&a, held->row[n], (q->at + q->stride) / 64)) continue; /* or is of a stage, and moves with it */
                uint64_t *to = a.w + held->at[n], *from = b.w + held->at[n];
                memcpy(to + by / 64, from, sizeof(uint64_t) * head);
                memcpy(to, from + head, sizeof(uint64_t) * (words - head));
            }
        }
    }
    memcpy(b.w, a.w, sizeof(uint64_t) * (size_t)g->nknow);
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        const weiri_bari *q = &g->bars[i];
        int n = g->rings.v[q->ring].stages;
        for (int s = 0; s < n; s++) {
            const int *from = b.v + q->vars + B_VARS * s;
            int use = from[B_PHASE] * n + s - origin_of(g, q->ring, s), t = mod(use, n), *to = a.v + q->vars + B_VARS * t;
            memcpy(to, from, sizeof(int) * B_VARS);
            to[B_PHASE] = use < 0 ? ANCIENT : lap(use, n);
            const weiri_known *rows = g->rows + q->row; /* two a stage, side by side, and all keep as much */
            memcpy(a.w + rows[2 * t].first, b.w + rows[2 * s].first, 2 * sizeof(uint64_t) * (size_t)rows->keep->n);
        }
    }
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        int n = g->rings.v[q->ring].stages;
        for (int s = 0; s < n; s++) {
            const int *from = b.v + q->aux + R_VARS * s;
            int off = origin_of(g, q->ring, s), *to = a.v + q->aux + R_VARS * mod(s - off, n);
            memcpy(to, from, sizeof(int) * R_VARS);
            if (to[R_GEN] != 0 && to[R_GEN] != GEN_MANY) to[R_GEN] = from[R_GEN] - off > 0 ? from[R_GEN] - off : 0;
        }
    }
}

bool weiri_run_merge(const weiri_prog *g, void *into, const void *other) {
    weiri_run a = { 0 }, b = { 0 };
    weiri_run_init(&a, g, NULL, into);
    weiri_run_init(&b, g, NULL, (void *)(uintptr_t)other);
    bool changed = false;
    worked(g, g->nints + g->nknow);
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
            int age = x[R_AGE] == COMPLETE   ? y[R_AGE]
                      : y[R_AGE] == COMPLETE ? x[R_AGE]
                      : x[R_AGE] < y[R_AGE]  ? x[R_AGE]
                                             : y[R_AGE];
            int gen = x[R_GEN] == y[R_GEN] ? x[R_GEN] : GEN_MANY;
            int over = x[R_OVER] | y[R_OVER];
            changed = changed || age != x[R_AGE] || gen != x[R_GEN] || over != x[R_OVER];
            x[R_OVER] = over;
            x[R_AGE] = age;
            x[R_GEN] = gen;
        }
    }
    /* A record that stands in one state alone is known as there: the other says nothing against it. Of what must have happened
     * (initialisation, the grid's wait) only what both had happen counts. */
    uint64_t news = 0;
    const bool alike = !memcmp(a.w, b.w, sizeof(uint64_t) * (size_t)g->nwords);
    for (int rw = g->nrows - 1; rw > 0; rw--) { /* row 0, which says what stands, last */
        const weiri_keep *k = g->rows[rw].keep;
        uint64_t *x = a.w + g->rows[rw].first;
        const uint64_t *y = b.w + g->rows[rw].first;
        if (alike && !memcmp(x, y, sizeof(uint64_t) * (size_t)k->n)) continue;
        for (int i = 0; i < k->run.n; i++)
            for (int at = k->run.v[i].first; at < k->run.v[i].end; at++, x++, y++) {
                const uint64_t must = g->must_mask[at], sx = a.w[at], sy = b.w[at];
                const uint64_t z = ((*x | ~sx) & (*y | ~sy) & (sx | sy) & ~must) | (*x & *y & must);
                news |= z ^ *x;
                *x = z;
            }
    }
    for (int w = 0; w < g->nwords; w++) {
        const uint64_t z = (a.w[w] & b.w[w]) | ((a.w[w] | b.w[w]) & ~g->must_mask[w]);
        news |= z ^ a.w[w];
        a.w[w] = z;
    }
    return changed || news;
}
