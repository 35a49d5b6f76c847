#!/usr/bin/env lua5.4
-- The runs of t/push.t on a GPU: CTAs of a cluster that copy into each other.
local tap = require "tap"
local weir = require "lab".weir
if weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/push.t"
