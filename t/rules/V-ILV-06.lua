-- Each lane of an interleaved role is a warp of a task with that many warps, or a task whose loop starts at the lane and steps by their number.
local weir = require "weir"
local k = weir.kernel { name = "lanes", arch = "sm_90a" }
local put = weir.producer_work { code = [[ smem[tid] = 0.f; ]] }
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 }, work = { put = put, get = get },
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 } } }
local function read() buf:wait(); buf:get(); buf:release() end
k:task { name = "fill", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do buf:acquire(); buf:put(); buf:commit() end
end }
k:task { name = "even", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, 4, 2) do read() end end }
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(2) do read() end end }  -- broken
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(1, 4, 2) do read() end end }  -- mended
return k
--[[ report
V-ILV-06.lua:8: error: task 'odd': wait of 'buf' is interleaved by 2, the task has 1 warp and its loop starts at 0 and steps by 1 [V-ILV-06]
    V-ILV-06.lua:6: the pipeline
    hint: 2 warps, or a task per lane whose loop starts at the lane and steps by 2
1 error
]]
