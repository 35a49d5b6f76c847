// The CUDA preamble of every weir kernel: the primitives of primitives.def for NVRTC, each one PTX instruction or a fixed few.
// Sections named in comments are those of the PTX ISA. Shared addresses are 32-bit, in the CTA's shared window.
//
// Inline-asm rules kept here: side effects are volatile with a "memory" clobber; predicates and labels live inside { } of one
// asm, so that the text may be repeated; pure arithmetic is neither volatile nor a clobber.
#ifndef WEIR_CUDA_H
#define WEIR_CUDA_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

typedef u8 uint8_t;
typedef u16 uint16_t;
typedef u32 uint32_t;
typedef i8 int8_t;
typedef i16 int16_t;
typedef i32 int32_t;
typedef unsigned long uint64_t, uintptr_t;
typedef long int64_t, intptr_t;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define FLT_MAX 3.402823466e38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ull

#define W_FN static __device__ __forceinline__
#define W_ASM(...) asm volatile(__VA_ARGS__ : "memory")

// An action of the plan begins: an event in the simulator, nothing here.
#define W_AT(id)
#define W_ENTER()
#define W_LEAVE()
#define W_MMA_TASK()

// ---- numbers in memory ------------------------------------------------------------------------------------------------------
// Storage types. Reading gives a float; assigning rounds to nearest even (fp8 saturates). Constructors from float are explicit:
// otherwise `c ? x : 0.f` would have two readings.

#define W_ASSIGN(T) \
    __device__ __forceinline__ T &operator=(float x) { return *this = T(x); } \
    __device__ __forceinline__ T &operator+=(float x) { return *this = T(*this + x); } \
    __device__ __forceinline__ T &operator-=(float x) { return *this = T(*this - x); } \
    __device__ __forceinline__ T &operator*=(float x) { return *this = T(*this * x); } \
    __device__ __forceinline__ T &operator/=(float x) { return *this = T(*this / x); }

struct bf16 {
    u16 bits;
    bf16() = default;
    __device__ __forceinline__ explicit bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    W_ASSIGN(bf16)
    __device__ __forceinline__ operator float() const { return __uint_as_float((u32)bits << 16); }
};

struct f16 {
    u16 bits;
    f16() = default;
    __device__ __forceinline__ explicit f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    W_ASSIGN(f16)
    __device__ __forceinline__ operator float() const { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits)); return x; }
};

// cvt to fp8 exists for pairs only; the first source goes to the high half.
#define W_FP8(T, NAME) \
    struct T { \
        u8 bits; \
        T() = default; \
        __device__ __forceinline__ explicit T(float x) { \
            u16 h; asm("cvt.rn.satfinite." NAME "x2.f32 %0, %1, %2;" : "=h"(h) : "f"(0.f), "f"(x)); bits = (u8)h; \
        } \
        W_ASSIGN(T) \
        __device__ __forceinline__ operator float() const { \
            u32 h; float x; \
            asm("cvt.rn.f16x2." NAME "x2 %0, %1;" : "=r"(h) : "h"((u16)bits)); \
            asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((u16)h)); \
            return x; \
        } \
    };
W_FP8(e4m3, "e4m3")
W_FP8(e5m2, "e5m2")
#undef W_FP8

// tf32 lies in memory as a float whose low 13 mantissa bits the tensor core ignores.
struct tf32 {
    u32 bits;
    tf32() = default;
    __device__ __forceinline__ explicit tf32(float x) {
        u32 b = __float_as_uint(x); // to nearest even: the hardware's cvt.rna rounds ties away
        bits = (b & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : (b + 0xfffu + ((b >> 13) & 1u)) & ~0x1fffu;
    }
    W_ASSIGN(tf32)
    __device__ __forceinline__ operator float() const { return __uint_as_float(bits); }
};
#undef W_ASSIGN

// Elements that are loaded or stored together.
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) w_pack { T x[N]; };

// A tensor map (CUtensorMap): a __grid_constant__ parameter, read through the tensormap proxy.
struct alignas(64) w_tmap { u64 q[16]; };

// ---- who am I ---------------------------------------------------------------------------------------------------------------

extern __shared__ __align__(1024) u8 w_smem_raw[];

W_FN u32 w_tid(void) { return threadIdx.x; }
W_FN u32 w_warp(void) { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); } // uniform to the compiler
W_FN u32 w_lane(void) { return threadIdx.x % 32; }
W_FN u32 w_block(void) { return blockIdx.x; }
W_FN u32 w_blocks(void) { return gridDim.x; }
W_FN u32 w_cluster_rank(void) { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
W_FN u32 w_smem_base(void) { return (u32)__cvta_generic_to_shared(w_smem_raw); }
W_FN u8 *w_ptr(u32 addr) { return (u8 *)__cvta_shared_to_generic(addr); }
W_FN u32 w_addr(const void *p) { return (u32)__cvta_generic_to_shared(p); }
W_FN u32 w_elect(void) { // "elect.sync": the warp must be converged; always the same lane
    u32 r;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(r) :: "memory");
    return r;
}

// ---- mbarriers ("Parallel Synchronization and Communication Instructions: mbarrier") ----------------------------------------
// Arrives and waits keep the default semantics, .release.cta and .acquire.cta, on remote barriers too: spelling out the cluster
// scope puts a fence into the main loop (20 % of a GEMM on an H200).

W_FN void w_mbar_init(u32 bar, u32 count) { W_ASM("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count)); }
#if __CUDA_ARCH__ < 900 // no clusters to publish to; test_wait does not suspend (its parity form: the token form crashes ptxas 13.0)
W_FN void w_fence_mbar_init(void) { __threadfence_block(); }
W_FN void w_mbar_wait(u32 bar, u32 parity) {
    W_ASM("{ .reg .pred p;\nW_AGAIN:\n"
          "mbarrier.test_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra W_DONE;\nbra W_AGAIN;\nW_DONE:\n}"
          :: "r"(bar), "r"(parity));
}
#else
W_FN void w_fence_mbar_init(void) { W_ASM("fence.mbarrier_init.release.cluster;" ::); }
W_FN void w_mbar_wait(u32 bar, u32 parity) { // on a fresh barrier parity 1 is complete at once: a producer's first wait
    W_ASM("{ .reg .pred p;\nW_AGAIN:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra W_DONE;\nbra W_AGAIN;\nW_DONE:\n}"
          :: "r"(bar), "r"(parity));
}
#endif
W_FN u32 w_mbar_try(u32 bar, u32 parity) {
    u32 r;
    W_ASM("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(r) : "r"(bar), "r"(parity));
    return r;
}
W_FN void w_mbar_arrive(u32 bar) { W_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar)); }
W_FN void w_mbar_arrive_n(u32 bar, u32 count) { W_ASM("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(count)); }
W_FN void w_mbar_expect_tx(u32 bar, u32 bytes) { W_ASM("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(bytes)); }
W_FN void w_mbar_inval(u32 bar) { W_ASM("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(bar)); }
W_FN void w_mbar_arrive_remote(u32 bar, u32 cta) {
    W_ASM("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [r]; }"
          :: "r"(bar), "r"(cta));
}
W_FN void w_mbar_expect(u32 bar, u32 bytes) {
    W_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes));
}
W_FN void w_mbar_expect_remote(u32 bar, u32 cta, u32 bytes) {
    W_ASM("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.expect_tx.shared::cluster.b64 _, [r], %2; }"
          :: "r"(bar), "r"(cta), "r"(bytes));
}
// One thread draws the next tile of a dynamic queue, leaves it in the slot and completes 16 bytes on the slot's barrier, as the
// tile scheduler of later devices does by itself. Tiles below `first` are the CTAs' own to begin with.
W_FN void w_queue_fetch(u32 slot, u32 bar, u32 *counter, u32 first) {
#if __CUDA_ARCH__ >= 900
    u32 next = first + atomicAdd(counter, 1u);
    W_ASM("st.shared::cta.v4.u32 [%0], {%1, %1, %1, %1}; fence.acq_rel.cta; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%2], 16;"
          :: "r"(slot), "r"(next), "r"(bar));
#endif
}
// The same for a cluster: one thread of it leaves the tile in every CTA's slot and completes 16 bytes on every CTA's barrier
// ("st.async": the bytes are there for whoever sees them complete).
W_FN void w_queue_fetch_cluster(u32 slot, u32 bar, u32 *counter, u32 first, u32 ctas) {
#if __CUDA_ARCH__ >= 900
    u32 next = first + atomicAdd(counter, 1u);
    for (u32 i = 0; i < ctas; i++)
        W_ASM("{ .reg .b32 s, b; mapa.shared::cluster.u32 s, %0, %3; mapa.shared::cluster.u32 b, %2, %3;\n"
              "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [s], {%1, %1, %1, %1}, [b]; }"
              :: "r"(slot), "r"(next), "r"(bar), "r"(i));
#endif
}
W_FN void w_mbar_cp_async_arrive(u32 bar) { W_ASM("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(bar)); }

// ---- joining threads --------------------------------------------------------------------------------------------------------

W_FN void w_sync_warp(void) { __syncwarp(); }
W_FN void w_sync_cta(void) { __syncthreads(); }
W_FN void w_bar_sync(u32 id, u32 threads) { W_ASM("bar.sync %0, %1;" :: "r"(id), "r"(threads)); }
W_FN void w_bar_arrive(u32 id, u32 threads) { W_ASM("bar.arrive %0, %1;" :: "r"(id), "r"(threads)); }
W_FN void w_cluster_arrive(void) { W_ASM("barrier.cluster.arrive.release.aligned;" ::); }
W_FN void w_cluster_arrive_relaxed(void) { W_ASM("barrier.cluster.arrive.relaxed.aligned;" ::); }
W_FN void w_cluster_wait(void) { W_ASM("barrier.cluster.wait.acquire.aligned;" ::); }
W_FN void w_grid_wait(void) { W_ASM("griddepcontrol.wait;" ::); }
W_FN void w_grid_launch(void) { W_ASM("griddepcontrol.launch_dependents;" ::); }
// "setmaxnreg": needs __launch_bounds__(T, 1), else ptxas drops it (C7508); inc blocks until the pool has enough.
template <int N> W_FN void w_reg_inc(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }
template <int N> W_FN void w_reg_dec(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }

// ---- proxies ("Memory Consistency Model: Proxies") --------------------------------------------------------------------------

// By every thread that wrote, before the barrier that tells the issuing thread.
W_FN void w_fence_async(void) { W_ASM("fence.proxy.async.shared::cta;" ::); }
W_FN void w_fence_async_global(void) { W_ASM("fence.proxy.async.global;" ::); }

// ---- tensor maps and bulk copies ("cp.async.bulk.tensor") -------------------------------------------------------------------

W_FN void w_tma_prefetch(const w_tmap *map) { W_ASM("prefetch.tensormap [%0];" :: "l"(map)); }

// One overload a rank D: COORD the parameters, ATn the coordinate list when it starts at operand n, then its operands.
#define W_TMA(D, COORD, AT2, AT3, AT4, AT5, ...) \
    W_FN void w_tma_load(u32 dst, const w_tmap *map, u32 bar, COORD) { \
        W_ASM("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" AT3 "}], [%2];" \
              :: "r"(dst), "l"(map), "r"(bar), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_multicast(u32 dst, const w_tmap *map, u32 bar, u16 mask, COORD) { \
        W_ASM("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" \
              " [%0], [%1, {" AT4 "}], [%2], %3;" :: "r"(dst), "l"(map), "r"(bar), "h"(mask), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_hint(u32 dst, const w_tmap *map, u32 bar, u64 policy, COORD) { \
        W_ASM("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint" \
              " [%0], [%1, {" AT4 "}], [%2], %3;" :: "r"(dst), "l"(map), "r"(bar), "l"(policy), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_multicast_hint(u32 dst, const w_tmap *map, u32 bar, u16 mask, u64 policy, COORD) { \
        W_ASM("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" \
              ".L2::cache_hint [%0], [%1, {" AT5 "}], [%2], %3, %4;" \
              :: "r"(dst), "l"(map), "r"(bar), "h"(mask), "l"(policy), __VA_ARGS__); \
    } \
    W_FN void w_tma_store(const w_tmap *map, u32 src, COORD) { \
        W_ASM("cp.async.bulk.tensor." D ".global.shared::cta.bulk_group [%0, {" AT2 "}], [%1];" \
              :: "l"(map), "r"(src), __VA_ARGS__); \
    } \
    W_FN void w_tma_reduce_add(const w_tmap *map, u32 src, COORD) { \
        W_ASM("cp.reduce.async.bulk.tensor." D ".global.shared::cta.add.tile.bulk_group [%0, {" AT2 "}], [%1];" \
              :: "l"(map), "r"(src), __VA_ARGS__); \
    }
#define W_C1 i32 c0
#define W_C2 W_C1, i32 c1
#define W_C3 W_C2, i32 c2
#define W_C4 W_C3, i32 c3
#define W_C5 W_C4, i32 c4
W_TMA("1d", W_C1, "%2", "%3", "%4", "%5", "r"(c0))
W_TMA("2d", W_C2, "%2,%3", "%3,%4", "%4,%5", "%5,%6", "r"(c0), "r"(c1))
W_TMA("3d", W_C3, "%2,%3,%4", "%3,%4,%5", "%4,%5,%6", "%5,%6,%7", "r"(c0), "r"(c1), "r"(c2))
W_TMA("4d", W_C4, "%2,%3,%4,%5", "%3,%4,%5,%6", "%4,%5,%6,%7", "%5,%6,%7,%8", "r"(c0), "r"(c1), "r"(c2), "r"(c3))
W_TMA("5d", W_C5, "%2,%3,%4,%5,%6", "%3,%4,%5,%6,%7", "%4,%5,%6,%7,%8", "%5,%6,%7,%8,%9",
      "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4))
// Pairs of CTAs: the barrier may be the other CTA's, so its address is mapped. The multicast forms signal, for each target, the CTA of
// its pair that has the same place in it as that one. Only compiled where they exist.
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
#define W_PAIR(D, FORM, OPERANDS) \
    "{ .reg .b32 b; mapa.shared::cluster.u32 b, %2, %3;\n" \
    "cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes" FORM " [%0], [%1, {" OPERANDS "; }"
#define W_TMA_PAIR(D, COORD, AT4, AT5, AT6, ...) \
    W_FN void w_tma_load_pair(u32 dst, const w_tmap *map, u32 bar, u32 cta, COORD) { \
        W_ASM(W_PAIR(D, ".cta_group::2", AT4 "}], [b]") :: "r"(dst), "l"(map), "r"(bar), "r"(cta), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_pair_multicast(u32 dst, const w_tmap *map, u32 bar, u32 cta, u16 mask, COORD) { \
        W_ASM(W_PAIR(D, ".multicast::cluster.cta_group::2", AT5 "}], [b], %4") \
              :: "r"(dst), "l"(map), "r"(bar), "r"(cta), "h"(mask), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_pair_hint(u32 dst, const w_tmap *map, u32 bar, u32 cta, u64 policy, COORD) { \
        W_ASM(W_PAIR(D, ".cta_group::2.L2::cache_hint", AT5 "}], [b], %4") \
              :: "r"(dst), "l"(map), "r"(bar), "r"(cta), "l"(policy), __VA_ARGS__); \
    } \
    W_FN void w_tma_load_pair_multicast_hint(u32 dst, const w_tmap *map, u32 bar, u32 cta, u16 mask, u64 policy, COORD) { \
        W_ASM(W_PAIR(D, ".multicast::cluster.cta_group::2.L2::cache_hint", AT6 "}], [b], %4, %5") \
              :: "r"(dst), "l"(map), "r"(bar), "r"(cta), "h"(mask), "l"(policy), __VA_ARGS__); \
    }
W_TMA_PAIR("1d", W_C1, "%4", "%5", "%6", "r"(c0))
W_TMA_PAIR("2d", W_C2, "%4,%5", "%5,%6", "%6,%7", "r"(c0), "r"(c1))
W_TMA_PAIR("3d", W_C3, "%4,%5,%6", "%5,%6,%7", "%6,%7,%8", "r"(c0), "r"(c1), "r"(c2))
W_TMA_PAIR("4d", W_C4, "%4,%5,%6,%7", "%5,%6,%7,%8", "%6,%7,%8,%9", "r"(c0), "r"(c1), "r"(c2), "r"(c3))
W_TMA_PAIR("5d", W_C5, "%4,%5,%6,%7,%8", "%5,%6,%7,%8,%9", "%6,%7,%8,%9,%10", "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4))
#undef W_TMA_PAIR
#undef W_PAIR
#endif
#undef W_C1
#undef W_C2
#undef W_C3
#undef W_C4
#undef W_C5
#undef W_TMA

W_FN void w_bulk_commit(void) { W_ASM("cp.async.bulk.commit_group;" ::); }
template <int N> W_FN void w_bulk_wait(void) { W_ASM("cp.async.bulk.wait_group %0;" :: "n"(N)); }
template <int N> W_FN void w_bulk_wait_read(void) { W_ASM("cp.async.bulk.wait_group.read %0;" :: "n"(N)); }
W_FN void w_bulk_push(u32 dst, u32 src, u32 bytes, u32 bar, u32 cta) { // must name another CTA of the cluster
    W_ASM("{ .reg .b32 d, b; mapa.shared::cluster.u32 d, %0, %4; mapa.shared::cluster.u32 b, %3, %4;\n"
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [%1], %2, [b]; }"
          :: "r"(dst), "r"(src), "r"(bytes), "r"(bar), "r"(cta));
}
W_FN void w_bulk_load(u32 dst, const void *src, u32 bytes, u32 bar) {
    W_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
          :: "r"(dst), "l"(__cvta_generic_to_global(src)), "r"(bytes), "r"(bar));
}
W_FN void w_bulk_store(void *dst, u32 src, u32 bytes) {
    W_ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(__cvta_generic_to_global(dst)), "r"(src), "r"(bytes));
}
#define W_REDUCE(T, NAME) \
    W_FN void w_bulk_reduce_add(T *dst, u32 src, u32 bytes) { \
        W_ASM("cp.reduce.async.bulk.global.shared::cta.bulk_group.add." NAME " [%0], [%1], %2;" :: "l"(__cvta_generic_to_global(dst)), "r"(src), "r"(bytes)); \
    }
W_REDUCE(f32, "f32") W_REDUCE(f64, "f64") W_REDUCE(f16, "noftz.f16") W_REDUCE(bf16, "noftz.bf16") W_REDUCE(i32, "s32") W_REDUCE(u32, "u32") W_REDUCE(u64, "u64")
#undef W_REDUCE
W_FN u64 w_policy_evict_first(void) { u64 p; asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p)); return p; }
W_FN u64 w_policy_evict_last(void) { u64 p; asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p)); return p; }

// ---- cp.async ---------------------------------------------------------------------------------------------------------------

template <int SIZE> W_FN void w_cp_async(u32 dst, const void *src, u32 bytes) { // 4, 8: through L1; 16: L2 only
    static_assert(SIZE == 4 || SIZE == 8 || SIZE == 16, "cp.async copies 4, 8 or 16 bytes");
    u64 g = (u64)__cvta_generic_to_global(src);
    if constexpr (SIZE == 16) W_ASM("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(g), "r"(bytes));
    else W_ASM("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(dst), "l"(g), "n"(SIZE), "r"(bytes));
}
W_FN void w_cp_commit(void) { W_ASM("cp.async.commit_group;" ::); }
template <int N> W_FN void w_cp_wait(void) { W_ASM("cp.async.wait_group %0;" :: "n"(N)); }

// ---- wgmma ("Asynchronous Warpgroup Level Matrix Instructions"; sm_90a) -----------------------------------------------------
// The instances that a source names follow this file; all four warps of a warpgroup run them converged, with equal descriptors.

enum { W_BF16 = 0, W_F16 = 1, W_TF32 = 2, W_E4M3 = 3, W_E5M2 = 4, W_E4M3_E5M2 = 5, W_E5M2_E4M3 = 6 };

// "Matrix Descriptor Format": start address, leading and stride byte offsets in units of 16 bytes. The mask counts: in a cluster the
// address of a CTA's own shared memory has its rank in bits 24 and up, which would fall into the leading offset.
W_FN u64 w_desc(u32 addr, u32 lbo, u32 sbo, u32 layout) {
    return (u64)((addr & 0x3ffffu) >> 4) | (u64)(lbo >> 4) << 16 | (u64)(sbo >> 4) << 32 | (u64)layout << 62;
}
W_FN void w_wgmma_fence(void) { W_ASM("wgmma.fence.sync.aligned;" ::); }
W_FN void w_wgmma_commit(void) { W_ASM("wgmma.commit_group.sync.aligned;" ::); }
template <int N> W_FN void w_wgmma_wait(void) { W_ASM("wgmma.wait_group.sync.aligned %0;" :: "n"(N)); }
template <int N, int TYPE, int TA, int TB> __device__ __forceinline__ void w_wgmma_ss(float *d, u64 a, u64 b, u32 acc);
template <int N, int TYPE, int TB> __device__ __forceinline__ void w_wgmma_rs(float *d, const u32 *a, u64 b, u32 acc);

// ---- tensor memory and tcgen05 ("TensorCore 5th Generation Family Instructions"; sm_100a) -------------------------------------
// Only compiled where it exists. Model not checked on hardware: docs/blackwell.md.

W_FN u64 w_umma_desc(u32 addr, u32 lbo, u32 sbo, u32 layout) { // bit 46 is set in every descriptor; the layout code has three bits
    return (u64)((addr & 0x3ffffu) >> 4) | (u64)(lbo >> 4) << 16 | (u64)(sbo >> 4) << 32 | 1ull << 46 | (u64)layout << 61;
}
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
W_FN void w_tmem_alloc(u32 slot, u32 columns) { // nobody allocates later: another CTA of the SM need not wait for this one's end
    W_ASM("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
          "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" :: "r"(slot), "r"(columns));
}
W_FN void w_tmem_free(u32 tmem, u32 columns) {
    W_ASM("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(tmem), "r"(columns));
}
#define W_UMMA(CTAS, KIND, A, ATYPE) \
    W_ASM("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::" CTAS ".kind::" KIND " [%0], " A ", %2, %3, p; }" \
          :: "r"(tmem), ATYPE(a), "l"(b), "r"(idesc), "r"(acc))
W_FN void w_umma_f16(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("1", "f16", "%1", "l"); }
W_FN void w_umma_tf32(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("1", "tf32", "%1", "l"); }
W_FN void w_umma_f8(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("1", "f8f6f4", "%1", "l"); }
W_FN void w_umma_tf32_ts(u32 tmem, u32 a, u64 b, u32 idesc, u32 acc) { W_UMMA("1", "tf32", "[%1]", "r"); }
// Of a pair of CTAs; ptxas refuses a kernel that has both kinds.
W_FN void w_tmem_alloc_pair(u32 slot, u32 columns) {
    W_ASM("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
          "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" :: "r"(slot), "r"(columns));
}
W_FN void w_tmem_free_pair(u32 tmem, u32 columns) {
    W_ASM("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" :: "r"(tmem), "r"(columns));
}
W_FN void w_umma_f16_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("2", "f16", "%1", "l"); }
W_FN void w_umma_tf32_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("2", "tf32", "%1", "l"); }
W_FN void w_umma_f8_pair(u32 tmem, u64 a, u64 b, u32 idesc, u32 acc) { W_UMMA("2", "f8f6f4", "%1", "l"); }
W_FN void w_umma_tf32_ts_pair(u32 tmem, u32 a, u64 b, u32 idesc, u32 acc) { W_UMMA("2", "tf32", "[%1]", "r"); }
#undef W_UMMA
W_FN void w_umma_commit_pair(u32 bar, u16 mask) {
    W_ASM("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
          :: "r"(bar), "h"(mask));
}
W_FN void w_umma_commit(u32 bar) { // an own shared::cta address is valid as shared::cluster; implies fence::before_thread_sync
    W_ASM("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(bar));
}
W_FN void w_umma_commit_multicast(u32 bar, u16 mask) {
    W_ASM("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
          :: "r"(bar), "h"(mask));
}
enum { W_MX_E4M3 = 0, W_MX_E5M2 = 1, W_MX_E2M1 = 1 }; // the last of the 4-bit kinds
W_FN u32 w_umma_mx_idesc(u32 n, u32 type_a, u32 type_b, u32 ue8m0, u32 id_a, u32 id_b) { // M is 128
    return id_b << 4 | type_a << 7 | type_b << 10 | n >> 3 << 17 | ue8m0 << 23 | 8u << 24 | id_a << 29;
}
#define W_UMMA(KIND) \
    W_ASM("{ .reg .pred p; setp.ne.b32 p, %6, 0; tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, [%4], [%5], p; }" \
          :: "r"(tmem), "l"(a), "l"(b), "r"(idesc), "r"(scale_a), "r"(scale_b), "r"(acc))
W_FN void w_umma_mxf8(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { W_UMMA("mxf8f6f4.block_scale.scale_vec::1X"); }
W_FN void w_umma_mxf4(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { W_UMMA("mxf4.block_scale.scale_vec::2X"); }
W_FN void w_umma_nvf4(u32 tmem, u64 a, u64 b, u32 idesc, u32 scale_a, u32 scale_b, u32 acc) { W_UMMA("mxf4nvf4.block_scale.scale_vec::4X"); }
#undef W_UMMA
#define W_CP(SHAPE) W_ASM("tcgen05.cp.cta_group::1." SHAPE " [%0], %1;" :: "r"(tmem), "l"(desc))
W_FN void w_tmem_cp_128x256b(u32 tmem, u64 desc) { W_CP("128x256b"); }
W_FN void w_tmem_cp_4x256b(u32 tmem, u64 desc) { W_CP("4x256b"); }
W_FN void w_tmem_cp_128x128b(u32 tmem, u64 desc) { W_CP("128x128b"); }
W_FN void w_tmem_cp_64x128b_02_13(u32 tmem, u64 desc) { W_CP("64x128b.warpx2::02_13"); }
W_FN void w_tmem_cp_64x128b_01_23(u32 tmem, u64 desc) { W_CP("64x128b.warpx2::01_23"); }
W_FN void w_tmem_cp_32x128b(u32 tmem, u64 desc) { W_CP("32x128b.warpx4"); }
#undef W_CP
#define W_R4(i) "=r"(r[i]), "=r"(r[i + 1]), "=r"(r[i + 2]), "=r"(r[i + 3])
#define W_R8(i) W_R4(i), W_R4(i + 4)
W_FN void w_tmem_ld_x8(u32 *r, u32 tmem) {
    W_ASM("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : W_R8(0) : "r"(tmem));
}
W_FN void w_tmem_ld_x16(u32 *r, u32 tmem) {
    W_ASM("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
          : W_R8(0), W_R8(8) : "r"(tmem));
}
W_FN void w_tmem_ld_x32(u32 *r, u32 tmem) {
    W_ASM("tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
          "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, [%32];"
          : W_R8(0), W_R8(8), W_R8(16), W_R8(24) : "r"(tmem));
}
#undef W_R8
#undef W_R4
#define W_I8(i) "r"(r[i]), "r"(r[i + 1]), "r"(r[i + 2]), "r"(r[i + 3]), "r"(r[i + 4]), "r"(r[i + 5]), "r"(r[i + 6]), "r"(r[i + 7])
W_FN void w_tmem_st_x8(u32 tmem, const u32 *r) {
    W_ASM("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" :: "r"(tmem), W_I8(0));
}
W_FN void w_tmem_st_x16(u32 tmem, const u32 *r) {
    W_ASM("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16};" :: "r"(tmem), W_I8(0), W_I8(8));
}
W_FN void w_tmem_st_x32(u32 tmem, const u32 *r) {
    W_ASM("tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"
          "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32};" :: "r"(tmem), W_I8(0), W_I8(8), W_I8(16), W_I8(24));
}
#undef W_I8
W_FN void w_tmem_wait_st(void) { W_ASM("tcgen05.wait::st.sync.aligned;" ::); }
// The registers pass through the wait, so that nothing computed from them moves above it.
template <int N> W_FN void w_tmem_wait_ld(u32 *r) {
    static_assert(N % 8 == 0, "loads bring 8, 16 or 32 registers");
    W_ASM("tcgen05.wait::ld.sync.aligned;" ::);
#pragma unroll
    for (int i = 0; i < N; i += 8)
        W_ASM("" : "+r"(r[i]), "+r"(r[i + 1]), "+r"(r[i + 2]), "+r"(r[i + 3]),
                   "+r"(r[i + 4]), "+r"(r[i + 5]), "+r"(r[i + 6]), "+r"(r[i + 7]) :);
}
W_FN void w_tcgen05_before(void) { W_ASM("tcgen05.fence::before_thread_sync;" ::); }
W_FN void w_tcgen05_after(void) { W_ASM("tcgen05.fence::after_thread_sync;" ::); }
#endif

// ---- mma.sync ("Warp Level Matrix Instructions: mma.sync"; sm_80, 8-bit floats sm_89) -------------------------------------------

enum { W_S8 = 0, W_U8 = 1 };

#define W_MMA_FULL(KIND, D) /* K of 32 bytes */ \
    W_ASM("mma.sync.aligned." KIND " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
          : D(d[0]), D(d[1]), D(d[2]), D(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define W_MMA_HALF(KIND, D) /* of 16 */ \
    W_ASM("mma.sync.aligned." KIND " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
          : D(d[0]), D(d[1]), D(d[2]), D(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
template <int K, int TYPE> W_FN void w_mma(float *d, const u32 *a, const u32 *b) {
    constexpr int whole = TYPE == W_TF32 ? 8 : TYPE == W_BF16 || TYPE == W_F16 ? 16 : 32;
    static_assert(TYPE >= W_BF16 && TYPE <= W_E5M2_E4M3, "mma: the types are W_BF16 to W_E5M2_E4M3");
    static_assert(K == whole || (whole < 32 && 2 * K == whole), "mma: K is 16 or 8 of 16-bit types, 8 or 4 of tf32, 32 of 8-bit floats");
#if __CUDA_ARCH__ < 890
    static_assert(whole < 32, "mma of 8-bit floats needs sm_89");
#endif
    if constexpr (TYPE == W_BF16 && K == 16) W_MMA_FULL("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
    else if constexpr (TYPE == W_BF16) W_MMA_HALF("m16n8k8.row.col.f32.bf16.bf16.f32", "+f");
    else if constexpr (TYPE == W_F16 && K == 16) W_MMA_FULL("m16n8k16.row.col.f32.f16.f16.f32", "+f");
    else if constexpr (TYPE == W_F16) W_MMA_HALF("m16n8k8.row.col.f32.f16.f16.f32", "+f");
    else if constexpr (TYPE == W_TF32 && K == 8) W_MMA_FULL("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
    else if constexpr (TYPE == W_TF32) W_MMA_HALF("m16n8k4.row.col.f32.tf32.tf32.f32", "+f");
    else if constexpr (TYPE == W_E4M3) W_MMA_FULL("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
    else if constexpr (TYPE == W_E5M2) W_MMA_FULL("m16n8k32.row.col.f32.e5m2.e5m2.f32", "+f");
    else if constexpr (TYPE == W_E4M3_E5M2) W_MMA_FULL("m16n8k32.row.col.f32.e4m3.e5m2.f32", "+f");
    else W_MMA_FULL("m16n8k32.row.col.f32.e5m2.e4m3.f32", "+f");
}
template <int K> W_FN void w_mma_f16(u32 *d, const u32 *a, const u32 *b) {
    static_assert(K == 16 || K == 8, "mma in f16: K is 16 or 8");
    if constexpr (K == 16)
        W_ASM("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
              : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        W_ASM("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
              : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
template <int K, int TA, int TB> W_FN void w_mma_i32(i32 *d, const u32 *a, const u32 *b) {
    static_assert((K == 32 || K == 16) && TA >> 1 == 0 && TB >> 1 == 0, "mma in i32: K is 32 or 16, the types W_S8 or W_U8");
    if constexpr (K == 32 && TA == W_S8 && TB == W_S8) W_MMA_FULL("m16n8k32.row.col.s32.s8.s8.s32", "+r");
    else if constexpr (K == 32 && TA == W_S8) W_MMA_FULL("m16n8k32.row.col.s32.s8.u8.s32", "+r");
    else if constexpr (K == 32 && TB == W_S8) W_MMA_FULL("m16n8k32.row.col.s32.u8.s8.s32", "+r");
    else if constexpr (K == 32) W_MMA_FULL("m16n8k32.row.col.s32.u8.u8.s32", "+r");
    else if constexpr (TA == W_S8 && TB == W_S8) W_MMA_HALF("m16n8k16.row.col.s32.s8.s8.s32", "+r");
    else if constexpr (TA == W_S8) W_MMA_HALF("m16n8k16.row.col.s32.s8.u8.s32", "+r");
    else if constexpr (TB == W_S8) W_MMA_HALF("m16n8k16.row.col.s32.u8.s8.s32", "+r");
    else W_MMA_HALF("m16n8k16.row.col.s32.u8.u8.s32", "+r");
}
#undef W_MMA_FULL
#undef W_MMA_HALF
W_FN void w_mma_f64(double *d, double a, double b) {
    W_ASM("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}

// ---- warp matrix moves ("Warp-level Matrix Load/Store") ---------------------------------------------------------------------

W_FN u32 w_movmatrix(u32 x) {
    u32 y;
    W_ASM("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}
W_FN void w_stmatrix1(u32 addr, u32 r0) { W_ASM("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(addr), "r"(r0)); }
W_FN void w_stmatrix1t(u32 addr, u32 r0) {
    W_ASM("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(addr), "r"(r0));
}
W_FN void w_stmatrix2t(u32 addr, u32 r0, u32 r1) {
    W_ASM("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" :: "r"(addr), "r"(r0), "r"(r1));
}
W_FN void w_ldmatrix1(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(addr));
}
W_FN void w_ldmatrix1t(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(addr));
}
W_FN void w_ldmatrix2(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(addr));
}
W_FN void w_ldmatrix2t(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(addr));
}
W_FN void w_stmatrix4(u32 addr, u32 r0, u32 r1, u32 r2, u32 r3) {
    W_ASM("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(addr), "r"(r0), "r"(r1), "r"(r2), "r"(r3));
}
W_FN void w_stmatrix4t(u32 addr, u32 r0, u32 r1, u32 r2, u32 r3) {
    W_ASM("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
          :: "r"(addr), "r"(r0), "r"(r1), "r"(r2), "r"(r3));
}
W_FN void w_stmatrix2(u32 addr, u32 r0, u32 r1) {
    W_ASM("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" :: "r"(addr), "r"(r0), "r"(r1));
}
W_FN void w_ldmatrix4(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
}
W_FN void w_ldmatrix4t(u32 addr, u32 *r) {
    W_ASM("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
}

// ---- numbers ----------------------------------------------------------------------------------------------------------------

// The first source of a packed cvt goes to the high half.
W_FN u32 w_pack_bf16(float lo, float hi) { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
W_FN u32 w_pack_f16(float lo, float hi) { u32 r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo)); return r; }
W_FN float w_unpack_bf16(u32 x, u32 high) { return __uint_as_float(high ? x & 0xffff0000u : x << 16); }
W_FN float w_unpack_f16(u32 x, u32 high) { f16 h; h.bits = (u16)(high ? x >> 16 : x); return (float)h; }
W_FN float w_exp2(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
W_FN float w_log2(float x) { float r; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
W_FN float w_rcp(float x) { float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
W_FN float w_rsqrt(float x) { float r; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
W_FN float w_tanh(float x) { float r; asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
W_FN float w_shfl_xor(float x, u32 mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
W_FN i32 w_div(i32 a, i32 b) { return a / b; } // of a value computed ahead: b may be 0 where it is not needed
W_FN i32 w_mod(i32 a, i32 b) { return a % b; }
W_FN i32 w_ceil_div(i32 a, i32 b) { return (i32)(a / b + (a % b != 0 && (a < 0) == (b < 0))); } // a + b - 1 could overflow
W_FN i32 w_floor_div(i32 a, i32 b) { i32 q = a / b; return q - ((a % b != 0) && ((a < 0) != (b < 0))); }
// -x. Spelt so that ptxas does not see a negation: that of 13.0 for sm_90a loses it in max(max(x, -y), z), in min and in max(|x|, -|x|), where
// it makes one instruction of the two (VIMNMX3). On an H200 neg, sub.cc from 0 and mul by -1 are all lost in some of 27 such forms,
// not and add in none.
W_FN i32 w_neg(i32 x) { i32 r; asm("{ .reg .s32 t; not.b32 t, %1; add.s32 %0, t, 1; }" : "=r"(r) : "r"(x)); return r; }
// x / d for x >= 0, d > 0, by the reciprocal of d: r * d is within d of 2^32, so the product is less than 1/2 off, and one at most
W_FN u32 w_reciprocal(i32 d) { return 0xffffffffu / (u32)(d > 0 ? d : 1); }
W_FN i32 w_quotient(i32 x, i32 d, u32 r) { u32 q = (u32)((u64)(u32)x * r >> 32); return (i32)(q + ((u32)x - q * (u32)d >= (u32)d)); }
W_FN u32 w_div_u32(u32 a, u32 b) { return a / b; }
W_FN u32 w_mod_u32(u32 a, u32 b) { return a % b; }
W_FN u64 w_div_u64(u64 a, u64 b) { return a / b; }
W_FN u64 w_mod_u64(u64 a, u64 b) { return a % b; }
W_FN i64 w_div_i64(i64 a, i64 b) { return a / b; }
W_FN i64 w_mod_i64(i64 a, i64 b) { return a % b; }
// The integer of a float: toward zero, the nearest one that there is, 0 of what is no number. (cvt clamps by itself; of a double, and to
// 64 bits, NaN gives it the top bit.)
W_FN i32 w_to_i32(float x) { i32 r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }
W_FN u32 w_to_u32(float x) { u32 r; asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }
W_FN i64 w_to_i64(float x) { i64 r; asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(r) : "f"(x)); return x == x ? r : 0; }
W_FN u64 w_to_u64(float x) { u64 r; asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(r) : "f"(x)); return x == x ? r : 0; }
W_FN i32 w_to_i32(double x) { i32 r; asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(r) : "d"(x)); return x == x ? r : 0; }
W_FN u32 w_to_u32(double x) { u32 r; asm("cvt.rzi.u32.f64 %0, %1;" : "=r"(r) : "d"(x)); return x == x ? r : 0; }
W_FN i64 w_to_i64(double x) { i64 r; asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(r) : "d"(x)); return x == x ? r : 0; }
W_FN u64 w_to_u64(double x) { u64 r; asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(r) : "d"(x)); return x == x ? r : 0; }
#include "weir_numbers.h"

#endif
