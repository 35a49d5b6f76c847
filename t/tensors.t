#!/usr/bin/env lua5.4
-- Tensors that several tasks access: a race is found, an order is seen, and what cannot be known is named. The simulator, which watches
-- every access, is asked the same.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- o: second = name of another axis, of extent `extent` or 2; raster; tasks = { function(t, c) }: bodies for each tile; lanes, or none; after = { function(c) }: what
-- each does behind its tiles; cta = { ... }: where each runs; warps: of each; tiles = false: no work queue; also(k, c): further tiles.
local function kernel(o)
  local k = weir.kernel { name = "shared", arch = "sm_90a", cluster = o.cluster }
  local N = k:dim("N", { min = 1 })
  local c = { N = N }
  c.k = k
  c.X = k:tensor { name = "x", dtype = "f32", shape = { N, 256 } }
  c.Y = k:tensor { name = "y", dtype = "f32", shape = { N, 256 }, out = true }
  local wq = o.tiles ~= false and k:work_queue { name = "wq", axes = { "i", o.second }, extent = { N, o.second and (o.extent or 2) }, raster = o.raster }
  c.wq = wq
  c.x = k:gmem_tile { name = "x", tensor = c.X, tile = { 1, 128 } }
  c.y = k:gmem_tile { name = "y", tensor = c.Y, tile = { 1, 128 } }
  c.narrow = k:gmem_tile { name = "narrow", tensor = c.Y, tile = { 1, 64 } }
  c.wide = k:gmem_tile { name = "wide", tensor = c.Y, tile = { 1, 256 } }
  c.ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 1, 128 }, pipeline = P[o.ring or "async_async"] { stages = 2 } }
  if o.also then o.also(k, c) end
  for i, body in ipairs(o.tasks) do
    k:task { name = "t" .. i, cta = o.cta and o.cta[i], warps = { i * 4 - 4, o.warps and o.warps[i] or o.ring and i == 1 and o.tasks[2] and 1 or 4 }, schedule = function()
      if not wq then return body(nil, c) end
      local lanes = o.lanes and { lane = i - 1, lanes = #o.tasks } or nil
      for t in weir.work_tile_loop(wq, lanes) do
        body(t, c)
        wq:next()
      end
      if o.after and o.after[i] then o.after[i](c) end
    end }
  end
  return k
end

local dev = weir.device("sim", { seed = 3 })
local function runs(k, shape)
  local p = k:build { device = dev, unsafe = true }
  local x, y = dev:tensor { dtype = "f32", shape = { 3, 256 } }:randn(1), dev:tensor { dtype = "f32", shape = { 3, 256 } }
  local ok, why = p:launch { x = x, y = y, Y = shape and dev:tensor { dtype = "f32", shape = shape } or nil }
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
  if sim then tap.is(sim, runs(k, o.Y), name .. ": the simulator") end
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
-- a line that another's number begins with
do
  local far, near = load(("\n"):rep(11) .. "return function(c) c.y:store(1.0, c.y:at(0, 0)) end", "@place.lua")(), load("return function(c) c.y:store(2.0, c.y:at(0, 0)) end", "@place.lua")()
  check("lines 12 and 1", "SAFE", "trusting that tiles and CTAs keep apart in tensor 'y' (place.lua:12, place.lua:1)", nil, { tasks = { function(_, c) far(c); near(c); far(c) end } })
end
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
alone("one column of what is loaded, beside all of it", "SAFE", "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:", "sim-race",
  function(t, c) c.y:store(c.y:at(t.i, 0):load() + c.y:at(t.i, 0):load():cols(3, 1), c.y:at(t.i, 0)) end, "async_async")
alone("shares that are shifted", "PROVE-RACE", "the load of 't1 warp 0' reads tensor 'y' at y:from(t.i, 1), which the store of 't1 warp 0' writes in no order", "sim-race", function(t, c)
  c.y:store(1.0, c.y:at(t.i, 0)); c.y:store(c.y:from(t.i, 1):load() + 2, c.y:at(t.i, 1)) end, "async_async")
alone("shares that are shifted, and the threads have met", "SAFE", false, "runs", function(t, c)
  c.y:store(1.0, c.y:at(t.i, 0)); c.ring:acquire(); c.ring:store(c.y:from(t.i, 1):load() + 2); c.ring:commit()
  c.ring:wait(); c.y:tma_store(c.ring:read(), c.y:at(t.i, 1)); c.ring:release() end)
-- ---- a load is made where its tile is used --------------------------------------------------------------------------------------------------
local function handed(before, behind)
  return { tasks = {
    function(t, c) local v = before(t, c); c.ring:acquire(); c.ring:store(3.0); c.ring:commit(); if behind then behind(t, c, v) end end,
    function(t, c) c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end } }
end
local function from_y(t, c) return c.y:at(t.i, 0):load() end
check("a tile is loaded and used, then handed over", "SAFE", false, "runs", handed(function(t, c) c.y:store(from_y(t, c), c.y:at(t.i, 1)) end))
check("loaded, handed over, and used", "PROVE-RACE", "which the load of 't1 warp 0' reads in no order", "sim-race", handed(from_y, function(t, c, v) c.y:store(v, c.y:at(t.i, 1)) end))
check("... as a part of a sum", "PROVE-RACE", "which the load of 't1 warp 0' reads in no order", "sim-race",
  handed(from_y, function(t, c, v) c.y:store(c.x:at(t.i, 0):load() + v * 2, c.y:at(t.i, 1)) end))
check("... and used in the stage behind the hand-over", "PROVE-RACE", "which the load of 't1 warp 0' reads in no order", nil, { tasks = {
  function(t, c) local v = from_y(t, c); for _ = 1, 2 do c.ring:acquire(); c.ring:store(v); c.ring:commit() end end,
  function(t, c) c.ring:wait(); c.y:store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release(); c.ring:wait(); c.ring:release() end } })
check("one element, loaded where that is written", "SAFE", false, "runs", { also = function(k, c) c.one = k:gmem_tile { name = "one", tensor = c.Y, tile = { 1, 1 } } end,
  tasks = handed(function(t, c) return c.one:at(t.i, 0):load() end, function(t, c, v) c.y:store(v, c.y:at(t.i, 1)) end).tasks })
check("one element, loaded by all and stored by one", "SAFE", "trusting that the accesses of one task keep apart", "sim-race", {
  also = function(k, c) c.one = k:gmem_tile { name = "one", tensor = c.Y, tile = { 1, 1 } } end,
  tasks = { function(t, c) c.one:store(c.one:at(t.i, 0):load() + 1, c.one:at(t.i, 0)) end } })
-- ---- shares of threads ----------------------------------------------------------------------------------------------------------------------
local KEPT = "trusting that the accesses of one task keep apart in tensor 'y' (tensors.t:"
alone("two stores, the one up to a limit", "SAFE", KEPT, "sim-race", function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.y:store(2.0, c.y:at(t.i, 0):limit(c.N + 99)) end, "async_async")
alone("two stores from where the launch says", "SAFE", false, "runs", function(t, c) c.y:store(1.0, c.y:from(t.i, c.N)); c.y:store(2.0, c.y:from(t.i, c.N)) end, "async_async")
alone("two stores up to a limit", "SAFE", KEPT, "runs", function(t, c) for n = 1, 2 do c.y:store(n, c.y:at(t.i, 0):limit(c.N + 99)) end end, "async_async")
alone("... the one of a tile", "PROVE-RACE", "the store of 't1 warp 0' writes tensor 'y' at y:at(t.i, 0), which the store of 't1 warp 0' writes, too, in no order", "sim-race", function(t, c) c.y:store(1.0, c.y:from(t.i, 0)); c.y:store(2.0, c.y:at(t.i, 0)) end, "async_async")
alone("through another tile, each thread the same elements", "SAFE", false, "runs", function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.wide:store(2.0, c.wide:at(t.i, 0)) end, "async_async")
check("one task: through a tile of the same shape", "SAFE", false, "runs", { tasks = { function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); c.like:store(2.0, c.like:at(t.i, 0)) end },
  also = function(k, c) c.like = k:gmem_tile { name = "like", tensor = c.Y, tile = { 1, 128 } } end })
alone("from where the launch says, and at 0", "SAFE", KEPT, "runs", function(t, c) c.narrow:store(1.0, c.narrow:at(t.i, 0)); c.narrow:store(2.0, c.narrow:from(t.i, c.N * 64)) end, "async_async")
alone("at 0, and by an index", "SAFE", KEPT, "sim-race", function(t, c) c.y:store(1.0, c.y:from(t.i, 0)); for j in weir.domain_loop(0, 2) do c.y:store(2.0, c.y:at(t.i, j)) end end, "async_async")
alone("halves of a place", "SAFE", false, "runs", function(t, c) c.y:store(1.0, c.y:at(t.i, 0):cols(0, 64)); c.y:store(2.0, c.y:at(t.i, 0):cols(64, 64)) end, "async_async")
alone("half of a place, and all of it", "PROVE-RACE", "writes, too, in no order", "sim-race", function(t, c) c.y:store(1.0, c.y:at(t.i, 0):cols(0, 62)); c.y:store(2.0, c.y:at(t.i, 0)) end, "async_async")
alone("elements of a place, as a loop has them", "SAFE", false, "runs", function(t, c) for j in weir.domain_loop(0, 128) do c.y:store(1.0, c.y:at(t.i, 0):sub(j)) end end, "async_async")
alone("... and the place", "SAFE", KEPT, "sim-race", function(t, c)
  for j in weir.domain_loop(0, 128) do c.y:store(1.0, c.y:at(t.i, 0):sub(j)) end
  c.y:store(2.0, c.y:at(t.i, 0)) end, "async_async")
alone("an element beside another", "SAFE", false, "runs", function(t, c) c.y:store(1.0, c.y:at(t.i, 0):sub(5)); c.y:store(2.0, c.y:at(t.i, 0):sub(6)) end, "async_async")
local function turned(name, want, text, sim, body)
  local k = weir.kernel { name = "turned", arch = "sm_90a" }
  local N = k:dim("N", { min = 1 })
  local Y = k:tensor { name = "y", dtype = "f32", shape = { N, 64 }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, 64) } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() for t in weir.work_tile_loop(wq) do body(y, t, k, Y); wq:next() end end }
  local proof = k:verify().proof
  tap.is(want, proof.verdict, name)
  if text then tap.like(text, proof.text, name .. ": what is said") else tap.ok(not proof.text:find "trusting", name .. ": nothing is on trust") end
  local ok, why = k:build { device = dev }:launch { y = dev:tensor { dtype = "f32", shape = { 128, 64 } }:randn(1) }
  if sim then tap.is(sim, ok and "runs" or why:match "%[(sim%-%w+)%]", name .. ": the simulator") end
end
turned("a tile on itself", "SAFE", false, "runs", function(y, t) y:store(y:at(t.i, 0):load() + 1, y:at(t.i, 0)) end)
turned("a row of it added to all", "SAFE", KEPT, "sim-race", function(y, t, k, Y)
  local row = k:gmem_tile { name = "row", tensor = Y, tile = { 1, 64 } }
  y:store(y:at(t.i, 0):load() + row:at(t.i * 64, 0):load(), y:at(t.i, 0)) end)
turned("a column of it added to all", "SAFE", KEPT, "sim-race", function(y, t, k, Y)
  local col = k:gmem_tile { name = "col", tensor = Y, tile = { 64, 1 } }
  y:store(y:at(t.i, 0):load() + col:at(t.i, 0):load(), y:at(t.i, 0)) end)
turned("a tile turned over on itself", "SAFE", KEPT, "sim-race", function(y, t) y:store(y:at(t.i, 0):t():load(), y:at(t.i, 0)) end)
turned("a tile turned over, to itself turned over", "SAFE", false, "runs", function(y, t) y:store(y:at(t.i, 0):t():load(), y:at(t.i, 0):t()) end)
turned("columns of it turned over", "SAFE", KEPT, nil, function(y, t) y:store(y:at(t.i, 0):t():cols(0, 32):load(), y:at(t.i, 0):cols(0, 32)) end)
turned("rows of a tile, on themselves", "SAFE", false, "runs", function(y, t) y:store(y:at(t.i, 0):rows(8, 8):load() + 1, y:at(t.i, 0):rows(8, 8)) end)
turned("rows of a tile, on the next ones", "SAFE", false, "runs", function(y, t) y:store(y:at(t.i, 0):rows(8, 8):load() + 1, y:at(t.i, 0):rows(16, 8)) end)
turned("a slab of a tile, on another", "SAFE", KEPT, nil, function(y, t) for j in weir.domain_loop(0, 32) do y:store(y:at(t.i, 0):sub(63 - j):load(), y:at(t.i, 0):sub(j)) end end)
-- Bulk stores in loops: is it another place each time?
local function steps(name, want, place, loops)
  alone("bulk stores, " .. name, "SAFE", want == nil and KEPT or want, nil, function(t, c)
    local function within(n, ...)
      if n > #loops then return bulk(t, c, c.y:at(t.i, place(c, ...))) end
      for j in weir.domain_loop(table.unpack(loops[n])) do within(n + 1, j, ...) end
    end
    within(1)
  end)
end
steps("two loops, one place for each pair", false, function(_, j, i) return 4 * i + j end, { { 0, 2 }, { 0, 4 } })
steps("... the inner one longer", nil, function(_, j, i) return 4 * i + j end, { { 0, 2 }, { 0, 5 } })
steps("... counted down", false, function(_, j, i) return -4 * i - j end, { { 0, 2 }, { 0, 4 } })
steps("... in steps of two", false, function(_, j, i) return i + j end, { { 0, 8, 4 }, { 0, 4 } })
steps("two loops, the place of the outer one", nil, function(_, _, i) return i end, { { 0, 2 }, { 0, 2 } })
steps("the sum of two indices", nil, function(_, j, i) return i + j end, { { 0, 2 }, { 0, 2 } })
steps("half an index", nil, function(_, i) return i // 2 end, { { 0, 4 } })
steps("an index over and over", nil, function(_, i) return i % 2 end, { { 0, 4 } })
steps("an index and no further", nil, function(_, i) return weir.min(i, 1) end, { { 0, 4 } })
steps("a length before it", false, function(c, i) return c.N + i end, { { 0, 4 } })
alone("bulk stores, by a step that the launch gives", "SAFE", KEPT, nil, function(t, c) for j in weir.domain_loop(0, 4, c.N) do bulk(t, c, c.y:at(t.i, j)) end end)
do
  local numbers = { ring = "async_tma", also = function(k, c) c.t = k:gmem_tile { name = "t", tensor = k:tensor { name = "t", dtype = "i32", shape = { c.N, 4 } }, tile = { 1, 1 } } end,
    tasks = { function(t, c) for j in weir.domain_loop(0, 4) do bulk(t, c, c.y:at(t.i, c.t:at(t.i, j):load())) end end } }
  check("one task: bulk stores, where numbers say", "SAFE", KEPT, nil, numbers)
end
alone("bulk stores, the inner loop as long as the launch says", "SAFE", KEPT, nil, function(t, c)
  for i in weir.domain_loop(0, 2) do for j in weir.domain_loop(0, c.N) do bulk(t, c, c.y:at(t.i, 4 * i + j)) end end end)
alone("bulk stores, in steps past what is looked at", "SAFE", KEPT, nil, function(t, c) for j in weir.domain_loop(0, 2) do bulk(t, c, c.y:at(t.i, j * (1 << 26))) end end)
-- A task whose bulk copies one thread issues, in warps; loads of its own by TMA and by cp.async.
local function warps(name, want, text, sim, body, also, n)
  check((n or 2) .. " warps: " .. name, want, text, sim, { ring = "async_tma", warps = { n or 2 }, tasks = { body }, also = also })
end
warps("a store of what TMA stores", "PROVE-RACE", "which the bulk store of 't1 warp 0' writes, too, in no order", "sim-race", function(t, c) bulk(t, c); c.y:store(2.0, c.y:at(t.i, 0)) end)
warps("TMA stores over what threads store", "PROVE-RACE", "the bulk store of 't1 warp 0' writes tensor 'y' at y:at(t.i, 0), which the store of 't1 warp 0' writes, too, in no order", nil,
  function(t, c) c.ring:acquire(); c.ring:store(1.0); c.ring:commit(); c.ring:wait(); c.y:store(2.0, c.y:at(t.i, 0)); c.y:tma_store(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end)
local function second(op)
  return function(k, c) c.s = k:smem_tile { name = "s", dtype = "f32", tile = { 1, 128 }, pipeline = op == "tma" and P.tma_async { stages = 1 } or P.async_async { stages = 1, producer_op = "load" } } end
end
local function bring(t, c, how) c.s:acquire(); c.s[how](c.s, c.y:at(t.i, 0)); c.s:commit(); c.s:wait(); c.s:read(); c.s:release() end
for how, name in pairs { tma_load = "bulk load", cp_async = "cp.async" } do
  local tma = how == "tma_load" -- which one thread issues
  local also, n = second(tma and "tma" or "cp"), tma and 1 or 2
  warps("a " .. name .. " of what TMA stores", "PROVE-RACE", "the " .. name .. " of 't1", nil, function(t, c) bulk(t, c); bring(t, c, how) end, also, n)
  warps("... drained before", tma and "SAFE" or "PROVE-RACE", not tma and "the cp.async of 't1 warp 1'", nil, function(t, c) bulk(t, c); c.y:drain(); bring(t, c, how) end, also, n)
  warps("a " .. name .. " of what threads store", tma and "SAFE" or "PROVE-RACE", tma and "a body's fence.proxy.async.global" or "let the threads of the task meet (in a pipeline move) between the two", nil, function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); bring(t, c, how) end, also, n)
end
-- Warpgroups: each has its rows, of registers as of bulk stores.
local function groups(name, want, text, body, sim, o)
  check("two warpgroups: " .. name, want, text, sim, { ring = "async_tma", warps = { 8 }, Y = { 384, 64 }, tasks = { body }, also = function(k, c)
    local Y = k:tensor { name = "Y", dtype = "f32", shape = { k:dim "M", 64 }, out = true }
    c.big = k:gmem_tile { name = "big", tensor = Y, tile = { 128, 64 } }
    c.r = k:reg_tile { name = "r", dtype = "f32", tile = { 128, 64 } }
    c.o = k:smem_tile { name = "o", dtype = "f32", tile = { 128, 64 }, pipeline = P.async_tma { stages = 1 } }
    c.w = o and o.split and k:wgmma_tile { name = "w", tile = { 128, 64 }, split = o.split }
    c.put = function(t) c.o:acquire(); c.o:store(c.r:read()); c.o:commit(); c.o:wait(); c.big:tma_store(c.o:read(), c.big:at(t.i, 0)); c.o:release() end
  end })
end
groups("a bulk store and a store of registers", "PROVE-RACE", "the store of 't1 warpgroup 0' writes tensor 'Y'", function(t, c) c.r:zero(); c.put(t); c.big:store(c.r:read(), c.big:at(t.i, 0)) end)
groups("... drained, and the threads of each have met", "SAFE", "trusting a body's fence", function(t, c) c.r:zero(); c.big:store(c.r:read(), c.big:at(t.i, 0)); c.put(t) end)
local function both(t, c, place) c.r:zero(); if c.w then c.w:zero() end c.big:store(c.r:read(), c.big:at(t.i, 0)); c.big:store(c.r:read() + 1, place or c.big:at(t.i, 0)) end
groups("two stores of registers", "SAFE", false, both, "runs")
groups("... eight rows on: their quads have both, but for a warp's last rows", "PROVE-RACE", "the store of 't1 warpgroup 0' writes tensor 'Y' at big:from(t.i * 128 + 8, 0), which the store of 't1 warpgroup 0' writes",
  function(t, c) both(t, c, c.big:from(t.i * 128 + 8, 0)) end, "sim-race")
groups("... 64 rows on: the other warpgroup's", "PROVE-RACE", "the store of 't1 warpgroup 1' writes tensor 'Y' at big:at(t.i, 0), which the store of 't1 warpgroup 0' writes",
  function(t, c) both(t, c, c.big:from(t.i * 128 + 64, 0)) end, "sim-race")
groups("... 32 rows on: another warp's", "PROVE-RACE", "the store of 't1 warpgroup 0' writes tensor 'Y' at big:from(t.i * 128 + 32, 0), which the store of 't1 warpgroup 0' writes",
  function(t, c) both(t, c, c.big:from(t.i * 128 + 32, 0)) end, "sim-race")
groups("... eight columns on: the same threads'", "SAFE", false, function(t, c) both(t, c, c.big:from(t.i * 128, 8)) end, "runs")
groups("... two columns on", "PROVE-RACE", "in no order", function(t, c) both(t, c, c.big:from(t.i * 128, 2)) end, "sim-race")
groups("... of columns that the warpgroups share: 32 on", "PROVE-RACE", "the store of 't1 warpgroup 1' writes tensor 'Y' at big:at(t.i, 0), which the store of 't1 warpgroup 0' writes", function(t, c) both(t, c, c.big:from(t.i * 128, 32)) end, "sim-race", { split = "n" })
groups("... and all of them", "SAFE", false, both, "runs", { split = "n" })
groups("registers on themselves", "SAFE", false, function(t, c) c.r:zero(); c.big:store(c.r:read() + c.big:at(t.i, 0):load(), c.big:at(t.i, 0)) end)
groups("a store in order beside one of registers", "PROVE-RACE", "in no order", function(t, c) c.r:zero(); c.big:store(1.0, c.big:at(t.i, 0)); c.big:store(c.r:read(), c.big:at(t.i, 0)) end, "sim-race")
-- Sums that TMA adds commute with each other, and with nothing else.
local function add(t, c) c.ring:acquire(); c.ring:store(1.0); c.ring:commit(); c.ring:wait(); c.y:tma_reduce_add(c.ring:read(), c.y:at(t.i, 0)); c.ring:release() end
alone("sums at one place", "SAFE", false, "runs", function(t, c) add(t, c); add(t, c) end)
alone("a sum and a store", "PROVE-RACE", "which the sum of 't1' writes, too, in no order", nil, function(t, c) add(t, c); c.y:store(2.0, c.y:at(t.i, 0)) end)
alone("a sum over a bulk store", "SAFE", KEPT, nil, function(t, c) bulk(t, c); add(t, c) end)
-- Warps that take the iterations in turn are as good as tasks.
local function turns(place)
  return { also = function(k, c) c.deal = k:smem_tile { name = "deal", dtype = "f32", tile = { 1, 128 }, pipeline = P.async_async { stages = 4, interleave = { 1, 1, 2, 2 } } } end,
    warps = { 1, 2 }, tasks = {
      function(_, c) for _ in weir.domain_loop(0, 4) do c.deal:acquire(); c.deal:store(1.0); c.deal:commit() end end,
      function(t, c) for j in weir.domain_loop(0, 4) do c.deal:wait(); c.y:store(c.deal:read(), place(t, c, j)); c.deal:release() end end } }
end
check("warps in turn store to one place", "PROVE-RACE", "the store of 't2 warp 1' writes tensor 'y' at y:at(t.i, 0), which the store of 't2 warp 0' writes, too, in no order", "sim-race",
  turns(function(t, c) return c.y:at(t.i, 0) end))
check("warps in turn, each to its own", "SAFE", false, nil, turns(function(t, c, j) return c.y:at(t.i, j) end))
check("warps in turn, each from its own to the next", "SAFE", KEPT, nil, { also = turns().also, warps = { 1, 2 }, tasks = { turns().tasks[1],
  function(t, c) for j in weir.domain_loop(0, 4) do c.deal:wait(); c.y:store(c.y:at(t.i, j):load() + 1, c.y:at(t.i, j + 1)); c.deal:release() end end } })
-- ---- CTAs -----------------------------------------------------------------------------------------------------------------------------------
local APART = "trusting that tiles and CTAs keep apart in tensor 'y' (tensors.t:"
local function ctas(name, want, sim, x, y, o)
  o = o or {}
  check("CTAs: " .. name, "SAFE", want, sim, { cluster = o.cluster or { k = 2 }, second = o.second, extent = o.extent, cta = o.cta or { { k = 0 }, { k = 1 } },
    tasks = { function(t, c) c.y:store(1.0, x(t, c)) end, y and function(t, c) c.y:store(2.0, y(t, c)) end } })
end
local function there(n) return function(t, c) return c.y:at(t.i, n) end end
ctas("two tasks on two of them store to one place", APART, "sim-race", there(0), there(0))
ctas("... to two", false, "runs", there(0), there(1))
ctas("... to one that the rank moves apart", APART, "runs", function(t, c) return c.y:at(t.i, c.k.cta.k) end, function(t, c) return c.y:at(t.i, c.k.cta.k) end)
ctas("... to one that the rank moves together", APART, "sim-race", function(t, c) return c.y:at(t.i, c.k.cta.k + 1) end, function(t, c) return c.y:at(t.i, c.k.cta.k) end)
ctas("... to halves, as the rank says", false, nil, function(t, c) return c.y:at(t.i, 2 * c.k.cta.k) end, function(t, c) return c.y:at(t.i, 2 * c.k.cta.k + 1) end)
ctas("one task on one of them", false, "runs", there(0), nil, { cta = { { k = 1 } } })
ctas("the other on all of them", APART, "sim-race", there(0), there(1), { cta = { { k = 1 } } })
ctas("pinned along another axis", APART, "sim-race", there(0), nil, { cluster = { n = 2, k = 2 }, second = "n", cta = { { n = 0 } } })
check("a place behind the tiles, which all CTAs store to", "SAFE", APART, "sim-race", { tasks = { function() end }, after = { function(c) c.y:store(1.0, c.y:at(0, 0)) end } })
check("... and another task in a tile", "SAFE", "trusting that tasks keep apart in tensor 'y' (tensors.t:", nil,
  { tasks = { store(1.0), function() end }, after = { nil, function(c) c.y:store(1.0, c.y:at(0, 0)) end } })
check("two tasks behind the tiles", "PROVE-RACE", "in no order", "sim-race",
  { tasks = { function() end, function() end }, after = { function(c) c.y:store(1.0, c.y:at(0, 0)) end, function(c) c.y:store(2.0, c.y:at(0, 0)) end } })
check("no work queue", "SAFE", APART, "sim-race", { tiles = false, tasks = { function(_, c) c.y:store(1.0, c.y:at(0, 0)) end } })
-- quotient and remainder of a coordinate
local function digits(name, text, x, y)
  check("quotient and remainder: " .. name, "SAFE", text, nil, { tasks = {
    function(t, c) x(t, c); c.ring:acquire(); c.ring:store(3.0); c.ring:commit() end,
    function(t, c) c.ring:wait(); y(t, c); c.ring:release() end } })
end
local function q_r(t, c) c.y:store(1.0, c.y:at(t.i // 2, t.i % 2)) end
digits("in both tasks", false, q_r, q_r)
digits("of tiles of two widths", APART, q_r, function(t, c) c.narrow:store(1.0, c.narrow:at(t.i // 2, t.i % 2)) end)
digits("the next place in the other", APART, q_r, function(t, c) c.y:store(1.0, c.y:at(t.i // 2, t.i % 2 + 1)) end)
digits("by two numbers", APART, q_r, function(t, c) c.y:store(1.0, c.y:at(t.i // 3, t.i % 3)) end)
digits("by two numbers in one", APART, function(t, c) c.y:store(1.0, c.y:at(t.i // 3, t.i % 2)) end, function(t, c) c.y:store(1.0, c.y:at(t.i // 3, t.i % 2)) end)
check("quotient and remainder of one of two axes", "SAFE", APART, nil, { second = "j", tasks = { q_r } })
digits("the quotient alone", APART, function(t, c) c.y:store(1.0, c.y:at(t.i // 2, 0)) end, function(t, c) c.y:store(1.0, c.y:at(t.i // 2, 0)) end)
digits("in steps shorter than the place", APART, function(t, c) c.y:store(1.0, c.y:from(t.i // 2, t.i % 2)) end, function(t, c) c.y:store(1.0, c.y:from(t.i // 2, t.i % 2)) end)
check("quotient and remainder of a dim", "SAFE", APART, "sim-race", { tasks = { function(_, c) c.y:store(1.0, c.y:at(c.N // 2, c.N % 2)) end } })
for text, rows in pairs { [APART] = { 0, 1 }, [false] = { 1 } } do -- row 1 is row 0 of the next tile but one
  check("quotient and remainder: one of two rows, " .. table.concat(rows, " and "), "SAFE", text, nil, { also = function(k, c) c.two = k:gmem_tile { name = "two", tensor = c.Y, tile = { 2, 1 } } end,
    tasks = { function(t, c) for _, row in ipairs(rows) do c.two:store(1.0, c.two:from(t.i // 2, t.i % 2):rows(row, 1)) end end } })
end
digits("the coordinate and its remainder", false, function(t, c) c.y:store(1.0, c.y:at(t.i, t.i % 2)) end, function(t, c) c.y:store(1.0, c.y:at(t.i, t.i % 2)) end)
-- tiles that a task had before: a place is of the tile that its coordinates are of
local function late(f) return function(_, c) for b in weir.previous_tile(c.wq) do f(b, c) end end end
local function last(f) return function(c) for b in weir.last_tile(c.wq) do f(b, c) end end end
local function there_of(b, c) c.y:store(1.0, c.y:at(b.i, 0)) end
check("stored a turn late, and behind the last", "SAFE", false, "runs", { tasks = { late(there_of) }, after = { last(there_of) } })
check("... and by another task in its turn", "PROVE-RACE", "in no order", "sim-race", { tasks = { late(there_of), store(2.0) }, after = { last(there_of) } })
local function from_second(f) return function(t, c) for _ in weir.previous_tile(c.wq) do f(t, c) end end end
check("... and by another task in its turn, but for the first", "PROVE-RACE", "in no order", nil, { tasks = { late(there_of), from_second(store(2.0)) } })
check("... beside places of many bits", "PROVE-RACE", "in no order", nil, { tasks = {
  late(function(b, c) for i = 9, 0, -1 do c.y:store(1.0, c.y:at(b.i, i)) end end), from_second(store(2.0)) } })
check("... and by another task behind the last", "PROVE-RACE", "in no order", "sim-race", { tasks = { late(there_of), function() end }, after = { last(there_of), last(there_of) } })
check("... and by another task at the next place", "SAFE", false, "runs", { tasks = { late(there_of), store(2.0, 1) }, after = { last(there_of) } })
check("... and at a place of two tiles", "SAFE", "trusting that tasks keep apart in tensor 'y' (tensors.t:", nil,
  { tasks = { function(t, c) for b in weir.previous_tile(c.wq) do c.y:store(1.0, c.y:at(t.i + b.i, 0)) end end, store(2.0) } })
check("a place of two tiles, in one task", "SAFE", "that tiles and CTAs keep apart in tensor 'y' (tensors.t:", nil, { tasks = { function(t, c) for b in weir.previous_tile(c.wq) do c.y:store(1.0, c.y:at(t.i + b.i, 0)) end end } })
check("lanes that store a turn late", "SAFE", "trusting that tasks keep apart in tensor 'y' (tensors.t:", nil, { lanes = true, tasks = { late(there_of), late(there_of) } })
check("quotient and remainder of the tile before", "SAFE", false, nil, { tasks = { late(q_r) }, after = { last(q_r) } })
-- what threads have stored, and TMA
check("one task: TMA stores over what threads stored, in order", "SAFE", "trusting a body's fence.proxy.async.global between the stores of threads and what TMA accesses in tensor 'y' (tensors.t:", nil,
  { ring = "async_tma", tasks = { function(t, c) c.y:store(1.0, c.y:at(t.i, 0)); bulk(t, c) end } })
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
-- A fork's members are one datum: loaded once, in one storage.
for _, own in ipairs { true, false } do
  local k = weir.kernel { name = "fork", arch = "sm_90a" }
  local T = k:dim "T"
  local function tensor(name, out) return k:gmem_tile { name = name, tensor = k:tensor { name = name:upper(), dtype = "f32", shape = { T * 64, 64 }, out = out }, tile = { 64, 64 } } end
  local x, y, z = tensor "x", tensor("y", true), tensor("z", true)
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { T } }
  local function tile(name, of) return k:smem_tile { name = name, dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2 }, storage = of } end
  local first = tile "first"
  local g = k:group { name = "g", mode = "fork", members = { first, tile("second", not own and first or nil) } }
  local function each(body) return function() for t in weir.work_tile_loop(wq) do body(t); wq:next() end end end
  k:task { name = "load", warps = { 8, 1 }, schedule = each(function(t)
    g.first:acquire(); g.second:acquire(); g.first:tma_load(x:at(t.i, 0))
    if own then g.second:tma_load(x:at(t.i, 0)) end
    g:commit() end) }
  for i, out in ipairs { y, z } do
    local member = i == 1 and g.first or g.second
    k:task { name = "take" .. i, warps = { 4 * i - 4, 4 }, schedule = each(function(t) member:wait(); out:store(member:read():load(), out:at(t.i, 0)); member:release() end) }
  end
  local report = k:verify()
  tap.is(own and "UNSAFE" or "SAFE", report.proof.verdict, own and "a fork of two storages, each loaded" or "a fork of one storage, loaded once")
  if own then tap.like("the members of fork 'g' are one datum: load one of them, and give the others its storage", report.text, "... the mend") end
  k:close()
end
tap.done()
