-- Warps that take turns each arm their own stages; a leader arms for all. Both at once contradict each other.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, interleave = 2, producer_signaling = "task_warp_leader" } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, interleave = 2 } }  -- mended
k:task { name = "load", warps = { 0, 2 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 2, 2 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
V-CNT-04.lua:9: error: pipeline 's': a producer task of 2 warps has interleave 2 and "task_warp_leader": with the first each warp arms its own stages, with the second only the first warp arms; choose one [V-CNT-04]
    expected one of them, got 2 warps
1 error
]]
