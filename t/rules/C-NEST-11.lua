-- With a skip predicate, domain loops stand inside skippable: on a skipped tile they would run all the same, against partners that skip.
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
    for _ in tile:skippable() do  -- mended
      for _ in weir.domain_loop(2) do
        s:acquire()
        s:tma_load(x:at(tile.m, tile.n))
        s:commit()
      end
    end  -- mended
    wq:next()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq, { skip = far }) do
    for _ in tile:skippable() do
      for _ in weir.domain_loop(2) do
        s:wait()
        y:store(s:read(), tile)
        s:release()
      end
    end
    wq:next()
  end
end }
return k
--[[ report
C-NEST-11.lua:15: error: task 'load': the work-tile loop skips tiles, and this domain loop runs on them all the same [C-NEST-11]
    C-NEST-11.lua:13: the work-tile loop
    hint: put it inside `for _ in tile:skippable() do ... end`
1 error
]]
