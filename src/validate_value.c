/* Values: what bodies return goes where their task may put it (specification 3.13: V-VAL), conditions under one key come out alike
 * (V-KEY), what is made is used (C-FLOW-12, VAL-UNUSED), and bodies count the threads of their task (M-TID). */
#include <string.h>

#include "range.h"
#include "validating.h"

/* ---- what bodies return ------------------------------------------------------------------------------------------------- */

/* The op whose return the value is made of; NULL: of none, as far as `budget` values tell. */
static const weiri_op *made_by(const weir_kernel *k, uint32_t id, int *budget) {
    const weiri_value *v = weiri_val(k, id);
    if (--*budget < 0) return NULL;
    if (v->op == WEIR_OP_RETURN) return v->by;
    for (int i = 0; i < v->nargs; i++) {
        const weiri_op *op = v->arg[i] ? made_by(k, v->arg[i], budget) : NULL;
        if (op) return op;
    }
    return NULL;
}

static void route(checker *c, const weiri_task *t, const weiri_op *by, const weiri_op *to) {
    const char *value = weiri_arena_fmt(c->out->a, "%s:%s", by->res->name, by->work->name);
    weir_finding *f = NULL;
    if (!vd_in_src(t, by->res)) {
        f = weiri_find(c->out, "V-VAL-02", VD_AT_OP(by), "task '%s': what %s returns is used, and '%s' is not in its src",
                       t->name, value, by->res->name);
        f->objects[0] = by->res->name;
        f->hint = weiri_arena_fmt(c->out->a, "add '%s' to src", by->res->name);
        weiri_second_place(f, &to->at, "used here");
    }
    bool produces = !vd_consumes(to->stage);
    if (produces ? vd_in_dst(t, to->res) : vd_in_src(t, to->res)) return;
    f = weiri_find(c->out, produces ? "V-VAL-03" : "V-VAL-04", VD_AT_OP(to),
                   "task '%s': what %s returns goes to %s:%s, and '%s' is not in its %s", t->name, value, to->res->name,
                   to->atom == ATOM_CUSTOM ? to->work->name : weiri_atom_name(to->atom), to->res->name,
                   produces ? "dst" : "src");
    f->objects[0] = to->res->name;
    f->hint = weiri_arena_fmt(c->out->a, "add '%s' to %s", to->res->name, produces ? "dst" : "src");
    weiri_second_place(f, &by->at, "returned here");
}

/* Values go from consumer work to the work that takes them, on resources that the task has on that side. */
void vd_check_routes(checker *c, const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        for (int i = 0; i < n->op->nargs; i++) {
            const weiri_op *by = n->op->arg[i] ? made_by(c->k, n->op->arg[i], &(int){ 200 }) : NULL;
            if (by) route(c, t, by, n->op);
        }
}

/* ---- keys --------------------------------------------------------------------------------------------------------------- */

/* Arguments of a launch for which two conditions come out differently; false: none found, as far as both can be computed. */
static bool come_out_apart(checker *c, uint32_t x, uint32_t y, weiri_buf *with) {
    const weir_kernel *k = c->k;
    weiri_sampler tries = weiri_sampler_new(k);
    int64_t *dims = WEIRI_NEW_N(c->out->a, int64_t, k->dims.n + 1), a, b;
    double *scalars = WEIRI_NEW_N(c->out->a, double, k->scalars.n + 1);
    bool *dim_used = WEIRI_NEW_N(c->out->a, bool, k->dims.n + 1), *scalar_used = WEIRI_NEW_N(c->out->a, bool, k->scalars.n + 1);
    const weir_res *queue = weiri_range_queue(k, x);
    if (!queue) queue = weiri_range_queue(k, y);
    int64_t coord[WEIR_MAX_RANK];
    weiri_env e = { .k = k, .dims = dims, .scalars = scalars, .cta = -1 };
    for (int attempt = 0, seen = 0; attempt < 2000 && (seen || attempt < 200); attempt++) {
        weiri_sampler_next(&tries, dims, scalars);
        e.coord = NULL;
        if (queue && !weiri_sampler_tile(&tries, &e, queue, coord)) continue;
        e.coord = queue ? coord : NULL;
        if (!weiri_range_allowed(&e) || !weiri_range_number(&e, x, &a) || !weiri_range_number(&e, y, &b)) continue;
        seen++;
        if (!a == !b) continue;
        weiri_range_used(k, x, dim_used, scalar_used);
        weiri_range_used(k, y, dim_used, scalar_used);
        weiri_range_put_args(k, "with ", dims, scalars, dim_used, scalar_used, with);
        for (int i = 0; queue && i < queue->qrank; i++)
            weiri_put(with, "%s%s = %lld", with->s ? ", " : "at ", queue->axis[i], (long long)coord[i]);
        return true;
    }
    return false;
}

/* Two conditions under one key. */
static void check_key(checker *c, const weiri_node *x, const weiri_node *y) {
    const weir_kernel *k = c->k;
    weiri_buf with, one, two;
    weiri_buf_init(&with, k->ctx);
    if (come_out_apart(c, x->of, y->of, &with)) {
        weiri_buf_init(&one, k->ctx);
        weiri_buf_init(&two, k->ctx);
        weiri_value_print(k, x->of, &one);
        weiri_value_print(k, y->of, &two);
        weir_finding *f =
            weiri_find(c->out, "V-KEY-01", weiri_place_of(&y->at), "under key '%s', %s and %s come out differently%s%s", y->key,
                       one.s ? one.s : "", two.s ? two.s : "", with.s ? " " : "", with.s ? with.s : "");
        f->hint = "one condition for both, a key each, or k:assume(...) what makes them equal";
        weiri_second_place(f, &x->at, "the other condition");
        weiri_buf_free(&one);
        weiri_buf_free(&two);
    }
    weiri_buf_free(&with);
}

/* A key promises that its conditions come out alike: those that can be computed are tried. */
void vd_check_keys(checker *c) {
    const weir_kernel *k = c->k;
    WEIRI_LIST(const weiri_node *) keyed = { 0 };
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[t]->root, n));)
            if (n->kind == NODE_GUARD && n->key && n->of) WEIRI_PUSH(c->out->a, keyed, n);
    for (int i = 0; i < keyed.n; i++)
        for (int j = 0; j < i; j++) {
            const weiri_node *x = keyed.v[j], *y = keyed.v[i];
            if (strcmp(x->key, y->key) == 0 && x->of != y->of) check_key(c, x, y);
        }
}

/* ---- what is never used ------------------------------------------------------------------------------------------------- */

void vd_check_values(checker *c) {
    const weir_kernel *k = c->k;
    for (int i = 1; i < k->values.n; i++) {
        const weiri_value *v = &k->values.v[i];
        if (v->used) continue;
        if (v->op == WEIR_OP_RETURN) {
            weir_finding *f = weiri_find(c->out, "C-FLOW-12", weiri_place_of(&v->at), "%s:%s returns '%s', which is never used",
                                         v->by->res->name, v->by->work->name, v->by->work->returns[v->count].name);
            vd_called_from(f, &v->at);
        } else if (v->kind == WEIR_VALUE_COND && v->op != WEIR_OP_INT) {
            weiri_buf b;
            weiri_buf_init(&b, k->ctx);
            weiri_value_print(k, (uint32_t)i, &b);
            weir_finding *f =
                weiri_find(c->out, "VAL-UNUSED", weiri_place_of(&v->at), "the condition %s decides nothing", b.s ? b.s : "");
            f->hint = "Lua's `if` cannot see it: use weir.when_true, weir.select or a loop bound";
            vd_called_from(f, &v->at);
            weiri_buf_free(&b);
        }
    }
}

/* ---- bodies ------------------------------------------------------------------------------------------------------------- */

/* Warps of a task begin where its `warps` say, so an index in the block is another one than the body means, unless they begin at
 * 0. */
void vd_check_bodies(checker *c) {
    const weir_kernel *k = c->k;
    for (int i = 0; i < k->res.n; i++)
        for (int j = 0; j < k->res.v[i]->nwork; j++) {
            const weiri_work *w = &k->res.v[i]->work[j];
            const char *raw;
            int row;
            if (!weiri_raw_thread(w->code, &row, &raw)) continue;
            const weir_place at = { w->file, w->line + row };
            const bool warp = strcmp(raw, "w_warp") == 0;
            weiri_find(c->out, "M-TID", w->file ? &at : weiri_place_of(&w->at),
                       "%s:%s: '%s' counts from the first %s of the block, not of the task", k->res.v[i]->name, w->name, raw,
                       warp ? "warp" : "thread")
                ->hint = warp ? "`warp` is the warp in the task" : "`tid` is the thread in the task, of `nthreads`";
        }
}
