/* What flows from where to where, for Graphviz: tasks are clusters, what a task produces is a node in it, an edge is a
 * dependency and carries the pipeline it passes through. `dot -Tsvg` draws it. */
#include "print.h"

#include <inttypes.h>
#include <string.h>

#include "protocol.h"

typedef struct graph {
    const weir_kernel *k;
    const weiri_plan *p; /* NULL: no counts */
    weiri_buf *b;
    weiri_arena a;
    bool *met;           /* by value: looked at */
} graph;

typedef WEIRI_LIST(const weir_res *) res_list;

static bool has(weir_res *const *list, int n, const weir_res *r) {
    for (int i = 0; i < n; i++)
        if (list[i] == r) return true;
    return false;
}

static void add(graph *g, res_list *l, const weir_res *r) {
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == r) return;
    WEIRI_PUSH(&g->a, *l, r);
}

static bool produces(const weiri_task *t, const weir_res *r) { return has(t->dst, t->ndst, r); }

static bool is_produced(const weir_kernel *k, const weir_res *r) {
    for (int i = 0; i < k->tasks.n; i++)
        if (produces(k->tasks.v[i], r)) return true;
    return false;
}

/* ---- upstream ------------------------------------------------------------------------------------------------------------ */

/* Resources that a value was read from or placed by. */
static void value_sources(graph *g, uint32_t id, res_list *l) {
    if (!id || g->met[id]) return;
    g->met[id] = true;
    const weiri_value *v = weiri_val(g->k, id);
    switch (v->op) {
    case WEIR_OP_READ_REG: case WEIR_OP_VIEW_READ: case WEIR_OP_VIEW_AT: case WEIR_OP_VIEW_FROM: case WEIR_OP_VIEW_SUB:
    case WEIR_OP_COORD: case WEIR_OP_BEFORE: case WEIR_OP_VIEW_TILE:
        if (v->res) add(g, l, v->res);
        break;
    case WEIR_OP_RETURN:
        if (v->by) add(g, l, v->by->res);
        break;
    default: break;
    }
    for (int i = 0; i < v->nargs; i++) value_sources(g, v->arg[i], l);
}

/* What r, produced by t, is made of: as `depends` says, else what its work was given, else all that the task consumes. */
static res_list upstream(graph *g, const weiri_task *t, const weir_res *r) {
    const weir_kernel *k = g->k;
    res_list l = { 0 };
    bool given = false;
    for (int i = 0; i < k->edges.n; i++) {
        if (k->edges.v[i].down != r) continue;
        given = true;
        for (int j = 0; j < k->edges.v[i].nup; j++) {
            const weir_res *u = k->edges.v[i].up[j];
            if (has(t->src, t->nsrc, u) || produces(t, u)) add(g, &l, u);
        }
    }
    if (given) return l;
    memset(g->met, 0, (size_t)k->values.n);
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_OP && n->op->res == r && n->op->stage >= STAGE_PROD_AUX)
            for (int i = 0; i < n->op->nargs; i++) value_sources(g, n->op->arg[i], &l);
    int kept = 0;
    for (int i = 0; i < l.n; i++) { /* a place in r itself, or one that is only written, is no source */
        const weir_res *u = l.v[i];
        if (u != r && (has(t->src, t->nsrc, u) || (produces(t, u) && u->kind != WEIR_RES_GMEM))) l.v[kept++] = u;
    }
    l.n = kept;
    if (!l.n && r->kind == WEIR_RES_CUSTOM)
        for (int i = 0; i < t->nsrc; i++)
            if (t->src[i] != r) add(g, &l, t->src[i]);
    return l;
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

static void put_bar(const weiri_plan *p, const char *what, int bar, weiri_buf *b) {
    if (bar < 0) return;
    weiri_put(b, "\\n%s: %d arrival%s", what, p->bars.v[bar].count, p->bars.v[bar].count == 1 ? "" : "s");
    if (p->bars.v[bar].tx) weiri_put(b, ", %" PRId64 " B", p->bars.v[bar].tx);
}

/* The label of edges out of r: the pipeline that its readers wait on. */
static void put_pipe(const graph *g, const weir_res *r) {
    const weir_pipe_desc *d = &r->pipe.given;
    if (d->type == WEIR_PIPE_NONE || r->kind == WEIR_RES_QUEUE) return;
    weiri_put(g->b, "%s, %d stage%s", weiri_pipe_type_name(d->type), d->stages > 0 ? d->stages : 1, d->stages > 1 ? "s" : "");
    if (r->group) weiri_put(g->b, "\\n%s %s", weiri_group_mode_name(r->group->mode), r->group->name);
    for (int i = 0; g->p && i < g->p->pipes.n; i++) {
        if (g->p->pipes.v[i].res != r) continue;
        put_bar(g->p, "full", g->p->pipes.v[i].full, g->b);
        put_bar(g->p, "empty", g->p->pipes.v[i].empty, g->b);
    }
}

static void put_node(const graph *g, const char *indent, const char *owner, const weir_res *r) {
    weiri_put(g->b, "%s\"%s.%s\" [label=\"%s\\n%s", indent, owner, r->name, r->name, weiri_res_kind_name(r->kind));
    if (r->kind != WEIR_RES_QUEUE && r->rank > 0) {
        weiri_put(g->b, " {");
        for (int i = 0; i < r->rank; i++) weiri_put(g->b, "%s %d", i ? "," : "", r->tile[i]);
        weiri_put(g->b, " } %s", weir_dtype_name(r->dtype));
    }
    for (int i = 0; i < r->nbind; i++)
        weiri_put(g->b, "%s %s", i ? "," : "\\nbinds", r->bind[i].tensor ? r->bind[i].tensor->name : r->bind[i].name);
    weiri_put(g->b, "\"%s];\n", r->kind == WEIR_RES_GMEM || r->kind == WEIR_RES_QUEUE ? ", style=rounded" : "");
}

static void put_edge(const graph *g, const char *from, const weir_res *r, const char *to, const char *more) {
    weiri_put(g->b, "  \"%s.%s\" -> \"%s\" [label=\"", from, r->name, to);
    if (*from) put_pipe(g, r);
    weiri_put(g->b, "\"%s];\n", more);
}

/* Edges from every place where u is made. */
static void put_edges(graph *g, const weir_res *u, const weiri_task *t, const char *to, const char *more) {
    const weir_kernel *k = g->k;
    if (produces(t, u)) { /* its own, first of all */
        put_edge(g, t->name, u, to, more);
        return;
    }
    bool made = false;
    for (int i = 0; i < k->tasks.n; i++) {
        if (!produces(k->tasks.v[i], u)) continue;
        put_edge(g, k->tasks.v[i]->name, u, to, more);
        made = true;
    }
    if (!made) put_edge(g, "", u, to, more);
}

static void put_task(graph *g, const weiri_task *t) {
    weiri_put(g->b, "  subgraph \"cluster_%s\" {\n    label=\"%s\\nwarps [%d:%d)", t->name, t->name, t->first_warp,
              t->first_warp + t->num_warps);
    if (g->p && t->index < g->p->ntasks && g->p->tasks[t->index].registers)
        weiri_put(g->b, ", %d registers", g->p->tasks[t->index].registers);
    weiri_put(g->b, "\";\n");
    for (int i = 0; i < t->ndst; i++) put_node(g, "    ", t->name, t->dst[i]);
    if (!t->ndst) weiri_put(g->b, "    \"%s.\" [label=\"\", shape=point];\n", t->name);
    weiri_put(g->b, "  }\n");
}

static void put_task_edges(graph *g, const weiri_task *t) {
    res_list used = { 0 };
    for (int i = 0; i < t->ndst; i++) {
        const char *to = weiri_arena_fmt(&g->a, "%s.%s", t->name, t->dst[i]->name);
        res_list up = upstream(g, t, t->dst[i]);
        for (int j = 0; j < up.n; j++) {
            put_edges(g, up.v[j], t, to, "");
            add(g, &used, up.v[j]);
        }
        const weir_res *storage = t->dst[i]->storage;
        if (storage && produces(t, storage))
            weiri_put(g->b, "  \"%s.%s\" -> \"%s\" [label=\"same bytes\", style=dotted, dir=none];\n", t->name, storage->name,
                      to);
    }
    /* what the task waits for without making anything of it: an edge to the task as a whole */
    const char *to = weiri_arena_fmt(&g->a, "%s.%s", t->name, t->ndst ? t->dst[0]->name : "");
    const char *more = weiri_arena_fmt(&g->a, ", style=dashed, lhead=\"cluster_%s\"", t->name);
    for (int i = 0; i < t->nsrc; i++) {
        bool known = produces(t, t->src[i]);
        for (int j = 0; j < used.n; j++) known = known || used.v[j] == t->src[i];
        if (!known) put_edges(g, t->src[i], t, to, more);
    }
}

bool weiri_print_dot(const weir_kernel *k, const weiri_plan *p, weiri_buf *b) {
    graph g = { .k = k, .p = p, .b = b };
    weiri_arena_init(&g.a, k->ctx);
    g.met = WEIRI_NEW_N(&g.a, bool, k->values.n + 1);
    weiri_put(b, "digraph \"%s\" {\n  rankdir=LR;\n  compound=true;\n", k->name);
    weiri_put(b, "  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", fontsize=8];\n"
                 "  graph [fontname=\"monospace\", fontsize=10, style=rounded];\n");
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        bool read = false;
        for (int t = 0; t < k->tasks.n; t++) read = read || has(k->tasks.v[t]->src, k->tasks.v[t]->nsrc, r);
        if (read && !is_produced(k, r)) put_node(&g, "  ", "", r);
    }
    for (int i = 0; i < k->tasks.n; i++) put_task(&g, k->tasks.v[i]);
    for (int i = 0; i < k->tasks.n; i++) put_task_edges(&g, k->tasks.v[i]);
    weiri_put(b, "}\n");
    bool ok = !g.a.oom && !b->oom;
    weiri_arena_free(&g.a);
    return ok;
}
