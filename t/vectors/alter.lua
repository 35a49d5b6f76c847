#!/usr/bin/env lua5.4
-- Are the vectors all looked at? Alters each literal of layout.lua and pipelines.lua in turn and runs the suites on the altered text: a
-- literal that can change with no test failing is printed. Takes about a minute; run on demand:
--
--   WEIR_BUILD=build lua5.4 t/vectors/alter.lua [layout | pipelines]
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local core = require "weir_test"
local pipelines = require "pipelines_suite"

local suites = {
  layout = { (require "layout_suite") },
  pipelines = { pipelines.protocol, pipelines.group },
}

-- Does any test of the suites fail on these vectors? A suite that dies has noticed too.
local function notices(file, vectors)
  local failed = false
  local function ok(pass)
    if not pass then
      failed = true
      error "noticed"
    end
  end
  local t = { ok = ok, is = function(want, got) ok(want == got) end }
  for _, suite in ipairs(suites[file]) do
    local done, why = pcall(suite, t, vectors, core)
    if failed or not done then return true, why end
  end
  return false
end

-- Literals of a text: { first, last, replacement, line }. Names and ids only name; they stand after these keys.
local silent = { id = true }

local function literals(text)
  local list, at, line, key = {}, 1, 1, nil
  local items = false                       -- the first string of a placed item is its name
  while at <= #text do
    local s, e = text:find("^%-%-[^\n]*", at)
    if s then
      at = e + 1
    else
      local c = text:sub(at, at)
      local word_s, word_e, word = text:find("^([%a_][%w_]*)", at)
      local num_s, num_e, number = text:find("^(%-?0?x?%x*%d%x*)", at)
      local str_s, str_e = text:find('^"[^"]*"', at)
      if c == "\n" then
        line, at = line + 1, at + 1
      elseif str_s then
        local value = text:sub(str_s + 1, str_e - 1)
        if not silent[key] and not items then list[#list + 1] = { str_s, str_e, ("%q"):format(value .. "~"), line } end
        at = str_e + 1
      elseif word_s then
        if word == "true" or word == "false" then
          list[#list + 1] = { word_s, word_e, word == "true" and "false" or "true", line }
        elseif text:find("^%s*=", word_e + 1) then
          key, items = word, word == "items"
        end
        at = word_e + 1
      elseif num_s then
        if not text:sub(at - 1, at - 1):find "%w" then
          list[#list + 1] = { num_s, num_e, tostring(math.tointeger(tonumber(number)) + 1), line }
        end
        at = num_e + 1
      else
        at = at + 1
      end
    end
  end
  return list
end

local unnoticed, tried = 0, 0
for file in pairs(suites) do
  if not arg[1] or arg[1] == file then
    local path = ("t/vectors/%s.lua"):format(file)
    local handle <close> = assert(io.open(path))
    local text = handle:read "a"
    assert(not notices(file, load(text)()), "the vectors fail as they are")
    for _, l in ipairs(literals(text)) do
      local altered = load(text:sub(1, l[1] - 1) .. l[3] .. text:sub(l[2] + 1), "=altered")
      tried = tried + 1
      if altered and not notices(file, altered()) then
        unnoticed = unnoticed + 1
        print(("%s:%d: %s may become %s"):format(path, l[4], text:sub(l[1], l[2]), l[3]))
      end
    end
  end
end
print(("%d literals altered, %d not noticed"):format(tried, unnoticed))
os.exit(unnoticed == 0)
