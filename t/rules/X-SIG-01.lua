-- A CTA that waits for its own full barrier has someone arm it. With "cta_leader" only one CTA of each pair does, and the other waits for ever.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_100a", cluster = { v = 2 } }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, producer_signaling = "cta_leader" } }  -- broken
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
X-SIG-01.lua:9: error: pipeline 's': producer_signaling = "cta_leader" on tma_async with v = 2: CTAs with v > 0 wait on their own full barriers, where nothing arrives; leave it out [X-SIG-01]
    expected all, got cta_leader
1 error
]]
