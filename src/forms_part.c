/* Numbers of their own for loops of one length that have nothing to do with each other: a kernel that is right whatever each of them is is
 * right where they are one. */
#include "forming.h"

/* Loops, and how often they run, where a form tells; does one move the pipeline? By loop and by what it moves, a group's members being one. */
typedef struct moves {
    int n, nres;
    const weiri_node **loop;
    lin *steps;
    bool *told, *by;
} moves;

static int moved(const weiri_op *op) {
    const weir_res *r = op->res;
    return r->kind != WEIR_RES_GROUP && r->group ? r->group->index : r->index;
}

static moves find_moves(weiri_forms *f) {
    const weir_kernel *k = f->k;
    moves m = { .nres = k->res.n, .loop = WEIRI_NEW_N(f->a, const weiri_node *, k->nnodes + 1) };
    int *number = WEIRI_NEW_N(f->a, int, k->nnodes + 1);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *x = NULL; (x = weiri_node_next(k->tasks.v[t]->root, x));)
            if (x->kind == NODE_LOOP) number[x->id] = m.n, m.loop[m.n++] = x;
    m.steps = WEIRI_NEW_N(f->a, lin, m.n + 1);
    m.told = WEIRI_NEW_N(f->a, bool, m.n + 1);
    for (int i = 0; i < m.n; i++) m.told[i] = fo_steps(f, m.loop[i], &m.steps[i]);
    m.by = WEIRI_NEW_N(f->a, bool, m.n * m.nres + 1);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *x = NULL; (x = weiri_op_next(k->tasks.v[t]->root, x));)
            for (const weiri_node *p = x->parent; p && x->op->atom == ATOM_NONE; p = p->parent)
                if (p->kind == NODE_LOOP) m.by[number[p->id] * m.nres + moved(x->op)] = true;
    return m;
}

static bool meet(const moves *m, int x, int y) {
    bool any = false;
    for (int r = 0; r < m->nres; r++) any = any || (m->by[x * m->nres + r] && m->by[y * m->nres + r]);
    return any;
}

/* Would they be of one class? */
static bool as_long(const weiri_forms *f, const moves *m, int x, int y) {
    return m->told[x] && m->told[y] ? m->steps[x].n && fo_same_terms(&m->steps[x], &m->steps[y])
                                    : fo_same_bounds(f->k, m->loop[x], m->loop[y], 0);
}

bool weiri_forms_part(weiri_forms *f) {
    const moves m = find_moves(f);
    bool apart = false;
    f->part = WEIRI_NEW_N(f->a, int, f->k->nnodes + 1);
    int *up = WEIRI_NEW_N(f->a, int, m.n + 1);
    for (int i = 0; i < m.n; i++) up[i] = i;
    for (int i = 0; i < m.n; i++)
        for (int j = 0; j < i; j++)
            if (up[i] != up[j] && as_long(f, &m, i, j) && meet(&m, i, j))
                for (int q = 0, from = up[i], to = up[j]; q <= i; q++) up[q] = up[q] == from ? to : up[q];
    for (int i = 0; i < m.n; i++) {
        f->part[m.loop[i]->id] = up[i] + 1;
        for (int j = 0; j < i && !apart; j++) apart = up[i] != up[j] && as_long(f, &m, i, j);
    }
    return apart;
}
