-- One instruction takes 32 bytes along K: 16 elements of bf16, 8 of tf32, 32 of e4m3. K of a stage is a multiple of that.
local weir = require "weir"
local k = weir.kernel { name = "gemm", arch = "sm_90a" }
local M, N, K = k:dim "M", k:dim "N", k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = D, tile = { 64, 128 } }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 24 } }  -- broken
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 32 } }  -- mended
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 24 } }  -- broken
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 32 } }  -- mended
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 128 } }
local tma = weir.pipeline.tma_async { stages = 4 }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 24 }, pipeline = tma }  -- broken
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 32 }, swizzle = 64, pipeline = tma }  -- mended
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 24 }, pipeline = tma }  -- broken
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 32 }, swizzle = 64, pipeline = tma }  -- mended
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
k:task { name = "mma", warps = { 4, 4 }, schedule = function()
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
V-MMA-03.lua:34: error: acc:mma: K is 24, an instruction of bf16 takes 16 [V-MMA-03]
    expected a multiple of 16, got 24
    hint: take a longer piece of K a stage; what lies beyond the tensor loads as 0
1 error
]]
