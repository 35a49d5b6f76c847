#!/usr/bin/env lua5.4
-- Values are a graph and text is a tree: what several places take has a name in the emitted source, at the head of the block that has
-- all of them, and what only a guard's body takes stays behind the guard.
local tap = require "tap"
local weir = require "weir"

-- y[i] = f(i, N, D) for i below N, by one warp, `row` elements from the place that f gives.
local function kernel(body)
  local k = weir.kernel { name = "shared", arch = "sm_90a" }
  local N, D = k:dim "N", k:scalar { name = "D", dtype = "i32" }
  local Y = k:tensor { name = "Y", dtype = "i32", shape = { N, 4 }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 4 } }
  k:task { name = "put", warps = { 0, 1 }, schedule = function() body(N, D, y) end }
  return k
end

local dev = assert(weir.device("sim", { seed = 5 }))
local function rows(p, n, d)
  local t = dev:tensor { dtype = "i32", shape = { n, 4 } }:fill(-1)
  assert(p:launch({ Y = t, D = d }, { grid = 1 }))
  assert(dev:sync())
  local all, out = t:get(), {}
  for i = 1, n do out[i] = all[4 * i] end
  return out
end

-- Forty operations that take the one before them twice: 2^20 operations, written out.
local function tower(x, cast)
  for i = 1, 20 do x = cast((x + i) // 3) + x % 5 end
  return x
end
local p = kernel(function(N, _, y)
  for i in weir.domain_loop(N) do y:store(tower(i, function(v) return v end), y:at(i, 0)) end
end):build { device = dev }
local source = p:source()
tap.ok(#source < 20000, ("shared parts are written once (%d characters)"):format(#source))
local want = {}
for i = 0, 9 do want[i + 1] = tower(i, function(v) return v end) end
tap.is(want, rows(p, 10, 0), "and give what they should")

-- What a loop takes and does not change is computed in front of it.
p = kernel(function(N, D, y)
  for i in weir.domain_loop(N) do
    local a = D * 7 % 13 // 2
    y:store(i + a * a, y:at(i, 0))
  end
end):build { device = dev }
source = p:source()
local named, loop = source:find("const i32 v%d+ = "), source:find("for (i32 i0", 1, true)
tap.ok(named and named < loop, "a loop's constant stands before the loop")
tap.is({ 49 % 13 // 2, 49 % 13 // 2, 49 % 13 // 2 }, (function() -- 7 * 7 = 49
  local got = rows(p, 3, 7)
  for i = 1, 3 do got[i] = math.tointeger(math.sqrt(got[i] - (i - 1))) end
  return got
end)(), "with its value")

-- Division by what a guard tells from 0: not hoisted out of the guard; of two guards it is, and a divisor of 0 must not matter.
local function guarded(twice)
  return kernel(function(N, D, y)
    for i in weir.domain_loop(N) do
      y:store(i, y:at(i, 0))
      for _ in weir.when_true(weir.ne(D, 0)) do y:store((i + 100) // D * ((i + 100) // D), y:at(i, 0)) end
      if twice then
        for _ in weir.when_true(weir.gt(D, 3)) do y:store((i + 100) // D * ((i + 100) // D) + 1, y:at(i, 0)) end
      end
    end
  end):build { device = dev }
end
p = guarded(false)
source = p:source()
named, loop = source:find("const i32 v%d+ = "), source:find("if ((D != 0))", 1, true)
tap.ok(named and loop and named > loop, "what only a guard's body takes is named there")
tap.is({ 0, 1, 2 }, rows(p, 3, 0), "and is not computed where the guard does not hold")
tap.is({ 400, 400, 51 * 51 }, (function() local r = rows(p, 3, 5) r[3] = rows(p, 3, 2)[3] return r end)(), "but where it does")
p = guarded(true)
source = p:source()
named, loop = source:find("const i32 v%d+ = %("), source:find("if ((D != 0))", 1, true)
tap.ok(named and loop and named < loop, "what two guards take is named before them")
tap.is({ 0, 1, 2 }, rows(p, 3, 0), "where a divisor may be 0")
tap.is({ 401, 401 }, rows(p, 2, 5), "and has its value where it is needed")
tap.done()
