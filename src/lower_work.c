/* Work to actions: copies, stores, mmas, bodies, with what each does to stages, registers and tensors. */
#include "lowering.h"

#include <inttypes.h>
#include <string.h>

#include "deal.h"
#include "plan_push.h"
#include "plan_tc.h"
#include "tmap.h"

/* ---- what work touches ------------------------------------------------------------------------------------------------------ */

static void stage_access(lowering *l, weiri_action *a, const weir_res *r, bool producer, bool write, bool async) {
    int region = weiri_region_of(l->p, r);
    if (region < 0) return;
    if (weiri_pipe_of(l->p, r) < 0) {
        lw_effect(l, a, write, async, region, -1, STAGE_NONE, 0);
        return;
    }
    lw_effect(l, a, write, async, region, lw_cursor(l, r, producer), lw_stage(l, r, producer), 0);
}

/* An argument or operand in shared memory: the stage that the task has before it is read, by threads or asynchronously. */
static void stage_read(lowering *l, weiri_action *a, const weiri_view *v, bool async) {
    int cur = weiri_pipe_of(l->p, v->res) >= 0 ? lw_cursor(l, v->res, false) : -1;
    lw_effect(l, a, false, async, weiri_region_of(l->p, v->res), cur, cur >= 0 ? lw_stage(l, v->res, false) : STAGE_NONE,
              v->back);
}

static void touch(lowering *l, const weir_tensor *t) { l->p->touches[t->index] = true; }

/* Plain reads that an argument asks for: stages in shared memory, tensors. */
static void reads_of(lowering *l, weiri_action *a, uint32_t id) {
    weiri_view v;
    if (!weiri_visit(l->k, id)) return;
    const weiri_value *x = weiri_val(l->k, id);
    if (x->kind == WEIR_VALUE_VIEW) {
        weiri_view_of(l->k, id, &v);
        if (v.res->kind == WEIR_RES_GMEM) touch(l, v.res->tensor);
        else if (weiri_region_of(l->p, v.res) >= 0) {
            stage_read(l, a, &v, false);
            a->eff[a->neff - 1].deal = weiri_deal_read(l->p, &l->walk, id);
        }
        return;
    }
    if (x->op == WEIR_OP_READ_REG) return; /* its own READ op */
    /* scalars were loaded where that is written; a tile is loaded element by element where it is used */
    if (x->op == WEIR_OP_RETURN || (x->op == WEIR_OP_LOAD && x->kind != WEIR_VALUE_TILE)) return;
    for (int i = 0; i < x->nargs; i++) reads_of(l, a, x->arg[i]);
}

static void reads(lowering *l, weiri_action *a, uint32_t id) {
    weiri_visit_begin(l->k);
    reads_of(l, a, id);
}

/* A store reads tensor memory where it stands, not where the value was written. */
typedef struct tensor_reading {
    lowering *l;
    weiri_action *a;
} tensor_reading;

static void tensor_read(void *ud, uint32_t view) {
    tensor_reading *x = ud;
    reads(x->l, x->a, view);
}

/* An action of one thread that fills the stage in work and counts its bytes at the full barrier. */
static weiri_action *into_stage(lowering *l, weiri_pnode *at, weiri_act kind, const weiri_op *op) {
    weiri_action *a = lw_act(l->p, at, kind, lw_who(l, WHO_ONE), op, NULL);
    a->pipe = weiri_pipe_of(l->p, op->res);
    a->bar = l->p->pipes.v[a->pipe].full;
    a->cur = lw_cursor(l, op->res, true);
    a->stage = lw_stage(l, op->res, true);
    return a;
}

/* A store to slabs of a stage, or to rows of one, that are the same every time and lie in one run: the other bytes are others'
 * to write. */
static void part_written(lowering *l, weiri_action *a, const weiri_op *op) {
    weiri_view v;
    weiri_tile_geom g;
    int64_t row;
    if (op->nargs < 2) return;
    weiri_view_of(l->k, op->arg[1], &v);
    if (v.res != op->res) return; /* refused, as other odd places are: lower_check.c */
    weiri_geom(l->p, v.res, &g); /* it is accessed, and so has a layout */
    if (g.panels > 1 || !weiri_push_rows(l->k, &v, -1, &row)) return;
    int rows = g.rows;
    for (int i = 0; i < v.nsub; i++) rows /= v.res->tile[v.axis + i];
    if (v.nrows && v.axis + v.nsub + 2 != v.res->rank) return;
    weiri_effect *e = &a->eff[a->neff - 1];
    e->lo = (row + v.row0) * g.row_bytes;
    e->hi = e->lo + (v.nrows ? v.nrows : rows) * g.row_bytes;
}

/* The verdict names the bodies whose declared effects it rests on. */
static void trust(lowering *l, const weiri_op *op) {
    weiri_plan *p = l->p;
    const char *name = op->work->tx_bytes ? weiri_arena_fmt(&p->a, "%s.%s (%" PRId64 " bytes)", op->res->name, op->work->name,
                                                            op->work->tx_bytes)
                                          : weiri_arena_fmt(&p->a, "%s.%s", op->res->name, op->work->name);
    if (!p->trusted) p->trusted = name;
    else if (!strstr(p->trusted, name)) p->trusted = weiri_arena_fmt(&p->a, "%s, %s", p->trusted, name);
}

/* ---- copies ---------------------------------------------------------------------------------------------------------------- */

static int popcount_axes(const weir_kernel *k, int axes) {
    return (axes & 1 ? k->cluster.m : 1) * (axes & 2 ? k->cluster.n : 1);
}

static void lower_load(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_kernel *k = l->k;
    const weir_res *r = op->res;
    weiri_view v;
    int part[WEIR_MAX_RANK], axes = op->multicast;
    weiri_view_of(k, op->arg[0], &v); /* capture takes nothing else */
    if (v.res->kind != WEIR_RES_GMEM) {
        lw_complain(l, "PLAN-VIEW", op, "write s:tma_load(g:at(i, j))", "loads something that is not a tile of a tensor");
        return;
    }
    lw_check_counted(l, op);
    if (weiri_pipe_of(p, r) < 0) return; /* said */
    if (!lw_part_of_tile(l, op, &v, v.res, part)) return;
    if (k->cluster.m == 1) axes &= ~1;
    if (k->cluster.n == 1) axes &= ~2;
    int served = popcount_axes(k, axes);
    weiri_action *a = into_stage(l, at, ACT_LOAD_BULK, op);
    a->targets = served > 1 ? axes : 0;
    a->first = served > 1 && op->issue_first;
    if (op->issue_first && weiri_tc_leaders_full(k, r->pipe.given.type))
        lw_complain(l, "PLAN-UNSUPPORTED", op, "leave issue out: each CTA loads its slice",
                    "is issued by the first CTA (issue = \"first\") for operands of an mma of two CTAs (v = 2)");
    a->at_leader = weiri_tc_leaders_full(k, r->pipe.given.type);
    lw_check_start(l, op, &v, v.res);
    a->copy = lw_copy(l, op, v.res, part, r, NULL, a->first ? 1 : served);
    a->bytes = a->first ? weiri_tile_bytes(r) : weiri_tile_bytes(r) / served;
    stage_access(l, a, r, true, true, true);
}

/* A dynamic queue's next tile: 16 bytes that one CTA fetches for its whole cluster. */
static void lower_fetch(lowering *l, weiri_pnode *at, const weiri_op *op) {
    const weir_res *r = op->res;
    if (weiri_pipe_of(l->p, r) < 0) return;
    weiri_action *a = into_stage(l, at, ACT_LOAD_BULK, op);
    a->bytes = 16;
    a->cta0 = l->p->cluster > 1;
    a->targets = a->cta0 ? 15 : 0;
    stage_access(l, a, r, true, true, true);
}

static void lower_tma_store(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_kernel *k = l->k;
    const weir_res *r = op->res;
    int place[WEIR_MAX_RANK];
    weiri_view from, to;
    weiri_view_of(k, op->arg[0], &from);
    if (weiri_region_of(p, from.res) < 0) {
        lw_complain(l, "PLAN-VIEW", op, "write g:tma_store(s:read(), g:at(i, j))",
                    "stores something that is not a stage in shared memory");
        return;
    }
    weiri_view_of(k, op->arg[1], &to);
    if (!lw_part_of_tile(l, op, &to, r, place)) return;
    lw_check_start(l, op, &to, r);
    lw_check_front(l, op, &to, r);
    if (op->atom == ATOM_TMA_REDUCE_ADD && !weiri_tmap_adds(r->tensor->dtype))
        lw_complain(l, "PLAN-DTYPE", op, "add in f32, f64, bf16, f16, or whole numbers of 32 or 64 bits",
                    weiri_arena_fmt(&p->a, "adds elements of %s, which the copy engine cannot", weir_dtype_name(r->tensor->dtype)));
    weiri_action *a = lw_act(p, at, ACT_STORE_BULK, lw_who(l, l->pt->wg_actor ? WHO_WG : WHO_ONE), op, NULL);
    a->copy = lw_copy(l, op, r, place, from.res, &from, 1);
    a->bytes = a->copy >= 0 ? p->copies.v[a->copy].bytes : 0;
    a->pipe = weiri_pipe_of(p, from.res);
    stage_read(l, a, &from, true);
    if (a->pipe >= 0) {
        a->cur = a->eff[0].cur;
        a->stage = a->eff[0].stage;
        a->back = from.back;
    }
    weiri_action *c = lw_act(p, at, ACT_BULK_COMMIT, a->who, op, NULL);
    c->pipe = a->pipe;
    l->stores = true;
}

static void lower_cp_async(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res, *t;
    weiri_tile_geom g;
    weiri_view v;
    weiri_view_of(l->k, op->arg[0], &v);
    if (v.res->kind != WEIR_RES_GMEM) {
        lw_complain(l, "PLAN-VIEW", op, "write s:cp_async(g:at(i, j))", "copies something that is not a tile of a tensor");
        return;
    }
    if (!weiri_geom(p, r, &g) || lw_sliced(l, op, &v)) return;
    if (v.t) {
        lw_complain(l, "PLAN-UNSUPPORTED", op, "copy it as it lies, and read the stage turned over: s:read():t()",
                    "copies a tile turned over, which cp.async cannot");
        return;
    }
    t = v.res;
    if (t->tile[t->rank - 1] != g.cols || v.op != WEIR_OP_VIEW_AT) { /* rows of a stage are whole 16 bytes */
        lw_complain(l, "PLAN-BOX", op,
                    "copy g:at(...) tiles whose rows are a multiple of 16 bytes, into a tile of the same shape",
                    "copies rows that are no whole 16-byte pieces");
        return;
    }
    touch(l, t->tensor);
    p->wide[t->tensor->index] = true;
    l->copies = true;
    weiri_action *a = lw_act(p, at, ACT_CP_ASYNC, lw_who(l, WHO_THREADS), op, NULL);
    a->pipe = weiri_pipe_of(p, r);
    if (a->pipe >= 0) a->bar = p->pipes.v[a->pipe].full;
    stage_access(l, a, r, true, true, false);
    a->eff[0].deal = weiri_deal_write(p, l->task, op);
    a->cur = a->eff[0].cur;
    a->stage = a->eff[0].stage;
}

/* The part of a stage that a view names, for copies that take it as it lies: whole, or slabs of it. */
static bool whole_rows(const weiri_view *v) {
    return !v->t && !v->nrows && !v->ncols && !v->limit && (!v->nsub || v->axis + v->nsub < v->res->rank);
}

/* Bytes as they lie, panel by panel: both tiles must lie alike. Rows are a slab's, or the tile's. */
static int make_push(lowering *l, const weiri_op *op, const weiri_view *src, const weiri_view *to) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_tile_geom a, b;
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(l->k, op->arg[0], shape);
    weiri_geom(p, src->res, &a);          /* it has a place, and so a layout */
    if (!weiri_geom(p, r, &b)) return -1; /* said elsewhere */
    int64_t rows = 1;
    for (int d = 0; d + 1 < rank; d++) rows *= shape[d];
    bool alike = a.swizzle == b.swizzle && a.panels == b.panels && a.row_bytes == b.row_bytes && a.elem == b.elem;
    bool turned = a.swizzle && rows % 8 && (src->nsub || to->nsub);
    if (!alike || turned) {
        weir_finding *f = lw_complain(
            l, "PLAN-PUSH", op, alike ? "make the rows of a slab a multiple of 8" : "give both the same swizzle and row length",
            alike ? "takes a slab that begins inside an atom of the swizzle, which is 8 rows"
                  : "copies bytes as they lie, and the two tiles lie differently");
        f->expected = weiri_arena_fmt(&p->a, "swizzle %d, rows of %" PRId64 " bytes in %d panel%s", b.swizzle, b.row_bytes,
                                      b.panels, b.panels == 1 ? "" : "s");
        f->got = weiri_arena_fmt(&p->a, "swizzle %d, rows of %" PRId64 " bytes in %d panel%s, %" PRId64 " of them", a.swizzle,
                                 a.row_bytes, a.panels, a.panels == 1 ? "" : "s", rows);
        return -1;
    }
    weiri_push c = { .npiece = a.panels,
                     .to = weiri_region_of(p, r),
                     .from = weiri_region_of(p, src->res),
                     .from_view = op->arg[0],
                     .to_view = op->nargs > 1 ? op->arg[1] : 0,
                     .to_row = b.row_bytes,
                     .from_row = a.row_bytes };
    c.piece = WEIRI_NEW_N(&p->a, weiri_piece, c.npiece);
    for (int i = 0; i < c.npiece; i++) {
        c.piece[i] = (weiri_piece){ i * b.panel_bytes, i * a.panel_bytes, rows * a.row_bytes };
        c.bytes += c.piece[i].bytes;
    }
    WEIRI_PUSH(&p->a, p->pushes, c);
    return p->pushes.n - 1;
}

/* A stage, or slabs of it, into the same stage of another CTA. */
static void lower_push(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_view src, to = { .res = r };
    lw_check_counted(l, op);
    if (weiri_pipe_of(p, r) < 0 || !p->pipes.v[weiri_pipe_of(p, r)].dest) return; /* said; plan_push.c says why */
    const weiri_ppipe *pipe = &p->pipes.v[weiri_pipe_of(p, r)];
    weiri_view_of(l->k, op->arg[0], &src); /* capture takes nothing else */
    if (weiri_region_of(p, src.res) < 0) {
        lw_complain(l, "PLAN-VIEW", op, "write s:push(t:read(), s:sub(i), { k = r })",
                    "copies something that is not a stage in shared memory");
        return;
    }
    if (op->nargs > 1) weiri_view_of(l->k, op->arg[1], &to);
    if (op->nargs > 1 && (to.res != r || to.op != WEIR_OP_VIEW_SUB)) {
        lw_complain(l, "PLAN-VIEW", op, "write s:push(view, s:sub(i), { k = r }), or leave the place out",
                    "goes to something that is no slab of its own tile");
        return;
    }
    if (!whole_rows(&src) || !whole_rows(&to)) {
        lw_complain(l, "PLAN-PUSH", op, "push whole stages, or slabs of them: sub(i)",
                    "takes a part of a view other than slabs");
        return;
    }
    int from = weiri_pipe_of(p, src.res);
    if (l->pt->warpgroups > 1 && from >= 0 && p->pipes.v[from].full < 0) {
        lw_complain(l, "PLAN-PUSH", op, "let a task of one warp send: it waits for the stage, which all warpgroups have filled",
                    "takes a stage of which each warpgroup of the task fills and stores its own share");
        return;
    }
    weiri_action *a = lw_act(p, at, ACT_PUSH_BULK, lw_who(l, WHO_ONE), op, NULL);
    a->pipe = weiri_pipe_of(p, r);
    a->bar = pipe->full;
    a->cur = lw_cursor(l, r, true);
    a->stage = lw_stage(l, r, true);
    a->reach = lw_by_rank(p, l->protos[r->index].arms);
    a->copy = make_push(l, op, &src, &to);
    a->bytes = a->copy >= 0 ? p->pushes.v[a->copy].bytes : 0;
    stage_read(l, a, &src, true);
    weiri_effect *e = lw_effect(l, a, true, true, weiri_region_of(p, r), a->cur, a->stage, 0);
    int64_t row;
    if (to.nsub && a->copy >= 0 && p->pushes.v[a->copy].npiece == 1 &&
        weiri_push_rows(l->k, &to, -1, &row)) { /* the same in every CTA */
        e->lo = row * p->pushes.v[a->copy].to_row;
        e->hi = e->lo + a->bytes;
    }
}

/* ---- stores, mmas, bodies ---------------------------------------------------------------------------------------------------- */

/* One thread issues; in a task of more threads those that have waited must all have come first, or one could miss a phase. */
static void lower_umma(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_tc_shape shape;
    weiri_view v;
    char why[256];
    if (r->kind != WEIR_RES_TMEM) return; /* weiri_check_targets says so */
    if (!l->pt->solo && l->pt->task->num_warps == 1) lw_act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, "every thread has waited");
    else if (!l->pt->solo && l->pt->wg_actor) lw_join_warpgroup(l, at, op, "every thread has waited");
    weiri_action *a = lw_act(p, at, ACT_MMA, WHO_ONE, op, NULL); /* stands for the op also where it is refused below */
    a->reg = r->index;
    a->leader = weiri_tc_pair(p->k);
    for (int i = 0; i < op->nargs; i++) {
        weiri_view_of(l->k, op->arg[i], &v); /* capture takes nothing else */
        if (lw_sliced(l, op, &v)) return;
        const weir_pipe_type t = v.res->pipe.given.type;
        if (!weiri_read_by_mma(t)) {
            weir_finding *f = weiri_find(
                &p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&op->at),
                "%s of the mma into '%s', '%s', has a pipeline of type %s, whose release does not wait for the tensor core",
                i ? "b" : "a", r->name, v.res->name, weiri_pipe_type_name(t));
            f->hint = "an operand of sm_100a needs tma_umma or async_umma";
            f->objects[0] = v.res->name;
            return;
        }
    }
    if (!weiri_tc_shape_of(p, op, &shape, why, sizeof why)) {
        if (!why[0]) return;
        weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&op->at), "mma into '%s' { %d, %d }: %s",
                                     r->name, r->tile[0], r->tile[1], why);
        f->objects[0] = r->name;
        f->hint = shape.pair
                      ? "with v = 2 a tmem_tile has this CTA's 64 or 128 rows and 32 to 256 columns; operands are swizzled"
                      : "a tmem_tile has 64 or 128 rows and up to 256 columns; operands are swizzled";
        return;
    }
    stage_access(l, a, r, true, true, true);
    for (int i = 0; i < op->nargs; i++) {
        weiri_view_of(l->k, op->arg[i], &v);
        stage_read(l, a, &v, true);
    }
}

static void lower_mma(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_view v;
    if (weiri_tc(l->k)) {
        lower_umma(l, at, op);
        return;
    }
    lw_act(p, at, ACT_MMA_FENCE, WHO_THREADS, op, NULL);
    weiri_action *a = lw_act(p, at, ACT_MMA, WHO_THREADS, op, NULL);
    a->reg = r->index;
    lw_reg_effect(l, a, true, r);
    for (int i = 0; i < op->nargs; i++) {
        if (weiri_view_of(l->k, op->arg[i], &v) && weiri_region_of(p, v.res) >= 0) {
            const weiri_view whole = { .nsub = v.nsub, .limit = v.limit };
            if (lw_sliced(l, op, &whole)) return;
            lw_check_operand(l, op, i, &v);
            stage_read(l, a, &v, true);
        } else {
            const weiri_value *x = weiri_val(l->k, op->arg[i]);
            if (x->op == WEIR_OP_READ_REG) lw_reg_effect(l, a, false, x->res);
        }
    }
    a = lw_act(p, at, ACT_MMA_COMMIT, WHO_THREADS, op, NULL);
    a->reg = r->index;
}

static void lower_drain(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_action *a;
    if (op->res->kind == WEIR_RES_GMEM) {
        a = lw_act(l->p, at, ACT_BULK_WAIT, lw_who(l, l->pt->wg_actor ? WHO_WG : WHO_ONE), op, "drain");
        a->n = op->keep;
    } else {
        a = lw_act(l->p, at, ACT_MMA_WAIT, WHO_THREADS, op, "drain");
        a->n = 99; /* lw_flow finds the number */
        a->reg = op->res->index;
    }
}

/* A body of the author's own: its arguments are read; what it declares of its stage, and the bytes it brings, are believed. */
static void lower_custom(lowering *l, weiri_pnode *at, const weiri_op *op) {
    const weir_kernel *k = l->k;
    const weir_res *r = op->res;
    const weiri_work *work = op->work;
    const bool fills = work->side == WEIR_SIDE_PRODUCER, uses_stage = !work->aux && weiri_in_smem(r);
    const int pipe = weiri_pipe_of(l->p, r);
    if (weiri_tc_pair(k) && (weiri_tc_body(k, op) || (work->tx_bytes && weiri_tc_leaders_full(k, r->pipe.given.type))))
        lw_complain(
            l, "PLAN-UNSUPPORTED", op, "use mma and tma_load, or v = 1",
            "issues mmas, or brings bytes to operands of one, by a body of its own where two CTAs share the mma (v = 2)");
    if (work->tx_bytes) lw_check_counted(l, op);
    weiri_action *a = lw_act(l->p, at, ACT_BODY, lw_who(l, WHO_THREADS), op, NULL);
    for (int i = 0; i < r->nbind; i++) touch(l, r->bind[i].tensor);
    if (uses_stage || (!work->aux && work->tx_bytes)) trust(l, op);
    for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
    if (uses_stage) stage_access(l, a, r, fills, fills, work->async_read || weiri_tc_body(k, op));
    if (pipe < 0) return;
    if (work->tx_bytes || (!work->aux && !weiri_in_smem(r))) { /* which stage: no access says it */
        a->cur = lw_cursor(l, r, fills);
        a->stage = lw_stage(l, r, fills);
    }
    if (work->tx_bytes) {
        a->pipe = pipe;
        a->bar = l->p->pipes.v[pipe].full;
        a->bytes = work->tx_bytes;
    }
}

void lw_work(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_kernel *k = l->k;
    const weir_res *r = op->res;
    weiri_action *a;
    lw_check_work(l, op);
    l->walk = weiri_deal_walk(p, l->task, op);
    switch (op->atom) {
    case ATOM_TMA_LOAD: lower_load(l, at, op); return;
    case ATOM_QUEUE_FETCH: lower_fetch(l, at, op); return;
    case ATOM_CP_ASYNC: lower_cp_async(l, at, op); return;
    case ATOM_PUSH: lower_push(l, at, op); return;
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD: lower_tma_store(l, at, op); return;
    case ATOM_MMA: lower_mma(l, at, op); return;
    case ATOM_DRAIN: lower_drain(l, at, op); return;
    case ATOM_CUSTOM: lower_custom(l, at, op); return;
    case ATOM_STORE:
        a = lw_act(p, at, ACT_BODY, lw_who(l, WHO_THREADS), op, NULL);
        reads(l, a, op->arg[0]);
        if (weiri_tc(k)) weiri_tc_leaves(k, op->arg[0], tensor_read, &(tensor_reading){ l, a });
        if (r->kind == WEIR_RES_GMEM) touch(l, r->tensor);
        else if (weiri_region_of(p, r) >= 0) {
            stage_access(l, a, r, true, true, false);
            part_written(l, a, op);
            const int write = weiri_deal_write(p, l->task, op);
            for (int i = 0; i < a->neff; i++)
                a->eff[i].deal = a->eff[i].write ? write : weiri_deal_in_place(p, a->eff[i].deal, write);
        }
        return;
    case ATOM_LOAD:
        a = lw_act(p, at, ACT_BODY, lw_who(l, WHO_THREADS), op, NULL);
        for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
        for (int i = 0; i < op->nret; i++) {
            const weiri_value *x = weiri_val(k, op->ret[i]);
            for (int j = 0; j < x->nargs; j++) reads(l, a, x->arg[j]);
        }
        return;
    case ATOM_ZERO:
        a = lw_act(p, at, ACT_ZERO, lw_who(l, WHO_THREADS), op, NULL);
        a->reg = r->index;
        if (r->kind != WEIR_RES_TMEM || !weiri_tc(k)) lw_reg_effect(l, a, true, r);
        return;
    case ATOM_READ:
        if (r->kind != WEIR_RES_REG && r->kind != WEIR_RES_WGMMA) return; /* a view: what uses it reads the stage */
        /* fall through */
    case ATOM_SET:
        a = lw_act(p, at, ACT_BODY, lw_who(l, WHO_THREADS), op, NULL);
        a->reg = r->index;
        lw_reg_effect(l, a, op->atom == ATOM_SET, r);
        for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
        return;
    case ATOM_QUEUE_ADVANCE:
        if (weiri_pipe_of(p, r) < 0) return; /* static and grid queues: the loop's own arithmetic */
        a = lw_act(p, at, ACT_BODY, lw_who(l, WHO_THREADS), op, NULL);
        stage_access(l, a, r, false, false, false);
        return;
    case ATOM_GRID_WAIT: lw_act(p, at, ACT_GRID_WAIT, lw_who(l, WHO_THREADS), op, NULL); return;
    case ATOM_GRID_LAUNCH: lw_act(p, at, ACT_GRID_LAUNCH, lw_who(l, WHO_THREADS), op, NULL); return;
    default: return; /* ATOM_QUEUE_INIT */
    }
}
