/* Between the files of the normal form (forms.h is what others see): forms.c makes forms and calculates with them, forms_low.c has their
 * bounds; on those two stand forms_span.c (tensors), forms_fact.c and forms_ask.c (conditions), forms_loop.c and forms_sum.c (loops).
 * forms_same.c and forms_truth.c need no forms: they compare what is written. */
#ifndef WEIRI_FORMING_H
#define WEIRI_FORMING_H

#include "forms.h"

/* The names as the linker sees them. */
#define fo_same_value weiri_fo_same_value
#define fo_same_bounds weiri_fo_same_bounds
#define fo_fixed_place weiri_fo_fixed_place
#define fo_is_whole weiri_fo_is_whole
#define fo_bare weiri_fo_bare
#define fo_comparison weiri_fo_comparison
#define fo_gcd weiri_fo_gcd
#define fo_same_terms weiri_fo_same_terms
#define fo_add weiri_fo_add
#define fo_cancels weiri_fo_cancels
#define fo_negative weiri_fo_negative
#define fo_without_term weiri_fo_without_term
#define fo_single weiri_fo_single
#define fo_times weiri_fo_times
#define fo_pos weiri_fo_pos
#define fo_ceil weiri_fo_ceil
#define fo_lin weiri_fo_lin
#define fo_steps weiri_fo_steps
#define fo_iteration weiri_fo_iteration
#define fo_at_launch weiri_fo_at_launch
#define fo_wraps weiri_fo_wraps
#define fo_low weiri_fo_low
#define fo_high weiri_fo_high
#define fo_wanders weiri_fo_wanders
#define fo_index weiri_fo_index
#define fo_lasting weiri_fo_lasting
#define fo_counting weiri_fo_counting
#define fo_side weiri_fo_side
#define fo_units weiri_fo_units

enum { MAX_TERMS = 8, DEEP = 24, LARGE = 4096 /* operations: of more, parts are shared over and over */ };
enum { BOUNDS = 256 };
#define NO_BOUND INT64_MAX
/* Numbers of a form are no larger: no launch counts beyond (src/range.c), and their products stay in 64 bits. */
#define FAR (INT64_C(1) << 31)

/* c and the sum of coef[i] * atom[i]; atoms in order, no coefficient 0. `lost`: it had more terms or left FAR, and nothing is known of it; nor
 * of what is made of it. */
typedef struct lin { int n; int atom[MAX_TERMS]; int64_t coef[MAX_TERMS]; int64_t c; bool lost; } lin;
typedef enum atom_kind {
    ATOM_VALUE,
    ATOM_CEIL,               /* of / by, rounded up */
    ATOM_POS,                /* max(0, of) */
    ATOM_MUL,                /* the product of those of `of` */
    ATOM_TRIPS,              /* how often the loop of index `id` runs (of a lane, in `by`: the loop that it is dealt from), where no form tells */
    ATOM_ITER                /* how many iterations of that loop, of `of` steps, which stands in `by` others of as many, are behind one */
} atom_kind;
typedef struct atom { atom_kind kind; uint32_t id; lin of; int64_t by; } atom;
/* cls -1: it runs c times, which is a plain number. */
typedef struct loop_form { const weiri_node *node; int lane; bool part /* of a nest */; int cls; int64_t c; } loop_form;
/* What `of` never falls below, as found `depth` - 1 values deep; depth 0: nothing yet. */
typedef struct bound { lin of; int depth; int64_t low; } bound;
typedef struct form_class {
    lin terms;                /* constant 0 */
    int64_t top;              /* largest constant of its loops */
    const weiri_node *node;
    int among;                /* which loops can be of it (weiri_forms.part) */
    int nparts, part[WEIRI_MAX_PARTS], rep[WEIRI_MAX_PARTS]; /* its count is a sum of other classes' */
    int kin;                  /* the first atom of all that are joined by atoms that classes share */
    int per, of, lead;        /* per > 1: the units of class `of`, so many at a time, and `lead` more */
    bool base;                /* others are read from it in groups */
    bool steady, per_cta;
    lin count;                /* max(0, terms + top) */
    int64_t plus;             /* ... is so much more than the sum */
} form_class;

struct weiri_forms {
    const weir_kernel *k;
    weiri_arena *a;
    lin **memo, **own;        /* by value: its form, once asked; as the same of the tile that one is in, where it is about the one before */
    WEIRI_LIST(atom) atoms;
    WEIRI_LIST(loop_form) loops;
    WEIRI_LIST(form_class) classes;
    WEIRI_LIST(lin) bases;    /* forms that spans start at, but for a plain number */
    struct { weiri_span x, y; bool known, is; } dealt[WEIR_MAX_RANK]; /* by axis of the queue: what was asked last */
    uint64_t tried;           /* classes, as parts of sums; bounds of forms */
    bound *bounds;            /* BOUNDS of them, the newest at each place; NULL before the first minimum */
    int *part;                /* by node of a loop: which others of its length it is counted with; NULL: all are */
    bool deep;                /* minima and maxima are taken apart */
    bool apart;               /* ... and there are some */
};

/* forms_same.c. Equal, whichever tasks compute them? */
bool fo_same_value(const weir_kernel *k, uint32_t x, uint32_t y, int depth);
bool fo_same_bounds(const weir_kernel *k, const weiri_node *x, const weiri_node *y, int depth);
/* A place of a tensor that the kernel does not write? */
bool fo_fixed_place(const weiri_value *v);

/* forms_truth.c. A comparison in one way of writing: op is LT, LE or EQ; `not`: its opposite. b 0: the whole number c. */
typedef struct comparison { weir_op op; uint32_t a, b; int64_t c; bool not; } comparison;
bool fo_comparison(const weir_kernel *k, uint32_t id, comparison *out);
bool fo_is_whole(const weir_kernel *k, uint32_t id);
/* Without the negations around it. */
uint32_t fo_bare(const weir_kernel *k, uint32_t id, bool *not);

/* forms.c: forms as such */
static inline bool fo_near(int64_t x) { return x <= FAR && x >= -FAR; }
static inline int64_t fo_floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }
int64_t fo_gcd(int64_t a, int64_t b);
bool fo_same_terms(const lin *x, const lin *y);
/* x += m * y, |m| <= FAR or y one atom; false: it is lost. */
bool fo_add(lin *x, const lin *y, int64_t m);
/* Does x + m * y come to a number? Left in x. */
bool fo_cancels(lin *x, const lin *y, int64_t m);
lin fo_negative(const lin *x);
/* x without the atom that is its i-th; *coef: that one's. */
lin fo_without_term(const lin *x, int i, int64_t *coef);
static inline bool fo_is_kind(const weiri_forms *f, const lin *x, int i, atom_kind kind) { return f->atoms.v[x->atom[i]].kind == kind; }
lin fo_single(weiri_forms *f, const atom *a);
/* x * y, multiplied out. */
lin fo_times(weiri_forms *f, const lin *x, const lin *y);
/* max(0, x). All minima and maxima are written with it: max(a, b) = a + max(0, b - a), which of a and b stands first is one way only. */
lin fo_pos(weiri_forms *f, const lin *x);
/* ceil(x / m), m > 0; multiples of m go outside. */
lin fo_ceil(weiri_forms *f, const lin *x, int64_t m);
/* ... and of values. Never lost: what floats, narrow casts and the like give is one atom, the same for the same expression. */
lin fo_lin(weiri_forms *f, uint32_t id, int depth);
/* How often the loop runs: max(0, *out) times; false: it steps by what only the launch knows, or the form is lost. */
bool fo_steps(weiri_forms *f, const weiri_node *loop, lin *out);
/* How many of its iterations are behind one: the same number in loops that run as often, an outer one being like an outer one. */
bool fo_iteration(weiri_forms *f, const weiri_node *loop, lin *out);
/* Known at launch, which refuses counts that leave 32 bits (src/range.c): dims, scalars, coordinates, indices and whole numbers made of
 * them. Not what memory, bodies or floats give. */
bool fo_at_launch(const weir_kernel *k, uint32_t id, int depth);
/* May the operation take a number below 0 for a large one? */
bool fo_wraps(weiri_forms *f, uint32_t id, int depth);

/* forms_low.c: a number that x never falls below (-NO_BOUND: none is known), or never exceeds (NO_BOUND) */
int64_t fo_low(weiri_forms *f, const lin *x, int depth);
int64_t fo_high(weiri_forms *f, const lin *x, int depth);

/* forms_span.c */
/* May the atom be another number at another time in one tile of one CTA; `ctas`: or in another CTA? */
bool fo_wanders(const weiri_forms *f, int at, bool ctas);
/* The atom of a loop's iterations. */
bool fo_index(weiri_forms *f, const weiri_node *loop, int *atom);

/* forms_ask.c */
/* The comparison of whole numbers that are what their forms say; `counting`: it is one of those, or each side fits what computes it at every launch. */
bool fo_lasting(const weiri_forms *f, uint32_t id, comparison *c);
bool fo_counting(const weiri_forms *f, uint32_t id, comparison *c);
lin fo_side(weiri_forms *f, const comparison *c, bool right);
/* Of x: what a class counts, max(0, that) times. */
lin fo_units(const weiri_forms *f, int cls);

#endif
