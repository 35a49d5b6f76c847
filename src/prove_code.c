/* The plan as the prover runs it: flat code per task, actors per CTA, and the numbered bits and ints that make up a state. */
#include "proving.h"

/* ---- state -------------------------------------------------------------------------------------------------------------- */

/* Small rings share words; the stages of one never straddle two. */
static void place_bits(weiri_prog *g) {
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->rings.n; i++) {
            weiri_ring *r = &g->rings.v[i];
            bool small = r->bits * r->stages <= 64;
            if (small != (pass == 1)) continue;
            if (!small || at % 64 + r->bits * r->stages > 64) at = (at + 63) / 64 * 64;
            r->at = at;
            r->stride = small ? r->bits : (r->bits + 63) / 64 * 64;
            at += r->stride * r->stages;
        }
    g->nwords = (at + 63) / 64;
}

/* What completes by itself hands on all that its thread knows but what its own threads wrote, and what anybody wrote to a tensor:
 * that may be another SM's. */
static void place_async(const weiri_prog *g, weiri_actor *me) {
    me->async_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    memcpy(me->async_mask, g->own_mask, sizeof(uint64_t) * (size_t)g->nwords);
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        bool own = &g->actors.v[q->actor] == me && (q->kind == REC_WRITE || q->kind == REC_CP_WRITE);
        bool tensor = q->place && g->places.v[q->place - 1].write;
        for (int s = 0; (own || tensor) && s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            me->async_mask[b.word] |= b.mask;
        }
    }
}

static void place_state(weiri_prog *g) {
    const weiri_plan *p = g->p;
    int at = 0;
    for (int i = 0; i < g->actors.n; i++) {
        weiri_actor *a = &g->actors.v[i];
        const weiri_code *c = &g->code.v[a->code];
        a->vars = at;
        at += V_FIXED;
        a->keys = at, at += c->keys.n;
        a->loops = at, at += L_VARS * c->nslots;
        a->cursors = at, at += C_VARS * c->ncursors;
        a->offs = at, at += g->tapes.n;
    }
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        weiri_bari *b = &g->bars[i];
        int stages = p->bars.v[i % g->nbars].stages;
        b->vars = at, at += B_VARS * stages;
        b->row = g->nrows, g->nrows += 2 * stages;
    }
    g->named_at = at, at += g->named.n * g->nctas;
    g->named_row = g->nrows, g->nrows += g->named.n * g->nctas;
    g->cluster_at = at, at += 2;
    g->cluster_row = g->nrows, g->nrows += 2;
    g->stream_at = at, at += 2;     /* tiles known, no more */
    g->root_at = at, at += T_VARS * g->nroot;
    g->tile_at = at, at += T_VARS * g->ntile * WEIRI_TILES;
    g->ncontrol = at = (at + 1) & ~1;
    for (int i = 0; i < g->recs.n; i++) {
        g->recs.v[i].aux = at;
        at += R_VARS * g->rings.v[g->recs.v[i].ring].stages;
    }
    g->nints = (at + 1) & ~1;
    place_bits(g);
    g->must_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    g->own_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    for (int i = 0; i < g->nctas + g->nwait; i++) {
        int n = i < g->nctas ? g->bit_init + i : g->bit_wait + i - g->nctas;
        bit b = bit_of(g, 0, 0, n);
        g->must_mask[b.word] |= b.mask;
    }
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        const weiri_ring *r = &g->rings.v[q->ring];
        for (int s = 0; q->seen && s < r->stages; s++) {
            bit b = bit_of(g, q->ring, s, q->seen - 1);
            g->own_mask[b.word] |= b.mask;
        }
        for (int s = 0; q->filled >= 0 && s < r->stages; s++) {
            bit b = bit_of(g, q->ring, s, q->filled);
            g->must_mask[b.word] |= b.mask;
        }
    }
    for (int i = 0; i < g->actors.n; i++) place_async(g, &g->actors.v[i]);
    weiri_keep_place(g);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

static bool has_action(const weiri_prog *g, weiri_act kind) {
    for (int i = 0; i < g->code.n; i++)
        for (int x = 0; x < g->code.v[i].ins.n; x++)
            if (g->code.v[i].ins.v[x].op == IN_ACT && g->code.v[i].ins.v[x].act->kind == kind) return true;
    return false;
}

/* One place of a tensor gives one number to all tasks; where the kernel waits for the one before, only if that does not write
 * it. */
static void trust_memory(weiri_prog *g, const weiri_tape *t) {
    const bool trips = t->kind == TAPE_TRIPS;
    const uint32_t v[] = { trips ? t->node->start : weiri_key_condition(t), t->node->stop, t->node->step };
    bool tile, cta, read = false;
    for (int i = 0; i < (trips ? 3 : 1) && !t->named; i++)
        read = read || (!weiri_forms_varies(g->p->k, v[i], &tile, &cta) && weiri_forms_settled(g->p->k, v[i], &tile, &cta));
    if (read)
        weiri_prog_trust(g, weiri_arena_fmt(g->a, "that the kernel before does not write what a %s is read from%s",
                                            trips ? "length" : "condition", weiri_prog_at(g->a, t->node)));
}

weiri_prog *weiri_prog_new(const weiri_plan *p, weiri_arena *a, int without) {
    weiri_prog *g = WEIRI_NEW(a, weiri_prog);
    g->p = p;
    g->a = a;
    g->without = without;
    g->nctas = p->cluster > 0 ? p->cluster : 1;
    g->nbars = p->bars.n;
    g->deals = 1;
    g->work = WEIRI_NEW(a, uint64_t);
    g->forms = weiri_forms_new(p->k, a, without & WEIRI_COUNTED);
    g->parts = without & WEIRI_PARTED && weiri_forms_part(g->forms);
    builder b = { .g = g };
    pg_compile_tasks(&b);
    if (g->why) return g;
    if (!(without & (WEIRI_WIDE | WEIRI_ASKED | WEIRI_COUNTED))) pg_tell(&b);
    pg_place_tapes(&b);
    weiri_gmem_places(g);
    pg_place_actors(g);
    pg_find_named(g);
    int nact = g->actors.n;
    joiner j = { .g = g, .nbar = g->nctas * g->nbars };
    if (!pg_join_all(&j)) return g;
    pg_new_ring(g, 1); /* ring 0: bits that no stage has */
    if (g->gmem_ring >= 0) g->gmem_ring = pg_new_ring(g, 1 + g->gmem_back + WEIRI_TILES);
    g->bit_init = 0;
    g->bit_remote = g->nctas;
    g->bit_commit = g->bit_remote + (g->nctas > 1 ? nact * g->nctas : 0);
    g->ncommit = has_action(g, ACT_UMMA_COMMIT) ? nact * g->nctas : 0;
    g->bit_wait = g->bit_commit + g->ncommit;
    g->nwait = has_action(g, ACT_GRID_WAIT) ? nact : 0;
    for (int i = 0; g->nwait && i < g->tapes.n; i++) trust_memory(g, &g->tapes.v[i]);
    g->bit_named = g->bit_wait + g->nwait;
    g->rings.v[0].bits = g->bit_named + g->named.n * g->nctas;
    g->bars = WEIRI_NEW_N(a, weiri_bari, j.nbar + 1);
    pg_place_records(&j);
    for (int i = 0; i < p->pipes.n; i++)
        for (int cta = 0; cta < g->nctas && p->pipes.v[i].full >= 0 && p->pipes.v[i].region >= 0; cta++) {
            weiri_bari *b = &g->bars[cta * g->nbars + p->pipes.v[i].full];
            b->data = true;
            b->res = p->pipes.v[i].res;
        }
    for (int i = 0; i < j.ncur; i++) pg_ring_of(&j, i);
    pg_find_over(&j);
    place_state(g);
    /* which ring each cursor of each actor turns with */
    for (int i = 0; i < nact; i++) {
        weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        me->ring = WEIRI_NEW_N(a, int, c->ncursors + 1);
        for (int q = 0; q < c->ncursors; q++) me->ring[q] = pg_ring_of(&j, j.cursor_at[i] + q);
    }
    g->ring_origin = WEIRI_NEW_N(a, int, g->rings.n + 1);
    g->lane_origin = WEIRI_NEW_N(a, int, g->lanes.n + 1);
    *g->work += weiri_forms_tried(g->forms);
    return g;
}
