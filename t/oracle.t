#!/usr/bin/env lua5.4
-- Random small schedules, right and wrong: the prover and the explorer of actions, which reduces nothing, say the same of each.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local campaign, schedules, agreement = require "gen.campaign", require "gen.schedules", require "gen.agreement"

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

-- Two rings between two tasks, whose bytes overlap: what a task has waited for is over for who waits for what it copied since.
local wrong, verdicts, kinds = {}, { SAFE = 0, UNSAFE = 0 }, { "cp", "tma", "threads", "tx" }
for i = 0, 4 * 4 * 3 * 2 * 2 * 2 - 1 do
  local a, b = kinds[i % 4 + 1], kinds[i // 4 % 4 + 1]
  local steps, whole = i // 96 % 2 + 2, i // 192 == 1
  local text = ("p1:%s/%d p2:%s/%d | t1(1) for %d{ p1.wait p1.use p1.release p2.acquire p2.fill p2.commit }"
    .. " | t2(1) for %d{ p1.acquire p1.fill p1.commit p2.wait p2.use p2.release }"):format(a, i // 16 % 3 + 1, b, i // 48 % 2 + 1, steps, steps)
  local k = schedules.kernel(weir, schedules.parse(text))
  local program = assert(plan.of(k))
  local offset, size = plan.get(program, "smem", 0, "offset"), plan.get(program, "smem", 0, "size")
  plan.set(program, "smem", 1, "offset", whole and offset or offset + size - 1)
  local said = agreement.compare(plan, program, { { N = 3, M = 1, T = 1, R = 64, tiles = 1 } }, { limit = 40000 })
  if said.wrong or said.open then wrong[#wrong + 1] = ("%s: %s"):format(text, said.wrong or said.open) end
  verdicts[said.verdict] = verdicts[said.verdict] + 1
  program:close()
  k:close()
end
tap.is({}, wrong, ("rings that overlap, by a byte or wholly: %d proved, %d refuted, as explored"):format(verdicts.SAFE, verdicts.UNSAFE))
tap.ok(verdicts.SAFE > 150 and verdicts.UNSAFE > 100, "both ways")
tap.is({}, campaign.random(plan, weir, 109199, 1, { limit = 40000, far = 400000 }).wrong, "a load that a task has waited for is over behind its cp.async")
tap.done()
