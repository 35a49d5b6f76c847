#!/usr/bin/env lua5.4
-- Work between the CTAs of a cluster: multicasts that the first CTA issues for all. Plan, proof, the explorer beside it, text, runs, and
-- faults that proof and simulator must see. t/gpu/clusters.t makes the runs on a GPU.
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

local gpu = arg[1] == "gpu" or arg[0]:find "gpu/clusters%.t$"
local dev = assert(weir.device(gpu and 0 or "sim", not gpu and { seed = 3 } or nil))

local function build(k) return k:build { device = dev } end

-- ---- loads that the first CTA issues ---------------------------------------------------------------------------------------------

for _, c in ipairs { { "along m", 2, 1 }, { "along m and along n", 2, 2 }, { "along n, four CTAs", 1, 4 } } do
  local what, m, n = table.unpack(c)
  for _, o in ipairs { {}, { stages = 1 }, { group = "none", warpgroups = 2, epilogue = "plain" } } do
    local name = ("GEMM, %s, %d stages, %s"):format(what, o.stages or 3, o.group or "fused_merge")
    o.cluster, o.cluster_n, o.issue = m, n, "first"
    local p = build(lab.gemm(o))
    tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
    tap.is({ true, "" }, { lab.run_gemm(p, 140, 150, 200, { device = dev }) }, name .. ": right")
    if gpu then tap.is({ true, "" }, { lab.run_gemm(p, 300, 264, 2100, { device = dev }) }, name .. ": right, larger") end
    p:close()
  end
end

-- Every thread releases for itself, at every CTA that fills the stage.
for _, c in ipairs { { 2, 1, "slices" }, { 2, 2, "slices" }, { 2, 2, "first" } } do
  local m, n, issue = table.unpack(c)
  for _, group in ipairs { "fused_merge", "none" } do
    local name = ("grain of threads, cluster of %d x %d, by %s, %s"):format(m, n, issue, group)
    local p = build(lab.gemm { cluster = m, cluster_n = n, issue = issue, grain = "thread", group = group })
    tap.is({ "SAFE", true, "" }, { p.report.proof.verdict, lab.run_gemm(p, 140, 150, 200, { device = dev }) }, name)
    p:close()
  end
end

-- A schedule: body(t, j) for each tile of the queue and each 32 columns of W.
local function each(wq, W, body)
  return function()
    for t in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, weir.ceil_div(W, 32)) do body(t, j) end
      wq:next()
    end
  end
end

-- One load for all CTAs of the cluster, of a tile that cannot be cut into slices; by one thread, or by one of a warp whose threads also
-- wait for something else.
local function copy(threads, n, stages, warps)
  local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 2, n = n or 2 } }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, 4, W }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(H, 3) } }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 3, 32 } }
  local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 3, 1, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 3, 32 }, pipeline = P.tma_async { stages = stages or 2 } }
  local go = threads and k:barrier { name = "go", pipeline = P.async_async { stages = 1 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, W, function(t, j)
    if go then go:wait() end
    a:acquire(); a:tma_load(gx:at(t.i, j), { multicast = "mn", issue = "first" }); a:commit()
    if go then go:release() end
  end) }
  if go then k:task { name = "tell", warps = { 5, 1 }, schedule = each(wq, W, function() go:acquire(); go:commit() end) } end
  k:task { name = "store", warps = { 0, warps or 3 }, schedule = each(wq, W, function(t, j)
    a:wait(); gy:store(a:read():load() + k.cta.rank * 1000, gy:at(t.i, k.cta.rank, j)); a:release()
  end) }
  return k, a
end
-- A fork of it, read by two tasks: a CTA that is loaded for arms when both have given the stage back. With the arming before the second
-- wait, that wait could be a phase late.
if not gpu then
  local k = weir.kernel { name = "fork", arch = "sm_90a", cluster = { m = 2 } }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { 2, H, W }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(H, 3) } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 3, 32 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 3, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 3, 32 }, pipeline = P.tma_async { stages = 2 } }
  local b = k:smem_tile { name = "b", storage = a, pipeline = P.tma_async { stages = 2 } }
  local f = k:group { name = "f", mode = "fork", members = { a, b } }
  k:task { name = "load", warps = { 2, 1 }, schedule = each(wq, W, function(t, j)
    f.a:acquire(); f.b:acquire(); f.a:tma_load(gx:at(t.m // 2, j), { multicast = "m", issue = "first" }); f:commit()
  end) }
  for i, m in ipairs { f.a, f.b } do
    k:task { name = "get" .. i, warps = { i - 1, 1 }, schedule = each(wq, W, function(t, j) m:wait(); gy:store(m:read(), gy:at(i - 1, t.m, j)); m:release() end) }
  end
  local ok, p = pcall(build, k)
  tap.is({ true, "SAFE" }, { ok, ok and p.report.proof.verdict }, "a fork that the first CTA loads: proved")
  local x, y = dev:tensor { dtype = "f32", shape = { 9, 70 } }:randn(3), dev:tensor { dtype = "f32", shape = { 2, 9, 70 } }:fill(0)
  local ran = ok and p:launch({ X = x, Y = y }, { device = dev, grid = 2 })
  local seen, from, off = y:get(), x:get(), 0
  for i = 0, 1 do for r = 0, 8 do for c = 0, 69 do
    if seen[(i * 9 + r) * 70 + c + 1] ~= from[(r // 6 * 3 + r % 3) * 70 + c + 1] then off = off + 1 end
  end end end
  tap.is({ true, 0 }, { ran, off }, "and read by both")
end

for _, threads in ipairs { false, true } do
  local p = build(copy(threads))
  tap.is("SAFE", p.report.proof.verdict, "one load for four CTAs: proved")
  local H, W, data = 20, 100, {}
  for i = 1, H * W do data[i] = i end
  local x, y = dev:tensor { dtype = "f32", shape = { H, W } }:set(data), dev:tensor { dtype = "f32", shape = { H, 4, W } }:fill(-1)
  tap.is({ true }, { p:launch({ X = x, Y = y }, { grid = 8 }) }, "one load for four CTAs: runs")
  dev:sync()
  local seen, wrong = y:get(), 0
  for i = 0, H - 1 do for c = 0, 3 do for j = 0, W - 1 do
    if seen[(i * 4 + c) * W + j + 1] ~= data[i * W + j + 1] + 1000 * c then wrong = wrong + 1 end
  end end end
  tap.is(0, wrong, "one load for four CTAs: every CTA has the whole tile")
  if not gpu then
    tap.like(threads and "if (ttid == 0 && (i32)(rank / 1 % 2) == 0 && (i32)(rank / 2 % 2) == 0) w_tma_load_multicast("
      or "if ((i32)(rank / 1 % 2) == 0 && (i32)(rank / 2 % 2) == 0) w_tma_load_multicast(", p:source(), "one load for four CTAs: whose it is")
  end
  p:close()
end
-- Slices that begin inside the pattern of a swizzle, at a multiple of 128 bytes: the pattern goes by the address.
local function sliced(rows, cols, swizzle)
  local k = weir.kernel { name = "slices", arch = "sm_90a", cluster = { m = 2 } }
  local H = k:dim "H"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, cols } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, 2, cols }, out = true }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = { rows, cols } }
  local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { rows, 1, cols } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { rows, cols }, swizzle = swizzle, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(H, rows)) do a:acquire(); a:tma_load(gx:at(i, 0), { multicast = "m" }); a:commit() end
  end }
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(H, rows)) do a:wait(); gy:store(a:read():load(), gy:at(i, k.cta.m, 0)); a:release() end
  end }
  return k
end
for _, c in ipairs { { 10, 32, 128 }, { 152, 32, 128 }, { 12, 16, 64 }, { 8, 8, 32 }, { 16, 12, 0 } } do
  local rows, cols, swizzle = table.unpack(c)
  local what = ("slices of %d rows, swizzle %d"):format(rows // 2, swizzle)
  local p = build(sliced(rows, cols, swizzle))
  tap.is("SAFE", p.report.proof.verdict, what .. ": proved")
  local H, data = rows * 3 + 1, {}
  for i = 1, H * cols do data[i] = i end
  local x, y = dev:tensor { dtype = "f32", shape = { H, cols } }:set(data), dev:tensor { dtype = "f32", shape = { H, 2, cols } }:fill(-1)
  tap.is({ true }, { p:launch({ X = x, Y = y }, { grid = 2 }) }, what .. ": runs")
  dev:sync()
  local seen, wrong = y:get(), 0
  for i = 0, H - 1 do for r = 0, 1 do for j = 0, cols - 1 do
    if seen[(i * 2 + r) * cols + j + 1] ~= data[i * cols + j + 1] then wrong = wrong + 1 end
  end end end
  tap.is(0, wrong, what .. ": every CTA has the whole tile")
  p:close()
end
if gpu then tap.done() end

for _, c in ipairs { { 2, 12, 0, 16 }, { 6, 16, 64, 4 }, { 12, 8, 32, 8 } } do
  local rows, cols, swizzle, unit = table.unpack(c)
  local report = sliced(rows, cols, swizzle):verify()
  tap.like(("cuts tiles { %d, %d } of 'gx' into 2 slices"):format(rows, cols), tostring(report), "slices that begin off 128 bytes are refused")
  tap.like(("the outermost axis must be a multiple of %d"):format(unit), tostring(report), "slices that begin off 128 bytes: what would do")
end

-- ---- the plan ---------------------------------------------------------------------------------------------------------------------
local function gemm(issue) return lab.gemm { cluster = 2, issue = issue } end
local first, slices = build(gemm "first"), build(gemm "slices")
local load = lab.action(first, "bulk_issue", "ab_full", 2)
tap.is("if ((i32)rank == 0) w_tma_load_multicast(b_smem + ab_at * 8192, &B_map, ab_full + ab_at * 8, (u16)0x3, i0 * 64, wq_n * 64);",
  lab.statement(first:source(), load), "the first CTA loads the whole tile for both")
tap.is({ 8192, 4096 }, { plan.get(first, "action", load, "bytes"), plan.get(slices, "action", lab.action(slices, "bulk_issue", "ab_full", 2), "bytes") },
  "its bytes are the whole tile, not a slice")
tap.is(lab.rows(slices, "bars", "name", "count", "tx"), lab.rows(first, "bars", "name", "count", "tx"), "the first CTA's mbarriers count as with slices")
do
  local k, a = copy(false)
  local text = k:explain(a)
  tap.like("one thread of the first CTA copies 384 bytes, counted on a_full in 4 CTAs (along mn)", text, "explained: the load")
  tap.like("arrives on a_empty, CTA 0's in 0; CTA 1's in 0, 1; CTA 2's in 0, 2; CTA 3's in 0, 3", text, "explained: the release")
  tap.like("a_empty, 2 stages: 12 arrivals a phase (3 warps x 4, 1, 1, 1 CTAs by rank)", text, "explained: the count")
  tap.ok(not text:find("these make", 1, true), "explained: the sums are right")
  tap.like("initialised with 12, 3, 3, 3 by rank", k:print "barriers", "printed")
  tap.like("w_mbar_init(mbar + 16 + 8 * lane, (u32)(0x1010104ull >> rank * 8 & 0xff) * 3);", build(k):source(), "each CTA's mbarrier counts what comes there")
end
local both = build(lab.gemm { cluster = 2, cluster_n = 2, issue = "first" })
tap.is({ 3, 2, 2, 1 }, { table.unpack(plan.ranks(both, "bars", lab.index(both, "bars", "ab_empty"))) }, "A from the first along n, B from the first along m: what each CTA's counts")
tap.is({ 1, 3, 5, 14 }, plan.ranks(both, "action", lab.action(both, "arrive", "ab_empty")), "and where each CTA's releases go")

-- ---- beside the explorer ------------------------------------------------------------------------------------------------------------
do
  local agreement = require "gen.agreement"
  local at = { { H = 0, W = 32 }, { H = 12, W = 32 }, { H = 12, W = 96 } }
  local said = agreement.compare(plan, assert(plan.of(copy(false, 1, 2, 1))), at, { limit = 100000 })
  tap.is({ "SAFE" }, { said.verdict, said.wrong, said.open }, "the explorer finds no fault either")
end

-- ---- a load over what the other CTA's threads have read: they fence before they release it at the CTA that loads --------------------------
do
  local k = weir.kernel { name = "peer", arch = "sm_90a", cluster = { m = 2 } }
  local n = k:dim("n", { min = 1 })
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { n, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { n, 32 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 3, 32 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 3, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 3, 32 }, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 1, 1 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(n, 3)) do a:acquire(); a:tma_load(gx:at(i, 0), { multicast = "m", issue = "first" }); a:commit() end
  end }
  k:task { name = "take", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(n, 3)) do
      a:wait()
      for _ in weir.when_true(weir.eq(k.cta.m, 1)) do gy:store(a:read(), gy:at(i, 0)) end
      a:release()
    end
  end }
  local p = build(k)
  local x, y = dev:tensor { dtype = "f32", shape = { 20, 32 } }:randn(5), dev:tensor { dtype = "f32", shape = { 20, 32 } }:fill(0)
  local function run() return p:launch({ X = x, Y = y }, { device = dev, grid = 2 }) end
  tap.is({ "SAFE", true }, { plan.prove(p), (run()) }, "read in the other CTA alone")
  tap.is(x:get(), y:get(), "... and right")
  plan.drop(p, lab.action(p, "fence_async"))
  local _, findings = plan.prove(p)
  tap.like("the bulk load of 'load of CTA 0' overwrites stage 0 of 'a' through the async proxy; threads of 'take of CTA 1' read it with no fence between the read and its hand-over",
    findings[1] and findings[1].message or "SAFE", "not fenced there: so says the proof")
  plan.run_text(p, plan.emit(p))
  local _, message = run()
  tap.like("task 'load', CTA 0, warp 1: a TMA load into 'a' stage 0, byte 0, may overtake a load by task 'take', CTA 1, warp 0, lane 0 (t/clusters.t:", tostring(message), "and the simulator")
  p:close()
end

-- ---- what is refused (t/perturb.t: what proof and simulator find) ---------------------------------------------------------------------
tap.raises("give multicast too", function()
  local k = weir.kernel { name = "k", arch = "sm_90a" }
  local X = k:tensor { name = "X", dtype = "f32", shape = { 8, 32 } }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(gx:at(0, 0), { issue = "first" }); a:commit() end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function() a:wait(); a:release() end }
  k:build { device = dev }
end, "issue without multicast")
-- Slices from every CTA of the cluster, where a guard lets each load: what differs between the CTAs tears the stage.
local function guarded(guard, o)
  local k = weir.kernel { name = "guarded", arch = "sm_90a", cluster = { m = 2 } }
  local n = k:dim("n", { min = 2 })
  local X = k:tensor { name = "X", dtype = "f32", shape = { n, 64 } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { n, 2, 64 }, out = true }
  local flag = k:gmem_tile { name = "flag", tensor = k:tensor { name = "F", dtype = "i32", shape = { n }, out = o and o.written }, tile = { 1 } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 8, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 8, 1, 64 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 64 }, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for i in weir.domain_loop(0, 2) do for _ in guard(k, i, flag) do a:acquire(); a:tma_load(gx:at(i, 0), { multicast = "m" }); a:commit() end end
  end }
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for i in weir.domain_loop(0, 2) do for _ in guard(k, i, flag) do a:wait(); gy:store(a:read():load(), gy:at(i, k.cta.m, 0)); a:release() end end
  end }
  return k
end
local function ran(k)
  local p = k:build { device = dev, unsafe = true }
  local x, y = dev:tensor { dtype = "f32", shape = { 16, 64 } }:fill(1), dev:tensor { dtype = "f32", shape = { 16, 2, 64 } }:fill(0)
  local ok, why = p:launch({ X = x, Y = y, F = dev:tensor { dtype = "i32", shape = { 16 } }:fill(1) }, { grid = 2 })
  return ok and "right" or tostring(why):match "%[(sim%-[%w-]+)%]" or why
end
for _, c in ipairs {
  { "the index", function(_, i) return weir.when_true(weir.lt(i, 1)) end, "SAFE", "right" },
  { "the index and the CTA", function(k, i) return weir.when_true(weir.lt(i, k.cta.m)) end, "PROVE-TX", "sim-deadlock" },
  { "the index and a number of the input", function(_, i, flag) return weir.when_true(weir.lt(i, flag:at(0):load())) end, "SAFE", "right" },
  { "the index and a number of the input for each CTA", function(k, i, flag) return weir.when_true(weir.lt(i, flag:at(k.cta.m):load())) end, "PROVE-TX", "right" },
} do
  local report = guarded(c[2]):verify()
  tap.is(c[3], report.proof.verdict == "UNSAFE" and report.text:match "%[(PROVE%-%w+)%]" or report.proof.verdict, "slices of each CTA under a guard by " .. c[1])
  tap.is(c[4], ran(guarded(c[2])), "... in the simulator")
end

-- CTAs that a load serves name one tile (V-CTA-02), as far as sizes, coordinates and indices tell.
local function served(o)
  local k = weir.kernel { name = "served", arch = "sm_90a", cluster = o.cluster or { m = 2 } }
  local H, W = k:dim("H", { max = o.max }), k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local I = k:tensor { name = "I", dtype = "i32", shape = { H } }
  local wq = k:work_queue { name = "wq", axes = { "m", "n" }, extent = { weir.ceil_div(H, 4), weir.ceil_div(W, 32) } }
  local gx, gi = k:gmem_tile { name = "gx", tensor = X, tile = { 4, 32 } }, k:gmem_tile { name = "gi", tensor = I, tile = { 1 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 4, 32 }, pipeline = P.tma_async { stages = 2 } }
  local function steps(t) if o.loop then return o.loop(k, t, H, W) end return weir.domain_loop(0, weir.ceil_div(W, 32)) end
  local function guard(i) if o.guard then return o.guard(k, i, H) end return function(_, n) if not n then return true end end, nil, nil end
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in steps(t) do for _ in guard(i) do a:acquire(); a:tma_load(o.at(gx, k, t, i, gi), { multicast = o.along or "m", issue = o.issue }); a:commit() end end
      wq:next()
    end
  end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in steps(t) do for _ in guard(i) do a:wait(); a:release() end end
      wq:next()
    end
  end }
  local r = k:verify { prove = false }
  for _, f in ipairs(r.findings) do if f.rule == "V-CTA-02" then return f.message:match "different tiles: (.*) is another" end end
  return r.ok and "one" or tostring(r)
end
if not gpu then
  for _, c in ipairs {
    { "one", "by n, along m", { at = function(g, _, t, i) return g:at(i, t.n) end } },
    { "t.m", "by m, along m", { at = function(g, _, t, i) return g:at(t.m, i) end } },
    { "t.m", "by m, the first CTA loads", { issue = "first", at = function(g, _, t, i) return g:at(t.m, i) end } },
    { "one", "by m, along n", { cluster = { m = 2, n = 2 }, along = "n", at = function(g, _, t, i) return g:at(t.m, i) end } },
    { "t.m", "by m, along both", { cluster = { m = 2, n = 2 }, along = "mn", at = function(g, _, t, i) return g:at(t.m, i) end } },
    { "t.n", "by n, along both", { cluster = { m = 2, n = 2 }, along = "mn", at = function(g, _, t, i) return g:at(i, t.n) end } },
    { "one", "by pairs of m", { at = function(g, _, t, i) return g:at(t.m // 2, i) end } },
    { "t.m // 2", "by pairs of m, four CTAs", { cluster = { m = 4 }, at = function(g, _, t, i) return g:at(t.m // 2, i) end } },
    { "one", "m, without the CTA's own part", { at = function(g, k, t, i) return g:at(t.m - k.cta.m, i) end } },
    { "cta.m", "the CTA's number", { at = function(g, k, _, i) return g:at(k.cta.m, i) end } },
    { "one", "its number along another axis", { cluster = { m = 2, k = 2 }, at = function(g, k, _, i) return g:at(k.cta.k, i) end } },
    { "cta.rank", "its rank", { cluster = { m = 2, k = 2 }, at = function(g, k, _, i) return g:at(k.cta.rank, i) end } },
    { "i0", "each CTA begins at its own step", { loop = function(k, _, _, W) return weir.domain_loop(k.cta.m, W + k.cta.m) end, at = function(g, _, _, i) return g:at(i, 0) end } },
    { "one", "and that is taken off", { loop = function(k, _, _, W) return weir.domain_loop(k.cta.m, W + k.cta.m) end, at = function(g, k, _, i) return g:at(i - k.cta.m, 0) end } },
    { "one", "only where m is 0", { max = 4, guard = function(_, _, H) return weir.when_true(weir.gt(H, 4)) end, at = function(g, _, t, i) return g:at(t.m, i) end } },
    { "i0 * t.m", "from the second step on", { at = function(g, _, t, i) return g:at(i * t.m, 0) end } },
    { "one", "in the first step alone", { guard = function(_, i) return i:first_iter() end, at = function(g, _, t, i) return g:at(i * t.m, 0) end } },
    { "one", "in every third step, where it is taken off", { guard = function(_, i) return i:every(3) end, at = function(g, _, t, i) return g:at(i % 3 * t.m, 0) end } },
    { "one", "in the last step, where it is taken off", { guard = function(_, i) return i:last_iter() end, loop = function() return weir.domain_loop(0, 3) end,
      at = function(g, _, t, i) return g:at((i - 2) * t.m, 0) end } },
    { "one", "a number in memory: may be one", { at = function(g, _, t, i, gi) return g:at(gi:at(t.m):load(), i) end } },
    { "t.m * 4", "from an element", { at = function(g, _, t, i) return g:from(t.m * 4, i * 32) end } },
  } do
    tap.is(c[1], served(c[3]), "tiles of CTAs that a load serves: " .. c[2])
  end
end
tap.done()
