-- The wait for the previous kernel comes before the first touch, on every path.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local before = k:pdl_wait { name = "before" }
k:depends { { x, { before } }, { s, { x } }, { y, { s } } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  before:wait_griddep()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end  -- broken
  before:wait_griddep()  -- broken
  end  -- mended
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
V-PDL-02.lua:16: error: task 'load' touches 'x' before it waits on 'before' for the previous kernel [V-PDL-02]
    V-PDL-02.lua:19: the wait
    hint: write before:wait_griddep() first
1 error
]]
