/* A stand-in for libcuda.so.1: keeps what was called and with what, allocates host memory, fails on demand. Tests build it
 * as a shared object, open it through weir_config.driver_path, and look into it through mock(). It exports
 * cuGetProcAddress_v2 alone, so that every lookup goes through base name and version. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_cuda.h"

#define EXPORT __attribute__((visibility("default")))

static struct mock state = { .gpus = 1, .cc = 90, .sms = 132, .max_clusters = 60, .smem_optin = 232448 };
EXPORT struct mock *mock(void) { return &state; }

/* Notes the call; the result it is to give. */
static int call(const char *name) {
    size_t n = strlen(state.log);
    snprintf(state.log + n, sizeof state.log - n, "%s ", name);
    state.calls++;
    if (!strcmp(name, state.fail_name) && state.fail_after-- <= 0) return state.fail_result;
    return state.lost;
}

#define FN(name, ...) static int f_##name(__VA_ARGS__)

FN(cuInit, unsigned flags) {
    (void)flags;
    return call("cuInit");
}
FN(cuDriverGetVersion, int *v) {
    *v = 13000;
    return 0;
}
FN(cuDeviceGetCount, int *n) {
    *n = state.gpus;
    return call("cuDeviceGetCount");
}
FN(cuDeviceGet, int *d, int i) {
    *d = i;
    return call("cuDeviceGet");
}
FN(cuDeviceGetName, char *s, int n, int d) {
    (void)d;
    snprintf(s, (size_t)n, "Mock H200");
    return 0;
}
FN(cuDeviceGetAttribute, int *v, int a, int d) {
    (void)d;
    *v = a == 16 ? state.sms : a == 75 ? state.cc / 10 : a == 76 ? state.cc % 10 : a == 97 ? state.smem_optin : 0;
    return 0;
}
FN(cuDevicePrimaryCtxRetain, void **c, int d) {
    (void)d;
    state.retained++;
    *c = (void *)(uintptr_t)0xc0de;
    return call("retain");
}
FN(cuDevicePrimaryCtxRelease, int d) {
    (void)d;
    state.retained--;
    return call("release");
}
FN(cuCtxGetCurrent, void **c) {
    *c = state.depth ? state.stack[state.depth - 1] : NULL;
    return 0;
}
FN(cuCtxPushCurrent, void *c) {
    int r = call("push");
    if (!r) state.stack[state.depth++] = c;
    return r;
}
FN(cuCtxPopCurrent, void **c) {
    *c = state.depth ? state.stack[--state.depth] : NULL;
    call("pop");
    return 0;
}
static int need_context(void) { return state.depth && state.stack[state.depth - 1] == (void *)(uintptr_t)0xc0de ? 0 : 201; }
#define CALL(name) \
    do { \
        int r_ = call(name); \
        if (!r_) r_ = need_context(); \
        if (r_) return r_; \
    } while (0)
FN(cuCtxSynchronize, void) {
    CALL("sync");
    return 0;
}
FN(cuModuleLoadData, void **m, const void *image) {
    CALL("load");
    state.modules++;
    *m = (void *)(uintptr_t)0x30d;
    state.image = image;
    return 0;
}
FN(cuModuleUnload, void *m) {
    (void)m;
    CALL("unload");
    state.modules--;
    return 0;
}
FN(cuModuleGetFunction, void **f, void *m, const char *name) {
    (void)m;
    CALL("function");
    snprintf(state.function, sizeof state.function, "%s", name);
    *f = (void *)(uintptr_t)0xf00;
    return 0;
}
FN(cuModuleGetGlobal, uint64_t *p, size_t *n, void *m, const char *name) {
    (void)m, (void)name;
    CALL("global");
    *p = (uint64_t)(uintptr_t)state.global;
    *n = state.global_size;
    return 0;
}
FN(cuFuncGetAttribute, int *v, int a, void *f) {
    (void)a, (void)f;
    *v = 0;
    return 0;
}
FN(cuFuncSetAttribute, void *f, int a, int v) {
    (void)f;
    CALL("set");
    if (a == 8) state.smem_attribute = v;
    return 0;
}
FN(cuLaunchKernelEx, const struct mock_launch *c, void *f, void **params, void **extra) {
    (void)f, (void)extra;
    CALL("launch");
    state.launches++;
    state.launch = *c;
    for (unsigned i = 0; i < c->nattrs && i < 4; i++) state.attrs[i] = c->attrs[i];
    state.params = params;
    if (state.on_launch) state.on_launch(&state);
    return 0;
}
FN(cuOccupancyMaxActiveClusters, int *n, void *f, const struct mock_launch *c) {
    (void)f, (void)c;
    CALL("clusters");
    *n = state.max_clusters;
    return 0;
}
/* What a lost context takes with it is given back when the library goes. */
static void *blocks[64];
__attribute__((destructor)) static void sweep(void) {
    for (int i = 0; i < 64; i++) free(blocks[i]);
}
FN(cuMemAlloc, uint64_t *p, size_t n) {
    CALL("alloc");
    int i = 0;
    while (i < 64 && blocks[i]) i++;
    if (i == 64) return 2;
    blocks[i] = aligned_alloc(256, (n + 255) / 256 * 256);
    *p = (uint64_t)(uintptr_t)blocks[i];
    state.allocations++;
    return 0;
}
FN(cuMemFree, uint64_t p) {
    CALL("free");
    for (int i = 0; i < 64; i++)
        if (blocks[i] == (void *)(uintptr_t)p) blocks[i] = NULL;
    free((void *)(uintptr_t)p);
    state.allocations--;
    return 0;
}
FN(cuMemcpyHtoD, uint64_t to, const void *from, size_t n) {
    CALL("h2d");
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}
FN(cuMemcpyDtoH, void *to, uint64_t from, size_t n) {
    CALL("d2h");
    memcpy(to, (void *)(uintptr_t)from, n);
    return 0;
}
FN(cuMemsetD8, uint64_t p, unsigned char x, size_t n) {
    CALL("set8");
    memset((void *)(uintptr_t)p, x, n);
    return 0;
}
FN(cuMemsetD32Async, uint64_t p, unsigned x, size_t n, void *s) {
    (void)s;
    CALL("set32");
    for (size_t i = 0; i < n; i++) ((uint32_t *)(uintptr_t)p)[i] = x;
    return 0;
}
FN(cuEventCreate, void **e, unsigned flags) {
    (void)flags;
    CALL("event");
    state.events++;
    *e = (void *)(uintptr_t)(0xe0 + state.events);
    return 0;
}
FN(cuEventDestroy, void *e) {
    (void)e;
    CALL("destroy");
    state.events--;
    return 0;
}
FN(cuEventRecord, void *e, void *s) {
    (void)e, (void)s;
    CALL("record");
    return 0;
}
FN(cuEventSynchronize, void *e) {
    (void)e;
    CALL("wait");
    return 0;
}
FN(cuEventElapsedTime, float *ms, void *a, void *b) {
    (void)a, (void)b;
    CALL("elapsed");
    *ms = (float)(1 + state.timings++ % 3);
    return 0;
}
FN(cuGetErrorName, int r, const char **s) {
    *s = r == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : r == 1 ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_MOCK";
    return 0;
}
FN(cuGetErrorString, int r, const char **s) {
    (void)r;
    *s = "mock text";
    return 0;
}
FN(cuTensorMapEncodeTiled, void *m, int type, unsigned rank, void *base, const uint64_t *dim, const uint64_t *stride,
   const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2, int oob) {
    (void)step, (void)interleave, (void)oob;
    CALL("encode");
    memset(m, 0, 128);
    if ((uintptr_t)m % 64) return 1;
    struct mock_map *out = &state.maps[state.encoded++ % 8];
    *out =
        (struct mock_map){ .type = type, .rank = (int)rank, .base = (uint64_t)(uintptr_t)base, .swizzle = swizzle, .l2 = l2 };
    for (unsigned i = 0; i < rank; i++) out->dim[i] = dim[i], out->box[i] = box[i];
    for (unsigned i = 0; i + 1 < rank; i++) out->stride[i] = stride[i];
    *(uint64_t *)m = (uint64_t)state.encoded;
    return 0;
}

#define ROW(name, version) \
    { #name, version, (void (*)(void))f_##name }
static const struct {
    const char *name;
    int version;
    void (*f)(void);
} table[] = {
    ROW(cuInit, 2000),
    ROW(cuDriverGetVersion, 2020),
    ROW(cuDeviceGetCount, 2000),
    ROW(cuDeviceGet, 2000),
    ROW(cuDeviceGetName, 2000),
    ROW(cuDeviceGetAttribute, 2000),
    ROW(cuDevicePrimaryCtxRetain, 7000),
    ROW(cuDevicePrimaryCtxRelease, 11000),
    ROW(cuCtxGetCurrent, 4000),
    ROW(cuCtxPushCurrent, 4000),
    ROW(cuCtxPopCurrent, 4000),
    ROW(cuCtxSynchronize, 2000),
    ROW(cuModuleLoadData, 2000),
    ROW(cuModuleUnload, 2000),
    ROW(cuModuleGetFunction, 2000),
    ROW(cuModuleGetGlobal, 3020),
    ROW(cuFuncGetAttribute, 2020),
    ROW(cuFuncSetAttribute, 9000),
    ROW(cuLaunchKernelEx, 11060),
    ROW(cuOccupancyMaxActiveClusters, 11070),
    ROW(cuMemAlloc, 3020),
    ROW(cuMemFree, 3020),
    ROW(cuMemcpyHtoD, 3020),
    ROW(cuMemcpyDtoH, 3020),
    ROW(cuMemsetD8, 3020),
    ROW(cuMemsetD32Async, 3020),
    ROW(cuEventCreate, 2000),
    ROW(cuEventDestroy, 4000),
    ROW(cuEventRecord, 2000),
    ROW(cuEventSynchronize, 2000),
    ROW(cuEventElapsedTime, 2000),
    ROW(cuGetErrorName, 6000),
    ROW(cuGetErrorString, 6000),
    ROW(cuTensorMapEncodeTiled, 12000),
};

/* Answers only the exact version of the table: asking for another would hand back another ABI on some driver. */
EXPORT int cuGetProcAddress_v2(const char *name, void **f, int version, uint64_t flags, int *status) {
    *f = NULL;
    *status = 1;
    if (flags) return 1;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) || !strcmp(name, getenv("MOCK_LACKS") ? getenv("MOCK_LACKS") : "")) continue;
        *status = table[i].version == version ? 0 : 2;
        if (!*status) memcpy(f, &table[i].f, sizeof *f);
    }
    return 0;
}
