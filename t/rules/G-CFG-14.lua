-- In a fork one producer loads once for all members, so there is one number of bytes. Left out, it is derived.
local weir = require "weir"
local k = weir.kernel { name = "fork", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local Z = k:tensor { name = "Z", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local z = k:gmem_tile { name = "z", tensor = Z, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2, bytes = 1024 } }  -- broken
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }  -- mended
local t = k:smem_tile { name = "t", storage = s, pipeline = weir.pipeline.tma_async { stages = 2, bytes = 512 } }  -- broken
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
G-CFG-14.lua:15: group 'st': bytes are 1024 for 's', 512 for 't'; in a fork one producer loads once for all members (expected 1024, got 512) [G-CFG-14]
]]
