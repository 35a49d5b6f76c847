-- Random value expressions: as weir computes them, and as plain Lua does.
--
--   local e = exprs.random(d, leaves, { type = "f32", depth = 4 })     -- d: numbers.dice; leaves: { name =, type =, mag =, frac = }
--   e:weir { x = view, ... }                                           -- the value, for a schedule
--   e:eval({ x = 3, ... }, { x = 0 })                                  -- its number, and how far any right implementation may be off
--
-- Without `real` every float stays a multiple of 2^-frac of magnitude `mag` with mag * 2^frac at most 2^24 (2^53 in f64), so that no
-- operation rounds and a contracted multiply-add is the same: the number is the only right one. With it a number has an error: that
-- of its leaves, half a unit for each operation, and for approximations what the PTX ISA allows (ex2, lg2, rsqrt 2^-22, rcp 2^-23,
-- tanh 2^-11).
local weir = require "weir"
local numbers = require "gen.numbers"
local round, wrap = numbers.round, numbers.wrap

local exprs = {}

local UNIT = { f32 = 2.0 ^ -24, f64 = 2.0 ^ -53 }
local ROOM = { f32 = 2.0 ^ 24, f64 = 2.0 ^ 53 }
local TINY = 2.0 ^ -120                                       -- what is flushed to 0

local function is_int(t) return t == "i32" or t == "u32" or t == "i64" end

-- ---- nodes -----------------------------------------------------------------------------------------------------------------------

local node = {}
node.__index = node

-- make(values...) -> value of weir; calc(numbers..., and errors behind them) -> number, error
local function new(type, args, make, calc, fields)
  local n = setmetatable(fields or {}, node)
  n.type, n.args, n.make, n.calc = type, args, make, calc
  n.size = 1
  for _, a in ipairs(args) do n.size = n.size + a.size; a.uses = (a.uses or 0) + 1 end
  return n
end

-- The value for a schedule: a part that is used twice is one value.
function node:weir(env, memo)
  memo = memo or {}
  if memo[self] ~= nil then return memo[self] end
  local v
  if self.leaf then v = env[self.leaf]
  else
    local a = {}
    for i, x in ipairs(self.args) do a[i] = x:weir(env, memo) end
    v = self.make(table.unpack(a))
  end
  memo[self] = v
  return v
end

function node:eval(env, errors, memo)
  local leaf = self.leaf
  if leaf then return env[leaf], errors and errors[leaf] or 0.0 end
  local shared = (self.uses or 0) > 1
  if shared then
    memo = memo or {}
    local m = memo[self]
    if m then return m[1], m[2] end
  elseif not memo then memo = {} end
  local a, v, e = self.args
  local n = #a
  if n == 0 then v, e = self.calc()
  elseif n == 1 then
    local x, ex = a[1]:eval(env, errors, memo)
    v, e = self.calc(x, ex)
  elseif n == 2 then
    local x, ex = a[1]:eval(env, errors, memo)
    local y, ey = a[2]:eval(env, errors, memo)
    v, e = self.calc(x, y, ex, ey)
  else
    local x, ex = a[1]:eval(env, errors, memo)
    local y, ey = a[2]:eval(env, errors, memo)
    local z, ez = a[3]:eval(env, errors, memo)
    v, e = self.calc(x, y, z, ex, ey, ez)
  end
  e = e or 0.0
  if shared then memo[self] = { v, e } end
  return v, e
end

-- Does the leaf stand in it?
function node:has(name)
  if self.leaf == name then return true end
  for _, a in ipairs(self.args) do if a:has(name) then return true end end
  return false
end

local function leaf(l) return new(l.type, {}, nil, nil, { leaf = l.name, mag = l.mag, frac = l.frac or 0, raw = true }) end
exprs.leaf = leaf

local function constant(type, x)
  local frac, y = 0, math.abs(x)
  while y % 1 ~= 0 do y = y * 2; frac = frac + 1 end
  return new(type, {}, function() return x end, function() return x, 0.0 end, { const = x, mag = math.abs(x), frac = frac })
end

-- ---- floats ----------------------------------------------------------------------------------------------------------------------

local function fits(type, mag, frac) return mag * 2.0 ^ frac <= ROOM[type] end

-- A node of floats, or nil where it would round.
local function floats(g, type, args, make, calc, mag, frac)
  if not g.real and not fits(type, mag, frac) then return nil end
  if mag > 1e6 then return nil end
  return new(type, args, make, calc, { mag = mag, frac = frac })
end

local function add(g, t, a, b)
  local u = g.real and UNIT[t] or 0
  return floats(g, t, { a, b }, function(x, y) return x + y end, function(x, y, ex, ey) return x + y, ex + ey + (math.abs(x + y) + ex + ey) * u end, a.mag + b.mag, math.max(a.frac, b.frac))
end
local function sub(g, t, a, b)
  local u = g.real and UNIT[t] or 0
  return floats(g, t, { a, b }, function(x, y) return x - y end, function(x, y, ex, ey) return x - y, ex + ey + (math.abs(x - y) + ex + ey) * u end, a.mag + b.mag, math.max(a.frac, b.frac))
end
local function mul(g, t, a, b)
  local u = g.real and UNIT[t] or 0
  return floats(g, t, { a, b }, function(x, y) return x * y end, function(x, y, ex, ey)
    local e = math.abs(x) * ey + math.abs(y) * ex + ex * ey
    return x * y, e + (math.abs(x * y) + e) * u + (u > 0 and TINY or 0)
  end, a.mag * b.mag, a.frac + b.frac)
end
local function smaller(g, t, a, b)
  return floats(g, t, { a, b }, weir.min, function(x, y, ex, ey) return math.min(x, y), math.max(ex, ey) end, math.max(a.mag, b.mag), math.max(a.frac, b.frac))
end
local function larger(g, t, a, b)
  return floats(g, t, { a, b }, weir.max, function(x, y, ex, ey) return math.max(x, y), math.max(ex, ey) end, math.max(a.mag, b.mag), math.max(a.frac, b.frac))
end
local function positive(g, t, a) -- 1 + |a|
  return add(g, t, constant(t, 1.0), floats(g, t, { a }, weir.abs, function(x, ex) return math.abs(x), ex end, a.mag, a.frac))
end

-- What only real numbers go through.
local approximate = {
  function(g, t, a) -- 2^a
    local c = larger(g, t, smaller(g, t, a, constant(t, 4.0)), constant(t, -8.0))
    local r = t == "f32" and 2.0 ^ -22 or 2.0 ^ -50
    return floats(g, t, { c }, weir.exp2, function(x, ex) local v = 2.0 ^ x return v, v * (2.0 ^ ex - 1) + v * 2.0 ^ ex * r end, 16.0, 0)
  end,
  function(g, t, a) -- e^a, as 2^(a * log2(e))
    local c = larger(g, t, smaller(g, t, a, constant(t, 3.0)), constant(t, -6.0))
    local u, r = UNIT[t], t == "f32" and 2.0 ^ -22 or 2.0 ^ -50
    return floats(g, t, { c }, weir.exp, function(x, ex)
      local v, off = math.exp(x), (ex + math.abs(x) * 2 * u) * 1.4427
      return v, v * (2.0 ^ off - 1) + v * 2.0 ^ off * r
    end, 21.0, 0)
  end,
  function(g, t, a)
    local c = positive(g, t, a)
    local r = t == "f32" and 2.0 ^ -22 or 2.0 ^ -50
    return c and floats(g, t, { c }, weir.log2, function(x, ex) local v = math.log(x, 2) return v, ex * 1.45 / math.max(0.5, x - ex) + (1 + math.abs(v)) * r end, 21.0, 0)
  end,
  function(g, t, a)
    local c = positive(g, t, a)
    local r = t == "f32" and 2.0 ^ -22 or 2.0 ^ -50
    return c and floats(g, t, { c }, weir.rcp, function(x, ex) local v = 1 / x return v, ex * v / math.max(0.5, x - ex) + v * r end, 1.0, 0)
  end,
  function(g, t, a)
    local c = positive(g, t, a)
    local r = t == "f32" and 2.0 ^ -21 or 2.0 ^ -50
    return c and floats(g, t, { c }, weir.rsqrt, function(x, ex) local v = 1 / math.sqrt(x) return v, 0.75 * ex * v / math.max(0.5, x - ex) + v * r end, 1.0, 0)
  end,
  function(g, t, a)
    local r = t == "f32" and 2.0 ^ -10.9 or 2.0 ^ -49
    return floats(g, t, { a }, weir.tanh, function(x, ex)
      local q = math.exp(-2 * math.abs(x))
      local v = (1 - q) / (1 + q)
      if x < 0 then v = -v end
      return v, ex + math.abs(v) * r + (t == "f64" and 1e-15 or 0)
    end, 1.0, 0)
  end,
  function(g, t, a, b) -- a / (1 + |b|)
    local c = positive(g, t, b)
    local r = t == "f32" and 2.0 ^ -21 or 2.0 ^ -51
    return c and floats(g, t, { a, c }, function(x, y) return x / y end, function(x, y, ex, ey)
      local v, low = x / y, math.max(0.5, y - ey)
      local e = ex / low + math.abs(v) * ey / low
      return v, e + (math.abs(v) + e) * r + TINY
    end, a.mag, 0)
  end,
}

-- ---- whole numbers ---------------------------------------------------------------------------------------------------------------

-- mag of whole numbers: nil where they may be anything the type has.
local function ints(t, args, make, calc, mag)
  if mag and mag >= 2.0 ^ 31 then mag = nil end
  return new(t, args, make, function(...) return wrap(t, (calc(...))), 0.0 end, { mag = mag, frac = 0 })
end

local function int_constant(d, t)
  local x = d.chance(80) and d.range(0, 40) or d.range(0, 0x7fffffff)
  if t ~= "u32" and d.chance(40) then x = -x end
  return constant(t, x)
end

local function most(a, b) return a.mag and b.mag and math.max(a.mag, b.mag) or nil end

local int_ops = {
  function(_, t, a, b) return ints(t, { a, b }, function(x, y) return x + y end, function(x, y) return x + y end, a.mag and b.mag and a.mag + b.mag) end,
  function(_, t, a, b) return ints(t, { a, b }, function(x, y) return x - y end, function(x, y) return x - y end, t ~= "u32" and a.mag and b.mag and a.mag + b.mag or nil) end,
  function(_, t, a, b) return ints(t, { a, b }, function(x, y) return x * y end, function(x, y) return x * y end, a.mag and b.mag and a.mag * b.mag) end,
  function(_, t, a, b) return ints(t, { a, b }, weir.min, function(x, y) return math.min(x, y) end, most(a, b)) end,
  function(_, t, a, b) return ints(t, { a, b }, weir.max, function(x, y) return math.max(x, y) end, most(a, b)) end,
  function(_, t, a) return t ~= "u32" and ints(t, { a }, function(x) return -x end, function(x) return -x end, a.mag) or nil end,
  function(_, t, a) return ints(t, { a }, weir.abs, function(x) return math.abs(x) end, a.mag) end,
  function(g, t, a) local c = g.d.range(1, 37) return ints(t, { a }, function(x) return x // c end, function(x) return x // c end, a.mag and a.mag + 1) end,
  function(g, t, a) local c = g.d.range(1, 37) return ints(t, { a }, function(x) return x % c end, function(x) return x % c end, 37) end,
  function(g, t, a) local c = g.d.range(1, 37) return ints(t, { a }, function(x) return weir.ceil_div(x, c) end, function(x) return x // c + (x % c > 0 and 1 or 0) end, a.mag and a.mag + 1) end,
  function(g, t, a, b) -- by a number that no compiler knows, from 1 to 9
    local by = ints(t, { b }, function(y) return weir.clamp(y, 1, 9) end, function(y) return math.min(math.max(y, 1), 9) end, 9)
    if g.d.chance(50) then return ints(t, { a, by }, function(x, y) return x // y end, function(x, y) return x // y end, a.mag and a.mag + 1) end
    return ints(t, { a, by }, function(x, y) return x % y end, function(x, y) return x % y end, 9)
  end,
}

-- ---- conditions ------------------------------------------------------------------------------------------------------------------

local compare = {
  { weir.lt, function(x, y) return x < y end }, { weir.le, function(x, y) return x <= y end }, { weir.gt, function(x, y) return x > y end },
  { weir.ge, function(x, y) return x >= y end }, { weir.eq, function(x, y) return x == y end }, { weir.ne, function(x, y) return x ~= y end },
}

local gen

local function condition(g, depth)
  local d = g.d
  if depth > 0 and d.chance(25) then
    local a, b = condition(g, depth - 1), condition(g, depth - 1)
    local which = d(3)
    if not (a and (b or which == 3)) then return nil end -- no leaf without an error
    if which == 1 then return new("cond", { a, b }, function(x, y) return x & y end, function(x, y) return x and y end) end
    if which == 2 then return new("cond", { a, b }, function(x, y) return x | y end, function(x, y) return x or y end) end
    return new("cond", { a }, function(x) return ~x end, function(x) return not x end)
  end
  -- of numbers with an error none that are close would agree: there a leaf that has none is compared with a number
  local list = {}
  for _, l in ipairs(g.leaves) do if not l.inexact then list[#list + 1] = l end end
  if #list == 0 then return nil end
  local l = d.one(list)
  local c = d.one(compare)
  local a = leaf(l)
  local b
  if g.real then
    b = constant(l.type, is_int(l.type) and d.range(1, 3) or d.range(-3, 3) / 4.0) -- 0 of unsigned ones is "pointless" to NVRTC
  else
    a = depth > 0 and gen(g, l.type, depth - 1) or a
    b = depth > 0 and d.chance(50) and gen(g, l.type, depth - 1) or is_int(l.type) and constant(l.type, d.range(1, 3)) or constant(l.type, d.range(-3, 3) + 0.0)
    if a.const and b.const then a = leaf(l) end
  end
  return new("cond", { a, b }, c[1], c[2])
end

-- ---- all of it -------------------------------------------------------------------------------------------------------------------

local function some_leaf(g, t)
  local list = {}
  for _, l in ipairs(g.leaves) do if l.type == t then list[#list + 1] = l end end
  if #list == 0 or g.d.chance(15) then
    if is_int(t) then return int_constant(g.d, t) end
    return constant(t, g.real and g.d.range(-8, 8) / 8.0 or g.d.range(-6, 6) + 0.0)
  end
  return leaf(g.d.one(list))
end

-- A number of another type, as `t`.
local function converted(g, t, depth)
  local d = g.d
  local others = {}
  for _, l in ipairs(g.leaves) do if l.type ~= t and not (is_int(t) and g.real) then others[#others + 1] = l.type end end
  if #others == 0 then return nil end
  local from = d.one(others)
  local a = gen(g, from, depth - 1)
  if a.const then return nil end
  local function cast(x) return weir.cast(x, t) end
  if is_int(t) then
    if is_int(from) then return ints(t, { a }, cast, function(x) return x end, t ~= "u32" and a.mag or nil) end
    if a.mag > 2.0 ^ 30 or t == "u32" then return nil end
    return ints(t, { a }, cast, function(x) return math.tointeger(x >= 0 and math.floor(x) or math.ceil(x)) end, a.mag)
  end
  if is_int(from) then
    if not a.mag or a.mag > 2.0 ^ 20 then
      local m = d.range(2, 100)
      local b = a
      a = ints(from, { b }, function(x) return x % m end, function(x) return x % m end, m)
    end
    return floats(g, t, { a }, cast, function(x) return x + 0.0, 0.0 end, a.mag, 0)
  end
  if t == "f64" then return floats(g, t, { a }, cast, function(x, ex) return x, ex end, a.mag, a.frac) end
  return floats(g, t, { a }, cast, function(x, ex) return x, ex + (math.abs(x) + ex) * UNIT.f32 end, a.mag, a.frac)
end

local function float_op(g, t, depth)
  local d = g.d
  local function arg() return gen(g, t, depth - 1) end
  if g.real and d.chance(35) then return d.one(approximate)(g, t, arg(), arg()) end
  local which = d(11)
  if which <= 2 then return add(g, t, arg(), arg()) end
  if which == 3 then return sub(g, t, arg(), arg()) end
  if which == 4 then return mul(g, t, arg(), arg()) end
  if which == 5 then return smaller(g, t, arg(), arg()) end
  if which == 6 then return larger(g, t, arg(), arg()) end
  if which == 7 then
    local a = arg()
    if a.const then return nil end
    return d.chance(50) and floats(g, t, { a }, weir.abs, function(x, ex) return math.abs(x), ex end, a.mag, a.frac)
      or floats(g, t, { a }, function(x) return -x end, function(x, ex) return -x, ex end, a.mag, a.frac)
  end
  if which == 8 then
    local a = arg()
    if a.const then return nil end
    return floats(g, t, { a }, weir.relu, function(x, ex) return math.max(x, 0.0), ex end, a.mag, a.frac)
  end
  if which == 9 then
    local a, low, high = arg(), -d.range(0, 20) + 0.0, d.range(1, 30) + 0.0
    if a.const then return nil end
    return floats(g, t, { a }, function(x) return weir.clamp(x, low, high) end, function(x, ex) return math.min(math.max(x, low), high), ex end, math.max(high, -low), a.frac)
  end
  if which == 10 then return mul(g, t, arg(), constant(t, d.one { 0.5, 0.25, 2.0, -1.0, 4.0 })) end
  local a = arg() -- through a shorter type and back
  if a.const or t == "f64" then return nil end
  local short = d.one { "bf16", "f16", "bf16", "e4m3" }
  if g.real and short == "e4m3" then short = "f16" end
  if short == "f16" and a.mag > 60000 then short = "bf16" end
  return floats(g, t, { a }, function(x) return weir.cast(weir.cast(x, short), t) end, function(x, ex)
    if not g.real then return round(short, x), 0.0 end
    return x, ex + 2 * numbers.half_unit(short, math.abs(x) + ex)
  end, a.mag * 1.0 + (2.0 ^ math.ceil(math.log(a.mag + 1, 2)) - a.mag), a.frac)
end

gen = function(g, t, depth)
  local d = g.d
  if depth <= 0 then return some_leaf(g, t) end
  local pool = g.pool[t]
  if pool and #pool > 0 and d.chance(12) then return d.one(pool) end
  for _ = 1, 6 do
    local n
    if d.chance(12) then
      local c = condition(g, depth - 2)
      if c then
        local a, b = gen(g, t, depth - 1), gen(g, t, depth - 1)
        if not (a.const and b.const) then
          n = is_int(t) and ints(t, { c, a, b }, weir.select, function(x, y, z) if x then return y end return z end, most(a, b))
            or floats(g, t, { c, a, b }, weir.select, function(x, y, z, _, ey, ez) if x then return y, ey end return z, ez end, math.max(a.mag, b.mag), math.max(a.frac, b.frac))
        end
      end
    elseif d.chance(15) then n = converted(g, t, depth)
    elseif is_int(t) then
      local a, b = gen(g, t, depth - 1), gen(g, t, depth - 1)
      if not (a.const and b.const) then
        if a.const then a, b = b, a end
        n = d.one(int_ops)(g, t, a, b)
      end
    else
      n = float_op(g, t, depth)
    end
    if n then
      local all = #n.args > 0
      for _, a in ipairs(n.args) do all = all and a.const ~= nil end
      if not all then
        g.pool[t] = g.pool[t] or {}
        table.insert(g.pool[t], n)
        return n
      end
    end
  end
  return some_leaf(g, t)
end

-- o: type, depth, real, with (name of a leaf that must stand in it).
function exprs.random(d, leaves, o)
  local g = { d = d, leaves = leaves, real = o.real, pool = {} }
  for _ = 1, 20 do
    local n = gen(g, o.type, o.depth)
    local used = not o.with or n:has(o.with)
    if used and not n.const and not n.leaf then
      local some = false
      for _, l in ipairs(leaves) do some = some or n:has(l.name) end
      if some then return n end
    end
    g.pool = {}
  end
  -- none of them had the leaf: it is added, or it stands alone
  for _, l in ipairs(leaves) do
    if l.name == (o.with or leaves[1].name) then return leaf(l) end
  end
end

return exprs
