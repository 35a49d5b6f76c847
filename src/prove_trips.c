/* Trip counts in one normal form: a constant and a sum of atoms. Loops whose sums differ only in the constant count one symbol
 * with a head start; a loop whose sum is that of other loops' counts runs through their symbols one after the other. */
#include <math.h>
#include <string.h>

#include "prove.h"

enum { MAX_TERMS = 8, DEEP = 24, LARGE = 4096 /* operations: of more, parts are shared over and over */ };
enum { MOST_TRIED = 20000 };             /* bounds that are looked for where minima are taken apart: of less, less is known */
enum { MOST_SUMMED = 3, MOST_REPS = 4 }; /* parts of a sum, and how often one counts that is not all of the rest */
#define NO_BOUND INT64_MAX
#define FAR \
    (INT64_C(1) \
     << 31) /* numbers of a form are no larger: no launch counts beyond (src/range.c), and their products stay in 64 bits */

typedef struct lin { int n; int atom[MAX_TERMS]; int64_t coef[MAX_TERMS]; int64_t c; } lin;
/* ATOM_TRIPS: how often the loop of index `id` runs (of a lane, in `by`: the loop that it is dealt from), where no form tells. ATOM_ITER: how many
 * iterations of that loop, of `of` steps, which stands in `by` others of as many, are behind one. */
typedef enum atom_kind {
    ATOM_VALUE,
    ATOM_CEIL /* ceil(of / by) */,
    ATOM_POS /* max(0, of) */,
    ATOM_MUL /* of those of `of` */,
    ATOM_TRIPS,
    ATOM_ITER
} atom_kind;
typedef struct atom { atom_kind kind; uint32_t id; lin of; int64_t by; } atom;
typedef struct loop_form { const weiri_node *node; int lane; bool fixed, part /* of a nest */; int64_t trips; int cls; int64_t c; } loop_form;
/* What `of` never falls below, as found `depth` - 1 values deep; depth 0: nothing yet. */
typedef struct bound { lin of; int depth; int64_t low; } bound;
enum { BOUNDS = 256 };
typedef struct form_class {
    lin terms;                /* constant 0 */
    int64_t top;              /* largest constant of its loops */
    const weiri_node *node;
    int nparts, part[WEIRI_MAX_PARTS], rep[WEIRI_MAX_PARTS]; /* its count is a sum of other classes' */
    int kin;                  /* the first atom of all that are joined by atoms that classes share */
    int per, of, lead;        /* per > 1: the units of class `of`, so many at a time, and `lead` more */
    bool base;                /* others are read from it in groups */
    bool steady, per_cta;
    bool whole;   /* its count is never cut off at 0 */
    lin count;    /* max(0, terms + top) */
    int64_t plus; /* ... is so much more than the sum */
} form_class;

struct weiri_forms {
    const weir_kernel *k;
    weiri_arena *a;
    lin **memo, **own;        /* by value: its form, once asked; as the same of the tile that one is in, where it is about the one before */
    WEIRI_LIST(atom) atoms;
    WEIRI_LIST(loop_form) loops;
    WEIRI_LIST(form_class) classes;
    WEIRI_LIST(lin) bases;    /* forms that spans start at, but for a plain number */
    struct { weiri_span x, y; bool known, is; } dealt[WEIR_MAX_RANK]; /* by axis of the queue: what was asked last */
    uint64_t tried;           /* classes, as parts of sums; bounds of forms */
    bound *bounds;            /* BOUNDS of them, the newest at each place; NULL before the first minimum */
    bool deep;                /* minima and maxima are taken apart */
    bool apart;               /* ... and there are some */
};

/* ---- equality of values, over tasks ------------------------------------------------------------------------------------- */

static bool same_value(const weir_kernel *k, uint32_t x, uint32_t y, int depth);

/* A place of a tensor that the kernel does not write? */
static bool fixed_place(const weiri_value *v) {
    return (v->op == WEIR_OP_VIEW_AT || v->op == WEIR_OP_VIEW_FROM) && !v->res->tensor->out;
}

/* One such place: both loads give one number. */
static bool same_place(const weir_kernel *k, uint32_t x, uint32_t y, int depth) {
    const weiri_value *a = weiri_val(k, x), *b = weiri_val(k, y);
    if (a->op != b->op || a->res != b->res || !fixed_place(a)) return false;
    for (int i = 0; i < a->nargs; i++)
        if (!same_value(k, a->arg[i], b->arg[i], depth + 1)) return false;
    return true;
}

static bool commutes(weir_op op) {
    return op == WEIR_OP_ADD || op == WEIR_OP_MUL || op == WEIR_OP_MIN || op == WEIR_OP_MAX || op == WEIR_OP_EQ ||
           op == WEIR_OP_NE || op == WEIR_OP_AND || op == WEIR_OP_OR;
}

static bool same_bounds(const weir_kernel *k, const weiri_node *x, const weiri_node *y, int depth) {
    return same_value(k, x->start, y->start, depth) && same_value(k, x->stop, y->stop, depth) &&
           same_value(k, x->step, y->step, depth);
}

/* How many loops around it run through the same numbers? */
static int copies_around(const weir_kernel *k, const weiri_node *loop, int depth) {
    int n = 0;
    for (const weiri_node *out = loop->parent; out; out = out->parent)
        n += out->kind == NODE_LOOP && same_bounds(k, out, loop, depth);
    return n;
}

/* Indices of loops with one start, stop and step run through the same numbers; not at one time where one stands in the other, so that
 * an outer one is like an outer one. */
static bool same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y, int depth) {
    for (const weiri_node *out = x->parent; out; out = out->parent)
        if (out == y) return false;
    for (const weiri_node *out = y->parent; out; out = out->parent)
        if (out == x) return false;
    return same_bounds(k, x, y, depth) && copies_around(k, x, depth) == copies_around(k, y, depth);
}

static bool same_value(const weir_kernel *k, uint32_t x, uint32_t y, int depth) {
    if (x == y) return true;
    const weiri_value *a = weiri_val(k, x), *b = weiri_val(k, y);
    if (depth > DEEP || a->text > LARGE || b->text > LARGE) return false;
    if (a->op != b->op) return false;
    if (a->op == WEIR_OP_INDEX) return same_index(k, a->loop, b->loop, depth + 1);
    if (a->op == WEIR_OP_LOAD) return same_place(k, a->arg[0], b->arg[0], depth + 1);
    if (a->op < WEIR_OP_ADD || a->op > WEIR_OP_CAST) return false; /* leaves and other reads are equal by id alone */
    if (a->dtype != b->dtype) return false;
    bool same = true;
    for (int i = 0; i < a->nargs && same; i++) same = same_value(k, a->arg[i], b->arg[i], depth + 1);
    if (same || !commutes(a->op)) return same;
    return same_value(k, a->arg[0], b->arg[1], depth + 1) && same_value(k, a->arg[1], b->arg[0], depth + 1);
}

bool weiri_forms_same_loop(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    bool not;
    if (x->kind == NODE_LOOP && y->kind == NODE_LOOP) return same_bounds(k, x, y, 0);
    return x->kind == y->kind && weiri_forms_alike(k, x->of, y->of, &not) && not == (x->guard != y->guard);
}

bool weiri_forms_same(const weir_kernel *k, uint32_t x, uint32_t y) { return same_value(k, x, y, 0); }
bool weiri_forms_same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y) { return same_index(k, x, y, 0); }

/* ---- conditions --------------------------------------------------------------------------------------------------------- */

/* A comparison in one way of writing: op is LT, LE or EQ; `not`: its opposite. b 0: the whole number c. */
typedef struct comparison { weir_op op; uint32_t a, b; int64_t c; bool not; } comparison;

static bool is_whole(const weir_kernel *k, uint32_t id) {
    weir_dtype t = weiri_val(k, id)->dtype;
    return t == WEIR_I32 || t == WEIR_I64;
}

/* Without the negations around it. */
static uint32_t bare(const weir_kernel *k, uint32_t id, bool *not) {
    while (weiri_val(k, id)->op == WEIR_OP_NOT) {
        id = weiri_val(k, id)->arg[0];
        *not = !*not;
    }
    return id;
}

static bool comparison_of(const weir_kernel *k, uint32_t id, comparison *out) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op < WEIR_OP_LT || v->op > WEIR_OP_NE) return false;
    *out = (comparison){ .op = v->op, .a = v->arg[0], .b = v->arg[1] };
    if (v->op == WEIR_OP_NE) out->op = WEIR_OP_EQ, out->not = true;
    if (v->op == WEIR_OP_GT || v->op == WEIR_OP_GE)
        *out = (comparison){ .op = v->op == WEIR_OP_GT ? WEIR_OP_LT : WEIR_OP_LE, .a = v->arg[1], .b = v->arg[0] };
    if (!is_whole(k, v->arg[0]) || !is_whole(k, v->arg[1]))
        return true; /* floats may have no order, numbers without a sign another */
    if (out->op == WEIR_OP_LE) *out = (comparison){ .op = WEIR_OP_LT, .a = out->b, .b = out->a, .not = true };
    int64_t n;
    if (out->op == WEIR_OP_LT && weiri_value_const(k, out->a, &n) && n < INT32_MAX) /* n < b: not b < n + 1 */
        *out = (comparison){ .op = WEIR_OP_LT, .a = out->b, .c = n + 1, .not = !out->not };
    else if (weiri_value_const(k, out->b, &n)) out->b = 0, out->c = n;
    else if (out->op == WEIR_OP_EQ && weiri_value_const(k, out->a, &n)) out->a = out->b, out->b = 0, out->c = n;
    return true;
}

static bool same_truth(const weir_kernel *k, uint32_t x, bool notx, uint32_t y, bool noty, int depth) {
    x = bare(k, x, &notx), y = bare(k, y, &noty);
    if (x == y) return notx == noty;
    const weiri_value *v = weiri_val(k, x), *w = weiri_val(k, y);
    comparison p, q;
    if (comparison_of(k, x, &p) && comparison_of(k, y, &q)) {
        if (p.op != q.op || (notx != p.not) != (noty != q.not) || !p.b != !q.b) return false;
        if (!p.b) return p.c == q.c && same_value(k, p.a, q.a, 0);
        return (same_value(k, p.a, q.a, 0) && same_value(k, p.b, q.b, 0)) ||
               (p.op == WEIR_OP_EQ && same_value(k, p.a, q.b, 0) && same_value(k, p.b, q.a, 0));
    }
    if ((v->op == WEIR_OP_AND || v->op == WEIR_OP_OR) && (w->op == WEIR_OP_AND || w->op == WEIR_OP_OR) && depth < 5) {
        if ((v->op == w->op) != (notx == noty)) return false; /* not (a or b) is not a and not b */
        for (int turn = 0; turn < 2; turn++)
            if (same_truth(k, v->arg[0], notx, w->arg[turn], noty, depth + 1) &&
                same_truth(k, v->arg[1], notx, w->arg[1 - turn], noty, depth + 1))
                return true;
        return false;
    }
    return notx == noty && same_value(k, x, y, 0);
}

bool weiri_forms_alike(const weir_kernel *k, uint32_t x, uint32_t y, bool *not) {
    *not = false;
    if (same_truth(k, x, false, y, false, 0)) return true;
    *not = same_truth(k, x, true, y, false, 0);
    return *not;
}

static bool same_terms(const lin *x, const lin *y) {
    return x->n == y->n && !memcmp(x->atom, y->atom, sizeof(int) * (size_t)x->n) &&
           !memcmp(x->coef, y->coef, sizeof(int64_t) * (size_t)x->n);
}

static int atom_for(weiri_forms *f, const atom *x) {
    for (int i = 0; i < f->atoms.n; i++) {
        const atom *y = &f->atoms.v[i];
        if (x->kind != y->kind || x->by != y->by) continue;
        if (x->kind != ATOM_VALUE && x->kind != ATOM_TRIPS ? x->of.c == y->of.c && same_terms(&x->of, &y->of)
            : x->kind == ATOM_TRIPS ? same_bounds(f->k, weiri_val(f->k, x->id)->loop, weiri_val(f->k, y->id)->loop, 0)
                                    : same_value(f->k, x->id, y->id, 0))
            return i;
    }
    const weir_op op = x->kind == ATOM_VALUE ? weiri_val(f->k, x->id)->op : WEIR_OP_INT;
    if ((x->kind == ATOM_POS || op == WEIR_OP_MIN || op == WEIR_OP_MAX) && !f->bounds)
        f->bounds = WEIRI_NEW_N(f->a, bound, BOUNDS);
    WEIRI_PUSH(f->a, f->atoms, *x);
    return f->atoms.n - 1;
}

/* ---- linear forms ------------------------------------------------------------------------------------------------------- */

static bool near(int64_t x) { return x <= FAR && x >= -FAR; }

/* x += m * y, |m| <= FAR; false when it has too many terms or leaves FAR. Atoms stay sorted. */
static bool add(lin *x, const lin *y, int64_t m) {
    lin r = { .c = x->c + m * y->c };
    if (!near(r.c)) return false;
    for (int i = 0, j = 0; i < x->n || j < y->n;) {
        bool left = i < x->n && (j >= y->n || x->atom[i] <= y->atom[j]),
             right = j < y->n && (i >= x->n || y->atom[j] <= x->atom[i]);
        int at = left ? x->atom[i] : y->atom[j];
        int64_t coef = (left ? x->coef[i] : 0) + (right ? m * y->coef[j] : 0);
        if (left) i++;
        if (right) j++;
        if (!coef) continue;
        if (r.n == MAX_TERMS || !near(coef)) return false;
        r.atom[r.n] = at;
        r.coef[r.n++] = coef;
    }
    *x = r;
    return true;
}

static lin negative(const lin *x) {
    lin r = *x;
    r.c = -r.c;
    for (int i = 0; i < r.n; i++) r.coef[i] = -r.coef[i];
    return r;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

static int64_t low(weiri_forms *f, const lin *x, int depth);
static int64_t high(weiri_forms *f, const lin *x, int depth);

static lin lin_of(weiri_forms *f, uint32_t id, int depth);
static lin pos_of(weiri_forms *f, const lin *x);
static lin single(weiri_forms *f, const atom *a) { return (lin){ .n = 1, .atom = { atom_for(f, a) }, .coef = { 1 } }; }

/* The product of two atoms, each of which may be one of others: of all, in order, an atom as often as it is a factor. false: there are too many. */
static bool product_of(weiri_forms *f, int x, int y, lin *out) {
    const int both[] = { x, y };
    atom a = { .kind = ATOM_MUL };
    for (int i = 0; i < 2; i++) {
        const atom *b = &f->atoms.v[both[i]];
        const int n = b->kind == ATOM_MUL ? b->of.n : 1;
        for (int q = 0; q < n; q++) {
            const int factor = b->kind == ATOM_MUL ? b->of.atom[q] : both[i];
            if (a.of.n == MAX_TERMS) return false;
            int at = a.of.n++;
            for (; at > 0 && a.of.atom[at - 1] > factor; at--) a.of.atom[at] = a.of.atom[at - 1];
            a.of.atom[at] = factor;
            a.of.coef[at] = 1;
        }
    }
    for (int i = 0; i < a.of.n; i++) a.of.coef[i] = 1;
    *out = single(f, &a);
    return true;
}

/* x * y, multiplied out; false: there are too many terms. */
static bool times_of(weiri_forms *f, const lin *x, const lin *y, lin *out) {
    *out = (lin){ 0 };
    if (!near(x->c) || !near(y->c) || !add(out, y, x->c)) return false;
    lin rest = *x;
    rest.c = 0;
    if (!add(out, &rest, y->c)) return false;
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < y->n; j++) {
            lin one;
            if (!near(x->coef[i] * y->coef[j]) || !product_of(f, x->atom[i], y->atom[j], &one) ||
                !add(out, &one, x->coef[i] * y->coef[j]))
                return false;
        }
    return true;
}

/* x without the atom that is its i-th; *coef: that one's. */
static lin without_term(const lin *x, int i, int64_t *coef) {
    lin r = *x;
    *coef = x->coef[i];
    r.n--;
    for (; i < r.n; i++) r.atom[i] = x->atom[i + 1], r.coef[i] = x->coef[i + 1];
    return r;
}

static bool is_kind(const weiri_forms *f, const lin *x, int i, atom_kind kind) { return f->atoms.v[x->atom[i]].kind == kind; }

/* max(0, x) where that is a sum of others; false: it is none. */
static bool pos_by_rule(weiri_forms *f, const lin *x, lin *out) {
    if (low(f, x, 0) >= 0) return *out = *x, true;
    if (high(f, x, 0) <= 0) return *out = (lin){ 0 }, true;
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        if (!is_kind(f, x, i, ATOM_POS)) continue;
        const lin rest = without_term(x, i, &coef), of = f->atoms.v[x->atom[i]].of;
        lin p = rest;
        if (coef == 1 && high(f, &rest, 0) <= 0 && add(&p, &of, 1))
            return *out = pos_of(f, &p), true; /* max(0, max(0, of) + rest) */
        if (coef != -1 || !add(&p, &of, -1) || low(f, &p, 0) < 0) continue;
        *out = pos_of(f, &rest); /* max(0, rest - max(0, of)), and of <= rest */
        const lin one = { .n = 1, .atom = { x->atom[i] }, .coef = { 1 } };
        if (add(out, &one, -1)) return true;
    }
    return false;
}

/* max(0, x). All minima and maxima are written with it: max(a, b) = a + max(0, b - a), which of a and b stands first is one way only. */
static lin pos_of(weiri_forms *f, const lin *x) {
    lin out, neg = negative(x);
    if (!x->n) return (lin){ .c = x->c > 0 ? x->c : 0 };
    if (pos_by_rule(f, x, &out)) return out;
    if (pos_by_rule(f, &neg, &out) && add(&out, x, 1)) return out; /* max(0, x) = x + max(0, -x) */
    const bool turned = x->coef[0] < 0;
    atom a = { .kind = ATOM_POS, .of = turned ? neg : *x };
    out = single(f, &a);
    if (turned && !add(&out, x, 1)) {
        a.of = *x;
        out = single(f, &a);
    }
    return out;
}

static lin ceil_of(weiri_forms *f, const lin *x, int64_t m);

/* Of x / m, rounded up, where one of its terms is a multiple of max(0, of): the larger, or smaller, of two quotients; false: it is none. */
static bool ceil_of_pos(weiri_forms *f, const lin *x, int64_t m, lin *out) {
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        if (!is_kind(f, x, i, ATOM_POS)) continue;
        const lin rest = without_term(x, i, &coef);
        lin p = rest;
        if (!add(&p, &f->atoms.v[x->atom[i]].of, coef)) continue;
        const lin q = ceil_of(f, &rest, m);
        p = ceil_of(f, &p, m);
        lin d = p; /* the larger of the two, q + max(0, p - q), or the smaller */
        if (!add(&d, &q, -1)) continue;
        if (coef < 0) d = negative(&d);
        d = pos_of(f, &d);
        *out = q;
        if (add(out, &d, coef < 0 ? -1 : 1)) return true;
    }
    return false;
}

/* ceil(x / m), m > 0; multiples of m go outside. */
static lin ceil_of(weiri_forms *f, const lin *x, int64_t m) {
    lin out = { 0 }, rest = { .c = x->c }, sum;
    for (int i = 0; i < x->n; i++) {
        if (x->coef[i] % m == 0) out.atom[out.n] = x->atom[i], out.coef[out.n++] = x->coef[i] / m;
        else rest.atom[rest.n] = x->atom[i], rest.coef[rest.n++] = x->coef[i];
    }
    /* (m y + rest) / m is y, where bounds keep the rest to one quotient */
    const int64_t lo = low(f, &rest, 0), hi = high(f, &rest, 0);
    if (lo != -NO_BOUND && hi != NO_BOUND && -floor_div(-lo, m) == -floor_div(-hi, m)) {
        out.c = -floor_div(-hi, m);
        return out;
    }
    lin q;
    if (!ceil_of_pos(f, &rest, m, &q)) {
        const atom *of = rest.n == 1 && rest.coef[0] == 1 ? &f->atoms.v[rest.atom[0]] : NULL;
        atom a = { .kind = ATOM_CEIL, .of = rest, .by = m };
        if (of && of->kind == ATOM_CEIL && of->by * m <= FAR && near(rest.c * of->by)) { /* a quotient's quotient */
            a.by = of->by * m;
            a.of = of->of;
            a.of.c += rest.c * of->by;
        }
        const int64_t c = floor_div(a.of.c, a.by);
        a.of.c -= c * a.by;
        q = single(f, &a);
        q.c = c;
    }
    sum = out;
    if (add(&sum, &q, 1)) return sum;
    atom a = { .kind = ATOM_CEIL, .of = *x, .by = m }; /* too many terms outside */
    return single(f, &a);
}

/* How often the loop runs: max(0, *out) times; false: it steps by what only the launch knows. */
static bool steps_of(weiri_forms *f, const weiri_node *loop, lin *out) {
    int64_t step;
    lin from = lin_of(f, loop->start, 0);
    if (!weiri_value_const(f->k, loop->step, &step) || !near(step)) return false;
    *out = lin_of(f, loop->stop, 0);
    if (!add(out, &from, -1)) return false;
    if (step < 0) *out = negative(out), step = -step;
    *out = ceil_of(f, out, step); /* of 32 bits, and not 0: capture.c */
    return true;
}

/* How many of its iterations are behind one: the same number in loops that run as often, an outer one being like an outer one. */
static bool iteration_of(weiri_forms *f, const weiri_node *loop, lin *out) {
    atom a = { .kind = ATOM_ITER, .id = loop->index };
    if (!steps_of(f, loop, &a.of)) return false;
    for (const weiri_node *n = loop->parent; n; n = n->parent) {
        lin around;
        a.by += n->kind == NODE_LOOP && steps_of(f, n, &around) && around.c == a.of.c && same_terms(&around, &a.of);
    }
    *out = single(f, &a);
    return true;
}

/* Known at launch, which refuses counts that leave 32 bits (src/range.c): dims, scalars, coordinates, indices and whole numbers made of
 * them. Not what memory, bodies or floats give. */
static bool at_launch(const weir_kernel *k, uint32_t id, int depth) {
    const weiri_value *v = weiri_val(k, id);
    if (weiri_value_is_float(v->dtype) || depth > DEEP) return false;
    if (v->op < WEIR_OP_RETURN) return true; /* ORDER OP: leaves, all but what bodies and registers give */
    if (v->op < WEIR_OP_ADD || v->op > WEIR_OP_CAST) return false;
    for (int i = 0; i < v->nargs; i++)
        if (!at_launch(k, v->arg[i], depth + 1)) return false;
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
    return at_launch(k, v->arg[0], 0);
}

/* May the operation take a number below 0 for a large one? */
static bool wraps(weiri_forms *f, uint32_t id, int depth) {
    if (weiri_value_signless(f->k, id) == WEIR_DTYPE_NONE) return false;
    const weiri_value *v = weiri_val(f->k, id);
    for (int i = 0; i < 2; i++) {
        lin x = lin_of(f, v->arg[i], depth);
        if (low(f, &x, depth) < 0) return true;
    }
    return false;
}

/* The form of a whole number; what floats, narrow casts and the like give is one atom, the same for the same expression. */
static lin make_lin(weiri_forms *f, uint32_t id, int depth) {
    const weiri_value *v = weiri_val(f->k, id);
    int64_t n;
    atom self = { .id = id };
    lin x, y;
    if (weiri_value_const(f->k, id, &n) && near(n)) return (lin){ .c = n };
    if (depth > DEEP || v->text > LARGE) return single(f, &self);
    switch (v->op) {
    case WEIR_OP_ADD:
    case WEIR_OP_SUB:
        x = lin_of(f, v->arg[0], depth + 1);
        y = lin_of(f, v->arg[1], depth + 1);
        if (add(&x, &y, v->op == WEIR_OP_ADD ? 1 : -1)) return x;
        break;
    case WEIR_OP_NEG:
        x = lin_of(f, v->arg[0], depth + 1);
        return negative(&x);
    case WEIR_OP_MUL:
        x = lin_of(f, v->arg[0], depth + 1);
        y = lin_of(f, v->arg[1], depth + 1);
        {
            lin all;
            if (times_of(f, &x, &y, &all)) return all;
        }
        break;
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_IDIV:
    case WEIR_OP_MOD:
        if (!weiri_value_const(f->k, v->arg[1], &n) || n <= 0 || n > FAR || wraps(f, id, depth + 1)) break;
        x = lin_of(f, v->arg[0], depth + 1);
        y = x;
        if (v->op != WEIR_OP_CEIL_DIV) x.c -= n - 1; /* floor(x / n) = ceil((x - n + 1) / n) */
        x = ceil_of(f, &x, n);
        if (v->op != WEIR_OP_MOD) return x;
        if (add(&y, &x, -n)) return y; /* x mod n = x - n * floor(x / n) */
        break;
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
        if (!f->deep || wraps(f, id, depth + 1)) break;
        f->apart = true;
        x = lin_of(f, v->arg[0], depth + 1);
        y = lin_of(f, v->arg[1], depth + 1);
        if (v->op == WEIR_OP_MAX) x = negative(&x), y = negative(&y);
        {
            lin d = x; /* min(x, y) = x - max(0, x - y) */
            if (!add(&d, &y, -1)) break;
            d = pos_of(f, &d);
            if (add(&x, &d, -1)) return v->op == WEIR_OP_MAX ? negative(&x) : x;
        }
        break;
    case WEIR_OP_INDEX:
        if (!weiri_value_const(f->k, v->loop->step, &n) || !near(n) || !iteration_of(f, v->loop, &y)) break;
        x = lin_of(f, v->loop->start, depth + 1);
        if (add(&x, &y, n)) return x;
        break;
    case WEIR_OP_CAST:
        if (!keeps(f->k, v)) break;
        x = lin_of(f, v->arg[0], depth + 1);
        if (v->dtype != WEIR_I64 || weiri_val(f->k, v->arg[0])->dtype != WEIR_U32 || low(f, &x, 0) >= 0) return x;
        break; /* of a number below 0 that has wrapped, 64 bits keep what it has become */
    default: break;
    }
    return single(f, &self);
}

static lin lin_of(weiri_forms *f, uint32_t id, int depth) {
    if (!f->memo[id]) {
        lin x = make_lin(f, id, depth);
        f->memo[id] = WEIRI_NEW(f->a, lin);
        *f->memo[id] = x;
    }
    return *f->memo[id];
}

/* ---- bounds ------------------------------------------------------------------------------------------------------------- */

static int64_t high(weiri_forms *f, const lin *x, int depth) {
    lin neg = negative(x);
    int64_t v = low(f, &neg, depth);
    return v == -NO_BOUND ? NO_BOUND : -v;
}

/* x with its term at `at` replaced by coef * v */
static bool swap_in(const lin *x, int at, const lin *v, lin *out) {
    int64_t coef;
    *out = without_term(x, at, &coef);
    return add(out, v, coef);
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
    *out = lin_of(f, v->res->extent[v->i].id, 0);
    out->c += split_by(&f->k->cluster, v) - 2;
    return true;
}

/* Bound of one atom alone: lowest, or highest if `top`. */
static int64_t atom_bound(weiri_forms *f, int at, bool top, int depth) {
    atom a = f->atoms.v[at];
    if (a.kind == ATOM_TRIPS) return top ? NO_BOUND : 0;
    if (a.kind == ATOM_ITER) {
        int64_t v = top ? high(f, &a.of, depth) : 1;
        return v == NO_BOUND ? v : v - 1;
    }
    if (a.kind == ATOM_MUL) { /* of numbers that are never below 0 */
        double all = 1;
        int64_t v = 1;
        for (int i = 0; i < a.of.n; i++) {
            const int64_t least = atom_bound(f, a.of.atom[i], false, depth),
                          b = top ? atom_bound(f, a.of.atom[i], true, depth) : least;
            all *= (double)b;
            if (least < 0 || b == NO_BOUND || all > 1e17) return top ? NO_BOUND : least < 0 ? -NO_BOUND : 0;
            v *= b;
        }
        return v;
    }
    if (a.kind == ATOM_POS) {
        int64_t v = top ? high(f, &a.of, depth) : low(f, &a.of, depth);
        return v < 0 ? 0 : v;
    }
    if (a.kind == ATOM_CEIL) {
        int64_t v = top ? high(f, &a.of, depth) : low(f, &a.of, depth);
        return v == NO_BOUND || v == -NO_BOUND ? v : -floor_div(-v, a.by);
    }
    const weiri_value *v = weiri_val(f->k, a.id);
    switch (v->op) {
    case WEIR_OP_SCALAR: return top ? NO_BOUND : weiri_value_is_unsigned(v->dtype) ? 0 : -NO_BOUND;
    case WEIR_OP_DIM: return top ? (v->max > 0 ? v->max : NO_BOUND) : v->min > 0 ? v->min : 0;
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
    case WEIR_OP_INDEX: { /* from its start on, by steps that are known */
        int64_t step;
        if (!weiri_value_const(f->k, v->loop->step, &step) || step <= 0) return top ? NO_BOUND : -NO_BOUND;
        lin end = lin_of(f, top ? v->loop->stop : v->loop->start, 0);
        int64_t b = top ? high(f, &end, depth) : low(f, &end, depth);
        return top && b != NO_BOUND ? b - 1 : b;
    }
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: {
        if (wraps(f, a.id, depth)) return top ? NO_BOUND : -NO_BOUND;
        lin x = lin_of(f, v->arg[0], 0), y = lin_of(f, v->arg[1], 0);
        int64_t p = top ? high(f, &x, depth) : low(f, &x, depth), q = top ? high(f, &y, depth) : low(f, &y, depth);
        return v->op == WEIR_OP_MIN ? (p < q ? p : q) : p > q ? p : q;
    }
    default: return top ? NO_BOUND : -NO_BOUND;
    }
}

/* A number that x never falls below, by what a quotient in it, rounded up, cannot differ from: the number divided, or another quotient. */
static int64_t low_of_ceil(weiri_forms *f, const lin *x, int at, int depth) {
    const atom a = f->atoms.v[x->atom[at]];
    int64_t best = -NO_BOUND;
    if (a.kind != ATOM_CEIL) return best;
    const int64_t k = x->coef[at];
    lin rest;
    const lin one = { .n = 1, .atom = { x->atom[at] }, .coef = { 1 } };
    const int64_t times = a.by / gcd(k, a.by); /* of <= by * ceil(of / by) <= of + by - 1 */
    lin of = a.of;
    if (k < 0) of.c += a.by - 1;
    rest = (lin){ 0 };
    if (near(times) && add(&rest, x, times) && add(&rest, &one, -k * times) && add(&rest, &of, k * times / a.by) &&
        rest.n <= x->n) {
        const int64_t l = low(f, &rest, depth + 1);
        if (l != -NO_BOUND) best = -floor_div(-l, times);
    }
    for (int i = 0; i < x->n && k > 0; i++) {
        const atom b = f->atoms.v[x->atom[i]];
        if (b.kind != ATOM_CEIL || b.by != a.by || x->coef[i] >= 0 || !same_terms(&a.of, &b.of)) continue;
        const int64_t both = k < -x->coef[i] ? k : -x->coef[i];
        lin other = { .n = 1, .atom = { x->atom[i] }, .coef = { 1 } };
        rest = *x;
        add(&rest, &one, -both); /* both come nearer to 0 */
        add(&rest, &other, both);
        rest.c += both * floor_div(a.of.c - b.of.c, a.by);
        const int64_t l = low(f, &rest, depth + 1);
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
    if (a.kind != ATOM_VALUE || (v->op != WEIR_OP_MIN && !*max) || wraps(f, a.id, depth + 1)) return false;
    *x = lin_of(f, v->arg[0], 0), *y = lin_of(f, v->arg[1], 0);
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
        const int64_t p = low(f, &l, depth + 1), q = low(f, &r, depth + 1);
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
        const int64_t b = low(f, &l, depth + 1);
        if (b > best) best = b;
    }
    return best;
}

/* A number that x never falls below. Minima of minima come to the same forms over and over. */
static int64_t low(weiri_forms *f, const lin *x, int depth) {
    if (depth > 6 || (f->deep && f->tried > MOST_TRIED)) return -NO_BOUND;
    uint64_t at = (uint64_t)x->c + (uint64_t)depth;
    for (int i = 0; i < x->n; i++) at = 31 * at + 7 * (uint64_t)x->atom[i] + (uint64_t)x->coef[i];
    const bound *b = f->bounds ? &f->bounds[at % BOUNDS] : NULL;
    if (b && b->depth == depth + 1 && b->of.c == x->c && same_terms(&b->of, x)) return b->low;
    const int64_t found = find_low(f, x, depth);
    if (f->bounds) f->bounds[at % BOUNDS] = (bound){ .of = *x, .depth = depth + 1, .low = found };
    return found;
}

/* ---- spans of tensors --------------------------------------------------------------------------------------------------- */

/* May the value be another number at another time in one tile of one CTA; `ctas`: or in another CTA? */
static bool value_wanders(const weiri_forms *f, uint32_t id, bool ctas) {
    bool tile, cta;
    return !weiri_forms_settled(f->k, id, &tile, &cta) || (ctas && cta);
}

static bool wanders(const weiri_forms *f, int at, bool ctas) {
    const atom *a = &f->atoms.v[at];
    bool w = false;
    if (a->kind == ATOM_VALUE) return value_wanders(f, a->id, ctas);
    if (a->kind == ATOM_TRIPS) {
        const weiri_node *loop = weiri_val(f->k, a->id)->loop;
        const uint32_t by[] = { loop->start, loop->stop, loop->step };
        for (int i = 0; i < 3; i++) w = w || value_wanders(f, by[i], ctas);
        return w;
    }
    w = a->kind == ATOM_ITER;
    for (int i = 0; i < a->of.n && !w; i++) w = wanders(f, a->of.atom[i], ctas);
    return w;
}

/* Of a span of a tile that a task had before: the same function of the coordinates as one of the tile it is in. false: it has too many terms. */
static bool of_own_tile(weiri_forms *f, lin *x) {
    lin r = { .c = x->c };
    for (int i = 0; i < x->n; i++) {
        atom a = f->atoms.v[x->atom[i]];
        const weiri_value *v = weiri_val(f->k, a.id);
        if (v->op == WEIR_OP_BEFORE) a.id = v->loop->of_tiles->coord[v->i];
        lin one = { .c = 1 };
        for (int q = 0; a.kind == ATOM_MUL && q < a.of.n; q++) {
            lin factor = { .n = 1, .atom = { a.of.atom[q] }, .coef = { 1 } }, all;
            if (!of_own_tile(f, &factor) || !times_of(f, &one, &factor, &all)) return false;
            one = all;
        }
        if ((a.kind == ATOM_CEIL || a.kind == ATOM_POS) && !of_own_tile(f, &a.of)) return false;
        if (a.kind != ATOM_MUL)
            one = a.kind == ATOM_CEIL ? ceil_of(f, &a.of, a.by) : a.kind == ATOM_POS ? pos_of(f, &a.of) : single(f, &a);
        if (!add(&r, &one, x->coef[i])) return false;
    }
    *x = r;
    return true;
}

static bool start_of(weiri_forms *f, const weiri_span *x, lin *out) {
    *out = (lin){ .c = x->plus };
    lin v = { 0 };
    if (x->value) v = lin_of(f, x->value, 0);
    if (weiri_val(f->k, x->value)->before) {
        lin **own = &f->own[x->value];
        if (!*own) {
            if (!of_own_tile(f, &v)) return false;
            *own = WEIRI_NEW(f->a, lin);
            **own = v;
        }
        v = **own;
    }
    return add(out, &v, x->by);
}

/* The distance of two spans is *at and any multiple of *by (0: it alone); false: nothing is known. */
static bool distance(weiri_forms *f, const weiri_span *x, const weiri_span *y, bool ctas, int64_t *at, int64_t *by) {
    lin a, b, d;
    if (!start_of(f, x, &a) || !start_of(f, y, &b)) return false;
    d = a;
    if (!add(&d, &b, -1)) return false;
    int64_t g = 0;
    for (int i = 0; i < a.n; i++)
        if (wanders(f, a.atom[i], ctas)) g = gcd(g, a.coef[i]);
    for (int i = 0; i < b.n; i++)
        if (wanders(f, b.atom[i], ctas)) g = gcd(g, b.coef[i]);
    for (int i = 0; i < d.n; i++) g = gcd(g, d.coef[i]);
    *at = d.c;
    *by = g;
    return true;
}

int weiri_forms_base(weiri_forms *f, const weiri_span *x, int64_t *at) {
    lin a;
    if (!start_of(f, x, &a)) return -1;
    for (int i = 0; i < a.n; i++)
        if (wanders(f, a.atom[i], true)) return -1;
    *at = a.c;
    for (int i = 0; i < f->bases.n; i++)
        if (same_terms(&f->bases.v[i], &a)) return i;
    WEIRI_PUSH(f->a, f->bases, a);
    return f->bases.n - 1;
}

weiri_meet weiri_forms_meet(weiri_forms *f, const weiri_span *x, const weiri_span *y, bool ctas) {
    int64_t at, by;
    if (!distance(f, x, y, ctas, &at, &by)) return SPANS_MAY;
    if (!by) return at < y->extent && -at < x->extent ? SPANS_MEET : SPANS_APART;
    int64_t r = at - floor_div(at, by) * by;
    return r < y->extent || by - r < x->extent ? SPANS_MAY : SPANS_APART;
}

bool weiri_forms_aligned(weiri_forms *f, const weiri_span *x, const weiri_span *y) {
    int64_t at, by;
    if (x->extent != y->extent || !distance(f, x, y, false, &at, &by)) return false;
    return by ? at % by == 0 && by >= x->extent : at == 0;
}

/* The atom of a loop's iterations. */
static bool index_of(weiri_forms *f, const weiri_node *loop, int *atom) {
    lin i;
    if (!iteration_of(f, loop, &i)) return false;
    *atom = i.atom[0];
    return true;
}

/* Loops around a place, and which of their iterations it is known to tell apart. */
typedef struct around {
    int n, index[WEIRI_MAX_NEST];
    bool told[WEIRI_MAX_NEST];
} around;

/* Does a step of loop `l` move the span past itself, whatever all else does but the loops told apart? */
static bool told_by(weiri_forms *f, const around *o, int l, const weiri_span *x) {
    lin a, rest = { 0 };
    int64_t coef = 0;
    if (!start_of(f, x, &a)) return false;
    for (int i = 0; i < a.n; i++) {
        bool same = !wanders(f, a.atom[i], false);
        for (int q = 0; q < o->n; q++) same = same || (o->told[q] && o->index[q] == a.atom[i]);
        if (a.atom[i] == o->index[l]) coef = a.coef[i] < 0 ? -a.coef[i] : a.coef[i];
        else if (!same) rest.atom[rest.n] = a.atom[i], rest.coef[rest.n++] = a.coef[i];
    }
    int64_t lo = low(f, &rest, 0), hi = high(f, &rest, 0);
    return lo != -NO_BOUND && hi != NO_BOUND && coef - (hi - lo) >= x->extent;
}

bool weiri_forms_moved(weiri_forms *f, const weiri_span *x, int rank, const weiri_node *node) {
    around o = { 0 };
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent) {
        if (n->kind != NODE_LOOP) continue;
        if (!index_of(f, n, &o.index[o.n++])) return false;
    }
    int told = 0;
    for (int before = -1; before < told;) { /* of what some tell apart the rest is told apart with them alike */
        before = told;
        for (int l = 0; l < o.n; l++)
            for (int i = 0; i < rank && !o.told[l]; i++)
                if (told_by(f, &o, l, &x[i])) o.told[l] = true, told++;
    }
    return told == o.n;
}

/* The atom's coefficient in a form in which no other coordinate of a queue stands; 0: there is none such. The rest's bounds. */
static int64_t dealt_by(weiri_forms *f, const lin *x, const weir_res *queue, int axis, int64_t *lo, int64_t *hi) {
    lin rest = { .c = x->c };
    int64_t coef = 0;
    for (int i = 0; i < x->n; i++) {
        const atom *a = &f->atoms.v[x->atom[i]];
        const weiri_value *v =
            a->kind == ATOM_VALUE || a->kind == ATOM_ITER || a->kind == ATOM_TRIPS ? weiri_val(f->k, a->id) : NULL;
        if (v && v->op == WEIR_OP_COORD && v->res == queue && v->i == axis) {
            coef = x->coef[i];
            continue;
        }
        bool tile = false, cta = false;
        if (!v) tile = true;
        else weiri_forms_varies(f->k, a->id, &tile, &cta);
        if (tile) return 0;
        rest.atom[rest.n] = x->atom[i];
        rest.coef[rest.n++] = x->coef[i];
    }
    *lo = low(f, &rest, 0);
    *hi = high(f, &rest, 0);
    return *lo == -NO_BOUND || *hi == NO_BOUND ? 0 : coef;
}

static bool find_dealt(weiri_forms *f, const weiri_span *x, const weiri_span *y, const weir_res *queue, int axis) {
    lin a, b;
    int64_t alo, ahi, blo, bhi;
    if (!start_of(f, x, &a) || !start_of(f, y, &b)) return false;
    int64_t k = dealt_by(f, &a, queue, axis, &alo, &ahi);
    if (!k || dealt_by(f, &b, queue, axis, &blo, &bhi) != k) return false;
    if (k < 0) k = -k;
    /* a step of k away, whatever the rest */
    return ahi - blo - k <= -x->extent && alo - bhi + k >= y->extent;
}

static bool same_span(const weiri_span *x, const weiri_span *y) {
    return x->value == y->value && x->by == y->by && x->plus == y->plus && x->extent == y->extent;
}

bool weiri_forms_dealt(weiri_forms *f, const weiri_span *x, const weiri_span *y, const weir_res *queue, int axis) {
    if (!f->dealt[axis].known || !same_span(&f->dealt[axis].x, x) || !same_span(&f->dealt[axis].y, y)) {
        f->dealt[axis].is = find_dealt(f, x, y, queue, axis);
        f->dealt[axis].x = *x, f->dealt[axis].y = *y, f->dealt[axis].known = true;
    }
    return f->dealt[axis].is;
}

/* ---- what does not come together ---------------------------------------------------------------------------------------- */

/* What is at least 0 where something stands. */
enum { MOST_FACTS = 32 };
typedef struct facts { int n; lin v[MOST_FACTS]; } facts;

static void note(facts *all, const lin *x) {
    if (all->n < MOST_FACTS) all->v[all->n++] = *x;
}

/* That b + plus is at least a. */
static void at_least(facts *all, const lin *b, int64_t plus, const lin *a) {
    lin x = *b;
    if (!add(&x, a, -1)) return;
    x.c += plus;
    note(all, &x);
}

/* Does the number stay what a form says? A launch looks at the bounds of loops, not at what else is computed in 32 bits. */
static bool stays(const weiri_forms *f, uint32_t id) {
    const weiri_value *v = weiri_val(f->k, id);
    bool is = v->op == WEIR_OP_INT || v->op == WEIR_OP_INDEX || v->op == WEIR_OP_DIM || v->op == WEIR_OP_COORD ||
              v->op == WEIR_OP_LOAD;
    for (int i = 0; i < f->loops.n && !is; i++) {
        const weiri_node *n = f->loops.v[i].node;
        is = n->kind == NODE_LOOP && (same_value(f->k, n->start, id, 0) || same_value(f->k, n->stop, id, 0));
    }
    return is;
}

/* The comparison of whole numbers that are what their forms say. */
static bool lasting(const weiri_forms *f, uint32_t id, comparison *c) {
    if (!comparison_of(f->k, id, c) || !is_whole(f->k, c->a) || !stays(f, c->a)) return false;
    return !c->b || (is_whole(f->k, c->b) && stays(f, c->b));
}

static void note_condition(weiri_forms *f, facts *all, uint32_t id, bool truth, int depth) {
    bool not = false;
    id = bare(f->k, id, &not);
    truth = truth != not;
    const weiri_value *v = weiri_val(f->k, id);
    if (v->op == (truth ? WEIR_OP_AND : WEIR_OP_OR) && depth < 5) {
        for (int i = 0; i < 2; i++) note_condition(f, all, v->arg[i], truth, depth + 1);
        return;
    }
    comparison c;
    if (!lasting(f, id, &c)) return;
    truth = truth != c.not;
    const lin a = lin_of(f, c.a, 0), b = c.b ? lin_of(f, c.b, 0) : (lin){ .c = c.c };
    const int strict = c.op == WEIR_OP_LT;
    if (truth) at_least(all, &b, -strict, &a);
    if (truth ? c.op == WEIR_OP_EQ : c.op != WEIR_OP_EQ) at_least(all, &a, truth ? 0 : strict - 1, &b);
}

static void note_loop(weiri_forms *f, facts *all, const weiri_node *n) {
    int64_t step;
    if (!weiri_value_const(f->k, n->step, &step)) return;
    const lin i = lin_of(f, n->index, 0), from = lin_of(f, n->start, 0), to = lin_of(f, n->stop, 0);
    at_least(all, step > 0 ? &i : &from, 0, step > 0 ? &from : &i);
    at_least(all, step > 0 ? &to : &i, -1, step > 0 ? &i : &to);
}

/* Two facts that hold at one time, so that an index between them falls out. */
static void without(facts *all, int index) {
    const int n = all->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int64_t x = 0, y = 0;
            for (int q = 0; q < all->v[i].n; q++) x = all->v[i].atom[q] == index ? all->v[i].coef[q] : x;
            for (int q = 0; q < all->v[j].n; q++) y = all->v[j].atom[q] == index ? all->v[j].coef[q] : y;
            lin sum = all->v[i];
            if (x > 0 && x + y == 0 && add(&sum, &all->v[j], 1)) note(all, &sum);
        }
}

/* What loops and conditions around the node say. */
static void collect(weiri_forms *f, const weiri_node *node, facts *all) {
    all->n = 0;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent) {
        if (n->kind == NODE_LOOP) note_loop(f, all, n);
        if (weiri_is_condition(n) && n->of)
            note_condition(f, all, n->of, n->guard == WEIR_GUARD_TRUE, 0);
    }
}

static bool one_a_turn(weiri_forms *f, const lin *x) {
    for (int i = 0; i < x->n; i++)
        if (wanders(f, x->atom[i], false)) return false;
    return true;
}

/* Is the index one number in all of a turn? */
static bool pinned(weiri_forms *f, const facts *all, int index) {
    for (int i = 0; i < all->n; i++)
        for (int j = 0; j < i; j++) {
            lin sum = all->v[i], rest = { 0 };
            int64_t coef = 0;
            for (int q = 0; q < sum.n; q++)
                if (sum.atom[q] == index) coef = sum.coef[q];
                else rest.atom[rest.n] = sum.atom[q], rest.coef[rest.n++] = sum.coef[q];
            if (coef && one_a_turn(f, &rest) && add(&sum, &all->v[j], 1) && !sum.n && !sum.c) return true; /* at least that, and at most */
        }
    return false;
}

bool weiri_forms_once(weiri_forms *f, const weiri_node *node) {
    facts all;
    collect(f, node, &all);
    int i;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP && (!index_of(f, n, &i) || !pinned(f, &all, i))) return false;
    return true;
}

/* What they say of numbers that are one for a turn. */
static void facts_at(weiri_forms *f, const weiri_node *node, facts *all) {
    collect(f, node, all);
    int i;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP && index_of(f, n, &i)) without(all, i);
    int kept = 0;
    for (i = 0; i < all->n; i++)
        if (one_a_turn(f, &all->v[i])) all->v[kept++] = all->v[i];
    all->n = kept;
}

/* Does x + m * y come to a number? Left in x. */
static bool cancels(lin *x, const lin *y, int64_t m) { return add(x, y, m) && !x->n; }

/* Is x = y + a number, or x = a number - y? Left in *c; *down: the second. */
static bool differs(const lin *x, const lin *y, bool *down, int64_t *c) {
    for (int turn = 0; turn < 2; turn++) {
        lin d = *x;
        if (!cancels(&d, y, turn ? 1 : -1)) continue;
        *down = turn;
        *c = d.c;
        return true;
    }
    return false;
}

/* The comparison as one of n, max(0, n) of which is what is counted; least: n is never below. */
static bool ran_of(const comparison *c, lin a, const lin *b, const lin *n, int64_t least, weiri_ran *out) {
    bool down;
    int64_t e;
    if (!add(&a, b, -1)) return false;
    a = negative(&a); /* a < b, or a = b: b - a > 0, or = 0 */
    if (!differs(&a, n, &down, &e)) return false;
    *out = (weiri_ran){ .equal = c->op == WEIR_OP_EQ, .not = c->not, .times = down ? e : -e }; /* = 0: n is that many */
    if (!out->equal && down) out->times--; /* n < e */
    else if (!out->equal) out->not = !out->not; /* not n <= -e */
    return out->times > 0 || (!out->times && (!out->equal || least >= 0));
}

static bool fits_at_launch(const weiri_forms *f, uint32_t id) {
    weiri_env all = { .k = f->k, .cta = -1, .counts = true, .within = true };
    return weiri_range_of(&all, id).known && !all.misfit;
}

/* A comparison of whole numbers that are what their forms say, in the whole of which as well. */
static bool counting(const weiri_forms *f, uint32_t id, comparison *c) {
    bool not = false;
    id = bare(f->k, id, &not);
    if (!comparison_of(f->k, id, c) || !is_whole(f->k, c->a) || (c->b && !is_whole(f->k, c->b))) return false;
    c->not = c->not != not;
    return (stays(f, c->a) || fits_at_launch(f, c->a)) && (!c->b || stays(f, c->b) || fits_at_launch(f, c->b));
}

static lin side(weiri_forms *f, const comparison *c, bool right) {
    return !right ? lin_of(f, c->a, 0) : c->b ? lin_of(f, c->b, 0) : (lin){ .c = c->c };
}

bool weiri_forms_ran(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out) {
    const loop_form *l = &f->loops.v[loop];
    comparison c;
    bool not = false;
    condition = bare(f->k, condition, &not);
    if (l->fixed || !lasting(f, condition, &c)) return false;
    c.not = c.not != not;
    /* the loop runs max(0, n) times. What is known at launch has no index in it, so n has none if they meet */
    lin n = f->classes.v[l->cls].terms;
    n.c = l->c;
    const lin b = side(f, &c, true);
    return ran_of(&c, side(f, &c, false), &b, &n, low(f, &n, 0), out);
}

/* ---- units of classes --------------------------------------------------------------------------------------------------- */

/* Of x: what a class counts, max(0, that) times. */
static lin units_of(const weiri_forms *f, int cls) {
    lin n = f->classes.v[cls].terms;
    n.c = f->classes.v[cls].top;
    return n;
}

bool weiri_forms_plain(const weiri_forms *f, int cls) { return !f->classes.v[cls].nparts && f->classes.v[cls].per < 2; }

/* Does the comparison say that x > by * *than, or (*down) that it is not? */
static bool above(weiri_forms *f, const comparison *c, const lin *x, int64_t by, int64_t *than, bool *down) {
    lin d = side(f, c, true);
    const lin a = side(f, c, false);
    int64_t e;
    if (c->op != WEIR_OP_LT || !add(&d, &a, -1) || !differs(&d, x, down, &e)) return false;
    e = *down ? e - 1 : -e;
    *than = floor_div(e, by);
    return e % by == 0;
}

bool weiri_forms_units(weiri_forms *f, int cls, uint32_t condition, const weiri_node *around, weiri_ran *out) {
    comparison c;
    int64_t m;
    if (!counting(f, condition, &c)) return false;
    lin n = units_of(f, cls), i;
    const lin b = side(f, &c, true);
    const int64_t least = low(f, &n, 0);
    if (around) return iteration_of(f, around, &i) && add(&n, &i, -1) && ran_of(&c, side(f, &c, false), &b, &n, least, out);
    if (ran_of(&c, side(f, &c, false), &b, &n, least, out)) return true;
    int64_t than;
    bool down;
    if (n.n == 1 && n.coef[0] == 1 && is_kind(f, &n, 0, ATOM_CEIL) &&
        above(f, &c, &f->atoms.v[n.atom[0]].of, f->atoms.v[n.atom[0]].by, &than, &down)) {
        *out = (weiri_ran){ .not = down == c.not, .times = than + n.c }; /* x > m * than: so is ceil(x / m) > than */
        return out->times >= 0;
    }
    /* x % m = r */
    const weiri_value *v = weiri_val(f->k, c.a);
    if (c.op != WEIR_OP_EQ || c.b || v->op != WEIR_OP_MOD || !weiri_value_const(f->k, v->arg[1], &m) || m < 2 || m > 16 ||
        least < 0)
        return false;
    lin x = lin_of(f, v->arg[0], 0);
    if (!cancels(&x, &n, -1)) return false;
    if (c.c < 0 || c.c >= m) return false;
    *out = (weiri_ran){ .equal = true, .not = c.not, .times = c.c - x.c - floor_div(c.c - x.c, m) * m, .period = (int)m };
    return true;
}

/* Of a loop that reads the units of one class, in an iteration: those it has not read yet; they are not below 0. */
static bool unread_of(weiri_forms *f, const loop_form *l, lin *n) {
    const form_class *c = &f->classes.v[l->cls];
    lin i;
    if (l->node->kind != NODE_LOOP || !iteration_of(f, l->node, &i)) return false;
    *n = units_of(f, c->per > 1 ? c->of : l->cls);
    if (c->per < 2) n->c--; /* that of the iteration is read */
    return add(n, &i, c->per > 1 ? -c->per : -1);
}

bool weiri_forms_ahead(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out) {
    const loop_form *l = &f->loops.v[loop];
    comparison c;
    int64_t step, than;
    lin n;
    bool down;
    if (!counting(f, condition, &c)) return false;
    const lin a = side(f, &c, false), b = side(f, &c, true);
    if (unread_of(f, l, &n) && ran_of(&c, a, &b, &n, 0, out)) return true;
    /* of larger steps: i + so many steps < stop */
    const form_class *k = &f->classes.v[l->cls];
    if (k->per > 1 || l->node->kind != NODE_LOOP || !weiri_value_const(f->k, l->node->step, &step) || step < 2) return false;
    lin left = lin_of(f, l->node->stop, 0);
    const lin i = lin_of(f, l->node->index, 0);
    if (!add(&left, &i, -1) || !above(f, &c, &left, step, &than, &down) || than < 1) return false;
    *out = (weiri_ran){ .not = down == c.not, .times = than - 1 + (k->top - l->c) };
    return true;
}

/* Is x the smaller of *cap and n - *but, as the form has it? */
static bool is_capped(weiri_forms *f, const lin *x, const lin *n, int *cap, int *but) {
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        lin m = without_term(x, i, &coef), d = f->atoms.v[x->atom[i]].of; /* m - max(0, m - n), or n - max(0, n - m) */
        if (!is_kind(f, x, i, ATOM_POS) || coef != -1 || !add(&d, &m, -1)) continue;
        d = negative(&d); /* the other of the two */
        if (!m.n) {
            const lin t = m;
            m = d, d = t;
        }
        if (d.n || d.c < 1 || d.c > 16 || !cancels(&m, n, -1) || m.c > 0 || m.c < -16) continue;
        *cap = (int)d.c;
        *but = (int)-m.c;
        return true;
    }
    return false;
}

bool weiri_forms_capped(weiri_forms *f, int loop, int cls, int around, int *cap, int *but) {
    const loop_form *l = &f->loops.v[loop];
    lin all = f->classes.v[l->cls].terms, n;
    all.c = l->c;
    if (around < 0 && cls == l->cls) return false;
    if (around < 0) n = units_of(f, cls);
    else if (!unread_of(f, &f->loops.v[around], &n)) return false;
    *but = 0;
    if (is_capped(f, &all, &n, cap, but)) return true;
    for (*cap = 1; *cap <= 16; ++*cap) { /* or is it what that comes to? */
        lin d = negative(&n), less = all;
        d.c += *cap;
        d = pos_of(f, &d);
        d = negative(&d);
        d.c += *cap;
        if (cancels(&less, &d, -1) && !less.c) return true;
    }
    *cap = 0;
    return false;
}

/* Of a class that counts ceil(of / by): that atom; else NULL. */
static const atom *in_groups(const weiri_forms *f, int cls) {
    const lin *t = &f->classes.v[cls].terms;
    const atom *x = t->n == 1 && t->coef[0] == 1 ? &f->atoms.v[t->atom[0]] : NULL;
    return x && x->kind == ATOM_CEIL && !weiri_forms_wanders(f, cls) ? x : NULL;
}

/* Is ceil(x / m) = ceil((ceil(y / a) + *lead) / *per), `y` what class j counts (a = 1), or the quotient that it is? */
static bool grouped(const weiri_forms *f, const atom *x, int j, int64_t *per, int64_t *lead) {
    const form_class *o = &f->classes.v[j];
    const atom *y = in_groups(f, j);
    if (same_terms(&o->terms, &x->of)) *per = x->by, *lead = x->of.c;
    else if (y && same_terms(&y->of, &x->of) && x->by % y->by == 0 && (x->of.c - y->of.c) % y->by == 0)
        *per = x->by / y->by, *lead = (x->of.c - y->of.c) / y->by;
    else return false;
    return *per > 1 && *per <= 16 && o->per < 2;
}

/* What could count the units of both quotients: the number that both divide, or it in parts of a number that divides both divisors. */
static lin common_units(weiri_forms *f, const atom *x, const atom *y) {
    lin out = x->of;
    const int64_t a = gcd(x->by, y->by);
    out.c = 0;
    if ((x->by <= 16 && y->by <= 16) || (x->of.c - y->of.c) % a) return out;
    out.c = x->of.c % a;
    return ceil_of(f, &out, a);
}

/* The class of which the atom counts groups; -1: there is none. Where two classes count groups of it, none of which is the other's, it is made. */
static int base_of(weiri_forms *f, int cls, const atom *x, int64_t *per, int64_t *lead) {
    for (int j = 0; j < f->classes.n; j++)
        if (j != cls && grouped(f, x, j, per, lead)) return j;
    for (int j = 0; j < f->classes.n; j++) {
        const atom *y = in_groups(f, j);
        if (j == cls || !y || !same_terms(&y->of, &x->of)) continue;
        const form_class *o = &f->classes.v[cls];
        const form_class made = { .terms = common_units(f, x, y), .node = o->node, .steady = o->steady, .per_cta = o->per_cta };
        WEIRI_PUSH(f->a, f->classes, made);
        f->classes.v[f->classes.n - 1].terms.c = 0;
        const int at = f->classes.n - 1;
        int64_t other, begins;
        if (grouped(f, x, at, per, lead) && grouped(f, y, at, &other, &begins)) return at;
        f->classes.n--;
    }
    return -1;
}

/* Loops of so many units a step become readers of those units. Returns whether there are any. */
bool weiri_forms_group(weiri_forms *f) {
    bool any = false;
    for (int i = 0; i < f->classes.n; i++) { /* no count below 0 is lost where one is added to it */
        const lin n = units_of(f, i);
        if (n.c < 0 && low(f, &n, 0) < 0) f->classes.v[i].top = 0;
    }
    for (int i = 0, all = f->classes.n; i < all; i++) {
        const atom *x = f->classes.v[i].base ? NULL : in_groups(f, i);
        int64_t per, lead;
        const int j = x ? base_of(f, i, x, &per, &lead) : -1;
        if (j < 0) continue;
        form_class *c = &f->classes.v[i], *o = &f->classes.v[j];
        c->per = (int)per, c->lead = (int)lead, c->of = j;
        o->base = any = true;
        for (int q = 0; q < f->loops.n; q++) { /* no loop may have more than the class has units */
            const loop_form *l = &f->loops.v[q];
            const int64_t top = lead + per * l->c;
            if (!l->fixed && l->cls == i && top > o->top) o->top = top;
        }
    }
    return any;
}

bool weiri_forms_exclude(weiri_forms *f, const weiri_node *x, const weiri_node *y) {
    facts a, b;
    facts_at(f, x, &a);
    facts_at(f, y, &b);
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < b.n; j++) {
            lin sum = a.v[i];
            if (add(&sum, &b.v[j], 1) && !sum.n && sum.c < 0) return true;
        }
    return false;
}

/* ---- loops to classes --------------------------------------------------------------------------------------------------- */

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
        bool known = memory && fixed_place(place);
        if (many && !fixed_place(place)) *cta = true;
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

weiri_forms *weiri_forms_new(const weir_kernel *k, weiri_arena *a, bool deep) {
    weiri_forms *f = WEIRI_NEW(a, weiri_forms);
    f->deep = deep;
    f->k = k;
    f->a = a;
    f->memo = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    f->own = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    return f;
}

/* Files the loop under the class of d, its number of steps. */
static int file_loop(weiri_forms *f, loop_form l, lin d, bool steady, bool per) {
    while (d.n == 1 && !d.c && d.coef[0] == 1 && is_kind(f, &d, 0, ATOM_POS))
        d = f->atoms.v[d.atom[0]].of; /* that a loop has anyway */
    if (!d.n) {
        l.fixed = true;
        l.trips = d.c > 0 ? d.c : 0;
    } else {
        l.c = d.c;
        d.c = 0;
        l.cls = -1;
        for (int i = 0; i < f->classes.n && l.cls < 0; i++)
            if (same_terms(&f->classes.v[i].terms, &d)) l.cls = i;
        if (l.cls < 0) {
            form_class c = { .terms = d, .top = l.c, .node = l.node, .steady = steady, .per_cta = per };
            WEIRI_PUSH(f->a, f->classes, c);
            l.cls = f->classes.n - 1;
        }
        if (l.c > f->classes.v[l.cls].top) f->classes.v[l.cls].top = l.c;
    }
    WEIRI_PUSH(f->a, f->loops, l);
    return f->loops.n - 1;
}

/* A comparison of whole numbers that the launch and loops decide, d > 0: that many runs are max(0, d) - max(0, d - 1). */
static bool runs_of(weiri_forms *f, const weiri_node *n, const comparison *c, lin *out) {
    lin d = side(f, c, true);
    const lin a = side(f, c, false);
    if (c->op != WEIR_OP_LT || !at_launch(f->k, n->of, 0) || !add(&d, &a, -1)) return false;
    lin less = d;
    less.c--;
    less = pos_of(f, &less);
    *out = pos_of(f, &d);
    return add(out, &less, -1);
}

int weiri_forms_guard(weiri_forms *f, const weiri_node *n, bool truth, bool *sum, bool all) {
    comparison c;
    int64_t m;
    bool tile, cta;
    lin d;
    if (!counting(f, n->of, &c)) return -1;
    const bool settled = weiri_forms_settled(f->k, n->of, &tile, &cta);
    if (all && runs_of(f, n, &c, &d)) truth = !truth; /* below they are those of what is left over */
    else {
        *sum = *sum || c.op == WEIR_OP_LT;
        if (c.op != WEIR_OP_EQ || c.b || c.c || !settled) return -1;
        const weiri_value *v = weiri_val(f->k, c.a); /* x % m = 0: as much rounded up as down */
        if (v->op != WEIR_OP_MOD || !weiri_value_const(f->k, v->arg[1], &m) || m < 17 || m > FAR)
            return -1; /* less is counted */
        const lin x = lin_of(f, v->arg[0], 0);
        lin down = x;
        down.c -= m - 1;
        d = ceil_of(f, &x, m);
        down = ceil_of(f, &down, m);
        add(&d, &down, -1); /* their terms are the same, or one has a quotient alone and the other no more than 7 */
    }
    if (truth != c.not) { /* it runs where nothing is left over */
        d = negative(&d);
        d.c++;
    }
    return file_loop(f, (loop_form){ .node = n, .lane = -1 }, d, settled && !tile && !cta, cta);
}

/* The factors of a product, in order; false: there are too many, or one may be below 0. */
static bool factors(weiri_forms *f, uint32_t id, uint32_t out[WEIRI_NEST], int *n) {
    const weiri_value *v = weiri_val(f->k, id);
    if (!is_whole(f->k, id)) return false;
    if (v->op == WEIR_OP_MUL) return factors(f, v->arg[0], out, n) && factors(f, v->arg[1], out, n);
    const lin x = lin_of(f, id, 0);
    if (*n == WEIRI_NEST || low(f, &x, 0) < 0) return false;
    out[(*n)++] = id;
    return true;
}

int64_t weiri_forms_order(const weiri_forms *f, int loop) {
    const loop_form *l = &f->loops.v[loop];
    return l->fixed ? INT64_MAX : (int64_t)l->cls * 4 * FAR + l->c;
}

int weiri_forms_nest(weiri_forms *f, const weiri_node *loop, int handles[WEIRI_NEST]) {
    uint32_t of[WEIRI_NEST];
    int64_t from, step;
    int n = 0, open = 0;
    if (!weiri_value_const(f->k, loop->start, &from) || from || !weiri_value_const(f->k, loop->step, &step) || step != 1 ||
        !factors(f, loop->stop, of, &n))
        return 0;
    for (int i = 0; i < n; i++) open += !weiri_value_const(f->k, of[i], &from);
    for (int i = 0; i < n && open > 1; i++) {
        bool tile, cta;
        const bool steady = weiri_forms_varies(f->k, of[i], &tile, &cta) && !tile && !cta;
        handles[i] = file_loop(f, (loop_form){ .node = loop, .lane = -1, .part = true }, lin_of(f, of[i], 0), steady, cta);
    }
    return open > 1 ? n : 0;
}

bool weiri_forms_same_count(const weiri_forms *f, int x, int y) {
    const loop_form *a = &f->loops.v[x], *b = &f->loops.v[y];
    if (a->fixed || b->fixed) return a->fixed && b->fixed && a->trips == b->trips;
    return a->cls == b->cls && a->c == b->c;
}

int weiri_forms_loop(weiri_forms *f, const weiri_node *n, int lane) {
    loop_form l = { .node = n, .lane = lane };
    for (int i = 0; i < f->loops.n; i++)
        if (f->loops.v[i].node == n && !f->loops.v[i].part && f->loops.v[i].lane == lane) return i;
    int64_t step = 0;
    lin start = lin_of(f, n->start, 0), d = lin_of(f, n->stop, 0);
    bool plain = lane < 0 ? steps_of(f, n, &d) : weiri_value_const(f->k, n->step, &step) && add(&d, &start, -1);
    if (plain && lane >= 0) d.c += lane; /* of the loop in steps of 1 */
    if (!plain) { /* a step known only at launch: one symbol per (start, stop, step) */
        atom a = { .kind = ATOM_TRIPS, .id = n->index, .by = lane };
        d = single(f, &a);
    }
    bool tile, cta;
    bool steady = weiri_forms_varies(f->k, n->start, &tile, &cta) && !tile && !cta;
    bool per = cta;
    steady = weiri_forms_varies(f->k, n->stop, &tile, &cta) && !tile && !cta && steady;
    per = per || cta;
    steady = weiri_forms_varies(f->k, n->step, &tile, &cta) && !tile && !cta && steady;
    return file_loop(f, l, d, steady, per || cta);
}

/* Which classes may be parts of one sum: what falls out of a sum must stand in two of its terms, so all are joined by atoms that they share. */
static void find_kin(weiri_forms *f) {
    int *up = WEIRI_NEW_N(f->a, int, f->atoms.n + 1);
    for (int i = 0; i < f->atoms.n; i++) up[i] = i;
    for (int pass = 0; pass < 2; pass++) /* to join them, and to see what they have come to */
        for (int i = 0; i < f->classes.n; i++) {
            form_class *c = &f->classes.v[i];
            for (int t = 0; t < c->count.n; t++) {
                int x = c->count.atom[t];
                while (up[x] != x) x = up[x] = up[up[x]];
                if (t) up[x] = c->kin;
                else c->kin = x;
            }
        }
}

/* The class `rep` times is the whole of `rest`; 0: it is not. */
static int times(const form_class *o, const lin *rest) {
    if (o->count.n != rest->n || o->count.atom[0] != rest->atom[0]) return 0;
    const int64_t rep = rest->coef[0] / o->count.coef[0];
    lin next = *rest;
    return rep >= 1 && rep <= 64 && cancels(&next, &o->count, -rep) ? (int)rep : 0;
}

/* Can `rest` be written with classes from `from` on? Fills c's parts, in the order in which their loops are written: that in which the
 * other tasks run them. */
static bool split(weiri_forms *f, form_class *c, int self, const lin *rest, int from) {
    c->plus = rest->c;
    if (!rest->n) return true;
    for (int i = from; i < f->classes.n; i++) {
        const form_class *o = &f->classes.v[i];
        if (i == self || o->nparts || o->per > 1 || o->kin != c->kin || !o->count.n) continue;
        const int whole = times(o, rest);
        f->tried++;
        for (int turn = c->nparts + 1 == MOST_SUMMED ? MOST_REPS : 0; turn <= MOST_REPS; turn++) {
            const int rep = turn < MOST_REPS ? turn + 1 : whole;
            if (!rep) continue;
            lin next = *rest;
            if (!add(&next, &o->count, -rep)) continue;
            c->part[c->nparts] = i;
            c->rep[c->nparts++] = rep;
            if (split(f, c, self, &next, i + 1)) return true;
            c->nparts--;
        }
    }
    return false;
}

void weiri_forms_settle(weiri_forms *f) {
    for (int i = 0; i < f->classes.n; i++) {
        const lin all = units_of(f, i);
        const bool whole = low(f, &all, 0) >= 0;
        lin count = { 0 };
        if (whole) count = all;
        else if (f->deep) count = pos_of(f, &all);
        f->classes.v[i].whole = whole;
        f->classes.v[i].count = count; /* of no terms: it is part of no sum, and none */
    }
    find_kin(f);
    for (int i = 0; i < f->classes.n; i++) {
        form_class c = f->classes.v[i];
        lin rest = c.count;
        if (c.per > 1 || c.base || !rest.n || !split(f, &c, i, &rest, 0)) continue;
        bool fits = true; /* no loop of the class may be shorter than its parts' head starts */
        for (int j = 0; j < f->loops.n; j++) {
            const loop_form *l = &f->loops.v[j];
            if (l->fixed || l->cls != i) continue;
            if (l->c - c.top + c.plus < 0 || (l->c != c.top && !c.whole)) fits = false;
        }
        bool used = false; /* a class that others are made of stays */
        for (int j = 0; j < i; j++)
            for (int q = 0; q < f->classes.v[j].nparts; q++) used = used || f->classes.v[j].part[q] == i;
        if (fits && !used) f->classes.v[i] = c;
    }
}

bool weiri_forms_apart(const weiri_forms *f) { return f->apart; }

uint64_t weiri_forms_tried(const weiri_forms *f) { return f->tried; }

bool weiri_forms_repeat(const weiri_forms *f) {
    bool any = false;
    for (int i = 0; i < f->classes.n; i++)
        for (int q = 0; q < f->classes.v[i].nparts; q++) any = any || f->classes.v[i].rep[q] > 1;
    return any;
}

weiri_trips weiri_forms_trips(const weiri_forms *f, int loop, bool in_turn) {
    const loop_form *l = &f->loops.v[loop];
    if (l->fixed) return (weiri_trips){ .base = l->trips, .fixed = true };
    const form_class *c = &f->classes.v[l->cls];
    if (c->per > 1) {
        const form_class *o = &f->classes.v[c->of];
        const int64_t top = c->lead + c->per * l->c;
        return (weiri_trips){ .nparts = 1, .part = { { .tape = c->of, .rep = 1, .skip = (int)(o->top - top), .per = c->per } } };
    }
    if (!c->nparts)
        return (weiri_trips){ .nparts = 1, .part = { { .tape = l->cls, .rep = 1, .skip = (int)(c->top - l->c) } } };
    weiri_trips t = { .base = l->c - c->top + c->plus };
    int most = 0;
    for (int i = 0; i < c->nparts; i++) most += c->rep[i];
    for (int i = 0; i < c->nparts; i++) {
        bool apart = in_turn && most <= WEIRI_MAX_PARTS;
        for (int n = 0; n < (apart ? c->rep[i] : 1); n++)
            t.part[t.nparts++] = (weiri_part){ .tape = c->part[i], .rep = apart ? 1 : c->rep[i] };
    }
    return t;
}

int weiri_forms_class_count(const weiri_forms *f) { return f->classes.n; }

void weiri_forms_class(const weiri_forms *f, int cls, int *least, int *most, bool *steady, bool *per_cta,
                       const weiri_node **node) {
    const form_class *c = &f->classes.v[cls];
    lin x = c->terms;
    x.c = c->top;
    int64_t lo = low((weiri_forms *)f, &x, 0), hi = high((weiri_forms *)f, &x, 0);
    *least = lo < 0 ? 0 : lo > 16 ? 16 : (int)lo; /* fewer is a wider proof */
    *most = hi < 0 ? 0 : hi > 16 ? -1 : (int)hi;
    *steady = c->steady;
    *per_cta = c->per_cta;
    *node = c->node;
}

bool weiri_forms_wanders(const weiri_forms *f, int cls) {
    const lin *x = &f->classes.v[cls].terms;
    bool w = false;
    for (int i = 0; i < x->n; i++) w = w || wanders(f, x->atom[i], false);
    return w;
}

/* Divides x, which is no plain number, whatever the sizes. */
static int64_t divisor(const weiri_forms *f, const lin *x, int depth) {
    int64_t d = x->c < 0 ? -x->c : x->c;
    for (int i = 0; i < x->n && d != 1; i++) {
        const atom *a = &f->atoms.v[x->atom[i]];
        int64_t m = 1;
        if (a->kind == ATOM_CEIL) {
            int64_t of = depth < 6 ? divisor(f, &a->of, depth + 1) : 1;
            if (of % a->by == 0) m = of / a->by;
        } else {
            const weiri_value *v = weiri_val(f->k, a->id);
            if (v->op == WEIR_OP_DIM && near(v->multiple)) m = v->multiple;
        }
        d = gcd(d, m * x->coef[i]);
    }
    return d;
}

int64_t weiri_forms_multiple(const weiri_forms *f, int cls) {
    lin x = f->classes.v[cls].terms;
    x.c = f->classes.v[cls].top;
    return divisor(f, &x, 0);
}

bool weiri_forms_eval(const weiri_forms *f, int cls, weiri_env *env, int64_t *out) {
    const form_class *c = &f->classes.v[cls];
    const loop_form *l = f->loops.v;
    while (l->node != c->node) l++; /* the class is made of it */
    for (int i = 0; i < f->loops.n; i++)
        if (!f->loops.v[i].fixed && f->loops.v[i].cls == cls && f->loops.v[i].c > l->c)
            l = &f->loops.v[i]; /* of which none is cut off at 0 */
    const weiri_node *n = l->node;
    int64_t start, stop, step;
    env->counts = true;
    if (!weiri_range_number(env, n->start, &start) || !weiri_range_number(env, n->stop, &stop) ||
        !weiri_range_number(env, n->step, &step) || !step)
        return false;
    if (l->lane >= 0) start -= l->lane, step = 1;
    int64_t d = step > 0 ? -floor_div(start - stop, step) : -floor_div(stop - start, -step);
    d += c->top - l->c;
    *out = d > 0 ? d : 0;
    return true;
}
