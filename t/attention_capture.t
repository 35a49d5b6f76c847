#!/usr/bin/env lua5.4
-- examples/attention.lua, causal: what its schedules become. Loops cut by where the mask ends, values from helpers, drains of two
-- register tiles in flight together, and the wait_group numbers that follow. lua_capture.t has the form without a mask.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local plan = lab.plan

local file = assert(io.open "examples/attention.lua")
local script = file:read "a"
file:close()
local function described(causal) return assert(load(script:gsub("return k:build%(%)%s*$", "return k\n"), "@attention.lua"))(causal) end

local k = described(true)
local report = k:verify { prove = false }
tap.is(true, report.ok, "validated")
tap.is({}, report.findings, "without a finding")
tap.is("NOT_PROVED", report.proof.verdict, "and not proved when not asked to")

-- The rows of the capture: depth, text, the author's lines.
local rows = {}
for row in (k:print "capture" .. "\n"):gmatch "(.-)\n" do
  local indent, text, lines = row:match "^( *)(.-)%s+%-%- (.*)$"
  if not indent then indent, text, lines = row:match "^( *)(.*)$", row, "" end
  if text ~= "" then rows[#rows + 1] = { depth = #indent // 2, text = text:gsub("^%s+", ""), lines = lines:gsub("attention%.lua:", "") } end
end
local function pick(pattern, from, to)
  local out = {}
  for i = from or 1, to or #rows do
    if rows[i].text:find(pattern) then out[#out + 1] = rows[i].text end
  end
  return out
end
local function at(pattern, nth)
  for i, row in ipairs(rows) do
    if row.text:find(pattern) then
      nth = (nth or 1) - 1
      if nth == 0 then return i end
    end
  end
  error("no row " .. pattern)
end

-- ---- loops -------------------------------------------------------------------------------------------------------------------------------
local blocks = "min(ceil_div(L, 128), ceil_div((t.q + 1) * 128, 128))"
local free = "min(max((t.q * 128 + 1) // 128, 0), " .. blocks .. " - 1)"
tap.is({
  "for i0 in domain_loop(" .. blocks .. " - 1, -1, -1)",
  "for i0 in domain_loop(" .. blocks .. " - 2, " .. free .. " - 1, -1)",
  "for i1 in domain_loop(" .. free .. " - 1, -1, -1)",
}, pick "domain_loop", "loops: all blocks in the loader; masked ones, then free ones, in the math task")
local masked, unmasked, after = at("domain_loop", 2), at("domain_loop", 3), at "^q:release"
tap.is({ 2, 2, 2 }, { rows[masked].depth, rows[unmasked].depth, rows[after].depth }, "loops: one behind the other, inside the tile loop")
tap.is({ "43", "78", "79" }, { rows[at "domain_loop"].lines, rows[masked].lines, rows[unmasked].lines }, "loops: their lines")

-- The body of a step, in order, in both loops.
local function moves(from, to)
  local out = {}
  for i = from + 1, to - 1 do
    local text = rows[i].text
    if not text:find ":read%(%)$" and not text:find "^v:read" then out[#out + 1] = (text:gsub("set%(.*$", "set")) end
  end
  return out
end
local step = { "k:wait()", "S:zero()", "S:mma(q:read(), k:read())", "v:wait()", "O:mma(P:read(), v:read():t())", "S:drain(0)", "k:release()", "m:set", "l:set", "O:drain(0)",
  "v:release()", "O:set", "P:set" }
tap.is(step, moves(masked, unmasked), "masked step: S of this block in flight with P*V of the one before")
tap.is(step, moves(unmasked, after), "free step: the same")
tap.is({ "70 < 78", "72 < 78" }, { rows[at("S:drain", 2)].lines, rows[at("O:drain", 1)].lines }, "a helper's lines and its caller's")

-- ---- values ------------------------------------------------------------------------------------------------------------------------------
local live = "S:col_index() + i0 * 128 < L & S:col_index() + i0 * 128 <= S:row_index() + t.q * 128"
local s = "select(" .. live .. ", S:read(), -1e+30)"
local new_max = "max(m:read(), " .. s .. ":row_max())"
tap.is({ "m:set(" .. new_max .. ")" }, pick("^m:set", masked, unmasked), "masked: the maximum, over what the mask leaves")
tap.is({ "P:set(exp2(" .. s .. " * scale2 - " .. new_max .. " * scale2))" }, pick("^P:set", masked, unmasked), "masked: the probabilities")
tap.is({ "O:set(O:read() * exp2((m:read() - " .. new_max .. ") * scale2))" }, pick("^O:set", masked, unmasked), "masked: the sums, scaled")
tap.is({ "m:set(max(m:read(), S:read():row_max()))" }, pick("^m:set", unmasked, after), "free: no mask")
tap.is({ "l:set(l:read() * exp2((m:read() - max(m:read(), S:read():row_max())) * scale2) + exp2(S:read() * scale2 - max(m:read(), S:read():row_max()) * scale2):row_sum(4))" },
  pick("^l:set", unmasked, after), "free: four partial sums a row")
tap.is({ "ost:store(O:read() / l:read():row_sum())" }, pick "^ost:store", "the quotient at the end")
tap.is({ "gO:tma_store(ost:read(), gO:at(t.bh, t.q, 0))" }, pick "tma_store", "and its place")

-- ---- drains ------------------------------------------------------------------------------------------------------------------------------
local p = assert(load(script, "@attention.lua"))(true)
local drains = {}
for id = 1, plan.count(p, "action") do
  if plan.get(p, "action", id, "kind") == "mma_wait" then drains[#drains + 1] = { plan.line(p, id), plan.get(p, "action", id, "n") } end
end
tap.is({ { 76, 0 }, { 70, 1 }, { 72, 0 }, { 70, 1 }, { 72, 0 }, { 81, 0 } }, drains, "S:drain() with P*V behind it in flight is wgmma.wait_group 1")
local bars = {}
for _, row in ipairs(lab.rows(p, "bars", "name", "stages", "count", "tx")) do bars[row.name] = { row.stages, row.count, row.tx } end
tap.is({ q_full = { 2, 1, 32768 }, q_empty = { 2, 2, 0 }, k_full = { 2, 1, 32768 }, k_empty = { 2, 2, 0 }, v_full = { 2, 1, 32768 }, v_empty = { 2, 2, 0 } }, bars,
  "barriers: 128 x 128 bf16 a stage, released by two warpgroups")

-- ---- a run -------------------------------------------------------------------------------------------------------------------------------
for _, causal in ipairs { true, false } do
  local program = assert(load(script, "@attention.lua"))(causal)
  local dev, BH, L, D = lab.device(), 2, 150, 128
  local function tensor(seed) return dev:tensor { dtype = "bf16", shape = { BH, L, D } }:randn(seed) end
  local q, kk, v, o = tensor(1), tensor(2), tensor(3), tensor(4):fill(0 / 0)
  local ok, message = program:launch({ Q = q, K = kk, V = v, O = o, scale2 = 1.4426950408889634 / math.sqrt(D) }, { device = dev })
  tap.is("", ok and "" or message, (causal and "causal" or "full") .. ": runs")
  local x, y, z, got, worst = q:get(), kk:get(), v:get(), o:get(), 0
  for bh = 0, BH - 1 do
    for i = 0, L - 1, 13 do
      local weight, sum, top = {}, 0, -math.huge
      for j = 0, causal and i or L - 1 do
        local dot = 0
        for d = 1, D do dot = dot + x[(bh * L + i) * D + d] * y[(bh * L + j) * D + d] end
        weight[j] = dot / math.sqrt(D)
        top = math.max(top, weight[j])
      end
      for j, w in pairs(weight) do weight[j] = math.exp(w - top) sum = sum + weight[j] end
      for d = 1, D, 5 do
        local r = 0
        for j, w in pairs(weight) do r = r + w * z[(bh * L + j) * D + d] end
        local off = math.abs(got[(bh * L + i) * D + d] - r / sum)
        if off ~= off then off = math.huge end
        worst = math.max(worst, off)
      end
    end
  end
  tap.ok(worst < 0.02, ("%s: right to %.4f"):format(causal and "causal" or "full", worst))
end

tap.done()
