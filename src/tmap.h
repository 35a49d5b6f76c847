/* A tensor map before it is encoded: what cuTensorMapEncodeTiled takes, and what the simulator reads directly. */
#ifndef WEIRI_TMAP_H
#define WEIRI_TMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

typedef struct weiri_tmap {
    uint64_t base;       /* device (or simulator host) address, 16-aligned */
    weir_dtype dtype;
    int rank;            /* 1..5 */
    uint64_t dim[5];     /* elements, innermost first */
    uint64_t stride[5];  /* bytes; [0] is the element size */
    uint32_t box[5];     /* elements */
    int swizzle;         /* span in bytes: 0, 32, 64, 128 */
    int l2_promotion;    /* bytes: 0, 64, 128, 256 */
} weiri_tmap;

/* Names the first broken rule of cuTensorMapEncodeTiled (CUDA driver API, tensor map object management) into `why`;
 * returns 0 when none is. `name` is the tensor's. */
int weiri_tmap_check(const weiri_tmap *m, const char *name, char *why, int why_size);

/* Can the copy engine add elements of this dtype? (PTX ISA, cp.reduce.async.bulk.tensor, .add.) */
static inline bool weiri_tmap_adds(weir_dtype t) {
    return t == WEIR_I32 || t == WEIR_U32 || t == WEIR_I64 || t == WEIR_U64 || t == WEIR_F32 || t == WEIR_F64 || t == WEIR_BF16 ||
           t == WEIR_F16;
}

#endif
