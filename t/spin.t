#!/usr/bin/env lua5.4
-- The Promela model of a kernel, searched by spin: an error exactly where the prover finds a fault.
local tap = require "tap"
local lab = require "lab"
local plan, weir = lab.plan, lab.weir
local campaign, mutants, spin = require "gen.campaign", require "gen.mutants", require "gen.spin"

-- the text
local k = lab.gemm { stages = 2 }
local text = k:promela { M = 64, N = 64, K = 128 }
tap.like("protocol of kernel 'gemm' with M = 64, N = 64, K = 128", text, "the head names the sizes")
tap.like("bulk_issue ab_full[1], line ", text, "a move names its barrier, stage and line")
tap.raises("give the size of dim 'K'", function() k:promela { M = 64, N = 64 } end, "a size is missing")
tap.raises("kernel 'gemm' has no dim 'Q'", function() k:promela { M = 64, N = 64, K = 64, Q = 1 } end, "a dim of no kernel")
tap.raises("the size of 'K' is not a whole number", function() k:promela { M = 64, N = 64, K = "x" } end, "a size that is none")
tap.raises("a table of sizes", function() k:promela(3) end, "no table")
tap.raises("tensor memory", function()
  local tc = weir.kernel { name = "tc", arch = "sm_100a" }
  local s = tc:smem_tile { name = "s", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = weir.pipeline.tma_umma { stages = 1 } }
  local X = tc:tensor { name = "X", dtype = "bf16", shape = { 128, 64 } }
  local Y = tc:tensor { name = "Y", dtype = "f32", shape = { 128, 128 }, out = true }
  local gx, gy = tc:gmem_tile { name = "gx", tensor = X, tile = { 128, 64 } }, tc:gmem_tile { name = "gy", tensor = Y, tile = { 128, 128 } }
  local acc = tc:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = weir.pipeline.umma_async { stages = 1 } }
  tc:task { name = "load", warps = { 4, 1 }, schedule = function() s:acquire(); s:tma_load(gx:at(0, 0)); s:commit() end }
  tc:task { name = "mma", warps = { 5, 1 }, schedule = function()
    acc:acquire(); acc:zero(); s:wait(); acc:mma(s:read(), s:read()); s:release(); acc:commit()
  end }
  tc:task { name = "put", warps = { 0, 4 }, schedule = function() acc:wait(); gy:store(acc:read(), gy:at(0, 0)); acc:release() end }
  tc:promela()
end, "what the model does not cover is said")

if not spin.there() then
  tap.skip("spin or a C compiler is not installed", 17)
  tap.done()
end
local picked = {}
for _, b in ipairs(mutants.bases(weir, lab)) do
  if ({ mma = 1, merge = 1, turns = 1, ["lagging release"] = 1, gemm = 1, tiles = 1, ["cp.async for an mma"] = 1 })[b.name] then
    picked[#picked + 1] = { b.name, assert(plan.of(b.make())), b.sizes }
  end
end
local wanted = { ["three stages"] = "drop warp_sync", ["mma"] = "one more left by mma_wait", ["merge"] = "drop t2: wait", ["loads"] = "half the bytes", ["turns"] = "t1 runs N - 1",
  ["fork"] = "drop bulk_issue", ["gemm"] = "drop fence_async", ["two rings"] = "first t2: release", ["one stage"] = "p1_full counts 2",
  ["cp.async for an mma"] = "drop fence_async" }
for _, m in ipairs(mutants.all(plan, weir, lab)) do
  local part = wanted[m.base.name]
  if part and m.what:find(part, 1, true) then
    wanted[m.base.name] = nil
    picked[#picked + 1] = { m.base.name .. ", " .. m.what, assert(m.make()), m.base.sizes }
  end
end
tap.is(17, #picked, "kernels")
for _, x in ipairs(picked) do
  local same, why = campaign.spin(plan, x[2], x[3])
  tap.ok(same, ("%s: %s"):format(x[1], why))
end
spin.clean()
tap.done()
