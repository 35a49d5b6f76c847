/* Who of a task's threads has which elements: how the emitter deals them out, and whether two accesses deal them out alike. */
#ifndef WEIRI_DEAL_H
#define WEIRI_DEAL_H

#include "plan.h"

/* Are fragments stored to a stage of s by stmatrix? */
bool weiri_deal_matrix(const weiri_plan *p, int task, const weir_res *s);
/* Of a store: rows (leading axes folded) and columns of the place; columns that a thread stores at a time, 16 bytes of them,
 * or 1. */
int weiri_deal_place(const weiri_plan *p, const weiri_op *op, int *cols);
int weiri_deal_piece(const weiri_plan *p, const weiri_op *op);
/* Can packs of so many elements be loaded of a view, wherever a tile of the tensor starts? dst: what is stored to. */
bool weiri_deal_packs(const weiri_plan *p, uint32_t view, const weir_res *dst, int elems);

/* How the op walks the elements of what it stores to or sets, and with them what it reads: a deal of no stage yet. */
weiri_deal weiri_deal_walk(const weiri_plan *p, int task, const weiri_op *op);
/* Which thread of the task has the element there of what is walked so, ORDER or FRAGMENT. */
int weiri_deal_thread(const weiri_plan *p, int task, const weiri_deal *walk, int64_t row, int64_t col);
/* An index in deals[]: of what the op writes to its stage; of what an op that walks so reads through a view; of fragments
 * spilled to s. */
int weiri_deal_write(weiri_plan *p, int task, const weiri_op *op);
int weiri_deal_read(weiri_plan *p, const weiri_deal *walk, uint32_t view);
/* ... of a read by an op that writes `write`: what is not the element that is written at the same time may have been written
 * before. */
int weiri_deal_in_place(weiri_plan *p, int read, int write);
int weiri_deal_spill(weiri_plan *p, int task, const weir_res *s);

/* Two accesses of one task: */
typedef enum weiri_owners {
    OWNERS_SAME, /* an element that both access is one thread's in both (or they have none in common) */
    OWNERS_OPEN, /* that is the author's matter: where both write, each thread is taken to have its share */
    OWNERS_OTHER /* it may be another thread's in the one than in the other */
} weiri_owners;
/* actors: of one actor, or of two (two warps, say) of the task. */
weiri_owners weiri_deal_owners(const weiri_plan *p, int x, int y, int actors);

/* pipes[].own: of each async_tma without mbarriers, whether a warpgroup's bulk stores move what its own threads have filled. */
void weiri_deal_find_own(weiri_plan *p);
/* Where the threads of a task access what others of them have accessed since they met, within one use of a stage, they meet
 * first. */
void weiri_deal_join(weiri_plan *p, int task, weiri_pnode *root);

#endif
