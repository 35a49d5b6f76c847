-- Y = X / sqrt(mean(X^2) + eps) * W, row by row, with the addition of a residual before it.
--
--   local rms_norm = require "weir.kernels.rms_norm"
--   local p = rms_norm.build { dtype = "bf16", n = 8192 }
--   p:launch { X = x, W = w, Y = y, eps = 1e-6 }          -- X, Y { M, N <= 8192 }, W { N }
--
-- With residual = true the row is X + R, rounded to its dtype; it goes to S as well (which may be R's memory).
local common = require "weir.kernels.common"
local rows = require "weir.kernels.rows"
local M = {}

---@class weir.kernels.rms_norm.options
---@field n integer                    longest row
---@field m? integer                   rows, a hint, for tuning
---@field dtype? "bf16"|"f16"|"f32"    of X, R and S
---@field out? "bf16"|"f16"|"f32"      of Y; default: dtype
---@field weight? false|weir.dtype     of W; default: dtype; false: none
---@field residual? boolean            operands R (in) and S (out): S = X + R
---@field config? weir.kernels.rows.config
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local function spec(options)
  local what = "rms_norm.build"
  local o = common.options(what, options, "n m dtype out weight residual config pdl device arch")
  local floats = "bf16 f16 f32"
  local dtype = common.choice(what, "dtype", o.dtype, floats, "bf16")
  local weight = o.weight ~= false and common.choice(what, "weight", o.weight ~= true and o.weight or nil, floats, dtype)
  local outputs = { { name = "y", dtype = common.choice(what, "out", o.out, floats, dtype), value = weight and "v * scale * w" or "v * scale" } }
  if o.residual then outputs[2] = { name = "s", dtype = dtype, value = "v" } end
  return {
    name = "rms_norm", n = common.size(what, "n", o.n) or error(what .. ": n, the longest row, is missing", 0), dtype = dtype, arch = o.arch,
    inputs = o.residual and { "x", "r" } or { "x" }, value = o.residual and "x + r" or nil, round = o.residual,
    columns = weight and { { name = "w", dtype = weight } } or {}, scalars = { "eps" },
    steps = { { name = "squares", op = "sum", each = "v * v", after = "const float scale = w_rsqrt(squares / (float)n + eps);" } },
    outputs = outputs, config = o.config, pdl = o.pdl,
  }
end

--- Builds it. Launch arguments: X, Y, eps; W unless weight = false; R and S with residual.
---@param options weir.kernels.rms_norm.options
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
