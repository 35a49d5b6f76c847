-- weir against cuBLAS, in one process, alternating; results in bench/results/gemm.json.
--   lua5.4 bench/gemm.lua [--reps 30] [--only 8192x8192x8192] [--set stages=12,cluster_m=1] [--cublas PATH]
-- With --only or --set, for trying things out, nothing is written. weir's side is kernels/gemm.lua as it chooses by itself.
-- A sample is taken in three settings. `busy`: one launch between two events, right behind an untimed launch of the same kind, so that
-- the host's work is hidden. `idle`: one launch on a GPU that has nothing to do, so that the host's call and the start of the kernel
-- count, as they do for a program that waits for each result. `chain`: eight launches in a row, as the layers of a network are; weir's
-- overlap there (programmatic dependent launch). The two sides take turns, and turns at going first. What is reported is the median of
-- each side and the median of the ratios of neighbours. Inputs are random; both results are compared, in the same run and on every
-- element, with a reference in double precision.
local common = require "bench.common"
local weir = require "weir"
local gemm = require "weir.kernels.gemm"
local reference = require "examples.reference"

local opt = { reps = 30 }
for i = 1, #arg, 2 do
  local name = arg[i]:match "^%-%-(%w+)$"
  if not ({ reps = 1, only = 1, set = 1, cublas = 1 })[name] or not arg[i + 1] then error("unknown option " .. arg[i], 0) end
  opt[name] = name == "reps" and assert(math.tointeger(tonumber(arg[i + 1]))) or arg[i + 1]
end

local shapes = { -- bf16, m n k
  { 8192, 8192, 8192 }, { 4096, 4096, 4096 }, { 2048, 2048, 2048 }, { 8192, 8192, 1024 }, { 4096, 4096, 16384 }, { 5000, 5016, 5016 },
  { 512, 8192, 8192 }, { 64, 8192, 8192 },
}

local dev = weir.device(0)
local peer = common.peer().open(opt.cublas)
local result = { kind = "gemm", setting = common.setting(dev, peer), cases = {} }
local CHAIN = 8                                             -- launches of a sample in a row

local function measure(m, n, k)
  local given = {}
  for name, v in (opt.set or ""):gmatch "([%w_]+)=(%d+)" do given[name] = math.tointeger(tonumber(v)) end
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(1), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(2)
  local d, e = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0), dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
  local program = gemm.build { m = m, n = n, k = k, pitch = 2 * a.stride[1], config = given, device = dev }
  local bound, c = program:bind { A = a, B = b, D = d }, program.config
  local function ours() assert(bound:launch()) end
  local function theirs() peer:gemm("bf16", m, n, k, a.address, a.stride[1], b.address, b.stride[1], e.address, e.stride[1]) end
  local from, to = peer:event(), peer:event()
  local function sample(f, setting)
    if setting == "idle" then assert(dev:sync()) else f() end
    local launches = setting == "chain" and CHAIN or 1
    peer:record(from)
    for _ = 1, launches do f() end
    peer:record(to)
    return peer:elapsed(from, to) / launches
  end
  for _ = 1, 3 do ours() theirs() end
  local function compare(setting)
    local x, y, ratio = {}, {}, {}
    for i = 1, opt.reps do
      if i % 2 == 1 then x[i] = sample(ours, setting) y[i] = sample(theirs, setting) else y[i] = sample(theirs, setting) x[i] = sample(ours, setting) end
      ratio[i] = y[i] / x[i]
    end
    return x, y, common.median(ratio)
  end
  local x, y, ratio = compare "busy"
  local ix, iy, idle_ratio = compare "idle"
  local cx, cy, chain_ratio = compare "chain"
  assert(dev:sync())
  local function err(t)
    return reference.gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = a, B = b, D = t, m = m, n = n, k = k }
  end
  local mine, other = err(d), err(e)
  local flop = 2.0 * m * n * k
  local case = {
    m = m, n = n, k = k, dtype = "bf16", pitch = a.stride[1], config = c,
    weir_ms = x, cublas_ms = y,
    weir_tflops = flop / common.median(x) / 1e9, cublas_tflops = flop / common.median(y) / 1e9, ratio = ratio,
    weir_idle_ms = ix, cublas_idle_ms = iy, weir_idle_tflops = flop / common.median(ix) / 1e9,
    cublas_idle_tflops = flop / common.median(iy) / 1e9, idle_ratio = idle_ratio, weir_chain_ms = cx, cublas_chain_ms = cy, chain_ratio = chain_ratio,
    weir_error = mine.relative, weir_off = mine.bad, cublas_error = other.relative, cublas_off = other.bad,
  }
  print(("%5d x %5d x %5d  weir %7.1f  cuBLAS %7.1f TFLOP/s  ratio %.3f  idle %.3f  chain %.3f  error %.2e / %.2e%s"):format(m, n, k, case.weir_tflops, case.cublas_tflops,
    case.ratio, case.idle_ratio, case.chain_ratio, mine.relative, other.relative, mine.bad > 0 and "  WRONG: " .. mine.bad .. " elements off" or ""))
  bound:close()
  program:close()
  for _, t in ipairs { a, b, d, e } do t:close() end
  return case
end

for _, s in ipairs(shapes) do
  if not opt.only or opt.only == table.concat(s, "x") then result.cases[#result.cases + 1] = measure(table.unpack(s)) end
end
if not opt.only and not opt.set then common.write("bench/results/gemm.json", result) print "wrote bench/results/gemm.json" end
for _, c in ipairs(result.cases) do
  if c.weir_off > 0 then error("wrong results", 0) end
end
