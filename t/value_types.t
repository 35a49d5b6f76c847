#!/usr/bin/env lua5.4
-- What values are computed in: a tile of every dtype comes back as it was, and arithmetic on it is that of its type.
local tap = require "tap"
local weir = require "lab".weir
local dev = assert(weir.device("sim", { seed = 3 }))

-- One task of a warpgroup takes X through `how` into Y; { 64, 64 } tiles of one row of data.
local function through(dtype, how, out)
  local k = weir.kernel { name = "through", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "X", dtype = dtype, shape = { N, 64 } }
  local Y = k:tensor { name = "Y", dtype = out or dtype, shape = { N, 64 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
  local r = k:reg_tile { name = "r", dtype = dtype, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = dtype, tile = { 64, 64 }, pipeline = weir.pipeline.async_async { stages = 1 } }
  local wq = k:work_queue { name = "wq", over = Y, tile = { 64, 64 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      r:set(gx:at(t.m, 0):load())
      if how == "stage" then s:acquire(); s:store(r:read()); s:commit(); s:wait(); gy:store(s:read():load(), t); s:release()
      else gy:store(how and how(r:read()) or r:read(), t) end
      wq:next()
    end
  end }
  return k:build { device = dev }
end

local function first(p, dtype, x, out)
  local a = dev:tensor { dtype = dtype, shape = { 1, 64 } }:set(type(x) == "table" and x or (function() local t = {} for i = 1, 64 do t[i] = x end return t end)())
  local y = dev:tensor { dtype = out or dtype, shape = { 1, 64 } }
  local ok, why = p:launch { X = a, Y = y }
  if not ok then return why end
  return y:get()[1]
end

-- Numbers that a float would round.
for _, c in ipairs { { "i8", -128 }, { "u8", 255 }, { "i16", -32767 }, { "u16", 65535 }, { "i32", 16777217 }, { "u32", 4000000001 }, { "i64", (1 << 40) + 1 },
                     { "u64", (1 << 40) + 1 }, { "f16", 0.333251953125 }, { "bf16", 0.333984375 }, { "f32", 0.3333333432674408 }, { "f64", 1 / 3 } } do
  local dtype, x = table.unpack(c)
  tap.is(x, first(through(dtype), dtype, x), dtype .. " through a register tile")
  tap.is(x, first(through(dtype, "stage"), dtype, x), dtype .. " through a stage in shared memory")
  tap.is(x, first(through(dtype, function(v) return v - v + v:row_max() end), dtype, x), dtype .. ": a row's largest")
end

-- Arithmetic.
local list = {}
for i = 1, 64 do list[i] = 16777216 + i end
tap.is(16777216 * 64 + 32 * 65, first(through("i64", function(v) return v - v + v:row_sum() end), "i64", list), "i64: a row's sum")
tap.is(16777217, first(through("i32", function(v) return v - v + v:row_min() end), "i32", list), "i32: a row's smallest")
for _, c in ipairs {
  { "+ 0.1", function(v) return v + 0.1 end, 1 / 3 + 0.1 }, { "* 0.1", function(v) return v * 0.1 end, 1 / 3 * 0.1 }, { "/ 3", function(v) return v / 3 end, 1 / 3 / 3 },
  { "0.1 - v", function(v) return 0.1 - v end, 0.1 - 1 / 3 }, { "max", function(v) return weir.max(v, 0.7) end, 0.7 },
  { "min", function(v) return weir.min(v, 0.1) end, 0.1 }, { "abs", function(v) return weir.abs(-v) end, 1 / 3 }, { "exp", weir.exp, math.exp(1 / 3) },
  { "exp2", weir.exp2, 2 ^ (1 / 3) }, { "log2", weir.log2, math.log(1 / 3, 2) }, { "rcp", weir.rcp, 1 / (1 / 3) }, { "rsqrt", weir.rsqrt, 1 / math.sqrt(1 / 3) },
  { "tanh", weir.tanh, (math.exp(2 / 3) - 1) / (math.exp(2 / 3) + 1) }, { "select", function(v) return weir.select(weir.lt(v, 0.5), 0.1, v) end, 0.1 },
  { "row_sum", function(v) return v - v + v:row_sum() end, 64 / 3 }, { "cast", function(v) return weir.cast(weir.cast(v, "f32"), "f64") end, 0.3333333432674408 },
} do
  local p = through("f64", c[2])
  local got = first(p, "f64", 1 / 3)
  tap.ok(type(got) == "number" and math.abs(got - c[3]) <= 4e-16 * math.abs(c[3]) * (c[1] == "row_sum" and 20 or 1), ("f64 %s: %.17g, should be %.17g"):format(c[1], got, c[3]))
  local cubin, why, code = p:cubin()
  if code == "no_compiler" then tap.skip "no NVRTC" else tap.ok(cubin, "f64 " .. c[1] .. " compiles: " .. tostring(why)) end
end
for _, c in ipairs { { "i32", -1.75, -1 }, { "i32", 1.75, 1 }, { "bf16", 1.00390625, 1 }, { "bf16", 1.01171875, 1.015625 }, { "e4m3", 1000, 448 }, { "u8", 7.9, 7 } } do
  tap.is(c[3], first(through("f32", function(v) return weir.cast(weir.cast(v, c[1]), "f32") end), "f32", c[2]), ("%g cast to %s"):format(c[2], c[1]))
end
tap.is(0.3333333432674408, first(through("f64", nil, "f32"), "f64", 1 / 3, "f32"), "f64 into f32 is rounded once")

-- Whole numbers wrap, whatever a compiler may conclude from a product of a number with itself; and are divided as they are, also where
-- -x is no number.
tap.is(-59652195, first(through("i32", function(v) return v * v // 36 end), "i32", 46341), "i32: the square of 46341 wraps, rounded down")
tap.is(4, first(through("i32", function(v) return v * v % 7 end), "i32", 46341), "and what is left of it")
tap.is(2147483639, first(through("i32", function(v) return weir.max(v - 10, v) end), "i32", -2147483647), "i32: a difference wraps")
tap.is(-2147483648, first(through("i32", function(v) return weir.abs(v) end), "i32", -2147483648), "i32: of -2^31 there is no magnitude")
tap.is(0, first(through("i32", function(v) return weir.select(weir.lt(v + 1, v), 0, 1) end), "i32", 2147483647), "i32: one more may be less")
tap.is(-9223372036854775806, first(through("i64", function(v) return v * 2 + v + 1 end), "i64", 3074457345618258603), "i64: a sum wraps")
tap.is(-71582788, first(through("i32", function(v) return weir.ceil_div(v, 30) end), "i32", -2147483648), "-2^31 over 30, rounded up")
for _, c in ipairs { { 7, -2, -3 }, { -7, 2, -3 }, { 7, 2, 4 }, { -7, -2, 4 }, { 8, -2, -4 }, { 1, -3, 0 } } do
  local x, y, up = table.unpack(c)
  tap.is(up, first(through("i32", function(v) return weir.ceil_div(v, v - (x - y)) end), "i32", x), ("%d over %d, rounded up"):format(x, y))
end

-- One number a row, stored to a wider place: every column has it.
for _, c in ipairs { { "one a row", function(v) return v:row_max() end }, { "of two rows' numbers", function(v) return v:row_max() + v:row_min() * 2 end } } do
  local p = through("f32", c[2])
  local given, want = {}, {}
  for i = 0, 64 * 2 - 1 do given[i + 1] = (i * 37) % 101 end
  for r = 0, 1 do
    local most, least = math.max(table.unpack(given, r * 64 + 1, r * 64 + 64)), math.min(table.unpack(given, r * 64 + 1, r * 64 + 64))
    for i = 1, 64 do want[r * 64 + i] = c[1] == "one a row" and most or most + 2 * least end
  end
  local a, y = dev:tensor { dtype = "f32", shape = { 2, 64 } }:set(given), dev:tensor { dtype = "f32", shape = { 2, 64 } }:fill(-1)
  tap.ok(p:launch { X = a, Y = y }, c[1] .. " is stored")
  tap.is(want, y:get(), "in every column")
end
for _, dtype in ipairs { "i16", "u16", "i64" } do
  local cubin, why, code = through(dtype, function(v) return v + v:row_max() end):cubin()
  if code == "no_compiler" then tap.skip "no NVRTC" else tap.ok(cubin, dtype .. " compiles: " .. tostring(why)) end
end

-- ---- a tile is what it was when it was loaded ------------------------------------------------------------------------------------------

-- y and z change places; `kept`: through register tiles.
local function swap(kept)
  local k = weir.kernel { name = "swap", arch = "sm_90a" }
  local N = k:dim "N"
  local function tensor(name)
    return k:gmem_tile { name = "g" .. name, tile = { 64, 64 }, tensor = k:tensor { name = name, dtype = "f32", shape = { N, 64 }, out = true } }
  end
  local gy, gz = tensor "Y", tensor "Z"
  local a, b = k:reg_tile { name = "a", dtype = "f32", tile = { 64, 64 } }, k:reg_tile { name = "b", dtype = "f32", tile = { 64, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(N, 64) } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      local y, z = gy:at(t.m, 0):load(), gz:at(t.m, 0):load()
      if kept then a:set(y); b:set(z); y, z = a:read(), b:read() end
      gy:store(z, gy:at(t.m, 0)); gz:store(y, gz:at(t.m, 0))
      wq:next()
    end
  end }
  return k
end
local report = swap(false):verify()
tap.ok(not report.ok, "a tile that is loaded, overwritten, and used")
tap.like("takes a tile that was loaded from 'gY' before its tensor was written [PLAN-UNSUPPORTED]", tostring(report), "is refused")
tap.like("written in between", tostring(report), "with the store")
tap.like("keep it in a reg_tile", tostring(report), "and the mend")
local y, z = dev:tensor { dtype = "f32", shape = { 64, 64 } }:fill(1), dev:tensor { dtype = "f32", shape = { 64, 64 } }:fill(2)
tap.ok(swap(true):build { device = dev }:launch { Y = y, Z = z }, "the mended one runs")
tap.is({ 2, 1 }, { y:get()[1], z:get()[1] }, "and swaps")
-- Plain numbers, outside of schedules: as the dtype holds them, and plain again.
for _, c in ipairs { { 1.5, "i32", 1 }, { -1.9, "i8", -1 }, { 255.5, "u8", 255 }, { 2.0 ^ 31, "i64", 1 << 31 }, { math.maxinteger, "i64", math.maxinteger },
  { math.mininteger, "i64", math.mininteger }, { math.maxinteger, "u64", math.maxinteger }, { 1 / 3, "f32", 0.3333333432674408 }, { 1 / 3, "bf16", 0.333984375 },
  { 1000, "e4m3", 448.0 }, { 3, "f64", 3.0 }, { 0, "bool", false }, { 0.5, "bool", true }, { true, "i32", 1 } } do
  local got = weir.cast(c[1], c[2])
  tap.ok(got == c[3] and math.type(got) == math.type(c[3]), ("the plain %s cast to %s is %s: %s"):format(c[1], c[2], c[3], got))
end
for _, c in ipairs { { 128, "i8" }, { -1, "u32" }, { 0 / 0, "i32" }, { 1 / 0, "i64" }, { 2.0 ^ 63, "i64" }, { -1, "u64" } } do
  tap.raises("does not fit " .. c[2], function() return weir.cast(c[1], c[2]) end, ("%s is no %s"):format(c[1], c[2]))
end

tap.done()
