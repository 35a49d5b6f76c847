#!/usr/bin/env lua5.4
-- Conditions on a loop's index, in several tasks: equal ones are one question, others are not refuted by truths that no index gives.
local tap = require "tap"
local weir = require "lab".weir
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 5 }))

-- One task gives under `give(i)`, the other takes under `take(i)`; `around` a guard that both, or `inner` only the first, stand in.
local function ring(o)
  local k = weir.kernel { name = "ring", arch = "sm_90a" }
  local n = k:dim "n"
  local r = k:resource { name = "a", space = "smem", dtype = "i32", tile = { 32 }, pipeline = P.async_async { stages = 2 },
    work = { fill = weir.producer_work { params = "i32 i", code = "smem[lane] = i;" },
             use = weir.consumer_work { params = "i32 i", code = "if (smem[lane] != i) __trap();" } } }
  local function role(first, cond, body)
    k:task { name = first == 0 and "give" or "take", warps = { first, 1 }, schedule = function()
      for i in weir.domain_loop(0, first == 0 and n or o.longer and n + 2 or n) do cond(i, function() body(i) end) end
    end }
  end
  role(0, o.give, function(i) r:acquire(); r:fill(i); r:commit() end)
  role(1, o.take, function(i) r:wait(); r:use(i); r:release() end)
  return k
end
local function when(f) return function(i, body) for _ in weir.when_true(f(i)) do body() end end end
local function unless(f) return function(i, body) for _ in weir.when_false(f(i)) do body() end end end
local function nested(f, g) return function(i, body) for _ in weir.when_true(f(i)) do for _ in weir.when_true(g(i)) do body() end end end end
local function odd(i) return weir.eq(i % 2, 1) end
local function even(i) return weir.eq(i % 2, 0) end
local function third(i) return weir.eq(i % 3, 2) end
local function late(i) return weir.ge(i, 3) end

local function runs(k)
  local p = k:build { device = dev, unsafe = true }
  for _, n in ipairs { 0, 1, 2, 5, 9 } do
    local ok, why = p:launch({ n = n }, { grid = 1 })
    if not ok then return tostring(why):match "%[(sim%-%w+)%]" or why end
  end
  return "right"
end

for _, c in ipairs {
  { "the same condition", { give = when(odd), take = when(odd) }, "SAFE", "right" },
  { "the same, negated", { give = unless(odd), take = unless(odd) }, "SAFE", "right" },
  { "one turned round", { give = when(late), take = when(function(i) return weir.le(3, i) end) }, "SAFE", "right" },
  { "one negated, the other its opposite", { give = when(function(i) return weir.lt(i, 3) end), take = unless(late) }, "SAFE", "right" },
  { "equal, which nothing shows", { give = when(odd), take = unless(even) }, "INCOMPLETE", "right" },
  { "opposites", { give = when(odd), take = when(even) }, "UNSAFE", "sim-deadlock" },
  { "the same in a longer loop", { give = when(odd), take = when(odd), longer = true }, "UNSAFE", "sim-deadlock" },
  { "under a guard of its own, the first only", { give = nested(third, odd), take = when(odd) }, "UNSAFE", "sim-deadlock" },
  { "inside another, both", { give = nested(third, odd), take = nested(third, odd) }, "INCOMPLETE", "right" },
  { "inside, in another order", { give = nested(third, odd), take = nested(odd, third) }, "INCOMPLETE", "right" },
} do
  local k = ring(c[2])
  local proof = k:verify().proof
  tap.is(c[3], proof.verdict, c[1])
  tap.is(c[4], runs(ring(c[2])), c[1] .. ": in the simulator")
end
tap.done()
