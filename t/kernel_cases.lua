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

local function tensor(dev, dtype, shape, seed) return dev:tensor { dtype = dtype, shape = shape }:randn(seed) end

local function launch(dev, p, args)
  assert(p:launch(args))
  assert(dev:sync())
end

-- ---- gemm ---------------------------------------------------------------------------------------------------------------------

local gemm = {}

-- name, sizes { m, n, k, l }, options of build
gemm.cases = {
  { "one element", { 1, 1, 1 }, {} },
  { "ragged in every axis", { 130, 264, 200 }, { config = { bm = 128, bn = 256, cluster_m = 1, cluster_n = 1 } } },
  { "ragged, pair along m", { 300, 88, 72 }, { config = { bm = 128, bn = 64, cluster_m = 2, cluster_n = 1 } } },
  { "ragged, pair along n", { 70, 330, 136 }, { dtype = "f16", config = { bm = 64, bn = 128, cluster_m = 1, cluster_n = 2 } } },
  { "K of 0", { 65, 40, 0 }, { beta = 0.5, config = { bm = 64, bn = 64 } } },
  { "skinny", { 3, 200, 520 }, { m = 3, n = 200, k = 520 } },
  { "224 columns", { 100, 450, 136 }, { config = { bm = 128, bn = 224, cluster_m = 1, cluster_n = 1 } } },
  { "two blocks of 64 rows a warpgroup", { 260, 136, 136 }, { config = { bm = 256, bn = 128, cluster_m = 1 } } },
  { "m-major A", { 136, 96, 100 }, { a_major = "m", config = { bm = 128, bn = 64, cluster_m = 1 } } },
  { "n-major B", { 90, 136, 100 }, { b_major = "n", config = { bm = 128, bn = 128, cluster_m = 2 } } },
  { "m-major A, n-major B", { 72, 200, 70 }, { a_major = "m", b_major = "n", dtype = "f16", config = { bm = 64, bn = 256, cluster_n = 1, cluster_m = 1 } } },
  { "bf16 to f32", { 100, 136, 96 }, { out = "f32", config = { bm = 128, bn = 128 } } },
  { "bf16 to f16", { 100, 136, 96 }, { out = "f16", config = { bm = 128, bn = 64 } } },
  { "tf32", { 70, 100, 100 }, { dtype = "tf32", config = { bm = 64, bn = 64 } } },
  { "e4m3", { 70, 104, 272 }, { dtype = "e4m3", scales = true, config = { bm = 64, bn = 64 } } },
  { "e4m3, promoted", { 130, 104, 400 }, { dtype = "e4m3", accumulate = "promoted", config = { bm = 128, bn = 128 } } },
  { "e5m2 to f32", { 70, 48, 272 }, { dtype = "e5m2", out = "f32", config = { bm = 64, bn = 64 } } },
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
    A = tensor(dev, memory, ta and shape(k, m) or shape(m, k), 1), B = tensor(dev, memory, tb and shape(k, n) or shape(n, k), 2),
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
  launch(dev, p, args)
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
  -- 8-bit products are summed with about 14 bits on a GPU; tanh and exp2 are approximations there.
  local slack = (weir.dtype_size(dtype) == 1 and o.accumulate ~= "promoted" and 2.0 ^ -11 or 2.0 ^ -19) * math.sqrt(k + 1) * math.max(alpha, 1)
  if o.activation == "gelu" or o.activation == "silu" or case[3].reference then slack = slack * 8 + 2.0 ^ -9 end
  return compare(p.report, args.D:get(), want, out, slack)
end

M.gemm = gemm

-- ---- attention ------------------------------------------------------------------------------------------------------------------

local attention = {}

-- name, { B, H, HK, LQ, LK }, options of build
attention.cases = {
  { "one query, one key", { 1, 1, 1, 1, 1 }, { d = 64, lse = true } },
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

return M
