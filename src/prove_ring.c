/* Rings: cursors of actors, barriers of CTAs and storage that turn together, and what each is counted from. */
#include "proving.h"

static int root_of(joiner *j, int x) {
    while (j->up[x] != x) x = j->up[x] = j->up[j->up[x]];
    return x;
}

static void join(joiner *j, int x, int y) {
    x = root_of(j, x), y = root_of(j, y);
    if (x == y) return;
    if (j->stages[x] != j->stages[y]) j->fixed[x] = j->fixed[y] = true;
    j->fixed[x] = j->fixed[x] || j->fixed[y];
    j->up[y] = x;
}

/* -1: the cursor is another task's, and never moves here. */
static int thing_cursor(const joiner *j, int actor, int cur) {
    const weiri_prog *g = j->g;
    int local = local_cursor(g, &g->code.v[g->actors.v[actor].code], cur);
    return local < 0 ? -1 : j->cursor_at[actor] + local;
}
static int thing_bar(const joiner *j, int cta, int bar) { return j->ncur + cta * j->g->nbars + bar; }

/* The cursor turns with something; one that never moves keeps it where it is. */
static void join_cursor(joiner *j, int actor, int cur, int thing) {
    int c = thing_cursor(j, actor, cur);
    if (c >= 0) join(j, c, thing);
    else j->fixed[root_of(j, thing)] = true;
}

int64_t pg_bytes_of_stage(const weiri_plan *p, int region) {
    const weiri_region *g = &p->smem.v[region];
    if (g->tmem) return g->stage_bytes; /* columns */
    bool tile = g->res && g->res->rank > 0;
    return tile ? weiri_tile_elems(g->res) * weir_dtype_size(g->dtype) : g->stage_bytes; /* in the type it is stored in */
}

/* Regions of whose stages the warpgroups of a task each have a share. */
static void find_shares(joiner *j) {
    const weiri_plan *p = j->g->p;
    j->shared = WEIRI_NEW_N(j->g->a, bool, p->smem.n + 1);
    j->share = WEIRI_NEW_N(j->g->a, int, p->smem.n + 1);
    for (int i = 0; i < p->smem.n; i++) j->share[i] = -1;
    for (int i = 0; i < p->pipes.n; i++) {
        const weiri_ppipe *x = &p->pipes.v[i];
        if (!x->own || x->region < 0) continue;
        j->shared[x->region] = true;
        j->share[x->region] = j->nshare++; /* the bytes are its own: no fork takes async_tma (G-CFG-10) */
    }
}

int pg_thing_region(const joiner *j, int cta, int actor, int region) {
    const weiri_prog *g = j->g;
    int first = j->ncur + j->nbar;
    return actor < 0 ? first + cta * g->p->smem.n + region : first + g->nctas * g->p->smem.n + actor * j->nshare + j->share[region];
}

static const weiri_cursor *plan_cursor(const joiner *j, int cursor, int *cur) {
    const weiri_prog *g = j->g;
    int actor = j->actor[cursor];
    *cur = g->code.v[g->actors.v[actor].code].cursor[cursor - j->cursor_at[actor]];
    return &g->p->cursors.v[*cur];
}

static void join_action(joiner *j, int ai, const weiri_action *act) {
    weiri_prog *g = j->g;
    const weiri_actor *me = &g->actors.v[ai];
    int to[64], nto;
    if (act->bar >= 0) {
        nto = weiri_prog_spots(g, me->cta, act, to);
        for (int t = 0; t < nto; t++) join_cursor(j, ai, act->cur, thing_bar(j, to[t], act->bar));
        if (g->p->bars.v[act->bar].stages != g->p->cursors.v[act->cur].stages && !g->depth_fault) {
            g->depth_fault =
                weiri_arena_fmt(g->a, "cursor '%s' walks %d stages, its barrier '%s' has %d", g->p->cursors.v[act->cur].name,
                                g->p->cursors.v[act->cur].stages, g->p->bars.v[act->bar].name, g->p->bars.v[act->bar].stages);
            g->depth_at = weiri_act_at(act);
        }
    }
    for (int i = 0; i < act->neff; i++) {
        const weiri_effect *e = &act->eff[i];
        if (e->reg >= 0) continue;
        int region = weiri_data_region(g->p, e->region), whole = j->shared[e->region] ? ai : -1;
        /* the fetch of a tile is made of plain stores */
        if (weiri_prog_kind(act, e) == REC_LOAD && !(act->op && act->op->atom == ATOM_QUEUE_FETCH)) j->refilled[e->region] = true;
        nto = weiri_prog_effect(g, me, act, e, to);
        for (int t = 0; t < nto; t++) {
            int r = pg_thing_region(j, to[t], whole, region);
            if (e->cur >= 0) join_cursor(j, ai, e->cur, r);
            else if (g->p->smem.v[region].stages > 1) j->fixed[root_of(j, r)] = true;
        }
        if (e->cur >= 0 && g->p->cursors.v[e->cur].stages > g->p->smem.v[e->region].stages && !g->depth_fault) {
            g->depth_fault =
                weiri_arena_fmt(g->a, "cursor '%s' walks %d stages, its storage '%s' has %d", g->p->cursors.v[e->cur].name,
                                g->p->cursors.v[e->cur].stages, g->p->smem.v[e->region].name, g->p->smem.v[e->region].stages);
            g->depth_at = weiri_act_at(act);
        }
    }
}

/* Which regions share bytes: each is compared with those that begin before it ends. */
static void find_meets(joiner *j) {
    const weiri_plan *p = j->g->p;
    int n = p->smem.n, *order = WEIRI_NEW_N(j->g->a, int, n + 1);
    for (int i = 0; i < n; i++) { /* they come nearly sorted */
        int at = i;
        for (; at > 0 && p->smem.v[order[at - 1]].offset > p->smem.v[i].offset; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int x = 0; x < n; x++)
        for (int y = x + 1; y < n && p->smem.v[order[y]].offset < p->smem.v[order[x]].offset + p->smem.v[order[x]].size; y++) {
            if (p->smem.v[order[x]].tmem != p->smem.v[order[y]].tmem) continue;
            WEIRI_PUSH(j->g->a, j->meets[order[x]], order[y]);
            WEIRI_PUSH(j->g->a, j->meets[order[y]], order[x]);
        }
}

/* Cursors, barriers and storage, none joined yet. */
static void place_things(joiner *j) {
    const weiri_prog *g = j->g;
    const weiri_plan *p = g->p;
    int nact = g->actors.n;
    j->cursor_at = WEIRI_NEW_N(g->a, int, nact + 1);
    for (int i = 0; i < nact; i++) {
        j->cursor_at[i] = j->ncur;
        j->ncur += g->code.v[g->actors.v[i].code].ncursors;
    }
    j->actor = WEIRI_NEW_N(g->a, int, j->ncur + 1);
    for (int i = 0; i < nact; i++)
        for (int q = 0; q < g->code.v[g->actors.v[i].code].ncursors; q++) j->actor[j->cursor_at[i] + q] = i;
    find_shares(j);
    j->refilled = WEIRI_NEW_N(g->a, bool, p->smem.n + 1);
    j->meets = WEIRI_NEW_N(g->a, numbers, p->smem.n + 1);
    j->here = WEIRI_NEW_N(g->a, numbers, p->smem.n + nact + 1);
    find_meets(j);
    int things = j->things = j->ncur + j->nbar + g->nctas * p->smem.n + nact * j->nshare, first = j->ncur + j->nbar;
    j->up = WEIRI_NEW_N(g->a, int, things + 1);
    j->stages = WEIRI_NEW_N(g->a, int, things + 1);
    j->ring = WEIRI_NEW_N(g->a, int, things + 1);
    j->fixed = WEIRI_NEW_N(g->a, bool, things + 1);
    for (int i = 0; i < things; i++) {
        j->up[i] = i;
        j->ring[i] = -1;
    }
    for (int i = 0, cur; i < j->ncur; i++) {
        const weiri_cursor *c = plan_cursor(j, i, &cur);
        j->stages[i] = c->stages;
        j->fixed[i] = c->stride > 1; /* a lane takes the same stages for good */
    }
    for (int i = 0; i < j->nbar; i++) j->stages[j->ncur + i] = p->bars.v[i % g->nbars].stages;
    for (int r = 0; r < p->smem.n; r++) {
        for (int cta = 0; cta < g->nctas; cta++) j->stages[first + cta * p->smem.n + r] = p->smem.v[r].stages;
        for (int i = 0; i < nact && j->share[r] >= 0; i++) j->stages[pg_thing_region(j, 0, i, r)] = p->smem.v[r].stages;
    }
}

/* Storage whose bytes meet other storage keeps its stage numbers: which stages meet depends on them. */
static void keep_stages(joiner *j) {
    const weiri_prog *g = j->g;
    const weiri_plan *p = g->p;
    for (int x = 0; x < p->smem.n; x++) {
        int whose = weiri_data_region(p, x);
        bool meets = p->smem.v[x].stages > 1 && pg_bytes_of_stage(p, x) > p->smem.v[x].stage_bytes;
        for (int i = 0; i < j->meets[x].n; i++) meets = meets || weiri_data_region(p, j->meets[x].v[i]) != whose;
        for (int cta = 0; meets && cta < g->nctas; cta++) j->fixed[root_of(j, pg_thing_region(j, cta, -1, whose))] = true;
        for (int i = 0; meets && i < g->actors.n && j->share[whose] >= 0; i++)
            j->fixed[root_of(j, pg_thing_region(j, 0, i, whose))] = true;
    }
}

/* Lists the cursors that turn together, once all are joined. */
static void list_cursors(joiner *j, int things) {
    j->first = WEIRI_NEW_N(j->g->a, int, things + 1);
    j->next = WEIRI_NEW_N(j->g->a, int, j->ncur + 1);
    for (int i = 0; i < things; i++) j->first[i] = -1;
    for (int i = j->ncur - 1; i >= 0; i--) {
        int root = root_of(j, i);
        j->next[i] = j->first[root];
        j->first[root] = i;
    }
}

bool pg_join_all(joiner *j) {
    const weiri_prog *g = j->g;
    place_things(j);
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_code *c = &g->code.v[g->actors.v[i].code];
        for (int x = 0; x < c->ins.n; x++)
            if (c->ins.v[x].op == IN_ACT && weiri_prog_runs(g, &g->actors.v[i], c->ins.v[x].act))
                join_action(j, i, c->ins.v[x].act);
    }
    if (g->depth_fault) return false;
    keep_stages(j);
    list_cursors(j, j->things);
    return true;
}

/* ---- rings -------------------------------------------------------------------------------------------------------------- */

int pg_new_ring(weiri_prog *g, int stages) {
    weiri_ring r = { .stages = stages, .ref_actor = -1, .ref_cur = -1, .lanes = 1 };
    WEIRI_PUSH(g->a, g->rings, r);
    return g->rings.n - 1;
}

/* The cursor that a ring's uses are counted from; lane >= 0: of those of that lane. */
static weiri_lane origin_cursor(joiner *j, int root, int lane) {
    const weiri_prog *g = j->g;
    int cur;
    for (int var = C_OPEN; var < C_VARS; var++)
        for (int i = j->first[root]; i >= 0; i = j->next[i]) {
            int actor = j->actor[i], local = i - j->cursor_at[actor];
            const weiri_code *c = &g->code.v[g->actors.v[actor].code];
            if (!c->moves[var][local] || !c->matters[var][local]) continue;
            plan_cursor(j, i, &cur);
            if (lane >= 0 && weiri_prog_lane(g, &g->actors.v[actor], cur) != lane) continue;
            return (weiri_lane){ actor, local, var };
        }
    return (weiri_lane){ -1, -1, C_OPEN };
}

/* Lanes that share no cursor's stages: all cursors of the ring take every lanes-th stage. 1: there are none. */
static int ring_lanes(joiner *j, int root) {
    int lanes = 0, cur;
    for (int i = j->first[root]; i >= 0; i = j->next[i]) {
        int stride = plan_cursor(j, i, &cur)->stride;
        if (lanes && stride != lanes) return 1;
        lanes = stride;
    }
    return lanes > 1 ? lanes : 1;
}

int pg_ring_of(joiner *j, int thing) {
    int r = root_of(j, thing);
    if (j->ring[r] >= 0) return j->ring[r];
    weiri_prog *g = j->g;
    j->ring[r] = pg_new_ring(g, j->stages[r]);
    weiri_ring *ring = &g->rings.v[j->ring[r]];
    weiri_lane o = origin_cursor(j, r, -1);
    ring->ref_actor = o.ref_actor;
    ring->ref_cur = o.ref_cur;
    ring->ref_var = o.ref_var;
    ring->turns = !j->fixed[r] && ring->ref_actor >= 0 && !(g->without & WEIRI_STILL);
    ring->lanes = ring_lanes(j, r);
    ring->first_lane = g->lanes.n;
    for (int l = 0; ring->lanes > 1 && l < ring->lanes; l++) WEIRI_PUSH(g->a, g->lanes, origin_cursor(j, r, l));
    return j->ring[r];
}
