-- A multicast load is cut into one slice for each CTA that loads: the outermost axis divides by their number.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 2 } }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 256 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 256 }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 3, 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 3, 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 3, 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 3)) do
    s:acquire()
    s:tma_load(x:at(i, 0), { multicast = "m" })  -- broken
    s:tma_load(x:at(i, 0))  -- mended
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 3)) do
    s:wait()
    y:store(s:read(), y:at(i, 0))
    s:release()
  end
end }
return k
--[[ report
PLAN-MULTICAST.lua:13: error: cuts tiles { 3, 256 } of 'x' into 2 slices, one a CTA [PLAN-MULTICAST]
    hint: the outermost axis must be a multiple of 2; or issue = "first": one CTA loads it whole
1 error
]]
