-- Random expressions of numbers at the ends of every dtype: operands of different dtypes, plain numbers of any size, sums that wrap, divisors
-- of either sign, conversions that saturate or round, NaN and infinities; hashes of rows and columns. By threads or in registers.
-- See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"

local BITS = { i8 = 8, u8 = 8, i16 = 16, u16 = 16, i32 = 32, u32 = 32, i64 = 64, u64 = 64 }
local MOST = { f16 = 65504.0, bf16 = 0x1.fep127, f32 = 0x1.fffffep127, e4m3 = 448.0, e5m2 = 57344.0 }
local inf, nan = 1 / 0, 0 / 0
local function is_float(t) return BITS[t] == nil end
local function unsigned(t) return t:sub(1, 1) == "u" end

-- ---- numbers -----------------------------------------------------------------------------------------------------------------------
-- Integers are Lua's, of u64 the same 64 bits; floats Lua's.

local function narrow(t, x)
  if t == "f64" or x ~= x then return x end
  if t:find "^e" then return x > MOST[t] and MOST[t] or x < -MOST[t] and -MOST[t] or numbers.round(t, x) end
  local y = numbers.round(t, x)
  return y > MOST[t] and inf or y < -MOST[t] and -inf or y
end

-- A double that rounds to t as the integer does: of what it cannot hold, whether there are low bits is enough.
local function real(t, from, x)
  if t == "f64" then
    if from == "u64" and x < 0 then return ((x >> 1) | (x & 1)) * 2.0 end
    return x + 0.0
  end
  local scale = 1.0
  if from == "u64" and x < 0 then x = (x >> 1) | (x & 1); scale = 2.0 end
  if x >= 1 << 53 or x <= -(1 << 53) then x = (x & ~0xffff) | (x & 0xffff ~= 0 and 0x4000 or 0) end
  return x * scale
end

local function whole(t, x)
  if x ~= x then return 0 end
  local bits = BITS[t]
  local low, top = unsigned(t) and 0.0 or -(2.0 ^ (bits - 1)), 2.0 ^ (unsigned(t) and bits or bits - 1)
  if x >= top then return bits == 64 and (unsigned(t) and -1 or math.maxinteger) or math.tointeger(top - 1) end
  if x <= low then return bits == 64 and (unsigned(t) and 0 or math.mininteger) or math.tointeger(low) end
  x = x >= 0 and math.floor(x) or math.ceil(x)
  if math.type(x) == "float" then x = x >= 2.0 ^ 63 and (math.tointeger(x - 2.0 ^ 63) | math.mininteger) or math.tointeger(x) end
  return x
end

local function wrap(t, x) return t == "u64" and x or numbers.wrap(t, x) end

local function convert(to, from, x)
  if to == from then return x end
  if is_float(to) then return narrow(to, is_float(from) and x or real(to, from, x)) end
  return is_float(from) and whole(to, x) or wrap(to, x)
end

local function promote(a, b)
  if is_float(a) or is_float(b) then return (a == "f64" or b == "f64") and "f64" or "f32" end
  if BITS[a] == 64 or BITS[b] == 64 then return (a == "u64" or b == "u64") and "u64" or "i64" end
  return (a == "u32" or b == "u32") and "u32" or "i32"
end

local function below(t, x, y) if t == "u64" then return math.ult(x, y) end return x < y end

-- Quotient rounded down and what is left.
local function divide(t, x, y)
  if t == "u64" then
    if y < 0 then return math.ult(x, y) and 0 or 1, math.ult(x, y) and x or x - y end
    local q = x >= 0 and x // y or ((x >> 1) // y) << 1
    local r = x - q * y
    while not math.ult(r, y) do q, r = q + 1, r - y end
    return q, r
  end
  return x // y, x % y
end

-- ---- expressions -------------------------------------------------------------------------------------------------------------------
-- { type, make(env) -> value, calc(env) -> number, plain = it is a plain number }; fused: a product may become one with a sum

local INTS = { 0, 1, -1, 2, 3, 7, -3, 10, 127, 128, 255, 256, -128, 32767, 32768, 65535, 65536, 65537, 16777216, 16777217, 2147483647, -2147483648, -2147483647, 2147483648, 4294967295, 4294967296,
  1 << 53, (1 << 53) + 1, math.maxinteger, math.mininteger, math.mininteger + 1, 1103515245, 12345 }
local FLOATS = { 0.0, 1.0, -1.0, 0.1, 1 / 3, -0.7, 0.5, 1e-45, 5e-324, 1e-310, 1e308, 3.5e38, 65504.0, 65520.0, 448.0, 1000.0, 16777217.0, 2147483648.0, -2147483649.0, 4294967296.5, 1e19, inf, -inf,
  1 + 2.0 ^ -24 + 2.0 ^ -50, 1 + 2.0 ^ -8 + 2.0 ^ -30, 1e-8, 2.0 ^ -126 }

local function constant(x) return { type = math.type(x) == "float" and "f32" or (x >= -2147483648 and x <= 2147483647) and "i32" or "i64", plain = x, make = function() return x end } end
-- The operand as `t`: a plain float beside an f64 is one.
local function as(e, t, env)
  if e.plain then return is_float(t) and (math.type(e.plain) == "float" and narrow(t, e.plain) or convert(t, e.type, e.plain)) or convert(t, e.type, e.plain) end
  return convert(t, e.type, e.calc(env))
end

local function random(d, leaves, depth)
  local gen
  local function leaf() return d.one(leaves) end
  local function some(n, fused) return d.chance(22) and constant(d.chance(65) and d.one(INTS) or d.one(FLOATS)) or gen(n, fused) end
  local function condition(n, fused)
    local a, b = gen(n, fused), some(n, fused)
    local t = promote(a.type, b.type)
    local op = d.one { "lt", "le", "gt", "ge", "eq", "ne" }
    return { make = function(env) return weir[op](a.make(env), b.make(env)) end, calc = function(env)
      local x, y = as(a, t, env), as(b, t, env)
      if op == "eq" then return x == y elseif op == "ne" then return x ~= y end
      if op == "lt" then return below(t, x, y) elseif op == "gt" then return below(t, y, x) end
      if x ~= x or y ~= y then return false end
      if op == "le" then return not below(t, y, x) end
      return not below(t, x, y)
    end }
  end
  gen = function(n, fused)
    if n <= 0 then return leaf() end
    local which = d(20)
    if which <= 6 then
      local op = d.one { "+", "-", "*" }
      local a, b = gen(n - 1, true), some(n - 1, true)
      local t = promote(a.type, b.type)
      if op == "*" and is_float(t) and fused then op = "+" end
      if d.chance(50) and not a.plain then a, b = b, a end
      return { type = t, make = function(env)
        local x, y = a.make(env), b.make(env)
        if op == "+" then return x + y elseif op == "-" then return x - y end
        return x * y
      end, calc = function(env)
        local x, y = as(a, t, env), as(b, t, env)
        local z
        if op == "+" then z = x + y elseif op == "-" then z = x - y else z = x * y end
        return is_float(t) and narrow(t, z) or wrap(t, z)
      end }
    elseif which <= 9 then
      local a, b, c = gen(n - 1, fused), leaf(), d.one { 2, 3, 7, -1, -3, 1000, 65537, math.mininteger, 2147483647 }
      if is_float(a.type) then a = leaf() end
      if is_float(a.type) or is_float(b.type) then return a end
      local by = d.chance(60) and constant(c) or { type = promote(b.type, "i32"), make = function(env) return weir.select(weir.eq(b.make(env), 0), 3, b.make(env)) end,
        calc = function(env) local y = as(b, promote(b.type, "i32"), env) return y == 0 and 3 or y end }
      local t, op = promote(a.type, by.type), d.one { "//", "%", "ceil_div" }
      return { type = t, make = function(env)
        local x, y = a.make(env), by.make(env)
        if op == "//" then return x // y elseif op == "%" then return x % y end
        return weir.ceil_div(x, y)
      end, calc = function(env)
        local q, r = divide(t, as(a, t, env), as(by, t, env))
        return wrap(t, op == "//" and q or op == "%" and r or q + (r ~= 0 and 1 or 0))
      end }
    elseif which <= 11 then
      local a, op = gen(n - 1, fused), d.one { "neg", "abs" }
      local t = promote(a.type, a.type)
      return { type = t, make = function(env) if op == "neg" then return -a.make(env) end return weir.abs(a.make(env)) end, calc = function(env)
        local x = as(a, t, env)
        if op == "abs" and (unsigned(t) or not below(t, x, 0)) then return is_float(t) and math.abs(x) or x end
        return is_float(t) and -x or wrap(t, -x)
      end }
    elseif which <= 13 then
      local a, b, op = gen(n - 1, fused), some(n - 1, fused), d.one { "min", "max" }
      local t = promote(a.type, b.type)
      return { type = t, make = function(env) return weir[op](a.make(env), b.make(env)) end, calc = function(env)
        local x, y = as(a, t, env), as(b, t, env)
        if x ~= x then return y elseif y ~= y then return x end
        if op == "min" then return below(t, y, x) and y or x end
        return below(t, x, y) and y or x
      end }
    elseif which <= 15 then
      local c, a, b = condition(n - 2, fused), gen(n - 1, fused), some(n - 1, fused)
      local t = promote(a.type, b.type)
      return { type = t, make = function(env) return weir.select(c.make(env), a.make(env), b.make(env)) end, calc = function(env)
        if c.calc(env) then return as(a, t, env) end
        return as(b, t, env)
      end }
    elseif which == 16 then
      local a, b = gen(n - 1, fused), some(n - 1, fused)
      if not a.plain and is_float(a.type) and b.plain and math.type(b.plain) == "float" and b.plain ~= 0 and not (a.type ~= "f64" and math.abs(b.plain) < 1e-30) then
        local t = a.type == "f64" and "f64" or "f32"
        return { type = t, make = function(env) return a.make(env) / b.make(env) end, calc = function(env) return narrow(t, as(a, t, env) / as(b, t, env)) end }
      end
      return a
    end
    local a, t = gen(n - 1, true), d.one { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2" }
    return { type = t, make = function(env) return weir.cast(a.make(env), t) end, calc = function(env) return convert(t, a.type, a.calc(env)) end }
  end
  for _ = 1, 30 do
    local e = gen(depth, false)
    if not e.leaf then return e end
  end
  return leaf()
end

-- ---- kernels -----------------------------------------------------------------------------------------------------------------------

local function data(t, count, seed)
  if not is_float(t) then return t == "u64" and numbers.bits(count, seed, "i64") or numbers.bits(count, seed, t) end
  local d, out = numbers.dice(seed), {}
  for i = 1, count do
    local x = d.chance(40) and d.one(FLOATS) or d.chance(10) and nan or (d.unit() - 0.5) * 2.0 ^ d.range(-20, 40)
    out[i] = narrow(t, x)
    if t == "e4m3" and (out[i] == inf or out[i] == -inf) then out[i] = 448.0 end
  end
  return out
end

return function(d, name)
  local held = d.chance(50)
  local o = { rows = held and 64 or d.one { 8, 16 }, cols = held and 8 or d.one { 8, 16 }, warps = held and 4 or d.one { 1, 2, 4 } }
  local dtypes = { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2" }
  local leaves, inputs = {}, {}
  for i = 1, 4 do
    local t = d.one(dtypes)
    inputs[i] = { name = "x" .. i, dtype = t }
    leaves[i] = { leaf = true, type = t, make = function(env) return env[i] end, calc = function(env) return env[i] end }
  end
  local scalars = {}
  for i = 1, 2 do
    local t = d.one { "i32", "u32", "i64", "u64", "f32", "f64" }
    local n = "s" .. i
    scalars[i] = { name = n, dtype = t }
    leaves[#leaves + 1] = { leaf = true, type = t, make = function(env) return env[n] end, calc = function(env) return env[n] end }
  end
  leaves[#leaves + 1] = { leaf = true, type = "i32", make = function(env) return env.M end, calc = function(env) return env.M end }
  if held then
    for _, n in ipairs { "row", "col" } do leaves[#leaves + 1] = { leaf = true, type = "i32", make = function(env) return env[n] end, calc = function(env) return env[n] end } end
  end
  local outputs = {}
  for i = 1, 6 do
    local e = random(d, leaves, d.range(1, 4))
    outputs[i] = { name = "y" .. i, dtype = d.chance(60) and d.one(dtypes) or promote(e.type, e.type), expr = e }
  end
  local words = { ("%dx%d %s"):format(o.rows, o.cols, held and "in registers" or "by threads") }
  for _, x in ipairs(inputs) do words[#words + 1] = x.dtype end
  for _, x in ipairs(scalars) do words[#words + 1] = "scalar " .. x.dtype end
  for _, y in ipairs(outputs) do words[#words + 1] = ("%s -> %s"):format(y.expr.type, y.dtype) end
  local case = { name = name, text = table.concat(words, ", "), launches = {} }

  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local M = k:dim "M"
    local function tile(x, out) return k:gmem_tile { name = "g" .. x.name, tile = { o.rows, o.cols }, tensor = k:tensor { name = x.name, dtype = x.dtype, shape = { M, o.cols }, out = out } } end
    local gx, gy, s = {}, {}, {}
    for i, x in ipairs(inputs) do gx[i] = tile(x) end
    for i, y in ipairs(outputs) do gy[i] = tile(y, true) end
    for i, x in ipairs(scalars) do s[i] = k:scalar { name = x.name, dtype = x.dtype } end
    local r = {}
    for i, x in ipairs(held and inputs or {}) do r[i] = k:reg_tile { name = "r" .. i, dtype = x.dtype, tile = { o.rows, o.cols } } end
    k:task { name = "t", warps = { 0, o.warps }, schedule = function()
      local env = { s1 = s[1], s2 = s[2], M = M }
      for i in ipairs(inputs) do
        env[i] = gx[i]:at(0, 0):load()
        if held then r[i]:set(env[i]); env[i] = r[i]:read() end
      end
      if held then env.row, env.col = r[1]:row_index(), r[1]:col_index() end
      local some = held and (r[1]:row_index() + r[1]:col_index()) * 0 or nil
      for i, y in ipairs(outputs) do
        local v = y.expr.make(env)
        -- what is equal in all elements, rows or columns is stored as a tile
        local whole_tile = v.kind == "register tile" and v.shape[1] == o.rows and v.shape[2] == o.cols
        if held and not whole_tile then v = weir.select(weir.ge(some, 0), v, v) end
        gy[i]:store(v, gy[i]:at(0, 0))
      end
    end }
    return k
  end

  local m = o.rows - d.range(0, 3)
  local l = { args = {}, size = ("%d rows"):format(m), grid = 1, tensors = {} }
  local lists = {}
  for i, x in ipairs(inputs) do
    lists[i] = data(x.dtype, m * o.cols, d(1000000))
    l.tensors[#l.tensors + 1] = { name = x.name, dtype = x.dtype, shape = { m, o.cols }, data = lists[i] }
  end
  for _, y in ipairs(outputs) do l.tensors[#l.tensors + 1] = { name = y.name, dtype = y.dtype, shape = { m, o.cols }, fill = 7, out = true } end
  for _, x in ipairs(scalars) do l.args[x.name] = is_float(x.dtype) and narrow(x.dtype, d.one(FLOATS)) or wrap(x.dtype, d.one(INTS)) end
  l.wanted = function()
    local result, env = {}, { s1 = l.args.s1, s2 = l.args.s2, M = m }
    for _, y in ipairs(outputs) do result[y.name] = { {} } end
    for at = 1, m * o.cols do
      for i in ipairs(inputs) do env[i] = lists[i][at] end
      env.row, env.col = (at - 1) // o.cols, (at - 1) % o.cols
      for _, y in ipairs(outputs) do result[y.name][1][at] = convert(y.dtype, y.expr.type, y.expr.calc(env)) end
    end
    return result
  end
  case.launches[1] = l
  return case
end
