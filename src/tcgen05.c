/* Descriptors of the sm_100a tensor core: pure functions of plain numbers. */
#include "tcgen05.h"

#include <stdio.h>

bool weiri_tc_kind_of(weir_dtype t, weiri_tc_kind *kind) {
    switch (t) {
    case WEIR_BF16:
    case WEIR_F16: *kind = TC_KIND_F16; return true;
    case WEIR_TF32: *kind = TC_KIND_TF32; return true;
    case WEIR_E4M3:
    case WEIR_E5M2: *kind = TC_KIND_F8; return true;
    default: return false;
    }
}

const char *weiri_tc_kind_name(weiri_tc_kind kind) {
    return kind == TC_KIND_F16 ? "f16" : kind == TC_KIND_TF32 ? "tf32" : "f8";
}

static uint32_t type_code(weir_dtype t) {
    return t == WEIR_BF16 ? TC_BF16 : t == WEIR_F16 ? TC_F16 : t == WEIR_TF32 ? TC_TF32 : t == WEIR_E4M3 ? TC_E4M3 : TC_E5M2;
}

static bool type_of(weiri_tc_kind kind, uint32_t code, weir_dtype *t) {
    if (kind == TC_KIND_TF32) *t = WEIR_TF32;
    else if (kind == TC_KIND_F16) *t = code == TC_BF16 ? WEIR_BF16 : WEIR_F16;
    else *t = code == TC_E4M3 ? WEIR_E4M3 : WEIR_E5M2;
    return type_code(*t) == code;
}

bool weiri_tc_valid(const weiri_tc_shape *s, char *why, size_t size) {
    int ctas = s->pair ? 2 : 1, step = s->pair ? TC_PAIR_N_STEP : s->m == 64 ? TC_N_STEP_M64 : TC_N_STEP_M128;
    if (s->pair && s->m != 128 && s->m != 256)
        snprintf(why, size, "%d rows in each of two CTAs; their mma has 64 or 128 in each", s->m / ctas);
    else if (!s->pair && s->m != 64 && s->m != 128) snprintf(why, size, "%d rows; an mma of one CTA has 64 or 128", s->m);
    else if (s->n < step || s->n > TC_MAX_N || s->n % step)
        snprintf(why, size, "%d columns; %s %d rows an mma has a multiple of %d, up to %d", s->n,
                 s->pair ? "of two CTAs with" : "with", s->m, step, TC_MAX_N);
    else if ((s->a_mn || s->b_mn) && s->kind != TC_KIND_F16)
        snprintf(why, size, "a transposed operand of %s; only 16-bit operands may be transposed",
                 weir_dtype_name(s->a_mn ? s->a : s->b));
    else return true;
    return false;
}

uint32_t weiri_tc_idesc(const weiri_tc_shape *s) {
    return (uint32_t)TC_D_F32 << TC_IDESC_D_SHIFT | type_code(s->a) << TC_IDESC_A_SHIFT | type_code(s->b) << TC_IDESC_B_SHIFT |
           (uint32_t)s->a_mn << TC_IDESC_A_MAJOR | (uint32_t)s->b_mn << TC_IDESC_B_MAJOR |
           (uint32_t)(s->n / TC_IDESC_N_UNIT) << TC_IDESC_N_SHIFT | (uint32_t)(s->m / TC_IDESC_M_UNIT) << TC_IDESC_M_SHIFT;
}

bool weiri_tc_decode(weiri_tc_kind kind, uint32_t idesc, weiri_tc_shape *s) {
    *s = (weiri_tc_shape){ .kind = kind };
    s->a_mn = idesc >> TC_IDESC_A_MAJOR & 1;
    s->b_mn = idesc >> TC_IDESC_B_MAJOR & 1;
    s->n = (int)(idesc >> TC_IDESC_N_SHIFT & 63) * TC_IDESC_N_UNIT;
    s->m = (int)(idesc >> TC_IDESC_M_SHIFT & 31) * TC_IDESC_M_UNIT;
    return type_of(kind, idesc >> TC_IDESC_A_SHIFT & 7, &s->a) && type_of(kind, idesc >> TC_IDESC_B_SHIFT & 7, &s->b) &&
           weiri_tc_idesc(s) == idesc;
}

int weiri_tc_layout(int swizzle) {
    return swizzle == 128 ? TC_LAYOUT_128B : swizzle == 64 ? TC_LAYOUT_64B : swizzle == 32 ? TC_LAYOUT_32B : TC_LAYOUT_NONE;
}

int weiri_tc_swizzle(int layout) {
    return layout == TC_LAYOUT_NONE   ? 0
           : layout == TC_LAYOUT_128B ? 128
           : layout == TC_LAYOUT_64B  ? 64
           : layout == TC_LAYOUT_32B  ? 32
                                      : -1;
}

void weiri_tc_cell(const weiri_tc_shape *s, int m, int n, int *cta, int *lane, int *column) {
    int rows = s->pair ? s->m / 2 : s->m;
    *cta = m / rows;
    m %= rows;
    *lane = m;
    *column = n;
    if (s->pair && rows == 64) { /* the columns' halves lie one above the other */
        *lane += n >= s->n / 2 ? TC_LANES / 2 : 0;
        *column = n % (s->n / 2);
    } else if (rows == 64) *lane = TC_WARP_LANES * (m / TC_M64_LANES) + m % TC_M64_LANES;
}

int weiri_tc_columns(bool pair, int rows, int n) { return pair && rows == 64 ? n / 2 : n; }

bool weiri_tc_decode_scaled(weiri_tc_kind kind, uint32_t idesc, weiri_tc_scaled *s, char *why, size_t size) {
    uint32_t a = idesc >> TC_IDESC_A_SHIFT & 7, b = idesc >> TC_IDESC_B_SHIFT & 7, rows = idesc >> TC_IDESC_M_SHIFT & 31;
    *s = (weiri_tc_scaled){ .n = (int)(idesc >> TC_IDESC_N_SHIFT & 63) * TC_IDESC_N_UNIT,
                            .four_bits = kind != TC_KIND_MXF8,
                            .scales = kind == TC_KIND_MXF8 ? 1 : kind == TC_KIND_MXF4 ? 2 : 4,
                            .e5m2_a = a == TC_E5M2,
                            .e5m2_b = b == TC_E5M2,
                            .ue8m0 = idesc >> TC_IDESC_SCALE_TYPE & 1,
                            .id_a = (int)(idesc >> TC_IDESC_SCALE_A & 3),
                            .id_b = (int)(idesc >> TC_IDESC_SCALE_B & 3) };
    s->k = s->four_bits ? 2 * TC_K_BYTES : TC_K_BYTES;
    uint32_t known = 3u << TC_IDESC_SCALE_B | 7u << TC_IDESC_A_SHIFT | 7u << TC_IDESC_B_SHIFT | 63u << TC_IDESC_N_SHIFT |
                     1u << TC_IDESC_SCALE_TYPE | 31u << TC_IDESC_M_SHIFT | 3u << TC_IDESC_SCALE_A;
    if (idesc & ~known) snprintf(why, size, "bits %#x are set, which dense K-major operands do not have", idesc & ~known);
    else if (rows * TC_IDESC_M_UNIT != TC_LANES)
        snprintf(why, size, "%u rows; a block-scaled mma of one CTA has %d", rows * TC_IDESC_M_UNIT, TC_LANES);
    else if (s->n < TC_N_STEP_M128 || s->n > TC_MAX_N || s->n % TC_N_STEP_M128)
        snprintf(why, size, "%d columns; with %d rows an mma has a multiple of %d, up to %d", s->n, TC_LANES, TC_N_STEP_M128,
                 TC_MAX_N);
    else if (s->four_bits ? a != TC_E2M1 || b != TC_E2M1 : a > TC_E5M2 || b > TC_E5M2)
        snprintf(why, size, "operand types %u and %u; %s", a, b,
                 s->four_bits ? "of a 4-bit kind both are 1 (e2m1)" : "known are 0 (e4m3) and 1 (e5m2)");
    else if (kind != TC_KIND_NVF4 && !s->ue8m0) snprintf(why, size, "scales of ue4m3, which kind mxf4nvf4 alone takes");
    else if (kind == TC_KIND_NVF4 && s->ue8m0) snprintf(why, size, "scales of ue8m0, where four a row are ue4m3");
    else if (s->id_a % s->scales || s->id_b % s->scales)
        snprintf(why, size, "scale ids %d and %d; of %d scales a row an id is a multiple of %d", s->id_a, s->id_b, s->scales,
                 s->scales);
    else return true;
    return false;
}
