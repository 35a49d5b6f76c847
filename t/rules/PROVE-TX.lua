-- The bytes that a stage is armed with come on every path. Here a condition leaves the load out, and the barrier waits for its bytes.
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
    for _ in weir.when_true(weir.lt(i, 4)) do s:tma_load(x:at(i)) end  -- broken
    s:tma_load(x:at(i))  -- mended
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
PROVE-TX.lua:20: error: 'store' waits at s_full[0] for phase 2 (parity 0), 1024 bytes missing; 'load' has ended (with N = 1280) [PROVE-TX]
    expected 1024 bytes, got 0 bytes
    hint: arm exactly the bytes that the copies into the stage bring
1 error
]]
