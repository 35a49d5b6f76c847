-- With programmatic dependent launch a kernel starts before the one in front has ended. A task that touches what that one writes waits for it.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local before = k:pdl_wait { name = "before" }
k:depends { { x, { before } }, { y, { s, before } }, { s, { x } } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  before:wait_griddep()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  before:wait_griddep()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
V-PDL-01.lua:11: error: depends: 'y' depends on 'before', but no task has 'before' in src and 'y' in dst [V-DEP-04]
    hint: leave the edge out, or add the resource to the task that carries it
V-PDL-01.lua:24: error: task 'store' touches 'y' and never waits on 'before' for the previous kernel [V-PDL-01]
    hint: write before:wait_griddep() first
2 errors
]]
