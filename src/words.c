/* Words that are taken in emitted source. */
#include "words.h"

#include <ctype.h>
#include <string.h>

#include "embedded.h"

/* C++20, with the words of C and of common extensions. */
static const char keywords[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try "
    "typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq ";

/* Types that emitted text uses. */
static const char types[] =
    "bf16 bf16x2 e4m3 e5m2 f16 f16x2 f32 f64 i8 i16 i32 i64 tf32 u8 u16 u32 u64 float2 uint4 ";

/* Macros of the headers that the simulator's preamble includes, and what it makes macros of CUDA's names; families of more below. */
static const char macros[] =
    "assert blockDim blockIdx gridDim threadIdx warpSize errno linux unix i386 offsetof alloca NULL NAN INFINITY EOF MAXFLOAT "
    "SNAN SNANF SNANL HUGE_VAL HUGE_VALF HUGE_VALL BIG_ENDIAN BYTE_ORDER LITTLE_ENDIAN PDP_ENDIAN EXIT_FAILURE EXIT_SUCCESS "
    "RAND_MAX MB_CUR_MAX NFDBITS WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED CUDARTAPI CUDART_CB math_errhandling "
    "memcpy memmove memset clock ";
static const char *const macro_families[] = { "INT",      "UINT",  "M_",     "FP_",   "FD_",    "HUGE_VAL_",   "SNANF",
                                              "PTRDIFF_", "SIZE_", "WCHAR_", "WINT_", "MATH_",  "SIG_ATOMIC_", "CU_",
                                              "CUDA_",    "WEIR_", "FLT_",   "DBL_",  "LDBL_",  "CHAR_",       "SCHAR_",
                                              "UCHAR_",   "SHRT_", "USHRT_", "LONG_", "ULONG_", "LLONG_",      "ULLONG_" };

/* Variables and functions of emitted text itself. */
static const char locals[] =
    "main smem warp lane tid rank smem_base mbar ttid turn wtid wg kk a b f fh h i j q x y x0 x1 at twist row col out pairs "
    "first left quarter tmem iter stage bar nthreads elected tile task_sync next slot fabsf floorf fmaxf fminf min max "
    "atomicAdd leader right ";

/* What NVRTC declares before the first line: the kernel, a function at file scope, cannot have these names. Found by compiling a kernel of
 * each name that CUDA's and the C library's headers hold (CUDA 13.0); those beginning with cuda and make_ are not listed. */
static const char functions[] =
    "j0 j1 y0 y1 "
    "abs acos acosf acosh acoshf asin asinf asinh asinhf assert assign atan atan2 atan2f atanf atanh atanhf blockDim blockIdx "
    "cbrt cbrtf ceil ceilf clock64 clock_t copysign copysignf cos cosf cosh coshf cospi cospif cyl_bessel_i0 cyl_bessel_i0f "
    "cyl_bessel_i1 cyl_bessel_i1f dim3 erf erfc erfcf erfcinv erfcinvf erfcx erfcxf erff erfinv erfinvf exp exp10 exp10f exp2 "
    "exp2f expf expm1 expm1f fabs fabsf fdim fdimf fdivide fdividef floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf "
    "free frexp frexpf gridDim hypot hypotf ilogb ilogbf j0f j1f jn jnf labs ldexp ldexpf lgamma lgammaf llabs llmax llmin "
    "llrint llrintf llround llroundf log log10 log10f log1p log1pf log2 log2f logb logbf logf lrint lrintf lround lroundf "
    "malloc max min modf modff nan nanf nearbyint nearbyintf nextafter nextafterf norm norm3d norm3df norm4d norm4df normcdf "
    "normcdff normcdfinv normcdfinvf normf pow powf printf ptrdiff_t rcbrt rcbrtf remainder remainderf remquo remquof rhypot "
    "rhypotf rint rintf rnorm rnorm3d rnorm3df rnorm4d rnorm4df rnormf round roundf rsqrt rsqrtf scalbln scalblnf scalbn "
    "scalbnf sin sincos sincosf sincospi sincospif sinf sinh sinhf sinpi sinpif size_t sqrt sqrtf std tan tanf tanh tanhf "
    "tgamma tgammaf threadIdx trunc truncf ullmax ullmin umax umin va_arg va_copy va_end va_start warpSize y0f y1f yn ynf "
    "half half2 nv_bfloat16 nv_bfloat162 "; /* weir_halves.h */

static bool is_in(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *s = list; n && (s = strstr(s, word)) != NULL; s += n)
        if ((s == list || s[-1] == ' ') && s[n] == ' ') return true;
    return false;
}

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool is_macro(const char *s) { /* INT32_MAX, but not INT */
    for (size_t i = 0; i < sizeof macro_families / sizeof *macro_families; i++)
        if (begins(s, macro_families[i]) && strpbrk(s, "_0123456789")) return true;
    return is_in(macros, s);
}

bool weiri_is_ours(const char *s) { return begins(s, "w_") || begins(s, "W_"); }
static bool is_compilers(const char *s) { return s[0] == '_' && (s[1] == '_' || (s[1] >= 'A' && s[1] <= 'Z')); }

const char *weiri_taken_by(const char *s) {
    if (is_in(keywords, s)) return "a word of C++";
    if (is_in(types, s)) return "a type of the device preamble";
    if (is_macro(s)) return "a macro, or named like one";
    if (weiri_is_ours(s)) return "named like what the device preamble declares (w_)";
    if (is_compilers(s)) return "reserved for the compiler (__, _A)";
    return NULL;
}

bool weiri_is_family(const char *s) {
    return (is_macro(s) && !is_in(macros, s)) || weiri_is_ours(s) || is_compilers(s) || begins(s, "cuda") || begins(s, "make_");
}

bool weiri_is_local(const char *s) {
    if (is_in(locals, s)) return true;
    return *s && strchr("eiprtvx", *s) && s[1] && !s[1 + strspn(s + 1, "0123456789")];
}

bool weiri_is_function(const char *s) {
    const size_t n = strlen(s);
    return is_in(functions, s) || begins(s, "cuda") || begins(s, "make_") || (n > 2 && strcmp(s + n - 2, "_t") == 0);
}

bool weiri_in_preamble(const char *word) {
    static const char *const texts[] = { weiri_weir_cuda_h, weiri_weir_halves_h, weiri_weir_probe_h, weiri_weir_sim_h,
                                         weiri_weir_sim_cuda_h };
    const size_t n = strlen(word);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (const char *s = texts[i]; n && (s = strstr(s, word)) != NULL; s += n)
            if ((s == texts[i] || (!isalnum((unsigned char)s[-1]) && s[-1] != '_')) && !isalnum((unsigned char)s[n]) &&
                s[n] != '_')
                return true;
    return false;
}

