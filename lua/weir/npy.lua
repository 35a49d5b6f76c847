-- Tensors to and from NumPy's .npy files (format 1.0 and 2.0, C order, little endian).
--
--   local a = weir.npy.load("a.npy", dev)           -- a device tensor; { dtype = "bf16" } converts
--   weir.npy.save("d.npy", d)
local npy = {}

-- NumPy has no bf16 and no 8-bit floats: they are saved as f32.
local descr_of = {
  bool = "|b1", i8 = "|i1", u8 = "|u1", i16 = "<i2", u16 = "<u2", i32 = "<i4", u32 = "<u4", i64 = "<i8", u64 = "<u8", f16 = "<f2", f32 = "<f4", f64 = "<f8",
}
local dtype_of = {}
for dtype, descr in pairs(descr_of) do dtype_of[descr] = dtype end

-- What the format allows and these files cannot hold, by the kind of the descr: the letter behind the byte order.
local no_counterpart = { O = "Python objects", S = "byte strings", U = "strings", V = "records", M = "dates", m = "time spans", c = "complex numbers", f = "a float of this size" }

-- What is wrong with a descr that no dtype has.
local function foreign(header)
  local descr = header:match "'descr':%s*'([^']*)'"
  if not descr then return header:find "'descr':%s*%[" and "records (structured arrays) have no counterpart" or "the header cannot be read" end
  if dtype_of[descr:gsub("^>", "<")] then return ("big-endian numbers ('%s'); save it with a.astype(a.dtype.newbyteorder('<'))"):format(descr) end
  local kind = no_counterpart[descr:match "^[<>|=]?(%a)"]
  return ("dtype '%s'%s has no counterpart"):format(descr, kind and (", " .. kind .. ",") or "")
end

local MAX_RANK = 5

-- The extents of "(2, 3)" as the header writes them, or nil and why.
local function extents(list)
  local shape = {}
  for entry in (list:match "^(.-),?%s*$" .. ","):gmatch "([^,]*)," do
    local digits = entry:match "^%s*(%d+)L?%s*$"
    if not digits then
      if list:match "^%s*$" then return { 1 } end -- a scalar
      return nil, ("shape (%s): '%s' is no extent"):format(list, entry:match "^%s*(.-)%s*$")
    end
    shape[#shape + 1] = math.tointeger(tonumber(digits))
    if not shape[#shape] then return nil, ("shape (%s): %s is out of range"):format(list, digits) end
  end
  if #shape > MAX_RANK then return nil, ("shape (%s) has %d axes, %d are possible"):format(list, #shape, MAX_RANK) end
  return shape
end

-- The header's dict and where the data starts, or nil and why.
local function parse(bytes)
  if bytes:sub(1, 6) ~= "\x93NUMPY" then return nil, "not an .npy file" end
  local major = bytes:byte(7)
  if not major or #bytes < 8 then return nil, "the header is cut short" end
  if major < 1 or major > 3 then return nil, ("format %s is not known"):format(major) end
  local wide = major > 1
  if #bytes < (wide and 12 or 10) then return nil, "the header is cut short" end
  local length, start = string.unpack(wide and "<I4" or "<I2", bytes, 9)
  local header = bytes:sub(start, start + length - 1)
  if #header < length then return nil, "the header is cut short" end
  local order, list = header:match "'fortran_order':%s*(%a+)", header:match "'shape':%s*%(([^)]*)%)"
  if not (order and list) then return nil, "the header cannot be read" end
  local descr = header:match "'descr':%s*'([^']*)'"
  local dtype = descr and dtype_of[descr:gsub("^=", "<")]
  if not dtype then return nil, foreign(header) end
  if order ~= "False" then return nil, "columns come first (Fortran order); save it with numpy.ascontiguousarray" end
  local shape, why = extents(list)
  if not shape then return nil, why end
  return { dtype = dtype, shape = shape, at = start + length }
end

-- Bytes that a tensor of this dtype and shape holds; a float when no integer does.
local function size_of(dtype, shape)
  local size = require "weir".dtype_size(dtype)
  for _, extent in ipairs(shape) do
    local more = size * extent
    size = (math.type(size) == "float" or extent ~= 0 and more // extent ~= size) and size * 1.0 * extent or more
  end
  return size
end

-- Raises at the line that called the function above.
local function want(what, name, value, kind, ok)
  if not ok then error(("%s: %s is %s, got %s"):format(what, name, kind, value == nil and "nil" or type(value)), 3) end
end

-- Known by their text: metatables are hidden. Closed ones pass; what they are asked for next says so.
local function is_tensor(x) return type(x) == "userdata" and tostring(x):find "^[%w]+ [%d x]+ on " ~= nil or tostring(x) == "device tensor (closed)" end
local function is_device(x) return type(x) == "userdata" and tostring(x):find "^device " ~= nil and not is_tensor(x) end

-- A device tensor from a file. options.dtype: another dtype than the file's. nil and a message when the file cannot be read.
function npy.load(path, device, options)
  want("npy.load", "the path", path, "a string", type(path) == "string")
  want("npy.load", "the device", device, "a device", is_device(device))
  want("npy.load", "options", options, "a table", options == nil or type(options) == "table")
  local file <close>, why = io.open(path, "rb")
  if not file then return nil, why end
  local bytes, unread = file:read "a"
  if not bytes then return nil, ("%s: %s"):format(path, unread or "cannot be read") end
  local head, bad = parse(bytes)
  if not head then return nil, path .. ": " .. bad end
  local data, wanted = #bytes - head.at + 1, size_of(head.dtype, head.shape)
  if data ~= wanted then return nil, ("%s: %d bytes of data, the header says %s"):format(path, data, ("%.0f"):format(wanted)) end
  local tensor, message, code = device:tensor { dtype = head.dtype, shape = head.shape }
  if not tensor then return nil, message, code end
  local done
  done, message, code = tensor:set(bytes:sub(head.at))
  if not done then return nil, message, code end
  local to = options and options.dtype or head.dtype
  if to == head.dtype then return tensor end
  local converted = device:tensor { dtype = to, shape = head.shape }
  local ok, result, text, kind = pcall(converted.set, converted, tensor:get())
  if not ok then return nil, ("%s: as %s: %s"):format(path, to, (tostring(result):gsub("^.-:%d+: ", ""))) end
  return result, text, kind
end

-- Writes a device tensor. true, or nil and a message.
function npy.save(path, tensor)
  want("npy.save", "the path", path, "a string", type(path) == "string")
  want("npy.save", "the tensor", tensor, "a device tensor", is_tensor(tensor))
  if not descr_of[tensor.dtype] then tensor = tensor.device:tensor { dtype = "f32", shape = tensor.shape }:set(tensor:get()) end
  local data, message, code = tensor:get "bytes"
  if not data then return nil, message, code end
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"):format(descr_of[tensor.dtype], table.concat(tensor.shape, ", "))
  header = header .. (" "):rep(-(10 + #header + 1) % 64) .. "\n" -- the data is 64-aligned
  local file, why = io.open(path, "wb")
  if not file then return nil, why end
  local ok, err = file:write("\x93NUMPY\1\0", string.pack("<I2", #header), header, data)
  local closed, late = file:close() -- what the system kept back is written here
  if not (ok and closed) then return nil, ("%s: %s"):format(path, err or late or "not written") end
  return true
end

return npy
