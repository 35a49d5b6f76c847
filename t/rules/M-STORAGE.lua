-- Tiles that share bytes at the same time (storage) have equally large stages; phases that share them in turn (alias) name tiles with bytes of their own.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
local bits = k:smem_tile { name = "bits", storage = s, dtype = "u16", tile = { 256 } }  -- broken
local bits = k:smem_tile { name = "bits", storage = s, dtype = "u32", tile = { 256 } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
M-STORAGE.lua:10: error: smem_tile 'bits': a stage has 512 bytes, its storage 's' has 1024 [M-STORAGE]
    M-STORAGE.lua:9: declared here
    hint: leave tile and dtype out
1 error
]]
