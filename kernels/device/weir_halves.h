// Behind weir_cuda.h, and in the simulator behind weir_sim.h: pairs of halves and CUDA's names for halves, without an include.
//
// f16 and bf16 are storage (weir_cuda.h): `a * b + c` of them is a float, and an assignment rounds it. What rounds each step to a half,
// as one instruction, are the functions here: of f16x2 and bf16x2 (members x, y: 4 bytes), and of f16 and bf16.
#ifndef WEIR_HALVES_H
#define WEIR_HALVES_H

typedef f16 half, __half;
typedef bf16 nv_bfloat16, __nv_bfloat16;
typedef e4m3 __nv_fp8_e4m3;
typedef e5m2 __nv_fp8_e5m2;

#ifndef WEIR_SIM_H
// Pairs of halves, each step rounded by itself (".rn": never fused). bf16 has add, sub and mul from sm_90 on; before, a fused one is exact.
#define W_PAIR2(T, NAME, OP) \
    W_FN u32 w_##T##x2_##OP(u32 a, u32 b) { u32 r; asm(NAME " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
#define W_PAIR3(T, NAME) \
    W_FN u32 w_##T##x2_fma(u32 a, u32 b, u32 c) { u32 r; asm(NAME " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
W_PAIR2(f16, "add.rn.f16x2", add) W_PAIR2(f16, "sub.rn.f16x2", sub) W_PAIR2(f16, "mul.rn.f16x2", mul)
W_PAIR2(f16, "min.f16x2", min) W_PAIR2(f16, "max.f16x2", max) W_PAIR3(f16, "fma.rn.f16x2")
W_PAIR2(bf16, "min.bf16x2", min) W_PAIR2(bf16, "max.bf16x2", max) W_PAIR3(bf16, "fma.rn.bf16x2")
#if __CUDA_ARCH__ >= 900
W_PAIR2(bf16, "add.rn.bf16x2", add) W_PAIR2(bf16, "sub.rn.bf16x2", sub) W_PAIR2(bf16, "mul.rn.bf16x2", mul)
#else
W_FN u32 w_bf16x2_add(u32 a, u32 b) { return w_bf16x2_fma(a, 0x3f803f80u, b); }
W_FN u32 w_bf16x2_sub(u32 a, u32 b) { return w_bf16x2_fma(b, 0xbf80bf80u, a); }
W_FN u32 w_bf16x2_mul(u32 a, u32 b) { return w_bf16x2_fma(a, b, 0x80008000u); }
#endif
#undef W_PAIR3
#undef W_PAIR2
// atom.add: of shared and global memory
#define W_ATOM(T, C, NAME) \
    W_FN T w_atom_add_##NAME(void *p, T x) { T r; W_ASM("atom.add.noftz." #NAME " %0, [%1], %2;" : "=" C(r) : "l"(p), C(x)); return r; }
W_ATOM(u16, "h", f16) W_ATOM(u32, "r", f16x2)
#if __CUDA_ARCH__ >= 900
W_ATOM(u16, "h", bf16) W_ATOM(u32, "r", bf16x2)
#endif
#undef W_ATOM
#endif

// PTX ISA, "Half Precision Floating Point Instructions". w_f16x2_<op>, w_bf16x2_<op>: of a pair's bits.
#define W_HALVES(T, PAIR, TO_PAIR, NAME) \
    struct alignas(4) PAIR { \
        T x, y; \
        PAIR() = default; \
        __device__ __forceinline__ PAIR(T lo, T hi) : x(lo), y(hi) {} \
        __device__ __forceinline__ PAIR(float lo, float hi) { u32 r = w_pack_##T(lo, hi); x.bits = (u16)r; y.bits = (u16)(r >> 16); } \
        __device__ __forceinline__ u32 bits() const { return (u32)x.bits | (u32)y.bits << 16; } \
    }; \
    W_FN PAIR w_as_##PAIR(u32 bits) { PAIR r; r.x.bits = (u16)bits; r.y.bits = (u16)(bits >> 16); return r; } \
    W_FN PAIR __hadd2(PAIR a, PAIR b) { return w_as_##PAIR(w_##T##x2_add(a.bits(), b.bits())); } \
    W_FN PAIR __hsub2(PAIR a, PAIR b) { return w_as_##PAIR(w_##T##x2_sub(a.bits(), b.bits())); } \
    W_FN PAIR __hmul2(PAIR a, PAIR b) { return w_as_##PAIR(w_##T##x2_mul(a.bits(), b.bits())); } \
    W_FN PAIR __hmin2(PAIR a, PAIR b) { return w_as_##PAIR(w_##T##x2_min(a.bits(), b.bits())); } \
    W_FN PAIR __hmax2(PAIR a, PAIR b) { return w_as_##PAIR(w_##T##x2_max(a.bits(), b.bits())); } \
    W_FN PAIR __hfma2(PAIR a, PAIR b, PAIR c) { return w_as_##PAIR(w_##T##x2_fma(a.bits(), b.bits(), c.bits())); } \
    W_FN PAIR __hneg2(PAIR a) { return w_as_##PAIR(a.bits() ^ 0x80008000u); } \
    W_FN PAIR __habs2(PAIR a) { return w_as_##PAIR(a.bits() & 0x7fff7fffu); } \
    W_FN PAIR operator+(PAIR a, PAIR b) { return __hadd2(a, b); } \
    W_FN PAIR operator-(PAIR a, PAIR b) { return __hsub2(a, b); } \
    W_FN PAIR operator*(PAIR a, PAIR b) { return __hmul2(a, b); } \
    W_FN PAIR operator-(PAIR a) { return __hneg2(a); } \
    W_FN PAIR &operator+=(PAIR &a, PAIR b) { return a = __hadd2(a, b); } \
    W_FN PAIR &operator-=(PAIR &a, PAIR b) { return a = __hsub2(a, b); } \
    W_FN PAIR &operator*=(PAIR &a, PAIR b) { return a = __hmul2(a, b); } \
    W_FN T __hadd(T a, T b) { return __hadd2(PAIR(a, a), PAIR(b, b)).x; } \
    W_FN T __hsub(T a, T b) { return __hsub2(PAIR(a, a), PAIR(b, b)).x; } \
    W_FN T __hmul(T a, T b) { return __hmul2(PAIR(a, a), PAIR(b, b)).x; } \
    W_FN T __hmin(T a, T b) { return __hmin2(PAIR(a, a), PAIR(b, b)).x; } \
    W_FN T __hmax(T a, T b) { return __hmax2(PAIR(a, a), PAIR(b, b)).x; } \
    W_FN T __hfma(T a, T b, T c) { return __hfma2(PAIR(a, a), PAIR(b, b), PAIR(c, c)).x; } \
    W_FN T __hneg(T a) { a.bits ^= 0x8000; return a; } \
    W_FN T __habs(T a) { a.bits &= 0x7fff; return a; } \
    W_FN PAIR __floats2##NAME##2_rn(float lo, float hi) { return PAIR(lo, hi); } \
    W_FN PAIR __float2##NAME##2_rn(float x) { return PAIR(x, x); } \
    W_FN PAIR __float22##NAME##2_rn(float2 x) { return PAIR(x.x, x.y); } \
    W_FN float2 TO_PAIR(PAIR a) { return make_float2(a.x, a.y); } \
    W_FN T __float2##NAME(float x) { return T(x); } \
    W_FN T __float2##NAME##_rn(float x) { return T(x); } \
    W_FN float __##NAME##2float(T x) { return x; } \
    W_FN PAIR __halves2##NAME##2(T lo, T hi) { return PAIR(lo, hi); } \
    W_FN PAIR __##NAME##2##NAME##2(T x) { return PAIR(x, x); } \
    W_FN T __low2##NAME(PAIR a) { return a.x; } \
    W_FN T __high2##NAME(PAIR a) { return a.y; } \
    W_FN float __low2float(PAIR a) { return a.x; } \
    W_FN float __high2float(PAIR a) { return a.y; } \
    W_FN T __ushort_as_##NAME(u16 x) { T r; r.bits = x; return r; } \
    W_FN u16 __##NAME##_as_ushort(T x) { return x.bits; } \
    W_FN T __shfl_sync(u32 m, T x, int i, int w = 32) { return __ushort_as_##NAME((u16)__shfl_sync(m, (u32)x.bits, i, w)); } \
    W_FN T __shfl_up_sync(u32 m, T x, u32 i, int w = 32) { return __ushort_as_##NAME((u16)__shfl_up_sync(m, (u32)x.bits, i, w)); } \
    W_FN T __shfl_down_sync(u32 m, T x, u32 i, int w = 32) { return __ushort_as_##NAME((u16)__shfl_down_sync(m, (u32)x.bits, i, w)); } \
    W_FN T __shfl_xor_sync(u32 m, T x, int i, int w = 32) { return __ushort_as_##NAME((u16)__shfl_xor_sync(m, (u32)x.bits, i, w)); } \
    W_FN PAIR __shfl_sync(u32 m, PAIR x, int i, int w = 32) { return w_as_##PAIR(__shfl_sync(m, x.bits(), i, w)); } \
    W_FN PAIR __shfl_up_sync(u32 m, PAIR x, u32 i, int w = 32) { return w_as_##PAIR(__shfl_up_sync(m, x.bits(), i, w)); } \
    W_FN PAIR __shfl_down_sync(u32 m, PAIR x, u32 i, int w = 32) { return w_as_##PAIR(__shfl_down_sync(m, x.bits(), i, w)); } \
    W_FN PAIR __shfl_xor_sync(u32 m, PAIR x, int i, int w = 32) { return w_as_##PAIR(__shfl_xor_sync(m, x.bits(), i, w)); }
W_HALVES(f16, f16x2, __half22float2, half)
W_HALVES(bf16, bf16x2, __bfloat1622float2, bfloat16)
#undef W_HALVES
W_FN f16 atomicAdd(f16 *p, f16 x) { return __ushort_as_half(w_atom_add_f16(p, x.bits)); }
W_FN f16x2 atomicAdd(f16x2 *p, f16x2 x) { return w_as_f16x2(w_atom_add_f16x2(p, x.bits())); }
#if defined WEIR_SIM_H || __CUDA_ARCH__ >= 900
W_FN bf16 atomicAdd(bf16 *p, bf16 x) { return __ushort_as_bfloat16(w_atom_add_bf16(p, x.bits)); }
W_FN bf16x2 atomicAdd(bf16x2 *p, bf16x2 x) { return w_as_bf16x2(w_atom_add_bf16x2(p, x.bits())); }
#endif
typedef f16x2 half2, __half2;
typedef bf16x2 nv_bfloat162, __nv_bfloat162;

#endif
