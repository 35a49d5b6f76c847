#!/usr/bin/env lua5.4
-- Memory of others: tensors through DLPack (what is read, what is refused, that each is given back once), bare addresses, buffers that are
-- exchanged in a bound launch.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local core = require "weir_test"

local function copy()
  local k = weir.kernel { name = "copy" }
  local N, M = k:dim "N", k:dim "M"
  local X = k:tensor { name = "x", dtype = "i32", shape = { N, M } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N, M }, out = true }
  local src = k:gmem_tile { name = "src", tensor = X, tile = { 1, 4 } }
  local dst = k:gmem_tile { name = "dst", tensor = Y, tile = { 1, 4 } }
  k:task { name = "all", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, N) do
      for j in weir.domain_loop(0, weir.ceil_div(M, 4)) do dst:store(src:at(i, j):load(), dst:at(i, j)) end
    end
  end }
  return k
end

local INT, UINT, FLOAT, BFLOAT = 0, 1, 2, 4
local function ints(n)
  local x = {}
  for i = 1, n do x[i] = string.pack("<i4", 10 * i) end
  return table.concat(x)
end
local function make(o)
  local t = { data = ints(12), shape = { 2, 6 }, device = 1, code = INT, bits = 32, lanes = 1 }
  for k, v in pairs(o or {}) do t[k] = v end
  return core.dltensor(t)
end

-- what is read
local x = weir.dlpack(make())
tap.is({ "i32", 2, { 2, 6 }, { 6, 1 }, "the host" }, { x.dtype, x.rank, x.shape, x.stride, x.place }, "a packed tensor")
tap.is("i32 2 x 6 of another library, on the host", tostring(x), "its text")
local apart = weir.dlpack(make { shape = { 2, 5 }, strides = { 6, 1 }, offset = 4, major = 1 }, { versioned = true })
tap.is({ { 2, 5 }, { 6, 1 } }, { apart.shape, apart.stride }, "apart with a stride, versioned")
for _, d in ipairs { { "bool", 6, 8 }, { "i8", INT, 8 }, { "i64", INT, 64 }, { "u16", UINT, 16 }, { "f16", FLOAT, 16 }, { "f32", FLOAT, 32 }, { "f64", FLOAT, 64 },
                     { "bf16", BFLOAT, 16 }, { "e4m3", 10, 8 }, { "e5m2", 12, 8 } } do
  local t <close> = weir.dlpack(make { code = d[2], bits = d[3], data = ("x"):rep(96) })
  tap.is(d[1], t.dtype, d[1])
end
tap.is("GPU 3", weir.dlpack(make { device = 2, id = 3 }).place, "memory of a GPU")
tap.is("host and GPU", weir.dlpack(make { device = 13 }).place, "managed memory")

-- launched
local dev = weir.device "sim"
local program = copy():build { device = dev }
local function run(args) return program:launch(args, { grid = 1 }) end
local y = dev:tensor { dtype = "i32", shape = { 2, 6 } }
tap.is(true, (run { x = x, y = y }), "a launch takes it")
tap.is({ 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120 }, y:get(), "and reads it")
local z = dev:tensor { dtype = "i32", shape = { 2, 5 } }
tap.is(true, (run { x = apart, y = z }), "one with a stride and an offset")
tap.is({ 20, 30, 40, 50, 60, 80, 90, 100, 110, 120 }, z:get(), "is read by its strides")
local out = weir.dlpack(make { data = ints(10), shape = { 2, 5 } })
tap.is(true, (run { x = z, y = out }), "written")
tap.is(true, (run { x = out, y = z }), "and read again")
tap.is({ 20, 30, 40, 50, 60, 80, 90, 100, 110, 120 }, z:get(), "is what was written")

-- refused at launch
local function refused(args, text, what)
  local ok, message = pcall(function() return select(2, program:launch(args)) end)
  tap.like(text, tostring(message), what .. (ok and "" or " (raised)"))
end
refused({ x = weir.dlpack(make { device = 2, id = 1 }), y = y }, "tensor 'x' is on GPU 1; the kernel runs in the simulator", "a GPU's memory in the simulator")
refused({ x = y, y = weir.dlpack(make { major = 1, flags = 1 }, { versioned = true }) }, "tensor 'y' is read-only, and the kernel writes it", "a read-only result")
refused({ x = weir.dlpack(make { code = FLOAT }), y = y }, "tensor 'x' is f32; the kernel takes i32", "another dtype")
refused({ x = weir.dlpack(make { shape = { 12 } }), y = y }, "tensor 'x' has rank 1; the kernel takes rank 2", "another rank")

-- refused at once; it stays the caller's
local before = core.dltensors_given_back()
for _, bad in ipairs {
  { { device = 10 }, "the DLPack tensor is on a device of type 10; CPU (1) and CUDA (2, 3, 13) are possible" },
  { { code = 5, bits = 64 }, "elements of type code 5, 64 bits, 1 lanes, which weir has no dtype for" },
  { { code = FLOAT, lanes = 4 }, "type code 2, 32 bits, 4 lanes" },
  { { shape = {} }, "the DLPack tensor has 0 axes; 1 to 5 are possible" },
  { { shape = { 2, -1 } }, "the DLPack tensor's axis 1 has -1 elements" },
  { { major = 2 }, "the DLPack tensor is of version 2.0; 1.x is read", true },
} do
  local ok, message = pcall(weir.dlpack, make(bad[1]), { versioned = bad[3] })
  tap.ok(not ok, "refused: " .. bad[2])
  tap.like(bad[2], tostring(message), "with the reason")
end
tap.is(before, core.dltensors_given_back(), "what is refused is not released")
tap.like("the DLPack tensor is null", select(2, pcall(weir.dlpack, 0)), "no pointer")
tap.like("an integer or light userdata, got string", select(2, pcall(weir.dlpack, "x")), "a wrong type")
tap.matches("foreign%.t:%d+: weir%.dlpack", select(2, pcall(function() weir.dlpack({}) end)), "at the caller's line")
tap.like("did you mean 'shape'", select(2, pcall(function() return x.shap end)), "a misspelt field")

-- given back once
collectgarbage()
before = core.dltensors_given_back()
x:close()
tap.is(before + 1, core.dltensors_given_back(), "closed: given back")
x:close()
x = tostring(x)
collectgarbage()
tap.is({ before + 1, "foreign tensor (given back)" }, { core.dltensors_given_back(), x }, "once")
do local t <close> = weir.dlpack(make()); tap.is("i32", t.dtype, "a local with <close>") end
tap.is(before + 2, core.dltensors_given_back(), "is given back at the end of its block")
do local t = weir.dlpack(make()); tap.is(2, t.rank, "a local without") end
collectgarbage()
tap.is(before + 3, core.dltensors_given_back(), "is given back when it is collected")
local gone = weir.dlpack(make())
gone:close()
tap.like("argument 'x': the tensor was given back to its owner", select(2, pcall(program.launch, program, { x = gone, y = y })), "no launch with one that is gone")

-- ---- addresses ---------------------------------------------------------------------------------------------------------------------

local function tensor(rows, cols, dtype) return dev:tensor { dtype = dtype or "i32", shape = { rows, cols } } end
local from, to = tensor(2, 6):set { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, tensor(2, 6)
-- rows of 6 are 8 apart; a shape alone is packed
tap.is(true, (run { x = { address = from.address, shape = { 2, 6 }, dtype = "i32" }, y = to }), "an address and a shape")
tap.is({ 1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10 }, to:get(), "are a packed tensor")
local function says(text, what, ...)
  local ok, message = pcall(...)
  tap.ok(not ok, what .. ": refused")
  tap.like(text, tostring(message), "with the reason")
end
says("tensor 'x' takes 2400 bytes from its address on, where the simulator's tensor has 64 left", "a shape beyond the simulator's tensor",
  run, { x = { address = from.address, shape = { 100, 6 }, dtype = "i32" }, y = tensor(100, 6) })
says("tensor 'y': axis 0 steps by 0 elements; what is written must have places of its own", "a result whose rows are one",
  run, { x = from, y = { address = to.address, shape = { 2, 6 }, stride = { 0, 1 }, dtype = "i32" } })
says("tensor 'x' lies on another simulator than the one that the kernel runs on", "another simulator's tensor",
  run, { x = weir.device("sim"):tensor { dtype = "i32", shape = { 2, 6 } }, y = to })
local bound = program:bind({ x = from, y = to }, { grid = 1 })
local other = tensor(2, 6)
tap.is(true, bound:set_address("y", other) and bound:launch(), "a bound launch into another tensor")
tap.is({ 7, 12 }, { other:get()[7], other:get()[12] }, "fills that")
says("tensor 'y': axis 0 has 1 elements with stride 8; it is bound with 2 and 8: bind once more for another shape", "a smaller one", bound.set_address, bound, "y", tensor(1, 6))
says("tensor 'y' is f32; the kernel takes i32", "one of another dtype", bound.set_address, bound, "y", tensor(2, 6, "f32"))
says("it has no tensor 'z'", "one that there is not", bound.set_address, bound, "z", other)

-- an empty operand beside tiles of the result: nothing of it is copied
local k = weir.kernel { name = "rest", arch = "sm_90a" }
local N, H = k:dim "N", k:dim "H"
local X = k:tensor { name = "X", dtype = "f32", shape = { H, 64 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 64 }, out = true }
local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
local wq = k:work_queue { name = "wq", over = Y, tile = { 64, 64 } }
k:task { name = "load", warps = { 4, 1 }, schedule = function()
  for _ in weir.work_tile_loop(wq) do
    for i in weir.domain_loop(weir.ceil_div(H, 64)) do s:acquire(); s:tma_load(gx:at(i, 0)); s:commit() end
    wq:next()
  end
end }
k:task { name = "sum", warps = { 0, 4 }, schedule = function()
  for t in weir.work_tile_loop(wq) do
    r:zero()
    for _ in weir.domain_loop(weir.ceil_div(H, 64)) do s:wait(); r:set(r:read() + s:read():load()); s:release() end
    gy:store(r:read(), t)
    wq:next()
  end
end }
local sum, ys = k:build { device = dev }, dev:tensor { dtype = "f32", shape = { 100, 64 } }:fill(7)
tap.is(true, sum:launch { X = dev:tensor { dtype = "f32", shape = { 0, 64 } }, Y = ys }, "an empty operand")
tap.is({ 0, 0 }, { ys:get()[1], ys:get()[6400] }, "adds nothing")
tap.done()
