-- Y = (X - mean(X)) / sqrt(var(X) + eps) * W + B, row by row, with the addition of a residual before it.
--
--   local layer_norm = require "weir.kernels.layer_norm"
--   local p = layer_norm.build { dtype = "bf16", n = 8192 }
--   p:launch { X = x, W = w, B = b, Y = y, eps = 1e-5 }   -- X, Y { M, N <= 8192 }, W, B { N }
--
-- The variance is that of the differences from the mean, in a pass of its own: exact where a sum of squares would cancel.
local common = require "weir.kernels.common"
local rows = require "weir.kernels.rows"
local M = {}

---@class weir.kernels.layer_norm.options
---@field n integer                    longest row
---@field m? integer                   rows, a hint, for tuning
---@field dtype? "bf16"|"f16"|"f32"    of X, R and S
---@field out? "bf16"|"f16"|"f32"      of Y; default: dtype
---@field weight? false|weir.dtype     of W and B; default: dtype; false: neither
---@field bias? boolean                operand B; default: with W
---@field residual? boolean            operands R (in) and S (out): S = X + R, rounded to dtype, is what is normalised
---@field config? weir.kernels.rows.config
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local function spec(options)
  local what = "layer_norm.build"
  local o = common.options(what, options, "n m dtype out weight bias residual config pdl device arch")
  local floats = "bf16 f16 f32"
  local dtype = common.choice(what, "dtype", o.dtype, floats, "bf16")
  local weight = o.weight ~= false and common.choice(what, "weight", o.weight ~= true and o.weight or nil, floats, dtype)
  local value, columns = "(v - mean) * scale", {}
  if weight then value = value .. " * w"; columns[1] = { name = "w", dtype = weight } end
  if weight and o.bias ~= false then value = value .. " + b"; columns[2] = { name = "b", dtype = weight } end
  local outputs = { { name = "y", dtype = common.choice(what, "out", o.out, floats, dtype), value = value } }
  if o.residual then outputs[2] = { name = "s", dtype = dtype, value = "v" } end
  return {
    name = "layer_norm", n = common.size(what, "n", o.n) or error(what .. ": n, the longest row, is missing", 0), dtype = dtype, arch = o.arch,
    inputs = o.residual and { "x", "r" } or { "x" }, value = o.residual and "x + r" or nil, round = o.residual,
    columns = columns, scalars = { "eps" },
    steps = {
      { name = "mean", op = "sum", each = "v", after = "mean *= 1.f / (float)n;" },
      { name = "squares", op = "sum", each = "(v - mean) * (v - mean)", after = "const float scale = w_rsqrt(squares / (float)n + eps);" },
    },
    outputs = outputs, config = o.config, pdl = o.pdl,
  }
end

--- Builds it. Launch arguments: X, Y, eps; W and B unless weight = false; R and S with residual.
---@param options weir.kernels.layer_norm.options
---@return weir.kernels.ready
function M.build(options)
  local ready = common.blame(function() return rows.build(spec(options), options.device) end)
  return ready                                            -- no tail call: an error names the line that called this function
end

--- Configurations worth a try, and arguments to try them with: for weir.tune.
---@return weir.kernels.rows.config[]
function M.candidates(options)
  local s = spec(options)
  return rows.candidates(s.dtype, s.n, #s.inputs)
end

function M.example(options, device) return rows.example(spec(options), options.m or 4096, device) end

return M
