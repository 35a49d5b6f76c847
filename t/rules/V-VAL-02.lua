-- Values come from work on a source of the task; the source is in its src.
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
k:task { name = "load", warps = { 0, 1 }, src = {}, dst = { src, buf }, schedule = function()  -- broken
k:task { name = "load", warps = { 0, 1 }, src = { src }, dst = { buf }, schedule = function()  -- mended
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    local v = src:item()
    buf:acquire()
    buf:fill(v)
    buf:commit()
  end
end }
k:task { name = "store", warps = { 1, 1 }, src = { buf }, dst = { dst }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    buf:wait()
    local v = buf:item()
    buf:release()
    dst:put(v)
  end
end }
return k
--[[ report
V-VAL-02.lua:18: error: task 'load': 'src' is only in dst and has item here [V-ROLE-02]
    V-VAL-02.lua:15: the task
    hint: add it to src, or leave src and dst out: they are derived
V-VAL-02.lua:18: error: task 'load': what src:item returns is used, and 'src' is not in its src [V-VAL-02]
    V-VAL-02.lua:20: used here
    hint: add 'src' to src
2 errors
]]
