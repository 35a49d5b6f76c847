/* Copies from one CTA of a cluster into another (s:push): which CTA sends to which, and how many bytes. */
#ifndef WEIRI_PLAN_PUSH_H
#define WEIRI_PLAN_PUSH_H

#include "plan.h"
#include "protocol.h"

typedef struct weiri_pushes {
    int senders;                      /* most that send to one CTA, 0: r is filled by no push */
    int from, to;                     /* the first CTA that sends, and where to */
    int64_t bytes;                    /* that a sender brings a stage */
    int8_t dest[WEIRI_MAX_CTAS];      /* by rank: the CTA that it sends to, -1 none */
} weiri_pushes;

/* Who pushes into stages of r. With findings (and then senders 0) where that does not follow from the CTA's coordinates, or cannot
 * work. */
weiri_pushes weiri_push_find(weiri_plan *p, const weir_res *r);
/* Does the CTA come to that node of the task? What only the run can tell is taken as yes. */
bool weiri_push_comes(const weir_kernel *k, const weiri_task *t, const weiri_node *n, int rank);
/* Rows of a tile, leading axes folded, in front of the slabs that a view takes in that CTA (-1: in every CTA alike); false: it is a
 * single element, or not known. */
bool weiri_push_rows(const weir_kernel *k, const weiri_view *v, int rank, int64_t *row);

#endif
