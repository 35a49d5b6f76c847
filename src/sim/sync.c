/* What threads wait for each other with: mbarriers, named barriers, cluster barriers, warp-wide operations, the register
 * pool. */
#include <stdio.h>
#include <string.h>

#include "../tell.h"
#include "machine.h"

/* ---- mbarriers ----------------------------------------------------------------------------------------------------------- */

bar *weiri_sync_bar(cta *c, u32 addr) {
    if (addr < SMEM_BASE || addr + 8 > SMEM_BASE + c->m->smem_bytes || addr % 8) return NULL;
    u16 i = c->bar_at[(addr - SMEM_BASE) / 8];
    return i ? &c->bars[i - 1] : NULL;
}

const weiri_bar *weiri_sync_planned(const machine *m, u32 addr, int *stage) {
    return weiri_tell_bar(m->plan, (i64)addr - SMEM_BASE, stage);
}

static void name_at(const machine *m, u32 addr, char *out, size_t size) {
    int stage = 0;
    const weiri_bar *b = weiri_sync_planned(m, addr, &stage);
    if (b) snprintf(out, size, "'%s' stage %d", b->name, stage);
    else snprintf(out, size, "at shared byte %lld", (i64)addr - SMEM_BASE);
}

void weiri_sync_bar_name(const cta *c, const bar *b, char *out, size_t size) { name_at(c->m, b->addr, out, size); }

/* The barrier at an address of a CTA, or a fault. */
static bar *need_bar(cta *c, u32 addr, const thread *by, u32 at, const char *what) {
    bar *b = weiri_sync_bar(c, addr);
    if (b && b->live) return b;
    char name[96];
    name_at(c->m, addr, name, sizeof name);
    weiri_sim_fault(c->m, by, at, "sim-bar-init", "%s mbarrier %s of CTA %u, which is not initialised", what, name, c->block);
    return NULL;
}

/* Remote arrives and the async proxy see an initialised barrier only after its thread's fence. */
static bool need_visible(cta *c, const bar *b, const thread *by, const char *what) {
    if (b->fenced) return true;
    char name[96];
    weiri_sync_bar_name(c, b, name, sizeof name);
    weiri_sim_fault(c->m, by, by->at, "sim-bar-init",
                    "%s mbarrier %s of CTA %u: thread %u initialised it and has run no fence.mbarrier_init since", what, name,
                    c->block, b->by);
    return false;
}

/* Whoever uses a barrier must come behind its initialisation, not only by chance: a fence and the cluster barrier, even a relaxed arrive,
 * or anything that orders memory. */
static bool need_ordered(const cta *c, const bar *b, const thread *by, const char *what) {
    if (by->vc[b->who] >= b->clock || (b->published && by->cluster_known > b->at_generation)) return true;
    char name[96];
    weiri_sync_bar_name(c, b, name, sizeof name);
    weiri_sim_fault(
        c->m, by, by->at, "sim-bar-init",
        "%s mbarrier %s of CTA %u: nothing orders it behind the initialisation by thread %u: a barrier is missing between them",
        what, name, c->block, b->by);
    return false;
}

bar *weiri_sync_need(cta *c, u32 addr, const thread *by) {
    bar *b = need_bar(c, addr, by, by->at, "a copy that completes on");
    if (b) weiri_race_join(c->m, b->issued, by->vc);
    return b && need_ordered(c, b, by, "a copy that completes on") && need_visible(c, b, by, "a copy that completes on") ? b : NULL;
}

static void fence_init(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    for (int i = 0; i < t->c->nbars; i++)
        if (t->c->bars[i].by == t->tid) t->c->bars[i].fenced = true;
}

static void mbar_init(w_sim_api *api, u32 addr, u32 count) {
    thread *t = weiri_sim_self(api);
    cta *c = t->c;
    machine *m = t->m;
    if (addr % 8)
        weiri_sim_fault(m, t, t->at, "sim-align", "an mbarrier at shared address %u, which is no multiple of 8", addr);
    if (!weiri_smem_inside(c, addr, 8, t, "an mbarrier at")) return;
    if (count < 1 || count > MAX_TX)
        weiri_sim_fault(m, t, t->at, "sim-bar-init", "an mbarrier with an arrive count of %u; 1 to %d can be counted", count,
                        MAX_TX);
    bar *b = weiri_sync_bar(c, addr);
    if (!b) {
        if (c->nbars == c->bar_cap) /* threads hold pointers into the array while they wait, so it never moves */
            weiri_sim_fault(m, t, t->at, "sim-bar-init", "more than %d mbarriers in one CTA; the plan has %d", c->bar_cap,
                            m->plan->nbarriers);
        b = &c->bars[c->nbars++];
        c->bar_at[(addr - SMEM_BASE) / 8] = (u16)c->nbars;
        c->is_bar[(addr - SMEM_BASE) / GRANULE] = 1;
    } else if (b->waiting) {
        char name[96];
        weiri_sync_bar_name(c, b, name, sizeof name);
        weiri_sim_fault(m, t, t->at, "sim-bar-init", "mbarrier %s is initialised again while threads wait on it", name);
    }
    u32 *arrived = b->arrived ? b->arrived : weiri_race_clock(m), *done = b->done ? b->done : weiri_race_clock(m);
    u32 *issued = b->issued ? b->issued : weiri_race_clock(m);
    struct seen_by *seen = b->seen;
    int seen_cap = b->seen_cap;
    *b = (bar){ .addr = addr,
                .live = true,
                .by = t->tid,
                .who = t->comp,
                .clock = t->vc[t->comp],
                .count = count,
                .pending = count,
                .arrived = arrived,
                .done = done,
                .issued = issued,
                .seen = seen,
                .seen_cap = seen_cap };
    memset(arrived, 0, (size_t)m->vc_n * sizeof *arrived);
    memset(done, 0, (size_t)m->vc_n * sizeof *done);
    memset(issued, 0, (size_t)m->vc_n * sizeof *issued);
    m->progress++;
}

/* The open phase ends. Whoever has seen the one before must have done so ahead of some arrival of this one, not only by chance: a
 * thread that came later would find that the parity it waits for has come round. Ahead: the arrival's thread knows of it, of an
 * operation of all of its warp, or of a wgmma of all of its warpgroup, that the thread was part of afterwards. Of the peer of a pair
 * (v = 2) the leader knows by bytes alone, which clocks do not show: pairs are not looked at. Elsewhere a kernel whose CTA is
 * released by others alone, and arms nothing there itself, would be told of a lap that its bytes rule out; weir emits none. */
static void check_seen(const cta *c, const bar *b, const thread *by, u32 at) {
    if (c->m->plan->k->cluster.v > 1) return;
    for (int i = 0; i < b->nseen; i++) {
        const struct seen_by *s = &b->seen[i];
        if (b->issued[s->who] >= s->clock || b->issued[weiri_race_joined(c, s->tid / 32)] > s->joins ||
            b->issued[weiri_race_mmas(c, s->tid / 128)] > s->mmas)
            continue;
        char name[96], place[256];
        weiri_sync_bar_name(c, b, name, sizeof name);
        weiri_sim_place(c->m, s->at, place, sizeof place);
        weiri_sim_fault(c->m, by, at, "sim-lap",
                        "parity lap on mbarrier %s: nothing puts the wait for phase %lld by warp %u, lane %u%s%s%s ahead of the arrivals "
                        "of the next phase; a thread that comes late finds that the parity has come round",
                        name, (i64)b->phase - 1, s->tid / 32, s->tid % 32, *place ? " (" : "", place, *place ? ")" : "");
    }
}

static void try_complete(cta *c, bar *b, const thread *by, u32 at) {
    if (b->pending || b->tx) return;
    check_seen(c, b, by, at);
    b->nseen = 0;
    b->phase++;
    memcpy(b->done, b->arrived, (size_t)c->m->vc_n * sizeof *b->done);
    b->done[weiri_race_bar(c, b)] = (u32)b->phase;
    b->pending = b->count;
    b->landed = 0;
    c->m->progress++;
    thread *t = b->waiting, *next;
    b->waiting = NULL;
    for (; t; t = next) { /* those of the other parity can only be laps behind; they look again themselves */
        next = t->next_waiting;
        weiri_sim_wake(t);
    }
}

static void check_tx(cta *c, bar *b, const thread *by, u32 at) {
    char name[96];
    if (b->tx > MAX_TX || b->tx < -MAX_TX) {
        weiri_sync_bar_name(c, b, name, sizeof name);
        weiri_sim_fault(c->m, by, at, "sim-tx",
                        "mbarrier %s of CTA %u: %lld bytes pending in one phase, at most %d can be counted", name, c->block,
                        b->tx, MAX_TX);
    } else if (!b->pending && b->tx < 0) {
        weiri_sync_bar_name(c, b, name, sizeof name);
        weiri_sim_fault(c->m, by, at, "sim-tx", "mbarrier %s of CTA %u, phase %llu: %lld bytes landed, %lld were expected",
                        name, c->block, b->phase, b->landed, b->landed + b->tx);
    }
}

void weiri_sync_arrive(cta *c, u32 addr, i64 arrivals, i64 expect, const thread *by, u32 at) {
    machine *m = c->m;
    char name[96];
    if (!c->running) {
        name_at(m, addr, name, sizeof name);
        weiri_sim_fault(m, by, at, "sim-exited", "an arrive on mbarrier %s of CTA %u, which has exited or not begun", name,
                        c->block);
        return;
    }
    bar *b = need_bar(c, addr, by, at, "an arrive on");
    if (!b) return;
    if (b->pending < arrivals) {
        weiri_sync_bar_name(c, b, name, sizeof name);
        weiri_sim_fault(
            m, by, at, "sim-arrivals",
            "an arrival too many on mbarrier %s of CTA %u: all %lld of phase %llu have come, and %lld bytes are still to land",
            name, c->block, b->count, b->phase, b->tx);
        return;
    }
    b->tx += expect;
    b->pending -= arrivals;
    m->progress++;
    check_tx(c, b, by, at);
    try_complete(c, b, by, at);
}

void weiri_sync_tell(cta *c, u32 addr, const u32 *vc) {
    bar *b = c->running ? weiri_sync_bar(c, addr) : NULL;
    if (!b || !b->live) return;
    weiri_race_join(c->m, b->arrived, vc);
    weiri_race_join(c->m, b->issued, vc);
}

void weiri_sync_tell_one(cta *c, u32 addr, const thread *by, u32 clock) {
    bar *b = c->running ? weiri_sync_bar(c, addr) : NULL;
    if (b && b->live && b->arrived[by->comp] < clock) b->arrived[by->comp] = clock;
}

void weiri_sync_complete(cta *c, u32 addr, u32 bytes, const thread *by, u32 at) {
    bar *b = need_bar(c, addr, by, at, "bytes land on");
    if (!b) return;
    b->tx -= bytes;
    b->landed += bytes;
    c->m->progress++;
    check_tx(c, b, by, at);
    try_complete(c, b, by, at);
}

static cta *target(thread *t, u32 rank) {
    if (rank == 0xffffffffu) return t->c;
    if (rank < (u32)t->c->cl->n) return &t->c->cl->ctas[rank];
    weiri_sim_fault(t->m, t, t->at, "sim-cluster", "an arrive at CTA %u of a cluster of %d", rank, t->c->cl->n);
    return t->c;
}

static void arrive_at(thread *t, u32 rank, u32 addr, u32 bytes) {
    cta *c = target(t, rank);
    weiri_sim_touch(t, addr);
    bar *b = c->running ? weiri_sync_bar(c, addr) : NULL;
    if (b && c != t->c && !need_visible(c, b, t, "a remote arrive on")) return;
    if (b && b->live && !need_ordered(c, b, t, "an arrive on")) return;
    if (b && b->live) {
        weiri_race_join(t->m, b->issued, t->vc);
        weiri_race_release(t, b->arrived);
    }
    weiri_sync_arrive(c, addr, 1, bytes, t, t->at);
}

static void mbar_arrive(w_sim_api *api, u32 addr, u32 rank) { arrive_at(weiri_sim_self(api), rank, addr, 0); }

static void mbar_expect(w_sim_api *api, u32 addr, u32 rank, u32 bytes) { arrive_at(weiri_sim_self(api), rank, addr, bytes); }

static void mbar_arrive_n(w_sim_api *api, u32 addr, u32 count) {
    thread *t = weiri_sim_self(api);
    if (count < 1 || count > MAX_TX)
        weiri_sim_fault(t->m, t, t->at, "sim-arrivals", "%u arrivals at once; 1 to %d can be counted", count, MAX_TX);
    bar *b = need_bar(t->c, addr, t, t->at, "an arrive on");
    weiri_sim_touch(t, addr);
    need_ordered(t->c, b, t, "an arrive on");
    weiri_race_join(t->m, b->issued, t->vc);
    weiri_race_release(t, b->arrived);
    weiri_sync_arrive(t->c, addr, count, 0, t, t->at);
}

/* Bytes without an arrival: not a release. */
static void mbar_expect_tx(w_sim_api *api, u32 addr, u32 bytes) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, addr);
    weiri_sync_arrive(t->c, addr, 0, bytes, t, t->at);
}

static void mbar_inval(w_sim_api *api, u32 addr) {
    thread *t = weiri_sim_self(api);
    bar *b = need_bar(t->c, addr, t, t->at, "an inval of");
    if (b->waiting) {
        char name[96];
        weiri_sync_bar_name(t->c, b, name, sizeof name);
        weiri_sim_fault(t->m, t, t->at, "sim-bar-init", "mbarrier %s is made plain memory again while threads wait on it", name);
    }
    b->live = false;
}

/* Does the wait at hand rightly skip phases? Its cursor takes stages in turn with others. */
static bool skips_phases(const thread *t) {
    const weiri_plan *p = t->m->plan;
    const weiri_action *a = t->at >= 1 && (int)t->at <= p->nactions ? p->action[t->at] : NULL;
    if (!a || a->kind != ACT_WAIT || a->cur < 0) return t->m->skips;
    return p->cursors.v[a->cur].tile_lanes > 1 || p->cursors.v[a->cur].stride > 1;
}

/* A waiter that takes every phase in turn must not find the barrier two phases ahead: it would then read what has been
 * overwritten. */
static void check_lap(thread *t, const bar *b, u32 parity) {
    if (skips_phases(t)) return;
    int i = 0;
    while (i < t->nseen && t->seen[i].addr != b->addr) i++;
    if (i == t->nseen) {
        if (t->nseen == t->seen_cap) {
            int cap = t->seen_cap ? 2 * t->seen_cap : 8;
            void *more = weiri_sim_alloc(t->m, (size_t)cap * sizeof *t->seen);
            if (t->nseen) memcpy(more, t->seen, (size_t)t->nseen * sizeof *t->seen);
            t->seen = more;
            t->seen_cap = cap;
        }
        t->seen[t->nseen].addr = b->addr;
        t->seen[t->nseen++].set = false;
    }
    /* the phase it has now seen complete, counted from 1; 0 is the one before a fresh barrier's first */
    u64 phase = b->phase;
    if (t->seen[i].set && t->seen[i].parity != parity && phase >= t->seen[i].phase + 3) {
        char name[96];
        weiri_sync_bar_name(t->c, b, name, sizeof name);
        weiri_sim_fault(t->m, t, t->at, "sim-lap",
                        "parity lap on mbarrier %s: the wait is for phase %llu, the barrier has completed phase %llu already",
                        name, t->seen[i].phase, phase - 1);
    }
    /* the same parity again is the same phase again, or one that is not there any more */
    if (t->seen[i].set && t->seen[i].parity == parity && phase >= t->seen[i].phase + 2) {
        char name[96];
        weiri_sync_bar_name(t->c, b, name, sizeof name);
        weiri_sim_fault(
            t->m, t, t->at, "sim-lap",
            "parity lap on mbarrier %s: the wait has the parity of the thread's last one, for phase %llu, and the barrier has "
            "completed phase %llu since",
            name, t->seen[i].phase - 1, phase - 1);
    }
    t->seen[i].set = true;
    t->seen[i].parity = parity;
    t->seen[i].phase = phase;
}

/* The thread has seen the phase before the open one complete. */
static void learn(thread *t, bar *b) {
    if (b->nseen == b->seen_cap) {
        int cap = b->seen_cap ? 2 * b->seen_cap : 32;
        struct seen_by *more = weiri_sim_alloc(t->m, (size_t)cap * sizeof *more);
        if (b->nseen) memcpy(more, b->seen, (size_t)b->nseen * sizeof *more);
        b->seen = more;
        b->seen_cap = cap;
    }
    b->seen[b->nseen++] = (struct seen_by){ t->comp, t->vc[t->comp], t->at, t->tid, t->joins, t->mmas };
    if (b->phase && t->vc[weiri_race_bar(t->c, b)] < (u32)b->phase) weiri_race_acquire(t, b->done);
}

static void mbar_wait(w_sim_api *api, u32 addr, u32 parity) {
    thread *t = weiri_sim_self(api);
    bar *b = need_bar(t->c, addr, t, t->at, "a wait on");
    weiri_sim_touch(t, addr);
    need_ordered(t->c, b, t, "a wait on");
    if (parity > 1) weiri_sim_fault(t->m, t, t->at, "sim-parity", "a wait with parity %u; a parity is 0 or 1", parity);
    while ((b->phase & 1) == parity) {
        t->bar = b;
        t->parity = parity;
        t->next_waiting = b->waiting;
        b->waiting = t;
        weiri_sim_block(t, WAIT_MBAR);
    }
    learn(t, b);
    check_lap(t, b, parity);
}

static u32 mbar_try(w_sim_api *api, u32 addr, u32 parity) {
    thread *t = weiri_sim_self(api);
    bar *b = need_bar(t->c, addr, t, t->at, "a try_wait on");
    need_ordered(t->c, b, t, "a try_wait on");
    if ((b->phase & 1) != parity) {
        learn(t, b);
        return 1;
    }
    /* try_wait may suspend; a loop around it must not keep the others from running. */
    t->bar = b;
    t->parity = parity;
    t->woken = t->m->progress;
    weiri_sim_block(t, WAIT_POLL);
    if ((b->phase & 1) == parity) return 0;
    learn(t, b);
    return 1;
}

/* ---- named barriers, the CTA --------------------------------------------------------------------------------------------- */

static void wake_all(cta *c, wait_kind kind, u32 id) {
    int order[32], n = c->m->threads_per_cta / 32; /* warps in any order: nobody is always first */
    for (int i = 0; i < n; i++) {
        int j = (int)(weiri_sim_rand(c->m) % (u64)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < 32 * n; i++) {
        thread *t = &c->threads[order[i / 32] * 32 + i % 32];
        if (t->blocked && t->wait == kind && t->id == id) weiri_sim_wake(t);
    }
}

/* Whoever waits there knows what `from` knows, before it goes on. */
static void learn_all(cta *c, wait_kind kind, u32 id, u32 *from) {
    for (int i = 0; i < c->m->threads_per_cta; i++) {
        thread *t = &c->threads[i];
        if (t->blocked && t->wait == kind && t->id == id) weiri_race_acquire(t, from);
    }
}

static void named_join(thread *t, u32 id, u32 threads, bool wait) {
    machine *m = t->m;
    cta *c = t->c;
    if (id < 1 || id > 15)
        weiri_sim_fault(m, t, t->at, "sim-named", "named barrier %u; ids are 1 to 15 (0 is the whole CTA's)", id);
    if (threads < 32 || threads % 32 || threads > (u32)m->threads_per_cta)
        weiri_sim_fault(m, t, t->at, "sim-named",
                        "named barrier %u over %u threads; a count is a multiple of 32 up to the CTA's %d", id, threads,
                        m->threads_per_cta);
    named *n = &c->named[id];
    if (n->arrived && n->threads != threads)
        weiri_sim_fault(m, t, t->at, "sim-named", "named barrier %u is joined with %u threads, others joined it with %u", id,
                        threads, n->threads);
    /* a thread of the generation that arrives again before it completes */
    if (n->arrived && t->joined[id] == n->generation + 1)
        weiri_sim_fault(m, t, t->at, "sim-named",
                        "a thread joins named barrier %u again before its last use has completed (%u of %u threads)", id,
                        n->arrived, n->threads);
    t->joined[id] = n->generation + 1;
    n->threads = threads;
    n->arrived++;
    m->progress++;
    if (!n->vc) n->vc = weiri_race_clock(m);
    weiri_race_release(t, n->vc);
    if (n->arrived == threads) {
        learn_all(c, WAIT_NAMED, id, n->vc);
        if (wait) weiri_race_acquire(t, n->vc);
        memset(n->vc, 0, (size_t)m->vc_n * sizeof *n->vc);
        n->arrived = 0;
        n->threads = 0;
        n->generation++;
        wake_all(c, WAIT_NAMED, id);
        return;
    }
    t->id = id;
    if (wait) weiri_sim_block(t, WAIT_NAMED);
}

static void bar_sync(w_sim_api *api, u32 id, u32 threads) { named_join(weiri_sim_self(api), id, threads, true); }
static void bar_arrive(w_sim_api *api, u32 id, u32 threads) { named_join(weiri_sim_self(api), id, threads, false); }

static void open_cta(cta *c) {
    c->cta_sync = 0;
    c->cta_sum = c->cta_true;
    c->cta_true = 0;
    learn_all(c, WAIT_CTA, 0, c->vc_sync);
    c->m->progress++;
    wake_all(c, WAIT_CTA, 0);
}

static void join_cta(thread *t, bool counts) {
    cta *c = t->c;
    if (c->cta_sync && c->cta_counts != counts)
        weiri_sim_fault(t->m, t, t->at, "sim-named", "__syncthreads%s meets others at __syncthreads%s",
                        counts ? "_count, _and or _or" : "", counts ? "" : "_count, _and or _or");
    c->cta_counts = counts;
    weiri_race_release(t, c->vc_sync);
    if ((int)++c->cta_sync == c->alive) {
        open_cta(c);
        weiri_race_acquire(t, c->vc_sync);
        return;
    }
    t->id = 0;
    weiri_sim_block(t, WAIT_CTA);
}

static void sync_cta(w_sim_api *api) { join_cta(weiri_sim_self(api), false); }

/* The sum stays until the next barrier opens, which this thread has yet to join. */
static u32 sync_count(w_sim_api *api, u32 p) {
    thread *t = weiri_sim_self(api);
    t->c->cta_true += p;
    join_cta(t, true);
    return t->c->cta_sum;
}

/* ---- cluster barrier ----------------------------------------------------------------------------------------------------- */

static int cluster_alive(const cluster *cl) {
    int n = 0;
    for (int i = 0; i < cl->n; i++) n += cl->ctas[i].alive;
    return n;
}

static void open_cluster(cluster *cl) {
    cl->arrived = 0;
    cl->generation++;
    memcpy(cl->done, cl->vc, (size_t)cl->ctas->m->vc_n * sizeof *cl->done);
    cl->ctas->m->progress++;
    for (int i = 0; i < cl->n; i++) wake_all(&cl->ctas[i], WAIT_CLUSTER, 0);
}

static void cluster_arrive(w_sim_api *api, u32 release) {
    thread *t = weiri_sim_self(api);
    cluster *cl = t->c->cl;
    if (t->cluster_open)
        weiri_sim_fault(t->m, t, t->at, "sim-cluster", "a thread arrives at the cluster barrier twice without waiting for it");
    t->cluster_open = true;
    t->cluster_arrived = cl->generation;
    if (release) weiri_race_release(t, cl->vc);
    for (int i = 0; i < t->c->nbars; i++) {
        bar *b = &t->c->bars[i];
        if (b->by == t->tid && b->fenced && !b->published) b->published = true, b->at_generation = cl->generation;
    }
    if (++cl->arrived == cluster_alive(cl)) open_cluster(cl);
}

static void cluster_wait(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    cluster *cl = t->c->cl;
    if (!t->cluster_open)
        weiri_sim_fault(t->m, t, t->at, "sim-cluster", "a thread waits for the cluster barrier without having arrived at it");
    t->id = 0;
    while (cl->generation == t->cluster_arrived) weiri_sim_block(t, WAIT_CLUSTER);
    weiri_race_acquire(t, cl->done);
    t->cluster_known = cl->generation;
    t->cluster_open = false;
}

void weiri_sync_exit(thread *t) {
    cta *c = t->c;
    cluster *cl = c->cl;
    u32 wg = t->tid / 128, split = wg < 8 ? (u32)c->m->plan->reg_split[wg] : 0;
    if (t->regs && split && t->regs != split)
        weiri_sim_fault(c->m, t, t->at, "sim-registers",
                        "the thread exits with %u registers, the plan's split gives its warpgroup %u: a setmaxnreg is missing",
                        t->regs, split);
    if (t->cluster_open && cl->generation == t->cluster_arrived)
        cl->arrived--; /* it no longer counts among the live ones either */
    if (c->alive && (int)c->cta_sync == c->alive) open_cta(c);
    int alive = cluster_alive(cl);
    if (alive && cl->arrived == alive) open_cluster(cl);
}

/* ---- warps --------------------------------------------------------------------------------------------------------------- */

enum { OP_SYNC = 1, OP_ELECT = 2, OP_SHFL = 0x1000 };

static const char *warp_op_name(u32 kind) {
    return kind == OP_SYNC    ? "__syncwarp"
           : kind == OP_ELECT ? "elect"
           : kind >= 0x4800   ? "movmatrix"
           : kind >= 0x4000   ? "mma.sync"
           : kind >= OP_SHFL  ? "a shuffle or vote"
           : kind & TC_WARP_OP ? "a tcgen05 instruction"
           : kind & 0x200     ? "stmatrix"
                              : "ldmatrix";
}

void weiri_sync_warp(thread *t, u32 kind, u32 members, void (*fn)(warp *w, u32 members)) {
    machine *m = t->m;
    warp *w = t->w;
    if (!(members >> t->lane & 1))
        weiri_sim_fault(m, t, t->at, "sim-warp", "lane %u calls %s for the lanes 0x%x, of which it is none", t->lane,
                        warp_op_name(kind), members);
    t->kind = kind;
    t->members = members;
    u32 here = 1u << t->lane;
    for (u32 i = 0; i < 32; i++) {
        const thread *o = w->lane[i];
        if (!(members >> i & 1) || o == t || !o->blocked || o->wait != WAIT_WARP || o->members != members) continue;
        if (o->kind != kind) {
            char place[160];
            weiri_sim_place(m, o->at, place, sizeof place);
            const char *mine = warp_op_name(kind), *others = warp_op_name(o->kind);
            weiri_sim_fault(m, t, t->at, "sim-warp", "the warp has diverged: lane %u is at %s, lane %u at %s%s%s%s%s", t->lane,
                            mine, i, others, mine == others ? " of another type or shape" : "", *place ? " (" : "", place,
                            *place ? ")" : "");
        }
        here |= 1u << i;
    }
    if (here != members) {
        weiri_sim_block(t, WAIT_WARP);
        return;
    }
    if (fn) fn(w, members);
    if (members == 0xffffffffu)
        for (u32 i = 0; i < 32; i++) weiri_race_warp_joined(w->lane[i]);
    m->progress++;
    for (u32 i = 0; i < 32; i++)
        if ((members >> i & 1) && w->lane[i] != t) weiri_sim_wake(w->lane[i]);
}

static void sync_warp(w_sim_api *api, u32 members) { weiri_sync_warp(weiri_sim_self(api), OP_SYNC, members, weiri_race_join_warp); }

/* elect.sync names the same lane every time; which one is not for the program to know. */
static u32 elect(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    weiri_sync_warp(t, OP_ELECT, 0xffffffffu, NULL);
    u64 x = (t->m->run->seed + t->c->block * 977u + t->tid / 32 * 31u) * 0x9e3779b97f4a7c15ull;
    return t->lane == x >> 59;
}

/* What __match_any_sync and __reduce_*_sync give `t`. */
static u32 combine(const warp *w, u32 members, const thread *t) {
    const u32 kind = t->kind - OP_SHFL;
    u32 r = kind == W_SIM_MATCH ? 0 : t->arg[0];
    for (u32 i = 0; i < 32; i++) {
        const thread *o = w->lane[i];
        if (!(members >> i & 1) || (o == t && kind != W_SIM_MATCH)) continue;
        const u32 x = o->arg[0];
        switch (kind) {
        case W_SIM_MATCH: r |= (u32)(x == t->arg[0] && o->arg[1] == t->arg[1]) << i; break;
        case W_SIM_ADD: r += x; break;
        case W_SIM_MIN: r = (i32)x < (i32)r ? x : r; break;
        case W_SIM_MAX: r = (i32)x > (i32)r ? x : r; break;
        case W_SIM_UMIN: r = x < r ? x : r; break;
        case W_SIM_UMAX: r = x > r ? x : r; break;
        case W_SIM_AND: r &= x; break;
        case W_SIM_OR: r |= x; break;
        default: r ^= x; break; /* W_SIM_BITS_XOR */
        }
    }
    return r;
}

static void shuffle(warp *w, u32 members) {
    u32 ballot = 0;
    for (u32 i = 0; i < 32; i++)
        if ((members >> i & 1) && w->lane[i]->arg[0]) ballot |= 1u << i;
    for (u32 i = 0; i < 32; i++) {
        if (!(members >> i & 1)) continue;
        thread *t = w->lane[i];
        u32 width = t->arg[2], base = i & ~(width - 1), from = i;
        switch (t->kind - OP_SHFL) {
        case W_SIM_SHFL_IDX: from = base + (t->arg[1] & (width - 1)); break;
        case W_SIM_SHFL_UP: from = i - base >= t->arg[1] ? i - t->arg[1] : i; break;
        case W_SIM_SHFL_DOWN: from = i - base + t->arg[1] < width ? i + t->arg[1] : i; break;
        case W_SIM_SHFL_XOR: from = (i ^ t->arg[1]) < base + width ? i ^ t->arg[1] : i; break;
        case W_SIM_BALLOT: t->ret[0] = ballot; continue;
        default: t->ret[0] = combine(w, members, t); continue;
        }
        t->ret[0] = w->lane[from & 31]->arg[0];
        if (!(members >> (from & 31) & 1))
            weiri_sim_fault(t->m, t, t->at, "sim-warp", "lane %u shuffles from lane %u, which is not among the lanes 0x%x", i,
                            from, members);
    }
}

static u32 shfl(w_sim_api *api, u32 x, u32 kind, u32 lane, u32 width, u32 members) {
    thread *t = weiri_sim_self(api);
    if (!width || width > 32 || (width & (width - 1)))
        weiri_sim_fault(t->m, t, t->at, "sim-warp", "a shuffle of width %u; it is a power of two up to 32", width);
    t->arg[0] = x;
    t->arg[1] = lane;
    t->arg[2] = width;
    weiri_sync_warp(t, OP_SHFL + kind, members, shuffle);
    return t->ret[0];
}

/* ---- registers ----------------------------------------------------------------------------------------------------------- */

static void regs(w_sim_api *api, u32 n, u32 inc) {
    thread *t = weiri_sim_self(api);
    cta *c = t->c;
    machine *m = t->m;
    const char *name = inc ? "setmaxnreg.inc" : "setmaxnreg.dec";
    if (n < 24 || n > 256 || n % 8)
        weiri_sim_fault(m, t, t->at, "sim-registers", "%s %u; it takes 24 to 256 in steps of 8", name, n);
    if (!t->regs) return; /* the plan names no registers at entry */
    if (inc ? n < t->regs : n > t->regs)
        weiri_sim_fault(m, t, t->at, "sim-registers", "%s %u by a thread that has %u", name, n, t->regs);
    if (!inc) {
        c->regs_free += t->regs - n;
        t->regs = n;
        m->progress++;
        for (int i = 0; i < m->threads_per_cta; i++)
            if (c->threads[i].blocked && c->threads[i].wait == WAIT_REGS) weiri_sim_wake(&c->threads[i]);
        return;
    }
    while (c->regs_free < (i64)(n - t->regs)) {
        t->need = n;
        weiri_sim_block(t, WAIT_REGS);
    }
    c->regs_free -= n - t->regs;
    t->regs = n;
}

/* ---- the launch before, and the next ------------------------------------------------------------------------------------- */

static void grid_wait(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    t->m->grid_waited = true;
    weiri_race_grid_waited(t);
}

static void grid_launch(w_sim_api *api) { weiri_sim_self(api)->m->grid_launched = true; }

/* Steps so far, as cycles: so many that a wait of a millisecond ends before the machine takes it for a spin without an end. Who looks at
 * a clock waits for others, perhaps: it gives way. */
enum { CYCLES = 1000 };
static u64 clock_of(w_sim_api *api) {
    weiri_sim_yield(weiri_sim_self(api));
    return ((machine *)(void *)api)->tick * CYCLES;
}

static u32 space(w_sim_api *api, const void *p) {
    const thread *t = weiri_sim_self(api);
    const u8 *b = p;
    char why[256];
    if (b >= t->c->smem && b < t->c->smem + t->m->smem_bytes) return W_SIM_SHARED;
    if ((u64)(uintptr_t)b - (u64)(uintptr_t)t->f.stack < t->f.size) return W_SIM_LOCAL;
    return weiri_host_range(t->m->sim, p, 1, why, sizeof why) ? W_SIM_GLOBAL : 0;
}

static void trap(w_sim_api *api, const char *what) {
    thread *t = weiri_sim_self(api);
    weiri_sim_fault(t->m, t, t->at, "sim-trap", "%s", what);
}

void weiri_sync_calls(w_sim_api *api) {
    api->w_mbar_init = mbar_init;
    api->w_fence_mbar_init = fence_init;
    api->w_mbar_wait = mbar_wait;
    api->w_mbar_try = mbar_try;
    api->w_sim_mbar_arrive = mbar_arrive;
    api->w_sim_mbar_expect = mbar_expect;
    api->w_mbar_arrive_n = mbar_arrive_n;
    api->w_mbar_expect_tx = mbar_expect_tx;
    api->w_mbar_inval = mbar_inval;
    api->w_bar_sync = bar_sync;
    api->w_bar_arrive = bar_arrive;
    api->w_sync_cta = sync_cta;
    api->w_sim_cluster_arrive = cluster_arrive;
    api->w_cluster_wait = cluster_wait;
    api->w_sim_sync_warp = sync_warp;
    api->w_elect = elect;
    api->w_sim_shfl = shfl;
    api->w_sim_regs = regs;
    api->w_grid_wait = grid_wait;
    api->w_grid_launch = grid_launch;
    api->w_sim_trap = trap;
    api->w_sim_sync_count = sync_count;
    api->w_sim_clock = clock_of;
    api->w_sim_space = space;
}
