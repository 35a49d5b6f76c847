/* What each task is to the plan: who runs it (one thread, warps, or warpgroups), its register tiles, and its named barriers. */
#include <string.h>

#include "plan_tc.h"
#include "planning.h"

/* ---- register tiles ------------------------------------------------------------------------------------------------------ */

/* Do two columns of the register tile share a register? One or four columns are one a lane. */
bool weiri_packed(const weir_res *r) {
    return (r->dtype == WEIR_BF16 || r->dtype == WEIR_F16) && r->tile[1] != 1 && r->tile[1] != 4;
}

/* Do the warpgroups share it out evenly, in m64 blocks and groups of 8 columns? */
static bool divides(weiri_plan *p, const weiri_preg *g, const weiri_task *t, int nwg) {
    const weir_res *r = g->res;
    const bool columns = g->split == 'n' && g->rows % 64 == 0; /* what does not divide, if anything */
    const char *axis = columns ? "columns" : "rows";
    const int whole = columns ? r->tile[1] : r->tile[0], share = columns ? g->cols : g->rows, unit = columns ? 8 : 64;
    if (!columns && g->split != 'm') nwg = 1;
    if (whole % nwg == 0 && share % unit == 0) return true;
    weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                                 "tile '%s' { %d, %d } does not divide among the %d warpgroups of task '%s'", r->name,
                                 r->tile[0], r->tile[1], nwg, t->name);
    f->hint =
        weiri_arena_fmt(&p->a, "%s must be a multiple of %d: an MMA is 64 rows by a multiple of 8 columns", axis, unit * nwg);
    f->expected = weiri_arena_fmt(&p->a, "a multiple of %d %s", unit * nwg, axis);
    f->got = weiri_arena_fmt(&p->a, "%d", whole);
    return false;
}

/* Has a warpgroup as many columns of it as an mma takes, and as threads hold? row_sum(4) leaves four, and sums of rows one. */
static bool holds(weiri_plan *p, const weiri_preg *g, const weiri_task *t) {
    const weir_res *r = g->res;
    weir_finding *f = NULL;
    if (r->kind == WEIR_RES_WGMMA && (g->cols % 8 || g->cols > 256)) {
        f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                       "tile '%s' { %d, %d } has %d columns in each warpgroup of task '%s'; an MMA has 8, 16, ... 256", r->name,
                       r->tile[0], r->tile[1], g->cols, t->name);
        f->hint = g->cols > 256 ? "take fewer columns" : "take a multiple of 8 columns";
        f->expected = "a multiple of 8 columns, at most 256";
    } else if (r->tile[1] != 1 && r->tile[1] != 4 && g->cols % 8) {
        f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                       "register tile '%s' { %d, %d } has %d columns in each warpgroup of task '%s'; "
                       "threads hold 1, 4, or a multiple of 8",
                       r->name, r->tile[0], r->tile[1], g->cols, t->name);
        f->hint = "take a multiple of 8 columns; store(v, place) drops those beyond the tensor's end";
        f->expected = "1, 4 or a multiple of 8 columns";
    }
    if (f) f->got = weiri_arena_fmt(&p->a, "%d", g->cols);
    return !f;
}

static void add_reg(weiri_plan *p, int task, const weir_res *r) {
    if (weiri_preg_of(p, task, r) >= 0) return;
    const weiri_task *t = p->k->tasks.v[task];
    if (t->num_warps % 4) {
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                   "task '%s' uses register tile '%s' but has %d warp%s; a warpgroup is 4", t->name, r->name, t->num_warps,
                   t->num_warps == 1 ? "" : "s")
            ->hint = "give the task a multiple of 4 warps";
        return;
    }
    const int nwg = t->num_warps / 4;
    weiri_preg g = { .res = r, .task = task, .rows = r->tile[0], .cols = r->tile[1], .split = 'm' };
    if (p->tasks[task].by_cols) g.split = r->tile[1] < 8 ? 'w' : 'n'; /* one or four a row: each warpgroup has all rows */
    if (g.split == 'n') g.cols /= nwg;
    if (g.split == 'm') g.rows /= nwg;
    if (!divides(p, &g, t, nwg) || !holds(p, &g, t)) return;
    g.frags = g.rows / 64;
    const int vals = r->tile[1] == 1 || r->tile[1] == 4 ? 2 * g.frags : g.rows * g.cols / 128;
    const int per = weiri_packed(r) ? 2 : 1;
    g.per_thread = (vals + per - 1) / per;
    WEIRI_PUSH(&p->a, p->regs, g);
}

/* Register tiles that the value asks for rows or columns of: their numbers are those of the task's share, whoever uses the tile. */
static void add_indexed(weiri_plan *p, int task, uint32_t id) {
    const weiri_value *v = weiri_val(p->k, id);
    const bool some = weiri_value_uses(p->k, id, WEIR_OP_ROW) || weiri_value_uses(p->k, id, WEIR_OP_COL);
    if (!some || !weiri_visit(p->k, id)) return;
    if ((v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL) && weiri_preg_of(p, task, v->res) < 0) {
        add_reg(p, task, v->res);
        const int at = weiri_preg_of(p, task, v->res);
        if (at >= 0) p->regs.v[at].per_thread = 0; /* the task has none of it */
    }
    for (int i = 0; i < v->nargs; i++) add_indexed(p, task, v->arg[i]);
}

/* ---- who runs it --------------------------------------------------------------------------------------------------------- */

static bool is_reg(const weir_res *r) { return r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA; }

/* The sums of a tmem_tile while a warpgroup adds to them: registers, where there is no tensor memory. */
static bool is_sums(const weir_kernel *k, const weiri_op *op) {
    return op->res->kind == WEIR_RES_TMEM && k->arch < WEIR_ARCH_SM_100A && (op->atom == ATOM_ZERO || op->atom == ATOM_MMA);
}

/* Stages that only bulk stores read, whose one issuer gives them back. */
static bool drained_by_tma(const weiri_op *op) {
    const weir_pipe_desc *d = &op->res->pipe.given;
    return op->res->kind != WEIR_RES_GROUP && d->type == WEIR_ASYNC_TMA && op->stage < STAGE_PROD_AUX && !d->consumers;
}

/* Can one thread do it for its task? Threads that each release for themselves cannot be one. */
static bool is_solo(const weiri_op *op) {
    const weir_res *r = op->res;
    switch (op->atom) {
    case ATOM_NONE: {
        const weir_res *b = r->kind == WEIR_RES_GROUP ? r->members[0] : r;
        const weir_pipe_desc *d = &b->pipe.given;
        if (b->kind == WEIR_RES_QUEUE)
            return op->stage != STAGE_CONS_RELEASE || (!d->consumers && d->grain != WEIR_GRAIN_THREAD);
        return weiri_filled_by_tma(d->type) || drained_by_tma(op);
    }
    case ATOM_READ: return drained_by_tma(op); /* the view that a bulk store takes */
    case ATOM_DRAIN: return r->kind == WEIR_RES_GMEM;
    case ATOM_TMA_LOAD:
    case ATOM_PUSH:
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD:
    case ATOM_QUEUE_ADVANCE:
    case ATOM_QUEUE_FETCH:
    case ATOM_QUEUE_INIT:
    case ATOM_GRID_WAIT:
    case ATOM_GRID_LAUNCH: return true;
    default: return false;
    }
}

/* Can one thread run the whole body of a task that issues mmas of sm_100a? Tensor core and copy engine do all its work then. */
static bool one_thread_issues(const weir_kernel *k, const weiri_task *t) {
    bool mma = false;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        const weiri_op *op = n->op;
        bool tensor = op->res->kind == WEIR_RES_TMEM && (op->atom == ATOM_MMA || op->atom == ATOM_ZERO);
        bool operand = op->atom == ATOM_READ && !is_reg(op->res) && !weiri_tc_reads(k, op);
        bool waits = op->atom == ATOM_NONE && op->stage < STAGE_PROD_AUX &&
                     op->res->kind != WEIR_RES_QUEUE; /* of stages: the mma's only */
        if (!tensor && !operand && !weiri_tc_move(op) && (waits || !is_solo(op))) return false;
        mma = mma || op->atom == ATOM_MMA;
    }
    return mma && weiri_tc(k);
}

/* Which way do the warpgroups share the task's tiles? */
static void find_split(weiri_plan *p, weiri_ptask *pt) {
    const weiri_task *t = pt->task;
    const weir_res *rows = NULL, *cols = NULL;
    if (t->num_warps < 8 || t->num_warps % 4) return;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        if (n->op->res->kind != WEIR_RES_WGMMA) continue;
        if (n->op->res->split == 'n') cols = n->op->res;
        else rows = n->op->res;
    }
    pt->by_cols = cols != NULL;
    if (!rows || !cols) return;
    weir_finding *f = weiri_find(&p->findings, "PLAN-SPLIT", weiri_place_of(&rows->at),
                                 "the warpgroups of task '%s' share the rows of '%s' and the columns of '%s'", t->name,
                                 rows->name, cols->name);
    f->hint = "give both one split, or a task each";
    f->objects[0] = rows->name;
    weiri_second_place(f, &cols->at, "the other tile");
}

/* Does the op need the warpgroups of its task: registers that only a warpgroup holds, an mma that only a warpgroup issues? */
static bool needs_warpgroup(const weir_kernel *k, const weiri_task *t, const weiri_op *op) {
    const bool whole = t->num_warps % 4 == 0;
    if (op->atom == ATOM_MMA && (!weiri_tc(k) || whole)) return true;
    if (is_reg(op->res) || is_sums(k, op)) return true;
    for (int i = 0; i < op->nargs; i++)
        if (weiri_value_in_regs(k, op->arg[i])) return true;
    /* a body with mmas of its own, on a target where a warpgroup issues them: releases join it */
    if (op->work && op->work->async_read && !weiri_tc(k) && whole) return true;
    return op->res->kind == WEIR_RES_SMEM && op->res->pipe.given.type == WEIR_ASYNC_TMA && whole;
}

/* Who the actors are. Its register tiles come first: those that its ops name, then those that values ask for rows of. */
void pl_scan_task(weiri_plan *p, int ti) {
    const weir_kernel *k = p->k;
    const weiri_task *t = k->tasks.v[ti];
    weiri_ptask *pt = &p->tasks[ti];
    pt->task = t;
    pt->lanes = weiri_warp_lanes(t);
    find_split(p, pt);
    bool solo = t->num_warps == 1 || pt->lanes, wg = false, any = false, consumes = false;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        const weiri_op *op = n->op;
        any = true;
        if (!is_solo(op)) solo = false;
        if (op->stage == STAGE_CONS_WAIT && op->res->kind != WEIR_RES_QUEUE && !drained_by_tma(op)) consumes = true;
        if (is_reg(op->res) || is_sums(k, op)) add_reg(p, ti, op->res);
        wg = wg || needs_warpgroup(k, t, op);
    }
    weiri_visit_begin(k);
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        for (int i = 0; i < n->op->nargs; i++) add_indexed(p, ti, n->op->arg[i]);
    pt->solo = (solo && any && !consumes) || one_thread_issues(k, t);
    pt->wg_actor = wg && !pt->solo && !pt->lanes;
    pt->warpgroups = pt->wg_actor ? t->num_warps / 4 : 0;
    pt->actors = pt->solo ? (pt->lanes ? pt->lanes : 1) : pt->wg_actor ? t->num_warps / 4 : t->num_warps;
    if (weiri_tc(k)) weiri_tc_check_warps(p, ti);
    if (pt->wg_actor && (t->first_warp % 4 || t->num_warps % 4)) {
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                   "task '%s' works on register tiles and has warps %d to %d", t->name, t->first_warp,
                   t->first_warp + t->num_warps - 1)
            ->hint = "wgmma is issued by warpgroups: start at a multiple of 4 warps and take a multiple of 4";
        pt->actors = 1;
        pt->warpgroups = 1;
    }
}

/* ---- named barriers ------------------------------------------------------------------------------------------------------ */

static int add_named(weiri_plan *p, int threads, const char *owner) {
    const weiri_named b = { p->named.n + 1, threads, owner }; /* 0 is __syncthreads */
    WEIRI_PUSH(&p->a, p->named, b);
    return b.id;
}

static int add_task_named(weiri_plan *p, const weiri_task *t) {
    return add_named(p, 32 * t->num_warps, weiri_arena_fmt(&p->a, "task %s", t->name));
}

/* Do all its threads meet, whatever the actors are: does a body ask for it, or one warp arm for all? */
static bool joins(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        const weiri_op *op = n->op;
        if (op->atom == ATOM_CUSTOM && strstr(op->work->code, "task_sync")) return true;
        if (op->stage == STAGE_PROD_ACQUIRE && op->res->pipe.given.producer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER)
            return true;
    }
    return false;
}

void pl_name_barriers(weiri_plan *p) {
    for (int i = 0; i < p->ntasks; i++) {
        weiri_ptask *t = &p->tasks[i];
        for (int w = 0; w < t->warpgroups; w++) {
            const int id = add_named(p, 128, weiri_arena_fmt(&p->a, "warpgroup %d of %s", w, t->task->name));
            if (w == 0) t->named_wg = id;
        }
        if (t->task->num_warps > 1 && !t->lanes && joins(t->task)) t->named_task = add_task_named(p, t->task);
    }
}

int weiri_task_barrier(weiri_plan *p, int task) {
    weiri_ptask *t = &p->tasks[task];
    if (t->named_wg && t->task->num_warps == 4) return t->named_wg;
    if (!t->named_task) t->named_task = add_task_named(p, t->task);
    return t->named_task;
}

void pl_check_named(weiri_plan *p) {
    if (p->named.n <= 15) return;
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-NAMED", weiri_place_of(&p->k->at),
                   "kernel '%s' needs %d named barriers; a CTA has 15 beside __syncthreads", p->k->name, p->named.n);
    f->expected = "at most 15";
    f->got = weiri_arena_fmt(&p->a, "%d", p->named.n);
    weiri_buf who;
    weiri_buf_init(&who, p->k->ctx);
    for (int i = 0; i < p->named.n; i++)
        weiri_put(&who, "%s%d of %s", i ? ", " : "", p->named.v[i].id, p->named.v[i].owner);
    f->hint = weiri_arena_fmt(&p->a, "each warpgroup that multiplies takes one, and each task of several warps whose threads meet: %s",
                              who.s ? who.s : ""); /* cover: memory */
    weiri_buf_free(&who);
}
