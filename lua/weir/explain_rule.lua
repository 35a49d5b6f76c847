-- The rules that src/rules.h lists, and the pages about them.
local M = {}

local here = debug.getinfo(1, "S").source:sub(2):match "^(.*)lua/weir/" or ""
M.root = here

local function slurp(path)
  local f = io.open(path)
  if not f then return nil end
  local text = f:read "a"
  f:close()
  return text
end

local cache

local function read()
  if cache then return cache end
  local text = assert(slurp(M.root .. "src/rules.h"), "no src/rules.h beside lua/weir")
  cache = { rules = {}, by_id = {}, aliases = {} }
  for id, severity, title in text:gmatch 'X%("([%w%-]+)", WEIR_(%u+), "(.-)"%)' do
    local r = { id = id, severity = severity:lower(), title = title }
    cache.rules[#cache.rules + 1] = r
    cache.by_id[id] = r
  end
  for alias, id in text:gmatch 'X%("([%w%-]+)", "([%w%-]+)"%)' do cache.aliases[alias] = id end
  return cache
end

-- How unlike two ids are: edits from one to the other.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local up = row[j]
      row[j] = math.min(up + 1, row[j - 1] + 1, corner + (a:byte(i) == b:byte(j) and 0 or 1))
      corner = up
    end
  end
  return row[#b]
end

-- In the order of rules.h: { id, severity, title }.
function M.rules() return read().rules end
-- Other names of rules: name -> id.
function M.aliases() return read().aliases end

-- The page of a rule, by its id or another name of it; nil and a message if there is none.
function M.page(name)
  if not slurp(M.root .. "src/rules.h") then return nil, "the pages are in docs/rules of weir's sources, which are not here" end
  local r, id = read(), name:upper()
  id = r.aliases[name] or r.aliases[id] or id
  if r.by_id[id] then return assert(slurp(M.root .. "docs/rules/" .. id .. ".md"), "run docs/rules/make.lua") end
  local near, best = {}, #id // 2
  for _, rule in ipairs(r.rules) do
    local d = rule.id:sub(1, #id) == id and 0 or distance(id, rule.id)
    if d < best then near, best = {}, d end
    if d == best then near[#near + 1] = ("  %-16s %s"):format(rule.id, rule.title) end
  end
  local text = ("there is no rule '%s'"):format(name)
  return nil, #near > 0 and text .. "; the nearest:\n" .. table.concat(near, "\n") or text .. "; docs/rules/README.md lists them"
end

return M
