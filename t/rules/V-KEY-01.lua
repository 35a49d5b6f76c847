-- A key says that conditions in several tasks are one: where both can be computed, they are tried.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local s = k:scalar { name = "s", dtype = "i32" }
local X = k:tensor { name = "x", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "y", dtype = "f32", shape = { N }, out = true }
local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 128 } }
local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 128 } }
local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 128 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for _ in weir.when_true(weir.gt(s * 2, 5), { key = "many" }) do  -- broken
  for _ in weir.when_true(weir.gt(s * 2, 6), { key = "many" }) do  -- mended
    ring:acquire()
    ring:tma_load(gx:at(0))
    ring:commit()
  end
end }
k:task { name = "save", warps = { 4, 4 }, schedule = function()
  for _ in weir.when_true(weir.gt(s, 3), { key = "many" }) do
    ring:wait()
    gy:store(ring:read(), gy:at(0))
    ring:release()
  end
end }
return k
--[[ report
V-KEY-01.lua:20: error: under key 'many', s * 2 > 5 and s > 3 come out differently with s = 3 [V-KEY-01]
    V-KEY-01.lua:12: the other condition
    hint: one condition for both, a key each, or k:assume(...) what makes them equal
1 error
]]
