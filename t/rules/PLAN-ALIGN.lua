-- The copy engine takes boxes that begin at a multiple of 16 bytes along the innermost axis: 4 elements of f32, 8 of bf16, whatever the tensor's own alignment. At any other column the kernel stops with an illegal instruction and the context is lost.
local weir = require "weir"
local k = weir.kernel { name = "halo", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N, 1024 } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N, 1024 }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 1, 64 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 64 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(N) do
    s:acquire()
    s:tma_load(x:from(i, -1))  -- broken
    s:tma_load(x:from(i, -4))  -- mended
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
PLAN-ALIGN.lua:13: error: a box of 'x' begins at column -1, off 16 bytes [PLAN-ALIGN]
    expected a multiple of 4 elements of f32
    hint: begin at a multiple of 4 and skip what lies before in the body, or copy with cp_async or load()
1 error
]]
