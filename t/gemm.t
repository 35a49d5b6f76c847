#!/usr/bin/env lua5.4
-- The main job as its user runs it, on the simulator: examples/build_gemm.lua with its options, the smaller examples, and
-- examples/gemm_staged.lua as it stands. What they print last, and their exit status.
local tap = require "tap"
local weir = require "weir"

local lua = os.getenv "WEIR_LUA" or "lua5.4"

-- Output (stdout and stderr), its last line, exit status.
local function run(command)
  local f = assert(io.popen(lua .. " " .. command .. " 2>&1"))
  local text = f:read "a"
  local _, _, code = f:close()
  return text, text:match "([^\n]*)\n*$", code
end

local function gemm(options, prelude)
  return run(("%s examples/build_gemm.lua --device sim %s"):format(prelude and "-e '" .. prelude .. "'" or "", options))
end

-- ---- build_gemm.lua ---------------------------------------------------------------------------------------------------------------
local function passes(m, n, k, options, dtype)
  local text, last, code = gemm(("--m %d --n %d --k %d %s"):format(m, n, k, options))
  local name = ("%d x %d x %d %s"):format(m, n, k, options)
  local wanted = ("^PASS: %d x %d x %d %s on simulator: relative error %%d%%.%%d%%de[+-]%%d%%d against f64, 0 of %d elements off$"):format(m, n, k, dtype or "bf16", m * n)
  if not tap.ok(last:find(wanted) and code == 0, name) then tap.diag(code, "\n" .. text:sub(-2000)) end
  return text
end

passes(384, 512, 192, "")                                  -- the options' defaults: fused_merge, cluster 2, 4 stages; whole tiles
passes(130, 520, 200, "--cluster 2")                       -- a tile over at every edge, one CTA of the cluster outside
passes(257, 300, 65, "--cluster 1 --stages 1")             -- K one over a step
passes(100, 600, 330, "--cluster 1 --stages 2 --epilogue relu")
passes(129, 257, 130, "--cluster 2 --stages 3 --epilogue gelu --dtype f16", "f16")
passes(200, 300, 200, "--group none --cluster 1 --stages 4")
passes(200, 300, 200, "--group none --cluster 2 --stages 3")
passes(200, 300, 200, "--group merge --cluster 1 --stages 3 --dtype f16", "f16")
passes(200, 300, 200, "--group merge --cluster 2 --stages 2")
passes(64, 256, 500, "--group none --cluster 1 --stages 1")
for _, size in ipairs { { 1, 1, 1 }, { 1, 1, 700 }, { 1, 300, 1 }, { 300, 1, 64 } } do passes(size[1], size[2], size[3], "") end
tap.like("relative error 0.00e+00", passes(1, 1, 0, ""), "K = 0: the result is exactly 0")
tap.like("relative error 0.00e+00", passes(130, 270, 0, "--cluster 1 --group none --stages 1"), "K = 0 with one stage, without a group")
passes(0, 5, 3, "")                                        -- nothing to do

do -- what is printed on the way
  local text = passes(128, 256, 64, "--cluster 1")
  for _, part in ipairs { "schedule of kernel gemm", "|          load[0:1)           |          mma[4:12)           |", "[smem-layout] SMEM Usage Report",
    "[barrier-layout] Barrier Usage Report", "proof: SAFE: for every loop length", "acc.mma_wait: wgmma.wait_group 1", "simulated 128 x 256 x 64 in" } do
    tap.like(part, text, "prints: " .. part)
  end
  tap.unlike("__global__", text, "the source only when asked")
  tap.like("extern \"C\" __global__ void __launch_bounds__(384, 1) gemm(", (gemm "--m 1 --n 1 --k 1 --print"), "--print: the source")
end

do -- results that are wrong
  local text, last, code = gemm("--m 130 --n 40 --k 70", [[local r = require "examples.reference" local g = r.gemm
    r.gemm = function(o) local x = o.D:get() x[77] = x[77] + 0.5 o.D:set(x) return g(o) end]])
  if not tap.ok(last:find "^FAIL: 130 x 40 x 70 bf16 on simulator: .* 1 of 5200 elements off$" and code == 1, "one wrong element of 5200 fails") then tap.diag(code, text) end
  text, last, code = gemm("--m 130 --n 40 --k 70", [[local r = require "examples.reference" local g = r.gemm
    r.gemm = function(o) local x = o.D:get() x[5200] = 0/0 o.D:set(x) return g(o) end]])
  if not tap.ok(last:find "^FAIL: " and code == 1, "so does a nan: " .. last) then tap.diag(code, text) end
end

do -- too much shared memory
  local text, last, code = gemm "--stages 5"
  tap.is({ "FAIL: the kernel was refused", 1 }, { last, code }, "5 stages are refused")
  tap.like("examples/build_gemm.lua:", text, "at a line of the script")
  tap.like("needs 278608 bytes of shared memory, the target has 232448: 46160 too many (smem_a 5 x 16384, smem_b 5 x 32768, stage 2 x 16384, mbarriers 80)", text,
    "by how much, and who has it")
  tap.like("hint: stages = 4 of 'ab' fits", text, "and what fits")
end

local kernel_line
do
  local n = 0
  for row in io.lines "examples/build_gemm.lua" do
    n = n + 1
    if row:find("weir.kernel {", 1, true) then kernel_line = ("examples/build_gemm.lua:%d: error: "):format(n) end
  end
end

-- Options that are none: what is wrong, FAIL in the last line, no traceback.
for options, message in pairs {
  ["--stages 0"] = "option --stages: at least 1 expected, got 0", ["--cluster 0"] = "option --cluster: at least 1 expected, got 0",
  ["--m -4"] = "option --m: at least 0 expected, got -4", ["--reps 1.5"] = "option --reps: a whole number expected, got '1.5'",
  ["--device foo"] = "option --device: sim or a GPU's number expected, got 'foo'", ["--device 99"] = "FAIL: no such device",
  ["--device sim --m 1073741824 --k 1073741824"] = "FAIL: no memory for the tensors",
  ["--foo 3"] = "unknown option --foo", ["--stages"] = "option --stages needs a value", ["--stages two"] = "option --stages: a whole number expected, got 'two'",
  ["--group fork"] = "option --group: one of none, merge, fused_merge expected, got 'fork'", ["--dtype f32"] = "option --dtype: one of bf16, f16 expected, got 'f32'",
  ["--cluster 9"] = kernel_line .. "kernel 'gemm' has a cluster of 9 CTAs",
} do
  local text, last, code = gemm(options)
  if not tap.ok(text:find(message, 1, true) and code == 1 and last:find "^FAIL: " and not text:find("traceback", 1, true), options .. ": " .. message) then tap.diag(code, text) end
end

do
  local text, _, code = gemm "--help"
  tap.is({ true, true, 0 }, { text:find("[--stages 4]", 1, true) ~= nil, text:find("local weir", 1, true) == nil, code }, "--help: the options")
end

-- ---- the smaller examples ---------------------------------------------------------------------------------------------------------
local function example(command, wanted)
  local text, last, code = run("examples/" .. command)
  if not tap.ok(last:find(wanted, 1, true) == 1 and code == 0, command .. ": " .. wanted) then tap.diag(code, "\n" .. text:sub(-2000)) end
  return text
end
example("01_copy.lua 20000 sim", "PASS: copied 20000 elements on simulator, 0 wrong")
example("01_copy.lua 1 sim", "PASS: copied 1 elements on simulator, 0 wrong")
example("01_copy.lua 512 sim", "PASS: copied 512 elements on simulator, 0 wrong")
example("02_tma_copy.lua 61 300 sim", "PASS: copied 61 x 300 on simulator, 0 wrong")
example("02_tma_copy.lua 1 1 sim", "PASS: copied 1 x 1 on simulator, 0 wrong")
do
  local text = example("03_broken.lua", "PASS: every mistake was named")
  local parts, name = {}, nil
  for row in text:gmatch "[^\n]+" do
    name = row:match "^%-%- (.-) %-+$" or name
    if name then parts[name] = (parts[name] or "") .. row .. "\n" end
  end
  local n = 0
  for _ in io.lines "examples/03_broken.lua" do n = n + 1 end
  for mistake, words in pairs {
    ["too many stages"] = "46112 too many", ["wrong count"] = "[V-CNT", ["a forgotten wait"] = "[V-BRK",
    ["released too early"] = "[PROVE-ASYNC-READ]", ["one step short"] = "[PROVE-" } do
    local report = parts[mistake] or ""
    if mistake ~= "too many stages" then tap.like(words, report, "03_broken: " .. mistake .. ": " .. words) end
    local line = tonumber(report:match "examples/03_broken.lua:(%d+): error:")
    tap.ok(line and line > 6 and line < n, ("03_broken: %s: at a line of the kernel: %s"):format(mistake, line))
  end
  tap.like("[PLAN-SMEM]", parts["too many stages"], "03_broken: too many stages: PLAN-SMEM")
end

-- ---- gemm_staged.lua as it stands -------------------------------------------------------------------------------------------------
do
  local program = dofile "examples/gemm_staged.lua"
  local dev = weir.device()
  local M, N, K = 140, 300, 72
  local a = dev:tensor { dtype = "bf16", shape = { M, K } }:randn(8)
  local b = dev:tensor { dtype = "bf16", shape = { N, K } }:randn(9)
  local d = dev:tensor { dtype = "bf16", shape = { M, N } }:fill(0 / 0)
  tap.is(true, program:launch { A = a, B = b, D = d }, "gemm_staged runs")
  tap.is(true, dev:sync(), "to its end")
  local x, y, z, bad = a:get(), b:get(), d:get(), 0
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      local s = 0.0
      for q = 1, K do s = s + x[i * K + q] * y[j * K + q] end
      local off = math.abs(z[i * N + j + 1] - s)
      if off ~= off or off > math.abs(s) / 250 + 1e-4 then bad = bad + 1 end
    end
  end
  tap.is(0, bad, "every element is right")
end

tap.done()
