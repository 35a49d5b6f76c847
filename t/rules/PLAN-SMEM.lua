-- Stages, barriers and padding share the memory of one CTA. The finding lists what takes how much, and how many stages fit.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 300 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
PLAN-SMEM.lua:9: error: kernel 'copy' needs 312000 bytes of shared memory, the target has 232448: 79552 too many (s 300 x 1024, mbarriers 4800) [PLAN-SMEM]
    expected at most 232448 bytes, got 312000 bytes
    hint: stages = 223 of 's' fits (1024 bytes a stage)
1 error
]]
