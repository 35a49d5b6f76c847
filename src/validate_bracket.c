/* Moves around work: what a task works on it has opened, and closes (specification 3.4: V-BRK). And which blocks steps stand in:
 * with skipped tiles (1.4: C-NEST-11, 12), in front of a loop and inside it (3.11: V-HLO). */
#include "validating.h"

/* ---- brackets ----------------------------------------------------------------------------------------------------------- */

typedef struct side {
    weiri_stage try_it, open, work, close;
} side;
static const side consumer = { STAGE_CONS_TRY, STAGE_CONS_WAIT, STAGE_CONS_WORK, STAGE_CONS_RELEASE };
static const side producer = { STAGE_PROD_TRY, STAGE_PROD_ACQUIRE, STAGE_PROD_WORK, STAGE_PROD_COMMIT };

typedef struct order {
    const int *v;
    int n;
} order; /* indices of uses */

/* One side of one resource in one task. */
typedef struct bracket {
    checker *c;
    const weiri_task *t;
    const uses *us;
    const weir_res *r;
    const side *s;
    const char *name, *open, *close; /* of the resource, of its moves */
} bracket;

/* Does `down` follow from `up` in the graph, over any number of edges? */
static bool is_downstream(const checker *c, const weir_res *up, const weir_res *down, int steps) {
    for (int i = 0; i < c->graph.n && steps > 0; i++) {
        const weiri_edge *e = &c->graph.v[i];
        if (vd_in_list(e->up, e->nup, up) && (e->down == down || (e->down != up && is_downstream(c, e->down, down, steps - 1))))
            return true;
    }
    return false;
}

/* A move that opens something downstream before index `before`: what lets one task wait and another work. */
static bool has_proxy(const bracket *b, int before) {
    for (int i = 0; i < before; i++) {
        const use *u = &b->us->v[i];
        if (u->stage == b->s->open && u->res != b->r && weiri_piped(u->res) && is_downstream(b->c, b->r, u->res, 8))
            return true;
    }
    return false;
}

/* Does another task give back what this one waits for? Then it may read the stage before it hands on; in time or not, the proof
 * says. */
static bool given_back_elsewhere(const bracket *b) {
    const checker *c = b->c;
    for (int i = 0; i < c->k->tasks.n; i++)
        if (c->k->tasks.v[i] != b->t && vd_has(&c->of[i], b->r, STAGE_CONS_RELEASE) &&
            !vd_has(&c->of[i], b->r, STAGE_CONS_WAIT))
            return true;
    return false;
}

static void without_moves(const bracket *b, const use *u) {
    weir_finding *f = weiri_find(b->c->out, "V-BRK-01", VD_AT_OP(u->op), "task '%s': %s on '%s' without %s and %s", b->t->name,
                                 vd_written(u), b->name, b->open, b->close);
    f->hint = weiri_arena_fmt(b->c->out->a, "write %s:%s() before and %s:%s() after it", b->name, b->open, b->name, b->close);
    vd_called_from(f, &u->op->at);
}

static void without_open(const bracket *b, const use *u) {
    weir_finding *f = weiri_find(b->c->out, "V-BRK-02", VD_AT_OP(u->op), "task '%s': %s on '%s' without %s before it",
                                 b->t->name, vd_written(u), b->name, b->open);
    f->hint = weiri_arena_fmt(b->c->out->a, "write %s:%s() first", b->name, b->open);
    vd_called_from(f, &u->op->at);
}

static void without_close(const bracket *b, const use *u) {
    weir_finding *f = weiri_find(b->c->out, "V-BRK-03", VD_AT_OP(u->op), "task '%s': %s on '%s' without %s after it",
                                 b->t->name, vd_written(u), b->name, b->close);
    f->hint = weiri_arena_fmt(b->c->out->a, "write %s:%s() after it", b->name, b->close);
    vd_called_from(f, &u->op->at);
}

/* Guards that a walk is in, and what was held in front of each. */
enum { DEEPEST = 16 };
typedef struct guards {
    const weiri_node *v[DEEPEST];
    int held[DEEPEST], n;
} guards;

/* The walk comes to the node: what is held there, on one way at least. What a guard's body gives back is held behind it all the same
 * where the body did not run. */
static int held_at(guards *in, const weiri_node *n, int held) {
    for (; in->n && !weiri_node_inside(n, in->v[in->n - 1]); in->n--)
        if (in->held[in->n - 1] > held) held = in->held[in->n - 1];
    const weiri_node *around[DEEPEST];
    int more = 0;
    for (; n && more < DEEPEST && !(in->n && n == in->v[in->n - 1]); n = n->parent)
        if (n->kind == NODE_GUARD) around[more++] = n;
    for (; more && in->n < DEEPEST; in->n++) in->v[in->n] = around[--more], in->held[in->n] = held;
    return held;
}

/* The uses in order, the stages held counted: the last work that nothing closes, or NULL. Work without a stage is told of once per
 * gap, and not again in another turn. */
static const use *walk(const bracket *b, const order *in, bool proxied) {
    const use *pending = NULL, *told = NULL;
    guards around = { .n = 0 };
    int held = 0;
    for (int j = 0; j < in->n; j++) {
        const int i = in->v[j];
        const use *u = &b->us->v[i];
        if (u->res != b->r) continue;
        held = held_at(&around, u->node, held);
        if (u->stage == b->s->open) held++;
        if (u->stage == b->s->close && pending) {
            pending = NULL;
            held = u->op->keep < 0 ? held - 1 : held < u->op->keep ? held : u->op->keep;
        }
        if (u->stage != b->s->work) continue;
        pending = u;
        if (held > 0 || (proxied && has_proxy(b, i))) continue;
        held = 1;
        if (told && told >= u) continue;
        told = u;
        without_open(b, u);
    }
    return pending;
}

static void check_side(const bracket *b, const order *in) {
    const use *first_work = NULL;
    for (int i = 0; i < b->us->n && !first_work; i++)
        if (b->us->v[i].res == b->r && b->us->v[i].stage == b->s->work) first_work = &b->us->v[i];
    if (!first_work || !weiri_piped(b->r)) return;
    const bool opens = vd_has(b->us, b->r, b->s->open), closes = vd_has(b->us, b->r, b->s->close);
    const bool proxied = !opens && has_proxy(b, b->us->n);
    if (!opens && !closes) {
        if (!proxied) without_moves(b, first_work);
        return;
    }
    const use *pending = walk(b, in, proxied);
    if (!pending || (b->s == &consumer && (closes ? vd_pushes_from(b->c, b->us, b->r) : given_back_elsewhere(b)))) return;
    without_close(b, pending);
}

static void check_try(const bracket *b) {
    const use *open_try = NULL;
    for (int i = 0; i < b->us->n; i++) {
        const use *u = &b->us->v[i];
        if (u->res != b->r) continue;
        if (u->stage == b->s->try_it) open_try = u;
        if (u->stage == b->s->open) open_try = NULL;
    }
    if (!open_try || !weiri_piped(b->r)) return;
    weiri_find(b->c->out, "V-BRK-04", VD_AT_OP(open_try->op), "task '%s': %s on '%s' without %s after it", b->t->name,
               vd_move_text(b->s->try_it), b->name, b->open)
        ->hint = weiri_arena_fmt(b->c->out->a, "write %s:%s() where the stage is needed", b->name, b->open);
}

static bool looks_back(const weiri_node *n) {
    while (n && !weiri_of_before(n)) n = n->parent;
    return n != NULL;
}

/* The uses as they follow each other. A task that looks back holds over the turns: its tile twice, first without what asks for the
 * tile before. */
static order order_of(checker *c, const weiri_task *t, const uses *us) {
    const weiri_node *tiles = weiri_tile_loop(t);
    int *v = WEIRI_NEW_N(c->out->a, int, 2 * us->n + 1), n = 0, first = 0, end = 0;
    bool back = false;
    for (int i = 0; i < us->n; i++) {
        back = back || looks_back(us->v[i].node);
        if (tiles && weiri_node_inside(us->v[i].node, tiles)) end = i + 1;
        else if (!end) first = i + 1;
    }
    for (int i = 0; i < (back ? end : 0); i++)
        if (!looks_back(us->v[i].node)) v[n++] = i;
    for (int i = back ? first : 0; i < us->n; i++) v[n++] = i;
    return (order){ v, n };
}

void vd_check_brackets(checker *c, const weiri_task *t, const uses *us) {
    const order in = order_of(c, t, us);
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE) continue;
        const char *name = vd_spelled(c, r);
        const bracket takes = { c, t, us, r, &consumer, name, vd_move_text(consumer.open), vd_move_text(consumer.close) };
        const bracket makes = { c, t, us, r, &producer, name, vd_move_text(producer.open), vd_move_text(producer.close) };
        check_side(&takes, &in);
        check_side(&makes, &in);
        check_try(&takes);
        check_try(&makes);
    }
}

/* ---- nesting ------------------------------------------------------------------------------------------------------------ */

/* What runs on for tiles that are skipped. */
static void check_skipped(checker *c, const weiri_task *t, const weiri_node *tiles, const weiri_node *n) {
    const weiri_node *skippable = n;
    while (skippable && skippable->kind != NODE_SKIPPABLE) skippable = skippable->parent;
    if (n->kind == NODE_LOOP && !skippable) {
        weir_finding *f =
            weiri_find(c->out, "C-NEST-11", weiri_place_of(&n->at),
                       "task '%s': the work-tile loop skips tiles, and this domain loop runs on them all the same", t->name);
        f->hint = "put it inside `for _ in tile:skippable() do ... end`";
        weiri_second_place(f, &tiles->at, "the work-tile loop");
    }
    if (n->kind == NODE_OP && skippable && n->op->res->kind == WEIR_RES_QUEUE)
        weiri_find(c->out, "C-NEST-12", weiri_place_of(&n->at), "task '%s': a step of queue '%s' inside skippable", t->name,
                   n->op->res->name)
            ->hint = "put it behind the skippable block: the queue moves on for skipped tiles too";
}

/* Is it filled inside the loop? The use in front of the loop that fills it, too. */
static const use *filled_before(const uses *us, const use *u) {
    if (u->stage != STAGE_PROD_WORK || u->sec != SEC_LOOP || vd_is_register_tile(u->res) || u->res->kind == WEIR_RES_QUEUE)
        return NULL;
    for (const use *x = us->v; x < u; x++)
        if (x->res == u->res && x->stage == STAGE_PROD_WORK && x->sec == SEC_HEAD && x->op->atom != ATOM_ZERO) return x;
    return NULL;
}

void vd_check_nesting(checker *c, const weiri_task *t, const uses *us) {
    const weiri_node *tiles = weiri_tile_loop(t);
    for (const weiri_node *n = NULL; tiles && tiles->skip && (n = weiri_node_next(t->root, n));)
        if (weiri_node_inside(n, tiles)) check_skipped(c, t, tiles, n);
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i], *before = filled_before(us, u);
        if (!before) continue;
        weir_finding *f = weiri_find(c->out, "V-HLO-01", VD_AT_OP(u->op), "task '%s' writes '%s' before the loop and inside it",
                                     t->name, vd_spelled(c, u->res));
        weiri_second_place(f, &before->op->at, "before the loop");
    }
}
