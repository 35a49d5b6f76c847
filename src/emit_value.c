/* Values, views and addresses as expressions, in the author's names. */
#include "emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------------------------------ */

void em_line(emitter *e, const char *fmt, ...) {
    weiri_put(e->o, "%*s", 2 * e->depth, "");
    va_list ap;
    va_start(ap, fmt);
    weiri_putv(e->o, fmt, ap);
    va_end(ap);
    weiri_put(e->o, "\n");
}

const char *em_fmt(emitter *e, const char *f, ...) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    va_list ap;
    va_start(ap, f);
    weiri_putv(&b, f, ap);
    va_end(ap);
    const char *s = weiri_arena_str(e->a, b.s ? b.s : "");
    weiri_buf_free(&b);
    return s;
}

static int line_now(emitter *e) {
    for (; e->counted < e->o->n; e->counted++)
        if (e->o->s[e->counted] == '\n') e->lines++;
    return e->lines + 1;
}

/* After text that came from the author's file: numbering goes on in ours. */
void em_own_line(emitter *e) { weiri_put(e->o, "#line %d \"%s.cu\"\n", line_now(e) + 1, e->k->name); }

const char *em_arg(emitter *e, const char *name) { return weiri_name(e->p, NAME_ARGUMENT, 0, name); }
const char *em_tensor(emitter *e, const weir_tensor *t) { return weiri_name(e->p, NAME_TENSOR, 0, t->name); }
const char *em_reg(emitter *e, const weir_res *r) { return weiri_name(e->p, NAME_REG, r->index, r->name); }
const char *em_queue(emitter *e, const weir_res *q) { return weiri_name(e->p, NAME_QUEUE, q->index, q->name); }
const char *em_bar(emitter *e, int bar) { return weiri_name(e->p, NAME_BARRIER, bar, e->p->bars.v[bar].name); }
const char *em_map(emitter *e, int tmap) { return weiri_name(e->p, NAME_MAP, tmap, e->p->tmaps.v[tmap].name); }

const char *em_region(emitter *e, int region) {
    const weiri_region *g = &e->p->smem.v[region];
    return weiri_name(e->p, NAME_REGION, region, em_fmt(e, "%s%s", g->name, g->tmem ? "_tmem" : "_smem"));
}

const weir_place *em_place_of(const weiri_action *a) { return a->op && a->op->at.n ? a->op->at.at : NULL; }

/* A chunk's name may hold anything: no line ends where it stands. */
const char *em_base_name(emitter *e, const char *path) {
    char *copy = weiri_arena_str(e->a, weiri_file_name(path));
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    return copy;
}

const char *em_quoted(emitter *e, const char *path) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    for (; *path; path++) weiri_put(&b, *path == '"' || *path == '\\' ? "\\%c" : "%c", (unsigned char)*path < ' ' ? '?' : *path);
    const char *s = em_fmt(e, "\"%s\"", b.s ? b.s : "");
    weiri_buf_free(&b);
    return s;
}

/* ---- scalars ----------------------------------------------------------------------------------------------------------------- */

static bool is_tile(const weiri_value *v) {
    return v->kind == WEIR_VALUE_TILE || (v->kind == WEIR_VALUE_COND && v->rows > 0 && v->rows * v->cols > 1);
}

/* ---- what integers are known to be ---- */

static bool is_whole(weir_dtype t) { return !em_is_float(t) && t != WEIR_DTYPE_NONE; }

/* Every integer of the dtype; of u64 what fits here. */
static value_range whole_range(weir_dtype t) {
    const int bits = t == WEIR_BOOL ? 1 : 8 * weir_dtype_size(t);
    const bool sign = t == WEIR_I8 || t == WEIR_I16 || t == WEIR_I32 || t == WEIR_I64;
    if (!is_whole(t) || bits == 64) return (value_range){ .lo = sign || !is_whole(t) ? INT64_MIN : 0, .hi = INT64_MAX };
    const int64_t top = (int64_t)1 << (bits - (sign ? 1 : 0));
    return (value_range){ .lo = sign ? -top : 0, .hi = top - 1 };
}

static bool leaves(value_range r, value_range in) { return r.lo < in.lo || r.hi > in.hi; }

static value_range range_of(emitter *e, uint32_t id);

enum { TILE_EDGE = 65536 }; /* a number of tiles times the tile's extent counts elements, and fits; times more it may be a hash */

/* a + b, a - b, a * b without an end, `none` where 64 bits do not hold it. */
static bool combine(weir_op op, value_range x, value_range y, value_range *out) {
    int64_t v[4];
    bool none = false;
    for (int i = 0; i < 4; i++) {
        const int64_t p = i & 1 ? x.hi : x.lo, q = i & 2 ? y.hi : y.lo;
        none |= op == WEIR_OP_ADD ? __builtin_add_overflow(p, q, &v[i])
                : op == WEIR_OP_SUB ? __builtin_sub_overflow(p, q, &v[i]) : __builtin_mul_overflow(p, q, &v[i]);
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
    const value_range x = range_of(e, v->arg[0]), y = range_of(e, v->arg[1]), all = whole_range(v->dtype);
    value_range r = { 0 };
    const bool known = combine(v->op, x, y, &r) && v->dtype != WEIR_U64, counts = x.counts && y.counts;
    r.counts = counts;
    r.size = x.size || y.size;
    if (known && !leaves(r, all)) return r;
    const int64_t most = v->op == WEIR_OP_MUL ? TILE_EDGE : UINT32_MAX; /* what may stand beside a size */
    const bool x_small = x.lo >= -most && x.hi <= most, y_small = y.lo >= -most && y.hi <= most;
    const bool fits = (x.size && (y.size || y_small)) || (y.size && x_small);
    if (!counts || !fits) return (value_range){ .lo = all.lo, .hi = all.hi, .wraps = is_whole(v->dtype) };
    if (!known || r.lo < all.lo) r.lo = all.lo;
    if (!known || r.hi > all.hi) r.hi = all.hi;
    return r;
}

static value_range find_range(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    const value_range all = whole_range(v->dtype), size = { .lo = 0, .hi = INT32_MAX, .counts = true, .size = true };
    value_range r = all, x, y;
    switch (v->op) {
    case WEIR_OP_INT: return (value_range){ .lo = v->i, .hi = v->i, .counts = true };
    case WEIR_OP_DIM:
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE:
    case WEIR_OP_QUEUE_INDEX: return size;
    case WEIR_OP_INDEX: {
        int64_t step;
        r = size;
        const bool up = v->loop && weiri_value_const(e->k, v->loop->step, &step) && step > 0;
        if (!up || range_of(e, v->loop->start).lo < 0) r.lo = INT32_MIN;
        return r;
    }
    case WEIR_OP_CTA: return (value_range){ .lo = 0, .hi = e->p->cluster, .counts = true };
    case WEIR_OP_ROW: return (value_range){ .lo = 0, .hi = v->rows - 1, .counts = true };
    case WEIR_OP_COL: return (value_range){ .lo = 0, .hi = v->cols - 1, .counts = true };
    case WEIR_OP_ADD:
    case WEIR_OP_SUB:
    case WEIR_OP_MUL: return range_of_sum(e, v);
    default: break;
    }
    if (!v->nargs) return r;
    /* of the others: what they are made of, and for few how much it is */
    if (v->op != WEIR_OP_LOAD && v->op != WEIR_OP_RETURN && v->op != WEIR_OP_READ_REG) {
        r.counts = true;
        for (int i = 0; i < v->nargs; i++) {
            x = v->arg[i] ? range_of(e, v->arg[i]) : (value_range){ .counts = true };
            r.counts = r.counts && x.counts;
            r.size = r.size || x.size;
        }
    }
    x = range_of(e, v->arg[0]);
    y = v->nargs > 1 ? range_of(e, v->arg[1]) : x;
    switch (v->op) {
    case WEIR_OP_SELECT:
        x = range_of(e, v->arg[2]);
        /* fall through */
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: {
        if (!is_whole(v->dtype) || leaves(x, all) || leaves(y, all)) break; /* -1 beside a u32 is another number */
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
        if (is_whole(v->dtype) && is_whole(from) && from != WEIR_U64 && !leaves(x, all)) r.lo = x.lo, r.hi = x.hi;
        break;
    }
    default: break;
    }
    return r;
}

static value_range range_of(emitter *e, uint32_t id) {
    value_range *r = &e->range[id];
    if (!r->known) {
        value_range found = find_range(e, id);
        found.known = true;
        e->range[id] = found;
    }
    return e->range[id];
}

/* Is the value known to be >= 0? */
static bool find_nonneg(emitter *e, uint32_t id);

static bool nonneg(emitter *e, uint32_t id) {
    if (!e->sign[id]) e->sign[id] = find_nonneg(e, id) ? 1 : 2;
    return e->sign[id] == 1;
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
        return v->loop && nonneg(e, v->loop->start) && weiri_value_const(e->k, v->loop->step, &s) && s > 0;
    }
    case WEIR_OP_ADD:
    case WEIR_OP_MUL:
        if (range_of(e, id).wraps) return false;
        /* fall through */
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_MIN: return nonneg(e, v->arg[0]) && nonneg(e, v->arg[1]);
    case WEIR_OP_MOD: return nonneg(e, v->arg[1]);
    case WEIR_OP_MAX: return nonneg(e, v->arg[0]) || nonneg(e, v->arg[1]);
    case WEIR_OP_SELECT: return nonneg(e, v->arg[1]) && nonneg(e, v->arg[2]);
    default: return false;
    }
}

/* Is the value made of sizes and places alone, and within its dtype? Then it counts something, and does not wrap. */
static bool is_index(emitter *e, uint32_t id) { return range_of(e, id).counts; }

bool em_is_float(weir_dtype t) {
    return t == WEIR_F32 || t == WEIR_F16 || t == WEIR_BF16 || t == WEIR_F64 || t == WEIR_TF32 || t == WEIR_E4M3 ||
           t == WEIR_E5M2;
}

/* A function of the math library, for what values of this dtype are computed in. */
static const char *math(emitter *e, weir_dtype t, const char *name) { return t == WEIR_F64 ? name : em_fmt(e, "%sf", name); }

const char *em_float_text(emitter *e, double x) {
    const float f = (float)x; /* rounded once: by nine digits of the double it could be another one */
    if (f != f) return "__int_as_float(0x7fc00000)";
    if (isinf(f)) return f < 0 ? "__int_as_float((i32)0xff800000u)" : "__int_as_float(0x7f800000)";
    const char *s = em_fmt(e, "%.9g", x);
    const double off = strtod(s, NULL) - (double)f;
    const bool tie = off != 0 && off * 2 == (double)nextafterf(f, off > 0 ? HUGE_VALF : -HUGE_VALF) - (double)f; /* NVRTC takes the odd one */
    if (f == 0 || tie || strtof(s, NULL) != f) s = em_fmt(e, "%.9g", (double)f);
    bool point = strpbrk(s, ".e") != NULL;
    return *s == '-' ? em_fmt(e, "(%s%sf)", s, point ? "" : ".") : em_fmt(e, "%s%sf", s, point ? "" : ".");
}

const char *em_coord_name(emitter *e, const weir_res *q, int axis, bool before) {
    return weiri_name(e->p, NAME_COORD, q->index, em_fmt(e, "%s%s_%s", q->name, before ? "_before" : "", q->axis[axis]));
}

const char *em_loop(emitter *e, const weiri_node *loop) {
    int n = 0;
    for (const weiri_node *x = weiri_node_next(e->pt->task->root, NULL); x && x != loop; x = weiri_node_next(e->pt->task->root, x))
        if (x->kind == NODE_LOOP) n++;
    return weiri_name(e->p, NAME_LOOP, n, em_fmt(e, "i%d", n));
}

const char *em_cta_expr(emitter *e, int64_t axis) {
    weir_cluster c = e->k->cluster;
    int size = axis == 'v' ? c.v : axis == 'm' ? c.m : axis == 'n' ? c.n : axis == 'k' ? c.k : 0;
    if (size > 1 && size == e->p->cluster) return "(i32)rank";
    switch (axis) {
    case 'v': return c.v > 1 ? em_fmt(e, "(i32)(rank %% %d)", c.v) : "0";
    case 'm': return c.m > 1 ? em_fmt(e, "(i32)(rank / %d %% %d)", c.v, c.m) : "0";
    case 'n': return c.n > 1 ? em_fmt(e, "(i32)(rank / %d %% %d)", c.v * c.m, c.n) : "0";
    case 'k': return c.k > 1 ? em_fmt(e, "(i32)(rank / %d)", c.v * c.m * c.n) : "0";
    default: return e->p->cluster > 1 ? "(i32)rank" : "0";
    }
}

/* A number of the storage types is a float: beside an int, C++ might make one of it. */
static const char *load_type(emitter *e, weir_dtype t, const char *lvalue) {
    if (t == WEIR_F32 || t == WEIR_F64 || !em_is_float(t)) return lvalue;
    return em_fmt(e, "(float)%s", lvalue);
}

/* The text of element `el` of a register tile read as value v, or of a scalar. */
static const char *leaf_tile(emitter *e, uint32_t id, const weiri_value *v) {
    const char *name = em_reg(e, v->res);
    const weiri_preg *g = &e->p->regs.v[weiri_preg_of(e->p, e->task, v->res)];
    bool half = weiri_packed(v->res);
    if (e->made[id]) name = em_fmt(e, "v%u", id);
    if (v->res->tile[1] == 1 || v->res->tile[1] == 4)
        return load_type(e, v->res->dtype, em_fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el));
    const char *idx = g->frags > 1 ? em_fmt(e, "%s * %d + %s", e->fr, g->cols / 2, e->el) : e->el;
    if (half) return em_fmt(e, "w_unpack_%s(%s[(%s) >> 1], (%s) & 1)", weir_dtype_name(v->res->dtype), name, idx, idx);
    return load_type(e, v->res->dtype, em_fmt(e, "%s[%s]", name, idx));
}

/* The register with elements el and el + 1, el even, of a value that is a register tile of `dtype`, or columns of one: as it lies.
 * NULL: the value is none. */
const char *em_packed_word(emitter *e, uint32_t id, weir_dtype dtype) {
    const weiri_value *v = weiri_val(e->k, id);
    if (v->op == WEIR_OP_TILE_COLS && e->made[id] != MADE) {
        const char *el = e->el;
        e->el = em_fmt(e, "(%s + %d)", el, (int)v->i / 2);
        const char *word = em_packed_word(e, v->arg[0], dtype);
        e->el = el;
        return word;
    }
    if (v->op != WEIR_OP_READ_REG || v->res->dtype != dtype || !weiri_packed(v->res)) return NULL;
    const weiri_preg *g = &e->p->regs.v[weiri_preg_of(e->p, e->task, v->res)];
    const char *name = e->made[id] ? em_fmt(e, "v%u", id) : em_reg(e, v->res);
    return em_fmt(e, "%s[(%s) / 2]", name, g->frags > 1 ? em_fmt(e, "%s * %d + %s", e->fr, g->cols / 2, e->el) : e->el);
}

/* `share`: what a warpgroup has of the rows (of the columns, where they share those), 0: it is not shared out. */
static const char *frag_row(emitter *e, int share) {
    const char *wg = e->pt->warpgroups > 1 && !e->pt->by_cols && share ? em_fmt(e, "wg * %d + ", share) : "";
    return em_fmt(e, "(i32)(%s%s * 64 + warp %% 4 * 16 + lane / 4 + (%s >> 1 & 1) * 8)", wg, e->fr, e->el);
}

static const char *frag_col(emitter *e, int share) {
    const char *wg = e->pt->by_cols && share ? em_fmt(e, "wg * %d + ", share) : "";
    return em_fmt(e, "(i32)(%s(%s >> 2) * 8 + lane %% 4 * 2 + (%s & 1))", wg, e->el, e->el);
}

/* Rows that each warpgroup has of what lies as the tile does or, where they share those, of so many columns; 0: each has all of them. */
int em_share(const emitter *e, const weiri_preg *r, int cols) { return !e->pt->by_cols ? r->rows : cols >= 8 ? weiri_frag_cols(e->pt, cols) : 0; }

static int share_of(emitter *e, const weir_res *r) {
    int pr = weiri_preg_of(e->p, e->task, r);
    return pr >= 0 ? em_share(e, &e->p->regs.v[pr], r->tile[1]) : 0;
}

const char *em_type(const weiri_value *v) {
    if (v->kind == WEIR_VALUE_COND) return "bool";
    return em_is_float(v->dtype) && v->dtype != WEIR_F64 ? "float" : weiri_ctype(v->dtype);
}

static const char *part(emitter *e, uint32_t id);

/* An argument of v, a plain number as one of the dtype that v is computed in: beside doubles it is one. */
static const char *argument(emitter *e, const weiri_value *v, int i) {
    const weiri_value *x = weiri_val(e->k, v->arg[i]);
    const bool compares = v->op >= WEIR_OP_LT && v->op <= WEIR_OP_NE;
    weir_dtype t = v->dtype;
    if (compares) t = weiri_value_promote(weiri_val(e->k, v->arg[0])->dtype, weiri_val(e->k, v->arg[1])->dtype);
    if (x->op == WEIR_OP_INT && x->i < 0 && weiri_value_is_unsigned(t))
        return em_fmt(e, "(%s)%s", weiri_ctype(t), part(e, v->arg[i]));
    if (t != WEIR_F64 || x->op != WEIR_OP_FLOAT || !isfinite(x->f)) return part(e, v->arg[i]);
    const char *s = em_fmt(e, "%.17g", x->f);
    return em_fmt(e, *s == '-' ? "(%s%s)" : "%s%s", s, strpbrk(s, ".e") ? "" : ".");
}

/* An argument of a function of the math library: beside a double CUDA takes no float, whose function would do as well. */
static const char *as_double(emitter *e, const weiri_value *v, int i) {
    const weiri_value *x = weiri_val(e->k, v->arg[i]);
    const char *s = argument(e, v, i);
    const bool is_double = x->dtype == WEIR_F64 || (x->op == WEIR_OP_FLOAT && isfinite(x->f));
    return v->dtype != WEIR_F64 || is_double ? s : em_fmt(e, "(double)%s", s);
}

/* ---- conversions ---- */

/* A float that every shorter float dtype is rounded from as from the value itself, where a float may not hold it: rounded to odd. */
const char *em_round_once(emitter *e, weir_dtype to, uint32_t value, const char *x) {
    enum { EXACT = 1 << 24 };
    const weir_dtype from = value ? weiri_val(e->k, value)->dtype : WEIR_F32;
    if (to == WEIR_F32 || to == WEIR_F64 || !em_is_float(to)) return x;
    if (from != WEIR_F64 && (!is_whole(from) || weir_dtype_size(from) < 4)) return x;
    const value_range r = from == WEIR_F64 || from == WEIR_U64 ? whole_range(WEIR_I64) : range_of(e, value);
    if (r.lo >= -EXACT && r.hi <= EXACT) return x;
    return from == WEIR_I64 ? em_fmt(e, "w_odd((i64)%s)", x) : em_fmt(e, "w_odd(%s)", x); /* C may have computed it in a long */
}

/* The integer of a float: toward zero, the nearest one that there is, 0 of NaN. NULL: the value is an integer, or `to` is none. */
const char *em_whole_of(emitter *e, weir_dtype to, uint32_t value, const char *x) {
    const weiri_value *v = weiri_val(e->k, value);
    if (to == WEIR_BOOL || !is_whole(to) || (value && !em_is_float(v->dtype))) return NULL;
    return em_fmt(e, "w_to_%s(%s)", weiri_ctype(to), x);
}

/* ---- large values ----
 * A value is a graph and its text a tree. Of one that is large, or deep, what is taken more than once is named inside the expression,
 * and so is a part every few levels: compilers recurse as well. */

enum { LARGE = 64, SHALLOW = 32, SMALL = 8 };

static bool has_name(emitter *e, uint32_t id) {
    return e->made[id] == MADE || weiri_val(e->k, id)->op == WEIR_OP_READ_REG || !weiri_val(e->k, id)->nargs;
}

/* Does the text of this value hold those of its arguments? */
static bool is_written_out(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    return !has_name(e, id) && v->op >= WEIR_OP_ADD && v->op <= WEIR_OP_CAST;
}

const char *em_expr(emitter *e, uint32_t id) {
    const weiri_value *root = weiri_val(e->k, id);
    if ((root->text <= LARGE && root->deep <= SHALLOW) || !is_written_out(e, id)) return part(e, id);
    const uint32_t before = e->names, now = ++e->last_names;
    value_part *at = e->part;
    at[id] = (value_part){ .names = now, .refs = 1 };
    uint32_t first = id;
    for (uint32_t x = id; x >= first && x; x--) { /* parts are older than what they are parts of */
        if (at[x].names != now || !is_written_out(e, x)) continue;
        const weiri_value *v = weiri_val(e->k, x);
        for (int i = 0; i < v->nargs; i++) {
            value_part *y = &at[v->arg[i]];
            if (y->names != now) *y = (value_part){ .names = now };
            y->refs += v->op == WEIR_OP_MOD || v->op == WEIR_OP_ABS ? 2 : 1;
            if (v->arg[i] < first) first = v->arg[i];
        }
    }
    bool any = false;
    for (uint32_t x = first; x <= id; x++) {
        value_part *y = &at[x];
        if (y->names != now) continue;
        const weiri_value *v = weiri_val(e->k, x);
        y->text = y->deep = 1;
        for (int i = 0; i < v->nargs && is_written_out(e, x); i++) {
            const value_part *z = &at[v->arg[i]];
            y->text += z->name ? 1 : z->text;
            if (y->deep <= z->deep && !z->name) y->deep = z->deep + 1;
        }
        if (x == id || !is_written_out(e, x) || !((y->refs > 1 && y->text >= SMALL) || y->deep >= SHALLOW)) continue;
        y->name = ++e->last_part;
        any = true;
    }
    const char *s;
    e->names = now;
    if (!any) s = part(e, id);
    else {
        weiri_buf b;
        weiri_buf_init(&b, e->k->ctx);
        weiri_put(&b, "[&] {\n");
        for (uint32_t x = first; x < id; x++) {
            if (at[x].names != now || !at[x].name) continue;
            const uint32_t name = at[x].name;
            const weiri_value *v = weiri_val(e->k, x);
            at[x].name = 0; /* itself written out */
            const char *text = part(e, x);
            at[x].name = name;
            weiri_put(&b, "%*sconst %s e%u = %s;\n", 2 * e->depth + 4, "", em_type(v), name, text);
        }
        weiri_put(&b, "%*sreturn %s; }()", 2 * e->depth + 4, "", part(e, id));
        s = em_fmt(e, "%s", b.s ? b.s : "");
        weiri_buf_free(&b);
    }
    e->names = before;
    return s;
}

static const char *binary(emitter *e, const weiri_value *v, const char *op) {
    return em_fmt(e, "(%s %s %s)", argument(e, v, 0), op, argument(e, v, 1));
}

/* Signed integers wrap, which is undefined in C: they are computed as unsigned ones. Not what counts: indices that cannot wrap make better code. */
static const char *wrapping(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (em_is_float(v->dtype) || weiri_value_is_unsigned(v->dtype) || is_index(e, id)) return NULL;
    return v->dtype == WEIR_I64 ? "u64" : "u32";
}

/* a + b, a - b, a * b */
static const char *sum(emitter *e, uint32_t id, const char *op) {
    const weiri_value *v = weiri_val(e->k, id);
    const char *u = wrapping(e, id);
    if (!u) return binary(e, v, op);
    return em_fmt(e, "(%s)((%s)%s %s (%s)%s)", weiri_ctype(v->dtype), u, part(e, v->arg[0]), op, u, part(e, v->arg[1]));
}

static const char *negative(emitter *e, uint32_t id, const char *x) {
    const weir_dtype t = weiri_val(e->k, id)->dtype;
    if (t == WEIR_I32) return em_fmt(e, "w_neg(%s)", x);
    return wrapping(e, id) ? em_fmt(e, "(%s)(0 - (u64)%s)", weiri_ctype(t), x) : em_fmt(e, "(-%s)", x);
}

/* A function of the preamble for integers of this dtype. */
static const char *whole(emitter *e, weir_dtype t, const char *name) {
    return weiri_value_is_unsigned(t) || t == WEIR_I64 ? em_fmt(e, "%s_%s", name, weiri_ctype(t)) : name;
}

/* `safe` divides by 0 too, which ends no process: a size may be 0, and a value may be computed where it is not needed. On a GPU it is the
 * plain operation. */
static const char *divide(emitter *e, const weiri_value *v, const char *op, const char *safe) {
    if (weiri_val(e->k, v->arg[1])->op == WEIR_OP_INT) return binary(e, v, op);
    return em_fmt(e, "%s(%s, %s)", whole(e, v->dtype, safe), part(e, v->arg[0]), part(e, v->arg[1]));
}

/* The element of a tile that lies in array `name`. */
static const char *array_element(emitter *e, const char *name, int rows, int cols) {
    if (cols == 1 || cols == 4) return em_fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el);
    if (rows == 1) return em_fmt(e, "%s[(%s >> 2) * 2 + (%s & 1)]", name, e->el, e->el);
    cols = weiri_frag_cols(e->pt, cols);
    return e->frags > 1 ? em_fmt(e, "%s[%s * %d + %s]", name, e->fr, cols / 2, e->el) : em_fmt(e, "%s[%s]", name, e->el);
}

static const char *part(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    const char *a, *s;
    int64_t c;
    if (e->names && e->part[id].names == e->names && e->part[id].name) return em_fmt(e, "e%u", e->part[id].name);
    if (e->made[id] == MADE && (v->kind == WEIR_VALUE_SCALAR || (v->kind == WEIR_VALUE_COND && !is_tile(v))))
        return em_fmt(e, "v%u", id);
    if (e->made[id] == MADE && !e->row && v->op != WEIR_OP_READ_REG)
        return array_element(e, em_fmt(e, "v%u", id), v->rows, v->cols);
    switch (v->op) {
    case WEIR_OP_INT:
        if (v->i == INT32_MIN || v->i == INT64_MIN) return em_fmt(e, "(%" PRId64 " - 1)", v->i + 1); /* C has no such number */
        return v->i < 0 ? em_fmt(e, "(%" PRId64 ")", v->i) : em_fmt(e, "%" PRId64, v->i);
    case WEIR_OP_FLOAT: return em_float_text(e, v->f);
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR: return em_arg(e, v->name);
    case WEIR_OP_CTA: return em_cta_expr(e, v->i);
    case WEIR_OP_INDEX: return em_loop(e, v->loop);
    case WEIR_OP_COORD: return em_coord_name(e, v->res, (int)v->i, false);
    case WEIR_OP_BEFORE: return em_coord_name(e, v->res, (int)v->i, true);
    case WEIR_OP_QUEUE_INDEX: return em_fmt(e, "%s_index", em_queue(e, v->res));
    case WEIR_OP_RETURN:
    case WEIR_OP_LOAD:
        if (v->kind == WEIR_VALUE_TILE)
            return em_view_element(e, v->arg[0], e->row ? e->row : frag_row(e, e->share),
                                   e->row ? e->col : frag_col(e, e->share), true);
        return em_fmt(e, "v%u", id);
    case WEIR_OP_ROW: return em_fmt(e, "%s", e->row ? e->row : frag_row(e, share_of(e, v->res)));
    case WEIR_OP_COL: return em_fmt(e, "%s", e->row ? e->col : frag_col(e, share_of(e, v->res)));
    case WEIR_OP_READ_REG: return leaf_tile(e, id, v);
    case WEIR_OP_TILE_COLS: {
        const char *el = e->el, *col = e->col;
        if (v->i && !e->row) e->el = em_fmt(e, "(%s + %d)", el, (int)v->i / 2);
        if (e->row && v->cols == 1) e->col = em_fmt(e, "%d", (int)v->i); /* every column's */
        else if (e->row && v->i) e->col = em_fmt(e, "(%s + %d)", col, (int)v->i);
        const uint32_t names = e->names;
        if (v->i || (e->row && v->cols == 1)) e->names = 0; /* what has a name is another element */
        const int packs = e->npack;
        if (e->row) e->npack = 0; /* packs hold the columns of the whole */
        a = e->names ? part(e, v->arg[0]) : em_expr(e, v->arg[0]);
        e->npack = packs;
        e->names = names;
        e->el = el;
        e->col = col;
        return a;
    }
    case WEIR_OP_ADD: return sum(e, id, "+");
    case WEIR_OP_SUB:
        if (weiri_value_const(e->k, v->arg[0], &c) && c == 0 && !em_is_float(v->dtype)) /* 0 - 0. is no -0. */
            return negative(e, id, part(e, v->arg[1]));
        return sum(e, id, "-");
    case WEIR_OP_MUL:
        for (int i = 0; i < 2; i++)
            if (weiri_value_const(e->k, v->arg[i], &c) && c == -1) return negative(e, id, part(e, v->arg[1 - i]));
        return sum(e, id, "*");
    case WEIR_OP_DIV:
        if (e->made[id] == MADE_INVERSE && !e->row) {
            const weiri_value *y = weiri_val(e->k, v->arg[1]);
            return em_fmt(e, "(%s * %s)", part(e, v->arg[0]), array_element(e, em_fmt(e, "r%u", id), y->rows, y->cols));
        }
        return em_fmt(e, "((%s)%s / (%s)%s)", em_type(v), argument(e, v, 0), em_type(v), argument(e, v, 1));
    case WEIR_OP_IDIV:
        if (em_is_float(v->dtype))
            return em_fmt(e, "%s(%s / %s)", math(e, v->dtype, "floor"), argument(e, v, 0), argument(e, v, 1));
        if (weiri_value_is_unsigned(v->dtype) || (nonneg(e, v->arg[0]) && nonneg(e, v->arg[1]))) return divide(e, v, "/", "w_div");
        return em_fmt(e, "%s(%s, %s)", whole(e, v->dtype, "w_floor_div"), part(e, v->arg[0]), part(e, v->arg[1]));
    case WEIR_OP_MOD:
        if (weiri_value_is_unsigned(v->dtype) || (nonneg(e, v->arg[0]) && nonneg(e, v->arg[1]))) return divide(e, v, "%", "w_mod");
        a = em_fmt(e, "%s(%s, %s)", whole(e, v->dtype, "w_floor_div"), part(e, v->arg[0]), part(e, v->arg[1]));
        if (is_index(e, id)) return em_fmt(e, "(%s - %s * %s)", part(e, v->arg[0]), a, part(e, v->arg[1]));
        return em_fmt(e, "(%s)((%s)%s - (%s)%s * (%s)%s)", weiri_ctype(v->dtype), wrapping(e, id), part(e, v->arg[0]),
                      wrapping(e, id), a, wrapping(e, id), part(e, v->arg[1]));
    case WEIR_OP_CEIL_DIV:
        if (weiri_value_const(e->k, v->arg[1], &c) && c == 1) return part(e, v->arg[0]);
        return em_fmt(e, "%s(%s, %s)", whole(e, v->dtype, "w_ceil_div"), part(e, v->arg[0]), part(e, v->arg[1]));
    case WEIR_OP_NEG: return negative(e, id, part(e, v->arg[0]));
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
        return em_fmt(e, "%s(%s, %s)",
                      em_is_float(v->dtype) ? math(e, v->dtype, v->op == WEIR_OP_MIN ? "fmin" : "fmax")
                                            : whole(e, v->dtype, v->op == WEIR_OP_MIN ? "w_min" : "w_max"),
                      as_double(e, v, 0), as_double(e, v, 1));
    case WEIR_OP_ABS:
        return em_is_float(v->dtype) ? em_fmt(e, "%s(%s)", math(e, v->dtype, "fabs"), part(e, v->arg[0]))
                                     : weiri_value_is_unsigned(v->dtype) ? part(e, v->arg[0])
                                     : em_fmt(e, "%s(%s, %s)", whole(e, v->dtype, "w_max"), part(e, v->arg[0]),
                                              negative(e, id, part(e, v->arg[0])));
    case WEIR_OP_EXP:
        if (v->dtype == WEIR_F64) return em_fmt(e, "exp(%s)", part(e, v->arg[0]));
        return em_fmt(e, "w_exp2(%s * 1.44269504f)", part(e, v->arg[0]));
    case WEIR_OP_EXP2: return em_fmt(e, v->dtype == WEIR_F64 ? "exp2(%s)" : "w_exp2(%s)", part(e, v->arg[0]));
    case WEIR_OP_LOG2: return em_fmt(e, v->dtype == WEIR_F64 ? "log2(%s)" : "w_log2(%s)", part(e, v->arg[0]));
    case WEIR_OP_RCP: return em_fmt(e, v->dtype == WEIR_F64 ? "(1. / %s)" : "w_rcp(%s)", part(e, v->arg[0]));
    case WEIR_OP_RSQRT: return em_fmt(e, v->dtype == WEIR_F64 ? "(1. / sqrt(%s))" : "w_rsqrt(%s)", part(e, v->arg[0]));
    case WEIR_OP_TANH: return em_fmt(e, v->dtype == WEIR_F64 ? "tanh(%s)" : "w_tanh(%s)", part(e, v->arg[0]));
    case WEIR_OP_LT: return binary(e, v, "<");
    case WEIR_OP_LE: return binary(e, v, "<=");
    case WEIR_OP_GT: return binary(e, v, ">");
    case WEIR_OP_GE: return binary(e, v, ">=");
    case WEIR_OP_EQ: return binary(e, v, "==");
    case WEIR_OP_NE: return binary(e, v, "!=");
    case WEIR_OP_AND: return binary(e, v, "&&");
    case WEIR_OP_OR: return binary(e, v, "||");
    case WEIR_OP_NOT: return em_fmt(e, "(!%s)", part(e, v->arg[0]));
    case WEIR_OP_SELECT:
        return em_fmt(e, "(%s ? %s : %s)", part(e, v->arg[0]), argument(e, v, 1), argument(e, v, 2));
    case WEIR_OP_CAST:
        if (v->dtype == WEIR_F32) return em_fmt(e, "(float)%s", part(e, v->arg[0]));
        if (v->dtype == WEIR_F64) return em_fmt(e, "(double)%s", argument(e, v, 0));
        a = part(e, v->arg[0]);
        if (em_is_float(v->dtype))
            return em_fmt(e, "(float)%s(%s)", weir_dtype_name(v->dtype), em_round_once(e, v->dtype, v->arg[0], a));
        s = em_whole_of(e, v->dtype, v->arg[0], a);
        return s ? s : em_fmt(e, "(%s)%s", weiri_ctype(v->dtype), a);
    default: break;
    }
    if (v->kind == WEIR_VALUE_VIEW)
        return em_view_element(e, id, e->row ? e->row : frag_row(e, e->share), e->row ? e->col : frag_col(e, e->share), true);
    return em_fmt(e, "W_UNBUILT(%d)", (int)v->op); /* the plan refuses what has no text: this compiles nowhere */
}

/* ---- views: addresses -------------------------------------------------------------------------------------------------------- */

const char *em_stage_expr(emitter *e, int cur, weiri_stage_ref ref, int back) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    if (c->stages == 1) return "0";
    const char *n = em_cursor_name(e, cur);
    if (ref == STAGE_NEXT) return em_fmt(e, "%s_stage", n);
    if (ref == STAGE_CLOSE && c->split_close) return em_fmt(e, "%s_close", n);
    back = back * c->stride % c->stages;
    if (back) return em_fmt(e, "(%s_at >= %d ? %s_at - %d : %s_at + %d)", n, back, n, back, n, c->stages - back);
    return em_fmt(e, "%s_at", n);
}

/* A task that is both ends of a pipeline has two cursors of one name. */
const char *em_cursor_name(emitter *e, int cur) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    bool twin = false;
    for (int i = 0; i < e->p->cursors.n && c->producer; i++)
        twin = twin || (i != cur && e->p->cursors.v[i].task == c->task && e->p->cursors.v[i].res == c->res);
    return weiri_name(e->p, NAME_CURSOR, c->res->index, twin ? em_fmt(e, "%s_put", c->name) : c->name);
}

const char *em_plus_stage(emitter *e, const char *base, const char *stage, int64_t step) {
    return strcmp(stage, "0") ? em_fmt(e, "%s + %s * %" PRId64, base, stage, step) : base;
}

/* Shared address of the stage that an effect or action names. */
const char *em_region_addr(emitter *e, int region, int cur, weiri_stage_ref ref, int back) {
    const char *base = em_region(e, region);
    return cur >= 0 ? em_plus_stage(e, base, em_stage_expr(e, cur, ref, back), e->p->smem.v[region].stage_bytes) : base;
}

const char *em_bar_addr(emitter *e, const weiri_action *a) {
    return em_plus_stage(e, em_bar(e, a->bar), em_stage_expr(e, a->cur, a->stage, a->back), 8);
}

/* Element coordinate of axis d (outermost first) of the tile that a gmem view names: its origin. */
const char *em_origin(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const weiri_value *b = weiri_val(e->k, v->base);
    if (v->op == WEIR_OP_VIEW_TILE) {
        const weir_res *q = b->res ? b->res : b->loop->queue;
        int axis = d - (g->rank - q->qrank);
        if (axis < 0) return "0";
        const char *x = em_coord_name(e, q, axis, b->count != 0);
        return g->tile[d] == 1 ? x : em_fmt(e, "%s * %d", x, g->tile[d]);
    }
    int axis = d - (g->rank - b->nargs);
    if (axis < 0) return "0";
    uint32_t x = b->arg[axis];
    int64_t c;
    if (v->op == WEIR_OP_VIEW_FROM || g->tile[d] == 1) return em_expr(e, x);
    if (weiri_value_const(e->k, x, &c)) return em_fmt(e, "%" PRId64, c * g->tile[d]);
    return em_fmt(e, "%s * %d", em_expr(e, x), g->tile[d]);
}

const char *em_shape_expr(emitter *e, const weir_tensor *t, int d) { return em_expr(e, t->shape[d].id); }

/* May the tile begin in front of the tensor along dimension d? */
bool em_before(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    if (v->op == WEIR_OP_VIEW_TILE) return false;
    const weiri_value *b = weiri_val(e->k, v->base);
    int axis = d - (g->rank - b->nargs);
    for (int i = 0; i < v->nsub; i++)
        if (!nonneg(e, v->sub[i])) return true;
    return v->op == WEIR_OP_VIEW_FROM || (axis >= 0 && !nonneg(e, b->arg[axis]));
}

/* Is the view's coordinate along dimension d, of a tile of one there, known to lie in the tensor? As a queue's over that dimension does. */
static bool within(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const weiri_value *b = weiri_val(e->k, v->base);
    const weir_value shape = g->tensor->shape[d];
    int64_t n, i = 0;
    const weir_res *q = v->op == WEIR_OP_VIEW_TILE ? (b->res ? b->res : b->loop->queue) : NULL;
    int axis = d - (g->rank - (q ? q->qrank : b->nargs));
    if (axis < 0 || (!q && weiri_value_const(e->k, b->arg[axis], &i))) return i >= 0 && weiri_value_const(e->k, shape.id, &n) && i < n;
    if (!q) {
        const weiri_value *x = weiri_val(e->k, b->arg[axis]);
        if (x->op != WEIR_OP_COORD && x->op != WEIR_OP_BEFORE) return false;
        q = x->res;
        axis = (int)x->i;
    }
    const weir_cluster c = e->k->cluster;
    if ((axis == q->axis_m && c.v * c.m > 1) || (axis == q->axis_n && c.n > 1)) return false; /* whole clusters, beyond the end too */
    const weiri_value *all = weiri_val(e->k, q->extent[axis].id);
    if (all->op == WEIR_OP_CEIL_DIV && weiri_value_const(e->k, all->arg[1], &n) && n == 1) return all->arg[0] == shape.id;
    return q->extent[axis].id == shape.id;
}

/* Puts what must hold for a tile of one along dimension d to lie in the tensor there; nothing, where it does. */
void em_lead_exists(emitter *e, const weiri_view *v, const weir_res *g, int d, weiri_buf *out) {
    if (within(e, v, g, d)) return;
    const char *at = em_origin(e, v, g, d);
    weiri_put(out, "%s < %s && ", at, em_shape_expr(e, g->tensor, d));
    if (em_before(e, v, g, d)) weiri_put(out, "%s >= 0 && ", at);
}

/* Byte offset in a stage of element (row, col) of a tile, as an expression. */
const char *em_element_offset(emitter *e, const weiri_tile_geom *g, const char *row, const char *col) {
    const char *r = g->rows == 1 ? "0" : row;
    if (!g->swizzle) return em_fmt(e, "(u32)((%s) * %" PRId64 " + (%s) * %d)", r, g->row_bytes, col, g->elem);
    int shift = g->swizzle == 128 ? 0 : g->swizzle == 64 ? 1 : 2, mask = g->swizzle / 16 - 1;
    const char *in = g->panels > 1 ? em_fmt(e, "((u32)(%s) %% %d)", col, g->panel_cols) : em_fmt(e, "(u32)(%s)", col);
    const char *panel = g->panels > 1 ? em_fmt(e, "(u32)(%s) / %d * %" PRId64 " + ", col, g->panel_cols, g->panel_bytes) : "";
    return em_fmt(e, "(%s(u32)(%s) * %" PRId64 " + ((%s * %d) ^ (((u32)(%s) >> %d & %d) << 4)))", panel, r, g->row_bytes, in,
                  g->elem, r, shift, mask);
}

/* The first column of the tile that its limit leaves out. */
const char *em_limit(emitter *e, const weiri_view *v) {
    const char *n = em_expr(e, v->limit);
    return v->limit_from ? em_fmt(e, "%s + %d", n, v->limit_from) : n;
}

/* Leading axes of a tile are folded into its rows. */
void em_gmem_index(emitter *e, const weiri_view *v, const char *row, const char *col, int width, const char **index,
                   const char **exists) {
    const weir_res *r = v->res;
    const weir_tensor *t = r->tensor;
    int rows = 1, axes = 0; /* of the folded axes: rows of the tile, axes longer than 1 */
    for (int d = 0; d + 1 < r->rank; d++) rows *= r->tile[d], axes += r->tile[d] > 1;
    weiri_buf idx, in;
    weiri_buf_init(&idx, e->k->ctx);
    weiri_buf_init(&in, e->k->ctx);
    for (int d = 0; d < r->rank; d++) {
        bool last = d == r->rank - 1;
        if (!last) rows /= r->tile[d];
        const char *o = em_origin(e, v, r, d);
        const char *x = r->tile[d] == 1 ? NULL
                        : last          ? col
                        : axes == 1     ? row
                                        : em_fmt(e, "%s / %d %% %d", row, rows, r->tile[d]);
        const char *at = x ? (strcmp(o, "0") ? em_fmt(e, "(%s + %s)", o, x) : x) : o;
        if (last) weiri_put(&idx, "%s%s", idx.n ? " + " : "", at);
        else
            weiri_put(&idx, "%s(i64)%s * %s_stride%d", idx.n ? " + " : "",
                      strchr(at, ' ') && at[0] != '(' ? em_fmt(e, "(%s)", at) : at, em_tensor(e, t), d);
        const char *most = last && width > 1 ? em_fmt(e, "%s + %d", at, width - 1) : at;
        weiri_put(&in, "%s%s < %s", in.n ? " && " : "", most, em_shape_expr(e, t, d));
        if (em_before(e, v, r, d)) weiri_put(&in, " && %s >= 0", at);
        if (last && v->limit) weiri_put(&in, " && %s + %d < %s", col, width - 1, em_limit(e, v));
    }
    *index = em_fmt(e, "%s", idx.s ? idx.s : "0");
    *exists = em_fmt(e, "%s", in.s ? in.s : "true");
    weiri_buf_free(&idx);
    weiri_buf_free(&in);
}

/* Where an element of the stage that a view names lies: the stage is the one that lower.c noted. */
static const char *stage_pointer(emitter *e, const weiri_view *v, const char *row, const char *col, bool load) {
    weiri_tile_geom g;
    if (!weiri_geom(e->p, v->res, &g)) return "0";
    int region = weiri_region_of(e->p, v->res);
    const weiri_effect *ef = NULL;
    for (int i = 0; e->act && i < e->act->neff && !ef; i++)
        if (e->act->eff[i].region == region && e->act->eff[i].write != load && e->act->eff[i].back == v->back)
            ef = &e->act->eff[i];
    const char *addr =
        ef ? em_region_addr(e, region, ef->cur, ef->stage, ef->back) : em_region_addr(e, region, -1, STAGE_NONE, 0);
    return em_fmt(e, "w_ptr(%s + %s)", addr, em_element_offset(e, &g, row, col));
}

const char *em_stage_pointer(emitter *e, uint32_t view, const char *row, const char *col) {
    weiri_view v;
    return weiri_view_of(e->k, view, &v) && v.res ? stage_pointer(e, &v, row, col, true) : "0";
}

/* Rows of the tile, its leading axes folded into them, in front of the slabs that a view takes; *col: columns, where it takes an element. */
const char *em_slab(emitter *e, const weiri_view *v, const char **col) {
    const char *rows = NULL;
    *col = NULL;
    for (int i = 0; i < v->nsub; i++) {
        const char *x = em_expr(e, v->sub[i]);
        int step = 1;
        for (int d = v->axis + i + 1; d + 1 < v->res->rank; d++) step *= v->res->tile[d];
        if (v->axis + i + 1 >= v->res->rank) {
            *col = x;
            continue;
        }
        x = step > 1 ? em_fmt(e, "%s * %d", x, step) : x;
        rows = rows ? em_fmt(e, "%s + %s", rows, x) : x;
    }
    return rows;
}

/* An element of a view: its value (load: 0 outside) or an lvalue. */
const char *em_view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load) {
    weiri_view v;
    if (!weiri_view_of(e->k, view, &v)) return "0";
    if (v.op == WEIR_OP_VIEW_TILE) v.res = e->dest; /* a work tile is a place of whatever is stored to */
    if (!v.res) return "0";
    const weiri_value *part = weiri_val(e->k, view); /* one row, or one column, is every row's and every column's */
    if (part->rows == 1 && v.op != WEIR_OP_VIEW_TILE) row = "0";
    if (part->cols == 1 && v.op != WEIR_OP_VIEW_TILE) col = "0";
    if (v.t) {
        const char *s = row;
        row = col;
        col = s;
    }
    const char *slab_col, *slab = em_slab(e, &v, &slab_col);
    if (slab) row = em_fmt(e, "((i32)(%s) + %s)", row, slab);
    if (slab_col) col = em_fmt(e, "((i32)(%s) + %s)", col, slab_col);
    if (v.row0) row = em_fmt(e, "(%s + %d)", row, v.row0);
    if (v.col0) col = em_fmt(e, "(%s + %d)", col, v.col0);
    const weir_res *r = v.res;
    if (r->kind == WEIR_RES_GMEM) {
        const weir_tensor *t = r->tensor;
        for (int i = 0; load && i < e->npack; i++)
            if (e->pack[i] == view) return load_type(e, t->dtype, em_fmt(e, "p%u.x[i]", view));
        const char *index, *exists;
        em_gmem_index(e, &v, row, col, 1, &index, &exists);
        const char *lv = em_fmt(e, "%s[%s]", em_arg(e, t->name), index);
        if (!load) return em_fmt(e, "if (%s) %s", exists, lv);
        return em_fmt(e, "(%s ? %s : %s)", exists, load_type(e, t->dtype, lv),
                      em_is_float(t->dtype) && t->dtype != WEIR_F64 ? "0.f" : "0");
    }
    if (r->kind == WEIR_RES_TMEM && e->tensor.n) return em_tc_element(e, view);
    for (int i = 0; load && i < e->npack; i++)
        if (e->pack[i] == view) return load_type(e, weiri_stage_dtype(e->p, r), em_fmt(e, "p%u.x[i]", view));
    const char *lv = em_fmt(e, "*(%s%s *)%s", load ? "const " : "", weiri_ctype(weiri_stage_dtype(e->p, r)),
                            stage_pointer(e, &v, row, col, load));
    if (!load) return lv;
    const char *x = load_type(e, weiri_stage_dtype(e->p, r), em_fmt(e, "(%s)", lv));
    return v.limit ? em_fmt(e, "(%s < %s ? %s : 0)", col, em_limit(e, &v), x) : x;
}

/* ---- values in registers ------------------------------------------------------------------------------------------------------- */

static const weiri_preg *widest(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if ((v->op == WEIR_OP_READ_REG || v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL) && v->res) {
        int i = weiri_preg_of(e->p, e->task, v->res);
        return i >= 0 ? &e->p->regs.v[i] : NULL;
    }
    const weiri_preg *best = NULL;
    for (int i = 0; i < v->nargs; i++) {
        const weiri_preg *g = em_frag_tile(e, v->arg[i]);
        if (g && (!best || g->cols > best->cols)) best = g;
    }
    return best;
}

/* The register tile that decides how a value lies in registers: the widest one it reads. */
const weiri_preg *em_frag_tile(emitter *e, uint32_t id) {
    if (!id || !weiri_value_in_regs(e->k, id)) return NULL;
    if (e->frag_task[id] != e->task + 1) { /* values are equal in all tasks, tiles are one's */
        e->frag[id] = widest(e, id);
        e->frag_task[id] = e->task + 1;
    }
    return e->frag[id];
}

void em_count_uses(emitter *e, uint32_t id, uint8_t *seen) {
    if (e->uses[id] < UINT16_MAX) e->uses[id]++;
    if (seen[id]) return;
    seen[id] = 1;
    const weiri_value *v = weiri_val(e->k, id);
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) em_count_uses(e, v->arg[i], seen);
}

static bool reaches(emitter *e, uint32_t from, uint32_t to) {
    if (from == to) return true;
    const weiri_value *v = weiri_val(e->k, from);
    if (from < to || v->op == WEIR_OP_READ_REG || !weiri_visit(e->k, from)) return false;
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i] && reaches(e, v->arg[i], to)) return true;
    return false;
}

/* The outermost loop around `n` that `inner` is not in; NULL: none. */
static const weiri_node *loop_apart(const weiri_node *n, const weiri_node *inner) {
    const weiri_node *out = NULL;
    for (; n; n = n->parent) {
        if (n->kind != NODE_LOOP && n->kind != NODE_TILES) continue;
        const weiri_node *x = inner;
        while (x && x != n) x = x->parent;
        if (x) break;
        out = n;
    }
    return out;
}

/* Is the register tile changed between this read and the last op that takes what was read? Then the read must copy. In a loop behind the
 * read an op comes again after all of the loop's changes. */
bool em_outlives(emitter *e, const weiri_op *read, uint32_t value) {
    const weiri_node *from = NULL, *used = NULL; /* used: a loop behind the read that takes it */
    bool changed = false;
    weiri_visit_begin(e->k); /* what did not reach it once never does */
    for (const weiri_node *n = weiri_node_next(e->pt->task->root, NULL); n; n = weiri_node_next(e->pt->task->root, n)) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        if (op == read) {
            from = n;
            continue;
        }
        if (!from) continue;
        bool takes = false;
        for (int i = 0; i < op->nargs && !takes; i++) takes = op->arg[i] && reaches(e, op->arg[i], value);
        if (takes && changed) return true;
        const weiri_node *loop = loop_apart(n, from);
        if (takes) {
            weiri_visit_begin(e->k);
            if (loop) used = loop;
        }
        if (op->res == read->res && (op->atom == ATOM_SET || op->atom == ATOM_ZERO || op->atom == ATOM_MMA)) {
            if (loop && loop == used) return true;
            changed = true;
        }
    }
    return false;
}

void em_make(emitter *e, uint32_t id, uint8_t how) {
    e->made[id] = how;
    WEIRI_PUSH(e->a, e->made_list, id);
}

/* One row of a reduction: two chains (even and odd columns), joined at the end. */
static void make_reduction(emitter *e, uint32_t id, const weiri_value *v, const weiri_preg *pr) {
    const weiri_value *x = weiri_val(e->k, v->arg[0]);
    const bool real = em_is_float(v->dtype);
    const char *add = real || weiri_value_is_unsigned(v->dtype) ? "%s + %s"
                      : v->dtype == WEIR_I64                     ? "(i64)((u64)%s + (u64)%s)"
                                                                 : "(i32)((u32)%s + (u32)%s)"; /* it may wrap */
    const char *most = real ? math(e, v->dtype, "fmax") : whole(e, v->dtype, "w_max"),
               *least = real ? math(e, v->dtype, "fmin") : whole(e, v->dtype, "w_min");
    const char *op = v->op == WEIR_OP_ROW_SUM ? add : em_fmt(e, "%s(%%s, %%s)", v->op == WEIR_OP_ROW_MAX ? most : least);
    const char *type = em_type(v);
    em_line(e, "%s v%u[%d];  // %s of %d columns", type, id, 2 * pr->frags,
            v->op == WEIR_OP_ROW_MAX   ? "row_max"
            : v->op == WEIR_OP_ROW_MIN ? "row_min"
                                       : "row_sum",
            x->cols);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int h = 0; h < 2; h++) {");
    e->depth++;
    e->fr = "f";
    if (x->cols <= 4) {
        e->el = "(h * 2)";
        em_line(e, "%s x = %s;", type, em_expr(e, v->arg[0]));
    } else {
        e->el = "(h * 2)";
        const char *x0 = em_expr(e, v->arg[0]);
        e->el = "(h * 2 + 1)";
        em_line(e, "%s x = %s, y = %s;", type, x0, em_expr(e, v->arg[0]));
        em_line(e, "#pragma unroll");
        e->el = "(j * 4 + h * 2)";
        x0 = em_expr(e, v->arg[0]);
        e->el = "(j * 4 + h * 2 + 1)";
        const char *y0 = em_expr(e, v->arg[0]);
        const char *a = em_fmt(e, op, "x", x0), *b = em_fmt(e, op, "y", y0);
        em_line(e, "for (int j = 1; j < %d; j++) { x = %s; y = %s; }", x->cols / 8, a, b);
        em_line(e, "x = %s;", em_fmt(e, op, "x", "y"));
    }
    if (v->i == 1) /* the four lanes of a quad share the row */
        for (int q = 1; q <= 2; q++) {
            const char *sh = em_fmt(e, strcmp(type, "float") ? "__shfl_xor_sync(0xffffffffu, x, %d)" : "w_shfl_xor(x, %d)", q);
            em_line(e, "x = %s;", em_fmt(e, op, "x", sh));
        }
    em_line(e, "v%u[f * 2 + h] = x;", id);
    e->depth--;
    em_line(e, "} }");
}

/* x / y for a y that a whole row or column shares: one division for it, multiplications for the elements. */
static void make_inverse(emitter *e, uint32_t id, uint32_t divisor) {
    const weiri_value *y = weiri_val(e->k, divisor);
    const weiri_preg *pr = em_frag_tile(e, id);
    if (!pr || e->made[id]) return;
    bool by_col = y->rows == 1;
    const int cols = weiri_frag_cols(e->pt, y->cols);
    e->frags = pr->frags;
    e->share = em_share(e, pr, y->cols);
    e->fr = by_col ? "0" : "f";
    e->el = "i";
    em_line(e, "float r%u[%d];", id, by_col ? cols / 4 : 2 * pr->frags);
    em_line(e, "#pragma unroll");
    if (by_col) {
        em_line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) r%u[(i >> 2) * 2 + (i & 1)] = 1.f / %s;", cols / 2, id,
                em_expr(e, divisor));
    } else {
        em_line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
        em_line(e, "#pragma unroll");
        em_line(e, "for (int i = 0; i < 4; i += 2) r%u[f * 2 + (i >> 1)] = 1.f / %s; }", id, em_expr(e, divisor));
    }
    em_make(e, id, MADE_INVERSE);
}

static bool spreads(const weiri_value *v) { return v->rows == 1 || v->cols == 1 || v->cols == 4; }

/* Computes what the value needs in arrays: row reductions, tiles that several others take, and what a row or column of a wider
 * tile shares (once a row, not once an element). Runs where the first op takes it. */
static void ensure_part(emitter *e, uint32_t id, bool wider) {
    const weiri_value *v = weiri_val(e->k, id);
    if (e->made[id] || v->op == WEIR_OP_READ_REG || !is_tile(v)) return;
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) ensure_part(e, v->arg[i], !spreads(v) && v->kind == WEIR_VALUE_TILE);
    bool leaf = v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL || v->op == WEIR_OP_TILE_COLS || v->op == WEIR_OP_LOAD;
    bool shared = wider && spreads(v) && v->kind == WEIR_VALUE_TILE && em_is_float(v->dtype);
    const weiri_value *y = v->op == WEIR_OP_DIV ? weiri_val(e->k, v->arg[1]) : NULL;
    bool plain = !weiri_is_reduction(v->op) && (leaf || (e->uses[id] < 2 && !shared));
    if (y && is_tile(y) && spreads(y) && !spreads(v) && v->dtype != WEIR_F64) make_inverse(e, id, v->arg[1]);
    if (plain) return;
    const weiri_preg *pr = em_frag_tile(e, id);
    if (!pr) return;
    e->share = em_share(e, pr, v->cols);
    e->frags = pr->frags;
    if (weiri_is_reduction(v->op)) {
        make_reduction(e, id, v, pr);
        em_make(e, id, MADE);
        return;
    }
    bool by_row = v->cols == 1 || v->cols == 4, by_col = v->rows == 1;
    const int cols = weiri_frag_cols(e->pt, v->cols), n = by_row ? 2 * pr->frags : by_col ? cols / 4 : pr->frags * cols / 2;
    em_line(e, "%s v%u[%d];", em_type(v), id, n);
    if (!by_col) em_line(e, "#pragma unroll");
    em_line(e, "for (int f = 0; f < %d; f++) {", by_col ? 1 : pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "i";
    em_line(e, "#pragma unroll");
    if (by_row) em_line(e, "for (int i = 0; i < 4; i += 2) v%u[f * 2 + (i >> 1)] = %s;", id, em_expr(e, id));
    else if (by_col)
        em_line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) v%u[(i >> 2) * 2 + (i & 1)] = %s;", cols / 2, id,
                em_expr(e, id));
    else em_line(e, "for (int i = 0; i < %d; i++) v%u[f * %d + i] = %s;", cols / 2, id, cols / 2, em_expr(e, id));
    e->depth--;
    em_line(e, "}");
    em_make(e, id, MADE);
}

void em_ensure(emitter *e, uint32_t id) { ensure_part(e, id, false); }
