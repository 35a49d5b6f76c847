#!/usr/bin/env lua5.4
-- What Lua can see by itself is raised at the author's line, with the nearest name.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- A small kernel to make mistakes in.
local function parts()
  local k = weir.kernel { name = "t", arch = "sm_90a" }
  local M, K = k:dim "M", k:dim "K"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
  local D = k:tensor { name = "D", dtype = "bf16", shape = { M, K }, out = true }
  return {
    k = k, M = M, K = K, A = A, D = D,
    ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } },
    gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 64 } },
    a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 2 } },
    b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 2 } },
    acc = k:wgmma_tile { name = "acc", tile = { 64, 64 } },
    wq = k:work_queue { name = "wq", over = D, tile = { 64, 64 } },
  }
end

-- f(parts) raises `wanted`, at the line where `f` says `local here = line()`.
local here
local function line() here = debug.getinfo(2, "l").currentline end
local function mistake(name, wanted, f)
  here = nil
  local ok, err = pcall(f, parts())
  if ok then return tap.ok(false, name .. ": nothing raised") end
  tap.like(wanted, err, name)
  tap.is(("%s:%d: "):format("t/lua_mistakes.t", here), tostring(err):match "^.-:%d+: ", name .. ": at the line")
end

-- The same inside a schedule.
local function in_schedule(name, wanted, f)
  mistake(name, wanted, function(p)
    p.k:task { name = "t", warps = { 0, 4 }, schedule = function() f(p) end }
  end)
end

-- Names of fields.
mistake("field one letter short", "k:smem_tile: unknown field 'swizle'; did you mean 'swizzle'?", function(p)
  line() p.k:smem_tile { name = "x", dtype = "bf16", tile = { 64, 64 }, swizle = 128 }
end)
mistake("field with letters swapped", "k:work_queue: unknown field 'exetnt'; did you mean 'extent'?", function(p)
  line() p.k:work_queue { name = "x", axes = { "i" }, exetnt = { 4 } }
end)
mistake("field like no other", "k:reg_tile: unknown field 'colour'; there are name, dtype, tile", function(p)
  line() p.k:reg_tile { name = "x", colour = 3 }
end)
mistake("field of a pipeline", "weir.pipeline.tma_async: unknown field 'stage'; did you mean 'stages'?", function()
  line() P.tma_async { stage = 4 }
end)
mistake("field of a task", "k:task: unknown field 'register'; did you mean 'registers'?", function(p)
  line() p.k:task { name = "x", warps = { 0, 1 }, register = 24, schedule = print }
end)
mistake("of several unknown fields the first by name", "unknown field 'aa'", function(p)
  line() p.k:reg_tile { zz = 1, aa = 2, name = "x" }
end)
mistake("a list where names are wanted", "options are given by name, but one has the key 1", function(p)
  line() p.k:reg_tile { "x" }
end)

-- Types of fields.
mistake("string for a number", "k:smem_tile: field 'swizzle' is a number, got string", function(p)
  line() p.k:smem_tile { name = "x", dtype = "bf16", tile = { 64, 64 }, swizzle = "128" }
end)
mistake("fraction for an integer", "field 'stages' is an integer, got 2.5", function()
  line() P.tma_async { stages = 2.5 }
end)
mistake("no name", "k:tensor: needs name = a string", function(p)
  line() p.k:tensor { dtype = "bf16", shape = { p.M } }
end)
mistake("unknown dtype", "k:tensor: unknown dtype 'bf61'", function(p)
  line() p.k:tensor { name = "X", dtype = "bf61", shape = { p.M } }
end)
mistake("unknown dtype, the nearest", "did you mean 'bf16'?", function(p)
  line() p.k:tensor { name = "X", dtype = "bf1", shape = { p.M } }
end)
mistake("unknown arch", "weir.kernel: arch = 'sm_90b' is none of sm_80, sm_90a, sm_100a; did you mean 'sm_90a'?", function()
  line() weir.kernel { name = "x", arch = "sm_90b" }
end)
mistake("an arch without its own instructions", "weir.kernel: arch = 'sm_100' lacks tcgen05 and setmaxnreg, which ptxas has for sm_100a alone; write arch = \"sm_100a\"", function()
  line() weir.kernel { name = "x", arch = "sm_100" }
end)
mistake("unknown raster", "raster = 'rows' is none of row, column, grouped; did you mean 'row'?", function(p)
  line() p.k:work_queue { name = "x", over = p.D, tile = { 64, 64 }, raster = "rows" }
end)
mistake("tensor left out", "k:gmem_tile: needs tensor = a tensor of k:tensor, got nil", function(p)
  line() p.k:gmem_tile { name = "x", tile = { 64, 64 } }
end)
mistake("pipeline as a string", "'pipeline' comes from weir.pipeline", function(p)
  line() p.k:smem_tile { name = "x", dtype = "bf16", tile = { 64, 64 }, pipeline = "tma_async" }
end)
mistake("nil in a shape's place", "k:tensor: shape[2]: a value expected, got string", function(p)
  line() p.k:tensor { name = "X", dtype = "f32", shape = { p.M, "K" } }
end)
mistake("too many extents", "field 'tile' has 6 entries, at most 5 are possible", function(p)
  line() p.k:gmem_tile { name = "x", tensor = p.A, tile = { 1, 1, 1, 1, 1, 1 } }
end)
mistake("a tile's size is not a value", "k:gmem_tile: tile[1]: a plain integer expected, got weir.value", function(p)
  line() p.k:gmem_tile { name = "x", tensor = p.A, tile = { p.M, 64 } }
end)
mistake("task without a schedule", "k:task 'x': needs schedule = a function, got nil", function(p)
  line() p.k:task { name = "x", warps = { 0, 1 } }
end)
mistake("task without warps", "k:task 'x': needs warps = { first, count }", function(p)
  line() p.k:task { name = "x", schedule = print }
end)

-- Names of methods, members and axes.
mistake("function of the module", "weir has no 'ceildiv'; did you mean 'ceil_div'?", function()
  line() weir.ceildiv(1, 2)
end)
mistake("pipeline type", "weir.pipeline has no 'tma_asnyc'; did you mean 'tma_async'?", function()
  line() P.tma_asnyc { stages = 2 }
end)
mistake("method of a kernel", "kernel 't' has no method or field 'smem_tiles'; did you mean 'smem_tile'?", function(p)
  line() p.k:smem_tiles {}
end)
mistake("axis of the CTA", "k.cta has no axis 'x'; there are v, m, n, k and rank", function(p)
  line() return p.k.cta.x
end)
in_schedule("move misspelt", "smem_tile 'a' has no method or field 'aquire'; did you mean 'acquire'?", function(p)
  line() p.a:aquire()
end)
in_schedule("work misspelt", "smem_tile 'a' has no method or field 'tma_laod'; did you mean 'tma_load'?", function(p)
  line() p.a:tma_laod(p.ga:at(0, 0))
end)
in_schedule("method of another kind", "wgmma_tile 'acc' has no method or field 'acquire'", function(p)
  line() p.acc:acquire()
end)
in_schedule("member of a group", "group 'ab' has no member, method or field 'aa'; did you mean 'a'?", function(p)
  local ab = p.k:group { name = "ab", members = { p.a, p.b } }
  line() ab.aa:acquire()
end)
in_schedule("axis of a tile", "a work tile of queue 'wq' has no axis 'x'; it has m, n", function(p)
  for t in weir.work_tile_loop(p.wq) do
    line() local _ = t.x
  end
end)
in_schedule("method of a value", "a view has no method or field 'column'", function(p)
  line() p.ga:at(0, 0):column(1)
end)
in_schedule("guard of no loop index", "'first_iter' belongs to the index of a weir.domain_loop", function(p)
  line() p.M:first_iter()
end)
mistake("field of a tensor", "tensor 'A' has no field 'at' (views come from a k:gmem_tile)", function(p)
  line() p.A:at(0, 0)
end)
in_schedule("option of a load", "tma_load: unknown field 'multcast'; did you mean 'multicast'?", function(p)
  line() p.a:tma_load(p.ga:at(0, 0), { multcast = "m" })
end)
in_schedule("value of an option", "multicast = 'x' is none of none, m, n, mn", function(p)
  line() p.a:tma_load(p.ga:at(0, 0), { multicast = "x" })
end)
in_schedule("option of a loop", "weir.domain_loop: unknown field 'unrol'; did you mean 'unroll'?", function()
  line() weir.domain_loop(0, 4, { unrol = 2 })
end)

-- Comparisons and operators that Lua answers by itself.
mistake("<", "write weir.lt(a, b) or weir.gt(a, b)", function(p) line() return p.M < p.K end)
mistake("<=", "write weir.le(a, b) or weir.ge(a, b)", function(p) line() return p.M <= 3 end)
mistake(">", "write weir.lt(a, b) or weir.gt(a, b)", function(p) line() return p.M > 3 end)
mistake("==", "write weir.eq(a, b)", function(p) line() return p.M == p.K end)
mistake("..", "write tostring(value)", function(p) line() return p.M .. "" end)
mistake("#", "'#' of a value has no meaning", function(p) line() return #p.M end)
mistake("^", "'^' is no operator of values", function(p) line() return p.M ^ 2 end)
mistake("arithmetic on a string", "operand of +: a value expected, got string", function(p) line() return p.M + "x" end)
mistake("arithmetic on a register tile", "wgmma_tile 'acc' is a resource, not a value: write acc:read()", function(p) line() return p.acc * 2 end)
in_schedule("register tile for its value", "store: argument 1: wgmma_tile 'acc' is a resource: write acc:read() for its value", function(p)
  line() p.gd:store(p.acc, p.gd:at(0, 0))
end)
in_schedule("tensor tile for a place", "store: argument 2: gmem_tile 'gd' is a resource: write gd:at(...) for one of its tiles", function(p)
  line() p.gd:store(p.acc:read(), p.gd)
end)
in_schedule("nil from a misspelt variable", "tma_load: argument 1 is nil: a value expected", function(p)
  line() p.a:tma_load(nil)
end)
in_schedule("arithmetic on a work tile", "a work tile is a place, not a number: use its axis, tile.m", function(p)
  for t in weir.work_tile_loop(p.wq) do
    line() local _ = t + 1
  end
end)

-- Where things belong.
mistake("loop outside a schedule", "weir.domain_loop belongs inside the schedule of a task", function()
  line() for _ in weir.domain_loop(0, 4) do tap.ok(false, "not run") end
end)
mistake("work-tile loop over a tile", "weir.work_tile_loop: a work_queue expected, got smem_tile 'a'", function(p)
  line() weir.work_tile_loop(p.a)
end)
in_schedule("task in a task", "k:task 'u': inside the schedule of task 't'", function(p)
  line() p.k:task { name = "u", warps = { 4, 4 }, schedule = print }
end)
in_schedule("build in a schedule", "k:build: inside the schedule of task 't'", function(p)
  line() p.k:build()
end)
mistake("value of another kernel", "belongs to kernel 't' of t/lua_mistakes.t:", function(p)
  local other = weir.kernel { name = "other" }
  local N = other:dim "N"
  line() return N + p.M
end)
do -- kernels of one name are told apart by their lines
  local a = weir.kernel { name = "same" }
  local b = weir.kernel { name = "same" }
  local last = debug.getinfo(1, "l").currentline
  tap.raises(("operand of +: belongs to kernel 'same' of t/lua_mistakes.t:%d, not to 'same' of t/lua_mistakes.t:%d"):format(last - 1, last - 2),
    function() return a:dim "M" + b:dim "N" end, "value of another kernel of the same name")
end
mistake("pipeline without stages", "weir.pipeline.tma_async: stages is missing: how many copies of the tile there are, weir.pipeline.tma_async { stages = 2 }", function()
  line() return P.tma_async {}
end)
mistake("a cast that does not fit", "weir.cast: 300 does not fit i8", function() line() return weir.cast(300, "i8") end)
mistake("a cast of no number", "weir.cast: a value or a number expected, got string", function() line() return weir.cast("x", "i8") end)
mistake("call with a dot", "acquire: called on no value; write resource:acquire(...)", function(p)
  line() p.a.acquire()
end)
mistake("closed kernel", "the kernel is closed", function(p)
  p.k:close()
  line() p.k:dim "X"
end)
mistake("loop with four bounds", "got 4 bounds", function(p)
  p.k:task { name = "t", warps = { 0, 4 }, schedule = function()
    line() weir.domain_loop(0, 1, 2, 3)
  end }
end)
in_schedule("release of a negative number", "release(-2): how many of the newest stages to keep, 0 or more", function(p)
  line() p.a:release(-2)
end)
mistake("member that cannot be", "group 'ab': a member cannot be named 'wait'", function(p)
  local w = p.k:smem_tile { name = "wait", dtype = "bf16", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2 } }
  line() p.k:group { name = "ab", members = { p.a, w } }
end)
mistake("group of one resource twice", "group", function(p)
  p.k:group { name = "ab", members = { p.a, p.b } }
  line() p.k:group { name = "ba", members = { p.b, p.a } }
end)
mistake("work that is none", "work.f comes from weir.producer_work or weir.consumer_work", function(p)
  line() p.k:resource { name = "x", work = { f = "code" } }
end)
mistake("map of several returns", "'returns' by name has no order", function()
  line() weir.consumer_work { returns = { v = "f32", n = "i32" }, code = "" }
end)
mistake("two axes, one extent", "2 axes, but 1 entries in 'extent'", function(p)
  line() p.k:work_queue { name = "x", axes = { "i", "j" }, extent = { 4 } }
end)
mistake("raster of one coordinate too few", "the raster function gives 1 coordinates, the queue has 2 axes", function(p)
  line() p.k:work_queue { name = "x", axes = { "i", "j" }, extent = { 4, 4 }, raster = function(i) return i end }
end)

-- An error inside a schedule comes out as it is, closes the blocks, and the kernel cannot be built any more.
do
  local p = parts()
  local object = { "an error object" }
  local ok, err = pcall(p.k.task, p.k, { name = "t", warps = { 0, 4 }, schedule = function()
    for _ in weir.domain_loop(0, 4) do error(object) end
  end })
  tap.ok(not ok and rawequal(err, object), "an error in a schedule is handed on unchanged")
  local again = pcall(p.k.task, p.k, { name = "u", warps = { 4, 4 }, schedule = function()
    for _ in weir.domain_loop(0, 4) do p.a:acquire() end
  end })
  tap.ok(again, "and the next task is captured")
end

-- Numbers that a loop cannot count in.
for name, f in pairs { start = function(p) line() for _ in weir.domain_loop(-(1 << 32), p.M) do p.a:acquire() end end,
                       stop = function(p) line() for _ in weir.domain_loop((1 << 32) + 2) do p.a:acquire() end end,
                       step = function(p) line() for _ in weir.domain_loop(0, p.M, 1 << 33) do p.a:acquire() end end } do
  local p = parts()
  here = nil
  p.k:task { name = "t", warps = { 0, 1 }, schedule = function() f(p) end }
  local text = tostring(p.k:verify())
  tap.like(("t/lua_mistakes.t:%d: error: domain_loop: %s is "):format(here, name), text, "a loop's " .. name .. " past 32 bits: its place")
  tap.like("a number of 32 bits: loops count in them", text, "a loop's " .. name .. " past 32 bits")
end

tap.done()
