-- Work on a pipelined resource stands between the move that opens a stage, acquire or wait, and the one that closes it, commit or release. Without them nothing says which stage it works on, nor when it is safe.
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
    buf:acquire()  -- mended
    buf:fill(v)
    buf:commit()  -- mended
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    buf:wait()  -- mended
    local v = buf:item()
    buf:release()  -- mended
    dst:put(v)
  end
end }
return k
--[[ report
V-BRK-01.lua:19: error: task 'load': fill on 'buf' without acquire and commit [V-BRK-01]
    hint: write buf:acquire() before and buf:commit() after it
V-BRK-01.lua:26: error: task 'store': item on 'buf' without wait and release [V-BRK-01]
    hint: write buf:wait() before and buf:release() after it
2 errors
]]
