-- `skip` is a function of the tile; what it returns is the condition on which the tile is skipped.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local function far(tile) return weir.ge(tile.m + tile.n, 64) end
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq, { skip = far }) do
    for _ in tile:skippable() do
      s:acquire()
      s:tma_load(x:at(tile.m, tile.n))
      s:commit()
    end
    wq:next()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq, { skip = true }) do  -- broken
  for tile in weir.work_tile_loop(wq, { skip = far }) do  -- mended
    for _ in tile:skippable() do
      s:wait()
      y:store(s:read(), tile)
      s:release()
    end
    wq:next()
  end
end }
return k
--[[ report
C-SKIP-01.lua:23: weir.work_tile_loop: skip is a function of the tile, got boolean [C-SKIP-01]
]]
