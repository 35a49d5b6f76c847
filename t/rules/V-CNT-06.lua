-- Of an interleaved side one lane arrives at each stage; the count is that of a lane. Left out, it is derived.
local weir = require "weir"
local k = weir.kernel { name = "lanes", arch = "sm_90a" }
local put = weir.producer_work { code = [[ smem[tid] = 0.f; ]] }
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 }, work = { put = put, get = get },
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 }, consumers = 64 } }  -- broken
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 }, consumers = 32 } }  -- mended
local function read() buf:wait(); buf:get(); buf:release() end
k:task { name = "fill", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do buf:acquire(); buf:put(); buf:commit() end
end }
k:task { name = "even", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, 4, 2) do read() end end }
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(1, 4, 2) do read() end end }
return k
--[[ report
V-CNT-06.lua:6: error: pipeline 'buf': consumers = 64, but release makes 1 or 32 arrivals per phase (1 warp of a lane; one per warp or per thread) [V-CNT-06]
    expected 1 or 32, got 64
1 error
]]
