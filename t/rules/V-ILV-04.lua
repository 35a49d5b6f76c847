-- The mma that empties an async_umma pipeline is one stream: its side is not interleaved; the writers' side may be.
local weir = require "weir"
local k = weir.kernel { name = "scale", arch = "sm_90a" }
local K = k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { 64, K } }
local D = k:tensor { name = "D", dtype = "f32", shape = { 64, 64 }, out = true }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 64, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 64 } }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128,  -- broken
  pipeline = weir.pipeline.async_umma { stages = 4, interleave = 4 } }  -- broken
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = weir.pipeline.async_umma { stages = 2 } }  -- mended
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = weir.pipeline.tma_umma { stages = 2 } }
local acc = k:wgmma_tile { name = "acc", tile = { 64, 64 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do b:acquire(); b:tma_load(gb:at(0, i)); b:commit() end
end }
k:task { name = "fill", warps = { 8, 4 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do a:acquire(); a:store(ga:at(0, i):load() * 2); a:commit() end
end }
k:task { name = "mma", warps = { 4, 4 }, schedule = function()
  acc:zero()
  for _ in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:wait(); b:wait()
    acc:mma(a:read(), b:read())
    a:release(); b:release()
  end
  gd:store(acc:read(), gd:at(0, 0))
end }
return k
--[[ report
V-ILV-04.lua:11: error: pipeline 'a': interleave of wait 4, release 4 on async_umma: its consumer side is not interleaved [V-ILV-04]
    expected 1, got 4
1 error
]]
