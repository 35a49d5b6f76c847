-- cp.async arrives in its own CTA only. With v = 2 the leader's mma reads both CTAs' stages and cannot see that the peer's copies landed; loads of the copy engine arrive at the leader.
local weir = require "weir"
local k = weir.kernel { name = "sums", arch = "sm_100a", cluster = { v = 2 } }
local K = k:dim("K", { min = 1 })
local A = k:tensor { name = "A", dtype = "bf16", shape = { 256, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { 256, K } }
local D = k:tensor { name = "D", dtype = "f32", shape = { 256, 256 }, out = true }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 128, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 128, 256 } }
local tma = weir.pipeline.tma_umma { stages = 2 }
local load = weir.pipeline.async_umma { stages = 2, producer_op = "load" }  -- broken
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = load }  -- broken
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = tma }  -- mended
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = tma }
local c = k:tmem_tile { name = "c", tile = { 128, 256 }, pipeline = weir.pipeline.umma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do
    b:acquire(); b:tma_load(gb:at(k.cta.v, i)); b:commit()
  end
end }
k:task { name = "copy", warps = { 2, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do a:acquire(); a:cp_async(ga:at(k.cta.v, i)); a:commit() end  -- broken
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do a:acquire(); a:tma_load(ga:at(k.cta.v, i)); a:commit() end  -- mended
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
  gd:store(c:read(), gd:at(k.cta.v, 0))
  c:release()
end }
return k
--[[ report
X-V2-02.lua:13: error: pipeline 'a': producer_op = "load" on async_umma with v = 2: cp.async arrives in its own CTA only, so the leader's mma cannot see that the peer's copies landed; load with tma_umma, or use v = 1 [X-V2-02]
    expected v = 1, got v = 2
1 error
]]
