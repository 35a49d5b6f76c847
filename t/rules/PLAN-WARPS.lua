-- setmaxnreg is executed by whole warpgroups. A task whose warps lie in several of them has the same registers in all.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 2, 4 }, schedule = function()  -- broken
k:task { name = "store", warps = { 4, 4 }, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
PLAN-WARPS.lua:18: error: task 'store' has warps 2 to 5, in warpgroups of 40 and 256 registers [PLAN-WARPS]
    hint: setmaxnreg is for whole warpgroups: give the task one warpgroup, or all of its warpgroups the same registers
1 error
]]
