#!/usr/bin/env lua5.4
-- Sums behind a loop that may not run: whether it ran is asked only where that differs from tile to tile. Every element of every tile, three
-- tiles by one CTA, so that a tile follows one that had sums.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local dev = assert(weir.device("sim", { seed = 5 }))

-- wanted(m, n): how many products of tile m are in its result, and asks: whether the source looks.
local function case(name, asks, schedule, wanted, first)
  local p = lab.sums(schedule, first):build { device = dev }
  tap.is(asks, p:source():find("if (!acc_live)", 1, true) ~= nil, name .. ": whether the loop ran is " .. (asks and "asked" or "not asked"))
  tap.is(not asks, p:source():find("acc[4] = { 0 }", 1, true) ~= nil, name .. ": the sums " .. (asks and "do not begin" or "begin") .. " as 0")
  for _, steps in ipairs { 0, 1, 3 } do
    local want = {}
    for m = 0, 2 do want[m + 1] = { [16.0 * wanted(m, steps)] = true } end
    tap.is(want, lab.run_sums(dev, p, steps, 3), ("%s: %d steps"):format(name, steps))
  end
end

local loop = weir.domain_loop
case("one loop", false, function(o) o.acc:zero() for _ in loop(0, o.n) do o.add() end o.put() end, function(_, n) return n end)
case("it stands behind a read", false, function(o) o.acc:zero(); o.put(); o.acc:zero() for _ in loop(0, o.n) do o.add() end o.put() end, function(_, n) return n end)
case("its length is the tile's", true, function(o) o.acc:zero() for _ in loop(0, (o.t.m + 1) % 2 * o.n) do o.add() end o.put() end,
  function(m, n) return (m + 1) % 2 * n end)
case("its start is the tile's", true, function(o) o.acc:zero() for _ in loop(o.t.m, o.n) do o.add() end o.put() end, function(m, n) return math.max(0, n - m) end)
case("its step is the tile's", true, function(o) o.acc:zero() for _ in loop(0, o.n, o.t.m + 1) do o.add() end o.put() end, function(m, n) return (n + m) // (m + 1) end)
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
case("zeroed behind the sums of every tile but the first", true, function(o)
  for _ in loop(0, o.n) do o.add() end
  o.put()
  for _ in weir.previous_tile(o.wq) do o.acc:zero() end
end, function(m, n) return m == 1 and 2 * n or n end, function(acc) acc:set(0) end)
tap.done()
