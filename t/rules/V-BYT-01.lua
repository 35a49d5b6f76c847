-- Where one warp arms for several, or one CTA for others, given bytes are checked against what each warp brings: bytes_per_warp_per_cta, or the tx_bytes of the bodies.
local weir = require "weir"
local k = weir.kernel { name = "pair", arch = "sm_90a" }
local fill = weir.producer_work { code = [[ if (elected) custom_copy(smem, bar); ]] }  -- broken
local fill = weir.producer_work { code = [[ if (elected) custom_copy(smem, bar); ]], tx_bytes = 2048 }  -- mended
local get = weir.consumer_work { code = [[ (void)smem[tid]; ]] }
local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 2048 }, work = { fill = fill, get = get },
  pipeline = weir.pipeline.tma_async { stages = 2, bytes = 2048, producer_signaling = "task_warp_leader" } }  -- broken
  pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 2 }, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()  -- mended
  for _ in weir.domain_loop(4) do s:acquire(); s:fill(); s:commit() end
end }
k:task { name = "read", warps = { 4, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do s:wait(); s:get(); s:release() end
end }
return k
--[[ report
V-BYT-01.lua:7: error: pipeline 's': bytes = 2048 are given, so bytes_per_warp_per_cta must be declared too: the first warp of a task arms what all its warps load [V-BYT-01]
    expected bytes_per_warp_per_cta, got none
1 error
]]
