/* What integers of the source are known to be: whether a sum may wrap, what a division may be written as. */
#include "emit.h"

bool em_is_whole(weir_dtype t) { return !em_is_float(t) && t != WEIR_DTYPE_NONE; }

/* Every integer of the dtype; of u64 what fits here. */
value_range em_whole_range(weir_dtype t) {
    const int bits = t == WEIR_BOOL ? 1 : 8 * weir_dtype_size(t);
    const bool sign = t == WEIR_I8 || t == WEIR_I16 || t == WEIR_I32 || t == WEIR_I64;
    if (!em_is_whole(t) || bits == 64) return (value_range){ .lo = sign || !em_is_whole(t) ? INT64_MIN : 0, .hi = INT64_MAX };
    const int64_t top = (int64_t)1 << (bits - (sign ? 1 : 0));
    return (value_range){ .lo = sign ? -top : 0, .hi = top - 1 };
}

static bool leaves(value_range r, value_range in) { return r.lo < in.lo || r.hi > in.hi; }

enum {
    TILE_EDGE = 65536
}; /* a number of tiles times the tile's extent counts elements, and fits; times more it may be a hash */

/* a + b, a - b, a * b without an end; false: 64 bits do not hold it. */
static bool combine(weir_op op, value_range x, value_range y, value_range *out) {
    int64_t v[4];
    bool none = false;
    for (int i = 0; i < 4; i++) {
        const int64_t p = i & 1 ? x.hi : x.lo, q = i & 2 ? y.hi : y.lo;
        none |= op == WEIR_OP_ADD   ? __builtin_add_overflow(p, q, &v[i])
                : op == WEIR_OP_SUB ? __builtin_sub_overflow(p, q, &v[i])
                                    : __builtin_mul_overflow(p, q, &v[i]);
    }
    *out = (value_range){ .lo = v[0], .hi = v[0] };
    for (int i = 1; i < 4; i++) {
        if (v[i] < out->lo) out->lo = v[i];
        if (v[i] > out->hi) out->hi = v[i];
    }
    return !none;
}

/* A sum or product: what it counts stays in its dtype, all else wraps where it may leave it. */
static value_range range_of_sum(emitter *e, const weiri_value *v) {
    const value_range x = em_range_of(e, v->arg[0]), y = em_range_of(e, v->arg[1]), all = em_whole_range(v->dtype);
    value_range r = { 0 };
    const bool known = combine(v->op, x, y, &r) && v->dtype != WEIR_U64, counts = x.counts && y.counts;
    r.counts = counts;
    r.size = x.size || y.size;
    if (known && !leaves(r, all)) return r;
    const int64_t most = v->op == WEIR_OP_MUL ? TILE_EDGE : UINT32_MAX; /* what may stand beside a size */
    const bool x_small = x.lo >= -most && x.hi <= most, y_small = y.lo >= -most && y.hi <= most;
    const bool fits = (x.size && (y.size || y_small)) || (y.size && x_small);
    if (!counts || !fits) return (value_range){ .lo = all.lo, .hi = all.hi, .wraps = em_is_whole(v->dtype) };
    if (!known || r.lo < all.lo) r.lo = all.lo;
    if (!known || r.hi > all.hi) r.hi = all.hi;
    return r;
}

/* What the launch and the walk bring: sizes, places, indices, plain numbers. false: it is made of others. */
static bool range_of_leaf(emitter *e, const weiri_value *v, value_range *r) {
    const value_range size = { .lo = 0, .hi = INT32_MAX, .counts = true, .size = true };
    switch (v->op) {
    case WEIR_OP_INT: *r = (value_range){ .lo = v->i, .hi = v->i, .counts = true }; return true;
    case WEIR_OP_DIM:
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE:
    case WEIR_OP_QUEUE_INDEX: *r = size; return true;
    case WEIR_OP_INDEX: {
        int64_t step;
        const bool up = v->loop && weiri_value_const(e->k, v->loop->step, &step) && step > 0;
        *r = size;
        if (!up || em_range_of(e, v->loop->start).lo < 0) r->lo = INT32_MIN;
        return true;
    }
    case WEIR_OP_CTA: *r = (value_range){ .lo = 0, .hi = e->p->cluster, .counts = true }; return true;
    case WEIR_OP_ROW: *r = (value_range){ .lo = 0, .hi = v->rows - 1, .counts = true }; return true;
    case WEIR_OP_COL: *r = (value_range){ .lo = 0, .hi = v->cols - 1, .counts = true }; return true;
    default: *r = em_whole_range(v->dtype); return v->nargs == 0;
    }
}

/* Does it count what its arguments count? Not what is loaded, or an author's. */
static void inherit(emitter *e, const weiri_value *v, value_range *r) {
    if (v->op == WEIR_OP_LOAD || v->op == WEIR_OP_RETURN || v->op == WEIR_OP_READ_REG) return;
    r->counts = true;
    for (int i = 0; i < v->nargs; i++) {
        const value_range x = v->arg[i] ? em_range_of(e, v->arg[i]) : (value_range){ .counts = true };
        r->counts = r->counts && x.counts;
        r->size = r->size || x.size;
    }
}

static value_range find_range(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    const value_range all = em_whole_range(v->dtype);
    value_range r;
    if (range_of_leaf(e, v, &r)) return r;
    if (v->op == WEIR_OP_ADD || v->op == WEIR_OP_SUB || v->op == WEIR_OP_MUL) return range_of_sum(e, v);
    inherit(e, v, &r);
    value_range x = em_range_of(e, v->arg[0]);
    const value_range y = v->nargs > 1 ? em_range_of(e, v->arg[1]) : x;
    switch (v->op) {
    case WEIR_OP_SELECT:
        x = em_range_of(e, v->arg[2]);
        /* fall through */
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: {
        if (!em_is_whole(v->dtype) || leaves(x, all) || leaves(y, all)) break; /* -1 beside a u32 is another number */
        const bool low = v->op == WEIR_OP_MIN, high = v->op == WEIR_OP_MAX;
        r.lo = high ? (x.lo > y.lo ? x.lo : y.lo) : x.lo < y.lo ? x.lo : y.lo;
        r.hi = low ? (x.hi < y.hi ? x.hi : y.hi) : x.hi > y.hi ? x.hi : y.hi;
        break;
    }
    case WEIR_OP_MOD:
        if (y.lo >= 0 && !leaves(x, all)) r.lo = 0, r.hi = y.hi > 0 ? y.hi - 1 : 0;
        break;
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV:
        if (x.lo >= 0 && y.lo >= 0) r.lo = 0, r.hi = x.hi;
        break;
    case WEIR_OP_TILE_COLS: return x;
    case WEIR_OP_CAST: {
        const weir_dtype from = weiri_val(e->k, v->arg[0])->dtype;
        if (em_is_whole(v->dtype) && em_is_whole(from) && from != WEIR_U64 && !leaves(x, all)) r.lo = x.lo, r.hi = x.hi;
        break;
    }
    default: break;
    }
    return r;
}

value_range em_range_of(emitter *e, uint32_t id) {
    value_range *r = &e->range[id];
    if (!r->known) {
        value_range found = find_range(e, id);
        found.known = true;
        e->range[id] = found;
    }
    return e->range[id];
}

static bool find_nonneg(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    switch (v->op) {
    case WEIR_OP_INT: return v->i >= 0;
    case WEIR_OP_DIM:
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE:
    case WEIR_OP_QUEUE_INDEX:
    case WEIR_OP_CTA:
    case WEIR_OP_ROW:
    case WEIR_OP_COL: return true;
    case WEIR_OP_INDEX: {
        int64_t s;
        return v->loop && em_nonneg(e, v->loop->start) && weiri_value_const(e->k, v->loop->step, &s) && s > 0;
    }
    case WEIR_OP_ADD:
    case WEIR_OP_MUL:
        if (em_range_of(e, id).wraps) return false;
        /* fall through */
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_MIN: return em_nonneg(e, v->arg[0]) && em_nonneg(e, v->arg[1]);
    case WEIR_OP_MOD: return em_nonneg(e, v->arg[1]);
    case WEIR_OP_MAX: return em_nonneg(e, v->arg[0]) || em_nonneg(e, v->arg[1]);
    case WEIR_OP_SELECT: return em_nonneg(e, v->arg[1]) && em_nonneg(e, v->arg[2]);
    default: return false;
    }
}

bool em_nonneg(emitter *e, uint32_t id) {
    if (!e->sign[id]) e->sign[id] = find_nonneg(e, id) ? 1 : 2;
    return e->sign[id] == 1;
}

bool em_is_index(emitter *e, uint32_t id) { return em_range_of(e, id).counts; }
