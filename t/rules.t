#!/usr/bin/env lua5.4
-- Every rule of src/rules.h: its broken schedule is reported with exactly this text, its mended neighbour passes.
local tap = require "tap"
local rules, pair, without = require "weir.explain_rule", require "rule_pair", require "rules.without"

-- ---- the list itself ----------------------------------------------------------------------------------------------------

local seen, known = {}, {}
for _, r in ipairs(rules.rules()) do
  known[r.id] = r
  if seen[r.id] then tap.ok(false, r.id .. " stands once in rules.h") end
  seen[r.id] = true
end
tap.ok(#rules.rules() > 200, "rules.h is read")
for alias, id in pairs(rules.aliases()) do
  if not known[id] or known[alias] then tap.ok(false, alias .. " is another name of a rule") end
end

-- Ids in the sources: whole string literals, and what messages say in brackets.
local families = { M = 1, P = 1, VAL = 1, VIEW = 1, C = 1, T = 1, X = 1, G = 1, V = 1, PLAN = 1, PROVE = 1 }
local function is_id(text)
  local family = text:match "^(%u+)%-[%u%d%-]*[%u%d]$"
  if text:match "^C[FN]%d+$" then return true end
  return family and families[family] and (text:match "%d$" or family == "M" or family:match "^P[LR]" or family:match "^V[AI]")
end

local used, literals = {}, {}
local list = assert(io.popen "find src -name '*.c'")
for path in list:lines() do
  local f = assert(io.open(path))
  local text = f:read "a"
  f:close()
  for literal in text:gmatch '"([%u%d%-]+)"' do
    literals[literal] = true
    if is_id(literal) then used[literal] = path end
  end
  for literal in text:gmatch '%[([%u%d%-]+)%]"' do if is_id(literal) then used[literal] = path end end
end
list:close()
for id, path in pairs(used) do tap.ok(known[id], ("%s, used in %s, is in rules.h"):format(id, path)) end
for id in pairs(known) do tap.ok(used[id] or literals[id], id .. " is used") end

-- ---- pairs --------------------------------------------------------------------------------------------------------------

for _, r in ipairs(rules.rules()) do
  local p = pair.read(r.id)
  if not p then
    tap.ok(without[r.id], r.id .. ": has a pair, or a reason to have none")
  else
    tap.ok(not without[r.id], r.id .. ": has a pair and no reason to have none")
    local text = pair.run(p, "broken")
    tap.is(p.report, text, r.id .. ": what is said")
    tap.like("[" .. r.id .. "]", text, r.id .. ": is said")
    local mended, report = pair.run(p, "mended")
    local clean = report ~= nil
    for _, f in ipairs(report and report.findings or {}) do
      -- Targets that are not planned yet still say whether the rule holds.
      clean = clean and f.rule ~= r.id and (f.severity ~= "error" or f.rule == "PLAN-UNSUPPORTED")
    end
    if not tap.ok(clean, r.id .. ": mended") then tap.diag(mended) end
    tap.ok(p.about ~= "", r.id .. ": the page says why")
  end
end
for id in pairs(without) do tap.ok(known[id], id .. ", which has no pair, is a rule") end

-- ---- pages --------------------------------------------------------------------------------------------------------------

local make = assert(io.popen((os.getenv "WEIR_LUA" or "lua5.4") .. " docs/rules/make.lua --check"))
local told = make:read "a"
if not tap.ok(make:close(), "docs/rules is what docs/rules/make.lua writes") then tap.diag(told) end

local page = rules.page "V-BRK-01"
tap.like("# V-BRK-01: work stands between an opening and a closing move", page, "weir explain: a page")
tap.like("buf:fill(v)", page, "weir explain: its script")
tap.is(rules.page "PLAN-HELD", rules.page "E-DEPTH", "weir explain: another name")
tap.is(page, rules.page "v-brk-01", "weir explain: small letters")
local none, message = rules.page "V-BRK-9"
tap.is(nil, none, "weir explain: no such rule")
tap.like("there is no rule 'V-BRK-9'; the nearest:\n  V-BRK-01 ", message, "weir explain: the nearest")
tap.done()
