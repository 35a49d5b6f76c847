-- D = A * transpose(B): persistent, warp-specialised, TMA loads, wgmma, TMA-store epilogue. Builds, runs and checks every element.
--   lua5.4 examples/build_gemm.lua [--m 512] [--n 512] [--k 512] [--device sim|0] [--group none|merge|fused_merge] [--stages 4]
--                                  [--dtype bf16|f16] [--cluster 1|2|4] [--epilogue none|relu|gelu] [--reps 0] [--print]
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div

local function fail(text, what)                        -- the last line says PASS or FAIL, whatever happens
  print(text)
  print("FAIL: " .. what)
  os.exit(1)
end

-- ---- options -----------------------------------------------------------------------------------------------------------------
local opt = { device = nil, group = "fused_merge", stages = 4, dtype = "bf16", cluster = 2, epilogue = "none", reps = 0, print = false }
do
  local numbers = { m = 0, n = 0, k = 0, stages = 1, cluster = 1, reps = 0 } -- and the least that each may be
  local choices = { group = { "none", "merge", "fused_merge" }, dtype = { "bf16", "f16" }, epilogue = { "none", "relu", "gelu" } }
  local function wrong(...) fail((...):format(select(2, ...)), "an option is wrong; --help lists them") end
  local i = 1
  while arg and arg[i] do
    local name = arg[i]:match "^%-%-(%w+)$"
    if name == "help" then
      for row in io.lines(arg[0]) do
        if not row:find "^%-%-" then os.exit(0) end
        print((row:gsub("^%-%- ?", "")))
      end
    elseif name == "print" then
      opt.print = true
    elseif name == "device" or numbers[name] or choices[name] then
      i = i + 1
      local v = arg[i] or wrong("option --%s needs a value", name)
      local x = math.tointeger(tonumber(v))
      if numbers[name] then
        if not x then wrong("option --%s: a whole number expected, got '%s'", name, v) end
        if x < numbers[name] then wrong("option --%s: at least %d expected, got %d", name, numbers[name], x) end
        v = x
      elseif name == "device" then
        if v ~= "sim" and not (x and x >= 0) then wrong("option --device: sim or a GPU's number expected, got '%s'", v) end
        v = x or v
      elseif not (" " .. table.concat(choices[name], " ") .. " "):find(" " .. v .. " ", 1, true) then
        wrong("option --%s: one of %s expected, got '%s'", name, table.concat(choices[name], ", "), v)
      end
      opt[name] = v
    else
      wrong("unknown option %s", arg[i])
    end
    i = i + 1
  end
end

local dev, no_device = weir.device(opt.device)         -- nil: the first GPU, else the simulator
if not dev then fail(no_device, "no such device") end
local default = dev.is_sim and 512 or 8192
local SM, SN, SK = opt.m or default, opt.n or default, opt.k or default

-- ---- the kernel --------------------------------------------------------------------------------------------------------------
local BM, BN, BK, EN = 128, 256, 64, 64                -- tile of a CTA; columns of a staging tile
local STAGES, CL = opt.stages, opt.cluster
local LAG = math.min(1, STAGES - 1)                    -- batches left in flight when a stage is released

local epilogue = {
  none = function(x) return x end,
  relu = weir.relu,
  gelu = function(x) return 0.5 * x * (1 + weir.tanh(0.7978845608 * (x + 0.044715 * x * x * x))) end,
}

local k = weir.kernel { name = "gemm", arch = "sm_90a", cluster = { m = CL } }
local M, N, K = k:dim "M", k:dim "N", k:dim "K"        -- bound at launch
local A = k:tensor { name = "A", dtype = opt.dtype, shape = { M, K } }
local B = k:tensor { name = "B", dtype = opt.dtype, shape = { N, K } }
local D = k:tensor { name = "D", dtype = opt.dtype, shape = { M, N }, out = true }

local wq     = k:work_queue { name = "wq", over = D, tile = { BM, BN }, raster = "grouped", group = 8 }
local gmem_a = k:gmem_tile { name = "gmem_a", tensor = A, tile = { BM, BK } }
local gmem_b = k:gmem_tile { name = "gmem_b", tensor = B, tile = { BN, BK } }
local gmem_d = k:gmem_tile { name = "gmem_d", tensor = D, tile = { BM, EN } }
local smem_a = k:smem_tile { name = "smem_a", dtype = opt.dtype, tile = { BM, BK }, swizzle = 128, pipeline = P.tma_async { stages = STAGES } }
local smem_b = k:smem_tile { name = "smem_b", dtype = opt.dtype, tile = { BN, BK }, swizzle = 128, pipeline = P.tma_async { stages = STAGES } }
local stage  = k:smem_tile { name = "stage", dtype = opt.dtype, tile = { BM, EN }, swizzle = 128, pipeline = P.async_tma { stages = 2 } }
local acc    = k:wgmma_tile { name = "acc", tile = { BM, BN } }

local a, b, ab = smem_a, smem_b, nil                   -- without a group each tile has barriers of its own
if opt.group ~= "none" then
  ab = k:group { name = "ab", mode = opt.group, members = { smem_a, smem_b } }
  a, b = ab.smem_a, ab.smem_b
end
local function wait_ab()                               -- fused: one barrier; merge: one per member; none: two pipelines
  if opt.group == "fused_merge" then ab:wait() else a:wait(); b:wait() end
end
local function release_ab(keep)
  if ab then ab:release(keep) else a:release(keep); b:release(keep) end
end

k:depends { { smem_a, { gmem_a, wq } }, { smem_b, { gmem_b, wq } }, { acc, { smem_a, smem_b } }, { stage, { acc } }, { gmem_d, { stage, wq } } }

k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    for kk in weir.domain_loop(0, cd(K, BK)) do
      a:acquire(); a:tma_load(gmem_a:at(tile.m, kk)); a:commit()
      b:acquire(); b:tma_load(gmem_b:at(tile.n, kk), { multicast = CL > 1 and "m" or nil }); b:commit()
    end
    wq:next()
  end
end }

k:task { name = "mma", warps = { 4, 8 }, registers = 232, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    acc:zero()
    for _ in weir.domain_loop(0, cd(K, BK)) do
      wait_ab()
      acc:mma(a:read(), b:read())
      acc:drain(LAG)                                   -- the batch before this one has read its stage
      release_ab(LAG)
    end
    acc:drain(); release_ab(0)
    for c = 0, BN // EN - 1 do
      stage:acquire(); stage:store(acc:read():cols(c * EN, EN):map(epilogue[opt.epilogue])); stage:commit()
      stage:wait(); gmem_d:tma_store(stage:read(), gmem_d:at(tile.m, tile.n * (BN // EN) + c)); stage:release()
    end
    wq:next()
  end
end }

local ok, gemm = pcall(k.build, k, { device = dev })
if not ok then fail(gemm, "the kernel was refused") end
local report = k:verify {}
print(k:print "schedule")
print(k:print "smem")
print(k:print "barriers")
if opt.print then print(gemm:source()) end
print(report)

-- ---- the run -----------------------------------------------------------------------------------------------------------------
local function tensor(rows, cols)
  local t, message = dev:tensor { dtype = opt.dtype, shape = { rows, cols } }
  return t or fail(message, "no memory for the tensors")
end
local ta, tb, td = tensor(SM, SK):randn(1), tensor(SN, SK):randn(2), tensor(SM, SN):fill(0 / 0)
local args = { A = ta, B = tb, D = td }
local t0 = os.clock()
local done, message = gemm:launch(args)
if done then done, message = dev:sync() end
if not done then fail(message, "the run stopped") end
if dev.is_sim then print(("simulated %d x %d x %d in %.1f s"):format(SM, SN, SK, os.clock() - t0)) end

-- Every element against a reference in double precision, by a kernel of its own: plain loops, no tensor core, no shared memory.
-- Each thread of a 64 x 64 tile sums 8 x 4 elements; a warp adds up its squared errors, squared references, and elements off
-- by more than rounding to the output type and f32 accumulation allow.
package.path = (arg[0]:match "^(.*/)" or "") .. "../?.lua;" .. package.path -- wherever it was started
local reference = require "examples.reference"
local err = reference.gemm { weir = weir, device = dev, dtype = opt.dtype, epilogue = opt.epilogue, A = ta, B = tb, D = td, m = SM, n = SN, k = SK }

if opt.reps > 0 and not dev.is_sim then
  local ms = gemm:time(args, { reps = opt.reps })
  print(("%.3f ms, %.1f TFLOP/s (median of %d)"):format(ms, 2.0 * SM * SN * SK / ms / 1e9, opt.reps))
end
local pass = err.bad == 0 and err.relative == err.relative
print(("%s: %d x %d x %d %s on %s: relative error %.2e against f64, %d of %d elements off"):format(pass and "PASS" or "FAIL", SM, SN, SK,
  opt.dtype, dev.name, err.relative, err.bad, SM * SN))
os.exit(pass and 0 or 1)
