#!/usr/bin/env lua5.4
-- Timelines of simulated launches: what the spans say, and the two files. t/c/probe_test.c has the clocks of a GPU.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local dev = weir.device("sim", { seed = 3 })

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- A reader of JSON, strict enough for what is written here.
local function json(text)
  local at = 1
  local value
  local function skip() at = text:find("[^%s]", at) or #text + 1 end
  local function fail(what) error(("JSON, byte %d: %s: %s"):format(at, what, text:sub(at, at + 30))) end
  local function take(c) skip(); if text:sub(at, at) ~= c then fail("no " .. c) end at = at + 1 end
  local function peek(c) skip(); return text:sub(at, at) == c end
  local function word()
    take '"'
    local out = {}
    while not peek '"' or text:sub(at, at) ~= '"' do
      local c = text:sub(at, at)
      if c == "" then fail "an open string" end
      if c == "\\" then at = at + 1; c = text:sub(at, at) end
      out[#out + 1] = c
      at = at + 1
      if text:sub(at, at):find "%s" then out[#out + 1] = text:match("^%s+", at); at = at + #out[#out] end
    end
    take '"'
    return table.concat(out)
  end
  function value()
    if peek "{" then
      local t = {}
      take "{"
      while not peek "}" do
        local key = word()
        take ":"
        t[key] = value()
        if not peek "}" then take "," end
      end
      take "}"
      return t
    elseif peek "[" then
      local t = {}
      take "["
      while not peek "]" do
        t[#t + 1] = value()
        if not peek "]" then take "," end
      end
      take "]"
      return t
    elseif peek '"' then return word()
    end
    local w = text:match("^[%w.+-]+", at) or fail "no value"
    at = at + #w
    if w == "true" or w == "false" then return w == "true" end
    return tonumber(w) or fail "no number"
  end
  local v = value()
  skip()
  if at <= #text then fail "more behind it" end
  return v
end

-- Tags that open are closed, in order; the texts between.
local function xml(text)
  local open, words = {}, {}
  for slash, name, rest in text:gmatch "<(/?)(%w+)([^>]*)>" do
    if slash == "/" then
      if table.remove(open) ~= name then return nil, "</" .. name .. "> closes nothing" end
    elseif rest:sub(-1) ~= "/" then open[#open + 1] = name
    end
  end
  for word in text:gmatch "<text[^>]*>([^<]*)" do words[word] = true end
  return #open == 0, words
end

local folder = os.tmpname()
os.remove(folder)
local svg, perfetto = folder .. ".svg", folder .. ".json"

-- ---- a GEMM: one thread loads, two warpgroups multiply, eight steps of K in four stages -------------------------------------------------

local program = lab.gemm { warpgroups = 2, n = 128, stages = 4 }:build { device = dev }
local m, n, kk = 256, 128, 512
local a, b = dev:tensor { dtype = "bf16", shape = { m, kk } }:fill(1), dev:tensor { dtype = "bf16", shape = { n, kk } }:fill(2)
local d = dev:tensor { dtype = "bf16", shape = { m, n } }
local args = { A = a, B = b, D = d }
local t = assert(program:trace(args, { ctas = 2 }))
tap.is(2.0 * kk, d:get()[m * n], "a traced launch computes")
tap.is({ "steps", true }, { t.unit, t.complete }, "in steps, all of it")

local spans = t:spans()
local rows, order = {}, {}
for _, s in ipairs(spans) do
  local key = s.cta .. " " .. s.warp
  if not rows[key] then rows[key] = {}; order[#order + 1] = key .. " " .. s.task end
  table.insert(rows[key], s)
end
tap.is({ "0 0 load", "0 4 mma", "0 8 mma", "1 0 load", "1 4 mma", "1 8 mma" }, order, "an actor a row, by CTA and warp")

local gaps, stuck, backward = 0, 0, 0
for _, row in pairs(rows) do
  for i, s in ipairs(row) do
    if s.from > s.to then backward = backward + 1 end
    if i > 1 and s.from < row[i - 1].to then backward = backward + 1 end
    if i > 1 and s.from > row[i - 1].to + 1 then gaps = gaps + 1 end
    if s.stuck then stuck = stuck + 1 end
  end
end
tap.is({ 0, 0, 0 }, { gaps, backward, stuck }, "a span begins where the one before it ends, and none is stuck")

local function picked(row, what)
  local stages, nths, waits = {}, {}, {}
  for _, s in ipairs(rows[row]) do
    if s.what == what then
      stages[#stages + 1], nths[#nths + 1], waits[tostring(s.waits)] = s.stage, s.nth, true
    end
  end
  return stages, nths, waits
end
local twice, upto8 = { 0, 1, 2, 3, 0, 1, 2, 3 }, { 1, 2, 3, 4, 5, 6, 7, 8 }
for row, list in pairs { ["0 0"] = { "wait ab_empty", "load a", "load b" }, ["0 4"] = { "wait ab_full", "mma acc", "arrive ab_empty" },
                         ["1 8"] = { "wait ab_full", "mma acc", "arrive ab_empty" } } do
  for _, what in ipairs(list) do
    local stages, nths, waits = picked(row, what)
    if what:find "^arrive" then nths[8] = nths[8] + 7 end         -- the last release is another action
    tap.is({ twice, upto8 }, { stages, nths }, ("%s: '%s' goes through the stages, twice"):format(row, what))
    tap.is({ [tostring(what:find "^wait" ~= nil)] = true }, waits, "and " .. (what:find "^wait" and "waits" or "works"))
  end
end
tap.is({ 0, 1, 2, 3, 0, 1, 2, 3 }, (picked("0 4", "drain acc")), "a drain is of the stage that its batch reads")
tap.is({ 0, 1 }, (picked("0 4", "store stage")), "stores know the stage of a pipeline without barriers")
local first = rows["0 4"][1]
tap.is(0, math.min(first.from, rows["0 0"][1].from, rows["0 8"][1].from, rows["1 0"][1].from, rows["1 4"][1].from, rows["1 8"][1].from), "time begins at 0")
local mma
for _, s in ipairs(rows["0 4"]) do if s.what == "mma acc" then mma = s end end
tap.matches("acc:mma", (function()
  local i = 0
  for row in io.lines(mma.file) do
    i = i + 1
    if i == mma.line then return row end
  end
end)(), "a span has the author's line")

-- ---- the files -----------------------------------------------------------------------------------------------------------------------

tap.is(t, t:perfetto(perfetto), "JSON is written")
local events = json(read(perfetto)).traceEvents
local slices, names, flights, bad = 0, {}, 0, 0
for _, e in ipairs(events) do
  if e.ph == "X" then
    slices = slices + 1
    local s = spans[slices]
    if e.name ~= s.what or e.pid ~= s.cta or e.tid ~= s.warp or math.abs(e.dur - (s.to - s.from)) > 1e-3 or e.args.stage ~= s.stage then bad = bad + 1 end
  elseif e.ph == "M" and e.name == "thread_name" then names[#names + 1] = e.pid .. " " .. e.args.name
  elseif e.ph == "b" then flights = flights + 1
  elseif e.ph == "e" then flights = flights - 1000
  end
end
tap.is({ #spans, 0 }, { slices, bad }, "a slice a span")
tap.is({ "0 load, warp 0", "0 mma, warp 4", "0 mma, warp 8", "1 load, warp 0", "1 mma, warp 4", "1 mma, warp 8" }, names, "a track an actor")
tap.is(32 - 32 * 1000, flights, "32 batches of MMAs take off and land")

tap.is(t, t:svg(svg), "a drawing is written")
local whole, words = xml(read(svg))
tap.ok(whole, "its tags are closed")
tap.ok(words["gemm: 2 CTAs, " .. ("%.0f steps"):format((function()
  local last = 0
  for _, s in ipairs(spans) do last = math.max(last, s.to) end
  return last
end)())], "it says what it shows")
for _, word in ipairs { "CTA 1", "load, warp 0", "mma, warps 4-7", "mma, warps 8-11", "stage 3", "waits", "mma in flight", "1, 2, ...: first, second time" } do tap.ok(words[word], "and has: " .. word) end
tap.ok(not words["never ended"], "and no red where every span ended")
tap.unlike("nan", read(svg), "every place is a number")
t:close()
tap.raises("the timeline is closed", function() t:svg(svg) end, "a closed timeline")

-- ---- other launches --------------------------------------------------------------------------------------------------------------------

local cluster = lab.gemm { cluster = 2 }:build { device = dev }
local ca, cb = dev:tensor { dtype = "bf16", shape = { 128, 128 } }:randn(1), dev:tensor { dtype = "bf16", shape = { 64, 128 } }:randn(2)
local cd = dev:tensor { dtype = "bf16", shape = { 128, 64 } }
local ctas = {}
for _, s in ipairs(assert(cluster:trace { A = ca, B = cb, D = cd }):spans()) do ctas[s.cta] = true end
tap.is({ [0] = true, [1] = true }, ctas, "a cluster if no number is given")

local empty = assert(program:trace { A = dev:tensor { dtype = "bf16", shape = { 0, 64 } }, B = dev:tensor { dtype = "bf16", shape = { 128, 64 } },
  D = dev:tensor { dtype = "bf16", shape = { 0, 128 } } })
tap.is(0, #empty:spans(), "no tile, no span")
tap.ok(empty:svg(svg) and xml(read(svg)), "and an empty drawing")

-- a wait too many: the timeline goes to the end, and says who is stuck
local T = 32
local k = weir.kernel { name = "late", arch = "sm_90a" }
local N = k:dim "N"
local ring = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { T }, pipeline = weir.pipeline.async_async { stages = 2 },
  work = { fill = weir.producer_work { code = "smem[tid] = 1;" } } }
k:task { name = "load", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do ring:acquire(); ring:fill(); ring:commit() end end }
k:task { name = "take", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, N + 1) do ring:wait(); ring:release() end end }
local late, message, code = k:build({ device = dev, unsafe = true }):trace({ N = 5 }, { grid = 1 })
tap.is({ "sim", 1 }, { code, late and 1 }, "a run that stops still has a timeline")
tap.like("task 'take', CTA 0, warp 4: waits for mbarrier 'ring_full' stage 1", message, "and a message")
local ends = {}
for _, s in ipairs(late:spans()) do if s.stuck then ends[#ends + 1] = ("%s: %s, no. %d, stage %d"):format(s.task, s.what, s.nth, s.stage) end end
tap.is({ "take: wait ring_full, no. 6, stage 1" }, ends, "the span that never ends")
late:svg(svg)
tap.like("#c62828", read(svg), "is red")
tap.like(">never ended<", read(svg), "which the legend explains")

-- many tiles, a dynamic queue, values, masks: every event has its place
local attention = require "weir.kernels.attention"
local k2 = attention.kernel { d = 64, causal = true, config = { warpgroups = 1, bn = 64, stages = 2, q_stages = 1, queue = "atomic", heads = 8 } }
local function qkv(rows2) return dev:tensor { dtype = "bf16", shape = { 1, 2, rows2, 64 } }:randn(rows2) end
local q = qkv(192)
local att, why = k2:build({ device = dev }):trace({ Q = q, K = qkv(192), V = qkv(192), O = q:copy() })
tap.ok(att, why or "attention")
local unknown = 0
for _, s in ipairs(att and att:spans() or {}) do
  if (s.what:find "^wait" or s.what:find "^mma " or s.what:find "^load ") and not s.stage then unknown = unknown + 1 end
end
tap.is(0, unknown, "every wait, load and mma has its stage")

-- ---- sizes alone ------------------------------------------------------------------------------------------------------------------------

local function steps(timeline)
  local out = {}
  for i, s in ipairs(timeline:spans()) do out[i] = { s.cta, s.warp, s.what, s.stage, s.nth, s.from, s.to } end
  return out
end
local modelled = steps(assert(program:trace({ M = m, N = n, K = kk }, { ctas = 2 })))
tap.is(#spans, #modelled, "dims are enough for a timeline")
tap.is(steps(assert(program:trace(args, { ctas = 2 }))), modelled, "the same as with data")
tap.is(modelled, steps(assert(program:trace({ B = b, M = m }, { ctas = 2 }))), "or dims and some of the tensors")

-- ---- mistakes --------------------------------------------------------------------------------------------------------------------------

tap.raises("1 to 256 are possible", function() program:trace(args, { ctas = -1 }) end, "ctas = -1")
tap.raises("there are stream, grid, device, pdl, ctas", function() program:trace(args, { steps = 3 }) end, "an unknown option")
tap.raises("tensor 'A' is missing", function() program:trace { B = b } end, "a missing tensor, of unknown size")
tap.raises("dim 'M'", function() program:trace { D = d, M = 3, K = 64 } end, "sizes that contradict each other")
local fresh = assert(program:trace(args))
tap.is({ nil, "io" }, (function() local ok, _, status = fresh:svg(folder .. "/none/x.svg"); return { ok, status } end)(), "a folder that is not there")
tap.raises("the name of a file", function() fresh:perfetto() end, "no file")
tap.raises("did you mean 'svg'", function() return fresh.svgs end, "a misspelt method")
os.remove(svg)
os.remove(perfetto)
tap.done()
