/* Who of a task's threads has which elements of a stage. The emitter deals them out by the first half; the second half compares. */
#include "deal.h"

#include <string.h>

#include "lower.h"
#include "plan_tc.h"

/* ---- how elements are dealt out ------------------------------------------------------------------------------------------ */

static const weiri_preg *widest(const weiri_plan *p, int task, uint32_t id) {
    const weiri_value *v = weiri_val(p->k, id);
    if (!weiri_visit(p->k, id)) return NULL;
    if (v->op == WEIR_OP_READ_REG || v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL) {
        int i = weiri_preg_of(p, task, v->res);
        return i >= 0 ? &p->regs.v[i] : NULL;
    }
    const weiri_preg *best = NULL;
    for (int i = 0; i < v->nargs; i++) {
        const weiri_preg *g = widest(p, task, v->arg[i]);
        if (g && (!best || g->cols > best->cols)) best = g;
    }
    return best;
}

const weiri_preg *weiri_deal_tile(const weiri_plan *p, int task, uint32_t value) {
    weiri_visit_begin(p->k);
    return widest(p, task, value);
}

bool weiri_deal_matrix(const weiri_plan *p, int task, const weir_res *s) {
    const weir_dtype t = weiri_stage_dtype(p, s);
    weiri_tile_geom g;
    return (t == WEIR_BF16 || t == WEIR_F16) && weiri_geom(p, s, &g) && g.swizzle &&
           weiri_share_cols(&p->tasks[task], g.cols) / 8 % 2 == 0;
}

int weiri_deal_place(const weiri_plan *p, const weiri_op *op, int *cols) {
    const weir_res *dst = op->res;
    const uint32_t place = op->nargs > 1 ? op->arg[1] : 0;
    int shape[WEIR_MAX_RANK], rank = dst->rank, rows = 1;
    memcpy(shape, dst->tile, sizeof shape);
    if (place && weiri_val(p->k, place)->op != WEIR_OP_VIEW_TILE) rank = weiri_view_shape(p->k, place, shape);
    for (int d = 0; d + 1 < rank; d++) rows *= shape[d];
    *cols = rank ? shape[rank - 1] : 1;
    return rows;
}

/* Of a tensor: `wide` tells at run time whether it lies so. */
static bool tensor_packs(const weiri_view *v, const weir_res *dst, int elems) {
    const weir_res *r = v->op == WEIR_OP_VIEW_TILE ? dst : v->res;
    if (r->kind != WEIR_RES_GMEM || v->t || v->nsub || v->row0 || v->col0 || v->limit ||
        (v->op != WEIR_OP_VIEW_AT && v->op != WEIR_OP_VIEW_TILE))
        return false;
    int cols = r->tile[r->rank - 1];
    return cols > 1 && cols % elems == 0 && cols * weir_dtype_size(r->tensor->dtype) % 16 == 0;
}

/* Of a stage in shared memory: a swizzle moves 16 bytes at a time. */
static bool stage_packs(const weiri_plan *p, const weiri_view *v, int elems) {
    weiri_tile_geom g;
    if (!v->res || weiri_region_of(p, v->res) < 0 || p->smem.v[weiri_region_of(p, v->res)].tmem || v->op != WEIR_OP_VIEW_READ ||
        v->t || v->nsub || v->row0 || v->col0 || v->nrows || v->ncols || v->limit || !weiri_geom(p, v->res, &g))
        return false;
    return g.cols % elems == 0 && g.row_bytes % 16 == 0 && (elems * g.elem <= 16 || !g.swizzle); /* powers of two, both */
}

bool weiri_deal_packs(const weiri_plan *p, uint32_t view, const weir_res *dst, int elems) {
    weiri_view v;
    weiri_view_of(p->k, view, &v);
    return tensor_packs(&v, dst, elems) || stage_packs(p, &v, elems);
}

/* Can packs be loaded of all views in the value? */
static bool all_pack(const weiri_plan *p, uint32_t id, const weir_res *dst, int elems) {
    const weiri_value *v = weiri_val(p->k, id);
    if (!weiri_visit(p->k, id)) return true;
    if (v->op == WEIR_OP_LOAD) return weiri_deal_packs(p, v->arg[0], dst, elems);
    for (int i = 0; i < v->nargs; i++)
        if (!all_pack(p, v->arg[i], dst, elems)) return false;
    return true;
}

int weiri_deal_piece(const weiri_plan *p, int task, const weiri_op *op) {
    const weir_res *dst = op->res;
    const bool gmem = dst->kind == WEIR_RES_GMEM;
    const int elems = 16 / weir_dtype_size(gmem ? dst->tensor->dtype : dst->dtype);
    int cols;
    weiri_view v;
    weiri_deal_place(p, op, &cols);
    if (p->tasks[task].solo || cols % elems) return 1;
    if (gmem) return weiri_view_of(p->k, op->arg[1], &v) && tensor_packs(&v, dst, elems) ? elems : 1; /* cover: assert it is a view */
    weiri_visit_begin(p->k);
    return all_pack(p, op->arg[0], dst, elems) ? elems : 1;
}

/* ---- as entries of the table --------------------------------------------------------------------------------------------- */

static int entry(weiri_plan *p, const weiri_deal *d) {
    if (!p->deals.n)
        for (int i = DEAL_OPEN; i <= DEAL_NONE; i++) { /* ORDER DEAL */
            weiri_deal first;
            memset(&first, 0, sizeof first);
            first.kind = (weiri_deal_kind)i;
            WEIRI_PUSH(&p->a, p->deals, first);
        }
    for (int i = 0; i < p->deals.n; i++)
        if (!memcmp(&p->deals.v[i], d, sizeof *d)) return i;
    WEIRI_PUSH(&p->a, p->deals, *d);
    return p->deals.n - 1;
}

static weiri_deal deal_of(const weiri_plan *p, int task, weiri_deal_kind kind) {
    const weiri_ptask *t = &p->tasks[task];
    weiri_deal d;
    memset(&d, 0, sizeof d); /* entries are compared byte by byte */
    d.kind = kind;
    if (kind <= DEAL_NONE) return d;
    d.each = t->lanes > 0;
    d.threads = t->solo ? 1 : t->lanes ? 32 : 32 * t->task->num_warps;
    return d;
}

/* Of a tile of so many columns that lies as r does; NULL: it lies otherwise. */
static weiri_deal fragments(const weiri_plan *p, int task, weiri_deal_kind kind, const weiri_preg *r, int cols) {
    const weiri_ptask *t = &p->tasks[task];
    weiri_deal d = deal_of(p, task, r ? kind : DEAL_ALL);
    if (!r) return d;
    d.wgs = t->warpgroups > 1 ? t->warpgroups : 1;
    d.rows = d.wgs > 1 && !t->by_cols ? r->rows : 0;
    d.width = t->by_cols ? weiri_frag_cols(t, cols) : 0;
    return d;
}

static void tensor_leaf(void *any, uint32_t view) {
    (void)view;
    *(bool *)any = true;
}

/* How the op walks the elements of what it stores to or sets. */
static weiri_deal walk_of(const weiri_plan *p, int task, const weiri_op *op) {
    const weir_kernel *k = p->k;
    weiri_deal d = deal_of(p, task, DEAL_OPEN);
    bool tensor = false;
    switch (op->atom) {
    case ATOM_STORE: {
        const weiri_value *v = weiri_val(k, op->arg[0]);
        if (weiri_tc(k)) weiri_tc_leaves(k, op->arg[0], tensor_leaf, &tensor);
        if (tensor) {
            d = deal_of(p, task, DEAL_TENSOR);
            d.rows = v->rows;
            return d; /* of one warpgroup (plan_tc.c) */
        }
        if (weiri_value_in_regs(k, op->arg[0]))
            return fragments(p, task, DEAL_FRAGMENT, v->rows > 1 && v->cols >= 8 ? weiri_deal_tile(p, task, op->arg[0]) : NULL,
                             v->cols);
        d = deal_of(p, task, DEAL_ORDER);
        d.piece = weiri_deal_piece(p, task, op);
        weiri_deal_place(p, op, &d.cols);
        return d;
    }
    case ATOM_SET: {
        int r = weiri_preg_of(p, task, op->res);
        return fragments(p, task, DEAL_FRAGMENT, r >= 0 && op->res->tile[1] >= 8 ? &p->regs.v[r] : NULL, op->res->tile[1]);
    }
    case ATOM_CP_ASYNC: {
        weiri_tile_geom g;
        if (!weiri_geom(p, op->res, &g)) return d;
        d = deal_of(p, task, DEAL_ORDER);
        d.piece = 16 / g.elem;
        d.cols = g.cols;
        return d;
    }
    case ATOM_LOAD: return deal_of(p, task, weiri_val(k, op->ret[0])->kind == WEIR_VALUE_TILE ? DEAL_NONE : DEAL_ALL);
    default: return d;
    }
}

/* Do columns of a value come from others than those that they are? Not by whole groups of 8, in registers. */
static bool moves_columns(const weir_kernel *k, uint32_t id, bool held) {
    const weiri_value *v = weiri_val(k, id);
    if (!weiri_visit(k, id)) return false;
    if (v->op == WEIR_OP_TILE_COLS && !(held && v->i % 8 == 0 && v->cols >= 8)) return true;
    for (int i = 0; i < v->nargs; i++)
        if (moves_columns(k, v->arg[i], held)) return true;
    return false;
}

weiri_deal weiri_deal_walk(const weiri_plan *p, int task, const weiri_op *op) {
    weiri_deal d = walk_of(p, task, op);
    weiri_visit_begin(p->k);
    for (int i = 0; d.kind > DEAL_NONE && i < op->nargs; i++)
        if (moves_columns(p->k, op->arg[i], d.kind == DEAL_FRAGMENT)) d.kind = DEAL_ALL;
    return d;
}

/* The part of a stage that the view names. */
static void place(const weiri_plan *p, weiri_deal *d, const weiri_view *v) {
    d->slab_row = v->row0;
    d->nrows = v->nrows;
    d->ncols = v->ncols;
    d->row = v->row0;
    d->col = v->col0;
    for (int i = 0; i < v->nsub; i++) {
        int64_t x;
        int step = 1;
        for (int a = v->axis + i + 1; a + 1 < v->res->rank; a++) step *= v->res->tile[a];
        if (v->axis + i + 1 >= v->res->rank) { /* one element: whoever walks, each reads it */
            d->kind = DEAL_ALL;
            return;
        }
        d->slab = step;
        if (weiri_value_const(p->k, v->sub[i], &x)) d->row += (int)x * step;
        else d->step = step; /* slabs of slabs: the last are the smallest */
    }
}

int weiri_deal_write(weiri_plan *p, int task, const weiri_op *op) {
    weiri_deal d = walk_of(p, task, op);
    weiri_view v;
    d.region = weiri_region_of(p, op->res);
    if (d.kind == DEAL_FRAGMENT && weiri_deal_matrix(p, task, op->res)) d.kind = DEAL_MATRIX;
    if (op->atom == ATOM_STORE && op->nargs > 1 && weiri_view_of(p->k, op->arg[1], &v) && v.res == op->res) place(p, &d, &v);
    return entry(p, &d);
}

int weiri_deal_read(weiri_plan *p, const weiri_deal *walk, uint32_t view) {
    weiri_deal d = *walk;
    weiri_view v;
    const weiri_value *x = weiri_val(p->k, view);
    weiri_view_of(p->k, view, &v);
    const int region = weiri_region_of(p, v.res);
    if (p->smem.v[region].tmem) return 0; /* a warp's lanes have theirs */
    if (d.kind <= DEAL_NONE) return entry(p, &d);
    d.region = region;
    if (v.t || x->rows == 1 || x->cols == 1) d.kind = DEAL_ALL;
    else if (d.kind != DEAL_ALL) place(p, &d, &v);
    return entry(p, &d);
}

int weiri_deal_spill(weiri_plan *p, int task, const weir_res *s) {
    int r = weiri_preg_of(p, task, s);
    weiri_deal d =
        fragments(p, task, weiri_deal_matrix(p, task, s) ? DEAL_MATRIX : DEAL_FRAGMENT, r >= 0 ? &p->regs.v[r] : NULL, s->tile[1]);
    d.region = weiri_region_of(p, s);
    return entry(p, &d);
}

/* ---- what two have in common --------------------------------------------------------------------------------------------- */

/* Elements of the two at one address have one row and column, stage by stage. */
static bool lie_alike(const weiri_plan *p, int x, int y) {
    const weiri_region *r = &p->smem.v[x], *q = &p->smem.v[y];
    weiri_tile_geom a, b;
    if (x == y) return true;
    if (r->offset != q->offset || r->stage_bytes != q->stage_bytes) return false;
    weiri_geom(p, r->res, &a);
    weiri_geom(p, q->res, &b);
    return a.rows == b.rows && a.cols == b.cols && a.elem == b.elem && a.swizzle == b.swizzle;
}

static bool ranges_apart(int x, int nx, int y, int ny) { return x + nx <= y || y + ny <= x; }

/* Parts with no element in common: rows apart, for what is written has all columns. */
static bool apart(const weiri_plan *p, const weiri_deal *x, const weiri_deal *y) {
    weiri_tile_geom g;
    weiri_geom(p, p->smem.v[x->region].res, &g);
    const int rows = x->slab ? x->slab : g.rows, nx = x->nrows ? x->nrows : rows,
              ny = y->nrows  ? y->nrows
                   : y->slab ? y->slab
                             : g.rows;
    if (x->slab == y->slab && ranges_apart(x->slab_row, nx, y->slab_row, ny)) return true;
    return !x->step && !y->step && ranges_apart(x->row, nx, y->row, ny);
}

/* Two parts that are the same, or have no element in common: they begin so many rows into one of the slabs of a stage. */
static bool one_grid(const weiri_deal *x, const weiri_deal *y) {
    return x->slab == y->slab && x->slab_row == y->slab_row && x->nrows == y->nrows && x->col == y->col && x->ncols == y->ncols;
}

int weiri_deal_in_place(weiri_plan *p, int read, int write) {
    if (read <= DEAL_NONE) return read;
    weiri_deal d = p->deals.v[read];
    const weiri_deal *w = &p->deals.v[write];
    if (!lie_alike(p, d.region, w->region) || one_grid(&d, w) || apart(p, &d, w)) return read;
    d.kind = DEAL_ALL;
    return entry(p, &d);
}

/* Is the row that a piece of it begins in one thread's, whichever it begins at? */
static bool orders_agree(const weiri_deal *x, const weiri_deal *y) {
    const int64_t pieces = x->cols / x->piece, n = x->threads; /* of a row */
    if (x->piece != y->piece || x->cols != y->cols) return false;
    if (one_grid(x, y)) return true; /* else of all columns, for what is written has those */
    if (x->step * pieces % n || y->step * pieces % n) return false;
    return x->row * pieces % n == y->row * pieces % n;
}

static bool fragments_agree(const weiri_deal *x, const weiri_deal *y) {
    if (x->rows != y->rows || x->width != y->width) return false;
    if (one_grid(x, y)) return true;
    if (x->rows && (x->step || y->step || x->row != y->row)) return false; /* a warpgroup's rows */
    if (x->width ? x->col != y->col : x->col % 8 != y->col % 8) return false;
    return x->step % 64 == 0 && y->step % 64 == 0 && x->row % 64 == y->row % 64;
}

weiri_owners weiri_deal_owners(const weiri_plan *p, int i, int j, int actors) {
    if (!i || !j) return OWNERS_OPEN;
    const weiri_deal *x = &p->deals.v[i], *y = &p->deals.v[j];
    if (x->kind == DEAL_NONE || y->kind == DEAL_NONE) return OWNERS_SAME;
    if (actors > 1 && (x->each || y->each)) return OWNERS_OTHER;
    if (x->threads == 1 && y->threads == 1) return OWNERS_SAME;
    if (!lie_alike(p, x->region, y->region)) return OWNERS_OTHER;
    if (x->kind < DEAL_TENSOR && y->kind < DEAL_TENSOR && apart(p, x, y)) return OWNERS_SAME;
    if (x->kind != y->kind) return OWNERS_OTHER;
    switch (x->kind) {
    case DEAL_ORDER: return orders_agree(x, y) ? OWNERS_SAME : OWNERS_OTHER;
    case DEAL_FRAGMENT:
    case DEAL_MATRIX: return fragments_agree(x, y) ? OWNERS_SAME : OWNERS_OTHER;
    case DEAL_TENSOR: return x->rows == y->rows && one_grid(x, y) ? OWNERS_SAME : OWNERS_OTHER;
    default: return OWNERS_OTHER;
    }
}

/* Has each warpgroup in the bulk store of that view the elements that it has in the other access? */
static bool stores_own(const weiri_plan *p, int task, int deal, const weiri_view *stored) {
    const weiri_ptask *t = &p->tasks[task];
    weiri_tile_geom g;
    weiri_deal part;
    if (!deal || !weiri_geom(p, stored->res, &g)) return false;
    const weiri_deal *x = &p->deals.v[deal];
    if (x->kind == DEAL_NONE) return true;
    if ((x->kind != DEAL_FRAGMENT && x->kind != DEAL_MATRIX) || x->wgs != t->warpgroups) return false;
    memset(&part, 0, sizeof part);
    part.kind = x->kind;
    place(p, &part, stored);
    if (part.kind != x->kind) return false;
    const int rows = part.nrows ? part.nrows : part.slab ? part.slab : g.rows, cols = part.ncols ? part.ncols : g.cols;
    if (t->by_cols) return x->width == cols / t->warpgroups && x->col == part.col;
    return x->rows == rows / t->warpgroups && (one_grid(x, &part) || (!x->step && !part.step && x->row == part.row));
}

/* ---- shares of warpgroups ------------------------------------------------------------------------------------------------ */

typedef struct shares {
    weiri_plan *p;
    int task;
    const weir_res *res;
    WEIRI_LIST(int) deals;
    WEIRI_LIST(uint32_t) views; /* read by threads, then stored by bulk copies */
} shares;

/* Views of the stage in a value that is used. */
static void find_views(shares *s, uint32_t id) {
    const weiri_value *v = weiri_val(s->p->k, id);
    weiri_view view;
    if (!weiri_visit(s->p->k, id)) return;
    if (v->kind == WEIR_VALUE_VIEW && weiri_view_of(s->p->k, id, &view) && view.res == s->res)
        WEIRI_PUSH(&s->p->a, s->views, id);
    for (int i = 0; i < v->nargs && v->kind != WEIR_VALUE_VIEW; i++) find_views(s, v->arg[i]);
}

/* What threads access of the stage in the op. */
static void note_accesses(shares *s, const weiri_op *op) {
    weiri_plan *p = s->p;
    const bool body = op->atom == ATOM_CUSTOM;
    if (op->res == s->res && op->atom == ATOM_STORE) WEIRI_PUSH(&p->a, s->deals, weiri_deal_write(p, s->task, op));
    if (op->res == s->res && body) WEIRI_PUSH(&p->a, s->deals, 0);
    const weiri_deal walk = weiri_deal_walk(p, s->task, op);
    s->views.n = 0;
    weiri_visit_begin(p->k);
    for (int i = 0; i < op->nargs; i++)
        find_views(s, op->arg[i]);
    for (int i = 0; i < s->views.n; i++) WEIRI_PUSH(&p->a, s->deals, body ? 0 : weiri_deal_read(p, &walk, s->views.v[i]));
}

static bool bulk_store(const weiri_op *op) { return op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD; }

/* Does each warpgroup of the task fill what it stores? */
static bool owns(weiri_plan *p, int task, const weir_res *r) {
    const weiri_node *root = p->tasks[task].task->root;
    shares s = { .p = p, .task = task, .res = r };
    weiri_view v;
    for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n))
        if (n->kind == NODE_OP && !bulk_store(n->op) && n->op->atom != ATOM_READ) note_accesses(&s, n->op);
    for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n)) {
        if (n->kind != NODE_OP || !bulk_store(n->op) || !weiri_view_of(p->k, n->op->arg[0], &v) || v.res != r) continue;
        for (int i = 0; i < s.deals.n; i++)
            if (!stores_own(p, task, s.deals.v[i], &v)) return false;
    }
    return true;
}

void weiri_deal_find_own(weiri_plan *p) {
    for (int i = 0; i < p->pipes.n; i++) {
        weiri_ppipe *x = &p->pipes.v[i];
        if (x->type != WEIR_ASYNC_TMA || x->full >= 0) continue;
        x->own = true;
        for (int t = 0; t < p->ntasks && x->region >= 0; t++)
            if (p->tasks[t].warpgroups > 1) x->own = x->own && owns(p, t, x->res);
    }
}

/* ---- meetings ------------------------------------------------------------------------------------------------------------ */

/* A part of a stage that threads of the task access alike. */
typedef struct access {
    int region;
    int64_t lo, hi;
    int deal;
    bool write, named_twice; /* the task accesses the bytes by another name as well: the moves of one say nothing of the other */
} access;
typedef struct meeter {
    weiri_plan *p;
    int task;
    WEIRI_LIST(access) all;
} meeter;

static int number_of(meeter *m, const weiri_effect *e) {
    const weiri_region *g = &m->p->smem.v[e->region];
    access x = { e->region, e->lo, e->hi > 0 ? e->hi : g->stage_bytes, e->deal, e->write, false };
    for (int i = 0; i < m->all.n; i++) {
        const access *y = &m->all.v[i];
        if (y->region == x.region && y->lo == x.lo && y->hi == x.hi && y->deal == x.deal && y->write == x.write) return i;
    }
    WEIRI_PUSH(&m->p->a, m->all, x);
    return m->all.n - 1;
}

/* Do threads access shared memory there, and does no body of theirs see to it that they meet? */
static bool dealt(const weiri_plan *p, const weiri_action *a, const weiri_effect *e) {
    if (e->region < 0 || p->smem.v[e->region].tmem || e->deal == DEAL_NONE) return false;
    if (e->deal) return true;
    if (a->kind != ACT_BODY || a->bar >= 0 || !a->op || a->op->atom != ATOM_CUSTOM || (e->async && weiri_tc(p->k)))
        return false;
    return !weiri_joins_itself(a);
}

static void number_all(meeter *m, const weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) number_all(m, n->first);
        for (int i = 0; n->kind == PN_ACTION && i < n->act->neff; i++)
            if (dealt(m->p, n->act, &n->act->eff[i])) number_of(m, &n->act->eff[i]);
    }
}

/* In one stage; where storage lies on other storage, in any two. */
static bool bytes_meet(const weiri_plan *p, const access *x, const access *y) {
    const weiri_region *a = &p->smem.v[x->region], *b = &p->smem.v[y->region];
    if (x->region == y->region) return x->lo < y->hi && y->lo < x->hi;
    return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static bool others(const meeter *m, const access *x, const access *y) {
    const weiri_ptask *t = &m->p->tasks[m->task];
    if (!x->write && !y->write) return false;
    if (!bytes_meet(m->p, x, y)) return false;
    weiri_owners who = weiri_deal_owners(m->p, x->deal, y->deal, 1);
    if (who != OWNERS_OTHER && t->actors > 1 && !t->lanes) who = weiri_deal_owners(m->p, x->deal, y->deal, 2);
    return who == OWNERS_OTHER || (who == OWNERS_OPEN && !(x->write && y->write));
}

/* Do all threads of the task (with lanes: of each warp) meet there? */
static bool all_meet(const meeter *m, const weiri_action *a) {
    const weiri_ptask *t = &m->p->tasks[m->task];
    switch (a->kind) {
    case ACT_WARP_SYNC: return t->lanes || t->task->num_warps == 1;
    case ACT_NAMED_SYNC: return a->threads == 32 * t->task->num_warps;
    case ACT_CTA_SYNC:
    case ACT_CLUSTER_WAIT: return true;
    default: return false;
    }
}

/* Another use of the stages begins, or this one ends: the moves' own affair. */
static void forget_moved(const meeter *m, const weir_res *moved, uint8_t *s) {
    for (int i = 0; i < m->all.n; i++) {
        const weir_res *r = m->p->smem.v[m->all.v[i].region].res;
        if ((r == moved || r->group == moved) && !m->all.v[i].named_twice) s[i] = 0;
    }
}

static weiri_pnode *meeting(meeter *m, weiri_pnode *next) {
    const weiri_ptask *t = &m->p->tasks[m->task];
    const bool warp = t->lanes || t->task->num_warps == 1;
    weiri_action *a = WEIRI_NEW(&m->p->a, weiri_action);
    weiri_pnode *n = WEIRI_NEW(&m->p->a, weiri_pnode);
    a->kind = warp ? ACT_WARP_SYNC : ACT_NAMED_SYNC;
    a->bar = a->cur = a->copy = a->reg = a->pipe = -1;
    a->op = next->act->op;
    a->note = "its bytes are other threads' than before";
    if (!warp) a->named = weiri_task_barrier(m->p, m->task), a->threads = 32 * t->task->num_warps;
    n->kind = PN_ACTION;
    n->act = a;
    n->parent = next->parent;
    n->next = next;
    return n;
}

/* s: by access, whether it may have been made since the threads met. */
static void walk(meeter *m, weiri_pnode **at, uint8_t *s) {
    const size_t size = (size_t)m->all.n;
    for (; *at; at = &(*at)->next) {
        weiri_pnode *n = *at;
        if (n->kind != PN_ACTION) {
            uint8_t *in = WEIRI_NEW_N(&m->p->a, uint8_t, m->all.n), *out = WEIRI_NEW_N(&m->p->a, uint8_t, m->all.n);
            const bool again = n->kind == PN_LOOP || n->kind == PN_TILES || (n->kind == PN_HELD && !n->once);
            memcpy(in, s, size);
            for (bool grew = true; grew;) {
                memcpy(out, in, size);
                walk(m, &n->first, out);
                grew = false;
                for (size_t i = 0; again && i < size; i++)
                    if (out[i] && !in[i]) in[i] = 1, grew = true;
            }
            for (size_t i = 0; i < size; i++) s[i] |= in[i] | out[i];
            continue;
        }
        const weiri_action *a = n->act;
        if (all_meet(m, a)) memset(s, 0, size);
        if (a->kind == ACT_ADVANCE) forget_moved(m, m->p->cursors.v[a->cur].res, s);
        bool apart = false;
        for (int e = 0; e < a->neff; e++) {
            if (!dealt(m->p, a, &a->eff[e])) continue;
            const access *x = &m->all.v[number_of(m, &a->eff[e])];
            for (int i = 0; i < m->all.n && !apart; i++) apart = s[i] && others(m, &m->all.v[i], x);
        }
        if (apart) {
            *at = meeting(m, n);
            at = &(*at)->next;
            memset(s, 0, size);
        }
        for (int e = 0; e < a->neff; e++)
            if (dealt(m->p, a, &a->eff[e])) s[number_of(m, &a->eff[e])] = 1;
    }
}

void weiri_deal_join(weiri_plan *p, int task, weiri_pnode *root) {
    meeter m = { .p = p, .task = task };
    if (p->tasks[task].solo) return;
    number_all(&m, root->first);
    if (m.all.n < 2) return;
    for (int i = 0; i < m.all.n; i++)
        for (int j = 0; j < m.all.n; j++) {
            access *x = &m.all.v[i], *y = &m.all.v[j];
            x->named_twice = x->named_twice || (x->region != y->region && bytes_meet(p, x, y));
        }
    walk(&m, &root->first, WEIRI_NEW_N(&p->a, uint8_t, m.all.n));
}
