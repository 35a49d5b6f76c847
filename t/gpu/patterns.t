#!/usr/bin/env lua5.4
-- t/patterns.t on a GPU.
--
--   lua5.4 t/gpu/patterns.t                 runs them
--   lua5.4 t/gpu/patterns.t compile         only compiles them, anywhere with NVRTC, into the disk cache ($XDG_CACHE_HOME/weir)
local tap = require "tap"
local weir = require "weir"
if arg[1] ~= "compile" and weir.device_count() == 0 then tap.skip_all "no GPU" end
dofile "t/patterns.t"
