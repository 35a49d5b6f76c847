/* Trip counts in one normal form: a constant and a sum of atoms. Loops whose sums differ only in the constant count one symbol
 * with a head start; a loop whose sum is that of other loops' counts runs through their symbols one after the other. */
#include <math.h>
#include <string.h>

#include "prove.h"

enum { MAX_TERMS = 8, DEEP = 24, LARGE = 4096 /* operations: of more, parts are shared over and over */ };
enum { MOST_SUMMED = 3, MOST_REPS = 4 }; /* parts of a sum, and how often one counts that is not all of the rest */
#define NO_BOUND INT64_MAX
#define FAR \
    (INT64_C(1) \
     << 31) /* numbers of a form are no larger: no launch counts beyond (src/range.c), and their products stay in 64 bits */

typedef struct lin { int n; int atom[MAX_TERMS]; int64_t coef[MAX_TERMS]; int64_t c; } lin;
/* ATOM_TRIPS: how often the loop of index `id` runs (of a lane, in `by`: the loop that it is dealt from), where no form tells */
typedef enum atom_kind { ATOM_VALUE, ATOM_CEIL /* ceil(of / by) */, ATOM_TRIPS } atom_kind;
typedef struct atom { atom_kind kind; uint32_t id; lin of; int64_t by; } atom;
typedef struct loop_form { const weiri_node *node; int lane; bool fixed, part /* of a nest */; int64_t trips; int cls; int64_t c; } loop_form;
/* What `of` never falls below, as found `depth` - 1 values deep; depth 0: nothing yet. */
typedef struct bound { lin of; int depth; int64_t low; } bound;
enum { BOUNDS = 256 };
typedef struct form_class {
    lin terms;                /* constant 0 */
    int64_t top;              /* largest constant of its loops */
    const weiri_node *node;
    int nparts, part[WEIRI_MAX_PARTS], rep[WEIRI_MAX_PARTS];   /* a sum of other classes */
    int kin;                  /* the first atom of all that are joined by atoms that classes share */
    int per, of;              /* per > 1: the units of class `of`, so many at a time; its constant is in `terms` */
    bool base;                /* others are read from it in groups */
    bool steady, per_cta;
    bool whole;               /* its count is never cut off at 0: it may be a part of a sum */
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

bool weiri_forms_same(const weir_kernel *k, uint32_t x, uint32_t y) { return same_value(k, x, y, 0); }
bool weiri_forms_same_index(const weir_kernel *k, const weiri_node *x, const weiri_node *y) { return same_index(k, x, y, 0); }
bool weiri_forms_same_loop(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    bool not;
    if (x->kind == NODE_LOOP && y->kind == NODE_LOOP) return same_bounds(k, x, y, 0);
    return x->kind == y->kind && weiri_forms_alike(k, x->of, y->of, &not) && not == (x->guard != y->guard); /* guards that count */
}

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
        if (x->kind == ATOM_CEIL    ? x->of.c == y->of.c && same_terms(&x->of, &y->of)
            : x->kind == ATOM_TRIPS ? same_bounds(f->k, weiri_val(f->k, x->id)->loop, weiri_val(f->k, y->id)->loop, 0)
                                    : same_value(f->k, x->id, y->id, 0))
            return i;
    }
    const weir_op op = x->kind == ATOM_VALUE ? weiri_val(f->k, x->id)->op : WEIR_OP_INT;
    if ((op == WEIR_OP_MIN || op == WEIR_OP_MAX) && !f->bounds) f->bounds = WEIRI_NEW_N(f->a, bound, BOUNDS);
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

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

static int64_t low(weiri_forms *f, const lin *x, int depth);
static int64_t high(weiri_forms *f, const lin *x, int depth);

static lin single(weiri_forms *f, const atom *a) { return (lin){ .n = 1, .atom = { atom_for(f, a) }, .coef = { 1 } }; }

/* ceil(x / m), m > 0; whole multiples of m go outside. */
static lin ceil_of(weiri_forms *f, const lin *x, int64_t m) {
    lin out = { .c = -floor_div(-x->c, m) };
    bool whole = true;
    for (int i = 0; i < x->n; i++) whole = whole && x->coef[i] % m == 0;
    if (whole) {
        out.n = x->n;
        for (int i = 0; i < x->n; i++) out.atom[i] = x->atom[i], out.coef[i] = x->coef[i] / m;
        return out;
    }
    /* (m y + rest) / m is y, where bounds keep the rest to one quotient */
    lin rest = { .c = x->c };
    for (int i = 0; i < x->n; i++) {
        if (x->coef[i] % m == 0) out.atom[out.n] = x->atom[i], out.coef[out.n++] = x->coef[i] / m;
        else rest.atom[rest.n] = x->atom[i], rest.coef[rest.n++] = x->coef[i];
    }
    int64_t lo = out.n ? low(f, &rest, 0) : -NO_BOUND, hi = out.n ? high(f, &rest, 0) : NO_BOUND;
    if (lo != -NO_BOUND && hi != NO_BOUND && -floor_div(-lo, m) == -floor_div(-hi, m)) {
        out.c = -floor_div(-hi, m);
        return out;
    }
    int64_t q = floor_div(x->c, m);
    atom a = { .kind = ATOM_CEIL, .of = *x, .by = m };
    a.of.c = x->c - q * m;
    out = single(f, &a);
    out.c = q;
    return out;
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

static lin lin_of(weiri_forms *f, uint32_t id, int depth);

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
        for (int i = 0; i < 2; i++)
            if (weiri_value_const(f->k, v->arg[i], &n) && near(n)) {
                x = (lin){ 0 };
                y = lin_of(f, v->arg[1 - i], depth + 1);
                if (add(&x, &y, n)) return x;
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

/* x with the atom's term replaced by coef * value */
static bool swap_in(weiri_forms *f, const lin *x, int at, uint32_t value, lin *out) {
    lin v = lin_of(f, value, 0);
    *out = *x;
    out->n--;
    for (int i = at; i < out->n; i++) out->atom[i] = x->atom[i + 1], out->coef[i] = x->coef[i + 1];
    return add(out, &v, x->coef[at]);
}

/* Bound of one atom alone: lowest, or highest if `top`. */
static int64_t atom_bound(weiri_forms *f, int at, bool top, int depth) {
    atom a = f->atoms.v[at];
    if (a.kind == ATOM_TRIPS) return top ? NO_BOUND : 0;
    if (a.kind == ATOM_CEIL) {
        int64_t v = top ? high(f, &a.of, depth) : low(f, &a.of, depth);
        return v == NO_BOUND || v == -NO_BOUND ? v : -floor_div(-v, a.by);
    }
    const weiri_value *v = weiri_val(f->k, a.id);
    switch (v->op) {
    case WEIR_OP_SCALAR: return top ? NO_BOUND : weiri_value_is_unsigned(v->dtype) ? 0 : -NO_BOUND;
    case WEIR_OP_DIM: return top ? (v->max > 0 ? v->max : NO_BOUND) : v->min > 0 ? v->min : 0;
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE: { /* CTAs that split the axis run tiles up to a multiple of them */
        const weir_cluster *c = &f->k->cluster;
        int64_t n, by = v->i == v->res->axis_m ? c->v * c->m : v->i == v->res->axis_n ? c->n : 1;
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
    lin rest = *x;
    lin one = { .n = 1, .atom = { x->atom[at] }, .coef = { 1 } };
    if (k % a.by == 0) { /* of <= by * ceil(of / by) <= of + by - 1 */
        lin of = a.of;
        add(&rest, &one, -k); /* its term falls out */
        if (k < 0) of.c += a.by - 1;
        if (add(&rest, &of, k / a.by) && rest.n < x->n) best = low(f, &rest, depth + 1);
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

/* Uses min(a, b) <= a and max(a, b) >= a where that cancels terms. */
static int64_t find_low(weiri_forms *f, const lin *x, int depth) {
    f->tried++;
    int64_t best = x->c;
    for (int i = 0; i < x->n && best != -NO_BOUND; i++) {
        int64_t b = atom_bound(f, x->atom[i], x->coef[i] < 0, depth + 1);
        bool endless = fabs((double)b * (double)x->coef[i]) > 1e17; /* NO_BOUND is; of less, MAX_TERMS stay in 64 bits */
        best = endless ? -NO_BOUND : best + b * x->coef[i];
    }
    for (int i = 0; i < x->n; i++) {
        if (f->atoms.v[x->atom[i]].kind != ATOM_VALUE) continue;
        const weiri_value *v = weiri_val(f->k, f->atoms.v[x->atom[i]].id);
        bool min = v->op == WEIR_OP_MIN, max = v->op == WEIR_OP_MAX;
        if ((!min && !max) || wraps(f, f->atoms.v[x->atom[i]].id, depth + 1)) continue;
        lin l, r;
        if (!swap_in(f, x, i, v->arg[0], &l) || !swap_in(f, x, i, v->arg[1], &r)) continue;
        int64_t p = low(f, &l, depth + 1), q = low(f, &r, depth + 1);
        /* x is one of the two; with a known sign it is at least the larger */
        bool any = (min && x->coef[i] < 0) || (max && x->coef[i] > 0);
        int64_t b = any ? (p > q ? p : q) : p < q ? p : q;
        if (b > best) best = b;
    }
    for (int i = 0; i < x->n && depth < 2; i++) {
        const int64_t b = low_of_ceil(f, x, i, depth);
        if (b > best) best = b;
    }
    return best;
}

/* A number that x never falls below. Minima of minima come to the same forms over and over. */
static int64_t low(weiri_forms *f, const lin *x, int depth) {
    if (depth > 6) return -NO_BOUND;
    uint64_t at = (uint64_t)x->c + (uint64_t)depth;
    for (int i = 0; i < x->n; i++) at = 31 * at + 7 * (uint64_t)x->atom[i] + (uint64_t)x->coef[i];
    const bound *b = f->bounds ? &f->bounds[at % BOUNDS] : NULL;
    if (b && b->depth == depth + 1 && b->of.c == x->c && same_terms(&b->of, x)) return b->low;
    const int64_t found = find_low(f, x, depth);
    if (f->bounds) f->bounds[at % BOUNDS] = (bound){ .of = *x, .depth = depth + 1, .low = found };
    return found;
}

/* ---- spans of tensors --------------------------------------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
}

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
    for (int i = 0; i < a->of.n; i++) w = w || wanders(f, a->of.atom[i], ctas);
    return w;
}

/* Of a span of a tile that a task had before: the same function of the coordinates as one of the tile it is in. */
static void of_own_tile(weiri_forms *f, lin *x) {
    lin r = { .c = x->c };
    for (int i = 0; i < x->n; i++) {
        atom a = f->atoms.v[x->atom[i]];
        const weiri_value *v = weiri_val(f->k, a.id);
        if (v->op == WEIR_OP_BEFORE) a.id = v->loop->of_tiles->coord[v->i];
        of_own_tile(f, &a.of);
        lin one = single(f, &a);
        add(&r, &one, x->coef[i]); /* as many terms: nothing is about two tiles here */
    }
    *x = r;
}

static bool start_of(weiri_forms *f, const weiri_span *x, lin *out) {
    *out = (lin){ .c = x->plus };
    lin v = { 0 };
    if (x->value) v = lin_of(f, x->value, 0);
    if (weiri_val(f->k, x->value)->before) {
        lin **own = &f->own[x->value];
        if (!*own) {
            of_own_tile(f, &v);
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

/* Loops around a place, and which of their iterations it is known to tell apart. */
typedef struct around { int n, index[WEIRI_MAX_NEST]; int64_t step[WEIRI_MAX_NEST]; bool told[WEIRI_MAX_NEST]; } around;

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
    return lo != -NO_BOUND && hi != NO_BOUND && coef * o->step[l] - (hi - lo) >= x->extent;
}

bool weiri_forms_moved(weiri_forms *f, const weiri_span *x, int rank, const weiri_node *node) {
    around o = { 0 };
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent) {
        if (n->kind != NODE_LOOP) continue;
        int64_t step;
        if (!weiri_value_const(f->k, n->step, &step)) return false; /* of 32 bits: validate.c */
        o.index[o.n] = lin_of(f, n->index, 0).atom[0];
        o.step[o.n++] = step < 0 ? -step : step;
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
        const weiri_value *v = a->kind == ATOM_CEIL ? NULL : weiri_val(f->k, a->id);
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
    bool is = v->op == WEIR_OP_INT || v->op == WEIR_OP_INDEX || v->op == WEIR_OP_DIM;
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
        if (n->kind == NODE_GUARD && n->of && (n->guard == WEIR_GUARD_TRUE || n->guard == WEIR_GUARD_FALSE))
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
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP && !pinned(f, &all, lin_of(f, n->index, 0).atom[0])) return false;
    return true;
}

/* What they say of numbers that are one for a turn. */
static void facts_at(weiri_forms *f, const weiri_node *node, facts *all) {
    collect(f, node, all);
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP) without(all, lin_of(f, n->index, 0).atom[0]);
    int kept = 0;
    for (int i = 0; i < all->n; i++)
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

bool weiri_forms_units(weiri_forms *f, int cls, uint32_t condition, weiri_ran *out) {
    comparison c;
    int64_t m;
    if (!counting(f, condition, &c)) return false;
    const lin n = units_of(f, cls), b = side(f, &c, true);
    const int64_t least = low(f, &n, 0);
    if (ran_of(&c, side(f, &c, false), &b, &n, least, out)) return true;
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

/* Of a loop that reads the units of one class, in an iteration: those it has not read yet, by its index; they are not below 0. */
static bool unread_of(weiri_forms *f, const loop_form *l, lin *n) {
    const form_class *c = &f->classes.v[l->cls];
    int64_t step;
    if (l->node->kind != NODE_LOOP || !weiri_value_const(f->k, l->node->step, &step) || (step != 1 && step != -1)) return false;
    *n = units_of(f, c->per > 1 ? c->of : l->cls);
    const int64_t per = c->per > 1 ? c->per : 1;
    const lin i = lin_of(f, l->node->index, 0), from = lin_of(f, l->node->start, 0);
    if (c->per < 2) n->c--; /* that of the iteration is read */
    return add(n, &i, -step * per) && add(n, &from, step * per);
}

bool weiri_forms_ahead(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out) {
    const loop_form *l = &f->loops.v[loop];
    comparison c;
    int64_t step, e;
    lin n;
    bool down;
    if (!counting(f, condition, &c)) return false;
    lin a = side(f, &c, false);
    const lin b = side(f, &c, true);
    if (unread_of(f, l, &n)) return ran_of(&c, a, &b, &n, 0, out);
    /* of larger steps: i + so many steps < stop */
    const form_class *k = &f->classes.v[l->cls];
    if (k->per > 1 || l->node->kind != NODE_LOOP || c.op == WEIR_OP_EQ || !weiri_value_const(f->k, l->node->step, &step) || step < 2)
        return false;
    lin left = lin_of(f, l->node->stop, 0);
    const lin i = lin_of(f, l->node->index, 0);
    if (!add(&left, &i, -1) || !add(&a, &b, -1)) return false;
    a = negative(&a);
    if (!differs(&a, &left, &down, &e)) return false;
    const int64_t than = down ? e - 1 : -e; /* left > than, or (down) not */
    if (than < step || than % step) return false;
    *out = (weiri_ran){ .not = down == c.not, .times = than / step - 1 + (k->top - l->c) };
    return true;
}

bool weiri_forms_capped(weiri_forms *f, int loop, int cls, int around, int *cap, int *but) {
    const loop_form *l = &f->loops.v[loop];
    int64_t m;
    if (l->c || f->classes.v[l->cls].terms.n != 1 || f->classes.v[l->cls].terms.coef[0] != 1) return false;
    const atom *x = &f->atoms.v[f->classes.v[l->cls].terms.atom[0]];
    const weiri_value *v = x->kind == ATOM_VALUE ? weiri_val(f->k, x->id) : NULL;
    if (!v || v->op != WEIR_OP_MIN) return false;
    lin n;
    if (around < 0) n = units_of(f, cls);
    else if (!unread_of(f, &f->loops.v[around], &n)) return false;
    for (int turn = 0; turn < 2; turn++) {
        if (!weiri_value_const(f->k, v->arg[turn], &m) || m < 1 || m > 16) continue;
        lin d = lin_of(f, v->arg[1 - turn], 0);
        if (!cancels(&d, &n, -1) || d.c > 0 || d.c < -16) continue;
        *cap = (int)m;
        *but = (int)-d.c;
        return true;
    }
    return false;
}

/* Of a class that counts ceil(of / by): that atom; else NULL. */
static const atom *in_groups(const weiri_forms *f, int cls) {
    const lin *t = &f->classes.v[cls].terms;
    const atom *x = t->n == 1 && t->coef[0] == 1 ? &f->atoms.v[t->atom[0]] : NULL;
    return x && x->kind == ATOM_CEIL && x->by <= 16 && !weiri_forms_wanders(f, cls) ? x : NULL;
}

/* The class of which the atom counts groups; -1: there is none. Where two classes count groups of it, none of which is the other's, it is made. */
static int base_of(weiri_forms *f, int cls, const atom *x) {
    int others = 0;
    for (int j = 0; j < f->classes.n; j++) {
        const form_class *o = &f->classes.v[j];
        const atom *y = in_groups(f, j);
        if (j != cls && o->per < 2 && same_terms(&o->terms, &x->of)) return j;
        others += j != cls && y && same_terms(&y->of, &x->of);
    }
    if (!others) return -1;
    form_class c = f->classes.v[cls];
    c.terms = x->of;
    c.terms.c = c.top = 0;
    WEIRI_PUSH(f->a, f->classes, c);
    return f->classes.n - 1;
}

bool weiri_forms_group(weiri_forms *f) {
    bool any = false;
    for (int i = 0; i < f->classes.n; i++) { /* no count below 0 is lost where one is added to it */
        const lin n = units_of(f, i);
        if (n.c < 0 && low(f, &n, 0) < 0) f->classes.v[i].top = 0;
    }
    for (int i = 0, all = f->classes.n; i < all; i++) {
        const atom *x = f->classes.v[i].base ? NULL : in_groups(f, i);
        const int j = x ? base_of(f, i, x) : -1;
        if (j < 0) continue;
        form_class *c = &f->classes.v[i], *o = &f->classes.v[j];
        c->per = (int)x->by, c->of = j;
        o->base = any = true;
        for (int q = 0; q < f->loops.n; q++) { /* no loop may have more than the class has units */
            const loop_form *l = &f->loops.v[q];
            const int64_t top = x->of.c + x->by * l->c;
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

weiri_forms *weiri_forms_new(const weir_kernel *k, weiri_arena *a) {
    weiri_forms *f = WEIRI_NEW(a, weiri_forms);
    f->k = k;
    f->a = a;
    f->memo = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    f->own = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    return f;
}

/* Files the loop under the class of d, its number of steps. */
static int file_loop(weiri_forms *f, loop_form l, lin d, bool steady, bool per) {
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

int weiri_forms_guard(weiri_forms *f, const weiri_node *n, bool truth) {
    comparison c;
    int64_t m;
    bool tile, cta;
    if (!counting(f, n->of, &c) || c.op != WEIR_OP_EQ || c.b || c.c || !weiri_forms_settled(f->k, n->of, &tile, &cta)) return -1;
    const weiri_value *v = weiri_val(f->k, c.a); /* x % m = 0: as much rounded up as down */
    if (v->op != WEIR_OP_MOD || !weiri_value_const(f->k, v->arg[1], &m) || m < 17 || m > FAR) return -1; /* less is counted */
    const lin x = lin_of(f, v->arg[0], 0);
    lin down = x;
    down.c -= m - 1;
    lin d = ceil_of(f, &x, m);
    down = ceil_of(f, &down, m);
    add(&d, &down, -1); /* their terms are the same, or one has a quotient alone and the other no more than 7 */
    if (truth != c.not) { /* it runs where nothing is left over */
        d = negative(&d);
        d.c++;
    }
    return file_loop(f, (loop_form){ .node = n, .lane = -1 }, d, !tile && !cta, cta);
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

int weiri_forms_loop(weiri_forms *f, const weiri_node *n, int lane) {
    loop_form l = { .node = n, .lane = lane };
    for (int i = 0; i < f->loops.n; i++)
        if (f->loops.v[i].node == n && !f->loops.v[i].part) return i;
    int64_t step = 0;
    lin start = lin_of(f, n->start, 0), d = lin_of(f, n->stop, 0);
    bool plain = weiri_value_const(f->k, n->step, &step) && add(&d, &start, -1); /* of 32 bits, and not 0: capture.c */
    if (plain && lane >= 0) {
        d.c += lane;
        step = 1;
    }
    if (plain) {
        if (step < 0) d = negative(&d), step = -step;
        d = ceil_of(f, &d, step);
    }
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
            for (int t = 0; t < c->terms.n; t++) {
                int x = c->terms.atom[t];
                while (up[x] != x) x = up[x] = up[up[x]];
                if (t) up[x] = c->kin;
                else c->kin = x;
            }
        }
}

/* The class `rep` times is the whole of `rest`; 0: it is not. */
static int times(const form_class *o, const lin *rest) {
    if (o->terms.n != rest->n || o->terms.atom[0] != rest->atom[0]) return 0;
    const int64_t rep = rest->coef[0] / o->terms.coef[0];
    lin next = *rest;
    return rep >= 1 && rep <= 64 && cancels(&next, &o->terms, -rep) ? (int)rep : 0;
}

/* Can `rest` be written with classes from `from` on? Fills c's parts, in the order in which their loops are written: that in which the
 * other tasks run them. */
static bool split(weiri_forms *f, form_class *c, int self, const lin *rest, int from) {
    if (!rest->n) return true; /* of one part alone once: it would be that class */
    for (int i = from; i < f->classes.n; i++) {
        const form_class *o = &f->classes.v[i];
        if (i == self || o->nparts || o->per > 1 || o->kin != c->kin || !o->whole) continue;
        const int whole = times(o, rest);
        f->tried++;
        for (int turn = c->nparts + 1 == MOST_SUMMED ? MOST_REPS : 0; turn <= MOST_REPS; turn++) {
            const int rep = turn < MOST_REPS ? turn + 1 : whole;
            if (!rep) continue;
            lin next = *rest;
            if (!add(&next, &o->terms, -rep)) continue;
            c->part[c->nparts] = i;
            c->rep[c->nparts++] = rep;
            if (split(f, c, self, &next, i + 1)) return true;
            c->nparts--;
        }
    }
    return false;
}

void weiri_forms_settle(weiri_forms *f) {
    find_kin(f);
    for (int i = 0; i < f->classes.n; i++) {
        lin all = f->classes.v[i].terms;
        all.c = f->classes.v[i].top;
        f->classes.v[i].whole = low(f, &all, 0) >= 0;
    }
    for (int i = 0; i < f->classes.n; i++) {
        form_class c = f->classes.v[i];
        lin rest = c.terms;
        if (c.per > 1 || c.base || !split(f, &c, i, &rest, 0)) continue;
        bool fits = true; /* no loop of the class may be shorter than its parts' head starts */
        for (int j = 0; j < f->loops.n; j++) {
            const loop_form *l = &f->loops.v[j];
            if (l->fixed || l->cls != i) continue;
            int64_t base = l->c;
            for (int q = 0; q < c.nparts; q++) base -= c.rep[q] * f->classes.v[c.part[q]].top;
            if (base < 0) fits = false;
        }
        bool used = false; /* a class that others are made of stays */
        for (int j = 0; j < i; j++)
            for (int q = 0; q < f->classes.v[j].nparts; q++) used = used || f->classes.v[j].part[q] == i;
        if (fits && !used) f->classes.v[i] = c;
    }
}

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
        const int64_t top = f->atoms.v[c->terms.atom[0]].of.c + c->per * l->c;
        return (weiri_trips){ .nparts = 1, .part = { { .tape = c->of, .rep = 1, .skip = (int)(o->top - top), .per = c->per } } };
    }
    if (!c->nparts)
        return (weiri_trips){ .nparts = 1, .part = { { .tape = l->cls, .rep = 1, .skip = (int)(c->top - l->c) } } };
    weiri_trips t = { .base = l->c };
    int most = 0;
    for (int i = 0; i < c->nparts; i++) most += c->rep[i];
    for (int i = 0; i < c->nparts; i++) {
        bool apart = in_turn && most <= WEIRI_MAX_PARTS;
        for (int n = 0; n < (apart ? c->rep[i] : 1); n++) t.part[t.nparts++] = (weiri_part){ .tape = c->part[i], .rep = apart ? 1 : c->rep[i] };
        t.base -= c->rep[i] * f->classes.v[c->part[i]].top;
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
    const weiri_node *n = c->node;
    int64_t start, stop, step;
    env->counts = true;
    if (!weiri_range_number(env, n->start, &start) || !weiri_range_number(env, n->stop, &stop) ||
        !weiri_range_number(env, n->step, &step) || !step)
        return false;
    const loop_form *l = f->loops.v;
    while (l->node != n) l++; /* the class is made of it */
    if (l->lane >= 0) start -= l->lane, step = 1;
    int64_t d = step > 0 ? -floor_div(start - stop, step) : -floor_div(stop - start, -step);
    d += c->top - l->c;
    *out = d > 0 ? d : 0;
    return true;
}
