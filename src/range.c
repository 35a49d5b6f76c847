/* Values with the launch's arguments known. Whole numbers are exact: what a 32-bit machine would wrap is a misfit. */
#include "range.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 20000 }; /* shared subexpressions are walked each time */

static const weiri_range unknown = { 0 };

static weiri_range span(int64_t lo, int64_t hi) { return (weiri_range){ .known = true, .lo = lo, .hi = hi }; }
static weiri_range number(double x, weir_dtype t) {
    return (weiri_range){ .known = true, .real = true, .f = t == WEIR_F64 ? x : (double)(float)x };
}
static bool point(const weiri_range *x) {
    return x->known && !x->real && x->lo == x->hi; /* cover: assert: only whole numbers are asked for theirs */
}
static double as_float(const weiri_range *x) { return x->real ? x->f : (double)x->lo; }

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static weiri_range misfit(weiri_env *e, uint32_t id, int64_t reaches, bool by_zero) {
    if (!e->misfit) e->misfit = id, e->reaches = reaches, e->by_zero = by_zero;
    return unknown;
}

/* Least and greatest number of a type. */
static weiri_range limits(weir_dtype t) {
    switch (t) {
    case WEIR_I8: return span(INT8_MIN, INT8_MAX);
    case WEIR_U8: return span(0, UINT8_MAX);
    case WEIR_I16: return span(INT16_MIN, INT16_MAX);
    case WEIR_U16: return span(0, UINT16_MAX);
    case WEIR_U32: return span(0, UINT32_MAX);
    case WEIR_I64: return span(INT64_MIN, INT64_MAX);
    case WEIR_U64: return span(0, INT64_MAX);
    default: return span(INT32_MIN, INT32_MAX);
    }
}

/* The result, if it stays where it must. */
static weiri_range fit(weiri_env *e, uint32_t id, weiri_range x) {
    weir_dtype t = weiri_val(e->k, id)->dtype;
    weiri_range l = limits(e->counts ? WEIR_I32 : e->large && t == WEIR_I32 ? WEIR_I64 : t);
    if (!e->counts && !e->large && t == WEIR_U32 && x.lo == x.hi) return span((uint32_t)x.lo, (uint32_t)x.lo); /* wraps, as it must */
    if (x.lo < l.lo) return misfit(e, id, x.lo, false);
    return x.hi > l.hi ? misfit(e, id, x.hi, false) : x;
}

/* a op b at one corner; false: beyond 64 bits. */
static bool corner(weir_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case WEIR_OP_ADD: return !__builtin_add_overflow(a, b, out);
    case WEIR_OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case WEIR_OP_MUL: return !__builtin_mul_overflow(a, b, out);
    default:
        if (a == INT64_MIN) return false;
        *out = op == WEIR_OP_IDIV ? floor_div(a, b) : -floor_div(-a, b);
        return true;
    }
}

/* Operations that rise or fall along each side: their ends are at the corners. */
static weiri_range corners(weiri_env *e, uint32_t id, weir_op op, weiri_range x, weiri_range y) {
    int64_t lo = INT64_MAX, hi = INT64_MIN, v;
    for (int i = 0, n = point(&x) && point(&y) ? 1 : 4; i < n; i++) {
        if (!corner(op, i & 1 ? x.hi : x.lo, i & 2 ? y.hi : y.lo, &v)) return misfit(e, id, INT64_MAX, false);
        lo = least(lo, v), hi = most(hi, v);
    }
    return fit(e, id, span(lo, hi));
}

static weiri_range compare(weir_op op, weiri_range x, weiri_range y) {
    if (x.real || y.real) {
        if ((!x.real && !point(&x)) || (!y.real && !point(&y))) return span(0, 1);
        double a = as_float(&x), b = as_float(&y);
        bool t = op == WEIR_OP_LT   ? a < b
                 : op == WEIR_OP_LE ? a <= b
                 : op == WEIR_OP_GT ? a > b
                 : op == WEIR_OP_GE ? a >= b
                 : op == WEIR_OP_EQ ? a == b
                                    : a != b;
        return span(t, t);
    }
    if (op == WEIR_OP_GT || op == WEIR_OP_GE) {
        weiri_range t = x;
        x = y, y = t;
        op = op == WEIR_OP_GT ? WEIR_OP_LT : WEIR_OP_LE;
    }
    bool always, never;
    if (op == WEIR_OP_LT) always = x.hi < y.lo, never = x.lo >= y.hi;
    else if (op == WEIR_OP_LE) always = x.hi <= y.lo, never = x.lo > y.hi;
    else {
        always = x.lo == x.hi && y.lo == y.hi && x.lo == y.lo, never = x.hi < y.lo || y.hi < x.lo;
        if (op == WEIR_OP_NE) {
            bool t = always;
            always = never, never = t;
        }
    }
    return span(always, !never);
}

static weiri_range real_result(const weiri_value *v, double a, double b) {
    switch (v->op) {
    case WEIR_OP_ADD: return number(a + b, v->dtype);
    case WEIR_OP_SUB: return number(a - b, v->dtype);
    case WEIR_OP_MUL: return number(a * b, v->dtype);
    case WEIR_OP_DIV: return number(a / b, v->dtype);
    case WEIR_OP_NEG: return number(-a, v->dtype);
    case WEIR_OP_ABS: return number(fabs(a), v->dtype);
    case WEIR_OP_MIN: return number(fmin(a, b), v->dtype);
    case WEIR_OP_MAX: return number(fmax(a, b), v->dtype);
    default: return unknown; /* what the machine approximates */
    }
}

static weiri_range cast(weiri_env *e, uint32_t id, const weiri_value *v, weiri_range x) {
    if (!x.known) return unknown;
    if (weiri_value_is_float(v->dtype)) {
        if (v->dtype != WEIR_F32 && v->dtype != WEIR_F64) return unknown;
        return x.real ? number(x.f, v->dtype) : point(&x) ? number((double)x.lo, v->dtype) : unknown;
    }
    if (v->dtype == WEIR_BOOL) return x.real ? span(x.f != 0, x.f != 0) : compare(WEIR_OP_NE, x, span(0, 0));
    weiri_range l = limits(v->dtype);
    if (x.real) { /* towards 0 */
        if (!(fabs(x.f) < 9e18)) return unknown;
        int64_t n = (int64_t)x.f;
        return n < l.lo || n > l.hi ? unknown : fit(e, id, span(n, n));
    }
    if (e->counts && x.lo < 0 && v->dtype == WEIR_I64 && weiri_val(e->k, v->arg[0])->dtype == WEIR_U32)
        return misfit(e, v->arg[0], x.lo, false); /* 32 bits hold it, but 64 would not be the same */
    if (x.lo >= l.lo && x.hi <= l.hi) return fit(e, id, x);
    if (weir_dtype_size(v->dtype) >= 4) return misfit(e, id, x.lo < l.lo ? x.lo : x.hi, false);
    if (!point(&x)) return l;
    int64_t n = weiri_value_narrow(v->dtype, x.lo);
    return span(n, n);
}

/* Of any tile of the queue; those of a cluster reach beyond its extent. */
static weiri_range coordinate(weiri_env *e, const weiri_value *v) {
    const weir_cluster *c = &e->k->cluster;
    weiri_range x = weiri_range_of(e, v->res->extent[v->i].id);
    return x.known ? span(0, most(x.hi - 1, 0) + c->v * c->m * c->n - 1) : unknown;
}

static uint64_t mixed(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* One element of a tensor that nobody writes, as all that threads agree on are. */
static weiri_range read_of(weiri_env *e, uint32_t id, const weiri_value *v) {
    const weiri_value *place = weiri_val(e->k, v->arg[0]);
    const bool real = weiri_value_is_float(v->dtype);
    if ((place->op != WEIR_OP_VIEW_AT && place->op != WEIR_OP_VIEW_FROM) || (real && weir_dtype_size(v->dtype) < 4)) return unknown;
    struct weiri_read r = { .tensor = place->res->tensor };
    uint64_t h = mixed(e->memory->seed, (uint64_t)r.tensor->index);
    for (int i = 0; i < place->nargs; i++) {
        weiri_range x = weiri_range_of(e, place->arg[i]);
        if (!point(&x)) return unknown;
        r.at[i] = x.lo; /* its tile is one element */
        h = mixed(h, (uint64_t)r.at[i]);
    }
    const weiri_sampler *s = e->memory->like;
    int64_t n = s->unit[(h >> 8) % (uint64_t)s->nunit] * (int64_t)((h >> 20) % 5) + (int64_t)(h >> 32 & 1);
    if ((h >> 40 & 7) == 0) n = -n;
    r.n = (double)n + (real ? (double)(h >> 44 & 3) / 4 : 0);
    if (e->memory->a) WEIRI_PUSH(e->memory->a, e->memory->reads, r);
    return real ? number(r.n, v->dtype) : fit(e, id, span(n, n));
}

/* Of the last tile that the lane had: every so many is its own. */
static const int64_t *last_of(const weiri_env *e, const weiri_value *v) {
    const int lanes = -v->count, lane = (int)v->f;
    return lane < e->had ? e->all[lane + (e->had - 1 - lane) / lanes * lanes] : NULL;
}

static weiri_range leaf(weiri_env *e, uint32_t id, const weiri_value *v) {
    const weir_cluster *c = &e->k->cluster;
    weiri_range x, y;
    int64_t n;
    switch (v->op) {
    case WEIR_OP_INT: return span(v->i, v->i);
    case WEIR_OP_FLOAT: return number(v->f, v->dtype);
    case WEIR_OP_DIM:
        if (e->dims) return span(e->dims[v->dim], e->dims[v->dim]);
        return span(v->min > 0 ? v->min : 0, v->max > 0 ? least(v->max, INT32_MAX) : INT32_MAX);
    case WEIR_OP_SCALAR:
        if (!e->scalars) return unknown;
        if (weiri_value_is_float(v->dtype)) return number(e->scalars[v->dim], v->dtype);
        if (e->exact && e->exact[v->dim]) { /* a double has 53 bits */
            n = (int64_t)e->wide[v->dim];
            return v->dtype == WEIR_U64 && n < 0 ? unknown : fit(e, id, span(n, n));
        }
        if (!(fabs(e->scalars[v->dim]) < 9e18)) return unknown;
        return fit(e, id, span((int64_t)e->scalars[v->dim], (int64_t)e->scalars[v->dim]));
    case WEIR_OP_COORD: return e->coord ? span(e->coord[v->i], e->coord[v->i]) : coordinate(e, v);
    case WEIR_OP_BEFORE: {
        const int64_t *before = v->count < 0 ? last_of(e, v) : v->count < WEIRI_PAST ? e->before[v->count] : NULL;
        return before ? span(before[v->i], before[v->i]) : coordinate(e, v);
    }
    case WEIR_OP_LOAD: return e->memory ? read_of(e, id, v) : unknown;
    case WEIR_OP_QUEUE_INDEX: return e->qindex ? span(*e->qindex, *e->qindex) : unknown;
    case WEIR_OP_CTA: {
        int size[] = { c->v, c->m, c->n, c->k }, all = c->v * c->m * c->n * c->k, below = 1, i = 0;
        if (v->i == 'r') return e->cta >= 0 ? span(e->cta, e->cta) : span(0, all - 1);
        for (const char *axis = "vmnk"; i < 3 && axis[i] != v->i; i++) below *= size[i];
        return e->cta >= 0 ? span(e->cta / below % size[i], e->cta / below % size[i]) : span(0, size[i] - 1);
    }
    case WEIR_OP_INDEX:
        if (e->index && e->index(e->of, v->loop, &n)) return span(n, n);
        x = weiri_range_of(e, v->loop->start);
        y = weiri_range_of(e, v->loop->stop);
        if (!x.known || !y.known) return unknown;
        if (e->within && weiri_value_const(e->k, v->loop->step, &n) && n > 0) return span(x.lo, most(x.lo, y.hi - 1));
        return span(least(x.lo, y.lo), most(x.hi, y.hi));
    default: return unknown;
    }
}

static weiri_range range_of(weiri_env *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (e->steps++ > MOST_STEPS) return unknown;
    if (v->kind == WEIR_VALUE_VIEW || v->kind == WEIR_VALUE_TILE || (e->whole && weiri_value_is_float(v->dtype))) return unknown;
    if (v->op < WEIR_OP_ADD || v->op > WEIR_OP_CAST) return leaf(e, id, v);
    bool counts = e->counts, asks = v->op >= WEIR_OP_LT && v->op <= WEIR_OP_NOT;
    weiri_range x[3] = { unknown, unknown, unknown };
    e->counts = counts && !asks && v->op != WEIR_OP_SELECT; /* a condition counts nothing */
    x[0] = weiri_range_of(e, v->arg[0]);
    e->counts = counts && !asks;
    if (v->op == WEIR_OP_SELECT && point(&x[0])) {
        x[0] = weiri_range_of(e, v->arg[x[0].lo ? 1 : 2]);
        e->counts = counts;
        return x[0].known && !x[0].real ? fit(e, id, x[0]) : x[0];
    }
    for (int i = 1; i < v->nargs; i++) x[i] = weiri_range_of(e, v->arg[i]);
    e->counts = counts;
    if (v->op == WEIR_OP_CAST) return cast(e, id, v, x[0]);
    if (e->within && v->op == WEIR_OP_MOD && point(&x[1]) && x[1].lo > 0) return span(0, x[1].lo - 1); /* of whatever number */
    for (int i = v->op == WEIR_OP_SELECT; i < v->nargs; i++)
        if (!x[i].known) return unknown;
    const weir_dtype signless = weiri_value_signless(e->k, id);
    for (int i = 0; signless && i < 2; i++) {
        if (x[i].lo >= 0) continue;
        if (signless == WEIR_U32 && !counts && !e->large && point(&x[i])) x[i] = span((uint32_t)x[i].lo, (uint32_t)x[i].lo);
        else return asks ? span(0, 1) : misfit(e, v->arg[i], x[i].lo, false);
    }
    if (v->op >= WEIR_OP_LT && v->op <= WEIR_OP_NE) return compare(v->op, x[0], x[1]);
    bool real = weiri_value_is_float(v->dtype);
    if (real) {
        for (int i = 0; i < v->nargs; i++)
            if (!x[i].real && !point(&x[i])) return unknown;
        return real_result(v, as_float(&x[0]), v->nargs > 1 ? as_float(&x[1]) : 0);
    }
    switch (v->op) {
    case WEIR_OP_ADD: case WEIR_OP_SUB: case WEIR_OP_MUL: return corners(e, id, v->op, x[0], x[1]);
    case WEIR_OP_NEG: return corners(e, id, WEIR_OP_SUB, span(0, 0), x[0]);
    case WEIR_OP_ABS:
        if (x[0].lo == INT64_MIN) return unknown;
        return fit(e, id, span(x[0].lo > 0 ? x[0].lo : x[0].hi < 0 ? -x[0].hi : 0, most(-x[0].lo, x[0].hi)));
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_MOD:
        if (x[1].lo == 0 && x[1].hi == 0) return misfit(e, id, 0, true);
        if (x[1].lo <= 0 && x[1].hi >= 0) return unknown;
        if (v->op != WEIR_OP_MOD) return corners(e, id, v->op, x[0], x[1]);
        if (point(&x[0]) && point(&x[1])) {
            if (x[0].lo == INT64_MIN) return unknown;
            int64_t n = x[0].lo - floor_div(x[0].lo, x[1].lo) * x[1].lo;
            return span(n, n);
        }
        if (x[1].lo < 0) return span(x[1].lo + 1, 0);
        return x[0].lo >= 0 && x[0].hi < x[1].lo ? x[0] : span(0, x[1].hi - 1);
    case WEIR_OP_MIN: return span(least(x[0].lo, x[1].lo), least(x[0].hi, x[1].hi));
    case WEIR_OP_MAX: return span(most(x[0].lo, x[1].lo), most(x[0].hi, x[1].hi));
    case WEIR_OP_AND: return span(x[0].lo && x[1].lo, x[0].hi && x[1].hi);
    case WEIR_OP_OR: return span(x[0].lo || x[1].lo, x[0].hi || x[1].hi);
    case WEIR_OP_NOT: return span(!x[0].hi, !x[0].lo);
    default: return fit(e, id, span(least(x[1].lo, x[2].lo), most(x[1].hi, x[2].hi))); /* SELECT */
    }
}

weiri_range weiri_range_of(weiri_env *e, uint32_t id) {
    int place = e->memo ? e->memo->place[id] : 0;
    if (!place) return range_of(e, id);
    struct weiri_remembered *x = &e->memo->v.v[place - 1];
    const int stamp = x->moves ? e->memo->number : e->memo->all;
    if (x->stamp != stamp) { /* what does not fit its type stays unknown */
        x->of = range_of(e, id);
        x->stamp = stamp;
    }
    return x->of;
}

void weiri_memo_add(weiri_memo *m, const weir_kernel *k, weiri_arena *a, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    if (!m->place) m->place = WEIRI_NEW_N(a, int, k->values.n + 1);
    if (m->place[id]) return;
    struct weiri_remembered x = { .moves = v->op == WEIR_OP_QUEUE_INDEX };
    for (int i = 0; i < v->nargs; i++) {
        weiri_memo_add(m, k, a, v->arg[i]);
        x.moves = x.moves || m->v.v[m->place[v->arg[i]] - 1].moves;
    }
    WEIRI_PUSH(a, m->v, x);
    m->place[id] = m->v.n;
}

bool weiri_range_number(weiri_env *e, uint32_t id, int64_t *out) {
    e->misfit = 0;
    e->steps = 0;
    weiri_range x = weiri_range_of(e, id);
    *out = x.lo;
    return point(&x); /* of a misfit nothing is known */
}

bool weiri_range_allowed(const weiri_env *e) {
    const weir_kernel *k = e->k;
    weiri_env of = { .k = k, .dims = e->dims, .scalars = e->scalars, .cta = -1, .large = true };
    int64_t holds;
    for (int i = 0; i < k->assumes.n; i++)
        if (!weiri_range_number(&of, k->assumes.v[i], &holds) || !holds) return false;
    return true;
}

typedef struct one_index { const weiri_node *loop; int64_t index; } one_index;

static bool its_index(const void *of, const weiri_node *loop, int64_t *out) {
    const one_index *x = of;
    *out = x->index;
    return loop == x->loop;
}

bool weiri_range_at(const weir_kernel *k, uint32_t id, const weiri_node *loop, int64_t index, int64_t *out) {
    const one_index x = { loop, index };
    weiri_env e = { .k = k, .cta = -1, .whole = true, .index = its_index, .of = &x };
    return weiri_range_number(&e, id, out);
}

bool weiri_range_cta(const weir_kernel *k, uint32_t id, int cta, int64_t *out) {
    weiri_env e = { .k = k, .cta = cta, .whole = true };
    return weiri_range_number(&e, id, out);
}

bool weiri_range_counts(weiri_env *e, const weiri_node **loop) {
    const weir_kernel *k = e->k;
    e->counts = true;
    e->misfit = 0;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n)) {
            if (n->kind != NODE_LOOP) continue;
            e->steps = 0;
            *loop = n;
            weiri_range from = weiri_range_of(e, n->start), to = weiri_range_of(e, n->stop), by = weiri_range_of(e, n->step);
            if (e->misfit) return false;
            if (!to.known || !by.known || !from.known) continue;
            /* the index takes one step beyond its end */
            if (by.hi > 1 && to.hi > INT32_MAX - by.hi + 1) misfit(e, n->stop, to.hi + by.hi - 1, false);
            if (by.lo < -1 && to.lo < INT32_MIN - by.lo - 1) misfit(e, n->stop, to.lo + by.lo + 1, false);
            if (e->misfit) return false;
        }
    return true;
}

/* ---- arguments to try --------------------------------------------------------------------------------------------------- */

weiri_sampler weiri_sampler_new(const weir_kernel *k) {
    weiri_sampler s = { .k = k, .seed = 88172645463325252ull, .unit = { 1 }, .nunit = 1, .ncount = 1 };
    for (int i = 1; i < k->values.n && s.nunit < 16; i++)
        if (k->values.v[i].op == WEIR_OP_INT && k->values.v[i].i > 1 && k->values.v[i].i < 100000)
            s.unit[s.nunit++] = k->values.v[i].i;
    return s;
}

void weiri_sampler_like(weiri_sampler *s, int64_t count) {
    if (s->ncount < 8) s->count[s->ncount++] = count;
}

void weiri_sampler_next(weiri_sampler *s, int64_t *dims, double *scalars) {
    static const double odd[] = { 1e8, 1e-10, HUGE_VAL, NAN };
    const weir_kernel *k = s->k;
    for (int i = 0; i < k->dims.n + k->scalars.n; i++) {
        bool dim = i < k->dims.n;
        const weiri_value *d = weiri_val(k, dim ? k->dims.v[i] : k->scalars.v[i - k->dims.n]);
        uint64_t r = s->seed;
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        s->seed = r;
        int64_t top = 2 + s->attempt / 200, m = d->multiple > 0 ? d->multiple : 1, u = s->unit[(r >> 8) % (uint64_t)s->nunit];
        int64_t n = r >> 41 & 1 ? s->count[(r >> 20) % (uint64_t)s->ncount] : (int64_t)((r >> 20) % (uint64_t)top);
        int64_t x = u * n + (s->attempt & 1 ? (int64_t)(r >> 40 & 1) : 0);
        if (dim) {
            x = most(x, d->min);
            if (d->max > 0) x = least(x, d->max);
            dims[i] = (x + m - 1) / m * m;
            continue;
        }
        /* scalars may be less than 0, floats between whole numbers, so large that they swallow others, or no number */
        double *y = &scalars[i - k->dims.n];
        *y = (double)x;
        if (!weiri_value_is_float(d->dtype)) {
            if ((r >> 44 & 7) == 7) *y += (double)((int64_t)128 << (r >> 47 & 3) * 4); /* beyond narrower types */
        } else *y = (r >> 44 & 7) == 7 ? odd[r >> 47 & 3] : *y + (double)(r >> 47 & 3) / 4;
        if ((r >> 50 & 7) == 7 && d->dtype != WEIR_U32 && d->dtype != WEIR_U64) *y = 0 - *y;
    }
    s->attempt++;
}

bool weiri_sampler_tile(weiri_sampler *s, weiri_env *e, const weir_res *queue, int64_t *coord) {
    for (int i = 0; i < queue->qrank; i++) {
        int64_t extent;
        weiri_range_number(e, queue->extent[i].id, &extent); /* 0 if it cannot be computed */
        if (extent < 1) return false;
        s->seed ^= s->seed << 13, s->seed ^= s->seed >> 7, s->seed ^= s->seed << 17;
        coord[i] = (int64_t)((s->seed >> 20) % (uint64_t)least(extent, 8));
    }
    return true;
}

static const weir_res *queue_of(const weir_kernel *k, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_COORD) return v->res;
    const weir_res *q = NULL;
    for (int i = 0; i < v->nargs && !q; i++) q = weiri_visit(k, v->arg[i]) ? queue_of(k, v->arg[i]) : NULL;
    return q;
}

const weir_res *weiri_range_queue(const weir_kernel *k, uint32_t id) {
    weiri_visit_begin(k);
    return queue_of(k, id);
}

static void mark_used(const weir_kernel *k, uint32_t id, bool *dims, bool *scalars) {
    if (!weiri_visit(k, id)) return;
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_DIM) dims[v->dim] = true;
    if (v->op == WEIR_OP_SCALAR) scalars[v->dim] = true;
    for (int i = 0; i < v->nargs; i++) mark_used(k, v->arg[i], dims, scalars);
}

void weiri_range_used(const weir_kernel *k, uint32_t id, bool *dims, bool *scalars) {
    weiri_visit_begin(k);
    mark_used(k, id, dims, scalars);
}

void weiri_range_put_args(const weir_kernel *k, const char *lead, const int64_t *dims, const double *scalars, const bool *dim_used,
                          const bool *scalar_used, weiri_buf *out) {
    for (int i = 0; i < k->dims.n; i++)
        if (dim_used[i]) weiri_put(out, "%s%s = %" PRId64, lead, weiri_val(k, k->dims.v[i])->name, dims[i]), lead = ", ";
    for (int i = 0; i < k->scalars.n; i++)
        if (scalar_used[i]) weiri_put(out, "%s%s = %g", lead, weiri_val(k, k->scalars.v[i])->name, scalars[i]), lead = ", ";
}

void weiri_memory_put(const weiri_memory *m, const char *lead, weiri_buf *out) {
    for (int i = m->reads.n - 1, n = 0; i >= 0 && n < 3; i--) {
        const struct weiri_read *x = &m->reads.v[i];
        bool said = false;
        for (int j = i + 1; j < m->reads.n && !said; j++)
            said = m->reads.v[j].tensor == x->tensor && !memcmp(m->reads.v[j].at, x->at, sizeof x->at);
        if (said) continue;
        weiri_put(out, "%s%s[", lead, x->tensor->name);
        for (int axis = 0; axis < x->tensor->rank; axis++) weiri_put(out, "%s%" PRId64, axis ? ", " : "", x->at[axis]);
        weiri_put(out, "] = %g", x->n);
        lead = ", ";
        n++;
    }
}
