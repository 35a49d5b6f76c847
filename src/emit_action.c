/* Actions as statements: who runs each, and what it is on barriers and cursors. Work that takes more than a line has files of its
 * own: emit_copy.c, emit_mma.c, emit_store.c, emit_regs.c, emit_body.c, emit_tc.c. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

/* ---- who, and whom it is for --------------------------------------------------------------------------------------------- */

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

const char *em_reach(emitter *e, const weiri_action *a) {
    uint64_t table = 0;
    for (int i = 0; i < e->p->cluster && i < 8; i++) table |= (uint64_t)(a->reach[i] & 0xff) << 8 * i;
    return em_fmt(e, "(0x%" PRIx64 "ull >> rank * 8 & 0xff)", table);
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

const char *em_mask(emitter *e, int axes) {
    weir_cluster c = e->k->cluster;
    unsigned mask = weiri_cta_mask(c, 0, axes, false); /* of CTA 0; another's is as far on as the CTA where its axes are 0 */
    if (weiri_served(c, axes, false) == e->p->cluster) return em_fmt(e, "(u16)0x%x", mask);
    const char *shift = em_fmt(e, "%s%s%s", axes & 8 ? em_leader_rank(e) : "rank",
                               axes & 1 ? em_fmt(e, " - %s * %d", em_cta_expr(e, 'm'), c.v) : "",
                               axes & 2 ? em_fmt(e, " - %s * %d", em_cta_expr(e, 'n'), c.v * c.m) : "");
    return em_fmt(e, "(u16)(0x%x << (%s))", mask, shift);
}

/* All threads, of the leader alone where the action is its. */
static const char *everybody(emitter *e, const weiri_action *a) {
    return a->leader && !(e->pt && e->pt->leader) ? "if (leader) " : "";
}

/* ---- barriers ------------------------------------------------------------------------------------------------------------ */

/* The i-th CTA that the stage is shared with, along the axes of the action: `i` names the number. */
static const char *rank_of(emitter *e, const weiri_action *a, const char *i) {
    const weir_cluster c = e->k->cluster;
    const int sm = c.v, sn = c.v * c.m; /* from one CTA to the next along m, along n */
    const char *m = em_cta_expr(e, 'm'), *n = em_cta_expr(e, 'n');
    if (a->targets == 3 && a->cross) /* the column, then the row without the own CTA */
        return em_fmt(e, "(%s < %d ? rank - %s * %d + %s * %d : rank - %s * %d + (%s - %d + (%s - %d >= (u32)%s)) * %d)", i,
                      c.m, m, sm, i, sm, n, sn, i, c.m, i, c.m, n, sn);
    if (a->targets == 3)
        return em_fmt(e, "rank - %s * %d - %s * %d + %s %% %d * %d + %s / %d * %d", m, sm, n, sn, i, c.m, sm, i, c.m, sn);
    const bool along_m = a->targets & 1;
    if (e->p->cluster == (along_m ? c.m : a->targets & 2 ? c.n : 1)) return i; /* the cluster is this axis */
    return em_fmt(e, "rank - %s * %d + %s * %d", along_m ? m : n, along_m ? sm : sn, i, along_m ? sm : sn);
}

/* An arrive at every CTA that the stage is shared with: by every thread that is here at all of them, else by
 * thread i at the i-th. */
static void arrive_everywhere(emitter *e, const weiri_action *a) {
    const weir_cluster c = e->k->cluster;
    const char *at = em_bar_addr(e, a);
    const bool each = e->pt->solo || a->who == WHO_THREADS;
    const char *i = each ? "q" : a->who == WHO_LANE_CTAS ? "lane" : "wtid";
    const int cm = a->targets & 1 ? c.m : 1, cn = a->targets & 2 ? c.n : 1;
    const int n = a->reach ? e->p->cluster : a->cross ? cm + cn - 1 : cm * cn;
    const char *rank = a->reach ? i : rank_of(e, a, i), *reach = a->reach ? em_fmt(e, "%s >> %s & 1", em_reach(e, a), i) : NULL;
    if (each)
        em_act(e, a, "for (u32 q = 0; q < %d; q++) %sw_mbar_arrive_remote(%s, %s);", n,
               reach ? em_fmt(e, "if (%s) ", reach) : "", at, rank);
    else
        em_act(e, a, "if (%s < %d%s%s) w_mbar_arrive_remote(%s, %s);", i, n, reach ? " && " : "", reach ? reach : "", at, rank);
}

static void emit_arrive(emitter *e, const weiri_action *a) {
    if (a->targets || a->reach) arrive_everywhere(e, a);
    else if (a->at0 || a->at_leader)
        em_act(e, a, "%sw_mbar_arrive_remote(%s, %s);", em_guard(e, a), em_bar_addr(e, a), a->at0 ? "0" : em_leader_rank(e));
    else em_act(e, a, "%sw_mbar_arrive(%s);", em_guard(e, a), em_bar_addr(e, a));
}

static void emit_wait(emitter *e, const weiri_action *a) {
    const char *phase = e->p->cursors.v[a->cur].res ? em_fmt(e, "%s_phase", em_cursor_name(e, a->cur)) : "0"; /* a task's end */
    const weir_place *at = em_place_of(a);
    em_act(e, a, "%sw_mbar_wait(%s, %s);%s", a->cta0 ? "if (rank == 0) " : em_guard(e, a), em_bar_addr(e, a), phase,
           at ? em_fmt(e, "  // %s:%d", em_base_name(e, at->file), at->line) : "");
}

static void emit_expect(emitter *e, const weiri_action *a) {
    if (a->reach) /* the CTA that is pushed to */
        em_act(e, a, "%sw_mbar_expect_remote(%s, %s, %" PRId64 ");", em_guard_of(e, a->who), em_bar_addr(e, a), em_dest(e, a),
               a->bytes);
    else if (a->targets) /* CTA 0 arms every CTA's */
        em_act(e, a, "if (rank == 0%s) for (u32 q = 0; q < %d; q++) w_mbar_expect_remote(%s, q, %" PRId64 ");",
               e->pt->solo ? "" : " && ttid == 0", e->p->cluster, em_bar_addr(e, a), a->bytes);
    else em_act(e, a, "%sw_mbar_expect(%s, %" PRId64 ");", em_guard(e, a), em_bar_addr(e, a), a->bytes);
}

/* ---- cursors ------------------------------------------------------------------------------------------------------------- */

static void open_next(emitter *e, const weiri_cursor *c, const char *n) {
    const bool phased = e->p->pipes.v[c->pipe].full >= 0;
    if (c->stages == 1) {
        if (phased) em_line(e, "%s_phase ^= 1;", n);
        return;
    }
    em_line(e, "%s_at = %s_stage;", n, n);
    if (!phased) em_line(e, "if (++%s_stage == %d) %s_stage = 0;", n, c->stages, n);
    else if (c->stride > 1)
        em_line(e, "if ((%s_stage += %d) >= %d) { %s_stage -= %d; %s_phase ^= 1; }", n, c->stride, c->stages, n, c->stages, n);
    else em_line(e, "if (++%s_stage == %d) { %s_stage = 0; %s_phase ^= 1; }", n, c->stages, n, n);
}

static void close_oldest(emitter *e, const weiri_cursor *c, const char *n) {
    if (!c->split_close || c->stages == 1) return;
    if (c->stride > 1) em_line(e, "if ((%s_close += %d) >= %d) %s_close -= %d;", n, c->stride, c->stages, n, c->stages);
    else em_line(e, "if (++%s_close == %d) %s_close = 0;", n, c->stages, n);
}

static void emit_advance(emitter *e, const weiri_action *a) {
    const weiri_cursor *c = &e->p->cursors.v[a->cur];
    const char *n = em_cursor_name(e, a->cur);
    const bool opens = a->stage == STAGE_NEXT;
    if (opens) open_next(e, c, n);
    else close_oldest(e, c, n);
    if (c->needs_held) em_line(e, "%s_held%s;", n, opens ? "++" : "--");
}

/* ---- work ---------------------------------------------------------------------------------------------------------------- */

static void emit_zero(emitter *e, const weiri_action *a) {
    const weir_res *r = a->op->res;
    em_line(e, "W_AT(%d);", a->id);
    if (r->kind == WEIR_RES_REG) {
        em_line(e, "#pragma unroll");
        em_line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", e->p->regs.v[weiri_preg_of(e->p, e->task, r)].per_thread,
                em_reg(e, r));
    } else if (em_has_live_flag(e, r)) {
        em_line(e, "%s_live = 0;", em_reg(e, r));
    }
}

/* Scalars; tiles are loaded where their elements are used. */
static void emit_load(emitter *e, const weiri_action *a) {
    em_line(e, "W_AT(%d);", a->id);
    for (int i = 0; i < a->op->nret; i++) {
        const weiri_value *v = weiri_val(e->k, a->op->ret[i]);
        if (v->kind == WEIR_VALUE_TILE) continue;
        em_line(e, "const %s v%u = %s;", em_type(v), a->op->ret[i], em_view_element(e, v->arg[0], "0", "0", true));
    }
}

static void emit_work(emitter *e, const weiri_action *a) {
    switch (a->op->atom) {
    case ATOM_STORE: em_store(e, a); return;
    case ATOM_NONE: /* a commit without tensor memory: the sums go to the stage */
        em_read(e, a);
        em_store_frag_smem(e, a, 0, e->k->res.v[a->reg]);
        return;
    case ATOM_SET: em_set(e, a); return;
    case ATOM_READ: em_read(e, a); return;
    case ATOM_CUSTOM: em_call(e, a); return;
    case ATOM_QUEUE_ADVANCE:
        em_act(e, a, "%s_next = *(const i32 *)w_ptr(%s);", em_queue(e, a->op->res),
               em_region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back));
        return;
    case ATOM_LOAD: emit_load(e, a); return;
    default: return;
    }
}

void em_action(emitter *e, const weiri_action *a) {
    e->act = a;
    switch (a->kind) {
    case ACT_WAIT: emit_wait(e, a); return;
    case ACT_ARRIVE: emit_arrive(e, a); return;
    case ACT_EXPECT: emit_expect(e, a); return;
    case ACT_CP_ARRIVE: em_act(e, a, "w_mbar_cp_async_arrive(%s);", em_bar_addr(e, a)); return;
    case ACT_UMMA_COMMIT: em_tc_commit(e, a); return;
    case ACT_ADVANCE: emit_advance(e, a); return;
    case ACT_LOAD_BULK:
        if (a->op->atom == ATOM_QUEUE_FETCH) em_fetch(e, a);
        else em_bulk(e, a);
        return;
    case ACT_STORE_BULK: em_bulk(e, a); return;
    case ACT_PUSH_BULK: em_push(e, a); return;
    case ACT_BULK_COMMIT: em_act(e, a, "%sw_bulk_commit();", em_guard_of(e, a->who)); return;
    case ACT_BULK_WAIT: em_act(e, a, "%sw_bulk_wait%s<%d>();", em_guard_of(e, a->who), a->read ? "_read" : "", a->n); return;
    case ACT_CP_ASYNC: em_cp_async(e, a); return;
    case ACT_CP_WAIT: em_act(e, a, "w_cp_commit(); w_cp_wait<%d>();", a->n); return;
    case ACT_MMA_FENCE: em_act(e, a, "w_wgmma_fence();"); return;
    case ACT_MMA:
        if (a->op->res->kind == WEIR_RES_TMEM && e->k->arch >= WEIR_ARCH_SM_100A) em_tc_mma(e, a);
        else em_mma(e, a);
        return;
    case ACT_MMA_COMMIT: em_act(e, a, "w_wgmma_commit();"); return;
    case ACT_MMA_WAIT: em_act(e, a, "w_wgmma_wait<%d>();", a->n); return;
    case ACT_FENCE_ASYNC: em_act(e, a, "%sw_fence_async();", everybody(e, a)); return;
    case ACT_WARP_SYNC: em_act(e, a, "w_sync_warp();"); return;
    case ACT_NAMED_SYNC:
        em_act(e, a, "w_bar_sync(%d%s, %d);", a->named, e->pt->warpgroups > 1 && a->named == e->pt->named_wg ? " + wg" : "",
               a->threads);
        return;
    case ACT_CTA_SYNC: em_act(e, a, "w_sync_cta();"); return;
    case ACT_CLUSTER_ARRIVE: em_act(e, a, "w_cluster_arrive%s();", a->n ? "_relaxed" : ""); return;
    case ACT_CLUSTER_WAIT: em_act(e, a, "w_cluster_wait();"); return;
    case ACT_GRID_WAIT: em_act(e, a, "w_grid_wait();"); return;
    case ACT_GRID_LAUNCH: em_act(e, a, "w_grid_launch();"); return;
    case ACT_REGS: return; /* emit.c: before the roles of a warpgroup part */
    case ACT_TMEM_ALLOC:
    case ACT_TMEM_FREE: em_tc_frame(e, a); return;
    case ACT_TC_BEFORE: em_act(e, a, "%sw_tcgen05_before();", everybody(e, a)); return;
    case ACT_TC_AFTER: em_act(e, a, "%sw_tcgen05_after();", everybody(e, a)); return;
    case ACT_BODY: emit_work(e, a); return;
    case ACT_ZERO: emit_zero(e, a); return;
    default: em_line(e, "W_AT(%d);", a->id); return;
    }
}
