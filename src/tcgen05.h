/* The fifth-generation tensor core (sm_100a) in numbers: tensor memory, descriptors, shapes. plan, emit and sim read them here
 * and nowhere else. Nothing of this has met the hardware: docs/blackwell.md lists each constant, with where it comes from. */
#ifndef WEIRI_TCGEN05_H
#define WEIRI_TCGEN05_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#define WEIRI_UNCHECKED "model not checked on hardware"   /* said with every verdict, report and figure of such a target */

enum {
    TC_LANES = 128,              /* of tensor memory; a column is 4 bytes in each of them */
    TC_COLUMNS = 512,
    TC_MIN_COLUMNS = 32,         /* tcgen05.alloc: a power of two from here to TC_COLUMNS */
    TC_LANE_SHIFT = 16,          /* of an address: lane << 16 | column */
    TC_WARP_LANES = 32,          /* warp w reads lanes 32 * (w % 4) and on */
    TC_LOADS_IN_FLIGHT = 4,      /* tcgen05.ld of a warp before a wait::ld, as emitted; the simulator follows no more */
    TC_COLUMN_ALIGN = 1,         /* of a tile's first column: none is known to be asked for */
    TC_M64_LANES = 16,           /* M = 64: row m lies in lane 32 * (m / 16) + m % 16 */
    TC_K_BYTES = 32,             /* of an operand, per instruction */
    TC_MAX_N = 256,
    TC_N_STEP_M64 = 8, TC_N_STEP_M128 = 16,
    TC_PAIR_N_STEP = 32,         /* columns of an mma of two CTAs */
    /* shared-memory descriptor: fields of 16-byte units as on sm_90a, and these */
    TC_DESC_CONSTANT_BIT = 46,   /* set in every descriptor */
    TC_DESC_LAYOUT_SHIFT = 61,
    TC_LAYOUT_NONE = 0, TC_LAYOUT_128B = 2, TC_LAYOUT_64B = 4, TC_LAYOUT_32B = 6,
    /* instruction descriptor */
    TC_IDESC_D_SHIFT = 4, TC_IDESC_A_SHIFT = 7, TC_IDESC_B_SHIFT = 10,
    TC_IDESC_A_MAJOR = 15, TC_IDESC_B_MAJOR = 16,   /* bit set: MN-major */
    TC_IDESC_N_SHIFT = 17, TC_IDESC_N_UNIT = 8,
    TC_IDESC_M_SHIFT = 24, TC_IDESC_M_UNIT = 16,
    TC_IDESC_SCALE_B = 4, TC_IDESC_SCALE_TYPE = 23, TC_IDESC_SCALE_A = 29,   /* of the block-scaled kinds */
    TC_SCALE_ROWS = 32,          /* rows whose scales lie in one column */
    TC_E2M1 = 1,                 /* A and B of the 4-bit kinds */
    TC_D_F32 = 1,
    TC_F16 = 0, TC_BF16 = 1,     /* A and B of kind f16 */
    TC_TF32 = 2,                 /* of kind tf32 */
    TC_E4M3 = 0, TC_E5M2 = 1     /* of kind f8f6f4 */
};

typedef enum weiri_tc_kind {
    TC_KIND_F16 = 0, TC_KIND_TF32, TC_KIND_F8,
    TC_KIND_MXF8, TC_KIND_MXF4, TC_KIND_NVF4   /* block-scaled: weiri_tc_scaled */
} weiri_tc_kind;

/* What one instruction computes: D { m, n } in tensor memory (+)= A { m, k } * transpose(B { n, k }). */
typedef struct weiri_tc_shape {
    weiri_tc_kind kind;
    weir_dtype a, b;
    bool a_mn, b_mn;             /* MN-major */
    int m, n;
    bool pair;                   /* by two CTAs (cta_group::2): each has half the rows of A, of B and of D */
} weiri_tc_shape;

/* The same of a block-scaled kind, which authors' bodies issue: D { 128, n } in f32. */
typedef struct weiri_tc_scaled {
    int n, k, scales;            /* scales of a row of A or B: one for each k / scales elements */
    bool four_bits, e5m2_a, e5m2_b;   /* e2m1; else e4m3 or e5m2 */
    bool ue8m0;                  /* of the scales; else ue4m3 */
    int id_a, id_b;              /* byte of the first scale in its column */
} weiri_tc_scaled;
/* false: why has what is wrong. */
bool weiri_tc_decode_scaled(weiri_tc_kind kind, uint32_t idesc, weiri_tc_scaled *s, char *why, size_t size);
/* Can the tensor core of one CTA, or of a pair, do it? Else a text with the numbers that would do. */
bool weiri_tc_valid(const weiri_tc_shape *s, char *why, size_t size);
bool weiri_tc_kind_of(weir_dtype t, weiri_tc_kind *kind);
const char *weiri_tc_kind_name(weiri_tc_kind kind);                      /* "f16": as in the primitive w_umma_f16 */
uint32_t weiri_tc_idesc(const weiri_tc_shape *s);
/* false: bits outside the known fields, or values that no shape has. `pair` is no part of the descriptor. */
bool weiri_tc_decode(weiri_tc_kind kind, uint32_t idesc, weiri_tc_shape *s);
/* Layout code of a swizzle span in bytes, and back (-1: none such). */
int weiri_tc_layout(int swizzle);
int weiri_tc_swizzle(int layout);
/* Where element (m, n) of D lies: in which CTA of a pair (else 0), in which lane and column from D's own on. */
void weiri_tc_cell(const weiri_tc_shape *s, int m, int n, int *cta, int *lane, int *column);
/* Columns that a D of n columns takes, `rows` of its rows in each CTA. */
int weiri_tc_columns(bool pair, int rows, int n);

#endif
