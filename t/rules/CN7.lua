-- producer_op follows from the work: "load" where cp_async fills the stage, for the commit then arrives when the copies land; "thread"
-- where threads store into it, for it arrives when they come. A stage is filled in one way.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_80" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.async_async { stages = 2, producer_op = "thread" } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.async_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:cp_async(x:at(i))
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
CN7.lua:15: error: pipeline 's': producer_op is "thread", but cp_async fills the stage [CN7]
    CN7.lua:10: declared here
    expected load, got thread
    hint: leave producer_op out: it follows from the work
1 error
]]
