/* Does a raster of the author's own reach every tile once? */
#ifndef WEIRI_RASTER_H
#define WEIRI_RASTER_H

#include "range.h"

typedef struct weiri_raster {
    bool found;                  /* a size for which it does not: the numbers i and j get one tile, or i gets none (bad_axis) */
    bool all;                    /* there is one size only, and it does */
    int sizes;                   /* tried, without a fault */
    int bad_axis;                /* whose coordinate is beyond its extent; -1: none */
    int64_t i, j, coord[WEIR_MAX_RANK], extent[WEIR_MAX_RANK];
    int64_t *dims;
    double *scalars;
    bool *dim_used, *scalar_used;
} weiri_raster;

weiri_raster weiri_raster_try(const weir_kernel *k, const weir_res *queue, weiri_arena *a);
/* There is one size only, and it has been run: nothing is left to trust. */
bool weiri_raster_certain(const weir_kernel *k, const weir_res *queue, weiri_arena *a);

#endif
