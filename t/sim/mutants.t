#!/usr/bin/env lua5.4
-- Races and missing fences that the prover finds in mutants (t/gen/mutants.lua) are found by the simulator's clocks, too: whatever the
-- order in which this run happened to go. The bases are clean.
--
--   lua5.4 t/sim/mutants.t          every sixteenth, and every proxy fence
--   lua5.4 t/sim/mutants.t all      all of them (minutes)
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local mutants = require "gen.mutants"
local schedules = require "gen.schedules"
local weir, plan = lab.weir, lab.plan

local unseen = { ["turns"] = "order tokens guard no memory here" }

-- Nothing to find: as plans they are broken, as texts they do what the base does. No schedule that is accepted becomes such a plan.
local equal = {
  -- Work in front of the task's first acquire: in the plan on the stage before the first, in the text on the first, which is free then.
  ["6, ahead by one: swap t1: acquire 1 and the next"] = true,
}

-- Launches a program with what it takes: a schedule's, or a GEMM's.
local function run(p, dev, base, at)
  if base.schedule then return schedules.launch(base.schedule, p, dev, { N = at.N or 6, M = at.M or 4, T = at.T or 5 }) end
  local cluster = plan.get(p, "plan", 0, "cluster")
  return lab.run_gemm(p, 64 * 3 * cluster, 64, at.K or 64 * 5, { device = dev, grid = cluster })
end

for _, base in ipairs(mutants.bases(weir, lab)) do
  if not unseen[base.name] then
    for seed = 1, 3 do
      local dev = weir.device("sim", { seed = seed })
      local ok, message = run(base.make(true):build { device = dev }, dev, base, {})
      if not tap.ok(ok, ("%s, seed %d: no finding"):format(base.name, seed)) then tap.diag(message) break end
    end
  end
end

-- Each needs a rule of its own, and is run whatever the step.
local always = {
  ["13, ahead by one: drop advance 22"] = true,                    -- reads the stage before, in order: only the data differ
  ["18, lanes of the loading side: drop warp_sync 24"] = true,     -- a phase that comes round, in the one run and not in the other
  ["18, bytes by a body: drop warp_sync 4"] = true,                -- the same
}

local all, step = mutants.all(plan, weir, lab), arg[1] == "all" and 1 or tonumber(arg[1]) or 16
-- A change of the plan that the text does not show (a cursor's advance that another one brings with it) is for the proof alone.
local texts = {}
local function whole(base)
  local text = texts[base.name] or plan.emit(assert(plan.of(base.make())))
  texts[base.name] = text
  return text
end

local races, found, rules = 0, 0, {}
for i = 1, #all do
  local m = all[i]
  if not unseen[m.base.name] and m.allowed:find "[XP]" then
    local name = ("%d, %s: %s"):format(m.number, m.base.name, m.what)
    local made = (i % step == 0 or m.number == 20 or always[name] or equal[name]) and m.make()
    local verdict, findings
    if made then verdict, findings = plan.prove(made) end
    if verdict == "UNSAFE" and mutants.classes(findings):match "^[XP]+$" and plan.emit(made) ~= whole(m.base) then
      -- at the lengths of the prover's witnesses, and at others
      local tries, seen, message = { {} }, false, nil
      for _, f in ipairs(findings) do
        local at = {}
        for dim, n in f.message:gmatch "(%u) = (%d+)" do at[dim] = tonumber(n) end
        if next(at) then table.insert(tries, 1, at) end
      end
      for j = 1, math.min(#tries, 3) do
        for seed = 1, 3 do
          local dev = weir.device("sim", { seed = seed })
          local p = m.build { device = dev, unsafe = true }
          if not p then break end
          local ok
          ok, message = run(p, dev, m.base, tries[j])
          dev:close()
          seen = not ok
          if seen then break end
        end
        if seen then break end
      end
      if equal[name] and findings[1].message:find "nobody has filled" then -- the same name once more is another place
        tap.ok(not seen, name .. ": the same text in effect")
        goto continue
      end
      races = races + 1
      if seen then
        found = found + 1
        local rule = tostring(message):match "%[(sim%-[%w-]+)%]" or tostring(message):sub(1, 60)
        rules[rule] = (rules[rule] or 0) + 1
      elseif not tap.ok(false, name .. ": found") then
        for _, f in ipairs(findings) do tap.diag(f.message) end
      end
    end
    ::continue::
  end
end
local list = {}
for rule, n in pairs(rules) do list[#list + 1] = ("%s %d"):format(rule, n) end
table.sort(list)
tap.diag(table.concat(list, ", "))
tap.is(races, found, ("%d mutants with races or missing fences, every one found"):format(races))
tap.ok(races >= (step == 1 and 400 or 20), races .. " of them")
tap.done()
