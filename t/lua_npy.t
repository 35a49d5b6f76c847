#!/usr/bin/env lua5.4
-- .npy files: what NumPy writes is read, what is written NumPy reads (its format, byte by byte).
local tap = require "tap"
local weir = require "weir"
local dev = assert(weir.device "sim")
local path = os.tmpname()

local function write(bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
end

local function read()
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- numpy.save of arange(6, dtype = int16).reshape(2, 3)
local header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"
header = header .. (" "):rep(128 - 10 - #header - 1) .. "\n"
local file = "\x93NUMPY\1\0" .. string.pack("<I2", #header) .. header .. string.pack("<i2i2i2i2i2i2", 0, 1, 2, 3, 4, 5)
write(file)
local t = assert(weir.npy.load(path, dev))
tap.is({ "i16", { 2, 3 }, { 0, 1, 2, 3, 4, 5 } }, { t.dtype, t.shape, t:get() }, "an array of NumPy's")
tap.is("bf16", weir.npy.load(path, dev, { dtype = "bf16" }).dtype, "converted while it is loaded")
tap.is(true, weir.npy.save(path, t), "saved")
tap.is(0, (#read() - 12) % 64, "the data is 64-aligned")
tap.is({ 0, 1, 2, 3, 4, 5 }, weir.npy.load(path, dev):get(), "and loaded again")
weir.npy.save(path, dev:tensor { dtype = "bf16", shape = 3 }:set { 1, 2, 3 })
t = weir.npy.load(path, dev)
tap.is({ "f32", { 3 }, { 1, 2, 3 } }, { t.dtype, t.shape, t:get() }, "bf16 is saved as f32")

local function refused(name, wanted, bytes)
  write(bytes)
  local none, message = weir.npy.load(path, dev)
  tap.is(nil, none, name)
  tap.like(wanted, message, name .. ": the message")
end
refused("another file", "not an .npy file", "PK\3\4")
refused("cut in the header", "the header is cut short", file:sub(1, 40))
refused("cut in the data", "11 bytes of data, the header says 12", file:sub(1, -2))
refused("Fortran order", "columns come first", (file:gsub("False", "True ")))
refused("complex numbers", "dtype '<c8', complex numbers, has no counterpart", (file:gsub("<i2", "<c8")))

-- A header with these in place of the usual ones, and so many bytes of data.
local function with(descr, shape, bytes, order)
  local dict = ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }"):format(descr, order or "False", shape)
  dict = dict .. (" "):rep(-(10 + #dict + 1) % 64) .. "\n"
  return "\x93NUMPY\1\0" .. string.pack("<I2", #dict) .. dict .. ("\0"):rep(bytes)
end
refused("a negative extent", "shape (-2,): '-2' is no extent", with("'<f4'", "(-2,)", 8))
refused("an extent with a fraction", "shape (2.5, 2): '2.5' is no extent", with("'<f4'", "(2.5, 2)", 20))
refused("no extent between commas", "shape (2,, 2): '' is no extent", with("'<f4'", "(2,, 2)", 16))
refused("words for extents", "'two' is no extent", with("'<f4'", "(two, 2)", 16))
refused("an extent that no number holds", "99999999999999999999 is out of range", with("'<f4'", "(99999999999999999999,)", 4))
refused("a size that no number holds", "4 bytes of data, the header says 73786976294838206464", with("'<f4'", "(4611686018427387904, 4)", 4))
refused("a size far beyond the file", "4 bytes of data, the header says 4398046511104", with("'<f4'", "(1048576, 1048576)", 4))
refused("six axes", "has 6 axes, 5 are possible", with("'<f4'", "(1, 1, 1, 1, 1, 1)", 4))
refused("more data than the shape holds", "9 bytes of data, the header says 8", with("'<f4'", "(2,)", 9))
refused("big-endian", "big-endian numbers ('>f4')", with("'>f4'", "(2,)", 8))
refused("objects", "dtype '|O', Python objects, has no counterpart", with("'|O'", "(2,)", 16))
refused("strings", "dtype '<U3', strings, has no counterpart", with("'<U3'", "(2,)", 24))
refused("records", "records (structured arrays) have no counterpart", with("[('a', '<f4')]", "(2,)", 8))
refused("a float of 16 bytes", "dtype '<f16', a float of this size, has no counterpart", with("'<f16'", "(2,)", 32))
refused("no order", "the header cannot be read", with("'<f4'", "(2,)", 8, "1"))
refused("a format that is not known", "format 9 is not known", "\x93NUMPY\9\0" .. file:sub(9))
for _, n in ipairs { 0, 3, 6, 7, 8, 9, 10, 20 } do refused(("cut at byte %d"):format(n), n < 6 and "not an .npy file" or "the header is cut short", file:sub(1, n)) end
write(with("'<f4'", "(0, 4)", 0))
tap.is({ { 0, 4 }, {} }, { weir.npy.load(path, dev).shape, weir.npy.load(path, dev):get() }, "an empty array")
write(with("'<f4'", "()", 4))
tap.is({ { 1 }, { 0 } }, { weir.npy.load(path, dev).shape, weir.npy.load(path, dev):get() }, "a scalar")
weir.npy.save(path, dev:tensor { dtype = "f32", shape = 2 }:set { 1, 2.5 })
tap.is({ nil, path .. ": as i32: set: element 2 of the i32 tensor is 2.5: it holds whole numbers from -2147483648 to 2147483647" },
  { weir.npy.load(path, dev, { dtype = "i32" }) }, "a fraction for integers")
do
  local no, why = weir.npy.load("/tmp", dev)
  tap.is(nil, no, "a folder")
  tap.like("/tmp: Is a directory", why, "a folder: the message")
  if io.open("/dev/full", "wb") then
    no, why = weir.npy.save("/dev/full", t)
    tap.is(nil, no, "a full disk")
    tap.like("/dev/full: No space left", why, "a full disk: the message")
  end
end
-- Misuse raises at the script's own line.
local function raises(wanted, f, name)
  tap.like(wanted, tap.raises("lua_npy.t:", f, name .. ": at this line") or "", name)
end
raises("npy.load: the path is a string, got nil", function() weir.npy.load() end, "load without anything")
raises("npy.load: the device is a device, got nil", function() weir.npy.load(path) end, "load without a device")
raises("npy.load: the device is a device, got userdata", function() weir.npy.load(path, t) end, "load onto a tensor")
raises("npy.load: options is a table, got string", function() weir.npy.load(path, dev, "bf16") end, "load with a dtype alone")
raises("npy.save: the path is a string, got userdata", function() weir.npy.save(t, path) end, "save, the wrong way round")
raises("npy.save: the tensor is a device tensor, got nil", function() weir.npy.save(path) end, "save without a tensor")
raises("'f33'", function() weir.npy.load(path, dev, { dtype = "f33" }) end, "load as a dtype that is none")
local none, message = weir.npy.load("/nowhere/x.npy", dev)
tap.is(nil, none, "no file")
tap.like("/nowhere/x.npy", message, "no file: the message")
tap.is(nil, (weir.npy.save("/nowhere/x.npy", t)), "no folder")

os.remove(path)
tap.done()
