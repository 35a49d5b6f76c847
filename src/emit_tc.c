/* Tensor memory and the mma of sm_100a. One thread issues; threads read row by row: lane l of warp w of the warpgroup has row
 * 32 w + l (of 64 rows: 16 w + l). Not checked on hardware: docs/blackwell.md. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

#include "plan_tc.h"

/* ---- the kernel's frame ------------------------------------------------------------------------------------------------- */

void em_tc_frame(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    const char *pair = weiri_tc_pair(e->k) ? "_pair" : "";
    if (a->kind == ACT_TMEM_ALLOC)
        em_line(e, "W_AT(%d); if (warp == %d) w_tmem_alloc%s(smem_base + %" PRId64 ", %d);", a->id, p->tmem_warp, pair,
                p->tmem_slot, p->tmem_alloc);
    else em_line(e, "W_AT(%d); if (warp == %d) w_tmem_free%s(tmem, %d);", a->id, p->tmem_warp, pair, p->tmem_alloc);
}

void em_tc_addresses(emitter *e) {
    const weiri_plan *p = e->p;
    if (!p->tmem_columns) return;
    em_line(e, "const u32 tmem = *(const u32 *)w_ptr(smem_base + %" PRId64 ");", p->tmem_slot);
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->tmem)
            em_line(e, "const u32 %s = tmem + %" PRId64 ";  // %d x %" PRId64 " columns", em_region(e, i),
                    g->offset, g->stages, g->stage_bytes);
    }
}

/* Whether an mma has followed zero(), for the stage in work, where only the run knows. */
void em_tc_flags(emitter *e) {
    for (int i = 0; i < e->k->res.n; i++) {
        const weir_res *r = e->k->res.v[i];
        bool here = false;
        if (r->kind != WEIR_RES_TMEM || !weiri_tc(e->k) || !em_has_live_flag(e, r)) continue;
        for (const weiri_node *n = weiri_node_next(e->pt->task->root, NULL); n; n = weiri_node_next(e->pt->task->root, n))
            here = here || (n->kind == NODE_OP && n->op->res == r && n->op->atom == ATOM_MMA);
        if (here) em_line(e, "u32 %s_live = 0;", em_reg(e, r));
    }
}

/* ---- mma ---------------------------------------------------------------------------------------------------------------- */

void em_tc_commit(emitter *e, const weiri_action *a) {
    const char *guard = em_guard(e, a), *bar = em_bar_addr(e, a), *form = weiri_tc_pair(e->k) ? "pair" : "multicast";
    int v = a->targets & 8;
    if (a->reach) em_line(e, "W_AT(%d); %sw_umma_commit_%s(%s, (u16)%s);", a->id, guard, form, bar, em_reach(e, a));
    else if (!a->targets && !weiri_tc_pair(e->k)) em_line(e, "W_AT(%d); %sw_umma_commit(%s);", a->id, guard, bar);
    else if (a->cross)
        em_line(e, "W_AT(%d); %sw_umma_commit_%s(%s, (u16)(%s | %s));", a->id, guard, form, bar, em_mask(e, 1 | v),
                em_mask(e, 2 | v));
    else em_line(e, "W_AT(%d); %sw_umma_commit_%s(%s, %s);", a->id, guard, form, bar, em_mask(e, a->targets));
}

/* One batch: r += a * transpose(b) over the whole K of the operands. Effects: the sums, a, b. */
void em_tc_mma(emitter *e, const weiri_action *a) {
    const weir_res *r = a->op->res;
    const char *acc = em_reg(e, r);
    weiri_tc_shape s;
    weiri_tile_geom g[2];
    weiri_operand o[2];
    char why[256];
    int steps = 0;
    bool sums = false;
    weiri_tc_shape_of(e->p, a->op, &s, why, sizeof why);
    em_line(e, "W_AT(%d);", a->id);
    em_open(e, "%s{", em_guard(e, a));
    for (int i = 0; i < 2; i++) {
        weiri_view v;
        weiri_view_of(e->k, a->op->arg[i], &v);
        const weiri_effect *x = &a->eff[1 + i];
        if (!i && weiri_tc_from_tmem(&v)) { /* an element a column */
            steps = v.res->tile[1] * 4 / TC_K_BYTES;
            sums = true;
            em_line(e, "const u32 a = %s;", em_region_addr(e, x->region, x->cur, x->stage, x->back));
            continue;
        }
        weiri_geom(e->p, v.res, &g[i]);
        weiri_layout_operand(&g[i], weiri_stage_dtype(e->p, v.res), v.t, (i ? s.n : s.m) / (s.pair ? 2 : 1), &o[i], why,
                             sizeof why);
        if (!i) steps = (v.t ? g[i].rows : g[i].cols) * g[i].elem / TC_K_BYTES;
        em_line(e, "const u64 %s = w_umma_desc(%s, %d, %d, %d);", i ? "b" : "a",
                em_region_addr(e, x->region, x->cur, x->stage, x->back), o[i].lbo, o[i].sbo, weiri_tc_layout(g[i].swizzle));
    }
    const char *on = a->fresh == 1 ? "kk != 0" : a->fresh == 2 ? "1" : em_fmt(e, "%s_live | kk", acc);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int kk = 0; kk < %d; kk++)", steps);
    em_line(e, "  w_umma_%s%s%s(%s, a + %s, b + %s, 0x%08x, %s);  // %d x %d", weiri_tc_kind_name(s.kind), sums ? "_ts" : "",
            s.pair ? "_pair" : "",
            em_region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back),
            sums ? em_fmt(e, "kk * %d", TC_K_BYTES / 4) : em_k_step(e, &o[0], steps), em_k_step(e, &o[1], steps),
            weiri_tc_idesc(&s), on, s.m, s.n);
    em_close(e);
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", acc);
}

/* ---- values of tensor memory -------------------------------------------------------------------------------------------- */

static void note_leaf(void *ud, uint32_t view) {
    emitter *e = ud;
    WEIRI_PUSH(e->a, e->tensor, view);
}

/* Of a view that em_tc_stores has seen: each once. */
const char *em_tc_element(emitter *e, uint32_t view) {
    int i = 0;
    while (e->tensor.v[i] != view) i++;
    return em_fmt(e, "__uint_as_float(x%d[j + i])", i);
}

static const char *rounded(emitter *e, weir_dtype t, const char *x) {
    if (t == WEIR_F32 || t == WEIR_TF32) return x;
    return em_fmt(e, em_is_float(t) ? "%s(%s)" : "(%s)%s", weiri_ctype(t), x);
}

/* y[0 .. n - 1] as the 16 bytes they become. */
static const char *packed(emitter *e, weir_dtype t) {
    const char *pack = t == WEIR_BF16 ? "w_pack_bf16" : "w_pack_f16";
    if (t == WEIR_F32)
        return "make_uint4(__float_as_uint(y[0]), __float_as_uint(y[1]), __float_as_uint(y[2]), __float_as_uint(y[3]))";
    return em_fmt(e, "make_uint4(%s(y[0], y[1]), %s(y[2], y[3]), %s(y[4], y[5]), %s(y[6], y[7]))", pack, pack, pack, pack);
}

/* Does a value that is stored come from tensor memory? */
bool em_tc_stores(emitter *e, uint32_t value) {
    e->tensor.n = 0;
    if (weiri_tc(e->k)) weiri_tc_leaves(e->k, value, note_leaf, e);
    return e->tensor.n > 0;
}

static void to_gmem(emitter *e, uint32_t place, const weir_res *dst, int elems) {
    const weir_tensor *t = dst->tensor;
    const char *name = em_arg(e, t->name), *index, *exists;
    weiri_view v;
    weiri_view_of(e->k, place, &v);
    v.res = dst;
    const char *row = v.row0 ? em_fmt(e, "(row + %d)", v.row0) : "row",
               *from = v.col0 ? em_fmt(e, "(col + %d)", v.col0) : "col";
    if (elems > 1) {
        em_gmem_index(e, &v, row, from, elems, &index, &exists);
        em_line(e, "%s *out = %s + %s;", weiri_ctype(t->dtype), name, index);
        em_line(e, "if (%s && (u64)out %% 16 == 0) *(uint4 *)out = %s;", exists, packed(e, t->dtype));
        em_open(e, "else {");
        em_line(e, "#pragma unroll");
    }
    em_gmem_index(e, &v, row, elems > 1 ? em_fmt(e, "(%s + i)", from) : from, 1, &index, &exists);
    const char *y = elems > 1 ? "y[i]" : "y[0]";
    em_line(e, "%sif (%s) %s[%s] = %s;", elems > 1 ? em_fmt(e, "for (int i = 0; i < %d; i++) ", elems) : "", exists, name,
            index, rounded(e, t->dtype, y));
    if (elems > 1) {
        em_close(e);
    }
}

static void to_smem(emitter *e, const weiri_action *a, const weir_res *dst, int elems) {
    weiri_tile_geom g;
    weiri_geom(e->p, dst, &g);
    const weiri_effect *x = &a->eff[a->neff - 1];
    const char *base = em_region_addr(e, x->region, x->cur, x->stage, x->back);
    const char *at = em_element_offset(e, &g, e->slab ? em_fmt(e, "(row + %s)", e->slab) : "row", "col");
    if (elems > 1) em_line(e, "*(uint4 *)w_ptr(%s + %s) = %s;", base, at, packed(e, dst->dtype));
    else
        em_line(e, "*(%s *)w_ptr(%s + %s) = %s;", weiri_ctype(dst->dtype), base, at,
                rounded(e, dst->dtype, "y[0]"));
}

/* Rows of tensor memory, a few columns at a time, through registers to where they go; 16 bytes at once where the row allows. */
void em_tc_store(emitter *e, const weiri_action *a) {
    const weir_res *dst = a->op->res;
    const uint32_t value = a->op->arg[0];
    const weiri_value *val = weiri_val(e->k, value);
    const weir_dtype t = dst->kind == WEIR_RES_GMEM ? dst->tensor->dtype : dst->dtype;
    const bool halves = val->rows == 64 && weiri_tc_pair(e->k); /* of the columns, one above the other */
    const bool half = val->rows == 64 && !halves;
    const int cols = halves ? val->cols / 2 : val->cols; /* that a warp has */
    int chunk = cols % 32 == 0 ? 32 : cols % 16 == 0 ? 16 : 8;
    int elems = t == WEIR_F32 ? 4 : t == WEIR_BF16 || t == WEIR_F16 ? 8 : 1;
    if (dst->kind != WEIR_RES_GMEM) {
        weiri_tile_geom g;
        weiri_geom(e->p, dst, &g);
        if (!g.swizzle && g.row_bytes % 16) elems = 1;
    }
    em_line(e, "W_AT(%d);", a->id);
    em_open(e, "{");
    em_line(e, "const u32 quarter = warp %% 4;");
    if (halves)
        em_line(e, "const i32 row = (i32)(quarter %% 2 * %d + lane), right = (i32)(quarter / 2) * %d;", TC_WARP_LANES, cols);
    else em_line(e, "const i32 row = (i32)(quarter * %d + lane);", half ? TC_M64_LANES : TC_WARP_LANES);
    for (int i = 0; i < e->tensor.n; i++) {
        weiri_view v;
        weiri_view_of(e->k, e->tensor.v[i], &v);
        int region = weiri_region_of(e->p, v.res);
        const char *at = "0";
        for (int j = 0; j < a->neff; j++)
            if (a->eff[j].region == region && !a->eff[j].write && a->eff[j].back == v.back)
                at = em_region_addr(e, region, a->eff[j].cur, a->eff[j].stage, v.back);
        em_line(e, "const u32 t%d = %s%s + (quarter * %d << %d);", i, at, v.col0 ? em_fmt(e, " + %d", v.col0) : "",
                TC_WARP_LANES, TC_LANE_SHIFT);
    }
    if (cols > chunk) em_line(e, "#pragma unroll 1");
    em_open(e, "for (i32 first = 0; first < %d; first += %d) {", cols, chunk);
    for (int from = 0, to; from < e->tensor.n; from = to) { /* a few at once: what is in flight cannot leave its registers */
        to = from + TC_LOADS_IN_FLIGHT < e->tensor.n ? from + TC_LOADS_IN_FLIGHT : e->tensor.n;
        for (int i = from; i < to; i++) {
            em_line(e, "u32 x%d[%d];", i, chunk);
            em_line(e, "w_tmem_ld_x%d(x%d, t%d + (u32)first);", chunk, i, i);
        }
        for (int i = from; i < to; i++) em_line(e, "w_tmem_wait_ld<%d>(x%d);", chunk, i);
    }
    if (half) em_open(e, "if (lane < %d) {  // 64 rows lie in the lower lanes of each quarter", TC_M64_LANES);
    em_line(e, "#pragma unroll");
    em_open(e, "for (int j = 0; j < %d; j += %d) {", chunk, elems);
    em_line(e, "const i32 col = %sfirst + j;", halves ? "right + " : "");
    em_line(e, "float y[%d];", elems);
    e->row = "row";
    e->col = "(col + i)";
    if (elems > 1) em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) y[i] = %s;", elems, em_expr(e, value));
    e->row = e->col = NULL;
    if (dst->kind == WEIR_RES_GMEM) to_gmem(e, a->op->arg[1], dst, elems);
    else to_smem(e, a, dst, elems);
    for (int i = 0; i < (half ? 4 : 3); i++) {
        em_close(e);
    }
    e->tensor.n = 0;
}
