/* Binding, launching and devices against a stand-in driver: call sequences, parameters, context balance, messages. The plan is
 * written by hand, so that this test does not move when lowering does. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "../tap.h"
#include "launch.h"
#include "mock_cuda.h"

static char folder[] = "/tmp/weir-launch-XXXXXX";
static char driver[64];
static struct mock *m;
static char last_log[4096];
static weir_ctx *ctx;
static weir_kernel *k;
static weir_value M, N, K;
static weir_program *p;

static void on_log(void *ud, weir_log_level level, const char *text) {
    (void)ud, (void)level;
    snprintf(last_log, sizeof last_log, "%s", text);
}

static bool build_driver(void) {
    char command[512];
    if (!mkdtemp(folder)) return false;
    snprintf(driver, sizeof driver, "%s/libcuda-mock.so", folder);
    snprintf(command, sizeof command, "${CC:-cc} -std=gnu11 -shared -fPIC -I'%s/t/c' -o %s '%s/t/c/mock_cuda.c'", WEIR_ROOT,
             driver, WEIR_ROOT);
    if (system(command)) return false;
    void *lib = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
    void *f = lib ? dlsym(lib, "mock") : NULL;
    struct mock *(*get)(void);
    if (!f) return false;
    memcpy(&get, &f, sizeof get);
    m = get();
    return true;
}

static void forget(void) {
    m->log[0] = 0;
    m->calls = 0;
}

static weir_value tensor_shape(weir_value a, weir_value b, weir_value *out) { return out[0] = a, out[1] = b, a; }

static weir_tensor *tensor(const char *name, weir_dtype t, weir_value a, weir_value b, bool out) {
    weir_tensor_desc d = { .name = name, .dtype = t, .rank = 2, .out = out };
    tensor_shape(a, b, d.shape);
    return weir_tensor_new(k, &d);
}

/* D[M, N] += A[M, K] * B[N, K], tiles 128 x 256 x 64, clusters of 2 along m; scale is a scalar. */
static void make_program(void) {
    k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "gemm", .arch = WEIR_ARCH_SM_90A, .cluster = { .m = 2 } });
    M = weir_dim(k, &(weir_dim_desc){ .name = "M" });
    N = weir_dim(k, &(weir_dim_desc){ .name = "N", .multiple = 8 });
    K = weir_dim(k, &(weir_dim_desc){ .name = "K", .max = 1 << 20 });
    weir_scalar(k, &(weir_scalar_desc){ .name = "scale", .dtype = WEIR_F32 });
    tensor("A", WEIR_BF16, M, K, false);
    tensor("B", WEIR_BF16, N, K, false);
    weir_tensor *d = tensor("D", WEIR_BF16, M, N, true);
    weir_res *q = weir_work_queue(k, &(weir_queue_desc){ .name = "wq", .over = d, .tile = { 128, 256 } });
    weir_assume(k, weir_apply(k, WEIR_OP_LE, (weir_value[]){ K, weir_int(k, 100000) }, 2));

    p = weiri_alloc(ctx, sizeof *p);
    weiri_plan *plan = weiri_alloc(ctx, sizeof *plan);
    weiri_arena_init(&plan->a, ctx);
    plan->k = k;
    plan->queue = q;
    plan->persistent = true;
    plan->cluster = 2;
    plan->threads = 384;
    plan->smem_total = 200000;
    static const char *const names[] = { "A_map", "B_map", "D_map" };
    for (int i = 0; i < 3; i++)
        WEIRI_PUSH(&plan->a, plan->tmaps,
                   ((weiri_tmap_use){ .name = names[i],
                                      .tensor = i,
                                      .rank = 2,
                                      .box = { 64, i == 2 ? 64 : 128 },
                                      .swizzle = 128,
                                      .l2_promotion = 256 }));
    for (int i = 0; i < 3; i++) WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_TMAP, i, 0, names[i], "w_tmap", 128 }));
    for (int i = 0; i < 3; i++) WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_DIM, i, 0, "dim", "i32", 4 }));
    WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_SCALAR, 0, 0, "scale", "float", 4 }));
    WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_PTR, 2, 0, "D", "bf16 *", 8 }));
    WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_STRIDE, 0, 0, "A_stride0", "i64", 8 }));
    WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_SHAPE, 1, 1, "B_shape1", "i32", 4 }));
    p->ctx = ctx;
    p->k = k;
    p->plan = plan;
    p->name = "gemm";
    p->arch = WEIR_ARCH_SM_90A;
    weiri_buf_init(&p->source, ctx);
    weiri_buf_init(&p->full, ctx);
    weiri_buf_init(&p->log, ctx);
    weiri_buf_init(&p->ptx, ctx);
    p->cubin = weiri_alloc(ctx, 4); /* compiled already: NVRTC is another test's */
    p->cubin_size = 4;
}

static weir_buffer *buffer(weir_device *d, weir_dtype t, int64_t a, int64_t b) {
    return weir_buffer_new(d, &(weir_buffer_desc){ .dtype = t, .rank = 2, .shape = { a, b } });
}

static void test_devices(void) {
    weir_device *d = weir_device_open(ctx, NULL);
    ok(d && !weir_device_is_sim(d), "no description: the first GPU");
    is_str("Mock H200", weir_device_name(d), "its name");
    is_int(132, weir_device_sms(d), "its multiprocessors");
    is_int(1, m->retained, "primary context retained once");
    weir_device *e = weir_device_open(ctx, &(weir_device_desc){ .index = 0 });
    is_int(2, m->retained, "once more for a second object");
    weir_device_close(e);
    is_int(1, m->retained, "and released with it");
    ok(!weir_device_open(ctx, &(weir_device_desc){ .index = -1, .sms = -3 }), "a simulator of fewer than no CTAs");
    has_str("sms is -3", weir_error(ctx), "is refused");
    ok(!weir_device_open(ctx, &(weir_device_desc){ .index = 7 }), "there is no GPU 7");
    is_str("there is no GPU 7: the driver sees 1 (0)", weir_error(ctx), "and the message counts");
    is_int(0, m->depth, "no context left current");

    weir_buffer *b = buffer(d, WEIR_BF16, 3, 5);
    is_int(8, weir_buffer_stride(b, 0), "rows padded to 16 bytes");
    is_int(1, weir_buffer_stride(b, 1), "innermost stride 1");
    double x[15], y[15];
    for (int i = 0; i < 15; i++) x[i] = i * 0.5;
    ok(weir_buffer_write_f64(b, x, 15) == WEIR_OK && weir_buffer_read_f64(b, y, 15) == WEIR_OK && !memcmp(x, y, sizeof x),
       "numbers go and come back");
    uint16_t packed[15], back[15];
    for (int i = 0; i < 15; i++) packed[i] = (uint16_t)(i * 7);
    ok(weir_buffer_write(b, packed, sizeof packed) == WEIR_OK && weir_buffer_read(b, back, sizeof back) == WEIR_OK &&
           !memcmp(packed, back, sizeof back),
       "bytes go and come back without padding");
    const uint16_t *raw = (const uint16_t *)(uintptr_t)weir_buffer_address(b);
    is_int(5 * 7, raw[8], "row 1 starts at the pitch");
    ok(weir_buffer_write(b, packed, 10) == WEIR_E_ARGUMENT, "a wrong size is refused");
    is_str("the tensor holds 30 bytes; 10 were given", weir_error(ctx), "with both numbers");
    is_int(0, m->depth, "no context left current");
    void *host = (void *)(uintptr_t)0xabc;
    m->stack[m->depth++] = host;
    weir_buffer_fill(b, 2);
    ok(m->depth == 1 && m->stack[0] == host, "the host's own context is back afterwards");
    snprintf(m->fail_name, sizeof m->fail_name, "h2d");
    m->fail_result = 1;
    ok(weir_buffer_fill(b, 3) == WEIR_E_DRIVER && m->depth == 1 && m->stack[0] == host, "on an error too");
    has_str("CUDA_ERROR_INVALID_VALUE (1)", weir_error(ctx), "the driver's name for it is in the text");
    m->fail_name[0] = 0;
    m->depth = 0;
    weir_buffer *c = weir_buffer_new(d, &(weir_buffer_desc){ .dtype = WEIR_F32, .rank = 3, .shape = { 2, 3, 1 }, .pitch = 64 });
    ok(weir_buffer_stride(c, 1) == 16 && weir_buffer_stride(c, 0) == 48, "rank 3: planes packed over padded rows");
    weir_buffer *z = buffer(d, WEIR_BF16, 4, 0);
    ok(z && weir_buffer_address(z) && weir_buffer_fill(z, 1) == WEIR_OK, "an empty tensor has an address");
    ok(!weir_buffer_new(d, &(weir_buffer_desc){ .dtype = WEIR_F32, .rank = 1, .shape = { -1 } }),
       "a negative extent is refused");
    weir_device_close(d);
    ok(m->retained == 0 && m->allocations == 0, "closing the device gives memory and context back");
    ok(weir_buffer_fill(b, 1) == WEIR_E_ARGUMENT, "a buffer of a closed device says so");
    is_str("the tensor's device was closed", weir_error(ctx), "in these words");
    weir_buffer_free(b);
    weir_buffer_free(c);
    weir_buffer_free(z);
}

static weir_status launch(weir_device *d, const weir_arg *a, int n) {
    return weir_launch(p, &(weir_launch_desc){ .args = a, .nargs = n, .device = d });
}

static void refused(weir_device *d, const weir_arg *a, int n, const char *text, const char *name) {
    weir_status st = launch(d, a, n);
    is_int(WEIR_E_LAUNCH, st, name);
    has_str(text, weir_error(ctx), name);
    is_int(0, m->depth, "context balance");
}

static void test_launch(void) {
    weir_device *d = weir_device_open(ctx, NULL);
    weir_buffer *A = buffer(d, WEIR_BF16, 1000, 72), *B = buffer(d, WEIR_BF16, 4096, 72), *D = buffer(d, WEIR_BF16, 1000, 4096);
    weir_arg args[] = { { .name = "A", .buffer = A },
                        { .name = "B", .buffer = B },
                        { .name = "D", .buffer = D },
                        { .name = "scale", .number = 0.5, .is_number = true } };
    forget();
    m->encoded = 0;
    is_int(WEIR_OK,
           weir_launch(
               p, &(weir_launch_desc){ .args = args, .nargs = 4, .device = d, .stream = (void *)(uintptr_t)0x57, .pdl = true }),
           "launch");
    is_str("push load function set encode encode encode clusters pop push launch pop ", m->log, "the calls, in order");
    ok(m->launch.grid[0] == 2 * 60 && m->launch.grid[1] == 1 && m->launch.grid[2] == 1,
       "grid: 4 x 16 tiles of clusters, 60 resident, 2 CTAs each");
    ok(m->launch.block[0] == 384 && m->launch.smem == 200000 && m->smem_attribute == 200000, "block and shared memory");
    ok(m->launch.stream == (void *)(uintptr_t)0x57, "stream");
    ok(m->launch.nattrs == 2 && m->attrs[0].id == 4 && m->attrs[0].value[0] == 2 && m->attrs[0].value[1] == 1 &&
           m->attrs[1].id == 6 && m->attrs[1].value[0] == 1,
       "attributes: cluster 2 x 1 x 1, programmatic serialization");
    ok(m->maps[0].rank == 2 && m->maps[0].type == 9 && m->maps[0].dim[0] == 72 && m->maps[0].dim[1] == 1000 &&
           m->maps[0].stride[0] == 144 && m->maps[0].box[0] == 64 && m->maps[0].box[1] == 128 && m->maps[0].swizzle == 3 &&
           m->maps[0].l2 == 2,
       "A's map: innermost first, bytes, 128B swizzle, narrow L2 promotion for a pitch off 128");
    ok(m->maps[2].l2 == 3 && m->maps[2].stride[0] == 8192, "D's map: aligned pitch, 256-byte promotion");
    ok(*(int32_t *)m->params[3] == 1000 && *(int32_t *)m->params[4] == 4096 && *(int32_t *)m->params[5] == 72,
       "dims solved from the shapes");
    ok(*(float *)m->params[6] == 0.5f && *(uint64_t *)m->params[7] == weir_buffer_address(D) &&
           *(int64_t *)m->params[8] == 72 && *(int32_t *)m->params[9] == 72,
       "scalar, address, stride, extent");
    ok((uintptr_t)m->params[0] % 128 == 0, "maps are aligned, more than any driver header asks (64, from CUDA 13 on 128)");
    forget();
    weir_launch_desc again = { .args = args, .nargs = 4, .device = d, .pdl = true };
    is_int(WEIR_OK, weir_launch(p, &again), "again");
    is_str("push launch pop ", m->log, "the same arguments are not bound twice");
    m->stack[m->depth++] = (void *)(uintptr_t)0xc0de;
    forget();
    weir_launch(p, &again);
    is_str("launch ", m->log, "with the context current, nothing is pushed");
    m->depth = 0;
    args[3].number = 2;
    forget();
    weir_launch(p, &again);
    ok(*(float *)m->params[6] == 2.0f && strstr(m->log, "encode"), "another scalar is another binding");

    double ms = 0;
    is_int(WEIR_OK, weir_time(p, &again, 5, &ms), "timing");
    ok(ms == 2 && m->events == 0, "median of 1 2 3 1 2 is 2; events given back");
    weir_bound *b = weir_bind_args(p, &again);
    ok(b && weir_bound_launch(b, NULL) == WEIR_OK, "a binding of the host's own");
    is_int(120, weiri_bound_shape(b).grid, "its grid");
    forget();
    uint64_t moved_to = weir_buffer_address(D) + 4096;
    is_int(WEIR_OK, weir_bound_set_address(b, "D", moved_to), "another address for D");
    is_str("push encode pop ", m->log, "encodes one map");
    weir_bound_launch(b, NULL);
    ok(m->maps[(m->encoded - 1) % 8].base == moved_to && *(uint64_t *)m->params[7] == moved_to, "and moves its pointer");
    is_int(WEIR_E_LAUNCH, weir_bound_set_address(b, "D", moved_to + 2), "a bad address is refused");
    has_str("2 bytes past a multiple of 16", weir_error(ctx), "as at a launch");
    ok(*(uint64_t *)m->params[7] == moved_to, "and changes nothing");
    is_int(WEIR_E_LAUNCH, weir_bound_set_address(b, "M", moved_to), "M is no tensor");
    weir_launch_desc one = again;
    one.grid = 3;
    is_int(WEIR_E_LAUNCH, weir_launch(p, &one), "a grid of 3 CTAs with clusters of 2");
    is_str("kernel 'gemm': the grid is 3 CTAs; it must be a positive multiple of the cluster's 2", weir_error(ctx),
           "both numbers");

    /* every way to be wrong names the object and both values */
    weir_arg bad[5];
    memcpy(bad, args, sizeof args);
    refused(d, bad + 1, 3, "tensor 'A' is missing; it takes tensors A, B, D; dims M, N, K; scalars scale", "a missing tensor");
    bad[0].name = "a";
    refused(d, bad, 4, "it has no argument 'a'", "an unknown name");
    bad[0].name = "B";
    refused(d, bad, 4, "argument 'B' is given twice", "an argument twice");
    memcpy(bad, args, sizeof args);
    weir_buffer *f = buffer(d, WEIR_F32, 1000, 72), *wide = buffer(d, WEIR_BF16, 4096, 80),
                *narrow = buffer(d, WEIR_BF16, 1000, 4090), *odd = buffer(d, WEIR_BF16, 4090, 72);
    bad[0].buffer = f;
    refused(d, bad, 4, "tensor 'A' is f32; the kernel takes bf16", "a wrong dtype");
    bad[0].buffer = A, bad[1].buffer = wide;
    refused(d, bad, 4, "dim 'K' is 72 by axis 1 of tensor 'A' but 80 by axis 1 of tensor 'B'", "K of A and B disagreeing");
    bad[1].buffer = odd, bad[2].buffer = narrow;
    refused(d, bad, 4, "dim 'N' is 4090; it must be a multiple of 8 (nearest: 4088, 4096)", "a dim off its multiple");
    memcpy(bad, args, sizeof args);
    bad[4] = (weir_arg){ .name = "K", .number = 64, .is_number = true };
    refused(d, bad, 5, "dim 'K' is 64 by argument 'K' but 72 by axis 1 of tensor 'A'", "a dim against a shape");
    bad[3] = (weir_arg){ .name = "scale", .buffer = A };
    refused(d, bad, 4, "argument 'scale' is a number; a tensor was given", "a tensor for a scalar");
    memcpy(bad, args, sizeof args);
    uint64_t base = weir_buffer_address(A);
    bad[0] = (weir_arg){
        .name = "A", .address = base + 8, .rank = 2, .shape = { 1000, 72 }, .stride = { 72, 1 }, .dtype = WEIR_BF16
    };
    refused(d, bad, 4, "8 bytes past a multiple of 16; TMA needs 16-byte alignment", "a base off 16 bytes");
    bad[0].address = base, bad[0].stride[0] = 73;
    refused(d, bad, 4,
            "tensor 'A': axis 0 steps by 146 bytes (73 elements); TMA needs a multiple of 16 bytes (nearest: 144 bytes = 72 "
            "elements, 160 bytes = 80 elements)",
            "a pitch off 16 bytes");
    bad[0].stride[0] = 72, bad[0].stride[1] = 2;
    refused(d, bad, 4, "tensor 'A': its innermost axis steps by 2 elements; it must step by 1", "an innermost stride of 2");
    bad[0].stride[1] = 1, bad[0].address = 0;
    refused(d, bad, 4, "tensor 'A': its address is null", "a null address");
    bad[0].address = base, bad[0].rank = 1;
    refused(d, bad, 4, "tensor 'A' has rank 1; the kernel takes rank 2", "a wrong rank");
    weir_arg raw[] = { { .name = "A", .address = base },
                       { .name = "B", .address = base },
                       { .name = "D", .address = base },
                       args[3],
                       { .name = "M", .number = 256, .is_number = true },
                       { .name = "N", .number = 512, .is_number = true },
                       { .name = "K", .number = 128, .is_number = true } };
    refused(d, raw, 6, "dim 'K' is not known", "raw addresses without a dim");
    is_int(WEIR_OK, launch(d, raw, 7), "raw addresses with all dims");
    ok(m->maps[(m->encoded - 3) % 8].stride[0] == 256 && m->launch.grid[0] == 4, "packed rows; 1 x 2 clusters of tiles");
    raw[6].number = 200000;
    refused(d, raw, 7, "its assumption K <= 100000 does not hold", "an assumption that fails");
    raw[6].number = 1 << 21;
    refused(d, raw, 7, "dim 'K' is 2097152; it must be 1048576 or less", "a dim over its maximum");
    raw[6].number = 0;
    is_int(WEIR_OK, launch(d, raw, 7), "K = 0");
    ok(m->launch.grid[0] == 4 && m->maps[(m->encoded - 3) % 8].dim[0] == 1,
       "runs, to write zeros; an extent of 0 is encoded as 1");
    raw[4].number = 0;
    int launches = m->launches;
    is_int(WEIR_OK, launch(d, raw, 7), "M = 0");
    is_int(launches, m->launches, "has no tile: nothing is launched");
    raw[4].number = raw[6].number = 1;
    raw[1].rank = 2, raw[1].shape[0] = 512, raw[1].shape[1] = 1, raw[1].stride[0] = 8, raw[1].stride[1] = 1;
    is_int(WEIR_OK, launch(d, raw, 7), "one row, one column of K: no stride is used, none is refused");

    m->cc = 100;
    weir_device *other = weir_device_open(ctx, NULL);
    weir_arg moved[4];
    memcpy(moved, args, sizeof args);
    refused(other, moved, 4, "tensor 'A' lies on Mock H200, the kernel runs on Mock H200", "a tensor of another device");
    refused(other, raw, 7, "it was built for sm_90a; GPU 0 (Mock H200) has compute capability 10.0",
            "a GPU of another architecture");
    weir_device_close(other);
    m->cc = 90;

    /* a fault shows at a later call and is blamed on the kernel */
    snprintf(m->fail_name, sizeof m->fail_name, "sync");
    m->fail_result = 719;
    is_int(WEIR_E_DRIVER, weir_device_sync(d), "a kernel that died");
    has_str("kernel 'gemm' failed: a fault at a barrier or a copy", weir_error(ctx), "is named");
    has_str("CUDA_ERROR_LAUNCH_FAILED (719)", weir_error(ctx), "with the driver's name for it");
    m->fail_name[0] = 0;
    forget();
    is_int(WEIR_E_DRIVER, launch(d, args, 4), "launching afterwards");
    is_str("GPU 0 cannot be used: its context was lost when kernel 'gemm' failed with error 719 (a fault at a barrier or a "
           "copy: an arrive too many, or a shared address "
           "out of range)",
           weir_error(ctx), "says what happened before");
    is_int(0, m->calls, "and asks the driver nothing");
    weir_device_close(d);
    ok(weir_bound_launch(b, NULL) == WEIR_E_ARGUMENT, "a binding of a closed device says so");
    weir_bound_free(b);
    weir_buffer *all[] = { A, B, D, f, wide, narrow, odd };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) weir_buffer_free(all[i]);
    ok(m->retained == 0 && m->depth == 0, "contexts balanced at the end");
}

/* Launches of one binding may run side by side on several streams: each draws its tiles from a counter of its own, which is cleared. */
static void test_counters(void) {
    enum { LAUNCHES = 65 };
    weir_device *d = weir_device_open(ctx, NULL);
    weir_buffer *A = buffer(d, WEIR_BF16, 1000, 72), *B = buffer(d, WEIR_BF16, 4096, 72), *D = buffer(d, WEIR_BF16, 1000, 4096);
    weir_arg args[] = { { .name = "A", .buffer = A },
                        { .name = "B", .buffer = B },
                        { .name = "D", .buffer = D },
                        { .name = "scale", .number = 0.5, .is_number = true } };
    weiri_plan *plan = (weiri_plan *)p->plan;
    WEIRI_PUSH(&plan->a, plan->params, ((weiri_kparam){ KP_COUNTER, 0, 0, "wq_counter", "u32 *", 8 }));
    weir_bound *b = weir_bind_args(p, &(weir_launch_desc){ .args = args, .nargs = 4, .device = d });
    uint64_t at[LAUNCHES];
    bool apart = true, clear = true;
    for (int i = 0; i < LAUNCHES; i++) {
        forget();
        is_int(WEIR_OK, weir_bound_launch(b, (void *)(uintptr_t)(1 + i % 2)), "a launch");
        at[i] = *(uint64_t *)m->params[10];
        for (int j = i - 63 < 0 ? 0 : i - 63; j < i; j++) apart = apart && (at[i] >= at[j] + 64 || at[j] >= at[i] + 64);
        clear = clear && *(uint32_t *)(uintptr_t)at[i] == 0;
        *(uint32_t *)(uintptr_t)at[i] = 7;
    }
    is_str("push set32 launch pop ", m->log, "a counter is cleared before its launch");
    ok(apart && clear, "64 launches in a row have counters of their own");
    ok(at[64] == at[0], "and then they come again");
    weir_bound_free(b);
    plan->params.n--;
    weir_buffer *all[] = { A, B, D };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) weir_buffer_free(all[i]);
    weir_device_close(d);
}

static void test_load_errors(void) {
    m->modules = 0; /* the one of the lost context died with it */
    weir_device *d = weir_device_open(ctx, NULL);
    weir_buffer *A = buffer(d, WEIR_BF16, 128, 64), *B = buffer(d, WEIR_BF16, 256, 64), *D = buffer(d, WEIR_BF16, 128, 256);
    weir_arg args[] = { { .name = "A", .buffer = A },
                        { .name = "B", .buffer = B },
                        { .name = "D", .buffer = D },
                        { .name = "scale", .number = 1, .is_number = true } };
    static const struct {
        const char *call;
        int result;
        weir_status status;
        const char *text;
    } steps[] = {
        { "load", 209, WEIR_E_DRIVER, "kernel 'gemm' was built for sm_90a; GPU 0 (Mock H200) has compute capability 9.0" },
        { "load", 2, WEIR_E_DRIVER, "loading its 4 bytes of CUBIN on GPU 0" },
        { "function", 500, WEIR_E_DRIVER, "kernel 'gemm' is not in its own CUBIN" },
        { "set", 1, WEIR_E_DRIVER, "asking for 200000 bytes of shared memory" },
        { "encode", 1, WEIR_E_DRIVER,
          "tensor map of 'A' (rank 2, bf16, 64 x 128 elements, row step 128 bytes, box 64 x 128, swizzle 128)" },
        { "clusters", 1, WEIR_E_DRIVER, "asking how many clusters of 2 fit" },
        { "launch", 701, WEIR_E_DRIVER, "kernel 'gemm' failed: too many registers" },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!strcmp(steps[i].call, "launch")) snprintf(d->last_kernel, sizeof d->last_kernel, "gemm");
        snprintf(m->fail_name, sizeof m->fail_name, "%s", steps[i].call);
        m->fail_result = steps[i].result;
        m->fail_after = 0;
        weir_status st = launch(d, args, 4);
        m->fail_name[0] = 0;
        ok(st == steps[i].status, "step '%s' fails", steps[i].call);
        has_str(steps[i].text, weir_error(ctx), "with a text of its own");
        is_int(0, m->depth, "context balance");
    }
    d->dead = 0;
    m->smem_optin = 100000;
    d->smem_optin = 100000;
    weiri_program_drop_launched(p);
    is_int(WEIR_E_LAUNCH, launch(d, args, 4), "shared memory over the device's");
    has_str("needs 200000 bytes of shared memory; a CTA of GPU 0 (Mock H200) may have 100000", weir_error(ctx), "both numbers");
    weir_device_close(d);
    weir_buffer_free(A), weir_buffer_free(B), weir_buffer_free(D);
    is_int(0, m->modules, "no module is left loaded");
    is_int(0, m->retained, "no context is left retained");
}

static void test_no_driver(void) {
    weir_ctx *none = weir_open(&(weir_config){ .driver_path = "/nowhere/libcuda.so.1", .log = on_log, .cache_dir = "" });
    is_int(0, weir_device_count(none), "no driver: no GPU");
    has_str("no CUDA driver: /nowhere/libcuda.so.1 cannot be opened", weir_error(none), "and why");
    ok(!weir_device_open(none, &(weir_device_desc){ .index = 0 }), "GPU 0 cannot be opened");
    weir_device *d = weir_device_open(none, NULL);
    ok(d && weir_device_is_sim(d), "the default is the simulator");
    has_str("the simulator is used", last_log, "which is said");
    last_log[0] = 0;
    weir_device_open(none, NULL);
    is_str("", last_log, "once");
    weir_buffer *b = buffer(d, WEIR_F16, 2, 3);
    double x[6] = { 1, 2, 3, 4, 5, 6 }, y[6];
    ok(weir_buffer_write_f64(b, x, 6) == WEIR_OK && weir_buffer_read_f64(b, y, 6) == WEIR_OK && !memcmp(x, y, sizeof x),
       "buffers of the simulator");
    ok(weir_buffer_stride(b, 0) == 8, "with the same pitch");
    weir_close(none);

    setenv("MOCK_LACKS", "cuTensorMapEncodeTiled", 1);
    none = weir_open(&(weir_config){ .driver_path = driver, .cache_dir = "" });
    is_int(0, weir_device_count(none), "a driver too old");
    has_str("has no cuTensorMapEncodeTiled; CUDA 12.0 or newer is needed", weir_error(none), "names what it lacks");
    unsetenv("MOCK_LACKS");
    weir_close(none);
    m->gpus = 0;
    none = weir_open(&(weir_config){ .driver_path = driver, .cache_dir = "" });
    is_int(0, weir_device_count(none), "a driver without a GPU");
    is_str("the CUDA driver sees no GPU", weir_error(none), "says so");
    weir_close(none);
    m->gpus = 1;
}

int main(void) {
    if (!build_driver()) {
        printf("1..0 # SKIP no C compiler for the stand-in driver\n");
        return 0;
    }
    test_no_driver();
    ctx = weir_open(&(weir_config){ .driver_path = driver, .log = on_log, .cache_dir = "" });
    make_program();
    test_devices();
    test_launch();
    test_counters();
    test_load_errors();
    is_int(WEIR_E_LAUNCH, weir_launch(p, NULL), "a launch of nothing");
    has_str("kernel 'gemm': tensor 'A' is missing", weir_error(ctx), "is one without arguments");
    weiri_program_drop_launched(p);
    weir_close(ctx);
    unlink(driver);
    rmdir(folder);
    return done();
}
