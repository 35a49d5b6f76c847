#!/usr/bin/env lua5.4
-- weir.previous_tile and weir.last_tile: each tile is stored once, a turn late, whatever hands the tiles out; what the proof knows of them;
-- what is refused. (On a GPU, by t/gpu/previous.t: the first part.)
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local agreement, schedules = require "gen.agreement", require "gen.schedules"
local P = weir.pipeline
local gpu = arg[0]:find "gpu/previous%.t$" ~= nil
local dev = assert(gpu and weir.device(0) or weir.device("sim", { seed = 5 }))
local function findings() return dev.is_sim and dev:findings() or "" end
local R, C = 8, 32 -- rows and columns of a tile

-- ---- every element once, with every queue and raster ------------------------------------------------------------------------------------

local function numbers(n, seed)
  local out = {}
  for i = 1, n do out[i] = (i * 7919 + seed * 104729) % 251 - 125 end
  return out
end

-- Y = Y + X, tile by tile: each tile waits in the ring until the task is in its next one, or behind the loop. kind, raster, m, n (of the
-- cluster), lanes; late: in the last step of a loop in the tile; place(y, b): where it is put; axes: of the queue; H of the queue over both tensors.
local function delayed(o)
  local m, n, lanes = o.m or 1, o.n or 1, o.lanes or 1
  local k = weir.kernel { name = o.name or "delayed", arch = "sm_90a", cluster = { m = m, n = n } }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { R, C } }, k:gmem_tile { name = "y", tensor = Y, tile = { R, C } }
  local dynamic = o.kind == "atomic" or o.kind == "clc"
  local raster = o.raster
  if raster == "traced" then raster = function(i, a) return i % a, i // a end end
  if raster == "shared" then raster = function(i, a) local q = i // a; return (i % a + q * q + q) % a, q end end
  local wq = k:work_queue { name = "wq", kind = o.kind, over = Y, tile = { R, C }, raster = raster, group = o.raster == "grouped" and 2 * m or nil,
    stages = dynamic and 2 or nil }
  local function tiles(lane) return weir.work_tile_loop(wq, lane and lanes > 1 and { lane = lane, lanes = lanes } or nil) end
  local rings = {}
  for l = 0, lanes - 1 do rings[l] = k:smem_tile { name = "a" .. l, dtype = "f32", tile = { R, C }, pipeline = P.tma_async { stages = o.stages or 2 } } end
  if dynamic then k:task { name = "fetch", warps = { 4 * lanes, 1 }, schedule = function() for _ in tiles(o.fetch_lane) do wq:fetch(); wq:next() end end } end
  for l = 0, lanes - 1 do
    local a = rings[l]
    k:task { name = "load" .. l, warps = { 4 * lanes + 1 + l, 1 }, schedule = function()
      for t in tiles(l) do a:acquire(); a:tma_load(x:at(t.m, t.n)); a:commit(); wq:next() end
    end }
    k:task { name = "store" .. l, warps = { 4 * l, 2 }, schedule = function()
      local function put(b, back, t)
        local place = o.place and o.place(y, b, t) or b
        y:store(a:read(back):load() + y:at(b.m, b.n):load(), place)
        a:release()
      end
      for t in tiles(l) do
        a:wait()
        if o.late then
          for i in weir.domain_loop(0, 3) do for _ in i:last_iter() do for b in weir.previous_tile(wq) do put(b, 1) end end end
        else
          for b in weir.previous_tile(wq) do put(b, 1, o.mixed and t) end
        end
        wq:next()
      end
      for b in weir.last_tile(wq) do put(b, 0) end
    end }
  end
  return k
end

local sizes = { { 0, 0 }, { 8, 32 }, { 16, 32 }, { 8, 64 }, { 24, 96 }, { 20, 200 }, { 64, 160 } }

local function check(name, o)
  local ok, p = pcall(function() return delayed(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": builds") then return tap.diag(p) end
  if not tap.is("SAFE", p.report.proof.verdict, name .. ": proved") then tap.diag(p.report) end
  for seed, size in ipairs(sizes) do
    local H, W = size[1], size[2]
    local data = numbers(H * W, seed)
    local X, Y = dev:tensor { dtype = "f32", shape = { H, W } }:set(data), dev:tensor { dtype = "f32", shape = { H, W } }:fill(1000)
    local launched, why = p:launch({ X = X, Y = Y }, { grid = o.kind ~= "grid" and (o.grid or 2) * (o.m or 1) * (o.n or 1) or nil })
    if launched then launched, why = dev:sync() end
    local wrong = 0
    for i, v in ipairs(launched and Y:get() or {}) do
      if v ~= 1000 + data[i] then wrong = wrong + 1; why = why or ("element %d: %g, wanted %g"):format(i - 1, v, 1000 + data[i]) end
    end
    if not tap.ok(launched and wrong == 0 and findings() == "", ("%s: %d x %d"):format(name, H, W)) then
      tap.diag(wrong, "wrong", why, findings())
    end
  end
  p:close()
end

for _, kind in ipairs { "static", "atomic", "clc", "grid" } do check("queue of kind " .. kind, { kind = kind }) end
for _, raster in ipairs { "row", "column", "grouped", "traced" } do check("raster " .. raster, { raster = raster, grid = 3 }) end
for _, raster in ipairs { "grouped", "traced" } do check("raster " .. raster .. ", clusters of 2 x 2", { raster = raster, m = 2, n = 2 }) end
check("a raster with named parts", { raster = "shared", grid = 2 })
check("atomic, clusters of 2 x 1", { kind = "atomic", m = 2 })
check("one CTA", { grid = 1, stages = 3 })
check("in the last step of a loop", { late = true, stages = 3 })
check("places that are written out", { place = function(y, b) return y:at(b.m, b.n) end })
check("two lanes", { lanes = 2 })
check("two lanes, atomic, traced", { lanes = 2, kind = "atomic", raster = "traced" })
check("two lanes, the tiles fetched by one", { lanes = 2, kind = "atomic", fetch_lane = 1 })

if gpu then tap.done() end

-- ---- what the proof knows -----------------------------------------------------------------------------------------------------------------

-- trusted: a part of what the verdict takes on trust, or nothing.
local function proved(name, k, trusted)
  local proof = k:verify().proof
  if not tap.is("SAFE", proof.verdict, name) then return tap.diag(k:verify()) end
  if trusted then return tap.like(trusted, proof.text, name .. ": what is on trust") end
  if not tap.ok(not proof.text:find "trusting", name .. ": nothing is on trust") then tap.diag(proof.text) end
end

proved("a place a tile, looked back at", delayed {})
proved("two rings' worth apart", delayed { stages = 3, late = true })
proved("clusters", delayed { m = 2, n = 2 })
proved("lanes: whose tile it is no run tells", delayed { lanes = 2 }, "the accesses of one task keep apart in tensor 'Y'")
proved("a place made of two tiles", delayed { place = function(y, b, t) return t and y:at(b.m, t.n) or y:at(b.m, b.n) end, mixed = true }, "keep apart in tensor 'Y'")

-- Two tasks and a ring of barriers: give(t) and take(t) are called in the loop over tiles, after.give and after.take behind it.
local function pair(o)
  local k = weir.kernel { name = "pair", arch = "sm_90a" }
  local T, N = k:dim "T", k:dim "N"
  local r = { T = T, N = N, wq = k:work_queue { name = "wq", axes = { "i" }, extent = { T } } }
  r.ring = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { 32 }, pipeline = P.async_async { stages = o.stages or 2 }, work = {
    fill = weir.producer_work { code = "smem[tid & 31] = 1;" }, use = weir.consumer_work { code = "if (smem[tid & 31] != 1) __trap();" } } }
  function r.give() r.ring:acquire(); r.ring:fill(); r.ring:commit() end
  function r.take() r.ring:wait(); r.ring:use(); r.ring:release() end
  for i, name in ipairs { "give", "take" } do
    k:task { name = name, warps = { i - 1, 1 }, schedule = function()
      local lanes = o.lanes and o.lanes[i] > 1 and { lane = o.lane and o.lane[i] or 0, lanes = o.lanes[i] } or nil
      for t in weir.work_tile_loop(r.wq, lanes) do o[name](r, t); r.wq:next() end
      if o.after and o.after[name] then o.after[name](r) end
    end }
  end
  return k
end

local function previous(r, f) for b in weir.previous_tile(r.wq) do f(b) end end
local function last(r, f) for b in weir.last_tile(r.wq) do f(b) end end
local function every(side) return function(r) r[side]() end end
local function late(side) return function(r) previous(r, r[side]) end end
local function rest(side) return function(r) last(r, r[side]) end end

-- The proof, and the explorer at small sizes; want: the verdict, or the rule that is broken.
local function judged(name, want, o)
  local program, why = plan.of(pair(o))
  if not tap.ok(program, name .. ": is planned") then return tap.diag(why) end
  local small = { tiles = 5 }
  for T = 0, 4 do for N = 0, 2 do small[#small + 1] = { T = T, N = N, tiles = T } end end
  local said = agreement.compare(plan, program, small, { limit = 40000, far = 100000 })
  local seen = said.verdict == "UNSAFE" and said.findings[1].rule or said.verdict
  tap.is(want, seen, name)
  if not tap.ok(not said.wrong and not said.open, name .. ": the explorer agrees") then tap.diag(said.wrong or said.open) end
end

judged("both a turn late", "SAFE", { give = late "give", take = late "take", after = { give = rest "give", take = rest "take" } })
judged("the taker a turn late", "SAFE", { give = every "give", take = late "take", after = { take = rest "take" } })
judged("... with one stage", "SAFE", { stages = 1, give = every "give", take = late "take", after = { take = rest "take" } })
judged("the giver a turn late", "SAFE", { give = late "give", take = every "take", after = { give = rest "give" } })
judged("the last one not given", "PROVE-DEADLOCK", { give = late "give", take = late "take", after = { take = rest "take" } })
judged("the last one not taken", "PROVE-LOST", { give = late "give", take = late "take", after = { give = rest "give" } })
judged("a turn late on one side only", "PROVE-DEADLOCK", { give = late "give", take = every "take" })
judged("behind the loop whatever there was", "PROVE-DEADLOCK", { give = late "give", take = late "take",
  after = { give = rest "give", take = function(r) r.take() end } })
judged("lanes that have other tiles before", "PROVE-DEADLOCK", { lanes = { 2, 1 }, give = late "give", take = late "take" })
judged("lanes that have the same", "SAFE", { lanes = { 2, 2 }, give = late "give", take = late "take", after = { give = rest "give", take = rest "take" } })

-- What is held over the turns: the ring is full by two tiles, or by one too many.
local function hold(r) r.ring:wait(); previous(r, function() r.ring:use(); r.ring:release() end) end
judged("a stage that is held to the next tile", "SAFE", { give = every "give", take = hold, after = { take = function(r) last(r, function() r.ring:use(); r.ring:release() end) end } })
judged("... the last one for good: nobody waits for it", "SAFE", { give = every "give", take = hold })

-- Conditions and lengths of the tile before: one truth for both sides; of the turn's tile it is another.
local function under(of, side) return function(r)
  local function body(b) for _ in weir.when_true(weir.lt(b.i, 2)) do r[side]() end end
  if of == "last" then last(r, body) else previous(r, body) end
end end
judged("a condition on the tile before, on both sides", "SAFE", { give = under("previous", "give"), take = under("previous", "take") })
judged("on one side only", "PROVE-DEADLOCK", { give = under("previous", "give"), take = late "take" })
judged("on one side only, in lanes", "PROVE-DEADLOCK", { lanes = { 2, 2 }, give = under("previous", "give"), take = late "take" })
tap.is("INCOMPLETE", pair { lanes = { 9, 9 }, give = under("previous", "give"), take = late "take" }:verify().proof.verdict, "... in nine, of which sizes are not looked for")
judged("on both sides, in lanes", "SAFE", { lanes = { 2, 2 }, give = under("previous", "give"), take = under("previous", "take") })
judged("a condition on the last tile, on one side only", "PROVE-DEADLOCK", { give = function() end, take = function() end, after = { give = under("last", "give"), take = rest "take" } })
judged("a condition on the last tile", "SAFE", { give = function() end, take = function() end, after = { give = under("last", "give"), take = under("last", "take") } })
local function times(side) return function(r) previous(r, function(b) for _ in weir.domain_loop(b.i) do r[side]() end end) end end
-- A turn late on one side, as often as the tile says: right, not proved, and no run with the tiles' coordinates fails. Short by one, and it does.
local function often(side, from) return function(r)
  local function body(b) for _ in weir.domain_loop(from or 0, b.i) do r[side]() end end
  return body, function() previous(r, body) end, function() last(r, body) end
end end
local function against(o)
  return { lanes = o.lanes, lane = o.lane, give = function(r) select(2, often("give", o.from)(r))() end, take = function(r, t) often "take"(r)(t) end,
    after = { give = function(r) select(3, often("give", o.rest or o.from)(r))() end } }
end
for _, o in ipairs { {}, { lanes = { 2, 2 }, lane = { 0, 0 } }, { lanes = { 2, 2 }, lane = { 1, 1 } }, { lanes = { 3, 3 }, lane = { 1, 1 } } } do
  local name = ("lengths of the tile before against the tile's own, lane %d of %d"):format(o.lane and o.lane[1] or 0, o.lanes and o.lanes[1] or 1)
  tap.is("INCOMPLETE", pair(against(o)):verify().proof.verdict, name)
  o.rest = 1
  tap.is("UNSAFE", pair(against(o)):verify().proof.verdict, name .. ", the last one short")
end
judged("as often as the tile before says", "SAFE", { give = times "give", take = times "take" })
judged("against as often as there are steps", "PROVE-DEADLOCK", { give = function(r) previous(r, function() for _ in weir.domain_loop(r.N) do r.give() end end) end, take = times "take" })

-- Lengths by an index, a turn late: of one tile before on both sides, of another lane's, in the turn itself.
local function triangle(side) return function(r) for i in weir.domain_loop(r.N) do for _ in weir.domain_loop(i) do r[side]() end end end end
local function late_triangle(side) return function(r) previous(r, function() triangle(side)(r) end) end end
judged("lengths by an index, a turn late on both sides", "SAFE", { give = late_triangle "give", take = late_triangle "take" })
judged("... on one side", "PROVE-LOST", { give = triangle "give", take = late_triangle "take" })
judged("... on both sides, in lanes", "SAFE", { lanes = { 2, 2 }, give = late_triangle "give", take = late_triangle "take" })
judged("... of two lanes", "PROVE-LOST", { lanes = { 2, 2 }, lane = { 0, 1 }, give = late_triangle "give", take = late_triangle "take" })
judged("... of lanes on one side", "PROVE-DEADLOCK", { lanes = { 2, 1 }, give = late_triangle "give", take = late_triangle "take" })

-- A product of steps, of which each looks back.
local function product(side) return function(r) for _ in weir.domain_loop(r.N * r.T) do previous(r, r[side]) end end end
local function in_each_other(side) return function(r) for _ in weir.domain_loop(r.N) do for _ in weir.domain_loop(r.T) do previous(r, r[side]) end end end end
judged("a product of steps that look back", "SAFE", { give = product "give", take = product "take" })
judged("... against a nest", "SAFE", { give = product "give", take = in_each_other "take" })

-- Lengths of the launch are one stream over the tiles: what one does in a tile's own turn and the other a turn late.
local function steps(side, more) return function(r) for _ in weir.domain_loop(r.N + (more or 0)) do r[side]() end end end
local function late_steps(side, more) return function(r) previous(r, function() steps(side, more)(r) end) end end
local function last_steps(side, more) return function(r) last(r, function() steps(side, more)(r) end) end end
judged("steps of the launch, taken a turn late", "SAFE", { give = steps "give", take = late_steps "take", after = { take = last_steps "take" } })
judged("... given a turn late", "SAFE", { give = late_steps "give", take = steps "take", after = { give = last_steps "give" } })
judged("... on both sides", "SAFE", { give = late_steps "give", take = late_steps "take", after = { give = last_steps "give", take = last_steps "take" } })
judged("... one more for the last tile", "PROVE-DEADLOCK", { give = steps "give", take = late_steps "take", after = { take = last_steps("take", 1) } })
judged("... the last tile's left out", "PROVE-DEADLOCK", { give = steps "give", take = late_steps "take" })

-- Tensors: the place of the tile before is the place that its turn had, and another one than that of this turn.
local function tensor(one, two, o, stages)
  local k = weir.kernel { name = "shared", arch = "sm_90a" }
  local N = k:dim("N", { min = 1 })
  local r = { N = N }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { N, 256 }, out = true }
  r.y = k:gmem_tile { name = "y", tensor = Y, tile = { 1, 128 } }
  r.wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  r.turn = k:barrier { name = "turn", pipeline = P.async_async { stages = stages or 1 } }
  for i, body in ipairs { one, two } do
    k:task { name = "t" .. i, warps = { 4 * i - 4, 4 }, schedule = function()
      for t in weir.work_tile_loop(r.wq, o) do body(t, r); r.wq:next() end
      if i == 2 then last(r, function(b) body(b, r, true) end) end
    end }
  end
  return k
end
local function store(x) return function(t, r) r.y:store(x, r.y:at(t.i, 0)) end end
local function store_late(t, r, at_end) if at_end then store(2.0)(t, r) else previous(r, function(b) store(2.0)(b, r) end) end end
local function nothing() end
local function verdict(k)
  local report = k:verify()
  return report.proof.verdict == "UNSAFE" and report.text:match "%[(PROVE%-%w+)%]" or report.proof.verdict, report
end
local function race(name, want, one, two, stages)
  local seen, report = verdict(tensor(one, two, nil, stages))
  if not tap.is(want, seen, name) then tap.diag(report.text) end
  if want == "SAFE" and seen == want then tap.ok(not report.proof.text:find "trusting", name .. ": nothing is on trust") end
end
race("two tasks at one place, one a turn late", "PROVE-RACE", store(1.0), store_late)
race("at two places", "SAFE", function(t, r) r.y:store(1.0, r.y:at(t.i, 1)) end, store_late)
race("one place, in turn", "SAFE", function(t, r) r.turn:acquire(); store(1.0)(t, r); r.turn:commit() end,
  function(t, r, at_end)
    if not at_end then r.turn:wait(); r.turn:release() end
    store_late(t, r, at_end)
  end)
race("one place, in turn, five tiles ahead", "SAFE", function(t, r) r.turn:acquire(); store(1.0)(t, r); r.turn:commit() end,
  function(t, r, at_end)
    if not at_end then r.turn:wait(); r.turn:release() end
    store_late(t, r, at_end)
  end, 5)
race("the order comes too late", "PROVE-RACE", function(t, r) r.turn:acquire(); r.turn:commit(); store(1.0)(t, r) end,
  function(t, r, at_end)
    if not at_end then r.turn:wait(); r.turn:release() end
    store_late(t, r, at_end)
  end)
tap.like("trusting that tasks keep apart in tensor 'y'",
  tensor(store(1.0), function(t, r, at_end) if not at_end then previous(r, function(b) r.y:store(2.0, r.y:at(t.i - b.i, 0)) end) end end):verify().proof.text,
  "a place made of both tiles")

local function digits(t, r, at_end)
  local function put(b) r.y:store(2.0, r.y:at(b.i // 2, b.i % 2)) end
  if at_end then put(t) else previous(r, put) end
end
tap.is("SAFE", (verdict(tensor(function(t, r) r.y:store(1.0, r.y:at(t.i + r.N, 1)) end,
  function(t, r, at_end)
    local function put(b) r.y:store(2.0, r.y:at(b.i + r.N, 0)) end
    if at_end then put(t) else previous(r, put) end
  end))), "a sum of the tile before")
-- Apart by the row in one tile, by the column in two; `plus` 0: at one place. counted: minima are known where units are counted, so some are.
local function units(from, to, op, r) for _ in weir.domain_loop(from, to) do if op then r.turn:acquire(); r.turn:commit() else r.turn:wait(); r.turn:release() end end end
for _, c in ipairs {
  { "a product", function(b, r) return b.i * r.N end }, { "a square", function(b) return b.i * b.i end },
  { "a quotient", function(b) return b.i // 3 end }, { "a product of quotients", function(b) return (b.i // 3 + 1) * (b.i // 2) end },
  { "the less of two", function(b, r) return weir.min(b.i, r.N // 2) end, counted = true },
} do
  for plus = 0, 1 do
    race(c[1] .. " of the tile before" .. (plus == 0 and ", at one place" or ""), plus == 1 and "SAFE" or c.counted and "INCOMPLETE" or "PROVE-RACE",
      function(t, r)
        if c.counted then units(0, r.N, true, r) end
        r.y:store(1.0, r.y:at(c[2](t, r) + plus, t.i))
      end,
      function(t, r, at_end)
        local function put(b) r.y:store(2.0, r.y:at(c[2](b, r), b.i)) end
        if at_end then put(t) else previous(r, put) end
        if c.counted and not at_end then units(0, r.N - 3, false, r); units(weir.max(0, r.N - 3), r.N, false, r) end
      end)
  end
end
race("quotient and remainder of the tile before", "SAFE", nothing, digits)
race("... of the turn's tile in another task", "PROVE-RACE", function(t, r) r.y:store(1.0, r.y:at(t.i // 2, t.i % 2)) end, digits)

-- The tile before, loaded by TMA from what the other task has stored in its turn: its stores are done and drained, or they are not.
local function reread(drained)
  local k = weir.kernel { name = "reread", arch = "sm_90a" }
  local N = k:dim("N", { min = 1 })
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "y", dtype = "f32", shape = { N, 128 }, out = true }, tile = { 1, 128 } }
  local z = k:gmem_tile { name = "z", tensor = k:tensor { name = "z", dtype = "f32", shape = { N, 128 }, out = true }, tile = { 1, 128 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  local stage = k:smem_tile { name = "stage", dtype = "f32", tile = { 1, 128 }, pipeline = P.async_tma { stages = 1 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 1, 128 }, pipeline = P.tma_async { stages = 1 } }
  local turn = k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } }
  k:task { name = "put", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      turn:acquire()
      stage:acquire(); stage:store(t.i + 1.0); stage:commit()
      stage:wait(); y:tma_store(stage:read(), y:at(t.i, 0)); stage:release()
      if drained then y:drain() end
      turn:commit(); wq:next()
    end
  end }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    local function load(b) ring:acquire(); ring:tma_load(y:at(b.i, 0)); ring:commit() end
    for _ in weir.work_tile_loop(wq) do turn:wait(); for b in weir.previous_tile(wq) do load(b) end turn:release(); wq:next() end
    for b in weir.last_tile(wq) do load(b) end
  end }
  k:task { name = "copy", warps = { 8, 4 }, schedule = function()
    local function copy(b) ring:wait(); z:store(ring:read(), z:at(b.i, 0)); ring:release() end
    for _ in weir.work_tile_loop(wq) do for b in weir.previous_tile(wq) do copy(b) end wq:next() end
    for b in weir.last_tile(wq) do copy(b) end
  end }
  return k
end
proved("the tile before, loaded from where it was stored", reread(true))
tap.is("PROVE-RACE", (verdict(reread(false))), "... and not drained")

-- What conditions and loops leave out: a store in the step j, or behind a loop that had no such step.
local function late_store(stored_behind, at, down)
  local k = weir.kernel { name = "steps", arch = "sm_90a" }
  local N, S, T = k:dim "N", k:dim "S", k:dim "T"
  local stage = k:smem_tile { name = "stage", dtype = "f32", tile = { 1, 64 }, pipeline = P.async_tma { stages = 2 } }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "y", dtype = "f32", shape = { N, 256 }, out = true }, tile = { 1, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    local function put(b, j)
      stage:acquire(); stage:store(1.0); stage:commit()
      stage:wait(); y:tma_store(stage:read(), y:at(b.i, j)); stage:release()
    end
    for _ in weir.work_tile_loop(wq) do
      local from, to, by = 0, S, 1
      if down then from, to, by = S - 1, -1, -1 end
      for i in weir.domain_loop(from, to, by) do
        for b in weir.previous_tile(wq) do for j = 0, 1 do for _ in weir.when_true(at and at(i, j, S, T) or weir.eq(i, j)) do put(b, j) end end end
      end
      for b in weir.previous_tile(wq) do for j = 0, 1 do for _ in weir.when_true(stored_behind(S, j, T)) do put(b, j) end end end
      wq:next()
    end
    for b in weir.last_tile(wq) do put(b, 0); put(b, 1) end
  end }
  return k
end
proved("in step j, else behind", late_store(function(S, j) return weir.le(S, j) end))
proved("... written otherwise", late_store(function(S, j) return ~weir.gt(S, j) end, function(i, j) return weir.ge(i, j) & weir.lt(i, j + 1) end))
proved("under a condition, else behind", late_store(function(S, _, T) return ~weir.lt(T, S) end, function(i, j, S, T) return weir.eq(i, j) & weir.lt(T, S) end))
proved("in a loop that counts down", late_store(function(S, j) return weir.le(S - 1, j - 1) end, nil, true))
proved("neither more nor less", late_store(function(S, _, T) return weir.ge(T, S) end, function(i, j, S, T) return ~(weir.gt(i, j) | weir.lt(i, j) | weir.le(S, T)) end))
proved("in more than one step", late_store(function(S, _, T) return ~weir.lt(T, S) end, function(i, j, S, T) return weir.ge(i, j) & weir.lt(T, S) end),
  "that the accesses of one task keep apart in tensor 'y'")
proved("behind, where there was such a step", late_store(function(S, j) return weir.le(S, j + 1) end), "that the accesses of one task keep apart in tensor 'y'")
proved("behind, whatever there was", late_store(function(S) return weir.ge(S, 0) end), "that the accesses of one task keep apart in tensor 'y'")
proved("a number that may wrap is no fact", late_store(function(S, j) return weir.le(S + (1 << 30), j + (1 << 30)) end), "that the accesses of one task keep apart in tensor 'y'")

-- What is too much for the facts is left to trust; what is enough is not.
local function nested(body)
  local k = weir.kernel { name = "nested", arch = "sm_90a" }
  local N, S, T, d = k:dim "N", k:dim "S", k:dim "T", {}
  for i = 1, 16 do d[i] = k:dim("d" .. i) end
  local stage = k:smem_tile { name = "stage", dtype = "f32", tile = { 1, 64 }, pipeline = P.async_tma { stages = 2 } }
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "y", dtype = "f32", shape = { N, 256 }, out = true }, tile = { 1, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      body(function() stage:acquire(); stage:store(1.0); stage:commit(); stage:wait(); y:tma_store(stage:read(), y:at(t.i, 0)); stage:release() end, S, T, d)
      wq:next()
    end
  end }
  return k
end
local function when(c, f) for _ in weir.when_true(c) do f() end end
local function sum(d, from, to) local x = d[from]; for i = from + 1, to do x = x + d[i] end return x end
local trust = "that the accesses of one task keep apart in tensor 'y'"
proved("a bound by where another loop begins", nested(function(put, S, T)
  for i in weir.domain_loop(weir.ceil_div(T, 2), S) do when(weir.eq(i, weir.ceil_div(T, 2)), put) end
  when(weir.le(S, weir.ceil_div(T, 2)), put)
end))
proved("by where it ends", nested(function(put, S)
  for i in weir.domain_loop(weir.ceil_div(S, 2)) do when(weir.eq(i, 1), put) end
  when(weir.le(weir.ceil_div(S, 2), 1), put)
end))
proved("by what is no bound", nested(function(put, S, T)
  for i in weir.domain_loop(S) do when(weir.eq(i, 1), put) end
  when(weir.le(S, T * 2), put)
  when(weir.lt(S, T * 2), put)
end), trust)
proved("many conditions at once", nested(function(put, S, T, d)
  local c = weir.ge(S, 1)
  for i = 1, 8 do c = c & weir.ge(d[i], i) end
  when(c & weir.lt(T, S), put)
  when(weir.ge(T, S), put)
end))
proved("sums of many sizes", nested(function(put, _, _, d)
  for _ in weir.domain_loop(0, sum(d, 1, 8)) do put() end
  for _ in weir.domain_loop(sum(d, 1, 5), sum(d, 6, 10)) do put() end
  for _ in weir.domain_loop(0, sum(d, 11, 15)) do put() end
  for _ in weir.domain_loop(0, sum(d, 6, 10)) do put() end
end), trust)
proved("loops in loops", nested(function(put, S)
  for a in weir.domain_loop(S) do for b in weir.domain_loop(a, S) do for c in weir.domain_loop(b, S) do for e in weir.domain_loop(c, S) do
    when(weir.ge(e, a) & weir.ge(e, b) & weir.ge(c, a) & weir.le(a, e), put)
  end end end end
  when(weir.lt(S, 1), put)
end), trust)

-- A register tile that is set at a turn's end and read in the next has been set.
do
  local k = weir.kernel { name = "kept", arch = "sm_90a" }
  local N = k:dim "N"
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "y", dtype = "f32", shape = { N, 64 }, out = true }, tile = { 64, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, 64) } }
  local kept = k:reg_tile { name = "kept", dtype = "f32", tile = { 64, 64 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for b in weir.previous_tile(wq) do y:store(kept:read(), y:at(b.i, 0)) end
      kept:set(kept:row_index() + t.i + 0.0 * kept:col_index())
      wq:next()
    end
    for b in weir.last_tile(wq) do y:store(kept:read(), y:at(b.i, 0)) end
  end }
  proved("registers kept over the turns", k)
end

-- Random schedules some of whose segments are a turn late.
do
  local verdicts, wrong = {}, {}
  for seed = 1, 48 do
    local s = schedules.random(seed)
    s.tiles = true
    local ok, program = pcall(function() return schedules.late(s, 1) and plan.of(schedules.kernel(weir, s)) end)
    if ok and program then
      local small = { tiles = 4 }
      for N = 0, 2 do for T = 0, 4 do small[#small + 1] = { N = N, M = 1, T = T, R = 64, tiles = T } end end
      local said = agreement.compare(plan, program, small, { limit = 8000, far = 20000 })
      verdicts[said.verdict] = (verdicts[said.verdict] or 0) + 1
      if said.wrong then wrong[#wrong + 1] = schedules.text(s) .. ": " .. said.wrong end
    end
  end
  tap.is({}, wrong, "random schedules, a turn late: the explorer agrees")
  tap.ok((verdicts.SAFE or 0) > 2 and (verdicts.UNSAFE or 0) > 8, "of both kinds")
  tap.diag(("%d safe, %d not, %d undecided"):format(verdicts.SAFE or 0, verdicts.UNSAFE or 0, verdicts.INCOMPLETE or 0))
end

-- ---- what is refused ----------------------------------------------------------------------------------------------------------------------

-- body(r) is a schedule; want: a part of the report, or of what is raised.
local function refused(name, want, hint, body)
  if not body then hint, body = nil, hint end
  local k = weir.kernel { name = "wrong", arch = "sm_90a" }
  local N = k:dim "N"
  local r = { k = k, N = N }
  r.y = k:gmem_tile { name = "y", tensor = k:tensor { name = "y", dtype = "f32", shape = { N, 32 }, out = true }, tile = { 1, 32 } }
  r.wq = k:work_queue { name = "wq", axes = { "i" }, extent = { N } }
  r.ring = k:barrier { name = "ring", pipeline = P.async_async { stages = 2 } }
  local ok, report = pcall(function()
    k:task { name = "t", warps = { 0, 1 }, schedule = function() body(r) end }
    return k:verify().text
  end)
  if not tap.like(want, tostring(report), name) then tap.diag(tostring(report)) end
  if hint then tap.like(hint, tostring(report), name .. ": the mend") end
  tap.is(true, ok or not want:find("error: ", 1, true), name .. ": in a report or raised")
end

local function tiles(r, f) for t in weir.work_tile_loop(r.wq) do f(t); r.wq:next() end end
local function at(r, t) r.y:store(1.0, r.y:at(t.i, 0)) end

refused("before the loop", "error: previous_tile: no work-tile loop over 'wq' is open [C-NEST-14]", "hint: put it inside `for t in weir.work_tile_loop(wq) do ... end`",
  function(r) for b in weir.previous_tile(r.wq) do at(r, b) end tiles(r, function(t) at(r, t) end) end)
refused("behind the loop", "error: previous_tile: no work-tile loop over 'wq' is open [C-NEST-14]",
  function(r) tiles(r, function(t) at(r, t) end) for b in weir.previous_tile(r.wq) do at(r, b) end end)
refused("no loop at all", "error: last_tile: no work-tile loop over 'wq' has run before [C-NEST-14]", "hint: put it behind `for t in weir.work_tile_loop(wq) do ... end`",
  function(r) for b in weir.last_tile(r.wq) do at(r, b) end end)
refused("another queue", "error: previous_tile: task 't' takes its tiles from 'wq', not 'other' [C-NEST-14]", function(r)
  local other = r.k:work_queue { name = "other", axes = { "i" }, extent = { r.N } }
  tiles(r, function(t) at(r, t) for b in weir.previous_tile(other) do at(r, b) end end)
end)
refused("one in the other", "error: previous_tile inside previous_tile [C-NEST-14]", function(r)
  tiles(r, function() for b in weir.previous_tile(r.wq) do for _ in weir.previous_tile(r.wq) do at(r, b) end end end)
end)
refused("the tile outside of its block", "error: tile coordinate: the previous_tile of this tile is not open [C-NEST-07]", function(r)
  tiles(r, function() local kept; for b in weir.previous_tile(r.wq) do kept = b end at(r, kept) end)
end)
refused("a coordinate outside of its block", "is made of coordinates that previous_tile gives, and none is open [VAL-SCOPE]", "hint: use it inside `for b in weir.previous_tile(...) do ... end`",
  function(r) tiles(r, function() local kept; for b in weir.previous_tile(r.wq) do kept = b.i + 1 end r.y:store(1.0, r.y:at(kept, 0)) end) end)
refused("... in the other's block", "is made of coordinates that previous_tile gives, and none is open [VAL-SCOPE]", function(r)
  local kept
  tiles(r, function() for b in weir.previous_tile(r.wq) do kept = b.i end end)
  for _ in weir.last_tile(r.wq) do r.y:store(1.0, r.y:at(kept, 0)) end
end)
refused("the loop's own tile behind the loop", "is a coordinate of a tile of 'wq', and no work-tile loop over it is open [VAL-SCOPE]", function(r)
  local kept
  tiles(r, function(t) kept = t.i end)
  for _ in weir.last_tile(r.wq) do r.y:store(1.0, r.y:at(kept, 0)) end
end)
refused("a place that is none", "y:store: the work tiles of 'wq' are not the tiles of 'y' [V-ATOM-01]", function(r)
  tiles(r, function() for b in weir.previous_tile(r.wq) do r.y:store(1.0, b) end end)
end)
refused("nothing to release in any turn", "task 't': use on 'held' without wait before it [V-BRK-02]", "\n2 errors\n", function(r)
  local held = r.k:resource { name = "held", space = "smem", dtype = "i32", tile = { 32 }, pipeline = P.async_async { stages = 2 }, work = {
    fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  tiles(r, function() held:use(); for _ in weir.previous_tile(r.wq) do held:release() end end)
end)
refused("skippable", "error: skippable: the tile that previous_tile gives is not the one that the loop may skip [C-NEST-10]", function(r)
  tiles(r, function() for b in weir.previous_tile(r.wq) do for _ in b:skippable() do at(r, b) end end end)
end)
refused("made and never run", "weir.previous_tile is made but never run", function(r) tiles(r, function(t) at(r, t) weir.previous_tile(r.wq) end) end)
refused("no queue", "weir.previous_tile: a work_queue expected, got gmem_tile 'y' [C-WTL-01]", function(r) weir.previous_tile(r.y) end)
refused("more than the queue", "weir.last_tile takes the work queue alone", function(r) weir.last_tile(r.wq, {}) end)
refused("another kernel's queue", "weir.last_tile: queue 'far' belongs to another kernel", function()
  local k = weir.kernel { name = "far", arch = "sm_90a" }
  weir.last_tile(k:work_queue { name = "far", axes = { "i" }, extent = { 4 } })
end)
tap.like("weir.previous_tile belongs inside the schedule of a task [C-CTX-01]", select(2, pcall(function()
  local k = weir.kernel { name = "far", arch = "sm_90a" }
  weir.previous_tile(k:work_queue { name = "far", axes = { "i" }, extent = { 4 } })
end)), "outside of a schedule")

-- Stages that lanes share.
do
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } }
  local ring = k:barrier { name = "ring", pipeline = P.async_async { stages = 6 } }
  k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do ring:acquire(); ring:commit(); wq:next() end end }
  for lane = 0, 1 do
    k:task { name = "take" .. lane, warps = { 1 + lane, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq, { lane = lane, lanes = 2 }) do
        ring:wait()
        for _ in weir.previous_tile(wq) do for _ in weir.domain_loop(1) do ring:release() end end
        wq:next()
      end
      for _ in weir.last_tile(wq) do ring:release() end
    end }
  end
  local report = k:verify().text
  for _, where in ipairs { "previous_tile", "last_tile" } do
    if not tap.like(("task 'take0': 'ring' is shared by lanes of the work tiles, and moved inside %s [PLAN-UNSUPPORTED]"):format(where), report,
      "stages that lanes share, in " .. where) then tap.diag(report) end
  end
end

-- ---- how it is written --------------------------------------------------------------------------------------------------------------------

local k = delayed {}
local text = k:print "capture"
for _, part in ipairs { "previous_tile(wq)", "last_tile(wq)", "y:store(a0:read(1):load() + y:at(previous.m, previous.n):load(), y:at(previous.m, previous.n))", "y:at(last.m, last.n)" } do
  tap.like(part, text, "the schedule: " .. part)
end
for _, part in ipairs { "guard previous tile of wq\n", "guard last tile of wq\n" } do tap.like(part, k:print "plan", "the plan: " .. part) end
tap.like("a task looks back at the tile before: 2 tiles are shown", k:print "schedule", "the schedule table")
tap.like('".wq" -> "store0.y"', k:dot(), "the graph: the queue places the tile")
local source = k:build { device = dev }:source()
tap.ok(#pair { give = every "give", take = late "take", after = { take = rest "take" } }:promela { T = 3, N = 1 } > #pair { give = every "give", take = late "take" }:promela { T = 3, N = 1 },
  "the model for spin has the last tile's moves")
for _, part in ipairs { "u32 wq_before = 0;", "if (wq_before) {", "wq_before = 1;" } do tap.like(part, source, "the source: " .. part) end

tap.done()
