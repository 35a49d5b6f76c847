-- A bulk load that begins in front of its tensor brings zeros for what is not there. A store there is no such thing: on an H200 the copy engine raises an
-- illegal instruction, and the context is lost. Stores by threads drop what lies outside, on all sides.
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
    y:tma_store(s:read(), y:from(8 * i, -32))  -- broken
    y:tma_store(s:read(), y:from(8 * i, 0))  -- mended
    s:release()
  end
end }
return k
--[[ report
PLAN-FRONT.lua:15: error: a store into 'y' begins at -32 along axis 1 of its tensor, in front of it [PLAN-FRONT]
    expected 0 or more
    hint: begin at 0 with a tile of the rest, or let threads store, which drop what lies outside
1 error
]]
