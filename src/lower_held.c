/* How many stages of each pipeline a task may hold at each of its ops, by one walk over the captured tree. */
#include "lowering.h"

bool weiri_loop_runs(const weir_kernel *k, const weiri_node *n) {
    int64_t a, b, s;
    if (!weiri_value_const(k, n->start, &a) || !weiri_value_const(k, n->stop, &b) || !weiri_value_const(k, n->step, &s))
        return false;
    return s > 0 ? a < b : a > b;
}

#define MAX_CURSORS 64
/* by cursor of the task: bit h of v: h stages may be held; bit h of loose: no mma may have followed the newest h opens. LW_MANY:
 * more than the sets count exactly */
typedef struct held {
    uint64_t v[MAX_CURSORS], loose[MAX_CURSORS];
} held;

static uint64_t one_more(uint64_t set) { return set << 1 | (set & LW_MANY); }

static bool merge_set(uint64_t *into, uint64_t from) {
    /* the walk of a loop stops growing there, the finding comes from the maximum */
    uint64_t all = *into | from, u = all & ((1ull << 40) - 1);
    if (all != u) u |= LW_MANY;
    bool grew = u != *into;
    *into = u;
    return grew;
}

static bool merge_held(held *into, const held *from) {
    bool grew = false;
    for (int i = 0; i < MAX_CURSORS; i++) {
        grew = merge_set(&into->v[i], from->v[i]) || grew;
        grew = merge_set(&into->loose[i], from->loose[i]) || grew;
    }
    return grew;
}

typedef enum is_it { MAYBE = 0, YES, NO } is_it;
typedef struct turn {
    is_it first, last;
} turn;

/* Does a guard on this loop's first or last iteration stand in the list? */
static bool has_ends(const weiri_node *loop, const weiri_node *n) {
    for (; n; n = n->next) {
        bool end = n->kind == NODE_GUARD && (n->guard == WEIR_GUARD_FIRST || n->guard == WEIR_GUARD_LAST) && n->loop == loop;
        if (end || has_ends(loop, n->first)) return true;
    }
    return false;
}

static void held_walk(lowering *l, const weiri_node *n, held *s);

static void one_turn(lowering *l, const weiri_node *loop, is_it first, is_it last, held *s) {
    turn before = l->turn[loop->id];
    l->turn[loop->id] = (turn){ first, last };
    held_walk(l, loop->first, s);
    l->turn[loop->id] = before;
}

/* A loop whose first or last iteration differs: each walked as such, those between until nothing is new. */
static void walk_ends(lowering *l, const weiri_node *n, bool must, held *s) {
    int64_t a, b, by, trips = -1;
    if (weiri_value_const(l->k, n->start, &a) && weiri_value_const(l->k, n->stop, &b) && weiri_value_const(l->k, n->step, &by))
        trips = by > 0 ? (b - a + by - 1) / by : (a - b - by - 1) / -by;
    held single = *s, many = *s, before = *s;
    one_turn(l, n, YES, YES, &single);
    one_turn(l, n, YES, NO, &many);
    for (bool grew = trips != 2; grew;) {
        held out = many;
        one_turn(l, n, NO, NO, &out);
        grew = merge_held(&many, &out);
    }
    one_turn(l, n, NO, YES, &many);
    *s = trips == 1 ? single : many;
    if (trips < 0) merge_held(s, &single);
    if (!must) merge_held(s, &before);
}

/* A loop over tiles, and all that follows it, of a task that looks back: without a tile; the first, which has none before it;
 * the others, until nothing is new. */
static void walk_turns(lowering *l, const weiri_node *n, held *s) {
    held none = *s, turn;
    l->had = false;
    held_walk(l, n->next, &none);
    held_walk(l, n->first, s);
    l->had = true;
    do {
        turn = *s;
        held_walk(l, n->first, &turn);
    } while (merge_held(s, &turn));
    held_walk(l, n->next, s);
    merge_held(s, &none);
}

static void held_walk(lowering *l, const weiri_node *n, held *s) {
    for (; n; n = n->next) {
        if (n->kind == NODE_OP) {
            const weiri_op *op = n->op;
            for (int i = 0; op->atom == ATOM_MMA && i < MAX_CURSORS; i++) s->loose[i] = 1;
            if (!lw_piped(l->p, op) || op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) continue;
            int c = lw_cursor(l, op->res, lw_is_producer(op->stage));
            int ci = 0;
            while (l->cursors.v[ci].index != c) ci++;
            if (ci >= MAX_CURSORS) continue;
            bool first, last;
            if (lw_opens(op)) {
                lw_round_place(l, op, &first, &last);
                l->held_in[op->id] |= s->v[ci];
                if (last) s->v[ci] = one_more(s->v[ci]), s->loose[ci] = one_more(s->loose[ci]);
            } else if (lw_closes(l, op)) {
                l->held_in[op->id] |= s->v[ci];
                l->loose_in[op->id] |= s->loose[ci];
                uint64_t in = s->v[ci], out = 0;
                if (op->keep < 0)
                    out = in >> 1 | (in & (LW_MANY | 1)); /* of LW_MANY one less: the largest that is counted, or LW_MANY */
                else
                    for (int h = 0; h < 64; h++)
                        if (in >> h & 1) out |= 1ull << (h < op->keep ? h : op->keep);
                s->v[ci] = out;
            }
            continue;
        }
        if (n->kind == NODE_TILES && l->looks_back) {
            walk_turns(l, n, s);
            return;
        }
        if (weiri_of_before(n) && !l->had) continue;
        bool must = weiri_of_before(n) || (n->kind == NODE_LOOP && weiri_loop_runs(l->k, n));
        bool again = n->kind == NODE_LOOP || n->kind == NODE_TILES;
        if (n->kind == NODE_LOOP && has_ends(n, n->first)) {
            walk_ends(l, n, must, s);
            continue;
        }
        if (n->kind == NODE_GUARD && n->loop) {
            is_it it = n->guard == WEIR_GUARD_FIRST  ? l->turn[n->loop->id].first
                       : n->guard == WEIR_GUARD_LAST ? l->turn[n->loop->id].last
                                                     : MAYBE;
            if (it == NO) continue;
            must = it == YES;
        }
        held in = *s, out;
        do {
            out = in;
            held_walk(l, n->first, &out);
        } while (again && merge_held(&in, &out));
        if (must) *s = out;
        else merge_held(s, &out);
    }
}

/* advance_on_wait, advance_on_acquire: whether a side opens stages before it has closed the last one follows from the schedule;
 * given as false it must not. `here`: in one task. */
static void check_ahead(lowering *l, const weiri_cursor *c, const weiri_op *open, bool here) {
    const weir_res *r = c->res->kind == WEIR_RES_GROUP ? c->res->members[0] : c->res;
    if (!open || (c->producer ? r->pipe.given.advance_on_acquire : r->pipe.given.advance_on_wait) >= 0) return;
    const char *flag = c->producer ? "advance_on_acquire" : "advance_on_wait",
               *opens_it = c->producer ? "acquires" : "waits for", *close = c->producer ? "commits" : "releases";
    weir_finding *f =
        weiri_find(&l->p->findings, "CN6", weiri_place_of(&open->at), "%s = false, but task '%s' %s '%s' %s%s", flag,
                   l->pt->task->name, opens_it, c->name, here ? "again before it " : "and another task ", close);
    f->objects[0] = r->name;
    f->expected = "true";
    f->got = "false";
    weiri_second_place(f, &r->at, "declared here");
    f->hint = "leave it out: it is derived";
}

void lw_find_held(lowering *l) {
    held s;
    l->held_in = WEIRI_NEW_N(&l->p->a, uint64_t, l->k->nops + 2);
    l->loose_in = WEIRI_NEW_N(&l->p->a, uint64_t, l->k->nops + 2);
    l->turn = WEIRI_NEW_N(&l->p->a, turn, l->k->nnodes + 2);
    for (int i = 0; i < MAX_CURSORS; i++) s.v[i] = s.loose[i] = 1;
    held_walk(l, l->pt->task->root->first, &s);
    if (l->cursors.n > MAX_CURSORS) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&l->pt->task->at),
                                     "task '%s' moves %d pipelines; more than %d cannot be built yet", l->pt->task->name,
                                     l->cursors.n, MAX_CURSORS);
        f->expected = weiri_arena_fmt(&l->p->a, "at most %d", MAX_CURSORS);
        f->got = weiri_arena_fmt(&l->p->a, "%d", l->cursors.n);
        f->hint = "put some of them into a group, or give them to another task";
    }
    /* what each cursor's ops saw */
    for (int i = 0; i < l->cursors.n; i++) {
        weiri_cursor *c = &l->p->cursors.v[l->cursors.v[i].index];
        bool has_open = false, has_close = false, vague = false;
        int most = 0;
        const weiri_op *worst = NULL;
        for (const weiri_node *n = weiri_node_next(l->pt->task->root, NULL); n; n = weiri_node_next(l->pt->task->root, n)) {
            if (n->kind != NODE_OP || !lw_piped(l->p, n->op)) continue;
            const weiri_op *op = n->op;
            if (op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) continue;
            if (lw_cursor(l, op->res, lw_is_producer(op->stage)) != l->cursors.v[i].index) continue;
            uint64_t in = l->held_in[op->id];
            int top = 0;
            for (int h = 0; h < 63; h++)
                if (in >> h & 1) top = h;
            if (lw_opens(op)) {
                has_open = true;
                if (top + 1 > most) most = top + 1, worst = op;
            } else if (lw_closes(l, op)) {
                has_close = true;
                if (in & (in - 1) || in & LW_MANY)
                    vague = true; /* more than one number is possible, or more than are counted */
            }
        }
        c->held_max = most;
        if (most > 1 || !has_open || !has_close) check_ahead(l, c, worst, has_open && has_close);
        if (!has_open || !has_close) { /* split: opens and closes are in different tasks */
            c->held_max = 0;
            c->split_close = !has_open;
            continue;
        }
        c->split_close = most > 1;
        c->needs_held = vague;
        if (most > c->stages) {
            weir_finding *f = weiri_find(&l->p->findings, "PLAN-HELD", weiri_place_of(&worst->at),
                                         "task '%s' may hold %s%d stages of '%s' at once, which has %d", l->pt->task->name,
                                         most >= 40 ? "more than " : "", most >= 40 ? 39 : most, c->name, c->stages);
            f->expected = weiri_arena_fmt(&l->p->a, "at least %d stages", most);
            f->got = weiri_arena_fmt(&l->p->a, "%d", c->stages);
            f->hint = c->producer ? "commit earlier, or give the pipeline more stages"
                                  : "release earlier, or give the pipeline more stages";
            f->objects[0] = c->name;
        }
    }
}
