-- One task that waits and releases does both in the same stride.
local weir = require "weir"
local k = weir.kernel { name = "lanes", arch = "sm_90a" }
local put = weir.producer_work { code = [[ smem[tid] = 0.f; ]] }
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 }, work = { put = put, get = get },
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 1 } } }  -- broken
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 1, 1, 2, 2 } } }  -- mended
local function read() buf:wait(); buf:get(); buf:release() end
k:task { name = "fill", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do buf:acquire(); buf:put(); buf:commit() end
end }
k:task { name = "read", warps = { 2, 2 }, schedule = function() for _ in weir.domain_loop(4) do read() end end }
return k
--[[ report
V-ILV-09.lua:9: error: task 'read' has both wait and release of 'buf', which are interleaved differently (wait 2, release 1) [V-ILV-09]
    V-ILV-09.lua:6: the pipeline
    hint: one stride for both, or a task for each
1 error
]]
