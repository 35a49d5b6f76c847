/* Numbers as they lie in memory, one dtype at a time: to and from double, rounded to nearest even. The device preamble's types
 * convert the same way, fp8 saturation included. */
#ifndef WEIRI_NUMBER_H
#define WEIRI_NUMBER_H

#include "weir.h"

/* One element. Integers round to nearest even and saturate, NaN gives 0; bool is x != 0; e4m3 and e5m2 saturate to their
 * largest finite number, infinities too; NaN gives the canonical NaN of the type. */
void weiri_number_put(weir_dtype t, double x, void *out);
/* Can the dtype hold it? Floats round, so they can; an integer dtype holds whole numbers of its range (*low to *high), bool no
 * NaN. */
bool weiri_number_fits(weir_dtype t, double x, double *low, double *high);
double weiri_number_get(weir_dtype t, const void *in);
/* n elements, packed. */
void weiri_number_put_n(weir_dtype t, const double *x, size_t n, void *out);
void weiri_number_get_n(weir_dtype t, const void *in, size_t n, double *x);

/* Deterministic normal deviates: xoshiro256** seeded by splitmix64, Box-Muller. */
typedef struct weiri_random {
    uint64_t s[4];
    float spare;
    bool has_spare;
} weiri_random;
void weiri_random_seed(weiri_random *r, uint64_t seed);
uint64_t weiri_random_bits(weiri_random *r);
double weiri_random_normal(weiri_random *r);

#endif
