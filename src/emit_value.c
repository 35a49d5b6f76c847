/* Values as expressions: of a scalar, or of the element of a tile that e->el and e->fr, or e->row and e->col, name. */
#include "emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool em_is_tile(const weiri_value *v) {
    return v->kind == WEIR_VALUE_TILE || (v->kind == WEIR_VALUE_COND && v->rows > 0 && v->rows * v->cols > 1);
}

bool em_is_float(weir_dtype t) {
    return t == WEIR_F32 || t == WEIR_F16 || t == WEIR_BF16 || t == WEIR_F64 || t == WEIR_TF32 || t == WEIR_E4M3 ||
           t == WEIR_E5M2;
}

const char *em_type(const weiri_value *v) {
    if (v->kind == WEIR_VALUE_COND) return "bool";
    return em_is_float(v->dtype) && v->dtype != WEIR_F64 ? "float" : weiri_ctype(v->dtype);
}

/* A function of the math library, for what values of this dtype are computed in. */
const char *em_math(emitter *e, weir_dtype t, const char *name) { return t == WEIR_F64 ? name : em_fmt(e, "%sf", name); }

/* ---- elements of register tiles ------------------------------------------------------------------------------------------ */

/* A number of the storage types is a float: beside an int, C++ might make one of it. */
const char *em_load_type(emitter *e, weir_dtype t, const char *lvalue) {
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
        return em_load_type(e, v->res->dtype, em_fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el));
    const char *idx = g->frags > 1 ? em_fmt(e, "%s * %d + %s", e->fr, g->cols / 2, e->el) : e->el;
    if (half) return em_fmt(e, "w_unpack_%s(%s[(%s) >> 1], (%s) & 1)", weir_dtype_name(v->res->dtype), name, idx, idx);
    return em_load_type(e, v->res->dtype, em_fmt(e, "%s[%s]", name, idx));
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

/* Rows that each warpgroup has of so many or, where they share those, columns; 0: each has all of them. */
int em_share(const emitter *e, int rows, int cols) {
    return !e->pt->by_cols ? weiri_share_rows(e->pt, rows) : cols >= 8 ? weiri_frag_cols(e->pt, cols) : 0;
}

/* Blocks of 64 rows that each has. */
int em_frags(const emitter *e, int rows) { return weiri_share_rows(e->pt, rows) / 64; }

static int share_of(const emitter *e, const weir_res *r) { return em_share(e, r->tile[0], r->tile[1]); }

/* ---- arguments and conversions ------------------------------------------------------------------------------------------- */

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

/* A float that every shorter float dtype is rounded from as from the value itself, where a float may not hold it: rounded to
 * odd. */
const char *em_round_once(emitter *e, weir_dtype to, uint32_t value, const char *x) {
    enum { EXACT = 1 << 24 };
    const weir_dtype from = value ? weiri_val(e->k, value)->dtype : WEIR_F32;
    if (to == WEIR_F32 || to == WEIR_F64 || !em_is_float(to)) return x;
    if (from != WEIR_F64 && (!em_is_whole(from) || weir_dtype_size(from) < 4)) return x;
    const value_range r = from == WEIR_F64 || from == WEIR_U64 ? em_whole_range(WEIR_I64) : em_range_of(e, value);
    if (r.lo >= -EXACT && r.hi <= EXACT) return x;
    return from == WEIR_I64 ? em_fmt(e, "w_odd((i64)%s)", x) : em_fmt(e, "w_odd(%s)", x); /* C may have computed it in a long */
}

/* The integer of a float: toward zero, the nearest one that there is, 0 of NaN. NULL: the value is an integer, or `to` is none. */
const char *em_whole_of(emitter *e, weir_dtype to, uint32_t value, const char *x) {
    const weiri_value *v = weiri_val(e->k, value);
    if (to == WEIR_BOOL || !em_is_whole(to) || (value && !em_is_float(v->dtype))) return NULL;
    return em_fmt(e, "w_to_%s(%s)", weiri_ctype(to), x);
}

/* ---- operations ---------------------------------------------------------------------------------------------------------- */

static const char *binary(emitter *e, const weiri_value *v, const char *op) {
    return em_fmt(e, "(%s %s %s)", argument(e, v, 0), op, argument(e, v, 1));
}

/* Signed integers wrap, which is undefined in C: they are computed as unsigned ones. Not what counts: indices that cannot wrap make
 * better code. */
static const char *wrapping(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (em_is_float(v->dtype) || weiri_value_is_unsigned(v->dtype) || em_is_index(e, id)) return NULL;
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
const char *em_whole(emitter *e, weir_dtype t, const char *name) {
    return weiri_value_is_unsigned(t) || t == WEIR_I64 ? em_fmt(e, "%s_%s", name, weiri_ctype(t)) : name;
}

/* `safe` divides by 0 too, which ends no process: a size may be 0, and a value may be computed where it is not needed. On a GPU it
 * is the plain operation. */
static const char *divide(emitter *e, const weiri_value *v, const char *op, const char *safe) {
    if (weiri_val(e->k, v->arg[1])->op == WEIR_OP_INT) return binary(e, v, op);
    return em_fmt(e, "%s(%s, %s)", em_whole(e, v->dtype, safe), part(e, v->arg[0]), part(e, v->arg[1]));
}

/* The element of a tile that lies in array `name`. */
static const char *array_element(emitter *e, const char *name, int rows, int cols) {
    if (cols == 1 || cols == 4) return em_fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el);
    if (rows == 1) return em_fmt(e, "%s[(%s >> 2) * 2 + (%s & 1)]", name, e->el, e->el);
    cols = weiri_frag_cols(e->pt, cols);
    return e->frags > 1 ? em_fmt(e, "%s[%s * %d + %s]", name, e->fr, cols / 2, e->el) : em_fmt(e, "%s[%s]", name, e->el);
}

static bool divides_plainly(emitter *e, const weiri_value *v) {
    return weiri_value_is_unsigned(v->dtype) || (em_nonneg(e, v->arg[0]) && em_nonneg(e, v->arg[1]));
}

static const char *floor_divide(emitter *e, const weiri_value *v) {
    return em_fmt(e, "%s(%s, %s)", em_whole(e, v->dtype, "w_floor_div"), part(e, v->arg[0]), part(e, v->arg[1]));
}

/* a / b, or times the reciprocal that a row or column shares. */
static const char *real_quotient(emitter *e, uint32_t id, const weiri_value *v) {
    if (e->made[id] == MADE_INVERSE && !e->row) {
        const weiri_value *y = weiri_val(e->k, v->arg[1]);
        return em_fmt(e, "(%s * %s)", part(e, v->arg[0]), array_element(e, em_fmt(e, "r%u", id), y->rows, y->cols));
    }
    return em_fmt(e, "((%s)%s / (%s)%s)", em_type(v), argument(e, v, 0), em_type(v), argument(e, v, 1));
}

static const char *quotient(emitter *e, const weiri_value *v) {
    if (em_is_float(v->dtype))
        return em_fmt(e, "%s(%s / %s)", em_math(e, v->dtype, "floor"), argument(e, v, 0), argument(e, v, 1));
    return divides_plainly(e, v) ? divide(e, v, "/", "w_div") : floor_divide(e, v);
}

/* What floor division leaves. */
static const char *rest(emitter *e, uint32_t id, const weiri_value *v) {
    if (divides_plainly(e, v)) return divide(e, v, "%", "w_mod");
    const char *q = floor_divide(e, v), *u = wrapping(e, id);
    if (em_is_index(e, id)) return em_fmt(e, "(%s - %s * %s)", part(e, v->arg[0]), q, part(e, v->arg[1]));
    return em_fmt(e, "(%s)((%s)%s - (%s)%s * (%s)%s)", weiri_ctype(v->dtype), u, part(e, v->arg[0]), u, q, u,
                  part(e, v->arg[1]));
}

static const char *least_or_most(emitter *e, const weiri_value *v) {
    const bool least = v->op == WEIR_OP_MIN;
    const char *f = em_is_float(v->dtype) ? em_math(e, v->dtype, least ? "fmin" : "fmax")
                                          : em_whole(e, v->dtype, least ? "w_min" : "w_max");
    return em_fmt(e, "%s(%s, %s)", f, as_double(e, v, 0), as_double(e, v, 1));
}

static const char *absolute(emitter *e, uint32_t id, const weiri_value *v) {
    const char *x = part(e, v->arg[0]);
    if (em_is_float(v->dtype)) return em_fmt(e, "%s(%s)", em_math(e, v->dtype, "fabs"), x);
    if (weiri_value_is_unsigned(v->dtype)) return x;
    return em_fmt(e, "%s(%s, %s)", em_whole(e, v->dtype, "w_max"), x, negative(e, id, x));
}

/* A function of floats, and the one of doubles. */
static const char *function(emitter *e, const weiri_value *v, const char *of_float, const char *of_double) {
    return em_fmt(e, v->dtype == WEIR_F64 ? of_double : of_float, part(e, v->arg[0]));
}

static const char *converted(emitter *e, const weiri_value *v) {
    if (v->dtype == WEIR_F32) return em_fmt(e, "(float)%s", part(e, v->arg[0]));
    if (v->dtype == WEIR_F64) return em_fmt(e, "(double)%s", argument(e, v, 0));
    const char *x = part(e, v->arg[0]);
    if (em_is_float(v->dtype))
        return em_fmt(e, "(float)%s(%s)", weir_dtype_name(v->dtype), em_round_once(e, v->dtype, v->arg[0], x));
    const char *s = em_whole_of(e, v->dtype, v->arg[0], x);
    return s ? s : em_fmt(e, "(%s)%s", weiri_ctype(v->dtype), x);
}

/* Columns of a tile: the element of the whole. What has a name is another element, where these do not begin at 0 or are one that
 * stands for every column; packs hold the columns of the whole. */
static const char *columns(emitter *e, const weiri_value *v) {
    const char *el = e->el, *col = e->col;
    const uint32_t names = e->names;
    const int packs = e->npack, first = (int)v->i;
    if (first && !e->row) e->el = em_fmt(e, "(%s + %d)", el, first / 2);
    if (e->row && v->cols == 1) e->col = em_fmt(e, "%d", first);
    else if (e->row && first) e->col = em_fmt(e, "(%s + %d)", col, first);
    if (first || (e->row && v->cols == 1)) e->names = 0;
    if (e->row) e->npack = 0;
    const char *x = e->names ? part(e, v->arg[0]) : em_expr(e, v->arg[0]);
    e->npack = packs;
    e->names = names;
    e->el = el;
    e->col = col;
    return x;
}

static const char *element_of_view(emitter *e, uint32_t view) {
    return em_view_element(e, view, e->row ? e->row : frag_row(e, e->share), e->row ? e->col : frag_col(e, e->share), true);
}

static const char *integer(emitter *e, int64_t i) {
    if (i == INT32_MIN || i == INT64_MIN) return em_fmt(e, "(%" PRId64 " - 1)", i + 1); /* C has no such number */
    return em_fmt(e, i < 0 ? "(%" PRId64 ")" : "%" PRId64, i);
}

/* The name of what has been computed; NULL: it is written out. */
static const char *name_of(emitter *e, uint32_t id, const weiri_value *v) {
    if (e->names && e->part[id].names == e->names && e->part[id].name) return em_fmt(e, "e%u", e->part[id].name);
    if (e->made[id] != MADE) return NULL;
    if (v->kind == WEIR_VALUE_SCALAR || (v->kind == WEIR_VALUE_COND && !em_is_tile(v))) return em_fmt(e, "v%u", id);
    if (e->row || v->op == WEIR_OP_READ_REG) return NULL;
    return array_element(e, em_fmt(e, "v%u", id), v->rows, v->cols);
}

static const char *part(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    const char *name = name_of(e, id, v);
    int64_t c;
    if (name) return name;
    switch (v->op) {
    case WEIR_OP_INT: return integer(e, v->i);
    case WEIR_OP_FLOAT: return em_float_text(e, v->f);
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR: return em_arg(e, v->name);
    case WEIR_OP_CTA: return em_cta_expr(e, v->i);
    case WEIR_OP_INDEX: return em_loop(e, v->loop);
    case WEIR_OP_COORD: return em_coord_name(e, v->res, (int)v->i, false);
    case WEIR_OP_BEFORE: return em_coord_name(e, v->res, (int)v->i, true);
    case WEIR_OP_QUEUE_INDEX: return em_fmt(e, "%s_index", em_queue(e, v->res));
    case WEIR_OP_RETURN:
    case WEIR_OP_LOAD: return v->kind == WEIR_VALUE_TILE ? element_of_view(e, v->arg[0]) : em_fmt(e, "v%u", id);
    case WEIR_OP_ROW: return e->row ? e->row : frag_row(e, share_of(e, v->res));
    case WEIR_OP_COL: return e->row ? e->col : frag_col(e, share_of(e, v->res));
    case WEIR_OP_READ_REG: return leaf_tile(e, id, v);
    case WEIR_OP_TILE_COLS: return columns(e, v);
    case WEIR_OP_ADD: return sum(e, id, "+");
    case WEIR_OP_SUB:
        if (weiri_value_const(e->k, v->arg[0], &c) && c == 0 && !em_is_float(v->dtype)) /* 0 - 0. is no -0. */
            return negative(e, id, part(e, v->arg[1]));
        return sum(e, id, "-");
    case WEIR_OP_MUL:
        for (int i = 0; i < 2; i++)
            if (weiri_value_const(e->k, v->arg[i], &c) && c == -1) return negative(e, id, part(e, v->arg[1 - i]));
        return sum(e, id, "*");
    case WEIR_OP_DIV: return real_quotient(e, id, v);
    case WEIR_OP_IDIV: return quotient(e, v);
    case WEIR_OP_MOD: return rest(e, id, v);
    case WEIR_OP_CEIL_DIV:
        if (weiri_value_const(e->k, v->arg[1], &c) && c == 1) return part(e, v->arg[0]);
        return em_fmt(e, "%s(%s, %s)", em_whole(e, v->dtype, "w_ceil_div"), part(e, v->arg[0]), part(e, v->arg[1]));
    case WEIR_OP_NEG: return negative(e, id, part(e, v->arg[0]));
    case WEIR_OP_MIN:
    case WEIR_OP_MAX: return least_or_most(e, v);
    case WEIR_OP_ABS: return absolute(e, id, v);
    case WEIR_OP_EXP: return function(e, v, "w_exp2(%s * 1.44269504f)", "exp(%s)");
    case WEIR_OP_EXP2: return function(e, v, "w_exp2(%s)", "exp2(%s)");
    case WEIR_OP_LOG2: return function(e, v, "w_log2(%s)", "log2(%s)");
    case WEIR_OP_RCP: return function(e, v, "w_rcp(%s)", "(1. / %s)");
    case WEIR_OP_RSQRT: return function(e, v, "w_rsqrt(%s)", "(1. / sqrt(%s))");
    case WEIR_OP_TANH: return function(e, v, "w_tanh(%s)", "tanh(%s)");
    case WEIR_OP_LT: return binary(e, v, "<");
    case WEIR_OP_LE: return binary(e, v, "<=");
    case WEIR_OP_GT: return binary(e, v, ">");
    case WEIR_OP_GE: return binary(e, v, ">=");
    case WEIR_OP_EQ: return binary(e, v, "==");
    case WEIR_OP_NE: return binary(e, v, "!=");
    case WEIR_OP_AND: return binary(e, v, "&&");
    case WEIR_OP_OR: return binary(e, v, "||");
    case WEIR_OP_NOT: return em_fmt(e, "(!%s)", part(e, v->arg[0]));
    case WEIR_OP_SELECT: return em_fmt(e, "(%s ? %s : %s)", part(e, v->arg[0]), argument(e, v, 1), argument(e, v, 2));
    case WEIR_OP_CAST: return converted(e, v);
    default: break;
    }
    if (v->kind == WEIR_VALUE_VIEW) return element_of_view(e, id);
    return em_fmt(e, "W_UNBUILT(%d)", (int)v->op); /* the plan refuses what has no text: this compiles nowhere */
}

/* ---- large values --------------------------------------------------------------------------------------------------------
 * A value is a graph and its text a tree. Of one that is large, or deep, what is taken more than once is named inside the
 * expression, and so is a part every few levels: compilers recurse as well. */

enum { LARGE = 64, SHALLOW = 32, SMALL = 8 };

static bool has_name(emitter *e, uint32_t id) {
    return e->made[id] == MADE || weiri_val(e->k, id)->op == WEIR_OP_READ_REG || !weiri_val(e->k, id)->nargs;
}

/* Does the text of this value hold those of its arguments? */
static bool is_written_out(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    return !has_name(e, id) && v->op >= WEIR_OP_ADD && v->op <= WEIR_OP_CAST;
}

/* Counts, in e->part, how often each part of the value stands in its text. Parts are older than what they are parts of: returns the
 * first. */
static uint32_t count_refs(emitter *e, uint32_t id, uint32_t now) {
    value_part *at = e->part;
    uint32_t first = id;
    at[id] = (value_part){ .names = now, .refs = 1 };
    for (uint32_t x = id; x >= first && x; x--) {
        if (at[x].names != now || !is_written_out(e, x)) continue;
        const weiri_value *v = weiri_val(e->k, x);
        for (int i = 0; i < v->nargs; i++) {
            value_part *y = &at[v->arg[i]];
            if (y->names != now) *y = (value_part){ .names = now };
            y->refs += v->op == WEIR_OP_MOD || v->op == WEIR_OP_ABS ? 2 : 1;
            if (v->arg[i] < first) first = v->arg[i];
        }
    }
    return first;
}

/* Gives names to parts that are worth one; false: none is. */
static bool choose_names(emitter *e, uint32_t id, uint32_t first, uint32_t now) {
    bool any = false;
    for (uint32_t x = first; x <= id; x++) {
        value_part *y = &e->part[x];
        if (y->names != now) continue;
        const weiri_value *v = weiri_val(e->k, x);
        y->text = y->deep = 1;
        for (int i = 0; i < v->nargs && is_written_out(e, x); i++) {
            const value_part *z = &e->part[v->arg[i]];
            y->text += z->name ? 1 : z->text;
            if (y->deep <= z->deep && !z->name) y->deep = z->deep + 1;
        }
        if (x == id || !is_written_out(e, x) || !((y->refs > 1 && y->text >= SMALL) || y->deep >= SHALLOW)) continue;
        y->name = ++e->last_part;
        any = true;
    }
    return any;
}

/* A lambda that computes the named parts in turn. */
static const char *with_names(emitter *e, uint32_t id, uint32_t first, uint32_t now) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    weiri_put(&b, "[&] {\n");
    for (uint32_t x = first; x < id; x++) {
        const uint32_t name = e->part[x].name;
        if (e->part[x].names != now || !name) continue;
        e->part[x].name = 0; /* itself written out */
        const char *text = part(e, x);
        e->part[x].name = name;
        weiri_put(&b, "%*sconst %s e%u = %s;\n", 2 * e->depth + 4, "", em_type(weiri_val(e->k, x)), name, text);
    }
    weiri_put(&b, "%*sreturn %s; }()", 2 * e->depth + 4, "", part(e, id));
    const char *s = em_fmt(e, "%s", b.s ? b.s : "");
    weiri_buf_free(&b);
    return s;
}

const char *em_expr(emitter *e, uint32_t id) {
    const weiri_value *root = weiri_val(e->k, id);
    if ((root->text <= LARGE && root->deep <= SHALLOW) || !is_written_out(e, id)) return part(e, id);
    const uint32_t before = e->names, now = ++e->last_names, first = count_refs(e, id, now);
    const bool any = choose_names(e, id, first, now);
    e->names = now;
    const char *s = any ? with_names(e, id, first, now) : part(e, id);
    e->names = before;
    return s;
}
