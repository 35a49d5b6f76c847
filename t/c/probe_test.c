/* Watchdog and trace against a stand-in driver, which plays the kernel: what is prepared before a launch, and what is made of what the
 * kernel leaves behind. The plan is written by hand. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "../tap.h"
#include "launch.h"
#include "mock_cuda.h"
#include "probe.h"

enum { NACTIONS = 8, FULL = 1000, EMPTY = 1032, A_SMEM = 2048, A_STAGE = 512 };

static char folder[] = "/tmp/weir-probe-XXXXXX";
static char driver[64];
static struct mock *m;
static weir_ctx *ctx;
static weir_device *dev;
static weir_kernel *k;
static weir_program *p;

static bool build_driver(void) {
    char command[512];
    if (!mkdtemp(folder)) return false;
    snprintf(driver, sizeof driver, "%s/libcuda-mock.so", folder);
    snprintf(command, sizeof command, "${CC:-cc} -std=gnu11 -shared -fPIC -I'%s/t/c' -o %s '%s/t/c/mock_cuda.c'", WEIR_ROOT, driver, WEIR_ROOT);
    if (system(command)) return false;
    void *lib = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
    void *f = lib ? dlsym(lib, "mock") : NULL;
    struct mock *(*get)(void);
    if (!f) return false;
    memcpy(&get, &f, sizeof get);
    m = get();
    return true;
}

/* ---- a ring a of four stages: 'load', one thread, fills it; 'mma', two warpgroups, multiplies --------------------------------------- */

static weiri_action actions[NACTIONS + 1];
static weiri_pnode nodes[NACTIONS + 1];
static weiri_action *by_id[NACTIONS + 1];
static weiri_op ops[NACTIONS + 1];
static weir_place places[NACTIONS + 1];
static weiri_task tasks[2];
static weiri_ptask ptasks[2];

static weiri_action *act(int id, weiri_act kind, int task, int line) {
    places[id] = (weir_place){ "k.lua", line };
    ops[id] = (weiri_op){ .at = { &places[id], 1 } };
    actions[id] = (weiri_action){ .id = id, .kind = kind, .bar = -1, .cur = -1, .copy = -1, .reg = -1, .pipe = -1, .op = &ops[id] };
    by_id[id] = &actions[id];
    nodes[id] = (weiri_pnode){ .kind = PN_ACTION, .act = &actions[id], .next = ptasks[task].root };
    ptasks[task].root = &nodes[id];
    return &actions[id];
}

static void make_program(void) {
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "gemm", .arch = WEIR_ARCH_SM_90A });
    p = weiri_alloc(ctx, sizeof *p);
    weiri_plan *plan = weiri_alloc(ctx, sizeof *plan);
    weiri_arena_init(&plan->a, ctx);
    plan->k = k;
    plan->cluster = 1;
    plan->threads = 384;
    plan->smem_total = 8192;
    plan->nactions = NACTIONS;
    plan->action = by_id;
    plan->tasks = ptasks;
    plan->ntasks = 2;
    tasks[0] = (weiri_task){ .name = "load", .first_warp = 0, .num_warps = 1 };
    tasks[1] = (weiri_task){ .name = "mma", .index = 1, .first_warp = 4, .num_warps = 8 };
    ptasks[0] = (weiri_ptask){ .task = &tasks[0], .solo = true };
    ptasks[1] = (weiri_ptask){ .task = &tasks[1], .wg_actor = true };
    WEIRI_PUSH(&plan->a, plan->bars, ((weiri_bar){ .name = "a_full", .offset = FULL, .stages = 4, .count = 2 }));
    WEIRI_PUSH(&plan->a, plan->bars, ((weiri_bar){ .name = "a_empty", .offset = EMPTY, .stages = 4, .count = 2 }));
    weir_res *res = WEIRI_NEW(&plan->a, weir_res);
    res->name = "a";
    WEIRI_PUSH(&plan->a, plan->smem, ((weiri_region){ .res = res, .name = "a", .offset = A_SMEM, .size = 4 * A_STAGE, .stages = 4, .stage_bytes = A_STAGE }));
    WEIRI_PUSH(&plan->a, plan->cursors, ((weiri_cursor){ .name = "a_put", .task = 0, .stages = 4 }));
    WEIRI_PUSH(&plan->a, plan->cursors, ((weiri_cursor){ .name = "a", .task = 1, .stages = 4 }));
    weiri_action *a = act(1, ACT_WAIT, 0, 10);
    a->bar = 1, a->cur = 0, a->stage = STAGE_NEXT;
    act(2, ACT_EXPECT, 0, 11)->bar = 0;
    act(3, ACT_LOAD_BULK, 0, 12)->bar = 0;
    a = act(4, ACT_WAIT, 1, 20);
    a->bar = 0, a->cur = 1, a->stage = STAGE_NEXT;
    a = act(5, ACT_MMA, 1, 21);
    a->cur = 1, a->stage = STAGE_HELD;
    act(6, ACT_MMA_COMMIT, 1, 21);
    act(7, ACT_MMA_WAIT, 1, 22);
    act(8, ACT_ARRIVE, 1, 23)->bar = 1;
    for (int i = 3; i <= 7; i++) ops[i].res = res;
    p->ctx = ctx;
    p->k = k;
    p->plan = plan;
    p->name = "gemm";
    p->arch = WEIR_ARCH_SM_90A;
    weiri_buf *const bufs[] = { &p->source, &p->full, &p->log, &p->ptx };
    for (int i = 0; i < 4; i++) weiri_buf_init(bufs[i], ctx);
    p->cubin = weiri_alloc(ctx, 4); /* compiled already: NVRTC is another test's */
    p->cubin_size = 4;
}

static weir_status launch(void) { return weir_launch(p, &(weir_launch_desc){ .device = dev, .grid = 4 }); }

/* ---- the kernel's side of weir_probe.h, written down once more ------------------------------------------------------------------- */

typedef struct words {
    uint64_t report, records, named;
    uint32_t limit, pad0;
    uint64_t trace;
    uint32_t max_records, trace_ctas, trace_warps, pad;
} words;
typedef struct report { uint32_t first, n; } report;

static words told(const struct mock *s) {
    words w;
    memcpy(&w, s->global, sizeof w);
    return w;
}

static uint64_t bar_state(uint64_t pending) { return (0x100000 - pending) << 43; }

static weiri_record last[24];
static int nlast;
static uint32_t told_limit, found_n, found_named;

static void watched_kernel(struct mock *s) {
    words w = told(s);
    report *r = (report *)(uintptr_t)w.report;
    told_limit = w.limit;
    found_n = r->n;
    found_named = ((uint32_t *)(uintptr_t)w.named)[3 * 16 + 15]; /* the last of CTA 3 */
    ((uint32_t *)(uintptr_t)w.named)[3 * 16 + 15] = 7;
    if (nlast) r->first = 5000;
    r->n = (uint32_t)nlast;
    memcpy((void *)(uintptr_t)w.records, last, (size_t)nlast * sizeof last[0]);
}

static void full(uint32_t cta, uint32_t warp, uint32_t lanes, uint32_t since) {
    last[nlast++] = (weiri_record){ WEIRI_ON_MBAR, cta, warp, lanes, 4, 7, FULL + 16, 1, bar_state(1), since, 0 };
}

static void test_watchdog(void) {
    m->on_launch = watched_kernel;
    m->global_size = sizeof(words);
    p->watchdog = 2;
    ok(launch() == WEIR_OK, "a launch in which nobody gives up");
    is_str("", weir_device_findings(dev), "finds nothing");
    ok(fabs(told_limit * 1048576e-9 - 2) < .01, "the kernel is told the limit");
    ok(found_n == 0 && found_named == 0, "and finds its counters at 0");
    ok(launch() == WEIR_OK && found_named == 0, "the next launch too");
    int held = m->allocations;

    nlast = 0;
    for (uint32_t cta = 3; cta != UINT32_MAX; cta--)      /* in no order; CTA 2 is well */
        for (uint32_t warp = 7; cta != 2 && warp >= 4; warp--) full(cta, warp, cta == 1 && warp == 5 ? 0xffff : 0xffffffff, 100 + cta);
    full(1, 5, 0xffff0000, 101);                          /* lanes that gave up apart */
    last[nlast++] = (weiri_record){ WEIRI_ON_MBAR, 0, 0, 1, 1, 9, EMPTY, 0, bar_state(0), 120, 0 };
    last[nlast++] = (weiri_record){ WEIRI_ON_NAMED, 0, 8, 0xff, 0, 0, 3, 128, 96, 130, 0 };
    last[nlast++] = (weiri_record){ WEIRI_ON_MBAR, 2, 8, 0xffffffff, 4, 12, FULL, 0, bar_state(2), 5001, 0 };
    ok(launch() == WEIR_E_WATCHDOG, "a launch in which some give up");
    is_str("watchdog: these have waited for 2 s and were let go [watchdog]\n"
           "  k.lua:10: task 'load', CTA 0, warp 0, lane 0: waits for mbarrier 'a_empty' stage 0, parity 0: all 2 arrivals, bytes are still to land; "
           "its 9th wait here\n"
           "    who arrives there: k.lua:23 (task 'mma')\n"
           "  k.lua:20: task 'mma', CTA 0 and 2 more up to 3, warps 4 to 7: waits for mbarrier 'a_full' stage 2, parity 1: 1 of 2 arrivals; "
           "its 7th wait here\n"
           "    who arrives there: k.lua:11 (task 'load')\n"
           "  task 'mma', CTA 0, warp 8, 8 lanes: waits for named barrier 3: 96 of 128 threads have come\n"
           "  then those that waited for them:\n"
           "  k.lua:20: task 'mma', CTA 2, warp 8: waits for mbarrier 'a_full' stage 0, parity 0: 0 of 2 arrivals; its 12th wait here\n"
           "    who arrives there: k.lua:11 (task 'load')\n",
           weir_device_findings(dev), "the report");
    has_str("the watchdog ended kernel 'gemm': watchdog: these have waited", weir_error(ctx), "and the error");
    nlast = 0;
    ok(launch() == WEIR_OK, "the device goes on afterwards");
    is_int(held, m->allocations, "with the memory it had");

    snprintf(m->fail_name, sizeof m->fail_name, "alloc");
    m->fail_result = 2;
    ok(weir_launch(p, &(weir_launch_desc){ .device = dev, .grid = 4000 }) == WEIR_E_DRIVER, "no memory for a larger grid");
    has_str("for its watchdog or trace", weir_error(ctx), "says what for");
    m->fail_name[0] = 0;
    ok(launch() == WEIR_OK, "and a smaller one runs again");
    is_int(0, m->depth, "no context left current");
}

/* ---- trace ------------------------------------------------------------------------------------------------------------------------ */

static uint32_t told_ctas, told_warps;
static int too_many;

/* Writes a stamp: 1.5 cycles a nanosecond, %globaltimer in steps of 32, both about to wrap. */
static void stamp(weiri_stamp **to, double ns, uint32_t at, uint32_t object) {
    *(*to)++ = (weiri_stamp){ (uint32_t)(int64_t)(ns * 1.5) - 1000u, (uint32_t)(int64_t)(floor(ns / 32) * 32) - 500u, at, object };
}

static void traced_kernel(struct mock *s) {
    words w = told(s);
    told_ctas = w.trace_ctas;
    told_warps = w.trace_warps;
    weiri_stamp *slot[3];
    for (int i = 0; i < 3; i++) slot[i] = (weiri_stamp *)(uintptr_t)(w.trace + (uint64_t)(i + 1) * WEIRI_SLOT);
    for (uint32_t i = 0; i < 6; i++) {
        double t = 100 + 1000. * i;
        uint32_t stage = i % 4;
        stamp(&slot[0], t, 1, EMPTY + 8 * stage + 1);
        stamp(&slot[0], t + 200, 2, FULL + 8 * stage + 1);
        stamp(&slot[0], t + 210, 3, A_SMEM + A_STAGE * stage + 1);
        for (int wg = 1; wg < 3; wg++) {
            stamp(&slot[wg], t + 500, 4, FULL + 8 * stage + 1);
            stamp(&slot[wg], t + 700, 5, 0);
            stamp(&slot[wg], t + 710, 6, 0);
            stamp(&slot[wg], t + 720, 7, 0);
            stamp(&slot[wg], t + 1300, 8, EMPTY + 8 * stage + 1);
        }
    }
    for (int i = 0; i < 3; i++) stamp(&slot[i], 7000, NACTIONS + 1, 0);
    for (int i = 0; i < too_many; i++) stamp(&slot[0], 7001, 2, 0);
}

static void is_span(const weir_timeline *t, int i, const char *what, int warp, int nth, int stage, bool waits, double from, double to) {
    const weir_span *s = weir_timeline_get(t, i);
    bool good = s && !strcmp(s->what, what) && s->warp == warp && s->nth == nth && s->stage == stage && s->waits == waits && fabs(s->from - from) < 25 &&
                fabs(s->to - s->from - (to - from)) < 2;
    if (!ok(good, "%s of warp %d, no. %d", what, warp, nth) && s)
        printf("# seen: %s, warp %d, no. %d, stage %d, %s, %g to %g\n", s->what, s->warp, s->nth, s->stage, s->waits ? "waits" : "works", s->from, s->to);
}

static void test_trace(void) {
    weir_timeline *t = NULL;
    p->watchdog = 0;
    m->on_launch = traced_kernel;
    weir_program *twin = weiri_program_twin(p);
    twin->cubin = weiri_alloc(ctx, 4);
    twin->cubin_size = 4;
    weir_launch_desc desc = { .device = dev, .grid = 4 };
    ok(weir_trace(p, &desc, NULL, &t) == WEIR_OK && t, "a traced launch");
    ok(told_ctas == 1 && told_warps == 0x111, "the first warps of the actors of one CTA");
    is_str("ns", weir_timeline_unit(t), "its unit");
    ok(weir_timeline_complete(t), "all of it");
    is_int(18 + 2 * 30, weir_timeline_count(t), "its spans");
    is_span(t, 0, "wait a_empty", 0, 1, 0, true, 0, 200);
    is_span(t, 1, "expect_tx a_full", 0, 1, 0, false, 200, 210);
    is_span(t, 2, "load a", 0, 1, 0, false, 210, 1000);
    is_span(t, 15, "wait a_empty", 0, 6, 1, true, 5000, 5200);
    is_span(t, 17, "load a", 0, 6, 1, false, 5210, 6900);
    is_span(t, 18, "wait a_full", 4, 1, 0, true, 500, 700);
    is_span(t, 24, "mma a", 4, 2, 1, false, 1700, 1710);
    is_span(t, 26, "drain a", 4, 2, 1, true, 1720, 2300);
    is_span(t, 77, "arrive a_empty", 8, 6, 1, false, 6300, 6900);
    const weir_span *s = weir_timeline_get(t, 24);
    ok(s->file && !strcmp(s->file, "k.lua") && s->line == 21 && !strcmp(s->task, "mma"), "with task and place");
    ok(!weir_timeline_get(t, 78) && !weir_timeline_get(t, -1), "and none beyond");
    char path[96];
    snprintf(path, sizeof path, "%s/none/t.svg", folder);
    ok(weir_timeline_svg(t, path) == WEIR_E_IO && strstr(weir_error(ctx), path), "a file that cannot be written");
    weir_timeline_free(t);

    int held = m->allocations;
    too_many = WEIRI_SLOT / (int)sizeof(weiri_stamp) - 19;
    ok(weir_trace(p, &desc, &(weir_trace_desc){ .ctas = 1 }, &t) == WEIR_OK && !weir_timeline_complete(t), "a slot that is full");
    is_int(held, m->allocations, "the memory is kept");
    weir_timeline_free(t);
    too_many = 0;
    ok(weir_trace(p, &desc, &(weir_trace_desc){ .ctas = 3 }, &t) == WEIR_OK && told_ctas == 3, "more CTAs, whose slots stay empty");
    is_int(18 + 2 * 30, weir_timeline_count(t), "give no spans");
    weir_timeline_free(t);
    ok(weir_trace(p, &desc, &(weir_trace_desc){ .ctas = -1 }, &t) == WEIR_E_ARGUMENT && !t, "-1 CTAs");
    ok(weir_trace(p, &(weir_launch_desc){ .device = dev, .grid = -4 }, NULL, &t) == WEIR_E_LAUNCH && !t, "a launch that is refused has no timeline");
}

int main(void) {
    if (!build_driver()) {
        printf("1..0 # SKIP no C compiler for the stand-in driver\n");
        return 0;
    }
    ctx = weir_open(&(weir_config){ .driver_path = driver, .cache_dir = "" });
    dev = weir_device_open(ctx, &(weir_device_desc){ .index = 0 });
    make_program();
    test_watchdog();
    test_trace();
    weiri_program_drop_launched(p);
    weiri_program_drop_compiled(p);
    is_int(0, m->allocations, "device memory given back");
    is_int(0, m->modules, "modules too");
    weiri_arena_free(&p->plan->a);
    weiri_free(ctx, p->plan, sizeof *p->plan);
    weiri_free(ctx, p, sizeof *p);
    weir_close(ctx);
    unlink(driver);
    rmdir(folder);
    return done();
}
