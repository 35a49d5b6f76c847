#!/usr/bin/env lua5.4
-- Every vector of the schedule rules, built through the Lua API: the set of rules that fire is compared with its weir column.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
local weir = require "weir"
local notation, schedule, data, rules = require "notation", require "schedule", require "validation", require "weir.explain_rule"

-- Rows that the specification leaves open, as weir settles them.
local settled = {
  ["C-FLOW-05.f1"] = {}, -- plain numbers are values
  ["C-FLOW-07.f1"] = {}, -- values never go stale
  -- At v = 2 signaling that is not written is the leader's: one arrival per CTA served, so consumers = 2 is a wrong count.
  ["V-CNT-08.p2"] = { "V-CNT-08" }, ["V-CNT-09.f3"] = { "V-CNT-08", "V-CNT-09" }, ["V-CNT-09.p3"] = { "V-CNT-08" },
  ["V-BYT-01.p1"] = { "V-CNT-08" },
  ["V-BYT-01.f1"] = {}, ["V-BYT-01.f2"] = {}, -- the copies say how many bytes come, nothing has to be declared
  ["V-BYT-03.f1"] = {}, ["V-BYT-03.p1"] = {}, -- a layout that cannot be read does not exist; here it is left out
  -- A task with interleave q on q warps deals its iterations to them in turn: one task, like its dense partner.
  ["V-ILV-03.p1"] = {}, ["V-ILV-04.p1"] = {}, ["V-ILV-08.p1"] = {}, ["V-ILV-09.p1"] = {},
  ["GAP-WTL"] = { "V-ROLE-03" },
}

-- Rows that a later decision overrules.
local overruled = {
  ["V-SIM-01.f3"] = { "C-MOVE-01" }, -- a move on what has no pipeline is refused where it is written
  -- A read of what nobody has filled is a fault: auxiliary work fills nothing, and work of two held stages is for the newer one.
  ["V-BRK-01.p1"] = { "V-EXH-02" }, ["V-BRK-02.f3"] = { "V-EXH-02" }, ["V-BRK-02.p4"] = { "V-EXH-02" }, ["V-DMA-03.w1"] = { "V-DMA-03", "V-EXH-02" },
  ["G-CFG-14.p1"] = { "V-EXH-02" }, -- the copy fills one of the two, which share no storage here
  -- cp.async producers at v = 2 are refused: the leader's mma cannot see that the peer's copies landed.
  ["V-CNT-09.f6"] = { "X-V2-02" }, ["V-CNT-09.p6"] = { "X-V2-02" },
}

-- Not proved: which of two tasks, or of two loads, brings which bytes of a stage the notation does not say, and the proof takes
-- whole stages.
local unproved = { ["V-CNT-09.p7"] = true, ["V-CNT-11.p2"] = true }

-- Rules of the specification that another id stands for: PLAN-SMEM is V-SMEM-01.
local known, spec_id = {}, {}
for _, r in ipairs(data.rules) do known[r.id] = true end
for alias, id in pairs(rules.aliases()) do if known[alias] and not known[id] then spec_id[id] = alias end end

local function sorted(set)
  local list = {}
  for id in pairs(set) do list[#list + 1] = id end
  table.sort(list)
  return list
end

-- The ids that fire, as a sorted list; the text behind them.
local function fired(v)
  local model = assert(notation.read(v.text))
  local built, k = pcall(schedule.build, weir, model, { repeated = v.repeated })
  local ids = {}
  if not built then -- raised where it was written; the rule stands in brackets
    local text = tostring(k)
    local id = text:match "%[(%u[%u%d%-]+)%]"
    ids[id or "raised without a rule"] = true
    return sorted(ids), text
  end
  local report = k:verify { prove = not unproved[v.id] }
  local text = report.text
  for _, f in ipairs(report.findings) do
    local id = spec_id[f.rule] or f.rule
    -- What cannot be built yet (interleave, v = 2) says nothing about the schedule.
    local missing = f.rule == "PLAN-UNSUPPORTED"
    if f.severity == "error" and not missing or id == v.rule then ids[id] = true end
  end
  -- A deadlock that the walk over the schedule found already is one finding; that the proof sees it too is in the verdict.
  if ids["V-SIM-01"] and report.proof.verdict == "UNSAFE" then ids["V-EXH-01"] = true end
  k:close()
  return sorted(ids), text
end

local function check(v)
  local want = settled[v.id] or overruled[v.id] or v.weir_expect
  local set = {}
  for _, id in ipairs(want) do set[id] = true end
  local seen, text = fired(v)
  if not tap.is(sorted(set), seen, v.id .. " " .. v.weir) then
    tap.diag(v.text)
    tap.diag(text)
  end
end

tap.is(304, #data.vectors, "vectors")
for _, v in ipairs(data.vectors) do check(v) end
for _, v in ipairs(data.gaps) do check(v) end
for id in pairs(settled) do
  local open = false
  for _, list in ipairs { data.vectors, data.gaps } do
    for _, v in ipairs(list) do if v.id == id and v.weir == "undecided" then open = true end end
  end
  tap.ok(open, id .. " is open in the data")
end
tap.done()
