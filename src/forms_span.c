/* Spans of tensors: which may meet, by the forms of where they start. */
#include "forming.h"

/* May the value be another number at another time in one tile of one CTA; `ctas`: or in another CTA? */
static bool value_wanders(const weiri_forms *f, uint32_t id, bool ctas) {
    bool tile, cta;
    return !weiri_forms_settled(f->k, id, &tile, &cta) || (ctas && cta);
}

bool fo_wanders(const weiri_forms *f, int at, bool ctas) {
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
    for (int i = 0; i < a->of.n && !w; i++) w = fo_wanders(f, a->of.atom[i], ctas);
    return w;
}

/* Of a span of a tile that a task had before: the same function of the coordinates as one of the tile it is in. */
static lin of_own_tile(weiri_forms *f, const lin *x) {
    lin r = { .c = x->c };
    for (int i = 0; i < x->n; i++) {
        atom a = f->atoms.v[x->atom[i]];
        const weiri_value *v = weiri_val(f->k, a.id);
        if (v->op == WEIR_OP_BEFORE) a.id = v->loop->of_tiles->coord[v->i];
        lin one = { .c = 1 };
        for (int q = 0; a.kind == ATOM_MUL && q < a.of.n; q++) {
            const lin factor = { .n = 1, .atom = { a.of.atom[q] }, .coef = { 1 } }, own = of_own_tile(f, &factor);
            one = fo_times(f, &one, &own);
        }
        if (a.kind == ATOM_CEIL || a.kind == ATOM_POS) a.of = of_own_tile(f, &a.of);
        if (a.kind != ATOM_MUL)
            one = a.kind == ATOM_CEIL ? fo_ceil(f, &a.of, a.by) : a.kind == ATOM_POS ? fo_pos(f, &a.of) : fo_single(f, &a);
        fo_add(&r, &one, x->coef[i]);
    }
    return r;
}

/* false: nothing is known of it. */
static bool start_of(weiri_forms *f, const weiri_span *x, lin *out) {
    *out = (lin){ .c = x->plus };
    lin v = { 0 };
    if (x->value) v = fo_lin(f, x->value, 0);
    if (weiri_val(f->k, x->value)->before) {
        lin **own = &f->own[x->value];
        if (!*own) {
            *own = WEIRI_NEW(f->a, lin);
            **own = of_own_tile(f, &v);
        }
        v = **own;
    }
    return fo_add(out, &v, x->by);
}

/* The distance of two spans is *at and any multiple of *by (0: it alone); false: nothing is known. */
static bool distance(weiri_forms *f, const weiri_span *x, const weiri_span *y, bool ctas, int64_t *at, int64_t *by) {
    lin a, b, d;
    if (!start_of(f, x, &a) || !start_of(f, y, &b)) return false;
    d = a;
    if (!fo_add(&d, &b, -1)) return false;
    int64_t g = 0;
    for (int i = 0; i < a.n; i++)
        if (fo_wanders(f, a.atom[i], ctas)) g = fo_gcd(g, a.coef[i]);
    for (int i = 0; i < b.n; i++)
        if (fo_wanders(f, b.atom[i], ctas)) g = fo_gcd(g, b.coef[i]);
    for (int i = 0; i < d.n; i++) g = fo_gcd(g, d.coef[i]);
    *at = d.c;
    *by = g;
    return true;
}

int weiri_forms_base(weiri_forms *f, const weiri_span *x, int64_t *at) {
    lin a;
    if (!start_of(f, x, &a)) return -1;
    for (int i = 0; i < a.n; i++)
        if (fo_wanders(f, a.atom[i], true)) return -1;
    *at = a.c;
    for (int i = 0; i < f->bases.n; i++)
        if (fo_same_terms(&f->bases.v[i], &a)) return i;
    WEIRI_PUSH(f->a, f->bases, a);
    return f->bases.n - 1;
}

weiri_meet weiri_forms_meet(weiri_forms *f, const weiri_span *x, const weiri_span *y, bool ctas) {
    int64_t at, by;
    if (!distance(f, x, y, ctas, &at, &by)) return SPANS_MAY;
    if (!by) return at < y->extent && -at < x->extent ? SPANS_MEET : SPANS_APART;
    int64_t r = at - fo_floor_div(at, by) * by;
    return r < y->extent || by - r < x->extent ? SPANS_MAY : SPANS_APART;
}

bool weiri_forms_aligned(weiri_forms *f, const weiri_span *x, const weiri_span *y) {
    int64_t at, by;
    if (x->extent != y->extent || !distance(f, x, y, false, &at, &by)) return false;
    return by ? at % by == 0 && by >= x->extent : at == 0;
}

bool fo_index(weiri_forms *f, const weiri_node *loop, int *atom) {
    lin i;
    if (!fo_iteration(f, loop, &i)) return false;
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
        bool same = !fo_wanders(f, a.atom[i], false);
        for (int q = 0; q < o->n; q++) same = same || (o->told[q] && o->index[q] == a.atom[i]);
        if (a.atom[i] == o->index[l]) coef = a.coef[i] < 0 ? -a.coef[i] : a.coef[i];
        else if (!same) rest.atom[rest.n] = a.atom[i], rest.coef[rest.n++] = a.coef[i];
    }
    int64_t lo = fo_low(f, &rest, 0), hi = fo_high(f, &rest, 0);
    return lo != -NO_BOUND && hi != NO_BOUND && coef - (hi - lo) >= x->extent;
}

bool weiri_forms_moved(weiri_forms *f, const weiri_span *x, int rank, const weiri_node *node) {
    around o = { 0 };
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent) {
        if (n->kind != NODE_LOOP) continue;
        if (!fo_index(f, n, &o.index[o.n++])) return false;
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
        const weiri_value *v = a->kind == ATOM_VALUE || a->kind == ATOM_ITER ? weiri_val(f->k, a->id) : NULL; /* no place has an ATOM_TRIPS */
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
    *lo = fo_low(f, &rest, 0);
    *hi = fo_high(f, &rest, 0);
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
