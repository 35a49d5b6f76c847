-- At most 8 CTAs form a cluster on every device.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 16 } }  -- broken
local k = weir.kernel { name = "copy", arch = "sm_90a" }  -- mended
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
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
PLAN-CLUSTER.lua:3: error: kernel 'copy' has a cluster of 16 CTAs; at most 8 are portable [PLAN-CLUSTER]
    hint: v * m * n * k is 8 at most
1 error
]]
