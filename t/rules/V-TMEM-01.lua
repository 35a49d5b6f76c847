-- Tensor memory has 512 columns, for all stages of all tiles together.
local weir = require "weir"
local k = weir.kernel { name = "sums", arch = "sm_100a" }
local K = k:dim("K", { min = 1 })
local A = k:tensor { name = "A", dtype = "bf16", shape = { 128, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { 256, K } }
local D = k:tensor { name = "D", dtype = "f32", shape = { 128, 256 }, out = true }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 128, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 256, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 128, 256 } }
local tma = weir.pipeline.tma_umma { stages = 2 }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = tma }
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 256, 64 }, swizzle = 128, pipeline = tma }
local c = k:tmem_tile { name = "c", tile = { 128, 256 }, pipeline = weir.pipeline.umma_async { stages = 3 } }  -- broken
local c = k:tmem_tile { name = "c", tile = { 128, 256 }, pipeline = weir.pipeline.umma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:acquire(); a:tma_load(ga:at(0, i)); a:commit()
    b:acquire(); b:tma_load(gb:at(0, i)); b:commit()
  end
end }
k:task { name = "mma", warps = { 1, 1 }, schedule = function()
  c:acquire()
  c:zero()
  for _ in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:wait(); b:wait()
    c:mma(a:read(), b:read())
    a:release(); b:release()
  end
  c:commit()
end }
k:task { name = "store", warps = { 4, 4 }, schedule = function()
  c:wait()
  gd:store(c:read(), gd:at(0, 0))
  c:release()
end }
return k
--[[ report
V-TMEM-01.lua:14: error: the tmem_tiles take 768 columns of tensor memory, an SM has 512 ('c' takes 3 x 256) [V-TMEM-01]
    expected at most 512 columns, got 768
    hint: fewer stages, or narrower tiles
1 error
]]
