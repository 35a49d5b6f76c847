-- One lane of an interleaved TMA side arms each stage.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, interleave = 2, producers = 2 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, interleave = 2 } }  -- mended
k:task { name = "load", warps = { 0, 2 }, schedule = function()
  for i in weir.domain_loop(4) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 2, 2 }, schedule = function()
  for i in weir.domain_loop(4) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
V-CNT-07.lua:9: error: pipeline 's': producers = 2, but 1 arrival reaches the barrier per phase (1 warp that arms) [V-CNT-07]
    expected 1, got 2
1 error
]]
