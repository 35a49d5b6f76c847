-- A fused elementwise kernel from a Lua function on values.
--
--   local elementwise = require "weir.kernels.elementwise"
--   local swiglu = elementwise.build { inputs = { "x", "gate" }, outputs = { "y" }, dtype = "bf16",
--                                      f = function(x, gate) return x * gate / (1 + weir.exp(-gate)) end }
--   swiglu:launch { x = x, gate = g, y = y }              -- { M, N } each
--
-- f runs once, when the kernel is described; what it computes is emitted, in f32. A vector is a matrix of one row. An operand may
-- also have one element for each column (shape { N }) or each row (shape { M, 1 }).
local weir = require "weir"
local common = require "weir.kernels.common"
local M = {}

---@class weir.kernels.elementwise.operand
---@field name string
---@field dtype? weir.dtype
---@field shape? "full"|"columns"|"rows"      { M, N }, { N } or { M, 1 }

---@class weir.kernels.elementwise.options
---@field inputs (string|weir.kernels.elementwise.operand)[]
---@field outputs (string|weir.kernels.elementwise.operand)[]     as many as f returns
---@field scalars? string[]            f32 launch arguments, handed to f after the inputs
---@field f fun(...: weir.value): weir.value ...
---@field dtype? weir.dtype            of operands that name none; "bf16" if left out
---@field n? integer                   length of a row, a hint: short rows take tiles of more rows
---@field name? string
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local ELEMENTS = 4096                  -- of a tile: 16 for each of 256 threads

local function describe(options)
  local what = "elementwise.build"
  local o = common.options(what, options, "inputs outputs scalars f dtype n name pdl device arch")
  if type(o.f) ~= "function" then error(what .. ": f, a function of the inputs, is missing", 0) end
  local cols = ELEMENTS
  while o.n and cols > 32 and cols // 2 >= o.n do cols = cols // 2 end
  local rows = ELEMENTS // cols
  local k = weir.kernel { name = o.name or "elementwise", arch = o.arch or "sm_90a" }
  local dm, dn = k:dim "M", k:dim "N"
  local shapes = { full = { dm, dn }, columns = { dn }, rows = { dm, 1 } }
  local tiles = { full = { rows, cols }, columns = { cols }, rows = { rows, 1 } }
  local function operand(x, out)
    local t = type(x) == "table" and x or { name = x }
    local shape = common.choice(what, "shape of " .. tostring(t.name), t.shape, out and "full" or "full columns rows", "full")
    local tensor = k:tensor { name = t.name, dtype = t.dtype or o.dtype or "bf16", shape = shapes[shape], out = out }
    return { shape = shape, tile = k:gmem_tile { name = "g_" .. t.name, tensor = tensor, tile = tiles[shape] } }
  end
  local inputs, outputs, scalars = {}, {}, {}
  for i, x in ipairs(o.inputs or {}) do inputs[i] = operand(x, false) end
  for i, x in ipairs(o.outputs or {}) do outputs[i] = operand(x, true) end
  if #outputs == 0 then error(what .. ": no outputs", 0) end
  for i, name in ipairs(o.scalars or {}) do scalars[i] = k:scalar { name = name, dtype = "f32" } end
  local wq = k:work_queue { name = "wq", kind = "grid", axes = { "m", "n" }, extent = { weir.ceil_div(dm, rows), weir.ceil_div(dn, cols) } }
  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "map", warps = { 0, 8 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      local x = {}
      for i, input in ipairs(inputs) do
        x[i] = input.shape == "full" and input.tile:at(t.m, t.n) or input.shape == "columns" and input.tile:at(t.n) or input.tile:at(t.m, 0)
      end
      for i, scalar in ipairs(scalars) do x[#inputs + i] = scalar end
      local y = table.pack(o.f(table.unpack(x)))
      if y.n ~= #outputs then error(("%s: f returns %d values for %d outputs"):format(what, y.n, #outputs), 0) end
      for i, output in ipairs(outputs) do output.tile:store(y[i], output.tile:at(t.m, t.n)) end
      wq:next()
    end
  end }
  return k
end

--- Builds it. Launch arguments: the operands and scalars by their names.
---@param options weir.kernels.elementwise.options
---@return weir.kernels.ready
function M.build(options)
  local ready = common.blame(function()
    return common.ready({ { program = describe(options):build { device = options.device }, pdl = options.pdl } }, {})
  end)
  return ready
end

return M
