#!/usr/bin/env lua5.4
-- Plans as straight lines: what each thread that matters does at given sizes, read from the model for spin, and how that agrees with the
-- prover where all interleavings of the lines are walked.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local agreement = require "gen.agreement"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

-- The moves of every thread by its name, a short text each: "wait r_full[0] 1" waits for phase 1, "arrive r_full[0] 1 x32 +4096" arrives 32 times in
-- phase 1 and arms bytes; "of CTA 1" when the barrier is another's than the thread's. nil and why when the plan cannot be unrolled.
local function lines(program, sizes)
  local text, why = plan.promela(program, sizes or {})
  if not text then return nil, why end
  local out = {}
  for name, body in text:gmatch "proctype thread_%d+%(%) /%* (.-) %*/\n{\n(.-)\n}\n" do
    local list, home = {}, name:match "of CTA (%d+)" or "0"
    for move, what in body:gmatch "    ([^\n]-)  /%* %d+ (.-) %*/" do
      what = what:gsub(", line %d+", "")
      local cell, cta, lap, n, bytes = move:match "^arrive%((%d+), (%d+), (%-?%d+), (%d+), (%d+)%)"
      if cell then what = ("%s %s x%s%s"):format(what, lap, n, bytes ~= "0" and " +" .. bytes or "") end
      if not cell then cell, cta, lap = move:match "^wait%((%d+), (%d+), (%-?%d+)%)"; if cell then what = what .. " " .. lap end end
      cta = cta or move:match "assert%(ready%[(%d+)%]%)"
      if cta and cta ~= home then what = what .. " of CTA " .. cta end
      if not move:find "^leave" then list[#list + 1] = what end
    end
    out[name] = list
  end
  return out
end
-- Those that match one of the patterns.
local function some(list, ...)
  local out = {}
  for _, x in ipairs(list or {}) do
    for _, part in ipairs { ... } do if x:find(part) then out[#out + 1] = x break end end
  end
  return out
end
local function cuts(name, want, k, sizes)
  local program, why = plan.of(k)
  if not tap.ok(program, name .. ": a plan") then return tap.diag(why) end
  tap.is({ want = want }, { want = select(2, lines(program, sizes)) }, name)
end

local function agrees(name, want, k, sizes, o, change)
  local program, why = plan.of(k)
  if not tap.ok(program, name .. ": a plan") then return tap.diag(why) end
  if change then change(program) end
  local both = agreement.compare(plan, program, sizes, o or { limit = 3000, far = 20000 })
  local seen = both.verdict == "UNSAFE" and both.findings[1].rule or both.verdict
  if not tap.is({ want }, { seen, both.wrong, both.open }, name .. ": prover and explorer") then tap.diag(both.text) end
end

local function kernel(o, f)
  local k = weir.kernel { name = "k", arch = o.arch or "sm_90a", cluster = o.cluster }
  local dims = {}
  f(k, function(name, min) dims[name] = dims[name] or k:dim(name, min and { min = min }) return dims[name] end)
  return k
end
local function ring(k, name, o)
  o = o or {}
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = o.stages or 2, interleave = o.interleave },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = o.code or ";" } } }
end
local function tile(k, name, o) -- of a tensor
  o = o or {}
  local t = k:tensor { name = name:upper(), dtype = o.dtype or "f32", shape = o.shape or { 64, 64 }, out = o.out }
  return k:gmem_tile { name = name, tensor = t, tile = o.tile or { 64, 64 } }
end
local function fill(x) x:acquire(); x:fill(); x:commit() end
local function use(x) x:wait(); x:use(); x:release() end
-- One task of a warp around rings r and s: arrivals at their full barriers, in order.
local function alone(name, want, sizes, schedule, o)
  local k = kernel(o or {}, function(k, n)
    local r = { r = ring(k, "r", { stages = 1 }), s = ring(k, "s", { stages = 1 }), q = k:scalar { name = "q", dtype = "i32" }, n = n, k = k }
    k:task { name = "t", warps = { 0, 1 }, schedule = function() schedule(r) end }
  end)
  local program, why = plan.of(k)
  if not tap.ok(program, name .. ": a plan") then return tap.diag(why) end
  local all, no = lines(program, sizes)
  local seen = {}
  for i, x in ipairs(some(all and all["t (elected)"], "^arrive")) do seen[i] = x:match "arrive (%w+)_full" end
  tap.is(want, no or table.concat(seen, " "), name)
end

-- ---- loops ---------------------------------------------------------------------------------------------------------------------------------
local function loop(r, start, stop, step) for _ in weir.domain_loop(start, stop, step or 1) do fill(r.r) end end
alone("a loop", "r r r", { N = 3 }, function(r) loop(r, 0, r.n "N") end)
alone("every second turn from the second on", "r r", { N = 5 }, function(r) for i in weir.domain_loop(0, r.n "N") do for _ in i:every(2, 1) do fill(r.r) end end end)
alone("none of its turns", "", { N = 0 }, function(r) loop(r, 0, r.n "N") end)
alone("down by N from 4 to 0", "r r", { N = 3 }, function(r) loop(r, 4, 0, -r.n "N") end)
alone("down, where it stops is above", "", { N = 3 }, function(r) loop(r, 0, 4, -r.n "N") end)
alone("bounds and a condition that take the indices of two loops", "r r r s", {}, function(r)
  for i in weir.domain_loop(0, 3) do
    for j in weir.domain_loop(i, i * 2) do fill(r.r); for _ in weir.when_true(weir.eq(i + j, 5)) do fill(r.s) end end
  end
end)
local unknown = "the length of a loop does not follow from the sizes"
alone("from a scalar", unknown, {}, function(r) loop(r, r.q, 4) end)
alone("to a scalar", unknown, {}, function(r) loop(r, 0, r.q) end)
alone("by a scalar", unknown, {}, function(r) loop(r, 0, 4, r.q) end)
alone("by steps of nothing", unknown, { N = 0 }, function(r) loop(r, 0, 4, r.n "N") end)
alone("more steps than are written down", "there are too many steps", { N = 2000 }, function(r) loop(r, 0, r.n "N") end)

-- ---- work tiles ----------------------------------------------------------------------------------------------------------------------------
local function tiles(r, extent, body, o)
  local wq = r.k:work_queue { name = "wq", kind = o and o.kind, axes = #extent == 2 and { "i", "j" } or { "i" }, extent = extent }
  for t in weir.work_tile_loop(wq, o and o.skip and { skip = o.skip } or nil) do body(t); wq:next() end
end
alone("all of four tiles, row by row", "r s r s", { N = 2, tiles = 9 }, function(r)
  tiles(r, { r.n "N", 2 }, function(t) for _ in weir.when_true(weir.eq(t.j, 0)) do fill(r.r) end for _ in weir.when_true(weir.eq(t.j, 1)) do fill(r.s) end end)
end)
alone("the first three", "r s r", { N = 2, tiles = 3 }, function(r)
  tiles(r, { r.n "N", 2 }, function(t) for _ in weir.when_true(weir.eq(t.j, 0)) do fill(r.r) end for _ in weir.when_true(weir.eq(t.j, 1)) do fill(r.s) end end)
end)
alone("none", "", { N = 0, tiles = 3 }, function(r) tiles(r, { 2, r.n "N" }, function() fill(r.r) end) end)
alone("none, beside an extent that only the launch knows", "", { N = 0, tiles = 3 }, function(r) tiles(r, { r.n "N", r.q }, function() fill(r.r) end) end)
alone("more steps than are written down, by tiles", "there are too many steps", { N = 1000, tiles = 1000 }, function(r) tiles(r, { r.n "N" }, function() fill(r.r); fill(r.s) end) end)
alone("as many along an axis of unknown extent as are wanted", "r s r", { tiles = 2 }, function(r)
  tiles(r, { 3, r.q }, function(t) for _ in weir.when_true(weir.eq(t.i, 0)) do fill(r.r) end for _ in weir.when_true(weir.eq(t.j, 0)) do fill(r.s) end end)
end)
alone("a grid queue: one", "r", { N = 5, tiles = 3 }, function(r) tiles(r, { r.n "N" }, function() fill(r.r) end, { kind = "grid" }) end)
alone("the second of three is skipped", "r s s r r s s", { N = 3, tiles = 3, truths = 2 }, function(r)
  tiles(r, { r.n "N" }, function(t) fill(r.r); for _ in t:skippable() do for _ in weir.domain_loop(0, 2) do fill(r.s) end end end,
    { skip = function(t) return weir.gt(r.q, t.i) end })
end)

-- ---- conditions that sizes do not decide: a bit of `truths` each time that one is asked anew ----------------------------------------------------
local function asks(name, want, truths, schedule) alone(name, want, { N = 2, tiles = 2, truths = truths }, schedule) end
local function when(c, x, key) for _ in weir.when_true(c, key and { key = key } or nil) do fill(x) end end
local function two(r) when(weir.gt(r.q, 0), r.r); when(weir.gt(r.q, 1), r.s); for _ in weir.when_false(weir.gt(r.q, 0)) do fill(r.s) end end
asks("neither", "s", 0, two)
asks("the first", "r", 1, two)
asks("the second", "s s", 2, two)
asks("both", "r s", 3, two)
local function keys(r) when(weir.gt(r.q, 0), r.r, "a"); when(weir.gt(r.q, 1), r.r, "b"); when(weir.gt(r.q, 2), r.s, "a"); when(weir.gt(r.q, 0), r.s) end
asks("one key, asked twice", "r s", 1, keys)
asks("another key", "r", 2, keys)
asks("the same condition without a key is another", "s", 4, keys)
local function by_tile(r) tiles(r, { r.n "N" }, function() when(weir.gt(r.q, 0), r.r, "a"); when(weir.gt(r.q, 1), r.s) end) end
asks("of two tiles: the first's key", "r", 1, by_tile)
asks("the first's other", "s", 2, by_tile)
asks("the second's key", "r", 4, by_tile)
asks("the second's other", "s", 8, by_tile)
local function by_turn(r) for i in weir.domain_loop(0, r.n "N") do when(weir.gt(r.q, 0), r.r, "a"); when(weir.gt(r.q, i), r.s); when(weir.gt(r.q, 5), r.s) end end
asks("of two turns: the first's key", "r", 1, by_turn)
asks("what takes the index, in the first", "s", 2, by_turn)
asks("what does not, in both", "s s", 4, by_turn)
asks("the second's key", "r", 8, by_turn)
asks("what takes the index, in the second", "s", 16, by_turn)
local function ahead(r) when(weir.gt(r.q, 0), r.r, "a"); tiles(r, { r.n "N" }, function() for i in weir.domain_loop(0, 2) do when(weir.gt(r.q, i), r.s); when(weir.gt(r.q, 0), r.r, "a") end end) end
asks("a key before the tiles", "r", 1, ahead)
asks("a turn in the first tile", "s", 2, ahead)
asks("the key there is another", "r", 4, ahead)
asks("a turn in the second tile", "s", 32, ahead)
local function loaded(r) -- in every tile
  r.x = r.x or tile(r.k, "x", { tile = { 1, 1 } })
  tiles(r, { r.n "N" }, function(t)
    when(weir.gt(r.x:at(0, t.i):load(), 0), r.r)
    for i in weir.domain_loop(0, 2) do for _ in weir.when_true(weir.eq(i, 0)) do when(weir.gt(r.x:at(1, t.i):load(), 0), r.s) end end
  end)
end
asks("what is loaded in the first tile", "r", 1, loaded)
asks("what is loaded in a loop and a condition there", "s", 2, loaded)
asks("in the second tile", "r", 4, loaded)
asks("and in the loop there", "s", 8, loaded)
alone("sixteen conditions", "r", { truths = 1 << 15 }, function(r) for i = 1, 16 do when(weir.gt(r.q, i), r.r) end end)
alone("seventeen", "there are too many conditions", {}, function(r) for i = 1, 17 do when(weir.gt(r.q, i), r.r) end end)
alone("sixty times one condition", "r", { truths = 1 << 59 }, function(r) for i in weir.domain_loop(0, 60) do when(weir.gt(r.q, i), r.r) end end)
alone("once more", "conditions are asked too often", {}, function(r) for i in weir.domain_loop(0, 61) do when(weir.gt(r.q, i), r.r) end end)

-- ---- clusters ------------------------------------------------------------------------------------------------------------------------------
local function crossed(issue, cta, thread, ...)
  local program = assert(plan.of(lab.gemm { cluster = 2, cluster_n = 2, stages = 1, epilogue = "plain", issue = issue }))
  return some(lines(program, { M = 128, N = 128, K = 64 })[("%s of CTA %d"):format(thread, cta)], ...)
end
tap.is({ "expect_tx ab_full[0] 0 x1 +8192", "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 2", "expect_tx ab_full[0] 0 x1 +8192", "bulk_issue ab_full[0]",
  "bulk_issue ab_full[0] of CTA 1" }, crossed(nil, 0, "load", "expect", "issue"), "loads along n, then along m, by CTA 0")
tap.is({ "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 1", "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 2" }, crossed(nil, 3, "load", "issue"), "by CTA 3")
tap.is({ "arrive ab_empty[0] 0 x1", "arrive ab_empty[0] 0 x1 of CTA 1", "arrive ab_empty[0] 0 x1 of CTA 2" }, crossed(nil, 0, "mma", "arrive ab"), "given back to whoever loads for it: CTA 0")
tap.is({ "arrive ab_empty[0] 0 x1", "arrive ab_empty[0] 0 x1 of CTA 1", "arrive ab_empty[0] 0 x1 of CTA 2" }, crossed(nil, 3, "mma", "arrive ab"), "CTA 3")
for cta, want in pairs { [0] = { "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 2", "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 1" },
  [1] = { "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 3" }, [2] = { "bulk_issue ab_full[0]", "bulk_issue ab_full[0] of CTA 3" }, [3] = {} } do
  tap.is(want, crossed("first", cta, "load", "issue"), "the first along an axis loads for all: CTA " .. cta)
end
-- Tiles that one CTA fetches for all; whoever has taken one tells that CTA.
local function handed(cluster, fetch_all)
  local k = kernel({ arch = "sm_100a", cluster = cluster }, function(k, n)
    local wq = k:work_queue { name = "wq", kind = "clc", axes = { "i" }, extent = { n "N" } }
    k:task { name = "fetch", warps = { 0, 1 }, cta = not fetch_all and { v = 0, m = 0, n = 0, k = 0 } or nil, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
    k:task { name = "take", warps = { 1, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:next() end end }
  end)
  return lines(assert(plan.of(k)), { N = 8 })
end
for name, cluster in pairs { ["along m and n"] = { m = 2, n = 2 }, ["along n"] = { n = 2 }, ["along k"] = { k = 2 } } do
  local all, ctas = handed(cluster), (cluster.m or 1) * (cluster.n or 1) * (cluster.k or 1)
  local issues = { "bulk_issue wq_full[0]" }
  for c = 1, ctas - 1 do issues[#issues + 1] = "bulk_issue wq_full[0] of CTA " .. c end
  tap.is(issues, some(all["fetch of CTA 0"], "issue"), "a tile for all CTAs " .. name)
  tap.is({ "init", "cluster_arrive", "cluster_arrive" }, all["fetch of CTA 1"], "nothing else fetches, " .. name)
  tap.is({ "wait wq_full[0] 0", "arrive wq_empty[0] 0 x1 of CTA 0" }, some(all["take of CTA 1"], "wq_full", "wq_empty"), "who has taken it tells CTA 0, " .. name)
end
tap.is({ "wait wq_full[0] 0", "arrive wq_empty[0] 0 x1 of CTA 0" }, some(handed({ m = 2 }, true)["fetch of CTA 1"], "wq_full", "wq_empty"), "a task of all CTAs: only that of CTA 0 fetches")
-- A multicast in slices, two stages' worth into one: whose copies an issue must not meet. Two that fill one use are slices of it.
local function slices(n)
  local k = kernel({ cluster = { m = 2 } }, function(k, size)
    local s, x = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = P.tma_async { stages = 1 } }, tile(k, "x", { tile = { 16, 64 } })
    k:task { name = "load", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, size "N") do s:acquire(); s:tma_load(x:at(i, 0), { multicast = "m" }); s:commit() end end }
    k:task { name = "get", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, size "N") do s:wait(); s:release() end end }
  end)
  local out = {}
  for move in plan.promela(assert(plan.of(k)), { N = n }):gmatch "d_step { ([^\n]-)  /%* %d+ bulk_issue" do out[#out + 1] = move:match "assert%((live.-)%)" or "" end
  return out
end
tap.is({ "", "", "", "" }, slices(1), "slices of one stage by two CTAs")
tap.is({ "live[2] != 1 && live[7] != 1", "live[3] != 1 && live[6] != 1", "live[0] != 1 && live[5] != 1", "live[1] != 1 && live[4] != 1" },
  { table.unpack(slices(2), 1, 4) }, "what fills it the next time, by either")
cuts("v = 2", "two CTAs share its mmas", kernel({ arch = "sm_100a", cluster = { v = 2 } }, function(k) k:task { name = "t", warps = { 0, 4 }, schedule = function() end } end))
cuts("v = 2 and tensor memory", "it uses tensor memory", require "sm100a".gemm { v = 2, cluster = { 2, 1 } }, { M = 256, N = 64, K = 64 })
agrees("a lone task of two CTAs", "SAFE", kernel({ cluster = { m = 2 } }, function(k) local y = tile(k, "y", { out = true }); k:task { name = "t", warps = { 0, 1 }, schedule = function() y:store(1, y:at(k.cta.m, 0)) end } end), { { N = 1 } })

-- ---- threads and barriers --------------------------------------------------------------------------------------------------------------------
agrees("loops dealt to two warps, which load, and to tasks", "SAFE", kernel({}, function(k, n)
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = P.tma_async { stages = 4, interleave = { 2, 2, 2, 2 } } }
  local x, y = tile(k, "x", { shape = { n "N" * 16, 64 }, tile = { 16, 64 } }), tile(k, "y", { shape = { n "N" * 16, 64 }, tile = { 16, 64 }, out = true })
  k:task { name = "load", warps = { 0, 2 }, schedule = function() for i in weir.domain_loop(0, n "N") do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
  for lane = 0, 1 do
    k:task { name = "put" .. lane, warps = { 4 + lane, 1 }, schedule = function()
      for i in weir.domain_loop(lane, n "N", 2) do s:wait(); y:store(s:read(), y:at(i, 0)); s:release() end
    end }
  end
end), { { N = 0 }, { N = 1 }, { N = 3 } })
do -- each warp of a task takes the turns of its own number
  local k = kernel({}, function(k, n)
    local r = ring(k, "r", { stages = 4, interleave = { 1, 1, 2, 2 } })
    k:task { name = "give", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do fill(r) end end }
    k:task { name = "get", warps = { 1, 2 }, schedule = function() for _ in weir.domain_loop(0, n "N") do use(r) end end }
  end)
  local all = lines(assert(plan.of(k)), { N = 3 })
  tap.is({ { "wait r_full[0] 0", "wait r_full[2] 0" }, { "wait r_full[1] 0" } }, { some(all["get warp 0"] or all["get warp 0 (elected)"], "^wait"), some(all["get warp 1"] or all["get warp 1 (elected)"], "^wait") },
    "turns dealt to the warps of a task")
end
agrees("a task of two warps that loads and takes: its first warp arms and loads", "SAFE", kernel({}, function(k, n)
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1, producer_signaling = "task_warp_leader" } }
  local x = tile(k, "x")
  k:task { name = "t", warps = { 0, 2 }, schedule = function() for _ in weir.domain_loop(0, n "N") do s:acquire(); s:tma_load(x:at(0, 0)); s:commit(); s:wait(); s:release() end end }
end), { { N = 0 }, { N = 1 }, { N = 3 } })
agrees("a body of two warps that brings the bytes", "SAFE", kernel({}, function(k, n)
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.tma_async { stages = 2, producer_signaling = "task_warp_leader" },
    work = { bring = weir.producer_work { code = ";", tx_bytes = 64 }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "load", warps = { 0, 2 }, schedule = function() for _ in weir.domain_loop(0, n "N") do s:acquire(); s:bring(); s:commit(); s:wait(); s:use(); s:release() end end }
end), { { N = 0 }, { N = 1 }, { N = 2 } })
agrees("bodies that join their task's threads", "SAFE", kernel({}, function(k, n)
  local r = ring(k, "r", { code = "w.task_sync();" })
  k:task { name = "a", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do fill(r) end end }
  k:task { name = "b", warps = { 1, 2 }, schedule = function() for _ in weir.domain_loop(0, n "N") do use(r) end end }
end), { { N = 0 }, { N = 1 }, { N = 3 } })
agrees("what one task stages another stores", "SAFE", kernel({}, function(k, n)
  local y = tile(k, "y", { out = true })
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 1 } }
  k:task { name = "a", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, n "N") do o:acquire(); o:store(1); o:commit() end end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do o:wait(); y:tma_store(o:read(), y:at(0, 0)); o:release() end end }
end), { { N = 0 }, { N = 1 }, { N = 3 } })
agrees("two warpgroups with their shares of two staging tiles", "SAFE", kernel({}, function(k, n)
  local y = tile(k, "y", { shape = { 128, 64 }, tile = { 128, 64 }, out = true })
  local o = {}
  for i = 1, 2 do o[i] = k:smem_tile { name = "o" .. i, dtype = "f32", tile = { 128, 64 }, pipeline = P.async_tma { stages = 1 } } end
  k:task { name = "a", warps = { 0, 8 }, schedule = function()
    for _ in weir.domain_loop(0, n "N") do for _, s in ipairs(o) do s:acquire(); s:store(1); s:commit(); s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end end
  end }
end), { { N = 0 }, { N = 1 } })
for want, on in pairs { SAFE = false, ["PROVE-RACE"] = true } do -- each has met its own threads, and drained its own stores
  agrees("two warpgroups with their shares of tiles " .. (on and "that lie on each other" or "beside each other"), want, kernel({}, function(k)
    local y, acc, o = tile(k, "y", { shape = { 256, 64 }, tile = { 128, 64 }, out = true }), k:wgmma_tile { name = "acc", tile = { 128, 64 } }, {}
    for i = 1, 2 do o[i] = k:smem_tile { name = "o" .. i, dtype = "f32", tile = { 128, 64 }, pipeline = P.async_tma { stages = 1 } } end
    k:task { name = "a", warps = { 0, 8 }, schedule = function()
      acc:zero()
      for i, s in ipairs(o) do s:acquire(); s:store(acc:read()); s:commit(); s:wait(); y:tma_store(s:read(), y:at(i - 1, 0)); s:release(); y:drain() end
    end }
  end), { { N = 1 } }, { limit = 30000, far = 60000 }, on and function(program) plan.set(program, "smem", 1, "offset", plan.get(program, "smem", 0, "offset")) end)
end
agrees("a warp that copies by cp.async and stores in bulk", "SAFE", kernel({}, function(k, n)
  local x, y = tile(k, "x"), tile(k, "y", { out = true })
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_async { stages = 2, producer_op = "load" } }
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 1 } }
  k:task { name = "a", warps = { 0, 4 }, schedule = function()
    for _ in weir.domain_loop(0, n "N") do
      o:acquire(); o:store(1); o:commit(); o:wait(); y:tma_store(o:read(), y:at(0, 0)); o:release()
      s:acquire(); s:cp_async(x:at(0, 0)); s:commit()
    end
  end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do s:wait(); s:release() end end }
end), { { N = 0 }, { N = 1 } })
agrees("a register tile that threads set and an mma adds to", "SAFE", kernel({}, function(k)
  local w = k:wgmma_tile { name = "w", tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }
  local x, y = tile(k, "x", { dtype = "bf16" }), tile(k, "y", { out = true })
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function() w:set(1.5); s:wait(); w:mma(s:read(), s:read()); w:drain(); s:release(); y:store(w:read(), y:at(0, 0)) end }
end), { { N = 1 } })
for want, early in pairs { SAFE = false, ["PROVE-PDL"] = true } do
  agrees("the next kernel is let go " .. (early and "before" or "behind") .. " the wait for the last", want, kernel({}, function(k)
    local last, following, r = k:pdl_wait { name = "before" }, k:pdl_launch { name = "after" }, ring(k, "r")
    k:task { name = "a", warps = { 0, 1 }, schedule = function()
      if early then following:launch_griddep() end
      last:wait_griddep()
      if not early then following:launch_griddep() end
      fill(r)
    end }
    k:task { name = "b", warps = { 1, 1 }, schedule = function() use(r) end }
  end), { { N = 1 } })
end
agrees("what a wait may find twice is given back one by one", "PROVE-LOST", kernel({}, function(k)
  local r, q = ring(k, "r", { stages = 4 }), k:scalar { name = "q", dtype = "i32" }
  k:task { name = "a", warps = { 0, 1 }, schedule = function() for _ = 1, 3 do fill(r) end end }
  k:task { name = "b", warps = { 1, 1 }, schedule = function()
    r:wait(); r:use()
    for _ in weir.when_true(weir.gt(q, 0)) do for _ = 1, 2 do r:wait(); r:use() end end
    for _ = 1, 3 do r:release() end
  end }
end), { { N = 1 } })
agrees("a stage before the one that was waited for", "PROVE-RACE", kernel({}, function(k)
  local s, x, y = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 2 } }, tile(k, "x"), tile(k, "y", { out = true })
  k:task { name = "a", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, 2) do s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, 2) do s:wait(); y:store(s:read(1), y:at(0, 0)); s:release() end end }
end), { { N = 1 } })
for _, way in ipairs { "tma", "body" } do
  agrees("two warps that take turns, load and take: by " .. way, "SAFE", kernel({}, function(k, n)
    local pipe = P.tma_async { stages = 2, interleave = { 2, 2, 2, 2 } }
    local x = tile(k, "x", { tile = { 16, 64 } })
    local s
    if way == "tma" then s = k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = pipe }
    else s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = pipe, work = { bring = weir.producer_work { code = ";", tx_bytes = 64 } } } end
    k:task { name = "t", warps = { 0, 2 }, schedule = function()
      for i in weir.domain_loop(0, n "N") do
        s:acquire()
        if way == "tma" then s:tma_load(x:at(i, 0)) else s:bring() end
        s:commit(); s:wait(); s:release()
      end
    end }
  end), { { N = 0 }, { N = 1 }, { N = 3 } })
end
-- Two warps that fill and use a ring of their own: what each body must not meet is named in the model, eight times; nothing when a body joins the
-- warps itself.
for _, o in ipairs { { ";", ";", 8 }, { "w.task_sync();", ";", 0 }, { ";", "w.task_sync();", 0 } } do
  local function own()
    return kernel({}, function(k, n)
      local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 1 },
        work = { fill = weir.producer_work { code = o[1] }, use = weir.consumer_work { code = o[2] } } }
      k:task { name = "t", warps = { 0, 2 }, schedule = function() for _ in weir.domain_loop(0, n "N") do fill(r); use(r) end end }
    end)
  end
  local _, meets = plan.promela(assert(plan.of(own())), { N = 1 }):gsub("assert%(live[^\n]- body,", "")
  tap.is(o[3], meets, ("two warps, their own ring: %s %s"):format(o[1], o[2]))
  agrees(("two warps, their own ring: %s %s"):format(o[1], o[2]), "SAFE", own(), { { N = 0 }, { N = 1 }, { N = 3 } })
end
for _, code in ipairs { ";", "w.task_sync();" } do -- the copies land when they like: who joins the warps has not met those
  local text = plan.promela(assert(plan.of(kernel({}, function(k)
    local x, s = tile(k, "x", { tile = { 16, 64 } }), k:smem_tile { name = "s", dtype = "f32", tile = { 16, 64 }, pipeline = P.async_async { stages = 1, producer_op = "load" } }
    local b = k:resource { name = "b", space = "none", work = { use = weir.consumer_work { params = "view a", code = code } } }
    k:task { name = "t", warps = { 0, 2 }, schedule = function() s:acquire(); s:cp_async(x:at(0, 0)); s:commit(); s:wait(); b:use(s:read()); s:release() end }
  end))), {})
  tap.is(32, select(2, text:gsub("live%[%d+%] != 1", "")), "two warps that copy what a body of theirs reads: " .. code)
end
agrees("a warpgroup's threads write what its mma reads", "PROVE-RACE", kernel({}, function(k)
  local w, s, y = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 64 }, swizzle = 128 }, tile(k, "y", { out = true })
  k:task { name = "t", warps = { 0, 4 }, schedule = function() w:zero(); s:store(1); w:mma(s:read(), s:read()); w:drain(); y:store(w:read(), y:at(0, 0)) end }
end), { { N = 1 } })
-- A warpgroup whose warps give back each for itself: its threads stay apart, warp by warp, when nobody arrives.
do
  local function threads(change)
    local program = assert(plan.of(kernel({}, function(k)
      local r, t = ring(k, "r"), k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } }
      k:task { name = "a", warps = { 4, 1 }, schedule = function() fill(r) end }
      k:task { name = "b", warps = { 0, 4 }, schedule = function() t:zero(); use(r) end }
    end)))
    if change then plan.drop(program, lab.action(program, "arrive", "r_empty")) end
    local out = {}
    for name in pairs(lines(program)) do if name:find "^b" then out[#out + 1] = name end end
    table.sort(out)
    return out
  end
  local four = { "b", "b (elected)", "b (elected, other warps)", "b (other warps)" }
  tap.is({ four, four }, { threads(), threads(true) }, "threads of a warpgroup of which each warp arrives, and should")
end
-- Who meets at a barrier of the task alone: its threads stay apart where they come to what others of them have written.
do
  local function threads(body)
    local program = assert(plan.of(kernel({}, function(k)
      local r = k:resource { name = "r", space = "smem", dtype = "u8", tile = { 64 },
        work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
      local s, y, t = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 } }, tile(k, "y", { out = true }), k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } }
      k:task { name = "t", warps = { 0, 4 }, schedule = function() body(r, s, y, t) end }
    end)))
    local apart = false
    for name in pairs(lines(program)) do apart = apart or name:find "elected" ~= nil end
    return apart
  end
  local function parted(name, want, body) tap.is({ want }, { threads(body) }, name) end
  parted("a body's share of what it fills, twice", false, function(r) r:fill(); r:fill() end)
  parted("and of what it reads then", true, function(r) r:fill(); r:use() end)
  parted("and of what it has read", true, function(r) r:use(); r:fill() end)
  parted("elements that each thread stores and reads", false, function(_, s, y) s:store(1); y:store(s:read(), y:at(0, 0)) end)
  parted("and that it reads turned over", true, function(_, s, y) s:store(1); y:store(s:read():t(), y:at(0, 0)) end)
  parted("its registers", false, function(_, _, y, t) t:zero(); y:store(t:read(), y:at(0, 0)) end)
end
agrees("two tasks that load one stage: the bytes of one are missing", "PROVE-TX", kernel({}, function(k)
  local s, x = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1 } }, tile(k, "x")
  for i = 0, 1 do k:task { name = "load" .. i, warps = { i, 1 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end } end
  k:task { name = "use", warps = { 2, 1 }, schedule = function() s:wait(); s:release() end }
end), { { N = 1 } })
agrees("two tasks that load what lies on each other", "PROVE-RACE", kernel({}, function(k)
  local x = tile(k, "x")
  local s = {}
  for i = 1, 2 do
    s[i] = k:smem_tile { name = "s" .. i, dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1 } }
    k:task { name = "load" .. i, warps = { i - 1, 1 }, schedule = function() s[i]:acquire(); s[i]:tma_load(x:at(0, 0)); s[i]:commit() end }
  end
  k:task { name = "use", warps = { 2, 1 }, schedule = function() for i = 1, 2 do s[i]:wait(); s[i]:release() end end }
end), { { N = 1 } }, nil, function(program) plan.set(program, "smem", 1, "offset", plan.get(program, "smem", 0, "offset")) end)
agrees("two tasks that write one stage", "PROVE-RACE", kernel({}, function(k)
  local r = ring(k, "r", { stages = 1 })
  for i = 0, 1 do k:task { name = "a" .. i, warps = { i, 1 }, schedule = function() fill(r) end } end
  k:task { name = "b", warps = { 2, 1 }, schedule = function() use(r) end }
end), { { N = 1 } })
agrees("two that write what lies on each other", "PROVE-RACE", kernel({}, function(k)
  local r = { ring(k, "r"), ring(k, "s") }
  for i, x in ipairs(r) do k:task { name = "a" .. i, warps = { i - 1, 1 }, schedule = function() fill(x) end } end
  k:task { name = "b", warps = { 2, 1 }, schedule = function() use(r[1]); use(r[2]) end }
end), { { N = 1 } }, nil, function(program) plan.set(program, "smem", 1, "offset", plan.get(program, "smem", 0, "offset")) end)
local function undrained()
  return kernel({}, function(k)
    local w, h = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:wgmma_tile { name = "h", tile = { 64, 64 } }
    local s, x = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }, tile(k, "x", { dtype = "bf16" })
    k:task { name = "load", warps = { 4, 1 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end }
    k:task { name = "t", warps = { 0, 4 }, schedule = function() w:zero(); h:zero(); s:wait(); w:mma(weir.cast(h:read(), "bf16"), s:read()) end }
  end)
end
agrees("an mma whose a lies in registers, and that nobody waits for", "PROVE-EXIT", undrained(), { { N = 1 } })
-- Stages given back down to so many: a loop on the stages that are held, which ends when there is no more room for steps.
do
  local function held(change)
    local program = assert(plan.of(kernel({}, function(k)
      local r, q = ring(k, "r", { stages = 4 }), k:scalar { name = "q", dtype = "i32" }
      k:task { name = "b", warps = { 1, 1 }, schedule = function()
        r:wait(); r:use()
        for _ in weir.when_true(weir.gt(q, 0)) do for _ = 1, 2 do r:wait(); r:use() end end
        r:release(0)
      end }
    end)))
    if change then change(program) end
    local out = {}
    for truth = 0, 1 do
      local all, why = lines(program, { truths = truth })
      out[truth + 1] = all and #some(all["b (elected)"], "r_empty") or why
    end
    return out
  end
  tap.is({ 1, 3 }, held(), "one is held, or three: so many are given back")
  local over = "there are too many steps"
  tap.is({ over, over }, held(function(p) plan.drop(p, lab.action(p, "advance", nil, 4)) end), "a plan that never moves on")
end
do -- slabs of what is pushed: each CTA's own
  local program = assert(plan.of(require "push".split_k { ctas = 3 }))
  local all = lines(program, { M = 64, N = 64, K = 192 })
  tap.is({ { "bulk_push sums_full[0] of CTA 0" }, {} }, { some(all["send of CTA 2"], "push"), some(all["send of CTA 0"], "push") }, "sums go to the first CTA")
end
-- ---- the model -----------------------------------------------------------------------------------------------------------------------------
local function says(name, text, ...) for _, part in ipairs { ... } do tap.like(part, text, name .. ": " .. part) end end
local function model(k, sizes) return plan.promela(assert(plan.of(k)), sizes or {}) end
do -- slabs of a stage and all of it, by threads, before the async proxy reads it
  local function stored()
    return kernel({}, function(k, n)
      local o = k:smem_tile { name = "o", dtype = "f32", tile = { 2, 8, 64 }, pipeline = P.async_tma { stages = 1 } }
      local y = tile(k, "y", { tile = { 2, 8, 64 }, shape = { 2, 8, 64 }, out = true })
      k:task { name = "t", warps = { 0, 4 }, schedule = function()
        for _ in weir.domain_loop(0, n "N") do
          o:acquire(); o:store(1, o:sub(0)); o:store(2); o:store(3, o:sub(1)); o:commit()
          o:wait(); y:tma_store(o:read(), y:at(0, 0, 0)); o:release()
        end
      end }
    end)
  end
  says("a slab is written, then all, then the other slab", model(stored(), { N = 1 }), "filled[0] = 1; assert(live[6] != 1); live[1] = 1; dirty[0] = (dirty[0] & 3) | 2; skip }",
    "dirty[0] = dirty[0] & 3; dirty[1] = (dirty[1] & 3) | 2; dirty[2] = dirty[2] & 3; skip }", "dirty[2] = (dirty[2] & 3) | 2; skip }",
    "assert(dirty[0] == 0); assert(dirty[1] == 0); assert(dirty[2] == 0); assert(filled[1] || filled[0] || filled[2]);")
  agrees("slabs of a stage and all of it", "SAFE", stored(), { { N = 0 }, { N = 1 }, { N = 2 } })
end
says("an mma of two warpgroups: whichever thread of each is first", model(lab.gemm { warpgroups = 2, stages = 1, epilogue = "plain" }, { M = 128, N = 64, K = 64 }),
  "d_step { true && issued[1] >= 1 && issued[2] >= 1 -> live[5] = 2; live[3] = 2; live[4] = 2; skip }", "d_step { true && issued[3] >= 1 && issued[4] >= 1 -> live[11] = 2; live[9] = 2; live[10] = 2; skip }",
  "if :: live[3] == 0 -> assert(filled[0]); assert(live[0] != 1); live[3] = 1 :: else fi;", "if :: live[9] == 0 -> assert(filled[0]); assert(live[0] != 1); live[9] = 1 :: else fi;")
says("an mma that nobody waits for", model(undrained()), "    d_step { assert(live[1] != 1); ended[0] = ended[0] + 1 }")
for _, by in ipairs { "threads", "the tensor core" } do
  local text = model(kernel({}, function(k)
    local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.async_async { stages = 1, producer_op = "load" } }
    local x, w = tile(k, "x", { dtype = "bf16" }), k:wgmma_tile { name = "w", tile = { 64, 64 } }
    k:task { name = "a", warps = { 4, 1 }, schedule = function() s:acquire(); s:cp_async(x:at(0, 0)); s:commit() end }
    k:task { name = "b", warps = { 0, 4 }, schedule = function() s:wait(); if by ~= "threads" then w:zero(); w:mma(s:read(), s:read()); w:drain() end s:release() end }
  end))
  tap.is({ by ~= "threads" }, { text:find("flies[0] = 1", 1, true) ~= nil }, "a cp.async is on its way: what " .. by .. " read")
end
says("waits for other kernels", model(kernel({}, function(k)
  local before, after = k:pdl_wait { name = "before" }, k:pdl_launch { name = "after" }
  k:task { name = "a", warps = { 0, 1 }, schedule = function() before:wait_griddep(); after:launch_griddep() end }
end)), "    waited = 1;  /* 1 grid_wait", "    assert(waited);  /* 2 grid_launch")
says("two hundred phases and ten", model(kernel({}, function(k, n)
  local r = ring(k, "r", { stages = 1 })
  k:task { name = "a", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do fill(r) end end }
  k:task { name = "b", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(0, n "N") do use(r) end end }
end), { N = 210 }), " || phase[0] == 209 || phase[0] == 210);")
do -- a store whose wait is lost still reads when its CTA has ended, though nothing writes what it reads
  local program = assert(plan.of(kernel({}, function(k)
    local o, y = k:smem_tile { name = "o", dtype = "f32", tile = { 64, 64 } }, tile(k, "y", { out = true })
    k:task { name = "t", warps = { 0, 1 }, schedule = function() y:tma_store(o:read(), y:at(0, 0)) end }
  end)))
  tap.is(0, select(2, plan.promela(program, {}):gsub("assert%(live%[0%] != 1%); ended", "")), "a store that is waited for")
  plan.drop(program, lab.action(program, "bulk_wait"))
  tap.is(1, select(2, plan.promela(program, {}):gsub("assert%(live%[0%] != 1%); ended", "")), "one that is not")
end
tap.like("protocol of kernel 'k': every order", kernel({}, function(k) k:task { name = "t", warps = { 0, 1 }, schedule = function() end } end):promela(), "a kernel without sizes")
tap.raises("kernel 'k' has no plan to model: verify tells why", function() kernel({}, function(k) ring(k, "r"); ring(k, "r") end):promela {} end, "a kernel with a fault")
tap.raises("kernel 'k' has no plan to model: verify tells why", function()
  kernel({ cluster = { m = 16 } }, function(k) k:task { name = "t", warps = { 0, 1 }, schedule = function() end } end):promela {}
end, "a plan that cannot be built")
cuts("a load that no barrier counts", "no barrier counts the bytes of a copy", kernel({}, function(k)
  local s, x, y = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 1 } }, tile(k, "x"), tile(k, "y", { out = true })
  k:task { name = "t", warps = { 0, 4 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit(); s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end }
end))
cuts("the tensor core gives a stage back", "the tensor core hands its stages over", kernel({ arch = "sm_100a" }, function(k)
  local s, x = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.tma_umma { stages = 1 } }, tile(k, "x")
  k:task { name = "a", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end }
  k:task { name = "b", warps = { 4, 1 }, schedule = function() s:wait(); s:release() end }
end))
cuts("more threads than a set of them has bits", "there are too many threads", kernel({ cluster = { m = 8 } }, function(k)
  local y = tile(k, "y", { out = true })
  for i = 0, 3 do k:task { name = "t" .. i, warps = { i, 1 }, schedule = function() y:store(1, y:at(0, 0)) end } end
end))
do
  local program = assert(plan.of(kernel({}, function(k) local r = ring(k, "r"); k:task { name = "a", warps = { 0, 1 }, schedule = function() fill(r) end } end)))
  plan.set(program, "cursors", 0, "stages", 3)
  tap.is({ want = "a cursor and its barrier have different depths" }, { want = select(2, lines(program)) }, "tables that contradict each other")
end
-- A stage that one task fills and stores: of its order there is nothing but the task's own.
local function own(name, want, stages, f)
  local program = assert(plan.of(kernel({}, function(k, n)
    local s, y, q = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = stages } }, tile(k, "y", { out = true }), k:scalar { name = "q", dtype = "i32" }
    local function give() s:acquire(); s:store(1); s:commit() end
    local function send() s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end
    k:task { name = "t", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, n "N") do f(give, send, q) end end }
  end)))
  local said = agreement.compare(plan, program, { { N = 0 }, { N = 1 }, { N = 2 } }, { limit = 20000, far = 60000 })
  local kinds = {}
  for _, kind in ipairs(agreement.kinds) do if said.kinds[kind] then kinds[#kinds + 1] = kind end end
  tap.is({ want, wrong = nil }, { table.concat({ said.verdict == "UNSAFE" and said.findings[1].rule or said.verdict, table.unpack(kinds) }, ", "), wrong = said.wrong }, name)
end
own("filled and stored", "SAFE", 1, function(give, send) give(); send() end)
own("two filled, then two stored", "SAFE", 2, function(give, send) give(); give(); send(); send() end)
own("of which there is one stage", "PROVE-LOST, lost", 1, function(give, send) give(); give(); send(); send() end)
own("two filled, one stored", "PROVE-LOST, lost", 4, function(give, send) give(); give(); send() end)
own("filled in one branch", "PROVE-RACE, unfilled", 1, function(give, send, q) for _ in weir.when_true(weir.gt(q, 0)) do give() end; send() end)
own("filled once, stored twice", "PROVE-RACE, unfilled", 1, function(give, send) give(); send(); send() end)
for i = 0, 1 do -- a stage that one task fills and stores, which one side counts as one of fewer
  local program = assert(plan.of(kernel({}, function(k, n)
    local s, y = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = P.async_tma { stages = 2 } }, tile(k, "y", { out = true })
    k:task { name = "t", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, n "N") do s:acquire(); s:store(1); s:commit(); s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end end }
  end)))
  plan.set(program, "cursors", i, "stages", 1)
  local said = agreement.compare(plan, program, { { N = 1 }, { N = 3 } }, { limit = 20000, far = 60000 })
  tap.is({ verdict = "UNSAFE" }, { verdict = said.verdict, wrong = said.wrong }, "a stage that one side takes for another, " .. i)
end
tap.done()
