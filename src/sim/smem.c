/* Shared memory, byte by byte: what has been written, what an asynchronous copy or wgmma still reads or fills, and which
 * generic writes the async proxy cannot see yet. Also the plain accesses of emitted source, to any memory. */
#include <stdio.h>
#include <string.h>

#include "machine.h"

enum {
    CP_ASYNC = 0x8000,
    BEYOND = 4096 /* bytes past the shared memory that are still taken for an index too large */,
    SPIN = 64,
    PREEMPT = 4096 /* plain accesses in a row before another thread gets its turn */
};

static u32 granule(u32 addr) { return (addr - SMEM_BASE) / GRANULE; }
static u32 end_granule(u32 addr, u32 n) { return (addr - SMEM_BASE + n + GRANULE - 1) / GRANULE; }
static u32 word(u32 addr) { return (addr - SMEM_BASE) / 4; }
static u32 end_word(u32 addr, u32 n) { return (addr - SMEM_BASE + n + 3) / 4; }

void weiri_smem_reset(cta *c) {
    size_t n = (size_t)c->m->smem_bytes, g = n / GRANULE;
    memset(c->smem, 0xcd, n);
    memset(c->defined, 0, g * sizeof *c->defined);
    memset(c->readers, 0, g * sizeof *c->readers);
    memset(c->fillers, 0, g * sizeof *c->fillers);
    memset(c->is_bar, 0, g);
    memset(c->clock, 0, n / 4 * sizeof *c->clock);
    memset(c->writer, 0, n / 4 * sizeof *c->writer);
    memset(c->bar_at, 0, n / 8 * sizeof *c->bar_at);
    c->nbars = 0;
}

/* The region of the plan that holds the address, innermost declared last. */
static const weiri_region *region(const cta *c, u32 addr) {
    const weiri_plan *p = c->m->plan;
    i64 off = (i64)addr - SMEM_BASE;
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *r = &p->smem.v[i];
        if (!r->tmem && off >= r->offset && off < r->offset + r->size) return r;
    }
    return NULL;
}

void weiri_smem_name(const cta *c, u32 addr, char *out, size_t size) {
    const weiri_region *r = region(c, addr);
    if (!r) {
        snprintf(out, size, "shared byte %lld", (i64)addr - SMEM_BASE);
        return;
    }
    i64 off = (i64)addr - SMEM_BASE - r->offset;
    if (r->stages > 1 && r->stage_bytes > 0)
        snprintf(out, size, "'%s' stage %lld, byte %lld", r->name, off / r->stage_bytes, off % r->stage_bytes);
    else snprintf(out, size, "'%s' byte %lld", r->name, off);
}

bool weiri_smem_inside(const cta *c, i64 addr, i64 n, const thread *by, const char *what) {
    if (addr >= SMEM_BASE && n >= 0 && addr + n <= SMEM_BASE + c->m->smem_bytes) return true;
    weiri_sim_fault(c->m, by, by ? by->at : 0, "sim-bounds", "%s shared bytes %lld to %lld; the kernel has %lld", what,
                    addr - SMEM_BASE, addr - SMEM_BASE + n - 1, c->m->smem_bytes);
    return false;
}

/* ---- who else is at these bytes ------------------------------------------------------------------------------------------ */

/* "a TMA store (gemm.lua:60)": the asynchronous access in flight at an address. */
static void name_other(const cta *c, u32 addr, const op *filler, char *out, size_t size) {
    const bool fill = filler != NULL;
    const op *o = fill ? filler : weiri_copy_reader(c, addr);
    const mma *w = fill || o ? NULL : weiri_wgmma_reader(c, addr);
    char at[160];
    u32 id = o ? o->at : w ? w->at : 0;
    bool tc = !fill && !o && !w && weiri_tc_reader(c, addr, &id);
    const char *what = o ? weiri_copy_name(o->kind) : w ? "a wgmma" : tc ? "an mma" : "an asynchronous access";
    weiri_sim_place(c->m, id, at, sizeof at);
    snprintf(out, size, "%s%s%s%s", what, *at ? " (" : "", at, *at ? ")" : "");
}

/* Reports the first granule of the range for which `count` is not 0. A cp.async of 4 or 8 bytes fills a part of one: its neighbours are
 * others' to use. */
static void busy(cta *c, const u16 *count, u32 addr, u32 n, const thread *by, u32 at, bool fill, const char *rule,
                 const char *what, const char *rest) {
    const op *filler = fill ? weiri_copy_filler(c, addr, n) : NULL;
    if (fill && !filler) return;
    for (u32 g = granule(addr); g < end_granule(addr, n); g++) {
        if (!count[g]) continue;
        u32 first = SMEM_BASE + g * GRANULE;
        char where[160], other[200];
        if (filler && first + GRANULE <= filler->dst) continue;
        if (filler && first < filler->dst) first = filler->dst;
        weiri_smem_name(c, first > addr ? first : addr, where, sizeof where);
        name_other(c, first, filler, other, sizeof other);
        weiri_sim_fault(c->m, by, at, rule, "%s %s, %s %s", what, where, other, rest);
        return;
    }
}

static u16 byte_mask(u32 addr, u32 n, u32 g) {
    u32 lo = SMEM_BASE + g * GRANULE, from = addr > lo ? addr - lo : 0, to = addr + n - lo;
    if (to > GRANULE) to = GRANULE;
    return (u16)(((1u << to) - 1) & ~((1u << from) - 1));
}

static bool any(const u16 *count, u32 addr, u32 n) {
    unsigned x = 0;
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) x |= count[g];
    return x != 0;
}

static void need_defined(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what) {
    for (u32 g = granule(addr); g < end_granule(addr, n); g++) {
        u16 need = byte_mask(addr, n, g), missing = (u16)(need & ~c->defined[g]);
        if (!missing) continue;
        char where[160];
        weiri_smem_name(c, SMEM_BASE + g * GRANULE + (u32)__builtin_ctz(missing), where, sizeof where);
        weiri_sim_fault(c->m, by, at, "sim-uninit", "%s %s, which nothing has written", what, where);
        return;
    }
}

/* ---- generic accesses ---------------------------------------------------------------------------------------------------- */

static void read_bytes(thread *t, u32 addr, u32 n, bool atomic, const char *what) {
    cta *c = t->c;
    if (!n || !weiri_smem_inside(c, addr, n, t, what)) return;
    if (any(c->fillers, addr, n))
        busy(c, c->fillers, addr, n, t, t->at, true, "sim-early-read", what,
             "has not finished filling it: the wait before this read is missing");
    need_defined(c, addr, n, t, t->at, what);
    weiri_race_access(t, addr, n, false, atomic, what);
}

void weiri_smem_read(thread *t, u32 addr, u32 n, const char *what) { read_bytes(t, addr, n, false, what); }

void weiri_smem_stamp(cta *c, u32 addr, u32 n, const thread *by, bool cp) {
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) c->defined[g] |= byte_mask(addr, n, g);
    u16 who = (u16)((by->tid + 1) | (cp ? CP_ASYNC : 0));
    for (u32 w = word(addr), e = end_word(addr, n); w < e; w++) {
        c->clock[w] = c->m->clock;
        c->writer[w] = who;
    }
}

/* Does a write hit an mbarrier? A fault then. */
static bool over_bar(const cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what) {
    for (u32 g = granule(addr); g < end_granule(addr, n); g++) {
        if (!c->is_bar[g]) continue;
        for (u32 a = addr & ~7u; a < addr + n; a += 8) {
            const bar *b = weiri_sync_bar((cta *)(uintptr_t)c, a);
            char name[96];
            if (!b || !b->live) continue;
            weiri_sync_bar_name(c, b, name, sizeof name);
            weiri_sim_fault(c->m, by, at, "sim-bar-write", "%s shared byte %lld, which is mbarrier %s", what,
                            (i64)a - SMEM_BASE, name);
            return true;
        }
    }
    return false;
}

static void write_bytes(thread *t, u32 addr, u32 n, bool atomic, const char *what) {
    cta *c = t->c;
    if (!n || !weiri_smem_inside(c, addr, n, t, what)) return;
    if (any(c->readers, addr, n))
        busy(c, c->readers, addr, n, t, t->at, false, "sim-async-read", what,
             "still reads it: the wait before this write is missing");
    if (any(c->fillers, addr, n)) busy(c, c->fillers, addr, n, t, t->at, true, "sim-async-write", what, "is still filling it");
    if (over_bar(c, addr, n, t, t->at, what)) return;
    weiri_race_access(t, addr, n, true, atomic, what);
    weiri_smem_stamp(c, addr, n, t, false);
}

void weiri_smem_write(thread *t, u32 addr, u32 n, const char *what) { write_bytes(t, addr, n, false, what); }

/* ---- asynchronous accesses ----------------------------------------------------------------------------------------------- */

/* A generic write is visible to the async proxy once its writer has fenced after it; cp.async has no thread that could fence
 * after the bytes landed but the one that waited for them, so there the reader's own fence counts too. */
static void need_fenced(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what) {
    for (u32 w = word(addr); w < end_word(addr, n); w++) {
        if (!c->clock[w]) continue;
        u32 tid = (c->writer[w] & ~(u32)CP_ASYNC) - 1;
        if (c->threads[tid].fence > c->clock[w]) continue;
        if ((c->writer[w] & CP_ASYNC) && by && by->fence > c->clock[w]) continue;
        char where[160], who[160], place[160];
        weiri_smem_name(c, SMEM_BASE + w * 4, where, sizeof where);
        weiri_sim_describe(&c->threads[tid], who, sizeof who);
        weiri_sim_place(c->m, c->threads[tid].at, place, sizeof place);
        weiri_sim_fault(c->m, by, at, "sim-fence",
                        "%s %s, which %s lane %u wrote without a fence.proxy.async after it (its last action: %s)", what, where,
                        who, c->threads[tid].lane, *place ? place : "unknown");
        return;
    }
}

void weiri_smem_aread_begin(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what) {
    if (any(c->fillers, addr, n))
        busy(c, c->fillers, addr, n, by, at, true, "sim-early-read", what,
             "has not finished filling it: the wait before this read is missing");
    bool whole = true;
    u32 unfenced = 0;
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) {
        whole &= c->defined[g] == 0xffff;
        c->readers[g]++;
    }
    for (u32 w = word(addr), e = end_word(addr, n); w < e; w++) unfenced |= c->clock[w];
    if (!whole) need_defined(c, addr, n, by, at, what);
    weiri_race_check(c, addr, n, by, at, false, what);
    if (unfenced) need_fenced(c, addr, n, by, at, what);
}

void weiri_smem_aread_end(cta *c, u32 addr, u32 n) {
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) c->readers[g]--;
}

void weiri_smem_fill_begin(cta *c, u32 addr, u32 n, const thread *by, u32 at, bool async_proxy, const char *what) {
    if (any(c->readers, addr, n))
        busy(c, c->readers, addr, n, by, at, false, "sim-async-read", what,
             "still reads it: the stage was taken before it was free");
    if (any(c->fillers, addr, n))
        busy(c, c->fillers, addr, n, by, at, true, "sim-async-write", what,
             "is still filling it: the stage was taken before it was free");
    if (over_bar(c, addr, n, by, at, what)) return;
    weiri_race_check(c, addr, n, by, at, true, what);
    if (async_proxy) {
        need_fenced(c, addr, n, by, at, what);
        weiri_race_late(c, addr, n, by, at, what);
    }
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) c->fillers[g]++;
}

void weiri_smem_fill_end(cta *c, u32 addr, u32 n, bool async_proxy) {
    for (u32 g = granule(addr), e = end_granule(addr, n); g < e; g++) {
        c->fillers[g]--;
        c->defined[g] |= byte_mask(addr, n, g);
    }
    if (async_proxy)
        for (u32 w = word(addr), e = end_word(addr, n); w < e; w++) c->clock[w] = 0;
}

/* ---- plain accesses of emitted source ------------------------------------------------------------------------------------ */

/* Shared memory of another CTA of the run, if the address is in one. */
static const cta *owner(const machine *m, const u8 *p) {
    for (int i = 0; i < m->nctas; i++)
        if (p >= m->ctas[i].smem && p < m->ctas[i].smem + m->smem_bytes) return &m->ctas[i];
    return NULL;
}

/* A CPU's stack; a GPU's registers. */
static bool on_stack(const thread *t, const u8 *p) { return (u64)(uintptr_t)p - (u64)(uintptr_t)t->f.stack < t->f.size; }

static void off_size(const thread *t, const u8 *p, u64 size, const char *what) {
    const machine *m = t->m;
    char name[160];
    if (p >= t->c->smem && p < t->c->smem + m->smem_bytes)
        weiri_smem_name(t->c, (u32)(SMEM_BASE + (p - t->c->smem)), name, sizeof name);
    else weiri_host_name(m->sim, p, name, sizeof name);
    weiri_sim_fault(t->m, t, t->at, "sim-align", "%s %llu bytes at %s, an address that is no multiple of %llu", what, size, name, size);
}

/* An access by a type that asks for more alignment than the address has. kind: 0 a load, 1 a store; else the host's compiler does not
 * say: of a part, or of the whole by a reference. */
static void misaligned(w_sim_api *api, const void *p, u64 align, u32 kind) {
    const thread *t = weiri_sim_self(api);
    if (!on_stack(t, p)) off_size(t, p, align, kind == 0 ? "a load of" : kind == 1 ? "a store of" : "an access to");
}

void weiri_smem_access(w_sim_api *api, const void *p, u64 size, u32 kind) {
    machine *m = (machine *)(void *)api;
    thread *t = m->cur;
    const u8 *b = p;
    cta *c = t->c;
    bool write = kind & W_SIM_WRITE, atomic = kind & W_SIM_ATOMIC;
    if (!write || (atomic && !api->atomic)) { /* nothing is read or written yet: an atomic stays one */
        t->accesses += p == t->spot ? SPIN : 1; /* who looks at one place again and again waits for it */
        t->spot = p;
        if (t->accesses >= PREEMPT) {
            u32 pc = api->pc, within = api->atomic;
            api->atomic = 0;
            weiri_sim_yield(t);
            api->pc = pc;
            api->atomic = within;
        }
    }
    bool shared = b >= c->smem && b < c->smem + m->smem_bytes;
    bool own = on_stack(t, b);
    if ((kind & W_SIM_ALIGNED) && !own && (uintptr_t)p % size)
        off_size(t, b, size, write ? "a store of" : "a load of");
    if (shared) {
        u32 addr = (u32)(SMEM_BASE + (b - c->smem));
        if (write) write_bytes(t, addr, (u32)size, atomic, atomic ? "an atomic on" : "a store to");
        else read_bytes(t, addr, (u32)size, atomic, atomic ? "an atomic on" : "a load of");
        return;
    }
    if (own) {
        if (t->nuse) weiri_wgmma_registers(t, p, size, write);
        return;
    }
    if (b >= (const u8 *)api->image && b + size <= (const u8 *)api->image_end) return;
    if (b >= (const u8 *)m->params && b + size <= (const u8 *)m->params + m->params_size) return;
    char why[256];
    if (weiri_host_range(m->sim, p, size, why, sizeof why)) {
        weiri_race_global(t, p, size, write, atomic);
        return;
    }
    const cta *other = owner(m, b);
    if ((u64)(b - (c->smem + m->smem_bytes)) < BEYOND)
        weiri_smem_inside(c, SMEM_BASE + (b - c->smem), (i64)size, t, write ? "a store to" : "a load of");
    else if (other)
        weiri_sim_fault(m, t, t->at, "sim-bounds", "a plain %s of %llu bytes in the shared memory of CTA %u",
                        write ? "store" : "load", size, other->block);
    else
        weiri_sim_fault(m, t, t->at, "sim-bounds", "a %s of %llu bytes at %p is in no buffer: %s", write ? "store" : "load",
                        size, p, why);
}

/* ---- matrix moves -------------------------------------------------------------------------------------------------------- */

/* arg: address, then 4 registers (stmatrix); ret: 4 registers (ldmatrix). kind holds the shape. */
enum { MATRIX_LOAD = 0x100, MATRIX_STORE = 0x200, MATRIX_TRANS = 0x10 };

/* Row r of matrix i lies where lane 8i + r says; lane 4r + q holds its elements 2q, 2q+1 (with .trans: of its column r). */
static void move_matrices(warp *w, u32 members) {
    (void)members;
    u32 kind = w->lane[0]->kind, n = kind & 0xf;
    bool store = kind & MATRIX_STORE, trans = kind & MATRIX_TRANS;
    for (u32 i = 0; i < n; i++) {
        u16 e[8][8];
        for (u32 r = 0; r < 8 && store; r++)
            for (u32 q = 0; q < 4; q++) {
                u32 x = w->lane[4 * r + q]->arg[1 + i];
                e[trans ? 2 * q : r][trans ? r : 2 * q] = (u16)x;
                e[trans ? 2 * q + 1 : r][trans ? r : 2 * q + 1] = (u16)(x >> 16);
            }
        for (u32 r = 0; r < 8; r++) {
            thread *t = w->lane[8 * i + r];
            u32 addr = t->arg[0];
            const char *what = store ? "stmatrix to" : "ldmatrix of";
            if (addr % 16) {
                weiri_sim_fault(t->m, t, t->at, "sim-align", "%s shared address %u, which is no multiple of 16", what, addr);
                return;
            }
            if (!weiri_smem_inside(t->c, addr, 16, t, what)) return;
            if (store) {
                weiri_smem_write(t, addr, 16, what);
                memcpy(weiri_smem_at(t->c, addr), e[r], 16);
            } else {
                weiri_smem_read(t, addr, 16, what);
                memcpy(e[r], weiri_smem_at(t->c, addr), 16);
            }
        }
        for (u32 r = 0; r < 8 && !store; r++)
            for (u32 q = 0; q < 4; q++) {
                u16 lo = e[trans ? 2 * q : r][trans ? r : 2 * q], hi = e[trans ? 2 * q + 1 : r][trans ? r : 2 * q + 1];
                w->lane[4 * r + q]->ret[i] = (u32)lo | (u32)hi << 16;
            }
    }
}

static void stmatrix(w_sim_api *api, u32 addr, u32 n, u32 trans, const u32 *r) {
    thread *t = weiri_sim_self(api);
    t->arg[0] = addr;
    memcpy(t->arg + 1, r, n * sizeof *r);
    weiri_sync_warp(t, MATRIX_STORE | (trans ? MATRIX_TRANS : 0) | n, 0xffffffffu, move_matrices);
}

static void ldmatrix(w_sim_api *api, u32 addr, u32 n, u32 trans, u32 *r) {
    thread *t = weiri_sim_self(api);
    t->arg[0] = addr;
    weiri_sync_warp(t, MATRIX_LOAD | (trans ? MATRIX_TRANS : 0) | n, 0xffffffffu, move_matrices);
    memcpy(r, t->ret, n * sizeof *r);
}

static u8 *ptr(w_sim_api *api, u32 addr) {
    thread *t = weiri_sim_self(api);
    /* One past the end is a pointer too. */
    if (addr < SMEM_BASE || addr > SMEM_BASE + t->m->smem_bytes) weiri_smem_inside(t->c, addr, 1, t, "a pointer to");
    return weiri_smem_at(t->c, addr);
}

static u32 addr(w_sim_api *api, const void *p) {
    thread *t = weiri_sim_self(api);
    i64 at = SMEM_BASE + (i64)((intptr_t)p - (intptr_t)t->c->smem);
    if (at < SMEM_BASE || at > SMEM_BASE + t->m->smem_bytes) weiri_smem_inside(t->c, at, 1, t, "the address behind a pointer to");
    return (u32)at;
}

static void fence_async(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    t->fence = ++t->m->clock;
    weiri_race_fenced(t);
}

void weiri_smem_calls(w_sim_api *api) {
    api->access = weiri_smem_access;
    api->misaligned = misaligned;
    api->w_ptr = ptr;
    api->w_addr = addr;
    api->w_fence_async = fence_async;
    api->w_sim_stmatrix = stmatrix;
    api->w_sim_ldmatrix = ldmatrix;
}
