/* Stores of values: fragments of a warpgroup to a stage or to a tensor, and what the threads of a task compute element by element,
 * 16 bytes at a time where that is possible. */
#include "deal.h"
#include "emit.h"

#include <inttypes.h>
#include <string.h>

/* ---- as it is stored ----------------------------------------------------------------------------------------------------- */

const char *em_to_dtype(emitter *e, weir_dtype t, uint32_t value, const char *x) {
    const char *whole = em_whole_of(e, t, value, x);
    if (whole) return whole;
    x = em_round_once(e, t, value, x);
    if (t == WEIR_F32) return x;
    if (t == WEIR_TF32) /* it lies as a float does */
        return weiri_val(e->k, value)->dtype == t ? x : em_fmt(e, "(float)tf32(%s)", x);
    return em_fmt(e, "%s(%s)", em_is_float(t) ? weiri_ctype(t) : em_fmt(e, "(%s)", weiri_ctype(t)), x);
}

bool em_pack_name(weir_dtype t, const char **name) {
    *name = t == WEIR_BF16 ? "w_pack_bf16" : t == WEIR_F16 ? "w_pack_f16" : NULL;
    return *name != NULL;
}

/* ---- fragments to a stage ------------------------------------------------------------------------------------------------ */

/* What goes where. A loop over f has the m64 blocks, one over j the groups of 8 columns. */
typedef struct to_stage {
    uint32_t value; /* 0: the sums of the stage's own tile */
    const weir_res *to;
    weir_dtype dtype;
    weiri_tile_geom g;
    const char *base;  /* address of the stage, or of the panels that the warpgroup has of it */
    const char *row0;  /* "wg * 64 + ": rows in front of the warpgroup's */
    const char *group; /* the group of 8 columns that j is, in the stage */
    int groups;        /* of a warpgroup */
} to_stage;

/* Element e->el of what is stored. */
static const char *stored_element(emitter *e, const to_stage *s) {
    if (s->value) return em_expr(e, s->value);
    const char *name = em_reg(e, s->to);
    return e->frags > 1 ? em_fmt(e, "%s[f * %d + %s]", name, s->groups * 4, e->el) : em_fmt(e, "%s[%s]", name, e->el);
}

/* Four matrices of 8 by 8 at a time: two neighbouring groups of 16 rows. */
static void store_matrices(emitter *e, const to_stage *s, const char *pack) {
    const weiri_tile_geom *g = &s->g;
    const int shift = g->swizzle == 128 ? 0 : g->swizzle == 64 ? 1 : 2, mask = g->swizzle / 16 - 1;
    em_line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane %% 16;", s->row0);
    em_line(e, "const u32 at = %s + row * %" PRId64 ", twist = (%s & %d) << 4;", s->base, g->row_bytes,
            shift ? em_fmt(e, "row >> %d", shift) : "row", mask);
    em_line(e, "#pragma unroll");
    em_open(e, "for (int j = 0; j < %d; j += 2) {", s->groups);
    e->el = "(j * 4 + 2 * i)";
    const char *word = s->value ? em_packed_word(e, s->value, s->dtype) : NULL;
    e->el = "(j * 4 + i)";
    em_line(e, word ? "u32 x[4];" : "float x[8];");
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) x[i] = %s;", word ? 4 : 8,
            word ? word : em_round_once(e, s->dtype, s->value, stored_element(e, s)));
    const char *panel = g->panels > 1 ? em_fmt(e, "%s / %d * %" PRId64 " + ", s->group, g->panel_cols / 8, g->panel_bytes) : "";
    const char *in = g->panels > 1 ? em_fmt(e, "(%s %% %d * 16u + lane / 16 * 16u)", s->group, g->panel_cols / 8)
                                   : em_fmt(e, "(%s * 16u + lane / 16 * 16u)", s->group);
    if (word) em_line(e, "w_stmatrix4(at + %s(%s ^ twist), x[0], x[1], x[2], x[3]);", panel, in);
    else
        em_line(e, "w_stmatrix4(at + %s(%s ^ twist), %s(x[0], x[1]), %s(x[2], x[3]), %s(x[4], x[5]), %s(x[6], x[7]));", panel,
                in, pack, pack, pack, pack);
    em_close(e);
}

/* Two columns, which lie side by side, at a time. */
static void store_pairs(emitter *e, const to_stage *s) {
    em_line(e, "#pragma unroll");
    em_open(e, "for (int j = 0; j < %d; j++) {", s->groups);
    em_line(e, "#pragma unroll");
    em_open(e, "for (int i = 0; i < 4; i += 2) {");
    em_line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane / 4 + i * 4, col = %s * 8 + lane %% 4 * 2;", s->row0,
            s->group);
    const char *x[2];
    for (int c = 0; c < 2; c++) {
        e->el = em_fmt(e, "(j * 4 + i + %d)", c);
        x[c] = em_to_dtype(e, s->dtype, s->value, stored_element(e, s));
    }
    em_line(e, "*(w_pack<%s, 2> *)w_ptr(%s + %s) = { { %s, %s } };", weiri_ctype(s->dtype), s->base,
            em_element_offset(e, &s->g, "row", "col"), x[0], x[1]);
    em_close(e);
    em_close(e);
}

void em_store_frag_smem(emitter *e, const weiri_action *a, uint32_t value, const weir_res *dst) {
    const weiri_effect *ef = &a->eff[a->neff - 1];
    const int rows = value ? weiri_val(e->k, value)->rows : dst->tile[0];
    to_stage s = { .value = value, .to = dst, .dtype = weiri_stage_dtype(e->p, dst), .group = "j" };
    weiri_geom(e->p, dst, &s.g);
    s.groups = weiri_share_cols(e->pt, s.g.cols) / 8;
    s.base = em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back);
    s.row0 = e->pt->warpgroups > 1 && !e->pt->by_cols ? em_fmt(e, "wg * %d + ", weiri_share_rows(e->pt, rows)) : "";
    if (e->slab) s.row0 = em_fmt(e, "(u32)(%s) + %s", e->slab, s.row0);
    const bool panels = e->pt->by_cols && s.g.panels > 1 && s.groups * 8 % s.g.panel_cols == 0; /* each has whole ones */
    if (panels) s.base = em_fmt(e, "%s + wg * %" PRId64, s.base, s.groups * 8 / s.g.panel_cols * s.g.panel_bytes);
    else if (e->pt->by_cols) s.group = em_fmt(e, "(wg * %d + j)", s.groups);
    e->share = em_share(e, rows, s.g.cols);
    e->frags = em_frags(e, rows);
    e->fr = "f";
    em_line(e, "{");
    e->depth++;
    em_line(e, "#pragma unroll");
    em_open(e, "for (int f = 0; f < %d; f++) {", e->frags);
    const char *pack;
    if (weiri_deal_matrix(e->p, e->task, dst) && em_pack_name(s.dtype, &pack)) store_matrices(e, &s, pack);
    else store_pairs(e, &s);
    em_close(e);
    em_close(e);
    e->share = 0;
}

/* ---- fragments to a tensor ----------------------------------------------------------------------------------------------- */

/* Straight to global memory, in bounds. */
typedef struct to_tensor {
    uint32_t value;
    const weir_res *g;
    const weir_tensor *t;
    weiri_view v;            /* the place */
    int place_cols;          /* of it: a value of one column spreads over them */
    int cols;                /* of a warpgroup's fragments */
    const char *row0, *col0; /* where the place begins in the tensor */
    const char *lead;        /* " + ..." along the axes in front of the last two */
    const char *there;       /* "... && ": what must hold along them, and the row not be in front of the tensor */
    const char *rows, *end;  /* where rows end; where columns do */
    bool before;             /* columns may begin in front of the tensor */
} to_tensor;

static to_tensor tensor_of(emitter *e, uint32_t value, uint32_t place, const weir_res *g) {
    const int last = g->rank - 1;
    const weiri_value *val = weiri_val(e->k, value);
    to_tensor s = { .value = value, .g = g, .t = g->tensor, .lead = "" };
    weiri_view_of(e->k, place, &s.v);
    s.place_cols = s.v.ncols ? s.v.ncols : g->tile[last];
    const int all = val->cols == 1 ? s.place_cols : val->cols;
    s.cols = weiri_frag_cols(e->pt, all);
    e->share = em_share(e, val->rows, all);
    s.row0 = g->rank >= 2 ? em_origin(e, &s.v, g, last - 1) : "0";
    const char *tile0 = s.col0 = em_origin(e, &s.v, g, last);
    if (s.v.row0) s.row0 = em_fmt(e, "%s + %d", s.row0, s.v.row0);
    if (s.v.col0) s.col0 = em_fmt(e, "(%s + %d)", s.col0, s.v.col0);
    weiri_buf exists;
    weiri_buf_init(&exists, e->k->ctx);
    for (int d = 0; d + 1 < last; d++) {
        s.lead = em_fmt(e, "%s + (i64)(%s) * %s_stride%d", s.lead, em_origin(e, &s.v, g, d), em_tensor(e, s.t), d);
        em_lead_exists(e, &s.v, g, d, &exists);
    }
    const bool above = g->rank >= 2 && em_before(e, &s.v, g, last - 1);
    s.there = em_fmt(e, "%s%s", exists.s ? exists.s : "", above ? "row >= 0 && " : "");
    weiri_buf_free(&exists);
    s.before = em_before(e, &s.v, g, last);
    s.rows = g->rank >= 2 ? em_shape_expr(e, s.t, last - 1) : "1";
    s.end = em_shape_expr(e, s.t, last);
    if (s.v.limit) s.end = em_fmt(e, "w_min(%s, %s + %s)", s.end, tile0, em_limit(e, &s.v));
    const bool ragged = s.place_cols > 4 && weiri_share_cols(e->pt, all) % 8; /* the last group ends where the place does */
    if (ragged) s.end = em_fmt(e, "w_min(%s, %s + %d)", s.end, s.col0, s.place_cols);
    return s;
}

/* One column a row, which every lane of the quad has: as many store as the place has columns. Four: one a lane. */
static void store_few(emitter *e, const to_tensor *s) {
    e->fr = "f";
    e->el = "(h * 2)";
    em_line(e, "const i32 col = (i32)(lane %% 4) + %s;", s->col0);
    em_line(e, "if (%slane %% 4 < %d && %srow < %s && %scol < %s) out[col] = %s;", e->pt->by_cols ? "wg == 0 && " : "",
            s->place_cols, s->there, s->rows, s->before ? "col >= 0 && " : "", s->end,
            em_to_dtype(e, s->t->dtype, s->value, em_expr(e, s->value)));
}

/* Two columns at a time where the row allows. */
static void store_columns(emitter *e, const to_tensor *s, bool packs, const char *pack) {
    const weir_dtype t = s->t->dtype;
    const char *left = s->before ? "col >= 0 && " : "";
    em_line(e, "#pragma unroll");
    em_open(e, "for (int j = 0; j < %d; j++) {", s->cols / 8);
    em_line(e, "const i32 col = (i32)(%sj * 8 + lane %% 4 * 2) + %s;", e->pt->by_cols ? em_fmt(e, "wg * %d + ", s->cols) : "",
            s->col0);
    e->fr = "f";
    e->el = "(j * 4 + h * 2)";
    const char *x0 = em_expr(e, s->value);
    e->el = "(j * 4 + h * 2 + 1)";
    const char *x1 = em_expr(e, s->value);
    em_line(e, "const %s x0 = %s, x1 = %s;", em_type(weiri_val(e->k, s->value)), x0, x1);
    em_open(e, "if (%srow < %s) {", s->there, s->rows);
    if (packs) {
        em_line(e, "if (pairs && %scol + 1 < %s) *(%s *)(out + col) = %s(%s, %s);", left, s->end,
                t == WEIR_F32 ? "float2" : "u32", t == WEIR_F32 ? "make_float2" : pack, em_round_once(e, t, s->value, "x0"),
                em_round_once(e, t, s->value, "x1"));
        em_open(e, "else {");
    }
    em_line(e, "if (%scol < %s) out[col] = %s;", left, s->end, em_to_dtype(e, t, s->value, "x0"));
    em_line(e, "if (%scol + 1 < %s) out[col + 1] = %s;", s->before ? "col + 1 >= 0 && " : "", s->end,
            em_to_dtype(e, t, s->value, "x1"));
    if (packs) em_close(e);
    em_close(e);
    em_close(e);
}

static void store_frag_gmem(emitter *e, uint32_t value, uint32_t place, const weir_res *g) {
    const to_tensor s = tensor_of(e, value, place, g);
    const bool few = s.place_cols <= 4, apart = e->pt->warpgroups > 1 && !e->pt->by_cols;
    const char *pack;
    const bool packs = (em_pack_name(s.t->dtype, &pack) || s.t->dtype == WEIR_F32) && !few;
    e->frags = em_frags(e, weiri_val(e->k, value)->rows);
    em_line(e, "{");
    e->depth++;
    if (packs) { /* it may begin off a pair */
        const bool off = s.v.op == WEIR_OP_VIEW_FROM || g->tile[g->rank - 1] % 2 || s.v.col0 % 2;
        em_line(e, "const bool pairs = %s_pairs%s;", em_tensor(e, s.t), off ? em_fmt(e, " && (%s) %% 2 == 0", s.col0) : "");
    }
    em_line(e, "#pragma unroll");
    em_open(e, "for (int fh = 0; fh < %d; fh++) {", e->frags * 2);
    em_line(e, "const int f = fh / 2, h = fh %% 2;");
    em_line(e, "const i32 row = (i32)(%sf * 64 + warp %% 4 * 16 + lane / 4 + h * 8) + %s;",
            apart ? em_fmt(e, "wg * %d + ", e->share) : "", s.row0);
    em_line(e, "%s *out = %s + (i64)row * %s_stride%d%s;", weiri_ctype(s.t->dtype), em_arg(e, s.t->name), em_tensor(e, s.t),
            g->rank - 2, s.lead);
    if (few) store_few(e, &s);
    else store_columns(e, &s, packs, pack);
    em_close(e);
    em_close(e);
    e->share = 0;
}

/* ---- element by element -------------------------------------------------------------------------------------------------- */

/* Views of tensors and of stages in the value that packs can be loaded of; those that cannot are loaded an element at a time. */
static void find_packs(emitter *e, uint32_t id, int elems) {
    const weiri_value *v = weiri_val(e->k, id);
    if (!weiri_visit(e->k, id)) return;
    uint32_t at = v->op == WEIR_OP_LOAD ? v->arg[0] : v->kind == WEIR_VALUE_VIEW ? id : 0;
    if (at) {
        for (int i = 0; i < e->npack; i++)
            if (e->pack[i] == at) return;
        if (weiri_deal_packs(e->p, at, e->dest, elems) && e->npack < 8) e->pack[e->npack++] = at;
        return;
    }
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) find_packs(e, v->arg[i], elems);
}

static const char *stage_element(emitter *e, const weiri_action *a, const weir_res *s, const char *row, const char *col) {
    const weiri_effect *ef = &a->eff[a->neff - 1];
    weiri_tile_geom g;
    weiri_geom(e->p, s, &g);
    if (e->slab) row = em_fmt(e, "(%s + %s)", row, e->slab);
    return em_fmt(e, "w_ptr(%s + %s)", em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back),
                  em_element_offset(e, &g, row, col));
}

/* The declaration of the i-th pack that the value is made of. What must hold for it goes to `all`, once. */
static const char *load_pack(emitter *e, int i, const weir_res *dst, int elems, weiri_buf *all) {
    const char *from, *type;
    weiri_view x;
    weiri_view_of(e->k, e->pack[i], &x);
    if (x.op == WEIR_OP_VIEW_READ) {
        type = weiri_ctype(weiri_stage_dtype(e->p, x.res));
        from = em_stage_pointer(e, e->pack[i], "row", "first");
    } else {
        if (x.op == WEIR_OP_VIEW_TILE) x.res = dst;
        const char *at, *in, *wide = em_fmt(e, "%s_wide", em_tensor(e, x.res->tensor));
        em_gmem_index(e, &x, "row", "first", elems, &at, &in);
        if (!all->s || !strstr(all->s, wide)) weiri_put(all, "%s%s", all->s ? " && " : "", wide);
        if (!strstr(all->s, in)) weiri_put(all, " && %s", in);
        type = weiri_ctype(x.res->tensor->dtype);
        from = em_fmt(e, "&%s[%s]", em_arg(e, x.res->tensor->name), at);
    }
    return em_fmt(e, "const w_pack<%s, %d> p%u = *(const w_pack<%s, %d> *)%s;", type, elems, e->pack[i], type, elems, from);
}

/* A tile to a tensor or to a stage, 16 bytes of the destination a thread at a time where it and what it is made of allow; at ragged
 * ends element by element, and so where it returns false. */
static bool store_packed(emitter *e, const weiri_action *a, uint32_t value, uint32_t place, const weir_res *dst) {
    const bool gmem = dst->kind == WEIR_RES_GMEM;
    const weir_dtype dtype = gmem ? dst->tensor->dtype : dst->dtype;
    const char *type = weiri_ctype(dtype), *out, *one;
    const int elems = weiri_deal_piece(e->p, a->op);
    int cols, rows = weiri_deal_place(e->p, a->op, &cols);
    if (elems == 1) return false;
    e->dest = dst;
    e->npack = 0;
    weiri_visit_begin(e->k);
    find_packs(e, value, elems);
    em_share_pieces(e, rows * cols / elems);
    em_line(e, "const i32 row = (i32)(q / %d), first = (i32)(q %% %d) * %d;", cols / elems, cols / elems, elems);
    if (rows == 1) em_line(e, "(void)row;");
    weiri_buf all; /* what must hold for packs */
    weiri_buf_init(&all, e->k->ctx);
    if (gmem) {
        const char *index, *exists;
        weiri_view v;
        weiri_view_of(e->k, place, &v);
        if (v.op == WEIR_OP_VIEW_TILE) v.res = dst;
        em_gmem_index(e, &v, "row", "first", elems, &index, &exists);
        out = em_fmt(e, "&%s[%s]", em_arg(e, dst->tensor->name), index);
        one = em_view_element(e, place, "row", "(first + i)", false);
        weiri_put(&all, "%s_wide && %s", em_tensor(e, dst->tensor), exists);
    } else {
        out = stage_element(e, a, dst, "row", "first");
        one = em_fmt(e, "*(%s *)%s", type, stage_element(e, a, dst, "row", "(first + i)"));
    }
    const char *load[8];
    for (int i = 0; i < e->npack; i++) load[i] = load_pack(e, i, dst, elems, &all);
    const bool asks = all.s != NULL;
    if (asks) em_open(e, "if (%s) {", all.s);
    weiri_buf_free(&all);
    for (int i = 0; i < e->npack; i++) em_line(e, "%s", load[i]);
    em_line(e, "w_pack<%s, %d> out;", type, elems);
    e->row = "row";
    e->col = "(first + i)";
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) out.x[i] = %s;", elems, em_to_dtype(e, dtype, value, em_expr(e, value)));
    em_line(e, "*(w_pack<%s, %d> *)%s = out;", type, elems, out);
    e->npack = 0;
    if (asks) {
        e->depth--;
        em_open(e, "} else {");
        /* the places of all elements of all turns, kept over the loop around, would take more registers than there are */
        if (!gmem) em_line(e, "#pragma unroll 1");
        em_line(e, "for (int i = 0; i < %d; i++) %s = %s;", elems, one, em_to_dtype(e, dtype, value, em_expr(e, value)));
        em_close(e);
    }
    e->row = e->col = NULL;
    em_close(e);
    return true;
}

/* No fragments: the task's threads share the elements in order. */
static void store_linear(emitter *e, const weiri_action *a, uint32_t value, uint32_t place, const weir_res *dst) {
    if (store_packed(e, a, value, place, dst)) return;
    int cols, rows = weiri_deal_place(e->p, a->op, &cols);
    em_share_pieces(e, rows * cols);
    em_line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d);", cols, cols);
    e->row = "row";
    e->col = "col";
    if (rows == 1) em_line(e, "(void)row;");
    const char *x = em_expr(e, value);
    if (dst->kind == WEIR_RES_GMEM) {
        e->dest = dst;
        em_line(e, "%s = %s;", em_view_element(e, place, "row", "col", false), em_to_dtype(e, dst->tensor->dtype, value, x));
    } else {
        em_line(e, "*(%s *)%s = %s;", weiri_ctype(dst->dtype), stage_element(e, a, dst, "row", "col"),
                em_to_dtype(e, dst->dtype, value, x));
    }
    e->row = e->col = NULL;
    em_close(e);
}

/* ---- all ----------------------------------------------------------------------------------------------------------------- */

void em_store(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    const bool gmem = op->res->kind == WEIR_RES_GMEM, in_regs = weiri_value_in_regs(e->k, op->arg[0]);
    const uint32_t value = op->arg[0], place = op->nargs > 1 ? op->arg[1] : 0;
    weiri_view v;
    const char *col;
    if (!gmem && place && weiri_view_of(e->k, place, &v)) {
        e->slab = em_slab(e, &v, &col);
        if (v.row0) e->slab = e->slab ? em_fmt(e, "%s + %d", e->slab, v.row0) : em_fmt(e, "%d", v.row0);
    }
    if (em_tc_stores(e, value)) {
        em_tc_store(e, a);
    } else {
        em_line(e, "W_AT(%d);", a->id);
        if (in_regs) em_ensure(e, value);
        if (!in_regs) store_linear(e, a, value, place, op->res);
        else if (gmem) store_frag_gmem(e, value, place, op->res);
        else em_store_frag_smem(e, a, value, op->res);
    }
    e->slab = NULL;
}
