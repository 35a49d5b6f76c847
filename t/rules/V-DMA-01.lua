-- Hardware that fills a stage may read its source after the instruction was issued. The source's stage is given back once that work is issued, not before.
local weir = require "weir"
local k = weir.kernel { name = "hop", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local order = k:resource { name = "order", space = "smem", dtype = "i32", tile = { 1 }, pipeline = weir.pipeline.async_async { stages = 2 },
  work = { set = weir.producer_work { code = [[ if (tid == 0) smem[0] = iter; ]] },
           get = weir.consumer_work { returns = "uniform i32 i", code = [[ i = smem[0]; ]] } } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:depends { { order, {} }, { s, { x, order } }, { y, { s } } }
k:task { name = "plan", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 256)) do
    order:acquire(); order:set(); order:commit()
  end
end }
k:task { name = "load", warps = { 1, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 256)) do
    order:wait()
    local i = order:get()
    s:acquire(); s:tma_load(x:at(i)); s:commit()  -- mended
    order:release()  -- broken
    s:acquire(); s:tma_load(x:at(i)); s:commit()  -- broken
    order:release()  -- mended
  end
end }
k:task { name = "store", warps = { 2, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait(); y:store(s:read(), y:at(i)); s:release()
  end
end }
return k
--[[ report
V-DMA-01.lua:24: error: task 'load' releases 'order' before the work on 's' that reads it is issued [V-DMA-01]
    hint: release it after that work
1 error
]]
