/* Bounds of forms. */
#include <math.h>

#include "forming.h"

enum { MOST_TRIED = 20000 }; /* bounds that are looked for where minima are taken apart: of less, less is known */

int64_t fo_high(weiri_forms *f, const lin *x, int depth) {
    lin neg = fo_negative(x);
    int64_t v = fo_low(f, &neg, depth);
    return v == -NO_BOUND ? NO_BOUND : -v;
}

/* x with its term at `at` replaced by coef * v */
static bool swap_in(const lin *x, int at, const lin *v, lin *out) {
    int64_t coef;
    *out = fo_without_term(x, at, &coef);
    return fo_add(out, v, coef);
}

/* Of a coordinate: CTAs that split its axis run tiles up to a multiple of so many. */
static int64_t split_by(const weir_cluster *c, const weiri_value *v) {
    return v->i == v->res->axis_m ? c->v * c->m : v->i == v->res->axis_n ? c->n : 1;
}

/* What the atom is never above, as a form; false: nothing is known. */
static bool most_of(weiri_forms *f, int at, lin *out) {
    const atom a = f->atoms.v[at];
    if (a.kind == ATOM_ITER) {
        *out = a.of;
        out->c--;
        return true;
    }
    if (a.kind != ATOM_VALUE) return false;
    const weiri_value *v = weiri_val(f->k, a.id);
    if (v->op != WEIR_OP_COORD && v->op != WEIR_OP_BEFORE) return false;
    *out = fo_lin(f, v->res->extent[v->i].id, 0);
    out->c += split_by(&f->k->cluster, v) - 2;
    return true;
}

/* Bound of one atom alone: lowest, or highest if `top`. */
static int64_t atom_bound(weiri_forms *f, int at, bool top, int depth) {
    const atom a = f->atoms.v[at];
    const int64_t none = top ? NO_BOUND : -NO_BOUND;
    if (a.kind == ATOM_TRIPS) return top ? NO_BOUND : 0;
    if (a.kind == ATOM_ITER) {
        int64_t v = top ? fo_high(f, &a.of, depth) : 1;
        return v == NO_BOUND ? v : v - 1;
    }
    if (a.kind == ATOM_MUL) { /* of numbers that are never below 0 */
        double all = 1;
        for (int i = 0; i < a.of.n; i++) {
            const int64_t least = atom_bound(f, a.of.atom[i], false, depth);
            if (least < 0) return none;
            all *= (double)(top ? atom_bound(f, a.of.atom[i], true, depth) : least);
        }
        return all <= (double)FAR ? (int64_t)all : top ? NO_BOUND : FAR;
    }
    if (a.kind == ATOM_POS) {
        int64_t v = top ? fo_high(f, &a.of, depth) : fo_low(f, &a.of, depth);
        return v < 0 ? 0 : v;
    }
    if (a.kind == ATOM_CEIL) {
        int64_t v = top ? fo_high(f, &a.of, depth) : fo_low(f, &a.of, depth);
        return v == none ? v : -fo_floor_div(-v, a.by);
    }
    const weiri_value *v = weiri_val(f->k, a.id);
    switch (v->op) {
    case WEIR_OP_SCALAR: return top ? none : weiri_value_is_unsigned(v->dtype) ? 0 : none;
    case WEIR_OP_DIM: return top ? (v->max > 0 ? v->max : none) : v->min > 0 ? v->min : 0;
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE: {
        const int64_t by = split_by(&f->k->cluster, v);
        int64_t n;
        return !top                                                               ? 0
               : !weiri_value_const(f->k, v->res->extent[v->i].id, &n) || n > FAR ? NO_BOUND
               : n > 0                                                            ? (n + by - 1) / by * by - 1
                                                                                  : 0;
    }
    case WEIR_OP_CTA:
    case WEIR_OP_QUEUE_INDEX: return top ? NO_BOUND : 0;
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: {
        if (fo_wraps(f, a.id, depth)) return none;
        lin x = fo_lin(f, v->arg[0], 0), y = fo_lin(f, v->arg[1], 0);
        int64_t p = top ? fo_high(f, &x, depth) : fo_low(f, &x, depth), q = top ? fo_high(f, &y, depth) : fo_low(f, &y, depth);
        return v->op == WEIR_OP_MIN ? (p < q ? p : q) : p > q ? p : q;
    }
    default: return none;
    }
}

/* A number that x never falls below, by what a quotient in it, rounded up, cannot differ from: the number divided, or another quotient. */
static int64_t low_of_ceil(weiri_forms *f, const lin *x, int at, int depth) {
    const atom a = f->atoms.v[x->atom[at]];
    int64_t best = -NO_BOUND;
    if (a.kind != ATOM_CEIL) return best;
    const int64_t k = x->coef[at];
    const lin one = { .n = 1, .atom = { x->atom[at] }, .coef = { 1 } };
    const int64_t times = a.by / fo_gcd(k, a.by); /* of <= by * ceil(of / by) <= of + by - 1 */
    lin of = a.of, rest = { 0 };
    if (k < 0) of.c += a.by - 1;
    fo_add(&rest, x, times);
    fo_add(&rest, &one, -k * times);
    fo_add(&rest, &of, k * times / a.by);
    if (rest.n <= x->n) {
        const int64_t l = fo_low(f, &rest, depth + 1);
        if (l != -NO_BOUND) best = -fo_floor_div(-l, times);
    }
    for (int i = 0; i < x->n && k > 0; i++) {
        const atom b = f->atoms.v[x->atom[i]];
        if (b.kind != ATOM_CEIL || b.by != a.by || x->coef[i] >= 0 || !fo_same_terms(&a.of, &b.of)) continue;
        const int64_t both = k < -x->coef[i] ? k : -x->coef[i];
        lin other = { .n = 1, .atom = { x->atom[i] }, .coef = { 1 } };
        rest = *x;
        fo_add(&rest, &one, -both); /* both come nearer to 0 */
        fo_add(&rest, &other, both);
        rest.c += both * fo_floor_div(a.of.c - b.of.c, a.by);
        const int64_t l = fo_low(f, &rest, depth + 1);
        if (l > best) best = l;
    }
    return best;
}

/* Is the atom the larger, or the smaller, of two? */
static bool either_of(weiri_forms *f, int at, lin *x, lin *y, bool *max, int depth) {
    const atom a = f->atoms.v[at];
    if (a.kind == ATOM_POS) {
        *x = (lin){ 0 }, *y = a.of, *max = true;
        return true;
    }
    const weiri_value *v = weiri_val(f->k, a.id);
    *max = v->op == WEIR_OP_MAX;
    if (a.kind != ATOM_VALUE || (v->op != WEIR_OP_MIN && !*max) || fo_wraps(f, a.id, depth + 1)) return false;
    *x = fo_lin(f, v->arg[0], 0), *y = fo_lin(f, v->arg[1], 0);
    return true;
}

/* By the bounds of its atoms; by both that a maximum can be; by what an index or a coordinate is never above. */
static int64_t find_low(weiri_forms *f, const lin *x, int depth) {
    f->tried++;
    int64_t best = x->c;
    for (int i = 0; i < x->n && best != -NO_BOUND; i++) {
        int64_t b = atom_bound(f, x->atom[i], x->coef[i] < 0, depth + 1);
        bool endless = fabs((double)b * (double)x->coef[i]) > 1e17; /* NO_BOUND is; of less, MAX_TERMS stay in 64 bits */
        best = endless ? -NO_BOUND : best + b * x->coef[i];
    }
    for (int i = 0; i < x->n; i++) {
        lin one, other, l, r;
        bool max;
        if (!either_of(f, x->atom[i], &one, &other, &max, depth) || !swap_in(x, i, &one, &l) || !swap_in(x, i, &other, &r))
            continue;
        const int64_t p = fo_low(f, &l, depth + 1), q = fo_low(f, &r, depth + 1);
        const int64_t b =
            (max == (x->coef[i] > 0)) == (p > q) ? p : q; /* x is one of the two; with a known sign at least the larger */
        if (b > best) best = b;
    }
    for (int i = 0; i < x->n && depth < 2; i++) {
        const int64_t b = low_of_ceil(f, x, i, depth);
        if (b > best) best = b;
    }
    for (int i = 0; i < x->n && best < 0; i++) {
        lin most, l;
        if (x->coef[i] >= 0 || !most_of(f, x->atom[i], &most) || !swap_in(x, i, &most, &l)) continue;
        const int64_t b = fo_low(f, &l, depth + 1);
        if (b > best) best = b;
    }
    return best;
}

int64_t fo_low(weiri_forms *f, const lin *x, int depth) {
    if (x->lost || depth > 6 || (f->deep && f->tried > MOST_TRIED)) return -NO_BOUND;
    uint64_t at = (uint64_t)x->c + (uint64_t)depth;
    for (int i = 0; i < x->n; i++) at = 31 * at + 7 * (uint64_t)x->atom[i] + (uint64_t)x->coef[i];
    const bound *b = f->bounds ? &f->bounds[at % BOUNDS] : NULL;
    if (b && b->depth == depth + 1 && b->of.c == x->c && fo_same_terms(&b->of, x)) return b->low;
    const int64_t found = find_low(f, x, depth);
    if (f->bounds) f->bounds[at % BOUNDS] = (bound){ .of = *x, .depth = depth + 1, .low = found };
    return found;
}
