/* CUDA source from the plan: one statement per action, in the author's names. Every address, count and byte number is read
 * from the plan; this file only knows how things are spelled. */
#include "emit.h"
#include "plan_tc.h"

#include <inttypes.h>
#include <string.h>

/* ---- one action --------------------------------------------------------------------------------------------------------------- */

/* All threads, of the leader alone where the action is its. */
static const char *everybody(emitter *e, const weiri_action *a) {
    return a->leader && !(e->pt && e->pt->leader) ? "if (leader) " : "";
}

static void emit_action(emitter *e, const weiri_action *a) {
    e->act = a;
    switch (a->kind) {
    case ACT_WAIT: {
        const char *phase = e->p->cursors.v[a->cur].res ? em_fmt(e, "%s_phase", em_cursor_name(e, a->cur)) : "0"; /* a task's end */
        const weir_place *at = em_place_of(a);
        em_line(e, "W_AT(%d); %sw_mbar_wait(%s, %s);%s", a->id, a->cta0 ? "if (rank == 0) " : em_guard(e, a),
                em_bar_addr(e, a), phase, at ? em_fmt(e, "  // %s:%d", em_base_name(e, at->file), at->line) : "");
        return;
    }
    case ACT_ARRIVE:
        if (a->targets || a->reach) {
            em_remote_arrive(e, a, em_bar_addr(e, a));
            return;
        }
        if (a->at0 || a->at_leader)
            em_line(e, "W_AT(%d); %sw_mbar_arrive_remote(%s, %s);", a->id, em_guard(e, a), em_bar_addr(e, a),
                    a->at0 ? "0" : em_leader_rank(e));
        else em_line(e, "W_AT(%d); %sw_mbar_arrive(%s);", a->id, em_guard(e, a), em_bar_addr(e, a));
        return;
    case ACT_PUSH_BULK: em_push(e, a); return;
    case ACT_EXPECT:
        if (a->reach) { /* the CTA that is pushed to */
            em_line(e, "W_AT(%d); %sw_mbar_expect_remote(%s, %s, %" PRId64 ");", a->id, em_guard_of(e, a->who), em_bar_addr(e, a),
                    em_dest(e, a), a->bytes);
            return;
        }
        if (a->targets) { /* CTA 0 arms every CTA's */
            const char *first = e->pt->solo ? "if (rank == 0) " : "if (rank == 0 && ttid == 0) ";
            em_line(e, "W_AT(%d); %sfor (u32 q = 0; q < %d; q++) w_mbar_expect_remote(%s, q, %" PRId64 ");", a->id, first,
                    e->p->cluster, em_bar_addr(e, a), a->bytes);
            return;
        }
        em_line(e, "W_AT(%d); %sw_mbar_expect(%s, %" PRId64 ");", a->id, em_guard(e, a), em_bar_addr(e, a), a->bytes);
        return;
    case ACT_UMMA_COMMIT: em_tc_commit(e, a); return;
    case ACT_TMEM_ALLOC:
    case ACT_TMEM_FREE: em_tc_frame(e, a); return;
    case ACT_TC_BEFORE: em_line(e, "W_AT(%d); %sw_tcgen05_before();", a->id, everybody(e, a)); return;
    case ACT_TC_AFTER: em_line(e, "W_AT(%d); %sw_tcgen05_after();", a->id, everybody(e, a)); return;
    case ACT_CP_ARRIVE: em_line(e, "W_AT(%d); w_mbar_cp_async_arrive(%s);", a->id, em_bar_addr(e, a)); return;
    case ACT_ADVANCE: em_advance(e, a); return;
    case ACT_REGS: return; /* emit_regs: before the roles of a warpgroup part */
    case ACT_LOAD_BULK:
        if (a->op->atom == ATOM_QUEUE_FETCH) {
            em_fetch(e, a);
            return;
        }
        /* fall through */
    case ACT_STORE_BULK: em_bulk(e, a); return;
    case ACT_CP_ASYNC: em_cp_async(e, a); return;
    case ACT_CP_WAIT: em_line(e, "W_AT(%d); w_cp_commit(); w_cp_wait<%d>();", a->id, a->n); return;
    case ACT_BULK_COMMIT: em_line(e, "W_AT(%d); %sw_bulk_commit();", a->id, em_guard_of(e, a->who)); return;
    case ACT_BULK_WAIT:
        em_line(e, "W_AT(%d); %sw_bulk_wait%s<%d>();", a->id, em_guard_of(e, a->who), a->read ? "_read" : "", a->n);
        return;
    case ACT_MMA_FENCE: em_line(e, "W_AT(%d); w_wgmma_fence();", a->id); return;
    case ACT_MMA:
        if (a->op->res->kind == WEIR_RES_TMEM && e->k->arch >= WEIR_ARCH_SM_100A) em_tc_mma(e, a);
        else em_mma(e, a);
        return;
    case ACT_MMA_COMMIT: em_line(e, "W_AT(%d); w_wgmma_commit();", a->id); return;
    case ACT_MMA_WAIT: em_line(e, "W_AT(%d); w_wgmma_wait<%d>();", a->id, a->n); return;
    case ACT_FENCE_ASYNC: em_line(e, "W_AT(%d); %sw_fence_async();", a->id, everybody(e, a)); return;
    case ACT_WARP_SYNC: em_line(e, "W_AT(%d); w_sync_warp();", a->id); return;
    case ACT_NAMED_SYNC:
        em_line(e, "W_AT(%d); w_bar_sync(%s, %d);", a->id,
                e->pt->warpgroups > 1 && a->named == e->pt->named_wg ? em_fmt(e, "%d + wg", a->named)
                                                                     : em_fmt(e, "%d", a->named),
                a->threads);
        return;
    case ACT_CTA_SYNC: em_line(e, "W_AT(%d); w_sync_cta();", a->id); return;
    case ACT_CLUSTER_ARRIVE:
        em_line(e, "W_AT(%d); %s", a->id, a->n ? "w_cluster_arrive_relaxed();" : "w_cluster_arrive();");
        return;
    case ACT_CLUSTER_WAIT: em_line(e, "W_AT(%d); w_cluster_wait();", a->id); return;
    case ACT_GRID_WAIT: em_line(e, "W_AT(%d); w_grid_wait();", a->id); return;
    case ACT_GRID_LAUNCH: em_line(e, "W_AT(%d); w_grid_launch();", a->id); return;
    case ACT_ZERO:
        em_line(e, "W_AT(%d);", a->id);
        if (a->op->res->kind == WEIR_RES_REG) {
            const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, a->op->res)];
            em_line(e, "#pragma unroll");
            em_line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", pr->per_thread, em_reg(e, a->op->res));
        } else if (em_has_live_flag(e, a->op->res)) {
            em_line(e, "%s_live = 0;", em_reg(e, a->op->res));
        }
        return;
    case ACT_BODY:
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
            em_line(e, "W_AT(%d); %s_next = *(const i32 *)w_ptr(%s);", a->id, em_queue(e, a->op->res),
                    em_region_addr(e, a->eff[0].region, a->eff[0].cur, a->eff[0].stage, a->eff[0].back));
            return;
        case ATOM_LOAD:
            em_line(e, "W_AT(%d);", a->id);
            for (int i = 0; i < a->op->nret; i++) {
                const weiri_value *v = weiri_val(e->k, a->op->ret[i]);
                if (v->kind == WEIR_VALUE_TILE) continue; /* loaded where its elements are used */
                em_line(e, "const %s v%u = %s;", em_type(v), a->op->ret[i],
                        em_view_element(e, v->arg[0], "0", "0", true));
            }
            return;
        default: return;
        }
    default: em_line(e, "W_AT(%d);", a->id); return;
    }
}

/* ---- the tree ------------------------------------------------------------------------------------------------------------------ */

static void emit_nodes(emitter *e, const weiri_pnode *n);

/* ---- scalars that several places take ----
 * Values are a graph, text is a tree: an expression whose parts are shared would grow without bound. A block names, at its head, what
 * several places in it take. What only the body of a guard takes is named there; what only a loop takes, before the loop. */

enum { WORTH = 4 }; /* cost of a value that is worth a name: a division by what the launch says has it alone */

typedef struct shared_use {
    const weiri_pnode *in;    /* the block's child in which it is taken; SEVERAL: more than one, or the block itself */
    uint16_t refs;            /* places that take it */
    uint8_t pure;             /* whether it is made of sizes, coordinates and loop indices alone, when that is known */
    uint32_t seen;            /* the walk that has been here */
} shared_use;

enum { PURE_UNKNOWN, PURE, IMPURE };
static const weiri_pnode several;

static bool within(const weiri_pnode *block, weiri_pnode_kind kind, const weiri_node *loop, const weir_res *queue) {
    for (; block; block = block->parent)
        if (block->kind == kind && block->src && (loop ? block->src == loop : block->src->queue == queue)) return true;
    return false;
}

static bool is_pure(emitter *e, uint32_t id) {
    shared_use *u = &e->shared[id];
    if (u->pure != PURE_UNKNOWN) return u->pure == PURE;
    const weiri_value *v = weiri_val(e->k, id);
    bool pure = v->kind == WEIR_VALUE_SCALAR || (v->kind == WEIR_VALUE_COND && v->rows * v->cols <= 1);
    switch (v->op) {
    case WEIR_OP_INT:
    case WEIR_OP_FLOAT:
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR:
    case WEIR_OP_CTA:
    case WEIR_OP_INDEX:
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE:
    case WEIR_OP_QUEUE_INDEX: break;
    default: pure = pure && v->nargs > 0 && v->op != WEIR_OP_LOAD && v->op != WEIR_OP_RETURN && v->op != WEIR_OP_READ_REG;
    }
    for (int i = 0; i < v->nargs && pure; i++) pure = is_pure(e, v->arg[i]);
    u->pure = pure ? PURE : IMPURE;
    return pure;
}

/* What it costs, written out with the names there are; no more than WORTH is told apart. */
static int cost(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (!v->nargs || e->made[id]) return 0;
    int sum = 1;
    if (v->op == WEIR_OP_IDIV || v->op == WEIR_OP_MOD || v->op == WEIR_OP_CEIL_DIV)
        sum = weiri_val(e->k, v->arg[1])->op == WEIR_OP_INT ? WORTH / 2 : WORTH;
    for (int i = 0; i < v->nargs && sum < WORTH; i++) sum += cost(e, v->arg[i]);
    return sum;
}

static bool is_there(emitter *e, const weiri_pnode *block, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (e->made[id]) return true;
    if (v->op == WEIR_OP_INDEX) return within(block, PN_LOOP, v->loop, NULL);
    if (v->op == WEIR_OP_COORD || v->op == WEIR_OP_QUEUE_INDEX) return within(block, PN_TILES, NULL, v->res);
    if (v->op == WEIR_OP_BEFORE) return within(block, PN_GUARD, NULL, v->res);
    for (int i = 0; i < v->nargs; i++)
        if (!is_there(e, block, v->arg[i])) return false;
    return true;
}

static void take(emitter *e, uint32_t id, const weiri_pnode *in) {
    if (!id) return;
    shared_use *u = &e->shared[id];
    const weiri_value *v = weiri_val(e->k, id);
    if (!v->nargs || e->made[id]) return;
    bool again = u->seen == e->walk;
    if (!again) u->refs = 0, u->in = in, u->seen = e->walk;
    if (u->refs < UINT16_MAX) u->refs++;
    if (u->in != in) u->in = &several;
    if (again) return; /* once written out, its parts are not taken again */
    for (int i = 0; i < v->nargs; i++) take(e, v->arg[i], in);
}

static void take_block(emitter *e, const weiri_pnode *n, const weiri_pnode *in);

/* What a node itself takes, in its block; then its body. */
static void take_node(emitter *e, const weiri_pnode *n, const weiri_pnode *in) {
    const weiri_pnode *here = in ? in : &several;
    const weiri_node *s = n->src;
    switch (n->kind) {
    case PN_ACTION:
        for (int i = 0; n->act->op && i < n->act->op->nargs; i++) take(e, n->act->op->arg[i], here);
        return;
    case PN_LOOP:
        take(e, s->start, here);
        take(e, s->stop, here);
        take(e, s->step, here);
        break;
    case PN_GUARD: take(e, s->of, here); break;
    case PN_TILES:
        for (int i = 0; i < s->queue->qrank; i++) take(e, s->queue->extent[i].id, here);
        take_block(e, n->skip, in ? in : n);
        break;
    default: break;
    }
    take_block(e, n->first, in ? in : n);
}

static void take_block(emitter *e, const weiri_pnode *n, const weiri_pnode *in) {
    for (; n; n = n->next) take_node(e, n, in);
}

/* Names what this walk has seen taken more than once and can be had at the head of `block`; `needed`: whatever it costs, for the block
 * takes it in any case. */
static void name_taken(emitter *e, const weiri_pnode *block, bool needed) {
    for (uint32_t id = 1; id < (uint32_t)e->k->values.n; id++) { /* parts come before what they are parts of */
        shared_use *u = &e->shared[id];
        if (u->seen != e->walk || u->refs < 2 || e->made[id] || !is_pure(e, id) || cost(e, id) < (needed ? 1 : WORTH)) continue;
        if (u->in != &several && u->in->kind != PN_LOOP && u->in->kind != PN_TILES) continue;
        if (!is_there(e, block, id)) continue;
        const weiri_value *v = weiri_val(e->k, id);
        const char *type = em_type(v);
        e->ahead = !needed;
        const char *text = em_expr(e, id);
        e->ahead = false;
        em_line(e, "const %s v%u = %s;", type, id, text);
        em_make(e, id, MADE);
    }
}

static void name_shared(emitter *e, const weiri_pnode *first) {
    e->walk++;
    take_block(e, first, NULL);
    name_taken(e, first->parent, false);
}

/* What a block computed is gone at its end. */
static void forget(emitter *e, int mark) {
    while (e->made_list.n > mark) e->made[e->made_list.v[--e->made_list.n]] = 0;
}

static void open_brace(emitter *e, const char *head) {
    em_line(e, "%s {", head);
    e->depth++;
}

static void close_brace(emitter *e) {
    e->depth--;
    em_line(e, "}");
}

static const char *loop_cond(emitter *e, const weiri_node *l, const char *var, const char *stop) {
    int64_t s;
    if (weiri_value_const(e->k, l->step, &s)) return em_fmt(e, "%s %s %s", var, s > 0 ? "<" : ">", stop);
    return em_fmt(e, "(%s > 0 ? %s < %s : %s > %s)", em_expr(e, l->step), var, stop, var, stop);
}

/* How often the loop runs, where that is one expression and its body moves cursors alone; else NULL. */
static const char *skipped_trips(emitter *e, const weiri_pnode *n) {
    int64_t step;
    for (const weiri_pnode *x = n->first; x; x = x->next)
        if (x->kind != PN_ACTION || x->act->kind != ACT_ADVANCE) return NULL;
    if (!n->first || (n->deal && n->lane < 0)) return NULL;
    if (!weiri_value_const(e->k, n->src->step, &step) || step < 1) return NULL;
    const char *way = em_fmt(e, "%s - %s", em_expr(e, n->src->stop), em_expr(e, n->src->start));
    return em_fmt(e, "(u32)w_max(0, %s)", step > 1 ? em_fmt(e, "w_ceil_div(%s, %d)", way, (int)step) : way);
}

/* Moves cursors past the stages that a loop of another lane's tile takes, in one step each. */
static void emit_skip(emitter *e, const weiri_pnode *loop, const char *trips) {
    open_brace(e, "");
    em_line(e, "const u32 w_n = %s;", trips);
    for (const weiri_pnode *x = loop->first; x; x = x->next) {
        const weiri_action *a = x->act;
        const weiri_cursor *c = &e->p->cursors.v[a->cur];
        const char *name = em_cursor_name(e, a->cur);
        bool phased = e->p->pipes.v[c->pipe].full >= 0, seen = false;
        int per = 0;
        for (const weiri_pnode *y = loop->first; y; y = y->next) {
            bool same = y->act->cur == a->cur && y->act->stage == a->stage;
            if (same && !per && y != x) seen = true; /* done with the first of them */
            per += same ? c->stride : 0;
        }
        if (seen) continue;
        const char *by = per > 1 ? em_fmt(e, "%d * w_n", per) : "w_n";
        if (a->stage == STAGE_NEXT) {
            if (c->stages > 1 && phased) em_line(e, "%s_phase ^= (%s_stage + %s) / %d & 1;", name, name, by, c->stages);
            else if (phased) em_line(e, "%s_phase ^= %s & 1;", name, by);
            if (c->stages > 1) em_line(e, "%s_stage = (%s_stage + %s) %% %d;", name, name, by, c->stages);
        } else {
            if (c->split_close && c->stages > 1) em_line(e, "%s_close = (%s_close + %s) %% %d;", name, name, by, c->stages);
        }
    }
    close_brace(e);
}

/* A coordinate of this CTA's tile, from that of its cluster's. */
static void emit_coord(emitter *e, const weir_res *q, int axis, const char *at) {
    weir_cluster c = e->k->cluster;
    int per = axis == q->axis_m ? c.m * c.v : axis == q->axis_n ? c.n : 1;
    const char *off = "";
    if (per > 1 && axis == q->axis_m)
        off = c.v > 1 ? em_fmt(e, " + (i32)(rank %% %d)", c.m * c.v) : em_fmt(e, " + %s", em_cta_expr(e, 'm'));
    else if (per > 1) off = em_fmt(e, " + %s", em_cta_expr(e, 'n'));
    em_line(e, "const i32 %s = %s%s%s;", em_coord_name(e, q, axis, false), at, per > 1 ? em_fmt(e, " * %d", per) : "", off);
}

/* The variable that holds the extent of an axis, in tiles. */
static const char *extent_name(emitter *e, const weir_res *q, int axis) {
    return weiri_name(e->p, NAME_EXTENT, q->index, em_fmt(e, "%s_tiles_%s", q->name, q->axis[axis]));
}

static const char *divisor(emitter *e, const weir_res *q, int i) { return em_fmt(e, "%s_by%d", em_queue(e, q), i); }

/* Divisions by extents, in every tile: by a reciprocal made once. A grid's CTA has one tile. */
static void emit_divisor(emitter *e, const weir_res *q, int i, const char *by) {
    const char *Q = em_queue(e, q);
    em_line(e, "const i32 %s_by%d = %s;", Q, i, by);
    if (q->qkind != WEIR_QUEUE_GRID) em_line(e, "const u32 %s_per%d = w_reciprocal(%s_by%d);", Q, i, Q, i);
}

static const char *quotient(emitter *e, const weir_res *q, const char *x, int i) {
    const char *Q = em_queue(e, q);
    if (q->qkind == WEIR_QUEUE_GRID) return em_fmt(e, "%s / %s_by%d", x, Q, i);
    return em_fmt(e, "w_quotient(%s, %s_by%d, %s_per%d)", x, Q, i, Q, i);
}

/* Rows of tiles side by side in a band, of the CTAs of a cluster one. */
static int band_rows(const weir_res *q, weir_cluster c) {
    int ctas = q->axis_m == q->qrank - 2 ? c.m * c.v : 1, g = q->group_rows / ctas;
    return g < 1 ? 1 : g;
}

/* What coordinates are found by dividing by: for each outer axis the tiles within one step of it, for the inner two what the raster
 * walks first. */
static void emit_divisors(emitter *e, const weir_res *q) {
    if (q->raster == WEIR_RASTER_CUSTOM) return;
    int inner = q->qrank >= 2 ? 2 : 1;
    for (int i = 0; i + inner < q->qrank; i++) {
        weiri_buf d;
        weiri_buf_init(&d, e->k->ctx);
        for (int j = i + 1; j < q->qrank; j++) weiri_put(&d, "%s%s", j > i + 1 ? " * " : "", extent_name(e, q, j));
        emit_divisor(e, q, i, d.s);
        weiri_buf_free(&d);
    }
    if (inner == 1) return;
    const char *rows = extent_name(e, q, q->qrank - 2), *columns = extent_name(e, q, q->qrank - 1);
    emit_divisor(e, q, q->qrank - inner,
                 q->raster == WEIR_RASTER_ROW      ? columns
                 : q->raster == WEIR_RASTER_COLUMN ? rows
                                                   : em_fmt(e, "%d * %s", band_rows(q, e->k->cluster), columns));
}

/* The tile's coordinates from its number, at the head of the loop over tiles: the two innermost axes by the raster, outer ones slowest. */
static void emit_raster(emitter *e, const weiri_pnode *n, const weir_res *q) {
    const char *Q = em_queue(e, q), *rest = em_fmt(e, "%s_index", Q);
    int inner = q->qrank >= 2 ? 2 : 1, last = q->qrank - inner;
    if (q->raster == WEIR_RASTER_CUSTOM) {
        e->walk++;
        for (int i = 0; i < q->qrank; i++) take(e, q->raster_coord[i].id, &several);
        name_taken(e, n, true);
        for (int i = 0; i < q->qrank; i++) emit_coord(e, q, i, em_expr(e, q->raster_coord[i].id));
        return;
    }
    for (int i = 0; i < last; i++) {
        em_line(e, "const i32 %s_q%d = %s, %s_r%d = %s - %s_q%d * %s;", Q, i, quotient(e, q, rest, i), Q, i, rest, Q, i,
                divisor(e, q, i));
        emit_coord(e, q, i, em_fmt(e, "%s_q%d", Q, i));
        rest = em_fmt(e, "%s_r%d", Q, i);
    }
    if (inner == 1) {
        em_line(e, "const i32 %s_c0 = %s;", Q, rest);
        emit_coord(e, q, 0, em_fmt(e, "%s_c0", Q));
        return;
    }
    const char *whole = quotient(e, q, rest, last), *by = divisor(e, q, last);
    if (q->raster == WEIR_RASTER_ROW) em_line(e, "const i32 %s_c0 = %s, %s_c1 = %s - %s_c0 * %s;", Q, whole, Q, rest, Q, by);
    else if (q->raster == WEIR_RASTER_COLUMN)
        em_line(e, "const i32 %s_c1 = %s, %s_c0 = %s - %s_c1 * %s;", Q, whole, Q, rest, Q, by);
    else {
        int g = band_rows(q, e->k->cluster);
        em_line(e, "// %d rows of tiles side by side; the last band may have fewer", q->group_rows);
        em_line(e, "const i32 %s_band = %s, %s_in = %s - %s_band * %s, %s_high = w_min(%s - %s_band * %d, %d);", Q, whole, Q,
                rest, Q, by, Q, extent_name(e, q, q->qrank - 2), Q, g, g);
        em_line(e, "i32 %s_row, %s_c1;", Q, Q);
        em_line(e, "if (%s_high == %d) { %s_c1 = (i32)((u32)%s_in / %d); %s_row = (i32)((u32)%s_in %% %d); }", Q, g, Q, Q, g, Q,
                Q, g);
        em_line(e, "else { %s_c1 = %s_in / %s_high; %s_row = %s_in %% %s_high; }", Q, Q, Q, Q, Q, Q);
        em_line(e, "const i32 %s_c0 = %s_band * %d + %s_row;", Q, Q, g, Q);
    }
    for (int i = last; i < q->qrank; i++) emit_coord(e, q, i, em_fmt(e, "%s_c%d", Q, i - last));
}

/* The tile loop: linear index, then the raster. */
static void emit_tiles(emitter *e, const weiri_pnode *n) {
    const weir_res *q = n->src->queue;
    weir_cluster c = e->k->cluster;
    int cl = e->p->cluster;
    const char *Q = em_queue(e, q);
    const char *first = cl > 1 ? em_fmt(e, "(i32)(w_block() / %d)", cl) : "(i32)w_block()";
    const char *step = cl > 1 ? em_fmt(e, "(i32)(w_blocks() / %d)", cl) : "(i32)w_blocks()";
    for (int i = 0; i < q->qrank; i++) {
        int per = i == q->axis_m ? c.m * c.v : i == q->axis_n ? c.n : 1;
        const char *x = em_expr(e, q->extent[i].id);
        em_line(e, "const i32 %s = %s;", extent_name(e, q, i), per > 1 ? em_fmt(e, "w_ceil_div(%s, %d)", x, per) : x);
    }
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    for (int i = 0; i < q->qrank; i++) weiri_put(&b, "%s%s", i ? " * " : "", extent_name(e, q, i));
    em_line(e, "const i32 %s_tiles = %s;", Q, b.s ? b.s : "1");
    weiri_buf_free(&b);
    emit_divisors(e, q);
    int lanes = n->src->lanes;
    if (lanes > 1) em_line(e, "u32 %s_turn = 0;", Q);
    const bool back = weiri_looks_back(e->pt->task);
    if (back) em_line(e, "u32 %s_before = 0;  // is there a tile before?", Q);
    for (int i = 0; i < q->qrank && back; i++)
        em_line(e, "i32 %s = 0; (void)%s;", em_coord_name(e, q, i, true), em_coord_name(e, q, i, true));
    if (q->qkind == WEIR_QUEUE_GRID) {
        em_line(e, "const i32 %s_index = %s;", Q, first);
        open_brace(e, em_fmt(e, "if (%s_index < %s_tiles)", Q, Q));
    } else if (weiri_dynamic(q)) {
        em_line(e, "i32 %s_next = 0;", Q);
        open_brace(e, em_fmt(e, "for (i32 %s_index = %s; %s_index < %s_tiles; %s_index = %s_next)", Q, first, Q, Q, Q, Q));
    } else {
        open_brace(e, em_fmt(e, "for (i32 %s_index = %s; %s_index < %s_tiles; %s_index += %s)", Q, first, Q, Q, Q, step));
    }
    const int mark = e->made_list.n;
    emit_raster(e, n, q);
    const weiri_node *before = e->tiles;
    e->tiles = n->src;
    if (lanes > 1) open_brace(e, em_fmt(e, "if (%s_turn == %d)", Q, n->src->lane));
    emit_nodes(e, n->first);
    if (back) em_line(e, "%s_before = 1;", Q);
    for (int i = 0; i < q->qrank && back; i++)
        em_line(e, "%s = %s;", em_coord_name(e, q, i, true), em_coord_name(e, q, i, false));
    if (lanes > 1) close_brace(e);
    if (n->skip) {
        open_brace(e, "else");
        em_line(e, "// another lane's tile: past its stages");
        e->skipping = true;
        emit_nodes(e, n->skip);
        e->skipping = false;
        close_brace(e);
    }
    e->tiles = before;
    if (lanes > 1) em_line(e, "if (++%s_turn == %d) %s_turn = 0;", Q, lanes, Q);
    forget(e, mark);
    close_brace(e);
}

enum { PEEL_MOST = 16 }; /* steps of a loop that may stand for themselves */

/* The number that the guard compares the index of loop `l` with; -1: it asks for something else. */
static int64_t guarded_step(const weir_kernel *k, const weiri_pnode *n, const weiri_node *l) {
    if (n->kind != PN_GUARD || n->src->guard != WEIR_GUARD_TRUE || weiri_of_before(n->src)) return -1;
    const weiri_value *v = weiri_val(k, n->src->of), *x = v->op == WEIR_OP_EQ ? weiri_val(k, v->arg[0]) : NULL;
    int64_t at;
    if (!x || x->op != WEIR_OP_INDEX || x->loop != l || !weiri_value_const(k, v->arg[1], &at)) return -1;
    return at >= 0 && at < PEEL_MOST ? at : -1;
}

/* Steps of a loop over products that stand for themselves: those that a guard in it names by number. The others are then as if the guard
 * were not there (2 % of a GEMM of 16 k-steps that stores in four of them, measured). 0: none. */
static int peeled_steps(const emitter *e, const weiri_pnode *n) {
    int64_t start, step, steps = 0;
    bool multiplies = false;
    if (n->deal || e->skipping || e->peeled) return 0;
    if (!weiri_value_const(e->k, n->src->start, &start) || !weiri_value_const(e->k, n->src->step, &step) || start || step != 1) return 0;
    for (const weiri_pnode *x = n->first; x; x = x->next) {
        int64_t at = guarded_step(e->k, x, n->src);
        if (at >= steps) steps = at + 1;
        multiplies = multiplies || (x->kind == PN_ACTION && x->act->kind == ACT_MMA);
    }
    return multiplies ? (int)steps : 0;
}

static void emit_loop(emitter *e, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    const char *skipped = e->skipping ? skipped_trips(e, n) : NULL;
    if (skipped) {
        emit_skip(e, n, skipped);
        return;
    }
    const char *var = em_loop(e, s);
    const char *stop = em_expr(e, s->stop);
    int64_t c;
    if (!weiri_value_const(e->k, s->stop, &c)) {
        em_line(e, "const i32 %s_end = %s;", var, stop);
        stop = em_fmt(e, "%s_end", var);
    }
    const int peel = peeled_steps(e, n);
    const weiri_pnode *before = e->loop;
    e->loop = n;
    if (peel) e->peeled = s, e->peeled_steps = peel;
    for (int i = 0; i < peel; i++) {
        open_brace(e, em_fmt(e, "if (%d < %s)", i, stop));
        em_line(e, "const i32 %s = %d; (void)%s;", var, i, var);
        e->peeled_at = i;
        emit_nodes(e, n->first);
        close_brace(e);
    }
    if (peel) e->peeled_at = -1;
    if (s->unroll > 0) em_line(e, "#pragma unroll %d", s->unroll);
    bool known = weiri_value_const(e->k, s->step, &c), one = known && c == 1;
    const char *start = peel ? em_fmt(e, "%d", peel) : em_expr(e, s->start), *by = em_expr(e, s->step);
    if (n->deal && n->lane < 0) { /* to the task's warps in turn */
        const char *turn = em_fmt(e, "(i32)(warp - %d)", e->pt->task->first_warp);
        start = em_fmt(e, "%s + %s%s", start, turn, one ? "" : em_fmt(e, " * %s", by));
        by = known ? em_fmt(e, "%d", (int)c * n->deal) : em_fmt(e, "%s * %d", by, n->deal);
        one = false;
    }
    open_brace(e, em_fmt(e, "for (i32 %s = %s; %s; %s)", var, start, loop_cond(e, s, var, stop),
                         one ? em_fmt(e, "%s++", var) : em_fmt(e, "%s += %s", var, by)));
    emit_nodes(e, n->first);
    close_brace(e);
    e->loop = before;
    if (peel) e->peeled = NULL;
}

static void emit_guard(emitter *e, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    const char *cond = "true";
    const int64_t step = e->peeled ? guarded_step(e->k, n, e->peeled) : -1;
    if (step >= 0 && (e->peeled_at >= 0 ? step != e->peeled_at : step < e->peeled_steps)) return;
    if (step >= 0 && e->peeled_at >= 0) {
        open_brace(e, "");
        emit_nodes(e, n->first);
        close_brace(e);
        return;
    }
    if (weiri_of_before(s)) cond = em_fmt(e, "%s_before", em_queue(e, s->queue));
    else if (s->guard == WEIR_GUARD_TRUE) cond = em_expr(e, s->of);
    else if (s->guard == WEIR_GUARD_FALSE) cond = em_fmt(e, "!%s", em_expr(e, s->of));
    else {
        const weiri_node *l = s->loop;
        const char *var = em_loop(e, l);
        if (s->guard == WEIR_GUARD_FIRST) cond = em_fmt(e, "%s == %s", var, em_expr(e, l->start));
        else if (s->guard == WEIR_GUARD_LAST)
            cond = em_fmt(e, "!(%s)", loop_cond(e, l, em_fmt(e, "%s + %s", var, em_expr(e, l->step)), em_expr(e, l->stop)));
        else {
            const char *count = em_fmt(e, "(%s - %s) / %s", var, em_expr(e, l->start), em_expr(e, l->step));
            cond = s->phase ? em_fmt(e, "%s >= %d && (%s - %d) %% %d == 0", count, s->phase, count, s->phase, s->period)
                            : em_fmt(e, "%s %% %d == 0", count, s->period);
        }
    }
    open_brace(e, em_fmt(e, "if (%s)", cond));
    emit_nodes(e, n->first);
    close_brace(e);
}

static void emit_nodes(emitter *e, const weiri_pnode *n) {
    const int mark = e->made_list.n;
    if (n) name_shared(e, n);
    for (; n; n = n->next) {
        switch (n->kind) {
        case PN_ACTION: emit_action(e, n->act); break;
        case PN_LOOP: emit_loop(e, n); break;
        case PN_GUARD: emit_guard(e, n); break;
        case PN_TILES: emit_tiles(e, n); break;
        case PN_SKIPPABLE:
            open_brace(e, e->tiles && e->tiles->skip ? em_fmt(e, "if (!%s)", em_expr(e, e->tiles->skip)) : "");
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        case PN_HELD: {
            const char *c = em_cursor_name(e, n->cur);
            open_brace(e, em_fmt(e, "%s (%s_held > %d)", n->once ? "if" : "while", c, n->keep));
            emit_nodes(e, n->first);
            close_brace(e);
            break;
        }
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
    em_line(e, "// task %s: warps %d to %d, %s", task->name, task->first_warp, task->first_warp + task->num_warps - 1,
            t->solo       ? t->lanes ? "one thread of each" : "one thread"
            : t->wg_actor ? "by warpgroup"
                          : "by warp");
    const weiri_pnode *body = t->root;
    if (task->on_cta) {
        weiri_buf b;
        weiri_buf_init(&b, e->k->ctx);
        static const char axes[] = "vmnk";
        for (int i = 0; i < 4; i++)
            if (task->cta[i] >= 0) weiri_put(&b, "%s%s == %d", b.n ? " && " : "", em_cta_expr(e, axes[i]), task->cta[i]);
        if (b.n) open_brace(e, em_fmt(e, "if (%s)", b.s));
        else open_brace(e, "if (true)");
        weiri_buf_free(&b);
    }
    if (t->leader && !t->solo) open_brace(e, "if (leader)");
    const char *pair = t->leader ? "leader && " : "";
    if (t->solo)
        open_brace(e, task->num_warps > 1 && !t->lanes ? em_fmt(e, "if (%swarp == %d && lane == 0)", pair, task->first_warp)
                                                       : em_fmt(e, "if (%slane == 0)", pair));
    else {
        if (t->lanes) em_line(e, "const u32 ttid = lane; (void)ttid;  // each warp goes its own way");
        else em_line(e, "const u32 ttid = w_tid() - %d; (void)ttid;", 32 * task->first_warp);
        if (t->wg_actor) {
            em_line(e, "const u32 wtid = ttid %% 128; (void)wtid; W_MMA_TASK();");
            if (t->warpgroups > 1) em_line(e, "const u32 wg = warp / 4 - %d;", task->first_warp / 4);
        }
    }
    for (int i = 0; i < p->cursors.n; i++) {
        const weiri_cursor *c = &p->cursors.v[i];
        if (c->task != ti || !c->res) continue;
        const char *n = em_cursor_name(e, i);
        bool phased = p->pipes.v[c->pipe].full >= 0;
        int stage, phase; /* of the first use; where each warp has a lane of its own the stage is the lane */
        weiri_cursor_at(c->stages, c->stride, c->lane < 0 ? 0 : c->lane, c->producer, 0, &stage, &phase);
        const char *from = c->stride > 1 && c->lane < 0 ? em_fmt(e, "warp - %d", task->first_warp) : em_fmt(e, "%d", stage);
        if (c->stages > 1) em_line(e, "u32 %s_stage = %s, %s_at = 0; (void)%s_at; (void)%s_stage;", n, from, n, n, n);
        if (phased) em_line(e, "u32 %s_phase = %d; (void)%s_phase;", n, phase, n);
        if (c->split_close && c->stages > 1) em_line(e, "u32 %s_close = %s;", n, from);
        if (c->needs_held) em_line(e, "int %s_held = 0;", n);
    }
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *r = &p->regs.v[i];
        if (r->task != ti || !r->per_thread) continue;
        const char *n = em_reg(e, r->res);
        em_line(e, "%s %s[%d]%s;  // { %d, %d } of each warpgroup%s",
                weiri_packed(r->res) ? "u32" : weiri_ctype(r->res->dtype), n, r->per_thread, r->zeroed ? " = { 0 }" : "",
                r->rows, r->cols, r->zeroed ? "; stays 0 where the loop that adds to it does not run" : "");
        if (em_has_live_flag(e, r->res)) em_line(e, "u32 %s_live = 0;", n);
    }
    em_tc_flags(e);
    emit_nodes(e, body);
    if (t->solo) close_brace(e);
    if (t->leader && !t->solo) close_brace(e);
    if (task->on_cta) close_brace(e);
    e->pt = NULL;
}

/* Splits off the setmaxnreg that the whole warpgroup runs. */
static const weiri_action *regs_action(const weiri_plan *p, int wg) {
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        const weiri_pnode *r = p->tasks[i].root;
        bool in = t->first_warp < 4 * wg + 4 && t->first_warp + t->num_warps > 4 * wg;
        if (in && r && r->kind == PN_ACTION && r->act->kind == ACT_REGS) return r->act;
    }
    return NULL;
}

static bool whole(const weiri_task *t) { return t->first_warp % 4 == 0 && t->num_warps % 4 == 0; }

static void emit_regs(emitter *e, int wg) {
    int n = e->p->reg_split[wg];
    if (!n) return;
    const weiri_action *a = regs_action(e->p, wg);
    const char *at = a ? em_fmt(e, "W_AT(%d); ", a->id) : "";
    em_line(e, "%sw_reg_%s<%d>();", at, n > e->p->entry_registers ? "inc" : "dec", n);
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
            open_brace(e, em_fmt(e, "%sif (warp < %d)", first ? "" : "else ", t->first_warp + t->num_warps));
            emit_regs(e, w);
            emit_task(e, owner);
            close_brace(e);
            w = (t->first_warp + t->num_warps) / 4;
        } else {
            open_brace(e, em_fmt(e, "%sif (warp < %d)", first ? "" : "else ", 4 * w + 4));
            emit_regs(e, w);
            bool f = true;
            for (int i = 0; i < p->ntasks; i++) {
                const weiri_task *t = p->tasks[i].task;
                int lo = t->first_warp, hi = lo + t->num_warps;
                if (hi <= 4 * w || lo >= 4 * w + 4) continue;
                open_brace(e, t->num_warps == 1 ? em_fmt(e, "%sif (warp == %d)", f ? "" : "else ", lo)
                              : lo == 0         ? em_fmt(e, "%sif (warp < %d)", f ? "" : "else ", hi)
                                                : em_fmt(e, "%sif (warp >= %d && warp < %d)", f ? "" : "else ", lo, hi));
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

static int common(int x, int y) { return y ? common(y, x % y) : x; }

/* What a run of mbarriers is initialised with: a number, or a number for each CTA, all multiples of one. */
static const char *init_count(emitter *e, const weiri_bar *b) {
    if (!b->counts) return em_fmt(e, "%d", b->count);
    int unit = b->counts[0];
    for (int i = 1; i < e->p->cluster; i++) unit = common(unit, b->counts[i]);
    uint64_t table = 0;
    for (int i = 0; i < e->p->cluster && i < 8; i++) table |= (uint64_t)(b->counts[i] / unit & 0xff) << 8 * i;
    return em_fmt(e, "(u32)(0x%" PRIx64 "ull >> rank * 8 & 0xff)%s", table, unit > 1 ? em_fmt(e, " * %d", unit) : "");
}

static bool counts_alike(const weiri_plan *p, const weiri_bar *x, const weiri_bar *y) {
    for (int i = 0; i < p->cluster; i++)
        if (weiri_bar_count(x, i) != weiri_bar_count(y, i)) return false;
    return true;
}

static void emit_init(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    /* runs of equal counts, in array order */
    em_line(e, "if (warp == 0) {  // %d mbarriers", p->nbarriers);
    e->depth++;
    em_line(e, "W_AT(%d);", a->id);
    for (int at = 0; at < p->nbarriers;) {
        int end = at;
        const weiri_bar *first = NULL;
        bool grew = true;
        weiri_buf names;
        weiri_buf_init(&names, e->k->ctx);
        while (grew) {
            grew = false;
            for (int i = 0; i < p->bars.n; i++) {
                const weiri_bar *b = &p->bars.v[i];
                if (b->first == end && (!first || counts_alike(p, first, b))) {
                    if (!first) first = b;
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
        em_line(e, "// %s", names.s);
        const char *count = init_count(e, first);
        if (n == 1) em_line(e, "if (lane == 0) w_mbar_init(mbar + %d, %s);", 8 * at, count);
        else if (n <= 32) em_line(e, "if (lane < %d) w_mbar_init(mbar + %d + 8 * lane, %s);", n, 8 * at, count);
        else em_line(e, "for (u32 q = lane; q < %d; q += 32) w_mbar_init(mbar + %d + 8 * q, %s);", n, 8 * at, count);
        weiri_buf_free(&names);
        at = end;
    }
    em_line(e, "w_fence_mbar_init();");
    e->depth--;
    em_line(e, "}");
}

static void emit_frame(emitter *e, const weiri_pnode *n, bool exit) {
    if (n && exit) em_line(e, "w_sync_warp();");
    for (; n; n = n->next) {
        if (n->act->kind == ACT_INIT) emit_init(e, n->act);
        else {
            if (n->act->note) em_line(e, "// %s", n->act->note);
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
    e->shared = WEIRI_NEW_N(e->a, shared_use, k->values.n + 1);
    e->part = WEIRI_NEW_N(e->a, value_part, k->values.n + 1);
    e->sign = WEIRI_NEW_N(e->a, uint8_t, k->values.n + 1);
    e->range = WEIRI_NEW_N(e->a, value_range, k->values.n + 1);
    e->frag = WEIRI_NEW_N(e->a, const weiri_preg *, k->values.n + 1);
    e->frag_task = WEIRI_NEW_N(e->a, int, k->values.n + 1);
    uint8_t *seen = WEIRI_NEW_N(e->a, uint8_t, k->values.n + 1);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n))
            for (int i = 0; n->kind == NODE_OP && i < n->op->nargs; i++)
                if (n->op->arg[i]) em_count_uses(e, n->op->arg[i], seen);
    for (int i = 0; p->queue && p->queue->raster == WEIR_RASTER_CUSTOM && i < p->queue->qrank; i++)
        em_count_uses(e, p->queue->raster_coord[i].id, seen);
    weiri_put(out, "#line 1 \"%s.cu\"\n", k->name);
    e->counted = out->n; /* the line after #line is 1 */
    em_line(e, "// kernel %s: %d threads, %" PRId64 " bytes of shared memory%s", k->name, p->threads, p->smem_total,
            p->cluster > 1 ? em_fmt(e, ", cluster of %d", p->cluster) : "");
    if (p->tmem_columns)
        em_line(e, "// %d of %d columns of tensor memory; sm_100a: " WEIRI_UNCHECKED, p->tmem_columns, p->tmem_alloc);
    if (p->queue) {
        weiri_put(out, "struct %s_tile { i32 ", em_queue(e, p->queue));
        for (int i = 0; i < p->queue->qrank; i++) weiri_put(out, "%s%s", i ? ", " : "", p->queue->axis[i]);
        weiri_put(out, "; };\n");
    }
    for (int i = 0; i < k->res.n; i++)
        for (int w = 0; k->res.v[i]->kind == WEIR_RES_CUSTOM && w < k->res.v[i]->nwork; w++)
            em_body(e, k->res.v[i], &k->res.v[i]->work[w]);
    weiri_put(out, "\n");
    em_line(e, "extern \"C\" __global__ void __launch_bounds__(%d, %d) %s(", p->threads, k->ctas_per_sm,
            weiri_kernel_symbol(p));
    e->depth += 2;
    for (int i = 0; i < p->params.n; i++) {
        const weiri_kparam *q = &p->params.v[i];
        const char *comma = i + 1 < p->params.n ? "," : ") {";
        if (q->kind == KP_TMAP) em_line(e, "const __grid_constant__ w_tmap %s%s", q->name, comma);
        else em_line(e, "%s%s%s%s", q->type, q->type[strlen(q->type) - 1] == '*' ? "" : " ", q->name, comma);
    }
    if (!p->params.n) em_line(e, ") {");
    e->depth -= 1;
    em_line(e, "const u32 warp = w_warp(), lane = w_lane(), smem_base = w_smem_base(); (void)lane; (void)smem_base;");
    em_line(e, "W_ENTER();");
    if (p->cluster > 1) em_line(e, "const u32 rank = w_cluster_rank(); (void)rank;");
    if (weiri_tc_pair(k))
        em_line(e, "const bool leader = rank %% 2 == 0; (void)leader;  // of the pair of CTAs that share each mma");
    for (int i = 0; i < p->smem.n && !p->smem.v[i].tmem; i++) /* tensor memory comes last */
        em_line(e, "const u32 %s = smem_base + %" PRId64 ";  // %d x %" PRId64 " bytes",
                em_region(e, i), p->smem.v[i].offset, p->smem.v[i].stages, p->smem.v[i].stage_bytes);
    if (p->nbarriers) em_line(e, "const u32 mbar = smem_base + %" PRId64 ";", p->barrier_offset);
    for (int i = 0; i < p->bars.n; i++) em_line(e, "const u32 %s = mbar + %d;", em_bar(e, i), 8 * p->bars.v[i].first);
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (!p->touches[i]) continue;
        const char *name = em_tensor(e, t), *at = em_arg(e, t->name);
        weiri_put(out, "  const bool %s_wide = ((u64)%s", name, at);
        for (int d = 0; d + 1 < t->rank; d++) weiri_put(out, " | (u64)%s_stride%d * %d", name, d, weir_dtype_size(t->dtype));
        weiri_put(out, ") %% 16 == 0; (void)%s_wide;\n", name);
        int size = (int)weir_dtype_size(t->dtype);
        if (!t->out || (t->dtype != WEIR_BF16 && t->dtype != WEIR_F16 && t->dtype != WEIR_F32) || t->rank < 2) continue;
        weiri_put(out, "  const bool %s_pairs = ((u64)%s", name, at);
        for (int d = 0; d + 1 < t->rank; d++) weiri_put(out, " | (u64)%s_stride%d * %d", name, d, size);
        weiri_put(out, ") %% %d == 0; (void)%s_pairs;\n", 2 * size, name);
    }
    weiri_put(out, "\n");
    if (p->tmaps.n) { /* hides the first fetch of each descriptor behind the set-up */
        open_brace(e, "if (w_tid() == 0)");
        for (int i = 0; i < p->tmaps.n; i++) em_line(e, "w_tma_prefetch(&%s);", em_map(e, i));
        close_brace(e);
    }
    emit_frame(e, p->prologue, false);
    em_tc_addresses(e);
    weiri_put(out, "\n");
    emit_roles(e);
    em_line(e, "W_LEAVE();");
    emit_frame(e, p->epilogue, true);
    e->depth--;
    em_line(e, "}");
    return !out->oom && !p->a.oom;
}
