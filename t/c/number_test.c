/* Conversions against values written by hand and against a search for the nearest representable number. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "number.h"
#include "../tap.h"

static uint32_t bits_of(weir_dtype t, double x) {
    uint32_t b = 0;
    weiri_number_put(t, x, &b);
    return b;
}

static double value_of(weir_dtype t, uint32_t b) { return weiri_number_get(t, &b); }

/* Nearest of all finite values, ties to the even code; beyond the largest: `over` (saturation or infinity by half a step). */
static bool nearest_matches(weir_dtype t, int bits, double x) {
    uint32_t best = 0, sign = 1u << (bits - 1);
    double gap = INFINITY;
    for (uint32_t b = 0; b < sign; b++) {
        double v = value_of(t, b), d = fabs(v - fabs(x));
        if (!isfinite(v)) continue;
        if (d < gap || (d == gap && b % 2 == 0)) gap = d, best = b;
    }
    return bits_of(t, x) == (best | (signbit(x) ? sign : 0));
}

int main(void) {
    static const struct {
        weir_dtype t;
        double x;
        uint32_t bits;
        const char *name;
    } known[] = {
        { WEIR_BF16, 1, 0x3f80, "bf16 1" },
        { WEIR_BF16, 1 + 0x1p-8, 0x3f80, "bf16 tie to even, down" },
        { WEIR_BF16, 1 + 3 * 0x1p-8, 0x3f82, "bf16 tie to even, up" },
        { WEIR_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81, "bf16 just over a tie: no double rounding through float" },
        { WEIR_BF16, 3.4e38, 0x7f80, "bf16 overflow gives infinity" },
        { WEIR_BF16, -INFINITY, 0xff80, "bf16 minus infinity" },
        { WEIR_BF16, NAN, 0x7fff, "bf16 NaN" },
        { WEIR_BF16, 0x1p-133, 0x0001, "bf16 smallest denormal" },
        { WEIR_F16, 65504, 0x7bff, "f16 largest" },
        { WEIR_F16, 65519, 0x7bff, "f16 rounds down to the largest" },
        { WEIR_F16, 65520, 0x7c00, "f16 rounds up to infinity" },
        { WEIR_F16, -0x1p-24, 0x8001, "f16 smallest denormal, negative" },
        { WEIR_F16, 0x1p-25, 0x0000, "f16 half of the smallest: tie to even" },
        { WEIR_E4M3, 448, 0x7e, "e4m3 largest" },
        { WEIR_E4M3, 1e9, 0x7e, "e4m3 saturates" },
        { WEIR_E4M3, -INFINITY, 0xfe, "e4m3 saturates infinity" },
        { WEIR_E4M3, NAN, 0x7f, "e4m3 NaN" },
        { WEIR_E4M3, 0x1p-9, 0x01, "e4m3 smallest denormal" },
        { WEIR_E5M2, 57344, 0x7b, "e5m2 largest" },
        { WEIR_E5M2, 1e9, 0x7b, "e5m2 saturates" },
        { WEIR_E5M2, NAN, 0x7f, "e5m2 NaN" },
        { WEIR_TF32, 1 + 0x1p-11, 0x3f800000, "tf32 tie to even" },
        { WEIR_TF32, 1 + 0x1p-10, 0x3f802000, "tf32 last bit" },
        { WEIR_F32, 0.1, 0x3dcccccd, "f32 0.1" },
        { WEIR_I8, 127.5, 0x7f, "i8 saturates" },
        { WEIR_I8, -200, 0x80, "i8 saturates below" },
        { WEIR_I8, 2.5, 2, "i8 tie to even" },
        { WEIR_I8, -3.5, 0xfc, "i8 negative tie to even" },
        { WEIR_U8, -1, 0, "u8 has no negatives" },
        { WEIR_U8, 255.4, 255, "u8 largest" },
        { WEIR_I32, 1e10, 0x7fffffff, "i32 saturates" },
        { WEIR_I32, NAN, 0, "i32 NaN gives 0" },
        { WEIR_U32, 4294967295.0, 0xffffffff, "u32 largest" },
        { WEIR_BOOL, 0.5, 1, "bool of a half" },
        { WEIR_BOOL, 0, 0, "bool of zero" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        is_int(known[i].bits, bits_of(known[i].t, known[i].x), known[i].name);

    static const struct {
        weir_dtype t;
        int bits;
    } small[] = { { WEIR_E4M3, 8 }, { WEIR_E5M2, 8 }, { WEIR_F16, 16 }, { WEIR_BF16, 16 } };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        weir_dtype t = small[i].t;
        bool same = true;
        for (uint32_t b = 0; b < 1u << small[i].bits; b++) {
            double v = value_of(t, b);
            if (isfinite(v)) same = same && bits_of(t, v) == b;
        }
        ok(same, "%s: every finite value comes back", weir_dtype_name(t));
        if (small[i].bits > 8) continue;
        weiri_random r;
        weiri_random_seed(&r, 7);
        bool near = true;
        for (int n = 0; n < 4000; n++)
            near = near && nearest_matches(t, small[i].bits, weiri_random_normal(&r) * ldexp(1, n % 40 - 28));
        for (uint32_t b = 0; b < 0x7e; b++) { /* the middle between neighbours */
            double mid = (value_of(t, b) + value_of(t, b + 1)) / 2;
            if (isfinite(mid)) near = near && nearest_matches(t, small[i].bits, mid);
        }
        ok(near, "%s: nearest, ties to even, against a search", weir_dtype_name(t));
    }
    bool same = true;
    weiri_random r;
    weiri_random_seed(&r, 3);
    for (int n = 0; n < 100000; n++) { /* halving the float's own precision: bf16 of a float through integer arithmetic */
        uint32_t f = (uint32_t)weiri_random_bits(&r);
        float x;
        memcpy(&x, &f, sizeof x);
        if (x != x) continue;
        same = same && bits_of(WEIR_BF16, (double)x) == ((f + 0x7fff + (f >> 16 & 1)) >> 16);
    }
    ok(same, "bf16 of 100000 random floats");

    double sum = 0, square = 0;
    weiri_random_seed(&r, 1);
    for (int n = 0; n < 200000; n++) {
        double x = weiri_random_normal(&r);
        sum += x;
        square += x * x;
    }
    ok(fabs(sum / 200000) < 0.01 && fabs(square / 200000 - 1) < 0.02, "normal deviates: mean %.4f, variance %.4f", sum / 200000,
       square / 200000);
    weiri_random q;
    weiri_random_seed(&r, 5);
    weiri_random_seed(&q, 5);
    ok(weiri_random_bits(&r) == weiri_random_bits(&q), "equal seeds, equal numbers");
    return done();
}
