/* The prover: kernels that are right must be proved for every length; each mutation of a plan must be found, in its class. */
#include <stdlib.h>

#include "../tap.h"

#include "mem.h"
#include "plan.h"
#include "prove.h"
#include "weir.h"

static weir_ctx *ctx;
static weir_kernel *k;
static bool loud;
static int made_by_hand; /* WEIRI_TABLES: plans have no tables but those that a run reads */

static void at(int n) { weir_at(k, &(weir_place){ "gemm.lua", n }, 1); }
static weir_value op2(weir_op op, weir_value a, weir_value b) { return weir_apply(k, op, (weir_value[]){ a, b }, 2); }
static weir_value cst(int64_t x) { return weir_int(k, x); }
static void work(weir_res *r, const char *m, const weir_value *args, int n) {
    weir_work(k, r, m, &(weir_work_desc){ .args = args, .nargs = n }, NULL, 0);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------------ */

typedef struct shape {
    int stages, cluster, lag, epilogue; /* epilogue: stages of the bulk store's ring, 0: plain stores */
    int warpgroups;
    weir_group_mode mode;
    bool grid;
} shape;

static weir_res *gtile(const char *tensor, weir_value r, weir_value c, int rows, int cols, bool out, weir_tensor **keep) {
    weir_tensor *t =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = tensor, .dtype = WEIR_BF16, .rank = 2, .shape = { r, c }, .out = out });
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
    weir_res *wq = weir_work_queue(
        k, &(weir_queue_desc){
               .name = "wq", .kind = s.grid ? WEIR_QUEUE_GRID : WEIR_QUEUE_STATIC, .over = d, .tile = { BM, BN } });
    weir_res *ra = stile("a", BM, BK, WEIR_TMA_ASYNC, s.stages), *rb = stile("b", BN, BK, WEIR_TMA_ASYNC, s.stages);
    weir_group_mode mode = s.mode ? s.mode : WEIR_GROUP_FUSED_MERGE;
    weir_res *ab =
        weir_group(k, &(weir_group_desc){ .name = "ab", .mode = mode, .members = (weir_res *[]){ ra, rb }, .nmembers = 2 });
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
    weir_work(k, b, "tma_load",
              &(weir_work_desc){ .args = &from, .nargs = 1, .multicast = s.cluster > 1 ? WEIR_MULTICAST_M : 0 }, NULL, 0);
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
        work(gd, "tma_store",
             (weir_value[]){ weir_view_read(k, out, 0), weir_view_at(k, gd, (weir_value[]){ weir_tile_coord(k, t, 0), n }, 2) },
             2);
        weir_do(k, out, WEIR_RELEASE, -1);
    }
    next_tile(wq);
    weir_block_end(k, false);
    weir_task_end(k);
    return k;
}

/* TMA loads, threads read and store: releases are elected arrivals behind __syncwarp. `filled`: threads fill the stages. */
static weir_kernel *copy(int stages, bool filled, int readers) {
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "copy", .arch = WEIR_ARCH_SM_90A });
    at(10);
    weir_value R = weir_dim(k, &(weir_dim_desc){ .name = "R" }), C = weir_dim(k, &(weir_dim_desc){ .name = "C" });
    weir_res *ga = gtile("A", R, C, 64, 64, false, NULL), *gd = gtile("D", R, C, 64, 64, true, NULL);
    weir_res *s;
    if (filled)
        s = weir_resource(
            k, &(weir_resource_desc){ .name = "s",
                                      .space = WEIR_SPACE_SMEM,
                                      .dtype = WEIR_BF16,
                                      .rank = 2,
                                      .tile = { 64, 64 },
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

/* ---- running the prover ------------------------------------------------------------------------------------------------- */

typedef struct proved { weiri_arena a; weiri_findings f; weir_proof proof; weiri_plan *p; } proved;

static weiri_plan *plan_of(weir_kernel *kernel) {
    weiri_plan *p = weiri_plan_new(kernel);
    if (!p->ok || kernel->faults.list.n) {
        for (int i = 0; i < p->findings.list.n; i++)
            printf("# plan: %s %s\n", p->findings.list.v[i].rule, p->findings.list.v[i].message);
        for (int i = 0; i < kernel->faults.list.n; i++)
            printf("# fault: %s %s\n", kernel->faults.list.v[i].rule, kernel->faults.list.v[i].message);
    }
    return p;
}

static void prove(proved *r, weiri_plan *p) {
    memset(r, 0, sizeof *r);
    weiri_arena_init(&r->a, ctx);
    r->f.a = &r->a;
    r->p = p;
    weiri_prove_without(p, &r->a, &r->proof, &r->f, made_by_hand);
    if (loud) {
        printf("# %s\n", r->proof.text);
        for (int i = 0; i < r->f.list.n; i++)
            printf("#   %s %s:%d: %s [%s]\n", r->f.list.v[i].rule, r->f.list.v[i].file ? r->f.list.v[i].file : "-",
                   r->f.list.v[i].line, r->f.list.v[i].message, r->f.list.v[i].hint ? r->f.list.v[i].hint : "");
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
    bool same = true; /* with any reduction left out, too */
    for (int without = WEIRI_STILL; without <= (WEIRI_STILL | WEIRI_APART); without++) {
        weir_proof other;
        weiri_findings f = { .a = &r.a };
        weiri_prove_without(p, &r.a, &other, &f, without);
        same = same && (other.verdict == WEIR_SAFE || other.verdict == WEIR_INCOMPLETE);
    }
    if (!ok(r.proof.verdict == WEIR_SAFE && r.f.list.n == 0 && same, "%s: %s", name, r.proof.text) && !loud)
        for (int i = 0; i < r.f.list.n; i++) printf("# %s %s\n", r.f.list.v[i].rule, r.f.list.v[i].message);
    forget(&r);
}

/* ---- mutations ---------------------------------------------------------------------------------------------------------- */

/* The nth action of that kind (and barrier, NULL any) of a task; task -1: prologue, -2: epilogue. */
static weiri_pnode *find_in(weiri_plan *p, weiri_pnode *n, weiri_act kind, const char *bar, int *nth) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            weiri_pnode *x = find_in(p, n->first, kind, bar, nth);
            if (x) return x;
        } else if (n->act->kind == kind && (!bar || (n->act->bar >= 0 && !strcmp(p->bars.v[n->act->bar].name, bar))) &&
                   (*nth)-- == 0) {
            return n;
        }
    }
    return NULL;
}

static weiri_pnode **list_of(weiri_plan *p, int task) {
    return task == -1 ? &p->prologue : task == -2 ? &p->epilogue : &p->tasks[task].root;
}

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

/* The fault that is shown first. */
static void first_is(weiri_plan *p, const char *rule, const char *name) {
    proved r;
    prove(&r, p);
    ok(r.proof.verdict == WEIR_UNSAFE && r.f.list.n && !strcmp(r.f.list.v[0].rule + 6, rule), "%s: %s", name, r.proof.text);
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
    WITH(G, move_before(p, MMA, find(p, MMA, ACT_MMA, NULL, 0), find(p, MMA, ACT_WAIT, "ab_full", 0)), "RACE ASYNC-READ",
         NAME("mma before the wait"));
    if (s.lag == 0) {
        WITH(G, move_before(p, MMA, find(p, MMA, ACT_ARRIVE, "ab_empty", 0), find(p, MMA, ACT_MMA_WAIT, NULL, 0)), "ASYNC-READ",
             NAME("release before the drain"));
        WITH(G, find(p, MMA, ACT_MMA_WAIT, NULL, 0)->act->n = 1, "ASYNC-READ", NAME("drain one group short"));
        WITH(G, blank(find(p, MMA, ACT_MMA_WAIT, NULL, 0)), "ASYNC-READ", NAME("no drain"));
    } else {
        WITH(G, find(p, MMA, ACT_MMA_WAIT, NULL, 0)->act->n = 2, "ASYNC-READ", NAME("drain one group short, lagging"));
        WITH(G, blank(find(p, MMA, ACT_ARRIVE, "ab_empty", 1)), "DEADLOCK COUNT ASYNC-READ",
             NAME("no release behind the loop"));
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
    WITH(G, p->cursors.v[1].producer = !p->cursors.v[1].producer, "RACE PARITY ASYNC-READ COUNT",
         NAME("consumer's parity flipped"));
    WITH(G, blank(find(p, LOAD, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("producer does not advance"));
    WITH(G, twice(p, find(p, LOAD, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("producer advances twice"));
    WITH(G, twice(p, find(p, MMA, ACT_ADVANCE, NULL, 0)), "DEADLOCK COUNT TX RACE PARITY", NAME("consumer advances twice"));
    if (!one) WITH(G, p->cursors.v[1].stages--, "COUNT", NAME("one stage less on one side"));
    WITH(gemm(s, 1), (void)0, "DEADLOCK EXIT LOST", NAME("loader runs one step more"));
    WITH(gemm(s, -1), (void)0, "DEADLOCK", NAME("loader runs one step less"));
    WITH(G, blank(find(p, PRO, s.cluster > 1 ? ACT_CLUSTER_WAIT : ACT_CTA_SYNC, NULL, 0)), "RACE",
         NAME("no join behind the init"));
    WITH(G,
         move_before(p, PRO, find(p, PRO, s.cluster > 1 ? ACT_CLUSTER_ARRIVE : ACT_CTA_SYNC, NULL, 0),
                     find(p, PRO, ACT_INIT, NULL, 0)),
         "RACE", NAME("init behind the join"));
    if (s.epilogue) {
        WITH(G, blank(find(p, MMA, ACT_FENCE_ASYNC, NULL, 0)), "PROXY", NAME("no proxy fence on one path"));
        WITH(G, move_before(p, MMA, find(p, MMA, ACT_FENCE_ASYNC, NULL, 0), find(p, MMA, ACT_STORE_BULK, NULL, 0)), "PROXY",
             NAME("proxy fence at the reader"));
        WITH(G, blank(find(p, MMA, ACT_BULK_WAIT, NULL, 0)), "RACE", NAME("no wait for the bulk store"));
        WITH(G, find(p, MMA, ACT_BULK_WAIT, NULL, 0)->act->n++, "RACE", NAME("bulk wait one group short"));
        WITH(G, blank(find(p, MMA, ACT_BULK_COMMIT, NULL, 0)), "RACE EXIT", NAME("bulk store in no group"));
        WITH(G, blank(find(p, MMA, ACT_NAMED_SYNC, NULL, 0)), "RACE", NAME("warpgroup not joined behind the bulk wait"));
        WITH(G, blank(find(p, MMA, ACT_NAMED_SYNC, NULL, 1)), "RACE PROXY", NAME("warpgroup not joined before the bulk store"));
        WITH(G, p->smem.v[2].offset = p->smem.v[1].offset + p->smem.v[1].size - 1, "RACE ASYNC-READ",
             NAME("staging overlaps by a byte"));
        WITH(G, p->smem.v[2].offset = p->smem.v[0].offset, "RACE ASYNC-READ PROXY", NAME("staging overlaps stages"));
        if (s.epilogue < 2)
            WITH(G, find(p, MMA, ACT_NAMED_SYNC, NULL, 0)->act->threads = 96, "COUNT", NAME("named barrier one warp short"));
    }
    if (s.cluster > 1) {
        WITH(G, (blank(find(p, EPI, ACT_CLUSTER_ARRIVE, NULL, 0)), blank(find(p, EPI, ACT_CLUSTER_WAIT, NULL, 0))), "EXIT",
             NAME("no cluster barrier at exit"));
        WITH(G, find(p, LOAD, ACT_LOAD_BULK, NULL, 1)->act->targets = 0, "TX", NAME("multicast to itself only"));
        WITH(G, find(p, LOAD, ACT_LOAD_BULK, NULL, 0)->act->targets = 1, "TX RACE", NAME("multicast of the wrong operand"));
        WITH(G, find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->targets = 0, "DEADLOCK COUNT",
             NAME("peer not counted in the release"));
        WITH(G,
             (find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->targets = 0,
              find(p, MMA, ACT_ARRIVE, "ab_empty", 0)->act->arrivals = 2,
              s.lag ? find(p, MMA, ACT_ARRIVE, "ab_empty", 1)->act->targets = 0,
              find(p, MMA, ACT_ARRIVE, "ab_empty", 1)->act->arrivals = 2 : 0),
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
    WITH(C, move_before(p, 1, find(p, 1, ACT_ARRIVE, "s_empty", 0), find(p, 1, ACT_BODY, NULL, 0)), "RACE",
         NAME("release before the work"));
    WITH(C, move_before(p, 1, find(p, 1, ACT_BODY, NULL, 0), find(p, 1, ACT_WAIT, "s_full", 0)), "RACE",
         NAME("work before the wait"));
    if (filled) {
        WITH(C, blank(find(p, 0, ACT_ARRIVE, "s_full", 0)), "DEADLOCK", NAME("no commit"));
        WITH(C, move_before(p, 0, find(p, 0, ACT_ARRIVE, "s_full", 0), find(p, 0, ACT_BODY, NULL, 0)), "RACE",
             NAME("commit before the work"));
        if (stages > 1) WITH(C, p->smem.v[0].stage_bytes -= 1, "RACE", NAME("stages overlap by a byte"));
    }
#undef C
#undef NAME
}

/* ---- lengths, guards, keys, tiles --------------------------------------------------------------------------------------- */

static weir_res *ring(const char *name, int stages) {
    return weir_resource(
        k, &(weir_resource_desc){ .name = name,
                                  .space = WEIR_SPACE_SMEM,
                                  .dtype = WEIR_BF16,
                                  .rank = 2,
                                  .tile = { 64, 64 },
                                  .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = stages },
                                  .work = (weir_work_def[]){ { .name = "fill", .side = WEIR_SIDE_PRODUCER, .code = ";" },
                                                             { .name = "use", .side = WEIR_SIDE_CONSUMER, .code = ";" } },
                                  .nwork = 2 });
}
static void give(weir_res *r) { weir_do(k, r, WEIR_ACQUIRE, -1), work(r, "fill", NULL, 0), weir_do(k, r, WEIR_COMMIT, -1); }
static void get(weir_res *r) { weir_do(k, r, WEIR_WAIT, -1), work(r, "use", NULL, 0), weir_do(k, r, WEIR_RELEASE, -1); }
static weir_value loop(weir_value from, weir_value to) { return weir_loop_begin(k, from, to, cst(1), 0); }
static void end(void) { weir_block_end(k, false); }
static void task(const char *name, int warp) {
    at(warp * 10);
    weir_task_begin(k, &(weir_task_desc){ .name = name, .first_warp = warp, .num_warps = 1 });
}
static weir_value dim(const char *name, int64_t min) { return weir_dim(k, &(weir_dim_desc){ .name = name, .min = min }); }
static void start(void) { k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "k", .arch = WEIR_ARCH_SM_90A }); }
static void guard(weir_guard_kind kind, weir_value of, int period, int first, const char *key) {
    weir_guard_begin(k, &(weir_guard_desc){ .kind = kind, .of = of, .period = period, .start = first, .key = key });
}

/* What the prover says of the kernel just described: a rule without its prefix, "SAFE" or "INCOMPLETE". */
static void says(const char *wanted, const char *part, const char *name) {
    weiri_plan *p = plan_of(k);
    proved r;
    prove(&r, p);
    if (loud && r.proof.trace) tap_text("trace", r.proof.trace);
    const char *seen = r.proof.verdict == WEIR_SAFE         ? "SAFE"
                       : r.proof.verdict == WEIR_INCOMPLETE ? "INCOMPLETE"
                       : r.f.list.n                         ? r.f.list.v[0].rule + 6
                                                            : "?";
    bool good =
        strstr(wanted, seen) && (!part || strstr(r.proof.text, part) || (r.f.list.n && strstr(r.f.list.v[0].message, part)));
    ok(p->ok && good, "%s: %s, %s", name, seen, r.proof.text);
    forget(&r);
}

/* A producer and a consumer of one ring; both run a first block alone and then a loop. */
static void two_loops(int stages, weir_value n, bool give_first, weir_value m, bool get_first) {
    weir_res *s = ring("s", stages);
    task("one", 0);
    if (give_first) give(s);
    loop(cst(0), n), give(s), end();
    weir_task_end(k);
    task("two", 1);
    if (get_first) get(s);
    loop(cst(0), m), get(s), end();
    weir_task_end(k);
}

static void lengths(void) {
    weir_value n, m, f, x;
    weir_res *s, *q;
    start(), n = dim("N", 0), two_loops(2, n, false, n, false), says("SAFE", NULL, "equal lengths");
    start(), n = dim("N", 0), m = dim("M", 0), two_loops(2, n, false, m, false),
             says("DEADLOCK LOST", "with N = ", "unrelated lengths, and the sizes that show it");
    start(),
        n = dim("N", 0),
        two_loops(1, op2(WEIR_OP_CEIL_DIV, n, cst(64)), false, op2(WEIR_OP_IDIV, op2(WEIR_OP_ADD, n, cst(63)), cst(64)), false);
    says("SAFE", NULL, "ceil_div(N, 64) is (N + 63) // 64");
    start(), n = dim("N", 0), two_loops(2, op2(WEIR_OP_ADD, n, cst(1)), false, n, true),
             says("SAFE", NULL, "N + 1 against one and N");
    start(), n = dim("N", 1), two_loops(2, n, false, op2(WEIR_OP_SUB, n, cst(1)), true),
             says("SAFE", NULL, "N against one and N - 1, where N is at least 1");
    start(), n = dim("N", 0), two_loops(2, n, false, op2(WEIR_OP_SUB, n, cst(1)), true),
             says("DEADLOCK", "N = 0", "the same where N may be 0");
    start(), n = dim("N", 0), m = dim("M", 0), two_loops(2, op2(WEIR_OP_MUL, n, cst(2)), false, op2(WEIR_OP_ADD, n, n), false);
    says("SAFE", NULL, "2 N is N + N");
    start(), two_loops(3, cst(8), false, cst(8), false), says("SAFE", NULL, "fixed lengths");
    start(), two_loops(3, cst(8), false, cst(7), true), says("SAFE", NULL, "8 against one and 7");
    start(), two_loops(3, cst(5000), false, cst(5000), false), says("SAFE", NULL, "a long fixed length");
    start(), two_loops(3, cst(3), false, cst(4), false), says("DEADLOCK", NULL, "3 against 4");
    /* a range cut in two: [0, F) and [F, N) with F = clamp(X, 0, N) */
    start(), n = dim("N", 0), x = dim("X", 0), f = op2(WEIR_OP_MIN, op2(WEIR_OP_MAX, x, cst(0)), n), s = ring("s", 2);
    task("one", 0), loop(cst(0), n), give(s), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), f), get(s), end(), loop(f, n), get(s), end(), weir_task_end(k);
    says("SAFE", NULL, "a range cut in two against the whole");
    start(), n = dim("N", 0), x = dim("X", 0), f = op2(WEIR_OP_MAX, x, cst(0)), s = ring("s", 2);
    task("one", 0), loop(cst(0), n), give(s), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), f), get(s), end(), loop(f, n), get(s), end(), weir_task_end(k);
    says("DEADLOCK LOST INCOMPLETE", NULL, "cut at a point that may lie outside");
    /* nested loops; one task runs them as one */
    start(), n = dim("N", 0), m = dim("M", 0), s = ring("s", 2);
    task("one", 0), loop(cst(0), n), loop(cst(0), m), give(s), end(), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), n), loop(cst(0), m), get(s), end(), end(), weir_task_end(k);
    says("SAFE", NULL, "nested loops");
    start(), n = dim("N", 0), m = dim("M", 0), s = ring("s", 2);
    task("one", 0), loop(cst(0), op2(WEIR_OP_MUL, n, m)), give(s), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), n), loop(cst(0), m), get(s), end(), end(), weir_task_end(k);
    says("SAFE", NULL, "N * M against N times M");
    start(), n = dim("N", 0), m = dim("M", 0), s = ring("s", 2);
    task("one", 0), loop(cst(0), op2(WEIR_OP_MUL, n, m)), give(s), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), m), loop(cst(0), n), get(s), end(), end(), weir_task_end(k);
    says("SAFE", NULL, "N * M against M times N");
    /* two rings, taken in opposite orders */
    for (int stages = 1; stages <= 2; stages++) {
        start(), n = dim("N", 0), s = ring("s", stages), q = ring("q", stages);
        task("one", 0), loop(cst(0), n), give(s), give(q), end(), weir_task_end(k);
        task("two", 1), loop(cst(0), n), get(q), get(s), end(), weir_task_end(k);
        says("SAFE", NULL, "given and taken in opposite orders");
        start(), n = dim("N", 0), s = ring("s", stages), q = ring("q", stages);
        task("one", 0), loop(cst(0), n), give(s), get(q), end(), weir_task_end(k);
        task("two", 1), loop(cst(0), n), give(q), get(s), end(), weir_task_end(k);
        says("SAFE", NULL, "an exchange");
        start(), n = dim("N", 0), s = ring("s", stages), q = ring("q", stages);
        task("one", 0), loop(cst(0), n), get(q), give(s), end(), weir_task_end(k);
        task("two", 1), loop(cst(0), n), get(s), give(q), end(), weir_task_end(k);
        says("DEADLOCK", NULL, "each waits for the other first");
    }
}

static void guards(void) {
    weir_value n, i, c;
    weir_res *s;
    start(), n = dim("N", 0), s = ring("s", 2);
    task("one", 0), i = loop(cst(0), n), guard(WEIR_GUARD_FIRST, i, 0, 0, NULL), give(s), end(),
                    guard(WEIR_GUARD_LAST, i, 0, 0, NULL), give(s), end(), end();
    weir_task_end(k);
    task("two", 1), i = loop(cst(0), n), guard(WEIR_GUARD_FIRST, i, 0, 0, NULL), get(s), end(),
                    guard(WEIR_GUARD_LAST, i, 0, 0, NULL), get(s), end(), end();
    weir_task_end(k);
    says("SAFE", NULL, "first and last on both sides");
    start(), n = dim("N", 0), s = ring("s", 2);
    task("one", 0), i = loop(cst(0), n), guard(WEIR_GUARD_FIRST, i, 0, 0, NULL), give(s), end(), end(), weir_task_end(k);
    task("two", 1), loop(cst(0), n), get(s), end(), weir_task_end(k);
    says("DEADLOCK", NULL, "a guard on one side only");
    start(), n = dim("N", 0), s = ring("s", 2);
    task("one", 0), i = loop(cst(0), n), guard(WEIR_GUARD_EVERY, i, 3, 1, NULL), give(s), end(), end(), weir_task_end(k);
    task("two", 1), i = loop(cst(0), n), guard(WEIR_GUARD_EVERY, i, 3, 1, NULL), get(s), end(), end(), weir_task_end(k);
    says("SAFE", NULL, "every third step on both sides");
    start(), n = dim("N", 0), s = ring("s", 1);
    task("one", 0), loop(cst(0), cst(0)), give(s), end(), weir_task_end(k);
    task("two", 1), i = loop(cst(0), n), guard(WEIR_GUARD_EVERY, i, 1000, 29, NULL), get(s), end(), end(), weir_task_end(k);
    says("DEADLOCK", "N = 30)", "every(1000, 29) { wait } with no commit: 30 steps show it");
    /* conditions */
    for (int same = 0; same < 2; same++) {
        start(), n = dim("N", 0), c = op2(WEIR_OP_GT, n, cst(7)), s = ring("s", 1);
        task("one", 0), loop(cst(0), cst(3)), guard(WEIR_GUARD_TRUE, c, 0, 0, NULL), give(s), end(), end(), weir_task_end(k);
        task("two", 1), loop(cst(0), cst(3)), guard(same ? WEIR_GUARD_TRUE : WEIR_GUARD_FALSE, c, 0, 0, NULL), get(s), end(),
            end(), weir_task_end(k);
        says(same ? "SAFE" : "DEADLOCK LOST",
             same ? NULL : "N = ", same ? "one condition in both tasks" : "a condition and its opposite");
        start(), n = dim("N", 0), c = op2(WEIR_OP_GT, n, cst(7)), s = ring("s", 1);
        if (same) weir_assume(k, op2(WEIR_OP_LE, n, cst(7)));
        task("one", 0), guard(WEIR_GUARD_TRUE, c, 0, 0, NULL), loop(cst(0), n), give(s), end(), end(), weir_task_end(k);
        task("two", 1), weir_task_end(k);
        says(same ? "INCOMPLETE" : "LOST DEADLOCK", NULL,
             same ? "a fault that an assumption rules out is not reported as one"
                  : "a condition that the length contradicts or not");
        start(), n = dim("N", 0), c = op2(WEIR_OP_GT, n, cst(7)), s = ring("s", 1);
        task("one", 0), loop(cst(0), n), guard(WEIR_GUARD_TRUE, c, 0, 0, "a"), give(s), end(), end(), weir_task_end(k);
        task("two", 1), loop(cst(0), n), guard(WEIR_GUARD_TRUE, c, 0, 0, same ? "a" : "b"), get(s), end(), end(),
            weir_task_end(k);
        says(same ? "SAFE" : "DEADLOCK LOST", NULL, same ? "one key, a truth a step" : "two keys");
    }
}

static void tiles(void) {
    for (int way = 0; way < 4; way++) {
        start();
        weir_value M = dim("M", 0), N = dim("N", 0);
        weir_tensor *d = weir_tensor_new(
            k, &(weir_tensor_desc){ .name = "D", .dtype = WEIR_BF16, .rank = 2, .shape = { M, N }, .out = true });
        weir_res *wq = weir_work_queue(k, &(weir_queue_desc){ .name = "wq", .over = d, .tile = { 64, 64 } }), *s = ring("s", 2);
        for (int side = 0; side < 2; side++) {
            task(side ? "two" : "one", side);
            weir_tiles t = weir_tiles_begin(k, wq, 0, 0);
            if (way == 1 || way == 2) weir_tiles_skip(k, t, op2(WEIR_OP_GT, weir_tile_coord(k, t, 0), cst(3)));
            if (way == 1 || (way == 2 && side)) weir_skippable_begin(k, t);
            weir_value n = op2(WEIR_OP_ADD, weir_tile_coord(k, t, 0), cst(way == 3 && side ? 1 : 0));
            loop(cst(0), n);
            if (side) get(s);
            else give(s);
            end();
            if (way == 1 || (way == 2 && side)) end();
            next_tile(wq);
            end();
            weir_task_end(k);
        }
        static const char *const name[] = { "a length of the tile", "tiles that both sides skip", "tiles that one side skips",
                                            "a length of the tile, and one more" };
        says(way < 2 ? "SAFE" : "DEADLOCK LOST", NULL, name[way]);
    }
}

static void others(void) {
    /* fork: one load, two readers under barriers of their own */
    for (int way = 0; way < 3; way++) {
        start();
        weir_value n = dim("N", 0), m = way == 2 ? dim("M", 0) : n;
        weir_res *a = ring("a", 2), *b = ring("b", 2);
        weir_res *g = weir_group(k, &(weir_group_desc){ .name = "g",
                                                        .mode = way ? WEIR_GROUP_FORK : WEIR_GROUP_MERGE,
                                                        .members = (weir_res *[]){ a, b },
                                                        .nmembers = 2 });
        weir_res *ga = weir_group_member(g, "a"), *gb = weir_group_member(g, "b");
        if (way) {
            task("one", 0), loop(cst(0), n), weir_do(k, ga, WEIR_ACQUIRE, -1), weir_do(k, gb, WEIR_ACQUIRE, -1);
            work(ga, "fill", NULL, 0), work(gb, "fill", NULL, 0), weir_do(k, g, WEIR_COMMIT, -1), end(), weir_task_end(k);
            task("two", 1), loop(cst(0), n), get(ga), end(), weir_task_end(k);
            task("three", 2), loop(cst(0), m), get(gb), end(), weir_task_end(k);
        } else {
            task("one", 0), loop(cst(0), n), give(ga), end(), weir_task_end(k);
            task("two", 1), loop(cst(0), n), give(gb), end(), weir_task_end(k);
            task("three", 2), loop(cst(0), n), weir_do(k, ga, WEIR_WAIT, -1), weir_do(k, gb, WEIR_WAIT, -1),
                work(ga, "use", NULL, 0), work(gb, "use", NULL, 0);
            weir_do(k, g, WEIR_RELEASE, -1), end(), weir_task_end(k);
        }
        says(way == 2 ? "DEADLOCK LOST" : "SAFE", NULL,
             way == 0   ? "merge"
             : way == 1 ? "fork"
                        : "fork, one reader of another length");
    }
    for (int way = 0; way < 3; way++) { /* programmatic launch */
        start();
        weir_value n = dim("N", 1);
        weir_res *w = weir_pdl_wait(k, "w"), *l = weir_pdl_launch(k, "l"), *s = ring("s", 1);
        task("one", 0);
        if (way != 1) work(w, "wait_griddep", NULL, 0);
        loop(cst(0), n), give(s), end();
        weir_task_end(k);
        task("two", 1), loop(cst(0), n), get(s), end();
        if (way == 2) work(w, "wait_griddep", NULL, 0);
        work(l, "launch_griddep", NULL, 0);
        weir_task_end(k);
        says(way == 1 ? "PDL" : "SAFE", NULL, way == 1 ? "launch with no wait before it" : "launch behind a wait");
    }
}

/* Of an author who says no lines. */
static void no_lines(void) {
    start();
    weir_res *y = gtile("y", cst(64), cst(64), 1, 64, true, NULL);
    weir_task_begin(k, &(weir_task_desc){ .name = "t", .num_warps = 1 });
    work(y, "store", (weir_value[]){ weir_float(k, 1), weir_view_at(k, y, (weir_value[]){ cst(0) }, 1) }, 2);
    weir_task_end(k);
    says("SAFE", "trusting that tiles and CTAs keep apart in tensor 'y' (?)", "a place on trust, of no line");
}

/* Threads go on their own between the points where they meet: one may arrive while another has not yet waited. */
static void missed_phases(void) {
    for (int stages = 1; stages <= 2; stages++)
        for (int way = 0; way < 4; way++) {
            start();
            weir_value n = dim("N", 0);
            weir_res *s = ring("s", stages);
            task("one", 0), loop(cst(0), n), weir_do(k, s, WEIR_ACQUIRE, -1), weir_do(k, s, WEIR_COMMIT, -1), end(), weir_task_end(k);
            task("two", 1), loop(cst(0), n), weir_do(k, s, WEIR_WAIT, -1), weir_do(k, s, WEIR_RELEASE, -1), end(), weir_task_end(k);
            weiri_plan *p = plan_of(k);
            if (way == 1) blank(find(p, 1, ACT_WARP_SYNC, NULL, 0));
            if (way == 2) blank(find(p, 0, ACT_WARP_SYNC, NULL, 0));
            if (way == 3) blank(find(p, 0, ACT_WAIT, NULL, 0));
            if (!way) safe(p, "moves without work");
            else if (way == 3) first_is(p, "PARITY", "an arrival that ends its phase alone is in none but the next: no acquire leaves the waiter behind");
            else bad(p, "PARITY", way == 1 ? "a lane releases before its warp has waited" : "a lane commits before its warp has acquired");
        }
    for (int lag = 0; lag < 2; lag++) {
        shape s = { .stages = 2, .cluster = 1, .lag = lag };
        WITH(gemm(s, 0), blank(find(p, MMA, ACT_MMA, NULL, 0)), "PARITY COUNT DEADLOCK", "no mma stands between the warpgroup's wait and one thread's release");
    }
}

/* ---- an oracle ---------------------------------------------------------------------------------------------------------- */

/* Plain explicit-state search over all interleavings of one-thread tasks, for one loop length: no reduction, no clocks. Loads
 * land as steps of their own. Two accesses race when one state has both next, in flight, or not yet waited for. */
enum { MAX_STEPS = 120, MAX_ACTORS = 3, MAX_CELLS = 1 << 18 };
typedef struct step { weiri_act kind; int bar, parity, n, bytes, loc; bool write; } step; /* bar: of one stage */
typedef struct sequence { step s[MAX_STEPS]; int n; } sequence;
typedef struct cell { uint8_t pos[MAX_ACTORS]; uint8_t phase[8]; int8_t pending[8]; int16_t tx[8]; uint64_t air; } cell;
typedef struct oracle {
    sequence seq[MAX_ACTORS];
    int nactors, nbars, count[8];
    cell *c;
    int n;
    int *table;
    bool deadlock, race, count_fault, full;
} oracle;

typedef struct walker { const weiri_plan *p; sequence *q; int open[8], close[8]; int64_t dims[4]; bool bad; } walker;

static int bar_index(const weiri_plan *p, int bar, int stage) {
    int n = 0;
    for (int i = 0; i < bar; i++) n += p->bars.v[i].stages;
    return n + stage;
}

static void unroll(walker *w, const weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind == PN_LOOP) {
            int64_t a = 0, b = 0;
            weiri_value_eval(w->p->k, n->src->start, w->dims, NULL, 0, &a);
            weiri_value_eval(w->p->k, n->src->stop, w->dims, NULL, 0, &b);
            for (; a < b; a++) unroll(w, n->first);
            continue;
        }
        const weiri_action *a = n->act;
        int use = 0, stages = 1;
        if (a->cur >= 0) {
            use = a->stage == STAGE_CLOSE ? w->close[a->cur] : a->stage == STAGE_HELD ? w->open[a->cur] - 1 : w->open[a->cur];
            stages = w->p->cursors.v[a->cur].stages;
        }
        if (a->kind == ACT_ADVANCE) {
            if (a->stage == STAGE_CLOSE) w->close[a->cur]++;
            else w->open[a->cur]++;
            continue;
        }
        if (a->kind == ACT_NONE) continue;
        if (w->q->n == MAX_STEPS || use < 0) {
            w->bad = true;
            return;
        }
        step *s = &w->q->s[w->q->n++];
        *s = (step){
            .kind = a->kind, .bar = -1, .n = a->kind == ACT_MMA_WAIT ? a->n : a->arrivals, .bytes = (int)a->bytes, .loc = -1
        };
        int lap = use / stages - (a->kind == ACT_WAIT && w->p->cursors.v[a->cur].producer);
        if (a->bar >= 0) s->bar = bar_index(w->p, a->bar, use % stages), s->parity = lap & 1;
        if (a->neff) {
            const weiri_effect *e = a->eff;
            int u = e->stage == STAGE_HELD ? w->open[e->cur] - 1 : w->open[e->cur];
            if (u < 0) {
                w->bad = true;
                return;
            }
            s->loc = e->region * 8 + u % w->p->cursors.v[e->cur].stages;
            s->write = e->write;
        }
    }
}

/* Is step i of an actor an MMA that is not drained when the actor stands at `pos`? */
static bool undrained(const sequence *q, int i, int pos) {
    if (q->s[i].kind != ACT_MMA || i >= pos) return false;
    int groups = 0;
    for (int j = i + 1; j < pos; j++) {
        if (q->s[j].kind == ACT_MMA_COMMIT) groups++;
        if (q->s[j].kind == ACT_MMA_WAIT && groups > q->s[j].n) return false;
    }
    return true;
}

static void settle(oracle *o, cell *c, int bar) {
    if (c->pending[bar] < 0) o->count_fault = true;
    if (c->pending[bar] <= 0 && c->tx[bar] == 0) {
        c->phase[bar] ^= 1;
        c->pending[bar] = (int8_t)(c->pending[bar] + o->count[bar]);
    }
}

static void visit(oracle *o, const cell *c) {
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i < sizeof *c; i++) h = (h ^ ((const unsigned char *)c)[i]) * 1099511628211ull;
    int at = (int)(h >> 20) & (2 * MAX_CELLS - 1);
    for (; o->table[at]; at = (at + 1) & (2 * MAX_CELLS - 1))
        if (!memcmp(&o->c[o->table[at] - 1], c, sizeof *c)) return;
    if (o->n == MAX_CELLS) {
        o->full = true;
        return;
    }
    o->c[o->n] = *c;
    o->table[at] = ++o->n;
}

/* Loads are numbered over all actors, in order. */
static int load_index(const oracle *o, int actor, int step_i) {
    int n = 0;
    for (int a = 0; a <= actor; a++)
        for (int i = 0; i < (a < actor ? o->seq[a].n : step_i); i++) n += o->seq[a].s[i].kind == ACT_LOAD_BULK;
    return n;
}

static void races(oracle *o, const cell *c) {
    struct { int loc, actor; bool write, next; } on[3 * MAX_STEPS];
    int n = 0;
    for (int a = 0; a < o->nactors; a++)
        for (int i = 0; i < o->seq[a].n; i++) {
            const step *s = &o->seq[a].s[i];
            if (s->loc < 0) continue;
            bool next = i == c->pos[a], live = next || undrained(&o->seq[a], i, c->pos[a]);
            if (s->kind == ACT_LOAD_BULK && i < c->pos[a]) live = c->air >> load_index(o, a, i) & 1;
            if (next && !s->write) { /* somebody must have begun to fill it */
                bool filled = false;
                for (int b = 0; b < o->nactors; b++)
                    for (int j = 0; j < c->pos[b]; j++) filled = filled || (o->seq[b].s[j].loc == s->loc && o->seq[b].s[j].write);
                if (!filled) o->race = true;
            }
            if (live) on[n].loc = s->loc, on[n].actor = a, on[n].write = s->write, on[n++].next = next;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (on[i].loc == on[j].loc && (on[i].write || on[j].write)) o->race = true;
}

static void explore(oracle *o) {
    o->n = 0;
    memset(o->table, 0, sizeof *o->table * 2 * MAX_CELLS);
    cell start = { .air = 0 };
    for (int i = 0; i < o->nbars; i++) start.pending[i] = (int8_t)o->count[i];
    visit(o, &start);
    for (int at = 0; at < o->n && !o->full; at++) {
        cell now = o->c[at];
        bool any = false, all = true;
        races(o, &now);
        for (int a = 0; a < o->nactors; a++) {
            if (now.pos[a] == o->seq[a].n) continue;
            all = false;
            cell c = now;
            const step *s = &o->seq[a].s[c.pos[a]++];
            if (s->kind == ACT_WAIT && now.phase[s->bar] == s->parity) continue;
            if (s->kind == ACT_ARRIVE || s->kind == ACT_EXPECT) {
                c.pending[s->bar] = (int8_t)(c.pending[s->bar] - s->n);
                c.tx[s->bar] = (int16_t)(c.tx[s->bar] + (s->kind == ACT_EXPECT ? s->bytes : 0));
                settle(o, &c, s->bar);
            }
            if (s->kind == ACT_LOAD_BULK) c.air |= 1ull << load_index(o, a, now.pos[a]);
            any = true;
            visit(o, &c);
        }
        for (int a = 0, l = 0; a < o->nactors; a++)
            for (int i = 0; i < o->seq[a].n; i++) {
                const step *s = &o->seq[a].s[i];
                if (s->kind != ACT_LOAD_BULK) continue;
                if (now.air >> l & 1) {
                    cell c = now;
                    c.air &= ~(1ull << l);
                    c.tx[s->bar] = (int16_t)(c.tx[s->bar] - s->bytes);
                    settle(o, &c, s->bar);
                    any = true;
                    visit(o, &c);
                }
                l++;
            }
        if (!any && !all) o->deadlock = true;
    }
}

/* ---- random plans ------------------------------------------------------------------------------------------------------- */

static uint64_t seed = 20240229;
static int pick(int n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (int)(seed % (uint64_t)n);
}

typedef struct maker { weiri_plan *p; weiri_pnode *at; weiri_task *task; } maker;

static weiri_action *add_act(maker *m, weiri_act kind, int bar, int cur, weiri_stage_ref stage) {
    weiri_pnode *n = weiri_arena_alloc(&m->p->a, sizeof *n);
    n->kind = PN_ACTION;
    n->parent = m->at;
    n->act = weiri_arena_alloc(&m->p->a, sizeof *n->act);
    *n->act = (weiri_action){ .kind = kind,
                              .who = WHO_ONE,
                              .bar = bar,
                              .cur = cur,
                              .stage = stage,
                              .arrivals = 1,
                              .copy = -1,
                              .reg = -1,
                              .id = ++m->p->nactions };
    if (m->at->last) m->at->last->next = n;
    else m->at->first = n;
    m->at->last = n;
    return n->act;
}

static void access_stage(maker *m, weiri_action *a, int region, int cur, bool write, bool async) {
    a->eff = weiri_arena_alloc(&m->p->a, sizeof *a->eff);
    *a->eff = (weiri_effect){ .write = write, .async = async, .region = region, .reg = -1, .cur = cur, .stage = STAGE_HELD };
    a->neff = 1;
}

static void producer_block(maker *m, int pipe, int cur, bool tma) {
    add_act(m, ACT_WAIT, 2 * pipe + 1, cur, STAGE_NEXT);
    if (tma) add_act(m, ACT_EXPECT, 2 * pipe, cur, STAGE_NEXT)->bytes = 64;
    add_act(m, ACT_ADVANCE, -1, cur, STAGE_NEXT);
    weiri_action *a =
        add_act(m, tma ? ACT_LOAD_BULK : ACT_BODY, tma ? 2 * pipe : -1, tma ? cur : -1, tma ? STAGE_HELD : STAGE_NONE);
    a->bytes = tma ? 64 : 0;
    access_stage(m, a, pipe, cur, true, tma);
    if (!tma) add_act(m, ACT_ARRIVE, 2 * pipe, cur, STAGE_CLOSE);
    add_act(m, ACT_ADVANCE, -1, cur, STAGE_CLOSE);
}

static void consumer_block(maker *m, int pipe, int cur, bool mma) {
    add_act(m, ACT_WAIT, 2 * pipe, cur, STAGE_NEXT);
    add_act(m, ACT_ADVANCE, -1, cur, STAGE_NEXT);
    access_stage(m, add_act(m, mma ? ACT_MMA : ACT_BODY, -1, -1, STAGE_NONE), pipe, cur, false, mma);
    if (mma) {
        add_act(m, ACT_MMA_COMMIT, -1, -1, STAGE_NONE);
        add_act(m, ACT_MMA_WAIT, -1, -1, STAGE_NONE)->n = 0;
    }
    add_act(m, ACT_ARRIVE, 2 * pipe + 1, cur, STAGE_CLOSE);
    add_act(m, ACT_ADVANCE, -1, cur, STAGE_CLOSE);
}

static int count_actions(const weiri_pnode *n) {
    int c = 0;
    for (; n; n = n->next) c += n->kind == PN_ACTION ? 1 : count_actions(n->first);
    return c;
}

static weiri_pnode *nth_action(weiri_pnode *n, int *i) {
    for (; n; n = n->next) {
        weiri_pnode *x = n->kind == PN_ACTION ? ((*i)-- == 0 ? n : NULL) : nth_action(n->first, i);
        if (x) return x;
    }
    return NULL;
}

/* Up to three tasks of one thread, up to two rings, one length N; half of them with a change. */
static weiri_plan *random_plan(void) {
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "random", .arch = WEIR_ARCH_SM_90A });
    weir_value N = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    weiri_plan *p = weiri_alloc(ctx, sizeof *p);
    weiri_arena_init(&p->a, ctx);
    p->k = k;
    p->findings.a = &p->a;
    p->ok = true;
    p->cluster = 1;
    p->ntasks = 2 + pick(2);
    p->tasks = WEIRI_NEW_N(&p->a, weiri_ptask, p->ntasks);
    int npipes = 1 + pick(2);
    bool tma[2], mma[2];
    int producer[2], consumers[2], prefetch = pick(4) == 0;
    for (int i = 0; i < npipes; i++) {
        int stages = 1 + pick(3);
        producer[i] = pick(p->ntasks);
        consumers[i] = 0; /* bits */
        while (!consumers[i])
            for (int t = 0; t < p->ntasks; t++)
                if (t != producer[i] && pick(2)) consumers[i] |= 1 << t;
        tma[i] = pick(2);
        mma[i] = tma[i] && pick(2);
        weiri_region reg = { .name = i ? "q" : "p",
                             .offset = 4096 * i,
                             .size = 64 * stages,
                             .stages = stages,
                             .stage_bytes = 64,
                             .phase = -1,
                             .same_as = -1 };
        WEIRI_PUSH(&p->a, p->smem, reg);
        weiri_bar full = { .name = i ? "q_full" : "p_full", .stages = stages, .count = 1, .full = true };
        weiri_bar empty = { .name = i ? "q_empty" : "p_empty",
                            .stages = stages,
                            .count = (consumers[i] & 1) + (consumers[i] >> 1 & 1) + (consumers[i] >> 2 & 1) };
        WEIRI_PUSH(&p->a, p->bars, full);
        WEIRI_PUSH(&p->a, p->bars, empty);
    }
    weiri_pnode *start = WEIRI_NEW(&p->a, weiri_pnode);
    maker first = { p, start, NULL };
    add_act(&first, ACT_INIT, -1, -1, STAGE_NONE);
    add_act(&first, ACT_CTA_SYNC, -1, -1, STAGE_NONE)->who = WHO_THREADS;
    p->prologue = start->first;
    for (int t = 0; t < p->ntasks; t++) {
        weiri_pnode *root = WEIRI_NEW(&p->a, weiri_pnode);
        static const char *const names[] = { "one", "two", "three" };
        weiri_task *task = WEIRI_NEW(&p->a, weiri_task);
        task->name = names[t];
        task->num_warps = 1;
        p->tasks[t] = (weiri_ptask){ .task = task, .solo = true, .actors = 1 };
        int cur[2] = { -1, -1 }, order = pick(2);
        for (int i = 0; i < npipes; i++) {
            if (producer[i] != t && !(consumers[i] >> t & 1)) continue;
            weiri_cursor c = {
                .name = "c", .task = t, .pipe = -1, .producer = producer[i] == t, .stages = p->bars.v[2 * i].stages, .stride = 1
            };
            WEIRI_PUSH(&p->a, p->cursors, c);
            cur[i] = p->cursors.n - 1;
        }
        maker m = { p, root, task };
        weiri_pnode *loop = WEIRI_NEW(&p->a, weiri_pnode);
        for (int where = 0; where < 2; where++) {
            if (where == 0 && !prefetch) continue;
            if (where) {
                weiri_node *src = WEIRI_NEW(&p->a, weiri_node);
                int more = pick(8) == 0 ? 1 : pick(8) == 0 ? -1 : 0;
                src->kind = NODE_LOOP;
                src->start = cst(0).id;
                src->stop = more ? op2(WEIR_OP_ADD, N, cst(more)).id : N.id;
                src->step = cst(1).id;
                src->index = cst(0).id;
                loop->kind = PN_LOOP;
                loop->src = src;
                loop->parent = root;
                if (root->last) root->last->next = loop;
                else root->first = loop;
                root->last = loop;
                m.at = loop;
            }
            for (int j = 0; j < npipes; j++) {
                int i = order ? npipes - 1 - j : j;
                if (cur[i] < 0) continue;
                if (producer[i] == t) producer_block(&m, i, cur[i], tma[i]);
                else consumer_block(&m, i, cur[i], mma[i]);
            }
        }
        p->tasks[t].root = root->first;
    }
    for (int changes = pick(3); changes > 0; changes--) {
        int t = pick(p->ntasks), n = count_actions(p->tasks[t].root);
        if (n < 2) continue;
        int i = pick(n), j = i;
        weiri_pnode *x = nth_action(p->tasks[t].root, &j);
        switch (pick(5)) {
        case 0: x->act->kind = ACT_NONE; break;
        case 1: if (x->act->kind != ACT_LOAD_BULK) twice(p, x); break;
        case 2:
            if (x->next && x->next->kind == PN_ACTION) {
                weiri_action *a = x->act;
                x->act = x->next->act;
                x->next->act = a;
            }
            break;
        case 3: p->bars.v[pick(p->bars.n)].count += pick(2) ? 1 : -1; break;
        case 4: x->act->bytes *= 2; break;
        }
    }
    for (int i = 0; i < p->bars.n; i++)
        if (p->bars.v[i].count < 1) p->bars.v[i].count = 1;
    return p;
}

static void random_plans(int n) {
    oracle *o = calloc(1, sizeof *o);
    o->c = malloc(sizeof *o->c * MAX_CELLS);
    o->table = malloc(sizeof *o->table * 2 * MAX_CELLS);
    int safes = 0, unsafes = 0, undecided = 0, stricter = 0, wrong = 0, reductions = 0;
    uint64_t plain = 0, reduced = 0;
    for (int i = 0; i < n; i++) {
        weiri_plan *p = random_plan();
        proved r;
        bool was = loud;
        loud = false;
        prove(&r, p);
        loud = was;
        bool dead = false, race = false, counts = false, cut_off = false;
        for (int N = 0; N <= 5; N++) {
            o->deadlock = o->race = o->count_fault = o->full = false;
            o->nactors = p->ntasks;
            o->nbars = bar_index(p, p->bars.n, 0);
            bool bad_use = o->nbars > 8;
            for (int b = 0, at = 0; b < p->bars.n && !bad_use; b++)
                for (int s = 0; s < p->bars.v[b].stages; s++) o->count[at++] = p->bars.v[b].count;
            for (int t = 0; t < p->ntasks && !bad_use; t++) {
                walker w = { .p = p, .q = &o->seq[t], .dims = { N } };
                o->seq[t].n = 0;
                unroll(&w, p->tasks[t].root);
                bad_use = bad_use || w.bad;
            }
            int loads = 0;
            for (int t = 0; t < p->ntasks && !bad_use; t++) loads += load_index(o, t, o->seq[t].n) - load_index(o, t, 0);
            if (bad_use || loads > 60) {
                cut_off = true;
                break;
            }
            explore(o);
            if (o->full) {
                cut_off = true;
                break;
            }
            dead = dead || o->deadlock;
            race = race || o->race;
            counts = counts || o->count_fault;
        }
        bool only_dead = true, only_race = true;
        for (int j = 0; j < r.f.list.n; j++) {
            only_dead = only_dead && !strcmp(r.f.list.v[j].rule, "PROVE-DEADLOCK");
            only_race =
                only_race && (!strcmp(r.f.list.v[j].rule, "PROVE-RACE") || !strcmp(r.f.list.v[j].rule, "PROVE-ASYNC-READ"));
        }
        const char *why = NULL;
        if (r.proof.verdict == WEIR_SAFE) {
            safes++;
            if (dead || race || counts)
                why = dead   ? "proved, but the oracle finds a deadlock"
                      : race ? "proved, but the oracle finds a race"
                             : "proved, but a barrier gets too many arrivals";
        } else if (r.proof.verdict == WEIR_UNSAFE) {
            unsafes++;
            if (!cut_off && only_dead && !dead) why = "deadlock, but the oracle finds none";
            if (!cut_off && only_race && !race) why = "race, but the oracle finds none";
            stricter += !dead && !race && !cut_off;
        } else undecided++;
        if (why) {
            wrong++;
            printf("# plan %d: %s\n", i, why);
            for (int j = 0; j < r.f.list.n; j++) printf("#   %s %s\n", r.f.list.v[j].rule, r.f.list.v[j].message);
        }
        /* each reduction left out: the same verdict, with more states */
        for (int without = WEIRI_STILL; without <= (WEIRI_STILL | WEIRI_APART); without++) {
            weir_proof other;
            weiri_findings f = { .a = &r.a };
            weiri_prove_without(p, &r.a, &other, &f, without | made_by_hand);
            if (other.verdict != r.proof.verdict && other.verdict != WEIR_INCOMPLETE && r.proof.verdict != WEIR_INCOMPLETE) {
                reductions++;
                printf("# plan %d: %d without %d\n", i, other.verdict, without);
            }
            if (other.verdict == WEIR_SAFE && r.proof.verdict == WEIR_SAFE) plain += other.states, reduced += r.proof.states;
        }
        forget(&r);
    }
    free(o->c);
    free(o->table);
    free(o);
    ok(wrong == 0,
       "%d random plans agree with the oracle (%d proved, %d refuted, %d undecided, %d refuted by the counting rules alone)", n,
       safes, unsafes, undecided, stricter);
    ok(reductions == 0 && plain > reduced, "without each reduction the verdict is the same (%d states become %d)", (int)plain,
       (int)reduced);
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
    lengths();
    guards();
    tiles();
    others();
    no_lines();
    missed_phases();
    made_by_hand = WEIRI_TABLES;
    random_plans(300);
    weir_close(ctx);
    return done();
}
