-- Y = softmax(scale * X) along rows, or its logarithm.
--
--   local softmax = require "weir.kernels.softmax"
--   local p = softmax.build { dtype = "bf16", n = 8192 }
--   p:launch { X = x, Y = y }                             -- X, Y { M, N <= 8192 }
--
-- Three uses of a row that is read once: its maximum, the sum of exp(x - maximum), the result. A row of nothing but -inf gives NaN, as
-- in torch.
local common = require "weir.kernels.common"
local rows = require "weir.kernels.rows"
local M = {}

---@class weir.kernels.softmax.options
---@field n integer                    longest row
---@field m? integer                   rows, a hint, for tuning
---@field dtype? "bf16"|"f16"|"f32"
---@field out? "bf16"|"f16"|"f32"      of Y; default: dtype
---@field log? boolean                 log(softmax(X))
---@field scale? number|true           factor of X; true: the launch argument `scale`, which must be positive
---@field config? weir.kernels.rows.config
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local function spec(options)
  local what = "softmax.build"
  local o = common.options(what, options, "n m dtype out log scale config pdl device arch")
  local floats = "bf16 f16 f32"
  local dtype = common.choice(what, "dtype", o.dtype, floats, "bf16")
  if o.scale ~= nil and o.scale ~= true and (type(o.scale) ~= "number" or o.scale <= 0) then error(what .. ": scale is a positive number or true", 0) end
  local scale2 = o.scale == true and "scale * 1.44269504f" or ("%.9gf"):format((o.scale or 1) * 1.4426950408889634)
  if not scale2:find "[.e]" then scale2 = scale2:gsub("f$", ".f") end
  local steps = { { name = "most", op = "max", each = "v", after = ("const float by = %s, shift = most * by;"):format(scale2) } }
  local value
  if o.log then
    steps[2] = { name = "total", op = "sum", each = "w_exp2(v * by - shift)", after = "const float log_total = w_log2(total);" }
    value = "(v * by - shift - log_total) * 0.693147181f"
  else
    steps[2] = { name = "total", op = "sum", let = "v = w_exp2(v * by - shift);", each = "v", after = "const float part = 1.f / total;" }
    value = "v * part"
  end
  return {
    name = "softmax", n = common.size(what, "n", o.n) or error(what .. ": n, the longest row, is missing", 0), dtype = dtype, arch = o.arch,
    inputs = { "x" }, scalars = o.scale == true and { "scale" } or {}, steps = steps,
    outputs = { { name = "y", dtype = common.choice(what, "out", o.out, floats, dtype), value = value } }, config = o.config, pdl = o.pdl,
  }
end

--- Builds it. Launch arguments: X, Y; scale where asked for.
---@param options weir.kernels.softmax.options
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
