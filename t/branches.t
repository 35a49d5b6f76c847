#!/usr/bin/env lua5.4
-- Ways through the schedule's walk, the plan and its tables that few kernels take: a small kernel a row, and the literal it must give.
-- What pure functions do is in t/c/branches_test.c.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P, cd = weir.pipeline, weir.ceil_div

-- ---- the walk of a schedule, and its credits -----------------------------------------------------------------------------------------------

-- Two tasks around rings "a", "b" of threads, perhaps a group of both: `give` and `get` are their schedules.
local function relay(o)
  local k = weir.kernel { name = "relay", arch = "sm_90a" }
  local r = { k = k, n = k:dim "n", q = k:scalar { name = "q", dtype = "i32" } }
  for _, name in ipairs(o.names or { "a", "bus" }) do
    r[name] = k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = o.stages or 1, interleave = o.interleave },
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  end
  if o.group then r.g = k:group { name = "g", mode = o.group, members = { r.a, r.bus } } end
  if o.turn then r.turn = k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } } end
  local tasks = o.more or {}
  tasks[#tasks + 1], tasks[#tasks + 2] = { "give", o.give }, { "get", o.get }
  for i, t in ipairs(tasks) do
    k:task { name = t[1], warps = { i - 1, 1 }, schedule = function() t[2](r) end }
  end
  return k
end
local function fill(x) x:acquire(); x:fill(); x:commit() end
local function use(x) x:wait(); x:use(); x:release() end

-- The report without places; findings of the rules asked for, or all but that a tile is there for nothing: relay() has two.
local function said(k, rule, prove)
  local report = k:verify { prove = prove or false }
  local out = {}
  for _, f in ipairs(report.findings) do
    if f.rule == rule or (not rule and f.rule ~= "M-UNUSED") then out[#out + 1] = f.message .. (f.expected and (" (expected %s, got %s)"):format(f.expected, f.got) or "") end
  end
  k:close()
  return out, report
end
local function says(name, want, rule, k) tap.is(want, said(k, rule), name) end

says("every second turn by a condition that is denied", {}, "V-SIM-02", relay {
  give = function(r) for i in weir.domain_loop(0, 4) do for _ in weir.when_false(weir.eq(i % 2, 1)) do fill(r.a) end end end,
  get = function(r) for _ in weir.domain_loop(0, 2) do use(r.a) end end })
says("the same, a wait too many", { "task 'get' is blocked at wait 3 of 'a': task 'give' ends after 2 commits (expected 3 commits, got 2)" }, "V-SIM-01", relay {
  give = function(r) for i in weir.domain_loop(0, 4) do for _ in weir.when_false(weir.eq(i % 2, 1)) do fill(r.a) end end end,
  get = function(r) for _ in weir.domain_loop(0, 3) do use(r.a) end end })
says("a member's ops are told by its group", { "task 'get' is blocked at wait 3 of 'g.bus': task 'give' ends after 2 commits (expected 3 commits, got 2)" }, "V-SIM-01", relay {
  group = "merge",
  give = function(r) for _ in weir.domain_loop(0, 2) do fill(r.g.a); fill(r.g.bus) end end,
  get = function(r) for _ in weir.domain_loop(0, 2) do r.g.a:wait(); r.g.a:use(); r.g.bus:wait(); r.g.bus:use(); r.g:release() end; r.g.bus:wait() end })
says("a group's own wait is told as the group", { "task 'get' is blocked at wait 3 of 'g': task 'give' ends after 2 commits (expected 3 commits, got 2)" }, "V-SIM-01", relay {
  group = "fused_merge",
  give = function(r) for _ in weir.domain_loop(0, 2) do fill(r.g.a); fill(r.g.bus) end end,
  get = function(r) for _ in weir.domain_loop(0, 2) do r.g:wait(); r.g.a:use(); r.g.bus:use(); r.g:release() end; r.g:wait() end })
says("a group's release in a loop that is never entered", { "task 'give' is blocked at acquire 2 of 'g.a': the release on it by task 'get' stands in a loop that does not run; 'get' is blocked, too" }, "V-SIM-01", relay {
  group = "merge",
  give = function(r) for _ in weir.domain_loop(0, 2) do fill(r.g.a); fill(r.g.bus) end end,
  get = function(r)
    for _ in weir.domain_loop(0, 2) do r.g.a:wait(); r.g.a:use(); r.g.bus:wait(); r.g.bus:use() end
    for _ in weir.domain_loop(0, 0) do r.g:release() end
  end })
says("three are blocked: two of them are named", { "task 'give' is blocked at acquire 2 of 'a': no task does release on it; 'third', 'get' is blocked, too" }, "V-SIM-01", relay {
  more = { { "third", function(r) fill(r.bus) fill(r.bus) end } },
  give = function(r) fill(r.a); fill(r.a) end,
  get = function(r) r.bus:wait(); r.bus:use(); r.a:wait(); r.a:use(); r.a:wait(); r.bus:release() end })
do -- what is there, but behind something that the walk never enters, is told so
  local row
  local function closed(name, text, where, give, prove) -- of what a launch decides the proof tells whether it matters
    local out, report = said(relay { give = give, get = function(r) if prove then r.bus:wait(); r.bus:use(); r.bus:release() end; use(r.a) end }, "V-SIM-01", prove)
    tap.is({ text }, out, name)
    tap.like(("t/branches.t:%d: %s\n"):format(row, where), tostring(report), name .. ": where")
  end
  local wait = "task 'get' is blocked at wait 1 of 'a': the commit on it by task 'give' stands in a "
  closed("the commit is behind a condition that never holds", wait .. "guard that does not open", "the guard", function(r)
    row = debug.getinfo(1, "l").currentline + 1
    for i in weir.domain_loop(0, 4) do for _ in weir.when_true(weir.gt(i, 4)) do for _ in weir.when_true(weir.eq(i, 5)) do
      fill(r.a)
    end end end
  end)
  closed("behind one that the launch decides", wait .. "guard that need not open", "the guard", function(r)
    fill(r.bus)
    row = debug.getinfo(1, "l").currentline + 1
    for _ in weir.when_false(weir.le(r.n, 4)) do fill(r.a) end
  end, true)
  closed("in a loop of no steps", wait .. "loop that does not run", "the loop", function(r)
    row = debug.getinfo(1, "l").currentline + 1
    for _ in weir.domain_loop(3, 3) do fill(r.a) end
  end)
  closed("in one beside a condition that the launch decides", wait .. "loop that need not run", "the loop", function(r)
    for _ in weir.when_true(weir.gt(r.n, 4)) do fill(r.bus) end
    row = debug.getinfo(1, "l").currentline + 1
    for _ in weir.domain_loop(3, 3) do fill(r.a) end
  end, true)
end
says("releases that nobody acquired for", { "1 release of 'a' is without acquire: 3 releases, 2 acquires (expected 3 acquires, got 2)" }, "V-SIM-04", relay {
  more = { { "free", function(r) for _ = 1, 3 do r.a:release() end end } },
  give = function(r) fill(r.a); fill(r.a) end,
  get = function(r) for _ = 1, 2 do r.a:wait(); r.a:use() end end })
says("a release after the last stage is back", { "task 'get': release on 'a' finds no stage held, whatever the lengths of loops: one release closes one wait" }, nil, relay {
  give = function(r) fill(r.a); fill(r.a) end,
  get = function(r) use(r.a); use(r.a); r.a:release() end })
says("a commit of nothing, in a loop of any length, first of all and behind a pass", { "task 'give': commit on 'a' finds no stage held, whatever the lengths of loops: one commit closes one acquire" }, nil, relay {
  give = function(r) for _ in weir.domain_loop(0, r.n) do r.a:commit(); fill(r.a) end end,
  get = function(r) for _ in weir.domain_loop(0, r.n) do use(r.a) end end })
says("a commit that some passes have a stage for", {}, nil, relay { stages = 2,
  give = function(r) for i in weir.domain_loop(0, r.n) do r.a:commit(); r.a:acquire(); r.a:fill(); for _ in i:last_iter() do r.a:commit() end end end,
  get = function(r) for _ in weir.domain_loop(0, r.n) do use(r.a) end end })
says("commit(0) and release(0) of nothing say that all is closed", {}, nil, relay {
  give = function(r) for _ in weir.domain_loop(0, r.n) do fill(r.a); r.a:commit(0) end end,
  get = function(r) for _ in weir.domain_loop(0, r.n) do use(r.a); r.a:release(0) end end })
says("a turn: its last commit needs no wait", {}, "V-SIM-02", relay { turn = true,
  give = function(r) for _ in weir.domain_loop(0, 2) do r.turn:acquire(); r.turn:commit() end end,
  get = function(r) for _ in weir.domain_loop(0, 1) do r.turn:wait(); r.turn:release() end end })

-- What a condition is known to be decides whether the counts are sure: a schedule whose conditions are all decided is judged at once.
local function fills(name, condition, want, o)
  o = o or {}
  says(name, want, "V-SIM-02", relay { stages = 8,
    give = function(r) for i in weir.domain_loop(o.from and o.from(r) or 0, o.to and o.to(r) or 4, o.step and o.step(r) or 1) do
      if o.inner then for j in weir.domain_loop(0, 2) do for _ in weir.when_true(condition(i, r, j)) do fill(r.a) end end
      else for _ in weir.when_true(condition(i, r)) do fill(r.a) end end
    end end,
    get = function(r) use(r.a) end })
end
local function left(n) return { ("%d commit%s of 'a' %s not consumed: %d commits, 1 wait (expected %d waits, got 1)"):format(n, n == 1 and "" or "s", n == 1 and "is" or "are", n + 1, n + 1) } end
fills("not", function(i) return ~weir.eq(i, 0) end, left(2))
fills("and", function(i) return weir.ge(i, 1) & weir.le(i, 2) end, left(1))
fills("or", function(i) return weir.eq(i, 0) | weir.ge(i, 2) end, left(2))
fills("two indices: not decided", function(i, _, j) return weir.ge(i + j, 0) end, {}, { inner = true })
fills("one index twice", function(i) return weir.ge(i + i * 2, 3) end, left(2))
fills("an index that begins where the launch says: not decided", function(i) return weir.ge(i, 0) end, {}, { from = function(r) return r.n end, to = function(r) return r.n + 4 end })
fills("an argument beside the index: not decided", function(i, r) return weir.ge(i, r.q) end, {})
fills("from 1 by 2", function(i) return weir.eq(i % 2, 1) end, left(1), { from = function() return 1 end, step = function() return 2 end })
fills("a condition too large to look through: not decided", function(i)
  local sum = i
  for _ = 1, 600 do sum = sum + i end
  return weir.ge(sum, 0)
end, {})

fills("denied, and too large to look through: not decided", function(i)
  for _ = 1, 13 do i = weir.min(i, 7) + weir.max(i, 3) end -- 2^13 times i
  return ~weir.ge(i, 100)
end, {})
fills("from 0 in steps of an argument: not decided", function(i) return weir.ge(i, 0) end, {}, { step = function(r) return r.q end })
says("all but the newest stage are handed over", { "task 'get' is blocked at wait 3 of 'a': task 'give' ends after 2 commits (expected 3 commits, got 2)" }, "V-SIM-01", relay { stages = 4,
  give = function(r) for _ = 1, 3 do r.a:acquire(); r.a:fill() end r.a:commit(1) end,
  get = function(r) for _ = 1, 3 do use(r.a) end end })
says("then that one, too", {}, "V-SIM-01", relay { stages = 4,
  give = function(r) for _ = 1, 3 do r.a:acquire(); r.a:fill() end r.a:commit(1) r.a:commit(0) end,
  get = function(r) for _ = 1, 3 do use(r.a) end end })
says("a group's releases that nobody acquired for", { "1 release of 'g' is without acquire: 3 releases, 2 acquires (expected 3 acquires, got 2)" }, "V-SIM-04", relay { group = "merge",
  more = { { "free", function(r) for _ in weir.domain_loop(0, 3) do r.g:release() end end } },
  give = function(r) for _ in weir.domain_loop(0, 2) do fill(r.g.a); fill(r.g.bus) end end,
  get = function(r) for _ in weir.domain_loop(0, 2) do for _, x in ipairs { r.g.a, r.g.bus } do x:wait(); x:use() end end end })
says("a group's release of nothing", { "task 'get': release on 'g' finds no stage held, whatever the lengths of loops: one release closes one wait" }, nil, relay { group = "merge",
  give = function(r) for _ in weir.domain_loop(0, 2) do fill(r.g.a); fill(r.g.bus) end end,
  get = function(r) for _ in weir.domain_loop(0, 2) do for _, x in ipairs { r.g.a, r.g.bus } do x:wait(); x:use() end r.g:release() end r.g:release() end })
-- Loops that take every second stage: from where, and by what step.
for _, o in ipairs { { "two lanes", 0, 2 }, { "from where the launch says", "n", 2 }, { "by the launch's steps", 0, "n" } } do
  says("stages in turn: " .. o[1], {}, "V-SIM-01", relay { stages = 4, interleave = { 1, 1, 2, 2 },
    more = { { "other", function(r) for _ in weir.domain_loop(1, 4, 2) do use(r.a) end end } },
    give = function(r) for _ in weir.domain_loop(0, 4) do fill(r.a) end end,
    get = function(r) for _ in weir.domain_loop(o[2] == "n" and r.n or o[2], 4, o[3] == "n" and r.n or o[3]) do use(r.a) end end })
end
do
  local k = relay { stages = 4, give = function(r) for _ in weir.domain_loop(0, 600000) do r.a:acquire() end r.a:commit(0) end, get = function() end }
  tap.like("too long", k:print "schedule", "stages handed over at once, past what is walked")
  k:close()
end
-- Work tiles dealt to lanes: { lane, of how many }, of each task that takes stages.
local function dealt(name, want, takers)
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } }
  local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 16 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do fill(r); wq:next() end end }
  for i, t in ipairs(takers) do
    k:task { name = "get" .. i, warps = { i, 1 }, schedule = function() for _ in weir.work_tile_loop(wq, { lane = t[1], lanes = t[2] }) do use(r); wq:next() end end }
  end
  local _, n = k:print "schedule":gsub("ProdWrk", "")
  tap.is(want, n, name)
  k:close()
end
dealt("a tile for each of two lanes", 2, { { 0, 2 }, { 1, 2 } })
dealt("two tasks of one lane", 2, { { 0, 2 }, { 0, 2 }, { 1, 2 } })
dealt("two tasks by threes, one by twos", 6, { { 0, 3 }, { 1, 3 }, { 0, 2 } })
dealt("by fives and by sevens: too many to walk a tile of each", 5, { { 0, 5 }, { 0, 7 } })
-- A schedule with a mistake is shown all the same: does it fill a stage, and what is said of its plan?
local function mistaken(name, want, guard)
  local k = weir.kernel { name = "k", arch = "sm_90a" }
  local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 9 }, work = { fill = weir.producer_work { code = ";" } } }
  k:task { name = "t", warps = { 0, 1 }, schedule = function()
    local i
    for x in weir.domain_loop(0, 2) do i = x end
    for _ in guard(i) do fill(r) end
  end }
  tap.is({ want, "no plan: the description has 1 error, which verify lists\n" }, { k:print "schedule":find "ProdCmt" ~= nil, (k:print "plan") }, name)
  k:close()
end
mistaken("where no condition must hold: taken as if it did", true, function() return weir.when_true(1.5) end)
mistaken("where none must not: left out", false, function() return weir.when_false(1.5) end)
mistaken("the last turn of a loop that is closed: left out", false, function(i) return i:last_iter() end)
mistaken("its first: taken", true, function(i) return i:first_iter() end)

-- Lengths that only the launch knows are shown by small ones, within what the dims may be.
local function shown(name, want, limits, o)
  local k = weir.kernel { name = "t", arch = "sm_90a" }
  local n = k:dim("n", limits)
  local r = k:resource { name = "P", pipeline = P.async_async { stages = 2 }, work = {} }
  k:task { name = "Prod", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do r:acquire(); r:commit() end end }
  k:task { name = "Cons", warps = { 1, 1 }, schedule = function()
    for _ in weir.domain_loop(o or 0, n) do r:wait(); r:release() end
  end }
  tap.is(want, (k:print "schedule":match "\n(loop [^\n]*shown[^\n]*)\n"), name)
  k:close()
end
shown("at least five", "loop 0 .. n: shown with 5 iterations", { min = 5 })
shown("at most one", "loop 0 .. n: shown with 1 iteration", { max = 1 })
shown("no limits", "loop 0 .. n: shown with 2 iterations")
shown("a second loop from 3 on: the first is as much longer", "loop 0 .. n: shown with 5 iterations", nil, 3)
shown("at most two, a second loop from 3 on never runs", "loop 0 .. n: shown with 2 iterations", { max = 2 }, 3)

do
  local function long(gives)
    return relay { give = function(r) for _ in weir.domain_loop(0, gives) do fill(r.a) end end, get = function(r) for _ in weir.domain_loop(0, 2000000) do use(r.a) end end }
  end
  says("too many steps to walk: nothing is said of their credits", {}, "V-SIM-01", long(300000))
  local k = long(2000000)
  tap.like("too long", k:print "schedule", "nor is a table of them printed")
  k:close()
end

-- ---- tensor memory: does a loop run at least once? -----------------------------------------------------------------------------------------
local s100 = require "sm100a"
local function planned(k) -- what the plan refuses, a line each; "" when nothing
  local program, why = plan.of(k)
  return program and "" or why, program
end
local function zero(name, want, limits, steps)
  local k = s100.gemm { steps = function(_, kernel) return steps(kernel:dim("S", limits), kernel) end }
  local _, n = planned(k):gsub("PLAN%-ZERO: ", "")
  tap.is(want, n, name)
end
zero("S steps, S at least 1", 0, { min = 1 }, function(S) return S end)
zero("S steps, S may be 0", 1, { min = 0 }, function(S) return S end)
zero("S + 1 steps", 0, { min = 0 }, function(S) return S + 1 end)
zero("S - 1 steps", 1, { min = 1 }, function(S) return S - 1 end)
zero("(S - 1) + S steps", 1, { min = 1 }, function(S) return (S - 1) + S end)
zero("S + (S - 1) steps", 1, { min = 1 }, function(S) return S + (S - 1) end)
zero("the larger of S and 1", 0, { min = 0 }, function(S) return weir.max(S, 1) end)
zero("the larger of 1 and S", 0, { min = 0 }, function(S) return weir.max(1, S) end)
zero("the smaller of S and 4, S at least 1", 0, { min = 1 }, function(S) return weir.min(S, 4) end)
zero("the smaller of 4 and S, S may be 0", 1, { min = 0 }, function(S) return weir.min(4, S) end)
zero("the smaller of S - 1 and 4", 1, { min = 1 }, function(S) return weir.min(S - 1, 4) end)
zero("the larger of 4 and S - 1", 0, { min = 1 }, function(S) return weir.max(4, S - 1) end)
zero("twice S", 0, { min = 1 }, function(S) return S * 2 end)
zero("S times S", 0, { min = 1 }, function(S) return S * S end)
zero("S - 1 times S", 1, { min = 1 }, function(S) return (S - 1) * S end)
zero("S times S - 1", 1, { min = 1 }, function(S) return S * (S - 1) end)
zero("S by 64, rounded up", 0, { min = 1 }, function(S) return cd(S, 64) end)
zero("S by 64, whole", 0, { min = 64 }, function(S) return cd(S, 64) end)
zero("S by 64, rounded down, 63 at least", 1, { min = 63 }, function(S) return S // 64 end)
zero("S by 64, rounded down, 64 at least", 0, { min = 64 }, function(S) return S // 64 end)
zero("S - 1 by 64", 1, { min = 65 }, function(S) return (S - 1) // 64 end)
zero("S by T", 1, { min = 1 }, function(S, k) return cd(S, k:dim("T", { min = 1 })) end)
zero("-4 + S: less than none to begin with", 1, { min = 1 }, function(S) return cd(S + -4, 2) end)

-- ---- the plan: what it refuses -------------------------------------------------------------------------------------------------------------
-- A ring of threads and whatever `more(k)` adds; o: arch, cluster, ctas_per_sm, warps of the two tasks, registers, pipeline, tile.
local function base(o, more)
  local k = weir.kernel { name = "base", arch = o.arch or "sm_90a", cluster = o.cluster, ctas_per_sm = o.ctas_per_sm }
  local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = o.tile or { 64 }, pipeline = P.async_async(o.pipeline or { stages = 2 }),
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local extra = more and more(k) or function() end
  k:task { name = "give", warps = o.give or { 0, 4 }, registers = o.registers, schedule = function() r:acquire(); r:fill(); r:commit(); extra() end }
  k:task { name = "get", warps = o.get or { 4, 4 }, registers = o.get_registers, schedule = function() r:wait(); r:use(); if o.release ~= false then r:release() end end }
  return k
end
local function refuses(name, want, o, more) tap.is(want, planned(base(o, more)), name) end
local function reg(tile, use_it)
  return function(k)
    local t = k:reg_tile { name = "t", dtype = "f32", tile = tile }
    return function() if use_it ~= false then t:zero() end end
  end
end
refuses("as it should be", "", {})
refuses("sm_80 has rings of threads", "", { arch = "sm_80" })
refuses("sm_80 has no clusters", "PLAN-ARCH: kernel 'base': clusters need sm_90a or sm_100a\n", { arch = "sm_80", cluster = { m = 2 } })
refuses("sm_80 has no setmaxnreg", "PLAN-ARCH: task 'give': `registers` needs setmaxnreg, which sm_80 lacks (sm_90a and sm_100a have it)\n", { arch = "sm_80", registers = 40 })
tap.is("PLAN-WARPS: kernel 'none' has no tasks; a CTA has 1 to 32 warps\n", planned(weir.kernel { name = "none", arch = "sm_90a" }), "no tasks")
refuses("two CTAs of 1024 threads", "", { get = { 4, 28 }, ctas_per_sm = 2 })
refuses("three CTAs of 1024 threads", "PLAN-WARPS: kernel 'base': 3 CTAs of 1024 threads do not fit an SM, which has 2048\n", { get = { 4, 28 }, ctas_per_sm = 3 }, reg { 64, 512 }) -- and nothing of the tile, whose registers are not known
refuses("a tile for nine warps", "PLAN-WARPS: task 'give' uses register tile 't' but has 9 warps; a warpgroup is 4\nPLAN-WARPS: task 'give' works on register tiles and has warps 0 to 8\n", { give = { 0, 9 }, get = { 12, 4 } }, reg { 64, 64 })
refuses("a tile of 65 rows for two warpgroups", "PLAN-TILE: tile 't' { 65, 64 } does not divide among the 2 warpgroups of task 'give'\n", { give = { 0, 8 }, get = { 8, 4 } }, reg { 65, 64 })
refuses("a tile of 256 registers", "PLAN-REGS: tile 't' takes 256 registers of each thread of task 'give', which has 255\n", {}, reg { 64, 512 })
refuses("the same where the task asks for 256", "PLAN-REGS: tile 't' takes 256 registers of each thread of task 'give', which has 255\n", { registers = 256, get_registers = 256 }, reg { 64, 512 })
refuses("a count past what an mbarrier has", "PLAN-COUNT: mbarrier 'r_empty' would be initialised with 1048576 arrivals (nobody); the range is 1 to 1048575\n", { pipeline = { stages = 2, consumers = 1048576 }, release = false })
refuses("the largest count", "", { pipeline = { stages = 2, consumers = 1048575 }, release = false })
refuses("too much shared memory, one stage", "PLAN-SMEM: kernel 'base' needs 250016 bytes of shared memory, the target has 232448: 17568 too many (r 1 x 250000, mbarriers 16)\n", { tile = { 250000 }, pipeline = { stages = 1 } })
refuses("two CTAs of half the memory of an SM", "PLAN-SMEM: kernel 'base': 2 CTAs of 120016 bytes of shared memory do not fit an SM, which has 233472\n", { tile = { 120000 }, pipeline = { stages = 1 }, ctas_per_sm = 2 })
refuses("two CTAs of less", "", { tile = { 110000 }, pipeline = { stages = 1 }, ctas_per_sm = 2 })
do
  local p = select(2, planned(base({ give = { 0, 8 }, get = { 8, 4 } }, reg { 128, 64 })))
  tap.is({ 168, 184, 184, 128 }, { plan.get(p, "plan", 0, "entry_registers"), plan.get(p, "plan", 0, "reg_split0"), plan.get(p, "plan", 0, "reg_split1"), plan.get(p, "plan", 0, "reg_split2") }, "registers derived: two warpgroups of mathematics, one of threads")
end

-- Hints and expected values: a bad tile in an alias, and one whose storage is bad.
local function tiles(o)
  local k = weir.kernel { name = "tiles", arch = "sm_90a" }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 8, o.cols or 64 }, swizzle = 128, pipeline = P.async_async { stages = o.stages or 1 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { o.storage and 6 or 8, 64 }, swizzle = 128, storage = o.storage and a or nil, pipeline = P.async_async { stages = o.stages or 1 } }
  local c = o.group and k:group { name = "g", mode = "merge", members = { a, b } }
  if o.alias then k:alias { { a }, { b } } end
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "bf16", shape = { 8, 64 }, out = true }, tile = { 8, 64 } }
  k:task { name = "give", warps = { 0, 4 }, schedule = function()
    for _, x in ipairs { c and c.a or a, c and c.b or b } do x:acquire(); x:store(1); x:commit() end
  end }
  k:task { name = "get", warps = { 4, 4 }, schedule = function()
    if c then c.a:wait(); y:store(c.a:read(), y:at(0, 0)); c.b:wait(); y:store(c.b:read(), y:at(0, 0)); c:release()
    else for _, x in ipairs { a, b } do x:wait(); y:store(x:read(), y:at(0, 0)); x:release() end end
  end }
  return k
end
local bad_row = "PLAN-SWIZZLE: tile 'a': swizzle 128: a row of 48 x 2 bytes = 96 is not a multiple of the span; use swizzle = 32, or 64 columns\n"
tap.is(bad_row .. "PLAN-SMEM: shared memory of kernel 'tiles': alias group 1: phase 1 of 2 is empty\n", planned(tiles { cols = 48, alias = true }), "an alias of a tile that has no layout")
tap.is(bad_row .. "PLAN-SMEM: 'b' shares the storage of 'a', which has none\n", planned(tiles { cols = 48, storage = true }), "storage of a tile that has no layout")
local function hint(name, want, k)
  local report = k:verify()
  tap.is(want, report.findings[1] and report.findings[1].hint, name)
  k:close()
end
hint("fewer stages of a group", "stages = 112 of 'g' fits (2048 bytes a stage)", tiles { stages = 120, group = true })
hint("fewer stages of one of two rings", "stages = 103 of 'a' fits (1024 bytes a stage)", tiles { stages = 120 })
hint("no stage fits", "not even one stage of 'r' (125008 bytes) fits: take smaller tiles", base({ tile = { 125000 }, pipeline = { stages = 2 } }, function(k)
  local big = k:smem_tile { name = "big", dtype = "f32", tile = { 128, 256 }, pipeline = P.async_async { stages = 1 } }
  return function() big:acquire(); big:store(1); big:commit() end
end))

-- ---- the plan: how many stages are held --------------------------------------------------------------------------------------------------
-- Straight code that holds n stages of 100, in parts: first so many, the rest in a loop's body. Past what sets of numbers count exactly,
-- the numbers are counted at run time. `keep`: the consumer holds them and gives them back all but so many.
local function holds(n, o)
  o = o or {}
  local k = weir.kernel { name = "holds", arch = "sm_90a" }
  local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 100 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    if o.keep then for _ = 1, n do r:acquire(); r:fill(); r:commit() end return end
    for _ = 1, n do r:acquire(); r:fill() end
    if o.loop then for _ in weir.domain_loop(0, 3) do r:commit(); r:acquire(); r:fill() end end
    for _ = 1, n do r:commit() end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    if not o.keep then for _ = 1, n + (o.loop and 3 or 0) do r:wait(); r:use(); r:release() end return end
    for _ = 1, n do r:wait(); r:use() end
    r:release(o.keep); r:release(0)
  end }
  local report = k:verify()
  local proof = report.text:match "proof: (%u+)"
  local _, p = planned(k)
  return { proof, plan.get(p, "cursors", o.keep and 1 or 0, "needs_held") }
end
tap.is({ "SAFE", false }, holds(62), "62 stages held: the numbers are known")
tap.is({ "SAFE", true }, holds(63), "63: counted at run time")
tap.is({ "SAFE", true }, holds(70), "70")
tap.is({ "SAFE", true }, holds(70, { loop = true }), "70, and a loop with as many")
tap.is({ "SAFE", true }, holds(45, { loop = true }), "45, and a loop: more than a loop's walk counts")
tap.is({ "SAFE", false }, holds(62, { keep = 60 }), "62 are held and two given back, then all")
tap.is({ "SAFE", true }, holds(70, { keep = 64 }), "70 are held and six given back, then all")
tap.is({ "SAFE", true }, holds(63, { keep = 62 }), "63 are held and one given back, then all")

-- Rings of one task, in a group or not.
local function rings(n, mode)
  local names = {}
  for i = 1, n do names[i] = "r" .. i end
  local k = weir.kernel { name = "rings", arch = "sm_90a" }
  local m = {}
  for i, name in ipairs(names) do
    m[i] = k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 1 },
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  end
  local g = mode and k:group { name = "g", mode = mode, members = m }
  for i, name in ipairs(g and names or {}) do m[i] = g[name] end
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, 3) do for _, r in ipairs(m) do r:acquire(); r:fill(); r:commit() end end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for _ in weir.domain_loop(0, 3) do
      for _, r in ipairs(m) do r:wait(); r:use(); if not g then r:release() end end
      if g then g:release() end
    end
  end }
  local report = k:verify()
  return report.ok and report.text:match "proof: (%u+)" or (report.text:match ": error: ([^\n]*)")
end
tap.is("SAFE", rings(64), "64 pipelines in a task")
tap.is("task 'give' moves 65 pipelines; more than 64 cannot be built yet [PLAN-UNSUPPORTED]", rings(65), "65")
tap.is("SAFE", rings(33, "merge"), "33 members of a group, in one order")
tap.is("SAFE", rings(64, "merge"), "64 members")

-- ---- the plan: parameters ------------------------------------------------------------------------------------------------------------------
do
  local k = weir.kernel { name = "types", arch = "sm_90a" }
  local list, want = { "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2", "tf32" }, {}
  local c = { f32 = "float", f64 = "double", tf32 = "float" }
  local bind = {}
  for i, t in ipairs(list) do
    bind["x" .. i] = k:tensor { name = "arg" .. i, dtype = t, shape = { 8 }, out = i % 2 == 0 }
    want[i] = { name = "arg" .. i, type = (i % 2 == 0 and "%s *" or "const %s *"):format(c[t] or t) }
  end
  for i, n in ipairs { "w_x", "W_y", "mbar", "w", "smem", "Wx" } do
    k:scalar { name = n, dtype = "i64" }
    want[#want + 1] = { name = ({ "u_w_x", "u_W_y", "mbar_", "w", "smem_", "Wx" })[i], type = "i64" }
  end
  local out = k:resource { name = "out", space = "gmem", bind = bind, work = { put = weir.producer_work { code = ";" } } }
  k:task { name = "only", warps = { 0, 1 }, schedule = function() out:put() end }
  local why, p = planned(k)
  tap.is("", why, "a tensor of each dtype")
  tap.is(want, p and lab.rows(p, "params", "name", "type"), "their types as parameters, and names that are taken")
end

-- ---- the unrolled program --------------------------------------------------------------------------------------------------------------------
-- The prover and the explorer, which unrolls the plan's actions at given sizes, say the same of kernels with rare parts.
local agreement = require "gen.agreement"
local function explored(name, want, k, o)
  o = o or {}
  local why, program = planned(k)
  if not tap.is("", why, name .. ": a plan") then return end
  local sizes = {}
  for n = 0, o.most or 2 do sizes[#sizes + 1] = { N = n, M = 128, K = 64 * n, n = n, q = 1, tiles = o.tiles or 2 } end
  sizes.tiles = o.tiles
  local both = agreement.compare(plan, program, sizes, { limit = o.limit or 3000, far = 20000 })
  local seen = both.verdict == "UNSAFE" and both.findings[1].rule or both.verdict
  if not tap.is({ want, false, o.open or false }, { seen, both.wrong or false, both.open or false }, name) then tap.diag(both.text) end
end
local function when(key_a, key_b, inside)
  local function side(op, key)
    return function(r)
      for _ in weir.domain_loop(0, r.n) do
        if inside then op(r.a) end
        for _ in weir.when_true(weir.gt(r.q, 0), key and { key = key } or nil) do op(r.bus) end
      end
    end
  end
  return relay { stages = 2, give = side(fill, key_a), get = side(use, key_b) }
end
explored("a condition of an argument on both sides", "SAFE", when())
explored("by one key", "SAFE", when("x", "x"))
explored("by one key, beside another ring", "SAFE", when("x", "x", true))
explored("by two keys", "PROVE-DEADLOCK", when("x", "y"))
explored("guards on the first, the last and every second turn", "SAFE", relay { stages = 2,
  give = function(r) for i in weir.domain_loop(0, r.n) do
    for _ in i:first_iter() do fill(r.bus) end
    for _ in i:last_iter() do fill(r.bus) end
    for _ in i:every(2, 1) do fill(r.a) end
    for _ in weir.when_false(weir.eq(i % 2, 0), { key = "odd" }) do fill(r.a) end
  end end,
  get = function(r) for i in weir.domain_loop(0, r.n) do
    for _ in i:first_iter() do use(r.bus) end
    for _ in i:last_iter() do use(r.bus) end
    for _ in i:every(2, 1) do use(r.a) end
    for _ in weir.when_false(weir.eq(i % 2, 0), { key = "odd" }) do use(r.a) end
  end end })
explored("stages that are held, all but one given back", "SAFE", relay { stages = 3,
  give = function(r) for _ in weir.domain_loop(0, r.n) do fill(r.a) end end,
  get = function(r) for _ in weir.domain_loop(0, r.n) do r.a:wait(); r.a:use(); r.a:release(1) end r.a:release(0) end })
explored("the same, the last one never given back: nobody waits for it", "SAFE", relay { stages = 3,
  give = function(r) for _ in weir.domain_loop(0, r.n) do fill(r.a) end end,
  get = function(r) for _ in weir.domain_loop(0, r.n) do r.a:wait(); r.a:use(); r.a:release(1) end end })
local function lanes(n)
  local k = weir.kernel { name = "lanes", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } }
  local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = n },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = "w.task_sync();" } } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do fill(r) wq:next() end end }
  for lane = 0, n - 1 do
    k:task { name = "get" .. lane, warps = { 1 + lane, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq, { lane = lane, lanes = n }) do
        use(r)
        wq:next()
      end
    end }
  end
  return k
end
explored("work tiles dealt to two tasks", "SAFE", lanes(2), { tiles = 3 })
explored("to three", "SAFE", lanes(3), { tiles = 4 })

-- A copy by TMA: loads in slices, in whole by the first CTA, or by the body of one task on one CTA; stores from a staging tile.
local function copy(o)
  local c = o.cluster or 1
  local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = c, n = o.cluster_n } }
  local N = k:dim "N"
  local X = k:tensor { name = "X", dtype = "f32", shape = { N * 16, 64 } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { N * 16, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 16, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 16, 64 } }
  local pipe = o.by == "threads" and P.async_async { stages = 2 } or o.by == "cp_async" and P.async_async { stages = 2, producer_op = "load" } or P.tma_async { stages = 2 }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = pipe }
  local out = o.staged and k:smem_tile { name = "out", dtype = "f32", tile = { 16, 64 }, pipeline = P.async_tma { stages = 2 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do
      s:acquire()
      if o.by == "threads" then s:store(x:at(i, 0)) elseif o.by == "cp_async" then s:cp_async(x:at(i, 0))
      else s:tma_load(x:at(i, 0), { multicast = o.multicast, issue = o.issue }) end
      s:commit()
    end
  end }
  k:task { name = "put", warps = { 4, o.warps or 4 }, schedule = function()
    for i in weir.domain_loop(0, N) do
      s:wait()
      if out then
        out:acquire(); out:store(s:read()); out:commit()
        s:release()
        out:wait(); y:tma_store(out:read(), y:at(i, 0)); out:release()
      else
        y:store(s:read(), y:at(i, 0))
        if o.release ~= false then s:release() end
      end
    end
  end }
  return k
end
explored("a copy by TMA", "SAFE", copy {}, { most = 3 })
explored("a copy that gives no stage back", "PROVE-DEADLOCK", copy { release = false }, { most = 3 })
explored("a copy by cp.async", "SAFE", copy { by = "cp_async" }, { most = 3 })
explored("a copy by threads", "SAFE", copy { by = "threads" }, { most = 3 })
explored("a copy through a staging tile", "SAFE", copy { staged = true }, { most = 3 })
explored("a copy multicast in slices", "SAFE", copy { cluster = 2, multicast = "m" }, { most = 1, limit = 2000, open = "more states than the limit" })
explored("a copy that the first CTA issues for both", "SAFE", copy { cluster = 2, multicast = "m", issue = "first" }, { most = 1, limit = 2000, open = "more states than the limit" })
explored("a copy along n", "SAFE", copy { cluster_n = 2, multicast = "n" }, { most = 1, limit = 2000, open = "more states than the limit" })
for _, o in ipairs { { group = "merge" }, { group = "none" }, { group = "fused_merge", cluster = 2 }, { lag = 0 }, { epilogue = "plain" } } do
  o.stages, o.n = 2, 64
  local words = {}
  for key, v in pairs(o) do words[#words + 1] = key .. " = " .. tostring(v) end
  table.sort(words)
  explored("a GEMM: " .. table.concat(words, ", "), "SAFE", lab.gemm(o), { most = 1, tiles = 1, limit = 800, open = o.cluster and "more states than the limit" })
end

-- ---- the plan, printed -----------------------------------------------------------------------------------------------------------------------
-- Lines of k:print "plan" that must be there, in this order, without numbers of actions and places.
local function printed(name, k, ...)
  local text = "\n" .. k:print "plan":gsub("  [%w./]+%.%a+:%d+\n", "\n"):gsub("\n *%d+ ", "\n"):gsub("\n +", "\n"):gsub(" +", " ")
  local at = 1
  for _, line in ipairs { ... } do
    local _, last = text:find("\n" .. line .. "\n", at, true)
    if not tap.ok(last, ("%s: %s"):format(name, line)) then tap.diag(text) break end
    at = last
  end
  k:close()
end
printed("a cluster of four, the first CTA issues", lab.gemm { cluster = 2, cluster_n = 2, issue = "first", load_registers = 40, mma_registers = 232, warpgroups = 2, n = 128, stages = 2 },
  "kernel gemm: 384 threads, 4 CTAs a cluster, 98336 bytes of shared memory", "task load: warps 0 to 0, one thread", "setmaxnreg 40 by threads", "loop 0 .. ceil_div(K, 64)",
  "expect_tx ab_full [ab next] arrivals 1 bytes 16384 by one -- acquire", "bulk_issue ab_full [ab next] bytes 16384 targets n from the first by one", "bulk_issue ab_full [ab held] bytes 16384 targets m from the first by one",
  "task mma: warps 4 to 11, by warpgroup", "setmaxnreg 232 by threads", "mma_wait 1 by threads -- drain", "if more than 1 held on ab", "arrive ab_empty [ab close] arrivals 1 targets by rank by warpgroup-ctas -- release",
  "bulk_wait [stage next] 1 read by warpgroup -- acquire", "named_sync barrier 1 (128 threads) by threads -- acquire", "bulk_wait 0 by warpgroup -- the stores are done", "exit", "cluster_wait by threads")
printed("tensor memory, tiles dealt to two tasks", s100.gemm { store_lanes = 2, cluster = { 2, 1 } },
  "tmem_alloc 128 columns by one -- tensor memory, its address left in shared memory", "tiles of wq, lane 0 of 2", "arrive acc_empty [acc close] arrivals 1 by lane -- release", "tiles of other lanes", "tiles of wq, lane 1 of 2",
  "bulk_issue ab_full [ab held] bytes 4096 targets m by one", "task mma: warps 5 to 5, one thread", "tcgen05_commit ab_empty [ab close] arrivals 1 targets m by one -- release", "exit", "tmem_free 128 columns by one")
printed("guards, and stages that are held", relay { stages = 4,
  give = function(r) for i in weir.domain_loop(0, r.n) do
    for _ in i:first_iter() do fill(r.a) end
    for _ in i:last_iter() do fill(r.a) end
    for _ in i:every(2, 1) do fill(r.a) end
    for _ in weir.when_true(weir.eq(i % 2, 0)) do fill(r.a) end
    for _ in weir.when_false(weir.gt(r.q, 0)) do fill(r.a) end
  end end,
  get = function(r)
    for _ = 1, 3 do r.a:wait(); r.a:use() end
    r.a:release(1)
    for _ in weir.domain_loop(0, r.n) do r.a:wait(); r.a:use(); r.a:release(2) end
    r.a:release(0)
  end }, "guard first", "guard last", "guard every", "guard when i0 % 2 == 0", "guard unless q > 0", "task get: warps 1 to 1, by warp", "if more than 2 held on a", "while more than 0 held on a")
do
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local n = k:dim "n"
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = P.tma_async { stages = 4, interleave = { 2, 2, 2, 2 } } }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { n * 16, 64 } }, tile = { 16, 64 } }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { n * 16, 64 }, out = true }, tile = { 16, 64 } }
  k:task { name = "load", warps = { 0, 2 }, schedule = function() for i in weir.domain_loop(0, n) do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
  for lane = 0, 1 do
    k:task { name = "put" .. lane, warps = { 4 + 4 * lane, 4 }, schedule = function()
      for i in weir.domain_loop(lane, n, 2) do s:wait(); y:store(s:read(), y:at(i, 0)); s:release() end
    end }
  end
  printed("loops dealt to warps and to tasks", k, "task load: warps 0 to 1, one thread of each warp", "loop 0 .. n, dealt to 2 warps in turn", "expect_tx s_full [s next] arrivals 1 bytes 4096 by one -- acquire",
    "task put0: warps 4 to 7, by warp", "loop 0 .. n, lane 0 of 2", "loop 1 .. n, lane 1 of 2")
end
tap.done()
