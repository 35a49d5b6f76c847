#!/usr/bin/env lua5.4
-- The prover keeps what is known of a pipeline only where it is asked for, or, if that proves nothing, where it can come to matter, and turns its
-- stages on to where they have all been used twice. It must say the same as with all kept everywhere, and turning stage by stage; and a state
-- must grow with the tasks, not with their square.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local schedules = require "gen.schedules"

local function said(p, everywhere, stagewise)
  local verdict, findings, text = plan.prove(p, true, everywhere, stagewise)
  local out = { verdict, (text or ""):gsub("[%d.]+ ms", "") }
  for _, f in ipairs(findings) do out[#out + 1] = ("%s %s:%s"):format(f.rule, f.line, f.message) end
  return table.concat(out, "\n")
end

local function actions(list, out)
  for _, n in ipairs(list) do
    if type(n) == "table" then actions(n, out) else out[#out + 1] = n end
  end
  return out
end

-- ---- schedules for which it matters what is kept ---------------------------------------------------------------------------------
-- Many stages, so that a pipeline has words of its own.

local function of_kind(p, task, kind)
  local out = {}
  for _, id in ipairs(actions(plan.tree(p, task), {})) do
    if plan.get(p, "action", id, "kind") == kind then out[#out + 1] = id end
  end
  return out
end
local EACH, ONE = 3, 5 -- threads that execute an action

local function who(p, task, kind, nth, threads) plan.set(p, "action", of_kind(p, task, kind)[nth], "who", threads) end

-- Leaves out the nth actions of a kind (from the last: ids stay right).
local function drop(p, task, kind, ...)
  local ids, which = of_kind(p, task, kind), { ... }
  for i = #which, 1, -1 do plan.drop(p, ids[which[i]]) end
end

-- Kinds of actions become none: nothing of them is left but that cursors advance.
local function blank(p, task, kind, nth) plan.set(p, "action", of_kind(p, task, kind)[nth], "kind", "none") end

-- The first of the schedules below, but that the warp joins before it hands on only if N > 1.
local function joins_at_times()
  local k = weir.kernel { name = "at_times", arch = "sm_90a" }
  local N, loop = k:dim "N", weir.domain_loop
  local function bar(name) return k:barrier { name = name, pipeline = weir.pipeline.async_async { stages = 1 } } end
  local p1 = k:resource { name = "p1", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.tma_async { stages = 7 },
    work = { fill = weir.producer_work { code = ";", tx_bytes = 64 }, use = weir.consumer_work { code = ";" } } }
  local p2, p3, p4 = bar "p2", bar "p3", bar "p4"
  k:task { name = "t1", warps = { 0, 1 }, schedule = function() for _ in loop(0, N) do p1:acquire(); p1:fill(); p1:commit() end end }
  k:task { name = "t2", warps = { 1, 1 }, schedule = function()
    for _ in loop(0, N) do
      p1:wait(); p2:acquire()
      for _ in weir.when_true(weir.gt(N, 1)) do p4:acquire(); p4:commit() end
      p2:commit(); p3:wait(); p1:use(); p1:release(); p3:release()
    end
  end }
  k:task { name = "t3", warps = { 2, 1 }, schedule = function() for _ in loop(0, N) do p2:wait(); p2:release(); p3:acquire(); p3:commit() end end }
  return k
end

for _, c in ipairs {
  { "what one thread has waited for comes back to all by way of the next task",
    "p1:tma/7 p2:bar/1 p3:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } " ..
    "| t2(1) for N{ p1.wait p2.acquire p2.commit p3.wait p1.use p1.release p3.release } | t3(1) for N{ p2.wait p2.release p3.acquire p3.commit }",
    function(p)
      who(p, "t2", "wait", 1, ONE)
      who(p, "t2", "wait", 2, ONE)
      drop(p, "t2", "warp_sync", 1)
    end },
  { "what one thread knows comes back to each by way of the next task but one, and these hand it on",
    "p1:tma/7 p2:bar/1 p3:bar/1 p4:bar/1 p5:bar/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } " ..
    "| t2(1) for N{ p1.wait p2.acquire p2.commit p3.wait p1.use p1.release p3.release } " ..
    "| t3(1) for N{ p2.wait p4.acquire p4.commit p5.wait p3.acquire p3.commit p2.release p5.release } " ..
    "| t4(1) for N{ p4.wait p4.release p5.acquire p5.commit }",
    function(p)
      who(p, "t2", "wait", 1, ONE)
      who(p, "t2", "wait", 2, ONE)
      drop(p, "t2", "warp_sync", 1)
      who(p, "t3", "wait", 1, ONE)
      who(p, "t3", "wait", 2, ONE)
      who(p, "t3", "wait", 4, EACH)
      who(p, "t3", "arrive", 2, EACH)
      drop(p, "t3", "warp_sync", 1, 2)
    end },
  { "bytes that are filled again far away from who read them",
    "p1:threads/5 p2:bar/1 p3:bar/1 p4:threads/5 | t1(1) { p1.acquire p1.fill p1.commit } | t2(1) { p1.wait p1.use p1.release p2.acquire p2.commit } " ..
    "| t3(1) { p2.wait p2.release p3.acquire p3.commit } | t4(1) { p3.wait p3.release p4.acquire p4.fill p4.commit } | t5(1) { p4.wait p4.use p4.release }",
    function(p) plan.set(p, "smem", 1, "offset", plan.get(p, "smem", 0, "offset")) end },
  { "copies are fenced by who only relays that they have landed",
    "p1:cpm/5 p2:bar/1 p3:bar/1 p4:cpm/5 | t1(1) { p1.acquire p1.fill p1.commit } " ..
    "| t2(4) { p1.wait p2.acquire p2.commit p2.acquire p1.use p1.drain(0) p1.release p2.commit } " ..
    "| t3(1) { p2.wait p3.acquire p3.commit p3.acquire p2.release p3.commit p2.wait p2.release } " ..
    "| t4(4) { p3.wait p4.wait p4.use p4.drain(0) p4.release p3.release p3.wait p3.release } | t5(1) { p4.acquire p4.fill p4.commit }",
    function(p) drop(p, "t2", "fence_async", 1) end },
  { "what one thread has waited for, where the warp joins at times only", joins_at_times,
    function(p)
      who(p, "t2", "wait", 1, ONE)
      who(p, "t2", "wait", 2, ONE)
      drop(p, "t2", "warp_sync", 2)
      blank(p, "t2", "wait", 3)
      blank(p, "t2", "arrive", 1)
    end },
} do
  local what, text, change = table.unpack(c)
  local k = type(text) == "function" and text() or schedules.kernel(weir, schedules.parse(text))
  local p = assert(plan.of(k))
  change(p)
  local here, behind, everywhere = said(p), said(p, "rings"), said(p, true)
  tap.is("SAFE", everywhere:match "^%u+", what .. ": safe")
  tap.is({ everywhere, everywhere }, { here, behind }, "  also with what is kept")
  p:close()
  k:close()
end

-- The wait for a stage is all that tells every thread of another stage of that ring: kept of its own stage only, it tells them nothing.
do
  local k = weir.kernel { name = "pairs", arch = "sm_90a" }
  local N = k:dim "N"
  local function rows(name, out)
    return k:gmem_tile { name = "g" .. name, tile = { 1, 128 }, tensor = k:tensor { name = name, dtype = "f32", shape = { N, 128 }, out = out } }
  end
  local x, y = rows "x", rows("y", true)
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 1, 128 }, pipeline = weir.pipeline.async_async { stages = 8 } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do
      for j = 0, 1 do s:acquire(); s:store(x:at(2 * i + j, 0)); s:commit() end
    end
  end }
  k:task { name = "take", warps = { 1, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do
      s:wait(); s:wait()
      y:store(s:read(1), y:at(2 * i, 0)); y:store(s:read(), y:at(2 * i + 1, 0))
      s:release(); s:release()
    end
  end }
  local p = assert(plan.of(k))
  local function works() return (select(4, plan.prove(p, true))), (select(4, plan.prove(p, true, true))) end
  local once, all = works()
  tap.ok(once < all, "each waited for by all threads: proved with what is kept, in less work")
  who(p, "take", "wait", 1, ONE)
  local twice, whole = works()
  tap.is({ "SAFE", "SAFE" }, { said(p):match "^%u+", said(p, true):match "^%u+" }, "the first by one thread only: safe all the same")
  tap.ok(twice > whole, "  by a second proof, with more kept")
  p:close()
  k:close()
end

-- ---- growth ------------------------------------------------------------------------------------------------------------------------

-- n tasks in a row, each hands its stages on to the next.
local function chain(n)
  local pipes, tasks = {}, {}
  for i = 1, n do
    local moves = {}
    if i > 1 then moves[1] = ("p%d.wait p%d.use"):format(i - 1, i - 1) end
    if i < n then
      pipes[i] = ("p%d:threads/2"):format(i)
      moves[#moves + 1] = ("p%d.acquire p%d.fill p%d.commit"):format(i, i, i)
    end
    if i > 1 then moves[#moves + 1] = ("p%d.release"):format(i - 1) end
    tasks[i] = ("| t%d(1) for N{ %s }"):format(i, table.concat(moves, " "))
  end
  local k = schedules.kernel(weir, schedules.parse(table.concat(pipes, " ") .. " " .. table.concat(tasks, " ")))
  local p = assert(plan.of(k))
  local verdict = plan.prove(p)
  local kept, all = plan.known(p)
  p:close()
  k:close()
  return verdict, kept, all
end

do
  local one, kept, all = chain(12)
  local two, kept2, all2 = chain(24)
  tap.is({ "SAFE", "SAFE" }, { one, two }, "chains of 12 and 24 tasks")
  tap.ok(kept2 < 2.5 * kept and all2 > 4 * all, ("twice the tasks: %d words for %d, of %d and %d"):format(kept2, kept, all2, all))
end

-- More tasks than a CTA has warps, which validation refuses (X-WARP-01), in pairs: of more than there are bits for everything is kept.
local function pairs_of(n)
  local k = weir.kernel { name = "pairs", arch = "sm_90a" }
  for i = 1, n // 2 do
    local b = k:barrier { name = "b" .. i, pipeline = weir.pipeline.async_async { stages = 40 } }
    k:task { name = "give" .. i, warps = { 0, 1 }, schedule = function() b:acquire(); b:commit() end }
    k:task { name = "take" .. i, warps = { 0, 1 }, schedule = function() b:wait(); b:release() end }
  end
  local p = assert(plan.of(k))
  local kept, all = plan.known(p, true)
  local here = said(p)
  tap.is(said(p, true), here, n .. " tasks: the same with everything kept")
  p:close()
  k:close()
  return here:match "^%u+", kept < all
end
tap.is({ "SAFE", true }, { pairs_of(62) }, "62 tasks: proved, and less is kept")
tap.is({ "SAFE", false }, { pairs_of(64) }, "64 tasks: proved, and all is kept")

-- ---- random schedules of many tasks ----------------------------------------------------------------------------------------------

local differ, compared, fewer, verdicts = {}, 0, 0, {}

local function compare(p, s, what)
  local here, behind, everywhere, stagewise = said(p), said(p, "rings"), said(p, true), said(p, false, true)
  -- in another order a refuted one may show further symptoms of its fault
  if here:match "^UNSAFE" then stagewise = stagewise:match "^UNSAFE" and here end
  if here ~= behind or here ~= everywhere or here ~= stagewise then
    differ[#differ + 1] = ("%s, %s: %s\n%s\n%s\n%s"):format(schedules.text(s), what, here, behind, everywhere, stagewise)
  end
  local kept, all = plan.known(p)
  compared = compared + 1
  if kept < all then fewer = fewer + 1 end
  local verdict = here:match "^%u+"
  verdicts[verdict] = (verdicts[verdict] or 0) + 1
end

-- With a field of the plan changed, and changed back.
local function with(p, s, ...)
  local n = select("#", ...)
  local at = { ... }
  local was = plan.get(p, table.unpack(at, 1, n - 1))
  plan.set(p, ...)
  compare(p, s, table.concat({ ... }, " "))
  at[n] = was
  plan.set(p, table.unpack(at))
end

local kinds = { "bar", "bar", "threads", "threads", "threads", "tx", "tma", "cp" }
local threads = { 0, 1, 5 } -- every thread, a lane of each warp, one thread
for seed = 1, 120 do
  local tasks = 4 + seed % 6
  local s = schedules.random(seed, { tasks = tasks, pipes = tasks - 1 + seed % 3, kinds = kinds, mistakes = seed % 4 // 3 })
  if not s.tiles and seed % 2 == 1 then
    for _, x in ipairs(s.pipes) do x.stages = x.stages + 4 end -- words of its own for each
  end
  local built, k = pcall(schedules.kernel, weir, s)
  local p = built and plan.of(k)
  if p then
    compare(p, s, "as it is")
    local all = {}
    for _, name in ipairs(plan.tasks(p)) do actions(plan.tree(p, name), all) end
    for i = 1, math.min(#all, 12) do
      local id = all[(seed * 13 + i * 29) % #all + 1]
      local kind = plan.get(p, "action", id, "kind")
      if kind == "wait" or kind == "arrive" or kind == "body" then
        with(p, s, "action", id, "who", threads[(seed + i) % 3 + 1])
      end
    end
    local regions = plan.count(p, "smem")
    if regions > 1 then with(p, s, "smem", regions - 1, "offset", plan.get(p, "smem", seed % (regions - 1), "offset")) end
    if #all > 0 then
      local id = all[seed * 11 % #all + 1]
      local kind = plan.get(p, "action", id, "kind")
      plan.drop(p, id)
      compare(p, s, "without " .. kind)
    end
    p:close()
  end
  if built then k:close() end
end
tap.is({}, differ, compared .. " plans: the same verdict, findings and states as with everything kept everywhere, and stage by stage")
tap.ok(fewer > compared // 4, fewer .. " of them keep less")
tap.ok((verdicts.SAFE or 0) > 300 and (verdicts.UNSAFE or 0) > 300, ("%d proved, %d refuted"):format(verdicts.SAFE or 0, verdicts.UNSAFE or 0))
tap.done()
