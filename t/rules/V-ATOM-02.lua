-- A copy moves bytes and converts nothing; a store of a value converts.
local weir = require "weir"
local k = weir.kernel { name = "tiles", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "bf16", shape = { M, N } }  -- broken
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }  -- mended
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
    y:store(s:read(), tile)
    s:release()
    wq:next()
  end
end }
return k
--[[ report
V-ATOM-02.lua:15: error: s:tma_load: 'x' is bf16, 's' is f32, and a copy converts nothing [V-ATOM-02]
    V-ATOM-02.lua:9: declared here
    expected f32, got bf16
    hint: copy into a tile of the same dtype, and weir.cast what is read from it
1 error
]]
