/* Schedules: run once by their author, recorded as one tree of ops per task. */
#include <inttypes.h>
#include <string.h>

#include "model.h"

/* ---- names -------------------------------------------------------------------------------------------------------------- */

/* ORDER STAGE */
const char *weiri_stage_name(weiri_stage s) {
    static const char *const names[] = { "ConsumerAuxWork", "ConsumerTryWait", "ConsumerWait",       "ConsumerWork",
                                         "ConsumerRelease", "ProducerAuxWork", "ProducerTryAcquire", "ProducerAcquire",
                                         "ProducerWork",    "ProducerCommit" };
    return names[s];
}

const char *weiri_atom_name(weiri_atom a) {
    switch (a) {
    case ATOM_NONE: return "move";
    case ATOM_CUSTOM: return "custom";
    case ATOM_TMA_LOAD: return "tma_load";
    case ATOM_CP_ASYNC: return "cp_async";
    case ATOM_STORE: return "store";
    case ATOM_TMA_STORE: return "tma_store";
    case ATOM_TMA_REDUCE_ADD: return "tma_reduce_add";
    case ATOM_PUSH: return "push";
    case ATOM_ZERO: return "zero";
    case ATOM_SET: return "set";
    case ATOM_MMA: return "mma";
    case ATOM_DRAIN: return "drain";
    case ATOM_READ: return "read";
    case ATOM_LOAD: return "load";
    case ATOM_QUEUE_ADVANCE: return "get_and_advance_work_tile";
    case ATOM_QUEUE_FETCH: return "fetch_work_tile";
    case ATOM_QUEUE_INIT: return "init_work_tile";
    case ATOM_GRID_WAIT: return "wait_griddep";
    case ATOM_GRID_LAUNCH: return "launch_griddep";
    }
    return "?";
}

const char *weiri_move_name(weir_move m) {
    switch (m) {
    case WEIR_TRY_ACQUIRE: return "try_acquire";
    case WEIR_ACQUIRE: return "acquire";
    case WEIR_COMMIT: return "commit";
    case WEIR_TRY_WAIT: return "try_wait";
    case WEIR_WAIT: return "wait";
    case WEIR_RELEASE: return "release";
    }
    return "?";
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------- */

static bool want_task(weir_kernel *k, const char *what) {
    if (k->task) return true;
    weiri_kernel_fault(k, &k->here, "C-CTX-01", "call it inside a schedule", "%s: no schedule is being captured", what);
    return false;
}

static weiri_node *append(weir_kernel *k, weiri_node_kind kind) {
    weiri_node *n = WEIRI_NEW(&k->a, weiri_node), *p = k->open;
    n->kind = kind;
    n->id = ++k->nnodes;
    n->parent = p;
    n->at = k->here;
    if (p->last) p->last->next = n;
    else p->first = n;
    p->last = n;
    return n;
}

/* A block that lies too deep is recorded as an empty one, and what is in it beside it. */
static weiri_node *open_block(weir_kernel *k, weiri_node_kind kind) {
    int nest = 0;
    weiri_node *n = append(k, kind);
    for (const weiri_node *x = k->open->parent; x; x = x->parent) nest++;
    if (nest < WEIRI_MAX_NEST) return k->open = n;
    if (!k->over++)
        weiri_kernel_fault(k, &k->here, "C-NEST-13", "one loop over the product of the ranges, or one condition: a & b",
                           "more than %d blocks in each other", WEIRI_MAX_NEST);
    return n;
}

static weiri_node *enclosing(const weir_kernel *k, weiri_node_kind kind) {
    for (weiri_node *n = k->open; n; n = n->parent)
        if (n->kind == kind && n->parent) return n;
    return NULL;
}

static const char *opener(const weiri_node *n) {
    switch (n->kind) {
    case NODE_LOOP: return "domain_loop";
    case NODE_TILES: return "work_tile_loop";
    case NODE_SKIPPABLE: return "skippable";
    case NODE_GUARD:
        switch (n->guard) {
        case WEIR_GUARD_FIRST: return "first_iter";
        case WEIR_GUARD_LAST: return "last_iter";
        case WEIR_GUARD_EVERY: return "every";
        case WEIR_GUARD_TRUE: return "when_true";
        case WEIR_GUARD_FALSE: return "when_false";
        case WEIR_GUARD_PREVIOUS_TILE: return "previous_tile";
        case WEIR_GUARD_LAST_TILE: return "last_tile";
        }
        return "guard";
    case NODE_OP: break;
    }
    return "schedule";
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------- */

static weir_res **take_list(weir_kernel *k, const char *task, const char *side, weir_res *const *list, int n, int *out) {
    weir_res **to = WEIRI_NEW_N(&k->a, weir_res *, n + 1);
    *out = 0;
    for (int i = 0; i < n; i++) {
        weir_res *r = list[i];
        if (!r || r->kind == WEIR_RES_GROUP) {
            weiri_kernel_fault(k, &k->here, "C-ARG-01", "name its members", "task '%s': %s names %s", task, side,
                               r ? weiri_label(k, r) : "nothing");
            continue;
        }
        if (weiri_foreign(k, weiri_arena_fmt(&k->a, "task '%s': %s", task, side), r)) continue;
        to[(*out)++] = r->kind == WEIR_RES_MEMBER ? r->bare : r;
    }
    return to;
}

/* The warps of a task; ones that no CTA has are replaced, so that what follows may count with them. */
static void take_warps(weir_kernel *k, weiri_task *t, int first, int count) {
    int64_t end = (int64_t)first + count;
    if (first < 0 || count < 1) {
        weiri_kernel_fault(k, &k->here, "V-WG-01", "warps = { first, count }, count at least 1",
                           "task '%s': warps = { %d, %d }", t->name, first, count);
        first = 0, count = 1, t->warps_refused = true;
    } else if (end > 32) {
        weiri_kernel_fault(k, &k->here, "X-WARP-02", "use fewer warps", "task '%s': warps %d to %lld, a CTA has warps 0 to 31",
                           t->name, first, (long long)end - 1);
        first = first < 31 ? first : 31, count = 32 - first, t->warps_refused = true;
    }
    t->first_warp = first;
    t->num_warps = count;
}

void weir_task_begin(weir_kernel *k, const weir_task_desc *d) {
    const char *name = d->name && *d->name ? d->name : "unnamed";
    if (k->task) {
        weiri_kernel_fault(k, &k->here, "C-NEST-08", "end it first", "task '%s' begins while task '%s' is still open", name,
                           k->task->name);
        weir_task_end(k);
    }
    weiri_task *t = WEIRI_NEW(&k->a, weiri_task);
    t->name = weiri_arena_str(&k->a, name);
    t->index = k->tasks.n;
    t->at = k->here;
    for (const char *c = t->name; *c; c++) {
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' || (c != t->name && *c >= '0' && *c <= '9'))
            continue;
        weiri_kernel_fault(k, &k->here, "M-NAME", "letters, digits and _, not starting with a digit",
                           "task: '%s' is no C identifier", name);
        break;
    }
    for (int i = 0; i < k->tasks.n; i++)
        if (strcmp(k->tasks.v[i]->name, name) == 0)
            weiri_kernel_fault(k, &k->here, "M-NAME", "choose another name", "task: the name '%s' is taken", name);
    take_warps(k, t, d->first_warp, d->num_warps);
    t->registers = d->registers;
    t->on_cta = d->on_cta;
    for (int i = 0; i < 4; i++) t->cta[i] = d->on_cta ? d->cta[i] : -1;
    t->src_given = d->src != NULL;
    t->dst_given = d->dst != NULL;
    if (d->src) t->src = take_list(k, name, "src", d->src, d->nsrc, &t->nsrc);
    if (d->dst) t->dst = take_list(k, name, "dst", d->dst, d->ndst, &t->ndst);
    t->root = WEIRI_NEW(&k->a, weiri_node);
    t->root->at = k->here;
    WEIRI_PUSH(&k->a, k->tasks, t);
    k->task = t;
    k->open = t->root;
}

static bool listed(weir_res *const *list, int n, const weir_res *r) {
    for (int i = 0; i < n; i++)
        if (list[i] == r) return true;
    return false;
}

/* Appends r to a derived list once. */
static void add_to(weir_kernel *k, weir_res ***list, int *n, weir_res *r) {
    if (!r || listed(*list, *n, r)) return;
    weir_res **to = WEIRI_NEW_N(&k->a, weir_res *, *n + 1);
    if (*n) memcpy(to, *list, sizeof *to * (size_t)*n);
    to[(*n)++] = r;
    *list = to;
}

static bool is_register_tile(const weir_res *r) { return r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA; }

static void derive_from(weir_kernel *k, weiri_task *t, const weiri_op *op, weir_res *r) {
    bool consumed = op->stage <= STAGE_CONS_RELEASE, produced = !consumed;
    if (consumed && !is_register_tile(r) && !t->src_given) add_to(k, &t->src, &t->nsrc, r);
    if ((produced || is_register_tile(r)) && !t->dst_given) add_to(k, &t->dst, &t->ndst, r);
}

/* src and dst when the author left them out: what the ops consume and produce. A register tile is a destination. */
static void derive_lists(weir_kernel *k, weiri_task *t) {
    for (weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind == NODE_TILES && !t->src_given) add_to(k, &t->src, &t->nsrc, n->queue);
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        if (op->res->kind != WEIR_RES_GROUP) derive_from(k, t, op, op->res);
        for (int i = 0; i < op->nargs && !t->src_given; i++) {
            weir_res *r = weiri_view_base(k, op->arg[i]);
            if (r && r != op->res && r->kind != WEIR_RES_QUEUE && op->atom != ATOM_LOAD && op->atom != ATOM_READ)
                add_to(k, &t->src, &t->nsrc, r);
        }
    }
}

/* A group moved by a task that touches no member of it: all members are the task's. */
static void derive_members(weir_kernel *k, weiri_task *t) {
    for (weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind != NODE_OP || n->op->res->kind != WEIR_RES_GROUP) continue;
        const weir_res *g = n->op->res;
        bool any = false;
        for (int i = 0; i < g->nmembers; i++)
            any |= listed(t->src, t->nsrc, g->members[i]) || listed(t->dst, t->ndst, g->members[i]);
        for (int i = 0; i < g->nmembers && !any; i++) derive_from(k, t, n->op, g->members[i]);
    }
}

void weir_task_end(weir_kernel *k) {
    weiri_task *t = k->task;
    if (!t) {
        weiri_kernel_fault(k, &k->here, "C-CTX-01", NULL, "weir_task_end: no task is open");
        return;
    }
    for (weiri_node *n = k->open; n && n != t->root; n = n->parent)
        weiri_kernel_fault(k, &n->at, "C-NEST-08", "end it inside the schedule",
                           "task '%s': this %s is still open at the end of the schedule", t->name, opener(n));
    derive_lists(k, t);
    derive_members(k, t);
    k->task = NULL;
    k->open = NULL;
    k->over = 0;
}

/* ---- loops and guards --------------------------------------------------------------------------------------------------- */

/* A bound is an integer scalar, equal in all threads. Gives the plain number `instead` when it cannot be used. */
static uint32_t bound(weir_kernel *k, weir_value v, const char *which, int64_t instead) {
    v = weiri_value_load(k, v);
    if (!weiri_value_usable(k, v.id, weiri_arena_fmt(&k->a, "domain_loop: %s", which))) return weir_int(k, instead).id;
    const weiri_value *x = weiri_val(k, v.id);
    char text[120];
    weir_value_text(k, v, text, sizeof text);
    if (x->kind != WEIR_VALUE_SCALAR || weiri_value_is_float(x->dtype)) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", "loops count in integers", "domain_loop: %s %s is no integer", which, text);
        return weir_int(k, instead).id;
    }
    if (!x->uniform) {
        weiri_kernel_fault(k, &k->here, "VAL-UNIFORM", "declare the return as `uniform` if all threads give the same",
                           "domain_loop: %s %s may differ between threads", which, text);
        return weir_int(k, instead).id;
    }
    int64_t c;
    if (weiri_value_const(k, v.id, &c) && (c < INT32_MIN || c > INT32_MAX)) {
        weiri_kernel_fault(k, &k->here, "VAL-ARG", "a number of 32 bits: loops count in them", "domain_loop: %s is %" PRId64, which, c);
        return weir_int(k, instead).id;
    }
    return v.id;
}

static int loops_of(const weiri_task *t) {
    int n = 0;
    for (weiri_node *x = NULL; (x = weiri_node_next(t->root, x));) n += x->kind == NODE_LOOP;
    return n;
}

weir_value weir_loop_begin(weir_kernel *k, weir_value start, weir_value stop, weir_value step, int unroll) {
    if (!want_task(k, "domain_loop")) return (weir_value){ 0 };
    if (!stop.id) {
        if (!k->faults.list.n)
            weiri_kernel_fault(k, &k->here, "C-DOM-03", "domain_loop(start, stop, step)", "domain_loop: stop is missing");
        stop = weir_int(k, 1);
    }
    uint32_t from = start.id ? bound(k, start, "start", 0) : weir_int(k, 0).id;
    uint32_t to = bound(k, stop, "stop", 1);
    uint32_t by = step.id ? bound(k, step, "step", 1) : weir_int(k, 1).id;
    int64_t c;
    if (weiri_value_const(k, by, &c) && c == 0) {
        weiri_kernel_fault(k, &k->here, "C-DOM-02", "1, or another step that leads from start to stop",
                           "domain_loop: step is 0");
        by = weir_int(k, 1).id;
    }
    if (unroll < 0) weiri_kernel_fault(k, &k->here, "M-OPTION", "at least 1", "domain_loop: unroll is %d", unroll);
    int order = loops_of(k->task);
    weiri_node *n = open_block(k, NODE_LOOP);
    n->start = from;
    n->stop = to;
    n->step = by;
    n->unroll = unroll > 0 ? unroll : 0;
    weir_value i = weiri_value_add(k,
                                   &(weiri_value){ .op = WEIR_OP_INDEX,
                                                   .kind = WEIR_VALUE_SCALAR,
                                                   .dtype = WEIR_I32,
                                                   .rows = 1,
                                                   .cols = 1,
                                                   .uniform = true,
                                                   .loop = n,
                                                   .scope = n,
                                                   .name = weiri_arena_fmt(&k->a, "i%d", order) },
                                   true);
    n->index = i.id;
    return i;
}

/* The open loop whose index `of` is; NULL with a fault. */
static weiri_node *loop_of(weir_kernel *k, const char *what, weir_value of) {
    const weiri_value *v = weiri_val(k, of.id);
    if (v->op != WEIR_OP_INDEX) {
        weiri_kernel_fault(k, &k->here, "C-NEST-07", "call it on the index of a domain loop",
                           "%s: not the index of a domain loop", what);
        return NULL;
    }
    for (weiri_node *n = k->open; n; n = n->parent)
        if (n == v->loop) return n;
    if (k->over) return v->loop;
    weiri_kernel_fault(k, &k->here, "C-NEST-07", "use it inside the loop", "%s: the loop of %s is closed", what, v->name);
    weiri_also_at(k, &v->loop->at, "the loop");
    return NULL;
}

/* A runtime condition: numbers count as "not 0". 0, with a fault, when it can steer nothing. */
static uint32_t condition(weir_kernel *k, const char *what, weir_value of) {
    of = weiri_value_load(k, of);
    if (!weiri_value_usable(k, of.id, what)) return 0;
    k->values.v[of.id].used = true;
    const weiri_value *v = weiri_val(k, of.id);
    if (v->kind == WEIR_VALUE_SCALAR && !weiri_value_is_float(v->dtype))
        of = weir_apply(k, WEIR_OP_NE, (weir_value[]){ of, weir_int(k, 0) }, 2);
    k->values.v[of.id].used = true;
    v = weiri_val(k, of.id);
    char text[120];
    weir_value_text(k, of, text, sizeof text);
    if (v->kind != WEIR_VALUE_COND || v->rows * v->cols != 1) {
        weiri_kernel_fault(k, &k->here, "C-GUARD-03", "compare scalars: weir.lt, weir.eq, ...", "%s: %s is no condition", what,
                           text);
        return 0;
    }
    if (!v->uniform) {
        weiri_kernel_fault(k, &k->here, "VAL-UNIFORM", "use weir.select for what differs between threads",
                           "%s: %s may differ between threads", what, text);
        return 0;
    }
    return of.id;
}

static weir_tiles tiles_before(weir_kernel *k, weir_guard_kind kind, weir_res *queue);

void weir_guard_begin(weir_kernel *k, const weir_guard_desc *d) {
    weiri_node as = { .kind = NODE_GUARD, .guard = d->kind };
    const char *what = opener(&as);
    if (!want_task(k, what)) return;
    if (d->kind >= WEIR_GUARD_PREVIOUS_TILE) {
        tiles_before(k, d->kind, NULL);
        return;
    }
    bool iteration = d->kind == WEIR_GUARD_FIRST || d->kind == WEIR_GUARD_LAST || d->kind == WEIR_GUARD_EVERY;
    weiri_node *loop = iteration ? loop_of(k, what, d->of) : NULL;
    uint32_t of = iteration ? 0 : condition(k, what, d->of);
    if (d->kind == WEIR_GUARD_EVERY && (d->period < 1 || d->start < 0))
        weiri_kernel_fault(k, &k->here, "C-GUARD-01", "every(period, start): period at least 1, start at least 0",
                           "every(%d, %d)", d->period, d->start);
    weiri_node *n = open_block(k, NODE_GUARD);
    n->guard = d->kind;
    n->loop = loop;
    n->of = iteration ? d->of.id : of;
    n->period = d->period > 0 ? d->period : 1;
    n->phase = d->start > 0 ? d->start : 0;
    n->key = iteration ? NULL : weiri_arena_str(&k->a, d->key);
    if (n->of) k->values.v[n->of].used = true;
}

/* Coordinates and place of the tile that the block gives. */
static void give_tile(weir_kernel *k, weiri_node *n) {
    weir_res *queue = n->queue && n->queue->kind == WEIR_RES_QUEUE ? n->queue : NULL;
    const bool before = n->kind == NODE_GUARD, last = before && n->guard == WEIR_GUARD_LAST_TILE;
    weiri_value v = { .kind = WEIR_VALUE_SCALAR, .dtype = WEIR_I32, .rows = 1, .cols = 1, .uniform = true, .res = n->queue, .loop = n };
    v.op = before ? WEIR_OP_BEFORE : WEIR_OP_COORD;
    v.tiles = before ? NULL : queue;
    v.before = !before ? 0 : last ? 2 : 1;
    v.count = !before ? 0 : last ? -n->lanes : n->lanes;
    v.f = last ? n->lane : 0;
    for (int i = 0; queue && i < queue->qrank; i++) {
        v.i = i;
        n->coord[i] = weiri_value_add(k, &v, true).id;
    }
    v.op = WEIR_OP_VIEW_TILE;
    v.kind = WEIR_VALUE_VIEW;
    v.dtype = WEIR_DTYPE_NONE;
    v.rows = v.cols = 0;
    v.i = 0;
    n->place = weiri_value_add(k, &v, true).id;
}

weir_tiles weir_tiles_begin(weir_kernel *k, weir_res *queue, int lane, int lanes) {
    if (!want_task(k, "work_tile_loop")) return (weir_tiles){ 0 };
    bool is_queue = queue && queue->kind == WEIR_RES_QUEUE;
    if (!is_queue)
        weiri_kernel_fault(k, &k->here, "C-WTL-01", NULL, "work_tile_loop: %s is no work queue",
                           queue ? weiri_label(k, queue) : "nothing");
    if (k->open != k->task->root) {
        weiri_kernel_fault(k, &k->here, "C-NEST-03", "put it at the top of the schedule", "work_tile_loop inside a %s",
                           opener(k->open));
        weiri_also_at(k, &k->open->at, "the block around it");
    }
    for (weiri_node *n = NULL; (n = weiri_node_next(k->task->root, n));)
        if (n->kind == NODE_TILES) {
            weiri_kernel_fault(k, &k->here, "C-NEST-04", "one loop takes all tiles; give the other a task of its own",
                               "task '%s' has a second work_tile_loop", k->task->name);
            weiri_also_at(k, &n->at, "the first");
            break;
        }
    if (lanes < 0 || (lanes > 0 && (lane < 0 || lane >= lanes)) || (lanes == 0 && lane != 0)) {
        weiri_kernel_fault(k, &k->here, "M-OPTION", "0 <= lane < lanes", "work_tile_loop: lane %d of %d lanes", lane, lanes);
        lane = lanes = 0;
    }
    weiri_node *n = open_block(k, NODE_TILES);
    n->queue = queue;
    n->lane = lane;
    n->lanes = lanes > 0 ? lanes : 1;
    give_tile(k, n);
    return (weir_tiles){ (uint32_t)n->id };
}

/* Where the guard stands, is there a tile before, or a last one? */
static void check_before(weir_kernel *k, const weiri_node *as, const weiri_node *tiles) {
    const char *what = opener(as);
    const bool last = as->guard == WEIR_GUARD_LAST_TILE;
    const weiri_node *open = enclosing(k, NODE_TILES), *outer = k->open;
    if (!as->queue || as->queue->kind != WEIR_RES_QUEUE) {
        weiri_kernel_fault(k, &k->here, "C-WTL-01", NULL, "%s: %s is no work queue", what,
                           as->queue ? weiri_label(k, as->queue) : "nothing");
        return;
    }
    const char *name = as->queue->name;
    if (!tiles || (!last && !open && tiles->queue == as->queue)) {
        weiri_kernel_fault(k, &k->here, "C-NEST-14",
                           weiri_arena_fmt(&k->a, last ? "put it behind `for t in weir.work_tile_loop(%s) do ... end`"
                                                   : "put it inside `for t in weir.work_tile_loop(%s) do ... end`", name),
                           "%s: no work-tile loop over '%s' %s", what, name, last ? "has run before" : "is open");
        return;
    }
    if (tiles->queue != as->queue) {
        weiri_kernel_fault(k, &k->here, "C-NEST-14", weiri_arena_fmt(&k->a, "weir.%s(%s)", what, tiles->queue ? tiles->queue->name : "?"),
                           "%s: task '%s' takes its tiles from '%s', not '%s'", what, k->task->name,
                           tiles->queue ? tiles->queue->name : "?", name);
        weiri_also_at(k, &tiles->at, "the work-tile loop");
        return;
    }
    if (last && open) {
        weiri_kernel_fault(k, &k->here, "C-NEST-14", "put it behind the loop; inside, the tile before is weir.previous_tile's",
                           "last_tile inside the work-tile loop over '%s'", name);
        weiri_also_at(k, &open->at, "the work-tile loop");
        return;
    }
    while (outer && !weiri_of_before(outer)) outer = outer->parent;
    if (!outer) return;
    weiri_kernel_fault(k, &k->here, "C-NEST-14", "one is enough: the outer one gives the tile", "%s inside %s", what, opener(outer));
    weiri_also_at(k, &outer->at, "the outer one");
}

static weir_tiles tiles_before(weir_kernel *k, weir_guard_kind kind, weir_res *queue) {
    weiri_node as = { .kind = NODE_GUARD, .guard = kind, .queue = queue };
    if (!want_task(k, opener(&as))) return (weir_tiles){ 0 };
    const weiri_node *tiles = weiri_tile_loop(k->task); /* open or not */
    check_before(k, &as, tiles);
    weiri_node *n = open_block(k, NODE_GUARD);
    n->guard = kind;
    n->queue = queue;
    n->of_tiles = tiles;
    n->lane = tiles ? tiles->lane : 0;
    n->lanes = tiles ? tiles->lanes : 1;
    n->period = 1;
    give_tile(k, n);
    return (weir_tiles){ (uint32_t)n->id };
}

weir_tiles weir_previous_tile_begin(weir_kernel *k, weir_res *queue) {
    return tiles_before(k, WEIR_GUARD_PREVIOUS_TILE, queue);
}

weir_tiles weir_last_tile_begin(weir_kernel *k, weir_res *queue) { return tiles_before(k, WEIR_GUARD_LAST_TILE, queue); }

/* The open work-tile loop of a handle; NULL with a fault. */
static weiri_node *tiles_of(weir_kernel *k, weir_tiles t, const char *what) {
    weiri_node *n = enclosing(k, NODE_TILES);
    if (n && t.id == (uint32_t)n->id) return n;
    weiri_kernel_fault(k, &k->here, "C-NEST-07", "use the tile inside its work-tile loop",
                       "%s: the work-tile loop of this tile is not open", what);
    return NULL;
}

/* The open block that gives the tile of a handle; NULL with a fault. */
static weiri_node *giver_of(weir_kernel *k, weir_tiles t, const char *what) {
    for (weiri_node *n = k->open; n; n = n->parent)
        if (weiri_of_before(n) && t.id == (uint32_t)n->id) return n;
    for (weiri_node *n = NULL; k->task && (n = weiri_node_next(k->task->root, n));)
        if (weiri_of_before(n) && t.id == (uint32_t)n->id) {
            if (k->over) return n;
            const char *hint = weiri_arena_fmt(&k->a, "use it inside `for b in weir.%s(%s) do ... end`", opener(n),
                                               n->queue ? n->queue->name : "wq");
            weiri_kernel_fault(k, &k->here, "C-NEST-07", hint, "%s: the %s of this tile is not open", what, opener(n));
            weiri_also_at(k, &n->at, "made in this block");
            return NULL;
        }
    return tiles_of(k, t, what);
}

void weir_tiles_skip(weir_kernel *k, weir_tiles t, weir_value c) {
    weiri_node *n = tiles_of(k, t, "skip");
    if (!n) return;
    if (n->skip) weiri_kernel_fault(k, &k->here, "C-SKIP-01", NULL, "the work-tile loop has a second skip predicate");
    int before = k->faults.list.n;
    n->skip = condition(k, "skip", c);
    if (n->skip) k->values.v[n->skip].used = true;
    else if (k->faults.list.n == before)
        weiri_kernel_fault(k, &k->here, "C-SKIP-01", "return a comparison", "the skip predicate gives no condition");
}

weir_value weir_tile_coord(weir_kernel *k, weir_tiles t, int axis) {
    weiri_node *n = giver_of(k, t, "tile coordinate");
    if (!n || !n->queue || n->queue->kind != WEIR_RES_QUEUE) return (weir_value){ 0 };
    if (axis >= 0 && axis < n->queue->qrank) return (weir_value){ n->coord[axis] };
    weiri_kernel_fault(k, &k->here, "VIEW-ARG", NULL, "tile coordinate %d: %s has %d axes", axis, weiri_label(k, n->queue),
                       n->queue->qrank);
    return (weir_value){ 0 };
}

weir_value weir_tile_place(weir_kernel *k, weir_tiles t) {
    weiri_node *n = giver_of(k, t, "work tile");
    return (weir_value){ n ? n->place : 0 };
}

void weir_skippable_begin(weir_kernel *k, weir_tiles t) {
    if (!want_task(k, "skippable")) return;
    weiri_node *giver = giver_of(k, t, "skippable"), *n = giver && weiri_of_before(giver) ? NULL : giver, *outer = enclosing(k, NODE_SKIPPABLE);
    if (outer) {
        weiri_kernel_fault(k, &k->here, "C-NEST-09", "one is enough", "skippable inside skippable");
        weiri_also_at(k, &outer->at, "the outer one");
    }
    if (giver && !n)
        weiri_kernel_fault(k, &k->here, "C-NEST-10", "t:skippable() of the tile that the loop gives; of the tile before: weir.when_false(...)",
                           "skippable: the tile that %s gives is not the one that the loop may skip", opener(giver));
    if (n && !n->skip)
        weiri_kernel_fault(k, &k->here, "C-NEST-10", "work_tile_loop(wq, { skip = function(tile) ... end })",
                           "skippable: the work-tile loop has no skip predicate");
    open_block(k, NODE_SKIPPABLE);
}

void weir_block_end(weir_kernel *k, bool broken) {
    if (!k->task || k->open == k->task->root) {
        weiri_kernel_fault(k, &k->here, "C-NEST-08", NULL, "a block ends that was not begun");
        return;
    }
    if (k->over) {
        k->over--;
        return;
    }
    weiri_node *n = k->open;
    if (broken)
        weiri_kernel_fault(k, &n->at, "C-BREAK",
                           "the body runs once, to be recorded: cut the range with weir.min or weir.clamp instead",
                           "this %s was left by `break` (or an error) and cannot be captured", opener(n));
    k->open = n->parent;
}

/* ---- ops ---------------------------------------------------------------------------------------------------------------- */

weiri_op *weiri_capture_op(weir_kernel *k, const weiri_op *given) {
    weiri_op *op = WEIRI_NEW(&k->a, weiri_op);
    *op = *given;
    op->id = ++k->nops;
    op->at = k->here;
    uint32_t *arg = op->nargs ? WEIRI_NEW_N(&k->a, uint32_t, op->nargs) : NULL;
    for (int i = 0; i < op->nargs; i++) {
        arg[i] = given->arg[i];
        if (arg[i]) k->values.v[arg[i]].used = true;
    }
    op->arg = arg;
    append(k, NODE_OP)->op = op;
    return op;
}

bool weiri_capture_target(weir_kernel *k, weir_res *r, const char *what, weir_res **bare, weir_res **group) {
    if (!want_task(k, what)) return false;
    if (!r) {
        weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s: no resource", what);
        return false;
    }
    *bare = r->kind == WEIR_RES_MEMBER ? r->bare : r;
    *group = r->kind == WEIR_RES_MEMBER ? r->group : NULL;
    if (r->kind != WEIR_RES_MEMBER && r->kind != WEIR_RES_GROUP && r->group) {
        const char *hint = weiri_arena_fmt(&k->a, "write %s.%s", r->group->name, r->name);
        if (r->refused_in != k->task->index + 1)
            weiri_kernel_fault(k, &k->here, "C-ARG-02", hint, "%s: '%s' is in group '%s'", what, r->name, r->group->name);
        r->refused_in = k->task->index + 1;
        *group = r->group;
    }
    if (r->kind == WEIR_RES_GROUP) {
        const char *hint = weiri_arena_fmt(&k->a, "write %s.%s", r->name, r->nmembers ? r->members[0]->name : "member");
        weiri_kernel_fault(k, &k->here, "T-GRP-02", hint, "%s: work and views go to a member of group '%s'", what, r->name);
        return false;
    }
    return true;
}

weiri_op *weiri_capture_read(weir_kernel *k, weir_res *r, weiri_atom atom, const uint32_t *arg, int nargs) {
    weir_res *bare, *group;
    if (!weiri_capture_target(k, r, atom == ATOM_LOAD ? "load()" : "read()", &bare, &group)) return NULL;
    uint32_t copy[1] = { nargs ? arg[0] : 0 };
    return weiri_capture_op(
        k, &(weiri_op){ .res = bare, .group = group, .stage = STAGE_CONS_WORK, .atom = atom, .arg = copy, .nargs = nargs });
}

static weiri_stage stage_of(weir_move m) {
    switch (m) {
    case WEIR_TRY_ACQUIRE: return STAGE_PROD_TRY;
    case WEIR_ACQUIRE: return STAGE_PROD_ACQUIRE;
    case WEIR_COMMIT: return STAGE_PROD_COMMIT;
    case WEIR_TRY_WAIT: return STAGE_CONS_TRY;
    case WEIR_WAIT: return STAGE_CONS_WAIT;
    case WEIR_RELEASE: break;
    }
    return STAGE_CONS_RELEASE;
}

static const char *collapsed_moves(weir_group_mode mode) {
    return mode == WEIR_GROUP_MERGE ? "release" : mode == WEIR_GROUP_FORK ? "commit" : "try_wait, wait and release";
}

/* Is the move spelled on the right handle? Gives the op's resource and group. */
static bool spell_move(weir_kernel *k, weir_res *r, weir_move move, weir_res **res, weir_res **group) {
    const char *name = weiri_move_name(move);
    if (r->kind == WEIR_RES_GROUP) {
        *res = *group = r;
        if (weiri_group_collapses(r->mode, move)) return true;
        const char *hint =
            weiri_arena_fmt(&k->a, "write %s.%s:%s()", r->name, r->nmembers ? r->members[0]->name : "member", name);
        weiri_kernel_fault(k, &k->here, "T-GRP-02", hint, "%s group '%s' takes %s, given %s", weiri_group_mode_name(r->mode),
                           r->name, collapsed_moves(r->mode), name);
        return true; /* recorded as a move of every member, so that what follows is not blamed */
    }
    if (!weiri_capture_target(k, r, name, res, group)) return false;
    if (!*group || !weiri_group_collapses((*group)->mode, move)) return true;
    const char *hint = weiri_arena_fmt(&k->a, "write %s:%s()", (*group)->name, name);
    bool told = (*group)->refused_in == k->task->index + 1;
    (*group)->refused_in = k->task->index + 1;
    if (r->kind == WEIR_RES_MEMBER && !told)
        weiri_kernel_fault(k, &k->here, "T-GRP-01", hint, "%s group '%s': %s of '%s.%s' is the group's",
                           weiri_group_mode_name((*group)->mode), (*group)->name, name, (*group)->name, (*res)->name);
    *res = *group;
    return true;
}

void weir_do(weir_kernel *k, weir_res *r, weir_move move, int n) {
    const char *name = weiri_move_name(move);
    if (!want_task(k, name)) return;
    if (!r || move < WEIR_TRY_ACQUIRE || move > WEIR_RELEASE) {
        if (r) weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s: unknown move %d", weiri_label(k, r), (int)move);
        else weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s: no resource", name);
        return;
    }
    weir_res *res, *group;
    if (!spell_move(k, r, move, &res, &group)) return;
    bool plain_queue = res->kind == WEIR_RES_QUEUE; /* moves of a static queue do nothing, and are written all the same */
    if (!weiri_piped(res) && !plain_queue) {
        bool can = weiri_in_smem(res) || res->kind == WEIR_RES_TMEM || res->kind == WEIR_RES_CUSTOM;
        if (res->refused_in != k->task->index + 1)
            weiri_kernel_fault(k, &k->here, "C-MOVE-01",
                               can ? "give it a pipeline, or leave its moves out" : "leave its moves out",
                               "%s: %s has no pipeline", name, weiri_label(k, res));
        res->refused_in = k->task->index + 1;
        return;
    }
    bool keeps = move == WEIR_RELEASE || move == WEIR_COMMIT;
    if (n < -1 || (n >= 0 && !keeps))
        weiri_kernel_fault(k, &k->here, "C-MOVE-02", NULL, "%s: %s(%d)", weiri_label(k, res), name, n);
    weiri_capture_op(
        k, &(weiri_op){
               .res = res, .group = group, .stage = stage_of(move), .atom = ATOM_NONE, .keep = keeps && n >= 0 ? n : -1 });
}

void weir_drain(weir_kernel *k, weir_res *r, int n) {
    weir_res *res, *group;
    if (!weiri_capture_target(k, r, "drain", &res, &group)) return;
    if (res->kind != WEIR_RES_WGMMA && res->kind != WEIR_RES_REG && res->kind != WEIR_RES_GMEM) {
        weiri_kernel_fault(k, &k->here, "C-NAME-03", "only wgmma tiles and gmem tiles have asynchronous work in flight",
                           "%s has no drain()", weiri_label(k, res));
        return;
    }
    if (n < 0)
        weiri_kernel_fault(k, &k->here, "C-MOVE-02", "drain(n): at most n in flight", "%s: drain(%d)", weiri_label(k, res), n);
    weiri_capture_op(
        k, &(weiri_op){ .res = res, .group = group, .stage = STAGE_PROD_AUX, .atom = ATOM_DRAIN, .keep = n > 0 ? n : 0 });
}

/* ---- work: built-in atoms ----------------------------------------------------------------------------------------------- */

/* What an argument of an atom may be. A value is loaded when a view is given. */
typedef enum arg_kind {
    ARG_VALUE = 1,
    ARG_VIEW,
    ARG_OPERAND /* view, or a register value */,
    ARG_PLACE /* view or work tile */
} arg_kind;

typedef struct method {
    weir_res_kind kind;
    const char *name;
    weiri_atom atom;
    weiri_stage stage;
    struct {
        const char *name;
        arg_kind kind;
        bool optional;
    } arg[2];
} method;

static const method methods[] = {
    { WEIR_RES_GMEM, "store", ATOM_STORE, STAGE_PROD_WORK, { { "value", ARG_VALUE, 0 }, { "place", ARG_PLACE, 0 } } },
    { WEIR_RES_GMEM, "tma_store", ATOM_TMA_STORE, STAGE_PROD_WORK, { { "view", ARG_VIEW, 0 }, { "place", ARG_PLACE, 0 } } },
    { WEIR_RES_GMEM,
      "tma_reduce_add",
      ATOM_TMA_REDUCE_ADD,
      STAGE_PROD_WORK,
      { { "view", ARG_VIEW, 0 }, { "place", ARG_PLACE, 0 } } },
    { WEIR_RES_SMEM, "tma_load", ATOM_TMA_LOAD, STAGE_PROD_WORK, { { "view", ARG_VIEW, 0 } } },
    { WEIR_RES_SMEM, "cp_async", ATOM_CP_ASYNC, STAGE_PROD_WORK, { { "view", ARG_VIEW, 0 } } },
    { WEIR_RES_SMEM, "store", ATOM_STORE, STAGE_PROD_WORK, { { "value", ARG_VALUE, 0 }, { "place", ARG_PLACE, 1 } } },
    { WEIR_RES_SMEM, "push", ATOM_PUSH, STAGE_PROD_WORK, { { "view", ARG_VIEW, 0 }, { "place", ARG_PLACE, 1 } } },
    { WEIR_RES_WGMMA, "zero", ATOM_ZERO, STAGE_PROD_WORK, { { 0 } } },
    { WEIR_RES_WGMMA, "set", ATOM_SET, STAGE_PROD_WORK, { { "value", ARG_VALUE, 0 } } },
    { WEIR_RES_WGMMA, "mma", ATOM_MMA, STAGE_PROD_WORK, { { "a", ARG_OPERAND, 0 }, { "b", ARG_VIEW, 0 } } },
    { WEIR_RES_REG, "zero", ATOM_ZERO, STAGE_PROD_WORK, { { 0 } } },
    { WEIR_RES_REG, "set", ATOM_SET, STAGE_PROD_WORK, { { "value", ARG_VALUE, 0 } } },
    { WEIR_RES_TMEM, "zero", ATOM_ZERO, STAGE_PROD_WORK, { { 0 } } },
    { WEIR_RES_TMEM, "mma", ATOM_MMA, STAGE_PROD_WORK, { { "a", ARG_VIEW, 0 }, { "b", ARG_VIEW, 0 } } },
    { WEIR_RES_QUEUE, "get_and_advance_work_tile", ATOM_QUEUE_ADVANCE, STAGE_CONS_WORK, { { 0 } } },
    { WEIR_RES_QUEUE, "fetch_work_tile", ATOM_QUEUE_FETCH, STAGE_PROD_WORK, { { 0 } } },
    { WEIR_RES_QUEUE, "init_work_tile", ATOM_QUEUE_INIT, STAGE_CONS_AUX, { { 0 } } },
    { WEIR_RES_PDL_WAIT, "wait_griddep", ATOM_GRID_WAIT, STAGE_CONS_WORK, { { 0 } } },
    { WEIR_RES_PDL_LAUNCH, "launch_griddep", ATOM_GRID_LAUNCH, STAGE_PROD_WORK, { { 0 } } },
};

static const method *find_method(const weir_res *r, const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].kind == r->kind && strcmp(methods[i].name, name) == 0) return &methods[i];
    return NULL;
}

static bool is_stage(const weir_res *r, const char *name, weir_side side, bool aux) {
    for (int i = 0; i < r->nwork; i++)
        if (strcmp(r->work[i].name, name) == 0) return r->work[i].side == side && r->work[i].aux == aux;
    const method *m = find_method(r, name);
    weiri_stage s =
        side == WEIR_SIDE_CONSUMER ? (aux ? STAGE_CONS_AUX : STAGE_CONS_WORK) : (aux ? STAGE_PROD_AUX : STAGE_PROD_WORK);
    return m && m->stage == s;
}

/* Names of methods, sorted: those of one stage, or all. */
static const char *method_names(weir_kernel *k, const weir_res *r, bool all, weir_side side, bool aux) {
    const char *list[64];
    int n = 0;
    for (int i = 0; n < 64; i++) {
        const char *m = weir_res_method(r, i);
        if (!m) break;
        if (!all && !is_stage(r, m, side, aux)) continue;
        int j = n++;
        for (; j > 0 && strcmp(list[j - 1], m) > 0; j--) list[j] = list[j - 1];
        list[j] = m;
    }
    const char *s = "";
    for (int i = 0; i < n; i++) s = weiri_arena_fmt(&k->a, "%s%s%s", s, i ? ", " : "", list[i]);
    return s;
}

const char *weir_res_no_method(weir_kernel *k, const weir_res *r, const char *name, const char **text) {
    static const struct {
        const char *name;
        weir_side side;
        bool aux;
    } unnamed[] = { { "consumer_work", WEIR_SIDE_CONSUMER, false },
                    { "producer_work", WEIR_SIDE_PRODUCER, false },
                    { "consumer_aux_work", WEIR_SIDE_CONSUMER, true },
                    { "producer_aux_work", WEIR_SIDE_PRODUCER, true } };
    const char *label = weiri_label(k, r);
    if (r->kind == WEIR_RES_MEMBER) r = r->bare;
    const char *all = method_names(k, r, true, WEIR_SIDE_CONSUMER, false);
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++) {
        if (strcmp(unnamed[i].name, name) != 0) continue;
        bool queue = r->kind == WEIR_RES_QUEUE;
        const char *those = queue ? all : method_names(k, r, false, unnamed[i].side, unnamed[i].aux);
        if (!*those) break;
        *text = weiri_arena_fmt(&k->a, "%s: work is called by its name; %s are: %s", label,
                                queue ? "the steps" : "those of this stage", those);
        return queue ? "C-NAME-05" : "V-LBL-03";
    }
    for (int i = 0; i < r->nwork; i++)
        for (int j = 0; j < r->work[i].nreturns; j++)
            if (strcmp(r->work[i].returns[j].name, name) == 0) {
                *text = weiri_arena_fmt(&k->a, "%s: '%s' is what %s returns, no method: keep the call's result in a local",
                                        label, name, r->work[i].name);
                return "C-NAME-04";
            }
    *text = *all ? weiri_arena_fmt(&k->a, "%s has no method '%s'; it has: %s", label, name, all)
                 : weiri_arena_fmt(&k->a, "%s has no method '%s', nor any other", label, name);
    return "C-NAME-03";
}

static void no_such_method(weir_kernel *k, const weir_res *r, const char *name) {
    const char *list[64], *text;
    int n = 0;
    while (n < 64 && (list[n] = weir_res_method(r, n)) != NULL) n++;
    const char *near = weiri_nearest(name, list, n);
    const char *rule = weir_res_no_method(k, r, name, &text);
    const char *hint = near && strcmp(rule, "C-NAME-03") == 0 ? weiri_arena_fmt(&k->a, "did you mean '%s'?", near) : NULL;
    weiri_kernel_fault(k, &k->here, rule, hint, "%s", text);
}

static const char *kind_text(const weiri_value *v) {
    if (v->op == WEIR_OP_VIEW_TILE) return "a work tile";
    switch (v->kind) {
    case WEIR_VALUE_VIEW: return "a view";
    case WEIR_VALUE_TILE: return "a register tile value";
    case WEIR_VALUE_COND: return "a condition";
    case WEIR_VALUE_SCALAR: return "a scalar";
    case WEIR_VALUE_NONE: break;
    }
    return "nothing";
}

/* The argument as the atom takes it; 0, with a fault, when it is of another kind. */
static uint32_t take_arg(weir_kernel *k, const char *what, const char *name, arg_kind kind, weir_value v) {
    static const char *const wanted[] = { "", "a value", "a view", "a view or a register value",
                                          "a place: at, from, sub or a work tile" };
    const char *where = weiri_arena_fmt(&k->a, "%s: %s", what, name);
    if (!weiri_value_usable(k, v.id, where)) return 0;
    const weiri_value *x = weiri_val(k, v.id);
    bool view = x->kind == WEIR_VALUE_VIEW, tile = x->op == WEIR_OP_VIEW_TILE, ok = false;
    switch (kind) {
    case ARG_VALUE: ok = !tile && (x->kind == WEIR_VALUE_SCALAR || x->kind == WEIR_VALUE_TILE || view); break;
    case ARG_VIEW: ok = view && !tile; break;
    case ARG_OPERAND: ok = (view && !tile) || x->kind == WEIR_VALUE_TILE; break;
    case ARG_PLACE: ok = view; break;
    }
    if (ok) return kind == ARG_VALUE ? weiri_value_load(k, v).id : v.id;
    weiri_kernel_fault(k, &k->here, "C-FLOW-05", NULL, "%s is %s, wanted %s", where, kind_text(x), wanted[kind]);
    return 0;
}

/* A work tile as the place of a tensor's tile: its coordinates are the tile's indices, when the queue is cut as the tensor is.
 * Otherwise it is left for validate to refuse. */
static uint32_t place_in(weir_kernel *k, weir_res *g, uint32_t place) {
    const weiri_value *v = weiri_val(k, place);
    const weir_res *queue = v->res;
    if (v->op != WEIR_OP_VIEW_TILE || g->kind != WEIR_RES_GMEM || queue->qrank != g->rank) return place;
    weir_value index[WEIR_MAX_RANK];
    for (int i = 0; i < g->rank; i++) {
        if (queue->qtile[i] != g->tile[i]) return place;
        index[i] = (weir_value){ v->loop->coord[i] };
    }
    return weir_view_at(k, g, index, g->rank).id;
}

static bool want_no_names(weir_kernel *k, const char *what, const weir_work_desc *d) {
    for (int i = 0; d->names && i < d->nargs; i++)
        if (d->names[i]) {
            weiri_kernel_fault(k, &k->here, "C-FLOW-10", "give them in order", "%s takes no arguments by name ('%s')", what,
                               d->names[i]);
            return false;
        }
    return true;
}

static void built_in(weir_kernel *k, const method *m, weir_res *res, weir_res *group, const weir_work_desc *d) {
    const char *what = weiri_arena_fmt(&k->a, "%s:%s", res->name, m->name);
    int max = 0, min = 0;
    for (int i = 0; i < 2 && m->arg[i].kind; i++) max++, min += !m->arg[i].optional;
    if (!want_no_names(k, what, d)) return;
    if (d->nargs < min || d->nargs > max) {
        weiri_kernel_fault(k, &k->here, d->nargs < min ? "C-FLOW-03" : "C-FLOW-01", NULL,
                           "%s takes %s%s%s%s%s, given %d argument%s", what, max ? "(" : "no arguments",
                           max ? m->arg[0].name : "", max > 1 ? ", " : "", max > 1 ? m->arg[1].name : "", max ? ")" : "",
                           d->nargs, d->nargs == 1 ? "" : "s");
        return;
    }
    uint32_t arg[2] = { 0, 0 };
    bool good = true;
    for (int i = 0; i < d->nargs; i++) {
        arg[i] = take_arg(k, what, m->arg[i].name, m->arg[i].kind, d->args[i]);
        if (arg[i] && m->arg[i].kind == ARG_PLACE) arg[i] = place_in(k, res, arg[i]);
        good = good && arg[i];
    }
    weiri_op op = {
        .res = res, .group = group, .stage = m->stage, .atom = m->atom, .keep = -1, .arg = arg, .nargs = good ? d->nargs : 0
    };
    if (d->multicast && m->atom != ATOM_TMA_LOAD)
        weiri_kernel_fault(k, &k->here, "M-OPTION", "multicast is an option of tma_load", "%s takes no multicast", what);
    if (d->multicast < 0 || d->multicast > WEIR_MULTICAST_MN)
        weiri_kernel_fault(k, &k->here, "V-CNT-12", "\"m\", \"n\" or \"mn\"", "%s: multicast mode %d", what, d->multicast);
    else op.multicast = d->multicast;
    op.issue_first = d->issue_first;
    if (d->issue_first && !d->multicast)
        weiri_kernel_fault(k, &k->here, "M-OPTION", "issue = \"first\" says which CTA loads for several: give multicast too",
                           "%s: issue without multicast", what);
    if (d->cache && strcmp(d->cache, "evict_first") != 0 && strcmp(d->cache, "evict_last") != 0)
        weiri_kernel_fault(k, &k->here, "M-OPTION", "\"evict_first\" or \"evict_last\"", "%s: cache hint '%s'", what, d->cache);
    op.cache = weiri_arena_str(&k->a, d->cache);
    if (m->atom == ATOM_PUSH && !d->has_k)
        weiri_kernel_fault(k, &k->here, "C-FLOW-03", "{ k = rank }", "%s: the CTA to push to is missing", what);
    if (d->has_k && m->atom != ATOM_PUSH) weiri_kernel_fault(k, &k->here, "M-OPTION", NULL, "%s takes no k", what);
    if (d->has_k && m->atom == ATOM_PUSH && weiri_value_usable(k, d->k.id, what)) op.push_k = d->k.id;
    weiri_capture_op(k, &op);
}

/* ---- work: custom bodies ------------------------------------------------------------------------------------------------ */

static const char *param_text(weir_kernel *k, const weiri_param *p) {
    return weiri_arena_fmt(&k->a, "%s%s %s", p->constant ? "const " : "", p->view ? "view" : weir_dtype_name(p->dtype),
                           p->name);
}

static const char *signature(weir_kernel *k, const weiri_work *w) {
    const char *s = "";
    for (int i = 0; i < w->nparams; i++) s = weiri_arena_fmt(&k->a, "%s%s%s", s, i ? ", " : "", param_text(k, &w->params[i]));
    return weiri_arena_fmt(&k->a, "%s(%s)", w->name, s);
}

/* Binds arguments to parameters, by order or by name. */
static bool bind_args(weir_kernel *k, const char *what, const weiri_work *w, const weir_work_desc *d, weir_value *bound_to) {
    bool ok = true;
    const char *hint = signature(k, w);
    int order = 0;
    for (int i = 0; i < d->nargs; i++) {
        const char *name = d->names ? d->names[i] : NULL;
        int p = name ? -1 : order++;
        for (int j = 0; name && j < w->nparams; j++)
            if (strcmp(w->params[j].name, name) == 0) p = j;
        if (p < 0) {
            weiri_kernel_fault(k, &k->here, "C-FLOW-10", hint, "%s has no parameter '%s'", what, name);
            ok = false;
        } else if (p >= w->nparams) {
            weiri_kernel_fault(k, &k->here, "C-FLOW-01", hint, "%s takes %d argument%s, given %d", what, w->nparams,
                               w->nparams == 1 ? "" : "s", d->nargs);
            return false;
        } else if (bound_to[p].id) {
            weiri_kernel_fault(k, &k->here, "C-FLOW-02", hint, "%s: '%s' is given twice", what, w->params[p].name);
            ok = false;
        } else {
            bound_to[p] = d->args[i];
        }
    }
    for (int p = 0; ok && p < w->nparams; p++)
        if (!bound_to[p].id && !k->faults.list.n) {
            weiri_kernel_fault(k, &k->here, w->params[p].constant ? "C-FLOW-09" : "C-FLOW-03", hint, "%s: '%s' is missing",
                               what, w->params[p].name);
            ok = false;
        }
    return ok;
}

static uint32_t take_param(weir_kernel *k, const char *what, const weiri_param *p, weir_value v) {
    const char *where = weiri_arena_fmt(&k->a, "%s: %s", what, p->name);
    if (!p->view) v = weiri_value_load(k, v);
    if (!weiri_value_usable(k, v.id, where)) return 0;
    const weiri_value *x = weiri_val(k, v.id);
    bool plain = x->op == WEIR_OP_INT || x->op == WEIR_OP_FLOAT;
    if (p->constant && !plain) {
        weiri_kernel_fault(k, &k->here, "C-FLOW-08", "a plain number", "%s is a const parameter, given %s", where,
                           kind_text(x));
        return 0;
    }
    bool ok = p->view ? x->kind == WEIR_VALUE_VIEW && x->op != WEIR_OP_VIEW_TILE
                      : x->kind == WEIR_VALUE_SCALAR || (x->kind == WEIR_VALUE_COND && x->rows * x->cols == 1);
    if (ok && !p->view && !weiri_value_is_float(p->dtype) && weiri_value_is_float(x->dtype)) ok = false;
    if (ok) return v.id;
    weiri_kernel_fault(k, &k->here, "C-FLOW-05", NULL, "%s is %s%s%s, wanted %s", where, kind_text(x),
                       x->kind == WEIR_VALUE_VIEW ? "" : " of ", x->kind == WEIR_VALUE_VIEW ? "" : weir_dtype_name(x->dtype),
                       param_text(k, p));
    return 0;
}

static int custom(weir_kernel *k, weiri_work *w, weir_res *res, weir_res *group, const weir_work_desc *d, weir_value *ret,
                  int max) {
    const char *what = weiri_arena_fmt(&k->a, "%s:%s", res->name, w->name);
    weir_value *bound_to = WEIRI_NEW_N(&k->a, weir_value, w->nparams + 1);
    uint32_t *arg = WEIRI_NEW_N(&k->a, uint32_t, w->nparams + 1);
    bool good = bind_args(k, what, w, d, bound_to);
    for (int i = 0; good && i < w->nparams; i++) {
        arg[i] = take_param(k, what, &w->params[i], bound_to[i]);
        good = arg[i] != 0;
    }
    bool consumer = w->side == WEIR_SIDE_CONSUMER;
    weiri_stage stage = consumer ? (w->aux ? STAGE_CONS_AUX : STAGE_CONS_WORK) : (w->aux ? STAGE_PROD_AUX : STAGE_PROD_WORK);
    weiri_op *op = weiri_capture_op(k, &(weiri_op){ .res = res,
                                                    .group = group,
                                                    .stage = stage,
                                                    .atom = ATOM_CUSTOM,
                                                    .keep = -1,
                                                    .work = w,
                                                    .arg = arg,
                                                    .nargs = good ? w->nparams : 0 });
    op->nret = w->nreturns;
    op->ret = WEIRI_NEW_N(&k->a, uint32_t, w->nreturns + 1);
    for (int i = 0; i < w->nreturns; i++) {
        const weiri_param *p = &w->returns[i];
        weir_value v = weiri_value_add(k,
                                       &(weiri_value){ .op = WEIR_OP_RETURN,
                                                       .kind = p->dtype == WEIR_BOOL ? WEIR_VALUE_COND : WEIR_VALUE_SCALAR,
                                                       .dtype = p->dtype,
                                                       .rows = 1,
                                                       .cols = 1,
                                                       .uniform = p->uniform,
                                                       .count = i,
                                                       .by = op,
                                                       .scope = k->open },
                                       false);
        op->ret[i] = v.id;
        if (i < max) ret[i] = v;
    }
    return w->nreturns;
}

int weir_work(weir_kernel *k, weir_res *r, const char *name, const weir_work_desc *desc, weir_value *ret, int max) {
    static const weir_work_desc empty = { 0 };
    const weir_work_desc *d = desc ? desc : &empty;
    if (!name) name = "";
    if (strcmp(name, "drain") == 0 && r && r->kind != WEIR_RES_CUSTOM) {
        int64_t n = 0;
        if (d->nargs && !weiri_value_const(k, d->args[0].id, &n))
            weiri_kernel_fault(k, &k->here, "C-FLOW-08", "a plain number", "drain(n): n is no plain number");
        weir_drain(k, r, (int)n);
        return 0;
    }
    for (int i = 0; i < d->nargs; i++) /* also what is refused is no value that nobody uses */
        if (d->args[i].id) k->values.v[d->args[i].id].used = true;
    weir_res *res, *group;
    if (!weiri_capture_target(k, r, name, &res, &group)) return 0;
    for (int i = 0; i < res->nwork; i++)
        if (strcmp(res->work[i].name, name) == 0) return custom(k, &res->work[i], res, group, d, ret, max);
    const method *m = find_method(res, name);
    if (m) built_in(k, m, res, group, d);
    else no_such_method(k, res, name);
    return 0;
}

/* ---- walking and printing ----------------------------------------------------------------------------------------------- */

weiri_node *weiri_node_next(const weiri_node *root, const weiri_node *n) {
    if (!n) return root->first;
    if (n->first) return n->first;
    while (n != root && !n->next) n = n->parent;
    return n == root ? NULL : n->next;
}

weiri_node *weiri_op_next(const weiri_node *root, const weiri_node *n) {
    weiri_node *next = weiri_node_next(root, n);
    while (next && next->kind != NODE_OP) next = weiri_node_next(root, next);
    return next;
}

bool weiri_node_inside(const weiri_node *n, const weiri_node *block) {
    for (; n; n = n->parent)
        if (n == block) return true;
    return false;
}

weiri_node *weiri_tile_loop(const weiri_task *t) {
    for (weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_TILES) return n;
    return NULL;
}

bool weiri_looks_back(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (weiri_of_before(n)) return true;
    return false;
}

static void put_value(const weir_kernel *k, uint32_t id, weiri_buf *b) { weiri_value_print(k, id, b); }

static void put_op(const weir_kernel *k, const weiri_op *op, weiri_buf *b) {
    bool returns = op->nret && op->atom == ATOM_CUSTOM;
    for (int i = 0; returns && i < op->nret; i++) weiri_put(b, "%s%s", i ? ", " : "", op->work->returns[i].name);
    if (returns) weiri_put(b, " = ");
    if (op->group && op->res != op->group) weiri_put(b, "%s.", op->group->name);
    weiri_put(b, "%s:", op->res->name);
    static const char *const moves[] = {
        "", "try_wait", "wait", "", "release", "", "try_acquire", "acquire", "", "commit"
    }; /* ORDER STAGE */
    weiri_put(b, "%s(",
              op->atom == ATOM_NONE     ? moves[op->stage]
              : op->atom == ATOM_CUSTOM ? op->work->name
                                        : weiri_atom_name(op->atom));
    for (int i = 0; i < op->nargs; i++) {
        if (i) weiri_put(b, ", ");
        put_value(k, op->arg[i], b);
    }
    if (op->atom == ATOM_READ && op->nret && weiri_val(k, op->ret[0])->i)
        weiri_put(b, "%lld", (long long)weiri_val(k, op->ret[0])->i);
    if (op->atom == ATOM_DRAIN || (op->atom == ATOM_NONE && op->keep >= 0)) weiri_put(b, "%d", op->keep);
    static const char *const axes[] = { "", "m", "n", "mn" };
    if (op->multicast) weiri_put(b, ", multicast %s%s", axes[op->multicast], op->issue_first ? " by the first" : "");
    if (op->cache) weiri_put(b, ", %s", op->cache);
    if (op->push_k) {
        weiri_put(b, ", k = ");
        put_value(k, op->push_k, b);
    }
    weiri_put(b, ")");
}

static void put_block(const weir_kernel *k, const weiri_node *n, weiri_buf *b) {
    switch (n->kind) {
    case NODE_LOOP:
        weiri_put(b, "for %s in domain_loop(", weiri_val(k, n->index)->name);
        put_value(k, n->start, b);
        weiri_put(b, ", ");
        put_value(k, n->stop, b);
        weiri_put(b, ", ");
        put_value(k, n->step, b);
        weiri_put(b, n->unroll ? ") unroll %d" : ")", n->unroll);
        break;
    case NODE_GUARD:
        weiri_put(b, "%s(", opener(n));
        if (n->of) put_value(k, n->of, b);
        if (weiri_of_before(n)) weiri_put(b, "%s", n->queue ? n->queue->name : "?");
        if (n->guard == WEIR_GUARD_EVERY) weiri_put(b, ", %d, %d", n->period, n->phase);
        if (n->key) weiri_put(b, ", key = \"%s\"", n->key);
        weiri_put(b, ")");
        break;
    case NODE_TILES:
        weiri_put(b, "for t in work_tile_loop(%s", n->queue ? n->queue->name : "?");
        if (n->lanes > 1) weiri_put(b, ", lane %d of %d", n->lane, n->lanes);
        if (n->skip) {
            weiri_put(b, ", skip ");
            put_value(k, n->skip, b);
        }
        weiri_put(b, ")");
        break;
    case NODE_SKIPPABLE: weiri_put(b, "skippable"); break;
    case NODE_OP: put_op(k, n->op, b); break;
    }
}

static void put_place(const weiri_chain *at, weiri_buf *b) {
    for (int i = 0; i < at->n; i++)
        weiri_put(b, "%s%s:%d", i ? " < " : "  -- ", weiri_file_name(at->at[i].file), at->at[i].line);
}

static void put_list(const char *what, weir_res *const *list, int n, weiri_buf *b) {
    weiri_put(b, "%s", what);
    for (int i = 0; i < n; i++) weiri_put(b, "%s%s", i ? ", " : " ", list[i]->name);
    if (!n) weiri_put(b, " -");
}

/* One line per block or op, indented by nesting, with the author's lines behind it. */
void weiri_capture_print(const weir_kernel *k, weiri_buf *b) {
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        weiri_put(b, "task %s: warps [%d:%d)", t->name, t->first_warp, t->first_warp + t->num_warps);
        if (t->registers) weiri_put(b, ", registers %d", t->registers);
        put_list(", src", t->src, t->nsrc, b);
        put_list("; dst", t->dst, t->ndst, b);
        weiri_put(b, "\n");
        for (weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
            for (const weiri_node *p = n; p->parent; p = p->parent) weiri_put(b, "  ");
            put_block(k, n, b);
            put_place(&n->at, b);
            weiri_put(b, "\n");
        }
    }
}
