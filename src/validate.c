/* Rules over the model and the captured trees. Each check reads the same thing: per task a list of uses in the order they are
 * written, each body once, guards ignored. */
#include "validate.h"

#include <string.h>

#include "layout.h"
#include "protocol.h"
#include "range.h"
#include "raster.h"
#include "tcgen05.h"

/* ---- uses --------------------------------------------------------------------------------------------------------------- */

typedef enum section { SEC_ONCE, SEC_HEAD, SEC_LOOP, SEC_TAIL } section; /* ONCE: beside the work-tile loop */

/* One resource touched by one op. An op on a group is a use of each member that its task lists. */
typedef struct use {
    const weiri_op *op;
    const weiri_node *node;
    weir_res *res;
    weiri_stage stage;
    section sec;
    int order;              /* of the node in the tree */
    bool group_op, operand; /* operand: read as an argument of the op, not the op's own resource */
} use;

typedef struct uses {
    use *v;
    int n, cap;
} uses;

typedef struct checker {
    const weir_kernel *k;
    weiri_findings *out;
    uses *of;                     /* per task */
    WEIRI_LIST(weiri_edge) graph; /* as given, else every dst of a task on all its src */
    bool graph_given;
    WEIRI_LIST(const weiri_task *) edge_of; /* derived graph: whose edge it is */
} checker;

static bool in_list(weir_res *const *list, int n, const weir_res *r) {
    for (int i = 0; i < n; i++)
        if (list[i] == r) return true;
    return false;
}

/* Register tiles belong to their one task, which reads and writes them. */
static bool is_register_tile(const weir_res *r) { return r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA; }
static bool is_barrier_only(const weir_res *r) {
    return r->kind == WEIR_RES_BARRIER || r->kind == WEIR_RES_PDL_WAIT || r->kind == WEIR_RES_PDL_LAUNCH;
}
static bool in_src(const weiri_task *t, const weir_res *r) {
    return in_list(t->src, t->nsrc, r) || (is_register_tile(r) && in_list(t->dst, t->ndst, r));
}
static bool in_dst(const weiri_task *t, const weir_res *r) {
    return in_list(t->dst, t->ndst, r) || (is_register_tile(r) && in_list(t->src, t->nsrc, r));
}
static bool lists(const weiri_task *t, const weir_res *r) { return in_list(t->src, t->nsrc, r) || in_list(t->dst, t->ndst, r); }

static bool consumes(weiri_stage s) { return s <= STAGE_CONS_RELEASE; }
static bool is_work(weiri_stage s) { return s == STAGE_CONS_WORK || s == STAGE_PROD_WORK; }
static bool is_aux(weiri_stage s) { return s == STAGE_CONS_AUX || s == STAGE_PROD_AUX; }

/* Where a task's loops begin and end in tree order; without a loop everything is tail. */
typedef struct frame {
    const weiri_node *tiles;
    int first_loop, loop_end;
} frame;

static frame frame_of(const weiri_task *t) {
    frame f = { weiri_tile_loop(t), -1, -1 };
    int order = 0;
    const weiri_node *last = NULL;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n)); order++) {
        if (f.tiles && !weiri_node_inside(n, f.tiles)) continue;
        if (n->kind == NODE_LOOP && f.first_loop < 0) f.first_loop = order;
        if (n->kind == NODE_LOOP && (!last || !weiri_node_inside(n, last))) last = n;
        if (last && weiri_node_inside(n, last)) f.loop_end = order;
    }
    return f;
}

static section section_of(const frame *f, const weiri_node *n, int order) {
    if (f->tiles && !weiri_node_inside(n, f->tiles)) return SEC_ONCE;
    if (f->first_loop < 0 || order > f->loop_end) return SEC_TAIL;
    return order < f->first_loop ? SEC_HEAD : SEC_LOOP;
}

static void push(checker *c, uses *to, use u) { WEIRI_PUSH(c->out->a, *to, u); }

static uses collect(checker *c, const weiri_task *t) {
    uses all = { 0 };
    frame f = frame_of(t);
    int order = 0;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n)); order++) {
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        use u = { .op = op, .node = n, .res = op->res, .stage = op->stage, .sec = section_of(&f, n, order), .order = order };
        if (op->res->kind == WEIR_RES_GROUP) {
            u.group_op = true;
            for (int i = 0; i < op->res->nmembers; i++) {
                u.res = op->res->members[i];
                if (lists(t, u.res)) push(c, &all, u);
            }
            continue;
        }
        /* what it reads through views comes first: it is read before the result stands */
        for (int i = 0; i < op->nargs && op->atom != ATOM_READ && op->atom != ATOM_LOAD; i++) {
            weir_res *r = weiri_view_base(c->k, op->arg[i]);
            if (!r || r == op->res || r->kind == WEIR_RES_QUEUE) continue;
            use arg = u;
            arg.res = r;
            arg.stage = STAGE_CONS_WORK;
            arg.operand = true;
            push(c, &all, arg);
        }
        push(c, &all, u);
    }
    return all;
}

/* ---- findings ----------------------------------------------------------------------------------------------------------- */

/* The op's own place; its caller is the second place. */
#define AT_OP(op) weiri_place_of(&(op)->at)

static void called_from(weir_finding *f, const weiri_chain *at) {
    if (at->n > 1) weiri_second_place(f, &(weiri_chain){ at->at + 1, at->n - 1 }, "called from here");
}

static const char *move_text(weiri_stage s) {
    static const char *const names[] = {
        "consumer aux work", "try_wait",    "wait",    "consumer work", "release",
        "producer aux work", "try_acquire", "acquire", "producer work", "commit"
    }; /* ORDER STAGE */
    return names[s];
}

/* "tma_load", "fill", or the move: what the author wrote. */
static const char *written(const use *u) {
    if (u->op->atom == ATOM_NONE) return move_text(u->stage);
    return u->op->atom == ATOM_CUSTOM ? u->op->work->name : weiri_atom_name(u->op->atom);
}

/* "ab.a" or "a": how a resource is spelled. */
static const char *spelled(checker *c, const weir_res *r) {
    return r->group ? weiri_arena_fmt(c->out->a, "%s.%s", r->group->name, r->name) : r->name;
}

static const char *names_of(checker *c, weir_res *const *list, int n) {
    const char *s = "";
    for (int i = 0; i < n; i++) s = weiri_arena_fmt(c->out->a, "%s%s%s", s, i ? ", " : "", list[i]->name);
    return s;
}

/* ---- tasks, warps ------------------------------------------------------------------------------------------------------- */

static bool uses_wgmma(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_OP && n->op->atom == ATOM_MMA && n->op->res->kind == WEIR_RES_WGMMA) return true;
    return false;
}

static void check_task(checker *c, const weiri_task *t) {
    const weir_place *at = weiri_place_of(&t->at);
    if (!t->warps_refused && uses_wgmma(t) && (t->first_warp % 4 || t->num_warps % 4)) {
        weir_finding *f =
            weiri_find(c->out, "X-WARP-04", at,
                       "task '%s' uses wgmma on warps { %d, %d }: a warpgroup is 4 warps, the first a multiple of 4", t->name,
                       t->first_warp, t->num_warps);
        f->hint = weiri_arena_fmt(c->out->a, "warps = { %d, %d }", (t->first_warp + 3) / 4 * 4, (t->num_warps + 3) / 4 * 4);
    }
    if (t->registers && (t->registers % 8 || t->registers < 8 || t->registers > 256)) {
        weir_finding *f = weiri_find(c->out, "T-REG-01", at, "task '%s': registers = %d", t->name, t->registers);
        f->expected = "a multiple of 8, 24 to 256";
        f->got = weiri_arena_fmt(c->out->a, "%d", t->registers);
    }
    if (t->registers && t->registers < 24) {
        weir_finding *f = weiri_find(c->out, "X-REG-01", at, "task '%s': registers = %d, setmaxnreg takes 24 at least", t->name,
                                     t->registers);
        f->hint = "registers = 24";
    }
    int size[4] = { c->k->cluster.v, c->k->cluster.m, c->k->cluster.n, c->k->cluster.k };
    for (int i = 0; i < 4 && t->on_cta; i++) {
        if (t->cta[i] >= -1 && t->cta[i] < size[i]) continue;
        weir_finding *f = weiri_find(c->out, "T-CTA-01", at, "task '%s': cta %c = %d, the cluster has %d along %c", t->name,
                                     "vmnk"[i], t -> cta[i], size[i], "vmnk"[i]);
        f->hint = "a coordinate below the cluster's size";
    }
    if (!t->root->first)
        weiri_find(c->out, "T-SCHED-01", at, "task '%s' has an empty schedule", t->name)->hint =
            "write schedule = function() ... end";
    const weiri_node *tiles = weiri_tile_loop(t);
    if (tiles && tiles->queue && !in_list(t->src, t->nsrc, tiles->queue)) {
        weir_finding *f =
            tiles->skip
                ? weiri_find(c->out, "T-SKIP-01", weiri_place_of(&tiles->at),
                             "task '%s' skips tiles of queue '%s', which is not in its src", t->name, tiles->queue->name)
                : weiri_find(c->out, "V-ROLE-03", weiri_place_of(&tiles->at), "task '%s' walks queue '%s', which is not in its src",
                             t->name, tiles->queue->name);
        weiri_second_place(f, &t->at, "the task");
        f->hint = "add it to src, or leave src out: it is derived";
    }
    int queues = 0;
    for (int i = 0; i < t->nsrc; i++) queues += t->src[i]->kind == WEIR_RES_QUEUE;
    if (queues > 1) weiri_find(c->out, "T-WQ-01", at, "task '%s' takes tiles from %d queues", t->name, queues);
}

static void check_warps(checker *c) {
    const weir_kernel *k = c->k;
    bool covered[32] = { false };
    int top = 0;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *x = k->tasks.v[i];
        int end = x->first_warp + x->num_warps;
        if (x->warps_refused) continue;
        for (int w = x->first_warp; w < end; w++) covered[w] = true;
        if (end > top) top = end;
        for (int j = 0; j < i; j++) {
            const weiri_task *y = k->tasks.v[j];
            if (y->warps_refused || x->first_warp >= y->first_warp + y->num_warps || y->first_warp >= end) continue;
            weir_finding *f =
                weiri_find(c->out, "X-WARP-01", weiri_place_of(&x->at),
                           "task '%s' has warps %d to %d, task '%s' has warps %d to %d",
                           x->name, x->first_warp, end - 1, y->name, y->first_warp, y->first_warp + y->num_warps - 1);
            weiri_second_place(f, &y->at, "the other task");
            int from = y->first_warp + y->num_warps;
            if (x->num_warps % 4 == 0) from = (from + 3) / 4 * 4; /* keeps warpgroups whole */
            f->hint = weiri_arena_fmt(c->out->a, "start it at warp %d", from);
        }
    }
    for (int g = 0; 4 * g < top; g++) { /* single warps are padding of their warpgroup; a whole idle one is odd */
        if (covered[4 * g] || covered[4 * g + 1] || covered[4 * g + 2] || covered[4 * g + 3]) continue;
        weiri_find(c->out, "X-WARP-03", weiri_place_of(&k->at), "warps %d to %d belong to no task and idle", 4 * g, 4 * g + 3);
    }
}

static int default_registers(const weir_kernel *k) {
    int warps = 0;
    for (int i = 0; i < k->tasks.n; i++) {
        int end = k->tasks.v[i]->first_warp + k->tasks.v[i]->num_warps;
        if (end > warps) warps = end;
    }
    warps = (warps + 3) / 4 * 4;
    return warps > 0 ? 65536 / (warps * 32 * 8) * 8 : 0;
}

static void check_registers(checker *c) {
    const weir_kernel *k = c->k;
    for (int g = 0; g < 8; g++) {
        const weiri_task *seen = NULL;
        for (int i = 0; i < k->tasks.n; i++) {
            const weiri_task *t = k->tasks.v[i];
            if (!t->registers || t->warps_refused || t->first_warp >= 4 * g + 4 || t->first_warp + t->num_warps <= 4 * g)
                continue;
            if (seen && seen->registers != t->registers) {
                weir_finding *f =
                    weiri_find(c->out, "V-WG-02", weiri_place_of(&t->at),
                               "warps %d to %d are one warpgroup: task '%s' asks for %d registers there, task '%s' for %d",
                               4 * g, 4 * g + 3, t->name, t->registers, seen->name, seen->registers);
                weiri_second_place(f, &seen->at, "the other task");
                f->hint = "one value per warpgroup, or other warps";
                break;
            }
            seen = t;
        }
    }
    int64_t total = 0;
    const weiri_task *most = NULL;
    int d = default_registers(k);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        total += (int64_t)t->num_warps * 32 * (t->registers ? t->registers : d < 256 ? d : 256);
        if (t->registers && (!most || t->registers * t->num_warps > most->registers * most->num_warps)) most = t;
    }
    if (most && total > 65536) {
        weir_finding *f = weiri_find(c->out, "V-REG-01", weiri_place_of(&most->at),
                                     "the tasks ask for %lld registers, an SM has 65536",
                                     (long long)total);
        f->hint = weiri_arena_fmt(c->out->a, "lower the registers of task '%s'", most->name);
    }
}

/* ---- roles, graph, coverage --------------------------------------------------------------------------------------------- */

static void check_roles(checker *c, const weiri_task *t, const uses *us) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) { /* a group op without listed members left no use */
        if (n->kind != NODE_OP || n->op->res->kind != WEIR_RES_GROUP) continue;
        const weir_res *g = n->op->res;
        bool any = false;
        for (int i = 0; i < g->nmembers; i++) any |= lists(t, g->members[i]);
        if (any) continue;
        if (!t->src_given && !t->dst_given) continue;
        weir_finding *f =
            weiri_find(c->out, "V-ROLE-04", AT_OP(n->op), "task '%s' moves group '%s' and lists none of its members (%s)",
                       t->name, g->name, names_of(c, g->members, g->nmembers));
        f->hint = "list the members it moves in src or dst, or leave both out: they are derived";
        f->objects[0] = g->name;
        for (int i = 0; i < g->nmembers && i < 3; i++) f->objects[i + 1] = g->members[i]->name;
        weiri_second_place(f, &t->at, "the task");
    }
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        bool src = in_src(t, u->res), dst = in_dst(t, u->res);
        if (u->group_op || (src && dst)) continue;
        const char *rule = !src && !dst                 ? "V-ROLE-03"
                           : src && !consumes(u->stage) ? "V-ROLE-01"
                           : dst && consumes(u->stage)  ? "V-ROLE-02"
                                                        : NULL;
        bool told = false;
        for (int j = 0; j < i && rule; j++)
            told |= us->v[j].res == u->res && !us->v[j].group_op && consumes(us->v[j].stage) == consumes(u->stage);
        if (!rule || told) continue;
        const char *in = src ? "only in src" : dst ? "only in dst" : "in neither src nor dst";
        weir_finding *f = u->operand ? weiri_find(c->out, rule, AT_OP(u->op), "task '%s': '%s' is %s and is read here by %s",
                                                  t->name, u->res->name, in, written(u))
                                     : weiri_find(c->out, rule, AT_OP(u->op), "task '%s': '%s' is %s and has %s here", t->name,
                                                  u->res->name, in, written(u));
        weiri_second_place(f, &t->at, "the task");
        f->hint = weiri_arena_fmt(c->out->a, "add it to %s, or leave src and dst out: they are derived",
                                  consumes(u->stage) ? "src" : "dst");
    }
}

static void add_edge(checker *c, const weiri_task *t, weir_res *down, weir_res **up, int nup) {
    weiri_edge e = { .down = down, .up = up, .nup = nup };
    WEIRI_PUSH(c->out->a, c->edge_of, t);
    WEIRI_PUSH(c->out->a, c->graph, e);
}

static void make_graph(checker *c) {
    const weir_kernel *k = c->k;
    c->graph_given = k->edges.n > 0;
    for (int i = 0; i < k->edges.n; i++) WEIRI_PUSH(c->out->a, c->graph, k->edges.v[i]);
    for (int i = 0; i < k->tasks.n && !c->graph_given; i++) {
        const weiri_task *t = k->tasks.v[i];
        for (int j = 0; j < t->ndst; j++) {
            weir_res **up = WEIRI_NEW_N(c->out->a, weir_res *, t->nsrc + 1);
            int n = 0;
            for (int s = 0; s < t->nsrc; s++)
                if (t->src[s] != t->dst[j] || t->dst[j]->kind == WEIR_RES_QUEUE) up[n++] = t->src[s];
            add_edge(c, t, t->dst[j], up, n);
        }
    }
}

static bool has_self_edge(const checker *c, const weir_res *r) {
    for (int i = 0; i < c->graph.n; i++)
        if (c->graph.v[i].down == r && in_list(c->graph.v[i].up, c->graph.v[i].nup, r)) return true;
    return false;
}

static bool anyone(const checker *c, const weir_res *r, bool (*lists_it)(const weiri_task *, const weir_res *)) {
    for (int i = 0; i < c->k->tasks.n; i++)
        if (lists_it(c->k->tasks.v[i], r)) return true;
    return false;
}

static bool is_backed(const checker *c, const weir_res *up, const weir_res *down) {
    bool loose = is_barrier_only(up) || is_barrier_only(down) || has_self_edge(c, up) || has_self_edge(c, down);
    if (up == down && up->kind != WEIR_RES_QUEUE) return anyone(c, up, in_src) && anyone(c, up, in_dst);
    if (up == down) loose = false;
    for (int i = 0; i < c->k->tasks.n; i++) {
        const weiri_task *t = c->k->tasks.v[i];
        if (loose ? lists(t, up) && lists(t, down) : in_src(t, up) && in_dst(t, down)) return true;
    }
    return false;
}

static void check_graph(checker *c) {
    for (int i = 0; i < c->graph.n && c->graph_given; i++) {
        const weiri_edge *e = &c->graph.v[i];
        const weir_place *at = weiri_place_of(&e->at);
        bool down_used = anyone(c, e->down, lists);
        if (!down_used)
            weiri_find(c->out, "V-DEP-01", at, "depends: '%s' is used by no task", e->down->name)->hint = "leave the entry out";
        for (int j = 0; j < e->nup; j++) {
            const weir_res *up = e->up[j];
            if (!anyone(c, up, lists)) {
                if (up != e->down)
                    weiri_find(c->out, "V-DEP-02", at, "depends: '%s' depends on '%s', which is used by no task", e->down->name,
                               up->name)
                        ->hint = "leave it out";
                continue;
            }
            if (!down_used || is_backed(c, up, e->down)) continue;
            bool self = up == e->down && up->kind != WEIR_RES_QUEUE;
            if (self) {
                weiri_find(c->out, "V-DEP-03", at, "depends: '%s' depends on itself, but no task %s it", up->name,
                           anyone(c, up, in_src) ? "produces" : "consumes");
                continue;
            }
            weir_finding *f =
                weiri_find(c->out, "V-DEP-04", at, "depends: '%s' depends on '%s', but no task has '%s' in src and '%s' in dst",
                           e->down->name, up->name, up->name, e->down->name);
            f->hint = "leave the edge out, or add the resource to the task that carries it";
        }
    }
    for (int i = 0; i < c->k->tasks.n && c->graph_given; i++) {
        const weiri_task *t = c->k->tasks.v[i];
        for (int s = 0; s < t->nsrc + t->ndst; s++) {
            const weir_res *r = s < t->nsrc ? t->src[s] : t->dst[s - t->nsrc];
            bool in_graph = is_register_tile(r);
            for (int e = 0; e < c->graph.n; e++)
                in_graph |= c->graph.v[e].down == r || in_list(c->graph.v[e].up, c->graph.v[e].nup, r);
            if (in_graph) continue;
            weir_finding *f =
                weiri_find(c->out, "V-COV-01", weiri_place_of(&t->at),
                           "task '%s': '%s' does not occur in depends", t->name, r->name);
            f->hint = weiri_arena_fmt(c->out->a, "add { %s, { ... } }, with an empty list if it depends on nothing", r->name);
        }
    }
}

static void check_used(checker *c, const weiri_task *t, const uses *us) {
    const weiri_node *tiles = weiri_tile_loop(t);
    for (int s = 0; s < t->nsrc + t->ndst; s++) {
        const weir_res *r = s < t->nsrc ? t->src[s] : t->dst[s - t->nsrc];
        bool used = tiles && tiles->queue == r;
        for (int i = 0; i < us->n && !used; i++) used = us->v[i].res == r;
        if (!used)
            weiri_find(c->out, "V-USE-01", weiri_place_of(&t->at), "task '%s' lists '%s' in %s and does nothing with it", t->name,
                       r->name, s < t->nsrc ? "src" : "dst")
                ->hint = "leave it out";
    }
}

/* ---- brackets ----------------------------------------------------------------------------------------------------------- */

typedef struct side {
    weiri_stage try_it, open, work, close;
} side;
static const side consumer = { STAGE_CONS_TRY, STAGE_CONS_WAIT, STAGE_CONS_WORK, STAGE_CONS_RELEASE };
static const side producer = { STAGE_PROD_TRY, STAGE_PROD_ACQUIRE, STAGE_PROD_WORK, STAGE_PROD_COMMIT };

/* Does `down` follow from `up` in the graph, over any number of edges? */
static bool is_downstream(const checker *c, const weir_res *up, const weir_res *down, int steps) {
    for (int i = 0; i < c->graph.n && steps > 0; i++) {
        const weiri_edge *e = &c->graph.v[i];
        if (in_list(e->up, e->nup, up) && (e->down == down || (e->down != up && is_downstream(c, e->down, down, steps - 1))))
            return true;
    }
    return false;
}

/* A move that opens something downstream of r before index `before`: what lets one task wait and another work. */
static bool has_proxy(const checker *c, const uses *us, const weir_res *r, const side *s, int before) {
    for (int i = 0; i < before; i++) {
        const use *u = &us->v[i];
        if (u->stage == s->open && u->res != r && weiri_piped(u->res) && is_downstream(c, r, u->res, 8)) return true;
    }
    return false;
}

static bool has(const uses *us, const weir_res *r, weiri_stage s) {
    for (int i = 0; i < us->n; i++)
        if (us->v[i].res == r && us->v[i].stage == s) return true;
    return false;
}

/* Does another task give back what this one waits for? Then it may read the stage before it hands on; in time or not, the proof says. */
static bool given_back_elsewhere(const checker *c, const weiri_task *t, const weir_res *r) {
    for (int i = 0; i < c->k->tasks.n; i++)
        if (c->k->tasks.v[i] != t && has(&c->of[i], r, STAGE_CONS_RELEASE) && !has(&c->of[i], r, STAGE_CONS_WAIT)) return true;
    return false;
}

/* Does the task push from r? A stage that is pushed is free when the target's is acquired again, in the next pass of a loop: its release may
 * stand there, in front of the wait. In time or not, the proof says. */
static bool pushes_from(const checker *c, const uses *us, const weir_res *r) {
    for (int i = 0; i < us->n; i++)
        if (us->v[i].op->atom == ATOM_PUSH && us->v[i].op->nargs && weiri_view_base(c->k, us->v[i].op->arg[0]) == r) return true;
    return false;
}

typedef struct order { const int *v; int n; } order; /* indices of uses */

static bool looks_back(const weiri_node *n) {
    while (n && !weiri_of_before(n)) n = n->parent;
    return n != NULL;
}

/* The uses as they follow each other. A task that looks back holds over the turns: its tile twice, first without what asks for the tile
 * before. */
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

static void bracket(checker *c, const weiri_task *t, const uses *us, const order *in, const weir_res *r, const side *s) {
    int nopen = 0, nclose = 0, nwork = 0, first_work = -1;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != r) continue;
        nopen += u->stage == s->open;
        nclose += u->stage == s->close;
        if (u->stage == s->work && nwork++ == 0) first_work = i;
    }
    if (!nwork || !weiri_piped(r)) return;
    const char *name = spelled(c, r), *open = move_text(s->open), *close = move_text(s->close);
    if (!nopen && !nclose) {
        if (has_proxy(c, us, r, s, us->n)) return;
        const use *u = &us->v[first_work];
        weir_finding *f = weiri_find(c->out, "V-BRK-01", AT_OP(u->op), "task '%s': %s on '%s' without %s and %s", t->name,
                                     written(u), name, open, close);
        f->hint = weiri_arena_fmt(c->out->a, "write %s:%s() before and %s:%s() after it", name, open, name, close);
        called_from(f, &u->op->at);
        return;
    }
    int held = 0;
    bool proxied = !nopen && has_proxy(c, us, r, s, us->n);
    const use *pending = NULL, *told = NULL;
    for (int j = 0; j < in->n; j++) {
        const int i = in->v[j];
        const use *u = &us->v[i];
        if (u->res != r) continue;
        if (u->stage == s->open) held++;
        if (u->stage == s->work) {
            pending = u;
            if (held > 0 || (proxied && has_proxy(c, us, r, s, i))) continue;
            held = 1; /* said once per gap, and not again in another turn */
            if (told && told >= u) continue;
            told = u;
            weir_finding *f = weiri_find(c->out, "V-BRK-02", AT_OP(u->op), "task '%s': %s on '%s' without %s before it",
                                         t->name, written(u), name, open);
            f->hint = weiri_arena_fmt(c->out->a, "write %s:%s() first", name, open);
            called_from(f, &u->op->at);
        }
        if (u->stage == s->close && pending) {
            pending = NULL;
            held = u->op->keep < 0 ? held - 1 : held < u->op->keep ? held : u->op->keep;
        }
    }
    if (!pending || (!nclose && s == &consumer && given_back_elsewhere(c, t, r))) return;
    if (nclose && s == &consumer && pushes_from(c, us, r)) return;
    weir_finding *f = weiri_find(c->out, "V-BRK-03", AT_OP(pending->op), "task '%s': %s on '%s' without %s after it", t->name,
                                 written(pending), name, close);
    f->hint = weiri_arena_fmt(c->out->a, "write %s:%s() after it", name, close);
    called_from(f, &pending->op->at);
}

static void try_rule(checker *c, const weiri_task *t, const uses *us, const weir_res *r, const side *s) {
    const use *open_try = NULL;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != r) continue;
        if (u->stage == s->try_it) open_try = u;
        if (u->stage == s->open) open_try = NULL;
    }
    if (!open_try || !weiri_piped(r)) return;
    const char *name = spelled(c, r);
    weir_finding *f = weiri_find(c->out, "V-BRK-04", AT_OP(open_try->op), "task '%s': %s on '%s' without %s after it", t->name,
                                 move_text(s->try_it), name, move_text(s->open));
    f->hint = weiri_arena_fmt(c->out->a, "write %s:%s() where the stage is needed", name, move_text(s->open));
}

static void check_brackets(checker *c, const weiri_task *t, const uses *us) {
    const order in = order_of(c, t, us);
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE) continue;
        bracket(c, t, us, &in, r, &consumer);
        bracket(c, t, us, &in, r, &producer);
        try_rule(c, t, us, r, &consumer);
        try_rule(c, t, us, r, &producer);
    }
}

/* ---- nesting ------------------------------------------------------------------------------------------------------------ */

static void check_skippable(checker *c, const weiri_task *t) {
    const weiri_node *tiles = weiri_tile_loop(t);
    if (!tiles || !tiles->skip) return;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (!weiri_node_inside(n, tiles)) continue;
        const weiri_node *skippable = n;
        while (skippable && skippable->kind != NODE_SKIPPABLE) skippable = skippable->parent;
        if (n->kind == NODE_LOOP && !skippable) {
            weir_finding *f = weiri_find(
                c->out, "C-NEST-11", weiri_place_of(&n->at),
                "task '%s': the work-tile loop skips tiles, and this domain loop runs on them all the same", t->name);
            f->hint = "put it inside `for _ in tile:skippable() do ... end`";
            weiri_second_place(f, &tiles->at, "the work-tile loop");
        }
        if (n->kind == NODE_OP && skippable && n->op->res->kind == WEIR_RES_QUEUE) {
            weir_finding *f = weiri_find(c->out, "C-NEST-12", weiri_place_of(&n->at),
                                         "task '%s': a step of queue '%s' inside skippable",
                                         t->name, n->op->res->name);
            f->hint = "put it behind the skippable block: the queue moves on for skipped tiles too";
        }
    }
}

/* ---- work queue --------------------------------------------------------------------------------------------------------- */

static const weir_res *queue_of(const weiri_task *t) {
    for (int i = 0; i < t->nsrc; i++)
        if (t->src[i]->kind == WEIR_RES_QUEUE) return t->src[i];
    return NULL;
}

static bool only_queues(const weiri_task *t) {
    for (int i = 0; i < t->ndst; i++)
        if (t->dst[i]->kind != WEIR_RES_QUEUE) return false;
    return t->ndst > 0;
}

static bool is_dynamic(const weir_res *q) { return q->qkind == WEIR_QUEUE_CLC || q->qkind == WEIR_QUEUE_ATOMIC; }

static void put_steps(weiri_buf *b, const weiri_stage *s, int n) {
    for (int i = 0; i < n; i++)
        weiri_put(b, "%s%s", i ? ", " : "",
                  s[i] == STAGE_CONS_WORK   ? "get_and_advance_work_tile"
                  : s[i] == STAGE_PROD_WORK ? "fetch_work_tile"
                                            : move_text(s[i]));
    if (!n) weiri_put(b, "nothing");
}

/* The tail of a tile: [try_wait,] wait, get_and_advance, release; the scheduler fetches the next one first. */
static bool tail_fits(const weiri_stage *s, int n, bool scheduler) {
    static const weiri_stage plain[] = { STAGE_CONS_WAIT, STAGE_CONS_WORK, STAGE_CONS_RELEASE };
    static const weiri_stage fetch[] = { STAGE_PROD_ACQUIRE, STAGE_PROD_WORK, STAGE_PROD_COMMIT };
    int i = 0, tries = 0;
    if (scheduler) {
        if (i < n && s[i] == STAGE_PROD_TRY) tries++, i++;
        for (int j = 0; j < 3; j++, i++)
            if (i >= n || s[i] != fetch[j]) return false;
    }
    if (i < n && s[i] == STAGE_CONS_TRY) tries++, i++;
    for (int j = 0; j < 3; j++, i++)
        if (i >= n || s[i] != plain[j]) return false;
    return i == n && (!scheduler || tries != 1);
}

static bool in_loop(const weiri_node *n) {
    while (n && n->kind != NODE_LOOP) n = n->parent;
    return n != NULL;
}

static void check_tail(checker *c, const weiri_task *t, const uses *us, const weir_res *q) {
    bool scheduler = only_queues(t), misplaced = false;
    weiri_stage seen[64];
    int n = 0, steps = 0;
    const use *any = NULL;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != q || u->sec == SEC_ONCE) continue;
        any = u;
        if (!is_aux(u->stage) && (u->sec == SEC_HEAD || u->sec == SEC_LOOP)) {
            if (!misplaced) {
                weir_finding *f = weiri_find(c->out, u->sec == SEC_HEAD ? "V-WQ-02" : "V-WQ-03", AT_OP(u->op),
                                             "task '%s': %s of queue '%s' %s", t->name, written(u), q->name,
                                             u->sec == SEC_HEAD ? "before the domain loop"
                                             : in_loop(u->node) ? "inside a domain loop"
                                                                : "between domain loops");
                f->hint = "take the next tile at the end of the work-tile loop: wq:next()";
            }
            misplaced = true;
        } else if (u->sec == SEC_TAIL) {
            steps += !is_aux(u->stage);
            if (n < 64) seen[n++] = u->stage;
        }
    }
    if (misplaced) return;
    const weir_place *at = any ? AT_OP(any->op) : weiri_place_of(&t->at);
    if (!steps) {
        weiri_find(c->out, "V-WQ-04", weiri_place_of(&t->at), "task '%s' never takes the next tile of queue '%s'", t->name, q->name)
            ->hint = "end the work-tile loop with wq:next()";
        return;
    }
    if (tail_fits(seen, n, scheduler)) return;
    weiri_buf b;
    weiri_buf_init(&b, c->k->ctx);
    put_steps(&b, seen, n);
    weir_finding *f = weiri_find(c->out, scheduler ? "V-WQ-08" : "V-WQ-07", at,
                                 "task '%s' ends a tile of queue '%s' with other steps than it should", t->name, q->name);
    f->expected = scheduler ? "[try_acquire,] acquire, fetch_work_tile, commit, [try_wait,] wait, get_and_advance_work_tile, "
                              "release (both tries or none)"
                            : "[try_wait,] wait, get_and_advance_work_tile, release";
    f->got = weiri_arena_str(c->out->a, b.s ? b.s : "");
    f->hint = scheduler ? "wq:fetch(); wq:next()" : "wq:next()";
    weiri_buf_free(&b);
}

static void check_queue(checker *c) {
    const weir_kernel *k = c->k;
    const weir_res *queues[64];
    int persistent = 0, nq = 0;
    const weiri_task *idle = NULL;
    for (int i = 0; i < k->tasks.n; i++) {
        const weir_res *q = queue_of(k->tasks.v[i]);
        if (q) persistent++;
        else idle = k->tasks.v[i];
        bool seen = !q;
        for (int j = 0; j < nq; j++) seen |= queues[j] == q;
        if (!seen && nq < 64) queues[nq++] = q;
    }
    if (!persistent) return;
    if (nq > 1) {
        weiri_find(c->out, "V-WQ-05", weiri_place_of(&queues[1]->at),
                   "the tasks walk %d queues ('%s' and '%s'), one is possible", nq,
                   queues[0]->name, queues[1]->name)
            ->hint = "walk one queue in all tasks";
        return;
    }
    if (idle) {
        weir_finding *f = weiri_find(c->out, "V-WQ-01", weiri_place_of(&idle->at),
                                     "task '%s' does not walk queue '%s', other tasks do",
                                     idle->name, queues[0]->name);
        f->hint = "wrap its schedule in `for tile in weir.work_tile_loop(wq) do ... end`";
        return;
    }
    const weir_res *q = queues[0];
    int schedulers = 0, makers = 0, wanted = is_dynamic(q) ? 1 : 0;
    const weiri_task *maker = NULL;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        schedulers += only_queues(t);
        if (in_list(t->dst, t->ndst, q)) makers++, maker = t;
        check_tail(c, t, &c->of[i], q);
    }
    if (schedulers != wanted) {
        weir_finding *f = weiri_find(c->out, "V-WQ-06", weiri_place_of(&q->at),
                                     "queue '%s': %d task%s fetch tiles and nothing else",
                                     q->name, schedulers, schedulers == 1 ? "" : "s");
        f->expected = weiri_arena_fmt(c->out->a, "%d", wanted);
        f->got = weiri_arena_fmt(c->out->a, "%d", schedulers);
        f->hint =
            wanted ? "give the queue one task that only fetches: wq:fetch(); wq:next()" : "a static queue fetches nothing";
    } else if (makers != wanted) {
        weir_finding *f = weiri_find(c->out, "V-WQ-09", maker ? weiri_place_of(&maker->at) : weiri_place_of(&q->at),
                                     "queue '%s' is in dst of %d task%s", q->name, makers, makers == 1 ? "" : "s");
        f->expected = weiri_arena_fmt(c->out->a, "%d", wanted);
        f->got = weiri_arena_fmt(c->out->a, "%d", makers);
        f->hint = wanted ? "the scheduler alone fetches" : "leave it out of dst: a static queue computes its tiles";
    }
}

/* ---- order of releases, splits, self-edges ------------------------------------------------------------------------------ */

static bool is_hardware_produced(const weir_res *r) {
    weir_pipe_type t = r->pipe.given.type;
    return t == WEIR_TMA_ASYNC || t == WEIR_TMA_UMMA || t == WEIR_UMMA_ASYNC || t == WEIR_UMMA_UMMA ||
           t == WEIR_CLC_FETCH_ASYNC;
}

static bool takes_view(const weir_kernel *k, const weiri_op *op, const weir_res *r) {
    for (int i = 0; i < op->nargs; i++)
        if (op->arg[i] && weiri_view_base(k, op->arg[i]) == r) return true;
    return false;
}

static const weiri_labels *labels_of(const checker *c, const weir_res *up, const weir_res *down) {
    for (int i = 0; i < c->k->labels.n; i++)
        if (c->k->labels.v[i].up == up && c->k->labels.v[i].down == down) return &c->k->labels.v[i];
    return NULL;
}

/* A release's label is the latest work on its resource. */
static bool is_labelled(const weiri_labels *l, const use *latest) {
    for (int i = 0; i < l->n && latest; i++)
        if (strcmp(l->work[i], written(latest)) == 0) return true;
    return false;
}

/* Work on `down` is issued between the wait for a stage of `up` and its release. Stages that another task waited for: somewhere
 * before the release. */
static void release_after_issue(checker *c, const weiri_task *t, const uses *us, const weir_res *up, const weir_res *down) {
    const weiri_labels *labels = labels_of(c, up, down);
    bool seen = false, ever_issued = false, matched = false, ended = false;
    int held = 0, unissued = 0; /* stages waited for; of them, the newest that no work followed */
    const use *latest = NULL, *first_release = NULL;
    for (int i = 0; i < us->n && !ended; i++) {
        const use *u = &us->v[i];
        if (u->res == down && u->stage == STAGE_PROD_WORK) ever_issued = true, unissued = 0;
        if (u->res != up) continue;
        if (u->stage == STAGE_CONS_WORK) latest = u;
        if (u->stage == STAGE_CONS_WAIT) held++, unissued++, seen = true;
        if (u->stage != STAGE_CONS_RELEASE) continue;
        if (!first_release) first_release = u;
        bool meant = !labels || is_labelled(labels, latest);
        matched |= meant;
        bool issued = seen && held > 0 ? held > unissued : ever_issued;
        if (meant && !issued) {
            weir_finding *f = weiri_find(c->out, "V-DMA-01", AT_OP(u->op),
                                         "task '%s' releases '%s' before the work on '%s' that reads it is issued", t->name,
                                         spelled(c, up), spelled(c, down));
            f->objects[0] = up->name, f->objects[1] = down->name;
            f->hint = "release it after that work";
            called_from(f, &u->op->at);
            ended = true;
        }
        int keep = u->op->keep < 0 ? held - 1 : u->op->keep;
        held = keep < 0 ? 0 : keep < held ? keep : held;
        if (unissued > held) unissued = held;
    }
    if (!labels || !first_release || matched) return;
    const char *names = "";
    for (int i = 0; i < labels->n; i++) names = weiri_arena_fmt(c->out->a, "%s%s%s", names, i ? ", " : "", labels->work[i]);
    weir_finding *f = weiri_find(c->out, "V-DMA-02", AT_OP(first_release->op),
                                 "task '%s': no release of '%s' follows the work that its edge to '%s' names", t->name,
                                 spelled(c, up), spelled(c, down));
    f->objects[0] = up->name, f->objects[1] = down->name;
    f->expected = weiri_arena_fmt(c->out->a, "a release after %s", names);
    f->got = latest ? weiri_arena_fmt(c->out->a, "releases after %s", written(latest)) : "releases after no work";
    weiri_second_place(f, &labels->at, "the edge");
    f->hint = "name the work that the release follows";
}

/* A task that fills `down` and never says by what. */
static bool fills_without_work(checker *c, const weiri_task *t, const uses *us, const weir_res *down) {
    bool commits = false;
    const use *at = NULL;
    const weir_res *fork = down->group && down->group->mode == WEIR_GROUP_FORK ? down->group : NULL;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != down && !(fork && u->res->group == fork)) continue; /* in a fork one load is every member's */
        if (u->stage == STAGE_PROD_WORK) return false;
        if (u->stage == STAGE_PROD_COMMIT && !at) commits = true, at = u;
    }
    if (!commits) return true;
    weir_finding *f = weiri_find(c->out, "V-DMA-03", AT_OP(at->op), "task '%s' commits '%s' and does no work on it", t->name,
                                 spelled(c, down));
    f->objects[0] = down->name;
    f->hint = "write the work that fills the stage, between acquire and commit";
    return true;
}

/* A derived edge only says that one task touches both. Does work on `down` read `up`: take a view of it, or may a body do so? */
static bool may_read(const checker *c, const uses *us, const weir_res *up, const weir_res *down) {
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != down || u->stage != STAGE_PROD_WORK || u->operand) continue;
        if (u->op->atom == ATOM_CUSTOM || takes_view(c->k, u->op, up)) return true;
    }
    return false;
}

static void check_dma(checker *c) {
    for (int i = 0; i < c->graph.n; i++) {
        const weiri_edge *e = &c->graph.v[i];
        const weir_res *down = e->down;
        if (!is_hardware_produced(down) || down->kind == WEIR_RES_QUEUE) continue;
        for (int ti = 0; ti < c->k->tasks.n; ti++) {
            const weiri_task *t = c->k->tasks.v[ti];
            if (!in_dst(t, down) || (!c->graph_given && c->edge_of.v[i] != t)) continue;
            if (fills_without_work(c, t, &c->of[ti], down)) continue;
            for (int j = 0; j < e->nup; j++) {
                const weir_res *up = e->up[j];
                if (up == down || up->kind == WEIR_RES_QUEUE || !in_src(t, up)) continue;
                if (pushes_from(c, &c->of[ti], up)) continue;
                if (c->graph_given || may_read(c, &c->of[ti], up, down)) release_after_issue(c, t, &c->of[ti], up, down);
            }
        }
    }
}

/* ---- types of pipelines ------------------------------------------------------------------------------------------------- */

typedef enum filler { BY_NOBODY, BY_THREADS, BY_COPIES } filler;

/* What a use puts into the stage, as far as the core knows it: of a body only that it brings bytes. */
static filler filled_by(const use *u) {
    if (u->stage != STAGE_PROD_WORK || u->operand) return BY_NOBODY;
    switch (u->op->atom) {
    case ATOM_TMA_LOAD: return BY_COPIES;
    case ATOM_STORE:
    case ATOM_CP_ASYNC: return BY_THREADS;
    case ATOM_CUSTOM: return u->op->work->tx_bytes ? BY_COPIES : BY_NOBODY;
    default: return BY_NOBODY;
    }
}

static void wrong_type(checker *c, const weir_res *r, const use *u, const char *rule, const char *what, weir_pipe_type fits) {
    const char *given = weiri_pipe_type_name(r->pipe.given.type);
    weir_finding *f = weiri_find(c->out, rule, AT_OP(u->op), "%s on '%s', whose pipeline is %s: %s", written(u), spelled(c, r),
                                 given, what);
    f->objects[0] = r->name;
    f->got = given;
    f->expected = weiri_pipe_type_name(fits);
    f->hint = weiri_arena_fmt(c->out->a, "pipeline = weir.pipeline.%s { stages = %d }", f->expected, r->pipe.given.stages);
    weiri_second_place(f, &r->pipe.at, "the pipeline");
}

/* An umma consumer's release stands for the mma that has read the stage: the first use by a task that releases and has no mma. */
static const use *reads_without_mma(const checker *c, const weir_res *r, const weiri_task **by) {
    for (int i = 0; i < c->k->tasks.n; i++) {
        const use *reads = NULL, *releases = NULL;
        bool mma = false;
        for (int j = 0; j < c->of[i].n; j++) {
            const use *u = &c->of[i].v[j];
            if (u->res != r) continue;
            if (u->stage == STAGE_CONS_RELEASE) releases = u;
            if (u->stage != STAGE_CONS_WORK) continue;
            mma |= u->op->atom == ATOM_MMA || u->op->atom == ATOM_CUSTOM; /* what a body reads by, it alone knows */
            if (!reads && u->op->atom != ATOM_READ) reads = u;
        }
        *by = c->k->tasks.v[i];
        if (reads && releases && !mma) return reads;
    }
    return NULL;
}

static void check_type(checker *c, const weir_res *r) {
    const weir_pipe_type t = r->pipe.given.type;
    const use *threads = NULL, *copies = NULL;
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int j = 0; j < c->of[i].n; j++) {
            const use *u = &c->of[i].v[j];
            filler by = u->res == r ? filled_by(u) : BY_NOBODY;
            if (by == BY_THREADS && !threads) threads = u;
            if (by == BY_COPIES && !copies) copies = u;
        }
    const weiri_task *by = NULL;
    const bool tma = t == WEIR_TMA_ASYNC || t == WEIR_TMA_UMMA;
    const bool umma = t == WEIR_TMA_UMMA || t == WEIR_ASYNC_UMMA || t == WEIR_UMMA_UMMA;
    const use *reads = umma ? reads_without_mma(c, r, &by) : NULL, *fills = NULL;
    const char *why = NULL;
    if (copies && (t == WEIR_ASYNC_ASYNC || t == WEIR_ASYNC_UMMA || t == WEIR_ASYNC_TMA))
        fills = copies, why = "its full barrier counts arrivals of threads, and a copy brings bytes";
    if (threads && !copies && tma)
        fills = threads, why = "its full barrier waits for bytes of copies, and here threads fill the stage";
    if (t == WEIR_UMMA_ASYNC || t == WEIR_UMMA_UMMA)
        fills = copies ? copies : threads, why = "its stages are what an mma leaves in a tmem_tile";
    if (t == WEIR_CLC_FETCH_ASYNC) fills = copies ? copies : threads, why = "its stages are the answers to a work_queue";
    const bool by_copies = copies || (tma && !threads), for_mma = umma && !reads;
    const weir_pipe_type fits =
        by_copies ? for_mma ? WEIR_TMA_UMMA : WEIR_TMA_ASYNC : for_mma ? WEIR_ASYNC_UMMA : WEIR_ASYNC_ASYNC;
    if (fills) wrong_type(c, r, fills, "V-TYPE-01", why, fits);
    if (!reads || t == WEIR_UMMA_UMMA) return;
    const char *agent = reads->op->atom == ATOM_TMA_STORE || reads->op->atom == ATOM_TMA_REDUCE_ADD ? "TMA" : "threads";
    why = weiri_arena_fmt(c->out->a, "its empty barrier counts what an mma has read, and task '%s' reads it by %s", by->name,
                          agent);
    wrong_type(c, r, reads, "V-TYPE-02", why, fits);
}

static void check_pipes(checker *c) {
    const weir_kernel *k = c->k;
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (!weiri_piped(r) || r->kind == WEIR_RES_GROUP) continue;
        const weir_pipe_desc *p = &r->pipe.given;
        if (weiri_in_smem(r)) check_type(c, r);
        if (p->consumer_wait_signaling) {
            bool split = false;
            for (int t = 0; t < k->tasks.n; t++)
                split |= has(&c->of[t], r, STAGE_CONS_WAIT) && !has(&c->of[t], r, STAGE_CONS_RELEASE);
            if (!split)
                weiri_find(c->out, "V-CWS-01", weiri_place_of(&r->pipe.at),
                           "pipeline '%s': consumer_wait_signaling is given, but every task that waits also releases", r->name)
                    ->hint = "leave it out";
        }
        weir_cluster l = p->cta_layout, w = k->cluster;
        if (!l.v && !l.m && !l.n && !l.k) continue;
        l = (weir_cluster){ l.v ? l.v : 1, l.m ? l.m : 1, l.n ? l.n : 1, l.k ? l.k : 1 };
        if (l.v == w.v && l.m == w.m && l.n == w.n && l.k == w.k) continue;
        weir_finding *f =
            weiri_find(c->out, "V-CTA-01", weiri_place_of(&r->pipe.at),
                       "pipeline '%s' has cta_layout { %d, %d, %d, %d }, the kernel's cluster is { %d, %d, %d, %d }", r->name,
                       l.v, l.m, l.n, l.k, w.v, w.m, w.n, w.k);
        f->objects[0] = r->name;
        f->hint = "leave it out: it is the kernel's cluster";
    }
}

/* ---- interleaved pipelines ---------------------------------------------------------------------------------------------- */

static const char *const role_names[] = { "acquire", "commit", "wait", "release" }; /* ORDER weir_pipe_desc.interleave */

/* Stages whose cursor a role's stride moves. */
static int role_of(weiri_stage s) {
    switch (s) {
    case STAGE_PROD_COMMIT: return 1;
    case STAGE_CONS_RELEASE: return 3;
    default: return consumes(s) ? 2 : 0;
    }
}

static int stride_of(const weir_res *r, int role) {
    return r->pipe.given.interleave[role] > 1 ? r->pipe.given.interleave[role] : 1;
}

/* Dealt by the loop: a constant start, a step equal to the stride, in a task of another number of warps. The loop, or NULL. */
static const weiri_node *lane_loop(const checker *c, const weiri_task *t, int stride) {
    int64_t start, step;
    if (stride < 2 || t->num_warps == stride) return NULL;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_LOOP && weiri_value_const(c->k, n->start, &start) && weiri_value_const(c->k, n->step, &step) &&
            step == stride)
            return n;
    return NULL;
}

static const use *first_of_role(const uses *us, const weir_res *r, int role) {
    for (int i = 0; i < us->n; i++)
        if (us->v[i].res == r && role_of(us->v[i].stage) == role) return &us->v[i];
    return NULL;
}

/* Its loops, for a message: "0 to N by 1". */
static const char *loops_text(checker *c, const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind != NODE_LOOP) continue;
        char a[64], b[64];
        weir_value_text(c->k, (weir_value){ n->start }, a, sizeof a);
        weir_value_text(c->k, (weir_value){ n->step }, b, sizeof b);
        return weiri_arena_fmt(c->out->a, "its loop starts at %s and steps by %s", a, b);
    }
    return "it has no loop";
}

static void lanes_of_task(checker *c, const weiri_task *t, const uses *us, const weir_res *r) {
    for (int side = 0; side < 4; side += 2) {
        int open = stride_of(r, side), close = stride_of(r, side + 1);
        const use *opens = first_of_role(us, r, side), *closes = first_of_role(us, r, side + 1);
        for (int role = side; role < side + 2; role++) {
            const use *u = role == side ? opens : closes;
            int k = stride_of(r, role);
            if (!u || k == 1 || t->num_warps == k || lane_loop(c, t, k)) continue;
            weir_finding *f = weiri_find(
                c->out, "V-ILV-06", AT_OP(u->op), "task '%s': %s of '%s' is interleaved by %d, the task has %d warp%s and %s",
                t->name, role_names[role], spelled(c, r), k, t->num_warps, t->num_warps == 1 ? "" : "s", loops_text(c, t));
            f->objects[0] = r->name;
            weiri_second_place(f, &r->pipe.at, "the pipeline");
            f->hint =
                weiri_arena_fmt(c->out->a, "%d warps, or a task per lane whose loop starts at the lane and steps by %d", k, k);
            return;
        }
        if (open == close) continue;
        const use *u = opens ? opens : closes;
        const char *strides = weiri_arena_fmt(c->out->a, "%s %d, %s %d", role_names[side], open, role_names[side + 1], close);
        weir_finding *f = NULL;
        if (opens && closes) {
            f = weiri_find(c->out, side ? "V-ILV-09" : "V-ILV-08", AT_OP(u->op),
                           "task '%s' has both %s and %s of '%s', which are interleaved differently (%s)", t->name,
                           role_names[side], role_names[side + 1], spelled(c, r), strides);
            f->hint = "one stride for both, or a task for each";
        } else if (u && lane_loop(c, t, opens ? open : close)) {
            f = weiri_find(c->out, "V-ILV-07", AT_OP(u->op),
                           "task '%s' takes its lane of '%s' from its loop, but the side's strides differ (%s)", t->name,
                           spelled(c, r), strides);
            f->hint = weiri_arena_fmt(c->out->a, "one stride for both, or a task of %d warps", opens ? open : close);
        }
        if (!f) continue;
        f->objects[0] = r->name;
        weiri_second_place(f, &r->pipe.at, "the pipeline");
    }
}

/* Tasks that close one side of r as lanes of their loops and tasks that do not: no one count fits. */
static void lanes_mixed(checker *c, const weir_res *r, int role) {
    weiri_stage s = role == 1 ? STAGE_PROD_COMMIT : STAGE_CONS_RELEASE;
    int k = stride_of(r, role);
    const use *lane = NULL, *other = NULL;
    const weiri_task *lane_task = NULL, *other_task = NULL;
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int j = 0; j < c->of[i].n; j++) {
            const use *u = &c->of[i].v[j];
            if (u->res != r || u->stage != s) continue;
            if (lane_loop(c, c->k->tasks.v[i], k)) lane = u, lane_task = c->k->tasks.v[i];
            else other = u, other_task = c->k->tasks.v[i];
        }
    if (k == 1 || !lane || !other) return;
    weir_finding *f = weiri_find(
        c->out, "V-CNT-05", AT_OP(other->op),
        "%s of '%s' is interleaved by %d: task '%s' is one lane by its loop, task '%s' has %d warps and %s", move_text(s),
        r->name, k, lane_task->name, other_task->name, other_task->num_warps, loops_text(c, other_task));
    f->objects[0] = r->name;
    weiri_second_place(f, &lane->op->at, "the other task");
    f->hint = "deal the stages one way: by loops or by warps";
}

static void check_lanes(checker *c) {
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (!weiri_piped(r) || r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE) continue;
        const int *q = r->pipe.given.interleave;
        if (q[0] < 2 && q[1] < 2 && q[2] < 2 && q[3] < 2) continue;
        for (int t = 0; t < c->k->tasks.n; t++) lanes_of_task(c, c->k->tasks.v[t], &c->of[t], r);
        weir_pipe_type type = r->pipe.given.type;
        if (type == WEIR_ASYNC_ASYNC || type == WEIR_ASYNC_UMMA) lanes_mixed(c, r, 1);
        if (type == WEIR_ASYNC_ASYNC || type == WEIR_UMMA_ASYNC) lanes_mixed(c, r, 3);
    }
}

/* ---- tensor memory ------------------------------------------------------------------------------------------------------ */

static void check_tmem(checker *c) {
    const weir_kernel *k = c->k;
    int have = weiri_layout_capacity(k->arch).tmem_columns, need = 0, wide = 0;
    const weir_res *most = NULL;
    for (int i = 0; i < k->res.n && have; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_TMEM) continue;
        int stages = r->pipe.given.stages;
        int columns = weiri_tc_columns(k->cluster.v > 1, r->tile[0], r->tile[1]);
        need += columns * stages;
        if (!most || columns * stages > wide * most->pipe.given.stages) most = r, wide = columns;
    }
    if (need <= have || !most) return;
    weir_finding *f = weiri_find(c->out, "V-TMEM-01", weiri_place_of(&most->at),
                                 "the tmem_tiles take %d columns of tensor memory, an SM has %d ('%s' takes %d x %d)", need,
                                 have, most->name, most->pipe.given.stages, wide);
    f->objects[0] = most->name;
    f->expected = weiri_arena_fmt(c->out->a, "at most %d columns", have);
    f->got = weiri_arena_fmt(c->out->a, "%d", need);
    f->hint = "fewer stages, or narrower tiles";
}

/* ---- self-edges --------------------------------------------------------------------------------------------------------- */

static void check_self_edges(checker *c) {
    for (int i = 0; i < c->graph.n && c->graph_given; i++) {
        const weiri_edge *e = &c->graph.v[i];
        const weir_res *r = e->down;
        if (r->kind == WEIR_RES_QUEUE || !in_list(e->up, e->nup, r)) continue;
        weir_pipe_type t = r->pipe.given.type;
        const weir_place *at = weiri_place_of(&e->at);
        const char *hint =
            "a resource that depends on itself goes to and fro between two tasks; leave the edge out if it does not";
        if (!weiri_piped(r))
            weiri_find(c->out, "V-PP-01", at, "depends: '%s' depends on itself and has no pipeline", r->name)->hint = hint;
        if (t == WEIR_TMA_UMMA || t == WEIR_ASYNC_UMMA || t == WEIR_UMMA_UMMA)
            weiri_find(c->out, "V-PP-02", at, "depends: '%s' depends on itself and is consumed by the tensor core", r->name)
                ->hint = "an mma takes what is filled and hands nothing back: leave the edge out";
        if (!anyone(c, r, in_dst))
            weiri_find(c->out, "V-PP-03", at, "depends: '%s' depends on itself and no task produces it", r->name)->hint = hint;
        if (!anyone(c, r, in_src))
            weiri_find(c->out, "V-PP-04", at, "depends: '%s' depends on itself and no task consumes it", r->name)->hint = hint;
    }
}

/* Has `wait` run whenever `work` runs? It is written before, and no condition or loop stands around it alone; the first
 * iteration's guard lets the work of later ones follow. */
static bool comes_first(const use *wait, const use *work) {
    if (wait->order > work->order) return false;
    for (const weiri_node *n = wait->node->parent; n && n->parent; n = n->parent) {
        if (weiri_node_inside(work->node, n)) return true;
        if (n->kind == NODE_GUARD && n->guard == WEIR_GUARD_FIRST && weiri_node_inside(work->node, n->loop)) continue;
        return false;
    }
    return true;
}

static void pdl_order(checker *c, const weiri_task *t, const uses *us, const weir_res *wait, const weir_res *r) {
    if (!in_list(t->dst, t->ndst, r) && !(in_list(t->src, t->nsrc, r) && !weiri_piped(r))) return;
    const use *work = NULL, *waited = NULL;
    for (int i = us->n - 1; i >= 0; i--) {
        const use *u = &us->v[i];
        if (u->res == r && (is_work(u->stage) || is_aux(u->stage))) work = u;
        if (u->res == wait && u->op->atom == ATOM_GRID_WAIT) waited = u;
    }
    if (!work) return;
    for (int i = 0; i < us->n; i++)
        if (us->v[i].res == wait && us->v[i].op->atom == ATOM_GRID_WAIT && comes_first(&us->v[i], work)) return;
    const char *how = !waited                       ? "and never waits"
                      : waited->order > work->order ? "before it waits"
                                                    : "and does not always wait";
    weir_finding *f =
        weiri_find(c->out, waited ? "V-PDL-02" : "V-PDL-01", AT_OP(work->op),
                   "task '%s' touches '%s' %s on '%s' for the previous kernel", t->name, r->name, how, wait->name);
    if (waited) weiri_second_place(f, &waited->op->at, "the wait");
    f->objects[0] = r->name, f->objects[1] = wait->name;
    f->hint = weiri_arena_fmt(c->out->a, "write %s:wait_griddep() first%s", wait->name,
                              waited && waited->order < work->order ? ", outside of conditions and loops" : "");
}

static void check_pdl(checker *c) {
    for (int i = 0; i < c->graph.n && c->graph_given; i++)
        for (int j = 0; j < c->graph.v[i].nup; j++) {
            const weir_res *w = c->graph.v[i].up[j];
            for (int t = 0; t < c->k->tasks.n && w->kind == WEIR_RES_PDL_WAIT; t++)
                pdl_order(c, c->k->tasks.v[t], &c->of[t], w, c->graph.v[i].down);
        }
}

static void check_head_and_loop(checker *c, const weiri_task *t, const uses *us) {
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->stage != STAGE_PROD_WORK || u->sec != SEC_LOOP || is_register_tile(u->res) || u->res->kind == WEIR_RES_QUEUE)
            continue;
        for (int j = 0; j < i; j++)
            if (us->v[j].res == u->res && us->v[j].stage == STAGE_PROD_WORK && us->v[j].sec == SEC_HEAD &&
                us->v[j].op->atom != ATOM_ZERO) {
                weir_finding *f =
                    weiri_find(c->out, "V-HLO-01", AT_OP(u->op), "task '%s' writes '%s' before the loop and inside it", t->name,
                               spelled(c, u->res));
                weiri_second_place(f, &us->v[j].op->at, "before the loop");
                break;
            }
    }
}

/* ---- atoms -------------------------------------------------------------------------------------------------------------- */

typedef struct extent {
    int shape[WEIR_MAX_RANK], rank;
} extent;

static extent extent_of(const checker *c, uint32_t id) {
    extent e = { .rank = 0 };
    const weiri_value *v = weiri_val(c->k, id);
    if (v->kind == WEIR_VALUE_VIEW) e.rank = weiri_view_shape(c->k, id, e.shape);
    else e.rank = 2, e.shape[0] = v->rows, e.shape[1] = v->cols;
    return e;
}

static extent extent_of_res(const weir_res *r) {
    extent e;
    e.rank = weiri_tile_shape(r, e.shape);
    return e;
}

/* As a register tile sees it: leading axes folded into rows. */
static void as_tile(const extent *e, int *rows, int *cols) {
    *rows = 1;
    for (int i = 0; i + 1 < e->rank; i++) *rows *= e->shape[i];
    *cols = e->rank ? e->shape[e->rank - 1] : 1;
}

static const char *shape_text(checker *c, const extent *e) {
    const char *s = "{ ";
    for (int i = 0; i < e->rank; i++) s = weiri_arena_fmt(c->out->a, "%s%s%d", s, i ? ", " : "", e->shape[i]);
    return weiri_arena_fmt(c->out->a, "%s }", s);
}

static bool same_extent(const extent *x, const extent *y) {
    return x->rank == y->rank && memcmp(x->shape, y->shape, sizeof *x->shape * (size_t)x->rank) == 0;
}

static weir_finding *at_op(checker *c, const weiri_op *op, const char *rule, const char *fmt, ...) WEIRI_PRINTF(4, 5);
static weir_finding *at_op(checker *c, const weiri_op *op, const char *rule, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = weiri_arena_vfmt(c->out->a, fmt, ap);
    va_end(ap);
    weir_finding *f = weiri_find(c->out, rule, AT_OP(op), "%s", text);
    f->objects[0] = op->res->name;
    called_from(f, &op->at);
    return f;
}

/* Source of a copy into `op->res` is a view of `from`; shapes and dtypes agree. */
static void copy_fits(checker *c, const weiri_op *op, uint32_t view, const extent *to, weir_dtype to_dtype,
                      const char *to_name) {
    const weir_res *base = weiri_view_base(c->k, view);
    extent e = extent_of(c, view);
    if (!base) return;
    if (!same_extent(&e, to)) {
        weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: a tile of '%s' is %s, '%s' is %s", op->res->name,
                                weiri_atom_name(op->atom), base->name, shape_text(c, &e), to_name, shape_text(c, to));
        f->expected = shape_text(c, to);
        f->got = shape_text(c, &e);
        f->hint = "a copy moves whole tiles: make the two tiles alike";
        weiri_second_place(f, &base->at, "declared here");
    }
    bool same_bits = (base->dtype == WEIR_F32 && to_dtype == WEIR_TF32) || (base->dtype == WEIR_TF32 && to_dtype == WEIR_F32);
    if (base->dtype != to_dtype && !same_bits) { /* tf32 is f32 whose low bits the tensor core ignores */
        weir_finding *f =
            at_op(c, op, "V-ATOM-02", "%s:%s: '%s' is %s, '%s' is %s, and a copy converts nothing", op->res->name,
                  weiri_atom_name(op->atom), base->name, weir_dtype_name(base->dtype), to_name, weir_dtype_name(to_dtype));
        f->expected = weir_dtype_name(to_dtype);
        f->got = weir_dtype_name(base->dtype);
        f->hint = "copy into a tile of the same dtype, and weir.cast what is read from it";
        weiri_second_place(f, &base->at, "declared here");
    }
}

static void want_base(checker *c, const weiri_op *op, uint32_t view, bool smem) {
    const weir_res *base = weiri_view_base(c->k, view);
    if (!base || (smem ? weiri_in_smem(base) : base->kind == WEIR_RES_GMEM)) return;
    at_op(c, op, "V-ATOM-03", "%s:%s reads from %s memory, and '%s' is a %s", op->res->name, weiri_atom_name(op->atom),
          smem ? "shared" : "global", base->name, weiri_res_kind_name(base->kind))
        ->hint = smem ? "load it into a smem_tile first" : "a gmem_tile's place: g:at(...)";
}

/* The shape of the place a store into g writes; false, with a finding, if it is no place of g. */
static bool place_of(checker *c, const weiri_op *op, uint32_t place, extent *e) {
    const weir_res *g = op->res;
    const weiri_value *v = weiri_val(c->k, place);
    *e = extent_of_res(g);
    if (v->op == WEIR_OP_VIEW_TILE) {
        const weir_res *q = v->res;
        bool fits = q->qrank == g->rank;
        for (int i = 0; fits && i < g->rank; i++) fits = q->qtile[i] == g->tile[i];
        if (fits) return true;
        weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: the work tiles of '%s' are not the tiles of '%s'", g->name,
                                weiri_atom_name(op->atom), q->name, g->name);
        f->hint = weiri_arena_fmt(c->out->a, "write the place: %s:at(...)", g->name);
        weiri_second_place(f, &q->at, "the queue");
        return false;
    }
    const weir_res *base = weiri_view_base(c->k, place);
    if (base != g) {
        at_op(c, op, "V-ATOM-03", "%s:%s writes '%s', and the place is of '%s'", g->name, weiri_atom_name(op->atom), g->name,
              base ? base->name : "?")
            ->hint = weiri_arena_fmt(c->out->a, "write the place as %s:at(...)", g->name);
        return false;
    }
    *e = extent_of(c, place);
    return true;
}

/* A value fills a place when its extents are the place's, or 1. */
static void value_fits(checker *c, const weiri_op *op, uint32_t value, const extent *to) {
    const weiri_value *v = weiri_val(c->k, value);
    int rows, cols;
    as_tile(to, &rows, &cols);
    if ((v->rows == 1 || v->rows == rows) && (v->cols == 1 || v->cols == cols)) return;
    weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: the value is { %d, %d }, the place is %s", op->res->name,
                            weiri_atom_name(op->atom), v->rows, v->cols, shape_text(c, to));
    f->expected = weiri_arena_fmt(c->out->a, "{ %d, %d }", rows, cols);
    f->got = weiri_arena_fmt(c->out->a, "{ %d, %d }", v->rows, v->cols);
    weiri_second_place(f, &op->res->at, "declared here");
}

static void want_out(checker *c, const weiri_op *op) {
    const weir_tensor *t = op->res->tensor;
    if (!t || t->out) return;
    weir_finding *f = at_op(c, op, "V-ATOM-04", "%s:%s writes tensor '%s', which is not an out tensor", op->res->name,
                            weiri_atom_name(op->atom), t->name);
    f->hint = "declare it with out = true";
    weiri_second_place(f, &t->at, "declared here");
}

static bool is_operand_dtype(weir_dtype t) {
    return t == WEIR_BF16 || t == WEIR_F16 || t == WEIR_TF32 || t == WEIR_E4M3 || t == WEIR_E5M2;
}

/* A stage of an umma_umma pipeline: what one mma left is the next one's operand, in the dtype of that one's other operand. */
static bool is_product(const checker *c, uint32_t view) {
    const weir_res *base = weiri_view_base(c->k, view);
    return base && base->kind == WEIR_RES_TMEM && base->pipe.given.type == WEIR_UMMA_UMMA;
}

static void mma_fits(checker *c, const weiri_op *op) {
    const weir_res *acc = op->res;
    const weiri_value *a = weiri_val(c->k, op->arg[0]), *b = weiri_val(c->k, op->arg[1]);
    weir_dtype ta = a->dtype, tb = b->dtype;
    if (is_product(c, op->arg[0])) ta = tb;
    else want_base(c, op, op->arg[0], true);
    if (c->k->arch < WEIR_ARCH_SM_100A && is_product(c, op->arg[1])) tb = ta; /* tensor memory gives a alone */
    else want_base(c, op, op->arg[1], true);
    extent ea = extent_of(c, op->arg[0]), eb = extent_of(c, op->arg[1]);
    if (ea.rank != 2 || eb.rank != 2) {
        at_op(c, op, "V-MMA-01", "%s:mma: a is %s and b is %s, both have two axes", acc->name, shape_text(c, &ea),
              shape_text(c, &eb));
        return;
    }
    if (ea.shape[1] != eb.shape[1]) {
        weir_finding *f = at_op(c, op, "V-MMA-01", "%s:mma: K of a %s is %d, K of b %s is %d", acc->name, shape_text(c, &ea),
                                ea.shape[1], shape_text(c, &eb), eb.shape[1]);
        f->hint = "a is { M, K } and b is { N, K }; s:read():t() transposes";
        const weir_res *base = weiri_view_base(c->k, op->arg[1]);
        if (base) weiri_second_place(f, &base->at, "b is declared here");
    }
    /* with v = 2 each CTA has its rows of a and of the sums, and half the rows of b */
    const int ctas = acc->kind == WEIR_RES_TMEM && c->k->arch >= WEIR_ARCH_SM_100A && c->k->cluster.v == 2 ? 2 : 1;
    if (ea.shape[0] != acc->tile[0] || ctas * eb.shape[0] != acc->tile[1]) {
        weir_finding *f = at_op(c, op, "V-MMA-01", "%s:mma: a %s times %sb %s is { %d, %d }, '%s' is { %d, %d }", acc->name,
                                shape_text(c, &ea), ctas > 1 ? "both CTAs' " : "", shape_text(c, &eb), ea.shape[0],
                                ctas * eb.shape[0], acc->name, acc->tile[0], acc->tile[1]);
        f->hint = ctas > 1 ? "with v = 2 a is { M, K } and b { N / 2, K }: half of b's rows, k.cta.v says which"
                           : "a is { M, K } and b is { N, K }; s:read():t() transposes";
        weiri_second_place(f, &acc->at, "declared here");
    }
    bool eight = weir_dtype_size(ta) == 1 && weir_dtype_size(tb) == 1; /* e4m3 and e5m2 may meet */
    if (!is_operand_dtype(ta) || !is_operand_dtype(tb) || (ta != tb && !eight)) {
        weir_finding *f =
            at_op(c, op, "V-MMA-02", "%s:mma: a is %s, b is %s", acc->name, weir_dtype_name(ta), weir_dtype_name(tb));
        f->hint = "both bf16, f16 or tf32, or each e4m3 or e5m2";
        return;
    }
    if (a->kind == WEIR_VALUE_TILE && weir_dtype_size(ta) != 2)
        at_op(c, op, "V-MMA-02", "%s:mma: a is a register value of %s, 16 bits are possible", acc->name, weir_dtype_name(ta))
            ->hint = "cast it to bf16 or f16";
    int step = 32 / weir_dtype_size(ta);
    if (ea.shape[1] % step != 0) {
        weir_finding *f = at_op(c, op, "V-MMA-03", "%s:mma: K is %d, an instruction of %s takes %d", acc->name, ea.shape[1],
                                weir_dtype_name(ta), step);
        f->expected = weiri_arena_fmt(c->out->a, "a multiple of %d", step);
        f->got = weiri_arena_fmt(c->out->a, "%d", ea.shape[1]);
        f->hint = "take a longer piece of K a stage; what lies beyond the tensor loads as 0";
    }
}

static void check_atom(checker *c, const weiri_op *op) {
    extent to = extent_of_res(op->res);
    for (int i = 0; i < op->nargs; i++)
        if (!op->arg[i]) return;
    if (op->res->kind == WEIR_RES_GMEM &&
        (op->atom == ATOM_STORE || op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD))
        want_out(c, op);
    if (!op->nargs) return;
    switch (op->atom) {
    case ATOM_TMA_LOAD:
    case ATOM_CP_ASYNC:
        want_base(c, op, op->arg[0], false);
        copy_fits(c, op, op->arg[0], &to, op->res->dtype, op->res->name);
        break;
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD:
        want_base(c, op, op->arg[0], true);
        if (place_of(c, op, op->arg[1], &to)) copy_fits(c, op, op->arg[0], &to, op->res->dtype, op->res->name);
        break;
    case ATOM_PUSH:
        want_base(c, op, op->arg[0], true);
        if (op->nargs < 2 || place_of(c, op, op->arg[1], &to)) copy_fits(c, op, op->arg[0], &to, op->res->dtype, op->res->name);
        break;
    case ATOM_STORE:
        if (op->nargs < 2 || place_of(c, op, op->arg[1], &to)) value_fits(c, op, op->arg[0], &to);
        break;
    case ATOM_SET: value_fits(c, op, op->arg[0], &to); break;
    case ATOM_MMA: mma_fits(c, op); break;
    default: break;
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

/* Does a value contain what a call of `by`'s task returned? The op that made it. */
static const weiri_op *made_by(const weir_kernel *k, uint32_t id, int *budget) {
    const weiri_value *v = weiri_val(k, id);
    if (--*budget < 0) return NULL;
    if (v->op == WEIR_OP_RETURN) return v->by;
    for (int i = 0; i < v->nargs; i++) {
        const weiri_op *op = v->arg[i] ? made_by(k, v->arg[i], budget) : NULL;
        if (op) return op;
    }
    return NULL;
}

static void route(checker *c, const weiri_task *t, const weiri_op *by, const weiri_op *to) {
    const char *value = weiri_arena_fmt(c->out->a, "%s:%s", by->res->name, by->work->name);
    weir_finding *f = NULL;
    if (!in_src(t, by->res)) {
        f = weiri_find(c->out, "V-VAL-02", AT_OP(by), "task '%s': what %s returns is used, and '%s' is not in its src", t->name,
                       value, by->res->name);
        f->objects[0] = by->res->name;
        f->hint = weiri_arena_fmt(c->out->a, "add '%s' to src", by->res->name);
        weiri_second_place(f, &to->at, "used here");
    }
    bool produces = !consumes(to->stage);
    if (produces ? in_dst(t, to->res) : in_src(t, to->res)) return;
    f = weiri_find(c->out, produces ? "V-VAL-03" : "V-VAL-04", AT_OP(to),
                   "task '%s': what %s returns goes to %s:%s, and '%s' is not in its %s", t->name, value, to->res->name,
                   to->atom == ATOM_CUSTOM ? to->work->name : weiri_atom_name(to->atom), to->res->name,
                   produces ? "dst" : "src");
    f->objects[0] = to->res->name;
    f->hint = weiri_arena_fmt(c->out->a, "add '%s' to %s", to->res->name, produces ? "dst" : "src");
    weiri_second_place(f, &by->at, "returned here");
}

/* Values go from consumer work to the work that takes them, on resources that the task has on that side. */
static void check_routes(checker *c, const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind != NODE_OP) continue;
        for (int i = 0; i < n->op->nargs; i++) {
            const weiri_op *by = n->op->arg[i] ? made_by(c->k, n->op->arg[i], &(int){ 200 }) : NULL;
            if (by) route(c, t, by, n->op);
        }
    }
}

/* Arguments of a launch for which two conditions come out differently; false: none found, as far as both can be computed. */
static bool come_out_apart(checker *c, uint32_t x, uint32_t y, weiri_buf *with) {
    const weir_kernel *k = c->k;
    weiri_sampler tries = weiri_sampler_new(k);
    int64_t *dims = WEIRI_NEW_N(c->out->a, int64_t, k->dims.n + 1), a, b;
    double *scalars = WEIRI_NEW_N(c->out->a, double, k->scalars.n + 1);
    bool *dim_used = WEIRI_NEW_N(c->out->a, bool, k->dims.n + 1), *scalar_used = WEIRI_NEW_N(c->out->a, bool, k->scalars.n + 1);
    const weir_res *queue = weiri_range_queue(k, x);
    if (!queue) queue = weiri_range_queue(k, y);
    int64_t coord[WEIR_MAX_RANK];
    weiri_env e = { .k = k, .dims = dims, .scalars = scalars, .cta = -1 };
    for (int attempt = 0, seen = 0; attempt < 2000 && (seen || attempt < 200); attempt++) {
        weiri_sampler_next(&tries, dims, scalars);
        e.coord = NULL;
        if (queue && !weiri_sampler_tile(&tries, &e, queue, coord)) continue;
        e.coord = queue ? coord : NULL;
        bool allowed = true;
        for (int i = 0; i < k->assumes.n; i++)
            if (weiri_range_number(&e, k->assumes.v[i], &a) && !a) allowed = false;
        if (!allowed || !weiri_range_number(&e, x, &a) || !weiri_range_number(&e, y, &b)) continue;
        seen++;
        if (!a == !b) continue;
        weiri_range_used(k, x, dim_used, scalar_used);
        weiri_range_used(k, y, dim_used, scalar_used);
        weiri_range_put_args(k, "with ", dims, scalars, dim_used, scalar_used, with);
        for (int i = 0; queue && i < queue->qrank; i++)
            weiri_put(with, "%s%s = %lld", with->s ? ", " : "at ", queue->axis[i], (long long)coord[i]);
        return true;
    }
    return false;
}

/* A key promises that its conditions come out alike: those that can be computed are tried. */
static void check_keys(checker *c) {
    const weir_kernel *k = c->k;
    WEIRI_LIST(const weiri_node *) keyed = { 0 };
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[t]->root, n));)
            if (n->kind == NODE_GUARD && n->key && n->of) WEIRI_PUSH(c->out->a, keyed, n);
    for (int i = 0; i < keyed.n; i++)
        for (int j = 0; j < i; j++) {
            const weiri_node *x = keyed.v[j], *y = keyed.v[i];
            if (strcmp(x->key, y->key) || x->of == y->of) continue;
            weiri_buf with, one, two;
            weiri_buf_init(&with, k->ctx);
            if (come_out_apart(c, x->of, y->of, &with)) {
                weiri_buf_init(&one, k->ctx);
                weiri_buf_init(&two, k->ctx);
                weiri_value_print(k, x->of, &one);
                weiri_value_print(k, y->of, &two);
                weir_finding *f = weiri_find(c->out, "V-KEY-01", weiri_place_of(&y->at),
                                             "under key '%s', %s and %s come out differently%s%s", y->key,
                                             one.s ? one.s : "", two.s ? two.s : "", with.s ? " " : "", with.s ? with.s : "");
                f->hint = "one condition for both, a key each, or k:assume(...) what makes them equal";
                weiri_second_place(f, &x->at, "the other condition");
                weiri_buf_free(&one);
                weiri_buf_free(&two);
            }
            weiri_buf_free(&with);
        }
}

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
                       "the raster of '%s' gives i = %lld and i = %lld one tile, %s%s", q->name,
                       (long long)r.i, (long long)r.j, tile.s ? tile.s : "", with.s ? with.s : "");
    else
        f = weiri_find(c->out, "V-WQ-11", weiri_place_of(&q->at),
                       "the raster of '%s' gives i = %lld the tile %s, but there are %lld along %s%s", q->name, (long long)r.i,
                       tile.s ? tile.s : "", (long long)r.extent[r.bad_axis], q->axis[r.bad_axis], with.s ? with.s : "");
    f->hint = "give each i, from 0 to below the product of the extents, a tile of its own; k:assume(...) says which sizes come";
    weiri_buf_free(&tile);
    weiri_buf_free(&with);
}

static void check_values(checker *c) {
    const weir_kernel *k = c->k;
    for (int i = 1; i < k->values.n; i++) {
        const weiri_value *v = &k->values.v[i];
        if (v->used) continue;
        if (v->op == WEIR_OP_RETURN) {
            weir_finding *f = weiri_find(c->out, "C-FLOW-12", weiri_place_of(&v->at), "%s:%s returns '%s', which is never used",
                                         v->by->res->name, v->by->work->name, v->by->work->returns[v->count].name);
            called_from(f, &v->at);
        } else if (v->kind == WEIR_VALUE_COND && v->op != WEIR_OP_INT) {
            weiri_buf b;
            weiri_buf_init(&b, k->ctx);
            weiri_value_print(k, (uint32_t)i, &b);
            weir_finding *f =
                weiri_find(c->out, "VAL-UNUSED", weiri_place_of(&v->at), "the condition %s decides nothing", b.s ? b.s : "");
            f->hint = "Lua's `if` cannot see it: use weir.when_true, weir.select or a loop bound";
            called_from(f, &v->at);
            weiri_buf_free(&b);
        }
    }
}

/* Warps of a task begin where its `warps` say, so an index in the block is another one than the body means, unless they begin at 0. */
static void check_bodies(checker *c) {
    const weir_kernel *k = c->k;
    for (int i = 0; i < k->res.n; i++)
        for (int j = 0; j < k->res.v[i]->nwork; j++) {
            const weiri_work *w = &k->res.v[i]->work[j];
            const char *raw;
            int row;
            if (!weiri_raw_thread(w->code, &row, &raw)) continue;
            const weir_place at = { w->file, w->line + row };
            weir_finding *f = weiri_find(c->out, "M-TID", w->file ? &at : weiri_place_of(&w->at),
                                         "%s:%s: '%s' counts from the first %s of the block, not of the task",
                                         k->res.v[i]->name, w->name, raw, strcmp(raw, "w_warp") ? "thread" : "warp");
            f->hint = strcmp(raw, "w_warp") ? "`tid` is the thread in the task, of `nthreads`" : "`warp` is the warp in the task";
        }
}

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

void weiri_validate(const weir_kernel *k, weiri_findings *out) {
    checker c = { .k = k, .out = out };
    c.of = WEIRI_NEW_N(out->a, uses, k->tasks.n + 1);
    if (!k->tasks.n) weiri_find(out, "T-SCHED-01", weiri_place_of(&k->at), "kernel '%s' has no task", k->name);
    for (int i = 0; i < k->tasks.n; i++) c.of[i] = collect(&c, k->tasks.v[i]);
    check_bodies(&c);
    make_graph(&c);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        check_task(&c, t);
        check_roles(&c, t, &c.of[i]);
        check_used(&c, t, &c.of[i]);
        check_brackets(&c, t, &c.of[i]);
        check_skippable(&c, t);
        check_head_and_loop(&c, t, &c.of[i]);
        check_routes(&c, t);
        for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
            if (n->kind == NODE_OP) check_atom(&c, n->op);
    }
    check_warps(&c);
    check_registers(&c);
    check_graph(&c);
    check_queue(&c);
    check_dma(&c);
    check_pipes(&c);
    check_lanes(&c);
    check_tmem(&c);
    check_self_edges(&c);
    check_pdl(&c);
    check_keys(&c);
    for (int i = 0; i < k->res.n; i++)
        if (k->res.v[i]->kind == WEIR_RES_QUEUE && k->res.v[i]->raster == WEIR_RASTER_CUSTOM) check_raster(&c, k->res.v[i]);
    check_values(&c);
}
