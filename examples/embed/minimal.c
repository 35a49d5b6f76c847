/* A host without Lua: builds a copy kernel through weir.h, runs it on the first GPU or in the simulator, checks the result.
 *
 *   cc minimal.c -lweir && ./a.out
 *
 * The host owns memory and log: weir allocates and speaks through the two callbacks below and nowhere else. */
#include <stdio.h>
#include <stdlib.h>

#include "weir.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* ---- the host's allocator and log ------------------------------------------------------------------------------------- */

struct heap {
    size_t live, peak; /* bytes */
    size_t calls;
};

static void *heap_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
    struct heap *heap = ud;
    heap->calls++;
    void *q = NULL;
    if (new_size == 0)
        free(p);
    else if (!(q = realloc(p, new_size)))
        return NULL; /* the old block stays */
    heap->live += new_size - old_size;
    if (heap->live > heap->peak) heap->peak = heap->live;
    return q;
}

static void on_log(void *ud, weir_log_level level, const char *text) {
    (void)ud;
    fprintf(stderr, "[weir %d] %s\n", (int)level, text);
}

/* ---- the kernel: one warp fills a ring of stages in shared memory, four warps empty it --------------------------------- */

enum { TILE = 256, STAGES = 4 };

/* CUDA bodies: `tid` and `nthreads` count the task's threads, `smem` is the stage that the task holds. The line is where the
 * text stands, so that NVRTC's errors point into this file. */
static const int fill_line = __LINE__ + 2;
static const char fill[] =
    "for (i32 c = tid; c < TILE; c += nthreads) {\n"
    "    i32 i = tile_index * TILE + c;\n"
    "    smem[c] = i < x_shape[0] ? x[i] : 0.f;\n"
    "}\n";
static const int put_line = __LINE__ + 2;
static const char put[] =
    "for (i32 c = tid; c < TILE; c += nthreads) {\n"
    "    i32 i = tile_index * TILE + c;\n"
    "    if (i < y_shape[0]) y[i] = from[c];\n"
    "}\n";

/* The task's turn at a work queue: look at the next tile, take it, give the stage back. */
static void next_tile(weir_kernel *k, weir_res *queue) {
    WEIR_AT(k);
    weir_do(k, queue, WEIR_TRY_WAIT, -1);
    weir_do(k, queue, WEIR_WAIT, -1);
    weir_work(k, queue, "get_and_advance_work_tile", NULL, NULL, 0);
    weir_do(k, queue, WEIR_RELEASE, -1);
}

static weir_kernel *copy_kernel(weir_ctx *ctx) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "copy" });
    if (!k) return NULL;

    WEIR_AT(k);
    weir_value n = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    weir_tensor *x = weir_tensor_new(k, &(weir_tensor_desc){ .name = "x", .dtype = WEIR_F32, .rank = 1, .shape = { n } });
    weir_tensor *y =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "y", .dtype = WEIR_F32, .rank = 1, .shape = { n }, .out = true });

    weir_value tiles = weir_apply(k, WEIR_OP_CEIL_DIV, (weir_value[]){ n, weir_int(k, TILE) }, 2);
    WEIR_AT(k);
    weir_res *queue = weir_work_queue(
        k, &(weir_queue_desc){ .name = "queue", .rank = 1, .axes = { "i" }, .extent = { tiles } });

    WEIR_AT(k);
    weir_const tile = { "TILE", TILE, true };
    weir_work_def fill_work = { .name = "fill", .side = WEIR_SIDE_PRODUCER, .params = "i32 tile_index",
                                .code = fill, .file = __FILE__, .line = fill_line };
    weir_res *ring = weir_resource(k, &(weir_resource_desc){ .name = "ring", .space = WEIR_SPACE_SMEM,
                                                             .dtype = WEIR_F32, .rank = 1, .tile = { TILE },
                                                             .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = STAGES },
                                                             .bind = &(weir_bind){ "x", x }, .nbind = 1,
                                                             .consts = &tile, .nconsts = 1, .work = &fill_work, .nwork = 1 });
    WEIR_AT(k);
    weir_work_def put_work = { .name = "put", .side = WEIR_SIDE_PRODUCER, .params = "view from, i32 tile_index",
                               .code = put, .file = __FILE__, .line = put_line };
    weir_res *sink = weir_resource(k, &(weir_resource_desc){ .name = "sink", .space = WEIR_SPACE_GMEM,
                                                             .bind = &(weir_bind){ "y", y }, .nbind = 1,
                                                             .consts = &tile, .nconsts = 1, .work = &put_work, .nwork = 1 });

    WEIR_AT(k);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = 1 });
    {
        weir_tiles t = weir_tiles_begin(k, queue, 0, 1);
        weir_value i = weir_tile_coord(k, t, 0);
        WEIR_AT(k);
        weir_do(k, ring, WEIR_ACQUIRE, -1);
        weir_work(k, ring, "fill", &(weir_work_desc){ .args = &i, .nargs = 1 }, NULL, 0);
        weir_do(k, ring, WEIR_COMMIT, -1);
        next_tile(k, queue);
        weir_block_end(k, false);
    }
    weir_task_end(k);

    WEIR_AT(k);
    weir_task_begin(k, &(weir_task_desc){ .name = "store", .first_warp = 4, .num_warps = 4 });
    {
        weir_tiles t = weir_tiles_begin(k, queue, 0, 1);
        WEIR_AT(k);
        weir_do(k, ring, WEIR_WAIT, -1);
        weir_value args[] = { weir_view_read(k, ring, 0), weir_tile_coord(k, t, 0) };
        weir_work(k, sink, "put", &(weir_work_desc){ .args = args, .nargs = COUNT(args) }, NULL, 0);
        weir_do(k, ring, WEIR_RELEASE, -1);
        next_tile(k, queue);
        weir_block_end(k, false);
    }
    weir_task_end(k);
    return k;
}

/* ---- one run ------------------------------------------------------------------------------------------------------------ */

/* Copies n floats through the kernel; true if every one of them arrived. */
static bool run(weir_ctx *ctx, weir_device *dev, weir_program *program, int n) {
    bool ok = false;
    weir_buffer_desc desc = { .dtype = WEIR_F32, .rank = 1, .shape = { n } };
    weir_buffer *x = weir_buffer_new(dev, &desc), *y = weir_buffer_new(dev, &desc);
    size_t bytes = (size_t)n * sizeof(float);
    float *in = malloc(bytes), *out = malloc(bytes);
    if (!x || !y || !in || !out) goto done;

    for (int i = 0; i < n; i++) in[i] = (float)(i % 1000) + 0.25f;
    weir_arg args[] = { { .name = "x", .buffer = x }, { .name = "y", .buffer = y } };
    if (weir_buffer_write(x, in, bytes) || weir_buffer_fill(y, -1) ||
        weir_launch(program, &(weir_launch_desc){ .args = args, .nargs = COUNT(args) }) || weir_device_sync(dev) ||
        weir_buffer_read(y, out, bytes))
        goto done;

    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += out[i] != in[i];
    printf("%d floats, %d wrong\n", n, wrong);
    ok = wrong == 0;
done:
    if (!ok) fprintf(stderr, "%s\n%s\n", weir_error(ctx), weir_device_findings(dev));
    free(in);
    free(out);
    weir_buffer_free(x);
    weir_buffer_free(y);
    return ok;
}

int main(void) {
    struct heap heap = { 0 };
    bool ok = false;
    weir_ctx *ctx = weir_open(&(weir_config){ .alloc = heap_alloc, .log = on_log, .ud = &heap });
    weir_device *dev = ctx ? weir_device_open(ctx, NULL) : NULL; /* the first GPU, else the simulator */
    weir_kernel *k = dev ? copy_kernel(ctx) : NULL;
    if (k) {
        weir_program *program = NULL;
        weir_report *report = NULL;
        weir_status st = weir_build(k, &(weir_build_desc){ .device = dev }, &program, &report);
        if (report) printf("%s", weir_report_text(report));
        weir_report_free(report);
        printf("on %s: %s\n", weir_device_name(dev), weir_status_name(st));
        ok = st == WEIR_OK && run(ctx, dev, program, 100000) && run(ctx, dev, program, 1);
        weir_program_free(program);
        weir_kernel_free(k);
    } else {
        fprintf(stderr, "%s\n", ctx ? weir_error(ctx) : "out of memory");
    }
    if (dev) weir_device_close(dev);
    if (ctx) weir_close(ctx);

    printf("%zu allocator calls, %zu bytes at most, %zu still held\n", heap.calls, heap.peak, heap.live);
    ok = ok && heap.live == 0;
    puts(ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
