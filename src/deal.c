/* Who of a task's threads has which elements of a stage. The emitter deals them out by the first half; the second half compares. */
#include "deal.h"

#include <string.h>

#include "lower.h"
#include "plan_tc.h"

/* ---- how elements are dealt out ------------------------------------------------------------------------------------------ */

bool weiri_deal_matrix(const weiri_plan *p, int task, const weir_res *s) {
    const weir_dtype t = weiri_stage_dtype(p, s);
    weiri_tile_geom g;
    weiri_geom(p, s, &g);
    return (t == WEIR_BF16 || t == WEIR_F16) && g.swizzle && weiri_share_cols(&p->tasks[task], g.cols) / 8 % 2 == 0;
}

int weiri_deal_place(const weiri_plan *p, const weiri_op *op, int *cols) {
    const weir_res *dst = op->res;
    const uint32_t place = op->nargs > 1 ? op->arg[1] : 0;
    int shape[WEIR_MAX_RANK], rank = dst->rank, rows = 1;
    memcpy(shape, dst->tile, sizeof shape);
    if (place && weiri_val(p->k, place)->op != WEIR_OP_VIEW_TILE) rank = weiri_view_shape(p->k, place, shape);
    for (int d = 0; d + 1 < rank; d++) rows *= shape[d];
    *cols = shape[rank - 1];
    return rows;
}

/* Of a tensor: `wide` tells at run time whether it lies so. */
static bool tensor_packs(const weiri_view *v, const weir_res *dst, int elems) {
    const weir_res *r = v->op == WEIR_OP_VIEW_TILE ? dst : v->res;
    if (r->kind != WEIR_RES_GMEM || v->t || v->nsub || v->row0 || v->col0 || v->limit || weiri_view_strewn(v) ||
        (v->op != WEIR_OP_VIEW_AT && v->op != WEIR_OP_VIEW_TILE))
        return false;
    return r->tile[r->rank - 1] % elems == 0;
}

/* Of a stage in shared memory: a swizzle moves 16 bytes at a time. */
static bool stage_packs(const weiri_plan *p, const weiri_view *v, int elems) {
    weiri_tile_geom g;
    if (v->t || v->nsub || v->row0 || v->col0 || v->nrows || v->ncols || v->limit || !weiri_geom(p, v->res, &g)) return false;
    return g.cols % elems == 0 && (elems * g.elem <= 16 || !g.swizzle);
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

int weiri_deal_piece(const weiri_plan *p, const weiri_op *op) {
    const weir_res *dst = op->res;
    const bool gmem = dst->kind == WEIR_RES_GMEM;
    const int elems = 16 / weir_dtype_size(gmem ? dst->tensor->dtype : dst->dtype);
    int cols;
    weiri_view v;
    weiri_deal_place(p, op, &cols);
    if (cols % elems) return 1;
    if (gmem) {
        weiri_view_of(p->k, op->arg[1], &v);
        return tensor_packs(&v, dst, elems) ? elems : 1;
    }
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
    d.threads = t->lanes ? 32 : 32 * t->task->num_warps;
    return d;
}

/* Of a tile or value in registers, of so many rows and columns: one a row, or one a column, lies several times over in them. */
static weiri_deal fragments(const weiri_plan *p, int task, weiri_deal_kind kind, int rows, int cols) {
    const weiri_ptask *t = &p->tasks[task];
    weiri_deal d = deal_of(p, task, rows > 1 && cols >= 8 ? kind : DEAL_ALL);
    if (t->warpgroups > 1 && !t->by_cols) d.rows = rows;
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
        if (weiri_value_in_regs(k, op->arg[0])) return fragments(p, task, DEAL_FRAGMENT, v->rows, v->cols);
        d = deal_of(p, task, DEAL_ORDER);
        d.piece = weiri_deal_piece(p, op);
        d.nrows = weiri_deal_place(p, op, &d.cols); /* of the walk, till it has a stage */
        return d;
    }
    case ATOM_SET: return fragments(p, task, DEAL_FRAGMENT, op->res->tile[0], op->res->tile[1]);
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

weiri_deal weiri_deal_walk(const weiri_plan *p, int task, const weiri_op *op) {
    weiri_deal d = walk_of(p, task, op);
    for (int i = 0; d.kind > DEAL_NONE && d.kind != DEAL_FRAGMENT && i < op->nargs; i++) /* fragments: by whole groups of 8 */
        if (weiri_value_uses(p->k, op->arg[i], WEIR_OP_TILE_COLS)) d.kind = DEAL_ALL;
    return d;
}

int weiri_deal_thread(const weiri_plan *p, int task, const weiri_deal *d, int64_t row, int64_t col) {
    if (d->kind == DEAL_ORDER) return (int)((row * d->cols + col) / d->piece % d->threads);
    const int rows = d->rows ? d->rows / p->tasks[task].warpgroups : 0; /* of one warpgroup: whole blocks of 64 */
    const int64_t wg = rows ? row / rows : d->width ? col / d->width : 0;
    return (int)(wg * 128 + row % 64 / 16 * 32 + row % 8 * 4 + col % 8 / 2);
}

/* Of all of a stage. */
static void in_stage(const weiri_plan *p, weiri_deal *d, const weir_res *s) {
    weiri_tile_geom g;
    weiri_geom(p, s, &g);
    d->region = weiri_region_of(p, s);
    d->nrows = g.rows;
}

/* Of the part of its stage that the view names. */
static void place(const weiri_plan *p, weiri_deal *d, const weiri_view *v) {
    for (int i = 0; i < v->nsub; i++) {
        int64_t x;
        int step = 1;
        for (int a = v->axis + i + 1; a + 1 < v->res->rank; a++) step *= v->res->tile[a];
        if (v->axis + i + 1 >= v->res->rank) { /* one element: whoever walks, each reads it */
            d->kind = DEAL_ALL;
            return;
        }
        d->slab = d->nrows = step;
        if (weiri_value_const(p->k, v->sub[i], &x)) d->row += (int)x * step;
        else d->step = step; /* slabs of slabs: the last are the smallest */
    }
    d->slab_row = v->row0;
    d->row += v->row0;
    d->col = v->col0;
    if (v->nrows) d->nrows = v->nrows;
}

int weiri_deal_write(weiri_plan *p, int task, const weiri_op *op) {
    weiri_deal d = walk_of(p, task, op);
    weiri_view v;
    in_stage(p, &d, op->res);
    if (d.kind == DEAL_FRAGMENT && weiri_deal_matrix(p, task, op->res)) d.kind = DEAL_MATRIX;
    if (op->atom == ATOM_STORE && op->nargs > 1) {
        weiri_view_of(p->k, op->arg[1], &v);
        if (v.res == op->res) place(p, &d, &v);
    }
    return entry(p, &d);
}

int weiri_deal_read(weiri_plan *p, const weiri_deal *walk, uint32_t view) {
    weiri_deal d = *walk;
    weiri_view v;
    const weiri_value *x = weiri_val(p->k, view);
    weiri_view_of(p->k, view, &v);
    if (p->smem.v[weiri_region_of(p, v.res)].tmem) return 0; /* a warp's lanes have theirs */
    if (d.kind <= DEAL_NONE) return entry(p, &d);
    const bool spread = x->cols == 1 || (x->rows == 1 && d.nrows != 1); /* over what is walked: not each element is one thread's */
    in_stage(p, &d, v.res);
    if (v.t || spread || weiri_view_strewn(&v)) d.kind = DEAL_ALL;
    else if (d.kind != DEAL_ALL) place(p, &d, &v);
    return entry(p, &d);
}

int weiri_deal_spill(weiri_plan *p, int task, const weir_res *s) {
    weiri_deal d = fragments(p, task, weiri_deal_matrix(p, task, s) ? DEAL_MATRIX : DEAL_FRAGMENT, s->tile[0], s->tile[1]);
    in_stage(p, &d, s);
    return entry(p, &d);
}

/* ---- what two have in common --------------------------------------------------------------------------------------------- */

/* Elements of the two at one address have one row and column, stage by stage. */
static bool lie_alike(const weiri_plan *p, int x, int y) {
    const weiri_region *r = &p->smem.v[x], *q = &p->smem.v[y];
    weiri_tile_geom a, b;
    if (x == y) return true;
    weiri_geom(p, r->res, &a);
    weiri_geom(p, q->res, &b);
    return r->offset == q->offset && a.rows == b.rows && a.cols == b.cols && a.elem == b.elem && a.swizzle == b.swizzle;
}

static bool ranges_apart(int x, int nx, int y, int ny) { return x + nx <= y || y + ny <= x; }

/* Parts with no element in common: rows apart, for what is written has all columns. */
static bool apart(const weiri_deal *x, const weiri_deal *y) {
    if (x->slab == y->slab && ranges_apart(x->slab_row, x->nrows, y->slab_row, y->nrows)) return true;
    return !x->step && !y->step && ranges_apart(x->row, x->nrows, y->row, y->nrows);
}

int weiri_deal_in_place(weiri_plan *p, int read, int write) {
    if (read <= DEAL_NONE) return read;
    weiri_deal d = p->deals.v[read];
    const weiri_deal *w = &p->deals.v[write]; /* as many rows and columns */
    const bool same = d.slab == w->slab && d.slab_row == w->slab_row; /* or slabs that have nothing in common */
    if (!lie_alike(p, d.region, w->region) || same || apart(&d, w)) return read;
    d.kind = DEAL_ALL;
    return entry(p, &d);
}

/* If they have elements in common: do the two, of so many pieces a row, begin a multiple of n pieces apart? */
static bool in_step(const weiri_deal *x, const weiri_deal *y, int64_t pieces, int n) {
    if (x->slab == y->slab) return (x->slab_row - y->slab_row) * pieces % n == 0;
    return x->step * pieces % n == 0 && y->step * pieces % n == 0 && (x->row - y->row) * pieces % n == 0;
}

/* Two of one kind, one of which is written, and so has all columns. */
static bool agree(const weiri_deal *x, const weiri_deal *y) {
    switch (x->kind) {
    case DEAL_ORDER: return x->piece == y->piece && x->cols == y->cols && in_step(x, y, x->cols / x->piece, x->threads);
    case DEAL_TENSOR: return x->rows == y->rows && in_step(x, y, 1, x->rows);
    default: /* fragments: of 64 rows, or of all that several warpgroups share, and of 8 columns */
        return x->rows == y->rows && x->width == y->width && (x->col - y->col) % 8 == 0 &&
               in_step(x, y, 1, x->rows ? x->rows : 64);
    }
}

weiri_owners weiri_deal_owners(const weiri_plan *p, int i, int j, int actors) {
    if (!i || !j) return OWNERS_OPEN;
    const weiri_deal *x = &p->deals.v[i], *y = &p->deals.v[j];
    if (x->kind == DEAL_NONE || y->kind == DEAL_NONE) return OWNERS_SAME;
    if ((actors > 1 && x->each) || x->kind == DEAL_ALL || y->kind == DEAL_ALL) return OWNERS_OTHER;
    if (!lie_alike(p, x->region, y->region)) return OWNERS_OTHER;
    return apart(x, y) || (x->kind == y->kind && agree(x, y)) ? OWNERS_SAME : OWNERS_OTHER;
}

/* ---- shares of warpgroups ------------------------------------------------------------------------------------------------ */

/* Has each warpgroup the elements there that it has in a bulk store of all of s? */
static bool is_own(const weiri_plan *p, int task, int deal, const weir_res *s) {
    const weiri_ptask *t = &p->tasks[task];
    const weiri_deal *x = &p->deals.v[deal];
    weiri_tile_geom g;
    weiri_geom(p, s, &g);
    if (x->kind != DEAL_FRAGMENT && x->kind != DEAL_MATRIX) return x->kind == DEAL_NONE;
    return t->by_cols ? x->width == g.cols / t->warpgroups : x->rows == g.rows;
}

/* ... what an op that walks so reads of s in a value. */
static bool reads_own(weiri_plan *p, int task, const weiri_deal *walk, uint32_t id, const weir_res *s) {
    const weiri_value *v = weiri_val(p->k, id);
    if (!weiri_visit(p->k, id)) return true;
    if (v->kind == WEIR_VALUE_VIEW) return weiri_view_base(p->k, id) != s || is_own(p, task, weiri_deal_read(p, walk, id), s);
    for (int i = 0; i < v->nargs; i++)
        if (!reads_own(p, task, walk, v->arg[i], s)) return false;
    return true;
}

static bool bulk_store(const weiri_op *op) { return op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD; }

/* Does each warpgroup of the task fill and read what it stores of s, if it does? */
static bool owns(weiri_plan *p, int task, const weir_res *s) {
    const weiri_node *root = p->tasks[task].task->root;
    bool own = true, stores = false;
    for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n)) {
        const weiri_op *op = n->op;
        if (n->kind != NODE_OP || op->atom == ATOM_NONE || op->atom == ATOM_READ) continue;
        if (bulk_store(op)) {
            stores |= weiri_view_base(p->k, op->arg[0]) == s;
            continue;
        }
        if (op->res == s && op->atom != ATOM_LOAD) own &= is_own(p, task, weiri_deal_write(p, task, op), s);
        const weiri_deal walk = weiri_deal_walk(p, task, op);
        weiri_visit_begin(p->k);
        for (int i = 0; i < op->nargs; i++) own &= reads_own(p, task, &walk, op->arg[i], s);
    }
    return own || !stores;
}

void weiri_deal_find_own(weiri_plan *p) {
    for (int i = 0; i < p->pipes.n; i++) {
        weiri_ppipe *x = &p->pipes.v[i];
        if (x->type != WEIR_ASYNC_TMA || x->full >= 0) continue;
        x->own = true;
        for (int t = 0; t < p->ntasks && x->region >= 0; t++)
            if (p->tasks[t].warpgroups > 1) x->own &= owns(p, t, x->res);
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
    if (a->kind != ACT_BODY || a->bar >= 0 || a->op->atom != ATOM_CUSTOM || (e->async && weiri_tc(p->k))) return false;
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
    if (!x->write && !y->write) return false;
    if (!bytes_meet(m->p, x, y)) return false;
    const weiri_owners who = weiri_deal_owners(m->p, x->deal, y->deal, 1);
    return who == OWNERS_OTHER || (who == OWNERS_OPEN && !(x->write && y->write));
}

/* Does a warp of the task work by itself? */
static bool by_warp(const meeter *m) { return m->p->tasks[m->task].lanes || m->p->tasks[m->task].task->num_warps == 1; }

/* Do all threads of the task (with lanes: of each warp) meet there? */
static bool all_meet(const meeter *m, const weiri_action *a) {
    if (a->kind == ACT_WARP_SYNC) return by_warp(m);
    return a->kind == ACT_NAMED_SYNC && a->threads == 32 * m->p->tasks[m->task].task->num_warps;
}

/* Another use of the stages begins, or this one ends: the moves' own affair. */
static void forget_moved(const meeter *m, const weir_res *moved, uint8_t *s) {
    for (int i = 0; i < m->all.n; i++) {
        const weir_res *r = m->p->smem.v[m->all.v[i].region].res;
        if ((r == moved || r->group == moved) && !m->all.v[i].named_twice) s[i] = 0;
    }
}

static weiri_pnode *meeting(meeter *m, weiri_pnode *next) {
    const bool warp = by_warp(m);
    weiri_action *a = WEIRI_NEW(&m->p->a, weiri_action);
    weiri_pnode *n = WEIRI_NEW(&m->p->a, weiri_pnode);
    a->kind = warp ? ACT_WARP_SYNC : ACT_NAMED_SYNC;
    a->bar = a->cur = a->copy = a->reg = a->pipe = -1;
    a->op = next->act->op;
    a->note = "its bytes are other threads' than before";
    if (!warp) a->named = weiri_task_barrier(m->p, m->task), a->threads = 32 * m->p->tasks[m->task].task->num_warps;
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
    number_all(&m, root->first);
    if (m.all.n < 2) return;
    for (int i = 0; i < m.all.n; i++)
        for (int j = 0; j < m.all.n; j++) {
            access *x = &m.all.v[i], *y = &m.all.v[j];
            x->named_twice = x->named_twice || (x->region != y->region && bytes_meet(p, x, y));
        }
    walk(&m, &root->first, WEIRI_NEW_N(&p->a, uint8_t, m.all.n));
}
