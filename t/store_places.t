#!/usr/bin/env lua5.4
-- Fragments stored to global memory at places that no tile count gives: odd columns and pitches, in front of the tensor, past its end.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 9 }))

-- D[r.., c..] = A * transpose(B), one tile of 64 x 16, K = 16.
local function kernel(dtype, rank)
  local k = weir.kernel { name = "store", arch = "sm_90a" }
  local M, N = k:dim "M", k:dim "N"
  local r, c = k:scalar { name = "r", dtype = "i32" }, k:scalar { name = "c", dtype = "i32" }
  local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, 16 } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { 16, 16 } }
  local D = k:tensor { name = "D", dtype = dtype, shape = rank == 3 and { 2, M, N } or { M, N }, out = true }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 16 } }, k:gmem_tile { name = "gb", tensor = B, tile = { 16, 16 } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = rank == 3 and { 1, 64, 16 } or { 64, 16 } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 16, 16 }, swizzle = 32, pipeline = P.tma_async { stages = 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { 64, 16 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    a:acquire(); a:tma_load(ga:at(0, 0)); a:commit()
    b:acquire(); b:tma_load(gb:at(0, 0)); b:commit()
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    acc:zero()
    a:wait(); b:wait(); acc:mma(a:read(), b:read()); acc:drain(); a:release(); b:release()
    if rank == 3 then gd:store(acc:read(), gd:from(1, r, c)) else gd:store(acc:read(), gd:from(r, c)) end
  end }
  return k:build { device = dev }
end

local a, b = dev:tensor { dtype = "bf16", shape = { 64, 16 } }, dev:tensor { dtype = "bf16", shape = { 16, 16 } }
local av, bv = {}, {}
for i = 0, 63 do for j = 0, 15 do av[i * 16 + j + 1] = i % 8 == j and 1 or 0 end end
for i = 0, 15 do for j = 0, 15 do bv[i * 16 + j + 1] = i + 16 * j < 200 and i + 16 * j or 0 end end
a:set(av); b:set(bv)
local function product(i, j) return bv[j * 16 + i % 8 + 1] end

for _, case in ipairs { { "bf16", 2 }, { "f16", 2 }, { "f32", 2 }, { "f32", 3 }, { "bf16", 3 } } do
  local dtype, rank = case[1], case[2]
  local p = kernel(dtype, rank)
  for _, place in ipairs { { 0, 0, 70, 20 }, { 0, 1, 70, 20 }, { 3, 7, 70, 24 }, { -1, 0, 70, 20 }, { 0, -1, 70, 20 }, { -5, -3, 70, 20 }, { 60, 13, 70, 20 },
                           { 2, 2, 70, 21 }, { 0, -16, 70, 20 }, { -64, 0, 70, 20 } } do
    local r, c, m, n = table.unpack(place)
    local d = dev:tensor { dtype = dtype, shape = rank == 3 and { 2, m, n } or { m, n } }:fill(-1)
    local ok, message = p:launch({ A = a, B = b, D = d, r = r, c = c }, { grid = 1 })
    if ok then ok, message = dev:sync() end
    local got, bad = d:get(), 0
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local inside = i >= r and i < r + 64 and j >= c and j < c + 16
        local at = (rank == 3 and m * n or 0) + i * n + j + 1
        if got[at] ~= (inside and product(i - r, j - c) or -1) then bad = bad + 1 end
        if rank == 3 and got[at - m * n] ~= -1 then bad = bad + 1 end
      end
    end
    tap.is({ true, 0 }, { ok, bad }, ("%s, %d axes, at %d, %d of %d x %d"):format(dtype, rank, r, c, m, n))
    if not ok then tap.diag(tostring(message)) end
    d:close()
  end
end

-- The same for elements that threads move one tile of a tensor to another, 16 bytes at a time where both lie so.
for _, dtype in ipairs { "bf16", "f32", "u8" } do
  local k = weir.kernel { name = "move", arch = "sm_90a" }
  local N, W = k:dim "N", k:dim "W"
  local r, c, c2 = k:scalar { name = "r", dtype = "i32" }, k:scalar { name = "c", dtype = "i32" }, k:scalar { name = "c2", dtype = "i32" }
  local X, Y = k:tensor { name = "X", dtype = dtype, shape = { N, W } }, k:tensor { name = "Y", dtype = dtype, shape = { N, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 4, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 4, 64 } }
  k:task { name = "move", warps = { 0, 2 }, schedule = function() y:store(x:from(r, c):load(), y:from(0, c2)) end }
  local p = k:build { device = dev }
  for _, place in ipairs { { 0, 0, 0, 80 }, { 1, 1, 0, 80 }, { 0, 0, 3, 80 }, { 0, 8, 16, 80 }, { -2, -5, 7, 80 }, { 2, 40, -9, 80 }, { 0, 0, 0, 77 }, { 1, 3, 3, 65 } } do
    local pr, pc, pc2, w = table.unpack(place)
    local a1, b1, values = dev:tensor { dtype = dtype, shape = { 6, w } }, dev:tensor { dtype = dtype, shape = { 6, w } }:fill(1), {}
    for i = 1, 6 * w do values[i] = i % 97 + 2 end
    a1:set(values)
    local ok, message = p:launch({ X = a1, Y = b1, r = pr, c = pc, c2 = pc2 }, { grid = 1 })
    if ok then ok, message = dev:sync() end
    local got, bad = b1:get(), 0
    for i = 0, 5 do
      for j = 0, w - 1 do
        local want = 1
        if i < 4 and j >= pc2 and j < pc2 + 64 then
          local si, sj = i + pr, j - pc2 + pc
          want = si >= 0 and si < 6 and sj >= 0 and sj < w and values[si * w + sj + 1] or 0
        end
        if got[i * w + j + 1] ~= want then bad = bad + 1 end
      end
    end
    tap.is({ true, 0 }, { ok, bad }, ("%s moved from %d, %d to 0, %d, %d wide"):format(dtype, pr, pc, pc2, w))
    if not ok then tap.diag(tostring(message)) end
  end
end
-- Parts of places, stored by threads: each of their elements, and no other.
local function part(name, shape, value, place, want)
  local k = weir.kernel { name = "part", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = shape }, k:tensor { name = "Y", dtype = "f32", shape = shape, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = shape }, k:gmem_tile { name = "y", tensor = Y, tile = shape }
  k:task { name = "t", warps = { 0, 2 }, schedule = function() y:store(value(x), place(y:at(0, 0))) end }
  local rows, cols, values = shape[1], shape[2], {}
  local a1, b1 = dev:tensor { dtype = "f32", shape = shape }, dev:tensor { dtype = "f32", shape = shape }:fill(-1)
  for i = 1, rows * cols do values[i] = i end
  local ok, message = k:build { device = dev }:launch({ X = a1:set(values), Y = b1 }, { grid = 1 })
  local got, bad = b1:get(), 0
  for i = 0, rows * cols - 1 do
    if got[i + 1] ~= (want(i // cols, i % cols) or -1) then bad = bad + 1 end
  end
  if not tap.is({ true, 0 }, { ok, bad }, "a part stored to: " .. name) then tap.diag(tostring(message)) end
end
local function two() return 2.0 end
part("columns", { 64, 128 }, two, function(p) return p:cols(32, 64) end, function(_, c) return c >= 32 and c < 96 and 2 end)
part("first columns", { 64, 128 }, two, function(p) return p:cols(0, 64) end, function(_, c) return c < 64 and 2 end)
part("three columns", { 64, 128 }, two, function(p) return p:cols(0, 3) end, function(_, c) return c < 3 and 2 end)
part("columns, by others that are loaded", { 64, 128 }, function(x) return x:at(0, 0):cols(64, 64):load() end, function(p) return p:cols(0, 64) end,
  function(r, c) return c < 64 and r * 128 + c + 65 end)
part("rows and columns", { 64, 128 }, two, function(p) return p:rows(3, 5):cols(1, 4) end, function(r, c) return r >= 3 and r < 8 and c >= 1 and c < 5 and 2 end)
part("a slab", { 64, 128 }, two, function(p) return p:sub(5) end, function(r) return r == 5 and 2 end)
part("an element", { 1, 128 }, two, function(p) return p:sub(5) end, function(_, c) return c == 5 and 2 end)
part("a tile turned over", { 64, 32 }, function(x) return x:at(0, 0):t():load() + 1 end, function(p) return p:t() end, function(r, c) return r * 32 + c + 2 end)
part("columns of a tile turned over", { 64, 32 }, two, function(p) return p:t():cols(4, 8) end, function(r) return r >= 4 and r < 12 and 2 end)
tap.done()
