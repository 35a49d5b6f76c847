#!/usr/bin/env lua5.4
-- The GEMM on a GPU: every element against double precision, odd sizes, empty ones, launches that must be equal bit for bit.
local tap = require "tap"
package.path = "./?.lua;" .. package.path
local weir = require "weir"
if weir.device_count() == 0 then tap.skip_all "no GPU" end
local gemm = require "weir.kernels.gemm"
local reference = require "examples.reference"
local dev = weir.device(0)

local programs = {}
local function program_for(c)
  local key = ("%d %d %d %d"):format(c.bm, c.bn, c.stages, c.cluster_m)
  programs[key] = programs[key] or gemm.build { config = c, device = dev }
  return programs[key]
end

local sizes = { { 1, 1, 1 }, { 1, 1, 0 }, { 128, 256, 0 }, { 1, 300, 64 }, { 300, 1, 64 }, { 128, 256, 64 }, { 129, 257, 65 }, { 1000, 1000, 1000 },
                { 5000, 136, 5016 }, { 64, 8192, 512 }, { 33, 65, 7 }, { 2048, 2048, 2048 } }
for _, s in ipairs(sizes) do
  local m, n, k = table.unpack(s)
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(m), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(n + 1)
  local d = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
  for _, c in ipairs { gemm.choose { m = m, n = n, k = k, pitch = a.stride[1] * 2 }, { bm = 128, bn = 256, stages = 1, cluster_m = 1 } } do
    d:fill(0 / 0)
    assert(program_for(c):launch { A = a, B = b, D = d })
    tap.is(true, dev:sync(), ("%d x %d x %d, %d stages, cluster %d runs"):format(m, n, k, c.stages, c.cluster_m))
    local e = reference.gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = a, B = b, D = d, m = m, n = n, k = k }
    tap.is(0, e.bad, ("no element is off (relative error %.2e)"):format(e.relative))
  end
end

-- the same bits, a hundred times
local a, b = dev:tensor { dtype = "bf16", shape = { 512, 1024 } }:randn(1), dev:tensor { dtype = "bf16", shape = { 512, 1024 } }:randn(2)
local d = dev:tensor { dtype = "bf16", shape = { 512, 512 } }
local program, first, same = program_for(gemm.choose { m = 512, n = 512, k = 1024 }), nil, 0
for _ = 1, 100 do
  d:fill(0 / 0)
  assert(program:launch { A = a, B = b, D = d })
  local bytes = d:get "bytes"
  first = first or bytes
  if bytes == first then same = same + 1 end
end
tap.is(100, same, "a hundred launches, the same bits")

-- refused before the driver is asked, and the device still works afterwards
local foreign = { address = a.address + 2, shape = { 512, 1024 }, stride = { 1024, 1 }, dtype = "bf16" }
tap.raises("TMA needs 16-byte alignment", function() program:launch { A = foreign, B = b, D = d } end, "a base off 16 bytes")
foreign.address, foreign.stride = a.address, { 1023, 1 }
tap.raises("TMA needs a multiple of 16 bytes", function() program:launch { A = foreign, B = b, D = d } end, "a pitch off 16 bytes")
tap.is(true, program:launch { A = a, B = b, D = d }, "a good launch after the refused ones")
tap.is(true, dev:sync(), "runs")
tap.done()
