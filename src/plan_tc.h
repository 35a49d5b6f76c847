/* What the tensor core of sm_100a asks of the plan: who issues, where tensor memory lies, what can be built. */
#ifndef WEIRI_PLAN_TC_H
#define WEIRI_PLAN_TC_H

#include "plan.h"
#include "protocol.h"
#include "tcgen05.h"

static inline bool weiri_tc(const weir_kernel *k) { return k->arch >= WEIR_ARCH_SM_100A; }
/* Do two CTAs share each mma? */
static inline bool weiri_tc_pair(const weir_kernel *k) { return weiri_tc(k) && k->cluster.v > 1; }
/* v = 2: does the leader's full barrier of such a pipeline serve both CTAs? Else each CTA's serves its own. */
static inline bool weiri_tc_leaders_full(const weir_kernel *k, weir_pipe_type t) {
    return weiri_tc_pair(k) && (t == WEIR_TMA_UMMA || t == WEIR_ASYNC_UMMA);
}

/* Is the move one of the tensor core's side of a pipeline? (A collapsed move: of every member's.) */
bool weiri_tc_move(const weiri_op *op);
/* Is a body on the tensor core's side of a pipeline? It issues mmas of its own then, which the commit waits for. */
bool weiri_tc_body(const weir_kernel *k, const weiri_op *op);
/* Does threads' work read a stage of a tmem_tile in this op? Then its view. */
bool weiri_tc_reads(const weir_kernel *k, const weiri_op *op);
/* The warps of tasks that issue mmas or read tensor memory: findings. */
void weiri_tc_check_warps(weiri_plan *p, int task);
/* Lays out tensor memory as further regions. */
void weiri_tc_place(weiri_plan *p);
/* The mbarriers on which tasks wait for their own last commits, where nobody else does. */
void weiri_tc_ends(weiri_plan *p, const weiri_proto *protos);
/* Calls fn for every load of a tmem_tile's stage inside a value. */
void weiri_tc_leaves(const weir_kernel *k, uint32_t value, void (*fn)(void *ud, uint32_t view), void *ud);
/* Is the operand the sums of another mma? */
bool weiri_tc_from_tmem(const weiri_view *v);
/* The one instruction shape of an mma into a tmem_tile, and why it cannot be. */
bool weiri_tc_shape_of(const weiri_plan *p, const weiri_op *op, weiri_tc_shape *s, char *why, size_t size);
/* Ops that the kernel's target lacks: findings that name the targets that have them. */
void weiri_check_targets(weiri_plan *p);

#endif
