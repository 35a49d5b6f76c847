-- The first half of a pipeline's name is who fills a stage: async threads (stores, cp.async), tma a copy that brings bytes, umma an mma
-- that leaves its sums in a tmem_tile. Its full barrier counts just that.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 32 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 32 }, out = true }
local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 32 } }
local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 32 } }
local P = weir.pipeline
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 32 }, pipeline = P.async_async { stages = 2 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 32 }, pipeline = P.tma_async { stages = 2 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 64)) do
    s:acquire()
    s:tma_load(gx:at(i, 0))
    s:commit()
  end
end }
k:task { name = "put", warps = { 4, 4 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 64)) do
    s:wait()
    gy:store(s:read():load(), gy:at(i, 0))
    s:release()
  end
end }
return k
--[[ report
V-TYPE-01.lua:16: error: tma_load on 's', whose pipeline is async_async: its full barrier counts arrivals of threads, and a copy brings bytes [V-TYPE-01]
    V-TYPE-01.lua:11: the pipeline
    expected tma_async, got async_async
    hint: pipeline = weir.pipeline.tma_async { stages = 2 }
1 error
]]
