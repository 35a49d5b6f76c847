/* Tensor memory and the tensor core of sm_100a, as docs/blackwell.md understands them: not checked on hardware.
 *
 * One thread issues an mma; its operands count as being read and its columns as being written from then until a commit of that
 * thread arrives at its mbarrier. The product is computed at some time in between, chosen by the seed. A load brings poison
 * until tcgen05.wait::ld. A copy to tensor memory (tcgen05.cp) stands in the same queue; what a thread issues runs in order there,
 * so that an mma finds the scales that a copy before it brought. A store is over at tcgen05.wait::st. Every hand-over of columns
 * between threads needs the two fences: `before` by who had them, `after` by who takes them over; a commit counts as the first.
 *
 * With v = 2 (cta_group::2) the mmas of a pair stand in the even CTA's queue and touch both CTAs' operands and columns. */
#include <stdio.h>
#include <string.h>

#include "../tcgen05.h"
#include "machine.h"

enum { QUARTERS = 4, MAX_ALLOCS = 16, MAX_PIECES = 512 };
enum { OP_ALLOC = TC_WARP_OP | 1, OP_FREE = TC_WARP_OP | 2, OP_WAIT_LD = TC_WARP_OP | 3, OP_LD = TC_WARP_OP | 0x40,
       OP_WAIT_ST = TC_WARP_OP | 4, OP_ST = TC_WARP_OP | 0x80, OP_ALLOC_PAIR = TC_WARP_OP | 5, OP_FREE_PAIR = TC_WARP_OP | 6 };

typedef struct alloc {
    u32 column, columns, warp;
} alloc;

typedef struct cp_shape { /* of tcgen05.cp */
    const char *name;
    u32 rows, columns;
    u32 quarter[4]; /* rows that warp q's lanes get: 32 from 32 * quarter[q] */
} cp_shape;

/* ORDER: W_SIM_CP_... of weir_sim.h */
static const cp_shape cp_shapes[] = {
    { "128x256b", 128, 8, { 0, 1, 2, 3 } },
    { "128x128b", 128, 4, { 0, 1, 2, 3 } },
    { "64x128b.warpx2::02_13", 64, 4, { 0, 1, 0, 1 } },
    { "64x128b.warpx2::01_23", 64, 4, { 0, 0, 1, 1 } },
    { "32x128b.warpx4", 32, 4, { 0, 0, 0, 0 } },
};

typedef struct entry { /* of the tensor core's queue */
    thread *by;
    u32 at;
    bool commit;
    u32 bar, mask;
    u64 due;
    u32 *vc;          /* COMMIT: its thread's clock */
    weiri_tc_shape s; /* MMA */
    u32 tmem;
    u64 a, b;       /* descriptors, in the form of wgmma.c */
    bool from_tmem; /* A lies in tensor memory, from at_tmem */
    u32 at_tmem;
    bool accumulate, executed;
    bool scaled;            /* MMA: block-scaled, by scales in tensor memory */
    weiri_tc_scaled sc;
    u32 scale_a, scale_b;
    const cp_shape *cp;     /* COPY: from descriptor b to s.n columns; NULL: it is none */
} entry;

struct tensor {
    cta *c;
    u32 *cell;    /* [column * TC_LANES + lane] */
    u64 *written; /* per column: bit per lane, two words */
    alloc alloc[MAX_ALLOCS];
    int nallocs;
    bool relinquished;
    int group;                        /* CTAs of its instructions, 1 or 2; 0: there was none yet */
    u16 writing[TC_COLUMNS];          /* mmas in flight */
    u16 loading[TC_COLUMNS];          /* loads that have not been waited for, mmas in flight that read A there */
    const thread *writer[TC_COLUMNS]; /* of the newest mma */
    u32 done[TC_COLUMNS];             /* clock of its arrival; 0: none */
    struct {
        u32 read, fenced;
        const thread *by;
    } seen[QUARTERS][TC_COLUMNS]; /* newest load, or mma that read A there; clocks */
    struct {
        u32 stored, waited, fenced;
        const thread *by;
    } put[QUARTERS][TC_COLUMNS]; /* newest store, by lane 0 of its warp; clocks, 0: not yet */
    entry *q;
    int nq, cap;
    u32 *clocks[64];                  /* free ones */
    int nclocks;
    float *d; /* scratch: 2 x TC_LANES x TC_MAX_N */
    double *scaled_a, *scaled_b; /* and of block-scaled operands; NULL: there were none */
};

/* ---- columns ------------------------------------------------------------------------------------------------------------ */

static u32 column_of(u32 tmem) { return tmem & ((1u << TC_LANE_SHIFT) - 1); }
static u32 lane_of(u32 tmem) { return tmem >> TC_LANE_SHIFT; }

/* The other tensor memory of the pair; NULL: the CTA has none, or is of no pair. */
static tensor *peer_of(const tensor *x) {
    u32 other = x->c->rank ^ 1u;
    return (int)other < x->c->cl->n ? x->c->cl->ctas[other].tc : NULL;
}

/* The tensor memories that an mma of x's queue touches. */
static int sides(tensor *x, bool pair, tensor *side[2]) {
    side[0] = x;
    side[1] = pair ? peer_of(x) : NULL;
    return side[1] ? 2 : 1;
}

static int columns_of(const entry *e) { return weiri_tc_columns(e->s.pair, e->s.pair ? e->s.m / 2 : e->s.m, e->s.n); }

/* Is the instruction of the kind that the kernel has? */
static bool right_group(tensor *x, const thread *t, bool pair, const char *what) {
    int group = pair ? 2 : 1;
    if (!x->group) x->group = group;
    if (x->group == group) return true;
    weiri_sim_fault(t->m, t, t->at, "sim-tmem", "%s of %s in a kernel of %s; one kernel has one kind", what,
                    pair ? "two CTAs (cta_group::2)" : "one CTA (cta_group::1)", pair ? "single CTAs" : "pairs");
    return false;
}

/* Do the columns belong to the CTA? A fault of t otherwise. */
static bool own_columns(tensor *x, const thread *t, u32 tmem, u32 n, const char *what) {
    u32 c = column_of(tmem);
    for (int i = 0; i < x->nallocs; i++)
        if (x->alloc[i].column <= c && c + n <= x->alloc[i].column + x->alloc[i].columns) return true;
    char have[128] = "none are";
    for (int i = 0, k = 0; i < x->nallocs && k >= 0 && k < (int)sizeof have - 32; i++)
        k += snprintf(have + k, sizeof have - (size_t)k, "%s%u to %u are", i ? ", " : "", x->alloc[i].column,
                      x->alloc[i].column + x->alloc[i].columns - 1);
    if (x->c == t->c)
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "%s columns %u to %u of tensor memory, which are not allocated: %s", what,
                        c, c + n - 1, have);
    else
        weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                        "%s columns %u to %u of tensor memory of CTA %u, which are not allocated there", what, c, c + n - 1,
                        x->c->block);
    return false;
}

static tensor *tensor_of(thread *t, const char *what) {
    if (t->c->tc) return t->c->tc;
    weiri_sim_fault(t->m, t, t->at, "sim-tmem", "%s in a kernel whose plan has no tensor memory", what);
    return NULL;
}

static bool same_in_lanes(const warp *w, int nargs, const char *what) {
    for (int i = 1; i < 32; i++)
        for (int j = 0; j < nargs; j++)
            if (w->lane[i]->arg[j] != w->lane[0]->arg[j]) {
                const thread *t = w->lane[i];
                weiri_sim_fault(t->m, t, t->at, "sim-tmem", "%s: lane %d has other arguments than lane 0", what, i);
                return false;
            }
    return true;
}

static bool is_taken(const tensor *x, u32 c, u32 n) {
    for (int i = 0; i < x->nallocs; i++)
        if (c < x->alloc[i].column + x->alloc[i].columns && x->alloc[i].column < c + n) return true;
    return false;
}

/* For a pair its two CTAs allocate together, the same columns: who comes first chooses. */
static void alloc_columns(warp *w, bool pair) {
    thread *t = w->lane[0];
    machine *m = t->m;
    tensor *x = t->c->tc, *y = pair ? peer_of(x) : NULL;
    bool second = y && y->nallocs > x->nallocs;
    u32 slot = t->arg[0], n = t->arg[1], free_at[TC_COLUMNS / TC_MIN_COLUMNS], nfree = 0;
    if (!same_in_lanes(w, 2, "tcgen05.alloc")) return;
    if (n < TC_MIN_COLUMNS || n > TC_COLUMNS || (n & (n - 1)))
        weiri_sim_fault(m, t, t->at, "sim-tmem", "tcgen05.alloc of %u columns; a power of two from %d to %d", n, TC_MIN_COLUMNS,
                        TC_COLUMNS);
    if (x->relinquished) weiri_sim_fault(m, t, t->at, "sim-tmem", "tcgen05.alloc after the permit was given up");
    if (slot % 4)
        weiri_sim_fault(m, t, t->at, "sim-align",
                        "the address of tensor memory goes to shared address %u, which is no multiple of 4", slot);
    if (!weiri_smem_inside(t->c, slot, 4, t, "the address of tensor memory at")) return;
    for (u32 c = 0; c + n <= TC_COLUMNS && !second; c += TC_MIN_COLUMNS) /* anywhere: nobody may count on column 0 */
        if (!is_taken(x, c, n) && !(y && is_taken(y, c, n))) free_at[nfree++] = c;
    if (second) {
        const alloc *his = &y->alloc[x->nallocs];
        if (his->columns != n)
            weiri_sim_fault(m, t, t->at, "sim-tmem", "tcgen05.alloc of %u columns, the pair's other CTA asks for %u", n,
                            his->columns);
        free_at[nfree++] = his->column;
    }
    if (!nfree || x->nallocs == MAX_ALLOCS) {
        weiri_sim_fault(m, t, t->at, "sim-tmem",
                        "tcgen05.alloc of %u columns would wait for ever: this CTA has the others of %d", n, TC_COLUMNS);
        return;
    }
    u32 at = free_at[weiri_sim_rand(m) % nfree];
    x->alloc[x->nallocs++] = (alloc){ at, n, t->tid / 32 };
    x->relinquished = true; /* w_tmem_alloc gives up the permit */
    weiri_smem_write(t, slot, 4, "the address of tensor memory to");
    memcpy(weiri_smem_at(t->c, slot), &at, sizeof at);
    for (u32 i = at; i < at + n; i++) {
        x->written[2 * i] = x->written[2 * i + 1] = 0;
        x->done[i] = 0;
        for (int q = 0; q < QUARTERS; q++) x->seen[q][i].read = x->put[q][i].stored = 0;
    }
}

static void run_alloc(warp *w, u32 members) { (void)members, alloc_columns(w, false); }
static void run_alloc_pair(warp *w, u32 members) { (void)members, alloc_columns(w, true); }

static void free_columns(warp *w, bool pair) {
    thread *t = w->lane[0];
    tensor *x = t->c->tc, *side[2];
    int nsides = sides(x, pair, side);
    u32 at = column_of(t->arg[0]), n = t->arg[1];
    int i = 0;
    if (!same_in_lanes(w, 2, "tcgen05.dealloc")) return;
    while (i < x->nallocs && (x->alloc[i].column != at || x->alloc[i].columns != n)) i++;
    if (i == x->nallocs) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.dealloc of %u columns from %u, which is no allocation", n, at);
        return;
    }
    if (x->alloc[i].warp != t->tid / 32)
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.dealloc by warp %u of what warp %u allocated", t->tid / 32,
                        x->alloc[i].warp);
    for (int s = 0; s < nsides; s++)
        for (u32 c = at; c < at + n; c++)
            if (side[s]->writing[c] || side[s]->loading[c]) {
                weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.dealloc while %s column %u: its wait is missing",
                                side[s]->writing[c] ? "an mma or copy in flight writes" : "a load in flight reads", c);
                return;
            }
    x->alloc[i] = x->alloc[--x->nallocs];
}

static void run_free(warp *w, u32 members) { (void)members, free_columns(w, false); }
static void run_free_pair(warp *w, u32 members) { (void)members, free_columns(w, true); }

static void ask(w_sim_api *api, u32 at, u32 columns, u32 op, bool pair, const char *what, void (*run)(warp *w, u32 members)) {
    thread *t = weiri_sim_self(api);
    tensor *x = tensor_of(t, what);
    if (!x || !right_group(x, t, pair, what)) return;
    t->arg[0] = at;
    t->arg[1] = columns;
    weiri_sync_warp(t, op, 0xffffffffu, run);
}

/* Tensor memory may be a body's own. */
static void make_tensor(thread *t) {
    if (!t->c->tc && t->m->plan->k->arch >= WEIR_ARCH_SM_100A) weiri_tc_make(t->c);
}

static void tmem_alloc(w_sim_api *api, u32 slot, u32 columns) {
    make_tensor(weiri_sim_self(api));
    ask(api, slot, columns, OP_ALLOC, false, "tcgen05.alloc", run_alloc);
}
static void tmem_free(w_sim_api *api, u32 tmem, u32 columns) {
    ask(api, tmem, columns, OP_FREE, false, "tcgen05.dealloc", run_free);
}
static void tmem_alloc_pair(w_sim_api *api, u32 slot, u32 columns) {
    make_tensor(weiri_sim_self(api));
    ask(api, slot, columns, OP_ALLOC_PAIR, true, "tcgen05.alloc", run_alloc_pair);
}
static void tmem_free_pair(w_sim_api *api, u32 tmem, u32 columns) {
    ask(api, tmem, columns, OP_FREE_PAIR, true, "tcgen05.dealloc", run_free_pair);
}

/* ---- fences ------------------------------------------------------------------------------------------------------------- */

static void before(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    tensor *x = t->c->tc;
    u32 now = ++t->m->clock;
    if (!x) return;
    for (int q = 0; q < QUARTERS; q++)
        for (int c = 0; c < TC_COLUMNS; c++) {
            if (x->seen[q][c].read && x->seen[q][c].by == t && !x->seen[q][c].fenced) x->seen[q][c].fenced = now;
            if (x->put[q][c].waited && x->put[q][c].by == t && !x->put[q][c].fenced) x->put[q][c].fenced = now;
        }
}

static void after(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    t->tc_after = ++t->m->clock;
}

/* May t touch what an mma of another thread left in column c? */
static bool sums_over(const tensor *x, const thread *t, u32 c, const char *what) {
    if (!x->done[c] || x->writer[c] == t || t->tc_after > x->done[c]) return true;
    weiri_sim_fault(t->m, t, t->at, "sim-tcgen05-fence",
                    "%s column %u of tensor memory, which an mma of another thread wrote: tcgen05.fence::after_thread_sync is "
                    "missing behind the wait",
                    what, c);
    return false;
}

/* And what a warp has stored in a quarter of it? A store of the own warp may come after another that is not over. */
static bool stores_over(const tensor *x, const thread *t, u32 q, u32 c, bool store, const char *what) {
    const thread *by = x->put[q][c].by;
    if (!x->put[q][c].stored) return true;
    bool own = by->c == t->c && by->tid / 32 == t->tid / 32, left = x->put[q][c].fenced != 0;
    if (own && store) return true;
    if (!x->put[q][c].waited) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                        "%s column %u of tensor memory while a store of warp %u in flight writes it: tcgen05.wait::st is missing",
                        what, c, by->tid / 32);
        return false;
    }
    if (own || (left && t->tc_after > x->put[q][c].fenced)) return true;
    weiri_sim_fault(t->m, t, t->at, "sim-tcgen05-fence",
                    "%s column %u of tensor memory, which warp %u has stored to: tcgen05.fence::%s is missing", what, c,
                    by->tid / 32, left ? "after_thread_sync behind the wait" : "before_thread_sync before the hand-over");
    return false;
}

/* Both, of all lanes. */
static bool taken_over(const tensor *x, const thread *t, u32 c, const char *what) {
    for (u32 q = 0; q < QUARTERS; q++)
        if (!stores_over(x, t, q, c, false, what)) return false;
    return sums_over(x, t, c, what);
}

/* ---- mma ---------------------------------------------------------------------------------------------------------------- */

static u32 wgmma_type(weir_dtype t) {
    return t == WEIR_BF16 ? 0 : t == WEIR_F16 ? 1 : t == WEIR_TF32 ? 2 : t == WEIR_E4M3 ? 3 : 4;
}
static u32 k_of(const entry *e) {
    return e->s.kind == TC_KIND_F16 ? TC_K_BYTES / 2 : e->s.kind == TC_KIND_TF32 ? TC_K_BYTES / 4 : TC_K_BYTES;
}

/* Checks a descriptor and brings it to the form that wgmma.c reads: the same fields, another layout code. */
static u64 descriptor(const thread *t, u64 desc, const char *name) {
    const u64 fields = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 1ull << TC_DESC_CONSTANT_BIT | 7ull << 49 |
                       7ull << TC_DESC_LAYOUT_SHIFT;
    int swizzle = weiri_tc_swizzle((int)(desc >> TC_DESC_LAYOUT_SHIFT));
    u64 code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    if (!(desc >> TC_DESC_CONSTANT_BIT & 1))
        weiri_sim_fault(t->m, t, t->at, "sim-descriptor",
                        "operand %s: descriptor %#llx lacks bit %d, which every one of sm_100a has", name, desc,
                        TC_DESC_CONSTANT_BIT);
    if (desc >> 49 & 7)
        weiri_sim_fault(t->m, t, t->at, "sim-descriptor",
                        "operand %s: base offset %u in the descriptor; the simulator has 0 only", name, (u32)(desc >> 49 & 7));
    if (swizzle < 0 || (desc & ~fields))
        weiri_sim_fault(t->m, t, t->at, "sim-descriptor", "operand %s: descriptor %#llx has %s", name, desc,
                        swizzle < 0 ? "a layout code that the simulator does not know" : "bits outside its fields");
    return (desc & (0x3fffull | 0x3fffull << 16 | 0x3fffull << 32)) | code << 62;
}

/* Addresses of the pieces of shared memory that an entry reads, in each of its CTAs: side 0 is A, 1 is B or what a copy takes. */
static int pieces_of(const entry *e, int side, u32 *addr) {
    u32 rows = (u32)(side ? e->s.n : e->s.m) / (e->s.pair ? 2 : 1);
    if (!e->cp && !side && e->from_tmem) return 0;
    if (!e->cp) return weiri_wgmma_pieces(side ? e->b : e->a, rows, side ? e->s.b_mn : e->s.a_mn, addr);
    int n = side ? weiri_wgmma_pieces(e->b, e->cp->rows, 0, addr) : 0, kept = 0;
    if (e->cp->columns == 8) return n;
    for (int i = 0; i < n; i += 2) addr[kept++] = addr[i]; /* 16 bytes of a row */
    return kept;
}

/* The operands of an mma begin or cease to be read. */
static void mark(tensor *x, const entry *e, bool begin) {
    u32 addr[MAX_PIECES];
    tensor *part[2];
    int nparts = sides(x, e->s.pair, part);
    for (int side = 0; side < 2; side++) {
        int n = pieces_of(e, side, addr);
        for (int i = 0; i < n * nparts; i++) {
            cta *c = part[i / n]->c;
            u32 at = addr[i % n];
            if (!begin) {
                weiri_smem_aread_end(c, at, GRANULE);
                continue;
            }
            if (!weiri_smem_inside(c, at, GRANULE, e->by,
                                   e->cp  ? "a tcgen05.cp from"
                                   : side ? "operand B of an mma at"
                                          : "operand A of an mma at"))
                return;
            weiri_smem_aread_begin(c, at, GRANULE, e->by, e->at,
                                   e->cp  ? "a tcgen05.cp reads"
                                   : side ? "an mma reads B from"
                                          : "an mma reads A from");
            weiri_race_read(c, at, GRANULE, e->by, e->at);
        }
    }
}

const thread *weiri_tc_reader(const cta *c, u32 addr, u32 *at) {
    u32 piece[MAX_PIECES];
    const tensor *queue[2] = { c->tc, c->tc && c->tc->group == 2 ? peer_of(c->tc) : NULL };
    for (int q = 0; q < 2; q++)
        for (int i = 0; queue[q] && i < queue[q]->nq; i++) {
            const entry *e = &queue[q]->q[i];
            for (int side = 0; side < 2 && !e->commit; side++) {
                int n = pieces_of(e, side, piece);
                for (int j = 0; j < n; j++)
                    if (piece[j] <= addr && addr < piece[j] + GRANULE) {
                        *at = e->at;
                        return e->by;
                    }
            }
        }
    return NULL;
}

static bool is_written(const tensor *x, u32 c, u32 lane) { return x->written[2 * c + lane / 64] >> lane % 64 & 1; }

static void execute_cp(tensor *x, entry *e) {
    u32 addr[MAX_PIECES], c0 = column_of(e->tmem), per = e->cp->columns / 4; /* pieces of a row */
    pieces_of(e, 1, addr);
    for (u32 lane = 0; lane < TC_LANES; lane++)
        for (u32 c = 0; c < e->cp->columns; c++) {
            u32 row = TC_WARP_LANES * e->cp->quarter[lane / TC_WARP_LANES] + lane % TC_WARP_LANES;
            memcpy(&x->cell[(c0 + c) * TC_LANES + lane], weiri_smem_at(x->c, addr[row * per + c / 4]) + c % 4 * 4, sizeof(u32));
            x->written[2 * (c0 + c) + lane / 64] |= 1ull << lane % 64;
        }
    e->executed = true;
}

static u32 scale_columns(u32 rows) { return (rows + TC_SCALE_ROWS - 1) / TC_SCALE_ROWS; }

/* The scales of an operand's rows: those of row r in lane r % 32 of column r / 32, in all quarters alike. */
static bool take_scales(const tensor *x, const entry *e, bool b, u32 rows, u8 *out) {
    u32 c0 = column_of(b ? e->scale_b : e->scale_a), n = (u32)e->sc.scales;
    for (u32 r = 0; r < rows; r++) {
        u32 c = c0 + r / TC_SCALE_ROWS, l = r % TC_SCALE_ROWS, bits = x->cell[c * TC_LANES + l];
        for (u32 q = 0; q < QUARTERS; q++) {
            u32 lane = q * TC_WARP_LANES + l;
            if (is_written(x, c, lane) && x->cell[c * TC_LANES + lane] == bits) continue;
            weiri_sim_fault(x->c->m, e->by, e->at, "sim-tmem",
                            "an mma reads the scales of row %u of %c from lane %u, column %u, which %s", r, b ? 'B' : 'A', lane,
                            c,
                            is_written(x, c, lane) ? "differs from the first quarter's lane: all four hold the same scales"
                                                   : "nothing has written");
            return false;
        }
        memcpy(out + r * n, (const u8 *)&bits + (b ? e->sc.id_b : e->sc.id_a), n);
    }
    return true;
}

static void execute_scaled(tensor *x, entry *e) {
    machine *m = x->c->m;
    u32 n = (u32)e->sc.n, k = (u32)e->sc.k, c0 = column_of(e->tmem);
    u8 scales[4 * TC_MAX_N];
    e->executed = true;
    if (!x->scaled_a) {
        x->scaled_a = weiri_sim_alloc(m, sizeof(double) * TC_LANES * 2 * TC_K_BYTES);
        x->scaled_b = weiri_sim_alloc(m, sizeof(double) * TC_MAX_N * 2 * TC_K_BYTES);
    }
    if (!take_scales(x, e, false, TC_LANES, scales)) return;
    weiri_scaled_operand(x->c, e->a, TC_LANES, &e->sc, false, scales, x->scaled_a);
    if (!take_scales(x, e, true, n, scales)) return;
    weiri_scaled_operand(x->c, e->b, n, &e->sc, true, scales, x->scaled_b);
    for (u32 r = 0; r < TC_LANES; r++)
        for (u32 c = 0; c < n; c++) {
            u32 old = is_written(x, c0 + c, r) ? x->cell[(c0 + c) * TC_LANES + r] : TC_POISON;
            if (e->accumulate) memcpy(&x->d[r * n + c], &old, sizeof old);
            else x->d[r * n + c] = 0;
        }
    weiri_scaled_multiply(x->d, x->scaled_a, x->scaled_b, TC_LANES, n, k);
    for (u32 r = 0; r < TC_LANES; r++)
        for (u32 c = 0; c < n; c++) {
            memcpy(&x->cell[(c0 + c) * TC_LANES + r], &x->d[r * n + c], sizeof(u32));
            x->written[2 * (c0 + c) + r / 64] |= 1ull << r % 64;
        }
}

static u32 *cell_of(tensor *side[2], const entry *e, u32 row, u32 col, u64 **written, u64 *bit) {
    int cta, lane, column;
    weiri_tc_cell(&e->s, (int)row, (int)col, &cta, &lane, &column);
    tensor *x = side[cta];
    u32 at = column_of(e->tmem) + (u32)column, l = lane_of(e->tmem) + (u32)lane;
    *written = &x->written[2 * at + l / 64];
    *bit = 1ull << l % 64;
    return &x->cell[at * TC_LANES + l];
}

static void execute(tensor *x, entry *e) {
    machine *m = x->c->m;
    tensor *side[2];
    if (e->cp || e->scaled) {
        if (e->cp) execute_cp(x, e);
        else execute_scaled(x, e);
        return;
    }
    int nsides = sides(x, e->s.pair, side);
    u32 k = k_of(e), rows = (u32)e->s.m, own = rows / (u32)nsides, n = (u32)e->s.n, part = n / (u32)nsides;
    u64 *written, bit;
    for (int s = 0; s < nsides; s++) {
        float *a = m->mat_a + (u32)s * own * k;
        if (e->from_tmem) {
            for (u32 row = 0; row < own; row++) /* 128 rows: a lane each */
                for (u32 i = 0; i < k; i++) {
                    u32 at = column_of(e->at_tmem) + i;
                    u32 bits = is_written(side[s], at, row) ? side[s]->cell[at * TC_LANES + row] & ~0x1fffu : TC_POISON;
                    memcpy(&a[row * k + i], &bits, sizeof bits); /* tf32 ignores the low 13 bits */
                }
        } else weiri_wgmma_operand(side[s]->c, e->a, own, e->s.a_mn, wgmma_type(e->s.a), a, k, 1);
        weiri_wgmma_operand(side[s]->c, e->b, part, e->s.b_mn, wgmma_type(e->s.b), m->mat_b + (u32)s * part, 1, n);
    }
    for (u32 r = 0; r < rows; r++)
        for (u32 c = 0; c < n; c++) {
            const u32 *cell = cell_of(side, e, r, c, &written, &bit);
            u32 old = *written & bit ? *cell : TC_POISON;
            if (e->accumulate) memcpy(&x->d[r * n + c], &old, sizeof old);
            else x->d[r * n + c] = 0;
        }
    for (u32 r = 0; r < rows; r += 64) weiri_sums_in_turn(x->d + r * n, m->mat_a + r * k, m->mat_b, n, k);
    for (u32 r = 0; r < rows; r++)
        for (u32 c = 0; c < n; c++) {
            u32 *cell = cell_of(side, e, r, c, &written, &bit);
            memcpy(cell, &x->d[r * n + c], sizeof *cell);
            *written |= bit;
        }
    e->executed = true;
}

static entry *push(tensor *x, const entry *e) {
    if (x->nq == x->cap) {
        int cap = x->cap ? 2 * x->cap : 64;
        entry *more = weiri_sim_alloc(x->c->m, (size_t)cap * sizeof *more);
        if (x->nq) memcpy(more, x->q, (size_t)x->nq * sizeof *more);
        x->q = more;
        x->cap = cap;
    }
    x->q[x->nq] = *e;
    return &x->q[x->nq++];
}

/* Does a scale of this entry lie in column c? */
static bool reads_scales(const entry *e, u32 c) {
    u32 a = column_of(e->scale_a), b = column_of(e->scale_b);
    return e->scaled && (c - a < scale_columns(TC_LANES) || c - b < scale_columns((u32)e->sc.n));
}

/* Mmas of t in flight that take scales from column c: a copy of the same thread comes after them. */
static u32 own_reads(const tensor *x, const thread *t, u32 c) {
    u32 n = 0;
    for (int i = 0; i < x->nq; i++) n += !x->q[i].commit && x->q[i].by == t && reads_scales(&x->q[i], c);
    return n;
}

/* Others' accesses of the columns of y that this mma, of x's queue, must come after. */
static void check_columns(const tensor *x, const tensor *y, const thread *t, const entry *e) {
    u32 c0 = column_of(e->tmem), n = (u32)columns_of(e);
    for (int i = 0; i < x->nq; i++) {
        const entry *o = &x->q[i];
        u32 oc = column_of(o->tmem);
        if (o->commit || oc >= c0 + n || c0 >= oc + (u32)columns_of(o)) continue;
        if (o->by != t)
            weiri_sim_fault(t->m, t, t->at, "sim-tmem", "an mma writes column %u while an mma of warp %u on it is in flight",
                            c0, o->by->tid / 32);
        if (o->tmem != e->tmem || o->s.m != e->s.m || o->s.n != e->s.n || o->s.kind != e->s.kind || o->cp != e->cp)
            weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                            "two mmas in flight write overlapping columns without being of one place and shape");
    }
    for (u32 c = c0; c < c0 + n; c++) {
        if (y->loading[c] > (e->cp ? own_reads(x, t, c) : 0)) {
            weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                            "%s writes column %u while a load or another mma in flight reads it: the wait is missing",
                            e->cp ? "a tcgen05.cp" : "an mma", c);
            return;
        }
        if (!taken_over(y, t, c, e->cp ? "a tcgen05.cp writes" : "an mma writes")) return;
        for (int q = 0; q < QUARTERS; q++) {
            const thread *by = y->seen[q][c].by;
            if (!y->seen[q][c].read || (by->c == t->c && by->tid / 32 == t->tid / 32)) continue;
            bool left = y->seen[q][c].fenced != 0;
            if (left && t->tc_after > y->seen[q][c].fenced) continue;
            weiri_sim_fault(t->m, t, t->at, "sim-tcgen05-fence",
                            "an mma writes column %u, which warp %u has read: tcgen05.fence::%s is missing", c,
                            by->tid / 32,
                            left ? "after_thread_sync behind the wait" : "before_thread_sync before the hand-over");
            return;
        }
    }
}

/* A of the mma in tensor memory x: the sums of another mma that is done. */
static bool check_a(tensor *x, const thread *t, const entry *e) {
    u32 c0 = column_of(e->at_tmem), k = k_of(e);
    int own = e->s.m / (e->s.pair ? 2 : 1);
    if (lane_of(e->at_tmem) || own != TC_LANES) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                        "an mma of %d rows reads A from lane %u of tensor memory; the simulator has 128 rows from lane 0",
                        own, lane_of(e->at_tmem));
        return false;
    }
    if (!own_columns(x, t, e->at_tmem, k, "an mma reads")) return false;
    for (u32 c = c0; c < c0 + k; c++) {
        if (x->writing[c]) {
            weiri_sim_fault(
                t->m, t, t->at, "sim-tmem",
                "an mma reads A from column %u while an mma in flight writes it: the wait for its commit is missing", c);
            return false;
        }
        if (!taken_over(x, t, c, "an mma reads")) return false;
    }
    return true;
}

/* The scales of an mma: copied there before, by this thread or by one that it has waited for. */
static bool check_scales(tensor *x, const thread *t, const entry *e, bool b) {
    u32 tmem = b ? e->scale_b : e->scale_a, c0 = column_of(tmem), n = scale_columns(b ? (u32)e->sc.n : TC_LANES),
        d = column_of(e->tmem);
    if (lane_of(tmem))
        weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                        "an mma takes its scales from lane %u of tensor memory; they begin at lane 0", lane_of(tmem));
    if (!own_columns(x, t, tmem, n, "an mma takes its scales from")) return false;
    if (c0 < d + (u32)e->sc.n && d < c0 + n) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "an mma takes its scales from columns %u to %u, which it writes", c0,
                        c0 + n - 1);
        return false;
    }
    for (u32 c = c0; c < c0 + n; c++) {
        for (int i = 0; i < x->nq; i++) {
            const entry *o = &x->q[i];
            if (o->commit || c - column_of(o->tmem) >= (u32)o->s.n || (o->cp && o->by == t)) continue;
            weiri_sim_fault(
                t->m, t, t->at, "sim-tmem",
                "an mma takes its scales from column %u while %s in flight writes it: the wait for its commit is missing", c,
                o->cp ? "another thread's copy" : "an mma");
            return false;
        }
        if (!taken_over(x, t, c, "an mma takes its scales from")) return false;
    }
    return true;
}

/* An entry that has been checked: its operands and columns are in use until its commit arrives. */
static void enqueue(tensor *x, const entry *e) {
    machine *m = x->c->m;
    mark(x, e, true);
    bool may = true;
    for (int i = 0; i < x->nq; i++) may &= x->q[i].commit || x->q[i].executed;
    entry *now = push(x, e);
    tensor *side[2];
    int nsides = sides(x, e->s.pair, side);
    for (int s = 0; s < nsides; s++) {
        tensor *y = side[s];
        for (u32 c = column_of(e->tmem); c < column_of(e->tmem) + (u32)columns_of(e); c++) {
            y->writing[c]++;
            y->writer[c] = e->by;
            y->done[c] = 0;
            for (int q = 0; q < QUARTERS; q++) y->seen[q][c].read = y->put[q][c].stored = 0;
        }
        for (u32 c = 0; e->from_tmem && c < k_of(e); c++) y->loading[column_of(e->at_tmem) + c]++;
    }
    for (u32 c = 0; e->scaled && c < scale_columns(TC_LANES); c++) x->loading[column_of(e->scale_a) + c]++;
    for (u32 c = 0; e->scaled && c < scale_columns((u32)e->sc.n); c++) x->loading[column_of(e->scale_b) + c]++;
    if (may && (weiri_sim_rand(m) & 1)) execute(x, now);
    m->progress++;
}

/* Column c is read no more by what t has issued. */
static void read_done(tensor *x, u32 c, u32 clock, const thread *t) {
    x->loading[c]--;
    for (int q = 0; q < QUARTERS; q++) x->seen[q][c].read = x->seen[q][c].fenced = clock, x->seen[q][c].by = t;
}

static void issue(thread *t, bool pair, u32 kind, u32 tmem, const u64 *a, u32 a_tmem, u64 b, u32 idesc, u32 accumulate) {
    machine *m = t->m;
    tensor *x = tensor_of(t, "a tcgen05.mma"), *side[2];
    char why[160];
    entry e = { .by = t, .at = t->at, .tmem = tmem, .accumulate = accumulate != 0, .from_tmem = !a, .at_tmem = a_tmem };
    if (!x || !right_group(x, t, pair, "a tcgen05.mma")) return;
    int nsides = sides(x, pair, side);
    if (pair && (t->c->rank & 1 || nsides < 2)) {
        weiri_sim_fault(m, t, t->at, "sim-cluster",
                        "an mma of two CTAs issued by CTA %u of its cluster; the simulator has the even one of a pair", t->c->rank);
        return;
    }
    if (!weiri_tc_decode((weiri_tc_kind)kind, idesc, &e.s)) {
        weiri_sim_fault(m, t, t->at, "sim-descriptor",
                        "instruction descriptor %#x of kind %s: a field has a value that the simulator does not know", idesc,
                        weiri_tc_kind_name((weiri_tc_kind)kind));
        return;
    }
    e.s.pair = pair;
    if (!weiri_tc_valid(&e.s, why, sizeof why)) {
        weiri_sim_fault(m, t, t->at, "sim-descriptor", "an mma of %s", why);
        if (pair) return; /* halves of nothing */
    }
    if (a) e.a = descriptor(t, *a, "A");
    for (int s = 0; s < nsides && !a; s++)
        if (!check_a(side[s], t, &e)) return;
    e.b = descriptor(t, b, "B");
    u32 lane = lane_of(tmem);
    if (lane && (pair || e.s.m != 64 || lane != TC_M64_LANES))
        weiri_sim_fault(m, t, t->at, "sim-tmem", "an mma of %d rows into lane %u of tensor memory; it begins at lane 0%s",
                        e.s.m, lane, !pair && e.s.m == 64 ? " or 16" : "");
    for (int s = 0; s < nsides; s++) {
        if (!own_columns(side[s], t, tmem, (u32)columns_of(&e), "an mma writes")) return;
        check_columns(x, side[s], t, &e);
    }
    enqueue(x, &e);
}

static void umma_mx(w_sim_api *api, u32 kind, u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 accumulate) {
    thread *t = weiri_sim_self(api);
    tensor *x = tensor_of(t, "a tcgen05.mma");
    char why[160];
    entry e = { .by = t,
                .at = t->at,
                .tmem = tmem,
                .accumulate = accumulate != 0,
                .scaled = true,
                .scale_a = scale_a,
                .scale_b = scale_b };
    if (!x || !right_group(x, t, false, "a tcgen05.mma")) return;
    if (!weiri_tc_decode_scaled((weiri_tc_kind)kind, idesc, &e.sc, why, sizeof why)) {
        weiri_sim_fault(t->m, t, t->at, "sim-descriptor", "instruction descriptor %#x of a block-scaled mma: %s", idesc, why);
        return;
    }
    e.s = (weiri_tc_shape){ .kind = (weiri_tc_kind)kind, .m = TC_LANES, .n = e.sc.n };
    e.a = descriptor(t, a, "A");
    e.b = descriptor(t, b, "B");
    if (lane_of(tmem))
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "an mma of %d rows into lane %u of tensor memory; it begins at lane 0",
                        TC_LANES, lane_of(tmem));
    if (!own_columns(x, t, tmem, (u32)e.s.n, "an mma writes") || !check_scales(x, t, &e, false) ||
        !check_scales(x, t, &e, true))
        return;
    check_columns(x, x, t, &e);
    enqueue(x, &e);
}

static void tmem_cp(w_sim_api *api, u32 shape, u32 tmem, u64 desc) {
    thread *t = weiri_sim_self(api);
    tensor *x = tensor_of(t, "a tcgen05.cp");
    const cp_shape *cp = &cp_shapes[shape];
    entry e = { .by = t, .at = t->at, .tmem = tmem, .cp = cp, .s = { .m = TC_LANES, .n = (int)cp->columns } };
    if (!x || !right_group(x, t, false, "a tcgen05.cp")) return;
    e.b = descriptor(t, desc, "of a copy");
    if (lane_of(tmem))
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "a tcgen05.cp.%s to lane %u of tensor memory; it begins at lane 0",
                        cp->name, lane_of(tmem));
    if (!own_columns(x, t, tmem, cp->columns, "a tcgen05.cp writes")) return;
    check_columns(x, x, t, &e);
    enqueue(x, &e);
}

static void umma(w_sim_api *api, u32 ctas, u32 kind, u32 tmem, u64 a, u64 b, u32 idesc, u32 accumulate) {
    issue(weiri_sim_self(api), ctas > 1, kind, tmem, &a, 0, b, idesc, accumulate);
}

static void umma_ts(w_sim_api *api, u32 ctas, u32 tmem, u32 a, u64 b, u32 idesc, u32 accumulate) {
    issue(weiri_sim_self(api), ctas > 1, TC_KIND_TF32, tmem, NULL, a, b, idesc, accumulate);
}

static void commit(w_sim_api *api, u32 ctas, u32 bar, u32 mask) {
    thread *t = weiri_sim_self(api);
    tensor *x = tensor_of(t, "a tcgen05.commit");
    if (!x || !right_group(x, t, ctas > 1, "a tcgen05.commit") || !weiri_sync_need(t->c, bar, t)) return;
    u32 all = (1u << t->c->cl->n) - 1;
    if (mask & ~all)
        weiri_sim_fault(t->m, t, t->at, "sim-cluster", "a commit to the CTAs 0x%x of a cluster of %d", mask, t->c->cl->n);
    u64 late = weiri_sim_rand(t->m);
    u32 *vc = x->nclocks ? x->clocks[--x->nclocks] : weiri_race_clock(t->m);
    memset(vc, 0, (size_t)t->m->vc_n * sizeof *vc);
    weiri_race_release(t, vc);
    push(x, &(entry){ .by = t,
                      .at = t->at,
                      .commit = true,
                      .bar = bar,
                      .mask = mask,
                      .vc = vc,
                      .due = t->m->tick + (late & 1 ? late >> 8 & 255 : late >> 8 & 15) });
    t->m->ncommits++;
}

/* The commit at index i of the queue: the mmas of its thread before it are done, then it arrives. */
static void arrive(tensor *x, int i) {
    machine *m = x->c->m;
    entry now = x->q[i];
    int kept = 0;
    for (int j = 0; j < i; j++)
        if (!x->q[j].commit && x->q[j].by == now.by && !x->q[j].executed) execute(x, &x->q[j]);
    u32 clock = ++m->clock;
    for (int j = 0; j < x->nq; j++) {
        entry *e = &x->q[j];
        if (j > i || e->commit || e->by != now.by) {
            if (j != i) x->q[kept++] = *e;
            continue;
        }
        mark(x, e, false);
        tensor *side[2];
        int nsides = sides(x, e->s.pair, side);
        for (int s = 0; s < nsides; s++) {
            tensor *y = side[s];
            for (u32 c = column_of(e->tmem); c < column_of(e->tmem) + (u32)columns_of(e); c++)
                if (!--y->writing[c]) y->done[c] = clock;
            for (u32 c = 0; e->from_tmem && c < k_of(e); c++) read_done(y, column_of(e->at_tmem) + c, clock, now.by);
        }
        for (u32 c = 0; e->scaled && c < scale_columns(TC_LANES); c++) read_done(x, column_of(e->scale_a) + c, clock, now.by);
        for (u32 c = 0; e->scaled && c < scale_columns((u32)e->sc.n); c++) read_done(x, column_of(e->scale_b) + c, clock, now.by);
    }
    x->nq = kept;
    m->ncommits--;
    for (int r = 0; r < x->c->cl->n; r++)
        if (now.mask ? now.mask >> r & 1 : &x->c->cl->ctas[r] == x->c)
            weiri_sync_tell(&x->c->cl->ctas[r], now.bar, now.vc);
    if (x->nclocks < (int)(sizeof x->clocks / sizeof *x->clocks)) x->clocks[x->nclocks++] = now.vc;
    for (int r = 0; r < x->c->cl->n; r++)
        if (now.mask ? now.mask >> r & 1 : &x->c->cl->ctas[r] == x->c)
            weiri_sync_arrive(&x->c->cl->ctas[r], now.bar, 1, 0, now.by, now.at);
}

bool weiri_tc_step(machine *m, bool any) {
    int start = m->nctas ? (int)(weiri_sim_rand(m) % (u64)m->nctas) : 0;
    for (int n = 0; n < m->nctas; n++) {
        tensor *x = m->ctas[(start + n) % m->nctas].tc;
        for (int i = 0; x && i < x->nq; i++) {
            if (!x->q[i].commit || (!any && x->q[i].due > m->tick)) continue;
            bool first = true; /* a thread's commits arrive in order */
            for (int j = 0; j < i; j++) first &= !x->q[j].commit || x->q[j].by != x->q[i].by;
            if (!first) continue;
            arrive(x, i);
            return true;
        }
    }
    return false;
}

/* ---- loads -------------------------------------------------------------------------------------------------------------- */

static void run_ld(warp *w, u32 members) {
    (void)members;
    thread *t = w->lane[0];
    tensor *x = t->c->tc;
    u32 n = t->kind & 0x3f, tmem = t->arg[0], c0 = column_of(tmem), quarter = t->tid / 32 % QUARTERS;
    if (!same_in_lanes(w, 1, "tcgen05.ld") || !own_columns(x, t, tmem, n, "tcgen05.ld reads")) return;
    if (lane_of(tmem) != quarter * TC_WARP_LANES) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.ld of lane %u by warp %u, which reaches lanes %u to %u",
                        lane_of(tmem), t->tid / 32, quarter * TC_WARP_LANES, quarter * TC_WARP_LANES + TC_WARP_LANES - 1);
        return;
    }
    for (u32 c = c0; c < c0 + n; c++) {
        if (x->writing[c]) {
            weiri_sim_fault(t->m, t, t->at, "sim-tmem",
                            "tcgen05.ld of column %u while an mma in flight writes it: the wait for its commit is missing", c);
            return;
        }
        for (int i = 0; i < 32; i++)
            if (!sums_over(x, w->lane[i], c, "tcgen05.ld reads") ||
                !stores_over(x, w->lane[i], quarter, c, false, "tcgen05.ld reads"))
                return;
        x->loading[c]++;
    }
    for (u32 l = 0; l < 32; l++) {
        thread *o = w->lane[l];
        if (o->ntc_ld == TC_LOADS_IN_FLIGHT) {
            weiri_sim_fault(t->m, o, o->at, "sim-tmem", "more than %d loads of tensor memory in flight", o->ntc_ld);
            return;
        }
        tc_load *p = &o->tc_ld[o->ntc_ld++];
        *p = (tc_load){ .r = o->tc_r, .n = n, .column = c0 };
        u32 lane = lane_of(tmem) + l;
        for (u32 i = 0; i < n; i++) {
            bool there = x->written[2 * (c0 + i) + lane / 64] >> lane % 64 & 1;
            const u32 poison = TC_POISON;
            p->value[i] = there ? x->cell[(c0 + i) * TC_LANES + lane] : TC_POISON;
            memcpy(&o->tc_r[i], &poison, sizeof poison);
        }
    }
}

static void run_wait_ld(warp *w, u32 members) {
    (void)members;
    tensor *x = w->lane[0]->c->tc;
    u32 now = ++w->lane[0]->m->clock;
    for (int l = 0; l < 32; l++) {
        thread *t = w->lane[l];
        for (int i = 0; i < t->ntc_ld; i++) {
            tc_load *p = &t->tc_ld[i];
            memcpy(p->r, p->value, p->n * sizeof(u32));
            for (u32 c = p->column; c < p->column + p->n && l == 0; c++) {
                u32 q = t->tid / 32 % QUARTERS;
                x->loading[c]--;
                x->seen[q][c].read = now;
                x->seen[q][c].fenced = 0;
                x->seen[q][c].by = t;
            }
        }
        t->ntc_ld = 0;
    }
}

static void tmem_ld(w_sim_api *api, u32 n, u32 *r, u32 tmem) {
    thread *t = weiri_sim_self(api);
    if (!tensor_of(t, "tcgen05.ld")) return;
    t->arg[0] = tmem;
    t->tc_r = r;
    weiri_sync_warp(t, OP_LD | n, 0xffffffffu, run_ld);
}

static void tmem_wait_ld(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    if (tensor_of(t, "tcgen05.wait::ld")) weiri_sync_warp(t, OP_WAIT_LD, 0xffffffffu, run_wait_ld);
}

/* ---- stores ------------------------------------------------------------------------------------------------------------- */

/* Does an mma, or a load of a warp that reaches this quarter, read column c? */
static bool is_read(const tensor *x, u32 quarter, u32 c) {
    for (int i = 0; i < x->nq; i++) {
        const entry *e = &x->q[i];
        if (!e->commit && (reads_scales(e, c) || (e->from_tmem && c - column_of(e->at_tmem) < k_of(e)))) return true;
    }
    for (int i = (int)quarter; i < x->c->m->threads_per_cta / 32; i += QUARTERS) {
        const thread *t = x->c->warps[i].lane[0];
        for (int j = 0; j < t->ntc_ld; j++)
            if (c - t->tc_ld[j].column < t->tc_ld[j].n) return true;
    }
    return false;
}

static void run_st(warp *w, u32 members) {
    (void)members;
    thread *t = w->lane[0];
    tensor *x = t->c->tc;
    u32 n = t->kind & 0x3f, tmem = t->arg[0], c0 = column_of(tmem), quarter = t->tid / 32 % QUARTERS, now = ++t->m->clock;
    if (!same_in_lanes(w, 1, "tcgen05.st") || !own_columns(x, t, tmem, n, "tcgen05.st writes")) return;
    if (lane_of(tmem) != quarter * TC_WARP_LANES) {
        weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.st to lane %u by warp %u, which reaches lanes %u to %u",
                        lane_of(tmem), t->tid / 32, quarter * TC_WARP_LANES, quarter * TC_WARP_LANES + TC_WARP_LANES - 1);
        return;
    }
    for (u32 c = c0; c < c0 + n; c++) {
        if (x->writing[c] || is_read(x, quarter, c)) {
            weiri_sim_fault(t->m, t, t->at, "sim-tmem", "tcgen05.st to column %u while %s in flight %s it: the wait is missing",
                            c, x->writing[c] ? "an mma or copy" : "a load or an mma", x->writing[c] ? "writes" : "reads");
            return;
        }
        const thread *reader = x->seen[quarter][c].read ? x->seen[quarter][c].by : NULL;
        if (reader && reader->tid / 32 != t->tid / 32 &&
            !(x->seen[quarter][c].fenced && t->tc_after > x->seen[quarter][c].fenced)) {
            weiri_sim_fault(
                t->m, t, t->at, "sim-tcgen05-fence",
                "tcgen05.st to column %u, which warp %u has read: tcgen05.fence::%s is missing", c, reader->tid / 32,
                x->seen[quarter][c].fenced ? "after_thread_sync behind the wait" : "before_thread_sync before the hand-over");
            return;
        }
        for (int i = 0; i < 32; i++)
            if (!sums_over(x, w->lane[i], c, "tcgen05.st writes") ||
                !stores_over(x, w->lane[i], quarter, c, true, "tcgen05.st writes"))
                return;
        x->put[quarter][c].stored = now;
        x->put[quarter][c].waited = x->put[quarter][c].fenced = 0;
        x->put[quarter][c].by = t;
        for (u32 l = 0; l < TC_WARP_LANES; l++) {
            u32 lane = lane_of(tmem) + l;
            memcpy(&x->cell[c * TC_LANES + lane], &w->lane[l]->tc_r[c - c0], sizeof(u32));
            x->written[2 * c + lane / 64] |= 1ull << lane % 64;
        }
    }
}

static void run_wait_st(warp *w, u32 members) {
    (void)members;
    thread *t = w->lane[0];
    tensor *x = t->c->tc;
    u32 now = ++t->m->clock;
    for (int q = 0; q < QUARTERS; q++)
        for (int c = 0; c < TC_COLUMNS; c++)
            if (x->put[q][c].stored && x->put[q][c].by == t && !x->put[q][c].waited) x->put[q][c].waited = now;
}

static void tmem_st(w_sim_api *api, u32 n, u32 tmem, const u32 *r) {
    thread *t = weiri_sim_self(api);
    if (!tensor_of(t, "tcgen05.st")) return;
    t->arg[0] = tmem;
    t->tc_r = (u32 *)(uintptr_t)r;
    weiri_sync_warp(t, OP_ST | n, 0xffffffffu, run_st);
}

static void tmem_wait_st(w_sim_api *api) {
    thread *t = weiri_sim_self(api);
    if (tensor_of(t, "tcgen05.wait::st")) weiri_sync_warp(t, OP_WAIT_ST, 0xffffffffu, run_wait_st);
}

/* ---- begin and end ------------------------------------------------------------------------------------------------------ */

void weiri_tc_make(cta *c) {
    machine *m = c->m;
    c->tc = weiri_sim_alloc(m, sizeof *c->tc);
    c->tc->c = c;
    c->tc->cell = weiri_sim_alloc(m, sizeof(u32) * TC_LANES * TC_COLUMNS);
    c->tc->written = weiri_sim_alloc(m, 2 * sizeof(u64) * TC_COLUMNS);
    c->tc->d = weiri_sim_alloc(m, sizeof(float) * 2 * TC_LANES * TC_MAX_N);
}

void weiri_tc_reset(cta *c) {
    tensor *x = c->tc;
    if (!x) return;
    x->nallocs = x->nq = 0;
    x->relinquished = false;
    x->group = 0;
    memset(x->writing, 0, sizeof x->writing);
    memset(x->loading, 0, sizeof x->loading);
    memset(x->done, 0, sizeof x->done);
    memset(x->seen, 0, sizeof x->seen);
    memset(x->put, 0, sizeof x->put);
}

/* What is in flight, an mma or copy before commits; NULL: nothing. */
static const entry *in_flight(const tensor *x) {
    const entry *e = x->nq ? x->q : NULL;
    for (int i = 0; i < x->nq; i++)
        if (!x->q[i].commit) return &x->q[i];
    return e;
}

/* A commit of another CTA of the cluster that has not arrived here. */
static const entry *commit_to(const cta *c) {
    for (int r = 0; r < c->cl->n; r++) {
        const tensor *y = c->cl->ctas[r].tc;
        for (int i = 0; y && y->c != c && i < y->nq; i++)
            if (y->q[i].commit && y->q[i].mask >> c->rank & 1) return &y->q[i];
    }
    return NULL;
}

void weiri_tc_cta_exit(cta *c) {
    tensor *x = c->tc;
    if (!x) return;
    const tensor *y = x->group == 2 ? peer_of(x) : NULL;
    for (int i = 0; y && i < y->nq; i++) {
        if (y->q[i].commit) continue;
        weiri_sim_fault(c->m, y->q[i].by, y->q[i].at, "sim-exit", "CTA %u exits while an mma of its pair is in flight", c->block);
        return;
    }
    const entry *own = in_flight(x), *e = own ? own : commit_to(c);
    if (e) {
        weiri_sim_fault(c->m, e->by, e->at, "sim-exit", "CTA %u exits while %s is in flight", c->block,
                        e->cp       ? "a tcgen05.cp"
                        : !e->commit ? "an mma"
                        : own       ? "a tcgen05.commit"
                                    : "a tcgen05.commit to it");
        return;
    }
    if (x->nallocs)
        weiri_sim_fault(c->m, NULL, 0, "sim-tmem",
                        "CTA %u exits with %u columns of tensor memory allocated: tcgen05.dealloc is missing", c->block,
                        x->alloc[0].columns);
}

void weiri_tc_calls(w_sim_api *api) {
    api->w_tmem_alloc = tmem_alloc;
    api->w_tmem_free = tmem_free;
    api->w_sim_umma = umma;
    api->w_tmem_alloc_pair = tmem_alloc_pair;
    api->w_tmem_free_pair = tmem_free_pair;
    api->w_sim_umma_ts = umma_ts;
    api->w_sim_umma_mx = umma_mx;
    api->w_sim_tmem_cp = tmem_cp;
    api->w_sim_tmem_st = tmem_st;
    api->w_tmem_wait_st = tmem_wait_st;
    api->w_sim_umma_commit = commit;
    api->w_sim_tmem_ld = tmem_ld;
    api->w_sim_tmem_wait_ld = tmem_wait_ld;
    api->w_tcgen05_before = before;
    api->w_tcgen05_after = after;
}
