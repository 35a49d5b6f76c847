/* All ways through a task's tree, for what is found of each op by walking it: how many stages are held, which groups are in flight,
 * whether a tile holds sums. A walk carries a state that stands for a set of ways; where ways meet, states are joined, and a loop is
 * walked until nothing is new. What a guard asks is followed as far as its structure says it: the first and the last iteration of a
 * loop, whether there was a tile before, and a condition that stands in several guards, which is taken to hold in all of them and then
 * in none. */
#include "lowering.h"

#include <string.h>

typedef enum is_it { MAYBE = 0, YES, NO } is_it;
typedef struct lw_turn {
    bool first, last;
} lw_turn;

/* ---- trees -------------------------------------------------------------------------------------------------------------- */

/* The captured tree and the plan's have the same blocks; only the plan has those that ask how many stages are held. */
static const void *next_of(const lw_ways *w, const void *n) {
    return w->plan ? (const void *)((const weiri_pnode *)n)->next : (const void *)((const weiri_node *)n)->next;
}

static const void *first_of(const lw_ways *w, const void *n) {
    return w->plan ? (const void *)((const weiri_pnode *)n)->first : (const void *)((const weiri_node *)n)->first;
}

static bool is_leaf(const lw_ways *w, const void *n) {
    return w->plan ? ((const weiri_pnode *)n)->kind == PN_ACTION : ((const weiri_node *)n)->kind == NODE_OP;
}

/* The block as captured; NULL: one that asks how many stages are held. */
static const weiri_node *block_of(const lw_ways *w, const void *n) {
    return w->plan ? ((const weiri_pnode *)n)->src : n;
}

/* ---- states ------------------------------------------------------------------------------------------------------------- */

static void *copy_of(lw_ways *w, const void *state) {
    if (w->nfree == 0) WEIRI_PUSH(&w->l->p->a, w->spare, WEIRI_NEW_N(&w->l->p->a, uint8_t, w->size));
    else w->nfree--;
    void *at = w->spare.v[w->spare.n - 1 - w->nfree];
    memcpy(at, state, w->size);
    return at;
}

/* The newest `n` copies are not needed any longer. */
static void drop(lw_ways *w, int n) { w->nfree += n; }

/* ---- conditions --------------------------------------------------------------------------------------------------------- */

static bool is_condition(const weiri_node *n) { return n && weiri_is_condition(n); }

/* Without the negations around it. */
static const weiri_value *bare(const weir_kernel *k, uint32_t id, bool *not) {
    for (; weiri_val(k, id)->op == WEIR_OP_NOT; id = weiri_val(k, id)->arg[0]) *not = !*not;
    return weiri_val(k, id);
}

static bool in_order(const weir_kernel *k, const weiri_value *v) {
    return !weiri_value_is_float(weiri_val(k, v->arg[0])->dtype) && !weiri_value_is_float(weiri_val(k, v->arg[1])->dtype);
}

/* What `a op b` is as `b op a`. */
static weir_op turned(weir_op op) {
    return op == WEIR_OP_LT   ? WEIR_OP_GT
           : op == WEIR_OP_GT ? WEIR_OP_LT
           : op == WEIR_OP_LE ? WEIR_OP_GE
           : op == WEIR_OP_GE ? WEIR_OP_LE
                              : op;
}

/* What `a op b` is where it does not hold; of what is no number neither a < b nor a >= b does. */
static weir_op contrary(weir_op op) {
    return op == WEIR_OP_LT   ? WEIR_OP_GE
           : op == WEIR_OP_GE ? WEIR_OP_LT
           : op == WEIR_OP_GT ? WEIR_OP_LE
           : op == WEIR_OP_LE ? WEIR_OP_GT
           : op == WEIR_OP_EQ ? WEIR_OP_NE
                              : WEIR_OP_EQ;
}

/* Is y the condition x, or its opposite? Equal values share an id, and one that is read or returned anew has another. */
static bool same_condition(const weir_kernel *k, uint32_t x, uint32_t y, bool *opposite) {
    *opposite = false;
    const weiri_value *v = bare(k, x, opposite), *w = bare(k, y, opposite);
    if (v == w) return true;
    if (v->op < WEIR_OP_LT || v->op > WEIR_OP_NE || w->op < WEIR_OP_LT || w->op > WEIR_OP_NE) return false;
    const bool equality = v->op == WEIR_OP_EQ || v->op == WEIR_OP_NE;
    for (int turn = 0; turn < 2; turn++) {
        if (v->arg[0] != w->arg[turn] || v->arg[1] != w->arg[1 - turn]) continue;
        const weir_op op = turn ? turned(w->op) : w->op;
        if (op == v->op) return true;
        if (op != contrary(v->op) || !(equality || in_order(k, v))) continue;
        *opposite ^= true;
        return true;
    }
    return false;
}

static bool asked_again(const lw_ways *w, uint32_t of, const void *n) {
    for (; n; n = next_of(w, n)) {
        if (is_leaf(w, n)) continue;
        bool opposite;
        const weiri_node *b = block_of(w, n);
        if ((is_condition(b) && same_condition(w->l->k, of, b->of, &opposite)) || asked_again(w, of, first_of(w, n))) return true;
    }
    return false;
}

/* ---- ends of loops ------------------------------------------------------------------------------------------------------ */

static bool is_number(const weir_kernel *k, uint32_t id, int64_t n) {
    int64_t c;
    return weiri_value_const(k, id, &c) && c == n;
}

/* Is it `of + by`? Equal values share an id, plain numbers, too. */
static bool is_sum(const weir_kernel *k, uint32_t id, uint32_t of, int64_t by) {
    const weiri_value *v = weiri_val(k, id);
    int64_t a, b;
    if (weiri_value_const(k, id, &a) && weiri_value_const(k, of, &b)) return a - b == by;
    if (v->op == WEIR_OP_ADD)
        return (v->arg[0] == of && is_number(k, v->arg[1], by)) || (v->arg[1] == of && is_number(k, v->arg[0], by));
    return v->op == WEIR_OP_SUB && v->arg[0] == of && is_number(k, v->arg[1], -by);
}

/* Is the guard's body for the first, or the last, iteration of a loop by one, or for all others? */
static bool is_end(const lw_ways *w, const weiri_node *guard, const weiri_node **loop, bool *first, bool *others) {
    if (guard->kind != NODE_GUARD) return false;
    *loop = guard->loop;
    *others = false;
    *first = guard->guard == WEIR_GUARD_FIRST;
    if (*first || guard->guard == WEIR_GUARD_LAST) return true;
    if (!is_condition(guard)) return false;
    const weir_kernel *k = w->l->k;
    *others = guard->guard == WEIR_GUARD_FALSE;
    const weiri_value *v = bare(k, guard->of, others);
    if (v->op < WEIR_OP_LT || v->op > WEIR_OP_NE || !in_order(k, v)) return false;
    for (int turn = 0; turn < 2; turn++) {
        /* `x op y`, x the side with the index: i, or i + 1 */
        const uint32_t x = v->arg[turn], y = v->arg[1 - turn];
        const weiri_value *i = weiri_val(k, x);
        bool next = i->op == WEIR_OP_ADD && is_number(k, i->arg[1], 1);
        if (next) i = weiri_val(k, i->arg[0]);
        if (i->op != WEIR_OP_INDEX || !is_number(k, i->loop->step, 1)) continue;
        const weiri_node *of = i->loop;
        const weir_op op = turn ? turned(v->op) : v->op;
        const bool at_first = !next && y == of->start, at_last = next ? y == of->stop : is_sum(k, y, of->stop, -1);
        if (at_first && (op == WEIR_OP_EQ || op == WEIR_OP_LE || op == WEIR_OP_NE || op == WEIR_OP_GT)) *first = true;
        else if (at_last && (op == WEIR_OP_EQ || op == WEIR_OP_GE || op == WEIR_OP_NE || op == WEIR_OP_LT)) *first = false;
        else continue;
        *loop = of;
        *others ^= op == WEIR_OP_NE || op == WEIR_OP_GT || op == WEIR_OP_LT;
        return true;
    }
    return false;
}

/* Does a guard on this loop's first or last iteration stand in the list? */
static bool has_ends(const lw_ways *w, const weiri_node *loop, const void *n) {
    for (; n; n = next_of(w, n)) {
        const weiri_node *b = is_leaf(w, n) ? NULL : block_of(w, n), *of;
        bool first, others;
        if (b && is_end(w, b, &of, &first, &others) && of == loop) return true;
        if (!is_leaf(w, n) && has_ends(w, loop, first_of(w, n))) return true;
    }
    return false;
}

/* Does the guard's body run? */
static is_it runs(const lw_ways *w, const weiri_node *guard) {
    const weiri_node *loop;
    bool first, others;
    int64_t c;
    if (is_end(w, guard, &loop, &first, &others)) /* it stands in the loop: walk_ends goes through that */
        return (first ? w->turn[loop->id].first : w->turn[loop->id].last) != others ? YES : NO;
    if (is_condition(guard) && weiri_value_const(w->l->k, guard->of, &c) && (c != 0) == (guard->guard == WEIR_GUARD_TRUE)) return YES;
    for (int i = 0; is_condition(guard) && i < w->nknown; i++) {
        bool opposite;
        if (!same_condition(w->l->k, w->known[i].of, guard->of, &opposite)) continue;
        return (w->known[i].holds != opposite) == (guard->guard == WEIR_GUARD_TRUE) ? YES : NO;
    }
    return MAYBE;
}

const weiri_node *lw_unknown_guard(const weiri_node *n) {
    for (; n; n = n->parent)
        if (is_condition(n) || (n->kind == NODE_GUARD && n->guard == WEIR_GUARD_EVERY) || n->kind == NODE_SKIPPABLE) break;
    return n;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------------- */

/* A lower bound of a value of dims and plain numbers; false: none is known. */
static bool at_least(const weir_kernel *k, uint32_t id, int64_t *out) {
    const weiri_value *v = weiri_val(k, id);
    int64_t a, b;
    switch (v->op) {
    case WEIR_OP_INT: *out = v->i; return true;
    case WEIR_OP_DIM: *out = v->min; return true;
    case WEIR_OP_ADD:
        return at_least(k, v->arg[0], &a) && at_least(k, v->arg[1], &b) && !__builtin_add_overflow(a, b, out);
    case WEIR_OP_MIN:
        if (!at_least(k, v->arg[0], &a) || !at_least(k, v->arg[1], &b)) return false;
        *out = a < b ? a : b;
        return true;
    case WEIR_OP_MAX: /* of either, whatever the other is */
        if (!at_least(k, v->arg[0], &a)) return at_least(k, v->arg[1], out);
        *out = at_least(k, v->arg[1], &b) && b > a ? b : a;
        return true;
    case WEIR_OP_MUL:
        if (!at_least(k, v->arg[0], &a) || !at_least(k, v->arg[1], &b) || a < 0 || b < 0) return false;
        return !__builtin_mul_overflow(a, b, out);
    case WEIR_OP_CEIL_DIV:
    case WEIR_OP_IDIV:
        if (!at_least(k, v->arg[0], &a) || !weiri_value_const(k, v->arg[1], &b) || b <= 0 || a < 0) return false;
        *out = v->op == WEIR_OP_IDIV ? a / b : a / b + (a % b > 0);
        return true;
    default: return false;
    }
}

bool weiri_loop_runs(const weir_kernel *k, const weiri_node *n) {
    int64_t a, b, s;
    if (!weiri_value_const(k, n->start, &a) || !weiri_value_const(k, n->step, &s)) return false;
    return s > 0 ? at_least(k, n->stop, &b) && a < b : weiri_value_const(k, n->stop, &b) && a > b;
}

static void walk(lw_ways *w, const void *n, void *s);

static void one_turn(lw_ways *w, const void *n, bool first, bool last, void *s) {
    const int id = block_of(w, n)->id;
    const lw_turn before = w->turn[id];
    w->turn[id] = (lw_turn){ first, last };
    walk(w, first_of(w, n), s);
    w->turn[id] = before;
}

/* A loop whose first or last iteration differs: each walked as such, those between until nothing is new. */
static void walk_ends(lw_ways *w, const void *n, bool must, void *s) {
    const weiri_node *loop = block_of(w, n);
    const weir_kernel *k = w->l->k;
    int64_t a, b, by, trips = -1;
    if (weiri_value_const(k, loop->start, &a) && weiri_value_const(k, loop->stop, &b) && weiri_value_const(k, loop->step, &by))
        trips = by > 0 ? (b - a + by - 1) / by : (a - b - by - 1) / -by;
    void *before = copy_of(w, s), *single = copy_of(w, s), *many = copy_of(w, s);
    one_turn(w, n, true, true, single);
    one_turn(w, n, true, false, many);
    for (bool grew = trips != 2; grew;) {
        void *out = copy_of(w, many);
        one_turn(w, n, false, false, out);
        grew = w->join(w, many, out);
        drop(w, 1);
    }
    one_turn(w, n, false, true, many);
    memcpy(s, trips == 1 ? single : many, w->size);
    if (trips < 0) w->join(w, s, single);
    if (!must) w->join(w, s, before);
    drop(w, 3);
}

/* A loop over tiles, and all that follows it, of a task that looks back: without a tile; the first, which has none before it;
 * the others, until nothing is new. */
static void walk_turns(lw_ways *w, const void *n, void *s) {
    void *none = copy_of(w, s);
    w->had = false;
    walk(w, next_of(w, n), none);
    walk(w, first_of(w, n), s);
    w->had = true;
    for (bool grew = true; grew;) {
        void *turn = copy_of(w, s);
        walk(w, first_of(w, n), turn);
        grew = w->join(w, s, turn);
        drop(w, 1);
    }
    walk(w, next_of(w, n), s);
    w->join(w, s, none);
    drop(w, 1);
}

/* The list from a guard on whose condition is asked there again: once where it holds, once where it does not. A value is made in the
 * block that it lives in, so within one turn of that block all who ask it come to the same. */
static void walk_both(lw_ways *w, const void *n, void *s) {
    void *no = copy_of(w, s);
    w->known[w->nknown++] = (lw_known){ .of = block_of(w, n)->of, .holds = true };
    walk(w, n, s);
    w->known[w->nknown - 1].holds = false;
    walk(w, n, no);
    w->nknown--;
    w->join(w, s, no);
    drop(w, 1);
}

static void walk(lw_ways *w, const void *n, void *s) {
    for (; n; n = next_of(w, n)) {
        if (is_leaf(w, n)) {
            w->step(w, n, s);
            continue;
        }
        const weiri_node *b = block_of(w, n);
        const bool held = !b, loops = b && (b->kind == NODE_LOOP || b->kind == NODE_TILES);
        if (held && w->skip_held) continue;
        if (b && b->kind == NODE_TILES && w->l->looks_back) {
            walk_turns(w, n, s);
            return;
        }
        const bool before = b && weiri_of_before(b);
        if (before && !w->had) continue;
        bool must = before;
        if (b && b->kind == NODE_LOOP) must = weiri_loop_runs(w->l->k, b);
        if (b && b->kind == NODE_LOOP && has_ends(w, b, first_of(w, n))) {
            walk_ends(w, n, must, s);
            continue;
        }
        if (b && b->kind == NODE_GUARD && !before) {
            const is_it it = runs(w, b);
            if (it == MAYBE && is_condition(b) && w->nknown < LW_KNOWN && asked_again(w, b->of, next_of(w, n))) {
                walk_both(w, n, s);
                return;
            }
            if (it == NO) continue;
            must = it == YES;
        }
        const bool again = loops || (held && !((const weiri_pnode *)n)->once);
        void *in = copy_of(w, s), *out = NULL;
        for (bool grew = true; grew;) {
            if (out) drop(w, 1);
            out = copy_of(w, in);
            walk(w, first_of(w, n), out);
            grew = again && w->join(w, in, out);
        }
        if (must) memcpy(s, out, w->size);
        else w->join(w, s, out);
        drop(w, 2);
    }
}

void lw_walk_ways(lw_ways *w, const void *list, void *state) {
    w->turn = WEIRI_NEW_N(&w->l->p->a, lw_turn, w->l->k->nnodes + 2);
    walk(w, list, state);
}
