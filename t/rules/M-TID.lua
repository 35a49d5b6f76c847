-- Several tasks share a block. `threadIdx.x`, `w_tid()` and `w_warp()` count from the block's first thread, so in a task of later warps they
-- are past the end of what the body means to walk over. `tid`, `warp` and `lane` are counted in the task.
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
           item = weir.consumer_work { returns = "f32 v", code = [[ v = smem[threadIdx.x]; ]] } } }  -- broken
           item = weir.consumer_work { returns = "f32 v", code = [[ v = smem[tid]; ]] } } }  -- mended
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
M-TID.lua:13: warning: buf:item: 'threadIdx' counts from the first thread of the block, not of the task [M-TID]
    hint: `tid` is the thread in the task, of `nthreads`
1 warning
]]
