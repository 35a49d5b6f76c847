-- A kernel walks one queue.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local other = k:work_queue { name = "other", over = Y, tile = { 16, 32 } }  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    s:acquire()
    s:tma_load(x:at(tile.m, tile.n))
    s:commit()
    wq:next()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for tile in weir.work_tile_loop(other) do  -- broken
  for tile in weir.work_tile_loop(wq) do  -- mended
    s:wait()
    y:store(s:read(), tile)
    s:release()
    other:next()  -- broken
    wq:next()  -- mended
  end
end }
return k
--[[ report
V-WQ-05.lua:11: error: the tasks walk 2 queues ('wq' and 'other'), one is possible [V-WQ-05]
    hint: walk one queue in all tasks
1 error
]]
