#!/usr/bin/env lua5.4
-- Ways through a schedule with guards: what is held, in flight or never zeroed on a way that no launch takes is no fault. Each kernel is proved
-- and run; its twin, wrong on a way that some launch takes, is refused.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local P, cd = weir.pipeline, weir.ceil_div
local yes, no = weir.when_true, weir.when_false
local dev = assert(weir.device("sim", { seed = 5 }))

-- what verify says of it: the verdict, or the rules of its errors
local function said(k)
  local r = k:verify()
  if r.ok then return r.proof.verdict end
  local rules, seen = {}, {}
  for _, f in ipairs(r.findings) do
    if f.severity == "error" and not seen[f.rule] then rules[#rules + 1], seen[f.rule] = f.rule, true end
  end
  return table.concat(rules, " ")
end

-- ---- rows through a ring: what is held -----------------------------------------------------------------------------------------------

-- y = 2 * x where rows(i, n, s) says so, 0 elsewhere
local function rows(o)
  local k = weir.kernel { name = "rows", arch = "sm_90a" }
  local N, s = k:dim "N", k:scalar { name = "s", dtype = o.dtype or "i32" }
  local X = k:tensor { name = "x", dtype = "i32", shape = { N, 32 } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N, 32 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 1, 32 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 32 } }
  local r = k:smem_tile { name = "r", dtype = "i32", tile = { 1, 32 }, pipeline = P.tma_async { stages = o.stages or 3 } }
  local function put(i) r:acquire(); r:tma_load(gx:at(i, 0)); r:commit() end
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do (o.load or put)(i, r, gx, s, N, put) end
  end }
  k:task { name = "store", warps = { 1, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do o.store(i, r, function() gy:store(r:read():load() * 2, gy:at(i, 0)) end, s, N) end
    if o.behind then o.behind(r, s, N) end
  end }
  return k
end

local function run_rows(o)
  local p = rows(o):build { device = dev, unsafe = true }
  for _, c in ipairs { { 0, 0 }, { 1, 1 }, { 5, 0 }, { 6, 1 } } do
    local n, s = c[1], o.dtype == "f32" and (c[2] == 0 and 0 / 0 or 0.0) or c[2]
    local data = {}
    for i = 1, 32 * n do data[i] = i end
    local x, y = dev:tensor { dtype = "i32", shape = { n, 32 } }:set(data), dev:tensor { dtype = "i32", shape = { n, 32 } }:fill(0)
    local ok, why = p:launch({ x = x, y = y, s = s }, { grid = 1 })
    if not ok then return why:match "%[(sim%-%w+)%]" or why end
    local got = y:get()
    for i = 1, 32 * n do
      local want = (not o.rows or o.rows((i - 1) // 32, n, c[2])) and 2 * i or 0
      if got[i] ~= want then return ("%d rows: element %d is %d, not %d"):format(n, i, got[i], want) end
    end
  end
  return "right"
end

local function first(i) return weir.eq(i, 0) end
for _, c in ipairs {
  { "each branch gives it back", "SAFE", store = function(_, r, use, s)
    r:wait()
    for _ in yes(weir.eq(s, 0)) do use(); r:release() end
    for _ in no(weir.eq(s, 0)) do use(); r:release() end
  end },
  { "each branch, the other one by the opposite", "SAFE", store = function(_, r, use, s)
    r:wait()
    for _ in yes(weir.lt(s, 1)) do use(); r:release() end
    for _ in yes(weir.ge(s, 1)) do use(); r:release() end
  end },
  { "each branch, turned round and negated", "SAFE", store = function(_, r, use, s)
    r:wait()
    for _ in yes(weir.gt(s, 0)) do use(); r:release() end
    for _ in yes(~weir.lt(0, s)) do use(); r:release() end
  end },
  { "no opposites: s may be no number", "PROVE-DEADLOCK", runs = "sim-deadlock", dtype = "f32", store = function(_, r, use, s)
    r:wait()
    for _ in yes(weir.lt(s, 1)) do use(); r:release() end
    for _ in yes(weir.ge(s, 1)) do use(); r:release() end
  end },
  { "one branch keeps it", "V-BRK-03", runs = "sim-deadlock", store = function(_, r, use, s)
    r:wait()
    for _ in yes(weir.eq(s, 0)) do use(); r:release() end
    for _ in no(weir.eq(s, 0)) do use() end
  end },
  { "given back where it may not be held", "PROVE-DEADLOCK", runs = "sim-deadlock", store = function(_, r, use, s)
    r:wait(); use()
    for _ in yes(weir.eq(s, 0)) do r:release() end
  end },
  { "opened under a guard, closed under the same behind it", "SAFE", rows = function(_, _, s) return s == 0 end,
    load = function(i, _, _, s, _, put) for _ in yes(weir.eq(s, 0)) do put(i) end end,
    store = function(_, r, use, s)
      for _ in yes(weir.eq(s, 0)) do r:wait(); use() end
      for _ in yes(weir.eq(s, 0)) do r:release() end
    end },
  { "acquired in each branch", "SAFE", load = function(i, r, gx, s)
    for _ in yes(weir.eq(s, 0)) do r:acquire(); r:tma_load(gx:at(i, 0)) end
    for _ in no(weir.eq(s, 0)) do r:acquire(); r:tma_load(gx:at(i, 0)) end
    r:commit()
  end, store = function(_, r, use) r:wait(); use(); r:release() end },
  { "a row late, by the index", "SAFE", store = function(i, r, use)
    r:wait(); use()
    for _ in no(first(i)) do r:release() end
  end, behind = function(r, _, N) for _ in yes(weir.gt(N, 0)) do r:release() end end },
  { "a row late, by the index from the other side", "SAFE", store = function(i, r, use)
    r:wait(); use()
    for _ in yes(weir.lt(0, i)) do r:release() end
  end, behind = function(r) r:release(0) end },
  { "all but the last one at once", "SAFE", store = function(i, r, use, _, N)
    r:wait(); use()
    for _ in yes(weir.lt(i + 1, N)) do r:release() end
    for _ in yes(weir.eq(i, N - 1)) do r:release(0) end
  end },
  { "two conditions, four ways", "SAFE", stages = 2, store = function(i, r, use, s)
    r:wait()
    for _ in yes(weir.eq(s, 0)) do use() end
    for _ in yes(weir.eq(i % 2, 0)) do
      for _ in yes(weir.eq(s, 0)) do r:release() end
      for _ in no(weir.eq(s, 0)) do use(); r:release() end
    end
    for _ in no(weir.eq(i % 2, 0)) do
      for _ in no(weir.eq(s, 0)) do use() end
      r:release()
    end
  end },
  { "more than there are, in one branch", "PLAN-HELD", runs = false, stages = 1, store = function(_, r, use, s)
    for _ in yes(weir.eq(s, 0)) do r:wait(); r:wait(); use(); r:release(); r:release() end
  end },
} do
  tap.is(c[2], said(rows(c)), c[1])
  if c.runs ~= false then tap.is(c.runs or "right", run_rows(c), c[1] .. ": in the simulator") end
end

-- ---- a GEMM: what is in flight, what was never zeroed ----------------------------------------------------------------------------------

local function gemm(o)
  local k = weir.kernel { name = "gemm", arch = "sm_90a" }
  local e = { K = k:dim("K", { min = o.min or 0 }), s = k:scalar { name = "s", dtype = "i32" }, f = k:scalar { name = "f", dtype = "f32" } }
  local M, N = k:dim "M", k:dim "N"
  local A, B = k:tensor { name = "A", dtype = "bf16", shape = { M, e.K } }, k:tensor { name = "B", dtype = "bf16", shape = { N, e.K } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { 64, 32 } }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } }, k:gmem_tile { name = "gb", tensor = B, tile = { 32, 64 } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 32 } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 32, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } }
  local out = k:smem_tile { name = "out", dtype = "f32", tile = { 64, 32 }, pipeline = P.async_tma { stages = o.stages or 2 } }
  local ab = k:group { name = "ab", mode = "fused_merge", members = { a, b } }
  local acc, kept = k:wgmma_tile { name = "acc", tile = { 64, 32 } }, k:reg_tile { name = "kept", dtype = "f32", tile = { 64, 32 } }
  e.acc, e.kept, e.steps = acc, kept, cd(e.K, 64)
  function e.step() ab:wait(); acc:mma(ab.a:read(), ab.b:read()) end
  function e.drain(n) acc:drain(n); ab:release(n or 0) end
  e.wq = wq
  function e.fill(x) out:acquire(); out:store(x or acc:read()); out:commit() end
  function e.send(t) out:wait(); gd:tma_store(out:read(), t); out:release() end
  function e.stage(t, x) out:acquire(); out:store(x); out:commit(); out:wait(); gd:tma_store(out:read(), t); out:release() end
  function e.put(t, x) gd:store(x or acc:read(), t) end
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in weir.domain_loop(0, e.steps) do
        ab.a:acquire(); ab.a:tma_load(ga:at(t.m, i)); ab.a:commit()
        ab.b:acquire(); ab.b:tma_load(gb:at(t.n, i)); ab.b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      o.body(e, t)
      wq:next()
    end
    if o.behind then o.behind(e) end
  end }
  return k
end

local function sums_of(e)
  e.acc:zero()
  for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end
end

local function run_gemm(o)
  local p = gemm(o):build { device = dev }
  for _, c in ipairs { { 70, 40, 64, 1 }, { 64, 33, 200, 0 }, { 65, 32, o.min or 0, 0 } } do
    local m, n, kk, s = table.unpack(c)
    local x, y = {}, {}
    for i = 1, m * kk do x[i] = (i * 7 + 3) % 5 - 2 end
    for i = 1, n * kk do y[i] = (i * 5 + 1) % 7 - 3 end
    local d = dev:tensor { dtype = "f32", shape = { m, n } }:fill(-99)
    local ok, why = p:launch({ A = dev:tensor { dtype = "bf16", shape = { m, kk } }:set(x), B = dev:tensor { dtype = "bf16", shape = { n, kk } }:set(y), D = d, s = s, f = 1.5 }, { grid = o.grid })
    if not ok then return why end
    local got = d:get()
    for r = 0, m - 1 do
      for q = 0, n - 1 do
        local sum = 0.0
        for i = 1, kk do sum = sum + x[r * kk + i] * y[q * kk + i] end
        sum = o.want and o.want(sum, s) or sum
        if got[r * n + q + 1] ~= sum then return ("K = %d: (%d, %d) is %s, not %s"):format(kk, r, q, got[r * n + q + 1], sum) end
      end
    end
  end
  return "right"
end

for _, c in ipairs {
  { "drained in each branch", "SAFE", body = function(e, t)
    e.acc:zero()
    for i in weir.domain_loop(0, e.steps) do
      e.step()
      for _ in yes(weir.eq(i % 3, 0)) do e.drain() end
      for _ in no(weir.eq(i % 3, 0)) do e.drain() end
    end
    e.put(t)
  end },
  { "drained in one", "PLAN-DRAIN", body = function(e, t)
    e.acc:zero()
    for i in weir.domain_loop(0, e.steps) do
      e.step()
      for _ in yes(weir.eq(i % 3, 0)) do e.drain() end
      for _ in no(weir.eq(i % 3, 0)) do e.drain(1) end
    end
    e.put(t)
  end },
  { "drained below and above, not where f is no number", "PLAN-DRAIN", body = function(e, t)
    e.acc:zero()
    for _ in weir.domain_loop(0, e.steps) do
      e.step()
      for _ in yes(weir.lt(e.f, 1)) do e.drain() end
      for _ in yes(weir.ge(e.f, 1)) do e.drain() end
    end
    e.put(t)
  end },
  { "two loops, one a step late", "SAFE", body = function(e, t)
    e.acc:zero()
    for _ in yes(weir.gt(e.s, 0)) do for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain(1) end end
    for _ in no(weir.gt(e.s, 0)) do for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end end
    for _ in yes(weir.lt(0, e.s)) do e.drain() end
    e.put(t)
  end },
  { "stored in the last step", "SAFE", body = function(e, t)
    e.acc:zero()
    for i in weir.domain_loop(0, e.steps) do
      e.step()
      for _ in i:last_iter() do e.drain(); e.put(t) end
      for _ in yes(weir.lt(i + 1, e.steps)) do e.drain(1) end
    end
    for _ in yes(weir.le(e.steps, 0)) do e.put(t) end
  end },
  { "stored in the step before the last", "PLAN-DRAIN", body = function(e, t)
    e.acc:zero()
    for i in weir.domain_loop(0, e.steps) do
      e.step()
      for _ in yes(weir.eq(i + 2, e.steps)) do e.put(t) end
      for _ in no(weir.eq(i + 2, e.steps)) do e.drain() end
    end
    e.drain()
  end },
  { "zeroed in the first step", "SAFE", min = 1, body = function(e, t)
    for i in weir.domain_loop(0, e.steps) do
      for _ in yes(first(i)) do e.acc:zero() end
      e.step(); e.drain()
    end
    e.put(t)
  end },
  { "zeroed in the first step of one at least", "SAFE", want = function(x, s) return x + math.max(s, 1) end, body = function(e, t)
    sums_of(e)
    for i in weir.domain_loop(0, weir.max(e.s, 1)) do
      for _ in yes(first(i)) do e.kept:zero() end
      e.kept:set(e.kept:read() + 1)
    end
    e.put(t, e.acc:read() + e.kept:read())
  end },
  { "zeroed in the first step of none at least", "PLAN-ZERO", body = function(e, t)
    sums_of(e)
    for i in weir.domain_loop(0, weir.min(weir.max(e.s, 1), e.s)) do
      for _ in yes(first(i)) do e.kept:zero() end
      e.kept:set(e.kept:read() + 1)
    end
    e.put(t, e.acc:read() + e.kept:read())
  end },
  { "zeroed in the second step", "PLAN-ZERO", min = 1, body = function(e, t)
    for i in weir.domain_loop(0, e.steps) do
      for _ in yes(weir.eq(i, 1)) do e.acc:zero() end
      e.step(); e.drain()
    end
    e.put(t)
  end },
  { "set in each branch", "SAFE", want = function(x, s) return s == 0 and x or 2 * x end, body = function(e, t)
    e.acc:zero()
    for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end
    for _ in yes(weir.eq(e.s, 0)) do e.kept:set(e.acc:read()) end
    for _ in yes(weir.ne(e.s, 0)) do e.kept:set(e.acc:read() * 2) end
    e.put(t, e.kept:read())
  end },
  { "set in one branch", "PLAN-ZERO", body = function(e, t)
    e.acc:zero()
    for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end
    for _ in yes(weir.eq(e.s, 0)) do e.kept:set(e.acc:read()) end
    e.put(t, e.kept:read())
  end },
  { "stored through a stage in each branch", "SAFE", want = function(x, s) return s == 0 and x or 2 * x end, body = function(e, t)
    e.acc:zero()
    for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end
    for _ in yes(weir.eq(e.s, 0)) do e.stage(t, e.acc:read()) end
    for _ in no(weir.eq(e.s, 0)) do e.stage(t, e.acc:read() * 2) end
  end },
} do
  tap.is(c[2], said(gemm(c)), c[1])
  if c[2] == "SAFE" then tap.is("right", run_gemm(c), c[1] .. ": in the simulator") end
end

-- ---- conditions that say first or last step, or are numbers: what is set under one is set behind the loop ------------------------------------

local lt, le, gt, ge, eq, ne = weir.lt, weir.le, weir.gt, weir.ge, weir.eq, weir.ne
local function set(name, want, guard, c)
  local o = { min = 1, body = function(e, t)
    e.acc:zero()
    for _ in weir.domain_loop(0, e.steps) do e.step(); e.drain() end
    if guard then for i in weir.domain_loop(0, e.steps) do for _ in guard(c(i, e.steps, e.s)) do e.kept:set(e.acc:read()) end end
    else c(e) end
    e.put(t, e.kept:read())
  end }
  tap.is(want, said(gemm(o)), name)
  if want == "SAFE" then tap.is("right", run_gemm(o), name .. ": in the simulator") end
end
for name, c in pairs {
  ["i == 0"] = function(i) return eq(i, 0) end, ["0 == i"] = function(i) return eq(0, i) end, ["i <= 0"] = function(i) return le(i, 0) end, ["0 >= i"] = function(i) return ge(0, i) end,
  ["i == n - 1"] = function(i, n) return eq(i, n - 1) end, ["i >= n - 1"] = function(i, n) return ge(i, n - 1) end, ["n - 1 <= i"] = function(i, n) return le(n - 1, i) end,
  ["i == n + -1"] = function(i, n) return eq(i, n + -1) end, ["i == -1 + n"] = function(i, n) return eq(i, -1 + n) end, ["i + 1 == n"] = function(i, n) return eq(i + 1, n) end,
} do set(name, "SAFE", yes, c) end
for name, c in pairs {
  ["i > 0"] = function(i) return gt(i, 0) end, ["0 < i"] = function(i) return lt(0, i) end, ["i ~= 0"] = function(i) return ne(i, 0) end, ["0 ~= i"] = function(i) return ne(0, i) end,
  ["i < n - 1"] = function(i, n) return lt(i, n - 1) end, ["n - 1 > i"] = function(i, n) return gt(n - 1, i) end, ["i ~= n - 1"] = function(i, n) return ne(i, n - 1) end,
} do set("not " .. name, "SAFE", no, c) end
for name, c in pairs { -- of some step, or of none
  ["i == n - 2"] = function(i, n) return eq(i, n - 2) end, ["i == -2 + n"] = function(i, n) return eq(i, -2 + n) end, ["i == s - 1"] = function(i, _, s) return eq(i, s - 1) end,
  ["i == s + -1"] = function(i, _, s) return eq(i, s + -1) end, ["i == n + 5"] = function(i, n) return eq(i, n + 5) end, ["i == n + s"] = function(i, n, s) return eq(i, n + s) end,
  ["i == s + n"] = function(i, n, s) return eq(i, s + n) end, ["i > n - 1"] = function(i, n) return gt(i, n - 1) end, ["i < 0"] = function(i) return lt(i, 0) end,
} do set(name, "PLAN-ZERO", yes, c) end
local function steps(from, to, by) return function(e) for _ in weir.domain_loop(from, to, by) do e.kept:set(e.acc:read()) end end end
set("in a loop downwards", "SAFE", nil, steps(5, 0, -1))
set("... of no step", "PLAN-ZERO", nil, steps(0, 5, -1))
set("in a loop upwards", "SAFE", nil, steps(0, 5, 1))
set("... of no step, too", "PLAN-ZERO", nil, steps(5, 0, 1))
local function of_five(c) return function(e) for i in weir.domain_loop(0, 5) do for _ in yes(c(i)) do e.kept:set(e.acc:read()) end end end end
set("in the fifth step of five", "SAFE", nil, of_five(function(i) return ge(i, 4) end))
set("... behind it", "PLAN-ZERO", nil, of_five(function(i) return gt(i, 4) end))
local function numbers(guard, more)
  return function(e)
    for _ in yes(eq(e.s, 0)) do e.kept:set(e.acc:read()) end
    for _ in guard(gt(more, 2)) do e.kept:set(e.acc:read()) end
  end
end
set("under a condition of numbers that holds", "SAFE", nil, numbers(yes, 3))
set("... that does not", "PLAN-ZERO", nil, numbers(yes, 2))
set("unless one holds", "PLAN-ZERO", nil, numbers(no, 3))
set("... unless one that does not", "SAFE", nil, numbers(no, 2))

-- ---- stages that one task fills and stores: nothing makes it wait, so its own order is all there is ----------------------------------------

local sums = sums_of
local function last(e) for b in weir.last_tile(e.wq) do e.send(b) end end
for _, c in ipairs {
  { "stored a tile late, before the next is filled", "SAFE", stages = 1, behind = last,
    body = function(e) sums(e); for b in weir.previous_tile(e.wq) do e.send(b) end; e.fill() end },
  { "stored a tile late, once the next is filled", "SAFE", behind = last,
    body = function(e) sums(e); e.fill(); for b in weir.previous_tile(e.wq) do e.send(b) end end },
  { "... of three stages", "SAFE", stages = 3, behind = last,
    body = function(e) sums(e); e.fill(); for b in weir.previous_tile(e.wq) do e.send(b) end end },
  { "filled again before it is stored", "PROVE-LOST", stages = 1, behind = last,
    body = function(e) sums(e); e.fill(); for b in weir.previous_tile(e.wq) do e.send(b) end end, text = "'mma' fills 'out' again before what it has committed there is stored" },
  { "the last one is not stored", "PROVE-LOST", body = function(e) sums(e); for b in weir.previous_tile(e.wq) do e.send(b) end; e.fill() end,
    text = "what 'mma' has committed to stage 0 of 'out' is never stored" },
  { "stored in one branch", "PROVE-LOST", body = function(e, t) sums(e); e.fill(); for _ in yes(weir.eq(e.s, 0)) do e.send(t) end end },
  { "filled in one branch", "PROVE-RACE", body = function(e, t) sums(e); for _ in yes(weir.eq(e.s, 0)) do e.fill() end; e.send(t) end,
    text = "to which it has committed nothing new" },
  { "filled and stored in each branch", "SAFE", want = function(x, s) return s == 0 and x or 2 * x end, body = function(e, t)
    sums(e)
    for _ in yes(weir.eq(e.s, 0)) do e.fill() end
    for _ in no(weir.eq(e.s, 0)) do e.fill(e.acc:read() * 2) end
    e.send(t)
  end },
} do
  local k = gemm(c)
  tap.is(c[2], said(k), c[1])
  if c.text then tap.like(c.text, k:verify().text, c[1] .. ": the text") end
  if c[2] == "SAFE" then
    c.grid = 1
    tap.is("right", run_gemm(c), c[1] .. ": in the simulator")
  end
end
tap.done()
