#!/usr/bin/env lua5.4
-- Mistakes that people reported of other tools, each as a small kernel: weir refuses it, and says what they could not find out.
-- Then: all faults of a kernel in one run, in the order of its lines, and one finding for one cause.
local tap = require "tap"
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div

-- A copy through shared memory, or a GEMM, with one thing changed.
local function copy(o)
  local k = weir.kernel { name = "copy", arch = o.arch or "sm_90a", cluster = o.cluster }
  local N = k:dim "N"
  local cols = o.cols or 256
  local X = k:tensor { name = "X", dtype = "f32", shape = { N, cols } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, cols }, out = true }
  local x = k:gmem_tile { name = "x", tensor = X, tile = { 2, cols } }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 2, cols } }
  local pipe = { stages = 2 }
  for key, value in pairs(o.pipe or {}) do pipe[key] = value end
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 2, cols }, swizzle = o.swizzle, pipeline = P.tma_async(pipe) }
  k:task { name = "load", warps = { 0, 1 }, registers = o.load_registers, schedule = function()
    for i in weir.domain_loop(cd(N, 2)) do
      s:acquire(); s:tma_load(x:at(i, 0), { multicast = o.multicast }); s:commit()
    end
  end }
  k:task { name = "store", warps = o.store_warps or { 4, 4 }, registers = o.store_registers, schedule = function()
    for i in weir.domain_loop(cd(N, 2)) do
      s:wait(); y:store(s:read(), y:at(i, 0)); s:release(o.lag)
    end
    if o.lag then s:release(0) end
  end }
  return k
end

local function said(k)
  local report = k:verify()
  k:close()
  return report.text, report
end

local function refused(name, k, ...)
  local text, report = said(k)
  tap.ok(not report.ok, name)
  for _, part in ipairs { ... } do tap.like(part, text, name .. ": " .. part) end
end

tap.like("proof: SAFE", said(copy {}), "as it should be")

-- ---- values whose elements lie several times over in the registers --------------------------------------------------------

local function narrow(tile, value)
  local k = weir.kernel { name = "narrow", arch = "sm_90a" }
  local g = k:gmem_tile { name = "g", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 64, 64 }, out = true }, tile = tile }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = tile, pipeline = P.async_async { stages = 1 } }
  local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
  k:task { name = "a", warps = { 0, 4 }, schedule = function() r:zero(); s:acquire(); s:store(value(r)); s:commit() end }
  k:task { name = "b", warps = { 4, 4 }, schedule = function() s:wait(); g:store(s:read(), g:at(0, 0)); s:release() end }
  return k
end
for name, k in pairs {
  ["a row of indices, stored to shared memory by every warp"] = narrow({ 1, 64 }, function(r) return r:col_index() end),
  ["a column, stored by every lane of a quad"] = narrow({ 64, 1 }, function(r) return r:read():row_max(1) end),
} do refused(name, k, "s:store stores a value of a single row, or of few columns to shared memory", "[PLAN-UNSUPPORTED]", "store it to global memory, or a wider value") end

-- ---- arrive counts ------------------------------------------------------------------------------------------------------

refused("the unit of a consumer count (1)", copy { pipe = { consumers = 2 } }, "pipeline 's': consumers = 2",
  "release makes 4 or 128 arrivals per phase (4 warps; one per warp or per thread)", "expected 4 or 128, got 2")
refused("a count of half the threads that arrive (10)", copy { store_warps = { 4, 8 }, pipe = { consumers = 128 } }, "[V-CNT-11]",
  "expected 8 or 256, got 128")
refused("a multicast stage released by one CTA's warps (61)", copy { cluster = { m = 2 }, multicast = "m", pipe = { consumers = 4 } },
  "[V-CNT-11]", "release makes 8 or 256 arrivals per phase (4 warps x 2 CTAs")
refused("one stage for a role that holds two (11)", copy { lag = 1, pipe = { stages = 1 } }, "[PLAN-HELD]",
  "may hold 2 stages of 's' at once, which has 1", "expected at least 2 stages, got 1")

-- ---- named barriers -----------------------------------------------------------------------------------------------------

local function syncs(tasks, warps)
  local k = weir.kernel { name = "many", arch = "sm_90a" }
  for i = 0, tasks - 1 do
    local r = k:resource { name = "r" .. i, work = { step = weir.producer_work { code = [[ task_sync(); ]] } } }
    k:task { name = "t" .. i, warps = { warps * i, warps }, schedule = function() r:step() end }
  end
  return k
end
refused("more named barriers than ids (8)", syncs(16, 2), "[PLAN-NAMED]", "needs 16 named barriers; a CTA has 15", "1 of task t0, 2 of task t1, ", ", 16 of task t15")
local source = syncs(2, 2):source()
tap.like("w_bar_sync(w_sync_id, nthreads)", source, "a named barrier counts the threads of the role that calls it (4)")
for i = 0, 1 do
  tap.matches(("r%d_step%%([^\n]*, ttid, 64, [^\n]*, %d%%);"):format(i, i + 1), source, "64 threads in role " .. i .. ", a barrier of its own")
end

-- ---- bytes --------------------------------------------------------------------------------------------------------------

refused("bytes of the whole cluster armed in each CTA (21)", copy { cluster = { m = 2 }, pipe = { bytes = 4096 } }, "[V-BYT-02]",
  "bytes = 4096 are armed per stage, but the copies bring 2048")
do
  local k = weir.kernel { name = "body", arch = "sm_90a" }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.tma_async { stages = 2 },
    work = { fill = weir.producer_work { code = "" }, get = weir.consumer_work { code = "" } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:fill(); s:commit() end }
  k:task { name = "read", warps = { 1, 1 }, schedule = function() s:wait(); s:get(); s:release() end }
  refused("a body that declares no bytes on a barrier that counts them (25)", k, "[PLAN-TX]", "s:acquire opens a stage that no copy fills")
end

-- ---- descriptors and targets --------------------------------------------------------------------------------------------

refused("a copy engine where there is none (47)", copy { arch = "sm_80" }, "[PLAN-ARCH]", "needs the copy engine or tensor cores of sm_90a")
refused("a swizzle that the tile's rows do not fill (57)", copy { cols = 16, swizzle = 128 }, "[PLAN-SWIZZLE]", "tile 's': swizzle 128",
  "use swizzle = 64, or 32 columns")
local crossing = copy { cluster = { m = 2 }, multicast = "m" }:source()
tap.like("w_mbar_arrive_remote(s_empty", crossing, "an arrive that crosses CTAs is the remote one (35)")

-- ---- registers ----------------------------------------------------------------------------------------------------------

refused("requests above the pool (64)", copy { load_registers = 56, store_warps = { 4, 8 }, store_registers = 232 }, "[PLAN-REGS]",
  "56 + 232 + 232 per warpgroup are 16 more than the pool of 504", "setmaxnreg.inc would wait for ever")
refused("two requests in one warpgroup (64)", copy { load_registers = 40, store_warps = { 1, 1 }, store_registers = 64 }, "[V-WG-02]")
refused("a request of 16 registers (68)", copy { store_registers = 16 }, "[X-REG-01]", "setmaxnreg takes 24 at least")
do
  local k = weir.kernel { name = "large", arch = "sm_90a" }
  local acc = k:wgmma_tile { name = "acc", tile = { 128, 256 } }
  k:task { name = "mma", warps = { 0, 4 }, schedule = function() acc:set(0) end }
  refused("sums larger than a thread's registers (66)", k, "[PLAN-REGS]", "tile 'acc' takes 256 registers of each thread of task 'mma', which has 255",
    "fewer warps in all")
end

-- ---- shared memory ------------------------------------------------------------------------------------------------------

refused("more stages than shared memory holds (71)", copy { pipe = { stages = 120 } }, "[PLAN-SMEM]", "s 120 x 2048, mbarriers 1920",
  "expected at most 232448 bytes, got 247680 bytes", "stages = 112 of 's' fits (2048 bytes a stage)")

-- ---- tensor memory ------------------------------------------------------------------------------------------------------

refused("a pair of CTAs that share an mma, off sm_100a (62)", copy { cluster = { v = 2 } }, "needs sm_100a")

-- ---- all in one run -----------------------------------------------------------------------------------------------------

local function line() return debug.getinfo(2, "l").currentline end
local at = {}
local k = weir.kernel { name = "faults", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "bf16", shape = { N }, out = true }
at[1] = line() + 1
local x = k:gmem_tile { name = "x", tensor = Y, tile = { 256 } } -- a bf16 tensor into an f32 tile
local y = k:gmem_tile { name = "y", tensor = X, tile = { 256 } } -- no out tensor
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = P.tma_async { stages = 2, consumers = 7 } }
at[2] = line() - 1
local t = k:smem_tile { name = "t", dtype = "f32", tile = { 256 }, pipeline = P.async_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(cd(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i)); at[3] = line()
    s:commit()
  end
end }
k:task { name = "store", warps = { 0, 1 }, schedule = function() -- the warp of "load"
  for i in weir.domain_loop(cd(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i)); at[5] = line()
    t:store(s:read()); at[6] = line() -- neither acquired nor committed
    s:release()
  end
end }
at[4] = line() - 8
local found = {}
for _, f in ipairs(k:verify().findings) do
  if f.severity == "error" then found[#found + 1] = ("%s at %d"):format(f.rule, f.line) end
end
tap.is({ ("V-CNT-11 at %d"):format(at[2]), ("V-ATOM-02 at %d"):format(at[3]), ("X-WARP-01 at %d"):format(at[4]),
         ("V-ATOM-04 at %d"):format(at[5]), ("V-BRK-01 at %d"):format(at[6]) }, found, "five faults, one run, in order")

tap.done()
