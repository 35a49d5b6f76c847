-- A column that only the launch knows may be one that the copy engine does not take (PLAN-ALIGN). A multiple in the expression, or `multiple` of a dim, settles it; the simulator checks the rest.
local weir = require "weir"
local k = weir.kernel { name = "piece", arch = "sm_90a" }
local N = k:dim "N"
local first = k:scalar { name = "first", dtype = "i32" }
local X = k:tensor { name = "X", dtype = "bf16", shape = { N, 1024 } }
local Y = k:tensor { name = "Y", dtype = "bf16", shape = { N, 1024 }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 1, 64 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 64 } }
local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(N) do
    s:acquire()
    s:tma_load(x:from(i, first))  -- broken
    s:tma_load(x:from(i, first // 8 * 8))  -- mended
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(N) do
    s:wait()
    y:store(s:read(), y:at(i, 0))
    s:release()
  end
end }
return k
--[[ report
PLAN-ALIGN-OPEN.lua:14: warning: a box of 'x' begins at column first, of which it is not known that it is whole 16 bytes [PLAN-ALIGN-OPEN]
    expected a multiple of 8 elements of bf16
    hint: write x // 8 * 8, or give the dim multiple = 8; at any other column the copy engine stops the kernel and the context is lost
1 warning
]]
