#!/usr/bin/env lua5.4
-- What a script's schedules become: the whole scripts of examples, then loops, guards, places and values one by one.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- The kernel of a whole script, described but not built, and other locals of it (", ab").
local function script(name, and_more)
  for _, folder in ipairs { "examples/" } do
    local file = io.open(folder .. name .. ".lua")
    if file then
      local text = file:read "a":gsub("return k:build%(%)%s*$", "return k" .. (and_more or "") .. "\n")
      file:close()
      return assert(load(text, "@" .. name .. ".lua"))
    end
  end
  error("no script " .. name)
end

-- The lines of a capture without their places, or only those that match.
local function lines(k, pattern)
  local out = {}
  for row in (k:print "capture" .. "\n"):gmatch "(.-)\n" do
    local text = row:gsub("%s+%-%- .*$", ""):gsub("^%s+", "")
    if text ~= "" and (not pattern or text:find(pattern)) then out[#out + 1] = text end
  end
  return out
end

local function place(k, text)
  for row in (k:print "capture" .. "\n"):gmatch "(.-)\n" do
    if row:find(text, 1, true) then return row:match "%-%- (.*)$" end
  end
end

-- Whole scripts.
do
  local k, ab = script("gemm_staged", ", ab")()
  tap.is({ "acc:drain(1)", "acc:drain(0)" }, lines(k, "acc:drain"), "gemm: the lagging drain and the final one")
  tap.is({ "ab:release(1)", "ab:release(0)" }, lines(k, "ab:release"), "gemm: the lagging release and the final one")
  tap.is(4, #lines(k, "gD:tma_store"), "gemm: a Lua loop over staging tiles unrolls")
  tap.is("gD:tma_store(stage:read(), gD:at(t.m, t.n * 4 + 3))", lines(k, "gD:tma_store")[4], "gemm: places are values")
  tap.is({ "ab.b:tma_load(gB:at(t.n, i0), multicast m)" }, lines(k, "multicast"), "gemm: the option of a load")
  tap.is("gemm_staged.lua:41", place(k, "ab:release(1)"), "gemm: the author's line")

  tap.is({ ab_full = { first = 0, count = 4, address = ab.barriers.ab_full.address, arrivals = 2, tx_bytes = 49152 },
    ab_empty = { first = 4, count = 4, address = ab.barriers.ab_full.address + 32, arrivals = 4, tx_bytes = 0 } }, ab.barriers, "gemm: barriers of a group")

  k = script "attention" ()
  tap.is({ "for i0 in domain_loop(ceil_div(L, 128) - 1, -1, -1)", "for i0 in domain_loop(ceil_div(L, 128) - 2, ceil_div(L, 128) - 2, -1)",
    "for i1 in domain_loop(ceil_div(L, 128) - 2, -1, -1)" }, lines(k, "domain_loop"), "attention: its loops")
  tap.is({ "S:drain(0)", "S:drain(0)", "O:drain(0)", "S:drain(0)", "O:drain(0)", "O:drain(0)" }, lines(k, ":drain"), "attention: its drains, in order")
  tap.is(3, #lines(k, "^P:set"), "attention: P is set before and in each loop")
  tap.is(2, #lines(k, "^P:set.*select"), "attention: masked before the loops and in the first")
  tap.is(3, #lines(k, "row_sum%(4%)"), "attention: four partial sums a row")
  tap.is("attention.lua:53 < attention.lua:69 < attention.lua:79", ({ k:print "capture":gsub(".*S:mma[^\n]*%-%- ([^\n]*).*$", "%1") })[1],
    "attention: helpers are named with their callers")

  k = script "fork_gemm_act" ()
  tap.is({ "a:commit()" }, lines(k, "^a:"), "fork: the collapsed commit")
  tap.is({ "when_true(t.n == 0)" }, lines(k, "when_true"), "fork: the guard")

  k = script "varlen_copy" ()
  tap.is({ "for t in work_tile_loop(wq, skip t.i >= N)" }, lines(k, "work_tile_loop"), "varlen: the skip predicate")
  tap.is({ "skippable" }, lines(k, "^skippable"), "varlen: the skippable part")
  tap.is("for i0 in domain_loop(0, ceil_div(off:at(t.i + 1):load() - off:at(t.i):load(), 128), 1)", lines(k, "domain_loop")[1],
    "varlen: a bound read from memory")

  k = script "blur_custom" ()
  tap.is({ "out:blur(rows:read(2), rows:read(1), rows:read(), t.y * 64 + i0, t.x * 256)" }, lines(k, "out:blur"), "blur: a custom body's arguments")
  tap.is({ "rows:release(2)", "rows:release(0)" }, lines(k, "rows:release"), "blur: two rows are kept")
end

-- Small kernels: the lines of one task.
local function kernel(schedule, cluster)
  local k = weir.kernel { name = "t", arch = "sm_90a", cluster = cluster }
  local p = { k = k, M = k:dim "M", N = k:dim("N", { min = 1 }), s = k:scalar { name = "s", dtype = "f32" } }
  local X = k:tensor { name = "X", dtype = "f32", shape = { p.M, p.N } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { p.M, p.N }, out = true }
  p.x = k:gmem_tile { name = "x", tensor = X, tile = { 64, 64 } }
  p.y = k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  p.a = k:smem_tile { name = "a", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2 } }
  p.r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
  p.wq = k:work_queue { name = "wq", over = Y, tile = { 64, 64 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() schedule(p) end }
  return k
end

local function captured(name, wanted, schedule)
  local seen = lines(kernel(schedule))
  table.remove(seen, 1) -- the task's own line
  tap.is(wanted, seen, name)
end

captured("loop bounds: stop alone", { "for i0 in domain_loop(0, 4, 1)", "a:wait()" }, function(p)
  for _ in weir.domain_loop(4) do p.a:wait() end
end)
captured("loop bounds: values", { "for i0 in domain_loop(M, N, 2)", "a:wait()" }, function(p)
  for _ in weir.domain_loop(p.M, p.N, 2) do p.a:wait() end
end)
captured("guards of a loop", {
  "for i0 in domain_loop(0, M, 1)", "first_iter(i0)", "a:wait()", "last_iter(i0)", "a:release()", "every(i0, 2, 1)", "a:try_wait()"
}, function(p)
  for i in weir.domain_loop(0, p.M) do
    for _ in i:first_iter() do p.a:wait() end
    for _ in i:last_iter() do p.a:release() end
    for _ in i:every(2, 1) do p.a:try_wait() end
  end
end)
captured("conditions", { "when_true(M < N, key = \"k\")", "a:wait()", "when_false(M == 0)", "a:release()" }, function(p)
  for _ in weir.when_true(weir.lt(p.M, p.N), { key = "k" }) do p.a:wait() end
  for _ in weir.when_false(weir.eq(p.M, 0)) do p.a:release() end
end)
captured("an operation runs where it is written", { "r:read()", "r:set(r:read() * s + 1)" }, function(p) p.r:set(p.r:read() * p.s + 1) end)
captured("map", { "r:read()", "r:set(max(r:read(), 0))" }, function(p) p.r:set(p.r:read():map(weir.relu)) end)
captured("map with more arguments", { "r:read()", "r:set(min(max(r:read(), 1), 2))" }, function(p) p.r:set(p.r:read():map(weir.clamp, 1, 2)) end)
captured("max of three", { "r:read()", "r:set(max(max(r:read(), s), 3))" }, function(p) p.r:set(weir.max(p.r:read(), p.s, 3)) end)
captured("a loop written by a Lua loop", { "a:wait()", "a:wait()" }, function(p) for _ = 1, 2 do p.a:wait() end end)

do -- values' texts
  local text
  local k = kernel(function(p)
    text = { tostring(p.M // 64 * 2 - p.N), tostring(weir.ceil_div(p.M, 64) % 3), tostring(weir.select(weir.ge(p.M, 1) & ~weir.ne(p.N, 2), p.s, 0.5)),
      tostring(p.k.cta.m), tostring(p.k.cta.rank) }
  end, { m = 2 })
  tap.is("M // 64 * 2 - N", text[1], "text of arithmetic")
  tap.is("ceil_div(M, 64) % 3", text[2], "text of a function")
  tap.like("select(", text[3], "text of a selection")
  tap.isnt(text[4], text[5], "CTA coordinate and rank differ")
  tap.ok(k, "kernel with a cluster")
end

-- Functions of plain numbers give plain numbers.
tap.is(5, weir.ceil_div(17, 4), "ceil_div of numbers")
tap.is(-4, weir.ceil_div(-17, 4), "ceil_div of a negative number")
tap.is("integer", math.type(weir.max(3, 7, 5)), "max of integers is an integer")
tap.is(7, weir.max(3, 7, 5), "max of numbers")
tap.is(3, weir.min(3, 7, 5), "min of numbers")
tap.is({ 2, 1, 3 }, { weir.clamp(2, 1, 3), weir.clamp(0, 1, 3), weir.clamp(9, 1, 3) }, "clamp of numbers")
tap.is({ 0, 2 }, { weir.relu(-1), weir.relu(2) }, "relu of numbers")
tap.is({ true, false }, { weir.lt(1, 2), weir.ge(1, 2) }, "comparisons of numbers are plain")
tap.is(8.0, weir.exp2(3), "exp2 of a number")
tap.is({ 3, 3 }, { weir.abs(-3), weir.abs(3) }, "abs of numbers")
tap.is("yes", weir.select(true, "yes", "no"), "select by a plain condition")

-- Handles.
do
  local k = weir.kernel { name = "h", arch = "sm_90a" }
  local M = k:dim "M"
  local X = k:tensor { name = "X", dtype = "bf16", shape = { M, 64 } }
  local g = k:gmem_tile { name = "g", tensor = X, tile = { 64, 64 } }
  local function smem(name) return k:smem_tile { name = name, dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } } end
  local a, b = smem "a", smem "b"
  local ab = k:group { name = "ab", mode = "fused_merge", members = { a, b } }
  tap.ok(rawequal(g.tensor, X), "a tile knows its tensor")
  tap.ok(rawequal(ab.a, ab.a) and rawequal(ab.a, ab:member "a"), "a member is always the same handle")
  tap.ok(not rawequal(ab.a, a), "and not the bare resource")
  tap.is("fused_merge", ab.mode, "a group's mode")
  tap.is({ false, 2, "tma_async", 3 },
    { ab.is_heterogeneous, ab.num_barriers_per_stage, ab.group_pipeline.type, ab.group_pipeline.stages }, "what a group knows of itself")
  local function ring(name, desc) return k:smem_tile { name = name, dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = desc } end
  local mixed = k:group { name = "mixed", members = { ring("p", P.tma_async { stages = 2, grain = "warp" }), ring("q", P.async_async { stages = 2 }),
    ring("r", P.tma_async { stages = 2 }) } }
  tap.is({ "merge", true, 4, "async_async", 2, "warp" }, { mixed.mode, mixed.is_heterogeneous, mixed.num_barriers_per_stage,
    mixed.group_pipeline.type, mixed.group_pipeline.stages, mixed.group_pipeline.grain }, "and one of members unlike")
  tap.is("nil", tostring(mixed.group_pipeline.bytes), "what is derived reads nil")
  tap.is({ "a", 128, { 64, 64 } }, { a.name, a.swizzle, a.tile }, "what was given stays readable")
  tap.is({ "tma_async", 3 }, { a.pipeline.type, a.pipeline.stages }, "a pipeline's fields")
  tap.is("smem_tile 'a' seen through its group", tostring(ab.a), "text of a member")
  tap.is({ "kernel 'h'", "gmem_tile 'g'", "tensor 'X' bf16", "tma_async pipeline, 3 stages" },
    { tostring(k), tostring(g), tostring(X), tostring(a.pipeline) }, "texts of handles")
end

-- A body of CUDA is placed at the line of its text.
do
  local w = weir.producer_work { params = "i32 n",
    code = [[
      x[0] = n; ]] }
  local first = debug.getinfo(1, "l").currentline - 1
  tap.is(first, w.line, "body: the line after a bracket that ends its line")
  tap.is("t/lua_capture.t", w.file, "body: the file")
  local v = weir.consumer_work { code = [[ one line, unlike any other; ]] }
  tap.is(debug.getinfo(1, "l").currentline - 1, v.line, "body: on the line of the call")
  local code = "escaped\
text"
  tap.is(debug.getinfo(1, "l").currentline, weir.consumer_work { code = code .. "!" }.line, "body: not found, the line of the call")
  local chunk = assert(load('local weir = ...\n\nreturn weir.producer_work { code = [[\nbody]] }', "=made"))
  tap.is({ "made", 3 }, { chunk(weir).file, chunk(weir).line }, "body: in a chunk without a file, the line of the call")
  chunk = assert(load('local weir = ...\n\nreturn weir.producer_work { code = [[\nbody]] }'))
  tap.is(4, chunk(weir).line, "body: in a chunk made of a string, the line in it")
  tap.is("f32 v", weir.consumer_work { code = "v = 0;", returns = { v = "f32" } }.returns, "body: a map of one return")
  tap.is("f32 v, i32 n", weir.consumer_work { code = "v = 0;", returns = { "f32 v", "i32 n" } }.returns, "body: a list of returns")
end

tap.done()
