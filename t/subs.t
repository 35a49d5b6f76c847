#!/usr/bin/env lua5.4
-- Slabs of tiles, sub(i): read from stages and tensors, stored to; by fragments, by threads, into bodies. Every element compared.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 4 }))

-- Y[h] = what `read(x, i)` makes of the slabs of X[h] { 3, 16, 32 }; o: swizzle, dtype, body, gmem (straight from the tensor).
local function reading(name, o, want)
  local dtype = o.dtype or "f32"
  local k = weir.kernel { name = "slabs", arch = "sm_90a" }
  local H = k:dim "H"
  local X = k:tensor { name = "X", dtype = dtype, shape = { H, 3, 16, 32 } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, 16, 32 }, out = true }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 1, 3, 16, 32 } }
  local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 16, 32 } }
  local s = k:smem_tile { name = "s", dtype = dtype, tile = { 3, 16, 32 }, swizzle = o.swizzle, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for h in weir.domain_loop(0, H) do s:acquire(); s:tma_load(gx:at(h)); s:commit() end
  end }
  k:task { name = "put", warps = { 0, 4 }, schedule = function()
    for h in weir.domain_loop(0, H) do
      s:wait()
      gy:store(o.read(o.gmem and gx:at(h) or s:read(), h), gy:at(h))
      s:release()
    end
  end }
  local p = k:build { device = dev }
  tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
  local n, data = 3, {}
  for i = 1, n * 3 * 512 do data[i] = i % 119 - 50 end
  local x, y = dev:tensor { dtype = dtype, shape = { n, 3, 16, 32 } }:set(data), dev:tensor { dtype = "f32", shape = { n, 16, 32 } }:fill(-1)
  tap.is({ true }, { p:launch({ X = x, Y = y }, { grid = 1 }) }, name .. ": runs")
  local seen, bad = y:get(), 0
  for h = 0, n - 1 do
    for r = 0, 15 do
      for c = 0, 31 do
        local function at(i, row, col) return data[((h * 3 + i) * 16 + (row or r)) * 32 + (col or c) + 1] end
        if seen[(h * 16 + r) * 32 + c + 1] ~= want(at, h, r, c) then bad = bad + 1 end
      end
    end
  end
  tap.is(0, bad, name .. ": every element")
end
for _, swizzle in ipairs { 0, 128 } do
  reading("slabs of a stage, swizzle " .. swizzle, { swizzle = swizzle, read = function(x) return x:sub(1):load() * 2 - x:sub(2):load() end },
    function(at) return 2 * at(1) - at(2) end)
  reading("a slab by number, swizzle " .. swizzle, { swizzle = swizzle, read = function(x, h) return x:sub(h % 3):load() end },
    function(at, h) return at(h % 3) end)
end
reading("slabs of halves, two panels", { dtype = "bf16", swizzle = 32, read = function(x) return x:sub(2):load() + x:sub(0):load() end },
  function(at) return at(2) + at(0) end)
reading("slabs of a tensor", { gmem = true, read = function(x, h) return x:sub(h % 2 + 1):load() end }, function(at, h) return at(h % 2 + 1) end)
reading("a row of a slab, spread", { read = function(x) return x:sub(1):rows(3, 1):load() + x:sub(0):load() end }, function(at) return at(1, 3) + at(0) end)
reading("a row as a slab of a slab", { read = function(x) return x:sub(1):sub(5):load() + x:sub(0):load() end }, function(at) return at(1, 5) + at(0) end)

-- Stored to: threads fill slab by slab, and fragments.
for _, swizzle in ipairs { 0, 128 } do
  local k = weir.kernel { name = "fill", arch = "sm_90a" }
  local H = k:dim "H"
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { H, 64, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { H, 3, 64, 32 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 1, 64, 32 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 3, 64, 32 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 3, 64, 32 }, swizzle = swizzle, pipeline = P.async_async { stages = 2 } }
  local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 32 } }
  k:task { name = "fill", warps = { 0, 4 }, schedule = function()
    for h in weir.domain_loop(0, H) do
      r:set(r:col_index() + 100 * r:row_index() + h)
      s:acquire()
      s:store(gx:at(h):load(), s:sub(2))
      s:store(r:read(), s:sub(0))
      s:store(gx:at(h):load() + 1, s:sub(1))
      s:commit()
    end
  end }
  k:task { name = "put", warps = { 4, 2 }, schedule = function()
    for h in weir.domain_loop(0, H) do s:wait(); gy:store(s:read(), gy:at(h)); s:release() end
  end }
  local p = k:build { device = dev }
  local n, data, want = 3, {}, {}
  for i = 1, n * 2048 do data[i] = i % 1013 end
  local x, y = dev:tensor { dtype = "f32", shape = { n, 64, 32 } }:set(data), dev:tensor { dtype = "f32", shape = { n, 3, 64, 32 } }:fill(-1)
  tap.is({ true }, { p:launch({ X = x, Y = y }, { grid = 1 }) }, "stored to, swizzle " .. swizzle .. ": runs")
  for h = 0, n - 1 do
    for i = 0, 2 do
      for j = 0, 2047 do
        want[#want + 1] = i == 0 and j % 32 + j // 32 * 100 + h or data[h * 2048 + j + 1] + (i == 1 and 1 or 0)
      end
    end
  end
  local seen, bad = y:get(), 0
  for i, v in ipairs(want) do if seen[i] ~= v then bad = bad + 1 end end
  tap.is(0, bad, "stored to, swizzle " .. swizzle .. ": every element")
end

-- Into a body, as a pointer to its first element.
do
  local k = weir.kernel { name = "body", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 3, 8, 32 } }, k:tensor { name = "y", dtype = "f32", shape = { 256 }, out = true }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = { 3, 8, 32 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 3, 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, work = { put = weir.producer_work { params = "view from",
    code = "for (u32 i = tid; i < 256; i += nthreads) y[i] = from[i];" } } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function() s:acquire(); s:tma_load(gx:at(0)); s:commit() end }
  k:task { name = "put", warps = { 0, 2 }, schedule = function() s:wait(); out:put(s:read():sub(2)); s:release() end }
  local p = k:build { device = dev }
  local data, want = {}, {}
  for i = 1, 768 do data[i] = i + 0.0 if i > 512 then want[i - 512] = i + 0.0 end end
  local x, y = dev:tensor { dtype = "f32", shape = { 3, 8, 32 } }:set(data), dev:tensor { dtype = "f32", shape = { 256 } }
  tap.is({ true }, { p:launch({ X = x, y = y }, { grid = 1 }) }, "into a body: runs")
  tap.is(want, y:get(), "into a body: every element")
end
tap.done()
