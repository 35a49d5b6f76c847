#include "number.h"

#include <math.h>
#include <string.h>

/* A small binary float: sign, exponent, mantissa bits. */
typedef struct mini {
    int exponent, mantissa;
    bool infinite, saturate;
    uint32_t nan;
} mini;

static const mini minis[] = {
    { 8, 7, true, false, 0x7fff },  /* bf16 */
    { 5, 10, true, false, 0x7fff }, /* f16 */
    { 4, 3, false, true, 0x7f },    /* e4m3: exponent 15 holds numbers but for mantissa 7, which is NaN */
    { 5, 2, true, true, 0x7f },     /* e5m2 */
    { 8, 10, true, false, 0 },      /* tf32: a float with 13 bits below the mantissa */
};
enum { BF16, F16, E4M3, E5M2, TF32 };

static uint32_t largest_finite(const mini *m) {
    uint32_t all = (1u << (m->exponent + m->mantissa)) - 1;
    return m->infinite ? all - (1u << m->mantissa) : all - 1;
}

/* Rounds to nearest, ties to even, in integers: independent of the rounding mode of the host. */
static uint32_t encode(const mini *m, double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    uint32_t sign = (uint32_t)(b >> 63) << (m->exponent + m->mantissa);
    int e = (int)(b >> 52 & 0x7ff);
    uint64_t frac = b & 0xfffffffffffffu;
    int bias = (1 << (m->exponent - 1)) - 1;
    uint32_t infinity = m->infinite ? largest_finite(m) + 1 : m->nan;
    if (e == 0x7ff && frac) return m->nan;
    if (e == 0x7ff) return sign | (m->saturate ? largest_finite(m) : infinity);
    if (e == 0) return sign;     /* zero, or a double denormal: far below every type here */
    int to = e - 1023 + bias;    /* biased exponent in the small type */
    int drop = 52 - m->mantissa; /* fraction bits that go */
    uint64_t value = frac | 1ull << 52;
    if (to <= 0) { /* denormal: the hidden bit moves into the mantissa */
        drop += 1 - to;
        to = 0;
    } else {
        value -= 1ull << 52;
    }
    if (drop > 63) return sign;
    uint64_t kept = value >> drop, rest = value & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    uint64_t bits = ((uint64_t)to << m->mantissa) + kept; /* a carry out of the mantissa raises the exponent */
    if (bits > largest_finite(m)) return sign | (m->saturate ? largest_finite(m) : infinity);
    return sign | (uint32_t)bits;
}

static double decode(const mini *m, uint32_t bits) {
    uint32_t frac = bits & ((1u << m->mantissa) - 1);
    int e = (int)(bits >> m->mantissa & ((1u << m->exponent) - 1)), top = (1 << m->exponent) - 1;
    int bias = (1 << (m->exponent - 1)) - 1;
    double sign = bits >> (m->exponent + m->mantissa) & 1 ? -1 : 1;
    if (m->infinite && e == top) return frac ? NAN : sign * INFINITY;
    if (!m->infinite && e == top && frac == (1u << m->mantissa) - 1) return NAN;
    if (e == 0) return sign * ldexp(frac, 1 - bias - m->mantissa);
    return sign * ldexp(frac + (1u << m->mantissa), e - bias - m->mantissa);
}

/* To the nearest integer, ties to even, without asking for the rounding mode. */
static double nearest(double x) {
    double f = floor(x), d = x - f;
    if (d > 0.5 || (d == 0.5 && fmod(f, 2) != 0)) f += 1;
    return f;
}

static int64_t to_signed(double x, int bits) {
    double top = ldexp(1, bits - 1);
    if (isnan(x)) return 0;
    x = nearest(x);
    if (x >= top) return (int64_t)(UINT64_MAX >> (65 - bits));
    if (x < -top) x = -top;
    return (int64_t)x;
}

static uint64_t to_unsigned(double x, int bits) {
    if (isnan(x) || x <= 0) return 0;
    x = nearest(x);
    return x >= ldexp(1, bits) ? UINT64_MAX >> (64 - bits) : (uint64_t)x;
}

#define STORE(T, x) \
    do { \
        T v_ = (T)(x); \
        memcpy(out, &v_, sizeof v_); \
    } while (0)

bool weiri_number_fits(weir_dtype t, double x, double *low, double *high) {
    if (t < WEIR_BOOL || t > WEIR_U64) return true; /* ORDER DTYPE: a float */
    const bool is_signed = t == WEIR_I8 || t == WEIR_I16 || t == WEIR_I32 || t == WEIR_I64;
    const int bits = 8 * weir_dtype_size(t) - is_signed;
    *low = is_signed ? -ldexp(1, bits) : 0;
    *high = t == WEIR_BOOL ? 1 : ldexp(1, bits) - 1; /* 64 bits: one more, which a double cannot tell apart */
    if (t == WEIR_BOOL) return !isnan(x);
    return x >= *low && x < ldexp(1, bits) && floor(x) == x;
}

bool weir_dtype_number(weir_dtype t, double x, double *out) {
    double low, high;
    unsigned char at[8];
    if (t <= WEIR_DTYPE_NONE || t >= WEIR_DTYPE_COUNT) return false;
    bool whole = t > WEIR_BOOL && t <= WEIR_U64; /* ORDER DTYPE */
    if (whole) x = trunc(x);
    if (!weiri_number_fits(t, x, &low, &high) && t != WEIR_BOOL) return false;
    weiri_number_put(t, x, at);
    *out = weiri_number_get(t, at);
    return true;
}

void weiri_number_put(weir_dtype t, double x, void *out) {
    switch (t) {
    case WEIR_BOOL: STORE(uint8_t, x != 0); break; /* NaN too is not 0 */
    case WEIR_I8: STORE(int8_t, to_signed(x, 8)); break;
    case WEIR_U8: STORE(uint8_t, to_unsigned(x, 8)); break;
    case WEIR_I16: STORE(int16_t, to_signed(x, 16)); break;
    case WEIR_U16: STORE(uint16_t, to_unsigned(x, 16)); break;
    case WEIR_I32: STORE(int32_t, to_signed(x, 32)); break;
    case WEIR_U32: STORE(uint32_t, to_unsigned(x, 32)); break;
    case WEIR_I64: STORE(int64_t, to_signed(x, 64)); break;
    case WEIR_U64: STORE(uint64_t, to_unsigned(x, 64)); break;
    case WEIR_F16: STORE(uint16_t, encode(&minis[F16], x)); break;
    case WEIR_BF16: STORE(uint16_t, encode(&minis[BF16], x)); break;
    case WEIR_F32: STORE(float, x); break;
    case WEIR_F64: STORE(double, x); break;
    case WEIR_TF32: STORE(uint32_t, isnan(x) ? 0x7fffffffu : encode(&minis[TF32], x) << 13); break;
    case WEIR_E4M3: STORE(uint8_t, encode(&minis[E4M3], x)); break;
    case WEIR_E5M2: STORE(uint8_t, encode(&minis[E5M2], x)); break;
    case WEIR_DTYPE_NONE:
    case WEIR_DTYPE_COUNT: break;
    }
}

#define LOAD(T, v) \
    T v; \
    memcpy(&v, in, sizeof v)

double weiri_number_get(weir_dtype t, const void *in) {
    switch (t) {
    case WEIR_BOOL: {
        LOAD(uint8_t, v);
        return v != 0;
    }
    case WEIR_I8: {
        LOAD(int8_t, v);
        return v;
    }
    case WEIR_U8: {
        LOAD(uint8_t, v);
        return v;
    }
    case WEIR_I16: {
        LOAD(int16_t, v);
        return v;
    }
    case WEIR_U16: {
        LOAD(uint16_t, v);
        return v;
    }
    case WEIR_I32: {
        LOAD(int32_t, v);
        return v;
    }
    case WEIR_U32: {
        LOAD(uint32_t, v);
        return v;
    }
    case WEIR_I64: {
        LOAD(int64_t, v);
        return (double)v;
    }
    case WEIR_U64: {
        LOAD(uint64_t, v);
        return (double)v;
    }
    case WEIR_F16: {
        LOAD(uint16_t, v);
        return decode(&minis[F16], v);
    }
    case WEIR_BF16: {
        LOAD(uint16_t, v);
        return decode(&minis[BF16], v);
    }
    case WEIR_F32:
    case WEIR_TF32: {
        LOAD(float, v);
        return v;
    }
    case WEIR_F64: {
        LOAD(double, v);
        return v;
    }
    case WEIR_E4M3: {
        LOAD(uint8_t, v);
        return decode(&minis[E4M3], v);
    }
    case WEIR_E5M2: {
        LOAD(uint8_t, v);
        return decode(&minis[E5M2], v);
    }
    case WEIR_DTYPE_NONE:
    case WEIR_DTYPE_COUNT: break;
    }
    return 0;
}

void weiri_number_put_n(weir_dtype t, const double *x, size_t n, void *out) {
    size_t size = (size_t)weir_dtype_size(t);
    for (size_t i = 0; i < n; i++) weiri_number_put(t, x[i], (char *)out + i * size);
}

void weiri_number_get_n(weir_dtype t, const void *in, size_t n, double *x) {
    size_t size = (size_t)weir_dtype_size(t);
    for (size_t i = 0; i < n; i++) x[i] = weiri_number_get(t, (const char *)in + i * size);
}

/* ---- random ------------------------------------------------------------------------------------------------------------- */

void weiri_random_seed(weiri_random *r, uint64_t seed) {
    *r = (weiri_random){ 0 };
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        r->s[i] = z ^ z >> 31;
    }
}

static uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }

uint64_t weiri_random_bits(weiri_random *r) {
    uint64_t *s = r->s, out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double weiri_random_normal(weiri_random *r) {
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    uint64_t bits = weiri_random_bits(r);           /* float arithmetic: tensors of 10^8 elements are filled with these */
    float u = ((float)(bits >> 40) + 1) * 0x1p-24f; /* (0, 1]: its logarithm is finite */
    float angle = (float)(bits & 0xffffff) * (0x1p-24f * 6.2831853f);
    float radius = sqrtf(-2 * logf(u));
    r->spare = radius * sinf(angle);
    r->has_spare = true;
    return radius * cosf(angle);
}
