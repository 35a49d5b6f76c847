/* Tensor maps: the rules of cuTensorMapEncodeTiled, checked before the driver is asked (it answers "invalid value" to all of
 * them), and the encoding. CUDA driver API, "Tensor Map Object Management". */
#include "tmap.h"

#include <inttypes.h>
#include <stdio.h>

#include "launch.h"

static const char *elements(char *out, size_t size, uint64_t bytes, int elem) {
    snprintf(out, size, "%" PRIu64 " bytes = %" PRIu64 " elements", bytes, bytes / (uint64_t)elem);
    return out;
}

int weiri_tmap_check(const weiri_tmap *m, const char *name, char *why, int why_size) {
    int elem = weir_dtype_size(m->dtype);
    size_t size = (size_t)why_size;
    char low[64], high[64];
    if (m->rank < 1 || m->rank > 5) {
        snprintf(why, size, "tensor '%s' has rank %d; a tensor map takes 1 to 5", name, m->rank);
        return 1;
    }
    if (m->base == 0) {
        snprintf(why, size, "tensor '%s': its address is null", name);
        return 2;
    }
    if (m->base % 16) {
        snprintf(why, size,
                 "tensor '%s' starts at address 0x%" PRIx64 ", %d bytes past a multiple of 16; TMA needs 16-byte alignment "
                 "(nearest: 0x%" PRIx64 ", 0x%" PRIx64 ")",
                 name, m->base, (int)(m->base % 16), m->base - m->base % 16, m->base - m->base % 16 + 16);
        return 3;
    }
    for (int i = 0; i < m->rank; i++)
        if (m->dim[i] < 1 || m->dim[i] > 1ull << 32) {
            snprintf(why, size, "tensor '%s': axis %d has %" PRIu64 " elements; a tensor map takes 1 to 2^32", name,
                     m->rank - 1 - i, m->dim[i]);
            return 4;
        }
    for (int i = 1; i < m->rank; i++) {
        uint64_t s = m->stride[i];
        if (s % 16) {
            snprintf(why, size,
                     "tensor '%s': axis %d steps by %" PRIu64 " bytes (%" PRIu64
                     " elements); TMA needs a multiple of 16 bytes (nearest: %s, %s)",
                     name, m->rank - 1 - i, s, s / (uint64_t)elem, elements(low, sizeof low, s - s % 16, elem),
                     elements(high, sizeof high, s - s % 16 + 16, elem));
            return 5;
        }
        if (s >= 1ull << 40) {
            snprintf(why, size, "tensor '%s': axis %d steps by %" PRIu64 " bytes; a tensor map takes less than 2^40", name,
                     m->rank - 1 - i, s);
            return 6;
        }
    }
    for (int i = 0; i < m->rank; i++)
        if (m->box[i] < 1 || m->box[i] > 256) {
            snprintf(why, size, "tensor '%s': the box has %u elements along axis %d; a box takes 1 to 256", name, m->box[i],
                     m->rank - 1 - i);
            return 7;
        }
    uint64_t inner = (uint64_t)m->box[0] * (uint64_t)elem;
    if (inner % 16) {
        snprintf(why, size, "tensor '%s': a box row has %" PRIu64 " bytes; TMA needs a multiple of 16 (%d elements of %s)",
                 name, inner, 16 / elem, weir_dtype_name(m->dtype));
        return 8;
    }
    if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128) {
        snprintf(why, size, "tensor '%s': swizzle span %d; it must be 0, 32, 64 or 128 bytes", name, m->swizzle);
        return 9;
    }
    if (m->swizzle && inner > (uint64_t)m->swizzle) {
        snprintf(why, size, "tensor '%s': a box row has %" PRIu64 " bytes, more than the swizzle span of %d", name, inner,
                 m->swizzle);
        return 10;
    }
    if (m->l2_promotion != 0 && m->l2_promotion != 64 && m->l2_promotion != 128 && m->l2_promotion != 256) {
        snprintf(why, size, "tensor '%s': L2 promotion %d; it must be 0, 64, 128 or 256 bytes", name, m->l2_promotion);
        return 11;
    }
    return 0;
}

/* CUtensorMapDataType. fp8 and bool travel as bytes; tf32 as float, since FLOAT_TF32 would change the bits on the way. */
static int data_type(weir_dtype t) {
    enum { UINT8, UINT16, UINT32, INT32, UINT64, INT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16 };
    switch (t) {
    case WEIR_I16:
    case WEIR_U16: return UINT16;
    case WEIR_I32: return INT32;
    case WEIR_U32: return UINT32;
    case WEIR_I64: return INT64;
    case WEIR_U64: return UINT64;
    case WEIR_F16: return FLOAT16;
    case WEIR_BF16: return BFLOAT16;
    case WEIR_F32:
    case WEIR_TF32: return FLOAT32;
    case WEIR_F64: return FLOAT64;
    default: return UINT8;
    }
}

static int swizzle_code(int span) { return span == 128 ? 3 : span == 64 ? 2 : span == 32 ? 1 : 0; }
static int promotion_code(int bytes) { return bytes == 256 ? 3 : bytes == 128 ? 2 : bytes == 64 ? 1 : 0; }

weir_status weiri_tmap_encode(weir_device *d, const weiri_tmap *m, const char *name, weiri_cumap *out) {
    static const uint32_t step[5] = { 1, 1, 1, 1, 1 };
    weiri_cures r =
        d->cu->tensor_map(out, data_type(m->dtype), (unsigned)m->rank, (void *)(uintptr_t)m->base, m->dim, m->stride + 1,
                          m->box, step, 0, swizzle_code(m->swizzle), promotion_code(m->l2_promotion), 0);
    if (r == CU_OK) return WEIR_OK;
    return weiri_device_fail(
        d, r, "tensor map of '%s' (rank %d, %s, %llu x %llu elements, row step %llu bytes, box %u x %u, swizzle %d)", name,
        m->rank, weir_dtype_name(m->dtype), (unsigned long long)m->dim[0], (unsigned long long)(m->rank > 1 ? m->dim[1] : 1),
        (unsigned long long)(m->rank > 1 ? m->stride[1] : 0), m->box[0], m->rank > 1 ? m->box[1] : 1, m->swizzle);
}
