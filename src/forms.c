/* Whole numbers in one normal form: a constant and a sum of atoms, so that equal numbers mostly have equal forms. */
#include <string.h>

#include "forming.h"

bool fo_same_terms(const lin *x, const lin *y) {
    return x->n == y->n && !memcmp(x->atom, y->atom, sizeof(int) * (size_t)x->n) &&
           !memcmp(x->coef, y->coef, sizeof(int64_t) * (size_t)x->n);
}

static int atom_for(weiri_forms *f, const atom *x) {
    for (int i = 0; i < f->atoms.n; i++) {
        const atom *y = &f->atoms.v[i];
        if (x->kind != y->kind || x->by != y->by) continue;
        if (x->kind != ATOM_VALUE && x->kind != ATOM_TRIPS ? x->of.c == y->of.c && fo_same_terms(&x->of, &y->of)
            : x->kind == ATOM_TRIPS ? fo_same_bounds(f->k, weiri_val(f->k, x->id)->loop, weiri_val(f->k, y->id)->loop, 0)
                                    : fo_same_value(f->k, x->id, y->id, 0))
            return i;
    }
    const weir_op op = x->kind == ATOM_VALUE ? weiri_val(f->k, x->id)->op : WEIR_OP_INT;
    if ((x->kind == ATOM_POS || op == WEIR_OP_MIN || op == WEIR_OP_MAX) && !f->bounds)
        f->bounds = WEIRI_NEW_N(f->a, bound, BOUNDS);
    WEIRI_PUSH(f->a, f->atoms, *x);
    return f->atoms.n - 1;
}

static bool lose(lin *x) {
    *x = (lin){ .lost = true };
    return false;
}

bool fo_add(lin *x, const lin *y, int64_t m) {
    if (x->lost || y->lost) return lose(x);
    lin r = { .c = x->c + m * y->c };
    if (!fo_near(r.c)) return lose(x);
    for (int i = 0, j = 0; i < x->n || j < y->n;) {
        bool left = i < x->n && (j >= y->n || x->atom[i] <= y->atom[j]),
             right = j < y->n && (i >= x->n || y->atom[j] <= x->atom[i]);
        int at = left ? x->atom[i] : y->atom[j];
        int64_t coef = (left ? x->coef[i] : 0) + (right ? m * y->coef[j] : 0);
        if (left) i++;
        if (right) j++;
        if (!coef) continue;
        if (r.n == MAX_TERMS || !fo_near(coef)) return lose(x);
        r.atom[r.n] = at;
        r.coef[r.n++] = coef;
    }
    *x = r;
    return true;
}

lin fo_negative(const lin *x) {
    lin r = *x;
    r.c = -r.c;
    for (int i = 0; i < r.n; i++) r.coef[i] = -r.coef[i];
    return r;
}

int64_t fo_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
}

lin fo_single(weiri_forms *f, const atom *a) { return (lin){ .n = 1, .atom = { atom_for(f, a) }, .coef = { 1 } }; }

/* The product of two atoms, each of which may be one of others: of all, in order, an atom as often as it is a factor. Lost: there are too many. */
static lin product_of(weiri_forms *f, int x, int y) {
    const int both[] = { x, y };
    atom a = { .kind = ATOM_MUL };
    for (int i = 0; i < 2; i++) {
        const atom *b = &f->atoms.v[both[i]];
        const int n = b->kind == ATOM_MUL ? b->of.n : 1;
        for (int q = 0; q < n; q++) {
            const int factor = b->kind == ATOM_MUL ? b->of.atom[q] : both[i];
            if (a.of.n == MAX_TERMS) return (lin){ .lost = true };
            int at = a.of.n++;
            for (; at > 0 && a.of.atom[at - 1] > factor; at--) a.of.atom[at] = a.of.atom[at - 1];
            a.of.atom[at] = factor;
            a.of.coef[at] = 1;
        }
    }
    for (int i = 0; i < a.of.n; i++) a.of.coef[i] = 1;
    return fo_single(f, &a);
}

lin fo_times(weiri_forms *f, const lin *x, const lin *y) {
    lin out = { 0 }, rest = *x;
    rest.c = 0;
    fo_add(&out, y, x->c);
    fo_add(&out, &rest, y->c);
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < y->n; j++) {
            const lin one = product_of(f, x->atom[i], y->atom[j]);
            fo_add(&out, &one, x->coef[i] * y->coef[j]);
        }
    return out;
}

lin fo_without_term(const lin *x, int i, int64_t *coef) {
    lin r = *x;
    *coef = x->coef[i];
    r.n--;
    for (; i < r.n; i++) r.atom[i] = x->atom[i + 1], r.coef[i] = x->coef[i + 1];
    return r;
}

/* max(0, x) where that is a sum of others; false: it is none. */
static bool pos_by_rule(weiri_forms *f, const lin *x, lin *out) {
    if (fo_low(f, x, 0) >= 0) return *out = *x, true;
    if (fo_high(f, x, 0) <= 0) return *out = (lin){ 0 }, true;
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        if (!fo_is_kind(f, x, i, ATOM_POS)) continue;
        const lin rest = fo_without_term(x, i, &coef), of = f->atoms.v[x->atom[i]].of;
        lin p = rest;
        fo_add(&p, &of, coef == 1 ? 1 : -1);
        if (coef == 1 && fo_high(f, &rest, 0) <= 0) return *out = fo_pos(f, &p), true; /* max(0, max(0, of) + rest) */
        if (coef != -1 || fo_low(f, &p, 0) < 0) continue;
        *out = fo_pos(f, &rest); /* max(0, rest - max(0, of)), and of <= rest */
        const lin one = { .n = 1, .atom = { x->atom[i] }, .coef = { 1 } };
        fo_add(out, &one, -1);
        return true;
    }
    return false;
}

lin fo_pos(weiri_forms *f, const lin *x) {
    lin out, neg = fo_negative(x);
    if (!x->n) return (lin){ .c = x->c > 0 ? x->c : 0, .lost = x->lost };
    if (pos_by_rule(f, x, &out)) return out;
    if (pos_by_rule(f, &neg, &out)) { /* max(0, x) = x + max(0, -x) */
        fo_add(&out, x, 1);
        return out;
    }
    const bool turned = x->coef[0] < 0;
    atom a = { .kind = ATOM_POS, .of = turned ? neg : *x };
    out = fo_single(f, &a);
    if (turned && !fo_add(&out, x, 1)) {
        a.of = *x;
        out = fo_single(f, &a);
    }
    return out;
}

/* Of x / m, rounded up, where one of its terms is a multiple of max(0, of): the larger, or smaller, of two quotients; false: it is none. */
static bool ceil_of_pos(weiri_forms *f, const lin *x, int64_t m, lin *out) {
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        if (!fo_is_kind(f, x, i, ATOM_POS)) continue;
        const lin rest = fo_without_term(x, i, &coef);
        lin p = rest;
        fo_add(&p, &f->atoms.v[x->atom[i]].of, coef);
        const lin q = fo_ceil(f, &rest, m);
        p = fo_ceil(f, &p, m);
        lin d = p; /* the larger of the two, q + max(0, p - q), or the smaller */
        fo_add(&d, &q, -1);
        if (coef < 0) d = fo_negative(&d);
        d = fo_pos(f, &d);
        *out = q;
        fo_add(out, &d, coef < 0 ? -1 : 1);
        return true;
    }
    return false;
}

lin fo_ceil(weiri_forms *f, const lin *x, int64_t m) {
    lin out = { .lost = x->lost }, rest = { .c = x->c };
    for (int i = 0; i < x->n; i++) {
        if (x->coef[i] % m == 0) out.atom[out.n] = x->atom[i], out.coef[out.n++] = x->coef[i] / m;
        else rest.atom[rest.n] = x->atom[i], rest.coef[rest.n++] = x->coef[i];
    }
    /* (m y + rest) / m is y, where bounds keep the rest to one quotient */
    const int64_t lo = fo_low(f, &rest, 0), hi = fo_high(f, &rest, 0);
    if (lo != -NO_BOUND && hi != NO_BOUND && -fo_floor_div(-lo, m) == -fo_floor_div(-hi, m)) {
        out.c = -fo_floor_div(-hi, m);
        return out;
    }
    lin q;
    if (!ceil_of_pos(f, &rest, m, &q)) {
        const atom *of = rest.n == 1 && rest.coef[0] == 1 ? &f->atoms.v[rest.atom[0]] : NULL;
        const int64_t c = fo_floor_div(rest.c, m);
        rest.c -= c * m;
        atom a = { .kind = ATOM_CEIL, .of = rest, .by = m };
        if (of && of->kind == ATOM_CEIL && of->by * m <= FAR) { /* a quotient's quotient */
            a.by = of->by * m;
            a.of = of->of;
            a.of.c += rest.c * of->by;
        }
        q = fo_single(f, &a);
        q.c = c;
    }
    fo_add(&out, &q, 1);
    return out;
}

bool fo_steps(weiri_forms *f, const weiri_node *loop, lin *out) {
    int64_t step;
    const lin from = fo_lin(f, loop->start, 0);
    if (!weiri_value_const(f->k, loop->step, &step)) return false;
    *out = fo_lin(f, loop->stop, 0);
    fo_add(out, &from, -1);
    if (step < 0) *out = fo_negative(out), step = -step;
    *out = fo_ceil(f, out, step); /* of 32 bits, and not 0: capture.c */
    return !out->lost;
}

bool fo_iteration(weiri_forms *f, const weiri_node *loop, lin *out) {
    atom a = { .kind = ATOM_ITER, .id = loop->index };
    if (!fo_steps(f, loop, &a.of)) return false;
    for (const weiri_node *n = loop->parent; n; n = n->parent) {
        lin around;
        a.by += n->kind == NODE_LOOP && fo_steps(f, n, &around) && around.c == a.of.c && fo_same_terms(&around, &a.of);
    }
    *out = fo_single(f, &a);
    return true;
}

bool fo_at_launch(const weir_kernel *k, uint32_t id, int depth) {
    const weiri_value *v = weiri_val(k, id);
    if (weiri_value_is_float(v->dtype) || depth > DEEP) return false;
    if (v->op < WEIR_OP_RETURN) return true; /* ORDER OP: leaves, all but what bodies and registers give */
    if (v->op < WEIR_OP_ADD || v->op > WEIR_OP_CAST) return false;
    for (int i = 0; i < v->nargs; i++)
        if (!fo_at_launch(k, v->arg[i], depth + 1)) return false;
    return true;
}

/* Does the cast keep the number? Of floats it does not, nor to fewer than 32 bits; 64 bits may lose some where no launch looks. */
static bool keeps(const weir_kernel *k, const weiri_value *v) {
    const weiri_value *from = weiri_val(k, v->arg[0]);
    if (v->dtype != WEIR_I32 && v->dtype != WEIR_I64) return false;
    if (weiri_value_is_float(from->dtype) || from->dtype == WEIR_BOOL) return false;
    int bytes = weir_dtype_size(from->dtype);
    if (bytes < 4 || from->dtype == WEIR_I32) return true;
    if (from->dtype == WEIR_U32 && v->dtype == WEIR_I64) return true;
    return fo_at_launch(k, v->arg[0], 0);
}

bool fo_wraps(weiri_forms *f, uint32_t id, int depth) {
    if (weiri_value_signless(f->k, id) == WEIR_DTYPE_NONE) return false;
    const weiri_value *v = weiri_val(f->k, id);
    for (int i = 0; i < 2; i++) {
        lin x = fo_lin(f, v->arg[i], depth);
        if (fo_low(f, &x, depth) < 0) return true;
    }
    return false;
}

static lin make_lin(weiri_forms *f, uint32_t id, int depth) {
    const weiri_value *v = weiri_val(f->k, id);
    int64_t n;
    const atom self = { .id = id };
    lin x = { .lost = true }, y;
    if (weiri_value_const(f->k, id, &n) && fo_near(n)) return (lin){ .c = n };
    if (depth > DEEP || v->text > LARGE) return fo_single(f, &self);
    switch (v->op) {
    case WEIR_OP_ADD:
    case WEIR_OP_SUB:
        x = fo_lin(f, v->arg[0], depth + 1);
        y = fo_lin(f, v->arg[1], depth + 1);
        fo_add(&x, &y, v->op == WEIR_OP_ADD ? 1 : -1);
        break;
    case WEIR_OP_NEG:
        y = fo_lin(f, v->arg[0], depth + 1);
        x = fo_negative(&y);
        break;
    case WEIR_OP_MUL:
        x = fo_lin(f, v->arg[0], depth + 1);
        y = fo_lin(f, v->arg[1], depth + 1);
        x = fo_times(f, &x, &y);
        break;
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_IDIV:
    case WEIR_OP_MOD:
        if (!weiri_value_const(f->k, v->arg[1], &n) || n <= 0 || n > FAR || fo_wraps(f, id, depth + 1)) break;
        x = y = fo_lin(f, v->arg[0], depth + 1);
        if (v->op != WEIR_OP_CEIL_DIV) x.c -= n - 1; /* floor(x / n) = ceil((x - n + 1) / n) */
        x = fo_ceil(f, &x, n);
        if (v->op != WEIR_OP_MOD) break;
        fo_add(&y, &x, -n); /* x mod n = x - n * floor(x / n) */
        x = y;
        break;
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
        if (!f->deep || fo_wraps(f, id, depth + 1)) break;
        f->apart = true;
        x = fo_lin(f, v->arg[0], depth + 1);
        y = fo_lin(f, v->arg[1], depth + 1);
        if (v->op == WEIR_OP_MAX) x = fo_negative(&x), y = fo_negative(&y);
        {
            lin d = x; /* min(x, y) = x - max(0, x - y) */
            fo_add(&d, &y, -1);
            d = fo_pos(f, &d);
            fo_add(&x, &d, -1);
        }
        if (v->op == WEIR_OP_MAX) x = fo_negative(&x);
        break;
    case WEIR_OP_INDEX:
        if (!weiri_value_const(f->k, v->loop->step, &n) || !fo_iteration(f, v->loop, &y)) break;
        x = fo_lin(f, v->loop->start, depth + 1);
        fo_add(&x, &y, n);
        break;
    case WEIR_OP_CAST:
        if (!keeps(f->k, v)) break;
        x = fo_lin(f, v->arg[0], depth + 1);
        if (v->dtype == WEIR_I64 && weiri_val(f->k, v->arg[0])->dtype == WEIR_U32 && fo_low(f, &x, 0) < 0)
            x.lost = true; /* of a number below 0 that has wrapped, 64 bits keep what it has become */
        break;
    default: break;
    }
    return x.lost ? fo_single(f, &self) : x;
}

lin fo_lin(weiri_forms *f, uint32_t id, int depth) {
    if (!f->memo[id]) {
        lin x = make_lin(f, id, depth);
        f->memo[id] = WEIRI_NEW(f->a, lin);
        *f->memo[id] = x;
    }
    return *f->memo[id];
}

bool fo_cancels(lin *x, const lin *y, int64_t m) { return fo_add(x, y, m) && !x->n; }
