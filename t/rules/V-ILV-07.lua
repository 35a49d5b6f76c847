-- A task that takes its lane from its loop has one lane, so wait and release (acquire and commit) have one stride.
local weir = require "weir"
local k = weir.kernel { name = "lanes", arch = "sm_90a" }
local put = weir.producer_work { code = [[ smem[tid] = 0.f; ]] }
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 }, work = { put = put, get = get },
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 4 } } }  -- broken
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 } } }  -- mended
local function read() buf:wait(); buf:get(); buf:release() end
k:task { name = "fill", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do buf:acquire(); buf:put(); buf:commit() end
end }
k:task { name = "even", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, 4, 2) do buf:wait() end end }  -- broken
k:task { name = "even", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, 4, 2) do read() end end }  -- mended
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(1, 4, 2) do buf:wait() end end }  -- broken
k:task { name = "free", warps = { 4, 4 }, schedule = function() for _ in weir.domain_loop(4) do buf:release() end end }  -- broken
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(1, 4, 2) do read() end end }  -- mended
return k
--[[ report
V-ILV-07.lua:13: error: task 'even' takes its lane of 'buf' from its loop, but the side's strides differ (wait 2, release 4) [V-ILV-07]
    V-ILV-07.lua:6: the pipeline
    hint: one stride for both, or a task of 2 warps
V-ILV-07.lua:15: error: task 'odd' takes its lane of 'buf' from its loop, but the side's strides differ (wait 2, release 4) [V-ILV-07]
    V-ILV-07.lua:6: the pipeline
    hint: one stride for both, or a task of 2 warps
2 errors
]]
