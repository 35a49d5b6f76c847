#!/usr/bin/env lua5.4
-- Bad input: each mistake in a script that is otherwise right gives a clear error at its line, leaves nothing half-built, and the right
-- script builds and runs after it.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan

local script = [=[
local weir, device = ...
local P, cd = weir.pipeline, weir.ceil_div
local k = weir.kernel { name = "gemm", arch = "sm_90a" }
local M, N, K = k:dim "M", k:dim "N", k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = D, tile = { 128, 128 } }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 128, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 128, 128 } }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 4 } }
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 4 } }
local acc = k:wgmma_tile { name = "acc", tile = { 128, 128 } }
local log = k:resource { name = "log", space = "gmem", bind = { D = D }, work = { say = weir.producer_work { params = "i32 row", code = [[
  if (tid == 0 && row < 0) D[0] = bf16(0.f);
]] } } }
k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
  for t in weir.work_tile_loop(wq) do
    for kk in weir.domain_loop(0, cd(K, 64)) do
      a:acquire(); a:tma_load(ga:at(t.m, kk)); a:commit()
      b:acquire(); b:tma_load(gb:at(t.n, kk)); b:commit()
    end
    wq:next()
  end
end }
k:task { name = "mma", warps = { 4, 8 }, registers = 232, schedule = function()
  for t in weir.work_tile_loop(wq) do
    acc:zero()
    for _ in weir.domain_loop(0, cd(K, 64)) do
      a:wait(); b:wait(); acc:mma(a:read(), b:read())
      acc:drain(); a:release(); b:release()
    end
    log:say(t.m)
    gd:store(acc:read(), t)
    wq:next()
  end
end }
return k:build { device = device }
]=]

local function line_of(text, part)
  local n = 0
  for row in text:gmatch "([^\n]*)\n" do
    n = n + 1
    if row:find(part, 1, true) then return n end
  end
  error("no line with " .. part)
end

local function compile(text) return assert(load(text, "@bad.lua")) end

-- The right script: builds and runs.
local right = compile(script)(weir, lab.device())
local right_source = right:source()
tap.is({ true, "" }, { lab.run_gemm(right, 130, 140, 70) }, "the script without a mistake builds and runs")

local function still_right(name)
  local ok, again = pcall(compile(script), weir, lab.device())
  tap.is(right_source, ok and again:source() or tostring(again), name .. ": the right script builds as before")
end

-- `from` becomes `to`; the error is at the line where `to` stands (at: another text of it) and contains all the words.
local function mistake(name, from, to, words, at)
  local text = lab.edit(script, from, to)
  local ok, err = pcall(compile(text), weir, lab.device())
  if ok then return tap.ok(false, name .. ": was accepted") end
  local report = tostring(err)
  local place = ("bad.lua:%d: "):format(line_of(text, at or to))
  tap.like(place, report, name .. ": at its line")
  for _, word in ipairs(type(words) == "table" and words or { words }) do tap.like(word, report, name .. ": " .. word) end
  still_right(name)
end

-- Several edits, { from, to } ...; the place is the line where `at` stands.
local function mistakes(name, edits, words, at)
  local text = script
  for i = 1, #edits, 2 do text = lab.edit(text, edits[i], edits[i + 1]) end
  local ok, err = pcall(compile(text), weir, lab.device())
  if ok then return tap.ok(false, name .. ": was accepted") end
  tap.like(("bad.lua:%d: "):format(line_of(text, at)), tostring(err), name .. ": at its line")
  for _, word in ipairs(words) do tap.like(word, tostring(err), name .. ": " .. word) end
  still_right(name)
end

-- ---- fields, types, names -------------------------------------------------------------------------------------------------------------
mistake("unknown field", "swizzle = 128", "swizle = 128", "k:smem_tile: unknown field 'swizle'; did you mean 'swizzle'?")
mistake("unknown field of a task", "registers = 40", "register = 40", "k:task: unknown field 'register'; did you mean 'registers'?")
mistake("unknown field of a pipeline", "stages = 4 } }\nlocal b", "stage = 4 } }\nlocal b", "weir.pipeline.tma_async: unknown field 'stage'; did you mean 'stages'?", "stage = 4")
mistake("text for a tile", "tile = { 128, 64 }, swizzle = 128", "tile = '128x64', swizzle = 128", "k:smem_tile: field 'tile' is a table of integers, got string")
mistake("number for warps", "warps = { 0, 1 }", "warps = 1", "k:task: field 'warps' is a table of integers, got number")
mistake("text for stages", "stages = 4", "stages = '4'", "weir.pipeline.tma_async: field 'stages' is a number, got string")
mistake("fraction of a stage", "stages = 4", "stages = 4.5", "field 'stages' is an integer, got 4.5")
mistake("no stage", "stages = 4", "stages = 0", "weir.pipeline.tma_async: stages is 0; at least 1")
mistake("fewer than no stage", "stages = 4", "stages = -1", "weir.pipeline.tma_async: stages is -1; at least 1")
mistake("nil for a tensor", "tensor = A,", "tensor = a_tensor,", "k:gmem_tile: needs tensor = a tensor of k:tensor, got nil")
mistake("unknown dtype", 'name = "A", dtype = "bf16"', 'name = "A", dtype = "bfloat16"', { "k:tensor: unknown dtype 'bfloat16'", "bf16 f32" })
mistake("unknown dtype, nearly one", 'name = "A", dtype = "bf16"', 'name = "A", dtype = "fb16"', { "k:tensor: unknown dtype 'fb16'", "did you mean 'f16'?" })
mistake("number for a dtype", 'name = "A", dtype = "bf16"', 'name = "A", dtype = 16', "k:tensor: a dtype is a string, got number")
mistake("unknown arch", 'arch = "sm_90a"', 'arch = "sm_90"', "weir.kernel: arch = 'sm_90' lacks wgmma and setmaxnreg, which ptxas has for sm_90a alone; write arch = \"sm_90a\"")
for what, words in pairs { ["{ m = 0 }"] = "weir.kernel: cluster: m is 0; at least 1", ["{ n = -2 }"] = "weir.kernel: cluster: n is -2; at least 1",
  ["{ m = 9 }"] = "error: kernel 'gemm' has a cluster of 9 CTAs; at most 8 are portable [PLAN-CLUSTER]", ["2"] = "weir.kernel: cluster: a table of options expected, got number",
  ["{ v = 2 }"] = "error: kernel 'gemm': v = 2 (CTAs that share one MMA) needs sm_100a [PLAN-ARCH]" } do
  mistake("cluster = " .. what, 'arch = "sm_90a" }', 'arch = "sm_90a", cluster = ' .. what .. " }", words)
end
mistake("no CTA an SM", 'arch = "sm_90a" }', 'arch = "sm_90a", ctas_per_sm = 0 }', "weir.kernel: ctas_per_sm is 0; at least 1")
mistake("more CTAs than an SM holds", 'arch = "sm_90a" }', 'arch = "sm_90a", ctas_per_sm = 2 }',
  { "error: kernel 'gemm': 2 CTAs of 131200 bytes of shared memory do not fit an SM, which has 233472", "hint: ctas_per_sm = 1 fits" })
mistake("no group of rows", "over = D, tile = { 128, 128 }", "over = D, raster = 'grouped', group = 0, tile = { 128, 128 }", "k:work_queue: group is 0; at least 1")
mistake("a device that is none", "device = device }", "device = 'gpu' }", "k:build: device: a device of weir.device expected, got string")
mistakes("registers on sm_80", { 'arch = "sm_90a"', 'arch = "sm_80"' }, { "error: task 'load': `registers` needs setmaxnreg, which sm_80 lacks" }, "registers = 40")
mistake("misspelt move", "a:acquire(); a:tma_load", "a:aquire(); a:tma_load", "smem_tile 'a' has no method or field 'aquire'; did you mean 'acquire'?")
mistake("a name twice", 'name = "b", dtype', 'name = "a", dtype', { "smem_tile: the name 'a' is taken", "bad.lua:12: declared here first" })
mistake("a name that is none", 'name = "b", dtype', 'name = "b-1", dtype', "smem_tile: 'b-1' is no C identifier")
mistake("a name with a zero byte", 'name = "b", dtype', 'name = "b\\0c", dtype', "k:smem_tile: field 'name' has a zero byte after 'b'")
mistake("an argument too many", "log:say(t.m)", "log:say(t.m, 3)", { "log:say takes 1 argument, given 2", "hint: say(i32 row)" })
mistake("a parameter of no type", 'params = "i32 row"', 'params = "int32 row"', "cannot read 'int32 row' as a parameter")

-- ---- tiles ------------------------------------------------------------------------------------------------------------------------------
mistake("rows no multiple of the MMA's 64 in each warpgroup", 'name = "acc", tile = { 128, 128 }', 'name = "acc", tile = { 96, 128 }',
  { "tile 'acc' { 96, 128 } does not divide among the 2 warpgroups of task 'mma'", "expected a multiple of 128 rows, got 96", "an MMA is 64 rows by a multiple of 8 columns" })
mistakes("columns no multiple of the MMA's 8", { "over = D, tile = { 128, 128 }", "over = D, tile = { 128, 100 }", "tensor = B, tile = { 128, 64 }", "tensor = B, tile = { 100, 64 }",
  "tensor = D, tile = { 128, 128 }", "tensor = D, tile = { 128, 100 }", 'name = "b", dtype = "bf16", tile = { 128, 64 }', 'name = "b", dtype = "bf16", tile = { 100, 64 }',
  'name = "acc", tile = { 128, 128 }', 'name = "acc", tile = { 128, 100 }' }, { "has 100 columns in each warpgroup of task 'mma'", "expected a multiple of 8 columns, at most 256, got 100" }, 'name = "acc"')
mistakes("more columns than an MMA has", { "over = D, tile = { 128, 128 }", "over = D, tile = { 128, 512 }", "tensor = B, tile = { 128, 64 }", "tensor = B, tile = { 512, 64 }",
  "tensor = D, tile = { 128, 128 }", "tensor = D, tile = { 128, 512 }", 'name = "b", dtype = "bf16", tile = { 128, 64 }', 'name = "b", dtype = "bf16", tile = { 512, 64 }',
  'name = "acc", tile = { 128, 128 }', 'name = "acc", tile = { 128, 512 }', "stages = 4", "stages = 1", "stages = 4", "stages = 1" },
  { "has 512 columns in each warpgroup of task 'mma'", 'hint: take fewer columns' }, 'name = "acc"')
mistakes("K no multiple of the MMA's 16", { "tensor = A, tile = { 128, 64 }", "tensor = A, tile = { 128, 24 }", "tensor = B, tile = { 128, 64 }", "tensor = B, tile = { 128, 24 }",
  "tile = { 128, 64 }, swizzle = 128", "tile = { 128, 24 }, swizzle = 0", "tile = { 128, 64 }, swizzle = 128", "tile = { 128, 24 }, swizzle = 0" },
  { "acc:mma: K is 24, an instruction of bf16 takes 16", "expected a multiple of 16, got 24" }, "acc:mma(")
mistake("no rows", 'name = "acc", tile = { 128, 128 }', 'name = "acc", tile = { 0, 128 }', "wgmma_tile 'acc': tile size 1 is 0")
mistake("a swizzle wider than the row", "tile = { 128, 64 }, swizzle = 128", "tile = { 128, 32 }, swizzle = 128",
  "tile 'a': swizzle 128: a row of 32 x 2 bytes = 64 is not a multiple of the span; use swizzle = 64, or 64 columns [PLAN-SWIZZLE]")
mistake("a swizzle that is none", "swizzle = 128", "swizzle = 256", { "smem_tile 'a': swizzle 256", "0, 32, 64 or 128" })
mistake("an operand without swizzle", "swizzle = 128", "swizzle = 0", "use swizzle = 128", "acc:mma(")
mistake("tiles of a copy that differ", "tensor = A, tile = { 128, 64 }", "tensor = A, tile = { 128, 32 }", { "a:tma_load: a tile of 'ga' is { 128, 32 }, 'a' is { 128, 64 }", "make the two tiles alike" }, "a:tma_load")
mistake("K of A and B that disagree", 'name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128', 'name = "b", dtype = "bf16", tile = { 128, 32 }, swizzle = 64',
  "acc:mma: K of a { 128, 64 } is 64, K of b { 128, 32 } is 32 [V-MMA-01]", "acc:mma(")
mistake("dtypes of A and B that disagree", 'name = "b", dtype = "bf16"', 'name = "b", dtype = "f16"', "acc:mma: a is bf16, b is f16", "acc:mma(")
mistake("dtypes of a copy that disagree", 'name = "B", dtype = "bf16"', 'name = "B", dtype = "f16"', "b:tma_load: 'gb' is f16, 'b' is bf16, and a copy converts nothing", "b:tma_load")
mistake("a store to what is no output", "shape = { M, N }, out = true", "shape = { M, N }", { "gd:store writes tensor 'D', which is not an out tensor", "declare it with out = true" }, "gd:store")

-- Boxes: at most 256 elements along an axis. More rows are several boxes; more columns need panels.
local function copy(rows, cols, swizzle)
  local k = weir.kernel { name = "copy", arch = "sm_90a" }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local wq = k:work_queue { name = "wq", over = Y, tile = { rows, cols } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { rows, cols } }, k:gmem_tile { name = "gy", tensor = Y, tile = { rows, cols } }
  local here = debug.getinfo(1, "l").currentline + 1
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { rows, cols }, swizzle = swizzle, pipeline = weir.pipeline.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do ring:acquire(); ring:tma_load(gx:at(t.m, t.n)); ring:commit() wq:next() end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do ring:wait(); gy:store(ring:read(), t); ring:release() wq:next() end
  end }
  return k, here
end
local function copy_mistake(name, words, ...)
  local k, here = copy(...)
  local ok, err = pcall(k.build, k, { device = lab.device() })
  if ok then return tap.ok(false, name .. ": was accepted") end
  tap.like(("t/bad_input.t:%d: error: "):format(here), tostring(err), name .. ": at its line")
  tap.like(words, tostring(err), name .. ": " .. words)
end
copy_mistake("a box above 256", "tile 'ring': 512 columns without swizzle: a TMA box has at most 256; use swizzle = 128, which keeps the tile as panels", 8, 512)
copy_mistake("rows of 12 bytes", "tile 'ring': a row of 3 x 4 bytes = 12 is not a multiple of 16, which TMA needs; use 4 columns", 4, 3)
do
  local p = copy(320, 32):build { device = lab.device() }
  tap.is({ 2, 160 }, { plan.get(p, "copies", 0, "nbox"), plan.get(p, "tmaps", 0, "box1") }, "320 rows are two boxes of 160")
  tap.is({ true, "" }, { lab.run_copy(p, { 330, 40 }) }, "and are copied")
  p = copy(8, 512, 128):build { device = lab.device() }
  tap.is({ 16, 32 }, { plan.get(p, "copies", 0, "nbox"), plan.get(p, "tmaps", 0, "box0") }, "512 columns are 16 panels of 128 bytes")
  tap.is({ true, "" }, { lab.run_copy(p, { 11, 600 }) }, "and are copied")
end

-- ---- capacities, warps, registers -----------------------------------------------------------------------------------------------------------
mistake("shared memory over capacity", "stages = 4 } }\nlocal b", "stages = 12 } }\nlocal b",
  { "kernel 'gemm' needs 262400 bytes of shared memory, the target has 232448: 29952 too many (a 12 x 16384, b 4 x 16384, mbarriers 256)", "[PLAN-SMEM]", "hint: stages = 10 of 'a' fits (16384 bytes a stage)" }, "stages = 12")
mistake("more stages than anything holds", "stages = 4 } }\nlocal b", "stages = 2147483647 } }\nlocal b", { "smem_tile 'a': pipeline field stages is 2147483647 [M-PIPE]", "hint: at most 65535" }, "stages = 2147483647")
mistake("many stages: the hint counts mbarriers", "stages = 4 } }\nlocal b", "stages = 60000 } }\nlocal b", "hint: stages = 10 of 'a' fits (16384 bytes a stage)", "stages = 60000")
mistakes("one stage over capacity", { "tensor = A, tile = { 128, 64 }", "tensor = A, tile = { 128, 512 }", "tensor = B, tile = { 128, 64 }", "tensor = B, tile = { 128, 512 }",
  'name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 4', 'name = "a", dtype = "bf16", tile = { 128, 512 }, swizzle = 128, pipeline = P.tma_async { stages = 1',
  'name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 4', 'name = "b", dtype = "bf16", tile = { 128, 512 }, swizzle = 128, pipeline = P.tma_async { stages = 1' },
  { "29728 too many (a 1 x 131072, b 1 x 131072, mbarriers 32)", "hint: not even one stage of 'a' (131072 bytes) fits: take smaller tiles" }, 'name = "a"')
mistake("registers over the pool", "registers = 232", "registers = 240", { "register requests 40 + 240 + 240 per warpgroup are 16 more than the pool of 504 (168 at entry x 3 warpgroups)",
  "[PLAN-REGS]", "expected a sum of at most 504, got 520" })
mistake("registers no multiple of 8", "registers = 232", "registers = 236", { "task 'mma': registers = 236", "expected a multiple of 8, 24 to 256" })
mistake("registers above 256", "registers = 232", "registers = 512", "task 'mma': registers = 512")
mistake("registers below 24", "registers = 40", "registers = 16", "task 'load': registers = 16, setmaxnreg takes 24 at least")
mistake("an unknown mode", 'local acc', 'local ab = k:group { name = "ab", mode = "fuse", members = { a, b } } local acc', "k:group: mode = 'fuse' is none of merge, fork, fused_merge")
mistake("a warpgroup's task on another's warps", "warps = { 0, 1 }", "warps = { 5, 1 }", { "hint: start it at warp 8", "note: warps 0 to 3 belong to no task" }, "warps = { 4, 8 }")
mistake("warps that overlap", "warps = { 0, 1 }", "warps = { 4, 1 }", "task 'mma' has warps 4 to 11, task 'load' has warps 4 to 4 [X-WARP-01]", "warps = { 4, 8 }")
mistake("a wgmma task not at a multiple of four warps", "warps = { 4, 8 }", "warps = { 2, 8 }", { "task 'mma' uses wgmma on warps { 2, 8 }: a warpgroup is 4 warps, the first a multiple of 4 [X-WARP-04]", "warps = { 4, 8 }" })
mistake("a wgmma task of six warps", "warps = { 4, 8 }", "warps = { 4, 6 }", "task 'mma' uses wgmma on warps { 4, 6 }: a warpgroup is 4 warps")
mistake("more warps than a CTA has", "warps = { 4, 8 }", "warps = { 4, 40 }", "task 'mma': warps 4 to 43, a CTA has warps 0 to 31")
mistake("warps before the first", "warps = { 0, 1 }", "warps = { -1, 1 }", "task 'load': warps = { -1, 1 }")

-- ---- schedules --------------------------------------------------------------------------------------------------------------------------------
mistake("a wait left out", "a:wait(); b:wait(); acc", "a:wait(); acc", { "task 'mma': read on 'b' without wait before it [V-BRK-02]", "hint: write b:wait() first" })
mistake("a release before the drain", "acc:drain(); a:release(); b:release()", "a:release(); b:release(); acc:drain()",
  { "writes stage 0 of 'a' while the mma of 'mma warpgroup 0' may still read it", "[PROVE-ASYNC-READ]", "drain the mma before the stage is released" }, "a:tma_load")
mistake("sums never zeroed", "acc:zero()\n", "\n", "adds to 'acc', which may never have been zeroed or set [PLAN-ZERO]", "acc:mma(")
do
  local text = lab.edit(lab.edit(lab.edit(script, "swizzle = 128", "swizzle = 48"), "registers = 40", "registers = 20"), "warps = { 4, 8 }", "warps = { 4, 7 }")
  local _, err = pcall(compile(text), weir, lab.device())
  local report = tostring(err)
  for _, words in ipairs { "bad.lua:12: error: smem_tile 'a': swizzle 48", "bad.lua:18: error: task 'load': registers = 20", "bad.lua:27: error: task 'mma' uses wgmma on warps { 4, 7 }" } do
    tap.like(words, report, "three faults, one report: " .. words)
  end
  still_right "three faults"
end

-- ---- launches -----------------------------------------------------------------------------------------------------------------------------------
local dev = lab.device()
local function tensor(rows, cols, dtype) return dev:tensor { dtype = dtype or "bf16", shape = { rows, cols } }:randn(5) end
local function args(change)
  local t = { A = tensor(64, 72), B = tensor(40, 72), D = tensor(64, 40) }
  for name, x in pairs(change or {}) do t[name] = x or nil end
  return t
end
local function refused(name, words, arguments)
  local here
  local err = tap.raises(words, function() here = debug.getinfo(1, "l").currentline right:launch(arguments) end, name .. ": " .. words)
  tap.like(("t/bad_input.t:%d: "):format(here), err, name .. ": at the line of the launch")
  tap.is({ true, "" }, { lab.run_gemm(right, 65, 33, 80) }, name .. ": the program still runs")
end
refused("a tensor left out", "launch: kernel 'gemm': tensor 'B' is missing", args { B = false })
refused("a tensor of another dtype", "tensor 'A' is f16; the kernel takes bf16", args { A = tensor(64, 72, "f16") })
refused("a shape that disagrees", "dim 'K' is 72 by axis 1 of tensor 'A' but 80 by axis 1 of tensor 'B'", args { B = tensor(40, 80) })
refused("an output of another shape", "dim 'M' is 64 by axis 0 of tensor 'A' but 63 by axis 0 of tensor 'D'", args { D = tensor(63, 40) })
refused("a tensor of another rank", "tensor 'A' has rank 1; the kernel takes rank 2", args { A = dev:tensor { dtype = "bf16", shape = 72 } })
local a = tensor(64, 72)
refused("a stride of 150 bytes", "tensor 'A': axis 0 steps by 150 bytes (75 elements); TMA needs a multiple of 16 bytes (nearest: 144 bytes = 72 elements, 160 bytes = 80 elements)", args { A = { address = a.address, shape = { 64, 72 }, stride = { 75, 1 }, dtype = "bf16" } })
refused("a base 2 bytes on", "2 bytes past a multiple of 16; TMA needs 16-byte alignment", args { A = { address = a.address + 2, shape = { 64, 72 }, stride = { 72, 1 }, dtype = "bf16" } })
refused("inner elements that lie apart", "tensor 'A': its innermost axis steps by 2 elements; it must step by 1", args { A = { address = a.address, shape = { 64, 72 }, stride = { 144, 2 }, dtype = "bf16" } })
refused("no address", "tensor 'A': its address is null", args { A = 0 })
refused("an address without sizes", "dim 'M' is not known: no launched tensor has it alone as an axis; pass it as an argument, M = ...", { A = a.address, B = a.address, D = a.address })
refused("an argument the kernel has not", "it has no argument 'C'", args { C = tensor(1, 1) })

-- ---- GPU and NVRTC ------------------------------------------------------------------------------------------------------------------------------
do
  local nowhere = plan.open { nvrtc_path = "/nowhere/libnvrtc.so", driver_path = "/nowhere/libcuda.so", cache_dir = "" }
  local none, message, code = nowhere.device(0)
  tap.is({ nil, "no_device" }, { none, code }, "no GPU: no device")
  tap.like("no CUDA driver: /nowhere/libcuda.so cannot be opened", message, "no GPU: which driver was tried")
  tap.is(0, (nowhere.device_count()), "no GPU: none are counted")
  tap.is("simulator", nowhere.device().name, "no GPU: the simulator is the device")
  local p = compile(script)(nowhere, nowhere.device "sim")
  tap.is(right_source, p:source(), "no NVRTC: the script builds")
  local cubin
  cubin, message, code = p:cubin()
  tap.is({ nil, "no_compiler" }, { cubin, code }, "no NVRTC: no cubin")
  tap.like("NVRTC cannot be opened at the given path '/nowhere/libnvrtc.so'", message, "no NVRTC: which was tried")
  local gone = plan.open { cxx = "/nowhere/c++", cache_dir = "" }
  local d = gone.device "sim"
  p = compile(script)(gone, d)
  local function t(r, c) return d:tensor { dtype = "bf16", shape = { r, c } }:fill(0) end
  none, message, code = p:launch { A = t(8, 8), B = t(8, 8), D = t(8, 8) }
  tap.is({ nil, "no_compiler" }, { none, code }, "no C++ compiler: no run")
  tap.like("/nowhere/c++", message, "no C++ compiler: which was tried")
end

do -- an error in a custom body, at its line in Lua: from the simulator's compiler, and from NVRTC
  local text = lab.edit(script, "D[0] = bf16(0.f);", "D[0] = undeclared_thing;")
  local path = os.tmpname()                                -- a body's line is looked up in the script's file
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  local at = ("%s:%d"):format(path, line_of(text, "undeclared_thing"))
  local p = assert(loadfile(path))(weir, dev)
  os.remove(path)
  local ok, message, code = p:launch(args())
  tap.is({ nil, "compile" }, { ok, code }, "an error in a body: the simulator stops before it runs")
  tap.like(at, message, "an error in a body: at its line")
  tap.like("undeclared_thing", message, "an error in a body: the compiler's words")
  local cubin
  cubin, message, code = p:cubin()
  if code == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then
    tap.skip("no NVRTC", 3)
  else
    tap.is({ nil, "compile" }, { cubin, code }, "NVRTC: an error in a body")
    tap.like(at .. ": error", message:gsub("%((%d+)%)", ":%1"), "NVRTC: at its line")
    tap.like('identifier "undeclared_thing" is undefined', message, "NVRTC: its words")
  end
  still_right "an error in a body"
end

do -- brackets and comments of a body that are not in pairs: at their line, before any compiler sees them
  local row = "if (tid == 0 && row < 0) D[0] = bf16(0.f);"
  local function body(text)
    local path = os.tmpname()
    local f = assert(io.open(path, "w"))
    f:write((lab.edit(script, row, text)))
    f:close()
    local ok, err = pcall(assert(loadfile(path)), weir, dev)
    os.remove(path)
    return path, ok, tostring(err)
  end
  for text, words in pairs {
    ["if (row < 0) {\n  D[0] = bf16(0.f);"] = "%d: error: log:say: '{' is never closed [M-WORK]", ["if (row < 0) D[0] = bf16(0.f); }"] = "%d: error: log:say: '}' closes nothing [M-WORK]",
    ["if ((row < 0) { D[0] = bf16(0.f); }"] = "%d: error: log:say: '(' is never closed [M-WORK]",
    ["/* if (row < 0)\n\n"] = "%d: error: log:say: '/*' begins a comment that is never closed [M-WORK]", ["D[row = bf16(0.f);"] = "%d: error: log:say: '[' is never closed [M-WORK]",
    ["\n__shared__ float sums[32]; sums[tid] = 0;"] = "%d: error: log:say: '__shared__' declares memory that the plan does not count [M-WORK]",
  } do
    local path, ok, err = body(text)
    local down = text:byte() == 10 and 1 or 0              -- begins with an empty row
    if not tap.ok(not ok and err:find(path .. ":" .. words:format(line_of(script, row) + down), 1, true), "a body: " .. words) then tap.diag(err) end
  end
  for _, text in ipairs { "// { ( [ it's, and __shared__\n" .. row, "int my__shared__ = 1; (void)my__shared__; " .. row, "/* } ) ] \" */ " .. row, [[const char *s = "{(\\\"["; (void)s; const char c = '{', d = '\\''; (void)c; (void)d; ]] .. row,
    "const int x = 1'000; (void)x; { " .. row .. " }", "\n#if 1\n{\n#else\n{{\n#endif\n" .. row .. "\n}\n" } do
    local _, ok, err = body(text)
    if not tap.ok(ok, "a body in pairs: " .. text:gsub("\n", " ")) then tap.diag(err) end
  end
  still_right "brackets of a body"
end

do -- an architecture newer than NVRTC knows
  local path = os.tmpname()
  local f = assert(io.open(path .. ".c", "w"))
  f:write [[
    int nvrtcVersion(int *a, int *b) { *a = 11; *b = 8; return 0; }
    const char *nvrtcGetErrorString(int r) { (void)r; return "old"; }
    int nvrtcGetNumSupportedArchs(int *n) { *n = 3; return 0; }
    int nvrtcGetSupportedArchs(int *a) { a[0] = 70, a[1] = 80, a[2] = 89; return 0; }
    #define NONE(f) int f(void) { return 1; }
    NONE(nvrtcCreateProgram) NONE(nvrtcCompileProgram) NONE(nvrtcGetProgramLogSize) NONE(nvrtcGetProgramLog) NONE(nvrtcGetCUBINSize)
    NONE(nvrtcGetCUBIN) NONE(nvrtcGetPTXSize) NONE(nvrtcGetPTX) NONE(nvrtcDestroyProgram)
  ]]
  f:close()
  if os.execute(("${CC:-cc} -shared -fPIC -o %s.so %s.c"):format(path, path)) then
    local old = plan.open { nvrtc_path = path .. ".so", cache_dir = "" }
    local cubin, message, code = compile(script)(old, old.device "sim"):cubin()
    tap.is({ nil, "no_compiler" }, { cubin, code }, "an old NVRTC: no cubin")
    tap.like("kernel 'gemm' is for sm_90a, but NVRTC 11.8 at " .. path .. ".so knows 70 to 89: a newer NVRTC is needed (12.0 for sm_90a", message, "an old NVRTC: both, and the mend")
  else
    tap.skip("no C compiler", 2)
  end
  for _, ending in ipairs { "", ".c", ".so" } do os.remove(path .. ending) end
end

-- ---- nothing stays behind -------------------------------------------------------------------------------------------------------------------------
tap.is({ true, "" }, { lab.run_gemm(compile(script)(weir, dev), 130, 140, 70) }, "after all that the script builds and runs")
do
  local function again()
    for _, change in ipairs { { "swizzle = 128", "swizzle = 48" }, { "stages = 4", "stages = 40" }, { "a:acquire()", "a:aquire()" }, { "acc:zero()\n", "\n" } } do
      pcall(compile(lab.edit(script, change[1], change[2])), weir, dev)
    end
    collectgarbage() collectgarbage()
  end
  again()
  local before = weir.live_bytes()
  for _ = 1, 5 do again() end
  tap.is(before, weir.live_bytes(), "refused kernels leave no memory behind")
end

tap.done()
