#!/usr/bin/env lua5.4
-- The CUDA C++ of bodies on a GPU: the kernels of t/device.lua, which t/sim/device.t runs in the simulator.
package.path = "./?.lua;t/?.lua;" .. package.path
local tap = require "tap"
local weir = require "weir"
local device = require "device"
if weir.device_count() == 0 then tap.skip_all "no GPU" end
device.run(weir.device(0), function(name, wrong) tap.is({}, wrong, name) end)
device.run_copies(weir.device(0), function(name, wrong) tap.is({}, wrong, name) end)
tap.done()
