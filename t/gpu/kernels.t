#!/usr/bin/env lua5.4
-- kernels/*.lua on a GPU: the awkward cases that the simulator runs, and larger ones against double-precision kernels of weir's own.
local tap = require "tap"
package.path = "./?.lua;" .. package.path
local weir = require "weir"
if weir.device_count() == 0 then tap.skip_all "no GPU" end
local cases = require "kernel_cases"
local reference = require "examples.reference"
local gemm = require "weir.kernels.gemm"
local dev = weir.device(0)
local h200 = dofile(require "rounding".file).gemms or {}

for _, set in ipairs { "gemm", "attention", "rows", "moves" } do
  for _, case in ipairs(cases[set].cases) do
    local name = set == "gemm" and "gemm: " .. case[1] or set == "attention" and "attention: " .. case[1] or case[1] .. ": " .. case[2]
    local ok, seen = pcall(cases[set].run, dev, case)
    if tap.ok(ok, name .. ": builds and runs") then
      if not tap.ok(seen.bad == 0 and seen.relative < 0.02, ("%s: right, relative error %.1e"):format(name, seen.relative)) then
        tap.diag(seen.bad .. " elements are off")
      end
      if set == "gemm" and h200[case[1]] then tap.is(h200[case[1]], seen.digest, name .. ": the bits that were recorded") end
    else
      tap.diag(tostring(seen))
    end
  end
end

-- GEMM at sizes where every CTA walks several tiles, each with what choose() gives.
for _, s in ipairs { { 64, 8192, 8192 }, { 128, 1024, 16384 }, { 512, 2048, 1000 }, { 2048, 2048, 2048 }, { 5000, 5016, 1016 }, { 4096, 4096, 512 } } do
  local m, n, k = table.unpack(s)
  local p = gemm.build { m = m, n = n, k = k, device = dev }
  local c = p.config
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(1), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(2)
  local d = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
  assert(p:launch { A = a, B = b, D = d })
  local name = ("%d x %d x %d by %d x %d, %d stages, cluster %d x %d, K in %d"):format(m, n, k, c.bm, c.bn, c.stages, c.cluster_m, c.cluster_n, c.split)
  tap.is(true, dev:sync(), name .. ": runs")
  local e = reference.gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = a, B = b, D = d, m = m, n = n, k = k }
  tap.is(0, e.bad, ("no element is off (relative error %.2e)"):format(e.relative))
end

-- Warpgroups in turn, several tiles a lane: tails, one k-step, none.
for _, s in ipairs { { 4096, 4096, 512, 128, 128, 2 }, { 2048, 2048, 2048, 64, 256, 1 }, { 1000, 1000, 1000, 64, 192, 1 }, { 3000, 3016, 64, 128, 128, 1 },
                     { 5000, 5016, 1016, 128, 128, 1 }, { 2048, 2048, 0, 64, 256, 2 } } do
  local m, n, k, bm, bn, pair = table.unpack(s)
  local p = gemm.build { device = dev, config = { bm = bm, bn = bn, cluster_m = pair, cluster_n = 1, split = 1, pingpong = true } }
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(1), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(2)
  local d = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
  for _, grid in ipairs { false, 2 } do
    assert(p:launch({ A = a, B = b, D = d }, { grid = grid or nil }))
    local name = ("%d x %d x %d, in turn, by %d x %d, pairs of %d%s"):format(m, n, k, bm, bn, pair, grid and ", two CTAs" or "")
    tap.is(true, dev:sync(), name .. ": runs")
    local e = reference.gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = a, B = b, D = d, m = m, n = n, k = k }
    tap.is(0, e.bad, ("no element is off (relative error %.2e)"):format(e.relative))
    d:fill(0 / 0)
  end
end

for _, side in ipairs { 128, 1000, 2048 } do tap.is(0, cases.chain(dev, side, 50), ("200 kernels of %d x %d, overlapping"):format(side, side)) end
tap.done()
