#!/usr/bin/env lua5.4
-- What a value is at the ends of its dtype: constants as they are written, conversions that leave a dtype or round, sums that wrap,
-- and values that outlive what they were read from. By threads and in registers.
local tap = require "tap"
local weir = require "weir"
local numbers = require "gen.numbers"
local dev = assert(weir.device(... == "gpu" and 0 or "sim", ... ~= "gpu" and { seed = 3 } or nil)) -- lua5.4 t/value_numbers.t gpu: on a GPU

-- ---- one number in, one out ------------------------------------------------------------------------------------------------------

local function text(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = math.type(x) == "float" and ("%.17g"):format(x):gsub("-nan", "nan") or tostring(x) end
  return table.concat(out, " ")
end

-- cases: { name, dtype of the output, f(v, N), inputs, outputs }, all of one kernel. N is 1.
local function group(dtype, registers, cases)
  local k = weir.kernel { name = "numbers", arch = "sm_90a" }
  local N = k:dim "N"
  local function tile(name, t, out) return k:gmem_tile { name = "g" .. name, tile = { 64, 8 }, tensor = k:tensor { name = name, dtype = t, shape = { N, 8 }, out = out } } end
  local args, gx, gy = {}, {}, {}
  local function buffer(t) return dev:tensor { dtype = t, shape = { 1, 8 } } end
  for i, c in ipairs(cases) do
    gx[i], gy[i] = tile("x" .. i, dtype), tile("y" .. i, c[2], true)
    local list = {}
    for j = 1, 8 do list[j] = c[4][(j - 1) % #c[4] + 1] end
    args["x" .. i], args["y" .. i] = buffer(dtype):set(list), buffer(c[2])
  end
  local r = registers and k:reg_tile { name = "r", dtype = dtype, tile = { 64, 8 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for i, c in ipairs(cases) do
      local v = gx[i]:at(0, 0):load()
      if r then r:set(v); v = r:read() end
      gy[i]:store(c[3](v, N), gy[i]:at(0, 0))
    end
  end }
  local program = k:build { device = dev }
  local ok, why = program:launch(args, { grid = 1 })
  dev:sync()
  for i, c in ipairs(cases) do
    local seen = ok and args["y" .. i]:get() or {}
    for j = #seen, #c[5] + 1, -1 do seen[j] = nil end
    tap.is(text(c[5]), ok and text(seen) or why, ("%s %s: %s"):format(dtype, registers and "in registers" or "by threads", c[1]))
  end
  if dtype == "f32" then tap.ok(program:source():find "16777216%.f" and not program:source():find "1677721[79]%.f", "no constant lies between two floats") end
  if not registers then k:close() return end -- the same text of them
  local cubin, message, code = program:cubin()
  if code == "no_compiler" then tap.skip "no NVRTC"
  else tap.ok(cubin and not program:log():find "[Ww]arning", ("%s %s compiles without a word: %s"):format(dtype, registers and "in registers" or "by threads", message or program:log())) end
  for _, b in pairs(args) do b:close() end
  k:close()
end

local inf, nan, low, high = 1 / 0, 0 / 0, math.mininteger, math.maxinteger
local function cast(t, back) return function(v) return back and weir.cast(weir.cast(v, t), back) or weir.cast(v, t) end end
local function flag(c) return function(v) return weir.select(c(v), 1, 0) end end
local all = {
  f32 = {
    { "to i32", "i32", cast "i32", { 3e9, -3e9, nan, inf, -inf, -1.9 }, { 2147483647, -2147483648, 0, 2147483647, -2147483648, -1 } },
    { "to u32", "u32", cast "u32", { 5e9, -3e9, nan, inf, 3e9, 1.9 }, { 4294967295, 0, 0, 4294967295, 3000000000, 1 } },
    { "to i8", "i8", cast "i8", { 128, -129, nan, inf, -inf, 127.9 }, { 127, -128, 0, 127, -128, 127 } },
    { "to u8, as an i32", "i32", cast("u8", "i32"), { 256, -1, nan, inf, 255.9 }, { 255, 0, 0, 255, 255 } },
    { "to i16", "i16", cast "i16", { 4e4, -4e4, nan }, { 32767, -32768, 0 } },
    { "to u16", "u16", cast "u16", { 7e4, -7e4, nan, 4e4 }, { 65535, 0, 0, 40000 } },
    { "to i64", "i64", cast "i64", { 1e30, -1e30, nan, 2.0 ^ 40 }, { high, low, 0, 1 << 40 } },
    { "to u64", "u64", cast "u64", { 1e30, -1, nan, 2.0 ^ 63 }, { -1, 0, 0, low } },
    { "stored into i8", "i8", function(v) return v * 2 end, { 64, -65, nan }, { 127, -128, 0 } },
    { "to tf32, nearest even", "f32", cast("tf32", "f32"), { 1.0008, 1.0001, 1 + 2.0 ^ -11, 1 + 3 * 2.0 ^ -11 }, { 1.0009765625, 1, 1, 1 + 2.0 ^ -9 } },
    { "stored into tf32", "tf32", function(v) return v * 1.0 end, { 1.0008 }, { 1.0009765625 } },
    { "max(v, 16777217): between two floats", "f32", function(v) return weir.max(v, 16777217.0) end, { 1, 3e7 }, { 16777216, 3e7 } }, -- 16777217.f is 16777218 to NVRTC 13.0
    { "max(v, -16777219)", "f32", function(v) return weir.max(v, -16777219.0) end, { -3e7, 1 }, { -16777220, 1 } },
    { "a size and 2^32 to bf16", "f32", function(v, N) return v * 0 + weir.cast(weir.cast(N + 4294967296, "bf16"), "f32") end, { 1 }, { 4294967296.0 } },
    { "times 1e308", "f32", function(v) return v * 1e308 end, { 1, -1 }, { inf, -inf } },
    { "times 1e-320", "f32", function(v) return v * 1e-320 + 1 end, { 1 }, { 1 } },
    { "the least number", "f32", function(v) return v * 0x1p-149 end, { 1 }, { 0x1p-149 } },
    { "the number above a half unit", "f32", function(v) return v * (1 + 2.0 ^ -24 + 2.0 ^ -50) end, { 1 }, { 1 + 2.0 ^ -23 } },
    { "-0", "f32", function(v) return 1 / (weir.abs(v) * -0.0) end, { 1 }, { -inf } },
    { "0 - 0", "f32", function(v) return 1 / (0 - v) end, { 0.0 }, { inf } },
    { "- of a quotient of a size", "f32", function(v, N) return v - -(N / 4) end, { 1 }, { 1.25 } },
    { "- of a size as a float", "f32", function(v, N) return v + -(weir.cast(N, "f32") * 0.25) end, { 1 }, { 0.75 } },
    { "- of a size without a sign", "f32", function(v, N) return v * 0 + weir.cast(-weir.cast(N, "u32"), "f32") end, { 1 }, { 4294967296.0 } },
    { "a condition as a number", "i32", function(v) return weir.cast(weir.gt(v, 0), "i32") - weir.cast(weir.cast(v, "bool"), "i32") * 2 end, { 2.5, 0, -1 }, { -1, 0, -2 } },
    { "min, max and relu of NaN", "f32", function(v) return weir.max(v, 3) + weir.min(v, 5) + weir.relu(v) end, { nan, 4 }, { 8, 12 } },
  },
  f64 = {
    { "== 0.1", "i32", flag(function(v) return weir.eq(v, 0.1) end), { 0.1, 0.2 }, { 1, 0 } },
    { "< 0.1", "i32", flag(function(v) return weir.lt(v, 0.1) end), { 0.1, 0.05 }, { 0, 1 } },
    { ">= 1/3", "i32", flag(function(v) return weir.ge(1 / 3, v) end), { 1 / 3, 0.3333333432674408 }, { 1, 0 } },
    { "- of a size as a double", "f64", function(v, N) return v + -(weir.cast(N, "f64") / 4) end, { 1 }, { 0.75 } },
    { "to bf16, once", "f64", cast("bf16", "f64"), { 1 + 2.0 ^ -8 + 2.0 ^ -40, -1 - 2.0 ^ -8 - 2.0 ^ -40, 1 + 2.0 ^ -8, 1e300, 1e-300 }, { 1 + 2.0 ^ -7, -1 - 2.0 ^ -7, 1, inf, 0 } },
    { "into bf16, once", "bf16", function(v) return v * 1.0 end, { 1 + 2.0 ^ -8 + 2.0 ^ -40, 1 + 3 * 2.0 ^ -8 - 2.0 ^ -40 }, { 1 + 2.0 ^ -7, 1 + 2.0 ^ -7 } },
    { "into f16, once", "f16", function(v) return v * 1.0 end, { 1 + 2.0 ^ -11 + 2.0 ^ -40, 65519.99999, 2.0 ^ -25 + 2.0 ^ -60 }, { 1 + 2.0 ^ -10, 65504, 2.0 ^ -24 } },
    { "into e4m3, once", "e4m3", function(v) return v * 1.0 end, { 1.0625 + 2.0 ^ -40, 1.0625 }, { 1.125, 1 } },
    { "min and max beside other dtypes", "f64", function(v, N) return weir.max(weir.min(weir.cast(v, "f32"), v), N) + weir.min(weir.cast(v, "i64"), v) end, { 0.5, 1 / 3, 2.5 }, { 1, 1, 4.5 } },
    { "to i32", "i32", cast "i32", { 2147483647.5, -2147483648.5, nan, 1e10 }, { 2147483647, -2147483648, 0, 2147483647 } },
    { "to u8", "u8", cast "u8", { 300, -5, nan }, { 255, 0, 0 } },
    { "to i64", "i64", cast "i64", { 2.0 ^ 63, -2.0 ^ 63, nan, 2.0 ^ 53 + 2 }, { high, low, 0, (1 << 53) + 2 } },
    { "times 5e-324, 1e308, -0", "f64", function(v) return weir.select(weir.gt(v, 2), v * -0.0, weir.select(weir.gt(v, 1), v * 1e308, v * 5e-324)) end, { 1, 1.5, 3 }, { 5e-324, 1.5e308, -0.0 } },
  },
  i32 = {
    { "(v + most) + 1", "f64", function(v) return weir.cast((v + 2147483647) + 1, "f64") end, { 0, 1 }, { -2147483648.0, -2147483647.0 } },
    { "(v + 2^40) - 2^40 + most", "i64", function(v) return ((v + (1 << 40)) - (1 << 40)) + 2147483647 end, { 5 }, { 2147483652 } },
    { "v - v of 64 bits", "i64", function(v) local w = weir.cast(v, "i64") return ((w - w) + v) * v + w * 0 end, { 65536 }, { 1 << 32 } },
    { "> the least", "i32", flag(function(v) return weir.gt(v, -2147483648) end), { -2147483648, 1 }, { 0, 1 } },
    { "a plain i32 wraps", "i64", function(v) return v + (weir.cast(2147483647, "i32") + weir.cast(1, "i32")) end, { 1 }, { -2147483647 } },
    { "to bf16, once", "f32", cast("bf16", "f32"), { 16777216 + 65536 + 1, 257, 3 }, { 16777216 + 131072, 256, 3 } },
    { "into bf16, once", "bf16", function(v) return v * 1 end, { 16777216 + 65536 + 1, -16777216 - 65536 - 1 }, { 16777216 + 131072, -16777216 - 131072 } },
    { "to i8 and u8", "i32", function(v) return weir.cast(v, "i8") * 1000 + weir.cast(v, "u8") end, { 300, -1 }, { 44044, -745 } },
    { "max(v, 0) * 3 // 2", "i32", function(v) return weir.max(v, 0) * 3 // 2 end, { 1000000001, 3 }, { -647483647, 4 } },
    { "(v % 100000) * 100000 % 7", "i32", function(v) return (v % 100000) * 100000 % 7 end, { 99999, 3 }, { (99999 * 100000 - (2 << 32)) % 7, 300000 % 7 } },
    { "// -1, % -3", "i32", function(v) return v // -1 + v % -3 end, { 5, -5 }, { -6, 3 } },
  },
  u32 = {
    { "(v - v) - 1", "f64", function(v) return weir.cast((v - v) - 1, "f64") end, { 5 }, { 4294967295.0 } },
    { "v * 0 - 1", "f64", function(v) return weir.cast((v * 0) - 1, "f64") end, { 5 }, { 4294967295.0 } },
    { "< -1, // -2, % -2", "u32", function(v) return weir.select(weir.lt(v, -1), 10, 0) + v // -2 + v % -2 end, { 1, 4294967295 }, { 11, 2 } },
    { "-v, abs", "f64", function(v) return weir.cast(weir.abs(-v), "f64") end, { 5 }, { 4294967291.0 } },
    { "into bf16, once", "bf16", function(v) return v * 1 end, { 4278190081 + (1 << 23), 16777216 + 65536 + 1 }, { 4294967296.0, 16777216 + 131072 } },
  },
  i64 = {
    { "a size's rest, + least", "i64", function(v, N) return v * 0 + (N % -3 + math.mininteger) end, { 1 }, { high - 1 } },
    { "+ least, + most", "i64", function(v) return (v + math.mininteger) - math.maxinteger end, { 1 }, { 2 } },
    { "// -1", "i64", function(v) return v // -1 end, { low, 5 }, { low, -5 } },
    { "to bf16, once", "f32", cast("bf16", "f32"), { (1 << 62) + (1 << 54) + 1, -(1 << 62) - (1 << 54) - 1, (1 << 62) + (1 << 54) }, { 2.0 ^ 62 + 2.0 ^ 55, -(2.0 ^ 62) - 2.0 ^ 55, 2.0 ^ 62 } },
    { "a row's sum wraps", "i64", function(v) return v end, { high }, { high } },
  },
  u64 = { { "+ 2^64 - 1", "u64", function(v) return v + weir.cast(-1, "u64") end, { 1, 0 }, { 0, -1 } },
    { "to f16, once", "f32", cast("f16", "f32"), { 2049, 2051 + 0, 4098 }, { 2048, 2052, 4096 } } },
}
for _, dtype in ipairs { "f32", "f64", "i32", "u32", "i64", "u64" } do
  group(dtype, true, all[dtype])
  group(dtype, false, all[dtype])
end

-- ---- what is read stays what it was, in every step of a loop ---------------------------------------------------------------------

-- X { rows, 8 } to Y by `make(k, gx, gy, reg)`, which gives the schedule; want(i, j, x) is what there should be.
local function run(name, o, make, want)
  local rows = o.rows or 64
  local k = weir.kernel { name = "keeps", arch = "sm_90a" }
  local function tile(tensor, out) return k:gmem_tile { name = "g" .. tensor, tile = { rows, 8 }, tensor = k:tensor { name = tensor, dtype = "i32", shape = { rows, 8 }, out = out } } end
  local gx, gy = tile "X", tile("Y", true)
  local function reg(n) return k:reg_tile { name = n, dtype = "i32", tile = { rows, 8 } } end
  k:task { name = "t", warps = { 0, rows // 16 }, schedule = make(k, gx, gy, reg) }
  local program = k:build { device = dev }
  local list = {}
  for i = 1, rows * 8 do list[i] = i * 37 % 101 end
  local x, y = dev:tensor { dtype = "i32", shape = { rows, 8 } }:set(list), dev:tensor { dtype = "i32", shape = { rows, 8 } }
  local ok, why = program:launch({ X = x, Y = y }, { grid = 1 })
  dev:sync()
  local seen, wanted = ok and y:get(), {}
  for i = 0, rows - 1 do
    for j = 0, 7 do wanted[#wanted + 1] = want(i, j, function(r, c) return list[r * 8 + c + 1] end) end
  end
  tap.is(table.concat(wanted, " "), seen and table.concat(seen, " ") or why, name)
  x:close(); y:close(); k:close()
end
local function row(x, i) local s = 0 for c = 0, 7 do s = s + x(i, c) end return s end
for _, c in ipairs { { "", function(v) return v end, function(x, i, j) return x(i, j) end }, { ", of it", function(v) return v * 2 + 1 end, function(x, i, j) return 2 * x(i, j) + 1 end },
                     { ", a sum of its rows", function(v) return v:row_sum() end, row } } do
  for _, loops in ipairs { 1, 2 } do
    run(("read before %d loops, changed in them behind its use%s"):format(loops, c[1]), {}, function(_, gx, gy, reg)
      local r, a = reg "r", reg "a"
      return function()
        r:set(gx:at(0, 0):load()); a:zero()
        local v = c[2](r:read())
        for _ in weir.domain_loop(0, 3) do
          if loops == 1 then a:set(a:read() + v); r:set(r:read() + 1)
          else
            a:set(a:read() + v)
            for _ in weir.domain_loop(0, 2) do r:set(r:read() * 3) end
          end
        end
        gy:store(a:read(), gy:at(0, 0))
      end
    end, function(i, j, x) return 3 * c[3](x, i, j) end)
  end
end

-- ---- tiles of one and four columns, of every float ---------------------------------------------------------------------------------------

for _, dtype in ipairs { "bf16", "f16", "e4m3", "e5m2", "tf32", "f32", "f64" } do
  for _, cols in ipairs { 1, 4, 8 } do
    run(("%d columns of %s: as they are held, beside a whole number"):format(cols, dtype), {}, function(k, gx, gy, reg)
      local r, q = reg "r", k:reg_tile { name = "q", dtype = dtype, tile = { 64, cols } }
      return function()
        r:set(gx:at(0, 0):load())
        q:zero()
        q:set(q:read() + (cols == 8 and r:read() or r:read():row_max(cols)) * 0.37)
        local held = weir.select(weir.gt(q:read(), 1), q:read(), 0)
        gy:store(weir.cast((cols == 4 and held:row_max() or held) * 64, "i32"), gy:at(0, 0))
      end
    end, function(i, j, x)
      local m = x(i, j)
      if cols < 8 then for c = 0, 7 do m = math.max(m, x(i, c)) end end
      local q = numbers.round(dtype, dtype == "f64" and m * 0.37 or numbers.round("f32", m * numbers.round("f32", 0.37)))
      return (q > 1 and q or 0) * 64 // 1 | 0
    end)
  end
end

-- ---- rows and columns --------------------------------------------------------------------------------------------------------------

for _, c in ipairs { { "%", function(h) return h % 1000 end, function(h) return h % 1000 end }, { "//", function(h) return h // 1000 end, function(h) return h // 1000 end } } do
  run("a hash of rows and columns wraps, " .. c[1], {}, function(_, _, gy, reg)
    local r = reg "r"
    return function()
      r:set(c[2]((r:row_index() * 1103515245 + r:col_index() * 12345) * 1103515245))
      gy:store(r:read(), gy:at(0, 0))
    end
  end, function(i, j) return c[3](numbers.wrap("i32", (i * 1103515245 + j * 12345) * 1103515245)) end)
end
run("rows of a tile that the task does not have", { rows = 128 }, function(_, gx, gy, reg)
  local r, q = reg "r", reg "q"
  return function()
    r:set(gx:at(0, 0):load())
    gy:store(r:read() + q:row_index() * 1000, gy:at(0, 0))
  end
end, function(i, j, x) return x(i, j) + i * 1000 end)
run("rows and columns of it alone", { rows = 128 }, function(_, _, gy, reg)
  local q = reg "q"
  return function() gy:store(q:row_index() * q:row_index() * 8 + q:col_index(), gy:at(0, 0)) end
end, function(i, j) return i * i * 8 + j end)

-- A condition is of what was loaded, too.
do
  local k = weir.kernel { name = "late", arch = "sm_90a" }
  local gy = k:gmem_tile { name = "gy", tile = { 64, 8 }, tensor = k:tensor { name = "Y", dtype = "f32", shape = { 64, 8 }, out = true } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    local c = weir.gt(gy:at(0, 0):load(), 3)
    gy:store(0.0, gy:at(0, 0))
    gy:store(weir.select(c, 1.0, 2.0), gy:at(0, 0))
  end }
  tap.like("takes a tile that was loaded from 'gy' before its tensor was written [PLAN-UNSUPPORTED]", tostring(k:verify()), "a condition of what was overwritten is refused")
  k:close()
end

-- ---- scalars ----------------------------------------------------------------------------------------------------------------------------

do
  local k = weir.kernel { name = "scalars", arch = "sm_90a" }
  local g, args, s = {}, {}, {}
  for _, t in ipairs { "i64", "u64", "i32", "u32" } do
    s[t] = k:scalar { name = "s_" .. t, dtype = t }
    g[t] = k:gmem_tile { name = "g_" .. t, tile = { 8 }, tensor = k:tensor { name = "Y_" .. t, dtype = t, shape = { 8 }, out = true } }
    args["Y_" .. t] = dev:tensor { dtype = t, shape = { 8 } }
  end
  k:task { name = "t", warps = { 0, 1 }, schedule = function() for t, tile in pairs(g) do tile:store(s[t], tile:at(0)) end end }
  local program = k:build { device = dev }
  local function launch(given)
    for n, x in pairs { s_i64 = 1, s_u64 = 1, s_i32 = 1, s_u32 = 1 } do args[n] = given[n] or x end
    return pcall(program.launch, program, args, { grid = 1 }) -- bad arguments raise
  end
  for t, list in pairs { i64 = { (1 << 53) + 1, math.maxinteger, math.mininteger, -((1 << 60) + 1), 2.0 ^ 60 }, u64 = { (1 << 62) + 1, -1, 1.0 }, i32 = { -2147483648, 7.0 }, u32 = { 4294967295 } } do
    for _, x in ipairs(list) do
      local ok, why = launch { ["s_" .. t] = x }
      dev:sync()
      tap.is(math.tointeger(x), ok and args["Y_" .. t]:get()[1] or why, ("a scalar of %s that is %s"):format(t, x))
    end
  end
  for t, list in pairs { i32 = { 3000000000, 1.5, nan }, u32 = { -1, 4294967296 }, i64 = { 0.5, inf, 2.0 ^ 63 }, u64 = { -1.0 } } do
    for _, x in ipairs(list) do
      local ok, why = launch { ["s_" .. t] = x }
      tap.like(("scalar 's_%s' is %s; "):format(t, t), not ok and tostring(why) or "launched", ("%s is no %s"):format(x, t))
    end
  end
  for _, t in ipairs { "i64", "u64", "i32", "u32" } do args["Y_" .. t]:close() end
  k:close()
end

-- ---- programs ----------------------------------------------------------------------------------------------------------------------

for _, kind in ipairs { "flow", "extremes" } do tap.diag(require "gen.kernels".test(tap, dev, 1, 12, { kind = kind }).text) end
tap.done()
