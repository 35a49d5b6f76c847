-- Every task reads a dynamic queue's response, the scheduler included, and each releases it.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", kind = "atomic", over = Y, tile = { 16, 32 },  -- broken
  pipeline = weir.pipeline.clc_fetch_async { stages = 1, consumers = 2 } }  -- broken
local wq = k:work_queue { name = "wq", kind = "atomic", over = Y, tile = { 16, 32 } }  -- mended
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    s:acquire()
    s:tma_load(x:at(tile.m, tile.n))
    s:commit()
    wq:next()
  end
end }
k:task { name = "scheduler", warps = { 2, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
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
V-CNT-10.lua:7: error: pipeline 'wq': consumers = 2, but release makes 3 or 96 arrivals per phase (3 warps; one per warp or per thread) [V-CNT-10]
    expected 3 or 96, got 2
1 error
]]
