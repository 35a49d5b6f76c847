-- The copy engine fills the ring: one thread issues TMA loads, an mbarrier counts their bytes, four warps store.
--   lua5.4 examples/02_tma_copy.lua [rows] [columns] [sim|0]
local weir = require "weir"
local TR, TC, STAGES = 8, 64, 4                           -- rows and columns of a tile; stages
local rows, cols = tonumber(arg and arg[1] or nil) or 200, tonumber(arg and arg[2] or nil) or 500
local dev = weir.device(arg and arg[3] == "sim" and "sim" or tonumber(arg and arg[3] or nil))

local k = weir.kernel { name = "tma_copy", arch = "sm_90a" }
local H, W = k:dim "H", k:dim "W"
local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
local wq   = k:work_queue { name = "wq", axes = { "row" }, extent = { weir.ceil_div(H, TR) } }
local gx   = k:gmem_tile { name = "gx", tensor = X, tile = { TR, TC } }
local gy   = k:gmem_tile { name = "gy", tensor = Y, tile = { TR, TC } }
local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { TR, TC }, pipeline = weir.pipeline.tma_async { stages = STAGES } }

k:task { name = "load", warps = { 4, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    for c in weir.domain_loop(0, weir.ceil_div(W, TC)) do
      ring:acquire(); ring:tma_load(gx:at(tile.row, c)); ring:commit()
    end
    wq:next()
  end
end }
k:task { name = "store", warps = { 0, 4 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    for c in weir.domain_loop(0, weir.ceil_div(W, TC)) do
      ring:wait(); gy:store(ring:read(), gy:at(tile.row, c)); ring:release()
    end
    wq:next()
  end
end }

local copy = k:build { device = dev }
print(k:verify {})

local x = dev:tensor { dtype = "f32", shape = { rows, cols } }:randn(7)
local y = dev:tensor { dtype = "f32", shape = { rows, cols } }:fill(0)
assert(copy:launch { X = x, Y = y })
assert(dev:sync())
local want, got, bad = x:get(), y:get(), 0
for i = 1, rows * cols do if got[i] ~= want[i] then bad = bad + 1 end end
print(("%s: copied %d x %d on %s, %d wrong"):format(bad == 0 and "PASS" or "FAIL", rows, cols, dev.name, bad))
os.exit(bad == 0 and 0 or 1)
