/* What the files of src/sim/ share: the machine while one launch runs. Addresses are those of the CTA's shared window; times
 * are scheduler ticks. */
#ifndef WEIRI_MACHINE_H
#define WEIRI_MACHINE_H

#define WEIR_SIM_LIBRARY
#include "../../kernels/device/weir_sim.h"
#include "../tcgen05.h"
#include "../tell.h"
#include "../tmap.h"
#include "fiber.h"
#include "sim.h"

typedef struct weiri_machine machine;
typedef struct weiri_cta cta;
typedef struct weiri_warp warp;
typedef struct weiri_thread thread;
typedef struct weiri_cluster_state cluster;

enum {
    SMEM_BASE = 1024,            /* address of the dynamic shared memory: the first KiB is the system's, as on sm_90 */
    STACK = 128 << 10,           /* bytes a thread; pages are only taken when touched */
    GRANULE = 16,                /* bytes; TMA, wgmma and stmatrix move no less */
    MAX_TX = (1 << 20) - 1,      /* bytes and arrivals one mbarrier phase can count */
    MAX_FINDINGS = 8,
    NO_ADDR = -1,
    NO_VALUE = 0x7fdeadbd,       /* what a variable holds that nobody has set: a NaN */
    TC_POISON = 0x7fdeadbf,      /* what tensor memory holds before an mma, and registers before tcgen05.wait::ld */
    TC_WARP_OP = 0x800           /* kinds of warp-wide tcgen05 instructions */
};

/* ---- ORDER WAIT: names in run.c */
typedef enum wait_kind {
    WAIT_NONE = 0,
    WAIT_MBAR,                   /* bar, parity */
    WAIT_POLL,                   /* a failed w_mbar_try: goes on when anything has happened */
    WAIT_NAMED,                  /* id */
    WAIT_CTA, WAIT_CLUSTER,
    WAIT_WARP,                   /* the other lanes of a warp-wide operation */
    WAIT_WGMMA,                  /* the other threads of the warpgroup have not issued the same wgmmas */
    WAIT_REGS
} wait_kind;

typedef struct bar {             /* an mbarrier */
    u32 addr;
    bool live;                   /* initialised */
    u32 by; bool fenced;         /* by this thread, which has run fence.mbarrier_init since */
    u32 who, clock;              /* when that was: its place in a clock, and its own there */
    bool published; u64 at_generation;   /* after the fence its thread has arrived at the cluster barrier of this generation */
    i64 count, pending;          /* arrivals per phase, of this phase still missing */
    i64 tx;                      /* bytes armed and not landed; below 0 while more landed than was armed */
    i64 landed;                  /* bytes landed in this phase, for messages */
    u64 phase;                   /* phases completed */
    thread *waiting;             /* linked by next_waiting */
    u32 *arrived, *done;         /* clocks: of all who have arrived; of the phases completed */
    u32 *issued;                 /* clock: of all who have arrived or have issued what will, whether or not that tells of memory */
    struct seen_by *seen; int nseen, seen_cap;   /* who has seen the phase before the open one complete */
} bar;

struct seen_by { u32 who, clock, at, tid, joins; u64 mmas; };   /* a wait: its thread's clock, warp-wide operations and wgmmas then */

typedef struct named {           /* named barrier of a CTA; [0] is unused: w_sync_cta counts live threads */
    u32 threads, arrived;        /* expected, 0 when idle; come so far */
    u64 generation;
    u32 *vc;                     /* clock of those who have come; NULL: never used */
} named;

/* An asynchronous operation of the copy engines. */
typedef enum op_kind { OP_LOAD = 1, OP_STORE, OP_PUSH, OP_FETCH, OP_CP, OP_CP_ARRIVE } op_kind;
typedef struct weiri_word weiri_word;      /* of shared memory: race.c */
typedef struct weiri_page weiri_page;      /* of global memory */
typedef struct weiri_sync_var sync_var;

typedef struct op {
    op_kind kind;
    thread *by; u32 at;          /* who issued it, under which action */
    cta *dst_cta;                /* LOAD, PUSH: where bytes and completion go */
    cta *bar_cta;                /* LOAD: where the completion goes */
    cta *src_cta;                /* STORE, PUSH */
    const weiri_tmap *map; i32 c[5]; bool reduce;
    u32 dst, src, bytes;         /* shared addresses; CP: dst and the size written */
    const char *gsrc; u32 given; /* CP: global source, bytes of it that exist; LOAD without a map: the source */
    char *gdst; weir_dtype type; /* STORE without a map: where to, and of what the elements are that it adds */
    u32 bar;                     /* LOAD, PUSH, CP_ARRIVE: mbarrier in dst_cta */
    u64 due;                     /* earliest tick; UINT64_MAX: only when forced or when nothing else can happen */
    u64 group;                   /* of its thread: STORE a bulk group, CP, CP_ARRIVE a cp.async group */
    u32 serial;                  /* STORE: counted per warp; CP_ARRIVE: its thread's clock when it was issued */
    bool read, written, waited;  /* STORE: the source is read; the result is in memory; the thread has waited for the read */
                                 /* CP: written, the bytes are there; nobody but a wait of the thread can tell */
    u8 *data; size_t cap;        /* STORE: what was read */
    int slot;                    /* in machine.pending */
    struct op *next;             /* of its thread (STORE, CP, CP_ARRIVE), oldest first; or free list */
} op;

/* One accumulator of a warpgroup while wgmmas on it are in flight. */
typedef struct acc {
    int n;                       /* columns; 64 rows */
    int users;                   /* threads whose registers are still bound to it */
    bool live;
    float *d;                    /* row-major 64 x n */
    struct acc *next;            /* free list */
} acc;

typedef struct acc_use { float *d; int n; acc *a; u64 last; } acc_use;   /* of a thread: registers, last op on them */

typedef struct mma {             /* one wgmma of a warpgroup */
    u32 n, type, ta, tb, accumulate, rs;
    u64 a, b;                    /* descriptors */
    u32 at;
    int issued;                  /* threads that have issued it */
    acc *acc;
    u32 *ra;                     /* RS: 128 x 4 registers */
    bool read;                   /* executed */
    bool marked;                 /* its operands count as being read */
    u8 warps;                    /* that have been checked against the writers of its operands */
} mma;

typedef struct warpgroup {
    cta *c;
    mma *q; int nq, cap;         /* window of ops: q[i] is op first + i */
    u64 first;
    u64 executed, unmarked;      /* ops: all below are done, all below have been waited for */
    u64 *group_end; u64 group_first; int ngroups, group_cap;   /* ops below group_end[i] are in groups up to group_first + i */
    acc *accs;                   /* free ones */
} warpgroup;

typedef struct actor {           /* whose events are compared with the plan */
    int task;                    /* -1: warps of no task */
    thread *first; int nthreads;
    u32 *log; u64 base; int n, cap;   /* ids of events base .. base + n */
    int *state; int nstates;     /* positions of the automaton; -1 before the first event */
    bool ended;
} actor;

typedef struct tensor tensor;    /* tensor memory of a CTA: tcgen05.c */
typedef struct tc_load { u32 *r, n, column, value[32]; } tc_load;   /* registers, and what they get at the wait */

struct weiri_thread {
    weiri_fiber f;
    machine *m;
    cta *c;
    warp *w;
    actor *actor;
    u32 tid, lane;
    bool alive, blocked;
    bool slow;                   /* by the seed: others go first */
    int row;                     /* of the trace, -1: it has none */
    wait_kind wait; bar *bar; u32 parity; u32 id; u64 need;   /* what it waits for */
    u32 kind, members;           /* WAIT_WARP: the operation */
    u64 woken;                   /* POLL: machine.progress at the poll */
    thread *next_waiting;
    u32 at;                      /* last action begun */
    u64 nevents;
    u32 fence;                   /* machine.clock of its last fence.proxy.async */
    u32 fences[16]; u32 nfences; /* its own place in its clock at the last ones, by number % 16; how many there were */
    u64 accesses; const void *spot;   /* since it last gave way; the last place it read */
    /* bulk and cp.async groups: ops of groups below `done` have left the lists */
    op *bulk, *bulk_last; u64 bulk_group; u32 group_serial[16];   /* last op of a group, by group % 16 */
    op *cp, *cp_last; u64 cp_group;
    /* wgmma */
    u64 mmas, mma_groups;        /* issued; groups closed */
    bool mma_fenced;             /* has run wgmma.fence */
    acc_use use[16]; int nuse;
    /* clusters and registers */
    u64 joined[16];              /* per named barrier: generation + 1 of its last use */
    u64 cluster_arrived, cluster_known; bool cluster_open;   /* known: generations that it has waited for */
    u32 regs;
    /* warp-wide operations */
    u32 arg[5]; u32 ret[4];
    void *mma_d; const void *mma_a, *mma_b;   /* mma.sync: its registers */
    /* races */
    u32 *vc; u32 comp;           /* its clock, and its own place in one */
    u32 joins;                   /* operations of its whole warp that it was part of */
    bool learnt;                 /* of others, since its warp last joined */
    u32 *fence_vc; bool fenced;  /* its clock at its last __threadfence */
    sync_var *met[4]; int nmet;  /* atomics since then */
    /* tcgen05 */
    u32 tc_after;                /* machine.clock of its last fence::after_thread_sync */
    u32 *tc_r; tc_load tc_ld[TC_LOADS_IN_FLIGHT]; int ntc_ld;
    /* parity lap: phases this thread has passed on the barriers it waits on */
    struct { u32 addr; u32 parity; u64 phase; bool set; } *seen; int nseen, seen_cap;
};

struct weiri_warp { thread *lane[32]; u32 bulk_serial; };

struct weiri_cta {
    machine *m;
    cluster *cl;
    int slot;                    /* in machine.ctas */
    u32 block, rank;             /* blockIdx.x; in its cluster */
    bool running;
    int alive;                   /* threads */
    u8 *smem;                    /* host memory of address SMEM_BASE, 1024-aligned */
    /* per granule */
    u16 *defined;                /* bit per byte */
    u16 *readers, *fillers;      /* asynchronous reads and writes in flight */
    u8 *is_bar;                  /* holds an mbarrier */
    /* per 4 bytes, of the last generic write: machine.clock then (0: none since the last asynchronous write), thread + 1 with
     * the top bit set for cp.async */
    u32 *clock; u16 *writer;
    bar *bars; int nbars, bar_cap; u16 *bar_at;   /* per 8 bytes: index in bars + 1 */
    named named[16];
    u32 cta_sync;                /* threads at w_sync_cta */
    bool cta_counts; u32 cta_true, cta_sum;   /* they count (__syncthreads_count); predicates so far; of the last barrier */
    u32 *vc_sync;                /* their clock */
    weiri_word *words;           /* per 4 bytes: who accessed them last */
    i64 regs_free;
    warp *warps;
    warpgroup *wgs;
    tensor *tc;                  /* NULL: the plan has no tensor memory */
    actor *actors; int nactors;
    thread *threads;
};

struct weiri_cluster_state {
    cta *ctas; int n; bool running; u64 generation; int arrived; int running_ctas;
    u32 *vc, *done;              /* clocks: of those who have arrived; of the last generation */
    struct foreign *known;       /* of other clusters */
};

typedef struct automaton automaton;

struct weiri_machine {
    w_sim_api api;               /* first: the calls get its address */
    weir_ctx *ctx;
    const weiri_plan *plan;
    const weiri_sim_run *run;
    struct weiri_sim *sim;
    weiri_arena a;
    u64 rng;
    int nctas, nclusters, next_block, threads_per_cta;
    i64 smem_bytes;
    cta *ctas; cluster *clusters; thread *threads;
    automaton **automata;        /* per task, then one for warps of no task */
    int *task_of;                /* per action id: its task, -1 */
    weiri_fiber main;
    thread *cur;
    char *stacks;
    thread **ring; int ring_first, ring_n, ring_cap;      /* runnable */
    op **pending; int npending, pending_cap;
    op *free_ops;
    int ncommits;                /* tcgen05.commit that have not arrived */
    u64 tick, progress;          /* progress: state changes others may wait for */
    u64 yields;                  /* since the last progress */
    u32 clock;                   /* of proxy fences; starts at 1 */
    int vc_n, vc_cta, bar_cap;   /* clocks: components, those of one CTA; mbarriers a CTA may have */
    weiri_sim_before before;     /* whose clusters are unfinished until a griddepcontrol.wait; first == end: none */
    bool grid_waited, grid_launched;   /* by any thread */
    u32 first_home;              /* number of the launch's first cluster, over all launches */
    sync_var **sync_vars;
    int pages_made;              /* of global memory's records */
    char *params; size_t params_size;   /* copies the threads may read */
    float *mat_a, *mat_b;        /* operand scratch: 256 x 32, 32 x 256 */
    i16 *exp_a, *exp_b;          /* and its exponents: 64 x 32, 32 x 256 */
    float *table[5];             /* by wgmma type: every bit pattern as a float, made when first used */
    weiri_buf *findings; int nfindings;
    bool stop;
    bool skips;                  /* some tasks take stages in turn (interleave, lanes of a work-tile loop): they skip phases */
    bool wild;                   /* by the seed: any runnable thread is next */
    double began, patience;      /* seconds: of the clock at its beginning; over until it speaks */
    bool tardy;                  /* by the seed: what is under way arrives where nobody else can go on, no sooner */
};

/* ---- run.c ------------------------------------------------------------------------------------------------------------- */

u64 weiri_sim_rand(machine *m);                      /* seeded */
/* Records a fault and ends the run: does not return when a thread runs. `by` may be NULL. `rule` is shown in brackets. */
void weiri_sim_fault(machine *m, const thread *by, u32 at, const char *rule, const char *fmt, ...) WEIRI_PRINTF(5, 6);
void weiri_sim_block(thread *t, wait_kind why);      /* returns when woken */
void weiri_sim_wake(thread *t);
void weiri_sim_yield(thread *t);
void weiri_sim_describe(const thread *t, char *out, size_t size);                 /* "task 'mma', CTA 0, warp 4" */
const char *weiri_sim_place(const machine *m, u32 at, char *out, size_t size);    /* "gemm.lua:41", "" when unknown */
void *weiri_sim_alloc(machine *m, size_t n);         /* dies with the machine; zeroed, never NULL */
static inline thread *weiri_sim_self(w_sim_api *api) { return ((machine *)(void *)api)->cur; }
/* The action that t has begun is about this shared address. */
static inline void weiri_sim_touch(const thread *t, u32 addr) {
    if (t->row >= 0) weiri_timeline_touch(t->m->run->trace, t->row, (i64)addr - SMEM_BASE);
}

/* ---- smem.c ------------------------------------------------------------------------------------------------------------ */

void weiri_smem_reset(cta *c);
/* Is [addr, addr + n) shared memory of the CTA? A fault of `by` otherwise (`what` names the access). */
bool weiri_smem_inside(const cta *c, i64 addr, i64 n, const thread *by, const char *what);
static inline u8 *weiri_smem_at(const cta *c, u32 addr) { return c->smem + (addr - SMEM_BASE); }
/* Generic accesses of a thread to its own CTA. */
void weiri_smem_read(thread *t, u32 addr, u32 n, const char *what);
void weiri_smem_write(thread *t, u32 addr, u32 n, const char *what);
void weiri_smem_stamp(cta *c, u32 addr, u32 n, const thread *by, bool cp);
/* Asynchronous reads and writes by `by`; begin checks and marks, end unmarks. Writes are defined and fenced at the end. */
void weiri_smem_aread_begin(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what);
void weiri_smem_aread_end(cta *c, u32 addr, u32 n);
void weiri_smem_fill_begin(cta *c, u32 addr, u32 n, const thread *by, u32 at, bool async_proxy, const char *what);
void weiri_smem_fill_end(cta *c, u32 addr, u32 n, bool async_proxy);
/* "'smem_a' stage 2, byte 128" or "shared address 1024" */
void weiri_smem_name(const cta *c, u32 addr, char *out, size_t size);
void weiri_smem_access(w_sim_api *api, const void *p, u64 size, u32 kind);        /* of the hooks: W_SIM_WRITE, W_SIM_ATOMIC */
void weiri_smem_calls(w_sim_api *api);

/* ---- race.c ------------------------------------------------------------------------------------------------------------ */

void weiri_race_make(machine *m);                    /* how long clocks are */
void weiri_race_cta(cta *c);                         /* allocates */
void weiri_race_reset(cta *c);                       /* a CTA starts */
u32 *weiri_race_clock(machine *m);                   /* a new one, of nothing */
u32 weiri_race_bar(const cta *c, const bar *b);      /* its component */
u32 weiri_race_mmas(const cta *c, u32 warpgroup);
u32 weiri_race_joined(const cta *c, u32 warp);
void weiri_race_warp_joined(thread *t);
void weiri_race_join(const machine *m, u32 *to, const u32 *from);
void weiri_race_release(thread *t, u32 *to);
void weiri_race_acquire(thread *t, const u32 *from);
void weiri_race_join_warp(warp *w, u32 members);
void weiri_race_mma_waited(thread *t, u64 ops);      /* the first `ops` wgmmas of its warp are done */
void weiri_race_fenced(thread *t);                   /* a fence.proxy.async: its plain reads so far are over for that proxy */
void weiri_race_grid_waited(thread *t);              /* the launch before is complete */
void weiri_race_bulk_waited(thread *t, u32 serial, bool read_only);
/* Shared memory. A plain access: checked and kept. */
void weiri_race_access(thread *t, u32 addr, u32 n, bool write, bool atomic, const char *what);
/* An asynchronous one: checked when it is issued, kept as what tells others that it is over. */
void weiri_race_check(cta *c, u32 addr, u32 n, const thread *by, u32 at, bool write, const char *what);
/* ... and are the plain reads of what the async proxy is to fill fenced, as far as `by` knows? */
void weiri_race_late(cta *c, u32 addr, u32 n, const thread *by, u32 at, const char *what);
void weiri_race_filled(cta *c, u32 addr, u32 n, const cta *counts, const bar *b, u32 at);   /* b: of `counts` */
void weiri_race_pushed(cta *c, u32 addr, u32 n, const cta *to, const bar *b, u32 at);
void weiri_race_wrote(cta *c, u32 addr, u32 n, const thread *by, u32 clock, u32 at);
void weiri_race_read(cta *c, u32 addr, u32 n, const thread *by, u32 at);
void weiri_race_mma(cta *c, u32 addr, u32 n, u32 warpgroup, u64 op, u32 at);
void weiri_race_bulk(cta *c, u32 addr, u32 n, u32 warp, u32 serial, u32 at);
/* Global memory. */
void weiri_race_global(thread *t, const void *p, u64 n, bool write, bool atomic);
void weiri_race_global_load(thread *t, u32 at, const void *p, u64 n, const cta *to, const bar *b);
void weiri_race_global_store(thread *t, u32 at, const void *p, u64 n, bool add, u32 serial);
u64 weiri_race_pages(u64 bytes);
void weiri_race_free_pages(weir_ctx *c, weiri_page **pages, u64 n);
void weiri_race_calls(w_sim_api *api);

/* ---- sync.c ------------------------------------------------------------------------------------------------------------ */

void weiri_sync_calls(w_sim_api *api);
bar *weiri_sync_bar(cta *c, u32 addr);               /* NULL: none there */
bar *weiri_sync_need(cta *c, u32 addr, const thread *by);   /* or a fault */
const weiri_bar *weiri_sync_planned(const machine *m, u32 addr, int *stage);      /* the plan's run of barriers at an address */
void weiri_sync_bar_name(const cta *c, const bar *b, char *out, size_t size);     /* "'ab_full'[2]" */
void weiri_sync_complete(cta *c, u32 addr, u32 bytes, const thread *by, u32 at);  /* bytes landed */
void weiri_sync_arrive(cta *c, u32 addr, i64 arrivals, i64 expect, const thread *by, u32 at);
void weiri_sync_tell(cta *c, u32 addr, const u32 *vc);   /* an arrival to come brings this knowledge */
void weiri_sync_tell_one(cta *c, u32 addr, const thread *by, u32 clock);
void weiri_sync_exit(thread *t);                     /* the thread ends: barriers that count live threads may open */
/* Joins the lanes of `members` at operation `kind`; the last to come runs `fn` over the lanes, then all go on. */
void weiri_sync_warp(thread *t, u32 kind, u32 members, void (*fn)(warp *w, u32 members));

/* ---- copy.c ------------------------------------------------------------------------------------------------------------ */

void weiri_copy_calls(w_sim_api *api);
bool weiri_copy_step(machine *m, bool any);          /* completes one pending op that is due (any: due or not); false: none */
void weiri_copy_exit(thread *t);
void weiri_copy_cta_exit(cta *c);
const char *weiri_copy_name(op_kind k);              /* "a TMA load" */
const op *weiri_copy_reader(const cta *c, u32 addr); /* an op that still reads this granule */
const op *weiri_copy_filler(const cta *c, u32 addr, u32 n);   /* that fills some of these bytes */

/* ---- wgmma.c ----------------------------------------------------------------------------------------------------------- */

void weiri_wgmma_calls(w_sim_api *api);
void weiri_wgmma_reset(warpgroup *g);
void weiri_wgmma_exit(thread *t);
void weiri_wgmma_registers(thread *t, const void *p, u64 size, bool write);       /* an access of t to its own stack */
const mma *weiri_wgmma_reader(const cta *c, u32 addr);
bool weiri_wgmma_ready(const thread *t, u64 ops);    /* have all threads of the warpgroup issued the first `ops` wgmmas? */

/* 16 bytes of operand A or B of a wgmma type as floats; returns how many. */
int weiri_wgmma_decode(machine *m, u32 type, bool b, const void *bytes, float *out);
/* Of a register that holds no value: which rule that breaks, and what it holds instead. NULL: it may hold one. */
const char *weiri_sim_poison_rule(u32 bits);
const char *weiri_sim_poison(u32 bits);
/* Addresses of the 16-byte pieces of an operand, returns how many; its elements as floats. */
int weiri_wgmma_pieces(u64 desc, u32 rows, u32 mn_major, u32 *addr);
void weiri_wgmma_operand(const cta *c, u64 desc, u32 rows, u32 mn_major, u32 type, float *out, u32 row_stride, u32 k_stride);

/* ---- sums.c ------------------------------------------------------------------------------------------------------------ */

typedef enum weiri_sums_of { WEIRI_SUMS_MMA, WEIRI_SUMS_WGMMA, WEIRI_SUMS_F16 } weiri_sums_of;
enum { SUMS_ROWS = 64, SUMS_K = 32, SUMS_N = 256 };  /* the most; n is a multiple of 8 */
/* d (rows x n) += a (rows x k) * b (k x n) of one mma.sync or wgmma as an H200 adds, to the bit; type: W_BF16 ... Reorders a, b.
 * WEIRI_SUMS_F16: an mma.sync of f16 that adds in f16; its sums are still to be rounded to f16. */
void weiri_sums(machine *m, weiri_sums_of of, u32 type, float *restrict d, float *a, float *b, u32 rows, u32 n, u32 k);
/* The same of 64 rows of a tcgen05.mma, which nobody has measured. */
void weiri_sums_in_turn(float *restrict d, const float *restrict a, const float *restrict b, u32 n, u32 k);

/* ---- scaled.c ---------------------------------------------------------------------------------------------------------- */

/* An operand's rows as numbers, out[row][k], each times its scale; scales: s->scales bytes a row. */
void weiri_scaled_operand(const cta *c, u64 desc, u32 rows, const weiri_tc_scaled *s, bool b, const u8 *scales, double *out);
void weiri_scaled_multiply(float *d, const double *a, const double *b, u32 rows, u32 n,
                           u32 k); /* d[row][n] += a[row][k] * b[n][k] */

/* ---- mma.c ------------------------------------------------------------------------------------------------------------- */

void weiri_mma_calls(w_sim_api *api);

/* ---- tcgen05.c --------------------------------------------------------------------------------------------------------- */

void weiri_tc_calls(w_sim_api *api);
void weiri_tc_make(cta *c);
void weiri_tc_reset(cta *c);
void weiri_tc_cta_exit(cta *c);
bool weiri_tc_step(machine *m, bool any);            /* lets one commit arrive that is due (any: due or not); false: none */
const thread *weiri_tc_reader(const cta *c, u32 addr, u32 *at);   /* whose mma in flight reads this address, under which action */

/* ---- match.c ----------------------------------------------------------------------------------------------------------- */

void weiri_match_build(machine *m);
int weiri_match_states(const machine *m, int task);  /* room for actor.state */
void weiri_match_start(actor *a);
void weiri_match_event(thread *t, u32 id);
void weiri_match_exit(thread *t);

/* ---- host.c ------------------------------------------------------------------------------------------------------------ */

struct weiri_sim *weiri_host_sim(weir_ctx *c);       /* the context's; NULL: no memory */
/* Compiles or finds the library of a source; `entry` is its exported function. */
weir_status weiri_host_build(weir_ctx *c, const weiri_sim_run *r, void (**entry)(w_sim_api *), weiri_buf *log);
/* Stacks for n threads, kept for the next run. */
char *weiri_host_stacks(weir_ctx *c, int n, size_t size);
/* Is [p, p + n) in one range a kernel may access? Else the nearest range before or after, for messages. */
bool weiri_host_range(struct weiri_sim *s, const void *p, u64 n, char *why, size_t size);
/* "'x' byte 128" */
void weiri_host_name(struct weiri_sim *s, const void *p, char *out, size_t size);
/* The records of the range that holds p, and p's place in it, from a multiple of 4; NULL: none, or no memory. */
weiri_page **weiri_host_pages(struct weiri_sim *s, weir_ctx *c, const void *p, u64 *offset);
u32 weiri_host_homes(struct weiri_sim *s, u32 clusters);          /* numbers for the clusters of a launch: the first one's */

#endif
