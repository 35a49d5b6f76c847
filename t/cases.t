#!/usr/bin/env lua5.4
-- Schedules that a prover decides wrongly which knows too little or claims to know too much, one a line: what is wanted, and what the
-- explorer of actions says. `without` names what is taken out of the plan: "p2" the waits at p2's barriers, else the actions of a kind;
-- "p2 on p1" gives both the same bytes, also beside another (`too`).
local tap = require "tap"
local lab = require "lab"
local plan, weir = lab.plan, lab.weir
local agreement, schedules = require "gen.agreement", require "gen.schedules"

local function drop(p, what)
  local dropped = 0
  local function look(list)
    for _, n in ipairs(list) do
      if type(n) == "table" then look(n)
      else
        local kind, bar = plan.get(p, "action", n, "kind"), plan.get(p, "action", n, "bar")
        if kind == what or (kind == "wait" and plan.get(p, "bars", bar, "name"):find("^" .. what .. "_")) then
          plan.drop(p, n)
          dropped = dropped + 1
        end
      end
    end
  end
  for _, name in ipairs(plan.tasks(p)) do look(plan.tree(p, name)) end
  return dropped
end

-- what is shown, schedule, verdict or rule wanted, without, too
for _, c in ipairs {
  { "two warps' arrivals, both known by another way: the phase is over",
    "p1:bar/1 p2:bar/1 | t1(1) for N{ p1.commit p2.wait p2.release } | t2(2) for N{ p1.wait p1.release p2.acquire p2.commit }", "SAFE", refused = true },
  { "lanes of a warpgroup arrive one by one, each in its own time",
    "p1:mma/2 p2:bar/1 | t1(1) { p1.acquire p1.fill p1.commit } | t2(4) { p1.wait p1.use p1.drain(0) p1.release } for N{ p2.acquire p2.commit } | t3(1) for N{ p2.wait p2.release }",
    "PROVE-COUNT", "p2" },
  { "an mma between joins them: it takes all warps",
    "p1:mma/2 p2:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release p2.acquire p2.commit } | t3(1) for N{ p2.wait p2.release }",
    "SAFE", "p2" },
  { "two warps copy a stage by cp.async", "p1:cp/1 | t1(2) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }", "SAFE" },
  { "the loop's fill left out: the second stage is read, and nobody has ever filled it, though the first one was",
    "p1:threads/2 | t1(1) { p1.acquire p1.fill p1.commit } for N{ p1.acquire p1.commit } | t2(1) for N{ p1.wait p1.use p1.release } { p1.wait p1.use p1.release }", "PROVE-RACE" },
  { "cp.async writes: not before the stage is free", "p1:cp/1 | t1(1) for N{ p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }", "PROVE-RACE" },
  { "cp.async lands when it likes: not to be read before", "p1:cp/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.use p1.wait p1.release }", "PROVE-RACE" },
  { "who waits reads too, and hands on; who gives back has not waited",
    "p1:threads/2 p2:bar/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.acquire p2.commit } | t3(1) for N{ p2.wait p1.use p1.release p2.release }", "SAFE" },
  { "who waits reads after it has handed on",
    "p1:threads/2 p2:bar/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p2.acquire p2.commit p1.use } | t3(1) for N{ p2.wait p1.use p1.release p2.release }", "PROVE-RACE" },
  { "two warps fill one after the other two stages that share bytes: one may be behind",
    "p1:threads/1 p2:threads/1 | t1(2) for N{ p1.acquire p1.fill p1.commit p2.acquire p2.fill p2.commit } | t2(1) for N{ p1.wait p1.release p2.wait p2.use p2.release }", "PROVE-RACE", "p2 on p1" },
  { "data overwritten through other storage by the task that filled them",
    "p1:threads/1 p2:threads/1 | t1(1) { p1.acquire p1.fill p2.acquire p2.fill p2.commit p1.commit } | t2(1) { p1.wait p1.use p1.release p2.wait p2.use p2.release }", "PROVE-RACE", "p2 on p1" },
  { "who waits has waited, who reads comes after the overwriting",
    "p1:threads/1 p2:threads/1 p3:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p3.acquire p3.commit } | t3(1) for N{ p3.wait p2.acquire p2.fill p2.commit p3.release } | t4(1) for N{ p2.wait p1.use p2.use p1.release p2.release }",
    "PROVE-RACE", "p2 on p1" },
  { "read, given back, and only then overwritten",
    "p1:threads/1 p2:threads/1 p3:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit p2.wait p2.use p2.release } | t2(1) for N{ p1.wait p1.use p3.acquire p3.commit p2.acquire p2.fill p2.commit p1.release } | t3(1) for N{ p3.wait p3.release }",
    "SAFE", "p2 on p1" },
  { "overwritten by a warp whose lanes have not met since they read it",
    "p1:threads/1 p2:threads/1 | t1(1) for N{ p1.acquire p1.fill p1.commit p2.wait p2.use p2.release } | t2(1) for N{ p1.wait p1.use p2.acquire p2.fill p2.commit p1.release }",
    "PROVE-RACE", "p2 on p1" },
  { "a stage that nobody fills", "p1:threads/2 | t1(1) for N{ p1.acquire p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }", "PROVE-RACE" },
  { "filled in every other step, read in all", "p1:threads/2 | t1(1) for N if every 2{ p1.acquire p1.fill p1.commit } for N if every 2 1{ p1.acquire p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }", "PROVE-RACE" },
  { "what cp.async wrote and an mma reads is fenced behind the wait", "p1:cpm/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release }", "SAFE" },
  { "else the mma may not see it", "p1:cpm/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release }", "PROVE-PROXY", "fence_async" },
  { "what threads read and a load fills again is fenced before it is given back", "p1:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(2) for N{ p1.wait p1.use p1.release }", "SAFE" },
  { "else the load may overtake the reads", "p1:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(2) for N{ p1.wait p1.use p1.release }", "PROVE-PROXY", "fence_async" },
  { "so may a body that brings bytes", "p1:tx/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }", "PROVE-PROXY", "fence_async" },
  { "and a load of the thread itself", "p1:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit p1.wait p1.use p1.release }", "PROVE-PROXY", "fence_async" },
  { "not into what is filled once", "p1:tma/1 | t1(1) { p1.acquire p1.fill p1.commit } | t2(1) { p1.wait p1.use p1.release }", "SAFE", "fence_async" },
  { "who reads and hands on to who gives back fences before the commit", "p1:tma/2 p2:bar/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.acquire p2.commit } | t3(1) for N{ p2.wait p1.release p2.release }", "SAFE" },
  { "else a load may overtake its reads", "p1:tma/2 p2:bar/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.acquire p2.commit } | t3(1) for N{ p2.wait p1.release p2.release }", "PROVE-PROXY", "fence_async" },
  { "who tells of it by a load fences, and joins the warp, before it arms", "p1:tma/2 p2:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.acquire p2.fill p2.commit } | t3(1) for N{ p2.wait p2.use p1.release p2.release }", "SAFE" },
  { "unfenced a load may overtake the reads", "p1:tma/2 p2:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.acquire p2.fill p2.commit } | t3(1) for N{ p2.wait p2.use p1.release p2.release }", "PROVE-PROXY", "fence_async" },
  { "what is read behind the arming the load does not tell", "p1:tma/2 p2:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p2.acquire p1.use p2.fill p2.commit } | t3(1) for N{ p2.wait p2.use p1.release p2.release }", "PROVE-RACE" },
  { "who reads and tells of it by a release fences before that", "p1:tma/2 p2:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.wait p2.release p2.wait p2.release } | t3(1) for N{ p2.acquire p2.commit p2.acquire p1.release p2.commit }", "SAFE" },
  { "or may be overtaken", "p1:tma/2 p2:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p2.wait p2.release p2.wait p2.release } | t3(1) for N{ p2.acquire p2.commit p2.acquire p1.release p2.commit }", "PROVE-PROXY", "fence_async" },
  { "through other storage it may", "p1:tma/1 p2:tma/1 p3:bar/1 | t1(1) { p1.acquire p1.fill p1.commit p3.wait p3.release p2.acquire p2.fill p2.commit } | t2(1) { p1.wait p1.use p1.release p3.acquire p3.commit p2.wait p2.use p2.release }",
    "PROVE-PROXY", "fence_async", "p2 on p1" },
} do
  local what, text, wanted, without, too = table.unpack(c)
  local s = schedules.parse(text)
  local k = schedules.kernel(weir, s)
  local p = assert(plan.of(k))
  if wanted == "SAFE" and not without and not c.refused then tap.ok(k:verify().ok, what .. ": no rule refuses it") end
  if without == "p2 on p1" or too == "p2 on p1" then plan.set(p, "smem", 1, "offset", plan.get(p, "smem", 0, "offset")) end
  if without and without ~= "p2 on p1" then tap.ok(drop(p, without) > 0, without .. " is taken out") end
  local sizes = schedules.sizes(s)
  sizes.tiles = s.tiles and 4 or nil
  local said = agreement.compare(plan, p, sizes, { limit = 200000 })
  local seen = said.verdict
  for _, f in ipairs(said.findings) do if f.rule == wanted then seen = wanted end end
  tap.is(wanted, seen, what)
  tap.is({}, { said.wrong, said.open }, "  so says the explorer")
  p:close()
  k:close()
end
tap.done()
