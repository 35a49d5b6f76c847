#!/usr/bin/env lua5.4
-- Every pipeline type, group mode and legal mix in the simulator (t/gen/pipes.lua): proved, then run, every element compared.
--
--   lua5.4 t/pipes.t              cells that cover every pair of traits and every entry of the compatibility matrix
--   lua5.4 t/pipes.t all [1/2]    all of them (an hour), or the first of two parts; the result goes to bench/results/pipes-sim.json
--   lua5.4 t/pipes.t PATTERN      those whose name matches
local tap = require "tap"
local weir = require "weir"
local pipes = require "gen.pipes"

local which, part = arg[1], arg[2]
local cells = {}
if not which then
  local covering, total, left = pipes.covering(60)
  tap.ok(#covering <= 60, ("%d cells are no more than 60"):format(#covering))
  tap.is(0, left, ("they have all %d pairs of traits and entries of the matrix"):format(total))
  cells = covering
else
  for _, c in ipairs(pipes.cells()) do
    if which == "all" or pipes.name(c):find(which) then cells[#cells + 1] = c end
  end
  cells = pipes.part(cells, part)
end

local dev = assert(weir.device("sim", { seed = 3 }))
local sum = pipes.test(tap, cells, dev)

local function output(command)
  local p = io.popen(command)
  local text = p and p:read "l" or "?"
  if p then p:close() end
  return text
end

if which == "all" then
  local path = ("bench/results/pipes-sim%s.json"):format(part and "-" .. part:gsub("/", "of") or "")
  local f = assert(io.open(path, "w"))
  local failed = {}
  for name in pairs(sum.failed) do failed[#failed + 1] = ("%q"):format(name) end
  table.sort(failed)
  f:write(('{ "kind": "pipes", "what": "t/pipes.t all: every pipeline type, group mode and mix in the simulator", "date": "%s", "revision": "%s", "arch": "sm_90a",\n'
    .. '  "cells": %d, "proved": %d, "passed": %d, "launches": %d, "elements": %d, "failed": [%s] }\n')
    :format(os.date "!%Y-%m-%d", output "git rev-parse --short HEAD", sum.cells, sum.proved, sum.passed, sum.launches, sum.elements,
      table.concat(failed, ", ")))
  f:close()
end
tap.done()
