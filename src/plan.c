/* The plan's tables: pipelines with counts and bytes, shared memory, barriers, registers, launch shape. lower.c turns the
 * schedules into actions between the two halves of weiri_plan_new. */
#include "plan.h"

#include <inttypes.h>
#include <string.h>

#include "layout.h"
#include "lower.h"
#include "names.h"
#include "plan_push.h"
#include "plan_tc.h"
#include "protocol.h"

static const char *const act_names[ACT_COUNT] = {
    "none",          "wait",         "arrive",    "expect_tx",      "cp_async_arrive", "tcgen05_commit", "advance",
    "bulk_issue",    "bulk_store",   "bulk_push", "bulk_commit",    "bulk_wait",       "cp_async",       "cp_async_wait",
    "mma_fence",    "mma_issue", "mma_commit",     "mma_wait",        "fence_async",    "warp_sync",
    "named_sync",    "cta_sync",     "cluster_arrive", "cluster_wait", "grid_wait",    "grid_launch",    "setmaxnreg",
    "tmem_alloc",    "tmem_free",    "tcgen05_before", "tcgen05_after", "init",        "body",           "zero",
};

const char *weiri_act_name(weiri_act a) { return act_names[a]; }

/* ---- views --------------------------------------------------------------------------------------------------------------- */

/* Rows and columns that slices name, seen through as many transpositions as were met before: an even, an odd number. The first
 * slice met is of the others, and takes the least. */
typedef struct cut {
    int row0, nrows, col0, ncols;
} cut;

static int least_of(int a, int b) { return !a || (b && b < a) ? b : a; } /* 0: all */

/* Rows and columns of the tile, whatever way round they were named. `outer`: the slices of what has the limit. */
static void settle(weiri_view *v, const cut part[2], const cut outer[2]) {
    const cut *along = &part[v->t], *across = &part[!v->t];
    v->row0 = along->row0 + across->col0;
    v->col0 = along->col0 + across->row0;
    v->nrows = least_of(along->nrows, across->ncols);
    v->ncols = least_of(along->ncols, across->nrows);
    if (v->limit) v->limit_from = v->col0 - outer[v->t].col0 - outer[!v->t].row0;
}

bool weiri_view_of(const weir_kernel *k, uint32_t value, weiri_view *v) {
    cut part[2] = { { 0 } }, outer[2] = { { 0 } };
    memset(v, 0, sizeof *v);
    for (;;) {
        const weiri_value *x = weiri_val(k, value);
        if (x->kind != WEIR_VALUE_VIEW) return false;
        switch (x->op) {
        case WEIR_OP_VIEW_T: v->t = !v->t; break;
        case WEIR_OP_VIEW_ROWS:
            part[v->t].row0 += (int)x->i;
            part[v->t].nrows = least_of(part[v->t].nrows, x->count);
            break;
        case WEIR_OP_VIEW_COLS:
            part[v->t].col0 += (int)x->i;
            part[v->t].ncols = least_of(part[v->t].ncols, x->count);
            break;
        case WEIR_OP_VIEW_LIMIT: /* one at most, of columns of the tile: value.c */
            v->limit = x->arg[1];
            memcpy(outer, part, sizeof outer);
            break;
        case WEIR_OP_VIEW_SUB: /* the last one met is taken first */
            for (int i = v->nsub++; i > 0; i--) v->sub[i] = v->sub[i - 1];
            v->sub[0] = x->arg[x->nargs - 1];
            if (x->res) { /* a slab of a tile, whatever its stage */
                v->base = value;
                v->op = x->op;
                v->res = x->res;
                settle(v, part, outer);
                return true;
            }
            break;
        default: /* a stage, a place of a tensor, a work tile */
            v->base = value;
            v->op = x->op;
            v->res = x->res;
            v->back = (int)x->i;
            while (v->axis + 1 < v->res->rank && v->res->tile[v->axis] == 1) v->axis++;
            settle(v, part, outer);
            return true;
        }
        value = x->arg[0];
    }
}

/* ---- small helpers ------------------------------------------------------------------------------------------------------- */

static int ceil4(int x) { return (x + 3) / 4 * 4; }

int weiri_pipe_of(const weiri_plan *p, const weir_res *r) {
    for (int i = 0; i < p->pipes.n; i++)
        if (p->pipes.v[i].res == r) return i;
    return -1;
}

int weiri_data_region(const weiri_plan *p, int region) {
    for (int other; (other = p->smem.v[region].same_as) >= 0; region = other) {
        const weir_res *g = p->smem.v[region].res->group;
        if (!g || g->mode != WEIR_GROUP_FORK || p->smem.v[other].res->group != g) break;
    }
    return region;
}

int weiri_region_of(const weiri_plan *p, const weir_res *r) {
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].res == r) return i;
    return -1;
}

int weiri_preg_of(const weiri_plan *p, int task, const weir_res *r) {
    for (int i = 0; i < p->regs.n; i++)
        if (p->regs.v[i].res == r && p->regs.v[i].task == task) return i;
    return -1;
}

bool weiri_geom(const weiri_plan *p, const weir_res *r, weiri_tile_geom *g) {
    int i = weiri_region_of(p, r);
    char why[8];
    if (i < 0) return false;
    const weiri_region *reg = &p->smem.v[i];
    return weiri_layout_tile(reg->dtype, r->tile, r->rank, reg->swizzle, r->kind == WEIR_RES_SMEM && !reg->threads, g, why,
                             sizeof why);
}

weir_dtype weiri_stage_dtype(const weiri_plan *p, const weir_res *r) {
    return p->smem.v[weiri_region_of(p, r)].dtype;
}

/* Does a stage of r lie in shared memory? Without tensor memory a tmem_tile's does; a dynamic queue's is one response. */
static bool in_smem(const weir_kernel *k, const weir_res *r) {
    return weiri_in_smem(r) || weiri_dynamic(r) || (r->kind == WEIR_RES_TMEM && k->arch < WEIR_ARCH_SM_100A);
}

/* What a tmem_tile's stage holds: sums as f32; for the next mma the dtype of its other operand. */
static weir_dtype spilled_dtype(const weir_kernel *k, const weir_res *r) {
    if (r->pipe.given.type != WEIR_UMMA_UMMA) return WEIR_F32;
    for (int ti = 0; ti < k->tasks.n; ti++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[ti]->root, NULL); n;
             n = weiri_node_next(k->tasks.v[ti]->root, n)) {
            if (n->kind != NODE_OP || n->op->atom != ATOM_MMA) continue;
            weiri_view v[2];
            for (int i = 0; i < 2; i++) weiri_view_of(k, n->op->arg[i], &v[i]); /* of nothing, if it is held in registers */
            for (int i = 0; i < 2; i++)
                if (v[i].res == r && v[1 - i].res && v[1 - i].res != r) return v[1 - i].res->dtype;
        }
    return WEIR_BF16;
}

/* ---- what the tasks do --------------------------------------------------------------------------------------------------- */

static bool is_reg(const weir_res *r) { return r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA; }

/* The sums of a tmem_tile while a warpgroup adds to them: registers, where there is no tensor memory. */
static bool is_sums(const weir_kernel *k, const weiri_op *op) {
    return op->res->kind == WEIR_RES_TMEM && k->arch < WEIR_ARCH_SM_100A &&
           (op->atom == ATOM_ZERO || op->atom == ATOM_MMA);
}

/* Do two columns of the register tile share a register? One or four columns are one a lane. */
bool weiri_packed(const weir_res *r) {
    return (r->dtype == WEIR_BF16 || r->dtype == WEIR_F16) && r->tile[1] != 1 && r->tile[1] != 4;
}

static void add_reg(weiri_plan *p, int task, const weir_res *r) {
    if (weiri_preg_of(p, task, r) >= 0) return;
    const weiri_task *t = p->k->tasks.v[task];
    int nwg = t->num_warps / 4 > 0 ? t->num_warps / 4 : 1;
    bool by_cols = p->tasks[task].by_cols;
    weiri_preg g = { .res = r, .task = task, .rows = r->tile[0], .cols = r->tile[1], .split = by_cols ? 'n' : 'm' };
    if (by_cols && r->tile[1] < 8) g.split = 'w'; /* one or four a row: each warpgroup has all rows */
    if (t->num_warps % 4) {
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                   "task '%s' uses register tile '%s' but has %d warp%s; a warpgroup is 4", t->name, r->name, t->num_warps,
                   t->num_warps == 1 ? "" : "s")
            ->hint = "give the task a multiple of 4 warps";
        return;
    }
    if (g.split == 'n') g.cols /= nwg;
    if (g.split == 'm') g.rows /= nwg;
    bool columns = g.split == 'n' && g.rows % 64 == 0; /* what does not divide, if anything */
    const char *axis = columns ? "columns" : "rows";
    int whole = columns ? r->tile[1] : r->tile[0];
    int unit = columns ? 8 : 64;
    if (!columns && g.split != 'm') nwg = 1;
    if (whole % nwg || (columns ? g.cols : g.rows) % unit) {
        weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                                     "tile '%s' { %d, %d } does not divide among the %d warpgroups of task '%s'", r->name,
                                     r->tile[0], r->tile[1], nwg, t->name);
        f->hint = weiri_arena_fmt(&p->a, "%s must be a multiple of %d: an MMA is 64 rows by a multiple of 8 columns", axis,
                                  unit * nwg);
        f->expected = weiri_arena_fmt(&p->a, "a multiple of %d %s", unit * nwg, axis);
        f->got = weiri_arena_fmt(&p->a, "%d", whole);
        return;
    }
    if (r->kind == WEIR_RES_WGMMA && (g.cols % 8 || g.cols > 256)) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                       "tile '%s' { %d, %d } has %d columns in each warpgroup of task '%s'; an MMA has 8, 16, ... 256", r->name,
                       r->tile[0], r->tile[1], g.cols, t->name);
        f->hint = g.cols > 256 ? "take fewer columns" : "take a multiple of 8 columns";
        f->expected = "a multiple of 8 columns, at most 256";
        f->got = weiri_arena_fmt(&p->a, "%d", g.cols);
        return;
    }
    if (r->tile[1] != 1 && r->tile[1] != 4 && g.cols % 8) { /* row_sum(4) leaves four, and sums of rows one */
        weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&r->at),
                                     "register tile '%s' { %d, %d } has %d columns in each warpgroup of task '%s'; "
                                     "threads hold 1, 4, or a multiple of 8",
                                     r->name, r->tile[0], r->tile[1], g.cols, t->name);
        f->hint = "take a multiple of 8 columns; store(v, place) drops those beyond the tensor's end";
        f->expected = "1, 4 or a multiple of 8 columns";
        f->got = weiri_arena_fmt(&p->a, "%d", g.cols);
        return;
    }
    g.frags = g.rows / 64;
    int vals = r->tile[1] == 1 || r->tile[1] == 4 ? 2 * g.frags : g.rows * g.cols / 128;
    int per = weiri_packed(r) ? 2 : 1;
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

/* Stages that only bulk stores read, whose one issuer gives them back. */
static bool drained_by_tma(const weiri_op *op) {
    const weir_pipe_desc *d = &op->res->pipe.given;
    return op->res->kind != WEIR_RES_GROUP && d->type == WEIR_ASYNC_TMA && op->stage < STAGE_PROD_AUX && !d->consumers;
}

/* Solo: one thread can run the whole body. */
static bool op_is_solo(const weir_kernel *k, const weiri_op *op) {
    (void)k;
    const weir_res *r = op->res;
    if (op->atom == ATOM_NONE) {
        const weir_res *b = r->kind == WEIR_RES_GROUP ? r->members[0] : r;
        weir_pipe_type t = b->pipe.given.type;
        const weir_pipe_desc *d = &b->pipe.given; /* threads that each release for themselves cannot be one */
        if (b->kind == WEIR_RES_QUEUE)
            return op->stage != STAGE_CONS_RELEASE || (!d->consumers && d->grain != WEIR_GRAIN_THREAD);
        return t == WEIR_TMA_ASYNC || t == WEIR_TMA_UMMA || drained_by_tma(op);
    }
    if (op->atom == ATOM_READ) return drained_by_tma(op); /* the view that a bulk store takes */
    return op->atom == ATOM_TMA_LOAD || op->atom == ATOM_PUSH || op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD ||
           (op->atom == ATOM_DRAIN && r->kind == WEIR_RES_GMEM) || op->atom == ATOM_QUEUE_ADVANCE ||
           op->atom == ATOM_QUEUE_FETCH || op->atom == ATOM_QUEUE_INIT || op->atom == ATOM_GRID_WAIT ||
           op->atom == ATOM_GRID_LAUNCH;
}

/* Can one thread run the whole body of a task that issues mmas of sm_100a? Tensor core and copy engine do all its work then. */
static bool one_thread_issues(const weir_kernel *k, const weiri_task *t) {
    bool mma = false;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        bool tensor = op->res->kind == WEIR_RES_TMEM && (op->atom == ATOM_MMA || op->atom == ATOM_ZERO);
        bool operand = op->atom == ATOM_READ && !is_reg(op->res) && !weiri_tc_reads(k, op);
        bool waits = op->atom == ATOM_NONE && op->stage < STAGE_PROD_AUX &&
                     op->res->kind != WEIR_RES_QUEUE; /* of stages: the mma's only */
        if (!tensor && !operand && !weiri_tc_move(op) && (waits || !op_is_solo(k, op))) return false;
        mma = mma || op->atom == ATOM_MMA;
    }
    return mma && weiri_tc(k);
}

/* Which way do the warpgroups share the task's tiles? */
static void find_split(weiri_plan *p, weiri_ptask *pt) {
    const weiri_task *t = pt->task;
    const weir_res *rows = NULL, *cols = NULL;
    if (t->num_warps < 8 || t->num_warps % 4) return;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP || n->op->res->kind != WEIR_RES_WGMMA) continue;
        if (n->op->res->split == 'n') cols = n->op->res;
        else rows = n->op->res;
    }
    pt->by_cols = cols != NULL;
    if (!rows || !cols) return;
    weir_finding *f = weiri_find(&p->findings, "PLAN-SPLIT", weiri_place_of(&rows->at),
                                 "the warpgroups of task '%s' share the rows of '%s' and the columns of '%s'", t->name, rows->name,
                                 cols->name);
    f->hint = "give both one split, or a task each";
    f->objects[0] = rows->name;
    weiri_second_place(f, &cols->at, "the other tile");
}

static void scan_task(weiri_plan *p, int ti) {
    const weir_kernel *k = p->k;
    const weiri_task *t = k->tasks.v[ti];
    weiri_ptask *pt = &p->tasks[ti];
    pt->task = t;
    pt->lanes = weiri_warp_lanes(t);
    find_split(p, pt);
    bool solo = t->num_warps == 1 || pt->lanes, wg = false, any = false, consumes = false;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        any = true;
        if (!op_is_solo(k, op)) solo = false;
        if (op->stage == STAGE_CONS_WAIT && op->res->kind != WEIR_RES_QUEUE && !drained_by_tma(op)) consumes = true;
        if (op->atom == ATOM_MMA && (!weiri_tc(k) || t->num_warps % 4 == 0)) wg = true;
        if (is_reg(op->res) || is_sums(k, op)) {
            add_reg(p, ti, op->res);
            wg = true;
        }
        for (int i = 0; i < op->nargs; i++)
            if (weiri_value_in_regs(k, op->arg[i])) wg = true;
        /* a body with mmas of its own, on a target where a warpgroup issues them: releases join it */
        if (op->work && op->work->async_read && !weiri_tc(k)) wg |= t->num_warps % 4 == 0;
        if (op->res->kind == WEIR_RES_SMEM && op->res->pipe.given.type == WEIR_ASYNC_TMA) wg |= t->num_warps % 4 == 0;
    }
    weiri_visit_begin(k);
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n))
        for (int i = 0; n->kind == NODE_OP && i < n->op->nargs; i++) add_indexed(p, ti, n->op->arg[i]);
    pt->solo = (solo && any && !consumes) || one_thread_issues(k, t);
    pt->wg_actor = wg && !pt->solo && !pt->lanes;
    pt->warpgroups = pt->wg_actor ? t->num_warps / 4 : 0;
    pt->actors = pt->solo ? (pt->lanes ? pt->lanes : 1) : pt->wg_actor ? t->num_warps / 4 : t->num_warps;
    if (weiri_tc(k)) weiri_tc_check_warps(p, ti);
    if (pt->wg_actor && (t->first_warp % 4 || t->num_warps % 4)) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                       "task '%s' works on register tiles and has warps %d to %d",
                       t->name, t->first_warp, t->first_warp + t->num_warps - 1);
        f->hint = "wgmma is issued by warpgroups: start at a multiple of 4 warps and take a multiple of 4";
        pt->actors = 1;
        pt->warpgroups = 1;
    }
}

/* ---- pipelines ----------------------------------------------------------------------------------------------------------- */

/* Who reads a stage of r. */
enum {
    READ_MMA = 1,     /* wgmma, tcgen05.mma */
    READ_BULK = 2,    /* bulk stores and pushes */
    READ_THREADS = 4, /* plain loads */
    READ_ASYNC = 8,   /* a body of r's that says so */
    READ_BODY = 16,   /* a body that takes the stage, and says so */
};

/* How one task does. */
static int reads_by(const weir_kernel *k, const weiri_task *t, const weir_res *r) {
    int by = 0;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        const bool says = op->work && op->work->async_read, own = op->atom == ATOM_CUSTOM && op->res == r;
        const int plain = says ? READ_BODY : READ_THREADS;
        if (own && says) by |= READ_ASYNC;
        if (own && op->work->side == WEIR_SIDE_CONSUMER && !op->work->aux) by |= plain;
        for (int i = 0; i < op->nargs; i++) {
            weiri_view v; /* a view that is loaded inside arithmetic has an op of its own */
            if (!weiri_view_of(k, op->arg[i], &v) || v.res != r || v.op != WEIR_OP_VIEW_READ) continue;
            const bool bulk = op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD || op->atom == ATOM_PUSH;
            by |= op->atom == ATOM_MMA ? READ_MMA : bulk ? READ_BULK : plain;
        }
    }
    return by;
}

static int readers(const weir_kernel *k, const weir_res *r) {
    int by = 0;
    for (int t = 0; t < k->tasks.n; t++) by |= reads_by(k, k->tasks.v[t], r);
    return by;
}

/* Is every read by a wgmma? (Only then may one thread of a warpgroup release for all.) */
static bool only_mma_reads(int by) { return by & READ_MMA && !(by & (READ_BULK | READ_THREADS | READ_BODY)); }

static bool async_reads(int by) { return by & (READ_MMA | READ_BULK | READ_ASYNC); }

/* Axes (bits 1 m, 2 n) along which loads of r are multicast in slices; cross: as separate loads. first: bits 1 m, 2 n, 4 both, of
 * loads that one CTA issues for all. */
static int serve_axes(const weir_kernel *k, const weir_res *r, bool *cross, int *first) {
    int axes = 0;
    *cross = false;
    *first = 0;
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_node *root = k->tasks.v[ti]->root;
        for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n)) {
            if (n->kind != NODE_OP || n->op->atom != ATOM_TMA_LOAD || n->op->res != r) continue;
            int mc = n->op->multicast;
            if (n->op->issue_first) {
                if (k->cluster.m == 1) mc &= ~1;
                if (k->cluster.n == 1) mc &= ~2;
                *first |= mc == 3 ? 4 : mc;
            } else if (mc == WEIR_MULTICAST_MN) axes |= 3;
            else if (mc && axes && (axes & mc) != mc) axes |= mc, *cross = true;
            else axes |= mc;
        }
    }
    if (k->cluster.m == 1) axes &= ~1;
    if (k->cluster.n == 1) axes &= ~2;
    if (axes != 3) *cross = false;
    return axes;
}

/* The lane of r that a task takes by a loop. -1: none, or dealt to its warps. */
static int loop_lane(const weir_kernel *k, const weiri_task *t, int stride) {
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        int lane = weiri_loop_lane(k, t, n, stride);
        if (lane >= 0) return lane;
    }
    return -1;
}

/* One load along m beside another along n: the union of row and column, unless a load serves their whole product. */
static void also_serves(weiri_proto_in *in, int axes, bool cross) {
    bool whole = (axes == 3 && !cross) || (in->serve == 3 && !in->serve_cross);
    in->serve |= axes;
    in->serve_cross = in->serve == 3 && !whole;
}

static const weir_res *storage_of(const weir_res *r) {
    while (r->storage) r = r->storage;
    return r;
}

int weiri_alias_of(const weir_kernel *k, const weir_res *r, int *phase) {
    for (int g = 0; g < k->aliases.n; g++)
        for (int f = 0; f < k->aliases.v[g].n; f++)
            for (int i = 0; i < k->aliases.v[g].phase[f].n; i++)
                if (k->aliases.v[g].phase[f].res[i] == r) {
                    *phase = f;
                    return g;
                }
    *phase = -1;
    return -1;
}

/* Does TMA fill the bytes of r again: as r's own, as another's with the same storage, or as those of a mate in an alias group? */
static bool tma_refills(const weir_kernel *k, const weir_res *r) {
    int phase;
    if (weiri_filled_by_tma(r->pipe.given.type)) return true; /* whatever it is: a body may bring the bytes */
    const int alias = weiri_alias_of(k, storage_of(r), &phase);
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *m = k->res.v[i];
        if (!weiri_in_smem(m) || !weiri_filled_by_tma(m->pipe.given.type)) continue;
        if (storage_of(m) == storage_of(r) || (alias >= 0 && weiri_alias_of(k, storage_of(m), &phase) == alias)) return true;
    }
    return false;
}

/* Does the task close a stage of r with `stage`? */
static bool closes(const weiri_task *t, const weir_res *r, weiri_stage stage) {
    const weir_res *g = r->group;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n))
        if (n->kind == NODE_OP && n->op->stage == stage && (n->op->res == r || (g && n->op->res == g))) return true;
    return false;
}

/* Does a task that closes a stage of r with `stage` hand on, by that, what it has read by plain loads of a stage that others give
 * back? */
static bool relays(const weir_kernel *k, const weir_res *r, weiri_stage stage) {
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_task *t = k->tasks.v[ti];
        if (!closes(t, r, stage)) continue;
        for (int i = 0; i < k->res.n; i++) {
            const weir_res *m = k->res.v[i];
            if (!weiri_in_smem(m) || closes(t, m, STAGE_CONS_RELEASE) || !(reads_by(k, t, m) & READ_THREADS)) continue;
            if (tma_refills(k, m)) return true;
        }
    }
    return false;
}

/* closes(), of the tasks that take that lane of the work tiles, or all of them; -1: whatever lane. */
static bool closes_lane(const weiri_task *t, const weir_res *r, weiri_stage stage, int tile_lane) {
    const weiri_node *tiles = weiri_lanes_of(t);
    return closes(t, r, stage) && (tile_lane < 0 || !tiles || tiles->lane == tile_lane);
}

/* Does one CTA of a cluster of several run the task? */
static bool on_one_cta(const weir_kernel *k, const weiri_task *t) {
    const int size[4] = { k->cluster.v, k->cluster.m, k->cluster.n, k->cluster.k };
    if (!t->on_cta || size[0] * size[1] * size[2] * size[3] == 1) return false;
    for (int i = 0; i < 4; i++)
        if (size[i] > 1 && t->cta[i] < 0) return false;
    return true;
}

/* The same in one CTA of the cluster. */
static bool closes_at(const weir_kernel *k, const weiri_task *t, const weir_res *r, weiri_stage stage, int rank) {
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n))
        if (n->kind == NODE_OP && n->op->stage == stage && n->op->res == r && weiri_push_comes(k, t, n, rank)) return true;
    return false;
}

/* The side of the pipeline that closes with `stage`: tasks, warps, warpgroups that do it. Tasks of other lanes of the work tiles
 * than `tile_lane` fill or empty other stages; -1: there are no lanes. */
static weiri_pside side_of_lane(const weiri_plan *p, const weir_res *r, weiri_stage stage, int tile_lane) {
    const weir_kernel *k = p->k;
    weiri_pside s = { .dealt = tile_lane >= 0 };
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_task *t = k->tasks.v[ti];
        if (!closes_lane(t, r, stage, tile_lane)) continue;
        s.tasks++;
        s.warps += t->num_warps;
        if (p->tasks[ti].wg_actor) s.warpgroups += p->tasks[ti].warpgroups;
        if (t->num_warps > s.max_warps_of_a_task) s.max_warps_of_a_task = t->num_warps;
        if (on_one_cta(k, t)) s.one_cta_tasks++, s.one_cta_warps += t->num_warps;
        int stride = r->pipe.given.interleave[stage == STAGE_PROD_COMMIT ? 1 : 3], lane = loop_lane(k, t, stride);
        for (int i = 0; i < ti; i++) /* one that an earlier task has, too, is counted there */
            if (closes_lane(k->tasks.v[i], r, stage, tile_lane) && loop_lane(k, k->tasks.v[i], stride) == lane) lane = -1;
        s.domain_lanes += lane >= 0;
    }
    return s;
}

/* A side in words: all that two of them may differ in. */
static const char *side_text(weiri_plan *p, const weiri_pside *s) {
    return weiri_arena_fmt(&p->a, "%d warp%s of %d task%s%s", s->warps, s->warps == 1 ? "" : "s", s->tasks,
                           s->tasks == 1 ? "" : "s", s->warpgroups ? " by warpgroups" : "");
}

/* Lanes of the work tiles that share the side take the stages in turn: a phase counts one lane's arrivals, so all must bring as
 * many. */
static weiri_pside side_of(weiri_plan *p, const weir_res *r, weiri_stage stage) {
    const weir_kernel *k = p->k;
    const weiri_task *first = NULL;
    bool dealt = r->kind != WEIR_RES_QUEUE && weiri_side_dealt(k, r, stage == STAGE_PROD_COMMIT);
    for (int i = 0; i < k->tasks.n && dealt && !first; i++)
        if (weiri_lanes_of(k->tasks.v[i]) && closes(k->tasks.v[i], r, stage)) first = k->tasks.v[i];
    if (!first) return side_of_lane(p, r, stage, -1);
    weiri_pside s = side_of_lane(p, r, stage, weiri_lanes_of(first)->lane);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (!weiri_lanes_of(t) || !closes(t, r, stage)) continue;
        weiri_pside x = side_of_lane(p, r, stage, weiri_lanes_of(t)->lane);
        if (x.warps == s.warps && x.warpgroups == s.warpgroups && x.tasks == s.tasks) continue;
        weir_finding *f = weiri_find(&p->findings, "V-CNT-06", weiri_place_of(&r->at),
                                     "pipeline '%s': lanes of the work tiles bring unequal arrivals to a phase", r->name);
        f->expected = weiri_arena_fmt(&p->a, "%s, as lane %d has", side_text(p, &s), weiri_lanes_of(first)->lane);
        f->got = weiri_arena_fmt(&p->a, "%s of lane %d", side_text(p, &x), weiri_lanes_of(t)->lane);
        f->hint = "give each lane as many tasks and warps";
        f->objects[0] = r->name;
        break;
    }
    return s;
}

/* Both sides of what CTAs push to each other: of the CTAs that send those that fill, of those that receive those that empty, which
 * must be as many everywhere. */
static weiri_pside side_of_push(weiri_plan *p, const weir_res *r, weiri_stage stage, const weiri_pushes *s) {
    const weir_kernel *k = p->k;
    weiri_pside first = { 0 };
    int at = -1;
    for (int rank = 0; rank < p->cluster; rank++) {
        int here = stage == STAGE_PROD_COMMIT ? rank : s->dest[rank];
        if (s->dest[rank] < 0) continue;
        weiri_pside x = { 0 };
        for (int t = 0; t < k->tasks.n; t++) {
            const weiri_task *task = k->tasks.v[t];
            if (!closes_at(k, task, r, stage, here)) continue;
            x.tasks++;
            x.warps += task->num_warps;
            if (p->tasks[t].wg_actor) x.warpgroups += p->tasks[t].warpgroups;
            if (task->num_warps > x.max_warps_of_a_task) x.max_warps_of_a_task = task->num_warps;
        }
        if (at < 0) first = x, at = here;
        if (x.tasks == first.tasks && x.warps == first.warps && x.warpgroups == first.warpgroups) continue;
        weir_finding *f = weiri_find(&p->findings, "PLAN-PUSH", weiri_place_of(&r->at),
                                     "'%s' is %s by %s in CTA %d, by %s in CTA %d", r->name,
                                     stage == STAGE_PROD_COMMIT ? "filled" : "emptied", side_text(p, &first), at,
                                     side_text(p, &x), here);
        f->hint = "let as many warps do it in every CTA that pushes, and in every CTA that is pushed to";
        f->objects[0] = r->name;
        break;
    }
    return first;
}

/* Bytes that the copies bring to one CTA per stage of r: what it must arm. Tasks fill a stage together, unless they are lanes that
 * fill stages in turn. */
static int64_t landed_bytes(weiri_plan *p, const weir_res *r) {
    const weir_kernel *k = p->k;
    int64_t sum = 0, lane_most = 0;
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_task *t = k->tasks.v[ti];
        int64_t open = 0, most = 0;
        bool lane = loop_lane(k, t, r->pipe.given.interleave[1]) >= 0;
        for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
            if (n->kind == NODE_TILES && n->lanes > 1) lane = true;
            if (n->kind != NODE_OP) continue;
            const weiri_op *op = n->op;
            if (op->stage == STAGE_PROD_ACQUIRE && op->res == r) open = 0;
            if (op->res != r || (op->stage != STAGE_PROD_WORK)) continue;
            if (op->atom == ATOM_TMA_LOAD) open += weiri_tile_bytes(r);
            if (op->atom == ATOM_CUSTOM) open += op->work->tx_bytes;
            if (op->atom == ATOM_QUEUE_FETCH) open += 16;
            if (open > most) most = open;
        }
        if (!lane) sum += most;
        else if (most > lane_most) lane_most = most;
    }
    return sum + lane_most;
}

/* What fills the stages of r by threads, seen by the work; in a fork any member's work fills the one stage. */
static bool fills(const weir_res *r, const weiri_op *op) {
    bool mine = op->res == r || (r->group && r->group->mode == WEIR_GROUP_FORK && op->res->group == r->group);
    return mine && op->stage == STAGE_PROD_WORK;
}

/* thread, or load where cp.async alone fills the stage. What is given is held against the work: one commit arrives either when its
 * threads come to it or when their copies land. */
static weir_producer_op producer_op(weiri_plan *p, const weir_res *r, bool say) {
    const weir_kernel *k = p->k;
    const weir_pipe_desc *d = &r->pipe.given;
    if (d->type != WEIR_ASYNC_ASYNC && d->type != WEIR_ASYNC_UMMA) return d->producer_op;
    const weiri_op *load = NULL, *other = NULL;
    bool body = false;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n)) {
            if (n->kind != NODE_OP || !fills(r, n->op)) continue;
            if (n->op->atom == ATOM_CP_ASYNC) load = load ? load : n->op;
            else if (n->op->atom == ATOM_CUSTOM) body = true; /* may do either */
            else other = other ? other : n->op;
        }
    weir_producer_op op = d->producer_op ? d->producer_op : load && !other && !body ? WEIR_PRODUCER_LOAD : WEIR_PRODUCER_THREAD;
    const weiri_op *wrong = load && other ? other : op == WEIR_PRODUCER_LOAD ? other : load;
    if (!wrong || !say || (!d->producer_op && !other)) return op; /* a body beside cp.async may do either */
    if (r->group && r->group->mode == WEIR_GROUP_FORK && r->member > 0) return op; /* said of the first */
    bool both = load && other;
    weir_finding *f =
        both ? weiri_find(&p->findings, "CN7", weiri_place_of(&wrong->at),
                          "pipeline '%s': the stage is filled by cp_async and by %s", r->name, weiri_atom_name(other->atom))
             : weiri_find(&p->findings, "CN7", weiri_place_of(&wrong->at),
                          "pipeline '%s': producer_op is \"%s\", but %s fills the stage", r->name,
                          op == WEIR_PRODUCER_LOAD ? "load" : "thread", weiri_atom_name(wrong->atom));
    f->objects[0] = r->name;
    if (both) weiri_second_place(f, &load->at, "the cp_async");
    else weiri_second_place(f, &r->at, "declared here"), f->expected = load ? "load" : "thread", f->got = load ? "thread" : "load";
    f->hint = both ? "fill a stage in one way, or take a pipeline for each: its commit arrives when the threads come, or when "
                     "their copies land"
                   : "leave producer_op out: it follows from the work";
    return op;
}

/* Was the same said of a member before it in its group? What they share is one mistake. */
static bool told_of_mate(const weiri_proto *protos, const weir_res *r, const char *text) {
    for (int i = 0; r->group && i < r->member; i++) {
        const weiri_proto *mate = &protos[r->group->members[i]->index];
        for (int j = 0; j < mate->nfaults; j++)
            if (strcmp(mate->fault[j].text, text) == 0) return true;
    }
    return false;
}

static void add_pipe(weiri_plan *p, const weir_res *r, weiri_proto *protos) {
    const weir_kernel *k = p->k;
    weiri_proto_in in = { .given = r->pipe.given, .arch = k->arch, .cluster = k->cluster };
    weir_pipe_type type = r->pipe.given.type;
    bool missing = false; /* counts and bytes are checked all the same */
    for (int i = 0; i < 4 && !missing; i += 2) {
        int open = in.given.interleave[i] > 1 ? in.given.interleave[i] : 1,
            close = in.given.interleave[i + 1] > 1 ? in.given.interleave[i + 1] : 1;
        if (open == close) continue;
        missing = true;
        weir_finding *f = weiri_find(&p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&r->at),
                                     "pipeline '%s': %s by %d lane%s and %s by %d cannot be built yet", r->name,
                                     i ? "wait" : "acquire", open, open == 1 ? "" : "s", i ? "release" : "commit", close);
        f->hint = "one number for both";
    }
    in.given.producer_op = producer_op(p, r, true);
    in.producer = side_of(p, r, STAGE_PROD_COMMIT);
    in.consumer = side_of(p, r, STAGE_CONS_RELEASE);
    const weiri_pushes pushes = weiri_push_find(p, r);
    const int by = readers(k, r);
    in.consumer.only_mma_reads = only_mma_reads(by);
    in.consumer.async_reads = async_reads(by);
    in.fence_release = (by & READ_THREADS && (pushes.senders > 0 || tma_refills(k, r))) || relays(k, r, STAGE_CONS_RELEASE);
    in.fence_commit = in.fence_acquire = relays(k, r, STAGE_PROD_COMMIT);
    in.serve = serve_axes(k, r, &in.serve_cross, &in.first);
    int own_serve = in.serve;
    for (int i = 0; r->group && i < r->group->nmembers; i++) {
        /* a shared empty barrier answers for every member, an empty barrier of a fork for every load into the same bytes */
        const weir_res *m = r->group->members[i];
        bool cross, fork = r->group->mode == WEIR_GROUP_FORK;
        int first, axes = serve_axes(k, m, &cross, &first);
        if (!fork || storage_of(m) == storage_of(r)) also_serves(&in, axes, cross), in.first |= first;
        const int of = readers(k, m);
        if (!fork) in.consumer.only_mma_reads = in.consumer.only_mma_reads && only_mma_reads(of);
        bool tensor = m->pipe.given.type == WEIR_UMMA_ASYNC;
        in.tensor_wait = in.tensor_wait || (tensor && r->group->mode == WEIR_GROUP_FUSED_MERGE);
        in.tensor_release = in.tensor_release || (tensor && !fork);
        in.fence_release = in.fence_release || (!fork && of & READ_THREADS && tma_refills(k, m));
        bool copied = producer_op(p, m, false) == WEIR_PRODUCER_LOAD && async_reads(of);
        in.fence_wait = in.fence_wait || (copied && r->group->mode == WEIR_GROUP_FUSED_MERGE);
    }
    for (int i = 0; r->group && r->group->mode == WEIR_GROUP_FORK && i < r->group->nmembers; i++) {
        const weir_res *m = r->group->members[i];
        weir_pipe_type t = m->pipe.given.type;
        if (t == WEIR_TMA_UMMA || t == WEIR_ASYNC_UMMA || t == WEIR_UMMA_UMMA || async_reads(readers(k, m))) in.fence_commit = true;
    }
    in.tx = landed_bytes(p, r);
    if (pushes.senders) {
        in.senders = pushes.senders;
        memcpy(in.dest, pushes.dest, sizeof in.dest);
        in.tx = pushes.bytes * pushes.senders;
        in.producer = side_of_push(p, r, STAGE_PROD_COMMIT, &pushes);
        weiri_pside consumer = side_of_push(p, r, STAGE_CONS_RELEASE, &pushes);
        consumer.only_mma_reads = in.consumer.only_mma_reads;
        consumer.async_reads = in.consumer.async_reads;
        in.consumer = consumer;
    }
    if (type == WEIR_ASYNC_TMA) {
        int ti = -1;
        bool same = in.producer.tasks == 1 && in.consumer.tasks == 1;
        for (int i = 0; i < k->tasks.n && same; i++)
            for (const weiri_node *n = weiri_node_next(k->tasks.v[i]->root, NULL); n;
                 n = weiri_node_next(k->tasks.v[i]->root, n))
                if (n->kind == NODE_OP && n->op->res == r && n->op->atom == ATOM_NONE) {
                    if (ti >= 0 && ti != i) same = false;
                    ti = i;
                }
        in.same_warpgroup = same && p->tasks[ti].wg_actor; /* the one task of each side has moves: it is never in a group */
    }
    weiri_proto *pr = &protos[r->index];
    weiri_protocol(&in, pr);
    for (int i = 0; i < pr->nfaults; i++) {
        if (told_of_mate(protos, r, pr->fault[i].text)) continue;
        weir_finding *f =
            weiri_find(&p->findings, pr->fault[i].rule, weiri_place_of(&r->at), "pipeline '%s': %s", r->name, pr->fault[i].text);
        if (pr->fault[i].expected[0]) f->expected = weiri_arena_str(&p->a, pr->fault[i].expected);
        if (pr->fault[i].got[0]) f->got = weiri_arena_str(&p->a, pr->fault[i].got);
        f->objects[0] = r->name;
        if (r->group && r->group->asked.type) weiri_second_place(f, &r->group->at, "its group's pipeline");
        if (strcmp(pr->fault[i].rule, "PLAN-ARCH") != 0) continue;
        f->hint = "sm_80 has async_async";
        missing = true;
    }
    if (missing) return;
    weiri_ppipe pp = { .res = r,
                       .type = type,
                       .stages = in.given.stages,
                       .full = -1,
                       .empty = -1,
                       .region = -1,
                       .tx = pushes.senders ? pushes.bytes : in.tx * (type == WEIR_TMA_UMMA && weiri_tc_pair(k) ? k->cluster.v : 1),
                       .serve = own_serve,
                       .cross = in.serve_cross };
    if (pushes.senders) {
        int8_t *dest = WEIRI_NEW_N(&p->a, int8_t, WEIRI_MAX_CTAS);
        memcpy(dest, pushes.dest, sizeof pushes.dest);
        pp.dest = dest;
    }
    WEIRI_PUSH(&p->a, p->pipes, pp);
}

static int push_bar(weiri_plan *p, const char *name, int stages, int count, int64_t tx, const char *sum, bool full,
                    bool remote) {
    weiri_bar b = { .name = name, .stages = stages, .count = count, .tx = tx, .sum = sum, .full = full, .remote = remote };
    WEIRI_PUSH(&p->a, p->bars, b);
    return p->bars.n - 1;
}

/* Arrivals of so many CTAs in each; where none come nobody waits, and it counts as if one did. */
static void count_by_rank(weiri_plan *p, int bar, int unit, const uint8_t *from) {
    int *counts = WEIRI_NEW_N(&p->a, int, p->cluster);
    bool differ = false;
    for (int i = 0; i < p->cluster; i++) {
        counts[i] = unit * (from[i] ? from[i] : 1);
        differ = differ || counts[i] != counts[0];
    }
    p->bars.v[bar].count = counts[0];
    if (differ) p->bars.v[bar].counts = counts;
}

static int push_empty(weiri_plan *p, const char *name, int stages, const weiri_proto *pr) {
    int bar = push_bar(p, name, stages, pr->empty_count, 0, weiri_arena_str(&p->a, pr->empty_sum), false, p->cluster > 1);
    if (pr->uneven) count_by_rank(p, bar, pr->empty_unit, pr->sources);
    return bar;
}

/* One bar per barrier run: own full and empty, or a group's shared ones. */
static void make_bars(weiri_plan *p, const weiri_proto *protos) {
    const weir_kernel *k = p->k;
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind == WEIR_RES_GROUP) {
            bool shared_full = r->mode != WEIR_GROUP_MERGE, shared_empty = r->mode != WEIR_GROUP_FORK;
            int nfull = 0;
            int64_t tx = 0;
            weiri_buf sum;
            weiri_buf_init(&sum, p->k->ctx);
            bool ok = true;
            for (int m = 0; m < r->nmembers; m++) {
                const weir_res *b = r->members[m];
                if (weiri_pipe_of(p, b) < 0) ok = false;
                if (!ok) break;
                const weiri_proto *pr = &protos[b->index];
                const weiri_ppipe *pp = &p->pipes.v[weiri_pipe_of(p, b)];
                if (r->mode == WEIR_GROUP_FUSED_MERGE) {
                    tx += pp->tx;
                    if (m > 0 && weiri_folds(p, r)) continue; /* the first one's arrival arms its bytes, too */
                    nfull += pr->full_count;
                    weiri_put(&sum, "%s%s of %s", m ? " + " : "", pr->full_sum, b->name);
                } else if (r->mode == WEIR_GROUP_FORK && m == 0) {
                    nfull = pr->full_count;
                    weiri_put(&sum, "%s", pr->full_sum);
                }
                if (r->mode == WEIR_GROUP_FORK && pp->tx > tx) tx = pp->tx;
            }
            /* in the order of the group's own run of barriers; a shared one is the first's that has it there */
            int s = r->members[0]->pipe.given.stages, n = r->nmembers;
            for (int e = 0; ok && e < weir_group_barriers_per_stage(r); e++) {
                int bar = -1;
                for (int m = 0; m < n; m++) {
                    const weir_res *b = r->members[m];
                    const weiri_proto *pr = &protos[b->index];
                    bool full = weiri_group_full(r->mode, n, 1, m, 0) == e, empty = weiri_group_empty(r->mode, n, 1, m, 0) == e;
                    if (!full && !empty) continue;
                    bool shared = full ? shared_full : shared_empty;
                    const char *name = bar >= 0  ? NULL
                                       : shared ? weiri_arena_fmt(&p->a, "%s_%s", r->name, full ? "full" : "empty")
                                                : weiri_arena_fmt(&p->a, "%s_%s_%s", r->name, b->name, full ? "full" : "empty");
                    weiri_ppipe *pp = &p->pipes.v[weiri_pipe_of(p, b)];
                    if (bar < 0 && empty) bar = push_empty(p, name, s, pr);
                    else if (bar < 0 && shared) bar = push_bar(p, name, s, nfull, tx, weiri_arena_str(&p->a, sum.s), true, false);
                    else if (bar < 0)
                        bar = push_bar(p, name, s, pr->full_count, pp->tx, weiri_arena_str(&p->a, pr->full_sum), true, false);
                    if (full) pp->full = bar;
                    else pp->empty = bar;
                }
            }
            weiri_buf_free(&sum);
        } else if (!r->group && weiri_pipe_of(p, r) >= 0) {
            const weiri_proto *pr = &protos[r->index];
            weiri_ppipe *pp = &p->pipes.v[weiri_pipe_of(p, r)];
            if (pr->has_full)
                pp->full = push_bar(p, weiri_arena_fmt(&p->a, "%s_full", r->name), pp->stages, pr->full_count,
                                    pp->dest ? pr->full_tx : pp->tx, weiri_arena_str(&p->a, pr->full_sum), true, pp->dest != NULL);
            if (pp->dest) count_by_rank(p, pp->full, pr->full_unit, pr->senders);
            if (pr->has_empty) pp->empty = push_empty(p, weiri_arena_fmt(&p->a, "%s_empty", r->name), pp->stages, pr);
        }
    }
}

static void asked(weiri_plan *p, const weir_res *g, const char *rule, const char *field, int64_t given, int64_t made) {
    if (!given || given == made) return;
    weir_finding *f = weiri_find(&p->findings, rule, weiri_place_of(&g->at),
                                 "group '%s': %s = %" PRId64 ", but its members make %" PRId64, g->name, field, given, made);
    f->objects[0] = g->name;
    f->expected = weiri_arena_fmt(&p->a, "%" PRId64, made);
    f->got = weiri_arena_fmt(&p->a, "%" PRId64, given);
    f->hint = "leave it out: it is derived";
}

/* A group's own pipeline: what it gives of sums that only the plan knows. (What is no sum, the members have inherited.) */
static void check_asked(weiri_plan *p, const weiri_proto *protos) {
    for (int i = 0; i < p->k->res.n; i++) {
        const weir_res *g = p->k->res.v[i];
        if (g->kind != WEIR_RES_GROUP || !g->asked.type) continue;
        int64_t producers = 0, consumers = 0, bytes = 0;
        bool fork = g->mode == WEIR_GROUP_FORK, planned = true;
        for (int m = 0; m < g->nmembers; m++) {
            const weiri_proto *pr = &protos[g->members[m]->index];
            planned = planned && weiri_pipe_of(p, g->members[m]) >= 0;
            producers += pr->full_count;
            consumers += pr->empty_count;
            bytes = !fork ? bytes + pr->expect_bytes : pr->expect_bytes > bytes ? pr->expect_bytes : bytes;
        }
        if (!planned) continue;
        asked(p, g, "V-GRP-04", "bytes", g->asked.bytes, bytes);
        if (fork) asked(p, g, "G-CFG-13", "consumers", g->asked.consumers, consumers);
        else asked(p, g, "G-CFG-13", "producers", g->asked.producers, producers);
    }
}

/* With v = 2 members that share a barrier must have it in the same CTAs: the leader's, or each CTA its own. */
static void check_pairs_groups(weiri_plan *p) {
    const weir_kernel *k = p->k;
    for (int i = 0; i < k->res.n && weiri_tc_pair(k); i++) {
        const weir_res *g = k->res.v[i], *first = g->kind == WEIR_RES_GROUP ? g->members[0] : NULL;
        for (int m = 1; first && m < g->nmembers; m++) {
            weir_pipe_type x = first->pipe.given.type, y = g->members[m]->pipe.given.type;
            bool full = g->mode != WEIR_GROUP_MERGE && weiri_tc_leaders_full(k, x) != weiri_tc_leaders_full(k, y);
            bool empty = g->mode != WEIR_GROUP_FORK && (x == WEIR_UMMA_ASYNC) != (y == WEIR_UMMA_ASYNC);
            if (!full && !empty) continue;
            weir_finding *f =
                weiri_find(&p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&g->at),
                           "group '%s': with v = 2 the %s barriers of '%s' (%s) are %s, those of '%s' (%s) %s", g->name,
                           full ? "full" : "empty", first->name, weiri_pipe_type_name(x),
                           (full ? weiri_tc_leaders_full(k, x) : x == WEIR_UMMA_ASYNC) ? "the leader CTA's" : "each CTA's own",
                           g->members[m]->name, weiri_pipe_type_name(y),
                           (full ? weiri_tc_leaders_full(k, y) : y == WEIR_UMMA_ASYNC) ? "the leader CTA's" : "each CTA's own");
            f->objects[0] = g->name;
            f->hint = "leave the two out of one group, or v = 1";
            break;
        }
    }
}

/* ---- shared memory ------------------------------------------------------------------------------------------------------- */

static int64_t round_up(int64_t x, int64_t a) { return (x + a - 1) / a * a; }

/* Whom "what fits" is about: the largest tile of a pipeline with stages to spare, else the largest tile. */
static const weiri_region *largest(const weiri_plan *p, int stages) {
    const weiri_region *out = NULL;
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as < 0 && g->stages >= stages && (!out || g->size > out->size)) out = g;
    }
    return out;
}

/* "what fits": the most stages of the largest pipeline (or group) with which the kernel would fit. */
static void over_capacity(weiri_plan *p) {
    const weir_kernel *k = p->k;
    const weiri_region *big = largest(p, 2);
    bool one = !big; /* stages to take away: none */
    if (one) big = largest(p, 1);
    const weir_res *who = big ? big->res : NULL;
    weiri_buf b;
    weiri_buf_init(&b, k->ctx);
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as < 0) weiri_put(&b, "%s%s %d x %" PRId64, b.n ? ", " : "", g->name, g->stages, g->stage_bytes);
    }
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(who ? &who->at : &k->at),
                   "kernel '%s' needs %" PRId64 " bytes of shared memory, the target has %" PRId64 ": %" PRId64
                   " too many (%s%smbarriers %" PRId64 ")",
                   k->name, p->smem_total, p->smem_capacity, p->smem_total - p->smem_capacity, b.s ? b.s : "", b.n ? ", " : "",
                   p->smem_barrier);
    weiri_buf_free(&b);
    f->expected = weiri_arena_fmt(&p->a, "at most %" PRId64 " bytes", p->smem_capacity);
    f->got = weiri_arena_fmt(&p->a, "%" PRId64 " bytes", p->smem_total);
    if (!who) return;
    int64_t per_stage = 0, with_bars = 0; /* bytes of a stage: of its tiles; of its mbarriers too */
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as >= 0) continue;
        if (g->res == who || (who->group && g->res->group == who->group)) per_stage += g->stage_bytes;
    }
    for (int i = 0; i < p->bars.n; i++) {
        bool with = false;
        for (int j = 0; j < p->pipes.n; j++) {
            const weiri_ppipe *pipe = &p->pipes.v[j];
            with = with || ((pipe->full == i || pipe->empty == i) &&
                            (pipe->res == who || (who->group && pipe->res->group == who->group)));
        }
        if (with) with_bars += 8;
    }
    with_bars += per_stage; /* stages are multiples of their alignment: no bytes between tiles come or go with one */
    int64_t over = p->smem_total - p->smem_capacity;
    int stages = who->pipe.given.stages;
    int64_t cut = (over + with_bars - 1) / with_bars;
    const char *name = who->group ? who->group->name : who->name;
    if (!one && cut < stages)
        f->hint =
            weiri_arena_fmt(&p->a, "stages = %d of '%s' fits (%" PRId64 " bytes a stage)", stages - (int)cut, name, per_stage);
    else
        f->hint =
            weiri_arena_fmt(&p->a, "not even one stage of '%s' (%" PRId64 " bytes) fits: take smaller tiles", name, per_stage);
}

/* The widest swizzle that rows of so many bytes can have; the next mma reads what this one left, and takes no rows without. */
static int widest_swizzle(int row_bytes) {
    return row_bytes % 128 == 0 ? 128 : row_bytes % 64 == 0 ? 64 : row_bytes % 32 == 0 ? 32 : 0;
}

/* Do only threads fill and read the tile, by stores and loads of values? Then its rows may have any width. Tiles that share their
 * bytes have one layout. */
static bool threads_alone(const weir_kernel *k, const weir_res *r) {
    if (r->storage) return false;
    for (int i = 0; i < k->res.n; i++)
        if (k->res.v[i]->storage == r) return false;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[t]->root, n));) {
            if (n->kind != NODE_OP) continue;
            const weiri_op *op = n->op;
            bool plain = op->atom == ATOM_NONE || op->atom == ATOM_STORE || op->atom == ATOM_READ || op->atom == ATOM_LOAD ||
                         (op->atom == ATOM_CUSTOM && !op->work->async_read && !op->work->tx_bytes);
            if (plain) continue;
            if (op->res == r) return false;
            for (int i = 0; i < op->nargs; i++)
                if (weiri_view_base(k, op->arg[i]) == r) return false;
        }
    return true;
}

static void place_smem(weiri_plan *p) {
    const weir_kernel *k = p->k;
    weiri_item *item = WEIRI_NEW_N(&p->a, weiri_item, k->res.n + 1);
    int n = 0;
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (!in_smem(k, r)) continue;
        char why[256];
        weiri_tile_geom g;
        weir_dtype dtype = r->kind == WEIR_RES_TMEM ? spilled_dtype(k, r) : r->dtype;
        if (weiri_dynamic(r)) {
            weiri_region slot = { .res = r,
                                  .name = r->name,
                                  .align = 16,
                                  .stages = r->pipe.given.stages,
                                  .stage_bytes = 16,
                                  .size = 16 * (int64_t)r->pipe.given.stages,
                                  .dtype = WEIR_I32,
                                  .same_as = -1,
                                  .phase = -1 };
            item[n++] = (weiri_item){ .name = r->name, .size = slot.size, .align = slot.align, .group = -1, .phase = -1 };
            WEIRI_PUSH(&p->a, p->smem, slot);
            continue;
        }
        int swizzle = r->kind != WEIR_RES_TMEM ? r->swizzle : widest_swizzle(r->tile[1] * weir_dtype_size(dtype));
        bool threads = false, smem = r->kind == WEIR_RES_SMEM;
        bool fits = weiri_layout_tile(dtype, r->tile, r->rank, swizzle, smem, &g, why, sizeof why);
        if (!fits && threads_alone(k, r)) { /* nothing new of a body's tile, which TMA does not fill either */
            char other[256];
            threads = fits = weiri_layout_tile(dtype, r->tile, r->rank, swizzle, false, &g, other, sizeof other);
        }
        if (!fits) {
            weir_finding *f = weiri_find(&p->findings, "PLAN-SWIZZLE", weiri_place_of(&r->at), "tile '%s': %s", r->name, why);
            f->objects[0] = r->name;
            continue;
        }
        weiri_region reg = { .res = r,
                             .name = r->name,
                             .align = g.align,
                             .stages = r->pipe.given.stages > 0 ? r->pipe.given.stages : 1,
                             .stage_bytes = weiri_layout_stage_bytes(&g),
                             .dtype = dtype,
                             .swizzle = swizzle,
                             .same_as = -1,
                             .phase = -1,
                             .threads = threads };
        reg.size = reg.stage_bytes * reg.stages;
        if (r->storage) {
            reg.same_as = -2; /* filled in below */
        } else {
            const int ag = weiri_alias_of(k, r, &reg.phase);
            item[n++] = (weiri_item){ .name = r->name, .size = reg.size, .align = reg.align, .group = ag, .phase = reg.phase };
        }
        WEIRI_PUSH(&p->a, p->smem, reg);
    }
    char why[256] = "";
    int64_t total = weiri_layout_place(item, n, k->aliases.n, why, sizeof why);
    if (total < 0) {
        weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&k->at), "shared memory of kernel '%s': %s", k->name, why);
        total = 0;
    }
    for (int i = 0, at = 0; i < p->smem.n; i++)
        if (p->smem.v[i].same_as == -1) p->smem.v[i].offset = item[at++].offset;
    for (int i = 0; i < p->smem.n; i++) {
        weiri_region *g = &p->smem.v[i];
        if (g->same_as != -2) continue;
        g->same_as = weiri_region_of(p, g->res->storage);
        if (g->same_as < 0) {
            weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&g->res->at), "'%s' shares the storage of '%s', which has none",
                       g->name, g->res->storage->name);
            g->same_as = -1;
            continue;
        }
        g->offset = p->smem.v[g->same_as].offset;
    }
    for (int i = 0; i < p->pipes.n; i++) p->pipes.v[i].region = weiri_region_of(p, p->pipes.v[i].res);
    p->smem_data = total;
}

/* Where the first pipeline that uses a run of mbarriers is declared: one does. */
static const weir_place *maker_of(const weiri_plan *p, int bar) {
    const weiri_ppipe *x = p->pipes.v;
    while (x->full != bar && x->empty != bar) x++;
    return weiri_place_of(&x->res->at);
}

static void place_barriers(weiri_plan *p) {
    int n = p->bars.n;
    weiri_bar_item *item = WEIRI_NEW_N(&p->a, weiri_bar_item, n + 1);
    for (int i = 0; i < n; i++)
        item[i] = (weiri_bar_item){ .name = p->bars.v[i].name, .count = p->bars.v[i].stages, .arrivals = p->bars.v[i].count };
    weiri_bar_run *runs = WEIRI_NEW_N(&p->a, weiri_bar_run, n + 1);
    int nruns = 0;
    p->nbarriers = n ? weiri_layout_barriers(item, n, runs, &nruns) : 0;
    p->barrier_offset = weiri_layout_array(p->smem_data, p->nbarriers, &p->smem_total);
    for (int i = 0; i < n; i++) {
        p->bars.v[i].first = item[i].first;
        p->bars.v[i].offset = p->barrier_offset + 8 * (int64_t)item[i].first;
        if (p->bars.v[i].count > 1048575) /* at least 1: protocol.c counts one where nobody arrives */
            weiri_find(&p->findings, "PLAN-COUNT", maker_of(p, i),
                       "mbarrier '%s' would be initialised with %d arrivals (%s); the range is 1 to 1048575", p->bars.v[i].name,
                       p->bars.v[i].count, p->bars.v[i].sum);
        if (p->bars.v[i].tx > 1048575)
            weiri_find(&p->findings, "PLAN-TX", maker_of(p, i),
                       "mbarrier '%s' would expect %" PRId64 " bytes a phase; one phase counts at most 1048575",
                       p->bars.v[i].name, p->bars.v[i].tx);
    }
    p->smem_barrier = 8 * (int64_t)p->nbarriers;
    if (p->tmem_columns) { /* 16 bytes apart from the mbarriers: the simulator watches those in pieces of 16 */
        p->tmem_slot = round_up(p->smem_total, 16);
        p->smem_total = p->tmem_slot + 4;
    }
    p->smem_capacity = weiri_layout_capacity(p->k->arch).smem;
    if (p->smem_total > p->smem_capacity) over_capacity(p);
    /* each CTA has 1024 bytes of the system's own beside its own */
    int ctas = p->k->ctas_per_sm;
    if (ctas > 1 && (p->smem_total + 1024) * ctas > p->smem_capacity + 1024) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&p->k->at),
                       "kernel '%s': %d CTAs of %" PRId64 " bytes of shared memory do not fit an SM, which has %" PRId64,
                       p->k->name, ctas, p->smem_total, p->smem_capacity + 1024);
        f->hint = weiri_arena_fmt(&p->a, "ctas_per_sm = %" PRId64 " fits", (p->smem_capacity + 1024) / (p->smem_total + 1024));
    }
}

/* ---- warps and registers ------------------------------------------------------------------------------------------------- */

/* Do the task's threads move elements themselves, or run the author's code? What only starts copies takes few registers. */
static bool threads_work(const weiri_task *t) {
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n))
        if (n->kind == NODE_OP && (n->op->atom == ATOM_STORE || n->op->atom == ATOM_CP_ASYNC || n->op->work)) return true;
    return false;
}

/* Boxes that the task's copies by TMA start in one round, about: a tile is cut into swizzle spans. Each has an address of its
 * own. */
static int boxes_of(const weiri_task *t) {
    int n = 0;
    for (const weiri_node *i = weiri_node_next(t->root, NULL); i; i = weiri_node_next(t->root, i)) {
        if (i->kind != NODE_OP || i->op->atom != ATOM_TMA_LOAD) continue;
        const weir_res *r = i->op->res;
        const int row = r->tile[r->rank - 1] * weir_dtype_size(r->dtype);
        n += r->swizzle > 0 && row > r->swizzle ? row / r->swizzle : 1;
    }
    return n;
}

/* The split where nobody asks: loaders give up what mathematics needs. Threads that copy keep 128 while the tiles of the
 * mathematics leave them; they would spill with what a loader by TMA is left with. */
static bool derive_registers(const weiri_plan *p, int entry, int *want) {
    enum { MOST = 240, COPYING = 128, BESIDE_TILES = 112, FEW_BOXES = 6, MANY_BOXES = 16 };
    const weir_kernel *k = p->k;
    int nwg = p->warps / 4, nmath = 0, nbusy = 0, tiles[8] = { 0 }, largest = 0;
    bool math[8] = { false }, busy[8] = { false }, boxes = false;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        boxes = boxes || (!p->tasks[i].wg_actor && boxes_of(t) > FEW_BOXES);
        for (int w = t->first_warp / 4; w <= (t->first_warp + t->num_warps - 1) / 4; w++) {
            if (p->tasks[i].wg_actor) nmath += !math[w], math[w] = true;
            else if (threads_work(t)) nbusy += !busy[w], busy[w] = true;
        }
    }
    if (nwg < 3 || !nmath || nmath == nwg) return false;
    for (bool more = nbusy > 0; more;) { /* a task has one number */
        more = false;
        for (int i = 0; i < k->tasks.n; i++) {
            const int first = k->tasks.v[i]->first_warp / 4, last = (k->tasks.v[i]->first_warp + k->tasks.v[i]->num_warps - 1) / 4;
            bool any = false;
            for (int w = first; w <= last; w++) any = any || busy[w];
            for (int w = first; w <= last && any; w++)
                if (!busy[w]) nbusy++, more = busy[w] = true;
        }
    }
    for (int i = 0; i < p->regs.n; i++) {
        const int w = k->tasks.v[p->regs.v[i].task]->first_warp / 4;
        tiles[w] += p->regs.v[i].per_thread;
        if (tiles[w] > largest) largest = tiles[w];
    }
    const int least = (nwg == 3 ? 40 : 32) + (boxes ? MANY_BOXES : 0);
    int copying = entry < COPYING ? entry : COPYING, high;
    for (;; copying -= 8) {
        high = (entry * nwg - least * (nwg - nmath - nbusy) - copying * nbusy) / nmath / 8 * 8;
        if (copying <= least || high >= MOST || high >= largest + BESIDE_TILES) break;
    }
    for (int w = 0; w < nwg; w++) want[w] = math[w] ? (high > MOST ? MOST : high) : busy[w] ? copying : least;
    return true;
}

static void split_registers(weiri_plan *p) {
    const weir_kernel *k = p->k;
    int warps = 0;
    for (int i = 0; i < k->tasks.n; i++) {
        int end = k->tasks.v[i]->first_warp + k->tasks.v[i]->num_warps;
        if (end > warps) warps = end;
    }
    p->warps = ceil4(warps);
    p->threads = 32 * p->warps;
    int nwg = p->warps / 4;
    if (!nwg) { /* more than 32 are refused where the task is described: X-WARP-02 */
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&k->at),
                   "kernel '%s' has no tasks; a CTA has 1 to 32 warps", k->name);
        return;
    }
    int entry = 65536 / (p->threads * k->ctas_per_sm) / 8 * 8;
    if (p->threads * k->ctas_per_sm > 2048) { /* with so many each has 32 registers */
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&k->at),
                       "kernel '%s': %d CTAs of %d threads do not fit an SM, which has 2048", k->name, k->ctas_per_sm, p->threads);
        f->hint = "lower ctas_per_sm, or take fewer warps";
        return;
    }
    p->entry_registers = entry > 255 ? 255 : entry;
    int pool = entry * nwg; /* registers per thread, summed over warpgroups */
    int want[8] = { 0 };
    int given = 0;
    const weiri_task *asks = NULL; /* the first that asks */
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (!t->registers) continue;
        if (!asks) asks = t;
        if (t->registers < 24 || t->registers > 256 || t->registers % 8) {
            weir_finding *f = weiri_find(&p->findings, "PLAN-REGS", weiri_place_of(&t->at),
                                         "task '%s' asks for %d registers per thread", t->name, t->registers);
            f->expected = "24 to 256, a multiple of 8";
            f->got = weiri_arena_fmt(&p->a, "%d", t->registers);
            f->hint = "setmaxnreg takes a multiple of 8 from 24 to 256";
            continue;
        }
        for (int w = t->first_warp / 4; w <= (t->first_warp + t->num_warps - 1) / 4; w++)
            want[w] = t->registers, given++;
    }
    if (k->arch < WEIR_ARCH_SM_90A) {
        if (asks)
            weiri_find(&p->findings, "PLAN-ARCH", weiri_place_of(&asks->at),
                       "task '%s': `registers` needs setmaxnreg, which sm_80 lacks (sm_90a and sm_100a have it)", asks->name);
        return;
    }
    if (!given && !derive_registers(p, entry, want)) return;
    int sum = 0, free_wg = 0;
    for (int w = 0; w < nwg; w++) {
        if (want[w]) sum += want[w];
        else free_wg++;
    }
    if (free_wg) { /* a warpgroup that asked for nothing keeps the entry count, or what is left */
        int left = (pool - sum) / free_wg / 8 * 8;
        int v = left < entry ? left : entry; /* 256 at most: one warpgroup alone is not free */
        for (int w = 0; w < nwg; w++)
            if (!want[w]) want[w] = v < 24 ? 24 : v, sum += want[w];
    }
    if (sum > pool) {
        weiri_buf b;
        weiri_buf_init(&b, k->ctx);
        for (int w = 0; w < nwg; w++) weiri_put(&b, "%s%d", w ? " + " : "", want[w]);
        const weir_place *at = NULL;
        for (int i = 0; i < k->tasks.n; i++)
            if (k->tasks.v[i]->registers) at = weiri_place_of(&k->tasks.v[i]->at);
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-REGS", at,
                       "register requests %s per warpgroup are %d more than the pool of %d (%d at entry x %d warpgroups)", b.s,
                       sum - pool, pool, entry, nwg);
        weiri_buf_free(&b);
        f->expected = weiri_arena_fmt(&p->a, "a sum of at most %d", pool);
        f->got = weiri_arena_fmt(&p->a, "%d", sum);
        f->hint = "setmaxnreg.inc would wait for ever: lower the largest request";
    }
    for (int w = 0; w < nwg; w++) p->reg_split[w] = want[w] == entry ? 0 : want[w];
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        int end = t->first_warp + t->num_warps;
        for (int w = t->first_warp / 4 + 1; w <= (end - 1) / 4; w++)
            if (p->reg_split[w] != p->reg_split[t->first_warp / 4]) {
                weir_finding *f = weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                                             "task '%s' has warps %d to %d, in warpgroups of %d and %d registers", t->name,
                                             t->first_warp, end - 1, want[t->first_warp / 4], want[w]);
                f->objects[0] = t->name;
                f->hint = "setmaxnreg is for whole warpgroups: give the task one warpgroup, or all of its warpgroups the same "
                          "registers";
                break;
            }
    }
    for (int i = 0; i < k->tasks.n; i++) p->tasks[i].registers = want[k->tasks.v[i]->first_warp / 4];
}

/* A register tile alone must leave its task some registers; more than that the compiler decides (it warns of spills). */
static void check_tile_registers(weiri_plan *p) {
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *g = &p->regs.v[i];
        const weiri_task *t = p->k->tasks.v[g->task];
        int have = p->tasks[g->task].registers ? p->tasks[g->task].registers : p->entry_registers;
        if (have > 255) have = 255; /* a thread names no more */
        if (have < 1 || g->per_thread < have) continue;
        weir_finding *f = weiri_find(&p->findings, "PLAN-REGS", weiri_place_of(&g->res->at),
                                     "tile '%s' takes %d registers of each thread of task '%s', which has %d", g->res->name,
                                     g->per_thread, t->name, have);
        f->expected = weiri_arena_fmt(&p->a, "fewer than %d", have);
        f->got = weiri_arena_fmt(&p->a, "%d", g->per_thread);
        f->hint = "deal a smaller tile, or more warpgroups; fewer warps in all leave each thread more registers";
        weiri_second_place(f, &t->at, "the task");
    }
}

static void name_barriers(weiri_plan *p) {
    int next = 1;
    for (int i = 0; i < p->ntasks; i++) {
        weiri_ptask *t = &p->tasks[i];
        if (t->wg_actor) {
            t->named_wg = next;
            for (int w = 0; w < t->warpgroups; w++, next++) {
                weiri_named nb = { next, 128, weiri_arena_fmt(&p->a, "warpgroup %d of %s", w, t->task->name) };
                WEIRI_PUSH(&p->a, p->named, nb);
            }
        }
        bool joins = false; /* a body asks for it, or one warp arms for all */
        for (const weiri_node *n = weiri_node_next(t->task->root, NULL); n; n = weiri_node_next(t->task->root, n)) {
            if (n->kind != NODE_OP) continue;
            joins = joins || (n->op->atom == ATOM_CUSTOM && strstr(n->op->work->code, "task_sync"));
            joins = joins || (n->op->stage == STAGE_PROD_ACQUIRE &&
                              n->op->res->pipe.given.producer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER);
        }
        if (joins && t->task->num_warps > 1 && !t->lanes) {
            t->named_task = next++;
            weiri_named nb = { t->named_task, 32 * t->task->num_warps, weiri_arena_fmt(&p->a, "task %s", t->task->name) };
            WEIRI_PUSH(&p->a, p->named, nb);
        }
    }
}

int weiri_task_barrier(weiri_plan *p, int task) {
    weiri_ptask *t = &p->tasks[task];
    if (t->named_wg && t->task->num_warps == 4) return t->named_wg;
    if (!t->named_task) {
        t->named_task = p->named.n + 1;
        weiri_named nb = { t->named_task, 32 * t->task->num_warps, weiri_arena_fmt(&p->a, "task %s", t->task->name) };
        WEIRI_PUSH(&p->a, p->named, nb);
    }
    return t->named_task;
}

static void check_named(weiri_plan *p) {
    if (p->named.n <= 15) return;
    weir_finding *f = weiri_find(&p->findings, "PLAN-NAMED", weiri_place_of(&p->k->at),
                                 "kernel '%s' needs %d named barriers; a CTA has 15 beside __syncthreads", p->k->name, p->named.n);
    f->expected = "at most 15";
    f->got = weiri_arena_fmt(&p->a, "%d", p->named.n);
}

/* ---- parameters ---------------------------------------------------------------------------------------------------------- */

static const char *ctype(weir_dtype t) {
    switch (t) {
    case WEIR_BOOL: return "bool";
    case WEIR_I8: return "i8";
    case WEIR_U8: return "u8";
    case WEIR_I16: return "i16";
    case WEIR_U16: return "u16";
    case WEIR_I32: return "i32";
    case WEIR_U32: return "u32";
    case WEIR_I64: return "i64";
    case WEIR_U64: return "u64";
    case WEIR_F16: return "f16";
    case WEIR_BF16: return "bf16";
    case WEIR_F64: return "double";
    case WEIR_E4M3: return "e4m3";
    case WEIR_E5M2: return "e5m2";
    default: return "float";
    }
}

const char *weiri_ctype(weir_dtype t) { return ctype(t); }

static void add_param(weiri_plan *p, weiri_kparam_kind kind, int index, int axis, const char *name, const char *type,
                      int size) {
    weiri_kparam q = { kind, index, axis, name, type, size };
    WEIRI_PUSH(&p->a, p->params, q);
}

/* The kernel's own name and its parameters' come first: nothing else can take them. */
static void make_params(weiri_plan *p) {
    const weir_kernel *k = p->k;
    weiri_kernel_symbol(p);
    for (int i = 0; i < k->tensors.n; i++) weiri_name(p, NAME_ARGUMENT, 0, k->tensors.v[i]->name);
    for (int i = 0; i < k->dims.n; i++) weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->dims.v[i])->name);
    for (int i = 0; i < k->scalars.n; i++) weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->scalars.v[i])->name);
    for (int i = 0; i < p->tmaps.n; i++) add_param(p, KP_TMAP, i, 0, weiri_name(p, NAME_MAP, i, p->tmaps.v[i].name), "w_tmap", 128);
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (!p->touches[i]) continue;
        const char *type =
            t->out ? weiri_arena_fmt(&p->a, "%s *", ctype(t->dtype)) : weiri_arena_fmt(&p->a, "const %s *", ctype(t->dtype));
        const char *name = weiri_name(p, NAME_TENSOR, 0, t->name);
        add_param(p, KP_PTR, i, 0, weiri_name(p, NAME_ARGUMENT, 0, t->name), type, 8);
        for (int a = 0; a + 1 < t->rank; a++)
            add_param(p, KP_STRIDE, i, a, weiri_arena_fmt(&p->a, "%s_stride%d", name, a), "i64", 8);
    }
    if (p->queue && weiri_dynamic(p->queue))
        add_param(p, KP_COUNTER, 0, 0,
                  weiri_arena_fmt(&p->a, "%s_counter", weiri_name(p, NAME_QUEUE, p->queue->index, p->queue->name)), "u32 *", 8);
    for (int i = 0; i < k->dims.n; i++)
        add_param(p, KP_DIM, i, 0, weiri_name(p, NAME_ARGUMENT, 0, weiri_val(k, k->dims.v[i])->name), "i32", 4);
    for (int i = 0; i < k->scalars.n; i++) {
        const weiri_value *v = weiri_val(k, k->scalars.v[i]);
        add_param(p, KP_SCALAR, i, 0, weiri_name(p, NAME_ARGUMENT, 0, v->name), ctype(v->dtype), weir_dtype_size(v->dtype));
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

static void number_actions(weiri_plan *p);

weiri_plan *weiri_plan_new(weir_kernel *k) {
    weiri_plan *p = weiri_alloc(k->ctx, sizeof *p);
    if (!p) return NULL;
    weiri_arena_init(&p->a, k->ctx);
    p->findings.a = &p->a;
    p->k = k;
    p->of.tasks = k->tasks.n, p->of.res = k->res.n, p->of.nodes = k->nnodes, p->of.aliases = k->aliases.n;
    p->cluster = k->cluster.v * k->cluster.m * k->cluster.n * k->cluster.k;
    p->ntasks = k->tasks.n;
    p->tasks = WEIRI_NEW_N(&p->a, weiri_ptask, k->tasks.n + 1);
    if (p->cluster > 8)
        weiri_find(&p->findings, "PLAN-CLUSTER", weiri_place_of(&k->at),
                   "kernel '%s' has a cluster of %d CTAs; at most 8 are portable", k->name, p->cluster)
            ->hint = "v * m * n * k is 8 at most";
    if (p->cluster > 1 && k->arch < WEIR_ARCH_SM_90A)
        weiri_find(&p->findings, "PLAN-ARCH", weiri_place_of(&k->at), "kernel '%s': clusters need sm_90a or sm_100a", k->name);
    if (k->cluster.v > 2 && weiri_tc(k))
        weiri_find(&p->findings, "PLAN-CLUSTER", weiri_place_of(&k->at),
                   "kernel '%s' has v = %d; one mma is shared by at most 2 CTAs", k->name,
                   k->cluster.v)
            ->hint = "v = 2, and more CTAs along m or n";
    if (k->cluster.v > 1 && k->arch == WEIR_ARCH_SM_90A)
        weiri_find(&p->findings, "PLAN-ARCH", weiri_place_of(&k->at), "kernel '%s': v = %d (CTAs that share one MMA) needs sm_100a",
                   k->name, k->cluster.v)
            ->hint = "on sm_90a write cluster = { m = 2 } and multicast = \"m\" on the loads of B";
    for (int i = 0; i < k->res.n; i++)
        if (k->res.v[i]->kind == WEIR_RES_QUEUE) {
            p->queue = k->res.v[i];
            p->persistent = p->queue->qkind != WEIR_QUEUE_GRID;
        }
    for (int i = 0; i < k->tasks.n; i++) scan_task(p, i);
    split_registers(p);
    check_tile_registers(p);
    weiri_proto *protos = WEIRI_NEW_N(&p->a, weiri_proto, k->res.n + 1);
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_GROUP && (r->kind != WEIR_RES_QUEUE || weiri_dynamic(r)) && weiri_piped(r))
            add_pipe(p, r, protos);
    }
    make_bars(p, protos);
    weiri_tc_ends(p, protos);
    check_asked(p, protos);
    check_pairs_groups(p);
    place_smem(p);
    weiri_tc_place(p);
    place_barriers(p);
    name_barriers(p);
    weiri_lower(p, protos);
    check_named(p);
    weiri_check_targets(p);
    make_params(p);
    number_actions(p);
    p->ok = weiri_findings_errors(&p->findings) == 0 && !p->a.oom;
    return p;
}

void weiri_plan_free(weiri_plan *p) {
    if (!p) return;
    weir_ctx *c = p->a.ctx; /* a program may outlive its kernel */
    weiri_arena_free(&p->a);
    weiri_free(c, p, sizeof *p);
}

static void number_list(weiri_plan *p, weiri_pnode *n, int *next, int pass) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            if (pass) p->action[n->act->id] = n->act;
            else if (!n->act->id) n->act->id = (*next)++; /* tasks of one warpgroup share its setmaxnreg */
        } else {
            number_list(p, n->first, next, pass);
            number_list(p, n->skip, next, pass);
        }
    }
}

/* Ids in source order: prologue, tasks, epilogue. */
static void number_actions(weiri_plan *p) {
    for (int pass = 0; pass < 2; pass++) {
        int next = 1;
        number_list(p, p->prologue, &next, pass);
        for (int i = 0; i < p->ntasks; i++) number_list(p, p->tasks[i].root, &next, pass);
        number_list(p, p->epilogue, &next, pass);
        if (!pass) {
            p->nactions = next - 1;
            p->action = WEIRI_NEW_N(&p->a, weiri_action *, next + 1);
        }
    }
}

/* ---- print --------------------------------------------------------------------------------------------------------------- */

static void print_nodes(const weiri_plan *p, const weiri_pnode *n, int depth, weiri_buf *b) {
    for (; n; n = n->next) {
        weiri_put(b, "%*s", 2 * depth, "");
        switch (n->kind) {
        case PN_ACTION: {
            const weiri_action *a = n->act;
            static const char *const who[] = { "threads", "lane", "warpgroup", "warpgroup-ctas", "lane-ctas", "one" };
            static const char *const st[] = { "", "next", "held", "close" };
            weiri_put(b, "%3d %-14s", a->id, weiri_act_name(a->kind));
            if (a->bar >= 0) weiri_put(b, " %s", p->bars.v[a->bar].name);
            if (a->cur >= 0)
                weiri_put(b, " [%s %s%s]", p->cursors.v[a->cur].name, st[a->stage],
                          a->stage == STAGE_HELD && a->back ? " back" : "");
            if (a->arrivals) weiri_put(b, " arrivals %d", a->arrivals);
            if (a->bytes) weiri_put(b, " bytes %" PRId64, a->bytes);
            if (a->targets)
                weiri_put(b, " targets %s%s%s", a->targets & 1 ? "m" : "", a->targets & 2 ? "n" : "", a->targets & 8 ? "v" : "");
            if (a->at_leader) weiri_put(b, " at the leader");
            if (a->leader) weiri_put(b, " leader only");
            if (a->first) weiri_put(b, " from the first");
            if (a->reach) weiri_put(b, " targets by rank");
            if (a->kind == ACT_MMA_WAIT || a->kind == ACT_BULK_WAIT || a->kind == ACT_REGS || a->kind == ACT_CP_WAIT)
                weiri_put(b, " %d%s", a->n, a->read ? " read" : "");
            if (a->kind == ACT_TMEM_ALLOC || a->kind == ACT_TMEM_FREE) weiri_put(b, " %d columns", p->tmem_alloc);
            if (a->named) weiri_put(b, " barrier %d (%d threads)", a->named, a->threads);
            weiri_put(b, " by %s", who[a->who]);
            if (a->note) weiri_put(b, "  -- %s", a->note);
            if (a->op && a->op->at.n) weiri_put(b, "  %s:%d", a->op->at.at[0].file, a->op->at.at[0].line);
            weiri_put(b, "\n");
            continue;
        }
        case PN_LOOP:
            weiri_put(b, "loop ");
            weiri_value_print(p->k, n->src->start, b);
            weiri_put(b, " .. ");
            weiri_value_print(p->k, n->src->stop, b);
            if (n->deal && n->lane < 0) weiri_put(b, ", dealt to %d warps in turn", n->deal);
            else if (n->deal) weiri_put(b, ", lane %d of %d", n->lane, n->deal);
            weiri_put(b, "\n");
            break;
        case PN_GUARD: {
            static const char *const g[] = { "?", "first", "last", "every", "when", "unless", "previous tile", "last tile" };
            weiri_put(b, "guard %s", g[n->src->guard]);
            if (weiri_of_before(n->src)) weiri_put(b, " of %s", n->src->queue->name);
            else if (n->src->guard >= WEIR_GUARD_TRUE) weiri_put(b, " "), weiri_value_print(p->k, n->src->of, b);
            weiri_put(b, "\n");
            break;
        }
        case PN_TILES:
            weiri_put(b, "tiles of %s", n->src->queue->name);
            if (n->src->lanes > 1) weiri_put(b, ", lane %d of %d", n->src->lane, n->src->lanes);
            weiri_put(b, "\n");
            break;
        case PN_SKIPPABLE: weiri_put(b, "skippable\n"); break;
        default: /* PN_HELD */
            weiri_put(b, "%s more than %d held on %s\n", n->once ? "if" : "while", n->keep, p->cursors.v[n->cur].name);
            break;
        }
        print_nodes(p, n->first, depth + 1, b);
        if (n->skip) weiri_put(b, "%*stiles of other lanes\n", 2 * depth, "");
        print_nodes(p, n->skip, depth + 1, b);
    }
}

void weiri_plan_print(const weiri_plan *p, weiri_buf *b) {
    weiri_put(b, "kernel %s: %d threads, %d CTAs a cluster, %" PRId64 " bytes of shared memory\n", p->k->name, p->threads,
              p->cluster, p->smem_total);
    print_nodes(p, p->prologue, 1, b);
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_ptask *t = &p->tasks[i];
        weiri_put(b, "task %s: warps %d to %d, %s\n", t->task->name, t->task->first_warp,
                  t->task->first_warp + t->task->num_warps - 1,
                  t->solo       ? t->lanes ? "one thread of each warp" : "one thread"
                  : t->wg_actor ? "by warpgroup"
                                : "by warp");
        print_nodes(p, t->root, 1, b);
    }
    if (p->epilogue) weiri_put(b, "exit\n");
    print_nodes(p, p->epilogue, 1, b);
}

/* ---- what each line became -------------------------------------------------------------------------------------------------- */

static const char *at_whom(const weiri_action *a) {
    if (a->reach) return " of every CTA that fills the stage";
    return a->at_leader ? a->targets ? " of the leader CTA of every pair served" : " of the leader CTA"
           : a->targets ? " of every CTA served"
                        : "";
}

static void lowered_action(const weiri_plan *p, const weiri_action *a, weiri_buf *b) {
    const char *bar = a->bar >= 0 ? p->bars.v[a->bar].name : "";
    switch (a->kind) {
    case ACT_WAIT: weiri_put(b, "waits on %s", bar); return;
    case ACT_ARRIVE: {
        const weiri_bar *x = &p->bars.v[a->bar];
        weiri_put(b, "%d arrival%s on %s%s, which counts ", a->arrivals, a->arrivals == 1 ? "" : "s", bar, at_whom(a));
        if (!x->counts) weiri_put(b, "%d ", x->count);
        weiri_put(b, "(%s)", x->sum ? x->sum : ""); /* cover: memory */
        return;
    }
    case ACT_UMMA_COMMIT:
        weiri_put(b, "tcgen05.commit to %s%s, which counts %d (%s)", bar, at_whom(a),
                  p->bars.v[a->bar].count, p->bars.v[a->bar].sum ? p->bars.v[a->bar].sum : ""); /* cover: memory */
        return;
    case ACT_EXPECT:
        weiri_put(b, "arms %" PRId64 " bytes on %s%s", a->bytes, bar, a->reach ? " of the CTA that is pushed to" : "");
        return;
    case ACT_CP_ARRIVE: weiri_put(b, "%d cp.async arrivals on %s", a->arrivals, bar); return;
    case ACT_LOAD_BULK:
        weiri_put(b, "%d box%s, %" PRId64 " bytes to %s%s%s", a->copy >= 0 ? p->copies.v[a->copy].nbox : 0,
                  a->copy >= 0 && p->copies.v[a->copy].nbox == 1 ? "" : "es", a->bytes, bar,
                  at_whom(a), a->first ? ", by the first of them" : "");
        return;
    case ACT_STORE_BULK: weiri_put(b, "bulk store of %" PRId64 " bytes", a->bytes); return;
    case ACT_PUSH_BULK: weiri_put(b, "%" PRId64 " bytes to another CTA, on its %s", a->bytes, bar); return;
    case ACT_BULK_WAIT: weiri_put(b, "cp.async.bulk.wait_group%s %d", a->read ? ".read" : "", a->n); return;
    case ACT_MMA_WAIT: weiri_put(b, "wgmma.wait_group %d", a->n); return;
    case ACT_FENCE_ASYNC: weiri_put(b, "fence.proxy.async"); return;
    case ACT_WARP_SYNC: weiri_put(b, "__syncwarp"); return;
    case ACT_NAMED_SYNC: weiri_put(b, "named barrier %d, %d threads", a->named, a->threads); return;
    default: return;
    }
}

void weiri_plan_lowered(const weiri_plan *p, weiri_buf *b) {
    const weiri_op *last = NULL;
    for (int i = 1; i <= p->nactions; i++) {
        const weiri_action *a = p->action[i];
        if (!a->op || !a->op->at.n) continue;
        weiri_buf t;
        weiri_buf_init(&t, p->k->ctx);
        lowered_action(p, a, &t);
        if (t.n && a->leader) weiri_put(&t, ", in leader CTAs only");
        if (t.n) {
            if (a->op == last) weiri_put(b, "; %s", t.s);
            else
                weiri_put(b, "%s%s:%d: %s.%s: %s", last ? "\n" : "", a->op->at.at[0].file, a->op->at.at[0].line,
                          a->op->res->name, a->op->atom == ATOM_NONE ? a->note : weiri_act_name(a->kind), t.s);
            last = a->op;
        }
        weiri_buf_free(&t);
    }
    if (last) weiri_put(b, "\n");
}
