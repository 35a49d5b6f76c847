#!/usr/bin/env lua5.4
-- The Lua in the documents runs as it stands, and the reports they show are the ones that come.
local tap = require "tap"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- The fenced blocks of a language in a document, joined; each keeps its line numbers by padding.
local function script(path, text, language)
  local out, line, inside = {}, 0, false
  for row in text:gmatch "([^\n]*)\n" do
    line = line + 1
    if row == "```" .. language and not inside then inside = true out[line] = ""
    elseif row == "```" and inside then inside = false out[line] = ""
    else out[line] = inside and row or "" end
  end
  return assert(load(table.concat(out, "\n"), "@" .. path, "t"))
end

for _, path in ipairs { "README.md", "docs/guide.md" } do
  local ok, err = xpcall(script(path, read(path), "lua"), function(e) return tostring(e) end)
  tap.ok(ok, path .. ": its script runs")
  if not ok then tap.diag(tostring(err)) end
end

tap.done()
