#!/usr/bin/env lua5.4
-- Counterexamples of the prover, run in the simulator: at the sizes that a finding names and with the tiles that its steps take, random kernels (t/gen) stop, and are told the same; a
-- deadlock stands at the same mbarrier. The explorer finds no fault of that kind at smaller sizes.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local schedules, deadlocks = require "gen.schedules", require "deadlocks"
local weir, plan = lab.weir, lab.plan

-- What the simulator calls it, and the explorer.
local as = {
  ["PROVE-DEADLOCK"] = { "deadlock", "deadlock" }, ["PROVE-RACE"] = { "race early-read uninit async-read async-write accumulator", "race unfilled" },
  ["PROVE-ASYNC-READ"] = { "async-read async-write race early-read", "async_read" }, ["PROVE-PARITY"] = { "lap async-write race", "parity" },
  ["PROVE-COUNT"] = { "arrivals deadlock lap", "count stuck_count" }, ["PROVE-TX"] = { "tx deadlock", "tx stuck_tx" }, ["PROVE-PROXY"] = { "fence", "proxy" },
  ["PROVE-EXIT"] = { "exit exited", "exit" },
}

-- The finding of the counterexample, where it is the proof's.
local function witness(report)
  if report.text:find "%[V%-" then return nil end         -- refused as it is written: there the text is not the plan's word for word
  for _, f in ipairs(report.findings) do
    if as[f.rule] and report.proof.text:find(f.message, 1, true) then return f end
  end
end

local wanted = tonumber(arg[1]) or 30
local n, told, other, smaller, seed, culprits = 0, {}, {}, {}, tonumber(arg[2]) or 1000, 0
local several = 0
while n < wanted do
  local s = schedules.random(seed, { mistakes = seed % 2 + 1 })
  seed = seed + 1
  local made, k = pcall(schedules.kernel, weir, s, true)
  local built, p = false, nil
  if made then built, p = pcall(k.build, k, { unsafe = true, device = lab.device() }) end
  local f = built and p.report.proof.verdict == "UNSAFE" and witness(p.report)
  if f then
    n = n + 1
    local at, named = { N = 2, M = 2 }, f.message:match "%(with (.-)%)$" or ""
    for dim, size in named:gmatch "(%u) = (%d+)" do at[dim] = tonumber(size) end
    local seen, same
    local tiles = tonumber(p.report.proof.trace:match "(%d+) work tiles") or 1
    for number = 1, 4 do
      local dev = weir.device("sim", { seed = number })
      local ok, message = schedules.launch(s, p, dev, { N = at.N, M = at.M, T = tiles })
      dev:close()
      if not ok then
        seen = message
        same = as[f.rule][1]:find(message:match "%[sim%-([%w-]+)%]" or "?", 1, true) ~= nil
        if f.rule == "PROVE-DEADLOCK" and same then
          same = deadlocks.same_culprit(p.report.findings, deadlocks.waits(message))
          culprits = culprits + (same and 1 or 0)
        end
      end
      if same then break end
    end
    if tiles > 1 then several = several + 1 end
    local name = ("%s: %s: %s"):format(schedules.text(s), f.rule, f.message)
    if same then told[f.rule] = (told[f.rule] or 0) + 1
    else other[#other + 1] = name .. "; the simulator: " .. tostring(seen) end
    local ns, ms = named:find "N = ", named:find "M = "
    for N = 0, ns and at.N or 0 do
      for M = 0, ms and at.M or 0 do
        if not s.tiles and ((ns and N < at.N) or (ms and M < at.M)) then
          local r = plan.explore(p, { N = ns and N or at.N, M = ms and M or at.M, T = 1, R = 64, tiles = 1 }, { limit = 20000 })
          for kind in as[f.rule][2]:gmatch "%S+" do if r[kind] then smaller[#smaller + 1] = ("%s: %s with N = %d, M = %d"):format(name, kind, N, M) end end
        end
      end
    end
  end
  if made then k:close() end
end
local list = {}
for rule, count in pairs(told) do list[#list + 1] = ("%s %d"):format(rule, count) end
table.sort(list)
tap.is({}, other, ("%d counterexamples stop the simulator, as what they are (%s), %d deadlocks at the same mbarrier"):format(n, table.concat(list, ", "), culprits))
tap.ok(several > wanted // 20, ("%d of them need several work tiles: as many as the steps say"):format(several))
tap.ok(#smaller <= wanted // 20, ("%d have smaller sizes: %s"):format(#smaller, table.concat(smaller, "\n")))
tap.done()
