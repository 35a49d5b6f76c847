#!/usr/bin/env lua5.4
-- Patterns of schedules, each as a small kernel: proved for every length, run in the simulator, every element compared.
--
--   lua5.4 t/patterns.t [NAME]        all, or those whose name contains it; t/gpu/patterns.t runs them on a GPU
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline
local where, only = "sim", arg[1]
if arg[0]:find "gpu/patterns%.t$" then where, only = arg[1] or "gpu", arg[2] end -- or "compile": into the disk cache, nothing is run

local dev = assert(weir.device(where == "gpu" and 0 or "sim", where ~= "gpu" and { seed = 11 } or nil))
local R, C = 8, 32 -- rows and columns of a tile

local function numbers(n, seed)
  local out = {}
  for i = 1, n do out[i] = (i * 7919 + seed * 104729) % 251 - 125 end
  return out
end

-- A kernel with tensors X (in) and Y (out) of { H, W } f32, their tiles x and y, and dims.
local function describe(name, options)
  options = options or {}
  local k = weir.kernel { name = name, arch = "sm_90a", cluster = options.cluster }
  local H, W = k:dim "H", k:dim("W", { multiple = options.multiple or 1 })
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local t = { k = k, H = H, W = W, X = X, Y = Y, steps = weir.ceil_div(W, C),
    x = k:gmem_tile { name = "x", tensor = X, tile = { R, C } }, y = k:gmem_tile { name = "y", tensor = Y, tile = { R, C } } }
  function t.queue(kind, more)
    local desc = { name = "wq", kind = kind or "static", axes = { "m" }, extent = { weir.ceil_div(H, R) } }
    for key, v in pairs(more or {}) do desc[key] = v end
    return k:work_queue(desc)
  end
  function t.ring(ring_name, pipeline) return k:smem_tile { name = ring_name, dtype = "f32", tile = { R, C }, pipeline = pipeline } end
  return t
end

-- for each tile of the queue, then each step
local function each(wq, steps, body)
  return function()
    for t in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, steps) do body(t, j) end
      wq:next()
    end
  end
end

local UNTOUCHED = -777
local sizes = { { 8, 32 }, { 8, 64 }, { 24, 96 }, { 20, 224 }, { 1, 1 }, { 40, 256 } }

-- Builds; runs at each size { H, W }; want(i, j, x, H, W) is element (i, j) from 0 of Y, where x(i, j) is that of X.
local function case(name, make, want, options)
  if only and not name:find(only, 1, true) then return end
  options = options or {}
  local ok, program = pcall(function() return make():build { device = dev } end)
  if not tap.ok(ok, name .. ": builds") then return tap.diag(program) end
  if not tap.is("SAFE", program.report.proof.verdict, name .. ": proved") then tap.diag(program.report) end
  if where == "compile" then
    local cubin, why = program:cubin()
    return tap.ok(cubin, name .. ": compiled") or tap.diag(why)
  end
  for n, size in ipairs(options.sizes or sizes) do
    local H, W = size[1], size[2]
    local data = numbers(H * W, n)
    local args = options.args and options.args(H, W, n) or {}
    args.X = dev:tensor { dtype = "f32", shape = { H, W } }:set(data)
    args.Y = dev:tensor { dtype = "f32", shape = { H, W } }:fill(UNTOUCHED)
    local launched, message = program:launch(args, { grid = options.grid, pdl = options.pdl })
    if launched then launched, message = dev:sync() end
    local wrong, first = 0, message
    if launched and dev.is_sim and dev:findings() ~= "" then launched, first = false, dev:findings() end
    if launched then
      local seen = args.Y:get()
      local function x(i, j) return i >= 0 and i < H and j >= 0 and j < W and data[i * W + j + 1] or 0 end
      for i = 0, H - 1 do
        for j = 0, W - 1 do
          local wanted = want(i, j, x, H, W, args)
          if seen[i * W + j + 1] ~= wanted then
            wrong = wrong + 1
            if wrong == 1 then first = ("element %d, %d: wanted %g, seen %g"):format(i, j, wanted, seen[i * W + j + 1]) end
          end
        end
      end
    end
    if not tap.ok(launched and wrong == 0, ("%s: %d x %d"):format(name, H, W)) then tap.diag(wrong, "wrong;", first) end
  end
  program:close()
end

local function same(i, j, x) return x(i, j) end

-- ---- who waits, who releases ------------------------------------------------------------------------------------------------------

-- One task waits for a stage and says so through a ring of its own; the next reads the stage under cover of that (the proxy) and
-- gives it back.
case("split consumer", function()
  local t = describe "split"
  local wq, a, b = t.queue(), t.ring("a", P.tma_async { stages = 3 }), t.ring("b", P.async_async { stages = 2 })
  t.k:depends { { a, { t.x, wq } }, { b, { a } }, { t.y, { a, b, wq } } }
  t.k:task { name = "load", warps = { 8, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "half", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait()
    b:acquire(); b:store(t.x:at(tile.m, j):load() * 0.5); b:commit()
  end) }
  t.k:task { name = "add", warps = { 4, 4 }, schedule = each(wq, t.steps, function(tile, j)
    b:wait()
    t.y:store(a:read():load() + b:read():load(), t.y:at(tile.m, j))
    b:release(); a:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) * 1.5 end)

-- The task that waits reads the stage too, before it hands on; the next gives it back.
case("split consumer that reads", function()
  local t = describe "relay"
  local wq, a, b = t.queue(), t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.async_async { stages = 2 })
  t.k:task { name = "load", warps = { 8, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "half", warps = { 0, 4 }, schedule = each(wq, t.steps, function()
    a:wait()
    b:acquire(); b:store(a:read():load() * 0.5); b:commit()
  end) }
  t.k:task { name = "add", warps = { 4, 4 }, schedule = each(wq, t.steps, function(tile, j)
    b:wait()
    t.y:store(a:read():load() + b:read():load(), t.y:at(tile.m, j))
    b:release(); a:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) * 1.5 end)

-- Who reads it tells the next by a load: the fence stands in front of the arming.
case("split consumer that reads and loads", function()
  local t = describe "relay"
  local wq, a, b = t.queue(), t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.tma_async { stages = 2 })
  t.k:task { name = "load", warps = { 8, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "half", warps = { 9, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait()
    t.y:store(a:read():load() * 0.5, t.y:at(tile.m, j))
    b:acquire(); b:tma_load(t.x:at(tile.m, j)); b:commit()
  end) }
  t.k:task { name = "add", warps = { 4, 4 }, schedule = each(wq, t.steps, function(tile, j)
    b:wait()
    t.y:store(a:read():load() + b:read():load() * 0.5, t.y:at(tile.m, j))
    b:release(); a:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) * 1.5 end)

-- A stage that two tasks read: each releases it, the count is the sum.
case("two consumers of one ring", function()
  local t = describe "two"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2 })
  t.k:task { name = "load", warps = { 6, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  for half = 0, 1 do -- each stores its own rows of the tile
    t.k:task { name = "store" .. half, warps = { half * 4, 2 }, schedule = each(wq, t.steps, function(tile, j)
      a:wait()
      local rows = t.k:gmem_tile { name = "y" .. half, tensor = t.Y, tile = { R // 2, C } }
      rows:store(a:read():rows(half * R // 2, R // 2), rows:at(tile.m * 2 + half, j))
      a:release()
    end) }
  end
  return t.k
end, same)

-- A self edge: one task fills a ring and empties it, one stage behind.
for _, stages in ipairs { 1, 3 } do
  case("ping-pong on one task, " .. stages .. " stages", function()
    local t = describe("pingpong" .. stages)
    local wq, a = t.queue(), t.ring("a", P.async_async { stages = stages })
    t.k:task { name = "both", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
      a:acquire(); a:store(t.x:at(tile.m, j):load() + 1); a:commit()
      a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
    end) }
    return t.k
  end, function(i, j, x) return x(i, j) + 1 end)
end

case("ping-pong by TMA on one task", function()
  local t = describe "pingpong_tma"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2 })
  t.k:task { name = "both", warps = { 0, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  return t.k
end, same)

-- A producer that is no loader alone: one warp loads by TMA and fills another ring itself.
case("one warp loads and writes", function()
  local t = describe "mixed"
  local wq, a, b = t.queue(), t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.async_async { stages = 2 })
  t.k:task { name = "fill", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
    b:acquire(); b:store(t.x:at(tile.m, j):load() * 2); b:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); b:wait()
    t.y:store(a:read():load() + b:read():load(), t.y:at(tile.m, j))
    b:release(); a:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) * 3 end)

-- Four warps load, the first of them arms.
case("task warp leader", function()
  local t = describe "leader"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2, producer_signaling = "task_warp_leader" })
  t.k:task { name = "load", warps = { 4, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  return t.k
end, same)

-- ---- stages held over several steps -----------------------------------------------------------------------------------------------

-- The consumer keeps one stage while it waits for the next: y(j) = x(j) - x(j - 1 tile).
case("lagging release", function()
  local t = describe "lag"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 3 })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for tile in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, t.steps) do
        a:wait()
        for _ in j:first_iter() do t.y:store(a:read(), t.y:at(tile.m, j)) end
        for _ in j:every(1, 1) do t.y:store(a:read():load() - a:read(1):load(), t.y:at(tile.m, j)) end -- all but the first
        a:release(1)
      end
      a:release(0)
      wq:next()
    end
  end }
  return t.k
end, function(i, j, x) return j < C and x(i, j) or x(i, j) - x(i, j - C) end)

case("advance_on_wait given", function()
  local t = describe "aow"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 4, advance_on_wait = true })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps * 2, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j // 2)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); a:wait()
    t.y:store(a:read(0):load() + a:read(1):load(), t.y:at(tile.m, j))
    a:release(); a:release()
  end) }
  return t.k
end, function(i, j, x) return 2 * x(i, j) end)

case("two acquires before their commits", function()
  local t = describe "aoa"
  local wq, a = t.queue(), t.ring("a", P.async_async { stages = 4 })
  t.k:task { name = "fill", warps = { 4, 2 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:store(t.x:at(tile.m, j))
    a:acquire(); a:store(t.x:at(tile.m, j):load() * 4)
    a:commit(0)
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); a:wait()
    t.y:store(a:read(0):load() - a:read(1):load(), t.y:at(tile.m, j))
    a:release(0)
  end) }
  return t.k
end, function(i, j, x) return 3 * x(i, j) end)

-- A value is what the stage held where it was loaded: no use of it after the stage changed hands.
if not only or ("late use"):find(only, 1, true) then
  for n, body in ipairs {
    function(t, a, tile, j) a:wait(); local v = a:read():load(); a:release(); t.y:store(v, t.y:at(tile.m, j)) end,
    function(t, a, tile, j) a:wait(); local v = a:read():load() * 2; a:wait(); t.y:store(v, t.y:at(tile.m, j)); a:release(0) end,
  } do
    local t = describe("late" .. n)
    local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2 })
    t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, n * t.steps, function(tile, j)
      a:acquire(); a:tma_load(t.x:at(tile.m, j // n)); a:commit()
    end) }
    t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j) body(t, a, tile, j) end) }
    tap.raises("takes a tile that was loaded from 'a' before the stage changed hands", function() t.k:build { device = dev } end, "late use " .. n)
  end
end

-- ---- order between tasks ----------------------------------------------------------------------------------------------------------

-- Two tasks take turns: even steps are the one's, odd the other's, and each adds to what the one before left in one tile.
case("order tokens", function()
  local t = describe "turns"
  local wq = t.queue()
  local sum = t.ring "sum"
  local go, back = t.k:barrier { name = "go", pipeline = P.async_async { stages = 1 } }, t.k:barrier { name = "back", pipeline = P.async_async { stages = 1 } }
  t.k:task { name = "even", warps = { 0, 1 }, schedule = each(wq, t.steps, function(tile, j)
    go:acquire(); sum:store(t.x:at(tile.m, j)); go:commit()
    back:wait(); t.y:store(sum:read(), t.y:at(tile.m, j)); back:release()
  end) }
  t.k:task { name = "odd", warps = { 4, 1 }, schedule = each(wq, t.steps, function()
    go:wait()
    back:acquire(); sum:store(sum:read():load() * -1); back:commit()
    go:release()
  end) }
  return t.k
end, function(i, j, x) return -x(i, j) end)

-- ---- tiles ------------------------------------------------------------------------------------------------------------------------

for _, kind in ipairs { "static", "grid" } do
  case("queue of kind " .. kind, function()
    local t = describe("queue_" .. kind)
    local wq, a = t.queue(kind), t.ring("a", P.tma_async { stages = 2 })
    t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
      a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
    end) }
    t.k:task { name = "store", warps = { 0, 2 }, schedule = each(wq, t.steps, function(tile, j)
      a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
    end) }
    return t.k
  end, same, { grid = kind == "static" and 2 or nil })
end

-- Tiles handed out at run time by a task that does nothing else.
for _, q in ipairs { { "atomic", 1 }, { "atomic", 2 }, { "clc", 2 } } do
  local kind, stages = q[1], q[2]
  case(("queue of kind %s, %d stages"):format(kind, stages), function()
    local t = describe(("queue_%s%d"):format(kind, stages))
    local wq, a = t.queue(kind, { stages = stages }), t.ring("a", P.tma_async { stages = 2 })
    t.k:task { name = "fetch", warps = { 5, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end
    end }
    t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
      a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
    end) }
    t.k:task { name = "store", warps = { 0, 2 }, schedule = each(wq, t.steps, function(tile, j)
      a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
    end) }
    return t.k
  end, same, { grid = 2 })
end

-- One tile for a whole cluster: CTA 0 draws it for all. clc_fetch_async is the one pipeline type that t/pipes.t has no cell for; here are
-- its rings of 1, 2, 3 and 7 stages in clusters of 1, 2 and 4, with as many tiles as show a ring's off-by-one mistakes.
local drawn = { { "atomic", 2, 1, 2 }, { "atomic", 2, 2, 3 }, { "atomic", 4, 1, 2, true } }
for _, c in ipairs { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1, true } } do
  for _, stages in ipairs { 1, 2, 3, 7 } do drawn[#drawn + 1] = { "clc", c[1], c[2], stages, c[3] } end
end
for _, c in ipairs(drawn) do
  local kind, m, n, stages, shared = table.unpack(c)
  local lengths = {}
  for _, tiles in ipairs { 0, 1, stages - 1, stages, stages + 1, 3 * stages + 1 } do lengths[#lengths + 1] = { tiles * m * R, n * C } end
  case(("queue of kind %s in clusters of %d x %d, %d stages%s"):format(kind, m, n, stages, shared and ", loads multicast" or ""), function()
    local k = weir.kernel { name = "cluster_queue", arch = "sm_90a", cluster = { m = m, n = n } }
    local H, W = k:dim "H", k:dim "W"
    local X, Y = k:tensor { name = "X", dtype = "f32", shape = { H, W } }, k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
    local x, y = k:gmem_tile { name = "x", tensor = X, tile = { R, C } }, k:gmem_tile { name = "y", tensor = Y, tile = { R, C } }
    local wq = k:work_queue { name = "wq", kind = kind, over = Y, tile = { R, C }, stages = stages }
    local a = k:smem_tile { name = "a", dtype = "f32", tile = { R, C }, pipeline = P.tma_async { stages = 2 } }
    local function tiles(body) return function() for t in weir.work_tile_loop(wq) do body(t) wq:next() end end end
    k:task { name = "fetch", warps = { 5, 1 }, schedule = tiles(function() wq:fetch() end) }
    k:task { name = "load", warps = { 4, 1 }, schedule = tiles(function(t)
      a:acquire()
      a:tma_load(shared and x:at(t.m // m, t.n) or x:at(t.m, t.n), { multicast = shared and "m" })
      a:commit()
    end) }
    k:task { name = "store", warps = { 0, 2 }, schedule = tiles(function(t) a:wait(); y:store(a:read(), t); a:release() end) }
    return k
  end, function(i, j, x) return x(shared and i // (R * m) * R + i % R or i, j) end,
    { grid = (stages % 2 + 1) * m * n, sizes = kind == "clc" and lengths or nil })
end

for _, r in ipairs { { "row" }, { "column" }, { "grouped" }, { "traced" }, { "row", 2 }, { "grouped", 2 }, { "traced", 2 } } do
  local raster, ctas = r[1], r[2] or 1
  case(("raster %s, clusters of %d"):format(raster, ctas), function()
    local t = describe("raster_" .. raster, { cluster = { m = ctas } })
    local wq = t.k:work_queue { name = "wq", over = t.Y, tile = { R, C }, group = 2,
      raster = raster ~= "traced" and raster or function(i, m, n) return i % m, n - 1 - i // m end }
    local a = t.ring("a", P.tma_async { stages = 2 })
    t.k:task { name = "load", warps = { 4, 1 }, schedule = function()
      for tile in weir.work_tile_loop(wq) do
        a:acquire(); a:tma_load(t.x:at(tile.m, tile.n)); a:commit()
        wq:next()
      end
    end }
    t.k:task { name = "store", warps = { 0, 2 }, schedule = function()
      for tile in weir.work_tile_loop(wq) do
        a:wait(); t.y:store(a:read(), tile); a:release()
        wq:next()
      end
    end }
    return t.k
  end, same, { grid = 3 * ctas })
end

-- A merge whose consumer reads the first member before it waits for the second.
case("a merge read in turn", function()
  local t = describe "turned"
  local wq, a, b = t.queue(), t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.tma_async { stages = 2 })
  local g = t.k:group { name = "g", mode = "merge", members = { a, b } }
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    g.a:acquire(); g.a:tma_load(t.x:at(tile.m, j)); g.a:commit()
    g.b:acquire(); g.b:tma_load(t.x:at(tile.m, 0)); g.b:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    g.a:wait(); t.y:store(g.a:read(), t.y:at(tile.m, j))
    g.b:wait(); t.y:store(g.a:read():load() - g.b:read():load(), t.y:at(tile.m, j))
    g:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) - x(i, j % C) end)

-- Every third row of tiles is skipped, in both tasks.
case("skippable tiles", function()
  local t = describe "skip"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2 })
  local function walk(body)
    return function()
      for tile in weir.work_tile_loop(wq, { skip = function(q) return weir.eq(q.m % 3, 1) end }) do
        for _ in tile:skippable() do
          for j in weir.domain_loop(0, t.steps) do body(tile, j) end
        end
        wq:next()
      end
    end
  end
  t.k:task { name = "load", warps = { 4, 1 }, schedule = walk(function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 2 }, schedule = walk(function(tile, j)
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  return t.k
end, function(i, j, x) return i // R % 3 == 1 and UNTOUCHED or x(i, j) end, { grid = 1 })

-- ---- stages dealt to lanes ----------------------------------------------------------------------------------------------------------

-- Lanes take the stages in turn, by the warps of one task or by tasks whose loops start at the lane. Where both sides are lanes any
-- length will do; a side that takes every stage needs whole rounds.
local whole = { { 8, 128 }, { 24, 256 }, { 20, 384 }, { 40, 128 } }
for _, o in ipairs {
  { "async_async", 8, 4, "warps", "warps" }, { "async_async", 4, 4, "warps", "dense" }, { "async_async", 6, 3, "tasks", "tasks" },
  { "async_async", 4, 2, "dense", "tasks" }, { "tma_async", 4, 2, "warps", "warps" }, { "tma_async", 4, 4, "warps", "dense" },
  { "tma_async", 8, 4, "dense", "tasks" }, { "tma_async", 8, 2, "tasks", "warps" }, { "tma_async", 4, 2, "dense", "warps" },
} do
  local kind, stages, q, fills, empties = table.unpack(o)
  local dense = fills == "dense" or empties == "dense"
  case(("%s, %d stages, lanes of %d: %s fill, %s empty"):format(kind, stages, q, fills, empties), function()
    local t = describe("lanes", { multiple = dense and q * C or 1 })
    local fq, eq = fills == "dense" and 1 or q, empties == "dense" and 1 or q
    local wq, a = t.queue(), t.ring("a", P[kind] { stages = stages, interleave = { fq, fq, eq, eq } })
    local warp = 0
    local function side(name, how, wide, body)
      for l = 0, how == "tasks" and q - 1 or 0 do
        local n = how == "warps" and q or wide
        t.k:task { name = name .. l, warps = { warp, n }, schedule = function()
          for tile in weir.work_tile_loop(wq) do
            for j in weir.domain_loop(l, t.steps, how == "tasks" and q or 1) do body(tile, j) end
            wq:next()
          end
        end }
        warp = warp + n
      end
    end
    side("store", empties, 1, function(tile, j) a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release() end)
    side("fill", fills, 1, function(tile, j)
      a:acquire()
      if kind == "tma_async" then a:tma_load(t.x:at(tile.m, j)) else a:store(t.x:at(tile.m, j)) end
      a:commit()
    end)
    return t.k
  end, same, { sizes = dense and whole or nil, grid = 2 })
end

-- Whole rounds must be known.
if not only or ("lanes"):find(only, 1, true) then
  local t = describe "lanes"
  local a = t.ring("a", P.tma_async { stages = 4, interleave = { 1, 1, 2, 2 } })
  local wq = t.queue()
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 2 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  local report = t.k:verify()
  tap.is("UNSAFE", report.proof.verdict, "lanes beside a side that takes every stage, of any length: refused")
  tap.like("each run of the loop must be a multiple of 2 steps", report.text, "and the hint says what must be known")
  t.k:close()
end

-- A lane holds a stage longer, and does something else in its first and last step.
case("a lane that lags, with guards", function()
  local t = describe("lag", { multiple = 2 * C })
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 8, interleave = { 1, 1, 2, 2 } })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  for l = 0, 1 do
    t.k:task { name = "store" .. l, warps = { l, 1 }, schedule = function()
      for tile in weir.work_tile_loop(wq) do
        for j in weir.domain_loop(l, t.steps, 2) do
          a:wait()
          t.y:store(a:read(), t.y:at(tile.m, j))
          for _ in j:first_iter() do t.y:store(a:read():load() * 2, t.y:at(tile.m, j)) end
          for _ in j:last_iter() do t.y:store(a:read():load() * 3, t.y:at(tile.m, j)) end
          a:release(1)
        end
        a:release(0)
        wq:next()
      end
    end }
  end
  return t.k
end, function(i, j, x, _, W)
  local step, last = j // C, W // C - 1
  return x(i, j) * (step >= last - 1 and 3 or step < 2 and 2 or 1)
end, { sizes = { { 8, 64 }, { 24, 192 }, { 20, 640 } }, grid = 1 })

-- A merge whose members are dealt alike.
case("lanes of a merge", function()
  local t = describe "merge"
  local wq = t.queue()
  local function ring(name) return t.ring(name, P.tma_async { stages = 4, interleave = 2 }) end
  local g = t.k:group { name = "g", mode = "merge", members = { ring "a", ring "b" } }
  t.k:task { name = "load", warps = { 4, 2 }, schedule = each(wq, t.steps, function(tile, j)
    g.a:acquire(); g.a:tma_load(t.x:at(tile.m, j)); g.a:commit()
    g.b:acquire(); g.b:tma_load(t.x:at(tile.m, 0)); g.b:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 2 }, schedule = each(wq, t.steps, function(tile, j)
    g.a:wait(); g.b:wait()
    t.y:store(g.a:read():load() - g.b:read():load(), t.y:at(tile.m, j))
    g:release()
  end) }
  return t.k
end, function(i, j, x) return x(i, j) - x(i, j % C) end, { grid = 1 })

-- The tensor core beside lanes. Y = X times one: what is filled by lanes is read by one mma, and the other way round.
local function one(t, k)
  local b = k:smem_tile { name = "b", dtype = "tf32", tile = { C, C }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
  local gb = k:gmem_tile { name = "gb", tensor = k:tensor { name = "ONE", dtype = "f32", shape = { C, C } }, tile = { C, C } }
  k:task { name = "one", warps = { 12, 1 }, schedule = function()
    for _ in weir.work_tile_loop(t.wq) do b:acquire(); b:tma_load(gb:at(0, 0)); b:commit(); t.wq:next() end
  end }
  return b
end
local function ones()
  local list = {}
  for i = 0, C - 1 do for j = 0, C - 1 do list[#list + 1] = i == j and 1 or 0 end end
  return { ONE = dev:tensor { dtype = "f32", shape = { C, C } }:set(list) }
end
for _, kind in ipairs { "tma_umma", "async_umma", "umma_async" } do
  case("lanes of " .. kind, function()
    local t = describe("lanes_" .. kind, { multiple = 2 * C })
    local k = t.k
    local x, y = k:gmem_tile { name = "x64", tensor = t.X, tile = { 64, C } }, k:gmem_tile { name = "y64", tensor = t.Y, tile = { 64, C } }
    t.wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(t.H, 64) } }
    local b = one(t, k)
    local function task(name, first, n, lane, body)
      k:task { name = name, warps = { first, n }, schedule = function()
        for tile in weir.work_tile_loop(t.wq) do
          local mma = name:find "mma"
          if mma then b:wait() end
          for j in weir.domain_loop(lane or 0, t.steps, lane and 2 or 1) do body(tile, j) end
          if mma then b:release() end
          t.wq:next()
        end
      end }
    end
    local function ring(pipe) return k:smem_tile { name = "s", dtype = "tf32", tile = { 64, C }, swizzle = 128, pipeline = pipe } end
    local function multiply(s, acc, place)
      acc:zero(); s:wait(); acc:mma(s:read(), b:read()); acc:drain(); s:release()
      y:store(acc:read(), place)
    end
    local function acc(name) return k:wgmma_tile { name = name, tile = { 64, C } } end
    if kind == "tma_umma" then -- two tasks of a warpgroup multiply in turn, two warps load
      local s = ring(P.tma_umma { stages = 4, interleave = 2 })
      task("load", 8, 2, nil, function(tile, j) s:acquire(); s:tma_load(x:at(tile.m, j)); s:commit() end)
      for l = 0, 1 do
        local sum = acc("acc" .. l)
        task("mma" .. l, 4 * l, 4, l, function(tile, j) multiply(s, sum, y:at(tile.m, j)) end)
      end
    elseif kind == "async_umma" then -- two warps fill in turn
      local s, sum = ring(P.async_umma { stages = 4, interleave = { 2, 2, 1, 1 } }), acc "acc"
      task("fill", 8, 2, nil, function(tile, j) s:acquire(); s:store(x:at(tile.m, j)); s:commit() end)
      task("mma", 0, 4, nil, function(tile, j) multiply(s, sum, y:at(tile.m, j)) end)
    else -- the sums are taken in turn by two tasks of four warps (spec P34)
      local a = ring(P.tma_umma { stages = 2 })
      local s = k:tmem_tile { name = "sums", tile = { 64, C }, pipeline = P.umma_async { stages = 4, interleave = { 1, 1, 2, 2 } } }
      task("load", 13, 1, nil, function(tile, j) a:acquire(); a:tma_load(x:at(tile.m, j)); a:commit() end)
      task("mma", 0, 4, nil, function() s:acquire(); a:wait(); s:zero(); s:mma(a:read(), b:read()); a:release(); s:commit() end)
      for l = 0, 1 do
        task("store" .. l, 4 + 4 * l, 4, l, function(tile, j) s:wait(); y:store(s:read(), y:at(tile.m, j)); s:release() end)
      end
    end
    return k
  end, same, { args = ones, sizes = { { 64, 64 }, { 100, 192 }, { 128, 320 } }, grid = 1 })
end

-- ---- bounds -----------------------------------------------------------------------------------------------------------------------

-- How many steps a row of tiles has is read from memory by every task.
case("bounds read from memory", function()
  local t = describe "bounds"
  local N = t.k:tensor { name = "N", dtype = "i32", shape = { t.k:dim "T" } }
  local n = t.k:gmem_tile { name = "n", tensor = N, tile = { 1 } }
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 3 })
  local function walk(body)
    return function()
      for tile in weir.work_tile_loop(wq) do
        for j in weir.domain_loop(0, weir.min(n:at(tile.m):load(), t.steps)) do body(tile, j) end
        wq:next()
      end
    end
  end
  t.k:task { name = "load", warps = { 4, 1 }, schedule = walk(function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 2 }, schedule = walk(function(tile, j)
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  return t.k
end, function(i, j, x) return j // C < (i // R * 3 + 1) % 5 and x(i, j) or UNTOUCHED end, { grid = 2, args = function(H)
  local list = {}
  for m = 0, (H + R - 1) // R - 1 do list[m + 1] = (m * 3 + 1) % 5 end
  return { N = dev:tensor { dtype = "i32", shape = { #list } }:set(list) }
end })

-- A ring filled once a step of the outer loop beside one filled every step of the inner; the loops differ in length.
case("nested loops", function()
  local t = describe "nested"
  local wq = t.k:work_queue { name = "wq", kind = "static", axes = { "b" }, extent = { 1 } }
  local rows = weir.ceil_div(t.H, R)
  local a, first = t.ring("a", P.tma_async { stages = 3 }), t.ring("first", P.tma_async { stages = 2 })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for m in weir.domain_loop(0, rows) do
        first:acquire(); first:tma_load(t.x:at(m, 0)); first:commit()
        for j in weir.domain_loop(0, t.steps) do a:acquire(); a:tma_load(t.x:at(m, j)); a:commit() end
      end
      wq:next()
    end
  end }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for m in weir.domain_loop(0, rows) do
        first:wait()
        for j in weir.domain_loop(0, t.steps) do
          a:wait(); t.y:store(a:read():load() + first:read():load(), t.y:at(m, j)); a:release()
        end
        first:release()
      end
      wq:next()
    end
  end }
  return t.k
end, function(i, j, x) return x(i, j) + x(i, j % C) end)

-- Two loops after each other in one task, one loop over their sum in the other.
case("a range in two parts", function()
  local t = describe "parts"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 3 })
  local cut = weir.clamp(t.steps // 2, 0, t.steps)
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for tile in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, cut) do a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release() end
      for j in weir.domain_loop(cut, t.steps) do a:wait(); t.y:store(a:read():load() * 2, t.y:at(tile.m, j)); a:release() end
      wq:next()
    end
  end }
  return t.k
end, function(i, j, x, _, W) return j // C < (W + C - 1) // C // 2 and x(i, j) or 2 * x(i, j) end)

-- ---- guards -----------------------------------------------------------------------------------------------------------------------

-- `first` brings a tile for the whole row, `last` marks the end; loops of one step have both.
case("first and last", function()
  local t = describe "ends"
  local wq = t.queue()
  local a, f = t.ring("a", P.tma_async { stages = 2 }), t.ring("f", P.tma_async { stages = 1 })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in j:first_iter() do f:acquire(); f:tma_load(t.x:at(tile.m, 0)); f:commit() end
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in j:first_iter() do f:wait() end
    a:wait(); t.y:store(a:read():load() + f:read():load(), t.y:at(tile.m, j)); a:release()
    for _ in j:last_iter() do f:release() end
  end) }
  return t.k
end, function(i, j, x) return x(i, j) + x(i, j % C) end)

for _, e in ipairs { { 2, 0 }, { 3, 1 }, { 4, 2 } } do
  local period, start = e[1], e[2]
  -- every `period` steps from `start` on a tile is loaded again and subtracted
  case(("every(%d, %d)"):format(period, start), function()
    local t = describe(("every_%d_%d"):format(period, start))
    local wq = t.queue()
    local a, b = t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.tma_async { stages = 3 })
    t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
      for _ in j:every(period, start) do b:acquire(); b:tma_load(t.x:at(tile.m, 0)); b:commit() end
      a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
    end) }
    t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
      a:wait(); t.y:store(a:read(), t.y:at(tile.m, j))
      for _ in j:every(period, start) do
        b:wait(); t.y:store(a:read():load() - b:read():load(), t.y:at(tile.m, j)); b:release()
      end
      a:release()
    end) }
    return t.k
  end, function(i, j, x)
    local step = j // C
    return step >= start and (step - start) % period == 0 and x(i, j) - x(i, j % C) or x(i, j)
  end)
end

-- A condition on the tile decides in both tasks whether a second ring is used; `when_false` is the other way.
case("when_true and when_false", function()
  local t = describe "when"
  local wq = t.queue()
  local a, b = t.ring("a", P.tma_async { stages = 2 }), t.ring("b", P.tma_async { stages = 2 })
  local s = t.k:scalar { name = "s", dtype = "i32" }
  local function odd(tile) return weir.eq((tile.m + s) % 2, 1) end
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in weir.when_true(odd(tile)) do a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit() end
    for _ in weir.when_false(odd(tile)) do b:acquire(); b:tma_load(t.x:at(tile.m, j)); b:commit() end
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in weir.when_true(odd(tile)) do a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release() end
    for _ in weir.when_false(odd(tile)) do b:wait(); t.y:store(b:read():load() * -1, t.y:at(tile.m, j)); b:release() end
  end) }
  return t.k
end, function(i, j, x, _, _, args) return (i // R + args.s) % 2 == 1 and x(i, j) or -x(i, j) end, { args = function(_, _, n) return { s = n } end })

-- The two tasks compute one condition in different ways; the key says that they agree.
case("conditions with a key", function()
  local t = describe "key"
  local wq = t.queue()
  local a = t.ring("a", P.tma_async { stages = 2 })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in weir.when_true(weir.eq(tile.m % 2, 0), { key = "even" }) do a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit() end
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    for _ in weir.when_true(weir.eq(tile.m // 2 * 2, tile.m), { key = "even" }) do a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release() end
  end) }
  return t.k
end, function(i, j, x) return i // R % 2 == 0 and x(i, j) or UNTOUCHED end)

-- ---- clusters ---------------------------------------------------------------------------------------------------------------------

-- A task that only the second CTA of each cluster runs.
case("a task on one CTA", function()
  local t = describe("one_cta", { cluster = { m = 2 } })
  local wq = t.queue "grid"
  local a, extra = t.ring("a", P.tma_async { stages = 2 }), t.ring("extra", P.async_async { stages = 2 })
  t.k:task { name = "load", warps = { 4, 1 }, schedule = each(wq, t.steps, function(tile, j)
    a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = each(wq, t.steps, function(tile, j)
    a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release()
  end) }
  local z = t.k:gmem_tile { name = "z", tensor = t.k:tensor { name = "Z", dtype = "f32", shape = { t.H, t.W }, out = true }, tile = { R, C } }
  t.k:task { name = "fill2", warps = { 5, 1 }, cta = { m = 1 }, schedule = each(wq, t.steps, function(tile, j)
    extra:acquire(); extra:store(t.x:at(tile.m, j)); extra:commit()
  end) }
  t.k:task { name = "copy2", warps = { 6, 1 }, cta = { m = 1 }, schedule = each(wq, t.steps, function(tile, j)
    extra:wait(); z:store(extra:read(), z:at(tile.m, j)); extra:release()
  end) }
  return t.k
end, function(i, j, x, _, W, args)
  args.seen = args.seen or args.Z:get()
  local z = args.seen[i * W + j + 1]
  return z == (i // R % 2 == 1 and x(i, j) or UNTOUCHED) and x(i, j) or 0 / 0
end, { args = function(H, W) return { Z = dev:tensor { dtype = "f32", shape = { H, W } }:fill(UNTOUCHED) } end })

-- ---- between launches -------------------------------------------------------------------------------------------------------------

case("PDL wait and launch", function()
  local t = describe "pdl"
  local wq, a = t.queue(), t.ring("a", P.tma_async { stages = 2 })
  local before, after = t.k:pdl_wait { name = "before" }, t.k:pdl_launch { name = "after" }
  t.k:task { name = "load", warps = { 4, 1 }, schedule = function()
    before:wait_griddep()
    for tile in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, t.steps) do a:acquire(); a:tma_load(t.x:at(tile.m, j)); a:commit() end
      wq:next()
    end
    after:launch_griddep()
  end }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = function()
    before:wait_griddep()
    for tile in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, t.steps) do a:wait(); t.y:store(a:read(), t.y:at(tile.m, j)); a:release() end
      wq:next()
    end
  end }
  return t.k
end, same, { pdl = true })

tap.done()
