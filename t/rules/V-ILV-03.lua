-- The mma that fills an umma_async pipeline is one stream: its side is not interleaved; the readers' side may be.
local weir = require "weir"
local k = weir.kernel { name = "sums", arch = "sm_90a" }
local K = k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { 64, K } }
local D = k:tensor { name = "D", dtype = "f32", shape = { 64, 64 }, out = true }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 64, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 64 } }
local tma = weir.pipeline.tma_umma { stages = 2 }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = tma }
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = tma }
local c = k:tmem_tile { name = "c", tile = { 64, 64 }, pipeline = weir.pipeline.umma_async { stages = 4, interleave = 4 } }  -- broken
local c = k:tmem_tile { name = "c", tile = { 64, 64 }, pipeline = weir.pipeline.umma_async { stages = 1 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:acquire(); a:tma_load(ga:at(0, i)); a:commit()
    b:acquire(); b:tma_load(gb:at(0, i)); b:commit()
  end
end }
k:task { name = "mma", warps = { 4, 4 }, schedule = function()
  c:acquire()
  c:zero()
  for _ in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:wait(); b:wait()
    c:mma(a:read(), b:read())
    a:release(); b:release()
  end
  c:commit()
end }
k:task { name = "store", warps = { 8, 4 }, schedule = function()
  c:wait()
  gd:store(c:read(), gd:at(0, 0))
  c:release()
end }
return k
--[[ report
V-ILV-03.lua:14: error: pipeline 'c': interleave of acquire 4, commit 4 on umma_async: its producer side is not interleaved [V-ILV-03]
    expected 1, got 4
1 error
]]
