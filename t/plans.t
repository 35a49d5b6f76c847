#!/usr/bin/env lua5.4
-- No false alarms: every cell of the pipeline generator and every configuration of the ready-made kernels is planned and proved. None
-- is compiled or run.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local pipes = require "gen.pipes"

local alarms, tally = {}, {}
local function judge(name, k)
  local program, why = plan.of(k)
  local verdict, _, text = "no plan", nil, why
  if program then verdict, _, text = plan.prove(program) end
  tally[verdict] = (tally[verdict] or 0) + 1
  if verdict ~= "SAFE" then alarms[#alarms + 1] = name .. ": " .. tostring(text) end
  if program then program:close() end
  k:close()
end

for _, c in ipairs(pipes.cells()) do judge(pipes.name(c), pipes.kernel(c)) end
tap.is({}, alarms, ("%d cells of pipelines, groups and clusters"):format(tally.SAFE or 0))
tap.ok((tally.SAFE or 0) > 1000, "more than a thousand")

local gemm, attention = require "weir.kernels.gemm", require "weir.kernels.attention"
alarms, tally = {}, {}
local function gemms(o)
  local name = {}
  for key, v in pairs(o) do name[#name + 1] = key .. " " .. tostring(v) end
  table.sort(name)
  for i, k in ipairs((gemm.kernels(o))) do judge("gemm " .. table.concat(name, ", ") .. " " .. i, k) end
end
for _, dtype in ipairs { "bf16", "f16", "tf32", "e4m3" } do
  for _, m in ipairs { 16, 300, 8192 } do gemms { dtype = dtype, m = m, n = 1000, k = 4096 } end
end
for _, o in ipairs { { a_major = "m" }, { b_major = "n" }, { batched = true }, { alpha = true, beta = .5 }, { bias = "n" }, { bias = "m", activation = "gelu" },
  { out = "f32" }, { dtype = "e4m3", scales = true, accumulate = "promoted" }, { pdl = false }, { m = 64, n = 64, k = 65536 } } do gemms(o) end
for _, c in ipairs(gemm.candidates { m = 4096, n = 4096, k = 4096 }) do gemms { m = 4096, n = 4096, k = 4096, config = c } end
tap.is({}, alarms, ("%d products"):format(tally.SAFE or 0))

alarms, tally = {}, {}
for _, d in ipairs { 64, 128, 256 } do
  for _, causal in ipairs { false, true } do
    for i, c in ipairs(attention.candidates { d = d, causal = causal }) do
      judge(("attention %d %s %d"):format(d, causal, i), (attention.kernel { d = d, causal = causal, config = c }))
    end
  end
  judge("attention with a window", (attention.kernel { d = d, window = { left = 100, right = 20 } }))
end
tap.is({}, alarms, ("%d attentions"):format(tally.SAFE or 0))

-- Bodies with mmas of their own: each task's warpgroups join at barriers of their own.
alarms, tally = {}, {}
for _, warps in ipairs { 4, 8 } do
  local k = weir.kernel { name = "bodies", arch = "sm_90a" }
  local N, s = k:dim "N", {}
  for i = 1, 2 do
    s[i] = k:resource { name = "s" .. i, space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.tma_umma { stages = 2 },
      work = { put = weir.producer_work { code = ";", tx_bytes = 64 }, get = weir.consumer_work { code = ";", async_read = true } } }
  end
  k:task { name = "load", warps = { 12, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do for i = 1, 2 do s[i]:acquire(); s[i]:put(); s[i]:commit() end end
  end }
  for i = 1, 2 do
    k:task { name = "use" .. i, warps = { i == 1 and 0 or 8, i == 1 and warps or 4 }, schedule = function()
      for _ in weir.domain_loop(0, N) do s[i]:wait(); s[i]:get(); s[i]:release() end
    end }
  end
  judge(("bodies with mmas, %d warps"):format(warps), k)
end
tap.is({}, alarms, ("%d with mmas in bodies"):format(tally.SAFE or 0))

for _, name in ipairs { "rms_norm", "layer_norm", "softmax", "reduce" } do
  local M = require("weir.kernels." .. name)
  for _, n in ipairs { 128, 8192 } do
    local ok, p = pcall(M.build, { n = n, m = 4096, op = name == "reduce" and "sum" or nil })
    tap.ok(ok, ("%s of rows of %d%s"):format(name, n, ok and "" or ": " .. tostring(p)))
  end
end
local ok, p = pcall(require("weir.kernels.transpose").build, {})
tap.ok(ok, "transpose" .. (ok and "" or ": " .. tostring(p)))
tap.done()
