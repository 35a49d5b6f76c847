// Arithmetic that is the same text on a GPU and in the simulator: inside weir_cuda.h and weir_sim.h, behind their own divisions and
// conversions. The build puts it there (cmake/embed.cmake).
W_FN i32 w_min(i32 a, i32 b) { return a < b ? a : b; }
W_FN i32 w_max(i32 a, i32 b) { return a > b ? a : b; }
W_FN u32 w_min_u32(u32 a, u32 b) { return a < b ? a : b; }
W_FN u32 w_max_u32(u32 a, u32 b) { return a > b ? a : b; }
W_FN u32 w_ceil_div_u32(u32 a, u32 b) { return w_div_u32(a, b) + (w_mod_u32(a, b) > 0); }
W_FN u64 w_min_u64(u64 a, u64 b) { return a < b ? a : b; }
W_FN u64 w_max_u64(u64 a, u64 b) { return a > b ? a : b; }
W_FN u64 w_ceil_div_u64(u64 a, u64 b) { return w_div_u64(a, b) + (w_mod_u64(a, b) > 0); }
W_FN i64 w_min_i64(i64 a, i64 b) { return a < b ? a : b; }
W_FN i64 w_max_i64(i64 a, i64 b) { return a > b ? a : b; }
W_FN i64 w_ceil_div_i64(i64 a, i64 b) { return w_div_i64(a, b) + (w_mod_i64(a, b) != 0 && (a < 0) == (b < 0)); }
W_FN i64 w_floor_div_i64(i64 a, i64 b) { return w_div_i64(a, b) - (w_mod_i64(a, b) != 0 && (a < 0) != (b < 0)); }
#define W_TO_SHORT(F) \
    W_FN i8 w_to_i8(F x) { return (i8)w_max(-128, w_min(127, w_to_i32(x))); } \
    W_FN u8 w_to_u8(F x) { return (u8)w_min_u32(255, w_to_u32(x)); } \
    W_FN i16 w_to_i16(F x) { return (i16)w_max(-32768, w_min(32767, w_to_i32(x))); } \
    W_FN u16 w_to_u16(F x) { return (u16)w_min_u32(65535, w_to_u32(x)); }
W_TO_SHORT(float)
W_TO_SHORT(double)
#undef W_TO_SHORT
// A number that no float need hold, rounded to odd: toward zero, and the last bit set unless that is exact. What a shorter float dtype
// rounds it to is what it rounds the number itself to.
W_FN float w_odd(double x) {
    float f = (float)x;
    u32 b = __float_as_uint(f);
    if ((double)f == x || x != x) return f;
    if (((double)f > x) == (x > 0)) b--; // it was rounded away from zero
    return __uint_as_float(b | 1);
}
W_FN float w_odd(i32 x) { return w_odd((double)x); }
W_FN float w_odd(u32 x) { return w_odd((double)x); }
// The low bits, of which only whether there are any matters here, make room for the others in a double.
W_FN float w_odd(i64 x) { return w_odd((double)(x >> 53 == 0 || x >> 53 == -1 ? x : (x & ~0xffffll) | (x & 0xffff ? 0x8000 : 0))); }
W_FN float w_odd(u64 x) { return w_odd((double)(x >> 53 == 0 ? x : (x & ~0xffffull) | (x & 0xffff ? 0x8000 : 0))); }
