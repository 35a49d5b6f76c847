-- The second half of a pipeline's name is who empties a stage: async threads, umma an mma, whose completion is the release. A task that
-- reads by other means arrives differently.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 32 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 32 }, out = true }
local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 32 } }
local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 32 } }
local P = weir.pipeline
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 32 }, pipeline = P.tma_umma { stages = 2 } }  -- broken
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
V-TYPE-02.lua:23: error: load on 's', whose pipeline is tma_umma: its empty barrier counts what an mma has read, and task 'put' reads it by threads [V-TYPE-02]
    V-TYPE-02.lua:11: the pipeline
    expected tma_async, got tma_umma
    hint: pipeline = weir.pipeline.tma_async { stages = 2 }
1 error
]]
