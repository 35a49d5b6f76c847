/* The simulator on small kernels written by hand, with plans written by hand: right ones compute, each broken one is found and
 * named. Needs a C++ compiler; skipped without one. */
#define _GNU_SOURCE
#include "../tap.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/number.h"
#include "../../src/sim/sim.h"
#include "../../src/tmap.h"

#define SOURCE(...) #__VA_ARGS__

/* ---- a launch written by hand -------------------------------------------------------------------------------------------- */

enum { MAX = 16, MAX_ACTIONS = 64 };

typedef struct lab {
    weir_ctx *c;
    weir_kernel k;
    weiri_plan p;
    weiri_kparam kp[MAX];
    weiri_sim_param sp[MAX];
    union { weiri_tmap map; void *ptr; int32_t i; } value[MAX];
    int n;
    weiri_region regions[MAX]; weiri_bar bars[MAX];
    weiri_action actions[MAX_ACTIONS]; weiri_action *by_id[MAX_ACTIONS]; weiri_op ops[MAX_ACTIONS]; weir_place places[MAX_ACTIONS];
    weiri_pnode nodes[2 * MAX_ACTIONS]; int nnodes;
    weiri_task tasks[4]; weiri_ptask ptasks[4];
    uint64_t seed;
    int resident;
    weiri_buf out;
} lab;

static weir_ctx *ctx;

static lab *new_lab(const char *name, int threads, int64_t smem) {
    lab *l = calloc(1, sizeof *l);
    l->c = ctx;
    l->k.ctx = ctx;
    l->k.name = name;
    l->k.cluster = (weir_cluster){ 1, 1, 1, 1 };
    l->p.k = &l->k;
    l->p.threads = threads;
    l->p.warps = threads / 32;
    l->p.smem_total = smem;
    l->p.cluster = 1;
    l->p.params.v = l->kp;
    l->p.smem.v = l->regions;
    l->p.bars.v = l->bars;
    l->p.tasks = l->ptasks;
    l->p.action = l->by_id;
    l->seed = 1;
    weiri_arena_init(&l->p.a, ctx);
    weiri_buf_init(&l->out, ctx);
    return l;
}

static void free_lab(lab *l) {
    weiri_buf_free(&l->out);
    weiri_arena_free(&l->p.a);
    free(l);
}

static void *param(lab *l, weiri_kparam_kind kind, const char *name, const char *type, size_t size) {
    int i = l->n++;
    l->kp[i] = (weiri_kparam){ .kind = kind, .name = name, .type = type, .size = (int)size };
    l->sp[i] = (weiri_sim_param){ &l->value[i], size };
    l->p.params.n = l->n;
    return &l->value[i];
}

static void ptr_param(lab *l, const char *name, const char *type, void *p) {
    memcpy(param(l, KP_PTR, name, type, sizeof p), &p, sizeof p);
    weiri_sim_name(l->c, p, name);
}
static void int_param(lab *l, const char *name, int32_t x) { memcpy(param(l, KP_DIM, name, "i32", 4), &x, 4); }

/* A row-major matrix as tensor map, box box0 (columns) by box1 (rows). */
static void map_param(lab *l, const char *name, void *base, weir_dtype t, int rows, int cols, int pitch, int box0, int box1, int swizzle) {
    int es = weir_dtype_size(t);
    weiri_tmap m = { .base = (uint64_t)(uintptr_t)base, .dtype = t, .rank = 2, .dim = { (uint64_t)cols, (uint64_t)rows },
                     .stride = { (uint64_t)es, (uint64_t)(pitch * es) }, .box = { (uint32_t)box0, (uint32_t)box1 }, .swizzle = swizzle };
    memcpy(param(l, KP_TMAP, name, "w_tmap", sizeof m), &m, sizeof m);
}

static void region(lab *l, const char *name, int64_t offset, int stages, int64_t stage_bytes) {
    l->regions[l->p.smem.n++] =
        (weiri_region){ .name = name, .offset = offset, .size = stages * stage_bytes, .stages = stages, .stage_bytes = stage_bytes };
}

static void bars(lab *l, const char *name, int64_t offset, int stages, int count) {
    l->bars[l->p.bars.n++] = (weiri_bar){ .name = name, .first = l->p.nbarriers, .stages = stages, .offset = offset, .count = count };
    l->p.nbarriers += stages;
}

/* An action at line `line` of k.lua. */
static weiri_pnode *act(lab *l, int id, weiri_act kind, int bar, int line) {
    l->places[id] = (weir_place){ "k.lua", line };
    l->ops[id].at = (weiri_chain){ &l->places[id], 1 };
    l->actions[id] = (weiri_action){ .id = id, .kind = kind, .bar = bar, .cur = -1, .copy = -1, .reg = -1, .op = &l->ops[id] };
    l->by_id[id] = &l->actions[id];
    if (id > l->p.nactions) l->p.nactions = id;
    weiri_pnode *n = &l->nodes[l->nnodes++];
    *n = (weiri_pnode){ .kind = PN_ACTION, .act = &l->actions[id] };
    return n;
}

static weiri_pnode *block(lab *l, weiri_pnode_kind kind, weiri_pnode *first) {
    weiri_pnode *n = &l->nodes[l->nnodes++];
    *n = (weiri_pnode){ .kind = kind, .first = first };
    return n;
}

static weiri_pnode *then(weiri_pnode *a, weiri_pnode *b) {
    weiri_pnode *x = a;
    while (x->next) x = x->next;
    x->next = b;
    return a;
}

static void task(lab *l, const char *name, int first, int warps, bool solo, bool wg, weiri_pnode *root) {
    int i = l->p.ntasks++;
    l->tasks[i] = (weiri_task){ .name = name, .index = i, .first_warp = first, .num_warps = warps };
    l->ptasks[i] = (weiri_ptask){ .task = &l->tasks[i], .root = root, .solo = solo, .wg_actor = wg };
}

static weir_status launch(lab *l, const char *source, int grid) {
    l->out.n = 0;
    if (l->out.s) l->out.s[0] = '\0';
    weiri_sim_run r = { .plan = &l->p, .source = source, .params = l->sp, .nparams = l->n, .grid = grid, .resident = l->resident, .seed = l->seed };
    weir_status st = weiri_sim_launch(l->c, &r, &l->out);
    if (st != WEIR_OK && st != WEIR_E_SIM) printf("# %s\n", weir_error(l->c));
    return st;
}

static const char *found(const lab *l) { return l->out.s ? l->out.s : ""; }

static void runs(lab *l, const char *source, int grid, const char *name) {
    weir_status st = launch(l, source, grid);
    if (!ok(st == WEIR_OK, "%s", name)) tap_text("findings", found(l));
}

static void finds(lab *l, const char *source, int grid, const char *part, const char *name) {
    weir_status st = launch(l, source, grid);
    if (st != WEIR_E_SIM) ok(false, "%s (status %s)", name, weir_status_name(st));
    else has_str(part, found(l), name);
}

/* ---- data ---------------------------------------------------------------------------------------------------------------- */

static weiri_random rng;

static void *matrix(weir_dtype t, int rows, int pitch, bool fill) {
    size_t n = (size_t)rows * (size_t)pitch, es = (size_t)weir_dtype_size(t);
    char *p = weiri_sim_malloc(ctx, n * es);
    for (size_t i = 0; i < n; i++) weiri_number_put(t, fill ? weiri_random_normal(&rng) : 0, p + i * es);
    return p;
}

static double at(const void *p, weir_dtype t, size_t i) { return weiri_number_get(t, (const char *)p + i * (size_t)weir_dtype_size(t)); }

/* Largest |d - a b^T| relative to the tolerance of one rounding of the sum, over a { m, k }, b { n, k }. */
static double gemm_error(const void *d, weir_dtype td, int pd, const void *a, weir_dtype ta, int pa, const void *b, int pb, int m, int n, int k) {
    double worst = 0, *row = calloc((size_t)k, sizeof *row), *col = calloc((size_t)n * (size_t)k, sizeof *col);
    for (int j = 0; j < n; j++)
        for (int x = 0; x < k; x++) col[j * k + x] = at(b, ta, (size_t)j * (size_t)pb + (size_t)x);
    for (int i = 0; i < m; i++) {
        for (int x = 0; x < k; x++) row[x] = at(a, ta, (size_t)i * (size_t)pa + (size_t)x);
        for (int j = 0; j < n; j++) {
            double s = 0, e, scale = 1;
            for (int x = 0; x < k; x++) s += row[x] * col[j * k + x], scale += fabs(row[x] * col[j * k + x]);
            e = fabs(at(d, td, (size_t)i * (size_t)pd + (size_t)j) - s) / (td == WEIR_F32 ? scale * 1e-5 : fabs(s) / 200 + scale * 1e-5);
            if (!(e <= worst)) worst = e;
        }
    }
    free(row);
    free(col);
    return worst;
}

static void is_gemm(double error, const char *name) { if (!ok(error <= 1, "%s", name)) printf("# error / tolerance: %g\n", error); }

/* ---- plain memory -------------------------------------------------------------------------------------------------------- */

static const char copy_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) copy(float *y, const float *x, i32 n) {
        i32 i = (i32)(w_block() * 128 + w_tid());
        if (i < n) y[i] = x[i];
    }
);

static const char past_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) past(float *y, const float *x, i32 n) {
        i32 i = (i32)(w_block() * 128 + w_tid());
        if (i <= n) y[i] = x[i];
    }
);

static void test_copy(void) {
    enum { N = 1000 };
    float *x = matrix(WEIR_F32, 1, N, true), *y = matrix(WEIR_F32, 1, N, false);
    lab *l = new_lab("copy", 128, 0);
    ptr_param(l, "y", "float *", y);
    ptr_param(l, "x", "const float *", x);
    int_param(l, "n", N);
    l->resident = 2;
    runs(l, copy_source, 8, "a copy kernel runs, 8 CTAs, 2 at a time");
    ok(memcmp(x, y, sizeof(float) * N) == 0, "and copies");
    l->k.name = "past";
    finds(l, past_source, 8, "0 bytes past the end of 'x' (4000 bytes)", "a load one element past the end");
    l->k.name = "copy";
    free_lab(l);
    weiri_sim_free(ctx, x);
    weiri_sim_free(ctx, y);
}

static const char wrong_source[] = SOURCE(
    extern "C" __global__ void wrong(float *y) { y[0] = nothing; }
);

static const char asm_source[] = SOURCE(
    extern "C" __global__ void assembly(u32 *y) { asm volatile("mov.u32 %0, 1;" : "=r"(y[0])); }
);

static void test_compiler(void) {
    float *y = matrix(WEIR_F32, 1, 32, false);
    lab *l = new_lab("wrong", 32, 0);
    ptr_param(l, "y", "float *", y);
    is_int(WEIR_E_COMPILE, launch(l, wrong_source, 1), "a source that does not compile");
    has_str("wrong.cu:1:", found(l), "the compiler's place");
    has_str("nothing", found(l), "and its words");
    l->k.name = "assembly";
    l->kp[0].type = "u32 *";
    launch(l, asm_source, 1);
    has_str("inline assembly runs on the GPU only", found(l), "asm of a body is refused by name");
    free_lab(l);
    weiri_sim_free(ctx, y);
    weir_ctx *c = weir_open(&(weir_config){ .cxx = "/nowhere/c++" });
    weiri_buf b;
    weiri_buf_init(&b, c);
    l = new_lab("copy", 32, 0);
    weiri_sim_run r = { .plan = &l->p, .source = "", .grid = 1 };
    is_int(WEIR_E_NO_COMPILER, weiri_sim_launch(c, &r, &b), "no compiler");
    has_str("/nowhere/c++", weir_error(c), "says which");
    free_lab(l);
    weiri_buf_free(&b);
    weir_close(c);
}

/* ---- warps, named barriers, registers ------------------------------------------------------------------------------------ */

static const char warp_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) warps(float *y, u32 *z) {
        float v = (float)w_tid();
        for (u32 m = 16; m; m /= 2) v += w_shfl_xor(v, m);
        y[w_tid()] = v;
        u32 e = w_elect();
        if (e) atomicAdd(z, 1);
        z[1 + w_tid()] = __shfl_up_sync(0xffffffff, w_tid(), 1) + 1000 * __ballot_sync(0xffffffff, w_lane() == 3);
        *(u32 *)w_ptr(w_smem_base() + 4 * w_tid()) = w_tid();
        w_sync_cta();
        z[200 + w_tid()] = *(u32 *)w_ptr(w_smem_base() + 4 * (127 - w_tid()));
    }
);

static const char diverged_source[] = SOURCE(
    extern "C" __global__ void diverged(u32 *z) {
        if (w_lane() < 7) w_elect();
        else w_sync_warp();
    }
);

static const char named_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) named(u32 *z, i32 threads) {
        u32 a = w_smem_base() + 4 * w_tid();
        if (w_warp() < 2) {
            *(u32 *)w_ptr(a) = w_tid();
            w_bar_arrive(3, 128);
        } else {
            w_bar_sync(3, threads);
            z[w_tid()] = *(u32 *)w_ptr(a - 256);
        }
    }
);

static const char pool_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(256, 1) pool(u32 *z) {
        if (w_warp() < 4) w_reg_dec<40>();
        else w_reg_inc<232>();
        z[w_tid()] = 1;
    }
);

static void test_threads(void) {
    float *y = matrix(WEIR_F32, 1, 128, false);
    uint32_t *z = matrix(WEIR_U32, 1, 400, false);
    lab *l = new_lab("warps", 128, 1024);
    ptr_param(l, "y", "float *", y);
    ptr_param(l, "z", "u32 *", z);
    runs(l, warp_source, 1, "shuffles, votes, elect, shared memory");
    bool good = z[0] == 4;
    for (int i = 0; i < 128; i++) {
        good &= y[i] == (float)(32 * (i / 32 * 32) + 31 * 16);
        good &= z[1 + i] == (uint32_t)(i % 32 ? i - 1 : i) + 8000 && z[200 + i] == (uint32_t)(127 - i);
    }
    ok(good, "and their values");
    free_lab(l);

    l = new_lab("diverged", 32, 0);
    ptr_param(l, "z", "u32 *", z);
    finds(l, diverged_source, 1, "the warp has diverged", "lanes at different warp-wide operations");
    free_lab(l);

    l = new_lab("named", 128, 1024);
    ptr_param(l, "z", "u32 *", z);
    int_param(l, "threads", 128);
    runs(l, named_source, 1, "bar.arrive and bar.sync");
    ok(z[64] == 0 && z[127] == 63, "and what they order");
    l->value[1].i = 64;
    finds(l, named_source, 1, "named barrier 3 is joined with", "a named barrier with two counts");
    free_lab(l);

    l = new_lab("pool", 256, 0);
    ptr_param(l, "z", "u32 *", z);
    l->p.entry_registers = 136;
    runs(l, pool_source, 1, "a register split that the pool has");
    l->p.entry_registers = 128;
    finds(l, pool_source, 1, "setmaxnreg.inc 232: it lacks 104 registers a thread", "a register split that the pool does not have");
    free_lab(l);
    weiri_sim_free(ctx, y);
    weiri_sim_free(ctx, z);
}

/* ---- a TMA ring ---------------------------------------------------------------------------------------------------------- */

/* 1 producer warp, 1 consumer warp, 2 stages of 32 x 64 bytes; BREAK selects the mutation. */
#define RING(BREAK)                                                                                                      \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) ring(const __grid_constant__ w_tmap x_map, u32 *y, i32 n) {      \
        const u32 x_smem = w_smem_base(); const u32 full = x_smem + 4096; const u32 empty = full + 16;                   \
        if (w_tid() == 0) {                                                                                              \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, BREAK == 7 ? 2 : 1); } \
            w_fence_mbar_init();                                                                                         \
        }                                                                                                                \
        W_AT(1); w_sync_cta();                                                                                           \
        if (w_warp() == 0) {                                                                                             \
            if (w_lane() == 0) {                                                                                         \
                u32 s = 0; u32 ph = 1;                                                                                   \
                for (i32 i = 0; i < n; i++) {                                                                            \
                    W_AT(2); if (BREAK != 5) w_mbar_wait(empty + 8 * s, ph);                                             \
                    W_AT(3); w_mbar_expect(full + 8 * s, BREAK == 1 ? 2048 + 64 : BREAK == 2 ? 2048 - 64 : 2048);        \
                    W_AT(4); w_tma_load(x_smem + 2048 * s, &x_map, full + 8 * s, 0, 32 * i);                             \
                    if (++s == 2) { s = 0; ph ^= 1; }                                                                    \
                }                                                                                                        \
            }                                                                                                            \
        } else {                                                                                                         \
            u32 s = 0; u32 ph = 0;                                                                                       \
            for (i32 i = 0; i < n; i++) {                                                                                \
                W_AT(5); if (BREAK != 3) w_mbar_wait(full + 8 * s, ph);                                                  \
                W_AT(6);                                                                                                 \
                for (u32 j = w_lane(); j < 512; j += 32) y[512 * i + j] = *(u32 *)w_ptr(x_smem + 2048 * s + 4 * j);      \
                W_AT(7); w_sync_warp();                                                                                  \
                if (BREAK == 6 && i == 1) continue;                                                                      \
                W_AT(8); if (w_lane() == 0 && BREAK != 4) w_mbar_arrive(empty + 8 * s);                                  \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
        }                                                                                                                \
    })

static lab *ring_lab(void *x, void *y, int n) {
    lab *l = new_lab("ring", 64, 4096 + 32);
    map_param(l, "x_map", x, WEIR_U32, 32 * n, 16, 16, 16, 32, 0);
    ptr_param(l, "y", "u32 *", y);
    int_param(l, "n", n);
    region(l, "x", 0, 2, 2048);
    bars(l, "x_full", 4096, 2, 1);
    bars(l, "x_empty", 4112, 2, 1);
    l->p.prologue = act(l, 1, ACT_CTA_SYNC, -1, 1);
    task(l, "load", 0, 1, true, false, block(l, PN_LOOP, then(then(act(l, 2, ACT_WAIT, 1, 12), act(l, 3, ACT_EXPECT, 0, 13)), act(l, 4, ACT_LOAD_BULK, 0, 13))));
    task(l, "use", 1, 1, false, false,
         block(l, PN_LOOP, then(then(then(act(l, 5, ACT_WAIT, 0, 22), act(l, 6, ACT_BODY, -1, 23)), act(l, 7, ACT_WARP_SYNC, -1, 24)), act(l, 8, ACT_ARRIVE, 1, 24))));
    return l;
}

static void test_ring(void) {
    enum { N = 9 };
    uint32_t *x = matrix(WEIR_U32, 32 * N, 16, false), *y = matrix(WEIR_U32, 32 * N, 16, false);
    for (uint32_t i = 0; i < 512 * N; i++) x[i] = i * 2654435761u;
    lab *l = ring_lab(x, y, N);
    bool same = true;
    for (l->seed = 1; l->seed <= 8 && same; l->seed++) {
        memset(y, 0, 2048 * N);
        same = launch(l, RING(0), 1) == WEIR_OK && memcmp(x, y, 2048 * N) == 0;
    }
    if (!ok(same, "a TMA ring, 8 seeds")) tap_text("findings", found(l));
    l->seed = 1;
    finds(l, RING(1), 1, "mbarrier 'x_full' stage 0, parity 0: phase 0 has 1 of 1 arrivals, 2048 bytes landed, 64 missing", "tx bytes over what lands: deadlock");
    has_str("k.lua:22: task 'use', CTA 0, warp 1: waits for", found(l), "with the waiting task, warp and line");
    has_str("k.lua:12: task 'load', CTA 0, warp 0, lane 0: waits for mbarrier 'x_empty' stage 0", found(l), "and the producer's");
    finds(l, RING(2), 1, "2048 bytes landed, 1984 were expected", "tx bytes short of what lands");
    bool early = false;
    for (l->seed = 1; l->seed <= 8; l->seed++) {
        launch(l, RING(3), 1);
        early |= strstr(found(l), "[sim-early-read]") || strstr(found(l), "[sim-uninit]");
    }
    ok(early, "a missing full wait");
    l->seed = 1;
    finds(l, RING(4), 1, "[sim-deadlock]", "a missing release");
    has_str("k.lua:12: task 'load'", found(l), "names who waits for it");
    bool over = false;
    for (l->seed = 1; l->seed <= 8; l->seed++) {
        launch(l, RING(5), 1);
        over |= strstr(found(l), "[sim-async-write]") || strstr(found(l), "[sim-arrivals]");
    }
    ok(over, "a missing acquire");
    l->seed = 1;
    finds(l, RING(6), 1, "the plan expects 8 arrive 'x_empty' (k.lua:24)", "a source that leaves out an action of the plan");
    finds(l, RING(7), 1, "mbarrier 'x_empty' stage 0, parity 0: phase 0 has 1 of 2 arrivals", "an arrive count that is too large");
    /* the same text, but the plan has another order */
    l->by_id[5]->kind = ACT_BODY;
    weiri_pnode *first = l->ptasks[1].root->first, *second = first->next;
    first->next = second->next;
    second->next = first;
    l->ptasks[1].root->first = second;
    finds(l, RING(0), 1, "the plan expects 6 body (k.lua:23)", "a source whose order is not the plan's");
    free_lab(l);
    weiri_sim_free(ctx, x);
    weiri_sim_free(ctx, y);
}

/* ---- GEMM ---------------------------------------------------------------------------------------------------------------- */

#define GEMM(BREAK)                                                                                                      \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(384, 1) gemm(const __grid_constant__ w_tmap A_map,                      \
            const __grid_constant__ w_tmap B_map, const __grid_constant__ w_tmap D_map, i32 N, i32 K) {                  \
        const u32 sA = w_smem_base(); const u32 sB = sA + 32768; const u32 sC = sB + 65536; const u32 full = sC + 32768; \
        const u32 empty = full + 16; const u32 tid = w_tid(); const u32 warp = w_warp();                                 \
        if (tid == 0) {                                                                                                  \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, 2); }                 \
            w_fence_mbar_init();                                                                                         \
        }                                                                                                                \
        w_sync_cta();                                                                                                    \
        const i32 nn = w_ceil_div(N, 256); const i32 tm = (i32)w_block() / nn; const i32 tn = (i32)w_block() % nn;       \
        const i32 kt = w_ceil_div(K, 64);                                                                                \
        if (warp < 4) {                                                                                                  \
            w_reg_dec<40>();                                                                                             \
            if (tid == 0) {                                                                                              \
                u32 s = 0; u32 ph = 1;                                                                                   \
                for (i32 k = 0; k < kt; k++) {                                                                           \
                    w_mbar_wait(empty + 8 * s, ph);                                                                      \
                    w_mbar_expect(full + 8 * s, 49152);                                                                  \
                    w_tma_load(sA + 16384 * s, &A_map, full + 8 * s, 64 * k, 128 * tm);                                  \
                    w_tma_load(sB + 32768 * s, &B_map, full + 8 * s, 64 * k, 256 * tn);                                  \
                    if (++s == 2) { s = 0; ph ^= 1; }                                                                    \
                }                                                                                                        \
            }                                                                                                            \
        } else {                                                                                                         \
            w_reg_inc<232>();                                                                                            \
            const u32 wg = warp / 4 - 1; const u32 t = tid % 128;                                                        \
            float acc[128]; u32 s = 0; u32 ph = 0; u32 before = 0;                                                       \
            for (i32 k = 0; k < kt; k++) {                                                                               \
                w_mbar_wait(full + 8 * s, ph);                                                                           \
                if (BREAK != 6) w_wgmma_fence();                                                                         \
                for (u32 j = 0; j < 4; j++)                                                                              \
                    w_wgmma_ss<256, W_BF16, 0, 0>(acc, w_desc(sA + 16384 * s + 8192 * wg + 32 * j, 16, 1024, 1),         \
                        w_desc(sB + 32768 * s + 32 * j, 16, 1024, 1), BREAK == 7 ? 1 : (k | (i32)j) != 0);               \
                w_wgmma_commit();                                                                                        \
                w_wgmma_wait<1>();                                                                                       \
                if (BREAK == 4) { if (t == 0) w_mbar_arrive(empty + 8 * s); }                                            \
                else if (k > 0 && t == 0) w_mbar_arrive(empty + 8 * before);                                             \
                before = s;                                                                                              \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
            if (BREAK != 3) w_wgmma_wait<0>();                                                                           \
            for (u32 c = 0; c < 4; c++) {                                                                                \
                const u32 buf = sC + 16384 * wg + 8192 * (c & 1);                                                        \
                if (BREAK != 2 && t == 0) w_bulk_wait_read<1>();                                                         \
                w_bar_sync(wg + 1, 128);                                                                                 \
                for (u32 q = 0; q < 4; q++) {                                                                            \
                    u32 at = buf + (16 * (t / 32) + t % 16) * 128 + 32 * q + 16 * (t % 32 / 16);                         \
                    const float *v = acc + 32 * c + 8 * q;                                                               \
                    w_stmatrix4(at ^ (at >> 3 & 0x70), w_pack_bf16(v[0], v[1]), w_pack_bf16(v[2], v[3]),                 \
                        w_pack_bf16(v[4], v[5]), w_pack_bf16(v[6], v[7]));                                               \
                }                                                                                                        \
                if (BREAK != 1 || t == 0) w_fence_async();                                                               \
                w_bar_sync(wg + 1, 128);                                                                                 \
                if (t == 0) {                                                                                            \
                    w_tma_store(&D_map, buf, 256 * tn + 64 * (i32)c, 128 * tm + 64 * (i32)wg);                           \
                    w_bulk_commit();                                                                                     \
                }                                                                                                        \
            }                                                                                                            \
            if (BREAK != 5 && t == 0) w_bulk_wait<0>();                                                                  \
        }                                                                                                                \
    })

typedef struct gemm { int m, n, k, pa, pd; void *a, *b, *d; lab *l; } gemm;

static gemm gemm_lab(int m, int n, int k) {
    gemm g = { .m = m, .n = n, .k = k, .pa = (k + 7) / 8 * 8, .pd = (n + 7) / 8 * 8 };
    g.a = matrix(WEIR_BF16, m, g.pa, true);
    g.b = matrix(WEIR_BF16, n, g.pa, true);
    g.d = matrix(WEIR_BF16, m, g.pd, false);
    lab *l = g.l = new_lab("gemm", 384, 131072 + 32);
    map_param(l, "A_map", g.a, WEIR_BF16, m, k, g.pa, 64, 128, 128);
    map_param(l, "B_map", g.b, WEIR_BF16, n, k, g.pa, 64, 256, 128);
    map_param(l, "D_map", g.d, WEIR_BF16, m, n, g.pd, 64, 64, 128);
    int_param(l, "N", n);
    int_param(l, "K", k);
    region(l, "a", 0, 2, 16384);
    region(l, "b", 32768, 2, 32768);
    region(l, "stage", 98304, 4, 8192);
    bars(l, "ab_full", 131072, 2, 1);
    bars(l, "ab_empty", 131088, 2, 2);
    l->p.entry_registers = 168;
    return g;
}

static int gemm_grid(const gemm *g) { return (g->m + 127) / 128 * ((g->n + 255) / 256); }

static double gemm_check(const gemm *g) {
    return gemm_error(g->d, WEIR_BF16, g->pd, g->a, WEIR_BF16, g->pa, g->b, g->pa, g->m, g->n, g->k);
}

static void gemm_free(gemm *g) {
    weiri_sim_free(ctx, g->a);
    weiri_sim_free(ctx, g->b);
    weiri_sim_free(ctx, g->d);
    free_lab(g->l);
}

/* Over a few seeds, does the fault show? */
static void gemm_finds(gemm *g, const char *source, const char *rule, const char *name) {
    bool seen = false;
    for (g->l->seed = 1; g->l->seed <= 20 && !seen; g->l->seed++) seen = launch(g->l, source, gemm_grid(g)) == WEIR_E_SIM && strstr(found(g->l), rule);
    if (!ok(seen, "%s %s", name, rule)) tap_text("findings", found(g->l));
}

static void test_gemm(void) {
    gemm g = gemm_lab(128, 256, 320);
    bool good = true;
    for (g.l->seed = 1; g.l->seed <= 4 && good; g.l->seed++) {
        good = launch(g.l, GEMM(0), 1) == WEIR_OK;
        if (!good) tap_text("findings", found(g.l));
        good = good && gemm_check(&g) <= 1;
    }
    ok(good, "gemm 128 x 256 x 320, 4 seeds");
    gemm_finds(&g, GEMM(1), "[sim-fence]", "stmatrix, then a TMA store, with the fence in one thread only");
    gemm_finds(&g, GEMM(2), "[sim-async-read]", "a staging tile rewritten while TMA reads it");
    gemm_finds(&g, GEMM(3), "[sim-accumulator]", "accumulators read before the last wgmma wait");
    gemm_finds(&g, GEMM(4), "[sim-async-read]", "a stage given back while wgmma reads it");
    gemm_finds(&g, GEMM(5), "[sim-exit]", "a thread that exits while its store reads");
    gemm_finds(&g, GEMM(6), "[sim-wgmma]", "no wgmma.fence");
    gemm_free(&g);
    g = gemm_lab(200, 300, 72);
    runs(g.l, GEMM(0), gemm_grid(&g), "gemm 200 x 300 x 72: edges");
    is_gemm(gemm_check(&g), "and its values");
    gemm_free(&g);
    g = gemm_lab(512, 512, 512);
    clock_t t0 = clock();
    runs(g.l, GEMM(0), gemm_grid(&g), "gemm 512^3");
    printf("# 512^3: %.2f s\n", (double)(clock() - t0) / CLOCKS_PER_SEC);
    is_gemm(gemm_check(&g), "and its values");
    gemm_free(&g);
}

/* ---- every kind of wgmma operand ------------------------------------------------------------------------------------------ */

/* One warpgroup: D (64 x N, f32) = A B^T over one slab of 128 bytes of K. Operands come by TMA as panels of SPAN bytes (16: no
 * swizzle); TA, TB 1: the tensor lies [k][m], [k][n]. RS: A comes from registers. */
static const char mm_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) mm(const __grid_constant__ w_tmap A_map, const __grid_constant__ w_tmap B_map,
            const ELEMENT *A, float *D) {
        const u32 sA = w_smem_base(); const u32 sB = sA + 32768; const u32 full = sB + 65536; const u32 tid = w_tid();
        const u32 KT = 128 / sizeof(ELEMENT); const u32 pa = 64 * 128 / (SPAN * (TA ? 64 * sizeof(ELEMENT) / SPAN : 128 / SPAN));
        const u32 pb = N * 128 / (SPAN * (TB ? N * sizeof(ELEMENT) / SPAN : 128 / SPAN));
        const u32 bytes_a = 64 * 128; const u32 bytes_b = N * 128;
        if (tid == 0) { w_mbar_init(full, 1); w_fence_mbar_init(); }
        w_sync_cta();
        if (tid == 0) {
            w_mbar_expect(full, (RS ? 0 : bytes_a) + bytes_b);
            for (u32 p = 0; !RS && p * pa * SPAN < bytes_a; p++)
                w_tma_load(sA + p * pa * SPAN, &A_map, full, (i32)(p * SPAN / sizeof(ELEMENT)), 0);
            for (u32 p = 0; p * pb * SPAN < bytes_b; p++) w_tma_load(sB + p * pb * SPAN, &B_map, full, (i32)(p * SPAN / sizeof(ELEMENT)), 0);
        }
        w_mbar_wait(full, 0);
        w_wgmma_fence();
        float d[N / 2];
        const u32 w = tid / 32; const u32 g = tid % 32 / 4; const u32 q = tid % 4;
        const u32 layout = SPAN == 128 ? 1 : SPAN == 64 ? 2 : SPAN == 32 ? 3 : 0;
        for (u32 j = 0; j < 4; j++) {
            const u32 k_a = TA ? (SPAN == 16 ? 256 * j : 16 * SPAN * j) : SPAN == 16 ? 2 * j * pa * SPAN : 32 * j / SPAN * (pa * SPAN) + 32 * j % SPAN;
            const u32 k_b = TB ? (SPAN == 16 ? 256 * j : 16 * SPAN * j) : SPAN == 16 ? 2 * j * pb * SPAN : 32 * j / SPAN * (pb * SPAN) + 32 * j % SPAN;
            const u64 b = SPAN > 16 ? w_desc(sB + k_b, pb * SPAN, 8 * SPAN, layout)
                          : TB ? w_desc(sB + k_b, 128, pb * SPAN, 0) : w_desc(sB + k_b, pb * SPAN, 128, 0);
            const u64 a = SPAN > 16 ? w_desc(sA + k_a, pa * SPAN, 8 * SPAN, layout)
                          : TA ? w_desc(sA + k_a, 128, pa * SPAN, 0) : w_desc(sA + k_a, pa * SPAN, 128, 0);
            if constexpr (RS) {
                u32 r[4];
                const u32 per = 4 / sizeof(ELEMENT);
                for (u32 i = 0; i < 4; i++)
                    memcpy(&r[i], A + (16 * w + g + 8 * (i & 1)) * KT + KT / 4 * j + per * q + (i >> 1) * KT / 8, 4);
                w_wgmma_rs<N, TYPE, TB>(d, r, b, j > 0);
            } else
                w_wgmma_ss<N, TYPE, TA, TB>(d, a, b, j > 0);
        }
        w_wgmma_commit();
        w_wgmma_wait<0>();
        for (u32 i = 0; i < N / 2; i++) D[(16 * w + g + 8 * (i >> 1 & 1)) * N + 8 * (i >> 2) + 2 * q + (i & 1)] = d[i];
    }
);

static void mm(weir_dtype t, const char *element, int type, int n, int span, int ta, int tb, int rs) {
    int es = weir_dtype_size(t), kt = 128 / es;
    void *a = matrix(t, 64 * kt, 1, true), *b = matrix(t, n * kt, 1, true);
    float *d = matrix(WEIR_F32, 64, n, false);
    lab *l = new_lab("mm", 128, 32768 + 65536 + 8);
    if (ta) map_param(l, "A_map", a, t, kt, 64, 64, span / es, kt, span == 16 ? 0 : span);
    else map_param(l, "A_map", a, t, 64, kt, kt, span / es, 64, span == 16 ? 0 : span);
    if (tb) map_param(l, "B_map", b, t, kt, n, n, span / es, kt, span == 16 ? 0 : span);
    else map_param(l, "B_map", b, t, n, kt, kt, span / es, n, span == 16 ? 0 : span);
    char *source = malloc(sizeof mm_source + 200), type_name[32];
    snprintf(type_name, sizeof type_name, "const %s *", element);
    ptr_param(l, "A", type_name, a);
    ptr_param(l, "D", "float *", d);
    sprintf(source, "typedef %s ELEMENT; enum { TYPE = %d, N = %d, SPAN = %d, TA = %d, TB = %d, RS = %d };", element, type, n, span, ta, tb, rs);
    strcat(source, mm_source);
    weir_status st = launch(l, source, 1);
    double worst = 0;
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0, scale = 1;
            for (int k = 0; k < kt; k++) {
                double x = at(a, t, (size_t)(ta ? k * 64 + i : i * kt + k)) * at(b, t, (size_t)(tb ? k * n + j : j * kt + k));
                sum += x;
                scale += fabs(x);
            }
            double e = fabs(d[i * n + j] - sum) / (scale * 1e-6);
            if (!(e <= worst)) worst = e;
        }
    if (!ok(st == WEIR_OK && worst <= 1, "wgmma %s%s n%d, %s A, %s B, span %d", rs ? "RS " : "", element, n, ta ? "M-major" : "K-major", tb ? "N-major" : "K-major",
            span)) {
        printf("# error / tolerance %g\n", worst);
        tap_text("findings", found(l));
    }
    free(source);
    free_lab(l);
    weiri_sim_free(ctx, a);
    weiri_sim_free(ctx, b);
    weiri_sim_free(ctx, d);
}

static void test_wgmma(void) {
    mm(WEIR_BF16, "bf16", 0, 64, 128, 0, 0, 0);
    mm(WEIR_BF16, "bf16", 0, 24, 64, 0, 0, 0);
    mm(WEIR_F16, "f16", 1, 40, 32, 0, 0, 0);
    mm(WEIR_F16, "f16", 1, 64, 16, 0, 0, 0);
    mm(WEIR_BF16, "bf16", 0, 256, 128, 1, 1, 0);
    mm(WEIR_F16, "f16", 1, 96, 64, 1, 1, 0);
    mm(WEIR_BF16, "bf16", 0, 32, 32, 1, 0, 0);
    mm(WEIR_BF16, "bf16", 0, 64, 16, 1, 1, 0);
    mm(WEIR_TF32, "tf32", 2, 8, 128, 0, 0, 0);
    mm(WEIR_E4M3, "e4m3", 3, 128, 128, 0, 0, 0);
    mm(WEIR_E5M2, "e5m2", 4, 16, 64, 0, 0, 0);
    mm(WEIR_BF16, "bf16", 0, 128, 128, 0, 1, 1);
    mm(WEIR_TF32, "tf32", 2, 16, 128, 0, 0, 1);
    mm(WEIR_E4M3, "e4m3", 3, 16, 128, 0, 0, 1);
}

/* ---- clusters ------------------------------------------------------------------------------------------------------------ */

/* 2 CTAs; each loads its half of a 32 x 64-byte tile for both, 6 rounds over 2 stages; every consumer warp frees the stage in
 * both. Then CTA 0 pushes 512 bytes to CTA 1. */
#define CLUSTER(BREAK)                                                                                                   \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) pair(const __grid_constant__ w_tmap x_map, u32 *y, i32 n) {      \
        const u32 x = w_smem_base(); const u32 full = x + 4096; const u32 empty = full + 16; const u32 pushed = full + 32; \
        const u32 rank = w_cluster_rank();                                                                               \
        if (w_tid() == 0) {                                                                                              \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, BREAK == 2 ? 1 : 2); } \
            w_mbar_init(pushed, 1);                                                                                      \
            if (BREAK != 4) w_fence_mbar_init();                                                                         \
        }                                                                                                                \
        if (BREAK != 5) { w_cluster_arrive_relaxed(); w_cluster_wait(); }                                                \
        else w_sync_cta();                                                                                               \
        if (w_warp() == 0) {                                                                                             \
            u32 s = 0; u32 ph = 1;                                                                                       \
            for (i32 i = 0; i < n && w_lane() == 0; i++) {                                                               \
                w_mbar_wait(empty + 8 * s, ph);                                                                          \
                w_mbar_expect(full + 8 * s, 2048);                                                                       \
                w_tma_load_multicast(x + 2048 * s + 1024 * rank, &x_map, full + 8 * s, BREAK == 1 ? 2 >> rank : 3, 0, 32 * i + 16 * (i32)rank); \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
            w_sync_warp();                                                                                               \
        } else {                                                                                                         \
            u32 s = 0; u32 ph = 0;                                                                                       \
            for (i32 i = 0; i < n; i++) {                                                                                \
                w_mbar_wait(full + 8 * s, ph);                                                                           \
                for (u32 j = w_lane(); j < 512; j += 32) y[(rank * n + i) * 512 + j] = *(u32 *)w_ptr(x + 2048 * s + 4 * j); \
                w_sync_warp();                                                                                           \
                if (w_lane() < 2) w_mbar_arrive_remote(empty + 8 * s, w_lane());                                         \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
        }                                                                                                                \
        if (BREAK == 3) return;                                                                                          \
        w_cluster_arrive(); w_cluster_wait();                                                                            \
        if (rank == 0 && w_tid() == 0) {                                                                                 \
            w_mbar_expect_remote(pushed, 1, 512);                                                                        \
            w_bulk_push(x, x + 512, 512, pushed, 1);                                                                     \
        }                                                                                                                \
        if (rank == 1) {                                                                                                 \
            w_mbar_wait(pushed, 0);                                                                                      \
            for (u32 j = w_tid(); j < 128; j += 64) y[2 * n * 512 + j] = *(u32 *)w_ptr(x + 4 * j);                       \
        }                                                                                                                \
        if (BREAK != 6) { w_cluster_arrive(); w_cluster_wait(); }                                                        \
    })

static void cluster_finds(lab *l, const char *source, const char *part, const char *other, const char *name) {
    bool seen = false;
    for (l->seed = 1; l->seed <= 20 && !seen; l->seed++) seen = launch(l, source, 2) == WEIR_E_SIM && (strstr(found(l), part) || strstr(found(l), other));
    if (!ok(seen, "%s", name)) tap_text("findings", found(l));
}

static void test_cluster(void) {
    enum { N = 6 };
    uint32_t *x = matrix(WEIR_U32, 32 * N, 16, false), *y = matrix(WEIR_U32, 2 * 32 * N + 8, 16, false);
    for (uint32_t i = 0; i < 512 * N; i++) x[i] = i * 2654435761u;
    lab *l = new_lab("pair", 64, 4096 + 40);
    l->k.cluster.m = 2;
    l->p.cluster = 2;
    map_param(l, "x_map", x, WEIR_U32, 32 * N, 16, 16, 16, 16, 0);
    ptr_param(l, "y", "u32 *", y);
    int_param(l, "n", N);
    bars(l, "x_full", 4096, 2, 1);
    bars(l, "x_empty", 4112, 2, 2);
    bool same = true;
    for (l->seed = 1; l->seed <= 8 && same; l->seed++)
        same = launch(l, CLUSTER(0), 2) == WEIR_OK && !memcmp(x, y, 2048 * N) && !memcmp(x, y + 512 * N, 2048 * N) &&
               !memcmp(x + 512 * (N - 2) + 128, y + 1024 * N, 512);
    if (!ok(same, "multicast, remote arrives, a push: 8 seeds")) tap_text("findings", found(l));
    cluster_finds(l, CLUSTER(1), "[sim-deadlock]", "[sim-tx]", "a multicast mask without the own CTA");
    cluster_finds(l, CLUSTER(2), "[sim-async-write]", "[sim-arrivals]", "an empty count that leaves out the peer");
    cluster_finds(l, CLUSTER(3), "[sim-exit", "[sim-exited]", "no cluster barrier before the exit");
    cluster_finds(l, CLUSTER(4), "has run no fence.mbarrier_init", "-", "no fence after the init");
    cluster_finds(l, CLUSTER(5), "[sim-bar-init]", "[sim-exited]", "the CTA's barrier where the cluster's is needed");
    cluster_finds(l, CLUSTER(6), "[sim-exit", "-", "the source of a push exits before the push is done");
    l->seed = 1;
    is_int(WEIR_E_LAUNCH, launch(l, CLUSTER(0), 3), "a grid that is no multiple of the cluster");
    free_lab(l);
    weiri_sim_free(ctx, x);
    weiri_sim_free(ctx, y);
}

/* ---- cp.async, reductions ------------------------------------------------------------------------------------------------ */

/* 32 threads copy 2 KiB by cp.async (the last 3 floats do not exist), then TMA adds it to y. */
#define CP(BREAK)                                                                                                        \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) cp(const __grid_constant__ w_tmap y_map, const float *x, i32 n) { \
        const u32 s = w_smem_base(); const u32 bar = s + 2048; const u32 lane = w_lane();                                \
        if (w_tid() == 0) { w_mbar_init(bar, 32); w_fence_mbar_init(); }                                                 \
        w_sync_cta();                                                                                                    \
        if (w_warp() == 0) {                                                                                             \
            for (u32 i = lane; i < 128; i += 32) {                                                                       \
                i32 left = n - 4 * (i32)i; left = left < 0 ? 0 : left > 4 ? 4 : left;                                    \
                w_cp_async<16>(s + 16 * i, x + (left ? 4 * i : 0), 4 * left);                                            \
                if (i / 32 == 1) w_cp_commit();                                                                          \
            }                                                                                                            \
            if (BREAK == 3) { w_cp_commit(); w_cp_wait<1>(); w_mbar_arrive(bar); w_mbar_wait(bar, 0); w_cp_wait<0>(); }                                   \
            else if (BREAK == 4) { w_cp_commit(); w_cp_wait<0>(); w_mbar_arrive(bar); }                                  \
            else w_mbar_cp_async_arrive(bar);                                                                            \
            if (BREAK != 3 && BREAK != 4) w_mbar_wait(bar, 0);                                                           \
        } else {                                                                                                         \
            if (BREAK != 2) w_mbar_wait(bar, 0);                                                                         \
            float v = 0;                                                                                                 \
            for (u32 i = lane; i < 512; i += 32) v += *(float *)w_ptr(s + 4 * i);                                        \
            if (BREAK != 1) w_fence_async();                                                                             \
            w_sync_warp();                                                                                               \
            if (lane == 0 && v < 1e30f) {                                                                                \
                w_tma_reduce_add(&y_map, s, 0, (i32)w_block() / 2);                                                      \
                w_bulk_commit();                                                                                         \
                w_bulk_wait<0>();                                                                                        \
            }                                                                                                            \
        }                                                                                                                \
    })

static void test_cp(void) {
    enum { N = 509 };
    float *x = matrix(WEIR_F32, 1, N + 3, true), *y = matrix(WEIR_F32, 2, 512, false);
    weiri_sim_name(ctx, x, "x");
    lab *l = new_lab("cp", 64, 2048 + 8);
    map_param(l, "y_map", y, WEIR_F32, 2, 250, 512, 256, 2, 0);
    ptr_param(l, "x", "const float *", x);
    int_param(l, "n", N);
    runs(l, CP(0), 3, "cp.async on an mbarrier, TMA reduction clipped at the edge");
    bool good = true;
    for (int i = 0; i < 512; i++) {
        good &= y[i] == (i < 250 ? 2 * x[i] : 0);
        good &= y[512 + i] == (i < 250 ? 2 * x[256 + i] + x[i] : 0) || fabsf(y[512 + i] - (2 * x[256 + i] + x[i])) < 1e-5f;
    }
    ok(good, "and its sums");
    gemm g = { .l = l, .m = 1, .n = 1 };
    gemm_finds(&g, CP(1), "[sim-fence]", "cp.async, then TMA, without a fence");
    gemm_finds(&g, CP(2), "[sim-", "cp.async read without a wait");
    gemm_finds(&g, CP(3), "[sim-early-read]", "one cp.async group too few waited for");
    l->seed = 1;
    runs(l, CP(4), 1, "cp.async groups");
    free_lab(l);
    weiri_sim_free(ctx, x);
    weiri_sim_free(ctx, y);
}

/* ---- what else goes wrong -------------------------------------------------------------------------------------------------- */

static const char poll_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(64, 1) poll(u32 *z, i32 arrive) {
        const u32 bar = w_smem_base();
        if (w_tid() == 0) { w_mbar_init(bar, 1); w_fence_mbar_init(); }
        w_sync_cta();
        if (w_warp() == 0) { while (!w_mbar_try(bar, 0)) {} z[w_lane()] = 1; }
        else if (arrive && w_lane() == 0) w_mbar_arrive(bar);
    }
);

static const char spin_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(32, 1) spin(u32 *z, i32 n) {
        if (w_block() == 0) { while (*(volatile u32 *)z != 7) {} z[1] = 1; }
        else if (n) *(volatile u32 *)z = 7;
    }
);

static const char map_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(32, 1) maps(const __grid_constant__ w_tmap x_map, i32 what) {
        const u32 s = w_smem_base(); const u32 bar = s + 4096;
        if (w_tid() == 0) {
            w_mbar_init(bar, 1);
            w_fence_mbar_init();
            w_mbar_expect(bar, 2048);
            if (what == 0) w_tma_load(s, &x_map, bar, 0);
            if (what == 1) w_tma_load(s + 64, &x_map, bar, 0, 0);
            if (what == 2) w_tma_load(s + 3072, &x_map, bar, 0, 0);
            if (what == 3) w_tma_store(&x_map, s, -1, 0);
            if (what == 4) *(u32 *)w_ptr(bar) = 0;
            if (what == 5) w_mbar_arrive(bar);
            if (what == 6) w_mbar_wait(bar + 8, 0);
            if (what == 7) w_tma_store(&x_map, s, 0, 0);
            if (what == 8) w_sim_trap("a trap");
            if (what == 9) w_tma_load(s, &x_map, bar, -3, 20);
            if (what == 9) { w_mbar_wait(bar, 0); for (u32 i = 0; i < 512; i++) if (*(u32 *)w_ptr(s + 4 * i) != (i % 16 < 3 || i >= 192 ? 0 : 7)) __trap(); }
        }
    }
);

static void test_faults(void) {
    uint32_t *z = matrix(WEIR_U32, 1, 64, false), *x = matrix(WEIR_U32, 32, 16, false);
    for (int i = 0; i < 512; i++) x[i] = 7;
    lab *l = new_lab("poll", 64, 1024);
    ptr_param(l, "z", "u32 *", z);
    int_param(l, "arrive", 1);
    runs(l, poll_source, 1, "a loop around try_wait");
    l->value[1].i = 0;
    finds(l, poll_source, 1, "[sim-deadlock]", "a loop around try_wait that never ends");
    free_lab(l);

    l = new_lab("spin", 32, 0);
    ptr_param(l, "z", "u32 *", z);
    int_param(l, "n", 1);
    z[0] = 0;
    runs(l, spin_source, 2, "a spin on global memory");
    l->value[1].i = 0;
    z[0] = 0;
    finds(l, spin_source, 2, "[sim-livelock]", "a spin that never ends");
    free_lab(l);

    static const char *const want[] = { "1 coordinates for a tensor map of rank 2 [sim-tmap]", "no multiple of 128 [sim-align]", "a TMA load to shared bytes 3072 to 5119", "must not be negative",
        "which is mbarrier at shared byte 4096 [sim-bar-write]", "an arrival too many", "which is not initialised [sim-bar-init]", "which nothing has written [sim-uninit]", "a trap [sim-trap]" };
    l = new_lab("maps", 32, 4096 + 64);
    map_param(l, "x_map", x, WEIR_U32, 32, 16, 16, 16, 32, 0);
    int_param(l, "what", 0);
    for (int i = 0; i < 9; i++) {
        l->value[1].i = i;
        finds(l, map_source, 1, want[i], want[i]);
    }
    l->value[1].i = 9;
    runs(l, map_source, 1, "a TMA load over the tensor's edges, negative coordinates included");
    l->value[0].map.dim[1] = 40;
    finds(l, map_source, 1, "tensor map x_map covers 2560 bytes", "a tensor map larger than its buffer");
    free_lab(l);
    weiri_sim_free(ctx, z);
    weiri_sim_free(ctx, x);
}

/* A cache entry that was cut short is built again; without a cache everything still works. */
static void test_cache(void) {
    char dir[] = "/tmp/weir-sim-test-XXXXXX", command[200];
    if (!mkdtemp(dir)) return;
    uint32_t *z = NULL;
    for (int round = 0; round < 4; round++) {
        weir_ctx *c = weir_open(&(weir_config){ .cache_dir = round == 3 ? "" : dir });
        weir_ctx *keep = ctx;
        ctx = c;
        z = matrix(WEIR_U32, 1, 64, false);
        lab *l = new_lab("pool", 256, 0);
        l->p.entry_registers = 136;
        z = weiri_sim_malloc(c, 4096);
        ptr_param(l, "z", "u32 *", z);
        static const char *const names[] = { "an empty cache", "a warm cache", "a damaged cache entry", "no cache" };
        if (round == 2) {
            snprintf(command, sizeof command, "for f in %s/sim-*.so; do truncate -s -100 $f; done", dir);
            ok(system(command) == 0, "entries cut short");
        }
        runs(l, pool_source, 1, names[round]);
        free_lab(l);
        weir_close(c);
        ctx = keep;
    }
    snprintf(command, sizeof command, "rm -r %s", dir);
    ok(system(command) == 0, "nothing but the cache was left there");
}

int main(void) {
    ctx = weir_open(NULL);
    weiri_random_seed(&rng, 7);
    test_copy();
    test_compiler();
    test_threads();
    test_ring();
    test_gemm();
    test_wgmma();
    test_cluster();
    test_cp();
    test_faults();
    test_cache();
    weir_close(ctx);
    return done();
}
