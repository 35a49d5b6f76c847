-- CTAs that a multicast load serves get one tile, a slice from each: each must name the same one. Along m of a cluster the tiles of B are
-- the same, those of A are not.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 2 } }
local M, N = k:dim "M", k:dim "N"
local A, B = k:tensor { name = "A", dtype = "f32", shape = { M, 64 } }, k:tensor { name = "B", dtype = "f32", shape = { N, 64 } }
local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = D, tile = { 16, 16 } }
local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { 16, 64 } }, k:gmem_tile { name = "gb", tensor = B, tile = { 16, 64 } }
local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 16, 16 } }
local a = k:smem_tile { name = "a", dtype = "f32", tile = { 16, 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local b = k:smem_tile { name = "b", dtype = "f32", tile = { 16, 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for t in weir.work_tile_loop(wq) do
    a:acquire()
    a:tma_load(ga:at(t.m, 0), { multicast = "m" })  -- broken
    a:tma_load(ga:at(t.m, 0))  -- mended
    a:commit()
    b:acquire()
    b:tma_load(gb:at(t.n, 0), { multicast = "m" })
    b:commit()
    wq:next()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for t in weir.work_tile_loop(wq) do
    a:wait(); b:wait()
    gd:store(a:read():cols(0, 16):load() + b:read():cols(0, 16):load(), t)
    a:release(); b:release()
    wq:next()
  end
end }
return k
--[[ report
V-CTA-02.lua:16: error: a:tma_load: the CTAs along m that it serves name different tiles: t.m is another number in each [V-CTA-02]
    hint: multicast along an axis that t.m does not follow
1 error
]]
