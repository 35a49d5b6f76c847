#!/usr/bin/env lua5.4
-- The runs of t/clusters.t on a GPU: loads that the first CTA of a cluster issues for all.
local tap = require "tap"
local weir = require "lab".weir
if weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/clusters.t"
