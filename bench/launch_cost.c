/* Host cost of a launch from C: weir_bound_launch and weir_launch beside cuLaunchKernelEx on the same function, alternating.
 * Prints JSON: microseconds per launch, one number a burst. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir.h"

enum { LAUNCHES = 200, MAX_BURSTS = 1000 };

typedef struct launch_config {
    unsigned grid[3], block[3], smem;
    void *stream, *attrs;
    unsigned nattrs;
} launch_config;
typedef struct driver {
    int (*module_load)(void **, const void *);
    int (*module_function)(void **, void *, const char *);
    int (*set_current)(void *);
    int (*retain)(void **, int);
    int (*launch)(const launch_config *, void *, void **, void **);
} driver;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void need(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "launch_cost: %s\n", what);
    exit(EXIT_FAILURE);
}

static driver open_driver(void) {
    driver d;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *f[5];
    static const char *const names[] = { "cuModuleLoadData", "cuModuleGetFunction", "cuCtxSetCurrent",
                                         "cuDevicePrimaryCtxRetain", "cuLaunchKernelEx" };
    need(lib != NULL, "no driver");
    for (int i = 0; i < 5; i++) need((f[i] = dlsym(lib, names[i])) != NULL, names[i]);
    memcpy(&d, f, sizeof d);
    return d;
}

static void print_list(const char *name, const double *x, int n, const char *end) {
    printf("\"%s\": [", name);
    for (int i = 0; i < n; i++) printf("%s%.4f", i ? ", " : "", x[i]);
    printf("]%s\n", end);
}

int main(int argc, char **argv) {
    static double bare[MAX_BURSTS], bound_us[MAX_BURSTS], named[MAX_BURSTS];
    int bursts = argc > 1 ? atoi(argv[1]) : 41;
    need(bursts > 0 && bursts <= MAX_BURSTS, "bursts: 1 to 1000");
    weir_ctx *ctx = weir_open(NULL);
    weir_device *dev = ctx ? weir_device_open(ctx, &(weir_device_desc){ .index = 0 }) : NULL;
    need(dev != NULL, ctx ? weir_error(ctx) : "out of memory");

    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "one" });
    weir_value n = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    weir_tensor *x = weir_tensor_new(k, &(weir_tensor_desc){ .name = "x", .dtype = WEIR_F32, .rank = 1, .shape = { n } });
    weir_tensor *y =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "y", .dtype = WEIR_F32, .rank = 1, .shape = { n }, .out = true });
    weir_bind bind[] = { { "x", x }, { "y", y } };
    weir_work_def all = { .name = "all", .side = WEIR_SIDE_PRODUCER, .code = "if ((i32)tid < x_shape[0]) y[tid] = x[tid];" };
    weir_res *copy = weir_resource(
        k,
        &(weir_resource_desc){ .name = "copy", .space = WEIR_SPACE_GMEM, .bind = bind, .nbind = 2, .work = &all, .nwork = 1 });
    weir_task_begin(k, &(weir_task_desc){ .name = "copy", .first_warp = 0, .num_warps = 4 });
    weir_work(k, copy, "all", NULL, NULL, 0);
    weir_task_end(k);
    weir_program *p = NULL;
    need(weir_build(k, &(weir_build_desc){ .device = dev }, &p, NULL) == WEIR_OK, weir_error(ctx));

    weir_buffer_desc desc = { .dtype = WEIR_F32, .rank = 1, .shape = { 64 } };
    weir_buffer *bx = weir_buffer_new(dev, &desc), *by = weir_buffer_new(dev, &desc);
    need(bx && by && weir_buffer_fill(bx, 1) == WEIR_OK, weir_error(ctx));
    weir_arg args[] = { { .name = "x", .buffer = bx }, { .name = "y", .buffer = by } };
    weir_launch_desc launch = { .args = args, .nargs = 2, .grid = 1 };
    weir_bound *b = weir_bind_args(p, &launch);
    need(b != NULL, weir_error(ctx));

    /* the same cubin by hand: parameters x, y, N; the context is current, as in a host that uses CUDA itself */
    driver d = open_driver();
    const void *cubin;
    size_t size;
    int64_t smem = 0;
    void *context, *module, *function;
    need(weir_verify(k, NULL, NULL) == WEIR_OK, weir_error(ctx));
    weir_smem_layout(k, NULL, 0, &smem);
    need(weir_program_cubin(p, &cubin, &size) == WEIR_OK && d.retain(&context, 0) == 0 && d.set_current(context) == 0 &&
             d.module_load(&module, cubin) == 0 && d.module_function(&function, module, "one") == 0,
         "loading by hand");
    launch_config c = { .grid = { 1, 1, 1 }, .block = { 128, 1, 1 }, .smem = (unsigned)smem };
    uint64_t ax = weir_buffer_address(bx), ay = weir_buffer_address(by);
    int32_t count = 64;
    void *params[] = { &ax, &ay, &count };

    for (int i = -1; i < bursts; i++) { /* the first round warms up */
        double t0 = now_us();
        for (int j = 0; j < LAUNCHES; j++) need(d.launch(&c, function, params, NULL) == 0, "cuLaunchKernelEx");
        double t1 = now_us();
        need(weir_device_sync(dev) == WEIR_OK, weir_error(ctx));
        double t2 = now_us();
        for (int j = 0; j < LAUNCHES; j++) need(weir_bound_launch(b, NULL) == WEIR_OK, weir_error(ctx));
        double t3 = now_us();
        need(weir_device_sync(dev) == WEIR_OK, weir_error(ctx));
        double t4 = now_us();
        for (int j = 0; j < LAUNCHES; j++) need(weir_launch(p, &launch) == WEIR_OK, weir_error(ctx));
        double t5 = now_us();
        need(weir_device_sync(dev) == WEIR_OK, weir_error(ctx));
        if (i < 0) continue;
        bare[i] = (t1 - t0) / LAUNCHES;
        bound_us[i] = (t3 - t2) / LAUNCHES;
        named[i] = (t5 - t4) / LAUNCHES;
    }
    float out[64];
    need(weir_buffer_read(by, out, sizeof out) == WEIR_OK && out[63] == 1, "the kernel did not run");
    printf("{\n");
    print_list("bare", bare, bursts, ",");
    print_list("c_bound", bound_us, bursts, ",");
    print_list("c_launch", named, bursts, "");
    printf("}\n");
    weir_bound_free(b);
    weir_buffer_free(bx);
    weir_buffer_free(by);
    weir_program_free(p);
    weir_kernel_free(k);
    weir_close(ctx);
    return EXIT_SUCCESS;
}
