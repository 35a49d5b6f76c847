-- Stages are dealt to loops, each starting at its lane, or to the warps of a task. A side that does both has no one count per stage.
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
k:task { name = "odd", warps = { 2, 2 }, schedule = function() for _ in weir.domain_loop(4) do read() end end }  -- broken
k:task { name = "odd", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(1, 4, 2) do read() end end }  -- mended
return k
--[[ report
V-CNT-05.lua:8: error: release of 'buf' is interleaved by 2: task 'even' is one lane by its loop, task 'odd' has 2 warps and its loop starts at 0 and steps by 1 [V-CNT-05]
    V-CNT-05.lua:8: the other task
    hint: deal the stages one way: by loops or by warps
1 error
]]
