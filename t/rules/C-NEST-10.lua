-- What is skipped, the work-tile loop says: skippable needs its `skip`.
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
  for tile in weir.work_tile_loop(wq) do  -- broken
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
C-NEST-10.lua:25: error: skippable: the work-tile loop has no skip predicate [C-NEST-10]
    hint: work_tile_loop(wq, { skip = function(tile) ... end })
1 error
]]
