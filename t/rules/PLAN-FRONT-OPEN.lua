-- A row or column that may come out below 0 would be in front of the tensor (PLAN-FRONT). What is read from memory or given as a scalar is
-- taken for a place; the simulator checks the rest.
local weir = require "weir"
local k = weir.kernel { name = "shifted", arch = "sm_90a" }
local N = k:dim "N"
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 32 }, out = true }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 32 }, pipeline = weir.pipeline.async_tma { stages = 2 } }
k:task { name = "fill", warps = { 0, 4 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 8)) do
    s:acquire()
    s:store(1.0)
    s:commit()
    s:wait()
    y:tma_store(s:read(), y:from(8 * i - 8, 0))  -- broken
    y:tma_store(s:read(), y:from(8 * i, 0))  -- mended
    s:release()
  end
end }
return k
--[[ report
PLAN-FRONT-OPEN.lua:15: warning: a store into 'y' begins at 8 * i0 - 8 along axis 0 of its tensor, of which it is not known that it is not in front of it [PLAN-FRONT-OPEN]
    expected 0 or more
    hint: write weir.max(x, 0), behind a guard too; in front of a tensor the copy engine stops the kernel and the context is lost
1 warning
]]
