/* The copy engines: TMA loads, stores and reductions by tensor map, bulk pushes between CTAs, cp.async. They finish late, in a
 * seeded order: a load's bytes appear all at once at its end, a store reads its source as late as the waits allow. */
#include <stdio.h>
#include <string.h>

#include "../number.h"
#include "machine.h"

enum { OP_SLOW = 400 /* ticks */ };

/* ---- the queue ----------------------------------------------------------------------------------------------------------- */

static op *new_op(machine *m, op_kind kind, thread *by) {
    op *o = m->free_ops;
    if (o) {
        m->free_ops = o->next;
        u8 *data = o->data;
        size_t cap = o->cap;
        *o = (op){ .data = data, .cap = cap };
    } else o = weiri_sim_alloc(m, sizeof *o);
    o->kind = kind;
    o->by = by;
    o->at = by->at;
    /* A third at once, a third after a while, a third as late as possible. */
    u64 r = weiri_sim_rand(m);
    o->due = r % 3 == 0 ? 0 : r % 3 == 1 ? m->tick + (r >> 8) % OP_SLOW : UINT64_MAX;
    return o;
}

static void free_op(machine *m, op *o) {
    o->next = m->free_ops;
    m->free_ops = o;
}

static void enqueue(machine *m, op *o) {
    if (m->npending == m->pending_cap) {
        int cap = m->pending_cap ? 2 * m->pending_cap : 64;
        op **more = weiri_sim_alloc(m, (size_t)cap * sizeof *more);
        if (m->npending) memcpy(more, m->pending, (size_t)m->npending * sizeof *more);
        m->pending = more;
        m->pending_cap = cap;
    }
    o->slot = m->npending;
    m->pending[m->npending++] = o;
}

static void dequeue(machine *m, op *o) {
    op *last = m->pending[--m->npending];
    m->pending[o->slot] = last;
    last->slot = o->slot;
    o->slot = -1;
}

/* ---- tensor maps --------------------------------------------------------------------------------------------------------- */

static u32 swizzled(u32 addr, int span) {
    return span == 128  ? addr ^ ((addr >> 3) & 0x70)
           : span == 64 ? addr ^ ((addr >> 3) & 0x30)
           : span == 32 ? addr ^ ((addr >> 3) & 0x10)
                        : addr;
}

static u32 box_bytes(const weiri_tmap *t) {
    u32 n = (u32)t->stride[0];
    for (int i = 0; i < t->rank; i++) n *= t->box[i];
    return n;
}

/* The description behind a map parameter, or a fault. c: the box's first element, innermost first. On an H200 a copy that begins off
 * 16 bytes is an illegal instruction, whatever swizzle, dtype and rank. */
static const weiri_tmap *need_map(thread *t, const w_tmap *map, u32 rank, const i32 *c) {
    const weiri_tmap *d;
    u64 first;
    memcpy(&first, (const void *)map, sizeof first);
    d = (const weiri_tmap *)(uintptr_t)first;
    machine *m = t->m;
    if ((const char *)d < m->params || (const char *)(d + 1) > m->params + m->params_size) {
        weiri_sim_fault(m, t, t->at, "sim-tmap", "a tensor map that is no tensor map parameter of the kernel");
        return NULL;
    }
    if (d->rank != (int)rank) {
        weiri_sim_fault(m, t, t->at, "sim-tmap", "%u coordinates for a tensor map of rank %d", rank, d->rank);
        return NULL;
    }
    i64 unit = 16 / (i64)weir_dtype_size(d->dtype);
    if (c[0] % unit)
        weiri_sim_fault(m, t, t->at, "sim-tmap",
                        "a box begins at column %d of %s, off 16 bytes: a multiple of %lld is expected", c[0],
                        weir_dtype_name(d->dtype), (long long)unit);
    return d;
}

/* One row of a box (innermost dimension): its first byte in global memory, and which bytes [lo, hi) of the row exist. */
typedef struct row {
    char *p;
    i64 lo, hi;
} row;

static row box_row(const weiri_tmap *t, const i32 *c, u32 index) {
    i64 es = (i64)t->stride[0], off = 0;
    row r = { NULL, 0, 0 };
    for (int i = 1; i < t->rank; i++) {
        i64 x = (i64)c[i] + index % t->box[i];
        index /= t->box[i];
        if (x < 0 || x >= (i64)t->dim[i]) return r;
        off += x * (i64)t->stride[i];
    }
    i64 first = c[0], lo = first < 0 ? -first : 0, hi = (i64)t->dim[0] - first;
    if (hi > (i64)t->box[0]) hi = (i64)t->box[0];
    if (lo >= hi) return r;
    r.p = (char *)(uintptr_t)t->base + off + first * es;
    r.lo = lo * es;
    r.hi = hi * es;
    return r;
}

static u32 box_rows(const weiri_tmap *t) {
    u32 n = 1;
    for (int i = 1; i < t->rank; i++) n *= t->box[i];
    return n;
}

static void run_load(const op *o) {
    const weiri_tmap *t = o->map;
    if (!t) {
        memcpy(weiri_smem_at(o->dst_cta, o->dst), o->gsrc, o->bytes);
        return;
    }
    u32 inner = t->box[0] * (u32)t->stride[0], rows = box_rows(t);
    for (u32 i = 0; i < rows; i++) {
        row r = box_row(t, o->c, i);
        for (u32 b = 0; b < inner; b += GRANULE) {
            u8 *d = weiri_smem_at(o->dst_cta, swizzled(o->dst + i * inner + b, t->swizzle));
            i64 lo = r.lo > b ? r.lo - b : 0, hi = r.hi - b < GRANULE ? r.hi - b : GRANULE;
            if (lo == 0 && hi == GRANULE) {
                memcpy(d, r.p + b, GRANULE);
                continue;
            }
            memset(d, 0, GRANULE);
            if (lo < hi) memcpy(d + lo, r.p + b + lo, (size_t)(hi - lo));
        }
    }
}

static void read_store(op *o) {
    const weiri_tmap *t = o->map;
    if (!t) {
        memcpy(o->data, weiri_smem_at(o->src_cta, o->src), o->bytes);
        return;
    }
    u32 inner = t->box[0] * (u32)t->stride[0], rows = box_rows(t);
    for (u32 i = 0; i < rows; i++)
        for (u32 b = 0; b < inner; b += GRANULE)
            memcpy(o->data + i * inner + b, weiri_smem_at(o->src_cta, swizzled(o->src + i * inner + b, t->swizzle)), GRANULE);
}

static bool is_int(weir_dtype t) { return t == WEIR_I32 || t == WEIR_U32 || t == WEIR_I64 || t == WEIR_U64; }

/* One rounding per addition, in the type; integers wrap. */
static void add_element(char *p, const u8 *x, weir_dtype type) {
    int n = weir_dtype_size(type);
    if (is_int(type)) {
        u64 a = 0, b = 0; /* little-endian: the low bytes are what counts */
        memcpy(&a, p, (size_t)n);
        memcpy(&b, x, (size_t)n);
        a += b;
        memcpy(p, &a, (size_t)n);
        return;
    }
    weiri_number_put(type, weiri_number_get(type, p) + weiri_number_get(type, x), p);
}

static void write_store(const op *o) {
    const weiri_tmap *t = o->map;
    if (!t) {
        if (!o->reduce) memcpy(o->gdst, o->data, o->bytes);
        else
            for (u32 b = 0; b < o->bytes; b += (u32)weir_dtype_size(o->type)) add_element(o->gdst + b, o->data + b, o->type);
        return;
    }
    u32 inner = t->box[0] * (u32)t->stride[0], rows = box_rows(t);
    for (u32 i = 0; i < rows; i++) {
        row r = box_row(t, o->c, i);
        if (!r.p) continue;
        const u8 *s = o->data + i * inner;
        if (!o->reduce) memcpy(r.p + r.lo, s + r.lo, (size_t)(r.hi - r.lo));
        else
            for (i64 b = r.lo; b < r.hi; b += (i64)t->stride[0]) add_element(r.p + b, s + b, t->dtype);
    }
}

/* ---- finishing ----------------------------------------------------------------------------------------------------------- */

/* The bytes are there. Who may look is another matter. */
static void finish_cp(machine *m, op *o) {
    u8 *d = weiri_smem_at(o->dst_cta, o->dst);
    memset(d, 0, o->bytes);
    if (o->given) memcpy(d, o->gsrc, o->given);
    o->written = true;
    dequeue(m, o);
    m->progress++;
}

static void unlink_op(op **list, op **last, op *o) {
    op *before = NULL;
    for (op *p = *list; p != o; p = p->next) before = p;
    if (before) before->next = o->next;
    else *list = o->next;
    if (*last == o) *last = before;
    o->next = NULL;
}

/* A cp.async counts as filling until a wait of its thread, or its arrive, covers it: `clock` is that thread's by then. */
static void close_cp(machine *m, op *o, u32 clock) {
    thread *by = o->by;
    weiri_smem_fill_end(o->dst_cta, o->dst, o->bytes, false);
    weiri_smem_stamp(o->dst_cta, o->dst, o->bytes, by, true);
    weiri_race_wrote(o->dst_cta, o->dst, o->bytes, by, clock, o->at);
    unlink_op(&by->cp, &by->cp_last, o);
    free_op(m, o);
}

/* The thread's first cp.async before `end` that is still on its way. */
static op *open_cp(const thread *t, const op *end) {
    for (op *o = t->cp; o && o != end; o = o->next)
        if (o->kind == OP_CP && !o->written) return o;
    return NULL;
}

/* A store is over when it is written and its thread knows that the source is read. Until then its source counts as busy: only
 * that thread can tell the others. */
static void retire(machine *m, op *o) {
    if (!o->written || !o->waited) return;
    unlink_op(&o->by->bulk, &o->by->bulk_last, o);
    free_op(m, o);
}

static void filled(const op *o) {
    weiri_smem_fill_end(o->dst_cta, o->dst, o->bytes, true);
    weiri_race_filled(o->dst_cta, o->dst, o->bytes, o->dst_cta, weiri_sync_bar(o->dst_cta, o->bar), o->at);
}

/* Takes one step with a pending op; it leaves the queue when it is done. */
static void step(machine *m, op *o) {
    thread *by = o->by;
    switch (o->kind) {
    case OP_LOAD:
        dequeue(m, o);
        run_load(o);
        weiri_smem_fill_end(o->dst_cta, o->dst, o->bytes, true);
        weiri_race_filled(o->dst_cta, o->dst, o->bytes, o->bar_cta, weiri_sync_bar(o->bar_cta, o->bar), o->at);
        weiri_sync_complete(o->bar_cta, o->bar, o->bytes, by, o->at);
        free_op(m, o);
        break;
    case OP_STORE:
        m->progress++;
        if (!o->read) { /* the destination is written in a step of its own */
            read_store(o);
            o->read = true;
            break;
        }
        dequeue(m, o);
        write_store(o);
        o->written = true;
        retire(m, o);
        break;
    case OP_PUSH:
        dequeue(m, o);
        memcpy(weiri_smem_at(o->dst_cta, o->dst), weiri_smem_at(o->src_cta, o->src), o->bytes);
        weiri_smem_aread_end(o->src_cta, o->src, o->bytes);
        weiri_race_pushed(o->src_cta, o->src, o->bytes, o->dst_cta, weiri_sync_bar(o->dst_cta, o->bar), o->at);
        filled(o);
        weiri_sync_complete(o->dst_cta, o->bar, o->bytes, by, o->at);
        free_op(m, o);
        break;
    case OP_FETCH:
        dequeue(m, o);
        for (u32 i = 0; i < 4; i++) memcpy(weiri_smem_at(o->dst_cta, o->dst + 4 * i), &o->c[0], 4);
        filled(o);
        weiri_sync_complete(o->dst_cta, o->bar, o->bytes, by, o->at);
        free_op(m, o);
        break;
    case OP_CP: finish_cp(m, o); break;
    case OP_CP_ARRIVE: /* after every earlier cp.async of its thread */
        if (open_cp(by, o)) {
            finish_cp(m, open_cp(by, o));
            break;
        }
        for (op *x = by->cp; x != o; x = x->next)
            if (x->kind == OP_CP_ARRIVE) { /* an earlier one goes first */
                step(m, x);
                return;
            }
        dequeue(m, o);
        while (by->cp != o) close_cp(m, by->cp, o->serial);
        unlink_op(&by->cp, &by->cp_last, o);
        weiri_sync_tell_one(o->dst_cta, o->bar, by, o->serial);
        weiri_sync_arrive(o->dst_cta, o->bar, 1, 0, by, o->at);
        free_op(m, o);
        break;
    }
}

bool weiri_copy_step(machine *m, bool any) {
    if (!m->npending) return false;
    op *o = m->pending[weiri_sim_rand(m) % (u64)m->npending];
    if (!any && o->due > m->tick) return false;
    step(m, o);
    return true;
}

/* Something issued just now and due at once happens at once. */
static void issue(machine *m, op *o) {
    enqueue(m, o);
    if (!o->due) step(m, o);
}

static void append(op **list, op **last, op *o) {
    o->next = NULL;
    if (*last) (*last)->next = o;
    else *list = o;
    *last = o;
}

/* ---- TMA ----------------------------------------------------------------------------------------------------------------- */

static void need_aligned(thread *t, u32 addr, u32 to, const char *what) {
    if (addr % to)
        weiri_sim_fault(t->m, t, t->at, "sim-align", "%s shared address %u, which is no multiple of %u", what, addr, to);
}

/* What bulk copies without a map ask of their ends; false after a fault. */
static bool bulk_ends(thread *t, u32 addr, const void *global, u32 bytes, const char *what, const char *way) {
    char name[64], why[256];
    machine *m = t->m;
    snprintf(name, sizeof name, "%s %s", what, way);
    need_aligned(t, addr, 16, name);
    if (bytes % 16 || !bytes) weiri_sim_fault(m, t, t->at, "sim-align", "%s of %u bytes, which is no multiple of 16", what, bytes);
    if ((uintptr_t)global % 16)
        weiri_sim_fault(m, t, t->at, "sim-align", "%s at %p of global memory, which is no multiple of 16", what, global);
    if (!weiri_host_range(m->sim, global, bytes, why, sizeof why)) {
        weiri_sim_fault(m, t, t->at, "sim-bounds", "%s of %u bytes at %p is in no buffer: %s", what, bytes, global, why);
        return false;
    }
    return weiri_smem_inside(t->c, addr, bytes, t, name);
}

static void bulk_load(w_sim_api *api, u32 dst, const void *src, u32 bytes, u32 bar) {
    thread *t = weiri_sim_self(api);
    machine *m = t->m;
    weiri_sim_touch(t, dst);
    if (!bulk_ends(t, dst, src, bytes, "a bulk load", "to")) return;
    weiri_sync_need(t->c, bar, t);
    weiri_smem_fill_begin(t->c, dst, bytes, t, t->at, true, "a bulk load into");
    op *o = new_op(m, OP_LOAD, t);
    o->dst_cta = o->bar_cta = t->c;
    o->gsrc = src;
    o->dst = dst;
    o->bytes = bytes;
    o->bar = bar;
    weiri_race_global_load(t, t->at, src, bytes, t->c, weiri_sync_bar(t->c, bar));
    issue(m, o);
}

static void queue_store(thread *t, op *o) {
    machine *m = t->m;
    o->src_cta = t->c;
    o->group = t->bulk_group;
    o->serial = ++t->w->bulk_serial;
    weiri_race_bulk(t->c, o->src, o->bytes, t->tid / 32, o->serial, t->at);
    /* The result is the engine's from now on, whenever it comes: what this thread touches before its wait is no earlier access. */
    if (!o->map) weiri_race_global_store(t, t->at, o->gdst, o->bytes, o->reduce, o->serial);
    for (u32 i = 0; o->map && i < box_rows(o->map); i++) {
        row r = box_row(o->map, o->c, i);
        if (r.p) weiri_race_global_store(t, t->at, r.p + r.lo, (u64)(r.hi - r.lo), o->reduce, o->serial);
    }
    if (o->cap < o->bytes) {
        o->data = weiri_sim_alloc(m, o->bytes);
        o->cap = o->bytes;
    }
    append(&t->bulk, &t->bulk_last, o);
    issue(m, o);
}

static void bulk_store(w_sim_api *api, void *dst, u32 src, u32 bytes, u32 add) {
    static const weir_dtype types[] = {
        0, WEIR_F32, WEIR_F64, WEIR_F16, WEIR_BF16, WEIR_I32, WEIR_U32, WEIR_U64
    }; /* ORDER W_SIM_COPY */
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, src);
    if (!bulk_ends(t, src, dst, bytes, add ? "a bulk addition" : "a bulk store", "from")) return;
    weiri_smem_aread_begin(t->c, src, bytes, t, t->at, "a bulk store from");
    op *o = new_op(t->m, OP_STORE, t);
    o->gdst = dst;
    o->reduce = add != 0;
    o->type = types[add];
    o->src = src;
    o->bytes = bytes;
    queue_store(t, o);
}

/* at: the CTA of the own pair whose barrier counts the bytes, for a multicast that of each target's pair with the same place in it;
 * 0xffffffff: each target's own. */
static void tma_load(w_sim_api *api, u32 dst, const w_tmap *map, u32 bar, u32 at, u32 mask, u32 rank, const i32 *c) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, dst);
    machine *m = t->m;
    const weiri_tmap *d = need_map(t, map, rank, c);
    if (!d) return;
    cluster *cl = t->c->cl;
    u32 bytes = box_bytes(d);
    need_aligned(t, dst, 128, "a TMA load to");
    if (mask >> cl->n)
        weiri_sim_fault(m, t, t->at, "sim-cluster", "a multicast to the CTAs 0x%x of a cluster of %d", mask, cl->n);
    bool pair = at != 0xffffffffu;
    if (pair && (at / 2 != t->c->rank / 2 || (int)at >= cl->n)) {
        weiri_sim_fault(m, t, t->at, "sim-cluster", "a TMA load of CTA %u counted by CTA %u, which is not of its pair",
                        t->c->rank, at);
        return;
    }
    if (!mask) mask = 1u << t->c->rank;
    for (int i = 0; i < cl->n; i++) {
        cta *to = &cl->ctas[i], *counts = pair ? &cl->ctas[(i & ~1) | (int)(at & 1)] : to;
        if (!(mask >> i & 1)) continue;
        if (!counts->running)
            weiri_sim_fault(m, t, t->at, "sim-exited", "a TMA load counted by CTA %u, which has exited", counts->block);
        if (!to->running) weiri_sim_fault(m, t, t->at, "sim-exited", "a multicast load to CTA %u, which has exited", to->block);
        if (!weiri_smem_inside(to, dst, bytes, t, "a TMA load to")) return;
        weiri_sync_need(counts, bar, t);
        weiri_smem_fill_begin(to, dst, bytes, t, t->at, true, "a TMA load into");
        op *o = new_op(m, OP_LOAD, t);
        o->dst_cta = to;
        o->bar_cta = counts;
        o->map = d;
        memcpy(o->c, c, rank * sizeof *c);
        o->dst = dst;
        o->bytes = bytes;
        o->bar = bar;
        for (u32 j = 0; j < box_rows(d); j++) {
            row r = box_row(d, c, j);
            if (r.p) weiri_race_global_load(t, t->at, r.p + r.lo, (u64)(r.hi - r.lo), counts, weiri_sync_bar(counts, bar));
        }
        issue(m, o);
    }
}

static void tma_store(w_sim_api *api, const w_tmap *map, u32 src, u32 reduce, u32 rank, const i32 *c) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, src);
    machine *m = t->m;
    const weiri_tmap *d = need_map(t, map, rank, c);
    if (!d) return;
    u32 bytes = box_bytes(d);
    need_aligned(t, src, 128, "a TMA store from");
    if (!weiri_smem_inside(t->c, src, bytes, t, "a TMA store from")) return;
    for (u32 i = 0; i < rank; i++)
        if (c[i] < 0)
            weiri_sim_fault(m, t, t->at, "sim-tmap",
                            "a TMA store at coordinate %d of dimension %u; a store's coordinates must not be negative", c[i],
                            i);
    if (reduce && !weiri_tmap_adds(d->dtype))
        weiri_sim_fault(m, t, t->at, "sim-tmap", "a TMA reduction of %s, which the copy engine cannot add",
                        weir_dtype_name(d->dtype));
    weiri_smem_aread_begin(t->c, src, bytes, t, t->at, "a TMA store from");
    op *o = new_op(m, OP_STORE, t);
    o->map = d;
    memcpy(o->c, c, rank * sizeof *c);
    o->reduce = reduce != 0;
    o->src = src;
    o->bytes = bytes;
    queue_store(t, o);
}

static void bulk_commit(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    t->group_serial[t->bulk_group++ % 16] = t->w->bulk_serial;
}

/* Until at most n of the thread's closed groups are open: the engines must have finished by now, so they do. */
static void bulk_wait(w_sim_api *api, u32 n, u32 read) {
    thread *t = weiri_sim_self(api);
    op *next;
    for (op *o = t->bulk; o; o = next) {
        next = o->next;
        if (o->group + n >= t->bulk_group) continue;
        if (!o->read) step(t->m, o);
        if (!o->waited) weiri_smem_aread_end(o->src_cta, o->src, o->bytes);
        o->waited = true;
        if (!o->written && !read) step(t->m, o);
        else retire(t->m, o);
    }
    if (t->bulk_group > n && n < 16) weiri_race_bulk_waited(t, t->group_serial[(t->bulk_group - n - 1) % 16], read != 0);
}

static void prefetch(w_sim_api *api, const w_tmap *map) { (void)api, (void)map; }

/* The next tile of a dynamic queue. Tickets are drawn in the order the threads run; the slot is filled late, like a copy's. */
static void fetch_into(thread *t, cta *to, u32 slot, u32 bar, u32 next) {
    need_aligned(t, slot, 16, "a queue's slot at");
    if (!to->running) weiri_sim_fault(t->m, t, t->at, "sim-exited", "a fetch for CTA %u, which has exited", to->block);
    if (!weiri_smem_inside(to, slot, 16, t, "a queue's slot at")) return;
    weiri_sync_need(to, bar, t);
    weiri_smem_fill_begin(to, slot, 16, t, t->at, false, "a fetch into");
    op *o = new_op(t->m, OP_FETCH, t);
    o->dst_cta = to;
    o->dst = slot;
    o->bytes = 16;
    o->bar = bar;
    o->c[0] = (i32)next;
    issue(t->m, o);
}

static void queue_fetch(w_sim_api *api, u32 slot, u32 bar, u32 *counter, u32 first) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, slot);
    fetch_into(t, t->c, slot, bar, first + (*counter)++);
}

static void queue_fetch_cluster(w_sim_api *api, u32 slot, u32 bar, u32 *counter, u32 first, u32 ctas) {
    thread *t = weiri_sim_self(api);
    cluster *cl = t->c->cl;
    u32 next = first + (*counter)++;
    weiri_sim_touch(t, slot);
    if (ctas != (u32)cl->n)
        weiri_sim_fault(t->m, t, t->at, "sim-cluster", "a fetch for %u CTAs of a cluster of %d", ctas, cl->n);
    for (u32 i = 0; i < ctas && i < (u32)cl->n; i++) fetch_into(t, &cl->ctas[i], slot, bar, next);
}

static void bulk_push(w_sim_api *api, u32 dst, u32 src, u32 bytes, u32 bar, u32 rank) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, dst);
    machine *m = t->m;
    cluster *cl = t->c->cl;
    if (rank >= (u32)cl->n || rank == t->c->rank) {
        weiri_sim_fault(m, t, t->at, "sim-cluster", "a push to CTA %u by CTA %u of a cluster of %d; it goes to another CTA",
                        rank, t->c->rank, cl->n);
        return;
    }
    cta *to = &cl->ctas[rank];
    need_aligned(t, dst, 16, "a push to");
    need_aligned(t, src, 16, "a push from");
    if (bytes % 16 || !bytes)
        weiri_sim_fault(m, t, t->at, "sim-align", "a push of %u bytes, which is no multiple of 16", bytes);
    if (!to->running) weiri_sim_fault(m, t, t->at, "sim-exited", "a push to CTA %u, which has exited", to->block);
    if (!weiri_smem_inside(t->c, src, bytes, t, "a push from") || !weiri_smem_inside(to, dst, bytes, t, "a push to")) return;
    weiri_sync_need(to, bar, t);
    weiri_smem_aread_begin(t->c, src, bytes, t, t->at, "a push of");
    weiri_smem_fill_begin(to, dst, bytes, t, t->at, true, "a push into");
    op *o = new_op(m, OP_PUSH, t);
    o->src_cta = t->c;
    o->dst_cta = to;
    o->src = src;
    o->dst = dst;
    o->bytes = bytes;
    o->bar = bar;
    issue(m, o);
}

/* ---- cp.async ------------------------------------------------------------------------------------------------------------ */

static void cp_async(w_sim_api *api, u32 size, u32 dst, const void *src, u32 bytes) {
    thread *t = weiri_sim_self(api);
    machine *m = t->m;
    char why[256];
    need_aligned(t, dst, size, "a cp.async to");
    if (bytes > size) weiri_sim_fault(m, t, t->at, "sim-align", "a cp.async of %u bytes into %u", bytes, size);
    if (bytes && (uintptr_t)src % size)
        weiri_sim_fault(m, t, t->at, "sim-align", "a cp.async of %u bytes from %p, which is no multiple of it", size, src);
    if (!weiri_smem_inside(t->c, dst, size, t, "a cp.async to")) return;
    if (bytes && !weiri_host_range(m->sim, src, bytes, why, sizeof why))
        weiri_sim_fault(m, t, t->at, "sim-bounds", "a cp.async of %u bytes at %p is in no buffer: %s", bytes, src, why);
    weiri_smem_fill_begin(t->c, dst, size, t, t->at, false, "a cp.async into");
    if (bytes) weiri_race_global(t, src, bytes, false, false);
    op *o = new_op(m, OP_CP, t);
    o->dst_cta = t->c;
    o->dst = dst;
    o->bytes = size;
    o->gsrc = src;
    o->given = bytes;
    o->group = t->cp_group;
    append(&t->cp, &t->cp_last, o);
    issue(m, o);
}

static void cp_commit(w_sim_api *api) { weiri_sim_self(api)->cp_group++; }

static void cp_wait(w_sim_api *api, u32 n) {
    thread *t = weiri_sim_self(api);
    while (t->cp && t->cp->group + n < t->cp_group) {
        op *o = t->cp;
        if (o->kind == OP_CP_ARRIVE) {
            step(t->m, o);
            continue;
        }
        if (!o->written) finish_cp(t->m, o);
        u32 clock = t->vc[t->comp]; /* an arrive that covers it tells of it first */
        for (const op *x = o; x; x = x->next)
            if (x->kind == OP_CP_ARRIVE) {
                clock = x->serial;
                break;
            }
        close_cp(t->m, o, clock);
    }
}

static void cp_arrive(w_sim_api *api, u32 bar) {
    thread *t = weiri_sim_self(api);
    weiri_sim_touch(t, bar);
    weiri_sync_need(t->c, bar, t);
    op *o = new_op(t->m, OP_CP_ARRIVE, t);
    o->dst_cta = t->c;
    o->bar = bar;
    o->group = t->cp_group;
    o->serial = t->vc[t->comp]++;
    append(&t->cp, &t->cp_last, o);
    enqueue(t->m, o);
    if (!o->due && t->cp == o) step(t->m, o);
}

/* ---- ends ---------------------------------------------------------------------------------------------------------------- */

void weiri_copy_exit(thread *t) {
    machine *m = t->m;
    op *next;
    for (op *o = t->bulk; o; o = next) {
        next = o->next;
        if (!o->waited) {
            char name[96];
            weiri_smem_name(t->c, o->src, name, sizeof name);
            weiri_sim_fault(m, t, o->at, "sim-exit",
                            "the thread exits while its TMA store may still read %s: a bulk wait is missing", name);
            return;
        }
        step(m, o); /* the result of a store whose read alone was waited for */
    }
    const op *uncovered = NULL;
    for (const op *o = t->cp; o; o = o->next) uncovered = o->kind == OP_CP_ARRIVE ? NULL : uncovered ? uncovered : o;
    for (const op *o = uncovered; o; o = o->next)
        if (o->kind == OP_CP) {
            char name[96];
            weiri_smem_name(t->c, o->dst, name, sizeof name);
            weiri_sim_fault(m, t, o->at, "sim-exit",
                            "the thread exits while its cp.async into %s is in flight: a wait is missing", name);
            return;
        }
}

void weiri_copy_cta_exit(cta *c) {
    machine *m = c->m;
    for (int i = 0; i < m->npending; i++) {
        const op *o = m->pending[i];
        if (o->dst_cta != c && (o->src_cta != c || o->kind == OP_STORE)) continue;
        weiri_sim_fault(m, o->by, o->at, "sim-exit", "CTA %u exits while %s still %s its shared memory", c->block,
                        weiri_copy_name(o->kind), o->dst_cta == c ? "fills" : "reads");
        return;
    }
}

const char *weiri_copy_name(op_kind k) {
    switch (k) {
    case OP_LOAD: return "a TMA load";
    case OP_STORE: return "a TMA store";
    case OP_PUSH: return "a push";
    case OP_FETCH: return "a queue's fetch";
    case OP_CP:
    case OP_CP_ARRIVE: return "a cp.async";
    }
    return "a copy";
}

const op *weiri_copy_reader(const cta *c, u32 addr) {
    for (int i = 0; i < c->m->threads_per_cta; i++)
        for (const op *o = c->threads[i].bulk; o; o = o->next)
            if (!o->waited && addr + GRANULE > o->src && addr < o->src + o->bytes) return o;
    for (int i = 0; i < c->m->npending; i++) {
        const op *o = c->m->pending[i];
        if (o->kind == OP_PUSH && o->src_cta == c && addr + GRANULE > o->src && addr < o->src + o->bytes) return o;
    }
    return NULL;
}

const op *weiri_copy_filler(const cta *c, u32 addr, u32 n) {
    for (int i = 0; i < c->m->npending; i++) {
        const op *o = c->m->pending[i];
        if (o->dst_cta == c && o->kind != OP_CP_ARRIVE && addr + n > o->dst && addr < o->dst + o->bytes) return o;
    }
    for (int i = 0; i < c->m->threads_per_cta; i++)
        for (const op *o = c->threads[i].cp; o; o = o->next)
            if (o->kind == OP_CP && addr + n > o->dst && addr < o->dst + o->bytes) return o;
    return NULL;
}

void weiri_copy_calls(w_sim_api *api) {
    api->w_tma_prefetch = prefetch;
    api->w_sim_tma_load = tma_load;
    api->w_sim_tma_store = tma_store;
    api->w_bulk_commit = bulk_commit;
    api->w_sim_bulk_wait = bulk_wait;
    api->w_bulk_push = bulk_push;
    api->w_bulk_load = bulk_load;
    api->w_sim_bulk_store = bulk_store;
    api->w_queue_fetch = queue_fetch;
    api->w_queue_fetch_cluster = queue_fetch_cluster;
    api->w_sim_cp_async = cp_async;
    api->w_cp_commit = cp_commit;
    api->w_sim_cp_wait = cp_wait;
    api->w_mbar_cp_async_arrive = cp_arrive;
}
