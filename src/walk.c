#include "walk.h"

#include <string.h>

#include "prove.h" /* trip counts in one normal form, so that equal bounds get equal lengths */

enum { LENGTH = 2, MAX_STEPS = 1 << 20, MAX_TILES = 12 };

const char *const weiri_use_names[USES] = { "acquire", "commit", "wait", "release" };

/* ---- ops ----------------------------------------------------------------------------------------------------------------- */

weiri_use weiri_use_of(const weiri_op *op) {
    if (op->atom != ATOM_NONE || op->res->kind == WEIR_RES_QUEUE) return USE_NONE; /* work queues are exempt */
    switch (op->stage) {
    case STAGE_PROD_ACQUIRE: return USE_ACQUIRE;
    case STAGE_PROD_COMMIT: return USE_COMMIT;
    case STAGE_CONS_WAIT: return USE_WAIT;
    case STAGE_CONS_RELEASE: return USE_RELEASE;
    default: return USE_NONE;
    }
}

/* The bare resources whose barriers an op touches: a group's move is one on every member. */
static int members_of(const weir_res *r, weir_res *const **list, weir_res **one) {
    if (r->kind == WEIR_RES_GROUP) {
        *list = r->members;
        return r->nmembers;
    }
    *list = one;
    return 1;
}

static int stages_of(const weir_res *r) { return r->pipe.given.stages > 0 ? r->pipe.given.stages : 1; }

weiri_line *weiri_walk_line(const weiri_walk *s, int task, const weir_res *r, weiri_use u) {
    return &s->lines[((size_t)task * (size_t)s->k->res.n + (size_t)r->index) * USES + (size_t)u];
}

static int *count_of(const weiri_walk *s, const weir_res *r, weiri_use u) {
    return &s->count[(size_t)r->index * USES + (size_t)u];
}

const weiri_node *weiri_loop_around(const weiri_node *n) {
    for (n = n->parent; n; n = n->parent)
        if (n->kind == NODE_LOOP) return n;
    return NULL;
}

/* ---- loops and conditions ------------------------------------------------------------------------------------------------ */

/* Units for each class of trip counts that no constant gives: as few as let every loop of the class run LENGTH times. */
static void choose_lengths(weiri_walk *s) {
    const weir_kernel *k = s->k;
    s->forms = weiri_forms_new(k, &s->a, false);
    for (int i = 0; i < k->tasks.n; i++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[i]->root, n));)
            if (n->kind == NODE_LOOP) weiri_forms_loop(s->forms, n, -1);
    weiri_forms_settle(s->forms);
    int classes = weiri_forms_class_count(s->forms);
    s->units = WEIRI_NEW_N(&s->a, int, classes + 1);
    for (int i = 0; i < classes; i++) s->units[i] = LENGTH;
    for (int i = 0; i < k->tasks.n; i++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[i]->root, n));) {
            if (n->kind != NODE_LOOP) continue;
            weiri_trips t = weiri_forms_trips(s->forms, weiri_forms_loop(s->forms, n, -1), false);
            for (int p = 0; p < t.nparts; p++)
                if (s->units[t.part[p].tape] < t.part[p].skip + LENGTH) s->units[t.part[p].tape] = t.part[p].skip + LENGTH;
            if (!t.fixed) WEIRI_PUSH(&s->a, s->open_loops, n);
        }
    for (int i = 0; i < classes; i++) {
        int least, most;
        bool steady, per_cta;
        const weiri_node *node;
        weiri_forms_class(s->forms, i, &least, &most, &steady, &per_cta, &node);
        if (s->units[i] < least) s->units[i] = least;
        if (most >= 0 && s->units[i] > most) s->units[i] = most;
    }
}

static int64_t trips_of(const weiri_walk *s, const weiri_node *loop) {
    weiri_trips t = weiri_forms_trips(s->forms, weiri_forms_loop(s->forms, loop, -1), false);
    int64_t n = t.base;
    for (int i = 0; i < t.nparts; i++) {
        int beyond = s->units[t.part[i].tape] - t.part[i].skip;
        if (beyond > 0) n += (int64_t)t.part[i].rep * beyond;
    }
    return n;
}

/* The one loop whose index the value names; NULL: none. False: several, or a value too large to look through. */
static bool one_index(const weir_kernel *k, uint32_t id, const weiri_node **loop, int *budget) {
    const weiri_value *v = weiri_val(k, id);
    if (--*budget < 0) return false;
    if (v->op == WEIR_OP_INDEX) {
        if (*loop && *loop != v->loop) return false;
        *loop = v->loop;
    }
    for (int i = 0; i < v->nargs; i++)
        if (!one_index(k, v->arg[i], loop, budget)) return false;
    return true;
}

/* Truth of a condition in this iteration. What only the launch can tell is taken as true. */
static bool holds(weiri_walk *s, uint32_t id) {
    const weir_kernel *k = s->k;
    const weiri_value *v = weiri_val(k, id);
    enum { LARGE = 4096 }; /* operations: of more, parts are shared often */
    if (v->text <= LARGE && v->op == WEIR_OP_NOT) return !holds(s, v->arg[0]);
    if (v->text <= LARGE && (v->op == WEIR_OP_AND || v->op == WEIR_OP_OR)) {
        bool a = holds(s, v->arg[0]), b = holds(s, v->arg[1]);
        return v->op == WEIR_OP_AND ? a && b : a || b;
    }
    const weiri_node *loop = NULL;
    int64_t start = 0, by = 1, x;
    bool plain = one_index(k, id, &loop, &(int){ 1000 });
    if (plain && loop) plain = weiri_value_const(k, loop->start, &start) && weiri_value_const(k, loop->step, &by);
    if (plain && weiri_value_eval(k, id, NULL, NULL, loop ? start + by * s->iter[loop->id] : 0, &x)) return x != 0;
    for (int i = 0; i < s->assumed.n; i++)
        if (s->assumed.v[i] == id) return true;
    WEIRI_PUSH(&s->a, s->assumed, id);
    return true;
}

static bool guard_opens(weiri_walk *s, const weiri_node *n) {
    int i = n->loop ? s->iter[n->loop->id] : 0;
    switch (n->guard) {
    case WEIR_GUARD_FIRST: return i == 0;
    case WEIR_GUARD_LAST: return n->loop && i == s->trips[n->loop->id] - 1;
    case WEIR_GUARD_EVERY: return i >= n->phase && (i - n->phase) % n->period == 0;
    case WEIR_GUARD_TRUE: return !n->of || holds(s, n->of);
    case WEIR_GUARD_PREVIOUS_TILE:
    case WEIR_GUARD_LAST_TILE: return s->had;
    default: return n->of && !holds(s, n->of); /* WEIR_GUARD_FALSE */
    }
}

/* ---- flattening ---------------------------------------------------------------------------------------------------------- */

static bool does(const weiri_task *t, const weir_res *r, bool producer) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_OP && n->op->res == r && weiri_use_of(n->op) != USE_NONE &&
            (weiri_use_of(n->op) <= USE_COMMIT) == producer)
            return true;
    return false;
}

/* Do tasks of several lanes of the work queue share this side of r? Their cursors then skip each other's stages. */
static bool side_is_dealt(const weiri_walk *s, const weir_res *r, bool producer) {
    int first = -1;
    for (int i = 0; i < s->k->tasks.n; i++) {
        const weiri_node *tiles = s->task[i].tiles;
        if (!tiles || tiles->lanes < 2 || !does(s->k->tasks.v[i], r, producer)) continue;
        if (first >= 0 && tiles->lane != first) return true;
        first = tiles->lane;
    }
    return false;
}

/* Interleaved by the loop: a constant start and a step equal to the stride, in a task of another number of warps. */
static bool loop_lane(const weiri_walk *s, const weiri_node *n, const weir_res *bare, weiri_use u, int *stride, int *lane) {
    int64_t start, by;
    int q = bare->pipe.given.interleave[u];
    const weiri_node *loop = weiri_loop_around(n);
    *stride = 1;
    *lane = 0;
    if (q < 2 || !loop || s->k->tasks.v[s->ti]->num_warps == q) return false;
    if (!weiri_value_const(s->k, loop->start, &start) || !weiri_value_const(s->k, loop->step, &by) || by != q) return false;
    *stride = q;
    *lane = (int)(((start % q) + q) % q);
    return true;
}

static void add_step(weiri_walk *s, const weiri_op *op, int index) {
    weiri_step x = { op, index };
    if (++s->nsteps > MAX_STEPS) {
        s->too_long = true;
        return;
    }
    WEIRI_PUSH(&s->a, s->task[s->ti].steps, x);
}

static void flatten_op(weiri_walk *s, const weiri_node *n) {
    const weiri_op *op = n->op;
    weiri_use u = weiri_use_of(op);
    if (u == USE_NONE) {
        if (!s->silent) add_step(s, op, 0);
        return;
    }
    weir_res *one = op->res, *const * list;
    int nlist = members_of(op->res, &list, &one), stride, lane;
    bool dealt = side_is_dealt(s, op->res, u <= USE_COMMIT), strided = loop_lane(s, n, list[0], u, &stride, &lane);
    if (s->silent && !dealt) return;
    int times = 1, *count = count_of(s, op->res, u);
    if (op->keep >= 0) { /* all but the newest `keep` of those held */
        weiri_use opened = u == USE_COMMIT ? USE_ACQUIRE : USE_WAIT;
        int open = *count_of(s, op->res, opened);
        if (!open && list[0] != op->res) open = *count_of(s, list[0], opened); /* opened member by member */
        times = open - *count - op->keep;
    }
    for (; times > 0 && !s->too_long; times--) {
        int index = lane + stride * (*count)++;
        if (s->silent) continue;
        add_step(s, op, index);
        for (int i = 0; i < nlist; i++) {
            weiri_line *l = weiri_walk_line(s, s->ti, list[i], u);
            l->lane = l->lane || dealt || strided;
            WEIRI_PUSH(&s->a, l->index, index);
        }
    }
}

static void flatten(weiri_walk *s, const weiri_node *n) {
    for (; n && !s->too_long; n = n->next) {
        switch (n->kind) {
        case NODE_OP: flatten_op(s, n); break;
        case NODE_LOOP: {
            int64_t trips = trips_of(s, n);
            s->trips[n->id] = trips > MAX_STEPS ? MAX_STEPS : (int)trips;
            for (int i = 0; i < s->trips[n->id] && n->first && !s->too_long; i++) {
                s->iter[n->id] = i;
                s->entered[n->id] = true;
                flatten(s, n->first);
            }
            break;
        }
        case NODE_GUARD:
            if (!guard_opens(s, n)) break;
            s->entered[n->id] = true;
            flatten(s, n->first);
            break;
        case NODE_TILES:
            s->had = false;
            for (int i = 0; i < s->tiles; i++) {
                s->silent = n->lanes > 1 && i % n->lanes != n->lane;
                flatten(s, n->first);
                s->had = s->had || !s->silent;
            }
            s->silent = false;
            break;
        default: flatten(s, n->first); break; /* NODE_SKIPPABLE */
        }
    }
}

static bool looks_back(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_GUARD && n->guard == WEIR_GUARD_PREVIOUS_TILE) return true;
    return false;
}

/* One tile; where tiles are dealt to lanes, one for each lane; twice as many where a task looks back at the tile it had before. */
static int count_tiles(weiri_walk *s) {
    int tiles = 1;
    for (int i = 0; i < s->k->tasks.n; i++) {
        const weiri_node *n = s->task[i].tiles;
        if (n && n->lanes > 1 && tiles % n->lanes && tiles * n->lanes <= MAX_TILES) tiles *= n->lanes;
    }
    for (int i = 0; i < s->k->tasks.n; i++) s->looks_back = s->looks_back || looks_back(s->k->tasks.v[i]);
    return s->looks_back ? 2 * tiles : tiles;
}

/* ---- the walk ------------------------------------------------------------------------------------------------------------ */

static bool has_index(const weiri_line *l, int index) {
    if (!l->index.n) return false;
    if (!l->lane) return true; /* each of them takes part in every phase; one that stops short is missed */
    for (int lo = 0, hi = l->index.n - 1; lo <= hi;) {
        int mid = (lo + hi) / 2;
        if (l->index.v[mid] == index) return true;
        if (l->index.v[mid] < index) lo = mid + 1;
        else hi = mid - 1;
    }
    return false;
}

static bool has_passed(const weiri_line *l, int index) { return l->done > 0 && l->index.v[l->done - 1] >= index; }

bool weiri_walk_enabled(const weiri_walk *s, const weiri_step *x, weiri_lack *why) {
    weiri_use u = weiri_use_of(x->op), counterpart = u == USE_WAIT ? USE_COMMIT : USE_RELEASE;
    if (u != USE_WAIT && u != USE_ACQUIRE) return true;
    weir_res *one = x->op->res, *const * list;
    int n = members_of(x->op->res, &list, &one);
    for (int i = 0; i < n; i++) {
        int index = u == USE_WAIT ? x->index : x->index - stages_of(list[i]);
        if (index < 0) continue; /* the stage was never filled */
        bool anyone = false;
        for (int t = 0; t < s->k->tasks.n; t++) {
            const weiri_line *l = weiri_walk_line(s, t, list[i], counterpart);
            if (!has_index(l, index)) continue;
            anyone = true;
            if (has_passed(l, index)) continue;
            *why = (weiri_lack){ list[i], counterpart, index, t };
            return false;
        }
        if (anyone) continue;
        *why = (weiri_lack){ list[i], counterpart, index, -1 };
        return false;
    }
    return true;
}

void weiri_walk_execute(weiri_walk *s, int task) {
    const weiri_step *x = &s->task[task].steps.v[s->task[task].at++];
    weiri_use u = weiri_use_of(x->op);
    if (u == USE_NONE) return;
    weir_res *one = x->op->res, *const * list;
    int n = members_of(x->op->res, &list, &one);
    for (int i = 0; i < n; i++) weiri_walk_line(s, task, list[i], u)->done++;
}

bool weiri_walk_ended(const weiri_task_line *t) { return t->at == t->steps.n; }

int weiri_walk_trips(const weiri_walk *s, const weiri_node *loop) { return (int)trips_of(s, loop); }

static int uses_made(const weiri_walk *s, const weir_res *r, weiri_use u) {
    int most = 0;
    for (int t = 0; t < s->k->tasks.n; t++) {
        const weiri_line *l = weiri_walk_line(s, t, r, u);
        if (l->done && l->index.v[l->done - 1] + 1 > most) most = l->index.v[l->done - 1] + 1;
    }
    return most;
}

weiri_rest weiri_walk_rest(const weiri_walk *s, const weir_res *r) {
    weiri_rest x;
    for (weiri_use u = 0; u < USES; u++) x.made[u] = uses_made(s, r, u);
    x.full = x.made[USE_COMMIT] - x.made[USE_WAIT];
    x.empty = x.made[USE_ACQUIRE] - x.made[USE_RELEASE];
    if (r->kind == WEIR_RES_BARRIER) { /* turns: a last unanswered commit is fine */
        if (x.full == 1) x.full = 0;
        if (x.empty == 1) x.empty = 0;
    }
    return x;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

void weiri_walk_init(weiri_walk *s, const weir_kernel *k) {
    *s = (weiri_walk){ .k = k };
    weiri_arena_init(&s->a, k->ctx);
    s->task = WEIRI_NEW_N(&s->a, weiri_task_line, k->tasks.n + 1);
    for (int i = 0; i < k->tasks.n; i++) s->task[i].tiles = weiri_tile_loop(k->tasks.v[i]);
    s->tiles = count_tiles(s);
    s->lines = WEIRI_NEW_N(&s->a, weiri_line, (size_t)k->tasks.n * (size_t)k->res.n * USES + 1);
    s->iter = WEIRI_NEW_N(&s->a, int, k->nnodes + 1);
    s->trips = WEIRI_NEW_N(&s->a, int, k->nnodes + 1);
    s->entered = WEIRI_NEW_N(&s->a, bool, k->nnodes + 1);
    choose_lengths(s);
    for (int i = 0; i < k->tasks.n; i++) {
        s->ti = i;
        s->count = WEIRI_NEW_N(&s->a, int, (size_t)k->res.n *USES + 1);
        flatten(s, k->tasks.v[i]->root->first);
    }
}

void weiri_walk_free(weiri_walk *s) { weiri_arena_free(&s->a); }
