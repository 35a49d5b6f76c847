// The simulator's preamble: the primitives of primitives.def for a host C++17 compiler. Read three ways:
//
//   WEIR_SIM_LIBRARY   the table of calls alone, C11: src/sim/ fills it in
//   WEIR_SIM_HOOKS     the second file of a host build, compiled without instrumentation: the calls go through the table here,
//                      and so do the answers to the compiler's thread-sanitizer hooks
//   neither            what emitted source sees: it is compiled with -fsanitize=thread, so that each load and store of a body
//                      reaches w_sim_access
//
// Every thread of the grid runs as a fiber; a call may switch to another one.
#ifndef WEIR_SIM_H
#define WEIR_SIM_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

typedef struct w_sim_dim { u32 x, y, z; } w_sim_dim;

// Numbers the library converts: one conversion, one rounding, on both sides of the table.
enum { W_SIM_F16 = 1, W_SIM_E4M3 = 2, W_SIM_E5M2 = 3 };
enum { W_SIM_WRITE = 1, W_SIM_ATOMIC = 2, W_SIM_ALIGNED = 4 };   // what an access is; else a plain load
// Types of w_sim_mma; below W_SIM_MMA_F16 those of wgmma, from W_SIM_MMA_I32 on plus 2 for an unsigned A, 1 for an unsigned B.
enum { W_SIM_MMA_F16 = 8, W_SIM_MMA_F64 = 9, W_SIM_MMA_I32 = 12 };
enum { W_SIM_CP_128x256b, W_SIM_CP_128x128b, W_SIM_CP_64x128b_02_13, W_SIM_CP_64x128b_01_23, W_SIM_CP_32x128b };
// Of these up to XOR move a value between lanes; MATCH compares x and `lane`, the upper half, of all; the others combine them.
enum { W_SIM_SHFL_IDX, W_SIM_SHFL_UP, W_SIM_SHFL_DOWN, W_SIM_SHFL_XOR, W_SIM_BALLOT, W_SIM_MATCH, W_SIM_ADD, W_SIM_MIN, W_SIM_MAX,
       W_SIM_UMIN, W_SIM_UMAX, W_SIM_AND, W_SIM_OR, W_SIM_BITS_XOR };
enum { W_SIM_SHARED = 1, W_SIM_LOCAL, W_SIM_GLOBAL };   // where an address lies
enum { W_SIM_OP_ADD, W_SIM_OP_SUB, W_SIM_OP_MUL, W_SIM_OP_DIV, W_SIM_OP_FMA, W_SIM_OP_SQRT, W_SIM_OP_RINT };
enum { W_SIM_COPY, W_SIM_ADD_F32, W_SIM_ADD_F64, W_SIM_ADD_F16, W_SIM_ADD_BF16, W_SIM_ADD_I32, W_SIM_ADD_U32, W_SIM_ADD_U64 };   // ORDER: copy.c
enum { W_SIM_RN, W_SIM_RZ, W_SIM_RD, W_SIM_RU };

// X(result, name, (parameters), (arguments)) and X0(result, name): a call into the library, which gets the table besides.
#define W_SIM_LIST(...) __VA_ARGS__
#define W_SIM_CALLS(X, X0)                                                                                                     \
    X(void, w_sim_at, (u32 id), (id))                                                                                          \
    X(u8 *, w_ptr, (u32 addr), (addr))                                                                                         \
    X(u32, w_addr, (const void *p), (p))                                                                                       \
    X0(u32, w_elect)                                                                                                           \
    X(void, w_mbar_init, (u32 bar, u32 count), (bar, count))                                                                   \
    X0(void, w_fence_mbar_init)                                                                                                \
    X(void, w_mbar_wait, (u32 bar, u32 parity), (bar, parity))                                                                 \
    X(u32, w_mbar_try, (u32 bar, u32 parity), (bar, parity))                                                                   \
    X(void, w_sim_mbar_arrive, (u32 bar, u32 cta), (bar, cta))                                                                 \
    X(void, w_mbar_arrive_n, (u32 bar, u32 count), (bar, count))                                                               \
    X(void, w_mbar_expect_tx, (u32 bar, u32 bytes), (bar, bytes))                                                              \
    X(void, w_mbar_inval, (u32 bar), (bar))                                                                                    \
    X(void, w_sim_mbar_expect, (u32 bar, u32 cta, u32 bytes), (bar, cta, bytes))                                               \
    X(void, w_queue_fetch, (u32 slot, u32 bar, u32 *counter, u32 first), (slot, bar, counter, first))                          \
    X(void, w_queue_fetch_cluster, (u32 slot, u32 bar, u32 *counter, u32 first, u32 ctas), (slot, bar, counter, first, ctas))  \
    X(void, w_mbar_cp_async_arrive, (u32 bar), (bar))                                                                          \
    X(void, w_sim_sync_warp, (u32 members), (members))                                                                         \
    X0(void, w_sync_cta)                                                                                                       \
    X(void, w_bar_sync, (u32 id, u32 threads), (id, threads))                                                                  \
    X(void, w_bar_arrive, (u32 id, u32 threads), (id, threads))                                                                \
    X(void, w_sim_cluster_arrive, (u32 release), (release))                                                                    \
    X0(void, w_cluster_wait)                                                                                                   \
    X0(void, w_grid_wait)                                                                                                      \
    X0(void, w_grid_launch)                                                                                                    \
    X(void, w_sim_regs, (u32 n, u32 inc), (n, inc))                                                                            \
    X0(void, w_fence_async)                                                                                                    \
    X0(void, w_sim_fence)                                                                                                      \
    X(void, w_tma_prefetch, (const w_tmap *map), (map))                                                                        \
    X(void, w_sim_tma_load, (u32 dst, const w_tmap *map, u32 bar, u32 cta, u32 mask, u32 rank, const i32 *c),                  \
      (dst, map, bar, cta, mask, rank, c))                                                                                     \
    X(void, w_sim_tma_store, (const w_tmap *map, u32 src, u32 reduce, u32 rank, const i32 *c), (map, src, reduce, rank, c))    \
    X0(void, w_bulk_commit)                                                                                                    \
    X(void, w_sim_bulk_wait, (u32 n, u32 read), (n, read))                                                                     \
    X(void, w_bulk_push, (u32 dst, u32 src, u32 bytes, u32 bar, u32 cta), (dst, src, bytes, bar, cta))                         \
    X(void, w_bulk_load, (u32 dst, const void *src, u32 bytes, u32 bar), (dst, src, bytes, bar))                               \
    X(void, w_sim_bulk_store, (void *dst, u32 src, u32 bytes, u32 add), (dst, src, bytes, add))                                \
    X(void, w_sim_cp_async, (u32 size, u32 dst, const void *src, u32 bytes), (size, dst, src, bytes))                          \
    X0(void, w_cp_commit)                                                                                                      \
    X(void, w_sim_cp_wait, (u32 n), (n))                                                                                       \
    X0(void, w_wgmma_fence)                                                                                                    \
    X0(void, w_wgmma_commit)                                                                                                   \
    X(void, w_sim_wgmma_wait, (u32 n), (n))                                                                                    \
    X(void, w_sim_wgmma, (u32 n, u32 type, u32 ta, u32 tb, float *d, const u32 *ra, u64 a, u64 b, u32 acc),                    \
      (n, type, ta, tb, d, ra, a, b, acc))                                                                                     \
    X(void, w_tmem_alloc, (u32 slot, u32 columns), (slot, columns))                                                            \
    X(void, w_tmem_free, (u32 tmem, u32 columns), (tmem, columns))                                                             \
    X(void, w_tmem_alloc_pair, (u32 slot, u32 columns), (slot, columns))                                                       \
    X(void, w_tmem_free_pair, (u32 tmem, u32 columns), (tmem, columns))                                                        \
    X(void, w_sim_umma, (u32 ctas, u32 kind, u32 tmem, u64 a, u64 b, u32 idesc, u32 acc),                                      \
      (ctas, kind, tmem, a, b, idesc, acc))                                                                                    \
    X(void, w_sim_umma_ts, (u32 ctas, u32 tmem, u32 a, u64 b, u32 idesc, u32 acc), (ctas, tmem, a, b, idesc, acc))             \
    X(void, w_sim_umma_mx, (u32 kind, u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc),                   \
      (kind, tmem, a, b, idesc, scale_a, scale_b, acc))                                                                        \
    X(void, w_sim_tmem_cp, (u32 shape, u32 tmem, u64 desc), (shape, tmem, desc))                                               \
    X(void, w_sim_umma_commit, (u32 ctas, u32 bar, u32 mask), (ctas, bar, mask))                                               \
    X(void, w_sim_tmem_ld, (u32 n, u32 *r, u32 tmem), (n, r, tmem))                                                            \
    X(void, w_sim_tmem_st, (u32 n, u32 tmem, const u32 *r), (n, tmem, r))                                                      \
    X0(void, w_tmem_wait_st)                                                                                                   \
    X0(void, w_sim_tmem_wait_ld)                                                                                               \
    X0(void, w_tcgen05_before)                                                                                                 \
    X0(void, w_tcgen05_after)                                                                                                  \
    X(void, w_sim_mma, (u32 type, u32 whole, void *d, const void *a, const void *b), (type, whole, d, a, b))                   \
    X(u32, w_movmatrix, (u32 x), (x))                                                                                          \
    X(void, w_sim_stmatrix, (u32 addr, u32 n, u32 trans, const u32 *r), (addr, n, trans, r))                                   \
    X(void, w_sim_ldmatrix, (u32 addr, u32 n, u32 trans, u32 *r), (addr, n, trans, r))                                         \
    X(u32, w_sim_shfl, (u32 x, u32 kind, u32 lane, u32 width, u32 members), (x, kind, lane, width, members))                   \
    X(u32, w_sim_sync_count, (u32 p), (p))                                                                                     \
    X0(u64, w_sim_clock)                                                                                                       \
    X(u32, w_sim_space, (const void *p), (p))                                                                                  \
    X(u32, w_sim_nan, (u32 bits), (bits))                                                                                      \
    X(u32, w_sim_from_float, (u32 kind, float x), (kind, x))                                                                   \
    X(float, w_sim_to_float, (u32 kind, u32 bits), (kind, bits))                                                               \
    X(void, w_sim_trap, (const char *what), (what))

typedef struct w_tmap w_tmap;

typedef struct w_sim_api {
    // of the thread that runs
    u64 stack, stack_size;       // accesses here concern nobody else; size 0 while accumulators of the thread are in flight
    u32 running;                 // 0: no thread runs, accesses are the library's own business
    u32 pc;                      // of the access, its low bits; calls of the library have none
    u32 atomic;                  // W_SIM_ATOMIC while an atomic of a body reads and writes
    w_sim_dim tid, bid, bdim, gdim;
    u32 cluster_rank, smem_base;
    // filled in by the host build
    void (*kernel)(void *const *params);
    const void *image, *image_end;
    // the library's
    void (*access)(struct w_sim_api *api, const void *p, u64 size, u32 kind);
    void (*misaligned)(struct w_sim_api *api, const void *p, u64 align, u32 kind);
#define X(R, NAME, PARAMS, ARGS) R (*NAME)(struct w_sim_api *api, W_SIM_LIST PARAMS);
#define X0(R, NAME) R (*NAME)(struct w_sim_api *api);
    W_SIM_CALLS(X, X0)
#undef X
#undef X0
} w_sim_api;

#ifndef WEIR_SIM_LIBRARY

// Elements that are loaded or stored together.
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) w_pack { T x[N]; };

// A tensor map: the library puts the address of its own description in the first word.
struct alignas(64) w_tmap { u64 q[16]; };

extern "C" {
#define X(R, NAME, PARAMS, ARGS) R NAME PARAMS;
#define X0(R, NAME) R NAME(void);
W_SIM_CALLS(X, X0)
#undef X
#undef X0
w_sim_dim w_sim_tid(void);
w_sim_dim w_sim_bid(void);
w_sim_dim w_sim_bdim(void);
w_sim_dim w_sim_gdim(void);
u32 w_cluster_rank(void);
u32 w_smem_base(void);
void w_sim_atomic(u32 kind);
double w_sim_rounded(u32 op, u32 mode, u32 wide, double a, double b, double c);
void w_sim_bind(w_sim_api *api, void (*kernel)(void *const *params));
}

#ifdef WEIR_SIM_HOOKS

#include <fenv.h>
#include <math.h>
#include <stdio.h>

static w_sim_api *w_api;

extern "C" {
extern const char __ehdr_start __attribute__((weak, visibility("hidden")));
extern const char _end __attribute__((weak, visibility("hidden")));

#define X(R, NAME, PARAMS, ARGS) R NAME PARAMS { return w_api->NAME(w_api, W_SIM_LIST ARGS); }
#define X0(R, NAME) R NAME(void) { return w_api->NAME(w_api); }
W_SIM_CALLS(X, X0)
#undef X
#undef X0
w_sim_dim w_sim_tid(void) { return w_api->tid; }
w_sim_dim w_sim_bid(void) { return w_api->bid; }
w_sim_dim w_sim_bdim(void) { return w_api->bdim; }
w_sim_dim w_sim_gdim(void) { return w_api->gdim; }
u32 w_cluster_rank(void) { return w_api->cluster_rank; }
u32 w_smem_base(void) { return w_api->smem_base; }
void w_sim_bind(w_sim_api *api, void (*kernel)(void *const *params)) {
    w_api = api;
    api->kernel = kernel;
    api->image = &__ehdr_start;
    api->image_end = &_end;
}

void w_sim_atomic(u32 kind) { w_api->atomic = kind; }

// One operation in a rounding mode, as a float or (wide) a double. volatile: nothing moves across the change of mode.
double w_sim_rounded(u32 op, u32 mode, u32 wide, double a, double b, double c) {
    static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
    const int before = fegetround();
    volatile double x = a, y = b, z = c;
    volatile float xf = (float)a, yf = (float)b, zf = (float)c;
    fesetround(modes[mode]);
    switch (op) {
    case W_SIM_OP_ADD: if (wide) x = x + y; else xf = xf + yf; break;
    case W_SIM_OP_SUB: if (wide) x = x - y; else xf = xf - yf; break;
    case W_SIM_OP_MUL: if (wide) x = x * y; else xf = xf * yf; break;
    case W_SIM_OP_DIV: if (wide) x = x / y; else xf = xf / yf; break;
    case W_SIM_OP_FMA: if (wide) x = fma(x, y, z); else xf = fmaf(xf, yf, zf); break;
    case W_SIM_OP_SQRT: if (wide) x = sqrt(x); else xf = sqrtf(xf); break;
    default: if (wide) xf = (float)x; else x = rint(x); break;   // wide: a double to float; else any to a whole number
    }
    fesetround(before);
    return op == W_SIM_OP_RINT ? (wide ? (double)xf : x) : wide ? x : (double)xf;
}

static inline __attribute__((always_inline)) void w_sim_access(const void *p, u64 size, u32 kind) {
    if ((u64)p - w_api->stack < w_api->stack_size || !w_api->running) return;
    w_api->pc = (u32)(u64)__builtin_return_address(0); // hooks are called, never inlined: this is the body's
    w_api->access(w_api, p, size, kind | w_api->atomic);
    w_api->pc = 0;
}

#define X(N)                                                                   \
    void __tsan_read##N(void *p) { w_sim_access(p, N, W_SIM_ALIGNED); }        \
    void __tsan_write##N(void *p) { w_sim_access(p, N, W_SIM_WRITE | W_SIM_ALIGNED); } \
    void __tsan_unaligned_read##N(void *p) { w_sim_access(p, N, 0); }          \
    void __tsan_unaligned_write##N(void *p) { w_sim_access(p, N, 1); }         \
    void __tsan_volatile_read##N(void *p) { w_sim_access(p, N, W_SIM_ATOMIC | W_SIM_ALIGNED); } \
    void __tsan_volatile_write##N(void *p) { w_sim_access(p, N, W_SIM_WRITE | W_SIM_ATOMIC | W_SIM_ALIGNED); } \
    void __tsan_unaligned_volatile_read##N(void *p) { w_sim_access(p, N, W_SIM_ATOMIC); } \
    void __tsan_unaligned_volatile_write##N(void *p) { w_sim_access(p, N, W_SIM_WRITE | W_SIM_ATOMIC); } \
    void __tsan_read##N##_pc(void *p, void *) { w_sim_access(p, N, 0); }       \
    void __tsan_write##N##_pc(void *p, void *) { w_sim_access(p, N, 1); }      \
    void __tsan_read_write##N(void *p) { w_sim_access(p, N, W_SIM_ALIGNED); w_sim_access(p, N, W_SIM_WRITE | W_SIM_ALIGNED); } \
    void __tsan_unaligned_read_write##N(void *p) { w_sim_access(p, N, 0); w_sim_access(p, N, 1); }
X(1) X(2) X(4) X(8) X(16)
#undef X
void __tsan_read_range(void *p, unsigned long n) { w_sim_access(p, n, 0); }
void __tsan_write_range(void *p, unsigned long n) { w_sim_access(p, n, 1); }
void __tsan_read_range_pc(void *p, unsigned long n, void *) { w_sim_access(p, n, 0); }
void __tsan_write_range_pc(void *p, unsigned long n, void *) { w_sim_access(p, n, 1); }
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
void __tsan_init(void) {}

// Block moves that the compiler writes as calls; a user's own memcpy comes the same way.
void *__tsan_memcpy(void *d, const void *s, unsigned long n) {
    w_sim_access(s, n, 0);
    w_sim_access(d, n, 1);
    return __builtin_memcpy(d, s, n);
}
void *__tsan_memmove(void *d, const void *s, unsigned long n) {
    w_sim_access(s, n, 0);
    w_sim_access(d, n, 1);
    return __builtin_memmove(d, s, n);
}
void *__tsan_memset(void *d, int x, unsigned long n) {
    w_sim_access(d, n, 1);
    return __builtin_memset(d, x, n);
}

// Fibers switch only inside calls and reads, so a plain exchange is atomic among them.
#define X(BITS, T)                                                                                                             \
    T __tsan_atomic##BITS##_load(const volatile T *p, int) { w_sim_access((const void *)p, sizeof *p, W_SIM_ATOMIC); return *p; }         \
    void __tsan_atomic##BITS##_store(volatile T *p, T x, int) { w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); *p = x; }         \
    T __tsan_atomic##BITS##_exchange(volatile T *p, T x, int) {                                                                \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = x; return y;                                               \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_fetch_add(volatile T *p, T x, int) {                                                               \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = (T)(y + x); return y;                                      \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_fetch_sub(volatile T *p, T x, int) {                                                               \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = (T)(y - x); return y;                                      \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_fetch_and(volatile T *p, T x, int) {                                                               \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = (T)(y & x); return y;                                      \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_fetch_or(volatile T *p, T x, int) {                                                                \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = (T)(y | x); return y;                                      \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_fetch_xor(volatile T *p, T x, int) {                                                               \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; *p = (T)(y ^ x); return y;                                      \
    }                                                                                                                          \
    T __tsan_atomic##BITS##_compare_exchange_val(volatile T *p, T c, T x, int, int) {                                          \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC); T y = *p; if (y == c) *p = x; return y;                                   \
    }                                                                                                                          \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile T *p, T *c, T x, int, int) {                                    \
        w_sim_access((const void *)p, sizeof *p, W_SIM_WRITE | W_SIM_ATOMIC);                                                                           \
        if (*p == *c) { *p = x; return 1; }                                                                                    \
        *c = *p; return 0;                                                                                                     \
    }
X(8, u8) X(16, u16) X(32, u32) X(64, u64)
#undef X
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

// A division that the host's processor would answer with a signal: by 0, or of the least number by -1. It is asked before.
typedef struct w_sim_where { const char *file; u32 line, column; } w_sim_where;
void __ubsan_handle_divrem_overflow(const w_sim_where *at, u64, u64) {
    char what[512];
    snprintf(what, sizeof what, "a whole number is divided by 0, or the least one by -1, at %s:%u", at->file ? at->file : "?", at->line);
    if (w_api->running) w_api->w_sim_trap(w_api, what);
    __builtin_trap(); // of what runs before the threads: never reached
}
// An access by a type that asks for more alignment than the address has: of a vector, say, which the compiler may have taken apart
// before the hooks above see it.
typedef struct w_sim_mismatch { w_sim_where at; const void *type; u8 log_align, kind; } w_sim_mismatch; // kind: 0 a load, 1 a store, ...
void __ubsan_handle_type_mismatch_v1(const w_sim_mismatch *m, const void *p) {
    if (!w_api->running) return;
    w_api->pc = (u32)(u64)__builtin_return_address(0);
    w_api->misaligned(w_api, p, 1ull << m->log_align, m->kind);
    w_api->pc = 0;
}
// Other sums wrap, as they do on a GPU.
void __ubsan_handle_add_overflow(void *, u64, u64) {}
void __ubsan_handle_sub_overflow(void *, u64, u64) {}
void __ubsan_handle_mul_overflow(void *, u64, u64) {}
void __ubsan_handle_negate_overflow(void *, u64) {}
}

#else // ---- what emitted source sees --------------------------------------------------------------------------------------

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float f32;
typedef double f64;

#define W_FN static inline __attribute__((always_inline))
#define W_AT(id) w_sim_at(id)
#define W_ENTER()
#define W_LEAVE()
#define W_MMA_TASK()

// CUDA's words
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __restrict__ __restrict

template <class T, class F> W_FN T w_sim_cast(F x) {
    static_assert(sizeof(T) == sizeof(F), "sizes differ");
    T y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}
W_FN u32 __float_as_uint(float x) { return w_sim_cast<u32>(x); }
W_FN i32 __float_as_int(float x) { return w_sim_cast<i32>(x); }
W_FN float __uint_as_float(u32 x) { return w_sim_cast<float>(x); }
W_FN float __int_as_float(i32 x) { return w_sim_cast<float>(x); }

// ---- numbers in memory: as in weir_cuda.h -------------------------------------------------------------------------------

W_FN u16 w_sim_bf16(float x) {
    u32 b = __float_as_uint(x);
    return (u16)((b & 0x7fffffffu) > 0x7f800000u ? w_sim_nan(b) : (b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}

#define W_SIM_ASSIGN(T)                                       \
    T &operator=(float x) { return *this = T(x); }            \
    T &operator+=(float x) { return *this = T(*this + x); }   \
    T &operator-=(float x) { return *this = T(*this - x); }   \
    T &operator*=(float x) { return *this = T(*this * x); }   \
    T &operator/=(float x) { return *this = T(*this / x); }

struct bf16 {
    u16 bits;
    bf16() = default;
    explicit bf16(float x) : bits(w_sim_bf16(x)) {}
    W_SIM_ASSIGN(bf16)
    operator float() const { return __uint_as_float((u32)bits << 16); }
};

#define W_SIM_NUMBER(T, BITS, KIND)                                                \
    struct T {                                                                     \
        BITS bits;                                                                 \
        T() = default;                                                             \
        explicit T(float x) : bits((BITS)w_sim_from_float(KIND, x)) {}             \
        W_SIM_ASSIGN(T)                                                            \
        operator float() const { return w_sim_to_float(KIND, bits); }              \
    };
W_SIM_NUMBER(f16, u16, W_SIM_F16)
W_SIM_NUMBER(e4m3, u8, W_SIM_E4M3)
W_SIM_NUMBER(e5m2, u8, W_SIM_E5M2)
#undef W_SIM_NUMBER

struct tf32 {
    u32 bits;
    tf32() = default;
    explicit tf32(float x) {
        u32 b = __float_as_uint(x);
        bits = (b & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : (b + 0xfffu + ((b >> 13) & 1u)) & ~0x1fffu;
    }
    W_SIM_ASSIGN(tf32)
    operator float() const { return __uint_as_float(bits); }
};
#undef W_SIM_ASSIGN

// ---- who am I -----------------------------------------------------------------------------------------------------------

W_FN u32 w_tid(void) { return w_sim_tid().x; }
W_FN u32 w_warp(void) { return w_tid() / 32; }
W_FN u32 w_lane(void) { return w_tid() % 32; }
W_FN u32 w_block(void) { return w_sim_bid().x; }
W_FN u32 w_blocks(void) { return w_sim_gdim().x; }

// ---- mbarriers, joining, proxies ----------------------------------------------------------------------------------------

// A CTA number no cluster has: the own one.
enum : u32 { W_SIM_OWN = 0xffffffffu };
W_FN void w_mbar_arrive(u32 bar) { w_sim_mbar_arrive(bar, W_SIM_OWN); }
W_FN void w_mbar_arrive_remote(u32 bar, u32 cta) { w_sim_mbar_arrive(bar, cta); }
W_FN void w_mbar_expect(u32 bar, u32 bytes) { w_sim_mbar_expect(bar, W_SIM_OWN, bytes); }
W_FN void w_mbar_expect_remote(u32 bar, u32 cta, u32 bytes) { w_sim_mbar_expect(bar, cta, bytes); }
W_FN void w_sync_warp(void) { w_sim_sync_warp(0xffffffffu); }
W_FN void w_cluster_arrive(void) { w_sim_cluster_arrive(1); }
W_FN void w_cluster_arrive_relaxed(void) { w_sim_cluster_arrive(0); }
template <int N> W_FN void w_reg_inc(void) { w_sim_regs(N, 1); }
template <int N> W_FN void w_reg_dec(void) { w_sim_regs(N, 0); }
W_FN void w_fence_async_global(void) {}   // not modelled: global memory has one proxy here

// ---- tensor maps and bulk copies ----------------------------------------------------------------------------------------

template <class... C> W_FN void w_sim_load(u32 dst, const w_tmap *map, u32 bar, u32 cta, u32 mask, C... c) {
    static_assert(sizeof...(C) >= 1 && sizeof...(C) <= 5, "a tensor map has 1 to 5 coordinates");
    const i32 at[] = { (i32)c... };
    w_sim_tma_load(dst, map, bar, cta, mask, sizeof...(C), at);
}
template <class... C> W_FN void w_sim_store(const w_tmap *map, u32 src, u32 reduce, C... c) {
    static_assert(sizeof...(C) >= 1 && sizeof...(C) <= 5, "a tensor map has 1 to 5 coordinates");
    const i32 at[] = { (i32)c... };
    w_sim_tma_store(map, src, reduce, sizeof...(C), at);
}
// mask 0: no multicast
template <class... C> W_FN void w_tma_load(u32 dst, const w_tmap *map, u32 bar, i32 c0, C... c) {
    w_sim_load(dst, map, bar, W_SIM_OWN, 0, c0, c...);
}
template <class... C> W_FN void w_tma_load_multicast(u32 dst, const w_tmap *map, u32 bar, u16 mask, i32 c0, C... c) {
    if (!mask) w_sim_trap("a multicast load with an empty mask");
    w_sim_load(dst, map, bar, W_SIM_OWN, mask, c0, c...);
}
template <class... C> W_FN void w_tma_load_hint(u32 dst, const w_tmap *map, u32 bar, u64, i32 c0, C... c) {
    w_sim_load(dst, map, bar, W_SIM_OWN, 0, c0, c...);
}
template <class... C> W_FN void w_tma_load_multicast_hint(u32 dst, const w_tmap *map, u32 bar, u16 mask, u64, i32 c0, C... c) {
    w_tma_load_multicast(dst, map, bar, mask, c0, c...);
}
template <class... C> W_FN void w_tma_load_pair(u32 dst, const w_tmap *map, u32 bar, u32 cta, i32 c0, C... c) {
    w_sim_load(dst, map, bar, cta, 0, c0, c...);
}
template <class... C> W_FN void w_tma_load_pair_multicast(u32 dst, const w_tmap *map, u32 bar, u32 cta, u16 mask, i32 c0, C... c) {
    if (!mask) w_sim_trap("a multicast load with an empty mask");
    w_sim_load(dst, map, bar, cta, mask, c0, c...);
}
template <class... C> W_FN void w_tma_load_pair_hint(u32 dst, const w_tmap *map, u32 bar, u32 cta, u64, i32 c0, C... c) {
    w_sim_load(dst, map, bar, cta, 0, c0, c...);
}
template <class... C>
W_FN void w_tma_load_pair_multicast_hint(u32 dst, const w_tmap *map, u32 bar, u32 cta, u16 mask, u64, i32 c0, C... c) {
    w_tma_load_pair_multicast(dst, map, bar, cta, mask, c0, c...);
}
template <class... C> W_FN void w_tma_store(const w_tmap *map, u32 src, i32 c0, C... c) { w_sim_store(map, src, 0, c0, c...); }
template <class... C> W_FN void w_tma_reduce_add(const w_tmap *map, u32 src, i32 c0, C... c) {
    w_sim_store(map, src, 1, c0, c...);
}
W_FN void w_bulk_store(void *dst, u32 src, u32 bytes) { w_sim_bulk_store(dst, src, bytes, W_SIM_COPY); }
#define W_SIM_REDUCE(T, KIND) W_FN void w_bulk_reduce_add(T *dst, u32 src, u32 bytes) { w_sim_bulk_store(dst, src, bytes, KIND); }
W_SIM_REDUCE(f32, W_SIM_ADD_F32) W_SIM_REDUCE(f64, W_SIM_ADD_F64) W_SIM_REDUCE(f16, W_SIM_ADD_F16) W_SIM_REDUCE(bf16, W_SIM_ADD_BF16)
W_SIM_REDUCE(i32, W_SIM_ADD_I32) W_SIM_REDUCE(u32, W_SIM_ADD_U32) W_SIM_REDUCE(u64, W_SIM_ADD_U64)
#undef W_SIM_REDUCE
template <int N> W_FN void w_bulk_wait(void) { w_sim_bulk_wait(N, 0); }
template <int N> W_FN void w_bulk_wait_read(void) { w_sim_bulk_wait(N, 1); }
W_FN u64 w_policy_evict_first(void) { return 0x12f0000000000000ull; }
W_FN u64 w_policy_evict_last(void) { return 0x14f0000000000000ull; }

template <int SIZE> W_FN void w_cp_async(u32 dst, const void *src, u32 bytes) {
    static_assert(SIZE == 4 || SIZE == 8 || SIZE == 16, "cp.async copies 4, 8 or 16 bytes");
    w_sim_cp_async(SIZE, dst, src, bytes);
}
template <int N> W_FN void w_cp_wait(void) { w_sim_cp_wait(N); }

// ---- wgmma --------------------------------------------------------------------------------------------------------------

enum { W_BF16 = 0, W_F16 = 1, W_TF32 = 2, W_E4M3 = 3, W_E5M2 = 4, W_E4M3_E5M2 = 5, W_E5M2_E4M3 = 6 };

W_FN u64 w_desc(u32 addr, u32 lbo, u32 sbo, u32 layout) {
    return (u64)((addr & 0x3ffffu) >> 4) | (u64)(lbo >> 4) << 16 | (u64)(sbo >> 4) << 32 | (u64)layout << 62;
}
template <int N> W_FN void w_wgmma_wait(void) { w_sim_wgmma_wait(N); }
template <int N, int TYPE, int TA, int TB> W_FN void w_wgmma_ss(float *d, u64 a, u64 b, u32 acc) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma: N is 8, 16, ... 256");
    static_assert(TYPE <= W_F16 || (TA == 0 && TB == 0), "wgmma: only 16-bit operands may be MN-major");
    w_sim_wgmma(N, TYPE, TA, TB, d, nullptr, a, b, acc);
}
template <int N, int TYPE, int TB> W_FN void w_wgmma_rs(float *d, const u32 *a, u64 b, u32 acc) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "wgmma: N is 8, 16, ... 256");
    static_assert(TYPE <= W_F16 || TB == 0, "wgmma: only 16-bit operands may be MN-major");
    w_sim_wgmma(N, TYPE, 0, TB, d, a, 0, b, acc);
}

// ---- tensor memory and tcgen05 ------------------------------------------------------------------------------------------

W_FN u64 w_umma_desc(u32 addr, u32 lbo, u32 sbo, u32 layout) {
    return (u64)((addr & 0x3ffffu) >> 4) | (u64)(lbo >> 4) << 16 | (u64)(sbo >> 4) << 32 | 1ull << 46 | (u64)layout << 61;
}
W_FN void w_umma_f16(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(1, 0, tmem, a, b, idesc, acc); }   // ORDER: weiri_tc_kind
W_FN void w_umma_tf32(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(1, 1, tmem, a, b, idesc, acc); }
W_FN void w_umma_f8(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(1, 2, tmem, a, b, idesc, acc); }
W_FN void w_umma_tf32_ts(u32 tmem, u32 a, u64 b, u32 idesc, u32 acc) { w_sim_umma_ts(1, tmem, a, b, idesc, acc); }
W_FN void w_umma_f16_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(2, 0, tmem, a, b, idesc, acc); }
W_FN void w_umma_tf32_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(2, 1, tmem, a, b, idesc, acc); }
W_FN void w_umma_f8_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { w_sim_umma(2, 2, tmem, a, b, idesc, acc); }
W_FN void w_umma_tf32_ts_pair(u32 tmem, u32 a, u64 b, u32 idesc, u32 acc) { w_sim_umma_ts(2, tmem, a, b, idesc, acc); }
enum { W_MX_E4M3 = 0, W_MX_E5M2 = 1, W_MX_E2M1 = 1 };
W_FN u32 w_umma_mx_idesc(u32 n, u32 type_a, u32 type_b, u32 ue8m0, u32 id_a, u32 id_b) {
    return id_b << 4 | type_a << 7 | type_b << 10 | n >> 3 << 17 | ue8m0 << 23 | 8u << 24 | id_a << 29;
}
W_FN void w_umma_mxf8(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { w_sim_umma_mx(3, tmem, a, b, idesc, scale_a, scale_b, acc); }
W_FN void w_umma_mxf4(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { w_sim_umma_mx(4, tmem, a, b, idesc, scale_a, scale_b, acc); }
W_FN void w_umma_nvf4(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { w_sim_umma_mx(5, tmem, a, b, idesc, scale_a, scale_b, acc); }
W_FN void w_tmem_cp_128x256b(u32 tmem, u64 desc) { w_sim_tmem_cp(W_SIM_CP_128x256b, tmem, desc); }
W_FN void w_tmem_cp_4x256b(u32, u64) { w_sim_trap("tcgen05.cp.4x256b: the simulator does not know which lanes it fills"); }
W_FN void w_tmem_cp_128x128b(u32 tmem, u64 desc) { w_sim_tmem_cp(W_SIM_CP_128x128b, tmem, desc); }
W_FN void w_tmem_cp_64x128b_02_13(u32 tmem, u64 desc) { w_sim_tmem_cp(W_SIM_CP_64x128b_02_13, tmem, desc); }
W_FN void w_tmem_cp_64x128b_01_23(u32 tmem, u64 desc) { w_sim_tmem_cp(W_SIM_CP_64x128b_01_23, tmem, desc); }
W_FN void w_tmem_cp_32x128b(u32 tmem, u64 desc) { w_sim_tmem_cp(W_SIM_CP_32x128b, tmem, desc); }
W_FN void w_umma_commit(u32 bar) { w_sim_umma_commit(1, bar, 0); }   // mask 0: the own CTA
W_FN void w_umma_commit_multicast(u32 bar, u16 mask) {
    if (!mask) w_sim_trap("a multicast commit with an empty mask");
    w_sim_umma_commit(1, bar, mask);
}
W_FN void w_umma_commit_pair(u32 bar, u16 mask) {
    if (!mask) w_sim_trap("a multicast commit with an empty mask");
    w_sim_umma_commit(2, bar, mask);
}
W_FN void w_tmem_ld_x8(u32 *r, u32 tmem) { w_sim_tmem_ld(8, r, tmem); }
W_FN void w_tmem_ld_x16(u32 *r, u32 tmem) { w_sim_tmem_ld(16, r, tmem); }
W_FN void w_tmem_ld_x32(u32 *r, u32 tmem) { w_sim_tmem_ld(32, r, tmem); }
W_FN void w_tmem_st_x8(u32 tmem, const u32 *r) { w_sim_tmem_st(8, tmem, r); }
W_FN void w_tmem_st_x16(u32 tmem, const u32 *r) { w_sim_tmem_st(16, tmem, r); }
W_FN void w_tmem_st_x32(u32 tmem, const u32 *r) { w_sim_tmem_st(32, tmem, r); }
template <int N> W_FN void w_tmem_wait_ld(u32 *) {
    static_assert(N % 8 == 0, "loads bring 8, 16 or 32 registers");
    w_sim_tmem_wait_ld();
}

// ---- mma.sync -----------------------------------------------------------------------------------------------------------

enum { W_S8 = 0, W_U8 = 1 };

// The registers pass through copies, so that the compiler's hooks see where they come from.
template <int D, int A, int B, class T, class U> W_FN void w_sim_mma_of(u32 type, u32 whole, T *d, const U *a, const U *b) {
    T x[D];
    U y[A], z[B];
    for (int i = 0; i < D; i++) x[i] = d[i];
    for (int i = 0; i < A; i++) y[i] = a[i];
    for (int i = 0; i < B; i++) z[i] = b[i];
    w_sim_mma(type, whole, x, y, z);
    for (int i = 0; i < D; i++) d[i] = x[i];
}
template <int K, int TYPE> W_FN void w_mma(float *d, const u32 *a, const u32 *b) {
    constexpr int whole = TYPE == W_TF32 ? 8 : TYPE == W_BF16 || TYPE == W_F16 ? 16 : 32;
    static_assert(TYPE >= W_BF16 && TYPE <= W_E5M2_E4M3, "mma: the types are W_BF16 to W_E5M2_E4M3");
    static_assert(K == whole || (whole < 32 && 2 * K == whole), "mma: K is 16 or 8 of 16-bit types, 8 or 4 of tf32, 32 of 8-bit floats");
    if constexpr (K == whole) w_sim_mma_of<4, 4, 2>(TYPE, 1, d, a, b);
    else w_sim_mma_of<4, 2, 1>(TYPE, 0, d, a, b);
}
template <int K> W_FN void w_mma_f16(u32 *d, const u32 *a, const u32 *b) {
    static_assert(K == 16 || K == 8, "mma in f16: K is 16 or 8");
    if constexpr (K == 16) w_sim_mma_of<2, 4, 2>(W_SIM_MMA_F16, 1, d, a, b);
    else w_sim_mma_of<2, 2, 1>(W_SIM_MMA_F16, 0, d, a, b);
}
template <int K, int TA, int TB> W_FN void w_mma_i32(i32 *d, const u32 *a, const u32 *b) {
    static_assert((K == 32 || K == 16) && TA >> 1 == 0 && TB >> 1 == 0, "mma in i32: K is 32 or 16, the types W_S8 or W_U8");
    if constexpr (K == 32) w_sim_mma_of<4, 4, 2>(W_SIM_MMA_I32 + 2 * TA + TB, 1, d, a, b);
    else w_sim_mma_of<4, 2, 1>(W_SIM_MMA_I32 + 2 * TA + TB, 0, d, a, b);
}
W_FN void w_mma_f64(double *d, double a, double b) { w_sim_mma_of<2, 1, 1>(W_SIM_MMA_F64, 1, d, &a, &b); }

// ---- warp matrix moves --------------------------------------------------------------------------------------------------

W_FN void w_stmatrix4(u32 addr, u32 r0, u32 r1, u32 r2, u32 r3) {
    const u32 r[4] = { r0, r1, r2, r3 };
    w_sim_stmatrix(addr, 4, 0, r);
}
W_FN void w_stmatrix4t(u32 addr, u32 r0, u32 r1, u32 r2, u32 r3) {
    const u32 r[4] = { r0, r1, r2, r3 };
    w_sim_stmatrix(addr, 4, 1, r);
}
W_FN void w_stmatrix2(u32 addr, u32 r0, u32 r1) {
    const u32 r[2] = { r0, r1 };
    w_sim_stmatrix(addr, 2, 0, r);
}
W_FN void w_stmatrix1(u32 addr, u32 r0) { w_sim_stmatrix(addr, 1, 0, &r0); }
W_FN void w_stmatrix1t(u32 addr, u32 r0) { w_sim_stmatrix(addr, 1, 1, &r0); }
W_FN void w_stmatrix2t(u32 addr, u32 r0, u32 r1) {
    const u32 r[2] = { r0, r1 };
    w_sim_stmatrix(addr, 2, 1, r);
}
W_FN void w_ldmatrix1(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 1, 0, r); }
W_FN void w_ldmatrix1t(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 1, 1, r); }
W_FN void w_ldmatrix2(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 2, 0, r); }
W_FN void w_ldmatrix2t(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 2, 1, r); }
W_FN void w_ldmatrix4(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 4, 0, r); }
W_FN void w_ldmatrix4t(u32 addr, u32 *r) { w_sim_ldmatrix(addr, 4, 1, r); }

// ---- numbers ------------------------------------------------------------------------------------------------------------

W_FN u32 w_pack_bf16(float lo, float hi) { return (u32)w_sim_bf16(lo) | (u32)w_sim_bf16(hi) << 16; }
W_FN u32 w_pack_f16(float lo, float hi) { return w_sim_from_float(W_SIM_F16, lo) | w_sim_from_float(W_SIM_F16, hi) << 16; }
W_FN float w_unpack_bf16(u32 x, u32 high) { return __uint_as_float(high ? x & 0xffff0000u : x << 16); }
W_FN float w_unpack_f16(u32 x, u32 high) { f16 h; h.bits = (u16)(high ? x >> 16 : x); return (float)h; }
// These are .ftz on a GPU: a subnormal is a zero of its sign, as an argument and as a result. (Of 2^x no argument matters, of the others
// that have none no result.) w_tanh is not.
W_FN float w_sim_flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0.f, x) : x; }
W_FN float w_exp2(float x) { return w_sim_flush(exp2f(x)); }
W_FN float w_log2(float x) { return log2f(w_sim_flush(x)); }
W_FN float w_rcp(float x) { return w_sim_flush(1.f / w_sim_flush(x)); }
W_FN float w_rsqrt(float x) { return 1.f / sqrtf(w_sim_flush(x)); }
W_FN float w_tanh(float x) { return tanhf(x); }
// Divisions may stand where their result is not needed, and their divisor be 0: a GPU gives some number, a CPU would stop.
// -2^31 / -1 wraps as it does on the GPU; the host's division would raise a signal, as for 0.
W_FN i32 w_div(i32 a, i32 b) { return b == -1 ? (i32)(0u - (u32)a) : b ? a / b : 0; }
W_FN i32 w_mod(i32 a, i32 b) { return b == -1 || !b ? 0 : a % b; }
W_FN i32 w_ceil_div(i32 a, i32 b) { return (i32)(w_div(a, b) + (w_mod(a, b) != 0 && (a < 0) == (b < 0))); }
W_FN i32 w_floor_div(i32 a, i32 b) { i32 q = w_div(a, b); return q - ((w_mod(a, b) != 0) && ((a < 0) != (b < 0))); }
W_FN i32 w_neg(i32 x) { return (i32)(0 - (u32)x); }
// x / d for x >= 0, d > 0, by the reciprocal of d: r * d is within d of 2^32, so the product is less than 1/2 off, and one at most
W_FN u32 w_reciprocal(i32 d) { return 0xffffffffu / (u32)(d > 0 ? d : 1); }
W_FN i32 w_quotient(i32 x, i32 d, u32 r) { u32 q = (u32)((u64)(u32)x * r >> 32); return (i32)(q + ((u32)x - q * (u32)d >= (u32)d)); }
W_FN u32 w_div_u32(u32 a, u32 b) { return b ? a / b : 0; }
W_FN u32 w_mod_u32(u32 a, u32 b) { return b ? a % b : 0; }
W_FN u64 w_div_u64(u64 a, u64 b) { return b ? a / b : 0; }
W_FN u64 w_mod_u64(u64 a, u64 b) { return b ? a % b : 0; }
W_FN i64 w_div_i64(i64 a, i64 b) { return b == -1 ? (i64)(0 - (u64)a) : b ? a / b : 0; }
W_FN i64 w_mod_i64(i64 a, i64 b) { return b == -1 || b == 0 ? 0 : a % b; }
// The integer of a float: toward zero, the nearest one that there is, 0 of what is no number. A float is a double.
W_FN i64 w_sim_whole(double x, double low, double end, i64 least, i64 most) { return x != x ? 0 : x < low ? least : x >= end ? most : (i64)x; }
#define W_SIM_TO(F) \
    W_FN i32 w_to_i32(F x) { return (i32)w_sim_whole(x, -0x1p31, 0x1p31, INT_MIN, INT_MAX); } \
    W_FN u32 w_to_u32(F x) { return (u32)w_sim_whole(x, 0, 0x1p32, 0, UINT_MAX); } \
    W_FN i64 w_to_i64(F x) { return w_sim_whole(x, -0x1p63, 0x1p63, LLONG_MIN, LLONG_MAX); } \
    W_FN u64 w_to_u64(F x) { return x >= 0x1p64 ? ULLONG_MAX : x >= 0x1p63 ? (u64)x : (u64)w_sim_whole(x, 0, 0x1p63, 0, 0); }
W_SIM_TO(float)
W_SIM_TO(double)
#undef W_SIM_TO
#include "weir_numbers.h"
W_FN float w_shfl_xor(float x, u32 mask) {
    return __uint_as_float(w_sim_shfl(__float_as_uint(x), W_SIM_SHFL_XOR, mask, 32, 0xffffffffu));
}

#endif
#endif
#endif
