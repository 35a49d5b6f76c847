#!/usr/bin/env lua5.4
-- Pipelines: rows, arrive counts, bytes, masks, cursors and tails, against hand-counted vectors.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath

require "pipelines_suite".protocol(tap, require "pipelines", require "weir_test")
tap.done()
