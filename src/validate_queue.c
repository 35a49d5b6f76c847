/* The work queue (specification 3.6: V-WQ): all tasks walk the one, each ends its tile by taking the next, and as many fetch as the
 * queue's kind asks for. A raster of the author's own is tried. */
#include "raster.h"
#include "range.h"
#include "validating.h"

static const weir_res *queue_of(const weiri_task *t) {
    for (int i = 0; i < t->nsrc; i++)
        if (t->src[i]->kind == WEIR_RES_QUEUE) return t->src[i];
    return NULL;
}

/* A task that only fetches tiles for the others. */
static bool is_scheduler(const weiri_task *t) {
    for (int i = 0; i < t->ndst; i++)
        if (t->dst[i]->kind != WEIR_RES_QUEUE) return false;
    return t->ndst > 0;
}

/* ---- the end of a tile -------------------------------------------------------------------------------------------------- */

static void put_steps(weiri_buf *b, const weiri_stage *s, int n) {
    for (int i = 0; i < n; i++)
        weiri_put(b, "%s%s", i ? ", " : "",
                  s[i] == STAGE_CONS_WORK   ? "get_and_advance_work_tile"
                  : s[i] == STAGE_PROD_WORK ? "fetch_work_tile"
                                            : vd_move_text(s[i]));
    if (!n) weiri_put(b, "nothing");
}

/* Steps from *i on: the three in `want`, and perhaps the try in front of them. Moves *i past them. */
static bool three_steps(const weiri_stage *s, int n, int *i, weiri_stage try_it, const weiri_stage want[3], int *tries) {
    if (*i < n && s[*i] == try_it) (*tries)++, (*i)++;
    for (int j = 0; j < 3; j++, (*i)++)
        if (*i >= n || s[*i] != want[j]) return false;
    return true;
}

/* The tail of a tile: [try_wait,] wait, get_and_advance, release; the scheduler fetches the next one first. */
static bool tail_fits(const weiri_stage *s, int n, bool scheduler) {
    static const weiri_stage take[] = { STAGE_CONS_WAIT, STAGE_CONS_WORK, STAGE_CONS_RELEASE };
    static const weiri_stage fetch[] = { STAGE_PROD_ACQUIRE, STAGE_PROD_WORK, STAGE_PROD_COMMIT };
    int i = 0, tries = 0;
    if (scheduler && !three_steps(s, n, &i, STAGE_PROD_TRY, fetch, &tries)) return false;
    return three_steps(s, n, &i, STAGE_CONS_TRY, take, &tries) && i == n && (!scheduler || tries != 1);
}

static bool in_loop(const weiri_node *n) {
    while (n && n->kind != NODE_LOOP) n = n->parent;
    return n != NULL;
}

/* A step of the queue before the end of the tile: told of the first. */
static bool steps_early(checker *c, const weiri_task *t, const uses *us, const weir_res *q) {
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != q || vd_is_aux(u->stage) || (u->sec != SEC_HEAD && u->sec != SEC_LOOP)) continue;
        weiri_find(c->out, u->sec == SEC_HEAD ? "V-WQ-02" : "V-WQ-03", VD_AT_OP(u->op), "task '%s': %s of queue '%s' %s",
                   t->name, vd_written(u), q->name,
                   u->sec == SEC_HEAD ? "before the domain loop"
                   : in_loop(u->node) ? "inside a domain loop"
                                      : "between domain loops")
            ->hint = "take the next tile at the end of the work-tile loop: wq:next()";
        return true;
    }
    return false;
}

static void check_tail(checker *c, const weiri_task *t, const uses *us, const weir_res *q) {
    weiri_stage seen[64];
    int n = 0, steps = 0;
    const use *last = NULL;
    if (steps_early(c, t, us, q)) return;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != q || u->sec == SEC_ONCE) continue;
        last = u;
        if (u->sec != SEC_TAIL) continue;
        steps += !vd_is_aux(u->stage);
        if (n < 64) seen[n++] = u->stage;
    }
    if (!steps) {
        weiri_find(c->out, "V-WQ-04", weiri_place_of(&t->at), "task '%s' never takes the next tile of queue '%s'", t->name,
                   q->name)
            ->hint = "end the work-tile loop with wq:next()";
        return;
    }
    const bool scheduler = is_scheduler(t);
    if (tail_fits(seen, n, scheduler)) return;
    weiri_buf b;
    weiri_buf_init(&b, c->k->ctx);
    put_steps(&b, seen, n);
    weir_finding *f = weiri_find(c->out, scheduler ? "V-WQ-08" : "V-WQ-07", VD_AT_OP(last->op),
                                 "task '%s' ends a tile of queue '%s' with other steps than it should", t->name, q->name);
    f->expected = scheduler ? "[try_acquire,] acquire, fetch_work_tile, commit, [try_wait,] wait, get_and_advance_work_tile, "
                              "release (both tries or none)"
                            : "[try_wait,] wait, get_and_advance_work_tile, release";
    f->got = weiri_arena_str(c->out->a, b.s ? b.s : "");
    f->hint = scheduler ? "wq:fetch(); wq:next()" : "wq:next()";
    weiri_buf_free(&b);
}

/* ---- one queue ---------------------------------------------------------------------------------------------------------- */

/* The queue that all tasks walk; NULL: they walk none, or not the same, which is said. */
static const weir_res *the_queue(checker *c) {
    const weir_kernel *k = c->k;
    const weir_res *queues[64];
    int n = 0;
    const weiri_task *idle = NULL;
    for (int i = 0; i < k->tasks.n; i++) {
        const weir_res *q = queue_of(k->tasks.v[i]);
        if (!q) idle = k->tasks.v[i];
        bool seen = !q;
        for (int j = 0; j < n; j++) seen |= queues[j] == q;
        if (!seen && n < 64) queues[n++] = q;
    }
    if (n > 1) {
        weiri_find(c->out, "V-WQ-05", weiri_place_of(&queues[1]->at),
                   "the tasks walk %d queues ('%s' and '%s'), one is possible", n, queues[0]->name, queues[1]->name)
            ->hint = "walk one queue in all tasks";
        return NULL;
    }
    if (n && idle) {
        weiri_find(c->out, "V-WQ-01", weiri_place_of(&idle->at), "task '%s' does not walk queue '%s', other tasks do",
                   idle->name, queues[0]->name)
            ->hint = "wrap its schedule in `for tile in weir.work_tile_loop(wq) do ... end`";
        return NULL;
    }
    return n ? queues[0] : NULL;
}

static void wrong_number(checker *c, weir_finding *f, int wanted, int found, const char *hint) {
    f->expected = weiri_arena_fmt(c->out->a, "%d", wanted);
    f->got = weiri_arena_fmt(c->out->a, "%d", found);
    f->hint = hint;
}

/* A queue whose tiles are fetched has one task for that. */
static void check_schedulers(checker *c, const weir_res *q) {
    const int wanted = weiri_dynamic(q) ? 1 : 0;
    int schedulers = 0, makers = 0;
    const weiri_task *maker = NULL;
    for (int i = 0; i < c->k->tasks.n; i++) {
        const weiri_task *t = c->k->tasks.v[i];
        schedulers += is_scheduler(t);
        if (vd_in_list(t->dst, t->ndst, q)) makers++, maker = t;
    }
    if (schedulers != wanted)
        wrong_number(c,
                     weiri_find(c->out, "V-WQ-06", weiri_place_of(&q->at), "queue '%s': %d task%s fetch tiles and nothing else",
                                q->name, schedulers, schedulers == 1 ? "" : "s"),
                     wanted, schedulers,
                     wanted ? "give the queue one task that only fetches: wq:fetch(); wq:next()"
                            : "a static queue fetches nothing");
    else if (makers != wanted)
        wrong_number(c,
                     weiri_find(c->out, "V-WQ-09", maker ? weiri_place_of(&maker->at) : weiri_place_of(&q->at),
                                "queue '%s' is in dst of %d task%s", q->name, makers, makers == 1 ? "" : "s"),
                     wanted, makers,
                     wanted ? "the scheduler alone fetches" : "leave it out of dst: a static queue computes its tiles");
}

void vd_check_queue(checker *c) {
    const weir_res *q = the_queue(c);
    if (!q) return;
    for (int i = 0; i < c->k->tasks.n; i++) check_tail(c, c->k->tasks.v[i], &c->of[i], q);
    check_schedulers(c, q);
}

/* ---- rasters ------------------------------------------------------------------------------------------------------------ */

/* A raster of the author's own gives each number a tile, and no tile to two: it is run for sizes that a launch may have. */
static void check_raster(checker *c, const weir_res *q) {
    const weir_kernel *k = c->k;
    weiri_raster r = weiri_raster_try(k, q, c->out->a);
    if (!r.found) return;
    weiri_buf tile, with;
    weiri_buf_init(&tile, k->ctx);
    weiri_buf_init(&with, k->ctx);
    for (int i = 0; i < q->qrank; i++) weiri_put(&tile, "%s%s = %lld", i ? ", " : "", q->axis[i], (long long)r.coord[i]);
    weiri_range_put_args(k, ", with ", r.dims, r.scalars, r.dim_used, r.scalar_used, &with);
    weir_finding *f;
    if (r.bad_axis < 0)
        f = weiri_find(c->out, "V-WQ-11", weiri_place_of(&q->at),
                       "the raster of '%s' gives i = %lld and i = %lld one tile, %s%s", q->name, (long long)r.i, (long long)r.j,
                       tile.s ? tile.s : "", with.s ? with.s : "");
    else
        f = weiri_find(c->out, "V-WQ-11", weiri_place_of(&q->at),
                       "the raster of '%s' gives i = %lld the tile %s, but there are %lld along %s%s", q->name, (long long)r.i,
                       tile.s ? tile.s : "", (long long)r.extent[r.bad_axis], q->axis[r.bad_axis], with.s ? with.s : "");
    f->hint = "give each i, from 0 to below the product of the extents, a tile of its own; k:assume(...) says which sizes come";
    weiri_buf_free(&tile);
    weiri_buf_free(&with);
}

void vd_check_rasters(checker *c) {
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (r->kind == WEIR_RES_QUEUE && r->raster == WEIR_RASTER_CUSTOM) check_raster(c, r);
    }
}
