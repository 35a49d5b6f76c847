-- An acquire and a commit of unlike strides move apart; only a cursor that advances on acquire can do so.
local weir = require "weir"
local k = weir.kernel { name = "relay", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local src = k:resource { name = "src", space = "gmem", bind = { x = X }, work = {
  item = weir.consumer_work { returns = "f32 v", code = [[ v = iter * 32 + tid < x_shape[0] ? x[iter * 32 + tid] : 0.f; ]] } } }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 },
  pipeline = weir.pipeline.async_async { stages = 4, interleave = { 2, 1, 1, 1 }, advance_on_acquire = false },  -- broken
  pipeline = weir.pipeline.async_async { stages = 2 },  -- mended
  work = { fill = weir.producer_work { params = "f32 v", code = [[ smem[tid] = v; ]] },
           item = weir.consumer_work { returns = "f32 v", code = [[ v = smem[tid]; ]] } } }
local dst = k:resource { name = "dst", space = "gmem", bind = { y = Y }, work = {
  put = weir.producer_work { params = "f32 v", code = [[ if (iter * 32 + tid < y_shape[0]) y[iter * 32 + tid] = v; ]] } } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    local v = src:item()
    buf:acquire()
    buf:fill(v)
    buf:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    buf:wait()
    local v = buf:item()
    buf:release()
    dst:put(v)
  end
end }
return k
--[[ report
CF12.lua:9: error: pipeline 'buf': interleave of acquire is 2, of commit 1: they need advance_on_acquire, which is given as false [CF12]
    expected true, got false
1 error
]]
