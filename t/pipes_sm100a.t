#!/usr/bin/env lua5.4
-- The cells of t/gen/pipes.lua on sm_100a: tensor memory, mmas that one thread issues, commits of the tensor core. Proved, run in the
-- simulator with every element compared, compiled by NVRTC. No such GPU has run them: docs/blackwell.md.
--
--   lua5.4 t/pipes_sm100a.t            cells that cover every pair of traits and every entry of the compatibility matrix
--   lua5.4 t/pipes_sm100a.t PATTERN    those whose name matches, "." for all
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local weir = require "weir"
local pipes = require "gen.pipes"

local cells = {}
if not arg[1] then
  local covering, total, left = pipes.covering(60, "sm_100a")
  tap.is(0, left, ("%d cells have all %d pairs of traits and entries of the matrix"):format(#covering, total))
  cells = covering
else
  for _, c in ipairs(pipes.cells "sm_100a") do
    if pipes.name(c):find(arg[1]) then cells[#cells + 1] = c end
  end
end

local dev = assert(weir.device("sim", { seed = 5 }))
pipes.test(tap, cells, dev)

for _, c in ipairs(cells) do
  local k, what = pipes.kernel(c)
  tap.unlike("these make", k:explain(what), pipes.name(c) .. ": the sums that explain shows are the counts")
  k:close()
end

for i, c in ipairs(cells) do
  local name = pipes.name(c)
  local cubin, message
  local ok, program = pcall(function() return pipes.kernel(c):build { device = dev } end)
  if ok then cubin, message = program:cubin() else message = program end
  if not cubin and tostring(message):find "NVRTC is not found" then
    tap.skip(tostring(message):match "[^\n]*", #cells - i + 1)
    break
  end
  local log = cubin and program:log() or tostring(message)
  tap.is(nil, not cubin and log or log:match "[^\n]*warning[^\n]*" or log:match "[^\n]*[1-9]%d* bytes spill[^\n]*", name .. " compiles without a complaint")
end
tap.done()
