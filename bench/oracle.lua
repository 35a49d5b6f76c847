-- The prover against the oracles, at length: random schedules, random accesses of one task, every mutant, models for spin. Results in bench/results/oracle.json.
--   lua5.4 bench/oracle.lua [--schedules 10000] [--models 100] [--shares 1000]        needs no GPU, and spin; half an hour on one core
--   lua5.4 bench/oracle.lua --only mutants                                            these anew beside the other results as they are
-- The tests run a little of the same: t/oracle.t, t/mutants.t, t/spin.t.
io.stdout:setvbuf "line"
local common = require "bench.common"
package.path = "t/?.lua;" .. package.path
package.cpath = common.build .. "/t/?.so;" .. package.cpath
local lab = require "lab"
local plan, weir = lab.plan, lab.weir
local campaign, schedules, mutants, spin = require "gen.campaign", require "gen.schedules", require "gen.mutants", require "gen.spin"

local wanted = { schedules = 10000, models = 100, shares = 1000 }
for i = 1, #arg, 2 do wanted[arg[i]:match "^%-%-(%w+)$"] = math.tointeger(tonumber(arg[i + 1])) or arg[i + 1] end
local result = { kind = "oracle", setting = common.host_setting() }
local function judge_mutants()
  local from = os.clock()
  local m = campaign.mutants(plan, weir, lab, 1, 1, { limit = 300000, far = 3000000 })
  m.seconds = os.clock() - from
  m.bases = #mutants.bases(weir, lab)
  m.controls, m.alarms = campaign.controls(plan, weir, lab)
  print(("%d mutants: %d found (%d borne out), %d refused, %d equal, %d undecided, %d open, %d wrong"):format(m.made, m.found, m.borne_out, m.refused, m.survives,
    m.undecided, m.open, #m.wrong))
  return m
end
if wanted.only == "mutants" then
  local setting = result.setting
  result = common.read "bench/results/oracle.json"
  result.mutants = judge_mutants()
  result.mutants.setting = setting
  common.write("bench/results/oracle.json", result)
  return
end

-- Until so many schedules are decided by both.
local from, total = os.clock(), { agreed = 0 }
local next_seed = 100001
while total.agreed < wanted.schedules do
  local r = campaign.random(plan, weir, next_seed, math.max(100, math.min(1000, wanted.schedules - total.agreed)), { limit = 40000, far = 400000 })
  next_seed = r.last + 1
  for key, n in pairs(r) do if type(n) == "number" then total[key] = (total[key] or 0) + n end end
  total.kinds, total.wrong = total.kinds or {}, total.wrong or {}
  for kind, n in pairs(r.kinds) do total.kinds[kind] = (total.kinds[kind] or 0) + n end
  for _, text in ipairs(r.wrong) do
    total.wrong[#total.wrong + 1] = text
    print("contradiction: " .. text)
  end
  print(("%d compared, %d agreed, %d open, %.0f s"):format(total.compared, total.agreed, total.open, os.clock() - from))
end
total.last, total.seconds, total.first_seed, total.last_seed = nil, os.clock() - from, 100001, next_seed - 1
result.random = total

-- Tasks whose threads access a tile part by part, with and without the meetings that the plan gives them.
from = os.clock()
local dealt = campaign.shares(plan, weir, 100001, wanted.shares, { limit = 40000, far = 400000 })
dealt.seconds = os.clock() - from
result.shares = dealt
for _, text in ipairs(dealt.wrong) do print("contradiction: " .. text) end
print(("%d tasks, %d meetings left out: %d safe, %d races, %d open, %d wrong"):format(dealt.made, dealt.cut, dealt.safe, dealt.unsafe, dealt.open, #dealt.wrong))

result.mutants = judge_mutants()

-- Models: bases, mutants and random schedules in turn.
from = os.time()
local models = { same = 0, safe = 0, unsafe = 0, skipped = 0, differs = {} }
local function model(name, program, sizes)
  if models.same + #models.differs >= wanted.models or not program then return end
  local same, why, verdict = campaign.spin(plan, program, sizes)
  if same == nil then models.skipped = models.skipped + 1
  elseif same then
    models.same = models.same + 1
    models[verdict == "SAFE" and "safe" or "unsafe"] = models[verdict == "SAFE" and "safe" or "unsafe"] + 1
  else models.differs[#models.differs + 1] = name .. ": " .. why end
end
for _, b in ipairs(mutants.bases(weir, lab)) do model(b.name, plan.of(b.make()), b.sizes) end
local all = mutants.all(plan, weir, lab)
for i = 5, #all, 61 do model(all[i].what, all[i].make(), all[i].base.sizes) end
for seed = 500001, 501000 do
  if models.same + #models.differs >= wanted.models then break end
  local s = schedules.random(seed)
  local k = schedules.kernel(weir, s)
  local sizes = schedules.sizes(s)
  sizes.tiles = s.tiles and 3 or nil
  model(schedules.text(s), plan.of(k), sizes)
end
spin.clean()
models.seconds = os.time() - from
models.version = common.run "spin -V 2>/dev/null"
result.models = models
print(("%d models alike, %d not"):format(models.same, #models.differs))
common.write("bench/results/oracle.json", result)
print "wrote bench/results/oracle.json"
