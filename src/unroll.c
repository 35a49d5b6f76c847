/* Straight lines from a plan: trees walked with real sizes, cursors turned into stages and laps, warps into the threads among them
 * that do different things. */
#include "deal.h"
#include "plan_tc.h"
#include "unroll.h"

#include <string.h>

/* Threads of an actor that the plan can tell apart: the elected one; others of its warp; in a warpgroup also the elected lane and
 * the others of another warp, which stands for the remaining three. */
typedef enum role { ROLE_ALL, ROLE_ONE, ROLE_OTHER, ROLE_LANE, ROLE_OTHER_WARP } role;

enum {
    MEET_CTA = 64, /* ids of named barriers are below, broken plans' too */
    MEETS = MEET_CTA + 1, MAX_MOVES = 4000, MAX_KEYS = 16,
    MAX_THREADS = 31 /* sets of them are positive numbers in the model */
};

typedef struct key_state {
    const char *name; uint32_t value;     /* one of them */
    const weiri_node *scope;              /* loop whose iterations bring a new truth, or NULL */
    bool tile;                            /* ... a new truth each tile */
    int truth;                            /* -1: not asked in this scope */
    int fired;                            /* how often it was asked, in this tile */
} key_state;

typedef struct firing { const char *name; uint32_t value; int tile, nth; } firing;

typedef struct issued { int touch, before; } issued; /* commits of its thread before it */

typedef struct walker {
    weiri_unrolled *u;
    const weiri_plan *p;
    const weir_kernel *k;
    const weiri_sizes *sizes;
    int ncells;                           /* of a CTA */
    int *meet_of;                         /* [cta * MEETS + id], then the cluster's, then [2 * actor + second warp]; -1: not yet */
    int nmeets;
    WEIRI_LIST(firing) firings;
    /* the actor being walked */
    int task, cta, index, actor;          /* index inside the task */
    int first, n;                         /* its threads */
    role role[4];
    int *open, *close;                    /* by plan cursor */
    int64_t *at; int *iter, *trips;       /* by node: value of the index, iteration, trip count */
    const weiri_node *around[WEIRI_MAX_NEST]; int depth;
    int tile; int64_t coord[WEIR_MAX_RANK];
    bool had; int64_t before[WEIR_MAX_RANK];   /* whether the actor had a tile before, and that */
    key_state key[MAX_KEYS]; int nkeys;
    int *commits;                         /* by thread of the actor: commit groups so far, mma, bulk, cp */
    WEIRI_LIST(issued) group[4];          /* by thread: its asynchronous touches that a wait of its own, or an arrival, ends */
} walker;

static void give_up(walker *w, const char *why) {
    if (!w->u->why) w->u->why = why;
}

/* ---- CTAs --------------------------------------------------------------------------------------------------------------- */

typedef struct place { int m, n, k; } place; /* with v = 2 nothing is unrolled */

static place place_of(const walker *w, int cta) {
    weir_cluster c = w->k->cluster;
    return (place){ cta % c.m, cta / c.m % c.n, cta / (c.m * c.n) };
}

/* CTAs an action is for: those that differ from the own one along its axes only; with `cross`, along one of them. Own one first. */
static int targets(const walker *w, const weiri_action *a, int *out) {
    int n = 0;
    if (a->reach) {
        for (int c = 0; c < w->u->ctas; c++)
            if (a->reach[w->cta] & 1u << c) out[n++] = c;
        return n;
    }
    out[n++] = a->at0 ? 0 : w->cta;
    place me = place_of(w, w->cta);
    for (int c = 0; a->targets && c < w->u->ctas; c++) {
        place o = place_of(w, c);
        int axes = (o.m != me.m) + 2 * (o.n != me.n) + 4 * (o.k != me.k);
        if (c != w->cta && (axes & a->targets) == axes && !(a->cross && axes == 3)) out[n++] = c;
    }
    return n;
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

static bool eval(const walker *w, uint32_t id, int64_t *out) {
    return weiri_value_eval_at(w->k, id, w->sizes->dims, w->coord, w->had ? w->before : NULL, w->tile, w->at, w->cta, out);
}

static int64_t extent(const walker *w, const weir_res *q, int axis, int *split) {
    weir_cluster c = w->k->cluster;
    int64_t x;
    *split = axis == q->axis_m ? c.m : axis == q->axis_n ? c.n : 1;
    if (!eval(w, q->extent[axis].id, &x)) return -1;
    return (x + *split - 1) / *split;
}

static int tiles_of(const walker *w, const weir_res *q) {
    int64_t all = 1;
    int split;
    if (q->qkind == WEIR_QUEUE_GRID) return 1;
    for (int i = 0; i < q->qrank; i++) {
        int64_t x = extent(w, q, i, &split);
        all *= x < 0 ? w->sizes->tiles : x; /* an extent that sizes do not tell: as many as are wanted */
        if (all > w->sizes->tiles) all = w->sizes->tiles;
    }
    return (int)all;
}

static void set_tile(walker *w, const weir_res *q, int tile) {
    place me = place_of(w, w->cta);
    int64_t rest = tile;
    w->tile = tile;
    for (int i = q->qrank - 1; i >= 0; i--) {
        int split;
        int64_t x = extent(w, q, i, &split), at = i > 0 && x > 0 ? rest % x : rest;
        rest = x > 0 ? rest / x : 0;
        w->coord[i] = at * split + (i == q->axis_m ? me.m : i == q->axis_n ? me.n : 0);
    }
}

/* ---- conditions --------------------------------------------------------------------------------------------------------- */

static bool same_condition(uint32_t value, const char *name, uint32_t other, const char *other_name) {
    return name && other_name ? !strcmp(name, other_name) : !name && !other_name && value == other;
}

static int bit_of_firing(walker *w, const key_state *s) {
    for (int i = 0; i < w->firings.n; i++) {
        const firing *f = &w->firings.v[i];
        if (same_condition(s->value, s->name, f->value, f->name) && f->tile == w->tile && f->nth == s->fired) return i;
    }
    firing f = { s->name, s->value, w->tile, s->fired };
    WEIRI_PUSH(&w->u->a, w->firings, f);
    w->u->firings = w->firings.n;
    if (w->firings.n > 60) give_up(w, "conditions are asked too often");
    return w->firings.n - 1;
}

/* The truth of a condition: by the sizes, else a bit that all tasks read alike. */
static bool truth(walker *w, uint32_t value, const char *name) {
    int64_t x;
    if (!name && eval(w, value, &x)) return x != 0;
    key_state *s = NULL;
    const weiri_node *scope = weiri_val(w->k, value)->scope;
    if (name) scope = w->depth ? w->around[w->depth - 1] : NULL;
    while (scope && scope->kind != NODE_LOOP) scope = scope->parent;
    for (int i = 0; i < w->nkeys && !s; i++)
        if (w->key[i].scope == scope && same_condition(value, name, w->key[i].value, w->key[i].name)) s = &w->key[i];
    if (!s && w->nkeys == MAX_KEYS) return give_up(w, "there are too many conditions"), false;
    if (!s) {
        s = &w->key[w->nkeys++];
        *s = (key_state){ name, value, scope, w->tile >= 0, -1, 0 };
    }
    if (s->truth < 0) {
        s->truth = w->sizes->truths >> bit_of_firing(w, s) & 1;
        s->fired++;
    }
    return s->truth;
}

/* An iteration of a loop begins; with NULL, a tile. */
static void new_truths(walker *w, const weiri_node *loop) {
    for (int i = 0; i < w->nkeys; i++) {
        key_state *s = &w->key[i];
        if (loop ? s->scope == loop : s->tile) s->truth = -1;
        if (!loop) s->fired = 0;
    }
}

/* ---- moves -------------------------------------------------------------------------------------------------------------- */

static weiri_thread *thread(walker *w, int t) { return &w->u->threads.v[w->first + t]; }

static weiri_move *move(walker *w, int t, weiri_move_kind kind, const weiri_action *a) {
    weiri_move m = { .kind = kind, .act = a, .cell = -1, .item = -1, .meet = -1, .touch = w->u->touches.n };
    weiri_thread *x = thread(w, t);
    if (++w->u->nmoves > MAX_MOVES) give_up(w, "there are too many steps");
    WEIRI_PUSH(&w->u->a, x->moves, m);
    return &x->moves.v[x->moves.n - 1];
}

static int lap(int use, int stages) { return use >= 0 ? use / stages : -((stages - 1 - use) / stages); }
static int stage_of(int use, int stages) { return use - lap(use, stages) * stages; }

static int use_of(const walker *w, int cur, weiri_stage_ref ref, int back) {
    if (cur < 0) return 0;
    return ref == STAGE_CLOSE  ? w->close[cur]
           : ref == STAGE_HELD ? w->open[cur] - (1 + back) * w->p->cursors.v[cur].stride
                               : w->open[cur];
}

static int cell_of(const walker *w, int cta, int bar, int use) {
    int at = cta * w->ncells;
    for (int i = 0; i < bar; i++) at += w->p->bars.v[i].stages;
    return at + stage_of(use, w->p->bars.v[bar].stages);
}

static int meet_at(walker *w, int slot, int cta, int full, const char *name) {
    if (w->meet_of[slot] < 0) {
        weiri_meet m = { cta, full, name };
        w->meet_of[slot] = w->u->meets.n;
        WEIRI_PUSH(&w->u->a, w->u->meets, m);
    }
    return w->meet_of[slot];
}

static int all_threads(const walker *w) {
    int n = 0;
    for (int i = 0; i < w->u->threads.n; i++) n += w->u->threads.v[i].weight;
    return n;
}

static void meet(walker *w, int t, const weiri_action *a, int meet) {
    move(w, t, MOVE_MEET, a)->meet = meet;
    move(w, t, MOVE_LEAVE, a)->meet = meet;
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */

/* The warpgroups of the task each have their own share of this region's stages. */
static bool shared_out(const weiri_plan *p, int region) {
    for (int i = 0; i < p->pipes.n; i++)
        if (p->pipes.v[i].region == region && p->pipes.v[i].own) return true;
    return false;
}

static int place_for(walker *w, int t, int cta, const weiri_effect *e, int use) {
    const weiri_plan *p = w->p;
    weiri_upl l = { .cta = cta, .region = -1, .reg = -1, .thread = -1, .share = -1 };
    if (e->reg >= 0) {
        l.reg = e->reg;
        l.thread = w->first + t;
        l.name = w->k->res.v[e->reg]->name;
    } else {
        const weiri_region *g = &p->smem.v[e->region];
        int64_t whole = g->res->rank > 0 ? weiri_tile_elems(g->res) * (int64_t)weir_dtype_size(g->dtype) : g->stage_bytes;
        l.stage = e->cur >= 0 ? stage_of(use, p->cursors.v[e->cur].stages) : 0;
        l.lo = g->offset + l.stage * g->stage_bytes;
        l.hi = l.lo + (e->hi > 0 ? e->hi : whole);
        l.lo += e->lo;
        l.share = shared_out(p, e->region) ? w->actor : -1;
        l.name = g->name;
        l.region = weiri_data_region(p, e->region);
    }
    for (int i = 0; i < w->u->places.n; i++) {
        const weiri_upl *x = &w->u->places.v[i];
        if (x->cta == l.cta && x->reg == l.reg && x->thread == l.thread && x->share == l.share && x->region == l.region &&
            x->lo == l.lo && x->hi == l.hi)
            return i;
    }
    WEIRI_PUSH(&w->u->a, w->u->places, l);
    return w->u->places.n - 1;
}

static weiri_touch_kind touch_kind(const weiri_action *a, const weiri_effect *e) {
    switch (a->kind) {
    case ACT_MMA: return TOUCH_MMA;
    case ACT_LOAD_BULK:
    case ACT_PUSH_BULK: return TOUCH_LOAD; /* over when what it sends has landed */
    case ACT_STORE_BULK: return TOUCH_STORE;
    case ACT_CP_ASYNC: return TOUCH_CP;
    default: return e->write && a->bar >= 0 ? TOUCH_LOAD : TOUCH_PLAIN; /* a body with a barrier brings bytes */
    }
}

/* What the newest move of thread t accesses in that CTA. */
static void touch(walker *w, int t, const weiri_action *a, int cta) {
    weiri_thread *x = thread(w, t);
    weiri_move *m = &x->moves.v[x->moves.n - 1];
    for (int i = 0; i < a->neff; i++) {
        const weiri_effect *e = &a->eff[i];
        bool at_home = a->kind == ACT_PUSH_BULK && !e->write; /* it reads there and writes elsewhere */
        int use = use_of(w, e->cur, e->stage, e->back);
        weiri_touch y = { .thread = w->first + t, .move = x->moves.n - 1, .kind = touch_kind(a, e), .write = e->write,
                          .end = WEIRI_NEVER, .item = -1, .batch = -1, .use = use, .deal = e->deal };
        y.place = place_for(w, t, at_home ? w->cta : cta, e, use);
        y.joins = weiri_joins_itself(a);
        y.late = y.kind == TOUCH_PLAIN && weiri_plain_read(a, e);
        y.overtakes = y.kind == TOUCH_LOAD && e->write && a->op->atom != ATOM_QUEUE_FETCH;
        if (y.kind == TOUCH_MMA) y.batch = x->mma.n - 1;
        if (y.kind == TOUCH_PLAIN) y.end = y.move;
        else y.item = m->item;
        if (y.kind == TOUCH_MMA || y.kind == TOUCH_STORE || y.kind == TOUCH_CP) {
            int kind = y.kind == TOUCH_MMA ? 0 : y.kind == TOUCH_STORE ? 1 : 2;
            issued g = { w->u->touches.n, w->commits[3 * t + kind] };
            WEIRI_PUSH(&w->u->a, w->group[t], g);
        }
        WEIRI_PUSH(&w->u->a, w->u->touches, y);
        m->ntouch++;
    }
}

/* Thread t waits until at most n of its groups are open: what is older ends with that move. */
static void drain(walker *w, int t, const weiri_action *a, weiri_touch_kind kind, int n) {
    weiri_unrolled *u = w->u;
    weiri_thread *x = thread(w, t);
    int which = kind == TOUCH_MMA ? 0 : 1, made = w->commits[3 * t + which], covered = 0;
    bool news = false;
    for (int i = 0; i < w->group[t].n; i++) {
        const issued *g = &w->group[t].v[i];
        weiri_touch *y = &u->touches.v[g->touch];
        if (y->kind != kind || made - g->before <= n) continue;
        if (y->batch + 1 > covered) covered = y->batch + 1;
        if (y->end != WEIRI_NEVER) continue;
        y->end = x->moves.n;
        if (y->batch >= 0) x->mma_end.v[y->batch] = x->moves.n;
        news = true;
    }
    if (news) move(w, t, MOVE_DRAIN, a)->n = covered;
}

/* The copies that thread t issued before arrive by themselves once they are done. */
static void tie_to_item(walker *w, int t, int item) {
    for (int i = 0; i < w->group[t].n; i++) {
        weiri_touch *y = &w->u->touches.v[w->group[t].v[i].touch];
        if (y->kind == TOUCH_CP && y->item < 0) y->item = item;
    }
}

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

static bool on_this_actor(const walker *w, const weiri_action *a) {
    const weiri_ptask *t = &w->p->tasks[w->task];
    if (a->kind == ACT_INIT) return w->task == 0 && w->index == 0;
    if (a->cta0 && w->cta > 0) return false;
    if (a->first) {
        place me = place_of(w, w->cta);
        if ((a->targets & 1 && me.m > 0) || (a->targets & 2 && me.n > 0)) return false;
    }
    return t->solo || a->who != WHO_ONE || w->index == 0 || t->lanes; /* WHO_WG: only where the warpgroup is the actor (V-CNT-13) */
}

static bool on_this_thread(const walker *w, int t, const weiri_action *a) {
    role r = w->role[t];
    if (r == ROLE_ALL) return true;
    if (a->kind == ACT_INIT) return r == ROLE_ONE;
    switch (a->who) {
    case WHO_THREADS: return true;
    case WHO_LANE:
    case WHO_LANE_CTAS: return r == ROLE_ONE || r == ROLE_LANE;
    case WHO_WG_CTAS: return r == ROLE_OTHER; /* thread i of the warpgroup for CTA i: not the elected one but for the first */
    default: return r == ROLE_ONE;
    }
}

/* Threads among those of role t that take part in an arrival. */
static int share(const walker *w, int t, const weiri_action *a) {
    if (!on_this_thread(w, t, a)) return 0;
    return a->who == WHO_THREADS ? w->u->threads.v[w->first + t].weight : w->role[t] == ROLE_LANE ? 3 : 1;
}

/* Of the arrivals that one run of the actor makes, those of thread t; whatever their number, they add up. */
static int arrivals(const walker *w, int t, const weiri_action *a) {
    int sum = 0, before = 0;
    for (int i = 0; i < w->n; i++) sum += share(w, i, a);
    for (int i = 0; i < t; i++) before += share(w, i, a);
    return a->arrivals * (before + share(w, t, a)) / sum - a->arrivals * before / sum;
}

static int new_item(walker *w, int t) {
    weiri_item x = { w->first + t, thread(w, t)->moves.n - 1 };
    WEIRI_PUSH(&w->u->a, w->u->items, x);
    return w->u->items.n - 1;
}

static void act_thread(walker *w, int t, const weiri_action *a) {
    const weiri_plan *p = w->p;
    weiri_unrolled *u = w->u;
    int use = use_of(w, a->cur, a->stage, a->back), to[64], n;
    int stages = a->bar >= 0 ? p->bars.v[a->bar].stages : 1;
    weiri_move *m;
    switch (a->kind) {
    case ACT_WAIT:
        m = move(w, t, MOVE_WAIT, a);
        m->cell = cell_of(w, w->cta, a->bar, use);
        m->lap = lap(use, stages) - p->cursors.v[a->cur].producer;
        return;
    case ACT_ARRIVE:
    case ACT_EXPECT:
        n = targets(w, a, to);
        for (int i = 0; i < n; i++) {
            m = move(w, t, MOVE_ARRIVE, a);
            m->cell = cell_of(w, to[i], a->bar, use);
            m->lap = lap(use, stages);
            m->n = arrivals(w, t, a);
            m->bytes = a->kind == ACT_EXPECT ? a->bytes : 0;
        }
        return;
    case ACT_CP_ARRIVE:
        m = move(w, t, MOVE_LATER, a);
        m->cell = cell_of(w, w->cta, a->bar, use);
        m->lap = lap(use, stages);
        m->n = arrivals(w, t, a);
        m->item = new_item(w, t);
        tie_to_item(w, t, m->item);
        return;
    case ACT_UMMA_COMMIT: give_up(w, "the tensor core hands its stages over"); return;
    case ACT_BODY:
        if (a->bar >= 0) { /* it brings bytes for the stage that it fills: one thread issues them */
            if ((w->index > 0 && !p->tasks[w->task].lanes) || t > 0) return;
        } else {
            move(w, t, MOVE_TOUCH, a);
            touch(w, t, a, w->cta);
            if (!thread(w, t)->moves.v[thread(w, t)->moves.n - 1].ntouch) thread(w, t)->moves.n--;
            return;
        } /* fall through */
    case ACT_LOAD_BULK:
    case ACT_PUSH_BULK:
        n = targets(w, a, to);
        if (a->bar < 0) n = 0, give_up(w, "no barrier counts the bytes of a copy");
        for (int i = 0; i < n; i++) {
            m = move(w, t, MOVE_SEND, a);
            m->cell = cell_of(w, to[i], a->bar, use);
            m->lap = lap(use, stages);
            m->bytes = a->bytes;
            m->item = new_item(w, t);
            touch(w, t, a, to[i]);
        }
        return;
    case ACT_MMA:
        m = move(w, t, MOVE_TOUCH, a);
        WEIRI_PUSH(&u->a, thread(w, t)->mma, thread(w, t)->moves.n - 1);
        WEIRI_PUSH(&u->a, thread(w, t)->mma_end, WEIRI_NEVER);
        touch(w, t, a, w->cta);
        return;
    case ACT_STORE_BULK:
    case ACT_CP_ASYNC:
        move(w, t, MOVE_TOUCH, a);
        touch(w, t, a, w->cta);
        return;
    case ACT_MMA_COMMIT: w->commits[3 * t]++; return;
    case ACT_BULK_COMMIT: w->commits[3 * t + 1]++; return;
    case ACT_MMA_WAIT: drain(w, t, a, TOUCH_MMA, a->n); return;
    case ACT_BULK_WAIT: drain(w, t, a, TOUCH_STORE, a->n); return;
    case ACT_CP_WAIT: return; /* where the task ends: nothing comes behind it */
    case ACT_FENCE_ASYNC: move(w, t, MOVE_FENCE, a); return;
    case ACT_WARP_SYNC: {
        int second = t >= 2, full = 0;
        for (int i = 2 * second; i < w->n && i < 2 * second + 2; i++) full += thread(w, i)->weight;
        int slot = u->ctas * MEETS + 1 + 2 * w->actor + second;
        meet(w, t, a, meet_at(w, slot, w->cta, full, "warp"));
        return;
    }
    case ACT_NAMED_SYNC: {
        int id = a->named == p->tasks[w->task].named_wg ? a->named + w->index : a->named;
        meet(w, t, a, meet_at(w, w->cta * MEETS + (id & (MEET_CTA - 1)), w->cta, a->threads, "named barrier"));
        return;
    }
    case ACT_CTA_SYNC: meet(w, t, a, meet_at(w, w->cta * MEETS + MEET_CTA, w->cta, all_threads(w), "CTA")); return;
    case ACT_CLUSTER_ARRIVE:
    case ACT_CLUSTER_WAIT:
        n = meet_at(w, u->ctas * MEETS, -1, all_threads(w), "cluster");
        move(w, t, a->kind == ACT_CLUSTER_ARRIVE ? MOVE_MEET : MOVE_LEAVE, a)->meet = n;
        return;
    case ACT_INIT: move(w, t, MOVE_INIT, a); return;
    case ACT_GRID_WAIT: move(w, t, MOVE_GRID_WAIT, a); return;
    case ACT_GRID_LAUNCH: move(w, t, MOVE_GRID_LAUNCH, a); return;
    default: return;
    }
}

/* A stage that one task fills and stores has no barriers: is each opened in its turn, by both sides the same, and at the end nothing left? */
static void own_order(walker *w, int cur, bool end) {
    const weiri_cursor *x = &w->p->cursors.v[cur];
    if (w->p->pipes.v[x->pipe].full >= 0 || x->task != w->task) return;
    for (int i = 0; i < w->p->cursors.n; i++) {
        const weiri_cursor *y = &w->p->cursors.v[i];
        if (y->pipe != x->pipe || y->producer == x->producer) continue;
        const int least = x->stages < y->stages ? x->stages : y->stages;
        if (x->stages != y->stages && w->close[cur] > least) w->u->lost = true; /* the one stores another stage than the other has filled */
        if (x->producer) w->u->lost = w->u->lost || (end ? w->close[cur] > w->open[i] : w->open[cur] - w->close[i] > x->stages);
        else w->u->stale = w->u->stale || w->open[cur] > w->close[i];
    }
}

static void act(walker *w, const weiri_action *a) {
    if (a->kind == ACT_ADVANCE) {
        *(a->stage == STAGE_CLOSE ? &w->close[a->cur] : &w->open[a->cur]) += w->p->cursors.v[a->cur].stride;
        if (a->stage != STAGE_CLOSE) own_order(w, a->cur, false);
        return;
    }
    if (a->bar >= 0 && w->p->bars.v[a->bar].stages != w->p->cursors.v[a->cur].stages)
        give_up(w, "a cursor and its barrier have different depths");
    if (!on_this_actor(w, a)) return;
    for (int t = 0; t < w->n && !w->u->why; t++)
        if (on_this_thread(w, t, a)) act_thread(w, t, a);
}

/* ---- trees -------------------------------------------------------------------------------------------------------------- */

static void walk(walker *w, const weiri_pnode *n);

static void walk_loop(walker *w, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    int64_t start, stop, step;
    if (!eval(w, s->start, &start) || !eval(w, s->stop, &stop) || !eval(w, s->step, &step) || !step) {
        give_up(w, "the length of a loop does not follow from the sizes");
        return;
    }
    const bool warps = n->deal && n->lane < 0; /* dealt to the task's warps in turn */
    int64_t trips = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    if ((step > 0 ? stop <= start : stop >= start)) trips = 0;
    w->around[w->depth++] = s;
    for (int64_t i = 0; i < trips && !w->u->why; i++) {
        w->at[s->id] = start + i * step;
        w->iter[s->id] = (int)i;
        w->trips[s->id] = (int)trips;
        new_truths(w, s);
        if (!warps || i % n->deal == w->index) walk(w, n->first);
    }
    w->depth--;
}

static void walk_block(walker *w, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    switch (n->kind) {
    case PN_ACTION: act(w, n->act); return;
    case PN_LOOP: walk_loop(w, n); return;
    case PN_TILES:
        w->had = false;
        for (int i = 0, all = tiles_of(w, s->queue); i < all && !w->u->why; i++) {
            set_tile(w, s->queue, i);
            new_truths(w, NULL);
            walk(w, i % s->lanes == s->lane ? n->first : n->skip);
            if (i % s->lanes != s->lane) continue;
            w->had = true;
            memcpy(w->before, w->coord, sizeof w->before);
        }
        w->tile = -1;
        return;
    case PN_SKIPPABLE: {
        const weiri_node *t = s;
        while (t->kind != NODE_TILES) t = t->parent;
        if (!truth(w, t->skip, NULL)) walk(w, n->first);
        return;
    }
    case PN_GUARD: {
        bool run = false;
        int i = s->loop ? w->iter[s->loop->id] : 0, period = s->period > 0 ? s->period : 1;
        switch (s->guard) {
        case WEIR_GUARD_FIRST: run = i == 0; break;
        case WEIR_GUARD_LAST: run = i == w->trips[s->loop->id] - 1; break;
        case WEIR_GUARD_EVERY: run = i >= s->phase && (i - s->phase) % period == 0; break;
        case WEIR_GUARD_PREVIOUS_TILE:
        case WEIR_GUARD_LAST_TILE: run = w->had; break;
        default: run = truth(w, s->of, s->key) == (s->guard == WEIR_GUARD_TRUE); break;
        }
        if (run) walk(w, n->first);
        return;
    }
    default: /* PN_HELD */
        for (int turn = 0; w->open[n->cur] - w->close[n->cur] > n->keep * w->p->cursors.v[n->cur].stride && !(n->once && turn) &&
                           !w->u->why;
             turn++)
            walk(w, n->first);
        return;
    }
}

static void walk(walker *w, const weiri_pnode *n) {
    for (; n && !w->u->why; n = n->next) walk_block(w, n);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

typedef struct tells { bool elected, lanes, warps; } tells;

/* Which threads does the tree tell apart? */
static void look(const weiri_pnode *n, tells *x) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            look(n->first, x);
            continue;
        }
        const weiri_action *a = n->act;
        if (a->kind == ACT_INIT || a->kind == ACT_ADVANCE) continue; /* whoever does it, all are joined next */
        x->elected = x->elected || a->who != WHO_THREADS || a->kind == ACT_WARP_SYNC;
        x->elected = x->elected || a->kind == ACT_MMA; /* it reads what other threads have written */
        x->warps = x->warps || a->kind == ACT_WARP_SYNC;
        x->lanes = x->lanes || a->who == WHO_LANE || a->who == WHO_LANE_CTAS;
    }
}

static bool regions_meet(const weiri_region *x, const weiri_region *y) {
    return x->offset < y->offset + y->size && y->offset < x->offset + x->size;
}

/* Do threads of the task come to elements of others of them? */
static bool deals_anew(const weiri_plan *p, const weiri_pnode *n, const weiri_pnode *root, const weiri_effect *with) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            if (deals_anew(p, n->first, root, with)) return true;
            continue;
        }
        for (int i = 0; i < n->act->neff; i++) {
            const weiri_effect *e = &n->act->eff[i];
            if (e->region < 0) continue;
            if (!with) {
                if (deals_anew(p, root, root, e)) return true;
                continue;
            }
            const weiri_owners who = weiri_deal_owners(p, e->deal, with->deal, 1);
            if ((e->write || with->write) && (who == OWNERS_OTHER || (who == OWNERS_OPEN && !(e->write && with->write))) &&
                regions_meet(&p->smem.v[e->region], &p->smem.v[with->region]))
                return true;
        }
    }
    return false;
}

static bool runs_on(const walker *w, int task, int cta) {
    const weiri_task *t = w->p->tasks[task].task;
    if (!t->on_cta) return true;
    place c = place_of(w, cta);
    const int at[4] = { 0, c.m, c.n, c.k };
    for (int i = 0; i < 4; i++)
        if (t->cta[i] >= 0 && t->cta[i] != at[i]) return false;
    return true;
}

/* The roles of an actor's threads and how many hardware threads each stands for. */
static int roles_of(const walker *w, int task, role *r, int *weight) {
    const weiri_ptask *t = &w->p->tasks[task];
    tells x = { false, false, false };
    look(w->p->prologue, &x);
    look(t->root, &x);
    look(w->p->epilogue, &x);
    int all = t->wg_actor ? 128 : 32;
    x.elected = x.elected || deals_anew(w->p, t->root, t->root, NULL);
    if (t->solo || !x.elected) return r[0] = ROLE_ALL, weight[0] = all, 1;
    r[0] = ROLE_ONE, weight[0] = 1;
    r[1] = ROLE_OTHER, weight[1] = all - 1;
    if (!t->wg_actor || !(x.lanes || x.warps)) return 2;
    weight[1] = 31;
    r[2] = ROLE_LANE, weight[2] = 3;
    r[3] = ROLE_OTHER_WARP, weight[3] = 93;
    return 4;
}

/* -> how many actors there are */
static int add_threads(walker *w) {
    static const char *const what[] = { "", " (elected)", "", " (elected, other warps)", " (other warps)" }; /* ORDER role */
    weiri_unrolled *u = w->u;
    const weiri_plan *p = w->p;
    int actor = 0;
    for (int cta = 0; cta < u->ctas; cta++)
        for (int task = 0; task < p->ntasks; task++)
            for (int i = 0; i < p->tasks[task].actors; i++, actor++) {
                role r[4];
                int weight[4], n = roles_of(w, task, r, weight), first = u->threads.n;
                const weiri_ptask *pt = &p->tasks[task];
                const char *name = pt->task->name;
                if (pt->actors > 1) name = weiri_arena_fmt(&u->a, "%s %s %d", name, pt->wg_actor ? "warpgroup" : "warp", i);
                if (u->ctas > 1) name = weiri_arena_fmt(&u->a, "%s of CTA %d", name, cta);
                for (int q = 0; q < n; q++) {
                    weiri_thread t = { .task = task, .cta = cta, .actor = actor, .index = i, .first = first, .of = n,
                                       .weight = weight[q] };
                    t.name = weiri_arena_fmt(&u->a, "%s%s", name, what[r[q]]);
                    WEIRI_PUSH(&u->a, u->threads, t);
                }
            }
    return actor;
}

static void walk_actors(walker *w) {
    weiri_unrolled *u = w->u;
    const weiri_plan *p = w->p;
    for (int i = 0; i < u->threads.n && !u->why; i += u->threads.v[i].of) {
        const weiri_thread *t = &u->threads.v[i];
        w->task = t->task, w->cta = t->cta, w->index = t->index, w->actor = t->actor, w->first = i, w->n = t->of;
        int weight[4];
        roles_of(w, t->task, w->role, weight);
        memset(w->open, 0, sizeof *w->open * (size_t)p->cursors.n);
        memset(w->close, 0, sizeof *w->close * (size_t)p->cursors.n);
        for (int q = 0; q < p->cursors.n; q++)
            if (p->cursors.v[q].stride > 1) w->open[q] = w->close[q] = p->cursors.v[q].lane < 0 ? w->index : p->cursors.v[q].lane;
        memset(w->commits, 0, sizeof *w->commits * 12);
        for (int q = 0; q < 4; q++) w->group[q].n = 0;
        w->nkeys = w->depth = 0;
        w->tile = -1;
        walk(w, p->prologue);
        if (runs_on(w, t->task, t->cta)) walk(w, p->tasks[t->task].root);
        for (int q = 0; q < p->cursors.n; q++) own_order(w, q, true);
        walk(w, p->epilogue);
    }
}

weiri_unrolled *weiri_unroll(const weiri_plan *p, const weiri_sizes *sizes) {
    weiri_unrolled *u = weiri_alloc(p->k->ctx, sizeof *u);
    if (!u) return NULL;
    weiri_arena_init(&u->a, p->k->ctx);
    u->p = p;
    u->ctas = p->cluster > 0 ? p->cluster : 1;
    walker w = { .u = u, .p = p, .k = p->k, .sizes = sizes };
    for (int i = 0; i < p->bars.n; i++) w.ncells += p->bars.v[i].stages;
    for (int c = 0; c < u->ctas; c++)
        for (int i = 0; i < p->bars.n; i++)
            for (int s = 0; s < p->bars.v[i].stages; s++) {
                weiri_cell x = { c, i, s, weiri_bar_count(&p->bars.v[i], c) };
                WEIRI_PUSH(&u->a, u->cells, x);
            }
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].tmem) give_up(&w, "it uses tensor memory");
    if (weiri_tc_pair(p->k)) give_up(&w, "two CTAs share its mmas");
    int nodes = p->k->nnodes + 2;
    w.nmeets = u->ctas * MEETS + 1 + 2 * add_threads(&w);
    if (u->threads.n > MAX_THREADS) give_up(&w, "there are too many threads");
    w.meet_of = WEIRI_NEW_N(&u->a, int, w.nmeets);
    for (int i = 0; i < w.nmeets; i++) w.meet_of[i] = -1;
    w.open = WEIRI_NEW_N(&u->a, int, p->cursors.n + 1);
    w.close = WEIRI_NEW_N(&u->a, int, p->cursors.n + 1);
    w.at = WEIRI_NEW_N(&u->a, int64_t, nodes);
    w.iter = WEIRI_NEW_N(&u->a, int, nodes);
    w.trips = WEIRI_NEW_N(&u->a, int, nodes);
    w.commits = WEIRI_NEW_N(&u->a, int, 12);
    walk_actors(&w);
    if (u->a.oom) {
        weiri_unrolled_free(u);
        return NULL;
    }
    return u;
}

void weiri_unrolled_free(weiri_unrolled *u) {
    if (!u) return;
    weir_ctx *ctx = u->a.ctx;
    weiri_arena_free(&u->a);
    weiri_free(ctx, u, sizeof *u);
}

/* ---- clashes ------------------------------------------------------------------------------------------------------------ */

bool weiri_places_meet(const weiri_upl *x, const weiri_upl *y) {
    if (x->reg >= 0 || y->reg >= 0) return x->reg == y->reg && x->thread == y->thread;
    if (x->share >= 0 && y->share >= 0 && x->share != y->share && x->region == y->region) return false;
    return x->cta == y->cta && x->lo < y->hi && y->lo < x->hi;
}

bool weiri_touches_clash(const weiri_unrolled *u, const weiri_touch *x, const weiri_touch *y) {
    const weiri_thread *a = &u->threads.v[x->thread], *b = &u->threads.v[y->thread];
    if (x == y || (!x->write && !y->write) || !weiri_places_meet(&u->places.v[x->place], &u->places.v[y->place])) return false;
    bool plain = (x->kind == TOUCH_PLAIN || x->kind == TOUCH_CP) && (y->kind == TOUCH_PLAIN || y->kind == TOUCH_CP);
    bool task = a->task == b->task && a->cta == b->cta, same = u->places.v[x->place].region == u->places.v[y->place].region;
    /* behind whatever its thread does next; what it does before is over by then */
    bool lands = x->kind == TOUCH_CP || y->kind == TOUCH_CP;
    if (a->actor == b->actor && x->kind == TOUCH_MMA && y->kind == TOUCH_MMA) return false; /* in order */
    if (x->kind == TOUCH_LOAD && y->kind == TOUCH_LOAD)
        return !(same && a->task == b->task && a->cta != b->cta && x->use == y->use); /* slices */
    if (!plain || !task) return true;
    if (a == b) return lands; /* in order */
    const weiri_owners who = weiri_deal_owners(u->p, x->deal, y->deal, a->actor == b->actor ? 1 : 2);
    const bool fill = x->write && y->write; /* bodies fill a stage together */
    if (who == OWNERS_SAME || (a->actor == b->actor && who == OWNERS_OPEN && fill)) return false;
    if (!lands && (x->joins || y->joins)) return false;
    return !(who == OWNERS_OPEN && same && fill && x->use == y->use); /* its share each, says the author */
}

bool weiri_place_watched(const weiri_unrolled *u, int place) {
    const weiri_upl *l = &u->places.v[place];
    bool plain = false, async = false;
    for (int i = 0; i < u->touches.n; i++) {
        const weiri_touch *t = &u->touches.v[i];
        bool thread = t->kind == TOUCH_PLAIN || t->kind == TOUCH_CP;
        plain = plain || (t->place == place && t->write && thread);
        async = async || (!thread && weiri_places_meet(l, &u->places.v[t->place]));
    }
    return plain && async && l->reg < 0;
}

bool weiri_place_refilled(const weiri_unrolled *u, int place) {
    bool read = false, filled = false;
    for (int i = 0; i < u->touches.n; i++) {
        const weiri_touch *t = &u->touches.v[i];
        read = read || (t->place == place && t->late);
        filled = filled || (t->overtakes && weiri_places_meet(&u->places.v[place], &u->places.v[t->place]));
    }
    return read && filled;
}
