#!/usr/bin/env lua5.4
-- Are the vectors all looked at? Alters each literal of layout.lua and pipelines.lua in turn and runs the suites on the
-- altered text. An expectation that can change with no test failing is an error; conditions on which an outcome does not
-- depend (the size of a record that nothing follows, say) are only counted, and listed with -v. 20 seconds for all; t/vectors.t takes
-- every 16th:
--
--   WEIR_BUILD=build lua5.4 t/vectors/alter.lua [-v] [EVERY]
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local core = require "weir_test"
local pipelines = require "pipelines_suite"

local suites = { layout = { (require "layout_suite") }, pipelines = { pipelines.protocol, pipelines.group } }

-- Fields of a row that say what is wanted; all others say of what.
local expected = {}
for word in ([[ offsets total saved rounded refused smem tmem first used runs panels panel_cols row bytes align layout
  lbo sbo k_step k_per_panel k_panel m64 mn_step init ranks derived sm90a count is faults names rule required merged
  full_index empty_index mbarriers entry mask lanes vgroup merge fork fused_merge acquire commit wait release
  counts mode_is ]]):gmatch "%S+" do
  expected[word] = true
end
-- The same word is a condition in these lists: what is given of bytes, how interleaved stages are dealt.
local given = { singles = { bytes = true, lanes = true }, fields = { lanes = true }, leader_bytes = { bytes = true } }

-- Does any test of the suites fail on these vectors? A suite that dies has noticed too.
local function notices(file, vectors)
  local function ok(pass)
    if not pass then error "noticed" end
  end
  local t = { ok = ok, is = function(want, got) ok(want == got) end }
  for _, suite in ipairs(suites[file]) do
    if not pcall(suite, t, vectors, core) then return true end
  end
  return false
end

-- Literals of a text: { first, last, replacement, line, is it an expectation }, without strings that only name a row or record.
local function literals(text)
  local found, at, line, depth, list, field = {}, 1, 1, 0, "", ""
  local function add(first, last, replacement)
    local wanted = expected[field] and not (given[list] and given[list][field])
    found[#found + 1] = { first, last, replacement, line, wanted }
    at = last + 1
  end
  while at <= #text do
    local c = text:sub(at, at)
    local _, comment = text:find("^%-%-[^\n]*", at)
    local _, str = text:find('^"[^"]*"', at)
    local _, word_end, word = text:find("^([%a_][%w_.]*)", at)
    local _, number_end, number = text:find("^(%-?%x*%d[%xx]*)", at)
    if comment then
      at = comment + 1
    elseif c == "\n" then
      line, at = line + 1, at + 1
    elseif str then
      if field == "id" or field == "items" then
        at = str + 1
      else
        add(at, str, ("%q"):format(text:sub(at + 1, str - 1) .. "~"))
      end
    elseif word == "true" or word == "false" then
      add(at, word_end, word == "true" and "false" or "true")
    elseif word then
      if text:find("^%s*=", word_end + 1) then
        if depth == 0 then list, field = word:match "[%w_]+$", "" elseif depth <= 2 then field = word end
      end
      at = word_end + 1
    elseif number then
      add(at, number_end, tostring(math.tointeger(tonumber(number)) + 1))
    else
      depth = depth + (c == "{" and 1 or c == "}" and -1 or 0)
      at = at + 1
    end
  end
  return found
end

local verbose = arg[1] == "-v"
local every = math.tointeger(tonumber(arg[#arg])) or 1
local bad = 0
for _, file in ipairs { "layout", "pipelines" } do
  local path = ("t/vectors/%s.lua"):format(file)
  local handle <close> = assert(io.open(path))
  local text = handle:read "a"
  assert(not notices(file, load(text)()), "the vectors fail as they are")
  local wanted, conditions, free = 0, 0, 0
  local list = literals(text)
  for i = 1, #list, every do
    local l = list[i]
    local altered = assert(load(text:sub(1, l[1] - 1) .. l[3] .. text:sub(l[2] + 1), "=altered"))
    local noticed = notices(file, altered())
    if l[5] then wanted = wanted + 1 else conditions = conditions + 1 end
    if not noticed then
      if l[5] then bad = bad + 1 else free = free + 1 end
      if l[5] or verbose then print(("%s:%d: %s may become %s"):format(path, l[4], text:sub(l[1], l[2]), l[3])) end
    end
  end
  print(("%s: %d expectations altered, %d conditions, %d of these matter to no outcome"):format(path, wanted, conditions, free))
end
print(bad == 0 and "every altered expectation was noticed" or bad .. " altered expectations were not noticed")
os.exit(bad == 0)
