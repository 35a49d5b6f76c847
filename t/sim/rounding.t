#!/usr/bin/env lua5.4
-- The simulator's tensor core against an H200's: the numbers of t/rounding.lua give the same bits, as recorded; and the rule behind them,
-- written down twice (src/sim/sums.c, t/rounding.lua), gives the same bits for numbers at the borders, recorded or not.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local weir = require "weir"
local rounding = require "rounding"

local h200 = dofile(rounding.file)
tap.diag(("recorded on %s, driver %s, revision %s, %s"):format(h200.device, h200.driver, h200.revision, h200.date))
local run = rounding.program(weir, weir.device("sim", { seed = 1 }))

-- What of a list of results is wrong, in a line.
local function compare(round, want, got)
  local wrong, first = 0, nil
  for i, w in ipairs(want) do
    if w ~= got[i] then
      wrong = wrong + 1
      first = first or ("%s: result %d of %d is %08x, should be %08x"):format(round.name, i, #want, got[i], w)
    end
  end
  return first and ("%s; %d differ"):format(first, wrong)
end

local kinds, looked_at, absent = {}, 0, {}
for _, round in ipairs(rounding.rounds()) do
  local name = round.kind.name
  local k = kinds[name] or { name = name, hardware = {}, rule = {}, recorded = 0, ruled = 0 }
  if not kinds[name] then kinds[name], kinds[#kinds + 1] = k, k end
  local got = run(round)
  local text = h200.rounds[round.name]
  if text then
    local want = {}
    for word in text:gmatch "%x%x%x%x%x%x%x%x" do want[#want + 1] = tonumber(word, 16) end
    looked_at = looked_at + 1
    k.recorded = k.recorded + #want
    k.hardware[#k.hardware + 1] = compare(round, want, got)
  else absent[#absent + 1] = round.name end
  local rule = rounding.expected(round)
  k.ruled = k.ruled + #rule
  k.rule[#k.rule + 1] = compare(round, rule, got)
end
for _, k in ipairs(kinds) do
  if k.recorded > 0 then tap.is({}, k.hardware, ("%s: %d results are the H200's"):format(k.name, k.recorded)) end
  tap.is({}, k.rule, ("%s: %d results are those of the rule"):format(k.name, k.ruled))
end
if #absent > 0 then tap.skip(("not recorded: %d rounds, from %s"):format(#absent, absent[1])) end
local of = 0
for _ in pairs(h200.rounds) do of = of + 1 end
tap.is(of, looked_at, "every recorded round was looked at")
tap.done()
