/* The simulator on small kernels written by hand, with plans written by hand: right ones compute, each broken one is found and
 * named. Needs a C++ compiler; skipped without one. */
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
    for (g->l->seed = 1; g->l->seed <= 6 && !seen; g->l->seed++) seen = launch(g->l, source, gemm_grid(g)) == WEIR_E_SIM && strstr(found(g->l), rule);
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

int main(void) {
    ctx = weir_open(NULL);
    weiri_random_seed(&rng, 7);
    test_copy();
    test_compiler();
    test_threads();
    test_ring();
    test_gemm();
    weir_close(ctx);
    return done();
}
