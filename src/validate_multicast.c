/* A multicast load brings one tile to several CTAs, a slice from each of them: all must name the same one (V-CTA-02). Places are
 * worked out for many sizes, in pairs of CTAs that differ along the served axes alone. */
#include <stdlib.h>

#include "range.h"
#include "validating.h"

/* One CTA of a pair, and which pass of each loop around the op it is in. */
typedef struct cta_at {
    weiri_env env;
    int64_t coord[WEIR_MAX_RANK], before[WEIR_MAX_RANK];
    int64_t pass;
} cta_at;

/* The loop's index in that pass, or the last one if it has fewer; how many passes there are, and which it is. */
static bool pass_of(const cta_at *c, const weiri_node *loop, int64_t *out, int64_t *trips, int64_t *pass) {
    weiri_env e = c->env;
    int64_t start, stop, step;
    *trips = -1;
    if (!weiri_range_number(&e, loop->start, &start) || !weiri_range_number(&e, loop->stop, &stop) ||
        !weiri_range_number(&e, loop->step, &step) || !step)
        return false;
    if (llabs(start) > INT32_MAX || llabs(stop) > INT32_MAX || llabs(step) > INT32_MAX) return false; /* no launch has it */
    *trips = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    *pass = c->pass < *trips ? c->pass : *trips - 1;
    *out = start + *pass * step;
    return *trips > 0;
}

static bool index_in_pass(const void *of, const weiri_node *loop, int64_t *out) {
    int64_t trips, pass;
    return pass_of(of, loop, out, &trips, &pass);
}

/* The coordinates of its cluster's tile become those of the CTA with that rank. */
static void own_tile(const weir_kernel *k, const weir_res *q, int rank, int64_t *coord) {
    const weir_cluster c = k->cluster;
    const int along_m = c.v * c.m;
    if (q->axis_m >= 0) coord[q->axis_m] += rank % along_m - coord[q->axis_m] % along_m;
    if (q->axis_n >= 0) coord[q->axis_n] += rank / along_m % c.n - coord[q->axis_n] % c.n;
}

/* Does the CTA come to the op then? No, if a loop around it has no such pass or a guard's condition is known not to hold. */
static bool is_reached(cta_at *c, const weiri_node *n) {
    for (const weiri_node *b = n->parent; b; b = b->parent) {
        int64_t x, trips = -1, pass = 0;
        const weiri_node *loop = b->kind == NODE_GUARD ? b->loop : b->kind == NODE_LOOP ? b : NULL;
        if (loop && !pass_of(c, loop, &x, &trips, &pass)) {
            if (trips >= 0) return false;
            continue;
        }
        if (b->kind != NODE_GUARD) continue;
        if (b->guard == WEIR_GUARD_FIRST && pass) return false;
        if (b->guard == WEIR_GUARD_LAST && pass + 1 < trips) return false;
        if (b->guard == WEIR_GUARD_EVERY && (pass < b->phase || (pass - b->phase) % b->period)) return false;
        if (weiri_is_condition(b) && weiri_range_number(&c->env, b->of, &x) && !x == (b->guard == WEIR_GUARD_TRUE)) return false;
    }
    return true;
}

/* The number in the place of a view that differs between the two; 0: none is known to. */
static uint32_t apart(cta_at pair[2], uint32_t view) {
    const weiri_value *v = weiri_val(pair[0].env.k, view);
    for (int i = 0; i < v->nargs; i++) {
        int64_t a, b;
        if (weiri_val(pair[0].env.k, v->arg[i])->kind == WEIR_VALUE_VIEW) {
            const uint32_t found = apart(pair, v->arg[i]);
            if (found) return found;
        } else if (weiri_range_number(&pair[0].env, v->arg[i], &a) && weiri_range_number(&pair[1].env, v->arg[i], &b) &&
                   a != b) {
            return v->arg[i];
        }
    }
    return 0;
}

static void two_places(checker *c, const weiri_op *op, uint32_t value, int axes) {
    weiri_buf b;
    weiri_buf_init(&b, c->k->ctx);
    weiri_value_print(c->k, value, &b);
    const char *along = axes == 3 ? "mn" : axes == 2 ? "n" : "m";
    weir_finding *f = weiri_find(c->out, "V-CTA-02", VD_AT_OP(op),
                                 "%s:tma_load: the CTAs along %s that it serves name different tiles: %s is another number in each",
                                 op->res->name, along, b.s ? b.s : "");
    f->objects[0] = op->res->name;
    f->hint = weiri_arena_fmt(c->out->a, "multicast along an axis that %s does not follow", b.s ? b.s : "");
    vd_called_from(f, &op->at);
    weiri_buf_free(&b);
}

static void check_load(checker *c, const weiri_node *n, int axes) {
    const weir_kernel *k = c->k;
    const weir_cluster cl = k->cluster;
    const int along_m = cl.v * cl.m;
    weiri_sampler tries = weiri_sampler_new(k);
    int64_t *dims = WEIRI_NEW_N(c->out->a, int64_t, k->dims.n + 1);
    double *scalars = WEIRI_NEW_N(c->out->a, double, k->scalars.n + 1);
    const weir_res *queue = NULL;
    for (int i = 0; i < k->res.n && !queue; i++)
        if (k->res.v[i]->kind == WEIR_RES_QUEUE) queue = k->res.v[i]; /* a kernel has one */
    for (int attempt = 0; attempt < 200; attempt++) {
        weiri_sampler_next(&tries, dims, scalars);
        cta_at pair[2] = { { .pass = attempt % 4 } };
        weiri_env e = { .k = k, .dims = dims, .scalars = scalars, .cta = -1 };
        if (queue && (!weiri_sampler_tile(&tries, &e, queue, pair[0].coord) ||
                      !weiri_sampler_tile(&tries, &e, queue, pair[0].before)))
            continue;
        if (!weiri_range_allowed(&e)) continue;
        pair[1] = pair[0];
        /* the first CTA along each served axis, somewhere along the others; and one further on */
        const int first = attempt % cl.v + (axes & 1 ? 0 : attempt / 2 % cl.m * cl.v) + (axes & 2 ? 0 : attempt / 3 % cl.n * along_m) +
                          attempt / 5 % cl.k * along_m * cl.n;
        const int rank[2] = { first, first + (axes & 1 ? cl.v * (1 + attempt % (cl.m - 1)) : 0) +
                                         (axes & 2 ? along_m * (1 + attempt % (cl.n - 1)) : 0) };
        for (int i = 0; i < 2; i++) {
            if (queue) own_tile(k, queue, rank[i], pair[i].coord), own_tile(k, queue, rank[i], pair[i].before);
            pair[i].env = e;
            pair[i].env.cta = rank[i];
            pair[i].env.coord = queue ? pair[i].coord : NULL;
            for (int j = 0; j < WEIRI_PAST; j++) pair[i].env.before[j] = queue ? pair[i].before : NULL;
            pair[i].env.index = index_in_pass;
            pair[i].env.of = &pair[i];
        }
        const uint32_t value = apart(pair, n->op->arg[0]);
        if (!value || !is_reached(&pair[0], n) || !is_reached(&pair[1], n)) continue;
        two_places(c, n->op, value, axes);
        return;
    }
}

void vd_check_multicast(checker *c) {
    for (int t = 0; t < c->k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(c->k->tasks.v[t]->root, n));) {
            if (n->kind != NODE_OP || n->op->atom != ATOM_TMA_LOAD) continue;
            int axes = n->op->multicast;
            if (c->k->cluster.m == 1) axes &= ~1;
            if (c->k->cluster.n == 1) axes &= ~2;
            if (axes) check_load(c, n, axes);
        }
}
