#!/usr/bin/env lua5.4
-- Work tiles dealt to lanes: what the plan makes of them, runs in the simulator with every loop length and tile count at the borders, and
-- the prover against the explorer.
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local agreement = require "gen.agreement"
local P = weir.pipeline
local B = 32                                           -- elements of a stage

-- y[t][j] = 10 * x[t][j] + the lane that had tile t, for the first steps(t) blocks of each of T rows. o: stages, lanes, producers (lanes
-- of the filling side), interleave (of the stages: a task each), order = false (no turn), steps(tile, K) -> a length, kind (of the queue), lag, skip_one (a guard inside the loop)
local function copy(o)
  local lanes, makers = o.lanes or 2, o.producers or 1
  local k = weir.kernel { name = "dealt", arch = "sm_90a" }
  local T, K, W = k:dim "T", k:dim "K", k:dim("W", { multiple = B })
  local X = k:tensor { name = "x", dtype = "i32", shape = { T, W } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { T, W }, out = true }
  local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind == "atomic" and 2 or nil, axes = { "i" }, extent = { T } }
  local ring = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { B }, bind = { x = X }, const = { B = B },
    pipeline = P.async_async { stages = o.stages or 2, interleave = o.interleave }, work = {
      fill = weir.producer_work { params = "i32 row, i32 block", code = "for (u32 i = tid; i < B; i += nthreads) smem[i] = x[row * x_stride[0] + block * B + (i32)i];" } } }
  local function steps(t) return o.steps and o.steps(t, K) or K end
  local skip = o.skips and function(t) return weir.eq(t.i % 3, 1) end or nil
  local function tiles(lane, n) return weir.work_tile_loop(wq, n > 1 and { lane = lane, lanes = n, skip = skip } or { skip = skip }) end
  local each = o.interleave or 1
  local function loop(t, body, l)
    if each > 1 then for i in weir.domain_loop(l, steps(t), each) do body(i) end return end
    if skip then for _ in t:skippable() do for i in weir.domain_loop(0, steps(t)) do body(i) end end return end
    for i in weir.domain_loop(0, steps(t)) do
      if o.guard then for _ in o.guard(i) do body(i) end else body(i) end
    end
  end
  -- A turn that goes from lane to lane, and from the last back to the first, which may begin.
  local function turns(name, n)
    local function turn(i) return k:barrier { name = name .. i, pipeline = P.async_async { stages = 1 } } end
    local back, hand = nil, {}                          -- hand[w]: from lane w - 1 to w
    if n > 1 and o.order ~= false then
      back = not o.one_way and turn "_back" or nil
      for w = 1, n > 2 and n - 1 or 0 do hand[w] = turn(w) end
    end
    return function(lane)
      if hand[lane] then hand[lane]:wait() end
      if back and lane == 0 then back:acquire() elseif back and lane == n - 1 then back:wait() end
    end, function(lane)
      if hand[lane] then hand[lane]:release() end
      if hand[lane + 1] then hand[lane + 1]:acquire(); hand[lane + 1]:commit() end
      if back and lane == 0 then back:commit() elseif back and lane == n - 1 then back:release() end
    end
  end
  local take, pass = {}, {}
  for l = 0, each - 1 do take[l], pass[l] = turns(l > 0 and "turn_" .. l or "turn", lanes) end
  local begin, over = turns("make", makers)
  for w = 0, makers - 1 do
    k:task { name = "load" .. w, warps = { w, 1 }, schedule = function()
      for t in tiles(w, makers) do
        begin(w)
        loop(t, function(i) ring:acquire(); ring:fill(t.i, i); ring:commit() end, 0)
        over(w)
        wq:next()
      end
    end }
  end
  for l = 1, each - 1 do
    k:task { name = "load_" .. l, warps = { l, 1 }, schedule = function()
      for t in tiles(0, 1) do
        loop(t, function(i) ring:acquire(); ring:fill(t.i, i); ring:commit() end, l)
        wq:next()
      end
    end }
  end
  for w = 0, lanes - 1 do
    local warps = o.warps and o.warps[w + 1] or 1
    local out = k:resource { name = "out" .. w, space = "gmem", bind = { y = Y }, const = { B = B, LANE = w }, work = {
      put = weir.producer_work { params = "view from, i32 row, i32 block",
        code = "for (u32 i = tid; i < B; i += nthreads) y[row * y_stride[0] + block * B + (i32)i] = 10 * from[i] + LANE;" } } }
    for l = 0, each - 1 do
      k:task { name = "put" .. w .. (l > 0 and "_" .. l or ""), warps = { 4 + 4 * w + l, warps }, schedule = function()
        for t in tiles(w, o.of and o.of[w + 1] or lanes) do
          take[l](w)
          loop(t, function(i)
            ring:wait(); out:put(ring:read(), t.i, i)
            if not (o.holds and o.holds[w + 1]) then ring:release(o.lag) end
          end, l)
          if o.lag then ring:release(0) end
          pass[l](w)
          wq:next()
        end
      end }
    end
  end
  if o.kind == "atomic" then
    k:task { name = "fetch", warps = { 3, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end
    end }
  end
  return k
end

-- What y must be; nil: not written.
local function want(T, K, W, lanes, x, length)
  local out = {}
  for t = 0, T - 1 do
    for i = 0, W - 1 do
      local block = i // B
      out[#out + 1] = length(t, block, K) and 10 * x[t * W + i + 1] + t % lanes or -1
    end
  end
  return out
end

local gpu = arg[1] == "gpu" or arg[0]:find "gpu/lanes%.t$"  -- the runs on a GPU, nothing else
local dev = assert(weir.device(gpu and 0 or "sim", not gpu and { seed = 5 } or nil))
local function run(name, o, lengths, tiles, length)
  local ok, program = pcall(function() return copy(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": proved and built") then return tap.diag(tostring(program)) end
  tap.is("SAFE", program.report.proof.verdict, name .. ": for all lengths")
  local off = {}
  for _, K in ipairs(lengths) do
    for _, T in ipairs(tiles) do
      local W = B * math.max(1, K, o.most or 0)
      local x, y = dev:tensor { dtype = "i32", shape = { T, W } }, dev:tensor { dtype = "i32", shape = { T, W } }:fill(-1)
      local numbers = {}
      for i = 1, T * W do numbers[i] = i end
      if T > 0 then x:set(numbers) end
      local fine, why = program:launch({ x = x, y = y, K = K }, { grid = 1 })
      if fine then fine, why = dev:sync() end
      local seen = fine and y:get() or {}
      for i, v in ipairs(fine and want(T, K, W, o.lanes or 2, numbers, length or function(_, block) return block < K end) or { true }) do
        if seen[i] ~= v then
          off[#off + 1] = ("K = %d, T = %d: %s"):format(K, T, why or ("element %d is %s, not %s"):format(i, seen[i], v))
          break
        end
      end
    end
  end
  tap.is({}, off, name .. ": every block by its lane")
  return program
end

local S = 3
local borders = { 0, 1, S - 1, S, S + 1, 2 * S + 1 }
run("two lanes", { stages = S }, borders, { 0, 1, 2, 3, 5 })
run("one stage", { stages = 1 }, { 0, 1, 2, 3 }, { 1, 2, 5 })
run("three lanes", { stages = S, lanes = 3 }, borders, { 0, 1, 2, 3, 4, 7 })
run("releases a step late", { stages = S, lag = 1 }, borders, { 1, 2, 3, 5 })
run("two lanes fill, two empty", { stages = S, producers = 2 }, borders, { 0, 1, 2, 3, 5 })
run("three lanes fill, two empty", { stages = 2, producers = 3 }, { 0, 1, 2, 3 }, { 1, 2, 3, 7 })
run("lengths by the tile", { stages = S, steps = function(t) return t.i end, most = 7 }, { 0 }, { 1, 2, 5, 8 }, function(t, block) return block < t end)
run("every other step", { stages = S, guard = function(i) return i:every(2, 1) end }, borders, { 1, 2, 3, 5 }, function(_, block, K) return block < K and block % 2 == 1 end)
run("the last step", { stages = S, guard = function(i) return i:last_iter() end }, borders, { 1, 2, 5 }, function(_, block, K) return block == K - 1 end)
run("stages dealt to tasks, too", { stages = 4, interleave = 2 }, { 0, 1, 2, 3, 4, 5, 9 }, { 1, 2, 3, 5 })
run("tiles that are skipped", { stages = S, skips = true }, borders, { 1, 2, 5, 8 }, function(t, block, K) return block < K and t % 3 ~= 1 end)
run("a tile a CTA", { stages = S, kind = "grid" }, borders, { 0, 1 })
local fetched = run("tiles from a counter", { stages = S, kind = "atomic" }, { 0, 1, S, S + 1 }, { 0, 1, 2, 3, 5 })
if gpu then tap.done() end
if fetched then tap.like("another lane's tile", fetched:source(), "a lane takes the others' tiles from the queue too") end

-- The skip in the source: a loop in one step, one with a guard as it is.
local text = copy({ stages = S }):build({ device = dev }):source()
tap.like("ring_phase ^= (ring_stage + w_n) / 3 & 1;", text, "a loop is skipped in one step")
tap.ok(not text:match "load0.-task put0":find "_turn", "who takes all tiles skips none")
tap.ok(not copy({ stages = S }):print("barriers"):find "2 warps", "a phase counts one lane's arrivals")

-- ---- what must be found ----------------------------------------------------------------------------------------------------------------

local function refused(name, rule, o)
  local report = copy(o):verify()
  if not tap.ok(not report.ok and report.text:find(rule, 1, true), name .. ": " .. rule) then tap.diag(report.text) end
end
refused("no order between the loops", "PROVE-PARITY", { stages = 2, order = false })
refused("lanes that hand on, but not back", "PROVE-PARITY", { stages = 2, lanes = 3, one_way = true })
refused("a wrong number of lanes", "PROVE-", { stages = 2, of = { 2, 3 } })
refused("a lane of more warps", "V-CNT-06", { stages = 2, warps = { 1, 2 } })
refused("a lane that gives nothing back", "'ring'", { stages = 2, holds = { false, true } })

-- Beside lanes that skip phases, the simulator still sees that a task which takes every phase meets one a lap late. No bytes: nothing
-- else is wrong.
do
  local function signals(device)
    local k = weir.kernel { name = "signals", arch = "sm_90a" }
    local T, K = k:dim "T", k:dim "K"
    local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { T } }
    local ring, turn = k:barrier { name = "ring", pipeline = P.async_async { stages = 2 } }, k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } }
    for w = 0, 1 do
      k:task { name = "give" .. w, warps = { w, 1 }, schedule = function()
        for _ in weir.work_tile_loop(wq, { lane = w, lanes = 2 }) do
          if w == 0 then turn:acquire() else turn:wait() end
          for _ in weir.domain_loop(0, K) do ring:acquire(); ring:commit() end
          if w == 0 then turn:commit() else turn:release() end
          wq:next()
        end
      end }
    end
    k:task { name = "get", warps = { 2, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq) do
        for _ in weir.domain_loop(0, K) do ring:wait(); ring:release() end
        wq:next()
      end
    end }
    return k:build { device = device }
  end
  local said, last, gone = "", "", 0
  for seed = 1, 20 do
    local program = signals(weir.device("sim", { seed = seed }))
    local source, n = program:source():gsub("w_mbar_wait%(ring_empty[^;]*;", ";")
    gone = n
    plan.run_text(program, source)
    local fine, why = program:launch({ T = 6, K = 8 }, { grid = 1 })
    last = why or last
    if not fine and why:find("[sim-lap]", 1, true) then said = why break end
  end
  tap.ok(gone == 2 and said:find("mbarrier 'ring_full'", 1, true), "lanes that wait for nothing: the reader finds a lap")
  if said == "" then tap.diag(last) end
end

-- A lane that forgets to skip, or skips too far.
for _, how in ipairs { "drop", "twice" } do
  local seen, n = {}, 0
  local program = assert(plan.of(copy { stages = 2 }))
  local skips = {}
  local function look(list, skipping)
    for _, x in ipairs(list) do
      if type(x) == "table" then look(x, skipping or x.kind == "skip")
      elseif skipping and plan.get(program, "action", x, "kind") == "advance" then skips[#skips + 1] = x end
    end
  end
  for _, task in ipairs { "put0", "put1" } do look(plan.tree(program, task)) end
  for _, id in ipairs(skips) do
    local broken = assert(plan.of(copy { stages = 2 }))
    plan[how](broken, id)
    local sizes = { tiles = 7 }
    for K = 0, 3 do for T = 1, 3 do sizes[#sizes + 1] = { T = T, K = K, W = 96, tiles = T } end end
    local said = agreement.compare(plan, broken, sizes, { limit = 20000, far = 100000 })
    n = n + 1
    if said.verdict ~= "UNSAFE" or said.wrong then seen[#seen + 1] = ("action %d: %s %s"):format(id, said.verdict, said.wrong or said.text) end
  end
  tap.ok(n >= 2, ("%d skips, %s"):format(n, how))
  tap.is({}, seen, "each is found, and borne out: " .. how)
end

-- ---- the prover against the explorer -----------------------------------------------------------------------------------------------------

for _, c in ipairs {
  { "two lanes", { stages = 2 } }, { "three lanes, one stage", { stages = 1, lanes = 3 } }, { "both sides", { stages = 2, producers = 2 } },
  { "lengths by the tile", { stages = 2, steps = function(t) return t.i end } }, { "no order", { stages = 2, order = false } },
  { "no order, three stages", { stages = 3, order = false } }, { "no order, a step a tile", { stages = 2, order = false, steps = function() return 1 end } },
  { "tiles from a counter", { stages = 2, kind = "atomic" } }, { "tiles that are skipped", { stages = 2, skips = true } },
  { "stages dealt too", { stages = 2, interleave = 2 } }, { "every other step", { stages = 2, guard = function(i) return i:every(2) end } }, { "2 and 3 lanes", { stages = 2, of = { 2, 3 } } },
} do
  local program = assert(plan.of(copy(c[2])))
  local sizes = { tiles = 7 }
  for K = 0, 3 do for T = 0, 5 - K // 2 do sizes[#sizes + 1] = { T = T, K = K, W = 96, tiles = T } end end
  local said = agreement.compare(plan, program, sizes, { limit = 20000, far = 100000 })
  tap.ok(not said.wrong and not said.open, ("%s: %s, and so says the explorer of %d runs"):format(c[1], said.verdict, said.runs))
  if said.wrong or said.open then tap.diag(said.wrong or said.open) end
end
tap.done()
