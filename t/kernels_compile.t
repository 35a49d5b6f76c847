#!/usr/bin/env lua5.4
-- What ptxas says of the kernels as they ship: no spill, no serialised wgmma, no dropped setmaxnreg, no warning. Needs NVRTC, no GPU.
local tap = require "tap"
local weir = require "weir"
local gemm, attention = require "weir.kernels.gemm", require "weir.kernels.attention"

local dev = assert(weir.device "sim")

-- Rows of the log that must not be there; nil, code where nothing could be compiled.
local function complaints(ready)
  local out = {}
  for _, step in ipairs(ready.steps) do
    local cubin, message, code = step.program:cubin()
    if not cubin then return nil, code == "no_compiler" and code or message end
    for row in step.program:log():gmatch "[^\n]+" do
      local stores, loads = row:match "(%d+) bytes spill stores, (%d+) bytes spill loads"
      local spills = stores and (stores ~= "0" or loads ~= "0")
      if spills or row:find "[Ww]arning" or row:find "C75%d%d" then out[#out + 1] = row end
    end
  end
  return table.concat(out, "\n")
end

local shipped = {}
local function ship(name, build, options)
  options.device = dev
  shipped[#shipped + 1] = { name, build, options }
end
for _, c in ipairs(gemm.candidates { dtype = "bf16", out = "bf16", m = 512, n = 512, k = 512 }) do
  if c.split == 1 and c.cluster_m == 2 then ship(("gemm %d x %d"):format(c.bm, c.bn), gemm.build, { config = c }) end
end
ship("gemm, every operand of the epilogue", gemm.build, { alpha = true, beta = true, bias = "n", activation = "gelu", config = { bm = 128, bn = 256 } })
ship("gemm, f32 output", gemm.build, { out = "f32", config = { bm = 128, bn = 256 } })
ship("gemm, m-major and n-major", gemm.build, { a_major = "m", b_major = "n", config = { bm = 128, bn = 256 } })
ship("gemm, e4m3", gemm.build, { dtype = "e4m3", scales = true, config = { bm = 128, bn = 256 } })
ship("gemm, e4m3 promoted", gemm.build, { dtype = "e4m3", accumulate = "promoted", config = { bm = 128, bn = 128 } })
ship("gemm, e4m3 promoted, 128 x 192, every operand", gemm.build, { dtype = "e4m3", accumulate = "promoted", scales = true, beta = true, bias = "n", activation = "gelu",
  config = { bm = 128, bn = 192 } })
ship("gemm, tf32", gemm.build, { dtype = "tf32", config = { bm = 128, bn = 256 } })
ship("gemm, 256 x 152, pairs", gemm.build, { config = { bm = 256, bn = 152, cluster_m = 2, cluster_n = 1 } })
ship("gemm, 256 x 152, pairs, bias, gelu", gemm.build, { bias = "n", alpha = true, activation = "gelu", config = { bm = 256, bn = 152, cluster_m = 2, cluster_n = 1 } })
ship("gemm, staggered", gemm.build, { config = { bm = 128, bn = 256, stagger = 4 } })
ship("gemm, staggered, 256 x 128, C", gemm.build, { beta = true, config = { bm = 256, bn = 128, stagger = 2 } })
ship("gemm, in turn, 128 x 128", gemm.build, { config = { bm = 128, bn = 128, cluster_m = 2, cluster_n = 1, pingpong = true } })
ship("gemm, in turn, 64 x 256, C", gemm.build, { beta = true, bias = "n", activation = "gelu", config = { bm = 64, bn = 256, pingpong = true } })
ship("gemm, in turn, e4m3 promoted", gemm.build, { dtype = "e4m3", accumulate = "promoted", config = { bm = 64, bn = 128, pingpong = true } })
ship("gemm, K in 4 parts", gemm.build, { bias = "m", config = { bm = 128, bn = 128, split = 4 } })
ship("gemm, stream-K", gemm.build, { bias = "n", config = { bm = 128, bn = 256, stream = true } })
for _, d in ipairs { 64, 128, 256 } do
  for _, causal in ipairs { false, true } do
    ship(("attention d %d%s"):format(d, causal and " causal" or ""), attention.build, { d = d, causal = causal })
  end
end
ship("attention, in turn", attention.build, { d = 128, causal = true, config = { pingpong = true } })
ship("attention, window and LSE", attention.build, { d = 128, causal = true, window = 1024, lse = true })
for _, n in ipairs { 1024, 8192, 32768, 100000 } do
  ship(("rms_norm %d"):format(n), require "weir.kernels.rms_norm".build, { n = n, residual = true })
  ship(("layer_norm %d"):format(n), require "weir.kernels.layer_norm".build, { n = n })
  ship(("softmax %d"):format(n), require "weir.kernels.softmax".build, { n = n })
end
ship("transpose", require "weir.kernels.transpose".build, {})
ship("elementwise", require "weir.kernels.elementwise".build, { inputs = { "x" }, outputs = { "y" }, f = weir.relu })

for i, kernel in ipairs(shipped) do
  local seen, why = complaints(kernel[2](kernel[3]))
  if why == "no_compiler" then
    tap.skip("NVRTC is not found", #shipped - i + 1)
    break
  end
  tap.is("", seen or why, kernel[1])
end
tap.done()
