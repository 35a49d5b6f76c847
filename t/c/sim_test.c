/* The simulator on small kernels written by hand, with plans written by hand: right ones compute, each broken one is found and
 * named. Needs a C++ compiler; skipped without one. */
#define _GNU_SOURCE
#include "../tap.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/embedded.h"
#include "../../src/number.h"
#include "../../src/sim/sim.h"
#include "../../src/tmap.h"
#include "sim_kernels.h"

#ifndef WEIR_ROOT
#define WEIR_ROOT "."
#endif

/* ---- a launch written by hand -------------------------------------------------------------------------------------------- */

enum { MAX = 16, MAX_ACTIONS = 64 };

typedef struct lab {
    weir_ctx *c;
    weir_kernel k;
    weiri_plan p;
    weiri_kparam kp[MAX];
    weiri_sim_param sp[MAX];
    union {
        weiri_tmap map;
        void *ptr;
        int32_t i;
    } value[MAX];
    int n;
    weiri_region regions[MAX];
    weiri_bar bars[MAX];
    weiri_action actions[MAX_ACTIONS];
    weiri_action *by_id[MAX_ACTIONS];
    weiri_op ops[MAX_ACTIONS];
    weir_place places[MAX_ACTIONS];
    weiri_pnode nodes[2 * MAX_ACTIONS];
    int nnodes;
    weiri_task tasks[4];
    weiri_ptask ptasks[4];
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
static void map_param(lab *l, const char *name, void *base, weir_dtype t, int rows, int cols, int pitch, int box0, int box1,
                      int swizzle) {
    int es = weir_dtype_size(t);
    weiri_tmap m = { .base = (uint64_t)(uintptr_t)base,
                     .dtype = t,
                     .rank = 2,
                     .dim = { (uint64_t)cols, (uint64_t)rows },
                     .stride = { (uint64_t)es, (uint64_t)(pitch * es) },
                     .box = { (uint32_t)box0, (uint32_t)box1 },
                     .swizzle = swizzle };
    memcpy(param(l, KP_TMAP, name, "w_tmap", sizeof m), &m, sizeof m);
}

static void region(lab *l, const char *name, int64_t offset, int stages, int64_t stage_bytes) {
    l->regions[l->p.smem.n++] = (weiri_region){
        .name = name, .offset = offset, .size = stages * stage_bytes, .stages = stages, .stage_bytes = stage_bytes
    };
}

static void bars(lab *l, const char *name, int64_t offset, int stages, int count) {
    l->bars[l->p.bars.n++] =
        (weiri_bar){ .name = name, .first = l->p.nbarriers, .stages = stages, .offset = offset, .count = count };
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
    weiri_sim_run r = { .plan = &l->p,
                        .source = source,
                        .params = l->sp,
                        .nparams = l->n,
                        .grid = grid,
                        .resident = l->resident,
                        .seed = l->seed };
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

static bool enough(void *ud) {
    (void)ud;
    return true;
}

/* ---- data ---------------------------------------------------------------------------------------------------------------- */

static weiri_random rng;

static void *matrix(weir_dtype t, int rows, int pitch, bool fill) {
    size_t n = (size_t)rows * (size_t)pitch, es = (size_t)weir_dtype_size(t);
    char *p = weiri_sim_malloc(ctx, n * es);
    for (size_t i = 0; i < n; i++) weiri_number_put(t, fill ? weiri_random_normal(&rng) : 0, p + i * es);
    return p;
}

static double at(const void *p, weir_dtype t, size_t i) {
    return weiri_number_get(t, (const char *)p + i * (size_t)weir_dtype_size(t));
}

/* Largest |d - a b^T| relative to the tolerance of one rounding of the sum, over a { m, k }, b { n, k }. */
static double gemm_error(const void *d, weir_dtype td, int pd, const void *a, weir_dtype ta, int pa, const void *b, int pb,
                         int m, int n, int k) {
    double worst = 0, *row = calloc((size_t)k, sizeof *row), *col = calloc((size_t)n * (size_t)k, sizeof *col);
    for (int j = 0; j < n; j++)
        for (int x = 0; x < k; x++) col[j * k + x] = at(b, ta, (size_t)j * (size_t)pb + (size_t)x);
    for (int i = 0; i < m; i++) {
        for (int x = 0; x < k; x++) row[x] = at(a, ta, (size_t)i * (size_t)pa + (size_t)x);
        for (int j = 0; j < n; j++) {
            double s = 0, e, scale = 1;
            for (int x = 0; x < k; x++) s += row[x] * col[j * k + x], scale += fabs(row[x] * col[j * k + x]);
            e = fabs(at(d, td, (size_t)i * (size_t)pd + (size_t)j) - s) /
                (td == WEIR_F32 ? scale * 1e-5 : fabs(s) / 200 + scale * 1e-5);
            if (!(e <= worst)) worst = e;
        }
    }
    free(row);
    free(col);
    return worst;
}

static void is_gemm(double error, const char *name) {
    if (!ok(error <= 1, "%s", name)) printf("# error / tolerance: %g\n", error);
}

/* ---- plain memory -------------------------------------------------------------------------------------------------------- */

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
    finds(l, pool_source, 1, "setmaxnreg.inc 232: it lacks 104 registers a thread",
          "a register split that the pool does not have");
    free_lab(l);
    weiri_sim_free(ctx, y);
    weiri_sim_free(ctx, z);
}

/* ---- a TMA ring ---------------------------------------------------------------------------------------------------------- */

static lab *ring_lab(void *x, void *y, int n) {
    lab *l = new_lab("ring", 64, 4096 + 32);
    map_param(l, "x_map", x, WEIR_U32, 32 * n, 16, 16, 16, 32, 0);
    ptr_param(l, "y", "u32 *", y);
    int_param(l, "n", n);
    region(l, "x", 0, 2, 2048);
    bars(l, "x_full", 4096, 2, 1);
    bars(l, "x_empty", 4112, 2, 1);
    l->p.prologue = act(l, 1, ACT_CTA_SYNC, -1, 1);
    task(l, "load", 0, 1, true, false,
         block(l, PN_LOOP,
               then(then(act(l, 2, ACT_WAIT, 1, 12), act(l, 3, ACT_EXPECT, 0, 13)), act(l, 4, ACT_LOAD_BULK, 0, 13))));
    task(l, "use", 1, 1, false, false,
         block(l, PN_LOOP,
               then(then(then(act(l, 5, ACT_WAIT, 0, 22), act(l, 6, ACT_BODY, -1, 23)), act(l, 7, ACT_WARP_SYNC, -1, 24)),
                    act(l, 8, ACT_ARRIVE, 1, 24))));
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
    finds(l, RING(1), 1, "mbarrier 'x_full' stage 0, parity 0: phase 0 has 1 of 1 arrivals, 2048 bytes landed, 64 missing",
          "tx bytes over what lands: deadlock");
    has_str("k.lua:22: task 'use', CTA 0, warp 1: waits for", found(l), "with the waiting task, warp and line");
    has_str("k.lua:12: task 'load', CTA 0, warp 0, lane 0: waits for mbarrier 'x_empty' stage 0", found(l),
            "and the producer's");
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
    finds(l, RING(7), 1, "mbarrier 'x_empty' stage 0, parity 0: phase 0 has 1 of 2 arrivals",
          "an arrive count that is too large");
    finds(l, RING(8), 1,
          "k.lua:13: task 'load', CTA 0, warp 0: a TMA load into 'x' stage 0, byte 0, may overtake a load by task 'use', CTA 0, "
          "warp 1, lane 0 (k.lua:23): a fence.proxy.async of that thread is expected between the load and its hand-over, and there is "
          "none [sim-fence]",
          "no fence behind what a stage's threads read");
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

typedef struct gemm {
    int m, n, k, pa, pd;
    void *a, *b, *d;
    lab *l;
} gemm;

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
    for (g->l->seed = 1; g->l->seed <= 20 && !seen; g->l->seed++)
        seen = launch(g->l, source, gemm_grid(g)) == WEIR_E_SIM && strstr(found(g->l), rule);
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

/* ---- every kind of wgmma operand ----------------------------------------------------------------------------------------- */

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
    sprintf(source, "typedef %s ELEMENT; enum { TYPE = %d, N = %d, SPAN = %d, TA = %d, TB = %d, RS = %d };", element, type, n,
            span, ta, tb, rs);
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
            double e = fabs(d[i * n + j] - sum) / (scale * (es == 1 ? 5e-4 : 1e-6)); /* 8 bits: sums of 14 */
            if (!(e <= worst)) worst = e;
        }
    if (!ok(st == WEIR_OK && worst <= 1, "wgmma %s%s n%d, %s A, %s B, span %d", rs ? "RS " : "", element, n,
            ta ? "M-major" : "K-major", tb ? "N-major" : "K-major", span)) {
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

static void cluster_finds(lab *l, const char *source, const char *part, const char *other, const char *name) {
    bool seen = false;
    for (l->seed = 1; l->seed <= 20 && !seen; l->seed++)
        seen = launch(l, source, 2) == WEIR_E_SIM && (strstr(found(l), part) || strstr(found(l), other));
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
    /* The arrivals of two CTAs end two phases where one was meant. That is a lap by itself: nothing holds the second arrival back until the
     * producer has seen the first phase end, so every seed says so before it comes to what follows: a stage loaded while the peer's loads
     * or reads of it are under way (sim-async-write), armed twice (sim-arrivals). Told one phase early: ahead of the first arrival the bytes of
     * the own load stand, which clocks do not show. */
    cluster_finds(l, CLUSTER(2), "parity lap on mbarrier 'x_empty' stage 0", "-", "an empty count that leaves out the peer");
    cluster_finds(l, CLUSTER(3), "[sim-exit", "[sim-exited]", "no cluster barrier before the exit");
    cluster_finds(l, CLUSTER(4), "has run no fence.mbarrier_init", "-", "no fence after the init");
    cluster_finds(l, CLUSTER(5), "[sim-bar-init]", "[sim-exited]", "the CTA's barrier where the cluster's is needed");
    cluster_finds(l, CLUSTER(7), "may overtake a load by CTA 1, warp 1, lane 0: a fence.proxy.async", "-",
                  "no fence behind what the peer's threads read");
    cluster_finds(l, CLUSTER(6), "[sim-exit", "-", "the source of a push exits before the push is done");
    l->seed = 1;
    is_int(WEIR_E_LAUNCH, launch(l, CLUSTER(0), 3), "a grid that is no multiple of the cluster");
    free_lab(l);
    weiri_sim_free(ctx, x);
    weiri_sim_free(ctx, y);
}

/* ---- cp.async, reductions ------------------------------------------------------------------------------------------------ */

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

/* ---- what else goes wrong ------------------------------------------------------------------------------------------------ */

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
    ctx->cfg.stop = enough;
    finds(l, spin_source, 2, "the host ended the run: 2 of 2 CTAs had begun in ", "the same where the host ends it sooner");
    ctx->cfg.stop = NULL;
    free_lab(l);

    static const char *const want[] = { "1 coordinates for a tensor map of rank 2 [sim-tmap]",
                                        "no multiple of 128 [sim-align]",
                                        "a TMA load to shared bytes 3072 to 5119",
                                        "must not be negative",
                                        "which is mbarrier at shared byte 4096 [sim-bar-write]",
                                        "an arrival too many",
                                        "which is not initialised [sim-bar-init]",
                                        "which nothing has written [sim-uninit]",
                                        "a trap [sim-trap]" };
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

/* Both preambles define one list: this one names them all. (compile_test.c holds the CUDA side.) */
static void test_primitives(void) {
    FILE *f = fopen(WEIR_ROOT "/kernels/device/primitives.def", "r");
    char line[512], missing[512] = "";
    int n = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "P(", 2) && strncmp(line, "T(", 2) && strncmp(line, "M(", 2)) continue;
        char *name = line[0] == 'M' ? line + 2 : strchr(line, ',') + 1, word[64];
        name += strspn(name, " ");
        snprintf(word, sizeof word, "%.*s", (int)strcspn(name, ","), name);
        n++;
        const char *at = weiri_weir_sim_h;
        size_t len = strlen(word);
        while ((at = strstr(at, word)) && (at[len] == '_' || (at[len] >= '0' && at[len] <= 'z'))) at += len;
        if (!at) strncat(missing, word, sizeof missing - strlen(missing) - 1);
    }
    if (f) fclose(f);
    ok(n > 50, "the list of primitives");
    is_str("", missing, "every one is defined");
}

int main(void) {
    ctx = weir_open(NULL);
    weiri_random_seed(&rng, 7);
    test_primitives();
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
