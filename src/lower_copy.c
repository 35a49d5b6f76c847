/* Bulk tensor copies: the boxes a tile is moved in, and where in its tensor a box may begin. */
#include "lowering.h"

#include <inttypes.h>
#include <string.h>

static int tmap_for(lowering *l, const weir_tensor *t, const uint32_t *box, int swizzle, bool store) {
    weiri_plan *p = l->p;
    int same = 0;
    for (int i = 0; i < p->tmaps.n; i++) {
        weiri_tmap_use *u = &p->tmaps.v[i];
        if (u->tensor != t->index) continue;
        same++;
        bool eq = u->swizzle == swizzle;
        for (int d = 0; d < t->rank; d++) eq = eq && u->box[d] == box[d];
        if (eq) {
            u->store = u->store || store;
            return i;
        }
    }
    weiri_tmap_use u = { .tensor = t->index, .rank = t->rank, .swizzle = swizzle, .l2_promotion = 256, .store = store };
    for (int d = 0; d < t->rank; d++) u.box[d] = box[d];
    u.name = same ? weiri_arena_fmt(&p->a, "%s_map%d", t->name, same + 1) : weiri_arena_fmt(&p->a, "%s_map", t->name);
    WEIRI_PUSH(&p->a, p->tmaps, u);
    return p->tmaps.n - 1;
}

static const char *tile_text(weiri_plan *p, const int *tile, int rank) {
    const char *s = weiri_arena_fmt(&p->a, "{ %d", tile[0]);
    for (int i = 1; i < rank; i++) s = weiri_arena_fmt(&p->a, "%s, %d", s, tile[i]);
    return weiri_arena_fmt(&p->a, "%s }", s);
}

/* The tile that a place names, outermost first: the resource's, or slabs, rows and columns of it. */
bool lw_part_of_tile(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g, int tile[WEIR_MAX_RANK]) {
    memcpy(tile, g->tile, sizeof *tile * WEIR_MAX_RANK);
    if (v->t || v->limit || (v->nsub && v->axis + v->nsub >= g->rank) || (v->nrows && g->rank - 1 - v->nsub - v->axis < 1)) {
        lw_complain(l, "PLAN-UNSUPPORTED", op, "name a part as rows(first, n), cols(first, n) or sub(i)",
                    "works on a part of a tile that no box can be (t, limit, or a single element)");
        return false;
    }
    for (int i = 0; i < v->nsub; i++) tile[v->axis + i] = 1;
    if (v->nrows) tile[g->rank - 2] = v->nrows;
    if (v->ncols) tile[g->rank - 1] = v->ncols;
    if ((int64_t)v->col0 * weir_dtype_size(g->tensor->dtype) % 16) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-ALIGN", weiri_place_of(&op->at),
                                     "a box of '%s' begins at column %d of its tile, off 16 bytes", g->name, v->col0);
        f->expected = weiri_arena_fmt(&l->p->a, "a multiple of %d elements of %s", 16 / weir_dtype_size(g->tensor->dtype),
                                      weir_dtype_name(g->tensor->dtype));
        f->objects[0] = g->name;
        return false;
    }
    return true;
}

/* A box begins at a multiple of 128 bytes in shared memory (PTX ISA, cp.async.bulk.tensor), wherever that is in the pattern of a
 * swizzle, which goes by the address. So boxes may part after so many pieces of `bytes` each. */
static int box_unit(int64_t bytes) {
    int unit = 1;
    while (unit * bytes % 128) unit *= 2;
    return unit;
}

/* Equal boxes of at most 256 pieces of `bytes` each that `all` of them are moved in; 0: none begin where boxes can. */
static int equal_boxes(uint32_t all, int64_t bytes) {
    const uint32_t unit = (uint32_t)box_unit(bytes);
    for (uint32_t n = (all + 255) / 256; n <= all / unit; n++)
        if (all % n == 0 && all / n % unit == 0) return (int)n;
    return 0;
}

static int uncut(lowering *l, const weiri_op *op, const weir_res *g, const char *what, uint32_t all, int64_t bytes) {
    weiri_plan *p = l->p;
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-BOX", weiri_place_of(&op->at),
                   "the tile of '%s' has %u %s of %" PRId64 " bytes, too many for one box", g->name, all, what, bytes);
    f->expected = weiri_arena_fmt(&p->a, "at most 256, or a multiple of %d: boxes begin at multiples of 128 bytes in the stage",
                                  box_unit(bytes));
    f->got = weiri_arena_fmt(&p->a, "%u", all);
    f->hint = "take a tile of fewer, or of a multiple";
    return -1;
}

/* The part of a stage that a copy takes: geo becomes its geometry, panels still as far apart as the stage's. Bytes in front of
 * it, but for slabs: -1, with a finding, where no box can begin. */
static int64_t part_of_stage(lowering *l, const weiri_op *op, const weiri_view *v, weiri_tile_geom *geo) {
    const weir_res *s = v->res;
    int rows = geo->rows;
    if (!v->nsub && !v->nrows && !v->ncols && !v->t && !v->limit) return 0;
    for (int i = 0; i < v->nsub && v->axis + i + 1 < s->rank; i++) rows /= s->tile[v->axis + i];
    const int unit = geo->swizzle ? 8 : box_unit(geo->row_bytes); /* rows at which a box may begin */
    const int cols = v->ncols ? v->ncols : geo->cols;
    const char *why = NULL;
    if (v->t || v->limit || (v->nsub && v->axis + v->nsub >= s->rank)) why = "is transposed, limited, or a single element";
    else if (v->row0 % unit || (v->nsub && rows % unit))
        why = geo->swizzle ? "begins inside an atom of the swizzle, which is 8 rows" : "begins off 128 bytes";
    else if (cols != geo->cols && (v->col0 % geo->panel_cols || cols % geo->panel_cols))
        why = "takes columns that are no whole swizzle spans";
    else if (l->pt->wg_actor && l->pt->warpgroups > 1)
        why = "is taken by several warpgroups, each of which stores its share of the whole";
    if (why) {
        lw_complain(l, "PLAN-TILE", op, "store a whole stage, or slabs, rows and columns of it that begin where a box can",
                    weiri_arena_fmt(&l->p->a, "stores a part of '%s' that %s", s->name, why));
        return -1;
    }
    int64_t base = v->col0 / geo->panel_cols * geo->panel_bytes + v->row0 * geo->row_bytes;
    geo->rows = v->nrows ? v->nrows : rows;
    geo->panels = geo->panels * cols / geo->cols;
    geo->cols = cols;
    return base;
}

/* The boxes that move a tile of the tensor of `g` to or from a stage of `s`; from: the view of the stage that is stored. -1 with
 * a finding when they cannot. */
int lw_copy(lowering *l, const weiri_op *op, const weir_res *g, const int *tile, const weir_res *s, const weiri_view *from,
            int served) {
    weiri_plan *p = l->p;
    const bool store = from != NULL;
    weiri_tile_geom geo;
    if (!weiri_geom(p, s, &geo)) return -1; /* place_smem has said so */
    weiri_copy c = { .slice_axis = -1, .wg_axis = -1, .row_bytes = geo.row_bytes };
    if (store && (c.base = part_of_stage(l, op, from, &geo)) < 0) return -1;
    int64_t elems = 1;
    for (int i = 0; i < g->rank; i++) elems *= c.tile[g->rank - 1 - i] = tile[i];
    int cols = tile[g->rank - 1];
    if (elems != (int64_t)geo.rows * geo.cols || (cols != geo.cols)) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-TILE", weiri_place_of(&op->at), "copies tiles %s of '%s' %s stages %s of '%s'",
                       tile_text(p, tile, g->rank), g->name, store ? "from" : "into", tile_text(p, s->tile, s->rank), s->name);
        f->hint = "give both the same tile; leading 1s may be left out in shared memory";
        return -1;
    }
    weir_dtype stage = weiri_stage_dtype(p, s), tensor = g->tensor->dtype;
    bool same_bits = (stage == WEIR_TF32 && tensor == WEIR_F32) || (stage == WEIR_F32 && tensor == WEIR_TF32);
    if (tensor != stage && !same_bits) {
        weir_finding *f =
            weiri_find(&p->findings, "PLAN-DTYPE", weiri_place_of(&op->at), "copies '%s' of %s %s '%s' of %s", g->name,
                       weir_dtype_name(g->tensor->dtype), store ? "from" : "into", s->name, weir_dtype_name(s->dtype));
        f->hint = "a bulk copy converts nothing: give both one dtype";
        return -1;
    }
    uint32_t box[5] = { 1, 1, 1, 1, 1 };
    box[0] = (uint32_t)geo.panel_cols;
    for (int d = 1; d < g->rank; d++) box[d] = (uint32_t)c.tile[d];
    int rows_axis = -1; /* the innermost dimension above the columns that is longer than 1 */
    int outer = -1;     /* the outermost such: what slices cut */
    for (int d = 1; d < g->rank; d++)
        if (box[d] > 1) {
            if (rows_axis < 0) rows_axis = d;
            outer = d;
        }
    int rows = geo.rows;
    const int sharing = store && l->pt->wg_actor ? l->pt->warpgroups : 1,
              panels = l->pt->by_cols ? geo.panels / sharing : geo.panels;
    if (sharing > 1 && l->pt->by_cols) { /* whole panels, for a box lies densely in shared memory */
        if (geo.panels % sharing) {
            lw_complain(
                l, "PLAN-TILE", op,
                weiri_arena_fmt(&p->a, "the columns must be a multiple of %d: one swizzle span, %d bytes, for each warpgroup",
                                (geo.swizzle ? geo.swizzle : 128) / geo.elem * sharing, geo.swizzle ? geo.swizzle : 128),
                "stores a stage whose columns do not divide among the task's warpgroups");
            return -1;
        }
        c.wg_axis = 0;
        c.wg_elems = panels * geo.panel_cols;
        c.wg_bytes = panels * geo.panel_bytes;
    } else if (sharing > 1) {
        if (outer < 0 || outer != rows_axis || rows % (64 * l->pt->warpgroups)) {
            lw_complain(l, "PLAN-TILE", op, "the rows of the stage must be 64 times the number of warpgroups",
                        "stores a stage that does not divide among the task's warpgroups");
            return -1;
        }
        rows /= l->pt->warpgroups;
        box[outer] = (uint32_t)rows;
        c.wg_axis = outer;
        c.wg_elems = rows;
        c.wg_bytes = rows * geo.row_bytes;
    }
    if (served > 1) {
        int step = outer < 0 ? 1 : box_unit(rows / (int)box[outer] * geo.row_bytes);
        if (outer < 0 || box[outer] % (uint32_t)(served * step)) {
            weir_finding *f =
                weiri_find(&p->findings, "PLAN-MULTICAST", weiri_place_of(&op->at),
                           "cuts tiles %s of '%s' into %d slices, one a CTA", tile_text(p, tile, g->rank), g->name, served);
            f->hint = weiri_arena_fmt(
                &p->a, "the outermost axis must be a multiple of %d; or issue = \"first\": one CTA loads it whole",
                served * step);
            return -1;
        }
        box[outer] /= (uint32_t)served;
        rows /= served;
        c.slice_axis = outer;
        c.slice_elems = (int)box[outer];
        c.slice_bytes = rows * geo.row_bytes;
    }
    /* chunks of at most 256 elements along the rows, and along the columns when there is but one row */
    int chunks = 1, colchunks = 1;
    if (rows_axis > 0 && box[rows_axis] > 256) {
        chunks = equal_boxes(box[rows_axis], geo.row_bytes);
        if (!chunks) return uncut(l, op, g, "rows", box[rows_axis], geo.row_bytes);
        if (outer != rows_axis) {
            lw_complain(l, "PLAN-BOX", op, "make the tile smaller along that axis",
                        "has a tile whose box would be longer than 256 elements");
            return -1;
        }
    }
    if (box[0] > 256) { /* a tile of one row: others have panels, or no layout */
        colchunks = equal_boxes(box[0], geo.elem);
        if (!colchunks) return uncut(l, op, g, "columns", box[0], geo.elem);
    }
    int chunk_rows = rows_axis > 0 ? (int)box[rows_axis] / chunks : 1;
    if (rows_axis > 0) box[rows_axis] = (uint32_t)chunk_rows;
    box[0] /= (uint32_t)colchunks;
    if ((int64_t)box[0] * geo.elem % 16) {
        weir_finding *f = weiri_find(&p->findings, "PLAN-BOX", weiri_place_of(&op->at),
                                     "inner box of '%s' is %u elements of %d bytes", g->name, box[0], geo.elem);
        f->expected = "a multiple of 16 bytes";
        f->got = weiri_arena_fmt(&p->a, "%u bytes", box[0] * (unsigned)geo.elem);
        f->hint = weiri_arena_fmt(&p->a, "make the last tile axis a multiple of %d", 16 / geo.elem);
        return -1;
    }
    c.nbox = panels * chunks * colchunks;
    c.box = WEIRI_NEW_N(&p->a, weiri_box, c.nbox);
    int n = 0;
    for (int pa = 0; pa < panels; pa++)
        for (int ch = 0; ch < chunks; ch++)
            for (int cc = 0; cc < colchunks; cc++) {
                weiri_box *b = &c.box[n++];
                b->c[0] = pa * geo.panel_cols + cc * (int)box[0];
                if (rows_axis > 0) b->c[rows_axis] = ch * chunk_rows;
                b->offset = c.base + pa * geo.panel_bytes + ch * chunk_rows * geo.row_bytes + (int64_t)cc * box[0] * geo.elem;
            }
    c.bytes = (int64_t)rows * geo.cols / geo.panels * panels * geo.elem;
    c.tmap = tmap_for(l, g->tensor, box, s->swizzle, store);
    WEIRI_PUSH(&p->a, p->copies, c);
    return p->copies.n - 1;
}

/* What is known of a whole number: it is `rest` more than a multiple of `unit`, a power of two (1: nothing), and at least `low`. */
typedef struct fact {
    bool found;
    int64_t unit, rest, low;
} fact;

enum { UNIT = 16 }; /* no elements are smaller than a byte */
#define LOWEST (-((int64_t)1 << 40))  /* nothing is known; no coordinate is that far out */

static int64_t twos(int64_t x) { return x ? x & -x : UNIT; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static fact fact_of(int64_t unit, int64_t rest, int64_t low) {
    unit = least(unit, UNIT);
    return (fact){ true, unit, (rest % unit + unit) % unit, most(least(low, -LOWEST), LOWEST) };
}

static fact known(lowering *l, uint32_t id);

static fact find_fact(lowering *l, const weiri_value *v) {
    const weir_kernel *k = l->k;
    fact a = { .unit = 1 }, b = a;
    int64_t c;
    const int n = v->nargs;
    if (n >= 2) a = known(l, v->arg[n - 2]), b = known(l, v->arg[n - 1]);
    const bool above = n >= 2 && a.low >= 0 && b.low >= 0;
    switch (v->op) {
    case WEIR_OP_INT: return fact_of(UNIT, v->i, v->i);
    case WEIR_OP_DIM: return fact_of(twos(v->multiple), 0, v->min);
    case WEIR_OP_INDEX: /* start, start + step, ... */
        a = known(l, v->loop->start);
        b = known(l, v->loop->step);
        c = b.low >= 0 ? a.low : weiri_value_const(k, v->loop->step, &c) ? known(l, v->loop->stop).low + 1 : LOWEST;
        return fact_of(least(a.unit, least(b.unit, twos(b.rest))), a.rest, c);
    case WEIR_OP_NEG:
        a = known(l, v->arg[0]);
        return fact_of(a.unit, -a.rest, LOWEST); /* -3 is a constant of its own */
    case WEIR_OP_ADD: return fact_of(least(a.unit, b.unit), a.rest + b.rest, a.low + b.low);
    case WEIR_OP_SUB:
        return fact_of(least(a.unit, b.unit), a.rest - b.rest, weiri_value_const(k, v->arg[1], &c) ? a.low - c : LOWEST);
    case WEIR_OP_MUL: /* (a.rest + i a.unit) (b.rest + j b.unit) */
        return fact_of(least(a.unit * b.unit, least(twos(a.rest) * b.unit, twos(b.rest) * a.unit)), a.rest * b.rest,
                       above ? 0 : LOWEST);
    case WEIR_OP_MIN:
    case WEIR_OP_MAX:
    case WEIR_OP_SELECT:
        return fact_of(least(least(a.unit, b.unit), twos(a.rest - b.rest)), a.rest,
                       v->op == WEIR_OP_MAX ? most(a.low, b.low) : least(a.low, b.low));
    case WEIR_OP_IDIV:
    case WEIR_OP_CEIL_DIV: return fact_of(1, 0, above ? 0 : LOWEST);
    case WEIR_OP_MOD: return fact_of(1, 0, b.low >= 0 ? 0 : LOWEST);
    case WEIR_OP_CAST: return fact_of(1, 0, known(l, v->arg[0]).low);
    default: return fact_of(1, 0, 0); /* places are counted from 0, and what data says is taken to be one */
    }
}

static fact known(lowering *l, uint32_t id) {
    if (!l->facts) l->facts = WEIRI_NEW_N(&l->p->a, fact, l->k->values.n + 1);
    if (!l->facts[id].found) {
        const fact f = find_fact(l, weiri_val(l->k, id));
        l->facts[id] = f;
    }
    return l->facts[id];
}

/* A box begins at a multiple of 16 bytes along its innermost axis; elsewhere the copy engine raises an illegal instruction (seen
 * on an H200; PTX ISA, "Tensor data movement", says it of addresses alone), and the context with every kernel in it is gone. */
void lw_check_start(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g) {
    const weiri_value *x = weiri_val(l->p->k, v->base);
    if (x->op != WEIR_OP_VIEW_FROM) return; /* g:at counts in tiles, whose rows are whole */
    uint32_t inner = x->arg[x->nargs - 1];
    int64_t unit = 16 / (int64_t)weir_dtype_size(g->tensor->dtype);
    fact r = known(l, inner);
    int64_t both = least(r.unit, unit);
    bool off = r.rest % both != 0;
    if (!off && both == unit) return;
    char text[96];
    weir_value_text(l->p->k, (weir_value){ inner }, text, sizeof text);
    weir_finding *f = weiri_find(&l->p->findings, off ? "PLAN-ALIGN" : "PLAN-ALIGN-OPEN", weiri_place_of(&op->at),
                                 "a box of '%s' begins at column %s, %s", g->name, text,
                                 off ? "off 16 bytes" : "of which it is not known that it is whole 16 bytes");
    f->expected =
        weiri_arena_fmt(&l->p->a, "a multiple of %" PRId64 " elements of %s", unit, weir_dtype_name(g->tensor->dtype));
    f->hint = off ? weiri_arena_fmt(&l->p->a,
                                    "begin at a multiple of %" PRId64
                                    " and skip what lies before in the body, or copy with cp_async or load()",
                                    unit)
                  : weiri_arena_fmt(&l->p->a,
                                    "write x // %" PRId64 " * %" PRId64 ", or give the dim multiple = %" PRId64
                                    "; at any other column the copy engine stops the kernel and the context is lost",
                                    unit, unit, unit);
    f->objects[0] = g->name;
}

/* A store begins in the tensor, or behind it: in front of it the copy engine raises an illegal instruction (seen on an H200), where a load
 * would bring zeros. */
void lw_check_front(lowering *l, const weiri_op *op, const weiri_view *v, const weir_res *g) {
    const weiri_value *x = weiri_val(l->k, v->base);
    for (int i = 0; i < x->nargs; i++) {
        int64_t c;
        if (known(l, x->arg[i]).low >= 0) continue;
        const bool sure = weiri_value_const(l->k, x->arg[i], &c);
        char text[96];
        weir_value_text(l->k, (weir_value){ x->arg[i] }, text, sizeof text);
        weir_finding *f = weiri_find(&l->p->findings, sure ? "PLAN-FRONT" : "PLAN-FRONT-OPEN", weiri_place_of(&op->at),
                                     "a store into '%s' begins at %s along axis %d of its tensor, %s", g->name, text,
                                     g->rank - x->nargs + i,
                                     sure ? "in front of it" : "of which it is not known that it is not in front of it");
        f->expected = "0 or more";
        f->hint = sure ? "begin at 0 with a tile of the rest, or let threads store, which drop what lies outside"
                       : "write weir.max(x, 0), behind a guard too; in front of a tensor the copy engine stops the kernel and the "
                         "context is lost";
        f->objects[0] = g->name;
        return;
    }
}
