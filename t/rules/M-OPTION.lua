-- An option is one that the call has. Only loads multicast: a store goes to one place.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
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
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    s:wait()
    y:store(s:read(), tile, { multicast = "m" })  -- broken
    y:store(s:read(), tile)  -- mended
    s:release()
    wq:next()
  end
end }
return k
--[[ report
M-OPTION.lua:22: error: y:store takes no multicast [M-OPTION]
    hint: multicast is an option of tma_load
1 error
]]
