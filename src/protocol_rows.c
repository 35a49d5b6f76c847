/* What the ops of a pipeline type do to its two mbarriers: rows of barrier actions, in one function a kind of filler (produce) and
 * a kind of reader (consume). */
#include <string.h>

#include "protocol_own.h"

enum { WARP = 32, WARPGROUP = 128 }; /* threads */

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

static void row(weiri_row rows[WEIRI_MAX_ROWS], weiri_row r) {
    int n = 0;
    while (rows[n].kind != ROW_END) n++;
    rows[n] = r;
}

/* An elected arrive speaks for threads that must have come first. `quiet`: they touched the stage by wgmma alone, whose wait
 * already covers the whole warpgroup (kernels with one arrive per warpgroup rely on it), so nothing has to join them. */
static void join(weiri_row rows[WEIRI_MAX_ROWS], weir_grain g, bool quiet) {
    if (g == WEIR_GRAIN_WARP) row(rows, (weiri_row){ .kind = ROW_WARP_SYNC });
    if (g == WEIR_GRAIN_WARPGROUP && !quiet) row(rows, (weiri_row){ .kind = ROW_WG_SYNC });
}

/* `to` as weiri_row.targets; several targets are dealt to as many threads where one is elected. */
static weiri_row arrive(weiri_row_bar bar, weir_grain g, int to, bool cross, bool several) {
    weiri_row r = { .kind = ROW_ARRIVE, .bar = bar, .targets = to, .cross = cross };
    if (g == WEIR_GRAIN_THREAD) r.who = ROW_THREADS;
    else if (g == WEIR_GRAIN_WARP) r.who = several ? ROW_LANE_CTAS : ROW_LANE;
    else r.who = several ? ROW_WG_CTAS : ROW_WG;
    return r;
}

int weiri_row_arrivals(const weiri_row *r, bool wg_actor) {
    if (r->kind != ROW_ARRIVE && r->kind != ROW_EXPECT && r->kind != ROW_CP_ARRIVE && r->kind != ROW_UMMA_COMMIT) return 0;
    switch (r->who) {
    case ROW_THREADS: return wg_actor ? WARPGROUP : WARP;
    case ROW_LANE:
    case ROW_LANE_CTAS: return wg_actor ? 4 : 1;
    default: return 1;
    }
}

static int closing_arrivals(const weiri_row rows[WEIRI_MAX_ROWS], weiri_row_bar bar, bool wg_actor) {
    int n = 0;
    for (int i = 0; rows[i].kind != ROW_END; i++)
        if (rows[i].bar == bar) n += weiri_row_arrivals(&rows[i], wg_actor);
    return n;
}

static void check_tma_warps(const facts *f, weiri_proto *out) {
    int warps = f->in->producer.max_warps_of_a_task, stride = f->stride[1];
    char got[48];
    if (warps <= 1) return;
    snprintf(got, sizeof got, "%d warps", warps);
    if (stride <= 1 && !f->twl)
        pr_fault(
            out, "V-CNT-03", "1 warp", got,
            "a producer task of %d warps on %s: each would arm the barrier; use producer_signaling = \"task_warp_leader\", "
            "or interleave above 1 (it is %d)",
            warps, pr_types[f->type].name, stride);
    if (stride > 1 && f->twl)
        pr_fault(
            out, "V-CNT-04", "one of them", got,
            "a producer task of %d warps has interleave %d and \"task_warp_leader\": with the first each warp arms its own "
            "stages, with the second only the first warp arms; choose one",
            warps, stride);
}

/* ---- acquire and commit -------------------------------------------------------------------------------------------------- */

static void count_full(const facts *f, const char *rule, int count, const char *why, weiri_proto *out) {
    out->full_count =
        pr_count_fixed("producers", f->in->given.producers, rule, count, why, out->full_sum, sizeof out->full_sum, out);
}

/* By TMA. Where stages are filled by pushes of other CTAs, an acquire arms those that it pushes to. */
static void fill_by_copies(const facts *f, weiri_row wait, weiri_proto *out) {
    const bool umma = f->type == WEIR_TMA_UMMA;
    const int arming = pr_arming_warps(f), senders = f->in->senders ? f->in->senders : 1;
    const reach from = { .all = senders, .by_rank = f->in->senders ? out->senders : NULL, .ctas = pr_ctas(f->c) };
    char why[96];
    pr_check_grain("producer_grain", f->in->given.producer_grain, WEIR_GRAIN_DEFAULT, pr_types[f->type].name,
                   "a stage is filled by copies, and one lane arms it", out);
    for (int i = 0; i < from.ctas && f->in->senders; i++) {
        const int to = f->in->dest[i];
        if (to >= 0) out->arms[i] = (uint16_t)(1u << to), out->senders[to]++;
    }
    if (umma || f->twl) wait.leader_only = false; /* every CTA waits: its own loads write into its own stage */
    row(out->acquire, wait);
    if (f->in->fence_acquire) row(out->acquire, (weiri_row){ .kind = ROW_FENCE_ASYNC }); /* who arms joins the others */
    row(out->acquire, (weiri_row){ .kind = ROW_EXPECT,
                                   .bar = ROW_FULL,
                                   .who = f->twl ? ROW_ONE : ROW_LANE,
                                   .twl_only = f->twl,
                                   .by_rank = f->in->senders > 0,
                                   .leader_only = umma ? f->c.v > 1 : pr_gated(f, f->psig) });
    check_tma_warps(f, out);
    snprintf(why, sizeof why, "%d warp%s that arm%s", arming, arming == 1 ? "" : "s", arming == 1 ? "s" : "");
    pr_describe_reach(why, sizeof why, from);
    out->full_unit = arming;
    count_full(f, f->stride[1] > 1 ? "V-CNT-07" : "V-CNT-09", arming * senders, why, out);
}

/* By the tile scheduler: CTA 0 asks for all. */
static void fill_by_scheduler(const facts *f, weiri_row wait, weiri_proto *out) {
    const bool cluster = pr_ctas(f->c) > 1;
    const char *why = "one lane of CTA 0 arms each CTA";
    pr_check_grain("producer_grain", f->in->given.producer_grain, WEIR_GRAIN_DEFAULT, pr_types[f->type].name, why, out);
    wait.leader_only = false;
    wait.cta0_only = cluster;
    row(out->acquire, wait);
    row(out->acquire, (weiri_row){ .kind = ROW_EXPECT,
                                   .bar = ROW_FULL,
                                   .who = cluster ? ROW_LANE_CTAS : ROW_LANE,
                                   .targets = cluster ? M | N | K | V : 0,
                                   .cta0_only = cluster });
    count_full(f, "V-CNT-08", 1, why, out);
}

/* By an mma of sm_100a: the tensor core arrives. */
static void fill_by_tensor_core(const facts *f, weiri_row wait, weiri_proto *out) {
    const bool lead = pr_gated(f, f->psig);
    const share s = pr_share_of(&f->in->producer, f->stride[1]);
    const int tasks = s.tasks > 0 ? s.tasks : 1, from = tasks * (f->c.v > 1 && !lead ? f->c.v : 1);
    char why[96];
    pr_check_grain("producer_grain", f->in->given.producer_grain, WEIR_GRAIN_DEFAULT, pr_types[f->type].name,
                   "the tensor core arrives", out);
    row(out->acquire, wait);
    row(out->acquire, (weiri_row){ .kind = ROW_TC_AFTER, .leader_only = wait.leader_only });
    row(out->commit,
        (weiri_row){
            .kind = ROW_UMMA_COMMIT, .bar = ROW_FULL, .who = ROW_LANE, .targets = f->c.v > 1 ? V : 0, .leader_only = lead });
    if (tasks > 1)
        snprintf(why, sizeof why, "one commit of the mma x %d tasks x %d CTA%s", tasks, from / tasks, from == tasks ? "" : "s");
    else snprintf(why, sizeof why, from > 1 ? "one commit of the mma x %d CTAs" : "one commit of the mma", from);
    count_full(f, "V-CNT-08", from, why, out);
}

/* By wgmma, which cannot arrive: drain, leave the tile in the stage, join, one thread arrives. */
static void fill_by_warpgroups(const facts *f, weiri_row wait, weiri_proto *out) {
    const share s = pr_share_of(&f->in->producer, f->stride[1]);
    const int groups = s.groups > 0 ? s.groups : 1;
    char why[96];
    pr_check_grain("producer_grain", f->in->given.producer_grain, WEIR_GRAIN_WARPGROUP, pr_types[f->type].name,
                   "one thread of each warpgroup arrives", out);
    row(out->acquire, wait);
    out->producer_grain = WEIR_GRAIN_WARPGROUP;
    row(out->commit, (weiri_row){ .kind = ROW_MMA_DRAIN });
    row(out->commit, (weiri_row){ .kind = ROW_SPILL });
    if (f->type == WEIR_UMMA_UMMA || f->in->fence_commit) row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC });
    join(out->commit, WEIR_GRAIN_WARPGROUP, false);
    row(out->commit, arrive(ROW_FULL, WEIR_GRAIN_WARPGROUP, 0, false, false));
    snprintf(why, sizeof why, "%d warpgroup%s", groups, groups == 1 ? "" : "s");
    count_full(f, "V-CNT-08", groups, why, out);
}

/* By stores of threads, or by their cp.asyncs (`load`): those arrive for each thread. */
static void fill_by_threads(const facts *f, weiri_row wait, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *p = &f->in->producer, *c = &f->in->consumer;
    const bool lead = pr_gated(f, f->psig), load = d->producer_op == WEIR_PRODUCER_LOAD, umma = f->type == WEIR_ASYNC_UMMA;
    const int to = umma && f->c.v > 1 ? WEIRI_TO_LEADER : 0;
    row(out->acquire, wait);
    thread_side t = { .field = "producers", .op = "commit", .given = d->producers, .share = pr_share_of(p, f->stride[1]) };
    t.rule = p->domain_lanes && f->stride[1] > 1 ? "V-CNT-06" : "V-CNT-09";
    t.grain = load ? WEIR_GRAIN_THREAD : d->producer_grain;
    t.standard = WEIR_GRAIN_WARP;
    t.reach.all = to == WEIRI_TO_LEADER && !lead ? f->c.v : 1;
    if (load && umma && f->c.v > 1)
        pr_fault(out, "X-V2-02", "v = 1", "v = 2",
                 "producer_op = \"load\" on async_umma with v = %d: cp.async arrives in its own CTA only, so the leader's mma "
                 "cannot see that the peer's copies landed; load with tma_umma, or use v = 1",
                 f->c.v);
    if (load && d->producer_grain > WEIR_GRAIN_THREAD)
        pr_fault(out, "V-CNT-13", "thread", pr_unit_of(d->producer_grain, 1),
                 "producer_grain = \"%s\" with producer_op = \"load\": every thread's copies arrive for themselves; leave the "
                 "grain out",
                 pr_unit_of(d->producer_grain, 1));
    out->full_count = pr_count_threads(&t, &out->producer_grain, out->full_sum, sizeof out->full_sum, out);
    if (load) {
        row(out->commit, (weiri_row){ .kind = ROW_CP_ARRIVE, .bar = ROW_FULL, .leader_only = lead });
        return;
    }
    if (umma || f->type == WEIR_ASYNC_TMA || c->only_mma_reads || c->async_reads || f->in->fence_commit)
        row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
    join(out->commit, out->producer_grain, false);
    weiri_row r = arrive(ROW_FULL, out->producer_grain, to, false, false);
    r.leader_only = lead;
    row(out->commit, r);
}

void pr_produce(const facts *f, weiri_proto *out) {
    weiri_row wait = { .kind = ROW_WAIT, .bar = ROW_EMPTY, .leader_only = pr_gated(f, f->psig) };
    if (f->type == WEIR_UMMA_ASYNC && f->c.v > 1)
        wait.leader_only = true; /* threads of both CTAs release to the leader alone */
    out->producer_grain = WEIR_GRAIN_WARP;
    switch (pr_types[f->type].producer) {
    case BY_TMA: fill_by_copies(f, wait, out); break;
    case BY_CLC: fill_by_scheduler(f, wait, out); break;
    case BY_MMA:
        if (f->native) fill_by_tensor_core(f, wait, out);
        else fill_by_warpgroups(f, wait, out);
        break;
    default: fill_by_threads(f, wait, out); break;
    }
}

/* ---- wait and release ---------------------------------------------------------------------------------------------------- */

/* Whom a release tells: along the axes `to`, or as out->reach says by rank; how many tell one CTA. */
typedef struct telling {
    int to, served;
    bool cross;
    reach from;
} telling;

/* Whoever fills a stage for others is told by all of them; of pushes those that push into it, and nobody else. */
static telling whom_to_tell(const facts *f, weiri_proto *out) {
    const weiri_proto_in *in = f->in;
    const int n = pr_ctas(f->c);
    telling t = { .served = weiri_served(f->c, in->serve, in->serve_cross) };
    for (int i = 0; i < n && n <= WEIRI_MAX_CTAS; i++) {
        const uint32_t here = weiri_reach(f->c, i, in->serve, in->serve_cross, in->first);
        out->reach[i] = (uint16_t)here;
        out->uneven = out->uneven || here != weiri_cta_mask(f->c, i, in->serve, in->serve_cross);
        for (int j = 0; j < n; j++) out->sources[j] = (uint8_t)(out->sources[j] + (here >> j & 1));
    }
    for (int i = 0; i < n && in->senders; i++) {
        if (!i) memset(out->sources, 0, sizeof out->sources), out->uneven = true;
        out->reach[i] = 0;
        for (int j = 0; j < n; j++)
            if (in->dest[j] == i) out->reach[i] = (uint16_t)(out->reach[i] | 1u << j);
        out->sources[i] = in->dest[i] >= 0;
    }
    if (out->uneven) t.served = in->senders ? 1 : out->sources[0];
    else if (t.served > 1) t.to = in->serve, t.cross = in->serve_cross;
    t.from = (reach){ .all = t.served, .by_rank = out->uneven ? out->sources : NULL, .ctas = n };
    return t;
}

/* With v = 2 the full barrier of an mma's operands is the leader's alone, unless another mma fills the stage. cp.async completes in
 * the generic proxy and arrives by itself: the fence can only stand behind the wait. */
static void wait_for_full(const facts *f, weiri_proto *out) {
    const weiri_pside *c = &f->in->consumer;
    const kind filler = pr_types[f->type].producer, reader = pr_types[f->type].consumer;
    const bool leaders_full = f->c.v > 1 && reader == BY_MMA && filler != BY_MMA, lead = pr_gated(f, f->wsig) || leaders_full;
    row(out->wait, (weiri_row){ .kind = ROW_WAIT, .bar = ROW_FULL, .leader_only = lead });
    const bool read_async = reader == BY_MMA || reader == BY_STORE || c->only_mma_reads || c->async_reads;
    if ((f->in->given.producer_op == WEIR_PRODUCER_LOAD && read_async) || f->in->fence_wait)
        row(out->wait, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
    if (f->native && (reader == BY_MMA || filler == BY_MMA || f->in->tensor_wait))
        row(out->wait, (weiri_row){ .kind = ROW_TC_AFTER, .leader_only = lead });
}

static void count_empty(const facts *f, const char *rule, int count, const char *why, weiri_proto *out) {
    out->empty_count =
        pr_count_fixed("consumers", f->in->given.consumers, rule, count, why, out->empty_sum, sizeof out->empty_sum, out);
}

/* By an mma of sm_100a: its commit arrives. It comes behind the one thread's own work, so loads by threads of the task join
 * first. */
static void empty_by_tensor_core(const facts *f, const telling *t, weiri_proto *out) {
    const bool lead = pr_gated(f, f->csig);
    const share s = pr_share_of(&f->in->consumer, f->stride[3]);
    char why[96];
    pr_check_grain("grain", f->in->given.grain, WEIR_GRAIN_DEFAULT, pr_types[f->type].name, "the tensor core arrives", out);
    if (f->in->fence_release) {
        row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
        join(out->release, f->in->consumer.warpgroups > 0 ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP, false);
    }
    const int tasks = s.tasks > 0 ? s.tasks : 1;
    const int commits = tasks * t->served * (lead ? 1 : f->c.v); /* what the mask brings, not every CTA of the cluster */
    row(out->release, (weiri_row){ .kind = ROW_UMMA_COMMIT,
                                   .bar = ROW_EMPTY,
                                   .who = ROW_LANE,
                                   .cross = t->cross,
                                   .leader_only = lead,
                                   .by_rank = out->uneven,
                                   .targets = f->c.v > 1 ? t->to | V : t->to });
    if (out->uneven) {
        snprintf(why, sizeof why, tasks > 1 ? "one commit of the mma x %d tasks" : "one commit of the mma", tasks);
        pr_describe_reach(why, sizeof why, t->from);
    } else if (tasks > 1)
        snprintf(why, sizeof why, "one commit of the mma x %d tasks x %d CTA%s", tasks, commits / tasks,
                 commits == tasks ? "" : "s");
    else snprintf(why, sizeof why, "one commit of the mma x %d CTA%s", commits, commits == 1 ? "" : "s");
    count_empty(f, f->stride[3] > 1 ? "V-CNT-07" : "V-CNT-08", commits, why, out);
}

/* By wgmma: drain, join, one thread of each warpgroup arrives. */
static void empty_by_warpgroups(const facts *f, const telling *t, weiri_proto *out) {
    const weiri_pside *c = &f->in->consumer;
    const share s = pr_share_of(c, f->stride[3]);
    const int groups = s.groups > 0 ? s.groups : 1;
    char why[96];
    pr_check_grain("grain", f->in->given.grain, WEIR_GRAIN_WARPGROUP, pr_types[f->type].name,
                   "one thread of each warpgroup arrives", out);
    out->grain = WEIR_GRAIN_WARPGROUP;
    row(out->release, (weiri_row){ .kind = ROW_MMA_DRAIN });
    if (f->in->fence_release) row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC });
    join(out->release, WEIR_GRAIN_WARPGROUP, !c->async_reads || c->only_mma_reads);
    weiri_row r = arrive(ROW_EMPTY, WEIR_GRAIN_WARPGROUP, t->to, t->cross, t->served > 1);
    r.by_rank = out->uneven;
    row(out->release, r);
    snprintf(why, sizeof why, "%d warpgroup%s", groups, groups == 1 ? "" : "s");
    pr_describe_reach(why, sizeof why, t->from);
    count_empty(f, "V-CNT-08", groups * t->served, why, out);
}

/* By bulk stores: the thread that stores says when its reads are done; other warps of its task say that they have waited. */
static void empty_by_stores(const facts *f, weiri_proto *out) {
    const share s = pr_share_of(&f->in->consumer, f->stride[3]);
    const int n = s.whole_groups ? s.groups : s.warps > 0 ? s.warps : 1;
    char why[96];
    out->grain = s.whole_groups ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP;
    pr_check_grain("grain", f->in->given.grain, out->grain, pr_types[f->type].name,
                   s.whole_groups ? "one thread of each warpgroup arrives" : "one lane of each warp arrives", out);
    row(out->release, (weiri_row){ .kind = ROW_BULK_WAIT, .who = s.whole_groups ? ROW_WG : ROW_ONE });
    join(out->release, out->grain, false);
    row(out->release, arrive(ROW_EMPTY, out->grain, 0, false, false));
    snprintf(why, sizeof why, "%d %s", n, pr_unit_of(out->grain, n));
    count_empty(f, "V-CNT-08", n, why, out);
}

static const char *rule_of_readers(const facts *f) {
    if (f->type == WEIR_CLC_FETCH_ASYNC) return "V-CNT-10";
    if (f->stride[3] > 1 && f->in->consumer.domain_lanes) return "V-CNT-06";
    if (f->type != WEIR_TMA_ASYNC) return "V-CNT-09";
    return f->stride[3] > 1 ? "V-CNT-07" : "V-CNT-11";
}

/* By threads. fence_release: plain loads may still be in flight when their thread has arrived, and the async proxy, which fills the
 * stage again, does not queue behind them: on an H200 a load that banks held up read what the next copy brought. The fence waits
 * for them (PTX ISA, "Async proxy"). */
static void empty_by_threads(const facts *f, const telling *t, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *c = &f->in->consumer;
    const bool lead = pr_gated(f, f->csig);
    const share s = pr_share_of(c, f->stride[3]);
    thread_side side = { .field = "consumers", .op = "release", .given = d->consumers, .grain = d->grain, .share = s };
    int to = t->to;
    side.standard = c->only_mma_reads && s.whole_groups ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP;
    side.rule = rule_of_readers(f);
    side.reach = t->from; /* of the resource itself, or of what shares its empty barrier */
    if (f->type == WEIR_CLC_FETCH_ASYNC) {
        to = pr_ctas(f->c) > 1 ? WEIRI_TO_CTA0 : 0;
        side.reach = (reach){ .all = pr_ctas(f->c) / (pr_leads(f->csig) ? f->c.v : 1), .single_tasks = true };
    } else if (f->type == WEIR_UMMA_ASYNC && f->c.v > 1) {
        to = WEIRI_TO_LEADER;
        side.reach.all = lead ? 1 : f->c.v;
    }
    const bool several = to > 0 || out->uneven;
    out->empty_count = pr_count_threads(&side, &out->grain, out->empty_sum, sizeof out->empty_sum, out);
    if (f->native && (pr_types[f->type].producer == BY_MMA || f->in->tensor_release))
        row(out->release, (weiri_row){ .kind = ROW_TC_BEFORE });
    if (f->in->fence_release) row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
    join(out->release, out->grain, c->only_mma_reads);
    weiri_row a = arrive(ROW_EMPTY, out->grain, to, several && t->cross, several);
    a.leader_only = lead;
    a.by_rank = out->uneven;
    row(out->release, a);
}

void pr_consume(const facts *f, weiri_proto *out) {
    const telling t = whom_to_tell(f, out);
    out->grain = WEIR_GRAIN_WARP;
    wait_for_full(f, out);
    switch (pr_types[f->type].consumer) {
    case BY_MMA:
        if (f->native) empty_by_tensor_core(f, &t, out);
        else empty_by_warpgroups(f, &t, out);
        break;
    case BY_STORE: empty_by_stores(f, out); break;
    default: empty_by_threads(f, &t, out); break;
    }
    out->empty_unit = out->empty_count / (t.served > 0 ? t.served : 1);
}

/* ---- both ---------------------------------------------------------------------------------------------------------------- */

/* From how many CTAs of a V group the rows arrive at `bar` of the one with coordinate v. Rows of an op wait for one barrier and
 * arrive at the other, so all that name `bar` arrive. */
static int sources(const weiri_row rows[WEIRI_MAX_ROWS], weiri_row_bar bar, int v, int group) {
    int n = 0;
    for (int i = 0; rows[i].kind != ROW_END; i++) {
        const weiri_row *r = &rows[i];
        if (r->bar != bar) continue;
        int from = r->leader_only ? 1 : group; /* CTAs that run the row */
        if (r->targets == WEIRI_TO_LEADER) n += v == 0 ? from : 0;
        else if (r->targets > 0 && r->targets & V) n += from;
        else n += v < from;
    }
    return n;
}

/* Acquire and wait begin with their one wait. */
static bool followers_wait(const weiri_row rows[WEIRI_MAX_ROWS]) { return !rows[0].leader_only; }

/* Barriers count alike in all CTAs. Where another CTA than the leader waits, as many arrivals must come as at the leader's.
 * (clc_fetch_async is apart: CTA 0 arms all full barriers, and alone waits for an empty one.) */
void pr_check_followers(const facts *f, weiri_proto *out) {
    if (f->c.v == 1 || pr_types[f->type].producer == BY_CLC) return;
    int full[2], empty[2]; /* sources at v = 0 and v = 1 */
    for (int v = 0; v < 2; v++) {
        full[v] = sources(out->acquire, ROW_FULL, v, f->c.v) + sources(out->commit, ROW_FULL, v, f->c.v);
        empty[v] = sources(out->release, ROW_EMPTY, v, f->c.v);
    }
    if (followers_wait(out->wait) && full[0] != full[1])
        pr_fault(
            out, "X-SIG-01", "all", pr_signal_name(f->psig),
            "producer_signaling = \"%s\" on %s with v = %d: CTAs with v > 0 wait on their own full barriers, where nothing "
            "arrives; leave it out",
            pr_signal_name(f->psig), pr_types[f->type].name, f->c.v);
    if (followers_wait(out->acquire) && empty[0] != empty[1])
        pr_fault(
            out, "X-SIG-01", "all", pr_signal_name(f->csig),
            "consumer_signaling = \"%s\" on %s with v = %d: CTAs with v > 0 wait on their own empty barriers, where nothing "
            "arrives; leave it out",
            pr_signal_name(f->csig), pr_types[f->type].name, f->c.v);
}

/* async_tma whose filling warpgroups also store: program order and a named barrier do, no mbarrier. */
void pr_fill_and_store(const facts *f, weiri_proto *out) {
    out->has_full = out->has_empty = false;
    out->grain = out->producer_grain = WEIR_GRAIN_WARPGROUP;
    row(out->acquire, (weiri_row){ .kind = ROW_BULK_WAIT, .who = ROW_WG });
    row(out->acquire, (weiri_row){ .kind = ROW_WG_SYNC });
    row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC });
    row(out->commit, (weiri_row){ .kind = ROW_WG_SYNC });
    const weir_pipe_desc *d = &f->in->given;
    char got[48];
    pr_check_grain("grain", d->grain, WEIR_GRAIN_WARPGROUP, pr_types[f->type].name, "one task fills and stores, nobody arrives",
                   out);
    pr_check_grain("producer_grain", d->producer_grain, WEIR_GRAIN_WARPGROUP, pr_types[f->type].name,
                   "one task fills and stores, nobody arrives", out);
    snprintf(got, sizeof got, "%d, %d", d->producers, d->consumers);
    if (d->producers || d->consumers)
        pr_fault(out, "V-CNT-08", "none", got,
                 "producers, consumers = %s: one task fills and stores this async_tma, no mbarrier counts; leave them out",
                 got);
}

void pr_count_closing(const facts *f, weiri_proto *out) {
    const weiri_pside *p = &f->in->producer, *c = &f->in->consumer;
    const bool p_wg = p->warps > 0 && p->warpgroups * 4 == p->warps, c_wg = c->warps > 0 && c->warpgroups * 4 == c->warps;
    out->full_per_commit = closing_arrivals(out->commit, ROW_FULL, p_wg) + closing_arrivals(out->acquire, ROW_FULL, p_wg);
    out->empty_per_release = closing_arrivals(out->release, ROW_EMPTY, c_wg);
}
