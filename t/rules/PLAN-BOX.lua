-- A box of the copy engine is at most 256 elements long along each axis, and its rows are a multiple of 16 bytes. Longer tiles are cut along their outermost axis.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 512, 8 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 512, 8 }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 2, 512, 8 } }  -- broken
local x = k:gmem_tile { name = "x", tensor = X, tile = { 2, 256, 8 } }  -- mended
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 2, 512, 8 } }  -- broken
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 2, 256, 8 } }  -- mended
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 2, 512, 8 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 2, 256, 8 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 2)) do
    s:acquire()
    s:tma_load(x:at(i, 0, 0))
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 2)) do
    s:wait()
    y:store(s:read(), y:at(i, 0, 0))
    s:release()
  end
end }
return k
--[[ report
PLAN-BOX.lua:16: error: task 'load': s:tma_load has a tile whose box would be longer than 256 elements [PLAN-BOX]
    hint: make the tile smaller along that axis
1 error
]]
