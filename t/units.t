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
    end, side == "give" and o.give_error or side == "get" and o.get_error or 0)
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
    local o = { give = d.one(names), get = d.one(names), stages = d.range(1, 3), tiles = d.range(1, 3) == 1, unit = d.range(1, 2) == 1 and 8 or nil }
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
    local o = { give = turn == 1 and "plain" or name, get = turn == 1 and name or "plain", stages = 1 + at % 3, tiles = at % 2 == 0, unit = at % 4 < 2 and 8 or nil }
    local text = ("%s against %s"):format(o.give, o.get)
    local said = run(o)
    if not tap.ok(said.verdict == "SAFE" and not said.wrong and not said.open, text) then tap.diag(said.verdict, said.text, said.wrong, said.open) end
    if turn == 1 then o.get_error = 1 else o.give_error = 1 end
    said = run(o)
    if not tap.ok(said.verdict == "UNSAFE" and not said.wrong, text .. ", one number wrong") then tap.diag(said.verdict, said.text, said.wrong) end
  end
end
tap.done()
