#!/usr/bin/env lua5.4
-- Groups as kernels have them: what the group's own pipeline says for its members and is held to, what members of a shared side say for
-- each other, and members that no group has taken.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 4 }))
local ROWS, COLS = 8, 32

-- Y = the sum of the members, each of which holds X (a fork: the one stage, read by a task for each member). o: mode, pipeline, cluster,
-- cp: filled by cp.async
local function kernel(pipes, o)
  local k = weir.kernel { name = "shared", arch = "sm_90a", cluster = o.cluster }
  local W = k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { ROWS, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { ROWS, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { ROWS, COLS } }, k:gmem_tile { name = "y", tensor = Y, tile = { ROWS, COLS } }
  local members = {}
  for i, pipe in ipairs(pipes) do
    members[i] = k:smem_tile { name = "m" .. i, dtype = "f32", tile = { ROWS, COLS }, pipeline = pipe, storage = o.mode == "fork" and members[1] or nil }
  end
  local g = k:group { name = "g", mode = o.mode, members = members, pipeline = o.pipeline }
  local function each(body) return function() for j in weir.domain_loop(0, weir.ceil_div(W, COLS)) do body(j) end end end
  local function fill(m, j)
    if m.pipeline.type == "tma_async" then m:tma_load(x:at(0, j)) elseif o.cp then m:cp_async(x:at(0, j)) else m:store(x:at(0, j)) end
  end
  k:task { name = "fill", warps = { 4, 1 }, schedule = each(function(j)
    for i = 1, #pipes do
      local m = g["m" .. i]
      m:acquire()
      if o.mode ~= "fork" or i == #pipes then fill(o.mode == "fork" and g.m1 or m, j) end
      if o.mode ~= "fork" then m:commit() end
    end
    if o.mode == "fork" then g:commit() end
  end) }
  if o.mode == "fork" then
    for i = 1, #pipes do
      local out = i == 1 and y or k:gmem_tile { name = "z" .. i, tensor = k:tensor { name = "Z" .. i, dtype = "f32", shape = { ROWS, W }, out = true }, tile = { ROWS, COLS } }
      k:task { name = "take" .. i, warps = { i == 1 and 0 or 3 + i, i == 1 and 4 or 1 }, schedule = each(function(j)
        local m = g["m" .. i]
        m:wait(); out:store(m:read(), out:at(0, j)); m:release()
      end) }
    end
  else
    k:task { name = "take", warps = { 0, 4 }, schedule = each(function(j)
      if o.mode == "fused_merge" then g:wait() end
      local sum
      for i = 1, #pipes do
        local m = g["m" .. i]
        if o.mode ~= "fused_merge" then m:wait() end
        sum = sum and sum + m:read():load() or m:read():load()
      end
      y:store(sum, y:at(0, j))
      g:release()
    end) }
  end
  return k, g
end

local function counts(k)
  local out = {}
  for _, bar in ipairs(k:barrier_layout()) do out[bar.name] = bar.arrivals end
  return out
end

-- Built, proved and run; arrive counts as wanted.
local function runs(name, want, pipes, o)
  local k = kernel(pipes, o)
  local ok, program = pcall(k.build, k, { device = dev })
  if not tap.ok(ok and program.report.proof.verdict == "SAFE", name .. ": proved") then return tap.diag(program) end
  tap.is(want, counts(k), name .. ": counts")
  local width = 3 * COLS
  local args = { X = dev:tensor { dtype = "f32", shape = { ROWS, width } }:randn(1), Y = dev:tensor { dtype = "f32", shape = { ROWS, width } } }
  for i = 2, o.mode == "fork" and #pipes or 0 do args["Z" .. i] = dev:tensor { dtype = "f32", shape = { ROWS, width } } end
  local launched, message = program:launch(args, { grid = 1 })
  local x, y, wrong = args.X:get(), args.Y:get(), 0
  for i = 1, #x do if y[i] ~= (o.mode == "fork" and 1 or #pipes) * x[i] then wrong = wrong + 1 end end
  tap.is({ true, 0 }, { launched or message, wrong }, name .. ": right")
  k:close()
end
local function report(pipes, o)
  local k = kernel(pipes, o)
  local text = k:verify().text
  k:close()
  return text
end
local function two(a, b) return { P.tma_async(a), P.tma_async(b or a) } end

-- ---- the shared side ------------------------------------------------------------------------------------------------------------

-- What one member says of the shared side holds for all: of a merge the release, of a fork the commit.
for _, mode in ipairs { "merge", "fused_merge" } do
  local full = mode == "merge" and { g_m1_full = 1, g_m2_full = 1 } or { g_full = 2 }
  local function with(empty)
    local out = { g_empty = empty }
    for name, n in pairs(full) do out[name] = n end
    return out
  end
  runs(mode .. ", nothing given", with(4), two { stages = 2 }, { mode = mode })
  runs(mode .. ", consumers of the first", with(128), two({ stages = 2, consumers = 128 }, { stages = 2 }), { mode = mode })
  runs(mode .. ", consumers of the second", with(128), two({ stages = 2 }, { stages = 2, consumers = 128 }), { mode = mode })
  runs(mode .. ", the grain of the second", with(128), two({ stages = 2 }, { stages = 2, grain = "thread" }), { mode = mode })
  runs(mode .. ", TMA beside threads that say 128", with(128), { P.tma_async { stages = 2, consumers = 4 }, P.async_async { stages = 2, consumers = 128 } }, { mode = mode })
  runs(mode .. ", the group's own pipeline", with(128), two { stages = 2 }, { mode = mode, pipeline = P.tma_async { stages = 2, consumers = 128, producers = 2, bytes = 2 * ROWS * COLS * 4 } })
  runs(mode .. ", the group's grain", with(128), two { stages = 2 }, { mode = mode, pipeline = P.tma_async { stages = 2, grain = "thread" } })
end
for i = 1, 2 do
  local function fork(given) return { P.async_async(i == 1 and given or { stages = 2 }), P.async_async(i == 2 and given or { stages = 2 }) } end
  local name = ("fork, %s of member %d"):format("%s", i)
  runs(name:format "producers", { g_full = 32, g_m1_empty = 4, g_m2_empty = 1 }, fork { stages = 2, producers = 32 }, { mode = "fork" })
  runs(name:format "producer_grain", { g_full = 32, g_m1_empty = 4, g_m2_empty = 1 }, fork { stages = 2, producer_grain = "thread" }, { mode = "fork" })
  runs(name:format "producer_op", { g_full = 32, g_m1_empty = 4, g_m2_empty = 1 }, fork { stages = 2, producer_op = "load" }, { mode = "fork", cp = true })
end
runs("fork filled by cp.async", { g_full = 32, g_m1_empty = 4, g_m2_empty = 1 }, { P.async_async { stages = 2 }, P.async_async { stages = 2 } }, { mode = "fork", cp = true })
runs("fork, the group's own pipeline", { g_full = 1, g_m1_empty = 4, g_m2_empty = 1 }, two { stages = 2 },
  { mode = "fork", pipeline = P.tma_async { stages = 2, producers = 1, consumers = 5, bytes = ROWS * COLS * 4 } })

-- ---- the group's own pipeline against what only the plan knows ------------------------------------------------------------------

local own = { stages = 2 }
local function given(more) for key, v in pairs(own) do more[key] = v end return P.tma_async(more) end
local text = report(two { stages = 2 }, { mode = "merge", pipeline = given { producers = 3 } })
tap.like("group_config.t:22: error: group 'g': producers = 3, but its members make 2 [G-CFG-13]\n    expected 2, got 3", text, "producers of a merge: at the group's line")
tap.like("group 'g': producers = 3, but its members make 2", report(two { stages = 2 }, { mode = "fused_merge", pipeline = given { producers = 3 } }), "producers of a fused merge")
tap.like("group 'g': consumers = 4, but its members make 5", report(two { stages = 2 }, { mode = "fork", pipeline = given { consumers = 4 } }), "consumers of a fork")
tap.like("group 'g': bytes = 1024, but its members make 2048 [V-GRP-04]", report(two { stages = 2 }, { mode = "merge", pipeline = given { bytes = 1024 } }), "bytes of a merge are a sum")
tap.like("group 'g': bytes = 2048, but its members make 1024 [V-GRP-04]", report(two { stages = 2 }, { mode = "fork", pipeline = given { bytes = 2048 } }), "bytes of a fork are one load's")
text = report(two { stages = 2 }, { mode = "merge", pipeline = given { consumers = 99 } })
tap.like("pipeline 'm1': consumers = 99, but release makes 4 or 128 arrivals", text, "consumers of a merge: as if the members gave them")
tap.like("group_config.t:22: its group's pipeline", text, "with the group's line")
tap.is(1, select(2, text:gsub("V%-CNT%-11", "")), "said once for all members")
tap.is(nil, report(two { stages = 2 }, { mode = "merge", cluster = { m = 2 }, pipeline = given { cta_layout = { 1, 2, 1, 1 } } }):match "error: [^\n]*", "its layout is the kernel's")
tap.raises("[G-CFG-07]", function() kernel(two { stages = 2 }, { mode = "merge", pipeline = given { cta_layout = { 1, 2, 1, 1 } } }) end, "or is refused")
tap.like("V-CNT-02", report(two { stages = 2 }, { mode = "merge", pipeline = given { consumer_signaling = "task_warp_leader" } }), "its signaling is its members'")
tap.is(nil, report(two { stages = 2 }, { mode = "merge", pipeline = given { advance_on_wait = false } }):match "error: [^\n]*", "a flag that the schedule agrees with")

-- ---- refused groups take nothing ------------------------------------------------------------------------------------------------

-- After each refusal the members are as they were: another group takes them, and a kernel of both runs.
do
  local k = weir.kernel { name = "again", arch = "sm_90a" }
  local other = weir.kernel { name = "other", arch = "sm_90a" }
  local W = k:dim "W"
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { ROWS, W } }, k:tensor { name = "Y", dtype = "f32", shape = { ROWS, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { ROWS, COLS } }, k:gmem_tile { name = "y", tensor = Y, tile = { ROWS, COLS } }
  local function ring(name, pipe, where) return (where or k):smem_tile { name = name, dtype = "f32", tile = { ROWS, COLS }, pipeline = pipe } end
  local a, b = ring("a", P.tma_async { stages = 2 }), ring("b", P.tma_async { stages = 3 })
  local plain = k:smem_tile { name = "plain", dtype = "f32", tile = { ROWS, COLS } }
  local far = ring("far", P.tma_async { stages = 2 }, other)
  local taken = k:group { name = "taken", members = { ring("t", P.tma_async { stages = 2 }) } }
  for _, r in ipairs {
    { "G-CFG-01", { members = {} } },
    { "G-CFG-02", { members = { a, a } } },
    { "G-CFG-02", { members = { a, taken.t } } },
    { "G-CFG-03", { members = { a, plain } } },
    { "G-CFG-04", { members = { a, b } } },
    { "G-CFG-11", { members = { a, ring("u", P.umma_umma { stages = 2 }) } } },
    { "G-CFG-12", { mode = "fork", members = { a, ring("c", P.async_async { stages = 2 }) } } },
    { "G-CFG-13", { members = { ring("p", P.tma_async { stages = 2, consumers = 4 }), a, ring("q", P.tma_async { stages = 2, consumers = 128 }) } } },
    { "V-GRP-02", { members = { a }, pipeline = P.tma_async { stages = 9 } } },
    { "a group, not a resource [C-ARG-01]", { members = { a, taken } } },
    { "'far' belongs to another kernel, 'other' [C-ARG-01]", { members = { a, far } } },
  } do
    local desc = r[2]
    desc.name = "g"
    tap.raises(r[1], function() k:group(desc) end, "refused: " .. r[1])
  end
  local g = k:group { name = "g", members = { a } }
  tap.is({ "merge", 2 }, { g.mode, g.group_pipeline.stages }, "the same name and members once more")
  local seen = {}
  local function steps(body) return function() for j in weir.domain_loop(0, weir.ceil_div(W, COLS)) do body(j) end end end
  local k2 = weir.kernel { name = "fresh", arch = "sm_90a" } -- without what was declared above and is not used
  local W2 = k2:dim "W"
  local x2 = k2:gmem_tile { name = "x", tensor = k2:tensor { name = "X", dtype = "f32", shape = { ROWS, W2 } }, tile = { ROWS, COLS } }
  local y2 = k2:gmem_tile { name = "y", tensor = k2:tensor { name = "Y", dtype = "f32", shape = { ROWS, W2 }, out = true }, tile = { ROWS, COLS } }
  local a2, b2 = ring("a", P.tma_async { stages = 2 }, k2), ring("b", P.tma_async { stages = 3 }, k2)
  tap.raises("G-CFG-04", function() k2:group { name = "ab", members = { a2, b2 } } end, "two members refused")
  local g2 = k2:group { name = "ab", members = { a2 } }
  local function steps2(body) return function() for j in weir.domain_loop(0, weir.ceil_div(W2, COLS)) do body(j) end end end
  k2:task { name = "load", warps = { 4, 1 }, schedule = steps2(function(j)
    g2.a:acquire(); g2.a:tma_load(x2:at(0, j)); g2.a:commit()
    b2:acquire(); b2:tma_load(x2:at(0, j)); b2:commit()
  end) }
  k2:task { name = "store", warps = { 0, 4 }, schedule = steps2(function(j)
    g2.a:wait(); b2:wait(); y2:store(g2.a:read():load() + b2:read():load(), y2:at(0, j)); g2:release(); b2:release()
  end) }
  local p = k2:build { device = dev }
  local xs, ys = dev:tensor { dtype = "f32", shape = { ROWS, 96 } }:randn(2), dev:tensor { dtype = "f32", shape = { ROWS, 96 } }
  local ok, message = p:launch({ X = xs, Y = ys }, { grid = 1 })
  local u, v, wrong = xs:get(), ys:get(), 0
  for i = 1, #u do if v[i] ~= 2 * u[i] then wrong = wrong + 1 end end
  tap.is({ true, 0 }, { ok or message, wrong }, "one in a group of its own, the other in none: a kernel of both runs")
  -- resources of another kernel, wherever one is named
  k:task { name = "t", warps = { 0, 1 }, schedule = steps(function() seen[1], seen[2] = pcall(far.wait, far) g.a:acquire() end) }
  tap.like("wait: 'far' belongs to another kernel, 'other' [C-ARG-01]", seen[2], "a move of another kernel's resource")
  k:alias { { plain }, { far } }
  k:depends { { a, { far } } }
  k:smem_tile { name = "shares", dtype = "f32", tile = { ROWS, COLS }, storage = far }
  k:task { name = "t2", warps = { 1, 1 }, src = { far }, dst = { y }, schedule = function() y:store(x:at(0, 0), y:at(0, 0)) end }
  text = k:verify().text
  for _, what in ipairs { "alias: smem_tile 'far'", "depends: smem_tile 'far'", "storage: smem_tile 'far'", "task 't2': src: smem_tile 'far'" } do
    tap.like(what .. " belongs to another kernel, 'other' [C-ARG-01]", text, "refused: " .. what)
  end
  local mine = weir.kernel { name = "mine", arch = "sm_90a" }
  local T = weir.kernel { name = "third", arch = "sm_90a" }:tensor { name = "T", dtype = "f32", shape = { 64, 64 } }
  mine:gmem_tile { name = "g", tensor = T, tile = { 64, 64 } }
  mine:resource { name = "r", bind = { T = T }, work = { go = weir.consumer_work { code = ";" } } }
  local q = mine:work_queue { name = "q", over = T, tile = { 64, 64 } }
  mine:task { name = "t", warps = { 0, 1 }, schedule = function() for t in weir.work_tile_loop(q) do local _ = t.m + t.n; q:next() end end }
  text = mine:verify().text
  for _, what in ipairs { "gmem_tile 'g'", "work_queue 'q'", "bind 'T' of resource 'r'" } do
    tap.like(what .. ": tensor 'T' belongs to another kernel, 'third' [C-ARG-01]", text, "refused: a tensor in " .. what)
  end
  tap.like("3 errors", text, "and nothing else is said")
end

tap.done()
