/* Work that cannot be built: parts of stages, places of stores, operands, values of registers and of tensor memory, tiles used
 * late. */
#include "lowering.h"

#include <stdio.h>
#include <string.h>

#include "deal.h"
#include "plan_tc.h"

/* Part of a stage or of a tile, for work that takes whole ones only: slabs as operands of an mma, cp.async. */
bool lw_sliced(lowering *l, const weiri_op *op, const weiri_view *v) {
    if (!v->nsub && !v->nrows && !v->ncols && !v->limit) return false;
    lw_complain(l, "PLAN-UNSUPPORTED", op, "take the whole stage, with tiles of the size of the part",
                "works on a part of a view (rows, cols, sub or limit), which cannot be built here yet");
    return true;
}

/* Stages are stored to as slabs and rows of one; fragments go to rows and columns of one slab of a tensor. */
static void check_store_place(lowering *l, const weiri_op *op) {
    weiri_view v;
    int shape[WEIR_MAX_RANK];
    if (op->nargs < 2) return;
    weiri_view_of(l->k, op->arg[1], &v);
    bool smem = op->res->kind != WEIR_RES_GMEM, odd = v.nsub && v.axis + v.nsub >= op->res->rank;
    bool frags = weiri_value_in_regs(l->k, op->arg[0]);
    if (smem ? v.op != WEIR_OP_VIEW_SUB || v.t || v.ncols || v.limit || odd || weiri_view_strewn(&v)
             : frags && (v.t || v.nsub || weiri_tile_shape(op->res, shape) > 2))
        lw_complain(l, "PLAN-UNSUPPORTED", op,
                    smem ? "store to s:sub(i), or to rows of one slab"
                         : "give the place a tile of two axes, by its own coordinates: g:at(...)",
                    "stores to a part of a tile that cannot be built yet");
}

/* A value of one row, or one of a few columns into shared memory: its elements lie several times over in the registers. Of many
 * rows, which only col_index() has in registers: they are a register tile's, too. */
static void check_held_shape(lowering *l, const weiri_op *op) {
    const weiri_value *v = weiri_val(l->k, op->arg[0]);
    if (v->kind != WEIR_VALUE_TILE || !weiri_value_in_regs(l->k, op->arg[0])) return;
    bool smem = op->res->kind != WEIR_RES_GMEM;
    const int wgs = l->pt->by_cols || !l->pt->warpgroups ? 1 : l->pt->warpgroups;
    if (v->rows == 1 || (smem && v->cols < 8))
        lw_complain(l, "PLAN-UNSUPPORTED", op,
                    smem ? "store it to global memory, or a wider value" : "store a value of whole rows",
                    "stores a value of a single row, or of few columns to shared memory, which cannot be built yet");
    else if (v->rows % (64 * wgs) && !weiri_value_uses(l->k, op->arg[0], WEIR_OP_READ_REG) &&
             !weiri_value_uses(l->k, op->arg[0], WEIR_OP_ROW)) /* the tiles' own: said when they were shared out */
        lw_complain(l, "PLAN-TILE", op,
                    weiri_arena_fmt(&l->p->a, "store a multiple of %d rows, or leave col_index() out", 64 * wgs),
                    weiri_arena_fmt(&l->p->a, "stores %d rows of a value in registers, where %s hold%s 64 rows at a time", v->rows,
                                    wgs > 1 ? weiri_arena_fmt(&l->p->a, "%d warpgroups each", wgs) : "a warpgroup",
                                    wgs > 1 ? "" : "s"));
}

/* Warpgroups that share columns have all rows of them alone: what looks along a row, or takes other columns, they cannot have. */
static void check_columns(lowering *l, const weiri_op *op) {
    const weir_kernel *k = l->k;
    const char *text = NULL, *hint = NULL;
    for (int i = 0; i < op->nargs && !text; i++) {
        weiri_view v;
        if (weiri_value_reduces(k, op->arg[i]))
            text = "takes a row reduction where each warpgroup has only its columns of the tile (split = \"n\")",
            hint = "leave split out, so that each warpgroup has whole rows; or reduce behind shared memory, in another task";
        if (weiri_value_uses(k, op->arg[i], WEIR_OP_TILE_COLS))
            text = "takes cols(first, n) of a tile of which each warpgroup has only its columns (split = \"n\")",
            hint = "store the whole tile: each warpgroup stores its columns";
        const int cols = weiri_val(k, op->arg[i])->cols;
        if (op->atom == ATOM_STORE && !i && weiri_value_in_regs(k, op->arg[i]) && cols >= 8 && cols % (8 * l->pt->warpgroups))
            text = weiri_arena_fmt(&l->p->a, "stores %d columns, of which %d warpgroups (split = \"n\") would have no whole groups of 8",
                                   cols, l->pt->warpgroups),
            hint = weiri_arena_fmt(&l->p->a, "store a multiple of %d columns, or store in a task of its own", 8 * l->pt->warpgroups);
        if (op->atom == ATOM_MMA && !i && !weiri_view_of(k, op->arg[i], &v))
            text = "takes a from registers, of which each warpgroup has only its columns (split = \"n\")",
            hint = "leave split out, or let a come from shared memory";
    }
    if (text) lw_complain(l, "PLAN-SPLIT", op, hint, text);
}

typedef struct found {
    const weir_kernel *k;
    int rows, cols, n;
    bool misfit, part;
} found;

static void found_leaf(void *ud, uint32_t view) {
    found *f = ud;
    weiri_view v;
    int shape[WEIR_MAX_RANK], rank = weiri_view_shape(f->k, view, shape);
    weiri_view_of(f->k, view, &v);
    f->n++;
    if (v.ncols) f->part = true;
    if (rank != 2 || shape[0] != f->rows || shape[1] != f->cols || shape[0] != v.res->tile[0] || v.t || v.limit) f->misfit = true;
}

/* A reduction along rows of what no register tile holds, in the value: what is only loaded is fetched element by element,
 * wherever it is used, and no thread has a row of it. */
static bool bare_reduction(const weir_kernel *k, uint32_t id) {
    const weiri_value *v = weiri_val(k, id);
    if (!weiri_visit(k, id)) return false;
    if (weiri_is_reduction(v->op) && !weiri_value_in_regs(k, v->arg[0])) return true;
    for (int i = 0; i < v->nargs; i++)
        if (weiri_value_reduces(k, v->arg[i]) && bare_reduction(k, v->arg[i])) return true;
    return false;
}

static void check_reductions(lowering *l, const weiri_op *op) {
    for (int i = 0; i < op->nargs; i++) {
        if (!weiri_value_reduces(l->k, op->arg[i])) continue;
        weiri_visit_begin(l->k);
        if (bare_reduction(l->k, op->arg[i]))
            lw_complain(l, "PLAN-UNSUPPORTED", op,
                        "set a register tile first, r:set(x), and reduce r:read(): its rows lie in the lanes of a quad",
                        "takes a row reduction of a value that no register tile holds");
    }
}

/* In registers a thread has two neighbours of each 8 columns, or the one column of its lane in a quad (row_sum(4)). What begins or
 * ends inside of 8 columns, or was loaded as four, lies in other lanes than it is taken from. open: more columns than the value has
 * may be computed. */
static const char *off_fragments(const weir_kernel *k, uint32_t id, bool open, const char **hint) {
    const weiri_value *v = weiri_val(k, id);
    if ((v->kind != WEIR_VALUE_TILE && v->kind != WEIR_VALUE_COND) || !weiri_visit(k, id)) return NULL;
    const bool whole = v->cols == 1 || v->cols % 8 == 0;
    if (v->op == WEIR_OP_TILE_COLS && (v->i % 8 || v->cols % 8)) {
        *hint = "begin and end at a multiple of 8 columns, or store the tile to shared memory and take the part of the stage";
        return "takes cols(first, n) of registers that begin or end inside of 8 columns";
    }
    if (v->op == WEIR_OP_LOAD) {
        const weir_res *from = weiri_view_base(k, v->arg[0]);
        if (whole || (open && v->cols > 4 && from->kind == WEIR_RES_GMEM)) return NULL; /* a stage ends with its columns */
        *hint = "load a multiple of 8 columns, or a single one";
        return "takes a tile whose columns are no multiple of 8 into registers";
    }
    if (v->op == WEIR_OP_COL && !whole) {
        *hint = "take the columns of a wider register tile";
        return "takes col_index() of a register tile of four columns";
    }
    const char *text = NULL;
    open = open && v->op != WEIR_OP_TILE_COLS && !weiri_is_reduction(v->op);
    for (int i = 0; i < v->nargs && !text; i++) text = off_fragments(k, v->arg[i], open, hint);
    return text;
}

static void check_fragments(lowering *l, const weiri_op *op) {
    const weir_kernel *k = l->k;
    const bool set = op->atom == ATOM_SET, store = op->atom == ATOM_STORE;
    if (!set && !store && op->atom != ATOM_MMA) return;
    if (!set && !weiri_value_in_regs(k, op->arg[0])) return;
    const char *hint = NULL;
    weiri_visit_begin(k);
    const char *text = off_fragments(k, op->arg[0], store && op->res->kind == WEIR_RES_GMEM, &hint);
    if (text) lw_complain(l, "PLAN-TILE", op, hint, text);
}

/* Values of tensor memory lie row by row in the threads: only stores take them, elementwise. */
static void check_tensor_values(lowering *l, const weiri_op *op) {
    const weir_kernel *k = l->k;
    for (int i = 0; i < op->nargs; i++) {
        const weiri_value *x = weiri_val(k, op->arg[i]);
        found f = { .k = k, .rows = x->rows, .cols = x->cols };
        if (op->atom == ATOM_MMA || op->atom == ATOM_LOAD) continue;
        weiri_tc_leaves(k, op->arg[i], found_leaf, &f);
        if (!f.n) continue;
        const char *text = NULL;
        if (op->atom != ATOM_STORE) text = "takes a value of tensor memory; on sm_100a only store() can take one yet";
        else if (weiri_value_uses(k, op->arg[i], WEIR_OP_READ_REG))
            text = "stores a value of tensor memory and of a register tile, whose rows lie differently in the threads";
        else if (weiri_value_reduces(k, op->arg[i]))
            text = "stores a row reduction of tensor memory, which cannot be built yet";
        else if (f.misfit || f.cols % 8)
            text = "stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, "
                   "s:read():cols(first, n)";
        else if (weiri_value_uses(k, op->arg[i], WEIR_OP_TILE_COLS))
            text = "stores load():cols(first, n) beside sums of tensor memory; write cols(first, n) of the view, then load()";
        else if (f.part && weiri_tc_pair(k) && f.rows == 64)
            text = "stores part of the columns of 64 rows, whose halves lie one above the other with v = 2";
        if (text)
            lw_complain(l, "PLAN-UNSUPPORTED", op, "store the sums to shared memory, and take the value from there", text);
    }
}

/* A body gets a pointer: to a stage, or to where slabs and rows of it begin. */
static void check_body_views(lowering *l, const weiri_op *op) {
    for (int i = 0; i < op->nargs; i++) {
        weiri_view v;
        if (!op->work->params[i].view) continue;
        weiri_view_of(l->k, op->arg[i], &v);
        const char *name = op->work->params[i].name;
        if (v.res->kind == WEIR_RES_GMEM)
            lw_complain(l, "PLAN-VIEW", op, "bind the tensor, and give the body coordinates",
                        weiri_arena_fmt(&l->p->a, "takes '%s' of a tensor; a body's views are of stages", name));
        else if (v.t || v.limit || v.col0 || v.axis + v.nsub >= v.res->rank || weiri_view_strewn(&v))
            lw_complain(l, "PLAN-VIEW", op, "give it the stage, or slabs and rows of it, and the rest as numbers",
                        weiri_arena_fmt(&l->p->a, "takes '%s', a part of a stage that is no pointer to whole rows", name));
    }
}

void lw_check_work(lowering *l, const weiri_op *op) {
    if (weiri_tc(l->k)) check_tensor_values(l, op);
    if (l->pt->by_cols) check_columns(l, op);
    check_reductions(l, op);
    check_fragments(l, op);
    if (op->atom == ATOM_STORE) check_held_shape(l, op), check_store_place(l, op);
    if (op->atom == ATOM_CUSTOM) check_body_views(l, op);
}

/* Bytes that arrive by themselves need a barrier that counts them. */
void lw_check_counted(lowering *l, const weiri_op *op) {
    if (!weiri_piped(op->res))
        lw_complain(l, "PLAN-UNSUPPORTED", op, "give the tile a tma_async pipeline", "brings bytes that no pipeline counts");
}

/* ---- operands of mmas ------------------------------------------------------------------------------------------------------- */

bool weiri_view_operand(const weiri_plan *p, const weiri_view *v, weiri_tile_geom *g, int64_t *offset, char *why, size_t size) {
    why[0] = '\0';
    *offset = 0;
    weiri_geom(p, v->res, g); /* it has a place, and so a layout */
    if (!v->nrows && !v->ncols) return true;
    const int rows = v->nrows ? v->nrows : g->rows, cols = v->ncols ? v->ncols : g->cols;
    const int unit =
        v->t ? g->panel_cols : 32 / g->elem; /* columns: whole panels of an MN-major operand, steps of a K-major one */
    const int in = v->col0 % g->panel_cols;
    if (!g->swizzle) snprintf(why, size, "a part of a tile without swizzle has no descriptor; give the tile a swizzle");
    else if (v->row0 % 8) snprintf(why, size, "the part begins at row %d, no multiple of the 8 rows of an atom", v->row0);
    else if (v->col0 % unit || cols % unit)
        snprintf(why, size, "columns %d to %d are no multiple of %d", v->col0, v->col0 + cols, unit);
    else if (in && in + cols > g->panel_cols)
        snprintf(why, size, "columns %d to %d begin inside a panel of %d and end in another", v->col0, v->col0 + cols,
                 g->panel_cols);
    if (why[0]) return false;
    *offset = v->col0 / g->panel_cols * g->panel_bytes + v->row0 * g->row_bytes + (int64_t)in * g->elem;
    g->rows = rows;
    g->cols = cols;
    return true;
}

bool weiri_view_part(const weiri_plan *p, const weiri_view *v, int part, int parts, weiri_tile_geom *g, int64_t *offset,
                     char *why, size_t size) {
    weiri_view x = *v;
    int *first = v->t ? &x.col0 : &x.row0, *n = v->t ? &x.ncols : &x.nrows;
    why[0] = '\0';
    if (parts < 2) return weiri_view_operand(p, v, g, offset, why, size);
    weiri_geom(p, v->res, g);
    *n = (*n ? *n : (v->t ? g->cols : g->rows) - *first) / parts;
    *first += part * *n;
    return weiri_view_operand(p, &x, g, offset, why, size);
}

int weiri_mma_columns(const weiri_plan *p, const weiri_tile_geom *b, bool transposed, int cols, bool a_in_registers, int *unit,
                      int *need) {
    enum { SUMS_OF = 2, BESIDE = 26, OF_A = 4 }; /* of ptxas 13.0, to the register: t/registers.t */
    const int least = transposed ? b->panel_cols : 8, beside = BESIDE + (a_in_registers ? OF_A : 0);
    *unit = least;
    *need = least / SUMS_OF + beside;
    const int fit = (p->entry_registers - beside) * SUMS_OF / least * least;
    if (cols <= fit || !p->entry_registers) return cols; /* 0: the warps are at fault, and that is said */
    if (fit < least) return 0;
    const int parts = (cols + fit - 1) / fit;
    return (cols / least + parts - 1) / parts * least;
}

/* Can wgmma read the stage as operand `i` (0 a, 1 b) of the op? */
void lw_check_operand(lowering *l, const weiri_op *op, int i, const weiri_view *v) {
    int pr = weiri_preg_of(l->p, l->task, op->res);
    weiri_tile_geom g;
    weiri_operand o;
    char why[256];
    int64_t offset;
    int parts =
        i && l->pt->by_cols ? l->pt->warpgroups : 1; /* of b's rows, one a warpgroup; if the second may begin there, all may */
    bool part = weiri_view_part(l->p, v, parts > 1, parts, &g, &offset, why, sizeof why);
    if (pr < 0) return; /* said elsewhere */
    const int cols = l->p->regs.v[pr].cols;
    if (part && weiri_layout_operand(&g, weiri_stage_dtype(l->p, v->res), v->t, i ? cols : 64, &o, why, sizeof why)) {
        weiri_view a;
        int unit, need;
        if (!i || weiri_mma_columns(l->p, &g, v->t, cols, !weiri_view_of(l->k, op->arg[0], &a), &unit, &need)) return;
        const weir_kernel *k = l->k;
        weir_finding *f =
            weiri_find(&l->p->findings, "PLAN-REGS", weiri_place_of(&op->at),
                       "an mma into '%s' by task '%s' needs %d registers of a thread at entry for %d columns at a time; with "
                       "%d CTAs of %d threads an SM there are %d", /* one alone has 64 at least: enough for any */
                       op->res->name, l->pt->task->name, need, unit, k->ctas_per_sm, l->p->threads, l->p->entry_registers);
        f->objects[0] = op->res->name;
        f->expected = weiri_arena_fmt(&l->p->a, "at least %d", need);
        f->got = weiri_arena_fmt(&l->p->a, "%d", l->p->entry_registers);
        f->hint = v->t ? "ptxas allots them before setmaxnreg brings more: lower ctas_per_sm, take fewer warps, or a narrower "
                         "swizzle, or a b that is not transposed, which are cut finer"
                       : "ptxas allots them before setmaxnreg brings more: lower ctas_per_sm, or take fewer warps";
        return;
    }
    weir_finding *f = weiri_find(&l->p->findings, "PLAN-SWIZZLE", weiri_place_of(&op->at), "%s of the mma into '%s', '%s': %s",
                                 i ? "b" : "a", op->res->name, v->res->name, why);
    f->objects[0] = v->res->name;
}

/* ---- tiles that are used late ----------------------------------------------------------------------------------------------- */

static const weir_res *bytes_of(const weir_res *r) {
    while (r->storage) r = r->storage;
    return r;
}

/* Is another stage of r the newest held one after the op, or do its bytes change? Of a tensor: is it written? */
static bool disturbs(const weiri_op *op, const weir_res *r) {
    if (r->kind == WEIR_RES_GMEM) {
        bool writes = op->atom == ATOM_STORE || op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD;
        if (writes && op->res->kind == WEIR_RES_GMEM) return op->res->tensor == r->tensor;
        for (int i = 0; op->work && i < op->res->nbind; i++)
            if (op->res->bind[i].tensor == r->tensor) return true;
        return false;
    }
    if (op->stage == STAGE_PROD_WORK) return bytes_of(op->res) == bytes_of(r);
    return op->atom == ATOM_NONE && (op->stage == STAGE_CONS_WAIT || op->stage == STAGE_CONS_RELEASE) &&
           (op->res == r || op->res == r->group);
}

/* The first op that disturbs r from one node to another behind it. */
static const weiri_op *first_disturbing(const weiri_node *root, const weiri_node *from, const weiri_node *to,
                                        const weir_res *r) {
    for (const weiri_node *n = weiri_node_next(root, from); n != to; n = weiri_node_next(root, n))
        if (n->kind == NODE_OP && disturbs(n->op, r)) return n->op;
    return NULL;
}

static const weiri_op *disturbing_inside(const weiri_node *block, const weir_res *r) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(block, n));)
        if (n->kind == NODE_OP && disturbs(n->op, r)) return n->op;
    return NULL;
}

/* An op takes a tile value: what it was loaded from must still be there. */
static void check_late(lowering *l, const weiri_node *use, uint32_t id) {
    const weiri_value *x = weiri_val(l->k, id);
    const weiri_node *root = l->pt->task->root;
    weiri_view v;
    if (!weiri_visit(l->k, id) || (x->kind != WEIR_VALUE_TILE && x->kind != WEIR_VALUE_COND) || x->op == WEIR_OP_READ_REG) return;
    for (int i = 0; i < x->nargs; i++)
        if (x->op != WEIR_OP_LOAD) check_late(l, use, x->arg[i]);
    if (x->op != WEIR_OP_LOAD) return;
    weiri_view_of(l->k, x->arg[0], &v);
    const bool tensor = v.res->kind == WEIR_RES_GMEM;
    if (tensor ? !v.res->tensor->out : weiri_region_of(l->p, v.res) < 0) return;
    const weiri_node *load = weiri_node_next(root, NULL);
    while (load->op != x->by) load = weiri_node_next(root, load);
    const weiri_op *by = first_disturbing(root, load, use, v.res);
    for (const weiri_node *b = use->parent; !by && !weiri_node_inside(load, b); b = b->parent) /* a loop comes back to the use */
        if (b->kind == NODE_LOOP || b->kind == NODE_TILES) by = disturbing_inside(b, v.res);
    if (!by) return;
    weir_finding *f = weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&use->op->at),
                                 tensor ? "takes a tile that was loaded from '%s' before its tensor was written"
                                        : "takes a tile that was loaded from '%s' before the stage changed hands",
                                 v.res->name);
    f->hint = "use it before, or keep it in a reg_tile";
    f->objects[0] = v.res->name;
    weiri_second_place(f, &by->at, tensor ? "written in between" : "the move in between");
}

void lw_check_late(lowering *l) {
    const weiri_node *root = l->pt->task->root;
    for (const weiri_node *n = weiri_node_next(root, NULL); n; n = weiri_node_next(root, n))
        for (int i = 0; n->kind == NODE_OP && n->op->atom != ATOM_LOAD && i < n->op->nargs; i++) {
            weiri_visit_begin(l->k);
            check_late(l, n, n->op->arg[i]);
        }
}
