/* Interleaved pipelines: a role of stride k is shared out to k lanes, the task's warps or the loops of k tasks, one way on each
 * side (specification 3.9: V-ILV-06 to 09, 3.10: V-CNT-05; protocol.c has the rules that need no task). */
#include "validating.h"

/* ORDER weir_pipe_desc.interleave: the sides are from SIDE_PRODUCER, from SIDE_CONSUMER on */
enum { COMMIT = 1, RELEASE = 3, SIDE_PRODUCER = 0, SIDE_CONSUMER = 2 };
static const char *const role_names[] = { "acquire", "commit", "wait", "release" };

/* Whose stride moves the cursor of a stage: a side's closing move has its own, all else goes with the opening one. */
static int role_of(weiri_stage s) {
    switch (s) {
    case STAGE_PROD_COMMIT: return COMMIT;
    case STAGE_CONS_RELEASE: return RELEASE;
    default: return vd_consumes(s) ? SIDE_CONSUMER : SIDE_PRODUCER;
    }
}

static int stride_of(const weir_res *r, int role) {
    return r->pipe.given.interleave[role] > 1 ? r->pipe.given.interleave[role] : 1;
}

/* Dealt by the loop: a constant start, a step equal to the stride, in a task of another number of warps. */
static bool is_lane_of_loop(const checker *c, const weiri_task *t, int stride) {
    int64_t start, step;
    if (stride < 2 || t->num_warps == stride) return false;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_LOOP && weiri_value_const(c->k, n->start, &start) && weiri_value_const(c->k, n->step, &step) &&
            step == stride)
            return true;
    return false;
}

static const use *first_of_role(const uses *us, const weir_res *r, int role) {
    for (int i = 0; i < us->n; i++)
        if (us->v[i].res == r && role_of(us->v[i].stage) == role) return &us->v[i];
    return NULL;
}

/* Its first loop, for a message. */
static const char *loop_text(checker *c, const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind != NODE_LOOP) continue;
        char a[64], b[64];
        weir_value_text(c->k, (weir_value){ n->start }, a, sizeof a);
        weir_value_text(c->k, (weir_value){ n->step }, b, sizeof b);
        return weiri_arena_fmt(c->out->a, "its loop starts at %s and steps by %s", a, b);
    }
    return "it has no loop";
}

static void about_pipe(weir_finding *f, const weir_res *r) {
    f->objects[0] = r->name;
    weiri_second_place(f, &r->pipe.at, "the pipeline");
}

/* A task that has a role of some stride is dealt its lanes. */
static bool has_lanes(checker *c, const weiri_task *t, const weir_res *r, int role, const use *u) {
    const int k = stride_of(r, role);
    if (!u || k == 1 || t->num_warps == k || is_lane_of_loop(c, t, k)) return true;
    weir_finding *f = weiri_find(
        c->out, "V-ILV-06", VD_AT_OP(u->op), "task '%s': %s of '%s' is interleaved by %d, the task has %d warp%s and %s",
        t->name, role_names[role], vd_spelled(c, r), k, t->num_warps, t->num_warps == 1 ? "" : "s", loop_text(c, t));
    about_pipe(f, r);
    f->hint = weiri_arena_fmt(c->out->a, "%d warps, or a task per lane whose loop starts at the lane and steps by %d", k, k);
    return false;
}

/* Opening and closing move of a side, of different strides, are different tasks', and dealt by warps. */
static void check_strides(checker *c, const weiri_task *t, const weir_res *r, int side, const use *opens, const use *closes) {
    const int open = stride_of(r, side), close = stride_of(r, side + 1);
    if (open == close) return;
    const char *strides = weiri_arena_fmt(c->out->a, "%s %d, %s %d", role_names[side], open, role_names[side + 1], close);
    if (opens && closes) {
        weir_finding *f = weiri_find(c->out, side == SIDE_CONSUMER ? "V-ILV-09" : "V-ILV-08", VD_AT_OP(opens->op),
                                     "task '%s' has both %s and %s of '%s', which are interleaved differently (%s)", t->name,
                                     role_names[side], role_names[side + 1], vd_spelled(c, r), strides);
        f->hint = "one stride for both, or a task for each";
        about_pipe(f, r);
        return;
    }
    const use *u = opens ? opens : closes;
    const int k = opens ? open : close;
    if (!u || !is_lane_of_loop(c, t, k)) return;
    weir_finding *f = weiri_find(c->out, "V-ILV-07", VD_AT_OP(u->op),
                                 "task '%s' takes its lane of '%s' from its loop, but the side's strides differ (%s)", t->name,
                                 vd_spelled(c, r), strides);
    f->hint = weiri_arena_fmt(c->out->a, "one stride for both, or a task of %d warps", k);
    about_pipe(f, r);
}

static void check_task_lanes(checker *c, const weiri_task *t, const uses *us, const weir_res *r) {
    for (int side = SIDE_PRODUCER; side <= SIDE_CONSUMER; side += SIDE_CONSUMER) {
        const use *opens = first_of_role(us, r, side), *closes = first_of_role(us, r, side + 1);
        if (!has_lanes(c, t, r, side, opens) || !has_lanes(c, t, r, side + 1, closes)) return;
        check_strides(c, t, r, side, opens, closes);
    }
}

/* Tasks that close one side of r as lanes of their loops and tasks that do not: no one count fits. */
static void check_mixed(checker *c, const weir_res *r, int role) {
    const weiri_stage s = role == COMMIT ? STAGE_PROD_COMMIT : STAGE_CONS_RELEASE;
    const int k = stride_of(r, role);
    const use *lane = NULL, *other = NULL;
    const weiri_task *lane_task = NULL, *other_task = NULL;
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int j = 0; j < c->of[i].n; j++) {
            const use *u = &c->of[i].v[j];
            if (u->res != r || u->stage != s) continue;
            if (is_lane_of_loop(c, c->k->tasks.v[i], k)) lane = u, lane_task = c->k->tasks.v[i];
            else other = u, other_task = c->k->tasks.v[i];
        }
    if (k == 1 || !lane || !other) return;
    weir_finding *f = weiri_find(
        c->out, "V-CNT-05", VD_AT_OP(other->op),
        "%s of '%s' is interleaved by %d: task '%s' is one lane by its loop, task '%s' has %d warps and %s", vd_move_text(s),
        r->name, k, lane_task->name, other_task->name, other_task->num_warps, loop_text(c, other_task));
    f->objects[0] = r->name;
    weiri_second_place(f, &lane->op->at, "the other task");
    f->hint = "deal the stages one way: by loops or by warps";
}

void vd_check_lanes(checker *c) {
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (!weiri_piped(r) || r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE) continue;
        const int *q = r->pipe.given.interleave;
        if (q[0] < 2 && q[1] < 2 && q[2] < 2 && q[3] < 2) continue;
        for (int t = 0; t < c->k->tasks.n; t++) check_task_lanes(c, c->k->tasks.v[t], &c->of[t], r);
        const weir_pipe_type type = r->pipe.given.type;
        if (type == WEIR_ASYNC_ASYNC || type == WEIR_ASYNC_UMMA) check_mixed(c, r, COMMIT);
        if (type == WEIR_ASYNC_ASYNC || type == WEIR_UMMA_ASYNC) check_mixed(c, r, RELEASE);
    }
}
