-- A dynamic queue has one producer, its scheduler; a static queue has none.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, src = { x, wq }, dst = { s, wq }, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, src = { x, wq }, dst = { s }, schedule = function()  -- mended
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
V-WQ-09.lua:11: error: queue 'wq' is in dst of 1 task [V-WQ-09]
    expected 0, got 1
    hint: leave it out of dst: a static queue computes its tiles
1 error
]]
