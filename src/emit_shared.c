/* Scalars that several places take. Values are a graph, text is a tree: an expression whose parts are shared would grow without
 * bound. A block names, at its head, what several places in it take. What only the body of a guard takes is named there; what only
 * a loop takes, before the loop. */
#include "emit.h"

enum { WORTH = 4 }; /* cost of a value that is worth a name: a division by what the launch says has it alone */

typedef struct shared_use {
    const weiri_pnode *in; /* the block's child in which it is taken; SEVERAL: more than one, or the block itself */
    uint16_t refs;         /* places that take it */
    uint8_t pure;          /* whether it is made of sizes, coordinates and loop indices alone, when that is known */
    uint32_t seen;         /* the walk that has been here */
} shared_use;

enum { PURE_UNKNOWN, PURE, IMPURE };
static const weiri_pnode several;

/* ---- what a block could name --------------------------------------------------------------------------------------------- */

static bool within(const weiri_pnode *block, weiri_pnode_kind kind, const weiri_node *loop, const weir_res *queue) {
    for (; block; block = block->parent)
        if (block->kind == kind && block->src && (loop ? block->src == loop : block->src->queue == queue)) return true;
    return false;
}

static bool is_pure(emitter *e, uint32_t id) {
    shared_use *u = &e->shared[id];
    if (u->pure != PURE_UNKNOWN) return u->pure == PURE;
    const weiri_value *v = weiri_val(e->k, id);
    bool pure = v->kind == WEIR_VALUE_SCALAR || (v->kind == WEIR_VALUE_COND && v->rows * v->cols <= 1);
    switch (v->op) {
    case WEIR_OP_INT:
    case WEIR_OP_FLOAT:
    case WEIR_OP_DIM:
    case WEIR_OP_SCALAR:
    case WEIR_OP_CTA:
    case WEIR_OP_INDEX:
    case WEIR_OP_COORD:
    case WEIR_OP_BEFORE:
    case WEIR_OP_QUEUE_INDEX: break;
    default: pure = pure && v->nargs > 0 && v->op != WEIR_OP_LOAD && v->op != WEIR_OP_RETURN && v->op != WEIR_OP_READ_REG;
    }
    for (int i = 0; i < v->nargs && pure; i++) pure = is_pure(e, v->arg[i]);
    u->pure = pure ? PURE : IMPURE;
    return pure;
}

/* What it costs, written out with the names there are; no more than WORTH is told apart. */
static int cost(emitter *e, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (!v->nargs || e->made[id]) return 0;
    int sum = 1;
    if (v->op == WEIR_OP_IDIV || v->op == WEIR_OP_MOD || v->op == WEIR_OP_CEIL_DIV)
        sum = weiri_val(e->k, v->arg[1])->op == WEIR_OP_INT ? WORTH / 2 : WORTH;
    for (int i = 0; i < v->nargs && sum < WORTH; i++) sum += cost(e, v->arg[i]);
    return sum;
}

static bool is_there(emitter *e, const weiri_pnode *block, uint32_t id) {
    const weiri_value *v = weiri_val(e->k, id);
    if (e->made[id]) return true;
    if (v->op == WEIR_OP_INDEX) return within(block, PN_LOOP, v->loop, NULL);
    if (v->op == WEIR_OP_COORD || v->op == WEIR_OP_QUEUE_INDEX) return within(block, PN_TILES, NULL, v->res);
    if (v->op == WEIR_OP_BEFORE) return within(block, PN_GUARD, NULL, v->res);
    for (int i = 0; i < v->nargs; i++)
        if (!is_there(e, block, v->arg[i])) return false;
    return true;
}

/* ---- a walk -------------------------------------------------------------------------------------------------------------- */

static void take(emitter *e, uint32_t id, const weiri_pnode *in) {
    if (!id) return;
    shared_use *u = &e->shared[id];
    const weiri_value *v = weiri_val(e->k, id);
    if (!v->nargs || e->made[id]) return;
    bool again = u->seen == e->walk;
    if (!again) u->refs = 0, u->in = in, u->seen = e->walk;
    if (u->refs < UINT16_MAX) u->refs++;
    if (u->in != in) u->in = &several;
    if (again) return; /* once written out, its parts are not taken again */
    for (int i = 0; i < v->nargs; i++) take(e, v->arg[i], in);
}

static void take_block(emitter *e, const weiri_pnode *n, const weiri_pnode *in);

/* What a node itself takes, in its block; then its body. */
static void take_node(emitter *e, const weiri_pnode *n, const weiri_pnode *in) {
    const weiri_pnode *here = in ? in : &several;
    const weiri_node *s = n->src;
    switch (n->kind) {
    case PN_ACTION:
        for (int i = 0; n->act->op && i < n->act->op->nargs; i++) take(e, n->act->op->arg[i], here);
        return;
    case PN_LOOP:
        take(e, s->start, here);
        take(e, s->stop, here);
        take(e, s->step, here);
        break;
    case PN_GUARD: take(e, s->of, here); break;
    case PN_TILES:
        for (int i = 0; i < s->queue->qrank; i++) take(e, s->queue->extent[i].id, here);
        take_block(e, n->skip, in ? in : n);
        break;
    default: break;
    }
    take_block(e, n->first, in ? in : n);
}

static void take_block(emitter *e, const weiri_pnode *n, const weiri_pnode *in) {
    for (; n; n = n->next) take_node(e, n, in);
}

/* ---- names --------------------------------------------------------------------------------------------------------------- */

/* Names what this walk has seen taken more than once and can be had at the head of `block`; `needed`: whatever it costs, for the
 * block takes it in any case. */
static void name_taken(emitter *e, const weiri_pnode *block, bool needed) {
    for (uint32_t id = 1; id < (uint32_t)e->k->values.n; id++) { /* parts come before what they are parts of */
        shared_use *u = &e->shared[id];
        if (u->seen != e->walk || u->refs < 2 || e->made[id] || !is_pure(e, id) || cost(e, id) < (needed ? 1 : WORTH)) continue;
        if (u->in != &several && u->in->kind != PN_LOOP && u->in->kind != PN_TILES) continue;
        if (!is_there(e, block, id)) continue;
        const weiri_value *v = weiri_val(e->k, id);
        const char *type = em_type(v);
        e->ahead = !needed;
        const char *text = em_expr(e, id);
        e->ahead = false;
        em_line(e, "const %s v%u = %s;", type, id, text);
        em_make(e, id, MADE);
    }
}

shared_use *em_shared_uses(emitter *e) { return WEIRI_NEW_N(e->a, shared_use, e->k->values.n + 1); }

void em_name_shared(emitter *e, const weiri_pnode *first) {
    e->walk++;
    take_block(e, first, NULL);
    name_taken(e, first->parent, false);
}

void em_name_coords(emitter *e, const weiri_pnode *tiles, const weir_res *q) {
    e->walk++;
    for (int i = 0; i < q->qrank; i++) take(e, q->raster_coord[i].id, &several);
    name_taken(e, tiles, true);
}

void em_forget(emitter *e, int mark) {
    while (e->made_list.n > mark) e->made[e->made_list.v[--e->made_list.n]] = 0;
}
