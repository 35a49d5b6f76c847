#!/usr/bin/env lua5.4
-- Mutants of right schedules: each harmful one is found, in its class; what survives is equal, says the explorer.
local tap = require "tap"
local lab = require "lab"
local plan, weir = lab.plan, lab.weir
local campaign, mutants = require "gen.campaign", require "gen.mutants"

local bases = mutants.bases(weir, lab)
tap.ok(#bases >= 20, ("%d bases"):format(#bases))
local n, alarms = campaign.controls(plan, weir, lab)
tap.is({}, alarms, ("%d bases and harmless edits are proved"):format(n))

local r = campaign.mutants(plan, weir, lab, 3, 8, { limit = 30000, far = 200000 })
tap.ok(r.all >= 2000 and r.made >= 300, ("%d of %d mutants"):format(r.made, r.all))
tap.is({}, r.wrong, ("%d found in their class, %d refused by the plan, %d equal: none missed, none misnamed"):format(r.found, r.refused, r.survives))
tap.ok(r.undecided <= 2 and r.open <= 16, ("%d left open by the prover, %d by the explorer"):format(r.undecided, r.open))
local numbers = {}
for number in pairs(r.operators) do numbers[#numbers + 1] = tonumber(number) end
tap.ok(#numbers >= 28, ("%d operators"):format(#numbers))

-- A proxy fence left out, or run behind the join: of each base that has one, and what the explorer says of it.
local agreement = require "gen.agreement"
local fences, missed, reads = 0, {}, 0
for _, m in ipairs(mutants.all(plan, weir, lab)) do
  if m.number == 20 then
    local result, why, said = mutants.judge(agreement, plan, m, { limit = 30000, far = 200000 })
    fences = fences + 1
    if result ~= "found" then missed[#missed + 1] = ("%s: %s: %s %s"):format(m.base.name, m.what, result, why) end
    for _, f in ipairs(said.findings) do if f.rule == "PROVE-PROXY" and f.message:find("read it with no fence between the read and its hand-over", 1, true) then reads = reads + 1 break end end
  end
end
tap.is({}, missed, ("%d proxy fences left out or late, each found as that, borne out by the explorer"):format(fences))
tap.ok(fences >= 28 and reads >= 18, ("%d of them behind what threads read"):format(reads))

-- What is refused before there is a plan, and what must pass: shared memory full to the last byte, a gap between warps.
local numbers_of = {}
for _, m in ipairs(mutants.all(plan, weir, lab)) do
  if m.rules then numbers_of[m.number] = (numbers_of[m.number] or 0) + 1 end
end
tap.ok(numbers_of[25] >= 30 and numbers_of[27] >= 200 and numbers_of[29] >= 25 and numbers_of[30] >= 60, "25, 27, 29, 30: descriptions that are refused")
do
  local base
  for _, b in ipairs(bases) do if b.name == "loads" then base = b end end
  local schedules = require "gen.schedules"
  local function filled(more)
    local c = schedules.copy(base.schedule)
    c.pad = mutants.fits(plan, weir, base) + more
    return schedules.kernel(weir, c)
  end
  local k = filled(0)
  tap.is(227 * 1024, plan.get(assert(plan.of(k)), "plan", 0, "smem_total"), "29: all 227 KiB of shared memory")
  tap.is({ true, "SAFE" }, { k:verify().ok, k:verify().proof.verdict }, "29: ... are proved")
  local report = filled(1):verify()
  tap.is({ "PLAN-SMEM" }, (function() local out = {} for i, f in ipairs(report.findings) do out[i] = f.rule end return out end)(), "29: a byte more is refused, and nothing else is said")
  tap.like("at most 232448 bytes, got 232464 bytes", report.text, "29: ... with both numbers")
  local apart = schedules.copy(base.schedule)
  apart.apart = 8
  report = schedules.kernel(weir, apart):verify()
  tap.is({ true, "X-WARP-03", "note" }, { report.ok, report.findings[1].rule, report.findings[1].severity }, "30: a gap between the tasks' warps is noted")
end
tap.done()
