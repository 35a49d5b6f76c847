/* Values that lie in registers as an accumulator does: which are computed into arrays, reductions among them, and what is done to
 * register tiles. */
#include "emit.h"

#include <string.h>

/* ---- which are arrays ----------------------------------------------------------------------------------------------------- */

void em_count_uses(emitter *e, uint32_t id, uint8_t *seen) {
    if (e->uses[id] < UINT16_MAX) e->uses[id]++;
    if (seen[id]) return;
    seen[id] = 1;
    const weiri_value *v = weiri_val(e->k, id);
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) em_count_uses(e, v->arg[i], seen);
}

static bool reaches(emitter *e, uint32_t from, uint32_t to) {
    if (from == to) return true;
    const weiri_value *v = weiri_val(e->k, from);
    if (from < to || v->op == WEIR_OP_READ_REG || !weiri_visit(e->k, from)) return false;
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i] && reaches(e, v->arg[i], to)) return true;
    return false;
}

/* The outermost loop around `n` that `inner` is not in; NULL: none. */
static const weiri_node *loop_apart(const weiri_node *n, const weiri_node *inner) {
    const weiri_node *out = NULL;
    for (; n; n = n->parent) {
        if (n->kind != NODE_LOOP && n->kind != NODE_TILES) continue;
        const weiri_node *x = inner;
        while (x && x != n) x = x->parent;
        if (x) break;
        out = n;
    }
    return out;
}

/* Is the register tile changed between this read and the last op that takes what was read? Then the read must copy. In a loop
 * behind the read an op comes again after all of the loop's changes. */
static bool outlives(emitter *e, const weiri_op *read, uint32_t value) {
    const weiri_node *from = NULL, *used = NULL; /* used: a loop behind the read that takes it */
    bool changed = false;
    weiri_visit_begin(e->k); /* what did not reach it once never does */
    for (const weiri_node *n = NULL; (n = weiri_op_next(e->pt->task->root, n));) {
        const weiri_op *op = n->op;
        if (op == read) from = n;
        if (op == read || !from) continue;
        bool takes = false;
        for (int i = 0; i < op->nargs && !takes; i++) takes = op->arg[i] && reaches(e, op->arg[i], value);
        if (takes && changed) return true;
        const weiri_node *loop = loop_apart(n, from);
        if (takes) {
            weiri_visit_begin(e->k);
            if (loop) used = loop;
        }
        if (op->res == read->res && (op->atom == ATOM_SET || op->atom == ATOM_ZERO || op->atom == ATOM_MMA)) {
            if (loop && loop == used) return true;
            changed = true;
        }
    }
    return false;
}

/* ---- arrays -------------------------------------------------------------------------------------------------------------- */

void em_make(emitter *e, uint32_t id, uint8_t how) {
    e->made[id] = how;
    WEIRI_PUSH(e->a, e->made_list, id);
}

/* What a reduction makes of two, as a format. A sum of integers may wrap. */
static const char *reduced(emitter *e, const weiri_value *v) {
    if (v->op != WEIR_OP_ROW_SUM) {
        const bool most = v->op == WEIR_OP_ROW_MAX;
        return em_fmt(e, "%s(%%s, %%s)",
                      em_is_float(v->dtype) ? em_math(e, v->dtype, most ? "fmax" : "fmin")
                                            : em_whole(e, v->dtype, most ? "w_max" : "w_min"));
    }
    if (em_is_float(v->dtype) || weiri_value_is_unsigned(v->dtype)) return "%s + %s";
    return v->dtype == WEIR_I64 ? "(i64)((u64)%s + (u64)%s)" : "(i32)((u32)%s + (u32)%s)";
}

/* Rows reduced: two chains (even and odd columns), joined at the end; then what the four lanes of a quad have, who share it. */
static void make_reduction(emitter *e, uint32_t id, const weiri_value *v) {
    const weiri_value *x = weiri_val(e->k, v->arg[0]);
    const char *op = reduced(e, v), *type = em_type(v);
    const char *name = v->op == WEIR_OP_ROW_MAX ? "row_max" : v->op == WEIR_OP_ROW_MIN ? "row_min" : "row_sum";
    em_line(e, "%s v%u[%d];  // %s of %d columns", type, id, 2 * e->frags, name, x->cols);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int f = 0; f < %d; f++) {", e->frags);
    em_line(e, "#pragma unroll");
    em_open(e, "for (int h = 0; h < 2; h++) {");
    e->fr = "f";
    if (x->cols <= 4) {
        e->el = "(h * 2)";
        em_line(e, "%s x = %s;", type, em_expr(e, v->arg[0]));
    } else {
        e->el = "(h * 2)";
        const char *x0 = em_expr(e, v->arg[0]);
        e->el = "(h * 2 + 1)";
        em_line(e, "%s x = %s, y = %s;", type, x0, em_expr(e, v->arg[0]));
        em_line(e, "#pragma unroll");
        e->el = "(j * 4 + h * 2)";
        x0 = em_expr(e, v->arg[0]);
        e->el = "(j * 4 + h * 2 + 1)";
        const char *y0 = em_expr(e, v->arg[0]);
        const char *a = em_fmt(e, op, "x", x0), *b = em_fmt(e, op, "y", y0);
        em_line(e, "for (int j = 1; j < %d; j++) { x = %s; y = %s; }", x->cols / 8, a, b);
        em_line(e, "x = %s;", em_fmt(e, op, "x", "y"));
    }
    for (int q = 1; q <= 2 && v->i == 1; q++) {
        const char *other = em_fmt(e, strcmp(type, "float") ? "__shfl_xor_sync(0xffffffffu, x, %d)" : "w_shfl_xor(x, %d)", q);
        em_line(e, "x = %s;", em_fmt(e, op, "x", other));
    }
    em_line(e, "v%u[f * 2 + h] = x;", id);
    e->depth--;
    em_line(e, "} }");
}

/* x / y for a y that a whole row or column shares: one division for it, multiplications for the elements. */
static void make_inverse(emitter *e, uint32_t id, uint32_t divisor) {
    const weiri_value *y = weiri_val(e->k, divisor);
    const int rows = weiri_val(e->k, id)->rows;
    if (!weiri_value_in_regs(e->k, id) || e->made[id]) return;
    bool by_col = y->rows == 1;
    const int cols = weiri_frag_cols(e->pt, y->cols);
    e->frags = em_frags(e, rows);
    e->share = em_share(e, rows, y->cols);
    e->fr = by_col ? "0" : "f";
    e->el = "i";
    em_line(e, "float r%u[%d];", id, by_col ? cols / 4 : 2 * e->frags);
    em_line(e, "#pragma unroll");
    if (by_col) {
        em_line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) r%u[(i >> 2) * 2 + (i & 1)] = 1.f / %s;", cols / 2, id,
                em_expr(e, divisor));
    } else {
        em_line(e, "for (int f = 0; f < %d; f++) {", e->frags);
        em_line(e, "#pragma unroll");
        em_line(e, "for (int i = 0; i < 4; i += 2) r%u[f * 2 + (i >> 1)] = 1.f / %s; }", id, em_expr(e, divisor));
    }
    em_make(e, id, MADE_INVERSE);
}

static bool spreads(const weiri_value *v) { return v->rows == 1 || v->cols == 1 || v->cols == 4; }

/* Each element of a tile, or one of a row or column of a tile. */
static void make_array(emitter *e, uint32_t id, const weiri_value *v) {
    const bool by_row = v->cols == 1 || v->cols == 4, by_col = v->rows == 1;
    const int cols = weiri_frag_cols(e->pt, v->cols), n = by_row ? 2 * e->frags : by_col ? cols / 4 : e->frags * cols / 2;
    em_line(e, "%s v%u[%d];", em_type(v), id, n);
    if (!by_col) em_line(e, "#pragma unroll");
    em_open(e, "for (int f = 0; f < %d; f++) {", by_col ? 1 : e->frags);
    e->fr = "f";
    e->el = "i";
    const char *x = em_expr(e, id);
    em_line(e, "#pragma unroll");
    if (by_row) em_line(e, "for (int i = 0; i < 4; i += 2) v%u[f * 2 + (i >> 1)] = %s;", id, x);
    else if (by_col)
        em_line(e, "for (int i = 0; i < %d; i += (i & 1) ? 3 : 1) v%u[(i >> 2) * 2 + (i & 1)] = %s;", cols / 2, id, x);
    else em_line(e, "for (int i = 0; i < %d; i++) v%u[f * %d + i] = %s;", cols / 2, id, cols / 2, x);
    em_close(e);
}

/* Computes what the value needs in arrays: row reductions, tiles that several others take, and what a row or column of a wider
 * tile shares (once a row, not once an element). Runs where the first op takes it. */
static void ensure_part(emitter *e, uint32_t id, bool wider) {
    const weiri_value *v = weiri_val(e->k, id);
    if (e->made[id] || v->op == WEIR_OP_READ_REG || !em_is_tile(v)) return;
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i]) ensure_part(e, v->arg[i], !spreads(v) && v->kind == WEIR_VALUE_TILE);
    const weiri_value *y = v->op == WEIR_OP_DIV ? weiri_val(e->k, v->arg[1]) : NULL;
    if (y && em_is_tile(y) && spreads(y) && !spreads(v) && v->dtype != WEIR_F64) make_inverse(e, id, v->arg[1]);
    const bool leaf = v->op == WEIR_OP_ROW || v->op == WEIR_OP_COL || v->op == WEIR_OP_TILE_COLS || v->op == WEIR_OP_LOAD;
    const bool shared = wider && spreads(v) && v->kind == WEIR_VALUE_TILE && em_is_float(v->dtype);
    const bool reduces = weiri_is_reduction(v->op);
    if ((!reduces && (leaf || (e->uses[id] < 2 && !shared))) || !weiri_value_in_regs(e->k, id)) return;
    e->share = em_share(e, v->rows, v->cols);
    e->frags = em_frags(e, v->rows);
    if (reduces) make_reduction(e, id, v);
    else make_array(e, id, v);
    em_make(e, id, MADE);
}

void em_ensure(emitter *e, uint32_t id) { ensure_part(e, id, false); }

/* ---- register tiles ------------------------------------------------------------------------------------------------------ */

/* What an assignment to a register of dtype t rounds to that dtype. */
static const char *as_held(emitter *e, weir_dtype t, uint32_t value, const char *x) {
    const char *whole = em_whole_of(e, t, value, x);
    if (t == WEIR_TF32) return em_to_dtype(e, t, value, x);
    return whole ? whole : em_round_once(e, t, value, x);
}

void em_set(emitter *e, const weiri_action *a) {
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = em_reg(e, r);
    em_line(e, "W_AT(%d);", a->id);
    em_ensure(e, a->op->arg[0]);
    em_line(e, "#pragma unroll");
    em_open(e, "for (int f = 0; f < %d; f++) {", pr->frags);
    e->fr = "f";
    e->el = "i";
    e->frags = pr->frags;
    e->share = em_share(e, r->tile[0], r->tile[1]);
    const char *pack;
    const uint32_t value = a->op->arg[0];
    em_line(e, "#pragma unroll");
    if (r->tile[1] == 1 || r->tile[1] == 4) {
        em_line(e, "for (int i = 0; i < 4; i += 2) %s[f * 2 + (i >> 1)] = %s;", name,
                as_held(e, r->dtype, value, em_expr(e, value)));
    } else if (em_pack_name(r->dtype, &pack)) {
        e->el = "(i + 0)";
        const char *x0 = as_held(e, r->dtype, value, em_expr(e, value));
        e->el = "(i + 1)";
        const char *x1 = as_held(e, r->dtype, value, em_expr(e, value));
        em_line(e, "for (int i = 0; i < %d; i += 2) %s[(f * %d + i) >> 1] = %s(%s, %s);", pr->cols / 2, name, pr->cols / 2,
                pack, x0, x1);
    } else {
        em_line(e, "for (int i = 0; i < %d; i++) %s[f * %d + i] = %s;", pr->cols / 2, name, pr->cols / 2,
                as_held(e, r->dtype, value, em_expr(e, value)));
    }
    e->share = 0;
    em_close(e);
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", name);
}

static void copy_read(emitter *e, uint32_t value, const weir_res *r, const weiri_preg *pr) {
    em_line(e, "%s v%u[%d];", weiri_packed(r) ? "u32" : weiri_ctype(r->dtype), value, pr->per_thread);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) v%u[i] = %s[i];", pr->per_thread, value, em_reg(e, r));
    em_make(e, value, MADE);
}

/* r:read(): a pending zero() becomes real, so that every later use may take the registers as they are. */
void em_read(emitter *e, const weiri_action *a) {
    const weir_res *r = e->k->res.v[a->reg];
    const weiri_preg *pr = &e->p->regs.v[weiri_preg_of(e->p, e->task, r)];
    const char *name = em_reg(e, r);
    uint32_t value = a->op->nret ? a->op->ret[0] : 0;
    bool copy = value && outlives(e, a->op, value);
    if (!(a->fresh & 1)) {
        em_line(e, "W_AT(%d);", a->id);
        if (copy) copy_read(e, value, r, pr);
        return;
    }
    if (a->fresh == 3) em_open(e, "W_AT(%d); if (!%s_live) {  // no mma since zero()", a->id, name);
    else em_open(e, "W_AT(%d); {", a->id);
    em_line(e, "#pragma unroll");
    em_line(e, "for (int i = 0; i < %d; i++) %s[i] = 0;", pr->per_thread, name);
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", name);
    em_close(e);
    if (copy) copy_read(e, value, r, pr);
}
