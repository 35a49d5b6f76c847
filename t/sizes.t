#!/usr/bin/env lua5.4
-- A fault is reported with sizes for which it happens, and none that cannot: what each way through the search takes for granted (lengths, truths,
-- tiles) is borne out or thrown away. Where sizes are named, the simulator runs them; where nothing is wrong, it runs many.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local T, loop = weir.when_true, weir.domain_loop
local gt, lt, ge, le, eq = weir.gt, weir.lt, weir.ge, weir.le, weir.eq
local dev = assert(weir.device("sim", { seed = 5 }))

local function ring(k, name, stages, interleave)
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = stages or 2, interleave = interleave },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
end
local function fill(x) x:acquire(); x:fill(); x:commit() end
local function use(x) x:wait(); x:use(); x:release() end

-- "give" fills rings a and b, "take" empties them; give(r, op, t), take(r, op, t): the schedules, op(r.a) a round. o: n, m, s (limits), tiles, extent,
-- axes, kind (of the queue), stages, cluster, warps, more(r)
local function pair(o, give, take)
  local k = weir.kernel { name = "pair", arch = "sm_90a", cluster = o.cluster }
  local r = { k = k, n = k:dim("n", o.n), m = k:dim("m", o.m), s = k:dim("s", o.s), x = k:scalar { name = "x", dtype = "i32" } }
  r.a, r.b = ring(k, "a", o.stages, o.interleave), ring(k, "b", o.stages)
  if o.more then o.more(r) end
  local wq = o.tiles and k:work_queue { name = "wq", axes = o.axes or { "i" }, extent = o.axes and o.extent or { o.extent or r.n }, kind = o.kind }
  for at, f in ipairs { give, take or give } do
    local op = at == 1 and fill or use
    k:task { name = at == 1 and "give" or "take", warps = { 4 * at - 4, at == 1 and o.warps or 1 }, schedule = function()
      if not wq then return f(r, op) end
      for t in weir.work_tile_loop(wq) do f(r, op, t); wq:next() end
    end }
  end
  return k
end

local function launched(k, o, args)
  local p = k:build { device = dev, unsafe = true }
  local all = { n = args.n or 0, m = args.m or 0, s = args.s or 0, x = args.x or 0 }
  local taken, ok, why = pcall(p.launch, p, all, { grid = o.kind == "grid" and math.max(all.n, 1) or o.cluster and o.cluster.m or 1 })
  if not taken then return ok end
  return ok and "right" or tostring(why):match "%[(sim%-%w+)%]" or why
end

-- want: the verdict, or the rule that the proof names. o.text: a part of what is said, or several; o.hint; o.runs: sizes for which it is right,
-- whatever is said; o.fails (of UNSAFE): what the simulator says with the sizes that are named, and o.others.
local function check(name, want, o, give, take)
  local k = pair(o, give, take)
  local report = k:verify { warn_only = o.warn }
  local verdict, text = report.proof.verdict, report.proof.text or ""
  local rule, first = text:match "%[(PROVE%-[%u-]+)%]$"
  for _, f in ipairs(report.findings) do if not first and f.rule == rule and text:find(f.message, 1, true) then first = f end end
  if not tap.is(want, rule or verdict, name) then tap.diag(report.text) end
  text = text:gsub(" %([%w_]+%.t:%d+%)", "")
  for _, part in ipairs(type(o.text) == "table" and o.text or { o.text }) do tap.like(part, text, name .. ": " .. part) end
  if o.hint then tap.is(o.hint, ((first and first.hint or "none"):gsub(" %([%w_]+%.t:%d+%)", "")), name .. ": the mend") end
  if o.fails then
    local args = o.others or {}
    for of, number in text:gmatch "(%w+) = (%-?%d+)" do args[of] = tonumber(number) end
    tap.is(o.fails, launched(pair(o, give, take), o, args), name .. ": with the sizes that are named")
  end
  for _, args in ipairs(o.runs or {}) do
    tap.is("right", launched(pair(o, give, take), o, args), ("%s: runs with n = %d, m = %d"):format(name, args.n or 0, args.m or 0))
  end
  k:close()
end
local some = { { n = 0 }, { n = 1, m = 1 }, { n = 2, m = 1 }, { n = 3, m = 2 }, { n = 5, m = 3 } }
local function from_body(r) r.g = r.k:resource { name = "g", space = "none", work = { make = weir.consumer_work { code = "a = 3;", returns = { "uniform i32 a" } } } } end

-- ---- lengths of a tile ----------------------------------------------------------------------------------------------------------------------------

-- In one tile they are one number, however often they are asked. `take` empties twice in the first turn what was filled in both.
local function both(of) return function(r, op, t) for _ in loop(0, 2) do for _ in loop(0, of(r, t)) do op(r.a) end end end end
local function doubly(of) return function(r, op, t) for j in loop(0, 2) do for _ in loop(0, of(r, t)) do for _ in j:first_iter() do op(r.a); op(r.a) end end end end end
local function coordinate(_, t) return t.i end
check("a length of the tile in a loop: not of two lengths", "SAFE", { tiles = true, runs = some }, both(coordinate), doubly(coordinate))
check("a length of the launch in a loop: not of two lengths", "SAFE", { runs = some }, both(function(r) return r.n end), doubly(function(r) return r.n end))
check("a length of the tile in a loop, and one more in the second turn", "PROVE-DEADLOCK", { tiles = true, text = "(with n = 1, m = 2)", fails = "sim-deadlock" },
  function(r, op, t) for _ in loop(0, r.m) do for _ in loop(0, t.i) do op(r.a) end end end,
  function(r, op, t) for j in loop(0, r.m) do for _ in loop(0, t.i) do op(r.a) end for _ in j:every(2, 1) do op(r.a) end end end)
check("a length of the tile within itself, and one more in the second turn: no way agrees with itself", "PROVE-DEADLOCK", { tiles = true },
  function(r, op, t) for _ in loop(0, t.i) do for _ in loop(0, t.i) do op(r.a) end end end,
  function(r, op, t) for j in loop(0, t.i) do for _ in loop(0, t.i) do op(r.a) end for _ in j:every(2, 1) do op(r.a) end end end)
check("a length of the tile, by steps of the index around", "PROVE-DEADLOCK", { tiles = true, hint = "'take' runs 0 .. t.i + 1 by i0, 'give' runs 0 .. t.i by i0: make both equally long" },
  function(r, op, t) for i in loop(1, 4) do for _ in loop(0, t.i, i) do op(r.a) end end end, function(r, op, t) for i in loop(1, 4) do for _ in loop(0, t.i + 1, i) do op(r.a) end end end)
check("a length of the tile that is divided by a size, which may be 0", "PROVE-DEADLOCK",
  { tiles = true, text = "(with n = 1, m = 1)", fails = "sim-deadlock", hint = "'take' runs 1 step, 'give' 0 with n = 1, m = 1: make both equally long" },
  function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end end, function(r, op, t) for _ in loop(0, t.i // r.m + 1) do op(r.a) end end)
check("a length of the tile beside twice it", "PROVE-DEADLOCK", { tiles = true, text = "(with n = 4, m = 4)", fails = "sim-deadlock" },
  function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end for _ in loop(0, t.i * 2) do op(r.b) end end, function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end for _ in loop(0, t.i) do op(r.b) end end)
check("a condition of the tile that is divided by a size, which may be 0", "PROVE-LOST", { tiles = true, text = "(with n = 2, m = 1)" },
  function(r, op, t) for _ in T(gt(t.i // r.m, 0)) do op(r.a) end end, function(r, op, t) for _ in T(gt(t.i // r.m, 1)) do op(r.a) end end)
check("a length of one of four tiles", "PROVE-DEADLOCK", { tiles = true, extent = 4, hint = "'take' runs 0 .. t.i + 1, 'give' runs 0 .. t.i: make both equally long" },
  function(r, op, t) for _ in loop(0, t.i) do op(r.a) end end, function(r, op, t) for _ in loop(0, t.i + 1) do op(r.a) end end)

-- A fault that shows after so many tiles is run with as many, up to 16; with fewer than it takes, another one is found.
local function now_and_then(r, op, t) for _ in T(gt(r.m, t.i)) do op(r.a) end end
local function every_tile(r, op) op(r.a) end
check("a ring of 12 stages that is full after 13 tiles", "PROVE-DEADLOCK", { tiles = true, axes = { "i", "j" }, extent = { 8, 8 }, stages = 12, text = "'take' has ended (with m = 0)", fails = "sim-deadlock" },
  every_tile, now_and_then)
check("one of 17", "PROVE-LOST", { tiles = true, axes = { "i", "j" }, extent = { 8, 8 }, stages = 17, text = "is never waited for (with m = 0)" }, every_tile, now_and_then)

-- ---- sizes that the author assumes, that divide by 0, by which loops step ----------------------------------------------------------------------

local function rounds(of) return function(r, op) for _ in loop(0, of(r)) do op(r.a) end end end
check("an assumption that cannot be told for all sizes", "PROVE-DEADLOCK", { text = "(with n = 0)", fails = "sim-deadlock", others = { m = 1 }, more = function(r) r.k:assume(lt(r.n // r.m, 5)) end },
  rounds(function(r) return r.n end), rounds(function(r) return r.n + 1 end))
check("a condition that cannot be told for all sizes", "PROVE-LOST", { text = "(with n = 3, m = 1)" },
  function(r, op) for _ in T(gt(r.n // r.m, 2)) do op(r.a) end end, function(r, op) for _ in T(gt(r.n // r.m, 3)) do op(r.a) end end)
-- No length is asked here, but a condition on the index, which the sizes decide.
local function below(r, op) for i in loop(0, 3) do for _ in T(lt(i, r.m)) do op(r.a) end end end
local function always(r, op) for _ in loop(0, 3) do op(r.a) end end
check("a condition on the index of a plain loop", "PROVE-DEADLOCK", { text = "(with m = 0)", fails = "sim-deadlock" }, below, always)
check("... which an assumption makes true", "INCOMPLETE", { more = function(r) r.k:assume(gt(r.m, 4)) end, runs = { { m = 5 }, { m = 9 } } }, below, always)
check("... which what the size may be makes true", "SAFE", { m = { min = 5 }, runs = { { m = 5 }, { m = 9 } } }, below, always)
check("a loop downwards", "PROVE-DEADLOCK", { fails = "sim-deadlock", hint = "'take' runs 1 step, 'give' 0 with n = 0: make both equally long" },
  function(r, op) for _ in loop(r.n, 0, -1) do op(r.a) end end, rounds(function(r) return r.n + 1 end))
check("a loop by steps of the launch", "PROVE-DEADLOCK", { fails = "sim-deadlock", hint = "'take' runs 2 steps, 'give' 1 with n = 2, s = 2: make both equally long" },
  function(r, op) for _ in loop(0, r.n, r.s) do op(r.a) end end, rounds(function(r) return r.n end))
-- What would go wrong with m = 0 alone, where the number of tiles is divided by m: there is no such launch.
local function nothing() end
for _, c in ipairs {
  { "a condition on the index", function(r, op) for i in loop(0, 3) do for _ in T(lt(i, 3 - r.m * 3)) do op(r.a) end end end },
  { "a condition", function(r, op) for _ in T(eq(r.m, 0)) do op(r.a) end end },
  { "a length", function(r, op) for _ in loop(0, 1 - r.m) do op(r.a) end end },
} do
  local name, give = c[1], c[2]
  check(name .. " of tiles that cannot be counted then", "INCOMPLETE", { tiles = true, more = function(r) r.n = 4 // r.m end, text = "no arguments were found for which it does" }, give, nothing)
  check(name .. " of tiles that can", "PROVE-DEADLOCK", { tiles = true, more = function(r) r.n = 4 + r.m end, text = "(with m = 0)" }, give, nothing)
end
local function if_zero(f) return function(r, op) for _ in T(eq(r.s, 0)) do for i in loop(0, r.n) do f(r, op, i) end end end end
check("a loop by steps of 0, which does not run", "PROVE-DEADLOCK",
  { text = "(with n = 1, m = 1, s = 0)", fails = "sim-deadlock", hint = "'take' runs 0 .. n, 'give' runs 0 .. n by s: make both equally long" },
  if_zero(function(r, op, i) for _ in T(ge(i, r.m)) do for _ in loop(0, r.n, r.s) do op(r.a) end end end), if_zero(function(r, op, i) for _ in T(lt(i, r.m)) do op(r.a) end end))
check("lengths that bodies give, from 0 and from 1 on", "PROVE-DEADLOCK", { more = from_body, hint = "'take' runs 1 .. g:make(), 'give' runs 0 .. g:make(): a body may return another number each time: take a size, a scalar or an element of a tensor" },
  function(r, op) for _ in loop(0, r.g:make()) do op(r.a) end end, function(r, op) for _ in loop(1, r.g:make()) do op(r.a) end end)
local function from_it(r, op) for _ in loop(r.g:make(), 5) do op(r.a) end end
local function five(r, op) for _ in loop(0, 5) do op(r.a) end end
local anew = ": a body may return another number each time: take a size, a scalar or an element of a tensor"
check("a length from what a body gives on", "PROVE-DEADLOCK", { more = from_body, hint = "'take' runs 0 .. 5, 'give' runs g:make() .. 5" .. anew }, from_it, five)
check("... of those that empty", "PROVE-DEADLOCK", { more = from_body, hint = "'give' runs 0 .. 5, 'take' runs g:make() .. 5" .. anew }, five, from_it)
check("steps that bodies give", "PROVE-DEADLOCK", { more = from_body, hint = "'take' runs 0 .. n by g:make() + 1, 'give' runs 0 .. n by g:make(): make both equally long" },
  function(r, op) for _ in loop(0, r.n, r.g:make()) do op(r.a) end end, function(r, op) for _ in loop(0, r.n, r.g:make() + 1) do op(r.a) end end)

-- ---- conditions on an index ------------------------------------------------------------------------------------------------------------------------

local function twice_around(c, from, to, by)
  return function(r, op) for _ in loop(0, r.m) do for i in loop(from(r), to(r), by or 1) do for _ in T(c(i, r)) do op(r.a) end end end end
end
local function zero() return 0 end
local function n_of(r) return r.n end
check("a condition that two tasks do not ask alike, and its opposite", "PROVE-LOST", { text = "(with n = 1, m = 1)" },
  twice_around(function(i, r) return lt(i, r.m) end, zero, n_of), twice_around(function(i, r) return ge(i, r.m) end, zero, n_of))
check("... and itself: right", "SAFE", { runs = some }, twice_around(function(i, r) return lt(i, r.m) end, zero, n_of))
check("... downwards", "PROVE-DEADLOCK", { text = "(with n = 1, m = 1)", fails = "sim-deadlock" },
  twice_around(function(i, r) return gt(i, r.m) end, n_of, zero, -1), twice_around(function(i, r) return ge(i, r.m) end, n_of, zero, -1))
-- more truths than are remembered
local function late(more) return function(r, op) for i in loop(0, r.n) do for _ in T(lt(i, r.m)) do op(r.a) end for _ in i:every(1000000, more) do op(r.b) end end end end
check("70 truths, and then a fault", "PROVE-LOST", { n = { min = 71 }, m = { min = 71 }, text = "what was committed to b_full[0] is never waited for (with n = 71, m = 71)" }, late(70), late(999999))
local function own(x) fill(x); use(x) end
check("71 truths of each of two conditions that are one", "PROVE-DEADLOCK", { n = { min = 71, max = 72 }, m = { min = 71, max = 80 }, text = "(with n = 71, m = 71)", fails = "sim-deadlock",
  more = function(r) r.c, r.d = ring(r.k, "c"), ring(r.k, "d") end },
  function(r, op)
    for i in loop(0, r.n) do
      for _ in i:every(1, 0) do for _ in T(lt(i, r.m)) do own(r.c) end end
      for _ in i:every(1, 0) do for _ in T(gt(r.m, i)) do own(r.d) end end
    end
    op(r.a)
  end, function(r, op) op(r.a) op(r.a) end)
local function mixed(c)
  return function(r, op)
    for i in loop(0, r.n) do
      for _ in T(gt(r.x, 0), { key = "x" }) do op(r.b) end
      for _ in i:every(1, 0) do for _ in T(lt(i, r.m)) do op(r.b) end end
      for _ in T(c(i + r.k.cta.m, r.m)) do op(r.a) end
    end
  end
end
check("conditions under a key, on the index, and on the index and the CTA", "PROVE-DEADLOCK", { cluster = { m = 2 }, text = "(with n = 1, m = 0)", fails = "sim-deadlock" }, mixed(lt), mixed(le))
local function of_cta(c) return function(r, op) for i in loop(0, r.n) do for _ in T(lt(i * 2 + r.k.cta.m, r.m)) do op(r.b) end for _ in T(c(i, r)) do op(r.a) end end end end
check("conditions on the index and the CTA, two in each", "PROVE-DEADLOCK", { cluster = { m = 2 }, text = "(with n = 1, m = 0)", fails = "sim-deadlock" },
  of_cta(function(i, r) return lt(i + r.k.cta.m, r.m) end), of_cta(function(i, r) return le(i + r.k.cta.m, r.m) end))
-- A loop's length by the index around, which the tasks do not ask alike; the fault comes while one of them is inside.
local function plainly(which) return function(r, op) for i in loop(0, r.n) do for _ in loop(0, i) do op(r[which]) end end end end
local function guarded(which) return function(r, op) for i in loop(0, r.n) do for _ in i:every(1, 0) do for _ in loop(0, i) do op(r[which]) end end end end end
check("within a length by the index", "PROVE-DEADLOCK", { text = "(with n = 2)", fails = "sim-deadlock" }, plainly "a", guarded "b")
check("... of the other task", "PROVE-DEADLOCK", { text = "(with n = 2)", fails = "sim-deadlock" }, guarded "a", plainly "b")

-- ---- who asks alike ----------------------------------------------------------------------------------------------------------------------------------

-- Lengths by the index around: shared by tasks that ask for them alike, in loops through the same numbers, under the same guards.
local F = weir.when_false
local function nest(inner) return function(r, op) for i in loop(0, r.n) do inner(r, op, i) end end end
local once = nest(function(r, op, i) for _ in loop(0, i) do op(r.a) end end)
local square = nest(function(r, op, i) for _ in loop(0, i) do for _ in loop(0, i) do op(r.a) end end end)
local double = nest(function(r, op, i) for _ in loop(0, 2 * i) do op(r.a) end end)
local first_too = nest(function(r, op, i) for _ in loop(0, i) do op(r.a) end for _ in i:first_iter() do for _ in loop(0, i) do op(r.a) end end end)
local function rounds_of(of) return nest(function(r, op, i) for _ in loop(0, of(r)) do for _ in loop(0, i) do op(r.a) end end end) end
local function rest(x) return nest(function(r, op, i) for _ in T(eq(i % 2, x)) do for _ in loop(0, i) do op(r.a) end end end) end
check("the index squared", "SAFE", { runs = some }, square)
check("the index, and its square", "PROVE-DEADLOCK", { text = "(with n = 3)", fails = "sim-deadlock" }, once, square)
check("its square, and the index", "PROVE-LOST", { text = "(with n = 3)" }, square, once)
check("twice the index, and once and once more in the first turn", "PROVE-LOST", { text = "(with n = 2)", hint = "'take' runs 0 .. i0, 'give' runs 0 .. 2 * i0: make both equally long" }, double, first_too)
check("once and once more in the first turn, and twice", "PROVE-DEADLOCK", { text = "(with n = 2)", fails = "sim-deadlock", hint = "'take' runs 0 .. 2 * i0, 'give' runs 0 .. i0: make both equally long" }, first_too, double)
check("in loops of one length around", "SAFE", { runs = some }, rounds_of(function(r) return r.m end))
check("in loops of two lengths around", "PROVE-LOST", { text = "(with n = 2, m = 0)" }, rounds_of(function(r) return r.n end), rounds_of(function(r) return r.m end))
-- Twice the index on one side; on the other once, and then once a turn of another loop.
local function then_around(of) return nest(function(r, op, i) for _ in loop(0, i) do op(r.a) end for _ in loop(0, of(r)) do for _ in loop(0, i) do op(r.a) end end end) end
local function m_of(r) return r.m end
check("twice the index, and once and once a turn", "PROVE-LOST", { text = "(with n = 2, m = 0)", runs = { { n = 4, m = 1 } } }, double, then_around(m_of))
check("once and once a turn, and twice the index", "PROVE-DEADLOCK", { text = "(with n = 2, m = 0)", fails = "sim-deadlock", runs = { { n = 4, m = 1 } } }, then_around(m_of), double)
-- One condition on the index, in one loop and in two.
local function masked(deeper) return function(r, op)
  local function row() for i in loop(0, r.n) do for _ in T(lt(i, r.m)) do op(r.a) end end end
  if deeper then for _ in loop(0, r.s) do row() end else row() end
end end
check("a condition on the index, in a loop and in a nest", "PROVE-LOST", { text = "(with n = 1, m = 1, s = 0)", runs = { { n = 3, m = 2, s = 1 } } }, masked(false), masked(true))
check("... in a nest and in a loop", "PROVE-DEADLOCK", { text = "(with n = 1, m = 1, s = 0)", fails = "sim-deadlock", runs = { { n = 3, m = 2, s = 1 } } }, masked(true), masked(false))
check("... in a nest each", "SAFE", { runs = some }, masked(true))
-- What a body gives in a tile is one truth there, in both turns of a loop; it is no index's.
local function kept_truth(r, op)
  local c = gt(r.g:make(), 0)
  for j in loop(0, 2) do
    for _ in j:every(2, 0) do for _ in T(c) do if op == fill then fill(r.b) else fill(r.c) end end end
    for _ in j:every(2, 1) do for _ in T(c) do if op == fill then use(r.b) else use(r.c) end end end
  end
end
local function bodies(r) from_body(r); r.c = ring(r.k, "c") end
check("a body's number of a tile, asked in two turns", "SAFE", { tiles = true, more = bodies, runs = some, warn = true }, kept_truth)
check("... beside a fault", "PROVE-DEADLOCK", { tiles = true, more = bodies, warn = true }, kept_truth, function(r, op) kept_truth(r, op); op(r.a) end)
check("a length of the tile from the index around on", "PROVE-DEADLOCK", { tiles = true, hint = "'take' runs i0 .. t.i + 1, 'give' runs i0 .. t.i: make both equally long" },
  function(r, op, t) for i in loop(0, 2) do for _ in loop(i, t.i) do op(r.a) end end end, function(r, op, t) for i in loop(0, 2) do for _ in loop(i, t.i + 1) do op(r.a) end end end)
check("in every second turn", "SAFE", { runs = some }, rest(1))
check("in every second turn, each its own", "PROVE-DEADLOCK", { text = "(with n = 3)", fails = "sim-deadlock", hint = "'take' does it if i0 % 2 == 0, 'give' does it if i0 % 2 == 1: put both under one condition, or under one key if they are always equal" }, rest(1), rest(0))
local function told(guard, c)
  return function(r, op)
    for i in loop(0, r.n) do for _ in T(eq(i, 3)) do op(r.b) end end
    for _ in guard(c(r)) do once({ n = r.m, a = r.a }, op) end
  end
end
local function short(r) return le(r.n, 1) end
check("under what a loop's end tells", "SAFE", { n = { max = 1000 }, runs = some }, told(T, short))
check("... and under its opposite", "PROVE-LOST", { n = { max = 1000 }, text = "(with n = 0, m = 2)" }, told(T, short), told(F, short))
check("... and under its opposite's opposite", "SAFE", { n = { max = 1000 }, runs = some }, told(T, short), told(F, function(r) return gt(r.n, 1) end))

-- Conditions: which are one question.
local function beside(c) return function(r, op) for i in loop(0, r.n) do for _ in T(lt(i, r.m)) do op(r.a) end for _ in T(c(r)) do op(r.b) end end end end
check("a condition on the index beside one of the launch", "SAFE", { runs = some }, beside(function(r) return gt(r.m, 1) end))
check("... and another of the launch", "PROVE-DEADLOCK", { text = "m = 1)", fails = "sim-deadlock" }, beside(function(r) return gt(r.m, 1) end), beside(function(r) return gt(r.m, 0) end))
local function inside(c) return function(r, op) for i in loop(0, r.n) do for _ in i:every(2, 0) do for _ in T(c(i, r)) do op(r.a) end end end end end
check("a condition on the index within a guard", "PROVE-DEADLOCK", { text = "(with n = 1, m = 0)", fails = "sim-deadlock" }, inside(function(i, r) return lt(i, r.m) end), inside(function(i, r) return le(i, r.m) end))
local function nested_first(r, op)
  for i in loop(0, r.n) do
    for _ in i:every(2, 0) do for _ in T(lt(i, r.m)) do op(r.b) end end
    for _ in T(gt(r.m, i)) do op(r.a) end
  end
end
check("one within a guard, and then one in each turn: right", "SAFE", { runs = some }, nested_first)

-- ---- what mends it -------------------------------------------------------------------------------------------------------------------------------------

local function more_than_three(guard) return function(r, op) for _ in guard(gt(r.n, 3)) do op(r.a) end end end
check("one condition, by one of the two if it does not hold", "PROVE-DEADLOCK",
  { text = "(with n = 0)", fails = "sim-deadlock", hint = "'take' does it unless n > 3, 'give' does it if n > 3: put both under one condition, or under one key if they are always equal" }, more_than_three(T), more_than_three(F))
check("a loop by the one, none by the other", "PROVE-DEADLOCK", { more = from_body, hint = "give each wait an arrival that does not itself depend on the wait" },
  function(r, op) for _ in loop(0, r.g:make()) do op(r.a) end end, function(r, op) op(r.a) end)
-- Tiles that are skipped, by one of the two.
local function skipping(give, take)
  local k = weir.kernel { name = "skips", arch = "sm_90a" }
  local m, a = k:dim "m", ring(k, "a")
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "n" } }
  for at, skips in ipairs { give, take } do
    k:task { name = at == 1 and "give" or "take", warps = { at - 1, 1 }, schedule = function()
      for t in weir.work_tile_loop(wq, { skip = function(t) return lt(t.i, m) end }) do
        if skips == "skips" then for _ in t:skippable() do (at == 1 and fill or use)(a) end else (at == 1 and fill or use)(a) end
        wq:next()
      end
    end }
  end
  return k
end
local function proved(name, want, k, o)
  local report = k:verify()
  local rule = report.proof.text:match "%[(PROVE%-[%u-]+)%]$"
  if not tap.is(want, rule or report.proof.verdict, name) then tap.diag(report.text) end
  local hint
  for _, f in ipairs(report.findings) do if not hint and f.rule == rule and report.proof.text:find(f.message, 1, true) then hint = f.hint end end
  if o then tap.is(o, ((hint or "none"):gsub(" %([%w_]+%.t:%d+%)", "")), name .. ": the mend") end
  k:close()
end
proved("both skip a tile", "SAFE", skipping("skips", "skips"))
proved("one skips it", "PROVE-DEADLOCK", skipping("skips", "works"), "'take' does it always, 'give' does it unless t.i < m: put both under one condition, or under one key if they are always equal")
-- Lanes that take turns: their number is to be blamed only where a loop may end within a turn.
local LANES = "where lanes take the stages in turn and the other side takes them all, each run of the loop must be a multiple of 2 steps: k:dim(name, { multiple = ... })"
local WAIT = "give each wait an arrival that does not itself depend on the wait"
local function dealt(o)
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local n, s, b = k:dim("n", { multiple = o.multiple }), ring(k, "s", 4, { 2, 2, 1, 1 }), ring(k, "b")
  local function counting(op, more, taken)
    return function()
      for i in loop(0, n) do
        for _ in T(eq(i, 3)) do op(b) end
        if taken then use(s) end
      end
      for _ in T(le(n, more)) do op(b) end
    end
  end
  k:task { name = "give", warps = { 0, 2 }, schedule = function() for _ in loop(0, n) do fill(s) end for _ in T(le(n, 2)) do end end }
  k:task { name = "take", warps = { 4, 1 }, schedule = counting(use, 2, true) }
  k:task { name = "more", warps = { 5, 1 }, schedule = counting(fill, o.more) }
  return k
end
proved("warps that take turns, and what a loop's end tells", "SAFE", dealt { multiple = 2, more = 2 })
proved("... another", "PROVE-DEADLOCK", dealt { multiple = 2, more = 1 }, WAIT)
proved("... whose loop may end within a turn", "PROVE-DEADLOCK", dealt { more = 1 }, LANES)
-- Tiles of two lanes, and what a loop's end tells in each.
local function lanes_told(give, take)
  local k = weir.kernel { name = "lanes", arch = "sm_90a" }
  local n, a, b = k:dim "n", ring(k, "a"), ring(k, "b")
  local wq = k:work_queue { name = "wq", axes = { "t" }, extent = { k:dim "m" } }
  local turn = k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } }
  local function body(side, c)
    for i in loop(0, n) do
      for _ in T(eq(i, 3)) do side(b) end
      side(a)
    end
    for _ in T(le(n, c)) do side(b) end
  end
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do body(fill, give); wq:next() end end }
  for lane = 0, 1 do
    k:task { name = "get" .. lane, warps = { 4 + lane, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq, { lane = lane, lanes = 2 }) do
        if lane == 0 then turn:acquire() else turn:wait() end
        body(use, take)
        if lane == 0 then turn:commit() else turn:release() end
        wq:next()
      end
    end }
  end
  return k
end
proved("lanes of tiles, and what a loop's end tells", "SAFE", lanes_told(2, 2))
proved("... another", "PROVE-LOST", lanes_told(2, 1), "let the consumer run as many steps as the producer")

-- ---- where the search gives up --------------------------------------------------------------------------------------------------------------------------

-- What is said of a plan as it is, or as `change` leaves it; o: options of plan.prove. want: the verdict, or the rules of the findings, and a text.
local function said(name, want, text, k, change, ...)
  local p = assert(plan.of(k))
  if change then change(p) end
  local verdict, findings, why = plan.prove(p, true, ...)
  local rules = {}
  for i, f in ipairs(findings) do rules[i] = f.rule end
  tap.is(want, verdict == "UNSAFE" and table.concat(rules, " ") or verdict, name)
  tap.like(text, why, name .. ": " .. text)
  p:close()
  k:close()
  return why
end
-- Conditions of their own, asked twice in turn; o.told: behind a loop whose length tells something; o.fault: take one that is given only under the
-- first of them; o.far: take what is given in tiles behind all of them.
local function many(n, o)
  local k = weir.kernel { name = "many", arch = "sm_90a" }
  local length, a, b, q = k:dim("n", { max = 1000 }), ring(k, "a"), ring(k, "b", 7), {}
  for i = 1, n do q[i] = k:scalar { name = "q" .. i, dtype = "i32" } end
  local wq = o.far and k:work_queue { name = "wq", axes = { "i" }, extent = { length } }
  local t = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
  for at, op in ipairs { fill, use } do
    k:task { name = at == 1 and "give" or "take", warps = { at - 1, 1 }, schedule = function()
      if o.told then
        for i in loop(0, length) do for _ in T(eq(i, 3)) do op(a) end end
        for _ in T(le(length, 1)) do op(a) end
      end
      for _ = 1, 2 do for i = 1, n do for _ in T(gt(q[i], 0)) do op(a) end end end
      if o.fault and at == 2 then op(a) elseif o.fault then for _ in T(gt(q[1], 0)) do op(a) end end
      if not wq then return end
      if at == 2 then t:wait(); t:release() end
      for _ in weir.work_tile_loop(wq) do op(b); wq:next() end
      if at == 1 then t:acquire(); t:commit() end
    end }
  end
  return k
end
said("13 conditions", "SAFE", "16388 states", many(13, { told = true }))
said("14 conditions, more than are looked at: not all of them", "INCOMPLETE", "more than 20000 states", many(14, { told = true }))
said("... one of which fails", "INCOMPLETE", "more than 20000 states", many(14, { told = true, fault = true }))
do
  local p = many(14, { told = true, fault = true }):build { device = dev, unsafe = true }
  local args = { n = 0 }
  for i = 1, 14 do args["q" .. i] = 0 end
  local ok, why = p:launch(args, { grid = 1 })
  tap.ok(not ok and tostring(why):find "sim%-deadlock", "... and does so in the simulator")
  p:close()
end
said("tiles too far apart, behind what a loop's end tells", "INCOMPLETE", "tasks can run too far apart", many(0, { told = true, far = true }))
do -- states so large that few fit
  local k = weir.kernel { name = "large", arch = "sm_90a", cluster = { m = 8 } }
  local r, q = {}, {}
  for i = 1, 33 do r[i] = ring(k, "r" .. i, 1) end
  for i = 1, 14 do q[i] = k:scalar { name = "q" .. i, dtype = "i32" } end
  for side, op in ipairs { fill, use } do
    k:task { name = side == 1 and "give" or "take", warps = { side - 1, 1 }, schedule = function()
      for _ = 1, 2 do for i = 1, 14 do for _ in T(gt(q[i], 0)) do op(r[1]) end end end
      for i = 1, 33 do op(r[i]) end
    end }
  end
  local why = said("large states", "INCOMPLETE", "more than ", k)
  local n = math.tointeger(why:match "more than (%d+) states")
  tap.ok(n and n > 100 and n < 20000, ("large states: %s of them, fewer than of small ones"):format(n))
end
local function endless() -- behind a loop
  local k = weir.kernel { name = "long", arch = "sm_90a" }
  local n, a = k:dim "n", ring(k, "a", 1)
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in loop(0, n) do fill(a) end
    for i in loop(0, 10000000) do for _ in i:every(1000000000) do fill(a) end end
  end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function() for _ in loop(0, n) do use(a) end use(a) end }
  return k
end
said("a task that goes round for ever behind a loop", "INCOMPLETE", "a task makes very many steps that no length decides", endless())
do -- the same way again, as deep as the ring
  local work = {}
  for i, stages in ipairs { 400, 1600 } do
    local k = weir.kernel { name = "deep", arch = "sm_90a" }
    local n, a = k:dim "n", ring(k, "a", stages)
    for at, op in ipairs { fill, use } do
      k:task { name = at == 1 and "give" or "take", warps = { at - 1, 1 }, schedule = function() for _ in loop(0, n) do op(a) end end }
    end
    local p = assert(plan.of(k))
    local verdict, _, _, n_work = plan.prove(p, true)
    tap.is("SAFE", verdict, stages .. " stages")
    work[i] = n_work
    p:close()
    k:close()
  end
  tap.ok(work[2] < 20 * work[1], ("1600 stages: %.1f times the work of 400"):format(work[2] / work[1]))
end
-- Both are named, though the rule is one and no action of either is to blame.
do
  local k = weir.kernel { name = "exits", arch = "sm_90a" }
  for i = 1, 2 do
    local x = k:gmem_tile { name = "x" .. i, tensor = k:tensor { name = "X" .. i, dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
    local y = k:gmem_tile { name = "y" .. i, tensor = k:tensor { name = "Y" .. i, dtype = "f32", shape = { 64, 64 }, out = true }, tile = { 64, 64 } }
    local s = k:smem_tile { name = "s" .. i, dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 1 } }
    k:task { name = "t" .. i, warps = { 4 * i - 4, 4 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit(); s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end }
  end
  said("loads of two tasks that nobody waits for", "PROVE-RACE PROVE-RACE PROVE-EXIT PROVE-EXIT", "the bulk store of 't1' reads 's1'", k)
end
-- A fault that only merged states have is looked for once more with the states apart; where they are apart, not again.
local function unlike()
  return pair({}, function(r, op) for i in loop(0, r.n) do for _ in i:every(1, 0) do for _ in T(lt(i, r.m)) do op(r.a) end end end end,
    function(r, op) for i in loop(0, r.n) do for _ in T(lt(i, r.m)) do op(r.a) end end end)
end
for _, apart in ipairs { false, true } do
  said("a condition that is not asked alike, states " .. (apart and "apart" or "merged"), "INCOMPLETE", "did not come out alike", unlike(), nil, false, false, false, apart)
end
-- With sizes that the way did not have, the tasks are too far apart to be run to the end: that way is not reported.
do
  local k = weir.kernel { name = "far", arch = "sm_90a" }
  local n, m, b, u = k:dim "n", k:dim "m", ring(k, "b", 7), ring(k, "u", 1)
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { n } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do fill(b); wq:next() end fill(u) end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for i in loop(0, 2) do for _ in i:first_iter() do for _ in T(ge(i, m)) do use(u) end end end
      wq:next()
    end
    for _ = 1, 7 do use(b) end
  end }
  said("tiles too far apart with the sizes that a way is tried with", "PROVE-DEADLOCK PROVE-DEADLOCK PROVE-DEADLOCK", "'take' waits at b_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'give' has ended (with m = 0)", k)
end
-- Of one tile: what no way bears out is tried there, too.
check("one tile of a grid", "INCOMPLETE", { tiles = true, kind = "grid", runs = some },
  function(r, op) for i in loop(0, r.m) do for _ in i:every(1, 0) do for _ in T(lt(i, r.n)) do op(r.a) end end end end,
  function(r, op) for i in loop(0, r.m) do for _ in T(lt(i, r.n)) do op(r.a) end end end)
-- A loop further apart than a state holds is named; of conditions so many answers are too many states.
local function ahead(body)
  local k = weir.kernel { name = "ahead", arch = "sm_90a" }
  local n, m, a = k:dim("n", { max = 65 }), k:dim "m", ring(k, "a", 70)
  local t = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() body(n, m, function() fill(a) end); t:acquire(); t:commit() end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function() t:wait(); t:release(); body(n, m, function() use(a) end) end }
  return k
end
said("a loop of 65 steps ahead", "INCOMPLETE", "one can be more than 60 steps of the loop 0 .. n (", ahead(function(n, _, op) for _ in loop(0, n) do op() end end))
said("a condition of 65 turns ahead", "INCOMPLETE", "more than ",
  ahead(function(_, m, op) for i in loop(0, 65) do for _ in T(lt(i * 3, m)) do op() end end end))
-- Warps that take turns, under conditions on the index.
local function by_turns(c)
  local k = weir.kernel { name = "turns", arch = "sm_90a" }
  local n, m, s = k:dim("n", { multiple = 2 }), k:dim "m", ring(k, "s", 4, { 2, 2, 1, 1 })
  k:task { name = "give", warps = { 0, 2 }, schedule = function() for i in loop(0, n) do for _ in T(lt(i, m)) do fill(s) end end end }
  k:task { name = "take", warps = { 4, 1 }, schedule = function() for i in loop(0, n) do for _ in T(c(i, m)) do use(s) end end end }
  return k
end
said("warps that take turns under a condition on the index, the taker under another", "PROVE-DEADLOCK", "'take' waits at s_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'give warp 0' has ended (with n = 2, m = 0)", by_turns(le))
said("... under the same: right", "INCOMPLETE", "did not come out alike", by_turns(lt))
tap.done()
