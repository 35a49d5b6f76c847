/* Tensor memory and the tasks that use it, for sm_100a; and, for every target, the ops it lacks. */
#include "plan_tc.h"

#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "lowering.h"

/* ---- tasks -------------------------------------------------------------------------------------------------------------- */

static bool mma_side(weir_pipe_type t, bool producer) { return producer ? weiri_filled_by_mma(t) : weiri_read_by_mma(t); }

bool weiri_tc_move(const weiri_op *op) {
    if (op->atom != ATOM_NONE) return false;
    const weir_res *r = op->res;
    bool producer = op->stage >= STAGE_PROD_AUX;
    if (r->kind != WEIR_RES_GROUP) return mma_side(r->pipe.given.type, producer);
    for (int i = 0; i < r->nmembers; i++)
        if (!mma_side(r->members[i]->pipe.given.type, producer)) return false;
    return true;
}

bool weiri_tc_body(const weir_kernel *k, const weiri_op *op) {
    return weiri_tc(k) && mma_side(op->res->pipe.given.type, op->work->side == WEIR_SIDE_PRODUCER);
}

bool weiri_tc_reads(const weir_kernel *k, const weiri_op *op) {
    return weiri_tc(k) && op->atom == ATOM_READ && op->res->kind == WEIR_RES_TMEM && op->res->pipe.given.type != WEIR_UMMA_UMMA;
}

void weiri_tc_check_warps(weiri_plan *p, int task) {
    const weir_kernel *k = p->k;
    const weiri_task *t = k->tasks.v[task];
    const weiri_ptask *pt = &p->tasks[task];
    const weir_res *reads = NULL, *sums = NULL, *moves = NULL;
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP) continue;
        if (weiri_tc_reads(k, n->op) && !reads) reads = n->op->res;
        if (weiri_tc_move(n->op) && !moves) moves = n->op->res;
        if (n->op->atom == ATOM_MMA && n->op->res->kind == WEIR_RES_TMEM && !sums) sums = n->op->res;
    }
    weir_finding *f = NULL;
    if (reads && (t->first_warp % 4 || t->num_warps != 4)) {
        f = weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                       "task '%s' reads '%s' in tensor memory and has warps %d to %d", t->name, reads->name, t->first_warp,
                       t->first_warp + t->num_warps - 1);
        f->hint =
            "a warp reaches 32 of the 128 lanes, by its place in the warpgroup: start at a multiple of 4 and take 4 warps";
        f->objects[0] = reads->name;
    } else if ((sums || moves) && !pt->solo && t->num_warps != 1 && (!pt->wg_actor || t->num_warps != 4)) {
        f = weiri_find(&p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&t->at),
                       "task '%s' issues for the tensor core ('%s') beside work of its threads and has %d warps", t->name,
                       (sums ? sums : moves)->name, t->num_warps);
        f->hint = "one thread issues: give that a task of its own, or one warp";
        f->objects[0] = (sums ? sums : moves)->name;
    }
}

/* ---- ends --------------------------------------------------------------------------------------------------------------- */

/* Where the newest commit at a place of a task may be one that gives operands back: in the leader, in other CTAs. Elsewhere there
 * is none, or it hands over sums that somebody waits for. */
enum { END_LEADER = 1, END_OTHERS = 2 };

static const weiri_row *commit_row(const weiri_row *row) {
    while (row->kind != ROW_END && row->kind != ROW_UMMA_COMMIT) row++;
    return row->kind == ROW_END ? NULL : row;
}

static void end_step(lw_ways *w, const void *leaf, void *state) {
    const weiri_op *op = ((const weiri_node *)leaf)->op;
    const bool sums = op->stage == STAGE_PROD_COMMIT;
    if (!sums && op->stage != STAGE_CONS_RELEASE) return;
    const weiri_proto *pr = &w->l->protos[op->res->kind == WEIR_RES_GROUP ? op->res->members[0]->index : op->res->index];
    const weiri_row *row = commit_row(sums ? pr->commit : pr->release);
    unsigned *s = state, here = !row ? 0 : row->leader_only ? END_LEADER : END_LEADER | END_OTHERS;
    *s = sums ? *s & ~here : *s | here;
}

static bool end_join(lw_ways *w, void *into, const void *from) {
    (void)w;
    unsigned *s = into, was = *s;
    *s |= *(const unsigned *)from;
    return *s != was;
}

void weiri_tc_ends(weiri_plan *p, const weiri_proto *protos) {
    for (int i = 0; weiri_tc(p->k) && i < p->ntasks; i++) {
        weiri_ptask *t = &p->tasks[i];
        lowering l = { .p = p, .k = p->k, .protos = protos, .task = i, .pt = t, .looks_back = weiri_looks_back(t->task) };
        unsigned newest = 0;
        lw_walk_ways(&(lw_ways){ .l = &l, .size = sizeof newest, .step = end_step, .join = end_join }, t->task->root->first, &newest);
        if (!newest) continue;
        const char *name = weiri_arena_fmt(&p->a, "%s_done", t->task->name);
        weiri_bar bar = { .name = name, .stages = 1, .count = t->lanes ? t->lanes : 1 };
        bar.sum = "one commit at the task's end";
        if (t->lanes) bar.sum = weiri_arena_fmt(&p->a, "one commit of each of %d warps at its end", t->lanes);
        weiri_cursor cur = { .name = name, .task = i, .pipe = -1, .stages = 1, .tile_lanes = 1, .stride = 1 };
        t->end = (weiri_tc_end){ true, newest == END_LEADER, p->bars.n, p->cursors.n };
        WEIRI_PUSH(&p->a, p->bars, bar);
        WEIRI_PUSH(&p->a, p->cursors, cur);
    }
}

/* ---- placement ---------------------------------------------------------------------------------------------------------- */

/* Tiles in tensor memory have their columns to themselves: an alias is of shared memory (M-STORAGE). */
void weiri_tc_place(weiri_plan *p) {
    const weir_kernel *k = p->k;
    weiri_item *item = WEIRI_NEW_N(&p->a, weiri_item, k->res.n + 1);
    int n = 0, from = p->smem.n;
    char why[256];
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_TMEM || !weiri_tc(k)) continue;
        weiri_region g = { .res = r,
                           .name = r->name,
                           .align = TC_COLUMN_ALIGN,
                           .stages = r->pipe.given.stages,
                           .stage_bytes = weiri_tc_columns(weiri_tc_pair(k), r->tile[0], r->tile[1]),
                           .dtype = r->dtype,
                           .same_as = -1,
                           .phase = -1,
                           .tmem = true };
        g.size = g.stage_bytes * g.stages;
        item[n++] = (weiri_item){ .name = r->name, .size = g.size, .align = g.align, .group = -1, .phase = -1 };
        WEIRI_PUSH(&p->a, p->smem, g);
    }
    if (!n) return;
    int64_t total = weiri_layout_place(item, n, 0, why, sizeof why);
    for (int i = 0; i < n; i++) p->smem.v[from + i].offset = item[i].offset;
    p->tmem_columns = (int)total;
    p->tmem_alloc = weiri_layout_tmem_columns((int)total);
    p->tmem_warp = k->tasks.n ? k->tasks.v[0]->first_warp : 0;
    for (int i = 0; i < p->pipes.n; i++) p->pipes.v[i].region = weiri_region_of(p, p->pipes.v[i].res);
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

typedef struct leaf_list { const weir_kernel *k; uint32_t *v; int n, cap; } leaf_list;

static void leaves(leaf_list *l, uint32_t id) {
    if (!weiri_visit(l->k, id)) return;
    const weiri_value *x = weiri_val(l->k, id);
    if (x->kind == WEIR_VALUE_VIEW) {
        if (weiri_view_base(l->k, id)->kind != WEIR_RES_TMEM) return;
        if (l->n < l->cap) l->v[l->n] = id;
        l->n++;
        return;
    }
    if (x->op == WEIR_OP_READ_REG || x->op == WEIR_OP_RETURN) return;
    for (int i = 0; i < x->nargs; i++) leaves(l, x->arg[i]);
}

/* They are told when the walk is over: who hears of one may walk values too. */
void weiri_tc_leaves(const weir_kernel *k, uint32_t value, void (*fn)(void *ud, uint32_t view), void *ud) {
    uint32_t few[16];
    leaf_list l = { k, few, 0, 16 };
    weiri_visit_begin(k);
    leaves(&l, value);
    if (l.n > l.cap) {
        l = (leaf_list){ k, weiri_alloc(k->ctx, (size_t)l.n * sizeof *l.v), 0, l.n };
        if (!l.v) return; /* cover: memory */
        weiri_visit_begin(k);
        leaves(&l, value);
    }
    for (int i = 0; i < l.n; i++) fn(ud, l.v[i]);
    if (l.v != few) weiri_free(k->ctx, l.v, (size_t)l.cap * sizeof *l.v);
}

/* ---- the mma ------------------------------------------------------------------------------------------------------------ */

bool weiri_tc_from_tmem(const weiri_view *v) { return v->res->kind == WEIR_RES_TMEM; }

/* The sums of another mma as a: f32, of which the tensor core takes the upper 19 bits. */
static bool sums_fit(const weiri_tc_shape *s, const weiri_view *a, char *why, size_t size) {
    if (s->b != WEIR_TF32)
        snprintf(why, size,
                 "a is the f32 sums of '%s' and b is %s; only tf32 can follow. Else let threads convert: umma_async, then "
                 "async_umma",
                 a->res->name, weir_dtype_name(s->b));
    else if (a->res->tile[0] != TC_LANES || s->m != (s->pair ? 2 : 1) * TC_LANES)
        snprintf(why, size, "a lies in tensor memory with %d rows; there it takes all %d lanes", a->res->tile[0], TC_LANES);
    else if (a->t) snprintf(why, size, "a lies in tensor memory and cannot be transposed");
    else return true;
    return false;
}

bool weiri_tc_shape_of(const weiri_plan *p, const weiri_op *op, weiri_tc_shape *s, char *why, size_t size) {
    const weir_kernel *k = p->k;
    weiri_view v[2];
    weiri_tile_geom g;
    weiri_operand o;
    const int ctas = weiri_tc_pair(k) ? 2 : 1; /* each has its part of a's rows and of b's */
    *s = (weiri_tc_shape){ .m = op->res->tile[0] * ctas, .n = op->res->tile[1], .pair = ctas > 1 };
    why[0] = 0;
    for (int i = 0; i < 2; i++) {
        weiri_view_of(k, op->arg[i], &v[i]);
        if (!i && weiri_tc_from_tmem(&v[0])) {
            s->a = WEIR_TF32;
            continue;
        }
        if (!weiri_geom(p, v[i].res, &g)) return false; /* said elsewhere */
        weir_dtype t = weiri_stage_dtype(p, v[i].res);
        if (!weiri_layout_operand(&g, t, v[i].t, (i ? s->n : s->m) / ctas, &o, why, size)) return false;
        *(i ? &s->b : &s->a) = t;
        *(i ? &s->b_mn : &s->a_mn) = o.mn_major;
    }
    weiri_tc_kind other;
    if (weiri_tc_from_tmem(&v[0]) && !sums_fit(s, &v[0], why, size)) return false;
    weiri_tc_kind_of(s->a, &s->kind), weiri_tc_kind_of(s->b, &other); /* weiri_layout_operand has let them through */
    if (other != s->kind) return false;
    return weiri_tc_valid(s, why, size);
}

/* ---- ops that a target lacks -------------------------------------------------------------------------------------------- */

enum { SM80 = 1, SM90 = 2, SM100 = 4 };

/* First row that fits holds. kind NONE: any resource. */
static const struct {
    weiri_atom atom;
    weir_res_kind kind;
    int has;
    const char *what, *hint;
} targets[] = {
    { ATOM_MMA, WEIR_RES_WGMMA, SM90, "wgmma",
      "on sm_100a the sums lie in tensor memory: k:tmem_tile with a umma_async pipeline" },
    { ATOM_MMA, WEIR_RES_TMEM, SM90 | SM100, "an asynchronous mma", NULL },
    { ATOM_TMA_LOAD, WEIR_RES_NONE, SM90 | SM100, "a TMA load", "s:cp_async(view) with an async_async pipeline does without" },
    { ATOM_TMA_STORE, WEIR_RES_NONE, SM90 | SM100, "a TMA store", "g:store(value, place) does without" },
    { ATOM_TMA_REDUCE_ADD, WEIR_RES_NONE, SM90 | SM100, "a TMA reduction", NULL },
    { ATOM_PUSH, WEIR_RES_NONE, SM90 | SM100, "a copy to another CTA", NULL },
    { ATOM_QUEUE_FETCH, WEIR_RES_NONE, SM90 | SM100, "a tile handed out at run time", "kind = \"static\" does without" },
    { ATOM_GRID_WAIT, WEIR_RES_NONE, SM90 | SM100, "a dependent launch", NULL },
    { ATOM_GRID_LAUNCH, WEIR_RES_NONE, SM90 | SM100, "a dependent launch", NULL },
};

static int bit_of(weir_arch a) { return a >= WEIR_ARCH_SM_100A ? SM100 : a >= WEIR_ARCH_SM_90A ? SM90 : SM80; }

static const char *names_of(weiri_arena *a, int has) {
    const char *s = "";
    static const char *const name[] = { "sm_80", "sm_90a", "sm_100a" };
    for (int i = 0; i < 3; i++)
        if (has >> i & 1) s = weiri_arena_fmt(a, "%s%s%s", s, *s ? " and " : "", name[i]);
    return s;
}

void weiri_check_targets(weiri_plan *p) {
    const weir_kernel *k = p->k;
    int own = bit_of(k->arch);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n)) {
            if (n->kind != NODE_OP) continue;
            const weiri_op *op = n->op;
            for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
                if (targets[i].atom != op->atom || (targets[i].kind && targets[i].kind != op->res->kind)) continue;
                if (!(targets[i].has & own)) {
                    const char *have = names_of(&p->a, targets[i].has);
                    weir_finding *f =
                        weiri_find(&p->findings, "PLAN-ARCH", weiri_place_of(&op->at), "%s:%s is %s, which %s lacks; %s %s it",
                                   op->res->name, weiri_atom_name(op->atom), targets[i].what, names_of(&p->a, own), have,
                                   strstr(have, " and ") ? "have" : "has");
                    f->objects[0] = op->res->name;
                    f->hint = targets[i].hint ? targets[i].hint : weiri_arena_fmt(&p->a, "build it for %s", have);
                }
                break;
            }
        }
}
