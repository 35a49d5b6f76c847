-- What weir does not build yet it says here, rather than building something else.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()  -- mended
    s:tma_load(x:at(i))
    s:commit()  -- mended
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()  -- mended
    y:store(s:read(), y:at(i))
    s:release()  -- mended
  end
end }
return k
--[[ report
PLAN-UNSUPPORTED.lua:14: error: task 'load': s:tma_load brings bytes that no pipeline counts [PLAN-UNSUPPORTED]
    hint: give the tile a tma_async pipeline
1 error
]]
