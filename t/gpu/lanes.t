#!/usr/bin/env lua5.4
-- The runs of t/lanes.t on a GPU: every loop length and tile count at the borders, each block by the lane that had its tile.
local tap = require "tap"
local weir = require "lab".weir
if weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/lanes.t"
