-- Y[i] = op over j of X[i, j]: a number for each row.
--
--   local reduce = require "weir.kernels.reduce"
--   local p = reduce.build { op = "sum", dtype = "bf16", n = 8192 }
--   p:launch { X = x, Y = y }                             -- X { M, N <= 8192 }, Y { M }
--
-- Sums are kept in f32. Rows of no elements give the neutral element (mean: NaN).
local common = require "weir.kernels.common"
local rows = require "weir.kernels.rows"
local M = {}

---@class weir.kernels.reduce.options
---@field n integer                    longest row
---@field m? integer                   rows, a hint, for tuning
---@field op "sum"|"mean"|"max"|"min"|"sum_squares"|"norm"|"abs_max"
---@field dtype? "bf16"|"f16"|"f32"    of X
---@field out? "bf16"|"f16"|"f32"      of Y; default: f32
---@field config? weir.kernels.rows.config
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local OPS = {                          -- reduction, what is reduced, the result
  sum = { "sum", "v", "r" }, mean = { "sum", "v", "r / (float)n" }, max = { "max", "v", "r" }, min = { "min", "v", "r" },
  sum_squares = { "sum", "v * v", "r" }, norm = { "sum", "v * v", "sqrtf(r)" }, abs_max = { "max", "fabsf(v)", "r" },
}

local function spec(options)
  local what = "reduce.build"
  local o = common.options(what, options, "n m op dtype out config pdl device arch")
  local op = OPS[common.choice(what, "op", o.op, "sum mean max min sum_squares norm abs_max")]
  return {
    name = "reduce_" .. o.op, n = common.size(what, "n", o.n) or error(what .. ": n, the longest row, is missing", 0), arch = o.arch,
    dtype = common.choice(what, "dtype", o.dtype, "bf16 f16 f32", "bf16"), inputs = { "x" },
    steps = { { name = "r", op = op[1], each = op[2] } },
    results = { { name = "y", dtype = common.choice(what, "out", o.out, "bf16 f16 f32", "f32"), value = op[3] } }, config = o.config, pdl = o.pdl,
  }
end

--- Builds it. Launch arguments: X, Y.
---@param options weir.kernels.reduce.options
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
