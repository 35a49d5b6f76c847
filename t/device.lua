-- What bodies take for granted of CUDA C++: one kernel whose branches each use a part of it, and what each thread must get, worked out here
-- in Lua. t/sim/device.t runs them in the simulator and compiles the same text with NVRTC, t/gpu/device.t runs them on a GPU.
local weir = require "weir"

local THREADS, WORDS = 64, 4
local device = { cases = {} }

-- ---- numbers ---------------------------------------------------------------------------------------------------------------------------

local function u32(x) return x & 0xffffffff end
local function i32(x) return ((x & 0xffffffff) ~ 0x80000000) - 0x80000000 end
local function f32(bits) return (string.unpack("<f", string.pack("<I4", u32(bits)))) end
local function bits(x) return (string.unpack("<I4", string.pack("<f", x))) end
local function dbits(x) return (string.unpack("<i8", string.pack("<d", x))) end
local INF, NAN = math.huge, 0 / 0

-- A double rounded to a number of `mant` stored bits and least normal exponent `emin`, to nearest even ("n") or toward 0, -inf, +inf.
local function round(x, mant, emin, mode)
  if x ~= x or x == 0 or x == INF or x == -INF then return x end
  local _, e = math.abs(x), 0
  local m = math.abs(x)
  while m >= 2 do m, e = m / 2, e + 1 end
  while m < 1 do m, e = m * 2, e - 1 end
  local unit = 2.0 ^ (math.max(e, emin) - mant)
  local q = x / unit                                      -- exact: a power of two
  local lo = math.floor(q)
  local d = q - lo
  local r
  if d == 0 then r = q
  elseif mode == "d" then r = lo
  elseif mode == "u" then r = lo + 1
  elseif mode == "z" then r = x < 0 and lo + 1 or lo
  else r = d > 0.5 and lo + 1 or d < 0.5 and lo or (lo % 2 == 0 and lo or lo + 1) end
  if r == 0 then return x < 0 and -0.0 or 0.0 end
  return r * unit
end
local function single(x, mode)
  local y = round(x, 23, -126, mode or "n")
  if math.abs(y) >= 2.0 ^ 128 and math.abs(x) < INF then
    if mode == "z" or (mode == "d" and x > 0) or (mode == "u" and x < 0) then return x > 0 and 0x1.fffffep127 or -0x1.fffffep127 end
    return x > 0 and INF or -INF
  end
  return y
end
-- halves as bits: format "f16" or "bf16"
local formats = { f16 = { mant = 10, emin = -14, most = 65504.0, bias = 15, nan = 0x7fff }, bf16 = { mant = 7, emin = -126, most = 0x1.fep127, bias = 127, nan = 0x7fff } }
local function half(x, name)
  local f = formats[name]
  if x ~= x then return f.nan end
  local sign = (x < 0 or 1 / x < 0) and 0x8000 or 0
  local y = math.abs(round(x, f.mant, f.emin, "n"))
  local top = (2 * f.bias + 1) << f.mant
  if y > f.most then return sign | top end
  if y == 0 then return sign end
  local e = f.emin
  while y >= 2.0 ^ (e + 1) do e = e + 1 end
  if y < 2.0 ^ f.emin then return sign | math.tointeger(y / 2.0 ^ (f.emin - f.mant)) end
  return sign | math.tointeger((y / 2.0 ^ e - 1) * (1 << f.mant)) + ((e + f.bias) << f.mant)
end
local function unhalf(h, name)
  local f = formats[name]
  local sign, e, m = h & 0x8000 ~= 0 and -1 or 1, (h & 0x7fff) >> f.mant, h & ((1 << f.mant) - 1)
  if e == 2 * f.bias + 1 then return m ~= 0 and NAN or sign * INF end
  return sign * (e == 0 and m * 2.0 ^ (f.emin - f.mant) or (1 + m / (1 << f.mant)) * 2.0 ^ (e - f.bias))
end

-- ---- inputs: three words a thread ------------------------------------------------------------------------------------------------------------

local state = 12345
local function random()
  state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
  return state >> 20 & 0xffffffff
end
-- any bits, with what often goes wrong first
local any = { {}, {}, {} }
for i = 1, THREADS do
  local odd = { 0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 0x00800080, 0xff00ff00, 0x12345678 }
  any[1][i] = odd[i] or random()
  any[2][i] = odd[(i + 2) % 11 + 1] or random()
  any[3][i] = odd[(i + 5) % 13 + 1] or random()
end
-- floats between 2^-6 and 2^6 and a few special ones
local floats, modest = { {}, {}, {} }, { {}, {}, {} }
local special = { 0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x7f7fffff, 0x3f800000, 0xbf000000, 0x4b000001 }
for j = 1, 3 do
  for i = 1, THREADS do
    local r = random()
    modest[j][i] = (r & 0x807fffff) | (121 + (r >> 23) % 13) << 23
    floats[j][i] = special[(i + 3 * j) % 40] or modest[j][i]
  end
end
-- pairs of halves: any bits but NaN payloads are left in, which come out as the one NaN
local pairs_in = { {}, {}, {} }
for j = 1, 3 do
  for i = 1, THREADS do
    local r = random()
    -- mostly of like size, so that sums round
    pairs_in[j][i] = i % 3 == 0 and r or (r & 0x83ff83ff) | 0x3c003c00 | (random() & 0x04000400)
  end
end

--- A case: name, code that fills o[0..3], inputs, want(i, a, b, c) -> words or floats. near: relative error allowed, of float results;
--- of those below `from` (near if left out) that of `from`.
local function case(name, inputs, code, want, near, from)
  table.insert(device.cases, { name = name, code = code, inputs = inputs, want = want, near = near, from = from or near })
end

-- ---- bits and whole numbers --------------------------------------------------------------------------------------------------------------------

local function popc(x) local n = 0 while x ~= 0 do n, x = n + (x & 1), x >> 1 end return n end
local function clz(x, w) for i = w - 1, 0, -1 do if x >> i & 1 == 1 then return w - 1 - i end end return w end
local function ffs(x, w) for i = 0, w - 1 do if x >> i & 1 == 1 then return i + 1 end end return 0 end
local function brev(x, w) local r = 0 for i = 0, w - 1 do r = r | (x >> i & 1) << (w - 1 - i) end return r end

case("__popc __clz __ffs __brev", any, "o[0] = __popc(a); o[1] = __clz((int)a); o[2] = __ffs((int)a); o[3] = __brev(a);",
  function(_, a) return popc(a), clz(a, 32), ffs(a, 32), brev(a, 32) end)
case("__popcll __clzll __ffsll __brevll", any, "const u64 l = (u64)b << 32 | (a & 0xff); o[0] = __popcll(l); o[1] = __clzll((i64)l); o[2] = __ffsll((i64)l) + 100; o[3] = (u32)(__brevll(l) >> 32) ^ (u32)__brevll(l);",
  function(_, a, b) local l = b << 32 | a & 0xff; local r = brev(l, 64) return popc(l), clz(l, 64), ffs(l, 64) + 100, u32(r >> 32 ~ r) end)
case("__byte_perm", any, "o[0] = __byte_perm(a, b, c); o[1] = __byte_perm(a, b, 0x3210); o[2] = __byte_perm(a, b, 0x5410); o[3] = __byte_perm(a, b, 0xba98);",
  function(_, a, b, c)
    local function perm(s)
      local r = 0
      for i = 0, 3 do
        r = r | ((b << 32 | a) >> 8 * (s >> 4 * i & 7) & 255) << 8 * i
      end
      return r
    end
    return perm(c), perm(0x3210), perm(0x5410), perm(0xba98)
  end)
case("funnel shifts", any, "o[0] = __funnelshift_l(a, b, c); o[1] = __funnelshift_r(a, b, c); o[2] = __funnelshift_lc(a, b, c & 63); o[3] = __funnelshift_rc(a, b, c & 63);",
  function(_, a, b, c)
    local l, n = b << 32 | a, c & 63
    local function left(k) return u32(k == 0 and b or l << k >> 32) end
    return left(c & 31), u32(l >> (c & 31)), n >= 32 and a or left(n), n >= 32 and b or u32(l >> n)
  end)
case("__mul24 __umul24 __mulhi __umulhi", any, "o[0] = __mul24((int)a, (int)b); o[1] = __umul24(a, b); o[2] = __mulhi((int)a, (int)b); o[3] = __umulhi(a, b);",
  function(_, a, b)
    local function s24(x) return ((x & 0xffffff) ~ 0x800000) - 0x800000 end
    return u32(s24(a) * s24(b)), u32((a & 0xffffff) * (b & 0xffffff)), u32(i32(a) * i32(b) >> 32), u32(a * b >> 32)
  end)
case("__umul64hi __mul64hi", any, "const u64 x = (u64)a << 32 | b, y = (u64)c << 32 | a; const u64 p = __umul64hi(x, y), q = (u64)__mul64hi((i64)x, (i64)y); o[0] = (u32)p; o[1] = (u32)(p >> 32); o[2] = (u32)q; o[3] = (u32)(q >> 32);",
  function(_, a, b, c)
    local mid = b * a >> 32                               -- low by low, its carry
    local t = a * a + mid                                 -- may wrap: taken apart below
    local t1 = (a * a & 0xffffffff) + mid
    local lo = b * c + (t1 & 0xffffffff)
    local carry = math.ult(lo, b * c) and 1 << 32 or 0
    local p = a * c + (a * a >> 32) + (t1 >> 32) + (lo >> 32) + carry
    local x, y = a << 32 | b, c << 32 | a
    local q = p - (x < 0 and y or 0) - (y < 0 and x or 0)
    return u32(p), u32(p >> 32), u32(q), u32(q >> 32), t
  end)
case("__sad __usad __hadd __rhadd", any, "o[0] = __sad((int)a, (int)b, c); o[1] = __usad(a, b, c); o[2] = (u32)__hadd((int)a, (int)b); o[3] = (u32)__rhadd((int)a, (int)b);",
  function(_, a, b, c) local s = i32(a) + i32(b) return u32(math.abs(i32(a) - i32(b)) + c), u32(math.abs(a - b) + c), u32(s >> 1), u32((s + 1) >> 1) end)
case("__uhadd __urhadd __fns", any, "o[0] = __uhadd(a, b); o[1] = __urhadd(a, b); o[2] = __fns(a, 3, 2); o[3] = __fns(a, 30, -2);",
  function(_, a, b)
    local function fns(base, n)
      local step, left = n < 0 and -1 or 1, math.abs(n)
      for i = base, n < 0 and 0 or 31, step do
        if a >> i & 1 == 1 then left = left - 1 if left == 0 then return i end end
      end
      return 0xffffffff
    end
    return (a + b) >> 1, (a + b + 1) >> 1, fns(3, 2), fns(30, -2)
  end)
local function s8(x, i) return ((x >> 8 * i & 255) ~ 128) - 128 end
local function s16(x, i) return ((x >> 16 * i & 65535) ~ 32768) - 32768 end
case("__dp4a __dp2a", any, "o[0] = (u32)__dp4a((int)a, (int)b, (int)c); o[1] = __dp4a(a, b, c); o[2] = (u32)__dp2a_lo((int)a, (int)b, (int)c); o[3] = __dp2a_hi(a, b, c);",
  function(_, a, b, c)
    local s, u, lo, hi = c, c, c, c
    for i = 0, 3 do s, u = s + s8(a, i) * s8(b, i), u + (a >> 8 * i & 255) * (b >> 8 * i & 255) end
    for i = 0, 1 do lo, hi = lo + s16(a, i) * s8(b, i), hi + (a >> 16 * i & 65535) * (b >> 8 * (i + 2) & 255) end
    return u32(s), u32(u), u32(lo), u32(hi)
  end)
case("min and max of mixed signs", any, "o[0] = min((int)a, (int)b); o[1] = max(a, (int)b); o[2] = (u32)(min((long long)(int)a, 5ll) >> 1); o[3] = (u32)(max((u64)a << 4, (u64)b) >> 3);",
  function(_, a, b) return u32(math.min(i32(a), i32(b))), math.max(a, b), u32(math.min(i32(a), 5) >> 1), u32(math.max(a << 4, b) >> 3) end)
case("w_quotient: by a reciprocal", any, [[
  const i32 x = (i32)(a >> 1), d = (i32)(b >> 1 >> (c & 31)) | (c >> 5 & 1 ? 0 : 1), by = d > 0 ? d : 1, near = (i32)((u32)x / (u32)by * (u32)by);
  o[0] = (u32)w_quotient(x, by, w_reciprocal(by)); o[1] = (u32)w_quotient(near, by, w_reciprocal(by)); o[2] = (u32)w_quotient(near ? near - 1 : 0, by, w_reciprocal(by));
  o[3] = (u32)w_quotient(x, 1, w_reciprocal(1));]],
  function(_, a, b, c)
    local x, d = a >> 1, math.max(1, b >> 1 >> (c & 31) | (c >> 5 & 1 == 1 and 0 or 1))
    return x // d, x // d, math.max(0, x // d * d - 1) // d, x
  end)
-- ptxas must not see the negation (weir_cuda.h, w_neg): each form, of numbers with ties and signs.
local forms = {
  { "X(X(a, N(a)), b)", "X(b, X(a, N(a)))", "X(A(a), N(A(a)))", "X(b, X(A(a), N(A(a))))" }, { "M(b, X(a, N(a)))", "X(X(a, N(b)), c)", "M(M(a, N(b)), c)", "X(M(a, N(b)), c)" },
  { "M(X(a, N(b)), c)", "X(a, N(X(b, c)))", "X(c, N(A(a)))", "M(c, N(A(a)))" }, { "X(b, N(a))", "X(A(a), N(b))", "X(X(A(a), N(b)), c)", "X(A(a), A(b))" },
  { "X(X(A(a), A(b)), c)", "M(A(a), N(A(b)))", "X(X(N(a), N(b)), N(c))", "A(X(b, A(A(a))))" }, { "M(M(N(a), N(b)), c)", "X(N(M(a, b)), c)", "M(N(X(a, b)), N(c))", "A(A(A(a)))" },
  { "N(X(A(a), b))", "X(M(A(a), b), c)", "M(X(N(a), b), N(c))", "X(N(X(a, N(b))), M(N(c), a))" },
}
for _, four in ipairs(forms) do
  local body, want = { "const i32 p = (i32)a >> 24, q = (i32)b >> 24, r = (i32)c >> 24;" }, {}
  for i, form in ipairs(four) do
    body[i + 1] = ("o[%d] = (u32)%s;"):format(i - 1, form:gsub("%a", { X = "w_max", M = "w_min", N = "w_neg", a = "p", b = "q", c = "r" }):gsub("A(%b())", "A%1"))
    want[i] = load("local X, M, N, A, a, b, c = ... return " .. form)
  end
  case("negated: " .. table.concat(four, ", "), any, "#define A(x) w_max(x, w_neg(x))\n" .. table.concat(body, " ") .. "\n#undef A\n", function(_, a, b, c)
    local out = {}
    for i, f in ipairs(want) do out[i] = u32(f(math.max, math.min, function(x) return -x end, math.abs, i32(a) // 0x1000000, i32(b) // 0x1000000, i32(c) // 0x1000000)) end
    return table.unpack(out)
  end)
end

-- Lanes of a word: f(unsigned a, b; signed a, b; top; all)
local function lanes(n, a, b, f)
  local w = 32 // n
  local all, top, r = (1 << w) - 1, 1 << (w - 1), 0
  for i = 0, n - 1 do
    local x, y = a >> w * i & all, b >> w * i & all
    r = r | (f(x, y, (x ~ top) - top, (y ~ top) - top, top, all) & all) << w * i
  end
  return r
end
local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  local i = 0
  return function() i = i + 1 return names[i], t[names[i]] end
end
local function clamp(x, lo, hi) return math.max(lo, math.min(hi, x)) end
for name, f in sorted {
  add = function(x, y) return x + y end, sub = function(x, y) return x - y end,
  addss = function(_, _, x, y, t) return clamp(x + y, -t, t - 1) end, addus = function(x, y, _, _, _, all) return clamp(x + y, 0, all) end,
  subss = function(_, _, x, y, t) return clamp(x - y, -t, t - 1) end, subus = function(x, y) return math.max(x - y, 0) end,
  maxs = function(_, _, x, y) return math.max(x, y) end, maxu = function(x, y) return math.max(x, y) end, mins = function(_, _, x, y) return math.min(x, y) end,
  minu = function(x, y) return math.min(x, y) end, absdiffu = function(x, y) return math.abs(x - y) end, avgu = function(x, y) return (x + y + 1) >> 1 end,
  haddu = function(x, y) return (x + y) >> 1 end, cmpeq = function(x, y, _, _, _, all) return x == y and all or 0 end,
  cmpgts = function(_, _, x, y, _, all) return x > y and all or 0 end, cmpltu = function(x, y, _, _, _, all) return x < y and all or 0 end,
  avgs = function(_, _, x, y) return (x + y + (x + y >= 0 and 1 or 0)) >> 1 end, absdiffs = function(_, _, x, y) return math.abs(x - y) end,
  cmpne = function(x, y, _, _, _, all) return x ~= y and all or 0 end, cmpges = function(_, _, x, y, _, all) return x >= y and all or 0 end,
  cmpgeu = function(x, y, _, _, _, all) return x >= y and all or 0 end, cmpgtu = function(x, y, _, _, _, all) return x > y and all or 0 end,
  cmples = function(_, _, x, y, _, all) return x <= y and all or 0 end, cmpleu = function(x, y, _, _, _, all) return x <= y and all or 0 end,
  cmplts = function(_, _, x, y, _, all) return x < y and all or 0 end, seteq = function(x, y) return x == y and 1 or 0 end,
  setgeu = function(x, y) return x >= y and 1 or 0 end, setgts = function(_, _, x, y) return x > y and 1 or 0 end, setgtu = function(x, y) return x > y and 1 or 0 end,
  setles = function(_, _, x, y) return x <= y and 1 or 0 end, setleu = function(x, y) return x <= y and 1 or 0 end, setlts = function(_, _, x, y) return x < y and 1 or 0 end,
  setltu = function(x, y) return x < y and 1 or 0 end, setges = function(_, _, x, y) return x >= y and 1 or 0 end, setne = function(x, y) return x ~= y and 1 or 0 end,
} do
  case(("__v%s2 __v%s4"):format(name, name), any, ("o[0] = __v%s2(a, b); o[1] = __v%s4(a, b); o[2] = __v%s4(a, a); o[3] = __v%s2(b, c);"):format(name, name, name, name),
    function(_, a, b, c) return lanes(2, a, b, f), lanes(4, a, b, f), lanes(4, a, a, f), lanes(2, b, c, f) end)
end
case("__vabs4 __vabs2 __vneg4 __vabsss2 __vnegss2", any, "o[0] = __vabs4(a); o[1] = __vabs2(a); o[2] = __vneg4(a); o[3] = __vabsss2(a) ^ __vnegss2(b);",
  function(_, a, b)
    local function abs(_, _, x) return math.abs(x) end
    return lanes(4, a, 0, abs), lanes(2, a, 0, abs), lanes(4, a, 0, function(x) return -x end),
      lanes(2, a, 0, function(_, _, x, _, t) return math.min(math.abs(x), t - 1) end) ~ lanes(2, b, 0, function(_, _, x, _, t) return math.min(-x, t - 1) end)
  end)
case("__vsads2 __vsadu2 __vsads4", any, "o[0] = __vsads2(a, b); o[1] = __vsadu2(a, b); o[2] = __vsads4(a, b); o[3] = 0;",
  function(_, a, b)
    local s2, u2, s4 = 0, 0, 0
    for i = 0, 1 do s2, u2 = s2 + math.abs(s16(a, i) - s16(b, i)), u2 + math.abs((a >> 16 * i & 65535) - (b >> 16 * i & 65535)) end
    for i = 0, 3 do s4 = s4 + math.abs(s8(a, i) - s8(b, i)) end
    return s2, u2, s4, 0
  end)
case("__vabs __vneg __vsad", any, "o[0] = __vabsss4(a); o[1] = __vneg2(a); o[2] = __vsadu4(a, b); o[3] = __vnegss4(a);",
  function(_, a, b)
    local sad = 0
    for i = 0, 3 do sad = sad + math.abs((a >> 8 * i & 255) - (b >> 8 * i & 255)) end
    return lanes(4, a, 0, function(_, _, x, _, t) return math.min(math.abs(x), t - 1) end), lanes(2, a, 0, function(x) return -x end), sad,
      lanes(4, a, 0, function(_, _, x, _, t) return math.min(-x, t - 1) end)
  end)
case("__vimax3 __viaddmax", any, "o[0] = __vimax3_s32((int)a, (int)b, (int)c); o[1] = __vimin3_u32(a, b, c); o[2] = __viaddmax_s32((int)a, (int)b, (int)c); o[3] = __vimax3_s32_relu((int)a, (int)b, (int)c);",
  function(_, a, b, c)
    local x, y, z = i32(a), i32(b), i32(c)
    return u32(math.max(x, y, z)), math.min(a, b, c), u32(math.max(i32(x + y), z)), u32(math.max(x, y, z, 0))
  end)

case("__vimax3_s16x2 __viaddmin_u16x2 ...", any, "bool hi, lo; o[0] = __vimax3_s16x2(a, b, c); o[1] = __viaddmin_u16x2(a, b, c); o[2] = __viaddmax_s16x2_relu(a, b, c); o[3] = __vibmax_u16x2(a, b, &hi, &lo) ^ (u32)(hi * 2 + lo);",
  function(_, a, b, c)
    local function each(f)
      local r = 0
      for i = 0, 1 do r = r | (f(i) & 0xffff) << 16 * i end
      return r
    end
    local function h(x, i) return x >> 16 * i & 0xffff end
    local function wrap(x) return ((x & 0xffff) ~ 0x8000) - 0x8000 end
    local mark = 0
    local top = each(function(i) if h(a, i) >= h(b, i) then mark = mark | 1 << i end return math.max(h(a, i), h(b, i)) end)
    return each(function(i) return math.max(s16(a, i), s16(b, i), s16(c, i)) end), each(function(i) return math.min(h(a, i) + h(b, i) & 0xffff, h(c, i)) end),
      each(function(i) return math.max(wrap(s16(a, i) + s16(b, i)), s16(c, i), 0) end), top ~ mark
  end)

-- ---- conversions and floats --------------------------------------------------------------------------------------------------------------------

local function to_int(x, mode, lo, hi, nan)
  if x ~= x then return nan end
  local r = mode == "z" and (x < 0 and math.ceil(x) or math.floor(x)) or mode == "d" and math.floor(x) or mode == "u" and math.ceil(x)
  if mode == "n" then
    local f = math.floor(x)
    local d = x - f
    r = d > 0.5 and f + 1 or d < 0.5 and f or (f % 2 == 0 and f or f + 1)
  end
  return r <= lo and lo or r >= hi and hi or math.tointeger(r) or r
end
case("float to int, each rounding", floats, "o[0] = __float2int_rn(fa); o[1] = __float2int_rz(fa); o[2] = __float2int_rd(fa); o[3] = __float2int_ru(fa);",
  function(_, a)
    local x, lo, hi = f32(a), -2147483648, 2147483647
    return u32(to_int(x, "n", lo, hi, 0)), u32(to_int(x, "z", lo, hi, 0)), u32(to_int(x, "d", lo, hi, 0)), u32(to_int(x, "u", lo, hi, 0))
  end)
case("float and double to others", floats, "o[0] = __float2uint_rn(fa); o[1] = __double2int_rz((double)fa * 3); o[2] = (u32)(__float2ll_rd(fa) >> 31); o[3] = (u32)(__float2ull_rz(fa) >> 32);",
  function(_, a)
    local x = f32(a)
    local l = to_int(x, "d", math.mininteger, math.maxinteger, math.mininteger)
    local u = x ~= x and math.mininteger or x >= 2.0 ^ 64 and -1 or x >= 2.0 ^ 63 and math.tointeger(x - 2.0 ^ 63) | math.mininteger or x <= 0 and 0 or math.floor(x)
    return to_int(x, "n", 0, 4294967295, 0), u32(to_int(x * 3, "z", -2147483648, 2147483647, -2147483648)), u32(l >> 31), u32(u >> 32)
  end)
case("int to float, each rounding", any, "o[0] = __float_as_uint(__int2float_rn((int)a)); o[1] = __float_as_uint(__int2float_rz((int)a)); o[2] = __float_as_uint(__uint2float_ru(a)); o[3] = __float_as_uint(__ll2float_rd(-(long long)((u64)a << 20 | c & 0xfffff)));",
  function(_, a, _, c)
    local l = -(a << 20 | c & 0xfffff)
    return bits(single(i32(a) + 0.0)), bits(single(i32(a) + 0.0, "z")), bits(single(a + 0.0, "u")), bits(single(l + 0.0, "d"))
  end)
case("double to float, each rounding; parts", floats, "const double d = (double)fa * (double)fb; o[0] = __float_as_uint(__double2float_rn(d)); o[1] = __float_as_uint(__double2float_ru(d)); o[2] = (u32)__double2hiint(d) & 0x7fffffff; o[3] = (u32)__double_as_longlong(__hiloint2double(__double2hiint((double)fc), 5));",
  function(_, a, b)
    local d = f32(a) * f32(b)
    return bits(single(d)), bits(single(d, "u")), d ~= d and "nan" or dbits(d) >> 32 & 0x7fffffff, 5
  end)
for mode, letter in sorted { rn = "n", rz = "z", rd = "d", ru = "u" } do
  case("float arithmetic, " .. mode, modest, ("o[0] = __float_as_uint(__fadd_%s(fa, fb)); o[1] = __float_as_uint(__fmul_%s(fa, fb)); o[2] = __float_as_uint(__fdiv_%s(fa, fb)); o[3] = __float_as_uint(__fsqrt_%s(fabsf(fa)));"):format(mode, mode, mode, mode),
    function(_, a, b)
      local x, y = f32(a), f32(b)
      return bits(single(x + y, letter)), bits(single(x * y, letter)), bits(single(x / y, letter)), bits(single(math.sqrt(math.abs(x)), letter))
    end)
  case("fused, " .. mode, modest, ("o[0] = __float_as_uint(__fmaf_%s(fa, fb, 1.f)); o[1] = __float_as_uint(__frcp_%s(fa)); o[2] = __float_as_uint(__fsub_%s(fa, fb)); o[3] = (u32)__double2loint(__dadd_%s((double)fa, 0x1p-60));"):format(mode, mode, mode, mode),
    function(_, a, b)
      local x, y = f32(a), f32(b)
      local d, down = x, letter == "d" or (letter == "z" and x > 0)
      -- 2^-60 is below half an ulp of |x| >= 2^-6: only the direction counts
      local up = letter == "u" or (letter == "z" and x < 0)
      local n = dbits(d)
      if up then n = x > 0 and n + 1 or n - 1 end
      return bits(single(x * y + 1, letter)), bits(single(1 / x, letter)), bits(single(x - y, letter)), u32(n), down
    end)
end
case("fminf fmaxf with NaN, min, max", floats, "o[0] = __float_as_uint(fminf(fa, fb) + 0.f); o[1] = __float_as_uint(fmaxf(fa, fb) + 0.f); o[2] = __float_as_uint(max(fa, 2.f)); o[3] = __float_as_uint(__saturatef(fa));",
  function(_, a, b)
    local x, y = f32(a), f32(b)
    local lo = x ~= x and y or y ~= y and x or math.min(x, y)
    local hi = x ~= x and y or y ~= y and x or math.max(x, y)
    return lo ~= lo and "nan" or bits(lo + 0.0), hi ~= hi and "nan" or bits(hi + 0.0), bits(x ~= x and 2.0 or math.max(x, 2.0)), bits(x > 0 and math.min(x, 1.0) or 0.0)
  end)
local function fl(s) return ("o[0] = __float_as_uint(%s); o[1] = __float_as_uint(%s); o[2] = __float_as_uint(%s); o[3] = __float_as_uint(%s);"):format(table.unpack(s)) end
local function small(x) return x / 64 end                 -- within -1 .. 1
case("__expf __logf __powf __exp10f", modest, fl { "__expf(fa / 8)", "__logf(fabsf(fa) + 2)", "__powf(fabsf(fa), 1.5f)", "__exp10f(fa / 32)" },
  function(_, a) local x = f32(a) return math.exp(x / 8), math.log(math.abs(x) + 2), math.abs(x) ^ 1.5, 10 ^ (x / 32) end, 1e-4)
case("__sinf __cosf __log2f __log10f", modest, fl { "__sinf(fa / 64)", "__cosf(fa / 64)", "__log2f(fabsf(fa) + 2)", "__log10f(fabsf(fa) + 2)" },
  function(_, a) local x = f32(a) return math.sin(small(x)), math.cos(small(x)), math.log(math.abs(x) + 2, 2), math.log(math.abs(x) + 2, 10) end, 1e-4,
  2.0 ^ -21.4 / 1e-4)                                     -- __sinf: 2^-21.41 absolute
case("rsqrtf __frsqrt_rn rcbrtf __fdividef", modest, fl { "rsqrtf(fabsf(fa))", "__frsqrt_rn(fabsf(fa))", "rcbrtf(fabsf(fa))", "__fdividef(fa, fb)" },
  function(_, a, b) local x = math.abs(f32(a)) return x ^ -.5, x ^ -.5, x ^ (-1 / 3), f32(a) / f32(b) end, 1e-6)
-- ex2, lg2, rcp and rsqrt .approx.ftz, tanh.approx (PTX ISA, their tables of special numbers): a row an argument, its bits
local ftz = {
  -- argument    w_exp2      w_log2      w_rcp       w_rsqrt     w_tanh
  { 0x00000001, 0x3f800000, 0xff800000, 0x7f800000, 0x7f800000, 0x00000001 },
  { 0x80000001, 0x3f800000, 0xff800000, 0xff800000, 0xff800000, 0x80000001 },
  { 0x007fffff, 0x3f800000, 0xff800000, 0x7f800000, 0x7f800000, 0x007fffff },
  { 0x807fffff, 0x3f800000, 0xff800000, 0xff800000, 0xff800000, 0x807fffff },
  { 0x00000000, 0x3f800000, 0xff800000, 0x7f800000, 0x7f800000, 0x00000000 },
  { 0x80000000, 0x3f800000, 0xff800000, 0xff800000, 0xff800000, 0x80000000 },
  { 0x7f000000, 0x7f800000, "any",      0x00000000, "any",      0x3f800000 }, -- 2^127: its reciprocal is subnormal
  { 0xff000000, 0x00000000, "nan",      0x80000000, "nan",      0xbf800000 },
  { 0x7ec00000, 0x7f800000, "any",      0x00000000, "any",      0x3f800000 }, -- 1.5 * 2^126
  { 0x7f7fffff, 0x7f800000, "any",      0x00000000, "any",      0x3f800000 },
  { 0xff7fffff, 0x00000000, "nan",      0x80000000, "nan",      0xbf800000 },
  { 0x7f800000, 0x7f800000, 0x7f800000, 0x00000000, 0x00000000, 0x3f800000 },
  { 0xff800000, 0x00000000, "nan",      0x80000000, "nan",      0xbf800000 },
  { 0xc2fd0000, 0x00000000, "nan",      "any",      "nan",      0xbf800000 }, -- -126.5: 2 to it is subnormal
  { 0xc2fe0000, 0x00000000, "nan",      "any",      "nan",      0xbf800000 }, -- -127
  { 0xc3150000, 0x00000000, "nan",      "any",      "nan",      0xbf800000 }, -- -149
}
local edges = { {}, {}, {} }
for j = 1, 3 do for i = 1, THREADS do edges[j][i] = ftz[(i - 1) % #ftz + 1][1] end end
case("w_exp2 w_log2 w_rcp w_rsqrt of subnormals and to them", edges, fl { "w_exp2(fa)", "w_log2(fa)", "w_rcp(fa)", "w_rsqrt(fa)" },
  function(i) return table.unpack(ftz[i % #ftz + 1], 2, 5) end)
case("w_tanh of subnormals", edges, fl { "w_tanh(fa)", "0.f", "0.f", "0.f" }, function(i) return ftz[i % #ftz + 1][6], 0, 0, 0 end)
case("__fdividef beyond 2^126", modest, fl { "__fdividef(fa, copysignf(0x1.8p126f, fb))", "__fdividef(fa, 0x1p125f)", "fdividef(fa, fb)", "__fdividef(0.f, fb)" },
  function(_, a, b) local x, y = f32(a), f32(b) return "zero", x / 2.0 ^ 125, x / y, "zero" end, 1e-5)
case("sinpif cospif exp10f normcdff", modest, fl { "sinpif(fa)", "cospif(fa)", "exp10f(fa / 32)", "normcdff(fa / 32)" },
  function(_, a)
    local x = f32(a)
    local r = math.fmod(x, 2)
    -- the integral of the normal density, by Simpson's rule from 0
    local z, n, s = x / 32, 2000, 0
    for i = 0, n do
      local t = z * i / n
      s = s + math.exp(-t * t / 2) * (i == 0 and 1 or i == n and 1 or i % 2 == 1 and 4 or 2)
    end
    return math.sin(math.pi * r), math.cos(math.pi * r), 10 ^ (x / 32), .5 + s * z / n / 3 / math.sqrt(2 * math.pi)
  end, 2e-5)
case("erfinvf undoes erff; norms", modest, fl { "erff(erfinvf(fa / 130))", "erfcf(erfcinvf(fabsf(fa) / 130))", "norm3df(fa, fb, fc)", "rhypotf(fa, fb)" },
  function(_, a, b, c) local x, y, z = f32(a), f32(b), f32(c) return x / 130, math.abs(x) / 130, math.sqrt(x * x + y * y + z * z), 1 / math.sqrt(x * x + y * y) end, 1e-5)
case("erfcxf normcdfinvf bessel", modest, fl { "erfcxf(fabsf(fa)) * 1.772454f * fabsf(fa) * (1 + .5f / (fa * fa))", "normcdff(normcdfinvf(fabsf(fa) / 130))", "cyl_bessel_i0f(0.f) + cyl_bessel_i1f(0.f)", "cyl_bessel_i1f(1e-3f) * 2000" },
  function(_, a) local x = math.abs(f32(a)) return x > 8 and 1 or "any", x / 130, 1, 1 end, 1e-3)
case("what C's math has, of floats", modest, fl { "fmodf(fa, fb)", "ldexpf(truncf(fa), 2) + rintf(fa) + ceilf(fb)", "atan2f(fa, fb) + hypotf(fa, fb)", "exp2f(fa / 16) + log1pf(fabsf(fb)) + fmaf(fa, fb, fc)" },
  function(_, a, b, c)
    local x, y, z = f32(a), f32(b), f32(c)
    local rint = to_int(x, "n", -1e9, 1e9, 0)
    return math.fmod(x, y), 4 * (x < 0 and math.ceil(x) or math.floor(x)) + rint + math.ceil(y), math.atan(x, y) + math.sqrt(x * x + y * y), 2 ^ (x / 16) + math.log(1 + math.abs(y)) + (x * y + z)
  end, 2e-5)

-- ---- halves --------------------------------------------------------------------------------------------------------------------------------------

local function both(name, f)                              -- f of two or three halves as doubles
  return function(...)
    local lo, hi = {}, {}
    for i, x in ipairs { ... } do lo[i], hi[i] = unhalf(x & 0xffff, name), unhalf(x >> 16, name) end
    return half(f(table.unpack(lo)), name) | half(f(table.unpack(hi)), name) << 16
  end
end
-- x * y + z of bf16 as a number that rounds like the exact one: x * y fits a double, the sum may not
local function fused(x, y, z)
  local p = x * y
  local s = p + z
  if s ~= s or s == INF or s == -INF or p == INF or p == -INF then return s end
  local t = s - p
  local e = (p - (s - t)) + (z - t)
  if e == 0 or s == 0 then return s end
  local n = dbits(s)                                      -- cut off, then odd
  if (e < 0) ~= (s < 0) then n = n - 1 end
  return (string.unpack("<d", string.pack("<i8", n | 1)))
end
local function least(x, y) return x ~= x and y or y ~= y and x or (x == y and (1 / x < 0 and x or y)) or math.min(x, y) end
local function most(x, y) return x ~= x and y or y ~= y and x or (x == y and (1 / x < 0 and y or x)) or math.max(x, y) end
for name, cuda in sorted { f16 = "half", bf16 = "bfloat16" } do
  case(name .. "x2: add, sub, mul, fma", pairs_in,
    ("const %sx2 x = w_as_%sx2(a), y = w_as_%sx2(b), z = w_as_%sx2(c); o[0] = (x + y).bits(); o[1] = __hsub2(x, y).bits(); o[2] = (x * y).bits(); o[3] = __hfma2(x, y, z).bits();"):format(name, name, name, name),
    function(_, a, b, c)
      return both(name, function(x, y) return x + y end)(a, b), both(name, function(x, y) return x - y end)(a, b), both(name, function(x, y) return x * y end)(a, b), both(name, fused)(a, b, c)
    end)
  case(name .. "x2: min, max, neg, abs", pairs_in,
    ("const %sx2 x = *(%sx2 *)&a, y = *(%sx2 *)&b; o[0] = __hmin2(x, y).bits(); o[1] = __hmax2(x, y).bits(); o[2] = (-x).bits(); o[3] = __habs2(x).bits();"):format(name, name, name),
    function(_, a, b) return both(name, least)(a, b), both(name, most)(a, b), a ~ 0x80008000, a & 0x7fff7fff end)
  case(name .. ": conversions by CUDA's names", modest,
    ("const auto p = __floats2%s2_rn(fa, fb); o[0] = p.bits(); o[1] = __float_as_uint(__low2float(p) + __high2float(p)); o[2] = __%s_as_ushort(__hfma(p.x, p.y, __float2%s(fc))); const float2 f = %s(p); o[3] = __float_as_uint(f.x * f.y);"):format(
      cuda, cuda, cuda, cuda == "half" and "__half22float2" or "__bfloat1622float2"),
    function(_, a, b, c)
      local x, y = half(f32(a), name), half(f32(b), name)
      local fx, fy = unhalf(x, name), unhalf(y, name)
      return x | y << 16, bits(single(fx + fy)), half(fused(fx, fy, unhalf(half(f32(c), name), name)), name), bits(single(fx * fy))
    end)
  case(name .. ": assignments round, sums of two are floats", modest,
    ("%s x(fa), y(fb); o[0] = __float_as_uint(x + y); x += y; o[1] = x.bits; x *= 3.f; o[2] = x.bits; o[3] = (u32)(x > y) | (u32)(__hmax(x, y).bits == x.bits) << 1;"):format(name),
    function(_, a, b)
      local x, y = unhalf(half(f32(a), name), name), unhalf(half(f32(b), name), name)
      local s = half(x + y, name)
      local t = half(unhalf(s, name) * 3, name)
      local z = unhalf(t, name)
      return bits(single(x + y)), s, t, (z > y and 1 or 0) | (z >= y and 2 or 0)
    end)
end
case("a product half way between two halves, and a sum that tells which: rounded once", any,
  "o[0] = __hfma2(w_as_bf16x2(0x3f813f81u), w_as_bf16x2(0x3fc03fc0u), w_as_bf16x2(0x0d808d80u)).bits(); o[1] = __hfma2(w_as_f16x2(0x3c013c01u), w_as_f16x2(0x3e003e00u), w_as_f16x2(0x00018001u)).bits(); o[2] = o[3] = 0;",
  function() return 0x3fc23fc1, 0x3e023e01, 0, 0 end)
case("fp8: to and fro", modest, "o[0] = e4m3(fa).bits; o[1] = e5m2(fa).bits; o[2] = __float_as_uint((float)e4m3(fa)); e5m2 q(fa); q += 1.f; o[3] = __float_as_uint(q);",
  function(_, a)
    local x = f32(a)
    local function to(mant, emin, bias, v)
      local y = math.abs(round(v, mant, emin, "n"))
      local e = emin
      while y >= 2.0 ^ (e + 1) do e = e + 1 end
      local b = y < 2.0 ^ emin and math.tointeger(y / 2.0 ^ (emin - mant)) or math.tointeger((y / 2.0 ^ e - 1) * (1 << mant)) + ((e + bias) << mant)
      return b | (v < 0 and 128 or 0)
    end
    return to(3, -6, 7, x), to(2, -14, 15, x), bits(round(x, 3, -6, "n")), bits(round(single(round(x, 2, -14, "n") + 1), 2, -14, "n"))
  end)

-- ---- lanes ---------------------------------------------------------------------------------------------------------------------------------------

case("shuffles of every kind and width", any, "o[0] = __shfl_sync(~0u, a, lane / 3); o[1] = __shfl_up_sync(~0u, a, 3, 16); o[2] = __shfl_down_sync(~0u, a, 5, 8); o[3] = __shfl_xor_sync(~0u, a, 9, 16);",
  function(i, _, _, _, all)
    local w, l = i // 32 * 32, i % 32
    local function at(k) return all[1][w + k + 1] end
    return at(l // 3), at(l % 16 >= 3 and l - 3 or l), at(l % 8 + 5 < 8 and l + 5 or l), at(l ~ 9)
  end)
case("shuffles within some lanes", any, "if (lane < 12) { o[0] = __shfl_xor_sync(0xfffu, a, 1); o[1] = __ballot_sync(0xfffu, a & 1); } else { o[0] = (u32)__any_sync(0xfffff000u, a == b); o[1] = (u32)__all_sync(0xfffff000u, 1) + 5; } o[2] = __popc(__ballot_sync(~0u, b & 4)); o[3] = 0;",
  function(i, _, _, _, all)
    local w, l = i // 32 * 32, i % 32
    local ballot, any_same, four = 0, 0, 0
    for k = 0, 31 do
      if k < 12 and all[1][w + k + 1] & 1 == 1 then ballot = ballot | 1 << k end
      if k >= 12 and all[1][w + k + 1] == all[2][w + k + 1] then any_same = 1 end
      if all[2][w + k + 1] & 4 ~= 0 then four = four + 1 end
    end
    if l < 12 then return all[1][w + (l ~ 1) + 1], ballot, four, 0 end
    return any_same, 6, four, 0
  end)
case("shuffles of other types", modest, "o[0] = __float_as_uint(__shfl_xor_sync(~0u, fa, 7)); const double d = __shfl_down_sync(~0u, (double)fa * 2, 4); o[1] = __float_as_uint((float)d); const f16 h = __shfl_sync(~0u, f16(fa), 3); o[2] = h.bits; o[3] = __shfl_xor_sync(~0u, bf16x2(fa, fb), 1).bits();",
  function(i, _, _, _, all)
    local w, l = i // 32 * 32, i % 32
    local k = w + (l ~ 1) + 1
    return all[1][w + (l ~ 7) + 1], bits(2 * f32(all[1][w + (l < 28 and l + 4 or l) + 1])), half(f32(all[1][w + 4]), "f16"), half(f32(all[1][k]), "bf16") | half(f32(all[2][k]), "bf16") << 16
  end)
case("reductions over a warp", any, "o[0] = __reduce_add_sync(~0u, a); o[1] = (u32)__reduce_max_sync(~0u, (int)a) ^ __reduce_min_sync(~0u, a); o[2] = __reduce_and_sync(~0u, a | 0xff) ^ __reduce_or_sync(~0u, b & 0xffff); o[3] = lane & 1 ? __reduce_xor_sync(0xaaaaaaaau, a) : (u32)__reduce_min_sync(0x55555555u, (int)b);",
  function(i, _, _, _, all)
    local w, l = i // 32 * 32, i % 32
    local sum, most_s, least_u, and_, or_, xor, least_s = 0, -2147483648, 0xffffffff, 0xffffffff, 0, 0, 2147483647
    for k = 0, 31 do
      local x, y = all[1][w + k + 1], all[2][w + k + 1]
      sum, most_s, least_u, and_, or_ = sum + x, math.max(most_s, i32(x)), math.min(least_u, x), and_ & (x | 0xff), or_ | y & 0xffff
      if k % 2 == 1 then xor = xor ~ x else least_s = math.min(least_s, i32(y)) end
    end
    return u32(sum), u32(most_s) ~ least_u, and_ ~ or_, l % 2 == 1 and xor or u32(least_s)
  end)
case("__match_any __match_all __activemask", any, "o[0] = __match_any_sync(~0u, a & 7); int p = 0, q = 0; o[1] = __match_all_sync(~0u, warp, &p) + (u32)p; o[2] = __match_all_sync(~0u, lane / 31, &q) + (u32)q; o[3] = __activemask() >> lane & 1; o[0] ^= __match_any_sync(~0u, (u64)(a & 1) << 40);",
  function(i, a, _, _, all)
    local w, m, n = i // 32 * 32, 0, 0
    for k = 0, 31 do
      local x = all[1][w + k + 1]
      if x & 7 == a & 7 then m = m | 1 << k end
      if x & 1 == a & 1 then n = n | 1 << k end
    end
    return m ~ n, 0, 0, 1
  end)
case("votes of the CTA", any, "o[0] = (u32)__syncthreads_count(a & 1); o[1] = (u32)(__syncthreads_or(tid == 40) != 0); o[2] = (u32)(__syncthreads_and(tid != 40) != 0); o[3] = (u32)(__syncthreads_and(1) != 0) + 2 * (u32)(__syncthreads_or(0) != 0);",
  function(_, _, _, _, all)
    local n = 0
    for k = 1, THREADS do n = n + (all[1][k] & 1) end
    return n, 1, 0, 1
  end)

-- ---- atomics: s is shared memory, zeroed, g global -----------------------------------------------------------------------------------------------

local function total(f) return function(_, _, _, _, all)
  local r = {}
  for k = 1, THREADS do r = f(r, k - 1, all[1][k], all[2][k]) or r end
  return table.unpack(r, 1, 4)
end end
for space, at in sorted { shared = "(u32 *)smem", global = "z" } do
  case("atomics of whole numbers, " .. space, any, ("u32 *const s = %s; if (tid < 10) s[tid] = tid == 3 ? 0xffffffffu : 0; task_sync(); atomicAdd((int *)s, (int)a); atomicSub(s + 1, b); atomicMax((int *)s + 2, (int)a); atomicMin(s + 3, a); atomicOr(s + 4, 1u << (tid & 31)); atomicXor(s + 5, a); atomicInc(s + 6, 9u); atomicAdd((unsigned long long *)s + 4, (unsigned long long)a << 8); task_sync(); o[0] = s[0] + s[1]; o[1] = s[2] ^ s[3]; o[2] = s[4] ^ s[5]; o[3] = s[6] + (s[9] << 8);"):format(at),
    (function()
      return function(_, _, _, _, all)
        local add, sub, most_s, least_u, xor, long = 0, 0, 0, 0xffffffff, 0, 0
        for k = 1, THREADS do
          local x, y = all[1][k], all[2][k]
          add, sub, most_s, least_u, xor, long = add + x, sub - y, math.max(most_s, i32(x)), math.min(least_u, x), xor ~ x, long + (x << 8)
        end
        return u32(add + sub), u32(most_s) ~ least_u, 0xffffffff ~ xor, u32(THREADS % 10 + ((long >> 32) << 8))
      end
    end)())
  case("atomics of floats and halves, " .. space, any, ("float *const s = (float *)%s; if (tid < 8) s[tid] = 0; task_sync(); atomicAdd(s, (float)(tid & 7)); atomicAdd((double *)s + 1, (double)tid / 2); atomicAdd((f16 *)s + 2, f16(1.f)); atomicAdd((bf16 *)s + 3, bf16(.5f)); atomicAdd((f16x2 *)s + 4, f16x2(1.f, 2.f)); atomicAdd((bf16x2 *)s + 5, bf16x2(.25f, 1.f)); task_sync(); o[0] = __float_as_uint(s[0]); o[1] = __float_as_uint((float)((double *)s)[1]); o[2] = ((u32 *)s)[1]; o[3] = __float_as_uint((float)((f16x2 *)s)[4].y + (float)((bf16x2 *)s)[5].x);"):format(at),
    total(function(r, k)
      local f, d = (r.f or 0) + k % 8, (r.d or 0) + k / 2
      return { bits(f), bits(d), half(THREADS + 0.0, "f16") | half(THREADS / 2, "bf16") << 16, bits(2.0 * THREADS + THREADS / 4), f = f, d = d }
    end))
end
case("atomicCAS makes any other; atomicExch, atomicDec, _block", any, "u32 *const s = (u32 *)smem; if (tid < 4) s[tid] = tid == 2 ? 5 : 0; task_sync(); u32 old = atomicAdd(s, 0u), seen; do { seen = old; old = atomicCAS(s, seen, seen + (a & 0xff)); } while (old != seen); atomicExch(s + 1, 7u); atomicDec(s + 2, 5u); atomicCAS((unsigned short *)(s + 3), (unsigned short)0, (unsigned short)9); atomicAdd_block((int *)s + 3, 1 << 16); task_sync(); o[0] = s[0]; o[1] = s[1]; o[2] = s[2]; o[3] = s[3];",
  function(_, _, _, _, all)
    local n = 0
    for k = 1, THREADS do n = n + (all[1][k] & 0xff) end
    return n, 7, (5 - THREADS) % 6, 9 + (THREADS << 16)
  end)
case("atomicAdd of float2 and float4", any, "float *const s = (float *)z; if (tid < 6) s[tid] = 0; task_sync(); atomicAdd((float2 *)(s + 4), make_float2(1.f, 2.f)); atomicAdd((float4 *)s, make_float4(1.f, 2.f, 3.f, (float)tid)); task_sync(); o[0] = (u32)s[4]; o[1] = (u32)s[5]; o[2] = (u32)(s[0] + s[1] + s[2]); o[3] = (u32)s[3];",
  function() return THREADS, 2 * THREADS, 6 * THREADS, THREADS * (THREADS - 1) // 2 end)

-- ---- the language, vectors, loads ----------------------------------------------------------------------------------------------------------------

case("lambdas, structs, constexpr, if constexpr, generic lambdas", any, [[
  struct pair { u32 x, y; u32 sum() const { return x + y; } pair operator*(u32 n) const { return { x * n, y * n }; } };
  constexpr int N = 5;
  u32 list[N];
  for (int i = 0; i < N; i++) list[i] = a + i;
  auto twice = [](auto x) { return x + x; };
  auto add = [&](u32 n) { return list[n % N] + b; };
  const pair p = pair{ a, b } * 3;
  o[0] = p.sum(); o[1] = add(c); o[2] = twice(a) + (u32)twice(1.5f);
  if constexpr (sizeof(float) == 4) o[3] = list[4]; else o[3] = 0;]],
  function(_, a, b, c) return u32(3 * (a + b)), u32(a + c % 5 + b), u32(2 * a + 3), u32(a + 4) end)
case("vector types", any, "const float4 v = make_float4(1, 2, 3, 4); const uint4 u = *(const uint4 *)&v; const uchar4 q = make_uchar4(1, 2, 3, 4); const char2 n = make_char2(-1, 2); const short4 m = make_short4(1, -2, 3, -4); const double2 d = { 1.5, 2.5 }; dim3 g(2, 3); const uint3 t = threadIdx; o[0] = u.x ^ u.w; o[1] = *(const u32 *)&q + (u32)(n.x + n.y); o[2] = (u32)(m.x + m.y + m.z + m.w) + (u32)(d.x + d.y); o[3] = g.x * 100 + g.y * 10 + g.z + t.x + blockDim.x * warpSize + (u32)sizeof(longlong4) + (u32)alignof(float4) + (u32)sizeof(float3);",
  function(i) return 0x3f800000 ~ 0x40800000, 0x04030201 + 1, u32(-2 + 4), 231 + i + 128 * 32 + 32 + 16 + 12 end)
case("loads and stores with a hint", any, "const uint4 v = __ldg((const uint4 *)x + tid / 8); z[tid] = a; task_sync(); o[0] = v.x + v.w; o[1] = __ldcg(x + tid) + __ldcs(x + tid) + __ldca(x + tid) + __ldcv(x + tid); __stcg(o + 2, a ^ b); __stcs((float *)o + 3, 2.f); const float2 w = __ldg((const float2 *)x); (void)w;",
  function(i, a, b, _, all) local k = i // 8 * 4 return u32(all[1][k + 1] + all[1][k + 4]), u32(4 * a), a ~ b, bits(2.0) end)
case("types of <stdint.h>, limits", any, "uint8_t p = (uint8_t)a; int64_t q = INT_MIN; uint32_t r = UINT_MAX; size_t s = sizeof(uint64_t) + sizeof(intptr_t); o[0] = p; o[1] = (u32)(q >> 31); o[2] = r; o[3] = (u32)s + (u32)isnan(NAN) + 2 * (u32)(INFINITY > FLT_MAX) + 4 * (u32)(DBL_MAX > 1e300 && ULLONG_MAX == ~0ull);",
  function(_, a) return a & 255, 0xffffffff, 0xffffffff, 16 + 7 end)
case("clocks go up; address spaces", any, "const long long t = clock64(); const int t32 = (int)clock(); __nanosleep(20); o[0] = (u32)(clock64() > t); o[1] = (u32)((int)clock() != t32); u32 mine = a; o[2] = __isShared(smem) + 2 * __isGlobal(x) + 4 * __isShared(x) + 8 * __isLocal(smem); o[3] = (u32)(*(u8 **)0 == nullptr ? 0 : 0) + mine - mine + (u32)(__cvta_shared_to_generic(__cvta_generic_to_shared(smem)) == (void *)smem); __prof_trigger(0); if (a == 1 && b == 1 && c == 77) __brkpt();",
  function() return 1, 1, 3, 1 end)

-- ---- the kernel ----------------------------------------------------------------------------------------------------------------------------------

function device.kernel()
  local k = weir.kernel { name = "device", arch = "sm_90a" }
  local X = k:tensor { name = "x", dtype = "u32", shape = { 3 * THREADS } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { WORDS * THREADS }, out = true }
  local Z = k:tensor { name = "z", dtype = "u32", shape = { 256 }, out = true }
  local which = k:scalar { name = "which", dtype = "i32" }
  local text = {}
  for i, c in ipairs(device.cases) do text[i] = ("if (which == %d) { // %s\n%s\n}"):format(i, c.name, c.code) end
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 1024 }, bind = { x = X, y = Y, z = Z },
    work = { run = weir.producer_work { params = "i32 which", code = ([[
      u32 a = x[tid], b = x[tid + %d], c = x[tid + %d], *o = y + %d * tid;
      const float fa = __uint_as_float(a), fb = __uint_as_float(b), fc = __uint_as_float(c);
      (void)fa, (void)fb, (void)fc;
      ]]):format(THREADS, 2 * THREADS, WORDS) .. table.concat(text, "\n") } } }
  k:task { name = "one", warps = { 0, THREADS // 32 }, schedule = function() s:run(which) end }
  return k
end

-- Results that are wrong: "thread 3, o[1]: 0x... wanted, 0x... seen".
local function compare(c, words)
  local wrong = {}
  for i = 0, THREADS - 1 do
    local want = { c.want(i, c.inputs[1][i + 1], c.inputs[2][i + 1], c.inputs[3][i + 1], c.inputs) }
    for j = 1, WORDS do
      local w, seen = want[j], words[WORDS * i + j] & 0xffffffff
      local good
      if w == "any" then good = true
      elseif w == "nan" then good = f32(seen) ~= f32(seen)
      elseif w == "zero" then good = f32(seen) == 0
      elseif c.near then
        local v = f32(seen)
        good = math.abs(v - w) <= c.near * math.max(math.abs(w), c.from)
      else good = w == seen or (type(w) == "number" and w & 0x7fffffff > 0x7f800000 and c.inputs == floats and f32(seen) ~= f32(seen)) end
      if not good then wrong[#wrong + 1] = ("thread %d, o[%d]: %s wanted, %s seen"):format(i, j - 1, (c.near or type(w) == "string") and w or ("0x%x"):format(w), c.near and f32(seen) or ("0x%x"):format(seen)) end
    end
  end
  return wrong
end

-- ---- mbarriers and bulk copies of a body's own ------------------------------------------------------------------------------------------------------
-- 128 threads; `at`: shared memory, x { 1024 } to read, y { 1024 } to write. want(i): y[i], for the first of them.

local copies = {
  { "a bulk load, expected and waited for", "if (tid == 0) { w_mbar_expect(full, 512); w_bulk_load(at, x + 64, 512, full); } w_mbar_wait(full, 0); y[tid] = ((u32 *)smem)[tid];",
    function(i, x) return x(64 + i) end },
  { "two bulk loads, their bytes expected before the arrival", "if (tid == 0) { w_mbar_expect_tx(full, 256); w_bulk_load(at, x, 256, full); w_mbar_expect_tx(full, 256); w_bulk_load(at + 256, x + 512, 256, full); w_mbar_arrive(full); } w_mbar_wait(full, 0); y[tid] = ((u32 *)smem)[tid];",
    function(i, x) return i < 64 and x(i) or x(512 + i - 64) end },
  { "two phases, one load each", "if (tid == 0) { w_mbar_expect(full, 512); w_bulk_load(at, x, 512, full); } w_mbar_wait(full, 0); const u32 v = ((u32 *)smem)[tid]; w_fence_async(); task_sync(); if (tid == 0) { w_mbar_expect(full, 512); w_bulk_load(at, x + 128, 512, full); } w_mbar_wait(full, 1); y[tid] = v + ((u32 *)smem)[tid];",
    function(i, x) return x(i) + x(128 + i) end },
  { "arrivals by the dozen, after inval and with another count", "task_sync(); if (tid == 0) { w_mbar_inval(full); w_mbar_init(full, 128 + 12); w_fence_mbar_init(); } task_sync(); ((u32 *)smem)[tid] = tid; if (tid == 77) w_mbar_arrive_n(full, 12); w_mbar_arrive(full); w_mbar_wait(full, 0); y[tid] = ((u32 *)smem)[127 - tid];",
    function(i) return 127 - i end },
  { "memory of an mbarrier, used again after inval", "task_sync(); if (tid == 0) { w_mbar_inval(full); *(u64 *)(smem + 3072) = 5; } task_sync(); y[tid] = *(u32 *)(smem + 3072) + tid;",
    function(i) return 5 + i end },
  { "a bulk store of what threads wrote", "((u32 *)smem)[tid] = 3 * tid; w_fence_async(); task_sync(); if (tid == 0) { w_bulk_store(y, at, 512); w_bulk_commit(); w_bulk_wait<0>(); }",
    function(i) return 3 * i end },
  { "cp.async of 4, 8 and 16 bytes, the rest zeros", "u32 *const s = (u32 *)smem; s[tid] = s[128 + 2 * tid] = s[129 + 2 * tid] = ~0u; if (tid < 64) s[384 + 4 * tid + 3] = ~0u; w_cp_async<4>(at + 4 * tid, x + tid, tid % 3 ? 4 : 2); w_cp_commit(); w_cp_async<8>(at + 512 + 8 * tid, x + 2 * tid, tid % 3 * 4); w_cp_commit(); if (tid < 64) w_cp_async<16>(at + 1536 + 16 * tid, x + 4 * tid, tid & 1 ? 16 : 12); w_cp_commit(); w_cp_wait<1>(); u32 v = s[tid] ^ s[128 + 2 * tid] ^ s[129 + 2 * tid]; w_cp_wait<0>(); y[tid] = tid < 64 ? v ^ s[384 + 4 * tid + 3] : v;",
    function(i, x)
      local v = (i % 3 == 0 and x(i) & 0xffff or x(i)) ~ (i % 3 >= 1 and x(2 * i) or 0) ~ (i % 3 == 2 and x(2 * i + 1) or 0)
      return i < 64 and v ~ (i % 2 == 1 and x(4 * i + 3) or 0) or v
    end },
  { "cp.async that arrive on an mbarrier, read by others", "task_sync(); if (tid == 0) { w_mbar_inval(full); w_mbar_init(full, 128); w_fence_mbar_init(); } task_sync(); w_cp_async<4>(at + 4 * tid, x + tid, 4); w_mbar_cp_async_arrive(full); w_mbar_wait(full, 0); y[tid] = ((u32 *)smem)[tid ^ 65]; w_cp_commit(); w_cp_wait<0>();",
    function(i, x) return x(i ~ 65) end },
  { "two pairs of warps in turn, by named barriers", "u32 *const s = (u32 *)smem, sum = 0; for (u32 i = 0; i < 5; i++) { if (warp < 2) { if (i) w_bar_sync(6, 128); s[tid] = i * 100 + tid; w_bar_arrive(5, 128); } else { w_bar_sync(5, 128); sum += s[127 - tid]; if (i < 4) w_bar_arrive(6, 128); } } y[tid] = sum;",
    function(i) return i < 64 and 0 or 1000 + 5 * (127 - i) end },
  { "a warp's matrices, out of registers and back, transposed", "u32 r[4]; w_stmatrix4t(at + 16 * lane + 512 * warp, tid, tid + 1, tid + 2, tid + 3); w_sync_warp(); w_ldmatrix4t(at + 16 * lane + 512 * warp, r); u32 q[2]; w_ldmatrix2(at + 16 * (lane & 15) + 512 * warp, q); y[tid] = r[0] + r[1] + r[2] + r[3] + 16 * (w_movmatrix(q[1]) - tid - 1);",
    function(i) return 4 * i + 6 end },
  { "loaded and stored again by the copy engine, in two groups", "if (tid == 0) { w_mbar_expect(full, 1024); w_bulk_load(at, x, 1024, full); w_mbar_wait(full, 0); w_bulk_store(y, at + 512, 512); w_bulk_commit(); w_bulk_store(y + 128, at, 512); w_bulk_commit(); w_bulk_wait<1>(); w_bulk_wait_read<0>(); w_bulk_wait<0>(); }",
    function(i, x) return i < 128 and x(128 + i) or x(i - 128) end, 256 },
}
for _, t in ipairs { { "f32", 4 }, { "f64", 8 }, { "f16", 2 }, { "bf16", 2 }, { "i32", 4 }, { "u32", 4 }, { "u64", 8 } } do
  local name, size = t[1], t[2]
  table.insert(copies, { "bulk additions of " .. name, ([[
    %s *const s = (%s *)smem, *const d = (%s *)(y + 512);
    s[tid] = (%s)(float)(tid %% 9); d[tid] = (%s)(float)(tid %% 5); w_fence_async(); __threadfence(); task_sync();
    if (tid == 0) { w_bulk_reduce_add(d, at, %d); w_bulk_reduce_add(d, at, %d); w_bulk_commit(); w_bulk_wait<0>(); }
    task_sync(); y[tid] = (u32)(float)d[tid];]]):format(name, name, name, name, name, 128 * size, 128 * size),
    function(i) return 2 * (i % 9) + i % 5 end })
end

function device.copier()
  local k = weir.kernel { name = "copier", arch = "sm_90a" }
  local X = k:tensor { name = "x", dtype = "u32", shape = { 1024 } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { 1024 }, out = true }
  local which = k:scalar { name = "which", dtype = "i32" }
  local text = {}
  for i, c in ipairs(copies) do text[i] = ("if (which == %d) {\n%s\n}"):format(i, c[2]) end
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 4096 }, bind = { x = X, y = Y }, work = { run = weir.producer_work { params = "i32 which",
    code = "const u32 at = w_addr(smem), full = at + 3072;\nif (tid == 0) { w_mbar_init(full, 1); w_fence_mbar_init(); } task_sync();\n" .. table.concat(text, "\n") } } }
  k:task { name = "one", warps = { 0, 4 }, schedule = function() s:run(which) end }
  return k
end

--- The copies above, each with several seeds where a seed means something.
function device.run_copies(dev, check, device_of)
  local program = device.copier():build { device = dev }
  for i, c in ipairs(copies) do
    local wrong = {}
    for seed = 1, device_of and 8 or 1 do
      local d = device_of and device_of(seed) or dev
      local words = {}
      for j = 0, 1023 do words[j + 1] = 7 * j + 1 end
      local x, y = d:tensor { dtype = "u32", shape = { 1024 } }:set(words), d:tensor { dtype = "u32", shape = { 1024 } }:fill(0)
      local ok, message = program:launch({ x = x, y = y, which = i }, { device = d, grid = 1 })
      if ok and d.sync then ok, message = d:sync() end
      if ok == nil then wrong[1] = tostring(message) end
      local seen = ok ~= nil and y:get() or {}
      for j = 0, #seen > 0 and (c[4] or 128) - 1 or -1 do
        local want = c[3](j, function(n) return words[n + 1] end)
        if want ~= seen[j + 1] and #wrong < 3 then wrong[#wrong + 1] = ("y[%d]: %d wanted, %d seen (seed %d)"):format(j, want, seen[j + 1], seed) end
      end
    end
    check(c[1], wrong)
  end
  return program
end

--- Runs every case on a device: check(name, wrong), wrong being what differs, at most three of them.
function device.run(dev, check)
  local program = device.kernel():build { device = dev }
  for i, c in ipairs(device.cases) do
    local words = {}
    for j = 1, 3 do table.move(c.inputs[j], 1, THREADS, (j - 1) * THREADS + 1, words) end
    local x = dev:tensor { dtype = "u32", shape = { 3 * THREADS } }:set(words)
    local y, z = dev:tensor { dtype = "u32", shape = { WORDS * THREADS } }:fill(0), dev:tensor { dtype = "u32", shape = { 256 } }:fill(0)
    local ok, message = program:launch({ x = x, y = y, z = z, which = i }, { device = dev, grid = 1 })
    if ok and dev.sync then ok, message = dev:sync() end
    check(c.name, ok == nil and { tostring(message) } or table.move(compare(c, y:get()), 1, 3, 1, {}))
  end
  return program
end

return device
