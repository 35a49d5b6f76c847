#!/usr/bin/env lua5.4
-- Steps of a loop over products that guards name by number stand for themselves in the source; what each step does is the same.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local dev = assert(weir.device("sim", { seed = 5 }))

local function case(name, texts, schedule, wanted)
  local p = lab.sums(function(o) o.acc:zero(); schedule(o.n, o.add); o.put() end):build { device = dev }
  for text, there in pairs(texts) do tap.is(there, p:source():find(text, 1, true) ~= nil, ("%s: %s is %sin the source"):format(name, text, there and "" or "not ")) end
  for n = 0, 8 do tap.is({ { [16.0 * wanted(n)] = true } }, lab.run_sums(dev, p, n, 1), ("%s: %d steps"):format(name, n)) end
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
