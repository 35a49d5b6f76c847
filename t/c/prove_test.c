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

/* TMA loads, threads read and store: releases are elected arrivals behind __syncwarp. `filled`: threads fill the stages instead. */
static weir_kernel *copy(int stages, bool filled, int readers) {
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "copy", .arch = WEIR_ARCH_SM_90A });
    at(10);
    weir_value R = weir_dim(k, &(weir_dim_desc){ .name = "R" }), C = weir_dim(k, &(weir_dim_desc){ .name = "C" });
    weir_res *ga = gtile("A", R, C, 64, 64, false, NULL), *gd = gtile("D", R, C, 64, 64, true, NULL);
    weir_res *s;
    if (filled)
        s = weir_resource(k, &(weir_resource_desc){ .name = "s", .space = WEIR_SPACE_SMEM, .dtype = WEIR_BF16, .rank = 2, .tile = { 64, 64 },
                                                    .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = stages },
                                                    .work = (weir_work_def[]){ { .name = "fill", .side = WEIR_SIDE_PRODUCER, .code = ";" },
                                                                               { .name = "use", .side = WEIR_SIDE_CONSUMER, .code = ";" } },
                                                    .nwork = 2 });
    else s = stile("s", 64, 64, WEIR_TMA_ASYNC, stages);
    weir_value n = op2(WEIR_OP_CEIL_DIV, R, cst(64));
    at(20);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = filled ? 2 : 1 });
    at(21);
    weir_value i = weir_loop_begin(k, cst(0), n, cst(1), 0);
    weir_do(k, s, WEIR_ACQUIRE, -1);
    at(22);
    if (filled) work(s, "fill", NULL, 0);
    else work(s, "tma_load", (weir_value[]){ weir_view_at(k, ga, (weir_value[]){ i, cst(0) }, 2) }, 1);
    weir_do(k, s, WEIR_COMMIT, -1);
    weir_block_end(k, false);
    weir_task_end(k);
    at(30);
    weir_task_begin(k, &(weir_task_desc){ .name = "use", .first_warp = 4, .num_warps = readers });
    at(31);
    i = weir_loop_begin(k, cst(0), n, cst(1), 0);
    weir_do(k, s, WEIR_WAIT, -1);
    at(32);
    if (filled) work(s, "use", NULL, 0);
    else work(gd, "store", (weir_value[]){ weir_view_read(k, s, 0), weir_view_at(k, gd, (weir_value[]){ i, cst(0) }, 2) }, 2);
    at(33);
    weir_do(k, s, WEIR_RELEASE, -1);
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

/* ---- mutations ------------------------------------------------------------------------------------------------------------ */

/* The nth action of that kind (and barrier, NULL any) of a task; task -1: prologue, -2: epilogue. */
static weiri_pnode *find_in(weiri_plan *p, weiri_pnode *n, weiri_act kind, const char *bar, int *nth) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            weiri_pnode *x = find_in(p, n->first, kind, bar, nth);
            if (x) return x;
        } else if (n->act->kind == kind && (!bar || (n->act->bar >= 0 && !strcmp(p->bars.v[n->act->bar].name, bar))) && (*nth)-- == 0) {
            return n;
        }
    }
    return NULL;
}

static weiri_pnode **list_of(weiri_plan *p, int task) { return task == -1 ? &p->prologue : task == -2 ? &p->epilogue : &p->tasks[task].root; }

static weiri_pnode *find(weiri_plan *p, int task, weiri_act kind, const char *bar, int nth) {
    weiri_pnode *n = find_in(p, *list_of(p, task), kind, bar, &nth);
    if (!n) printf("# no action %s %s\n", weiri_act_name(kind), bar ? bar : "");
    return n;
}

static weiri_pnode **slot_of(weiri_plan *p, int task, weiri_pnode *n) {
    weiri_pnode **at = n->parent && n->parent->first == n ? &n->parent->first : NULL;
    if (*list_of(p, task) == n) at = list_of(p, task);
    if (at) return at;
    weiri_pnode *x = n->parent ? n->parent->first : *list_of(p, task);
    while (x && x->next != n) x = x->next;
    return x ? &x->next : NULL;
}

static void cut(weiri_plan *p, int task, weiri_pnode *n) { *slot_of(p, task, n) = n->next; }

static void twice(weiri_plan *p, weiri_pnode *n) {
    weiri_pnode *c = weiri_arena_alloc(&p->a, sizeof *c);
    *c = *n;
    n->next = c;
}

/* Takes n out and puts it right before `to`. */
static void move_before(weiri_plan *p, int task, weiri_pnode *n, weiri_pnode *to) {
    cut(p, task, n);
    weiri_pnode **at = slot_of(p, task, to);
    n->next = to;
    n->parent = to->parent;
    *at = n;
}

/* Steals the action (others run the rest): n's action becomes nothing. */
static void blank(weiri_pnode *n) { n->act->kind = ACT_NONE; }

static void bad(weiri_plan *p, const char *rules, const char *name) {
    proved r;
    prove(&r, p);
    ok(r.proof.verdict == WEIR_UNSAFE && found(&r, rules), "%s: %s", name, r.proof.text);
    forget(&r);
}

enum { LOAD = 0, MMA = 1, PRO = -1, EPI = -2 };
#define WITH(make, change, rules, name) do { weiri_plan *p = plan_of(make); change; bad(p, rules, name); } while (0)
#define HARMLESS(make, change, name) do { weiri_plan *p = plan_of(make); change; safe(p, name); } while (0)

static void mutate_gemm(shape s) {
    char tag[128];
#define NAME(text) (snprintf(tag, sizeof tag, "%d stages, cluster %d, lag %d: " text, s.stages, s.cluster, s.lag), tag)
#define G gemm(s, 0)
    bool one = s.stages == 1;
    WITH(G, blank(find(p, LOAD, ACT_WAIT, "ab_empty", 0)), "RACE ASYNC-READ PARITY COUNT", NAME("no acquire"));
    WITH(G, blank(find(p, LOAD, ACT_EXPECT, "ab_full", 1)), "COUNT TX DEADLOCK", NAME("one arm missing"));
    WITH(G, blank(find(p, MMA, ACT_WAIT, "ab_full", 0)), "RACE COUNT", NAME("no wait"));
    WITH(G, blank(find(p, MMA, ACT_ARRIVE, "ab_empty", 0)), "DEADLOCK COUNT", NAME("no release in the loop"));
    WITH(G, twice(p, find(p, MMA, ACT_ARRIVE, "ab_empty", 0)), "COUNT ASYNC-READ", NAME("release twice"));
    WITH(G, twice(p, find(p, LOAD, ACT_EXPECT, "ab_full", 0)), "COUNT TX", NAME("arm twice"));
    WITH(G, move_before(p, MMA, find(p, MMA, ACT_MMA, NULL, 0), find(p, MMA, ACT_WAIT, "ab_full", 0)), "RACE ASYNC-READ", NAME("mma before the wait"));
    if (s.lag == 0) {
        WITH(G, move_before(p, MMA, find(p, MMA, ACT_ARRIVE, "ab_empty", 0), find(p, MMA, ACT_MMA_WAIT, NULL, 0)), "ASYNC-READ", NAME("release before the drain"));
        WITH(G, find(p, MMA, ACT_MMA_WAIT, NULL, 0)->act->n = 1, "ASYNC-READ", NAME("drain one group short"));
        WITH(G, blank(find(p, MMA, ACT_MMA_WAIT, NULL, 0)), "ASYNC-READ", NAME("no drain"));
    } else {
        WITH(G, find(p, MMA, ACT_MMA_WAIT, NULL, 0)->act->n = 2, "ASYNC-READ", NAME("drain one group short, lagging"));
        WITH(G, blank(find(p, MMA, ACT_ARRIVE, "ab_empty", 1)), "DEADLOCK COUNT ASYNC-READ", NAME("no release behind the loop"));
        HARMLESS(G, find(p, MMA, ACT_MMA_WAIT, NULL, 0)->act->n = 0, NAME("drain more than needed"));
    }
    WITH(G, p->bars.v[0].count++, "COUNT DEADLOCK TX", NAME("full count + 1"));
    WITH(G, p->bars.v[1].count++, "COUNT DEADLOCK", NAME("empty count + 1"));
    WITH(G, p->bars.v[1].count *= 2, "COUNT DEADLOCK", NAME("empty count doubled"));
    WITH(G, p->bars.v[1].count /= 2, "COUNT ASYNC-READ", NAME("empty count halved"));
    WITH(G, p->bars.v[0].count--, "COUNT RACE TX", NAME("full count - 1"));
    WITH(G, find(p, LOAD, ACT_EXPECT, "ab_full", 0)->act->bytes += 16, "TX", NAME("16 bytes too many armed"));
    WITH(G, find(p, LOAD, ACT_EXPECT, "ab_full", 0)->act->bytes -= 16, "TX", NAME("16 bytes too few armed"));
    WITH(G, find(p, LOAD, ACT_EXPECT, "ab_full", 0)->act->bytes *= 2, "TX", NAME("armed bytes doubled"));
    WITH(G, find(p, LOAD, ACT_EXPECT, "ab_full", 1)->act->bytes = 0, "TX RACE", NAME("no bytes armed"));
    WITH(G, p->cursors.v[0].producer = !p->cursors.v[0].producer, "DEADLOCK PARITY", NAME("producer's parity flipped"));
    WITH(G, p->cursors.v[1].producer = !p->cursors.v[1].producer, "RACE PARITY ASYNC-READ COUNT", NAME("consumer's parity flipped"));
    WITH(G, blank(find(p, LOAD, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("producer does not advance"));
    WITH(G, twice(p, find(p, LOAD, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("producer advances twice"));
    WITH(G, twice(p, find(p, MMA, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("consumer advances twice"));
    if (!one) WITH(G, p->cursors.v[1].stages--, "COUNT", NAME("one stage less on one side"));
    WITH(gemm(s, 1), (void)0, "DEADLOCK EXIT LOST", NAME("loader runs one step more"));
    WITH(gemm(s, -1), (void)0, "DEADLOCK", NAME("loader runs one step less"));
    WITH(G, blank(find(p, PRO, s.cluster > 1 ? ACT_CLUSTER_WAIT : ACT_CTA_SYNC, NULL, 0)), "RACE", NAME("no join behind the init"));
    WITH(G, move_before(p, PRO, find(p, PRO, s.cluster > 1 ? ACT_CLUSTER_ARRIVE : ACT_CTA_SYNC, NULL, 0), find(p, PRO, ACT_INIT, NULL, 0)), "RACE", NAME("init behind the join"));
    if (s.epilogue) {
        WITH(G, blank(find(p, MMA, ACT_FENCE_ASYNC, NULL, 0)), "PROXY", NAME("no proxy fence on one path"));
        WITH(G, move_before(p, MMA, find(p, MMA, ACT_FENCE_ASYNC, NULL, 0), find(p, MMA, ACT_STORE_BULK, NULL, 0)), "PROXY", NAME("proxy fence at the reader"));
        WITH(G, blank(find(p, MMA, ACT_BULK_WAIT, NULL, 0)), "RACE", NAME("no wait for the bulk store"));
        WITH(G, find(p, MMA, ACT_BULK_WAIT, NULL, 0)->act->n++, "RACE", NAME("bulk wait one group short"));
        WITH(G, blank(find(p, MMA, ACT_BULK_COMMIT, NULL, 0)), "RACE EXIT", NAME("bulk store in no group"));
        WITH(G, blank(find(p, MMA, ACT_NAMED_SYNC, NULL, 0)), "RACE", NAME("warpgroup not joined behind the bulk wait"));
        WITH(G, blank(find(p, MMA, ACT_NAMED_SYNC, NULL, 1)), "RACE PROXY", NAME("warpgroup not joined before the bulk store"));
        WITH(G, p->smem.v[2].offset = p->smem.v[1].offset + p->smem.v[1].size - 1, "RACE ASYNC-READ", NAME("staging overlaps by a byte"));
        WITH(G, p->smem.v[2].offset = p->smem.v[0].offset, "RACE ASYNC-READ PROXY", NAME("staging overlaps stages"));
        if (s.epilogue < 2) WITH(G, find(p, MMA, ACT_NAMED_SYNC, NULL, 0)->act->threads = 96, "COUNT", NAME("named barrier one warp short"));
    }
    if (s.cluster > 1) {
        WITH(G, (blank(find(p, EPI, ACT_CLUSTER_ARRIVE, NULL, 0)), blank(find(p, EPI, ACT_CLUSTER_WAIT, NULL, 0))), "EXIT", NAME("no cluster barrier at exit"));
        WITH(G, find(p, LOAD, ACT_LOAD_BULK, NULL, 1)->act->targets = 0, "TX", NAME("multicast to itself only"));
        WITH(G, find(p, LOAD, ACT_LOAD_BULK, NULL, 0)->act->targets = 1, "TX RACE", NAME("multicast of the wrong operand"));
        WITH(G, find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->targets = 0, "DEADLOCK COUNT", NAME("peer not counted in the release"));
        WITH(G, (find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->targets = 0, find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->arrivals = 2,
                 s.lag ? find(p, MMA, ACT_ARRIVE, "ab_empty", 1)->act->targets = 0, find(p, MMA, ACT_ARRIVE, "ab_empty", 1)->act->arrivals = 2 : 0),
             "ASYNC-READ COUNT RACE TX", NAME("the own CTA arrives for the peer"));
    }
#undef G
#undef NAME
}

static void mutate_copy(int stages, bool filled) {
    char tag[128];
#define NAME(text) (snprintf(tag, sizeof tag, "%s, %d stages: " text, filled ? "threads fill" : "copy", stages), tag)
#define C copy(stages, filled, 4)
    safe(plan_of(C), NAME("right"));
    WITH(C, blank(find(p, 1, ACT_WARP_SYNC, NULL, 0)), "RACE", NAME("elected arrive before the warp has converged"));
    WITH(C, blank(find(p, 1, ACT_WAIT, "s_full", 0)), "RACE", NAME("no wait"));
    WITH(C, blank(find(p, 0, ACT_WAIT, "s_empty", 0)), "RACE PARITY COUNT", NAME("no acquire"));
    WITH(C, blank(find(p, 1, ACT_ARRIVE, "s_empty", 0)), "DEADLOCK", NAME("no release"));
    WITH(C, twice(p, find(p, 1, ACT_ARRIVE, "s_empty", 0)), "COUNT", NAME("release twice"));
    WITH(C, move_before(p, 1, find(p, 1, ACT_ARRIVE, "s_empty", 0), find(p, 1, ACT_BODY, NULL, 0)), "RACE", NAME("release before the work"));
    WITH(C, move_before(p, 1, find(p, 1, ACT_BODY, NULL, 0), find(p, 1, ACT_WAIT, "s_full", 0)), "RACE", NAME("work before the wait"));
    if (filled) {
        WITH(C, blank(find(p, 0, ACT_ARRIVE, "s_full", 0)), "DEADLOCK", NAME("no commit"));
        WITH(C, move_before(p, 0, find(p, 0, ACT_ARRIVE, "s_full", 0), find(p, 0, ACT_BODY, NULL, 0)), "RACE", NAME("commit before the work"));
        if (stages > 1) WITH(C, p->smem.v[0].stage_bytes -= 1, "RACE", NAME("stages overlap by a byte"));
    }
#undef C
#undef NAME
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
    mutate_gemm((shape){ .stages = 1, .cluster = 1, .epilogue = 1 });
    mutate_gemm((shape){ .stages = 3, .cluster = 1, .lag = 1, .epilogue = 2 });
    mutate_gemm((shape){ .stages = 2, .cluster = 2, .epilogue = 1 });
    mutate_gemm((shape){ .stages = 4, .cluster = 2, .lag = 1, .epilogue = 2 });
    for (int stages = 1; stages <= 3; stages++)
        for (int filled = 0; filled < 2; filled++) mutate_copy(stages, filled);
    weir_close(ctx);
    return done();
}
