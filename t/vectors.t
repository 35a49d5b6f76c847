#!/usr/bin/env lua5.4
-- The worked tables of spec/pipelines.md and spec/layout.md: has every row a test, and does altering what is wanted make one fail?
--
--   lua5.4 t/vectors.t [SPEC]      SPEC: the folder with the two files, whose rows are then compared with the list here
local tap = require "tap"
local weir = require "weir"
package.path = "t/vectors/?.lua;" .. package.path
local P = weir.pipeline

local function slurp(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

-- ---- rows ------------------------------------------------------------------------------------------------------------------------

local data = { pipelines = require "pipelines", layout = require "layout" }
local has = { pipelines = {}, layout = {} }
for file, lists in pairs(data) do
  for _, list in pairs(lists) do
    for _, row in pairs(list) do
      if type(row) == "table" and row.id then has[file][row.id] = true end
    end
  end
end

-- Rows that weir answers otherwise than the reference: the vector that says how, or "here", below.
local elsewhere = {
  pipelines = { P25 = "V2L", L8 = "BYT2a" },
  layout = { L19 = "here", L23 = "here", L24 = "here", L25 = "here", L27 = "here", L28 = "here", L29 = "here", L30 = "here" },
}
local rows = { pipelines = {}, layout = {} }
local function series(file, prefix, first, last, form)
  for i = first, last do table.insert(rows[file], (form or "%s%d"):format(prefix, i)) end
end
series("pipelines", "P", 1, 36)
series("pipelines", "G", 1, 24)
series("pipelines", "L", 1, 9)
series("layout", "L", 1, 30, "%s%02d")
series("layout", "B", 1, 8, "%s%02d")

for _, file in ipairs { "pipelines", "layout" } do
  local missing = {}
  for _, id in ipairs(rows[file]) do
    local other = elsewhere[file][id]
    if not has[file][id] and other ~= "here" and not (other and has[file][other]) then missing[#missing + 1] = id end
  end
  tap.is({}, missing, ("%s.md: %d rows, none without a test"):format(file, #rows[file]))
end

-- Tables whose rows have no name: masks by cluster and rank, cursors by stages, stride and lane.
local function found(list, what)
  for _, row in ipairs(list) do
    local same = true
    for key, v in pairs(what) do same = same and (type(v) == "table" and row[key].v == v.v and row[key].m == v.m and row[key].n == v.n or row[key] == v) end
    if same then return true end
  end
  return false
end
for _, m in ipairs { { 2, 1, 1, 0 }, { 2, 1, 1, 1 }, { 2, 2, 1, 2 }, { 2, 2, 2, 0 }, { 2, 2, 2, 2 }, { 2, 2, 2, 5 }, { 1, 2, 2, 0 }, { 1, 2, 2, 3 } } do
  tap.ok(found(data.pipelines.masks, { cluster = { v = m[1], m = m[2], n = m[3] }, rank = m[4] }), ("1.7: masks of rank %d of { %d, %d, %d, 1 }"):format(m[4], m[1], m[2], m[3]))
end
for _, c in ipairs { { 4, 1, 0 }, { 4, 2, 1 }, { 8, 4, 3 }, { 4, 4, 2 } } do
  tap.ok(found(data.pipelines.cursors, { stages = c[1], stride = c[2], lane = c[3] }), ("5.2: %d stages, stride %d, lane %d"):format(table.unpack(c)))
end
tap.ok(#data.pipelines.group_checks >= 14, "5.5: as many group errors as the table has")
tap.is(21, (function() local n = 0 for _, r in ipairs(data.pipelines.compatible) do n = n + (r.fork ~= nil and 1 or 0) end return n end)(), "3.2: the matrix")

-- The rules by which configurations are refused, under the spec's names: a page with a broken script each, or a vector.
local rules = require "weir.explain_rule"
local function ruled(id)
  local name = rules.aliases()[id] or id
  local without = dofile "t/rules/without.lua"
  return slurp(("t/rules/%s.lua"):format(name)) ~= nil or without[name] ~= nil
end
local refused = {}
for word in ([[ CF1 CF2 CF3 CF4 CF5 CF6 CF7 CF8 CF9 CF10 CF11 CF12 CF13 MF1 MF2 MF3 MF4 MF5 MF6 IL1 IL2 IL3 IL4 IL5 IL6 IL7 IL8
  GR1 GR2 GR3 GR4 GR5 GR5b GR6 GR7 GR9b GR9c GR9d GR10 GR11 GR12 GR13a GR13b GR13c GR13d GR14 GX1 GX2 GX3 GX4 GX5 GX6 ]]):gmatch "%S+" do
  refused[#refused + 1] = word
end
-- Not refused: GR8 the reference has dropped; GR9 is about the multicast of a pipeline, which is a load's here.
local lifted = { GR8 = true, GR9 = true }
local unruled = {}
for _, id in ipairs(refused) do if not ruled(id) then unruled[#unruled + 1] = id end end
tap.is({}, unruled, ("CF, MF, IL, GR, GX: each of %d is a rule with a broken script, or says why it has none"):format(#refused))

-- The spec at hand: it has these rows and no others.
for _, where in ipairs { arg[1] or "../shared/spec", "/work/shared/spec" } do
  if slurp(where .. "/pipelines.md") then
    for _, file in ipairs { "pipelines", "layout" } do
      local ids, extra = {}, {}
      for _, id in ipairs(rows[file]) do ids[id] = true end
      for line in slurp(("%s/%s.md"):format(where, file)):gmatch "[^\n]+" do
        local id = line:match "^| ([PGLB]%d+)[ |(]"
        if id then
          if not ids[id] then extra[#extra + 1] = id end
          ids[id] = nil
        end
      end
      for id in pairs(ids) do extra[#extra + 1] = "not " .. id end
      table.sort(extra)
      tap.is({}, extra, file .. ".md has these rows")
    end
    local ids, extra = {}, {}
    for _, id in ipairs(refused) do ids[id] = true end
    for line in slurp(where .. "/pipelines.md"):gmatch "[^\n]+" do
      local id = line:match "^| ([A-Z][A-Z]%d+%a?) |"
      if id and not lifted[id] then
        if not ids[id] then extra[#extra + 1] = id end
        ids[id] = nil
      end
    end
    for id in pairs(ids) do extra[#extra + 1] = "not " .. id end
    tap.is({}, extra, "pipelines.md has these rules")
    break
  end
end

-- ---- rows that weir answers in its own way ------------------------------------------------------------------------------------------

local function kernel() return weir.kernel { name = "rows", arch = "sm_90a" } end
local function bytes(k, name, n) return k:resource { name = name, space = "smem", dtype = "u8", tile = { n or 64 } } end
local function findings(make)
  local k = kernel()
  make(k)
  local text = k:verify().text
  k:close()
  return text
end
tap.like("is in another phase already", findings(function(k) local a = bytes(k, "a") k:alias { { a }, { a, bytes(k, "b") } } end), "L19: one resource twice")
tap.like("is in another phase already", findings(function(k)
  local x = bytes(k, "x")
  k:alias { { x }, { bytes(k, "y") } }
  k:alias { { x }, { bytes(k, "z", 32) } }
end), "L25: one resource in two aliases")
do
  local k = kernel()
  bytes(k, "x", 100)
  local first = k:smem_layout().total
  tap.ok(first >= 100, "L23: a layout")
  tap.is(first, k:smem_layout().total, "L23: and again")
  bytes(k, "late", 50)
  tap.ok(k:smem_layout().total >= 150, "L24: what comes later is laid out too")
  k:close()
end
-- Bytes of mbarriers: eight each, two a stage; a group has those that it needs.
local function barriers(make)
  local k = kernel()
  local n, at = 0, nil
  make(k)
  for _, b in ipairs(k:barrier_layout()) do n, at = n + 8 * b.stages, at and math.min(at, b.offset) or b.offset end
  local total = k:smem_layout().total
  k:close()
  return { n, at, total }
end
local function ring(k, name, stages, n)
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { n or 128 }, pipeline = P.async_async { stages = stages },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
end
local function both(k, list, via)
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _, r in ipairs(list) do r:acquire(); r:fill(); r:commit() end end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for _, r in ipairs(list) do
      r:wait(); r:use()
      if not via then r:release() end
    end
    if via then via:release() end
  end }
end
tap.is(64, barriers(function(k) both(k, { ring(k, "a", 4) }) end)[1], "L27: one resource of 4 stages")
tap.is(112, barriers(function(k) both(k, { ring(k, "a", 4), ring(k, "b", 2), ring(k, "c", 1) }) end)[1], "L27: three of 4, 2 and 1")
tap.is({ 32, 256 }, { table.unpack(barriers(function(k) both(k, { ring(k, "a", 2) }) end), 1, 2) }, "L28: mbarriers lie behind the data")
tap.is(96, barriers(function(k)
  local a, b = ring(k, "a", 4), ring(k, "b", 4)
  local g = k:group { name = "g", mode = "merge", members = { a, b } }
  both(k, { g.a, g.b }, g)
end)[1], "L29, L30: a merge of two takes what it needs, 96 bytes")

-- ---- altered ------------------------------------------------------------------------------------------------------------------------

-- Every 16th literal of the data, altered: t/vectors/alter.lua does all.
local alter = assert(io.popen((os.getenv "WEIR_LUA" or "lua5.4") .. " t/vectors/alter.lua 16 2>&1"))
local text = alter:read "a"
tap.ok(alter:close(), "an altered expectation makes the suite fail, wherever it is" .. (text:find "every altered expectation was noticed" and "" or ": " .. text))
tap.done()
