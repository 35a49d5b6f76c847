/* How a tensor core adds: d += a * b of one instruction, rounded as the hardware does it.
 *
 * The rule was fitted to what an H200 showed (t/vectors/h200_rounding.lua; docs/simulator.md says on how many results). Products
 * are exact. The exponent of a product is the sum of its factors', though it may be twice as large; a subnormal factor has the
 * least exponent of its type. Every product and the old sum are cut, towards zero, below `fraction` bits under the largest
 * exponent, or under SMALLEST; what is left is added exactly and cut, towards zero, to `kept` bits; what is 0 then is +0. Each instruction is a row of
 * `rules`.
 *
 * sm_90 has no 8-bit mma.sync: the compiler makes two of f16 of it, of bytes 0 and 1 and then of bytes 2 and 3 of each register,
 * which begin with 0, and adds the old sum to theirs in f32.
 *
 * Two ways to the same bits. `eight` takes eight columns: cutting x / 2^lsb is the conversion to an i32 of the product times a
 * power of two. That is exact, as a product has at most 22 bits, while nothing over- or underflows: with exponents from LOWEST to
 * HIGHEST, where a product too small for an f32 is far below the last bit that counts. Terms are less than 2^27, so that eight
 * and the old sum stay within an i32, and a double adds such parts exactly. `one` takes any numbers, in integers. */
#include <math.h>
#include <string.h>

#include "machine.h"

enum { WIDTH = 8, LOWEST = -60, HIGHEST = 100, SMALLEST = -133, OF_ZERO = -4000, OF_SPECIAL = 15000, ONE_NAN = 0x7fffffff };

typedef struct rule {
    int fraction;            /* bits that count below the largest exponent */
    int kept;                /* bits of the result */
    int least_a, least_b;    /* exponents of the operands' subnormals */
    int least;               /* of the old sum's */
    bool halves;             /* two sums of half the products, which begin with 0; the old one is added last, to nearest */
    bool sticky;             /* the last bit kept is set if one that is cut was */
} rule;

/* ORDER: W_BF16 ... of weir_sim.h */
static const rule rules[][7] = {
    [WEIRI_SUMS_MMA] = {
        { 25, 24, -126, -126, -126, false, false }, /* bf16 */
        { 25, 24, -14, -14, -126, false, false },   /* f16 */
        { 25, 24, -126, -126, -126, false, false }, /* tf32 */
        { 25, 24, -14, -14, -126, true, false },    /* e4m3 */
        { 25, 24, -14, -14, -126, true, false },    /* e5m2 */
        { 25, 24, -14, -14, -126, true, false },    /* e4m3 by e5m2 */
        { 25, 24, -14, -14, -126, true, false },    /* e5m2 by e4m3 */
    },
    [WEIRI_SUMS_WGMMA] = {
        { 25, 24, -126, -126, -126, false, false },
        { 25, 24, -14, -14, -126, false, false },
        { 25, 24, -126, -126, -126, false, false },
        { 13, 14, -6, -6, -126, false, false },
        { 13, 14, -14, -14, -126, false, false },
        { 13, 14, -6, -14, -126, false, false },
        { 13, 14, -14, -6, -126, false, false },
    },
};

/* A sum in f16 is rounded to nearest from all of its bits: 24 go to the caller, the last of them set if any below was. */
static const rule in_f16 = { 25, 24, -14, -14, -14, false, true };

typedef struct factors {     /* of one row and some columns; k is even */
    const float *a, *b;      /* b: k x n */
    const i16 *ea, *eb;      /* their exponents */
    u32 n, k;
} factors;

/* Four or eight columns: gcc and clang make one instruction of each operation, at any level and for any CPU. */
typedef float v4f __attribute__((vector_size(16)));
typedef i32 v4i __attribute__((vector_size(16)));
typedef i16 v8h __attribute__((vector_size(16)));

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

/* m 2^e, cut; what is too large becomes infinite. */
static float cut(const rule *r, i64 m, int e) {
    u64 u = m < 0 ? (u64)-m : (u64)m;
    int n = 0;
    while (u >> n) n++;
    int drop = n - r->kept > -149 - e ? n - r->kept : -149 - e; /* an f32 ends at 2^-149 */
    if (drop > 0) {
        u64 left = drop < 64 ? u >> drop << drop : 0;
        u = left | (r->sticky && left != u ? (u64)1 << drop : 0);
    }
    double x = ldexp((double)u, e); /* at most 24 bits are left of u */
    float y = x > 0x1.fffffep127 ? INFINITY : (float)x;
    return m < 0 && y != 0 ? -y : y;
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
    int largest = exponent(bits_of(old), r->least), e;
    float special = largest == OF_SPECIAL ? old : 0; /* the sum of what is not finite: as IEEE 754 */
    if (weiri_sim_poison(bits_of(old))) return old;
    for (u32 i = 0; i < f->k; i++) {
        u32 at = i * f->n + column;
        int sum = f->ea[i] + f->eb[at];
        float x = f->a[i], y = f->b[at];
        if (f->ea[i] == OF_SPECIAL || f->eb[at] == OF_SPECIAL) {
            special += x * y;
            largest = OF_SPECIAL;
        } else if (x != 0 && y != 0 && sum > largest) largest = sum;
    }
    if (largest >= OF_SPECIAL) return special == special ? special : float_of(ONE_NAN);
    if (largest <= OF_ZERO) return 0;
    if (largest < SMALLEST) largest = SMALLEST;
    int lsb = largest - r->fraction;
    i64 sum = 0;
    if (old != 0) {
        i64 m = split(old, &e);
        sum = shift(m, e - lsb);
    }
    for (u32 i = 0; i < f->k; i++) {
        float x = f->a[i], y = f->b[i * f->n + column];
        int ex, ey;
        if (x == 0 || y == 0) continue;
        i64 m = split(x, &ex) * split(y, &ey); /* less than 2^(fraction + 2) when it is shifted to the left */
        sum += shift(m, ex + ey - lsb);
    }
    return cut(r, sum, lsb);
}

static v4f load(const float *p) {
    v4f x;
    memcpy(&x, p, sizeof x);
    return x;
}

static v8h load_exponents(const i16 *p) {
    v8h x;
    memcpy(&x, p, sizeof x);
    return x;
}

static v8h larger(v8h x, v8h y) {
    v8h more = x > y;
    return (x & more) | (y & ~more);
}

/* The largest exponents of eight columns: in a function of its own they stay in registers. Even and odd k do not wait for each
 * other. */
static v8h largest_of(const factors *f, u32 c) {
    const i16 *ea = f->ea, *eb = f->eb + c;
    v8h even, odd;
    memset(&even, 0x80, sizeof even);
    odd = even;
    for (u32 i = 0; i < f->k; i += 2, eb += 2 * f->n) {
        i16 x = ea[i], y = ea[i + 1];
        even = larger((v8h){ x, x, x, x, x, x, x, x } + load_exponents(eb), even);
        odd = larger((v8h){ y, y, y, y, y, y, y, y } + load_exponents(eb + f->n), odd);
    }
    return larger(even, odd);
}

static bool beyond(v8h e) {
    const v8h low = { LOWEST, LOWEST, LOWEST, LOWEST, LOWEST, LOWEST, LOWEST, LOWEST };
    const v8h high = { HIGHEST, HIGHEST, HIGHEST, HIGHEST, HIGHEST, HIGHEST, HIGHEST, HIGHEST };
    v8h out = (e < low) | (e > high);
    u64 any[2];
    memcpy(any, &out, sizeof any);
    return (any[0] | any[1]) != 0;
}

/* s[0..7] of columns c and on. */
static void eight(const rule *r, const factors *f, u32 c, float *restrict s) {
    i16 e[WIDTH], of_s[WIDTH];
    for (int j = 0; j < WIDTH; j++) of_s[j] = exponent(bits_of(s[j]), r->least);
    v8h largest = larger(largest_of(f, c), load_exponents(of_s));
    memcpy(e, &largest, sizeof e);
    if (beyond(largest)) { /* zeros may have any exponent: tiles reach over a tensor's end */
        for (int j = 0; j < WIDTH; j++) e[j] = e[j] < OF_ZERO / 2 ? 0 : e[j];
        if (beyond(load_exponents(e))) {
            for (u32 j = 0; j < WIDTH; j++) s[j] = one(r, f, c + j, s[j]);
            return;
        }
    }
    float scale[WIDTH];
    for (int j = 0; j < WIDTH; j++) scale[j] = float_of((u32)(127 + r->fraction - e[j]) << 23);
    v4f scale0 = load(scale), scale1 = load(scale + 4);
    v4i part0 = __builtin_convertvector(load(s) * scale0, v4i), part1 = __builtin_convertvector(load(s + 4) * scale1, v4i);
    double sum[WIDTH] = { 0 };
    for (u32 first = 0; first < f->k; first += 8) {
        u32 end = first + 8 < f->k ? first + 8 : f->k;
        for (u32 i = first; i < end; i++) {
            const float *b = f->b + i * f->n + c, x = f->a[i];
            v4f a = { x, x, x, x };
            part0 += __builtin_convertvector(a * load(b) * scale0, v4i);
            part1 += __builtin_convertvector(a * load(b + 4) * scale1, v4i);
        }
        for (int j = 0; j < 4; j++) sum[j] += part0[j], sum[j + 4] += part1[j];
        part0 = part1 = (v4i){ 0 };
    }
    u64 mask = ~(u64)0 << (53 - r->kept);
    for (int j = 0; j < WIDTH; j++) {
        u64 u;
        memcpy(&u, &sum[j], sizeof u);
        u = (u & mask) | (r->sticky && u & ~mask ? ~mask + 1 : 0);
        memcpy(&sum[j], &u, sizeof u);
        s[j] = (float)sum[j] * float_of((u32)(127 - r->fraction + e[j]) << 23);
    }
}

/* Of k numbers those that an 8-bit mma.sync adds first come first. */
static void into_halves(float *x, u32 k, u32 step) {
    float y[SUMS_K];
    for (u32 i = 0; i < k; i++) y[i / 2 % 2 * k / 2 + i / 4 * 2 + i % 2] = x[i * step];
    for (u32 i = 0; i < k; i++) x[i * step] = y[i];
}

void weiri_sums(machine *m, weiri_sums_of of, u32 type, float *restrict d, float *a, float *b, u32 rows, u32 n, u32 k) {
    const rule *r = of == WEIRI_SUMS_F16 ? &in_f16 : &rules[of][type];
    for (u32 row = 0; row < rows && r->halves; row++) into_halves(a + row * k, k, 1);
    for (u32 c = 0; c < n && r->halves; c++) into_halves(b + c, k, n);
    exponents(a, rows * k, r->least_a, m->exp_a);
    exponents(b, k * n, r->least_b, m->exp_b);
    for (u32 row = 0; row < rows; row++)
        for (u32 c = 0; c < n; c += WIDTH) {
            u32 half = k / 2;
            float *s = d + row * n + c, apart[WIDTH] = { 0 };
            factors f = { a + row * k, b, m->exp_a + row * k, m->exp_b, n, r->halves ? half : k };
            eight(r, &f, c, r->halves ? apart : s);
            if (!r->halves) continue;
            eight(r, &(factors){ f.a + half, b + half * n, f.ea + half, f.eb + half * n, n, half }, c, apart);
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
