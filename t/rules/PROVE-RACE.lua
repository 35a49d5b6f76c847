-- Two accesses of the same bytes, one of them a write, and no chain of barriers between them. Here: tiles that share bytes in turn (alias) are used at the same time.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local z = k:gmem_tile { name = "z", tensor = X, tile = { 256 } }
local t = k:smem_tile { name = "t", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:alias { { s }, { t } }  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
    t:acquire(); t:tma_load(z:at(i)); t:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait(); t:wait()
    y:store(s:read() + t:read(), y:at(i))
    s:release(); t:release()
  end
end }
return k
--[[ report
PROVE-RACE.lua:18: error: the bulk load of 'load' and the bulk load of 'load' both write stage 0 of 't', the bytes of stage 0 of 's', in no order (with N = 1) [PROVE-RACE]
    PROVE-RACE.lua:16: the other write
    hint: acquire the stage before it is written
1 error
]]
