/* Block-scaled operands of the tensor core of sm_100a (kinds mxf8f6f4, mxf4, mxf4nvf4): numbers and sums, without any of their
 * ordering, which is tcgen05.c's. Not checked on hardware. */
#include <math.h>
#include <string.h>

#include "../number.h"
#include "machine.h"

enum { MAX_PIECES = 512 };

/* Of 4-bit numbers the low half of a byte comes first; sign, two bits of exponent, one of mantissa. */
static double e2m1(u32 bits) {
    static const double value[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
    return bits & 8 ? -value[bits & 7] : value[bits & 7];
}

/* A scale is a power of two, or an e4m3 without its sign. */
static double scale(u8 bits, bool ue8m0) {
    if (ue8m0) return bits == 0xff ? (double)NAN : ldexp(1, bits - 127);
    bits &= 0x7f;
    return weiri_number_get(WEIR_E4M3, &bits);
}

void weiri_scaled_operand(const cta *c, u64 desc, u32 rows, const weiri_tc_scaled *s, bool b, const u8 *scales, double *out) {
    u32 addr[MAX_PIECES], n = (u32)weiri_wgmma_pieces(desc, rows, 0, addr), k = (u32)s->k, block = k / (u32)s->scales;
    for (u32 i = 0; i < n; i++) { /* piece 2r + h: bytes 16h and on of row r */
        const u8 *p = weiri_smem_at(c, addr[i]);
        u32 row = i / 2, first = i % 2 * k / 2;
        double *o = out + row * k + first;
        for (u32 j = 0; j < k / 2; j++) {
            const u8 byte = (u8)(s->four_bits ? p[j / 2] >> 4 * (j % 2) & 15 : p[j]);
            double x = s->four_bits ? e2m1(byte) : weiri_number_get((b ? s->e5m2_b : s->e5m2_a) ? WEIR_E5M2 : WEIR_E4M3, &byte);
            o[j] = x * scale(scales[row * (u32)s->scales + (first + j) / block], s->ue8m0);
        }
    }
}

/* D += A * transpose(B), its sum in double and rounded once. */
void weiri_scaled_multiply(float *d, const double *a, const double *b, u32 rows, u32 n, u32 k) {
    for (u32 r = 0; r < rows; r++)
        for (u32 c = 0; c < n; c++) {
            double sum = d[r * n + c];
            for (u32 i = 0; i < k; i++) sum += a[r * k + i] * b[c * k + i];
            d[r * n + c] = (float)sum;
        }
}
