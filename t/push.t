#!/usr/bin/env lua5.4
-- CTAs that copy into each other (s:push): proved, run, compared element by element; and broken in every way that proof, plan or
-- simulator must see. t/gpu/push.t makes the runs on a GPU.
local tap = require "tap"
local lab = require "lab"
local push = require "push"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

local gpu = arg[1] == "gpu" or arg[0]:find "gpu/push%.t$"
local dev = assert(weir.device(gpu and 0 or "sim", not gpu and { seed = 6 } or nil))

local function split_k(name, o, sizes)
  local ok, p = pcall(function() return push.split_k(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": built") then return tap.diag(tostring(p)) end
  tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
  for _, size in ipairs(sizes) do
    local right, why = push.run_split_k(p, size[1], size[2], size[3], { device = dev, grid = size.grid })
    if not tap.ok(right, ("%s: %d x %d x %d"):format(name, size[1], size[2], size[3])) then tap.diag(why) end
  end
  p:close()
end
local some = { { 64, 64, 256 }, { 100, 72, 200 }, { 130, 200, 72, grid = 2 }, { 1, 8, 0 }, { 64, 64, 8 } }
if gpu then some[#some + 1] = { 1024, 512, 4104 } end
split_k("split K by 2", {}, some)
split_k("split K by 4", { ctas = 4 }, { { 64, 64, 520 }, { 130, 136, 200, grid = 4 }, { 70, 64, 64 } })
split_k("split K by 3, two stages of sums", { ctas = 3, stages = 2 }, { { 64, 64, 520 }, { 130, 136, 392, grid = 3 } })
split_k("split K by 2 beside another axis", { m = 2 }, { { 130, 64, 264, grid = 4 } })
split_k("split K by 2, tiles from a counter", { kind = "atomic" }, { { 130, 200, 200, grid = 4 } })
split_k("split K by 2, plain rows", { swizzle = 0, bn = 32 }, { { 130, 40, 264, grid = 2 } })

for _, ctas in ipairs { 4, 2 } do
  local p = push.halo({ ctas = ctas, stages = ctas == 4 and 2 or 1 }):build { device = dev }
  tap.is("SAFE", p.report.proof.verdict, ("halo of %d CTAs: proved"):format(ctas))
  for _, size in ipairs { { 8, 32 }, { 20, 100 }, { 40, 200 }, { 3, 8 } } do
    local H, W = table.unpack(size)
    local data, bad = {}, 0
    for i = 1, H * ctas * W do data[i] = i * 7919 % 251 - 125 end
    local x, y = dev:tensor { dtype = "f32", shape = { ctas, H, W } }:set(data), dev:tensor { dtype = "f32", shape = { ctas, H, W } }:fill(-1)
    local ran, why = p:launch({ X = x, Y = y }, { grid = ctas })
    if ran then ran, why = dev:sync() end
    local seen = y:get()
    for h = 0, H - 1 do for c = 0, ctas - 1 do for w = 0, W - 1 do
      local function at(q) return q >= 0 and q < ctas and data[(q * H + h) * W + w + 1] or 0 end
      if seen[(c * H + h) * W + w + 1] ~= at(c - 1) + at(c) + at(c + 1) then bad = bad + 1 end
    end end end
    if not tap.ok(ran and bad == 0, ("halo of %d CTAs: %d x %d"):format(ctas, H, W)) then tap.diag(bad, "wrong;", why or "") end
  end
  p:close()
end
if gpu then tap.done() end

-- ---- the plan ---------------------------------------------------------------------------------------------------------------------
do
  local k, r = push.split_k { ctas = 4 }
  local p = k:build { device = dev }
  local function counts(name) return plan.ranks(p, "bars", lab.index(p, "bars", name)) or plan.get(p, "bars", lab.index(p, "bars", name), "count") end
  tap.is({ 3, 1, 1, 1 }, counts "sums_full", "three CTAs arm the first one's full mbarrier; nobody waits for the others'")
  tap.is(4, counts "sums_empty", "and four warps of the first say to each of them that it has been read")
  tap.is({ 0, 1, 1, 1 }, plan.ranks(p, "action", lab.action(p, "expect_tx", "sums_full")), "whom they arm")
  tap.is({ 0, 1, 1, 1 }, plan.ranks(p, "action", lab.action(p, "bulk_push", "sums_full")), "where they push")
  tap.is({ 14, 0, 0, 0 }, plan.ranks(p, "action", lab.action(p, "arrive", "sums_empty")), "whom the first tells")
  tap.is("w_mbar_expect_remote(sums_full, 0, 16384);", lab.statement(p:source(), lab.action(p, "expect_tx", "sums_full")), "armed from afar")
  tap.is({ 16384, 49152 }, { plan.get(p, "action", lab.action(p, "expect_tx", "sums_full"), "bytes"), plan.get(p, "bars", lab.index(p, "bars", "sums_full"), "tx") },
    "each arms what it brings, the phase is all of it")
  tap.like("w_bulk_push(sums_smem + (u32)(((i32)rank - 1) * 64) * 128 + 24576, part_smem + 8192, 8192, sums_full, 0);", p:source(), "the second panel")
  tap.like("of each warp, for CTA i, arrives on sums_empty, CTA 0's in 1, 2, 3", k:explain(r.sums), "explained")
  tap.like("sums_full, 1 stage: 3 arrivals a phase, 49152 bytes (1 warp that arms x 3, 0, 0, 0 CTAs by rank)", k:explain(r.sums), "explained: the count")
end

-- ---- beside the explorer ------------------------------------------------------------------------------------------------------------
-- CTA 1 loads tiles and pushes them to CTA 0, which stores them.
local function forward(early)
  local k = weir.kernel { name = "forward", arch = "sm_90a", cluster = { k = 2 } }
  local N = k:dim "N"
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { N, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { N, 32 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 8, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
  local function tile(name, stages) return k:smem_tile { name = name, dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = stages } } end
  local a, b = tile("a", 1), tile("b", 1)
  local steps = weir.ceil_div(N, 8)
  k:task { name = "send", warps = { 0, 1 }, cta = { k = 1 }, schedule = function()
    for i in weir.domain_loop(steps) do
      if not early then b:acquire() end
      a:release(0); a:acquire(); a:tma_load(x:at(i, 0)); a:commit(); a:wait()
      if early then b:acquire() end
      b:push(a:read(), { k = 0 }); b:commit()
    end
  end }
  k:task { name = "put", warps = { 1, 1 }, cta = { k = 0 }, schedule = function()
    for i in weir.domain_loop(steps) do b:wait(); y:store(b:read(), y:at(i, 0)); b:release() end
  end }
  return k
end
do
  local agreement = require "gen.agreement"
  local function agree(name, k, verdict, change)
    local p = assert(plan.of(k))
    if change then change(p) end
    local said = agreement.compare(plan, p, { { N = 0 }, { N = 8 }, { N = 16 }, { N = 24 } }, { limit = 200000 })
    tap.is({ verdict }, { said.verdict, said.wrong, said.open }, "explored: " .. name)
  end
  agree("as it is", forward(), "SAFE")
  agree("the source given back at once", forward(true), "UNSAFE")
  local function edit(f) return function(p) f(p, function(...) return lab.action(p, ...) end) end end
  agree("no acquire", forward(), "UNSAFE", edit(function(p, at) plan.drop(p, at("wait", "b_empty")) end))
  agree("no arming", forward(), "UNSAFE", edit(function(p, at) plan.drop(p, at("expect_tx", "b_full")) end))
  agree("bytes short", forward(), "UNSAFE", edit(function(p, at) plan.set(p, "action", at("expect_tx", "b_full"), "bytes", 512) end))
  agree("no wait", forward(), "UNSAFE", edit(function(p, at) plan.drop(p, at("wait", "b_full")) end))
  agree("no release", forward(), "UNSAFE", edit(function(p, at) plan.drop(p, at("arrive", "b_empty")) end))
  agree("no wait for the source", forward(), "UNSAFE", edit(function(p, at) plan.drop(p, at("wait", "a_full")) end))
  agree("released to itself", forward(), "UNSAFE", edit(function(p, at) plan.ranks(p, "action", at("arrive", "b_empty"), 0, 1) end))
  tap.like("bulk_push b_full[0], line ", forward():promela { N = 16 }, "and the model for spin has it")
end

-- ---- what is refused, what the proof finds ---------------------------------------------------------------------------------------------
local function refused(name, k, rule, ...)
  local report = k:verify()
  tap.ok(not report.ok, name .. ": refused")
  for _, text in ipairs { rule, ... } do tap.like(text, report.text, name .. ": " .. text) end
end
refused("the first CTA pushes too", push.split_k { change = "guard" }, "[PLAN-PUSH]", "of CTA 0 goes to that CTA itself (k = 0)")
refused("all into one slab", push.split_k { ctas = 3, change = "slab" }, "[PLAN-PUSH]", "of CTA 2 writes where a push of CTA 1 does, in CTA 0", "expected rows beside 0 to 63, got rows 0 to 63")
-- One push. o: cluster, pipeline (of what is pushed), group, also (more work on it), to(k, i) -> k, swizzle, tile of the target, source (tile),
-- source_swizzle, view(a, x), place(b, k, i), warps, sender (the CTA; -1: all but the first), again(b, a): another push, second: CTA 2 too, by a
-- task of two warps, count (of its steps), outside (the acquire is under no guard).
local function one(o)
  local k = weir.kernel { name = "one", arch = "sm_90a", cluster = o.cluster or { k = 2 } }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 64, 32 } }, k:tensor { name = "Y", dtype = "f32", shape = { 64, 32 }, out = true }
  local from = o.source or { 8, 32 }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = from }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = from, swizzle = o.source_swizzle, pipeline = P.tma_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = o.tile or { 8, 32 }, swizzle = o.swizzle,
    pipeline = o.pipeline or P.tma_async { stages = 1, producer_signaling = o.second and "task_warp_leader" or nil } }
  local to, back = b, b
  if o.group then
    back = k:group { name = "g", mode = "merge", members = { b } }
    to = back:member "b"
  end
  local function send(source, when, target)
    if o.outside then to:acquire() end
    for _ in when() do
      for i in weir.domain_loop(o.count or 8) do
        if not o.outside then to:acquire() end
        if o.also then to:tma_load(x:at(i, 0)) end
        source:release(0); source:acquire(); source:tma_load(x:at(i, 0)); source:commit()
        source:wait()
        local view, options = o.view and o.view(source, x) or source:read(), { k = o.to and o.to(k, i) or 0 }
        if o.place then to:push(view, target or o.place(b, k, i), options) else to:push(view, options) end
        if o.again then o.again(to, source) end
        to:commit()
      end
    end
  end
  k:task { name = "send", warps = { 0, o.warps or 1 }, schedule = function()
    send(a, function() return weir.when_true((o.sender or 1) < 0 and weir.gt(k.cta.k, 0) or weir.eq(k.cta.k, o.sender or 1)) end)
  end }
  if o.second then
    local c = k:smem_tile { name = "c", dtype = "f32", tile = from, pipeline = P.tma_async { stages = 1, producer_signaling = "task_warp_leader" } }
    k:task { name = "send2", warps = { 8, 2 }, schedule = function() send(c, function() return weir.when_true(weir.eq(k.cta.k, 2)) end, b:sub(1)) end }
  end
  k:task { name = "put", warps = { 4, 1 }, schedule = function()
    for _ in weir.when_true(weir.eq(k.cta.k, 0)) do
      for i in weir.domain_loop(o.count or 8) do
        to:wait()
        if o.tile then y:store(to:read():sub(1):load(), y:at(i, 0)) else y:store(to:read(), y:at(i, 0)) end
        back:release()
      end
    end
  end }
  return k
end
tap.ok(one({}):verify().ok, "one push: as it should be")
refused("no cluster along k", one { cluster = { m = 2 } }, "[PLAN-PUSH]", "needs a cluster with CTAs along k")
refused("a tile that threads fill", one { pipeline = P.async_async { stages = 1 } }, "[PLAN-PUSH]", "brings bytes on the mbarrier of a tma_async pipeline, which this tile has not")
refused("a member of a group", one { group = true }, "[PLAN-PUSH]", "this one is in a group")
refused("a tile that is loaded, too", one { also = true }, "[PLAN-PUSH]", "fills a stage that other work fills too")
refused("a target by the step", one { to = function(_, i) return i % 2 end }, "[PLAN-PUSH]", "which does not follow from the CTA alone")
refused("a target past the end", one { to = function(k) return k.cta.k + 1 end }, "[PLAN-PUSH]", "of CTA 1 goes to k = cta.k + 1, which is 2", "expected 0 to 1, got 2")
refused("another swizzle", one { swizzle = 128 }, "[PLAN-PUSH]", "copies bytes as they lie, and the two tiles lie differently")
refused("another shape", one { tile = { 4, 32 } }, "[V-ATOM-01]", "a tile of 'a' is { 8, 32 }, 'b' is { 4, 32 }")
refused("half the rows", one { tile = { 4, 32 }, view = function(a) return a:read():rows(4, 4) end }, "[PLAN-PUSH]", "takes a part of a view other than slabs")
refused("a task whose warps would each arm", one { warps = 2 }, "[V-CNT-03]", "task_warp_leader")
refused("guards that no CTA meets", one { sender = 2 }, "[PLAN-PUSH]", "is reached by no CTA")
refused("an acquire under no guard", one { outside = true, count = 1 }, "[PLAN-PUSH]", "b:acquire is reached by CTA 0, which pushes nothing")
refused("two targets", one { cluster = { k = 3 }, again = function(b, a) b:push(a:read(), { k = 2 }) end }, "[PLAN-PUSH]", "of CTA 1 goes to CTA 2, and another to CTA 0")
refused("twice into one place", one { again = function(b, a) b:push(a:read(), { k = 0 }) end }, "[PLAN-PUSH]",
  "of CTA 1 writes where a push of CTA 1 does, in CTA 0", "t/push.t:")
local function slab(i) return { tile = { 3, 8, 32 }, cluster = { k = 3 }, sender = -1, place = i, count = 4 } end
refused("a slab by the step, of several senders", one(slab(function(b, _, i) return b:sub(i % 3) end)), "[PLAN-PUSH]", "where it writes does not follow from the CTA alone",
  "CTAs 1 and 2 both push into 'b' of CTA 0")
tap.ok(one(slab(function(b, k) return b:sub(k.cta.k) end)):verify().ok, "a slab by the CTA, of several senders: as it should be")
refused("slabs inside an atom of the swizzle", one { tile = { 3, 4, 32 }, source = { 4, 32 }, swizzle = 128, source_swizzle = 128, place = function(b) return b:sub(1) end },
  "[PLAN-PUSH]", "takes a slab that begins inside an atom of the swizzle, which is 8 rows")
refused("what lies in no shared memory", one { view = function(_, x) return x:at(0, 0) end }, "[V-ATOM-03]", "reads from shared memory")
refused("other senders, other warps", one { cluster = { k = 3 }, tile = { 3, 8, 32 }, place = function(b) return b:sub(0) end, second = true }, "[PLAN-PUSH]",
  "is filled by 1 warp of 1 task in CTA 1, by 2 warps of 1 task in CTA 2")
refused("the source is given back at once", push.split_k { change = "early" }, "[PROVE-RACE]", "writes 'part' while the push of 'send of CTA 1' may still read it",
  "acquire the pushed stage again before its source is written")
refused("the sums are never given back", push.split_k { change = "release" }, "[V-BRK-03]", "load on 'sums' without release after it")
refused("a halo given back a step too soon", push.halo { ctas = 2, stages = 2, change = "early" }, "[PROVE-RACE]", "while the push of 'send of CTA")
tap.done()
