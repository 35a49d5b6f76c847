/* CUDA source from the plan: one statement per action, in the author's names. Every address, count and byte number is read
 * from the plan; this file only knows how things are spelled. */
#include <inttypes.h>
#include <string.h>

#include "layout.h"
#include "lower.h"
#include "plan.h"

enum { MADE = 1, MADE_INVERSE = 2 };

typedef struct emitter {
    const weiri_plan *p;
    const weir_kernel *k;
    weiri_arena *a;
    weiri_buf *o;
    int depth;
    size_t counted;          /* bytes of o whose newlines are in `lines` */
    int lines;
    /* the task in work */
    int task;
    const weiri_ptask *pt;
    const weiri_pnode *loop; /* innermost domain loop */
    const weiri_node *tiles; /* enclosing work-tile loop */
    const char *row, *col;   /* names of the element's coordinates in a linear store, or NULL: fragments */
    const char *el;          /* index of the fragment element, 0 .. N/2 */
    const char *fr;          /* index of the m64 block */
    int frags;               /* m64 blocks of the fragments that are walked */
    const weir_res *dest;    /* what a store writes, for a work tile as its place */
    int share;               /* rows of one warpgroup, while a store or set walks fragments */
    uint16_t *uses;          /* by value: how many values and ops take it */
    uint8_t *made;           /* by value: MADE: it lies in an array of its own, v<id>, in this block; MADE_INVERSE: a quotient by a row or
                                column value, of which r<id> holds the reciprocals */
    WEIRI_LIST(uint32_t) made_list;
} emitter;

/* ---- text ------------------------------------------------------------------------------------------------------------------ */

static void line(emitter *e, const char *fmt, ...) WEIRI_PRINTF(2, 3);
static void line(emitter *e, const char *fmt, ...) {
    weiri_put(e->o, "%*s", 2 * e->depth, "");
    va_list ap;
    va_start(ap, fmt);
    weiri_putv(e->o, fmt, ap);
    va_end(ap);
    weiri_put(e->o, "\n");
}

static const char *fmt(emitter *e, const char *f, ...) WEIRI_PRINTF(2, 3);
static const char *fmt(emitter *e, const char *f, ...) {
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
static void own_line(emitter *e) { weiri_put(e->o, "#line %d \"%s.cu\"\n", line_now(e) + 1, e->k->name); }

static const char *ident(emitter *e, const char *name, const char *suffix) { return weiri_ident((weiri_plan *)e->p, name, suffix); }

static const weir_place *place_of(const weiri_action *a) { return a->op && a->op->at.n ? a->op->at.at : NULL; }

static const char *base_name(const char *path) {
    const char *s = strrchr(path, '/');
    return s ? s + 1 : path;
}

/* ---- scalars ----------------------------------------------------------------------------------------------------------------- */

/* Is the value known to be >= 0? */
static bool nonneg(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    switch (v->op) {
    case WEIR_OP_INT: return v->i >= 0;
    case WEIR_OP_DIM:
    case WEIR_OP_COORD:
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
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_MIN: return nonneg(e, v->arg[0]) && nonneg(e, v->arg[1]);
    case WEIR_OP_MOD: return nonneg(e, v->arg[1]);
    case WEIR_OP_MAX: return nonneg(e, v->arg[0]) || nonneg(e, v->arg[1]);
    default: return false;
    }
}

static const char *expr(emitter *e, uint32_t id);

static bool is_float(weir_dtype t) { return t == WEIR_F32 || t == WEIR_F16 || t == WEIR_BF16 || t == WEIR_F64 || t == WEIR_TF32 || t == WEIR_E4M3 || t == WEIR_E5M2; }

static const char *float_text(emitter *e, double x) {
    if (x != x) return "__int_as_float(0x7fc00000)";
    const char *s = fmt(e, "%.9g", x);
    if (strstr(s, "inf")) return x < 0 ? "(-3.402823466e38f * 2.f)" : "(3.402823466e38f * 2.f)";
    bool point = strpbrk(s, ".e") != NULL;
    return x < 0 ? fmt(e, "(%s%sf)", s, point ? "" : ".") : fmt(e, "%s%sf", s, point ? "" : ".");
}

static const char *coord_name(emitter *e, const weir_res *q, int axis) { return fmt(e, "%s_%s", q->name, q->axis[axis]); }

static int loop_number(emitter *e, const weiri_node *loop) {
    int n = 0;
    for (const weiri_node *x = weiri_node_next(e->pt->task->root, NULL); x; x = weiri_node_next(e->pt->task->root, x)) {
        if (x == loop) return n;
        if (x->kind == NODE_LOOP) n++;
    }
    return n;
}

static const char *cta_expr(emitter *e, int64_t axis) {
    weir_cluster c = e->k->cluster;
    int size = axis == 'v' ? c.v : axis == 'm' ? c.m : axis == 'n' ? c.n : axis == 'k' ? c.k : 0;
    if (size > 1 && size == e->p->cluster) return "(i32)rank";
    switch (axis) {
    case 'v': return c.v > 1 ? fmt(e, "(i32)(rank %% %d)", c.v) : "0";
    case 'm': return c.m > 1 ? fmt(e, "(i32)(rank / %d %% %d)", c.v, c.m) : "0";
    case 'n': return c.n > 1 ? fmt(e, "(i32)(rank / %d %% %d)", c.v * c.m, c.n) : "0";
    case 'k': return c.k > 1 ? fmt(e, "(i32)(rank / %d)", c.v * c.m * c.n) : "0";
    default: return e->p->cluster > 1 ? "(i32)rank" : "0";
    }
}

/* The text of element `el` of a register tile read as value v, or of a scalar. */
static const char *leaf_tile(emitter *e, uint32_t id, const weiri_value *v) {
    const char *name = ident(e, v->res->name, "");
    const weiri_preg *g = &e->p->regs.v[weiri_preg_of(e->p, e->task, v->res)];
    bool half = weir_dtype_size(v->res->dtype) == 2;
    if (e->made[id]) name = fmt(e, "v%u", id);
    if (v->res->tile[1] == 1 || v->res->tile[1] == 4) return fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el);
    const char *idx = g->frags > 1 ? fmt(e, "%s * %d + %s", e->fr, g->cols / 2, e->el) : e->el;
    if (half) return fmt(e, "w_unpack_%s(%s[(%s) >> 1], (%s) & 1)", weir_dtype_name(v->res->dtype), name, idx, idx);
    return fmt(e, "%s[%s]", name, idx);
}

static const char *view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load);

static const char *frag_row(emitter *e, int rows) {
    const char *wg = e->pt->warpgroups > 1 && rows ? fmt(e, "wg * %d + ", rows) : "";
    return fmt(e, "(i32)(%s%s * 64 + warp %% 4 * 16 + lane / 4 + (%s >> 1 & 1) * 8)", wg, e->fr, e->el);
}

static const char *frag_col(emitter *e) { return fmt(e, "(i32)((%s >> 2) * 8 + lane %% 4 * 2 + (%s & 1))", e->el, e->el); }

/* Rows of a tile that a warpgroup before this one has, per warpgroup. */
static int share_of(emitter *e, const weir_res *r) {
    int pr = weiri_preg_of(e->p, e->task, r);
    return pr >= 0 ? e->p->regs.v[pr].rows : 0;
}

static const char *binary(emitter *e, const weiri_value *v, const char *op) {
    return fmt(e, "(%s %s %s)", expr(e, v->arg[0]), op, expr(e, v->arg[1]));
}

/* The element of a tile that lies in array `name`. */
static const char *array_element(emitter *e, const char *name, int rows, int cols) {
    if (cols == 1 || cols == 4) return fmt(e, "%s[%s * 2 + (%s >> 1 & 1)]", name, e->fr, e->el);
    if (rows == 1) return fmt(e, "%s[(%s >> 2) * 2 + (%s & 1)]", name, e->el, e->el);
    return e->frags > 1 ? fmt(e, "%s[%s * %d + %s]", name, e->fr, cols / 2, e->el) : fmt(e, "%s[%s]", name, e->el);
}

static const char *expr(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    const char *a;
    int64_t c;
    if (e->made[id] == MADE && v->kind == WEIR_VALUE_SCALAR) return fmt(e, "v%u", id);
    if (e->made[id] == MADE && !e->row && v->op != WEIR_OP_READ_REG) return array_element(e, fmt(e, "v%u", id), v->rows, v->cols);
    switch (v->op) {
    case WEIR_OP_INT: return v->i < 0 ? fmt(e, "(%" PRId64 ")", v->i) : fmt(e, "%" PRId64, v->i);
    case WEIR_OP_FLOAT: return float_text(e, v->f);
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR: return ident(e, v->name, "");
    case WEIR_OP_CTA: return cta_expr(e, v->i);
    case WEIR_OP_INDEX: return fmt(e, "i%d", loop_number(e, v->loop));
    case WEIR_OP_COORD: return coord_name(e, v->res, (int)v->i);
    case WEIR_OP_QUEUE_INDEX: return fmt(e, "%s_at", v->res->name);
    case WEIR_OP_RETURN:
    case WEIR_OP_LOAD:
        if (v->kind == WEIR_VALUE_TILE) return view_element(e, v->arg[0], e->row ? e->row : frag_row(e, e->share), e->row ? e->col : frag_col(e), true);
        return fmt(e, "v%u", id);
    case WEIR_OP_ROW: return fmt(e, "%s", e->row ? e->row : frag_row(e, share_of(e, v->res)));
    case WEIR_OP_COL: return fmt(e, "%s", e->row ? e->col : frag_col(e));
    case WEIR_OP_READ_REG: return leaf_tile(e, id, v);
    case WEIR_OP_TILE_COLS: {
        const char *el = e->el;
        if (v->i) e->el = fmt(e, "(%s + %d)", el, (int)v->i / 2);
        a = expr(e, v->arg[0]);
        e->el = el;
        return a;
    }
    case WEIR_OP_ADD: return binary(e, v, "+");
    case WEIR_OP_SUB: return binary(e, v, "-");
    case WEIR_OP_MUL: return binary(e, v, "*");
    case WEIR_OP_DIV:
        if (e->made[id] == MADE_INVERSE && !e->row) {
            const weiri_value *y = weiri_val(e->k, v->arg[1]);
            return fmt(e, "(%s * %s)", expr(e, v->arg[0]), array_element(e, fmt(e, "r%u", id), y->rows, y->cols));
        }
        return fmt(e, "((float)%s / (float)%s)", expr(e, v->arg[0]), expr(e, v->arg[1]));
    case WEIR_OP_IDIV:
        if (is_float(v->dtype)) return fmt(e, "floorf(%s / %s)", expr(e, v->arg[0]), expr(e, v->arg[1]));
        if (nonneg(e, v->arg[0]) && nonneg(e, v->arg[1])) return binary(e, v, "/");
        return fmt(e, "w_floor_div(%s, %s)", expr(e, v->arg[0]), expr(e, v->arg[1]));
    case WEIR_OP_MOD:
        if (nonneg(e, v->arg[0]) && nonneg(e, v->arg[1])) return binary(e, v, "%");
        return fmt(e, "(%s - w_floor_div(%s, %s) * %s)", expr(e, v->arg[0]), expr(e, v->arg[0]), expr(e, v->arg[1]), expr(e, v->arg[1]));
    case WEIR_OP_CEIL_DIV:
        if (weiri_value_const(e->k, v->arg[1], &c) && c == 1) return expr(e, v->arg[0]);
        if (nonneg(e, v->arg[0])) return fmt(e, "w_ceil_div(%s, %s)", expr(e, v->arg[0]), expr(e, v->arg[1]));
        return fmt(e, "(-w_floor_div(-%s, %s))", expr(e, v->arg[0]), expr(e, v->arg[1]));
    case WEIR_OP_NEG: return fmt(e, "(-%s)", expr(e, v->arg[0]));
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
        return fmt(e, "%s(%s, %s)", is_float(v->dtype) ? (v->op == WEIR_OP_MIN ? "fminf" : "fmaxf") : (v->op == WEIR_OP_MIN ? "w_min" : "w_max"),
                   expr(e, v->arg[0]), expr(e, v->arg[1]));
    case WEIR_OP_ABS: return is_float(v->dtype) ? fmt(e, "fabsf(%s)", expr(e, v->arg[0])) : fmt(e, "w_max(%s, -%s)", expr(e, v->arg[0]), expr(e, v->arg[0]));
    case WEIR_OP_EXP: return fmt(e, "w_exp2(%s * 1.44269504f)", expr(e, v->arg[0]));
    case WEIR_OP_EXP2: return fmt(e, "w_exp2(%s)", expr(e, v->arg[0]));
    case WEIR_OP_LOG2: return fmt(e, "w_log2(%s)", expr(e, v->arg[0]));
    case WEIR_OP_RCP: return fmt(e, "w_rcp(%s)", expr(e, v->arg[0]));
    case WEIR_OP_RSQRT: return fmt(e, "w_rsqrt(%s)", expr(e, v->arg[0]));
    case WEIR_OP_TANH: return fmt(e, "w_tanh(%s)", expr(e, v->arg[0]));
    case WEIR_OP_LT: return binary(e, v, "<");
    case WEIR_OP_LE: return binary(e, v, "<=");
    case WEIR_OP_GT: return binary(e, v, ">");
    case WEIR_OP_GE: return binary(e, v, ">=");
    case WEIR_OP_EQ: return binary(e, v, "==");
    case WEIR_OP_NE: return binary(e, v, "!=");
    case WEIR_OP_AND: return binary(e, v, "&&");
    case WEIR_OP_OR: return binary(e, v, "||");
    case WEIR_OP_NOT: return fmt(e, "(!%s)", expr(e, v->arg[0]));
    case WEIR_OP_SELECT: return fmt(e, "(%s ? %s : %s)", expr(e, v->arg[0]), expr(e, v->arg[1]), expr(e, v->arg[2]));
    case WEIR_OP_CAST:
        if (v->dtype == WEIR_F32 || v->dtype == WEIR_TF32) return fmt(e, "(float)%s", expr(e, v->arg[0]));
        if (is_float(v->dtype)) return fmt(e, "(float)%s(%s)", weiri_ctype(v->dtype), expr(e, v->arg[0]));
        return fmt(e, "(%s)%s", weiri_ctype(v->dtype), expr(e, v->arg[0]));
    default: break;
    }
    if (v->kind == WEIR_VALUE_VIEW) return view_element(e, id, e->row ? e->row : frag_row(e, e->share), e->row ? e->col : frag_col(e), true);
    return "0 /* ? */";
}

/* ---- views: addresses -------------------------------------------------------------------------------------------------------- */

static const char *stage_expr(emitter *e, int cur, weiri_stage_ref ref, int back) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    if (c->stages == 1) return "0";
    bool twin = false;
    for (int i = 0; i < e->p->cursors.n; i++)
        if (i != cur && e->p->cursors.v[i].task == c->task && !strcmp(e->p->cursors.v[i].name, c->name)) twin = true;
    const char *n = fmt(e, "%s%s", c->name, twin && c->producer ? "_put" : "");
    if (ref == STAGE_NEXT) return fmt(e, "%s_stage", n);
    if (ref == STAGE_CLOSE && c->split_close) return fmt(e, "%s_close", n);
    if (back) return fmt(e, "(%s_at >= %d ? %s_at - %d : %s_at + %d)", n, back, n, back, n, c->stages - back);
    return fmt(e, "%s_at", n);
}

static const char *cursor_name(emitter *e, int cur) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    for (int i = 0; i < e->p->cursors.n; i++)
        if (i != cur && e->p->cursors.v[i].task == c->task && !strcmp(e->p->cursors.v[i].name, c->name) && c->producer)
            return fmt(e, "%s_put", c->name);
    return c->name;
}

static const char *plus_stage(emitter *e, const char *base, const char *stage, int64_t step) {
    return strcmp(stage, "0") ? fmt(e, "%s + %s * %" PRId64, base, stage, step) : base;
}

/* Shared address of the stage that an effect or action names. */
static const char *region_addr(emitter *e, int region, int cur, weiri_stage_ref ref, int back) {
    const weiri_region *g = &e->p->smem.v[region];
    const char *base = ident(e, g->name, "_smem");
    return cur >= 0 ? plus_stage(e, base, stage_expr(e, cur, ref, back), g->stage_bytes) : base;
}

static const char *bar_addr(emitter *e, const weiri_action *a) {
    const weiri_bar *b = &e->p->bars.v[a->bar];
    return plus_stage(e, b->name, stage_expr(e, a->cur, a->stage, a->back), 8);
}

/* Element coordinate of axis d (outermost first) of the tile that a gmem view names: its origin. */
static const char *origin(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const weiri_value *b = weiri_val(e->k, v->base);
    if (v->op == WEIR_OP_VIEW_TILE) {
        const weir_res *q = b->res ? b->res : b->loop->queue;
        int axis = d - (g->rank - q->qrank);
        if (axis < 0) return "0";
        return g->tile[d] == 1 ? coord_name(e, q, axis) : fmt(e, "%s * %d", coord_name(e, q, axis), g->tile[d]);
    }
    int axis = d - (g->rank - b->nargs);
    if (axis < 0) return "0";
    uint32_t x = b->arg[axis];
    int64_t c;
    if (v->op == WEIR_OP_VIEW_FROM || g->tile[d] == 1) return expr(e, x);
    if (weiri_value_const(e->k, x, &c)) return fmt(e, "%" PRId64, c * g->tile[d]);
    return fmt(e, "%s * %d", expr(e, x), g->tile[d]);
}

static const char *shape_expr(emitter *e, const weir_tensor *t, int d) { return expr(e, t->shape[d].id); }

/* Byte offset in a stage of element (row, col) of a tile, as an expression. */
static const char *element_offset(emitter *e, const weiri_tile_geom *g, const char *row, const char *col) {
    const char *r = g->rows == 1 ? "0" : row;
    if (!g->swizzle) return fmt(e, "(u32)((%s) * %" PRId64 " + (%s) * %d)", r, g->row_bytes, col, g->elem);
    int shift = g->swizzle == 128 ? 0 : g->swizzle == 64 ? 1 : 2, mask = g->swizzle / 16 - 1;
    const char *in = g->panels > 1 ? fmt(e, "((u32)(%s) %% %d)", col, g->panel_cols) : fmt(e, "(u32)(%s)", col);
    const char *panel = g->panels > 1 ? fmt(e, "(u32)(%s) / %d * %" PRId64 " + ", col, g->panel_cols, g->panel_bytes) : "";
    return fmt(e, "(%s(u32)(%s) * %" PRId64 " + ((%s * %d) ^ (((u32)(%s) >> %d & %d) << 4)))", panel, r, g->row_bytes, in, g->elem, r, shift, mask);
}

static const char *load_type(emitter *e, weir_dtype t, const char *lvalue) {
    (void)e;
    if (t == WEIR_F32 || !is_float(t)) return lvalue;
    return fmt(e, "(float)%s", lvalue);
}

/* An element of a view: its value (load: 0 outside) or an lvalue. */
static const char *view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load) {
    weiri_view v;
    if (!weiri_view_of(e->k, view, &v)) return "0";
    if (v.op == WEIR_OP_VIEW_TILE) v.res = e->dest; /* a work tile is a place of whatever is stored to */
    if (!v.res) return "0";
    if (v.t) {
        const char *s = row;
        row = col;
        col = s;
    }
    if (v.row0) row = fmt(e, "(%s + %d)", row, v.row0);
    if (v.col0) col = fmt(e, "(%s + %d)", col, v.col0);
    const weir_res *r = v.res;
    if (r->kind == WEIR_RES_GMEM) {
        const weir_tensor *t = r->tensor;
        weiri_buf idx, in;
        weiri_buf_init(&idx, e->k->ctx);
        weiri_buf_init(&in, e->k->ctx);
        for (int d = 0; d < r->rank; d++) {
            const char *o = origin(e, &v, r, d);
            const char *x = d == r->rank - 1 ? col : d == r->rank - 2 ? row : NULL;
            if (d == r->rank - 1 && r->tile[d] == 1) x = NULL;
            if (d == r->rank - 2 && r->tile[d] == 1) x = NULL;
            const char *at = x ? (strcmp(o, "0") ? fmt(e, "(%s + %s)", o, x) : x) : o;
            if (d == r->rank - 1) weiri_put(&idx, "%s%s", idx.n ? " + " : "", at);
            else weiri_put(&idx, "%s(i64)%s * %s_stride%d", idx.n ? " + " : "", at, t->name, d);
            weiri_put(&in, "%s%s < %s", in.n ? " && " : "", at, shape_expr(e, t, d));
            if (v.op == WEIR_OP_VIEW_FROM) weiri_put(&in, " && %s >= 0", at);
            if (d == r->rank - 1 && v.limit) weiri_put(&in, " && %s < %s", col, expr(e, v.limit));
        }
        const char *lv = fmt(e, "%s[%s]", ident(e, t->name, ""), idx.s ? idx.s : "0");
        const char *s = load ? fmt(e, "(%s ? %s : %s)", in.s ? in.s : "true", load_type(e, t->dtype, lv), is_float(t->dtype) ? "0.f" : "0")
                             : fmt(e, "if (%s) %s", in.s ? in.s : "true", lv);
        weiri_buf_free(&idx);
        weiri_buf_free(&in);
        return s;
    }
    weiri_tile_geom g;
    if (!weiri_geom(e->p, r, &g)) return "0";
    int region = weiri_region_of(e->p, r);
    /* the stage: the newest held one of this task, as lower.c noted in the effect */
    int cur = -1;
    for (int i = 0; i < e->p->cursors.n; i++) {
        const weiri_cursor *c = &e->p->cursors.v[i];
        if (c->task == e->task && !c->producer && (c->res == r || (r->group && c->res == r->group))) cur = i;
    }
    const char *addr = region_addr(e, region, weiri_pipe_of(e->p, r) >= 0 ? cur : -1, STAGE_HELD, v.back);
    const char *lv = fmt(e, "*(%s%s *)w_ptr(%s + %s)", load ? "const " : "", weiri_ctype(weiri_stage_dtype(e->p, r)), addr, element_offset(e, &g, row, col));
    return load ? load_type(e, weiri_stage_dtype(e->p, r), fmt(e, "(%s)", lv)) : lv;
}

/* ---- actions ------------------------------------------------------------------------------------------------------------------ */

static const char *guard_of(emitter *e, weiri_who who) {
    if (e->pt && e->pt->solo) return "";
    switch (who) {
    case WHO_LANE: return "if (lane == 0) ";
    case WHO_WG: return "if (wtid == 0) ";
    case WHO_ONE: return "if (ttid == 0) ";
    default: return "";
    }
}

static int stride_of_axis(weir_cluster c, int axis) { return axis == 1 ? c.v : c.v * c.m; }

/* An arrive at every CTA that the stage is shared with. */
static void remote_arrive(emitter *e, const weiri_action *a, const char *at) {
    weir_cluster c = e->k->cluster;
    const char *t = a->who == WHO_LANE_CTAS ? "lane" : "wtid";
    int cm = a->targets & 1 ? c.m : 1, cn = a->targets & 2 ? c.n : 1;
    int n = a->cross ? cm + cn - 1 : cm * cn;
    const char *rank;
    int sm = stride_of_axis(c, 1), sn = stride_of_axis(c, 2);
    const char *m0 = cta_expr(e, 'm'), *n0 = cta_expr(e, 'n');
    if (e->pt->solo) t = "q";
    if (a->targets == 3 && a->cross)
        rank = fmt(e, "(%s < %d ? rank - %s * %d + %s * %d : rank - %s * %d + (%s - %d + (%s - %d >= (u32)%s)) * %d)", t, cm, m0, sm, t, sm, n0, sn, t,
                   cm, t, cm, n0, sn);
    else if (a->targets == 3)
        rank = fmt(e, "rank - %s * %d - %s * %d + %s %% %d * %d + %s / %d * %d", m0, sm, n0, sn, t, cm, sm, t, cm, sn);
    else {
        int axis = a->targets & 1 ? 1 : 2, s = axis == 1 ? sm : sn;
        bool only = e->p->cluster == n; /* the cluster is this axis */
        rank = only ? t : fmt(e, "rank - %s * %d + %s * %d", axis == 1 ? m0 : n0, s, t, s);
    }
    if (e->pt->solo) line(e, "W_AT(%d); for (u32 q = 0; q < %d; q++) w_mbar_arrive_remote(%s, %s);", a->id, n, at, rank);
    else line(e, "W_AT(%d); if (%s < %d) w_mbar_arrive_remote(%s, %s);", a->id, t, n, at, rank);
}

static void emit_advance(emitter *e, const weiri_action *a) {
    const weiri_cursor *c = &e->p->cursors.v[a->cur];
    const char *n = cursor_name(e, a->cur);
    const weiri_ppipe *pp = &e->p->pipes.v[c->pipe];
    bool phased = pp->full >= 0;
    if (a->stage == STAGE_NEXT) {
        if (c->stages == 1) {
            if (phased) line(e, "%s_phase ^= 1;", n);
        } else if (phased) {
            line(e, "%s_at = %s_stage;", n, n);
            line(e, "if (++%s_stage == %d) { %s_stage = 0; %s_phase ^= 1; }", n, c->stages, n, n);
        } else {
            line(e, "%s_at = %s_stage;", n, n);
            line(e, "if (++%s_stage == %d) %s_stage = 0;", n, c->stages, n);
        }
        if (c->needs_held) line(e, "%s_held++;", n);
    } else {
        if (c->split_close && c->stages > 1) line(e, "if (++%s_close == %d) %s_close = 0;", n, c->stages, n);
        if (c->needs_held) line(e, "%s_held--;", n);
    }
}

static const char *mask_expr(emitter *e, int axes) {
    weir_cluster c = e->k->cluster;
    int cm = axes & 1 ? c.m : 1, cn = axes & 2 ? c.n : 1;
    unsigned mask = 0;
    for (int n = 0; n < cn; n++)
        for (int m = 0; m < cm; m++) mask |= 1u << (m * c.v + n * c.v * c.m);
    bool all = cm * cn == e->p->cluster;
    if (all) return fmt(e, "(u16)0x%x", mask);
    const char *shift = fmt(e, "rank%s%s", axes & 1 ? fmt(e, " - %s * %d", cta_expr(e, 'm'), c.v) : "", axes & 2 ? fmt(e, " - %s * %d", cta_expr(e, 'n'), c.v * c.m) : "");
    return fmt(e, "(u16)(0x%x << (%s))", mask, shift);
}

static const char *add_offset(emitter *e, const char *base, int64_t n) {
    if (!n) return base;
    if (!strcmp(base, "0")) return fmt(e, "%" PRId64, n);
    return n < 0 ? fmt(e, "%s - %" PRId64, base, -n) : fmt(e, "%s + %" PRId64, base, n);
}

/* cp.async, 16 bytes a piece; what lies outside the tensor is filled with zeros. */
static void emit_cp_async(emitter *e, const weiri_action *a) {
    const weir_res *s = a->op->res;
    weiri_view v;
    weiri_view_of(e->k, a->op->arg[0], &v);
    const weir_res *g = v.res;
    const weir_tensor *t = g->tensor;
    weiri_tile_geom geo;
    weiri_geom(e->p, s, &geo);
    int piece = 16 / geo.elem, per_row = geo.cols / piece, n = 32 * e->pt->task->num_warps;
    const char *dst = region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back);
    line(e, "W_AT(%d);", a->id);
    line(e, "for (u32 q = ttid; q < %d; q += %d) {", geo.rows * per_row, n);
    e->depth++;
    line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d) * %d;", per_row, per_row, piece);
    weiri_buf at, in;
    weiri_buf_init(&at, e->k->ctx);
    weiri_buf_init(&in, e->k->ctx);
    const char *c0 = origin(e, &v, g, g->rank - 1);
    for (int d = 0, rows = geo.rows; d + 1 < g->rank; d++) { /* leading axes of the tile are folded into its rows */
        rows /= g->tile[d];
        const char *o = origin(e, &v, g, d);
        const char *x = g->tile[d] == 1 ? o : fmt(e, "(%s + row / %d %% %d)", o, rows > 0 ? rows : 1, g->tile[d]);
        weiri_put(&at, " + (i64)%s * %s_stride%d", x, t->name, d);
        weiri_put(&in, "%s < %s && ", x, shape_expr(e, t, d));
    }
    line(e, "const i32 left = %strue ? (%s - (%s + col)) * %d : 0;", in.s ? in.s : "", shape_expr(e, t, g->rank - 1), c0, geo.elem);
    line(e, "w_cp_async<16>(%s + %s, %s%s + %s + col, (u32)w_max(0, w_min(16, left)));", dst, element_offset(e, &geo, "row", "col"), ident(e, t->name, ""),
         at.s ? at.s : "", c0);
    weiri_buf_free(&at);
    weiri_buf_free(&in);
    e->depth--;
    line(e, "}");
}

/* The next tile of a dynamic queue, drawn from the counter, into the slot. */
static void emit_fetch(emitter *e, const weiri_action *a) {
    const weir_res *q = a->op->res;
    line(e, "W_AT(%d); %sw_queue_fetch(%s, %s, %s_counter, w_blocks());", a->id, guard_of(e, a->who),
         region_addr(e, weiri_region_of(e->p, q), a->cur, a->stage, a->back), bar_addr(e, a), q->name);
}

static void emit_bulk(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    bool load = a->kind == ACT_LOAD_BULK;
    const weiri_copy *c = &p->copies.v[a->copy];
    weiri_view v;
    const weir_res *g, *s;
    if (load) {
        weiri_view_of(e->k, a->op->arg[0], &v);
        g = v.res;
        s = a->op->res;
    } else {
        weiri_view sv;
        weiri_view_of(e->k, a->op->arg[0], &sv);
        s = sv.res;
        g = a->op->res;
        weiri_view_of(e->k, a->op->arg[1], &v);
    }
    const char *dst = region_addr(e, weiri_region_of(p, s), a->cur, a->stage, a->back);
    const char *map = fmt(e, "&%s", p->tmaps.v[c->tmap].name);
    const char *slice = NULL;
    if (c->slice_axis >= 0) {
        weir_cluster cl = e->k->cluster;
        slice = a->targets == 3 ? fmt(e, "(%s + %s * %d)", cta_expr(e, 'm'), cta_expr(e, 'n'), cl.m) : cta_expr(e, a->targets == 1 ? 'm' : 'n');
    }
    const char *guard = guard_of(e, a->who);
    bool braces = c->nbox > 1 && *guard;
    if (braces) {
        line(e, "W_AT(%d); %s{", a->id, guard);
        e->depth++;
    }
    for (int b = 0; b < c->nbox; b++) {
        weiri_buf co;
        weiri_buf_init(&co, e->k->ctx);
        for (int d = 0; d < g->rank; d++) { /* innermost first */
            const char *o = add_offset(e, origin(e, &v, g, g->rank - 1 - d), c->box[b].c[d]);
            if (slice && d == c->slice_axis) o = fmt(e, "%s + %s * %d", o, slice, c->slice_elems);
            if (d == c->wg_axis) o = fmt(e, "%s + (i32)wg * %d", o, c->wg_elems);
            weiri_put(&co, ", %s", o);
        }
        const char *addr = add_offset(e, dst, c->box[b].offset);
        if (slice) addr = fmt(e, "%s + (u32)%s * %" PRId64, addr, slice, c->slice_bytes);
        if (c->wg_axis >= 0) addr = fmt(e, "%s + wg * %" PRId64, addr, c->wg_bytes);
        const char *at = braces || (b && !*guard) ? "" : fmt(e, "W_AT(%d); %s", a->id, guard);
        const char *cache = a->op->cache;
        if (load) {
            const char *hint = cache && !strcmp(cache, "evict_first") ? ", w_policy_evict_first()" : cache && !strcmp(cache, "evict_last") ? ", w_policy_evict_last()" : "";
            const char *h = *hint ? "_hint" : "";
            if (a->targets) line(e, "%sw_tma_load_multicast%s(%s, %s, %s, %s%s%s);", at, h, addr, map, bar_addr(e, a), mask_expr(e, a->targets), hint, co.s);
            else line(e, "%sw_tma_load%s(%s, %s, %s%s%s);", at, h, addr, map, bar_addr(e, a), hint, co.s);
        } else {
            line(e, "%s%s(%s, %s%s);", at, a->op->atom == ATOM_TMA_STORE ? "w_tma_store" : "w_tma_reduce_add", map, addr, co.s);
        }
        weiri_buf_free(&co);
    }
    if (braces) {
        e->depth--;
        line(e, "}");
    }
}

static const char *mma_type(weir_dtype t) {
    return t == WEIR_F16 ? "W_F16" : t == WEIR_F32 || t == WEIR_TF32 ? "W_TF32" : t == WEIR_E4M3 ? "W_E4M3" : t == WEIR_E5M2 ? "W_E5M2" : "W_BF16";
}

static bool has_live_flag(emitter *e, const weir_res *r) {
    for (int i = 1; i <= e->p->nactions; i++) {
        const weiri_action *a = e->p->action[i];
        if (a->reg == r->index && a->fresh == 3) return true;
    }
    return false;
}

static const char *desc(emitter *e, const char *addr, const weiri_operand *o) {
    return fmt(e, "w_desc(%s, %d, %d, %d)", addr, o->lbo, o->sbo, o->layout);
}

/* One batch: r += a * transpose(b) over the whole K of the operands. */
static void emit_mma(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &p->regs.v[weiri_preg_of(p, e->task, r)];
    const char *acc = ident(e, r->name, "");
    weiri_view va, vb;
    bool a_reg = !weiri_view_of(e->k, a->op->arg[0], &va);
    weiri_view_of(e->k, a->op->arg[1], &vb);
    char why[256];
    weiri_tile_geom ga = { 0 }, gb;
    weiri_operand oa = { 0 }, ob;
    const weir_dtype dtype = weiri_stage_dtype(p, vb.res);
    weiri_geom(p, vb.res, &gb);
    weiri_layout_operand(&gb, dtype, vb.t, pr->cols, &ob, why, sizeof why);
    int kbytes = 32, elem = gb.elem;
    int ksize = vb.t ? gb.rows : gb.cols;
    int ksteps = ksize * elem / kbytes;
    const char *fresh = a->fresh == 1 ? NULL : a->fresh == 2 ? "1" : fmt(e, "%s_live", acc);
    /* effects of ACT_MMA: the accumulator first, then the operands in order */
    const weiri_effect *eb = &a->eff[a->neff - 1], *ea = a_reg ? NULL : &a->eff[a->neff - 2];
    line(e, "W_AT(%d);", a->id);
    line(e, "{");
    e->depth++;
    if (!a_reg) {
        weiri_geom(p, va.res, &ga);
        weiri_layout_operand(&ga, dtype, va.t, 64, &oa, why, sizeof why);
        const char *addr = region_addr(e, ea->region, ea->cur, ea->stage, ea->back);
        if (e->pt->warpgroups > 1 && pr->split != 'n') addr = fmt(e, "%s + wg * %" PRId64, addr, oa.m64_bytes * pr->frags);
        line(e, "const u64 a = %s;", desc(e, addr, &oa));
    }
    const char *baddr = region_addr(e, eb->region, eb->cur, eb->stage, eb->back);
    line(e, "const u64 b = %s;", desc(e, baddr, &ob));
    line(e, "#pragma unroll");
    line(e, "for (int kk = 0; kk < %d; kk++) {", ksteps);
    e->depth++;
    const char *kb = ob.k_per_panel < ksteps ? fmt(e, "kk / %d * %" PRId64 " + kk %% %d * %d", ob.k_per_panel, ob.k_panel_bytes / 16, ob.k_per_panel, ob.k_step_bytes / 16)
                                             : fmt(e, "kk * %d", ob.k_step_bytes / 16);
    const char *ka = a_reg ? "" : oa.k_per_panel < ksteps ? fmt(e, "kk / %d * %" PRId64 " + kk %% %d * %d", oa.k_per_panel, oa.k_panel_bytes / 16, oa.k_per_panel, oa.k_step_bytes / 16)
                                                          : fmt(e, "kk * %d", oa.k_step_bytes / 16);
    const char *on = !fresh ? "kk != 0" : !strcmp(fresh, "1") ? "1" : fmt(e, "%s | kk", fresh);
    for (int f = 0; f < pr->frags; f++) {
        const char *d = pr->frags > 1 ? fmt(e, "%s + %d", acc, f * pr->cols / 2) : acc;
        if (a_reg) {
            const weiri_value *x = weiri_val(e->k, a->op->arg[0]);
            const weiri_preg *xr = &p->regs.v[weiri_preg_of(p, e->task, x->res)];
            line(e, "w_wgmma_rs<%d, %s, %d>(%s, %s + %d + kk * 4, b + %s, %s);", pr->cols, mma_type(dtype), ob.mn_major, d, ident(e, x->res->name, ""),
                 f * xr->cols / 4, kb, on);
        } else {
            const char *fa = f ? fmt(e, " + %" PRId64, oa.m64_bytes * f / 16) : "";
            line(e, "w_wgmma_ss<%d, %s, %d, %d>(%s, a + %s%s, b + %s, %s);", pr->cols, mma_type(dtype), oa.mn_major, ob.mn_major, d, ka, fa, kb, on);
        }
    }
    e->depth--;
    line(e, "}");
    e->depth--;
    line(e, "}");
    if (has_live_flag(e, r)) line(e, "%s_live = 1;", acc);
}

/* ---- values in registers ------------------------------------------------------------------------------------------------------- */

static bool has_frag(emitter *e, uint32_t id) {
    return weiri_value_uses(e->k, id, WEIR_OP_READ_REG) || weiri_value_uses(e->k, id, WEIR_OP_ROW) || weiri_value_uses(e->k, id, WEIR_OP_COL);
}

/* The register tile that decides how a value lies in registers: the widest one it reads. */
static const weiri_preg *frag_tile(emitter *e, uint32_t id, int depth) {
    const weiri_value *v = weiri_val(e->k, id);
    if ((v->op == WEIR_OP_READ_REG || v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL) && v->res) {
        int i = weiri_preg_of(e->p, e->task, v->res);
        return i >= 0 ? &e->p->regs.v[i] : NULL;
    }
    const weiri_preg *best = NULL;
    for (int i = 0; i < v->nargs && depth < 64; i++) {
        const weiri_preg *g = frag_tile(e, v->arg[i], depth + 1);
        if (g && (!best || g->cols > best->cols)) best = g;
    }
    return best;
}

static bool is_tile(const weiri_value *v) { return v->kind == WEIR_VALUE_TILE || (v->kind == WEIR_VALUE_COND && v->rows > 0 && v->rows * v->cols > 1); }

static bool is_reduction(weir_op op) { return op == WEIR_OP_ROW_MAX || op == WEIR_OP_ROW_MIN || op == WEIR_OP_ROW_SUM; }

static void count_uses(emitter *e, uint32_t id, uint8_t *seen) {
    if (e->uses[id] < UINT16_MAX) e->uses[id]++;
    if (seen[id]) return;
    seen[id] = 1;
    const weiri_value *v = weiri_val(e->k, id);
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) count_uses(e, v->arg[i], seen);
}

static bool reaches(emitter *e, uint32_t from, uint32_t to) {
    if (from == to) return true;
    const weiri_value *v = weiri_val(e->k, from);
    if (v->op == WEIR_OP_READ_REG) return false;
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i] && reaches(e, v->arg[i], to)) return true;
    return false;
}

/* Is the register tile changed between this read and the last op that takes what was read? Then the read must copy. */
static bool outlives(emitter *e, const weiri_op *read, uint32_t value) {
    bool after = false, changed = false;
    for (const weiri_node *n = weiri_node_next(e->pt->task->root, NULL); n; n = weiri_node_next(e->pt->task->root, n)) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        if (op == read) {
            after = true;
            continue;
        }
        if (!after) continue;
        for (int i = 0; i < op->nargs && changed; i++)
            if (op->arg[i] && reaches(e, op->arg[i], value)) return true;
        if (op->res == read->res && (op->atom == ATOM_SET || op->atom == ATOM_ZERO || op->atom == ATOM_MMA)) changed = true;
    }
    return false;
}

static void make(emitter *e, uint32_t id, uint8_t how) {
    e->made[id] = how;
    WEIRI_PUSH(e->a, e->made_list, id);
}

static const char *element_type(const weiri_value *v) { return v->kind == WEIR_VALUE_COND ? "bool" : is_float(v->dtype) ? "float" : weiri_ctype(v->dtype); }

/* One row of a reduction: two chains (even and odd columns), joined at the end. */
static void make_reduction(emitter *e, uint32_t id, const weiri_value *v, const weiri_preg *pr) {
    const weiri_value *x = weiri_val(e->k, v->arg[0]);
    const char *op = v->op == WEIR_OP_ROW_MAX ? "fmaxf(%s, %s)" : v->op == WEIR_OP_ROW_MIN ? "fminf(%s, %s)" : "%s + %s";
    line(e, "float v%u[%d];  // %s of %d columns", id, 2 * pr->frags, v->op == WEIR_OP_ROW_MAX ? "row_max" : v->op == WEIR_OP_ROW_MIN ? "row_min" : "row_sum", x->cols);
    line(e, "#pragma unroll");
    line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    line(e, "#pragma unroll");
    line(e, "for (int h = 0; h < 2; h++) {");
    e->depth++;
    e->fr = "f";
    if (x->cols <= 4) {
        e->el = "(h * 2)";
        line(e, "float x = %s;", expr(e, v->arg[0]));
    } else {
        e->el = "(h * 2)";
        const char *x0 = expr(e, v->arg[0]);
        e->el = "(h * 2 + 1)";
        line(e, "float x = %s, y = %s;", x0, expr(e, v->arg[0]));
        line(e, "#pragma unroll");
        e->el = "(j * 4 + h * 2)";
        x0 = expr(e, v->arg[0]);
        e->el = "(j * 4 + h * 2 + 1)";
        const char *y0 = expr(e, v->arg[0]);
        const char *a = v->op == WEIR_OP_ROW_SUM ? fmt(e, "x + %s", x0) : fmt(e, op, "x", x0);
        const char *b = v->op == WEIR_OP_ROW_SUM ? fmt(e, "y + %s", y0) : fmt(e, op, "y", y0);
        line(e, "for (int j = 1; j < %d; j++) { x = %s; y = %s; }", x->cols / 8, a, b);
        line(e, "x = %s;", v->op == WEIR_OP_ROW_SUM ? "x + y" : fmt(e, op, "x", "y"));
    }
    if (v->i == 1) /* the four lanes of a quad share the row */
        for (int q = 1; q <= 2; q++) {
            const char *sh = fmt(e, "w_shfl_xor(x, %d)", q);
            line(e, "x = %s;", v->op == WEIR_OP_ROW_SUM ? fmt(e, "x + %s", sh) : fmt(e, op, "x", sh));
        }
    line(e, "v%u[f * 2 + h] = x;", id);
    e->depth--;
    line(e, "} }");
}

/* x / y for a y that a whole row or column shares: one division for it, multiplications for the elements. */
static void make_inverse(emitter *e, uint32_t id, uint32_t divisor) {
    const weiri_value *y = weiri_val(e->k, divisor);
    const weiri_preg *pr = frag_tile(e, id, 0);
    if (!pr || e->made[id]) return;
    bool by_col = y->rows == 1;
    e->frags = pr->frags;
    e->share = pr->rows;
    e->fr = by_col ? "0" : "f";
    e->el = "i";
    line(e, "float r%u[%d];", id, by_col ? y->cols / 4 : 2 * pr->frags);
    line(e, "#pragma unroll");
    if (by_col) {
        line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) r%u[(i >> 2) * 2 + (i & 1)] = 1.f / %s;", y->cols / 2, id, expr(e, divisor));
    } else {
        line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
        line(e, "#pragma unroll");
        line(e, "for (int i = 0; i < 4; i += 2) r%u[f * 2 + (i >> 1)] = 1.f / %s; }", id, expr(e, divisor));
    }
    make(e, id, MADE_INVERSE);
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
    bool shared = wider && spreads(v) && v->kind == WEIR_VALUE_TILE && is_float(v->dtype);
    const weiri_value *y = v->op == WEIR_OP_DIV ? weiri_val(e->k, v->arg[1]) : NULL;
    bool plain = !is_reduction(v->op) && (leaf || (e->uses[id] < 2 && !shared));
    if (y && is_tile(y) && spreads(y) && !spreads(v)) make_inverse(e, id, v->arg[1]);
    if (plain) return;
    const weiri_preg *pr = frag_tile(e, id, 0);
    if (!pr) return;
    e->share = pr->rows;
    e->frags = pr->frags;
    if (is_reduction(v->op)) {
        make_reduction(e, id, v, pr);
        make(e, id, MADE);
        return;
    }
    bool by_row = v->cols == 1 || v->cols == 4, by_col = v->rows == 1;
    int n = by_row ? 2 * pr->frags : by_col ? v->cols / 4 : pr->frags * v->cols / 2;
    line(e, "%s v%u[%d];", element_type(v), id, n);
    if (!by_col) line(e, "#pragma unroll");
    line(e, "for (int f = 0; f < %d; f++) {", by_col ? 1 : pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "i";
    line(e, "#pragma unroll");
    if (by_row) line(e, "for (int i = 0; i < 4; i += 2) v%u[f * 2 + (i >> 1)] = %s;", id, expr(e, id));
    else if (by_col) line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) v%u[(i >> 2) * 2 + (i & 1)] = %s;", v->cols / 2, id, expr(e, id));
    else line(e, "for (int i = 0; i < %d; i++) v%u[f * %d + i] = %s;", v->cols / 2, id, v->cols / 2, expr(e, id));
    e->depth--;
    line(e, "}");
    make(e, id, MADE);
}

static void ensure(emitter *e, uint32_t id) { ensure_part(e, id, false); }

/* ---- stores ------------------------------------------------------------------------------------------------------------------- */

static const char *to_dtype(emitter *e, weir_dtype t, const char *x) {
    if (t == WEIR_F32 || t == WEIR_TF32) return x;
    return fmt(e, "%s(%s)", is_float(t) ? weiri_ctype(t) : fmt(e, "(%s)", weiri_ctype(t)), x);
}

static bool pack_name(weir_dtype t, const char **name) {
    *name = t == WEIR_BF16 ? "w_pack_bf16" : t == WEIR_F16 ? "w_pack_f16" : NULL;
    return *name != NULL;
}

/* One fragment element of what is stored: a value, or (value 0) the register tile itself. */
static const char *stored_element(emitter *e, uint32_t value, const weiri_preg *pr) {
    if (value) return expr(e, value);
    const char *name = ident(e, pr->res->name, "");
    return pr->frags > 1 ? fmt(e, "%s[f * %d + %s]", name, pr->cols / 2, e->el) : fmt(e, "%s[%s]", name, e->el);
}

/* Fragments to a stage in shared memory. */
static void store_frag_smem(emitter *e, const weiri_action *a, uint32_t value, const weir_res *s) {
    const weiri_preg *pr = value ? frag_tile(e, value, 0) : &e->p->regs.v[weiri_preg_of(e->p, e->task, s)];
    const weir_dtype dtype = weiri_stage_dtype(e->p, s);
    weiri_tile_geom g;
    weiri_geom(e->p, s, &g);
    const weiri_effect *ef = &a->eff[a->neff - 1];
    const char *base = region_addr(e, ef->region, ef->cur, ef->stage, ef->back), *pack;
    e->share = pr->rows;
    e->frags = pr->frags;
    line(e, "{");
    e->depth++;
    line(e, "#pragma unroll");
    line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "(j * 4 + i)"; /* i runs over two (stmatrix: four) neighbouring 8-column groups */
    const char *wg = e->pt->warpgroups > 1 ? fmt(e, "wg * %d + ", pr->rows) : "";
    if (pack_name(dtype, &pack) && g.cols % 16 == 0 && g.swizzle) {
        int shift = g.swizzle == 128 ? 0 : g.swizzle == 64 ? 1 : 2, mask = g.swizzle / 16 - 1;
        line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane %% 16;", wg);
        line(e, "const u32 at = %s + row * %" PRId64 ", twist = (%s & %d) << 4;", base, g.row_bytes, shift ? fmt(e, "row >> %d", shift) : "row", mask);
        line(e, "#pragma unroll");
        line(e, "for (int j = 0; j < %d; j += 2) {", g.cols / 8);
        e->depth++;
        line(e, "float x[8];");
        line(e, "#pragma unroll");
        line(e, "for (int i = 0; i < 8; i++) x[i] = %s;", stored_element(e, value, pr));
        const char *panel = g.panels > 1 ? fmt(e, "j / %d * %" PRId64 " + ", g.panel_cols / 8, g.panel_bytes) : "";
        const char *in = g.panels > 1 ? fmt(e, "(j %% %d * 16u + lane / 16 * 16u)", g.panel_cols / 8) : "(j * 16u + lane / 16 * 16u)";
        line(e, "w_stmatrix4(at + %s(%s ^ twist), %s(x[0], x[1]), %s(x[2], x[3]), %s(x[4], x[5]), %s(x[6], x[7]));", panel, in, pack, pack, pack, pack);
        e->depth--;
        line(e, "}");
    } else {
        line(e, "#pragma unroll");
        line(e, "for (int j = 0; j < %d; j++) {", g.cols / 8);
        e->depth++;
        line(e, "#pragma unroll");
        line(e, "for (int i = 0; i < 4; i++) {");
        e->depth++;
        line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane / 4 + (i >> 1) * 8, col = j * 8 + lane %% 4 * 2 + (i & 1);", wg);
        line(e, "*(%s *)w_ptr(%s + %s) = %s;", weiri_ctype(dtype), base, element_offset(e, &g, "row", "col"),
             to_dtype(e, dtype, stored_element(e, value, pr)));
        e->depth--;
        line(e, "}");
        e->depth--;
        line(e, "}");
    }
    e->depth--;
    line(e, "}");
    e->depth--;
    line(e, "}");
    e->share = 0;
}

/* Fragments straight to global memory, in bounds, two columns at a time where the row allows. */
static void store_frag_gmem(emitter *e, uint32_t value, uint32_t place, const weir_res *g) {
    const weiri_preg *pr = frag_tile(e, value, 0);
    const weiri_value *val = weiri_val(e->k, value);
    const weir_tensor *t = g->tensor;
    weiri_view v;
    weiri_view_of(e->k, place, &v);
    e->share = pr->rows;
    e->frags = pr->frags;
    int cols = val->cols;
    const char *name = ident(e, t->name, ""), *pack;
    const char *wg = e->pt->warpgroups > 1 ? fmt(e, "wg * %d + ", pr->rows) : "";
    const char *r0 = g->rank >= 2 ? origin(e, &v, g, g->rank - 2) : "0", *c0 = origin(e, &v, g, g->rank - 1);
    const char *lead = "";
    for (int d = 0; d + 2 < g->rank; d++) lead = fmt(e, "%s + (i64)(%s) * %s_stride%d", lead, origin(e, &v, g, d), t->name, d);
    const char *rows = g->rank >= 2 ? shape_expr(e, t, g->rank - 2) : "1", *width = shape_expr(e, t, g->rank - 1);
    const char *limit = v.limit ? fmt(e, "w_min(%s, %s + %s)", width, c0, expr(e, v.limit)) : width;
    line(e, "{");
    e->depth++;
    bool packs = pack_name(t->dtype, &pack) && cols >= 8;
    if (packs) line(e, "const bool pairs = %s_pairs;", t->name);
    line(e, "#pragma unroll");
    line(e, "for (int fh = 0; fh < %d; fh++) {", pr->frags * 2);
    e->depth++;
    line(e, "const int f = fh / 2, h = fh %% 2;");
    line(e, "const i32 row = (i32)(%sf * 64 + warp %% 4 * 16 + lane / 4 + h * 8) + %s;", wg, r0);
    line(e, "%s *out = %s + (i64)row * %s_stride%d%s;", weiri_ctype(t->dtype), name, t->name, g->rank - 2, lead);
    if (cols < 8) { /* one per row: every lane of the quad has it, the first stores; four: one a lane */
        e->fr = "f";
        e->el = "(h * 2)";
        line(e, "const i32 col = (i32)(lane %% 4) + %s;", c0);
        line(e, "if (lane %% 4 < %d && row < %s && col < %s) out[col] = %s;", cols, rows, limit, to_dtype(e, t->dtype, expr(e, value)));
        e->depth--;
        line(e, "}");
        e->depth--;
        line(e, "}");
        e->share = 0;
        return;
    }
    line(e, "#pragma unroll");
    line(e, "for (int j = 0; j < %d; j++) {", cols / 8);
    e->depth++;
    e->fr = "f";
    line(e, "const i32 col = (i32)(j * 8 + lane %% 4 * 2) + %s;", c0);
    e->el = "(j * 4 + h * 2)";
    const char *x0 = expr(e, value);
    e->el = "(j * 4 + h * 2 + 1)";
    const char *x1 = expr(e, value);
    line(e, "const float x0 = %s, x1 = %s;", x0, x1);
    line(e, "if (row < %s) {", rows);
    e->depth++;
    if (packs) {
        line(e, "if (pairs && col + 1 < %s) *(u32 *)(out + col) = %s(x0, x1);", limit, pack);
        line(e, "else {");
        e->depth++;
    }
    line(e, "if (col < %s) out[col] = %s;", limit, to_dtype(e, t->dtype, "x0"));
    line(e, "if (col + 1 < %s) out[col + 1] = %s;", limit, to_dtype(e, t->dtype, "x1"));
    if (packs) {
        e->depth--;
        line(e, "}");
    }
    for (int i = 0; i < 3; i++) {
        e->depth--;
        line(e, "}");
    }
    e->depth--;
    line(e, "}");
    e->share = 0;
}

/* No fragments: the task's threads share the elements in order. */
static void store_linear(emitter *e, const weiri_action *a, uint32_t value, uint32_t place, const weir_res *dst) {
    int rows = 1, cols = dst->tile[dst->rank - 1];
    for (int d = 0; d + 1 < dst->rank; d++) rows *= dst->tile[d];
    int n = 32 * e->pt->task->num_warps;
    const char *tid = e->pt->solo ? "0" : "ttid";
    line(e, "for (u32 q = %s; q < %d; q += %d) {", tid, rows * cols, e->pt->solo ? 1 : n);
    e->depth++;
    line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d);", cols, cols);
    e->row = "row";
    e->col = "col";
    if (rows == 1) line(e, "(void)row;");
    const char *x = expr(e, value);
    if (dst->kind == WEIR_RES_GMEM) {
        e->dest = dst;
        line(e, "%s = %s;", view_element(e, place, "row", "col", false), to_dtype(e, dst->tensor->dtype, x));
    } else {
        weiri_tile_geom g;
        weiri_geom(e->p, dst, &g);
        const weiri_effect *ef = &a->eff[a->neff - 1];
        line(e, "*(%s *)w_ptr(%s + %s) = %s;", weiri_ctype(dst->dtype), region_addr(e, ef->region, ef->cur, ef->stage, ef->back),
             element_offset(e, &g, "row", "col"), to_dtype(e, dst->dtype, x));
    }
    e->row = e->col = NULL;
    e->depth--;
    line(e, "}");
}

static void emit_store(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    uint32_t value = op->arg[0];
    line(e, "W_AT(%d);", a->id);
    if (has_frag(e, value)) ensure(e, value);
    if (op->res->kind == WEIR_RES_GMEM) {
        if (has_frag(e, value)) store_frag_gmem(e, value, op->arg[1], op->res);
        else store_linear(e, a, value, op->arg[1], op->res);
    } else {
        if (has_frag(e, value)) store_frag_smem(e, a, value, op->res);
        else store_linear(e, a, value, 0, op->res);
    }
}

static void emit_set(emitter *e, const weiri_action *a) {
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = ident(e, r->name, "");
    line(e, "W_AT(%d);", a->id);
    ensure(e, a->op->arg[0]);
    line(e, "#pragma unroll");
    line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "i";
    e->frags = pr->frags;
    e->share = pr->rows;
    const char *pack;
    line(e, "#pragma unroll");
    if (r->tile[1] == 1 || r->tile[1] == 4) {
        line(e, "for (int i = 0; i < 4; i += 2) %s[f * 2 + (i >> 1)] = %s;", name, expr(e, a->op->arg[0]));
    } else if (pack_name(r->dtype, &pack)) {
        e->el = "(i + 0)";
        const char *x0 = expr(e, a->op->arg[0]);
        e->el = "(i + 1)";
        const char *x1 = expr(e, a->op->arg[0]);
        line(e, "for (int i = 0; i < %d; i += 2) %s[(f * %d + i) >> 1] = %s(%s, %s);", pr->cols / 2, name, pr->cols / 2, pack, x0, x1);
    } else {
        line(e, "for (int i = 0; i < %d; i++) %s[f * %d + i] = %s;", pr->cols / 2, name, pr->cols / 2, expr(e, a->op->arg[0]));
    }
    e->share = 0;
    e->depth--;
    line(e, "}");
    if (has_live_flag(e, r)) line(e, "%s_live = 1;", name);
}

static void copy_read(emitter *e, uint32_t value, const weir_res *r, const weiri_preg *pr) {
    line(e, "%s v%u[%d];", weir_dtype_size(r->dtype) == 2 ? "u32" : weiri_ctype(r->dtype), value, pr->per_thread);
    line(e, "#pragma unroll");
    line(e, "for (int i = 0; i < %d; i++) v%u[i] = %s[i];", pr->per_thread, value, ident(e, r->name, ""));
    make(e, value, MADE);
}

/* r:read(): a pending zero() becomes real, so that every later use may take the registers as they are. */
static void emit_read(emitter *e, const weiri_action *a) {
    const weir_res *r = e->k->res.v[a->reg];
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = ident(e, r->name, "");
    uint32_t value = a->op->nret ? a->op->ret[0] : 0;
    bool copy = value && outlives(e, a->op, value);
    if (!(a->fresh & 1)) {
        line(e, "W_AT(%d);", a->id);
        if (copy) copy_read(e, value, r, pr);
        return;
    }
    if (a->fresh == 3) line(e, "W_AT(%d); if (!%s_live) {  // no mma since zero()", a->id, name);
    else line(e, "W_AT(%d); {", a->id);
    e->depth++;
    line(e, "#pragma unroll");
    line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", pr->per_thread, name);
    if (has_live_flag(e, r)) line(e, "%s_live = 1;", name);
    e->depth--;
    line(e, "}");
    if (copy) copy_read(e, value, r, pr);
}

/* ---- custom bodies -------------------------------------------------------------------------------------------------------------- */

static const char *body_name(emitter *e, const weir_res *r, const weiri_work *w) { return fmt(e, "%s_%s", r->name, w->name); }

static const char *param_type(emitter *e, const weiri_param *q, const weir_res *view) {
    if (q->view) return fmt(e, "const %s *", view ? weiri_ctype(view->dtype) : "void");
    return weiri_ctype(q->dtype);
}

/* First op that calls the body, to learn what its views are. */
static const weiri_op *first_call(const weir_kernel *k, const weiri_work *w) {
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n))
            if (n->kind == NODE_OP && n->op->work == w) return n->op;
    return NULL;
}

static void emit_body(emitter *e, const weir_res *r, const weiri_work *w) {
    const weiri_op *call = first_call(e->k, w);
    if (!call) return;
    weiri_put(e->o, "\n");
    if (w->file) line(e, "// work %s of %s, %s:%d", w->name, r->name, base_name(w->file), w->line);
    bool templ = false;
    weiri_buf t;
    weiri_buf_init(&t, e->k->ctx);
    for (int i = 0; i < w->nparams; i++)
        if (w->params[i].constant) weiri_put(&t, "%s%s %s", templ ? ", " : "template <", weiri_ctype(w->params[i].dtype), w->params[i].name), templ = true;
    if (templ) line(e, "%s>", t.s);
    weiri_buf_free(&t);
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    if (weiri_in_smem(r)) weiri_put(&b, ", %s *smem", weiri_ctype(r->dtype));
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_put(&b, ", %s%s *%s", x->out ? "" : "const ", weiri_ctype(x->dtype), r->bind[i].name);
        for (int d = 0; d < x->rank; d++) weiri_put(&b, ", const i32 %s_shape%d", r->bind[i].name, d);
        for (int d = 0; d + 1 < x->rank; d++) weiri_put(&b, ", const i64 %s_stride%d", r->bind[i].name, d);
    }
    for (int i = 0; i < w->nparams; i++) {
        if (w->params[i].constant) continue;
        weiri_view v = { 0 };
        if (w->params[i].view && i < call->nargs) weiri_view_of(e->k, call->arg[i], &v);
        weiri_put(&b, ", %s %s", param_type(e, &w->params[i], v.res), w->params[i].name);
    }
    for (int i = 0; i < w->nreturns; i++) weiri_put(&b, ", %s &%s", weiri_ctype(w->returns[i].dtype), w->returns[i].name);
    const char *tile = e->p->queue ? fmt(e, ", const %s_tile &tile", e->p->queue->name) : "";
    line(e, "static __device__ __forceinline__ void %s(const i32 iter, const i32 stage, const u32 bar, const u32 tid, const u32 nthreads, const u32 warp, const u32 lane,", body_name(e, r, w));
    line(e, "    const bool elected, const u32 w_sync_id%s%s) {", tile, b.s ? b.s : "");
    weiri_buf_free(&b);
    e->depth++;
    line(e, "(void)iter; (void)stage; (void)bar; (void)tid; (void)nthreads; (void)warp; (void)lane; (void)elected;%s", e->p->queue ? " (void)tile;" : "");
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_buf s, st;
        weiri_buf_init(&s, e->k->ctx);
        weiri_buf_init(&st, e->k->ctx);
        for (int d = 0; d < x->rank; d++) {
            weiri_put(&s, "%s%s_shape%d", d ? ", " : "", r->bind[i].name, d);
            if (d + 1 < x->rank) weiri_put(&st, "%s_stride%d, ", r->bind[i].name, d);
        }
        line(e, "const i32 %s_shape[] = { %s }; const i64 %s_stride[] = { %s1 }; (void)%s_shape; (void)%s_stride;", r->bind[i].name, s.s, r->bind[i].name, st.s ? st.s : "",
             r->bind[i].name, r->bind[i].name);
        weiri_buf_free(&s);
        weiri_buf_free(&st);
    }
    for (int i = 0; i < r->nconsts; i++) {
        if (r->consts[i].is_int) line(e, "constexpr i32 %s = %" PRId64 ";", r->consts[i].name, (int64_t)r->consts[i].value);
        else line(e, "constexpr float %s = %s;", r->consts[i].name, float_text(e, r->consts[i].value));
    }
    if (strstr(w->code, "task_sync")) line(e, "auto task_sync = [=] { if (w_sync_id) w_bar_sync(w_sync_id, nthreads); else w_sync_warp(); };");
    if (w->file) weiri_put(e->o, "#line %d \"%s\"\n", w->line, w->file);
    weiri_put(e->o, "%s\n", w->code);
    own_line(e);
    e->depth--;
    line(e, "}");
}

static void emit_call(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    const weir_res *r = op->res;
    const weiri_work *w = op->work;
    for (int i = 0; i < op->nret && i < w->nreturns; i++) line(e, "%s v%u = 0;", weiri_ctype(w->returns[i].dtype), op->ret[i]);
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    bool templ = false;
    for (int i = 0; i < w->nparams && i < op->nargs; i++)
        if (w->params[i].constant) weiri_put(&b, "%s%s", templ ? ", " : "<", expr(e, op->arg[i])), templ = true;
    if (templ) weiri_put(&b, ">");
    bool producer = w->side == WEIR_SIDE_PRODUCER;
    int pi = weiri_pipe_of(e->p, r);
    const weiri_effect *ef = NULL; /* of the resource's own stage: the last effect on its region */
    for (int i = 0; i < a->neff; i++)
        if (a->eff[i].region >= 0 && e->p->smem.v[a->eff[i].region].res == r) ef = &a->eff[i];
    const char *stage = ef && ef->cur >= 0 ? stage_expr(e, ef->cur, ef->stage, ef->back) : "0";
    const char *bar = "0";
    if (pi >= 0 && ef && e->p->pipes.v[pi].full >= 0) {
        const weiri_bar *x = &e->p->bars.v[producer ? e->p->pipes.v[pi].full : e->p->pipes.v[pi].empty];
        bar = plus_stage(e, x->name, stage, 8);
    }
    const char *iter = e->loop ? fmt(e, "i%d", loop_number(e, e->loop->src)) : "0";
    bool solo = e->pt->solo;
    weiri_put(&b, "(%s, (i32)%s, %s, %s, %d, %s, %s, %s, %d", iter, stage, bar, solo ? "0" : "ttid", solo ? 1 : 32 * e->pt->task->num_warps,
              solo ? "0" : fmt(e, "warp - %d", e->pt->task->first_warp), solo ? "0" : "lane", solo ? "true" : "ttid == 0", e->pt->named_task);
    if (e->p->queue) {
        weiri_put(&b, ", %s_tile{", e->p->queue->name);
        for (int i = 0; i < e->p->queue->qrank; i++) weiri_put(&b, "%s%s", i ? ", " : "", e->tiles ? coord_name(e, e->p->queue, i) : "0");
        weiri_put(&b, "}");
    }
    if (weiri_in_smem(r))
        weiri_put(&b, ", (%s *)w_ptr(%s)", weiri_ctype(r->dtype), ef ? region_addr(e, ef->region, ef->cur, ef->stage, ef->back) : ident(e, r->name, "_smem"));
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_put(&b, ", %s", ident(e, x->name, ""));
        for (int d = 0; d < x->rank; d++) weiri_put(&b, ", %s", shape_expr(e, x, d));
        for (int d = 0; d + 1 < x->rank; d++) weiri_put(&b, ", %s_stride%d", x->name, d);
    }
    for (int i = 0; i < w->nparams && i < op->nargs; i++) {
        if (w->params[i].constant) continue;
        if (!w->params[i].view) {
            weiri_put(&b, ", %s", expr(e, op->arg[i]));
            continue;
        }
        weiri_view v;
        weiri_view_of(e->k, op->arg[i], &v);
        int region = weiri_region_of(e->p, v.res);
        const char *addr = "0";
        for (int j = 0; j < a->neff; j++)
            if (a->eff[j].region == region && a->eff[j].back == v.back && !a->eff[j].write)
                addr = region_addr(e, region, a->eff[j].cur, a->eff[j].stage, v.back);
        weiri_put(&b, ", (const %s *)w_ptr(%s)", weiri_ctype(v.res->dtype), addr);
    }
    for (int i = 0; i < w->nreturns; i++) {
        if (i < op->nret) weiri_put(&b, ", v%u", op->ret[i]);
    }
    line(e, "W_AT(%d); %s%s);", a->id, body_name(e, r, w), b.s);
    weiri_buf_free(&b);
}

/* ---- one action --------------------------------------------------------------------------------------------------------------- */

static void emit_action(emitter *e, const weiri_action *a) {
    switch (a->kind) {
    case ACT_WAIT: {
        const char *n = cursor_name(e, a->cur);
        const weir_place *at = place_of(a);
        line(e, "W_AT(%d); w_mbar_wait(%s, %s_phase);%s", a->id, bar_addr(e, a), n, at ? fmt(e, "  // %s:%d", base_name(at->file), at->line) : "");
        return;
    }
    case ACT_ARRIVE:
        if (a->targets) {
            remote_arrive(e, a, bar_addr(e, a));
            return;
        }
        line(e, "W_AT(%d); %sw_mbar_arrive(%s);", a->id, guard_of(e, a->who), bar_addr(e, a));
        return;
    case ACT_EXPECT: line(e, "W_AT(%d); %sw_mbar_expect(%s, %" PRId64 ");", a->id, guard_of(e, a->who), bar_addr(e, a), a->bytes); return;
    case ACT_CP_ARRIVE: line(e, "W_AT(%d); w_mbar_cp_async_arrive(%s);", a->id, bar_addr(e, a)); return;
    case ACT_ADVANCE: emit_advance(e, a); return;
    case ACT_REGS: return; /* emit_regs: before the roles of a warpgroup part */
    case ACT_LOAD_BULK:
        if (a->op->atom == ATOM_QUEUE_FETCH) {
            emit_fetch(e, a);
            return;
        }
        /* fall through */
    case ACT_STORE_BULK: emit_bulk(e, a); return;
    case ACT_CP_ASYNC: emit_cp_async(e, a); return;
    case ACT_CP_WAIT: line(e, "W_AT(%d); w_cp_commit(); w_cp_wait<%d>();", a->id, a->n); return;
    case ACT_BULK_COMMIT: line(e, "W_AT(%d); %sw_bulk_commit();", a->id, guard_of(e, a->who)); return;
    case ACT_BULK_WAIT: line(e, "W_AT(%d); %sw_bulk_wait%s<%d>();", a->id, guard_of(e, a->who), a->read ? "_read" : "", a->n); return;
    case ACT_MMA_FENCE: line(e, "W_AT(%d); w_wgmma_fence();", a->id); return;
    case ACT_MMA: emit_mma(e, a); return;
    case ACT_MMA_COMMIT: line(e, "W_AT(%d); w_wgmma_commit();", a->id); return;
    case ACT_MMA_WAIT: line(e, "W_AT(%d); w_wgmma_wait<%d>();", a->id, a->n); return;
    case ACT_FENCE_ASYNC: line(e, "W_AT(%d); w_fence_async();", a->id); return;
    case ACT_WARP_SYNC: line(e, "W_AT(%d); w_sync_warp();", a->id); return;
    case ACT_NAMED_SYNC:
        line(e, "W_AT(%d); w_bar_sync(%s, %d);", a->id, e->pt->warpgroups > 1 && a->named == e->pt->named_wg ? fmt(e, "%d + wg", a->named) : fmt(e, "%d", a->named), a->threads);
        return;
    case ACT_CTA_SYNC: line(e, "W_AT(%d); w_sync_cta();", a->id); return;
    case ACT_CLUSTER_ARRIVE: line(e, "W_AT(%d); %s", a->id, a->n ? "w_cluster_arrive_relaxed();" : "w_cluster_arrive();"); return;
    case ACT_CLUSTER_WAIT: line(e, "W_AT(%d); w_cluster_wait();", a->id); return;
    case ACT_GRID_WAIT: line(e, "W_AT(%d); w_grid_wait();", a->id); return;
    case ACT_GRID_LAUNCH: line(e, "W_AT(%d); w_grid_launch();", a->id); return;
    case ACT_ZERO:
        line(e, "W_AT(%d);", a->id);
        if (a->op->res->kind == WEIR_RES_REG) {
            const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, a->op->res)];
            line(e, "#pragma unroll");
            line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", pr->per_thread, ident(e, a->op->res->name, ""));
        } else if (has_live_flag(e, a->op->res)) {
            line(e, "%s_live = 0;", ident(e, a->op->res->name, ""));
        }
        return;
    case ACT_BODY:
        switch (a->op->atom) {
        case ATOM_STORE: emit_store(e, a); return;
        case ATOM_NONE: /* a commit without tensor memory: the sums go to the stage */
            emit_read(e, a);
            store_frag_smem(e, a, 0, e->k->res.v[a->reg]);
            return;
        case ATOM_SET: emit_set(e, a); return;
        case ATOM_READ: emit_read(e, a); return;
        case ATOM_CUSTOM: emit_call(e, a); return;
        case ATOM_QUEUE_ADVANCE:
            line(e, "W_AT(%d); %s_next = *(const i32 *)w_ptr(%s);", a->id, a->op->res->name,
                 region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back));
            return;
        case ATOM_LOAD:
            line(e, "W_AT(%d);", a->id);
            for (int i = 0; i < a->op->nret; i++) {
                const weiri_value *v = weiri_val(e->k, a->op->ret[i]);
                if (v->kind == WEIR_VALUE_TILE) continue; /* loaded where its elements are used */
                line(e, "const %s v%u = %s;", is_float(v->dtype) ? "float" : weiri_ctype(v->dtype), a->op->ret[i], view_element(e, v->arg[0], "0", "0", true));
            }
            return;
        default: return;
        }
    default: line(e, "W_AT(%d);", a->id); return;
    }
}

/* ---- the tree ------------------------------------------------------------------------------------------------------------------ */

static void emit_nodes(emitter *e, const weiri_pnode *n);

/* Names the parts of a scalar that are taken more than once, so that a long raster stays readable. */
static void let_scalars(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (!v->nargs || e->made[id]) return;
    for (int i = 0; i < v->nargs; i++) let_scalars(e, v->arg[i]);
    if (e->uses[id] < 2 || v->kind != WEIR_VALUE_SCALAR || v->op == WEIR_OP_LOAD || v->op == WEIR_OP_RETURN) return;
    line(e, "const %s v%u = %s;", is_float(v->dtype) ? "float" : weiri_ctype(v->dtype), id, expr(e, id));
    make(e, id, MADE);
}

/* What a block computed is gone at its end. */
static void forget(emitter *e, int mark) {
    while (e->made_list.n > mark) e->made[e->made_list.v[--e->made_list.n]] = 0;
}

static void open_brace(emitter *e, const char *head) {
    line(e, "%s {", head);
    e->depth++;
}

static void close_brace(emitter *e) {
    e->depth--;
    line(e, "}");
}

static const char *loop_cond(emitter *e, const weiri_node *l, const char *var, const char *stop) {
    int64_t s;
    if (weiri_value_const(e->k, l->step, &s)) return fmt(e, "%s %s %s", var, s > 0 ? "<" : ">", stop);
    return fmt(e, "(%s > 0 ? %s < %s : %s > %s)", expr(e, l->step), var, stop, var, stop);
}

/* The tile loop: linear index, then the raster. */
static void emit_tiles(emitter *e, const weiri_pnode *n) {
    const weir_res *q = n->src->queue;
    weir_cluster c = e->k->cluster;
    int cl = e->p->cluster;
    const char *Q = q->name;
    const char *first = cl > 1 ? fmt(e, "(i32)(w_block() / %d)", cl) : "(i32)w_block()";
    const char *step = cl > 1 ? fmt(e, "(i32)(w_blocks() / %d)", cl) : "(i32)w_blocks()";
    for (int i = 0; i < q->qrank; i++) {
        int per = i == q->axis_m ? c.m * c.v : i == q->axis_n ? c.n : 1;
        const char *x = expr(e, q->extent[i].id);
        line(e, "const i32 %s_tiles_%s = %s;", Q, q->axis[i], per > 1 ? fmt(e, "w_ceil_div(%s, %d)", x, per) : x);
    }
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    for (int i = 0; i < q->qrank; i++) weiri_put(&b, "%s%s_tiles_%s", i ? " * " : "", Q, q->axis[i]);
    line(e, "const i32 %s_tiles = %s;", Q, b.s ? b.s : "1");
    weiri_buf_free(&b);
    if (q->qkind == WEIR_QUEUE_GRID) {
        line(e, "const i32 %s_at = %s;", Q, first);
        open_brace(e, fmt(e, "if (%s_at < %s_tiles)", Q, Q));
    } else if (weiri_dynamic(q)) {
        line(e, "i32 %s_next = 0;", Q);
        open_brace(e, fmt(e, "for (i32 %s_at = %s; %s_at < %s_tiles; %s_at = %s_next)", Q, first, Q, Q, Q, Q));
    } else {
        open_brace(e, fmt(e, "for (i32 %s_at = %s; %s_at < %s_tiles; %s_at += %s)", Q, first, Q, Q, Q, step));
    }
    const int mark = e->made_list.n;
    if (q->raster == WEIR_RASTER_CUSTOM) {
        for (int i = 0; i < q->qrank; i++) let_scalars(e, q->raster_coord[i].id);
        for (int i = 0; i < q->qrank; i++) line(e, "const i32 %s = %s;", coord_name(e, q, i), expr(e, q->raster_coord[i].id));
    } else {
        /* the two innermost axes by raster; outer ones slowest */
        const char *rest = fmt(e, "%s_at", Q);
        int inner = q->qrank >= 2 ? 2 : 1;
        for (int i = 0; i + inner < q->qrank; i++) {
            weiri_buf d;
            weiri_buf_init(&d, e->k->ctx);
            for (int j = i + 1; j < q->qrank; j++) weiri_put(&d, "%s%s_tiles_%s", j > i + 1 ? " * " : "", Q, q->axis[j]);
            line(e, "const i32 %s = %s / (%s), %s_r%d = %s %% (%s);", coord_name(e, q, i), rest, d.s, Q, i, rest, d.s);
            weiri_buf_free(&d);
            rest = fmt(e, "%s_r%d", Q, i);
        }
        if (inner == 1) {
            line(e, "const i32 %s_c0 = %s;", Q, rest);
            line(e, "const i32 %s = %s_c0;", coord_name(e, q, 0), Q);
        } else {
            int m = q->qrank - 2, nn = q->qrank - 1;
            const char *nm = fmt(e, "%s_tiles_%s", Q, q->axis[m]), *nn_ = fmt(e, "%s_tiles_%s", Q, q->axis[nn]);
            if (q->raster == WEIR_RASTER_ROW) line(e, "const i32 %s_c0 = %s / %s, %s_c1 = %s %% %s;", Q, rest, nn_, Q, rest, nn_);
            else if (q->raster == WEIR_RASTER_COLUMN) line(e, "const i32 %s_c0 = %s %% %s, %s_c1 = %s / %s;", Q, rest, nm, Q, rest, nm);
            else {
                int g = q->group_rows / (c.m * c.v > 1 && q->axis_m == m ? c.m * c.v : 1);
                if (g < 1) g = 1;
                line(e, "// %d rows of tiles side by side", q->group_rows);
                line(e, "const i32 %s_band = %s / (%d * %s), %s_in = %s %% (%d * %s), %s_high = w_min(%s - %s_band * %d, %d);", Q, rest, g, nn_, Q, rest, g, nn_, Q, nm, Q, g, g);
                line(e, "const i32 %s_c0 = %s_band * %d + %s_in %% %s_high, %s_c1 = %s_in / %s_high;", Q, Q, g, Q, Q, Q, Q, Q);
            }
            for (int i = m; i <= nn; i++) {
                int per = i == q->axis_m ? c.m * c.v : i == q->axis_n ? c.n : 1;
                const char *off = i == q->axis_m && per > 1 ? (c.v > 1 ? fmt(e, " + (i32)(rank %% %d)", c.m * c.v) : fmt(e, " + %s", cta_expr(e, 'm')))
                                  : i == q->axis_n && per > 1 ? fmt(e, " + %s", cta_expr(e, 'n')) : "";
                line(e, "const i32 %s = %s_c%d%s%s;", coord_name(e, q, i), Q, i - m, per > 1 ? fmt(e, " * %d", per) : "", off);
            }
        }
    }
    const weiri_node *before = e->tiles;
    e->tiles = n->src;
    emit_nodes(e, n->first);
    e->tiles = before;
    forget(e, mark);
    close_brace(e);
}

static void emit_nodes(emitter *e, const weiri_pnode *n) {
    const int mark = e->made_list.n;
    for (; n; n = n->next) {
        const weiri_node *s = n->src;
        switch (n->kind) {
        case PN_ACTION: emit_action(e, n->act); break;
        case PN_LOOP: {
            int num = loop_number(e, s);
            const char *stop = expr(e, s->stop);
            int64_t c;
            if (!weiri_value_const(e->k, s->stop, &c)) {
                line(e, "const i32 i%d_end = %s;", num, stop);
                stop = fmt(e, "i%d_end", num);
            }
            if (s->unroll > 0) line(e, "#pragma unroll %d", s->unroll);
            const char *var = fmt(e, "i%d", num);
            bool one = weiri_value_const(e->k, s->step, &c) && c == 1;
            open_brace(e, fmt(e, "for (i32 %s = %s; %s; %s)", var, expr(e, s->start), loop_cond(e, s, var, stop), one ? fmt(e, "%s++", var) : fmt(e, "%s += %s", var, expr(e, s->step))));
            const weiri_pnode *before = e->loop;
            e->loop = n;
            emit_nodes(e, n->first);
            e->loop = before;
            close_brace(e);
            break;
        }
        case PN_GUARD: {
            const char *cond = "true";
            if (s->guard == WEIR_GUARD_TRUE) cond = expr(e, s->of);
            else if (s->guard == WEIR_GUARD_FALSE) cond = fmt(e, "!%s", expr(e, s->of));
            else {
                const weiri_node *l = s->loop;
                const char *var = fmt(e, "i%d", loop_number(e, l));
                if (s->guard == WEIR_GUARD_FIRST) cond = fmt(e, "%s == %s", var, expr(e, l->start));
                else if (s->guard == WEIR_GUARD_LAST) cond = fmt(e, "!(%s)", loop_cond(e, l, fmt(e, "%s + %s", var, expr(e, l->step)), expr(e, l->stop)));
                else {
                    const char *count = fmt(e, "(%s - %s) / %s", var, expr(e, l->start), expr(e, l->step));
                    cond = s->phase ? fmt(e, "%s >= %d && (%s - %d) %% %d == 0", count, s->phase, count, s->phase, s->period) : fmt(e, "%s %% %d == 0", count, s->period);
                }
            }
            open_brace(e, fmt(e, "if (%s)", cond));
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        }
        case PN_TILES: emit_tiles(e, n); break;
        case PN_SKIPPABLE:
            open_brace(e, e->tiles && e->tiles->skip ? fmt(e, "if (!%s)", expr(e, e->tiles->skip)) : "");
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        case PN_HELD: {
            const char *c = cursor_name(e, n->cur);
            open_brace(e, fmt(e, "%s (%s_held > %d)", n->once ? "if" : "while", c, n->keep));
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        }
        case PN_STAGES:
            open_brace(e, fmt(e, "for (int q = 0; q < %d; q++)", n->count));
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        }
    }
    forget(e, mark);
}

/* ---- kernel -------------------------------------------------------------------------------------------------------------------- */

static void emit_task(emitter *e, int ti) {
    const weiri_plan *p = e->p;
    const weiri_ptask *t = &p->tasks[ti];
    const weiri_task *task = t->task;
    e->task = ti;
    e->pt = t;
    line(e, "// task %s: warps %d to %d, %s", task->name, task->first_warp, task->first_warp + task->num_warps - 1,
         t->solo ? "one thread" : t->wg_actor ? "by warpgroup" : "by warp");
    const weiri_pnode *body = t->root;
    if (task->on_cta) {
        weiri_buf b;
        weiri_buf_init(&b, e->k->ctx);
        static const char axes[] = "vmnk";
        for (int i = 0; i < 4; i++)
            if (task->cta[i] >= 0) weiri_put(&b, "%s%s == %d", b.n ? " && " : "", cta_expr(e, axes[i]), task->cta[i]);
        if (b.n) open_brace(e, fmt(e, "if (%s)", b.s));
        else open_brace(e, "if (true)");
        weiri_buf_free(&b);
    }
    if (t->solo) open_brace(e, "if (lane == 0)");
    else {
        line(e, "const u32 ttid = w_tid() - %d; (void)ttid;", 32 * task->first_warp);
        if (t->wg_actor) {
            line(e, "const u32 wtid = ttid %% 128; (void)wtid;");
            if (t->warpgroups > 1) line(e, "const u32 wg = warp / 4 - %d;", task->first_warp / 4);
        }
    }
    for (int i = 0; i < p->cursors.n; i++) {
        const weiri_cursor *c = &p->cursors.v[i];
        if (c->task != ti) continue;
        const char *n = cursor_name(e, i);
        bool phased = p->pipes.v[c->pipe].full >= 0;
        if (c->stages > 1) line(e, "u32 %s_stage = 0, %s_at = 0; (void)%s_at; (void)%s_stage;", n, n, n, n);
        if (phased) line(e, "u32 %s_phase = %d; (void)%s_phase;", n, c->producer ? 1 : 0, n);
        if (c->split_close && c->stages > 1) line(e, "u32 %s_close = 0;", n);
        if (c->needs_held) line(e, "int %s_held = 0;", n);
    }
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *r = &p->regs.v[i];
        if (r->task != ti) continue;
        const char *n = ident(e, r->res->name, "");
        line(e, "%s %s[%d];  // { %d, %d } of each warpgroup", weir_dtype_size(r->res->dtype) == 2 ? "u32" : weiri_ctype(r->res->dtype), n, r->per_thread, r->rows, r->cols);
        if (has_live_flag(e, r->res)) line(e, "u32 %s_live = 0;", n);
    }
    emit_nodes(e, body);
    if (t->solo) close_brace(e);
    if (task->on_cta) close_brace(e);
    e->pt = NULL;
}

/* Splits off the setmaxnreg that the whole warpgroup runs. */
static const weiri_action *regs_action(const weiri_plan *p, int wg) {
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        const weiri_pnode *r = p->tasks[i].root;
        if (t->first_warp / 4 == wg && r && r->kind == PN_ACTION && r->act->kind == ACT_REGS) return r->act;
    }
    return NULL;
}

static bool whole(const weiri_task *t) { return t->first_warp % 4 == 0 && t->num_warps % 4 == 0; }

static void emit_regs(emitter *e, int wg) {
    int n = e->p->reg_split[wg];
    if (!n) return;
    const weiri_action *a = regs_action(e->p, wg);
    const char *at = a ? fmt(e, "W_AT(%d); ", a->id) : "";
    line(e, "%sw_reg_%s<%d>();", at, n > e->p->entry_registers ? "inc" : "dec", n);
}

static void emit_roles(emitter *e) {
    const weiri_plan *p = e->p;
    bool split = false;
    for (int w = 0; w < p->warps / 4; w++) split = split || p->reg_split[w];
    bool first = true;
    for (int w = 0; w < p->warps / 4;) {
        /* one task of whole warpgroups, or what shares this one */
        int owner = -1, n = 0;
        for (int i = 0; i < p->ntasks; i++) {
            const weiri_task *t = p->tasks[i].task;
            int lo = t->first_warp, hi = lo + t->num_warps;
            if (hi <= 4 * w || lo >= 4 * w + 4) continue;
            n++;
            owner = i;
        }
        if (n == 1 && whole(p->tasks[owner].task)) {
            const weiri_task *t = p->tasks[owner].task;
            open_brace(e, fmt(e, "%sif (warp < %d)", first ? "" : "else ", t->first_warp + t->num_warps));
            emit_regs(e, w);
            emit_task(e, owner);
            close_brace(e);
            w = (t->first_warp + t->num_warps) / 4;
        } else {
            open_brace(e, fmt(e, "%sif (warp < %d)", first ? "" : "else ", 4 * w + 4));
            emit_regs(e, w);
            bool f = true;
            for (int i = 0; i < p->ntasks; i++) {
                const weiri_task *t = p->tasks[i].task;
                int lo = t->first_warp, hi = lo + t->num_warps;
                if (hi <= 4 * w || lo >= 4 * w + 4) continue;
                open_brace(e, t->num_warps == 1 ? fmt(e, "%sif (warp == %d)", f ? "" : "else ", lo) : fmt(e, "%sif (warp >= %d && warp < %d)", f ? "" : "else ", lo, hi));
                emit_task(e, i);
                close_brace(e);
                f = false;
            }
            close_brace(e);
            w++;
        }
        first = false;
    }
}

static void emit_init(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    /* runs of equal counts, in array order */
    line(e, "if (warp == 0) {  // %d mbarriers", p->nbarriers);
    e->depth++;
    line(e, "W_AT(%d);", a->id);
    for (int at = 0; at < p->nbarriers;) {
        int count = 0, end = at;
        bool grew = true;
        weiri_buf names;
        weiri_buf_init(&names, e->k->ctx);
        while (grew) {
            grew = false;
            for (int i = 0; i < p->bars.n; i++) {
                const weiri_bar *b = &p->bars.v[i];
                if (b->first == end && (!count || b->count == count)) {
                    count = b->count;
                    end += b->stages;
                    weiri_put(&names, "%s%s (%s)", names.n ? ", " : "", b->name, b->sum ? b->sum : "");
                    grew = true;
                }
            }
        }
        int n = end - at;
        if (n <= 0) {
            weiri_buf_free(&names);
            break;
        }
        line(e, "// %s", names.s);
        if (n == 1) line(e, "if (lane == 0) w_mbar_init(mbar + %d, %d);", 8 * at, count);
        else if (n <= 32) line(e, "if (lane < %d) w_mbar_init(mbar + %d + 8 * lane, %d);", n, 8 * at, count);
        else line(e, "for (u32 q = lane; q < %d; q += 32) w_mbar_init(mbar + %d + 8 * q, %d);", n, 8 * at, count);
        weiri_buf_free(&names);
        at = end;
    }
    line(e, "w_fence_mbar_init();");
    e->depth--;
    line(e, "}");
}

static void emit_frame(emitter *e, const weiri_pnode *n, bool exit) {
    if (n && exit) line(e, "w_sync_warp();");
    for (; n; n = n->next) {
        if (n->act->kind == ACT_INIT) emit_init(e, n->act);
        else {
            if (n->act->note) line(e, "// %s", n->act->note);
            emit_action(e, n->act);
        }
    }
}

bool weiri_emit(const weiri_plan *p, weiri_buf *out) {
    emitter em = { .p = p, .k = p->k, .a = (weiri_arena *)&p->a, .o = out, .task = -1 };
    emitter *e = &em;
    const weir_kernel *k = p->k;
    e->uses = WEIRI_NEW_N(e->a, uint16_t, k->values.n + 1);
    e->made = WEIRI_NEW_N(e->a, uint8_t, k->values.n + 1);
    uint8_t *seen = WEIRI_NEW_N(e->a, uint8_t, k->values.n + 1);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n))
            for (int i = 0; n->kind == NODE_OP && i < n->op->nargs; i++)
                if (n->op->arg[i]) count_uses(e, n->op->arg[i], seen);
    for (int i = 0; p->queue && p->queue->raster == WEIR_RASTER_CUSTOM && i < p->queue->qrank; i++) count_uses(e, p->queue->raster_coord[i].id, seen);
    weiri_put(out, "#line 1 \"%s.cu\"\n", k->name);
    e->counted = out->n; /* the line after #line is 1 */
    line(e, "// kernel %s: %d threads, %" PRId64 " bytes of shared memory%s", k->name, p->threads, p->smem_total,
         p->cluster > 1 ? fmt(e, ", cluster of %d", p->cluster) : "");
    if (p->queue) {
        weiri_put(out, "struct %s_tile { i32 ", p->queue->name);
        for (int i = 0; i < p->queue->qrank; i++) weiri_put(out, "%s%s", i ? ", " : "", p->queue->axis[i]);
        weiri_put(out, "; };\n");
    }
    for (int i = 0; i < k->res.n; i++)
        for (int w = 0; k->res.v[i]->kind == WEIR_RES_CUSTOM && w < k->res.v[i]->nwork; w++) emit_body(e, k->res.v[i], &k->res.v[i]->work[w]);
    weiri_put(out, "\n");
    line(e, "extern \"C\" __global__ void __launch_bounds__(%d, 1) %s(", p->threads, ident(e, k->name, ""));
    e->depth += 2;
    for (int i = 0; i < p->params.n; i++) {
        const weiri_kparam *q = &p->params.v[i];
        const char *comma = i + 1 < p->params.n ? "," : ") {";
        if (q->kind == KP_TMAP) line(e, "const __grid_constant__ w_tmap %s%s", q->name, comma);
        else line(e, "%s%s%s%s", q->type, q->type[strlen(q->type) - 1] == '*' ? "" : " ", q->name, comma);
    }
    if (!p->params.n) line(e, ") {");
    e->depth -= 1;
    line(e, "const u32 warp = w_warp(), lane = w_lane(), smem_base = w_smem_base(); (void)lane; (void)smem_base;");
    if (p->cluster > 1) line(e, "const u32 rank = w_cluster_rank(); (void)rank;");
    for (int i = 0; i < p->smem.n; i++)
        line(e, "const u32 %s = smem_base + %" PRId64 ";  // %d x %" PRId64 " bytes", ident(e, p->smem.v[i].name, "_smem"), p->smem.v[i].offset, p->smem.v[i].stages,
             p->smem.v[i].stage_bytes);
    if (p->nbarriers) line(e, "const u32 mbar = smem_base + %" PRId64 ";", p->barrier_offset);
    for (int i = 0; i < p->bars.n; i++) line(e, "const u32 %s = mbar + %d;", p->bars.v[i].name, 8 * p->bars.v[i].first);
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (!p->touches[i] || !t->out || (t->dtype != WEIR_BF16 && t->dtype != WEIR_F16) || t->rank < 2) continue;
        line(e, "const bool %s_pairs = ((u64)%s | (u64)%s_stride%d * 2) %% 4 == 0; (void)%s_pairs;", t->name, ident(e, t->name, ""), t->name, t->rank - 2, t->name);
    }
    weiri_put(out, "\n");
    if (p->tmaps.n) { /* hides the first fetch of each descriptor behind the set-up */
        open_brace(e, "if (w_tid() == 0)");
        for (int i = 0; i < p->tmaps.n; i++) line(e, "w_tma_prefetch(&%s);", p->tmaps.v[i].name);
        close_brace(e);
    }
    emit_frame(e, p->prologue, false);
    weiri_put(out, "\n");
    emit_roles(e);
    emit_frame(e, p->epilogue, true);
    e->depth--;
    line(e, "}");
    return !out->oom && !p->a.oom;
}
