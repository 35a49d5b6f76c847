-- sm_80 has neither a copy engine nor mbarrier transactions; sm_90a has both.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_80" }  -- broken
local k = weir.kernel { name = "copy", arch = "sm_90a" }  -- mended
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
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
PLAN-ARCH.lua:10: error: pipeline 's': tma_async needs the copy engine or tensor cores of sm_90a or sm_100a [PLAN-ARCH]
    hint: sm_80 has async_async
PLAN-ARCH.lua:14: error: s:tma_load is a TMA load, which sm_80 lacks; sm_90a and sm_100a have it [PLAN-ARCH]
    hint: s:cp_async(view) with an async_async pipeline does without
2 errors
]]
