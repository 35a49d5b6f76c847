/* Lowering of schedules to actions, between its own files: lower.c builds the tree; lower_held.c finds how many stages are held
 * where; lower_copy.c cuts tiles into boxes; lower_check.c refuses work that cannot be built; lower_work.c makes its actions;
 * lower_lanes.c deals iterations and tiles to lanes; lower_flow.c finds the numbers of wait_group and where sums begin. */
#ifndef WEIRI_LOWERING_H
#define WEIRI_LOWERING_H

#include "lower.h"

/* The names as the linker sees them. */
#define lw_complain weiri_lw_complain
#define lw_piped weiri_lw_piped
#define lw_cursor weiri_lw_cursor
#define lw_round_place weiri_lw_round_place
#define lw_closes weiri_lw_closes
#define lw_stage weiri_lw_stage
#define lw_by_rank weiri_lw_by_rank
#define lw_append weiri_lw_append
#define lw_act weiri_lw_act
#define lw_effect weiri_lw_effect
#define lw_reg_effect weiri_lw_reg_effect
#define lw_join_warpgroup weiri_lw_join_warpgroup
#define lw_advance weiri_lw_advance
#define lw_op weiri_lw_op
#define lw_walk_ways weiri_lw_walk_ways
#define lw_unknown_guard weiri_lw_unknown_guard
#define lw_find_held weiri_lw_find_held
#define lw_part_of_tile weiri_lw_part_of_tile
#define lw_check_start weiri_lw_check_start
#define lw_check_front weiri_lw_check_front
#define lw_copy weiri_lw_copy
#define lw_check_work weiri_lw_check_work
#define lw_check_operand weiri_lw_check_operand
#define lw_check_counted weiri_lw_check_counted
#define lw_sliced weiri_lw_sliced
#define lw_check_late weiri_lw_check_late
#define lw_work weiri_lw_work
#define lw_deal_loop weiri_lw_deal_loop
#define lw_check_warp_lanes weiri_lw_check_warp_lanes
#define lw_check_dealt_before weiri_lw_check_dealt_before
#define lw_skip weiri_lw_skip
#define lw_flow weiri_lw_flow

typedef struct cursor_key {
    const weir_res *res;
    bool producer;
    int index;
} cursor_key;

/* Members of a group that a task opens in turn, the same order in every block: one cursor serves them all. */
typedef struct round_info {
    const weir_res *group;
    weiri_stage stage;
    const weir_res **order; /* n of them, as many as the group has */
    int n;
    bool over; /* all of them have come once */
    bool shared;
    int at;
} round_info;

/* In a set of numbers, bit h of which says that h is possible: more than the set counts exactly. */
#define LW_MANY (1ull << 63)

typedef struct lowering {
    weiri_plan *p;
    const weir_kernel *k;
    const weiri_proto *protos;
    int task;
    weiri_ptask *pt;
    WEIRI_LIST(cursor_key) cursors;
    WEIRI_LIST(round_info) rounds;
    uint64_t *held_in;   /* by op id: the set of numbers of held stages before the op */
    uint64_t *loose_in;  /* by op id: the set of numbers of newest opens that no mma has followed */
    bool stores, copies; /* the task issues bulk stores, cp.asyncs */
    struct fact *facts;  /* by value: what lower_copy.c has found of it */
    weiri_deal walk;     /* how the op in work walks the elements that it reads */
    bool looks_back;     /* the task asks for the tile it had before, or last */
} lowering;

static inline bool lw_opens(const weiri_op *op) { return op->stage == STAGE_PROD_ACQUIRE || op->stage == STAGE_CONS_WAIT; }
static inline bool lw_closes_one(const weiri_op *op) {
    return op->stage == STAGE_PROD_COMMIT || op->stage == STAGE_CONS_RELEASE;
}
static inline bool lw_is_producer(weiri_stage s) { return s >= STAGE_PROD_AUX; }
static inline weiri_who lw_who(const lowering *l, weiri_who who) { return l->pt->solo ? WHO_ONE : who; }

/* lower.c */
/* "task 'load': s:tma_load TEXT", at the op's line. */
weir_finding *lw_complain(lowering *l, const char *rule, const weiri_op *op, const char *hint, const char *text);
/* Is the op a move of a pipeline that the plan has? */
bool lw_piped(const weiri_plan *p, const weiri_op *op);
/* The task's cursor of this side of r; made where it is first asked for. */
int lw_cursor(lowering *l, const weir_res *r, bool producer);
/* Place of a member in its round. Ops that are no part of a shared round are both first and last. */
void lw_round_place(lowering *l, const weiri_op *op, bool *first, bool *last);
/* Does a commit or release move the cursor? In a shared round only the last member's does. */
bool lw_closes(lowering *l, const weiri_op *op);
/* The stage an op on r works on now: the one just opened, or, inside a shared round that is not yet complete, the next. */
weiri_stage_ref lw_stage(lowering *l, const weir_res *r, bool producer);
/* A copy, in the plan's arena, of one mask a CTA of the cluster. */
const uint16_t *lw_by_rank(weiri_plan *p, const uint16_t *masks);
/* A new last child of the node; a new action there; what the action does to a stage, to registers. */
weiri_pnode *lw_append(weiri_plan *p, weiri_pnode *parent, weiri_pnode_kind kind);
weiri_action *lw_act(weiri_plan *p, weiri_pnode *parent, weiri_act kind, weiri_who who, const weiri_op *op, const char *note);
weiri_effect *lw_effect(lowering *l, weiri_action *a, bool write, bool async, int region, int cur, weiri_stage_ref stage,
                        int back);
void lw_reg_effect(lowering *l, weiri_action *a, bool write, const weir_res *r);
weiri_action *lw_join_warpgroup(lowering *l, weiri_pnode *at, const weiri_op *op, const char *note);
void lw_advance(lowering *l, weiri_pnode *at, const weiri_op *op, int cur, weiri_stage_ref which);
/* An op: work; a wait or an acquire, a commit or a release; nothing for moves of what has no pipeline. */
void lw_op(lowering *l, weiri_pnode *at, const weiri_op *op);

/* lower_ways.c */
/* Conditions that a walk holds to be true, or false. */
enum { LW_KNOWN = 5 };
typedef struct lw_known {
    uint32_t of;
    bool holds;
} lw_known;

/* A walk over a task's tree, all ways through it: `step` changes the state by an op, or an action of the plan; `join` makes `into` a state
 * of both, and says whether that is more than it was. */
typedef struct lw_ways {
    lowering *l;
    bool plan;      /* the tree is the plan's; else the captured one */
    bool skip_held; /* what the number of held stages decides is of no interest */
    size_t size;    /* of a state, which is plain memory */
    void (*step)(struct lw_ways *, const void *leaf, void *state);
    bool (*join)(struct lw_ways *, void *into, const void *from);
    /* the walk's own */
    WEIRI_LIST(uint8_t *) spare;
    int nfree;
    struct lw_turn *turn; /* by node id: which iteration of a loop it is in */
    bool had;             /* there is a tile before */
    lw_known known[LW_KNOWN];
    int nknown;
} lw_ways;

void lw_walk_ways(lw_ways *w, const void *list, void *state);
/* The innermost block around a node, or the node itself, of which the walk does not know whether it runs. */
const weiri_node *lw_unknown_guard(const weiri_node *n);

/* lower_held.c: fills held_in, loose_in and the numbers of the task's cursors. */
void lw_find_held(lowering *l);

/* lower_copy.c */
/* The tile that a place in a tensor names, outermost first; false: no box can be it, and that is said. */
bool lw_part_of_tile(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g, int tile[WEIR_MAX_RANK]);
/* May a box begin at the column that the place names? May a store begin where it does? */
void lw_check_start(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g);
void lw_check_front(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g);
/* The copy between g's `tile` and a stage of s, or the part of it that `store` names, one slice for each of `served` CTAs; -1:
 * said. */
int lw_copy(lowering *l, const weiri_op *op, const weir_res *g, const int *tile, const weir_res *s, const weiri_view *store,
            int served);

/* lower_check.c */
/* Work that cannot be built, whatever the plan. */
void lw_check_work(lowering *l, const weiri_op *op);
void lw_check_operand(lowering *l, const weiri_op *op, int i, const weiri_view *v);
void lw_check_counted(lowering *l, const weiri_op *op);
bool lw_sliced(lowering *l, const weiri_op *op, const weiri_view *v);
void lw_check_late(lowering *l);

/* lower_work.c */
void lw_work(lowering *l, weiri_pnode *at, const weiri_op *op);

/* lower_lanes.c */
void lw_deal_loop(lowering *l, const weiri_node *n, weiri_pnode *b);
void lw_check_warp_lanes(lowering *l);
void lw_check_dealt_before(lowering *l, const weiri_node *guard);
void lw_skip(lowering *l, const weiri_node *n, const weiri_pnode *body, weiri_pnode *at);

/* lower_flow.c: the numbers of the task's waits, what of them is idle, and which reads and mmas find a fresh register tile. */
void lw_flow(lowering *l, weiri_pnode *root);

#endif
