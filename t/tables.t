#!/usr/bin/env lua5.4
-- Plans whose tables are changed by hand, so that one contradicts another: what is said of each, before anything is run. Beside them stand
-- changes that contradict nothing.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local push = require "push"
local sm100a = require "sm100a"
local schedules = require "gen.schedules"
local plan = lab.plan

local makers = {
  gemm = function() return lab.gemm {} end,
  cluster = function() return lab.gemm { cluster = 2 } end,
  both = function() return lab.gemm { cluster = 2, cluster_n = 2 } end,
  two = function() return lab.gemm { warpgroups = 2 } end,
  panels = function() return lab.gemm { dtype = "tf32", epilogue = "plain" } end,
  threads = function() return lab.thread_copy(2, 4) end,
  split = function() return push.split_k {} end,
  umma = function() return sm100a.gemm {} end,
  leader = function() -- its two loading warps meet before one of them arms
    local weir = lab.weir
    local k = weir.kernel { name = "leader", arch = "sm_90a" }
    local N = k:dim "N"
    local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { N, 64 } }, tile = { 8, 64 } }
    local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { N, 64 }, out = true }, tile = { 8, 64 } }
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 64 }, pipeline = weir.pipeline.tma_async { stages = 2, producer_signaling = "task_warp_leader" } }
    k:task { name = "load", warps = { 0, 2 }, schedule = function() for i in weir.domain_loop(0, N) do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
    k:task { name = "put", warps = { 2, 1 }, schedule = function() for i in weir.domain_loop(0, N) do s:wait(); y:store(s:read(), y:at(i, 0)); s:release() end end }
    return k
  end,
  fork = function()
    return schedules.kernel(lab.weir, schedules.parse "p1:tma/2 p2:tma/2 g=fork | t1(1) for N{ p1.acquire p2.acquire p1.fill g.commit } | t2(1) for N{ p1.wait p1.use p1.release } | t3(1) for N{ p2.wait p2.use p2.release }")
  end,
}
-- want: the rule and a part of what the finding says; nil: nothing is found. change(p)
local function changed(name, kernel, rule, text, change)
  local k = makers[kernel]()
  local p = assert(plan.of(k))
  change(p)
  local verdict, findings = plan.prove(p)
  local seen, all
  for _, f in ipairs(findings) do
    all = (all or "") .. ("%s: %s\n"):format(f.rule, f.message)
    if not seen and f.rule == rule and f.message:find(text, 1, true) then seen = f end
  end
  if rule then
    if not tap.ok(seen and verdict == "UNSAFE", name) then tap.diag(("wanted %s: %s\n%s: %s"):format(rule, text, verdict, all or "nothing")) end
  elseif not tap.is({ "SAFE", nil }, { verdict, all }, name) then tap.diag(all or "") end
  p:close()
  k:close()
end
local function put(table, row, field, value)
  return function(p)
    if type(row) == "string" then row = lab.index(p, table, row) end
    plan.set(p, table, row, field, type(value) == "function" and value(plan.get(p, table, row, field), p) or value)
  end
end
local function more(n) return function(x) return x + n end end
local function all(...)
  local changes = { ... }
  return function(p) for _, f in ipairs(changes) do f(p) end end
end

local names = {}
for name in pairs(makers) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do changed(name .. " as it is", name, nil, nil, function() end) end

-- bytes
changed("less shared memory than there must be", "gemm", "PROVE-PLAN", "the kernel takes more shared memory than there is", put("plan", 0, "smem_capacity", 1024))
changed("a tile before the beginning", "gemm", "PROVE-PLAN", "'a' ends at ", put("smem", "a", "offset", -1024))
changed("a tile beyond the end", "gemm", "PROVE-PLAN", "'a' ends at ", put("smem", "a", "offset", 200000))
changed("a tile beside the storage that it has", "fork", "PROVE-PLAN", "'p2' has the storage of 'p1', and begins elsewhere", put("smem", "p2", "offset", more(1024)))
changed("more stages than fit", "gemm", "PROVE-PLAN", "'a' has 4 stages of 8192 bytes in 24576", put("smem", "a", "stages", 4))
changed("a tile between two multiples", "gemm", "PROVE-PLAN", "'a' is not aligned: stage 0 at ", put("smem", "a", "offset", more(64)))
changed("stages between two multiples", "gemm", "PROVE-PLAN", "'a' is not aligned: stage 0 at ", put("smem", "a", "stage_bytes", more(-64)))
changed("a tile that need not be aligned", "gemm", nil, nil, put("smem", "a", "align", 0))
changed("a tile on the mbarriers", "gemm", "PROVE-RACE", "the mbarriers lie on 'a'", put("plan", 0, "barrier_offset", 1024))
changed("mbarriers before the beginning", "gemm", "PROVE-PLAN", "mbarriers at byte -8 end at ", put("plan", 0, "barrier_offset", -8))
changed("mbarriers between two multiples of 8", "gemm", "PROVE-PLAN", " mbarriers at byte ", put("plan", 0, "barrier_offset", more(4)))
changed("mbarriers beyond the end", "gemm", "PROVE-PLAN", " mbarriers at byte ", put("plan", 0, "barrier_offset", more(4096)))
changed("mbarriers of a barrier before the first", "gemm", "PROVE-PLAN", "'ab_full' has mbarriers -1 to 1", put("bars", "ab_full", "first", -1))
changed("mbarriers of a barrier beyond the last", "gemm", "PROVE-PLAN", "'ab_full' has mbarriers 90 to 92", put("bars", "ab_full", "first", 90))
changed("a barrier at another byte", "gemm", "PROVE-PLAN", "'ab_full' has mbarriers ", put("bars", "ab_full", "offset", more(8)))
changed("two barriers that are one", "gemm", "PROVE-COUNT", "are the same mbarrier: arrivals of both count at ", put("bars", "ab_empty", "first", function(_, p)
  return plan.get(p, "bars", lab.index(p, "bars", "ab_full"), "first") end))

-- tensor memory
changed("more columns than there are", "umma", "PROVE-PLAN", "1024 columns of tensor memory are asked for", put("plan", 0, "tmem_alloc", 1024))
changed("fewer columns than are used", "umma", "PROVE-PLAN", "64 columns of tensor memory are asked for, 128 are used", put("plan", 0, "tmem_alloc", 64))
changed("no power of two", "umma", "PROVE-PLAN", "192 columns of tensor memory are asked for, 128 are used", put("plan", 0, "tmem_alloc", 192))
changed("fewer columns than can be had", "umma", "PROVE-PLAN", "16 columns of tensor memory are asked for, 8 are used",
  all(put("plan", 0, "tmem_alloc", 16), put("plan", 0, "tmem_columns", 8)))
changed("more columns than are needed", "umma", nil, nil, put("plan", 0, "tmem_alloc", 256))
changed("sums beyond the columns", "umma", "PROVE-PLAN", "'acc' ends at 128 columns", put("plan", 0, "tmem_columns", 64))
changed("the address of tensor memory in a tile", "umma", "PROVE-RACE", "the address of tensor memory is left in 'a'", put("plan", 0, "tmem_slot", 2048))

-- threads and registers
changed("half a warpgroup", "gemm", "PROVE-PLAN", "the CTA is launched with 320 threads; its tasks take 8 warps", put("plan", 0, "threads", 320))
changed("fewer threads than tasks", "gemm", "PROVE-PLAN", "the CTA is launched with 128 threads; its tasks take 8 warps", put("plan", 0, "threads", 128))
changed("more threads than a CTA has", "gemm", "PROVE-PLAN", "the CTA is launched with 1152 threads; its tasks take 8 warps", put("plan", 0, "threads", 1152))
changed("more threads than are needed", "gemm", nil, nil, put("plan", 0, "threads", 384))
for _, n in ipairs { 16, 264, 100 } do
  changed(("%d registers for a warpgroup"):format(n), "gemm", "PROVE-PLAN", ("warpgroup 1 asks for %d registers"):format(n), put("plan", 0, "reg_split1", n))
end
changed("more registers than are in the pool", "gemm", "PROVE-DEADLOCK", "setmaxnreg.inc waits for ever: the warpgroups ask for 448 registers a thread, ",
  all(put("plan", 0, "reg_split0", 208), put("plan", 0, "reg_split1", 240), put("plan", 0, "entry_registers", 168)))
changed("as many as are in the pool", "gemm", nil, nil, all(put("plan", 0, "reg_split0", 96), put("plan", 0, "reg_split1", 240), put("plan", 0, "entry_registers", 168)))
changed("sums of another shape", "gemm", "PROVE-PLAN", "'acc' has { 32, 64 } in each of 1 warpgroups, in all { 64, 64 }", put("regs", 0, "rows", 32))
changed("sums of another shape in each of two warpgroups", "two", "PROVE-PLAN", "'acc' has { 128, 64 } in each of 2 warpgroups, in all { 128, 64 }", put("regs", 0, "rows", 128))

-- named barriers
for _, id in ipairs { 0, 16, -1 } do
  changed(("named barrier %d of a group"):format(id), "two", "PROVE-PLAN", ("warpgroup 0 of mma joins at named barrier %d"):format(id), put("named", 0, "id", id))
end
changed("one named barrier of two groups", "two", "PROVE-PLAN", "warpgroup 0 of mma and warpgroup 1 of mma join at the same named barrier, 1", put("named", 1, "id", 1))
for id, whose in pairs { [0] = "__syncthreads", [2] = "nobody", [16] = "nobody" } do
  changed(("a join at named barrier %d"):format(id), "gemm", "PROVE-PLAN", ("task 'mma' joins at named barrier %d, which is that of %s"):format(id, whose),
    function(p) put("action", lab.action(p, "named_sync"), "named", id)(p) end)
end
changed("a join of a task's warps at nobody's", "leader", "PROVE-PLAN", "task 'load' joins at named barrier 3, which is that of nobody",
  function(p) put("action", lab.action(p, "named_sync"), "named", 3)(p) end)
changed("a join at another group's", "two", "PROVE-PLAN", "task 'mma' joins at named barrier 2, which is that of warpgroup 1 of mma",
  function(p) put("action", lab.action(p, "named_sync"), "named", 2)(p) end)

-- copies
local function issue(nth) return function(p) return lab.action(p, "bulk_issue", nil, nth or 1) end end
local function act(which, field, value) return function(p) put("action", which(p), field, value)(p) end end
changed("a copy of another's boxes", "gemm", "PROVE-PLAN", "a copy of 'ga' has the tensor map '", act(issue(), "copy", 1))
changed("another swizzle in the tensor map", "gemm", "PROVE-PLAN", "'a' is swizzled by 128, the copies' tensor map '", put("tmaps", 0, "swizzle", 64))
changed("fewer bytes than the box brings", "gemm", "PROVE-TX", "1 box of 'A_map' holds 8192 bytes, the action counts 7168", act(issue(), "bytes", more(-1024)))
changed("more bytes than two boxes bring", "panels", "PROVE-TX", "2 boxes of 'A_map' hold 16384 bytes, the action counts 17408", act(issue(), "bytes", more(1024)))
changed("fewer bytes than are stored", "gemm", "PROVE-PLAN", "1 box of 'D_map' holds 8192 bytes, the action counts 4096", function(p)
  put("action", lab.action(p, "bulk_store"), "bytes", 4096)(p) end)
changed("a box before the tile", "gemm", "PROVE-PLAN", "box 0 of the 1 that fill a stage of 'a' is not where the tile has it", function(p) plan.box(p, 0, 0, { -8, 0 }, 0) end)
changed("a box beyond the tile", "gemm", "PROVE-PLAN", "box 0 of the 1 that fill a stage of 'a' is not where the tile has it", function(p) plan.box(p, 0, 0, { 0, 8 }, 0) end)
changed("a box at another byte", "gemm", "PROVE-PLAN", "box 0 of the 1 that fill a stage of 'a' is not where the tile has it", function(p) plan.box(p, 0, 0, { 0, 0 }, 1024) end)
changed("a smaller box", "gemm", "PROVE-PLAN", "the boxes of all who fill or store a stage of 'a' are not the whole tile",
  all(put("tmaps", 0, "box1", 32), act(issue(), "bytes", 4096)))
changed("a larger box", "gemm", "PROVE-PLAN", "box 0 of the 1 that fill a stage of 'a' is not where the tile has it", all(put("tmaps", 0, "box1", 128), act(issue(), "bytes", 16384)))
changed("slices on each other", "cluster", "PROVE-PLAN", "box 1 of the 2 that fill a stage of 'b' is not where the tile has it", put("copies", 1, "slice_elems", 16))
changed("slices along no axis", "both", "PROVE-PLAN", "box 1 of the 2 that fill a stage of 'a' is not where the tile has it", put("copies", 0, "slice_axis", -1))

-- pushes
local function piece(to, from, bytes) return function(p)
  local t, f, b = plan.piece(p, 0, 0)
  plan.piece(p, 0, 0, to(t), from(f), bytes(b))
end end
local same = more(0)
changed("a piece before the stage", "split", "PROVE-PLAN", "piece 0 of a push from 'part' into 'sums' does not lie inside the stages", piece(function() return -16 end, same, same))
changed("a piece before its source", "split", "PROVE-PLAN", "piece 0 of a push from 'part' into 'sums' does not lie inside the stages", piece(same, function() return -16 end, same))
changed("a piece beyond the stage", "split", "PROVE-PLAN", "piece 0 of a push from 'part' into 'sums' does not lie inside the stages", piece(function() return 1 << 20 end, same, same))
changed("a piece beyond its source", "split", "PROVE-PLAN", "piece 0 of a push from 'part' into 'sums' does not lie inside the stages", piece(same, function() return 1 << 20 end, same))
changed("a piece of no whole 16 bytes", "split", "PROVE-PLAN", "piece 0 of a push from 'part' into 'sums' does not lie inside the stages", piece(same, same, more(-8)))
changed("a piece on another", "split", "PROVE-PLAN", "piece 1 of a push from 'part' into 'sums' does not lie inside the stages, or on another: bytes 0 to 8192",
  function(p) plan.piece(p, 0, 1, plan.piece(p, 0, 0)) end)
changed("a piece that is too small", "split", "PROVE-TX", "the pieces of a push into 'sums' bring ", piece(same, same, more(-16)))

-- actions
changed("an arrival that counts for more", "gemm", "PROVE-COUNT", "a thread of each warpgroup of 'mma' arrives at 'ab_empty', and 2 is counted for a warpgroup",
  function(p) put("action", lab.action(p, "arrive", "ab_empty"), "arrivals", 2)(p) end)
changed("a copy that there is not", "gemm", "PROVE-PLAN", "a copy of 'a' is number -1 of 3", act(issue(), "copy", -1))
changed("a store that there is not", "gemm", "PROVE-PLAN", "a copy of 'gd' is number 3 of 3", function(p) put("action", lab.action(p, "bulk_store"), "copy", 3)(p) end)
changed("a push that there is not", "split", "PROVE-PLAN", "is number 1 of 1", function(p) put("action", lab.action(p, "bulk_push"), "copy", 1)(p) end)
changed("held stages that are not counted", "gemm", "PROVE-PLAN", "the stages that 'ab' holds decide what runs, and are not counted", function(p)
  for i = 0, plan.count(p, "cursors") - 1 do plan.set(p, "cursors", i, "needs_held", false) end end)
changed("a fence less", "gemm", "PROVE-RACE", "the mma takes registers that threads wrote, and no wgmma.fence stands in front of it", function(p)
  plan.set(p, "action", lab.action(p, "mma_fence"), "kind", "none") end)
tap.done()
