/* Loops in each other whose order does not matter: a product as loops of its factors, all in one order. */
#include "proving.h"

/* Does the value hang on the index of that loop? */
static bool has_index(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    if (!weiri_visit(k, id)) return false; /* it has been looked at */
    const weiri_value *v = weiri_val(k, id);
    bool has = v->op == WEIR_OP_INDEX && v->loop == loop;
    for (int i = 0; i < v->nargs && !has; i++) has = has_index(k, v->arg[i], loop);
    return has;
}

static bool of_index(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    weiri_visit_begin(k);
    return has_index(k, id, loop);
}

/* Is the condition another one each time that the loop comes round, which is no number of the turn's? */
static bool lives_in(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    bool tile, cta;
    const weiri_node *in = weiri_val(k, id)->scope;
    while (in && in->kind != NODE_LOOP) in = in->parent;
    return in == loop && !weiri_forms_settled(k, id, &tile, &cta);
}

/* Does something in there hang on the loop's index, as far as the code goes? */
static bool uses_index(const weir_kernel *k, const weiri_pnode *n, const weiri_node *loop) {
    for (; n; n = n->next) {
        if (n->kind == PN_GUARD &&
            (n->src->of ? of_index(k, n->src->of, loop) || lives_in(k, n->src->of, loop) : n->src->loop == loop))
            return true;
        if (n->kind == PN_LOOP &&
            (of_index(k, n->src->start, loop) || of_index(k, n->src->stop, loop) || of_index(k, n->src->step, loop)))
            return true;
        if (n->kind != PN_ACTION && uses_index(k, n->first, loop)) return true;
    }
    return false;
}

/* Loops in each other that could stand in any order: nothing in them asks for their indices. */
typedef struct nest {
    int n;
    const weiri_node *node[WEIRI_MAX_NEST];
    int handle[WEIRI_MAX_NEST];
    const weiri_pnode *body;
} nest;

static nest nest_at(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    nest x = { .body = n };
    while (x.body->kind == PN_LOOP && !x.body->deal && !uses_index(g->p->k, x.body->first, x.body->src)) {
        int handles[WEIRI_NEST], deep = weiri_forms_nest(g->forms, x.body->src, handles);
        g->sorts = g->sorts || deep;
        if (!deep) handles[deep++] = weiri_forms_loop(g->forms, x.body->src, -1);
        if (x.n + deep > WEIRI_MAX_NEST) break;
        for (int i = 0; i < deep; i++) x.node[x.n] = x.body->src, x.handle[x.n++] = handles[i];
        x.body = x.body->first;
        if (!x.body || x.body->next) break;
        g->sorts = g->sorts || x.body->kind == PN_LOOP;
        if (!(g->without & WEIRI_SORTED)) break;
    }
    return x;
}

bool pg_compile_nest(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    if (!(g->without & WEIRI_COUNTED)) return false;
    nest x = nest_at(b, n);
    if (x.n < 2) return false; /* a product has two factors at least */
    for (int i = 1; i < x.n && g->without & WEIRI_SORTED; i++)
        for (int q = i; q > 0 && weiri_forms_order(g->forms, x.handle[q]) < weiri_forms_order(g->forms, x.handle[q - 1]); q--) {
            const int handle = x.handle[q];
            x.handle[q] = x.handle[q - 1], x.handle[q - 1] = handle;
        }
    int at[WEIRI_MAX_NEST];
    for (int i = 0; i < x.n; i++) at[i] = pg_open_loop(b, x.node[i], x.handle[i]);
    pg_compile(b, x.body);
    for (int i = x.n; i-- > 0;) pg_close_loop(b, at[i]);
    return g->counted = true;
}
