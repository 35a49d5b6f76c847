/* Conditions in one way of writing, and which are one, or opposites. */
#include "forming.h"

bool fo_is_whole(const weir_kernel *k, uint32_t id) {
    weir_dtype t = weiri_val(k, id)->dtype;
    return t == WEIR_I32 || t == WEIR_I64;
}

uint32_t fo_bare(const weir_kernel *k, uint32_t id, bool *not) {
    while (weiri_val(k, id)->op == WEIR_OP_NOT) {
        id = weiri_val(k, id)->arg[0];
        *not = !*not;
    }
    return id;
}

/* Is it never below n, which it may be? */
static bool begins_at(const weir_kernel *k, uint32_t id, int64_t n) {
    const weiri_value *v = weiri_val(k, id);
    const int64_t least = v->op == WEIR_OP_DIM && v->min > 0 ? v->min : 0;
    return n == least && (v->op == WEIR_OP_DIM || v->op == WEIR_OP_COORD);
}

bool fo_comparison(const weir_kernel *k, uint32_t id, comparison *out) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op < WEIR_OP_LT || v->op > WEIR_OP_NE) return false;
    *out = (comparison){ .op = v->op, .a = v->arg[0], .b = v->arg[1] };
    if (v->op == WEIR_OP_NE) out->op = WEIR_OP_EQ, out->not = true;
    if (v->op == WEIR_OP_GT || v->op == WEIR_OP_GE)
        *out = (comparison){ .op = v->op == WEIR_OP_GT ? WEIR_OP_LT : WEIR_OP_LE, .a = v->arg[1], .b = v->arg[0] };
    if (!fo_is_whole(k, v->arg[0]) || !fo_is_whole(k, v->arg[1]))
        return true; /* floats may have no order, numbers without a sign another */
    if (out->op == WEIR_OP_LE) *out = (comparison){ .op = WEIR_OP_LT, .a = out->b, .b = out->a, .not = true };
    int64_t n;
    if (out->op == WEIR_OP_LT && weiri_value_const(k, out->a, &n) && n < INT32_MAX) /* n < b: not b < n + 1 */
        *out = (comparison){ .op = WEIR_OP_LT, .a = out->b, .c = n + 1, .not = !out->not };
    else if (weiri_value_const(k, out->b, &n)) out->b = 0, out->c = n;
    else if (out->op == WEIR_OP_EQ && weiri_value_const(k, out->a, &n)) out->a = out->b, out->b = 0, out->c = n;
    if (out->op == WEIR_OP_EQ && !out->b && begins_at(k, out->a, out->c)) out->op = WEIR_OP_LT, out->c++; /* ~= 0: > 0 */
    return true;
}

static bool same_truth(const weir_kernel *k, uint32_t x, bool notx, uint32_t y, bool noty, int depth) {
    x = fo_bare(k, x, &notx), y = fo_bare(k, y, &noty);
    if (x == y) return notx == noty;
    const weiri_value *v = weiri_val(k, x), *w = weiri_val(k, y);
    comparison p, q;
    if (fo_comparison(k, x, &p) && fo_comparison(k, y, &q)) {
        if (p.op != q.op || (notx != p.not) != (noty != q.not) || !p.b != !q.b) return false;
        if (!p.b) return p.c == q.c && fo_same_value(k, p.a, q.a, 0);
        return (fo_same_value(k, p.a, q.a, 0) && fo_same_value(k, p.b, q.b, 0)) ||
               (p.op == WEIR_OP_EQ && fo_same_value(k, p.a, q.b, 0) && fo_same_value(k, p.b, q.a, 0));
    }
    if ((v->op == WEIR_OP_AND || v->op == WEIR_OP_OR) && (w->op == WEIR_OP_AND || w->op == WEIR_OP_OR) && depth < 5) {
        if ((v->op == w->op) != (notx == noty)) return false; /* not (a or b) is not a and not b */
        for (int turn = 0; turn < 2; turn++)
            if (same_truth(k, v->arg[0], notx, w->arg[turn], noty, depth + 1) &&
                same_truth(k, v->arg[1], notx, w->arg[1 - turn], noty, depth + 1))
                return true;
        return false;
    }
    return notx == noty && fo_same_value(k, x, y, 0);
}

bool weiri_forms_alike(const weir_kernel *k, uint32_t x, uint32_t y, bool *not) {
    *not = false;
    if (same_truth(k, x, false, y, false, 0)) return true;
    *not = same_truth(k, x, true, y, false, 0);
    return *not;
}
