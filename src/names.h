/* Names of emitted source: each thing that the plan puts into it is spelled as the author calls it where C++, the device preamble, the
 * emitter's own variables and all other things leave that spelling free, and with an underscore behind it otherwise. */
#ifndef WEIRI_NAMES_H
#define WEIRI_NAMES_H

#include "plan.h"

typedef enum weiri_name_kind {
    NAME_KERNEL,   /* 0 */
    NAME_ARGUMENT, /* tensor, dim, scalar: 0, they share a space of names */
    NAME_TENSOR,   /* what the strides of a tensor, its `_wide` and `_pairs` begin with: 0 */
    NAME_MAP,      /* tensor map: index in plan->tmaps */
    NAME_QUEUE,    /* work queue: index in k->res; all its loop's variables but those named by axes: */
    NAME_COORD,    /* coordinate of a tile, of the queue; extent of an axis in tiles */
    NAME_EXTENT,
    NAME_BODY,     /* function of a custom body: index of its resource */
    NAME_REGION,   /* address of shared or tensor memory: index in plan->smem */
    NAME_REG,      /* register tile, or the flag of one: index in k->res */
    NAME_BARRIER,  /* index in plan->bars */
    NAME_CURSOR,   /* of the pipeline of a resource: index in k->res */
    NAME_LOOP      /* number in its task */
} weiri_name_kind;

/* The spelling of thing `index` of that kind, of which the author's name makes `text`. The same each time it is asked for. */
const char *weiri_name(const weiri_plan *p, weiri_name_kind kind, int index, const char *text);
const char *weiri_kernel_symbol(const weiri_plan *p); /* of the kernel's entry in PTX and cubin */

#endif
