#!/usr/bin/env lua5.4
-- Tensors of other libraries, through DLPack: what is read, what is refused, and that each is given back once.
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
local rows = weir.dlpack(make { shape = { 2, 5 }, strides = { 6, 1 }, offset = 4, major = 1 }, { versioned = true })
tap.is({ { 2, 5 }, { 6, 1 } }, { rows.shape, rows.stride }, "rows with a stride, versioned")
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
tap.is(true, (run { x = rows, y = z }), "one with a stride and an offset")
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
tap.matches("dlpack%.t:%d+: weir%.dlpack", select(2, pcall(function() weir.dlpack({}) end)), "at the caller's line")
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
tap.done()
