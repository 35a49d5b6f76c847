/* Conditions on nothing but a loop's index, in a loop that starts and steps by plain numbers: each comes out the same in every
 * task that asks, so it is worked out. From some iteration on it repeats itself. */
#include "prove.h"

enum { MOST = 64, DEEP = 16 };

/* A value in iteration j of the loop: from `pre` on, it is `up` more each `period` iterations. */
typedef struct wave { int64_t pre, period, up; } wave;

typedef struct around { const weir_kernel *k; const weiri_node *loop; int64_t first, step; } around;

static int64_t common(int64_t x, int64_t y) {
    while (y) {
        int64_t r = x % y;
        x = y, y = r;
    }
    return x < 0 ? -x : x;
}

/* How much x rises in `period` iterations, a multiple of its own. */
static int64_t rise(const wave *x, int64_t period) { return x->up * (period / x->period); }

/* What both together repeat. */
static bool join(wave *x, const wave *y) {
    x->period = x->period / common(x->period, y->period) * y->period;
    if (x->pre < y->pre) x->pre = y->pre;
    return x->period <= MOST;
}

static bool at(const around *o, uint32_t id, int64_t j, int64_t *out) {
    return weiri_range_at(o->k, id, o->loop, o->first + j * o->step, out);
}

/* From which iteration on is x - y, which rises or falls, on one side of 0 for good? */
static bool apart(const around *o, uint32_t x, uint32_t y, wave *w) {
    int64_t worst = INT64_MAX, up = w->up > 0 ? w->up : -w->up;
    for (int64_t j = w->pre; j < w->pre + w->period; j++) {
        int64_t a, b;
        if (!at(o, x, j, &a) || !at(o, y, j, &b)) return false;
        int64_t d = w->up > 0 ? a - b : b - a;
        if (d < worst) worst = d;
    }
    if (worst <= 0) w->pre += w->period * (-worst / up + 1);
    return w->pre <= MOST;
}

static bool whole(const around *o, uint32_t id) {
    weir_dtype t = weiri_val(o->k, id)->dtype;
    return t == WEIR_I32 || t == WEIR_I64;
}

/* Of an operation on x and y, of which one rises at least; *out repeats what both repeat. */
static bool rising(const around *o, const weiri_value *v, const wave *x, const wave *y, wave *out) {
    const int64_t p = out->period;
    int64_t n;
    switch (v->op) {
    case WEIR_OP_ADD: out->up = rise(x, p) + rise(y, p); return true;
    case WEIR_OP_SUB: out->up = rise(x, p) - rise(y, p); return true;
    case WEIR_OP_NEG: out->up = -x->up; return true;
    case WEIR_OP_MUL:
        for (int i = 0; i < 2; i++)
            if (weiri_value_const(o->k, v->arg[i], &n) && n <= INT32_MAX && n >= INT32_MIN) {
                out->up = n * (i ? x : y)->up;
                return out->up <= INT32_MAX && out->up >= INT32_MIN;
            }
        return false;
    case WEIR_OP_IDIV: case WEIR_OP_CEIL_DIV: case WEIR_OP_MOD: {
        if (!weiri_value_const(o->k, v->arg[1], &n) || n <= 0 || n > MOST) return false;
        int64_t times = n / common(n, x->up); /* up to where it rises by whole multiples of n */
        out->period = x->period * times;
        if (v->op != WEIR_OP_MOD) out->up = x->up * times / n;
        return out->period <= MOST;
    }
    case WEIR_OP_LT: case WEIR_OP_LE: case WEIR_OP_GT: case WEIR_OP_GE: case WEIR_OP_EQ: case WEIR_OP_NE: {
        wave d = { out->pre, p, rise(x, p) - rise(y, p) };
        if (d.up && !apart(o, v->arg[0], v->arg[1], &d)) return false;
        out->pre = d.pre;
        return true;
    }
    default: return false;
    }
}

static bool wave_of(const around *o, uint32_t id, int depth, wave *out) {
    const weiri_value *v = weiri_val(o->k, id);
    wave x[3];
    *out = (wave){ 0, 1, 0 };
    if (weiri_value_const(o->k, id, NULL)) return true;
    if (v->op == WEIR_OP_INDEX) {
        out->up = o->step;
        return v->loop == o->loop;
    }
    if (v->op < WEIR_OP_ADD || v->op > WEIR_OP_CAST || depth == DEEP) return false;
    bool even = true, all_whole = true; /* nothing in it rises */
    for (int i = 0; i < v->nargs; i++) {
        if (!wave_of(o, v->arg[i], depth + 1, &x[i]) || !join(out, &x[i])) return false;
        even = even && !x[i].up;
        all_whole = all_whole && whole(o, v->arg[i]);
    }
    return even || (all_whole && rising(o, v, &x[0], &x[1], out));
}

static bool nth(const weiri_truths *t, int i) { return t->truth >> i & 1; }

/* Conditions that come out alike are the same truths, however they are written. */
static void shorten(weiri_truths *t) {
    int p = 1;
    for (int j = t->pre; j + p < t->pre + t->period;
         j++) /* the least number that it repeats itself by, and that divides the one there is */
        if (t->period % p || nth(t, j) != nth(t, j + p)) p++, j = t->pre - 1;
    t->period = p;
    while (t->pre > 0 && nth(t, t->pre - 1) == nth(t, t->pre - 1 + p)) t->pre--;
    t->truth &= ~(uint64_t)0 >> (64 - t->pre - p);
}

bool weiri_index_truths(const weir_kernel *k, uint32_t condition, weiri_truths *out) {
    const weiri_node *loop = weiri_val(k, condition)->scope;
    around o = { .k = k, .loop = loop };
    wave w;
    weiri_env all = { .k = k, .cta = -1 }; /* of any launch */
    if (!loop || loop->kind != NODE_LOOP || !weiri_value_const(k, loop->start, &o.first) ||
        !weiri_value_const(k, loop->step, &o.step) || o.step > INT16_MAX || o.step < INT16_MIN ||
        !wave_of(&o, condition, 0, &w) || w.pre + w.period > MOST)
        return false;
    weiri_range_of(&all, condition);
    if (all.misfit) return false; /* what leaves 32 bits does not repeat itself */
    *out = (weiri_truths){ .loop = loop, .pre = (int)w.pre, .period = (int)w.period };
    for (int64_t j = 0; j < w.pre + w.period; j++) {
        int64_t n;
        if (!at(&o, condition, j, &n)) return false;
        if (n) out->truth |= (uint64_t)1 << j;
    }
    shorten(out);
    return true;
}
