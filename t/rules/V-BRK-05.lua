-- One commit closes one acquire, one release one wait. A close in front of which the task holds no stage, however often its loops run,
-- does nothing: it is one too many, or the stage it was meant for was never opened. (A close that finds a stage in some passes only is
-- fine, and so are release(n) and commit(n), which say how many may stay.)
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
    buf:commit()  -- broken
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
V-BRK-05.lua:23: error: task 'load': commit on 'buf' finds no stage held, whatever the lengths of loops: one commit closes one acquire [V-BRK-05]
    V-BRK-05.lua:22: the commit before it
    hint: leave it out, or write buf:acquire() for the stage it is to close
1 error
]]
