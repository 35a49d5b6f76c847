#!/usr/bin/env lua5.4
-- The numbers of t/rounding.lua through a GPU's tensor core, against what was recorded of an H200.
--
--   lua5.4 t/gpu/rounding.t              compares with t/vectors/h200_rounding.lua
--   lua5.4 t/gpu/rounding.t record FILE  writes what this GPU gives, and the digests of whole GEMMs (t/kernel_cases.lua), which t/kernels_gemm.t
--                                        and t/gpu/kernels.t compare
--   lua5.4 t/gpu/rounding.t compile      compiles into the disk cache, and runs nothing: needs no GPU
package.path = "./?.lua;t/?.lua;" .. package.path
local tap = require "tap"
local record = require "record"
local weir = require "weir"
local rounding = require "rounding"
local gemm = require "kernel_cases".gemm
local mode = arg[1]

if mode == "compile" then
  local _, program = rounding.program(weir, weir.device("sim", { seed = 1 }))
  tap.ok(program:cubin(), "the kernel compiles")
  tap.done()
end
if weir.device_count() == 0 then tap.skip_all "no GPU" end
local dev = weir.device(0)
local recorded = mode ~= "record" and dofile(rounding.file).rounds or {}

local run = rounding.program(weir, dev)
local names, seen, differ = {}, {}, {}
for _, round in ipairs(rounding.rounds()) do
  local name = round.name
  names[#names + 1] = name
  seen[name] = rounding.text(run(round))
  if mode ~= "record" and not recorded[name] then tap.skip("not recorded: " .. name)
  elseif recorded[name] then differ[#differ + 1] = recorded[name] ~= seen[name] and name or nil end
end

if mode == "record" then
  local right, digests = {}, {}
  for _, case in ipairs(gemm.cases) do
    if gemm.same_bits(case) then
      local ok, got = pcall(gemm.run, dev, case)
      if tap.ok(ok and got.bad == 0, case[1] .. ": runs, and is right") then right[#right + 1], digests[case[1]] = case[1], got.digest
      else tap.diag(tostring(got)) end
    end
  end
  record.write(arg[2], "What a GPU's tensor core gave for the numbers of t/rounding.lua: written by t/gpu/rounding.t, compared by it and by t/sim/rounding.t.",
    dev, { "rounds", names, seen }, { "gemms", right, digests })
  tap.ok(#names >= 200, #names .. " rounds recorded")
else
  tap.is({}, differ, "every recorded round, to the bit")
end
tap.done()
