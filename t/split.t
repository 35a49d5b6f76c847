#!/usr/bin/env lua5.4
-- Register tiles whose columns several warpgroups share (split = "n"): products, epilogues, masks, stages and stores; compared element by
-- element. What looks along a row is refused. t/gpu/split.t makes the runs on a GPU.
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local P, cd = weir.pipeline, weir.ceil_div
local gpu = arg[1] == "gpu" or arg[0]:find "gpu/split%.t$"
local dev = assert(weir.device(gpu and 0 or "sim", not gpu and { seed = 7 } or nil))

-- A persistent GEMM of one task of `wgs` (2) warpgroups, each with bn / wgs columns of { bm (64), bn (256) }. o: dtype, swizzle, tb (B is
-- stored { K, N }), out (dtype of D), swizzle_d, store = "staged" | "plain" | "task" (another task stores the stage), epilogue(k, t, x, acc)
-- -> value, extra(k, D) -> tensors for it, tile = "umma": a tmem_tile, which takes the split of `acc` beside it.
local function gemm(o)
  local BM, BN, BK, wgs, dtype = o.bm or 64, o.bn or 256, o.bk or 64, o.wgs or 2, o.dtype or "bf16"
  local k = weir.kernel { name = "split", arch = "sm_90a", cluster = o.cluster }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  local tensor = dtype == "tf32" and "f32" or dtype
  local A = k:tensor { name = "A", dtype = tensor, shape = { M, K } }
  local B = k:tensor { name = "B", dtype = tensor, shape = o.tb and { K, N } or { N, K } }
  local D = k:tensor { name = "D", dtype = o.out or "bf16", shape = { M, N }, out = true }
  local extra = o.extra and o.extra(k, M, N)
  local wq = k:work_queue { name = "wq", over = D, tile = { BM, BN } }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = o.tb and { BK, BN } or { BN, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, BN } }
  local function ring(name, tile)
    return k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = o.swizzle or 128, pipeline = P.tma_async { stages = 2 } }
  end
  local a, b = ring("a", { BM, BK }), ring("b", o.tb and { BK, BN } or { BN, BK })
  local store = o.store or "staged"
  local stage = store ~= "plain" and k:smem_tile { name = "stage", dtype = o.out or "bf16", tile = { BM, BN }, swizzle = o.swizzle_d or 128,
    pipeline = P.async_tma { stages = store == "task" and 2 or 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { BM, BN }, split = o.split or "n" }
  k:task { name = "load", warps = { 4 * wgs, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in weir.domain_loop(0, cd(K, BK)) do
        a:acquire(); a:tma_load(ga:at(t.m, i)); a:commit()
        b:acquire(); b:tma_load(o.tb and gb:at(i, t.n) or gb:at(t.n, i)); b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 0, 4 * wgs }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      acc:zero()
      for _ in weir.domain_loop(0, cd(K, BK)) do
        a:wait(); b:wait()
        acc:mma(a:read(), o.tb and b:read():t() or b:read())
        acc:drain()
        a:release(); b:release()
      end
      local x = acc:read()
      if o.epilogue then x = o.epilogue(k, t, x, acc, extra) end
      if stage then
        stage:acquire(); stage:store(x); stage:commit()
        if store == "staged" then stage:wait(); gd:tma_store(stage:read(), gd:at(t.m, t.n)); stage:release() end
      else
        gd:store(x, t)
      end
      wq:next()
    end
  end }
  if store == "task" then
    k:task { name = "put", warps = { 4 * wgs + 1, 1 }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        stage:wait(); gd:tma_store(stage:read(), gd:at(t.m, t.n)); stage:release()
        wq:next()
      end
    end }
  end
  return k
end

-- D[i][j] of the sum s; exact: no rounding of D.
local function run(name, o, m, n, kk, f)
  local ok, p = pcall(function() return gemm(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": built") then return tap.diag(tostring(p)) end
  tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
  local dtype = o.dtype == "tf32" and "f32" or o.dtype or "bf16"
  local a = dev:tensor { dtype = dtype, shape = { m, kk } }:randn(m + kk)
  local b = dev:tensor { dtype = dtype, shape = o.tb and { kk, n } or { n, kk } }:randn(n + kk + 1)
  local d = dev:tensor { dtype = o.out or "bf16", shape = { m, n } }:fill(0 / 0)
  local args = { A = a, B = b, D = d }
  local more = o.args and o.args(args, m, n)
  local launched, why = p:launch(args, { grid = 2 })
  if launched then launched, why = dev:sync() end
  if not tap.ok(launched, name .. ": runs") then return tap.diag(why) end
  local x, y, z, bad, first = a:get(), b:get(), d:get(), 0, nil
  local near = (o.out == "f32" and 1e-6 or o.out == "e4m3" and 1 / 14 or 1 / 250)
  for i = 0, m - 1 do
    for j = 0, n - 1, 5 do
      local s, size = 0.0, 0.0
      for q = 0, kk - 1 do
        local v = x[i * kk + q + 1] * (o.tb and y[q * n + j + 1] or y[j * kk + q + 1])
        s, size = s + v, size + math.abs(v)
      end
      local want = f and f(s, i, j, more) or s
      local off = math.abs(z[i * n + j + 1] - want)
      if off ~= off or off > math.abs(want) * near + size * (o.dtype == "tf32" and 2e-3 or o.dtype == "e4m3" and 3e-4 or 1e-5) then
        bad = bad + 1
        first = first or ("D[%d][%d] is %g, should be %g"):format(i, j, z[i * n + j + 1], want)
      end
    end
  end
  if not tap.is(0, bad, name .. ": every element") then tap.diag(first) end
  return p
end

-- ---- products and stores -----------------------------------------------------------------------------------------------------------
run("64 x 256, staged", {}, 130, 520, 200)
run("64 x 256, plain", { store = "plain" }, 130, 517, 200)
run("64 x 256, plain f32", { store = "plain", out = "f32" }, 70, 301, 130)
run("64 x 256, staged f32", { out = "f32" }, 70, 301, 130)
run("64 x 256, another task stores", { store = "task" }, 130, 520, 130)
run("64 x 128, staged in spans of 64 bytes", { bn = 128, swizzle = 64, bk = 32, swizzle_d = 64 }, 100, 136, 100)
run("64 x 96, three warpgroups, stored without a span each", { bn = 96, wgs = 3, store = "task", swizzle_d = 64 }, 100, 104, 100)
run("128 x 256, four warpgroups", { bm = 128, wgs = 4 }, 200, 264, 70)
run("128 x 64, two fragments of 32 columns, plain", { bm = 128, bn = 64, store = "plain" }, 200, 72, 70)
run("64 x 48, three warpgroups of 16 columns, plain", { bn = 48, wgs = 3, store = "plain" }, 100, 100, 70)
run("64 x 512, beyond one instruction", { bn = 512, store = "plain", out = "f32" }, 64, 520, 70)
run("B stored { K, N }", { tb = true }, 70, 264, 130)
run("tf32", { dtype = "tf32", bk = 32, bn = 128, out = "f32" }, 70, 132, 68)
run("e4m3", { dtype = "e4m3", bk = 128, bn = 128 }, 70, 144, 144)
run("K = 0", { out = "f32" }, 70, 264, 0)

-- ---- epilogues -----------------------------------------------------------------------------------------------------------------------
-- a bias by column, a factor by row, a mask by both, in arrays that several use
for _, store in ipairs { "staged", "plain" } do
  run("bias, factor and mask, " .. store, {
    bm = 128, store = store, out = "f32",
    extra = function(k, M, N)
      local bias, scale = k:tensor { name = "bias", dtype = "f32", shape = { 1, N } }, k:tensor { name = "scale", dtype = "f32", shape = { M, 1 } }
      return { bias = k:gmem_tile { name = "gbias", tensor = bias, tile = { 1, 256 } }, scale = k:gmem_tile { name = "gscale", tensor = scale, tile = { 128, 1 } } }
    end,
    epilogue = function(_, t, x, acc, e)
      local y = (x + e.bias:at(0, t.n):load()) / e.scale:at(t.m, 0):load()
      return weir.select(weir.lt(acc:col_index() + t.n * 256, acc:row_index() + t.m * 128), y, y * 0.5 - 1)
    end,
    args = function(args, m, n)
      local bias, scale = {}, {}
      for j = 1, n do bias[j] = j % 17 - 8 end
      for i = 1, m do scale[i] = i % 5 + 1 end
      args.bias = dev:tensor { dtype = "f32", shape = { 1, n } }:set(bias)
      args.scale = dev:tensor { dtype = "f32", shape = { m, 1 } }:set(scale)
      return { bias, scale }
    end,
  }, 140, 264, 70, function(s, i, j, e)
    local y = (s + e[1][j + 1]) / e[2][i + 1]
    return j < i and y or y * 0.5 - 1
  end)
end
-- state in register tiles, which share their columns too; a { rows, 1 } tile is every warpgroup's
run("register tiles beside it", {
  store = "plain", out = "f32", bn = 128,
  extra = function(k)
    return { sum = k:reg_tile { name = "sum", dtype = "f32", tile = { 64, 128 } }, half = k:reg_tile { name = "half", dtype = "bf16", tile = { 64, 128 } },
      row = k:reg_tile { name = "row", dtype = "f32", tile = { 64, 1 } } }
  end,
  epilogue = function(_, t, x, acc, e)
    e.sum:set(x * 2); e.half:set(acc:col_index() + t.n * 128); e.row:set(acc:row_index() + t.m * 64)
    return e.sum:read() + e.half:read() + e.row:read() * 1000
  end,
}, 100, 200, 70, function(s, i, j) return 2 * s + j + 1000 * i end)
-- a { rows, 1 } value is stored once
do
  local D1
  local p = gemm({ bn = 128, store = "plain", extra = function(k, M)
    D1 = k:gmem_tile { name = "d1", tensor = k:tensor { name = "R", dtype = "f32", shape = { M, 1 }, out = true }, tile = { 64, 1 } }
  end, epilogue = function(_, t, x, acc) D1:store(weir.cast(acc:row_index(), "f32") + t.m * 64, D1:at(t.m, 0)); return x end }):build { device = dev }
  local zero = dev:tensor { dtype = "bf16", shape = { 100, 64 } }:fill(0)
  local r, d = dev:tensor { dtype = "f32", shape = { 100, 1 } }:fill(-1), dev:tensor { dtype = "bf16", shape = { 100, 100 } }
  tap.is({ true }, { p:launch { A = zero, B = zero, D = d, R = r } }, "a value of one column: runs")
  dev:sync()
  local want = {}
  for i = 1, 100 do want[i] = i - 1.0 end
  tap.is(want, r:get(), "a value of one column: every row")
end
if gpu then tap.done() end

-- ---- text ----------------------------------------------------------------------------------------------------------------------------
do
  local source = gemm({}):build({ device = dev }):source()
  tap.like("const u64 a = w_desc(a_smem + a_at * 8192, ", source, "a is whole")
  tap.like("const u64 b = w_desc(b_smem + b_at * 32768 + wg * 16384, ", source, "b: the rows of the warpgroup's columns")
  tap.like("w_wgmma_ss<128, W_BF16, 0, 0>(acc, ", source, "each multiplies for its columns")
  tap.like("const u32 at = stage_smem + wg * 16384 + row * 128", source, "staged in its own panels")
  tap.like("w_tma_store(&D_map, stage_smem + 8192 + wg * 16384, wq_n * 256 + 64 + (i32)wg * 128, wq_m * 64);", source, "and stored from there")
end

-- ---- NVRTC ---------------------------------------------------------------------------------------------------------------------------
for _, form in ipairs { { "staged", {} }, { "plain, f32", { store = "plain", out = "f32" } }, { "four warpgroups", { bm = 128, wgs = 4 } } } do
  local p = gemm(form[2]):build { device = dev }
  local cubin, message, code = p:cubin()
  if not cubin and code == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then
    tap.skip("no NVRTC", 1)
  else
    local notes = {}
    for row in (cubin and p:log() or message):gmatch "[^\n]+" do
      local spills = row:find "spill" and not row:find("0 bytes spill stores, 0 bytes spill loads", 1, true)
      if not cubin or spills or row:find "[Ww]arning" or row:find "C75%d%d" then notes[#notes + 1] = row end
    end
    tap.is({}, notes, form[1] .. ": compiled without a warning, a spill, a serialised wgmma")
  end
end

-- ---- what is refused -------------------------------------------------------------------------------------------------------------------
local function refused(name, rule, text, o, edit)
  local report = gemm(o, edit):verify()
  tap.ok(not report.ok, name .. ": refused")
  tap.like(rule, report.text, name .. ": " .. rule)
  tap.like(text, report.text, name .. ": " .. text)
end
-- One number a row, which each warpgroup has of all rows, beside columns that they share: of a stage, of a tensor, of one row for all.
local function narrow(to, from, cols, index)
  local k = weir.kernel { name = "narrow", arch = "sm_90a" }
  local gx = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 64, cols } }, tile = { 64, cols } }
  local gy = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 64, cols }, out = true }, tile = { 64, cols } }
  local w, r = k:wgmma_tile { name = "w", tile = { 64, 128 }, split = "n" }, k:reg_tile { name = "r", dtype = "f32", tile = { 64, 1 } }
  local s, o = k:smem_tile { name = "s", dtype = "f32", tile = { 64, cols } }, k:smem_tile { name = "o", dtype = "f32", tile = { 64, cols } }
  k:task { name = "t", warps = { 0, 8 }, schedule = function()
    w:zero(); r:set(2); s:store(gx:at(0, 0):load())
    local v = (index and weir.cast(w:row_index(), "f32") or r:read()) * (from == "a tensor" and gx:at(0, 0):load() or from == "a stage" and s:read() or s:read():rows(5, 1))
    if to == "a tensor" then gy:store(v + v, gy:at(0, 0)) return end
    o:store(v + v)
    gy:store(o:read(), gy:at(0, 0))
  end }
  return k
end
for _, to in ipairs { "a tensor", "a stage" } do
  for _, from in ipairs { "a tensor", "a stage", "one row of a stage" } do
    local name, x, want = ("rows' numbers beside columns of %s, to %s"):format(from, to), {}, {}
    for i = 0, 63 do for j = 0, 127 do x[i * 128 + j + 1] = (i * 7 + j * 3) % 31 end end
    for i = 0, 63 do for j = 0, 127 do want[i * 128 + j + 1] = 4 * x[(from:find "row" and 5 or i) * 128 + j + 1] end end
    local X, Y = dev:tensor { dtype = "f32", shape = { 64, 128 } }:set(x), dev:tensor { dtype = "f32", shape = { 64, 128 } }
    local ok, message = narrow(to, from, 128):build { device = dev }:launch({ X = X, Y = Y }, { grid = 1 })
    tap.ok(ok, name) tap.diag(message or "")
    tap.is(want, Y:get(), name .. ": each its own")
  end
end
do -- what each has alone, all of them may store
  local x, want = {}, {}
  for i = 1, 64 do x[i], want[i] = i, 4 * i end
  local X, Y = dev:tensor { dtype = "f32", shape = { 64, 1 } }:set(x), dev:tensor { dtype = "f32", shape = { 64, 1 } }
  local ok, message = narrow("a tensor", "a tensor", 1):build { device = dev }:launch({ X = X, Y = Y }, { grid = 1 })
  tap.is(want, ok and Y:get() or message, "one column, of a tensor")
end
for _, to in ipairs { "a tensor", "a stage" } do
  tap.like("[PLAN-SPLIT]", narrow(to, "a tensor", 24):verify().text, "24 columns among two warpgroups, to " .. to)
  tap.like("stores 24 columns, of which 2 warpgroups (split = \"n\") would have no whole groups of 8", narrow(to, "a tensor", 24):verify().text, "  in words")
  tap.like("stores 24 columns, of which 2 warpgroups", narrow(to, "a tensor", 24, true):verify().text, "  beside row_index() of a tile whose columns they share")
end
refused("a row reduction", "[PLAN-SPLIT]", "takes a row reduction where each warpgroup has only its columns", { store = "plain", epilogue = function(_, _, x) return x - x:row_max(1) end })
refused("cols()", "[PLAN-SPLIT]", "takes cols(first, n) of a tile", { bn = 128, store = "plain", extra = function(k)
  return k:reg_tile { name = "half", dtype = "f32", tile = { 64, 64 } }
end, epilogue = function(_, _, x, _, half) half:set(x:cols(0, 64)); return x end })
refused("a from registers", "[PLAN-SPLIT]", "takes a from registers", { store = "plain", extra = function(k)
  return { p = k:reg_tile { name = "p", dtype = "bf16", tile = { 64, 64 } }, s = k:smem_tile { name = "s", dtype = "bf16", tile = { 256, 64 }, swizzle = 128 } }
end, epilogue = function(_, _, x, acc, e)
  e.p:zero(); acc:mma(e.p:read(), e.s:read()); acc:drain()
  return x
end })
refused("both splits in one task", "[PLAN-SPLIT]", "share the rows of 'other' and the columns of 'acc'", { store = "plain", bm = 128, extra = function(k)
  return k:wgmma_tile { name = "other", tile = { 128, 64 } }
end, epilogue = function(_, _, x, _, other) other:zero(); other:drain(); return x end })
refused("columns of a staging tile without a span each", "[PLAN-TILE]", "the columns must be a multiple of 128: one swizzle span, 128 bytes, for each warpgroup", { bn = 192 })
refused("a tile that does not divide", "[PLAN-TILE]", "expected a multiple of 16 columns, got 24", { bn = 24, store = "plain" })
refused("rows that are no 64", "[PLAN-TILE]", "expected a multiple of 64 rows, got 32", { bm = 32, store = "plain" })
refused("B stored { K, N } without a panel each", "[PLAN-SWIZZLE]", "columns 32 to 64 are no multiple of 64", { bn = 64, tb = true, store = "plain" })
tap.ok(gemm({ wgs = 1, bn = 128, split = "n", store = "plain", epilogue = function(_, _, x) return x - x:row_max(1) end }):verify().ok,
  "one warpgroup shares nothing: split = \"n\" is as good as none")
tap.done()
