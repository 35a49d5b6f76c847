/* Tasks by themselves and beside each other: warps and registers (specification 3.2: X-WARP, T-REG, V-WG, V-REG), what a task's
 * header says (T-CTA, T-SCHED, T-SKIP, T-WQ), and whether its src and dst list what its schedule touches (3.3: V-ROLE, V-USE). */
#include "layout.h"
#include "validating.h"

/* ---- one task ----------------------------------------------------------------------------------------------------------- */

static bool uses_wgmma(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        if (n->op->atom == ATOM_MMA && n->op->res->kind == WEIR_RES_WGMMA) return true;
    return false;
}

static bool misplaced(const weiri_task *t) { return uses_wgmma(t) && (t->first_warp % 4 || t->num_warps % 4); }

static void check_warpgroups(checker *c, const weiri_task *t) {
    if (t->warps_refused || !misplaced(t)) return;
    weir_finding *f = weiri_find(c->out, "X-WARP-04", weiri_place_of(&t->at),
                                 "task '%s' uses wgmma on warps { %d, %d }: a warpgroup is 4 warps, the first a multiple of 4",
                                 t->name, t->first_warp, t->num_warps);
    f->hint = weiri_arena_fmt(c->out->a, "warps = { %d, %d }", (t->first_warp + 3) / 4 * 4, (t->num_warps + 3) / 4 * 4);
}

static void check_registers(checker *c, const weiri_task *t) {
    const weir_place *at = weiri_place_of(&t->at);
    if (!t->registers) return;
    if (t->registers % 8 || t->registers < 8 || t->registers > 256) {
        weir_finding *f = weiri_find(c->out, "T-REG-01", at, "task '%s': registers = %d", t->name, t->registers);
        f->expected = "a multiple of 8, 24 to 256";
        f->got = weiri_arena_fmt(c->out->a, "%d", t->registers);
    }
    if (t->registers < 24)
        weiri_find(c->out, "X-REG-01", at, "task '%s': registers = %d, setmaxnreg takes 24 at least", t->name, t->registers)
            ->hint = "registers = 24";
}

static void check_cta(checker *c, const weiri_task *t) {
    const int size[4] = { c->k->cluster.v, c->k->cluster.m, c->k->cluster.n, c->k->cluster.k };
    for (int i = 0; i < 4 && t->on_cta; i++) {
        if (t->cta[i] >= -1 && t->cta[i] < size[i]) continue;
        weiri_find(c->out, "T-CTA-01", weiri_place_of(&t->at), "task '%s': cta %c = %d, the cluster has %d along %c", t->name,
                   "vmnk"[i], t -> cta[i], size[i], "vmnk"[i])
            ->hint = "a coordinate below the cluster's size";
    }
}

static void check_queues_in_src(checker *c, const weiri_task *t) {
    const weiri_node *tiles = weiri_tile_loop(t);
    if (tiles && tiles->queue && !vd_in_list(t->src, t->nsrc, tiles->queue)) {
        const weir_place *at = weiri_place_of(&tiles->at);
        weir_finding *f =
            tiles->skip ? weiri_find(c->out, "T-SKIP-01", at, "task '%s' skips tiles of queue '%s', which is not in its src",
                                     t->name, tiles->queue->name)
                        : weiri_find(c->out, "V-ROLE-03", at, "task '%s' walks queue '%s', which is not in its src", t->name,
                                     tiles->queue->name);
        weiri_second_place(f, &t->at, "the task");
        f->hint = "add it to src, or leave src out: it is derived";
    }
    int queues = 0;
    for (int i = 0; i < t->nsrc; i++) queues += t->src[i]->kind == WEIR_RES_QUEUE;
    if (queues > 1)
        weiri_find(c->out, "T-WQ-01", weiri_place_of(&t->at), "task '%s' takes tiles from %d queues", t->name, queues);
}

void vd_check_task(checker *c, const weiri_task *t) {
    check_warpgroups(c, t);
    check_registers(c, t);
    check_cta(c, t);
    if (!t->root->first)
        weiri_find(c->out, "T-SCHED-01", weiri_place_of(&t->at), "task '%s' has an empty schedule", t->name)->hint =
            "write schedule = function() ... end";
    check_queues_in_src(c, t);
}

/* ---- src and dst -------------------------------------------------------------------------------------------------------- */

static const char *names_of(checker *c, weir_res *const *list, int n) {
    const char *s = "";
    for (int i = 0; i < n; i++) s = weiri_arena_fmt(c->out->a, "%s%s%s", s, i ? ", " : "", list[i]->name);
    return s;
}

/* A move of a group none of whose members the task lists: it left no use. */
static void check_group_move(checker *c, const weiri_task *t, const weiri_op *op) {
    const weir_res *g = op->res;
    for (int i = 0; i < g->nmembers; i++)
        if (vd_lists(t, g->members[i])) return;
    if (!t->src_given && !t->dst_given) return;
    weir_finding *f =
        weiri_find(c->out, "V-ROLE-04", VD_AT_OP(op), "task '%s' moves group '%s' and lists none of its members (%s)", t->name,
                   g->name, names_of(c, g->members, g->nmembers));
    f->hint = "list the members it moves in src or dst, or leave both out: they are derived";
    f->objects[0] = g->name;
    for (int i = 0; i < g->nmembers && i < 3; i++) f->objects[i + 1] = g->members[i]->name;
    weiri_second_place(f, &t->at, "the task");
}

/* A use of what the task lists for the other side, or not at all: told of the first use on that side. */
static void check_role(checker *c, const weiri_task *t, const uses *us, const use *u) {
    const bool src = vd_in_src(t, u->res), dst = vd_in_dst(t, u->res), consumes = vd_consumes(u->stage);
    if (u->group_op || (consumes ? src : dst)) return;
    for (const use *x = us->v; x < u; x++)
        if (x->res == u->res && !x->group_op && vd_consumes(x->stage) == consumes) return;
    const char *rule = !src && !dst ? "V-ROLE-03" : src ? "V-ROLE-01" : "V-ROLE-02";
    const char *in = src ? "only in src" : dst ? "only in dst" : "in neither src nor dst";
    weir_finding *f = u->operand ? weiri_find(c->out, rule, VD_AT_OP(u->op), "task '%s': '%s' is %s and is read here by %s",
                                              t->name, u->res->name, in, vd_written(u))
                                 : weiri_find(c->out, rule, VD_AT_OP(u->op), "task '%s': '%s' is %s and has %s here", t->name,
                                              u->res->name, in, vd_written(u));
    weiri_second_place(f, &t->at, "the task");
    f->hint = weiri_arena_fmt(c->out->a, "add it to %s, or leave src and dst out: they are derived", consumes ? "src" : "dst");
}

static void check_used(checker *c, const weiri_task *t, const uses *us) {
    const weiri_node *tiles = weiri_tile_loop(t);
    for (int s = 0; s < t->nsrc + t->ndst; s++) {
        const weir_res *r = vd_listed(t, s);
        bool used = tiles && tiles->queue == r;
        for (int i = 0; i < us->n && !used; i++) used = us->v[i].res == r;
        if (!used)
            weiri_find(c->out, "V-USE-01", weiri_place_of(&t->at), "task '%s' lists '%s' in %s and does nothing with it",
                       t->name, r->name, s < t->nsrc ? "src" : "dst")
                ->hint = "leave it out";
    }
}

void vd_check_roles(checker *c, const weiri_task *t, const uses *us) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        if (n->op->res->kind == WEIR_RES_GROUP) check_group_move(c, t, n->op);
    for (int i = 0; i < us->n; i++) check_role(c, t, us, &us->v[i]);
    check_used(c, t, us);
}

/* ---- all tasks ---------------------------------------------------------------------------------------------------------- */

static int end_of(const weiri_task *t) { return t->first_warp + t->num_warps; } /* its last warp, and one */

static void check_overlap(checker *c, const weiri_task *x, const weiri_task *y) {
    if (x->warps_refused || y->warps_refused || x->first_warp >= end_of(y) || y->first_warp >= end_of(x)) return;
    weir_finding *f =
        weiri_find(c->out, "X-WARP-01", weiri_place_of(&x->at), "task '%s' has warps %d to %d, task '%s' has warps %d to %d",
                   x->name, x->first_warp, end_of(x) - 1, y->name, y->first_warp, end_of(y) - 1);
    weiri_second_place(f, &y->at, "the other task");
    int from = end_of(y);
    if (x->num_warps % 4 == 0) from = (from + 3) / 4 * 4; /* keeps warpgroups whole */
    f->hint = weiri_arena_fmt(c->out->a, "start it at warp %d", from);
}

/* Single warps are padding of their warpgroup; a whole idle one is odd. */
static void check_idle(checker *c) {
    const weir_kernel *k = c->k;
    bool busy[32 / 4] = { false };
    int top = 0;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (t->warps_refused) continue;
        for (int w = t->first_warp; w < end_of(t); w++) busy[w / 4] = true;
        if (end_of(t) > top) top = end_of(t);
    }
    for (int g = 0; 4 * g < top; g++)
        if (!busy[g])
            weiri_find(c->out, "X-WARP-03", weiri_place_of(&k->at), "warps %d to %d belong to no task and idle", 4 * g,
                       4 * g + 3);
}

/* Tasks that share warpgroup g ask for one number of registers. Who stands wrong there, on another's warps or with wgmma across
 * a border, has been told that. */
static void check_shared_warpgroup(checker *c, int g) {
    const weiri_task *seen = NULL;
    for (int i = 0; i < c->k->tasks.n; i++) {
        const weiri_task *t = c->k->tasks.v[i];
        if (!t->registers || t->warps_refused || misplaced(t) || t->first_warp >= 4 * g + 4 || end_of(t) <= 4 * g) continue;
        const bool apart = seen && (t->first_warp >= end_of(seen) || seen->first_warp >= end_of(t));
        if (apart && seen->registers != t->registers) {
            weir_finding *f =
                weiri_find(c->out, "V-WG-02", weiri_place_of(&t->at),
                           "warps %d to %d are one warpgroup: task '%s' asks for %d registers there, task '%s' for %d", 4 * g,
                           4 * g + 3, t->name, t->registers, seen->name, seen->registers);
            weiri_second_place(f, &seen->at, "the other task");
            f->hint = "one value per warpgroup, or other warps";
            return;
        }
        seen = t;
    }
}

/* Registers of each thread at launch, as the specification has them. */
static int default_registers(const weir_kernel *k) {
    int warps = 0;
    for (int i = 0; i < k->tasks.n; i++)
        if (end_of(k->tasks.v[i]) > warps) warps = end_of(k->tasks.v[i]);
    warps = (warps + 3) / 4 * 4;
    return warps > 0 ? weiri_layout_entry_registers(k->arch, warps * 32) : 0;
}

static void check_pool(checker *c) {
    const weir_kernel *k = c->k;
    int64_t total = 0;
    const weiri_task *most = NULL;
    const int d = default_registers(k), pool = weiri_layout_capacity(k->arch).registers;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        const bool asks = t->registers && t->registers <= 256; /* more is T-REG-01's */
        total += (int64_t)t->num_warps * 32 * (asks ? t->registers : d < 256 ? d : 256);
        if (asks && (!most || t->registers * t->num_warps > most->registers * most->num_warps)) most = t;
    }
    if (!most || total <= pool) return;
    weiri_find(c->out, "V-REG-01", weiri_place_of(&most->at), "the tasks ask for %lld registers, an SM has %d",
               (long long)total, pool)
        ->hint = weiri_arena_fmt(c->out->a, "lower the registers of task '%s'", most->name);
}

void vd_check_warps(checker *c) {
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int j = 0; j < i; j++) check_overlap(c, c->k->tasks.v[i], c->k->tasks.v[j]);
    check_idle(c);
    for (int g = 0; g < 8; g++) check_shared_warpgroup(c, g);
    check_pool(c);
}
