#!/usr/bin/env lua5.4
-- What a run in the simulator may cost, all checks on, in seconds of one core (the host compiler is not counted: it runs once a kernel).
local tap = require "tap"
local weir = require "weir"
local dev = weir.device("sim", { seed = 3 })

local function costs(name, limit, f)
  f()                                                     -- compiles
  local from = os.clock()
  f()
  local took = os.clock() - from
  tap.ok(took <= limit, ("%s: %.2f s of at most %g"):format(name, took, limit))
end

local gemm = dofile "kernels/gemm.lua".build { dtype = "bf16", m = 512, n = 512, k = 512, device = dev, arch = "sm_90a" }
local a, b = dev:tensor { dtype = "bf16", shape = { 512, 512 } }:randn(1), dev:tensor { dtype = "bf16", shape = { 512, 512 } }:randn(2)
local d = dev:tensor { dtype = "bf16", shape = { 512, 512 } }
costs("GEMM 512 x 512 x 512", 3, function() assert(gemm:launch { A = a, B = b, D = d }) end)

local attention = dofile "kernels/attention.lua".build { dtype = "bf16", d = 128, device = dev, arch = "sm_90a" }
local t = {}
for i, name in ipairs { "Q", "K", "V", "O" } do t[name] = dev:tensor { dtype = "bf16", shape = { 1, 2, 1024, 128 } }:randn(i) end
costs("attention, 2 heads of 1024", 10, function() assert(attention:launch(t)) end)
tap.done()
