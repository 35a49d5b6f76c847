-- An mbarrier counts at most 1048575 bytes a phase.
local weir = require "weir"
local k = weir.kernel { name = "pair", arch = "sm_90a" }
local fill = weir.producer_work { code = [[ if (elected) custom_copy(smem, bar); ]] }  -- broken
local fill = weir.producer_work { code = [[ if (elected) custom_copy(smem, bar); ]], tx_bytes = 2048 }  -- mended
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 2048 }, work = { fill = fill, get = get },
  pipeline = weir.pipeline.tma_async { stages = 2, bytes = 2000000 } }  -- broken
  pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do s:acquire(); s:fill(); s:commit() end
end }
k:task { name = "read", warps = { 4, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do s:wait(); s:get(); s:release() end
end }
return k
--[[ report
V-BYT-04.lua:7: error: pipeline 's': 2000000 bytes per stage: an mbarrier counts at most 1048575 per phase; split the tile [V-BYT-04]
    expected 1048575, got 2000000
1 error
]]
