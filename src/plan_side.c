/* The two sides of a pipeline: which tasks close its stages, by how many warps and warpgroups, in which lanes and CTAs. From that
 * protocol.c has its counts. */
#include "plan_push.h"
#include "planning.h"

bool pl_closes(const weiri_task *t, const weir_res *r, weiri_stage stage) {
    const weir_res *g = r->group;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        if (n->op->stage == stage && (n->op->res == r || (g && n->op->res == g))) return true;
    return false;
}

/* ... and does it take that lane of the work tiles, or all of them? -1: whatever lane. */
static bool closes_lane(const weiri_task *t, const weir_res *r, weiri_stage stage, int tile_lane) {
    const weiri_node *tiles = weiri_lanes_of(t);
    return pl_closes(t, r, stage) && (tile_lane < 0 || !tiles || tiles->lane == tile_lane);
}

/* ... in one CTA of the cluster? */
static bool closes_at(const weir_kernel *k, const weiri_task *t, const weir_res *r, weiri_stage stage, int rank) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        if (n->op->stage == stage && n->op->res == r && weiri_push_comes(k, t, n, rank)) return true;
    return false;
}

int pl_loop_lane(const weir_kernel *k, const weiri_task *t, int stride) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        int lane = weiri_loop_lane(k, t, n, stride);
        if (lane >= 0) return lane;
    }
    return -1;
}

/* Does one CTA of a cluster of several run the task? */
static bool on_one_cta(const weiri_plan *p, const weiri_task *t) {
    const int size[4] = { p->k->cluster.v, p->k->cluster.m, p->k->cluster.n, p->k->cluster.k };
    if (!t->on_cta || p->cluster == 1) return false;
    for (int i = 0; i < 4; i++)
        if (size[i] > 1 && t->cta[i] < 0) return false;
    return true;
}

static void add_task(const weiri_plan *p, weiri_pside *s, int task) {
    const weiri_ptask *t = &p->tasks[task];
    s->tasks++;
    s->warps += t->task->num_warps;
    s->warpgroups += t->warpgroups;
    if (t->task->num_warps > s->max_warps_of_a_task) s->max_warps_of_a_task = t->task->num_warps;
}

static bool as_many(const weiri_pside *x, const weiri_pside *y) {
    return x->warps == y->warps && x->warpgroups == y->warpgroups && x->tasks == y->tasks;
}

/* A side in words: all that two of them may differ in. */
static const char *side_text(weiri_plan *p, const weiri_pside *s) {
    return weiri_arena_fmt(&p->a, "%d warp%s of %d task%s%s", s->warps, s->warps == 1 ? "" : "s", s->tasks,
                           s->tasks == 1 ? "" : "s", s->warpgroups ? " by warpgroups" : "");
}

/* ---- of a pipeline that tasks of one CTA fill and empty ------------------------------------------------------------------ */

/* Is the task another lane of its loop than those of earlier tasks on this side? One that they have, too, is counted there. */
static bool is_new_lane(const weir_kernel *k, const weir_res *r, weiri_stage stage, int tile_lane, int task) {
    const int stride = r->pipe.given.interleave[stage == STAGE_PROD_COMMIT ? 1 : 3];
    const int lane = pl_loop_lane(k, k->tasks.v[task], stride);
    for (int i = 0; i < task && lane >= 0; i++)
        if (closes_lane(k->tasks.v[i], r, stage, tile_lane) && pl_loop_lane(k, k->tasks.v[i], stride) == lane) return false;
    return lane >= 0;
}

/* Tasks of other lanes of the work tiles than `tile_lane` fill or empty other stages; -1: there are no lanes. */
static weiri_pside side_of_lane(const weiri_plan *p, const weir_res *r, weiri_stage stage, int tile_lane) {
    const weir_kernel *k = p->k;
    weiri_pside s = { .dealt = tile_lane >= 0 };
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (!closes_lane(t, r, stage, tile_lane)) continue;
        add_task(p, &s, i);
        if (on_one_cta(p, t)) s.one_cta_tasks++, s.one_cta_warps += t->num_warps;
        s.domain_lanes += is_new_lane(k, r, stage, tile_lane, i);
    }
    return s;
}

/* Lanes of the work tiles that share the side take the stages in turn: a phase counts one lane's arrivals, so all must bring as
 * many. */
weiri_pside pl_side(weiri_plan *p, const weir_res *r, weiri_stage stage) {
    const weir_kernel *k = p->k;
    const weiri_task *first = NULL;
    const bool dealt = r->kind != WEIR_RES_QUEUE && weiri_side_dealt(k, r, stage == STAGE_PROD_COMMIT);
    for (int i = 0; i < k->tasks.n && dealt && !first; i++)
        if (weiri_lanes_of(k->tasks.v[i]) && pl_closes(k->tasks.v[i], r, stage)) first = k->tasks.v[i];
    if (!first) return side_of_lane(p, r, stage, -1);
    const weiri_pside s = side_of_lane(p, r, stage, weiri_lanes_of(first)->lane);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (!weiri_lanes_of(t) || !pl_closes(t, r, stage)) continue;
        const weiri_pside x = side_of_lane(p, r, stage, weiri_lanes_of(t)->lane);
        if (as_many(&x, &s)) continue;
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

/* ---- of a pipeline that CTAs push to each other through ------------------------------------------------------------------ */

weiri_pside pl_side_of_push(weiri_plan *p, const weir_res *r, weiri_stage stage, const weiri_pushes *s) {
    const weir_kernel *k = p->k;
    weiri_pside first = { 0 };
    int at = -1;
    for (int rank = 0; rank < p->cluster; rank++) {
        const int here = stage == STAGE_PROD_COMMIT ? rank : s->dest[rank];
        if (s->dest[rank] < 0) continue;
        weiri_pside x = { 0 };
        for (int i = 0; i < k->tasks.n; i++)
            if (closes_at(k, k->tasks.v[i], r, stage, here)) add_task(p, &x, i);
        if (at < 0) first = x, at = here;
        if (as_many(&x, &first)) continue;
        weir_finding *f = weiri_find(
            &p->findings, "PLAN-PUSH", weiri_place_of(&r->at), "'%s' is %s by %s in CTA %d, by %s in CTA %d", r->name,
            stage == STAGE_PROD_COMMIT ? "filled" : "emptied", side_text(p, &first), at, side_text(p, &x), here);
        f->hint = "let as many warps do it in every CTA that pushes, and in every CTA that is pushed to";
        f->objects[0] = r->name;
        break;
    }
    return first;
}
