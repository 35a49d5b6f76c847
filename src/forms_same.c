/* Which values are equal, whichever task computes them, and what they vary with: by how they are written, nothing is computed. */
#include "forming.h"

/* A place of a tensor that the kernel does not write? */
bool fo_fixed_place(const weiri_value *v) {
    return (v->op == WEIR_OP_VIEW_AT || v->op == WEIR_OP_VIEW_FROM) && !v->res->tensor->out;
}

/* One such place: both loads give one number. */
static bool same_place(const weir_kernel *k, uint32_t x, uint32_t y, int depth) {
    const weiri_value *a = weiri_val(k, x), *b = weiri_val(k, y);
    if (a->op != b->op || a->res != b->res || !fo_fixed_place(a)) return false;
    for (int i = 0; i < a->nargs; i++)
        if (!fo_same_value(k, a->arg[i], b->arg[i], depth + 1)) return false;
    return true;
}

static bool commutes(weir_op op) {
    return op == WEIR_OP_ADD || op == WEIR_OP_MUL || op == WEIR_OP_MIN || op == WEIR_OP_MAX || op == WEIR_OP_EQ ||
           op == WEIR_OP_NE || op == WEIR_OP_AND || op == WEIR_OP_OR;
}

bool fo_same_bounds(const weir_kernel *k, const weiri_node *x, const weiri_node *y, int depth) {
    return fo_same_value(k, x->start, y->start, depth) && fo_same_value(k, x->stop, y->stop, depth) &&
           fo_same_value(k, x->step, y->step, depth);
}

/* How many loops around it run through the same numbers? */
static int copies_around(const weir_kernel *k, const weiri_node *loop, int depth) {
    int n = 0;
    for (const weiri_node *out = loop->parent; out; out = out->parent)
        n += out->kind == NODE_LOOP && fo_same_bounds(k, out, loop, depth);
    return n;
}

/* Indices of loops with one start, stop and step run through the same numbers; not at one time where one stands in the other, so that
 * an outer one is like an outer one. */
static bool same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y, int depth) {
    for (const weiri_node *out = x->parent; out; out = out->parent)
        if (out == y) return false;
    for (const weiri_node *out = y->parent; out; out = out->parent)
        if (out == x) return false;
    return fo_same_bounds(k, x, y, depth) && copies_around(k, x, depth) == copies_around(k, y, depth);
}

bool fo_same_value(const weir_kernel *k, uint32_t x, uint32_t y, int depth) {
    if (x == y) return true;
    const weiri_value *a = weiri_val(k, x), *b = weiri_val(k, y);
    if (depth > DEEP || a->text > LARGE || b->text > LARGE) return false;
    if (a->op != b->op) return false;
    if (a->op == WEIR_OP_INDEX) return same_index(k, a->loop, b->loop, depth + 1);
    if (a->op == WEIR_OP_LOAD) return same_place(k, a->arg[0], b->arg[0], depth + 1);
    if (a->op < WEIR_OP_ADD || a->op > WEIR_OP_CAST) return false; /* leaves and other reads are equal by id alone */
    if (a->dtype != b->dtype) return false;
    bool same = true;
    for (int i = 0; i < a->nargs && same; i++) same = fo_same_value(k, a->arg[i], b->arg[i], depth + 1);
    if (same || !commutes(a->op)) return same;
    return fo_same_value(k, a->arg[0], b->arg[1], depth + 1) && fo_same_value(k, a->arg[1], b->arg[0], depth + 1);
}

bool weiri_forms_same_loop(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    bool not;
    if (x->kind == NODE_LOOP) return fo_same_bounds(k, x, y, 0);
    return weiri_forms_alike(k, x->of, y->of, &not) && not == (x->guard != y->guard);
}

bool weiri_forms_same(const weir_kernel *k, uint32_t x, uint32_t y) { return fo_same_value(k, x, y, 0); }
bool weiri_forms_same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y) { return same_index(k, x, y, 0); }

static bool along_cluster(const weir_kernel *k, const weiri_value *v) {
    const weir_res *q = v->res;
    return (v->i == q->axis_m && k->cluster.m * k->cluster.v > 1) || (v->i == q->axis_n && k->cluster.n > 1);
}

/* memory: are numbers in tensors that nobody writes known, too? */
static bool leaves(const weir_kernel *k, uint32_t id, bool memory, bool *tile, bool *cta) {
    if (!weiri_visit(k, id)) return true; /* what it is has been counted */
    const weiri_value *v = weiri_val(k, id);
    bool many = k->cluster.m * k->cluster.n * k->cluster.k * k->cluster.v > 1;
    switch (v->op) {
    case WEIR_OP_INT: case WEIR_OP_FLOAT: case WEIR_OP_DIM: case WEIR_OP_SCALAR: return true;
    case WEIR_OP_COORD: case WEIR_OP_BEFORE: *tile = true; if (many && along_cluster(k, v)) *cta = true; return true;
    case WEIR_OP_QUEUE_INDEX: *tile = true; return true;
    case WEIR_OP_CTA: if (many) *cta = true; return true;
    case WEIR_OP_INDEX: return false;
    case WEIR_OP_RETURN: case WEIR_OP_READ_REG: case WEIR_OP_VIEW_READ:
        if (many) *cta = true;
        return false;
    case WEIR_OP_LOAD: { /* what nobody writes is one number in all CTAs that look at one place */
        const weiri_value *place = weiri_val(k, v->arg[0]);
        bool known = memory && fo_fixed_place(place);
        if (many && !fo_fixed_place(place)) *cta = true;
        for (int i = 0; i < place->nargs; i++) known = leaves(k, place->arg[i], memory, tile, cta) && known;
        return known;
    }
    default: break;
    }
    bool ok = v->op >= WEIR_OP_ADD && v->op <= WEIR_OP_CAST;
    for (int i = 0; i < v->nargs; i++) ok = leaves(k, v->arg[i], memory, tile, cta) && ok;
    return ok;
}

bool weiri_forms_varies(const weir_kernel *k, uint32_t id, bool *tile, bool *cta) {
    *tile = *cta = false;
    weiri_visit_begin(k);
    return leaves(k, id, false, tile, cta);
}

bool weiri_forms_settled(const weir_kernel *k, uint32_t id, bool *tile, bool *cta) {
    *tile = *cta = false;
    weiri_visit_begin(k);
    return leaves(k, id, true, tile, cta);
}
