/* Views taken apart: the resource, the stage or place, the rows, columns and slabs that a chain of slices and transpositions
 * names. */
#include <string.h>

#include "plan.h"

/* Rows and columns that slices name, seen through as many transpositions as were met before: an even, an odd number. The first
 * slice met is of the others, and takes the least. */
typedef struct cut {
    int row0, nrows, col0, ncols;
} cut;

static int least_of(int a, int b) { return !a || (b && b < a) ? b : a; } /* 0: all */

/* Rows and columns of the tile, whatever way round they were named. `outer`: the slices of what has the limit. */
static void settle(weiri_view *v, const cut part[2], const cut outer[2]) {
    const cut *along = &part[v->t], *across = &part[!v->t];
    v->row0 = along->row0 + across->col0;
    v->col0 = along->col0 + across->row0;
    v->nrows = least_of(along->nrows, across->ncols);
    v->ncols = least_of(along->ncols, across->nrows);
    if (v->limit) v->limit_from = v->col0 - outer[v->t].col0 - outer[!v->t].row0;
}

bool weiri_view_of(const weir_kernel *k, uint32_t value, weiri_view *v) {
    cut part[2] = { { 0 } }, outer[2] = { { 0 } };
    memset(v, 0, sizeof *v);
    for (;;) {
        const weiri_value *x = weiri_val(k, value);
        if (x->kind != WEIR_VALUE_VIEW) return false;
        switch (x->op) {
        case WEIR_OP_VIEW_T: v->t = !v->t; break;
        case WEIR_OP_VIEW_ROWS:
            part[v->t].row0 += (int)x->i;
            part[v->t].nrows = least_of(part[v->t].nrows, x->count);
            break;
        case WEIR_OP_VIEW_COLS:
            part[v->t].col0 += (int)x->i;
            part[v->t].ncols = least_of(part[v->t].ncols, x->count);
            break;
        case WEIR_OP_VIEW_LIMIT: /* one at most, of columns of the tile: value.c */
            v->limit = x->arg[1];
            memcpy(outer, part, sizeof outer);
            break;
        case WEIR_OP_VIEW_SUB: /* the last one met is taken first */
            for (int i = v->nsub++; i > 0; i--) v->sub[i] = v->sub[i - 1];
            v->sub[0] = x->arg[x->nargs - 1];
            if (x->res) { /* a slab of a tile, whatever its stage */
                v->base = value;
                v->op = x->op;
                v->res = x->res;
                settle(v, part, outer);
                return true;
            }
            break;
        default: /* a stage, a place of a tensor, a work tile */
            v->base = value;
            v->op = x->op;
            v->res = x->res;
            v->back = (int)x->i;
            while (v->axis + 1 < v->res->rank && v->res->tile[v->axis] == 1) v->axis++;
            settle(v, part, outer);
            return true;
        }
        value = x->arg[0];
    }
}
