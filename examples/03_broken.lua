-- Five typical mistakes, each with the report that names its line, and the change that mends it.
--   lua5.4 examples/03_broken.lua
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div

-- A GEMM with one mistake, or none.
local function gemm(mistake)
  local BM, BN, BK = 128, 128, 64
  local stages = mistake == "too many stages" and 8 or 4
  local k = weir.kernel { name = "gemm", arch = "sm_90a" }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
  local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { BM, BN } }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, BN } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { BM, BK }, swizzle = 128,
    pipeline = P.tma_async { stages = stages, consumers = mistake == "wrong count" and 1 or nil } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN, BK }, swizzle = 128, pipeline = P.tma_async { stages = stages } }
  local acc = k:wgmma_tile { name = "acc", tile = { BM, BN } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for kk in weir.domain_loop(0, cd(K, BK)) do
        a:acquire(); a:tma_load(ga:at(t.m, kk)); a:commit()
        b:acquire(); b:tma_load(gb:at(t.n, kk)); b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 4, 8 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      acc:zero()
      local first = mistake == "one step short" and 1 or 0
      for _ in weir.domain_loop(first, cd(K, BK)) do
        a:wait()
        if mistake ~= "a forgotten wait" then b:wait() end
        acc:mma(a:read(), b:read())
        if mistake ~= "released too early" then acc:drain() end
        a:release()
        if mistake ~= "a forgotten wait" then b:release() end
      end
      acc:drain()
      gd:store(acc:read(), t)
      wq:next()
    end
  end }
  return k:verify {}
end

local expected = { -- a rule that the report must name
  { "too many stages", "PLAN-SMEM" },
  { "wrong count", "V-CNT" },
  { "a forgotten wait", "V-BRK" },
  { "released too early", "PROVE-ASYNC-READ" },
  { "one step short", "PROVE-" },
}
local ok = gemm().ok
print("without a mistake: " .. tostring(gemm().proof.verdict) .. "\n")
for _, case in ipairs(expected) do
  local report = gemm(case[1])
  print("-- " .. case[1] .. " " .. ("-"):rep(100 - #case[1]))
  print(report)
  local found = false
  for _, f in ipairs(report.findings) do found = found or (f.rule:find(case[2], 1, true) == 1 and f.line ~= nil) end
  ok = ok and found and not report.ok
end
print(ok and "PASS: every mistake was named" or "FAIL: a mistake went unnoticed")
os.exit(ok and 0 or 1)
