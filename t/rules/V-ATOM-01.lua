-- A copy moves whole tiles, so source and destination have one shape; a stored value has the shape of its place, or 1 along an axis.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 32, 16 } }  -- broken
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }  -- mended
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
V-ATOM-01.lua:15: error: s:tma_load: a tile of 'x' is { 32, 16 }, 's' is { 16, 32 } [V-ATOM-01]
    V-ATOM-01.lua:8: declared here
    expected { 16, 32 }, got { 32, 16 }
    hint: a copy moves whole tiles: make the two tiles alike
1 error
]]
