-- A resource that depends on itself is in dst of one task and in src of another.
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
k:depends { { src, {} }, { buf, { buf } }, { dst, { buf } } }  -- broken
k:depends { { buf, { src } }, { dst, { buf } } }  -- mended
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    src:item()  -- broken
    local v = src:item()  -- mended
    buf:acquire()  -- mended
    buf:fill(v)  -- mended
    buf:commit()  -- mended
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
V-PP-03.lua:15: error: depends: 'buf' depends on itself, but no task produces it [V-DEP-03]
V-PP-03.lua:15: error: depends: 'buf' depends on itself and no task produces it [V-PP-03]
    hint: a resource that depends on itself goes to and fro between two tasks; leave the edge out if it does not
V-PP-03.lua:19: warning: src:item returns 'v', which is never used [C-FLOW-12]
2 errors, 1 warning
]]
