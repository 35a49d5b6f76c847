-- The shared side of a group signals in one way.
local weir = require "weir"
local k = weir.kernel { name = "fork", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local Z = k:tensor { name = "Z", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local z = k:gmem_tile { name = "z", tensor = Z, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, producer_signaling = "all" } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
local t = k:smem_tile { name = "t", storage = s, pipeline = weir.pipeline.tma_async { stages = 2, producer_signaling = "cta_leader" } }  -- broken
local t = k:smem_tile { name = "t", storage = s, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
local st = k:group { name = "st", mode = "fork", members = { s, t } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    st.s:acquire(); st.t:acquire()
    st.s:tma_load(x:at(i))
    st:commit()
  end
end }
k:task { name = "copy", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    st.s:wait()
    y:store(st.s:read(), y:at(i))
    st.s:release()
  end
end }
k:task { name = "twice", warps = { 2, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    st.t:wait()
    z:store(st.t:read() * 2, z:at(i))
    st.t:release()
  end
end }
return k
--[[ report
G-CFG-15.lua:15: group 'st': a fork needs one producer_signaling: 's' has "all", 't' "cta_leader" (expected all, got cta_leader) [G-CFG-15]
]]
