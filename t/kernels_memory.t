#!/usr/bin/env lua5.4
-- Kernels that memory bounds, in the simulator: rms_norm, layer_norm, softmax, reduce, transpose, elementwise; at lengths and pitches
-- that vectors of 16 bytes do not divide.
local tap = require "tap"
local weir = require "weir"
local cases = require "kernel_cases"

local dev = assert(weir.device("sim", { seed = 13 }))
for _, set in ipairs { cases.rows, cases.moves } do
  for _, case in ipairs(set.cases) do
    local name = case[1] .. ": " .. case[2]
    local ok, seen = pcall(set.run, dev, case)
    if tap.ok(ok, name .. ": builds and runs") then
      tap.is("SAFE", seen.verdict, name .. ": proved for every size")
      if not tap.ok(seen.bad == 0 and seen.relative < 0.01, ("%s: right, relative error %.1e"):format(name, seen.relative)) then
        tap.diag(seen.bad .. " elements are off")
      end
    else
      tap.diag(tostring(seen))
    end
  end
end

-- Bodies in CUDA are named as trusted; what is emitted from values is not.
local softmax, elementwise = require "weir.kernels.softmax", require "weir.kernels.elementwise"
tap.like("trusting rows.row's declared effects", tostring(softmax.build({ n = 8192, device = dev }).report), "a body is named in the verdict")
local relu = elementwise.build { device = dev, inputs = { "x" }, outputs = { "y" }, f = weir.relu }
tap.unlike("trust", tostring(relu.report), "values need no trust")

tap.is(0, cases.chain(dev, 72, 3), "a chain of kernels, each on what the one before wrote")

-- A row that is too long is refused at launch, not cut.
local p = softmax.build { n = 64, device = dev }
local long = dev:tensor { dtype = "bf16", shape = { 2, 2048 } }
tap.raises("dim 'N'", function() p:launch { X = long, Y = long } end, "a row longer than n")

local function refused(kernel, wanted, options, name)
  local build = require("weir.kernels." .. kernel).build
  local err = tap.raises(wanted, function() build(options) end, name)
  tap.like("t/kernels_memory.t:", err, name .. ": a place")
end
refused("rms_norm", "n, the longest row, is missing", {}, "no length")
refused("rms_norm", "dtype is one of bf16, f16, f32, got e4m3", { n = 64, dtype = "e4m3" }, "a dtype that is none of them")
refused("reduce", "op is one of sum, mean, max, min, sum_squares, norm, abs_max, got product", { n = 64, op = "product" }, "an op that is none of them")
refused("softmax", "scale is a positive number or true", { n = 64, scale = -1 }, "a negative scale")
refused("layer_norm", "128 threads with 1 vectors hold rows of 1024 elements, n is 4096", { n = 4096, config = { threads = 128, chunks = 1 } }, "too few registers")
refused("elementwise", "f returns 1 values for 2 outputs", { inputs = { "x" }, outputs = { "y", "z" }, f = weir.relu }, "an output too many")

tap.done()
