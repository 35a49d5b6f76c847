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
tap.ok(#numbers >= 22, ("%d operators"):format(#numbers))

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

-- Operators that break what is checked before there is a plan.
local function refused(rule, name, make)
  local ok, k = pcall(make)
  local text = tostring(k)
  if ok then
    local report = k:verify()
    text = report.ok and "accepted" or report.text
  end
  tap.like(rule, text, name)
end
local function copy(o)
  local k = weir.kernel { name = "copy", arch = "sm_90a" }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { o.bytes or 64 }, pipeline = weir.pipeline.async_async { stages = o.stages or 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "one", warps = o.first or { 0, 4 }, registers = o.one, schedule = function() for _ in weir.domain_loop(0, 4) do s:acquire(); s:fill(); s:commit() end end }
  k:task { name = "two", warps = o.second or { 4, 4 }, registers = o.two, schedule = function() for _ in weir.domain_loop(0, 4) do s:wait(); s:use(); s:release() end end }
  return k
end
tap.ok(copy({}):verify().ok, "the base is right")
refused("REG", "27: registers beyond the pool", function() return copy { one = 256, two = 256, second = { 4, 8 } } end)
refused("REG", "27: registers no multiple of 8", function() return copy { one = 100, two = 104 } end)
refused("REG", "27: registers below 24", function() return copy { one = 16 } end)
refused("REG", "27: registers above 256", function() return copy { one = 264 } end)
refused("WARP", "30: warps of two tasks overlap", function() return copy { first = { 0, 5 } } end)
local capacity = 227 * 1024
local function filled(bytes)
  local k = copy { bytes = bytes, stages = 1 }
  return k
end
local room = capacity
while not filled(room):verify().ok do room = room - 16 end
tap.ok(room > capacity - 256, ("29: %d bytes of data fit"):format(room))
refused("SMEM", "29: shared memory over its limit", function() return filled(room + 16) end)
tap.done()
