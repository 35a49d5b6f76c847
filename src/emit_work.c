/* Copies, matrix products, stores and the author's bodies: actions that take more than a line. */
#include "deal.h"
#include "emit.h"

#include <inttypes.h>
#include <string.h>

/* ---- actions ------------------------------------------------------------------------------------------------------------------ */

const char *em_guard_of(emitter *e, weiri_who who) {
    if (e->pt && e->pt->solo) return "";
    switch (who) {
    case WHO_LANE: return "if (lane == 0) ";
    case WHO_WG: return "if (wtid == 0) ";
    case WHO_ONE: return "if (ttid == 0) ";
    default: return "";
    }
}

const char *em_guard(emitter *e, const weiri_action *a) {
    const char *who = em_guard_of(e, a->who);
    if (!a->leader || (e->pt && e->pt->leader)) return who; /* such a task is the leader's as a whole */
    return *who ? em_fmt(e, "if (leader && %s", who + strlen("if (")) : "if (leader) ";
}

const char *em_leader_rank(emitter *e) { return e->p->cluster == e->k->cluster.v ? "0" : "(rank & ~1u)"; }

static int stride_of_axis(weir_cluster c, int axis) { return axis == 1 ? c.v : c.v * c.m; }

const char *em_reach(emitter *e, const weiri_action *a) {
    uint64_t table = 0;
    for (int i = 0; i < e->p->cluster && i < 8; i++) table |= (uint64_t)(a->reach[i] & 0xff) << 8 * i;
    return em_fmt(e, "(0x%" PRIx64 "ull >> rank * 8 & 0xff)", table);
}

static const char *add_offset(emitter *e, const char *base, int64_t n) {
    if (!n) return base;
    if (!strcmp(base, "0")) return em_fmt(e, "%" PRId64, n);
    return n < 0 ? em_fmt(e, "%s - %" PRId64, base, -n) : em_fmt(e, "%s + %" PRId64, base, n);
}

const char *em_dest(emitter *e, const weiri_action *a) {
    uint32_t table = 0;
    int one = -1;
    for (int i = 0; i < e->p->cluster && i < 8; i++) {
        int to = 0;
        if (!a->reach[i]) continue; /* it does not come here */
        while (!(a->reach[i] >> to & 1)) to++;
        table |= (uint32_t)to << 4 * i;
        one = one == -1 || one == to ? to : -2;
    }
    return one >= 0 ? em_fmt(e, "%d", one) : em_fmt(e, "(0x%xu >> rank * 4 & 15)", table);
}

/* A stage, or slabs of it, into another CTA. */
void em_push(emitter *e, const weiri_action *a) {
    const weiri_push *c = &e->p->pushes.v[a->copy];
    const weiri_effect *src = &a->eff[0], *dst = &a->eff[1];
    const char *to = em_region_addr(e, c->to, dst->cur, dst->stage, dst->back),
               *from = em_region_addr(e, c->from, src->cur, src->stage, src->back), *col;
    weiri_view v;
    const char *rows = weiri_view_of(e->k, c->from_view, &v) ? em_slab(e, &v, &col) : NULL;
    if (rows) from = em_fmt(e, "%s + (u32)(%s) * %" PRId64, from, rows, c->from_row);
    rows = c->to_view && weiri_view_of(e->k, c->to_view, &v) ? em_slab(e, &v, &col) : NULL;
    if (rows) to = em_fmt(e, "%s + (u32)(%s) * %" PRId64, to, rows, c->to_row);
    const char *guard = em_guard_of(e, a->who);
    if (c->npiece > 1) {
        em_line(e, "W_AT(%d); %s{", a->id, guard);
        e->depth++;
    }
    for (int i = 0; i < c->npiece; i++)
        em_line(e, "%sw_bulk_push(%s, %s, %" PRId64 ", %s, %s);", c->npiece > 1 ? "" : em_fmt(e, "W_AT(%d); %s", a->id, guard),
                add_offset(e, to, c->piece[i].to), add_offset(e, from, c->piece[i].from), c->piece[i].bytes, em_bar_addr(e, a),
                em_dest(e, a));
    if (c->npiece > 1) {
        e->depth--;
        em_line(e, "}");
    }
}

/* An arrive at every CTA that the stage is shared with. */
void em_remote_arrive(emitter *e, const weiri_action *a, const char *at) {
    const bool each = e->pt->solo || a->who == WHO_THREADS; /* every thread that is here at all of them, else one thread at each */
    if (a->reach) { /* thread i for CTA i */
        const char *i = each ? "q" : a->who == WHO_LANE_CTAS ? "lane" : "wtid";
        if (each)
            em_line(e, "W_AT(%d); for (u32 q = 0; q < %d; q++) if (%s >> q & 1) w_mbar_arrive_remote(%s, q);", a->id,
                    e->p->cluster, em_reach(e, a), at);
        else
            em_line(e, "W_AT(%d); if (%s < %d && %s >> %s & 1) w_mbar_arrive_remote(%s, %s);", a->id, i, e->p->cluster,
                    em_reach(e, a), i, at, i);
        return;
    }
    weir_cluster c = e->k->cluster;
    const char *t = a->who == WHO_LANE_CTAS ? "lane" : "wtid";
    int cm = a->targets & 1 ? c.m : 1, cn = a->targets & 2 ? c.n : 1;
    int n = a->cross ? cm + cn - 1 : cm * cn;
    const char *rank;
    int sm = stride_of_axis(c, 1), sn = stride_of_axis(c, 2);
    const char *m0 = em_cta_expr(e, 'm'), *n0 = em_cta_expr(e, 'n');
    if (each) t = "q";
    if (a->targets == 3 && a->cross)
        rank = em_fmt(e, "(%s < %d ? rank - %s * %d + %s * %d : rank - %s * %d + (%s - %d + (%s - %d >= (u32)%s)) * %d)", t, cm,
                      m0, sm, t, sm, n0, sn, t, cm, t, cm, n0, sn);
    else if (a->targets == 3)
        rank = em_fmt(e, "rank - %s * %d - %s * %d + %s %% %d * %d + %s / %d * %d", m0, sm, n0, sn, t, cm, sm, t, cm, sn);
    else {
        int axis = a->targets & 1 ? 1 : 2, s = axis == 1 ? sm : sn;
        bool only = e->p->cluster == n; /* the cluster is this axis */
        rank = only ? t : em_fmt(e, "rank - %s * %d + %s * %d", axis == 1 ? m0 : n0, s, t, s);
    }
    if (each) em_line(e, "W_AT(%d); for (u32 q = 0; q < %d; q++) w_mbar_arrive_remote(%s, %s);", a->id, n, at, rank);
    else em_line(e, "W_AT(%d); if (%s < %d) w_mbar_arrive_remote(%s, %s);", a->id, t, n, at, rank);
}

void em_advance(emitter *e, const weiri_action *a) {
    const weiri_cursor *c = &e->p->cursors.v[a->cur];
    const char *n = em_cursor_name(e, a->cur);
    const weiri_ppipe *pp = &e->p->pipes.v[c->pipe];
    bool phased = pp->full >= 0;
    if (a->stage == STAGE_NEXT) {
        if (c->stages == 1) {
            if (phased) em_line(e, "%s_phase ^= 1;", n);
        } else if (phased) {
            em_line(e, "%s_at = %s_stage;", n, n);
            if (c->stride > 1)
                em_line(e, "if ((%s_stage += %d) >= %d) { %s_stage -= %d; %s_phase ^= 1; }", n, c->stride, c->stages, n,
                        c->stages, n);
            else em_line(e, "if (++%s_stage == %d) { %s_stage = 0; %s_phase ^= 1; }", n, c->stages, n, n);
        } else {
            em_line(e, "%s_at = %s_stage;", n, n);
            em_line(e, "if (++%s_stage == %d) %s_stage = 0;", n, c->stages, n);
        }
        if (c->needs_held) em_line(e, "%s_held++;", n);
    } else {
        if (c->split_close && c->stages > 1 && c->stride > 1)
            em_line(e, "if ((%s_close += %d) >= %d) %s_close -= %d;", n, c->stride, c->stages, n, c->stages);
        else if (c->split_close && c->stages > 1) em_line(e, "if (++%s_close == %d) %s_close = 0;", n, c->stages, n);
        if (c->needs_held) em_line(e, "%s_held--;", n);
    }
}

const char *em_mask(emitter *e, int axes) {
    weir_cluster c = e->k->cluster;
    unsigned mask = weiri_cta_mask(c, 0, axes, false); /* of CTA 0; another's is as far on as the CTA where its axes are 0 */
    if (weiri_served(c, axes, false) == e->p->cluster) return em_fmt(e, "(u16)0x%x", mask);
    const char *shift = em_fmt(e, "%s%s%s", axes & 8 ? em_leader_rank(e) : "rank",
                               axes & 1 ? em_fmt(e, " - %s * %d", em_cta_expr(e, 'm'), c.v) : "",
                               axes & 2 ? em_fmt(e, " - %s * %d", em_cta_expr(e, 'n'), c.v * c.m) : "");
    return em_fmt(e, "(u16)(0x%x << (%s))", mask, shift);
}

/* Opens the block in which piece `q` is the thread's: the task's threads share `pieces` in turn. No test that is always true. */
static void share_pieces(emitter *e, int pieces) {
    int n = e->pt->solo ? 1 : e->pt->lanes ? 32 : 32 * e->pt->task->num_warps;
    const char *tid = e->pt->solo ? "0" : "ttid";
    if (pieces % n || pieces / n > 8) {
        if (pieces < n) em_line(e, "if (const u32 q = %s; q < %d) {", tid, pieces);
        else em_line(e, "for (u32 q = %s; q < %d; q += %d) {", tid, pieces, n);
    } else if (pieces == n) {
        em_line(e, "{");
    } else {
        em_line(e, "#pragma unroll");
        em_line(e, "for (u32 turn = 0; turn < %d; turn++) {", pieces / n);
    }
    e->depth++;
    if (pieces % n == 0 && pieces / n <= 8)
        em_line(e, "const u32 q = %s%s;", tid, pieces == n ? "" : em_fmt(e, " + turn * %d", n));
}

/* cp.async, 16 bytes a piece; what lies outside the tensor is filled with zeros. */
void em_cp_async(emitter *e, const weiri_action *a) {
    const weir_res *s = a->op->res;
    weiri_view v;
    weiri_view_of(e->k, a->op->arg[0], &v);
    const weir_res *g = v.res;
    const weir_tensor *t = g->tensor;
    weiri_tile_geom geo;
    weiri_geom(e->p, s, &geo);
    int piece = 16 / geo.elem, per_row = geo.cols / piece;
    const char *dst = em_region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back);
    em_line(e, "W_AT(%d);", a->id);
    share_pieces(e, geo.rows * per_row);
    em_line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d) * %d;", per_row, per_row, piece);
    weiri_buf at, in;
    weiri_buf_init(&at, e->k->ctx);
    weiri_buf_init(&in, e->k->ctx);
    const char *c0 = em_origin(e, &v, g, g->rank - 1);
    for (int d = 0, rows = geo.rows; d + 1 < g->rank; d++) { /* leading axes of the tile are folded into its rows */
        rows /= g->tile[d];
        const char *o = em_origin(e, &v, g, d);
        const char *x = g->tile[d] == 1 ? o : em_fmt(e, "(%s + row / %d %% %d)", o, rows > 0 ? rows : 1, g->tile[d]);
        weiri_put(&at, " + (i64)%s * %s_stride%d", x, em_tensor(e, t), d);
        weiri_put(&in, "%s < %s && ", x, em_shape_expr(e, t, d));
        if (em_before(e, &v, g, d)) weiri_put(&in, "%s >= 0 && ", x);
    }
    if (em_before(e, &v, g, g->rank - 1)) weiri_put(&in, "%s >= 0 && ", c0); /* it begins at a whole piece */
    em_line(e, "const i32 left = %strue ? (%s - (%s + col)) * %d : 0;", in.s ? in.s : "", em_shape_expr(e, t, g->rank - 1), c0,
            geo.elem);
    em_line(e, "w_cp_async<16>(%s + %s, %s%s + %s + col, (u32)w_max(0, w_min(16, left)));", dst,
            em_element_offset(e, &geo, "row", "col"), em_arg(e, t->name), at.s ? at.s : "", c0);
    weiri_buf_free(&at);
    weiri_buf_free(&in);
    e->depth--;
    em_line(e, "}");
}

/* The next tile of a dynamic queue, drawn from the counter, into the slot. */
void em_fetch(emitter *e, const weiri_action *a) {
    const weir_res *q = a->op->res;
    if (a->targets) { /* the cluster's next tile, into every CTA's slot */
        em_line(e, "W_AT(%d); %sw_queue_fetch_cluster(%s, %s, %s_counter, w_blocks() / %d, %d);", a->id,
                e->pt->solo ? "if (rank == 0) " : "if (rank == 0 && ttid == 0) ",
                em_region_addr(e, weiri_region_of(e->p, q), a->cur, a->stage, a->back), em_bar_addr(e, a), em_queue(e, q),
                e->p->cluster, e->p->cluster);
        return;
    }
    em_line(e, "W_AT(%d); %sw_queue_fetch(%s, %s, %s_counter, w_blocks());", a->id, em_guard_of(e, a->who),
            em_region_addr(e, weiri_region_of(e->p, q), a->cur, a->stage, a->back), em_bar_addr(e, a), em_queue(e, q));
}

/* Element coordinate of axis d (outermost first) where the part of a tile begins that a place names. */
static const char *part_origin(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const char *o = em_origin(e, v, g, d);
    int slab = d - v->axis, first = d == g->rank - 1 ? v->col0 : d == g->rank - 2 ? v->row0 : 0;
    if (slab >= 0 && slab < v->nsub) {
        const char *x = em_expr(e, v->sub[slab]);
        o = strcmp(o, "0") ? em_fmt(e, "%s + %s", o, x) : x;
    }
    return add_offset(e, o, first);
}

void em_bulk(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    bool load = a->kind == ACT_LOAD_BULK;
    const weiri_copy *c = &p->copies.v[a->copy];
    weiri_view v;
    const weir_res *g, *s;
    const char *slab = NULL, *col;
    if (load) {
        weiri_view_of(e->k, a->op->arg[0], &v);
        g = v.res;
        s = a->op->res;
    } else {
        weiri_view sv;
        weiri_view_of(e->k, a->op->arg[0], &sv);
        slab = em_slab(e, &sv, &col);
        s = sv.res;
        g = a->op->res;
        weiri_view_of(e->k, a->op->arg[1], &v);
    }
    const char *dst = em_region_addr(e, weiri_region_of(p, s), a->cur, a->stage, a->back);
    if (slab) dst = em_fmt(e, "%s + (u32)(%s) * %" PRId64, dst, slab, c->row_bytes);
    const char *map = em_fmt(e, "&%s", em_map(e, c->tmap));
    const char *slice = NULL;
    if (c->slice_axis >= 0) {
        weir_cluster cl = e->k->cluster;
        slice = a->targets == 3 ? em_fmt(e, "(%s + %s * %d)", em_cta_expr(e, 'm'), em_cta_expr(e, 'n'), cl.m)
                                : em_cta_expr(e, a->targets == 1 ? 'm' : 'n');
    }
    const char *guard = em_guard(e, a);
    if (a->first) { /* of the CTAs it loads for */
        const char *m = em_fmt(e, "%s == 0", em_cta_expr(e, 'm')), *n = em_fmt(e, "%s == 0", em_cta_expr(e, 'n'));
        const char *here = a->targets == 3 ? em_fmt(e, "%s && %s", m, n) : a->targets == 1 ? m : n;
        guard = em_fmt(e, "if (%s%s) ", *guard ? "ttid == 0 && " : "", here);
    }
    bool braces = c->nbox > 1 && *guard;
    if (braces) {
        em_line(e, "W_AT(%d); %s{", a->id, guard);
        e->depth++;
    }
    for (int b = 0; b < c->nbox; b++) {
        weiri_buf co;
        weiri_buf_init(&co, e->k->ctx);
        for (int d = 0; d < g->rank; d++) { /* innermost first */
            const char *o = add_offset(e, part_origin(e, &v, g, g->rank - 1 - d), c->box[b].c[d]);
            if (slice && d == c->slice_axis) o = em_fmt(e, "%s + %s * %d", o, slice, c->slice_elems);
            if (d == c->wg_axis) o = em_fmt(e, "%s + (i32)wg * %d", o, c->wg_elems);
            weiri_put(&co, ", %s", o);
        }
        const char *addr = add_offset(e, dst, c->box[b].offset);
        if (slice) addr = em_fmt(e, "%s + (u32)%s * %" PRId64, addr, slice, c->slice_bytes);
        if (c->wg_axis >= 0) addr = em_fmt(e, "%s + wg * %" PRId64, addr, c->wg_bytes);
        const char *at = braces || (b && !*guard) ? "" : em_fmt(e, "W_AT(%d); %s", a->id, guard);
        const char *cache = a->op->cache;
        if (load) {
            const char *hint = cache && !strcmp(cache, "evict_first")  ? ", w_policy_evict_first()"
                               : cache && !strcmp(cache, "evict_last") ? ", w_policy_evict_last()"
                                                                       : "";
            const char *h = *hint ? "_hint" : "";
            if (a->at_leader && a->targets)
                em_line(e, "%sw_tma_load_pair_multicast%s(%s, %s, %s, %s, %s%s%s);", at, h, addr, map, em_bar_addr(e, a),
                        em_leader_rank(e), em_mask(e, a->targets), hint, co.s);
            else if (a->at_leader)
                em_line(e, "%sw_tma_load_pair%s(%s, %s, %s, %s%s%s);", at, h, addr, map, em_bar_addr(e, a), em_leader_rank(e),
                        hint, co.s);
            else if (a->targets)
                em_line(e, "%sw_tma_load_multicast%s(%s, %s, %s, %s%s%s);", at, h, addr, map, em_bar_addr(e, a),
                        em_mask(e, a->targets), hint, co.s);
            else em_line(e, "%sw_tma_load%s(%s, %s, %s%s%s);", at, h, addr, map, em_bar_addr(e, a), hint, co.s);
        } else {
            em_line(e, "%s%s(%s, %s%s);", at, a->op->atom == ATOM_TMA_STORE ? "w_tma_store" : "w_tma_reduce_add", map, addr,
                    co.s);
        }
        weiri_buf_free(&co);
    }
    if (braces) {
        e->depth--;
        em_line(e, "}");
    }
}

/* ORDER WTYPE: the preamble's name of a pair of operand types. */
static const char *mma_type(weir_dtype a, weir_dtype b) {
    if (a == WEIR_E4M3 && b == WEIR_E5M2) return "W_E4M3_E5M2";
    if (a == WEIR_E5M2 && b == WEIR_E4M3) return "W_E5M2_E4M3";
    switch (b) {
    case WEIR_F16: return "W_F16";
    case WEIR_F32:
    case WEIR_TF32: return "W_TF32";
    case WEIR_E4M3: return "W_E4M3";
    case WEIR_E5M2: return "W_E5M2";
    default: return "W_BF16";
    }
}

bool em_has_live_flag(emitter *e, const weir_res *r) {
    for (int i = 1; i <= e->p->nactions; i++) {
        const weiri_action *a = e->p->action[i];
        if (a->reg == r->index && a->fresh == 3) return true;
    }
    return false;
}

static const char *desc(emitter *e, const char *addr, const weiri_operand *o) {
    return em_fmt(e, "w_desc(%s, %d, %d, %d)", addr, o->lbo, o->sbo, o->layout);
}

/* One batch: r += a * transpose(b) over the whole K of the operands. */
void em_mma(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &p->regs.v[weiri_preg_of(p, e->task, r)];
    const char *acc = em_reg(e, r);
    weiri_view va, vb;
    bool a_reg = !weiri_view_of(e->k, a->op->arg[0], &va);
    weiri_view_of(e->k, a->op->arg[1], &vb);
    char why[256];
    weiri_tile_geom ga = { 0 }, gb;
    weiri_operand oa = { 0 }, ob;
    const weir_dtype dtype = weiri_stage_dtype(p, vb.res);
    const char *type = mma_type(a_reg ? dtype : weiri_stage_dtype(p, va.res), dtype);
    int64_t a_at = 0, b_at;
    int64_t b_next = 0; /* where the next warpgroup's rows of b begin */
    const int parts = e->pt->by_cols ? e->pt->warpgroups : 1;
    if (parts > 1) weiri_view_part(p, &vb, 1, parts, &gb, &b_next, why, sizeof why);
    weiri_view_part(p, &vb, 0, parts, &gb, &b_at, why, sizeof why);
    int unit, need;
    const int cols = weiri_mma_columns(p, &gb, vb.t, pr->cols, a_reg, &unit, &need), pieces = (pr->cols + cols - 1) / cols;
    weiri_layout_operand(&gb, dtype, vb.t, unit, &ob, why, sizeof why);
    int kbytes = 32, elem = gb.elem;
    int ksize = vb.t ? gb.rows : gb.cols;
    int ksteps = ksize * elem / kbytes;
    const char *fresh = a->fresh == 1 ? NULL : a->fresh == 2 ? "1" : em_fmt(e, "%s_live", acc);
    /* effects of ACT_MMA: the accumulator first, then the operands in order */
    const weiri_effect *eb = &a->eff[a->neff - 1], *ea = a_reg ? NULL : &a->eff[a->neff - 2];
    em_line(e, "W_AT(%d);", a->id);
    em_line(e, "{");
    e->depth++;
    if (!a_reg) {
        weiri_view_operand(p, &va, &ga, &a_at, why, sizeof why);
        weiri_layout_operand(&ga, weiri_stage_dtype(p, va.res), va.t, 64, &oa, why, sizeof why);
        const char *addr = add_offset(e, em_region_addr(e, ea->region, ea->cur, ea->stage, ea->back), a_at);
        if (e->pt->warpgroups > 1 && pr->split == 'm') addr = em_fmt(e, "%s + wg * %" PRId64, addr, oa.m64_bytes * pr->frags);
        em_line(e, "const u64 a = %s;", desc(e, addr, &oa));
    }
    const char *baddr = add_offset(e, em_region_addr(e, eb->region, eb->cur, eb->stage, eb->back), b_at);
    if (parts > 1) baddr = em_fmt(e, "%s + wg * %" PRId64, baddr, b_next - b_at);
    em_line(e, "const u64 b = %s;", desc(e, baddr, &ob));
    em_line(e, "#pragma unroll");
    em_line(e, "for (int kk = 0; kk < %d; kk++) {", ksteps);
    e->depth++;
    const char *kb = ob.k_per_panel < ksteps ? em_fmt(e, "kk / %d * %" PRId64 " + kk %% %d * %d", ob.k_per_panel,
                                                      ob.k_panel_bytes / 16, ob.k_per_panel, ob.k_step_bytes / 16)
                                             : em_fmt(e, "kk * %d", ob.k_step_bytes / 16);
    const char *ka = a_reg                     ? ""
                     : oa.k_per_panel < ksteps ? em_fmt(e, "kk / %d * %" PRId64 " + kk %% %d * %d", oa.k_per_panel,
                                                        oa.k_panel_bytes / 16, oa.k_per_panel, oa.k_step_bytes / 16)
                                               : em_fmt(e, "kk * %d", oa.k_step_bytes / 16);
    const char *on = !fresh ? "kk != 0" : !strcmp(fresh, "1") ? "1" : em_fmt(e, "%s | kk", fresh);
    for (int i = 0; i < pr->frags * pieces; i++) {
        const int f = i / pieces, col = i % pieces * cols, n = pr->cols - col < cols ? pr->cols - col : cols;
        const int reg = (f * pr->cols + col) / 2;
        const char *d = pr->frags * pieces > 1 ? em_fmt(e, "%s + %d", acc, reg) : acc;
        const char *fb = col ? em_fmt(e, " + %" PRId64, col / unit * ob.mn_step_bytes / 16) : "";
        if (a_reg) {
            const weiri_value *x = weiri_val(e->k, a->op->arg[0]);
            const weiri_preg *xr = &p->regs.v[weiri_preg_of(p, e->task, x->res)];
            em_line(e, "w_wgmma_rs<%d, %s, %d>(%s, %s + %d + kk * 4, b + %s%s, %s);", n, type, ob.mn_major, d,
                    em_reg(e, x->res), f * xr->cols / 4, kb, fb, on);
        } else {
            const char *fa = f ? em_fmt(e, " + %" PRId64, oa.m64_bytes * f / 16) : "";
            em_line(e, "w_wgmma_ss<%d, %s, %d, %d>(%s, a + %s%s, b + %s%s, %s);", n, type, oa.mn_major, ob.mn_major, d, ka, fa,
                    kb, fb, on);
        }
    }
    e->depth--;
    em_line(e, "}");
    e->depth--;
    em_line(e, "}");
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", acc);
}

/* ---- stores ------------------------------------------------------------------------------------------------------------------- */

/* The value whose text is x (0: a float), as it is stored. */
static const char *to_dtype(emitter *e, weir_dtype t, uint32_t value, const char *x) {
    const char *whole = em_whole_of(e, t, value, x);
    if (whole) return whole;
    x = em_round_once(e, t, value, x);
    if (t == WEIR_F32) return x;
    if (t == WEIR_TF32) /* it lies as a float does */
        return weiri_val(e->k, value)->dtype == t ? x : em_fmt(e, "(float)tf32(%s)", x);
    return em_fmt(e, "%s(%s)", em_is_float(t) ? weiri_ctype(t) : em_fmt(e, "(%s)", weiri_ctype(t)), x);
}

static bool pack_name(weir_dtype t, const char **name) {
    *name = t == WEIR_BF16 ? "w_pack_bf16" : t == WEIR_F16 ? "w_pack_f16" : NULL;
    return *name != NULL;
}

/* One fragment element of what is stored: a value, or (value 0) the register tile itself. */
static const char *stored_element(emitter *e, uint32_t value, const weiri_preg *pr) {
    if (value) return em_expr(e, value);
    const char *name = em_reg(e, pr->res);
    return pr->frags > 1 ? em_fmt(e, "%s[f * %d + %s]", name, pr->cols / 2, e->el) : em_fmt(e, "%s[%s]", name, e->el);
}

/* Fragments to a stage in shared memory. */
void em_store_frag_smem(emitter *e, const weiri_action *a, uint32_t value, const weir_res *s) {
    const weiri_preg *pr = value ? em_frag_tile(e, value) : &e->p->regs.v[weiri_preg_of(e->p, e->task, s)];
    const weir_dtype dtype = weiri_stage_dtype(e->p, s);
    weiri_tile_geom g;
    weiri_geom(e->p, s, &g);
    const weiri_effect *ef = &a->eff[a->neff - 1];
    const char *base = em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back), *pack;
    e->share = em_share(e, pr, g.cols);
    e->frags = pr->frags;
    em_line(e, "{");
    e->depth++;
    em_line(e, "#pragma unroll");
    em_line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "(j * 4 + i)"; /* i runs over two (stmatrix: four) neighbouring 8-column groups */
    const char *wg = e->pt->warpgroups > 1 && !e->pt->by_cols ? em_fmt(e, "wg * %d + ", pr->rows) : "";
    if (e->slab) wg = em_fmt(e, "(u32)(%s) + %s", e->slab, wg);
    const int groups = weiri_share_cols(e->pt, g.cols) / 8; /* of 8 columns, of a warpgroup */
    bool apart = e->pt->by_cols && g.panels > 1 && groups * 8 % g.panel_cols == 0; /* in whole panels */
    if (apart) base = em_fmt(e, "%s + wg * %" PRId64, base, groups * 8 / g.panel_cols * g.panel_bytes);
    const char *j = e->pt->by_cols && !apart ? em_fmt(e, "(wg * %d + j)", groups) : "j";
    if (weiri_deal_matrix(e->p, e->task, s) && pack_name(dtype, &pack)) {
        int shift = g.swizzle == 128 ? 0 : g.swizzle == 64 ? 1 : 2, mask = g.swizzle / 16 - 1;
        em_line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane %% 16;", wg);
        em_line(e, "const u32 at = %s + row * %" PRId64 ", twist = (%s & %d) << 4;", base, g.row_bytes,
                shift ? em_fmt(e, "row >> %d", shift) : "row", mask);
        em_line(e, "#pragma unroll");
        em_line(e, "for (int j = 0; j < %d; j += 2) {", groups);
        e->depth++;
        e->el = "(j * 4 + 2 * i)";
        const char *word = value ? em_packed_word(e, value, dtype) : NULL;
        e->el = "(j * 4 + i)";
        em_line(e, word ? "u32 x[4];" : "float x[8];");
        em_line(e, "#pragma unroll");
        em_line(e, "for (int i = 0; i < %d; i++) x[i] = %s;", word ? 4 : 8,
                word ? word : em_round_once(e, dtype, value, stored_element(e, value, pr)));
        const char *panel = g.panels > 1 ? em_fmt(e, "%s / %d * %" PRId64 " + ", j, g.panel_cols / 8, g.panel_bytes) : "";
        const char *in = g.panels > 1 ? em_fmt(e, "(%s %% %d * 16u + lane / 16 * 16u)", j, g.panel_cols / 8)
                                      : em_fmt(e, "(%s * 16u + lane / 16 * 16u)", j);
        if (word) em_line(e, "w_stmatrix4(at + %s(%s ^ twist), x[0], x[1], x[2], x[3]);", panel, in);
        else
            em_line(e, "w_stmatrix4(at + %s(%s ^ twist), %s(x[0], x[1]), %s(x[2], x[3]), %s(x[4], x[5]), %s(x[6], x[7]));", panel,
                    in, pack, pack, pack, pack);
        e->depth--;
        em_line(e, "}");
    } else {
        em_line(e, "#pragma unroll");
        em_line(e, "for (int j = 0; j < %d; j++) {", groups);
        e->depth++;
        em_line(e, "#pragma unroll");
        em_line(e, "for (int i = 0; i < 4; i += 2) {"); /* two columns lie side by side */
        e->depth++;
        em_line(e, "const u32 row = %sf * 64 + warp %% 4 * 16 + lane / 4 + i * 4, col = %s * 8 + lane %% 4 * 2;", wg, j);
        const char *x[2];
        for (int c = 0; c < 2; c++) {
            e->el = em_fmt(e, "(j * 4 + i + %d)", c);
            x[c] = to_dtype(e, dtype, value, stored_element(e, value, pr));
        }
        em_line(e, "*(w_pack<%s, 2> *)w_ptr(%s + %s) = { { %s, %s } };", weiri_ctype(dtype), base,
                em_element_offset(e, &g, "row", "col"), x[0], x[1]);
        e->depth--;
        em_line(e, "}");
        e->depth--;
        em_line(e, "}");
    }
    e->depth--;
    em_line(e, "}");
    e->depth--;
    em_line(e, "}");
    e->share = 0;
}

/* Fragments straight to global memory, in bounds, two columns at a time where the row allows. */
static void store_frag_gmem(emitter *e, uint32_t value, uint32_t place, const weir_res *g) {
    const weiri_preg *pr = em_frag_tile(e, value);
    const weiri_value *val = weiri_val(e->k, value);
    const weir_tensor *t = g->tensor;
    weiri_view v;
    weiri_view_of(e->k, place, &v);
    e->frags = pr->frags;
    const int place_cols = v.ncols ? v.ncols : g->tile[g->rank - 1]; /* one a row spreads over them */
    const int all = val->cols == 1 ? place_cols : val->cols, cols = weiri_frag_cols(e->pt, all);
    const bool few = place_cols <= 4, odd = !few && weiri_share_cols(e->pt, all) % 8; /* the last group ends where the place does */
    e->share = em_share(e, pr, all);
    const char *name = em_arg(e, t->name), *pack;
    const char *wg = e->pt->warpgroups > 1 && !e->pt->by_cols ? em_fmt(e, "wg * %d + ", pr->rows) : "";
    const char *wgcol = e->pt->by_cols ? em_fmt(e, "wg * %d + ", cols) : "";
    const char *r0 = g->rank >= 2 ? em_origin(e, &v, g, g->rank - 2) : "0", *c0 = em_origin(e, &v, g, g->rank - 1);
    const char *tile0 = c0;
    if (v.row0) r0 = em_fmt(e, "%s + %d", r0, v.row0);
    if (v.col0) c0 = em_fmt(e, "(%s + %d)", c0, v.col0);
    const char *lead = "";
    weiri_buf exists; /* along the axes in front */
    weiri_buf_init(&exists, e->k->ctx);
    for (int d = 0; d + 2 < g->rank; d++) {
        lead = em_fmt(e, "%s + (i64)(%s) * %s_stride%d", lead, em_origin(e, &v, g, d), em_tensor(e, t), d);
        em_lead_exists(e, &v, g, d, &exists);
    }
    const char *there = em_fmt(e, "%s", exists.s ? exists.s : "");
    weiri_buf_free(&exists);
    const char *rows = g->rank >= 2 ? em_shape_expr(e, t, g->rank - 2) : "1", *width = em_shape_expr(e, t, g->rank - 1);
    const char *limit = v.limit ? em_fmt(e, "w_min(%s, %s + %s)", width, tile0, em_limit(e, &v)) : width;
    if (odd) limit = em_fmt(e, "w_min(%s, %s + %d)", limit, c0, place_cols);
    em_line(e, "{");
    e->depth++;
    bool packs = (pack_name(t->dtype, &pack) || t->dtype == WEIR_F32) && !few;
    const bool anywhere = em_before(e, &v, g, g->rank - 1), /* it may begin before the tensor, or off a pair */
        off = v.op == WEIR_OP_VIEW_FROM || g->tile[g->rank - 1] % 2 || v.col0 % 2;
    if (packs) em_line(e, "const bool pairs = %s_pairs%s;", em_tensor(e, t), off ? em_fmt(e, " && (%s) %% 2 == 0", c0) : "");
    const char *low = em_fmt(e, "%s%s", there, g->rank >= 2 && em_before(e, &v, g, g->rank - 2) ? "row >= 0 && " : "");
    const char *left = anywhere ? "col >= 0 && " : "";
    em_line(e, "#pragma unroll");
    em_line(e, "for (int fh = 0; fh < %d; fh++) {", pr->frags * 2);
    e->depth++;
    em_line(e, "const int f = fh / 2, h = fh %% 2;");
    em_line(e, "const i32 row = (i32)(%sf * 64 + warp %% 4 * 16 + lane / 4 + h * 8) + %s;", wg, r0);
    em_line(e, "%s *out = %s + (i64)row * %s_stride%d%s;", weiri_ctype(t->dtype), name, em_tensor(e, t), g->rank - 2, lead);
    if (few) { /* one per row: every lane of the quad has it, as many store as there are columns; four: one a lane */
        e->fr = "f";
        e->el = "(h * 2)";
        em_line(e, "const i32 col = (i32)(lane %% 4) + %s;", c0);
        em_line(e, "if (%slane %% 4 < %d && %srow < %s && %scol < %s) out[col] = %s;", e->pt->by_cols ? "wg == 0 && " : "",
                place_cols, low, rows, left, limit, to_dtype(e, t->dtype, value, em_expr(e, value)));
        e->depth--;
        em_line(e, "}");
        e->depth--;
        em_line(e, "}");
        e->share = 0;
        return;
    }
    em_line(e, "#pragma unroll");
    em_line(e, "for (int j = 0; j < %d; j++) {", cols / 8);
    e->depth++;
    e->fr = "f";
    em_line(e, "const i32 col = (i32)(%sj * 8 + lane %% 4 * 2) + %s;", wgcol, c0);
    e->el = "(j * 4 + h * 2)";
    const char *x0 = em_expr(e, value);
    e->el = "(j * 4 + h * 2 + 1)";
    const char *x1 = em_expr(e, value);
    em_line(e, "const %s x0 = %s, x1 = %s;", em_type(val), x0, x1);
    em_line(e, "if (%srow < %s) {", low, rows);
    e->depth++;
    if (packs) {
        if (t->dtype == WEIR_F32)
            em_line(e, "if (pairs && %scol + 1 < %s) *(float2 *)(out + col) = make_float2(x0, x1);", left, limit);
        else
            em_line(e, "if (pairs && %scol + 1 < %s) *(u32 *)(out + col) = %s(%s, %s);", left, limit, pack,
                    em_round_once(e, t->dtype, value, "x0"), em_round_once(e, t->dtype, value, "x1"));
        em_line(e, "else {");
        e->depth++;
    }
    em_line(e, "if (%scol < %s) out[col] = %s;", left, limit, to_dtype(e, t->dtype, value, "x0"));
    em_line(e, "if (%scol + 1 < %s) out[col + 1] = %s;", anywhere ? "col + 1 >= 0 && " : "", limit,
            to_dtype(e, t->dtype, value, "x1"));
    if (packs) {
        e->depth--;
        em_line(e, "}");
    }
    for (int i = 0; i < 3; i++) {
        e->depth--;
        em_line(e, "}");
    }
    e->depth--;
    em_line(e, "}");
    e->share = 0;
}

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

/* A tile to a tensor or to a stage, 16 bytes of the destination a thread at a time where it and what it is made of allow; else, and
 * at ragged ends, element by element. */
static bool store_packed(emitter *e, const weiri_action *a, uint32_t value, uint32_t place, const weir_res *dst) {
    const bool gmem = dst->kind == WEIR_RES_GMEM;
    const weir_dtype dtype = gmem ? dst->tensor->dtype : dst->dtype;
    const char *type = weiri_ctype(dtype), *out, *one;
    int elems = weiri_deal_piece(e->p, e->task, a->op), cols, rows = weiri_deal_place(e->p, a->op, &cols);
    weiri_view v;
    if (elems == 1) return false;
    e->dest = dst;
    e->npack = 0;
    weiri_visit_begin(e->k);
    find_packs(e, value, elems);
    share_pieces(e, rows * cols / elems);
    em_line(e, "const i32 row = (i32)(q / %d), first = (i32)(q %% %d) * %d;", cols / elems, cols / elems, elems);
    if (rows == 1) em_line(e, "(void)row;");
    weiri_buf all; /* what must hold for packs */
    weiri_buf_init(&all, e->k->ctx);
    if (gmem) {
        const char *index, *exists;
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
    const int npack = e->npack;
    const char *load[8];
    for (int i = 0; i < npack; i++) {
        weiri_view x;
        weiri_view_of(e->k, e->pack[i], &x);
        const char *from, *t;
        if (x.op == WEIR_OP_VIEW_READ) {
            t = weiri_ctype(weiri_stage_dtype(e->p, x.res));
            from = em_stage_pointer(e, e->pack[i], "row", "first");
        } else {
            if (x.op == WEIR_OP_VIEW_TILE) x.res = dst;
            const char *at, *in, *wide = em_fmt(e, "%s_wide", em_tensor(e, x.res->tensor));
            em_gmem_index(e, &x, "row", "first", elems, &at, &in);
            if (!all.s || !strstr(all.s, wide)) weiri_put(&all, "%s%s", all.s ? " && " : "", wide);
            if (!strstr(all.s, in)) weiri_put(&all, " && %s", in);
            t = weiri_ctype(x.res->tensor->dtype);
            from = em_fmt(e, "&%s[%s]", em_arg(e, x.res->tensor->name), at);
        }
        load[i] = em_fmt(e, "const w_pack<%s, %d> p%u = *(const w_pack<%s, %d> *)%s;", t, elems, e->pack[i], t, elems, from);
    }
    const bool asks = all.s != NULL;
    if (asks) {
        em_line(e, "if (%s) {", all.s);
        e->depth++;
    }
    weiri_buf_free(&all);
    for (int i = 0; i < npack; i++) em_line(e, "%s", load[i]);
    em_line(e, "w_pack<%s, %d> out;", type, elems);
    e->row = "row";
    e->col = "(first + i)";
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) out.x[i] = %s;", elems, to_dtype(e, dtype, value, em_expr(e, value)));
    em_line(e, "*(w_pack<%s, %d> *)%s = out;", type, elems, out);
    e->npack = 0;
    if (asks) {
        e->depth--;
        em_line(e, "} else {");
        e->depth++;
        /* the places of all elements of all turns, kept over the loop around, would take more registers than there are */
        if (!gmem) em_line(e, "#pragma unroll 1");
        em_line(e, "for (int i = 0; i < %d; i++) %s = %s;", elems, one, to_dtype(e, dtype, value, em_expr(e, value)));
        e->depth--;
        em_line(e, "}");
    }
    e->row = e->col = NULL;
    e->depth--;
    em_line(e, "}");
    return true;
}

/* No fragments: the task's threads share the elements in order. */
static void store_linear(emitter *e, const weiri_action *a, uint32_t value, uint32_t place, const weir_res *dst) {
    if (store_packed(e, a, value, place, dst)) return;
    int cols, rows = weiri_deal_place(e->p, a->op, &cols);
    share_pieces(e, rows * cols);
    em_line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d);", cols, cols);
    e->row = "row";
    e->col = "col";
    if (rows == 1) em_line(e, "(void)row;");
    const char *x = em_expr(e, value);
    if (dst->kind == WEIR_RES_GMEM) {
        e->dest = dst;
        em_line(e, "%s = %s;", em_view_element(e, place, "row", "col", false), to_dtype(e, dst->tensor->dtype, value, x));
    } else {
        em_line(e, "*(%s *)%s = %s;", weiri_ctype(dst->dtype), stage_element(e, a, dst, "row", "col"),
                to_dtype(e, dst->dtype, value, x));
    }
    e->row = e->col = NULL;
    e->depth--;
    em_line(e, "}");
}

void em_store(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    uint32_t value = op->arg[0];
    const bool gmem = op->res->kind == WEIR_RES_GMEM;
    const uint32_t place = op->nargs > 1 ? op->arg[1] : 0;
    weiri_view v;
    const char *col;
    if (!gmem && place && weiri_view_of(e->k, place, &v)) {
        e->slab = em_slab(e, &v, &col);
        if (v.row0) e->slab = e->slab ? em_fmt(e, "%s + %d", e->slab, v.row0) : em_fmt(e, "%d", v.row0);
    }
    if (em_tc_stores(e, value)) {
        em_tc_store(e, a);
        e->slab = NULL;
        return;
    }
    em_line(e, "W_AT(%d);", a->id);
    if (weiri_value_in_regs(e->k, value)) em_ensure(e, value);
    if (gmem) {
        if (weiri_value_in_regs(e->k, value)) store_frag_gmem(e, value, op->arg[1], op->res);
        else store_linear(e, a, value, op->arg[1], op->res);
    } else {
        if (weiri_value_in_regs(e->k, value)) em_store_frag_smem(e, a, value, op->res);
        else store_linear(e, a, value, place, op->res);
        e->slab = NULL;
    }
}

/* What an assignment to a register of dtype t rounds to that dtype. */
static const char *as_held(emitter *e, weir_dtype t, uint32_t value, const char *x) {
    const char *whole = em_whole_of(e, t, value, x);
    if (t == WEIR_TF32) return to_dtype(e, t, value, x);
    return whole ? whole : em_round_once(e, t, value, x);
}

void em_set(emitter *e, const weiri_action *a) {
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = em_reg(e, r);
    em_line(e, "W_AT(%d);", a->id);
    em_ensure(e, a->op->arg[0]);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    e->depth++;
    e->fr = "f";
    e->el = "i";
    e->frags = pr->frags;
    e->share = em_share(e, pr, r->tile[1]);
    const char *pack;
    const uint32_t value = a->op->arg[0];
    em_line(e, "#pragma unroll");
    if (r->tile[1] == 1 || r->tile[1] == 4) {
        em_line(e, "for (int i = 0; i < 4; i += 2) %s[f * 2 + (i >> 1)] = %s;", name,
                as_held(e, r->dtype, value, em_expr(e, value)));
    } else if (pack_name(r->dtype, &pack)) {
        e->el = "(i + 0)";
        const char *x0 = as_held(e, r->dtype, value, em_expr(e, value));
        e->el = "(i + 1)";
        const char *x1 = as_held(e, r->dtype, value, em_expr(e, value));
        em_line(e, "for (int i = 0; i < %d; i += 2) %s[(f * %d + i) >> 1] = %s(%s, %s);", pr->cols / 2, name, pr->cols / 2,
                pack, x0, x1);
    } else {
        em_line(e, "for (int i = 0; i < %d; i++) %s[f * %d + i] = %s;", pr->cols / 2, name, pr->cols / 2,
                as_held(e, r->dtype, value, em_expr(e, value)));
    }
    e->share = 0;
    e->depth--;
    em_line(e, "}");
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", name);
}

static void copy_read(emitter *e, uint32_t value, const weir_res *r, const weiri_preg *pr) {
    em_line(e, "%s v%u[%d];", weiri_packed(r) ? "u32" : weiri_ctype(r->dtype), value, pr->per_thread);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) v%u[i] = %s[i];", pr->per_thread, value, em_reg(e, r));
    em_make(e, value, MADE);
}

/* r:read(): a pending zero() becomes real, so that every later use may take the registers as they are. */
void em_read(emitter *e, const weiri_action *a) {
    const weir_res *r = e->k->res.v[a->reg];
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = em_reg(e, r);
    uint32_t value = a->op->nret ? a->op->ret[0] : 0;
    bool copy = value && em_outlives(e, a->op, value);
    if (!(a->fresh & 1)) {
        em_line(e, "W_AT(%d);", a->id);
        if (copy) copy_read(e, value, r, pr);
        return;
    }
    if (a->fresh == 3) em_line(e, "W_AT(%d); if (!%s_live) {  // no mma since zero()", a->id, name);
    else em_line(e, "W_AT(%d); {", a->id);
    e->depth++;
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", pr->per_thread, name);
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", name);
    e->depth--;
    em_line(e, "}");
    if (copy) copy_read(e, value, r, pr);
}

/* ---- custom bodies -------------------------------------------------------------------------------------------------------------- */

static const char *body_name(emitter *e, const weir_res *r, const weiri_work *w) {
    return weiri_name(e->p, NAME_BODY, r->index, em_fmt(e, "%s_%s", r->name, w->name));
}

static const char *param_type(emitter *e, const weiri_param *q, const weir_res *view) {
    if (q->view) return em_fmt(e, "const %s *", view ? weiri_ctype(view->dtype) : "void");
    return weiri_ctype(q->dtype);
}

/* First op that calls the body, to learn what its views are. */
static const weiri_op *first_call(const weir_kernel *k, const weiri_work *w) {
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n))
            if (n->kind == NODE_OP && n->op->work == w) return n->op;
    return NULL;
}

void em_body(emitter *e, const weir_res *r, const weiri_work *w) {
    const weiri_op *call = first_call(e->k, w);
    if (!call) return;
    weiri_put(e->o, "\n");
    if (w->file) em_line(e, "// work %s of %s, %s:%d", w->name, r->name, em_base_name(e, w->file), w->line);
    bool templ = false;
    weiri_buf t;
    weiri_buf_init(&t, e->k->ctx);
    for (int i = 0; i < w->nparams; i++)
        if (w->params[i].constant)
            weiri_put(&t, "%s%s %s", templ ? ", " : "template <", weiri_ctype(w->params[i].dtype), w->params[i].name),
                templ = true;
    if (templ) em_line(e, "%s>", t.s);
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
    const char *tile = e->p->queue ? em_fmt(e, ", const %s_tile &tile", em_queue(e, e->p->queue)) : "";
    em_line(e,
            "static __device__ __forceinline__ void %s(const i32 iter, const i32 stage, const u32 bar, const u32 tid, const "
            "u32 nthreads, const u32 warp, const u32 lane,",
            body_name(e, r, w));
    em_line(e, "    const bool elected, const u32 w_sync_id%s%s) {", tile, b.s ? b.s : "");
    weiri_buf_free(&b);
    e->depth++;
    em_line(e, "(void)iter; (void)stage; (void)bar; (void)tid; (void)nthreads; (void)warp; (void)lane; (void)elected;%s",
            e->p->queue ? " (void)tile;" : "");
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_buf s, st;
        weiri_buf_init(&s, e->k->ctx);
        weiri_buf_init(&st, e->k->ctx);
        for (int d = 0; d < x->rank; d++) {
            weiri_put(&s, "%s%s_shape%d", d ? ", " : "", r->bind[i].name, d);
            if (d + 1 < x->rank) weiri_put(&st, "%s_stride%d, ", r->bind[i].name, d);
        }
        em_line(e, "const i32 %s_shape[] = { %s }; const i64 %s_stride[] = { %s1 }; (void)%s_shape; (void)%s_stride;",
                r->bind[i].name, s.s, r->bind[i].name, st.s ? st.s : "", r->bind[i].name, r->bind[i].name);
        weiri_buf_free(&s);
        weiri_buf_free(&st);
    }
    for (int i = 0; i < r->nconsts; i++) {
        if (r->consts[i].is_int) em_line(e, "constexpr i32 %s = %" PRId64 ";", r->consts[i].name, (int64_t)r->consts[i].value);
        else em_line(e, "constexpr float %s = %s;", r->consts[i].name, em_float_text(e, r->consts[i].value));
    }
    if (strstr(w->code, "task_sync"))
        em_line(e, "auto task_sync = [=] { if (w_sync_id) w_bar_sync(w_sync_id, nthreads); else w_sync_warp(); };");
    if (w->file) weiri_put(e->o, "#line %d %s\n", w->line, em_quoted(e, w->file));
    weiri_put(e->o, "%s\n", w->code);
    em_own_line(e);
    e->depth--;
    em_line(e, "}");
}

void em_call(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    const weir_res *r = op->res;
    const weiri_work *w = op->work;
    for (int i = 0; i < op->nret && i < w->nreturns; i++)
        em_line(e, "%s v%u = 0;", weiri_ctype(w->returns[i].dtype), op->ret[i]);
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    bool templ = false;
    for (int i = 0; i < w->nparams && i < op->nargs; i++)
        if (w->params[i].constant) weiri_put(&b, "%s%s", templ ? ", " : "<", em_expr(e, op->arg[i])), templ = true;
    if (templ) weiri_put(&b, ">");
    bool producer = w->side == WEIR_SIDE_PRODUCER;
    int pi = weiri_pipe_of(e->p, r);
    const weiri_effect *ef = NULL; /* of the resource's own stage: the last effect on its region */
    for (int i = 0; i < a->neff; i++)
        if (a->eff[i].region >= 0 && e->p->smem.v[a->eff[i].region].res == r) ef = &a->eff[i];
    const char *stage = ef && ef->cur >= 0 ? em_stage_expr(e, ef->cur, ef->stage, ef->back)
                        : a->cur >= 0      ? em_stage_expr(e, a->cur, a->stage, a->back)
                                           : "0";
    const char *bar = "0";
    if (pi >= 0 && (ef || a->cur >= 0) && e->p->pipes.v[pi].full >= 0) {
        bar = em_plus_stage(e, em_bar(e, producer ? e->p->pipes.v[pi].full : e->p->pipes.v[pi].empty), stage, 8);
    }
    const char *iter = e->loop ? em_loop(e, e->loop->src) : "0";
    bool solo = e->pt->solo;
    weiri_put(&b, "(%s, (i32)%s, %s, %s, %d, %s, %s, %s, %d", iter, stage, bar, solo ? "0" : "ttid",
              solo           ? 1
              : e->pt->lanes ? 32
                             : 32 * e->pt->task->num_warps,
              solo || e->pt->lanes ? "0" : em_fmt(e, "warp - %d", e->pt->task->first_warp), solo ? "0" : "lane",
              solo ? "true" : "ttid == 0", e->pt->named_task);
    if (e->p->queue) {
        weiri_put(&b, ", %s_tile{", em_queue(e, e->p->queue));
        for (int i = 0; i < e->p->queue->qrank; i++)
            weiri_put(&b, "%s%s", i ? ", " : "", e->tiles ? em_coord_name(e, e->p->queue, i, false) : "0");
        weiri_put(&b, "}");
    }
    if (weiri_in_smem(r))
        weiri_put(&b, ", (%s *)w_ptr(%s)", weiri_ctype(r->dtype),
                  ef ? em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back) : em_region(e, weiri_region_of(e->p, r)));
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_put(&b, ", %s", em_arg(e, x->name));
        for (int d = 0; d < x->rank; d++) weiri_put(&b, ", %s", em_shape_expr(e, x, d));
        for (int d = 0; d + 1 < x->rank; d++) weiri_put(&b, ", %s_stride%d", em_tensor(e, x), d);
    }
    for (int i = 0; i < w->nparams && i < op->nargs; i++) {
        if (w->params[i].constant) continue;
        if (!w->params[i].view) {
            weiri_put(&b, ", %s", em_expr(e, op->arg[i]));
            continue;
        }
        weiri_view v;
        weiri_view_of(e->k, op->arg[i], &v);
        int region = weiri_region_of(e->p, v.res);
        const char *addr = "0";
        for (int j = 0; j < a->neff; j++)
            if (a->eff[j].region == region && a->eff[j].back == v.back && !a->eff[j].write)
                addr = em_region_addr(e, region, a->eff[j].cur, a->eff[j].stage, v.back);
        weiri_tile_geom g;
        const char *col, *slab = em_slab(e, &v, &col);
        if ((slab || v.row0) && weiri_geom(e->p, v.res, &g)) {
            slab = slab && v.row0 ? em_fmt(e, "%s + %d", slab, v.row0) : slab ? slab : em_fmt(e, "%d", v.row0);
            addr = em_fmt(e, "%s + %s", addr, em_element_offset(e, &g, slab, "0"));
        }
        weiri_put(&b, ", (const %s *)w_ptr(%s)", weiri_ctype(v.res->dtype), addr);
    }
    for (int i = 0; i < w->nreturns; i++) {
        if (i < op->nret) weiri_put(&b, ", v%u", op->ret[i]);
    }
    em_line(e, "W_AT(%d); %s%s);", a->id, body_name(e, r, w), b.s);
    weiri_buf_free(&b);
}
