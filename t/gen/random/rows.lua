-- Random kernels over the rows of a matrix: several passes over column tiles, each of which reduces into a register tile of one or four
-- numbers a row, and a last one that maps. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local exprs = require "gen.exprs"
local P, cd = weir.pipeline, weir.ceil_div

local NEUTRAL = { sum = 0.0, max = -1000.0, min = 1000.0 }
local ROOM = 230000 -- bytes of shared memory: what is staged, and of the ring what fits beside it
local function draw(d)
  local o = {}
  o.real = d.chance(25)
  o.dtype = d.one { "f32", "bf16", "f16" }
  o.wgs = d.chance(30) and 2 or 1
  o.frags = d.chance(20) and 2 or 1
  o.rows, o.cols = 64 * o.wgs * o.frags, 8 * d.range(1, o.frags == 2 and 6 or 12)
  o.via = d.weighted { { 50, "ring" }, { 50, "direct" } }
  if o.cols * numbers.SIZE[o.dtype] % 16 ~= 0 then o.via = "direct" end
  o.stages = d(4)
  o.kind = d.one { "static", "grid", "atomic" }
  o.passes = {}
  for i = 1, d(3) do o.passes[i] = { op = d.one { "sum", "max", "min" }, width = d.one { 1, 4 } } end
  o.out = d.one { "f32", "bf16", "f32" }
  o.store = d.weighted { { 60, "plain" }, { 40, "staged" } }
  o.staging = d(2)
  local row = o.cols * numbers.SIZE[o.out]
  local fits = {}
  for _, s in ipairs { 32, 64, 128 } do if row % s == 0 then fits[#fits + 1] = s end end
  o.swizzle = #fits > 0 and d.one(fits) or nil
  if not o.swizzle then o.store = row % 16 == 0 and o.store or "plain"; o.swizzle = 0 end
  if o.store == "staged" and row > 256 * numbers.SIZE[o.out] then o.store = "plain" end
  o.stages = math.max(1, math.min(o.stages, (ROOM - (o.store == "staged" and o.staging * o.rows * row or 0)) // (o.rows * o.cols * numbers.SIZE[o.dtype])))
  o.results, o.sizes = d.chance(50), {}                          -- results: also one number a row
  for i = 1, 2 do
    o.sizes[i] = { math.max(1, o.rows * d.range(1, 2) - d.range(0, o.rows - 1)), math.max(1, o.cols * d.range(1, 4) - d.range(0, o.cols - 1)) }
  end
  return o
end

return function(d, name)
  local o = draw(d)
  local case = { name = name, real = o.real, launches = {} }
  local span = o.real and 1 or 7
  local longest = math.max(o.sizes[1][2], o.sizes[2][2])
  -- what each pass reduces: an expression of the element and of what the passes before left
  local known = { { name = "x", type = "f32", mag = span } }
  for i, p in ipairs(o.passes) do
    local tries = 0
    repeat
      p.expr = d.chance(30) and exprs.leaf(known[1]) or exprs.random(d, known, { type = "f32", depth = 2, real = o.real, with = "x" })
      tries = tries + 1
    until p.expr.mag <= (p.op == "sum" and 1500 or 900) and p.expr.frac <= 3 or tries > 30
    if p.expr.mag > 900 or p.expr.frac > 3 then p.expr = exprs.leaf(known[1]) end
    p.mag = p.op == "sum" and p.expr.mag * longest or math.max(p.expr.mag, 1000)
    known[#known + 1] = { name = "p" .. i, type = "f32", mag = p.mag, frac = p.expr.frac, inexact = o.real }
  end
  known[#known + 1] = { name = "row", type = "i32", mag = o.rows }
  known[#known + 1] = { name = "col", type = "i32", mag = o.cols }
  local last = exprs.random(d, known, { type = "f32", depth = d.range(2, 4), real = o.real, with = "x" })
  local result = o.results and known[1 + d(#o.passes)]

  local words = { ("%s %dx%d %d warpgroups"):format(o.dtype, o.rows, o.cols, o.wgs), o.via == "ring" and "ring of " .. o.stages or "direct", o.kind, o.store .. " " .. o.out }
  for _, p in ipairs(o.passes) do words[#words + 1] = ("%s(%d) of %d nodes"):format(p.op, p.width, p.expr.size) end
  words[#words + 1] = ("last of %d nodes"):format(last.size)
  if o.real then words[#words + 1] = "real" end
  case.text = table.concat(words, ", ")

  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local M, N = k:dim "M", k:dim "N"
    local X = k:tensor { name = "X", dtype = o.dtype, shape = { M, N } }
    local Y = k:tensor { name = "Y", dtype = o.out, shape = { M, N }, out = true }
    local gx = k:gmem_tile { name = "gx", tensor = X, tile = { o.rows, o.cols } }
    local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { o.rows, o.cols } }
    local gr = result and k:gmem_tile { name = "gr", tensor = k:tensor { name = "R", dtype = "f32", shape = { M, 1 }, out = true }, tile = { o.rows, 1 } }
    local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind == "atomic" and 2 or nil, axes = { "m" }, extent = { cd(M, o.rows) } }
    local steps = cd(N, o.cols)
    local ring = o.via == "ring" and k:smem_tile { name = "ring", dtype = o.dtype, tile = { o.rows, o.cols }, pipeline = P.tma_async { stages = o.stages } }
    local stage = o.store == "staged" and k:smem_tile { name = "stage", dtype = o.out, tile = { o.rows, o.cols }, swizzle = o.swizzle, pipeline = P.async_tma { stages = o.staging } }
    local x = k:reg_tile { name = "x", dtype = "f32", tile = { o.rows, o.cols } }
    local held = {}
    for i, p in ipairs(o.passes) do held[i] = k:reg_tile { name = "p" .. i, dtype = "f32", tile = { o.rows, p.width } } end
    local base = 4 * o.wgs
    if ring then
      k:task { name = "load", warps = { base, 1 }, schedule = function()
        for t in weir.work_tile_loop(wq) do
          for _ = 1, #o.passes + 1 do
            for j in weir.domain_loop(0, steps) do ring:acquire(); ring:tma_load(gx:at(t.m, j)); ring:commit() end
          end
          wq:next()
        end
      end }
      base = base + 1
    end
    if o.kind == "atomic" then
      k:task { name = "fetch", warps = { base, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
    end
    k:task { name = "reduce", warps = { 0, 4 * o.wgs }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        local env = { row = x:row_index(), col = x:col_index() }
        local function fetch(j)
          if ring then ring:wait(); x:set(ring:read():load()); ring:release() else x:set(gx:at(t.m, j):load()) end
          env.x = x:read()
        end
        for i, p in ipairs(o.passes) do
          held[i]:set(NEUTRAL[p.op])
          for j in weir.domain_loop(0, steps) do
            fetch(j)
            local v = p.expr:weir(env)
            -- what lies beyond the row counts for nothing
            v = weir.select(weir.lt(env.col + j * o.cols, N), v, NEUTRAL[p.op])
            local r = v["row_" .. p.op](v, p.width)
            local before = held[i]:read()
            held[i]:set(p.op == "sum" and before + r or weir[p.op](before, r))
          end
          env["p" .. i] = p.width == 4 and held[i]:read()["row_" .. p.op](held[i]:read()) or held[i]:read()
        end
        for j in weir.domain_loop(0, steps) do
          fetch(j)
          local v = last:weir(env)
          if stage then
            stage:acquire(); stage:store(v); stage:commit()
            stage:wait(); gy:tma_store(stage:read(), gy:at(t.m, j)); stage:release()
          else gy:store(v, gy:at(t.m, j)) end
        end
        if gr then gr:store(env[result.name], gr:at(t.m, 0)) end
        wq:next()
      end
    end }
    return k
  end

  for i, size in ipairs(o.sizes) do
    local m, n = table.unpack(size)
    local seed = d(1000000)
    local data = o.real and numbers.reals(m * n, seed, o.dtype) or numbers.integers(m * n, seed, span)
    local l = { args = {}, size = ("%d x %d"):format(m, n), grid = o.kind ~= "grid" and d(3) or nil }
    l.tensors = { { name = "X", dtype = o.dtype, shape = { m, n }, data = data }, { name = "Y", dtype = o.out, shape = { m, n }, fill = 7, out = true } }
    if result then l.tensors[3] = { name = "R", dtype = "f32", shape = { m, 1 }, fill = 7, out = true } end
    l.wanted = function()
      local Y, off, R, Roff = {}, o.real and {} or nil, {}, o.real and {} or nil
      local env, errors = {}, {}
      for r = 0, m - 1 do
        env.row = r % o.rows
        for q, p in ipairs(o.passes) do
          local v, e, abs = NEUTRAL[p.op], 0.0, 0.0
          for c = 0, n - 1 do
            env.x, env.col = data[r * n + c + 1], c % o.cols
            local y, ey = p.expr:eval(env, errors)
            if p.op == "sum" then v, e, abs = v + y, e + ey, abs + math.abs(y)
            else v, e = math[p.op](v, y), math.max(e, ey) end
          end
          if o.real and p.op == "sum" then e = e + (n + 2) * 2.0 ^ -24 * (abs + e) end -- in any order
          env["p" .. q], errors["p" .. q] = v, e
        end
        if result then
          R[r + 1] = env[result.name]
          if Roff then Roff[r + 1] = errors[result.name] + numbers.half_unit("f32", env[result.name]) end
        end
        for c = 0, n - 1 do
          env.x, env.col = data[r * n + c + 1], c % o.cols
          local v, e = last:eval(env, errors)
          local at = r * n + c + 1
          if off then Y[at], off[at] = v, e + 2 * numbers.half_unit(o.out, math.abs(v) + e)
          else Y[at] = numbers.round(o.out, v) end
        end
      end
      return { Y = { Y, off }, R = result and { R, Roff } or nil }
    end
    case.launches[i] = l
  end
  return case
end
