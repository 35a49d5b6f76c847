/* mma.sync: the tensor core of sm_80 as one warp sees it. Operands and sums are registers, so nothing is in flight and nothing races;
 * what can go wrong is a lane that is elsewhere, and a register that nobody has set.
 *
 * Fragments (PTX ISA, "Matrix Fragments for mma.m16n8k..."): with g = lane / 4, the four lanes of g hold 16 bytes of k of row g in one
 * register each. Registers of A: row g, row g + 8, then the same of the next 16 bytes of k; of B: column g, then the next 16 bytes.
 * Sums: row g, columns 2 (lane % 4) and the next, then row g + 8.
 *
 * How sums are rounded is in sums.c. */
#include <math.h>
#include <string.h>

#include "../number.h"
#include "machine.h"

enum { ROWS = 16, COLUMNS = 8, OP_MMA = 0x4000, OP_WHOLE = 0x100, OP_MOVE = 0x4800 };

static bool is_i32(u32 type) { return type >= W_SIM_MMA_I32; }

/* 16 bytes of k, from the four lanes of a row or column; returns how many numbers. */
static int decode(machine *m, u32 type, bool b, const u32 *words, float *out) {
    if (is_i32(type)) {
        bool is_unsigned = (type - W_SIM_MMA_I32) >> (b ? 0 : 1) & 1;
        const u8 *p = (const u8 *)words;
        for (int i = 0; i < 16; i++) out[i] = is_unsigned ? p[i] : (i8)p[i];
        return 16;
    }
    return weiri_wgmma_decode(m, type == W_SIM_MMA_F16 ? 1 : type, b, words, out);
}

static u32 word_of(const void *registers, u32 i) {
    u32 x;
    memcpy(&x, (const u8 *)registers + 4 * i, sizeof x);
    return x;
}

/* A register that nobody has set, or that a wgmma or a load of tensor memory has not brought yet. Of integers only sums are looked at:
 * any pattern may be an operand. */
static bool defined(warp *w, u32 type, const char *name, u32 lane, const void *registers, u32 n) {
    for (u32 i = 0; i < n; i++) {
        thread *t = w->lane[lane];
        const char *why = weiri_sim_poison(word_of(registers, i));
        if (!why) continue;
        weiri_sim_fault(t->m, t, t->at, weiri_sim_poison_rule(word_of(registers, i)),
                        "lane %u: register %u of %s of an mma.sync%s holds %s", lane, i, name,
                        is_i32(type) ? " of integers" : "", why);
        return false;
    }
    return true;
}

/* m8n8k4 in double: a chain of fused steps in ascending k. */
static void run_f64(warp *w) {
    double a[8][4], b[4][8];
    for (u32 l = 0; l < 32; l++) {
        if (!defined(w, W_SIM_MMA_F64, "A", l, w->lane[l]->mma_a, 2) ||
            !defined(w, W_SIM_MMA_F64, "B", l, w->lane[l]->mma_b, 2) ||
            !defined(w, W_SIM_MMA_F64, "the sum", l, w->lane[l]->mma_d, 4))
            return;
        memcpy(&a[l / 4][l % 4], w->lane[l]->mma_a, sizeof(double));
        memcpy(&b[l % 4][l / 4], w->lane[l]->mma_b, sizeof(double));
    }
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < 2; i++) {
            double s;
            u8 *at = (u8 *)w->lane[l]->mma_d + sizeof s * i;
            memcpy(&s, at, sizeof s);
            for (u32 k = 0; k < 4; k++) s = fma(a[l / 4][k], b[k][2 * (l % 4) + i], s);
            memcpy(at, &s, sizeof s);
        }
}

static void run_mma(warp *w, u32 members) {
    (void)members;
    machine *m = w->lane[0]->m;
    u32 type = w->lane[0]->kind & 0xff, whole = w->lane[0]->kind & OP_WHOLE, pieces = whole ? 2 : 1,
        half = type == W_SIM_MMA_F16;
    float *a = m->mat_a, *b = m->mat_b, d[ROWS * COLUMNS]; /* a: rows x k, b: k x columns */
    u32 k = 0;
    if (type == W_SIM_MMA_F64) {
        run_f64(w);
        return;
    }
    for (u32 l = 0; l < 32; l++) {
        const thread *t = w->lane[l];
        if (!is_i32(type) && (!defined(w, type, "A", l, t->mma_a, 2 * pieces) || !defined(w, type, "B", l, t->mma_b, pieces)))
            return;
        if (!defined(w, type, "the sum", l, t->mma_d, half ? 2 : 4)) return;
    }
    for (u32 p = 0; p < pieces; p++)
        for (u32 row = 0; row < ROWS + COLUMNS; row++) {
            bool of_b = row >= ROWS;
            u32 g = row % 8, words[4];
            float x[16];
            for (u32 q = 0; q < 4; q++) {
                const thread *t = w->lane[4 * g + q];
                words[q] = of_b ? word_of(t->mma_b, p) : word_of(t->mma_a, 2 * p + row / 8);
            }
            u32 n = (u32)decode(m, type, of_b, words, x);
            k = pieces * n;
            for (u32 i = 0; i < n; i++) *(of_b ? &b[(p * n + i) * COLUMNS + g] : &a[row * k + p * n + i]) = x[i];
        }
    for (u32 last = 0; last < 2; last++) {
        if (last && !is_i32(type)) weiri_sums(m, half ? WEIRI_SUMS_F16 : WEIRI_SUMS_MMA, type, d, a, b, ROWS, COLUMNS, k);
        for (u32 l = 0; l < 32; l++)
            for (u32 i = 0; i < 4; i++) {
                u32 row = l / 4 + 8 * (i >> 1), column = 2 * (l % 4) + (i & 1);
                u8 *at = (u8 *)w->lane[l]->mma_d + (half ? 2 : 4) * i;
                float *sum = &d[row * COLUMNS + column];
                if (is_i32(type)) { /* it wraps */
                    u32 s = word_of(at, 0);
                    for (u32 j = 0; j < k && last; j++) s += (u32)((i32)a[row * k + j] * (i32)b[j * COLUMNS + column]);
                    memcpy(at, &s, sizeof s);
                } else if (half && last) {
                    weiri_number_put(WEIR_F16, *sum, at);
                    if (!(at[0] | (at[1] & 127))) at[1] = 0; /* what is rounded to 0 is +0, as the H200 shows */
                }
                else if (half) *sum = (float)weiri_number_get(WEIR_F16, at);
                else if (last) memcpy(at, sum, sizeof *sum);
                else memcpy(sum, at, sizeof *sum);
            }
    }
}

static void mma_sync(w_sim_api *api, u32 type, u32 whole, void *d, const void *a, const void *b) {
    thread *t = weiri_sim_self(api);
    t->mma_d = d;
    t->mma_a = a;
    t->mma_b = b;
    weiri_sync_warp(t, OP_MMA | (whole ? OP_WHOLE : 0) | type, 0xffffffffu, run_mma);
}

/* Lane 4 r + q holds elements 2q and 2q + 1 of row r. */
static void run_move(warp *w, u32 members) {
    (void)members;
    for (u32 l = 0; l < 32; l++) {
        u32 r = l / 4, q = l % 4, x = 0;
        for (u32 i = 0; i < 2; i++) x |= (w->lane[4 * (2 * q + i) + r / 2]->arg[0] >> 16 * (r & 1) & 0xffff) << 16 * i;
        w->lane[l]->ret[0] = x;
    }
}

static u32 movmatrix(w_sim_api *api, u32 x) {
    thread *t = weiri_sim_self(api);
    t->arg[0] = x;
    weiri_sync_warp(t, OP_MOVE, 0xffffffffu, run_move);
    return t->ret[0];
}

void weiri_mma_calls(w_sim_api *api) {
    api->w_sim_mma = mma_sync;
    api->w_movmatrix = movmatrix;
}
