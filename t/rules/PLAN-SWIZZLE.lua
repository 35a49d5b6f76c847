-- A row of a swizzled tile is a whole number of spans, so that a box of the copy engine covers it.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 16 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 16 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 16 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 16 }, swizzle = 128, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 16 }, swizzle = 64, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    s:acquire()
    s:tma_load(x:at(tile.m, tile.n))
    s:commit()
    wq:next()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    s:wait()
    y:store(s:read(), tile)
    s:release()
    wq:next()
  end
end }
return k
--[[ report
PLAN-SWIZZLE.lua:10: error: tile 's': swizzle 128: a row of 16 x 4 bytes = 64 is not a multiple of the span; use swizzle = 64, or 32 columns [PLAN-SWIZZLE]
1 error
]]
