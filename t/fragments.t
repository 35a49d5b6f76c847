#!/usr/bin/env lua5.4
-- Parts of values and places that lie across what a thread holds or across the tensor's borders: right, dropped, or refused; never other
-- numbers, and never memory outside. t/gen/random/views.lua draws parts at random.
local tap = require "tap"
local weir = require "weir"
local kernels = require "gen.kernels"
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 5 }))

-- X { 64, W } to Y { 64, H }, both f32 if not said, by `body(k, gx, gy, r)`: r is a register tile { 64, o.held }. What each element of Y is, by row:
-- `wanted(x, j)`, x(c) the row's elements.
local function case(name, o, body, wanted)
  local k = weir.kernel { name = "fragments", arch = "sm_90a" }
  local dtype = o.dtype or "f32"
  local X = k:tensor { name = "X", dtype = dtype, shape = { 64, o.from } }
  local Y = k:tensor { name = "Y", dtype = dtype, shape = { 64, o.to }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, o.from } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, o.place or o.to } }
  local r = o.held and k:reg_tile { name = "r", dtype = "f32", tile = { 64, o.held } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() body(gx:at(0, 0), gy, r, k) end }
  if not wanted then
    local text = k:verify().text
    k:close()
    return tap.like(o.says, text, name)
  end
  local p = k:build { device = dev }
  local x, y, v = dev:tensor { dtype = dtype, shape = { 64, o.from } }, dev:tensor { dtype = dtype, shape = { 64, o.to } }:fill(-9), {}
  for i = 0, 63 do for j = 0, o.from - 1 do v[i * o.from + j + 1] = (i * 7 + j * 3) % 31 end end
  x:set(v)
  local ok, message = p:launch({ X = x, Y = y }, { grid = 1 })
  local bad, got = {}, y:get()
  for i = 0, 63 do
    for j = 0, o.to - 1 do
      local w = wanted(function(c) return v[i * o.from + c + 1] end, j)
      if got[i * o.to + j + 1] ~= w and #bad < 3 then bad[#bad + 1] = ("[%d,%d] %s for %s"):format(i, j, got[i * o.to + j + 1], w) end
    end
  end
  tap.is({ true, {} }, { ok, bad }, name)
  if not ok then tap.diag(tostring(message)) end
  x:close(); y:close(); k:close()
end

-- ---- columns of a value --------------------------------------------------------------------------------------------------------

for _, part in ipairs { { 8, 8 }, { 3, 5 }, { 8, 1 } } do
  local first, n = table.unpack(part)
  case(("columns %d and %d more of what is loaded"):format(first, n), { from = 24, to = n }, function(x, gy) gy:store((x:load() * 2.0):cols(first, n), gy:at(0, 0)) end,
    function(x, j) return 2 * x(first + j) end)
end
case("a part beside the same columns, whole", { from = 8, to = 8 }, function(x, gy) gy:store(x:load() + x:load():cols(7, 1), gy:at(0, 0)) end, function(x, j) return x(j) + x(7) end)
case("parts of parts", { from = 24, to = 4 }, function(x, gy) gy:store((x:load():cols(3, 20) + 1.0):cols(9, 4), gy:at(0, 0)) end, function(x, j) return x(12 + j) + 1 end)
for _, part in ipairs { { 8, 16 } } do
  local first, n = table.unpack(part)
  case(("columns %d and %d more of registers"):format(first, n), { from = 24, to = n, held = 24 }, function(x, gy, r) r:set(x:load()); gy:store(r:read():cols(first, n), gy:at(0, 0)) end,
    function(x, j) return x(first + j) end)
end
local inside = "takes cols(first, n) of registers that begin or end inside of 8 columns"
for _, part in ipairs { { 0, 12 }, { 4, 8 }, { 3, 5 }, { 8, 4 }, { 3, 1 }, { 0, 4 }, { 8, 1 } } do
  local first, n = table.unpack(part)
  case(("columns %d and %d more of registers, stored"):format(first, n), { from = 24, to = n, held = 24, says = inside },
    function(x, gy, r) r:set(x:load()); gy:store(r:read():cols(first, n) + 1.0, gy:at(0, 0)) end)
  case(("columns %d and %d more of registers, summed"):format(first, n), { from = 24, to = 1, held = 24, says = inside },
    function(x, gy, r) r:set(x:load()); gy:store(r:read():cols(first, n):row_sum(), gy:at(0, 0)) end)
end
case("columns of registers, set", { from = 24, to = 8, held = 24, says = inside }, function(x, gy, r) r:set(x:load()); r:set(r:read():cols(5, 1)); gy:store(r:read():cols(0, 8), gy:at(0, 0)) end)

-- ---- columns of a register tile ------------------------------------------------------------------------------------------------

for _, n in ipairs { 2, 3, 5, 6, 7, 9, 12, 20 } do
  case(n .. " columns in registers", { from = n, to = n, held = n, says = "has " .. n .. " columns in each warpgroup of task 't'; threads hold 1, 4, or a multiple of 8" },
    function(x, gy, r) r:set(x:load()); gy:store(r:read(), gy:at(0, 0)) end)
end
case("four columns, loaded", { from = 4, to = 4, held = 4, says = "takes a tile whose columns are no multiple of 8 into registers" },
  function(x, gy, r) r:set(x:load()); gy:store(r:read(), gy:at(0, 0)) end)
case("three columns beside registers", { from = 3, to = 3, held = 1, says = "takes a tile whose columns are no multiple of 8 into registers" },
  function(x, gy, r) r:set(1.0); gy:store(r:read() * x:load(), gy:at(0, 0)) end)
case("twelve columns, summed", { from = 12, to = 1, held = 1, says = "takes a tile whose columns are no multiple of 8 into registers" },
  function(x, gy, r) r:set(1.0); gy:store((r:read() * x:load()):row_sum(), gy:at(0, 0)) end)
case("twelve columns beside registers, stored", { from = 12, to = 12, held = 1 }, function(x, gy, r) r:set(2.0); gy:store(r:read() * x:load(), gy:at(0, 0)) end, function(x, j) return 2 * x(j) end)
for _, n in ipairs { 12, 20 } do -- a value that is taken twice lies in an array, whose last columns are a group of 8, too
  case(n .. " columns beside registers, taken twice", { from = n, to = n, held = 1 }, function(x, gy, r) r:set(2.0); local v = r:read() * x:load(); gy:store(v * v + v, gy:at(0, 0)) end,
    function(x, j) return 4 * x(j) * x(j) + 2 * x(j) end)
end
case("twelve columns of a stage beside registers", { from = 12, to = 12, held = 1, says = "y:store takes a tile whose columns are no multiple of 8 into registers" }, function(x, gy, r, k)
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 12 } }
  s:store(x:load()); r:set(2.0); gy:store(r:read() * s:read(), gy:at(0, 0))
end)
case("col_index() of four columns", { from = 8, to = 4, held = 4, says = "takes col_index() of a register tile of four columns" },
  function(_, gy, r) r:set(weir.cast(r:col_index(), "f32")); gy:store(r:read(), gy:at(0, 0)) end)

-- ---- rows of a value ------------------------------------------------------------------------------------------------------------

-- A value has its own rows, whatever register tiles it reads: o.rows of X, with t:col_index() (16 columns, t of o.tile rows), stored by o.warps,
-- to o.by "stage" in shared memory or straight to Y, of which rows beyond it stay as they were.
local function rows_of(name, o)
  local k = weir.kernel { name = "rows", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tile = { o.rows, 16 }, tensor = k:tensor { name = "X", dtype = "f32", shape = { o.rows, 16 } } }
  local y = k:gmem_tile { name = "y", tile = { o.rows, 16 }, tensor = k:tensor { name = "Y", dtype = "f32", shape = { 2 * o.rows, 16 }, out = true } }
  local t, r = k:reg_tile { name = "t", dtype = "f32", tile = { o.tile, 16 } }, o.held and k:reg_tile { name = "r", dtype = "f32", tile = { o.rows, 16 } }
  local s = o.by == "stage" and k:smem_tile { name = "s", dtype = "f32", tile = { o.rows, 16 } }
  k:task { name = "t", warps = { 0, o.warps }, schedule = function()
    t:set(3)
    if r then r:set(x:at(0, 0):load()) end
    local v = weir.cast(t:col_index(), "f32") + (r and r:read() or x:at(0, 0):load())
    if s then s:store(v); y:store(s:read(), y:at(0, 0)) else y:store(v, y:at(0, 0)) end
  end }
  if o.says then
    local text = k:verify().text
    k:close()
    return tap.like(o.says, text, name)
  end
  local p = k:build { device = dev }
  local X, Y, v = dev:tensor { dtype = "f32", shape = { o.rows, 16 } }, dev:tensor { dtype = "f32", shape = { 2 * o.rows, 16 } }:fill(-9), {}
  for i = 1, o.rows * 16 do v[i] = i % 61 end
  X:set(v)
  local ok, message = p:launch({ X = X, Y = Y }, { grid = 1 })
  local bad, got = 0, Y:get()
  for i = 1, 2 * o.rows * 16 do if got[i] ~= (i <= o.rows * 16 and v[i] + (i - 1) % 16 or -9) then bad = bad + 1 end end
  tap.is({ true, 0 }, { ok, bad }, name)
  if not ok then tap.diag(tostring(message)) end
  k:close()
end
for _, by in ipairs { "stage", "tensor" } do
  rows_of("col_index() of 128 rows beside a tile of 64, to a " .. by, { rows = 64, tile = 128, held = true, warps = 4, by = by })
  rows_of("col_index() of 64 rows beside 128 that are loaded, to a " .. by, { rows = 128, tile = 64, warps = 4, by = by })
  rows_of("col_index() of 128 rows beside 256 that are loaded, by two warpgroups, to a " .. by, { rows = 256, tile = 128, warps = 8, by = by })
  rows_of("col_index() beside 32 rows that are loaded, to a " .. by, { rows = 32, tile = 64, warps = 4, by = by, says = ":store stores 32 rows of a value in registers, where a warpgroup holds 64 rows at a time [PLAN-TILE]" })
  rows_of("col_index() beside 192 rows, by two warpgroups, to a " .. by, { rows = 192, tile = 128, warps = 8, by = by, says = ":store stores 192 rows of a value in registers, where 2 warpgroups each hold 64 rows at a time [PLAN-TILE]" })
end

-- ---- several elements at a time ----------------------------------------------------------------------------------------------------

-- { 16, cols } of X to Y, as they are, by way of a stage if it has a swizzle (0: none): in packs of so many, or one by one.
local function packs(from, to, cols, swizzle, n)
  local k = weir.kernel { name = "packs", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tile = { 16, cols }, tensor = k:tensor { name = "X", dtype = from, shape = { 16, cols } } }
  local y = k:gmem_tile { name = "y", tile = { 16, cols }, tensor = k:tensor { name = "Y", dtype = to, shape = { 16, cols }, out = true } }
  local s = swizzle and k:smem_tile { name = "s", dtype = from, tile = { 16, cols }, swizzle = swizzle }
  k:task { name = "t", warps = { 0, 2 }, schedule = function()
    if s then s:store(x:at(0, 0)); y:store(s:read(), y:at(0, 0)) else y:store(x:at(0, 0), y:at(0, 0)) end
  end }
  local p = k:build { device = dev }
  local X, Y, v = dev:tensor { dtype = from, shape = { 16, cols } }, dev:tensor { dtype = to, shape = { 16, cols } }, {}
  for i = 1, 16 * cols do v[i] = i * 7 % 32 end
  X:set(v)
  local ok, message = p:launch({ X = X, Y = Y }, { grid = 1 })
  local text = p:source():match ".*W_AT%(%d+%)(.*)" -- the last action
  tap.is({ true, v, n }, { ok, Y:get(), tonumber(text:match "w_pack<%w+, (%d+)> p" or 1) },
    ("%d columns of %s to %s%s: %d at a time"):format(cols, from, to, swizzle and ", from a stage with swizzle " .. swizzle or "", n))
  if not ok then tap.diag(tostring(message)) end
  k:close()
end
do -- to a stage all of a value's tiles come in packs, or none
  local function text(take)
    local k = weir.kernel { name = "packs", arch = "sm_90a" }
    local x = k:gmem_tile { name = "x", tile = { 16, 32 }, tensor = k:tensor { name = "X", dtype = "f32", shape = { 16, 32 } } }
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 } }
    k:task { name = "t", warps = { 0, 2 }, schedule = function() s:store(take(x:at(0, 0))) end }
    local source = k:build { device = dev }:source()
    k:close()
    return select(2, source:gsub("w_pack<float, 4> p%d", "")), select(2, source:gsub("w_pack<float, 4> out", ""))
  end
  tap.is({ 1, 1 }, { text(function(x) local v = x:load(); return v * v end) }, "a tile that is taken twice, in one pack")
  tap.is({ 0, 0 }, { text(function(x) return x:load() * x:t():rows(0, 1):load():cols(0, 1) end) }, "one in packs beside one that cannot be: neither")
end
packs("bf16", "f32", 4, nil, 4)
packs("bf16", "f32", 12, nil, 4)
packs("f32", "bf16", 8, nil, 8)
packs("f32", "bf16", 12, nil, 1)
packs("bf16", "f32", 12, 0, 4)
packs("f32", "bf16", 32, 0, 8)
packs("f32", "bf16", 32, 128, 1)
packs("bf16", "f32", 64, 128, 4)

-- ---- rows of several slabs -------------------------------------------------------------------------------------------------------

-- X { shape } to Y { out }: body(s, x, y, at, r), s a stage and r a register tile { 128, 8 } where `warps` is 4; wanted(i): which element of X
-- the i-th of Y is, -1: none, so as it was. A text instead: what is said.
local function of_slabs(name, shape, out, wanted, body, warps)
  local k = weir.kernel { name = "slabs", arch = "sm_90a" }
  local function tile(label, t, written)
    return k:gmem_tile { name = label, tile = t, tensor = k:tensor { name = label:upper(), dtype = "f32", shape = t, out = written } }
  end
  local function origin(g, t) local at = {} for i = 1, #t do at[i] = 0 end return g:at(table.unpack(at)) end
  local x, y = tile("x", shape), tile("y", out, true)
  local s, r = k:smem_tile { name = "s", dtype = "f32", tile = shape }, warps and k:reg_tile { name = "r", dtype = "f32", tile = { 128, 8 } }
  k:task { name = "t", warps = { 0, warps or 1 }, schedule = function() body(s, origin(x, shape), y, origin(y, out), r) end }
  if type(wanted) == "string" then
    tap.like(wanted, k:verify().text, name)
    k:close()
    return
  end
  local p = k:build { device = dev }
  local X, Y, v, n = dev:tensor { dtype = "f32", shape = shape }, dev:tensor { dtype = "f32", shape = out }:fill(-1), {}, 1
  for _, d in ipairs(shape) do n = n * d end
  for i = 1, n do v[i] = i - 1 end
  X:set(v)
  local ok, message = p:launch({ X = X, Y = Y }, { grid = 1 })
  local bad, got = {}, Y:get()
  for i = 1, #got do if got[i] ~= wanted(i - 1) and #bad < 3 then bad[#bad + 1] = ("[%d] %s for %s"):format(i, got[i], wanted(i - 1)) end end
  tap.is({ true, {} }, { ok, bad }, name)
  if not ok then tap.diag(tostring(message)) end
  k:close()
end
-- Element i of rows `first` and n - 1 more of slabs of `all` rows, each of `cols` elements.
local function cut(first, n, all, cols) return function(i) local r = i // cols; return (r // n * all + first + r % n) * cols + i % cols end end
local function over(i) local r = i // 16; return r // 4 * 64 + i % 16 * 4 + r % 4 end -- of slabs of { 16, 4 }
local from_stage = { ["a stage"] = function(s, x) s:store(x); return s:read() end, ["a tensor"] = function(_, x) return x end }
for from, take in pairs(from_stage) do
  of_slabs("rows of each slab, of " .. from, { 2, 16, 4 }, { 2, 8, 4 }, cut(4, 8, 16, 4), function(s, x, y, at) y:store(take(s, x):rows(4, 8), at) end)
  of_slabs("the first rows of each slab, of " .. from, { 2, 16, 4 }, { 2, 8, 4 }, cut(0, 8, 16, 4), function(s, x, y, at) y:store(take(s, x):rows(0, 8), at) end)
  of_slabs("one row of each slab, of " .. from, { 2, 16, 4 }, { 2, 1, 4 }, cut(5, 1, 16, 4), function(s, x, y, at) y:store(take(s, x):rows(5, 1), at) end)
  of_slabs("each slab turned over, of " .. from, { 2, 16, 4 }, { 2, 4, 16 }, over, function(s, x, y, at) y:store(take(s, x):t(), at) end)
  of_slabs("rows of slabs of a slab, of " .. from, { 3, 2, 16, 4 }, { 2, 8, 4 }, function(i) return 128 + cut(4, 8, 16, 4)(i) end, function(s, x, y, at) y:store(take(s, x):sub(1):rows(4, 8), at) end)
  of_slabs("rows of each slab, into registers, of " .. from, { 2, 128, 8 }, { 128, 8 }, cut(32, 64, 128, 8), function(s, x, y, at, r) r:set(take(s, x):rows(32, 64)); y:store(r:read(), at) end, 4)
end
of_slabs("rows of each slab turned over, and of those", { 2, 16, 4 }, { 2, 2, 8 }, function(i) local r = i // 8; return r // 2 * 64 + (4 + i % 8) * 4 + 1 + r % 2 end,
  function(_, x, y, at) y:store(x:rows(4, 8):t():rows(1, 2), at) end)
of_slabs("to rows of each slab of a tensor", { 2, 8, 4 }, { 2, 16, 4 }, function(i) local r = i // 4; return r % 16 >= 4 and r % 16 < 12 and (r // 16 * 8 + r % 16 - 4) * 4 + i % 4 or -1 end,
  function(_, x, y, at) y:store(x, at:rows(4, 8)) end)
of_slabs("to each slab turned over of a tensor", { 2, 16, 4 }, { 2, 4, 16 }, over, function(_, x, y, at) y:store(x, at:t()) end)
of_slabs("registers to slabs of a stage", { 2, 64, 8 }, { 2, 64, 8 }, function(i) return i end, function(s, x, y, at, r) r:set(x:load()); s:store(r:read()); y:store(s:read(), at) end, 4)
of_slabs("to rows of each slab of a stage", { 2, 3, 8, 4 }, { 3, 8, 4 }, "s:store stores to a part of a tile that cannot be built yet", function(s, _, y, at) s:store(1, s:sub(1):rows(2, 4)); y:store(s:read():sub(1), at) end)
of_slabs("to the first rows of each slab of a tensor", { 2, 8, 4 }, { 2, 16, 4 }, function(i) local r = i // 4; return r % 16 < 8 and (r // 16 * 8 + r % 16) * 4 + i % 4 or -1 end,
  function(_, x, y, at) y:store(x, at:rows(0, 8)) end)
of_slabs("registers to slabs of a tensor", { 2, 64, 8 }, { 2, 64, 8 }, "y:store stores to a part of a tile that cannot be built yet", function(_, x, y, at, r) r:set(x:load()); y:store(r:read(), at) end, 4)

-- ---- pairs of columns at odd places ----------------------------------------------------------------------------------------------

for _, dtype in ipairs { "bf16", "f32" } do -- two of bf16 are one store, which the simulator wants aligned
  case(dtype .. " at column 3 of a place", { from = 8, to = 24, held = 8, dtype = dtype }, function(x, gy, r) r:set(x:load()); gy:store(r:read(), gy:at(0, 0):cols(3, 8)) end,
    function(x, j) return j >= 3 and j < 11 and x(j - 3) or -9 end)
  case(dtype .. ", the second of places 11 wide", { from = 8, to = 22, place = 11, held = 1, dtype = dtype }, function(_, gy, r) r:set(5.0); gy:store(r:read(), gy:at(0, 1)) end,
    function(_, j) return j >= 11 and 5 or -9 end)
end

-- ---- beyond the tensor's borders -------------------------------------------------------------------------------------------------

-- What lies in front of a tensor reads as 0, and is not stored; nor what lies beyond its leading axes: places of whole tiles, moved by
-- `m`, `i`, `j` tiles. The same with a cluster whose last CTA has no tile.
local function borders(name, o)
  local k = weir.kernel { name = "borders", arch = "sm_90a", cluster = o.cluster }
  local B, M, N = k:dim "B", k:dim "M", k:dim("N", { multiple = 4 })
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { B, M, N } }, k:tensor { name = "Y", dtype = "f32", shape = { B, M, N }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 1, 64, 16 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 64, 16 } }
  local wq = k:work_queue { name = "wq", axes = { "m", "i", "n" }, extent = { B, weir.ceil_div(M, 64), weir.ceil_div(N, 16) } }
  local s = o.by == "cp_async" and k:smem_tile { name = "s", dtype = "f32", tile = { 1, 64, 16 }, pipeline = P.async_async { stages = 1, producer_op = "load" } }
  local r = o.by == "registers" and k:reg_tile { name = "r", dtype = "f32", tile = { 64, 16 } }
  local from, to = o.from or { 0, 0, 0 }, o.to or { 0, 0, 0 }
  local function at(g, t, by) return g:at(t.m + by[1], t.i + by[2], t.n + by[3]) end
  if s then
    k:task { name = "fill", warps = { 4, 1 }, schedule = function()
      for t in weir.work_tile_loop(wq) do s:acquire(); s:cp_async(at(gx, t, from)); s:commit(); wq:next() end
    end }
  end
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      if s then s:wait(); gy:store(s:read(), at(gy, t, to)); s:release()
      elseif r then r:set(at(gx, t, from):load()); gy:store(r:read(), at(gy, t, to))
      else gy:store(at(gx, t, from):load() + 0.0, at(gy, t, to)) end
      wq:next()
    end
  end }
  local p = k:build { device = dev }
  local b, m, n = 3, 70, 40
  local function value(i, j, l) return i >= 0 and i < b and j >= 0 and j < m and l >= 0 and l < n and (i * 31 + j * 7 + l) % 61 + 1 or nil end
  local v, want = {}, {}
  local rows, cols = (m + 63) // 64 * 64, (n + 15) // 16 * 16
  for i = 0, b - 1 do
    for j = 0, m - 1 do
      for l = 0, n - 1 do
        v[#v + 1] = value(i, j, l)
        local ti, tj, tl = i - to[1], j - 64 * to[2], l - 16 * to[3] -- in the tile that stores here
        local stored = ti >= 0 and ti < (o.cluster and 4 or b) and tj >= 0 and tj < rows and tl >= 0 and tl < cols
        want[#want + 1] = stored and (value(ti + from[1], tj + 64 * from[2], tl + 16 * from[3]) or 0) or -9
      end
    end
  end
  local x, y = dev:tensor { dtype = "f32", shape = { b, m, n } }, dev:tensor { dtype = "f32", shape = { b, m, n } }:fill(-9)
  x:set(v)
  local ok, message = p:launch { X = x, Y = y }
  local bad, got = 0, y:get()
  for i, w in ipairs(want) do if got[i] ~= w then bad = bad + 1 end end
  tap.is({ true, 0 }, { ok, bad }, name)
  if not ok then tap.diag(tostring(message)) end
  x:close(); y:close(); k:close()
end
for _, by in ipairs { "threads", "registers", "cp_async" } do
  for _, move in ipairs { { -1, 0, 0 }, { 1, 0, -1 }, { 0, -1, 0 } } do
    local text = ("by %d, %d, %d tiles"):format(table.unpack(move))
    borders(("%s, read %s"):format(by, text), { by = by, from = move })
    if by ~= "cp_async" then borders(("%s, stored %s"):format(by, text), { by = by, to = move }) end
  end
  borders(by .. ", of a cluster whose last CTA has no tile", { by = by, cluster = { m = 2 } })
end

-- ---- slabs by number ------------------------------------------------------------------------------------------------------------

-- A stage of four slabs; `read(s, n, put)` stores slab i of what it is given at place i. On trust: what the verdict has to say of them. A tile of
-- a tensor has slabs, too; what lies in front of the tensor is 0.
local function slabs(name, read, trusted, o)
  o = o or {}
  local k = weir.kernel { name = "slabs", arch = "sm_90a", cluster = o.cluster }
  local n = k:scalar { name = "n", dtype = "i32" }
  local X = k:tensor { name = "X", dtype = "f32", shape = { 4, 2, 32 } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { 64, 32 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 4, 2, 32 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 2, 32 } }
  local s = not o.tensor and k:smem_tile { name = "s", dtype = "f32", tile = { 4, 2, 32 }, pipeline = P.async_async { stages = 1 } }
  local function put(v, i) gy:store(v, gy:at(i, 0)) end
  if s then k:task { name = "fill", warps = { 4, 1 }, schedule = function() s:acquire(); s:store(gx:at(0, 0, 0)); s:commit() end } end
  k:task { name = "put", warps = { 0, 1 }, schedule = function()
    if not s then return read(gx:at(0, 0, 0), n, put, k) end
    s:wait(); read(s:read(), n, put, k); s:release()
  end }
  local p = k:build { device = dev }
  local text = p.report.proof.text:match "that i?%d? ?[^;]- is one of the 4 slabs of '%w+'" or ""
  tap.is(trusted, text, name)
  if o.n then
    local x, y = dev:tensor { dtype = "f32", shape = { 4, 2, 32 } }:fill(3), dev:tensor { dtype = "f32", shape = { 64, 32 } }:fill(-9)
    local ok, message = p:launch({ X = x, Y = y, n = o.n }, { grid = o.cluster and 2 or 1 })
    if o.says then tap.like(o.says, tostring(message), name .. ": and stops")
    else tap.is({ true, o.want }, { ok, y:get()[1] }, name .. ": what is stored") end
    x:close(); y:close()
  end
  k:close()
end
slabs("as many as there are", function(v, _, put) for i in weir.domain_loop(0, 4) do put(v:sub(i), i) end end, "", { n = 0, want = 3 })
slabs("by the remainder", function(v, n, put) put(v:sub(n % 4), 0) end, "", { n = 7, want = 3 })
slabs("one too many", function(v, _, put) for i in weir.domain_loop(0, 5) do put(v:sub(i), i) end end, "that i0 is one of the 4 slabs of 's'")
slabs("as the launch says", function(v, n, put) for i in weir.domain_loop(0, n) do put(v:sub(i), i) end end, "that i0 is one of the 4 slabs of 's'", { n = 40, says = "[sim-bounds]" })
slabs("by one of the launch's numbers", function(v, n, put) put(v:sub(n), 0) end, "that n is one of the 4 slabs of 's'", { n = 3, want = 3 })
slabs("downwards", function(v, _, put) for i in weir.domain_loop(3, -1, -1) do put(v:sub(i), i) end end, "that i0 is one of the 4 slabs of 's'")
slabs("from the launch's number on", function(v, n, put) for i in weir.domain_loop(n, 4) do put(v:sub(i), i) end end, "that i0 is one of the 4 slabs of 's'")
slabs("to the launch's number, by steps", function(v, n, put) for i in weir.domain_loop(0, 4, n) do put(v:sub(i), i) end end, "that i0 is one of the 4 slabs of 's'")
slabs("by a remainder of the launch's", function(v, n, put) put(v:sub(3 % n), 0) end, "that 3 % n is one of the 4 slabs of 's'")
slabs("by the CTA, under a guard", function(v, _, put, k) for _ in weir.when_true(weir.ge(k.cta.m, 1)) do put(v:sub(k.cta.m - 1), 0) end end, "", { cluster = { m = 2 }, n = 0, want = 3 })
slabs("by the CTA", function(v, _, put, k) put(v:sub(k.cta.m - 1), k.cta.m) end, "that cta.m - 1 is one of the 4 slabs of 's'", { cluster = { m = 2 } })
slabs("of a tensor's tile", function(v, n, put) put(v:sub(n):load(), 0) end, "that n is one of the 4 slabs of 'gx'", { tensor = true, n = -3, want = 0 })

-- ---- what was read stays what it was ---------------------------------------------------------------------------------------------

-- A register tile is read in front of loops that change it and take what was read: in the second turn after the change. `body(r, n, put)`;
-- what put(v, i) stores at place i.
local function kept(name, body, want)
  local k = weir.kernel { name = "kept", arch = "sm_90a" }
  local n = k:scalar { name = "n", dtype = "i32" }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { 192, 8 }, out = true }
  local gy, r = k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 8 } }, k:reg_tile { name = "r", dtype = "f32", tile = { 64, 8 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() body(r, n, function(v, i) gy:store(v, gy:at(i, 0)) end) end }
  local y = dev:tensor { dtype = "f32", shape = { 192, 8 } }:fill(-9)
  local ok, message = k:build { device = dev }:launch({ Y = y, n = 3 }, { grid = 1 })
  local got = y:get()
  tap.is({ true, want }, { ok, { got[1], got[64 * 8 + 1], got[128 * 8 + 1] } }, name)
  if not ok then tap.diag(tostring(message)) end
  y:close(); k:close()
end
kept("set in a loop", function(r, n, put)
  r:set(1.0)
  local v = r:read()
  for i in weir.domain_loop(0, n) do put(v, i); r:set(v + 5.0) end
end, { 1.0, 1.0, 1.0 })
kept("what is made of it, zeroed in a loop", function(r, n, put)
  r:set(3.0)
  local v = r:read() * 2.0
  for i in weir.domain_loop(0, n) do put(v + r:read(), i); r:zero() end
end, { 9.0, 6.0, 6.0 })
kept("a sum of it, in a loop in a loop and under a guard", function(r, n, put)
  r:set(1.0)
  for _ in weir.domain_loop(0, 1) do
    local v = r:read():row_sum()
    for i in weir.domain_loop(0, n) do
      for _ in weir.when_true(weir.ge(i, 0)) do put(r:read() + v, i) end
      for _ in weir.domain_loop(0, 2) do r:set(r:read() + 1.0) end
    end
  end
end, { 9.0, 11.0, 13.0 })
kept("taken twice, then changed", function(r, n, put)
  r:set(1.0)
  for i in weir.domain_loop(0, n) do
    local v = r:read()
    put(v + v, i); put(v, i)
    r:set(v * 2.0)
    put(v, i)
  end
end, { 1.0, 2.0, 4.0 })

tap.diag(kernels.test(tap, dev, 1, 8, { kind = "views" }).text)
tap.done()
