-- advance_on_wait and advance_on_acquire follow from the schedule: a side that opens a stage before it has closed the last one needs two
-- places in its ring. Written as false, a flag says that this does not happen.
local weir = require "weir"
local k = weir.kernel { name = "delta", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local ring = weir.pipeline.tma_async { stages = 4, advance_on_wait = false }  -- broken
local ring = weir.pipeline.tma_async { stages = 4 }  -- mended
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = ring }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release(1)
  end
  s:release(0)
end }
return k
--[[ report
CN6.lua:22: error: advance_on_wait = false, but task 'store' waits for 's' again before it releases [CN6]
    CN6.lua:12: declared here
    expected true, got false
    hint: leave it out: it is derived
1 error
]]
