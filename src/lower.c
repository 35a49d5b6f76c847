/* Schedules to actions. One pass over each captured tree finds how many stages are held where; the next writes the tree of
 * actions; two more walk that tree to find the numbers of wgmma.wait_group and cp.async.bulk.wait_group. */
#include "lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <limits.h>
#include <string.h>

#include "plan_push.h"
#include "plan_tc.h"

typedef struct cursor_key {
    const weir_res *res;
    bool producer;
    int index;
} cursor_key;

/* Members of a group that a task opens in turn, the same order in every block: one cursor serves them all. */
typedef struct round_info {
    const weir_res *group;
    weiri_stage stage;
    const weir_res **order; /* n of them, as many as the group has */
    int n;
    bool over;              /* all of them have come once */
    bool shared;
    int at;
} round_info;

typedef struct lowering {
    weiri_plan *p;
    const weir_kernel *k;
    const weiri_proto *protos;
    int task;
    weiri_ptask *pt;
    WEIRI_LIST(cursor_key) cursors;
    WEIRI_LIST(round_info) rounds;
    uint64_t *held_in;   /* by op id: the set of numbers of held stages before the op */
    uint64_t *loose_in;  /* by op id: the set of numbers of newest opens that no mma has followed */
    bool stores, copies; /* the task issues bulk stores, cp.asyncs */
    struct turn *turn;   /* by node id: which iteration of a loop the walk below is in */
    bool looks_back;     /* the task asks for the tile it had before, or last */
    bool had;            /* ... and it had one, where the walk below is */
} lowering;

/* "task 'load': s:tma_load TEXT" */
static weir_finding *complain(lowering *l, const char *rule, const weiri_op *op, const char *hint, const char *text) {
    static const char *const moves[] = {
        "", "try_wait", "wait", "", "release", "", "try_acquire", "acquire", "", "commit"
    }; /* ORDER STAGE */
    const char *method = op->atom == ATOM_NONE     ? moves[op->stage]
                         : op->atom == ATOM_CUSTOM ? op->work->name
                                                   : weiri_atom_name(op->atom);
    weir_finding *f = weiri_find(&l->p->findings, rule, weiri_place_of(&op->at), "task '%s': %s:%s %s", l->pt->task->name,
                                 op->res->name, method, text);
    f->hint = hint;
    f->objects[0] = op->res->name;
    return f;
}

/* ---- rounds and cursors --------------------------------------------------------------------------------------------------- */

static bool opens(const weiri_op *op) { return op->stage == STAGE_PROD_ACQUIRE || op->stage == STAGE_CONS_WAIT; }

/* Checks one block's own ops (not nested blocks): opens of g's members must repeat one order. */
static bool round_block(round_info *r, const weiri_node *first) {
    int at = 0;
    for (const weiri_node *n = first; n; n = n->next) {
        if (n->kind != NODE_OP) {
            if (!round_block(r, n->first)) return false;
            continue;
        }
        if (n->op->stage != r->stage || n->op->group != r->group || n->op->res == r->group) continue;
        if (at < r->n) {
            if (r->order[at] != n->op->res) return false;
        } else {
            if (r->over) return false; /* a round before it had fewer */
            r->order[r->n++] = n->op->res;
        }
        at++;
        if (at == r->n) {
            /* does another member follow that we have not seen yet? */
            const weiri_node *m = n->next;
            while (m && !(m->kind == NODE_OP && m->op->stage == r->stage && m->op->group == r->group))
                m = m->next;
            bool known = false;
            for (int i = 0; m && i < r->n; i++)
                if (r->order[i] == m->op->res) known = true;
            if (!m || known) at = 0, r->over = true;
        }
    }
    return at == 0;
}

static round_info *round_for(lowering *l, const weir_res *group, weiri_stage stage) {
    for (int i = 0; i < l->rounds.n; i++)
        if (l->rounds.v[i].group == group && l->rounds.v[i].stage == stage) return &l->rounds.v[i];
    round_info r = { .group = group, .stage = stage, .order = WEIRI_NEW_N(&l->p->a, const weir_res *, group->nmembers) };
    bool regular = round_block(&r, l->pt->task->root->first);
    bool tma = true;
    for (int i = 0; i < r.n; i++)
        if (r.order[i]->pipe.given.type != WEIR_TMA_ASYNC && r.order[i]->pipe.given.type != WEIR_TMA_UMMA) tma = false;
    if (stage == STAGE_PROD_ACQUIRE) r.shared = regular && r.n > 0 && (tma || group->mode == WEIR_GROUP_FORK);
    else r.shared = group->mode != WEIR_GROUP_FORK;
    if (r.n && !regular && (stage == STAGE_CONS_WAIT ? group->mode != WEIR_GROUP_FORK : group->mode == WEIR_GROUP_FORK)) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-ROUND", weiri_place_of(&l->pt->task->at),
                                     "task '%s' %s the members of group '%s' in different orders", l->pt->task->name,
                                     stage == STAGE_CONS_WAIT ? "waits for" : "acquires", group->name);
        f->hint = "take every member once, in one order, before the next round";
    }
    WEIRI_PUSH(&l->p->a, l->rounds, r);
    return &l->rounds.v[l->rounds.n - 1];
}

/* What the cursor of an op on r (seen through group g, may be NULL) walks. */
static const weir_res *cursor_res(lowering *l, const weir_res *r, bool producer) {
    if (r->kind == WEIR_RES_GROUP) return r;
    const weir_res *g = r->group;
    if (!g) return r;
    if (producer) return round_for(l, g, STAGE_PROD_ACQUIRE)->shared ? g : r;
    return g->mode == WEIR_GROUP_FORK ? r : g;
}

static int cursor_for(lowering *l, const weir_res *r, bool producer) {
    const weir_res *c = cursor_res(l, r, producer);
    for (int i = 0; i < l->cursors.n; i++)
        if (l->cursors.v[i].res == c && l->cursors.v[i].producer == producer) return l->cursors.v[i].index;
    const weir_res *bare = c->kind == WEIR_RES_GROUP ? c->members[0] : c;
    weiri_plan *p = l->p;
    const char *name = c == r && c->group ? weiri_arena_fmt(&p->a, "%s_%s", c->group->name, c->name) : c->name;
    weiri_cursor cur = { .name = name,
                         .task = l->task,
                         .pipe = weiri_pipe_of(p, bare),
                         .res = c,
                         .producer = producer,
                         .stages = bare->pipe.given.stages,
                         .tile_lanes = 1,
                         .lane = -1,
                         .stride = weiri_lanes_on(c, producer) };
    const weiri_node *lanes = weiri_lanes_of(l->pt->task);
    if (lanes && c->kind != WEIR_RES_QUEUE && weiri_side_dealt(l->k, c, producer)) {
        cur.tile_lane = lanes->lane;
        cur.tile_lanes = lanes->lanes;
    }
    WEIRI_PUSH(&p->a, p->cursors, cur);
    cursor_key key = { c, producer, p->cursors.n - 1 };
    WEIRI_PUSH(&p->a, l->cursors, key);
    return key.index;
}

static bool piped_op(const weiri_plan *p, const weiri_op *op) {
    if (op->atom != ATOM_NONE || (op->res->kind == WEIR_RES_QUEUE && !weiri_dynamic(op->res))) return false;
    const weir_res *b = op->res->kind == WEIR_RES_GROUP ? op->res->members[0] : op->res;
    return weiri_pipe_of(p, b) >= 0;
}

static bool is_producer(weiri_stage s) { return s >= STAGE_PROD_AUX; }

/* Place of a member in its round: sets first and last. Ops that are no part of a shared round are both. */
static void round_place(lowering *l, const weiri_op *op, bool *first, bool *last) {
    *first = *last = true;
    if (!op->res->group) return;
    round_info *r = round_for(l, op->res->group, op->stage);
    if (!r->shared) return;
    *first = r->order[0] == op->res;
    *last = r->order[r->n - 1] == op->res;
}

/* Does a commit or release move the cursor? In a shared round only the last member's does. */
static bool closes_cursor(lowering *l, const weiri_op *op) {
    if (!op->res->group || op->stage != STAGE_PROD_COMMIT) return true;
    round_info *r = round_for(l, op->res->group, STAGE_PROD_ACQUIRE);
    return !r->shared || r->order[r->n - 1] == op->res;
}

/* ---- how many stages are held --------------------------------------------------------------------------------------------- */

bool weiri_loop_runs(const weir_kernel *k, const weiri_node *n) {
    int64_t a, b, s;
    if (!weiri_value_const(k, n->start, &a) || !weiri_value_const(k, n->stop, &b) || !weiri_value_const(k, n->step, &s))
        return false;
    return s > 0 ? a < b : a > b;
}

#define MAX_CURSORS 64
#define MANY (1ull << 63)
/* by cursor of the task: bit h of v: h stages may be held; bit h of loose: no mma may have followed the newest h opens. MANY: more
 * than the sets count exactly */
typedef struct held {
    uint64_t v[MAX_CURSORS], loose[MAX_CURSORS];
} held;

static uint64_t one_more(uint64_t set) { return set << 1 | (set & MANY); }

static bool merge_set(uint64_t *into, uint64_t from) {
    /* the walk of a loop stops growing there, the finding comes from the maximum */
    uint64_t all = *into | from, u = all & ((1ull << 40) - 1);
    if (all != u) u |= MANY;
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
    if (weiri_value_const(l->k, n->start, &a) && weiri_value_const(l->k, n->stop, &b) &&
        weiri_value_const(l->k, n->step, &by))
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

/* A loop over tiles, and all that follows it, of a task that looks back: without a tile; the first, which has none before it; the others,
 * until nothing is new. */
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
            if (!piped_op(l->p, op) || op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) continue;
            int c = cursor_for(l, op->res, is_producer(op->stage));
            int ci = 0;
            while (l->cursors.v[ci].index != c) ci++;
            if (ci >= MAX_CURSORS) continue;
            bool first, last;
            if (opens(op)) {
                round_place(l, op, &first, &last);
                l->held_in[op->id] |= s->v[ci];
                if (last) s->v[ci] = one_more(s->v[ci]), s->loose[ci] = one_more(s->loose[ci]);
            } else if (closes_cursor(l, op)) {
                l->held_in[op->id] |= s->v[ci];
                l->loose_in[op->id] |= s->loose[ci];
                uint64_t in = s->v[ci], out = 0;
                if (op->keep < 0) out = in >> 1 | (in & (MANY | 1)); /* of MANY one less: the largest that is counted, or MANY */
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

/* advance_on_wait, advance_on_acquire: whether a side opens stages before it has closed the last one follows from the schedule; given as
 * false it must not. `here`: in one task. */
static void check_ahead(lowering *l, const weiri_cursor *c, const weiri_op *open, bool here) {
    const weir_res *r = c->res->kind == WEIR_RES_GROUP ? c->res->members[0] : c->res;
    if (!open || (c->producer ? r->pipe.given.advance_on_acquire : r->pipe.given.advance_on_wait) >= 0) return;
    const char *flag = c->producer ? "advance_on_acquire" : "advance_on_wait", *opens_it = c->producer ? "acquires" : "waits for",
               *close = c->producer ? "commits" : "releases";
    weir_finding *f = weiri_find(&l->p->findings, "CN6", weiri_place_of(&open->at), "%s = false, but task '%s' %s '%s' %s%s", flag,
                                 l->pt->task->name, opens_it, c->name, here ? "again before it " : "and another task ", close);
    f->objects[0] = r->name;
    f->expected = "true";
    f->got = "false";
    weiri_second_place(f, &r->at, "declared here");
    f->hint = "leave it out: it is derived";
}

static void find_held(lowering *l) {
    held s;
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
            if (n->kind != NODE_OP || !piped_op(l->p, n->op)) continue;
            const weiri_op *op = n->op;
            if (op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) continue;
            if (cursor_for(l, op->res, is_producer(op->stage)) != l->cursors.v[i].index) continue;
            uint64_t in = l->held_in[op->id];
            int top = 0;
            for (int h = 0; h < 63; h++)
                if (in >> h & 1) top = h;
            if (opens(op)) {
                has_open = true;
                if (top + 1 > most) most = top + 1, worst = op;
            } else if (closes_cursor(l, op)) {
                has_close = true;
                if (in & (in - 1) || in & MANY) vague = true; /* more than one number is possible, or more than are counted */
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

/* ---- building the tree ---------------------------------------------------------------------------------------------------- */

static weiri_pnode *append(weiri_plan *p, weiri_pnode *parent, weiri_pnode_kind kind) {
    weiri_pnode *n = WEIRI_NEW(&p->a, weiri_pnode);
    n->kind = kind;
    n->parent = parent;
    if (parent->last) parent->last->next = n;
    else parent->first = n;
    parent->last = n;
    return n;
}

static weiri_action *act(weiri_plan *p, weiri_pnode *parent, weiri_act kind, weiri_who who, const weiri_op *op,
                         const char *note) {
    weiri_pnode *n = append(p, parent, PN_ACTION);
    weiri_action *a = WEIRI_NEW(&p->a, weiri_action);
    n->act = a;
    a->kind = kind;
    a->who = who;
    a->bar = a->cur = a->copy = a->reg = a->pipe = -1;
    a->op = op;
    a->note = note;
    return a;
}

static weiri_effect *effect(lowering *l, weiri_action *a, bool write, bool async, int region, int cur, weiri_stage_ref stage,
                            int back) {
    weiri_effect *e = WEIRI_NEW_N(&l->p->a, weiri_effect, a->neff + 1);
    if (a->neff) memcpy(e, a->eff, sizeof *e * (size_t)a->neff);
    a->eff = e;
    e = &a->eff[a->neff++];
    *e =
        (weiri_effect){ .write = write, .async = async, .region = region, .reg = -1, .cur = cur, .stage = stage, .back = back };
    return e;
}

static void reg_effect(lowering *l, weiri_action *a, bool write, const weir_res *r) {
    weiri_effect *e = effect(l, a, write, false, -1, -1, STAGE_NONE, 0);
    e->reg = r->index;
}

static weiri_who who_here(const lowering *l, weiri_who who) { return l->pt->solo ? WHO_ONE : who; }

static int arrivals_of(const lowering *l, weiri_who who) {
    if (l->pt->solo) return 1;
    bool wg = l->pt->wg_actor;
    switch (who) {
    case WHO_THREADS: return wg ? 128 : 32;
    case WHO_LANE:
    case WHO_LANE_CTAS: return wg ? 4 : 1;
    default: return 1;
    }
}

/* The stage an op on r works on now: the one just opened, or, inside a shared round that is not yet complete, the next. */
static weiri_stage_ref working_stage(lowering *l, const weir_res *r, bool producer) {
    if (r->group) {
        round_info *ri = round_for(l, r->group, producer ? STAGE_PROD_ACQUIRE : STAGE_CONS_WAIT);
        for (int i = 0; ri->shared && i < ri->at; i++)
            if (ri->order[i] == r) return STAGE_NEXT;
    }
    int c = cursor_for(l, r, producer);
    return l->p->cursors.v[c].held_max == 0 && l->p->cursors.v[c].split_close ? STAGE_CLOSE : STAGE_HELD;
}

/* ---- moves ----------------------------------------------------------------------------------------------------------------- */

/* May one thread of the warpgroup release while others have not yet waited? An mma takes all of them, so none may where one stands
 * behind the wait of each stage that is given back; without, a thread could miss a phase. */
static bool loose_release(const lowering *l, const weiri_op *op) {
    uint64_t held_set = l->held_in[op->id], loose = l->loose_in[op->id];
    int most = 0, least = 1;
    while (most < 40 && loose >> (most + 1)) most++;
    while (least < 40 && !(held_set >> least & 1)) least++;
    return op->keep < 0 ? most >= least : most > op->keep;
}

static int named_wg(const lowering *l) { return l->pt->named_wg; }

/* One thread goes on to arm and load; those that wait with it must not be left a phase behind. */
static void join_waiters(lowering *l, weiri_pnode *at, const weiri_op *op, bool task) {
    const char *note = "every thread has waited";
    if (task && l->pt->task->num_warps > 1 && !l->pt->lanes) {
        weiri_action *a = act(l->p, at, ACT_NAMED_SYNC, WHO_THREADS, op, note);
        a->named = l->pt->named_task;
        a->threads = 32 * l->pt->task->num_warps;
    } else {
        act(l->p, at, ACT_WARP_SYNC, WHO_THREADS, op, note);
    }
}

static weiri_action *join_warpgroup(lowering *l, weiri_pnode *at, const weiri_op *op, const char *note) {
    weiri_action *a = act(l->p, at, ACT_NAMED_SYNC, WHO_THREADS, op, note);
    a->named = named_wg(l);
    a->threads = 128;
    return a;
}

static const uint16_t *by_rank(weiri_plan *p, const uint16_t *masks) {
    uint16_t *reach = WEIRI_NEW_N(&p->a, uint16_t, p->cluster);
    memcpy(reach, masks, sizeof *reach * (size_t)p->cluster);
    return reach;
}

static void rows(lowering *l, weiri_pnode *at, const weiri_op *op, const weir_res *bare, const weiri_row *row, int cur,
                 weiri_stage_ref stage, bool elide_wait, int64_t arm, const char *note) {
    weiri_plan *p = l->p;
    int pi = weiri_pipe_of(p, bare);
    const weiri_ppipe *pipe = &p->pipes.v[pi];
    bool joined = false;
    for (; row->kind != ROW_END; row++) {
        weiri_action *a = NULL;
        int bar = row->bar == ROW_FULL ? pipe->full : row->bar == ROW_EMPTY ? pipe->empty : -1;
        switch (row->kind) {
        case ROW_WAIT:
            if (elide_wait) continue;
            a = act(p, at, ACT_WAIT, who_here(l, WHO_THREADS), op, note);
            a->cta0 = row->cta0_only;
            break;
        case ROW_TC_AFTER:
        case ROW_TC_BEFORE:
            if (elide_wait) continue;
            a = act(p, at, row->kind == ROW_TC_AFTER ? ACT_TC_AFTER : ACT_TC_BEFORE, who_here(l, WHO_THREADS), op, note);
            a->leader = row->leader_only;
            continue;
        case ROW_TRY: continue; /* the wait that follows asks again at once: a probe buys nothing here */
        case ROW_ARRIVE:
        case ROW_CP_ARRIVE:
        case ROW_UMMA_COMMIT:
            if (l->pt->wg_actor && !joined && op->stage == STAGE_CONS_RELEASE &&
                (row->who == ROW_WG || row->who == ROW_WG_CTAS) && loose_release(l, op))
                join_warpgroup(l, at, op, "every thread has waited");
            if (row->kind == ROW_UMMA_COMMIT && !l->pt->solo && loose_release(l, op)) { /* work that is no mma joined nobody */
                if (l->pt->wg_actor) join_warpgroup(l, at, op, "every thread has waited");
                else act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, "every thread has waited");
            }
            a = act(p, at,
                    row->kind == ROW_ARRIVE      ? ACT_ARRIVE
                    : row->kind == ROW_CP_ARRIVE ? ACT_CP_ARRIVE
                                                 : ACT_UMMA_COMMIT,
                    who_here(l, (weiri_who)row->who), op, note);
            a->arrivals = arrivals_of(l, (weiri_who)row->who);
            if (row->kind == ROW_UMMA_COMMIT) { /* by the thread that issued the mmas */
                a->who = WHO_ONE;
                a->arrivals = 1;
                if (op->stage == STAGE_PROD_COMMIT) a->reg = bare->index;
            }
            a->targets = row->targets > 0 ? row->targets : 0;
            a->at0 = row->targets == WEIRI_TO_CTA0;
            a->at_leader = row->targets == WEIRI_TO_LEADER;
            a->cross = row->cross;
            if (row->by_rank) a->reach = by_rank(p, l->protos[bare->index].reach);
            a->cta0 = row->cta0_only;
            break;
        case ROW_EXPECT:
            if (!elide_wait && !l->pt->solo) join_waiters(l, at, op, row->twl_only);
            if (arm == 0) continue; /* a fork's first member arms for all */
            a = act(p, at, ACT_EXPECT, who_here(l, WHO_ONE), op, note);
            a->targets = row->targets > 0 ? row->targets : 0;
            if (row->by_rank) a->reach = by_rank(p, l->protos[bare->index].arms);
            a->cta0 = row->cta0_only;
            a->arrivals = 1;
            a->bytes = arm;
            a->twl = row->twl_only && l->pt->task->num_warps > 1;
            break;
        case ROW_FENCE_ASYNC: a = act(p, at, ACT_FENCE_ASYNC, who_here(l, WHO_THREADS), op, note); break;
        case ROW_WARP_SYNC:
            if (l->pt->solo) continue;
            a = act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, note);
            break;
        case ROW_WG_SYNC:
            a = join_warpgroup(l, at, op, note);
            joined = true;
            break;
        case ROW_BULK_WAIT:
            a = act(p, at, ACT_BULK_WAIT, who_here(l, row->who == ROW_ONE ? WHO_ONE : WHO_WG), op, note);
            a->n = 99; /* bulk_step finds the number */
            a->read = true;
            break;
        case ROW_MMA_DRAIN:
            a = act(p, at, ACT_MMA_WAIT, WHO_THREADS, op, note);
            a->n = -1; /* mma_step finds out whether anything can be in flight */
            break;
        case ROW_SPILL: /* the one commit of a fork leaves every member's sums */
            for (int i = 0; i < (op->res->kind == WEIR_RES_GROUP ? op->res->nmembers : 1); i++) {
                const weir_res *to = op->res->kind == WEIR_RES_GROUP ? op->res->members[i] : bare;
                a = act(p, at, ACT_BODY, WHO_THREADS, op, note);
                a->reg = to->index;
                a->pipe = weiri_pipe_of(p, to);
                reg_effect(l, a, false, to);
                effect(l, a, true, false, p->pipes.v[a->pipe].region, cur, stage, 0);
            }
            continue;
        default: continue;
        }
        a->bar = bar;
        a->pipe = pi;
        a->leader = row->leader_only;
        if (bar >= 0 || row->kind == ROW_BULK_WAIT) {
            a->cur = cur;
            a->stage = stage;
        }
    }
}

static void advance(lowering *l, weiri_pnode *at, const weiri_op *op, int cur, weiri_stage_ref which) {
    weiri_action *a = act(l->p, at, ACT_ADVANCE, who_here(l, WHO_THREADS), op, NULL);
    a->cur = cur;
    a->stage = which;
}

/* Does one arrive arm all members of a fused merge? Where one task acquires them all, in one order, and each is filled by TMA. */
bool weiri_folds(weiri_plan *p, const weir_res *g) {
    if (g->mode != WEIR_GROUP_FUSED_MERGE || !g->fold) return false;
    for (int i = 0; i < g->nmembers; i++)
        if (g->members[i]->pipe.given.type != WEIR_TMA_ASYNC && g->members[i]->pipe.given.type != WEIR_TMA_UMMA) return false;
    const weiri_task *by = NULL;
    for (int i = 0; i < p->k->tasks.n; i++) {
        const weiri_task *t = p->k->tasks.v[i];
        for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
            if (n->kind != NODE_OP || n->op->group != g || n->op->stage != STAGE_PROD_ACQUIRE) continue;
            if (by && by != t) return false;
            by = t;
        }
    }
    round_info r = { .group = g, .stage = STAGE_PROD_ACQUIRE, .order = WEIRI_NEW_N(&p->a, const weir_res *, g->nmembers) };
    return by && round_block(&r, by->root->first) && r.n == g->nmembers;
}

/* Bytes this acquire arms: the member's own; the group's sum once when folded; those of a fork when its last member is acquired, as a
 * CTA that another one loads for does nothing else before the bytes come. */
static int64_t armed(lowering *l, const weiri_op *op, bool first, bool last) {
    const weir_res *r = op->res, *g = r->group;
    const weiri_ppipe *pipe = &l->p->pipes.v[weiri_pipe_of(l->p, r)];
    if (!g) return pipe->tx;
    if (g->mode == WEIR_GROUP_FORK) return last ? l->p->bars.v[pipe->full].tx : 0;
    if (weiri_folds(l->p, g)) return first ? l->p->bars.v[pipe->full].tx : 0;
    return pipe->tx;
}

static void lower_open(lowering *l, weiri_pnode *at, const weiri_op *op) {
    bool producer = op->stage == STAGE_PROD_ACQUIRE, first, last;
    bool group = op->res->kind == WEIR_RES_GROUP; /* fused merge: wait on the group */
    const weir_res *bare = group ? op->res->members[0] : op->res;
    const weiri_proto *pr = &l->protos[bare->index];
    int cur = cursor_for(l, op->res, producer);
    round_place(l, op, &first, &last);
    bool shared_empty = bare->group && bare->group->mode != WEIR_GROUP_FORK;
    bool elide = producer && !first && shared_empty;
    weir_pipe_type type = bare->pipe.given.type;
    if (producer && pr->has_full && (type == WEIR_TMA_ASYNC || type == WEIR_TMA_UMMA) &&
        l->p->pipes.v[weiri_pipe_of(l->p, bare)].tx == 0 && !(bare->group && bare->group->mode == WEIR_GROUP_FORK))
        complain(l, "PLAN-TX", op, "load the stage between acquire and commit (tma_load), or use async_async or async_umma",
                 "opens a stage that no copy fills");
    rows(l, at, op, bare, producer ? pr->acquire : pr->wait, cur, STAGE_NEXT, elide, producer ? armed(l, op, first, last) : 0,
         producer ? "acquire" : "wait");
    if (op->res->group) {
        round_info *r = round_for(l, op->res->group, op->stage);
        if (r->shared) r->at = last ? 0 : r->at + 1;
    }
    if (last) advance(l, at, op, cur, STAGE_NEXT);
}

/* A plain commit or release in front of which no stage is ever held: it would be nothing, and was meant to be something. */
static void nothing_to_close(lowering *l, const weiri_op *op) {
    const char *open = op->stage == STAGE_PROD_COMMIT ? "acquire" : "wait";
    const char *close = op->stage == STAGE_PROD_COMMIT ? "commit" : "release";
    const weiri_op *before = NULL;
    const weiri_node *root = l->pt->task->root;
    for (const weiri_node *n = weiri_node_next(root, NULL); n->op != op; n = weiri_node_next(root, n))
        if (n->kind == NODE_OP && n->op->res == op->res && n->op->stage == op->stage) before = n->op;
    bool member = op->group && op->res != op->group;
    const char *name = member ? weiri_arena_fmt(&l->p->a, "%s.%s", op->group->name, op->res->name) : op->res->name;
    weir_finding *f = weiri_find(&l->p->findings, "V-BRK-05", weiri_place_of(&op->at),
                                 "task '%s': %s on '%s' finds no stage held, whatever the lengths of loops: one %s closes one %s",
                                 l->pt->task->name, close, name, close, open);
    f->objects[0] = op->res->name;
    for (int i = 0; i < op->res->nmembers && i < 3; i++) f->objects[i + 1] = op->res->members[i]->name;
    f->hint = weiri_arena_fmt(&l->p->a, "leave it out, or write %s:%s() for the stage it is to close", name, open);
    if (before) weiri_second_place(f, &before->at, weiri_arena_fmt(&l->p->a, "the %s before it", close));
}

static void lower_close(lowering *l, weiri_pnode *at, const weiri_op *op) {
    bool producer = op->stage == STAGE_PROD_COMMIT;
    const weir_res *bare = op->res->kind == WEIR_RES_GROUP ? op->res->members[0] : op->res;
    const weiri_proto *pr = &l->protos[bare->index];
    const weiri_row *row = producer ? pr->commit : pr->release;
    int cur = cursor_for(l, op->res, producer);
    const weiri_cursor *c = &l->p->cursors.v[cur];
    bool moves = closes_cursor(l, op);
    const char *note = producer ? "commit" : "release";
    weiri_stage_ref stage = STAGE_CLOSE;
    if (!moves) { /* a member of a shared round before its last: nothing but its own rows, on the stage in work */
        rows(l, at, op, bare, row, cur, working_stage(l, op->res, producer), false, 0, note);
        return;
    }
    uint64_t in = l->held_in[op->id];
    int times = 1;
    weiri_pnode *to = at;
    if (c->held_max > 0) {
        int lo = 63, hi = 0;
        for (int h = 0; h < 63; h++)
            if (in >> h & 1) {
                if (h < lo) lo = h;
                hi = h;
            }
        if (in & MANY) hi = INT_MAX;
        int keep = op->keep < 0 ? 0 : op->keep; /* the oldest of any number: only "none held" needs asking */
        if (in == 1 && op->keep < 0) nothing_to_close(l, op);
        if (hi <= keep) return;
        if (op->keep < 0) {
            if (lo == 0) {
                to = append(l->p, at, PN_HELD);
                to->cur = cur;
                to->keep = 0;
                to->once = true;
            }
        } else if (lo == hi) {
            times = hi - keep;
        } else {
            to = append(l->p, at, PN_HELD);
            to->cur = cur;
            to->keep = keep;
            to->once = hi == keep + 1;
        }
    } else if (op->keep > 0) {
        complain(l, "PLAN-UNSUPPORTED", op, "let the task that waits release, or release without a number",
                 "keeps stages of a pipeline that this task does not open");
    }
    for (int i = 0; i < times; i++) {
        rows(l, to, op, bare, row, cur, stage, false, 0, note);
        advance(l, to, op, cur, STAGE_CLOSE);
    }
}

/* ---- copies ---------------------------------------------------------------------------------------------------------------- */

static int tmap_for(lowering *l, const weir_tensor *t, const uint32_t *box, int swizzle, bool store) {
    weiri_plan *p = l->p;
    int same = 0;
    for (int i = 0; i < p->tmaps.n; i++) {
        weiri_tmap_use *u = &p->tmaps.v[i];
        if (u->tensor != t->index) continue;
        same++;
        bool eq = u->swizzle == swizzle;
        for (int d = 0; d < t->rank; d++) eq = eq && u->box[d] == box[d];
        if (eq) {
            u->store = u->store || store;
            return i;
        }
    }
    weiri_tmap_use u = { .tensor = t->index, .rank = t->rank, .swizzle = swizzle, .l2_promotion = 256, .store = store };
    for (int d = 0; d < t->rank; d++) u.box[d] = box[d];
    u.name = same ? weiri_arena_fmt(&p->a, "%s_map%d", t->name, same + 1) : weiri_arena_fmt(&p->a, "%s_map", t->name);
    WEIRI_PUSH(&p->a, p->tmaps, u);
    return p->tmaps.n - 1;
}

static const char *tile_text(weiri_plan *p, const int *tile, int rank) {
    const char *s = weiri_arena_fmt(&p->a, "{ %d", tile[0]);
    for (int i = 1; i < rank; i++) s = weiri_arena_fmt(&p->a, "%s, %d", s, tile[i]);
    return weiri_arena_fmt(&p->a, "%s }", s);
}

/* The tile that a place names, outermost first: the resource's, or slabs, rows and columns of it. */
static bool part_of_tile(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g, int tile[WEIR_MAX_RANK]) {
    memcpy(tile, g->tile, sizeof *tile * WEIR_MAX_RANK);
    if (v->t || v->limit || (v->nsub && v->axis + v->nsub >= g->rank) || (v->nrows && g->rank - 1 - v->nsub - v->axis < 1)) {
        complain(l, "PLAN-UNSUPPORTED", op, "name a part as rows(first, n), cols(first, n) or sub(i)",
                 "works on a part of a tile that no box can be (t, limit, or a single element)");
        return false;
    }
    for (int i = 0; i < v->nsub; i++) tile[v->axis + i] = 1;
    if (v->nrows) tile[g->rank - 2] = v->nrows;
    if (v->ncols) tile[g->rank - 1] = v->ncols;
    if ((int64_t)v->col0 * weir_dtype_size(g->tensor->dtype) % 16) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-ALIGN", weiri_place_of(&op->at),
                                     "a box of '%s' begins at column %d of its tile, off 16 bytes", g->name, v->col0);
        f->expected = weiri_arena_fmt(&l->p->a, "a multiple of %d elements of %s", 16 / weir_dtype_size(g->tensor->dtype),
                                      weir_dtype_name(g->tensor->dtype));
        f->objects[0] = g->name;
        return false;
    }
    return true;
}

/* A box begins at a multiple of 128 bytes in shared memory (PTX ISA, cp.async.bulk.tensor), wherever that is in the pattern of a swizzle,
 * which goes by the address. So boxes may part after so many pieces of `bytes` each. */
static int box_unit(int64_t bytes) {
    int unit = 1;
    while (unit * bytes % 128) unit *= 2;
    return unit;
}

/* Equal boxes of at most 256 pieces of `bytes` each that `all` of them are moved in; 0: none begin where boxes can. */
static int equal_boxes(uint32_t all, int64_t bytes) {
    const uint32_t unit = (uint32_t)box_unit(bytes);
    for (uint32_t n = (all + 255) / 256; n <= all / unit; n++)
        if (all % n == 0 && all / n % unit == 0) return (int)n;
    return 0;
}

static int uncut(lowering *l, const weiri_op *op, const weir_res *g, const char *what, uint32_t all, int64_t bytes) {
    weiri_plan *p = l->p;
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-BOX", weiri_place_of(&op->at),
                   "the tile of '%s' has %u %s of %" PRId64 " bytes, too many for one box", g->name, all, what, bytes);
    f->expected = weiri_arena_fmt(&p->a, "at most 256, or a multiple of %d: boxes begin at multiples of 128 bytes in the stage",
                                  box_unit(bytes));
    f->got = weiri_arena_fmt(&p->a, "%u", all);
    f->hint = "take a tile of fewer, or of a multiple";
    return -1;
}

/* The part of a stage that a copy takes: geo becomes its geometry, panels still as far apart as the stage's. Bytes in front of it, but for
 * slabs: -1, with a finding, where no box can begin. */
static int64_t part_of_stage(lowering *l, const weiri_op *op, const weiri_view *v, weiri_tile_geom *geo) {
    const weir_res *s = v->res;
    int rows = geo->rows;
    if (!v->nsub && !v->nrows && !v->ncols && !v->t && !v->limit) return 0;
    for (int i = 0; i < v->nsub && v->axis + i + 1 < s->rank; i++) rows /= s->tile[v->axis + i];
    const int unit = geo->swizzle ? 8 : box_unit(geo->row_bytes); /* rows at which a box may begin */
    const int cols = v->ncols ? v->ncols : geo->cols;
    const char *why = NULL;
    if (v->t || v->limit || (v->nsub && v->axis + v->nsub >= s->rank)) why = "is transposed, limited, or a single element";
    else if (v->row0 % unit || (v->nsub && rows % unit))
        why = geo->swizzle ? "begins inside an atom of the swizzle, which is 8 rows" : "begins off 128 bytes";
    else if (cols != geo->cols && (v->col0 % geo->panel_cols || cols % geo->panel_cols))
        why = "takes columns that are no whole swizzle spans";
    else if (l->pt->wg_actor && l->pt->warpgroups > 1)
        why = "is taken by several warpgroups, each of which stores its share of the whole";
    if (why) {
        complain(l, "PLAN-TILE", op, "store a whole stage, or slabs, rows and columns of it that begin where a box can",
                 weiri_arena_fmt(&l->p->a, "stores a part of '%s' that %s", s->name, why));
        return -1;
    }
    int64_t base = v->col0 / geo->panel_cols * geo->panel_bytes + v->row0 * geo->row_bytes;
    geo->rows = v->nrows ? v->nrows : rows;
    geo->panels = geo->panels * cols / geo->cols;
    geo->cols = cols;
    return base;
}

/* The boxes that move a tile of the tensor of `g` to or from a stage of `s`; from: the view of the stage that is stored. -1 with a finding
 * when they cannot. */
static int make_copy(lowering *l, const weiri_op *op, const weir_res *g, const int *tile, const weir_res *s,
                     const weiri_view *from, int served) {
    weiri_plan *p = l->p;
    const bool store = from != NULL;
    weiri_tile_geom geo;
    if (!weiri_geom(p, s, &geo)) return -1; /* place_smem has said so */
    weiri_copy c = { .slice_axis = -1, .wg_axis = -1, .row_bytes = geo.row_bytes };
    if (store && (c.base = part_of_stage(l, op, from, &geo)) < 0) return -1;
    int64_t elems = 1;
    for (int i = 0; i < g->rank; i++) elems *= c.tile[g->rank - 1 - i] = tile[i];
    int cols = tile[g->rank - 1];
    if (elems != (int64_t)geo.rows * geo.cols || (cols != geo.cols)) {
        weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&op->at),
                                     "copies tiles %s of '%s' %s stages %s of '%s'", tile_text(p, tile, g->rank), g->name,
                                     store ? "from" : "into", tile_text(p, s->tile, s->rank), s->name);
        f->hint = "give both the same tile; leading 1s may be left out in shared memory";
        return -1;
    }
    weir_dtype stage = weiri_stage_dtype(p, s), tensor = g->tensor->dtype;
    bool same_bits = (stage == WEIR_TF32 && tensor == WEIR_F32) || (stage == WEIR_F32 && tensor == WEIR_TF32);
    if (tensor != stage && !same_bits) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-DTYPE", weiri_place_of(&op->at), "copies '%s' of %s %s '%s' of %s", g->name,
                       weir_dtype_name(g->tensor->dtype), store ? "from" : "into", s->name, weir_dtype_name(s->dtype));
        f->hint = "a bulk copy converts nothing: give both one dtype";
        return -1;
    }
    uint32_t box[5] = { 1, 1, 1, 1, 1 };
    box[0] = (uint32_t)geo.panel_cols;
    for (int d = 1; d < g->rank; d++) box[d] = (uint32_t)c.tile[d];
    int rows_axis = -1; /* the innermost dimension above the columns that is longer than 1 */
    int outer = -1;     /* the outermost such: what slices cut */
    for (int d = 1; d < g->rank; d++)
        if (box[d] > 1) {
            if (rows_axis < 0) rows_axis = d;
            outer = d;
        }
    int rows = geo.rows;
    const int sharing = store && l->pt->wg_actor ? l->pt->warpgroups : 1,
              panels = l->pt->by_cols ? geo.panels / sharing : geo.panels;
    if (sharing > 1 && l->pt->by_cols) { /* whole panels, for a box lies densely in shared memory */
        if (geo.panels % sharing) {
            complain(l, "PLAN-TILE", op,
                     weiri_arena_fmt(&p->a, "the columns must be a multiple of %d: one swizzle span, %d bytes, for each warpgroup",
                                     (geo.swizzle ? geo.swizzle : 128) / geo.elem * sharing, geo.swizzle ? geo.swizzle : 128),
                     "stores a stage whose columns do not divide among the task's warpgroups");
            return -1;
        }
        c.wg_axis = 0;
        c.wg_elems = panels * geo.panel_cols;
        c.wg_bytes = panels * geo.panel_bytes;
    } else if (sharing > 1) {
        if (outer < 0 || outer != rows_axis || rows % (64 * l->pt->warpgroups)) {
            complain(l, "PLAN-TILE", op, "the rows of the stage must be 64 times the number of warpgroups",
                     "stores a stage that does not divide among the task's warpgroups");
            return -1;
        }
        rows /= l->pt->warpgroups;
        box[outer] = (uint32_t)rows;
        c.wg_axis = outer;
        c.wg_elems = rows;
        c.wg_bytes = rows * geo.row_bytes;
    }
    if (served > 1) {
        int step = outer < 0 ? 1 : box_unit(rows / (int)box[outer] * geo.row_bytes);
        if (outer < 0 || box[outer] % (uint32_t)(served * step)) {
            weir_finding *f =
                weiri_find(&p->findings, "PLAN-MULTICAST", weiri_place_of(&op->at),
                           "cuts tiles %s of '%s' into %d slices, one a CTA",
                           tile_text(p, tile, g->rank), g->name, served);
            f->hint = weiri_arena_fmt(
                &p->a, "the outermost axis must be a multiple of %d; or issue = \"first\": one CTA loads it whole",
                served * step);
            return -1;
        }
        box[outer] /= (uint32_t)served;
        rows /= served;
        c.slice_axis = outer;
        c.slice_elems = (int)box[outer];
        c.slice_bytes = rows * geo.row_bytes;
    }
    /* chunks of at most 256 elements along the rows, and along the columns when there is but one row */
    int chunks = 1, colchunks = 1;
    if (rows_axis > 0 && box[rows_axis] > 256) {
        chunks = equal_boxes(box[rows_axis], geo.row_bytes);
        if (!chunks) return uncut(l, op, g, "rows", box[rows_axis], geo.row_bytes);
        if (outer != rows_axis) {
            complain(l, "PLAN-BOX", op, "make the tile smaller along that axis",
                     "has a tile whose box would be longer than 256 elements");
            return -1;
        }
    }
    if (box[0] > 256) { /* a tile of one row: others have panels, or no layout */
        colchunks = equal_boxes(box[0], geo.elem);
        if (!colchunks) return uncut(l, op, g, "columns", box[0], geo.elem);
    }
    int chunk_rows = rows_axis > 0 ? (int)box[rows_axis] / chunks : 1;
    if (rows_axis > 0) box[rows_axis] = (uint32_t)chunk_rows;
    box[0] /= (uint32_t)colchunks;
    if ((int64_t)box[0] * geo.elem % 16) {
        weir_finding *f = weiri_find(&p->findings, "PLAN-BOX", weiri_place_of(&op->at),
                                     "inner box of '%s' is %u elements of %d bytes", g->name, box[0], geo.elem);
        f->expected = "a multiple of 16 bytes";
        f->got = weiri_arena_fmt(&p->a, "%u bytes", box[0] * (unsigned)geo.elem);
        f->hint = weiri_arena_fmt(&p->a, "make the last tile axis a multiple of %d", 16 / geo.elem);
        return -1;
    }
    c.nbox = panels * chunks * colchunks;
    c.box = WEIRI_NEW_N(&p->a, weiri_box, c.nbox);
    int n = 0;
    for (int pa = 0; pa < panels; pa++)
        for (int ch = 0; ch < chunks; ch++)
            for (int cc = 0; cc < colchunks; cc++) {
                weiri_box *b = &c.box[n++];
                b->c[0] = pa * geo.panel_cols + cc * (int)box[0];
                if (rows_axis > 0) b->c[rows_axis] = ch * chunk_rows;
                b->offset = c.base + pa * geo.panel_bytes + ch * chunk_rows * geo.row_bytes + (int64_t)cc * box[0] * geo.elem;
            }
    c.bytes = (int64_t)rows * geo.cols / geo.panels * panels * geo.elem;
    c.tmap = tmap_for(l, g->tensor, box, s->swizzle, store);
    WEIRI_PUSH(&p->a, p->copies, c);
    return p->copies.n - 1;
}

/* What is known of a whole number: it is `rest` more than a multiple of `unit`, a power of two; unit 1: nothing is known. */
typedef struct residue {
    int64_t unit, rest;
} residue;

static residue residue_of(int64_t unit, int64_t x) {
    while (unit > 16) unit /= 2; /* no elements are smaller than a byte */
    return (residue){ unit, ((x % unit) + unit) % unit };
}

static int64_t twos(int64_t x) { return x ? x & -x : 16; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static residue known_rest(const weir_kernel *k, uint32_t id) {
    static const residue nothing = { 1, 0 };
    const weiri_value *v = weiri_val(k, id);
    residue a, b;
    switch (v->op) {
    case WEIR_OP_INT: return residue_of(16, v->i);
    case WEIR_OP_DIM: return residue_of(v->multiple > 0 ? twos(v->multiple) : 1, 0);
    case WEIR_OP_INDEX: { /* start, start + step, ... */
        a = known_rest(k, v->loop->start);
        b = known_rest(k, v->loop->step);
        return residue_of(least(a.unit, least(b.unit, twos(b.rest))), a.rest);
    }
    case WEIR_OP_NEG: a = known_rest(k, v->arg[0]); return residue_of(a.unit, -a.rest);
    case WEIR_OP_ADD:
    case WEIR_OP_SUB:
        a = known_rest(k, v->arg[0]);
        b = known_rest(k, v->arg[1]);
        return residue_of(least(a.unit, b.unit), v->op == WEIR_OP_ADD ? a.rest + b.rest : a.rest - b.rest);
    case WEIR_OP_MUL: /* (a.rest + i a.unit) (b.rest + j b.unit) */
        a = known_rest(k, v->arg[0]);
        b = known_rest(k, v->arg[1]);
        return residue_of(least(a.unit * b.unit, least(twos(a.rest) * b.unit, twos(b.rest) * a.unit)), a.rest * b.rest);
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
    case WEIR_OP_SELECT:
        a = known_rest(k, v->arg[v->nargs - 2]);
        b = known_rest(k, v->arg[v->nargs - 1]);
        return residue_of(least(least(a.unit, b.unit), twos(a.rest - b.rest)), a.rest);
    default: return nothing;
    }
}

/* A box begins at a multiple of 16 bytes along its innermost axis; elsewhere the copy engine raises an illegal instruction (seen on an
 * H200; PTX ISA, "Tensor data movement", says it of addresses alone), and the context with every kernel in it is gone. */
static void check_start(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g) {
    const weiri_value *x = weiri_val(l->p->k, v->base);
    if (x->op != WEIR_OP_VIEW_FROM) return; /* g:at counts in tiles, whose rows are whole */
    uint32_t inner = x->arg[x->nargs - 1];
    int64_t unit = 16 / (int64_t)weir_dtype_size(g->tensor->dtype);
    residue r = known_rest(l->p->k, inner);
    int64_t both = least(r.unit, unit);
    bool off = r.rest % both != 0;
    if (!off && both == unit) return;
    char text[96];
    weir_value_text(l->p->k, (weir_value){ inner }, text, sizeof text);
    weir_finding *f = weiri_find(&l->p->findings, off ? "PLAN-ALIGN" : "PLAN-ALIGN-OPEN", weiri_place_of(&op->at),
                                 "a box of '%s' begins at column %s, %s", g->name, text,
                                 off ? "off 16 bytes" : "of which it is not known that it is whole 16 bytes");
    f->expected =
        weiri_arena_fmt(&l->p->a, "a multiple of %" PRId64 " elements of %s", unit, weir_dtype_name(g->tensor->dtype));
    f->hint = off ? weiri_arena_fmt(&l->p->a,
                                    "begin at a multiple of %" PRId64
                                    " and skip what lies before in the body, or copy with cp_async or load()",
                                    unit)
                  : weiri_arena_fmt(&l->p->a,
                                    "write x // %" PRId64 " * %" PRId64 ", or give the dim multiple = %" PRId64
                                    "; at any other column the copy engine stops the kernel and the context is lost",
                                    unit, unit, unit);
    f->objects[0] = g->name;
}

/* ---- work ------------------------------------------------------------------------------------------------------------------ */

static void touch(lowering *l, const weir_tensor *t) {
    l->p->touches[t->index] = true;
}

/* Plain reads that an argument asks for: stages in shared memory, tensors. */
static void reads_of(lowering *l, weiri_action *a, uint32_t id) {
    weiri_view v;
    if (!weiri_visit(l->k, id)) return;
    const weiri_value *x = weiri_val(l->k, id);
    if (x->kind == WEIR_VALUE_VIEW) {
        weiri_view_of(l->k, id, &v);
        if (v.res->kind == WEIR_RES_GMEM) touch(l, v.res->tensor);
        else if (weiri_region_of(l->p, v.res) >= 0) {
            int cur = weiri_pipe_of(l->p, v.res) >= 0 ? cursor_for(l, v.res, false) : -1;
            effect(l, a, false, false, weiri_region_of(l->p, v.res), cur,
                   cur >= 0 ? working_stage(l, v.res, false) : STAGE_NONE, v.back);
        }
        return;
    }
    if (x->op == WEIR_OP_READ_REG) return; /* its own READ op */
    /* scalars were loaded where that is written; a tile is loaded element by element where it is used */
    if (x->op == WEIR_OP_RETURN || (x->op == WEIR_OP_LOAD && x->kind != WEIR_VALUE_TILE)) return;
    for (int i = 0; i < x->nargs; i++) reads_of(l, a, x->arg[i]);
}

static void reads(lowering *l, weiri_action *a, uint32_t id) {
    weiri_visit_begin(l->k);
    reads_of(l, a, id);
}

/* ---- tiles that are used late ------------------------------------------------------------------------------------------------- */

static const weir_res *bytes_of(const weir_res *r) {
    while (r->storage) r = r->storage;
    return r;
}

/* Is another stage of r the newest held one after the op, or do its bytes change? Of a tensor: is it written? */
static bool disturbs(const weiri_op *op, const weir_res *r) {
    if (r->kind == WEIR_RES_GMEM) {
        bool writes = op->atom == ATOM_STORE || op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD;
        if (writes && op->res->kind == WEIR_RES_GMEM) return op->res->tensor == r->tensor;
        for (int i = 0; op->work && i < op->res->nbind; i++)
            if (op->res->bind[i].tensor == r->tensor) return true;
        return false;
    }
    if (op->stage == STAGE_PROD_WORK) return bytes_of(op->res) == bytes_of(r);
    return op->atom == ATOM_NONE && (op->stage == STAGE_CONS_WAIT || op->stage == STAGE_CONS_RELEASE) &&
           (op->res == r || op->res == r->group);
}

/* The first op that disturbs r from one node to another behind it. */
static const weiri_op *first_disturbing(const weiri_node *root, const weiri_node *from, const weiri_node *to,
                                        const weir_res *r) {
    for (const weiri_node *n = weiri_node_next(root, from); n != to; n = weiri_node_next(root, n))
        if (n->kind == NODE_OP && disturbs(n->op, r)) return n->op;
    return NULL;
}

static bool inside(const weiri_node *n, const weiri_node *block) {
    for (; n; n = n->parent)
        if (n == block) return true;
    return false;
}

/* An op takes a tile value: what it was loaded from must still be there. */
static void check_late(lowering *l, const weiri_node *use, uint32_t id) {
    const weiri_value *x = weiri_val(l->k, id);
    const weiri_node *root = l->pt->task->root;
    weiri_view v;
    if (!weiri_visit(l->k, id) || x->kind != WEIR_VALUE_TILE || x->op == WEIR_OP_READ_REG) return;
    for (int i = 0; i < x->nargs; i++)
        if (x->op != WEIR_OP_LOAD) check_late(l, use, x->arg[i]);
    if (x->op != WEIR_OP_LOAD) return;
    weiri_view_of(l->k, x->arg[0], &v);
    const bool tensor = v.res->kind == WEIR_RES_GMEM;
    if (tensor ? !v.res->tensor->out : weiri_region_of(l->p, v.res) < 0) return;
    const weiri_node *load = weiri_node_next(root, NULL);
    while (load->op != x->by) load = weiri_node_next(root, load);
    const weiri_op *by = first_disturbing(root, load, use, v.res);
    for (const weiri_node *b = use->parent; b && !by && !inside(load, b); b = b->parent) /* a loop comes back to the use */
        for (const weiri_node *n = weiri_node_next(root, b); n && !by && inside(n, b); n = weiri_node_next(root, n))
            if ((b->kind == NODE_LOOP || b->kind == NODE_TILES) && n->kind == NODE_OP && disturbs(n->op, v.res)) by = n->op;
    if (!by) return;
    weir_finding *f = weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&use->op->at),
                                 tensor ? "takes a tile that was loaded from '%s' before its tensor was written"
                                        : "takes a tile that was loaded from '%s' before the stage changed hands", v.res->name);
    f->hint = "use it before, or keep it in a reg_tile";
    f->objects[0] = v.res->name;
    weiri_second_place(f, &by->at, tensor ? "written in between" : "the move in between");
}

static void check_late_tiles(lowering *l) {
    const weiri_node *root = l->pt->task->root;
    for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n))
        for (int i = 0; n->kind == NODE_OP && n->op->atom != ATOM_LOAD && i < n->op->nargs; i++) {
            weiri_visit_begin(l->k);
            check_late(l, n, n->op->arg[i]);
        }
}

static void stage_access(lowering *l, weiri_action *a, const weir_res *r, bool producer, bool write, bool async) {
    int region = weiri_region_of(l->p, r);
    if (region < 0) return;
    if (weiri_pipe_of(l->p, r) < 0) {
        effect(l, a, write, async, region, -1, STAGE_NONE, 0);
        return;
    }
    effect(l, a, write, async, region, cursor_for(l, r, producer), working_stage(l, r, producer), 0);
}

/* Part of a stage or of a tile, for work that takes whole ones only: slabs as operands of an mma, cp.async. */
static bool sliced(lowering *l, const weiri_op *op, const weiri_view *v) {
    if (!v->nsub && !v->row0 && !v->nrows && !v->col0 && !v->ncols && !v->limit) return false;
    complain(l, "PLAN-UNSUPPORTED", op, "take the whole stage, with tiles of the size of the part",
             "works on a part of a view (rows, cols, sub or limit), which cannot be built here yet");
    return true;
}

/* A store to slabs of a stage, or to rows of one, that are the same every time and lie in one run: the other bytes are others' to write. */
static void part_written(lowering *l, weiri_action *a, const weiri_op *op) {
    weiri_view v;
    weiri_tile_geom g;
    int64_t row;
    if (!a->neff || op->nargs < 2) return;
    weiri_view_of(l->k, op->arg[1], &v);
    if (v.res != op->res || v.op != WEIR_OP_VIEW_SUB || v.t || v.col0 || v.ncols || v.limit) return;
    weiri_geom(l->p, v.res, &g); /* it is accessed, and so has a layout */
    if (g.panels > 1 || !weiri_push_rows(l->k, &v, -1, &row)) return;
    int rows = g.rows;
    for (int i = 0; i < v.nsub; i++) rows /= v.res->tile[v.axis + i];
    if (v.nrows && v.axis + v.nsub + 2 != v.res->rank) return;
    weiri_effect *e = &a->eff[a->neff - 1];
    e->lo = (row + v.row0) * g.row_bytes;
    e->hi = e->lo + (v.nrows ? v.nrows : rows) * g.row_bytes;
}

/* Stages are stored to as slabs and rows of them; fragments go to rows and columns of a tile of a tensor. */
static void check_store_place(lowering *l, const weiri_op *op) {
    weiri_view v;
    if (op->nargs < 2) return;
    weiri_view_of(l->k, op->arg[1], &v);
    bool smem = op->res->kind != WEIR_RES_GMEM, odd = v.nsub && v.axis + v.nsub >= op->res->rank;
    bool frags = weiri_value_uses(l->k, op->arg[0], WEIR_OP_READ_REG);
    if (smem ? v.op != WEIR_OP_VIEW_SUB || v.t || v.col0 || v.ncols || v.limit || odd : frags && (v.t || v.nsub))
        complain(l, "PLAN-UNSUPPORTED", op,
                 smem ? "store to s:sub(i), or to rows of it" : "give the place the tile's own coordinates: g:at(...)",
                 "stores to a part of a tile that cannot be built yet");
}

/* A value of one row, or one of a few columns into shared memory: its elements lie several times over in the registers. */
static void narrow_store(lowering *l, const weiri_op *op) {
    const weiri_value *v = weiri_val(l->k, op->arg[0]);
    if (v->kind != WEIR_VALUE_TILE || (!weiri_value_uses(l->k, op->arg[0], WEIR_OP_READ_REG) &&
                                             !weiri_value_uses(l->k, op->arg[0], WEIR_OP_COL) &&
                                             !weiri_value_uses(l->k, op->arg[0], WEIR_OP_ROW)))
        return;
    bool smem = op->res->kind != WEIR_RES_GMEM;
    if (v->rows == 1 || (smem && v->cols < 8))
        complain(l, "PLAN-UNSUPPORTED", op,
                 smem ? "store it to global memory, or a wider value" : "store a value of whole rows",
                 "stores a value of a single row, or of few columns to shared memory, which cannot be built yet");
}

/* Warpgroups that share columns have all rows of them alone: what looks along a row, or takes other columns, they cannot have. */
static void check_columns(lowering *l, const weiri_op *op) {
    const weir_kernel *k = l->k;
    const char *text = NULL, *hint = NULL;
    for (int i = 0; i < op->nargs && !text; i++) {
        weiri_view v;
        if (weiri_value_reduces(k, op->arg[i]))
            text = "takes a row reduction where each warpgroup has only its columns of the tile (split = \"n\")",
            hint = "leave split out, so that each warpgroup has whole rows; or reduce behind shared memory, in another task";
        if (weiri_value_uses(k, op->arg[i], WEIR_OP_TILE_COLS))
            text = "takes cols(first, n) of a tile of which each warpgroup has only its columns (split = \"n\")",
            hint = "store the whole tile: each warpgroup stores its columns";
        if (op->atom == ATOM_MMA && !i && !weiri_view_of(k, op->arg[i], &v))
            text = "takes a from registers, of which each warpgroup has only its columns (split = \"n\")",
            hint = "leave split out, or let a come from shared memory";
    }
    if (text) complain(l, "PLAN-SPLIT", op, hint, text);
}

static int popcount_axes(const weir_kernel *k, int axes) {
    return (axes & 1 ? k->cluster.m : 1) * (axes & 2 ? k->cluster.n : 1);
}

/* The verdict names the bodies whose declared effects it rests on. */
static void trust(lowering *l, const weiri_op *op) {
    weiri_plan *p = l->p;
    const char *name = op->work->tx_bytes ? weiri_arena_fmt(&p->a, "%s.%s (%" PRId64 " bytes)", op->res->name, op->work->name,
                                                            op->work->tx_bytes)
                                          : weiri_arena_fmt(&p->a, "%s.%s", op->res->name, op->work->name);
    if (!p->trusted) p->trusted = name;
    else if (!strstr(p->trusted, name)) p->trusted = weiri_arena_fmt(&p->a, "%s, %s", p->trusted, name);
}

bool weiri_view_operand(const weiri_plan *p, const weiri_view *v, weiri_tile_geom *g, int64_t *offset, char *why, size_t size) {
    why[0] = '\0';
    *offset = 0;
    weiri_geom(p, v->res, g); /* it has a place, and so a layout */
    if (!v->row0 && !v->nrows && !v->col0 && !v->ncols) return true;
    const int rows = v->nrows ? v->nrows : g->rows - v->row0, cols = v->ncols ? v->ncols : g->cols - v->col0;
    const int unit =
        v->t ? g->panel_cols : 32 / g->elem; /* columns: whole panels of an MN-major operand, steps of a K-major one */
    const int in = v->col0 % g->panel_cols;
    if (!g->swizzle) snprintf(why, size, "a part of a tile without swizzle has no descriptor; give the tile a swizzle");
    else if (v->row0 % 8) snprintf(why, size, "the part begins at row %d, no multiple of the 8 rows of an atom", v->row0);
    else if (v->col0 % unit || cols % unit)
        snprintf(why, size, "columns %d to %d are no multiple of %d", v->col0, v->col0 + cols, unit);
    else if (in && in + cols > g->panel_cols)
        snprintf(why, size, "columns %d to %d begin inside a panel of %d and end in another", v->col0, v->col0 + cols,
                 g->panel_cols);
    if (why[0]) return false;
    *offset = v->col0 / g->panel_cols * g->panel_bytes + v->row0 * g->row_bytes + (int64_t)in * g->elem;
    g->rows = rows;
    g->cols = cols;
    return true;
}

bool weiri_view_part(const weiri_plan *p, const weiri_view *v, int part, int parts, weiri_tile_geom *g, int64_t *offset,
                     char *why, size_t size) {
    weiri_view x = *v;
    int *first = v->t ? &x.col0 : &x.row0, *n = v->t ? &x.ncols : &x.nrows;
    why[0] = '\0';
    if (parts < 2) return weiri_view_operand(p, v, g, offset, why, size);
    weiri_geom(p, v->res, g);
    *n = (*n ? *n : (v->t ? g->cols : g->rows) - *first) / parts;
    *first += part * *n;
    return weiri_view_operand(p, &x, g, offset, why, size);
}

/* Can wgmma read the stage as operand `i` (0 a, 1 b) of the op? */
static void check_operand(lowering *l, const weiri_op *op, int i, const weiri_view *v) {
    int pr = weiri_preg_of(l->p, l->task, op->res);
    weiri_tile_geom g;
    weiri_operand o;
    char why[256];
    int64_t offset;
    int parts =
        i && l->pt->by_cols ? l->pt->warpgroups : 1; /* of b's rows, one a warpgroup; if the second may begin there, all may */
    bool part = weiri_view_part(l->p, v, parts > 1, parts, &g, &offset, why, sizeof why);
    if (pr < 0) return; /* said elsewhere */
    if (part &&
        weiri_layout_operand(&g, weiri_stage_dtype(l->p, v->res), v->t, i ? l->p->regs.v[pr].cols : 64, &o, why, sizeof why))
        return;
    weir_finding *f = weiri_find(&l->p->findings, "PLAN-SWIZZLE", weiri_place_of(&op->at), "%s of the mma into '%s', '%s': %s",
                                 i ? "b" : "a", op->res->name, v->res->name, why);
    f->objects[0] = v->res->name;
}

/* ---- the tensor core of sm_100a ---------------------------------------------------------------------------------------------- */

/* A store reads tensor memory where it stands, not where the value was written. */
typedef struct tensor_reading {
    lowering *l;
    weiri_action *a;
} tensor_reading;

static void tensor_read(void *ud, uint32_t view) {
    tensor_reading *x = ud;
    reads(x->l, x->a, view);
}

typedef struct found {
    const weir_kernel *k;
    int rows, cols, n;
    bool misfit, part;
} found;

static void found_leaf(void *ud, uint32_t view) {
    found *f = ud;
    weiri_view v;
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(f->k, view, shape);
    weiri_view_of(f->k, view, &v);
    f->n++;
    f->part = f->part || v.ncols || v.col0;
    f->misfit = f->misfit || rank != 2 || shape[0] != f->rows || shape[1] != f->cols || shape[0] != v.res->tile[0] || v.t ||
                v.nsub || v.limit;
}

/* A reduction along rows of what no register tile holds, in the value: what is only loaded is fetched element by element, wherever it is
 * used, and no thread has a row of it. */
static bool bare_reduction(const weir_kernel *k, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    if (!weiri_visit(k, id)) return false;
    if (weiri_is_reduction(v->op) && !weiri_value_in_regs(k, v->arg[0])) return true;
    for (int i = 0; i < v->nargs; i++)
        if (weiri_value_reduces(k, v->arg[i]) && bare_reduction(k, v->arg[i])) return true;
    return false;
}

static void check_reductions(lowering *l, const weiri_op *op) {
    for (int i = 0; i < op->nargs; i++) {
        if (!weiri_value_reduces(l->k, op->arg[i])) continue;
        weiri_visit_begin(l->k);
        if (bare_reduction(l->k, op->arg[i]))
            complain(l, "PLAN-UNSUPPORTED", op,
                     "set a register tile first, r:set(x), and reduce r:read(): its rows lie in the lanes of a quad",
                     "takes a row reduction of a value that no register tile holds");
    }
}

/* Values of tensor memory lie row by row in the threads: only stores take them, elementwise. */
static void check_tensor_values(lowering *l, const weiri_op *op) {
    const weir_kernel *k = l->k;
    for (int i = 0; i < op->nargs; i++) {
        const weiri_value *x = weiri_val(k, op->arg[i]);
        found f = { .k = k, .rows = x->rows, .cols = x->cols };
        if (op->atom == ATOM_MMA || op->atom == ATOM_READ || op->atom == ATOM_LOAD) continue;
        weiri_tc_leaves(k, op->arg[i], found_leaf, &f);
        if (!f.n) continue;
        const char *text = NULL;
        if (op->atom != ATOM_STORE) text = "takes a value of tensor memory; on sm_100a only store() can take one yet";
        else if (weiri_value_uses(k, op->arg[i], WEIR_OP_READ_REG))
            text = "stores a value of tensor memory and of a register tile, whose rows lie differently in the threads";
        else if (weiri_value_reduces(k, op->arg[i]))
            text = "stores a row reduction of tensor memory, which cannot be built yet";
        else if (f.misfit || f.cols % 8 || weiri_value_uses(k, op->arg[i], WEIR_OP_TILE_COLS))
            text = "stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, "
                   "s:read():cols(first, n)";
        else if (f.part && weiri_tc_pair(k) && f.rows == 64)
            text = "stores part of the columns of 64 rows, whose halves lie one above the other with v = 2";
        if (text) complain(l, "PLAN-UNSUPPORTED", op, "store the sums to shared memory, and take the value from there", text);
    }
}

/* One thread issues; in a task of more threads those that have waited must all have come first, or one could miss a phase. */
static void lower_umma(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_tc_shape shape;
    weiri_view v;
    char why[256];
    if (r->kind != WEIR_RES_TMEM) return; /* weiri_check_targets says so */
    if (!l->pt->solo && l->pt->task->num_warps == 1) act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, "every thread has waited");
    else if (!l->pt->solo && l->pt->wg_actor) join_warpgroup(l, at, op, "every thread has waited");
    weiri_action *a = act(p, at, ACT_MMA, WHO_ONE, op, NULL); /* stands for the op also where it is refused below */
    a->reg = r->index;
    a->leader = weiri_tc_pair(p->k);
    for (int i = 0; i < op->nargs; i++) {
        weiri_view_of(l->k, op->arg[i], &v); /* capture takes nothing else */
        if (sliced(l, op, &v)) return;
        weir_pipe_type t = v.res->pipe.given.type;
        if (t != WEIR_TMA_UMMA && t != WEIR_ASYNC_UMMA && t != WEIR_UMMA_UMMA) {
            weir_finding *f = weiri_find(
                &p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&op->at),
                "%s of the mma into '%s', '%s', has a pipeline of type %s, whose release does not wait for the tensor core",
                i ? "b" : "a", r->name, v.res->name, weiri_pipe_type_name(t));
            f->hint = "an operand of sm_100a needs tma_umma or async_umma";
            f->objects[0] = v.res->name;
            return;
        }
    }
    if (!weiri_tc_shape_of(p, op, &shape, why, sizeof why)) {
        if (!why[0]) return;
        weir_finding *f = weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&op->at), "mma into '%s' { %d, %d }: %s", r->name,
                                     r->tile[0], r->tile[1], why);
        f->objects[0] = r->name;
        f->hint = shape.pair ? "with v = 2 a tmem_tile has this CTA's 64 or 128 rows and 32 to 256 columns; operands are swizzled"
                             : "a tmem_tile has 64 or 128 rows and up to 256 columns; operands are swizzled";
        return;
    }
    stage_access(l, a, r, true, true, true);
    for (int i = 0; i < op->nargs; i++) {
        weiri_view_of(l->k, op->arg[i], &v);
        int cur = weiri_pipe_of(p, v.res) >= 0 ? cursor_for(l, v.res, false) : -1;
        effect(l, a, false, true, weiri_region_of(p, v.res), cur, cur >= 0 ? working_stage(l, v.res, false) : STAGE_NONE,
               v.back);
    }
}

/* Bytes that arrive by themselves need a barrier that counts them. */
static void check_counted(lowering *l, const weiri_op *op) {
    if (!weiri_piped(op->res))
        complain(l, "PLAN-UNSUPPORTED", op, "give the tile a tma_async pipeline", "brings bytes that no pipeline counts");
}

/* The part of a stage that a view names, for copies that take it as it lies: whole, or slabs of it. */
static bool whole_rows(const weiri_view *v) {
    return !v->t && !v->row0 && !v->nrows && !v->col0 && !v->ncols && !v->limit && (!v->nsub || v->axis + v->nsub < v->res->rank);
}

/* Bytes as they lie, panel by panel: both tiles must lie alike. Rows are a slab's, or the tile's. */
static int make_push(lowering *l, const weiri_op *op, const weiri_view *src, const weiri_view *to) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_tile_geom a, b;
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(l->k, op->arg[0], shape);
    weiri_geom(p, src->res, &a); /* it has a place, and so a layout */
    if (!weiri_geom(p, r, &b)) return -1; /* said elsewhere */
    int64_t rows = 1;
    for (int d = 0; d + 1 < rank; d++) rows *= shape[d];
    bool alike = a.swizzle == b.swizzle && a.panels == b.panels && a.row_bytes == b.row_bytes && a.elem == b.elem;
    bool turned = a.swizzle && rows % 8 && (src->nsub || to->nsub);
    if (!alike || turned) {
        weir_finding *f = complain(l, "PLAN-PUSH", op,
                                   alike ? "make the rows of a slab a multiple of 8" : "give both the same swizzle and row length",
                                   alike ? "takes a slab that begins inside an atom of the swizzle, which is 8 rows"
                                         : "copies bytes as they lie, and the two tiles lie differently");
        f->expected = weiri_arena_fmt(&p->a, "swizzle %d, rows of %" PRId64 " bytes in %d panel%s", b.swizzle, b.row_bytes,
                                      b.panels, b.panels == 1 ? "" : "s");
        f->got = weiri_arena_fmt(&p->a, "swizzle %d, rows of %" PRId64 " bytes in %d panel%s, %" PRId64 " of them", a.swizzle,
                                 a.row_bytes, a.panels, a.panels == 1 ? "" : "s", rows);
        return -1;
    }
    weiri_push c = { .npiece = a.panels, .to = weiri_region_of(p, r), .from = weiri_region_of(p, src->res), .from_view = op->arg[0],
                     .to_view = op->nargs > 1 ? op->arg[1] : 0, .to_row = b.row_bytes, .from_row = a.row_bytes };
    c.piece = WEIRI_NEW_N(&p->a, weiri_piece, c.npiece);
    for (int i = 0; i < c.npiece; i++) {
        c.piece[i] = (weiri_piece){ i * b.panel_bytes, i * a.panel_bytes, rows * a.row_bytes };
        c.bytes += c.piece[i].bytes;
    }
    WEIRI_PUSH(&p->a, p->pushes, c);
    return p->pushes.n - 1;
}

/* A stage, or slabs of it, into the same stage of another CTA. */
static void lower_push(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_res *r = op->res;
    weiri_view src, to = { .res = r };
    check_counted(l, op);
    if (weiri_pipe_of(p, r) < 0 || !p->pipes.v[weiri_pipe_of(p, r)].dest) return; /* said; plan_push.c says why */
    const weiri_ppipe *pipe = &p->pipes.v[weiri_pipe_of(p, r)];
    weiri_view_of(l->k, op->arg[0], &src); /* capture takes nothing else */
    if (weiri_region_of(p, src.res) < 0) {
        complain(l, "PLAN-VIEW", op, "write s:push(t:read(), s:sub(i), { k = r })",
                 "copies something that is not a stage in shared memory");
        return;
    }
    if (op->nargs > 1) weiri_view_of(l->k, op->arg[1], &to);
    if (op->nargs > 1 && (to.res != r || to.op != WEIR_OP_VIEW_SUB)) {
        complain(l, "PLAN-VIEW", op, "write s:push(view, s:sub(i), { k = r }), or leave the place out",
                 "goes to something that is no slab of its own tile");
        return;
    }
    if (!whole_rows(&src) || !whole_rows(&to)) {
        complain(l, "PLAN-PUSH", op, "push whole stages, or slabs of them: sub(i)", "takes a part of a view other than slabs");
        return;
    }
    int from = weiri_pipe_of(p, src.res);
    if (l->pt->warpgroups > 1 && from >= 0 && p->pipes.v[from].full < 0) {
        complain(l, "PLAN-PUSH", op, "let a task of one warp send: it waits for the stage, which all warpgroups have filled",
                 "takes a stage of which each warpgroup of the task fills and stores its own share");
        return;
    }
    weiri_action *a = act(p, at, ACT_PUSH_BULK, who_here(l, WHO_ONE), op, NULL);
    a->pipe = weiri_pipe_of(p, r);
    a->bar = pipe->full;
    a->cur = cursor_for(l, r, true);
    a->stage = working_stage(l, r, true);
    a->reach = by_rank(p, l->protos[r->index].arms);
    a->copy = make_push(l, op, &src, &to);
    a->bytes = a->copy >= 0 ? p->pushes.v[a->copy].bytes : 0;
    int cur = from >= 0 ? cursor_for(l, src.res, false) : -1;
    effect(l, a, false, true, weiri_region_of(p, src.res), cur, cur >= 0 ? working_stage(l, src.res, false) : STAGE_NONE, src.back);
    weiri_effect *e = effect(l, a, true, true, weiri_region_of(p, r), a->cur, a->stage, 0);
    int64_t row;
    if (to.nsub && a->copy >= 0 && p->pushes.v[a->copy].npiece == 1 &&
        weiri_push_rows(l->k, &to, -1, &row)) { /* the same in every CTA */
        e->lo = row * p->pushes.v[a->copy].to_row;
        e->hi = e->lo + a->bytes;
    }
}

/* A body gets a pointer: to a stage, or to where slabs and rows of it begin. */
static void check_body_views(lowering *l, const weiri_op *op) {
    for (int i = 0; i < op->nargs; i++) {
        weiri_view v;
        if (!op->work->params[i].view) continue;
        weiri_view_of(l->k, op->arg[i], &v);
        const char *name = op->work->params[i].name;
        if (v.res->kind == WEIR_RES_GMEM)
            complain(l, "PLAN-VIEW", op, "bind the tensor, and give the body coordinates",
                     weiri_arena_fmt(&l->p->a, "takes '%s' of a tensor; a body's views are of stages", name));
        else if (v.t || v.limit || v.col0 || v.axis + v.nsub >= v.res->rank)
            complain(l, "PLAN-VIEW", op, "give it the stage, or slabs and rows of it, and the rest as numbers",
                     weiri_arena_fmt(&l->p->a, "takes '%s', a part of a stage that is no pointer to whole rows", name));
    }
}

static void lower_work(lowering *l, weiri_pnode *at, const weiri_op *op) {
    weiri_plan *p = l->p;
    const weir_kernel *k = l->k;
    const weir_res *r = op->res;
    weiri_action *a;
    weiri_view v = { 0 };
    if (weiri_tc(k)) check_tensor_values(l, op);
    if (l->pt->by_cols) check_columns(l, op);
    check_reductions(l, op);
    switch (op->atom) {
    case ATOM_TMA_LOAD: {
        weiri_view_of(k, op->arg[0], &v); /* capture takes nothing else */
        if (v.res->kind != WEIR_RES_GMEM) {
            complain(l, "PLAN-VIEW", op, "write s:tma_load(g:at(i, j))", "loads something that is not a tile of a tensor");
            return;
        }
        check_counted(l, op);
        if (weiri_pipe_of(p, r) < 0) return; /* said */
        int part[WEIR_MAX_RANK], axes = op->multicast;
        if (!part_of_tile(l, op, &v, v.res, part)) return;
        if (k->cluster.m == 1) axes &= ~1;
        if (k->cluster.n == 1) axes &= ~2;
        int served = popcount_axes(k, axes);
        a = act(p, at, ACT_LOAD_BULK, who_here(l, WHO_ONE), op, NULL);
        a->pipe = weiri_pipe_of(p, r);
        a->bar = p->pipes.v[a->pipe].full;
        a->cur = cursor_for(l, r, true);
        a->stage = working_stage(l, r, true);
        a->targets = served > 1 ? axes : 0;
        a->first = served > 1 && op->issue_first;
        if (op->issue_first && weiri_tc_leaders_full(k, r->pipe.given.type))
            complain(l, "PLAN-UNSUPPORTED", op, "leave issue out: each CTA loads its slice",
                     "is issued by the first CTA (issue = \"first\") for operands of an mma of two CTAs (v = 2)");
        a->at_leader = weiri_tc_leaders_full(k, r->pipe.given.type);
        check_start(l, op, &v, v.res);
        a->copy = make_copy(l, op, v.res, part, r, NULL, a->first ? 1 : served);
        a->bytes = a->first ? weiri_tile_bytes(r) : weiri_tile_bytes(r) / served;
        stage_access(l, a, r, true, true, true);
        return;
    }
    case ATOM_STORE:
        a = act(p, at, ACT_BODY, who_here(l, WHO_THREADS), op, NULL);
        reads(l, a, op->arg[0]);
        if (weiri_tc(k)) weiri_tc_leaves(k, op->arg[0], tensor_read, &(tensor_reading){ l, a });
        if (r->kind == WEIR_RES_GMEM) touch(l, r->tensor);
        else stage_access(l, a, r, true, true, false), part_written(l, a, op);
        narrow_store(l, op);
        check_store_place(l, op);
        return;
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD:
        weiri_view_of(k, op->arg[0], &v);
        if (weiri_region_of(p, v.res) < 0) {
            complain(l, "PLAN-VIEW", op, "write g:tma_store(s:read(), g:at(i, j))",
                     "stores something that is not a stage in shared memory");
            return;
        }
        int place[WEIR_MAX_RANK];
        weiri_view_of(k, op->arg[1], &v);
        if (!part_of_tile(l, op, &v, r, place)) return;
        check_start(l, op, &v, r);
        weiri_view_of(k, op->arg[0], &v);
        a = act(p, at, ACT_STORE_BULK, who_here(l, l->pt->wg_actor ? WHO_WG : WHO_ONE), op, NULL);
        a->copy = make_copy(l, op, r, place, v.res, &v, 1);
        a->bytes = a->copy >= 0 ? p->copies.v[a->copy].bytes : 0;
        a->pipe = weiri_pipe_of(p, v.res);
        if (a->pipe >= 0) {
            a->cur = cursor_for(l, v.res, false);
            a->stage = working_stage(l, v.res, false);
            a->back = v.back;
            effect(l, a, false, true, weiri_region_of(p, v.res), a->cur, a->stage, v.back);
        } else {
            effect(l, a, false, true, weiri_region_of(p, v.res), -1, STAGE_NONE, 0);
        }
        weiri_action *c = act(p, at, ACT_BULK_COMMIT, a->who, op, NULL);
        c->pipe = a->pipe;
        l->stores = true;
        return;
    case ATOM_ZERO:
        a = act(p, at, ACT_ZERO, who_here(l, WHO_THREADS), op, NULL);
        a->reg = r->index;
        if (r->kind != WEIR_RES_TMEM || !weiri_tc(k)) reg_effect(l, a, true, r);
        return;
    case ATOM_READ:
        if (r->kind != WEIR_RES_REG && r->kind != WEIR_RES_WGMMA) return; /* a view: what uses it reads the stage */
        /* fall through */
    case ATOM_SET:
        a = act(p, at, ACT_BODY, who_here(l, WHO_THREADS), op, NULL);
        a->reg = r->index;
        reg_effect(l, a, op->atom == ATOM_SET, r);
        for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
        return;
    case ATOM_MMA:
        if (weiri_tc(k)) {
            lower_umma(l, at, op);
            return;
        }
        act(p, at, ACT_MMA_FENCE, WHO_THREADS, op, NULL);
        a = act(p, at, ACT_MMA, WHO_THREADS, op, NULL);
        a->reg = r->index;
        reg_effect(l, a, true, r);
        for (int i = 0; i < op->nargs; i++) {
            if (weiri_view_of(k, op->arg[i], &v) && weiri_region_of(p, v.res) >= 0) {
                const weiri_view whole = { .nsub = v.nsub, .limit = v.limit };
                if (sliced(l, op, &whole)) return;
                check_operand(l, op, i, &v);
                int cur = weiri_pipe_of(p, v.res) >= 0 ? cursor_for(l, v.res, false) : -1;
                effect(l, a, false, true, weiri_region_of(p, v.res), cur,
                       cur >= 0 ? working_stage(l, v.res, false) : STAGE_NONE, v.back);
            } else {
                const weiri_value *x = weiri_val(k, op->arg[i]);
                if (x->op == WEIR_OP_READ_REG) reg_effect(l, a, false, x->res);
            }
        }
        a = act(p, at, ACT_MMA_COMMIT, WHO_THREADS, op, NULL);
        a->reg = r->index;
        return;
    case ATOM_DRAIN:
        if (r->kind == WEIR_RES_GMEM) {
            a = act(p, at, ACT_BULK_WAIT, who_here(l, l->pt->wg_actor ? WHO_WG : WHO_ONE), op, "drain");
            a->n = op->keep;
        } else {
            a = act(p, at, ACT_MMA_WAIT, WHO_THREADS, op, "drain");
            a->n = 99; /* mma_step finds the number */
            a->reg = r->index;
        }
        return;
    case ATOM_LOAD:
        a = act(p, at, ACT_BODY, who_here(l, WHO_THREADS), op, NULL);
        for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
        for (int i = 0; i < op->nret; i++) {
            const weiri_value *x = weiri_val(k, op->ret[i]);
            for (int j = 0; j < x->nargs; j++) reads(l, a, x->arg[j]);
        }
        return;
    case ATOM_CUSTOM:
        if (weiri_tc_pair(k) && (weiri_tc_body(k, op) || (op->work->tx_bytes && weiri_tc_leaders_full(k, r->pipe.given.type))))
            complain(l, "PLAN-UNSUPPORTED", op, "use mma and tma_load, or v = 1",
                     "issues mmas, or brings bytes to operands of one, by a body of its own where two CTAs share the mma (v = 2)");
        check_body_views(l, op);
        if (op->work->tx_bytes) check_counted(l, op);
        a = act(p, at, ACT_BODY, who_here(l, WHO_THREADS), op, NULL);
        for (int i = 0; i < r->nbind; i++) touch(l, r->bind[i].tensor);
        if (!op->work->aux && (weiri_in_smem(r) || op->work->tx_bytes)) trust(l, op);
        for (int i = 0; i < op->nargs; i++) reads(l, a, op->arg[i]);
        if (!op->work->aux && weiri_in_smem(r))
            stage_access(l, a, r, op->work->side == WEIR_SIDE_PRODUCER, op->work->side == WEIR_SIDE_PRODUCER,
                         op->work->async_read || weiri_tc_body(k, op));
        if (weiri_pipe_of(p, r) >= 0 &&
            (op->work->tx_bytes || (!op->work->aux && !weiri_in_smem(r)))) { /* which stage: no access says it */
            a->cur = cursor_for(l, r, op->work->side == WEIR_SIDE_PRODUCER);
            a->stage = working_stage(l, r, op->work->side == WEIR_SIDE_PRODUCER);
        }
        if (op->work->tx_bytes && weiri_pipe_of(p, r) >= 0) {
            a->pipe = weiri_pipe_of(p, r);
            a->bar = p->pipes.v[a->pipe].full;
            a->bytes = op->work->tx_bytes;
        }
        return;
    case ATOM_GRID_WAIT: act(p, at, ACT_GRID_WAIT, who_here(l, WHO_THREADS), op, NULL); return;
    case ATOM_GRID_LAUNCH: act(p, at, ACT_GRID_LAUNCH, who_here(l, WHO_THREADS), op, NULL); return;
    case ATOM_QUEUE_ADVANCE:
        if (weiri_pipe_of(p, r) < 0) return; /* static and grid queues: the loop's own arithmetic */
        a = act(p, at, ACT_BODY, who_here(l, WHO_THREADS), op, NULL);
        stage_access(l, a, r, false, false, false);
        return;
    case ATOM_QUEUE_FETCH:
        if (weiri_pipe_of(p, r) < 0) return;
        a = act(p, at, ACT_LOAD_BULK, who_here(l, WHO_ONE), op, NULL);
        a->pipe = weiri_pipe_of(p, r);
        a->bar = p->pipes.v[a->pipe].full;
        a->cur = cursor_for(l, r, true);
        a->stage = working_stage(l, r, true);
        a->bytes = 16;
        a->cta0 = p->cluster > 1; /* one tile for the whole cluster */
        a->targets = a->cta0 ? 15 : 0;
        stage_access(l, a, r, true, true, true);
        return;
    case ATOM_CP_ASYNC: {
        weiri_tile_geom g;
        weiri_view_of(k, op->arg[0], &v);
        if (v.res->kind != WEIR_RES_GMEM) {
            complain(l, "PLAN-VIEW", op, "write s:cp_async(g:at(i, j))", "copies something that is not a tile of a tensor");
            return;
        }
        if (!weiri_geom(p, r, &g) || sliced(l, op, &v)) return;
        if (v.t) {
            complain(l, "PLAN-UNSUPPORTED", op, "copy it as it lies, and read the stage turned over: s:read():t()",
                     "copies a tile turned over, which cp.async cannot");
            return;
        }
        const weir_res *t = v.res;
        if (t->tile[t->rank - 1] != g.cols || v.op != WEIR_OP_VIEW_AT) { /* rows of a stage are whole 16 bytes */
            complain(l, "PLAN-BOX", op,
                     "copy g:at(...) tiles whose rows are a multiple of 16 bytes, into a tile of the same shape",
                     "copies rows that are no whole 16-byte pieces");
            return;
        }
        touch(l, t->tensor);
        p->wide[t->tensor->index] = true;
        l->copies = true;
        a = act(p, at, ACT_CP_ASYNC, who_here(l, WHO_THREADS), op, NULL);
        a->pipe = weiri_pipe_of(p, r);
        if (a->pipe >= 0) a->bar = p->pipes.v[a->pipe].full;
        stage_access(l, a, r, true, true, false);
        a->cur = a->eff[0].cur;
        a->stage = a->eff[0].stage;
        return;
    }
    case ATOM_PUSH: lower_push(l, at, op); return;
    default: return; /* ATOM_QUEUE_INIT */
    }
}

static void lower_skip(lowering *l, const weiri_node *n, const weiri_pnode *body, weiri_pnode *at);
static void deal_loop(lowering *l, const weiri_node *n, weiri_pnode *b);

/* Lanes that share a side move its cursor past each other's tiles by what a tile of theirs takes; what another lane takes for the tile it
 * had before, or for its last one, none of them knows. */
static void check_dealt_before(lowering *l, const weiri_node *guard) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(guard, n));) {
        const weiri_op *op = n->kind == NODE_OP ? n->op : NULL;
        if (!op || !piped_op(l->p, op) || !(opens(op) || op->stage == STAGE_PROD_COMMIT || op->stage == STAGE_CONS_RELEASE)) continue;
        if (op->res->kind != WEIR_RES_QUEUE && !weiri_side_dealt(l->k, op->res, is_producer(op->stage))) continue;
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&op->at),
                                     "task '%s': '%s' is shared by lanes of the work tiles, and moved inside %s", l->pt->task->name,
                                     op->res->name, guard->guard == WEIR_GUARD_LAST_TILE ? "last_tile" : "previous_tile");
        f->objects[0] = op->res->name;
        f->hint = "give each lane a pipeline of its own, or move this one in the tile itself";
        weiri_second_place(f, &guard->at, "the guard");
        return;
    }
}

static void lower_nodes(lowering *l, const weiri_node *n, weiri_pnode *at) {
    for (; n; n = n->next) {
        if (n->kind == NODE_OP) {
            const weiri_op *op = n->op;
            if (op->atom != ATOM_NONE) lower_work(l, at, op);
            else if (!piped_op(l->p, op)) continue; /* queue moves; resources whose own rules failed */
            else if (opens(op)) lower_open(l, at, op);
            else if (op->stage == STAGE_PROD_COMMIT || op->stage == STAGE_CONS_RELEASE) lower_close(l, at, op);
            continue;
        }
        static const weiri_pnode_kind kinds[] = { PN_ACTION, PN_LOOP, PN_GUARD, PN_TILES, PN_SKIPPABLE };
        weiri_pnode *b = append(l->p, at, kinds[n->kind]);
        b->src = n;
        lower_nodes(l, n->first, b);
        if (weiri_of_before(n) && n->lanes > 1) check_dealt_before(l, n);
        if (n->kind == NODE_LOOP) deal_loop(l, n, b);
        if (n->kind != NODE_TILES || n->lanes < 2) continue;
        weiri_pnode *skip = WEIRI_NEW(&l->p->a, weiri_pnode);
        lower_skip(l, n->first, b->first, skip);
        b->skip = skip->first;
    }
}

/* ---- lanes of the stages ---------------------------------------------------------------------------------------------------- */

int weiri_lanes_on(const weir_res *r, bool producer) {
    const int *q = (r->kind == WEIR_RES_GROUP ? r->members[0] : r)->pipe.given.interleave + (producer ? 0 : 2);
    int n = q[0] > q[1] ? q[0] : q[1];
    return n > 1 ? n : 1;
}

int weiri_warp_lanes(const weiri_task *t) {
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP || n->op->atom != ATOM_NONE || n->op->res->kind == WEIR_RES_QUEUE) continue;
        int q = weiri_lanes_on(n->op->res, is_producer(n->op->stage));
        if (q > 1 && q == t->num_warps) return q;
    }
    return 0;
}

int weiri_loop_lane(const weir_kernel *k, const weiri_task *t, const weiri_node *loop, int lanes) {
    int64_t start, step;
    if (lanes < 2 || t->num_warps == lanes || loop->kind != NODE_LOOP || !weiri_value_const(k, loop->start, &start) ||
        !weiri_value_const(k, loop->step, &step) || step != lanes)
        return -1;
    return (int)((start % lanes + lanes) % lanes);
}

/* An op on stages that lanes take in turn. */
static bool dealt_op(lowering *l, const weiri_node *n) {
    return n->kind == NODE_OP && piped_op(l->p, n->op) && weiri_lanes_on(n->op->res, is_producer(n->op->stage)) > 1;
}

static bool dealt_inside(lowering *l, const weiri_node *loop) {
    for (const weiri_node *n = weiri_node_next(loop, NULL); n; n = weiri_node_next(loop, n))
        if (dealt_op(l, n)) return true;
    return false;
}

/* A loop whose body opens or closes stages that lanes take in turn: its iterations are dealt likewise. */
static void deal_loop(lowering *l, const weiri_node *n, weiri_pnode *b) {
    const weiri_task *t = l->pt->task;
    for (const weiri_node *x = weiri_node_next(n, NULL); x; x = weiri_node_next(n, x)) {
        const weiri_node *loop = x->parent;
        while (loop->kind != NODE_LOOP) loop = loop->parent;
        if (loop != n || !dealt_op(l, x)) continue;
        int q = weiri_lanes_on(x->op->res, is_producer(x->op->stage));
        int lane = q == t->num_warps ? -1 : weiri_loop_lane(l->k, t, n, q);
        if (lane < 0 && q != t->num_warps) { /* V-ILV-06 names tasks that have no lane at all */
            complain(l, "PLAN-UNSUPPORTED", x->op, "start the loop at the lane and step by the number of lanes",
                     "stands in a loop that is no lane of its stages");
            return;
        }
        if (b->deal && b->deal != q) {
            complain(l, "PLAN-UNSUPPORTED", x->op, "give the pipelines of the loop one interleave",
                     "is dealt differently from others in its loop");
            return;
        }
        b->deal = q;
        b->lane = lane;
        weiri_cursor *c = &l->p->cursors.v[cursor_for(l, x->op->res, is_producer(x->op->stage))];
        if (c->lane >= 0 && c->lane != lane) {
            complain(l, "PLAN-UNSUPPORTED", x->op, "a task per lane", "takes another lane of its stages than a loop before");
            return;
        }
        c->lane = lane;
    }
}

/* Warps that go their own ways share nothing else: other stages, whatever one thread of the task would do, registers. */
static void check_warp_lanes(lowering *l) {
    const weiri_node *root = l->pt->task->root;
    for (int i = 0; i < l->p->findings.list.n; i++)
        if (!strncmp(l->p->findings.list.v[i].rule, "V-ILV-", 6)) return; /* such lanes there should not be */
    for (const weiri_node *n = weiri_node_next(root, NULL); n && l->pt->lanes; n = weiri_node_next(root, n)) {
        if (n->kind != NODE_OP || n->op->res->kind == WEIR_RES_QUEUE || n->op->atom == ATOM_GRID_WAIT ||
            n->op->atom == ATOM_GRID_LAUNCH)
            continue;
        const weiri_node *loop = n->parent;
        while (loop && loop->kind != NODE_LOOP) loop = loop->parent;
        bool in = loop && dealt_inside(l, loop);
        if (in && (n->op->atom != ATOM_NONE || dealt_op(l, n) || !piped_op(l->p, n->op))) continue;
        complain(l, "PLAN-UNSUPPORTED", n->op,
                 "a task per lane, whose loop starts at the lane and steps by the number of lanes",
                 in ? "takes stages that are not dealt, in a loop that is dealt to the task's warps"
                    : "stands outside the loop that is dealt to the task's warps, each of which goes its own way");
        return;
    }
}

/* ---- lanes of the work tiles ------------------------------------------------------------------------------------------------ */

const weiri_node *weiri_lanes_of(const weiri_task *t) {
    const weiri_node *tiles = weiri_tile_loop(t);
    return tiles && tiles->lanes > 1 ? tiles : NULL;
}

static bool within(const weir_res *r, const weir_res *group) {
    for (int i = 0; group->kind == WEIR_RES_GROUP && i < group->nmembers; i++)
        if (group->members[i] == r) return true;
    return r == group;
}

bool weiri_side_dealt(const weir_kernel *k, const weir_res *r, bool producer) {
    int lane = -1;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_node *tiles = weiri_lanes_of(k->tasks.v[i]);
        for (const weiri_node *n = tiles ? weiri_node_next(tiles, NULL) : NULL; n; n = weiri_node_next(tiles, n)) {
            if (n->kind != NODE_OP || n->op->atom != ATOM_NONE) continue;
            if (is_producer(n->op->stage) != producer || !(within(n->op->res, r) || within(r, n->op->res))) continue;
            if (lane >= 0 && tiles->lane != lane) return true;
            lane = tiles->lane;
            break;
        }
    }
    return false;
}

/* Can the value be had without the body: from sizes, scalars, coordinates and the indices of loops alone? */
static bool known_outside(const weir_kernel *k, uint32_t id) {
    static const weir_op made[] = { WEIR_OP_RETURN, WEIR_OP_LOAD, WEIR_OP_READ_REG, WEIR_OP_VIEW_READ };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (weiri_value_uses(k, id, made[i])) return false;
    return true;
}

/* What the body would do to cursors that lanes share, and to a dynamic queue; every loop and guard around that. */
static void lower_skip(lowering *l, const weiri_node *n, const weiri_pnode *body, weiri_pnode *at) {
    static const weiri_pnode_kind kinds[] = { PN_ACTION, PN_LOOP, PN_GUARD, PN_TILES, PN_SKIPPABLE };
    for (; n; n = n->next) {
        if (n->kind == NODE_OP) {
            const weiri_op *op = n->op;
            if (op->res->kind == WEIR_RES_QUEUE) {
                if (op->atom != ATOM_NONE) lower_work(l, at, op);
                else if (!piped_op(l->p, op)) continue;
                else if (opens(op)) lower_open(l, at, op);
                else if (op->stage == STAGE_PROD_COMMIT || op->stage == STAGE_CONS_RELEASE) lower_close(l, at, op);
                continue;
            }
            bool closes = op->stage == STAGE_PROD_COMMIT || op->stage == STAGE_CONS_RELEASE, first, last;
            if (!piped_op(l->p, op) || !(opens(op) || closes)) continue;
            int cur = cursor_for(l, op->res, is_producer(op->stage));
            weiri_cursor *c = &l->p->cursors.v[cur];
            if (c->tile_lanes < 2) continue;
            if (opens(op)) {
                round_place(l, op, &first, &last);
                if (!last) continue;
                advance(l, at, op, cur, STAGE_NEXT);
                if (c->held_max > 0) advance(l, at, op, cur, STAGE_CLOSE); /* what a tile opens it closes */
            } else if (c->held_max == 0 && closes_cursor(l, op)) {
                advance(l, at, op, cur, STAGE_CLOSE);
            }
            continue;
        }
        if (weiri_of_before(n)) continue; /* nothing that lanes share is moved there (check_dealt_before) */
        weiri_pnode *before = at->last, *b = append(l->p, at, kinds[n->kind]);
        b->src = n;
        const weiri_pnode *same = body; /* the body's own block */
        while (same->src != n) same = same->next;
        b->deal = same->deal;
        b->lane = same->lane;
        lower_skip(l, n->first, same->first, b);
        if (!b->first) { /* nothing in it */
            at->last = before;
            if (before) before->next = NULL;
            else at->first = NULL;
            continue;
        }
        const uint32_t asks[] = { n->kind == NODE_LOOP ? n->start : 0, n->kind == NODE_LOOP ? n->stop : 0,
                                  n->kind == NODE_LOOP ? n->step : 0, n->kind == NODE_GUARD ? n->of : 0 };
        for (int i = 0; i < 4; i++) {
            if (!asks[i] || known_outside(l->k, asks[i])) continue;
            weir_finding *f =
                weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&n->at),
                           "task '%s': how many stages a tile takes is read from memory, so that the other lanes of the "
                           "work tiles cannot skip them",
                           l->pt->task->name);
            f->hint = "give each lane pipelines of its own, or lengths that follow from sizes and coordinates";
            break;
        }
    }
}

/* ---- numbers of wait_group -------------------------------------------------------------------------------------------------- */

/* The groups that may be open, newest first, for one way through the program. */
#define QMAX 12
typedef struct queue {
    int n;
    bool cut;
    struct {
        int16_t tag, use, age;
    } e[QMAX];
} queue;
#define QSET 48
typedef struct qset {
    queue v[QSET];
    int n;
    bool full;
} qset;

static bool same_queue(const queue *a, const queue *b) {
    if (a->n != b->n || a->cut != b->cut) return false;
    for (int i = 0; i < a->n; i++)
        if (a->e[i].tag != b->e[i].tag || a->e[i].use != b->e[i].use || a->e[i].age != b->e[i].age) return false;
    return true;
}

static bool join_queue(qset *s, const queue *q) {
    for (int i = 0; i < s->n; i++)
        if (same_queue(&s->v[i], q)) return false;
    if (s->n == QSET) {
        s->full = true; /* waits then fall back to 0, which is always right */
        return false;
    }
    s->v[s->n++] = *q;
    return true;
}

static void tidy(qset *s) {
    qset out = { .n = 0, .full = s->full };
    for (int i = 0; i < s->n; i++) join_queue(&out, &s->v[i]);
    *s = out;
}

static void push_group(queue *q, int tag, int use) {
    if (q->n == QMAX) q->n--, q->cut = true;
    memmove(&q->e[1], &q->e[0], sizeof q->e[0] * (size_t)q->n);
    q->e[0].tag = (int16_t)tag;
    q->e[0].use = (int16_t)use;
    q->e[0].age = 0;
    q->n++;
}

static void in_flight_fault(lowering *l, const weiri_action *a, const qset *s) {
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->v[i].n; j++) {
            bool sums = s->v[i].e[j].tag == a->reg, operand = s->v[i].e[j].use == a->reg && a->op->atom != ATOM_READ;
            if (!sums && !operand) continue;
            const weir_res *r = l->k->res.v[a->reg];
            for (int f = 0; f < l->p->findings.list.n; f++) /* once a line */
                if (!strcmp(l->p->findings.list.v[f].rule, "PLAN-DRAIN") && l->p->findings.list.v[f].objects[0] == r->name &&
                    a->op->at.n && l->p->findings.list.v[f].line == a->op->at.at[0].line)
                    return;
            weir_finding *f =
                weiri_find(&l->p->findings, "PLAN-DRAIN", weiri_place_of(&a->op->at), "%s '%s' while an mma %s it may be in flight",
                           a->op->atom == ATOM_READ   ? "reads"
                           : a->op->atom == ATOM_ZERO ? "zeroes"
                                                      : "sets",
                           r->name, sums ? "into" : "that reads");
            f->objects[0] = r->name;
            f->hint = sums ? weiri_arena_fmt(&l->p->a, "call %s:drain() before", r->name)
                           : "drain the tile that the mma adds to before";
            return;
        }
}

static void mma_step(lowering *l, weiri_action *a, qset *s) {
    if (a->kind == ACT_MMA_COMMIT) {
        int use = -1;
        for (int i = 0; i < a->op->nargs; i++) {
            const weiri_value *x = weiri_val(l->k, a->op->arg[i]);
            if (x->op == WEIR_OP_READ_REG) use = x->res->index;
        }
        for (int i = 0; i < s->n; i++) push_group(&s->v[i], a->reg, use);
        tidy(s);
    } else if (a->kind == ACT_MMA_WAIT && a->op->atom == ATOM_NONE) { /* a commit or release that drains all */
        for (int i = 0; i < s->n; i++) {
            if (s->v[i].n || s->v[i].cut || s->full) a->n = 0;
            s->v[i].n = 0, s->v[i].cut = false;
        }
        tidy(s);
    } else if (a->kind == ACT_MMA_WAIT) {
        int best = a->n;
        for (int i = 0; i < s->n; i++) {
            const queue *q = &s->v[i];
            int left = a->op->keep, at = -1;
            for (int j = 0; j < q->n && at < 0; j++)
                if (q->e[j].tag == a->reg && left-- == 0) at = j;
            if (at < 0 && q->cut) at = q->n;
            if (at >= 0 && at < best) best = at;
        }
        if (s->full) best = 0;
        a->n = best;
        for (int i = 0; i < s->n; i++)
            if (s->v[i].n > best) s->v[i].n = best, s->v[i].cut = false;
        tidy(s);
    } else if (a->reg >= 0 && (a->op->atom == ATOM_READ || a->op->atom == ATOM_SET || a->op->atom == ATOM_ZERO)) {
        in_flight_fault(l, a, s);
    }
}

/* Opens since the use that a release gives back, at least. */
static int oldest_held(const lowering *l, const weiri_op *op) {
    int least = op->keep > 0 ? op->keep : 0;
    for (int h = 1; h < 63; h++)
        if (l->held_in[op->id] >> h & 1) return h - 1 > least ? h - 1 : least;
    return least;
}

static void bulk_step(lowering *l, weiri_action *a, qset *s) {
    if (a->kind == ACT_BULK_COMMIT) {
        for (int i = 0; i < s->n; i++) push_group(&s->v[i], a->pipe, -1);
        tidy(s);
    } else if (a->kind == ACT_ADVANCE && a->stage == STAGE_NEXT &&
               l->p->cursors.v[a->cur].producer == (l->p->pipes.v[l->p->cursors.v[a->cur].pipe].full < 0)) {
        /* uses are counted by the side that asks: the acquire, or the storing task's wait where they have barriers */
        int pipe = l->p->cursors.v[a->cur].pipe;
        for (int i = 0; i < s->n; i++)
            for (int j = 0; j < s->v[i].n; j++)
                if (s->v[i].e[j].tag == pipe && s->v[i].e[j].age < 100) s->v[i].e[j].age++;
        tidy(s);
    } else if (a->kind == ACT_BULK_WAIT) {
        int best = a->n;
        if (a->read) {
            /* an acquire: the store of the use `stages` ago has read its stage; a release: that of the oldest held use */
            int old = a->stage == STAGE_CLOSE ? oldest_held(l, a->op) : l->p->pipes.v[a->pipe].stages - 1;
            for (int i = 0; i < s->n; i++) {
                const queue *q = &s->v[i];
                int at = -1;
                for (int j = 0; j < q->n && at < 0; j++)
                    if (q->e[j].tag == a->pipe && q->e[j].age >= old) at = j;
                if (at < 0 && q->cut) at = q->n;
                if (at >= 0 && at < best) best = at;
            }
            if (s->full) best = 0;
            a->n = best;
        }
        for (int i = 0; i < s->n; i++)
            if (s->v[i].n > best) s->v[i].n = best, s->v[i].cut = false;
        tidy(s);
    }
}

static bool join_queues(qset *s, const qset *from) {
    bool grew = false;
    for (int i = 0; i < from->n; i++) grew = join_queue(s, &from->v[i]) || grew;
    s->full = s->full || from->full;
    return grew;
}

static void flow(lowering *l, weiri_pnode *n, qset *s, void (*step)(lowering *, weiri_action *, qset *));

/* As walk_turns. */
static void flow_turns(lowering *l, weiri_pnode *n, qset *s, void (*step)(lowering *, weiri_action *, qset *)) {
    qset none = *s, turn;
    l->had = false;
    flow(l, n->next, &none, step);
    flow(l, n->first, s, step);
    l->had = true;
    do {
        turn = *s;
        flow(l, n->first, &turn, step);
    } while (join_queues(s, &turn));
    flow(l, n->next, s, step);
    join_queues(s, &none);
}

/* Walks the tree with every set of groups that may be open, until loops add none; `step` sees each action in order. */
static void flow(lowering *l, weiri_pnode *n, qset *s, void (*step)(lowering *, weiri_action *, qset *)) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            step(l, n->act, s);
            continue;
        }
        if (n->kind == PN_TILES && l->looks_back) {
            flow_turns(l, n, s, step);
            return;
        }
        const bool before = n->kind == PN_GUARD && weiri_of_before(n->src);
        if (before && !l->had) continue;
        bool again = n->kind == PN_LOOP || n->kind == PN_TILES || (n->kind == PN_HELD && !n->once);
        bool must = before || (n->kind == PN_LOOP && weiri_loop_runs(l->k, n->src));
        qset in = *s, out;
        for (;;) {
            out = in;
            flow(l, n->first, &out, step);
            bool grew = false;
            if (again)
                for (int i = 0; i < out.n; i++) grew = join_queue(&in, &out.v[i]) || grew;
            if (!grew) break;
        }
        if (must) *s = out;
        else
            for (int i = 0; i < out.n; i++) join_queue(s, &out.v[i]);
        s->full = s->full || out.full || in.full;
    }
}

/* Waits for which nothing can be open keep a number that never blocks. */
static void settle_waits(weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            if ((n->act->kind == ACT_MMA_WAIT || n->act->kind == ACT_BULK_WAIT) && n->act->n > 7) n->act->n = 7;
        } else {
            settle_waits(n->first);
        }
    }
}

/* What would wait for nothing is taken out: drains of commits and releases with no mma in flight, and fences behind a wait when
 * another wait with its own follows at once. */
static void elide(weiri_pnode *parent, weiri_pnode **first) {
    for (weiri_pnode **at = first; *at;) {
        weiri_pnode *n = *at;
        if (n->kind != PN_ACTION) {
            elide(n, &n->first);
        } else {
            bool idle = n->act->kind == ACT_MMA_WAIT && n->act->n < 0;
            const weiri_pnode *m = n->next;
            while (n->act->kind == ACT_TC_AFTER && m && m->kind == PN_ACTION &&
                   (m->act->kind == ACT_WAIT || m->act->kind == ACT_ADVANCE))
                m = m->next;
            if (idle || (m != n->next && m && m->kind == PN_ACTION && m->act->kind == ACT_TC_AFTER)) {
                *at = n->next;
                continue;
            }
        }
        parent->last = n;
        at = &n->next;
    }
}

/* ---- fresh and live register tiles ------------------------------------------------------------------------------------------ */

/* Tensor memory cannot be cleared but by an mma: a stage is committed with sums of this use only. */
static void tensor_commit(lowering *l, const weiri_action *a, uint8_t *s) {
    const weir_res *g = a->op->res;
    for (int i = 0; i < (g->kind == WEIR_RES_GROUP ? g->nmembers : 1); i++) {
        const weir_res *r = g->kind == WEIR_RES_GROUP ? g->members[i] : l->k->res.v[a->reg];
        if (r->kind == WEIR_RES_TMEM && (s[r->index] & 3)) { /* bodies of the author's own see to it themselves */
            weir_finding *f =
                weiri_find(&l->p->findings, "PLAN-ZERO", weiri_place_of(&a->op->at),
                           "commits '%s' where no mma may have followed %s: tensor memory would still hold old sums", r->name,
                           s[r->index] & 2 ? "zero()" : "the acquire");
            f->objects[0] = r->name;
            f->hint = s[r->index] & 2 ? "let its loop run at least once: k:dim(name, { min = 1 })"
                                      : "zero it, and add to it, between acquire and commit";
        }
        s[r->index] = 1;
    }
}

static bool join_states(uint8_t *s, const uint8_t *from, int nres) {
    bool grew = false;
    for (int i = 0; i < nres; i++)
        if ((s[i] | from[i]) != s[i]) s[i] |= from[i], grew = true;
    return grew;
}

static void fresh_flow(lowering *l, weiri_pnode *n, uint8_t *s, int nres);

/* As walk_turns. */
static void fresh_turns(lowering *l, weiri_pnode *n, uint8_t *s, int nres) {
    uint8_t *none = WEIRI_NEW_N(&l->p->a, uint8_t, nres), *turn = WEIRI_NEW_N(&l->p->a, uint8_t, nres);
    memcpy(none, s, (size_t)nres);
    l->had = false;
    fresh_flow(l, n->next, none, nres);
    fresh_flow(l, n->first, s, nres);
    l->had = true;
    do {
        memcpy(turn, s, (size_t)nres);
        fresh_flow(l, n->first, turn, nres);
    } while (join_states(s, turn, nres));
    fresh_flow(l, n->next, s, nres);
    join_states(s, none, nres);
}

/* state by tile: bit 0 never written, bit 1 zero() pending, bit 2 holds sums */
static void fresh_flow(lowering *l, weiri_pnode *n, uint8_t *s, int nres) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            weiri_action *a = n->act;
            if (a->reg < 0) continue;
            if (a->kind == ACT_UMMA_COMMIT) {
                tensor_commit(l, a, s);
                continue;
            }
            bool spill = a->kind == ACT_BODY && a->op->atom == ATOM_NONE; /* a commit that leaves the sums in the stage */
            bool reads_it = a->op->atom == ATOM_READ || spill;
            if (a->kind == ACT_ZERO)
                s[a->reg] = l->k->res.v[a->reg]->kind == WEIR_RES_REG ? 4 : 2; /* a reg_tile is zeroed on the spot */
            else if (a->op->atom == ATOM_SET) s[a->reg] = 4;
            else if (a->kind == ACT_MMA || reads_it) {
                a->fresh |= s[a->reg] >> 1;
                if (s[a->reg] & 1) {
                    const weir_res *r = l->k->res.v[a->reg];
                    bool said = false;
                    for (int f = 0; f < l->p->findings.list.n; f++)
                        if (!strcmp(l->p->findings.list.v[f].rule, "PLAN-ZERO") &&
                            l->p->findings.list.v[f].objects[0] == r->name)
                            said = true;
                    if (!said) {
                        weir_finding *f = weiri_find(&l->p->findings, "PLAN-ZERO", weiri_place_of(&a->op->at),
                                                     "%s '%s', which may never have been zeroed or set",
                                                     reads_it ? "reads" : "adds to", r->name);
                        f->objects[0] = r->name;
                        f->hint = weiri_arena_fmt(&l->p->a, "call %s:zero() or %s:set(...) before", r->name, r->name);
                    }
                }
                if (a->kind == ACT_MMA) s[a->reg] = 4;
                if (spill) s[a->reg] = 1;
            }
            continue;
        }
        if (n->kind == PN_HELD) continue;
        if (n->kind == PN_TILES && l->looks_back) {
            fresh_turns(l, n, s, nres);
            return;
        }
        const bool before = n->kind == PN_GUARD && weiri_of_before(n->src);
        if (before && !l->had) continue;
        bool again = n->kind == PN_LOOP || n->kind == PN_TILES;
        bool must =
            before ||
            (n->kind == PN_LOOP && (weiri_loop_runs(l->k, n->src) || (weiri_tc(l->k) && weiri_tc_loop_runs(l->k, n->src))));
        uint8_t *in = WEIRI_NEW_N(&l->p->a, uint8_t, nres), *out = WEIRI_NEW_N(&l->p->a, uint8_t, nres);
        memcpy(in, s, (size_t)nres);
        for (;;) {
            memcpy(out, in, (size_t)nres);
            fresh_flow(l, n->first, out, nres);
            bool grew = false;
            for (int i = 0; again && i < nres; i++)
                if ((in[i] | out[i]) != in[i]) in[i] |= out[i], grew = true;
            if (!grew) break;
        }
        for (int i = 0; i < nres; i++) s[i] = must ? out[i] : (uint8_t)(s[i] | out[i]);
    }
}

/* Who adds to a register tile. */
typedef struct adders {
    int reg;
    const weiri_node *loop;
    bool others;
} adders;

static bool alike(const weir_kernel *k, uint32_t x) {
    static const weir_op by_tile[] = { WEIR_OP_COORD,  WEIR_OP_BEFORE, WEIR_OP_QUEUE_INDEX, WEIR_OP_INDEX,
                                       WEIR_OP_LOAD, WEIR_OP_RETURN, WEIR_OP_READ_REG };
    for (size_t i = 0; i < sizeof by_tile / sizeof *by_tile; i++)
        if (weiri_value_uses(k, x, by_tile[i])) return false;
    return true;
}

static void find_adders(const weir_kernel *k, const weiri_pnode *n, const weiri_node *loop, bool within, adders *out) {
    for (; n; n = n->next) {
        const weiri_action *a = n->act;
        if (n->kind == PN_ACTION && a->reg == out->reg && a->kind == ACT_ZERO) out->others = out->others || loop || within;
        if (n->kind == PN_ACTION && a->reg == out->reg && a->kind == ACT_MMA) {
            if (!out->loop) out->loop = loop;
            if (within || !loop || loop != out->loop) out->others = true;
        }
        if (n->kind == PN_ACTION && a->reg == out->reg && a->op && (a->op->atom == ATOM_SET || a->op->atom == ATOM_NONE)) out->others = true;
        if (n->kind == PN_ACTION || n->kind == PN_HELD) continue;
        bool tiles = n->kind == PN_TILES, first = n->kind == PN_LOOP && !loop;
        find_adders(k, n->first, first ? n->src : loop, within || !(tiles || first), out);
    }
}

/* Reads that asked whether the loop ran take the registers as they are. */
static bool settle_reads(weiri_pnode *n, int reg) {
    bool any = false;
    for (; n; n = n->next) {
        weiri_action *a = n->act;
        if (n->kind == PN_ACTION && a->reg == reg && a->op && a->op->atom == ATOM_READ && a->fresh == 3) a->fresh = 2, any = true;
        else if (n->kind != PN_ACTION && n->kind != PN_HELD && settle_reads(n->first, reg)) any = true;
    }
    return any;
}

/* Where one loop adds to a tile, and is as long in every tile of work, it adds always or never: registers that begin as 0 hold the sum
 * behind it either way, and nobody needs to look whether it ran (1 % of a GEMM of 16 k-steps, measured). */
static void zero_once(lowering *l, weiri_pnode *root, weiri_preg *r) {
    adders by = { .reg = r->res->index };
    if (r->res->kind == WEIR_RES_REG) return;
    find_adders(l->k, root, NULL, false, &by);
    if (!by.loop || by.others) return;
    if (!alike(l->k, by.loop->start) || !alike(l->k, by.loop->stop) || !alike(l->k, by.loop->step)) return;
    r->zeroed = settle_reads(root, by.reg);
}

/* ---- prologue and exit ------------------------------------------------------------------------------------------------------- */

static weiri_pnode *list_node(weiri_plan *p) { return WEIRI_NEW(&p->a, weiri_pnode); }

/* Allocation and release touch every column of every tmem_tile. */
static void tensor_frame(weiri_plan *p, weiri_pnode *list, weiri_act kind, const char *note) {
    lowering l = { .p = p, .k = p->k };
    weiri_action *a = act(p, list, kind, WHO_ONE, NULL, note);
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].tmem) effect(&l, a, true, false, i, -1, STAGE_NONE, 0)->hi = p->smem.v[i].size;
}

static void frame(weiri_plan *p) {
    weiri_pnode *pro = list_node(p), *epi = list_node(p);
    if (p->nbarriers) { act(p, pro, ACT_INIT, WHO_LANE, NULL, "mbarriers"); }
    if (p->tmem_columns) {
        tensor_frame(p, pro, ACT_TMEM_ALLOC, "tensor memory, its address left in shared memory");
        act(p, pro, ACT_TC_BEFORE, WHO_THREADS, NULL, NULL);
        act(p, epi, ACT_TC_BEFORE, WHO_THREADS, NULL, NULL);
    }
    if (p->cluster > 1) {
        /* Relaxed: fence.mbarrier_init is all that mbarriers need. The address of tensor memory is a plain store, to be released. */
        act(p, pro, ACT_CLUSTER_ARRIVE, WHO_THREADS, NULL, "every CTA's mbarriers are ready")->n = p->tmem_columns ? 0 : 1;
        act(p, pro, ACT_CLUSTER_WAIT, WHO_THREADS, NULL, NULL);
        act(p, epi, ACT_CLUSTER_ARRIVE, WHO_THREADS, NULL, "no CTA leaves while a peer may still arrive at it");
        act(p, epi, ACT_CLUSTER_WAIT, WHO_THREADS, NULL, NULL);
    } else if (p->nbarriers) { /* tensor memory has some */
        act(p, pro, ACT_CTA_SYNC, WHO_THREADS, NULL,
            p->tmem_columns ? "mbarriers and tensor memory are ready" : "the mbarriers are ready");
        if (p->tmem_columns) act(p, epi, ACT_CTA_SYNC, WHO_THREADS, NULL, "nobody uses tensor memory any more");
    }
    if (p->tmem_columns) {
        act(p, pro, ACT_TC_AFTER, WHO_THREADS, NULL, NULL);
        act(p, epi, ACT_TC_AFTER, WHO_THREADS, NULL, NULL);
        tensor_frame(p, epi, ACT_TMEM_FREE, NULL);
    }
    p->prologue = pro->first;
    p->epilogue = epi->first;
}

/* v = 2: does nobody but the leader do anything here, beside moving cursors? */
static bool leaders_work(const weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            if (!leaders_work(n->first) || !leaders_work(n->skip)) return false;
        } else if (!n->act->leader && n->act->kind != ACT_ADVANCE && n->act->kind != ACT_ZERO && n->act->kind != ACT_REGS) {
            return false;
        }
    }
    return true;
}

void weiri_lower(weiri_plan *p, const weiri_proto *protos) {
    const weir_kernel *k = p->k;
    weiri_action *wg_regs[8] = { NULL };
    p->touches = WEIRI_NEW_N(&p->a, bool, k->tensors.n + 1);
    p->wide = WEIRI_NEW_N(&p->a, bool, k->tensors.n + 1);
    for (int i = 0; i < k->tasks.n; i++) {
        lowering l = { .p = p, .k = k, .protos = protos, .task = i, .pt = &p->tasks[i], .looks_back = weiri_looks_back(p->tasks[i].task) };
        l.held_in = WEIRI_NEW_N(&p->a, uint64_t, k->nops + 2);
        l.loose_in = WEIRI_NEW_N(&p->a, uint64_t, k->nops + 2);
        l.turn = WEIRI_NEW_N(&p->a, turn, k->nnodes + 2);
        find_held(&l);
        weiri_pnode *root = list_node(p);
        int w = l.pt->task->first_warp / 4;
        if (p->reg_split[w]) { /* one instruction for all warps of a warpgroup, so one action for its tasks */
            if (!wg_regs[w]) {
                wg_regs[w] = act(p, root, ACT_REGS, WHO_THREADS, NULL, NULL);
                wg_regs[w]->n = p->reg_split[w];
            } else {
                append(p, root, PN_ACTION)->act = wg_regs[w];
            }
        }
        check_late_tiles(&l);
        check_warp_lanes(&l);
        lower_nodes(&l, l.pt->task->root->first, root);
        if (l.stores) {
            weiri_action *a =
                act(p, root, ACT_BULK_WAIT, who_here(&l, l.pt->wg_actor ? WHO_WG : WHO_ONE), NULL, "the stores are done");
            a->n = 0;
        }
        if (l.copies) act(p, root, ACT_CP_WAIT, WHO_THREADS, NULL, "the copies are done");
        qset s = { .n = 1 };
        flow(&l, root->first, &s, mma_step);
        s = (qset){ .n = 1 };
        flow(&l, root->first, &s, bulk_step);
        elide(root, &root->first);
        settle_waits(root->first);
        uint8_t *state = WEIRI_NEW_N(&p->a, uint8_t, k->res.n + 1);
        memset(state, 1, (size_t)k->res.n);
        fresh_flow(&l, root->first, state, k->res.n);
        for (int r = 0; r < p->regs.n; r++)
            if (p->regs.v[r].task == i) zero_once(&l, root->first, &p->regs.v[r]);
        l.pt->root = root->first;
        l.pt->leader = weiri_tc_pair(k) && leaders_work(root->first);
    }
    frame(p);
}
