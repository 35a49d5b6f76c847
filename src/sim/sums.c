/* How a tensor core adds: d += a * b of one instruction, rounded as the hardware does it.
 *
 * The rule (fitted to what an H200 showed; t/vectors/h200_rounding.lua has it, docs/simulator.md says how much of it):
 * products are exact; the exponent of a product is the sum of its factors' (which may leave it one too small, as nothing is normalised, and a
 * subnormal factor has the least exponent of its type); all products and the old sum are cut, towards zero, below `fraction` bits under the
 * largest of these exponents; what is left is added exactly, and cut, towards zero, to `kept` bits. Each instruction is a row of `rules`.
 *
 * An 8-bit mma.sync is none on sm_90: the compiler makes two of f16 of it, of the bytes 0, 1 and then of the bytes 2, 3 of each register, that
 * begin with 0, and adds the old sum to theirs in f32.
 *
 * Two ways of the same bits. `eight` takes eight columns at once: cut(x / 2^lsb) is the conversion of the product times a power of two to an i32,
 * which is exact, as the product has at most 22 bits, as long as neither over- nor underflows: so it is for exponents from LOWEST to HIGHEST,
 * where a product too small for an f32 is far below the last bit that counts. A term is less than 2^27, so that 8 and the old sum stay
 * within an i32; a double adds these parts exactly. `one` takes any numbers in integers. */
#include <math.h>
#include <string.h>

#include "machine.h"

enum { WIDTH = 8, LOWEST = -60, HIGHEST = 100, OF_ZERO = -4000, OF_SPECIAL = 15000, ONE_NAN = 0x7fffffff };

typedef struct rule {
    int fraction;            /* bits that count below the largest exponent */
    int kept;                /* bits of the result */
    int least_a, least_b;    /* exponents of the operands' subnormals */
    bool halves;             /* two sums of half the products each, that begin with 0; the old one comes last, rounded to nearest */
} rule;

/* ORDER: W_BF16 ... of weir_sim.h. The types of 8 bits that have an e5m2, and whatever docs/simulator.md names, are not measured. */
static const rule rules[][7] = {
    [WEIRI_SUMS_MMA] = { { 25, 24, -126, -126, false }, { 25, 24, -14, -14, false }, { 25, 24, -126, -126, false },
                         { 25, 24, -14, -14, true }, { 25, 24, -14, -14, true }, { 25, 24, -14, -14, true }, { 25, 24, -14, -14, true } },
    [WEIRI_SUMS_WGMMA] = { { 25, 24, -126, -126, false }, { 25, 24, -14, -14, false }, { 25, 24, -126, -126, false },
                           { 13, 14, -6, -6, false }, { 13, 14, -14, -14, false }, { 13, 14, -6, -14, false }, { 13, 14, -14, -6, false } },
};

typedef struct factors {     /* of one row and some columns */
    const float *a, *b;      /* b: k x n */
    const i16 *ea, *eb;      /* their exponents */
    u32 n;
    const u8 *of;            /* which k, and how many */
    u32 count;
} factors;

static u32 bits_of(float x) {
    u32 u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(u32 u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static i16 exponent(u32 bits, int least) {
    int e = (int)(bits >> 23 & 255) - 127;
    return (i16)(!(bits << 1) ? OF_ZERO : e == 128 ? OF_SPECIAL : e < least ? least : e);
}

static void exponents(const float *x, u32 n, int least, i16 *out) {
    for (u32 i = 0; i < n; i++) out[i] = exponent(bits_of(x[i]), least);
}

/* m 2^e, cut to so many bits; what is too large becomes infinite. */
static float cut(i64 m, int e, int kept) {
    u64 u = m < 0 ? (u64)-m : (u64)m;
    int n = 0;
    while (u >> n) n++;
    int drop = n - kept > -149 - e ? n - kept : -149 - e; /* an f32 ends at 2^-149 */
    if (drop > 0) u = drop < 64 ? u >> drop << drop : 0;
    double x = ldexp((double)u, e); /* at most 24 bits are left of u */
    float y = x > 0x1.fffffep127 ? INFINITY : (float)x;
    return m < 0 ? -y : y;
}

/* A finite x != 0 is m 2^e. */
static i64 split(float x, int *e) {
    u32 u = bits_of(x), field = u >> 23 & 255;
    i64 m = (i64)(u & 0x7fffff) | (field ? 0x800000 : 0);
    *e = (int)(field ? field : 1) - 150;
    return u >> 31 ? -m : m;
}

static i64 shift(i64 m, int by) {
    if (by >= 0) return m * ((i64)1 << by);
    i64 u = m < 0 ? -m : m;
    u = by > -63 ? u >> -by : 0;
    return m < 0 ? -u : u;
}

static float one(const rule *r, const factors *f, u32 column, float old) {
    int largest = exponent(bits_of(old), -126), e;
    float special = largest == OF_SPECIAL ? old : 0, zero = old; /* sums of what is not finite, and of zeros, as IEEE 754 has them */
    if (weiri_sim_poison(bits_of(old))) return old;
    for (u32 i = 0; i < f->count; i++) {
        u32 at = f->of[i] * f->n + column;
        int sum = f->ea[f->of[i]] + f->eb[at];
        float x = f->a[f->of[i]], y = f->b[at];
        if (f->ea[f->of[i]] == OF_SPECIAL || f->eb[at] == OF_SPECIAL) {
            special += x * y;
            largest = OF_SPECIAL;
        } else if (x == 0 || y == 0) zero += x * y;
        else if (sum > largest) largest = sum;
    }
    if (largest >= OF_SPECIAL) return special == special ? special : float_of(ONE_NAN);
    if (largest <= OF_ZERO) return zero;
    int lsb = largest - r->fraction;
    i64 sum = 0;
    if (old != 0) {
        i64 m = split(old, &e);
        sum = shift(m, e - lsb);
    }
    for (u32 i = 0; i < f->count; i++) {
        float x = f->a[f->of[i]], y = f->b[f->of[i] * f->n + column];
        int ex, ey;
        if (x == 0 || y == 0) continue;
        i64 m = split(x, &ex) * split(y, &ey);
        while (!(m & 1)) { /* so that no bit leaves on the left */
            m /= 2;
            ex++;
        }
        sum += shift(m, ex + ey - lsb);
    }
    return cut(sum, lsb, r->kept);
}

/* s[0..7] of columns c and on. */
static void eight(const rule *r, const factors *f, u32 c, float *restrict s) {
    i16 e[WIDTH], low = HIGHEST, high = LOWEST;
    for (int j = 0; j < WIDTH; j++) e[j] = exponent(bits_of(s[j]), -126);
    for (u32 i = 0; i < f->count; i++) {
        const i16 *eb = f->eb + f->of[i] * f->n + c;
        i16 ea = f->ea[f->of[i]];
        for (int j = 0; j < WIDTH; j++) {
            i16 x = (i16)(ea + eb[j]);
            e[j] = x > e[j] ? x : e[j];
        }
    }
    for (int j = 0; j < WIDTH; j++) { /* a zero and zeros have any exponent: tiles reach over a tensor's end */
        if (e[j] < OF_ZERO / 2 && !bits_of(s[j])) e[j] = 0;
        low = e[j] < low ? e[j] : low;
        high = e[j] > high ? e[j] : high;
    }
    if (low < LOWEST || high > HIGHEST) {
        for (u32 j = 0; j < WIDTH; j++) s[j] = one(r, f, c + j, s[j]);
        return;
    }
    float scale[WIDTH], back[WIDTH];
    double sum[WIDTH];
    for (int j = 0; j < WIDTH; j++) {
        scale[j] = float_of((u32)(127 + r->fraction - e[j]) << 23);
        back[j] = float_of((u32)(127 - r->fraction + e[j]) << 23);
        sum[j] = 0;
    }
    for (u32 first = 0; first < f->count; first += 8) {
        u32 end = first + 8 < f->count ? first + 8 : f->count;
        i32 part[WIDTH];
        for (int j = 0; j < WIDTH; j++) part[j] = first ? 0 : (i32)(s[j] * scale[j]);
        for (u32 i = first; i < end; i++) {
            const float *b = f->b + f->of[i] * f->n + c, a = f->a[f->of[i]];
            for (int j = 0; j < WIDTH; j++) part[j] += (i32)(a * b[j] * scale[j]);
        }
        for (int j = 0; j < WIDTH; j++) sum[j] += part[j];
    }
    u64 mask = ~(u64)0 << (53 - r->kept);
    for (int j = 0; j < WIDTH; j++) {
        u64 u;
        memcpy(&u, &sum[j], sizeof u);
        u &= mask;
        memcpy(&sum[j], &u, sizeof u);
        s[j] = (float)(sum[j] * back[j]);
    }
}

void weiri_sums(machine *m, weiri_sums_of of, u32 type, float *restrict d, const float *a, const float *b, u32 rows, u32 n, u32 k) {
    const rule *r = &rules[of][type];
    u8 in_turn[2][SUMS_K];
    for (u32 i = 0; i < k; i++) {
        if (r->halves) in_turn[i / 2 % 2][i / 4 * 2 + i % 2] = (u8)i;
        else in_turn[0][i] = (u8)i;
    }
    exponents(a, rows * k, r->least_a, m->exp_a);
    exponents(b, k * n, r->least_b, m->exp_b);
    for (u32 row = 0; row < rows; row++)
        for (u32 c = 0; c < n; c += WIDTH) {
            float *s = d + row * n + c, apart[WIDTH] = { 0 };
            factors f = { a + row * k, b, m->exp_a + row * k, m->exp_b, n, in_turn[0], r->halves ? k / 2 : k };
            eight(r, &f, c, r->halves ? apart : s);
            if (!r->halves) continue;
            f.of = in_turn[1];
            eight(r, &f, c, apart);
            for (int j = 0; j < WIDTH; j++) {
                float x = s[j] + apart[j];
                if (!weiri_sim_poison(bits_of(s[j]))) s[j] = x == x ? x : float_of(ONE_NAN);
            }
        }
}

/* Nobody has measured an sm_100a: in f32, in ascending k; eight columns at a time stay in registers. */
void weiri_sums_in_turn(float *restrict d, const float *restrict a, const float *restrict b, u32 n, u32 k) {
    for (u32 r = 0; r < 64; r++)
        for (u32 c = 0; c < n; c += 8) {
            float s[8];
            for (int j = 0; j < 8; j++) s[j] = d[r * n + c + (u32)j];
            for (u32 i = 0; i < k; i++) {
                float x = a[r * k + i];
                for (int j = 0; j < 8; j++) s[j] += x * b[i * n + c + (u32)j];
            }
            for (int j = 0; j < 8; j++) d[r * n + c + (u32)j] = s[j];
        }
}
