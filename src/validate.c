/* Rules over the model and the captured trees: what each task does, as a list of uses, and the checks that read it. */
#include "validating.h"

/* ---- uses --------------------------------------------------------------------------------------------------------------- */

/* Where a task's loops begin and end in tree order; without a loop everything is tail. */
typedef struct frame {
    const weiri_node *tiles;
    int first_loop, loop_end;
} frame;

static frame frame_of(const weiri_task *t) {
    frame f = { weiri_tile_loop(t), -1, -1 };
    int order = 0;
    const weiri_node *last = NULL;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n)); order++) {
        if (f.tiles && !weiri_node_inside(n, f.tiles)) continue;
        if (n->kind == NODE_LOOP && f.first_loop < 0) f.first_loop = order;
        if (n->kind == NODE_LOOP && (!last || !weiri_node_inside(n, last))) last = n;
        if (last && weiri_node_inside(n, last)) f.loop_end = order;
    }
    return f;
}

static section section_of(const frame *f, const weiri_node *n, int order) {
    if (f->tiles && !weiri_node_inside(n, f->tiles)) return SEC_ONCE;
    if (f->first_loop < 0 || order > f->loop_end) return SEC_TAIL;
    return order < f->first_loop ? SEC_HEAD : SEC_LOOP;
}

static void push(checker *c, uses *to, use u) { WEIRI_PUSH(c->out->a, *to, u); }

/* The uses that an op is: `u`, or of its group's members. What it reads through views comes first: before the result stands. */
static void collect_op(checker *c, const weiri_task *t, use u, uses *to) {
    const weiri_op *op = u.op;
    if (op->res->kind == WEIR_RES_GROUP) {
        u.group_op = true;
        for (int i = 0; i < op->res->nmembers; i++) {
            u.res = op->res->members[i];
            if (vd_lists(t, u.res)) push(c, to, u);
        }
        return;
    }
    for (int i = 0; i < op->nargs && op->atom != ATOM_READ && op->atom != ATOM_LOAD; i++) {
        weir_res *r = weiri_view_base(c->k, op->arg[i]);
        if (!r || r == op->res || r->kind == WEIR_RES_QUEUE) continue;
        use arg = u;
        arg.res = r;
        arg.stage = STAGE_CONS_WORK;
        arg.operand = true;
        push(c, to, arg);
    }
    push(c, to, u);
}

static uses collect(checker *c, const weiri_task *t) {
    uses all = { 0 };
    frame f = frame_of(t);
    int order = 0;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n)); order++) {
        const weiri_op *op = n->op;
        if (n->kind != NODE_OP) continue;
        use u = { .op = op, .node = n, .res = op->res, .stage = op->stage, .sec = section_of(&f, n, order), .order = order };
        collect_op(c, t, u, &all);
    }
    return all;
}

bool vd_has(const uses *us, const weir_res *r, weiri_stage s) {
    for (int i = 0; i < us->n; i++)
        if (us->v[i].res == r && us->v[i].stage == s) return true;
    return false;
}

bool vd_pushes_from(const checker *c, const uses *us, const weir_res *r) {
    for (int i = 0; i < us->n; i++) {
        const weiri_op *op = us->v[i].op;
        if (op->atom == ATOM_PUSH && op->nargs && weiri_view_base(c->k, op->arg[0]) == r) return true;
    }
    return false;
}

/* ---- words for findings ------------------------------------------------------------------------------------------------- */

void vd_called_from(weir_finding *f, const weiri_chain *at) {
    if (at->n > 1) weiri_second_place(f, &(weiri_chain){ at->at + 1, at->n - 1 }, "called from here");
}

const char *vd_move_text(weiri_stage s) {
    static const char *const names[] = {
        "consumer aux work", "try_wait",    "wait",    "consumer work", "release",
        "producer aux work", "try_acquire", "acquire", "producer work", "commit"
    }; /* ORDER STAGE */
    return names[s];
}

const char *vd_written(const use *u) {
    if (u->op->atom == ATOM_NONE) return vd_move_text(u->stage);
    return u->op->atom == ATOM_CUSTOM ? u->op->work->name : weiri_atom_name(u->op->atom);
}

const char *vd_spelled(checker *c, const weir_res *r) {
    return r->group ? weiri_arena_fmt(c->out->a, "%s.%s", r->group->name, r->name) : r->name;
}

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

void weiri_validate(const weir_kernel *k, weiri_findings *out) {
    checker c = { .k = k, .out = out };
    c.of = WEIRI_NEW_N(out->a, uses, k->tasks.n + 1);
    if (!k->tasks.n) weiri_find(out, "T-SCHED-01", weiri_place_of(&k->at), "kernel '%s' has no task", k->name);
    for (int i = 0; i < k->tasks.n; i++) c.of[i] = collect(&c, k->tasks.v[i]);
    vd_make_graph(&c);
    vd_check_bodies(&c);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        vd_check_task(&c, t);
        vd_check_roles(&c, t, &c.of[i]);
        vd_check_brackets(&c, t, &c.of[i]);
        vd_check_nesting(&c, t, &c.of[i]);
        vd_check_routes(&c, t);
        for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) vd_check_atom(&c, n->op);
    }
    vd_check_warps(&c);
    vd_check_graph(&c);
    vd_check_unused(&c);
    vd_check_queue(&c);
    vd_check_releases(&c);
    vd_check_pipes(&c);
    vd_check_lanes(&c);
    vd_check_tmem(&c);
    vd_check_self_edges(&c);
    vd_check_pdl(&c);
    vd_check_keys(&c);
    vd_check_multicast(&c);
    vd_check_rasters(&c);
    vd_check_values(&c);
}
