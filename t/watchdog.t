#!/usr/bin/env lua5.4
-- Builds that were refused, and builds with a watchdog, as far as they show without a GPU: what is built, and what NVRTC and ptxas say
-- of it. t/c/probe_test.c plays the device; t/gpu/watchdog.t runs on one.
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local dev = weir.device("sim", { seed = 5 })

-- One warp fills, four empty; these wait `late` times more than there is to come, and with `hold` give back one stage of four.
local function ring(late, hold, arch)
  local T = 64
  local k = weir.kernel { name = "ring", arch = arch or "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "i32", shape = { N } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N }, out = true }
  local r = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { T }, bind = { x = X }, const = { T = T },
    pipeline = P.async_async { stages = 2 },
    work = { fill = weir.producer_work { params = "i32 first", code = [[
      for (u32 i = tid; i < T; i += nthreads) smem[i] = first + (i32)i < x_shape[0] ? x[first + i] : 0; ]] } } }
  local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, const = { T = T },
    work = { put = weir.producer_work { params = "view from, i32 first", code = [[
      task_sync();
      for (u32 i = tid; i < T; i += nthreads) if (first + (i32)i < y_shape[0]) y[first + i] = from[i]; ]] } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(N, T)) do r:acquire(); r:fill(i * T); r:commit() end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(N, T) + late) do
      r:wait(); out:put(r:read(), i * T)
      if hold then for _ in i:every(4, 0) do r:release() end else r:release() end
    end
  end }
  return k
end

-- ---- unsafe ---------------------------------------------------------------------------------------------------------------------

tap.raises("PROVE-DEADLOCK", function() ring(1):build { device = dev } end, "a wait too many is refused")
local bad = ring(1):build { device = dev, unsafe = true }
tap.is(false, bad.report.ok, "built with unsafe = true the report stays bad")
tap.is("UNSAFE", bad.report.proof.verdict, "and so does the verdict")
local x, y = dev:tensor { dtype = "i32", shape = { 1000 } }:fill(3), dev:tensor { dtype = "i32", shape = { 1000 } }
local ok, message, code = bad:launch({ x = x, y = y }, { grid = 1 })
tap.is({ nil, "sim" }, { ok, code }, "the simulator stops it")
tap.like("task 'put', CTA 0, warps 4 to 7: waits for mbarrier 'ring_full' stage 0, parity 0: phase 8 has 0 of 1 arrivals", message, "where it waits")
tap.matches("t/watchdog.t:30: task 'put'", message, "at the author's line")
tap.matches("who arrives there: [^\n]*t/watchdog.t:26 %(task 'load'%)", message, "and who should have arrived")

local good = ring(0):build { device = dev, unsafe = true }
tap.is({ true, "SAFE" }, { good.report.ok, good.report.proof.verdict }, "unsafe = true takes nothing from a good kernel")
tap.is(true, good:launch({ x = x, y = y }, { grid = 1 }), "which runs")
local function crossed() -- each waits for what the other does after its own wait
  local k = weir.kernel { name = "crossed", arch = "sm_90a" }
  local function one(name)
    return k:resource { name = name, space = "smem", dtype = "i32", tile = { 32 }, pipeline = P.async_async { stages = 1 },
      work = { w = weir.producer_work { code = "smem[tid] = 0;" } } }
  end
  local s, t = one "s", one "t"
  k:task { name = "a", warps = { 0, 1 }, schedule = function() t:wait(); t:release(); s:acquire(); s:w(); s:commit() end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() s:wait(); s:release(); t:acquire(); t:w(); t:commit() end }
  return k
end
tap.raises("V-SIM", function() crossed():build { device = dev } end, "tasks that wait for each other are refused by validation")
ok, message = crossed():build({ device = dev, unsafe = true }):launch({}, { grid = 1 })
tap.is(nil, ok, "and built with unsafe = true")
tap.like("task 'b', CTA 0, warp 4: waits for mbarrier 's_full'", message, "to be seen in the simulator")
tap.is("UNSAFE", ring(0, true):verify().proof.verdict, "stages given back too seldom")
local function large()
  local k = weir.kernel { name = "large", arch = "sm_90a" }
  local s = k:resource { name = "s", space = "smem", dtype = "i32", tile = { 65536 }, pipeline = P.async_async { stages = 1 },
    work = { w = weir.producer_work { code = "smem[tid] = 0;" }, r = weir.consumer_work { code = ";" } } }
  k:task { name = "a", warps = { 0, 1 }, schedule = function() s:acquire(); s:w(); s:commit() end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() s:wait(); s:r(); s:release() end }
  return k
end
tap.raises("PLAN-SMEM", function() large():build { device = dev, unsafe = true } end, "what has no plan is not built")

-- ---- the text --------------------------------------------------------------------------------------------------------------------

local function count(text, what) return select(2, text:gsub(what, "")) end
local plain, watched = ring(0):build { device = dev }, ring(0):build { device = dev, watchdog = 2 }
tap.is(plain:source(), watched:source(), "the emitted text is the same with a watchdog")
local actions = plan.get(plain, "plan", 0, "nactions")
tap.is(1, count(watched:full_source(), "\n#define W_WATCHDOG " .. actions + 1 .. "\n"), "one line defines it")
tap.is(0, count(plain:full_source(), "W_WATCHDOG"), "an ordinary build knows nothing of it")
tap.is(true, watched:launch({ x = x, y = y }, { grid = 1 }), "in the simulator it changes nothing")
for _, seconds in ipairs { 0, -1, "2", 0 / 0 } do
  tap.raises("watchdog is the seconds that a wait may last", function() ring(0):build { device = dev, watchdog = seconds } end, "watchdog = " .. tostring(seconds))
end
tap.raises("0 (none) to 3600 are possible", function() ring(0):build { device = dev, watchdog = 1e9 } end, "watchdog = 1e9")

-- ---- NVRTC -----------------------------------------------------------------------------------------------------------------------

local function complaints(log, spills)
  local out = {}
  for row in log:gmatch "[^\n]+" do
    local stores, loads = row:match "(%d+) bytes spill stores, (%d+) bytes spill loads"
    if row:find "[Ww]arning" or row:find "C75%d%d" or row:find "error" then out[#out + 1] = row end
    if spills and stores and (stores ~= "0" or loads ~= "0") then out[#out + 1] = row end
  end
  return table.concat(out, "\n")
end

local forms = {
  { "ring of threads", function() return ring(0) end, true },
  { "ring of threads, sm_80", function() return ring(0, false, "sm_80") end, true },
  { "ring of threads, sm_100a", function() return ring(0, false, "sm_100a") end, true },
  { "copy through TMA", lab.tma_copy, true },
  { "GEMM 64 x 64", lab.gemm, true },
  { "GEMM 128 x 256, cluster of 2", function() return lab.gemm { warpgroups = 2, n = 256, stages = 4, cluster = 2 } end, true },
  { "GEMM, one stage, no lag", function() return lab.gemm { stages = 1, lag = 0 } end, true },
  { "GEMM, plain stores, f16", function() return lab.gemm { epilogue = "plain", dtype = "f16", group = "none" } end, true },
  -- its loading warp has 24 registers and needs them all: there the instruments spill
  { "attention, d 128, causal", function()
    local attention = require "weir.kernels.attention"
    return attention.kernel { d = 128, causal = true, config = attention.choose { d = 128, causal = true } }
  end, false },
}
local cubin, why, status = watched:cubin()
if status == "no_compiler" then
  tap.skip("NVRTC is not found", 3 * #forms + 1)
else
  tap.ok(cubin, why or "a watchdog build compiles")
  for _, form in ipairs(forms) do
    local name, kernel, spills = table.unpack(form)
    local p = kernel():build { device = dev, watchdog = 2 }
    cubin, why = p:cubin()
    tap.is("", cubin and complaints(p:log(), spills) or why, name .. ": with a watchdog no complaint of ptxas")
    local text, log = plan.traced(p)
    tap.is("", text and complaints(log, false) or log, name .. ": with both")
    text, log = plan.traced(kernel():build { device = dev })
    tap.is("", text and complaints(log, spills) or log, name .. ": traced")
  end
end
tap.done()
