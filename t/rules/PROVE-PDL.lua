-- launch_griddep lets the next kernel start. Before this one has waited for the kernel in front, the next could overtake both.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local before, after = k:pdl_wait { name = "before" }, k:pdl_launch { name = "after" }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  after:launch_griddep()  -- broken
  before:wait_griddep()
  after:launch_griddep()  -- mended
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
    s:release()
  end
end }
return k
--[[ report
PROVE-PDL.lua:12: error: 'load' may launch the next kernel before any task has waited for the previous one [PROVE-PDL]
    hint: wait_griddep() before launch_griddep(), in the same task or ordered before it
1 error
]]
