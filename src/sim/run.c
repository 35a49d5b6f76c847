/* One launch: the grid, the threads, who runs next, and what to say when nobody can. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../number.h"
#include "../tcgen05.h"
#include "../tell.h"
#include "machine.h"

enum {
    FRESH = 16 << 10, /* bytes of a stack that begin with NO_VALUE in every word */
    STUCK = 200000,   /* turns in a row in which nothing changed: threads spin on memory */
    LOOK = 1 << 12,   /* turns from one look at the clock, and question to the host, to the next */
    PATIENCE = 10,    /* seconds until a run says how far it is; then again when twice as many are over */
    EAGER = 1         /* the same where the host logs more than warnings */
};

/* ---- small things -------------------------------------------------------------------------------------------------------- */

/* splitmix64 */
u64 weiri_sim_rand(machine *m) {
    u64 x = m->rng += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void *weiri_sim_alloc(machine *m, size_t n) { return weiri_arena_alloc(&m->a, n); }

const char *weiri_sim_place(const machine *m, u32 at, char *out, size_t size) {
    return weiri_tell_place(m->plan, (int)at, out, size);
}

static const char *task_name(const thread *t) {
    return t->actor->task >= 0 ? t->m->plan->tasks[t->actor->task].task->name : NULL;
}

void weiri_sim_describe(const thread *t, char *out, size_t size) {
    const char *task = task_name(t);
    snprintf(out, size, "%s%s%sCTA %u, warp %u", task ? "task '" : "", task ? task : "", task ? "', " : "", t->c->block,
             t->tid / 32);
}

void weiri_sim_fault(machine *m, const thread *by, u32 at, const char *rule, const char *fmt, ...) {
    char place[256], who[160];
    va_list ap;
    if (m->nfindings < MAX_FINDINGS) {
        m->nfindings++;
        weiri_sim_place(m, at, place, sizeof place);
        weiri_put(m->findings, "%s%s", place, *place ? ": " : "");
        if (by) {
            weiri_sim_describe(by, who, sizeof who);
            weiri_put(m->findings, "%s: ", who);
        }
        va_start(ap, fmt);
        weiri_putv(m->findings, fmt, ap);
        va_end(ap);
        weiri_put(m->findings, " [%s]\n", rule);
    }
    m->stop = true;
    thread *t = m->cur;
    if (t) { /* never comes back */
        t->blocked = true;
        m->cur = NULL;
        weiri_fiber_switch(&t->f, &m->main);
    }
}

/* ---- switching ----------------------------------------------------------------------------------------------------------- */

static void ready(machine *m, thread *t) { m->ring[(m->ring_first + m->ring_n++) % m->ring_cap] = t; }

static void leave(thread *t) {
    machine *m = t->m;
    m->cur = NULL;
    m->api.running = 0;
    weiri_fiber_switch(&t->f, &m->main);
}

void weiri_sim_block(thread *t, wait_kind why) {
    t->blocked = true;
    t->wait = why;
    leave(t);
}

void weiri_sim_wake(thread *t) {
    if (!t->blocked) return;
    t->blocked = false;
    t->wait = WAIT_NONE;
    ready(t->m, t);
}

void weiri_sim_yield(thread *t) {
    machine *m = t->m;
    m->yields++;
    ready(m, t);
    leave(t);
}

static void enter(machine *m, thread *t) {
    w_sim_api *api = &m->api;
    t->accesses = 0;
    m->cur = t;
    api->tid.x = t->tid;
    api->bid.x = t->c->block;
    api->cluster_rank = t->c->rank;
    api->stack = (u64)(uintptr_t)t->f.stack;
    api->stack_size = t->nuse ? 0 : t->f.size;
    api->running = 1;
    weiri_fiber_switch(&m->main, &t->f);
    m->cur = NULL;
    api->running = 0;
}

static void cta_exit(cta *c);

static void thread_main(void *arg) {
    thread *t = arg;
    machine *m = t->m;
    weiri_fiber_enter(&m->main);
    m->api.kernel((void *const *)(void *)m->params);
    m->api.running = 0;
    if (t->row >= 0) weiri_timeline_stamp(m->run->trace, t->row, (u32)m->plan->nactions + 1);
    weiri_match_exit(t);
    weiri_wgmma_exit(t);
    weiri_copy_exit(t);
    t->alive = false;
    t->c->alive--;
    m->progress++;
    weiri_sync_exit(t);
    if (!t->c->alive) cta_exit(t->c);
    t->blocked = true;
    t->wait = WAIT_NONE;
    for (;;) leave(t);
}

/* ---- the grid ------------------------------------------------------------------------------------------------------------ */

/* Whose events are one sequence: a warpgroup, a warp, or each thread by itself where one of them runs the task. */
static void make_actors(cta *c) {
    machine *m = c->m;
    c->nactors = 0;
    for (int first = 0; first < m->threads_per_cta;) {
        int task = weiri_tell_task_of_warp(m->plan, (int)c->rank, first / 32);
        const weiri_ptask *pt = task >= 0 ? &m->plan->tasks[task] : NULL;
        int n = pt && pt->solo ? 1 : pt && pt->wg_actor ? 128 : 32;
        if (n > m->threads_per_cta - first) n = m->threads_per_cta - first;
        actor *a = &c->actors[c->nactors++];
        if (!a->state || a->task != task) a->state = weiri_sim_alloc(m, (size_t)weiri_match_states(m, task) * sizeof *a->state);
        a->task = task;
        a->first = &c->threads[first];
        a->nthreads = n;
        weiri_match_start(a);
        for (int i = 0; i < n; i++) c->threads[first + i].actor = a;
        if (m->run->trace && first % 32 == 0) a->first->row = weiri_timeline_row(m->run->trace, c->block, (u32)first / 32);
        first += n;
    }
}

static void start_cta(cta *c, u32 block, char *stacks) {
    machine *m = c->m;
    c->block = block;
    c->running = true;
    c->alive = m->threads_per_cta;
    c->cta_sync = 0;
    c->cta_true = 0;
    c->regs_free = 0;
    for (int i = 0; i < 16; i++) {
        u32 *vc = c->named[i].vc;
        if (vc) memset(vc, 0, (size_t)m->vc_n * sizeof *vc);
        c->named[i] = (named){ .vc = vc };
    }
    weiri_smem_reset(c);
    for (int i = 0; i < m->threads_per_cta / 128; i++) weiri_wgmma_reset(&c->wgs[i]);
    weiri_tc_reset(c);
    bool slow_cta = (weiri_sim_rand(m) & 3) == 0, slow_warp = false;
    for (int i = 0; i < m->threads_per_cta; i++) {
        thread *t = &c->threads[i];
        thread keep = *t;
        memset(t, 0, sizeof *t);
        t->m = m;
        t->c = c;
        t->seen = keep.seen;
        t->seen_cap = keep.seen_cap;
        t->vc = keep.vc;
        t->fence_vc = keep.fence_vc;
        t->tid = (u32)i;
        t->lane = (u32)i % 32;
        t->w = &c->warps[i / 32];
        t->w->lane[i % 32] = t;
        t->alive = true;
        t->row = -1;
        if (i % 32 == 0) slow_warp = (weiri_sim_rand(m) & 7) == 0;
        t->slow = slow_cta || slow_warp || (weiri_sim_rand(m) & 31) == 0;
        t->regs = (u32)m->plan->entry_registers;
        char *stack = weiri_stack(stacks, c->slot * m->threads_per_cta + i, STACK);
        /* what nobody has set is no number, and no leaving of an earlier thread */
        weiri_stack_fill(stack, STACK, FRESH, NO_VALUE);
        weiri_fiber_make(&t->f, stack, STACK, thread_main, t);
    }
    for (int i = 0; i < m->threads_per_cta / 32; i++) c->warps[i].bulk_serial = 0;
    weiri_race_reset(c);
    make_actors(c);
    for (int i = 0; i < m->threads_per_cta; i++) ready(m, &c->threads[i]);
}

static void start_cluster(machine *m, cluster *cl) {
    cl->running = true;
    cl->generation = 0;
    cl->arrived = 0;
    cl->running_ctas = cl->n;
    cl->known = NULL;
    memset(cl->vc, 0, (size_t)m->vc_n * sizeof *cl->vc);
    memset(cl->done, 0, (size_t)m->vc_n * sizeof *cl->done);
    for (int i = 0; i < cl->n; i++) start_cta(&cl->ctas[i], (u32)m->next_block++, m->stacks);
}

static void cta_exit(cta *c) {
    weiri_copy_cta_exit(c);
    weiri_tc_cta_exit(c);
    c->running = false;
    c->cl->running_ctas--;
}

static bool skips_phases(const weiri_plan *p) {
    for (int i = 0; i < p->cursors.n; i++)
        if (p->cursors.v[i].tile_lanes > 1) return true;
    for (int i = 0; i < p->pipes.n; i++)
        for (int j = 0; j < 4; j++)
            if (p->pipes.v[i].res->pipe.given.interleave[j] > 1) return true;
    return false;
}

static void make_machine(machine *m) {
    const weiri_plan *p = m->plan;
    m->skips = skips_phases(p);
    int per = p->cluster > 0 ? p->cluster : 1, total = m->run->grid / per, want = m->run->resident > 0 ? m->run->resident : 8;
    int clusters = (want + per - 1) / per;
    if (clusters > total) clusters = total;
    m->threads_per_cta = p->threads;
    m->smem_bytes = (p->smem_total + GRANULE - 1) / GRANULE * GRANULE;
    m->nclusters = clusters;
    m->nctas = clusters * per;
    m->clusters = weiri_sim_alloc(m, (size_t)clusters * sizeof *m->clusters);
    m->ctas = weiri_sim_alloc(m, (size_t)m->nctas * sizeof *m->ctas);
    m->threads = weiri_sim_alloc(m, (size_t)m->nctas * (size_t)p->threads * sizeof *m->threads);
    m->ring_cap = m->nctas * p->threads + 1;
    m->ring = weiri_sim_alloc(m, (size_t)m->ring_cap * sizeof *m->ring);
    m->mat_a = weiri_sim_alloc(m, 256 * 32 * sizeof(float));
    m->mat_b = weiri_sim_alloc(m, 32 * 256 * sizeof(float));
    m->exp_a = weiri_sim_alloc(m, SUMS_ROWS * SUMS_K * sizeof(i16));
    m->exp_b = weiri_sim_alloc(m, SUMS_K * SUMS_N * sizeof(i16));
    m->clock = 1;
    weiri_race_make(m);
    m->first_home = weiri_host_homes(m->sim, (u32)total);
    size_t n = (size_t)m->smem_bytes;
    for (int i = 0; i < m->nctas; i++) {
        cta *c = &m->ctas[i];
        c->m = m;
        c->slot = i;
        c->cl = &m->clusters[i / per];
        c->rank = (u32)(i % per);
        char *raw = weiri_sim_alloc(m, n + 1024);
        c->smem = (u8 *)raw + (1024 - (uintptr_t)raw % 1024) % 1024;
        c->defined = weiri_sim_alloc(m, n / GRANULE * sizeof *c->defined);
        c->readers = weiri_sim_alloc(m, n / GRANULE * sizeof *c->readers);
        c->fillers = weiri_sim_alloc(m, n / GRANULE * sizeof *c->fillers);
        c->is_bar = weiri_sim_alloc(m, n / GRANULE);
        c->clock = weiri_sim_alloc(m, n / 4 * sizeof *c->clock);
        c->writer = weiri_sim_alloc(m, n / 4 * sizeof *c->writer);
        c->bar_at = weiri_sim_alloc(m, n / 8 * sizeof *c->bar_at);
        c->bar_cap = m->bar_cap;
        c->bars = weiri_sim_alloc(m, (size_t)c->bar_cap * sizeof *c->bars);
        c->warps = weiri_sim_alloc(m, (size_t)(p->threads / 32 + 1) * sizeof *c->warps);
        c->wgs = weiri_sim_alloc(m, (size_t)(p->threads / 128 + 1) * sizeof *c->wgs);
        for (int g = 0; g <= p->threads / 128; g++) c->wgs[g].c = c;
        c->actors = weiri_sim_alloc(m, (size_t)p->threads * sizeof *c->actors);
        c->threads = m->threads + (size_t)i * (size_t)p->threads;
        weiri_race_cta(c);
        if (p->tmem_columns) weiri_tc_make(c);
    }
    for (int i = 0; i < clusters; i++)
        m->clusters[i] =
            (cluster){ .ctas = &m->ctas[i * per], .n = per, .vc = weiri_race_clock(m), .done = weiri_race_clock(m) };
    m->api.bdim = (w_sim_dim){ (u32)p->threads, 1, 1 };
    m->api.gdim = (w_sim_dim){ (u32)m->run->grid, 1, 1 };
    m->api.tid = m->api.bid = (w_sim_dim){ 0, 0, 0 };
    m->api.smem_base = SMEM_BASE;
}

/* The parameter block: an array of pointers, then the bytes, 64-aligned each. A tensor map parameter is 128 bytes whose first
 * word points at the description, which lies in the block as well. */
static bool make_params(machine *m) {
    const weiri_sim_run *r = m->run;
    size_t n = (size_t)r->nparams * sizeof(void *) + 64;
    for (int i = 0; i < r->nparams; i++) n += (r->params[i].size + 63) / 64 * 64 + 256;
    char *block = weiri_sim_alloc(m, n + 64);
    block += (64 - (uintptr_t)block % 64) % 64;
    m->params = block;
    m->params_size = n;
    void **at = (void **)(void *)block;
    size_t used = ((size_t)r->nparams * sizeof(void *) + 63) / 64 * 64;
    for (int i = 0; i < r->nparams; i++) {
        const weiri_kparam *k = &m->plan->params.v[i];
        char *p = block + used;
        memcpy(p, r->params[i].data, r->params[i].size);
        used += (r->params[i].size + 63) / 64 * 64;
        at[i] = p;
        if (k->kind != KP_TMAP) continue;
        const weiri_tmap *t = (const weiri_tmap *)(void *)p;
        i64 extent = 0;
        char why[256];
        for (int d = 0; d < t->rank; d++) extent += (i64)(t->dim[d] - 1) * (i64)t->stride[d];
        extent += (i64)t->stride[0];
        if (!weiri_host_range(m->sim, (const void *)(uintptr_t)t->base, (u64)extent, why, sizeof why)) {
            weiri_sim_fault(m, NULL, 0, "sim-bounds", "tensor map %s covers %lld bytes at %#llx, which are in no buffer: %s",
                            k->name, extent, (u64)t->base, why);
            return false;
        }
        u64 word = (u64)(uintptr_t)p;
        memcpy(block + used, &word, sizeof word);
        at[i] = block + used;
        used += 128;
    }
    return true;
}

/* ---- deadlock ------------------------------------------------------------------------------------------------------------ */

/* What a thread waits for, and what is missing. */
static void describe_wait(const thread *t, char *out, size_t size) {
    const cta *c = t->c;
    char name[96];
    switch (t->wait) {
    case WAIT_MBAR:
    case WAIT_POLL: {
        const bar *b = t->bar;
        weiri_sync_bar_name(c, b, name, sizeof name);
        int n = snprintf(out, size, "mbarrier %s, parity %u: phase %llu has %lld of %lld arrivals", name, t->parity, b->phase,
                         b->count - b->pending, b->count);
        if (n > 0 && (size_t)n < size && (b->tx || b->landed))
            snprintf(out + n, size - (size_t)n, ", %lld bytes landed, %lld %s", b->landed, b->tx < 0 ? -b->tx : b->tx,
                     b->tx < 0 ? "too many so far" : "missing");
        break;
    }
    case WAIT_NAMED:
        snprintf(out, size, "named barrier %u: %u of %u threads have come", t->id, c->named[t->id].arrived,
                 c->named[t->id].threads);
        break;
    case WAIT_CTA: snprintf(out, size, "the CTA barrier: %u of %d threads have come", c->cta_sync, c->alive); break;
    case WAIT_CLUSTER: {
        int alive = 0;
        for (int i = 0; i < c->cl->n; i++) alive += c->cl->ctas[i].alive;
        snprintf(out, size, "the cluster barrier: %d of %d threads have arrived", c->cl->arrived, alive);
        break;
    }
    case WAIT_WARP: snprintf(out, size, "the other lanes of its warp (lanes 0x%x are to join)", t->members); break;
    case WAIT_WGMMA: snprintf(out, size, "its warpgroup: not all 128 threads have issued wgmma %llu", t->need - 1); break;
    case WAIT_REGS:
        snprintf(out, size, "setmaxnreg.inc %llu: it lacks %lld registers a thread, the CTA's pool has %lld free", t->need,
                 (i64)t->need - (i64)t->regs, c->regs_free);
        break;
    case WAIT_NONE: snprintf(out, size, "nothing"); break;
    }
}

/* "spins on 'y' byte 0": what a thread that goes on and on looks at. */
static void describe_spin(const thread *t, char *out, size_t size) {
    const u8 *p = t->spot;
    char name[160] = "memory";
    if (p && p >= t->c->smem && p < t->c->smem + t->m->smem_bytes)
        weiri_smem_name(t->c, (u32)(SMEM_BASE + (p - t->c->smem)), name, sizeof name);
    else if (p && weiri_host_range(t->m->sim, p, 1, name, sizeof name)) weiri_host_name(t->m->sim, p, name, sizeof name);
    else snprintf(name, sizeof name, "something");
    snprintf(out, size, "spins; it last looked at %s", name);
}

/* Who should have arrived: the plan's arrives on a barrier. */
static void name_arrivers(machine *m, u32 addr) {
    int stage;
    const weiri_bar *b = weiri_sync_planned(m, addr, &stage);
    if (b) weiri_tell_arrivers(m->plan, b, m->task_of, m->findings);
}

static void deadlock(machine *m, bool spinning) {
    int waiting = 0, alive = 0;
    for (int i = 0; i < m->nctas * m->threads_per_cta; i++) {
        alive += m->threads[i].alive;
        waiting += m->threads[i].alive && m->threads[i].blocked;
    }
    m->stop = true;
    m->nfindings++;
    weiri_put(
        m->findings,
        spinning
            ? "livelock: nothing has changed for %d turns; %d of %d threads wait, the others spin on memory [sim-livelock]\n"
            : "deadlock: no copy is in flight and no thread can go on [sim-deadlock]\n",
        STUCK, waiting, alive);
    /* One line for warps in a row that wait in the same way. */
    for (int i = 0; i < m->nctas * m->threads_per_cta;) {
        const thread *t = &m->threads[i];
        char what[256], next[256], place[256];
        if (!t->alive || (!t->blocked && !spinning)) {
            i++;
            continue;
        }
        void (*describe)(const thread *, char *, size_t) = t->blocked ? describe_wait : describe_spin;
        describe(t, what, sizeof what);
        int j = i + 1, lanes = 1;
        for (; j < m->nctas * m->threads_per_cta; j++) {
            const thread *o = &m->threads[j];
            if (o->c != t->c || (o->alive && o->actor->task != t->actor->task)) break;
            if (!o->alive && o->tid / 32 == t->tid / 32) continue; /* lanes that are done */
            if (!o->alive || o->blocked != t->blocked || o->wait != t->wait || o->at != t->at) break;
            describe(o, next, sizeof next);
            if (strcmp(what, next)) break;
            lanes++;
        }
        u32 w0 = t->tid / 32, w1 = (u32)(j - 1) % (u32)m->threads_per_cta / 32;
        weiri_sim_place(m, t->at, place, sizeof place);
        weiri_put(m->findings, "  %s%s", place, *place ? ": " : "");
        const char *task = task_name(t);
        if (task) weiri_put(m->findings, "task '%s', ", task);
        weiri_put(m->findings, "CTA %u, warp%s %u", t->c->block, w1 > w0 ? "s" : "", w0);
        if (w1 > w0) weiri_put(m->findings, " to %u", w1);
        if (lanes == 1) weiri_put(m->findings, ", lane %u", t->lane);
        else if (lanes < 32) weiri_put(m->findings, ", %d lanes", lanes);
        weiri_put(m->findings, ": %s%s\n", t->blocked ? "waits for " : "", what);
        if (t->blocked && (t->wait == WAIT_MBAR || t->wait == WAIT_POLL)) name_arrivers(m, t->bar->addr);
        i = j;
    }
}

/* ---- the scheduler ------------------------------------------------------------------------------------------------------- */

static thread *next_thread(machine *m) {
    if (!m->ring_n) return NULL;
    /* mostly in turn, or anybody, by the seed; slow ones let others pass */
    if (m->wild || (weiri_sim_rand(m) & 7) == 0) {
        int i = (m->ring_first + (int)(weiri_sim_rand(m) % (u64)m->ring_n)) % m->ring_cap;
        thread *t = m->ring[i];
        m->ring[i] = m->ring[m->ring_first];
        m->ring[m->ring_first] = t;
    }
    for (int tries = 0;; tries++) {
        thread *t = m->ring[m->ring_first];
        m->ring_first = (m->ring_first + 1) % m->ring_cap;
        m->ring_n--;
        if (!t->slow || tries == 16 || !m->ring_n || (weiri_sim_rand(m) & 15) == 0) return t;
        ready(m, t);
    }
}

/* Threads whose w_mbar_try failed look again. */
static bool wake_polls(machine *m) {
    bool any = false;
    for (int i = 0; i < m->nctas * m->threads_per_cta; i++) {
        thread *t = &m->threads[i];
        if (!t->alive || !t->blocked || t->wait != WAIT_POLL || t->woken == m->progress) continue;
        weiri_sim_wake(t);
        any = true;
    }
    return any;
}

static bool start_clusters(machine *m) {
    bool any = false;
    for (int i = 0; i < m->nclusters && m->next_block < m->run->grid; i++) {
        cluster *cl = &m->clusters[i];
        if (cl->running && cl->running_ctas) continue;
        start_cluster(m, cl);
        any = true;
    }
    return any;
}

static bool all_done(const machine *m) {
    for (int i = 0; i < m->nctas; i++)
        if (m->ctas[i].running) return false;
    return true;
}

/* Nothing else can go on: what is under way arrives, due or not. Of copies and commits either may be first. */
static bool late_step(machine *m) {
    if (m->ncommits && (!m->npending || (weiri_sim_rand(m) & 1))) return weiri_tc_step(m, true) || weiri_copy_step(m, true);
    return weiri_copy_step(m, true) || (m->ncommits && weiri_tc_step(m, true));
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A long run tells how long it will be, and ends where the host wants it to. */
static void look_up(machine *m) {
    const weir_config *cfg = &m->ctx->cfg;
    const double over = seconds() - m->began;
    const int ran = m->next_block, all = m->run->grid;
    if (over >= m->patience) {
        m->patience = 2 * over;
        weiri_log(m->ctx, WEIR_LOG_WARNING, "weir: kernel '%s' in the simulator: %d of %d CTAs have begun in %.0f s%s",
                  m->plan->k->name, ran, all, over,
                  ran < all ? weiri_arena_fmt(&m->a, ", the rest takes %.0f s more: a smaller grid or smaller sizes take less",
                                              over * (all - ran) / ran)
                            : "");
    }
    if (cfg->stop && cfg->stop(cfg->ud))
        weiri_sim_fault(m, NULL, 0, "sim-stopped", "the host ended the run: %d of %d CTAs had begun in %.1f s", ran, all, over);
}

static void schedule(machine *m) {
    u64 progress = m->progress;
    start_clusters(m);
    while (!m->stop) {
        if (++m->tick % LOOK == 0) look_up(m);
        if (m->npending && (weiri_sim_rand(m) & 3) == 0 && !m->tardy) weiri_copy_step(m, false);
        if (m->ncommits && (weiri_sim_rand(m) & 3) == 0 && !m->tardy) weiri_tc_step(m, false);
        thread *t = next_thread(m);
        if (t) {
            enter(m, t);
            if (m->progress != progress) {
                progress = m->progress;
                m->yields = 0;
            } else if (m->yields > STUCK && !late_step(m) && !wake_polls(m)) {
                deadlock(m, true);
                return;
            }
            continue;
        }
        if (start_clusters(m) || late_step(m) || wake_polls(m)) continue;
        if (m->stop || all_done(m)) break;
        deadlock(m, false);
        return;
    }
    while (!m->stop && m->npending) weiri_copy_step(m, true);
}

/* What has not ended by now never will. */
static void end_trace(machine *m) {
    if (!m->run->trace) return;
    for (int i = 0; i < m->nctas * m->threads_per_cta; i++)
        if (m->threads[i].m && m->threads[i].alive && m->threads[i].row >= 0)
            weiri_timeline_stuck(m->run->trace, m->threads[i].row);
}

/* ---- calls that belong nowhere else -------------------------------------------------------------------------------------- */

static void at(w_sim_api *api, u32 id) {
    thread *t = weiri_sim_self(api);
    t->at = id;
    if (t->row >= 0) weiri_timeline_stamp(t->m->run->trace, t->row, id);
    weiri_match_event(t, id);
    if ((weiri_sim_rand(t->m) & 31) == 0) {
        ready(t->m, t);
        leave(t);
    }
}

static weir_dtype number_type(u32 kind) { return kind == W_SIM_F16 ? WEIR_F16 : kind == W_SIM_E4M3 ? WEIR_E4M3 : WEIR_E5M2; }

static u32 from_float(w_sim_api *api, u32 kind, float x) {
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) api->w_sim_nan(api, bits);
    bits = 0;
    weiri_number_put(number_type(kind), x, &bits);
    return bits;
}

static float to_float(w_sim_api *api, u32 kind, u32 bits) {
    (void)api;
    return (float)weiri_number_get(number_type(kind), &bits);
}

/* What the next launch may overlap: this one, if a thread has let it begin; and the one before, if nobody here has waited for that. */
static void tell_next(const machine *m, weiri_sim_before *to) {
    const weiri_sim_before *b = &m->before;
    weiri_sim_before now = { .stream = m->run->stream,
                             .first = m->first_home,
                             .end = m->first_home + (u32)(m->run->grid / m->clusters->n),
                             .launched = m->grid_launched,
                             .cluster = m->clusters->n,
                             .lost = b->lost,
                             .lost_end = b->lost_end };
    snprintf(now.name, sizeof now.name, "%s", m->plan->k->name);
    memcpy(now.lost_name, b->lost_name, sizeof now.lost_name);
    if (b->first < b->end && !m->grid_waited) {
        if (b->lost == b->lost_end) now.lost = b->first;
        now.lost_end = b->end;
        memcpy(now.lost_name, b->name, sizeof now.lost_name);
    }
    *to = now;
}

weir_status weiri_sim_launch(weir_ctx *c, const weiri_sim_run *r, weiri_buf *findings) {
    const weiri_plan *p = r->plan;
    int per = p->cluster > 0 ? p->cluster : 1;
    void (*entry)(w_sim_api *) = NULL;
    if (r->nparams != p->params.n)
        return weiri_fail(c, WEIR_E_ARGUMENT, "%d parameters for a kernel of %d", r->nparams, p->params.n);
    if (r->grid < 0 || r->grid % per)
        return weiri_fail(c, WEIR_E_LAUNCH, "a grid of %d CTAs is no multiple of the cluster's %d", r->grid, per);
    if (p->threads < 32 || p->threads % 32 || p->threads > 1024)
        return weiri_fail(c, WEIR_E_ARGUMENT, "a block of %d threads", p->threads);
    struct weiri_sim *sim = weiri_host_sim(c);
    if (!sim) return weiri_fail(c, WEIR_E_MEMORY, "out of memory: simulator");
    weir_status st = weiri_host_build(c, r, &entry, findings);
    if (st != WEIR_OK || !r->grid) return st;

    machine *m = weiri_alloc(c, sizeof *m);
    if (!m) return weiri_fail(c, WEIR_E_MEMORY, "out of memory: simulator");
    weiri_arena_init(&m->a, c);
    m->ctx = c;
    m->plan = p;
    m->run = r;
    m->sim = sim;
    if (r->before && r->pdl && r->before->stream == r->stream) {
        m->before = *r->before;
        if (!m->before.launched) m->before.first = m->before.end; /* it let nobody begin before its end */
    }
    m->rng = r->seed ? r->seed : 1;
    m->tardy = m->rng % 8 == 0;
    m->began = seconds();
    m->patience = c->cfg.log_level > WEIR_LOG_WARNING ? EAGER : PATIENCE;
    m->wild = weiri_sim_rand(m) & 1;
    m->findings = findings;
    make_machine(m);
    weiri_match_build(m);
    m->stacks = weiri_host_stacks(c, m->nctas * m->threads_per_cta, STACK);
    if (!m->stacks || m->a.oom) {
        st = weiri_fail(c, WEIR_E_MEMORY, "out of memory: %d simulated CTAs of %d threads", m->nctas, m->threads_per_cta);
    } else if (make_params(m)) {
        m->api.w_sim_at = at;
        m->api.w_sim_from_float = from_float;
        m->api.w_sim_to_float = to_float;
        weiri_smem_calls(&m->api);
        weiri_sync_calls(&m->api);
        weiri_copy_calls(&m->api);
        weiri_wgmma_calls(&m->api);
        weiri_mma_calls(&m->api);
        weiri_tc_calls(&m->api);
        weiri_race_calls(&m->api);
        entry(&m->api);
        schedule(m);
        end_trace(m);
    }
    if (st == WEIR_OK && m->a.oom) st = weiri_fail(c, WEIR_E_MEMORY, "out of memory in a simulated launch");
    if (st == WEIR_OK && m->stop) {
        st = WEIR_E_SIM;
        if (p->k->arch >= WEIR_ARCH_SM_100A) weiri_put(findings, "sm_100a: " WEIRI_UNCHECKED "\n");
        weiri_fail(c, st, "the simulator stopped: %.900s", findings->s ? findings->s : "");
    }
    if (r->before) *r->before = (weiri_sim_before){ 0 };
    if (r->before && st == WEIR_OK) tell_next(m, r->before);
    weiri_arena_free(&m->a);
    weiri_free(c, m, sizeof *m);
    return st;
}
