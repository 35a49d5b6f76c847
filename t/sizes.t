#!/usr/bin/env lua5.4
-- A fault is reported with sizes for which it happens, and none that cannot: what each way through the search takes for granted (lengths, truths,
-- tiles) is borne out or thrown away. Where sizes are named, the simulator runs them; where nothing is wrong, it runs many.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
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
-- kind (of the queue), stages, cluster, warps, more(r)
local function pair(o, give, take)
  local k = weir.kernel { name = "pair", arch = "sm_90a", cluster = o.cluster }
  local r = { k = k, n = k:dim("n", o.n), m = k:dim("m", o.m), s = k:dim("s", o.s), x = k:scalar { name = "x", dtype = "i32" } }
  r.a, r.b = ring(k, "a", o.stages, o.interleave), ring(k, "b", o.stages)
  if o.more then o.more(r) end
  local wq = o.tiles and k:work_queue { name = "wq", axes = { "i" }, extent = { o.extent or r.n }, kind = o.kind }
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
  local taken, ok, why = pcall(p.launch, p, all, { grid = o.cluster and o.cluster.m or 1 })
  if not taken then return ok end
  return ok and "right" or tostring(why):match "%[(sim%-%w+)%]" or why
end

-- want: the verdict, or the rule that the proof names. o.text: a part of what is said, or several; o.hint; o.runs: sizes for which it is right,
-- whatever is said; o.fails (of UNSAFE): what the simulator says with the sizes that are named.
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
    local args = {}
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
check("a length of the tile in a loop: not of two lengths", "INCOMPLETE", { tiles = true, runs = some, text = "the loops 0 .. t.i were not equally long" }, both(coordinate), doubly(coordinate))
check("a length of the launch in a loop: not of two lengths", "INCOMPLETE", { runs = some, text = "the loops 0 .. n were not equally long" }, both(function(r) return r.n end), doubly(function(r) return r.n end))
check("a length of the tile in a loop, and one more in the second turn", "PROVE-DEADLOCK", { tiles = true, text = "(with n = 1, m = 2)", fails = "sim-deadlock" },
  function(r, op, t) for _ in loop(0, r.m) do for _ in loop(0, t.i) do op(r.a) end end end,
  function(r, op, t) for j in loop(0, r.m) do for _ in loop(0, t.i) do op(r.a) end for _ in j:every(2, 1) do op(r.a) end end end)
check("a length of the tile within itself, and one more in the second turn: no way agrees with itself", "INCOMPLETE", { tiles = true },
  function(r, op, t) for _ in loop(0, t.i) do for _ in loop(0, t.i) do op(r.a) end end end,
  function(r, op, t) for j in loop(0, t.i) do for _ in loop(0, t.i) do op(r.a) end for _ in j:every(2, 1) do op(r.a) end end end)
check("a length of the tile, by steps of the index around", "PROVE-DEADLOCK", { tiles = true, hint = "'take' runs 0 .. t.i + 1 by i0, 'give' runs 0 .. t.i by i0: make both equally long" },
  function(r, op, t) for i in loop(1, 4) do for _ in loop(0, t.i, i) do op(r.a) end end end, function(r, op, t) for i in loop(1, 4) do for _ in loop(0, t.i + 1, i) do op(r.a) end end end)
check("a length of the tile that is divided by a size, which may be 0", "PROVE-DEADLOCK",
  { tiles = true, text = "(with n = 1, m = 1)", fails = "sim-deadlock", hint = "'take' runs 1 step, 'give' 0 with n = 1, m = 1: make both equally long" },
  function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end end, function(r, op, t) for _ in loop(0, t.i // r.m + 1) do op(r.a) end end)
check("a length of the tile beside twice it", "PROVE-DEADLOCK", { tiles = true, text = "(with n = 4, m = 4)", fails = "sim-deadlock" },
  function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end for _ in loop(0, t.i * 2) do op(r.b) end end, function(r, op, t) for _ in loop(0, t.i // r.m) do op(r.a) end for _ in loop(0, t.i) do op(r.b) end end)
check("a condition of the tile that is divided by a size, which may be 0", "PROVE-DEADLOCK", { tiles = true, text = "(with n = 2, m = 1)" },
  function(r, op, t) for _ in T(gt(t.i // r.m, 0)) do op(r.a) end end, function(r, op, t) for _ in T(gt(t.i // r.m, 1)) do op(r.a) end end)
check("a length of one of four tiles", "PROVE-DEADLOCK", { tiles = true, extent = 4, hint = "'take' runs 0 .. t.i + 1, 'give' runs 0 .. t.i: make both equally long" },
  function(r, op, t) for _ in loop(0, t.i) do op(r.a) end end, function(r, op, t) for _ in loop(0, t.i + 1) do op(r.a) end end)

-- ---- sizes that the author assumes, that divide by 0, by which loops step ----------------------------------------------------------------------

local function rounds(of) return function(r, op) for _ in loop(0, of(r)) do op(r.a) end end end
check("an assumption that cannot be told for all sizes", "PROVE-DEADLOCK", { text = "(with n = 0)", fails = "sim-deadlock", more = function(r) r.k:assume(lt(r.n // r.m, 5)) end },
  rounds(function(r) return r.n end), rounds(function(r) return r.n + 1 end))
check("a condition that cannot be told for all sizes", "PROVE-LOST", { text = "(with n = 3, m = 1)" },
  function(r, op) for _ in T(gt(r.n // r.m, 2)) do op(r.a) end end, function(r, op) for _ in T(gt(r.n // r.m, 3)) do op(r.a) end end)
-- No length is asked here, but a condition on the index, which the sizes decide.
local function below(r, op) for i in loop(0, 3) do for _ in T(lt(i, r.m)) do op(r.a) end end end
local function always(r, op) for _ in loop(0, 3) do op(r.a) end end
check("a condition on the index of a plain loop", "PROVE-DEADLOCK", { text = "(with m = 0)", fails = "sim-deadlock" }, below, always)
check("... which an assumption makes true", "INCOMPLETE", { more = function(r) r.k:assume(gt(r.m, 4)) end, runs = { { m = 5 }, { m = 9 } } }, below, always)
check("... which what the size may be makes true", "INCOMPLETE", { m = { min = 5 }, runs = { { m = 5 }, { m = 9 } } }, below, always)
check("a loop downwards", "PROVE-DEADLOCK", { fails = "sim-deadlock", hint = "'take' runs 1 step, 'give' 0 with n = 0: make both equally long" },
  function(r, op) for _ in loop(r.n, 0, -1) do op(r.a) end end, rounds(function(r) return r.n + 1 end))
check("a loop by steps of the launch", "PROVE-DEADLOCK", { fails = "sim-deadlock", hint = "'take' runs 2 steps, 'give' 1 with n = 2, s = 2: make both equally long" },
  function(r, op) for _ in loop(0, r.n, r.s) do op(r.a) end end, rounds(function(r) return r.n end))
local function if_zero(f) return function(r, op) for _ in T(eq(r.s, 0)) do for i in loop(0, r.n) do f(r, op, i) end end end end
check("a loop by steps of 0, which does not run", "PROVE-DEADLOCK",
  { text = "(with n = 1, m = 1, s = 0)", fails = "sim-deadlock", hint = "'take' runs 0 .. n, 'give' runs 0 .. n by s: make both equally long" },
  if_zero(function(r, op, i) for _ in T(ge(i, r.m)) do for _ in loop(0, r.n, r.s) do op(r.a) end end end), if_zero(function(r, op, i) for _ in T(lt(i, r.m)) do op(r.a) end end))
check("lengths that bodies give, from 0 and from 1 on", "PROVE-DEADLOCK", { more = from_body, hint = "'take' runs 1 .. g:make(), 'give' runs 0 .. g:make(): make both equally long" },
  function(r, op) for _ in loop(0, r.g:make()) do op(r.a) end end, function(r, op) for _ in loop(1, r.g:make()) do op(r.a) end end)
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
local function of_cta(c) return function(r, op) for i in loop(0, r.n) do for _ in T(c(i, r)) do op(r.a) end for _ in T(lt(i * 2 + r.k.cta.m, r.m)) do op(r.b) end end end end
check("conditions on the index and the CTA, two in each", "PROVE-DEADLOCK", { cluster = { m = 2 }, text = "(with n = 1, m = 0)", fails = "sim-deadlock" },
  of_cta(function(i, r) return lt(i + r.k.cta.m, r.m) end), of_cta(function(i, r) return le(i + r.k.cta.m, r.m) end))
-- A loop's length by the index around, which the tasks do not ask alike; the fault comes while one of them is inside.
local function plainly(which) return function(r, op) for i in loop(0, r.n) do for _ in loop(0, i) do op(r[which]) end end end end
local function guarded(which) return function(r, op) for i in loop(0, r.n) do for _ in i:every(1, 0) do for _ in loop(0, i) do op(r[which]) end end end end end
check("within a length by the index", "PROVE-DEADLOCK", { text = "(with n = 2)", fails = "sim-deadlock" }, plainly "a", guarded "b")
check("... of the other task", "PROVE-DEADLOCK", { text = "(with n = 2)", fails = "sim-deadlock" }, guarded "a", plainly "b")
tap.done()
