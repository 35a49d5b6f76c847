-- The rows of a register tile are dealt to the warpgroups of its task; it has 1, 4 or a multiple of 8 columns, parts of it whole eights; an mma has 64 rows.
local weir = require "weir"
local k = weir.kernel { name = "gemm", arch = "sm_90a" }
local M, N, K = k:dim "M", k:dim "N", k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = D, tile = { 64, 128 } }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 128 } }
local tma = weir.pipeline.tma_async { stages = 4 }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = tma }
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = tma }
local acc = k:wgmma_tile { name = "acc", tile = { 64, 128 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    for i in weir.domain_loop(weir.ceil_div(K, 64)) do
      a:acquire(); a:tma_load(ga:at(tile.m, i)); a:commit()
      b:acquire(); b:tma_load(gb:at(tile.n, i)); b:commit()
    end
    wq:next()
  end
end }
k:task { name = "mma", warps = { 4, 8 }, schedule = function()  -- broken
k:task { name = "mma", warps = { 4, 4 }, schedule = function()  -- mended
  for tile in weir.work_tile_loop(wq) do
    acc:zero()
    for _ in weir.domain_loop(weir.ceil_div(K, 64)) do
      a:wait(); b:wait()
      acc:mma(a:read(), b:read())
      acc:drain()
      a:release(); b:release()
    end
    gd:store(acc:read(), tile)
    wq:next()
  end
end }
return k
--[[ report
PLAN-TILE.lua:15: error: tile 'acc' { 64, 128 } does not divide among the 2 warpgroups of task 'mma' [PLAN-TILE]
    expected a multiple of 128 rows, got 64
    hint: rows must be a multiple of 128: an MMA is 64 rows by a multiple of 8 columns
1 error
]]
