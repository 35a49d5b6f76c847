-- Random elementwise kernels: each output an expression of its own, of inputs of any dtype, of scalars and of operands that spread.
-- See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local exprs = require "gen.exprs"
local cd = weir.ceil_div

-- What a dtype is computed in, and inputs that keep it exact: magnitude, bits behind the point.
local COMPUTED = { i8 = "i32", u8 = "i32", i16 = "i32", u16 = "i32", i32 = "i32", u32 = "u32", i64 = "i64", f16 = "f32", bf16 = "f32", f32 = "f32",
  e4m3 = "f32", e5m2 = "f32", f64 = "f64" }
local MAG = { i8 = 128, u8 = 255, i16 = 32768, u16 = 65535, f16 = 16, bf16 = 16, f32 = 16, e4m3 = 8, e5m2 = 4, f64 = 100 }

local function data(dtype, count, seed, o)
  if not numbers.is_float(dtype) then
    if o.small then return numbers.integers(count, seed, 40) end
    return numbers.bits(count, seed, dtype)
  end
  if o.real then return numbers.reals(count, seed, dtype) end
  local list = numbers.integers(count, seed, MAG[dtype] // 1 | 0)
  for i = 1, count do list[i] = list[i] + 0.0 end
  return list
end

local function draw(d)
  local o = { real = d.chance(30) }
  o.way = d.weighted { { 55, "plain" }, { 25, "registers" }, { 20, "stage" } }
  if o.way == "registers" then
    o.warps = d.one { 4, 8 }
    o.tile = { 16 * o.warps, 8 * d.range(1, 8) }
  else
    o.warps = d.one { 1, 2, 4, 8 }
    o.tile = d.one { { 8, 32 }, { 1, 256 }, { 16, 64 }, { 64, 16 }, { 4, 128 }, { 32, 24 } }
  end
  o.kind = d.one { "static", "grid" }
  o.stages = d(3)
  -- inputs: of one family of types most of the time
  local family = d.weighted { { 45, { "f32", "bf16", "f16", "f32" } }, { 25, { "i32", "i16", "u8", "i8", "u16", "i32" } }, { 10, { "u32", "i32" } }, { 8, { "i64", "i32" } },
    { 12, { "f64", "f32" } }, { 12, { "f32", "i32", "bf16", "i8" } }, { 6, { "e4m3", "e5m2", "f32" } } }
  local function rows_fit() return o.tile[2] * numbers.SIZE[o.inputs[1].dtype] % 16 == 0 end -- of a stage
  o.inputs = {}
  for i = 1, d(3) do
    local dtype = d.one(family)
    o.inputs[i] = { name = "x" .. i, dtype = dtype, shape = i == 1 and "full" or d.weighted { { 60, "full" }, { 20, "columns" }, { 20, "rows" } } }
  end
  if o.way == "stage" and not rows_fit() then o.way = "plain" end
  o.outputs = {}
  for i = 1, d.chance(30) and 2 or 1 do
    local t = COMPUTED[d.one(o.inputs).dtype]
    local list = t == "f32" and { "f32", "bf16", "f16", "f32" } or t == "f64" and { "f64", "f64", "f32" } or t == "i32" and { "i32", "i32", "i16", "u8", "i8" } or { t }
    o.outputs[i] = { name = "y" .. i, dtype = d.one(list), type = t }
  end
  o.scalar = d.chance(35) and d.one { "f32", "i32" } or nil
  o.sizes = {}
  for i = 1, 2 do
    o.sizes[i] = { math.max(1, o.tile[1] * d.range(1, 3) - d.range(0, o.tile[1] - 1)), math.max(1, o.tile[2] * d.range(1, 3) - d.range(0, o.tile[2] - 1)) }
  end
  return o
end

-- more.late: stores each tile a turn late.
return function(d, name, more)
  local o = draw(d)
  o.late = more and more.late
  if o.late then o.stages = o.stages + 1 end
  local case = { name = name, real = o.real, launches = {} }
  -- what the expressions are of
  local leaves = {}
  for _, x in ipairs(o.inputs) do
    local t = COMPUTED[x.dtype]
    local is_float = t == "f32" or t == "f64"
    leaves[#leaves + 1] = { name = x.name, type = t, mag = is_float and (o.real and 1 or MAG[x.dtype]) or MAG[x.dtype] }
  end
  if o.scalar then leaves[#leaves + 1] = { name = "s", type = o.scalar, mag = 7 } end
  if o.way == "registers" then
    leaves[#leaves + 1] = { name = "row", type = "i32", mag = 256 }
    leaves[#leaves + 1] = { name = "col", type = "i32", mag = 256 }
  end
  local words = { ("%dx%d %s %d warps %s"):format(o.tile[1], o.tile[2], o.way, o.warps, o.kind) }
  for _, x in ipairs(o.inputs) do words[#words + 1] = x.dtype .. (x.shape ~= "full" and " " .. x.shape or "") end
  for _, y in ipairs(o.outputs) do
    local tries = 0
    repeat
      y.expr = exprs.random(d, leaves, { type = y.type, depth = d.range(2, 6), real = o.real })
      tries = tries + 1
      local fits = o.way ~= "registers" or y.expr:has "x1" -- a row alone cannot be stored from registers
      if y.dtype == "f16" then fits = fits and y.expr.mag < 60000 end -- what the output's dtype holds
    until fits or tries > 50
    if y.dtype == "f16" and y.expr.mag >= 60000 then y.dtype = "f32" end
    words[#words + 1] = ("-> %s of %d nodes"):format(y.dtype, y.expr.size)
  end
  if o.scalar then words[#words + 1] = "scalar " .. o.scalar end
  if o.late then words[#words + 1] = "late" end
  if o.real then words[#words + 1] = "real" end
  case.text = table.concat(words, ", ")

  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local M, N = k:dim "M", k:dim "N"
    local shapes = { full = { M, N }, columns = { N }, rows = { M, 1 } }
    local tiles = { full = o.tile, columns = { o.tile[2] }, rows = { o.tile[1], 1 } }
    local function operand(x, shape, out) return k:gmem_tile { name = "g" .. x.name, tensor = k:tensor { name = x.name, dtype = x.dtype, shape = shapes[shape], out = out }, tile = tiles[shape] } end
    local gx, gy = {}, {}
    for i, x in ipairs(o.inputs) do gx[i] = operand(x, x.shape) end
    for i, y in ipairs(o.outputs) do gy[i] = operand(y, "full", true) end
    local s = o.scalar and k:scalar { name = "s", dtype = o.scalar }
    local wq = k:work_queue { name = "wq", kind = o.kind, axes = { "m", "n" }, extent = { cd(M, o.tile[1]), cd(N, o.tile[2]) } }
    local first = o.inputs[1]
    local ring = o.way == "stage" and k:smem_tile { name = "ring", dtype = first.dtype, tile = o.tile, pipeline = weir.pipeline.async_async { stages = o.stages } }
    local held = o.way == "registers" and k:reg_tile { name = "held", dtype = first.dtype, tile = o.tile }
    local function view(i, t)
      local x = o.inputs[i]
      return x.shape == "full" and gx[i]:at(t.m, t.n) or x.shape == "columns" and gx[i]:at(t.n) or gx[i]:at(t.m, 0)
    end
    if ring then
      k:task { name = "fill", warps = { o.warps, 2 }, schedule = function()
        for t in weir.work_tile_loop(wq) do ring:acquire(); ring:store(view(1, t)); ring:commit(); wq:next() end
      end }
    end
    k:task { name = "map", warps = { 0, o.warps }, schedule = function()
      -- of tile t, in its own turn, or (back = 1) in the next
      local function store(t, back)
        local env = { s = s }
        for i, x in ipairs(o.inputs) do env[x.name] = view(i, t):load() end
        if held then
          if not o.late then held:set(env.x1) end
          env.x1, env.row, env.col = held:read(), held:row_index(), held:col_index()
        end
        if ring then
          if not o.late then ring:wait() end
          env.x1 = ring:read(back):load()
        end
        for i, y in ipairs(o.outputs) do gy[i]:store(y.expr:weir(env), gy[i]:at(t.m, t.n)) end
        if ring then ring:release() end
      end
      for t in weir.work_tile_loop(wq) do
        if not o.late then store(t)
        else
          if ring then ring:wait() end
          for b in weir.previous_tile(wq) do store(b, 1) end
          if held then held:set(view(1, t):load()) end
        end
        wq:next()
      end
      if o.late then for b in weir.last_tile(wq) do store(b) end end
    end }
    return k
  end

  for i, size in ipairs(o.sizes) do
    local m, n = table.unpack(size)
    local seed = d(1000000)
    local l = { args = {}, tensors = {}, size = ("%d x %d"):format(m, n), grid = o.kind == "static" and d(3) or nil }
    local shapes = { full = { m, n }, columns = { n }, rows = { m, 1 } }
    local lists = {}
    for j, x in ipairs(o.inputs) do
      lists[j] = data(x.dtype, numbers.count(shapes[x.shape]), seed + j, o)
      l.tensors[#l.tensors + 1] = { name = x.name, dtype = x.dtype, shape = shapes[x.shape], data = lists[j] }
    end
    for _, y in ipairs(o.outputs) do l.tensors[#l.tensors + 1] = { name = y.name, dtype = y.dtype, shape = { m, n }, fill = 7, out = true } end
    if o.scalar then l.args.s = o.scalar == "i32" and d.range(-7, 7) or d.range(-7, 7) + 0.0 end
    l.wanted = function()
      local result = {}
      local env = { s = l.args.s }
      for _, y in ipairs(o.outputs) do
        local out, off = {}, o.real and {} or nil
        for r = 0, m - 1 do
          env.row = r % o.tile[1]
          for c = 0, n - 1 do
            env.col = c % o.tile[2]
            for j, x in ipairs(o.inputs) do env[x.name] = lists[j][x.shape == "full" and r * n + c + 1 or x.shape == "columns" and c + 1 or r + 1] end
            local v, e = y.expr:eval(env)
            local at = r * n + c + 1
            if numbers.is_float(y.dtype) then
              if off then
                out[at], off[at] = v, e + 2 * numbers.half_unit(y.dtype, math.abs(v) + e)
              else out[at] = numbers.round(y.dtype, v) end
            else
              out[at] = numbers.wrap(y.dtype, v)
              if off then off[at] = 0.0 end
            end
          end
        end
        result[y.name] = { out, off }
      end
      return result
    end
    case.launches[i] = l
  end
  return case
end
