/* Where things are, as expressions: CTAs in the cluster, stages and mbarriers, elements of views in tensors and in stages. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

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

/* ---- stages -------------------------------------------------------------------------------------------------------------- */

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

/* ---- tensors ------------------------------------------------------------------------------------------------------------- */

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
        if (!em_nonneg(e, v->sub[i])) return true;
    return v->op == WEIR_OP_VIEW_FROM || (axis >= 0 && !em_nonneg(e, b->arg[axis]));
}

/* Is the view's coordinate along dimension d, of a tile of one there, known to lie in the tensor? As a queue's over that dimension
 * does. */
static bool within(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const weiri_value *b = weiri_val(e->k, v->base);
    const weir_value shape = g->tensor->shape[d];
    int64_t n, i = 0;
    const weir_res *q = v->op == WEIR_OP_VIEW_TILE ? (b->res ? b->res : b->loop->queue) : NULL;
    int axis = d - (g->rank - (q ? q->qrank : b->nargs));
    if (axis < 0 || (!q && weiri_value_const(e->k, b->arg[axis], &i)))
        return i >= 0 && weiri_value_const(e->k, shape.id, &n) && i < n;
    if (!q) {
        const weiri_value *x = weiri_val(e->k, b->arg[axis]);
        if (x->op != WEIR_OP_COORD && x->op != WEIR_OP_BEFORE) return false;
        q = x->res;
        axis = (int)x->i;
    }
    const weir_cluster c = e->k->cluster;
    if ((axis == q->axis_m && c.v * c.m > 1) || (axis == q->axis_n && c.n > 1))
        return false; /* whole clusters, beyond the end too */
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

/* ---- elements ------------------------------------------------------------------------------------------------------------ */

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

/* Rows of the tile, its leading axes folded into them, in front of the slabs that a view takes; *col: columns, where it takes an
 * element. */
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

static bool is_packed(const emitter *e, uint32_t view) {
    for (int i = 0; i < e->npack; i++)
        if (e->pack[i] == view) return true;
    return false;
}

static const char *tensor_element(emitter *e, uint32_t view, const weiri_view *v, const char *row, const char *col, bool load) {
    const weir_tensor *t = v->res->tensor;
    const char *index, *exists;
    if (load && is_packed(e, view)) return em_load_type(e, t->dtype, em_fmt(e, "p%u.x[i]", view));
    em_gmem_index(e, v, row, col, 1, &index, &exists);
    const char *lv = em_fmt(e, "%s[%s]", em_arg(e, t->name), index);
    if (!load) return em_fmt(e, "if (%s) %s", exists, lv);
    return em_fmt(e, "(%s ? %s : %s)", exists, em_load_type(e, t->dtype, lv),
                  em_is_float(t->dtype) && t->dtype != WEIR_F64 ? "0.f" : "0");
}

static const char *stage_element(emitter *e, uint32_t view, const weiri_view *v, const char *row, const char *col, bool load) {
    const weir_dtype t = weiri_stage_dtype(e->p, v->res);
    if (load && is_packed(e, view)) return em_load_type(e, t, em_fmt(e, "p%u.x[i]", view));
    const char *lv = em_fmt(e, "*(%s%s *)%s", load ? "const " : "", weiri_ctype(t), stage_pointer(e, v, row, col, load));
    if (!load) return lv;
    const char *x = em_load_type(e, t, em_fmt(e, "(%s)", lv));
    return v->limit ? em_fmt(e, "(%s < %s ? %s : 0)", col, em_limit(e, v), x) : x;
}

/* Element (row, col) of a view: its value (load: 0 outside) or an lvalue. A work tile is a place of whatever is stored to; of other
 * views one row, or one column, is every row's and every column's. */
const char *em_view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load) {
    weiri_view v;
    if (!weiri_view_of(e->k, view, &v)) return "0";
    if (v.op == WEIR_OP_VIEW_TILE) v.res = e->dest;
    if (!v.res) return "0";
    const weiri_value *x = weiri_val(e->k, view);
    if (x->rows == 1 && v.op != WEIR_OP_VIEW_TILE) row = "0";
    if (x->cols == 1 && v.op != WEIR_OP_VIEW_TILE) col = "0";
    const char *front = NULL; /* rows of the slabs in front of the row's own */
    if (weiri_view_strewn(&v)) {
        const int *tile = &v.res->tile[v.res->rank - 2], rows = v.nrows ? v.nrows : tile[0], cols = v.ncols ? v.ncols : tile[1];
        front = em_fmt(e, "(i32)(%s) / %d * %d", row, v.t ? cols : rows, tile[0]);
        row = em_fmt(e, "(i32)(%s) %% %d", row, v.t ? cols : rows);
    }
    if (v.t) {
        const char *s = row;
        row = col;
        col = s;
    }
    if (front) row = em_fmt(e, "(%s + %s)", front, row);
    const char *slab_col, *slab = em_slab(e, &v, &slab_col);
    if (slab) row = em_fmt(e, "((i32)(%s) + %s)", row, slab);
    if (slab_col) col = em_fmt(e, "((i32)(%s) + %s)", col, slab_col);
    if (v.row0) row = em_fmt(e, "(%s + %d)", row, v.row0);
    if (v.col0) col = em_fmt(e, "(%s + %d)", col, v.col0);
    if (v.res->kind == WEIR_RES_GMEM) return tensor_element(e, view, &v, row, col, load);
    if (v.res->kind == WEIR_RES_TMEM && e->tensor.n) return em_tc_element(e, view);
    return stage_element(e, view, &v, row, col, load);
}
