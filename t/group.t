#!/usr/bin/env lua5.4
-- Pipeline groups: what fits together, merged configs, places and counts of barriers.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath

require "pipelines_suite".group(tap, require "pipelines", require "weir_test")
tap.done()
