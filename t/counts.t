#!/usr/bin/env lua5.4
-- Loop lengths that are made of floats, narrow casts and numbers that wrap: what is proved runs, what is refuted fails with the
-- arguments named, and what would wrap is not launched.
local tap = require "tap"
local weir = require "weir"
local dev = weir.device("sim", { seed = 1 })
local function int(x) return weir.cast(x, "i32") end

-- A loader of one(s, q) steps and a storer of two(s, q) steps; or, with `guard`, of one step each if one() or two() is true.
local function pair(dtype, args, one, two, guard)
  local k = weir.kernel { name = "pair", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "f32", shape = { N } }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { N }, out = true }
  local s = k:scalar { name = "s", dtype = dtype }
  local q = args.q and k:scalar { name = "q", dtype = dtype }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 128 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 128 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 128 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
  local function loop(n)
    if guard then return weir.when_true(n(s, q, N)) end
    return weir.domain_loop(0, n(s, q, N))
  end
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for _ in loop(one) do ring:acquire(); ring:tma_load(gx:at(0)); ring:commit() end
  end }
  k:task { name = "save", warps = { 4, 4 }, schedule = function()
    for _ in loop(two) do ring:wait(); gy:store(ring:read(), gy:at(0)); ring:release() end
  end }
  return k
end

local function run(k, args)
  local p = k:build { device = dev, unsafe = true }
  local given = { x = dev:tensor { dtype = "f32", shape = { 128 } }:fill(1), y = dev:tensor { dtype = "f32", shape = { 128 } } }
  for name, x in pairs(args) do given[name] = x end
  local fine, ok, why = pcall(p.launch, p, given, { grid = 1 })
  if not fine then ok, why = nil, ok end
  return ok and "runs" or why:find("in 32 bits", 1, true) and "too large" or why:find("divide by 0", 1, true) and "by zero" or "stuck", why
end

-- want: the verdict, and how a launch with these arguments ends.
local function check(name, want, ends, dtype, args, one, two, guard)
  local k = pair(dtype, args, one, two, guard)
  local report = k:verify()
  local verdict = report.proof.verdict
  if not tap.is(want, verdict, name) then tap.diag(report.text) end
  local how, why = run(k, args)
  if not tap.is(ends, how, ("%s: a launch %s"):format(name, ends)) then tap.diag(why or "") end
  if verdict == "UNSAFE" then -- the arguments that are named fail
    local named, found = report.text:match "%(with ([^)]*)%)", {}
    for key, x in (named or ""):gmatch "(%w+) = ([-%w.+]+)" do
      found[key] = x == "inf" and math.huge or x:find "nan" and 0 / 0 or tonumber(x)
    end
    found.N = nil -- the tensors say
    for key in pairs(args) do found[key] = found[key] or args[key] end
    if not tap.is("stuck", run(k, found), ("%s: with %s it is stuck"):format(name, named)) then tap.diag(report.text) end
  end
  return report
end

-- floats
check("a sum of casts against a cast of the sum", "UNSAFE", "stuck", "f32", { s = 1.5, q = 1.5 }, function(s, q) return int(s) + int(q) end, function(s, q) return int(s + q) end)
check("what a large float swallows", "UNSAFE", "stuck", "f32", { s = 3, q = 1e8 }, function(s, q) return int((s + q) - q) end, function(s) return int(s) end)
check("a float less itself", "INCOMPLETE", "runs", "f32", { s = 3 }, function(s) return int(s) end, function(s) return int(-s) * -1 end)
check("one float expression", "SAFE", "runs", "f32", { s = 1.5, q = 2.25 }, function(s, q) return int(s * q + 1) end, function(s, q) return int(s * q + 1) end)
check("one float expression the other way round", "SAFE", "runs", "f32", { s = 1.5, q = 2.25 }, function(s, q) return int(1 + s * q) end, function(s, q) return int(q * s + 1) end)
check("casts that are terms", "SAFE", "runs", "f32", { s = 1.5, q = 2.25 }, function(s, q) return int(s) + int(q) + 1 end, function(s, q) return 1 + int(q) + int(s) end)
-- conditions of floats
check("less the other way round", "UNSAFE", "stuck", "f32", { s = 0 / 0, q = 1 }, function(s, q) return weir.lt(s, q) end, function(s, q) return ~weir.ge(s, q) end, true)
check("equal or no difference", "UNSAFE", "stuck", "f32", { s = 1 / 0, q = 1 / 0 }, function(s, q) return weir.eq(s - q, 0) end, function(s, q) return weir.eq(s, q) end, true)
check("conditions of whole numbers", "UNSAFE", "stuck", "i32", { s = 3 }, function(s) return weir.gt(s * 2, 5) end, function(s) return weir.gt(s, 3) end, true)
check("a difference without sign", "UNSAFE", "stuck", "u32", { s = 3 }, function(s) return weir.gt(s - 5, 0) end, function(s) return weir.gt(s, 5) end, true)
-- narrow casts
check("a cast to i8", "UNSAFE", "stuck", "i32", { s = 257 }, function(s) return int(weir.cast(s, "i8")) end, function(s) return s end)
check("one cast to u16", "SAFE", "runs", "i32", { s = 65539 }, function(s) return int(weir.cast(s, "u16")) end, function(s) return int(weir.cast(s, "u16")) end)
-- remainders
check("x % 4 is x - (x // 4) * 4", "SAFE", "runs", "i32", { s = -3 }, function(s) return s % 4 end, function(s) return s - (s // 4) * 4 end)
check("(x + 4) % 4 is x % 4", "SAFE", "runs", "i32", { s = -3 }, function(s) return s % 4 end, function(s) return (s + 4) % 4 end)
check("x % 4 against x % 8", "UNSAFE", "stuck", "i32", { s = 13 }, function(s) return s % 4 end, function(s) return s % 8 end)
check("products", "SAFE", "runs", "i32", { s = 2, q = 3 }, function(s, q) return s * q end, function(s, q) return q * s end)
check("products that are equal when multiplied out", "SAFE", "runs", "i32", { s = 2, q = 3 }, function(s, q) return s * (q + 1) end, function(s, q) return s * q + s end)
-- numbers that wrap are not launched
check("a product in range", "SAFE", "runs", "i32", { s = 3 }, function(s) return (s * 1048576) // 1048576 end, function(s) return s end)
check("a product beyond it", "SAFE", "too large", "i32", { s = 4098 }, function(s) return (s * 1048576) // 1048576 end, function(s) return s end)
check("a product of a dim", "SAFE", "runs", "i32", { s = 1 }, function(_, _, N) return (N * 1024) // 1024 end, function(_, _, N) return N end)
check("a sum beyond it", "SAFE", "too large", "i32", { s = 3 }, function(s) return (s + 2147483647) // 2 - s end, function(s) return (s + 2147483647) // 2 - s end)
check("an unsigned scalar", "SAFE", "too large", "u32", { s = 2147483651 }, function(s) return s end, function(s) return int(s) end)
check("a long scalar", "SAFE", "too large", "i64", { s = 4294967299 }, function(s) return s end, function(s) return int(s) end)
check("divided by 0", "SAFE", "by zero", "i32", { s = 3, q = 0 }, function(s, q) return s // q end, function(s, q) return s // q end)
check("divided by 0 where it is not taken", "SAFE", "runs", "i32", { s = 3, q = 0 }, function(s, q) return weir.select(weir.eq(q, 0), 1, s // q) end,
  function(s, q) return weir.select(weir.eq(q, 0), 1, s // q) end)

-- What is said: the two loops, their lengths, the lines.
local report = check("one more step", "UNSAFE", "stuck", "i32", { s = 2 }, function(s) return s end, function(s) return s + 1 end)
tap.like("'save' runs 1 step (counts.t:27), 'load' 0 (counts.t:24) with s = 0: make both equally long", report.text, "the hint names loops, lengths, lines")
report = check("two conditions", "UNSAFE", "stuck", "i32", { s = 2 }, function(s) return weir.gt(s, 2) end, function(s) return weir.gt(s, 1) end, true)
tap.like("'save' does it if s > 1 (counts.t:27), 'load' does it if s > 2 (counts.t:24)", report.text, "and conditions")

-- lengths of a tile: what its coordinates cannot make different is no counterexample
local function by_tile(one, two, of)
  local k = weir.kernel { name = "by_tile", arch = "sm_90a" }
  local N = k:dim("N", { min = 1 })
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { of and weir.ceil_div(N, k:dim(of)) or N } }
  local y = k:tensor { name = "y", dtype = "f32", shape = { N * 128 }, out = true }
  local gy = k:gmem_tile { name = "gy", tensor = y, tile = { 128 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 128 }, pipeline = weir.pipeline.async_async { stages = 2 } }
  for i, f in ipairs { one, two } do
    k:task { name = "task" .. i, warps = { i * 4 - 4, 4 }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        for _ in weir.domain_loop(0, f(t, N)) do
          if i == 1 then ring:acquire(); ring:store(1.0); ring:commit() else ring:wait(); gy:store(ring:read(), gy:at(t.i)); ring:release() end
        end
        wq:next()
      end
    end }
  end
  return k:verify()
end
report = by_tile(function(t) return t.i * (t.i + 1) end, function(t) return t.i * t.i + t.i end)
tap.is("SAFE", report.proof.verdict, "two products of a coordinate that are always equal")
report = by_tile(function(t) return t.i * (t.i + 1) end, function(t) return t.i * t.i end)
tap.is("UNSAFE", report.proof.verdict, "two that are not")
tap.like("'task2' runs 0 .. t.i * t.i (counts.t:110), 'task1' runs 0 .. t.i * (t.i + 1) (counts.t:110): make both equally long", report.text, "the hint shows both")
report = by_tile(function(t, N) return weir.min(t.i, N - 1) end, function(t) return t.i end)
tap.is("SAFE", report.proof.verdict, "a bound that no tile reaches")
report = by_tile(function(t, N) return weir.min(t.i, N - 2) end, function(t) return t.i end)
tap.is("UNSAFE", report.proof.verdict, "a bound that the last tile reaches")
report = by_tile(function(t, N) return weir.min(t.i, N - 2) end, function(t) return t.i end, "B")
tap.like("(with N = 2, B = 1)", report.text, "and as many tiles as there are: of no length there are none")

-- keys: a promise that is named, tried where it can be computed, and not needed for one condition
local function keyed(one, two, o)
  o = o or { key = "q" }
  local k = weir.kernel { name = "keyed", arch = "sm_90a" }
  local N = k:dim("N", { min = 1 })
  local s = k:scalar { name = "s", dtype = "f32" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  local y = k:tensor { name = "y", dtype = "f32", shape = { N * 128 }, out = true }
  local gy = k:gmem_tile { name = "gy", tensor = y, tile = { 128 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 128 }, pipeline = weir.pipeline.async_async { stages = 2 } }
  for i, f in ipairs { one, two } do
    k:task { name = "task" .. i, warps = { i * 4 - 4, 4 }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        for _ in weir[i == 2 and o.when or "when_true"](f(t, s), { key = o.key }) do
          if i == 1 then ring:acquire(); ring:store(1.0); ring:commit() else ring:wait(); gy:store(ring:read(), gy:at(t.i)); ring:release() end
        end
        wq:next()
      end
    end }
  end
  return k:verify()
end
report = keyed(function(t) return weir.eq(t.i % 2, 0) end, function(t) return weir.eq(t.i % 2, 0) end)
tap.is("SAFE", report.proof.verdict, "one condition under a key")
tap.ok(not report.proof.text:find "trusting", "is no promise")
report = keyed(function(t) return weir.eq(t.i % 2, 0) end, function(t) return weir.eq(t.i // 2 * 2, t.i) end)
tap.is("SAFE", report.proof.verdict, "two that are equal")
tap.like("trusting key 'q': t.i % 2 == 0 (counts.t:144) and t.i // 2 * 2 == t.i (counts.t:144) are equal", report.proof.text, "are named")
report = keyed(function(t) return weir.eq(t.i % 2, 0) end, function(t) return weir.eq(t.i % 3, 0) end)
tap.like("under key 'q', t.i % 2 == 0 and t.i % 3 == 0 come out differently at i = 2 [V-KEY-01]", report.text, "two that are not")
report = keyed(function(_, s) return weir.lt(s, 1) end, function(_, s) return ~weir.ge(s, 1) end)
tap.like("come out differently with s = nan", report.text, "nor for what is no number")

-- one condition in several ways of writing it needs no key
local lt, gt, le, ge, eq, ne = weir.lt, weir.gt, weir.le, weir.ge, weir.eq, weir.ne
local function alike(want, name, one, two, when)
  local seen = keyed(one, two, { when = when })
  if not tap.is(want, seen.proof.verdict, "conditions: " .. name) then tap.diag(seen.text) end
end
alike("SAFE", "from the other side", function(t) return lt(t.i, 2) end, function(t) return gt(2, t.i) end)
alike("SAFE", "to the number before", function(t) return lt(t.i, 2) end, function(t) return le(t.i, 1) end)
alike("SAFE", "from the number after", function(t) return lt(t.i, 2) end, function(t) return ge(1, t.i) end)
alike("UNSAFE", "to the same number", function(t) return lt(t.i, 2) end, function(t) return le(t.i, 2) end)
alike("SAFE", "the opposite, guarded by when_false", function(t) return ~lt(t.i, 2) end, function(t) return lt(t.i, 2) end, "when_false")
alike("SAFE", "another comparison, guarded by when_false", function(t) return ge(t.i, 2) end, function(t) return lt(t.i, 2) end, "when_false")
alike("UNSAFE", "the same, guarded by when_false", function(t) return lt(t.i, 2) end, function(t) return lt(t.i, 2) end, "when_false")
alike("UNSAFE", "the opposite, guarded by when_true", function(t) return lt(t.i, 2) end, function(t) return ~lt(t.i, 2) end)
alike("SAFE", "not one of two", function(t) return ~(lt(t.i, 2) | gt(t.i, 3)) end, function(t) return ge(t.i, 2) & le(t.i, 3) end)
alike("UNSAFE", "not one of two, and one of not two", function(t) return ~(lt(t.i, 2) | gt(t.i, 3)) end, function(t) return ge(t.i, 2) | le(t.i, 3) end)
alike("SAFE", "two in turn", function(t) return eq(t.i % 2, 0) & lt(t.i, 5) end, function(t) return gt(5, t.i) & ~ne(0, t.i % 2) end)
alike("UNSAFE", "another rest", function(t) return eq(t.i % 2, 0) end, function(t) return eq(t.i % 2, 1) end)
alike("SAFE", "of floats, from the other side", function(_, x) return lt(x, 2) end, function(_, x) return gt(2, x) end)
alike("UNSAFE", "of floats, the opposite of the opposite", function(_, x) return lt(x, 2) end, function(_, x) return ~ge(x, 2) end)
report = keyed(function(t) return lt(t.i, 2) end, function(t) return gt(2, t.i) end)
tap.ok(report.proof.verdict == "SAFE" and not report.proof.text:find "trusting", "under a key they are no promise either")

-- quotients that a bounded coordinate does not change
local function quotient(extent, one, cluster)
  local k = weir.kernel { name = "quotient", arch = "sm_90a", cluster = cluster }
  local wq = k:work_queue { name = "wq", axes = { "i", "n" }, extent = { k:dim "I", extent } }
  local b = k:barrier { name = "b", pipeline = weir.pipeline.async_async { stages = 2 } }
  k:task { name = "one", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do for _ in weir.domain_loop(one(t)) do b:acquire(); b:commit() end wq:next() end
  end }
  k:task { name = "two", warps = { 1, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do for _ in weir.domain_loop(t.i) do b:wait(); b:release() end wq:next() end
  end }
  return k:verify().proof.verdict
end
local function third(t) return (t.i * 3 + t.n) // 3 end
tap.is("SAFE", quotient(3, third), "(3 i + n) // 3, n below 3, is i")
tap.is("SAFE", quotient(3, function(t) return weir.ceil_div(t.i * 3 + t.n - 2, 3) end), "and so is the quotient that is rounded up")
tap.is("UNSAFE", quotient(4, third), "n below 4: it is not")
tap.is("SAFE", quotient(3, function(t) return (t.i * 4 + t.n) // 4 end, { n = 2 }), "3 tiles along n, two CTAs: there are 4")
tap.ok(quotient(3, third, { n = 2 }) ~= "SAFE", "of which the last changes the quotient")
-- integers of 64 bits, of which a double keeps 53
local BIG = (1 << 53) + 1
local function long_if(n) return function(s, _, N) return weir.select(weir.eq(s, n), N * (1 << 30), 2) end end
for _, c in ipairs { { "i64", BIG, BIG - 1, "runs" }, { "i64", BIG, BIG, "too large" }, { "i64", -BIG, -BIG, "too large" }, { "i64", -BIG, 1 - BIG, "runs" },
  { "i64", math.maxinteger, math.maxinteger, "too large" }, { "i64", math.mininteger, math.mininteger + 1, "runs" }, { "u64", BIG, BIG - 1, "runs" }, { "u64", BIG, BIG, "too large" },
  { "i64", 3.0, 3, "too large" }, { "i64", 3.0, 4, "runs" } } do
  local dtype, s, n, ends = table.unpack(c)
  check(("a bound that is long where %s s is %d, and it is %d"):format(dtype, n, s), "SAFE", ends, dtype, { s = s }, long_if(n), long_if(n))
end
local function three_if_5(s) return weir.select(weir.eq(s, 5), 3, 2) end
check("half of the numbers of u64", "SAFE", "runs", "u64", { s = math.mininteger }, three_if_5, three_if_5)
check("a float near the end of i64", "SAFE", "runs", "i64", { s = 0x1.fcp62 }, three_if_5, three_if_5)
local _, said = run(pair("i64", {}, function(s) return s end, function(s) return s end), { s = BIG })
tap.like("s reaches 9007199254740993 in the bounds", said, "every digit is told")

do -- what a body returns is a number of its own each time
  local k = weir.kernel { name = "returned", arch = "sm_90a" }
  local y = k:tensor { name = "y", dtype = "i32", shape = { 32 }, out = true }
  local b = k:resource { name = "b", space = "gmem", bind = { y = y }, work = { len = weir.consumer_work { returns = "uniform i32 n", code = "n = y_shape[0];" } } }
  local ring = k:barrier { name = "ring", pipeline = weir.pipeline.async_async { stages = 2 } }
  for i = 1, 2 do
    k:task { name = "task" .. i, warps = { i - 1, 1 }, schedule = function()
      for _ in weir.domain_loop(0, b:len()) do if i == 1 then ring:acquire(); ring:commit() else ring:wait(); ring:release() end end
    end }
  end
  report = k:verify()
  tap.is("UNSAFE", report.proof.verdict, "lengths that bodies return")
  tap.like("a body may return another number each time", report.text, "the hint says what they are")
end
tap.done()
