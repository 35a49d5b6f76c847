-- The smallest pipeline: one warp fills a ring in shared memory, four warps empty it. The bodies are plain CUDA.
--   lua5.4 examples/01_copy.lua [n] [sim|0]
local weir = require "weir"
local T, STAGES = 512, 3                                  -- elements of a tile; stages of the ring
local n = tonumber(arg and arg[1] or nil) or 100000
local dev = weir.device(arg and arg[2] == "sim" and "sim" or tonumber(arg and arg[2] or nil))

local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "x", dtype = "i16", shape = { N } }
local Y = k:tensor { name = "y", dtype = "i16", shape = { N }, out = true }
local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, T) } }   -- persistent: a grid-stride loop over tiles

local ring = k:resource { name = "ring", space = "smem", dtype = "i16", tile = { T }, bind = { x = X }, const = { T = T },
  pipeline = weir.pipeline.async_async { stages = STAGES },
  work = { fill = weir.producer_work { params = "i32 first", code = [[
    for (u32 i = tid; i < T; i += nthreads) smem[i] = first + (i32)i < x_shape[0] ? x[first + i] : (i16)0; ]] } } }
local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, const = { T = T },
  work = { put = weir.producer_work { params = "view from, i32 first", code = [[
    for (u32 i = tid; i < T; i += nthreads)
      if (first + (i32)i < y_shape[0]) y[first + i] = from[i]; ]] } } }

k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    ring:acquire(); ring:fill(tile.i * T); ring:commit()
    wq:next()
  end
end }
k:task { name = "store", warps = { 4, 4 }, schedule = function()
  for tile in weir.work_tile_loop(wq) do
    ring:wait(); out:put(ring:read(), tile.i * T); ring:release()
    wq:next()
  end
end }

local copy = k:build { device = dev }
print(k:verify {})

local want = {}
for i = 1, n do want[i] = (i * 7919) % 65536 - 32768 end
local x, y = dev:tensor { dtype = "i16", shape = { n } }:set(want), dev:tensor { dtype = "i16", shape = { n } }:fill(0)
assert(copy:launch { x = x, y = y })
assert(dev:sync())
local got, bad = y:get(), 0
for i = 1, n do if got[i] ~= want[i] then bad = bad + 1 end end
print(("%s: copied %d elements on %s, %d wrong"):format(bad == 0 and "PASS" or "FAIL", n, dev.name, bad))
os.exit(bad == 0 and 0 or 1)
