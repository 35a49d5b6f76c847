#!/usr/bin/env lua5.4
-- The runs of t/split.t on a GPU: register tiles whose columns several warpgroups share.
local tap = require "tap"
local weir = require "lab".weir
if weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/split.t"
