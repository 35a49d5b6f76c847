#!/usr/bin/env lua5.4
-- kernels/attention.lua in the simulator: masks, windows, heads that share keys, lengths that are no multiple of anything; proved for
-- every length.
local tap = require "tap"
local weir = require "weir"
local attention = require "weir.kernels.attention"
local cases = require "kernel_cases"

local dev = assert(weir.device("sim", { seed = 12 }))
for _, case in ipairs(cases.attention.cases) do
  local ok, seen = pcall(cases.attention.run, dev, case)
  if tap.ok(ok, case[1] .. ": builds and runs") then
    tap.is("SAFE", seen.verdict, case[1] .. ": proved for every length")
    if not tap.ok(seen.bad == 0 and seen.relative < 0.01, ("%s: right, relative error %.1e"):format(case[1], seen.relative)) then
      tap.diag(seen.bad .. " elements are off")
    end
  else
    tap.diag(tostring(seen))
  end
end

for _, o in ipairs { { d = 64 }, { d = 128 }, { d = 256 } } do
  for _, c in ipairs(attention.candidates(o)) do
    if c.heads == 8 then
      local ok, k = pcall(attention.kernel, { d = o.d, causal = true, config = c })
      local report = ok and k:verify() or k
      tap.ok(ok and report.ok and report.proof.verdict == "SAFE", ("candidate: d %d, %d x %d, %d stages"):format(o.d, 64 * c.warpgroups, c.bn, c.stages))
      if not (ok and report.ok) then tap.diag(tostring(report)) end
    end
  end
end

local function refused(wanted, options, name)
  local err = tap.raises(wanted, function() attention.build(options) end, name)
  tap.like("t/kernels_attention.t:", err, name .. ": a place")
end
refused("d is a multiple of 8 up to 256, got 100", { d = 100 }, "an odd head dimension")
refused("d is a multiple of 8 up to 256, got nil", {}, "no head dimension")
refused("window.left is a whole number of keys, got -1", { d = 64, window = -1 }, "a negative window")
refused("unknown option 'casual'", { d = 64, casual = true }, "an unknown option")

tap.done()
