-- What is committed is waited for. A stage that nobody takes leaves the producer waiting for it at the end.
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
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(1, weir.ceil_div(N, 256)) do  -- broken
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do  -- mended
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
PROVE-LOST.lua:9: error: what was committed to s_full[0] is never waited for (with N = 1) [PROVE-LOST]
    hint: 'store' runs 0 steps (PROVE-LOST.lua:18), 'load' 1 (PROVE-LOST.lua:11) with N = 1: make both equally long
1 error
]]
