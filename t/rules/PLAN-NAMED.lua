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
    hint: each warpgroup that multiplies takes one, and each task of several warps whose threads meet: 1 of task t0, 2 of task t1, 3 of task t2, 4 of task t3, 5 of task t4, 6 of task t5, 7 of task t6, 8 of task t7, 9 of task t8, 10 of task t9, 11 of task t10, 12 of task t11, 13 of task t12, 14 of task t13, 15 of task t14, 16 of task t15
1 error
]]
