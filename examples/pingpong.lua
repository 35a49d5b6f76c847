-- Ping-pong: two warpgroups take every second tile each and share one ring of loads; while one multiplies, the other stores.
--   lua5.4 examples/pingpong.lua [m] [n] [k] [sim|0]
-- Take the turn away and the proof fails: a lane that has not waited for the other's phases could meet its parity a lap too early.
local weir = require "weir"
local BM, BN, BK, STAGES = 64, 128, 64, 4
local m, n, kk = tonumber(arg and arg[1] or nil) or 500, tonumber(arg and arg[2] or nil) or 600, tonumber(arg and arg[3] or nil) or 300
local dev = weir.device(arg and arg[4] == "sim" and "sim" or tonumber(arg and arg[4] or nil))

local k = weir.kernel { name = "pingpong", arch = "sm_90a" }
local M, N, K = k:dim "M", k:dim "N", k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
local wq     = k:work_queue { name = "wq", over = D, tile = { BM, BN }, raster = "grouped", group = 8 }
local gmem_a = k:gmem_tile { name = "gmem_a", tensor = A, tile = { BM, BK } }
local gmem_b = k:gmem_tile { name = "gmem_b", tensor = B, tile = { BN, BK } }
local gmem_d = k:gmem_tile { name = "gmem_d", tensor = D, tile = { BM, BN } }
local pipe   = weir.pipeline.tma_async { stages = STAGES }
local smem_a = k:smem_tile { name = "smem_a", dtype = "bf16", tile = { BM, BK }, swizzle = 128, pipeline = pipe }
local smem_b = k:smem_tile { name = "smem_b", dtype = "bf16", tile = { BN, BK }, swizzle = 128, pipeline = pipe }
local ab     = k:group { name = "ab", mode = "fused_merge", members = { smem_a, smem_b } }
local turn   = k:barrier { name = "turn", pipeline = weir.pipeline.async_async { stages = 1 } }   -- no bytes: whose k-loop it is

k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()                   -- all tiles
  for tile in weir.work_tile_loop(wq) do
    for i in weir.domain_loop(0, weir.ceil_div(K, BK)) do
      ab.smem_a:acquire(); ab.smem_a:tma_load(gmem_a:at(tile.m, i)); ab.smem_a:commit()
      ab.smem_b:acquire(); ab.smem_b:tma_load(gmem_b:at(tile.n, i)); ab.smem_b:commit()
    end
    wq:next()
  end
end }

for lane = 0, 1 do
  local acc = k:wgmma_tile { name = "acc" .. lane, tile = { BM, BN } }
  k:task { name = "mma" .. lane, warps = { 4 + 4 * lane, 4 }, registers = 232, schedule = function()
    for tile in weir.work_tile_loop(wq, { lane = lane, lanes = 2 }) do                             -- every second tile
      acc:zero()
      if lane == 0 then turn:acquire() else turn:wait() end                                        -- the first acquire passes
      for _ in weir.domain_loop(0, weir.ceil_div(K, BK)) do
        ab:wait()
        acc:mma(ab.smem_a:read(), ab.smem_b:read())
        acc:drain(1); ab:release(1)
      end
      if lane == 0 then turn:commit() else turn:release() end                                      -- the last product still runs
      acc:drain(); ab:release(0)
      gmem_d:store(acc:read(), tile)
      wq:next()
    end
  end }
end

local gemm = k:build { device = dev }
print(gemm.report)

local a, b = dev:tensor { dtype = "bf16", shape = { m, kk } }:randn(1), dev:tensor { dtype = "bf16", shape = { n, kk } }:randn(2)
local d = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
assert(gemm:launch { A = a, B = b, D = d })
assert(dev:sync())
package.path = (arg[0]:match "^(.*/)" or "") .. "../?.lua;" .. package.path -- wherever it was started
local e = require "examples.reference".gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = a, B = b, D = d, m = m, n = n, k = kk }
print(("%s: %d x %d x %d on %s, relative error %.1e, %d elements off"):format(e.bad == 0 and "PASS" or "FAIL", m, n, kk, dev.name, e.relative, e.bad))
os.exit(e.bad == 0 and 0 or 1)
