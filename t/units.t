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
function ways.steps(_, op, e, N, unit) loop(0, N + e, op, unit) end
function ways.steps_ahead(n, op, e, N, unit)
  loop(0, N, function(i) when(lt(i + unit * (1 + e), N), op) end, unit)
  when(gt(n, 0), op)
end
function ways.steps_not_last(n, op, e, N, unit)
  when(lt(0, n), op)
  loop(0, N, function(i) for _ in F(ge(i + unit, N - e)) do op() end end, unit)
end
function ways.steps_two_ahead(n, op, e, N, unit)
  when(gt(n, e), op)
  when(gt(n, 1), op)
  loop(0, N, function(i) for _ in F(le(N, 2 * unit + i)) do op() end end, unit)
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

-- Steps within that two warps take in turn, each its own.
for turn = 1, 2 do
  local k = weir.kernel { name = "turns", arch = "sm_90a" }
  local N, M, L = k:dim("N", { max = 1000 }), k:dim("M", { max = 1000 }), k:dim("L", { max = 1000, multiple = 2 })
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 } },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local function product(op) loop(0, N * M, function() loop(0, L, op) end) end
  local function apart(op) loop(0, N, function() loop(0, M, function() loop(0, L, op) end) end) end
  k:task { name = "give", warps = { 0, 1 }, schedule = function() (turn == 1 and product or apart)(function() s:acquire(); s:fill(); s:commit() end) end }
  k:task { name = "get", warps = { 1, 2 }, schedule = function() (turn == 1 and apart or product)(function() s:wait(); s:use(); s:release() end) end }
  local program, why = plan.of(k)
  assert(program, why)
  local sizes = {}
  for n = 0, 2 do for m = 1, 2 do for l = 0, 4, 2 do sizes[#sizes + 1] = { N = n, M = m, L = l, T = 1, R = 64 } end end end
  local said = agreement.compare(plan, program, sizes, { limit = 20000, far = 60000 })
  if not tap.ok(said.verdict == "SAFE" and not said.wrong and not said.open, "a product of turns, " .. turn) then tap.diag(said.verdict, said.text, said.wrong, said.open) end
  k:close()
end

-- What is like it, and is not: whatever is said, the explorer agrees. `want`: where it is known.
local function odd(name, want, give, get, o)
  o = o or {}
  local k = weir.kernel { name = "odd", arch = "sm_90a", cluster = o.cluster }
  local r = { k = k, N = k:dim("N", { max = o.max or 1000, multiple = o.multiple }), M = k:dim("M", { min = o.least, max = not o.any and 1000 or nil }), L = k:dim("L", { max = 1000 }) }
  for i = 1, o.more or 0 do r[i] = k:dim("D" .. i, { max = 1000 }) end
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = o.stages or 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local wq = o.tiles and k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim("T", { max = o.tiles and 50 }) } }
  local moves = { function() s:acquire(); s:fill(); s:commit() end, function() s:wait(); s:use(); s:release() end }
  for i, body in ipairs { give, get } do
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function()
      if not wq then return body(moves[i], r, {}) end
      for t in weir.work_tile_loop(wq) do body(moves[i], r, t); wq:next() end
    end }
  end
  local program, why = plan.of(k)
  assert(program, why)
  local sizes = { tiles = wq and 3 or nil }
  for n = 0, 6 do for m = o.least or 0, 2 do sizes[#sizes + 1] = { N = n * (o.multiple or 1), M = m, L = 1, T = 2, R = 64, tiles = wq and 2 or nil } end end
  for _, at in ipairs(sizes) do for i = 1, o.more or 0 do at["D" .. i] = 1 end end
  local said = agreement.compare(plan, program, sizes, { limit = 20000, far = 60000 })
  k:close()
  if os.getenv "SHOW" then print("#", name, said.verdict, said.wrong) end
  if not tap.ok(not said.wrong and (not want or said.verdict == want), name) then tap.diag(said.verdict, said.text, said.wrong) end
end
local function all(op, r) loop(0, r.N, op) end
local function behind(c) return function(op, r) loop(0, r.N - 1, op); when(c(r), op) end end
odd("unless there is none", "SAFE", all, function(op, r) for _ in F(eq(r.N, 0)) do op() end loop(1, r.N, op) end)
odd("where there are two", "SAFE", function(op, r) all(op, r); when(eq(r.N, 2), op) end, function(op, r) when(eq(r.N, 2), op); when(gt(r.N, 0), op); loop(1, r.N, op) end)
odd("a rest compared otherwise", nil, all, behind(function(r) return lt(r.N % 4, 3) end))
odd("... with a dim", nil, all, behind(function(r) return eq(r.N % 4, r.M) end))
odd("... of a dim", nil, all, behind(function(r) return eq(r.N % r.M, 0) end), { least = 1 })
odd("... of one", nil, all, behind(function(r) return eq(r.N % 1, 0) end))
odd("... that never is", "UNSAFE", all, behind(function(r) return eq(r.N % 4, 5) end))
odd("... below 0", "UNSAFE", all, behind(function(r) return eq(r.N % 4, 0 - 1) end))
odd("... of two", nil, all, behind(function(r) return eq((r.N + r.M) % 4, 0) end))
odd("... of a larger number, not 0", nil, all, behind(function(r) return eq(r.N % 20, 1) end))
odd("... of what may wrap", nil, all, behind(function(r) return eq((r.N * 3000000) % 4, 0) end))
odd("... of what may wrap, a larger one", nil, all, behind(function(r) return eq((r.N * 3000000) % 20, 0) end))
odd("of another loop's step", nil, all, function(op, r) loop(0, r.N // 3, function() op(); op(); op() end); when(eq(r.N % 2, 1), op); when(eq(r.N % 3, 2), op) end)
odd("behind a loop with every fourth", nil, function(op, r) all(op, r); when(gt(r.N, 0), op); loop(0, r.N // 4, op) end, function(op, r)
  when(gt(r.N, 0), op)
  for i in weir.domain_loop(0, r.N) do op(); for _ in i:every(4, 3) do op() end end
end)
odd("a rest behind a loop with every fourth", nil, function(op, r) loop(0, r.N, op); loop(0, r.N % 2, op) end, function(op, r)
  for i in weir.domain_loop(0, r.N) do op(); for _ in i:every(4) do end end
  when(eq(r.N % 2, 1), op)
end)
odd("more than is counted", nil, all, behind(function(r) return gt(r.N, 20) end))
odd("further than is looked", nil, all, function(op, r) loop(0, r.N, function(i) op(); when(lt(i + 20, r.N), op) end) end)
odd("a step that is no step", nil, function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(lt(i + 3, r.N), op) end, 2); when(gt(r.N, 0), op) end)
odd("less than a step", nil, function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(lt(i + 1, r.N), op) end, 2); when(gt(r.N, 0), op) end)
odd("exactly a step", nil, function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(ne(i + 2, r.N), op) end, 2); when(gt(r.N, 0), op) end)
odd("steps downwards", nil, function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(r.N, 0, function(i) when(gt(i - 2, 0), op) end, -2); when(gt(r.N, 0), op) end)
odd("as far as a dim", nil, all, function(op, r) loop(0, r.N, function(i) when(lt(i + r.M, r.N), op) end) end)
odd("as far as a dim, in steps", nil, all, function(op, r) loop(0, r.N, function(i) when(lt(i + r.M, r.N), op) end, 2) end)
odd("a loop of a number", nil, all, function(op, r) loop(0, 4, function(i) when(lt(i, r.N), op) end) end)
odd("a sum, looked ahead in", nil, function(op, r) all(op, r); loop(0, r.M, op) end, function(op, r) when(gt(r.N + r.M, 0), op); loop(0, r.N + r.M, function(i) when(lt(i + 1, r.N + r.M), op) end) end)
odd("the loop twice, one in the other", nil, all, function(op, r) loop(0, r.N, function(i) loop(0, r.N, function() end); when(lt(i + 1, r.N), op) end); when(gt(r.N, 0), op) end)
for at, cap in ipairs { function(r) return min(r.N, r.M) end, function(r) return min(r.N, 20) end, function(r) return min(r.N - 20, 4) end, function(r) return min(r.N + 1, 4) end,
  function(r) return 2 * min(r.N, 3) end, function(r) return min(r.N, 0) end, function(r) return weir.max(r.N, 3) end, function(r) return min(r.N, 3) + 1 end } do
  odd("capped " .. at, nil, all, function(op, r) loop(0, cap(r), op); loop(3, r.N, op) end)
  odd("capped in chunks " .. at, nil, all, function(op, r) loop(0, cd(r.N, 4), function() loop(0, cap(r), op) end) end)
end
odd("capped in a loop of another", nil, all, function(op, r) loop(0, r.M, function() loop(0, min(4, r.N), op) end) end)
odd("capped by its own loop", nil, all, function(op, r) loop(0, r.N, function(i) loop(0, min(1, r.N - i), op) end) end)
for at, body in ipairs {
  function(op, r) loop(0, r.N * r.M, op, 2) end, function(op, r) loop(1, r.N * r.M, op) end, function(op, r) loop(0, r.N * r.M * r.L * r.N * r.M, op) end,
  function(op, r) loop(0, (r.N - 1) * r.M, op) end, function(op, r) for i in weir.domain_loop(0, r.N * r.M) do for _ in i:first_iter() do op() end op() end end,
  function(op, r) loop(0, r.N * r.M, function(i) loop(0, i, op) end) end, function(op, r) loop(0, r.N * r.M, function(i) loop(i, r.N, op) end) end,
  function(op, r) loop(0, r.N * r.M, function(i) loop(0, r.N, op, i + 1) end) end, function(op, r) loop(0, r.N * r.M, function(i) when(gt(i, 2), op) end) end,
  function(op, r, t) loop(0, r.N * (t.i + 1), op) end,
} do
  odd("a product, not quite: " .. at, nil, body, function(op, r) loop(0, r.N, function() loop(0, r.M, op) end) end, { tiles = at >= 10 })
end
odd("a product of a coordinate", "SAFE", function(op, r, t) loop(0, (t.i + 1) * r.N, op) end, function(op, r, t) loop(0, t.i + 1, function() loop(0, r.N, op) end) end, { tiles = true })
-- A loop that is longer than what its condition, or another loop in it, asks; conditions in another order; a loop given a part that has a first turn.
odd("a loop of two more, looked ahead in", nil, all, function(op, r) loop(0, r.N + 2, function(i) when(lt(i + 1, r.N), op) end); when(gt(r.N, 0), op) end)
odd("behind a loop of two more", nil, function(op, r) loop(0, r.N + 3, op) end, function(op, r) loop(0, r.N + 2, op); when(gt(r.N, 0), op); when(eq(r.N, 0), op) end)
odd("capped, and a condition behind", "SAFE", function(op, r) all(op, r); when(gt(r.N, 1), op) end, function(op, r) loop(0, min(r.N, 3), op); when(gt(r.N, 1), op); loop(3, r.N, op) end)
odd("... and another behind", "UNSAFE", function(op, r) all(op, r); when(gt(r.N, 1), op) end, function(op, r) loop(0, min(r.N, 3), op); when(gt(r.N, 2), op); loop(3, r.N, op) end)
odd("conditions behind, in another order", "SAFE", function(op, r) all(op, r); when(gt(r.N, 0), op); when(gt(r.N, 1), op) end,
  function(op, r) loop(0, r.N - 1, op); when(gt(r.N, 0), op); when(gt(r.N, 1), op); when(gt(r.N, 0), op) end)
odd("a rest behind a plain loop", nil, function(op, r) when(gt(r.N, 0), op); loop(1, r.N, op); when(eq(r.N % 4, 0), op) end, function(op, r) all(op, r); when(eq(r.N % 4, 0), op) end)
odd("chunks with the whole loop in each", nil, all, function(op, r) loop(0, cd(r.N, 4), function(i) loop(0, r.N, function() end); loop(0, min(4, r.N - 4 * i), op) end) end)
odd("chunks with the whole loop used in each", "UNSAFE", all, function(op, r) loop(0, cd(r.N, 4), function(i) loop(0, r.N, op); loop(0, min(4, r.N - 4 * i), op) end) end)
local function capped_fourth(from) return function(op, r)
  for i in weir.domain_loop(0, min(r.N, 3)) do op(); for _ in i:every(8, from) do op() end end
  loop(3, r.N, op)
end end
odd("capped, with a turn that it never comes to", "SAFE", all, capped_fourth(5))
odd("capped, with one that it comes to", "UNSAFE", all, capped_fourth(1))
-- guards that count, around loops by an index
local function rests(c, more) return function(op, r, t)
  loop(0, r.N, function(j) for _ in c(r, t) do loop(0, j, op) end end)
  if more then loop(0, r.N - 1, op); when(gt(r.N, 0), op) else all(op, r) end
end end
local function rest(r) return T(ne(r.M % 20, 0)) end
local function no_rest(r) return T(eq(r.M % 20, 0)) end
odd("a rest around loops by an index", "SAFE", rests(rest), rests(rest, true))
odd("... and none", "UNSAFE", rests(rest), rests(no_rest, true))
odd("... written otherwise", "SAFE", rests(rest), rests(function(r) return F(eq(r.M % 20, 0)) end, true))
odd("... in tiles", nil, rests(function(r, t) return T(ne((r.M + t.i) % 20, 0)) end), rests(function(r, t) return T(ne((r.M + t.i) % 20, 0)) end, true), { tiles = true })
odd("... of multiples", nil, rests(function(r) return T(ne(r.N % 20, 0)) end), rests(function(r) return T(ne(r.N % 20, 0)) end, true), { multiple = 20 })
odd("a loop further ahead than is kept, beside one as long that moves nothing", "SAFE", function(op, r) loop(0, r.N, op) end, function(op, r) loop(0, r.N, function() end); loop(0, r.N, op) end, { stages = 70 })
odd("a condition further ahead than is kept", nil, function(op, r) loop(0, r.N, function(i) when(lt(i * 3, r.M), op) end) end,
  function(op, r) loop(0, r.N, function(i) when(lt(i * 3, r.M), op) end) loop(0, r.M, op) end, { stages = 70 })
-- what is like a count, and is none
local function sum(r, from, to) local s = r[from]; for i = from + 1, to do s = s + r[i] end return s end
odd("another number", "UNSAFE", all, behind(function(r) return eq(r.M, 3) end))
odd("a rest of less than none", "UNSAFE", function(op, r) loop(0, r.N - r.M, op) end, function(op, r)
  loop(0, (r.N - r.M) // 2, function() op(); op() end)
  when(eq((r.N - r.M) % 2, 1), op)
end)
odd("a number that may wrap", "INCOMPLETE", all, behind(function(r) return lt(r.M, r.N + r.M) end), { max = 0x7fffffff })
odd("a rest that a loop runs through, too", "UNSAFE", all, function(op, r) loop(0, (r.N * 4000) % 3, function() end); loop(0, r.N - 1, op); when(eq((r.N * 4000) % 3, 1), op) end)
odd("a rest of none", "SAFE", rests(function(r) return T(ne((20 * r.M) % 20, 0)) end), rests(function(r) return T(ne((20 * r.M) % 20, 0)) end, true))
odd("a rest of a number of more than 32 bits", "SAFE", rests(function(r) return T(ne(r.M % (1 << 33), 0)) end), rests(function(r) return T(ne(r.M % (1 << 33), 0)) end, true))
odd("rests of two", "UNSAFE", rests(rest), rests(function(r) return T(ne(r.L % 20, 0)) end, true))
odd("a rest, and a loop", "UNSAFE", rests(rest), rests(function(r) return weir.domain_loop(0, r.M) end, true))
odd("a loop, and a rest", "UNSAFE", rests(function(r) return weir.domain_loop(0, r.M) end), rests(rest, true))
odd("a condition in a rest", "INCOMPLETE", rests(rest), function(op, r)
  loop(0, r.N, function(j) for _ in rest(r) do when(gt(r.M, 0), function() loop(0, j, op) end) end end)
  loop(0, r.N - 1, op); when(gt(r.N, 0), op)
end)
odd("a product of an index", "SAFE", function(op, r) loop(0, 3, function(j) loop(0, r.N * j, op) end) end, function(op, r) loop(0, 3, function(j) loop(0, j, function() loop(0, r.N, op) end) end) end)
local function of_cta(op, r) loop(0, r.N * (r.k.cta.m + 1), op) end
odd("a product of a CTA", "SAFE", of_cta, function(op, r) loop(0, r.N, function() loop(0, r.k.cta.m + 1, op) end) end, { cluster = { m = 2 } })
local function rest_of_cta(r) return T(ne((r.M + r.k.cta.m) % 20, 0)) end
odd("a rest of a CTA", "SAFE", rests(rest_of_cta), rests(rest_of_cta, true), { cluster = { m = 2 } })
odd("chunks of two, by their index", "SAFE", all, function(op, r) loop(0, r.N, function(i) loop(0, min(2, r.N - i), op) end, 2) end)
odd("further than a step, by another", "UNSAFE", function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(lt(i + r.M, r.L), op) end, 2) end)
odd("up to a step", "SAFE", function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(gt(r.N - i, 2), op) end, 2); when(gt(r.N, 0), op) end)
odd("up to a step, from its end", "UNSAFE", function(op, r) loop(0, cd(r.N, 2), op) end, function(op, r) loop(0, r.N, function(i) when(gt(i - r.N, -3), op) end, 2); when(gt(r.N, 0), op) end)
odd("groups of an index", "SAFE", function(op, r) loop(0, r.N, function(j) loop(0, cd(j, 4), op) end); all(op, r) end, function(op, r) loop(0, r.N, function(j) loop(0, cd(j, 4), op) end); loop(0, r.N - 1, op); when(gt(r.N, 0), op) end)
odd("groups, and two too many", "UNSAFE", function(op, r) loop(0, r.N, op); loop(0, 4, op) end, function(op, r)
  loop(0, 2, op)
  loop(0, r.N // 4 + 1, function() op(); op(); op(); op() end)
  loop(0, r.N % 4, op)
end)
odd("groups, one more, and others", "INCOMPLETE", function(op, r) loop(0, r.N, op); loop(0, 4, op) end, function(op, r)
  loop(0, r.N // 4 + 1, function() op(); op(); op(); op() end)
  loop(0, r.N % 4, op)
end)
odd("groups of a sum", "SAFE", function(op, r) loop(0, 4 * cd(r.N + r.M, 4), op) end, function(op, r) loop(0, 4 * cd(r.N + r.M, 4), op) end)
odd("groups without groups", "SAFE", function(op, r) loop(0, cd(r.N, 4) - cd(r.M, 4), op) end, function(op, r) loop(0, cd(r.N, 4) - cd(r.M, 4), op) end)
odd("groups without fewer", "SAFE", function(op, r) loop(0, cd(r.N, 4) - cd(r.N - 1, 4) + 5 - r.M, op) end, function(op, r) loop(0, cd(r.N, 4) - cd(r.N - 1, 4) + 5 - r.M, op) end, { any = true })
local function large(from, to, more) return function(op, r) loop(0, more(sum(r, from, to), r), op) end end
odd("groups of a long sum", "SAFE", large(1, 8, function(s, r) return 4 * cd(s, 4) + r[9] end), large(1, 8, function(s, r) return 4 * cd(s, 4) + r[9] end), { more = 9 })
local function two_sums(op, r) loop(0, sum(r, 1, 6), op); loop(0, r[1] + sum(r, 7, 11), op) end
odd("sums with little in common", "SAFE", two_sums, two_sums, { more = 11 })
local function halves_and_quarters(op, r)
  loop(0, cd(r.N, 2), op)
  loop(0, cd(r.N, 4), op)
  for i = 1, 5 do loop(0, r[i], op) end
end
odd("halves and quarters, and loops of others", "SAFE", function(op, r) halves_and_quarters(op, r); loop(0, r.L, op) end,
  function(op, r) halves_and_quarters(op, r); loop(0, r.L - 1, op); when(gt(r.L, 0), op) end, { more = 5 })
odd("a rest of less than nothing", "UNSAFE", all, behind(function(r) return eq(r.N % -3, 0) end))
for step = 1, 2 do
  local function long_ahead(op, r) loop(0, sum(r, 1, 8), function(i) when(lt(i + step, sum(r, 1, 8)), op) end, step); when(gt(sum(r, 1, 8), 0), op) end
  odd("a long sum, looked ahead in " .. step, "INCOMPLETE", function(op, r) loop(0, cd(sum(r, 1, 8), step), op) end, long_ahead, { more = 8 })
  local function from(op, r) loop(r[8], sum(r, 1, 8), function(i) when(lt(i + step, sum(r, 1, 8)), op) end, step); when(gt(sum(r, 1, 7), 0), op) end
  odd("a long sum, looked ahead in from another, " .. step, "SAFE", function(op, r) loop(0, cd(sum(r, 1, 7), step), op) end, from, { more = 8 })
  odd("sums compared in steps, " .. step, "UNSAFE", function(op, r) loop(0, cd(r.N, step), op) end, function(op, r) loop(0, r.N, function() when(lt(sum(r, 1, 5), sum(r, 6, 10)), op) end, step) end, { more = 10 })
end
tap.done()
