#!/usr/bin/env lua5.4
-- Devices and tensors from Lua, on the simulator: what goes in comes out, what is wrong is said, what is closed stays closed.
local tap = require "tap"
local weir = require "weir"

local dev = assert(weir.device("sim", { seed = 3 }))
tap.ok(dev.is_sim, "the simulator is one")
tap.ok(dev.sms > 0, "it runs CTAs at once")
tap.is(true, dev:sync(), "sync")
tap.is("", dev:findings(), "no run, no findings")

-- Every dtype keeps what it can hold exactly.
for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2" } do
  local t = dev:tensor { dtype = dtype, shape = { 2, 3 } }:set { 1, 2, 3, 4, 5, 6 }
  tap.is({ 1, 2, 3, 4, 5, 6 }, t:get(), dtype .. ": set and get")
  local kind = dtype:match "^[iu]" and "integer" or "float"
  tap.is(kind, math.type(t:get()[1]), dtype .. ": numbers are of its kind")
  tap.is(6 * weir.dtype_size(dtype), #t:get "bytes", dtype .. ": bytes without padding")
end

do
  local t = dev:tensor { dtype = "bf16", shape = { 3, 5 } }
  tap.is({ 3, 5 }, t.shape, "shape")
  tap.is({ 8, 1 }, t.stride, "rows are padded to 16 bytes")
  tap.is({ 5, 1 }, dev:tensor { dtype = "bf16", shape = { 3, 5 }, pitch = 2 }.stride, "a pitch by hand")
  tap.is("bf16", t.dtype, "dtype")
  tap.is(2, t.rank, "rank")
  tap.ok(rawequal(t.device, dev), "its device")
  tap.like("bf16 3 x 5 on ", tostring(t), "text")
  t:set { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 }, { 11, 12, 13, 14, 15 } }
  tap.is({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, t:get(), "rows as tables")
  local copy = t:copy()
  t:fill(2.5)
  tap.is(2.5, t:get()[15], "fill")
  tap.is({ 15, 15 }, { copy:get()[15], #copy:get() }, "a copy is its own")
  tap.is(t:get(), dev:tensor { dtype = "bf16", shape = { 3, 5 } }:set(t:get "bytes"):get(), "bytes back and forth")
  local other = assert(weir.device("sim"))
  tap.is(copy:get(), copy:copy(other):get(), "a copy onto another device")
  local a, b, c = dev:tensor { dtype = "f32", shape = 100 }:randn(1), dev:tensor { dtype = "f32", shape = 100 }:randn(1),
    dev:tensor { dtype = "f32", shape = 100 }:randn(2)
  tap.is(a:get(), b:get(), "random numbers follow the seed")
  tap.isnt(a:get(), c:get(), "another seed, other numbers")
  tap.is({ 0x7fffffffffffffff, -1 }, dev:tensor { dtype = "i64", shape = 2 }:set { math.maxinteger, -1 }:get(), "i64 keeps all bits")
  tap.is({}, dev:tensor { dtype = "f32", shape = { 0, 4 } }:get(), "an extent of 0")
  tap.is({ 1, 0 }, dev:tensor { dtype = "bool", shape = 2 }:set { true, false }:get(), "bools")
end

-- Mistakes.
tap.raises("set: the tensor has 4 elements, the table 3", function() dev:tensor { dtype = "f32", shape = { 2, 2 } }:set { 1, 2, 3 } end, "too few numbers")
tap.raises("set: the tensor holds 16 bytes without padding, the string has 2", function() dev:tensor { dtype = "f32", shape = { 2, 2 } }:set "ab" end,
  "too few bytes")
tap.raises("set: element 2 is a number, got string", function() dev:tensor { dtype = "f32", shape = 2 }:set { 1, "2" } end, "a string among numbers")
tap.raises("set: element 1 of an integer tensor is 1.5", function() dev:tensor { dtype = "i64", shape = 1 }:set { 1.5 } end, "a fraction for i64")
tap.raises("dev:tensor: needs dtype", function() dev:tensor { shape = { 2 } } end, "no dtype")
tap.raises("dev:tensor: unknown field 'shap'; did you mean 'shape'?", function() dev:tensor { dtype = "f32", shap = { 2 } } end, "misspelt field")
tap.raises("shape[2] = -1", function() dev:tensor { dtype = "f32", shape = { 2, -1 } } end, "negative extent")
tap.raises("a device tensor has no method or field 'filll'; did you mean 'fill'?", function() dev:tensor { dtype = "f32", shape = 2 }:filll(0) end,
  "misspelt method")
tap.raises("'gpu' is no device", function() weir.device "gpu" end, "no such kind of device")

-- Devices that are not there: nil, message, code.
do
  local n = weir.device_count()
  local none, message, code = weir.device(n + 7)
  tap.is(nil, none, "a GPU that is not there")
  tap.ok(#message > 0, "with a message: " .. tostring(message))
  tap.is("no_device", code, "and a code")
end

-- Closing, by hand, by a block, by the collector.
do
  local d = assert(weir.device("sim"))
  local t = d:tensor { dtype = "f32", shape = 4 }
  d:close()
  tap.raises("closed", function() t:get() end, "a tensor of a closed device")
  tap.raises("the device is closed", function() d:sync() end, "a closed device")
  tap.like("closed", tostring(t), "its text")
  tap.is("device (closed)", tostring(d), "and the device's")
  local u
  do
    local block <close> = dev:tensor { dtype = "f32", shape = 4 }
    u = block
  end
  tap.raises("closed", function() u:get() end, "a tensor closed by its block")
  collectgarbage() collectgarbage()
  local before = weir.live_bytes()
  for _ = 1, 20 do
    assert(weir.device("sim")):tensor { dtype = "f32", shape = { 64, 64 } }:fill(1)
  end
  collectgarbage() collectgarbage()
  tap.is(before, weir.live_bytes(), "the collector gives all memory back")
end

tap.done()
