#!/usr/bin/env lua5.4
-- The threads of a task that come to elements of a tile which others of them have stored or read: how the plan deals them out, where it lets
-- the threads meet, and that prover, explorer, spin's model and simulator say the same of it where they do not.
--
--   lua5.4 t/shares.t [FROM TO]           random accesses of these seeds, in the simulator
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local campaign, agreement, spin = require "gen.campaign", require "gen.agreement", require "gen.spin"
local shares = require "gen.shares"
local P = weir.pipeline

-- ---- random accesses ---------------------------------------------------------------------------------------------------------------------

-- What the simulator finds in a case, without its n-th meeting where a number is given; nil: nothing, and the right numbers come out.
local function run(case, n)
  local dev = weir.device("sim", { seed = case.seed })
  local k = case.kernel(weir)
  local program = k:build { device = dev }
  if n then
    plan.drop(program, campaign.meetings(plan, program)[n])
    plan.run_text(program, plan.emit(program))
  end
  local args, wanted, dtype = case.launch()
  local given = { X = dev:tensor { dtype = args.X.dtype, shape = args.X.shape }:set(args.X.data) }
  for _, o in ipairs(case.outs) do given[o[1]] = dev:tensor { dtype = dtype, shape = o[2] }:fill(0) end
  local ok, message = program:launch(given, { grid = 1 })
  local off
  for name, list in pairs(ok and wanted or {}) do
    local got = given[name]:get()
    for i = 1, #list do off = off or (got[i] ~= list[i] and ("%s[%d] is %s, not %s"):format(name, i, got[i], list[i])) or nil end
  end
  program:close()
  k:close()
  dev:close()
  return not ok and (tostring(message):match "sim%-[%w-]+" or tostring(message)) or off
end
if arg[1] then
  for seed = tonumber(arg[1]), tonumber(arg[2] or arg[1]) do
    local case = shares.make(seed)
    local k = case.kernel(weir)
    if k:verify().proof.verdict == "SAFE" then tap.is("nothing", run(case) or "nothing", case.name) end
    k:close()
  end
  tap.done()
  return
end
local function same(case, n, verdict)
  local found = run(case, n)
  if (verdict == "SAFE") == not found then return nil end
  return ("%s, and the simulator finds %s"):format(verdict, found or "nothing")
end
local sum = campaign.shares(plan, weir, 1, 6, { limit = 20000, far = 60000, run = same })
tap.is({}, sum.wrong, ("%d tasks, %d meetings left out, %d of them a race: prover, explorer and simulator agree"):format(sum.made, sum.cut, sum.unsafe))
tap.ok(sum.unsafe >= 8 and sum.open <= 8, ("%d undecided by the explorer"):format(sum.open))
sum = campaign.shares(plan, weir, 101, 60, { limit = 4000, far = 12000 })
tap.is({}, sum.wrong, ("%d more, %d meetings left out, %d of them a race: prover and explorer agree"):format(sum.made, sum.cut, sum.unsafe))
tap.ok(sum.unsafe >= 40, sum.unsafe .. " races")
-- Found by these: a thread's older read of a whole word is no newer one of each half.
tap.is("nothing", run(shares.make(91)) or "nothing", "two reads of parts of one word by one thread")

-- ---- one by one ----------------------------------------------------------------------------------------------------------------------------

-- A kernel of one task. f(k, tile, out) -> schedule; tile(name, shape, o): a tile in shared memory, out(shape): a place to store to.
local function kernel(warps, f, o)
  local k = weir.kernel { name = "k", arch = o and o.arch or "sm_90a" }
  local outs, n = {}, k:dim "N"
  local function tile(name, shape, x)
    x = x or {}
    return k:smem_tile { name = name, dtype = x.dtype or "f32", tile = shape, swizzle = x.swizzle, pipeline = x.pipeline, storage = x.storage or nil }
  end
  local function out(shape, dtype)
    local name, at = "Y" .. #outs + 1, {}
    for i = 1, #shape do at[i] = 0 end
    outs[#outs + 1] = { name = name, dtype = dtype or "f32", shape = shape }
    local g = k:gmem_tile { name = name:lower(), tile = shape, tensor = k:tensor { name = name, dtype = dtype or "f32", shape = shape, out = true } }
    return g, g:at(table.unpack(at))
  end
  local schedule = f(k, tile, out)
  k:task { name = "t", warps = { 0, warps }, schedule = function() for _ in weir.domain_loop(0, n) do schedule() end end }
  return k, outs
end
-- In the simulator: the first finding, else "" and what lies in the first out tensor, first and last.
local function simulate(k, outs, change)
  local dev = weir.device("sim", { seed = 2 })
  local program, args = k:build { device = dev, unsafe = not k:verify().ok }, { N = 2 }
  if change then change(program); plan.run_text(program, plan.emit(program)) end
  for _, o in ipairs(outs) do args[o.name] = dev:tensor { dtype = o.dtype, shape = o.shape }:fill(0) end
  local ok, message = program:launch(args, { grid = 1 })
  local got = args[outs[1].name]:get()
  dev:close()
  return ok and "" or tostring(message):match "sim%-[%w-]+", got
end
-- meetings: what the plan adds to the task's own, by their notes. Without them all, it is a race, say all four.
local note = "its bytes are other threads' than before"
local models = 0 -- a few of them
local function check(name, meetings, make)
  local k, outs = make()
  local program, why = plan.of(k)
  if not tap.ok(program, name .. ": a plan") then return tap.diag(why) end
  local function added(p)
    local out = {}
    for _, id in ipairs(campaign.meetings(plan, p)) do if plan.get(p, "action", id, "note") == note then out[#out + 1] = id end end
    return out
  end
  local function cut(p)
    local list = added(p)
    for i = #list, 1, -1 do plan.drop(p, list[i]) end
  end
  tap.is({ meetings, "SAFE" }, { #added(program), (plan.prove(program)) }, name .. ": as many meetings")
  local both = agreement.compare(plan, program, { { N = 2 } }, { limit = 20000, far = 60000 })
  tap.is({}, { both.wrong }, name .. ": so says the explorer")
  tap.is("", (simulate(k, outs)), name .. ": and the simulator")
  if meetings > 0 then
    cut(program)
    both = agreement.compare(plan, program, { { N = 2 } }, { limit = 20000, far = 60000 })
    if not tap.is({ "UNSAFE", "PROVE-RACE" }, { both.verdict, both.findings[1] and both.findings[1].rule, both.wrong }, name .. ": a race without them") then tap.diag(both.text) end
    tap.like("sim-", simulate(k, outs, cut), name .. ": in the simulator, too")
    models = models + 1
    if models % 8 == 1 and spin.there() and both.at.race then tap.is(true, (spin.run(plan.promela(program, both.at.race))), name .. ": and by spin's model") end
  end
  program:close()
  k:close()
end
-- A stage that is stored to in parts and then by TMA.
local function staged(warps, shape, stores, o)
  return function()
    return kernel(warps, function(k, tile, out)
      local s, y, at = tile("s", shape, { pipeline = P.async_tma { stages = 1 }, dtype = o and o.dtype, swizzle = o and o.swizzle }), out(shape, o and o.dtype)
      local r = o and o.rows and k:reg_tile { name = "r", dtype = "f32", tile = { o.rows, shape[#shape] } }
      return function()
        if r then r:set(3) end
        s:acquire(); stores(s, r); s:commit(); s:wait(); y:tma_store(s:read(), at); s:release()
      end
    end)
  end
end
for _, warps in ipairs { 1, 4 } do
  check("a slab and then all, " .. warps .. " warps", 1, staged(warps, { 3, 8, 20 }, function(s) s:store(1, s:sub(1)); s:store(2) end))
  check("the first slab, which begins where all does, and the second, " .. warps .. " warps", 1, staged(warps, { 3, 8, 20 }, function(s) s:store(1, s:sub(0)); s:store(2); s:store(3, s:sub(1)) end))
  check("slabs that begin where all threads have had their turn, " .. warps .. " warps", 0, staged(warps, { 4, 16, 64 }, function(s) s:store(1, s:sub(1)); s:store(2); s:store(3, s:sub(2)) end))
  check("slabs side by side, " .. warps .. " warps", 0, staged(warps, { 3, 8, 20 }, function(s) for i = 0, 2 do s:store(i, s:sub(i)) end; s:store(7, s:sub(1)) end))
  check("slabs in a loop, and all, " .. warps .. " warps", 2, staged(warps, { 3, 8, 20 }, function(s)
    for _ in weir.domain_loop(0, 2) do
      for i in weir.domain_loop(0, 3) do s:store(1, s:sub(i)) end
      s:store(2)
    end
  end))
  check("under a condition, " .. warps .. " warps", 1, staged(warps, { 3, 8, 20 }, function(s)
    for i in weir.domain_loop(0, 2) do for _ in i:last_iter() do s:store(1, s:sub(1)) end end
    s:store(2)
  end))
end
check("fragments, then in order", 1, staged(4, { 64, 64 }, function(s, r) s:store(r:read()); s:store(1) end, { rows = 64 }))
check("in order, then by stmatrix", 1, staged(4, { 64, 64 }, function(s, r) s:store(1); s:store(r:read()) end, { rows = 64, dtype = "bf16", swizzle = 128 }))
check("fragments of slabs of 64 rows", 0, staged(4, { 2, 64, 64 }, function(s, r) s:store(r:read(), s:sub(1)); s:store(r:read(), s:sub(0)) end, { rows = 64 }))
-- read by the threads that stored it
local function read(warps, take, o)
  return function()
    return kernel(warps, function(k, tile, out)
      local s, y, at = tile("s", { 64, 64 }, o), out({ 64, 64 }, o and o.dtype)
      local r = warps == 4 and k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
      return function() s:store(2); take(s, y, at, r); s:store(5) end
    end)
  end
end
for _, warps in ipairs { 1, 2 } do
  check("each thread reads what it stored, " .. warps .. " warps", 0, read(warps, function(s, y, at) y:store(s:read() * 2, at) end))
  check("turned over, " .. warps .. " warps", 2, read(warps, function(s, y, at) y:store(s:read():t(), at) end))
  check("one row for all, " .. warps .. " warps", 2, read(warps, function(s, y, at) y:store(s:read() + s:read():rows(0, 1), at) end))
  check("one column for all, " .. warps .. " warps", 2, read(warps, function(s, y, at) y:store(s:read() + s:read():load():cols(3, 1), at) end))
  check("a load() before it is used, " .. warps .. " warps", 2, read(warps, function(s, y, at) local v = s:read():t():load(); y:store(v, at) end))
end
check("into registers", 2, read(4, function(s, y, at, r) r:set(s:read()); y:store(r:read(), at) end))
-- Parts of a stage by columns, and sources that 16 bytes at a time cannot be taken of.
local function parts(warps, shape, take, o)
  return function()
    return kernel(warps, function(k, tile, out)
      local s = tile("s", shape, o)
      local y, at = out(o and o.out or { 64, 32 }, o and o.to)
      return take(k, s, y, at, tile)
    end)
  end
end
check("half of the columns of what was stored in order", 2, parts(2, { 64, 64 }, function(_, s, y, at)
  return function() s:store(2); y:store(s:read():cols(0, 32), at); s:store(5) end
end))
for _, first in ipairs { 0, 8 } do
  check("columns from " .. first .. " on of fragments", 0, parts(4, { 64, 64 }, function(k, s, y, at)
    local r, h = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }, k:reg_tile { name = "h", dtype = "f32", tile = { 64, 32 } }
    return function() r:set(3); s:store(r:read()); h:set(s:read():cols(first, 32)); y:store(h:read(), at); s:store(r:read()) end
  end))
end
check("columns from 4 on of fragments are other threads'", 2, parts(4, { 64, 64 }, function(k, s, y, at)
  local r, h = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }, k:reg_tile { name = "h", dtype = "f32", tile = { 64, 32 } }
  return function() r:set(3); s:store(r:read()); h:set(s:read():cols(4, 32)); y:store(h:read(), at); s:store(r:read()) end
end))
check("rows of two warpgroups, and half of them", 2, parts(8, { 256, 32 }, function(k, s, y, at)
  local r, h = k:reg_tile { name = "r", dtype = "f32", tile = { 256, 32 } }, k:reg_tile { name = "h", dtype = "f32", tile = { 128, 32 } }
  return function() r:set(3); s:store(r:read()); h:set(s:read():rows(0, 128)); y:store(h:read(), at); s:store(r:read()) end
end, { out = { 128, 32 } }))
for slab = 0, 1 do
  check("the rows of two warpgroups in slab " .. slab .. " of two, and in slab 0", 0, parts(8, { 2, 128, 32 }, function(k, s, y, at)
    local r = k:reg_tile { name = "r", dtype = "f32", tile = { 128, 32 } }
    return function() r:set(3); s:store(r:read(), s:sub(0)); s:store(r:read(), s:sub(1)); r:set(s:read():sub(slab)); y:store(r:read(), at) end
  end, { out = { 128, 32 } }))
end
check("fragments of slabs of 64 rows by number, and one by name", 0, parts(4, { 2, 64, 32 }, function(k, s, y, at)
  local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 32 } }
  return function()
    r:set(3)
    for i in weir.domain_loop(0, 2) do s:store(r:read(), s:sub(i)) end
    r:set(s:read():sub(1)); y:store(r:read(), at)
  end
end))
check("a slab from another in place, an element at a time", 2, parts(1, { 2, 16, 32 }, function(_, s, y, at)
  return function() s:store(2); s:store(s:read():sub(0) + 1, s:sub(1)); y:store(s:read(), at) end
end, { out = { 2, 16, 32 } }))
check("rows of a slab, then those of every slab", 3, parts(1, { 2, 16, 20 }, function(_, s, y, at)
  return function() s:store(1); s:store(2, s:sub(1):rows(0, 8)); y:store(s:read():rows(0, 8), at) end
end, { out = { 2, 8, 20 } }))
check("one column of a stage beside all of another", 2, parts(2, { 64, 1 }, function(_, s, y, at, tile)
  local o = tile("o", { 64, 32 })
  return function() s:store(2); o:store(3); o:store(s:read() + 1); y:store(o:read(), at) end
end))
check("four columns of bf16 to four of f32", 2, parts(1, { 64, 4 }, function(_, s, y, at)
  return function() s:store(2); y:store(s:read(), at) end
end, { dtype = "bf16", out = { 64, 4 } }))
check("f32 in a swizzle, to bf16", 2, parts(2, { 64, 32 }, function(_, s, y, at)
  return function() s:store(2); y:store(s:read(), at); s:store(3) end
end, { swizzle = 128, to = "bf16" }))
check("what lies on each other, in a swizzle and without", 2, function()
  return kernel(2, function(_, tile, out)
    local a = tile("a", { 32, 32 })
    local c = tile("c", { 32, 32 }, { storage = a, swizzle = 128 })
    local y, at = out { 32, 32 }
    return function() a:store(1); y:store(a:read(), at); c:store(2); y:store(c:read(), at) end
  end)
end)
-- Two tiles in one place, each stored and read by fragments.
local function on_storage(x, y)
  return function()
    return kernel(4, function(k, tile, out)
      local a = tile("a", x[1], { dtype = x[2] })
      local c = tile("c", y[1], { dtype = y[2], storage = not y[3] and a })
      if y[3] then k:alias { { a }, { c } } end
      local function of(name, s) return k:reg_tile { name = name, dtype = "f32", tile = s[1] } end
      local r, q = of("r", x), of("q", y)
      local z, at = out(x[1])
      local v, there = out(y[1])
      return function() r:set(3); a:store(r:read()); r:set(a:read()); z:store(r:read(), at); q:set(2); c:store(q:read()); q:set(c:read()); v:store(q:read(), there) end
    end)
  end
end
check("on one storage, fragments of rows of another length", 2, on_storage({ { 64, 16 }, "f32" }, { { 64, 32 }, "bf16" }))
check("on one storage, fragments of another size", 2, on_storage({ { 64, 16 }, "f32" }, { { 64, 16 }, "bf16", true }))
check("on one storage, fragments that lie alike", 0, on_storage({ { 64, 16 }, "f32" }, { { 64, 16 }, "f32" }))
check("in place, from rows that are not written", 2, parts(1, { 2, 16, 8 }, function(_, s, y, at)
  return function() s:store(2); s:store(s:read():sub(0):rows(0, 8) + 1, s:sub(0):rows(8, 8)); y:store(s:read(), at) end
end, { out = { 2, 16, 8 } }))
for _, c in ipairs { { "rows from 32 on of a slab", 96, 64, 32, 64, 2 }, { "rows from 64 on of a slab", 160, 128, 64, 64, 0 } } do
  local name, slab, n, first, m, meetings = table.unpack(c)
  check(name .. ", in another loop than they are stored in", meetings, parts(4, { 2, slab, 8 }, function(k, s, y)
    local r, q = k:reg_tile { name = "r", dtype = "f32", tile = { n, 8 } }, k:reg_tile { name = "q", dtype = "f32", tile = { m, 8 } }
    return function()
      r:set(3)
      for i in weir.domain_loop(0, 2) do
        s:store(r:read(), s:sub(i):rows(0, n))
        if first < 64 then s:store(r:read(), s:sub(i):rows(first, n)) end
      end
      for i in weir.domain_loop(0, 2) do q:set(s:read():sub(i):rows(first, m)) y:store(q:read(), y:at(0, 0)) end
    end
  end, { out = { m, 8 } }))
end
check("rows of two warpgroups that begin at other ones of a slab", 2, parts(8, { 2, 192, 8 }, function(k, s, y, at)
  local r = k:reg_tile { name = "r", dtype = "f32", tile = { 128, 8 } }
  return function() r:set(3); s:store(r:read(), s:sub(1):rows(0, 128)); s:store(r:read(), s:sub(1):rows(64, 128)); r:set(s:read():sub(1):rows(64, 64 * 2)); y:store(r:read(), at) end
end, { out = { 128, 8 } }))
-- Warpgroups that share columns.
local function columns(cols, f, o)
  return function()
    return kernel(8, function(k, tile, out)
      local s = tile("s", { 64, cols }, o)
      local y, at = out({ 64, o and o.half and cols // 2 or cols }, o and o.dtype)
      local w = k:wgmma_tile { name = "w", tile = { 64, cols }, split = "n" }
      local h = o and o.half and k:wgmma_tile { name = "h", tile = { 64, cols // 2 }, split = "n" }
      return function() w:zero(); f(s, w, y, at, h) end
    end)
  end
end
check("columns of each warpgroup", 0, columns(128, function(s, w, y, at)
  s:store(w:read()); w:set(s:read()); y:store(w:read(), at)
end))
check("columns of each warpgroup, by stmatrix", 2, columns(128, function(s, w, y, at) s:store(w:read()); y:store(s:read(), at) end, { dtype = "bf16", swizzle = 128 }))
check("columns of each warpgroup, three groups of 8", 2, columns(48, function(s, w, y, at) s:store(w:read()); y:store(s:read(), at) end, { dtype = "bf16", swizzle = 32 }))
check("columns of two warpgroups, and half of them", 2, columns(64, function(s, w, y, at, h) s:store(w:read()); h:set(s:read():cols(32, 32)); y:store(h:read(), at) end, { half = true }))
for name, c in pairs { ["f32"] = { "f32", 128 }, ["bf16, by stmatrix"] = { "bf16", 128 } } do
  check("columns that each warpgroup stores by TMA, " .. name, 0, columns(128, function(s, w, y, at)
    s:acquire(); s:store(w:read()); s:commit(); s:wait(); y:tma_store(s:read(), at); s:release()
  end, { dtype = c[1], swizzle = c[2], pipeline = P.async_tma { stages = 1 } }))
end
-- Two warpgroups, each of which stores its rows by TMA: whoever deals the rows out to both lets both meet, and who stores its own does not.
local function pair(stores, o)
  return function()
    return kernel(8, function(k, tile, out)
      local dtype = o and o.dtype
      local s, y, at = tile("s", { 128, 64 }, { pipeline = P.async_tma { stages = 1 }, dtype = dtype, swizzle = o and o.swizzle }), out({ 128, 64 }, dtype)
      local r = k:reg_tile { name = "r", dtype = "f32", tile = { 128, 64 } }
      return function() r:set(3); s:acquire(); stores(s, r); s:commit(); s:wait(); y:tma_store(s:read(), at); s:release() end
    end)
  end
end
local function threads_of_joins(make)
  local program = assert(plan.of((make())))
  local out = {}
  for i, id in ipairs(campaign.meetings(plan, program)) do out[i] = plan.get(program, "action", id, "threads") end
  return out
end
for name, c in pairs {
  ["rows of their own"] = { { 128, 128 }, 0, pair(function(s, r) s:store(r:read()) end) },
  ["by stmatrix"] = { { 128, 128 }, 0, pair(function(s, r) s:store(r:read()) end, { dtype = "bf16", swizzle = 128 }) },
  ["rows of either"] = { { 256, 256 }, 0, pair(function(s) s:store(1) end) },
  ["their own, then of either"] = { { 256, 256, 256 }, 1, pair(function(s, r) s:store(r:read()); s:store(1) end) },
} do
  tap.is(c[1], threads_of_joins(c[3]), "two warpgroups store " .. name .. ": threads that meet")
  check("two warpgroups store " .. name, c[2], c[3])
end
-- A stage of which each warpgroup stores its rows, beside others.
local function beside(body)
  return function()
    return kernel(8, function(k, tile, out)
      local s, y, at = tile("s", { 128, 16 }, { pipeline = P.async_tma { stages = 1 } }), out { 128, 16 }
      local p, r = tile("p", { 128, 16 }), k:reg_tile { name = "r", dtype = "f32", tile = { 128, 16 } }
      local z, there = out { 128, 16 }
      return function() body(function(fill) s:acquire(); fill(s); s:commit(); s:wait() end, s, r, y, at, p, z, there) end
    end)
  end
end
for name, c in pairs {
  ["added by TMA, rows of their own"] = { { 128, 128 }, function(use, s, r, y, at) r:set(3); use(function() s:store(r:read()) end); y:tma_reduce_add(s:read(), at); s:release() end },
  ["added by TMA, rows of either"] = { { 256, 256 }, function(use, s, _, y, at) use(function() s:store(1) end); y:tma_reduce_add(s:read(), at); s:release() end },
  ["loaded by each as it has them"] = { { 128, 128 }, function(use, s, r, y, at) r:set(3); use(function() s:store(r:read()) end); y:tma_store(s:read(), at); local v = s:read():load(); r:set(v); s:release() end },
  ["read by others"] = { { 256, 256 }, function(use, s, r, y, at, _, z, there) r:set(3); use(function() s:store(r:read()) end); y:tma_store(s:read(), at); z:store(s:read(), there); s:release() end },
} do
  tap.is(c[1], threads_of_joins(beside(c[2])), "a stage of two warpgroups " .. name .. ": threads that meet")
end
local between = beside(function(use, s, r, y, at, p) p:store(2); use(function() r:set(p:read()); s:store(r:read()) end); y:tma_store(s:read(), at); s:release() end)
tap.is({ 256, 128, 256, 128 }, threads_of_joins(between), "what others wrote, read between the moves of a stage of two warpgroups: threads that meet")
check("what others wrote, read between the moves of a stage of two warpgroups", 2, between)
do -- a body, whose threads may have any of it, says nothing of rows
  local function body()
    local k = weir.kernel { name = "k", arch = "sm_90a" }
    local y, n = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y1", dtype = "f32", shape = { 128, 64 }, out = true }, tile = { 128, 64 } }, k:dim "N"
    local s = k:resource { name = "s", space = "smem", dtype = "f32", tile = { 128, 64 }, pipeline = P.async_tma { stages = 1 },
      work = { fill = weir.producer_work { code = "for (u32 i = tid; i < 128 * 64; i += nthreads) smem[i] = 1;" } } }
    local r = k:reg_tile { name = "r", dtype = "f32", tile = { 128, 64 } }
    k:task { name = "t", warps = { 0, 8 }, schedule = function() for _ in weir.domain_loop(0, n) do r:set(1); s:acquire(); s:fill(); s:commit(); s:wait(); y:tma_store(s:read(), y:at(0, 0)); s:release() end end }
    return k, { { name = "Y1", dtype = "f32", shape = { 128, 64 } } }
  end
  tap.is({ 256, 256 }, threads_of_joins(body), "a body fills what two warpgroups store")
  check("a body fills what two warpgroups store", 0, body)
end
-- Bodies: what one writes others of its task read behind a meeting, unless a body lets them meet itself.
local function bodies(warps, put)
  return function()
    local k = weir.kernel { name = "k", arch = "sm_90a" }
    local y, n = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y1", dtype = "u32", shape = { 256 }, out = true }, tile = { 256 } }, k:dim "N"
    local m = k:resource { name = "m", space = "smem", dtype = "u32", tile = { 256 }, work = {
      put = weir.producer_work { code = "for (u32 i = tid; i < 256; i += nthreads) smem[255 - i] = i;" .. put },
      get = weir.consumer_work { returns = "u32 v", code = "v = smem[tid];" } } }
    k:task { name = "t", warps = { 0, warps }, schedule = function() for _ in weir.domain_loop(0, n) do m:put(); y:store(m:get(), y:at(0)) end end }
    return k, { { name = "Y1", dtype = "u32", shape = { 256 } } }
  end
end
for _, warps in ipairs { 1, 4 } do
  check("a body reads what another wrote, " .. warps .. " warps", 2, bodies(warps, ""))
  tap.is("SAFE", bodies(warps, " task_sync();")():verify().proof.verdict, "one that lets its threads meet, " .. warps .. " warps")
end
do -- what a body's copies bring is there when the full barrier says so
  local k = weir.kernel { name = "k", arch = "sm_90a" }
  local n, s = k:dim "N", k:resource { name = "s", space = "smem", dtype = "f32", tile = { 64 }, pipeline = P.tma_async { stages = 1 },
    work = { fill = weir.producer_work { code = ";", tx_bytes = 256 }, use = weir.consumer_work { code = ";" } } }
  k:task { name = "t", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do s:acquire(); s:fill(); s:commit(); s:wait(); s:use(); s:release() end end }
  local program = assert(plan.of(k))
  local notes = {}
  for i, id in ipairs(campaign.meetings(plan, program)) do notes[i] = plan.get(program, "action", id, "note") end
  tap.is({ "every thread has waited", "release" }, notes, "bytes that a body brings to its own warp: no meeting but the moves'")
  tap.is("SAFE", (plan.prove(program)), "  and none is wanted")
end
-- Two tiles on one storage: the bytes of one lie otherwise than those of the other.
check("what lies on each other", 2, function()
  return kernel(2, function(_, tile, out)
    local a = tile("a", { 32, 32 })
    local b = tile("b", { 64, 32 }, { storage = a, dtype = "bf16", swizzle = 64 })
    local y, at = out { 32, 32 }
    local z, there = out({ 64, 32 }, "bf16")
    return function() a:store(1); y:store(a:read(), at); b:store(2); z:store(b:read(), there) end
  end)
end)
-- Two warps, each of which fills every second stage by itself.
local function dealt(put)
  return function()
    local k = weir.kernel { name = "k", arch = "sm_90a" }
    local n = k:dim "N"
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 3, 8, 20 }, pipeline = P.async_async { stages = 2, interleave = { 2, 2, 1, 1 } } }
    local p = k:smem_tile { name = "p", dtype = "f32", tile = { 3, 8, 20 } }
    local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y1", dtype = "f32", shape = { 3, 8, 20 }, out = true }, tile = { 3, 8, 20 } }
    k:task { name = "fill", warps = { 0, 2 }, schedule = function() for _ in weir.domain_loop(0, n) do s:acquire(); put(s, p); s:commit() end end }
    k:task { name = "out", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, n) do s:wait(); y:store(s:read(), y:at(0, 0, 0)); s:release() end end }
    return k, { { name = "Y1", dtype = "f32", shape = { 3, 8, 20 } } }
  end
end
check("a slab and then all, by each of two warps", 1, dealt(function(s) s:store(1, s:sub(1)); s:store(2) end))
-- Sums of 64 and of 128 rows in tensor memory, a row a lane.
local function tensor(stores)
  return function()
    local k = weir.kernel { name = "k", arch = "sm_100a" }
    local n, outs = k:dim "N", {}
    local function tensor_of(name, shape, dtype, out)
      outs[#outs + 1] = { name = name, dtype = dtype, shape = shape }
      return k:gmem_tile { name = name:lower(), tile = shape, tensor = k:tensor { name = name, dtype = dtype, shape = shape, out = out } }
    end
    local y = tensor_of("Y", { 64, 16 }, "f32", true)
    local b = tensor_of("B", { 16, 64 }, "bf16")
    local function operand(name, rows) return k:smem_tile { name = name, dtype = "bf16", tile = { rows, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } } end
    local sb = operand("sb", 16)
    local a, acc = {}, {}
    for i, rows in ipairs { 64, 128 } do
      a[i] = { tensor_of("A" .. i, { rows, 64 }, "bf16"), operand("sa" .. i, rows) }
      acc[i] = k:tmem_tile { name = "acc" .. i, tile = { rows, 16 }, pipeline = P.umma_async { stages = 1 } }
    end
    local o = k:smem_tile { name = "o", dtype = "f32", tile = { 2, 192, 16 } }
    k:task { name = "load", warps = { 4, 1 }, schedule = function()
      for _ in weir.domain_loop(0, n) do
        sb:acquire(); sb:tma_load(b:at(0, 0)); sb:commit()
        for i = 1, 2 do a[i][2]:acquire(); a[i][2]:tma_load(a[i][1]:at(0, 0)); a[i][2]:commit() end
      end
    end }
    k:task { name = "mma", warps = { 5, 1 }, schedule = function()
      for _ in weir.domain_loop(0, n) do
        sb:wait()
        for i = 1, 2 do a[i][2]:wait(); acc[i]:acquire(); acc[i]:zero(); acc[i]:mma(a[i][2]:read(), sb:read()); acc[i]:commit(); a[i][2]:release() end
        sb:release()
      end
    end }
    k:task { name = "out", warps = { 0, 4 }, schedule = function()
      for _ in weir.domain_loop(0, n) do acc[1]:wait(); acc[2]:wait(); y:store(acc[1]:read(), y:at(0, 0)); stores(o, acc[1]:read(), acc[2]:read()); acc[1]:release(); acc[2]:release() end
    end }
    return k, outs
  end
end
check("rows apart from tensor memory", 0, tensor(function(o, s, t) o:store(s, o:sub(1):rows(0, 64)); o:store(t, o:sub(1):rows(64, 128)) end))
check("all rows twice", 0, tensor(function(o, _, t) o:store(t, o:sub(1):rows(0, 128)); o:store(t * 2.0, o:sub(1):rows(0, 128)) end))
check("rows that begin elsewhere", 2, tensor(function(o, _, t) o:store(t, o:sub(1):rows(0, 128)); o:store(t * 2.0, o:sub(1):rows(64, 128)) end))
check("64 rows and 128", 2, tensor(function(o, s, t) o:store(s, o:sub(1):rows(0, 64)); o:store(t, o:sub(1):rows(0, 128)) end))
-- The hardware's own layout of tensor memory, slab by slab: the second lies behind the first.
do
  local k = weir.kernel { name = "k", arch = "sm_100a" }
  local function operand(name, rows)
    local g = k:gmem_tile { name = name:lower(), tensor = k:tensor { name = name, dtype = "bf16", shape = { rows, 64 } }, tile = { rows, 64 } }
    return g, k:smem_tile { name = "s" .. name, dtype = "bf16", tile = { rows, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
  end
  local a, sa = operand("A", 128)
  local b, sb = operand("B", 64)
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 2, 128, 64 }, out = true }, tile = { 2, 128, 64 } }
  local acc = k:tmem_tile { name = "acc", tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } }
  local o = k:smem_tile { name = "o", dtype = "f32", tile = { 2, 128, 64 }, pipeline = P.async_tma { stages = 1 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function() sa:acquire(); sa:tma_load(a:at(0, 0)); sa:commit(); sb:acquire(); sb:tma_load(b:at(0, 0)); sb:commit() end }
  k:task { name = "mma", warps = { 5, 1 }, schedule = function() sa:wait(); sb:wait(); acc:acquire(); acc:zero(); acc:mma(sa:read(), sb:read()); acc:commit(); sa:release(); sb:release() end }
  k:task { name = "out", warps = { 0, 4 }, schedule = function()
    acc:wait(); o:acquire(); o:store(acc:read(), o:sub(0)); o:store(acc:read() * 2, o:sub(1)); o:commit(); acc:release(); o:wait(); y:tma_store(o:read(), y:at(0, 0, 0)); o:release()
  end }
  local dev = weir.device("sim", { seed = 2 })
  local program = k:build { device = dev }
  local t = dev:tensor { dtype = "f32", shape = { 2, 128, 64 } }:fill(0)
  local ok, message = program:launch({ A = dev:tensor { dtype = "bf16", shape = { 128, 64 } }:fill(1), B = dev:tensor { dtype = "bf16", shape = { 64, 64 } }:fill(1), Y = t }, { grid = 1 })
  tap.ok(ok, "slabs of a stage from tensor memory") tap.diag(message or "")
  local got = t:get()
  tap.is({ 64, 64, 128, 128 }, { got[1], got[128 * 64], got[128 * 64 + 1], got[2 * 128 * 64] }, "each its own")
end

-- ---- what is refused --------------------------------------------------------------------------------------------------------------------------

local function said(make)
  local report = (make()):verify()
  local f = report.findings[1]
  return report.proof.verdict, f and f.message or "", f and f.hint or ""
end
local function in_place(how)
  return function()
    return kernel(4, function(k, tile, out)
      local s, y, at = tile("s", { 64, 64 }), out { 64, 64 }
      local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
      return function() s:store(2); how(s, r); y:store(s:read(), at) end
    end)
  end
end
tap.like("UNSAFE the work of 'fill warp 1' writes 'p' which threads of 'fill warp 0' have written", table.concat({ said(dealt(function(s, p) p:store(3); s:store(p:read()) end)) }, " "), "two warps that work by themselves, in one place")
local verdict, text, hint = said(in_place(function(s) s:store(s:read():t()) end))
tap.is("UNSAFE", verdict, "turned over in place: others may not have read it yet")
tap.like("which other threads of 't warp 3' may still read in the same op", text, "  in words")
tap.like("read it into a reg_tile first, and store that: the threads meet between the two", hint, "  and what mends it")
check("turned over by way of registers", 3, in_place(function(s, r) r:set(s:read():t()); s:store(r:read()) end))
check("element by element in place", 0, in_place(function(s) s:store(s:read() + 1) end))
tap.is("UNSAFE", (said(function()
  return kernel(1, function(_, tile, out)
    local s, y, at = tile("s", { 2, 16, 32 }), out { 2, 16, 32 }
    return function() s:store(2); s:store(s:read():sub(0):rows(4, 8), s:sub(0):rows(0, 8)); y:store(s:read(), at) end
  end)
end)), "rows moved up in place: what is read may have been written")
tap.is("UNSAFE", (said(function()
  return kernel(1, function(_, tile, out)
    local a, y, at = tile("a", { 2, 24, 8 }), out { 2, 24, 8 }
    local c = tile("c", { 3, 16, 8 }, { storage = a })
    return function() a:store(2); c:store(a:read():sub(1):rows(0, 16) + 1, c:sub(1)); y:store(a:read(), at) end
  end)
end)), "a slab in place of one of another size, which begins elsewhere")
-- A row in place is its threads' own, and another row has nothing in common with it: they meet only before, as all was stored four elements
-- at a time, and after. A row beside every row is other threads', too.
for _, warps in ipairs { 1, 4 } do
  for _, cols in ipairs { 20, 64, 512 } do
    local function rows(shape, how)
      return function()
        return kernel(warps, function(_, tile, out)
          local s, y, at = tile("s", shape), out(shape)
          return function() s:store(1); how(s); y:store(s:read(), at) end
        end)
      end
    end
    local function row(name, shape, how) check(("%s, %d columns, %d warps"):format(name, cols, warps), 2, rows(shape, how)) end
    row("a row in place", { 8, cols }, function(s) s:store(s:read():sub(5):load() + 1, s:sub(5)) end)
    row("a row into another", { 8, cols }, function(s) s:store(s:read():sub(4):load() + 1, s:sub(5)) end)
    row("a slab of one row in place", { 4, 1, cols }, function(s) s:store(s:read():sub(2):load() + 1, s:sub(2)) end)
    if cols == 20 then
      local spread = rows({ 8, cols }, function(s) s:store(s:read():load() + s:read():rows(5, 1):load()) end)
      tap.is("UNSAFE", (said(spread)), "a row beside every row, in place, " .. warps .. " warps")
      tap.is("sim-race", (simulate(spread())), "  in the simulator, too")
    end
  end
end
-- in the words of two lines, where the plan's meeting is taken out
do
  local k = staged(2, { 3, 8, 20 }, function(s) s:store(1, s:sub(1)); s:store(2) end)()
  local program = assert(plan.of(k))
  for _, id in ipairs(campaign.meetings(plan, program)) do
    if plan.get(program, "action", id, "note") == note then plan.drop(program, id) break end
  end
  local _, findings = plan.prove(program)
  tap.like("which other threads of 't warp", findings[1].message, "who wrote it")
  tap.like("and has not met them since", findings[1].message, "and why that is one")
end
spin.clean()
tap.done()
