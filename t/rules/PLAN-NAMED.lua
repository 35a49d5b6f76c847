-- A CTA has 16 named barriers; 0 is __syncthreads. weir takes one for every warpgroup that works as one, and one for every task whose bodies call task_sync().
local weir = require "weir"
local k = weir.kernel { name = "many", arch = "sm_90a" }
local step = weir.producer_work { code = [[ task_sync(); ]] }
for i = 0, 15 do  -- broken
for i = 0, 14 do  -- mended
  local r = k:resource { name = "r" .. i, work = { step = step } }
  k:task { name = "t" .. i, warps = { 2 * i, 2 }, schedule = function() r:step() end }
end
return k
--[[ report
PLAN-NAMED.lua:3: error: kernel 'many' needs 16 named barriers; a CTA has 15 beside __syncthreads [PLAN-NAMED]
    expected at most 15, got 16
1 error
]]
