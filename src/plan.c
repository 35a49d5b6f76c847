/* The plan, table by table: weiri_plan_new has the order. lower.c turns the schedules into actions when the tables stand. Here are
 * the look-ups that later stages share, too, and the numbers of the actions. */
#include "plan_tc.h"
#include "planning.h"

/* ---- look-ups ------------------------------------------------------------------------------------------------------------ */

int weiri_pipe_of(const weiri_plan *p, const weir_res *r) {
    for (int i = 0; i < p->pipes.n; i++)
        if (p->pipes.v[i].res == r) return i;
    return -1;
}

int weiri_data_region(const weiri_plan *p, int region) {
    for (int other; (other = p->smem.v[region].same_as) >= 0; region = other) {
        const weir_res *g = p->smem.v[region].res->group;
        if (!g || g->mode != WEIR_GROUP_FORK || p->smem.v[other].res->group != g) break;
    }
    return region;
}

int weiri_region_of(const weiri_plan *p, const weir_res *r) {
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].res == r) return i;
    return -1;
}

int weiri_preg_of(const weiri_plan *p, int task, const weir_res *r) {
    for (int i = 0; i < p->regs.n; i++)
        if (p->regs.v[i].res == r && p->regs.v[i].task == task) return i;
    return -1;
}

bool weiri_geom(const weiri_plan *p, const weir_res *r, weiri_tile_geom *g) {
    int i = weiri_region_of(p, r);
    char why[8];
    if (i < 0) return false;
    const weiri_region *reg = &p->smem.v[i];
    return weiri_layout_tile(reg->dtype, r->tile, r->rank, reg->swizzle, r->kind == WEIR_RES_SMEM && !reg->threads, g, why,
                             sizeof why);
}

weir_dtype weiri_stage_dtype(const weiri_plan *p, const weir_res *r) { return p->smem.v[weiri_region_of(p, r)].dtype; }

int weiri_alias_of(const weir_kernel *k, const weir_res *r, int *phase) {
    for (int g = 0; g < k->aliases.n; g++)
        for (int f = 0; f < k->aliases.v[g].n; f++)
            for (int i = 0; i < k->aliases.v[g].phase[f].n; i++)
                if (k->aliases.v[g].phase[f].res[i] == r) {
                    *phase = f;
                    return g;
                }
    *phase = -1;
    return -1;
}

/* ---- ids ----------------------------------------------------------------------------------------------------------------- */

static void number_list(weiri_plan *p, weiri_pnode *n, int *next, int pass) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            if (pass) p->action[n->act->id] = n->act;
            else if (!n->act->id) n->act->id = (*next)++; /* tasks of one warpgroup share its setmaxnreg */
        } else {
            number_list(p, n->first, next, pass);
            number_list(p, n->skip, next, pass);
        }
    }
}

/* Ids in source order: prologue, tasks, epilogue. */
static void number_actions(weiri_plan *p) {
    for (int pass = 0; pass < 2; pass++) {
        int next = 1;
        number_list(p, p->prologue, &next, pass);
        for (int i = 0; i < p->ntasks; i++) number_list(p, p->tasks[i].root, &next, pass);
        number_list(p, p->epilogue, &next, pass);
        if (!pass) {
            p->nactions = next - 1;
            p->action = WEIRI_NEW_N(&p->a, weiri_action *, next + 1);
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

static void check_cluster(weiri_plan *p) {
    const weir_kernel *k = p->k;
    const weir_place *at = weiri_place_of(&k->at);
    if (p->cluster > 8)
        weiri_find(&p->findings, "PLAN-CLUSTER", at, "kernel '%s' has a cluster of %d CTAs; at most 8 are portable", k->name,
                   p->cluster)
            ->hint = "v * m * n * k is 8 at most";
    if (p->cluster > 1 && k->arch < WEIR_ARCH_SM_90A)
        weiri_find(&p->findings, "PLAN-ARCH", at, "kernel '%s': clusters need sm_90a or sm_100a", k->name);
    if (k->cluster.v > 2 && weiri_tc(k))
        weiri_find(&p->findings, "PLAN-CLUSTER", at, "kernel '%s' has v = %d; one mma is shared by at most 2 CTAs", k->name,
                   k->cluster.v)
            ->hint = "v = 2, and more CTAs along m or n";
    if (k->cluster.v > 1 && k->arch == WEIR_ARCH_SM_90A)
        weiri_find(&p->findings, "PLAN-ARCH", at, "kernel '%s': v = %d (CTAs that share one MMA) needs sm_100a", k->name,
                   k->cluster.v)
            ->hint = "on sm_90a write cluster = { m = 2 } and multicast = \"m\" on the loads of B";
}

static void find_queue(weiri_plan *p) {
    for (int i = 0; i < p->k->res.n; i++)
        if (p->k->res.v[i]->kind == WEIR_RES_QUEUE) {
            p->queue = p->k->res.v[i];
            p->persistent = p->queue->qkind != WEIR_QUEUE_GRID;
        }
}

weiri_plan *weiri_plan_new(weir_kernel *k) {
    weiri_plan *p = weiri_alloc(k->ctx, sizeof *p);
    if (!p) return NULL;
    weiri_arena_init(&p->a, k->ctx);
    p->findings.a = &p->a;
    p->k = k;
    p->of.tasks = k->tasks.n, p->of.res = k->res.n, p->of.nodes = k->nnodes, p->of.aliases = k->aliases.n;
    p->cluster = k->cluster.v * k->cluster.m * k->cluster.n * k->cluster.k;
    p->ntasks = k->tasks.n;
    p->tasks = WEIRI_NEW_N(&p->a, weiri_ptask, k->tasks.n + 1);
    check_cluster(p);
    find_queue(p);
    for (int i = 0; i < k->tasks.n; i++) pl_scan_task(p, i);
    pl_split_registers(p);
    pl_check_tile_registers(p);
    weiri_proto *protos = WEIRI_NEW_N(&p->a, weiri_proto, k->res.n + 1);
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_GROUP && (r->kind != WEIR_RES_QUEUE || weiri_dynamic(r)) && weiri_piped(r))
            pl_add_pipe(p, r, protos);
    }
    pl_make_bars(p, protos);
    weiri_tc_ends(p, protos);
    pl_check_groups(p, protos);
    pl_place_smem(p);
    weiri_tc_place(p);
    pl_place_bars(p);
    pl_end_smem(p);
    pl_name_barriers(p);
    weiri_lower(p, protos);
    pl_check_named(p);
    weiri_check_targets(p);
    pl_make_params(p);
    number_actions(p);
    p->ok = weiri_findings_errors(&p->findings) == 0 && !p->a.oom;
    return p;
}

void weiri_plan_free(weiri_plan *p) {
    if (!p) return;
    weir_ctx *c = p->a.ctx; /* a program may outlive its kernel */
    weiri_arena_free(&p->a);
    weiri_free(c, p, sizeof *p);
}
