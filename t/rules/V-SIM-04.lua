-- A release gives back a stage that was waited for. One more would let the producer overwrite what is still read. Here one task waits and
-- another releases, so that only their counts can be compared; one task alone is told by V-BRK-05.
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
  for _ in weir.domain_loop(4) do
    local v = src:item()
    buf:acquire()
    buf:fill(v)
    buf:commit()
  end
end }
local done = k:barrier { name = "done", pipeline = weir.pipeline.async_async { stages = 1 } }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do
    buf:wait()
    local v = buf:item()
    done:acquire()
    done:commit()
    dst:put(v)
  end
end }
k:task { name = "free", warps = { 2, 1 }, schedule = function()
  for _ in weir.domain_loop(4) do
    done:wait()
    buf:release()
    done:release()
  end  -- broken
  buf:release()  -- broken
  end  -- mended
end }
return k
--[[ report
V-SIM-04.lua:40: error: 1 release of 'buf' is without acquire: 5 releases, 4 acquires [V-SIM-04]
    V-SIM-04.lua:19: the last acquire
    expected 5 acquires, got 4
    hint: let the two sides run equally often
1 error
]]
