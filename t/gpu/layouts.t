#!/usr/bin/env lua5.4
-- The kernels of t/layouts.lua on an H200, against what was recorded of one.
--
--   lua5.4 t/gpu/layouts.t              compares with t/vectors/h200_layouts.lua
--   lua5.4 t/gpu/layouts.t record FILE  writes what this GPU shows
--   lua5.4 t/gpu/layouts.t compile      compiles into the disk cache, and runs nothing: needs no GPU
package.path = "./?.lua;t/?.lua;" .. package.path
local tap = require "tap"
local record = require "record"
local lab = require "lab"
local layouts = require "layouts"
local weir, plan = lab.weir, lab.plan
local mode = arg[1]

if mode == "compile" then
  for _, probe in ipairs(layouts.probes(weir, plan)) do tap.ok(probe.build(lab.device()):cubin(), probe.name .. " compiles") end
  tap.done()
end
if weir.device_count() == 0 then tap.skip_all "no GPU" end
local dev = weir.device(0)
local recorded = {}
if mode ~= "record" then
  local chunk = loadfile(layouts.file)
  if not chunk then tap.skip_all("nothing is recorded in " .. layouts.file) end
  recorded = chunk().probes
end

local names, seen = {}, {}
for _, probe in ipairs(layouts.probes(weir, plan)) do
  local ok, message = pcall(probe.run, dev, function(name, words)
    names[#names + 1] = name
    seen[name] = layouts.digest(words)
    if mode ~= "record" and not recorded[name] then tap.skip("not recorded: " .. name)
    elseif mode ~= "record" then tap.is(recorded[name], seen[name], name) end
  end)
  if not tap.ok(ok, probe.name .. " runs") then tap.diag(message) end
end

if mode == "record" then
  record.write(arg[2], "What the kernels of t/layouts.lua showed on a GPU: written by t/gpu/layouts.t, compared by it and by t/sim/layouts.t.", dev,
    { "probes", names, seen })
  tap.ok(#names >= 200, #names .. " layouts recorded")
end
tap.done()
