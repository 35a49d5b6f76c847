/* Copies: boxes by TMA, pieces into another CTA, 16 bytes at a time by cp.async; and the next tile of a queue, which comes as
 * bytes, too. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

const char *em_plus(emitter *e, const char *base, int64_t n) {
    if (!n) return base;
    if (!strcmp(base, "0")) return em_fmt(e, "%" PRId64, n);
    return n < 0 ? em_fmt(e, "%s - %" PRId64, base, -n) : em_fmt(e, "%s + %" PRId64, base, n);
}

/* The address in front of so many rows more. */
static const char *plus_rows(emitter *e, const char *base, const char *rows, int64_t row_bytes) {
    return rows ? em_fmt(e, "%s + (u32)(%s) * %" PRId64, base, rows, row_bytes) : base;
}

/* ---- into another CTA ---------------------------------------------------------------------------------------------------- */

/* Where the part of a stage begins that a view names (0: the whole of it). */
static const char *push_address(emitter *e, int region, const weiri_effect *ef, uint32_t view, int64_t row_bytes) {
    const char *base = em_region_addr(e, region, ef->cur, ef->stage, ef->back), *col;
    weiri_view v;
    return view && weiri_view_of(e->k, view, &v) ? plus_rows(e, base, em_slab(e, &v, &col), row_bytes) : base;
}

void em_push(emitter *e, const weiri_action *a) {
    const weiri_push *c = &e->p->pushes.v[a->copy];
    const char *to = push_address(e, c->to, &a->eff[1], c->to_view, c->to_row),
               *from = push_address(e, c->from, &a->eff[0], c->from_view, c->from_row), *guard = em_guard_of(e, a->who);
    const bool several = c->npiece > 1;
    if (several) em_open(e, "W_AT(%d); %s{", a->id, guard);
    for (int i = 0; i < c->npiece; i++)
        em_line(e, "%sw_bulk_push(%s, %s, %" PRId64 ", %s, %s);", several ? "" : em_fmt(e, "W_AT(%d); %s", a->id, guard),
                em_plus(e, to, c->piece[i].to), em_plus(e, from, c->piece[i].from), c->piece[i].bytes, em_bar_addr(e, a),
                em_dest(e, a));
    if (several) em_close(e);
}

/* ---- cp.async ------------------------------------------------------------------------------------------------------------ */

/* No test that is always true. */
void em_share_pieces(emitter *e, int pieces) {
    enum { UNROLLED = 8 }; /* turns at most */
    const int n = e->pt->solo ? 1 : e->pt->lanes ? 32 : 32 * e->pt->task->num_warps;
    const char *tid = e->pt->solo ? "0" : "ttid";
    if (pieces % n || pieces / n > UNROLLED) {
        if (pieces < n) em_open(e, "if (const u32 q = %s; q < %d) {", tid, pieces);
        else em_open(e, "for (u32 q = %s; q < %d; q += %d) {", tid, pieces, n);
    } else if (pieces == n) {
        em_open(e, "{");
        em_line(e, "const u32 q = %s;", tid);
    } else {
        em_line(e, "#pragma unroll");
        em_open(e, "for (u32 turn = 0; turn < %d; turn++) {", pieces / n);
        em_line(e, "const u32 q = %s + turn * %d;", tid, n);
    }
}

/* 16 bytes a piece; what lies outside the tensor is filled with zeros. Leading axes of the tile are folded into its rows. */
void em_cp_async(emitter *e, const weiri_action *a) {
    weiri_view v;
    weiri_view_of(e->k, a->op->arg[0], &v);
    const weir_res *g = v.res;
    const weir_tensor *t = g->tensor;
    weiri_tile_geom geo;
    weiri_geom(e->p, a->op->res, &geo);
    const int piece = 16 / geo.elem, per_row = geo.cols / piece;
    const char *dst = em_region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back);
    em_line(e, "W_AT(%d);", a->id);
    em_share_pieces(e, geo.rows * per_row);
    em_line(e, "const i32 row = (i32)(q / %d), col = (i32)(q %% %d) * %d;", per_row, per_row, piece);
    weiri_buf at, in;
    weiri_buf_init(&at, e->k->ctx);
    weiri_buf_init(&in, e->k->ctx);
    const char *c0 = em_origin(e, &v, g, g->rank - 1);
    for (int d = 0, rows = geo.rows; d + 1 < g->rank; d++) {
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
    em_close(e);
}

/* ---- a queue's next tile ------------------------------------------------------------------------------------------------- */

/* Drawn from the counter into the slot; the cluster's next tile into every CTA's slot. */
void em_fetch(emitter *e, const weiri_action *a) {
    const weir_res *q = a->op->res;
    const char *slot = em_region_addr(e, weiri_region_of(e->p, q), a->cur, a->stage, a->back);
    if (a->targets)
        em_act(e, a, "if (rank == 0%s) w_queue_fetch_cluster(%s, %s, %s_counter, w_blocks() / %d, %d);",
               e->pt->solo ? "" : " && ttid == 0", slot, em_bar_addr(e, a), em_queue(e, q), e->p->cluster, e->p->cluster);
    else
        em_act(e, a, "%sw_queue_fetch(%s, %s, %s_counter, w_blocks());", em_guard_of(e, a->who), slot, em_bar_addr(e, a),
               em_queue(e, q));
}

/* ---- TMA ----------------------------------------------------------------------------------------------------------------- */

/* Element coordinate of axis d (outermost first) where the part of a tile begins that a place names. */
static const char *part_origin(emitter *e, const weiri_view *v, const weir_res *g, int d) {
    const char *o = em_origin(e, v, g, d);
    const int slab = d - v->axis, first = d == g->rank - 1 ? v->col0 : d == g->rank - 2 ? v->row0 : 0;
    if (slab >= 0 && slab < v->nsub) {
        const char *x = em_expr(e, v->sub[slab]);
        o = strcmp(o, "0") ? em_fmt(e, "%s + %s", o, x) : x;
    }
    return em_plus(e, o, first);
}

/* The copies that an action issues. */
typedef struct bulk {
    const weiri_action *a;
    const weiri_copy *c;
    weiri_view place;     /* in the tensor */
    const weir_res *tile; /* of the tensor */
    const char *at, *map; /* the stage, or the slab of it; the tensor map */
    const char *slice;    /* the own one of a multicast; NULL: all of it */
} bulk;

static bulk bulk_of(emitter *e, const weiri_action *a) {
    bulk b = { .a = a, .c = &e->p->copies.v[a->copy] };
    const weir_res *s = a->op->res;
    const char *slab = NULL, *col;
    if (a->kind == ACT_LOAD_BULK) {
        weiri_view_of(e->k, a->op->arg[0], &b.place);
        b.tile = b.place.res;
    } else {
        weiri_view from;
        weiri_view_of(e->k, a->op->arg[0], &from);
        slab = em_slab(e, &from, &col);
        s = from.res;
        b.tile = a->op->res;
        weiri_view_of(e->k, a->op->arg[1], &b.place);
    }
    b.at = plus_rows(e, em_region_addr(e, weiri_region_of(e->p, s), a->cur, a->stage, a->back), slab, b.c->row_bytes);
    b.map = em_fmt(e, "&%s", em_map(e, b.c->tmap));
    if (b.c->slice_axis >= 0)
        b.slice = a->targets == 3 ? em_fmt(e, "(%s + %s * %d)", em_cta_expr(e, 'm'), em_cta_expr(e, 'n'), e->k->cluster.m)
                                  : em_cta_expr(e, a->targets == 1 ? 'm' : 'n');
    return b;
}

/* Who issues; of CTAs that one loads for, the first. */
static const char *issuer(emitter *e, const weiri_action *a) {
    const char *guard = em_guard(e, a);
    if (!a->first) return guard;
    const char *m = em_fmt(e, "%s == 0", em_cta_expr(e, 'm')), *n = em_fmt(e, "%s == 0", em_cta_expr(e, 'n'));
    const char *here = a->targets == 3 ? em_fmt(e, "%s && %s", m, n) : a->targets == 1 ? m : n;
    return em_fmt(e, "if (%s%s) ", *guard ? "ttid == 0 && " : "", here);
}

/* Coordinates of a box in the tensor, innermost first, each behind a comma. */
static const char *coordinates(emitter *e, const bulk *b, const weiri_box *box) {
    const weiri_copy *c = b->c;
    const char *s = "";
    for (int d = 0; d < b->tile->rank; d++) {
        const char *o = em_plus(e, part_origin(e, &b->place, b->tile, b->tile->rank - 1 - d), box->c[d]);
        if (b->slice && d == c->slice_axis) o = em_fmt(e, "%s + %s * %d", o, b->slice, c->slice_elems);
        if (d == c->wg_axis) o = em_fmt(e, "%s + (i32)wg * %d", o, c->wg_elems);
        s = em_fmt(e, "%s, %s", s, o);
    }
    return s;
}

static void emit_load(emitter *e, const bulk *b, const char *before, const char *to, const char *coords) {
    const weiri_action *a = b->a;
    const char *cache = a->op->cache ? a->op->cache : "", *bar = em_bar_addr(e, a);
    const char *policy = !strcmp(cache, "evict_first")  ? ", w_policy_evict_first()"
                         : !strcmp(cache, "evict_last") ? ", w_policy_evict_last()"
                                                        : "";
    const char *pair = a->at_leader ? em_fmt(e, ", %s", em_leader_rank(e)) : "";
    const char *mask = a->targets ? em_fmt(e, ", %s", em_mask(e, a->targets)) : "";
    em_line(e, "%sw_tma_load%s%s%s(%s, %s, %s%s%s%s%s);", before, *pair ? "_pair" : "", *mask ? "_multicast" : "",
            *policy ? "_hint" : "", to, b->map, bar, pair, mask, policy, coords);
}

void em_bulk(emitter *e, const weiri_action *a) {
    const bulk b = bulk_of(e, a);
    const weiri_copy *c = b.c;
    const char *guard = issuer(e, a);
    const bool braces = c->nbox > 1 && *guard;
    if (braces) em_open(e, "W_AT(%d); %s{", a->id, guard);
    for (int i = 0; i < c->nbox; i++) {
        const char *coords = coordinates(e, &b, &c->box[i]), *at = em_plus(e, b.at, c->box[i].offset);
        if (b.slice) at = em_fmt(e, "%s + (u32)%s * %" PRId64, at, b.slice, c->slice_bytes);
        if (c->wg_axis >= 0) at = em_fmt(e, "%s + wg * %" PRId64, at, c->wg_bytes);
        const char *before = braces || (i && !*guard) ? "" : em_fmt(e, "W_AT(%d); %s", a->id, guard);
        if (a->kind == ACT_LOAD_BULK) emit_load(e, &b, before, at, coords);
        else
            em_line(e, "%s%s(%s, %s%s);", before, a->op->atom == ATOM_TMA_STORE ? "w_tma_store" : "w_tma_reduce_add", b.map, at,
                    coords);
    }
    if (braces) em_close(e);
}
