-- What generators draw from and references round with: dice, the numbers of a dtype.
--
--   local numbers = require "gen.numbers"
--   local d = numbers.dice(7)
--   d(6), d.range(0, 3), d.one { "a", "b" }, d.chance(30)
local numbers = {}

-- The same everywhere, whatever the machine.
function numbers.dice(seed)
  local x = (seed * 0x9e3779b97f4a7c15) ~ 0x2545f4914f6cdd1d
  local function next_bits()
    x = x ~ (x << 13); x = x ~ (x >> 7); x = x ~ (x << 17)
    return x >> 11
  end
  for _ = 1, 8 do next_bits() end
  local d = setmetatable({}, { __call = function(_, n) return next_bits() % n + 1 end })
  function d.range(a, b) return a + next_bits() % (b - a + 1) end
  function d.one(list) return list[next_bits() % #list + 1] end
  function d.chance(percent) return next_bits() % 100 < percent end
  function d.unit() return next_bits() / 9007199254740992.0 end    -- [0, 1)
  -- One of { { weight, x }, ... }.
  function d.weighted(list)
    local sum = 0
    for _, e in ipairs(list) do sum = sum + e[1] end
    local at = next_bits() % sum
    for _, e in ipairs(list) do
      if at < e[1] then return e[2] end
      at = at - e[1]
    end
  end
  function d.shuffle(list)
    for i = #list, 2, -1 do
      local j = next_bits() % i + 1
      list[i], list[j] = list[j], list[i]
    end
    return list
  end
  return d
end

-- ---- floats ----------------------------------------------------------------------------------------------------------------------

-- Bits of the significand behind the point, exponent of the smallest normal number, the largest number (nil: goes to infinity).
local float = { f16 = { 10, -14 }, bf16 = { 7, -126 }, f32 = { 23, -126 }, tf32 = { 10, -126 }, e4m3 = { 3, -6, 448 }, e5m2 = { 2, -14, 57344 } }
numbers.SIZE = { bool = 1, i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, i64 = 8, u64 = 8, f16 = 2, bf16 = 2, f32 = 4, f64 = 8, tf32 = 4, e4m3 = 1, e5m2 = 1 }

-- x rounded to nearest even in a float dtype.
function numbers.round(dtype, x)
  local f = float[dtype]
  if not f or x == 0 or x ~= x or x == math.huge or x == -math.huge then return x end
  local e = (string.unpack("<i8", string.pack("<d", x)) >> 52 & 0x7ff) - 1023
  local unit = 2.0 ^ (math.max(e, f[2]) - f[1])
  local q = x / unit
  local low = math.floor(q)
  local rest = q - low
  if rest > 0.5 or (rest == 0.5 and low % 2 == 1) then low = low + 1 end
  local y = low * unit
  if f[3] then y = math.max(-f[3], math.min(f[3], y)) end
  return y
end

-- Half the distance of neighbours near x: what rounding to the dtype changes at most.
function numbers.half_unit(dtype, x)
  local f = float[dtype]
  if not f then return 0.0 end
  x = math.abs(x)
  local e = x > 0 and (string.unpack("<i8", string.pack("<d", x)) >> 52 & 0x7ff) - 1023 or f[2]
  return 2.0 ^ (math.max(e, f[2]) - f[1] - 1)
end

-- ---- whole numbers ---------------------------------------------------------------------------------------------------------------

local whole = { i8 = { 8, true }, u8 = { 8 }, i16 = { 16, true }, u16 = { 16 }, i32 = { 32, true }, u32 = { 32 }, i64 = { 64, true } }

-- x modulo 2^bits, in the range of the dtype.
function numbers.wrap(dtype, x)
  local w = whole[dtype]
  if not w or w[1] == 64 then return x end
  x = x & ((1 << w[1]) - 1)
  if w[2] and x >> (w[1] - 1) == 1 then x = x - (1 << w[1]) end
  return x
end

function numbers.is_float(dtype) return float[dtype] ~= nil or dtype == "f64" end

-- ---- lists -----------------------------------------------------------------------------------------------------------------------

function numbers.count(shape)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  return n
end

-- n whole numbers from -span to span.
function numbers.integers(n, seed, span)
  local out, x = {}, (seed * 2654435761 + 12345) & 0xffffffff
  for i = 1, n do
    x = (x * 1664525 + 1013904223) & 0xffffffff
    out[i] = (x >> 12) % (2 * span + 1) - span
  end
  return out
end

-- n whole numbers of the whole range of an integer dtype; every seventh near its ends.
function numbers.bits(n, seed, dtype)
  local out, x = {}, seed * 0x5851f42d4c957f2d + 1
  for i = 1, n do
    x = x * 6364136223846793005 + 1442695040888963407
    local v = (x >> 17) ~ (x << 20)
    if i % 7 == 0 then v = ((i // 7 % 2 == 0) and 0 or (dtype:sub(1, 1) == "u" and 0 or math.mininteger >> (64 - 8 * numbers.SIZE[dtype]))) + (v % 5 - 2) end
    out[i] = numbers.wrap(dtype, v)
  end
  return out
end

-- n numbers of the dtype between -1 and 1.
function numbers.reals(n, seed, dtype)
  local out, x = {}, (seed * 2246822519 + 54321) & 0xffffffff
  for i = 1, n do
    x = (x * 1664525 + 1013904223) & 0xffffffff
    out[i] = numbers.round(dtype, (x >> 8) / 8388608.0 - 1.0)
  end
  return out
end

return numbers
