/* What k:print shows. Each part appends plain ASCII text; the plan is read, never computed again. docs/printout.md. */
#ifndef WEIRI_PRINT_H
#define WEIRI_PRINT_H

#include "plan.h"

/* print_schedule.c: one work tile of all tasks, side by side. Needs the captured schedules only, so it also works where the
 * plan failed. False: out of memory. */
bool weiri_print_schedule(const weir_kernel *k, weiri_buf *b);
/* print_dot.c: what flows from where to where, for Graphviz. p may be NULL: no counts then. */
bool weiri_print_dot(const weir_kernel *k, const weiri_plan *p, weiri_buf *b);

/* print.c: the plan of the last verify or build, else one made now. NULL: there can be none, or memory is short. */
const weiri_plan *weiri_print_plan(weir_kernel *k);
void weiri_print_no_plan(const weir_kernel *k, weiri_buf *b); /* why there is none */

#endif
