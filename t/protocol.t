#!/usr/bin/env lua5.4
-- Pipelines: rows, arrive counts, bytes, masks, cursors and tails, against hand-counted vectors.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath

local core, suite = require "weir_test", require "pipelines_suite"

suite.protocol(tap, require "pipelines", core)
suite.properties(tap, core)
tap.done()
