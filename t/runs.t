#!/usr/bin/env lua5.4
-- Ways through the prover that few kernels take: conditions, lanes, places in tensors, parts of stages, tables changed by hand. A kernel a
-- row, and what is said of it; where something is SAFE, a neighbour that is not. Where sizes are given the explorer says the same.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local agreement = require "gen.agreement"
local s100 = require "sm100a"
local schedules = require "gen.schedules"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local T, F = weir.when_true, weir.when_false
local gt, lt, ge, le, eq = weir.gt, weir.lt, weir.ge, weir.le, weir.eq

local function fill(x) x:acquire(); x:fill(); x:commit() end
local function use(x) x:wait(); x:use(); x:release() end
local function ring(k, name, stages, o)
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = stages or 2, interleave = o and o.interleave },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
end

-- What is said of a kernel: the verdict, or the rule of the first finding of the proof, and its text without places.
local function said(k, o)
  local report = k:verify(o)
  local first
  for _, f in ipairs(report.findings) do if not first and f.rule:find "^PROVE" then first = f end end
  local text = (first and first.message or report.proof.text or ""):gsub(" %([%d.]+ states?, [%d.]+ ms%)", ""):gsub(" %([%w_]+%.t:%d+%)", "")
  local verdict = report.proof.verdict
  return verdict == "UNSAFE" and first and first.rule or verdict, text, report, first
end
-- want: a verdict or rule; o.text: a part of what is said; o.sizes: for the explorer; o.options: of verify
local function check(name, want, k, o)
  o = o or {}
  local seen, text, report = said(k, o.options)
  if not tap.is(want, seen, name) then tap.diag(report.text) end
  for _, part in ipairs(type(o.text) == "table" and o.text or { o.text }) do tap.like(part, text, name .. ": " .. part) end
  if o.sizes then
    local program, why = plan.of(k)
    local both = agreement.compare(plan, assert(program, why), o.sizes, { limit = o.limit or 20000, far = 60000 })
    if not tap.is({ false, o.open or false }, { both.wrong or false, both.open or false }, name .. ": the explorer, too") then tap.diag(both.text) end
  end
  k:close()
end
local SAFE = "for every loop length and tile count"
local counts = {} -- sizes: each of n, m and q, a few
for n = 0, 2 do for m = 0, 2 do for q = 0, 1 do counts[#counts + 1] = { n = 4 * n, m = m, q = q, s = 1, tiles = 2 } end end end

-- A producer "give" and consumers "get", "get2" of ring "a" (o.two: and "b"). o: stages, cluster, tiles, warps.
local function pair(o, give, get)
  local k = weir.kernel { name = "pair", arch = "sm_90a", cluster = o.cluster }
  local r = { k = k, n = k:dim "n", m = k:dim "m", s = k:dim("s", { min = 1 }), q = k:scalar { name = "q", dtype = "i32" } }
  r.a, r.b = ring(k, "a", o.stages), o.two and ring(k, "b", o.stages)
  if o.tiles then r.wq = k:work_queue { name = "wq", axes = { "i" }, extent = { r.n } } end
  local function run(f)
    return function()
      if not r.wq then return f(r) end
      for t in weir.work_tile_loop(r.wq) do f(r, t); r.wq:next() end
    end
  end
  k:task { name = "give", warps = { 0, o.warps or 1 }, schedule = run(give) }
  for i, g in ipairs(type(get) == "table" and get or { get }) do k:task { name = "get" .. (i > 1 and i or ""), warps = { 4 * i, 1 }, schedule = run(g) } end
  return k
end
-- Both sides under a condition each.
local function when(o, x, y, guard_y)
  return pair(o, function(r) for _ in T(x(r), o.key and { key = o.key }) do fill(r.a) end end, function(r) for _ in (guard_y or T)(y(r), o.key and { key = o.key }) do use(r.a) end end)
end
-- ... of the index of a loop each, o.from to n by o.by
local function each(o, x, y)
  local function side(op, c)
    return function(r)
      for i in weir.domain_loop(o.from and r[o.from] or 0, r.n, o.by and r[o.by] or 1) do
        for _ in T(c(r, i), o.key and { key = o.key }) do op(r.a) end
      end
    end
  end
  return pair(o, side(fill, x), side(use, y))
end

-- ---- conditions ----------------------------------------------------------------------------------------------------------------------------
check("a condition turned round", "SAFE", when({}, function(r) return gt(r.n, 7) end, function(r) return lt(7, r.n) end), { sizes = counts })
check("a condition denied", "SAFE", when({}, function(r) return gt(r.n, 7) end, function(r) return le(r.n, 7) end, F), { sizes = counts })
check("its opposite", "PROVE-DEADLOCK", when({}, function(r) return gt(r.n, 7) end, function(r) return le(r.n, 7) end), { sizes = counts, text = "(with n = 0)" })
check("one beside it", "PROVE-DEADLOCK", when({}, function(r) return gt(r.n, 7) end, function(r) return ge(r.n, 7) end), { sizes = counts, text = "(with n = 7)" })
local function positive(r) return gt(r.n, 0) & gt(r.m, 0) end
local function get_positive(r) for _ in T(positive(r), { key = "x" }) do use(r.a) end end
check("a key of two conditions that nothing shows to be equal is said once, whoever has it", "SAFE",
  pair({}, function(r) for _ in T(gt(r.n * r.m, 0), { key = "x" }) do fill(r.a) end end, { get_positive, get_positive }),
  { text = SAFE .. ", trusting a.fill, a.use's declared effects; key 'x': n * m > 0 and n > 0 & m > 0 are equal" })
check("a key of opposites is taken on the author's word, too", "SAFE", when({ key = "x" }, function(r) return gt(r.n, 7) end, function(r) return le(r.n, 7) end),
  { options = { warn_only = true }, text = "; key 'x': n > 7 and n <= 7 are equal" })
local function mixed(op, limit)
  return function(r)
    for i in weir.domain_loop(0, r.n) do
      for _ in T(eq(i % 2, 0)) do op(r.a) end
      for _ in T(gt(r.m, limit)) do op(r.b) end
    end
  end
end
check("a condition on the index beside one of the launch", "SAFE", pair({ two = true }, mixed(fill, 1), mixed(use, 1)), { sizes = counts })
check("the same, the launch's another", "PROVE-DEADLOCK", pair({ two = true }, mixed(fill, 1), mixed(use, 0)), { sizes = counts, text = "m = 1" })
local function nested(op, cond) return function(r) for _ in weir.domain_loop(0, r.m) do for i in weir.domain_loop(0, r.n) do for _ in T(cond(i, r)) do op(r.a) end end end end end
local function even(i) return eq(i % 2, 0) end
local function below(i, r) return lt(i, r.m) end
check("a condition on the index of a loop in a loop", "SAFE", pair({}, nested(fill, even), nested(use, even)))
check("... and on the launch: one answer at one time", "SAFE", pair({}, nested(fill, below), nested(use, below)), { sizes = counts })
local function to(i, r) return le(i, r.m) end
check("... on another bound", "PROVE-DEADLOCK", pair({}, nested(fill, below), nested(use, to)), { sizes = counts, text = "waits at a_full[" })
local function turned(op, cond) return function(r) for _ in weir.domain_loop(0, r.n) do for i in weir.domain_loop(0, r.m) do for _ in T(cond(i, r)) do op(r.a) end end end end end
local function few(i, r) return lt(i * 3, r.s) end
check("... in loops the other way round: each side has answers of its own", "PROVE-LOST", pair({}, nested(fill, few), turned(use, few)), { sizes = counts, text = "(with n = 1, m = 2" })
-- A loop within one of the same length, in its last step: that there is no other step must not be taken for the inner loop's end.
local function in_last(op, extra)
  return function(r)
    for i in weir.domain_loop(0, r.n) do
      for _ in i:last_iter() do for _ in weir.domain_loop(0, r.n) do if extra then op(r.b) end end end
      op(r.a)
    end
  end
end
check("a loop within one of its length, in its last step", "SAFE", pair({ two = true }, in_last(fill, true), in_last(use, true)), { sizes = counts })
check("... by one side alone", "PROVE-DEADLOCK", pair({ two = true }, in_last(fill), in_last(use, true)), { options = { warn_only = true }, text = "(with n = 1)" })
check("on an index, in each tile", "SAFE", each({ tiles = true }, function(_, i) return eq(i % 2, 0) end, function(_, i) return eq(i % 2, 0) end))
check("on an index, in each tile, not alike", "PROVE-DEADLOCK", each({ tiles = true }, function(_, i) return eq(i % 2, 0) end, function(_, i) return eq(i % 2, 1) end), { text = "'give' waits at a_empty[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'get' has ended (with n = 1)" })
local function inside(key) return function(r) return gt(r.m, 1), key end end
local function keyed(x, y)
  return pair({ tiles = true }, function(r) for _ in T(inside()(r), { key = x }) do fill(r.a) end end, function(r) for _ in T(inside()(r), { key = y }) do use(r.a) end end)
end
check("a key in each tile", "SAFE", keyed("x", "x"))
check("two keys in each tile", "PROVE-DEADLOCK", keyed("x", "y"), { text = "'get' has ended" })
check("on an index that begins where the launch says", "SAFE", each({ from = "m" }, function(_, i) return gt(i, 3) end, function(_, i) return gt(i, 3) end))
check("on an index that steps as the launch says", "SAFE", each({ by = "s" }, function(_, i) return gt(i, 3) end, function(_, i) return gt(i, 3) end))
check("another on an index that steps as the launch says", "PROVE-LOST", each({ by = "s" }, function(_, i) return gt(i, 3) end, function(_, i) return gt(i, 4) end), { text = "(with n = 5, s = 1)" })
local function clustered(o, x, y) o.cluster = { m = 2 } return when(o, x, y) end
check("of the CTA and the launch", "SAFE", clustered({}, function(r) return gt(r.k.cta.m, r.n) end, function(r) return gt(r.k.cta.m, r.n) end))
check("of the CTA and the launch, not alike", "PROVE-DEADLOCK", clustered({}, function(r) return gt(r.k.cta.m, r.n) end, function(r) return ge(r.k.cta.m, r.n) end), { text = "(with n = 1)" })
local function two_loops(op, first, second)
  return function(r)
    for _, key in ipairs { first, second } do for _ in weir.domain_loop(0, r.n) do for _ in T(gt(r.q, 3), { key = key }) do op(r.a) end end end
  end
end
check("one key in two loops", "SAFE", pair({}, two_loops(fill, "x", "x"), two_loops(use, "x", "x")))
check("two keys in two loops", "PROVE-DEADLOCK", pair({}, two_loops(fill, "x", "x"), two_loops(use, "x", "y")))
local function known(op, n)
  return function(r)
    for _ in T(gt(3, 2)) do op(r.a) end
    for _ in F(gt(2, 3)) do op(r.a) end
    for _ in T(gt(2, 3)) do op(r.a) end
    for _ in F(gt(3, 2)) do op(r.a) end
    for _ = 3, n do op(r.a) end
  end
end
check("conditions of numbers", "SAFE", pair({}, known(fill, 2), function(r) use(r.a) use(r.a) end), { sizes = counts })
check("conditions of numbers, one more", "UNSAFE", pair({}, known(fill, 2), function(r) use(r.a) use(r.a) use(r.a) end), { sizes = counts, text = "'get' waits at a_full[0] for phase 1 (parity 1)" })
do
  local k = weir.kernel { name = "queues", arch = "sm_90a" }
  local r, n = ring(k, "a"), k:dim "n"
  for i, side in ipairs { fill, use } do
    local q = k:work_queue { name = "q" .. i, axes = { "i" }, extent = { n } }
    k:task { name = "t" .. i, warps = { i - 1, 1 }, schedule = function() for _ in weir.work_tile_loop(q) do side(r); q:next() end end }
  end
  check("two queues, and only a warning of them", "INCOMPLETE", k, { options = { warn_only = true }, text = "there are two work queues" })
end

local function twice(key_a, key_b, get_b)
  local function side(op, first, second)
    return function(r)
      for _ in T(gt(r.n * r.m, 0) , { key = first }) do op(r.a) end
      for _ in T(gt(r.m * r.n, 1), { key = second }) do op(r.b) end
    end
  end
  local function other(r)
    for _ in T(positive(r), { key = key_a }) do use(r.a) end
    for _ in T(get_b(r), { key = key_b }) do use(r.b) end
  end
  return pair({ two = true }, side(fill, key_a, key_b), other)
end
check("two keys are trusted, each for itself", "SAFE", twice("x", "y", function(r) return gt(r.m * r.n * 2, 3) end),
  { text = "key 'x': n * m > 0 and n > 0 & m > 0 are equal; key 'y': m * n > 1 and m * n * 2 > 3 are equal" })
local function inner(first_of)
  return function(op)
    return function(r) for i in weir.domain_loop(0, r.n) do for j in weir.domain_loop(0, r.m) do for _ in first_of(i, j):first_iter() do op(r.a) end end end end
  end
end
local outer_first, inner_first = inner(function(i) return i end), inner(function(_, j) return j end)
check("a guard on the loop around", "SAFE", pair({}, outer_first(fill), outer_first(use)), { sizes = counts })
check("a guard on another loop", "PROVE-DEADLOCK", pair({}, outer_first(fill), inner_first(use)), { sizes = counts })
local function beside(c, inner_c) -- in front of the tiles, and in each
  local function side(op, x, y)
    return function(r, wq)
      return function()
        for _ in T(x(r)) do op(r.a) end
        for _ in weir.work_tile_loop(wq) do for _ in T(y(r)) do op(r.a) end wq:next() end
      end
    end
  end
  local k = weir.kernel { name = "beside", arch = "sm_90a" }
  local r = { m = k:dim "m", n = k:dim "n", a = ring(k, "a") }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { r.n } }
  k:task { name = "give", warps = { 0, 1 }, schedule = side(fill, c, c)(r, wq) }
  k:task { name = "get", warps = { 1, 1 }, schedule = side(use, c, inner_c)(r, wq) }
  return k
end
local function above(x) return function(r) return gt(r.m, x) end end
check("one condition of the launch, in front of the tiles and in each", "SAFE", beside(above(1), above(1)), { options = { warn_only = true } })
check("another in each", "PROVE-DEADLOCK", beside(above(1), above(2)), { options = { warn_only = true }, text = "(with m = 2)" })
local function memory(where, c, grid) -- a number that is read from memory, in each tile or once; grid: behind a wait for the grid before
  local k = weir.kernel { name = "memory", arch = "sm_90a" }
  local n, a = k:dim "n", ring(k, "a")
  local g = k:gmem_tile { name = "g", tensor = k:tensor { name = "X", dtype = "i32", shape = { n } }, tile = { 1 } }
  grid = grid and k:pdl_wait { name = "before" }
  local wq = where == "tiles" and k:work_queue { name = "wq", axes = { "i" }, extent = { n } }
  for i, op in ipairs { fill, use } do
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function()
      if grid then grid:wait_griddep() end
      if not wq then for _ in T(c(g:at(0):load(), i), { key = where == "key" and "x" or nil }) do op(a) end return end
      for t in weir.work_tile_loop(wq) do for _ in T(c(g:at(t.i):load(), i)) do op(a) end wq:next() end
    end }
  end
  return k
end
local function read(x) return gt(x, 3) end
check("a condition on memory that nobody writes is one truth", "SAFE", memory("once", read), { text = SAFE .. ", trusting a.fill, a.use's declared effects" })
check("... in each tile", "SAFE", memory("tiles", read))
check("... where the kernel before may have written it", "SAFE", memory("tiles", read, true), { text = "; that the kernel before does not write what a condition is read from" })
local function behind_grid(steps) -- a length behind a wait for the grid before
  local k = weir.kernel { name = "memory", arch = "sm_90a" }
  local n, a, b = k:dim "n", ring(k, "a"), ring(k, "b")
  local g = k:gmem_tile { name = "g", tensor = k:tensor { name = "X", dtype = "i32", shape = { n } }, tile = { 1 } }
  local grid, wq = k:pdl_wait { name = "before" }, k:work_queue { name = "wq", axes = { "i" }, extent = { n } }
  for i, op in ipairs { fill, use } do
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function()
      grid:wait_griddep()
      for t in weir.work_tile_loop(wq) do
        for _ in weir.domain_loop(0, steps(g, t, n)) do op(a) end
        for _ in T(gt(n, 4), { key = "n" }) do op(b) end
        for j in weir.domain_loop(0, 2) do for _ in T(lt(j * n, 5)) do op(b) end end
        wq:next()
      end
    end }
  end
  return k
end
local declared = SAFE .. ", trusting a.fill, b.fill, a.use, b.use's declared effects"
check("a length from memory behind the grid before", "SAFE", behind_grid(function(g, t) return g:at(t.i):load() end), { text = "; that the kernel before does not write what a length is read from" })
for i, steps in ipairs { function(_, t) return t.i end, function(_, _, n) return n end } do
  local k = behind_grid(steps)
  tap.ok(not k:verify().proof.text:find("the kernel before", 1, true), "... no such length " .. i)
  check("... and none that is read " .. i, "SAFE", k, { text = declared })
end
check("... in each tile the opposite", "PROVE-DEADLOCK", memory("tiles", function(x, i) return i == 1 and gt(x, 3) or le(x, 3) end), { text = "(with X[" })
check("two conditions on memory", "PROVE-LOST", memory("once", function(x, i) return gt(x, i) end), { text = "(with X[0] = 2)" })
check("by one key", "SAFE", memory("key", read))
check("two conditions on memory, in each tile", "PROVE-LOST", memory("tiles", function(x, i) return gt(x, i) end), { text = "X[1] = 2" })
-- What is read is tried, too: an element of whole numbers or floats, wherever its place can be computed. Else both answers are believed.
local function element(name, want, text, at, o, less)
  o = o or {}
  local k = weir.kernel { name = "element", arch = "sm_90a" }
  local a = ring(k, "a")
  local g = k:gmem_tile { name = "g", tensor = k:tensor { name = "X", dtype = o.dtype or "i32", shape = { k:dim "n", 4 } }, tile = { o.rows or 1, 1 } }
  local b = k:resource { name = "b", space = "none", work = { make = weir.consumer_work { code = "a = 3;", returns = { "uniform i32 a" } } } }
  for i, op in ipairs { fill, use } do
    local x = less and i or 3 - i
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function() for _ in T(gt(at(g, b), x)) do op(a) end end }
  end
  local seen, said_of, report = said(k)
  if not tap.is({ want, text }, { seen, said_of:match " %(with (X.+)%)" or "believed" }, name) then tap.diag(report.text) end
  k:close()
end
element("an element of two axes", "PROVE-DEADLOCK", "X[1, 2] = 2", function(g) return g:at(1, 2):load() end)
element("... from a place on", "PROVE-DEADLOCK", "X[6, 3] = 2", function(g) return g:from(6, 3):load() end)
element("... where another says", "PROVE-LOST", "X[0, 0] = 2, X[0, 1] = 0", function(g) return g:at(g:at(0, 1):load(), 0):load() end, nil, true)
element("a float", "PROVE-LOST", "X[0, 1] = 1.5", function(g) return g:at(0, 1):load() end, { dtype = "f32" }, true)
element("a float of 64 bits, where another says", "PROVE-DEADLOCK", "X[9, 2] = 1.75, X[0, 0] = 9.25", function(g) return g:at(weir.cast(g:at(0, 0):load(), "i32"), 2):load() end, { dtype = "f64" })
element("a float of 16 bits", "PROVE-DEADLOCK", "believed", function(g) return weir.cast(g:at(0, 1):load(), "f32") end, { dtype = "bf16" })
element("a row of a view", "PROVE-DEADLOCK", "believed", function(g) return g:at(1, 2):rows(1, 1):load() end, { rows = 2 })
element("where a body says", "PROVE-DEADLOCK", "believed", function(g, b) return g:at(b:make(), 2):load() end)

-- One key in tiles and outside of them: a truth a tile, and one a launch. Both sides alike, or one of each.
local function key_in(give, get)
  local k = weir.kernel { name = "key_in", arch = "sm_90a" }
  local n, q, a = k:dim "n", k:scalar { name = "q", dtype = "i32" }, ring(k, "a", 2)
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { n } }
  for at, side in ipairs { fill, use } do
    local how = at == 1 and give or get
    k:task { name = at == 1 and "give" or "get", warps = { 4 * at, 1 }, schedule = function()
      local function asked() for _ in T(gt(q, 3), { key = "many" }) do side(a) end end
      if how ~= "tiles" then asked() end
      for _ in weir.work_tile_loop(wq) do
        if how ~= "once" then asked() end
        wq:next()
      end
    end }
  end
  return k
end
check("a key asked once and in each tile, by both", "SAFE", key_in("both", "both"))
check("a key asked once by one, in each tile by the other", "PROVE-DEADLOCK", key_in("once", "tiles"), { text = "'give' has ended" })

-- Loops in loops: how often the inner ones run follows the outer one's index. give, get(k, q, i, op): what is around an inner loop of each side;
-- o.lanes: tiles of which "get" and "get1" take every second.
local function nests(o)
  local k = weir.kernel { name = "nests", arch = "sm_90a" }
  local n, q, a = k:dim "n", k:scalar { name = "q", dtype = "i32" }, ring(k, "a", 2)
  local wq = o.lanes and k:work_queue { name = "wq", axes = { "t" }, extent = { k:dim "m" } }
  local turn = o.lanes and k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } }
  local function nest(side, around, more)
    for i in weir.domain_loop(0, n) do
      around(q, i, function() for _ in weir.domain_loop(0, more and i + 1 or i) do side(a) end end)
    end
  end
  local function plain(_, _, op) op() end
  local function run(side, lane, around, more)
    return function()
      if not wq then return nest(side, around or plain, more) end
      for _ in weir.work_tile_loop(wq, lane and { lane = lane, lanes = 2 } or nil) do
        if lane == 0 then turn:acquire() elseif lane then turn:wait() end
        nest(side, plain, more)
        if lane == 0 then turn:commit() elseif lane then turn:release() end
        wq:next()
      end
    end
  end
  k:task { name = "get", warps = { 4, 1 }, schedule = run(use, o.lanes and 0, o.get) }
  k:task { name = "give", warps = { 0, 1 }, schedule = run(fill, nil, o.give) }
  if o.lanes then k:task { name = "get1", warps = { 5, 1 }, schedule = run(use, 1, nil, o.more) } end
  return k
end
local function beyond(x) return function(q, _, op) for _ in T(gt(q, x)) do op() end end end
local function by_guard(q, i, op) for _ in T(gt(q, 3)) do i = i + 1 end op() end -- the guard has no loop in it
local function at_first(_, i, op) for _ in i:first_iter() do op() end end
local function at_last(_, i, op) for _ in i:last_iter() do op() end end
check("loops in loops", "SAFE", nests {}, { sizes = counts })
check("loops in loops, under one condition", "SAFE", nests { give = beyond(3), get = beyond(3) })
check("loops in loops, under two", "PROVE-DEADLOCK", nests { give = beyond(5), get = beyond(3) }, { text = "'give' has ended" })
check("loops in loops, beside a condition", "SAFE", nests { give = by_guard, get = by_guard })
check("loops in loops, in the last turn", "SAFE", nests { give = at_last, get = at_last }, { sizes = counts })
check("loops in loops, in the first turn and in the last", "PROVE-DEADLOCK", nests { give = at_first, get = at_last }, { text = "'give' has ended" })
check("loops in loops, tiles of two lanes", "SAFE", nests { lanes = true })
check("loops in loops, tiles of two lanes, one of which takes more", "UNSAFE", nests { lanes = true, more = true }, { text = "'get1' waits at a_full[1] for phase 0 (parity 0), 1 of 1 arrivals missing" })

-- ---- lanes of the stages, and guards -------------------------------------------------------------------------------------------------------
local function lanes(give, get)
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local n, s = k:dim("n", { multiple = 2 }), ring(k, "s", 4, { interleave = { 2, 2, 2, 2 } })
  for at, side in pairs { [0] = { "give", give, fill }, [4] = { "get", get, use } } do
    for lane = 0, 1 do
      k:task { name = side[1] .. lane, warps = { at + lane, 1 }, schedule = function() for i in weir.domain_loop(lane, n, 2) do side[2](i, lane, function() side[3](s) end) end end }
    end
  end
  return k
end
local evens = { { n = 0 }, { n = 2 }, { n = 4 }, { n = 6 } }
local function guarded(...)
  local guards = { ... }
  return function(i, _, op) for _, g in ipairs(guards) do for _ in g(i) do op() end end end
end
local function first(i) return i:first_iter() end
local function last(i) return i:last_iter() end
local function third(i) return i:every(3, 1) end
local function second(i) return i:every(2, 0) end
check("lanes: the first iteration", "SAFE", lanes(guarded(first), guarded(first)), { sizes = evens })
check("lanes: the first, twice", "SAFE", lanes(guarded(first, first), guarded(first, first)), { sizes = evens })
check("lanes: the first, twice and once", "PROVE-LOST", lanes(guarded(first, first), guarded(first)), { text = "what was committed to s_full[2] is never waited for (with n = 2)" })
check("lanes: the last iteration", "SAFE", lanes(guarded(last), guarded(last)), { sizes = evens })
check("lanes: every third, every second", "SAFE", lanes(guarded(third, second), guarded(third, second)), { sizes = { { n = 0 }, { n = 2 }, { n = 4 } } })
check("lanes: every third, every second and the first", "PROVE-DEADLOCK", lanes(guarded(third, second), guarded(third, first)))
local function warps(get) -- of one task that fills by turns; a guard counts the iterations of all
  local k = weir.kernel { name = "warps", arch = "sm_90a" }
  local n, s = k:dim("n", { multiple = 2 }), ring(k, "s", 4, { interleave = { 2, 2, 1, 1 } })
  k:task { name = "give", warps = { 0, 2 }, schedule = function() for i in weir.domain_loop(0, n) do for _ in i:every(2, 0) do fill(s) end end end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function() for i in weir.domain_loop(0, n) do get(i, s) end end }
  return k
end
check("warps that take turns: every second iteration is the first warp's", "PROVE-DEADLOCK", warps(function(i, s) for _ in i:every(2, 0) do use(s) end end))
-- Warps that take turns, each both sides of its own stages (o.emptied: what is not filled yet); or tasks of the first lane alone.
local function alone(o)
  local k = weir.kernel { name = "alone", arch = "sm_90a" }
  local n, s = k:dim("n", { multiple = 2 }), ring(k, "s", 4, { interleave = { 2, 2, 2, 2 } })
  if o.both then
    k:task { name = "turn", warps = { 0, 2 }, schedule = function()
      for _ in weir.domain_loop(0, n) do for _, side in ipairs(o.emptied and { use, fill } or { fill, use }) do side(s) end end
    end }
  else
    for at, side in ipairs { fill, use } do
      k:task { name = at == 1 and "give" or "get", warps = { 4 * at, 1 }, schedule = function() for _ in weir.domain_loop(0, o.more and at == 1 and n + 2 or n, 2) do side(s) end end }
    end
  end
  return k
end
check("lanes: each fills and empties its own stages", "SAFE", alone { both = true }, { sizes = evens, text = SAFE })
check("lanes: each empties its own stages before it fills them", "UNSAFE", alone { both = true, emptied = true }, { text = "'turn warp 0' waits at s_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing (with n = 2)" })
check("lanes: nobody takes the other's stages", "SAFE", alone {}, { sizes = evens, text = SAFE })
check("lanes: nobody takes the other's stages, and one step too many is filled", "PROVE-LOST", alone { more = true }, { text = "what was committed to s_full[0] is never waited for (with n = 0)" })
local function fourth(i, _, op) for _ in T(eq(i % 4, 0)) do op() end end
check("lanes: on the index, each has answers of its own", "INCOMPLETE", lanes(fourth, fourth), { text = "did not come out alike" })

-- Lanes fill steps of eight by a condition; units of `m` steps must not be counted by the lanes' own.
local function eight(give)
  local k = weir.kernel { name = "eight", arch = "sm_90a" }
  local m, s, b = k:dim("m", { multiple = 2 }), ring(k, "s", 4, { interleave = { 2, 2, 1, 1 } }), ring(k, "b")
  for lane = 0, 1 do
    k:task { name = "give" .. lane, warps = { lane, 1 }, schedule = function() for i in weir.domain_loop(lane, 8, 2) do for _ in T(lt(give(i), m)) do fill(s) end end end }
  end
  k:task { name = "put", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(0, m) do fill(b) end end }
  k:task { name = "take", warps = { 3, 1 }, schedule = function() for _ in weir.domain_loop(0, m - 1) do use(b) end for _ in T(gt(m, 0)) do use(b) end end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function() for i in weir.domain_loop(0, 8) do for _ in T(lt(i, m)) do use(s) end end end }
  return k
end
check("lanes: under a condition on the step, whose answers each has of its own", "INCOMPLETE", eight(function(i) return i end), { text = "did not come out alike" })
check("lanes: under a condition on the lane's own step", "PROVE-LOST", eight(function(i) return i // 2 end), { text = "what was committed to s_full[2] is never waited for (with m = 2)" })

-- ---- tiles that a body skips ---------------------------------------------------------------------------------------------------------------
local function skipping(o)
  local k = weir.kernel { name = "skipping", arch = "sm_90a" }
  local wq, s = k:work_queue { name = "wq", axes = { "t" }, extent = { k:dim "n" } }, ring(k, "s")
  local gen = k:resource { name = "gen", space = "gmem", work = { ask = weir.consumer_work { code = "a = true;", returns = { "uniform bool a" } }, see = weir.consumer_work { code = ";" } } }
  for at, op in ipairs { fill, use } do
    k:task { name = at == 1 and "give" or "take", warps = { at, 1 }, schedule = function()
      local told = gen:ask()
      for t in weir.work_tile_loop(wq, { skip = function() return told end }) do
        for _ in t:skippable() do gen:see(); if o.inside then op(s) end end
        if not o.inside then op(s) end
        wq:next()
      end
    end }
  end
  return k
end
check("tiles that two tasks skip, each as its own body tells", "PROVE-DEADLOCK", skipping { inside = true }, { text = "'give' waits at s_empty[0]" })
check("... and move there all the same", "SAFE", skipping {}, { text = SAFE })

-- ---- bodies that bring bytes ---------------------------------------------------------------------------------------------------------------
-- By their own cursor, with or without storage. o: space, arch, async (the body reads, too), bytes, stages
local function brings(o)
  local k = weir.kernel { name = "brings", arch = o.arch or "sm_90a" }
  local n = k:dim "n"
  local r = k:resource { name = "r", space = o.space, dtype = o.space and "u8", tile = o.space and { 128 }, pipeline = P.tma_async { stages = o.stages or 2, bytes = 128 },
    work = { fill = weir.producer_work { code = ";", tx_bytes = o.bytes or 128, async_read = o.async }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do r:acquire(); r:fill(); r:commit() end end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do r:wait(); r:use(); r:release() end end }
  return k
end
local some_n = { { n = 0 }, { n = 1 }, { n = 3 }, { n = 5 } }
for _, space in ipairs { "smem", false } do
  for _, arch in ipairs { "sm_90a", "sm_100a" } do
    local where = (space or "no storage") .. ", " .. arch
    check("a body brings bytes: " .. where, "SAFE", brings { space = space or nil, arch = arch }, { sizes = some_n })
    check("a body brings bytes and reads: " .. where, "SAFE", brings { space = space or nil, arch = arch, async = true }, { sizes = some_n })
    check("one stage: " .. where, "SAFE", brings { space = space or nil, arch = arch, stages = 1 }, { sizes = some_n })
  end
end
do
  local k = brings {}
  local p = k:build { device = lab.device() }
  tap.like("r_fill(i0, (i32)r_at, r_full + r_at * 8,", p:source(), "without storage, too, a body is given its stage and its mbarrier")
  p:close()
  tap.raises("r:use: only producer work brings bytes (tx_bytes is 16)", function()
    local bad = weir.kernel { name = "bad", arch = "sm_90a" }
    bad:resource { name = "r", space = "smem", dtype = "u8", tile = { 128 }, pipeline = P.tma_async { stages = 1, bytes = 128 }, work = { use = weir.consumer_work { code = ";", tx_bytes = 16 } } }
    bad:task { name = "t", warps = { 0, 1 }, schedule = function() end }
    bad:build()
  end, "work of a consumer brings none")
end

-- ---- places in tensors ---------------------------------------------------------------------------------------------------------------------
-- One task stores to a place of Y, another brings it to shared memory by TMA, by cp.async or by threads; in no order, the store before it,
-- or behind who has the data.
local function place(how, order)
  local k = weir.kernel { name = "place", arch = "sm_90a" }
  local function out(name) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } } end
  local y, z = out "y", out "z"
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 32 }, pipeline = how == "tma" and P.tma_async { stages = 1 } or P.async_async { stages = 1, producer_op = how == "cp" and "load" or nil } }
  local t = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
  k:task { name = "make", warps = { 0, 4 }, schedule = function()
    if order == "before" then t:acquire() elseif order == "behind" then t:wait() end
    y:store(1, y:at(0, 0))
    if order == "before" then t:commit() elseif order == "behind" then t:release() end
  end }
  k:task { name = "bring", warps = { 4, how == "tma" and 1 or 4 }, schedule = function()
    if order == "before" then t:wait() end
    s:acquire()
    if how == "tma" then s:tma_load(y:at(0, 0)) elseif how == "cp" then s:cp_async(y:at(0, 0)) else s:store(y:at(0, 0):load()) end
    s:commit()
    if order == "before" then t:release() end
  end }
  k:task { name = "put", warps = { 8, 4 }, schedule = function()
    if order == "behind" then t:acquire() end
    s:wait(); z:store(s:read(), z:at(0, 0)); s:release()
    if order == "behind" then t:commit() end
  end }
  return k
end
for how, load in pairs { tma = "the bulk load of 'bring'", cp = "the cp.async of 'bring warp 0'", threads = "the load of 'bring warp 0'" } do
  check("a place is stored to and brought by " .. how .. ", in no order", "PROVE-RACE", place(how), { text = load .. " reads tensor 'Y' at y:at(0, 0), which the store of 'make warp 0' writes in no order" })
  check("brought by " .. how .. ", stored before", "SAFE", place(how, "before"), { text = how == "tma" and "a body's fence.proxy.async.global" or nil })
  check("brought by " .. how .. ", stored behind who has the data", "SAFE", place(how, "behind"))
end

-- ---- storage of storage, and parts of stages -------------------------------------------------------------------------------------------------
-- Tiles that lie one in the other; the first and the last are filled by one task and read by another. order: the last is filled once the
-- first has been read.
local function chain(n, order)
  local k = weir.kernel { name = "chain", arch = "sm_90a" }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } }
  local s = {}
  for i = 1, n do s[i] = k:smem_tile { name = "s" .. i, dtype = "f32", tile = { 8, 32 }, storage = s[i - 1], pipeline = P.async_async { stages = 1 } } end
  local t = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
  k:task { name = "give", warps = { 0, 4 }, schedule = function()
    s[1]:acquire(); s[1]:store(1); s[1]:commit()
    if order then t:wait() end
    s[n]:acquire(); s[n]:store(2); s[n]:commit()
    if order then t:release() end
  end }
  k:task { name = "get", warps = { 4, 4 }, schedule = function()
    if order then t:acquire() end
    s[1]:wait(); y:store(s[1]:read(), y:at(0, 0)); s[1]:release()
    if order then t:commit() end
    s[n]:wait(); y:store(s[n]:read(), y:at(0, 0)); s[n]:release()
  end }
  return k
end
for _, n in ipairs { 2, 12 } do
  check(n .. " tiles in one storage, in order", "SAFE", chain(n, true), { options = { warn_only = true } })
  check(n .. " tiles in one storage, in no order", "PROVE-RACE", chain(n), { options = { warn_only = true }, text = "'give warp 0'" })
end

-- CTAs 1 and 2 push a slab each into CTA 0's stage. o: slab (CTA 2's), read (of CTA 0: "all", or a slab that has come)
local function slabs(o)
  local k = weir.kernel { name = "slabs", arch = "sm_90a", cluster = { k = 3 } }
  local n = k:dim "n"
  local X = k:tensor { name = "X", dtype = "f32", shape = { 3, n * 8, 32 } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { n * 8, 32 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 1, 8, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = { 2, 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  local function cta(c) return T(eq(k.cta.k, c)) end
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for i in weir.domain_loop(0, n) do for c = 1, 2 do for _ in cta(c) do a:acquire(); a:tma_load(x:at(k.cta.k, i, 0)); a:commit() end end end
  end }
  k:task { name = "send", warps = { 5, 1 }, schedule = function()
    for _ in weir.domain_loop(0, n) do
      for c = 1, 2 do
        for _ in cta(c) do
          b:acquire()
          if not o.early then a:release(0) end
          a:wait(); b:push(a:read(), b:sub(c == 2 and o.slab or c - 1), { k = 0 }); b:commit()
          if o.early then a:release() end
        end
      end
    end
  end }
  k:task { name = "add", warps = { 0, 4 }, schedule = function()
    for i in weir.domain_loop(0, n) do for _ in cta(0) do b:wait(); y:store(b:read():sub(0):load() + b:read():sub(1):load(), y:at(i, 0)); b:release() end end
  end }
  return k
end
check("a slab of each CTA, by number", "SAFE", slabs {})
check("a source that is given back while it is read", "PROVE-RACE", slabs { early = true }, { text = "while the push of 'send of CTA 1' may still read it" })
tap.like("PLAN-PUSH", select(3, said(slabs { slab = 0 })).text, "two in one place")

-- ---- moves -------------------------------------------------------------------------------------------------------------------------------------
do
  local function load(pipe) -- what no barrier counts
    local k = weir.kernel { name = "load", arch = "sm_90a" }
    local function tile(name, out) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = "f32", shape = { 64, 64 }, out = out }, tile = { 64, 64 } } end
    local x, y = tile "x", tile("y", true)
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = pipe }
    local function fetch() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end
    local function send() s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end
    if pipe.type == "async_tma" then k:task { name = "t", warps = { 0, 4 }, schedule = function() fetch(); send() end }
    else
      k:task { name = "load", warps = { 0, 1 }, schedule = fetch }
      k:task { name = "t", warps = { 4, 1 }, schedule = send }
    end
    return k
  end
  local verdict, findings = plan.prove(assert(plan.of(load(P.async_tma { stages = 1 })))) -- which validation refuses (V-TYPE-01)
  local text = verdict
  for _, f in ipairs(findings) do text = text .. "\n" .. f.rule .. ": " .. f.message end
  tap.like("PROVE-EXIT: the bulk load of 't' may still write 's' of CTA 0 when that CTA has ended", text, "a load whose bytes no barrier counts")
  check("a load whose bytes one counts", "SAFE", load(P.tma_async { stages = 1 }))
end
do
  local function send(piped) -- from a tile that threads have filled
    local k = weir.kernel { name = "send", arch = "sm_90a", cluster = { k = 2 } }
    local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } }
    local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = piped and P.async_tma { stages = 1 } }
    local b = k:smem_tile { name = "b", dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = 1 } }
    if piped then k:task { name = "fill", warps = { 4, 1 }, schedule = function() for _ in T(eq(k.cta.k, 1)) do a:acquire(); a:store(1); a:commit() end end } end
    k:task { name = "send", warps = { 5, 1 }, schedule = function()
      for _ in T(eq(k.cta.k, 1)) do
        if piped then a:wait() else a:store(1) end
        b:acquire(); b:push(a:read(), { k = 0 }); b:commit()
        if piped then b:acquire(); a:release() end
      end
    end }
    k:task { name = "put", warps = { 0, 4 }, schedule = function() for _ in T(eq(k.cta.k, 0)) do b:wait(); y:store(b:read(), y:at(0, 0)); b:release() end end }
    return k
  end
  check("a push of what the thread itself has stored, without a fence", "PROVE-PROXY", send(), { text = "the push of 'send of CTA 1' reads 'a' through the async proxy; threads of 'send of CTA 1' wrote it with no fence" })
  check("a push of a stage that was committed", "SAFE", send(true), { options = { warn_only = true } })
end
do
  local function note(barrier) -- beside what the tensor core commits
    local k = weir.kernel { name = "note", arch = "sm_100a" }
    local n = k:dim "n"
    local gx = k:gmem_tile { name = "gx", tensor = k:tensor { name = "X", dtype = "bf16", shape = { 128, 64 } }, tile = { 128, 64 } }
    local gy = k:gmem_tile { name = "gy", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 128, 128 }, out = true }, tile = { 128, 128 } }
    local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
    local acc = k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }
    local m = k:resource { name = "m", space = "smem", dtype = "u8", tile = { 64 }, work = { put = weir.producer_work { code = ";" }, get = weir.consumer_work { code = ";" } } }
    local t = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
    k:task { name = "load", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do s:acquire(); s:tma_load(gx:at(0, 0)); s:commit() end end }
    k:task { name = "mma", warps = { 5, 1 }, schedule = function()
      for _ in weir.domain_loop(0, n) do
        acc:acquire()
        if barrier then t:acquire() end
        m:put()
        if barrier then t:commit() end
        acc:zero(); s:wait(); acc:mma(s:read(), s:read()); s:release(); acc:commit()
      end
    end }
    k:task { name = "put", warps = { 0, 4 }, schedule = function()
      for _ in weir.domain_loop(0, n) do
        acc:wait()
        if barrier then t:wait() end
        m:get()
        if barrier then t:release() end
        gy:store(acc:read(), gy:at(0, 0)); acc:release()
      end
    end }
    return k
  end
  check("a commit of the tensor core hands over nothing that its threads wrote", "PROVE-RACE", note(), { text = "the work of 'put warp 0' reads 'm', and nothing says that the work of 'mma' has finished (with n = 1)" })
  check("a barrier does", "SAFE", note(true))
end
do
  local function many(n, left) -- mmas into one tile, and how many groups may be open at the release
    local k = weir.kernel { name = "many", arch = "sm_90a" }
    local N, ga = k:dim "n", k:gmem_tile { name = "ga", tensor = k:tensor { name = "A", dtype = "bf16", shape = { 64, 64 } }, tile = { 64, 64 } }
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }
    local acc = k:wgmma_tile { name = "acc", tile = { 64, 64 } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do a:acquire(); a:tma_load(ga:at(0, 0)); a:commit() end end }
    k:task { name = "mma", warps = { 4, 4 }, schedule = function()
      acc:zero()
      for _ in weir.domain_loop(0, N) do
        a:wait()
        for _ = 1, n do acc:mma(a:read(), a:read()) end
        acc:drain(left); a:release()
      end
      acc:drain()
    end }
    return k
  end
  for _, n in ipairs { 2, 70 } do
    check(n .. " mmas of a stage, all drained", "SAFE", many(n, 0))
    check(n .. " mmas of a stage, all but one drained", "PROVE-ASYNC-READ", many(n, 1), { text = "the bulk load of 'load' writes 'a' while the mma of 'mma' may still read it (with n = 2)" })
  end
end
do
  local function both(when_read) -- threads copy by cp.async and stage a bulk store in turn: the fence of one is none of the other
    local k = weir.kernel { name = "both", arch = "sm_90a" }
    local n = k:dim "n"
    local function tile(name, out) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = "f32", shape = { n * 8, 32 }, out = out }, tile = { 8, 32 } } end
    local x, y, z = tile "x", tile("y", true), tile("z", true)
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 32 }, pipeline = P.async_async { stages = 2, producer_op = "load" } }
    local o = k:smem_tile { name = "o", dtype = "f32", tile = { 8, 32 }, pipeline = P.async_tma { stages = 2 } }
    k:task { name = "copy", warps = { 0, 4 }, schedule = function()
      for i in weir.domain_loop(0, n) do s:acquire(); s:cp_async(x:at(i, 0)); s:commit(); o:acquire(); o:store(i); o:commit() end
    end }
    k:task { name = "send", warps = { 8, 1 }, schedule = function() for i in weir.domain_loop(0, n) do o:wait(); y:tma_store(o:read(), y:at(i, 0)); o:release() end end }
    k:task { name = "put", warps = { 4, 4 }, schedule = function()
      for i in weir.domain_loop(0, n) do
        if when_read == "early" then s:wait(); s:release(); z:store(s:read(), z:at(i, 0)) else s:wait(); z:store(s:read(), z:at(i, 0)); s:release() end
      end
    end }
    return k
  end
  check("cp.async and a staged store by the same threads", "SAFE", both())
  check("the same, read behind the release", "PROVE-RACE", both "early", { options = { warn_only = true } })
end

-- ---- two tiles in one storage, each with data of its own ----------------------------------------------------------------------------------------
-- "give" fills a, "over" fills b in the same bytes, behind what how says; "get" reads both. kind: storage = a, or an alias. by: who fills b.
local function one_storage(kind, how, by)
  local k = weir.kernel { name = "one", arch = "sm_90a" }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 8, 32 } }, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.async_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = { 8, 32 }, storage = kind == "storage" and a or nil, pipeline = by == "tma" and P.tma_async { stages = 1 } or P.async_async { stages = 1 } }
  if kind == "alias" then k:alias { { a }, { b } } end
  local function turn(name) return k:barrier { name = name, pipeline = P.async_async { stages = 1 } } end
  local t, u, v = turn "t", turn "u", turn "v"
  local function tell(m) m:acquire(); m:commit() end
  local function hear(m) m:wait(); m:release() end
  local function take(m) m:wait(); y:store(m:read(), y:at(0, 0)); m:release() end
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    a:acquire(); a:store(1)
    if how == "before it is committed" then tell(t); a:commit() else a:commit(); tell(t) end
  end }
  local function get()
    k:task { name = "get", warps = { 4, 1 }, schedule = function()
      if how == "once it has been read" then take(a); tell(v) end
      hear(u)
      if how ~= "once it has been read" and how ~= "and nobody waits for it" then take(a) end
      take(b)
    end }
  end
  if how == "before a reader who comes first" then get() end
  k:task { name = "over", warps = { 1, 1 }, schedule = function()
    hear(t)
    if how == "once it has been read" then hear(v) end
    b:acquire()
    if by == "tma" then b:tma_load(x:at(0, 0)) else b:store(2) end
    b:commit(); tell(u)
  end }
  if how ~= "before a reader who comes first" then get() end
  return k
end
local once = { { n = 0 } }
for _, kind in ipairs { "storage", "alias" } do
  for _, how in ipairs { "before it is read", "before a reader who comes first", "before it is committed" } do
    check(kind .. ": data are overwritten " .. how, "PROVE-RACE", one_storage(kind, how),
      { options = { warn_only = true }, sizes = once, text = "the work of 'over' writes 'b', the bytes of 'a', which the work of 'give' has filled and not everybody has read yet" })
  end
  check(kind .. ": data are overwritten, and nobody waits for them", "PROVE-LOST", one_storage(kind, "and nobody waits for it"), { options = { warn_only = true }, text = "what was committed to a_full[0] is never waited for" })
  check(kind .. ": data are overwritten once they have been read", "SAFE", one_storage(kind, "once it has been read"), { options = { warn_only = true }, sizes = once })
  check(kind .. ": a load overwrites what threads wrote without a fence", "PROVE-PROXY", one_storage(kind, "once it has been read", "tma"),
    { options = { warn_only = true }, text = "the bulk load of 'over' overwrites 'b' through the async proxy; threads of 'give' wrote it with no fence between the write and its hand-over" })
end

-- Shared memory that no pipeline guards: by one task, whose bodies join it or not; by two that write in turn.
local function loose(k, code, both)
  return k:resource { name = "m", space = "smem", dtype = "u8", tile = { 64 }, work = { put = weir.producer_work { code = code }, get = weir.consumer_work { code = both and code or ";" } } }
end
local function joined(code, both)
  local k = weir.kernel { name = "joined", arch = "sm_90a" }
  local n, m = k:dim "n", loose(k, code, both)
  k:task { name = "t", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, n) do m:put(); m:get() end end }
  return k
end
check("a task writes and reads: its threads meet", "SAFE", joined(";"))
check("the writer joins the task", "SAFE", joined("w.task_sync();"))
check("both join it", "SAFE", joined("w.task_sync();", true))
local function in_turn(order)
  local k = weir.kernel { name = "turns", arch = "sm_90a" }
  local m = loose(k, ";")
  local t, u = k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }, k:barrier { name = "u", pipeline = P.async_async { stages = 1 } }
  k:task { name = "a", warps = { 0, 1 }, schedule = function() t:acquire(); m:put(); t:commit() end }
  k:task { name = "b", warps = { 1, 1 }, schedule = function()
    if order then t:wait() end
    u:acquire(); m:put(); u:commit()
    if not order then t:wait() end
    t:release()
  end }
  k:task { name = "c", warps = { 2, 1 }, schedule = function() u:wait(); m:get(); u:release() end }
  return k
end
check("two write in turn, a third reads", "SAFE", in_turn(true), { sizes = once })
check("two write in no order", "PROVE-RACE", in_turn(false), { sizes = once, text = "the work of 'b' and the work of 'a' both write 'm' in no order" })

-- ---- how far tasks may be apart ------------------------------------------------------------------------------------------------------------
local function apart(stages, tiles) -- one fills, and the other begins when it has done with its tiles
  local k = weir.kernel { name = "apart", arch = "sm_90a" }
  local a, t = ring(k, "a", stages), k:barrier { name = "t", pipeline = P.async_async { stages = 1 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim("n", { max = tiles }) } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do fill(a) wq:next() end t:acquire(); t:commit() end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function() t:wait(); t:release() for _ in weir.work_tile_loop(wq) do use(a) wq:next() end end }
  return k
end
check("four tiles apart, of any number", "PROVE-DEADLOCK", apart(4), { options = { warn_only = true }, text = "'give' waits at a_empty[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'get' waits at t_full[0]" })
check("six tiles apart, or more", "INCOMPLETE", apart(6), { options = { warn_only = true }, text = "tasks can run too far apart: one can be more than 6 tiles ahead of another" })
local function behind(x, y) -- a loop behind the tiles
  local k = weir.kernel { name = "behind", arch = "sm_90a" }
  local n, m, a = k:dim "n", k:dim "m", ring(k, "a")
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { n } }
  for i, op in ipairs { fill, use } do
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq) do op(a) wq:next() end
      for _ in weir.domain_loop(0, m + (i == 1 and x or y)) do op(a) end
    end }
  end
  return k
end
check("a loop behind the tiles", "SAFE", behind(0, 0), { options = { warn_only = true } })
check("one step more behind the tiles", "PROVE-DEADLOCK", behind(0, 1), { options = { warn_only = true }, text = "'give' has ended (with m = 0)" })
-- CTAs of a cluster that nothing joins ask for steps of one loop, one of them first for a condition of its own.
local function unjoined(column)
  local k = weir.kernel { name = "unjoined", arch = "sm_90a", cluster = { n = 2 } }
  local n, q, a, b = k:dim "n", k:dim "q", ring(k, "a"), ring(k, "b")
  local wq = k:work_queue { name = "wq", axes = { "m", "n" }, extent = { q, q } }
  for i, op in ipairs { fill, use } do
    k:task { name = i == 1 and "give" or "get", warps = { i - 1, 1 }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        for _ in weir.domain_loop(0, n) do
          op(a)
          for _ in T(eq(t.n, i == 2 and column or 0)) do op(b) end
        end
        wq:next()
      end
    end }
  end
  return k
end
check("CTAs that nothing joins stay together", "SAFE", unjoined(0), { text = SAFE })
check("CTAs that nothing joins, of which one waits for ever", "PROVE-DEADLOCK", unjoined(1), { text = "waits at b_full[0] of CTA 0 for phase 0 (parity 0), 1 of 1 arrivals missing" })
do
  local k = weir.kernel { name = "long", arch = "sm_90a" }
  local a = ring(k, "a", 1)
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, 10000000) do for _ in i:every(1000000000) do fill(a) end end end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function() use(a) end }
  check("a loop of ten million turns", "INCOMPLETE", k, { text = "a task makes very many steps that no length decides: a fixed loop is too long, or never ends" })
end

do
  local function rings(n_get) -- 33 in each of 8 CTAs: more than 256
    local k = weir.kernel { name = "rings", arch = "sm_90a", cluster = { m = 8 } }
    local n, r = k:dim "n", {}
    for i = 1, 33 do r[i] = ring(k, "r" .. i, 1) end
    for side, op in ipairs { fill, use } do
      k:task { name = side == 1 and "give" or "get", warps = { side - 1, 1 }, schedule = function()
        for _ in weir.domain_loop(0, side == 1 and n or n + n_get) do for i = 1, 33 do op(r[i]) end end
      end }
    end
    return k
  end
  check("264 rings", "SAFE", rings(0), { text = SAFE })
  check("264 rings, one round more", "PROVE-DEADLOCK", rings(1), { text = "waits at r1_full[0] of CTA 0 for phase 0" })
end

-- ---- tables changed by hand: the prover does not take one for the other -----------------------------------------------------------------------
local function changed(name, rule, text, k, change)
  local program, why = plan.of(k)
  change(assert(program, why))
  local verdict, findings = plan.prove(program, true)
  tap.is({ rule and "UNSAFE" or "SAFE", rule and 1 or 0, rule, text }, { verdict, #findings, findings[1] and findings[1].rule, findings[1] and findings[1].message }, name)
end
local function first_changed(name, rule, text, k, change) -- of several findings the first
  local program, why = plan.of(k)
  change(assert(program, why))
  local _, findings = plan.prove(program, true)
  tap.is({ rule, text }, { findings[1] and findings[1].rule, findings[1] and findings[1].message }, name)
end
local function act(kind, bar, nth, field, into)
  return function(p)
    local i = lab.action(p, kind, bar, nth)
    plan.set(p, "action", i, field, type(into) == "function" and into(plan.get(p, "action", i, field)) or into)
  end
end
local function stages_of(...)
  local names = { ... }
  return function(p) for _, n in ipairs(names) do plan.set(p, "smem", lab.index(p, "smem", n), "stages", 2) end end
end
changed("as it is", nil, nil, lab.gemm(), function() end)
changed("a cursor walks more stages than its storage has", "PROVE-COUNT", "cursor 'ab' walks 3 stages, its storage 'a' has 2", lab.gemm(), stages_of "a")
changed("of two the first is named", "PROVE-COUNT", "cursor 'ab' walks 3 stages, its storage 'a' has 2", lab.gemm(), stages_of("a", "b"))
changed("one of two bulk stores of a stage is every thread's: one thread's wait does not cover it", "PROVE-EXIT",
  "the bulk store of 'mma' may still read stage 1 of 'stage' of CTA 0 when that CTA has ended (with K = 0)", lab.gemm { n = 128 },
  function(p) plan.set(p, "action", lab.action(p, "bulk_store", nil, 2), "who", 0) end)
first_changed("two arrivals too many", "PROVE-COUNT", "2 arrivals too many in a phase of ring_full[0]", lab.thread_copy(), act("arrive", "ring_full", 1, "arrivals", function(n) return n + 2 end))
first_changed("one arrival too many", "PROVE-COUNT", "1 arrival too many in a phase of ring_full[0]", lab.thread_copy(), act("arrive", "ring_full", 1, "arrivals", function(n) return n + 1 end))
first_changed("an arrival ends a phase that has had more bytes than it expects", "PROVE-TX", "16 bytes more arrive in a phase of ab_full[0] than its arrivals expect (with K = 1)", lab.gemm(), function(p)
  act("expect_tx", nil, 1, "bytes", function(n) return n - 16 end)(p)
  act("expect_tx", nil, 2, "kind", "arrive")(p)
end)
local ONE = 5 -- weiri_who
first_changed("a fence by one thread is none of the others", "PROVE-PROXY",
  "the bulk store of 'mma' reads stage 0 of 'stage' through the async proxy; threads of 'mma' wrote it with no fence between the write and its hand-over (with K = 0)", lab.gemm(), act("fence_async", nil, 1, "who", ONE))
first_changed("a fence behind the wait by one thread, too", "PROVE-PROXY",
  "the work of 'store warp 0' reads stage 0 of 'acc', which the mma of 'mma' has written: no tcgen05.fence::after_thread_sync behind the wait (with K = 1)", s100.gemm(), act("tcgen05_after", nil, 2, "who", ONE))
first_changed("and one before the hand-over", "PROVE-PROXY",
  "the mma of 'mma' writes stage 0 of 'acc', which the work of 'store warp 0' has read: no tcgen05.fence::before_thread_sync before the hand-over (with K = 1)", s100.gemm(), act("tcgen05_before", nil, 2, "who", ONE))
local function count(bar, n) return function(p) plan.set(p, "bars", lab.index(p, "bars", bar), "count", n) end end
first_changed("a commit to two CTAs of which one counts", "PROVE-COUNT",
  "arrivals of 'mma of CTA 0' at ab_empty[0] of CTA 0 come after the phase they belong to is complete: it counts 1 arrival and 0 bytes (with K = 1)", s100.gemm { cluster = { 2, 1 } }, count("ab_empty", 1))
local function dropped(...)
  local all = { ... }
  return function(p) for _, d in ipairs(all) do plan.drop(p, lab.action(p, d[1], d[2], d[3])) end end
end
first_changed("arrivals and bytes are missing", "PROVE-COUNT", "'mma' waits at ab_full[0] for phase 0 (parity 0), 1 of 2 arrivals and 8192 bytes missing; 'load' has ended (with K = 1)", lab.gemm(),
  dropped({ "bulk_issue", nil, 2 }, { "bulk_issue" }, { "expect_tx", nil, 2 }))
first_changed("who waits for the CTA is named behind who has a line", "PROVE-DEADLOCK",
  "'store warp 0' waits at acc_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'load' waits for the CTA; 'mma' waits for the CTA (with K = 1)", s100.gemm(), dropped { "tcgen05_commit", "acc_full" })
local function copied() -- by cp.async, for mmas
  return schedules.kernel(weir, schedules.parse "p1:cpm/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release }")
end
check("copies of threads that mmas read", "SAFE", copied())
for _, w in ipairs { { 1, "a lane of each warp" }, { 5, "one thread" } } do
  first_changed("... and " .. w[2] .. " fences what all know to have landed", "PROVE-PROXY",
    "the mma of 't2' reads stage 0 of 'p1' through the async proxy; threads of 't1' wrote it with no fence between the write and its hand-over (with N = 1)",
    copied(), act("fence_async", nil, 1, "who", w[1]))
end
-- What warpgroups fill and store themselves, without bytes of its own.
do
  local k = weir.kernel { name = "steps", arch = "sm_90a" }
  local n, b, acc = k:dim "n", k:barrier { name = "b", pipeline = P.async_tma { stages = 2 } }, k:wgmma_tile { name = "acc", tile = { 128, 32 } }
  k:task { name = "turn", warps = { 0, 8 }, schedule = function()
    acc:zero()
    for _ in weir.domain_loop(0, n) do b:acquire(); b:commit(); b:wait(); b:release() end
  end }
  check("a pipeline of warpgroups' own stores, of no bytes", "SAFE", k)
end

-- Bulk stores of which many more are open than a wait may leave so.
local function far()
  local k = weir.kernel { name = "far", arch = "sm_90a" }
  local n = k:dim "n"
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { n * 8, 32 }, out = true }, tile = { 8, 32 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 32 }, pipeline = P.async_tma { stages = 70 } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, n) do s:acquire(); s:store(i); s:commit() end end }
  k:task { name = "send", warps = { 4, 1 }, schedule = function() for i in weir.domain_loop(0, n) do s:wait(); y:tma_store(s:read(), y:at(i, 0)); s:release(65) end end }
  return k
end
check("stages given back 65 stores later", "SAFE", far())
first_changed("... and too many may be open then", "PROVE-RACE", "the work of 'give' writes stage 0 of 's' while the bulk store of 'send' may still read it (with n = 71)", far(),
  act("bulk_wait", nil, 1, "n", 66))

-- A warpgroup that issues mmas and reads their sums itself: its threads fence as those of two tasks do.
local function own()
  local k = weir.kernel { name = "own", arch = "sm_100a" }
  local n = k:dim "n"
  local function tile(name, cols, dtype, out) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = dtype, shape = { n * 128, cols }, out = out }, tile = { 128, cols } } end
  local x, y = tile("x", 64, "bf16"), tile("y", 128, "f32", true)
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 2 } }
  local acc = k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function() for i in weir.domain_loop(0, n) do a:acquire(); a:tma_load(x:at(i, 0)); a:commit() end end }
  k:task { name = "both", warps = { 0, 4 }, schedule = function()
    for i in weir.domain_loop(0, n) do
      acc:acquire(); acc:zero(); a:wait(); acc:mma(a:read(), a:read()); a:release(); acc:commit()
      acc:wait(); y:store(acc:read(), y:at(i, 0)); acc:release()
    end
  end }
  return k
end
check("mmas and their sums by one warpgroup", "SAFE", own())
local overwrites = "the mma of 'both' writes tensor memory of 'acc', which the work of 'both' has read: no tcgen05.fence::%s (with n = 2)"
first_changed("... and no fence before the sums are given back", "PROVE-PROXY", overwrites:format "before_thread_sync before the hand-over", own(), dropped { "tcgen05_before", nil, 2 })
first_changed("... and no fence behind the waits of who issues", "PROVE-PROXY", overwrites:format "after_thread_sync behind the wait", own(), dropped({ "tcgen05_after", nil, 3 }, { "tcgen05_after", nil, 2 }))

-- A stage of CTA 0 that CTA 1 pushes into, and the tile c in the same bytes: pushed into as well, before or (order) once the first has been read,
-- or loaded by CTA 0 itself.
local function stacked(more, order)
  local k = weir.kernel { name = "stacked", arch = "sm_90a", cluster = { k = 2 } }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 2, 8, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { 2, 8, 32 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 1, 8, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 1, 8, 32 } }
  local function tile(name, storage) return k:smem_tile { name = name, dtype = "f32", tile = { 8, 32 }, storage = storage, pipeline = P.tma_async { stages = 1 } } end
  local a, b = tile "a", tile "b"
  local c = tile("c", b)
  local function cta(i) return T(eq(k.cta.k, i)) end
  local function load(s) s:acquire(); s:tma_load(x:at(k.cta.k, 0, 0)); s:commit() end
  local function push(s) s:acquire(); s:push(a:read(), { k = 0 }); s:commit() end
  local function put(s, i) s:wait(); y:store(s:read(), y:at(i, 0, 0)); s:release() end
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for _ in cta(1) do load(a) end
    if more == "load" then for _ in cta(0) do load(c) end end
  end }
  k:task { name = "send", warps = { 5, 1 }, schedule = function()
    for _ in cta(1) do
      a:wait(); push(b)
      if order then b:acquire() end
      if more == "push" then push(c); c:acquire() end
      if not order then b:acquire() end
      a:release()
    end
  end }
  k:task { name = "add", warps = { 0, 4 }, schedule = function() for _ in cta(0) do put(b, 0); if more then put(c, 1) end end end }
  return k
end
check("a push", "SAFE", stacked())
check("a push beside a load", "PROVE-RACE", stacked "load", { options = { warn_only = true },
  text = "the push of 'send of CTA 1' and the bulk load of 'load of CTA 0' both write 'b', the bytes of 'c', in no order" })
check("a push beside a push", "PROVE-RACE", stacked "push", { options = { warn_only = true },
  text = "the push of 'send of CTA 1' and the push of 'send of CTA 1' both write 'c', the bytes of 'b', in no order" })
check("a push behind a push that has been read", "SAFE", stacked("push", true), { options = { warn_only = true } })

-- Each CTA loads its slice for both: one task, or (two) a task in each CTA, which the counts take for both.
local function slices(two)
  local k = weir.kernel { name = "slices", arch = "sm_90a", cluster = { m = 2 } }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 64, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { 128, 32 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 64, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 64, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 64, 32 }, pipeline = P.tma_async { stages = 1 } }
  local function load() a:acquire(); a:tma_load(x:at(0, 0), { multicast = "m" }); a:commit() end
  for i = 0, two and 1 or 0 do k:task { name = "load" .. i, warps = { 4 + i, 1 }, cta = two and { m = i }, schedule = load } end
  k:task { name = "put", warps = { 0, 4 }, schedule = function() a:wait(); y:store(a:read(), y:at(k.cta.m, 0)); a:release() end }
  return k
end
check("slices of one task", "SAFE", slices())
check("slices of two tasks", "PROVE-RACE", slices(true), { options = { warn_only = true }, text = "the bulk load of 'load1 of CTA 1' and the bulk load of 'load0 of CTA 0' both write 'a' in no order" })

-- Bytes that were filled long ago, or at times, and which others take over once all (or early: none) have waited for them.
local function aged(guard, early)
  local k = weir.kernel { name = "aged", arch = "sm_90a" }
  local n = k:dim "n"
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.async_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = { 8, 32 }, storage = a, pipeline = P.async_async { stages = 1 } }
  local v = k:barrier { name = "v", pipeline = P.async_async { stages = 1 } }
  local function tell() v:acquire(); v:commit() end
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, n) do a:acquire(); for _ in guard(i) do a:store(1) end a:commit() end end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function()
    if early then tell() end
    for _ in weir.domain_loop(0, n) do a:wait(); a:release() end
    if not early then tell() end
  end }
  k:task { name = "over", warps = { 1, 1 }, schedule = function() v:wait(); v:release(); b:acquire(); b:store(2); b:commit() end }
  k:task { name = "put", warps = { 5, 1 }, schedule = function() b:wait(); y:store(b:read(), y:at(0, 0)); b:release() end }
  return k
end
local laps = {}
for n = 0, 7 do laps[n + 1] = { n = n } end
for _, at in ipairs { { "in the first turn", first }, { "in every second", function(i) return T(eq(i % 2, 0)) end } } do
  check("filled " .. at[1] .. ", taken over behind all", "SAFE", aged(at[2]), { options = { warn_only = true }, sizes = laps })
  check("filled " .. at[1] .. ", taken over before", "PROVE-RACE", aged(at[2], true), { options = { warn_only = true }, sizes = laps, text = "in no order (with n = 1)" })
end

-- Stages of two CTAs whose full barrier is the leader's; b is filled in the bytes of a once the sums are there, or early.
local function paired(early)
  local k = weir.kernel { name = "paired", arch = "sm_100a", cluster = { v = 2 } }
  local function tile(name, rows, cols, dtype, out) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = dtype, shape = { 2 * rows, cols }, out = out }, tile = { rows, cols } } end
  local x, w, y, z = tile("x", 128, 64, "bf16"), tile("w", 64, 64, "bf16"), tile("y", 128, 128, "f32", true), tile("z", 128, 64, "bf16", true)
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
  local c = k:smem_tile { name = "c", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
  local b = k:smem_tile { name = "b", storage = a, pipeline = P.async_async { stages = 1 } }
  local acc = k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }
  local v = k:barrier { name = "v", pipeline = P.async_async { stages = 1 } }
  local function tell() v:acquire(); v:commit() end
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    if early then tell() end
    acc:wait(); y:store(acc:read(), y:at(k.cta.v, 0)); acc:release()
    if not early then tell() end
  end }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for _, l in ipairs { { a, x }, { c, w } } do l[1]:acquire(); l[1]:tma_load(l[2]:at(k.cta.v, 0)); l[1]:commit() end
  end }
  k:task { name = "mma", warps = { 5, 1 }, schedule = function()
    acc:acquire(); acc:zero(); a:wait(); c:wait(); acc:mma(a:read(), c:read()); a:release(); c:release(); acc:commit()
  end }
  k:task { name = "over", warps = { 6, 1 }, schedule = function() v:wait(); v:release(); b:acquire(); b:store(2); b:commit() end }
  k:task { name = "put", warps = { 7, 1 }, schedule = function() b:wait(); z:store(b:read(), z:at(k.cta.v, 0)); b:release() end }
  return k
end
check("operands of two CTAs, taken over behind the sums", "SAFE", paired(), { options = { warn_only = true } })
check("operands of two CTAs, taken over before", "PROVE-RACE", paired(true), { options = { warn_only = true }, text = "the mma of 'mma of CTA 0' reads 'a', the bytes of 'b', and nothing says that the work of 'over of CTA 0' has finished" })

-- A copy may land behind what its thread does next. o.twice: into one stage; o.storage: into another tile of the same bytes, by task "give", or
-- by "get", which has waited for the first; o.store: by the threads themselves; o.warps
local function landing(o)
  local k = weir.kernel { name = "landing", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "bf16", shape = { 64, 64 } }, k:tensor { name = "Y", dtype = "bf16", shape = { 64, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 64, 16 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 64, 16 } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 16 }, pipeline = P.async_async { stages = 1 } }
  local b = o.storage and k:smem_tile { name = "b", storage = a, pipeline = P.async_async { stages = 1 } }
  local function refill() b:acquire(); if o.store then b:store(1.0) else b:cp_async(x:at(0, 1)) end b:commit() end
  local function put(s) s:wait(); y:store(s:read(), y:at(0, 0)); s:release() end
  k:task { name = "give", warps = { 0, o.warps or 1 }, schedule = function()
    a:acquire(); a:cp_async(x:at(0, 0)); if o.twice then a:cp_async(x:at(0, 1)) end a:commit()
    if o.storage == "give" then refill() end
  end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function()
    if o.storage then a:wait(); a:release() else put(a) end
    if o.storage == "get" then refill() end
  end }
  if o.storage then k:task { name = "put", warps = { 5, 1 }, schedule = function() put(b) end } end
  return k
end
check("cp.async: one copy", "SAFE", landing {}, { sizes = once })
check("cp.async: one copy, two warps", "SAFE", landing { warps = 2 }, { sizes = once })
check("cp.async: two copies into one stage", "PROVE-RACE", landing { twice = true }, { sizes = once, text = "the cp.async of 'give' and the cp.async of 'give' both write 'a' in no order" })
check("cp.async: two copies into one stage, two warps", "PROVE-RACE", landing { twice = true, warps = 2 }, { sizes = once,
  text = "the cp.async of 'give warp 0' and the cp.async of 'give warp 0' both write 'a' in no order" })
check("cp.async: a copy over one that may not have landed", "PROVE-RACE", landing { storage = "give" }, { sizes = once,
  text = "the cp.async of 'give' and the cp.async of 'give' both write 'b', the bytes of 'a', in no order" })
check("cp.async: a store over one that may not have landed", "PROVE-RACE", landing { storage = "give", store = true }, { sizes = once,
  text = "the work of 'give' and the cp.async of 'give' both write 'b', the bytes of 'a', in no order" })
check("cp.async: a copy over one that has landed", "SAFE", landing { storage = "get" }, { sizes = once })
first_changed("cp.async: what is copied is read without a wait", "PROVE-RACE", "the work of 't1' reads stage 0 of 'p1', and nothing says that the cp.async of 't1' has finished (with N = 1)",
  schedules.kernel(weir, schedules.parse "p1:cp/2 | t1(1) for N{ p1.acquire p1.fill p1.commit p1.wait p1.use p1.release }"), dropped { "wait", "p1_full" })
local function in_registers() -- the first operand of the mmas
  local k = weir.kernel { name = "regs", arch = "sm_90a" }
  local N, gb = k:dim "n", k:gmem_tile { name = "gb", tensor = k:tensor { name = "B", dtype = "bf16", shape = { 64, 64 } }, tile = { 64, 64 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 2 } }
  local r, acc = k:reg_tile { name = "r", dtype = "bf16", tile = { 64, 64 } }, k:wgmma_tile { name = "acc", tile = { 64, 64 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do b:acquire(); b:tma_load(gb:at(0, 0)); b:commit() end end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    acc:zero()
    for i in weir.domain_loop(0, N) do r:set(i); b:wait(); acc:mma(r:read(), b:read()); acc:drain(); b:release() end
  end }
  return k
end
check("an operand in registers", "SAFE", in_registers())
do
  local program = assert(plan.of(in_registers()))
  dropped { "mma_wait" }(program)
  local rules = {}
  local verdict, findings = plan.prove(program, true)
  for _, found in ipairs(findings) do rules[#rules + 1] = found.message end
  tap.is("UNSAFE", verdict, "an operand in registers, no drain")
  tap.like("the work of 'mma' touches register tile 'r' while an mma may still read it (with n = 2)", table.concat(rules, "\n"), "an operand in registers, no drain: what is said of the registers")
end
do
  local k = weir.kernel { name = "many", arch = "sm_90a" }
  local r = {}
  for i = 1, 9 do r[i] = ring(k, "r" .. i, 1) end
  for i = 1, 9 do k:task { name = "t" .. i, warps = { i - 1, 1 }, schedule = function() use(r[i]); fill(r[i % 9 + 1]) end } end
  local _, text = said(k, { warn_only = true })
  local names = {}
  for name in text:gmatch "'(t%d)' waits at" do names[#names + 1] = name end
  tap.is({ "t1", "t2", "t3", "t4", "t5", "t6", "t7" }, names, "nine wait for each other: one and six more are named")
end
do
  local k = weir.kernel { name = "ctas", arch = "sm_90a", cluster = { m = 2 } }
  local a = ring(k, "a", 1)
  k:task { name = "one", warps = { 0, 2 }, cta = { m = 0 }, schedule = function() fill(a) end }
  k:task { name = "two", warps = { 2, 2 }, cta = { m = 1 }, schedule = function() fill(a) end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function() use(a) end }
  check("tasks of a CTA each: who is missing in a CTA", "PROVE-COUNT", k, { options = { warn_only = true },
    text = "'get of CTA 1' waits at a_full[0] of CTA 1 for phase 0 (parity 0), 2 of 4 arrivals missing; 'one warp 0 of CTA 0' waits for the cluster" })
end
do -- each of nine lengths is one that others may be multiples of
  local k = weir.kernel { name = "nine", arch = "sm_90a" }
  local a, n = ring(k, "a", 2), {}
  for i = 1, 9 do n[i] = k:dim("n" .. i, { min = i }) end
  local function loops(side) for i = 1, 9 do for _ in weir.domain_loop(0, n[i]) do side(a) end end end
  k:task { name = "give", warps = { 0, 1 }, schedule = function() loops(fill); fill(a) end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function() loops(use) end }
  check("nine lengths", "PROVE-LOST", k, { text = "what was committed to a_full[1] is never waited for (with n1 = 1, n2 = 2, n3 = 3, n4 = 4, n5 = 5, n6 = 6, n7 = 7, n8 = 8, n9 = 9)" })
end
do -- without the cluster's barrier at the end
  local k = weir.kernel { name = "ends", arch = "sm_90a", cluster = { m = 2 } }
  local a, b = ring(k, "a", 1), ring(k, "b", 1)
  k:task { name = "give", warps = { 0, 1 }, schedule = function() fill(a) end }
  k:task { name = "one", warps = { 1, 1 }, cta = { m = 0 }, schedule = function() fill(b) end }
  k:task { name = "two", warps = { 2, 1 }, cta = { m = 1 }, schedule = function() fill(b) end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function() use(a); use(b) end }
  first_changed("one CTA has ended, the other is stuck: what has ended there is named", "PROVE-DEADLOCK",
    "'get of CTA 0' waits at b_full[0] of CTA 0 for phase 0 (parity 0), 1 of 1 arrivals missing; 'give of CTA 0' has ended; 'one of CTA 0' has ended", k, function(p)
      count("b_full", 1)(p)
      dropped({ "cluster_wait", nil, 2 }, { "cluster_arrive", nil, 2 }, { "arrive", "b_full" })(p)
    end)
end

-- ---- reads of what TMA fills again ------------------------------------------------------------------------------------------------------------
do
  local function looked(arch, says, plain, mma) -- by a body that reads by the async proxy, by one that does not
    local k = weir.kernel { name = "looked", arch = arch }
    local n = k:dim "n"
    local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "bf16", shape = { n, 64 } }, tile = { 128, 64 } }
    local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P[mma and "tma_umma" or "tma_async"] { stages = 2 } }
    local look = k:resource { name = "look", work = { says = weir.consumer_work { params = "view v", code = ";", async_read = true }, plain = weir.consumer_work { params = "view v", code = ";" } } }
    local acc = mma and k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }
    k:task { name = "load", warps = { 4, 1 }, schedule = function() for i in weir.domain_loop(0, n) do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
    k:task { name = "take", warps = mma and { 5, 1 } or { 0, 4 }, schedule = function()
      for _ in weir.domain_loop(0, n) do
        if mma then acc:acquire(); acc:zero() end
        s:wait()
        if says then look:says(s:read()) end
        if plain then look:plain(s:read()) end
        if mma then acc:mma(s:read(), s:read()) end
        s:release()
        if mma then acc:commit() end
      end
    end }
    if mma then k:task { name = "done", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, n) do acc:wait(); acc:release() end end } end
    return k
  end
  local function fences(k) return select(2, k:source():gsub("w_fence_async%(%);", "")) end
  check("a body that says how it reads fences for itself", "SAFE", looked("sm_90a", true))
  check("one that reads by plain loads is fenced", "SAFE", looked("sm_90a", false, true))
  check("beside one that says, too", "SAFE", looked("sm_90a", true, true))
  check("in front of a commit of the tensor core, too", "SAFE", looked("sm_100a", false, true, true), { options = { warn_only = true } })
  tap.is({ 0, 1, 1, 1 }, { fences(looked("sm_90a", true)), fences(looked("sm_90a", false, true)), fences(looked("sm_90a", true, true)), fences(looked("sm_100a", false, true, true)) }, "how many fences that are")
  first_changed("without it the load may overtake the loads of threads", "PROVE-PROXY",
    "the bulk load of 'load' overwrites stage 0 of 's' through the async proxy; threads of 'take' read it with no fence between the read and its hand-over (with n = 3)",
    looked("sm_90a", true, true), function(p) plan.drop(p, lab.action(p, "fence_async")) end)
end

-- ---- hints, and where the search gives up ----------------------------------------------------------------------------------------------------
-- What is said to mend it.
local function mends(name, want, k)
  local _, _, report = said(k)
  local hint
  for _, f in ipairs(report.findings) do if f.rule:find "^PROVE" then hint = hint or f.hint end end
  if not hint then tap.diag(report.text) end
  tap.is(want, (hint or "none"):gsub(" %([%w_]+%.t:%d+%)", ""), name)
  k:close()
end
local function steps(n, m)
  return pair({ stages = 4 }, function(r) for _ in weir.domain_loop(0, n(r)) do fill(r.a) end end, function(r) for _ in weir.domain_loop(0, m(r)) do use(r.a) end end)
end
local function num(n) return function() return n end end
mends("one step, and as many as the launch says", "'give' runs 6 steps, 'get' 1 with n = 6: make both equally long", steps(function(r) return r.n end, num(1)))
mends("always, and if", "'get' does it always, 'give' does it if n > 3: put both under one condition, or under one key if they are always equal",
  pair({}, function(r) for _ in weir.domain_loop(0, r.m) do for _ in T(gt(r.n, 3)) do fill(r.a) end end end, function(r) for _ in weir.domain_loop(0, r.m) do use(r.a) end end))
mends("lengths of a tile", "'get' runs 1 step, 'give' 0 with n = 1: make both equally long", pair({ tiles = true, stages = 4 },
  function(r, t) for _ in weir.domain_loop(0, t.i) do fill(r.a) end end, function(r, t) for _ in weir.domain_loop(0, t.i + 1) do use(r.a) end end))
do -- conditions of their own, each a choice
  local function all(n)
    local k = weir.kernel { name = "many", arch = "sm_90a" }
    local a, q = ring(k, "a"), {}
    for i = 1, n do q[i] = k:scalar { name = "q" .. i, dtype = "i32" } end
    for name, op in pairs { give = fill, get = use } do
      k:task { name = name, warps = { name == "give" and 0 or 4, 1 }, schedule = function()
        for _ = 1, 2 do for i = 1, n do for _ in T(gt(q[i], 0)) do op(a) end end end
      end }
    end
    return k
  end
  check("six conditions", "SAFE", all(6), { text = SAFE })
  check("too many", "INCOMPLETE", all(16), { text = "more than 20000 states" })
end
tap.done()
