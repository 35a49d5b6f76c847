-- An interleaved tma_async lives in one CTA: with multicast, lanes of different CTAs would have to keep step.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 2 } }  -- broken
local k = weir.kernel { name = "copy", arch = "sm_90a" }  -- mended
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, interleave = 2 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 2 }, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 4, 2 }, schedule = function()  -- broken
k:task { name = "store", warps = { 1, 1 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
V-ILV-02.lua:10: error: pipeline 's': interleave 2 on tma_async in a cluster of 2 CTAs; it needs a cluster of 1 [V-ILV-02]
    expected 1 CTA, got 2
1 error
]]
