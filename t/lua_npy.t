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
refused("complex numbers", "dtype '<c8' has no counterpart", (file:gsub("<i2", "<c8")))
local none, message = weir.npy.load("/nowhere/x.npy", dev)
tap.is(nil, none, "no file")
tap.like("/nowhere/x.npy", message, "no file: the message")
tap.is(nil, (weir.npy.save("/nowhere/x.npy", t)), "no folder")

os.remove(path)
tap.done()
