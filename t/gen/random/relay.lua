-- Random schedules around a chain of rings: loops in sequence and nested, of lengths that the launch, a tile or memory gives, guards, stages
-- held over steps; one task fills the first ring, each next one takes from a ring and fills the next, the last one stores. See
-- t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local P, cd = weir.pipeline, weir.ceil_div

-- What all tasks walk alike is a list of items: { "step", f, add } moves the tile of column f(indices) through the chain, and adds;
-- { "loop", bound, step, items }; { "guard", kind, a, b, items }, of the innermost loop or of the tile.
local bounds = {
  { "steps", function(e) return e.steps end }, { "steps // 2", function(e) return e.steps // 2 end }, { "steps + 1", function(e) return e.steps + 1 end },
  { "2", function() return 2 end }, { "3", function() return 3 end }, { "min(steps, 2)", function(e) return e.min(e.steps, 2) end },
  { "m % 3", function(e) return e.m % 3 end }, { "count", function(e) return e.count end }, { "s", function(e) return e.s end },
}

-- loops: around; plain: nothing else is
local function items(d, depth, loops, plain)
  local out = {}
  for _ = 1, d.weighted { { 55, 1 }, { 35, 2 }, { 10, 3 } } do
    local which = d(10)
    if depth > 0 and which <= 5 then
      out[#out + 1] = { kind = "loop", bound = d.one(bounds), step = d.chance(20) and 2 or 1, unroll = d.chance(20) and d.range(1, 4) or nil, items = items(d, depth - 1, loops + 1, plain) }
    elseif depth > 0 and which <= 7 then
      -- a condition on an index is one question for the proof in a loop that stands alone, else it says INCOMPLETE (docs/proof.md)
      local guards = loops > 0 and { "first", "last", "every", "when", "unless", loops == 1 and plain and "both" or "when" } or { "when", "unless" }
      out[#out + 1] = { kind = "guard", guard = d.one(guards), a = d.range(2, 3), b = d.range(0, 2), items = items(d, depth - 1, loops, false) }
    else
      out[#out + 1] = { kind = "step", column = d.one { "inner", "inner", "0", "sum" }, add = d.range(-9, 9) }
    end
  end
  return out
end

local function words(list, out)
  for _, x in ipairs(list) do
    if x.kind == "step" then out[#out + 1] = "." else
      out[#out + 1] = (x.kind == "loop" and x.bound[1] .. (x.step > 1 and " by " .. x.step or "") or x.guard) .. "{"
      words(x.items, out)
      out[#out + 1] = "}"
    end
  end
  return out
end

local function count_steps(list)
  local n = 0
  for _, x in ipairs(list) do n = n + (x.kind == "step" and 1 or count_steps(x.items)) end
  return n
end

-- Walks the items for real: visit(column, add) for each step. e: m, steps, count, s, min.
local function walk(list, e, indices, visit)
  for _, x in ipairs(list) do
    if x.kind == "step" then
      local column = 0
      if x.column == "inner" then column = indices[#indices] and indices[#indices].i or 0
      elseif x.column == "sum" then for _, index in ipairs(indices) do column = column + index.i end end
      visit(column, x.add)
    elseif x.kind == "loop" then
      local last = x.bound[2](e)
      local n = math.max(0, (last + x.step - 1) // x.step)
      for q = 0, n - 1 do
        indices[#indices + 1] = { i = q * x.step, q = q, n = n }
        walk(x.items, e, indices, visit)
        indices[#indices] = nil
      end
    else
      local index = indices[#indices]
      local fires
      if x.guard == "first" then fires = index.q == 0
      elseif x.guard == "last" then fires = index.q == index.n - 1
      elseif x.guard == "every" then fires = index.q >= x.b and (index.q - x.b) % x.a == 0
      elseif x.guard == "both" then fires = (index.i + e.m) % x.a == 0
      else fires = (e.m + e.s) % x.a == x.b % x.a end
      if x.guard == "unless" then fires = not fires end
      if fires then walk(x.items, e, indices, visit) end
    end
  end
end

-- Records them in a schedule: step(column, add).
local function record(list, e, indices, step)
  for _, x in ipairs(list) do
    if x.kind == "step" then
      local column = 0
      if x.column == "inner" then column = indices[#indices] or 0
      elseif x.column == "sum" then for _, index in ipairs(indices) do column = column + index end end
      step(column, x.add)
    elseif x.kind == "loop" then
      for i in weir.domain_loop(0, x.bound[2](e), x.step, { unroll = x.unroll }) do
        indices[#indices + 1] = i
        record(x.items, e, indices, step)
        indices[#indices] = nil
      end
    else
      local index = indices[#indices]
      local iterator, state, control
      if x.guard == "first" then iterator, state, control = index:first_iter()
      elseif x.guard == "last" then iterator, state, control = index:last_iter()
      elseif x.guard == "every" then iterator, state, control = index:every(x.a, x.b)
      elseif x.guard == "both" then iterator, state, control = weir.when_true(weir.eq((index + e.m) % x.a, 0))
      else iterator, state, control = weir[x.guard == "when" and "when_true" or "when_false"](weir.eq((e.m + e.s) % x.a, x.b % x.a)) end
      for _ in iterator, state, control do record(x.items, e, indices, step) end
    end
  end
end

return function(d, name)
  local o = { R = d.one { 1, 4, 8 }, C = d.one { 16, 32, 64 }, kind = d.one { "static", "static", "grid", "atomic" }, rings = d(3), list = items(d, 3, 0, true), lag = d.chance(30) and d.range(1, 2) or 0 }
  while count_steps(o.list) == 0 or count_steps(o.list) > 6 do o.list = items(d, 3, 0, true) end
  o.ring = {}
  for i = 1, o.rings do
    local via = i == 1 and d.one { "tma", "tma", "cp_async", "threads" } or "threads"
    o.ring[i] = { via = via, stages = o.lag + d(3), warps = via == "tma" and 1 or d.one { 1, 2, 4 }, factor = d.range(-2, 2), interleaved = false }
  end
  o.warps = d.one { 1, 2, 4 }
  o.skip = d.chance(15)
  local case = { name = name, launches = {}, text = ("%dx%d %s, %d ring%s by %s, lag %d%s: %s"):format(o.R, o.C, o.kind, o.rings, o.rings > 1 and "s" or "", o.ring[1].via, o.lag,
    o.skip and ", skips" or "", table.concat(words(o.list, {}), " ")) }

  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local H, W, T = k:dim "H", k:dim "W", k:dim "T"
    if o.ring[1].via == "cp_async" then k:assume(weir.eq(W % 4, 0)) end
    local s = k:scalar { name = "s", dtype = "i32" }
    local X, Y = k:tensor { name = "X", dtype = "f32", shape = { H, W } }, k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
    local N = k:tensor { name = "N", dtype = "i32", shape = { T } }
    local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { o.R, o.C } }, k:gmem_tile { name = "gy", tensor = Y, tile = { o.R, o.C } }
    local gn = k:gmem_tile { name = "gn", tensor = N, tile = { 1 } }
    local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind == "atomic" and 2 or nil, axes = { "m" }, extent = { cd(H, o.R) } }
    local rings = {}
    for i, r in ipairs(o.ring) do
      rings[i] = k:smem_tile { name = "r" .. i, dtype = "f32", tile = { o.R, o.C },
        pipeline = P[r.via == "tma" and "tma_async" or "async_async"] { stages = r.stages, producer_op = r.via == "cp_async" and "load" or nil } }
    end
    local function tiles(step, finish)
      return function()
        for t in weir.work_tile_loop(wq, o.skip and { skip = function(q) return weir.eq(q.m % 3, 1) end } or nil) do
          local e = { m = t.m, steps = cd(W, o.C), count = gn:at(t.m):load(), s = s, min = weir.min }
          local function all()
            record(o.list, e, {}, function(column, add) step(t, column, add) end)
            if finish then finish() end
          end
          if o.skip then for _ in t:skippable() do all() end else all() end
          wq:next()
        end
      end
    end
    local warp = 0
    local function task(task_name, warps, body)
      k:task { name = task_name, warps = { warp, warps }, schedule = body }
      warp = warp + warps
    end
    local last = rings[o.rings]
    task("store", o.warps, tiles(function(t, column, add)
      last:wait()
      gy:store(last:read():load() + add, gy:at(t.m, column))
      if o.lag > 0 then last:release(o.lag) else last:release() end
    end, o.lag > 0 and function() last:release(0) end or nil))
    for i = o.rings, 2, -1 do
      local from, to, r = rings[i - 1], rings[i], o.ring[i]
      task("pass" .. i, r.warps, tiles(function()
        from:wait(); to:acquire()
        to:store(from:read():load() * r.factor + i)
        to:commit(); from:release()
      end))
    end
    task("fill", o.ring[1].warps, tiles(function(t, column)
      rings[1]:acquire()
      local view = gx:at(t.m, column)
      if o.ring[1].via == "tma" then rings[1]:tma_load(view) elseif o.ring[1].via == "cp_async" then rings[1]:cp_async(view) else rings[1]:store(view) end
      rings[1]:commit()
    end))
    if o.kind == "atomic" then task("fetch", 1, function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end) end
    return k
  end

  for i = 1, 2 do
    local h, w = math.max(1, o.R * d.range(1, 5) - d.range(0, o.R - 1)), math.max(1, o.C * d.range(1, 5) - d.range(0, o.C - 1))
    if o.ring[1].via == "cp_async" then w = (w + 3) // 4 * 4 end
    local seed, s = d(1000000), d.range(0, 4)
    local rows = (h + o.R - 1) // o.R
    local x, n = numbers.integers(h * w, seed, 100), {}
    for m = 1, rows do n[m] = d.range(0, 4) end
    local l = { args = { s = s }, size = ("%d x %d"):format(h, w), grid = o.kind ~= "grid" and d(3) or nil }
    l.tensors = { { name = "X", dtype = "f32", shape = { h, w }, data = x }, { name = "Y", dtype = "f32", shape = { h, w }, fill = -777, out = true },
      { name = "N", dtype = "i32", shape = { rows }, data = n } }
    l.wanted = function()
      local out = {}
      for j = 1, h * w do out[j] = -777 end
      for m = 0, rows - 1 do
        if not (o.skip and m % 3 == 1) then
          walk(o.list, { m = m, steps = (w + o.C - 1) // o.C, count = n[m + 1], s = s, min = math.min }, {}, function(column, add)
            for r = m * o.R, math.min(h, (m + 1) * o.R) - 1 do
              for c = column * o.C, math.min(w, (column + 1) * o.C) - 1 do
                local v = x[r * w + c + 1]
                for q = 2, o.rings do v = v * o.ring[q].factor + q end
                out[r * w + c + 1] = v + add
              end
            end
          end)
        end
      end
      return { Y = { out } }
    end
    case.launches[i] = l
  end
  return case
end
