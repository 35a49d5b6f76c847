-- setmaxnreg deals out the registers that the CTA got at launch: what one warpgroup takes more, another has given. A request above the pool would wait for ever. An mma of sm_90a is allotted of those at launch half its columns and 26 (30 with an A in registers) whatever setmaxnreg brings: with fewer it is cut into instructions of less columns, and where a swizzle keeps too many of a transposed B together it is refused.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, registers = 56, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 4, 8 }, registers = 232, schedule = function()  -- broken
k:task { name = "store", warps = { 4, 8 }, registers = 232, schedule = function()  -- mended
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
PLAN-REGS.lua:18: error: register requests 56 + 232 + 232 per warpgroup are 16 more than the pool of 504 (168 at entry x 3 warpgroups) [PLAN-REGS]
    expected a sum of at most 504, got 520
    hint: setmaxnreg.inc would wait for ever: lower the largest request
1 error
]]
