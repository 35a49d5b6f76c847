-- A warpgroup that no task uses still takes its threads, and registers with them. Single warps beside a task are padding; they idle with their warpgroup.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 8, 1 }, schedule = function()  -- broken
k:task { name = "store", warps = { 4, 1 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
X-WARP-03.lua:3: note: warps 4 to 7 belong to no task and idle [X-WARP-03]
1 note
]]
