-- The tile before is the one that the task had in the turn before: inside the loop weir.previous_tile gives it, behind the loop
-- weir.last_tile gives the last. Neither is known elsewhere, nor of a queue whose tiles the task does not take.
local weir = require "weir"
local k = weir.kernel { name = "late", arch = "sm_90a" }
local M, N = k:dim "M", k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
local wq = k:work_queue { name = "wq", over = Y, tile = { 16, 32 } }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for t in weir.work_tile_loop(wq) do s:acquire(); s:tma_load(x:at(t.m, t.n)); s:commit(); wq:next() end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for _ in weir.work_tile_loop(wq) do
    s:wait()
    for b in weir.previous_tile(wq) do y:store(s:read(1), b); s:release() end
    for b in weir.last_tile(wq) do y:store(s:read(), b); s:release() end  -- broken
    wq:next()
  end
  for b in weir.last_tile(wq) do y:store(s:read(), b); s:release() end  -- mended
end }
return k
--[[ report
C-NEST-14.lua:19: error: last_tile inside the work-tile loop over 'wq' [C-NEST-14]
    C-NEST-14.lua:16: the work-tile loop
    hint: put it behind the loop; inside, the tile before is weir.previous_tile's
1 error
]]
