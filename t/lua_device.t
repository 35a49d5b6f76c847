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
tap.raises("weir.device: sms is 0; at least 1", function() weir.device("sim", { sms = 0 }) end, "no multiprocessors")
tap.raises("set: the tensor has 4 elements, the table 3", function() dev:tensor { dtype = "f32", shape = { 2, 2 } }:set { 1, 2, 3 } end, "too few numbers")
tap.raises("set: the tensor holds 16 bytes without padding, the string has 2", function() dev:tensor { dtype = "f32", shape = { 2, 2 } }:set "ab" end,
  "too few bytes")
tap.raises("set: element 2 is a number, got string", function() dev:tensor { dtype = "f32", shape = 2 }:set { 1, "2" } end, "a string among numbers")
-- What an integer dtype does not hold, by set() and by fill().
for dtype, range in pairs { i8 = { -128, 127 }, u8 = { 0, 255 }, i16 = { -32768, 32767 }, u16 = { 0, 65535 }, i32 = { -1 << 31, (1 << 31) - 1 }, u32 = { 0, (1 << 32) - 1 },
  i64 = { math.mininteger, math.maxinteger }, u64 = { 0, math.maxinteger } } do
  local t = dev:tensor { dtype = dtype, shape = 2 }
  tap.is(range, t:set(range):get(), dtype .. ": from end to end")
  for _, x in ipairs { 1.5, 0 / 0, 1 / 0, -1 / 0, 2.0 ^ 64, range[1] - 1.0 - 2.0 ^ 12, range[2] + 1.0 + 2.0 ^ 12 } do
    if not (dtype == "u64" and x > 0 and x < 2.0 ^ 64) or x ~= math.floor(x) then
      tap.raises(("set: element 2 of the %s tensor is "):format(dtype), function() t:set { 1, x } end, ("%s: %s"):format(dtype, x))
      tap.raises(("fill: a number for the %s tensor is "):format(dtype), function() t:fill(x) end, ("%s: filled with %s"):format(dtype, x))
    end
  end
  tap.is(range, t:get(), dtype .. ": nothing was written")
end
tap.raises("the u8 tensor is 300: it holds whole numbers from 0 to 255", function() dev:tensor { dtype = "u8", shape = 1 }:set { 300 } end, "with the range")
tap.raises("the bool tensor is ", function() dev:tensor { dtype = "bool", shape = 1 }:fill(0 / 0) end, "neither true nor false")
tap.raises("fill: 9007199254740993 has more than 53 bits", function() dev:tensor { dtype = "i64", shape = 1 }:fill((1 << 53) + 1) end, "not exact on the way")

-- Tables that are not as the tensor: the place, what was expected and what is there.
do
  local t = dev:tensor { dtype = "f32", shape = { 2, 3 } }
  local rows = { { 1, 2, 3 } }
  rows[2] = rows
  tap.raises("set: axis 2 of the tensor has 3 entries, the table at [2] 2", function() t:set(rows) end, "a table in itself")
  local deep = {}
  for _ = 1, 200000 do deep = { deep } end
  tap.raises("set: axis 1 of the tensor has 2 entries, the table 1", function() t:set(deep) end, "a deep table")
  tap.raises("set: [1][1] is a number, got table", function() t:set { { deep, 2, 3 }, { 1, 2, 3 } } end, "a table too deep")
  tap.raises("set: axis 2 of the tensor has 3 entries, the table at [1] 2", function() t:set { { 1, 2 }, { 3, 4, 5, 6 } } end, "ragged rows")
  tap.raises("set: axis 1 of the tensor has 2 entries, the table 3", function() t:set { { 1, 2 }, { 3, 4 }, { 5, 6 } } end, "rows and columns swapped")
  tap.raises("set: [2] is a table of 3, got number", function() t:set { { 1, 2, 3 }, 4 } end, "a number among rows")
  tap.raises("set: element 2 is a number, got table", function() t:set { 1, { 2, 3 }, 4, 5, 6, 7 } end, "a row among numbers")
  tap.raises("set: [2][2] is a number, got nil", function() dev:tensor { dtype = "i64", shape = { 2, 3 } }:set { { 1, 2, 3 }, { 4, nil, 6 } } end, "a hole")
end

-- A pitch that no row can have raises, as every argument that is wrong.
for _, pitch in ipairs { 3, -4, -1, 1 << 31, math.mininteger } do
  tap.raises(pitch > 0x7fffffff and "'pitch' = 2147483648 is out of range" or "pitch", function() dev:tensor { dtype = "f32", shape = { 3, 3 }, pitch = pitch } end, "pitch = " .. pitch)
end
tap.raises("dev:tensor: the tensor's size leaves 64 bits", function() dev:tensor { dtype = "f32", shape = { 1 << 62, 1 << 62 } } end, "a size that no number holds")
tap.is("memory", select(3, dev:tensor { dtype = "f32", shape = { 1 << 58 } }), "a size that no machine holds is no mistake of the script's")
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
