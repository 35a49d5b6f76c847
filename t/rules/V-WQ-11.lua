-- A raster of one's own deals the tiles out: it must give each i a tile, and no tile to two. It is run for many sizes that a launch may have; where a launch can have others, the verdict says that it is trusted.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M = k:dim "M"
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, 64 }, out = true }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 64 } }
local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(M, 16) },
  raster = function(i, m) return i // 2 end }         -- broken
  raster = function(i, m) return m - 1 - i end }      -- mended
k:task { name = "store", warps = { 0, 4 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    y:store(y:at(tile.m, 0):load() + 1, y:at(tile.m, 0))
    wq:next()
  end
end }
return k
--[[ report
V-WQ-11.lua:7: error: the raster of 'wq' gives i = 0 and i = 1 one tile, m = 0, with M = 64 [V-WQ-11]
    hint: give each i, from 0 to below the product of the extents, a tile of its own; k:assume(...) says which sizes come
1 error
]]
