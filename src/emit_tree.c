/* Blocks of the plan's tree: loops, some of whose first steps stand for themselves, guards, drains. */
#include "emit.h"

/* Does the loop go on at `var`? */
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

/* Stages that the loop's body takes of the cursor that action `x` moves, in one step; 0: an action in front of it has told. */
static int stages_of(const emitter *e, const weiri_pnode *loop, const weiri_pnode *x) {
    int n = 0;
    for (const weiri_pnode *y = loop->first; y; y = y->next) {
        if (y->act->cur != x->act->cur || y->act->stage != x->act->stage) continue;
        if (!n && y != x) return 0;
        n += e->p->cursors.v[y->act->cur].stride;
    }
    return n;
}

/* Moves cursors past the stages that a loop of another lane's tile takes, in one step each. */
static void emit_skip(emitter *e, const weiri_pnode *loop, const char *trips) {
    em_open(e, " {");
    em_line(e, "const u32 w_n = %s;", trips);
    for (const weiri_pnode *x = loop->first; x; x = x->next) {
        const weiri_cursor *c = &e->p->cursors.v[x->act->cur];
        const char *name = em_cursor_name(e, x->act->cur);
        const bool opens = x->act->stage == STAGE_NEXT, phased = opens && e->p->pipes.v[c->pipe].full >= 0,
                   several = c->stages > 1;
        const int per = stages_of(e, loop, x);
        if (!per) continue;
        const char *by = per > 1 ? em_fmt(e, "%d * w_n", per) : "w_n";
        if (phased && several) em_line(e, "%s_phase ^= (%s_stage + %s) / %d & 1;", name, name, by, c->stages);
        else if (phased) em_line(e, "%s_phase ^= %s & 1;", name, by);
        if (opens && several) em_line(e, "%s_stage = (%s_stage + %s) %% %d;", name, name, by, c->stages);
        if (!opens && several && c->split_close) em_line(e, "%s_close = (%s_close + %s) %% %d;", name, name, by, c->stages);
    }
    em_close(e);
}

/* ---- loops --------------------------------------------------------------------------------------------------------------- */

enum { PEEL_MOST = 16 }; /* steps of a loop that may stand for themselves */

/* The number that the guard compares the index of loop `l` with; -1: it asks for something else. */
static int64_t guarded_step(const weir_kernel *k, const weiri_pnode *n, const weiri_node *l) {
    if (n->kind != PN_GUARD || n->src->guard != WEIR_GUARD_TRUE || weiri_of_before(n->src)) return -1;
    const weiri_value *v = weiri_val(k, n->src->of), *x = v->op == WEIR_OP_EQ ? weiri_val(k, v->arg[0]) : NULL;
    int64_t at;
    if (!x || x->op != WEIR_OP_INDEX || x->loop != l || !weiri_value_const(k, v->arg[1], &at)) return -1;
    return at >= 0 && at < PEEL_MOST ? at : -1;
}

/* Steps of a loop over products that stand for themselves: those that a guard in it names by number. The others are then as if the
 * guard were not there (2 % of a GEMM of 16 k-steps that stores in four of them, measured). 0: none. */
static int peeled_steps(const emitter *e, const weiri_pnode *n) {
    int64_t start, step, steps = 0;
    bool multiplies = false;
    if (n->deal || e->skipping || e->peeled) return 0;
    if (!weiri_value_const(e->k, n->src->start, &start) || !weiri_value_const(e->k, n->src->step, &step)) return 0;
    if (start || step != 1) return 0;
    for (const weiri_pnode *x = n->first; x; x = x->next) {
        int64_t at = guarded_step(e->k, x, n->src);
        if (at >= steps) steps = at + 1;
        multiplies = multiplies || (x->kind == PN_ACTION && x->act->kind == ACT_MMA);
    }
    return multiplies ? (int)steps : 0;
}

/* The first steps of the loop, each by itself; what is left begins behind them. */
static void emit_peeled(emitter *e, const weiri_pnode *n, int steps, const char *var, const char *stop) {
    e->peeled = n->src;
    e->peeled_steps = steps;
    for (int i = 0; i < steps; i++) {
        em_open(e, "if (%d < %s) {", i, stop);
        em_line(e, "const i32 %s = %d; (void)%s;", var, i, var);
        e->peeled_at = i;
        em_nodes(e, n->first);
        em_close(e);
    }
    e->peeled_at = -1;
}

/* The head of a loop; one that is dealt to the task's warps takes its steps in turn. */
static void open_loop(emitter *e, const weiri_pnode *n, const char *var, const char *start, const char *stop) {
    int64_t step;
    const bool known = weiri_value_const(e->k, n->src->step, &step), dealt = n->deal && n->lane < 0, one = known && step == 1;
    const char *by = em_expr(e, n->src->step);
    if (dealt) {
        const char *turn = em_fmt(e, "(i32)(warp - %d)", e->pt->task->first_warp);
        start = em_fmt(e, "%s + %s%s", start, turn, one ? "" : em_fmt(e, " * %s", by));
        by = known ? em_fmt(e, "%d", (int)step * n->deal) : em_fmt(e, "%s * %d", by, n->deal);
    }
    em_open(e, "for (i32 %s = %s; %s; %s) {", var, start, loop_cond(e, n->src, var, stop),
            one && !dealt ? em_fmt(e, "%s++", var) : em_fmt(e, "%s += %s", var, by));
}

static void emit_loop(emitter *e, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    const char *skipped = e->skipping ? skipped_trips(e, n) : NULL;
    if (skipped) {
        emit_skip(e, n, skipped);
        return;
    }
    const char *var = em_loop(e, s), *stop = em_expr(e, s->stop);
    int64_t c;
    if (!weiri_value_const(e->k, s->stop, &c)) {
        em_line(e, "const i32 %s_end = %s;", var, stop);
        stop = em_fmt(e, "%s_end", var);
    }
    const int peel = peeled_steps(e, n);
    const weiri_pnode *around = e->loop;
    e->loop = n;
    if (peel) emit_peeled(e, n, peel, var, stop);
    if (s->unroll > 0) em_line(e, "#pragma unroll %d", s->unroll);
    open_loop(e, n, var, peel ? em_fmt(e, "%d", peel) : em_expr(e, s->start), stop);
    em_nodes(e, n->first);
    em_close(e);
    e->loop = around;
    if (peel) e->peeled = NULL;
}

/* ---- guards -------------------------------------------------------------------------------------------------------------- */

static const char *condition(emitter *e, const weiri_node *s) {
    const weiri_node *l = s->loop;
    if (weiri_of_before(s)) return em_fmt(e, "%s_before", em_queue(e, s->queue));
    if (s->guard == WEIR_GUARD_TRUE) return em_expr(e, s->of);
    if (s->guard == WEIR_GUARD_FALSE) return em_fmt(e, "!%s", em_expr(e, s->of));
    const char *var = em_loop(e, l);
    if (s->guard == WEIR_GUARD_FIRST) return em_fmt(e, "%s == %s", var, em_expr(e, l->start));
    if (s->guard == WEIR_GUARD_LAST)
        return em_fmt(e, "!(%s)", loop_cond(e, l, em_fmt(e, "%s + %s", var, em_expr(e, l->step)), em_expr(e, l->stop)));
    const char *count = em_fmt(e, "(%s - %s) / %s", var, em_expr(e, l->start), em_expr(e, l->step));
    if (!s->phase) return em_fmt(e, "%s %% %d == 0", count, s->period);
    return em_fmt(e, "%s >= %d && (%s - %d) %% %d == 0", count, s->phase, count, s->phase, s->period);
}

static void emit_block(emitter *e, const char *head, const weiri_pnode *first) {
    em_open(e, "%s {", head);
    em_nodes(e, first);
    em_close(e);
}

/* In a peeled step, and behind those, it is decided whether a guard's body runs that names a step by number. */
static void emit_guard(emitter *e, const weiri_pnode *n) {
    const int64_t step = e->peeled ? guarded_step(e->k, n, e->peeled) : -1;
    if (step < 0 || (e->peeled_at < 0 && step >= e->peeled_steps))
        emit_block(e, em_fmt(e, "if (%s)", condition(e, n->src)), n->first);
    else if (step == e->peeled_at) emit_block(e, "", n->first);
}

/* ---- all ----------------------------------------------------------------------------------------------------------------- */

void em_nodes(emitter *e, const weiri_pnode *n) {
    const int mark = e->made_list.n;
    if (n) em_name_shared(e, n);
    for (; n; n = n->next) {
        switch (n->kind) {
        case PN_ACTION: em_action(e, n->act); break;
        case PN_LOOP: emit_loop(e, n); break;
        case PN_GUARD: emit_guard(e, n); break;
        case PN_TILES: em_tiles(e, n); break;
        case PN_SKIPPABLE:
            emit_block(e, e->tiles && e->tiles->skip ? em_fmt(e, "if (!%s)", em_expr(e, e->tiles->skip)) : "", n->first);
            break;
        case PN_HELD:
            emit_block(e, em_fmt(e, "%s (%s_held > %d)", n->once ? "if" : "while", em_cursor_name(e, n->cur), n->keep),
                       n->first);
            break;
        }
    }
    em_forget(e, mark);
}
