-- A task waits, and what it waits for never comes: for some lengths of the loops, or some outcome of the conditions. Two conditions are one only when their values are (i < 2, 2 > i and not i >= 2 are one), or when they share a key. A key is the author's word: conditions under it are tried where they can be computed (V-KEY-01), and the verdict names those that are only said to be equal.
local weir = require "weir"
local k = weir.kernel { name = "relay", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local src = k:resource { name = "src", space = "gmem", bind = { x = X }, work = {
  item = weir.consumer_work { returns = "f32 v", code = [[ v = iter * 32 + tid < x_shape[0] ? x[iter * 32 + tid] : 0.f; ]] },
  full = weir.consumer_work { returns = "uniform bool f", code = [[ f = x_shape[0] > 32 * iter; ]] } } }
local buf = k:resource { name = "buf", space = "smem", dtype = "f32", tile = { 32 },
  pipeline = weir.pipeline.async_async { stages = 2 },
  work = { fill = weir.producer_work { params = "f32 v", code = [[ smem[tid] = v; ]] },
           item = weir.consumer_work { returns = "f32 v", code = [[ v = smem[tid]; ]] } } }
local dst = k:resource { name = "dst", space = "gmem", bind = { y = Y }, work = {
  put = weir.producer_work { params = "f32 v", code = [[ if (iter * 32 + tid < y_shape[0]) y[iter * 32 + tid] = v; ]] } } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    local v = src:item()
    for _ in weir.when_true(src:full(), { key = "full" }) do
      buf:acquire()
      buf:fill(v)
      buf:commit()
    end
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for _ in weir.domain_loop(weir.ceil_div(N, 32)) do
    for _ in weir.when_true(src:full()) do  -- broken
    for _ in weir.when_true(src:full(), { key = "full" }) do  -- mended
      buf:wait()
      local v = buf:item()
      buf:release()
      dst:put(v)
    end
  end
end }
return k
--[[ report
PROVE-DEADLOCK.lua:20: error: 'load' waits at buf_empty[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'store' has ended (with N = 65) [PROVE-DEADLOCK]
    hint: 'load' does it if src:full() (PROVE-DEADLOCK.lua:19), 'store' does it if src:full() (PROVE-DEADLOCK.lua:28): put both under one condition, or under one key if they are always equal
PROVE-DEADLOCK.lua:30: error: 'store' waits at buf_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'load' has ended (with N = 1) [PROVE-DEADLOCK]
    hint: 'store' does it if src:full() (PROVE-DEADLOCK.lua:28), 'load' does it if src:full() (PROVE-DEADLOCK.lua:19): put both under one condition, or under one key if they are always equal
2 errors
]]
