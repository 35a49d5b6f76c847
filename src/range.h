/* What a value can be once a launch's arguments are known: a span of whole numbers, or one float. */
#ifndef WEIRI_RANGE_H
#define WEIRI_RANGE_H

#include "model.h"

typedef struct weiri_range {
    bool known, real;            /* known: nothing but `lo` to `hi`; real: one float, `f` */
    int64_t lo, hi;
    double f;
} weiri_range;

/* What values came out as, for many evaluations that differ in the tile's number alone: what does not hang on it is worked out
 * once. */
typedef struct weiri_memo {
    int *place;                  /* by value: 1 + its place in v; 0: it is not remembered */
    WEIRI_LIST(struct weiri_remembered { weiri_range of; int stamp; bool moves; }) v;    /* moves: it hangs on the number */
    int all, number;             /* stamps of what is true now: raised for other arguments (both), for another number */
} weiri_memo;

/* Contents of tensors that nobody writes, to try: the same number at one place, other ones for another seed. */
typedef struct weiri_memory {
    uint64_t seed;
    const struct weiri_sampler *like; /* whose units are worth trying */
    WEIRI_LIST(struct weiri_read {
        const weir_tensor *tensor;
        int64_t at[WEIR_MAX_RANK];
        double n;
    })
    reads; /* kept where there is an arena */
    weiri_arena *a;
} weiri_memory;

enum { WEIRI_PAST = 8 }; /* a lane's tile before is as many tiles ago as there are lanes; of more, it may be any */

typedef struct weiri_env {
    const weir_kernel *k;
    const int64_t *dims;         /* of k->dims; NULL: all that their bounds allow */
    const double *scalars;       /* of k->scalars; NULL: unknown */
    const uint64_t *wide;        /* the same where `exact`: the 64 bits of an integer */
    const bool *exact;           /* NULL: none is */
    const int64_t *coord;        /* of the tile; NULL: any of its queue's tiles */
    const int64_t *before[WEIRI_PAST];   /* of the tile so many tiles ago; NULL: any */
    const int64_t (*all)[WEIR_MAX_RANK]; /* behind the tile loop: of all its tiles */
    int had;                     /* ... so many; 0: the last one may be any */
    const int64_t *qindex;       /* the tile's number, which a raster is given; NULL: any */
    int cta;                     /* rank in the cluster; -1: any */
    weiri_memo *memo;            /* NULL: nothing is remembered */
    /* the loop's index now; NULL, or false: any of its numbers */
    bool (*index)(const void *of, const struct weiri_node *loop, int64_t *out);
    const void *of;
    weiri_memory *memory;        /* NULL: what is read is unknown */
    bool within;                 /* an index is that of an iteration, not yet the end */
    bool whole;                  /* floats are unknown: a compiler may round them otherwise */
    bool counts;                 /* every number must stay in 32 bits, as those of a loop's bounds: else it counts as a misfit */
    bool large;                  /* numbers of 32 bits are whole ones, as they are to the proof: what would wrap without a sign is a misfit */
    /* what was met */
    uint32_t misfit;             /* a value that leaves its type, or is divided by 0; 0: none */
    int64_t reaches;             /* the number it reaches */
    bool by_zero;
    int steps;                   /* taken so far: an expression that shares much is given up */
} weiri_env;

weiri_range weiri_range_of(weiri_env *e, uint32_t id);
/* A memo is to remember the value and what it is made of. */
void weiri_memo_add(weiri_memo *m, const weir_kernel *k, weiri_arena *a, uint32_t id);
/* The one number it is; false: unknown, or several, or it does not fit its type. */
bool weiri_range_number(weiri_env *e, uint32_t id, int64_t *out);
/* ... that the kernel computes of nothing but the index that the loop has; ... but the rank of the CTA. Of whole numbers alone. */
bool weiri_range_at(const weir_kernel *k, uint32_t id, const weiri_node *loop, int64_t index, int64_t *out);
bool weiri_range_cta(const weir_kernel *k, uint32_t id, int cta, int64_t *out);
/* Would a launch take the arguments of `e`, as far as k:assume goes? What cannot be computed of them is refused. */
bool weiri_range_allowed(const weiri_env *e);
/* Do the bounds of all loops stay in 32 bits? The proof counts in whole numbers (docs/proof.md). Else *loop is one that does
 * not. */
bool weiri_range_counts(weiri_env *e, const weiri_node **loop);

/* Arguments to try: small ones first, multiples of the kernel's own numbers, what dims allow. */
typedef struct weiri_sampler {
    const weir_kernel *k;
    uint64_t seed;
    int attempt;
    int64_t unit[16], count[8];
    int nunit, ncount;
} weiri_sampler;
weiri_sampler weiri_sampler_new(const weir_kernel *k);
void weiri_sampler_like(weiri_sampler *s, int64_t count);                              /* a factor worth trying */
void weiri_sampler_next(weiri_sampler *s, int64_t *dims, double *scalars);
/* A tile of the queue, within its extents for the arguments of `e`; false: it has none, or they are unknown. */
bool weiri_sampler_tile(weiri_sampler *s, weiri_env *e, const weir_res *queue, int64_t *coord);
/* The queue whose coordinates a value is made of, or NULL. */
const weir_res *weiri_range_queue(const weir_kernel *k, uint32_t id);
/* Marks the dims and scalars that a value is made of. */
void weiri_range_used(const weir_kernel *k, uint32_t id, bool *dims, bool *scalars);
/* "with N = 3, s = 1.5": those that are used. */
void weiri_range_put_args(const weir_kernel *k, const char *lead, const int64_t *dims, const double *scalars, const bool *dim_used,
                          const bool *scalar_used, weiri_buf *out);
/* "len[3] = 65": the last few that were read. */
void weiri_memory_put(const weiri_memory *m, const char *lead, weiri_buf *out);

#endif
