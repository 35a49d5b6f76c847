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

-- The header's dict and where the data starts, or nil and why.
local function parse(bytes)
  if bytes:sub(1, 6) ~= "\x93NUMPY" then return nil, "not an .npy file" end
  local major = bytes:byte(7)
  if not major or major < 1 or major > 3 then return nil, ("format %s is not known"):format(major) end
  local wide = major > 1
  if #bytes < (wide and 12 or 10) then return nil, "the header is cut short" end
  local length, start = string.unpack(wide and "<I4" or "<I2", bytes, 9)
  local header = bytes:sub(start, start + length - 1)
  if #header < length then return nil, "the header is cut short" end
  local descr, order, list = header:match "'descr':%s*'([^']*)'", header:match "'fortran_order':%s*(%a+)", header:match "'shape':%s*%(([^)]*)%)"
  if not (descr and order and list) then return nil, "the header cannot be read" end
  if order ~= "False" then return nil, "columns come first (Fortran order); save it with numpy.ascontiguousarray" end
  local dtype = dtype_of[descr:gsub("^=", "<")]
  if not dtype then return nil, ("dtype '%s' has no counterpart"):format(descr) end
  local shape = {}
  for extent in list:gmatch "%d+" do shape[#shape + 1] = math.tointeger(tonumber(extent)) end
  if #shape == 0 then shape[1] = 1 end -- a scalar
  return { dtype = dtype, shape = shape, at = start + length }
end

-- A device tensor from a file. options.dtype: another dtype than the file's. nil and a message when the file cannot be read.
function npy.load(path, device, options)
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local bytes = file:read "a"
  file:close()
  local head, bad = parse(bytes)
  if not head then return nil, path .. ": " .. bad end
  local tensor, message, code = device:tensor { dtype = head.dtype, shape = head.shape }
  if not tensor then return nil, message, code end
  local data = bytes:sub(head.at)
  local wanted = require "weir".dtype_size(head.dtype)
  for _, extent in ipairs(head.shape) do wanted = wanted * extent end
  if #data ~= wanted then return nil, ("%s: %d bytes of data, the header says %d"):format(path, #data, wanted) end
  tensor:set(data)
  local to = options and options.dtype or head.dtype
  if to == head.dtype then return tensor end
  return device:tensor { dtype = to, shape = head.shape }:set(tensor:get())
end

-- Writes a device tensor. true, or nil and a message.
function npy.save(path, tensor)
  if not descr_of[tensor.dtype] then tensor = tensor.device:tensor { dtype = "f32", shape = tensor.shape }:set(tensor:get()) end
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"):format(descr_of[tensor.dtype], table.concat(tensor.shape, ", "))
  header = header .. (" "):rep(-(10 + #header + 1) % 64) .. "\n" -- the data is 64-aligned
  local file, why = io.open(path, "wb")
  if not file then return nil, why end
  local ok, err = file:write("\x93NUMPY\1\0", string.pack("<I2", #header), header, tensor:get "bytes")
  file:close()
  if not ok then return nil, err end
  return true
end

return npy
