/* The pipeline protocol as data: which barrier actions an op of a pipeline type becomes, and what its two mbarriers count.
 * Pure functions of plain numbers, left of validate: no kernel, no plan. lower.c makes actions of the rows. */
#ifndef WEIRI_PROTOCOL_H
#define WEIRI_PROTOCOL_H

#include "weir.h"

typedef enum weiri_row_kind {
    ROW_END = 0,
    ROW_WAIT,           /* on `bar` */
    ROW_ARRIVE, ROW_EXPECT, ROW_CP_ARRIVE, ROW_UMMA_COMMIT,
    ROW_FENCE_ASYNC,    /* own generic writes before async reads */
    ROW_WARP_SYNC,      /* before an elected arrive at warp grain */
    ROW_WG_SYNC,        /* before an elected arrive at warpgroup grain */
    ROW_BULK_WAIT,      /* async_tma: until the read of the stage is done */
    ROW_MMA_DRAIN,      /* sm_90a lowering of an umma side: the tensor core has read the stage, or finished the accumulators */
    ROW_SPILL,          /* sm_90a commit of an umma producer: the accumulators go to the stage (f32; umma_umma: its dtype) */
    ROW_TC_AFTER,       /* sm_100a, behind a wait for tensor memory or operands of an mma: tcgen05.fence::after_thread_sync */
    ROW_TC_BEFORE       /* sm_100a, before threads give tensor memory back: tcgen05.fence::before_thread_sync */
} weiri_row_kind;

typedef enum weiri_row_bar { ROW_NO_BAR = 0, ROW_FULL, ROW_EMPTY } weiri_row_bar;

/* ORDER WHO: the numbers of plan.h's weiri_who */
typedef enum weiri_row_who { ROW_THREADS = 0, ROW_LANE, ROW_WG, ROW_WG_CTAS, ROW_LANE_CTAS, ROW_ONE } weiri_row_who;

/* `targets` of a row that are no axes: the leader CTA (v = 0) of the own V group, CTA 0 */
enum { WEIRI_TO_LEADER = -1, WEIRI_TO_CTA0 = -2 };

/* one barrier action of an op; `who` and `targets` as in plan.h */
typedef struct weiri_row {
    weiri_row_kind kind;
    weiri_row_bar bar;
    int who;            /* weiri_who, the same as weiri_row_who */
    int targets;        /* axes bits 1 m, 2 n, 4 k, 8 v; or WEIRI_TO_... */
    bool cross;         /* targets m and n: the union of row and column, not their product */
    bool cta0_only;     /* runs only in CTA 0 of the cluster */
    bool leader_only;   /* runs only in CTAs with v = 0 */
    bool twl_only;      /* only in the first warp of its task */
    bool by_rank;       /* targets are those of weiri_proto.reach */
} weiri_row;
enum { WEIRI_MAX_ROWS = 6, WEIRI_MAX_CTAS = 16 };

/* One side of a pipeline: the tasks that do its closing op (producer: commit, consumer: release). */
typedef struct weiri_pside {
    int tasks, warps;           /* sums; 0 when nobody does it */
    int warpgroups;             /* of tasks whose actor is the warpgroup */
    bool only_mma_reads;        /* consumer: the stage is read by wgmma alone */
    bool async_reads;           /* consumer: the async proxy reads the stage too (wgmma, bulk store, a body that says so) */
    int max_warps_of_a_task;
    int domain_lanes;           /* interleaved by the loops' starts: lanes, each with as many warps; 0: by warps */
    bool dealt;                 /* lanes of the work tiles take the stages in turn: the numbers are one lane's */
    int one_cta_tasks, one_cta_warps;   /* of these: tasks that a single CTA of the cluster runs, their warps */
} weiri_pside;

typedef struct weiri_proto_in {
    weir_pipe_desc given;
    weir_arch arch;
    weir_cluster cluster;       /* no zeros; given.cta_layout when set */
    weiri_pside producer, consumer;
    int serve;                  /* axes (bits 1 m, 2 n) along which loads of the resource are multicast */
    bool serve_cross;           /* m and n are separate loads (union of row and column), not one "mn" */
    int first;                  /* loads that the first CTA issues for all along m (bit 1), n (2), both (4): not in `serve` */
    int senders;                /* the stage is filled by pushes of other CTAs: at most so many send to one; 0: it is not */
    int8_t dest[WEIRI_MAX_CTAS]; /* then, by rank: the CTA that it pushes to, -1 none */
    int64_t tx;                 /* bytes that the copies bring to one CTA per phase, 0 none or not known */
    bool same_warpgroup;        /* async_tma: filled and stored by the same warpgroups of one task */
    bool fence_wait;            /* fused_merge: the one wait is also for a member that cp.async fills and the async proxy reads */
    bool tensor_wait;           /* fused merge: the wait also takes over tensor memory, of another member */
    bool tensor_release;        /* merge: the release also gives back tensor memory, of another member */
    bool fence_release;         /* threads read the stage with plain loads, and the async proxy fills its bytes again; of a merge, of any member */
    bool fence_acquire;         /* filled by loads: the lane that arms tells of plain loads of other stages, which the async proxy fills
                                 * again */
    bool fence_commit;          /* fork: the commit also hands over to a member that the async proxy reads; or it tells of plain loads of
                                 * other stages, which the async proxy fills again */
} weiri_proto_in;

typedef struct weiri_proto {
    int full_count, empty_count;        /* arrivals per phase that really happen = what the barriers are initialised with */
    char full_sum[96], empty_sum[96];   /* "1 warp", "2 warpgroups x 2 CTAs" */
    bool has_full, has_empty;           /* false: async_tma inside one warpgroup needs no mbarrier */
    weir_grain grain, producer_grain;   /* derived or given */
    weiri_row acquire[WEIRI_MAX_ROWS], commit[WEIRI_MAX_ROWS], wait[WEIRI_MAX_ROWS], release[WEIRI_MAX_ROWS]; /* ROW_END ends */
    bool uneven;                        /* empty barriers count differently from CTA to CTA: */
    uint16_t reach[WEIRI_MAX_CTAS];     /* by rank: CTAs that a release there arrives at, a bit each */
    uint8_t sources[WEIRI_MAX_CTAS];    /* by rank: CTAs whose releases arrive there; empty_count is that of CTA 0 */
    int full_unit, empty_unit;          /* what one CTA adds to the counts */
    uint16_t arms[WEIRI_MAX_CTAS];      /* pushes, by rank: CTAs that an acquire there arms */
    uint8_t senders[WEIRI_MAX_CTAS];    /* pushes, by rank: CTAs that arm there */
    int full_per_commit, empty_per_release; /* arrivals by one actor's op at each target: for the prover's and explain's sums */
    int64_t expect_bytes;               /* one EXPECT of `acquire` arms this; 0: no copies, or bytes not known */
    int64_t full_tx;                    /* bytes armed per phase on a full barrier that is armed */
    /* what is wrong with the given fields; rule id of spec (CF.., MF.., V-CNT-.., V-BYT-..), text with both numbers */
    struct { const char *rule; char text[240]; char expected[48], got[48]; } fault[8];
    int nfaults;
} weiri_proto;

/* Derives rows and counts; checks the given numbers against them. Always fills `out`. */
void weiri_protocol(const weiri_proto_in *in, weiri_proto *out);
/* Arrivals that one execution of the row by one actor (a warp, or a warpgroup) adds at each target. */
int weiri_row_arrivals(const weiri_row *row, bool wg_actor);

/* Position of the n-th use (from 0) of a cursor: stage and phase parity. */
void weiri_cursor_at(int stages, int stride, int lane, bool producer, int64_t n, int *stage, int *phase);

/* number of CTAs of the cluster that a stage of this CTA is shared with: |row|, |column| or |row u column| */
int weiri_served(weir_cluster c, int serve, bool cross);
/* 16-bit multicast mask of CTA `rank` (V fastest) for axes bits `serve` */
uint32_t weiri_cta_mask(weir_cluster c, int rank, int serve, bool cross);
/* CTAs at whose empty barriers a release in CTA `rank` arrives: its own and all that issue loads into its stage. `first`: see
 * weiri_proto_in. Nobody else may count it: a CTA that issues nothing for others says no more than that its own consumers are done,
 * and another's next release could come before that is known. */
uint32_t weiri_reach(weir_cluster c, int rank, int serve, bool cross, int first);
const char *weiri_pipe_type_name(weir_pipe_type t);   /* "tma_async" */
bool weiri_filled_by_tma(weir_pipe_type t);
bool weiri_filled_by_mma(weir_pipe_type t);
bool weiri_read_by_mma(weir_pipe_type t);             /* its release stands for an mma that has read the stage */

/* ---- group compatibility ---- */
typedef struct weiri_group_in {
    weir_group_mode mode;
    const weir_pipe_desc *member; const char *const *name; int n;
    const weir_pipe_desc *given; /* the group's own pipeline; type NONE or NULL: derived */
    weir_cluster cluster;        /* the kernel's, where a cta_layout is left out; all zero: one CTA */
} weiri_group_in;
typedef struct weiri_group_out {
    weir_group_mode mode;        /* derived when DEFAULT was given */
    weir_pipe_type type;         /* merged */
    bool heterogeneous;
    int barriers_per_stage;      /* n + 1, or 2 */
    weir_pipe_desc merged;
    struct { const char *rule; char text[240]; char expected[64], got[64]; } fault;   /* first one; rule NULL: fits */
} weiri_group_out;
bool weiri_group_check(const weiri_group_in *in, weiri_group_out *out);
/* What a member of a group that fits leaves out and another member, or the group's own pipeline, says for it: the counts and grains of
 * the side that is shared, and whatever else the group's pipeline gives. */
void weiri_group_inherit(const weiri_group_in *in, const weiri_group_out *out, weir_pipe_desc *member);
/* Index of a member's full and empty barrier of a stage in the group's own run of barriers. */
int weiri_group_full(weir_group_mode mode, int n, int stages, int member, int stage);
int weiri_group_empty(weir_group_mode mode, int n, int stages, int member, int stage);

#endif
