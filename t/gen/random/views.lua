-- Random parts of tiles: slabs, rows and columns, turned over, limited, of a tensor, a stage or registers; reduced or scaled, parts taken of that
-- again; stored to a tile or to a part of one, straight or through a stage. One tile. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local P = weir.pipeline

local function draw(d)
  local o = { dtype = d.one { "f32", "f32", "bf16" }, rank = d.one { 2, 2, 3 }, from = d.one { "gmem", "smem", "held", "held", "both" } }
  local rows, cols = d.one { 64, 64, 8, 16, 128 }, d.one { 8, 16, 24, 32, 12, 5, 64 }
  o.held = o.from == "held" or o.from == "both"
  if o.held then rows, cols = d.one { 64, 128 }, d.one { 8, 16, 24, 32, 64 } end
  o.rows, o.cols, o.slabs = rows, cols, o.rank == 3 and d.one { 1, 2, 4 } or 1
  o.tile = o.rank == 3 and { o.slabs, rows // o.slabs, cols } or { rows, cols }
  o.dims = o.rank == 3 and { 2 * o.slabs, rows // o.slabs + 3, cols + 8 } or { rows + 3, cols + 8 }
  local function swizzle(row)
    local s = d.one { 0, 0, 32, 64, 128 }
    return s > 0 and row % s == 0 and s or 0
  end
  o.swizzle = swizzle(cols * numbers.SIZE[o.dtype])
  o.warps = d.one { 1, 2, 4 }
  -- of the view
  o.view = {}
  local function range(n, unit)
    local count = unit * d.range(1, n // unit)
    return unit * d.range(0, (n - count) // unit), count
  end
  local function some(n) return range(n, n >= 16 and d.chance(60) and 8 or 1) end
  local slab, taken_rows, taken_cols, turned, limited = o.slabs == 1, false, false, false, false -- a leading 1 is no axis of a view
  for _ = 1, d.range(0, 3) do
    local what = d(5)
    -- of what comes into registers: 64 rows of 128, a multiple of 8 columns from anywhere on, turned over where both are 64
    if what == 1 and o.slabs > 1 and #o.view == 0 and not o.held then
      o.view[1] = { "sub", d.range(0, o.slabs - 1) }
      rows, slab = rows // o.slabs, true
    elseif what == 2 and slab and not taken_rows and not turned and (rows == 128 or not o.held) then
      local first, n = some(rows)
      if o.held then first, n = d.range(0, 64), 64 end
      o.view[#o.view + 1] = { "rows", first, n }
      rows, taken_rows = n, true
    elseif what == 3 and not taken_cols and not turned then
      local first, n = some(cols)
      if o.held then
        n = 8 * d.range(1, cols // 8)
        first = d.range(0, cols - n)
      end
      o.view[#o.view + 1] = { "cols", first, n }
      cols, taken_cols = n, true
    elseif what == 4 and slab and not turned and (not o.held or rows == 64 and cols == 64) then
      o.view[#o.view + 1] = { "t" }
      rows, cols, turned = cols, rows, true
    elseif what == 5 and not turned and not limited then
      o.view[#o.view + 1] = { "limit", d(cols) }
      limited = true
    end
  end
  o.held_rows, o.held_cols = rows, cols
  if o.held then o.warps = 4 * d.one { 1, rows // 64 } end
  -- of the value
  o.value = {}
  for _ = 1, d.range(0, 2) do
    local what = d(3)
    if what == 1 and cols > 1 and not (o.held and cols % 8 ~= 0) then
      local first, n = some(cols)
      if o.held then first, n = range(cols, 8) end
      o.value[#o.value + 1] = { "cols", first, n }
      cols = n
    elseif what == 2 then o.value[#o.value + 1] = { "times", d.range(2, 4) }
    elseif what == 3 and o.held and cols > 1 then
      o.value[#o.value + 1] = { d.one { "row_sum", "row_max", "row_min" } }
      cols = 1
    end
  end
  -- where to
  o.out_rows, o.out_cols, o.out_dtype = rows, cols, d.one { o.dtype, "f32" }
  o.through = not (o.held and cols < 8) and d.chance(35)
  o.place, o.width, o.height = {}, cols, rows
  o.row, o.col = 0, 0
  if not o.through and d.chance(60) then
    if d.chance(60) then
      o.width = cols + (d.chance(50) and 8 or d(9))
      o.col = d.range(0, o.width - cols)
      if o.width == cols + 8 and d.chance(60) then o.col = o.col // 8 * 8 end
      o.place[1] = { "cols", o.col, cols }
    end
    if d.chance(60) then
      o.height = rows + d.one { 8, 16, 3, 64 }
      o.row = d.range(0, o.height - rows)
      table.insert(o.place, d(#o.place + 1), { "rows", o.row, rows })
    end
  end
  o.out_swizzle = swizzle(o.width * numbers.SIZE[o.out_dtype])
  if o.out_swizzle > 0 and o.out_swizzle < o.width * numbers.SIZE[o.out_dtype] and rows % 8 ~= 0 then o.out_swizzle = 0 end
  if o.swizzle > 0 and o.swizzle < o.cols * numbers.SIZE[o.dtype] and o.rows % 8 ~= 0 then o.swizzle = 0 end
  return o
end

local function words(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = ("%s(%s)"):format(x[1], table.concat(x, ",", 2)) end
  return table.concat(out, " ")
end

local function describe(o, name)
  local k = weir.kernel { name = name, arch = "sm_90a" }
  local gx = k:gmem_tile { name = "gx", tensor = k:tensor { name = "X", dtype = o.dtype, shape = o.dims }, tile = o.tile }
  local gy = k:gmem_tile { name = "gy", tensor = k:tensor { name = "Y", dtype = o.out_dtype, shape = { o.height, o.width }, out = true }, tile = { o.height, o.width } }
  local staged = o.from == "smem" or o.from == "both"
  local ring = staged and k:smem_tile { name = "ring", dtype = o.dtype, tile = o.tile, swizzle = o.swizzle, pipeline = P.async_async { stages = 2 } }
  local out = o.through and k:smem_tile { name = "out", dtype = o.out_dtype, tile = { o.height, o.width }, swizzle = o.out_swizzle, pipeline = P.async_async { stages = 1 } }
  local held = o.from == "held" and k:reg_tile { name = "held", dtype = o.dtype, tile = { o.held_rows, o.held_cols } }
  local ones = o.from == "both" and k:reg_tile { name = "ones", dtype = "f32", tile = { o.held_rows, 1 } }
  local at = o.rank == 3 and gx:at(1, 0, 0) or gx:at(0, 0)
  local function part(view, list)
    for _, x in ipairs(list) do view = view[x[1]](view, x[2], x[3]) end
    return view
  end
  if ring then k:task { name = "fill", warps = { o.warps, 2 }, schedule = function() ring:acquire(); ring:store(at); ring:commit() end } end
  k:task { name = "work", warps = { 0, o.warps }, schedule = function()
    local v
    if ring then
      ring:wait()
      v = part(ring:read(), o.view):load()
    elseif held then
      held:set(part(at, o.view):load())
      v = held:read()
    else v = part(at, o.view):load() end
    if ones then
      ones:set(1.0)
      v = v * ones:read()
    end
    for _, x in ipairs(o.value) do
      if x[1] == "times" then v = v * (x[2] + 0.0) else v = v[x[1]](v, x[2], x[3]) end
    end
    if out then out:acquire(); out:store(v); out:commit() else gy:store(v, part(gy:at(0, 0), o.place)) end
    if ring then ring:release() end
  end }
  if out then
    k:task { name = "put", warps = { o.warps + (ring and 2 or 0), 1 }, schedule = function() out:wait(); gy:store(out:read(), gy:at(0, 0)); out:release() end }
  end
  return k
end

return function(d, name)
  local o = draw(d)
  local case = { name = name, launches = {}, text = ("%s of %s {%s} swizzle %d by %d warps: %s | %s -> %s {%d,%d} swizzle %d%s %s"):format(o.from, o.dtype, table.concat(o.tile, ","),
    o.swizzle, o.warps, words(o.view), words(o.value), o.out_dtype, o.height, o.width, o.out_swizzle, o.through and " through a stage" or "", words(o.place)) }
  case.kernel = function() return describe(o, name) end
  local count = numbers.count(o.dims)
  local data = numbers.integers(count, d(1000000), 15)
  case.launches[1] = { args = {}, size = table.concat(o.dims, " x "), grid = 1, tensors = { { name = "X", dtype = o.dtype, shape = o.dims, data = data },
    { name = "Y", dtype = o.out_dtype, shape = { o.height, o.width }, fill = -99, out = true } } }
  case.launches[1].wanted = function()
    local each = o.rows // o.slabs                              -- rows of a slab
    local f = function(i, j)
      if o.rank == 2 then return data[i * o.dims[2] + j + 1] end
      return data[((o.slabs + i // each) * o.dims[2] + i % each) * o.dims[3] + j + 1]
    end
    local rows, cols = o.rows, o.cols
    local function step(x)
      local g, what, first, n = f, x[1], x[2], cols
      if what == "sub" then f = function(i, j) return g(i + first * each, j) end; rows = each
      elseif what == "rows" then f = function(i, j) return g(i + first, j) end; rows = x[3]
      elseif what == "cols" then f = function(i, j) return g(i, j + first) end; cols = x[3]
      elseif what == "t" then f = function(i, j) return g(j, i) end; rows, cols = cols, rows
      elseif what == "limit" then f = function(i, j) return j < first and g(i, j) or 0 end
      elseif what == "times" then f = function(i, j) return g(i, j) * first end
      else
        f = function(i)
          local v = what == "row_sum" and 0 or g(i, 0)
          for j = 0, n - 1 do v = what == "row_sum" and v + g(i, j) or math[what == "row_max" and "max" or "min"](v, g(i, j)) end
          return v
        end
        cols = 1
      end
    end
    for _, x in ipairs(o.view) do step(x) end
    for _, x in ipairs(o.value) do step(x) end
    local y = {}
    for i = 0, o.height - 1 do
      for j = 0, o.width - 1 do
        local r, c = i - o.row, j - o.col
        local inside = r >= 0 and r < o.out_rows and c >= 0 and c < o.out_cols
        y[#y + 1] = inside and numbers.round(o.out_dtype, f(r, c)) or -99
      end
    end
    return { Y = { y } }
  end
  return case
end
