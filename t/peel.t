#!/usr/bin/env lua5.4
-- Steps of a loop over products that guards name by number stand for themselves in the source; what each step does is the same.
local tap = require "tap"
local weir = require "lab".weir
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 5 }))

-- A tile of sums to which each add() adds 16; the program.
local function kernel(schedule)
  local k = weir.kernel { name = "peel", arch = "sm_90a" }
  local n = k:dim "n"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, 16 } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { 64, 8 }, out = true }
  local ga, gd = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 16 } }, k:gmem_tile { name = "gd", tensor = D, tile = { 64, 8 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_async { stages = 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { 64, 8 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(ga:at(0, 0)); s:commit() end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    s:wait(); acc:zero()
    schedule(n, function() acc:mma(s:read(), s:read():rows(0, 8)); acc:drain() end)
    gd:store(acc:read(), gd:at(0, 0)); s:release()
  end }
  return k:build { device = dev }
end

local function case(name, texts, schedule, wanted)
  local p = kernel(schedule)
  for text, there in pairs(texts) do tap.is(there, p:source():find(text, 1, true) ~= nil, ("%s: %s is %sin the source"):format(name, text, there and "" or "not ")) end
  for n = 0, 8 do
    local a, d = dev:tensor { dtype = "bf16", shape = { 64, 16 } }:fill(1), dev:tensor { dtype = "f32", shape = { 64, 8 } }:fill(-1)
    assert(p:launch({ A = a, D = d, n = n }, { grid = 1 }))
    assert(dev:sync())
    local seen = {}
    for _, x in ipairs(d:get()) do seen[x] = true end
    tap.is({ [16.0 * wanted(n)] = true }, seen, ("%s: %d steps"):format(name, n))
  end
end

local loop, when, eq = weir.domain_loop, weir.when_true, weir.eq
local function above(n, ...) local c = 0 for _, j in ipairs { ... } do if n > j then c = c + 1 end end return c end
case("steps 0 and 2", { ["for (i32 i0 = 3;"] = true, ["i0 == "] = false }, function(n, add)
  for i in loop(0, n) do
    add()
    for _ in when(eq(i, 2)) do add() end
    for _ in when(eq(i, 0)) do add(); add() end
  end
end, function(n) return n + above(n, 0, 0, 2) end)
case("a step that only a loop within it names", { ["for (i32 i0 = 2;"] = true, ["i0 == 1"] = false, ["i0 == 5"] = true }, function(n, add)
  for i in loop(0, n) do
    add()
    for _ in when(eq(i, 1)) do add() end
    for _ in loop(0, 2) do
      for _ in when(eq(i, 5)) do add() end
      for _ in when(eq(i, 0)) do add() end
    end
  end
end, function(n) return n + above(n, 0, 0, 1, 5, 5) end)
case("two guards of one step", { ["for (i32 i0 = 1;"] = true }, function(n, add)
  for i in loop(0, n) do
    add()
    for _ in when(eq(i, 0)) do add() end
    for _ in when(eq(i, 0)) do add() end
  end
end, function(n) return n + above(n, 0, 0) end)
case("a number that no step has, one too large", { ["for (i32 i0 = 0;"] = true, ["i0 == (-1)"] = true, ["i0 == 16"] = true }, function(n, add)
  for i in loop(0, n) do
    add()
    for _ in when(eq(i, -1)) do add() end
    for _ in when(eq(i, 16)) do add() end
  end
end, function(n) return n end)
case("a loop that begins elsewhere, by twos", { ["for (i32 i0 = 1;"] = true, ["i0 == 1"] = true }, function(n, add)
  for i in loop(1, n, 2) do
    add()
    for _ in when(eq(i, 1)) do add() end
  end
end, function(n) return n // 2 + above(n, 1) end)
tap.done()
