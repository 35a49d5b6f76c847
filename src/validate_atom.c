/* Work that the core knows: shapes, dtypes and memories of what it takes and where it puts that (V-ATOM), and operands of an mma
 * (V-MMA). The specification has no such rules: its work is the author's code. */
#include <string.h>

#include "validating.h"

/* ---- extents ------------------------------------------------------------------------------------------------------------ */

typedef struct extent {
    int shape[WEIR_MAX_RANK], rank;
} extent;

static extent extent_of(const checker *c, uint32_t id) {
    extent e = { .rank = 0 };
    const weiri_value *v = weiri_val(c->k, id);
    if (v->kind == WEIR_VALUE_VIEW) e.rank = weiri_view_shape(c->k, id, e.shape);
    else e.rank = 2, e.shape[0] = v->rows, e.shape[1] = v->cols;
    return e;
}

static extent extent_of_res(const weir_res *r) {
    extent e;
    e.rank = weiri_tile_shape(r, e.shape);
    return e;
}

/* As a register tile sees it: leading axes folded into rows. */
static void as_tile(const extent *e, int *rows, int *cols) {
    *rows = 1;
    for (int i = 0; i + 1 < e->rank; i++) *rows *= e->shape[i];
    *cols = e->rank ? e->shape[e->rank - 1] : 1;
}

static const char *shape_text(checker *c, const extent *e) {
    const char *s = "{ ";
    for (int i = 0; i < e->rank; i++) s = weiri_arena_fmt(c->out->a, "%s%s%d", s, i ? ", " : "", e->shape[i]);
    return weiri_arena_fmt(c->out->a, "%s }", s);
}

static bool same_extent(const extent *x, const extent *y) {
    return x->rank == y->rank && memcmp(x->shape, y->shape, sizeof *x->shape * (size_t)x->rank) == 0;
}

static weir_finding *at_op(checker *c, const weiri_op *op, const char *rule, const char *fmt, ...) WEIRI_PRINTF(4, 5);
static weir_finding *at_op(checker *c, const weiri_op *op, const char *rule, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = weiri_arena_vfmt(c->out->a, fmt, ap);
    va_end(ap);
    weir_finding *f = weiri_find(c->out, rule, VD_AT_OP(op), "%s", text);
    f->objects[0] = op->res->name;
    vd_called_from(f, &op->at);
    return f;
}

/* ---- copies and stores -------------------------------------------------------------------------------------------------- */

/* tf32 is f32 whose low bits the tensor core ignores. */
static bool same_bits(weir_dtype x, weir_dtype y) {
    return (x == WEIR_F32 && y == WEIR_TF32) || (x == WEIR_TF32 && y == WEIR_F32);
}

/* The view that is copied into `op->res`, or the place `to` in it, has the same shape and dtype. */
static void copy_fits(checker *c, const weiri_op *op, uint32_t view, const extent *to) {
    const weir_res *base = weiri_view_base(c->k, view);
    if (!base) return;
    const extent e = extent_of(c, view);
    const weir_dtype dtype = op->res->dtype;
    if (!same_extent(&e, to)) {
        weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: a tile of '%s' is %s, '%s' is %s", op->res->name,
                                weiri_atom_name(op->atom), base->name, shape_text(c, &e), op->res->name, shape_text(c, to));
        f->expected = shape_text(c, to);
        f->got = shape_text(c, &e);
        f->hint = "a copy moves whole tiles: make the two tiles alike";
        weiri_second_place(f, &base->at, "declared here");
    }
    if (base->dtype != dtype && !same_bits(base->dtype, dtype)) {
        weir_finding *f =
            at_op(c, op, "V-ATOM-02", "%s:%s: '%s' is %s, '%s' is %s, and a copy converts nothing", op->res->name,
                  weiri_atom_name(op->atom), base->name, weir_dtype_name(base->dtype), op->res->name, weir_dtype_name(dtype));
        f->expected = weir_dtype_name(dtype);
        f->got = weir_dtype_name(base->dtype);
        f->hint = "copy into a tile of the same dtype, and weir.cast what is read from it";
        weiri_second_place(f, &base->at, "declared here");
    }
}

static void want_base(checker *c, const weiri_op *op, uint32_t view, bool smem) {
    const weir_res *base = weiri_view_base(c->k, view);
    if (!base || (smem ? weiri_in_smem(base) : base->kind == WEIR_RES_GMEM)) return;
    at_op(c, op, "V-ATOM-03", "%s:%s reads from %s memory, and '%s' is a %s", op->res->name, weiri_atom_name(op->atom),
          smem ? "shared" : "global", base->name, weiri_res_kind_name(base->kind))
        ->hint = smem ? "load it into a smem_tile first" : "a gmem_tile's place: g:at(...)";
}

/* The shape of the place a store into g writes; false, with a finding, if it is no place of g. */
static bool place_of(checker *c, const weiri_op *op, uint32_t place, extent *e) {
    const weir_res *g = op->res;
    const weiri_value *v = weiri_val(c->k, place);
    *e = extent_of_res(g);
    if (v->op == WEIR_OP_VIEW_TILE) {
        const weir_res *q = v->res;
        bool fits = q->qrank == g->rank;
        for (int i = 0; fits && i < g->rank; i++) fits = q->qtile[i] == g->tile[i];
        if (fits) return true;
        weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: the work tiles of '%s' are not the tiles of '%s'", g->name,
                                weiri_atom_name(op->atom), q->name, g->name);
        f->hint = weiri_arena_fmt(c->out->a, "write the place: %s:at(...)", g->name);
        weiri_second_place(f, &q->at, "the queue");
        return false;
    }
    const weir_res *base = weiri_view_base(c->k, place);
    if (base != g) {
        at_op(c, op, "V-ATOM-03", "%s:%s writes '%s', and the place is of '%s'", g->name, weiri_atom_name(op->atom), g->name,
              base ? base->name : "?")
            ->hint = weiri_arena_fmt(c->out->a, "write the place as %s:at(...)", g->name);
        return false;
    }
    *e = extent_of(c, place);
    return true;
}

/* A value fills a place when its extents are the place's, or 1. */
static void value_fits(checker *c, const weiri_op *op, uint32_t value, const extent *to) {
    const weiri_value *v = weiri_val(c->k, value);
    int rows, cols;
    as_tile(to, &rows, &cols);
    if ((v->rows == 1 || v->rows == rows) && (v->cols == 1 || v->cols == cols)) return;
    weir_finding *f = at_op(c, op, "V-ATOM-01", "%s:%s: the value is { %d, %d }, the place is %s", op->res->name,
                            weiri_atom_name(op->atom), v->rows, v->cols, shape_text(c, to));
    f->expected = weiri_arena_fmt(c->out->a, "{ %d, %d }", rows, cols);
    f->got = weiri_arena_fmt(c->out->a, "{ %d, %d }", v->rows, v->cols);
    weiri_second_place(f, &op->res->at, "declared here");
}

static void want_out(checker *c, const weiri_op *op) {
    const weir_tensor *t = op->res->tensor;
    if (!t || t->out) return;
    weir_finding *f = at_op(c, op, "V-ATOM-04", "%s:%s writes tensor '%s', which is not an out tensor", op->res->name,
                            weiri_atom_name(op->atom), t->name);
    f->hint = "declare it with out = true";
    weiri_second_place(f, &t->at, "declared here");
}

/* ---- operands of an mma ------------------------------------------------------------------------------------------------- */

static bool is_operand_dtype(weir_dtype t) {
    return t == WEIR_BF16 || t == WEIR_F16 || t == WEIR_TF32 || t == WEIR_E4M3 || t == WEIR_E5M2;
}

/* A stage of an umma_umma pipeline: what one mma left is the next one's operand, in the dtype of that one's other operand. */
static bool is_product(const checker *c, uint32_t view) {
    const weir_res *base = weiri_view_base(c->k, view);
    return base && base->kind == WEIR_RES_TMEM && base->pipe.given.type == WEIR_UMMA_UMMA;
}

static bool mma_shapes_fit(checker *c, const weiri_op *op, const extent *a, const extent *b) {
    const weir_res *acc = op->res;
    if (a->rank != 2 || b->rank != 2) {
        at_op(c, op, "V-MMA-01", "%s:mma: a is %s and b is %s, both have two axes", acc->name, shape_text(c, a),
              shape_text(c, b));
        return false;
    }
    if (a->shape[1] != b->shape[1]) {
        weir_finding *f = at_op(c, op, "V-MMA-01", "%s:mma: K of a %s is %d, K of b %s is %d", acc->name, shape_text(c, a),
                                a->shape[1], shape_text(c, b), b->shape[1]);
        f->hint = "a is { M, K } and b is { N, K }; s:read():t() transposes";
        const weir_res *base = weiri_view_base(c->k, op->arg[1]);
        if (base) weiri_second_place(f, &base->at, "b is declared here");
    }
    /* with v = 2 each CTA has its rows of a and of the sums, and half the rows of b */
    const int ctas = acc->kind == WEIR_RES_TMEM && c->k->arch >= WEIR_ARCH_SM_100A && c->k->cluster.v == 2 ? 2 : 1;
    if (a->shape[0] != acc->tile[0] || ctas * b->shape[0] != acc->tile[1]) {
        weir_finding *f = at_op(c, op, "V-MMA-01", "%s:mma: a %s times %sb %s is { %d, %d }, '%s' is { %d, %d }", acc->name,
                                shape_text(c, a), ctas > 1 ? "both CTAs' " : "", shape_text(c, b), a->shape[0],
                                ctas * b->shape[0], acc->name, acc->tile[0], acc->tile[1]);
        f->hint = ctas > 1 ? "with v = 2 a is { M, K } and b { N / 2, K }: half of b's rows, k.cta.v says which"
                           : "a is { M, K } and b is { N, K }; s:read():t() transposes";
        weiri_second_place(f, &acc->at, "declared here");
    }
    return true;
}

static bool mma_dtypes_fit(checker *c, const weiri_op *op, weir_dtype a, weir_dtype b) {
    const char *name = op->res->name;
    const bool eight = weir_dtype_size(a) == 1 && weir_dtype_size(b) == 1; /* e4m3 and e5m2 may meet */
    if (!is_operand_dtype(a) || !is_operand_dtype(b) || (a != b && !eight)) {
        at_op(c, op, "V-MMA-02", "%s:mma: a is %s, b is %s", name, weir_dtype_name(a), weir_dtype_name(b))->hint =
            "both bf16, f16 or tf32, or each e4m3 or e5m2";
        return false;
    }
    if (weiri_val(c->k, op->arg[0])->kind == WEIR_VALUE_TILE && weir_dtype_size(a) != 2)
        at_op(c, op, "V-MMA-02", "%s:mma: a is a register value of %s, 16 bits are possible", name, weir_dtype_name(a))->hint =
            "cast it to bf16 or f16";
    return true;
}

static void mma_fits(checker *c, const weiri_op *op) {
    weir_dtype ta = weiri_val(c->k, op->arg[0])->dtype, tb = weiri_val(c->k, op->arg[1])->dtype;
    if (is_product(c, op->arg[0])) ta = tb;
    else want_base(c, op, op->arg[0], true);
    if (c->k->arch < WEIR_ARCH_SM_100A && is_product(c, op->arg[1])) tb = ta; /* tensor memory gives a alone */
    else want_base(c, op, op->arg[1], true);
    const extent a = extent_of(c, op->arg[0]), b = extent_of(c, op->arg[1]);
    if (!mma_shapes_fit(c, op, &a, &b) || !mma_dtypes_fit(c, op, ta, tb)) return;
    const int step = 32 / weir_dtype_size(ta), depth = a.shape[1];
    if (depth % step == 0) return;
    weir_finding *f = at_op(c, op, "V-MMA-03", "%s:mma: K is %d, an instruction of %s takes %d", op->res->name, depth,
                            weir_dtype_name(ta), step);
    f->expected = weiri_arena_fmt(c->out->a, "a multiple of %d", step);
    f->got = weiri_arena_fmt(c->out->a, "%d", depth);
    f->hint = "take a longer piece of K a stage; what lies beyond the tensor loads as 0";
}

/* ---- by kind of work ---------------------------------------------------------------------------------------------------- */

void vd_check_atom(checker *c, const weiri_op *op) {
    extent to = extent_of_res(op->res);
    for (int i = 0; i < op->nargs; i++)
        if (!op->arg[i]) return;
    if (op->res->kind == WEIR_RES_GMEM &&
        (op->atom == ATOM_STORE || op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD))
        want_out(c, op);
    if (!op->nargs) return;
    switch (op->atom) {
    case ATOM_TMA_LOAD:
    case ATOM_CP_ASYNC:
        want_base(c, op, op->arg[0], false);
        copy_fits(c, op, op->arg[0], &to);
        break;
    case ATOM_TMA_STORE:
    case ATOM_TMA_REDUCE_ADD:
    case ATOM_PUSH:
        want_base(c, op, op->arg[0], true);
        if (op->nargs < 2 || place_of(c, op, op->arg[1], &to)) copy_fits(c, op, op->arg[0], &to);
        break;
    case ATOM_STORE:
        if (op->nargs < 2 || place_of(c, op, op->arg[1], &to)) value_fits(c, op, op->arg[0], &to);
        break;
    case ATOM_SET: value_fits(c, op, op->arg[0], &to); break;
    case ATOM_MMA: mma_fits(c, op); break;
    default: break;
    }
}
