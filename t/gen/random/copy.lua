-- Random copies of tensors of 1 to 5 axes by tiles: through shared memory by TMA, cp.async or threads, out by TMA, additions or threads,
-- shifted, transposed, multicast. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local P, cd = weir.pipeline, weir.ceil_div
local SIZE = numbers.SIZE

local function draw(d)
  local o = {}
  o.dtype = d.one { "f32", "f32", "bf16", "f16", "i32", "u32", "i8", "u8", "i16", "u16", "f64", "i64", "e4m3", "e5m2" }
  local size = SIZE[o.dtype]
  o.rank = d.weighted { { 15, 1 }, { 40, 2 }, { 20, 3 }, { 13, 4 }, { 12, 5 } }
  o.out = d.weighted { { 35, "threads" }, { 20, "staged" }, { 30, "tma" }, { 15, "reduce" } }
  local adds = { f32 = true, bf16 = true, f16 = true, i32 = true, u32 = true, f64 = true }
  if o.out == "reduce" and not adds[o.dtype] then o.out = "tma" end
  o.via = d.weighted { { 60, "tma" }, { 20, "cp_async" }, { 20, "threads" } }
  -- a row of the tile: one swizzle span, several, or what it may be without
  o.swizzle = o.rank > 1 and d.one { 0, 0, 32, 64, 128 } or 0
  local row = o.swizzle > 0 and o.swizzle // size * (d.chance(25) and 2 or 1) or 16 // size * d.range(1, 8)
  if o.swizzle == 0 then row = math.min(row, 256) end
  o.tile = { row }
  local left = 8192 // (row * size)
  for i = 2, o.rank do
    local n = i == 2 and d.range(1, math.max(1, math.min(32, left))) or d.range(1, math.max(1, math.min(4, left)))
    table.insert(o.tile, 1, n)
    left = left // n
  end
  if o.swizzle > 0 and row > o.swizzle // size then -- panels begin where the pattern does
    local rows = 1
    for i = 1, o.rank - 1 do rows = rows * o.tile[i] end
    if rows % 8 ~= 0 then
      for i = 1, o.rank - 1 do o.tile[i] = i == o.rank - 1 and 8 or math.min(o.tile[i], 2) end
    end
  end
  if o.rank == 1 then o.tile = { 16 // size * d.range(1, 256 * size // 16) } end
  o.stages = d(5)
  o.warps = d.one { 1, 2, 4 }
  o.fill_warps = o.via == "tma" and 1 or d.one { 1, 2 }
  o.kind = d.one { "static", "static", "grid", "atomic" }
  o.queue_stages = d(2)
  o.loop = o.rank > 1 and d.chance(50)                          -- the last axis is a loop, not one of the queue's
  o.lag = o.stages > 1 and o.out == "threads" and d.chance(25) and 1 or nil
  o.turned = o.rank == 2 and o.out == "threads" and o.swizzle == 0 and d.chance(25) and o.tile[1] > 1
  o.shift = (o.via ~= "cp_async" and not o.turned) and d.chance(35)
  o.factor = o.out == "staged" and numbers.is_float(o.dtype) and SIZE[o.dtype] > 1 and d.one { 1, 2, -1 } or 1
  o.cluster = (o.via == "tma" and o.rank == 2 and not o.loop and not o.shift) and d.chance(30) and 2 or nil
  o.issue = o.cluster and (o.tile[1] % 16 ~= 0 or d.chance(30)) and "first" or nil
  o.group = o.out == "threads" and not o.lag and not o.cluster and not o.turned and d.chance(25) and d.one { "merge", "fused_merge" } or nil -- beside a second tensor
  o.unroll = o.loop and d.chance(30) and d.range(1, 3) or nil
  o.cache = o.via == "tma" and d.chance(20) and d.one { "evict_first", "evict_last" } or nil
  o.shifts = {}
  for i = 1, o.rank do o.shifts[i] = o.shift and d.range(-3, 3) or 0 end
  if o.via == "tma" then o.shifts[o.rank] = o.shifts[o.rank] * (16 // size) end -- a box begins at 16 bytes
  o.sizes = {}
  for n = 1, 2 do
    local s, all = {}, 1
    for i = o.rank, 1, -1 do
      local most = (o.rank <= 2 or i >= o.rank - 1) and 3 or 2
      s[i] = math.max(1, o.tile[i] * d.range(1, most) - (d.chance(60) and d.range(0, o.tile[i] - 1) or 0))
      if all * s[i] > 30000 then s[i] = math.max(1, 30000 // all) end
      all = all * s[i]
    end
    if o.via == "cp_async" then s[o.rank] = (s[o.rank] * size + 15) // 16 * 16 // size end
    o.sizes[n] = s
  end
  return o
end

local function text(o)
  local words = { ("%s {%s} s%d"):format(o.dtype, table.concat(o.tile, ","), o.stages), ("in by %s, out by %s"):format(o.via, o.out), "swizzle " .. o.swizzle, o.kind }
  local function word(x, w) if x then words[#words + 1] = w end end
  word(o.loop, "loop"); word(o.lag, "lag"); word(o.turned, "transposed"); word(o.shift, "shift " .. table.concat(o.shifts, ",")); word(o.factor ~= 1, "times " .. o.factor)
  word(o.cluster, "cluster 2 multicast" .. (o.issue and " by the first" or "")); word(o.group, tostring(o.group)); word(o.unroll, "unroll"); word(o.cache, tostring(o.cache))
  return table.concat(words, ", ")
end

local function describe(o, name)
  local k = weir.kernel { name = name, arch = "sm_90a", cluster = o.cluster and { m = o.cluster } or nil }
  local dims, axes, extent = {}, {}, {}
  for i = 1, o.rank do dims[i] = k:dim(("N%d"):format(i)) end
  if o.via == "cp_async" then k:assume(weir.eq(dims[o.rank] % (16 // SIZE[o.dtype]), 0)) end
  local queued = o.loop and o.rank - 1 or o.rank
  for i = 1, queued do
    axes[i], extent[i] = o.cluster and (i == 1 and "m" or "n") or ("a%d"):format(i), cd(dims[i], o.tile[i])
  end
  local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind == "atomic" and o.queue_stages or nil, axes = axes, extent = extent }
  local back = o.turned and { dims[2], dims[1] } or dims
  local X = k:tensor { name = "X", dtype = o.dtype, shape = dims }
  local Y = k:tensor { name = "Y", dtype = o.dtype, shape = back, out = true }
  local gx = k:gmem_tile { name = "gx", tensor = X, tile = o.tile }
  local gy = k:gmem_tile { name = "gy", tensor = Y, tile = o.turned and { o.tile[2], o.tile[1] } or o.tile }
  local function pipe()
    return P[o.via == "tma" and "tma_async" or "async_async"] { stages = o.stages, producer_op = o.via == "cp_async" and "load" or nil }
  end
  local ring = k:smem_tile { name = "ring", dtype = o.dtype, tile = o.tile, swizzle = o.swizzle, pipeline = pipe() }
  local gz
  local mine, other, group = ring, nil, nil
  if o.group then
    local second = k:smem_tile { name = "second", dtype = o.dtype, tile = o.tile, swizzle = o.swizzle, pipeline = pipe() }
    gz = k:gmem_tile { name = "gz", tensor = k:tensor { name = "Z", dtype = o.dtype, shape = dims }, tile = o.tile }
    group = k:group { name = "g", mode = o.group, members = { ring, second } }
    mine, other = group.ring, group.second
  end
  local stage = o.out == "staged" and k:smem_tile { name = "stage", dtype = o.dtype, tile = o.tile, swizzle = o.swizzle, pipeline = P.async_tma { stages = o.stages > 2 and 2 or 1 } }
  -- The tile's place, with the loop's index as the last one.
  local function at(g, t, j, shifted)
    local index = {}
    for i = 1, o.rank do
      local x = i <= queued and t[axes[i]] or j
      index[i] = shifted and x * o.tile[i] + o.shifts[i] or x
    end
    if o.turned and g == gy then index[1], index[2] = index[2], index[1] end
    if shifted then return g:from(table.unpack(index)) end
    return g:at(table.unpack(index))
  end
  local function tiles(body, finish)
    return function()
      for t in weir.work_tile_loop(wq) do
        if o.loop then
          for j in weir.domain_loop(0, cd(dims[o.rank], o.tile[o.rank]), 1, { unroll = o.unroll }) do body(t, j) end
        else body(t) end
        if finish then finish() end
        wq:next()
      end
    end
  end
  local empties = (o.out == "tma" or o.out == "reduce") and 1 or o.out == "staged" and 4 or o.warps
  local first = empties
  local function source(t, j)
    if not o.cluster then return at(gx, t, j, o.shift) end
    return gx:at(t.m // o.cluster, t.n)                        -- one tile for both
  end
  local function put(s, view)
    if o.via == "tma" then s:tma_load(view, { multicast = o.cluster and "m" or nil, issue = o.issue, cache = o.cache })
    elseif o.via == "cp_async" then s:cp_async(view) else s:store(view) end
  end
  k:task { name = "fill", warps = { first, o.fill_warps }, schedule = tiles(function(t, j)
    mine:acquire(); put(mine, source(t, j)); mine:commit()
    if other then other:acquire(); put(other, at(gz, t, j)); other:commit() end
  end) }
  if o.kind == "atomic" then
    k:task { name = "fetch", warps = { first + o.fill_warps, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
  end
  k:task { name = "empty", warps = { 0, empties }, schedule = tiles(function(t, j)
    if group and o.group == "fused_merge" then group:wait() else mine:wait(); if other then other:wait() end end
    if o.out == "threads" then
      local v = mine:read()
      if o.turned then v = v:t() end
      if other then gy:store(weir.max(v:load(), other:read():load()), at(gy, t, j)) else gy:store(v, at(gy, t, j)) end
    elseif o.out == "staged" then
      stage:acquire()
      stage:store(o.factor == 1 and mine:read() or mine:read():load() * o.factor)
      stage:commit()
      stage:wait(); gy:tma_store(stage:read(), at(gy, t, j)); stage:release()
    elseif o.out == "tma" then gy:tma_store(mine:read(), at(gy, t, j)); gy:drain()
    else gy:tma_reduce_add(mine:read(), at(gy, t, j)); gy:drain() end
    if group then group:release() elseif o.lag then mine:release(o.lag) else mine:release() end
  end, o.lag and function() mine:release(0) end or nil) }
  return k
end

return function(d, name)
  local o = draw(d)
  local case = { name = name, text = text(o), launches = {} }
  case.kernel = function() return describe(o, name) end
  for i, s in ipairs(o.sizes) do
    local seed, count = d(1000000), numbers.count(s)
    local function data(at)
      if o.dtype == "e4m3" or o.dtype == "e5m2" then return numbers.integers(count, seed + at, 8) end
      if numbers.is_float(o.dtype) then return numbers.integers(count, seed + at, 100) end
      if o.out == "reduce" and d.chance(50) then return numbers.bits(count, seed + at, o.dtype) end
      return numbers.bits(count, seed + at, o.dtype)
    end
    local x, z = data(1), o.group and data(2)
    local back = o.turned and { s[2], s[1] } or s
    local l = { args = {}, size = table.concat(s, " x "), grid = o.kind ~= "grid" and d(3) * (o.cluster or 1) or nil }
    l.tensors = { { name = "X", dtype = o.dtype, shape = s, data = x }, { name = "Y", dtype = o.dtype, shape = back, fill = 5, out = true } }
    if z then l.tensors[3] = { name = "Z", dtype = o.dtype, shape = s, data = z } end
    l.wanted = function()
      local out, index = {}, {}
      for n = 0, count - 1 do
        local rest = n
        for a = #back, 1, -1 do index[a] = rest % back[a]; rest = rest // back[a] end
        if o.turned then index[1], index[2] = index[2], index[1] end
        local at, inside = 0, true
        for a = 1, o.rank do
          local p = index[a] + o.shifts[a]
          if o.cluster and a == 1 then -- the pair's common tile
            local tile = p // o.tile[1]
            p = tile // o.cluster * o.tile[1] + p % o.tile[1]
          end
          inside = inside and p >= 0 and p < s[a]
          at = at * s[a] + p
        end
        local v = inside and x[at + 1] or 0
        if z then v = math.max(v, z[n + 1]) end
        v = v * o.factor
        if o.out == "reduce" then v = v + 5 end
        out[n + 1] = numbers.is_float(o.dtype) and numbers.round(o.dtype, v) or numbers.wrap(o.dtype, v)
      end
      return { Y = { out } }
    end
    case.launches[i] = l
  end
  return case
end
