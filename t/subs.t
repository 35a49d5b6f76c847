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

-- Bulk copies of parts: slabs, rows and columns of tensors' tiles into stages, of stages into tensors' tiles. X and Y { H, 4, 32, 64 }; stages
-- { 2, 32, 64 } hold slabs 1 and 2 of X[h]; what move(y, s, h) stores is wanted in Y.
local function moved(name, o, move, want)
  local dtype = o.dtype or "bf16"
  local k = weir.kernel { name = "moved", arch = "sm_90a" }
  local H = k:dim "H"
  local X, Y = k:tensor { name = "X", dtype = dtype, shape = { H, 4, 32, 64 } }, k:tensor { name = "Y", dtype = dtype, shape = { H, 4, 32, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = o.from or { 1, 2, 32, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = o.to or { 1, 4, 32, 64 } }
  local s = k:smem_tile { name = "s", dtype = dtype, tile = o.tile or { 2, 32, 64 }, swizzle = o.swizzle or 0, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for h in weir.domain_loop(H) do s:acquire(); s:tma_load(o.load and o.load(x, h) or x:from(h, 1)); s:commit() end
  end }
  k:task { name = "store", warps = { 1, 1 }, schedule = function()
    for h in weir.domain_loop(H) do s:wait(); move(y, s, h); y:drain(); s:release() end
  end }
  local ok, p = pcall(k.build, k, { device = dev })
  if not tap.ok(ok, name .. ": built") then return tap.diag(tostring(p)) end
  tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
  local n, data = 3, {}
  for i = 1, n * 8192 do data[i] = i % 251 - 125 end
  local a, b = dev:tensor { dtype = dtype, shape = { n, 4, 32, 64 } }:set(data), dev:tensor { dtype = dtype, shape = { n, 4, 32, 64 } }:fill(99)
  local ran, why = p:launch({ X = a, Y = b }, { grid = 1 })
  if not tap.ok(ran, name .. ": runs") then return tap.diag(why) end
  local seen, bad = b:get(), 0
  for h = 0, n - 1 do for i = 0, 3 do for r = 0, 31 do for c = 0, 63 do
    local function at(i2, r2, c2) return data[((h * 4 + i2) * 32 + r2) * 64 + c2 + 1] end
    if seen[((h * 4 + i) * 32 + r) * 64 + c + 1] ~= (want(at, h, i, r, c) or 99) then bad = bad + 1 end
  end end end end
  tap.is(0, bad, name .. ": every element")
end
for _, swizzle in ipairs { 0, 64, 128 } do
  local what = ", swizzle " .. swizzle
  moved("a slab of a stage" .. what, { swizzle = swizzle }, function(y, s, h) y:tma_store(s:read():sub(1), y:at(h):sub(3)) end,
    function(at, _, i, r, c) return i == 3 and at(2, r, c) end)
  moved("a slab by number" .. what, { swizzle = swizzle }, function(y, s, h) y:tma_store(s:read():sub(h % 2), y:at(h):sub(h % 3)) end,
    function(at, h, i, r, c) return i == h % 3 and at(1 + h % 2, r, c) end)
  moved("rows of a slab, elsewhere" .. what, { swizzle = swizzle }, function(y, s, h) y:tma_store(s:read():sub(0):rows(8, 16), y:at(h):sub(1):rows(3, 16)) end,
    function(at, _, i, r, c) return i == 1 and r >= 3 and r < 19 and at(1, r + 5, c) end)
end
moved("columns of a stage, whole spans", { swizzle = 64, to = { 1, 2, 32, 64 } }, function(y, s, h) y:tma_store(s:read():cols(32, 32), y:from(h, 1):cols(0, 32)) end,
  function(at, _, i, r, c) return i > 0 and i < 3 and c < 32 and at(i, r, c + 32) end)
moved("slab of a tensor's tile into a stage", { from = { 1, 4, 32, 64 }, tile = { 32, 64 }, to = { 1, 1, 32, 64 }, load = function(x, h) return x:at(h):sub(h % 4) end },
  function(y, s, h) y:tma_store(s:read(), y:at(h, 0)) end, function(at, h, i, r, c) return i == 0 and at(h % 4, r, c) end)
moved("rows and columns of a tensor's tile into a stage", { from = { 1, 1, 32, 64 }, tile = { 8, 32 }, to = { 1, 1, 8, 32 }, swizzle = 64,
  load = function(x, h) return x:at(h, 2):rows(16, 8):cols(24, 32) end }, function(y, s, h) y:tma_store(s:read(), y:from(h, 3, 1, 8)) end,
  function(at, _, i, r, c) return i == 3 and r >= 1 and r < 9 and c >= 8 and c < 40 and at(2, r + 15, c + 16) end)
-- What no box can take. A task of one warp, or of `warps`, stores what part(s) names; the tile { 2, 12, 64 } of bf16 has atoms of 8 rows.
local function refused(name, rule, text, o)
  local k = weir.kernel { name = "refused", arch = "sm_90a" }
  local tile = o.tile or { 2, 12, 64 }
  local X, Y = k:tensor { name = "X", dtype = "bf16", shape = tile }, k:tensor { name = "Y", dtype = "bf16", shape = { 64, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = tile }, k:gmem_tile { name = "y", tensor = Y, tile = { o.rows or 12, o.cols or 64 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = tile, swizzle = o.swizzle or 128, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(o.load and o.load(x) or x:at(0)); s:commit() end }
  k:task { name = "store", warps = { 1, 1 }, schedule = function() s:wait(); y:tma_store(o.part(s:read()), o.place and o.place(y) or y:at(0, 0)); y:drain(); s:release() end }
  local report = k:verify()
  tap.ok(not report.ok, name .. ": refused")
  tap.like(rule, report.text, name .. ": " .. rule)
  tap.like(text, report.text, name .. ": " .. text)
end
refused("a slab inside an atom", "[PLAN-TILE]", "stores a part of 's' that begins inside an atom of the swizzle, which is 8 rows", { part = function(v) return v:sub(1) end })
refused("rows inside an atom", "[PLAN-TILE]", "begins inside an atom", { rows = 4, part = function(v) return v:sub(0):rows(4, 4) end })
refused("half a span", "[PLAN-TILE]", "takes columns that are no whole swizzle spans", { tile = { 2, 8, 64 }, rows = 8, cols = 32, part = function(v) return v:sub(0):cols(0, 32) end })
refused("off 128 bytes", "[PLAN-TILE]", "begins off 128 bytes", { tile = { 2, 3, 32 }, swizzle = 0, rows = 3, cols = 32, part = function(v) return v:sub(1) end })
refused("a slab of rows of 48 bytes", "[PLAN-TILE]", "begins off 128 bytes", { tile = { 2, 4, 24 }, swizzle = 0, rows = 4, cols = 24, part = function(v) return v:sub(1) end })
refused("300 rows of 48 bytes", "[PLAN-BOX]", "the tile of 'x' has 300 rows of 48 bytes, too many for one box",
  { tile = { 1, 300, 24 }, swizzle = 0, rows = 300, cols = 24, part = function(v) return v:sub(0) end })
refused("300 rows of 48 bytes", "[PLAN-BOX]", "expected at most 256, or a multiple of 8: boxes begin at multiples of 128 bytes in the stage, got 300",
  { tile = { 1, 300, 24 }, swizzle = 0, rows = 300, cols = 24, part = function(v) return v:sub(0) end })
refused("a row of 400 columns", "[PLAN-BOX]", "the tile of 'x' has 400 columns of 2 bytes, too many for one box",
  { tile = { 1, 1, 400 }, swizzle = 0, rows = 1, cols = 400, part = function(v) return v:sub(0) end })
refused("a limit", "[PLAN-TILE]", "is transposed, limited, or a single element", { part = function(v) return v:sub(0):limit(5) end })
refused("a limited place", "[PLAN-UNSUPPORTED]", "works on a part of a tile that no box can be", { part = function(v) return v:sub(0) end, place = function(y) return y:at(0, 0):limit(5) end })
refused("a place off 16 bytes", "[PLAN-ALIGN]", "a box of 'y' begins at column 4 of its tile, off 16 bytes",
  { cols = 68, part = function(v) return v:sub(0) end, place = function(y) return y:at(0, 0):cols(4, 64) end })
-- A tile without a pipeline that threads fill and a bulk store reads: nothing orders the two.
do
  local k = weir.kernel { name = "bare", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 8, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 8, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 32 } }
  k:task { name = "t", warps = { 0, 1 }, schedule = function() s:store(x:at(0, 0):load() + 1); y:tma_store(s:read(), y:at(0, 0)); y:drain() end }
  tap.like("the bulk store of 't' reads 's', and nothing says that the work of 't' has finished", k:verify().text, "a bulk store of a tile without a pipeline: the proof sees what it reads")
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
