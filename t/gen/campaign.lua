-- The prover against the oracles, in numbers: random schedules, mutants, and models for spin. t/oracle.t, t/mutants.t and t/spin.t
-- run a little of each; bench/oracle.lua runs all of it and keeps the figures.
local schedules, agreement, mutants, spin = require "gen.schedules", require "gen.agreement", require "gen.mutants", require "gen.spin"
local shares = require "gen.shares"

local campaign = {}

local function add(t, key, n) t[key] = (t[key] or 0) + (n or 1) end

--- Random schedules from seed `first` on until `wanted` have been compared. o: limit, far (states of one exploration).
--- -> { compared, agreed, open, incomplete, safe, unsafe, valid, states, kinds = { kind = how often }, wrong = { text } }
function campaign.random(plan, weir, first, wanted, o)
  local out = { compared = 0, agreed = 0, open = 0, incomplete = 0, safe = 0, unsafe = 0, valid = 0, refused = 0, changed = 0, states = 0, kinds = {}, wrong = {} }
  local seed = first
  while out.compared < wanted do
    local s = schedules.random(seed)
    seed = seed + 1
    local k = schedules.kernel(weir, s)
    local program = plan.of(k)
    if not program then add(out, "refused")
    else
      -- every eighth, right as written, is broken as planned
      local change = seed % 8 == 0 and #s.mistakes == 0 and mutants.change(plan, program, seed) or nil
      if change then
        s.mistakes[1] = "plan: " .. change
        add(out, "changed")
      end
      local sizes = schedules.sizes(s)
      sizes.tiles = s.tiles and 7 or nil
      local said = agreement.compare(plan, program, sizes, o)
      add(out, "compared")
      add(out, "states", said.states)
      if said.verdict == "SAFE" then add(out, "safe") elseif said.verdict == "UNSAFE" then add(out, "unsafe") else add(out, "incomplete") end
      if #said.tables > 0 and not change then said.wrong = said.tables[1].message end
      if said.wrong then out.wrong[#out.wrong + 1] = said.wrong .. ": " .. schedules.text(s)
      elseif said.open then add(out, "open")
      else
        add(out, "agreed")
        if said.verdict == "SAFE" and said.cut == 0 then add(out, "valid") end -- right, says the explorer, at all the sizes
      end
      for kind in pairs(said.kinds) do add(out.kinds, kind) end
      program:close()
    end
    k:close()
  end
  out.last = seed - 1
  return out
end

--- Every `step`th mutant from `first` on. -> { made, found, borne_out, survivors, refused, undecided, open, wrong = { text }, operators, list }
function campaign.mutants(plan, weir, lab, first, step, o)
  local out = { made = 0, found = 0, borne_out = 0, survives = 0, refused = 0, undecided = 0, open = 0, states = 0, operators = {}, wrong = {}, survivors = {} }
  local all = mutants.all(plan, weir, lab)
  out.all = #all
  for i = first, #all, step do
    local m = all[i]
    local result, why, said = mutants.judge(agreement, plan, m, o)
    local name = ("%d, %s: %s"):format(m.number, m.base.name, m.what)
    add(out, "made")
    add(out, "states", said and said.states or 0)
    add(out.operators, tostring(m.number))
    if result == "found" then
      add(out, "found")
      add(out, "borne_out")
    elseif result == "found, not borne out" then add(out, "found")
    elseif result == "survives" then
      add(out, "survives")
      out.survivors[#out.survivors + 1] = name
    elseif result == "wrong" then out.wrong[#out.wrong + 1] = name .. ": " .. why
    else add(out, result) end
  end
  return out
end

--- Bases and harmless edits: those that are not called SAFE. -> count, list
function campaign.controls(plan, weir, lab)
  local n, alarms = 0, {}
  local function check(name, program)
    if not program then return end
    local verdict, _, text = plan.prove(program)
    n = n + 1
    if verdict ~= "SAFE" then alarms[#alarms + 1] = ("%s: %s %s"):format(name, verdict, text) end
  end
  for _, b in ipairs(mutants.bases(weir, lab)) do check(b.name, assert(plan.of(b.make()))) end
  for _, h in ipairs(mutants.harmless(plan, weir, lab)) do check(h.base.name .. ", " .. h.what, (h.make())) end
  return n, alarms
end

--- Numbers of the actions where the threads of a warp or of a task meet, in order.
function campaign.meetings(plan, program)
  local out = {}
  for id = 1, plan.get(program, "plan", 0, "nactions") do
    local kind = plan.get(program, "action", id, "kind")
    if kind == "warp_sync" or kind == "named_sync" then out[#out + 1] = id end
  end
  return out
end

--- Random accesses to parts of a tile (t/gen/shares.lua) from seed `first` on, `wanted` of them, as they are and without each of their meetings.
--- o: limit, far; o.run(case, n, verdict): does a run without the n-th meeting, if any, say so, too? -> nil or what is wrong
--- -> { made, refused, cut (meetings left out), safe, unsafe, open, wrong = { text } }
function campaign.shares(plan, weir, first, wanted, o)
  local out = { made = 0, refused = 0, cut = 0, safe = 0, unsafe = 0, open = 0, wrong = {} }
  local function judge(case, n, program)
    local said = agreement.compare(plan, program, { {} }, o)
    local wrong = said.wrong or (not n and said.verdict ~= "SAFE" and said.text) or (o.run and o.run(case, n, said.verdict))
    if said.open then wrong = nil end
    add(out, said.open and "open" or said.verdict == "SAFE" and "safe" or "unsafe")
    if wrong then out.wrong[#out.wrong + 1] = ("%s%s: %s"):format(case.name, n and ", without meeting " .. n or "", wrong) end
    program:close()
  end
  local seed = first
  while out.made < wanted do
    local case = shares.make(seed)
    local k = case.kernel(weir)
    local program = plan.of(k)
    if not program then add(out, "refused")
    else
      add(out, "made")
      local all = campaign.meetings(plan, program)
      judge(case, nil, program)
      for n, id in ipairs(all) do
        local cut = assert(plan.of(k))
        plan.drop(cut, id)
        add(out, "cut")
        judge(case, n, cut)
      end
    end
    k:close()
    seed = seed + 1
  end
  out.last = seed - 1
  return out
end

-- The sizes of most states that spin can still search in a second.
local function largest(plan, program, sizes)
  local best, most
  for _, at in ipairs(sizes) do
    local r = plan.explore(program, at, { limit = 20000 })
    if not r.cut and (not most or r.states > most) then best, most = at, r.states end
  end
  return best
end

--- spin on a program whose verdict is known: true when it says the same, nil when it cannot tell; and a text.
function campaign.spin(plan, program, sizes)
  local said = agreement.compare(plan, program, sizes, { limit = 20000, far = 60000 })
  local _, at = next(said.at)
  if said.verdict == "SAFE" then at = largest(plan, program, sizes) end
  if not at or said.open or said.wrong then return nil, said.wrong or said.open or "too large" end
  local errors, states = spin.run(plan.promela(program, at))
  if errors == nil then return nil, states end
  return errors == (said.verdict ~= "SAFE"), ("%s, spin: %s after %d states"):format(said.verdict, errors and "error" or "none", states), said.verdict
end

return campaign
