#!/usr/bin/env lua5.4
-- Kernels that get stuck: the prover refuses each, the simulator stops it, and both name the same barrier. t/gpu/watchdog.t runs the
-- same ones on a GPU.
local tap = require "tap"
local deadlocks = require "deadlocks"
local weir = require "weir"

local dev = assert(weir.device("sim", { seed = 2 }))
local stuck = 0
for _, mutant in ipairs(deadlocks.list()) do
  local p, verdict, findings = deadlocks.build(mutant, { device = dev })
  tap.is("UNSAFE", verdict, mutant.name .. ": refused")
  local ok, message = mutant.run(p, dev)
  if not ok then                        -- some need another length, or a second tile, to get stuck
    tap.like("[sim-deadlock]", message, mutant.name .. ": stops")
    local waits = deadlocks.waits(message)
    stuck = stuck + 1
    if not tap.ok(deadlocks.same_culprit(findings, waits), mutant.name .. ": at the same barrier") then
      tap.diag(message)
      for _, f in ipairs(findings) do tap.diag(f.message) end
    end
  end
end
tap.ok(stuck >= 60, stuck .. " kernels that get stuck")
tap.done()
