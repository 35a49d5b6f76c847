-- Every warp of a TMA producer would arm the barrier and issue the copies. One warp is enough; several take turns (interleave) or have a leader.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 2 }, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 4, 1 }, schedule = function()  -- broken
k:task { name = "store", warps = { 1, 1 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
V-CNT-03.lua:9: error: pipeline 's': a producer task of 2 warps on tma_async: each would arm the barrier; use producer_signaling = "task_warp_leader", or interleave above 1 (it is 1) [V-CNT-03]
    expected 1 warp, got 2 warps
1 error
]]
