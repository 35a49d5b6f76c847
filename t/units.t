#!/usr/bin/env lua5.4
-- n steps, however they are written: steps peeled off, several at a time with a rest, in chunks, looked ahead to. What both sides run is read
-- off the same units (docs/proof.md, "Counted by units"); each verdict is held against the explorer.
--
--   lua5.4 t/units.t [FROM TO]       pairs of these seeds, of both sides at random
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local agreement, numbers = require "gen.agreement", require "gen.numbers"
local T, F, cd, min = weir.when_true, weir.when_false, weir.ceil_div, weir.min
local gt, lt, ge, le, eq, ne = weir.gt, weir.lt, weir.ge, weir.le, weir.eq, weir.ne

local function loop(from, to, body, step) for i in weir.domain_loop(from, to, step or 1) do body(i) end end
local function when(c, body) for _ in T(c) do body() end end

-- Ways to do op() n times; of[way](n, op, e): e, 0 if all is right, makes one of its numbers wrong.
local ways = {}
function ways.plain(n, op, e) loop(0, n + e, op) end
function ways.last_behind(n, op, e) loop(0, n - 1, op); when(gt(n, e), op) end
function ways.first_before(n, op, e) when(gt(n, e), op); loop(1, n, op) end
function ways.not_last_behind(n, op, e) loop(0, n - 1, op); for _ in F(le(n, e)) do op() end end
function ways.all_but_none(n, op, e) when(gt(n, e), function() op(); loop(1, n, op) end) end
function ways.three_before(n, op, e) when(ge(n, 1), op); when(ge(n, 2 + e), op); when(lt(2, n), op); loop(3, n, op) end
function ways.two_behind(n, op, e) loop(0, n - 2, op); when(ge(n, 2), op); when(gt(n, e), op) end
function ways.prologue(n, op, e) loop(0, min(n, 3 + e), op); loop(3, n, op) end
function ways.prologue_of_two(n, op, e) loop(0, min(2, n), op); loop(2 + e, n, op) end
function ways.by_two(n, op, e) loop(0, n // 2, function() op(); op() end); when(eq(n % 2, 1 - e), op) end
function ways.by_three(n, op, e)
  loop(0, n // 3, function() op(); op(); op() end)
  when(ne(n % 3, 0), op)
  when(eq(n % 3, 2 - e), op)
end
function ways.guarded_two(n, op, e) loop(0, cd(n, 2), function(i) op(); when(lt(2 * i + 1 + e, n), op) end) end
function ways.guarded_three(n, op, e) loop(0, (n + 2) // 3, function(i) op(); when(lt(3 * i + 1, n), op); when(gt(n, 3 * i + 2 + e), op) end) end
function ways.chunks(n, op, e) loop(0, cd(n, 4), function(i) loop(0, min(4, n - 4 * i - e), op) end) end
function ways.whole_chunks(n, op, e) loop(0, cd(n, 2), function(i) loop(0, min(n - 2 * i, 2 - e), op) end) end
function ways.last_apart(n, op, e) loop(0, n, function(i) when(lt(i + 1 + e, n), op); when(eq(i + 1, n), op) end) end
function ways.last_out(n, op, e) loop(0, n, function(i) when(ne(i, n - 1), op) end); when(gt(n, e), op) end
function ways.prefetch(n, op, e) when(gt(n, e), op); loop(0, n, function(i) when(lt(i + 1, n), op) end) end
function ways.two_ahead(n, op, e) when(gt(n, 0), op); when(gt(n, 1), op); loop(0, n, function(i) when(lt(i + 2 - e, n), op) end) end
function ways.downwards(n, op, e) for i in weir.domain_loop(n, 0, -1) do when(gt(i, 1 + e), op) end when(gt(n, 0), op) end
function ways.whole_and_rest(n, op, e, N, unit)
  if unit == 1 then return ways.plain(n, op, e) end
  loop(0, N // unit, op)
  when(ne(N % unit, e), op)
end
function ways.rest_and_whole(n, op, e, N, unit)
  if unit == 1 then return ways.plain(n, op, e) end
  for _ in F(eq(N % unit, e)) do op() end
  loop(0, N // unit, op)
end
function ways.rest_as_a_loop(n, op, e) loop(0, n // 2, function() op(); op() end); loop(0, (n + e) % 2, op) end
local names = {}
for name in pairs(ways) do names[#names + 1] = name end
table.sort(names)

-- A kernel of two sides, each one way (and an error) of doing its moves as often as `count` says; in tiles or not.
local function pair(o)
  local k = weir.kernel { name = "units", arch = "sm_90a" }
  local N = k:dim("N", { max = 1 << 30 }) -- 32 bits hold N + 2
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = o.stages or 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local wq = o.tiles and k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "T" } }
  local n = o.unit and cd(N, o.unit) or N
  local function body(side)
    ways[side == "give" and o.give or o.get](n, function()
      if side == "give" then s:acquire(); s:fill(); s:commit() else s:wait(); s:use(); s:release() end
    end, side == "give" and o.give_error or side == "get" and o.get_error or 0, N, o.unit or 1)
  end
  for i, side in ipairs { "give", "get" } do
    k:task { name = side, warps = { i - 1, 1 }, schedule = function()
      if not wq then return body(side) end
      for _ in weir.work_tile_loop(wq) do body(side); wq:next() end
    end }
  end
  return k
end

local function run(o)
  local k = pair(o)
  local program, why = plan.of(k)
  assert(program, why)
  local sizes = {}
  for n = 0, 8 do sizes[#sizes + 1] = { N = n * (o.unit or 1) - (n > 0 and o.unit or 1) + 1, M = 0, T = 2, R = 64, tiles = o.tiles and 2 or nil } end
  sizes.tiles = o.tiles and 5 or nil
  local said = agreement.compare(plan, program, sizes, { limit = 40000, far = 200000 })
  k:close()
  return said
end

if arg[1] then
  local from, to, tally = tonumber(arg[1]), tonumber(arg[2]), {}
  for seed = from, to do
    local d = numbers.dice(seed)
    local o = { give = d.one(names), get = d.one(names), stages = d.range(1, 3), tiles = d.range(1, 3) == 1, unit = d.range(1, 2) == 1 and 24 or nil }
    if d.range(1, 3) == 1 then o.get_error = d.range(0, 1) * 2 - 1 elseif d.range(1, 3) == 1 then o.give_error = 1 end
    local said = run(o)
    local kind = ((o.get_error or o.give_error) and "with an error: " or "right: ") .. said.verdict .. (said.open and ", open" or "")
    tally[kind] = (tally[kind] or 0) + 1
    if said.wrong or (said.verdict ~= "SAFE" and not o.get_error and not o.give_error) then
      tap.diag(seed, o.give, o.get, o.give_error or 0, o.get_error or 0, o.stages, o.tiles, o.unit or 1, said.verdict, said.wrong or "")
    end
    if said.wrong then tap.ok(false, seed .. ": " .. said.wrong) end
  end
  for kind, n in pairs(tally) do tap.diag(kind, n) end
  tap.ok(true, "ran")
  return tap.done()
end

-- Each way against the plain loop, both ways round; with one number wrong.
for at, name in ipairs(names) do
  for turn = 1, name == "plain" and 1 or 2 do
    local o = { give = turn == 1 and "plain" or name, get = turn == 1 and name or "plain", stages = 1 + at % 3, tiles = at % 2 == 0, unit = (at % 4 < 2 or name:find "whole_and" or name:find "and_whole") and 24 or nil }
    local text = ("%s against %s"):format(o.give, o.get)
    local said = run(o)
    if not tap.ok(said.verdict == "SAFE" and not said.wrong and not said.open, text) then tap.diag(said.verdict, said.text, said.wrong, said.open) end
    if turn == 1 then o.get_error = 1 else o.give_error = 1 end
    said = run(o)
    if not tap.ok(said.verdict == "UNSAFE" and not said.wrong, text .. ", one number wrong") then tap.diag(said.verdict, said.text, said.wrong) end
  end
end

-- Products: a loop of all steps against loops in each other.
local function nest(o)
  local k = weir.kernel { name = "nest", arch = "sm_90a" }
  local N, M, L = k:dim("N", { max = 1000 }), k:dim("M", { max = 1000 }), k:dim("L", { max = 1000 })
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local function give() s:acquire(); s:fill(); s:commit() end
  local function get() s:wait(); s:use(); s:release() end
  k:task { name = "give", warps = { 0, 1 }, schedule = function() o.give(give, N, M, L) end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function() o.get(get, N, M, L) end }
  local program, why = plan.of(k)
  assert(program, why)
  local sizes = {}
  for n = 0, 3 do for m = 0, 2 do for l = 1, 2 do sizes[#sizes + 1] = { N = n, M = m, L = l, T = 1, R = 64 } end end end
  local said = agreement.compare(plan, program, sizes, { limit = 40000, far = 200000 })
  k:close()
  return said
end
local function flat(op, N, M, L) loop(0, N * M * L, op) end
local function in_each_other(op, N, M, L) loop(0, N, function() loop(0, M, function() loop(0, L, op) end) end) end
local function other(op, N, M, L) loop(0, N, function() loop(0, M + 1, function() loop(0, L, op) end) end) end
local function taps(t) return function(op, N) loop(0, t * N, op) end end
local function tap_by_tap(t) return function(op, N) loop(0, t, function() loop(0, N, op) end) end end
local function all_taps(t) return function(op, N) loop(0, N, function() for _ = 1, t do op() end end) end end
for _, c in ipairs {
  { "a product", "SAFE", flat, in_each_other }, { "a product, the other way round", "SAFE", in_each_other, flat }, { "another product", "UNSAFE", flat, other },
  { "a product of two", "SAFE", function(op, N, M) loop(0, N * M, op) end, function(op, N, M) loop(0, N, function() loop(0, M, op) end) end },
  { "nine taps", "SAFE", taps(9), tap_by_tap(9) }, { "nine taps a step", "SAFE", taps(9), all_taps(9) }, { "nine taps, and eight", "UNSAFE", taps(9), tap_by_tap(8) },
} do
  local said = nest { give = c[3], get = c[4] }
  if not tap.ok(said.verdict == c[2] and not said.wrong and not said.open, c[1]) then tap.diag(said.verdict, said.text, said.wrong, said.open) end
end
tap.done()
