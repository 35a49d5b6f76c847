#!/usr/bin/env lua5.4
-- The Lua in the documents runs as it stands, and prints and raises what they show.
local tap = require "tap"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- The fenced blocks of a document in order: { language, text, line of its first row }.
local function blocks(path)
  local list, block, line = {}, nil, 0
  for row in read(path):gmatch "([^\n]*)\n" do
    line = line + 1
    local fence = row:match "^```(.*)$"
    if fence and block then
      block.text = table.concat(block, "\n") .. "\n"
      list[#list + 1], block = block, nil
    elseif fence then block = { language = fence, line = line + 1 }
    elseif block then block[#block + 1] = row
    end
  end
  assert(not block, path .. ": a block is not closed")
  return list
end

-- Runs a script: what it printed, and the text of its error or nil.
local function run(text, name)
  local out = {}
  local env = setmetatable({ print = function(...)
    local row = table.pack(...)
    for i = 1, row.n do row[i] = tostring(row[i]) end
    out[#out + 1] = table.concat(row, "\t") .. "\n"
  end }, { __index = _G })
  local ok, err = pcall(assert(load(text, name, "t", env)))
  return table.concat(out), not ok and tostring(err) or nil
end

-- How long the proof took and how many states it saw is no promise; nor are blank lines at the end.
local function settled(text) return (text:gsub("%(%d+ states, [%d.]+ ms%)", "(...)"):gsub("\n+$", "\n")) end

-- The guide, the kernels' page, debugging: the blocks of each are one script.
for _, path in ipairs { "docs/guide.md", "docs/kernels.md", "docs/debugging.md" } do
  local rows, last = {}, 0
  for _, block in ipairs(blocks(path)) do
    if block.language == "lua" then
      for i, row in ipairs(block) do rows[block.line + i - 1] = row end
      last = block.line + #block
    end
  end
  for line = 1, last do rows[line] = rows[line] or "" end
  tap.is(nil, select(2, run(table.concat(rows, "\n"), "@" .. path)), path .. ": the script runs")
end

-- The README: script, output, edits, report.
local shown = {}
for _, block in ipairs(blocks "README.md") do if block.language ~= "sh" then shown[#shown + 1] = block end end
local script, output, edits, report = table.unpack(shown)
local printed, err = run(script.text, "@gemm.lua")
tap.is(nil, err, "README.md: the script runs")
tap.is(settled(output.text), settled(printed), "README.md: the script prints what is shown")

local broken = script.text
local applied = 0
for old, new in edits.text:gmatch "%-([^\n]*)\n%+([^\n]*)\n" do
  local first, past = broken:find(old .. "\n", 1, true)
  if first then
    broken = broken:sub(1, first - 1) .. new .. "\n" .. broken:sub(past + 1)
    applied = applied + 1
  end
end
tap.is(3, applied, "README.md: the three edits fit the script")
tap.is(settled(report.text), settled(select(2, run(broken, "@gemm.lua")) or ""), "README.md: the broken script's report is the one shown")

-- Every kind of finding that the simulator's source names has its row.
do
  local rows, kinds, missing = {}, 0, {}
  for cell in read("docs/simulator.md"):gmatch "\n|([^|\n]+)|" do
    for kind in cell:gmatch "sim%-[%l%d-]+" do rows[kind] = true end
  end
  for path in assert(io.popen "ls src/sim/*.c"):lines() do
    for kind in read(path):gmatch '"(sim%-[%l%d-]+)"' do
      kinds = kinds + 1
      if not rows[kind] then missing[kind] = true end
    end
  end
  tap.ok(kinds > 40, ("docs/simulator.md: %d places that make a finding were read"):format(kinds))
  tap.is({}, missing, "docs/simulator.md: every kind of finding has a row")
end

-- The map of the source names every file, and no other.
do
  local text, files, missing, gone = read("docs/source.md"), {}, {}, {}
  for path in assert(io.popen "ls src/*.c src/sim/*.c src/lua/*.c"):lines() do
    local name = path:match "[^/]+$"
    files[name] = true
    if not text:find("%f[%w_]" .. name:gsub("%.", "%%.")) then missing[#missing + 1] = path end
  end
  for row in text:gmatch "\n|([^|\n]+)|" do
    for name in row:gmatch "[%w_]+%.c%f[^%w]" do if not files[name] then gone[#gone + 1] = name end end
  end
  tap.is({}, missing, "docs/source.md: every source file has its row")
  tap.is({}, gone, "docs/source.md: every file it names is there")
end

tap.done()
