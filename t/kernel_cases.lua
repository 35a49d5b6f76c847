-- Awkward cases of kernels/*.lua, each run against a reference in double precision; t/kernels_*.t takes them to the simulator,
-- t/gpu/kernels.t to a GPU. run(dev, case) returns { verdict, trusted, bad, relative }: elements off by more than rounding allows, and
-- the Frobenius norm of the error over that of the reference.
local weir = require "weir"
local M = {}

-- Twice the rounding error of a dtype.
local ROUND = { f64 = 2.0 ^ -50, f32 = 2.0 ^ -22, f16 = 2.0 ^ -10, bf16 = 2.0 ^ -7, i32 = 0 }

---@class seen
---@field verdict string
---@field bad integer
---@field relative number

-- want: the reference, a list; got: elements in the same order. slack: absolute error allowed besides the output's rounding.
local function compare(report, got, want, dtype, slack)
  local e2, s2, bad = 0.0, 0.0, #got == #want and 0 or #want
  for i = 1, #want do
    local d, w = got[i] - want[i], want[i]
    local near = math.abs(d) <= ROUND[dtype] * math.abs(w) + slack -- false for NaN
    if not near and got[i] ~= w then bad = bad + 1 end
    if w == w and math.abs(w) < math.huge then e2, s2 = e2 + d * d, s2 + w * w end
  end
  return { verdict = report.proof.verdict, text = report.proof.text, bad = bad, relative = s2 > 0 and math.sqrt(e2 / s2) or math.sqrt(e2) }
end

-- One number of all bits (FNV-1a, a double at a time).
local function digest(list)
  local h = 0xcbf29ce484222325
  for i = 1, #list do h = (h ~ string.unpack("<i8", string.pack("<d", list[i]))) * 0x100000001b3 end
  return ("%016x"):format(h)
end

local function tensor(dev, dtype, shape, seed) return dev:tensor { dtype = dtype, shape = shape }:randn(seed) end

local function launch(dev, p, args, grid)
  assert(p:launch(args, { grid = grid }))
  assert(dev:sync())
end

-- ---- gemm ---------------------------------------------------------------------------------------------------------------------

local gemm = {}

-- name, sizes { m, n, k, l }, options of build; grid: CTAs of the launch, so that each has several tiles on a GPU too
gemm.cases = {
  { "one element", { 1, 1, 1 }, {} },
  { "ragged in every axis", { 130, 264, 200 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1 } } },
  { "ragged, pair along m", { 300, 88, 72 }, { config = { bm = 128, bn = 64, cluster_m = 2, cluster_n = 1 } } },
  { "ragged, pair along n", { 70, 330, 136 }, { dtype = "f16", config = { bm = 64, bn = 128, cluster_m = 1, cluster_n = 2 } } },
  { "K of 0", { 65, 40, 0 }, { beta = 0.5, config = { bm = 64, bn = 64 } } },
  { "skinny", { 3, 200, 520 }, { m = 3, n = 200, k = 520 } },
  { "224 columns", { 100, 450, 136 }, { config = { bm = 128, bn = 224, cluster_m = 1, cluster_n = 1 } } },
  { "two blocks of 64 rows a warpgroup", { 260, 136, 136 }, { config = { bm = 256, bn = 128, cluster_m = 1 } } },
  { "256 x 152, two accumulators, pair along m", { 600, 312, 200 }, { config = { bm = 256, bn = 152, cluster_m = 2, cluster_n = 1 } }, grid = 4 },
  { "256 x 152 with everything but C", { 260, 160, 136 },
    { alpha = true, bias = "n", activation = "relu", out = "f32", config = { bm = 256, bn = 152, cluster_m = 1, cluster_n = 1 } } },
  { "256 x 144, staggered, bias along m", { 300, 150, 136 }, { bias = "m", dtype = "f16", config = { bm = 256, bn = 144, cluster_m = 1, cluster_n = 1, stagger = 1 } } },
  { "256 x 136, batched, K in 2 parts", { 70, 280, 200, 2 }, { batched = true, config = { bm = 256, bn = 136, cluster_m = 1, cluster_n = 1, split = 2 } } },
  { "256 x 160, e4m3", { 130, 168, 272 }, { dtype = "e4m3", scales = true, config = { bm = 256, bn = 160, cluster_m = 2, cluster_n = 1 } } },
  { "m-major A", { 136, 96, 100 }, { a_major = "m", config = { bm = 128, bn = 64, cluster_m = 1 } } },
  { "n-major B", { 90, 136, 100 }, { b_major = "n", config = { bm = 128, bn = 128, cluster_m = 2 } } },
  { "m-major A, n-major B", { 72, 200, 70 }, { a_major = "m", b_major = "n", dtype = "f16", config = { bm = 64, bn = 256, cluster_n = 1, cluster_m = 1 } } },
  { "bf16 to f32", { 100, 136, 96 }, { out = "f32", config = { bm = 128, bn = 128 } } },
  { "bf16 to f16", { 100, 136, 96 }, { out = "f16", config = { bm = 128, bn = 64 } } },
  { "tf32", { 70, 100, 100 }, { dtype = "tf32", config = { bm = 64, bn = 64 } } },
  { "e4m3", { 70, 104, 272 }, { dtype = "e4m3", scales = true, config = { bm = 64, bn = 64 } } },
  { "e4m3, promoted", { 130, 104, 400 }, { dtype = "e4m3", accumulate = "promoted", config = { bm = 128, bn = 128 } } },
  { "e5m2 to f32", { 70, 48, 272 }, { dtype = "e5m2", out = "f32", config = { bm = 64, bn = 64 } } },
  { "staggered warpgroups", { 300, 520, 200 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, stagger = 4 } } },
  { "staggered, with everything, pair along m", { 260, 140, 136 },
    { alpha = 0.5, beta = true, bias = "m", activation = "relu", config = { bm = 128, bn = 128, cluster_m = 2, cluster_n = 1, stagger = 1 } } },
  { "staggered, m-major A, K in 2 parts", { 260, 136, 200 }, { a_major = "m", config = { bm = 256, bn = 128, cluster_n = 1, split = 2, stagger = 2 } } },
  { "staggered, promoted", { 130, 104, 400 }, { dtype = "e4m3", accumulate = "promoted", config = { bm = 128, bn = 128, stagger = 2 } } },
  { "deferred, one CTA for 9 tiles", { 300, 520, 330 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 1 },
  { "deferred, fewer k-steps than parts", { 300, 520, 180 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 2 },
  { "deferred, one k-step, batched", { 130, 300, 64, 3 }, { batched = true, config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 2 },
  { "deferred, K of 0", { 130, 600, 0 }, { bias = "n", config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 1 },
  { "deferred, everything it takes, pair along m", { 400, 700, 300 },
    { alpha = 0.5, bias = "n", activation = "gelu", dtype = "f16", config = { bm = 128, bn = 192, cluster_m = 2, cluster_n = 1, defer = true } }, grid = 2 },
  { "deferred, e4m3, bias along m", { 300, 400, 600 }, { dtype = "e4m3", scales = true, bias = "m", config = { bm = 128, bn = 160, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 1 },
  { "deferred, one warpgroup, n-major B", { 200, 520, 200 }, { b_major = "n", config = { bm = 64, bn = 256, cluster_m = 1, cluster_n = 1, defer = true } }, grid = 3 },
  { "128 x 256, not deferred", { 300, 520, 200 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1, defer = false } }, grid = 1 },
  { "warpgroups in turn, one CTA for 30 tiles", { 300, 330, 200 }, { config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, pingpong = true } }, grid = 1 },
  { "in turn, 128 x 128, CTAs with odd and even tiles, two stages", { 300, 520, 330 },
    { config = { bm = 128, bn = 128, cluster_m = 1, cluster_n = 1, stages = 2, pingpong = true } }, grid = 4 },
  { "in turn, 64 x 256, more CTAs than tiles", { 70, 300, 72 }, { config = { bm = 64, bn = 256, cluster_m = 1, cluster_n = 1, pingpong = true, staging = 1 } }, grid = 6 },
  { "in turn, K of 0", { 130, 200, 0 }, { beta = 0.5, config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, pingpong = true } }, grid = 1 },
  { "in turn, with everything, pair along m", { 400, 140, 136 },
    { alpha = 0.5, beta = true, bias = "m", activation = "relu", config = { bm = 64, bn = 64, cluster_m = 2, cluster_n = 1, pingpong = true } }, grid = 2 },
  { "in turn, m-major A, K in 2 parts, pair along n", { 260, 136, 200 }, { a_major = "m", config = { bm = 64, bn = 64, cluster_n = 2, cluster_m = 1, split = 2, pingpong = true } } },
  { "in turn, promoted", { 130, 264, 400 }, { dtype = "e4m3", accumulate = "promoted", config = { bm = 64, bn = 128, cluster_m = 1, cluster_n = 1, pingpong = true } }, grid = 1 },
  { "in turn, batched", { 70, 104, 96, 3 }, { batched = true, config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, pingpong = true } }, grid = 2 },
  { "e4m3 times e5m2", { 70, 80, 200 }, { dtype = "e4m3", dtype_b = "e5m2", config = { bm = 64, bn = 64 } } },
  { "e5m2 times e4m3, 128 x 256", { 70, 80, 200 }, { dtype = "e5m2", dtype_b = "e4m3", config = { bm = 128, bn = 256 } } },
  { "alpha, beta * C, bias along n, gelu", { 100, 136, 96 }, { alpha = true, beta = true, bias = "n", activation = "gelu", config = { bm = 128, bn = 128 } } },
  { "C in 128 x 256 tiles", { 130, 300, 96 }, { beta = 1, config = { bm = 128, bn = 256, cluster_m = 2, cluster_n = 1 } } },
  { "f32 C and D, bias along m", { 100, 72, 96 }, { out = "f32", beta = true, bias = "m", alpha = 0.5, config = { bm = 128, bn = 64 } } },
  { "epilogue of the caller's", { 70, 70, 72 }, { epilogue = function(x) return weir.max(x * x, 1) - 1 end, reference = function(x) return math.max(x * x, 1) - 1 end,
                                                config = { bm = 64, bn = 64 } } },
  { "batched", { 70, 104, 96, 3 }, { batched = true, config = { bm = 64, bn = 64 } } },
  { "batched with C, pair along m", { 140, 72, 72, 2 }, { batched = true, beta = 0.5, activation = "silu", config = { bm = 64, bn = 64, cluster_m = 2 } } },
  { "K in 3 parts", { 70, 100, 328 }, { config = { bm = 64, bn = 64, split = 3 } } },
  { "K in more parts than k-steps, with everything", { 70, 136, 96 },
    { alpha = true, beta = true, bias = "n", activation = "relu", out = "f32", config = { bm = 64, bn = 64, split = 4, cluster_n = 2 } } },
  { "stream-K, fewer tiles than shares", { 130, 200, 1000 }, { config = { bm = 128, bn = 128, stream = 5 } } },
  { "stream-K, some whole waves", { 530, 390, 200 }, { bias = "n", activation = "relu", config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, split = 1, stream = 7 } } },
  { "stream-K, tiles that divide", { 256, 256, 136 }, { config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, split = 1, stream = 4 } } },
  { "stream-K, one share", { 130, 200, 72 }, { out = "f32", config = { bm = 128, bn = 96, cluster_m = 1, cluster_n = 1, split = 1, stream = 1 } } },
  { "stream-K, K of 0", { 130, 70, 0 }, { beta = 0.5, config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, split = 1, stream = 3 } } },
  { "stream-K, more shares than k-steps", { 60, 60, 136 }, { config = { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, split = 1, stream = 9 } } },
  { "stream-K, with everything", { 200, 300, 136 }, { alpha = true, beta = true, bias = "m", activation = "gelu",
                                                    config = { bm = 128, bn = 64, cluster_m = 1, cluster_n = 1, split = 1, stream = 4 } } },
  { "stream-K, e4m3 promoted", { 130, 200, 400 }, { dtype = "e4m3", accumulate = "promoted", scales = true, config = { bm = 128, bn = 128, cluster_m = 1, cluster_n = 1, split = 1, stream = 3 } } },
  { "few rows", { 13, 200, 520 }, { config = { bm = 16, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "one row", { 1, 136, 72 }, { out = "f32", config = { bm = 8, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, with everything", { 33, 100, 136 }, { alpha = true, beta = true, bias = "n", activation = "gelu",
                                                     config = { bm = 32, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, bias along m, n-major B", { 20, 72, 136 }, { bias = "m", b_major = "n", dtype = "f16",
                                                           config = { bm = 24, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, m-major A", { 60, 72, 136 }, { a_major = "m", config = { bm = 64, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, batched", { 7, 72, 328, 2 }, { batched = true, beta = 0.5, config = { bm = 8, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, K in 3 parts", { 7, 72, 328 }, { beta = 0.5, config = { bm = 8, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 3 } } },
  { "few rows, e4m3 promoted", { 9, 72, 328 }, { dtype = "e4m3", accumulate = "promoted", scales = true,
                                               config = { bm = 16, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "few rows, tf32", { 9, 72, 70 }, { dtype = "tf32", config = { bm = 16, bn = 64, swap = true, cluster_m = 1, cluster_n = 1, split = 1 } } },
  { "batched, K in 2 parts", { 66, 72, 200, 2 }, { batched = true, bias = "m", config = { bm = 64, bn = 64, split = 2 } } },
}

local scalar = {
  relu = function(x) return math.max(x, 0) end,
  gelu = function(x)
    local u = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (2 - 2 / (math.exp(2 * u) + 1))
  end,
  silu = function(x) return x / (1 + math.exp(-x)) end,
}

function gemm.run(dev, case)
  local m, n, k, l = case[2][1], case[2][2], case[2][3], case[2][4] or 1
  local o = {}
  for name, value in pairs(case[3]) do if name ~= "reference" then o[name] = value end end
  o.device = dev
  local p = require "weir.kernels.gemm".build(o)
  local dtype = o.dtype or "bf16"
  local out = o.out or weir.dtype_size(dtype) == 2 and dtype or dtype == "tf32" and "f32" or "bf16"
  local memory = dtype == "tf32" and "f32" or dtype
  local function shape(rows, cols) return o.batched and { l, rows, cols } or { rows, cols } end
  local ta, tb = o.a_major == "m", o.b_major == "n"
  local args = {
    A = tensor(dev, memory, ta and shape(k, m) or shape(m, k), 1), B = tensor(dev, o.dtype_b or memory, tb and shape(k, n) or shape(n, k), 2),
    D = dev:tensor { dtype = out, shape = shape(m, n) }:fill(0 / 0),
  }
  if dtype == "tf32" then                                  -- the tensor core drops the low 13 bits: give it none
    for _, name in ipairs { "A", "B" } do
      local x = args[name]:get()
      for i, v in ipairs(x) do x[i] = string.unpack("<f", string.pack("<I4", string.unpack("<I4", string.pack("<f", v)) & ~0x1fff)) end
      args[name]:set(x)
    end
  end
  local alpha, beta = o.alpha == true and 0.75 or o.alpha or 1, o.beta == true and -1.5 or o.beta or 0
  if o.alpha == true then args.alpha = alpha end
  if o.beta == true then args.beta = beta end
  local c, bias
  if o.beta then args.C = tensor(dev, out, shape(m, n), 3); c = args.C:get() end
  if o.bias then args.bias = tensor(dev, "f32", o.bias == "n" and { n } or { m, 1 }, 4); bias = args.bias:get() end
  if o.scales then
    args.scale_a, args.scale_b = dev:tensor { dtype = "f32", shape = { 1 } }:fill(0.5), dev:tensor { dtype = "f32", shape = { 1 } }:fill(0.25)
    alpha = alpha * 0.125
  end
  launch(dev, p, args, case.grid)
  local a, b, want = args.A:get(), args.B:get(), {}
  local f = case[3].reference or o.activation and scalar[o.activation] or function(x) return x end
  for h = 0, l - 1 do
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local s = 0.0
        local pa, da = h * m * k + (ta and i + 1 or i * k + 1), ta and m or 1
        local pb, db = h * n * k + (tb and j + 1 or j * k + 1), tb and n or 1
        for q = 0, k - 1 do s = s + a[pa + q * da] * b[pb + q * db] end
        local at = (h * m + i) * n + j + 1
        s = s * alpha
        if c then s = s + beta * c[at] end
        if bias then s = s + bias[o.bias == "n" and j + 1 or i + 1] end
        want[at] = f(s)
      end
    end
  end
  -- A tensor core sums 8-bit products with 14 bits, between promotions too.
  local bits = weir.dtype_size(dtype) == 1 and 9 or 19
  local slack = 2.0 ^ -bits * math.sqrt(k + 1) * math.max(alpha, 1)
  -- tanh and exp2 are approximations.
  if o.activation == "gelu" or o.activation == "silu" or case[3].reference then slack = slack * 8 + 2.0 ^ -9 end
  local seen = compare(p.report, args.D:get(), want, out, slack)
  seen.digest = digest(args.D:get())
  return seen
end

--- Are the results the same bits wherever the case runs? Not with functions that are approximated, nor where a product and a sum may be one step or two.
function gemm.same_bits(case)
  local o = case[3]
  return not (o.reference or o.alpha or o.beta or o.activation and o.activation ~= "relu")
end

M.gemm = gemm

-- ---- attention ------------------------------------------------------------------------------------------------------------------

local attention = {}

-- name, { B, H, HK, LQ, LK }, options of build
attention.cases = {
  { "one query, one key", { 1, 1, 1, 1, 1 }, { d = 64, lse = true } },
  { "causal without a counter", { 2, 3, 3, 300, 300 }, { d = 64, causal = true, config = { queue = "static", heads = 4 } } },
  { "d 128, ragged", { 1, 2, 2, 200, 300 }, { d = 128 } },
  { "d 128, exact blocks, causal", { 1, 1, 1, 256, 256 }, { d = 128, causal = true } },
  { "d 128, ragged, causal, LSE", { 1, 2, 2, 200, 200 }, { d = 128, causal = true, lse = true } },
  { "d 64, causal, 4 heads to 1", { 2, 4, 1, 70, 130 }, { d = 64, causal = true, dtype = "f16" } },
  { "d 64, many blocks", { 1, 1, 1, 30, 700 }, { d = 64, lse = true } },
  { "d 256, ragged", { 1, 2, 1, 100, 200 }, { d = 256 } },
  { "d 256, causal", { 1, 1, 1, 150, 150 }, { d = 256, causal = true } },
  { "d 80", { 1, 2, 1, 70, 150 }, { d = 80 } },
  { "window of 40 before, causal", { 1, 2, 2, 300, 300 }, { d = 64, window = 40, causal = true, config = { bn = 64 } } },
  { "window, both sides", { 1, 1, 1, 230, 300 }, { d = 64, window = { left = 70, right = 33 }, lse = true, config = { bn = 64, warpgroups = 2 } } },
  { "window after only", { 1, 1, 1, 130, 300 }, { d = 128, window = { right = 3 } } },
  { "queries that see nothing", { 1, 1, 1, 200, 90 }, { d = 64, causal = true, lse = true } },
  { "a window far from the end of the keys", { 1, 1, 1, 150, 150 }, { d = 64, window = { left = 0, right = 0 }, config = { bn = 64 } } },
  { "scale at launch, scores with a soft cap", { 1, 1, 1, 100, 140 },
    { d = 64, scale = true, score = function(s) return 4 * weir.tanh(s * 0.25) end, reference = function(s) return 4 * (1 - 2 / (math.exp(s * 0.5) + 1)) end } },
  { "in turn, d 128, ragged, causal, LSE", { 1, 2, 2, 200, 200 }, { d = 128, causal = true, lse = true, config = { pingpong = true } } },
  { "three in turn, d 64, causal, many blocks", { 1, 2, 1, 70, 430 }, { d = 64, causal = true, dtype = "f16", config = { pingpong = true } } },
  { "in turn, window on both sides", { 1, 1, 1, 230, 300 }, { d = 64, window = { left = 70, right = 33 }, lse = true, config = { bn = 64, warpgroups = 2, pingpong = true } } },
  { "d 128, blocks of 176", { 1, 1, 1, 130, 400 }, { d = 128, config = { bn = 176, q_stages = 1 } } },
}

function attention.run(dev, case)
  local B, H, HK, LQ, LK = table.unpack(case[2])
  local o = {}
  for name, value in pairs(case[3]) do if name ~= "reference" then o[name] = value end end
  o.device = dev
  local p = require "weir.kernels.attention".build(o)
  local d, dtype = o.d, o.dtype or "bf16"
  local args = {
    Q = tensor(dev, dtype, { B, H, LQ, d }, 1), K = tensor(dev, dtype, { B, HK, LK, d }, 2), V = tensor(dev, dtype, { B, HK, LK, d }, 3),
    O = dev:tensor { dtype = dtype, shape = { B, H, LQ, d } }:fill(0 / 0),
  }
  local scale = 1 / math.sqrt(d)
  if o.scale == true then scale = 0.3; args.scale = scale end
  if o.lse then args.LSE = dev:tensor { dtype = "f32", shape = { B, H, LQ, 1 } }:fill(0 / 0) end
  launch(dev, p, args)
  local q, k, v = args.Q:get(), args.K:get(), args.V:get()
  local window = type(o.window) == "table" and o.window or { left = o.window }
  local left, right = window.left or math.huge, o.causal and 0 or window.right or math.huge
  local want, want_lse, score = {}, {}, case[3].reference or function(s) return s end
  for h = 0, B * H - 1 do
    local kv = (h // H * HK + h % H // (H // HK)) * LK * d
    for i = 0, LQ - 1 do
      local own, most, s = i + LK - LQ, -math.huge, {}
      local first, last = math.max(0, own - left), math.min(LK - 1, own + right)
      for j = first, last do
        local sum, a, b = 0.0, (h * LQ + i) * d, kv + j * d
        for x = 1, d do sum = sum + q[a + x] * k[b + x] end
        s[j] = score(sum) * scale
        most = math.max(most, s[j])
      end
      local total, out = 0.0, {}
      for x = 1, d do out[x] = 0.0 end
      for j = first, last do
        local e, b = math.exp(s[j] - most), kv + j * d
        total = total + e
        for x = 1, d do out[x] = out[x] + e * v[b + x] end
      end
      for x = 1, d do want[#want + 1] = total > 0 and out[x] / total or 0 end
      want_lse[#want_lse + 1] = total > 0 and most + math.log(total) or -math.huge
    end
  end
  -- P is rounded to 16 bits before it meets V: a relative error of each term.
  local seen = compare(p.report, args.O:get(), want, dtype, 2.0 ^ -7)
  if o.lse then
    local lse = compare(p.report, args.LSE:get(), want_lse, "f32", 2.0 ^ -10)
    seen.bad = seen.bad + lse.bad
  end
  return seen
end

M.attention = attention

-- ---- rows -------------------------------------------------------------------------------------------------------------------------

-- Rows of m x n, in a tensor whose pitch is `pitch` bytes' multiple.
local function matrix(dev, dtype, m, n, seed, pitch) return dev:tensor { dtype = dtype, shape = { m, n }, pitch = pitch or 16 }:randn(seed) end

-- Calls f(row, x, base) for each row; x is the whole list, base the index before the row's first element.
local function each_row(m, n, x, f) for i = 0, m - 1 do f(i, x, i * n) end end

local function round_to(dev, dtype, list, m, n)            -- through a tensor of that dtype
  return dev:tensor { dtype = dtype, shape = { m, n } }:set(list):get()
end

local rows = {}

-- kernel, what, { m, n }, options of build, pitch in bytes (2 or 4: rows off 16 bytes)
rows.cases = {
  { "rms_norm", "a warp a row, 1000 of 1024", { 11, 1000 }, { n = 1024 } },
  { "rms_norm", "a CTA a row, f32 weight", { 3, 2504 }, { n = 3000, weight = "f32" } },
  { "rms_norm", "length of no vector", { 3, 1333 }, { n = 2048 } },
  { "rms_norm", "residual", { 5, 2048 }, { n = 2048, residual = true } },
  { "rms_norm", "residual, rows off 16 bytes", { 4, 1208 }, { n = 2048, residual = true, dtype = "f16" }, 2 },
  { "rms_norm", "longer than registers hold", { 2, 5000 }, { n = 5000, config = { threads = 128, chunks = 0 } } },
  { "rms_norm", "no weight, f32", { 4, 260 }, { n = 512, dtype = "f32", weight = false } },
  { "rms_norm", "no rows", { 0, 64 }, { n = 64 } },
  { "layer_norm", "a warp a row", { 9, 512 }, { n = 512 } },
  { "layer_norm", "a CTA a row, residual", { 3, 4096 }, { n = 4096, residual = true } },
  { "layer_norm", "f32 output, no bias", { 3, 1500 }, { n = 2048, out = "f32", bias = false } },
  { "layer_norm", "a mean far from 0", { 3, 1600 }, { n = 1600, dtype = "f32", offset = 1000 } },
  { "softmax", "a warp a row", { 9, 96 }, { n = 128 } },
  { "softmax", "a CTA a row, f16 to f32", { 3, 2056 }, { n = 4096, dtype = "f16", out = "f32" } },
  { "softmax", "one element", { 3, 1 }, { n = 16 } },
  { "softmax", "log, scale at launch", { 4, 1200 }, { n = 2048, dtype = "f32", log = true, scale = true } },
  { "softmax", "scale, longer than registers hold", { 2, 3000 }, { n = 3000, dtype = "f32", scale = 3, config = { threads = 128, chunks = 0 } } },
  { "reduce", "sum", { 17, 200 }, { n = 256, op = "sum" } },
  { "reduce", "mean", { 3, 1999 }, { n = 2048, op = "mean", dtype = "f32" } },
  { "reduce", "max of negative numbers", { 5, 77 }, { n = 128, op = "max", offset = -100, dtype = "f32" } },
  { "reduce", "min", { 2, 1500 }, { n = 2048, op = "min", out = "bf16" } },
  { "reduce", "norm", { 5, 1024 }, { n = 1024, op = "norm", dtype = "f16" } },
  { "reduce", "abs_max", { 2, 2500 }, { n = 4096, op = "abs_max" } },
}

function rows.run(dev, case)
  local kernel, m, n = case[1], case[3][1], case[3][2]
  local o, offset = {}, 0
  for name, value in pairs(case[4]) do if name == "offset" then offset = value else o[name] = value end end
  o.device = dev
  local p = require("weir.kernels." .. kernel).build(o)
  local dtype = o.dtype or "bf16"
  local out = o.out or kernel == "reduce" and "f32" or dtype
  local X = matrix(dev, dtype, m, n, 1, case[5])
  if offset ~= 0 then
    local list = X:get()
    for i = 1, #list do list[i] = list[i] + offset end
    X:set(list)
  end
  local args, want, slack = { X = X }, {}, 2.0 ^ -20 * math.max(1, math.abs(offset))
  local x = X:get()
  if kernel == "reduce" then args.Y = dev:tensor { dtype = out, shape = { m } }:fill(0 / 0)
  else args.Y = dev:tensor { dtype = out, shape = { m, n }, pitch = case[5] or 16 }:fill(0 / 0) end
  if o.residual then
    args.R, args.S = matrix(dev, dtype, m, n, 2, case[5]), matrix(dev, dtype, m, n, 3, case[5])
    local r, sum = args.R:get(), {}
    for i = 1, #x do sum[i] = x[i] + r[i] end
    x = round_to(dev, dtype, sum, m, n)
  end
  local w, b
  if kernel:match "norm" then
    args.eps = 1e-5
    if o.weight ~= false then args.W = tensor(dev, o.weight or dtype, { n }, 4); w = args.W:get() end
    if kernel == "layer_norm" and o.weight ~= false and o.bias ~= false then args.B = tensor(dev, o.weight or dtype, { n }, 5); b = args.B:get() end
  end
  local scale = o.scale == true and 0.7 or o.scale or 1
  if o.scale == true then args.scale = scale end
  launch(dev, p, args)
  if kernel == "rms_norm" or kernel == "layer_norm" then
    each_row(m, n, x, function(_, row, base)
      local mean, squares = 0.0, 0.0
      if kernel == "layer_norm" then
        for j = 1, n do mean = mean + row[base + j] end
        mean = mean / n
      end
      for j = 1, n do squares = squares + (row[base + j] - mean) ^ 2 end
      local s = 1 / math.sqrt(squares / n + 1e-5)
      for j = 1, n do want[base + j] = (row[base + j] - mean) * s * (w and w[j] or 1) + (b and b[j] or 0) end
    end)
    slack = slack * 4
  elseif kernel == "softmax" then
    each_row(m, n, x, function(_, row, base)
      local most, total = -math.huge, 0.0
      for j = 1, n do most = math.max(most, row[base + j] * scale) end
      for j = 1, n do total = total + math.exp(row[base + j] * scale - most) end
      for j = 1, n do
        local v = row[base + j] * scale - most
        want[base + j] = o.log and v - math.log(total) or math.exp(v) / total
      end
    end)
    if o.log then slack = slack * 16 end
  else
    each_row(m, n, x, function(i, row, base)
      local r = ({ max = -math.huge, min = math.huge })[o.op] or 0.0
      for j = 1, n do
        local v = row[base + j]
        if o.op == "max" then r = math.max(r, v) elseif o.op == "min" then r = math.min(r, v)
        elseif o.op == "abs_max" then r = math.max(r, math.abs(v)) elseif o.op == "norm" then r = r + v * v else r = r + v end
      end
      want[i + 1] = o.op == "mean" and r / n or o.op == "norm" and math.sqrt(r) or r
    end)
    slack = slack * math.sqrt(n) * 8
  end
  local seen = compare(p.report, args.Y:get(), want, out, slack)
  if o.residual then seen.bad = seen.bad + compare(p.report, args.S:get(), x, dtype, 0).bad end
  return seen
end

M.rows = rows

-- ---- moves ------------------------------------------------------------------------------------------------------------------------

local moves = {}

moves.cases = {
  { "transpose", "bf16, 130 x 200", { 130, 200 }, { dtype = "bf16" } },
  { "transpose", "bf16, one element", { 1, 1 }, { dtype = "bf16" } },
  { "transpose", "bf16, 65 x 3", { 65, 3 }, { dtype = "bf16" } },
  { "transpose", "f16 batched, 40 x 72", { 40, 72, 3 }, { dtype = "f16", batched = true } },
  { "transpose", "f32, 33 x 100", { 33, 100 }, { dtype = "f32" } },
  { "transpose", "e4m3, 150 x 260", { 150, 260 }, { dtype = "e4m3", config = { blocks = 1 } } },
  { "transpose", "f64, 20 x 37", { 20, 37 }, { dtype = "f64" } },
  { "elementwise", "swiglu", { 30, 75 }, { n = 75, inputs = { "x", "g" }, outputs = { "y" }, f = function(x, g) return x * g / (1 + weir.exp(-g)) end },
    function(x, g) return x * g / (1 + math.exp(-g)) end },
  { "elementwise", "operands of columns and rows, two outputs, a scalar", { 9, 300 },
    { inputs = { "x", { name = "b", dtype = "f32", shape = "columns" }, { name = "s", dtype = "f16", shape = "rows" } }, scalars = { "a" },
      outputs = { "y", { name = "z", dtype = "f32" } }, f = function(x, b, s, a) return weir.max(x, b) * a, x - s end },
    function(x, b, s, a) return math.max(x, b) * a, x - s end },
  { "elementwise", "a vector", { 1, 10000 }, { dtype = "f32", inputs = { "x" }, outputs = { "y" }, f = function(x) return weir.select(weir.lt(x, 0), x * 0.1, x) end },
    function(x) return x < 0 and x * 0.1 or x end },
  { "elementwise", "no inputs", { 5, 40 }, { dtype = "f32", n = 40, inputs = {}, outputs = { "y" }, scalars = { "a" }, f = function(a) return a + 1 end }, function(a) return a + 1 end },
}

local function transposed(dev, case)
  local m, n, l = case[3][1], case[3][2], case[3][3] or 1
  local o = { device = dev }
  for name, value in pairs(case[4]) do o[name] = value end
  local p = require "weir.kernels.transpose".build(o)
  local function shape(a, b) return o.batched and { l, a, b } or { a, b } end
  local X, Y = tensor(dev, o.dtype, shape(m, n), 1), tensor(dev, o.dtype, shape(n, m), 2)
  launch(dev, p, { X = X, Y = Y })
  local x, want = X:get(), {}
  for h = 0, l - 1 do
    for i = 0, m - 1 do for j = 0, n - 1 do want[(h * n + j) * m + i + 1] = x[(h * m + i) * n + j + 1] end end
  end
  return compare(p.report, Y:get(), want, "i32", 0)
end

local function mapped(dev, case)
  local m, n, f = case[3][1], case[3][2], case[5]
  local o = { device = dev }
  for name, value in pairs(case[4]) do o[name] = value end
  local p = require "weir.kernels.elementwise".build(o)
  local args, lists, outs = {}, {}, {}
  local function operand(x, seed)
    local t = type(x) == "table" and x or { name = x }
    local dtype = t.dtype or o.dtype or "bf16"
    local shape = ({ columns = { n }, rows = { m, 1 } })[t.shape] or { m, n }
    args[t.name] = tensor(dev, dtype, shape, seed)
    return { name = t.name, dtype = dtype, shape = t.shape, list = args[t.name]:get() }
  end
  for i, x in ipairs(o.inputs) do lists[i] = operand(x, i) end
  for i, x in ipairs(o.outputs) do outs[i] = operand(x, 10 + i); outs[i].want = {} end
  for _, name in ipairs(o.scalars or {}) do args[name] = 1.5 end
  launch(dev, p, args)
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local x = {}
      for q, t in ipairs(lists) do x[q] = t.list[t.shape == "columns" and j + 1 or t.shape == "rows" and i + 1 or i * n + j + 1] end
      for _ in ipairs(o.scalars or {}) do x[#x + 1] = 1.5 end
      for q, y in ipairs { f(table.unpack(x)) } do outs[q].want[i * n + j + 1] = y end
    end
  end
  local seen
  for _, t in ipairs(outs) do
    local one = compare(p.report, args[t.name]:get(), t.want, t.dtype, 2.0 ^ -20)
    if seen then one.bad = one.bad + seen.bad end
    seen = one
  end
  return seen
end

function moves.run(dev, case)
  if case[1] == "transpose" then return transposed(dev, case) end
  return mapped(dev, case)
end

M.moves = moves

-- ---- chains -----------------------------------------------------------------------------------------------------------------------

-- Kernels that each read what the one before wrote, launched without a pause: on a GPU they overlap (PDL). Whole numbers, so exact.
-- side: of the matrices; returns how many elements are wrong.
function M.chain(dev, side, links)
  local multiply = require "weir.kernels.gemm".build { out = "bf16", bias = "n", device = dev, m = side, n = side, k = side }
  local turn = require "weir.kernels.transpose".build { device = dev }
  local less = require "weir.kernels.elementwise".build { device = dev, n = side, inputs = { "x" }, outputs = { "y" }, f = function(x) return x - 1 end }
  local a, b = dev:tensor { dtype = "bf16", shape = { side, side } }, dev:tensor { dtype = "bf16", shape = { side, side } }
  local shift, one = dev:tensor { dtype = "bf16", shape = { side, side } }:fill(0), dev:tensor { dtype = "f32", shape = { side } }:fill(1)
  local start, move = {}, {}
  for i = 0, side - 1 do                                  -- shift: D[m, n] = A[m, (n + 1) % side]
    for j = 0, side - 1 do
      start[i * side + j + 1] = (i * 31 + j * 7) % 97
      move[i * side + j + 1] = j == (i + 1) % side and 1 or 0
    end
  end
  a:set(start)
  shift:set(move)
  for _ = 1, links do                                     -- a -> shifted + 1 -> transposed -> - 1, four launches
    assert(multiply:launch { A = a, B = shift, D = b, bias = one })
    assert(turn:launch { X = b, Y = a })
    assert(less:launch { x = a, y = b })
    assert(turn:launch { X = b, Y = a })
  end
  assert(dev:sync())
  local got, bad = a:get(), 0
  for i = 0, side - 1 do
    for j = 0, side - 1 do
      if got[i * side + j + 1] ~= start[i * side + (j + links) % side + 1] then bad = bad + 1 end
    end
  end
  return bad
end

return M
