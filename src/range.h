/* What a value can be once a launch's arguments are known: a span of whole numbers, or one float. */
#ifndef WEIRI_RANGE_H
#define WEIRI_RANGE_H

#include "model.h"

typedef struct weiri_range {
    bool known, real;            /* known: nothing but `lo` to `hi`; real: one float, `f` */
    int64_t lo, hi;
    double f;
} weiri_range;

typedef struct weiri_env {
    const weir_kernel *k;
    const int64_t *dims;         /* of k->dims; NULL: all that their bounds allow */
    const double *scalars;       /* of k->scalars; NULL: unknown */
    const int64_t *coord;        /* of the tile; NULL: any of its queue's tiles */
    int cta;                     /* rank in the cluster; -1: any */
    bool counts;                 /* every number must stay in 32 bits, as those of a loop's bounds: else it counts as a misfit */
    /* what was met */
    uint32_t misfit;             /* a value that leaves its type, or is divided by 0; 0: none */
    int64_t reaches;             /* the number it reaches */
    bool by_zero;
    int steps;                   /* taken so far: an expression that shares much is given up */
} weiri_env;

weiri_range weiri_range_of(weiri_env *e, uint32_t id);
/* The one number it is; false: unknown, or several, or it does not fit its type. */
bool weiri_range_number(weiri_env *e, uint32_t id, int64_t *out);
/* Do the bounds of all loops stay in 32 bits? The proof counts in whole numbers (docs/proof.md). Else *loop is one that does not. */
bool weiri_range_counts(weiri_env *e, const weiri_node **loop);

#endif
