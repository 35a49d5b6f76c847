/* The credits of a schedule: every wait meets its commit, every acquire its release, and nothing is left over. The proof finds
 * the same and more; here the counts are named, at the author's lines. */
#include "walk.h"

static void second_place(weir_finding *f, const weiri_op *op, const char *what) {
    if (op) weiri_second_place(f, &op->at, what);
}

static const char *plural(weiri_arena *a, int n, const char *what) {
    return weiri_arena_fmt(a, "%d %s%s", n, what, n == 1 ? "" : "s");
}

/* How the op is spelled: the member through its group. */
static const char *spelled(weiri_arena *a, const weiri_op *op, const weir_res *r) {
    if (op->res->kind == WEIR_RES_GROUP) return op->res->name;
    return r->group ? weiri_arena_fmt(a, "%s.%s", r->group->name, r->name) : r->name;
}

/* The last op of the task that makes this use, or of any task (task -1). */
static const weiri_op *op_of(const weiri_walk *s, int task, const weir_res *r, weiri_use u) {
    const weiri_op *last = NULL;
    for (int t = 0; t < s->k->tasks.n; t++) {
        if (task >= 0 && t != task) continue;
        const weiri_task_line *tl = &s->task[t];
        for (int i = 0; i < tl->steps.n; i++) {
            const weiri_op *op = tl->steps.v[i].op;
            if (weiri_use_of(op) == u && (op->res == r || (r->group && op->res == r->group))) last = op;
        }
    }
    return last;
}

static void run(weiri_walk *s) {
    weiri_lack w;
    for (bool moved = true; moved;) {
        moved = false;
        for (int t = 0; t < s->k->tasks.n; t++)
            while (!weiri_walk_ended(&s->task[t]) && weiri_walk_enabled(s, &s->task[t].steps.v[s->task[t].at], &w)) {
                weiri_walk_execute(s, t);
                moved = true;
            }
    }
}

/* Of the blocked tasks, of which there are some, the one whose help has ended or never comes; without one, the tasks wait for each
 * other: the first of them. */
static int root_of(const weiri_walk *s, weiri_lack *why) {
    int cycle = -1;
    for (int t = 0; t < s->k->tasks.n; t++) {
        if (weiri_walk_ended(&s->task[t])) continue;
        weiri_lack w = { 0 };
        weiri_walk_enabled(s, &s->task[t].steps.v[s->task[t].at], &w);
        if (cycle < 0) cycle = t, *why = w;
        if (w.task >= 0 && !weiri_walk_ended(&s->task[w.task])) continue;
        *why = w;
        return t;
    }
    return cycle;
}

/* The first op in any task that makes this use, which the walk has never come to; the outermost loop or condition around it that it
 * never entered. NULL: there is none, or it makes the use in other lanes' stages. */
static const weiri_node *closed_op(const weiri_walk *s, const weir_res *r, weiri_use u, int *task, const weiri_node **around) {
    for (int t = 0; t < s->k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(s->k->tasks.v[t]->root, n));) {
            if (n->kind != NODE_OP || weiri_use_of(n->op) != u || (n->op->res != r && n->op->res != r->group)) continue;
            *task = t;
            *around = NULL;
            for (const weiri_node *p = n->parent; p; p = p->parent)
                if ((p->kind == NODE_LOOP || p->kind == NODE_GUARD) && !s->entered[p->id]) *around = p;
            if (*around) return n;
        }
    return NULL;
}

static void blocked(const weiri_walk *s, bool sure, weiri_findings *out) {
    const weir_kernel *k = s->k;
    weiri_lack w = { 0 };
    int t = root_of(s, &w);
    if (!sure && w.task >= 0 && weiri_walk_ended(&s->task[w.task])) return; /* how often each side runs, the launch knows */
    const weiri_step *x = &s->task[t].steps.v[s->task[t].at];
    const weiri_op *op = x->op;
    const char *what = weiri_use_names[weiri_use_of(op)], *lacks = weiri_use_names[w.counterpart],
               *name = spelled(out->a, op, w.res);
    const char *others = "";
    for (int i = 0; i < k->tasks.n; i++)
        if (i != t && !weiri_walk_ended(&s->task[i]))
            others = weiri_arena_fmt(out->a, "%s%s'%s'", others, *others ? ", " : "", k->tasks.v[i]->name);
    const char *then = *others ? weiri_arena_fmt(out->a, "; %s is blocked, too", others) : "";
    weir_finding *f;
    int whose;
    const weiri_node *around, *closed = w.task < 0 ? closed_op(s, w.res, w.counterpart, &whose, &around) : NULL;
    if (closed) {
        f = weiri_find(out, "V-SIM-01", weiri_place_of(&op->at),
                       "task '%s' is blocked at %s %d of '%s': the %s on it by task '%s' stands in a %s%s", k->tasks.v[t]->name,
                       what, x->index + 1, name, lacks, k->tasks.v[whose]->name,
                       around->kind == NODE_LOOP ? sure ? "loop that does not run" : "loop that need not run"
                       : sure                    ? "guard that does not open"
                                                 : "guard that need not open",
                       then);
        weiri_second_place(f, &around->at, around->kind == NODE_LOOP ? "the loop" : "the guard");
        f->hint = weiri_arena_fmt(out->a, "put the %s behind the same %s, or the %s behind none", what,
                                  around->kind == NODE_LOOP ? "loop" : "guard", lacks);
    } else if (w.task < 0) {
        f = weiri_find(out, "V-SIM-01", weiri_place_of(&op->at), "task '%s' is blocked at %s %d of '%s': no task does %s on it%s",
                       k->tasks.v[t]->name, what, x->index + 1, name, lacks, then);
        f->hint = weiri_arena_fmt(out->a, "write %s:%s() in the task that answers it", name, lacks);
    } else if (weiri_walk_ended(&s->task[w.task])) {
        const weiri_line *l = weiri_walk_line(s, w.task, w.res, w.counterpart);
        f = weiri_find(out, "V-SIM-01", weiri_place_of(&op->at), "task '%s' is blocked at %s %d of '%s': task '%s' ends after %s%s",
                       k->tasks.v[t]->name, what, x->index + 1, name, k->tasks.v[w.task]->name, plural(out->a, l->done, lacks),
                       then);
        f->expected = weiri_arena_fmt(out->a, "%s", plural(out->a, w.index + 1, lacks));
        f->got = weiri_arena_fmt(out->a, "%d", l->done);
        second_place(f, op_of(s, w.task, w.res, w.counterpart), weiri_arena_fmt(out->a, "the last %s", lacks));
        f->hint = "let the two sides run equally often";
    } else {
        const weiri_op *other = s->task[w.task].steps.v[s->task[w.task].at].op;
        f = weiri_find(
            out, "V-SIM-01", weiri_place_of(&op->at),
            "task '%s' is blocked at %s %d of '%s', which needs %s %d by task '%s', and that is blocked at %s of '%s'",
            k->tasks.v[t]->name, what, x->index + 1, name, lacks, w.index + 1, k->tasks.v[w.task]->name,
            weiri_use_names[weiri_use_of(other)], spelled(out->a, other, other->res));
        second_place(f, other, "the other is blocked here");
        f->hint = "the tasks wait for each other: let one of them start, or give the pipeline more stages";
    }
    f->objects[0] = w.res->name;
}

static void left_over(const weiri_walk *s, const weir_res *r, weiri_findings *out) {
    weiri_rest x = weiri_walk_rest(s, r);
    if (x.full <= 0 && x.empty == 0) return;
    bool commits = x.full > 0;
    weiri_use many = commits ? USE_COMMIT : x.empty > 0 ? USE_ACQUIRE : USE_RELEASE;
    weiri_use few = commits ? USE_WAIT : x.empty > 0 ? USE_RELEASE : USE_ACQUIRE;
    const weiri_op *op = op_of(s, -1, r, many), *other = op_of(s, -1, r, few); /* `many` were made, so there is an op */
    const char *rule = commits ? "V-SIM-02" : x.empty > 0 ? "V-SIM-03" : "V-SIM-04";
    const char *done = commits ? "not consumed" : x.empty > 0 ? "without release" : "without acquire";
    int n = commits ? x.full : x.empty > 0 ? x.empty : -x.empty;
    weir_finding *f =
        weiri_find(out, rule, weiri_place_of(&op->at), "%s of '%s' %s %s: %s, %s", plural(out->a, n, weiri_use_names[many]),
                   spelled(out->a, op, r), n == 1 ? "is" : "are", done, plural(out->a, x.made[many], weiri_use_names[many]),
                   plural(out->a, x.made[few], weiri_use_names[few]));
    f->objects[0] = r->name;
    f->expected = weiri_arena_fmt(out->a, "%s", plural(out->a, x.made[many], weiri_use_names[few]));
    f->got = weiri_arena_fmt(out->a, "%d", x.made[few]);
    second_place(f, other, weiri_arena_fmt(out->a, "the last %s", weiri_use_names[few]));
    f->hint = "let the two sides run equally often";
}

void weiri_balance(const weir_kernel *k, weiri_findings *out, bool *sure) {
    weiri_walk s;
    weiri_walk_init(&s, k);
    *sure = !s.open_loops.n && !s.assumed.n;
    for (int i = 0; i < k->tasks.n; i++) *sure = *sure && !k->tasks.v[i]->on_cta;
    if (!s.too_long && !s.a.oom) {
        run(&s);
        bool ended = true;
        for (int t = 0; t < k->tasks.n; t++) ended = ended && weiri_walk_ended(&s.task[t]);
        if (!ended) blocked(&s, *sure, out);
        for (int i = 0; i < k->res.n && ended && *sure; i++) {
            const weir_res *r = k->res.v[i];
            if (r->kind != WEIR_RES_GROUP && r->kind != WEIR_RES_QUEUE && weiri_piped(r)) left_over(&s, r, out);
        }
    }
    weiri_walk_free(&s);
}
