/* What a plan has, in words for people: the simulator, the watchdog and the trace speak of tasks, places and barriers alike. */
#ifndef WEIRI_TELL_H
#define WEIRI_TELL_H

#include "plan.h"

/* "gemm.lua:41"; the plan's own actions are named by what they are for. "" when there is no such action. */
const char *weiri_tell_place(const weiri_plan *p, int id, char *out, size_t size);
/* The run of mbarriers, or the region, that holds a byte of shared memory (from the CTA's base), and its stage; NULL: none. */
const weiri_bar *weiri_tell_bar(const weiri_plan *p, int64_t offset, int *stage);
const weiri_region *weiri_tell_region(const weiri_plan *p, int64_t offset, int *stage);
/* task_of[1..nactions]: the task an action belongs to, -1: prologue or epilogue. */
void weiri_tell_tasks(const weiri_plan *p, int *task_of);
/* The task of a warp in the CTA of this rank, or -1. */
int weiri_tell_task_of_warp(const weiri_plan *p, int rank, int warp);
/* "    who arrives there: gemm.lua:40 (task 'load'), ..." with a newline; nothing when the plan has no arrive on b. */
void weiri_tell_arrivers(const weiri_plan *p, const weiri_bar *b, const int *task_of, weiri_buf *out);

#endif
