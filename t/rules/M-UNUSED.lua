-- A tile takes shared or tensor memory from the moment that it is declared, whether or not a task does anything with it: one left over from an
-- earlier version costs stages elsewhere. A warning.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:smem_tile { name = "staging", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.async_tma { stages = 2 } }  -- broken
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do s:acquire(); s:tma_load(x:at(i)); s:commit() end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do s:wait(); y:store(s:read(), y:at(i)); s:release() end
end }
return k
--[[ report
M-UNUSED.lua:11: warning: 'staging' takes shared memory, and no task uses it [M-UNUSED]
    hint: leave it out
1 warning
]]
