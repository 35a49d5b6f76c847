/* The author's bodies: each a function in the source, behind a #line of its own file, and the calls of them. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

static const char *body_name(emitter *e, const weir_res *r, const weiri_work *w) {
    return weiri_name(e->p, NAME_BODY, r->index, em_fmt(e, "%s_%s", r->name, w->name));
}

/* ---- the function -------------------------------------------------------------------------------------------------------- */

/* First op that calls the body, to learn what its views are. */
static const weiri_op *first_call(const weir_kernel *k, const weiri_work *w) {
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[t]->root, n));)
            if (n->op->work == w) return n->op;
    return NULL;
}

static void emit_template(emitter *e, const weiri_work *w) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    for (int i = 0; i < w->nparams; i++)
        if (w->params[i].constant)
            weiri_put(&b, "%s%s %s", b.n ? ", " : "template <", weiri_ctype(w->params[i].dtype), w->params[i].name);
    if (b.n) em_line(e, "%s>", b.s);
    weiri_buf_free(&b);
}

/* Parameters behind those that every body has: the stage, tensors, what the author lists, what it returns. */
static void put_params(emitter *e, const weir_res *r, const weiri_work *w, const weiri_op *call, weiri_buf *b) {
    if (weiri_in_smem(r)) weiri_put(b, ", %s *smem", weiri_ctype(r->dtype));
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        const char *name = r->bind[i].name;
        weiri_put(b, ", %s%s *%s", x->out ? "" : "const ", weiri_ctype(x->dtype), name);
        for (int d = 0; d < x->rank; d++) weiri_put(b, ", const i32 %s_shape%d", name, d);
        for (int d = 0; d + 1 < x->rank; d++) weiri_put(b, ", const i64 %s_stride%d", name, d);
    }
    for (int i = 0; i < w->nparams; i++) {
        const weiri_param *q = &w->params[i];
        weiri_view v = { 0 };
        if (q->constant) continue;
        if (q->view && i < call->nargs) weiri_view_of(e->k, call->arg[i], &v);
        if (q->view) weiri_put(b, ", const %s * %s", v.res ? weiri_ctype(v.res->dtype) : "void", q->name);
        else weiri_put(b, ", %s %s", weiri_ctype(q->dtype), q->name);
    }
    for (int i = 0; i < w->nreturns; i++) weiri_put(b, ", %s &%s", weiri_ctype(w->returns[i].dtype), w->returns[i].name);
}

/* Shapes and strides of a tensor as arrays, too. */
static void emit_arrays(emitter *e, const weir_bind *bind) {
    const char *name = bind->name, *shapes = "", *strides = "";
    for (int d = 0; d < bind->tensor->rank; d++) {
        shapes = em_fmt(e, "%s%s%s_shape%d", shapes, d ? ", " : "", name, d);
        if (d + 1 < bind->tensor->rank) strides = em_fmt(e, "%s%s_stride%d, ", strides, name, d);
    }
    em_line(e, "const i32 %s_shape[] = { %s }; const i64 %s_stride[] = { %s1 }; (void)%s_shape; (void)%s_stride;", name, shapes,
            name, strides, name, name);
}

void em_body(emitter *e, const weir_res *r, const weiri_work *w) {
    const weiri_op *call = first_call(e->k, w);
    if (!call) return;
    weiri_put(e->o, "\n");
    if (w->file) em_line(e, "// work %s of %s, %s:%d", w->name, r->name, em_base_name(e, w->file), w->line);
    emit_template(e, w);
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    put_params(e, r, w, call, &b);
    const char *tile = e->p->queue ? em_fmt(e, ", const %s_tile &tile", em_queue(e, e->p->queue)) : "";
    em_line(e,
            "static __device__ __forceinline__ void %s(const i32 iter, const i32 stage, const u32 bar, const u32 tid, const "
            "u32 nthreads, const u32 warp, const u32 lane,",
            body_name(e, r, w));
    em_open(e, "    const bool elected, const u32 w_sync_id%s%s) {", tile, b.s ? b.s : "");
    weiri_buf_free(&b);
    em_line(e, "(void)iter; (void)stage; (void)bar; (void)tid; (void)nthreads; (void)warp; (void)lane; (void)elected;%s",
            e->p->queue ? " (void)tile;" : "");
    for (int i = 0; i < r->nbind; i++) emit_arrays(e, &r->bind[i]);
    for (int i = 0; i < r->nconsts; i++) {
        if (r->consts[i].is_int) em_line(e, "constexpr i32 %s = %" PRId64 ";", r->consts[i].name, (int64_t)r->consts[i].value);
        else em_line(e, "constexpr float %s = %s;", r->consts[i].name, em_float_text(e, r->consts[i].value));
    }
    if (strstr(w->code, "task_sync"))
        em_line(e, "auto task_sync = [=] { if (w_sync_id) w_bar_sync(w_sync_id, nthreads); else w_sync_warp(); };");
    if (w->file) weiri_put(e->o, "#line %d %s\n", w->line, em_quoted(e, w->file));
    weiri_put(e->o, "%s\n", w->code);
    em_own_line(e);
    em_close(e);
}

/* ---- a call -------------------------------------------------------------------------------------------------------------- */

static void put_constants(emitter *e, const weiri_op *op, weiri_buf *b) {
    const weiri_work *w = op->work;
    for (int i = 0; i < w->nparams && i < op->nargs; i++)
        if (w->params[i].constant) weiri_put(b, "%s%s", b->n ? ", " : "<", em_expr(e, op->arg[i]));
    if (b->n) weiri_put(b, ">");
}

/* Where it is in the pipeline, and which of the task's threads runs it. `ef`: what it does to the resource's own stage, or NULL. */
static void put_place(emitter *e, const weiri_action *a, const weiri_effect *ef, weiri_buf *b) {
    const weiri_ptask *t = e->pt;
    const int pipe = weiri_pipe_of(e->p, a->op->res);
    const char *stage = ef && ef->cur >= 0 ? em_stage_expr(e, ef->cur, ef->stage, ef->back)
                        : a->cur >= 0      ? em_stage_expr(e, a->cur, a->stage, a->back)
                                           : "0";
    const char *bar = "0";
    if (pipe >= 0 && (ef || a->cur >= 0) && e->p->pipes.v[pipe].full >= 0) {
        const weiri_ppipe *pp = &e->p->pipes.v[pipe];
        bar = em_plus_stage(e, em_bar(e, a->op->work->side == WEIR_SIDE_PRODUCER ? pp->full : pp->empty), stage, 8);
    }
    const int threads = t->solo ? 1 : t->lanes ? 32 : 32 * t->task->num_warps;
    weiri_put(b, "(%s, (i32)%s, %s, %s, %d, %s, %s, %s, %d", e->loop ? em_loop(e, e->loop->src) : "0", stage, bar,
              t->solo ? "0" : "ttid", threads, t->solo || t->lanes ? "0" : em_fmt(e, "warp - %d", t->task->first_warp),
              t->solo ? "0" : "lane", t->solo ? "true" : "ttid == 0", t->named_task);
}

/* A view as the address of where it begins. */
static const char *view_address(emitter *e, const weiri_action *a, const weiri_view *v) {
    const int region = weiri_region_of(e->p, v->res);
    const char *addr = "0", *col, *slab = em_slab(e, v, &col);
    for (int j = 0; j < a->neff; j++)
        if (a->eff[j].region == region && a->eff[j].back == v->back && !a->eff[j].write)
            addr = em_region_addr(e, region, a->eff[j].cur, a->eff[j].stage, v->back);
    weiri_tile_geom g;
    if ((!slab && !v->row0) || !weiri_geom(e->p, v->res, &g)) return addr;
    const char *row = !slab ? em_fmt(e, "%d", v->row0) : v->row0 ? em_fmt(e, "%s + %d", slab, v->row0) : slab;
    return em_fmt(e, "%s + %s", addr, em_element_offset(e, &g, row, "0"));
}

static void put_argument(emitter *e, const weiri_action *a, int i, weiri_buf *b) {
    const weiri_param *q = &a->op->work->params[i];
    weiri_view v;
    if (q->constant) return;
    if (!q->view) {
        weiri_put(b, ", %s", em_expr(e, a->op->arg[i]));
        return;
    }
    weiri_view_of(e->k, a->op->arg[i], &v);
    weiri_put(b, ", (const %s *)w_ptr(%s)", weiri_ctype(v.res->dtype), view_address(e, a, &v));
}

void em_call(emitter *e, const weiri_action *a) {
    const weiri_op *op = a->op;
    const weir_res *r = op->res, *q = e->p->queue;
    const weiri_work *w = op->work;
    for (int i = 0; i < op->nret && i < w->nreturns; i++)
        em_line(e, "%s v%u = 0;", weiri_ctype(w->returns[i].dtype), op->ret[i]);
    const weiri_effect *ef = NULL; /* the last one on its region */
    for (int i = 0; i < a->neff; i++)
        if (a->eff[i].region >= 0 && e->p->smem.v[a->eff[i].region].res == r) ef = &a->eff[i];
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    put_constants(e, op, &b);
    put_place(e, a, ef, &b);
    if (q) weiri_put(&b, ", %s_tile{", em_queue(e, q));
    for (int i = 0; q && i < q->qrank; i++)
        weiri_put(&b, "%s%s", i ? ", " : "", e->tiles ? em_coord_name(e, q, i, false) : "0");
    if (q) weiri_put(&b, "}");
    if (weiri_in_smem(r))
        weiri_put(&b, ", (%s *)w_ptr(%s)", weiri_ctype(r->dtype),
                  ef ? em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back) : em_region(e, weiri_region_of(e->p, r)));
    for (int i = 0; i < r->nbind; i++) {
        const weir_tensor *x = r->bind[i].tensor;
        weiri_put(&b, ", %s", em_arg(e, x->name));
        for (int d = 0; d < x->rank; d++) weiri_put(&b, ", %s", em_shape_expr(e, x, d));
        for (int d = 0; d + 1 < x->rank; d++) weiri_put(&b, ", %s_stride%d", em_tensor(e, x), d);
    }
    for (int i = 0; i < w->nparams && i < op->nargs; i++) put_argument(e, a, i, &b);
    for (int i = 0; i < w->nreturns && i < op->nret; i++) weiri_put(&b, ", v%u", op->ret[i]);
    em_act(e, a, "%s%s);", body_name(e, r, w), b.s);
    weiri_buf_free(&b);
}
