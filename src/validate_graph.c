/* The dependency graph: which resource follows from which, as the author gives it (depends), or derived from the tasks' src and
 * dst. One that is given is held against the tasks (specification 3.3: V-DEP, V-COV), what depends on itself against its pipeline
 * (3.8: V-PP). */
#include "protocol.h"
#include "validating.h"

static void derive_edges(checker *c, const weiri_task *t) {
    for (int j = 0; j < t->ndst; j++) {
        weiri_edge e = { .down = t->dst[j], .up = WEIRI_NEW_N(c->out->a, weir_res *, t->nsrc + 1) };
        for (int s = 0; s < t->nsrc; s++)
            if (t->src[s] != e.down || e.down->kind == WEIR_RES_QUEUE) e.up[e.nup++] = t->src[s];
        WEIRI_PUSH(c->out->a, c->edge_of, t);
        WEIRI_PUSH(c->out->a, c->graph, e);
    }
}

void vd_make_graph(checker *c) {
    const weir_kernel *k = c->k;
    c->graph_given = k->edges.n > 0;
    for (int i = 0; i < k->edges.n; i++) WEIRI_PUSH(c->out->a, c->graph, k->edges.v[i]);
    for (int i = 0; i < k->tasks.n && !c->graph_given; i++) derive_edges(c, k->tasks.v[i]);
}

static bool is_up(const weiri_edge *e, const weir_res *r) { return vd_in_list(e->up, e->nup, r); }

static bool anyone(const checker *c, const weir_res *r, bool (*lists_it)(const weiri_task *, const weir_res *)) {
    for (int i = 0; i < c->k->tasks.n; i++)
        if (lists_it(c->k->tasks.v[i], r)) return true;
    return false;
}

/* ---- edges are backed by tasks ------------------------------------------------------------------------------------------ */

static bool is_barrier_only(const weir_res *r) {
    return r->kind == WEIR_RES_BARRIER || r->kind == WEIR_RES_PDL_WAIT || r->kind == WEIR_RES_PDL_LAUNCH;
}

static bool has_self_edge(const checker *c, const weir_res *r) {
    for (int i = 0; i < c->graph.n; i++)
        if (c->graph.v[i].down == r && is_up(&c->graph.v[i], r)) return true;
    return false;
}

/* Does a task carry the edge? Of a barrier, or of what goes to and fro, it may list both ends on any side. */
static bool is_backed(const checker *c, const weir_res *up, const weir_res *down) {
    bool loose = is_barrier_only(up) || is_barrier_only(down) || has_self_edge(c, up) || has_self_edge(c, down);
    if (up == down && up->kind != WEIR_RES_QUEUE) return anyone(c, up, vd_in_src) && anyone(c, up, vd_in_dst);
    if (up == down) loose = false;
    for (int i = 0; i < c->k->tasks.n; i++) {
        const weiri_task *t = c->k->tasks.v[i];
        if (loose ? vd_lists(t, up) && vd_lists(t, down) : vd_in_src(t, up) && vd_in_dst(t, down)) return true;
    }
    return false;
}

static void check_upstream(checker *c, const weiri_edge *e, const weir_res *up, bool down_used) {
    const weir_place *at = weiri_place_of(&e->at);
    if (!anyone(c, up, vd_lists)) {
        if (up != e->down)
            weiri_find(c->out, "V-DEP-02", at, "depends: '%s' depends on '%s', which is used by no task", e->down->name,
                       up->name)
                ->hint = "leave it out";
        return;
    }
    if (!down_used || is_backed(c, up, e->down)) return;
    if (up == e->down && up->kind != WEIR_RES_QUEUE) {
        weiri_find(c->out, "V-DEP-03", at, "depends: '%s' depends on itself, but no task %s it", up->name,
                   anyone(c, up, vd_in_src) ? "produces" : "consumes");
        return;
    }
    weiri_find(c->out, "V-DEP-04", at, "depends: '%s' depends on '%s', but no task has '%s' in src and '%s' in dst",
               e->down->name, up->name, up->name, e->down->name)
        ->hint = "leave the edge out, or add the resource to the task that carries it";
}

static void check_edge(checker *c, const weiri_edge *e) {
    const bool down_used = anyone(c, e->down, vd_lists);
    if (!down_used)
        weiri_find(c->out, "V-DEP-01", weiri_place_of(&e->at), "depends: '%s' is used by no task", e->down->name)->hint =
            "leave the entry out";
    for (int i = 0; i < e->nup; i++) check_upstream(c, e, e->up[i], down_used);
}

static void check_covered(checker *c, const weiri_task *t) {
    for (int s = 0; s < t->nsrc + t->ndst; s++) {
        const weir_res *r = vd_listed(t, s);
        bool in_graph = vd_is_register_tile(r);
        for (int e = 0; e < c->graph.n; e++) in_graph |= c->graph.v[e].down == r || is_up(&c->graph.v[e], r);
        if (in_graph) continue;
        weiri_find(c->out, "V-COV-01", weiri_place_of(&t->at), "task '%s': '%s' does not occur in depends", t->name, r->name)
            ->hint = weiri_arena_fmt(c->out->a, "add { %s, { ... } }, with an empty list if it depends on nothing", r->name);
    }
}

void vd_check_graph(checker *c) {
    if (!c->graph_given) return;
    for (int i = 0; i < c->graph.n; i++) check_edge(c, &c->graph.v[i]);
    for (int i = 0; i < c->k->tasks.n; i++) check_covered(c, c->k->tasks.v[i]);
}

/* ---- what nothing happens to -------------------------------------------------------------------------------------------- */

/* Is r in an op of any task: itself, through its group, or under the name of another that has its storage? */
static bool touched(const checker *c, const weir_res *r) {
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int u = 0; u < c->of[i].n; u++) {
            const use *x = &c->of[i].v[u];
            if (x->res == r || x->res->storage == r || (r->group && x->op->res == r->group)) return true;
        }
    return false;
}

/* A tile in memory that no task touches takes its bytes all the same. Ops that were refused are not there: then nothing is said. */
void vd_check_unused(checker *c) {
    if (weiri_findings_errors(&c->k->faults)) return;
    for (int i = 0; i < c->k->res.n && c->k->tasks.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if ((!weiri_in_smem(r) && r->kind != WEIR_RES_TMEM) || r->storage || touched(c, r)) continue;
        weiri_find(c->out, "M-UNUSED", weiri_place_of(&r->at), "'%s' takes %s memory, and no task uses it", r->name,
                   r->kind == WEIR_RES_TMEM ? "tensor" : "shared")
            ->hint = "leave it out";
    }
}

/* ---- what depends on itself --------------------------------------------------------------------------------------------- */

static void check_self_edge(checker *c, const weiri_edge *e) {
    const weir_res *r = e->down;
    const weir_place *at = weiri_place_of(&e->at);
    const char *hint = "a resource that depends on itself goes to and fro between two tasks; leave the edge out if it does not";
    if (!weiri_piped(r))
        weiri_find(c->out, "V-PP-01", at, "depends: '%s' depends on itself and has no pipeline", r->name)->hint = hint;
    if (weiri_read_by_mma(r->pipe.given.type))
        weiri_find(c->out, "V-PP-02", at, "depends: '%s' depends on itself and is consumed by the tensor core", r->name)->hint =
            "an mma takes what is filled and hands nothing back: leave the edge out";
    if (!anyone(c, r, vd_in_dst))
        weiri_find(c->out, "V-PP-03", at, "depends: '%s' depends on itself and no task produces it", r->name)->hint = hint;
    if (!anyone(c, r, vd_in_src))
        weiri_find(c->out, "V-PP-04", at, "depends: '%s' depends on itself and no task consumes it", r->name)->hint = hint;
}

void vd_check_self_edges(checker *c) {
    for (int i = 0; i < c->graph.n && c->graph_given; i++) {
        const weiri_edge *e = &c->graph.v[i];
        if (e->down->kind != WEIR_RES_QUEUE && is_up(e, e->down)) check_self_edge(c, e);
    }
}
