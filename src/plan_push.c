/* Who sends to whom. A push names its target by a value; its guards and its task say which CTAs come to it. Both must follow from
 * the CTA's coordinates, for mbarriers count what comes to them. */
#include "plan_push.h"

#include <inttypes.h>
#include <string.h>

#include "lower.h"

static int coord(weir_cluster c, int rank, int axis) { /* ORDER vmnk */
    return axis == 0 ? rank % c.v : axis == 1 ? rank / c.v % c.m : axis == 2 ? rank / (c.v * c.m) % c.n : rank / (c.v * c.m * c.n);
}

bool weiri_push_comes(const weir_kernel *k, const weiri_task *t, const weiri_node *n, int rank) {
    for (int i = 0; t->on_cta && i < 4; i++)
        if (t->cta[i] >= 0 && t->cta[i] != coord(k->cluster, rank, i)) return false;
    for (const weiri_node *b = n->parent; b; b = b->parent) {
        int64_t x;
        if (!weiri_is_condition(b) || b->key) continue;
        if (weiri_value_eval_cta(k, b->of, NULL, NULL, 0, rank, &x) && (x != 0) != (b->guard == WEIR_GUARD_TRUE)) return false;
    }
    return true;
}

bool weiri_push_rows(const weir_kernel *k, const weiri_view *v, int rank, int64_t *row) {
    *row = 0;
    for (int i = 0; i < v->nsub; i++) {
        int64_t x, step = 1;
        if (v->axis + i + 1 >= v->res->rank) return false;
        if (rank < 0 ? !weiri_value_const(k, v->sub[i], &x) : !weiri_value_eval_cta(k, v->sub[i], NULL, NULL, 0, rank, &x))
            return false;
        for (int d = v->axis + i + 1; d + 1 < v->res->rank; d++) step *= v->res->tile[d];
        *row += x * step;
    }
    return true;
}

static weir_finding *refuse(weiri_plan *p, const weiri_op *op, const char *hint, const char *text) {
    weir_finding *f = weiri_find(&p->findings, "PLAN-PUSH", weiri_place_of(&op->at), "%s:push %s", op->res->name, text);
    f->hint = hint;
    f->objects[0] = op->res->name;
    return f;
}

/* Rows of the place of a push, leading axes folded, and their bytes. */
static int64_t rows_of(const weir_kernel *k, const weiri_op *op, int64_t *bytes) {
    const weir_res *r = op->res;
    int shape[WEIR_MAX_RANK], rank = r->rank;
    int64_t rows = 1;
    if (op->nargs > 1) rank = weiri_view_shape(k, op->arg[1], shape);
    else memcpy(shape, r->tile, sizeof shape);
    for (int d = 0; d + 1 < rank; d++) rows *= shape[d];
    *bytes = rows * (rank > 0 ? shape[rank - 1] : 0) * weir_dtype_size(r->dtype);
    return rows;
}

typedef struct landing { /* what one CTA pushes: into which, which rows */
    const weiri_op *op;
    int from, to;
    int64_t row, rows;
    bool known;
} landing;

/* Rows of one stage are written once: by one push of one CTA. */
static bool side_by_side(weiri_plan *p, const landing *x, const landing *y) {
    if (x->to != y->to) return true;
    const char *to = weiri_arena_fmt(&p->a, "%s", x->op->res->name);
    if (!x->known || !y->known) {
        weir_finding *f = refuse(p, x->known ? y->op : x->op, "name the slab by numbers and k.cta: s:sub(k.cta.k - 1)",
                                 "shares a stage with other pushes, and where it writes does not follow from the CTA alone");
        f->got = weiri_arena_fmt(&p->a, "CTAs %d and %d both push into '%s' of CTA %d", x->from, y->from, to, x->to);
        return false;
    }
    if (x->row + x->rows <= y->row || y->row + y->rows <= x->row) return true;
    weir_finding *f =
        refuse(p, y->op, "give each sender a slab of its own: s:sub(k.cta.k - 1)",
               weiri_arena_fmt(&p->a, "of CTA %d writes where a push of CTA %d does, in CTA %d", y->from, x->from, x->to));
    f->expected = weiri_arena_fmt(&p->a, "rows beside %" PRId64 " to %" PRId64, x->row, x->row + x->rows - 1);
    f->got = weiri_arena_fmt(&p->a, "rows %" PRId64 " to %" PRId64, y->row, y->row + y->rows - 1);
    if (x->op != y->op) weiri_second_place(f, &x->op->at, "the other push");
    return false;
}

/* The CTA that a push of CTA `rank` goes to; -1 with a finding. */
static int target(weiri_plan *p, const weiri_op *op, int rank) {
    const weir_kernel *k = p->k;
    weir_cluster c = k->cluster;
    int64_t x;
    char text[96];
    weir_value_text(k, (weir_value){ op->push_k }, text, sizeof text);
    if (!weiri_value_eval_cta(k, op->push_k, NULL, NULL, 0, rank, &x)) {
        refuse(p, op, "name it by numbers and the CTA's own coordinates: k.cta.k + 1",
               weiri_arena_fmt(&p->a, "goes to k = %s, which does not follow from the CTA alone", text));
        return -1;
    }
    if (x < 0 || x >= c.k) {
        weir_finding *f = refuse(p, op, "guard it: for _ in weir.when_true(...) do, or a task with cta = { k = ... }",
                                 weiri_arena_fmt(&p->a, "of CTA %d goes to k = %s, which is %" PRId64, rank, text, x));
        f->expected = weiri_arena_fmt(&p->a, "0 to %d", c.k - 1);
        f->got = weiri_arena_fmt(&p->a, "%" PRId64, x);
        return -1;
    }
    int to = rank + ((int)x - coord(c, rank, 3)) * c.v * c.m * c.n;
    if (to == rank) {
        refuse(p, op, "guard it: a push goes to another CTA; its own may read the source",
               weiri_arena_fmt(&p->a, "of CTA %d goes to that CTA itself (k = %s)", rank, text));
        return -1;
    }
    return to;
}

/* Does a CTA come to an acquire of r that pushes nothing? It would arm nobody's mbarrier. */
static bool arms_in_vain(weiri_plan *p, const weir_res *r, const weiri_pushes *s) {
    const weir_kernel *k = p->k;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n))
            for (int rank = 0; n->kind == NODE_OP && n->op->res == r && n->op->stage == STAGE_PROD_ACQUIRE && rank < p->cluster;
                 rank++) {
                if (s->dest[rank] >= 0 || !weiri_push_comes(k, k->tasks.v[t], n, rank)) continue;
                weir_finding *f = weiri_find(&p->findings, "PLAN-PUSH", weiri_place_of(&n->op->at),
                                             "%s:acquire is reached by CTA %d, which pushes nothing", r->name, rank);
                f->hint = "put it under the guard that the push is under";
                f->objects[0] = r->name;
                return true;
            }
    return false;
}

weiri_pushes weiri_push_find(weiri_plan *p, const weir_res *r) {
    const weir_kernel *k = p->k;
    weiri_pushes s = { .from = -1 };
    WEIRI_LIST(landing) all = { 0 };
    int64_t bytes[WEIRI_MAX_CTAS] = { 0 };
    int into[WEIRI_MAX_CTAS] = { 0 };
    const weiri_op *first = NULL, *loads = NULL;
    memset(s.dest, -1, sizeof s.dest);
    const weiri_pushes none = s;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n)) {
            if (n->kind != NODE_OP || n->op->res != r || n->op->stage != STAGE_PROD_WORK) continue;
            if (n->op->atom == ATOM_PUSH) first = first ? first : n->op;
            else loads = n->op;
        }
    if (!first || p->cluster > WEIRI_MAX_CTAS) return none;
    const char *why = r->pipe.given.type != WEIR_TMA_ASYNC
                          ? "brings bytes on the mbarrier of a tma_async pipeline, which this tile has not"
                      : r->group ? "fills a tile by itself, and this one is in a group"
                      : loads    ? "fills a stage that other work fills too"
                      : weiri_side_dealt(k, r, true) || weiri_side_dealt(k, r, false) || weiri_lanes_on(r, true) > 1 ||
                              weiri_lanes_on(r, false) > 1
                          ? "fills stages that lanes take in turn"
                      : k->cluster.k < 2 ? "needs a cluster with CTAs along k"
                                         : NULL;
    if (why) {
        weir_finding *f =
            refuse(p, first, "give what is pushed a smem_tile of its own, with pipeline = weir.pipeline.tma_async", why);
        if (k->cluster.k < 2) f->hint = "weir.kernel { cluster = { k = 2 } }";
        if (loads) weiri_second_place(f, &loads->at, "the other work");
        return none;
    }
    for (int rank = 0; rank < p->cluster; rank++)
        for (int t = 0; t < k->tasks.n; t++)
            for (const weiri_node *n = weiri_node_next(k->tasks.v[t]->root, NULL); n; n = weiri_node_next(k->tasks.v[t]->root, n)) {
                if (n->kind != NODE_OP || n->op->res != r || n->op->atom != ATOM_PUSH ||
                    !weiri_push_comes(k, k->tasks.v[t], n, rank))
                    continue;
                const weiri_op *op = n->op;
                int to = target(p, op, rank);
                int64_t size;
                weiri_view v = { 0 };
                if (to < 0) return none;
                if (s.dest[rank] >= 0 && s.dest[rank] != to) {
                    refuse(p, op, "a tile for each target",
                           weiri_arena_fmt(&p->a,
                                           "of CTA %d goes to CTA %d, and another to CTA %d: acquire waits for one of them",
                                           rank, to, s.dest[rank]));
                    return none;
                }
                landing x = { .op = op, .from = rank, .to = to, .rows = rows_of(k, op, &size), .known = true };
                if (op->nargs > 1) weiri_view_of(k, op->arg[1], &v), x.known = weiri_push_rows(k, &v, rank, &x.row);
                for (int i = 0; i < all.n; i++)
                    if (!side_by_side(p, &all.v[i], &x)) return none;
                WEIRI_PUSH(&p->a, all, x);
                if (s.dest[rank] < 0) into[to]++;
                s.dest[rank] = (int8_t)to;
                bytes[rank] += size;
                if (s.from < 0) s.from = rank, s.to = to;
            }
    for (int rank = 0; rank < p->cluster; rank++) {
        if (into[rank] > s.senders) s.senders = into[rank];
        if (s.dest[rank] < 0 || bytes[rank] == bytes[s.from]) continue;
        weir_finding *f = refuse(p, first, "let every CTA that pushes bring as much",
                                 weiri_arena_fmt(&p->a, "brings %" PRId64 " bytes from CTA %d and %" PRId64 " from CTA %d",
                                                 bytes[s.from], s.from, bytes[rank], rank));
        f->expected = weiri_arena_fmt(&p->a, "%" PRId64 " bytes", bytes[s.from]);
        f->got = weiri_arena_fmt(&p->a, "%" PRId64 " bytes", bytes[rank]);
        return none;
    }
    if (s.from < 0) {
        refuse(p, first, "let the guards around it, or its task's cta, hold in a CTA of the cluster", "is reached by no CTA");
        return none;
    }
    s.bytes = bytes[s.from];
    return arms_in_vain(p, r, &s) ? none : s;
}
