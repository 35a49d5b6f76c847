/* The kernel as declared: dims, tensors, resources, dependency graph. Nothing here fails: what is wrong becomes a fault with
 * the author's place, and the resource is made all the same, so that one mistake does not hide the next. */
#include "model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

void weiri_plan_free(struct weiri_plan *p); /* plan.c; the kernel owns its last plan */

/* ---- places and faults -------------------------------------------------------------------------------------------------- */

weiri_chain weiri_here(weir_kernel *k) { return k->here; }

static bool same_chain(const weiri_chain *c, const weir_place *at, int n) {
    if (c->n != n) return false;
    for (int i = 0; i < n; i++)
        if (c->at[i].line != at[i].line || strcmp(c->at[i].file, at[i].file ? at[i].file : "?") != 0) return false;
    return true;
}

static const char *file_text(weir_kernel *k, const char *file) {
    for (int i = 0; i < k->here.n; i++) /* most places are in one file */
        if (file && strcmp(k->here.at[i].file, file) == 0) return k->here.at[i].file;
    return weiri_arena_str(&k->a, file ? file : "?");
}

void weir_at(weir_kernel *k, const weir_place *chain, int n) {
    if (same_chain(&k->here, chain, n)) return;
    weir_place *at = n > 0 ? WEIRI_NEW_N(&k->a, weir_place, n) : NULL;
    for (int i = 0; i < n; i++) at[i] = (weir_place){ file_text(k, chain[i].file), chain[i].line };
    k->here = (weiri_chain){ at, n > 0 ? n : 0 };
    if (!k->at.n) k->at = k->here;
}

weir_place weir_kernel_place(const weir_kernel *k) { return k->at.n ? k->at.at[0] : (weir_place){ NULL, 0 }; }

void weiri_kernel_fault(weir_kernel *k, const weiri_chain *at, const char *rule, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    weiri_buf b;
    weiri_buf_init(&b, k->ctx);
    weiri_putv(&b, fmt, ap);
    va_end(ap);
    weir_finding *f = weiri_find(&k->faults, rule, weiri_place_of(at), "%s", b.s ? b.s : "");
    weiri_buf_free(&b);
    f->hint = weiri_arena_str(&k->a, hint);
    if (at->n > 1) weiri_second_place(f, &(weiri_chain){ at->at + 1, at->n - 1 }, "called from here");
}

void weir_fault(weir_kernel *k, const char *rule, const char *text, const char *hint) {
    weiri_kernel_fault(k, &k->here, rule ? rule : "M-HOST", hint, "%s", text ? text : "");
}

void weiri_second_place(weir_finding *f, const weiri_chain *at, const char *what) {
    if (at->n) f->other_file = at->at[0].file, f->other_line = at->at[0].line, f->other_what = what;
}

void weiri_also_at(weir_kernel *k, const weiri_chain *at, const char *what) {
    weiri_second_place(&k->faults.list.v[k->faults.list.n - 1], at, what);
}

/* The resource that the fault just recorded is about. */
static void about(weir_kernel *k, const char *name) { k->faults.list.v[k->faults.list.n - 1].objects[0] = name; }

/* ---- names -------------------------------------------------------------------------------------------------------------- */

static bool is_identifier(const char *s) {
    if (!s || !((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_')) return false;
    for (s++; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || (*s >= '0' && *s <= '9'))) return false;
    return true;
}

/* A copy of the name, or a stand-in with a fault. What C++ or the device preamble mean by it does not matter: it is spelled otherwise in
 * the source. */
static const char *take_name(weir_kernel *k, const char *what, const char *name) {
    if (is_identifier(name)) return weiri_arena_str(&k->a, name);
    if (!name || !*name) {
        weiri_kernel_fault(k, &k->here, "M-NAME", "give it a name", "%s has no name", what);
        return "unnamed";
    }
    weiri_kernel_fault(k, &k->here, "M-NAME", "letters, digits and _, not starting with a digit", "%s: '%s' is no C identifier",
                       what, name);
    return weiri_arena_str(&k->a, name);
}

/* A name that the author's own CUDA uses as it is. */
static const char *take_word(weir_kernel *k, const char *what, const char *name) {
    const char *got = take_name(k, what, name), *taken = weiri_taken_by(got);
    if (taken && is_identifier(name))
        weiri_kernel_fault(k, &k->here, "M-NAME", "choose another name: the text of a body uses it as it is", "%s: '%s' is %s",
                           what, name, taken);
    return got;
}

static void refuse_repeat(weir_kernel *k, const char *what, const char *name, const weiri_chain *first) {
    weiri_kernel_fault(k, &k->here, "M-NAME", "choose another name", "%s: the name '%s' is taken", what, name);
    weiri_also_at(k, first, "declared here first");
}

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : b < c ? b : c; }

static int distance(const char *a, const char *b) {
    enum { MAX = 40 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX) return MAX;
    int row[MAX + 1];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int up = row[j];
            row[j] = min3(up + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = up;
        }
    }
    return row[m];
}

const char *weiri_nearest(const char *name, const char *const *list, int n) {
    const char *best = NULL;
    int least = (int)strlen(name) / 2 + 1;
    for (int i = 0; i < n; i++) {
        int d = distance(name, list[i]);
        if (d < least) least = d, best = list[i];
    }
    return best;
}

const char *weiri_res_kind_name(weir_res_kind kind) {
    switch (kind) {
    case WEIR_RES_GMEM: return "gmem_tile";
    case WEIR_RES_SMEM: return "smem_tile";
    case WEIR_RES_REG: return "reg_tile";
    case WEIR_RES_WGMMA: return "wgmma_tile";
    case WEIR_RES_TMEM: return "tmem_tile";
    case WEIR_RES_QUEUE: return "work_queue";
    case WEIR_RES_CUSTOM: return "resource";
    case WEIR_RES_BARRIER: return "barrier";
    case WEIR_RES_PDL_WAIT: return "pdl_wait";
    case WEIR_RES_PDL_LAUNCH: return "pdl_launch";
    case WEIR_RES_GROUP: return "group";
    case WEIR_RES_MEMBER: return "member";
    case WEIR_RES_NONE: break;
    }
    return "nothing";
}

const char *weiri_label(weir_kernel *k, const weir_res *r) {
    if (r->kind == WEIR_RES_MEMBER) return weiri_arena_fmt(&k->a, "'%s.%s'", r->group->name, r->bare->name);
    return weiri_arena_fmt(&k->a, "%s '%s'", weiri_res_kind_name(r->kind), r->name);
}

/* ---- kernel ------------------------------------------------------------------------------------------------------------- */

static int at_least_1(int x) { return x ? x : 1; }

weir_kernel *weir_kernel_new(weir_ctx *ctx, const weir_kernel_desc *d) {
    if (!d || !is_identifier(d->name)) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "kernel name '%s' is no C identifier", d && d->name ? d->name : "");
        return NULL;
    }
    if (d->cluster.v < 0 || d->cluster.m < 0 || d->cluster.n < 0 || d->cluster.k < 0) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "kernel '%s': cluster { v=%d, m=%d, n=%d, k=%d } has a negative size", d->name,
                   d->cluster.v, d->cluster.m, d->cluster.n, d->cluster.k);
        return NULL;
    }
    if (d->arch != 0 && d->arch != WEIR_ARCH_SM_80 && d->arch != WEIR_ARCH_SM_90A && d->arch != WEIR_ARCH_SM_100A) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "kernel '%s': arch %d is none of WEIR_ARCH_SM_80, WEIR_ARCH_SM_90A, WEIR_ARCH_SM_100A",
                   d->name, (int)d->arch);
        return NULL;
    }
    if (d->ctas_per_sm < 0 || d->ctas_per_sm > 32) {
        weiri_fail(ctx, WEIR_E_ARGUMENT, "kernel '%s': ctas_per_sm is %d; 1 to 32 CTAs can share an SM", d->name,
                   d->ctas_per_sm);
        return NULL;
    }
    weir_kernel *k = weiri_alloc(ctx, sizeof *k);
    if (!k) return NULL;
    k->ctx = ctx;
    weiri_arena_init(&k->a, ctx);
    weiri_buf_init(&k->text, ctx);
    k->faults.a = &k->a;
    k->name = weiri_arena_str(&k->a, d->name);
    k->arch = d->arch ? d->arch : WEIR_ARCH_SM_90A;
    k->ctas_per_sm = at_least_1(d->ctas_per_sm);
    k->cluster = (weir_cluster){ at_least_1(d->cluster.v), at_least_1(d->cluster.m), at_least_1(d->cluster.n),
                                 at_least_1(d->cluster.k) };
    if (k->a.oom) {
        weir_kernel_free(k);
        return NULL;
    }
    return k;
}

void weir_kernel_free(weir_kernel *k) {
    if (!k) return;
    if (k->plan) weiri_plan_free(k->plan);
    weiri_buf_free(&k->text);
    weiri_arena_free(&k->a);
    weiri_free(k->ctx, k, sizeof *k);
}

const char *weir_kernel_name(const weir_kernel *k) { return k->name; }

/* ---- arguments ---------------------------------------------------------------------------------------------------------- */

/* Dims, scalars and tensors are arguments of a launch and share its names. */
static void want_new_argument(weir_kernel *k, const char *what, const char *name) {
    for (int i = 0; i < k->dims.n; i++)
        if (strcmp(weiri_val(k, k->dims.v[i])->name, name) == 0) refuse_repeat(k, what, name, &weiri_val(k, k->dims.v[i])->at);
    for (int i = 0; i < k->scalars.n; i++)
        if (strcmp(weiri_val(k, k->scalars.v[i])->name, name) == 0)
            refuse_repeat(k, what, name, &weiri_val(k, k->scalars.v[i])->at);
    for (int i = 0; i < k->tensors.n; i++)
        if (strcmp(k->tensors.v[i]->name, name) == 0) refuse_repeat(k, what, name, &k->tensors.v[i]->at);
}

weir_value weir_dim(weir_kernel *k, const weir_dim_desc *d) {
    const char *name = take_name(k, "dim", d->name);
    want_new_argument(k, "dim", name);
    int64_t multiple = d->multiple ? d->multiple : 1;
    if (d->min < 0 || d->max < 0 || multiple < 1 || (d->max && d->max < d->min)) {
        if (d->min >= 0 && d->max >= 0 && multiple >= 1)
            weiri_kernel_fault(k, &k->here, "M-DIM", "0 <= min <= max", "dim '%s': min %lld is more than max %lld", name,
                               (long long)d->min, (long long)d->max);
        else
            weiri_kernel_fault(k, &k->here, "M-DIM", "0 <= min <= max, multiple >= 1",
                               "dim '%s': min %lld, max %lld, multiple %lld", name, (long long)d->min, (long long)d->max,
                               (long long)multiple);
        multiple = 1;
    }
    weir_value v = weiri_value_add(k,
                                   &(weiri_value){ .op = WEIR_OP_DIM,
                                                   .kind = WEIR_VALUE_SCALAR,
                                                   .dtype = WEIR_I32,
                                                   .rows = 1,
                                                   .cols = 1,
                                                   .uniform = true,
                                                   .name = name,
                                                   .min = d->min,
                                                   .max = d->max,
                                                   .multiple = multiple,
                                                   .dim = k->dims.n },
                                   true);
    WEIRI_PUSH(&k->a, k->dims, v.id);
    return v;
}

weir_value weir_scalar(weir_kernel *k, const weir_scalar_desc *d) {
    const char *name = take_name(k, "scalar", d->name);
    want_new_argument(k, "scalar", name);
    weir_dtype t = d->dtype;
    bool plain = t == WEIR_I32 || t == WEIR_U32 || t == WEIR_I64 || t == WEIR_U64 || t == WEIR_F32 || t == WEIR_F64;
    if (!plain) {
        weiri_kernel_fault(k, &k->here, "M-DTYPE", "i32, u32, i64, u64, f32 or f64", "scalar '%s': dtype %s", name,
                           weir_dtype_name(t));
        t = WEIR_F32;
    }
    weir_value v = weiri_value_add(k,
                                   &(weiri_value){ .op = WEIR_OP_SCALAR,
                                                   .kind = WEIR_VALUE_SCALAR,
                                                   .dtype = t,
                                                   .rows = 1,
                                                   .cols = 1,
                                                   .uniform = true,
                                                   .name = name,
                                                   .dim = k->scalars.n },
                                   true);
    WEIRI_PUSH(&k->a, k->scalars, v.id);
    return v;
}

weir_value weir_cta(weir_kernel *k, char axis) {
    if (!strchr("vmnkr", axis) || !axis) {
        weiri_kernel_fault(k, &k->here, "M-OPTION", "v, m, n, k, or r for the rank", "no CTA coordinate '%c'",
                           axis ? axis : '?');
        return (weir_value){ 0 };
    }
    return weiri_value_add(
        k,
        &(weiri_value){
            .op = WEIR_OP_CTA, .kind = WEIR_VALUE_SCALAR, .dtype = WEIR_I32, .rows = 1, .cols = 1, .uniform = true, .i = axis },
        true);
}

/* Made of dims, scalars and plain numbers, with a queue of its linear tile number too. */
static bool made_of(const weir_kernel *k, uint32_t id, const weir_res *queue) {
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_INT || v->op == WEIR_OP_DIM || (v->op == WEIR_OP_QUEUE_INDEX && v->res == queue)) return true;
    if (v->op == WEIR_OP_SCALAR) return !weiri_value_is_float(v->dtype);
    if (v->op < WEIR_OP_ADD || v->op > WEIR_OP_CAST || weiri_value_is_float(v->dtype)) return false;
    for (int i = 0; i < v->nargs; i++) /* one that was met already is made so: the first that is not ends the walk */
        if (weiri_visit(k, v->arg[i]) && !made_of(k, v->arg[i], queue)) return false;
    return true;
}

/* Computable at launch: an integer made of dims, integer scalars and plain numbers. */
static bool of_launch(const weir_kernel *k, uint32_t id) {
    weiri_visit_begin(k);
    return made_of(k, id, NULL);
}

void weir_assume(weir_kernel *k, weir_value condition) {
    if (!weiri_value_usable(k, condition.id, "assume")) return;
    if (weiri_val(k, condition.id)->kind != WEIR_VALUE_COND || !of_launch(k, condition.id)) {
        weiri_kernel_fault(k, &k->here, "VAL-TYPE", "a comparison of dims, scalars and plain numbers",
                           "assume: not a condition that can be checked at launch");
        return;
    }
    WEIRI_PUSH(&k->a, k->assumes, condition.id);
}

static bool want_extent(weir_kernel *k, weir_value v, const char *rule, const char *fmt, const char *name, int axis) {
    if (!v.id && k->faults.list.n) return false;
    if (v.id && of_launch(k, v.id)) {
        k->values.v[v.id].used = true;
        return true;
    }
    weiri_kernel_fault(k, &k->here, rule, "an integer, a dim, or arithmetic on them", fmt, name, axis + 1);
    return false;
}

weir_tensor *weir_tensor_new(weir_kernel *k, const weir_tensor_desc *d) {
    weir_tensor *t = WEIRI_NEW(&k->a, weir_tensor);
    t->k = k;
    t->at = k->here;
    t->name = take_name(k, "tensor", d->name);
    want_new_argument(k, "tensor", t->name);
    t->dtype = d->dtype;
    if (weir_dtype_size(d->dtype) == 0) {
        weiri_kernel_fault(k, &k->here, "M-DTYPE", NULL, "tensor '%s' has no dtype, or an unknown one", t->name);
        t->dtype = WEIR_F32;
    }
    t->rank = d->rank;
    if (d->rank < 1 || d->rank > WEIR_MAX_RANK) {
        weiri_kernel_fault(k, &k->here, "M-RANK", NULL, "tensor '%s': rank %d, 1 to %d is possible", t->name, d->rank,
                           WEIR_MAX_RANK);
        t->rank = d->rank < 1 ? 1 : WEIR_MAX_RANK;
    }
    for (int i = 0; i < t->rank; i++) {
        t->shape[i] = weiri_value_load(k, d->shape[i]);
        want_extent(k, t->shape[i], "M-SHAPE", "tensor '%s': extent %d is not known at launch", t->name, i);
        int64_t c;
        if (weiri_value_const(k, t->shape[i].id, &c) && c < 0)
            weiri_kernel_fault(k, &k->here, "M-SHAPE", NULL, "tensor '%s': extent %d is %lld", t->name, i + 1, (long long)c);
        t->stride[i] = d->stride[i];
        if (!t->stride[i].id) continue;
        want_extent(k, t->stride[i], "M-SHAPE", "tensor '%s': stride %d is not known at launch", t->name, i);
        if (i == t->rank - 1 && (!weiri_value_const(k, t->stride[i].id, &c) || c != 1))
            weiri_kernel_fault(k, &k->here, "M-SHAPE", "transpose the tensor, or copy it",
                               "tensor '%s': the innermost stride is 1", t->name);
    }
    t->out = d->out;
    t->index = k->tensors.n;
    WEIRI_PUSH(&k->a, k->tensors, t);
    return t;
}

/* ---- resources ---------------------------------------------------------------------------------------------------------- */

weir_res *weiri_res_add(weir_kernel *k, weir_res_kind kind, const char *name) {
    weir_res *r = WEIRI_NEW(&k->a, weir_res);
    r->k = k;
    r->kind = kind;
    r->at = k->here;
    r->axis_m = r->axis_n = -1;
    const char *what = weiri_res_kind_name(kind);
    r->name = take_name(k, what, name);
    for (int i = 0; i < k->res.n; i++)
        if (strcmp(k->res.v[i]->name, r->name) == 0) refuse_repeat(k, what, r->name, &k->res.v[i]->at);
    r->index = k->res.n;
    WEIRI_PUSH(&k->a, k->res, r);
    return r;
}

/* Copies tile entries; each must be positive. rank 0: as many as there are nonzero entries. */
static void take_tile(weir_kernel *k, weir_res *r, const int *tile, int rank) {
    if (rank <= 0 || rank > WEIR_MAX_RANK)
        for (rank = 0; rank < WEIR_MAX_RANK && tile[rank]; rank++) {}
    if (!rank) {
        weiri_kernel_fault(k, &k->here, "M-TILE", NULL, "%s has no tile", weiri_label(k, r));
        rank = 1;
    }
    r->rank = rank;
    for (int i = 0; i < rank; i++) {
        r->tile[i] = tile[i] > 0 ? tile[i] : 1;
        if (tile[i] <= 0)
            weiri_kernel_fault(k, &k->here, "M-TILE", "tile sizes are positive", "%s: tile size %d is %d", weiri_label(k, r),
                               i + 1, tile[i]);
    }
}

static void want_dtype(weir_kernel *k, weir_res *r, weir_dtype t) {
    r->dtype = t;
    if (weir_dtype_size(t)) return;
    weiri_kernel_fault(k, &k->here, "M-DTYPE", NULL, "%s has no dtype, or an unknown one", weiri_label(k, r));
    r->dtype = WEIR_F32;
}

static void want_swizzle(weir_kernel *k, weir_res *r, int swizzle) {
    r->swizzle = swizzle;
    if (swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128) return;
    weiri_kernel_fault(k, &k->here, "M-SWIZZLE", "0, 32, 64 or 128", "%s: swizzle %d", weiri_label(k, r), swizzle);
    r->swizzle = 0;
}

static void want_pipe_field(weir_kernel *k, const weir_res *r, bool ok, const char *field, long long got, const char *hint) {
    if (!ok) weiri_kernel_fault(k, &k->here, "M-PIPE", hint, "%s: pipeline field %s is %lld", weiri_label(k, r), field, got);
}

/* Keeps what was given, with at least one stage. Whether given counts are right is the plan's to say. */
static void take_pipe(weir_kernel *k, weir_res *r, const weir_pipe_desc *d) {
    r->pipe.given = *d;
    r->pipe.at = k->here;
    if (d->type < WEIR_PIPE_NONE || d->type >= WEIR_PIPE_COUNT) {
        weiri_kernel_fault(k, &k->here, "M-PIPE", NULL, "%s: unknown pipeline type %d", weiri_label(k, r), (int)d->type);
        r->pipe.given.type = WEIR_PIPE_NONE;
    }
    bool given = d->type != WEIR_PIPE_NONE; /* what is filled in for a queue has its stages, too */
    want_pipe_field(k, r, given ? d->stages >= 1 : d->stages >= 0, "stages", d->stages, "at least 1");
    want_pipe_field(k, r, d->stages <= WEIRI_MAX_STAGES, "stages", d->stages, "at most 65535");
    want_pipe_field(k, r, d->bytes >= 0, "bytes", (long long)d->bytes, "leave it out: it is derived");
    want_pipe_field(k, r, d->bytes_per_warp_per_cta >= 0, "bytes_per_warp_per_cta", (long long)d->bytes_per_warp_per_cta,
                    "leave it out: it is derived");
    want_pipe_field(k, r, d->producers >= 0, "producers", d->producers, "leave it out: it is derived");
    want_pipe_field(k, r, d->consumers >= 0, "consumers", d->consumers, "leave it out: it is derived");
    if (r->pipe.given.stages < 1) r->pipe.given.stages = 1;
    if (r->pipe.given.stages > WEIRI_MAX_STAGES) r->pipe.given.stages = WEIRI_MAX_STAGES;
    for (int i = 0; i < 4; i++) {
        int q = d->interleave[i];
        want_pipe_field(k, r, q >= 0, "interleave", q, "at least 1");
        bool told = false;
        for (int j = 0; j < i; j++) told |= d->interleave[j] == q;
        if (q > 1 && r->pipe.given.stages % q != 0 && !told) {
            weiri_kernel_fault(k, &k->here, "P-ILV-01", "a stride divides the stages",
                               "%s: %d stages are not divisible by interleave %d", weiri_label(k, r), r->pipe.given.stages, q);
            about(k, r->name);
        }
    }
    weir_cluster *l = &r->pipe.given.cta_layout;
    want_pipe_field(k, r, l->v >= 0 && l->m >= 0 && l->n >= 0 && l->k >= 0, "cta_layout", -1, "sizes are positive");
}

/* What belongs to another kernel, `other`, is no argument of this one. */
static bool foreign(weir_kernel *k, const weir_kernel *other, const char *what, const char *kind, const char *label) {
    if (other == k) return false;
    weiri_kernel_fault(k, &k->here, "C-ARG-01", weiri_arena_fmt(&k->a, "a kernel takes %s of its own", kind),
                       "%s: %s belongs to another kernel, '%s'", what, label, other->name);
    return true;
}

static bool foreign_tensor(weir_kernel *k, const char *what, const weir_tensor *t) {
    if (!foreign(k, t->k, what, "tensors", weiri_arena_fmt(&k->a, "tensor '%s'", t->name))) return false;
    weiri_also_at(k, &t->at, "declared here");
    return true;
}

weir_res *weir_gmem_tile(weir_kernel *k, const weir_gmem_tile_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_GMEM, d->name);
    take_tile(k, r, d->tile, d->rank);
    r->tensor = d->tensor;
    r->dtype = WEIR_F32;
    if (!d->tensor) {
        weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s has no tensor", weiri_label(k, r));
        return r;
    }
    if (foreign_tensor(k, weiri_label(k, r), d->tensor)) {
        r->tensor = NULL;
        return r;
    }
    r->dtype = d->tensor->dtype;
    if (r->rank != d->tensor->rank) {
        weiri_kernel_fault(k, &k->here, "M-RANK", "a size for each axis", "%s: the tile has %d %s, tensor '%s' has %d",
                           weiri_label(k, r), r->rank, r->rank == 1 ? "axis" : "axes", d->tensor->name, d->tensor->rank);
        weiri_also_at(k, &d->tensor->at, "declared here");
        for (; r->rank < d->tensor->rank; r->rank++) r->tile[r->rank] = 1;
        r->rank = d->tensor->rank;
    }
    return r;
}

weir_res *weir_smem_tile(weir_kernel *k, const weir_smem_tile_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_SMEM, d->name);
    take_pipe(k, r, &d->pipeline);
    weir_res *other = d->storage;
    if (!other) {
        take_tile(k, r, d->tile, d->rank);
        want_dtype(k, r, d->dtype);
        want_swizzle(k, r, d->swizzle);
        return r;
    }
    if (other->kind == WEIR_RES_MEMBER) other = other->bare;
    if (weiri_foreign(k, "storage", other) || !weiri_in_smem(other)) {
        if (other->k == k)
            weiri_kernel_fault(k, &k->here, "M-STORAGE", "a smem_tile", "%s: storage is %s, which is not in shared memory",
                               weiri_label(k, r), weiri_label(k, other));
        take_tile(k, r, d->tile, d->rank);
        want_dtype(k, r, d->dtype);
        return r;
    }
    while (other->storage) other = other->storage;
    r->storage = other;
    if (d->tile[0]) take_tile(k, r, d->tile, d->rank);
    else take_tile(k, r, other->tile, other->rank);
    want_dtype(k, r, d->dtype ? d->dtype : other->dtype);
    want_swizzle(k, r, d->swizzle ? d->swizzle : other->swizzle);
    if (weiri_tile_bytes(r) != weiri_tile_bytes(other)) {
        weiri_kernel_fault(k, &k->here, "M-STORAGE", "leave tile and dtype out",
                           "%s: a stage has %lld bytes, its storage '%s' has %lld", weiri_label(k, r),
                           (long long)weiri_tile_bytes(r), other->name, (long long)weiri_tile_bytes(other));
        weiri_also_at(k, &other->at, "declared here");
    }
    return r;
}

weir_res *weir_reg_tile(weir_kernel *k, const weir_reg_tile_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_REG, d->name);
    take_tile(k, r, d->tile, 2);
    want_dtype(k, r, d->dtype);
    return r;
}

weir_res *weir_wgmma_tile(weir_kernel *k, const weir_wgmma_tile_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_WGMMA, d->name);
    take_tile(k, r, d->tile, 2);
    r->dtype = WEIR_F32;
    r->split = d->split ? d->split : 'm';
    if (r->split != 'm' && r->split != 'n') {
        weiri_kernel_fault(k, &k->here, "M-OPTION", "\"m\" or \"n\"", "%s: split '%c'", weiri_label(k, r), r->split);
        r->split = 'm';
    }
    return r;
}

static void want_pipe(weir_kernel *k, const weir_res *r, const char *hint) {
    if (!weiri_piped(r)) weiri_kernel_fault(k, &k->here, "M-PIPE", hint, "%s has no pipeline", weiri_label(k, r));
}

/* Its sums are other threads' when an mma has been committed and waited for: by a pipeline. */
weir_res *weir_tmem_tile(weir_kernel *k, const weir_tmem_tile_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_TMEM, d->name);
    take_tile(k, r, d->tile, 2);
    take_pipe(k, r, &d->pipeline);
    want_pipe(k, r, "pipeline = weir.pipeline.umma_async { stages = 1 }");
    r->dtype = WEIR_F32;
    return r;
}

weir_res *weir_barrier(weir_kernel *k, const weir_barrier_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_BARRIER, d->name);
    take_pipe(k, r, &d->pipeline);
    want_pipe(k, r, "async_async { stages = 1 }");
    return r;
}

weir_res *weir_pdl_wait(weir_kernel *k, const char *name) { return weiri_res_add(k, WEIR_RES_PDL_WAIT, name); }
weir_res *weir_pdl_launch(weir_kernel *k, const char *name) { return weiri_res_add(k, WEIR_RES_PDL_LAUNCH, name); }

/* ---- work queue --------------------------------------------------------------------------------------------------------- */

static void queue_over(weir_kernel *k, weir_res *r, const weir_queue_desc *d) {
    static const char *const names[] = { "l", "m", "n" };
    const bool strange = foreign_tensor(k, weiri_label(k, r), d->over);
    int rank = d->over->rank;
    if (rank != 2 && rank != 3) {
        weiri_kernel_fault(k, &k->here, "M-QUEUE", "give axes and extent by hand",
                           "%s: over tensor '%s' of rank %d, 2 or 3 is possible", weiri_label(k, r), d->over->name, rank);
        weiri_also_at(k, &d->over->at, "declared here");
        rank = rank < 2 ? rank : 3;
    }
    int given = 0;
    while (given < WEIR_MAX_RANK && d->tile[given]) given++;
    if (given != d->over->rank)
        weiri_kernel_fault(k, &k->here, "M-RANK", NULL, "%s: the tile has %d axes, tensor '%s' has %d", weiri_label(k, r),
                           given, d->over->name, d->over->rank);
    r->tensor = strange ? NULL : d->over;
    r->qrank = rank;
    for (int i = 0; i < rank; i++) {
        r->axis[i] = names[i + 3 - rank];
        r->qtile[i] = d->tile[i] > 0 ? d->tile[i] : 1;
        if (d->tile[i] < 0)
            weiri_kernel_fault(k, &k->here, "M-TILE", "tile sizes are positive", "%s: tile size %d is %d", weiri_label(k, r),
                               i + 1, d->tile[i]);
        r->extent[i] = strange ? weir_int(k, 1)
                               : weir_apply(k, WEIR_OP_CEIL_DIV, (weir_value[]){ d->over->shape[i], weir_int(k, r->qtile[i]) }, 2);
    }
}

static void queue_by_hand(weir_kernel *k, weir_res *r, const weir_queue_desc *d) {
    r->qrank = d->rank;
    if (d->rank < 1 || d->rank > WEIR_MAX_RANK) {
        weiri_kernel_fault(k, &k->here, "M-QUEUE", "over = tensor with tile, or axes with extent",
                           "%s has %d axes, 1 to %d are possible", weiri_label(k, r), d->rank, WEIR_MAX_RANK);
        r->qrank = d->rank < 1 ? 1 : WEIR_MAX_RANK;
    }
    for (int i = 0; i < r->qrank; i++) {
        const char *what = weiri_arena_fmt(&k->a, "axis %d of work_queue '%s'", i + 1, r->name);
        r->axis[i] = i < d->rank ? take_word(k, what, d->axes[i]) : "i";
        for (int j = 0; j < i; j++)
            if (strcmp(r->axis[i], r->axis[j]) == 0)
                weiri_kernel_fault(k, &k->here, "M-QUEUE", NULL, "%s: axis '%s' is given twice", weiri_label(k, r), r->axis[i]);
        r->extent[i] = i < d->rank ? weiri_value_load(k, d->extent[i]) : weir_int(k, 1);
        if (!want_extent(k, r->extent[i], "M-QUEUE", "work_queue '%s': the extent of axis %d is not known at launch", r->name,
                         i))
            r->extent[i] = weir_int(k, 1);
    }
}

weir_res *weir_work_queue(weir_kernel *k, const weir_queue_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_QUEUE, d->name);
    r->qkind = d->kind;
    r->raster = d->raster;
    r->group_rows = d->group > 0 ? d->group : 8;
    if (d->group < 0) weiri_kernel_fault(k, &k->here, "M-QUEUE", "at least 1", "%s: group is %d", weiri_label(k, r), d->group);
    take_pipe(k, r, &d->pipeline);
    bool dynamic = d->kind == WEIR_QUEUE_CLC || d->kind == WEIR_QUEUE_ATOMIC;
    if (dynamic && !weiri_piped(r)) r->pipe.given.type = WEIR_CLC_FETCH_ASYNC;
    if (!dynamic && weiri_piped(r))
        weiri_kernel_fault(k, &k->here, "M-QUEUE", "kind = \"atomic\" or \"clc\", or no pipeline",
                           "%s: a queue of this kind fetches nothing and takes no pipeline", weiri_label(k, r));
    if (d->over) queue_over(k, r, d);
    else queue_by_hand(k, r, d);
    for (int i = 0; i < r->qrank; i++) {
        if (strcmp(r->axis[i], "m") == 0) r->axis_m = i;
        if (strcmp(r->axis[i], "n") == 0) r->axis_n = i;
    }
    if (d->raster == WEIR_RASTER_GROUPED && r->qrank < 2)
        weiri_kernel_fault(k, &k->here, "M-QUEUE", "raster = \"row\"", "%s: a grouped raster wants 2 axes, there is %d",
                           weiri_label(k, r), r->qrank);
    return r;
}

weir_value weir_queue_index(weir_kernel *k, weir_res *q) {
    if (q->kind != WEIR_RES_QUEUE) {
        weiri_kernel_fault(k, &k->here, "C-WTL-01", NULL, "%s is no work queue", weiri_label(k, q));
        return (weir_value){ 0 };
    }
    q->qindex = weiri_value_add(k,
                                &(weiri_value){ .op = WEIR_OP_QUEUE_INDEX,
                                                .kind = WEIR_VALUE_SCALAR,
                                                .dtype = WEIR_I32,
                                                .rows = 1,
                                                .cols = 1,
                                                .uniform = true,
                                                .res = q },
                                true);
    return q->qindex;
}

int weir_queue_rank(const weir_res *q) { return q->qrank; }
const char *weir_queue_axis(const weir_res *q, int i) { return i >= 0 && i < q->qrank ? q->axis[i] : NULL; }

weir_value weir_queue_extent(weir_kernel *k, weir_res *q, int axis) {
    if (axis < 0 || axis >= q->qrank) return (weir_value){ 0 };
    int per = axis == q->axis_m ? k->cluster.v * k->cluster.m : axis == q->axis_n ? k->cluster.n : 1;
    if (per == 1) return q->extent[axis];
    const weir_value args[2] = { q->extent[axis], weir_int(k, per) };
    return weir_apply(k, WEIR_OP_CEIL_DIV, args, 2);
}

/* Made of the linear tile number and what is known at launch. */
static bool of_raster(const weir_kernel *k, const weir_res *q, uint32_t id) {
    weiri_visit_begin(k);
    return made_of(k, id, q);
}

/* The tile's number, and what is made of it, means nothing outside the loop over the queue's tiles. Parts come before what is made of them. */
static void keep_inside(weir_kernel *k, weir_res *q) {
    for (int id = (int)q->qindex.id; id < k->values.n; id++) {
        weiri_value *v = &k->values.v[id];
        bool of = v->op == WEIR_OP_QUEUE_INDEX && v->res == q;
        for (int i = 0; i < v->nargs && !of; i++)
            of = weiri_value_uses(k, v->arg[i], WEIR_OP_QUEUE_INDEX) && weiri_val(k, v->arg[i])->tiles == q;
        if (of) v->tiles = q;
    }
}

void weir_queue_set_raster(weir_kernel *k, weir_res *q, const weir_value *coord, int n) {
    if (q->kind != WEIR_RES_QUEUE || n != q->qrank) {
        weiri_kernel_fault(k, &k->here, "M-QUEUE", "return one coordinate per axis",
                           "%s: the raster gives %d coordinates, there are %d axes", weiri_label(k, q), n, q->qrank);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (coord[i].id ? !of_raster(k, q, coord[i].id) : !k->faults.list.n)
            weiri_kernel_fault(k, &k->here, "M-QUEUE", "integers made of the index, the extents, dims and plain numbers",
                               "%s: coordinate '%s' of the raster cannot be computed from the tile's number", weiri_label(k, q),
                               q->axis[i]);
        q->raster_coord[i] = coord[i];
        if (coord[i].id) k->values.v[coord[i].id].used = true;
    }
    q->raster = WEIR_RASTER_CUSTOM;
    keep_inside(k, q);
}

/* ---- custom resources --------------------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *s) { return s + strspn(s, " \t\r\n"); }
static size_t word_length(const char *s) {
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || (s[n] >= '0' && s[n] <= '9') || s[n] == '_') n++;
    return n;
}

/* One declaration "const i32 slot": qualifiers, a type, a name. False, with a fault, if it does not read so. */
static bool parse_param(weir_kernel *k, const char *what, const char *s, size_t n, bool returns, weiri_param *p) {
    const char *text = weiri_arena_fmt(&k->a, "%.*s", (int)n, s), *at = skip_blanks(text);
    bool type = false;
    while (*at) {
        size_t w = word_length(at);
        if (!w) break;
        const char *word = weiri_arena_fmt(&k->a, "%.*s", (int)w, at);
        at = skip_blanks(at + w);
        if (!type && !returns && strcmp(word, "const") == 0) p->constant = true;
        else if (!type && returns && strcmp(word, "uniform") == 0) p->uniform = true;
        else if (!type && !returns && strcmp(word, "view") == 0) type = p->view = true;
        else if (!type && strcmp(word, "int") == 0) type = true, p->dtype = WEIR_I32;
        else if (!type && strcmp(word, "float") == 0) type = true, p->dtype = WEIR_F32;
        else if (!type && weir_dtype_from_name(word)) type = true, p->dtype = weir_dtype_from_name(word);
        else if (type && !p->name && is_identifier(word)) p->name = word;
        else break;
    }
    if (*at || !type || !p->name || (p->view && p->constant)) {
        weiri_kernel_fault(k, &k->here, "M-WORK",
                           returns ? "for example \"f32 v, uniform i32 n\""
                                   : "for example \"view up, i32 row, const int slot\"",
                           "%s: cannot read '%s' as a %s", what, skip_blanks(text), returns ? "return" : "parameter");
        about(k, weiri_arena_fmt(&k->a, "%.*s", (int)strcspn(what, ":"), what));
        return false;
    }
    return true;
}

static int parse_params(weir_kernel *k, const char *what, const char *s, bool returns, weiri_param **out) {
    if (!s || !*skip_blanks(s)) return 0;
    int n = 1, good = 0;
    for (const char *c = s; *c; c++) n += *c == ',';
    *out = WEIRI_NEW_N(&k->a, weiri_param, n);
    for (;;) {
        size_t len = strcspn(s, ",");
        weiri_param *p = &(*out)[good];
        *p = (weiri_param){ 0 };
        if (parse_param(k, what, s, len, returns, p)) {
            bool repeated = false;
            for (int i = 0; i < good; i++) repeated |= strcmp((*out)[i].name, p->name) == 0;
            if (repeated) weiri_kernel_fault(k, &k->here, "M-WORK", NULL, "%s: '%s' is declared twice", what, p->name);
            else good++;
        }
        if (!s[len]) return good;
        s += len + 1;
    }
}

static bool is_move(const char *name) {
    static const char *const moves[] = { "try_acquire",
                                         "acquire",
                                         "commit",
                                         "try_wait",
                                         "wait",
                                         "release",
                                         "read",
                                         "sub",
                                         "drain",
                                         "consumer_work",
                                         "producer_work",
                                         "consumer_aux_work",
                                         "producer_aux_work" };
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strcmp(moves[i], name) == 0) return true;
    return false;
}

/* What a body's text can already name; a bind brings its shape and strides. */
static const char *meaning_in_body(const weir_res *r, const weiri_work *w, const char *name, const void *self) {
    static const char *const given[] = { "iter", "stage", "bar",     "tid",  "nthreads",
                                         "warp", "lane",  "elected", "tile", "task_sync" };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (strcmp(given[i], name) == 0) return "what every body is given";
    if (r->space == WEIR_SPACE_SMEM && strcmp(name, "smem") == 0) return "this stage's storage";
    for (int i = 0; i < r->nbind; i++) {
        const size_t n = strlen(r->bind[i].name);
        const char *rest = strncmp(r->bind[i].name, name, n) == 0 ? name + n : "-";
        if (&r->bind[i] == self) return NULL; /* those before it, that is */
        if (!*rest) return "a bound tensor";
        if (strncmp(rest, "_shape", 6) == 0 && !rest[6 + strspn(rest + 6, "0123456789")]) return "the shape of a bound tensor";
        if (strncmp(rest, "_stride", 7) == 0 && !rest[7 + strspn(rest + 7, "0123456789")]) return "the strides of a bound tensor";
    }
    for (int i = 0; i < r->nconsts; i++) {
        if (&r->consts[i] == self) return NULL;
        if (strcmp(r->consts[i].name, name) == 0) return "a const";
    }
    for (int i = 0; w && i < w->nparams; i++) {
        if (&w->params[i] == self) return NULL;
        if (strcmp(w->params[i].name, name) == 0) return "a parameter";
    }
    return NULL;
}

static void want_new_word(weir_kernel *k, const weir_res *r, const weiri_work *w, const char *what, const char *name,
                          const void *self) {
    const char *is = meaning_in_body(r, w, name, self);
    if (!is) return;
    weiri_kernel_fault(k, &k->here, "M-NAME", "choose another name: the text of a body uses it as it is",
                       "%s: '%s' is %s already", what, name, is);
    about(k, r->name);
}

static void want_new_words(weir_kernel *k, const weir_res *r, const weiri_work *w, const char *what) {
    for (int i = 0; i < w->nparams; i++) want_new_word(k, r, w, what, w->params[i].name, &w->params[i]);
    for (int i = 0; i < w->nreturns; i++) want_new_word(k, r, w, what, w->returns[i].name, &w->returns[i]);
    for (int i = 0; i < w->nparams + w->nreturns; i++) {
        const char *name = i < w->nparams ? w->params[i].name : w->returns[i - w->nparams].name, *taken = weiri_taken_by(name);
        if (!taken) continue;
        weiri_kernel_fault(k, &k->here, "M-NAME", "choose another name: the text of a body uses it as it is", "%s: '%s' is %s",
                           what, name, taken);
        about(k, r->name);
    }
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A bracket or comment of a body that is not closed, or closed without being open, swallows what follows it in the emitted text; the
 * compiler's message then points anywhere. A __shared__ variable is found on the same walk. NULL: nothing of the kind, or directives and
 * raw strings, which this does not follow. *row: of the place, from 0. */
static const char *unpaired(const char *s, int *row, char *which) {
    enum { DEPTH = 200 };
    struct { char c; int row; } open[DEPTH];
    int n = 0;
    *row = 0;
    bool blank = true; /* nothing in this row yet */
    for (const char *first = s; *s; s++) {
        char c = *s;
        if (c == '\n') {
            ++*row, blank = true;
            continue;
        }
        if (c == '/' && s[1] == '/') {
            while (s[1] && s[1] != '\n') s++;
            continue;
        }
        if (c == '/' && s[1] == '*') {
            int from = *row;
            for (s += 2; *s && !(s[0] == '*' && s[1] == '/'); s++) *row += *s == '\n';
            if (!*s) return *row = from, *which = '/', "begins a comment that is never closed";
            s++;
            continue;
        }
        if ((c == '#' && blank) || (c == 'R' && s[1] == '"')) return NULL;
        blank = blank && (c == ' ' || c == '\t');
        if (c == '\'' && s > first && s[-1] >= '0' && s[-1] <= '9') continue; /* 1'000 */
        if (c == '"' || c == '\'') {
            for (s++; *s && *s != c && *s != '\n'; s++)
                if (*s == '\\' && s[1]) s++;
            if (*s != c) return NULL; /* the compiler tells */
            continue;
        }
        if (c == '_' && !strncmp(s, "__shared__", 10) && (s == first || !is_word(s[-1])) && !is_word(s[10]))
            return *which = '_', "declares memory that the plan does not count";
        if (c == '(' || c == '[' || c == '{') {
            if (n == DEPTH) return NULL;
            open[n].c = c, open[n++].row = *row;
        } else if (c == ')' || c == ']' || c == '}') {
            char want = c == ')' ? '(' : c == ']' ? '[' : '{';
            *which = c;
            if (!n) return "closes nothing";
            if (open[n - 1].c != want) return *which = open[n - 1].c, *row = open[n - 1].row, "is never closed";
            n--;
        }
    }
    if (!n) return NULL;
    return *which = open[n - 1].c, *row = open[n - 1].row, "is never closed";
}

bool weiri_raw_thread(const char *s, int *row, const char **name) {
    static const char *const raw[] = { "threadIdx", "w_tid", "w_warp" };
    *row = 0;
    for (const char *first = s; *s; s++) {
        if (*s == '\n') {
            ++*row;
        } else if (*s == '/' && s[1] == '/') {
            while (s[1] && s[1] != '\n') s++;
        } else if (*s == '/' && s[1] == '*') {
            for (s += 2; *s && !(s[0] == '*' && s[1] == '/'); s++) *row += *s == '\n';
            if (!*s) return false;
            s++;
        } else if (*s == '"') {
            for (s++; *s && *s != '"' && *s != '\n'; s++)
                if (*s == '\\' && s[1]) s++;
            if (*s != '"') return false;
        } else if (s == first || !is_word(s[-1])) {
            for (size_t i = 0; i < sizeof raw / sizeof raw[0]; i++) {
                size_t n = strlen(raw[i]);
                if (!strncmp(s, raw[i], n) && !is_word(s[n])) return *name = raw[i], true;
            }
        }
    }
    return false;
}

static void want_pairs(weir_kernel *k, const weiri_work *w, const char *what) {
    int row;
    char which;
    const char *wrong = unpaired(w->code, &row, &which);
    if (!wrong) return;
    weir_place at = { w->file, w->line + row };
    weiri_chain there = { w->file ? WEIRI_NEW(&k->a, weir_place) : NULL, w->file != NULL };
    if (there.n && there.at) *(weir_place *)there.at = at;
    weiri_kernel_fault(k, there.n && there.at ? &there : &k->here, "M-WORK",
                       which == '_' ? "declare a resource with space = \"smem\": its body has the storage as `smem`, typed"
                                    : NULL,
                       "%s: '%s' %s", what,
                       which == '/'   ? "/*"
                       : which == '_' ? "__shared__"
                                      : weiri_arena_fmt(&k->a, "%c", which),
                       wrong);
}

static void take_work(weir_kernel *k, weir_res *r, const weir_work_def *d) {
    weiri_work *w = &r->work[r->nwork];
    *w = (weiri_work){ .file = weiri_arena_str(&k->a, d->file),
                       .line = d->line,
                       .side = d->side,
                       .aux = d->aux,
                       .async_read = d->async_read,
                       .tx_bytes = d->tx_bytes,
                       .at = k->here };
    const char *what = weiri_arena_fmt(&k->a, "work of %s", weiri_label(k, r));
    w->name = take_name(k, what, d->name);
    what = weiri_arena_fmt(&k->a, "%s:%s", r->name, w->name);
    w->code = weiri_arena_str(&k->a, d->code ? d->code : "");
    if (!d->code) weiri_kernel_fault(k, &k->here, "M-WORK", "code = [[ ... ]]", "%s has no code", what);
    if (is_move(w->name))
        weiri_kernel_fault(k, &k->here, "C-NAME-01", "rename the method",
                           "%s has the name of a pipeline move or of a method every resource has", what);
    for (int i = 0; i < r->nwork; i++)
        if (strcmp(r->work[i].name, w->name) == 0)
            weiri_kernel_fault(k, &k->here, "C-NAME-02", NULL, "%s is declared twice", what);
    if (d->tx_bytes < 0) weiri_kernel_fault(k, &k->here, "M-WORK", NULL, "%s: tx_bytes is %lld", what, (long long)d->tx_bytes);
    if (d->tx_bytes > 0 && d->side == WEIR_SIDE_CONSUMER)
        weiri_kernel_fault(k, &k->here, "M-WORK", "declare it with producer_work",
                           "%s: only producer work brings bytes (tx_bytes is %lld)", what, (long long)d->tx_bytes);
    if (d->returns && *skip_blanks(d->returns) && d->side == WEIR_SIDE_PRODUCER)
        weiri_kernel_fault(k, &k->here, "M-WORK", "declare it with consumer_work", "%s: only consumer work returns values",
                           what);
    w->nparams = parse_params(k, what, d->params, false, &w->params);
    w->nreturns = parse_params(k, what, d->returns, true, &w->returns);
    want_new_words(k, r, w, what);
    want_pairs(k, w, what);
    r->nwork++;
}

weir_res *weir_resource(weir_kernel *k, const weir_resource_desc *d) {
    weir_res *r = weiri_res_add(k, WEIR_RES_CUSTOM, d->name);
    r->space = d->space;
    take_pipe(k, r, &d->pipeline);
    if (d->space == WEIR_SPACE_SMEM) {
        take_tile(k, r, d->tile, d->rank);
        want_dtype(k, r, d->dtype);
        want_swizzle(k, r, d->swizzle);
    }
    r->nbind = d->nbind;
    r->bind = WEIRI_NEW_N(&k->a, weir_bind, d->nbind + 1);
    for (int i = 0; i < d->nbind; i++) {
        r->bind[i] = (weir_bind){ take_word(k, weiri_arena_fmt(&k->a, "bind of %s", weiri_label(k, r)), d->bind[i].name),
                                  d->bind[i].tensor };
        if (!d->bind[i].tensor)
            weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s: bind '%s' is no tensor", weiri_label(k, r), r->bind[i].name);
        else foreign_tensor(k, weiri_arena_fmt(&k->a, "bind '%s' of %s", r->bind[i].name, weiri_label(k, r)), d->bind[i].tensor);
    }
    r->nconsts = d->nconsts;
    r->consts = WEIRI_NEW_N(&k->a, weir_const, d->nconsts + 1);
    for (int i = 0; i < d->nconsts; i++) {
        r->consts[i] = d->consts[i];
        r->consts[i].name = take_word(k, weiri_arena_fmt(&k->a, "const of %s", weiri_label(k, r)), d->consts[i].name);
    }
    for (int i = 0; i < r->nbind; i++)
        want_new_word(k, r, NULL, weiri_arena_fmt(&k->a, "bind of %s", weiri_label(k, r)), r->bind[i].name, &r->bind[i]);
    for (int i = 0; i < r->nconsts; i++)
        want_new_word(k, r, NULL, weiri_arena_fmt(&k->a, "const of %s", weiri_label(k, r)), r->consts[i].name, &r->consts[i]);
    r->work = WEIRI_NEW_N(&k->a, weiri_work, d->nwork + 1);
    for (int i = 0; i < d->nwork; i++) take_work(k, r, &d->work[i]);
    return r;
}

const char *weir_res_name(const weir_res *r) { return r->kind == WEIR_RES_MEMBER ? r->bare->name : r->name; }
weir_res_kind weir_res_get_kind(const weir_res *r) { return r->kind; }

const char *weir_res_method(const weir_res *r, int i) {
    static const char *const gmem[] = { "drain", "store", "tma_reduce_add", "tma_store", NULL };
    static const char *const smem[] = { "cp_async", "push", "store", "tma_load", NULL };
    static const char *const reg[] = { "drain", "set", "zero", NULL };
    static const char *const wgmma[] = { "drain", "mma", "set", "zero", NULL };
    static const char *const tmem[] = { "mma", "zero", NULL };
    static const char *const queue[] = { "fetch_work_tile", "get_and_advance_work_tile", "init_work_tile", NULL };
    static const char *const wait[] = { "wait_griddep", NULL };
    static const char *const launch[] = { "launch_griddep", NULL };
    static const char *const none[] = { NULL };
    if (r->kind == WEIR_RES_MEMBER) r = r->bare;
    if (r->kind == WEIR_RES_CUSTOM) return i >= 0 && i < r->nwork ? r->work[i].name : NULL;
    const char *const *list = r->kind == WEIR_RES_GMEM         ? gmem
                              : r->kind == WEIR_RES_SMEM       ? smem
                              : r->kind == WEIR_RES_REG        ? reg
                              : r->kind == WEIR_RES_WGMMA      ? wgmma
                              : r->kind == WEIR_RES_TMEM       ? tmem
                              : r->kind == WEIR_RES_QUEUE      ? queue
                              : r->kind == WEIR_RES_PDL_WAIT   ? wait
                              : r->kind == WEIR_RES_PDL_LAUNCH ? launch
                                                               : none;
    for (int j = 0; list[j]; j++)
        if (j == i) return list[j];
    return NULL;
}

int64_t weiri_tile_elems(const weir_res *r) {
    int64_t n = 1;
    for (int i = 0; i < r->rank; i++) n *= r->tile[i];
    return n;
}

int64_t weiri_tile_bytes(const weir_res *r) { return weiri_tile_elems(r) * weir_dtype_size(r->dtype); }

/* ---- dependency graph, memory ------------------------------------------------------------------------------------------- */

/* What depends, alias, src and dst name: the bare resource. NULL, with a fault, for anything else. */
bool weiri_foreign(weir_kernel *k, const char *what, const weir_res *r) {
    return foreign(k, r->k, what, "resources", weiri_label(k, r));
}

static weir_res *bare_only(weir_kernel *k, const char *what, weir_res *r) {
    if (!r) {
        weiri_kernel_fault(k, &k->here, "C-ARG-01", NULL, "%s: no resource", what);
        return NULL;
    }
    if (weiri_foreign(k, what, r)) return NULL;
    if (r->kind != WEIR_RES_GROUP) return r->kind == WEIR_RES_MEMBER ? r->bare : r;
    weiri_kernel_fault(k, &k->here, "C-ARG-01", "name its members", "%s takes bare resources, and '%s' is a group", what,
                       r->name);
    return NULL;
}

void weir_depends(weir_kernel *k, weir_res *down, weir_res *const *up, int n) {
    weiri_edge e = { .at = k->here };
    if (!down && !n) {
        weiri_kernel_fault(k, &k->here, "V-INIT-01", "leave it out: it is derived", "depends: the graph is empty");
        return;
    }
    e.down = bare_only(k, "depends", down);
    e.up = WEIRI_NEW_N(&k->a, weir_res *, n + 1);
    for (int i = 0; i < n; i++) {
        weir_res *r = bare_only(k, "depends", up[i]);
        if (r) e.up[e.nup++] = r;
    }
    if (e.down) WEIRI_PUSH(&k->a, k->edges, e);
}

void weir_release_after(weir_kernel *k, weir_res *up, weir_res *down, const char *const *work, int n) {
    weiri_labels l = { .n = n, .at = k->here };
    l.up = bare_only(k, "release_after", up);
    l.down = bare_only(k, "release_after", down);
    l.work = WEIRI_NEW_N(&k->a, const char *, n + 1);
    for (int i = 0; i < n; i++) l.work[i] = weiri_arena_str(&k->a, work[i]);
    if (l.up && l.down) WEIRI_PUSH(&k->a, k->labels, l);
}

static bool in_phase(weir_res *const *list, int n, const weir_res *r) {
    for (int i = 0; i < n; i++)
        if (list[i] == r) return true;
    return false;
}

/* Is r in a phase of an alias before, or in one of the first `done` of this? */
static bool aliased(const weir_kernel *k, const weiri_alias *now, int done, const weir_res *r) {
    for (int a = 0; a <= k->aliases.n; a++) {
        const weiri_alias *al = a < k->aliases.n ? &k->aliases.v[a] : now;
        for (int i = 0; i < (a < k->aliases.n ? al->n : done); i++)
            if (in_phase(al->phase[i].res, al->phase[i].n, r)) return true;
    }
    return false;
}

void weir_alias(weir_kernel *k, const weir_phase *phases, int n) {
    weiri_alias al = { .n = n, .at = k->here };
    if (n < 2) {
        weiri_kernel_fault(k, &k->here, "M-STORAGE", "alias { { a, b }, { staging } }",
                           "alias takes at least two phases, given %d", n);
        return;
    }
    al.phase = WEIRI_NEW_N(&k->a, weir_phase, n);
    for (int i = 0; i < n; i++) {
        weir_res **list = WEIRI_NEW_N(&k->a, weir_res *, phases[i].n + 1);
        int m = 0;
        for (int j = 0; j < phases[i].n; j++) {
            weir_res *r = bare_only(k, "alias", phases[i].res[j]);
            if (!r) continue;
            if (aliased(k, &al, i, r) || in_phase(list, m, r))
                weiri_kernel_fault(k, &k->here, "M-STORAGE", "each resource in one phase of one alias",
                                   "alias: %s is in another phase already", weiri_label(k, r));
            else if (weiri_in_smem(r) && !r->storage) list[m++] = r;
            else
                weiri_kernel_fault(k, &k->here, "M-STORAGE", "tiles in shared memory with bytes of their own",
                                   "alias: %s has no shared memory of its own", weiri_label(k, r));
        }
        if (!m) weiri_kernel_fault(k, &k->here, "M-STORAGE", NULL, "alias: phase %d is empty", i + 1);
        al.phase[i] = (weir_phase){ list, m };
    }
    WEIRI_PUSH(&k->a, k->aliases, al);
}
