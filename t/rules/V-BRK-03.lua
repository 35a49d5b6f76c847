-- Work is followed by the move that closes its stage; only then does the other side learn of it. A task that waits may leave the
-- release to another, which has not waited: whether its own reads are over by then is the proof's question.
local weir = require "weir"
local k = weir.kernel { name = "relay", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local src = k:resource { name = "src", space = "gmem", bind = { x = X }, work = {
  item = weir.consumer_work { returns = "f32 v", code = [[ v = iter * 32 + tid < x_shape[0] ? x[iter * 32 + tid] : 0.f; ]] } } }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 },
  pipeline = weir.pipeline.async_async { stages = 2 },
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
    buf:release()  -- broken
    local v = buf:item()
    buf:release()  -- mended
    dst:put(v)
  end
end }
return k
--[[ report
V-BRK-03.lua:28: error: task 'store': item on 'buf' without release after it [V-BRK-03]
    hint: write buf:release() after it
1 error
]]
