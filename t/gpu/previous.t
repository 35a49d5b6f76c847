#!/usr/bin/env lua5.4
-- The runs of t/previous.t on a GPU: with every queue and raster, each tile stored once, a turn late.
local tap = require "tap"
local weir = require "lab".weir
if weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/previous.t"
