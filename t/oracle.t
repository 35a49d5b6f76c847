#!/usr/bin/env lua5.4
-- Random small schedules, right and wrong: the prover and the explorer of actions, which reduces nothing, say the same of each.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local campaign, schedules = require "gen.campaign", require "gen.schedules"

-- descriptions are read as they are written
local off = {}
for seed = 1, 200 do
  local s = schedules.random(seed, { mistakes = 0 })
  local text = schedules.text(s):gsub("^seed %d+: ", "")
  local again = schedules.text(schedules.parse(text)):gsub("^seed 0: ", "")
  if text ~= again then off[#off + 1] = text .. "\n" .. again end
end
tap.is({}, off, "descriptions go out and come back")

local from = os.clock()
local r = campaign.random(plan, weir, 1, 1000, { limit = 12000, far = 60000 })
tap.is({}, r.wrong, ("%d schedules, %d proved, %d refuted: no contradiction"):format(r.compared, r.safe, r.unsafe))
tap.ok(r.agreed >= 860, ("%d decided by both alike"):format(r.agreed))
tap.ok(r.incomplete <= 10, ("%d left open by the prover"):format(r.incomplete))
tap.ok(r.valid > 260 and r.unsafe > 300, ("%d right ones, none called unsafe"):format(r.valid))
local seen = {}
for kind in pairs(r.kinds) do seen[#seen + 1] = kind end
table.sort(seen)
tap.ok(#seen >= 11, "kinds of faults met: " .. table.concat(seen, " "))
tap.diag(("%d states in %.1f s"):format(r.states, os.clock() - from))
tap.done()
