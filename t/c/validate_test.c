/* validate: a small pipeline g -> A -> o and small tile kernels, each broken in one way; the report's text is compared. */
#include "../tap.h"

#include "mem.h"
#include "model.h"
#include "validate.h"
#include "weir.h"

static weir_ctx *ctx;
static weir_kernel *k;

static void at(int line) { weir_at(k, &(weir_place){ "x.lua", line }, 1); }

static void fresh(void) {
    weir_kernel_free(k);
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "x" });
    at(1);
}

/* Faults and findings of the kernel as a report prints them. */
static const char *report(void) {
    static char out[8192];
    weir_report *r = weiri_report_new(ctx);
    weiri_findings f = { .a = &r->a };
    weiri_report_add(r, &k->faults);
    weiri_validate(k, &f);
    int n = 0; /* A is declared for all and not used by all, which t/rules/M-UNUSED.lua is about */
    for (int i = 0; i < f.list.n; i++)
        if (strcmp(f.list.v[i].rule, "M-UNUSED")) f.list.v[n++] = f.list.v[i];
    f.list.n = n;
    weiri_report_add(r, &f);
    weiri_report_finish(r);
    snprintf(out, sizeof out, "%s", weir_report_text(r));
    weir_report_free(r);
    return out;
}

static void work(weir_res *r, const char *m, const weir_value *args, int n) {
    weir_work(k, r, m, &(weir_work_desc){ .args = args, .nargs = n }, NULL, 0);
}
static weir_value cst(int64_t x) { return weir_int(k, x); }

/* ---- g -> A -> o ---------------------------------------------------------------------------------------------------------- */

static weir_res *g, *A, *o, *q;
static const weir_work_def bodies[] = {
    { .name = "put", .side = WEIR_SIDE_PRODUCER, .code = "" },
    { .name = "get", .side = WEIR_SIDE_CONSUMER, .code = "" },
    { .name = "look", .side = WEIR_SIDE_CONSUMER, .code = "", .aux = true },
    { .name = "flag", .side = WEIR_SIDE_CONSUMER, .code = "", .returns = "uniform bool hit" },
};

static weir_res *plain(const char *name) {
    return weir_resource(k, &(weir_resource_desc){ .name = name, .space = WEIR_SPACE_GMEM, .work = bodies, .nwork = 4 });
}

static void declare(void) {
    fresh();
    at(1);
    g = plain("g");
    o = plain("o");
    at(2);
    A = weir_resource(k, &(weir_resource_desc){ .name = "A",
                                                .space = WEIR_SPACE_SMEM,
                                                .dtype = WEIR_U8,
                                                .tile = { 256 },
                                                .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = 2 },
                                                .work = bodies,
                                                .nwork = 4 });
    at(3);
    q = weir_work_queue(k, &(weir_queue_desc){ .name = "q", .rank = 1, .axes = { "i" }, .extent = { cst(4) } });
}

/* One letter per step. a acquire, t try_acquire, p put, c commit, w wait, y try_wait, G get of A, r release; g get of g, o put of o,
 * l aux look at A; n next tile, { } a loop of two, [ ] work-tile loop. A step of line 10, 11, ... of the script. */
static int line;
static void steps(const char *s) {
    for (; *s; s++) {
        at(line);
        switch (*s) {
        case 'a': weir_do(k, A, WEIR_ACQUIRE, -1); break;
        case 't': weir_do(k, A, WEIR_TRY_ACQUIRE, -1); break;
        case 'p': work(A, "put", NULL, 0); break;
        case 'c': weir_do(k, A, WEIR_COMMIT, -1); break;
        case 'w': weir_do(k, A, WEIR_WAIT, -1); break;
        case 'y': weir_do(k, A, WEIR_TRY_WAIT, -1); break;
        case 'G': work(A, "get", NULL, 0); break;
        case 'l': work(A, "look", NULL, 0); break;
        case 'r': weir_do(k, A, WEIR_RELEASE, -1); break;
        case '1': weir_do(k, A, WEIR_RELEASE, 1); break;
        case '0': weir_do(k, A, WEIR_RELEASE, 0); break;
        case 'g': work(g, "get", NULL, 0); break;
        case 'o': work(o, "put", NULL, 0); break;
        case 'f': work(g, "flag", NULL, 0); break;
        case 'n':
            weir_do(k, q, WEIR_WAIT, -1);
            work(q, "get_and_advance_work_tile", NULL, 0);
            weir_do(k, q, WEIR_RELEASE, -1);
            break;
        case '{': weir_loop_begin(k, cst(0), cst(2), cst(1), 0); break;
        case '[': weir_tiles_begin(k, q, 0, 0); break;
        case '}':
        case ']': weir_block_end(k, false); break;
        }
        line++;
    }
}

typedef struct spec {
    const char *name;
    int first, count, registers;
    weir_res **src, **dst;
    const char *body;
} spec;

static int length(weir_res **list) {
    int n = 0;
    while (list && list[n]) n++;
    return n;
}

static void task(spec t, int from) {
    at(from);
    line = from + 1;
    weir_task_begin(k, &(weir_task_desc){ .name = t.name,
                                          .first_warp = t.first,
                                          .num_warps = t.count ? t.count : 1,
                                          .registers = t.registers,
                                          .src = t.src,
                                          .nsrc = length(t.src),
                                          .dst = t.dst,
                                          .ndst = length(t.dst) });
    steps(t.body);
    weir_task_end(k);
}

static void pair(const char *load, const char *store) {
    declare();
    task((spec){ .name = "ld", .body = load }, 10);
    task((spec){ .name = "st", .first = 1, .body = store }, 30);
}

static void test_brackets(void) {
    pair("{gapc}", "{wGor}");
    is_str("", report(), "a clean pair");
    pair("{gtapc}", "y{wGolr}");
    is_str("", report(), "tries and aux work");
    pair("{gaappcc}", "{wGorwGor}");
    is_str("", report(), "two stages held");
    pair("{gapc}", "w{wGo1}0");
    is_str("", report(), "a release that keeps one");
    pair("{gpac}", "{wGor}");
    is_str("x.lua:13: error: task 'ld': put on 'A' without acquire before it [V-BRK-02]\n"
           "    hint: write A:acquire() first\n"
           "1 error\n",
           report(), "work before acquire");
    pair("{gapc}", "{wrGo}");
    is_str("x.lua:34: error: task 'st': get on 'A' without release after it [V-BRK-03]\n"
           "    hint: write A:release() after it\n"
           "1 error\n",
           report(), "work after the last release");
    pair("{gapc}", "{Go}");
    is_str("x.lua:32: error: task 'st': get on 'A' without wait and release [V-BRK-01]\n"
           "    hint: write A:wait() before and A:release() after it\n"
           "1 error\n",
           report(), "no moves at all");
    pair("{gatpc}", "{wGor}");
    is_str("x.lua:14: error: task 'ld': try_acquire on 'A' without acquire after it [V-BRK-04]\n"
           "    hint: write A:acquire() where the stage is needed\n"
           "1 error\n",
           report(), "a try after its move");
}

static void test_roles(void) {
    declare();
    task((spec){ .name = "ld", .src = (weir_res *[]){ g, A, NULL }, .dst = (weir_res *[]){ NULL }, .body = "{gapc}" }, 10);
    task((spec){ .name = "st", .first = 1, .body = "{wGor}" }, 30);
    has_str("x.lua:13: error: task 'ld': 'A' is only in src and has acquire here [V-ROLE-01]\n"
            "    x.lua:10: the task\n"
            "    hint: add it to dst, or leave src and dst out: they are derived\n",
            report(), "produced, but only in src");
    declare();
    task((spec){ .name = "ld", .src = (weir_res *[]){ g, o, NULL }, .dst = (weir_res *[]){ A, NULL }, .body = "{gapc}" }, 10);
    task((spec){ .name = "st", .first = 1, .body = "{wGor}" }, 30);
    is_str("x.lua:10: error: task 'ld' lists 'o' in src and does nothing with it [V-USE-01]\n"
           "    hint: leave it out\n"
           "1 error\n",
           report(), "listed and not used");
    pair("{gapc}", "{wGor}");
    at(50);
    weir_depends(k, A, &g, 1);
    is_str("x.lua:30: error: task 'st': 'o' does not occur in depends [V-COV-01]\n"
           "    hint: add { o, { ... } }, with an empty list if it depends on nothing\n"
           "1 error\n",
           report(), "a resource outside the graph");
    weir_depends(k, o, (weir_res *[]){ A, g }, 2);
    is_str("x.lua:50: error: depends: 'o' depends on 'g', but no task has 'g' in src and 'o' in dst [V-DEP-04]\n"
           "    hint: leave the edge out, or add the resource to the task that carries it\n"
           "1 error\n",
           report(), "an edge nobody carries");
}

static void test_queue(void) {
    declare();
    task((spec){ .name = "ld", .body = "[{gapc}n]" }, 10);
    task((spec){ .name = "st", .first = 1, .body = "[{wGor}n]" }, 30);
    is_str("", report(), "two tasks walk a queue");
    declare();
    task((spec){ .name = "ld", .body = "[{gapc}n]" }, 10);
    task((spec){ .name = "st", .first = 1, .body = "{wGor}" }, 30);
    is_str("x.lua:30: error: task 'st' does not walk queue 'q', other tasks do [V-WQ-01]\n"
           "    hint: wrap its schedule in `for tile in weir.work_tile_loop(wq) do ... end`\n"
           "1 error\n",
           report(), "one task walks no queue");
    declare();
    task((spec){ .name = "x", .body = "[{go}]" }, 10);
    is_str("x.lua:10: error: task 'x' never takes the next tile of queue 'q' [V-WQ-04]\n"
           "    hint: end the work-tile loop with wq:next()\n"
           "1 error\n",
           report(), "no next tile");
    declare();
    task((spec){ .name = "x", .body = "[{gon}]" }, 10);
    is_str("x.lua:15: error: task 'x': wait of queue 'q' inside a domain loop [V-WQ-03]\n"
           "    hint: take the next tile at the end of the work-tile loop: wq:next()\n"
           "1 error\n",
           report(), "next tile inside the loop");
    declare();
    task((spec){ .name = "x", .body = "[{go}nn]" }, 10);
    is_str("x.lua:17: error: task 'x' ends a tile of queue 'q' with other steps than it should [V-WQ-07]\n"
           "    expected [try_wait,] wait, get_and_advance_work_tile, release, got wait, get_and_advance_work_tile, release, "
           "wait, "
           "get_and_advance_work_tile, release\n"
           "    hint: wq:next()\n"
           "1 error\n",
           report(), "two next tiles");
}

static void test_warps(void) {
    declare();
    task((spec){ .name = "ld", .count = 2, .registers = 40, .body = "{gapc}" }, 10);
    task((spec){ .name = "st", .first = 1, .registers = 48, .body = "{wGor}" }, 30);
    is_str(
        "x.lua:30: error: task 'st' has warps 1 to 1, task 'ld' has warps 0 to 1 [X-WARP-01]\n"
        "    x.lua:10: the other task\n"
        "    hint: start it at warp 2\n"
        "1 error\n",
        report(), "warps overlap; that registers differ there follows from it");
    declare();
    task((spec){ .name = "ld", .registers = 40, .body = "{gapc}" }, 10);
    task((spec){ .name = "st", .first = 1, .registers = 48, .body = "{wGor}" }, 30);
    is_str(
        "x.lua:30: error: warps 0 to 3 are one warpgroup: task 'st' asks for 48 registers there, task 'ld' for 40 [V-WG-02]\n"
        "    x.lua:10: the other task\n"
        "    hint: one value per warpgroup, or other warps\n"
        "1 error\n",
        report(), "side by side they differ");
    declare();
    task((spec){ .name = "x", .count = 4, .registers = 36, .body = "{go}" }, 10);
    is_str("x.lua:10: error: task 'x': registers = 36 [T-REG-01]\n    expected a multiple of 8, 24 to 256, got 36\n1 error\n",
           report(), "registers not a multiple of 8");
    declare();
    task((spec){ .name = "x", .count = 8, .registers = 256, .body = "{go}" }, 10);
    task((spec){ .name = "y", .first = 8, .count = 4, .registers = 40, .body = "{go}" }, 30);
    is_str("x.lua:10: error: the tasks ask for 70656 registers, an SM has 65536 [V-REG-01]\n"
           "    hint: lower the registers of task 'x'\n"
           "1 error\n",
           report(), "register pool");
    declare();
    task((spec){ .name = "x", .first = 30, .count = 4, .body = "{go}" }, 10);
    has_str("x.lua:10: error: task 'x': warps 30 to 33, a CTA has warps 0 to 31 [X-WARP-02]\n", report(), "too many warps");
    declare();
    task((spec){ .name = "x", .body = "" }, 10);
    has_str("x.lua:10: error: task 'x' has an empty schedule [T-SCHED-01]\n", report(), "nothing to do");
}

static void test_values(void) {
    declare();
    task((spec){ .name = "x", .body = "{fgo}" }, 10);
    is_str("x.lua:12: warning: g:flag returns 'hit', which is never used [C-FLOW-12]\n1 warning\n", report(),
           "a return nobody uses");
    declare();
    weir_value K = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    at(7);
    weir_apply(k, WEIR_OP_EQ, (weir_value[]){ K, cst(0) }, 2);
    task((spec){ .name = "x", .body = "{go}" }, 10);
    is_str("x.lua:7: warning: the condition K == 0 decides nothing [VAL-UNUSED]\n"
           "    hint: Lua's `if` cannot see it: use weir.when_true, weir.select or a loop bound\n"
           "1 warning\n",
           report(), "a condition nobody asks");
}

/* ---- tiles -------------------------------------------------------------------------------------------------------------- */

static weir_res *smem(const char *name, weir_dtype t, int rows, int cols) {
    return weir_smem_tile(k, &(weir_smem_tile_desc){ .name = name,
                                                     .dtype = t,
                                                     .tile = { rows, cols },
                                                     .swizzle = 128,
                                                     .pipeline = { .type = WEIR_TMA_ASYNC, .stages = 2 } });
}

static void mma(int first_warp, weir_res *a, weir_res *b, weir_res *acc) {
    at(20);
    weir_task_begin(k, &(weir_task_desc){ .name = "mma", .first_warp = first_warp, .num_warps = 4 });
    work(acc, "zero", NULL, 0);
    weir_do(k, a, WEIR_WAIT, -1);
    weir_do(k, b, WEIR_WAIT, -1);
    at(21);
    work(acc, "mma", (weir_value[]){ weir_view_read(k, a, 0), weir_view_read(k, b, 0) }, 2);
    weir_drain(k, acc, 0);
    weir_do(k, a, WEIR_RELEASE, -1);
    weir_do(k, b, WEIR_RELEASE, -1);
    weir_task_end(k);
}

static weir_res *accumulator(int rows, int cols) {
    at(5);
    return weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "acc", .tile = { rows, cols } });
}

static void test_mma(void) {
    fresh();
    mma(4, smem("a", WEIR_BF16, 64, 64), smem("b", WEIR_BF16, 128, 64), accumulator(64, 128));
    is_str("x.lua:1: note: warps 0 to 3 belong to no task and idle [X-WARP-03]\n1 note\n", report(), "an mma that fits");
    fresh();
    weir_res *a = smem("a", WEIR_BF16, 64, 64);
    at(3);
    weir_res *b = smem("b", WEIR_BF16, 128, 32);
    mma(0, a, b, accumulator(64, 128));
    is_str("x.lua:21: error: acc:mma: K of a { 64, 64 } is 64, K of b { 128, 32 } is 32 [V-MMA-01]\n"
           "    x.lua:3: b is declared here\n"
           "    hint: a is { M, K } and b is { N, K }; s:read():t() transposes\n"
           "1 error\n",
           report(), "K of a and b disagree");
    fresh();
    mma(2, smem("a", WEIR_BF16, 64, 64), smem("b", WEIR_F16, 128, 64), accumulator(64, 64));
    is_str("x.lua:20: error: task 'mma' uses wgmma on warps { 2, 4 }: a warpgroup is 4 warps, the first a multiple of 4 "
           "[X-WARP-04]\n"
           "    hint: warps = { 4, 4 }\n"
           "x.lua:21: error: acc:mma: a { 64, 64 } times b { 128, 64 } is { 64, 128 }, 'acc' is { 64, 64 } [V-MMA-01]\n"
           "    x.lua:5: declared here\n"
           "    hint: a is { M, K } and b is { N, K }; s:read():t() transposes\n"
           "x.lua:21: error: acc:mma: a is bf16, b is f16 [V-MMA-02]\n"
           "    hint: both bf16, f16 or tf32, or each e4m3 or e5m2\n"
           "3 errors\n",
           report(), "all at once: warps, shape, dtypes");
}

static void test_copies(void) {
    fresh();
    weir_value M = weir_dim(k, &(weir_dim_desc){ .name = "M" });
    at(2);
    weir_tensor *X = weir_tensor_new(k, &(weir_tensor_desc){ .name = "X", .dtype = WEIR_F16, .rank = 2, .shape = { M, M } });
    at(3);
    weir_res *gx = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "gx", .tensor = X, .tile = { 32, 64 } });
    at(4);
    weir_res *s = smem("s", WEIR_BF16, 64, 64);
    at(10);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .num_warps = 1 });
    at(11);
    weir_do(k, s, WEIR_ACQUIRE, -1);
    work(s, "tma_load", (weir_value[]){ weir_view_at(k, gx, (weir_value[]){ cst(0) }, 1) }, 1);
    weir_do(k, s, WEIR_COMMIT, -1);
    at(12);
    work(gx, "store", (weir_value[]){ cst(1), weir_view_at(k, gx, (weir_value[]){ cst(0) }, 1) }, 2);
    weir_task_end(k);
    is_str("x.lua:11: error: s:tma_load: a tile of 'gx' is { 32, 64 }, 's' is { 64, 64 } [V-ATOM-01]\n"
           "    x.lua:3: declared here\n"
           "    expected { 64, 64 }, got { 32, 64 }\n"
           "    hint: a copy moves whole tiles: make the two tiles alike\n"
           "x.lua:11: error: s:tma_load: 'gx' is f16, 's' is bf16, and a copy converts nothing [V-ATOM-02]\n"
           "    x.lua:3: declared here\n"
           "    expected bf16, got f16\n"
           "    hint: copy into a tile of the same dtype, and weir.cast what is read from it\n"
           "x.lua:12: error: gx:store writes tensor 'X', which is not an out tensor [V-ATOM-04]\n"
           "    x.lua:2: declared here\n"
           "    hint: declare it with out = true\n"
           "3 errors\n",
           report(), "a copy between unlike tiles, a store to an input");
}

/* What Lua cannot write, or chooses by name. */
static void test_c_only(void) {
    declare();
    at(10);
    weir_task_begin(k, &(weir_task_desc){ .name = "x", .num_warps = 1 });
    at(11);
    weir_block_end(k, false);
    at(12);
    weir_loop_begin(k, cst(0), cst(2), cst(1), 0);
    at(13);
    work(g, "get", NULL, 0);
    work(o, "put", NULL, 0);
    at(14);
    weir_task_end(k);
    is_str("x.lua:11: error: a block ends that was not begun [C-NEST-08]\n"
           "x.lua:12: error: task 'x': this domain_loop is still open at the end of the schedule [C-NEST-08]\n"
           "    hint: end it inside the schedule\n"
           "2 errors\n",
           report(), "a block that ends twice, one that never does");
    fresh();
    at(5);
    weir_resource(k, &(weir_resource_desc){ .name = "twice",
                                            .work = (weir_work_def[]){ { .name = "put", .side = WEIR_SIDE_PRODUCER, .code = "" },
                                                                       { .name = "put", .side = WEIR_SIDE_CONSUMER, .code = "" } },
                                            .nwork = 2 });
    is_str("x.lua:1: error: kernel 'x' has no task [T-SCHED-01]\nx.lua:5: error: twice:put is declared twice [C-NAME-02]\n2 errors\n", report(),
           "one name for two bodies");
    fresh();
    at(2);
    weir_tensor *X = weir_tensor_new(k, &(weir_tensor_desc){ .name = "X", .dtype = WEIR_BF16, .rank = 1, .shape = { cst(512) } });
    weir_res *gx = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "gx", .tensor = X, .tile = { 64 } });
    weir_res *s = weir_smem_tile(
        k, &(weir_smem_tile_desc){
               .name = "s", .dtype = WEIR_BF16, .tile = { 64 }, .pipeline = { .type = WEIR_TMA_ASYNC, .stages = 2 } });
    at(10);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .num_warps = 1 });
    at(11);
    weir_do(k, s, WEIR_ACQUIRE, -1);
    weir_value place = weir_view_at(k, gx, (weir_value[]){ cst(0) }, 1);
    weir_work(k, s, "tma_load", &(weir_work_desc){ .args = &place, .nargs = 1, .multicast = 4 }, NULL, 0);
    weir_do(k, s, WEIR_COMMIT, -1);
    weir_task_end(k);
    is_str("x.lua:11: error: s:tma_load: multicast mode 4 [V-CNT-12]\n    hint: \"m\", \"n\" or \"mn\"\n1 error\n", report(),
           "a multicast mode that does not exist");
}

int main(void) {
    ctx = weir_open(NULL);
    test_brackets();
    test_roles();
    test_queue();
    test_warps();
    test_values();
    test_mma();
    test_copies();
    test_c_only();
    weir_kernel_free(k);
    weir_close(ctx);
    return done();
}
