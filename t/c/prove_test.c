/* The prover: kernels that are right must be proved for every length; each mutation of their plans must be found, in its class. */
#include <stdlib.h>

#include "../tap.h"

#include "mem.h"
#include "plan.h"
#include "weir.h"

static weir_ctx *ctx;
static weir_kernel *k;
static bool loud;

static void at(int n) { weir_at(k, &(weir_place){ "gemm.lua", n }, 1); }
static weir_value op2(weir_op op, weir_value a, weir_value b) { return weir_apply(k, op, (weir_value[]){ a, b }, 2); }
static weir_value cst(int64_t x) { return weir_int(k, x); }
static void work(weir_res *r, const char *m, const weir_value *args, int n) {
    weir_work(k, r, m, &(weir_work_desc){ .args = args, .nargs = n }, NULL, 0);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------------- */

typedef struct shape {
    int stages, cluster, lag, epilogue; /* epilogue: stages of the bulk store's ring, 0: plain stores */
    int warpgroups;
    weir_group_mode mode;
    bool grid;
} shape;

static weir_res *gtile(const char *tensor, weir_value r, weir_value c, int rows, int cols, bool out, weir_tensor **keep) {
    weir_tensor *t = weir_tensor_new(k, &(weir_tensor_desc){ .name = tensor, .dtype = WEIR_BF16, .rank = 2, .shape = { r, c }, .out = out });
    if (keep) *keep = t;
    char name[16];
    snprintf(name, sizeof name, "g%s", tensor);
    return weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = name, .tensor = t, .tile = { rows, cols } });
}

static weir_res *stile(const char *name, int rows, int cols, weir_pipe_type type, int stages) {
    return weir_smem_tile(k, &(weir_smem_tile_desc){ .name = name, .dtype = WEIR_BF16, .tile = { rows, cols }, .swizzle = 128,
                                                     .pipeline = { .type = type, .stages = stages } });
}

static void next_tile(weir_res *wq) {
    weir_do(k, wq, WEIR_TRY_WAIT, -1);
    weir_do(k, wq, WEIR_WAIT, -1);
    work(wq, "get_and_advance_work_tile", NULL, 0);
    weir_do(k, wq, WEIR_RELEASE, -1);
}

/* The persistent GEMM of the guide; `loader_more`: steps the loader makes beyond the others'. */
static weir_kernel *gemm(shape s, int loader_more) {
    enum { BN = 256, BK = 64, EN = 64 };
    int wgs = s.warpgroups ? s.warpgroups : 2, BM = 64 * wgs;
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "gemm", .arch = WEIR_ARCH_SM_90A, .cluster = { .m = s.cluster } });
    at(10);
    weir_value M = weir_dim(k, &(weir_dim_desc){ .name = "M" }), N = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    weir_value K = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    weir_tensor *d;
    weir_res *ga = gtile("A", M, K, BM, BK, false, NULL), *gb = gtile("B", N, K, BN, BK, false, NULL);
    weir_res *gd = gtile("D", M, N, BM, EN, true, &d);
    weir_res *wq = weir_work_queue(k, &(weir_queue_desc){ .name = "wq", .kind = s.grid ? WEIR_QUEUE_GRID : WEIR_QUEUE_STATIC, .over = d, .tile = { BM, BN } });
    weir_res *ra = stile("a", BM, BK, WEIR_TMA_ASYNC, s.stages), *rb = stile("b", BN, BK, WEIR_TMA_ASYNC, s.stages);
    weir_group_mode mode = s.mode ? s.mode : WEIR_GROUP_FUSED_MERGE;
    weir_res *ab = weir_group(k, &(weir_group_desc){ .name = "ab", .mode = mode, .members = (weir_res *[]){ ra, rb }, .nmembers = 2 });
    weir_res *a = weir_group_member(ab, "a"), *b = weir_group_member(ab, "b");
    weir_res *acc = weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "acc", .tile = { BM, BN } });
    weir_res *out = s.epilogue ? stile("stage", BM, EN, WEIR_ASYNC_TMA, s.epilogue) : NULL;
    weir_value steps = op2(WEIR_OP_CEIL_DIV, K, cst(BK));

    at(27);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = 1 });
    at(28);
    weir_tiles t = weir_tiles_begin(k, wq, 0, 0);
    at(29);
    weir_value kk = weir_loop_begin(k, cst(0), loader_more ? op2(WEIR_OP_ADD, steps, cst(loader_more)) : steps, cst(1), 0);
    at(30);
    weir_do(k, a, WEIR_ACQUIRE, -1);
    work(a, "tma_load", (weir_value[]){ weir_view_at(k, ga, (weir_value[]){ weir_tile_coord(k, t, 0), kk }, 2) }, 1);
    weir_do(k, a, WEIR_COMMIT, -1);
    at(31);
    weir_do(k, b, WEIR_ACQUIRE, -1);
    weir_value from = weir_view_at(k, gb, (weir_value[]){ weir_tile_coord(k, t, 1), kk }, 2);
    weir_work(k, b, "tma_load", &(weir_work_desc){ .args = &from, .nargs = 1, .multicast = s.cluster > 1 ? WEIR_MULTICAST_M : 0 }, NULL, 0);
    weir_do(k, b, WEIR_COMMIT, -1);
    weir_block_end(k, false);
    at(33);
    next_tile(wq);
    weir_block_end(k, false);
    weir_task_end(k);

    at(37);
    weir_task_begin(k, &(weir_task_desc){ .name = "mma", .first_warp = 4, .num_warps = 4 * wgs });
    at(38);
    t = weir_tiles_begin(k, wq, 0, 0);
    work(acc, "zero", NULL, 0);
    at(40);
    weir_loop_begin(k, cst(0), steps, cst(1), 0);
    at(41);
    if (mode == WEIR_GROUP_FUSED_MERGE) weir_do(k, ab, WEIR_WAIT, -1);
    else {
        weir_do(k, a, WEIR_WAIT, -1);
        weir_do(k, b, WEIR_WAIT, -1);
    }
    work(acc, "mma", (weir_value[]){ weir_view_read(k, a, 0), weir_view_read(k, b, 0) }, 2);
    at(42);
    weir_drain(k, acc, s.lag);
    weir_do(k, ab, WEIR_RELEASE, s.lag);
    weir_block_end(k, false);
    at(44);
    weir_drain(k, acc, 0);
    weir_do(k, ab, WEIR_RELEASE, 0);
    for (int c = 0; out && c < 2; c++) {
        at(46 + c);
        weir_do(k, out, WEIR_ACQUIRE, -1);
        work(out, "store", (weir_value[]){ weir_tile_cols(k, weir_reg_read(k, acc), c * EN, EN) }, 1);
        weir_do(k, out, WEIR_COMMIT, -1);
        weir_do(k, out, WEIR_WAIT, -1);
        weir_value n = op2(WEIR_OP_ADD, op2(WEIR_OP_MUL, weir_tile_coord(k, t, 1), cst(BN / EN)), cst(c));
        work(gd, "tma_store", (weir_value[]){ weir_view_read(k, out, 0), weir_view_at(k, gd, (weir_value[]){ weir_tile_coord(k, t, 0), n }, 2) }, 2);
        weir_do(k, out, WEIR_RELEASE, -1);
    }
    next_tile(wq);
    weir_block_end(k, false);
    weir_task_end(k);
    return k;
}

/* ---- running the prover -------------------------------------------------------------------------------------------------- */

typedef struct proved { weiri_arena a; weiri_findings f; weir_proof proof; weiri_plan *p; } proved;

static weiri_plan *plan_of(weir_kernel *kernel) {
    weiri_plan *p = weiri_plan_new(kernel);
    if (!p->ok || kernel->faults.list.n) {
        for (int i = 0; i < p->findings.list.n; i++) printf("# plan: %s %s\n", p->findings.list.v[i].rule, p->findings.list.v[i].message);
        for (int i = 0; i < kernel->faults.list.n; i++) printf("# fault: %s %s\n", kernel->faults.list.v[i].rule, kernel->faults.list.v[i].message);
    }
    return p;
}

static void prove(proved *r, weiri_plan *p) {
    memset(r, 0, sizeof *r);
    weiri_arena_init(&r->a, ctx);
    r->f.a = &r->a;
    r->p = p;
    weiri_prove(p, &r->a, &r->proof, &r->f);
    if (loud) {
        printf("# %s\n", r->proof.text);
        for (int i = 0; i < r->f.list.n; i++)
            printf("#   %s %s:%d: %s [%s]\n", r->f.list.v[i].rule, r->f.list.v[i].file ? r->f.list.v[i].file : "-", r->f.list.v[i].line,
                   r->f.list.v[i].message, r->f.list.v[i].hint ? r->f.list.v[i].hint : "");
        if (r->proof.trace) tap_text("trace", r->proof.trace);
    }
}

static bool found(const proved *r, const char *rules) {
    for (int i = 0; i < r->f.list.n; i++)
        if (strstr(rules, r->f.list.v[i].rule + 6)) return true;
    return false;
}

static void forget(proved *r) {
    weir_kernel *kernel = (weir_kernel *)(uintptr_t)(const void *)r->p->k;
    weiri_plan_free(r->p);
    weiri_arena_free(&r->a);
    weir_kernel_free(kernel);
}

static void safe(weiri_plan *p, const char *name) {
    proved r;
    prove(&r, p);
    if (!ok(r.proof.verdict == WEIR_SAFE && r.f.list.n == 0, "%s: %s", name, r.proof.text) && !loud)
        for (int i = 0; i < r.f.list.n; i++) printf("# %s %s\n", r.f.list.v[i].rule, r.f.list.v[i].message);
    forget(&r);
}

int main(int argc, char **argv) {
    (void)argv;
    loud = argc > 1;
    ctx = weir_open(NULL);
    char name[100];
    for (int stages = 1; stages <= 4; stages++)
        for (int cluster = 1; cluster <= 2; cluster++)
            for (int lag = 0; lag <= 1 && lag < stages; lag++)
                for (int epi = 0; epi <= 2; epi++) {
                    snprintf(name, sizeof name, "gemm, %d stages, cluster %d, lag %d, epilogue %d", stages, cluster, lag, epi);
                    safe(plan_of(gemm((shape){ .stages = stages, .cluster = cluster, .lag = lag, .epilogue = epi }, 0)), name);
                }
    weir_close(ctx);
    return done();
}
