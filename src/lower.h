/* Lowering of schedules to actions; the second half of weiri_plan_new (plan.c). */
#ifndef WEIRI_LOWER_H
#define WEIRI_LOWER_H

#include "layout.h"
#include "plan.h"
#include "protocol.h"

/* Fills cursors, copies, tmaps, tasks[].root, prologue, epilogue. protos: by resource index. */
void weiri_lower(weiri_plan *p, const weiri_proto *protos);
/* Does the loop run at least once, whatever the sizes? */
bool weiri_loop_runs(const weir_kernel *k, const weiri_node *n);
/* The task's work-tile loop if it takes every lanes-th tile, else NULL. */
const weiri_node *weiri_lanes_of(const weiri_task *t);
/* How many lanes take the stages on this side of r (bare or a group) in turn, by its `interleave`; 1: there are none. */
int weiri_lanes_on(const weir_res *r, bool producer);
/* The number of the task's warps if they are such lanes, else 0. */
int weiri_warp_lanes(const weiri_task *t);
/* The lane that a task takes by this loop of `lanes`: a constant start, a step of as many. -1: none. */
int weiri_loop_lane(const weir_kernel *k, const weiri_task *t, const weiri_node *loop, int lanes);
/* Do tasks of several lanes share this side of the pipeline of r, bare or a group? Their cursors then skip each other's stages. */
bool weiri_side_dealt(const weir_kernel *k, const weir_res *r, bool producer);
/* Does one arrive arm all members of the group at once, as its `fold` asks? */
bool weiri_folds(weiri_plan *p, const weir_res *g);

/* The tile that a view of a stage names, as an operand of wgmma takes it: its geometry, panels still as far apart as the stage's,
 * and where it begins, in bytes. false, with a text, where no descriptor could begin. */
bool weiri_view_operand(const weiri_plan *p, const weiri_view *v, weiri_tile_geom *g, int64_t *offset, char *why, size_t size);
/* The same of the part of b that a warpgroup takes where `parts` of them share the columns of the product: as many of b's rows. */
bool weiri_view_part(const weiri_plan *p, const weiri_view *v, int part, int parts, weiri_tile_geom *g, int64_t *offset, char *why,
                     size_t size);
/* Columns that one wgmma takes of a product of `cols` with a b of this geometry. Fewer than all where ptxas would refuse them
 * (C7602): it allots what the instruction names out of the registers at entry, whatever setmaxnreg brings later. 0: those are too
 * few for the least number of columns, *unit, which asks for *need. */
int weiri_mma_columns(const weiri_plan *p, const weiri_tile_geom *b, bool transposed, int cols, bool a_in_registers, int *unit,
                      int *need);
/* Rows that a warpgroup of the task has of a tile or value in registers, of so many. */
static inline int weiri_share_rows(const weiri_ptask *t, int rows) { return t->by_cols || !t->warpgroups ? rows : rows / t->warpgroups; }
/* Columns that it has of a tile or value of so many. */
static inline int weiri_share_cols(const weiri_ptask *t, int cols) { return t->by_cols && cols >= 8 ? cols / t->warpgroups : cols; }
/* ... that a warpgroup's fragments have of them: whole groups of 8, the last of which may be wider than what is left. */
static inline int weiri_frag_cols(const weiri_ptask *t, int cols) { return (weiri_share_cols(t, cols) + 7) / 8 * 8; }

/* plan.c */
int weiri_pipe_of(const weiri_plan *p, const weir_res *r);      /* index, -1 none */
int weiri_region_of(const weiri_plan *p, const weir_res *r);
int weiri_preg_of(const weiri_plan *p, int task, const weir_res *r);
/* Geometry of the tile a resource keeps in a stage of its region; false: it has none, or it is impossible (plan_smem.c says why). */
bool weiri_geom(const weiri_plan *p, const weir_res *r, weiri_tile_geom *g);
weir_dtype weiri_stage_dtype(const weiri_plan *p, const weir_res *r);
/* plan_param.c: the C type in emitted source */
const char *weiri_ctype(weir_dtype t);
/* plan_task.c: a number for the named barrier at which all threads of the task meet; of one warpgroup, that is its own. */
int weiri_task_barrier(weiri_plan *p, int task);

#endif
