// Behind weir_sim.h: what CUDA declares before the first line of a kernel, for bodies that run in the simulator. NVRTC has all of it by
// itself, so what is here is as there: names, overloads, results. Sections follow the CUDA C++ Programming Guide and the CUDA Math API.
// Approximations (__expf, __sinf, ...) are the host's exact functions.
#ifndef WEIR_SIM_CUDA_H
#define WEIR_SIM_CUDA_H

// ---- built-in vector types, built-in variables ------------------------------------------------------------------------------

#define W_SIM_VECTOR(T, E)                                                                                      \
    struct T##1 { E x; };                                                                                       \
    struct alignas(2 * sizeof(E)) T##2 { E x, y; };                                                             \
    struct T##3 { E x, y, z; };                                                                                 \
    struct alignas(sizeof(E) >= 8 ? 16 : 4 * sizeof(E)) T##4 { E x, y, z, w; };                                 \
    W_FN T##1 make_##T##1(E x) { return { x }; }                                                                \
    W_FN T##2 make_##T##2(E x, E y) { return { x, y }; }                                                        \
    W_FN T##3 make_##T##3(E x, E y, E z) { return { x, y, z }; }                                                \
    W_FN T##4 make_##T##4(E x, E y, E z, E w) { return { x, y, z, w }; }
W_SIM_VECTOR(char, signed char)
W_SIM_VECTOR(uchar, unsigned char)
W_SIM_VECTOR(short, short)
W_SIM_VECTOR(ushort, unsigned short)
W_SIM_VECTOR(int, int)
W_SIM_VECTOR(uint, unsigned int)
W_SIM_VECTOR(long, long)
W_SIM_VECTOR(ulong, unsigned long)
W_SIM_VECTOR(longlong, long long)
W_SIM_VECTOR(ulonglong, unsigned long long)
W_SIM_VECTOR(float, float)
W_SIM_VECTOR(double, double)
#undef W_SIM_VECTOR

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(uint3 a) : x(a.x), y(a.y), z(a.z) {}
    constexpr operator uint3() const { return { x, y, z }; }
};
W_FN uint3 w_sim_uint3(w_sim_dim a) { return { a.x, a.y, a.z }; }
#define threadIdx (w_sim_uint3(w_sim_tid()))
#define blockIdx (w_sim_uint3(w_sim_bid()))
#define blockDim (dim3(w_sim_uint3(w_sim_bdim())))
#define gridDim (dim3(w_sim_uint3(w_sim_gdim())))
constexpr int w_sim_warp_size = 32;
#define warpSize (w_sim_warp_size)

// ---- synchronisation, votes, shuffles ---------------------------------------------------------------------------------------

W_FN void __syncthreads(void) { w_sync_cta(); }
W_FN int __syncthreads_count(int p) { return (int)w_sim_sync_count(p != 0); }
W_FN int __syncthreads_or(int p) { return w_sim_sync_count(p != 0) != 0; }
W_FN int __syncthreads_and(int p) { return w_sim_sync_count(p == 0) == 0; }
W_FN void __syncwarp(u32 members = 0xffffffffu) { w_sim_sync_warp(members); }
W_FN void __threadfence(void) { w_sim_fence(); }
W_FN void __threadfence_block(void) { w_sim_fence(); }
W_FN void __threadfence_system(void) { w_sim_fence(); }
W_FN void __threadfence_cluster(void) { w_sim_fence(); }
W_FN void __cluster_barrier_arrive(void) { w_cluster_arrive(); }
W_FN void __cluster_barrier_arrive_relaxed(void) { w_cluster_arrive_relaxed(); }
W_FN void __cluster_barrier_wait(void) { w_cluster_wait(); }
W_FN unsigned __clusterRelativeBlockRank(void) { return w_cluster_rank(); }

#define W_SIM_SHUFFLE(NAME, KIND, LANE, T)                                                                      \
    W_FN T NAME(u32 members, T x, LANE lane, int width = 32) {                                                  \
        u32 w[sizeof(T) / 4];                                                                                   \
        __builtin_memcpy(w, &x, sizeof x);                                                                      \
        for (u32 &y : w) y = w_sim_shfl(y, KIND, (u32)lane, (u32)width, members);                               \
        __builtin_memcpy(&x, w, sizeof x);                                                                      \
        return x;                                                                                               \
    }
#define W_SIM_SHUFFLES(T)                                                                                       \
    W_SIM_SHUFFLE(__shfl_sync, W_SIM_SHFL_IDX, int, T)                                                          \
    W_SIM_SHUFFLE(__shfl_up_sync, W_SIM_SHFL_UP, unsigned, T)                                                   \
    W_SIM_SHUFFLE(__shfl_down_sync, W_SIM_SHFL_DOWN, unsigned, T)                                               \
    W_SIM_SHUFFLE(__shfl_xor_sync, W_SIM_SHFL_XOR, int, T)
W_SIM_SHUFFLES(int) W_SIM_SHUFFLES(unsigned) W_SIM_SHUFFLES(long) W_SIM_SHUFFLES(unsigned long)
W_SIM_SHUFFLES(long long) W_SIM_SHUFFLES(unsigned long long) W_SIM_SHUFFLES(float) W_SIM_SHUFFLES(double)
#undef W_SIM_SHUFFLES
#undef W_SIM_SHUFFLE

W_FN unsigned __ballot_sync(u32 members, int p) { return w_sim_shfl(p != 0, W_SIM_BALLOT, 0, 32, members); }
W_FN int __any_sync(u32 members, int p) { return __ballot_sync(members, p) != 0; }
W_FN int __all_sync(u32 members, int p) { return __ballot_sync(members, !p) == 0; }
W_FN int __uni_sync(u32 members, int p) { u32 b = __ballot_sync(members, p); return b == 0 || b == members; }
// The lanes that happen to run together: CUDA promises the caller's own and no other, and no other is what a program gets here.
W_FN unsigned __activemask(void) { return 1u << w_lane(); }
template <class T> W_FN u32 w_sim_match(u32 members, T x) {
    u64 b = 0;
    __builtin_memcpy(&b, &x, sizeof x);
    return w_sim_shfl((u32)b, W_SIM_MATCH, (u32)(b >> 32), 32, members);
}
#define W_SIM_MATCHES(T)                                                                                        \
    W_FN unsigned __match_any_sync(u32 members, T x) { return w_sim_match(members, x); }                        \
    W_FN unsigned __match_all_sync(u32 members, T x, int *p) { u32 same = w_sim_match(members, x); *p = same == members; return *p ? members : 0; }
W_SIM_MATCHES(int) W_SIM_MATCHES(unsigned) W_SIM_MATCHES(long) W_SIM_MATCHES(unsigned long)
W_SIM_MATCHES(long long) W_SIM_MATCHES(unsigned long long) W_SIM_MATCHES(float) W_SIM_MATCHES(double)
#undef W_SIM_MATCHES
W_FN unsigned __reduce_add_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_ADD, 0, 32, members); }
W_FN unsigned __reduce_min_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_UMIN, 0, 32, members); }
W_FN unsigned __reduce_max_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_UMAX, 0, 32, members); }
W_FN int __reduce_add_sync(u32 members, int x) { return (int)w_sim_shfl((u32)x, W_SIM_ADD, 0, 32, members); }
W_FN int __reduce_min_sync(u32 members, int x) { return (int)w_sim_shfl((u32)x, W_SIM_MIN, 0, 32, members); }
W_FN int __reduce_max_sync(u32 members, int x) { return (int)w_sim_shfl((u32)x, W_SIM_MAX, 0, 32, members); }
W_FN unsigned __reduce_and_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_AND, 0, 32, members); }
W_FN unsigned __reduce_or_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_OR, 0, 32, members); }
W_FN unsigned __reduce_xor_sync(u32 members, unsigned x) { return w_sim_shfl(x, W_SIM_BITS_XOR, 0, 32, members); }

// ---- atomics ----------------------------------------------------------------------------------------------------------------

// Fibers do not switch between the load and the store of these.
#define W_SIM_RMW1(T, NAME, NEW)                                                                                \
    W_FN T NAME(T *p, T x) {                                                                                    \
        w_sim_atomic(W_SIM_ATOMIC);                                                                             \
        T y = *p;                                                                                               \
        *p = (T)(NEW);                                                                                          \
        w_sim_atomic(0);                                                                                        \
        return y;                                                                                               \
    }
#define W_SIM_RMW(T, NAME, NEW) W_SIM_RMW1(T, NAME, NEW) W_SIM_RMW1(T, NAME##_block, NEW) W_SIM_RMW1(T, NAME##_system, NEW)
#define W_SIM_CAS(T, NAME)                                                                                      \
    W_FN T NAME(T *p, T c, T x) {                                                                               \
        w_sim_atomic(W_SIM_ATOMIC);                                                                             \
        T y = *p;                                                                                               \
        if (y == c) *p = x;                                                                                     \
        w_sim_atomic(0);                                                                                        \
        return y;                                                                                               \
    }
#define W_SIM_RMW_INT(T)                                                                                        \
    W_SIM_RMW(T, atomicExch, x)                                                                                 \
    W_SIM_RMW(T, atomicMin, x < y ? x : y)                                                                      \
    W_SIM_RMW(T, atomicMax, y < x ? x : y)                                                                      \
    W_SIM_RMW(T, atomicAnd, y & x)                                                                              \
    W_SIM_RMW(T, atomicOr, y | x)                                                                               \
    W_SIM_RMW(T, atomicXor, y ^ x)
W_SIM_RMW_INT(int) W_SIM_RMW_INT(unsigned) W_SIM_RMW_INT(unsigned long long)
W_SIM_RMW(int, atomicAdd, (unsigned)y + (unsigned)x) W_SIM_RMW(unsigned, atomicAdd, y + x) W_SIM_RMW(unsigned long long, atomicAdd, y + x)
W_SIM_RMW(float, atomicAdd, y + x) W_SIM_RMW(double, atomicAdd, y + x) W_SIM_RMW(float, atomicExch, x)
W_SIM_RMW(int, atomicSub, (unsigned)y - (unsigned)x) W_SIM_RMW(unsigned, atomicSub, y - x)
W_SIM_RMW(long long, atomicMin, x < y ? x : y) W_SIM_RMW(long long, atomicMax, y < x ? x : y)
W_SIM_RMW(unsigned, atomicInc, y >= x ? 0 : y + 1) W_SIM_RMW(unsigned, atomicDec, y == 0 || y > x ? x : y - 1)
W_SIM_CAS(int, atomicCAS) W_SIM_CAS(unsigned, atomicCAS) W_SIM_CAS(unsigned long long, atomicCAS) W_SIM_CAS(unsigned short, atomicCAS)
W_SIM_CAS(int, atomicCAS_block) W_SIM_CAS(unsigned, atomicCAS_block) W_SIM_CAS(unsigned long long, atomicCAS_block)
W_SIM_CAS(int, atomicCAS_system) W_SIM_CAS(unsigned, atomicCAS_system) W_SIM_CAS(unsigned long long, atomicCAS_system)
#undef W_SIM_CAS
#undef W_SIM_RMW_INT
#undef W_SIM_RMW
#undef W_SIM_RMW1
// red.v2, red.v4 (sm_90): each element is atomic by itself, and global memory alone takes them
W_FN void w_sim_global(const void *p) {
    if (w_sim_space(p) == W_SIM_SHARED) w_sim_trap("an atomicAdd of a vector on shared memory; it works on global memory only");
}
W_FN float2 atomicAdd(float2 *p, float2 x) { w_sim_global(p); return { atomicAdd(&p->x, x.x), atomicAdd(&p->y, x.y) }; }
W_FN float4 atomicAdd(float4 *p, float4 x) {
    w_sim_global(p);
    return { atomicAdd(&p->x, x.x), atomicAdd(&p->y, x.y), atomicAdd(&p->z, x.z), atomicAdd(&p->w, x.w) };
}

// ---- loads and stores with a cache hint -------------------------------------------------------------------------------------

template <class T> struct w_sim_cached { enum { ok = 0 }; };
#define W_SIM_CACHED(T) template <> struct w_sim_cached<T> { enum { ok = 1 }; };
#define W_SIM_CACHED3(T) W_SIM_CACHED(T) W_SIM_CACHED(T##2) W_SIM_CACHED(T##4)
W_SIM_CACHED3(char) W_SIM_CACHED(signed char) W_SIM_CACHED3(short) W_SIM_CACHED3(int) W_SIM_CACHED(long) W_SIM_CACHED(long long) W_SIM_CACHED(longlong2)
W_SIM_CACHED(unsigned char) W_SIM_CACHED(uchar2) W_SIM_CACHED(uchar4) W_SIM_CACHED(unsigned short) W_SIM_CACHED(ushort2) W_SIM_CACHED(ushort4)
W_SIM_CACHED(unsigned) W_SIM_CACHED(uint2) W_SIM_CACHED(uint4) W_SIM_CACHED(unsigned long) W_SIM_CACHED(unsigned long long) W_SIM_CACHED(ulonglong2)
W_SIM_CACHED3(float) W_SIM_CACHED(double) W_SIM_CACHED(double2)
#undef W_SIM_CACHED3
#undef W_SIM_CACHED
#define W_SIM_LDST(T_OK) static_assert(w_sim_cached<T>::ok, "CUDA has these of built-in types only: cast the pointer")
#define W_SIM_LD(NAME) template <class T> W_FN T NAME(const T *p) { W_SIM_LDST(T); return *p; }
#define W_SIM_ST(NAME) template <class T> W_FN void NAME(T *p, typename w_sim_same<T>::type x) { W_SIM_LDST(T); *p = x; }
template <class T> struct w_sim_same { using type = T; };
W_SIM_LD(__ldg) W_SIM_LD(__ldca) W_SIM_LD(__ldcg) W_SIM_LD(__ldcs) W_SIM_LD(__ldlu) W_SIM_LD(__ldcv)
W_SIM_ST(__stwb) W_SIM_ST(__stcg) W_SIM_ST(__stcs) W_SIM_ST(__stwt)
#undef W_SIM_ST
#undef W_SIM_LD
#undef W_SIM_LDST

// ---- address spaces, time, output, traps ------------------------------------------------------------------------------------

W_FN unsigned __isShared(const void *p) { return w_sim_space(p) == W_SIM_SHARED; }
W_FN unsigned __isLocal(const void *p) { return w_sim_space(p) == W_SIM_LOCAL; }
W_FN unsigned __isGlobal(const void *p) { return w_sim_space(p) == W_SIM_GLOBAL; }
W_FN unsigned __isConstant(const void *) { return 0; }
W_FN size_t __cvta_generic_to_shared(const void *p) { return w_addr(p); }
W_FN void *__cvta_shared_to_generic(size_t addr) { return w_ptr((u32)addr); }
W_FN size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
W_FN void *__cvta_global_to_generic(size_t addr) { return (void *)addr; }

// Steps of the scheduler: they go up, and say nothing of time.
W_FN long long clock64(void) { return (long long)w_sim_clock(); }
W_FN int w_sim_clock32(void) { return (int)w_sim_clock(); }
#define clock w_sim_clock32 // the C library has a function of that name
W_FN void __nanosleep(unsigned) { w_sim_clock(); }

// To the host's standard output, as a GPU's driver writes it.
extern "C" int printf(const char *format, ...);
W_FN void __trap(void) { w_sim_trap("__trap()"); }
W_FN void __brkpt(void) {}
W_FN void __prof_trigger(int) {}
#define W_SIM_TEXT1(x) #x
#define W_SIM_TEXT(x) W_SIM_TEXT1(x)
#undef assert
#define assert(...) ((__VA_ARGS__) ? (void)0 : w_sim_trap("assertion failed: " #__VA_ARGS__ ", " __FILE__ ":" W_SIM_TEXT(__LINE__)))
#ifndef __clang__
#define __builtin_assume(x) ((void)0)
#endif
#define __builtin_nontemporal_load(p) (*(p))

// ---- casts and conversions --------------------------------------------------------------------------------------------------

W_FN long long __double_as_longlong(double x) { return w_sim_cast<long long>(x); }
W_FN double __longlong_as_double(long long x) { return w_sim_cast<double>(x); }
W_FN int __double2hiint(double x) { return (int)(w_sim_cast<u64>(x) >> 32); }
W_FN int __double2loint(double x) { return (int)w_sim_cast<u64>(x); }
W_FN double __hiloint2double(int hi, int lo) { return w_sim_cast<double>((u64)(u32)hi << 32 | (u32)lo); }

// PTX ISA, cvt: out of range saturates; NaN is 0 of an f32 to 32 bits, else the top bit alone.
template <class T> W_FN T w_sim_to_int(double x, u32 mode, bool narrow) {
    const T least = (T)-1 < 0 ? (T)((u64)1 << (8 * sizeof(T) - 1)) : 0, most = (T)-1 < 0 ? (T)~least : (T)-1;
    if (x != x) return narrow ? 0 : (T)((u64)1 << (8 * sizeof(T) - 1));
    x = w_sim_rounded(W_SIM_OP_RINT, mode, 0, x, 0, 0);
    const double end = ldexp(1., 8 * (int)sizeof(T) - ((T)-1 < 0));   // one past the greatest
    return x >= end ? most : x <= (double)least ? least : (T)x;
}
// hi * 2^32 + lo in one direction, then to a float in the same: both at once
template <class F> W_FN F w_sim_to_real(double hi, double lo, u32 mode) {
    const double x = w_sim_rounded(W_SIM_OP_FMA, mode, 1, hi, 4294967296., lo);
    return (F)(sizeof(F) == 8 ? x : w_sim_rounded(W_SIM_OP_RINT, mode, 1, x, 0, 0));
}
#define W_SIM_CVT(R, MODE)                                                                                      \
    W_FN int __float2int_##R(float x) { return w_sim_to_int<int>(x, MODE, true); }                              \
    W_FN unsigned __float2uint_##R(float x) { return w_sim_to_int<unsigned>(x, MODE, true); }                   \
    W_FN long long __float2ll_##R(float x) { return w_sim_to_int<long long>(x, MODE, false); }                  \
    W_FN unsigned long long __float2ull_##R(float x) { return w_sim_to_int<unsigned long long>(x, MODE, false); } \
    W_FN int __double2int_##R(double x) { return w_sim_to_int<int>(x, MODE, false); }                           \
    W_FN unsigned __double2uint_##R(double x) { return w_sim_to_int<unsigned>(x, MODE, false); }                \
    W_FN long long __double2ll_##R(double x) { return w_sim_to_int<long long>(x, MODE, false); }                \
    W_FN unsigned long long __double2ull_##R(double x) { return w_sim_to_int<unsigned long long>(x, MODE, false); } \
    W_FN float __int2float_##R(int x) { return (float)w_sim_rounded(W_SIM_OP_RINT, MODE, 1, x, 0, 0); }         \
    W_FN float __uint2float_##R(unsigned x) { return (float)w_sim_rounded(W_SIM_OP_RINT, MODE, 1, x, 0, 0); }   \
    W_FN float __ll2float_##R(long long x) { return MODE == W_SIM_RN ? (float)x : w_sim_to_real<float>((double)(x >> 32), (double)(u32)x, MODE); } \
    W_FN float __ull2float_##R(unsigned long long x) { return MODE == W_SIM_RN ? (float)x : w_sim_to_real<float>((double)(x >> 32), (double)(u32)x, MODE); } \
    W_FN double __ll2double_##R(long long x) { return w_sim_to_real<double>((double)(x >> 32), (double)(u32)x, MODE); } \
    W_FN double __ull2double_##R(unsigned long long x) { return w_sim_to_real<double>((double)(x >> 32), (double)(u32)x, MODE); } \
    W_FN float __double2float_##R(double x) { return (float)w_sim_rounded(W_SIM_OP_RINT, MODE, 1, x, 0, 0); }
W_SIM_CVT(rn, W_SIM_RN) W_SIM_CVT(rz, W_SIM_RZ) W_SIM_CVT(rd, W_SIM_RD) W_SIM_CVT(ru, W_SIM_RU)
#undef W_SIM_CVT
W_FN double __int2double_rn(int x) { return x; }
W_FN double __uint2double_rn(unsigned x) { return x; }

// ---- floating point ---------------------------------------------------------------------------------------------------------

#define W_SIM_ROUND(R, MODE)                                                                                    \
    W_FN float __fadd_##R(float a, float b) { return (float)w_sim_rounded(W_SIM_OP_ADD, MODE, 0, a, b, 0); }    \
    W_FN float __fsub_##R(float a, float b) { return (float)w_sim_rounded(W_SIM_OP_SUB, MODE, 0, a, b, 0); }    \
    W_FN float __fmul_##R(float a, float b) { return (float)w_sim_rounded(W_SIM_OP_MUL, MODE, 0, a, b, 0); }    \
    W_FN float __fdiv_##R(float a, float b) { return (float)w_sim_rounded(W_SIM_OP_DIV, MODE, 0, a, b, 0); }    \
    W_FN float __frcp_##R(float a) { return (float)w_sim_rounded(W_SIM_OP_DIV, MODE, 0, 1, a, 0); }             \
    W_FN float __fsqrt_##R(float a) { return (float)w_sim_rounded(W_SIM_OP_SQRT, MODE, 0, a, 0, 0); }           \
    W_FN float __fmaf_##R(float a, float b, float c) { return (float)w_sim_rounded(W_SIM_OP_FMA, MODE, 0, a, b, c); } \
    W_FN double __dadd_##R(double a, double b) { return w_sim_rounded(W_SIM_OP_ADD, MODE, 1, a, b, 0); }        \
    W_FN double __dsub_##R(double a, double b) { return w_sim_rounded(W_SIM_OP_SUB, MODE, 1, a, b, 0); }        \
    W_FN double __dmul_##R(double a, double b) { return w_sim_rounded(W_SIM_OP_MUL, MODE, 1, a, b, 0); }        \
    W_FN double __ddiv_##R(double a, double b) { return w_sim_rounded(W_SIM_OP_DIV, MODE, 1, a, b, 0); }        \
    W_FN double __drcp_##R(double a) { return w_sim_rounded(W_SIM_OP_DIV, MODE, 1, 1, a, 0); }                  \
    W_FN double __dsqrt_##R(double a) { return w_sim_rounded(W_SIM_OP_SQRT, MODE, 1, a, 0, 0); }                \
    W_FN double __fma_##R(double a, double b, double c) { return w_sim_rounded(W_SIM_OP_FMA, MODE, 1, a, b, c); }
W_SIM_ROUND(rn, W_SIM_RN) W_SIM_ROUND(rz, W_SIM_RZ) W_SIM_ROUND(rd, W_SIM_RD) W_SIM_ROUND(ru, W_SIM_RU)
#undef W_SIM_ROUND
W_FN float __frsqrt_rn(float x) { return (float)(1. / sqrt((double)x)); }

// glibc declares some of these names itself
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __exp10f exp10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
#define __tanhf tanhf
W_FN float __fdividef(float a, float b) { // "Intrinsic Functions": for b beyond 2^126 the result is 0
    return fabsf(b) > 0x1p126f && fabsf(b) <= FLT_MAX ? copysignf(fabsf(a) <= FLT_MAX ? 0.f : NAN, a * b) : a / b;
}
W_FN float fdividef(float a, float b) { return a / b; }
W_FN float __saturatef(float x) { return x > 0.f ? x < 1.f ? x : 1.f : 0.f; } // NaN is 0

// Of each function of a double there is one of a float, with an f behind its name, and an overload.
#define W_SIM_FN1(NAME)                                                                                         \
    W_FN float NAME##f(float x) { return (float)NAME((double)x); }                                              \
    W_FN float NAME(float x) { return NAME##f(x); }
W_FN double rsqrt(double x) { return 1. / sqrt(x); }
W_FN double rcbrt(double x) { return 1. / cbrt(x); }
W_FN double w_sim_pi(void) { return 3.14159265358979323846; }
W_FN double sinpi(double x) { // reduced first: exact at multiples of a half
    const double r = fmod(x, 2.), h = r > 1. ? r - 2. : r < -1. ? r + 2. : r, a = h > .5 ? 1. - h : h < -.5 ? -1. - h : h;
    return a == 0 ? copysign(0., x) : sin(w_sim_pi() * a);
}
W_FN double cospi(double x) {
    const double r = fabs(fmod(x, 2.)), h = r > 1. ? 2. - r : r;   // 0 to 1
    return h == .5 ? 0. : h < .25 ? cos(w_sim_pi() * h) : sin(w_sim_pi() * (.5 - h));
}
W_FN double normcdf(double x) { return .5 * erfc(-x * sqrt(.5)); }
W_FN double erfcx(double x) {
    if (x < 20.) return exp(x * x) * erfc(x);
    const double q = .5 / (x * x);
    return (1. - q * (1. - 3. * q * (1. - 5. * q))) / (x * sqrt(w_sim_pi()));
}
W_FN double erfcinv(double y) { // halves an interval: slow, and right to the last bits
    if (!(y >= 0. && y <= 2.)) return NAN;
    if (y == 0. || y == 2.) return y == 0. ? INFINITY : -INFINITY;
    double lo = -6., hi = 28.;
    for (int i = 0; i < 80; i++) {
        const double mid = .5 * (lo + hi);
        if (erfc(mid) > y) lo = mid; else hi = mid;
    }
    return .5 * (lo + hi);
}
W_FN double erfinv(double y) {
    if (!(y >= -1. && y <= 1.)) return NAN;
    if (y == 1. || y == -1.) return y * INFINITY;
    double lo = 0., hi = 6.;
    for (int i = 0; i < 80; i++) {
        const double mid = .5 * (lo + hi);
        if (erf(mid) < fabs(y)) lo = mid; else hi = mid;
    }
    return copysign(.5 * (lo + hi), y);
}
W_FN double normcdfinv(double y) { return -sqrt(2.) * erfcinv(2. * y); }
W_FN double w_sim_bessel(double x, int order) { // the series of I0 and I1
    double term = order ? .5 * x : 1., sum = term;
    for (int i = 1; i < 500 && fabs(term) > 1e-17 * fabs(sum); i++) sum += term *= .25 * x * x / (i * (i + order));
    return sum;
}
W_FN double cyl_bessel_i0(double x) { return w_sim_bessel(x, 0); }
W_FN double cyl_bessel_i1(double x) { return w_sim_bessel(x, 1); }
W_SIM_FN1(rsqrt) W_SIM_FN1(rcbrt) W_SIM_FN1(sinpi) W_SIM_FN1(cospi) W_SIM_FN1(normcdf) W_SIM_FN1(normcdfinv) W_SIM_FN1(erfcx)
W_SIM_FN1(erfinv) W_SIM_FN1(erfcinv) W_SIM_FN1(cyl_bessel_i0) W_SIM_FN1(cyl_bessel_i1)
#undef W_SIM_FN1
W_FN void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
W_FN void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
W_FN double norm(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s = hypot(s, x[i]); return s; }
W_FN float normf(int n, const float *x) { double s = 0; for (int i = 0; i < n; i++) s += (double)x[i] * x[i]; return (float)sqrt(s); }
W_FN double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
W_FN double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
W_FN float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
W_FN float norm4df(float a, float b, float c, float d) { return (float)norm4d(a, b, c, d); }
W_FN double rhypot(double a, double b) { return 1. / hypot(a, b); }
W_FN float rhypotf(float a, float b) { return (float)rhypot(a, b); }
W_FN double rnorm(int n, const double *x) { return 1. / norm(n, x); }
W_FN float rnormf(int n, const float *x) { double s = 0; for (int i = 0; i < n; i++) s += (double)x[i] * x[i]; return (float)(1. / sqrt(s)); }
W_FN double rnorm3d(double a, double b, double c) { return 1. / norm3d(a, b, c); }
W_FN double rnorm4d(double a, double b, double c, double d) { return 1. / norm4d(a, b, c, d); }
W_FN float rnorm3df(float a, float b, float c) { return (float)rnorm3d(a, b, c); }
W_FN float rnorm4df(float a, float b, float c, float d) { return (float)rnorm4d(a, b, c, d); }

// ---- whole numbers ----------------------------------------------------------------------------------------------------------

#define W_SIM_MINMAX(R, A, B)                                                                                   \
    W_FN R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                                  \
    W_FN R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define W_SIM_MINMAX4(T) W_SIM_MINMAX(T, T, T) W_SIM_MINMAX(unsigned T, unsigned T, unsigned T) W_SIM_MINMAX(unsigned T, T, unsigned T) W_SIM_MINMAX(unsigned T, unsigned T, T)
W_SIM_MINMAX4(int) W_SIM_MINMAX4(long) W_SIM_MINMAX4(long long)
#undef W_SIM_MINMAX4
#undef W_SIM_MINMAX
W_FN float min(float a, float b) { return fminf(a, b); }
W_FN float max(float a, float b) { return fmaxf(a, b); }
W_FN double min(double a, double b) { return fmin(a, b); }
W_FN double max(double a, double b) { return fmax(a, b); }
W_FN double min(float a, double b) { return fmin(a, b); }
W_FN double max(float a, double b) { return fmax(a, b); }
W_FN double min(double a, float b) { return fmin(a, b); }
W_FN double max(double a, float b) { return fmax(a, b); }
W_FN unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
W_FN unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
W_FN long long llmin(long long a, long long b) { return a < b ? a : b; }
W_FN long long llmax(long long a, long long b) { return a > b ? a : b; }
W_FN unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
W_FN unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

W_FN int __popc(unsigned x) { return __builtin_popcount(x); }
W_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
W_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
W_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
W_FN int __ffs(int x) { return __builtin_ffs(x); }
W_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
W_FN unsigned __brev(unsigned x) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i); return r; }
W_FN unsigned long long __brevll(unsigned long long x) { return (u64)__brev((u32)x) << 32 | __brev((u32)(x >> 32)); }
W_FN unsigned __fns(unsigned mask, unsigned base, int offset) { // the offset-th set bit from `base` on, upwards or downwards
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset, i = (int)base;
    if (!offset) return mask >> base & 1 ? base : ~0u;
    for (; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && --left == 0) return (unsigned)i;
    return ~0u;
}
W_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const u64 x = (u64)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        r |= ((unsigned)(x >> 8 * (s >> 4 * i & 7)) & 255) << 8 * i; // unlike prmt: bit 3 is not looked at (so does an H200)
    }
    return r;
}
W_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((u64)hi << 32 | lo) << (n & 31) >> 32); }
W_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((u64)hi << 32 | lo) >> (n & 31)); }
W_FN unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? lo : __funnelshift_l(lo, hi, n); }
W_FN unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? hi : __funnelshift_r(lo, hi, n); }
W_FN int __mul24(int a, int b) { return (int)((u32)((i32)((u32)a << 8) >> 8) * (u32)((i32)((u32)b << 8) >> 8)); }
W_FN unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
W_FN int __mulhi(int a, int b) { return (int)((i64)a * b >> 32); }
W_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((u64)a * b >> 32); }
W_FN long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
W_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
W_FN unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
W_FN unsigned __sad(int a, int b, unsigned c) { return (a > b ? (u32)a - (u32)b : (u32)b - (u32)a) + c; }
W_FN int __hadd(int a, int b) { return (int)(((i64)a + b) >> 1); }
W_FN int __rhadd(int a, int b) { return (int)(((i64)a + b + 1) >> 1); }
W_FN unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((u64)a + b) >> 1); }
W_FN unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((u64)a + b + 1) >> 1); }

W_FN int w_sim_s8(u32 x, int i) { return (i8)(x >> 8 * i); }
W_FN int w_sim_u8(u32 x, int i) { return (u8)(x >> 8 * i); }
#define W_SIM_DOT(NAME, R, A, B, N, PART_A, PART_B)                                                             \
    W_FN R NAME(A a, B b, R c) {                                                                                \
        u32 s = (u32)c;                                                                                         \
        for (int i = 0; i < N; i++) s += (u32)((int)(PART_A) * (int)(PART_B));                                  \
        return (R)s;                                                                                            \
    }
#define W_SIM_BYTES4(v, f) f(w_sim_cast<u32>(v), i)
W_SIM_DOT(__dp4a, int, int, int, 4, w_sim_s8((u32)a, i), w_sim_s8((u32)b, i))
W_SIM_DOT(__dp4a, unsigned, unsigned, unsigned, 4, w_sim_u8(a, i), w_sim_u8(b, i))
W_SIM_DOT(__dp4a, int, char4, char4, 4, W_SIM_BYTES4(a, w_sim_s8), W_SIM_BYTES4(b, w_sim_s8))
W_SIM_DOT(__dp4a, unsigned, uchar4, uchar4, 4, W_SIM_BYTES4(a, w_sim_u8), W_SIM_BYTES4(b, w_sim_u8))
W_SIM_DOT(__dp2a_lo, int, int, int, 2, (i16)((u32)a >> 16 * i), w_sim_s8((u32)b, i))
W_SIM_DOT(__dp2a_lo, unsigned, unsigned, unsigned, 2, (u16)(a >> 16 * i), w_sim_u8(b, i))
W_SIM_DOT(__dp2a_hi, int, int, int, 2, (i16)((u32)a >> 16 * i), w_sim_s8((u32)b, i + 2))
W_SIM_DOT(__dp2a_hi, unsigned, unsigned, unsigned, 2, (u16)(a >> 16 * i), w_sim_u8(b, i + 2))
#undef W_SIM_BYTES4
#undef W_SIM_DOT

// SIMD: two halves or four bytes of a word. S, U: an element of a and b, signed or not.
#define W_SIM_LANES(NAME, N, EXPR)                                                                              \
    W_FN unsigned NAME(unsigned a, unsigned b) {                                                                \
        unsigned r = 0;                                                                                         \
        const int bits = 32 / N;                                                                                \
        const i64 top = (i64)1 << (bits - 1), all = ((i64)1 << bits) - 1;                                       \
        for (int i = 0; i < N; i++) {                                                                           \
            const i64 ua = a >> i * bits & all, ub = b >> i * bits & all, sa = (ua ^ top) - top, sb = (ub ^ top) - top; \
            (void)ua, (void)ub, (void)sa, (void)sb;                                                             \
            r |= (unsigned)((i64)(EXPR) & all) << i * bits;                                                     \
        }                                                                                                       \
        return r;                                                                                               \
    }
#define W_SIM_CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define W_SIM_SIMD(NAME, EXPR) W_SIM_LANES(__v##NAME##2, 2, EXPR) W_SIM_LANES(__v##NAME##4, 4, EXPR)
#define W_SIM_CMP(NAME, COND) W_SIM_SIMD(cmp##NAME, (COND) ? all : 0) W_SIM_SIMD(set##NAME, (COND) ? 1 : 0)
W_SIM_SIMD(add, ua + ub) W_SIM_SIMD(sub, ua - ub)
W_SIM_SIMD(addss, W_SIM_CLAMP(sa + sb, -top, top - 1)) W_SIM_SIMD(addus, W_SIM_CLAMP(ua + ub, 0, all))
W_SIM_SIMD(subss, W_SIM_CLAMP(sa - sb, -top, top - 1)) W_SIM_SIMD(subus, W_SIM_CLAMP(ua - ub, 0, all))
W_SIM_SIMD(avgs, (sa + sb + (sa + sb >= 0)) >> 1) W_SIM_SIMD(avgu, (ua + ub + 1) >> 1) W_SIM_SIMD(hadd_u, (ua + ub) >> 1)
W_SIM_SIMD(maxs, sa > sb ? sa : sb) W_SIM_SIMD(maxu, ua > ub ? ua : ub) W_SIM_SIMD(mins, sa < sb ? sa : sb) W_SIM_SIMD(minu, ua < ub ? ua : ub)
W_SIM_SIMD(absdiffs, sa > sb ? sa - sb : sb - sa) W_SIM_SIMD(absdiffu, ua > ub ? ua - ub : ub - ua)
W_SIM_CMP(eq, ua == ub) W_SIM_CMP(ne, ua != ub) W_SIM_CMP(ges, sa >= sb) W_SIM_CMP(geu, ua >= ub) W_SIM_CMP(gts, sa > sb) W_SIM_CMP(gtu, ua > ub)
W_SIM_CMP(les, sa <= sb) W_SIM_CMP(leu, ua <= ub) W_SIM_CMP(lts, sa < sb) W_SIM_CMP(ltu, ua < ub)
#define W_SIM_SIMD1(NAME, EXPR)                                                                                 \
    W_SIM_LANES(w_sim_v##NAME##2, 2, EXPR) W_SIM_LANES(w_sim_v##NAME##4, 4, EXPR)                               \
    W_FN unsigned __v##NAME##2(unsigned a) { return w_sim_v##NAME##2(a, 0); }                                   \
    W_FN unsigned __v##NAME##4(unsigned a) { return w_sim_v##NAME##4(a, 0); }
W_SIM_SIMD1(abs, sa < 0 ? -sa : sa) W_SIM_SIMD1(absss, sa == -top ? top - 1 : sa < 0 ? -sa : sa)
W_SIM_SIMD1(neg, -sa) W_SIM_SIMD1(negss, sa == -top ? top - 1 : -sa)
W_FN unsigned __vhaddu2(unsigned a, unsigned b) { return __vhadd_u2(a, b); }
W_FN unsigned __vhaddu4(unsigned a, unsigned b) { return __vhadd_u4(a, b); }
W_FN unsigned __vsads2(unsigned a, unsigned b) { u32 d = __vabsdiffs2(a, b); return (d & 0xffff) + (d >> 16); }
W_FN unsigned __vsadu2(unsigned a, unsigned b) { u32 d = __vabsdiffu2(a, b); return (d & 0xffff) + (d >> 16); }
W_FN unsigned __vsads4(unsigned a, unsigned b) { return __dp4a(__vabsdiffs4(a, b), 0x01010101u, 0u); }
W_FN unsigned __vsadu4(unsigned a, unsigned b) { return __dp4a(__vabsdiffu4(a, b), 0x01010101u, 0u); }
#undef W_SIM_SIMD1
#undef W_SIM_CMP
#undef W_SIM_SIMD
#undef W_SIM_CLAMP
#undef W_SIM_LANES

// DPX: sums, least and greatest of three in one step; relu: not below 0
#define W_SIM_DPX(T, S)                                                                                         \
    W_FN T __vimax3_##S(T a, T b, T c) { return max(max(a, b), c); }                                            \
    W_FN T __vimin3_##S(T a, T b, T c) { return min(min(a, b), c); }                                            \
    W_FN T __viaddmax_##S(T a, T b, T c) { return max((T)((u32)a + (u32)b), c); }                               \
    W_FN T __viaddmin_##S(T a, T b, T c) { return min((T)((u32)a + (u32)b), c); }                               \
    W_FN T __vibmax_##S(T a, T b, bool *p) { *p = a >= b; return max(a, b); }                                   \
    W_FN T __vibmin_##S(T a, T b, bool *p) { *p = a <= b; return min(a, b); }
W_SIM_DPX(int, s32) W_SIM_DPX(unsigned, u32)
#undef W_SIM_DPX
// the same of two halves of a word: sums wrap, a half at a time
W_FN unsigned w_sim_relu2(unsigned x) { return __vmaxs2(x, 0); }
#define W_SIM_DPX2(S, MAX, MIN)                                                                                 \
    W_FN unsigned __vimax3_##S(unsigned a, unsigned b, unsigned c) { return MAX(MAX(a, b), c); }                \
    W_FN unsigned __vimin3_##S(unsigned a, unsigned b, unsigned c) { return MIN(MIN(a, b), c); }                \
    W_FN unsigned __viaddmax_##S(unsigned a, unsigned b, unsigned c) { return MAX(__vadd2(a, b), c); }          \
    W_FN unsigned __viaddmin_##S(unsigned a, unsigned b, unsigned c) { return MIN(__vadd2(a, b), c); }          \
    W_FN unsigned __vibmax_##S(unsigned a, unsigned b, bool *hi, bool *lo) {                                    \
        const unsigned r = MAX(a, b);                                                                           \
        *hi = r >> 16 == a >> 16, *lo = (r & 0xffff) == (a & 0xffff);                                           \
        return r;                                                                                               \
    }                                                                                                           \
    W_FN unsigned __vibmin_##S(unsigned a, unsigned b, bool *hi, bool *lo) {                                    \
        const unsigned r = MIN(a, b);                                                                           \
        *hi = r >> 16 == a >> 16, *lo = (r & 0xffff) == (a & 0xffff);                                           \
        return r;                                                                                               \
    }
W_SIM_DPX2(s16x2, __vmaxs2, __vmins2) W_SIM_DPX2(u16x2, __vmaxu2, __vminu2)
#undef W_SIM_DPX2
W_FN unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return w_sim_relu2(__vmaxs2(a, b)); }
W_FN unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return w_sim_relu2(__vmins2(a, b)); }
W_FN unsigned __vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) { return w_sim_relu2(__vimax3_s16x2(a, b, c)); }
W_FN unsigned __vimin3_s16x2_relu(unsigned a, unsigned b, unsigned c) { return w_sim_relu2(__vimin3_s16x2(a, b, c)); }
W_FN unsigned __viaddmax_s16x2_relu(unsigned a, unsigned b, unsigned c) { return w_sim_relu2(__viaddmax_s16x2(a, b, c)); }
W_FN unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) { return w_sim_relu2(__viaddmin_s16x2(a, b, c)); }
W_FN int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
W_FN int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
W_FN int __vimax3_s32_relu(int a, int b, int c) { return max(__vimax3_s32(a, b, c), 0); }
W_FN int __vimin3_s32_relu(int a, int b, int c) { return max(__vimin3_s32(a, b, c), 0); }
W_FN int __viaddmax_s32_relu(int a, int b, int c) { return max(__viaddmax_s32(a, b, c), 0); }
W_FN int __viaddmin_s32_relu(int a, int b, int c) { return max(__viaddmin_s32(a, b, c), 0); }

// ---- pairs of halves: weir_halves.h -----------------------------------------------------------------------------------------

// What a float holds of x + err, so that a further rounding to a half is as if there were none between: cut off, and odd when inexact.
W_FN float w_sim_odd(double x, double err) {
    float f = (float)x;
    if (!isfinite(x) || ((double)f == x && err == 0)) return f;
    if (fabs((double)f) > fabs(x) || ((double)f == x && (err < 0) != (x < 0))) f = nextafterf(f, 0.f);
    return __uint_as_float(__float_as_uint(f) | 1u);
}
W_FN double w_sim_lost(double a, double b, double s) { const double t = s - a; return isfinite(s) ? (a - (s - t)) + (b - t) : 0.; }
#define W_SIM_HALF(T)                                                                                           \
    W_FN T w_sim_sum(T a, T b) { const double x = a, y = b, s = x + y; return T(w_sim_odd(s, w_sim_lost(x, y, s))); } \
    W_FN T w_sim_fma(T a, T b, T c) { const double x = (double)a * (double)b, y = c, s = x + y; return T(w_sim_odd(s, w_sim_lost(x, y, s))); } \
    W_FN T w_sim_min(T a, T b) { return a != a ? T(b) : b != b ? a : (float)a == (float)b ? (a.bits >> 15 ? a : b) : a < b ? a : b; } \
    W_FN T w_sim_max(T a, T b) { return a != a ? T(b) : b != b ? a : (float)a == (float)b ? (a.bits >> 15 ? b : a) : a > b ? a : b; } \
    W_FN T w_sim_neg(T a) { a.bits ^= 0x8000; return a; }                                                       \
    W_SIM_HALF2(T, add, w_sim_sum(x, y)) W_SIM_HALF2(T, sub, w_sim_sum(x, w_sim_neg(y)))                        \
    W_SIM_HALF2(T, mul, T(w_sim_odd((double)x * (double)y, 0))) W_SIM_HALF2(T, min, w_sim_min(x, y)) W_SIM_HALF2(T, max, w_sim_max(x, y)) \
    W_FN u32 w_##T##x2_fma(u32 a, u32 b, u32 c) {                                                               \
        u32 r = 0;                                                                                              \
        for (int i = 0; i < 32; i += 16) {                                                                      \
            T x, y, z;                                                                                          \
            x.bits = (u16)(a >> i), y.bits = (u16)(b >> i), z.bits = (u16)(c >> i);                             \
            r |= (u32)w_sim_fma(x, y, z).bits << i;                                                             \
        }                                                                                                       \
        return r;                                                                                               \
    }                                                                                                           \
    W_FN u16 w_atom_add_##T(void *p, u16 v) {                                                                   \
        T x;                                                                                                    \
        x.bits = v;                                                                                             \
        w_sim_atomic(W_SIM_ATOMIC);                                                                             \
        T y = *(T *)p;                                                                                          \
        *(T *)p = w_sim_sum(y, x);                                                                              \
        w_sim_atomic(0);                                                                                        \
        return y.bits;                                                                                          \
    }                                                                                                           \
    W_FN u32 w_atom_add_##T##x2(void *p, u32 v) { /* each half is atomic by itself */                           \
        ushort2 *q = (ushort2 *)p;                                                                              \
        return w_atom_add_##T(&q->x, (u16)v) | (u32)w_atom_add_##T(&q->y, (u16)(v >> 16)) << 16;                \
    }
#define W_SIM_HALF2(T, OP, EXPR)                                                                                \
    W_FN u32 w_##T##x2_##OP(u32 a, u32 b) {                                                                     \
        u32 r = 0;                                                                                              \
        for (int i = 0; i < 32; i += 16) {                                                                      \
            T x, y, z;                                                                                          \
            x.bits = (u16)(a >> i), y.bits = (u16)(b >> i);                                                     \
            z = EXPR;                                                                                           \
            r |= (u32)z.bits << i;                                                                              \
        }                                                                                                       \
        return r;                                                                                               \
    }
W_SIM_HALF(f16)
W_SIM_HALF(bf16)
#undef W_SIM_HALF2
#undef W_SIM_HALF

// ---- the rest ---------------------------------------------------------------------------------------------------------------

// Block moves of a body are accesses too.
extern "C" {
void *__tsan_memcpy(void *d, const void *s, unsigned long n);
void *__tsan_memmove(void *d, const void *s, unsigned long n);
void *__tsan_memset(void *d, int x, unsigned long n);
}
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset

// asm of a body's own cannot run here. The error stands at the body's line.
#define asm _Pragma("GCC error \"inline assembly runs on the GPU only, not in the simulator\"") __asm__

#endif
