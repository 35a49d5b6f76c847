/* From arguments to a run.
 *
 * bind(): names to tensors, dims and scalars; dims solved from shapes; every promise of the description checked; tensor maps
 * encoded; parameters laid out in the plan's order; grid computed. What it leaves is a weir_bound: launching that is one driver
 * call. weir_launch keeps the program's last binding and reuses it while the arguments are the same. */
#define _POSIX_C_SOURCE 200809L
#include "launch.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile.h"
#include "lower.h"
#include "names.h"
#include "number.h"
#include "probe.h"
#include "range.h"
#include "sim/sim.h"

struct weiri_module { /* a program loaded on a GPU */
    weir_program *p;
    weir_device *d;
    weiri_module *next_of_program, *next_of_device;
    weiri_cumod module;
    weiri_cufn function;
    int clusters; /* that are resident at once; 0: not asked yet */
    weiri_probe *probe; /* of an instrumented build */
};

typedef struct given { /* one argument, resolved; compared bytewise between launches */
    uint64_t address;
    int64_t shape[WEIR_MAX_RANK], stride[WEIR_MAX_RANK];
    double number;
    int rank, dtype; /* rank 0: a foreign tensor without shape */
    int64_t integer;
    int is_number, is_integer, foreign, memory, gpu, read_only;
} given;

/* Launches of one binding on several streams may run side by side: so many have counters of their own. */
enum { COUNTERS = 64, COUNTER_SIZE = 64 };

struct weir_bound {
    weir_program *p;  /* NULL: it was freed */
    weir_device *d;   /* NULL: it was closed, or only sizes are asked about */
    int pad;          /* ... with rows of tensors that are not there padded to so many bytes */
    weir_bound *next; /* in d->bounds */
    weir_ctx *ctx;
    weiri_arena a;
    /* the request, to recognise it again */
    const weir_device *asked;
    int grid_asked, nargs;
    bool pdl;
    const char **names;
    given *args;
    /* the run */
    int64_t *dims;        /* of k->dims */
    given **tensor;       /* of k->tensors: the argument, with shape and strides filled in */
    double *scalar;       /* of k->scalars */
    uint64_t *wide;       /* where `exact`: the integer of one in 64 bits */
    bool *exact;
    weiri_memo memo;      /* of what is computed from these */
    weiri_module *module; /* GPU */
    weiri_culaunch config;
    weiri_cuattr attrs[2];
    weiri_cumap *maps; /* GPU */
    weiri_tmap *tmaps; /* simulator: as they are; GPU: what `maps` encode */
    void **params;
    size_t *sizes;
    int nparams;
    weiri_sim_param *sim_params; /* simulator: the same two */
    weiri_cuptr counter;         /* of a dynamic queue: zeroed before each launch. On a GPU COUNTERS, taken in turn */
    uint64_t *counter_param;     /* what the kernel is given */
    unsigned turn;
    int ntensors, gone;          /* in `tensor`; of them, those whose memory was freed since */
};

/* ---- binding arguments -------------------------------------------------------------------------------------------------- */

static weir_status refuse(const weir_bound *b, const char *fmt, ...) WEIRI_PRINTF(2, 3);
static weir_status refuse(const weir_bound *b, const char *fmt, ...) {
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return weiri_fail(b->ctx, WEIR_E_LAUNCH, "kernel '%s': %s", b->p->name, text);
}

static weir_status refuse_dtype(const weir_bound *b, const weir_tensor *t, int dtype) {
    return refuse(b, "tensor '%s' is %s; the kernel takes %s", t->name, weir_dtype_name((weir_dtype)dtype),
                  weir_dtype_name(t->dtype));
}

static weir_status fail_gone(const weir_bound *b) {
    return weiri_fail(b->ctx, WEIR_E_ARGUMENT, "the %s these arguments were bound to is gone", b->d ? "kernel" : "device");
}

/* The address of a tensor whose memory was freed; of one that need not be anywhere. */
enum { FREED = 0, NOWHERE = 1 << 20 };

static weir_status fail_freed(const weir_bound *b) {
    const weir_kernel *k = b->p->k;
    int t = 0;
    while (t + 1 < k->tensors.n && b->tensor[t]->address != FREED) t++;
    return refuse(b, "tensor '%s' was closed after it was bound; give the binding another one (set_address), or bind again",
                  k->tensors.v[t]->name);
}

static given resolve(const weir_arg *a) {
    given g;
    memset(&g, 0, sizeof g); /* padding too: it is compared bytewise */
    const weir_buffer *t = a->buffer;
    g.is_number = a->is_number;
    g.is_integer = a->is_number && a->is_integer;
    g.integer = g.is_integer ? a->integer : 0;
    g.number = g.is_integer ? (double)a->integer : a->is_number ? a->number : 0;
    if (a->is_number) return g;
    g.foreign = !t;
    g.address = t ? t->address : a->address;
    g.rank = t ? t->rank : a->rank;
    g.dtype = (int)(t ? t->dtype : a->dtype);
    g.memory = t ? WEIR_MEMORY_UNKNOWN : (int)a->memory;
    g.gpu = t ? 0 : a->gpu;
    g.read_only = !t && a->read_only;
    for (int i = 0; i < g.rank && i < WEIR_MAX_RANK; i++) {
        g.shape[i] = t ? t->shape[i] : a->shape[i];
        g.stride[i] = t ? t->stride[i] : a->stride[i];
    }
    bool strided = t || g.rank < 1;
    for (int i = 0; i < g.rank && i < WEIR_MAX_RANK; i++) strided = strided || g.stride[i] != 0;
    int64_t step = 1;
    for (int i = g.rank < WEIR_MAX_RANK ? g.rank - 1 : -1; i >= 0 && !strided; i--) { /* a shape alone: packed */
        g.stride[i] = step;
        step *= g.shape[i] > 0 ? g.shape[i] : 1;
    }
    return g;
}

/* "tensors A, B, D; dims M, N" */
static const char *what_it_takes(const weir_kernel *k, weiri_arena *a) {
    weiri_buf b;
    weiri_buf_init(&b, a->ctx);
    for (int i = 0; i < k->tensors.n; i++) weiri_put(&b, "%s%s", i ? ", " : "tensors ", k->tensors.v[i]->name);
    for (int i = 0; i < k->dims.n; i++)
        weiri_put(&b, "%s%s", i ? ", " : b.n ? "; dims " : "dims ", weiri_val(k, k->dims.v[i])->name);
    for (int i = 0; i < k->scalars.n; i++)
        weiri_put(&b, "%s%s", i ? ", " : b.n ? "; scalars " : "scalars ", weiri_val(k, k->scalars.v[i])->name);
    const char *text = weiri_arena_str(a, b.n ? b.s : "no arguments");
    weiri_buf_free(&b);
    return text;
}

static int tensor_named(const weir_kernel *k, const char *name) {
    for (int i = 0; i < k->tensors.n; i++)
        if (!strcmp(k->tensors.v[i]->name, name)) return i;
    return -1;
}

static int value_named(const weir_kernel *k, const uint32_t *ids, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(weiri_val(k, ids[i])->name, name)) return i;
    return -1;
}

static const char *value_text(weir_bound *b, uint32_t id) {
    weiri_buf t;
    weiri_buf_init(&t, b->ctx);
    weiri_value_print(b->p->k, id, &t);
    const char *s = weiri_arena_str(&b->a, t.n ? t.s : "?");
    weiri_buf_free(&t);
    return s;
}

/* Where a dim's number came from, for the message of a conflict. */
typedef struct origin {
    int tensor, axis;
} origin; /* tensor -1: the argument itself; -2: not bound yet */

static const char *origin_text(weir_bound *b, origin o, int dim) {
    const weir_kernel *k = b->p->k;
    if (o.tensor < 0) return weiri_arena_fmt(&b->a, "argument '%s'", weiri_val(k, k->dims.v[dim])->name);
    return weiri_arena_fmt(&b->a, "axis %d of tensor '%s'", o.axis, k->tensors.v[o.tensor]->name);
}

static weir_status bind_dim(weir_bound *b, origin *from, int dim, int64_t value, origin o) {
    const weir_kernel *k = b->p->k;
    if (from[dim].tensor != -2 && b->dims[dim] != value)
        return refuse(b, "dim '%s' is %" PRId64 " by %s but %" PRId64 " by %s", weiri_val(k, k->dims.v[dim])->name,
                      b->dims[dim], origin_text(b, from[dim], dim), value, origin_text(b, o, dim));
    if (from[dim].tensor == -2) from[dim] = o;
    b->dims[dim] = value;
    return WEIR_OK;
}

static bool is_wide(weir_dtype t) { return t == WEIR_I64 || t == WEIR_U64; }

/* A scalar of an integer dtype is one of its numbers. An integer is the 64 bits of a u64, whatever its sign. */
static weir_status check_scalar(const weir_bound *b, const char *name, weir_dtype t, const given *g) {
    double as = 0;
    if (weiri_value_is_float(t) || (is_wide(t) && g->is_integer)) return WEIR_OK;
    if (weir_dtype_number(t, g->number, &as) && as == g->number) return WEIR_OK;
    return refuse(b, "scalar '%s' is %s; %.17g is no number of that", name, weir_dtype_name(t), g->number);
}

/* Every argument has its place in the kernel, every tensor and scalar its argument; dtype and rank fit. */
static weir_status match_names(weir_bound *b, origin *from) {
    const weir_kernel *k = b->p->k;
    bool *seen = WEIRI_NEW_N(&b->a, bool, k->scalars.n + 1);
    for (int i = 0; i < b->nargs; i++) {
        const char *name = b->names[i];
        given *g = &b->args[i];
        int t = tensor_named(k, name), d = value_named(k, k->dims.v, k->dims.n, name),
            s = value_named(k, k->scalars.v, k->scalars.n, name);
        if (t < 0 && d < 0 && s < 0) return refuse(b, "it has no argument '%s'; it takes %s", name, what_it_takes(k, &b->a));
        for (int j = 0; j < i; j++)
            if (!strcmp(b->names[j], name)) return refuse(b, "argument '%s' is given twice", name);
        if (t >= 0 && g->is_number)
            return refuse(b, "argument '%s' is a tensor of %s; the number %g was given", name,
                          weir_dtype_name(k->tensors.v[t]->dtype), g->number);
        if (t < 0 && !g->is_number) return refuse(b, "argument '%s' is a number; a tensor was given", name);
        if (t >= 0) {
            b->tensor[t] = g;
        } else if (d >= 0) {
            if (g->number != (double)(int64_t)g->number)
                return refuse(b, "dim '%s' is %g; it must be an integer", name, g->number);
            weir_status st = bind_dim(b, from, d, (int64_t)g->number, (origin){ -1, 0 });
            if (st != WEIR_OK) return st;
        } else {
            weir_status st = check_scalar(b, name, weiri_val(k, k->scalars.v[s])->dtype, g);
            if (st != WEIR_OK) return st;
            const bool upper = g->integer < 0 && weiri_val(k, k->scalars.v[s])->dtype == WEIR_U64; /* half of the numbers of 64 bits */
            b->scalar[s] = upper ? (double)(uint64_t)g->integer : g->number;
            b->wide[s] = (uint64_t)g->integer;
            b->exact[s] = g->is_integer;
            seen[s] = true;
        }
    }
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (!b->tensor[i] && !b->d) {
            b->tensor[i] = WEIRI_NEW(&b->a, given);
            b->tensor[i]->foreign = true;
        }
        given *g = b->tensor[i];
        if (!g) return refuse(b, "tensor '%s' is missing; it takes %s", t->name, what_it_takes(k, &b->a));
        if (!b->d && !g->address) g->address = NOWHERE;
        if (g->dtype != WEIR_DTYPE_NONE && g->dtype != (int)t->dtype)
            return refuse_dtype(b, t, g->dtype);
        if (g->memory == WEIR_MEMORY_HOST && b->d && b->d->index >= 0)
            return refuse(b, "tensor '%s' is in the host's memory, which GPU %d cannot reach", t->name, b->d->index);
        if (g->memory == WEIR_MEMORY_GPU && b->d && b->d->index != g->gpu)
            return refuse(b, "tensor '%s' is on GPU %d; the kernel runs %s", t->name, g->gpu,
                          b->d->index < 0 ? "in the simulator" : "on another");
        if (g->read_only && t->out) return refuse(b, "tensor '%s' is read-only, and the kernel writes it", t->name);
        if (g->rank != t->rank && !(g->rank == 0 && g->foreign))
            return refuse(b, "tensor '%s' has rank %d; the kernel takes rank %d", t->name, g->rank, t->rank);
    }
    for (int i = 0; i < k->scalars.n; i++)
        if (!seen[i] && (b->d || !weiri_value_is_float(weiri_val(k, k->scalars.v[i])->dtype))) /* loops do not count in these */
            return refuse(b, "scalar '%s' is missing; it takes %s", weiri_val(k, k->scalars.v[i])->name,
                          what_it_takes(k, &b->a));
    return WEIR_OK;
}

static weir_status check_dim(weir_bound *b, int dim) {
    const weiri_value *v = weiri_val(b->p->k, b->p->k->dims.v[dim]);
    int64_t x = b->dims[dim], multiple = v->multiple > 0 ? v->multiple : 1;
    if (x < v->min || x < 0)
        return refuse(b, "dim '%s' is %" PRId64 "; it must be %" PRId64 " or more", v->name, x, v->min > 0 ? v->min : 0);
    if (v->max > 0 && x > v->max)
        return refuse(b, "dim '%s' is %" PRId64 "; it must be %" PRId64 " or less", v->name, x, v->max);
    if (x > INT32_MAX) return refuse(b, "dim '%s' is %" PRId64 "; kernels count in 32 bits", v->name, x);
    if (x % multiple)
        return refuse(b, "dim '%s' is %" PRId64 "; it must be a multiple of %" PRId64 " (nearest: %" PRId64 ", %" PRId64 ")",
                      v->name, x, multiple, x - x % multiple, x - x % multiple + multiple);
    return WEIR_OK;
}

/* All dims from the shapes and the arguments. */
static weir_status solve_dims(weir_bound *b, origin *from) {
    const weir_kernel *k = b->p->k;
    weir_status st = WEIR_OK;
    for (int i = 0; i < k->tensors.n && st == WEIR_OK; i++)
        for (int a = 0; a < b->tensor[i]->rank && st == WEIR_OK; a++) {
            const weiri_value *v = weiri_val(k, k->tensors.v[i]->shape[a].id);
            if (v->op == WEIR_OP_DIM) st = bind_dim(b, from, v->dim, b->tensor[i]->shape[a], (origin){ i, a });
        }
    for (int i = 0; i < k->dims.n && st == WEIR_OK; i++) {
        const char *name = weiri_val(k, k->dims.v[i])->name;
        if (from[i].tensor == -2)
            st =
                refuse(b, "dim '%s' is not known: no launched tensor has it alone as an axis; pass it as an argument, %s = ...",
                       name, name);
        else st = check_dim(b, i);
    }
    return st;
}

static weiri_env arguments(const weir_bound *b) {
    return (weiri_env){ .k = b->p->k, .dims = b->dims, .scalars = b->scalar, .wide = b->wide, .exact = b->exact, .cta = -1 };
}

/* What the arguments make of a value of the description, as the proof takes it: in whole numbers; what the kernel computes itself
 * must stay in its 32 bits (`counts`). `what` names it in a refusal. */
static weir_status number_of(weir_bound *b, uint32_t id, bool counts, const char *what, int64_t *out) {
    weiri_env e = arguments(b);
    e.memo = &b->memo, e.counts = counts, e.large = !counts;
    weiri_memo_add(&b->memo, b->p->k, &b->a, id);
    b->memo.all++, b->memo.number++; /* not as it was where other numbers fit */
    if (weiri_range_number(&e, id, out)) return WEIR_OK;
    const char *why = "";
    if (e.misfit && e.by_zero) why = weiri_arena_fmt(&b->a, ": %s divides by 0", value_text(b, e.misfit));
    else if (e.misfit)
        why = weiri_arena_fmt(&b->a, ": %s reaches %" PRId64 "%s", value_text(b, e.misfit), e.reaches,
                              counts ? "; kernels count in 32 bits" : "");
    return refuse(b, "%s, %s, cannot be computed from the arguments%s", what, value_text(b, id), why);
}

/* Shapes and strides agree with the declaration; foreign tensors without a shape get the declared one, packed. */
static weir_status check_shapes(weir_bound *b) {
    const weir_kernel *k = b->p->k;
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        given *g = b->tensor[i];
        bool packed = g->rank == 0;
        int64_t step = 1;
        g->rank = t->rank;
        for (int a = t->rank - 1; a >= 0; a--) {
            int64_t want = 0;
            const char *what = weiri_arena_fmt(&b->a, "tensor '%s': its declared axis %d", t->name, a);
            weir_status st = number_of(b, t->shape[a].id, false, what, &want);
            if (st != WEIR_OK) return st;
            if (packed) g->shape[a] = want;
            else if (g->shape[a] != want)
                return refuse(b, "tensor '%s': axis %d has %" PRId64 " elements; it is declared as %s = %" PRId64, t->name, a,
                              g->shape[a], value_text(b, t->shape[a].id), want);
            if (want < 0 || want > INT32_MAX)
                return refuse(b, "tensor '%s': axis %d has %" PRId64 " elements; 0 to 2^31 - 1 fit", t->name, a, want);
            int64_t stride = packed ? step : g->stride[a];
            if (t->stride[a].id) {
                what = weiri_arena_fmt(&b->a, "tensor '%s': its declared stride %d", t->name, a);
                st = number_of(b, t->stride[a].id, false, what, &want);
                if (st != WEIR_OK) return st;
                if (packed) stride = want;
                else if (stride != want && g->shape[a] > 1)
                    return refuse(b, "tensor '%s': axis %d steps by %" PRId64 " elements; it is declared as %s = %" PRId64,
                                  t->name, a, stride, value_text(b, t->stride[a].id), want);
            }
            if (stride < 0)
                return refuse(b, "tensor '%s': axis %d steps by %" PRId64 " elements; strides must not be negative", t->name, a,
                              stride);
            if (t->out && stride == 0 && g->shape[a] > 1)
                return refuse(b, "tensor '%s': axis %d steps by 0 elements; what is written must have places of its own",
                              t->name, a);
            if (a == t->rank - 1 && stride != 1 && g->shape[a] > 1)
                return refuse(b, "tensor '%s': its innermost axis steps by %" PRId64 " elements; it must step by 1", t->name,
                              stride);
            g->stride[a] = stride;
            step = stride * (g->shape[a] > 0 ? g->shape[a] : 1);
            const int64_t rows = b->pad > weir_dtype_size(t->dtype) ? b->pad / weir_dtype_size(t->dtype) : 1; /* of so many */
            if (packed && a == t->rank - 1) step = (step + rows - 1) / rows * rows;
        }
        bool empty = false;
        for (int a = 0; a < t->rank; a++) empty = empty || g->shape[a] == 0;
        if (!g->address && !empty) return refuse(b, "tensor '%s': its address is null", t->name);
        if (g->address % (uint64_t)weir_dtype_size(t->dtype))
            return refuse(b, "tensor '%s' starts at address 0x%" PRIx64 ", which is not a multiple of its element's %d bytes",
                          t->name, g->address, weir_dtype_size(t->dtype));
    }
    return WEIR_OK;
}

static weir_status check_assumptions(weir_bound *b) {
    const weir_kernel *k = b->p->k;
    for (int i = 0; i < k->assumes.n; i++) {
        int64_t holds;
        weir_status st = number_of(b, k->assumes.v[i], false, "its assumption", &holds);
        if (st != WEIR_OK) return st;
        if (!holds)
            return refuse(b, "its assumption %s does not hold for these arguments", value_text(b, k->assumes.v[i]));
    }
    return WEIR_OK;
}

/* A tile at a tensor's end reaches past it, and a cluster's tiles past the queue's: coordinates there are numbers of 32 bits, too. */
static weir_status check_tiles(weir_bound *b) {
    const weir_kernel *k = b->p->k;
    const int64_t ctas = (int64_t)k->cluster.v * k->cluster.m * k->cluster.n;
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_GMEM) continue;
        for (int a = 0; a < r->rank; a++) {
            const int64_t step = ctas * r->tile[a], size = b->tensor[r->tensor->index]->shape[a];
            if (size <= INT32_MAX - step) continue;
            return refuse(b, "tensor '%s': axis %d has %" PRId64 " elements; the tiles of '%s', %d long, reach past 2^31 - 1 there",
                          r->tensor->name, a, size, r->name, r->tile[a]);
        }
    }
    return WEIR_OK;
}

/* The proof counts in whole numbers, the machine in 32 bits: what would wrap in a loop's bounds is not launched. */
static weir_status check_counts(weir_bound *b) {
    weiri_env e = arguments(b);
    const weiri_node *loop;
    if (weiri_range_counts(&e, &loop)) return WEIR_OK;
    const weir_place *at = loop->at.n > 0 ? &loop->at.at[0] : NULL;
    const char *what = value_text(b, e.misfit);
    if (e.by_zero)
        return refuse(b, "the bounds of the loop at %s:%d divide by 0: %s", at ? at->file : "?", at ? at->line : 0, what);
    const bool fits = e.reaches >= INT32_MIN && e.reaches <= INT32_MAX;
    return refuse(b, "%s reaches %" PRId64 " in the bounds of the loop at %s:%d%s", what, e.reaches, at ? at->file : "?",
                  at ? at->line : 0, fits ? ", where it counts as a number without a sign" : "; kernels count in 32 bits");
}

/* ---- tensor maps -------------------------------------------------------------------------------------------------------- */

/* The map of one use. An extent of 0 is encoded as 1 and never read: no tile or step of a loop visits it. The strides of an
 * empty tensor, and of an axis with one element, are never used: any may be launched. */
static void describe_map(const weir_bound *b, const weiri_tmap_use *u, weiri_tmap *m) {
    const weir_tensor *t = b->p->k->tensors.v[u->tensor];
    const given *g = b->tensor[u->tensor];
    uint64_t elem = (uint64_t)weir_dtype_size(t->dtype);
    bool empty = false;
    for (int i = 0; i < u->rank; i++) empty = empty || g->shape[i] == 0;
    memset(m, 0, sizeof *m);
    m->base = g->address;
    m->dtype = t->dtype;
    m->rank = u->rank;
    m->swizzle = u->swizzle;
    m->l2_promotion = u->l2_promotion;
    m->stride[0] = elem;
    for (int i = 0; i < u->rank; i++) {
        int axis = u->rank - 1 - i;
        m->dim[i] = empty ? 1 : (uint64_t)g->shape[axis]; /* never read */
        m->box[i] = u->box[i];
        if (i > 0) m->stride[i] = (uint64_t)g->stride[axis] * elem;
        if (i > 0 && (empty || g->shape[axis] == 1)) m->stride[i] = (m->stride[i] + 15) / 16 * 16;
    }
    /* Rows that start off a 128-byte line make each box row touch a sector more; fetching 256 bytes then only adds to it. */
    if (m->rank > 1 && m->stride[1] % 128 && m->l2_promotion > 128) m->l2_promotion = 128;
}

/* Some empty tensors have no address; their maps are never used but must encode. */
static void give_address(const weir_bound *b, weiri_tmap *m) {
    for (int i = 0; !m->base && i < b->p->k->tensors.n; i++) m->base = b->tensor[i]->address & ~15ull;
    if (!m->base) m->base = NOWHERE;
}

/* Tensors whose rows cp.async reads 16 bytes at a time. */
static weir_status check_wide(const weir_bound *b, int i, uint64_t address) {
    const weir_tensor *t = b->p->k->tensors.v[i];
    const given *g = b->tensor[i];
    if (!b->p->plan->wide || !b->p->plan->wide[i]) return WEIR_OK;
    if (address % 16)
        return refuse(b, "tensor '%s': its address 0x%" PRIx64 " is no multiple of 16 bytes, which its copies by cp.async need",
                      t->name, address);
    for (int a = 0; a + 1 < t->rank; a++) {
        int64_t pitch = g->stride[a] * weir_dtype_size(t->dtype);
        if (pitch % 16 && g->shape[a] > 1)
            return refuse(b,
                          "tensor '%s': axis %d has a pitch of %" PRId64
                          " bytes, no multiple of 16, which its copies by cp.async need; %" PRId64 " would do",
                          t->name, a, pitch, (pitch + 15) / 16 * 16);
    }
    return WEIR_OK;
}

static weir_status make_maps(weir_bound *b) {
    const weiri_plan *plan = b->p->plan;
    for (int i = 0; i < b->p->k->tensors.n; i++) {
        weir_status st = check_wide(b, i, b->tensor[i]->address);
        if (st != WEIR_OK) return st;
    }
    int n = plan->tmaps.n;
    char why[400];
    b->tmaps = WEIRI_NEW_N(&b->a, weiri_tmap, n + 1);
    uintptr_t at = (uintptr_t)weiri_arena_alloc(&b->a, sizeof(weiri_cumap) * (size_t)n + 128);
    b->maps = (weiri_cumap *)((at + 127) & ~(uintptr_t)127);
    for (int i = 0; i < n; i++) {
        const weiri_tmap_use *u = &plan->tmaps.v[i];
        const char *name = b->p->k->tensors.v[u->tensor]->name;
        describe_map(b, u, &b->tmaps[i]);
        give_address(b, &b->tmaps[i]);
        if (weiri_tmap_check(&b->tmaps[i], name, why, sizeof why)) return refuse(b, "%s", why);
        if (!b->d || b->d->index < 0) continue;
        weir_status st = weiri_tmap_encode(b->d, &b->tmaps[i], name, &b->maps[i]);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- launch shape ------------------------------------------------------------------------------------------------------- */

/* Clusters of work in the queue: a cluster takes v*m by n neighbouring tiles; those along k share one. -1 with the error
 * set. */
static int64_t cluster_tiles(weir_bound *b) {
    const weir_res *q = b->p->plan->queue;
    weir_cluster c = b->p->k->cluster;
    int64_t tiles = 1;
    for (int i = 0; i < q->qrank; i++) {
        int64_t extent = 0;
        const char *what = weiri_arena_fmt(&b->a, "work queue '%s': its extent along '%s'", q->name, q->axis[i]);
        if (number_of(b, q->extent[i].id, true, what, &extent) != WEIR_OK) return -1;
        int split = i == q->axis_m ? c.v * c.m : i == q->axis_n ? c.n : 1;
        int64_t steps = extent > 0 ? (extent + split - 1) / split : 0;
        if (steps > 0 && tiles > INT32_MAX / steps) {
            refuse(b, "work queue '%s' has more than 2^31 - 1 tiles", q->name);
            return -1;
        }
        tiles *= steps;
    }
    return tiles;
}

/* Clusters resident at once. A persistent kernel gets as many: one that waits for others must not be left out. */
static weir_status resident_clusters(weir_bound *b, int *out) {
    const weiri_plan *plan = b->p->plan;
    int size = plan->cluster > 1 ? plan->cluster : 1;
    weiri_module *m = b->module;
    *out = b->d->sms / size > 0 ? b->d->sms / size : 1;
    if (size == 1) *out *= b->p->k->ctas_per_sm;
    if (b->d->index < 0 || size == 1) return WEIR_OK;
    if (!m->clusters) {
        b->config.grid_x = (unsigned)(*out * size);
        weiri_cures r = b->d->cu->max_clusters(&m->clusters, m->function, &b->config);
        if (r != CU_OK) return weiri_device_fail(b->d, r, "kernel '%s': asking how many clusters of %d fit", b->p->name, size);
        if (m->clusters <= 0)
            return refuse(b, "no cluster of %d CTAs with %" PRId64 " bytes of shared memory and %d threads each fits GPU %d",
                          size, plan->smem_total, plan->threads, b->d->index);
    }
    *out = m->clusters;
    return WEIR_OK;
}

/* Tiles of the queue, counted in clusters, -1 without one; the grid that was asked for is one for them. */
static weir_status check_grid(weir_bound *b, int64_t *tiles) {
    const weiri_plan *plan = b->p->plan;
    int size = plan->cluster > 1 ? plan->cluster : 1;
    *tiles = -1;
    if (plan->queue && (*tiles = cluster_tiles(b)) < 0) return WEIR_E_LAUNCH;
    if (*tiles == 0 || !b->grid_asked) return WEIR_OK;
    if (b->grid_asked < 0 || b->grid_asked % size)
        return refuse(b, "the grid is %d CTAs; it must be a positive multiple of the cluster's %d", b->grid_asked, size);
    if (*tiles >= 0 && !plan->persistent && b->grid_asked / size < *tiles)
        return refuse(b,
                      "the grid is %d CTAs, and %" PRId64
                      " are needed: with a queue of kind \"grid\" each tile has CTAs of its own",
                      b->grid_asked, *tiles * size);
    return WEIR_OK;
}

static weir_status choose_grid(weir_bound *b, int *grid) {
    const weiri_plan *plan = b->p->plan;
    int size = plan->cluster > 1 ? plan->cluster : 1, resident = 0;
    int64_t tiles;
    weir_status st = check_grid(b, &tiles);
    if (st != WEIR_OK) return st;
    *grid = tiles ? b->grid_asked : 0;
    if (tiles == 0 || b->grid_asked) return WEIR_OK;
    st = resident_clusters(b, &resident);
    if (st != WEIR_OK) return st;
    int64_t clusters = tiles < 0 || (plan->persistent && tiles > resident) ? resident : tiles;
    if (clusters * size > INT32_MAX) return refuse(b, "%" PRId64 " CTAs are more than a grid takes", clusters * size);
    *grid = (int)clusters * size;
    return WEIR_OK;
}

/* ---- modules ------------------------------------------------------------------------------------------------------------ */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* What to compile for this device, DEFAULT if it cannot run the kernel: the CUBIN of an "a" target runs on exactly that compute
 * capability; what sm_80 asks for every later target has, and is compiled for it. */
static weir_arch target_of(weir_arch arch, int cc) {
    if (arch != WEIR_ARCH_SM_80) return (int)arch == cc ? arch : WEIR_ARCH_DEFAULT;
    return cc / 10 == 8 ? WEIR_ARCH_SM_80 : cc == 90 ? WEIR_ARCH_SM_90A : cc == 100 ? WEIR_ARCH_SM_100A : WEIR_ARCH_DEFAULT;
}

static weir_status load_module(weir_bound *b, weiri_module *m, const void *cubin, size_t cubin_size) {
    weir_program *p = b->p;
    weir_device *d = b->d;
    double start = now_ms();
    weiri_cures r = d->cu->module_load(&m->module, cubin);
    if (r == CU_NO_BINARY || r == CU_INVALID_IMAGE)
        return weiri_device_fail(d, r, "kernel '%s' was built for %s; GPU %d (%s) has compute capability %d.%d", p->name,
                                 weiri_arch_name(p->arch), d->index, d->name, d->cc / 10, d->cc % 10);
    if (r != CU_OK)
        return weiri_device_fail(d, r, "kernel '%s': loading its %zu bytes of CUBIN on GPU %d", p->name, cubin_size,
                                 d->index);
    r = d->cu->module_function(&m->function, m->module, weiri_kernel_symbol(p->plan));
    if (r != CU_OK) return weiri_device_fail(d, r, "kernel '%s' is not in its own CUBIN", p->name);
    if (p->plan->smem_total > d->smem_optin)
        return refuse(b, "it needs %" PRId64 " bytes of shared memory; a CTA of GPU %d (%s) may have %" PRId64,
                      p->plan->smem_total, d->index, d->name, d->smem_optin);
    r = d->cu->func_set(m->function, CU_FUNC_MAX_DYNAMIC_SMEM, (int)p->plan->smem_total);
    if (r != CU_OK)
        return weiri_device_fail(d, r, "kernel '%s': asking for %" PRId64 " bytes of shared memory", p->name,
                                 p->plan->smem_total);
    if (p->plan->cluster > 8 && (r = d->cu->func_set(m->function, CU_FUNC_NON_PORTABLE_CLUSTER, 1)) != CU_OK)
        return weiri_device_fail(d, r, "kernel '%s': allowing clusters of %d CTAs", p->name, p->plan->cluster);
    p->times.load = now_ms() - start;
    return WEIR_OK;
}

static void unload(weiri_module *m) {
    bool pushed, here = m->module && !m->d->dead && weiri_device_enter(m->d, &pushed) == WEIR_OK;
    weiri_probe_free(m->d, m->probe, !here);
    if (here) {
        m->d->cu->module_unload(m->module);
        weiri_device_leave(m->d, pushed);
    }
    for (weiri_module **at = &m->p->modules; *at; at = &(*at)->next_of_program)
        if (*at == m) {
            *at = m->next_of_program;
            break;
        }
    for (weiri_module **at = &m->d->modules; *at; at = &(*at)->next_of_device)
        if (*at == m) {
            *at = m->next_of_device;
            break;
        }
    weiri_free(m->p->ctx, m, sizeof *m);
}

/* b->module, loaded now if need be. The device's context is current. */
static weir_status get_module(weir_bound *b) {
    weir_program *p = b->p;
    for (b->module = p->modules; b->module && b->module->d != b->d; b->module = b->module->next_of_program) {}
    if (b->module) return WEIR_OK;
    weir_arch target = target_of(p->arch, b->d->cc);
    if (target == WEIR_ARCH_DEFAULT)
        return refuse(b, "it was built for %s; GPU %d (%s) has compute capability %d.%d", weiri_arch_name(p->arch), b->d->index,
                      b->d->name, b->d->cc / 10, b->d->cc % 10);
    weiri_binary own = { 0 }; /* for another target than the program's own */
    weir_status st;
    if (target == p->arch) {
        st = weiri_program_compile(p);
    } else {
        const char *text = weiri_program_full(p);
        st = text ? weiri_compile(p->ctx, p->name, text, target, false, &own) : WEIR_E_MEMORY;
        if (st == WEIR_OK) st = weiri_program_note(p, own.log.s);
    }
    weiri_module *m = st == WEIR_OK ? weiri_alloc(p->ctx, sizeof *m) : NULL;
    if (!m) {
        weiri_binary_free(p->ctx, &own);
        return st != WEIR_OK ? st : WEIR_E_MEMORY;
    }
    m->p = p;
    m->d = b->d;
    m->next_of_program = p->modules;
    p->modules = m;
    m->next_of_device = b->d->modules;
    b->d->modules = m;
    st = load_module(b, m, own.cubin ? own.cubin : p->cubin, own.cubin ? own.cubin_size : p->cubin_size);
    weiri_binary_free(p->ctx, &own);
    if (st != WEIR_OK) unload(m);
    else b->module = m;
    return st;
}

/* ---- parameters --------------------------------------------------------------------------------------------------------- */

static void *keep(weir_bound *b, const void *data, size_t n) { return memcpy(weiri_arena_alloc(&b->a, n), data, n); }

static weir_status make_params(weir_bound *b) {
    const weiri_plan *plan = b->p->plan;
    const weir_kernel *k = b->p->k;
    b->nparams = plan->params.n;
    b->params = WEIRI_NEW_N(&b->a, void *, b->nparams + 1);
    b->sizes = WEIRI_NEW_N(&b->a, size_t, b->nparams + 1);
    for (int i = 0; i < b->nparams; i++) {
        const weiri_kparam *q = &plan->params.v[i];
        int32_t small;
        char scalar[16] = { 0 };
        b->sizes[i] = (size_t)q->size;
        switch (q->kind) {
        case KP_TMAP:
            b->params[i] = b->d->index < 0 ? (void *)&b->tmaps[q->index] : (void *)&b->maps[q->index];
            if (b->d->index < 0) b->sizes[i] = sizeof(weiri_tmap);
            break;
        case KP_PTR: b->params[i] = keep(b, &b->tensor[q->index]->address, 8); break;
        case KP_STRIDE: b->params[i] = keep(b, &b->tensor[q->index]->stride[q->axis], 8); break;
        case KP_SHAPE:
            small = (int32_t)b->tensor[q->index]->shape[q->axis];
            b->params[i] = keep(b, &small, sizeof small);
            break;
        case KP_DIM:
            small = (int32_t)b->dims[q->index];
            b->params[i] = keep(b, &small, sizeof small);
            break;
        case KP_SCALAR:
            weiri_number_put(weiri_val(k, k->scalars.v[q->index])->dtype, b->scalar[q->index], scalar);
            if (b->exact[q->index] && is_wide(weiri_val(k, k->scalars.v[q->index])->dtype)) memcpy(scalar, &b->wide[q->index], 8);
            b->params[i] = keep(b, scalar, sizeof scalar);
            break;
        case KP_COUNTER: {
            void *sim_counter = NULL;
            weiri_cures r = CU_OK;
            if (b->d->index < 0) sim_counter = weiri_sim_malloc(b->ctx, COUNTER_SIZE);
            else r = b->d->cu->mem_alloc(&b->counter, COUNTERS * COUNTER_SIZE);
            if (r != CU_OK)
                return weiri_device_fail(b->d, r, "kernel '%s': allocating the counter of its work queue", b->p->name);
            if (b->d->index < 0) b->counter = (uint64_t)(uintptr_t)sim_counter;
            if (!b->counter) return WEIR_E_MEMORY;
            b->params[i] = b->counter_param = keep(b, &b->counter, 8);
            break;
        }
        }
    }
    b->sim_params = WEIRI_NEW_N(&b->a, weiri_sim_param, b->nparams + 1);
    for (int i = 0; i < b->nparams; i++) b->sim_params[i] = (weiri_sim_param){ b->params[i], b->sizes[i] };
    return WEIR_OK;
}

static void make_config(weir_bound *b) {
    const weiri_plan *plan = b->p->plan;
    unsigned n = 0;
    b->config = (weiri_culaunch){ .grid_y = 1,
                                  .grid_z = 1,
                                  .block_x = (unsigned)plan->threads,
                                  .block_y = 1,
                                  .block_z = 1,
                                  .smem = (unsigned)plan->smem_total,
                                  .attrs = b->attrs };
    if (plan->cluster > 1) {
        b->attrs[n].id = CU_ATTR_CLUSTER_DIMENSION;
        b->attrs[n].value.cluster.x = (unsigned)plan->cluster;
        b->attrs[n].value.cluster.y = b->attrs[n].value.cluster.z = 1;
        n++;
    }
    if (b->pdl) {
        b->attrs[n].id = CU_ATTR_PROGRAMMATIC_STREAM_SERIALIZATION;
        b->attrs[n].value.flag = 1;
        n++;
    }
    b->config.nattrs = n;
}

/* ---- bindings ----------------------------------------------------------------------------------------------------------- */

static void unlink_bound(weir_bound *b) {
    for (weir_bound **at = b->d ? &b->d->bounds : NULL; at && *at; at = &(*at)->next) {
        if (*at != b) continue;
        *at = b->next;
        break;
    }
    b->next = NULL;
}

static void free_counter(weir_bound *b) {
    bool pushed;
    if (!b->counter || !b->d) return;
    if (b->d->index < 0) {
        weiri_sim_free(b->ctx, (void *)(uintptr_t)b->counter);
    } else if (!b->d->dead && weiri_device_enter(b->d, &pushed) == WEIR_OK) {
        b->d->cu->mem_free(b->counter);
        weiri_device_leave(b->d, pushed);
    }
    b->counter = 0;
}

void weir_bound_free(weir_bound *b) {
    if (!b) return;
    free_counter(b);
    unlink_bound(b);
    if (b->p && b->p->bound == b) b->p->bound = NULL;
    weiri_arena_free(&b->a);
    weiri_free(b->ctx, b, sizeof *b);
}

weir_device *weiri_launch_device(weir_program *p, const weir_launch_desc *desc) {
    weir_device *d = desc->device ? desc->device : p->device;
    for (int i = 0; i < desc->nargs && !d; i++) /* none was named: where the tensors are */
        if (desc->args[i].buffer) d = desc->args[i].buffer->d;
    if (!d) return weiri_device_standard(p->ctx);
    if (weiri_device_is_open(p->ctx, d)) return d;
    weiri_fail(p->ctx, WEIR_E_ARGUMENT, "kernel '%s': its device was closed, or belongs to another context", p->name);
    return NULL;
}

static weir_status bind_checked(weir_bound *b) {
    const weir_kernel *k = b->p->k;
    b->dims = WEIRI_NEW_N(&b->a, int64_t, k->dims.n + 1);
    b->scalar = WEIRI_NEW_N(&b->a, double, k->scalars.n + 1);
    b->wide = WEIRI_NEW_N(&b->a, uint64_t, k->scalars.n + 1);
    b->exact = WEIRI_NEW_N(&b->a, bool, k->scalars.n + 1);
    b->tensor = WEIRI_NEW_N(&b->a, given *, k->tensors.n + 1);
    origin *from = WEIRI_NEW_N(&b->a, origin, k->dims.n + 1);
    for (int i = 0; i < k->dims.n; i++) from[i].tensor = -2;
    weir_status st = match_names(b, from);
    if (st == WEIR_OK) st = solve_dims(b, from);
    if (st == WEIR_OK) st = check_shapes(b);
    if (st == WEIR_OK) st = check_assumptions(b);
    if (st == WEIR_OK) st = check_counts(b);
    if (st == WEIR_OK) st = check_tiles(b);
    return st;
}

static weir_status bind_on_device(weir_bound *b) {
    int grid = 0;
    weir_status st = b->d->index < 0 ? WEIR_OK : get_module(b);
    make_config(b);
    if (st == WEIR_OK) st = make_maps(b);
    if (st == WEIR_OK) st = make_params(b);
    if (st == WEIR_OK) st = choose_grid(b, &grid);
    b->config.grid_x = (unsigned)grid;
    return st;
}

/* A binding with the arguments as they are; NULL on lack of memory. */
static weir_bound *begin_bound(weir_program *p, const weir_launch_desc *desc) {
    weir_bound *b = weiri_alloc(p->ctx, sizeof *b);
    if (!b) return NULL;
    b->ctx = p->ctx;
    b->p = p;
    b->asked = desc->device;
    b->grid_asked = desc->grid;
    b->pdl = desc->pdl;
    b->nargs = desc->nargs;
    weiri_arena_init(&b->a, p->ctx);
    b->names = WEIRI_NEW_N(&b->a, const char *, b->nargs + 1);
    b->args = WEIRI_NEW_N(&b->a, given, 2 * b->nargs + 1); /* the second half stays as given, to compare with */
    for (int i = 0; i < b->nargs && !b->a.oom; i++) {
        b->names[i] = weiri_arena_str(&b->a, desc->args[i].name ? desc->args[i].name : "");
        b->args[i] = b->args[b->nargs + i] = resolve(&desc->args[i]);
    }
    return b;
}

static weir_status check_rank(weir_bound *b, int i) {
    if (b->args[i].rank >= 0 && b->args[i].rank <= WEIR_MAX_RANK) return WEIR_OK;
    return refuse(b, "argument '%s' has rank %d; 1 to %d are possible", b->names[i], b->args[i].rank, WEIR_MAX_RANK);
}

static weir_status fail_memory(const weir_bound *b) {
    return weiri_fail(b->ctx, WEIR_E_MEMORY, "out of memory: arguments of kernel '%s'", b->p->name);
}

static weir_status try_sizes(weir_program *p, const weir_launch_desc *desc, int pad) {
    weir_bound *b = begin_bound(p, desc);
    if (!b) return WEIR_E_MEMORY;
    int64_t tiles;
    weir_status st = b->a.oom ? WEIR_E_MEMORY : WEIR_OK;
    b->pad = pad;
    for (int i = 0; i < b->nargs && st == WEIR_OK; i++) st = check_rank(b, i);
    if (st == WEIR_OK) st = bind_checked(b);
    if (st == WEIR_OK) st = make_maps(b);
    if (st == WEIR_OK) st = check_grid(b, &tiles);
    if (b->a.oom) st = fail_memory(b);
    weir_bound_free(b);
    return st;
}

weir_status weir_accepts(weir_program *p, const weir_launch_desc *desc, const char **needs) {
    if (needs) *needs = NULL;
    weir_status st = try_sizes(p, desc, 0);
    if (st != WEIR_E_LAUNCH) return st;
    weiri_buf_free(&p->needs);
    weiri_put(&p->needs, "%s", weir_error(p->ctx));
    st = try_sizes(p, desc, 16);
    if (st == WEIR_OK && needs) *needs = p->needs.s;
    return st == WEIR_E_LAUNCH ? weiri_fail(p->ctx, st, "%s", p->needs.s ? p->needs.s : "") : st;
}

/* A binding, or NULL with the context's error. */
static weir_bound *bind(weir_program *p, const weir_launch_desc *desc) {
    weir_device *d = weiri_launch_device(p, desc);
    if (!d) return NULL;
    weir_bound *b = begin_bound(p, desc);
    if (!b) return NULL;
    b->d = d;
    b->next = d->bounds;
    d->bounds = b;
    weir_status st = WEIR_OK;
    for (int i = 0; i < b->nargs && !b->a.oom && st == WEIR_OK; i++) {
        const weir_arg *a = &desc->args[i];
        if (a->buffer && a->buffer->d != d)
            st = a->buffer->d && a->buffer->d->index < 0 && d->index < 0
                     ? refuse(b, "tensor '%s' lies on another simulator than the one that the kernel runs on", b->names[i])
                     : refuse(b, "tensor '%s' lies on %s, the kernel runs on %s", b->names[i],
                              a->buffer->d ? a->buffer->d->name : "a closed device", d->name);
        else st = check_rank(b, i);
    }
    if (st == WEIR_OK) st = bind_checked(b);
    if (st == WEIR_OK && d->index < 0) {
        st = bind_on_device(b);
    } else if (st == WEIR_OK) {
        bool pushed;
        st = weiri_device_enter(d, &pushed);
        if (st == WEIR_OK) {
            st = bind_on_device(b);
            weiri_device_leave(d, pushed);
        }
    }
    if (st == WEIR_OK && b->a.oom) st = fail_memory(b);
    if (st == WEIR_OK) return b->ntensors = p->k->tensors.n, b;
    weir_bound_free(b);
    return NULL;
}

weir_bound *weir_bind_args(weir_program *p, const weir_launch_desc *desc) { return bind(p, desc); }

weiri_shape weiri_bound_shape(const weir_bound *b) {
    const weiri_plan *plan = b->p->plan;
    return (weiri_shape){ (int)b->config.grid_x, plan->cluster > 1 ? plan->cluster : 1, plan->threads, plan->smem_total };
}

/* The tensor maps of tensor t, again, in place. Nothing changes when one is refused. */
static weir_status move_maps(weir_bound *b, int t, uint64_t address) {
    const weiri_plan *plan = b->p->plan;
    const char *name = b->p->k->tensors.v[t]->name;
    char why[400];
    weir_status st = check_wide(b, t, address);
    for (int i = 0; i < plan->tmaps.n && st == WEIR_OK; i++) {
        weiri_tmap m = b->tmaps[i];
        if (plan->tmaps.v[i].tensor != t) continue;
        m.base = address;
        if (weiri_tmap_check(&m, name, why, sizeof why)) return refuse(b, "%s", why);
        if (b->d->index >= 0) st = weiri_tmap_encode(b->d, &m, name, &b->maps[i]);
        if (st == WEIR_OK) b->tmaps[i] = m;
    }
    return st;
}

weir_status weir_bound_set_address(weir_bound *b, const char *tensor, uint64_t address) {
    bool pushed = false;
    if (!b->d || !b->p) return fail_gone(b);
    const weir_kernel *k = b->p->k;
    int t = tensor_named(k, tensor);
    if (t < 0) return refuse(b, "it has no tensor '%s'; it takes %s", tensor, what_it_takes(k, &b->a));
    if (!address) return refuse(b, "tensor '%s': its address is null", tensor);
    weir_status st = b->d->index < 0 ? WEIR_OK : weiri_device_enter(b->d, &pushed);
    if (st != WEIR_OK) return st;
    st = move_maps(b, t, address);
    weiri_device_leave(b->d, pushed);
    if (st != WEIR_OK) return st;
    if (b->tensor[t]->address == FREED) b->gone--;
    b->tensor[t]->address = address;
    b->tensor[t]->foreign = 1;
    for (int i = 0; i < b->nparams; i++)
        if (b->p->plan->params.v[i].kind == KP_PTR && b->p->plan->params.v[i].index == t)
            memcpy(b->params[i], &address, sizeof address);
    return WEIR_OK;
}

weir_status weir_bound_set_buffer(weir_bound *b, const char *tensor, const weir_buffer *t) {
    if (!b->d || !b->p) return fail_gone(b);
    int i = tensor_named(b->p->k, tensor);
    if (i < 0) return weir_bound_set_address(b, tensor, t->address); /* which says so */
    const given *g = b->tensor[i];
    if (t->d != b->d) return refuse(b, "tensor '%s': the other one lies on another device", tensor);
    if (t->dtype != b->p->k->tensors.v[i]->dtype) return refuse_dtype(b, b->p->k->tensors.v[i], (int)t->dtype);
    if (t->rank != g->rank) return refuse(b, "tensor '%s' has rank %d; it is bound with rank %d", tensor, t->rank, g->rank);
    for (int a = 0; a < g->rank; a++)
        if (t->shape[a] != g->shape[a] || (t->stride[a] != g->stride[a] && g->shape[a] > 1))
            return refuse(b,
                          "tensor '%s': axis %d has %" PRId64 " elements with stride %" PRId64 "; it is bound with %" PRId64
                          " and %" PRId64 ": bind once more for another shape",
                          tensor, a, t->shape[a], t->stride[a], g->shape[a], g->stride[a]);
    weir_status st = weir_bound_set_address(b, tensor, t->address);
    if (st == WEIR_OK) b->tensor[i]->foreign = 0;
    return st;
}

/* ---- running ------------------------------------------------------------------------------------------------------------ */

/* Bytes from the first to the last element. */
static size_t extent_of(const given *g, weir_dtype t) {
    int64_t last = 1;
    for (int i = 0; i < g->rank; i++) {
        if (g->shape[i] == 0) return 0;
        last += (g->shape[i] - 1) * g->stride[i];
    }
    return (size_t)last * (size_t)weir_dtype_size(t);
}

/* Copies what the kernel may write to `saved`, or back. */
static void swap_outputs(const weir_bound *b, char *saved, bool back) {
    const weir_kernel *k = b->p->k;
    for (int i = 0; i < k->tensors.n; i++) {
        void *at = (void *)(uintptr_t)b->tensor[i]->address;
        size_t n = k->tensors.v[i]->out ? extent_of(b->tensor[i], k->tensors.v[i]->dtype) : 0;
        if (n) memcpy(back ? at : saved, back ? saved : at, n);
        saved += n;
    }
}

/* One run, or one a seed until the first that fails: the kernel may read what it writes, so each begins with what was there. */
static weir_status run_seeds(weir_bound *b, const void *stream) {
    weir_program *p = b->p;
    weir_device *d = b->d;
    int seeds = p->into ? 1 : d->seeds;
    size_t size = 1;
    for (int i = 0; i < p->k->tensors.n; i++)
        if (p->k->tensors.v[i]->out) size += extent_of(b->tensor[i], p->k->tensors.v[i]->dtype);
    char *saved = seeds > 1 ? weiri_alloc(b->ctx, size) : NULL;
    if (seeds > 1 && !saved) return WEIR_E_MEMORY;
    if (saved) swap_outputs(b, saved, false);
    weir_status st = WEIR_OK;
    weiri_sim_before before = d->before;
    for (int i = 0; i < seeds && st == WEIR_OK; i++) {
        if (i) swap_outputs(b, saved, true);
        if (b->counter) memset((void *)(uintptr_t)b->counter, 0, COUNTER_SIZE);
        d->last_seed = d->seed + (uint64_t)i;
        weiri_buf_free(&d->findings);
        if (seeds > 1) weiri_put(&d->findings, "seed %" PRIu64 ", run %d of %d:\n", d->last_seed, i + 1, seeds);
        size_t head = d->findings.n;
        d->before = before;
        weiri_sim_run run = { .plan = p->plan,
                              .source = weir_program_source(p),
                              .params = b->sim_params,
                              .nparams = b->nparams,
                              .grid = (int)b->config.grid_x,
                              .resident = d->sms,
                              .seed = d->last_seed,
                              .before = &d->before,
                              .pdl = b->pdl && !b->counter, /* a counter is cleared in between, which waits */
                              .stream = stream,
                              .trace = p->into };
        st = weiri_sim_launch(b->ctx, &run, &d->findings);
        if (d->findings.n == head) weiri_buf_free(&d->findings); /* nothing was found */
    }
    weiri_free(b->ctx, saved, saved ? size : 0);
    return st;
}

static weir_status run_sim(weir_bound *b, const void *stream) {
    weir_program *p = b->p;
    const weir_kernel *k = p->k;
    int lent = 0;
    weir_status st = WEIR_OK;
    weiri_buf_free(&b->d->findings);
    for (; lent < k->tensors.n && st == WEIR_OK; lent++) {
        const given *g = b->tensor[lent];
        const void *at = (const void *)(uintptr_t)g->address;
        size_t n = extent_of(g, k->tensors.v[lent]->dtype);
        size_t has = 0;
        if (g->foreign && n && weiri_sim_holds(b->ctx, at, &has) && has < n)
            st = refuse(b, "tensor '%s' takes %zu bytes from its address on, where the simulator's tensor has %zu left",
                        k->tensors.v[lent]->name, n, has);
        else if (g->foreign && n && !weiri_sim_lend(b->ctx, at, n))
            st = weiri_fail(b->ctx, WEIR_E_MEMORY, "out of memory: simulated tensors");
        else weiri_sim_name(b->ctx, at, k->tensors.v[lent]->name);
    }
    if (st == WEIR_OK) st = run_seeds(b, stream);
    for (int i = 0; i < lent; i++) {
        const given *g = b->tensor[i];
        size_t n = extent_of(g, k->tensors.v[i]->dtype);
        if (g->foreign && n) weiri_sim_unlend(b->ctx, (const void *)(uintptr_t)g->address, n);
    }
    return st;
}

weir_status weir_bound_launch(weir_bound *b, void *stream) {
    weir_device *d = b->d;
    if (!d || !b->p) return fail_gone(b);
    if (b->gone) return fail_freed(b);
    if (b->config.grid_x == 0) return WEIR_OK; /* no tile: nothing to write */
    if (d->index < 0) return run_sim(b, stream);
    bool pushed;
    weir_status st = weiri_device_enter(d, &pushed);
    if (st != WEIR_OK) return st;
    if (weiri_probed(b->p)) st = weiri_probe_arm(b->p, d, b->module->module, (int)b->config.grid_x, &b->module->probe);
    weiri_cures r = CU_OK;
    if (b->counter) {
        *b->counter_param = b->counter + COUNTER_SIZE * (b->turn++ % COUNTERS);
        r = d->cu->set_d32_async(*b->counter_param, 0, COUNTER_SIZE / 4, stream);
    }
    b->config.stream = stream;
    if (r == CU_OK && st == WEIR_OK) r = d->cu->launch(&b->config, b->module->function, b->params, NULL);
    if (r != CU_OK)
        st = weiri_device_fail(
            d, r, "launching kernel '%s' (%u CTAs of %u threads in clusters of %d, %u bytes of shared memory)", b->p->name,
            b->config.grid_x, b->config.block_x, b->p->plan->cluster > 1 ? b->p->plan->cluster : 1, b->config.smem);
    else if (d->last != b->p) { /* blamed for faults seen later */ d->last = b->p;
        snprintf(d->last_kernel, sizeof d->last_kernel, "%s", b->p->name);
    }
    if (st == WEIR_OK && weiri_probed(b->p)) st = weiri_probe_collect(b->p, d, b->module->probe, b->p->into);
    weiri_device_leave(d, pushed);
    return st;
}

static bool same_request(const weir_bound *b, const weir_launch_desc *desc) {
    if (!b || !b->d || b->gone || b->nargs != desc->nargs || b->asked != desc->device || b->grid_asked != desc->grid ||
        b->pdl != desc->pdl)
        return false;
    for (int i = 0; i < b->nargs; i++) {
        given g = resolve(&desc->args[i]);
        if (strcmp(b->names[i], desc->args[i].name ? desc->args[i].name : "") || memcmp(&b->args[b->nargs + i], &g, sizeof g))
            return false;
        if (desc->args[i].buffer && desc->args[i].buffer->d != b->d) return false;
    }
    return true;
}

/* p->bound, made anew when the request differs from the last one. */
static weir_status bind_again(weir_program *p, const weir_launch_desc *desc) {
    if (same_request(p->bound, desc)) return WEIR_OK;
    weir_bound_free(p->bound);
    p->bound = bind(p, desc);
    return p->bound ? WEIR_OK : p->ctx->status;
}

static const weir_launch_desc no_arguments; /* for a desc that is NULL */

weir_status weir_launch(weir_program *p, const weir_launch_desc *desc) {
    if (!desc) desc = &no_arguments;
    weir_status st = bind_again(p, desc);
    return st == WEIR_OK ? weir_bound_launch(p->bound, desc->stream) : st;
}

weir_status weir_explore(weir_program *p, const weir_launch_desc *desc, int seeds, uint64_t *seed) {
    *seed = 0;
    if (!desc) desc = &no_arguments;
    weir_device *d = weiri_launch_device(p, desc);
    if (!d) return p->ctx->status;
    int before = d->seeds;
    weir_status st = weir_device_explore(d, seeds);
    if (st != WEIR_OK) return st;
    weir_launch_desc on = *desc;
    on.device = d;
    st = weir_launch(p, &on);
    d->seeds = before;
    if (st == WEIR_E_SIM) *seed = d->last_seed;
    return st;
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

weir_status weir_time(weir_program *p, const weir_launch_desc *desc, int reps, double *ms) {
    if (!desc) desc = &no_arguments;
    weir_status st = bind_again(p, desc);
    if (st != WEIR_OK) return st;
    weir_bound *b = p->bound;
    weir_device *d = b->d;
    bool pushed;
    if (reps < 1) return weiri_fail(p->ctx, WEIR_E_ARGUMENT, "reps is %d; it must be 1 or more", reps);
    if (d->index < 0)
        return weiri_fail(p->ctx, WEIR_E_ARGUMENT, "the simulator gives no times; kernel '%s' can be timed on a GPU", p->name);
    st = weir_bound_launch(b, desc->stream); /* the first launch pays for loading */
    if (st == WEIR_OK) st = weiri_device_enter(d, &pushed);
    if (st != WEIR_OK) return st;
    weiri_cuevent from = NULL, to = NULL;
    float *sample = weiri_alloc(p->ctx, sizeof *sample * (size_t)reps);
    weiri_cures r = sample ? d->cu->event_create(&from, 0) : CU_OK;
    if (!sample) st = WEIR_E_MEMORY;
    if (st == WEIR_OK && r == CU_OK) r = d->cu->event_create(&to, 0);
    for (int i = 0; i < reps && st == WEIR_OK && r == CU_OK; i++) {
        r = d->cu->event_record(from, desc->stream);
        if (r == CU_OK) st = weir_bound_launch(b, desc->stream);
        if (st == WEIR_OK && r == CU_OK) r = d->cu->event_record(to, desc->stream);
        if (st == WEIR_OK && r == CU_OK) r = d->cu->event_sync(to);
        if (st == WEIR_OK && r == CU_OK) r = d->cu->event_elapsed(&sample[i], from, to);
    }
    if (r != CU_OK && st == WEIR_OK) st = weiri_device_fail(d, r, "timing kernel '%s'", p->name);
    if (from) d->cu->event_destroy(from);
    if (to) d->cu->event_destroy(to);
    if (st == WEIR_OK) {
        qsort(sample, (size_t)reps, sizeof *sample, by_value);
        *ms = ((double)sample[reps / 2] + (double)sample[(reps - 1) / 2]) / 2;
    }
    weiri_free(p->ctx, sample, sizeof *sample * (size_t)reps);
    weiri_device_leave(d, pushed);
    return st;
}

/* ---- endings ------------------------------------------------------------------------------------------------------------ */

void weiri_launch_buffer_freed(const weir_device *d, uint64_t address, size_t bytes) {
    for (weir_bound *b = d->bounds; b; b = b->next)
        for (int i = 0; i < b->ntensors; i++) { /* the kernel may be gone already */
            if (b->tensor[i]->address - address >= bytes) continue;
            b->tensor[i]->address = FREED;
            b->gone++;
        }
}

void weiri_launch_device_closed(weir_device *d) {
    while (d->bounds) {
        weir_bound *b = d->bounds;
        if (b->p && b->p->bound == b) {
            weir_bound_free(b);
            continue;
        }
        free_counter(b); /* the host's: it stays, empty, until weir_bound_free */
        unlink_bound(b);
        b->d = NULL;
        b->p = NULL;
    }
    while (d->modules) unload(d->modules);
}

void weiri_program_drop_launched(weir_program *p) {
    const weiri_cuda *cu = p->ctx->cuda;
    weir_bound_free(p->bound);
    for (weir_device *d = cu ? cu->devices : NULL; d; d = d->next) {
        if (d->last == p) d->last = NULL;
        for (weir_bound *b = d->bounds; b; b = b->next)
            if (b->p == p) b->p = NULL;
    }
    while (p->modules) unload(p->modules);
}
