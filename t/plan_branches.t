#!/usr/bin/env lua5.4
-- Rare ways through the plan, one small schedule a row, and the number, text or finding that it must give. Most of them are no whole
-- kernels: the plan is made of what has been described, whatever validation says of it.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local s100 = require "sm100a"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

local function planned(k) -- the plan's findings, a line each; the program when there are none
  local program, why = plan.of(k)
  return program and "" or why, program
end
local function refuses(name, want, k) tap.is(want, (planned(k)), name) end
local function field(p, table, name, what) return plan.get(p, table, lab.index(p, table, name), what) end

-- What the rows below use, made on demand: r.x a tensor's tile, r.y one that is written, r.s a ring that TMA fills, r.ring one of threads.
local function kernel(o)
  local k = weir.kernel { name = "k", arch = o.arch or "sm_90a", cluster = o.cluster, ctas_per_sm = o.ctas_per_sm }
  local rows, cols, dtype = o.rows or 64, o.cols or 64, o.dtype or "f32"
  local make = {
    x = function() return k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = dtype, shape = { rows, cols } }, tile = { rows, cols } } end,
    y = function() return k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 256, 256 }, out = true }, tile = o.out or { rows, cols } } end,
    s = function() return k:smem_tile { name = "s", dtype = dtype, tile = { rows, cols }, swizzle = o.swizzle, pipeline = P.tma_async(o.pipe or { stages = 2 }) } end,
    ring = function() return k:resource { name = "ring", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async(o.ring or { stages = 2 }),
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } } end,
  }
  local r = setmetatable({ k = k }, { __index = function(t, name) t[name] = make[name]() return t[name] end })
  if o.with then o.with(k, r) end
  for i, t in ipairs(o) do
    k:task { name = t.name or "t" .. i, warps = t.warps or { 4 * (i - 1), 4 }, cta = t.cta, registers = t.registers, schedule = function() t[1](r) end }
  end
  return k
end

-- ---- views -----------------------------------------------------------------------------------------------------------------------------------
do
  local k = kernel { out = { 4, 8 }, { warps = { 0, 1 }, function(r) r.s:acquire(); r.s:tma_load(r.x:at(0, 0)); r.s:commit() end },
    { function(r) r.s:wait(); r.y:store(r.s:read():rows(8, 16):rows(4, 4):cols(16, 32):cols(4, 8), r.y:at(0, 0)); r.s:release() end } }
  local why, p = planned(k)
  tap.is("", why, "a part of a part of a tile")
  tap.like("(u32)(((row + 12)) * 256 + (((first + i) + 20)) * 4)", p and plan.emit(p) or "", "both firsts add up")
end

-- ---- tensor memory where there is none -------------------------------------------------------------------------------------------------------
-- A stage of p is left to the next mma: in the dtype of what it is multiplied with. Bytes of a stage, and the swizzle.
local function spilled(name, want, cols, more)
  local k = kernel { dtype = "tf32", swizzle = 128, with = function(k, r)
    r.p = k:tmem_tile { name = "p", tile = { 64, cols }, pipeline = P.umma_umma { stages = 1 } }
    r.w, r.h = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:wgmma_tile { name = "h", tile = { 64, 64 } }
  end, { function(r)
    r.p:acquire(); r.p:zero(); r.p:commit()
    r.p:wait(); r.w:zero()
    if more then more(r, r.w) end
    r.w:drain(); r.p:release()
  end } }
  local why, p = planned(k)
  tap.is(want, p and { field(p, "smem", "p", "stage_bytes"), field(p, "smem", "p", "swizzle") } or why, name)
end
spilled("beside a stage of tf32", { 16384, 128 }, 64, function(r, w) w:mma(r.p:read(), r.s:read()) end)
spilled("beside what lies in registers: bf16", { 8192, 128 }, 64, function(r, w) r.h:zero(); w:mma(weir.cast(r.h:read(), "bf16"), r.p:read()); r.ring:acquire(); r.ring:fill(); r.ring:commit() end)
spilled("beside itself: bf16", { 8192, 128 }, 64, function(r, w) w:mma(r.p:read(), r.p:read()) end)
spilled("beside nothing: bf16, rows of 32 bytes", { 2048, 32 }, 16)
spilled("rows of 64 bytes", { 4096, 64 }, 32)
spilled("rows of 16 bytes have no swizzle", { 1024, 0 }, 8)

for _, arch in ipairs { "sm_90a", "sm_100a" } do -- nothing else says when an mma's sums may be read
  local k = weir.kernel { name = "k", arch = arch }
  k:tmem_tile { name = "p", tile = { 128, 64 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() end }
  local report = k:verify()
  tap.is({ "M-PIPE", "tmem_tile 'p' has no pipeline", "pipeline = weir.pipeline.umma_async { stages = 1 }" }, { report.findings[1].rule, report.findings[1].message, report.findings[1].hint },
    "a tile in tensor memory without a pipeline, " .. arch)
end

-- ---- register tiles -----------------------------------------------------------------------------------------------------------------------------
local function registers(name, want, dtype, tile, warps)
  local why, p = planned(kernel { { warps = warps, function(r) r.k:reg_tile { name = "t", dtype = dtype, tile = tile }:zero() end } })
  tap.is(want, p and plan.get(p, "regs", 0, "per_thread") or why, name)
end
registers("f32: one a register", 32, "f32", { 64, 64 })
registers("f16: two a register", 16, "f16", { 64, 64 })
registers("bf16: two a register", 16, "bf16", { 64, 64 })
registers("one column: that of a row in one register of each thread", 2, "f32", { 64, 1 })
registers("four columns: those of a row in one register of each thread", 2, "f32", { 64, 4 })
registers("four columns of 128 rows", 4, "f32", { 128, 4 })
refuses("rows of a tile of which no warpgroup has whole 64", "PLAN-TILE: tile 't' { 96, 8 } does not divide among the 1 warpgroups of task 't1'\n",
  kernel { out = { 96, 8 }, { function(r)
    local t = r.k:reg_tile { name = "t", dtype = "f32", tile = { 96, 8 } }
    r.y:store(t:row_index(), r.y:at(0, 0))
  end } })
for _, cols in ipairs { 8, 12 } do -- the other task has the numbers of the tile's rows, and none of its registers
  local why, p = planned(kernel { out = { 64, 8 }, { function(r)
    local t = r.k:reg_tile { name = "t", dtype = "f32", tile = { 64, cols } }
    r.y:store(t:row_index() * t:row_index(), r.y:at(0, 0))
  end } })
  tap.is(cols == 8 and 0 or "PLAN-TILE: register tile 't' { 64, 12 } has 12 columns in each warpgroup of task 't1'; threads hold 1, 4, or a multiple of 8\n",
    p and plan.get(p, "regs", 0, "per_thread") or why, ("rows of a tile of %d columns that the task does not hold"):format(cols))
end
registers("a task of one warp", "PLAN-WARPS: task 't1' uses register tile 't' but has 1 warp; a warpgroup is 4\nPLAN-WARPS: task 't1' works on register tiles and has warps 0 to 0\n",
  "f32", { 64, 64 }, { 0, 1 })
do
  local _, p = planned(kernel { with = function(k, r) r.t = k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } } end,
    { function(r) r.t:zero() end }, { function(r) r.t:zero() end } })
  tap.is({ { task = 0, per_thread = 32 }, { task = 1, per_thread = 32 } }, p and lab.rows(p, "regs", "task", "per_thread"), "two tasks with one tile: registers of both")
end

-- ---- who acts ------------------------------------------------------------------------------------------------------------------------------------
-- One thread for a whole task, warps, or warpgroups.
local function actors(name, task, want, k)
  local why, p = planned(k)
  tap.is(want, p and { plan.get(p, "tasks", task, "solo"), plan.get(p, "tasks", task, "wg_actor"), plan.get(p, "tasks", task, "actors") } or why, name)
end
local function stored(pipe)
  return kernel { with = function(k, r) r.o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma(pipe) } end,
    { function(r) r.o:acquire(); r.o:store(1); r.o:commit() end },
    { warps = { 4, 1 }, function(r) r.o:wait(); r.y:tma_store(r.o:read(), r.y:at(0, 0)); r.o:release() end } }
end
actors("bulk stores alone: one thread", 1, { true, false, 1 }, stored { stages = 1 })
actors("which says how many arrivals give back: the warp", 1, { false, false, 1 }, stored { stages = 1, consumers = 1 })
local function drawn(pipe)
  local k = weir.kernel { name = "q", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", kind = "atomic", axes = { "i" }, extent = { 4 }, pipeline = P.async_async(pipe) }
  k:task { name = "fetch", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
  return k
end
actors("tiles from a counter: one thread", 0, { true, false, 1 }, drawn { stages = 1 })
actors("each thread gives them back: the warp", 0, { false, false, 1 }, drawn { stages = 1, grain = "thread" })
local function issues(warps, more)
  local k, r = s100.gemm { group = "none" }
  local t = k:reg_tile { name = "t", dtype = "f32", tile = { 128, 64 } }
  k:task { name = "more", warps = { 12, warps }, schedule = function() r.acc:acquire(); r.acc:zero(); r.acc:mma(r.a:read(), r.b:read()); r.acc:commit(); more(r, t) end }
  return k
end
actors("an mma alone: one thread, whatever warps", 3, { true, false, 1 }, issues(8, function() end))
actors("and a read of its own sums: the warpgroup", 3, { false, true, 1 }, issues(4, function(r) r.acc:read() end))
actors("and a read of registers, eight warps", 3, "PLAN-UNSUPPORTED: task 'more' issues for the tensor core ('acc') beside work of its threads and has 8 warps\nPLAN-ZERO: reads 't', which may never have been zeroed or set\n",
  issues(8, function(_, t) t:read() end))
local function body(arch, warps, reads)
  return kernel { arch = arch, with = function(k, r)
    r.z = k:resource { name = "z", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 2 },
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";", async_read = reads } } }
  end, { function(r) r.z:acquire(); r.z:fill(); r.z:commit() end }, { warps = { 4, warps }, function(r) r.z:wait(); r.z:use(); r.z:release() end } }
end
actors("a body that reads asynchronously: the warpgroup issues", 1, { false, true, 1 }, body("sm_90a", 4, true))
actors("one that does not: warps", 1, { false, false, 4 }, body("sm_90a", 4, false))
actors("two warps are no warpgroup", 1, { false, false, 2 }, body("sm_90a", 2, true))
actors("on sm_100a a thread issues: warps", 1, { false, false, 4 }, body("sm_100a", 4, true))

-- With v = 2 the task of the mma is the leader's, whatever its warps do for themselves.
for _, dealt in ipairs { false, true } do
  local k = s100.gemm { v = 2, n = 256, registers = dealt }
  local why, p = planned(k)
  local seen = {}
  for _, t in ipairs(p and lab.rows(p, "tasks", "leader") or {}) do seen[#seen + 1] = t.leader end
  tap.is({ false, false, true }, p and seen or why, "tasks of the leader CTA" .. (dealt and ", with registers dealt out" or ""))
end

-- ---- the sides of a pipeline -----------------------------------------------------------------------------------------------------------------------
-- mbarriers by name, in whatever order: what they count, and the sum it comes from.
local function counts(name, want, k)
  local why, p = planned(k)
  local seen = {}
  for _, b in ipairs(p and lab.rows(p, "bars", "name", "count", "sum") or {}) do seen[#seen + 1] = ("%s: %d, %s"):format(b.name, b.count, b.sum) end
  if p then
    table.sort(seen)
    if type(want) == "table" then table.sort(want) end
  end
  tap.is(want, p and seen or why, name)
end

-- Tasks that take work tiles in turn, or all of them; { at =, warps =, lane =, math: it works on registers, wait: it gives nothing back, other: it takes
-- a stage of a second ring }.
local function lanes(o)
  local k = weir.kernel { name = "lanes", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } }
  local function ring(name) return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = "w.task_sync();" } } } end
  local a, b = ring "a", ring "b"
  local w = k:wgmma_tile { name = "w", tile = { 64, 64 } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for _, x in ipairs { a, b } do x:acquire(); x:fill(); x:commit() end
      wq:next()
    end
  end }
  for i, g in ipairs(o) do
    k:task { name = "get" .. i, warps = { g.at, g.warps }, schedule = function()
      for _ in weir.work_tile_loop(wq, g.lane and { lane = g.lane, lanes = 2 } or nil) do
        if g.math then w:zero() end
        for _, x in ipairs { a, g.other and b } do x:wait(); x:use(); if not g.wait then x:release() end end
        wq:next()
      end
    end }
  end
  return k
end
local function empties(a, b) return { "a_full: 1, 1 warp", "a_empty: " .. a, "b_full: 1, 1 warp", "b_empty: " .. (b or "1, nobody") } end
local unequal = "V-CNT-06: pipeline 'a': lanes of the work tiles bring unequal arrivals to a phase\n"
counts("work tiles of two lanes", empties "1, 1 warp of a lane", lanes { { at = 4, warps = 1, lane = 0 }, { at = 5, warps = 1, lane = 1 } })
counts("with other warps", unequal, lanes { { at = 4, warps = 1, lane = 0 }, { at = 8, warps = 2, lane = 1 } })
counts("as many warps, one side a warpgroup", unequal, lanes { { at = 4, warps = 4, lane = 0 }, { at = 8, warps = 4, lane = 1, math = true } })
counts("as many warps, by another number of tasks", unequal,
  lanes { { at = 4, warps = 2, lane = 0 }, { at = 6, warps = 1, lane = 1 }, { at = 7, warps = 1, lane = 1 } })
counts("beside a task that takes every tile", empties "2, 2 warps of a lane",
  lanes { { at = 4, warps = 1, lane = 0 }, { at = 5, warps = 1, lane = 1 }, { at = 6, warps = 1 } })
counts("which alone takes another ring", empties("2, 2 warps of a lane", "1, 1 warp"),
  lanes { { at = 4, warps = 1, lane = 0 }, { at = 5, warps = 1, lane = 1 }, { at = 6, warps = 1, other = true } })
counts("one lane gives nothing back", empties "1, 1 warp of a lane", lanes { { at = 4, warps = 1, lane = 0 }, { at = 5, warps = 1, lane = 1, wait = true } })
counts("none does", empties "1, nobody", lanes { { at = 4, warps = 1, lane = 0, wait = true }, { at = 5, warps = 1, lane = 1, wait = true } })

-- A ring whose stages loops take in turn: where they start.
local function loops(q, starts)
  local t = { ring = { stages = q, interleave = { 1, 1, q, q } } }
  t[1] = { warps = { 0, 1 }, function(r) for _ in weir.domain_loop(0, 8) do r.ring:acquire(); r.ring:fill(); r.ring:commit() end end }
  for i, s in ipairs(starts) do
    t[#t + 1] = { warps = { i, 1 }, function(r) for _ in weir.domain_loop(s, 8, q) do r.ring:wait(); r.ring:use(); r.ring:release() end end }
  end
  return kernel(t)
end
local function ring_bars(n) return { "ring_full: 1, 1 warp", "ring_empty: " .. n } end
counts("loops of two lanes", ring_bars "1, 1 warp of a lane", loops(2, { 0, 1 }))
counts("two of one lane", ring_bars "2, 2 warps of a lane", loops(2, { 0, 0 }))
counts("two of each", ring_bars "2, 2 warps of a lane", loops(2, { 0, 1, 0, 1 }))
counts("one of one lane, two of the other", "V-CNT-06: pipeline 'ring': release by 2 lanes of 3 warps in all: give each lane as many warps\n", loops(2, { 0, 1, 1 }))
counts("two of 70 lanes", ring_bars "1, 1 warp of a lane", loops(70, { 0, 64 }))

-- A cluster of 2 x 2: two tiles, alone or in a group, each with loads along the axes named.
local function served(o)
  local k = weir.kernel { name = "c", arch = "sm_90a", cluster = { m = 2, n = 2 } }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local m = {}
  for i, name in ipairs { "a", "b" } do m[i] = k:smem_tile { name = name, dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1 } } end
  local g = o.group and k:group { name = "g", mode = o.group, members = m }
  local a, b = g and g:member "a" or m[1], g and g:member "b" or m[2]
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for i, s in ipairs { a, b } do
      s:acquire()
      for _, axis in ipairs(o[i]) do s:tma_load(x:at(0, 0), { multicast = axis }) end
      s:commit()
    end
  end }
  k:task { name = "use", warps = { 4, 1 }, schedule = function()
    a:wait(); b:wait()
    if g then g:release() else a:release(); b:release() end
  end }
  return k
end
local function alone(a, b) return { "a_full: 1, 1 warp that arms", "a_empty: " .. a, "b_full: 1, 1 warp that arms", "b_empty: " .. b } end
local function together(n) return { "g_empty: " .. n, "g_a_full: 1, 1 warp that arms", "g_b_full: 1, 1 warp that arms" } end
counts("loads along m, one of them twice", alone("2, 1 warp x 2 CTAs", "2, 1 warp x 2 CTAs"), served { { "m", "m" }, { "m" } })
counts("loads along m and n; one along both", alone("3, 1 warp x 3 CTAs", "4, 1 warp x 4 CTAs"), served { { "m", "n" }, { "mn" } })
counts("a group: both ways; one way", together "3, 1 warp x 3 CTAs", served { group = "merge", { "m", "n" }, { "m" } })
counts("a group: one way each", together "3, 1 warp x 3 CTAs", served { group = "merge", { "m" }, { "n" } })
counts("a group: both ways; one along both", together "4, 1 warp x 4 CTAs", served { group = "merge", { "m", "n" }, { "mn" } })
counts("a group: one along both; both ways", together "4, 1 warp x 4 CTAs", served { group = "merge", { "mn" }, { "m", "n" } })

-- Tiles that the hardware hands to a cluster of 2 x 2: the tasks of CTA 0 alone count once.
local function handed(cta)
  local k = weir.kernel { name = "q", arch = "sm_100a", cluster = { m = 2, n = 2 } }
  local wq = k:work_queue { name = "wq", kind = "clc", axes = { "i" }, extent = { k:dim "N" } }
  k:task { name = "fetch", warps = { 0, 1 }, cta = { v = 0, m = 0, n = 0, k = 0 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
  k:task { name = "more", warps = { 1, 1 }, cta = cta, schedule = function() for _ in weir.work_tile_loop(wq) do wq:next() end end }
  return k
end
local function fetched(n) return { "wq_full: 1, one lane of CTA 0 arms each CTA", ("wq_empty: %d, 2 warps x 4 CTAs"):format(n) } end
counts("a task of one CTA beside a task of all", fetched(5), handed(nil))
counts("two tasks of one CTA", fetched(2), handed { m = 0, n = 0 })
tap.like("expected 5 (2 warps x 4 CTAs), got 3 arrivals", handed { m = 0 }:verify().text, "a task of two of the four: counted as of all, which the proof finds")

do -- who reads the stages of a group
  local k = weir.kernel { name = "c", arch = "sm_90a" }
  local function tile(name) return k:smem_tile { name = name, dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } } end
  local X, Y = k:tensor { name = "X", dtype = "bf16", shape = { 64, 64 } }, k:tensor { name = "Y", dtype = "bf16", shape = { 64, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  local w, g = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:group { name = "g", mode = "merge", members = { tile "a", tile "b", tile "c" } }
  local m = { g:member "a", g:member "b", g:member "c" }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _, s in ipairs(m) do s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end end }
  k:task { name = "use", warps = { 4, 4 }, schedule = function()
    for _, s in ipairs(m) do s:wait() end
    w:zero(); w:mma(m[1]:read(), m[2]:read()); w:drain()
    y:store(m[3]:read(), y:at(0, 0))
    g:release()
  end }
  counts("two members are read by mmas, the third by threads: warps release", { "g_empty: 4, 4 warps", "g_a_full: 1, 1 warp that arms", "g_b_full: 1, 1 warp that arms", "g_c_full: 1, 1 warp that arms" }, k)
end
for _, fold in ipairs { false, true } do
  local k = weir.kernel { name = "f", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local function tile(name) return k:smem_tile { name = name, dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1 } } end
  local g = k:group { name = "g", mode = "fused_merge", fold = fold, members = { tile "a", tile "b" } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _, s in ipairs { g:member "a", g:member "b" } do s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end end }
  k:task { name = "use", warps = { 1, 1 }, schedule = function() g:wait(); g:release() end }
  counts(fold and "folded: one arms for both" or "each member arms for itself", { fold and "g_full: 1, 1 warp that arms of a" or "g_full: 2, 1 warp that arms of a + 1 warp that arms of b", "g_empty: 1, 1 warp" }, k)
end
do -- a member without bytes arms nothing, and comes by itself
  local k = weir.kernel { name = "f", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local function tile(name, pipe) return k:smem_tile { name = name, dtype = "f32", tile = { 64, 64 }, pipeline = pipe { stages = 1 } } end
  local g = k:group { name = "g", mode = "fused_merge", fold = true, members = { tile("a", P.tma_async), tile("b", P.async_async), tile("c", P.tma_async) } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _, s in ipairs { g:member "a", g:member "c" } do s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end end }
  k:task { name = "fill", warps = { 1, 2 }, schedule = function() local b = g:member "b" b:acquire(); b:store(1); b:commit() end }
  k:task { name = "use", warps = { 3, 1 }, schedule = function() g:wait(); g:release() end }
  counts("a member of threads among them: not folded", { "g_full: 4, 1 warp that arms of a + 2 warps of b + 1 warp that arms of c", "g_empty: 1, 1 warp" }, k)
end
do -- lanes fill stages in turn: a phase has one lane's bytes
  local k = weir.kernel { name = "l", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2, interleave = { 2, 2, 1, 1 } } }
  for lane = 0, 1 do
    k:task { name = "load" .. lane, warps = { lane, 1 }, schedule = function() for _ in weir.domain_loop(lane, 8, 2) do s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end end }
  end
  k:task { name = "use", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(0, 8) do s:wait(); s:release() end end }
  local why, p = planned(k)
  tap.is({ "", 16384 }, { why, p and field(p, "bars", "s_full", "tx") }, "two lanes load: the bytes of one")
end

-- What fills a stage: a row of the ways, in a ring that gives `op` or none, alone or in a group with another, which a body fills.
local function filled(name, want, op, ways, mode)
  local k = weir.kernel { name = "w", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_async { stages = 1, producer_op = op } }
  local z = k:resource { name = "z", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 1, producer_op = op },
    work = { fill = weir.producer_work { code = ";" } } }
  local g = mode and k:group { name = "g", mode = mode, members = { s, z } }
  local to = { s = g and g:member "s" or s, z = g and g:member "z" or z }
  k:task { name = "fill", warps = { 0, 1 }, schedule = function()
    to.s:acquire()
    if g then to.z:acquire() end
    for _, way in ipairs(ways) do
      if way == "cp_async" then to.s:cp_async(x:at(0, 0)) elseif way == "store" then to.s:store(1) else to.z:fill() end
    end
    if mode == "fork" then g:commit() else to.s:commit() end
    if g and mode ~= "fork" then to.z:commit() end
  end }
  local why, p = planned(k)
  tap.is(want, p and field(p, "bars", g and "g_full" or "s_full", "sum") or why, name)
end
filled("by threads", "1 warp", nil, { "store", "store" })
filled("by cp.async: each thread's copies arrive", "32 threads", nil, { "cp_async", "cp_async" })
filled("by cp.async, as is given", "32 threads", "load", { "cp_async" })
filled("by a body, in a fork: it may do either", "1 warp", nil, { "cp_async", "fill" }, "fork")
filled("in two ways", "CN7: pipeline 's': the stage is filled by cp_async and by store\n", nil, { "store", "cp_async" })
filled("by threads, where load is given", "CN7: pipeline 's': producer_op is \"load\", but store fills the stage\n", "load", { "store" })
filled("by cp.async, where thread is given", "CN7: pipeline 's': producer_op is \"thread\", but cp_async fills the stage\n", "thread", { "cp_async" })
filled("the same in a fork: said once", "CN7: pipeline 's': producer_op is \"thread\", but cp_async fills the stage\n", "thread", { "cp_async" }, "fork")
filled("in a fused merge", "CN7: pipeline 's': producer_op is \"thread\", but cp_async fills the stage\n", "thread", { "cp_async" }, "fused_merge")
-- What one member of a group says of the sides that it shares is said once; what it says of its own, of each. consumers, producers of both.
local function mates(name, want, producers, consumers)
  local k = weir.kernel { name = "m", arch = "sm_90a" }
  local function tile(n, p) return k:smem_tile { name = n, dtype = "f32", tile = { 64, 64 }, pipeline = P.async_async { stages = 1, producers = p, consumers = consumers } } end
  local g = k:group { name = "g", mode = "merge", members = { tile("a", producers[1]), tile("b", producers[2]) } }
  k:task { name = "fill", warps = { 0, 1 }, schedule = function() for _, n in ipairs { "a", "b" } do local s = g:member(n) s:acquire(); s:store(1); s:commit() end end }
  k:task { name = "use", warps = { 4, 1 }, schedule = function() for _, n in ipairs { "a", "b" } do g:member(n):wait() end g:release() end }
  refuses(name, want, k)
end
mates("as it should be", "", { 1, 1 }, 1)
local function off(member, what, n, by) return ("V-CNT-09: pipeline '%s': %s = %d, but %s makes 1 or 32 arrivals per phase (1 warp; one per warp or per thread)\n"):format(member, what, n, by) end
mates("consumers that are shared", off("a", "consumers", 3, "release"), { 1, 1 }, 3)
mates("consumers, and a member's producers", off("a", "consumers", 3, "release") .. off("b", "producers", 5, "commit"), { 1, 5 }, 3)
mates("both members' producers", off("a", "producers", 4, "commit") .. off("b", "producers", 5, "commit"), { 4, 5 }, 1)

local function pair(arch, pipe, group_pipe)
  local k = weir.kernel { name = "p", arch = arch }
  local function tile(name) return k:smem_tile { name = name, dtype = "f32", tile = { 64, 64 }, pipeline = pipe } end
  k:group { name = "g", mode = "merge", members = { tile "a", tile "b" }, pipeline = group_pipe }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() end }
  return k
end
refuses("a group of pipelines that the target lacks", "PLAN-ARCH: pipeline 'a': tma_async needs the copy engine or tensor cores of sm_90a or sm_100a\n",
  pair("sm_80", P.tma_async { stages = 2 }))
refuses("of which it gives the bytes: nothing is said of those", "PLAN-ARCH: pipeline 'a': tma_async needs the copy engine or tensor cores of sm_90a or sm_100a\n",
  pair("sm_80", P.tma_async { stages = 2 }, P.tma_async { stages = 2, bytes = 48 }))
refuses("a group of pipelines that cannot be built", "PLAN-UNSUPPORTED: pipeline 'a': acquire by 1 lane and commit by 2 cannot be built yet\nPLAN-UNSUPPORTED: pipeline 'b': acquire by 1 lane and commit by 2 cannot be built yet\n",
  pair("sm_90a", P.async_async { stages = 2, interleave = { 1, 2, 1, 1 } }))
for _, o in ipairs {
  { "sm_100a", { v = 4 }, "PLAN-CLUSTER: kernel 'v' has v = 4; one mma is shared by at most 2 CTAs\n" }, { "sm_100a", { v = 2 }, "" },
  { "sm_90a", { v = 4 }, "PLAN-ARCH: kernel 'v': v = 4 (CTAs that share one MMA) needs sm_100a\n" } } do
  local k = weir.kernel { name = "v", arch = o[1], cluster = o[2] }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() end }
  refuses(("v = %d on %s"):format(o[2].v, o[1]), o[3], k)
end

-- ---- mbarriers: counts, bytes --------------------------------------------------------------------------------------------------------------------
local function moves(mode, ...)
  local k = weir.kernel { name = "b", arch = "sm_90a" }
  local m = {}
  for i, tx in ipairs { ... } do
    m[i] = k:resource { name = "r" .. i, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.tma_async { stages = 2 },
      work = { fill = weir.producer_work { code = ";", tx_bytes = tx }, use = weir.consumer_work { code = ";" } } }
  end
  local g = mode and k:group { name = "g", mode = mode, members = m }
  k:task { name = "a", warps = { 0, 1 }, schedule = function() for i, r in ipairs(m) do r = g and g:member("r" .. i) or r; r:acquire(); r:fill(); r:commit() end end }
  k:task { name = "b", warps = { 1, 1 }, schedule = function() if g then g:wait(); g:release() else m[1]:wait(); m[1]:release() end end }
  return k
end
refuses("the most bytes of a phase", "", moves(nil, 1048575))
refuses("a byte more", "V-BYT-04: pipeline 'r1': 1048576 bytes per stage: an mbarrier counts at most 1048575 per phase; split the tile\nPLAN-TX: mbarrier 'r1_full' would expect 1048576 bytes a phase; one phase counts at most 1048575\n",
  moves(nil, 1048576))
refuses("too many of a group together", "PLAN-TX: mbarrier 'g_full' would expect 1200000 bytes a phase; one phase counts at most 1048575\n", moves("fused_merge", 600000, 600000))
do
  local k = weir.kernel { name = "m", arch = "sm_90a" }
  for i = 1, 2 do k:resource { name = "r" .. i, space = "smem", dtype = "u8", tile = { 64 }, work = {},
    pipeline = P.async_async { stages = 2, producers = i == 2 and 1048576 or nil, consumers = i == 2 and 1048577 or nil } } end
  k:task { name = "a", warps = { 0, 1 }, schedule = function() end }
  refuses("counts of the second of two rings", "PLAN-COUNT: mbarrier 'r2_full' would be initialised with 1048576 arrivals (nobody); the range is 1 to 1048575\n" ..
    "PLAN-COUNT: mbarrier 'r2_empty' would be initialised with 1048577 arrivals (nobody); the range is 1 to 1048575\n", k)
end

-- ---- shared memory -------------------------------------------------------------------------------------------------------------------------------------
-- { name, bytes of a stage, stages, group =, storage: the row whose bytes it has, barrier = }
local function needs(name, want, want_hint, list)
  local k = weir.kernel { name = "m", arch = "sm_90a" }
  local r, m = {}, {}
  for i, o in ipairs(list) do
    local pipe = P.async_async { stages = o[3] }
    r[i] = o.barrier and k:barrier { name = o[1], pipeline = pipe }
      or k:smem_tile { name = o[1], dtype = "u8", tile = { 1, o[2] }, pipeline = pipe, storage = o.storage and r[o.storage] }
    if o.group then m[#m + 1] = r[i] end
  end
  if #m > 0 then k:group { name = "g", mode = "merge", members = m } end
  k:task { name = "a", warps = { 0, 4 }, schedule = function() end }
  refuses(name, "PLAN-SMEM: kernel 'm' needs " .. want .. "\n", k)
  local hint
  for _, f in ipairs(k:verify().findings) do if f.rule == "PLAN-SMEM" then hint = f.hint end end
  tap.is(want_hint, hint, name .. ": what fits")
end
needs("too many mbarriers", "320000 bytes of shared memory, the target has 232448: 87552 too many (mbarriers 320000)", nil, { { "turn", 0, 20000, barrier = true } })
needs("bytes that two rings share are counted once", "247680 bytes of shared memory, the target has 232448: 15232 too many (a 60 x 4096, mbarriers 1920)",
  "stages = 56 of 'a' fits (4096 bytes a stage)", { { "a", 4096, 60 }, { "b", 4096, 60, storage = 1 } })
needs("the larger of two, first", "310400 bytes of shared memory, the target has 232448: 77952 too many (a 100 x 2048, b 100 x 1024, mbarriers 3200)",
  "stages = 62 of 'a' fits (2048 bytes a stage)", { { "a", 2048, 100 }, { "b", 1024, 100 } })
needs("the larger of two, second", "310400 bytes of shared memory, the target has 232448: 77952 too many (a 100 x 1024, b 100 x 2048, mbarriers 3200)",
  "stages = 62 of 'b' fits (2048 bytes a stage)", { { "a", 1024, 100 }, { "b", 2048, 100 } })
needs("a group beside a ring", "248160 bytes of shared memory, the target has 232448: 15712 too many (a 60 x 2048, b 60 x 1024, c 60 x 1024, mbarriers 2400)",
  "stages = 54 of 'g' fits (3072 bytes a stage)", { { "a", 2048, 60, group = true }, { "b", 1024, 60, group = true }, { "c", 1024, 60 } })
do
  local k, want = weir.kernel { name = "q", arch = "sm_90a" }, {}
  for i = 1, 5 do
    k:smem_tile { name = "s" .. i, dtype = "f32", tile = { 64, 64 } }
    k:work_queue { name = "wq" .. i, kind = "atomic", axes = { "i" }, extent = { 4 }, pipeline = P.async_async { stages = 3 } }
    want[2 * i - 1], want[2 * i] = { name = "s" .. i, size = 16384, offset = 16384 * (i - 1) }, { name = "wq" .. i, size = 48, offset = 81920 + 48 * (i - 1) }
  end
  k:task { name = "t", warps = { 0, 1 }, schedule = function() end }
  local _, p = planned(k)
  tap.is(want, p and lab.rows(p, "smem", "name", "size", "offset"), "responses of queues lie behind the tiles")
end
do
  local t = {}
  for i = 1, 3 do t[i] = { function(r) r.k:reg_tile { name = "t" .. i, dtype = "f32", tile = { 64, 64 } }:zero() end } end
  local _, p = planned(kernel(t))
  tap.is({ 168, 0, 0, 0 }, p and { plan.get(p, "plan", 0, "entry_registers"), plan.get(p, "plan", 0, "reg_split0"), plan.get(p, "plan", 0, "reg_split1"), plan.get(p, "plan", 0, "reg_split2") },
    "registers: three warpgroups of mathematics share alike")
end
-- A tile of 24-byte rows: only where threads alone fill and read its bytes. o: storage: it has another's, on: another has its own, columns = 6, reads, brings: of
-- the bodies.
local function narrow(name, want, o, f)
  refuses(name, want, kernel { with = function(k, r)
    local pipe = P.async_async { stages = 1 }
    r.base = o.storage and k:smem_tile { name = "base", dtype = "f32", tile = { 24, 16 }, pipeline = pipe } or false
    r.o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, o.columns or 6 }, storage = r.base or nil, pipeline = not r.base and pipe or nil }
    r.z = k:resource { name = "z", space = "gmem", bind = { y = r.y.tensor }, work = { look = weir.producer_work { params = "view from", code = ";", async_read = o.reads },
      bring = weir.producer_work { params = "view from", code = ";", tx_bytes = o.brings } } }
    if o.on then k:smem_tile { name = "on", dtype = "f32", tile = { 64, 6 }, storage = r.o } end
  end, { function(r)
    local moved = r.base or r.o
    moved:acquire(); r.o:store(1)
    if f then f(r) end
    moved:commit()
  end } })
end
narrow("a tile of threads", "", {})
narrow("which a body looks at", "", {}, function(r) r.z:look(r.o:read()) end)
local wants_16 = "PLAN-SWIZZLE: tile 'o': a row of 6 x 4 bytes = 24 is not a multiple of 16, which TMA needs; use 8 columns\n"
narrow("of 4-byte rows, which a register tile is set from", "", { columns = 1 }, function(r) r.k:reg_tile { name = "t", dtype = "f32", tile = { 64, 1 } }:set(r.o:read()) end)
narrow("in the bytes of another", wants_16, { storage = true })
narrow("whose bytes another has", wants_16 .. wants_16:gsub("'o'", "'on'"), { on = true })
narrow("which a body reads as the async proxy does", wants_16, { reads = true }, function(r) r.z:look(r.o:read()) end)
narrow("beside which a body brings bytes", wants_16 .. "PLAN-UNSUPPORTED: task 't1': z:bring brings bytes that no pipeline counts\n", { brings = 64 }, function(r) r.z:bring(r.o:read()) end)
refuses("a resource's tile that no swizzle fits", "PLAN-SWIZZLE: tile 'z': swizzle 64: a row of 6 x 4 bytes = 24 is not a multiple of the span; use swizzle = 0, or 16 columns\n", kernel { with = function(k, r)
  r.z = k:resource { name = "z", space = "smem", dtype = "f32", tile = { 64, 6 }, swizzle = 64, pipeline = P.async_async { stages = 1 }, work = { fill = weir.producer_work { code = ";" } } }
end, { function(r) r.z:acquire(); r.z:fill(); r.z:commit() end } })
-- Two tasks each store a slab of 8 rows of 24 bytes: the proof knows where those lie.
for _, case in ipairs { { 0, "UNSAFE" }, { 1, "SAFE" } } do
  local second, want = case[1], case[2]
  local k = weir.kernel { name = "slabs", arch = "sm_90a" }
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 2, 8, 6 }, pipeline = P.async_async { stages = 1 } }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 2, 8, 6 }, out = true }, tile = { 2, 8, 6 } }
  for i, slab in ipairs { 0, second } do
    k:task { name = "fill" .. i, warps = { i, 1 }, schedule = function() o:acquire(); o:store(i, o:sub(slab)); o:commit() end }
  end
  k:task { name = "take", warps = { 4, 4 }, schedule = function() o:wait(); y:store(o:read(), y:at(0, 0, 0)); o:release() end }
  local report = k:verify()
  if not tap.is(want, report.proof.verdict, "two tasks store slabs 0 and " .. second .. " of a tile of threads") then tap.diag(report.text) end
end
-- A ring of threads, read by threads, in an alias group with `mate`; `far` is in another, or in none. Its release fences where TMA fills its bytes again.
local function refilled(name, want, mate, far, apart)
  local k = kernel { with = function(k, r)
    local function tile(n, pipe) return k:smem_tile { name = n, dtype = "f32", tile = { 64, 64 }, pipeline = pipe { stages = 1 } } end
    r.o = tile("o", P.async_async)
    k:alias { { r.o }, { tile("mate", mate) } }
    local f = tile("far", far)
    if apart then k:alias { { f }, { tile("farther", P.async_async) } } end
  end, { function(r) r.o:acquire(); r.o:store(1); r.o:commit() end }, { function(r) r.o:wait(); r.y:store(r.o:read(), r.y:at(0, 0)); r.o:release() end } }
  local why, p = planned(k)
  local n = 0
  for _, a in ipairs(p and lab.rows(p, "action", "kind") or {}) do if a.kind == "fence_async" then n = n + 1 end end
  tap.is(want, p and n or why, name)
end
refilled("threads alone fill the bytes of a ring", 0, P.async_async, P.async_async)
refilled("TMA fills them again, as its mate's", 1, P.tma_async, P.async_async)
refilled("TMA fills others", 0, P.async_async, P.tma_async)
refilled("TMA fills those of another group", 0, P.async_async, P.tma_async, true)
-- Registers beside mathematics: of a task of six warps that only waits, and of what copies; { 240 or so, 128, ... } by task.
local function beside_math(name, want, waits, copies)
  local _, p = planned(kernel { with = function(k, r) r.c = k:smem_tile { name = "c", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_async { stages = 1 } } end,
    { function(r) r.k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } }:zero() end },
    { warps = waits, function(r) r.s:wait(); r.s:release() end },
    { warps = copies, function(r) r.c:acquire(); r.c:cp_async(r.x:at(0, 0)); r.c:commit() end } })
  local seen = {}
  for i, t in ipairs(p and lab.rows(p, "tasks", "registers") or {}) do seen[i] = t.registers end
  tap.is(want, seen, name)
end
beside_math("a task that shares a warpgroup with what copies has as many registers in all of its own", { 240, 128, 128 }, { 4, 6 }, { 10, 2 })
beside_math("what copies in two warpgroups has one number", { 224, 32, 128 }, { 4, 4 }, { 8, 8 }) -- of 4 x 128

-- ---- tiles that TMA stores: one warpgroup, or several -----------------------------------------------------------------------------------------------------
-- What each task does: f fills, w waits, s stores, r releases.
local function staged(list)
  local k = weir.kernel { name = "k", arch = "sm_90a" }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 256, 256 }, out = true }, tile = { 64, 64 } }
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 2 } }
  for i, what in ipairs(list) do
    k:task { name = "t" .. i, warps = { 4 * i, what:find "1" and 1 or 4 }, schedule = function()
      if what:find "f" then o:acquire(); o:store(1); o:commit() end
      if what:find "w" then o:wait() end
      if what:find "s" then y:tma_store(o:read(), y:at(0, 0)) end
      if what:find "r" then o:release() end
    end }
  end
  return k
end
local function o_bars(full, empty) return { "o_full: " .. full, "o_empty: " .. empty } end
counts("one warpgroup fills and stores: no mbarrier", {}, staged { "fwsr" })
counts("one warp does", o_bars("1, 1 warp", "1, 1 warp"), staged { "1fwsr" })
counts("one fills, a warp stores", o_bars("4, 4 warps", "1, 1 warp"), staged { "f", "1wsr" })
counts("two fill", o_bars("8, 8 warps", "1, 1 warpgroup"), staged { "f", "fwsr" })
counts("two store", o_bars("4, 4 warps", "2, 2 warpgroups"), staged { "fwsr", "wsr" })
counts("another waits", o_bars("4, 4 warps", "1, 1 warpgroup"), staged { "fwsr", "w" })
counts("nobody fills", o_bars("1, nobody", "1, 1 warpgroup"), staged { "wsr" })

-- ---- v = 2: groups ------------------------------------------------------------------------------------------------------------------------------------------
local function twins(mode, a, b, want)
  local k, m = weir.kernel { name = "p", arch = "sm_100a", cluster = { v = 2 } }, {}
  for i, type in ipairs { a, b } do
    local pipe = P[type] { stages = 2 }
    m[i] = type == "umma_async" and k:tmem_tile { name = "m" .. i, tile = { 128, 64 }, pipeline = pipe } or k:smem_tile { name = "m" .. i, dtype = "bf16", tile = { 64, 64 }, pipeline = pipe }
  end
  k:group { name = "g", mode = mode, members = m }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() end }
  refuses(("%s of %s and %s, v = 2"):format(mode, a, b), want and "PLAN-UNSUPPORTED: group 'g': with v = 2 the " .. want .. "\n" or "", k)
end
twins("merge", "tma_umma", "async_umma")
twins("merge", "umma_async", "umma_async")
twins("merge", "umma_async", "tma_async", "empty barriers of 'm1' (umma_async) are the leader CTA's, those of 'm2' (tma_async) each CTA's own")
twins("merge", "async_async", "umma_async", "empty barriers of 'm1' (async_async) are each CTA's own, those of 'm2' (umma_async) the leader CTA's")
twins("fork", "umma_async", "umma_async")
twins("fork", "tma_umma", "tma_async", "full barriers of 'm1' (tma_umma) are the leader CTA's, those of 'm2' (tma_async) each CTA's own")
twins("fork", "tma_async", "tma_umma", "full barriers of 'm1' (tma_async) are each CTA's own, those of 'm2' (tma_umma) the leader CTA's")
twins("fused_merge", "tma_umma", "async_umma")

-- ---- copies into another CTA ----------------------------------------------------------------------------------------------------------------------------------
-- o: cluster, arch, pipe, tiles: the loops are over work tiles. A row a task: one that pushes, { { place, k }, ... }, cta, warps, when(k, q, i): its
-- guard, math: it works on registers, lane, from, step; or one that takes: get = true.
local function pushes(o)
  local k = weir.kernel { name = "push", arch = o.arch or "sm_90a", cluster = o.cluster or { k = 3 } }
  local q, at = k:scalar { name = "q", dtype = "i32" }, 0
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { 4 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = { 3, 8, 32 }, pipeline = P.tma_async(o.pipe or { stages = 1 }) }
  local w = k:wgmma_tile { name = "w", tile = { 64, 64 } }
  for j, t in ipairs(o) do
    local warps = t.warps or 1
    k:task { name = "t" .. j, warps = { at, warps }, cta = t.cta, schedule = function()
      local function push_or_take(i, tile)
        if t.math then w:zero() end
        if t.get then b:wait(); b:release() return end
        b:acquire()
        for _, p in ipairs(t) do b:push(a:read(), p[1](b, i, tile), { k = p[2] }) end
        b:commit()
      end
      local when = t.when or function(_, _, i) return weir.when_true(weir.ge(i, 0)) end
      if o.tiles then for tile in weir.work_tile_loop(wq, t.lane and { lane = t.lane, lanes = 2 } or nil) do push_or_take(0, tile); wq:next() end
      else for i in weir.domain_loop(t.from or 0, 8, t.step or 1) do for _ in when(k, q, i) do push_or_take(i) end end end
    end }
    at = at + 4 * ((warps + 3) // 4)
  end
  return k
end
local function pushed(name, want, o) -- what the plan says of the pushes first; a stage that nobody can fill is a finding that follows
  local why, p = planned(pushes(o))
  tap.is(want, p and "" or (why:match "PLAN%-PUSH: ([^\n]*)" or why), name)
end
local function slab(n) return function(b) return b:sub(n) end end
local by_step = function(b, i) return b:sub(i % 3) end
local element = function(b) return b:sub(0):sub(1):sub(2) end
local one, two, get = { k = 1 }, { k = 2 }, { get = true, cta = { k = 0 } }
pushed("one slab", "", { { cta = one, { slab(0), 0 } }, get })
pushed("the CTA of m = 1, k = 1 of 2 x 2 x 2", "b:push of CTA 5 goes to that CTA itself (k = 1)", { cluster = { m = 2, n = 2, k = 2 }, { cta = { m = 1, n = 0, k = 1 }, { slab(0), 1 } } })
pushed("that of n = 1, k = 1", "b:push of CTA 6 goes to that CTA itself (k = 1)", { cluster = { m = 2, n = 2, k = 2 }, { cta = { m = 0, n = 1, k = 1 }, { slab(0), 1 } } })
pushed("that of v = 1, k = 1", "b:push of CTA 3 goes to that CTA itself (k = 1)", { arch = "sm_100a", cluster = { v = 2, k = 2 }, { cta = { v = 1, k = 1 }, { slab(0), 1 } } })
pushed("a guard that must not hold, by CTA 1 alone", "", { { when = function(k) return weir.when_false(weir.ne(k.cta.k, 1)) end, { slab(0), 0 } }, get })
pushed("one by CTAs 1 and 2", "b:push of CTA 2 writes where a push of CTA 1 does, in CTA 0", { { when = function(k) return weir.when_false(weir.eq(k.cta.k, 0)) end, { slab(0), 0 } }, get })
pushed("a guard of the loop says nothing of CTAs", "", { { cta = one, when = function(_, _, i) return i:first_iter() end, { slab(0), 0 } }, get })
pushed("nor does one by a key", "b:push of CTA 0 goes to that CTA itself (k = 0)",
  { { when = function(k) return weir.when_true(weir.eq(k.cta.k, 1), { key = "x" }) end, { slab(0), 0 } }, get })
pushed("nor one of an argument", "b:push of CTA 0 goes to that CTA itself (k = 0)", { { when = function(_, q) return weir.when_true(weir.gt(q, 1)) end, { slab(0), 0 } }, get })
pushed("a CTA in front of the first", "b:push of CTA 1 goes to k = -1, which is -1", { { cta = one, { slab(0), -1 } }, get })
local unknown = "b:push shares a stage with other pushes, and where it writes does not follow from the CTA alone"
pushed("a slab by the step, then another", unknown, { { cta = one, { by_step, 0 }, { slab(1), 0 } }, get })
pushed("a slab, then one by the step", unknown, { { cta = one, { slab(1), 0 }, { by_step, 0 } }, get })
pushed("an element, then a slab", unknown, { { cta = one, { element, 0 }, { slab(1), 0 } }, get })
pushed("two slabs of one CTA", "", { { cta = one, { slab(0), 0 }, { slab(1), 0 } }, get })
pushed("the other way round", "", { { cta = one, { slab(1), 0 }, { slab(0), 0 } }, get })
refuses("a work tile as the place", "PLAN-TX: task 't1': b:acquire opens a stage that no copy fills\nPLAN-VIEW: task 't1': b:push goes to something that is no slab of its own tile\n",
  pushes { tiles = true, { cta = one, { function(_, _, tile) return tile end, 0 } }, get })
refuses("a cluster of 32", "PLAN-CLUSTER: kernel 'push' has a cluster of 32 CTAs; at most 8 are portable\nPLAN-TX: task 't1': b:acquire opens a stage that no copy fills\n",
  pushes { cluster = { m = 4, n = 4, k = 2 }, { cta = one, { slab(0), 0 } }, get })
local turns = "b:push fills stages that lanes take in turn"
pushed("senders take work tiles in turn", turns, { tiles = true, { lane = 0, cta = one, { slab(0), 0 } }, { lane = 1, cta = one, { slab(0), 0 } }, get })
pushed("receivers do", turns, { tiles = true, { cta = one, { slab(0), 0 } }, { get = true, lane = 0, cta = { k = 0 } }, { get = true, lane = 1, cta = { k = 0 } } })
pushed("senders' loops do", turns, { pipe = { stages = 2, interleave = { 2, 2, 1, 1 } }, { step = 2, cta = one, { slab(0), 0 } }, { from = 1, step = 2, cta = one, { slab(0), 0 } }, get })
pushed("receivers' loops do", turns, { pipe = { stages = 2, interleave = { 1, 1, 2, 2 } }, { cta = one, { slab(0), 0 } }, get })
pushed("one slab of one CTA, two of another", "b:push brings 1024 bytes from CTA 1 and 2048 from CTA 2", { { cta = one, { slab(0), 0 } }, { cta = two, { slab(1), 0 }, { slab(2), 0 } }, get })
local first = { stages = 1, producer_signaling = "task_warp_leader" }
pushed("two tasks of one CTA, of which the second is larger", "", { pipe = first, { cta = one, { slab(0), 0 } }, { cta = one, warps = 2, { slab(1), 0 } }, get })
pushed("of which the first is", "", { pipe = first, { cta = one, warps = 2, { slab(0), 0 } }, { cta = one, { slab(1), 0 } }, get })
refuses("warps beside a warpgroup", "PLAN-PUSH: 'b' is filled by 4 warps of 1 task in CTA 1, by 4 warps of 1 task by warpgroups in CTA 2\n",
  pushes { pipe = first, { cta = one, warps = 4, { slab(0), 0 } }, { cta = two, warps = 4, math = true, { slab(2), 0 } }, get })
refuses("two tasks beside one of as many warps", "PLAN-PUSH: 'b' is filled by 2 warps of 2 tasks in CTA 1, by 2 warps of 1 task in CTA 2\n",
  pushes { pipe = first, { cta = one, { slab(0), 0 } }, { cta = one, { slab(1), 0 } }, { cta = two, warps = 2, { slab(1), 1 }, { slab(2), 1 } }, { get = true, cta = { k = 0 } }, { get = true, cta = one } })
refuses("other warps empty it", "PLAN-PUSH: 'b' is emptied by 1 warp of 1 task in CTA 0, by 2 warps of 1 task in CTA 1\n",
  pushes { { cta = one, { slab(0), 0 } }, { cta = two, { slab(0), 1 } }, get, { get = true, cta = one, warps = 2 } })

-- ---- the tensor core of sm_100a ---------------------------------------------------------------------------------------------------------------------------
local function beside(more, warps)
  local k, r = s100.gemm { group = "none" }
  k:task { name = "more", warps = warps or { 12, 8 }, schedule = function() more(r, k:reg_tile { name = "t", dtype = "f32", tile = { 128, 64 } }) end }
  return k
end
local function read(r) r.acc:wait(); r.acc:read(); r.acc:read(); r.acc:release() end
refuses("eight warps read sums", "PLAN-WARPS: task 'more' reads 'acc' in tensor memory and has warps 12 to 19\n", beside(read))
refuses("four that begin inside a warpgroup", "PLAN-WARPS: task 'more' reads 'acc' in tensor memory and has warps 14 to 17\n", beside(read, { 14, 4 }))
refuses("eight warps issue for the tensor core beside their own work",
  "PLAN-UNSUPPORTED: task 'more' issues for the tensor core ('acc') beside work of its threads and has 8 warps\nPLAN-ZERO: adds to 'acc', which may never have been zeroed or set\n",
  beside(function(r, t) t:zero(); r.acc:acquire(); r.acc:mma(r.a:read(), r.b:read()); r.acc:commit() end))
refuses("eight warps move stages of sums beside it",
  "PLAN-UNSUPPORTED: task 'more' issues for the tensor core ('acc') beside work of its threads and has 8 warps\nPLAN-ZERO: commits 'acc' where no mma may have followed the acquire: tensor memory would still hold old sums\n",
  beside(function(r, t) t:zero(); r.acc:acquire(); r.acc:commit() end))
do
  local k = weir.kernel { name = "t", arch = "sm_100a" }
  k:tmem_tile { name = "p", tile = { 128, 64 }, pipeline = P.umma_async { stages = 2 } }
  refuses("tensor memory, no tasks", "PLAN-WARPS: kernel 't' has no tasks; a CTA has 1 to 32 warps\n", k)
  k:task { name = "t", warps = { 3, 1 }, schedule = function() end }
  local _, p = planned(k)
  tap.is({ 128, "if (warp == 3) w_tmem_free(tmem, 128);" }, p and { plan.get(p, "smem", 0, "size"), lab.statement(plan.emit(p), lab.action(p, "tmem_free")) }, "nothing but tensor memory: the first task's warp frees it")
end
-- A value of what f makes of a stage of 256 columns and a body's return is stored; what the source says of it.
local function stores(name, f, ...)
  local k = weir.kernel { name = "t", arch = "sm_100a" }
  local t = k:tmem_tile { name = "p", tile = { 128, 256 }, pipeline = P.umma_async { stages = 2 } }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 128, 8 }, out = true }, tile = { 128, 8 } }
  local z = k:resource { name = "z", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 2 },
    work = { use = weir.consumer_work { code = "v = 2.f;", returns = "uniform f32 v" } } }
  k:task { name = "s", warps = { 0, 4 }, schedule = function() t:wait(); z:wait(); y:store(f(t:read(), z), y:at(0, 0)); z:release(); t:release() end }
  local why, p = planned(k)
  tap.is("", why, name)
  for _, text in ipairs { ... } do tap.like(text, p and plan.emit(p) or "", name .. ": " .. text) end
end
local function parts(n) return function(r) local s = 0 for i = 0, n - 1 do s = s + r:cols(8 * i, 8):load() end return s end end
stores("a part twice", function(r) local v = r:cols(8, 8):load() return v + v end, "y[i] = (__uint_as_float(x0[j + i]) + __uint_as_float(x0[j + i]));")
stores("a part and a body's return", function(r, z) return r:cols(0, 8):load() * z:use() end, "y[i] = (__uint_as_float(x0[j + i]) * v")
stores("sixteen parts", parts(16), " + __uint_as_float(x15[j + i]));")
stores("seventeen parts", parts(17), "const u32 t16 = p_tmem + p_at * 256 + 128 + (quarter * 32 << 16);", "w_tmem_wait_ld<8>(x15);", " + __uint_as_float(x16[j + i]));")
-- Does a loop of so many steps run at least once?
local function zero(name, limits, steps)
  refuses(name .. " steps: none is sure", "PLAN-ZERO: commits 'acc' where no mma may have followed zero(): tensor memory would still hold old sums\n",
    s100.gemm { steps = function(_, k) return steps(k:dim("S", limits)) end })
end
zero("(S + -4) S", { min = 1 }, function(S) return (S + -4) * S end)
zero("S (S + -4)", { min = 1 }, function(S) return S * (S + -4) end)
zero("S // -2", { min = 1 }, function(S) return S // -2 end)
zero("S S S, more than is counted", { min = 2147483647 }, function(S) return S * S * S end)
zero("2 S S + 2 S S, more than is counted", { min = 2147483647 }, function(S) return S * S * 2 + (S * S * 2 + S) end)
for _, o in ipairs { { "from an argument on", "q", 1 }, { "by an argument", 0, "q" }, { "downwards", 9, -1 } } do
  local k = weir.kernel { name = "t", arch = "sm_100a" }
  local q = k:scalar { name = "q", dtype = "i32" }
  local function ring(name) return k:smem_tile { name = name, dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } } end
  local a, b, acc, n = ring "a", ring "b", k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }, k:dim("N", { min = 1 })
  k:task { name = "m", warps = { 4, 1 }, schedule = function()
    acc:acquire(); acc:zero()
    for _ in weir.domain_loop(o[2] == "q" and q or o[2], n, o[3] == "q" and q or o[3]) do a:wait(); b:wait(); acc:mma(a:read(), b:read()); a:release(); b:release() end
    acc:commit()
  end }
  refuses("a loop " .. o[1], "PLAN-ZERO: commits 'acc' where no mma may have followed zero(): tensor memory would still hold old sums\n", k)
end
-- One mma. o: v, a, b (dtypes), at, bt, st, acc (tiles), sums: a is what another mma left, t: transposed, as_b: b is.
local function mma(name, want, o)
  local k = weir.kernel { name = "t", arch = "sm_100a", cluster = { v = o.v or 1 } }
  local function ring(n, dtype, tile) return k:smem_tile { name = n, dtype = dtype, tile = tile, swizzle = 128, pipeline = P.tma_umma { stages = 1 } } end
  local a, b = ring("a", o.a or "bf16", o.at or { 128, 64 }), ring("b", o.b or "bf16", o.bt or { 64, 64 })
  local s = k:tmem_tile { name = "s", tile = o.st or { 128, 64 }, pipeline = P.umma_umma { stages = 1 } }
  local acc = k:tmem_tile { name = "acc", tile = o.acc or { 128, 64 }, pipeline = P.umma_async { stages = 1 } }
  k:task { name = "m", warps = { 4, 1 }, schedule = function()
    acc:acquire(); acc:zero(); a:wait(); b:wait()
    if o.sums then
      s:acquire(); s:zero(); s:mma(a:read(), b:read()); s:commit()
      s:wait(); acc:mma(o.t and s:read():t() or s:read(), b:read()); s:release()
    else acc:mma(a:read(), o.as_b and s:read() or b:read()) end
    a:release(); b:release(); acc:commit()
  end }
  refuses("an mma: " .. name, want, k)
  return k
end
local square = { 64, 64 }
mma("as it should be", "", {})
tap.like("acc:mma: a is bf16, b is tf32", mma("operands of two kinds, which validation refuses", "", { b = "tf32" }):verify().text, "it does")
mma("a tile that has no layout", "PLAN-SWIZZLE: tile 'a': swizzle 128: a row of 60 x 2 bytes = 120 is not a multiple of the span; use swizzle = 0, or 64 columns\n", { at = { 128, 60 } })
mma("f32", "PLAN-TILE: mma into 'acc' { 128, 64 }: dtype f32 is no operand of an mma; use bf16, f16, tf32, e4m3 or e5m2\n", { a = "f32" })
mma("sums as b", "PLAN-TILE: mma into 'acc' { 128, 64 }: dtype f32 is no operand of an mma; use bf16, f16, tf32, e4m3 or e5m2\n", { as_b = true })
mma("sums as a", "", { sums = true, a = "tf32", b = "tf32" })
mma("sums as a beside bf16", "PLAN-TILE: mma into 'acc' { 128, 64 }: a is the f32 sums of 's' and b is bf16; only tf32 can follow. Else let threads convert: umma_async, then async_umma\n", { sums = true })
mma("sums as a, transposed", "PLAN-TILE: mma into 'acc' { 128, 64 }: a lies in tensor memory and cannot be transposed\n", { sums = true, t = true, a = "tf32", b = "tf32" })
mma("sums of 64 rows as a", "PLAN-TILE: mma into 'acc' { 64, 64 }: a lies in tensor memory with 64 rows; there it takes all 128 lanes\n", { sums = true, a = "tf32", b = "tf32", at = square, st = square, acc = square })
mma("sums of 128 rows as a, of 64 rows", "PLAN-TILE: mma into 'acc' { 64, 64 }: a lies in tensor memory with 128 rows; there it takes all 128 lanes\n", { sums = true, a = "tf32", b = "tf32", acc = square })
mma("sums as a, v = 2", "", { v = 2, sums = true, a = "tf32", b = "tf32", bt = { 32, 64 } })

-- ---- the plan, printed; what each line became ------------------------------------------------------------------------------------------------------------------
local function prints(name, text, ...)
  for _, line in ipairs { ... } do tap.like(line, text:gsub(" +", " "), name .. ": " .. line) end
end
do
  local k = s100.gemm { v = 2, cluster = { 2, 1 } }
  prints("v = 2", k:print "plan", "bulk_issue ab_full [ab held] bytes 2048 targets m at the leader by one", "expect_tx ab_full [ab next] arrivals 1 bytes 32768 leader only by one",
    "tcgen05_commit ab_empty [ab close] arrivals 1 targets mv leader only by one", "tcgen05_commit acc_full [acc close] arrivals 1 targets v leader only by one")
  prints("v = 2, the lines", k:verify().text, "1 box, 16384 bytes to ab_full of the leader CTA\n", "1 box, 2048 bytes to ab_full of the leader CTA of every pair served\n")
end
do
  local k = kernel { with = function(k, r) r.wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } } end, pipe = { stages = 3 },
    { warps = { 0, 1 }, function(r) for _ in weir.work_tile_loop(r.wq) do r.s:acquire(); r.s:tma_load(r.x:at(0, 0)); r.s:commit(); r.wq:next() end end },
    { function(r)
      for t in weir.work_tile_loop(r.wq, { skip = function(t) return weir.eq(t.i, 0) end }) do
        r.s:wait()
        for _ in t:skippable() do r.y:tma_store(r.s:read(1), r.y:at(0, 0)); r.y:drain() end
        r.s:release(); r.wq:next()
      end
    end } }
  prints("an earlier stage, in what may be skipped", k:print "plan", "\n skippable\n", "bulk_store [s held back] bytes 16384 by one")
end
do
  local k = weir.kernel { name = "c", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_async { stages = 3, producer_op = "load" } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, 4) do s:acquire(); s:cp_async(x:at(0, 0)); s:commit() end end }
  prints("cp.async", k:print "plan", "cp_async_wait 0 by threads -- the copies are done")
end
-- ---- lowering: copies --------------------------------------------------------------------------------------------------------------------------------------
-- One task that does f(r): what the plan says.
local function low(name, want, o, f)
  o[1] = { warps = o.warps, f }
  refuses(name, want, kernel(o))
end
local function gm(r, name, dtype, tile, out, shape) return r.k:gmem_tile { name = name, tensor = r.k:tensor { name = name:upper(), dtype = dtype, shape = shape or tile, out = out }, tile = tile } end
local function sm(r, name, dtype, tile, pipe, swizzle) return r.k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = swizzle, pipeline = pipe or P.tma_async { stages = 1 } } end
local function load(_, g, s, o) s:acquire() s:tma_load(g, o) s:commit() end
low("a release that keeps stages of a ring which another task opens", "PLAN-UNSUPPORTED: task 't1': ring:release keeps stages of a pipeline that this task does not open\n", {}, function(r) r.ring:release(2) end)
low("two stages held of one", "PLAN-HELD: task 't1' may hold 2 stages of 'ring' at once, which has 1\n", { ring = { stages = 1 } }, function(r) r.ring:wait() r.ring:wait() r.ring:use() r.ring:release() r.ring:release() end)
low("more than the sets count", "PLAN-HELD: task 't1' may hold more than 39 stages of 'ring' at once, which has 2\n", { ring = { stages = 2 } }, function(r) for _ = 1, 45 do r.ring:wait() end for _ = 1, 45 do r.ring:release() end end)
low("a load of a stage", "PLAN-VIEW: task 't1': b:tma_load loads something that is not a tile of a tensor\n", { warps = { 0, 1 } }, function(r) local s = sm(r, "b", "f32", { 64, 64 }) s:acquire() s:tma_load(r.s:read()) s:commit() end)
low("a load of what is transposed", "PLAN-UNSUPPORTED: task 't1': s:tma_load works on a part of a tile that no box can be (t, limit, or a single element)\n", { warps = { 0, 1 } }, function(r) load(r, r.x:at(0, 0):t(), r.s) end)
low("a load of what is limited", "PLAN-UNSUPPORTED: task 't1': s:tma_load works on a part of a tile that no box can be (t, limit, or a single element)\n", { warps = { 0, 1 } }, function(r) load(r, r.x:at(0, 0):limit(3), r.s) end)
low("a load of an element", "PLAN-UNSUPPORTED: task 't1': s:tma_load works on a part of a tile that no box can be (t, limit, or a single element)\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 4, 8 }):at(0, 0):sub(1):sub(2), r.s) end)
low("a load from a column off 16 bytes", "PLAN-ALIGN: a box of 'g' begins at column 2 of its tile, off 16 bytes\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 64, 128 }):at(0, 0):cols(2, 64), r.s) end)
low("a load of other columns", "PLAN-TILE: copies tiles { 64, 32 } of 'g' into stages { 64, 64 } of 's'\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 64, 32 }):at(0, 0), r.s) end)
low("a load of other rows", "PLAN-TILE: copies tiles { 32, 64 } of 'g' into stages { 64, 64 } of 's'\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 32, 64 }):at(0, 0), r.s) end)
low("a load of another dtype", "PLAN-DTYPE: copies 'g' of f16 into 's' of f32\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f16", { 64, 64 }):at(0, 0), r.s) end)
low("a load of f32 as tf32", "", { warps = { 0, 1 }, dtype = "tf32" }, function(r) load(r, gm(r, "g", "f32", { 64, 64 }):at(0, 0), r.s) end)
low("a load of tf32 as f32", "", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "tf32", { 64, 64 }):at(0, 0), r.s) end)
low("a load into a tile without a pipeline", "PLAN-UNSUPPORTED: task 't1': b:tma_load brings bytes that no pipeline counts\n", { warps = { 0, 1 } }, function(r) local s = r.k:smem_tile { name = "b", dtype = "f32", tile = { 64, 64 } } s:tma_load(r.x:at(0, 0)) end)
low("a load: one row for two CTAs", "PLAN-MULTICAST: cuts tiles { 1, 64 } of 'g' into 2 slices, one a CTA\n", { warps = { 0, 1 }, cluster = { m = 2 } }, function(r) load(r, gm(r, "g", "f32", { 1, 64 }):at(0, 0), sm(r, "b", "f32", { 1, 64 }), { multicast = "m" }) end)
low("a load: seven rows for two CTAs", "PLAN-MULTICAST: cuts tiles { 7, 64 } of 'g' into 2 slices, one a CTA\n", { warps = { 0, 1 }, cluster = { m = 2 } }, function(r) load(r, gm(r, "g", "f32", { 7, 64 }):at(0, 0), sm(r, "b", "f32", { 7, 64 }), { multicast = "m" }) end)
low("a load: 512 rows: two boxes", "", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 512, 8 }):at(0, 0), sm(r, "b", "f32", { 512, 8 })) end)
low("a load: 257 rows: no equal boxes", "PLAN-BOX: the tile of 'g' has 257 rows of 32 bytes, too many for one box\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 257, 8 }):at(0, 0), sm(r, "b", "f32", { 257, 8 })) end)
low("a load: two slabs of 512 rows", "PLAN-BOX: task 't1': b:tma_load has a tile whose box would be longer than 256 elements\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 2, 512, 8 }):at(0, 0, 0), sm(r, "b", "f32", { 2, 512, 8 })) end)
low("a load: 512 columns in plain rows", "PLAN-SWIZZLE: tile 'b': 512 columns without swizzle: a TMA box has at most 256; use swizzle = 128, which keeps the tile as panels\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 8, 512 }):at(0, 0), sm(r, "b", "f32", { 8, 512 })) end)
low("a load: one row of 512", "", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 1, 512 }):at(0, 0), sm(r, "b", "f32", { 1, 512 })) end)
low("a load: one of 1036: no equal boxes", "PLAN-BOX: the tile of 'g' has 1036 columns of 4 bytes, too many for one box\n", { warps = { 0, 1 } }, function(r) load(r, gm(r, "g", "f32", { 1, 1036 }):at(0, 0), sm(r, "b", "f32", { 1, 1036 })) end)
low("a bulk store of no stage", "PLAN-VIEW: task 't1': y:tma_store stores something that is not a stage in shared memory\n", {}, function(r) r.y:tma_store(r.x:at(0, 0), r.y:at(0, 0)) end)
local function st(r, view) local s = sm(r, "o", "f32", { 64, 64 }, P.async_tma { stages = 1 }, 128) s:acquire() s:store(1) s:commit() s:wait() r.y:tma_store(view(s:read()), r.y:at(0, 0)) s:release() end
low("a bulk store of what is transposed", "PLAN-TILE: task 't1': y:tma_store stores a part of 'o' that is transposed, limited, or a single element\n", {}, function(r) st(r, function(v) return v:t() end) end)
low("a bulk store of what is limited", "PLAN-TILE: task 't1': y:tma_store stores a part of 'o' that is transposed, limited, or a single element\n", {}, function(r) st(r, function(v) return v:limit(3) end) end)
low("a bulk store of rows inside an atom", "PLAN-TILE: task 't1': y:tma_store stores a part of 'o' that begins inside an atom of the swizzle, which is 8 rows\n", { out = { 8, 64 } }, function(r) st(r, function(v) return v:rows(4, 8) end) end)
low("a bulk store of half a panel", "PLAN-TILE: task 't1': y:tma_store stores a part of 'o' that takes columns that are no whole swizzle spans\n", { out = { 64, 16 } }, function(r) st(r, function(v) return v:cols(16, 16) end) end)
low("a bulk store of a panel", "", { out = { 64, 32 } }, function(r) st(r, function(v) return v:cols(32, 32) end) end)
low("a bulk store of a part, by two warpgroups", "PLAN-TILE: task 't1': y:tma_store stores a part of 'o' that is taken by several warpgroups, each of which stores its share of the whole\n", { out = { 8, 64 }, warps = { 0, 8 } }, function(r) st(r, function(v) return v:rows(8, 8) end) end)
low("a bulk store of 64 rows, by two warpgroups", "PLAN-TILE: task 't1': y:tma_store stores a stage that does not divide among the task's warpgroups\n", { warps = { 0, 8 } }, function(r) st(r, function(v) return v end) end)
low("cp.async of a stage", "PLAN-VIEW: task 't1': b:cp_async copies something that is not a tile of a tensor\n", {}, function(r) local s = sm(r, "b", "f32", { 64, 64 }, P.async_async { stages = 1 }) s:acquire() s:cp_async(r.s:read()) s:commit() end)
low("cp.async of a part", "PLAN-UNSUPPORTED: task 't1': b:cp_async works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", {}, function(r) local s = sm(r, "b", "f32", { 64, 64 }, P.async_async { stages = 1 }) s:acquire() s:cp_async(r.x:at(0, 0):rows(0, 8)) s:commit() end)
low("cp.async of other columns", "PLAN-BOX: task 't1': b:cp_async copies rows that are no whole 16-byte pieces\n", {}, function(r) local s = sm(r, "b", "f32", { 64, 64 }, P.async_async { stages = 1 }) s:acquire() s:cp_async(gm(r, "g", "f32", { 64, 32 }):at(0, 0)) s:commit() end)
low("cp.async from anywhere", "PLAN-BOX: task 't1': b:cp_async copies rows that are no whole 16-byte pieces\n", {}, function(r) local s = sm(r, "b", "f32", { 64, 64 }, P.async_async { stages = 1 }) s:acquire() s:cp_async(r.x:from(0, 0)) s:commit() end)
tap.done()
