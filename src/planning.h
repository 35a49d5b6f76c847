/* The plan's tables, between the files that fill them: plan.c calls them in order; plan_task.c finds who runs each task,
 * plan_pipe.c what each pipeline is, from both its sides (plan_side.c) and what reads it; plan_bar.c has the mbarriers, plan_smem.c
 * the bytes, plan_regs.c the registers, plan_param.c the kernel's parameters. plan_push.h and plan_tc.h stand for themselves. */
#ifndef WEIRI_PLANNING_H
#define WEIRI_PLANNING_H

#include "lower.h"
#include "plan.h"
#include "protocol.h"

/* The names as the linker sees them. */
#define pl_scan_task weiri_pl_scan_task
#define pl_name_barriers weiri_pl_name_barriers
#define pl_check_named weiri_pl_check_named
#define pl_closes weiri_pl_closes
#define pl_loop_lane weiri_pl_loop_lane
#define pl_side weiri_pl_side
#define pl_side_of_push weiri_pl_side_of_push
#define pl_add_pipe weiri_pl_add_pipe
#define pl_make_bars weiri_pl_make_bars
#define pl_check_groups weiri_pl_check_groups
#define pl_place_bars weiri_pl_place_bars
#define pl_place_smem weiri_pl_place_smem
#define pl_end_smem weiri_pl_end_smem
#define pl_split_registers weiri_pl_split_registers
#define pl_check_tile_registers weiri_pl_check_tile_registers
#define pl_make_params weiri_pl_make_params

struct weiri_pushes;

/* plan_task.c: a task's actors and register tiles; the named barriers of all tasks */
void pl_scan_task(weiri_plan *p, int task);
void pl_name_barriers(weiri_plan *p);
void pl_check_named(weiri_plan *p);

/* plan_side.c */
/* Does the task close a stage of r with `stage`, a commit or a release? */
bool pl_closes(const weiri_task *t, const weir_res *r, weiri_stage stage);
/* The lane of r that a task takes by a loop. -1: none, or dealt to its warps. */
int pl_loop_lane(const weir_kernel *k, const weiri_task *t, int stride);
/* The side of the pipeline that closes with `stage`: tasks, warps, warpgroups that do it. */
weiri_pside pl_side(weiri_plan *p, const weir_res *r, weiri_stage stage);
/* Both sides of what CTAs push to each other: of the CTAs that send those that fill, of those that receive those that empty, which
 * must be as many everywhere. */
weiri_pside pl_side_of_push(weiri_plan *p, const weir_res *r, weiri_stage stage, const struct weiri_pushes *s);

/* plan_pipe.c: the pipeline of r: its protocol, and a row of pipes[] if it can be built */
void pl_add_pipe(weiri_plan *p, const weir_res *r, weiri_proto *protos);

/* plan_bar.c: bars[], their place behind smem_data, and what groups ask of them */
void pl_make_bars(weiri_plan *p, const weiri_proto *protos);
void pl_check_groups(weiri_plan *p, const weiri_proto *protos);
void pl_place_bars(weiri_plan *p);

/* plan_smem.c: smem[]; what lies behind the mbarriers, and whether all of it fits */
void pl_place_smem(weiri_plan *p);
void pl_end_smem(weiri_plan *p);

/* plan_regs.c: the launch block, registers by warpgroup; what register tiles leave of them */
void pl_split_registers(weiri_plan *p);
void pl_check_tile_registers(weiri_plan *p);

/* plan_param.c */
void pl_make_params(weiri_plan *p);

#endif
