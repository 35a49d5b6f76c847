/* Tensors that a kernel writes and several of its tasks access: which places can meet. The order is the runs' matter. */
#include <string.h>

#include "prove_know.h"
#include "raster.h"

enum { OWN = 4 }; /* beside a weiri_meet: for the threads of one actor; others of the task have other shares */

/* ---- places ------------------------------------------------------------------------------------------------------------- */

/* The spans of a view of global memory, `to` if it is a work tile; false: it is none. */
static bool spans_of(const weir_kernel *k, uint32_t view, const weir_res *to, weiri_gplace *out) {
    weiri_view v;
    if (!view || !weiri_view_of(k, view, &v)) return false;
    const weiri_value *base = weiri_val(k, v.base);
    const weir_res *g = v.op == WEIR_OP_VIEW_TILE ? to : v.res;
    if (!g || g->kind != WEIR_RES_GMEM || !g->tensor) return false;
    if (v.op != WEIR_OP_VIEW_AT && v.op != WEIR_OP_VIEW_FROM && v.op != WEIR_OP_VIEW_TILE) return false;
    out->tensor = g->tensor;
    out->view = view;
    out->rank = g->rank;
    out->whole = !v.limit;
    const weir_res *q = base->loop ? base->loop->queue : NULL;
    for (int i = 0; i < g->rank; i++) {
        uint32_t at = 0;
        if (v.op == WEIR_OP_VIEW_TILE) {
            int axis = q ? i - (g->rank - q->qrank) : -1;
            if (axis >= 0) at = base->loop->coord[axis];
            if (!q || q->kind != WEIR_RES_QUEUE) out->whole = false;
        } else if (i >= g->rank - base->nargs) at = base->arg[i - (g->rank - base->nargs)];
        out->span[i] = (weiri_span){ at, v.op == WEIR_OP_VIEW_FROM ? 1 : g->tile[i], 0, g->tile[i] };
    }
    if (v.t && (v.nsub || v.nrows || v.ncols)) {
        out->whole = false;
        return true;
    }
    for (int i = 0; i < v.nsub && v.axis + i < g->rank; i++) {
        int64_t n;
        weiri_span *s = &out->span[v.axis + i];
        if (weiri_value_const(k, v.sub[i], &n)) s->plus += n, s->extent = 1;
        else out->whole = false;
    }
    weiri_span *row = g->rank > 1 ? &out->span[g->rank - 2] : NULL, *col = &out->span[g->rank - 1];
    if (row && v.nrows) row->plus += v.row0, row->extent = v.nrows;
    if (v.ncols) col->plus += v.col0, col->extent = v.ncols;
    return true;
}

/* The tensor that the op writes or reads by itself; false: none. What bodies do is on trust. */
static bool place_of(const weir_kernel *k, const weiri_op *op, weiri_gplace *out) {
    memset(out, 0, sizeof *out);
    out->op = op;
    switch (op->atom) {
    case ATOM_STORE:
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD:
        out->write = true;
        out->adds = op->atom == ATOM_TMA_REDUCE_ADD;
        return op->res->kind == WEIR_RES_GMEM && op->nargs > 1 && spans_of(k, op->arg[1], op->res, out);
    case ATOM_TMA_LOAD:
    case ATOM_CP_ASYNC:
    case ATOM_LOAD: return op->nargs > 0 && spans_of(k, op->arg[0], NULL, out);
    default: return false;
    }
}

static weiri_meet meet(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    weiri_meet all = x->whole && y->whole ? SPANS_MEET : SPANS_MAY;
    for (int i = 0; i < x->rank; i++) {
        weiri_meet one = weiri_forms_meet(g->forms, &x->span[i], &y->span[i]);
        if (one == SPANS_APART) return SPANS_APART;
        if (one == SPANS_MAY) all = SPANS_MAY;
    }
    return all;
}

/* Accesses of all threads of a task, each its share. */
static bool shared_out(const weiri_gplace *x) { return x->op->atom == ATOM_STORE || x->op->atom == ATOM_LOAD; }

/* Is it a store of what lies in registers as a tile does? */
static bool in_fragments(const weir_kernel *k, const weiri_op *op) {
    uint32_t v = op->atom == ATOM_STORE ? op->arg[0] : 0;
    return v && (weiri_value_uses(k, v, WEIR_OP_READ_REG) || weiri_value_uses(k, v, WEIR_OP_ROW) ||
                 weiri_value_uses(k, v, WEIR_OP_COL));
}

/* Is the value that one of them stores made of what the other loads? It is loaded where it is stored, by the same thread. */
static bool made_of(const weir_kernel *k, uint32_t id, const weiri_op *load, int *steps) {
    const weiri_value *v = weiri_val(k, id);
    if (--*steps < 0) return false;
    if (v->op == WEIR_OP_LOAD && v->by == load) return true;
    for (int i = 0; i < v->nargs; i++)
        if (made_of(k, v->arg[i], load, steps)) return true;
    return false;
}

/* Does each thread have the same elements of one place in both? */
static bool same_shares(const weir_kernel *k, const weiri_gplace *x, const weiri_gplace *y) {
    const weiri_op *a = x->op, *b = y->op;
    if (a == b) return true;
    if (!shared_out(x) || !shared_out(y)) return false;
    if (a->atom == ATOM_LOAD) a = y->op, b = x->op;
    if (b->atom == ATOM_LOAD) return a->atom == ATOM_STORE && made_of(k, a->arg[0], b, &(int){ 2000 });
    weiri_view u, v;
    bool views = weiri_view_of(k, x->view, &u) && weiri_view_of(k, y->view, &v) &&
                 (u.op == WEIR_OP_VIEW_FROM) == (v.op == WEIR_OP_VIEW_FROM);
    return !in_fragments(k, a) && !in_fragments(k, b) && views && a->res == b->res; /* tile and width decide */
}

/* Two accesses of one task. Its threads have their shares of a place, and so have its warpgroups where each issues a bulk store; but a
 * bulk store is one thread's, whatever that thread's share is. *own: it counts for the threads of one actor only. */
static weiri_meet meet_in_task(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y, bool *own) {
    const weir_kernel *k = g->p->k;
    weiri_meet m = meet(g, x, y);
    if (m == SPANS_APART) return m;
    bool aligned = true, moves = false, bulk = !shared_out(x) && !shared_out(y);
    for (int i = 0; i < x->rank; i++) aligned = aligned && weiri_forms_aligned(g->forms, &x->span[i], &y->span[i], &moves);
    if (x->op == y->op && aligned && moves) return SPANS_APART; /* an index takes each number once */
    if (shared_out(x) && shared_out(y)) return aligned && same_shares(k, x, y) ? SPANS_APART : SPANS_MAY;
    *own = aligned && (bulk || in_fragments(k, shared_out(x) ? x->op : y->op));
    return bulk && x->write && y->write ? SPANS_MAY : m; /* one thread's: the last to land stands, and nobody else is told */
}

static bool clash(const weiri_gplace *x, const weiri_gplace *y) {
    return x->tensor == y->tensor && (x->write || y->write) && !(x->adds && y->adds);
}

void weiri_gmem_places(weiri_prog *g) {
    const weir_kernel *k = g->p->k;
    g->gmem_ring = -1;
    for (int c = 0; c < g->p->ntasks; c++) {
        const weiri_code *code = &g->code.v[c];
        int from = code->ins.n, to = 0;
        for (int i = 0; i < code->ins.n; i++) {
            const weiri_ins *x = &code->ins.v[i];
            if (x->op == IN_TILES) from = i, to = x->jump;
            weiri_gplace place;
            if (x->op != IN_ACT || !x->act->op || !place_of(k, x->act->op, &place) || !place.tensor->out) continue;
            if (x->act->kind != ACT_BODY && x->act->kind != ACT_LOAD_BULK && x->act->kind != ACT_STORE_BULK &&
                x->act->kind != ACT_CP_ASYNC)
                continue;
            bool there = false;
            for (int q = 0; q < g->places.n; q++) there = there || g->places.v[q].op == place.op;
            place.task = c;
            place.tiles = i > from && i < to;
            if (!there) WEIRI_PUSH(g->a, g->places, place);
        }
    }
    int n = g->places.n;
    g->meets = WEIRI_NEW_N(g->a, uint8_t, n * n + 1);
    g->unordered = WEIRI_NEW_N(g->a, bool, n * n + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const weiri_gplace *x = &g->places.v[i], *y = &g->places.v[j];
            if (!clash(x, y)) continue;
            bool own = false;
            weiri_meet m = x->task == y->task ? meet_in_task(g, x, y, &own) : meet(g, x, y);
            if (x->tiles != y->tiles && m != SPANS_APART) g->unordered[i * n + j] = true; /* of which tile? */
            else g->meets[i * n + j] = (uint8_t)(m | (own ? OWN : 0));
            if (m != SPANS_APART) g->gmem_ring = 0;
        }
}

bool weiri_gmem_touches(const weir_kernel *k, const weiri_op *op) {
    weiri_gplace place;
    return place_of(k, op, &place) && place.tensor->out;
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */

bit weiri_gmem_bit(const weiri_run *r, int ai, int ri) {
    int tile = actor_vars(r, ai)[V_TILE];
    return bit_of(r->g, r->g->gmem_ring, tile >= 0 && tile < WEIRI_TILES ? 1 + tile : 0, r->g->recs.v[ri].bit);
}

static const char *verb(const weiri_gplace *x) {
    return x->op->atom == ATOM_TMA_LOAD ? "the bulk load"
           : !x->write                  ? "the load"
           : x->adds                    ? "the sum"
           : x->op->atom == ATOM_STORE  ? "the store"
                                        : "the bulk store";
}

static void race(weiri_run *r, int ai, const weiri_action *act, const weiri_rec *me, const weiri_rec *other, int stage) {
    const weiri_prog *g = r->g;
    weiri_fault *f = weiri_fault_add(r, "PROVE-RACE", act, ai, 0x100000 + other->place);
    if (!f) return;
    const weiri_gplace *x = &g->places.v[me->place - 1], *y = &g->places.v[other->place - 1];
    weiri_buf b;
    weiri_buf_init(&b, g->p->k->ctx);
    weiri_value_print(g->p->k, x->view, &b);
    f->other = other->actor;
    f->other_at = weiri_act_at(r->rec_act[other->aux + R_VARS * stage]);
    f->other_what = y->write ? "the write" : "the read";
    f->object = x->tensor->name;
    f->text = weiri_arena_fmt(r->a, "%s of '%s' %s tensor '%s' at %s, which %s of '%s' %s in no order", verb(x),
                              g->actors.v[ai].name, x->write ? "writes" : "reads", x->tensor->name, b.s ? b.s : "", verb(y),
                              g->actors.v[other->actor].name, y->write ? (x->write ? "writes, too," : "writes") : "reads");
    f->hint = x->task != y->task ? "let one task write the place, or order the two by a pipeline or a barrier"
              : x->op->atom == ATOM_TMA_STORE || x->op->atom == ATOM_TMA_REDUCE_ADD || y->op->atom == ATOM_TMA_STORE ||
                      y->op->atom == ATOM_TMA_REDUCE_ADD
                  ? "drain the bulk store, and let all threads of the task meet behind it (in a pipeline move), before the "
                    "place is accessed again"
                  : "let the threads of the task meet (in a pipeline move) between the two";
    weiri_buf_free(&b);
}

void weiri_gmem_access(weiri_run *r, int ai, const weiri_action *act, int ri) {
    const weiri_prog *g = r->g;
    const weiri_rec *me = &g->recs.v[ri];
    const weiri_actor *self = &g->actors.v[ai];
    int need = need_row(self, me->by), n = g->places.n, tile = actor_vars(r, ai)[V_TILE],
        stage = tile >= 0 && tile < WEIRI_TILES ? 1 + tile : 0;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        if (!q->place || g->actors.v[q->actor].cta != self->cta) continue;
        int m = g->meets[(me->place - 1) * n + q->place - 1];
        if (q->actor != ai && g->actors.v[q->actor].task == self->task && !q->one && !me->one && m != SPANS_APART) {
            /* shares of warpgroups, or those of warps beside them */
            if (m & OWN) continue;
            m = SPANS_MAY;
        }
        m &= OWN - 1;
        bit b = bit_of(g, q->ring, stage, q->bit);
        if (m == SPANS_APART || !has(r, 0, b) || has(r, need, b)) continue;
        if (m == SPANS_MAY) g->unordered[(me->place - 1) * n + q->place - 1] = true;
        else race(r, ai, act, me, q, stage);
    }
    bit b = bit_of(g, me->ring, stage, me->bit);
    forget(r, b);
    if (me->fence_bit >= 0) forget(r, bit_of(g, me->ring, stage, me->fence_bit));
    set(r, 0, b);
    int *aux = r->v + me->aux + R_VARS * stage;
    aux[R_AGE] = 0;
    if (act->kind == ACT_BODY) { /* a copy is done when its barrier or its group says so */
        aux[R_AGE] = COMPLETE;
        set(r, self->row + self->by[me->by], b);
    }
    if (r->replay) r->rec_act[me->aux + R_VARS * stage] = act;
}

void weiri_gmem_leave(weiri_run *r, int tiles) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        if (!q->place) continue;
        for (int t = 1; t <= WEIRI_TILES; t++) {
            int from = t + tiles, *aux = r->v + q->aux + R_VARS * t;
            for (int fence = 0; fence < (q->fence_bit >= 0 ? 2 : 1); fence++) {
                int n = fence ? q->fence_bit : q->bit;
                forget(r, bit_of(g, q->ring, t, n));
                if (from > WEIRI_TILES) continue;
                const weiri_held *h = &g->held[bit_of(g, q->ring, t, n).word];
                for (int x = 0; x < h->n; x++)
                    if (has(r, h->row[x], bit_of(g, q->ring, from, n))) set(r, h->row[x], bit_of(g, q->ring, t, n));
            }
            if (from <= WEIRI_TILES) {
                memcpy(aux, aux + R_VARS * tiles, sizeof(int) * R_VARS);
                if (r->replay) r->rec_act[q->aux + R_VARS * t] = r->rec_act[q->aux + R_VARS * from];
            } else memset(aux, 0, sizeof(int) * R_VARS);
        }
    }
}

/* ---- what is taken on trust --------------------------------------------------------------------------------------------- */

static const char *line_of(weiri_prog *g, const weiri_op *op) {
    const weir_place *at = op->at.n > 0 ? &op->at.at[0] : NULL;
    return at && at->file ? weiri_arena_fmt(g->a, "%s:%d", weiri_file_name(at->file), at->line) : "?";
}

/* Is the span's place coordinate // n or coordinate % n, and its steps no shorter than what is accessed? *n: a value. */
static bool digit_of(const weir_kernel *k, const weiri_span *x, weir_op op, const weir_res *q, int axis, uint32_t *n) {
    const weiri_value *v = weiri_val(k, x->value), *c = v->nargs ? weiri_val(k, v->arg[0]) : NULL;
    if (v->op != op || !c || c->op != WEIR_OP_COORD || c->res != q || c->i != axis || x->by < x->extent) return false;
    *n = v->arg[1];
    return true;
}

/* Do quotient and remainder of a coordinate lie on two axes? Together they tell its tiles apart. */
static bool dealt_in_two(const weir_kernel *k, const weiri_gplace *x, const weiri_gplace *y, const weir_res *q, int axis) {
    for (int i = 0; i < x->rank; i++)
        for (int j = 0; j < x->rank; j++) {
            uint32_t n[4] = { 0 };
            if (x->span[i].plus != y->span[i].plus || x->span[j].plus != y->span[j].plus) continue;
            if (digit_of(k, &x->span[i], WEIR_OP_IDIV, q, axis, &n[0]) && digit_of(k, &y->span[i], WEIR_OP_IDIV, q, axis, &n[1]) &&
                digit_of(k, &x->span[j], WEIR_OP_MOD, q, axis, &n[2]) && digit_of(k, &y->span[j], WEIR_OP_MOD, q, axis, &n[3]) &&
                n[0] == n[1] && n[1] == n[2] && n[2] == n[3])
                return true;
        }
    return false;
}

/* Does each tile have a place of its own? */
static bool dealt(weiri_prog *g, const weiri_gplace *x, const weiri_gplace *y) {
    const weir_res *q = g->p->queue;
    if (!q || q->kind != WEIR_RES_QUEUE) return false;
    for (int axis = 0; axis < q->qrank; axis++) {
        const weir_cluster *c = &g->p->k->cluster;
        int64_t extent, ctas = axis == q->axis_m   ? c->v * c->m
                               : axis == q->axis_n ? c->n
                                                   : 1; /* an axis of 1 has as many coordinates */
        if (weiri_value_const(g->p->k, q->extent[axis].id, &extent) && extent <= 1 && ctas <= 1) continue;
        bool apart = dealt_in_two(g->p->k, x, y, q, axis);
        for (int i = 0; i < x->rank && !apart; i++) apart = weiri_forms_dealt(g->forms, &x->span[i], &y->span[i], q, axis);
        if (!apart) return false;
    }
    return true;
}

/* Do several CTAs of a cluster execute it in one tile? Those along axes that the queue does not split, but for a task that is on one. */
static bool repeated(const weiri_prog *g, const weiri_gplace *x) {
    const weir_kernel *k = g->p->k;
    const weir_res *q = x->tiles ? g->p->queue : NULL;
    const weiri_task *t = k->tasks.v[x->task];
    const int size[] = { k->cluster.v, k->cluster.m, k->cluster.n, k->cluster.k };
    const bool split[] = { q && q->axis_m >= 0, q && q->axis_m >= 0, q && q->axis_n >= 0, false };
    for (int i = 0; i < 4; i++)
        if (size[i] > 1 && !split[i] && !(t->on_cta && t->cta[i] >= 0)) return true;
    return false;
}

enum {
    TRUST_TASKS,
    TRUST_THREADS,
    TRUST_TILES,
    TRUST_COUNT
}; /* who keeps apart: tasks in one tile, a task's threads there, tiles */

/* Of one tensor: the lines of what is said to keep apart. */
static void trust_tensor(weiri_prog *g, const weir_tensor *t, int who) {
    static const char *const name[] = { "tasks keep", "the accesses of one task keep", "tiles and CTAs keep" };
    int n = g->places.n;
    const char *lines = "";
    for (int i = 0; i < n; i++) {
        const weiri_gplace *x = &g->places.v[i];
        bool named = false;
        for (int j = 0; j < n && x->tensor == t && !named; j++) {
            const weiri_gplace *y = &g->places.v[j];
            if (who == TRUST_TILES)
                named = clash(x, y) && ((x->tiles && y->tiles && !dealt(g, x, y)) || (i == j && repeated(g, x)));
            else named = (who == TRUST_THREADS) == (x->task == y->task) && (g->unordered[i * n + j] || g->unordered[j * n + i]);
        }
        const char *line = named ? line_of(g, x->op) : NULL;
        if (line && !strstr(lines, line)) lines = weiri_arena_fmt(g->a, "%s%s%s", lines, *lines ? ", " : "", line);
    }
    if (*lines) weiri_prog_trust(g, weiri_arena_fmt(g->a, "that %s apart in tensor '%s' (%s)", name[who], t->name, lines));
}

void weiri_gmem_trusts(weiri_prog *g) {
    const weir_kernel *k = g->p->k;
    const weir_res *q = g->p->queue;
    if (q && q->kind == WEIR_RES_QUEUE && q->raster == WEIR_RASTER_CUSTOM && !weiri_raster_certain(k, q, g->a))
        weiri_prog_trust(g, weiri_arena_fmt(g->a, "the raster of '%s' to reach every tile once", q->name));
    for (int i = 0; i < k->tensors.n; i++)
        for (int who = 0; who < TRUST_COUNT; who++) trust_tensor(g, k->tensors.v[i], who);
}
