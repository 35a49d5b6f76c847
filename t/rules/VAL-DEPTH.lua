-- An expression is at most 4096 operations deep: what walks it, here and in the compilers, recurses. A sum of many terms is added in pairs.
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
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 32)) do
    buf:wait()
    local v = buf:read():load()
    local terms = {}                                         -- mended
    for j = 1, 5000 do terms[j] = v * j end                  -- mended
    while #terms > 1 do                                      -- mended
      local last = table.remove(terms)                       -- mended
      table.insert(terms, 1, table.remove(terms) + last)     -- mended
    end                                                      -- mended
    v = terms[1]                                             -- mended
    for j = 1, 5000 do v = v + j end                         -- broken
    y:store(v, y:at(i))
    buf:release()
  end
end }
return k
--[[ report
VAL-DEPTH.lua:24: error: an expression of more than 4096 operations in each other [VAL-DEPTH]
    hint: keep what is there so far in a reg_tile, or add in pairs: (a + b) + (c + d)
1 error
]]
