/* The tensor core of sm_90a. Threads of a warpgroup issue one by one; all 128 must issue an op with equal descriptors,
 * and its operands count as being read from the first thread's issue until the first wait that covers it. The products are
 * computed at some time in between, chosen by the seed. The threads' accumulator registers hold NaNs meanwhile. */
#include <string.h>

#include "../number.h"
#include "machine.h"

enum { THREADS = 128, MAX_CHUNKS = 512, POISON = 0x7fdeadbe };
enum {
    TYPE_BF16,
    TYPE_F16,
    TYPE_TF32,
    TYPE_E4M3,
    TYPE_E5M2,
    TYPE_E4M3_E5M2,
    TYPE_E5M2_E4M3
}; /* ORDER: W_BF16 ... of weir_sim.h */

/* The type of one operand of a product of two. */
static u32 operand_type(u32 type, bool b) {
    if (type == TYPE_E4M3_E5M2) return b ? TYPE_E5M2 : TYPE_E4M3;
    if (type == TYPE_E5M2_E4M3) return b ? TYPE_E4M3 : TYPE_E5M2;
    return type;
}

static int element_size(u32 type) { return type <= TYPE_F16 ? 2 : type == TYPE_TF32 ? 4 : 1; }

static warpgroup *group_of(const thread *t) { return &t->c->wgs[t->tid / THREADS]; }
static mma *op_at(warpgroup *g, u64 i) { return &g->q[i - g->first]; }

/* ---- operands in shared memory ------------------------------------------------------------------------------------------- */

/* Addresses of the 16-byte pieces of an operand of `rows` (M or N) by 32 bytes of K. K-major: piece 2r + h holds bytes 16h.. of
 * row r. MN-major: piece k * rows/8 + j holds elements 8j.. of row k. Returns their number. (spec: matrix descriptor format) */
int weiri_wgmma_pieces(u64 desc, u32 rows, u32 mn_major, u32 *addr) {
    u32 start = (u32)(desc & 0x3fff) << 4, lbo = (u32)(desc >> 16 & 0x3fff) << 4, sbo = (u32)(desc >> 32 & 0x3fff) << 4;
    u32 layout = (u32)(desc >> 62);
    u32 span = layout == 1 ? 128 : layout == 2 ? 64 : layout == 3 ? 32 : 16;
    u32 mask = layout == 1 ? 0x70 : layout == 2 ? 0x30 : layout == 3 ? 0x10 : 0;
    int n = 0;
    if (!mn_major) {
        for (u32 r = 0; r < rows; r++)
            for (u32 h = 0; h < 2; h++) {
                u32 a = start + r / 8 * sbo + r % 8 * span + h * (layout ? 16 : lbo);
                addr[n++] = a ^ ((a >> 3) & mask);
            }
        return n;
    }
    u32 width = span / 2; /* elements of M or N per row of the atom */
    for (u32 k = 0; k < 16; k++)
        for (u32 j = 0; j < rows / 8; j++) {
            u32 mn = 8 * j;
            u32 a = layout ? start + mn / width * lbo + k / 8 * sbo + k % 8 * span + mn % width * 2
                           : start + j * sbo + k / 8 * lbo + k % 8 * 16;
            addr[n++] = a ^ ((a >> 3) & mask);
        }
    return n;
}

static const float *table(machine *m, u32 type) {
    if (m->table[type]) return m->table[type];
    u32 n = type == TYPE_F16 ? 65536 : 256;
    float *t = weiri_sim_alloc(m, n * sizeof *t);
    for (u32 i = 0; i < n; i++) {
        u16 h = (u16)i;
        u8 b = (u8)i;
        t[i] = (float)(type == TYPE_F16 ? weiri_number_get(WEIR_F16, &h)
                                        : weiri_number_get(type == TYPE_E4M3 ? WEIR_E4M3 : WEIR_E5M2, &b));
    }
    return m->table[type] = t;
}

/* 16 bytes as floats; returns how many. */
static int decode(machine *m, u32 type, const void *bytes, float *out) {
    const u8 *p = bytes;
    switch (type) {
    case TYPE_BF16:
        for (int i = 0; i < 8; i++) {
            u32 x = (u32)(p[2 * i] | p[2 * i + 1] << 8) << 16;
            memcpy(&out[i], &x, 4);
        }
        return 8;
    case TYPE_F16: {
        const float *t = table(m, type);
        for (int i = 0; i < 8; i++) out[i] = t[p[2 * i] | p[2 * i + 1] << 8];
        return 8;
    }
    case TYPE_TF32: /* the low 13 bits are ignored */
        for (int i = 0; i < 4; i++) {
            u32 x;
            memcpy(&x, p + 4 * i, 4);
            x &= ~0x1fffu;
            memcpy(&out[i], &x, 4);
        }
        return 4;
    default: {
        const float *t = table(m, type);
        for (int i = 0; i < 16; i++) out[i] = t[p[i]];
        return 16;
    }
    }
}

int weiri_wgmma_decode(machine *m, u32 type, bool b, const void *bytes, float *out) {
    return decode(m, operand_type(type, b), bytes, out);
}

/* out[row][k] (k_stride 1) or out[k][row]: strides in floats. */
void weiri_wgmma_operand(const cta *c, u64 desc, u32 rows, u32 mn_major, u32 type, float *out, u32 row_stride, u32 k_stride) {
    u32 addr[MAX_CHUNKS];
    int n = weiri_wgmma_pieces(desc, rows, mn_major, addr);
    for (int i = 0; i < n; i++) {
        float x[16];
        int e = decode(c->m, type, weiri_smem_at(c, addr[i]), x);
        u32 row = mn_major ? (u32)i % (rows / 8) * 8 : (u32)i / 2, k = mn_major ? (u32)i / (rows / 8) : (u32)(i % 2 * e);
        float *o = out + row * row_stride + k * k_stride;
        u32 step = mn_major ? row_stride : k_stride;
        for (int j = 0; j < e; j++) o[(u32)j * step] = x[j];
    }
}

/* A from registers: fragment layouts of the spec's "Register Fragments". */
static void load_registers(machine *m, const u32 *ra, u32 type, float *out, u32 k_extent) {
    for (u32 t = 0; t < THREADS; t++) {
        u32 w = t / 32, g = t % 32 / 4, q = t % 4;
        for (u32 r = 0; r < 4; r++) {
            float x[16];
            u32 bytes[4] = { ra[t * 4 + r], 0, 0, 0 };
            int n = 4 / element_size(type);
            decode(m, type, bytes, x);
            u32 row = 16 * w + g + 8 * (r & 1), k = (u32)n * q + (r >> 1) * k_extent / 2;
            for (int j = 0; j < n; j++) out[row * k_extent + k + (u32)j] = x[j];
        }
    }
}

static void execute(warpgroup *g, mma *o) {
    machine *m = g->c->m;
    u32 k = 32 / (u32)element_size(o->type);
    if (o->rs) load_registers(m, o->ra, operand_type(o->type, false), m->mat_a, k);
    else weiri_wgmma_operand(g->c, o->a, 64, o->ta, operand_type(o->type, false), m->mat_a, k, 1);
    weiri_wgmma_operand(g->c, o->b, o->n, o->tb, operand_type(o->type, true), m->mat_b, 1, o->n);
    if (!o->accumulate) memset(o->acc->d, 0, 64 * (size_t)o->n * sizeof(float));
    weiri_sums(m, WEIRI_SUMS_WGMMA, o->type, o->acc->d, m->mat_a, m->mat_b, 64, o->n, k);
    o->read = true;
}

static void execute_below(warpgroup *g, u64 end) {
    for (; g->executed < end; g->executed++) execute(g, op_at(g, g->executed));
}

static const char *const operand_read[] = { "a wgmma reads A from", "a wgmma reads B from" };

/* Operands of an op begin or cease to be read. */
static void mark(warpgroup *g, mma *o, bool begin, const thread *by) {
    u32 addr[MAX_CHUNKS];
    for (int side = o->rs ? 1 : 0; side < 2; side++) {
        int n = side ? weiri_wgmma_pieces(o->b, o->n, o->tb, addr) : weiri_wgmma_pieces(o->a, 64, o->ta, addr);
        for (int i = 0; i < n; i++) {
            if (!begin) {
                weiri_smem_aread_end(g->c, addr[i], GRANULE);
                continue;
            }
            if (!weiri_smem_inside(g->c, addr[i], GRANULE, by, side ? "operand B of a wgmma at" : "operand A of a wgmma at"))
                return;
            weiri_smem_aread_begin(g->c, addr[i], GRANULE, by, o->at, operand_read[side]);
            weiri_race_mma(g->c, addr[i], GRANULE, (u32)(g - g->c->wgs), (u64)(o - g->q) + g->first, o->at);
        }
    }
    o->marked = begin;
}

/* Each warp reads the operands; so each must know of who wrote them. */
static void check_warp(warpgroup *g, const mma *o, const thread *by) {
    u32 addr[MAX_CHUNKS];
    for (int side = o->rs ? 1 : 0; side < 2; side++) {
        int n = side ? weiri_wgmma_pieces(o->b, o->n, o->tb, addr) : weiri_wgmma_pieces(o->a, 64, o->ta, addr);
        for (int i = 0; i < n; i++) weiri_race_check(g->c, addr[i], GRANULE, by, o->at, false, operand_read[side]);
    }
}

const mma *weiri_wgmma_reader(const cta *c, u32 addr) {
    u32 at[MAX_CHUNKS];
    for (int w = 0; w < c->m->threads_per_cta / THREADS; w++) {
        const warpgroup *g = &c->wgs[w];
        for (int i = 0; i < g->nq; i++) {
            const mma *o = &g->q[i];
            for (int side = o->rs ? 1 : 0; side < 2 && o->marked; side++) {
                int n = side ? weiri_wgmma_pieces(o->b, o->n, o->tb, at) : weiri_wgmma_pieces(o->a, 64, o->ta, at);
                for (int j = 0; j < n; j++)
                    if (at[j] <= addr && addr < at[j] + GRANULE) return o;
            }
        }
    }
    return NULL;
}

/* ---- accumulators -------------------------------------------------------------------------------------------------------- */

static acc *new_acc(warpgroup *g, u32 n) {
    acc *a = g->accs;
    if (a) g->accs = a->next;
    else {
        a = weiri_sim_alloc(g->c->m, sizeof *a);
        a->d = weiri_sim_alloc(g->c->m, 64 * 256 * sizeof(float));
    }
    a->n = (int)n;
    a->users = 0;
    return a;
}

/* Register i of a thread in the row-major tile. */
static u32 place(u32 t, u32 i, u32 n) {
    u32 w = t / 32, g = t % 32 / 4, q = t % 4;
    return (16 * w + g + 8 * (i >> 1 & 1)) * n + 8 * (i >> 2) + 2 * q + (i & 1);
}

static void bind(thread *t, acc *a, float *d, u64 op_index) {
    if (t->nuse == (int)(sizeof t->use / sizeof *t->use)) {
        weiri_sim_fault(t->m, t, t->at, "sim-wgmma", "more than %d accumulators of one thread in flight", t->nuse);
        return;
    }
    u32 n = (u32)a->n;
    for (u32 i = 0; i < n / 2; i++) a->d[place(t->tid % THREADS, i, n)] = d[i];
    for (u32 i = 0; i < n / 2; i++) {
        const u32 poison = POISON;
        memcpy(&d[i], &poison, sizeof poison);
    }
    a->users++;
    t->use[t->nuse++] = (acc_use){ d, (int)n, a, op_index };
}

/* The accumulators of ops below `end` that no later op of the thread uses go back to its registers. */
static void give_back(thread *t, u64 end) {
    warpgroup *g = group_of(t);
    int kept = 0;
    for (int i = 0; i < t->nuse; i++) {
        acc_use u = t->use[i];
        if (u.last >= end) {
            t->use[kept++] = u;
            continue;
        }
        for (u32 j = 0; j < (u32)u.n / 2; j++) u.d[j] = u.a->d[place(t->tid % THREADS, j, (u32)u.n)];
        if (--u.a->users == 0) {
            u.a->next = g->accs;
            g->accs = u.a;
        }
    }
    t->nuse = kept;
}

/* The patterns that stand for what is not there: which rule, and what is wrong; NULL: it is none of them. */
const char *weiri_sim_poison_rule(u32 bits) {
    u32 x = bits & 0x7fffffffu;
    return x == POISON ? "sim-accumulator" : x == NO_VALUE ? "sim-uninit" : x == TC_POISON ? "sim-tmem" : NULL;
}

const char *weiri_sim_poison(u32 bits) {
    u32 x = bits & 0x7fffffffu;
    return x == POISON      ? "a value read from an accumulator while a wgmma on it was in flight: the wait is missing"
           : x == NO_VALUE  ? "the value of a variable that nothing has set"
           : x == TC_POISON ? "a value of tensor memory that no mma has written, or that was read before tcgen05.wait::ld"
                            : NULL;
}

/* A NaN met by a conversion: the compiler's hooks do not see every read of a register array, the poison does. */
static u32 not_a_number(w_sim_api *api, u32 bits) {
    thread *t = weiri_sim_self(api);
    const char *why = weiri_sim_poison(bits);
    if (why) weiri_sim_fault(t->m, t, t->at, weiri_sim_poison_rule(bits), "%s", why);
    return 0x7fff;
}

void weiri_wgmma_registers(thread *t, const void *p, u64 size, bool write) {
    const char *b = p;
    for (int i = 0; i < t->nuse; i++) {
        const char *d = (const char *)t->use[i].d, *end = d + (size_t)t->use[i].n / 2 * sizeof(float);
        if (b >= end || b + size <= d) continue;
        warpgroup *g = &t->c->wgs[t->tid / THREADS];
        char place[160] = "";
        if (t->use[i].last >= g->first && t->use[i].last < g->first + (u64)g->nq)
            weiri_sim_place(t->m, op_at(g, t->use[i].last)->at, place, sizeof place);
        weiri_sim_fault(t->m, t, t->at, "sim-accumulator",
                        "accumulator register %lld is %s while a wgmma on it%s%s%s is in flight: the wait is missing",
                        (i64)(b - d) / 4, write ? "written" : "read", *place ? " (" : "", place, *place ? ")" : "");
        return;
    }
}

/* ---- the instructions ---------------------------------------------------------------------------------------------------- */

static void *window(machine *m, void *old, int n, int *cap, size_t size) {
    int to = *cap ? 2 * *cap : 32;
    void *more = weiri_sim_alloc(m, (size_t)to * size);
    if (n) memcpy(more, old, (size_t)n * size);
    *cap = to;
    return more;
}

static bool same(const mma *x, const mma *y) {
    return x->n == y->n && x->type == y->type && x->ta == y->ta && x->tb == y->tb && x->a == y->a && x->b == y->b &&
           x->accumulate == y->accumulate && x->rs == y->rs;
}

static void check_descriptor(thread *t, u64 desc, const char *name) {
    if (desc >> 49 & 7)
        weiri_sim_fault(
            t->m, t, t->at, "sim-descriptor",
            "operand %s: base offset %u in the descriptor; the simulator has 0 only, start the tile on its swizzle pattern",
            name, (u32)(desc >> 49 & 7));
    if (desc & ~(0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62))
        weiri_sim_fault(t->m, t, t->at, "sim-descriptor", "operand %s: descriptor %#llx has bits outside its fields", name,
                        desc);
}

static void wgmma(w_sim_api *api, u32 n, u32 type, u32 ta, u32 tb, float *d, const u32 *ra, u64 a, u64 b, u32 accumulate) {
    thread *t = weiri_sim_self(api);
    machine *m = t->m;
    warpgroup *g = group_of(t);
    u64 i = t->mmas;
    mma now = {
        .n = n, .type = type, .ta = ta, .tb = tb, .a = a, .b = b, .accumulate = accumulate != 0, .rs = ra != NULL, .at = t->at
    };
    if (!t->mma_fenced) weiri_sim_fault(m, t, t->at, "sim-wgmma", "a wgmma before any wgmma.fence of the thread");
    bool first = i == g->first + (u64)g->nq;
    if (first) {
        if (!now.rs) check_descriptor(t, a, "A");
        check_descriptor(t, b, "B");
        if (g->nq == g->cap) g->q = window(m, g->q, g->nq, &g->cap, sizeof *g->q);
        u32 *keep = g->q[g->nq].ra; /* of a dropped op */
        g->q[g->nq] = now;
        g->q[g->nq++].ra = keep ? keep : now.rs ? weiri_sim_alloc(m, THREADS * 4 * sizeof(u32)) : NULL;
    } else if (!same(op_at(g, i), &now))
        weiri_sim_fault(m, t, t->at, "sim-wgmma",
                        "the threads of a warpgroup issue different wgmmas: thread %u differs from the first in %s", t->tid,
                        op_at(g, i)->a != a || op_at(g, i)->b != b ? "its descriptors" : "shape, type or scale-d");
    mma *o = op_at(g, i);
    if (now.rs) {
        if (!o->ra) o->ra = weiri_sim_alloc(m, THREADS * 4 * sizeof(u32));
        memcpy(o->ra + t->tid % THREADS * 4, ra, 4 * sizeof *ra);
    }
    int u = -1;
    for (int j = 0; j < t->nuse; j++) {
        const acc_use *x = &t->use[j];
        if (d + n / 2 <= x->d || x->d + x->n / 2 <= d) continue;
        if (d != x->d || (int)n != x->n)
            weiri_sim_fault(m, t, t->at, "sim-wgmma", "accumulators of two wgmmas in flight overlap without being the same");
        u = j;
    }
    if (first) o->acc = u >= 0 ? t->use[u].a : new_acc(g, n);
    if (u < 0) bind(t, o->acc, d, i);
    else if (t->use[u].a != o->acc)
        weiri_sim_fault(m, t, t->at, "sim-wgmma", "the threads of a warpgroup accumulate into different tiles");
    else t->use[u].last = i;
    api->stack_size = 0; /* its own registers are watched now */
    t->mmas++;
    u8 bit = (u8)(1u << t->tid / 32 % 4);
    if (first) mark(g, o, true, t);
    else if (!(o->warps & bit)) check_warp(g, o, t);
    o->warps |= bit;
    if (++o->issued < THREADS) return;
    if (weiri_sim_rand(m) & 1) execute_below(g, i + 1);
    for (u32 j = 0, from = (u32)weiri_sim_rand(m); j < THREADS; j++) {
        thread *x = &g->c->threads[t->tid / THREADS * THREADS + (from + j) % THREADS];
        if (x->blocked && x->wait == WAIT_WGMMA) weiri_sim_wake(x);
    }
    m->progress++;
}

static void commit(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    warpgroup *g = group_of(t);
    u64 j = t->mma_groups++;
    if (j == g->group_first + (u64)g->ngroups) {
        if (g->ngroups == g->group_cap) {
            /* Waits look back a few groups; older ones go when every thread is past them. */
            u64 past = t->mma_groups;
            for (int i = 0; i < THREADS; i++) {
                u64 x = g->c->threads[t->tid / THREADS * THREADS + (u32)i].mma_groups;
                if (x < past) past = x;
            }
            int drop = past > g->group_first + 64 ? (int)(past - g->group_first - 64) : 0;
            if (drop > g->ngroups / 2) {
                memmove(g->group_end, g->group_end + drop, (size_t)(g->ngroups - drop) * sizeof *g->group_end);
                g->group_first += (u64)drop;
                g->ngroups -= drop;
            } else g->group_end = window(t->m, g->group_end, g->ngroups, &g->group_cap, sizeof *g->group_end);
        }
        g->group_end[g->ngroups++] = t->mmas;
    } else if (g->group_end[j - g->group_first] != t->mmas)
        weiri_sim_fault(
            t->m, t, t->at, "sim-wgmma",
            "the threads of a warpgroup commit different wgmmas: thread %u closes its group after %llu, the first after %llu",
            t->tid, t->mmas, g->group_end[j - g->group_first]);
}

bool weiri_wgmma_ready(const thread *t, u64 ops) {
    warpgroup *g = group_of(t);
    return ops <= g->first || (ops <= g->first + (u64)g->nq && op_at(g, ops - 1)->issued == THREADS);
}

/* Ops that are done leave the window; their register buffers stay for later ones. */
static void drop_done(warpgroup *g) {
    int drop = (int)(g->unmarked - g->first), left = g->nq - drop;
    if (drop < 64 || drop < left) return;
    for (int i = 0; i < left; i++) { /* swap, so that no buffer is lost */
        mma x = g->q[i];
        g->q[i] = g->q[i + drop];
        g->q[i + drop] = x;
    }
    g->first += (u64)drop;
    g->nq = left;
}

static void wait(w_sim_api *api, u32 n) {
    thread *t = weiri_sim_self(api);
    warpgroup *g = group_of(t);
    if (t->mma_groups <= n) return;
    u64 j = t->mma_groups - n - 1;
    u64 end = j < g->group_first ? 0 : g->group_end[j - g->group_first];
    t->need = end;
    while (!weiri_wgmma_ready(t, end)) weiri_sim_block(t, WAIT_WGMMA);
    execute_below(g, end);
    for (; g->unmarked < end; g->unmarked++) mark(g, op_at(g, g->unmarked), false, t);
    weiri_race_mma_waited(t, end);
    give_back(t, end);
    api->stack_size = t->nuse ? 0 : t->f.size;
    drop_done(g);
}

static void fence(w_sim_api *api) { weiri_sim_self(api)->mma_fenced = true; }

void weiri_wgmma_reset(warpgroup *g) {
    g->nq = g->ngroups = 0;
    g->first = g->executed = g->unmarked = g->group_first = 0;
}

void weiri_wgmma_exit(thread *t) {
    if (t->nuse)
        weiri_sim_fault(t->m, t, t->at, "sim-exit",
                        "the thread exits while a wgmma of its warpgroup is in flight: a wait is missing");
}

void weiri_wgmma_calls(w_sim_api *api) {
    api->w_wgmma_fence = fence;
    api->w_wgmma_commit = commit;
    api->w_sim_wgmma_wait = wait;
    api->w_sim_wgmma = wgmma;
    api->w_sim_nan = not_a_number;
}
