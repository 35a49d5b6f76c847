-- A push goes into another CTA, which must follow from the CTA's own coordinates: mbarriers count what comes to them. Here every CTA along
-- k pushes to the first, and the first to itself.
local weir = require "weir"
local k = weir.kernel { name = "gather", arch = "sm_90a", cluster = { k = 2 } }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 32 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 32 }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 8, 32 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = weir.pipeline.tma_async { stages = 1 } }
local b = k:smem_tile { name = "b", dtype = "f32", tile = { 8, 32 }, pipeline = weir.pipeline.tma_async { stages = 1 } }
k:task { name = "send", warps = { 0, 1 }, schedule = function()
  for _ in weir.when_true(weir.ge(k.cta.k, 0)) do  -- broken
  for _ in weir.when_true(weir.gt(k.cta.k, 0)) do  -- mended
    for i in weir.domain_loop(weir.ceil_div(N, 8)) do
      b:acquire()
      a:release(0); a:acquire(); a:tma_load(x:at(i, 0)); a:commit()
      a:wait(); b:push(a:read(), { k = 0 }); b:commit()
    end
  end
end }
k:task { name = "put", warps = { 1, 1 }, cta = { k = 0 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 8)) do b:wait(); y:store(b:read(), y:at(i, 0)); b:release() end
end }
return k
--[[ report
PLAN-PUSH.lua:18: error: b:push of CTA 0 goes to that CTA itself (k = 0) [PLAN-PUSH]
    hint: guard it: a push goes to another CTA; its own may read the source
1 error
]]
