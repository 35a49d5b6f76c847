-- The prover against the explorer of actions, on one plan: do they say the same, and of the same class?
--
--   local agreement = require "gen.agreement"       -- needs weir_plan
--   local said = agreement.compare(plan, program, sizes, { limit = 100000 })
--   said.verdict    the prover's
--   said.kinds      what the explorer found, at which sizes; said.at: the same sizes as tables
--   said.wrong      why the two contradict each other, or nil
--   said.open       why the explorer could not decide, or nil
--   said.tables     what the prover finds without a run: tables that contradict each other. No matter of the comparison
local agreement = {}

-- What in an exploration bears out a finding of the prover.
local borne_out_by = {
  ["PROVE-DEADLOCK"] = { "deadlock" }, ["PROVE-COUNT"] = { "count", "stuck_count", "stuck_tx" }, ["PROVE-TX"] = { "tx", "stuck_tx", "count" },
  ["PROVE-PARITY"] = { "parity" }, ["PROVE-RACE"] = { "race", "unfilled" }, ["PROVE-ASYNC-READ"] = { "async_read" }, ["PROVE-PROXY"] = { "proxy" },
  ["PROVE-EXIT"] = { "exit" }, ["PROVE-LOST"] = { "lost" }, ["PROVE-PDL"] = { "pdl" },
}
agreement.kinds = { "deadlock", "count", "tx", "parity", "race", "async_read", "proxy", "exit", "lost", "pdl", "stuck_count", "stuck_tx", "unfilled" }

-- The sizes that a finding names, over others for the rest; nil: it names none.
local function witness(message, base)
  local list = message:match "%(with (.-)%)$"
  if not list then return nil end
  local out = {}
  for name, n in pairs(base) do out[name] = n end
  for name, n in list:gmatch "([%w_]+) = (%d+)" do out[name] = tonumber(n) end
  return out
end

-- sizes: a list; sizes.tiles: how many work tiles a witness may need; sizes.with_tiles(at, n): makes so many of them.
-- o.limit: states of one exploration; o.far: of one at the sizes that the prover names
function agreement.compare(plan, program, sizes, o)
  local verdict, findings, text = plan.prove(program, true)
  local said = { verdict = verdict, findings = findings, text = text, kinds = {}, at = {}, states = 0, runs = 0, cut = 0, tables = {} }
  local _, all = plan.prove(program)
  for i = #findings + 1, #all do said.tables[#said.tables + 1] = all[i] end
  local function explore(at, limit)
    local r
    -- conditions that sizes do not decide: every truth of the first firings
    local truths, firings = 0, 0
    repeat
      at.truths = truths
      r = plan.explore(program, at, { limit = limit })
      if firings < r.firings then firings = math.min(r.firings, 6) end
      said.states, said.runs = said.states + r.states, said.runs + 1
      if r.cut then said.cut, said.why = said.cut + 1, r.cut end
      for _, kind in ipairs(agreement.kinds) do
        if r[kind] and not said.kinds[kind] then
          said.kinds[kind] = ("N = %s, M = %s, T = %s"):format(at.N, at.M, at.T)
          said.at[kind] = {}
          for name, n in pairs(at) do said.at[kind][name] = n end
        end
      end
      truths = truths + 1
    until truths >= 1 << firings
    return r
  end
  for _, at in ipairs(sizes) do explore(at, o.limit) end
  local function confirmed(f)
    for _, kind in ipairs(borne_out_by[f.rule] or {}) do if said.kinds[kind] then return true end end
    if f.message:find(" walks %d+ stages, its ") then return true end                          -- tables that contradict each other: no run needed
    return f.message:find("waits at", 1, true) ~= nil and said.kinds.deadlock ~= nil            -- a deadlock, by its cause
  end
  local faults = next(said.kinds) ~= nil
  if verdict == "SAFE" then
    if faults then
      local kind, at = next(said.kinds)
      said.wrong = ("proved, but the explorer finds %s with %s"):format(kind, at)
    elseif said.runs == said.cut then said.open = said.why end
  elseif verdict == "UNSAFE" then
    for _, f in ipairs(findings) do
      if not confirmed(f) then
        for tiles = 1, sizes.tiles or 1 do
          local at = witness(f.message, sizes[#sizes])
          if (at or sizes.tiles) and not confirmed(f) then
            if not at then
              at = {}
              for name, n in pairs(sizes[#sizes]) do at[name] = n end
            end
            if sizes.with_tiles then sizes.with_tiles(at, tiles) elseif sizes.tiles then at.T, at.tiles = tiles, tiles end
            explore(at, o.far or o.limit)
          end
        end
      end
      if not confirmed(f) then
        local how = ("%s is not borne out: %s"):format(f.rule, f.message)
        if said.cut > 0 then said.open = said.open or how .. " (" .. said.why .. ")" else said.wrong = said.wrong or how end
      end
    end
  else
    said.open = text
  end
  return said
end

return agreement
