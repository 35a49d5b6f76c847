/* model, value, group, capture: the GEMM of examples/gemm_staged.lua described through the C API, and what the stages say about
 * descriptions that are wrong. */
#include <stdlib.h>

#include "../tap.h"

#include "mem.h"
#include "model.h"
#include "weir.h"

static weir_kernel *k;
static int line; /* of the "script" */

static void at(int n) {
    line = n;
    weir_at(k, &(weir_place){ "gemm.lua", n }, 1);
}

static weir_value op2(weir_op op, weir_value a, weir_value b) { return weir_apply(k, op, (weir_value[]){ a, b }, 2); }
static weir_value cst(int64_t x) { return weir_int(k, x); }
static void work(weir_res *r, const char *m, const weir_value *args, int n) {
    weir_work(k, r, m, &(weir_work_desc){ .args = args, .nargs = n }, NULL, 0);
}

static const char *text(weir_value v) {
    static char out[512];
    weir_value_text(k, v, out, sizeof out);
    return out;
}

/* What is recorded as wrong, as the report would show it. */
static const char *faults(void) {
    static char out[8192];
    weir_report *r = weiri_report_new(k->ctx);
    weiri_report_add(r, &k->faults);
    weiri_report_finish(r);
    snprintf(out, sizeof out, "%s", weir_report_text(r));
    weir_report_free(r);
    return out;
}

static weir_ctx *ctx;
static void fresh(const char *name) {
    weir_kernel_free(k);
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = name, .cluster = { .m = 2 } });
    at(1);
}

typedef struct gemm {
    weir_value M, N, K;
    weir_tensor *D;
    weir_res *ga, *gb, *gd, *wq, *a, *b, *ab, *acc, *stage;
} gemm;

enum { BM = 128, BN = 256, BK = 64, EN = 64, ST = 4 };

static weir_res *gtile(const char *tensor, weir_value r, weir_value c, int rows, int cols, bool out, weir_tensor **keep) {
    weir_tensor *t =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = tensor, .dtype = WEIR_BF16, .rank = 2, .shape = { r, c }, .out = out });
    if (keep) *keep = t;
    char name[16];
    snprintf(name, sizeof name, "g%s", tensor);
    return weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = name, .tensor = t, .tile = { rows, cols } });
}

static weir_res *stile(const char *name, int rows, int cols, weir_pipe_type type, int stages) {
    return weir_smem_tile(k, &(weir_smem_tile_desc){ .name = name,
                                                     .dtype = WEIR_BF16,
                                                     .tile = { rows, cols },
                                                     .swizzle = 128,
                                                     .pipeline = { .type = type, .stages = stages } });
}

static gemm declare(void) {
    gemm g = { 0 };
    at(18);
    g.M = weir_dim(k, &(weir_dim_desc){ .name = "M" });
    g.N = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    g.K = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    at(19);
    g.ga = gtile("A", g.M, g.K, BM, BK, false, NULL);
    g.gb = gtile("B", g.N, g.K, BN, BK, false, NULL);
    at(20);
    g.gd = gtile("D", g.M, g.N, BM, EN, true, &g.D);
    at(21);
    g.wq = weir_work_queue(
        k, &(weir_queue_desc){ .name = "wq", .over = g.D, .tile = { BM, BN }, .raster = WEIR_RASTER_GROUPED, .group = 8 });
    at(22);
    g.a = stile("a", BM, BK, WEIR_TMA_ASYNC, ST);
    g.b = stile("b", BN, BK, WEIR_TMA_ASYNC, ST);
    at(23);
    g.ab =
        weir_group(k, &(weir_group_desc){
                          .name = "ab", .mode = WEIR_GROUP_FUSED_MERGE, .members = (weir_res *[]){ g.a, g.b }, .nmembers = 2 });
    g.acc = weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "acc", .tile = { BM, BN } });
    g.stage = stile("stage", BM, EN, WEIR_ASYNC_TMA, 2);
    return g;
}

static void next_tile(weir_res *wq) {
    weir_do(k, wq, WEIR_TRY_WAIT, -1);
    weir_do(k, wq, WEIR_WAIT, -1);
    work(wq, "get_and_advance_work_tile", NULL, 0);
    weir_do(k, wq, WEIR_RELEASE, -1);
}

static void load_task(gemm *g) {
    at(27);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = 1, .registers = 40 });
    weir_res *a = weir_group_member(g->ab, "a"), *b = weir_group_member(g->ab, "b");
    at(28);
    weir_tiles t = weir_tiles_begin(k, g->wq, 0, 0);
    at(29);
    weir_value kk = weir_loop_begin(k, cst(0), op2(WEIR_OP_CEIL_DIV, g->K, cst(BK)), cst(1), 0);
    at(30);
    weir_do(k, a, WEIR_ACQUIRE, -1);
    work(a, "tma_load", (weir_value[]){ weir_view_at(k, g->ga, (weir_value[]){ weir_tile_coord(k, t, 0), kk }, 2) }, 1);
    weir_do(k, a, WEIR_COMMIT, -1);
    at(31);
    weir_do(k, b, WEIR_ACQUIRE, -1);
    weir_value from = weir_view_at(k, g->gb, (weir_value[]){ weir_tile_coord(k, t, 1), kk }, 2);
    weir_work(k, b, "tma_load", &(weir_work_desc){ .args = &from, .nargs = 1, .multicast = WEIR_MULTICAST_M }, NULL, 0);
    weir_do(k, b, WEIR_COMMIT, -1);
    weir_block_end(k, false);
    at(33);
    next_tile(g->wq);
    weir_block_end(k, false);
    weir_task_end(k);
}

static void mma_task(gemm *g) {
    at(37);
    weir_task_begin(k, &(weir_task_desc){ .name = "mma", .first_warp = 4, .num_warps = 8, .registers = 232 });
    weir_res *a = weir_group_member(g->ab, "a"), *b = weir_group_member(g->ab, "b");
    at(38);
    weir_tiles t = weir_tiles_begin(k, g->wq, 0, 0);
    work(g->acc, "zero", NULL, 0);
    at(40);
    weir_loop_begin(k, cst(0), op2(WEIR_OP_CEIL_DIV, g->K, cst(BK)), cst(1), 0);
    at(41);
    weir_do(k, g->ab, WEIR_WAIT, -1);
    work(g->acc, "mma", (weir_value[]){ weir_view_read(k, a, 0), weir_view_read(k, b, 0) }, 2);
    at(42);
    weir_drain(k, g->acc, 1);
    weir_do(k, g->ab, WEIR_RELEASE, 1);
    weir_block_end(k, false);
    at(44);
    weir_drain(k, g->acc, 0);
    weir_do(k, g->ab, WEIR_RELEASE, 0);
    for (int c = 0; c < 2; c++) {
        at(46);
        weir_do(k, g->stage, WEIR_ACQUIRE, -1);
        work(g->stage, "store", (weir_value[]){ weir_tile_cols(k, weir_reg_read(k, g->acc), c * EN, EN) }, 1);
        weir_do(k, g->stage, WEIR_COMMIT, -1);
        weir_do(k, g->stage, WEIR_WAIT, -1);
        weir_value n = op2(WEIR_OP_ADD, op2(WEIR_OP_MUL, weir_tile_coord(k, t, 1), cst(BN / EN)), cst(c));
        weir_value place = weir_view_at(k, g->gd, (weir_value[]){ weir_tile_coord(k, t, 0), n }, 2);
        work(g->gd, "tma_store", (weir_value[]){ weir_view_read(k, g->stage, 0), place }, 2);
        weir_do(k, g->stage, WEIR_RELEASE, -1);
    }
    next_tile(g->wq);
    weir_block_end(k, false);
    weir_task_end(k);
}

static const char wanted_capture[] = "task load: warps [0:1), registers 40, src wq, gA, gB; dst a, b\n"
                                     "  for t in work_tile_loop(wq)  -- gemm.lua:28\n"
                                     "    for i0 in domain_loop(0, ceil_div(K, 64), 1)  -- gemm.lua:29\n"
                                     "      ab.a:acquire()  -- gemm.lua:30\n"
                                     "      ab.a:tma_load(gA:at(t.m, i0))  -- gemm.lua:30\n"
                                     "      ab.a:commit()  -- gemm.lua:30\n"
                                     "      ab.b:acquire()  -- gemm.lua:31\n"
                                     "      ab.b:tma_load(gB:at(t.n, i0), multicast m)  -- gemm.lua:31\n"
                                     "      ab.b:commit()  -- gemm.lua:31\n"
                                     "    wq:try_wait()  -- gemm.lua:33\n"
                                     "    wq:wait()  -- gemm.lua:33\n"
                                     "    wq:get_and_advance_work_tile()  -- gemm.lua:33\n"
                                     "    wq:release()  -- gemm.lua:33\n"
                                     "task mma: warps [4:12), registers 232, src wq, a, b, stage; dst acc, stage, gD\n"
                                     "  for t in work_tile_loop(wq)  -- gemm.lua:38\n"
                                     "    acc:zero()  -- gemm.lua:38\n"
                                     "    for i0 in domain_loop(0, ceil_div(K, 64), 1)  -- gemm.lua:40\n"
                                     "      ab:wait()  -- gemm.lua:41\n"
                                     "      ab.a:read()  -- gemm.lua:41\n"
                                     "      ab.b:read()  -- gemm.lua:41\n"
                                     "      acc:mma(ab.a:read(), ab.b:read())  -- gemm.lua:41\n"
                                     "      acc:drain(1)  -- gemm.lua:42\n"
                                     "      ab:release(1)  -- gemm.lua:42\n"
                                     "    acc:drain(0)  -- gemm.lua:44\n"
                                     "    ab:release(0)  -- gemm.lua:44\n"
                                     "    stage:acquire()  -- gemm.lua:46\n"
                                     "    acc:read()  -- gemm.lua:46\n"
                                     "    stage:store(acc:read():cols(0, 64))  -- gemm.lua:46\n"
                                     "    stage:commit()  -- gemm.lua:46\n"
                                     "    stage:wait()  -- gemm.lua:46\n"
                                     "    stage:read()  -- gemm.lua:46\n"
                                     "    gD:tma_store(stage:read(), gD:at(t.m, t.n * 4))  -- gemm.lua:46\n"
                                     "    stage:release()  -- gemm.lua:46\n"
                                     "    stage:acquire()  -- gemm.lua:46\n"
                                     "    acc:read()  -- gemm.lua:46\n"
                                     "    stage:store(acc:read():cols(64, 64))  -- gemm.lua:46\n"
                                     "    stage:commit()  -- gemm.lua:46\n"
                                     "    stage:wait()  -- gemm.lua:46\n"
                                     "    stage:read()  -- gemm.lua:46\n"
                                     "    gD:tma_store(stage:read(), gD:at(t.m, t.n * 4 + 1))  -- gemm.lua:46\n"
                                     "    stage:release()  -- gemm.lua:46\n"
                                     "    wq:try_wait()  -- gemm.lua:46\n"
                                     "    wq:wait()  -- gemm.lua:46\n"
                                     "    wq:get_and_advance_work_tile()  -- gemm.lua:46\n"
                                     "    wq:release()  -- gemm.lua:46\n";

static void test_gemm(void) {
    fresh("gemm");
    gemm g = declare();
    ok(g.ab != NULL, "the group is made");
    is_int(WEIR_GROUP_FUSED_MERGE, weir_group_get_mode(g.ab), "its mode");
    is_int(0, weir_group_is_heterogeneous(g.ab), "its members are of one type");
    is_int(2, weir_group_barriers_per_stage(g.ab), "barriers of a stage");
    is_int((int)g.ab->pipe.given.type, (int)weir_group_get_pipeline(g.ab).type, "the type its moves follow");
    load_task(&g);
    mma_task(&g);
    is_str("", faults(), "the staged gemm has no faults");
    weiri_buf b;
    weiri_buf_init(&b, ctx);
    weiri_capture_print(k, &b);
    is_str(wanted_capture, b.s, "the staged gemm as captured");
    weiri_buf_free(&b);
    const weiri_node *l0 = k->tasks.v[0]->root->first->first, *l1 = k->tasks.v[1]->root->first->first->next;
    ok(l0->kind == NODE_LOOP && l1->kind == NODE_LOOP && l0->stop == l1->stop, "equal bounds in two tasks are one value");
    ok(k->tasks.v[0]->root->first->coord[0] == k->tasks.v[1]->root->first->coord[0], "coordinates of one queue are one value");
    is_int(BM * BK * 2, weiri_tile_bytes(g.a), "bytes of a stage");
    is_str("ceil_div(N, 256)", text(weir_queue_extent(k, g.wq, 1)), "extent of a queue's axis");
}

static void test_values(void) {
    fresh("values");
    weir_value K = weir_dim(k, &(weir_dim_desc){ .name = "K" }),
               s = weir_scalar(k, &(weir_scalar_desc){ .name = "s", .dtype = WEIR_F32 });
    int64_t x = 0;
    struct {
        const char *wanted;
        weir_op op;
        int64_t a, b;
    } folds[] = {
        { "-4", WEIR_OP_IDIV, -7, 2 },     { "1", WEIR_OP_MOD, -7, 2 },     { "-1", WEIR_OP_MOD, 7, -2 },
        { "-3", WEIR_OP_CEIL_DIV, -7, 2 }, { "4", WEIR_OP_CEIL_DIV, 7, 2 }, { "true", WEIR_OP_LT, 1, 2 },
        { "2", WEIR_OP_MAX, 1, 2 },
    };
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        is_str(folds[i].wanted, text(op2(folds[i].op, cst(folds[i].a), cst(folds[i].b))), folds[i].wanted);
    is_int(K.id, op2(WEIR_OP_ADD, K, cst(0)).id, "K + 0 is K");
    is_int(K.id, op2(WEIR_OP_ADD, cst(0), K).id, "0 + K is K");
    is_int(K.id, op2(WEIR_OP_MUL, K, cst(1)).id, "K * 1 is K");
    ok(weiri_value_const(k, op2(WEIR_OP_SUB, K, K).id, &x) && x == 0, "K - K is 0");
    is_int(op2(WEIR_OP_ADD, K, cst(3)).id, op2(WEIR_OP_ADD, K, cst(3)).id, "equal expressions are one value");
    is_str("(K + 1) * 2 - K % (K // 3)",
           text(op2(WEIR_OP_SUB, op2(WEIR_OP_MUL, op2(WEIR_OP_ADD, K, cst(1)), cst(2)),
                    op2(WEIR_OP_MOD, K, op2(WEIR_OP_IDIV, K, cst(3))))),
           "precedence");
    is_str("K + 2", text(op2(WEIR_OP_SUB, op2(WEIR_OP_ADD, K, cst(3)), cst(1))), "a sum keeps one number");
    is_int(K.id, op2(WEIR_OP_ADD, op2(WEIR_OP_SUB, K, cst(3)), cst(3)).id, "K - 3 + 3 is K");
    is_str("K - (K - 1)", text(op2(WEIR_OP_SUB, K, op2(WEIR_OP_SUB, K, cst(1)))), "left-associative");
    is_int(WEIR_F32, weir_value_get(k, op2(WEIR_OP_DIV, K, cst(2))).dtype, "/ gives f32");
    is_int(WEIR_F32, weir_value_get(k, op2(WEIR_OP_MUL, K, s)).dtype, "i32 * f32 is f32");
    is_int(WEIR_VALUE_COND, weir_value_get(k, op2(WEIR_OP_LT, K, cst(2))).kind, "a comparison is a condition");
    int64_t dims[] = { 100 };
    ok(weiri_value_eval(k, op2(WEIR_OP_CEIL_DIV, K, cst(64)).id, dims, NULL, 0, &x) && x == 2, "evaluated with K = 100");

    weir_res *r = weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "acc", .tile = { 128, 64 } });
    weir_task_begin(k, &(weir_task_desc){ .name = "t", .first_warp = 0, .num_warps = 4 });
    weir_value t = weir_reg_read(k, r), u = weir_reg_read(k, r);
    ok(t.id != u.id, "two reads are two values");
    weir_value m = weir_row_reduce(k, WEIR_OP_ROW_MAX, t, 1);
    weir_value e = op2(WEIR_OP_SUB, t, m);
    is_int(64, weir_value_get(k, e).cols, "{ rows, 1 } spreads over columns");
    is_str("acc:read() - acc:read():row_max()", text(e), "text of a row reduction");
    ok(!weir_value_get(k, e).uniform && weir_value_get(k, K).uniform, "register tiles are not uniform, dims are");
    weir_value live = op2(WEIR_OP_LT, weir_col_index(k, r), K);
    weir_value masked = weir_apply(k, WEIR_OP_SELECT, (weir_value[]){ live, t, weir_float(k, -1e30) }, 3);
    is_str("select(acc:col_index() < K, acc:read(), -1e+30)", text(masked), "a mask");
    is_int(128, weir_value_get(k, masked).rows, "its rows");
    weir_loop_begin(k, cst(0), K, cst(1), 0);
    weir_value inner = weir_reg_read(k, r);
    weir_block_end(k, false);
    is_str("", faults(), "none of this is a fault");
    at(77);
    work(r, "set", &inner, 1);
    is_str("gemm.lua:77: error: acc:set: value: acc:read() is used outside the domain loop that made it [VAL-SCOPE]\n"
           "    gemm.lua:1: made in this block\n"
           "    hint: keep it in a reg_tile, or use it inside the block\n"
           "1 error\n",
           faults(), "a value outlives its loop");
    weir_task_end(k);
}

/* one mistake each: what the report says */
static void broken(const char *name, void (*f)(void), const char *wanted) {
    fresh("broken");
    at(10);
    f();
    is_str(wanted, faults(), name);
}

static weir_res *tile_a(weir_pipe_type t) { return stile("a", 128, 64, t, 2); }
static void begin(void) { weir_task_begin(k, &(weir_task_desc){ .name = "x", .first_warp = 0, .num_warps = 1 }); }

static void no_dtype(void) { weir_smem_tile(k, &(weir_smem_tile_desc){ .name = "a", .tile = { 8, 8 } }); }
static void bad_name(void) { weir_dim(k, &(weir_dim_desc){ .name = "2M" }); }
static void same_name(void) {
    tile_a(WEIR_TMA_ASYNC);
    at(11);
    tile_a(WEIR_TMA_ASYNC);
}
static void bad_tile(void) { weir_reg_tile(k, &(weir_reg_tile_desc){ .name = "r", .dtype = WEIR_F32, .tile = { 64, -1 } }); }
static void bad_swizzle(void) {
    weir_smem_tile(k, &(weir_smem_tile_desc){ .name = "a", .dtype = WEIR_BF16, .tile = { 8, 8 }, .swizzle = 48 });
}
static void bad_rank(void) {
    weir_tensor *t =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "A", .dtype = WEIR_F32, .rank = 2, .shape = { cst(4), cst(4) } });
    at(12);
    weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "ga", .tensor = t, .tile = { 1, 2, 2 } });
}
static void not_in_task(void) { weir_do(k, tile_a(WEIR_TMA_ASYNC), WEIR_ACQUIRE, -1); }
static void unknown_method(void) {
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    begin();
    at(13);
    work(a, "tma_laod", NULL, 0);
}
static void bare_member(void) {
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    weir_group(k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_MERGE, .members = &a, .nmembers = 1 });
    begin();
    at(13);
    weir_do(k, a, WEIR_WAIT, -1);
}
static void collapsed_on_member(void) {
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    weir_res *g = weir_group(k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_MERGE, .members = &a, .nmembers = 1 });
    begin();
    at(13);
    weir_do(k, weir_group_member(g, "a"), WEIR_RELEASE, -1);
}
static void wait_on_group(void) {
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    weir_res *g = weir_group(k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_MERGE, .members = &a, .nmembers = 1 });
    begin();
    at(13);
    weir_do(k, g, WEIR_WAIT, -1);
}
static void left_by_break(void) {
    begin();
    at(14);
    weir_loop_begin(k, cst(0), cst(4), cst(1), 0);
    at(15);
    weir_block_end(k, true);
}
static void looks_back_at_nothing(void) {
    begin();
    weir_guard_begin(k, &(weir_guard_desc){ .kind = WEIR_GUARD_PREVIOUS_TILE });
    weir_block_end(k, false);
    weir_tiles t = weir_last_tile_begin(k, NULL);
    ok(weir_tile_coord(k, t, 0).id == 0, "the last tile of no queue has no coordinates");
    weir_block_end(k, false);
    weir_task_end(k);
    weir_kernel_print(k, WEIR_PRINT_CAPTURE);
}
static void tiles_of_nothing(void) {
    begin();
    weir_tiles t = weir_tiles_begin(k, NULL, 0, 1);
    ok(weir_tile_coord(k, t, 0).id == 0, "a tile of no queue has no coordinates");
    weir_tile_place(k, t);
    weir_block_end(k, false);
    weir_task_end(k);
    weir_kernel_print(k, WEIR_PRINT_CAPTURE);
}
static void no_such_move(void) {
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    begin();
    weir_do(k, a, (weir_move)99, -1);
}
static void step_zero(void) {
    begin();
    weir_loop_begin(k, cst(0), cst(4), cst(0), 0);
    weir_block_end(k, false);
}
static void shapes_differ(void) {
    weir_res *r = weir_reg_tile(k, &(weir_reg_tile_desc){ .name = "r", .dtype = WEIR_F32, .tile = { 64, 8 } });
    weir_res *s = weir_reg_tile(k, &(weir_reg_tile_desc){ .name = "s", .dtype = WEIR_F32, .tile = { 64, 16 } });
    begin();
    weir_value x = weir_reg_read(k, r), y = weir_reg_read(k, s);
    at(16);
    op2(WEIR_OP_ADD, x, y);
}
static void number_as_condition(void) {
    weir_value K = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    op2(WEIR_OP_AND, K, op2(WEIR_OP_LT, K, cst(4)));
}
static void helper_called(void) {
    weir_res *a = tile_a(WEIR_PIPE_NONE);
    begin();
    weir_at(k, (weir_place[]){ { "lib.lua", 3 }, { "gemm.lua", 20 } }, 2);
    weir_do(k, a, WEIR_WAIT, -1);
}
static void bad_params(void) {
    weir_resource(k, &(weir_resource_desc){ .name = "r",
                                            .space = WEIR_SPACE_GMEM,
                                            .work = &(weir_work_def){ .name = "w",
                                                                      .side = WEIR_SIDE_CONSUMER,
                                                                      .code = "",
                                                                      .params = "i32 row, vieu up",
                                                                      .returns = "f32" },
                                            .nwork = 1 });
}
static void custom_args(void) {
    weir_res *r = weir_resource(
        k, &(weir_resource_desc){ .name = "r",
                                  .space = WEIR_SPACE_GMEM,
                                  .work = &(weir_work_def){ .name = "w", .code = "", .params = "const int slot, i32 row" },
                                  .nwork = 1 });
    weir_value K = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    begin();
    work(r, "w", (weir_value[]){ K, weir_float(k, 1.5) }, 2);
    work(r, "w", (weir_value[]){ cst(1), K, K }, 3);
    work(r, "w", (weir_value[]){ cst(1), weir_float(k, 1.5) }, 2);
}
static void plain_return_steers(void) {
    weir_res *r = weir_resource(
        k,
        &(weir_resource_desc){
            .name = "r",
            .space = WEIR_SPACE_GMEM,
            .work = &(weir_work_def){ .name = "w", .side = WEIR_SIDE_CONSUMER, .code = "", .returns = "i32 n, uniform i32 u" },
            .nwork = 1 });
    weir_value ret[2];
    begin();
    is_int(2, weir_work(k, r, "w", NULL, ret, 2), "a body returns its declared values");
    weir_loop_begin(k, cst(0), ret[1], cst(1), 0);
    weir_loop_begin(k, cst(0), ret[0], cst(1), 0);
}

static void test_broken(void) {
    broken("no dtype", no_dtype, "gemm.lua:10: error: smem_tile 'a' has no dtype, or an unknown one [M-DTYPE]\n1 error\n");
    broken("bad name", bad_name,
           "gemm.lua:10: error: dim: '2M' is no C identifier [M-NAME]\n    hint: letters, digits and _, not starting with a "
           "digit\n1 error\n");
    broken("a name twice", same_name,
           "gemm.lua:11: error: smem_tile: the name 'a' is taken [M-NAME]\n    gemm.lua:10: declared here first\n    hint: "
           "choose another name\n1 error\n");
    broken("negative tile", bad_tile,
           "gemm.lua:10: error: reg_tile 'r': tile size 2 is -1 [M-TILE]\n    hint: tile sizes are positive\n1 error\n");
    broken("swizzle 48", bad_swizzle,
           "gemm.lua:10: error: smem_tile 'a': swizzle 48 [M-SWIZZLE]\n    hint: 0, 32, 64 or 128\n1 error\n");
    broken("ranks differ", bad_rank,
           "gemm.lua:12: error: gmem_tile 'ga': the tile has 3 axes, tensor 'A' has 2 [M-RANK]\n    gemm.lua:10: declared "
           "here\n    hint: a size for each axis\n1 error\n");
    broken("no schedule", not_in_task,
           "gemm.lua:10: error: acquire: no schedule is being captured [C-CTX-01]\n    hint: call it inside a schedule\n1 "
           "error\n");
    broken("unknown method", unknown_method,
           "gemm.lua:13: error: smem_tile 'a' has no method 'tma_laod'; it has: cp_async, push, store, tma_load [C-NAME-03]\n  "
           "  hint: did you mean 'tma_load'?\n1 error\n");
    broken("grouped resource, bare", bare_member,
           "gemm.lua:13: error: wait: 'a' is in group 'g' [C-ARG-02]\n    hint: write g.a\n1 error\n");
    broken("collapsed op on a member", collapsed_on_member,
           "gemm.lua:13: error: merge group 'g': release of 'g.a' is the group's [T-GRP-01]\n    hint: write g:release()\n1 "
           "error\n");
    broken("member's op on the group", wait_on_group,
           "gemm.lua:13: error: merge group 'g' takes release, given wait [T-GRP-02]\n    hint: write g.a:wait()\n1 error\n");
    broken("break", left_by_break,
           "gemm.lua:14: error: this domain_loop was left by `break` (or an error) and cannot be captured [C-BREAK]\n"
           "    hint: the body runs once, to be recorded: cut the range with weir.min or weir.clamp instead\n1 error\n");
    broken("the tile before of no queue", looks_back_at_nothing,
           "gemm.lua:10: error: previous_tile: nothing is no work queue [C-WTL-01]\n"
           "gemm.lua:10: error: last_tile: nothing is no work queue [C-WTL-01]\n2 errors\n");
    broken("tiles of no queue", tiles_of_nothing, "gemm.lua:10: error: work_tile_loop: nothing is no work queue [C-WTL-01]\n1 error\n");
    broken("no such move", no_such_move, "gemm.lua:10: error: smem_tile 'a': unknown move 99 [C-ARG-01]\n1 error\n");
    broken("step 0", step_zero,
           "gemm.lua:10: error: domain_loop: step is 0 [C-DOM-02]\n    hint: 1, or another step that leads from start to stop\n"
           "1 error\n");
    broken("shapes differ", shapes_differ,
           "gemm.lua:16: error: +: r:read() is { 64, 8 } and s:read() is { 64, 16 } [VAL-SHAPE]\n    hint: an extent of 1 "
           "spreads, others must be equal\n1 error\n");
    broken("& of a number", number_as_condition,
           "gemm.lua:10: error: & works on conditions, and K is a number of i32 [VAL-TYPE]\n    hint: compare first: "
           "weir.ne(x, 0)\n1 error\n");
    broken("in a helper", helper_called,
           "lib.lua:3: error: wait: smem_tile 'a' has no pipeline [C-MOVE-01]\n    gemm.lua:20: called from here\n    hint: "
           "give it a pipeline, or leave its moves out\n1 error\n");
    broken("interface of a body", bad_params,
           "gemm.lua:10: error: r:w: cannot read 'vieu up' as a parameter [M-WORK]\n    hint: for example \"view up, i32 row, "
           "const int slot\"\n"
           "gemm.lua:10: error: r:w: cannot read 'f32' as a return [M-WORK]\n    hint: for example \"f32 v, uniform i32 n\"\n2 "
           "errors\n");
    broken("arguments of a body", custom_args,
           "gemm.lua:10: error: r:w: slot is a const parameter, given a scalar [C-FLOW-08]\n    hint: a plain number\n"
           "gemm.lua:10: error: r:w takes 2 arguments, given 3 [C-FLOW-01]\n    hint: w(const i32 slot, i32 row)\n"
           "gemm.lua:10: error: r:w: row is a scalar of f32, wanted i32 row [C-FLOW-05]\n3 errors\n");
    broken("a plain return steers a loop", plain_return_steers,
           "gemm.lua:10: error: domain_loop: stop r:w().n may differ between threads [VAL-UNIFORM]\n    hint: declare the "
           "return as `uniform` if all threads give the same\n1 error\n");
}

static void test_kernel(void) {
    ok(!weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "k", .arch = (weir_arch)89 }), "an arch that is none");
    is_str("kernel 'k': arch 89 is none of WEIR_ARCH_SM_80, WEIR_ARCH_SM_90A, WEIR_ARCH_SM_100A", weir_error(ctx), "why");
    fresh("cluster");
    weir_kernel *wide = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "wide", .cluster = { .m = 16 } });
    weir_at(wide, &(weir_place){ "host.c", 7 }, 1); /* the first place is the kernel's, whatever follows */
    weir_at(wide, &(weir_place){ "host.c", 9 }, 1);
    weir_report *r = NULL;
    weir_verify(wide, NULL, &r);
    has_str("host.c:7: error: kernel 'wide' has no task", weir_report_text(r), "the kernel's own place");
    weir_report_free(r);
    weir_kernel_free(wide);
}

/* A desc whose stages are left at 0: nothing derives them. */
static void test_no_stages(void) {
    fresh("stages");
    stile("s", 64, 64, WEIR_TMA_ASYNC, 0);
    weir_report *r = NULL;
    weir_verify(k, NULL, &r);
    has_str("smem_tile 's': pipeline field stages is 0 [M-PIPE]", weir_report_text(r), "a pipeline without stages is refused");
    has_str("hint: at least 1", weir_report_text(r), "how many there may be");
    weir_report_free(r);
}

static void test_groups(void) {
    fresh("groups");
    weir_res *a = tile_a(WEIR_TMA_ASYNC);
    weir_res *b = stile("b", 128, 64, WEIR_TMA_ASYNC, 3), *plain = stile("plain", 8, 8, WEIR_PIPE_NONE, 0);
    ok(!weir_group(k, &(weir_group_desc){ .name = "g", .members = NULL, .nmembers = 0 }), "a group without members is refused");
    is_str("group 'g' has no members [G-CFG-01]", weir_error(ctx), "why");
    ok(!weir_group(k, &(weir_group_desc){ .name = "g", .members = &plain, .nmembers = 1 }),
       "a member without pipeline is refused");
    is_str("group 'g': member 'plain' has no pipeline [G-CFG-03]", weir_error(ctx), "why");
    ok(!weir_group(
           k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_MERGE, .members = (weir_res *[]){ a, b }, .nmembers = 2 }),
       "different stages are refused");
    has_str("[G-CFG-04]", weir_error(ctx), "why");
    weir_res *g = weir_group(k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_MERGE, .members = &a, .nmembers = 1 });
    ok(g && weir_group_member(g, "a") && weir_group_member(g, "a") == weir_group_member(g, "a") && !weir_group_member(g, "b"),
       "the refused group left its members free; member handles are stable");
    ok(!weir_group(k, &(weir_group_desc){ .name = "h", .members = &a, .nmembers = 1 }), "a member of two groups is refused");
    is_str("group 'h': 'a' is already in group 'g' [G-CFG-02]", weir_error(ctx), "why");
    is_str("", faults(), "refused groups are no faults of the kernel");
}

/* an allocator that gives up after so many calls */
static int calls_left;
static void *limited(void *ud, void *p, size_t old, size_t n) {
    (void)ud, (void)old;
    if (n && calls_left-- <= 0) return NULL;
    if (n) return realloc(p, n);
    free(p);
    return NULL;
}

static void test_memory(void) {
    weir_ctx *keep = ctx;
    weir_kernel *keep_k = k;
    int survived = 0;
    for (int i = 0; i < 40; i++) {
        calls_left = i;
        ctx = weir_open(&(weir_config){ .alloc = limited, .cache_dir = "" });
        if (!ctx) continue;
        k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "gemm" });
        if (k) {
            gemm g = declare();
            if (g.ab) load_task(&g), mma_task(&g);
            ok(k->a.oom || calls_left >= 0, "allocation %d refused: the kernel says so", i);
            survived++;
            weir_kernel_free(k);
        }
        size_t live = weir_live_bytes(ctx);
        calls_left = 0;
        weir_close(ctx);
        if (survived && i == 39) ok(live > 0 && live < 8192, "a freed kernel leaves only the context's own bytes");
    }
    ctx = keep;
    k = keep_k;
}

int main(void) {
    ctx = weir_open(NULL);
    test_values();
    test_gemm();
    test_kernel();
    test_no_stages();
    test_groups();
    test_broken();
    weir_kernel_free(k);
    k = NULL;
    test_memory();
    weir_close(ctx);
    return done();
}
