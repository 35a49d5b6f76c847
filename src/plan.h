/* The plan: the one table of truth. SMEM offsets, mbarriers with counts and bytes, named barriers, registers, launch shape, and
 * every op lowered to actions. prove.c, emit.c, launch.c and sim/ read it; none of them computes an offset, a count or a byte
 * number of its own. Storage is in the plan's arena. */
#ifndef WEIRI_PLAN_H
#define WEIRI_PLAN_H

#include <string.h>

#include "model.h"

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

/* ORDER ACT: src/plan_print.c keeps the names in this order */
typedef enum weiri_act {
    ACT_NONE = 0,
    ACT_WAIT,        /* wait for the phase of `bar` at the stage of `cur` (STAGE_NEXT) */
    ACT_ARRIVE,      /* arrive on `bar` at `stage`: `arrivals` by one execution of one actor, at each target CTA */
    ACT_EXPECT,      /* arrive.expect_tx: one arrival (`arrivals` = 1) and `bytes` expected, own CTA */
    ACT_CP_ARRIVE,   /* cp.async.mbarrier.arrive.noinc: `arrivals` once the actor's cp.asyncs have landed */
    ACT_UMMA_COMMIT, /* tcgen05.commit: one arrival once the thread's earlier MMAs are done. A producer's: `reg` its tmem_tile */
    ACT_ADVANCE,     /* local state only. stage NEXT: the use `cur` was about to open is open now (held + 1, NEXT moves on);
                           stage CLOSE: the oldest held use is given back (held - 1, CLOSE moves on) */
    ACT_LOAD_BULK,   /* TMA load into the stage: writes, `bytes` complete on `bar` at each target CTA */
    ACT_STORE_BULK,  /* TMA store or reduce from the stage: asynchronous read, completed by BULK_WAIT of the same thread */
    ACT_PUSH_BULK,   /* own smem -> smem of the CTA that `reach` names, bytes on its barrier: asynchronous read and write, over
                           for whoever has waited for that barrier's phase */
    ACT_BULK_COMMIT, /* closes a bulk group of the issuing thread */
    ACT_BULK_WAIT,   /* until at most `n` groups are open; read: only their reads */
    ACT_CP_ASYNC,
    ACT_CP_WAIT,     /* closes a group of the thread's cp.asyncs and waits until at most `n` are open */
    ACT_MMA_FENCE,   /* wgmma.fence */
    ACT_MMA,         /* one batch of MMAs into `reg`, a register tile or, by one thread, a tmem_tile whose stage is in `eff`:
                           asynchronous reads of the stages in `eff` */
    ACT_MMA_COMMIT,  /* wgmma.commit_group: the batch becomes a group */
    ACT_MMA_WAIT,    /* wgmma.wait_group n */
    ACT_FENCE_ASYNC, /* fence.proxy.async.shared::cta: own generic writes before later async reads */
    ACT_WARP_SYNC,   /* __syncwarp */
    ACT_NAMED_SYNC,  /* bar.sync named, `threads` */
    ACT_CTA_SYNC,
    ACT_CLUSTER_ARRIVE,
    ACT_CLUSTER_WAIT,
    ACT_GRID_WAIT,
    ACT_GRID_LAUNCH,
    ACT_REGS, /* setmaxnreg: `n` registers */
    ACT_TMEM_ALLOC,
    ACT_TMEM_FREE, /* by warp tmem_warp, all columns; v = 2: of both CTAs, each by its own warp */
    ACT_TC_BEFORE,
    ACT_TC_AFTER, /* tcgen05.fence::before_thread_sync, after_thread_sync: own accesses of tensor memory are
                                        handed over; what was handed over may be accessed */
    ACT_INIT,     /* all mbarriers, then the init fence */
    ACT_BODY, /* work of threads: custom bodies, stores, register arithmetic; for a commit: register tile `reg` goes to the stage */
    ACT_ZERO, /* register tile: the next MMA overwrites */
    ACT_COUNT
} weiri_act;
const char *weiri_act_name(weiri_act a);

typedef enum weiri_who {
    WHO_THREADS = 0,    /* every thread of the actor */
    WHO_LANE,           /* one elected lane of each warp */
    WHO_WG,             /* one thread of each warpgroup */
    WHO_WG_CTAS,        /* thread i of each warpgroup (warp-grain: lane i of each warp) for the i-th target CTA */
    WHO_LANE_CTAS,
    WHO_ONE             /* one thread of the task */
} weiri_who;

typedef enum weiri_stage_ref {
    STAGE_NONE = 0,
    STAGE_NEXT,         /* what `cur` will open next (before its ADVANCE) */
    STAGE_HELD,         /* the use opened `back` opens ago, 0 the newest */
    STAGE_CLOSE         /* what `cur` will close next: the oldest held */
} weiri_stage_ref;

typedef struct weiri_effect {
    bool write;
    bool async;          /* through the async proxy; finished by the completion of its action, not by program order */
    int region;          /* index in smem[], or -1 */
    int reg;             /* index of a register tile (weir_res index) the access touches, or -1 */
    int cur; weiri_stage_ref stage; int back;   /* the stage, as in the action; STAGE_NONE: stage 0 of an unpiped region */
    int64_t lo, hi;      /* bytes inside the stage; hi = 0: all */
    int deal;            /* by threads: index in deals[]: which of them has which of the bytes */
} weiri_effect;

/* How an access by threads of a task deals the elements of a stage, or of a part of one, out to them (deal.c). ORDER DEAL: the
 * first two entries of deals[] are OPEN and NONE. */
typedef enum weiri_deal_kind {
    DEAL_OPEN,           /* as a body's author has it */
    DEAL_NONE,           /* nobody accesses anything yet: a load() whose tile is read where it is used */
    DEAL_ORDER,          /* `threads` take pieces of `piece` elements in turn, row by row */
    DEAL_FRAGMENT,       /* as registers hold an accumulator: two columns of 8, a row of 8, a thread */
    DEAL_MATRIX,         /* as stmatrix stores it: lane i has 16 bytes of row i % 16 */
    DEAL_TENSOR,         /* as tensor memory holds it: a row a lane */
    DEAL_ALL             /* no element is one thread's */
} weiri_deal_kind;
typedef struct weiri_deal {
    weiri_deal_kind kind;
    int region;          /* index in smem[]: whose rows and columns */
    int each;            /* 1: every actor of the task has all of it, dealt to its own threads */
    int threads;         /* that share it */
    int piece, cols;     /* ORDER: elements of a piece, of a row */
    int rows, width;     /* FRAGMENT, MATRIX: all rows, or the columns of each, where warpgroups share those, else 0. TENSOR: rows */
    int row, col;        /* where the part begins, as far as that is a plain number (leading axes folded into rows) */
    int step;            /* ... besides some multiple of so many rows; 0: nothing else */
    int slab, slab_row, nrows;   /* the part: rows of the slabs that it names (0: of the whole), where in one it begins, its rows */
} weiri_deal;

typedef struct weiri_action {
    int id;              /* from 1, source order over all tasks; W_AT(id) in the source */
    weiri_act kind;
    weiri_who who;
    int bar;             /* index in bars[], or -1 */
    int cur;             /* index in cursors[], or -1 */
    weiri_stage_ref stage; int back;
    int arrivals;        /* ARRIVE, EXPECT, CP_ARRIVE: added to each target by one execution of one actor */
    int64_t bytes;       /* EXPECT: armed here. LOAD_BULK: issued by this CTA for each of its targets */
    int targets;         /* bits 1 m, 2 n, 4 k, 8 v: CTAs that differ from the own one only along these axes (own one included);
                            for LOAD_BULK with both m and n ("mn"): all m*n. 0: own CTA */
    int cross;           /* ARRIVE with two separate axes (one load along m, one along n): 1 = union of row and column */
    int n; bool read;    /* MMA_WAIT, BULK_WAIT, CP_WAIT, REGS */
    int named, threads;  /* named barrier id, count */
    int copy;            /* index in copies[] (PUSH_BULK: in pushes[]), or -1 */
    int pipe;            /* index in pipes[] the action belongs to, or -1 */
    int reg;             /* ZERO, MMA, MMA_WAIT: register tile (weir_res index), or -1 */
    int fresh; /* MMA, BODY that reads `reg`: bit 0: a zero() may be pending, so the tile counts as 0; bit 1: it may hold sums */
    weiri_effect *eff; int neff;
    bool twl;            /* only in the first warp of the task (task-warp-leader signaling) */
    bool cta0;           /* only in CTA 0 of the cluster */
    bool first;          /* LOAD_BULK: only in the first CTA along the axes of `targets`, which loads for all of them */
    bool at0;            /* ARRIVE: on the barrier of CTA 0 of the cluster */
    const uint16_t *reach;   /* by rank of the CTA that executes it: the CTAs it is for, a bit each. NULL: `targets` says */
    bool leader;         /* v = 2: only in CTAs with v = 0 */
    bool
        at_leader; /* v = 2, ARRIVE, LOAD_BULK: on the barrier of the CTA with v = 0 of its pair, for a load of each target's */
    const weiri_op *op;  /* the captured op, or NULL for the plan's own (prologue, drains, exits) */
    const char *note;    /* why it is there, shown as comment: "acquire ab.a" */
} weiri_action;

/* Do threads read by plain loads? An arrival does not wait for those, and the async proxy does not queue behind them. Not what a
 * body reads that says `async_read`. */
static inline bool weiri_plain_read(const weiri_action *a, const weiri_effect *e) {
    return !e->write && !e->async && !(a->op && a->op->work && a->op->work->async_read);
}

/* A body that joins the threads of its task itself. */
static inline bool weiri_joins_itself(const weiri_action *a) {
    return a->op && a->op->work && strstr(a->op->work->code, "task_sync");
}

/* The lowered schedule of a task: the captured tree with actions as leaves. */
typedef enum weiri_pnode_kind { PN_ACTION, PN_LOOP, PN_GUARD, PN_TILES, PN_SKIPPABLE,
    PN_HELD             /* body runs while (if `once`: at most once) more than `keep` stages are held on cursor `cur` */
} weiri_pnode_kind;
typedef struct weiri_pnode weiri_pnode;
struct weiri_pnode {
    weiri_pnode_kind kind;
    weiri_pnode *parent, *next, *first, *last;
    weiri_action *act;           /* ACTION */
    const weiri_node *src;       /* LOOP, GUARD, TILES, SKIPPABLE: the captured block */
    weiri_pnode *skip; /* TILES dealt to lanes: what a tile of another lane takes instead of the body. It moves the cursors
                                    that the lanes share past that lane's stages, and takes the tile from a dynamic queue. A list */
    int deal, lane;    /* LOOP: its iterations, by one, are dealt to `deal` lanes in turn; the actor takes those of `lane`, or
                                    (-1) each warp of the task those of its own number. 0: all are its own */
    int cur, keep; bool once;    /* HELD */
};

/* ---- tables ------------------------------------------------------------------------------------------------------------- */

typedef struct weiri_region {    /* shared (or tensor) memory of one resource: `stages` slices */
    const weir_res *res;
    const char *name;
    int64_t offset, size, align; /* bytes, from the CTA's shared base */
    int stages; int64_t stage_bytes;   /* distance between stages, padding included */
    weir_dtype dtype; int swizzle;     /* of the tile: a tmem_tile's is chosen here, on targets without tensor memory */
    int phase;                   /* of its alias group, -1 none */
    int same_as;                 /* region whose bytes these are (storage = other), or -1 */
    bool tmem;                   /* tensor memory: offset, size and stage_bytes count columns */
    bool threads;                /* laid out as only threads can use it: rows need no multiple of 16 bytes */
} weiri_region;

typedef struct weiri_bar {       /* a run of mbarriers, one per stage */
    const char *name;            /* "ab_full" */
    int first, stages;           /* index in the kernel's one array */
    int64_t offset;              /* of stage 0, bytes from the shared base */
    int count;                   /* arrivals per phase it is initialised with */
    int64_t tx;                  /* bytes expected per phase, 0 none */
    const int *counts;           /* by rank, where CTAs count differently; `count` is that of CTA 0. NULL: they do not */
    const char *sum;             /* the sum `count` comes from: "2 warpgroups x 2 CTAs" */
    bool full;                   /* else empty */
    bool remote;                 /* other CTAs arrive on it */
} weiri_bar;

static inline int weiri_bar_count(const weiri_bar *b, int cta) { return b->counts ? b->counts[cta] : b->count; }

typedef struct weiri_ppipe {     /* a resource's pipeline, derived */
    const weir_res *res;
    weir_pipe_type type;         /* as declared */
    int stages;
    int full, empty;             /* index in bars[]; -1: needs none (async_tma inside one warpgroup) */
    int region;                  /* index in smem[] or -1 */
    int64_t tx;                  /* bytes armed per phase for this member */
    const int8_t *dest;          /* by rank: the CTA that what is pushed there goes to, -1 none; NULL: no pushes fill it */
    int serve;                   /* axes (bits as in action.targets) along which its loads are multicast in slices */
    bool cross;                  /* the release answers a load along m and another along n, not one along both */
    bool own;                    /* async_tma without mbarriers: each warpgroup fills, and stores, its own share of a stage */
} weiri_ppipe;

typedef struct weiri_cursor {    /* position of one task on one side of one pipeline (or group's shared side) */
    const char *name;            /* "ab", "ab_a": prefix of emitted variables */
    int task;
    int pipe;                    /* index in pipes[] (group consumer side: the first member's); -1: of a task's end */
    const weir_res *res;         /* resource or group it walks; NULL: of a task's end */
    bool producer;               /* starts with phase 1 */
    int stages;
    int held_min, held_max;      /* stages open at once, over all program points */
    bool needs_held;             /* the number held must be counted at run time */
    bool split_close;            /* opens and closes move separately: needs a second index */
    int tile_lane, tile_lanes;   /* skips the other lanes' stages at tile borders; 0, 1: none */
    int stride, lane; /* takes every stride-th stage, from `lane` on, or (-1) each warp of the task from its own number on */
} weiri_cursor;

typedef struct weiri_tmap_use {  /* a tensor map the kernel takes as parameter */
    const char *name;            /* "A_map" */
    int tensor;                  /* index in k->tensors */
    int rank; uint32_t box[5];   /* innermost first, elements */
    int swizzle, l2_promotion;
    bool store;
} weiri_tmap_use;

typedef struct weiri_box {
    int32_t c[5];
    int64_t offset;
} weiri_box;                     /* element offsets from the tile's origin, innermost first; bytes into the stage */
typedef struct weiri_copy {      /* the boxes of one bulk copy of a tile */
    int tmap;
    weiri_box *box; int nbox;    /* issued by one CTA */
    int slice_axis;              /* tensor dimension (innermost first) along which a multicast is cut, -1 none */
    int slice_elems; int64_t slice_bytes;   /* step per rank along the multicast axes */
    int wg_axis, wg_elems;
    int64_t wg_bytes; /* stores: share of one warpgroup: element step (dimension, innermost first; -1 none) and byte step */
    int64_t bytes;               /* sum over the boxes */
    int tile[5];                 /* of the tensor, innermost first: what all who share the copy move */
    int64_t base,
        row_bytes; /* of the part of the stage that is moved: bytes in front of it, slabs of a value apart; from row to row */
} weiri_copy;

typedef struct weiri_piece {
    int64_t to, from, bytes;
} weiri_piece;                   /* bytes into the stage that is filled, and into the source's */
typedef struct weiri_push {      /* the pieces of a copy into another CTA */
    weiri_piece *piece; int npiece;
    int to, from;                /* regions */
    uint32_t to_view, from_view; /* views whose slabs the pieces lie in: the place (0: the whole stage), the source */
    int64_t to_row, from_row;    /* bytes from row to row */
    int64_t bytes;               /* sum over the pieces */
} weiri_push;

/* Two elements of a register tile share a register. */
bool weiri_packed(const weir_res *r);
typedef struct weiri_preg {      /* a register tile in one task */
    const weir_res *res;
    int task;
    int rows, cols;              /* of one warpgroup */
    int frags;                   /* m64 blocks */
    int per_thread;              /* 32-bit registers */
    bool zeroed;                 /* begins as 0 */
    char split;                  /* what the warpgroups share out: 'm' rows, 'n' columns; 'w' nothing, each has all of it */
} weiri_preg;

/* Where a task's last commits to its mbarriers are none that others wait for: it ends with one to an mbarrier of its own, and
 * waits for that. A thread's commits arrive in order. */
typedef struct weiri_tc_end {
    bool needed;
    bool leader;                 /* v = 2: the CTA with v = 0 alone commits */
    int bar, cur;                /* in bars[], of one stage; in cursors[], which stays at its first use */
} weiri_tc_end;

typedef struct weiri_ptask {
    const weiri_task *task;
    weiri_pnode *root;           /* body incl. drains */
    bool solo;                   /* the body is run by one thread (of each warp, if `lanes`): every action is its own */
    bool leader;                 /* v = 2: only CTAs with v = 0 have anything to do in it */
    bool wg_actor;               /* actor of prover and simulator is the warpgroup, else the warp */
    int actors;                  /* of one CTA */
    int warpgroups;              /* that it covers, if wg_actor */
    bool by_cols;                /* several warpgroups share the columns of its tiles (split = "n"), else the rows */
    int registers;               /* after the split, 0: no setmaxnreg */
    int lanes;                   /* its warps take the iterations of dealt loops in turn, each by itself; 0: they work together */
    int named_task;              /* named barrier of the task's threads, 0 none (so far: weiri_task_barrier) */
    int named_wg;                /* of its first warpgroup (the next ones follow), 0 none */
    weiri_tc_end end;            /* sm_100a */
} weiri_ptask;

typedef enum weiri_kparam_kind { KP_TMAP, KP_PTR, KP_SHAPE, KP_STRIDE, KP_DIM, KP_SCALAR, KP_COUNTER } weiri_kparam_kind;
typedef struct weiri_kparam {
    weiri_kparam_kind kind;
    int index, axis;
    const char *name, *type;
    int size;
} weiri_kparam; /* type: C type in the source */

typedef struct weiri_spelling { int kind, index; const char *text, *base; } weiri_spelling; /* names.h */
typedef struct weiri_named { int id, threads; const char *owner; } weiri_named;

typedef struct weiri_plan {
    const weir_kernel *k;
    weiri_arena a;
    weiri_findings findings;
    bool ok;                     /* complete: may be proved and emitted */
    struct { int tasks, res, nodes, aliases; } of;   /* how much the kernel had when the plan was made: print.c sees a stale one */
    WEIRI_LIST(weiri_region) smem;
    WEIRI_LIST(weiri_bar) bars;
    WEIRI_LIST(weiri_ppipe) pipes;
    WEIRI_LIST(weiri_cursor) cursors;
    WEIRI_LIST(weiri_tmap_use) tmaps;
    WEIRI_LIST(weiri_copy) copies;
    WEIRI_LIST(weiri_push) pushes;
    WEIRI_LIST(weiri_deal) deals;
    WEIRI_LIST(weiri_preg) regs;
    WEIRI_LIST(weiri_named) named;
    WEIRI_LIST(weiri_kparam) params;
    WEIRI_LIST(weiri_spelling) names;   /* of emitted source, as far as they have been asked for */
    weiri_ptask *tasks; int ntasks;
    weiri_pnode *prologue, *epilogue;   /* of all threads: init, sync; cluster exit. Lists of actions */
    weiri_action **action; int nactions; /* action[1..nactions] */
    int nbarriers;               /* mbarriers in the array */
    int64_t barrier_offset;      /* of the array from the shared base */
    int64_t smem_data, smem_barrier, smem_total, smem_capacity;   /* bytes */
    int tmem_columns, tmem_alloc;    /* laid out, and asked for: a power of two; 0 none */
    int tmem_warp;               /* that allocates and frees */
    int64_t tmem_slot;           /* bytes from the shared base: where the address of tensor memory is left */
    int threads, warps;          /* launch block, whole warpgroups */
    int entry_registers;         /* per thread at launch */
    int reg_split[8];            /* per warpgroup: registers after the split, 0 none */
    int cluster;                 /* CTAs */
    const weir_res *queue;       /* work queue, or NULL */
    bool persistent;
    bool *touches;               /* by tensor: accessed by plain loads or stores */
    bool *wide;                  /* by tensor: rows are read 16 bytes at a time, so base and pitches must be multiples of 16 */
    const char *trusted;         /* bodies taken on trust, NULL none */
} weiri_plan;

/* A view taken apart: what it finally names. */
typedef struct weiri_view {
    const weir_res *res;         /* gmem, smem or custom tile; the queue of a work tile as a place */
    uint32_t base;               /* the VIEW_READ / AT / FROM / TILE / SUB value */
    weir_op op;                  /* of base */
    int back;                    /* VIEW_READ */
    bool t;                      /* transposed */
    int row0, nrows, col0, ncols;   /* of the tile as it lies, whatever way round they were named; nrows, ncols 0: all, from 0 on */
    int nsub, axis; uint32_t sub[WEIR_MAX_RANK];   /* slabs taken, of the tile's axes from `axis` on */
    uint32_t limit; int limit_from; /* 0: none; the tile's column that it counts from */
} weiri_view;
bool weiri_view_of(const weir_kernel *k, uint32_t value, weiri_view *v);
/* Are several slabs cut into rows, or turned over, each by itself? Then the view's rows, slab by slab, are no run of the tile's. */
static inline bool weiri_view_strewn(const weiri_view *v) { return (v->t || v->nrows) && v->res->rank - v->axis - v->nsub > 2; }

/* The region that has the data of this one: members of a fork have theirs in the storage of the first. Other tiles in one storage
 * have each its own data there, in turn. */
int weiri_data_region(const weiri_plan *p, int region);
int weiri_alias_of(const weir_kernel *k, const weir_res *r, int *phase); /* its alias group and phase in that; -1: none */

/* Never NULL but for lack of memory; findings tell what is wrong, ok whether the rest may go on. */
weiri_plan *weiri_plan_new(weir_kernel *k);
void weiri_plan_free(weiri_plan *p);
void weiri_plan_print(const weiri_plan *p, weiri_buf *b);
/* Per line of the author's: the waits, counts and bytes it became. */
void weiri_plan_lowered(const weiri_plan *p, weiri_buf *b);

/* prove.c: verdict, text, trace (in the report's arena `a`), findings of class deadlock or race */
void weiri_prove(const weiri_plan *p, weiri_arena *a, weir_proof *out, weiri_findings *f);
/* emit.c: the source after the preamble */
bool weiri_emit(const weiri_plan *p, weiri_buf *out);
/* ptx.c: the CUDA preamble for this plan (weir_cuda.h plus the wgmma instances it needs) */
bool weiri_preamble(const weiri_plan *p, weiri_buf *out);

#endif
