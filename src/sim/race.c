/* Which accesses are ordered. Every thread has a vector clock over the threads and agents of its cluster; each word of shared and
 * global memory keeps its last accesses. Two accesses of the same bytes, one of them a write, not both atomic, must be ordered by
 * what the machine promises, however this run happened to go.
 *
 * Components of a clock, per CTA of the cluster:
 *   a thread         its releases so far
 *   an mbarrier      phases completed: what a copy wrote that completes on it
 *   a warpgroup      wgmmas waited for by any of its threads: one operation of all four warps, whose operands are read
 *   bulk, by warp    bulk stores whose source is read; and those whose result is there
 *   the grid before  1: it is complete, as a griddepcontrol.wait said
 *   a warp           operations of all its lanes: for the order of waits alone, no access is ordered by it
 *
 * What releases and acquires: mbarrier arrives and waits, named barriers, __syncthreads, __syncwarp, the cluster barrier, and the
 * pattern of fence, atomic, fence. Shuffles, votes, elect, ldmatrix and stmatrix order nothing. Between clusters only the last counts,
 * and what one thread of a cluster has acquired there all of it have. */
#include <stdio.h>
#include <string.h>

#include "machine.h"

enum {
    WRITES = 2,                  /* cells of a word kept for writes, the rest for reads */
    READS = 4,
    CELLS = WRITES + READS,
    GWRITES = 2,
    GREADS = 1,
    GCELLS = GWRITES + GREADS,
    BYTES = 0xf,                 /* of a mask: which of the four bytes */
    ATOMIC = 0x10,
    ASYNC = 0x20,                /* a read of the async proxy's own */
    KIND = ATOMIC | ASYNC,
    PAGE_WORDS = 1024,
    MAX_PAGES = 6400,            /* 256 MiB of them: what lies beyond is not watched */
    SYNC_VARS = 1024
};

/* An access is ordered before a thread's next when the thread's clock at `who` has reached `clock`. */
typedef struct cell {
    u32 clock;
    u16 who, at;
} cell;

struct weiri_word {
    cell c[CELLS];
    u8 mask[8];                  /* 0: the cell is empty */
    u32 pc[WRITES];              /* the instruction that stored, 0: none of a body */
};

typedef struct gword {
    cell c[GCELLS];
    u32 home[GCELLS];            /* number of the cluster, counted over all launches */
    u8 mask[4];
    u32 pc[GWRITES];
} gword;

struct weiri_page { gword w[PAGE_WORDS]; };

typedef struct foreign {         /* what a cluster knows of another */
    u32 home;
    u32 *vc;
    struct foreign *next;
} foreign;

/* A word of memory that atomics use, after a fence. */
struct weiri_sync_var {
    const void *p;
    foreign *known;
    struct weiri_sync_var *next;
};

/* ---- clocks -------------------------------------------------------------------------------------------------------------- */

typedef i32 lanes4 __attribute__((vector_size(16), aligned(16)));

static void join(u32 *to, const u32 *from, int n) {
    lanes4 *a = (lanes4 *)(void *)to;
    const lanes4 *b = (const lanes4 *)(const void *)from;
    for (int i = 0; i < n / 4; i++) {
        lanes4 more = b[i] > a[i];
        a[i] = (b[i] & more) | (a[i] & ~more);
    }
}

static void raise(u32 *at, u32 to) {
    if (*at < to) *at = to;
}

u32 *weiri_race_clock(machine *m) { return weiri_sim_alloc(m, (size_t)m->vc_n * sizeof(u32)); }

/* Components of a CTA, in their order. */
static int first_bar(const machine *m) { return m->threads_per_cta; }
static int first_mma(const machine *m) { return first_bar(m) + m->bar_cap; }
static int first_read(const machine *m) { return first_mma(m) + (m->threads_per_cta + 127) / 128; }
static int first_done(const machine *m) { return first_read(m) + m->threads_per_cta / 32; }
static int first_grid(const machine *m) { return first_done(m) + m->threads_per_cta / 32; }
static int first_joined(const machine *m) { return first_grid(m) + 1; }
static u32 base(const cta *c) { return c->rank * (u32)c->m->vc_cta; }
u32 weiri_race_bar(const cta *c, const bar *b) { return base(c) + (u32)(first_bar(c->m) + (b - c->bars)); }
static u32 mma_of(const cta *c, u32 warpgroup) { return base(c) + (u32)first_mma(c->m) + warpgroup; }
u32 weiri_race_mmas(const cta *c, u32 warpgroup) { return mma_of(c, warpgroup); }
u32 weiri_race_joined(const cta *c, u32 warp) { return base(c) + (u32)first_joined(c->m) + warp; }
static u32 read_of(const cta *c, u32 warp) { return base(c) + (u32)first_read(c->m) + warp; }
static u32 done_of(const cta *c, u32 warp) { return base(c) + (u32)first_done(c->m) + warp; }

void weiri_race_make(machine *m) {
    const weiri_plan *p = m->plan;
    int per = p->cluster > 0 ? p->cluster : 1;
    m->bar_cap = p->nbarriers + 32;
    m->vc_cta = (first_joined(m) + m->threads_per_cta / 32 + 3) / 4 * 4;
    m->vc_n = per * m->vc_cta;
}

void weiri_race_cta(cta *c) {
    machine *m = c->m;
    c->words = weiri_sim_alloc(m, (size_t)m->smem_bytes / 4 * sizeof *c->words);
    c->vc_sync = weiri_race_clock(m);
    u32 *vc = weiri_sim_alloc(m, (size_t)m->threads_per_cta * (size_t)m->vc_n * sizeof(u32));
    for (int i = 0; i < m->threads_per_cta; i++) c->threads[i].vc = vc ? vc + (size_t)i * (size_t)m->vc_n : NULL;
}

void weiri_race_reset(cta *c) {
    machine *m = c->m;
    memset(c->words, 0, (size_t)m->smem_bytes / 4 * sizeof *c->words);
    memset(c->vc_sync, 0, (size_t)m->vc_n * sizeof(u32));
    memset(c->threads[0].vc, 0, (size_t)m->threads_per_cta * (size_t)m->vc_n * sizeof(u32));
    for (int i = 0; i < m->threads_per_cta; i++) {
        thread *t = &c->threads[i];
        t->comp = base(c) + (u32)i;
        t->vc[t->comp] = 1;
        t->learnt = true;
    }
}

void weiri_race_join(const machine *m, u32 *to, const u32 *from) { join(to, from, m->vc_n); }

/* What t has done so far is known to whoever acquires `to`. */
void weiri_race_release(thread *t, u32 *to) {
    join(to, t->vc, t->m->vc_n);
    t->vc[t->comp]++;
}

void weiri_race_acquire(thread *t, const u32 *from) {
    join(t->vc, from, t->m->vc_n);
    t->learnt = true;
}

/* The lanes know of each other. Lanes that have learnt nothing since they last joined differ in their own clocks alone. */
void weiri_race_join_warp(warp *w, u32 members) {
    bool learnt = members != 0xffffffffu;
    for (int i = 0; i < 32; i++) learnt |= (members >> i & 1) && w->lane[i]->learnt;
    if (!learnt) {
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 32; j++) w->lane[i]->vc[w->lane[j]->comp] = w->lane[j]->vc[w->lane[j]->comp];
        for (int i = 0; i < 32; i++) w->lane[i]->vc[w->lane[i]->comp]++;
        return;
    }
    u32 *all = NULL;
    int n = w->lane[0]->m->vc_n;
    for (int i = 0; i < 32; i++) {
        if (!(members >> i & 1)) continue;
        if (!all) all = w->lane[i]->vc;
        else join(all, w->lane[i]->vc, n);
    }
    for (int i = 0; i < 32; i++) {
        thread *t = w->lane[i];
        if (!(members >> i & 1)) continue;
        if (t->vc != all) memcpy(t->vc, all, (size_t)n * sizeof(u32));
        t->learnt = members != 0xffffffffu;
    }
    for (int i = 0; i < 32; i++)
        if (members >> i & 1) w->lane[i]->vc[w->lane[i]->comp]++;
}

/* Orders no memory: it is known that all lanes have come as far. */
void weiri_race_warp_joined(thread *t) { t->vc[weiri_race_joined(t->c, t->tid / 32)] = ++t->joins; }

void weiri_race_mma_waited(thread *t, u64 ops) {
    raise(&t->vc[mma_of(t->c, t->tid / 128)], (u32)ops);
    t->learnt = true;
}

void weiri_race_fenced(thread *t) { t->fences[t->nfences++ % (sizeof t->fences / sizeof *t->fences)] = t->vc[t->comp]++; }

void weiri_race_grid_waited(thread *t) {
    raise(&t->vc[base(t->c) + (u32)first_grid(t->m)], 1);
    t->learnt = true;
}

void weiri_race_bulk_waited(thread *t, u32 serial, bool read_only) {
    raise(&t->vc[read_of(t->c, t->tid / 32)], serial);
    if (!read_only) raise(&t->vc[done_of(t->c, t->tid / 32)], serial);
    t->learnt = true;
}

/* ---- fences and atomics -------------------------------------------------------------------------------------------------- */

static u32 home_of(const cta *c) { return c->m->first_home + (u32)(c->block - c->rank) / (u32)c->cl->n; }

static u32 *known_at(machine *m, foreign **list, u32 home, bool make) {
    for (foreign *f = *list; f; f = f->next)
        if (f->home == home) return f->vc;
    if (!make) return NULL;
    foreign *f = weiri_sim_alloc(m, sizeof *f);
    f->home = home;
    f->vc = weiri_race_clock(m);
    f->next = *list;
    *list = f;
    return f->vc;
}

static sync_var *var_at(machine *m, const void *p, bool make) {
    if (!m->sync_vars) {
        if (!make) return NULL;
        m->sync_vars = weiri_sim_alloc(m, SYNC_VARS * sizeof *m->sync_vars);
    }
    sync_var **slot = &m->sync_vars[((uintptr_t)p >> 2) % SYNC_VARS];
    for (sync_var *v = *slot; v; v = v->next)
        if (v->p == p) return v;
    if (!make) return NULL;
    sync_var *v = weiri_sim_alloc(m, sizeof *v);
    v->p = p;
    v->next = *slot;
    return *slot = v;
}

/* A fence makes what came before it part of what later atomics release, and what earlier atomics have met known. */
static void fence(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    machine *m = t->m;
    u32 home = home_of(t->c);
    for (int i = 0; i < t->nmet; i++)
        for (const foreign *f = t->met[i]->known; f; f = f->next) {
            if (f->home == home) weiri_race_acquire(t, f->vc);
            else join(known_at(m, &t->c->cl->known, f->home, true), f->vc, m->vc_n);
        }
    t->nmet = 0;
    if (!t->fence_vc) t->fence_vc = weiri_race_clock(m);
    t->fenced = true;
    memcpy(t->fence_vc, t->vc, (size_t)m->vc_n * sizeof(u32));
    t->vc[t->comp]++;
}

static void met(thread *t, const void *p) {
    sync_var *v = var_at(t->m, p, t->fenced);
    if (!v) return;
    for (int i = 0; i < t->nmet; i++)
        if (t->met[i] == v) v = NULL;
    if (v && t->nmet == (int)(sizeof t->met / sizeof *t->met)) {
        memmove(t->met, t->met + 1, sizeof t->met - sizeof *t->met);
        t->nmet--;
    }
    if (v) t->met[t->nmet++] = v;
    if (!t->fenced) return;
    v = var_at(t->m, p, true);
    join(known_at(t->m, &v->known, home_of(t->c), true), t->fence_vc, t->m->vc_n);
    for (const foreign *f = t->c->cl->known; f; f = f->next) join(known_at(t->m, &v->known, f->home, true), f->vc, t->m->vc_n);
}

/* ---- cells --------------------------------------------------------------------------------------------------------------- */

static bool ordered(const u32 *vc, const cell *x) { return vc[x->who] >= x->clock; }

/* Of a thread's plain read: has its thread fenced behind it, and told of that fence? A read that lies more fences back than are kept
 * is taken to be over. */
static bool fenced(const cta *c, const u32 *vc, const cell *x) {
    const machine *m = c->m;
    const thread *t = &c->cl->ctas[x->who / (u32)m->vc_cta].threads[x->who % (u32)m->vc_cta];
    const u32 kept = sizeof t->fences / sizeof *t->fences;
    u32 first = 0, i = t->nfences, end = i > kept ? i - kept : 0;
    for (; i > end && t->fences[(i - 1) % kept] >= x->clock; i--) first = t->fences[(i - 1) % kept];
    return (first && vc[x->who] > first) || (i == end && end > 0);
}

/* A plain read by a thread, which a fence of that thread must follow before the async proxy may write there? */
static bool plain_read(const machine *m, const weiri_word *w, int i) {
    return i >= WRITES && w->mask[i] & BYTES && !(w->mask[i] & ASYNC) && w->c[i].who % (u32)m->vc_cta < (u32)m->threads_per_cta;
}

/* "task 'load', CTA 0, warp 0, lane 3" and what it did */
static void tell_other(const machine *m, const cell *x, u32 first_block, bool write, bool atomic, char *out, size_t size) {
    u32 rank = x->who / (u32)m->vc_cta, block = first_block + rank;
    int local = (int)(x->who % (u32)m->vc_cta);
    char place[256];
    weiri_sim_place(m, x->at, place, sizeof place);
    const char *open = *place ? " (" : "", *shut = *place ? ")" : "";
    if (local < first_bar(m)) {
        int task = weiri_tell_task_of_warp(m->plan, (int)rank, local / 32);
        const char *name = task >= 0 ? m->plan->tasks[task].task->name : NULL;
        snprintf(out, size, "%s by %s%s%sCTA %u, warp %d, lane %d%s%s%s", atomic ? "an atomic" : write ? "a store" : "a load",
                 name ? "task '" : "", name ? name : "", name ? "', " : "", block, local / 32, local % 32, open, place, shut);
    } else if (local < first_mma(m)) {
        const cta *c = NULL;
        char bar_name[96] = "an mbarrier";
        for (int i = 0; i < m->nctas; i++)
            if (m->ctas[i].block == block) c = &m->ctas[i];
        if (c && local - first_bar(m) < c->nbars) weiri_sync_bar_name(c, &c->bars[local - first_bar(m)], bar_name, sizeof bar_name);
        snprintf(out, size, "a copy that completes on mbarrier %s of CTA %u%s%s%s", bar_name, block, open, place, shut);
    } else if (local < first_read(m)) {
        snprintf(out, size, "a wgmma of CTA %u, warps %d to %d%s%s%s", block, 4 * (local - first_mma(m)),
                 4 * (local - first_mma(m)) + 3, open, place, shut);
    } else {
        snprintf(out, size, "a TMA %s of CTA %u, warp %d%s%s%s", atomic ? "addition" : "store", block,
                 (local - first_read(m)) % (m->threads_per_cta / 32), open, place, shut);
    }
}

/* The rule under which two unordered accesses are shown, and what would order them. */
static const char *rule_of(const machine *m, const cell *x, bool was_write, bool write, const char **mend) {
    int local = (int)(x->who % (u32)m->vc_cta);
    if (local < first_bar(m)) {
        *mend = "nothing orders the two: a barrier, or an arrive and its wait, is missing between them";
        return "sim-race";
    }
    if (was_write && local < first_mma(m)) {
        *mend = write ? "no wait stands between the two"
                      : "it has landed by chance: no wait of this thread, or of one that it knows of, stands behind it";
        return write ? "sim-async-write" : "sim-early-read";
    }
    *mend = was_write ? "no bulk wait for its result is known here"
                      : "it has ended by chance: no wait for it is known here";
    return was_write ? "sim-race" : "sim-async-read";
}

/* ---- shared memory ------------------------------------------------------------------------------------------------------- */

static void report(const cta *c, const thread *by, u32 at, u32 addr, u32 n, const char *what, const weiri_word *w, int i,
                   bool write) {
    const machine *m = c->m;
    char where[160], other[360];
    const char *mend, *rule = rule_of(m, &w->c[i], i < WRITES, write, &mend);
    u32 first = (u32)(w - c->words) * 4 + SMEM_BASE, last = first + 3;
    u32 shared = addr > first ? addr : first, end = addr + n - 1 < last ? addr + n - 1 : last;
    weiri_smem_name(c, shared, where, sizeof where);
    tell_other(m, &w->c[i], c->block - c->rank, i < WRITES, (w->mask[i] & ATOMIC) != 0, other, sizeof other);
    char lane[24] = "";
    if (by && rule[4] == 'r') snprintf(lane, sizeof lane, "lane %u: ", by->lane);
    weiri_sim_fault(c->m, by, at, rule, "%s%s %s (%u byte%s) and %s: %s", lane, what, where, end - shared + 1,
                    end > shared ? "s" : "", other, mend);
}

/* Lanes of a warp that store by one instruction to one place: one of them wins, says CUDA, and that is all there is to it. */
static bool one_store(const machine *m, const cell *x, u32 pc, u32 self, u32 by_pc) {
    u32 n = (u32)m->vc_cta;
    return pc && pc == by_pc && x->who / n == self / n && x->who % n / 32 == self % n / 32 && x->who % n < (u32)m->threads_per_cta;
}

/* Cells that conflict with an access of the bytes in `mask` and are not ordered before `vc`: the first one's index, or -1. */
static int conflict(const machine *m, const u32 *vc, const weiri_word *w, u32 mask, bool write, u32 self, u32 pc) {
    for (int i = 0; i < (write ? CELLS : WRITES); i++) {
        u32 x = w->mask[i];
        if (!(x & mask & BYTES) || (x & mask & ATOMIC) || w->c[i].who == self) continue;
        if (ordered(vc, &w->c[i]) || (i < WRITES && write && one_store(m, &w->c[i], w->pc[i], self, pc))) continue;
        return i;
    }
    return -1;
}

/* A read takes the place of one that `vc` knows of, of one that is fenced rather than of one that is not. */
static int place_of_read(const cta *c, const weiri_word *w, u32 mask, cell now, const u32 *vc) {
    int known = -1;
    for (int i = WRITES; i < CELLS; i++) {
        if (!w->mask[i]) return i;
        if (w->mask[i] & BYTES & ~mask || !vc || !ordered(vc, &w->c[i])) continue;
        if (!plain_read(c->m, w, i) || fenced(c, vc, &w->c[i])) return i;
        if (known < 0) known = i;
    }
    return known >= 0 ? known : WRITES + (int)((now.clock * 5 + now.who * 3u + now.at) % READS);
}

static void keep(const cta *c, weiri_word *w, u32 mask, bool write, cell now, const u32 *vc, u32 pc) {
    if (write) {
        for (int i = 0; i < CELLS; i++) /* what came before it is known to whoever knows of this one */
            if (!((mask & ATOMIC) && (w->mask[i] & ATOMIC))) {
                u32 left = w->mask[i] & BYTES & ~mask;
                w->mask[i] = left ? (u8)(left | (w->mask[i] & KIND)) : 0;
            }
        int i = !w->mask[0] ? 0 : !w->mask[1] ? 1 : w->c[0].who == now.who ? 0 : w->c[1].who == now.who ? 1 : (int)(now.clock & 1);
        if (w->mask[i] && w->c[i].who == now.who && w->c[i].clock == now.clock && !((w->mask[i] ^ mask) & ATOMIC))
            mask |= w->mask[i];
        w->c[i] = now;
        w->mask[i] = (u8)mask;
        w->pc[i] = pc;
        return;
    }
    for (int i = WRITES; i < CELLS; i++) { /* one's older read of the bytes: who knows of this one knows of that one */
        if (!w->mask[i] || w->c[i].who != now.who || ((w->mask[i] ^ mask) & KIND)) continue;
        if (w->mask[i] & BYTES & ~mask && w->c[i].clock != now.clock) { /* of others too, which are not read again */
            w->mask[i] &= (u8)~(mask & BYTES);
            continue;
        }
        w->c[i] = now;
        w->mask[i] |= (u8)mask;
        return;
    }
    const int at = place_of_read(c, w, mask, now, vc);
    w->c[at] = now;
    w->mask[at] = (u8)mask;
}

static u32 mask_of(u32 addr, u32 n, u32 w) {
    u32 lo = w * 4 + SMEM_BASE, from = addr > lo ? addr - lo : 0, to = addr + n - lo;
    if (to > 4) to = 4;
    return ((1u << to) - 1) & ~((1u << from) - 1);
}

static u32 first_word(u32 addr) { return (addr - SMEM_BASE) / 4; }
static u32 end_word(u32 addr, u32 n) { return (addr - SMEM_BASE + n + 3) / 4; }

void weiri_race_access(thread *t, u32 addr, u32 n, bool write, bool atomic, const char *what) {
    cta *c = t->c;
    cell now = { t->vc[t->comp], (u16)t->comp, (u16)t->at };
    for (u32 i = first_word(addr), e = end_word(addr, n); i < e; i++) {
        weiri_word *w = &c->words[i];
        u32 mask = mask_of(addr, n, i) | (atomic ? ATOMIC : 0);
        int bad = conflict(c->m, t->vc, w, mask, write, t->comp, c->m->api.pc);
        if (bad >= 0) report(c, t, t->at, addr, n, what, w, bad, write);
        keep(c, w, mask, write, now, t->vc, c->m->api.pc);
    }
    if (atomic) met(t, weiri_smem_at(c, addr));
}

/* An operation that `by` issues: may it touch these bytes of c now? */
void weiri_race_check(cta *c, u32 addr, u32 n, const thread *by, u32 at, bool write, const char *what) {
    if (!by) return;
    u32 who = UINT32_MAX, clock = 0; /* the last one that was found in order */
    for (u32 i = first_word(addr), e = end_word(addr, n); i < e; i++) {
        const weiri_word *w = &c->words[i];
        u64 masks;
        memcpy(&masks, w->mask, sizeof masks);
        if (!masks) continue;
        if ((masks & ~0xffull) == 0 && w->c[0].who == who && w->c[0].clock == clock) continue;
        int bad = conflict(c->m, by->vc, w, mask_of(addr, n, i), write, by->comp, 0);
        if (bad >= 0) {
            report(c, by, at, addr, n, what, w, bad, write);
            return;
        }
        if (w->mask[0]) who = w->c[0].who, clock = w->c[0].clock;
    }
}

/* An arrival of a thread does not wait for its loads, and the async proxy does not queue behind them: the thread's fence does. */
void weiri_race_late(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what) {
    const machine *m = c->m;
    for (u32 i = first_word(addr), e = end_word(addr, n); i < e; i++) {
        const weiri_word *w = &c->words[i];
        for (int j = WRITES; j < CELLS; j++) {
            if (!(w->mask[j] & mask_of(addr, n, i)) || !plain_read(m, w, j) || fenced(c, by->vc, &w->c[j])) continue;
            char where[160], other[360];
            u32 first = i * 4 + SMEM_BASE;
            weiri_smem_name(c, addr > first ? addr : first, where, sizeof where);
            tell_other(m, &w->c[j], c->block - c->rank, false, (w->mask[j] & ATOMIC) != 0, other, sizeof other);
            weiri_sim_fault(c->m, by, at, "sim-fence",
                            "%s %s, may overtake %s: a fence.proxy.async of that thread is expected between the load and its "
                            "hand-over, and there is none",
                            what, where, other);
            return;
        }
    }
}

static void set(cta *c, u32 addr, u32 n, bool write, u32 kind, cell now) {
    for (u32 i = first_word(addr), e = end_word(addr, n); i < e; i++)
        keep(c, &c->words[i], mask_of(addr, n, i) | kind, write, now, NULL, 0);
}

/* Bytes that a copy has written, to be known by who waits for the phase of b that is open. */
void weiri_race_filled(cta *c, u32 addr, u32 n, const cta *counts, const bar *b, u32 at) {
    set(c, addr, n, true, 0, (cell){ (u32)b->phase + 1, (u16)weiri_race_bar(counts, b), (u16)at });
}

/* Bytes of c that a copy has read which completes on barrier b of CTA `to`. */
void weiri_race_pushed(cta *c, u32 addr, u32 n, const cta *to, const bar *b, u32 at) {
    set(c, addr, n, false, ASYNC, (cell){ (u32)b->phase + 1, (u16)weiri_race_bar(to, b), (u16)at });
}

void weiri_race_wrote(cta *c, u32 addr, u32 n, const thread *by, u32 clock, u32 at) {
    set(c, addr, n, true, 0, (cell){ clock, (u16)by->comp, (u16)at });
}

void weiri_race_read(cta *c, u32 addr, u32 n, const thread *by, u32 at) {
    set(c, addr, n, false, ASYNC, (cell){ by->vc[by->comp], (u16)by->comp, (u16)at });
}

void weiri_race_mma(cta *c, u32 addr, u32 n, u32 warpgroup, u64 op, u32 at) {
    set(c, addr, n, false, ASYNC, (cell){ (u32)op + 1, (u16)mma_of(c, warpgroup), (u16)at });
}

void weiri_race_bulk(cta *c, u32 addr, u32 n, u32 warp, u32 serial, u32 at) {
    set(c, addr, n, false, ASYNC, (cell){ serial, (u16)read_of(c, warp), (u16)at });
}

/* ---- global memory ------------------------------------------------------------------------------------------------------- */

static gword *gword_at(machine *m, weiri_page **slot, u64 word) {
    weiri_page **p = &slot[word / PAGE_WORDS];
    if (!*p) {
        if (m->pages_made >= MAX_PAGES) return NULL;
        *p = weiri_alloc(m->ctx, sizeof **p);
        if (!*p) return NULL;
        m->pages_made++;
    }
    return &(*p)->w[word % PAGE_WORDS];
}

u64 weiri_race_pages(u64 bytes) { return (bytes + 8) / (4 * PAGE_WORDS) + 1; }

void weiri_race_free_pages(weir_ctx *c, weiri_page **pages, u64 n) {
    for (u64 i = 0; pages && i < n; i++)
        if (pages[i]) weiri_free(c, pages[i], sizeof *pages[i]);
    weiri_free(c, pages, (size_t)n * sizeof *pages);
}

static bool grid_known(const machine *m, const u32 *vc, int ctas) {
    for (int r = 0; r < ctas; r++)
        if (vc[r * m->vc_cta + first_grid(m)]) return true;
    return false;
}

/* Does a thread with this clock know that an earlier launch, whose cluster `home` is, has ended? */
static bool ended(const cta *c, const u32 *vc, u32 home) {
    const weiri_sim_before *b = &c->m->before;
    if (home >= b->lost && home < b->lost_end) return false;
    if (home < b->first || home >= b->end || grid_known(c->m, vc, c->cl->n)) return true;
    for (const foreign *f = c->cl->known; f; f = f->next)
        if (grid_known(c->m, f->vc, c->cl->n)) return true;
    return false;
}

static bool gordered(const cta *c, const u32 *vc, const cell *x, u32 home) {
    if (home < c->m->first_home) return ended(c, vc, home);
    if (home == home_of(c)) return ordered(vc, x);
    const u32 *known = known_at(c->m, &c->cl->known, home, false);
    return known && known[x->who] >= x->clock;
}

static void report_before(const thread *t, u32 at, const char *what, const char *p, u32 n, u32 home, bool was_write) {
    const weiri_sim_before *b = &t->m->before;
    char where[160];
    weiri_host_name(t->m->sim, p, where, sizeof where);
    const char *done = was_write ? "writes" : "reads";
    if (home >= b->lost && home < b->lost_end)
        weiri_sim_fault(t->m, t, at, "sim-pdl",
                        "lane %u: %s %s (%u byte%s), which the launch of '%s' %s: it may not have ended, for no thread of the "
                        "launch between, '%s', "
                        "has run griddepcontrol.wait",
                        t->lane, what, where, n, n == 1 ? "" : "s", b->lost_name, done, b->name);
    else
        weiri_sim_fault(t->m, t, at, "sim-pdl",
                        "lane %u: %s %s (%u byte%s), which the launch before, '%s', %s (CTA %u): no griddepcontrol.wait stands "
                        "before it, in this "
                        "thread or in one that it is ordered behind",
                        t->lane, what, where, n, n == 1 ? "" : "s", b->name, done, (home - b->first) * (u32)b->cluster);
}

static void greport(const thread *t, u32 at, const char *what, const char *p, u32 n, const gword *w, int i, bool write) {
    const machine *m = t->m;
    if (w->home[i] < m->first_home) {
        report_before(t, at, what, p, n, w->home[i], i < GWRITES);
        return;
    }
    char where[160], other[360];
    const char *mend, *rule = rule_of(m, &w->c[i], i < GWRITES, write, &mend);
    u32 block = (w->home[i] - m->first_home) * (u32)t->c->cl->n;
    weiri_host_name(m->sim, p, where, sizeof where);
    tell_other(m, &w->c[i], block, i < GWRITES, (w->mask[i] & ATOMIC) != 0, other, sizeof other);
    if (w->home[i] != home_of(t->c)) {
        rule = "sim-race";
        mend = "the two CTAs share no barrier; only fence, atomic, fence would order them";
    }
    weiri_sim_fault(t->m, t, at, rule, "lane %u: %s %s (%u byte%s) and %s: %s", t->lane, what, where, n, n == 1 ? "" : "s",
                    other, mend);
}

/* An access by t, or one that t issued and that completes as `now` says. */
static void global_access(thread *t, u32 at, const char *p, u64 n, bool write, bool atomic, const char *what, cell now, bool own) {
    machine *m = t->m;
    u64 offset;
    weiri_page **pages = weiri_host_pages(m->sim, m->ctx, p, &offset);
    if (!pages) return;
    u32 home = home_of(t->c);
    u32 kind = atomic ? ATOMIC : 0;
    for (u64 i = offset / 4, e = (offset + n + 3) / 4; i < e; i++) {
        gword *w = gword_at(m, pages, i);
        if (!w) return;
        u32 from = i * 4 < offset ? (u32)(offset - i * 4) : 0, to = offset + n - i * 4 < 4 ? (u32)(offset + n - i * 4) : 4;
        u32 mask = (((1u << to) - 1) & ~((1u << from) - 1)) | kind;
        int at_cell = -1, old = -1;
        for (int j = 0; j < GCELLS; j++) {
            u32 x = w->mask[j];
            if (!x) {
                if (at_cell < 0 && (write ? j < GWRITES : j >= GWRITES)) at_cell = j;
                continue;
            }
            bool mine = w->home[j] == home && w->c[j].who == now.who;
            bool before =
                mine || (own && w->home[j] == home && w->c[j].who == t->comp) || gordered(t->c, t->vc, &w->c[j], w->home[j]);
            bool same = !before && write && j < GWRITES && !own && w->home[j] == home &&
                        one_store(m, &w->c[j], w->pc[j], now.who, m->api.pc);
            if ((write || j < GWRITES) && (x & mask & BYTES) && !(x & mask & ATOMIC) && !before && !same) {
                u64 first = i * 4 > offset ? i * 4 - offset : 0;
                greport(t, at, what, p + first, to - from, w, j, write);
                return;
            }
            if (write && (before || same) && !((x & mask) & ATOMIC)) {
                u32 left = x & BYTES & ~mask;
                w->mask[j] = left ? (u8)(left | (x & ATOMIC)) : 0;
                if (!w->mask[j] && at_cell < 0 && j < GWRITES) at_cell = j;
            } else if (mine && !((x ^ mask) & ATOMIC) && (write ? j < GWRITES : j >= GWRITES)) old = j;
        }
        if (old >= 0) at_cell = old;
        if (at_cell < 0) at_cell = write ? (int)((now.clock ^ now.who) % GWRITES) : GWRITES;
        if (old >= 0 && w->c[old].clock == now.clock) mask |= w->mask[old] & BYTES;
        w->c[at_cell] = now;
        w->home[at_cell] = home;
        w->mask[at_cell] = (u8)mask;
        if (write) w->pc[at_cell] = own ? 0 : m->api.pc;
    }
}

void weiri_race_global(thread *t, const void *p, u64 n, bool write, bool atomic) {
    global_access(t, t->at, p, n, write, atomic, atomic ? "an atomic on" : write ? "a store to" : "a load of",
                  (cell){ t->vc[t->comp], (u16)t->comp, (u16)t->at }, false);
    if (atomic) met(t, p);
}

/* A copy issued by t has read global memory; it completes on barrier b of CTA `to`. */
void weiri_race_global_load(thread *t, u32 at, const void *p, u64 n, const cta *to, const bar *b) {
    global_access(t, at, p, n, false, false, "a TMA load reads",
                  (cell){ (u32)b->phase + 1, (u16)weiri_race_bar(to, b), (u16)at }, true);
}

void weiri_race_global_store(thread *t, u32 at, const void *p, u64 n, bool add, u32 serial) {
    global_access(t, at, p, n, true, add, add ? "a TMA addition to" : "a TMA store to",
                  (cell){ serial, (u16)done_of(t->c, t->tid / 32), (u16)at }, true);
}

void weiri_race_calls(w_sim_api *api) { api->w_sim_fence = fence; }
