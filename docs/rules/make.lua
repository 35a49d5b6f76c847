-- Writes the pages of this folder from src/rules.h and t/rules: run from the root of the repository.
--
--   lua5.4 docs/rules/make.lua            writes what changed
--   lua5.4 docs/rules/make.lua --check    writes nothing; fails when a page is out of date
package.path = "lua/?.lua;t/?.lua;" .. package.path
local rules, pair, without = require "weir.explain_rule", require "rule_pair", require "rules.without"

local folder = "docs/rules/"

local families = {
  { "M", "Model: names, sizes, options" }, { "VAL", "Values" }, { "VIEW", "Views" }, { "C", "Capture" }, { "T", "Tasks" },
  { "X", "Hygiene" }, { "G", "Groups" }, { "P", "Pipelines" }, { "CF", "Pipelines: fields" }, { "CN", "Pipelines: counts given" },
  { "V", "Schedules: roles, order, counts, bytes" }, { "PLAN", "Plan: memory, barriers, registers, what can be built" },
  { "PROVE", "Proof: what can go wrong while the kernel runs" },
}

local names = {} -- id -> its other names
for alias, id in pairs(rules.aliases()) do
  names[id] = names[id] or {}
  table.insert(names[id], alias)
end
for _, list in pairs(names) do table.sort(list) end

local function fenced(language, text) return ("```%s\n%s```\n"):format(language, text) end

-- The script of one side as a reader wants it: without the prose on top and without the other side's lines.
local function script(p, side)
  local out = {}
  for _, line in ipairs(p.lines) do
    if not line.about and (not line.only or line.only == side) then out[#out + 1] = line.text end
  end
  return table.concat(out, "\n") .. "\n"
end

-- Only what differs, with a line around it.
local function change(p)
  local keep, out = {}, {}
  for i, line in ipairs(p.lines) do
    if line.only then for j = i - 1, i + 1 do keep[j] = true end end
  end
  local gap = false
  for i, line in ipairs(p.lines) do
    if keep[i] and not line.about then
      if gap then out[#out + 1] = " ..." end
      out[#out + 1] = (line.only == "broken" and "-" or line.only == "mended" and "+" or " ") .. line.text
      gap = false
    else
      gap = #out > 0
    end
  end
  return table.concat(out, "\n") .. "\n"
end

-- Lines of the report are counted in the test's file; here the script starts at line 1.
local function shifted(p)
  local dropped, shift = 0, {}
  for i, line in ipairs(p.lines) do
    if line.about or line.only == "mended" then dropped = dropped + 1 end
    shift[i] = dropped
  end
  local name = p.id:gsub("%-", "%%-") .. "%.lua:(%d+)"
  return (p.report:gsub(name, function(n) return ("script.lua:%d"):format(n - shift[math.tointeger(tonumber(n))]) end))
end

local function page(r)
  local p = pair.read(r.id)
  local out = { ("# %s: %s\n"):format(r.id, r.title) }
  local kind = r.severity == "error" and "An error." or r.severity == "warning" and "A warning." or "A note."
  if names[r.id] then kind = kind .. " Also called " .. table.concat(names[r.id], ", ") .. "." end
  out[#out + 1] = kind .. "\n"
  if not p then
    out[#out + 1] = "It has no example here: " .. without[r.id] .. ".\n"
    return table.concat(out, "\n")
  end
  out[#out + 1] = p.about .. "\n"
  out[#out + 1] = fenced("lua", script(p, "broken"))
  out[#out + 1] = "says\n"
  out[#out + 1] = fenced("", shifted(p))
  out[#out + 1] = "Mended:\n"
  out[#out + 1] = fenced("diff", change(p))
  return table.concat(out, "\n")
end

local function index()
  local out = { "# Rules\n", "What weir checks, one page a rule: a broken schedule, what is said of it, and the change that mends it. "
    .. "`./weir explain ID` prints a page. The pages are written by `docs/rules/make.lua` from `src/rules.h` and `t/rules`, whose "
    .. "scripts the tests run.\n" }
  for _, f in ipairs(families) do
    local rows = {}
    for _, r in ipairs(rules.rules()) do
      local family = r.id:match "^(%u+)%-" or r.id:match "^(%u+)"
      if family == f[1] then
        rows[#rows + 1] = ("| [%s](%s.md) | %s | %s |"):format(r.id, r.id, r.severity == "error" and "" or r.severity, r.title)
      end
    end
    if #rows > 0 then
      out[#out + 1] = ("## %s\n\n| rule | | what holds |\n|---|---|---|\n%s\n"):format(f[2], table.concat(rows, "\n"))
    end
  end
  return table.concat(out, "\n")
end

local function read(path)
  local f = io.open(path)
  if not f then return nil end
  local text = f:read "a"
  f:close()
  return text
end

local check, stale, expected = arg[1] == "--check", {}, {}

local function put(name, text)
  expected[name] = true
  if read(folder .. name) == text then return end
  stale[#stale + 1] = name
  if check then return end
  local f = assert(io.open(folder .. name, "w"))
  f:write(text)
  f:close()
end

for _, r in ipairs(rules.rules()) do put(r.id .. ".md", page(r)) end
put("README.md", index())
local list = assert(io.popen("ls " .. folder))
for name in list:lines() do
  if name:find "%.md$" and not expected[name] then
    stale[#stale + 1] = name .. " (no such rule)"
    if not check then os.remove(folder .. name) end
  end
end
list:close()
print(("%d pages, %d %s"):format(#rules.rules() + 1, #stale, check and "out of date" or "written"))
for _, name in ipairs(stale) do if check then print("  " .. name) end end
os.exit(not check or #stale == 0)
