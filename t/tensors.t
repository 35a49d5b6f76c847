#!/usr/bin/env lua5.4
-- Tensors that several tasks access: a race is found, an order is seen, and what cannot be known is named. The simulator, which watches
-- every access, is asked the same.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- o: second = name of another axis, of extent `extent` or 2; raster; tasks = { function(t, c) }: bodies for each tile; lanes, or none; tiles = false: no work queue.
local function kernel(o)
  local k = weir.kernel { name = "shared", arch = "sm_90a", cluster = o.cluster }
  local N = k:dim("N", { min = 1 })
  local c = { N = N }
  c.X = k:tensor { name = "x", dtype = "f32", shape = { N, 256 } }
  c.Y = k:tensor { name = "y", dtype = "f32", shape = { N, 256 }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "i", o.second }, extent = { N, o.second and (o.extent or 2) }, raster = o.raster }
  c.x = k:gmem_tile { name = "x", tensor = c.X, tile = { 1, 128 } }
  c.y = k:gmem_tile { name = "y", tensor = c.Y, tile = { 1, 128 } }
  c.narrow = k:gmem_tile { name = "narrow", tensor = c.Y, tile = { 1, 64 } }
  c.ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 1, 128 }, pipeline = P[o.ring or "async_async"] { stages = 2 } }
  for i, body in ipairs(o.tasks) do
    k:task { name = "t" .. i, warps = { i * 4 - 4, o.ring and i == 1 and o.tasks[2] and 1 or 4 }, schedule = function()
      local lanes = o.lanes and { lane = i - 1, lanes = #o.tasks } or nil
      for t in weir.work_tile_loop(wq, lanes) do
        body(t, c)
        wq:next()
      end
    end }
  end
  return k
end

local dev = weir.device("sim", { seed = 3 })
local function runs(k)
  local p = k:build { device = dev, unsafe = true }
  local x, y = dev:tensor { dtype = "f32", shape = { 3, 256 } }:randn(1), dev:tensor { dtype = "f32", shape = { 3, 256 } }
  local ok, why = p:launch { x = x, y = y }
  return ok and "runs" or why:match "%[(sim%-%w+)%]" or why
end

-- want: SAFE or a rule; text: a part of the verdict or the finding, or false: nothing is trusted; sim: how a launch ends.
local function check(name, want, text, sim, o)
  local k = kernel(o)
  local report = k:verify()
  local seen = report.proof.verdict
  if seen == "UNSAFE" then seen = report.text:match "%[(PROVE%-%w+)%]" end
  if not tap.is(want, seen, name) then tap.diag(report.text) end
  if text then tap.like(text, want == "SAFE" and report.proof.text or report.text, name .. ": what is said")
  else tap.ok(not report.proof.text:find "trusting", name .. ": nothing is on trust") end
  if sim then tap.is(sim, runs(k), name .. ": the simulator") end
end

local function store(value, at) return function(t, c) c.y:store(value, c.y:at(t.i, at or 0)) end end
check("two tasks store to one place", "PROVE-RACE", "the store of 't2 warp 0' writes tensor 'y' at y:at(t.i, 0), which the store of 't1 warp 0' writes, too, in no order",
  "sim-race", { tasks = { store(1.0), store(2.0) } })
check("to two places", "SAFE", false, "runs", { tasks = { store(1.0), store(2.0, 1) } })
check("a part of the other's place", "PROVE-RACE", "narrow:at(t.i, 1)", "sim-race",
  { tasks = { store(1.0), function(t, c) c.narrow:store(2.0, c.narrow:at(t.i, 1)) end } })
check("a narrow place beside it", "SAFE", false, "runs", { tasks = { store(1.0), function(t, c) c.narrow:store(2.0, c.narrow:at(t.i, 2)) end } })
check("columns of the other's place", "PROVE-RACE", "y:from(t.i, 100)", "sim-race", { tasks = { store(1.0), function(t, c) c.y:store(2.0, c.y:from(t.i, 100)) end } })
check("from its end on", "SAFE", false, "runs", { tasks = { store(1.0), function(t, c) c.y:store(2.0, c.y:from(t.i, 128)) end } })
check("lanes of the tiles", "SAFE", false, "runs", { lanes = true, tasks = { store(1.0), store(2.0) } })
check("a load while the other stores", "PROVE-RACE", "reads tensor 'y' at y:at(t.i, 0)", "sim-race",
  { tasks = { store(1.0), function(t, c) c.y:store(c.y:at(t.i, 0):load() + 1, c.y:at(t.i, 1)) end } })
check("one behind the other, by a pipeline", "SAFE", false, "runs", { tasks = {
  function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.ring:acquire(); c.ring:store(3.0); c.ring:commit() end,
  function(t, c) c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end } })
check("the store behind the hand-over", "PROVE-RACE", "in no order", "sim-race", { tasks = {
  function(t, c) c.ring:acquire(); c.ring:store(3.0); c.ring:commit(); c.y:store(1.0, c.y:at(t.i, 0)) end,
  function(t, c) c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end } })
check("a bulk load of what the other stores", "PROVE-RACE", "the bulk load of 't1", nil, { ring = "tma_async", tasks = {
  function(t, c) c.ring:acquire(); c.ring:tma_load(c.y:at(t.i, 0)); c.ring:commit() end,
  function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 1)); c.ring:release() end } })
check("stored once it has been read", "SAFE", false, "runs", { ring = "tma_async", tasks = {
  function(t, c) c.ring:acquire(); c.ring:tma_load(c.y:at(t.i, 0)); c.ring:commit() end,
  function(t, c) c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end } })
-- what only the run knows
check("places by loop indices", "SAFE", "trusting that tasks keep apart in tensor 'y'", nil, { tasks = {
  function(t, c) for j in weir.domain_loop(0, 2) do c.y:store(1.0, c.y:at(t.i, j)) end end,
  function(t, c) for j in weir.domain_loop(0, 2) do c.y:store(2.0, c.y:at(t.i, 1 - j)) end end } })
check("places by loop indices, in two halves", "SAFE", false, "runs", { tasks = {
  function(t, c) for j in weir.domain_loop(0, 2) do c.narrow:store(1.0, c.narrow:at(t.i, 2 * j)) end end,
  function(t, c) for j in weir.domain_loop(0, 2) do c.narrow:store(2.0, c.narrow:at(t.i, 2 * j + 1)) end end } })
check("one place for all tiles", "SAFE", "trusting that tiles and CTAs keep apart in tensor 'y' (tensors.t:", nil, { tasks = { function(_, c) c.y:store(1.0, c.y:at(0, 0)) end } })
check("a coordinate left out", "SAFE", "trusting that tiles and CTAs keep apart", nil, { second = "j", tasks = { store(1.0) } })
check("both coordinates", "SAFE", false, "runs", { second = "j", tasks = { function(t, c) c.y:store(1.0, c.y:at(t.i, t.j)) end } })
check("both coordinates, steps shorter than the place", "SAFE", "trusting that tiles and CTAs keep apart", nil, { second = "j", tasks = { function(t, c) c.y:store(1.0, c.y:from(t.i, t.j * 64)) end } })
check("CTAs along k", "SAFE", "trusting that tiles and CTAs keep apart", nil, { cluster = { k = 2 }, tasks = { store(1.0) } })
check("an axis of 1", "SAFE", false, "runs", { second = "n", extent = 1, tasks = { store(1.0) } })
check("an axis of 1, two CTAs along it", "SAFE", "trusting that tiles and CTAs keep apart in tensor 'y' (tensors.t:", "sim-race",
  { second = "n", extent = 1, cluster = { n = 2 }, tasks = { store(1.0) } })
check("an axis of 1, two CTAs along it, with places of their own", "SAFE", false, nil,
  { second = "n", extent = 1, cluster = { n = 2 }, tasks = { function(t, c) c.y:store(1.0, c.y:at(t.i, t.n)) end } })
-- threads of one task
local function alone(name, want, text, sim, body, ring) check("one task: " .. name, want, text, sim, { ring = ring or "async_tma", tasks = { body } }) end
local function bulk(t, c, place)
  c.ring:acquire(); c.ring:store(1.0); c.ring:commit()
  c.ring:wait(); c.y:tma_store(c.ring:read(), place or c.y:at(t.i, 0)); c.ring:release()
end
alone("a store of what TMA stores", "PROVE-RACE", "the store of 't1' writes tensor 'y' at y:at(t.i, 0), which the bulk store of 't1' writes, too, in no order",
  "sim-race", function(t, c) bulk(t, c); c.y:store(2.0, c.y:at(t.i, 0)) end)
alone("a load of it", "PROVE-RACE", "the load of 't1' reads tensor 'y' at y:at(t.i, 0)", "sim-race", function(t, c) bulk(t, c); c.y:store(c.y:at(t.i, 0):load() + 1, c.y:at(t.i, 1)) end)
alone("another place", "SAFE", false, "runs", function(t, c) bulk(t, c); c.y:store(2.0, c.y:at(t.i, 1)) end)
alone("drained, which one thread knows", "PROVE-RACE", "drain the bulk store, and let all threads of the task meet", "sim-race",
  function(t, c) bulk(t, c); c.y:drain(); c.y:store(2.0, c.y:at(t.i, 0)) end)
alone("drained, and the threads have met", "SAFE", false, "runs", function(t, c)
  bulk(t, c); c.y:drain(); c.ring:acquire(); c.y:store(2.0, c.y:at(t.i, 0))
  c.ring:store(3.0); c.ring:commit(); c.ring:wait(); c.y:tma_store(c.ring:read(), c.y:at(t.i, 1)); c.ring:release()
end)
alone("two bulk stores to one place", "SAFE", "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:", nil, function(t, c) bulk(t, c); bulk(t, c) end)
alone("two bulk stores to one place, drained between", "SAFE", false, "runs", function(t, c) bulk(t, c); c.y:drain(); bulk(t, c) end)
alone("bulk stores to one place, step by step", "SAFE", "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:", nil,
  function(t, c) for _ in weir.domain_loop(c.N) do bulk(t, c) end end)
alone("bulk stores, step by step", "SAFE", false, "runs", function(t, c) for j in weir.domain_loop(0, 2) do bulk(t, c, c.y:at(t.i, j)) end end)
alone("bulk stores of three turns", "SAFE", "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:", nil,
  function(t, c) bulk(t, c); for j in weir.domain_loop(c.N) do bulk(t, c, c.y:at(t.i, j)) end end)
alone("each thread its share, in place", "SAFE", false, "runs", function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.y:store(c.x:at(t.i, 0):load(), c.y:at(t.i, 0)) end, "async_async")
alone("each thread loads what it stores", "SAFE", false, "runs", function(t, c) c.y:store(c.y:at(t.i, 0):load() + 1, c.y:at(t.i, 0)) end, "async_async")
alone("shares that are shifted", "SAFE", "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:", "sim-race", function(t, c)
  c.y:store(1.0, c.y:at(t.i, 0)); c.y:store(c.y:from(t.i, 1):load() + 2, c.y:at(t.i, 1)) end, "async_async")
alone("shares that are shifted, and the threads have met", "SAFE", false, "runs", function(t, c)
  c.y:store(1.0, c.y:at(t.i, 0)); c.ring:acquire(); c.ring:store(c.y:from(t.i, 1):load() + 2); c.ring:commit()
  c.ring:wait(); c.y:tma_store(c.ring:read(), c.y:at(t.i, 1)); c.ring:release() end)
-- the one thread that waits for its bulk store is in a warp whose lane releases the stage behind __syncwarp
local function lent(drain)
  local k = weir.kernel { name = "lent", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "f32", shape = { N, 64 } }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { N, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, 64) } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2 } }
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 2 }, storage = s }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do s:acquire(); s:tma_load(x:at(t.i, 0)); s:commit(); wq:next() end
  end }
  k:task { name = "save", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      s:wait(); o:acquire(); o:store(s:read():load()); o:commit()
      o:wait(); y:tma_store(o:read(), y:at(t.i, 0)); o:release()
      if drain then y:drain() end
      s:release(); wq:next()
    end
  end }
  return k:verify()
end
tap.is("SAFE", lent(true).proof.verdict, "a stage under a TMA ring, released behind the drain")
tap.like("[PROVE-RACE]", lent(false).text, "released without it")
-- rasters of one's own
check("a raster that reaches every tile once", "SAFE", "trusting the raster of 'wq' to reach every tile once", "runs", { raster = function(i, n) return n - 1 - i end, tasks = { store(1.0) } })
local function twice(name, text, o)
  o.tasks = { function(t, c) c.y:store(c.y:at(t.i, 0):load() + 1, c.y:at(t.i, 0)) end }
  local report = kernel(o):verify()
  tap.like(text, report.text, name)
  tap.like("[V-WQ-11]", report.text, name .. ": the rule")
end
twice("two numbers, one tile", "the raster of 'wq' gives i = 0 and i = 1 one tile, i = 0, with N = ", { raster = function(i) return i // 2 end })
twice("all numbers, one tile", "the raster of 'wq' gives i = 0 and i = 1 one tile, i = 0, with N = ", { raster = function(i) return i * 0 end })
twice("a number beyond", "the raster of 'wq' gives i = 255 the tile i = 256, but there are 256 along i, with N = 256", { raster = function(i) return i + 1 end })
twice("an axis of two that is left out", "one tile, i = 0, j = 1, with N = ", { second = "j", raster = function(i, n) return i % n, 1 end })
tap.is("SAFE", kernel { second = "j", raster = function(i, n) return i % n, i // n end, tasks = { function(t, c) c.y:store(1.0, c.y:at(t.i, t.j)) end } }:verify().proof.verdict, "column by column")
do
  local k = weir.kernel { name = "fixed", arch = "sm_90a" }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { 16, 64 }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { 16 }, raster = function(i) return i * 3 % 16 end }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() for t in weir.work_tile_loop(wq) do y:store(1.0, y:at(t.i, 0)); wq:next() end end }
  tap.ok(not k:verify().proof.text:find "trusting", "a raster of one size, which is run: nothing is on trust")
end
do
  local k = weir.kernel { name = "large", arch = "sm_90a" }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { 70000, 64 }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { 70000 }, raster = function(i) return 69999 - i end }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() for t in weir.work_tile_loop(wq) do y:store(1.0, y:at(t.i, 0)); wq:next() end end }
  tap.like("trusting the raster of 'wq' to reach every tile once", k:verify().proof.text, "a raster of one size, too large to be run: on trust")
end

-- The number of a tile that a raster is given, kept: it is of a tile, and of that queue.
local function kept(how)
  local k = weir.kernel { name = "kept", arch = "sm_90a" }
  local y = k:tensor { name = "y", dtype = "i32", shape = { 16, 4 }, out = true }
  local number
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { 16 }, raster = function(i) number = i * 3 return number % 16 end }
  local place = k:gmem_tile { name = "y", tensor = y, tile = { 1, 1 } }
  if how == "other" then k:work_queue { name = "other", axes = { "i" }, extent = { 16 }, raster = function() return number end } end
  k:task { name = "t", warps = { 0, 1 }, schedule = function()
    if how == "before" then for j in weir.domain_loop(0, number) do place:store(1, place:at(j, 0)) end end
    for t in weir.work_tile_loop(wq) do
      for j in weir.domain_loop(0, number % 5) do place:store(7, place:at(t.i, j)) end
      wq:next()
    end
  end }
  return k
end
do
  local k = kept()
  tap.is("SAFE", k:verify().proof.verdict, "a loop as long as the tile's number says")
  local p, y = k:build { device = dev }, dev:tensor { dtype = "i32", shape = { 16, 4 } }:fill(0)
  tap.ok(p:launch { y = y }, "... runs")
  local want = {}
  for i = 0, 15 do for j = 0, 3 do want[i * 3 % 16 * 4 + j + 1] = j < i * 3 % 5 and 7 or 0 end end
  tap.is(want, y:get(), "... and stores as much")
end
tap.like("domain_loop: stop: i * 3 is a coordinate of a tile of 'wq', and no work-tile loop over it is open [VAL-SCOPE]",
  kept "before":verify().text, "the tile's number before the loop over tiles")
tap.like("work_queue 'other': coordinate 'i' of the raster cannot be computed from the tile's number [M-QUEUE]", kept "other":verify().text, "another queue's number")
tap.done()
