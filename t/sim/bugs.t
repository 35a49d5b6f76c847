#!/usr/bin/env lua5.4
-- Bugs that users of other libraries reported, where a simulator would have said why: each beside its mended neighbour. The numbers are
-- those of the list that the reports were collected in; links stand beside them.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local sm100a = require "sm100a"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

-- A run that is right with every seed.
local function right(name, seeds, run)
  for seed = 1, seeds do
    local ok, message = run(weir.device("sim", { seed = seed }))
    if not ok then return tap.ok(false, ("%s, seed %d: %s"):format(name, seed, tostring(message))) end
  end
  tap.ok(true, ("%s: %d seeds"):format(name, seeds))
end
-- One that the simulator stops, with all of these in what it says.
local function wrong(name, run, ...) lab.found(tap, name, 6, run, { ... }) end
-- A kernel whose emitted text has been edited.
local function edited(k, from, to, times)
  return function(dev)
    local p = k():build { device = dev, unsafe = true }
    local text, n = p:source():gsub(from, to, times)
    assert(n >= 1, from)
    plan.run_text(p, text)
    return p
  end
end
local function body(code, threads)
  local k = weir.kernel { name = "bug", arch = "sm_90a" }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { 128 }, out = true }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 1024 }, bind = { y = Y }, work = { run = weir.producer_work { code = code } } }
  k:task { name = "one", warps = { 0, (threads or 128) // 32 }, schedule = function() s:run() end }
  return function(dev)
    return k:build({ device = dev }):launch({ y = dev:tensor { dtype = "u32", shape = { 128 } }:fill(0) }, { device = dev, grid = 1 })
  end
end

-- 6 github.com/vllm-project/vllm/pull/26026: a tile of no steps arrives at a named barrier without waiting there, then arrives again
local turns = [[
  for (u32 tile = 0; tile < 3; tile++) {
    const u32 steps = tile == 1 ? 0 : 2;
    if (warp < 2) { if (%s) w_bar_sync(2, 128); w_bar_arrive(3, 128); }
    else { w_bar_arrive(2, 128); w_bar_sync(3, 128); }
  }
  task_sync();]]
right("6: every tile waits and arrives", 4, body(turns:format "true"))
wrong("6: a tile of no steps skips its wait", body(turns:format "steps"), "[sim-named]", "named barrier ")

-- 11 github.com/triton-lang/triton/pull/2868: one stage
local function one() return lab.gemm { stages = 1, lag = 0 } end
right("11: a ring of one stage", 6, function(dev) return lab.run_gemm(one():build { device = dev }, 130, 70, 200, { device = dev, grid = 2 }) end)
do
  local k = weir.kernel { name = "holds", arch = "sm_90a" }
  local X = k:tensor { name = "X", dtype = "f32", shape = { k:dim "N" } }
  local x = k:gmem_tile { name = "x", tensor = X, tile = { 32 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 32 }, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, 4) do ring:acquire(); ring:tma_load(x:at(i)); ring:commit() end end }
  k:task { name = "take", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, 4) do ring:wait(); ring:release(1) end ring:release(0) end }
  local report = k:verify()
  tap.ok(not report.ok, "11: a stage held while the next is waited for needs two")
  tap.like("'ring'", tostring(report), "11: the report names the ring")
  tap.like("expected at least 2 stages, got 1", tostring(report), "11: and the depth that it needs")
end

-- 12 github.com/NVIDIA/cutlass/issues/1801: stream-K hangs for some shapes and grids
do
  local gemm = require "weir.kernels.gemm"
  local dev = weir.device("sim", { seed = 1, sms = 5 })
  for _, shape in ipairs { { 130, 260, 300 }, { 256, 128, 64 }, { 128, 384, 640 } } do
    local ready = gemm.build { device = dev, m = shape[1], n = shape[2], k = shape[3], config = { bm = 128, bn = 128, stream = true } }
    local m, n, k = table.unpack(shape)
    local a, b, d = dev:tensor { dtype = "bf16", shape = { m, k } }:fill(1), dev:tensor { dtype = "bf16", shape = { n, k } }:fill(1), dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0)
    local ok, message = ready:launch { A = a, B = b, D = d }
    local sum = 0
    if ok then for _, v in ipairs(d:get()) do sum = sum + (v == k and 0 or 1) end end
    tap.is({ true, 0 }, { ok and true or message, sum }, ("12: stream-K of %d x %d x %d on 5 multiprocessors"):format(m, n, k))
  end
end

-- 19 github.com/NVIDIA/cutlass/issues/1438: no release
local copy = function(p, dev) return lab.run_copy(p, { 24, 100 }, { device = dev, grid = 1 }) end
local no_release = edited(lab.tma_copy, "if %([^;{}]-%) w_mbar_arrive%(ring_empty[^;]*;", ";", 1)
wrong("19: a stage that is never given back", function(dev) return copy(no_release(dev), dev) end, "[sim-", "'ring_empty'")

-- 24 github.com/HazyResearch/ThunderKittens/issues/164: fails for grids of more than one tile; 31 tilelang/issues/666: parts never written
right("24: six tiles by one CTA, then by four", 2, function(dev)
  local p = lab.tma_copy():build { device = dev }
  local ok, message = lab.run_copy(p, { 48, 100 }, { device = dev, grid = 1 })
  if not ok then return ok, message end
  return lab.run_copy(p, { 48, 100 }, { device = dev, grid = 4 })
end)
wrong("24: barriers initialised again for each tile", body [[
  const u32 full = w_addr(smem);
  for (u32 tile = 0; tile < 2; tile++) {
    if (tid == 0) { w_mbar_init(full, 1); w_fence_mbar_init(); }
    if (tile == 0) task_sync();
    if (tid == 0) { w_mbar_expect(full, 16); w_bulk_load(full + 128, y, 16, full); }
    w_mbar_wait(full, 0);
  }]], "[sim-bar-init]")
wrong("31: a buffer of which one stage is cleared", body "if (tid < 64) ((u32 *)smem)[tid] = 0; task_sync(); const u32 v = ((u32 *)smem)[tid]; y[tid] = v;", "[sim-uninit]", "a load of 's' byte", "which nothing has written")

-- 28 facebookexperimental/triton/pull/762: a pair of CTAs, one queue, and the releases of one CTA counted; 34 triton/pull/11411: four CTAs
local function quad() return lab.gemm { cluster = 2, cluster_n = 2, stages = 2 } end
local function run_quad(p, dev) return lab.run_gemm(p, 128, 128, 448, { device = dev, grid = 4 }) end
right("34: four CTAs take seven steps of two stages", 6, function(dev) return run_quad(quad():build { device = dev }, dev) end)
local few = edited(quad, "(w_mbar_init%(mbar %+ 16 %+ 8 %* lane, )3%)", "%12)")
wrong("34: one CTA's release not counted", function(dev) return run_quad(few(dev), dev) end, "[sim-", "a TMA load into '")
local pair = { n = 64, sums = 1, queue = "atomic", v = 2, grid = 2 }
local function draws() return sm100a.gemm(pair) end
local function run_pair(p, dev) return sm100a.run_gemm(p, pair, dev, 600, 72, 200) end
right("28: two CTAs of a pair draw tiles", 2, function(dev) return run_pair(draws():build { device = dev }, dev) end)
do
  local p = draws():build { device = lab.device() }
  local empty = plan.get(p, "bars", lab.index(p, "bars", "wq_empty"), "count")
  local half = edited(draws, ("(w_mbar_init%%(mbar %%+ %%d+[^,]*, )%d%%)"):format(empty), ("%%1%d)"):format(empty // 2))
  wrong("28: the releases of one CTA counted", function(dev) return run_pair(half(dev), dev) end, "[sim-race]", "a fetch into 'wq' byte")
end

-- 35 cutlass/issues/3643: the mma reads what nobody waited for; 36 Fuser/pull/5448: a store's source rewritten inside the loop
local unwaited = edited(lab.gemm, "(w_mbar_wait%(ab_full[^;]*;)", "if (wq_index < 1) %1", 1)
wrong("35: an mma before its operands have landed", function(dev) return lab.run_gemm(unwaited(dev), 128, 64, 256, { device = dev, grid = 1 }) end, "[sim-early-read]", "reads A from 'a' stage")
local undrained = edited(lab.gemm, "w_bulk_wait_read<%d>%(%);", ";")
wrong("36: staging rewritten while TMA stores it", function(dev) return lab.run_gemm(undrained(dev), 64, 256, 64, { device = dev, grid = 1 }) end, "[sim-async-read]", "'stage' stage 0", "a TMA store")
tap.done()
