/* The mma of a warpgroup: descriptors of its operands in shared memory, and one instruction for each m64 block and each piece of
 * columns, a step of K at a time. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

/* ORDER WTYPE: the preamble's name of a pair of operand types. */
static const char *mma_type(weir_dtype a, weir_dtype b) {
    if (a == WEIR_E4M3 && b == WEIR_E5M2) return "W_E4M3_E5M2";
    if (a == WEIR_E5M2 && b == WEIR_E4M3) return "W_E5M2_E4M3";
    switch (b) {
    case WEIR_F16: return "W_F16";
    case WEIR_F32:
    case WEIR_TF32: return "W_TF32";
    case WEIR_E4M3: return "W_E4M3";
    case WEIR_E5M2: return "W_E5M2";
    default: return "W_BF16";
    }
}

bool em_has_live_flag(emitter *e, const weir_res *r) {
    for (int i = 1; i <= e->p->nactions; i++) {
        const weiri_action *a = e->p->action[i];
        if (a->reg == r->index && a->fresh == 3) return true;
    }
    return false;
}

static const char *descriptor(emitter *e, const char *addr, const weiri_operand *o) {
    return em_fmt(e, "w_desc(%s, %d, %d, %d)", addr, o->lbo, o->sbo, o->layout);
}

/* How far step kk of K is on, in descriptor units of 16 bytes. */
const char *em_k_step(emitter *e, const weiri_operand *o, int steps) {
    if (o->k_per_panel >= steps) return em_fmt(e, "kk * %d", o->k_step_bytes / 16);
    return em_fmt(e, "kk / %d * %" PRId64 " + kk %% %d * %d", o->k_per_panel, o->k_panel_bytes / 16, o->k_per_panel,
                  o->k_step_bytes / 16);
}

static const char *address_of(emitter *e, const weiri_effect *ef, int64_t at) {
    return em_plus(e, em_region_addr(e, ef->region, ef->cur, ef->stage, ef->back), at);
}

/* Names operand a in shared memory: each warpgroup has its own rows of it, if they share the rows. */
static void name_a(emitter *e, const weiri_view *v, const weiri_effect *ef, const weiri_preg *pr, weiri_operand *o) {
    weiri_tile_geom g;
    int64_t at;
    char why[256];
    weiri_view_operand(e->p, v, &g, &at, why, sizeof why);
    weiri_layout_operand(&g, weiri_stage_dtype(e->p, v->res), v->t, 64, o, why, sizeof why);
    const char *addr = address_of(e, ef, at);
    if (e->pt->warpgroups > 1 && pr->split == 'm') addr = em_fmt(e, "%s + wg * %" PRId64, addr, o->m64_bytes * pr->frags);
    em_line(e, "const u64 a = %s;", descriptor(e, addr, o));
}

/* Operand b: how it is cut. */
typedef struct operand_b {
    weiri_operand o;
    int64_t at, next; /* where it begins; where the next warpgroup's rows of it do, if they share the columns of the product */
    int cols, unit;   /* columns of the product that an instruction takes, at most; what they are a multiple of */
    int steps;        /* of K */
} operand_b;

static operand_b operand_of(emitter *e, const weiri_view *v, int cols, bool a_in_registers) {
    operand_b b = { .at = 0 };
    weiri_tile_geom g;
    char why[256];
    int need;
    const int parts = e->pt->by_cols ? e->pt->warpgroups : 1;
    if (parts > 1) weiri_view_part(e->p, v, 1, parts, &g, &b.next, why, sizeof why);
    weiri_view_part(e->p, v, 0, parts, &g, &b.at, why, sizeof why);
    b.cols = weiri_mma_columns(e->p, &g, v->t, cols, a_in_registers, &b.unit, &need);
    weiri_layout_operand(&g, weiri_stage_dtype(e->p, v->res), v->t, b.unit, &b.o, why, sizeof why);
    b.steps = (v->t ? g.rows : g.cols) * g.elem / 32;
    return b;
}

/* One batch: r += a * transpose(b) over the whole K of the operands. Effects of the action: the accumulator first, then the
 * operands in order. */
void em_mma(emitter *e, const weiri_action *a) {
    const weiri_plan *p = e->p;
    const weir_res *r = a->op->res;
    const weiri_preg *pr = &p->regs.v[weiri_preg_of(p, e->task, r)];
    const char *acc = em_reg(e, r);
    weiri_view va, vb;
    const bool a_reg = !weiri_view_of(e->k, a->op->arg[0], &va);
    weiri_view_of(e->k, a->op->arg[1], &vb);
    const weir_dtype dtype = weiri_stage_dtype(p, vb.res);
    const char *type = mma_type(a_reg ? dtype : weiri_stage_dtype(p, va.res), dtype);
    const operand_b b = operand_of(e, &vb, pr->cols, a_reg);
    weiri_operand oa = { 0 };
    em_line(e, "W_AT(%d);", a->id);
    em_open(e, "{");
    if (!a_reg) name_a(e, &va, &a->eff[a->neff - 2], pr, &oa);
    const char *addr = address_of(e, &a->eff[a->neff - 1], b.at);
    if (e->pt->by_cols && e->pt->warpgroups > 1) addr = em_fmt(e, "%s + wg * %" PRId64, addr, b.next - b.at);
    em_line(e, "const u64 b = %s;", descriptor(e, addr, &b.o));
    em_line(e, "#pragma unroll");
    em_open(e, "for (int kk = 0; kk < %d; kk++) {", b.steps);
    const char *kb = em_k_step(e, &b.o, b.steps), *ka = a_reg ? "" : em_k_step(e, &oa, b.steps);
    const char *on = a->fresh == 1 ? "kk != 0" : a->fresh == 2 ? "1" : em_fmt(e, "%s_live | kk", acc);
    const int pieces = (pr->cols + b.cols - 1) / b.cols;
    for (int i = 0; i < pr->frags * pieces; i++) {
        const int f = i / pieces, col = i % pieces * b.cols, n = pr->cols - col < b.cols ? pr->cols - col : b.cols;
        const char *d = pr->frags * pieces > 1 ? em_fmt(e, "%s + %d", acc, (f * pr->cols + col) / 2) : acc;
        const char *fb = col ? em_fmt(e, " + %" PRId64, col / b.unit * b.o.mn_step_bytes / 16) : "";
        if (a_reg) {
            const weir_res *x = weiri_val(e->k, a->op->arg[0])->res;
            const int at = f * p->regs.v[weiri_preg_of(p, e->task, x)].cols / 4;
            em_line(e, "w_wgmma_rs<%d, %s, %d>(%s, %s + %d + kk * 4, b + %s%s, %s);", n, type, b.o.mn_major, d, em_reg(e, x),
                    at, kb, fb, on);
        } else {
            const char *fa = f ? em_fmt(e, " + %" PRId64, oa.m64_bytes * f / 16) : "";
            em_line(e, "w_wgmma_ss<%d, %s, %d, %d>(%s, a + %s%s, b + %s%s, %s);", n, type, oa.mn_major, b.o.mn_major, d, ka, fa,
                    kb, fb, on);
        }
    }
    em_close(e);
    em_close(e);
    if (em_has_live_flag(e, r)) em_line(e, "%s_live = 1;", acc);
}
