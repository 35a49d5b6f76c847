-- Loops and guards lie at most 64 deep in each other: what walks a schedule, here and in the compilers, recurses. A Lua loop that opens one block in the other wants one condition, or one loop over the product.
local weir = require "weir"
local k = weir.kernel { name = "relay", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 32 } }
local buf = k:smem_tile { name = "buf", dtype = "f32", tile = { 32 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 32)) do buf:acquire() buf:tma_load(x:at(i)) buf:commit() end
end }
local function each(i, n, body) -- body, if all of n conditions hold
  local all                                                  -- mended
  for j = 1, n do                                            -- mended
    local one = weir.lt(i * j, N)                            -- mended
    all = all and all & one or one                           -- mended
  end                                                        -- mended
  for _ in weir.when_true(all) do body() end                 -- mended
  if n == 0 then return body() end                           -- broken
  for _ in weir.when_true(weir.lt(i * n, N)) do each(i, n - 1, body) end  -- broken
end
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 32)) do
    buf:wait()
    each(i, 100, function() y:store(buf:read(), y:at(i)) end)
    buf:release()
  end
end }
return k
--[[ report
C-NEST-13.lua:21: error: more than 64 blocks in each other [C-NEST-13]
    C-NEST-13.lua:21: called from here
    hint: one loop over the product of the ranges, or one condition: a & b
1 error
]]
