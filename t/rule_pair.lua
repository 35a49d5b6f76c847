-- A file t/rules/ID.lua holds one rule's broken schedule and its mended neighbour as one script:
--
--   -- What the rule is about: the page's text.
--   ... a line that both have ...
--   ab:put()                                        -- broken
--   ab:acquire(); ab:put(); ab:commit()             -- mended
--   return k                                        -- or nothing, where the broken one raises
--   --[[ report
--   ID.lua:12: error: ...
--   ]]
--
-- Lines marked `-- broken` are in the broken script only, lines marked `-- mended` in the mended one only.
local M = {}

M.folder = "t/rules"

local function lines_of(text)
  local list = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do list[#list + 1] = line end
  while list[#list] == "" do list[#list] = nil end
  return list
end

--- The pair of a rule: { id, about, lines, report }; nil if there is none. lines: { text, only = nil | "broken" | "mended" }.
function M.read(id)
  local f = io.open(M.folder .. "/" .. id .. ".lua")
  if not f then return nil end
  local text = f:read "a"
  f:close()
  local script, report = text:match "^(.-)\n%-%-%[%[ report\n(.-)%]%]\n*$"
  assert(script, id .. ".lua: no --[[ report at its end")
  local pair = { id = id, report = report, lines = {}, about = "" }
  local about = {}
  for i, line in ipairs(lines_of(script)) do
    local prose = #pair.lines == #about and line:match "^%-%- ?(.*)$"
    if prose and not line:match "^%-%- luacheck" then about[#about + 1] = prose end
    local body, only = line:match "^(.-)%s*%-%- (%a+)$"
    if only ~= "broken" and only ~= "mended" then body, only = line, nil end
    pair.lines[i] = { text = body, only = only, about = prose and true or nil }
  end
  pair.about = table.concat(about, "\n")
  return pair
end

--- The script of one side; lines of the other side are empty, so that numbers stay.
function M.script(pair, side)
  local out = {}
  for i, line in ipairs(pair.lines) do out[i] = (not line.only or line.only == side) and line.text or "" end
  return table.concat(out, "\n") .. "\n"
end

--- Runs one side: what its report says before the proof, and the report; the raised text and nil where a call raised.
function M.run(pair, side)
  local chunk, why = load(M.script(pair, side), "@" .. pair.id .. ".lua", "t")
  if not chunk then return "does not compile: " .. why end
  local ok, k = pcall(chunk)
  if not ok then return tostring(k) .. "\n" end
  local report = k:verify()
  local text = #report > 0 and report.text:gsub("\nproof: .*$", "\n") or ""
  k:close()
  return text, report
end

return M
