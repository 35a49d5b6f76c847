#!/usr/bin/env lua5.4
-- From a script to a run on the simulator: what a program tells, what a launch takes, and what it refuses.
local tap = require "tap"
local weir = require "weir"

local dev = assert(weir.device("sim", { seed = 5 }))

-- y = x * s, by tiles of 8 x 64 through a ring in shared memory.
local function scale()
  local k = weir.kernel { name = "scale", arch = "sm_90a" }
  local H, W = k:dim "H", k:dim "W"
  local s = k:scalar { name = "s", dtype = "f32" }
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local wq = k:work_queue { name = "wq", over = Y, tile = { 8, 64 } }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 8, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 64 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 8, 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:acquire(); ring:tma_load(x:at(t.m, t.n)); ring:commit()
      wq:next()
    end
  end }
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:wait(); y:store(ring:read() * s, t); ring:release()
      wq:next()
    end
  end }
  return k
end

local k = scale()
local ok, program = pcall(k.build, k, { device = dev })
if not ok then tap.diag(tostring(program)) end
tap.ok(ok, "builds")
if not ok then tap.done() end

-- What a program tells.
tap.is("scale", program.name, "name")
tap.is("program 'scale'", tostring(program), "text")
tap.ok(rawequal(program.kernel, k), "its kernel")
tap.ok(program.report.ok, "its report")
tap.is("SAFE", program.report.proof.verdict, "proved for every size")
tap.like("__global__", program:source(), "source")
tap.is(program:source(), k:source(), "the kernel's source is the program's")
tap.is(program:source(), scale():source(), "two kernels of one script have one source")
tap.ok(#program:full_source() > #program:source(), "and the preamble before it")
tap.ok(program:times().validate >= 0 and program:times().cache_hit == false, "times")
k:verify()
local layout = k:smem_layout()
tap.is({ "ring", 2, 2048 }, { layout[1].name, layout[1].stages, layout[1].stage_bytes }, "layout of shared memory")
tap.ok(layout.total >= 4096, "its total")
local bars = {}
for _, bar in ipairs(k:barrier_layout()) do bars[bar.name] = bar end
tap.is({ 2, 2048 }, { bars.ring_full.stages, bars.ring_full.tx_bytes }, "the full barrier")
tap.is(0, bars.ring_empty.tx_bytes, "the empty barrier")
tap.like("ring", k:schedule_table(), "the schedule as a table")
tap.like("digraph", k:dot(), "the graph")

-- Runs.
local function want(x, s)
  local out = {}
  for i, v in ipairs(x) do out[i] = v * s end
  return out
end
for _, size in ipairs { { 8, 64 }, { 20, 100 }, { 1, 4 } } do
  local x = dev:tensor { dtype = "f32", shape = size }:randn(1)
  local y = dev:tensor { dtype = "f32", shape = size }:fill(7)
  tap.is(true, program:launch { X = x, Y = y, s = 2 }, ("%d x %d runs"):format(size[1], size[2]))
  tap.is(want(x:get(), 2), y:get(), ("%d x %d is right"):format(size[1], size[2]))
end
local x = dev:tensor { dtype = "f32", shape = { 16, 64 } }:randn(2)
local y = dev:tensor { dtype = "f32", shape = { 16, 64 } }:fill(0)
tap.is(true, program:launch({ X = x.address, Y = y.address, H = 16, W = 64, s = 0.25 }, { device = dev }), "addresses with their dims")
tap.is(want(x:get(), 0.25), y:get(), "are right")
y:fill(0)
tap.is(true, program:launch({ X = { address = x.address, shape = { 16, 64 }, stride = { 64, 1 }, dtype = "f32" }, Y = y, s = 4 }, { grid = 1 }),
  "memory of another owner, and a grid by hand")
tap.is(want(x:get(), 4), y:get(), "are right")
local bound = program:bind { X = x, Y = y, s = 0.5 }
y:fill(0)
tap.is(true, bound:launch(), "arguments bound once")
tap.is(want(x:get(), 0.5), y:get(), "are right")
y:fill(0)
tap.is(true, bound:launch(), "and launched again")
tap.is(want(x:get(), 0.5), y:get(), "right again")
local z = dev:tensor { dtype = "f32", shape = { 16, 64 } }:fill(0)
tap.is(true, bound:set_address("Y", z), "another tensor for a bound one")
y:fill(0)
tap.is(true, bound:launch(), "launched")
tap.is(want(x:get(), 0.5), z:get(), "the new one is written")
tap.is(0.0, y:get()[1], "the old one is not")
tap.raises("it has no tensor 'Q'", function() bound:set_address("Q", z) end, "an unknown tensor")
tap.is("", dev:findings(), "the simulator found nothing")

-- What is refused, at the caller's line.
local function refused(name, wanted, args, options)
  local err = tap.raises(wanted, function() program:launch(args, options) end, name)
  tap.like("t/lua_launch.t:", err, name .. ": a place")
end
refused("an argument left out", "scalar 's' is missing", { X = x, Y = y })
refused("an argument too many", "it has no argument 'Z'", { X = x, Y = y, s = 1, Z = 3 })
refused("another dtype", "tensor 'X' is f16; the kernel takes f32", { X = dev:tensor { dtype = "f16", shape = { 16, 64 } }, Y = y, s = 1 })
refused("shapes that disagree", "dim 'H' is 8 by axis 0 of tensor 'X' but 16 by axis 0 of tensor 'Y'", { X = dev:tensor { dtype = "f32", shape = { 8, 64 } }, Y = y, s = 1 })
refused("a string", "argument 's': a device tensor, number or { address =, shape = } expected, got string", { X = x, Y = y, s = "1" })
refused("a list", "arguments are given by name, but one has the key 1", { x, y })
refused("an unknown option", "launch: unknown field 'strem'; did you mean 'stream'?", { X = x, Y = y, s = 1 }, { strem = 0 })
refused("a tensor of a closed device", "closed", (function()
  local d = weir.device "sim"
  local t = d:tensor { dtype = "f32", shape = { 16, 64 } }
  d:close()
  return { X = t, Y = y, s = 1 }
end)())
tap.raises("program", function() program.launch { X = x } end, "a dot for a colon")

-- What needs a GPU or NVRTC.
tap.raises("the simulator gives no times", function() program:time({ X = x, Y = y, s = 1 }, { reps = 3 }) end, "no figures from the simulator")
local cubin, message, code = program:cubin()
if cubin then tap.ok(#cubin > 0, "a cubin")
else tap.ok(type(message) == "string" and #message > 0 and type(code) == "string", "no cubin, with a message and a code") end

-- Closing.
program:close()
tap.raises("the program or its kernel is closed", function() program:launch {} end, "a closed program")
tap.raises("closed", function() bound:launch() end, "what was bound to it")

-- A queue of kind "grid" has a CTA for each tile: fewer would leave tiles undone, and say nothing.
do
  local each = weir.kernel { name = "each", arch = "sm_90a" }
  local N = each:dim "N"
  local g = each:gmem_tile { name = "y", tensor = each:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }, tile = { 64 } }
  local q = each:work_queue { name = "q", kind = "grid", axes = { "i" }, extent = { weir.ceil_div(N, 64) } }
  each:task { name = "t", warps = { 0, 1 }, schedule = function() for t in weir.work_tile_loop(q) do g:store(t.i + 1.0, g:at(t.i)); q:next() end end }
  local sim = weir.device "sim"
  local p = each:build { device = sim }
  local out = sim:tensor { dtype = "f32", shape = { 256 } }:fill(0)
  tap.raises('the grid is 3 CTAs, and 4 are needed: with a queue of kind "grid" each tile has CTAs of its own',
    function() p:launch({ Y = out }, { grid = 3 }) end, "a grid of fewer CTAs than tiles is refused")
  tap.ok(p:launch({ Y = out }, { grid = 4 }) and out:get()[256] == 4, "as many do")
end


-- A tensor that ends where 32 bits do: a tile at its end would reach past them, and wrap.
local function far()
  local far_kernel = weir.kernel { name = "far", arch = "sm_90a" }
  local N = far_kernel:dim "N"
  local X, Y = far_kernel:tensor { name = "X", dtype = "u8", shape = { N } }, far_kernel:tensor { name = "Y", dtype = "u8", shape = { N }, out = true }
  local gx, gy = far_kernel:gmem_tile { name = "gx", tensor = X, tile = { 200 } }, far_kernel:gmem_tile { name = "gy", tensor = Y, tile = { 200 } }
  local wq = far_kernel:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, 200) } }
  far_kernel:task { name = "t", warps = { 0, 1 }, schedule = function() for t in weir.work_tile_loop(wq) do gy:store(gx:at(t.i):load(), gy:at(t.i)); wq:next() end end }
  local sim = weir.device "sim"
  local p = far_kernel:build { device = sim }
  local function bind(n)
    local memory = { address = 4096, shape = { n }, dtype = "u8" }
    return pcall(p.bind, p, { X = memory, Y = memory }, { device = sim, grid = 1 })
  end
  local taken, why = bind(2147483448)
  tap.ok(not taken, "200 elements short of 2^31: refused")
  tap.like("tensor 'X': axis 0 has 2147483448 elements; the tiles of 'gx', 200 long, reach past 2^31 - 1 there", tostring(why), "and says why")
  tap.ok((bind(2147483447)), "one less is bound")
end
far()
tap.done()
