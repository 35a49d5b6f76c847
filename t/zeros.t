#!/usr/bin/env lua5.4
-- Sums behind a loop that may not run: whether it ran is asked only where that differs from tile to tile. Every element of every tile, three
-- tiles by one CTA, so that a tile follows one that had sums.
local tap = require "tap"
local weir = require "lab".weir
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 5 }))

-- Each product adds 16 to every sum of a tile. wanted(m, n): how many of tile m are in its result, and asks: whether the source looks.
local function case(name, asks, schedule, wanted)
  local k = weir.kernel { name = "zeros", arch = "sm_90a" }
  local n, M = k:dim "n", k:dim "M"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, 16 } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, 8 }, out = true }
  local ga, gd = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 16 } }, k:gmem_tile { name = "gd", tensor = D, tile = { 64, 8 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_async { stages = 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { 64, 8 } }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(M, 64) } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do s:acquire(); s:tma_load(ga:at(0, 0)); s:commit(); wq:next() end
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    local function add() acc:mma(s:read(), s:read():rows(0, 8)); acc:drain() end
    for t in weir.work_tile_loop(wq) do
      s:wait()
      schedule { n = n, t = t, acc = acc, add = add, put = function() gd:store(acc:read(), gd:at(t.m, 0)) end }
      s:release(); wq:next()
    end
  end }
  local p = k:build { device = dev }
  tap.is(asks, p:source():find("if (!acc_live)", 1, true) ~= nil, name .. ": whether the loop ran is " .. (asks and "asked" or "not asked"))
  tap.is(not asks, p:source():find("acc[4] = { 0 }", 1, true) ~= nil, name .. ": the sums " .. (asks and "do not begin" or "begin") .. " as 0")
  for _, steps in ipairs { 0, 1, 3 } do
    local a, d = dev:tensor { dtype = "bf16", shape = { 64, 16 } }:fill(1), dev:tensor { dtype = "f32", shape = { 192, 8 } }:fill(-1)
    assert(p:launch({ A = a, D = d, n = steps }, { grid = 1 }))
    assert(dev:sync())
    local seen, want = {}, {}
    for m = 0, 2 do
      want[m + 1] = 16.0 * wanted(m, steps)
      for i = 0, 511 do
        local x = d:get()[m * 512 + i + 1]
        if not seen[m + 1] or x ~= want[m + 1] then seen[m + 1] = x end
      end
    end
    tap.is(want, seen, ("%s: %d steps"):format(name, steps))
  end
end

local loop = weir.domain_loop
case("one loop", false, function(o) o.acc:zero() for _ in loop(0, o.n) do o.add() end o.put() end, function(_, n) return n end)
case("it stands behind a read", false, function(o) o.acc:zero(); o.put(); o.acc:zero() for _ in loop(0, o.n) do o.add() end o.put() end, function(_, n) return n end)
case("its length is the tile's", true, function(o) o.acc:zero() for _ in loop(0, (o.t.m + 1) % 2 * o.n) do o.add() end o.put() end,
  function(m, n) return (m + 1) % 2 * n end)
case("under a guard by the tile", true, function(o)
  o.acc:zero()
  for _ in weir.when_true(weir.ne(o.t.m, 1)) do for _ in loop(0, o.n) do o.add() end end
  o.put()
end, function(m, n) return m ~= 1 and n or 0 end)
case("a guard within it", true, function(o)
  o.acc:zero()
  for _ in loop(0, o.n) do for _ in weir.when_true(weir.ne(o.t.m, 1)) do o.add() end end
  o.put()
end, function(m, n) return m ~= 1 and n or 0 end)
case("two loops", true, function(o)
  o.acc:zero()
  for _ in loop(0, o.n) do o.add() end
  for _ in loop(0, o.n - 1) do o.add() end
  o.put()
end, function(_, n) return n + math.max(0, n - 1) end)
case("a product behind the read", true, function(o)
  o.acc:zero()
  for _ in loop(0, o.n) do o.add() end
  o.put(); o.add()
end, function(_, n) return n end)
case("zeroed under a guard, behind the loop", true, function(o)
  o.acc:zero()
  for _ in loop(0, o.n) do o.add() end
  for _ in weir.when_true(weir.eq(o.t.m, 1)) do o.acc:zero() end
  o.put()
end, function(m, n) return m ~= 1 and n or 0 end)
case("a loop in a loop", true, function(o)
  o.acc:zero()
  for _ in loop(0, 2) do for _ in loop(0, o.n) do o.add() end end
  o.put()
end, function(_, n) return 2 * n end)
tap.done()
