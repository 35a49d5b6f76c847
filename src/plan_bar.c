/* mbarriers: a run of them for each full and each empty barrier, a pipeline's own or a group's, with what they count, the bytes
 * they expect and their place in the kernel's one array. */
#include <inttypes.h>

#include "layout.h"
#include "plan_tc.h"
#include "planning.h"

/* ---- of one pipeline ----------------------------------------------------------------------------------------------------- */

static int push_bar(weiri_plan *p, weiri_bar b) {
    WEIRI_PUSH(&p->a, p->bars, b);
    return p->bars.n - 1;
}

/* Arrivals of so many CTAs in each; where none come nobody waits, and it counts as if one did. */
static void count_by_rank(weiri_plan *p, int bar, int unit, const uint8_t *from) {
    int *counts = WEIRI_NEW_N(&p->a, int, p->cluster);
    bool differ = false;
    for (int i = 0; i < p->cluster; i++) {
        counts[i] = unit * (from[i] ? from[i] : 1);
        differ = differ || counts[i] != counts[0];
    }
    p->bars.v[bar].count = counts[0];
    if (differ) p->bars.v[bar].counts = counts;
}

static int push_empty(weiri_plan *p, const char *name, int stages, const weiri_proto *pr) {
    const int bar = push_bar(p, (weiri_bar){ .name = name,
                                             .stages = stages,
                                             .count = pr->empty_count,
                                             .sum = weiri_arena_str(&p->a, pr->empty_sum),
                                             .remote = p->cluster > 1 });
    if (pr->uneven) count_by_rank(p, bar, pr->empty_unit, pr->sources);
    return bar;
}

static int push_full(weiri_plan *p, const char *name, const weiri_ppipe *pp, const weiri_proto *pr) {
    const int bar = push_bar(p, (weiri_bar){ .name = name,
                                             .stages = pp->stages,
                                             .count = pr->full_count,
                                             .tx = pp->dest ? pr->full_tx : pp->tx,
                                             .sum = weiri_arena_str(&p->a, pr->full_sum),
                                             .full = true,
                                             .remote = pp->dest != NULL });
    if (pp->dest) count_by_rank(p, bar, pr->full_unit, pr->senders);
    return bar;
}

static void make_own(weiri_plan *p, weiri_ppipe *pp, const weiri_proto *pr) {
    const char *name = pp->res->name;
    if (pr->has_full) pp->full = push_full(p, weiri_arena_fmt(&p->a, "%s_full", name), pp, pr);
    if (pr->has_empty) pp->empty = push_empty(p, weiri_arena_fmt(&p->a, "%s_empty", name), pp->stages, pr);
}

/* ---- of a group ---------------------------------------------------------------------------------------------------------- */

static bool is_planned(const weiri_plan *p, const weir_res *g) {
    for (int m = 0; m < g->nmembers; m++)
        if (weiri_pipe_of(p, g->members[m]) < 0) return false;
    return true;
}

/* The full barrier that all members share: a fork's first one fills for all; in a fused merge all do, where the first one's arrival
 * may arm the others' bytes, too. */
static weiri_bar shared_full(weiri_plan *p, const weir_res *g, const weiri_proto *protos) {
    const bool fork = g->mode == WEIR_GROUP_FORK, folds = weiri_folds(p, g);
    weiri_bar b = { .name = weiri_arena_fmt(&p->a, "%s_full", g->name),
                    .stages = g->members[0]->pipe.given.stages,
                    .full = true };
    weiri_buf sum;
    weiri_buf_init(&sum, p->k->ctx);
    for (int m = 0; m < g->nmembers; m++) {
        const weir_res *r = g->members[m];
        const weiri_proto *pr = &protos[r->index];
        const int64_t tx = p->pipes.v[weiri_pipe_of(p, r)].tx;
        if (!fork) b.tx += tx;
        else if (tx > b.tx) b.tx = tx;
        if (m > 0 && (fork || folds)) continue;
        b.count += pr->full_count;
        if (fork) weiri_put(&sum, "%s", pr->full_sum);
        else weiri_put(&sum, "%s%s of %s", m ? " + " : "", pr->full_sum, r->name);
    }
    b.sum = weiri_arena_str(&p->a, sum.s);
    weiri_buf_free(&sum);
    return b;
}

/* Barriers in the order of the group's own run of them; one that is shared is made where the first member has it. */
static void make_group(weiri_plan *p, const weir_res *g, const weiri_proto *protos) {
    const int n = g->nmembers;
    for (int e = 0; e < weir_group_barriers_per_stage(g); e++) {
        int bar = -1;
        for (int m = 0; m < n; m++) {
            const weir_res *r = g->members[m];
            const weiri_proto *pr = &protos[r->index];
            weiri_ppipe *pp = &p->pipes.v[weiri_pipe_of(p, r)];
            const bool full = weiri_group_full(g->mode, n, 1, m, 0) == e, empty = weiri_group_empty(g->mode, n, 1, m, 0) == e;
            if (!full && !empty) continue;
            const bool shared = full ? g->mode != WEIR_GROUP_MERGE : g->mode != WEIR_GROUP_FORK;
            if (bar < 0 && full && shared) bar = push_bar(p, shared_full(p, g, protos));
            if (bar < 0) {
                const char *kind = full ? "full" : "empty";
                const char *name = shared ? weiri_arena_fmt(&p->a, "%s_%s", g->name, kind)
                                          : weiri_arena_fmt(&p->a, "%s_%s_%s", g->name, r->name, kind);
                bar = full ? push_full(p, name, pp, pr) : push_empty(p, name, pp->stages, pr);
            }
            if (full) pp->full = bar;
            else pp->empty = bar;
        }
    }
}

void pl_make_bars(weiri_plan *p, const weiri_proto *protos) {
    for (int i = 0; i < p->k->res.n; i++) {
        const weir_res *r = p->k->res.v[i];
        const int pipe = weiri_pipe_of(p, r);
        if (r->kind == WEIR_RES_GROUP && is_planned(p, r)) make_group(p, r, protos);
        if (!r->group && pipe >= 0) make_own(p, &p->pipes.v[pipe], &protos[r->index]);
    }
}

/* A sum that the group's own pipeline gives, and that only the plan knows. */
static void check_asked(weiri_plan *p, const weir_res *g, const char *rule, const char *field, int64_t given, int64_t made) {
    if (!given || given == made) return;
    weir_finding *f = weiri_find(&p->findings, rule, weiri_place_of(&g->at),
                                 "group '%s': %s = %" PRId64 ", but its members make %" PRId64, g->name, field, given, made);
    f->objects[0] = g->name;
    f->expected = weiri_arena_fmt(&p->a, "%" PRId64, made);
    f->got = weiri_arena_fmt(&p->a, "%" PRId64, given);
    f->hint = "leave it out: it is derived";
}

/* (What is no sum, the members have inherited.) */
static void check_sums(weiri_plan *p, const weir_res *g, const weiri_proto *protos) {
    int64_t producers = 0, consumers = 0, bytes = 0;
    const bool fork = g->mode == WEIR_GROUP_FORK;
    for (int m = 0; m < g->nmembers; m++) {
        const weiri_proto *pr = &protos[g->members[m]->index];
        producers += pr->full_count;
        consumers += pr->empty_count;
        bytes = !fork ? bytes + pr->expect_bytes : pr->expect_bytes > bytes ? pr->expect_bytes : bytes;
    }
    check_asked(p, g, "V-GRP-04", "bytes", g->asked.bytes, bytes);
    if (fork) check_asked(p, g, "G-CFG-13", "consumers", g->asked.consumers, consumers);
    else check_asked(p, g, "G-CFG-13", "producers", g->asked.producers, producers);
}

static const char *whose(bool leaders) { return leaders ? "the leader CTA's" : "each CTA's own"; }

/* With v = 2 members that share a barrier must have it in the same CTAs: the leader's, or each CTA its own. */
static void check_pair(weiri_plan *p, const weir_res *g) {
    const weir_kernel *k = p->k;
    const weir_pipe_type x = g->members[0]->pipe.given.type;
    for (int m = 1; m < g->nmembers; m++) {
        const weir_pipe_type y = g->members[m]->pipe.given.type;
        const bool full = g->mode != WEIR_GROUP_MERGE && weiri_tc_leaders_full(k, x) != weiri_tc_leaders_full(k, y);
        const bool empty = g->mode != WEIR_GROUP_FORK && (x == WEIR_UMMA_ASYNC) != (y == WEIR_UMMA_ASYNC);
        if (!full && !empty) continue;
        weir_finding *f = weiri_find(&p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&g->at),
                                     "group '%s': with v = 2 the %s barriers of '%s' (%s) are %s, those of '%s' (%s) %s",
                                     g->name, full ? "full" : "empty", g->members[0]->name, weiri_pipe_type_name(x),
                                     whose(full ? weiri_tc_leaders_full(k, x) : x == WEIR_UMMA_ASYNC), g->members[m]->name,
                                     weiri_pipe_type_name(y), whose(full ? weiri_tc_leaders_full(k, y) : y == WEIR_UMMA_ASYNC));
        f->objects[0] = g->name;
        f->hint = "leave the two out of one group, or v = 1";
        return;
    }
}

void pl_check_groups(weiri_plan *p, const weiri_proto *protos) {
    const weir_kernel *k = p->k;
    for (int i = 0; i < k->res.n; i++)
        if (k->res.v[i]->kind == WEIR_RES_GROUP && k->res.v[i]->asked.type && is_planned(p, k->res.v[i]))
            check_sums(p, k->res.v[i], protos);
    for (int i = 0; i < k->res.n && weiri_tc_pair(k); i++)
        if (k->res.v[i]->kind == WEIR_RES_GROUP) check_pair(p, k->res.v[i]);
}

/* ---- the array ----------------------------------------------------------------------------------------------------------- */

/* Where the first pipeline that uses a run of mbarriers is declared: one does. */
static const weir_place *maker_of(const weiri_plan *p, int bar) {
    const weiri_ppipe *x = p->pipes.v;
    while (x->full != bar && x->empty != bar) x++;
    return weiri_place_of(&x->res->at);
}

/* What an mbarrier can count, at least 1: protocol.c counts one where nobody arrives. */
static void check_range(weiri_plan *p, int bar) {
    enum { MOST = (1 << 20) - 1 };
    const weiri_bar *b = &p->bars.v[bar];
    if (b->count > MOST)
        weiri_find(&p->findings, "PLAN-COUNT", maker_of(p, bar),
                   "mbarrier '%s' would be initialised with %d arrivals (%s); the range is 1 to %d", b->name, b->count, b->sum,
                   MOST);
    if (b->tx > MOST)
        weiri_find(&p->findings, "PLAN-TX", maker_of(p, bar),
                   "mbarrier '%s' would expect %" PRId64 " bytes a phase; one phase counts at most %d", b->name, b->tx, MOST);
}

void pl_place_bars(weiri_plan *p) {
    const int n = p->bars.n;
    weiri_bar_item *item = WEIRI_NEW_N(&p->a, weiri_bar_item, n + 1);
    for (int i = 0; i < n; i++)
        item[i] = (weiri_bar_item){ .name = p->bars.v[i].name, .count = p->bars.v[i].stages, .arrivals = p->bars.v[i].count };
    weiri_bar_run *runs = WEIRI_NEW_N(&p->a, weiri_bar_run, n + 1);
    int nruns = 0;
    p->nbarriers = n ? weiri_layout_barriers(item, n, runs, &nruns) : 0;
    p->smem_barrier = 8 * (int64_t)p->nbarriers;
    p->barrier_offset = weiri_layout_array(p->smem_data, p->nbarriers, &p->smem_total);
    for (int i = 0; i < n; i++) {
        p->bars.v[i].first = item[i].first;
        p->bars.v[i].offset = p->barrier_offset + 8 * (int64_t)item[i].first;
        check_range(p, i);
    }
}
