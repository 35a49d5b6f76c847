#!/usr/bin/env lua5.4
-- The simulator against real hardware: the kernels of t/layouts.lua show what an H200 showed, as recorded.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local layouts = require "layouts"

local chunk = loadfile(layouts.file)
if not chunk then tap.skip_all("nothing recorded in " .. layouts.file .. ": t/gpu/layouts.t record, on an H200, writes it") end
local h200 = chunk()
tap.diag(("recorded on %s, driver %s, revision %s, %s"):format(h200.device, h200.driver, h200.revision, h200.date))
local n = 0
for _, probe in ipairs(layouts.probes(lab.weir, lab.plan)) do
  local wrong = {}
  local ok, message = pcall(probe.run, lab.device(), function(name, words)
    if not h200.probes[name] then return tap.skip("not recorded: " .. name) end
    n = n + 1
    if h200.probes[name] ~= layouts.digest(words) then wrong[#wrong + 1] = name end
  end)
  if not tap.ok(ok, probe.name .. " runs") then tap.diag(message) end
  tap.is({}, wrong, probe.name .. ": as on the H200")
end
local of = 0
for _ in pairs(h200.probes) do of = of + 1 end
tap.is(of, n, "every recorded layout was looked at")
tap.done()
