-- The CTA layout is the kernel's cluster, the same for every member. It is derived when left out.
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
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = weir.pipeline.tma_async { stages = 4, cta_layout = { 1, 2, 1, 1 } } }  -- broken
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = tma }  -- mended
local ab = k:group { name = "ab", mode = "merge", members = { a, b } }
local acc = k:wgmma_tile { name = "acc", tile = { 64, 128 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    for i in weir.domain_loop(weir.ceil_div(K, 64)) do
      ab.a:acquire(); ab.a:tma_load(ga:at(tile.m, i)); ab.a:commit()
      ab.b:acquire(); ab.b:tma_load(gb:at(tile.n, i)); ab.b:commit()
    end
    wq:next()
  end
end }
k:task { name = "mma", warps = { 4, 4 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    acc:zero()
    for _ in weir.domain_loop(weir.ceil_div(K, 64)) do
      ab.a:wait(); ab.b:wait()
      acc:mma(ab.a:read(), ab.b:read())
      acc:drain()
      ab:release()
    end
    gd:store(acc:read(), tile)
    wq:next()
  end
end }
return k
--[[ report
G-CFG-07.lua:16: group 'ab': cta_layout is { 1, 1, 1, 1 } for 'a', { 1, 2, 1, 1 } for 'b' (expected { 1, 1, 1, 1 }, got { 1, 2, 1, 1 }) [G-CFG-07]
]]
