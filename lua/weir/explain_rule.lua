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

-- In the order of rules.h: { id, severity, title }.
function M.rules() return read().rules end
-- Other names of rules: name -> id.
function M.aliases() return read().aliases end

return M
