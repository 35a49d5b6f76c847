-- CTAs share an mma on sm_100a only. On sm_90a neighbours share operands: the loads multicast.
local weir = require "weir"
local k = weir.kernel { name = "fill", arch = "sm_90a", cluster = { v = 2 } }  -- broken
local k = weir.kernel { name = "fill", arch = "sm_90a" }  -- mended
local K = k:dim "K"
local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, K } }
local B = k:tensor { name = "B", dtype = "bf16", shape = { 64, K } }
local D = k:tensor { name = "D", dtype = "f32", shape = { 64, 64 }, out = true }
local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 64 } }
local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 64, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 64, 64 } }
local umma = weir.pipeline.tma_umma { stages = 2 }
local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = umma }
local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = umma }
local acc = k:wgmma_tile { name = "acc", tile = { 64, 64 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(K, 64)) do
    a:acquire(); a:tma_load(ga:at(0, i)); a:commit()
    b:acquire(); b:tma_load(gb:at(0, i)); b:commit()
  end
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
X-V2-01.lua:13: error: pipeline 'a': tma_umma with v = 2: CTAs share an mma on sm_100a only; use cluster = { m = 2 } and let the loads of B multicast along m [X-V2-01]
    expected v = 1, got v = 2
X-V2-01.lua:14: error: pipeline 'b': tma_umma with v = 2: CTAs share an mma on sm_100a only; use cluster = { m = 2 } and let the loads of B multicast along m [X-V2-01]
    expected v = 1, got v = 2
2 errors
]]
