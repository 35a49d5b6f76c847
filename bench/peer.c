/* What the benchmarks need beside weir: cuBLAS, NVRTC and the driver, opened at run time, as a Lua module. One process, one GPU
 * (the primary context of device 0), CUDA events. Built by bench/common.lua with the host's C compiler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>

/* ---- libraries ----------------------------------------------------------------------------------------------------------- */

typedef struct peer {
    void *cuda, *cublas, *handle;
    char cublas_path[1024];
    int (*init)(unsigned);
    int (*driver_version)(int *);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*sync)(void);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_sync)(void *);
    int (*event_elapsed)(float *, void *, void *);
    int (*cublas_create)(void **);
    int (*cublas_version)(void *, int *);
    int (*gemm_ex)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *,
                   void *, int, int, int, int);
} peer;

static void load(lua_State *L, void *lib, const char *symbol, void *out) {
    void *f = dlsym(lib, symbol);
    if (!f) luaL_error(L, "%s is not in the library", symbol);
    memcpy(out, &f, sizeof f);
}

static void check(lua_State *L, int r, const char *what) {
    if (r) luaL_error(L, "%s gives %d", what, r);
}

/* A library: at the given path, the loader's, the toolkit's, pip's. `name` ends before ".so". */
static void *open_library(const char *given, const char *name) {
    static const char *const folders[] = { "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64",
                                           "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
                                           "/opt/*/lib/python3*/site-packages/nvidia/*/lib" };
    char path[256];
    if (given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    for (int version = 13; version >= 12; version--) {
        snprintf(path, sizeof path, "%s.so.%d", name, version);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (lib) return lib;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        glob_t g;
        void *lib = NULL;
        snprintf(path, sizeof path, "%s/%s.so.1[23]*", folders[i], name);
        if (glob(path, 0, NULL, &g)) continue;
        for (size_t j = g.gl_pathc; j > 0 && !lib; j--) lib = dlopen(g.gl_pathv[j - 1], RTLD_NOW | RTLD_LOCAL);
        globfree(&g);
        if (lib) return lib;
    }
    return NULL;
}

static peer *self(lua_State *L) { return luaL_checkudata(L, 1, "weir.bench.peer"); }

/* open(cublas path or nil) -> peer */
static int peer_open(lua_State *L) {
    const char *given = luaL_optstring(L, 1, NULL);
    peer *p = lua_newuserdatauv(L, sizeof *p, 0);
    memset(p, 0, sizeof *p);
    luaL_setmetatable(L, "weir.bench.peer");
    p->cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!p->cuda) return luaL_error(L, "no CUDA driver: %s", dlerror());
    load(L, p->cuda, "cuInit", &p->init);
    load(L, p->cuda, "cuDriverGetVersion", &p->driver_version);
    load(L, p->cuda, "cuDevicePrimaryCtxRetain", &p->retain);
    load(L, p->cuda, "cuCtxSetCurrent", &p->set_current);
    load(L, p->cuda, "cuCtxSynchronize", &p->sync);
    load(L, p->cuda, "cuEventCreate", &p->event_create);
    load(L, p->cuda, "cuEventRecord", &p->event_record);
    load(L, p->cuda, "cuEventSynchronize", &p->event_sync);
    load(L, p->cuda, "cuEventElapsedTime", &p->event_elapsed);
    void *context;
    check(L, p->init(0), "cuInit");
    check(L, p->retain(&context, 0), "cuDevicePrimaryCtxRetain"); /* for the life of the process */
    check(L, p->set_current(context), "cuCtxSetCurrent");
    p->cublas = open_library(given, "libcublas");
    if (!p->cublas) return luaL_error(L, "no cuBLAS: %s", given ? dlerror() : "libcublas.so.13 and .12 are not found");
    load(L, p->cublas, "cublasCreate_v2", &p->cublas_create);
    load(L, p->cublas, "cublasGetVersion_v2", &p->cublas_version);
    load(L, p->cublas, "cublasGemmEx", &p->gemm_ex);
    check(L, p->cublas_create(&p->handle), "cublasCreate");
    Dl_info info;
    void *f;
    memcpy(&f, &p->gemm_ex, sizeof f);
    snprintf(p->cublas_path, sizeof p->cublas_path, "%s", dladdr(f, &info) && info.dli_fname ? info.dli_fname : "?");
    return 1;
}

/* versions() -> driver, cublas, path of cublas */
static int peer_versions(lua_State *L) {
    peer *p = self(L);
    int driver = 0, cublas = 0;
    check(L, p->driver_version(&driver), "cuDriverGetVersion");
    check(L, p->cublas_version(p->handle, &cublas), "cublasGetVersion");
    lua_pushinteger(L, driver);
    lua_pushinteger(L, cublas);
    lua_pushstring(L, p->cublas_path);
    return 3;
}

/* gemm(dtype, M, N, K, A, lda, B, ldb, D, ldd): D[M, N] = A[M, K] * transpose(B[N, K]), all row-major, f32 accumulation, on the
 * default stream. cuBLAS is column-major: it computes the transpose, B * transpose(A). */
static int peer_gemm(lua_State *L) {
    peer *p = self(L);
    static const char *const names[] = { "bf16", "f16", NULL };
    static const int types[] = { 14, 2 }; /* CUDA_R_16BF, CUDA_R_16F */
    enum { OP_N = 0, OP_T = 1, COMPUTE_32F = 68, ALGO_DEFAULT = -1 };
    int type = types[luaL_checkoption(L, 2, NULL, names)];
    int m = (int)luaL_checkinteger(L, 3), n = (int)luaL_checkinteger(L, 4), k = (int)luaL_checkinteger(L, 5);
    const void *a = (const void *)(uintptr_t)luaL_checkinteger(L, 6), *b = (const void *)(uintptr_t)luaL_checkinteger(L, 8);
    int lda = (int)luaL_checkinteger(L, 7), ldb = (int)luaL_checkinteger(L, 9), ldd = (int)luaL_checkinteger(L, 11);
    void *d = (void *)(uintptr_t)luaL_checkinteger(L, 10);
    static const float one = 1, zero = 0;
    check(L,
          p->gemm_ex(p->handle, OP_T, OP_N, n, m, k, &one, b, type, ldb, a, type, lda, &zero, d, type, ldd, COMPUTE_32F,
                     ALGO_DEFAULT),
          "cublasGemmEx");
    return 0;
}

static int peer_event(lua_State *L) {
    void *e;
    check(L, self(L)->event_create(&e, 0), "cuEventCreate");
    lua_pushlightuserdata(L, e);
    return 1;
}

static int peer_record(lua_State *L) {
    check(L, self(L)->event_record(lua_touserdata(L, 2), NULL), "cuEventRecord");
    return 0;
}

/* elapsed(from, to) -> milliseconds; waits for `to` */
static int peer_elapsed(lua_State *L) {
    peer *p = self(L);
    float ms = 0;
    check(L, p->event_sync(lua_touserdata(L, 3)), "cuEventSynchronize");
    check(L, p->event_elapsed(&ms, lua_touserdata(L, 2), lua_touserdata(L, 3)), "cuEventElapsedTime");
    lua_pushnumber(L, (lua_Number)ms);
    return 1;
}

static int peer_sync(lua_State *L) {
    check(L, self(L)->sync(), "cuCtxSynchronize");
    return 0;
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* now() -> microseconds */
static int peer_now(lua_State *L) {
    lua_pushnumber(L, now_us());
    return 1;
}

/* ---- NVRTC -------------------------------------------------------------------------------------------------------------- */

int luaopen_weir_bench_peer(lua_State *L);
__attribute__((visibility("default"))) int luaopen_weir_bench_peer(lua_State *L) {
    static const luaL_Reg methods[] = {
        { "versions", peer_versions }, { "gemm", peer_gemm }, { "event", peer_event }, { "record", peer_record },
        { "elapsed", peer_elapsed },   { "sync", peer_sync }, { NULL, NULL }
    };
    static const luaL_Reg functions[] = { { "open", peer_open }, { "now", peer_now }, { NULL, NULL } };
    luaL_newmetatable(L, "weir.bench.peer");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
