#!/usr/bin/env lua5.4
-- Schedules to actions: what each rare way through lowering gives: the finding, or numbers of the plan. Most kernels are no whole ones.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

local function planned(k)
  local program, why = plan.of(k)
  return program and "" or why, program
end
local function kernel(o, f)
  local k = weir.kernel { name = "k", arch = o.arch or "sm_90a", cluster = o.cluster }
  local r = { k = k }
  if o.with then o.with(k, r) end
  if f then k:task { name = "t", warps = o.warps or { 0, 4 }, schedule = function() f(r) end } end
  return k, r
end
local function low(name, want, o, f)
  local k = kernel(o, f)
  for i, t in ipairs(o) do k:task { name = "u" .. i, warps = t.warps or { 4 * i, 1 }, schedule = t[1] } end
  tap.is(want, (planned(k)), name)
end
local function refuses(name, want, k) tap.is(want, (planned(k)), name) end
local function gm(k, name, o)
  o = o or {}
  local t = o.tensor or k:tensor { name = name:upper(), dtype = o.dtype or "f32", shape = o.shape or o.tile or { 64, 64 }, out = o.out }
  return k:gmem_tile { name = name, tensor = t, tile = o.tile or { 64, 64 } }, t
end
local function sm(k, name, o)
  o = o or {}
  return k:smem_tile { name = name, dtype = o.dtype or "f32", tile = o.tile or { 64, 64 }, swizzle = o.swizzle, storage = o.storage,
    pipeline = o.pipe == nil and P.tma_async { stages = o.stages or 1 } or o.pipe or nil }
end
local function ring(k, name, o)
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async(o or { stages = 2 }), bind = o and o.bind,
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
end
local function fill(x) x:acquire(); x:fill(); x:commit() end

-- ---- rounds: members of a group in turn -------------------------------------------------------------------------------------------------------
local function grouped(o)
  return { arch = o.arch, with = function(k, r)
    local m = {}
    for i, name in ipairs(o.names or { "a", "b" }) do
      m[i] = o.tile and sm(k, name, { tile = o.tile, pipe = o.pipe, dtype = o.dtype, swizzle = o.swizzle }) or ring(k, name)
    end
    local g = k:group { name = "g", mode = o.mode, members = m, fold = o.fold }
    r.g = g
    for _, name in ipairs(o.names or { "a", "b" }) do r[name] = g:member(name) end
  end }
end
low("a member twice before the other", "PLAN-ROUND: task 't' waits for the members of group 'g' in different orders\nPLAN-HELD: task 't' may hold 3 stages of 'g' at once, which has 2\n", grouped { mode = "merge" }, function(r) r.a:wait(); r.a:use(); r.a:wait(); r.a:use(); r.b:wait(); r.b:use(); r.g:release() end)
low("once around, then one of them again", "PLAN-ROUND: task 't' waits for the members of group 'g' in different orders\nPLAN-HELD: task 't' may hold more than 39 stages of 'g' at once, which has 2\n", grouped { mode = "merge" }, function(r) r.a:wait(); r.a:use(); for _ in weir.domain_loop(0, 2) do r.a:wait(); r.a:use() end r.b:wait(); r.b:use(); r.g:release() end)
low("both sides in one task", "", grouped { mode = "merge" }, function(r)
  for _ in weir.domain_loop(0, 2) do fill(r.a); fill(r.b); r.a:wait(); r.a:use(); r.b:wait(); r.b:use(); r.g:release() end
end)
low("commits alone", "", grouped { mode = "merge" }, function(r) r.a:commit(); r.b:commit() end)
low("a fork in two orders", "PLAN-ROUND: task 't' acquires the members of group 'g' in different orders\n", grouped { mode = "fork" }, function(r) for _, n in ipairs { "a", "b", "b", "a" } do r[n]:acquire(); r[n]:fill() end r.g:commit(); r.g:commit() end)
low("waits of a fork in two orders", "", grouped { mode = "fork" }, function(r) for _, n in ipairs { "a", "b", "b", "a" } do r[n]:wait(); r[n]:use(); r[n]:release() end end)
low("a merge acquired in two orders: each member by itself", "", grouped { mode = "merge" }, function(r) for _, n in ipairs { "a", "b", "b", "a" } do fill(r[n]) end end)
local function warp(o) o.warps = { 0, 1 } return o end
low("a load into the member that is not acquired yet", "", warp(grouped { mode = "fork", tile = { 64, 64 } }), function(r) local x = gm(r.k, "x"); r.a:acquire(); r.b:tma_load(x:at(0, 0)); r.b:acquire(); r.a:tma_load(x:at(0, 0)); r.g:commit() end)
-- Whether one arrival arms all members of a fused merge: what its full barrier counts.
local function folded(name, want, o, f)
  o.mode, o.fold, o.tile = "fused_merge", true, { 64, 64 }
  local why, p = planned(kernel(warp(grouped(o)), function(r) f(r, gm(r.k, "x", { dtype = o.dtype })) end))
  tap.is(want, p and plan.get(p, "bars", lab.index(p, "bars", "g_full"), "sum") or why, name)
end
local function loads(...)
  local order = { ... }
  return function(r, x) for _, n in ipairs(order) do r[n]:acquire(); r[n]:tma_load(x:at(0, 0)); r[n]:commit() end end
end
folded("folded", "1 warp that arms of a", {}, loads("a", "b"))
folded("folded, and nobody acquires", "1 warp that arms of a + 1 warp that arms of b", {}, function(r) r.g:wait(); r.g:release() end)
folded("folded, one of two is acquired", "1 warp that arms of a + 1 warp that arms of b", {}, loads "a")
folded("folded, in two orders", "1 warp that arms of a + 1 warp that arms of b", {}, loads("a", "b", "b", "a"))
folded("folded, for the tensor core", "1 warp that arms of a", { arch = "sm_100a", pipe = P.tma_umma { stages = 1 }, dtype = "bf16", swizzle = 128 }, loads("a", "b"))
folded("filled by another mma's sums: not folded", "1 warp of a + 1 warp of b", { arch = "sm_100a", pipe = P.async_umma { stages = 1 }, dtype = "bf16", swizzle = 128 }, function(r) for _, n in ipairs { "a", "b" } do r[n]:acquire(); r[n]:store(1); r[n]:commit() end end)
low("a member given back that nobody holds", "V-BRK-05: task 't': release on 'g.a' finds no stage held, whatever the lengths of loops: one release closes one wait\n", grouped { mode = "fork" }, function(r) r.a:wait(); r.a:use(); r.a:release(); r.a:release() end)
low("a group given back once too often", "V-BRK-05: task 't': release on 'g' finds no stage held, whatever the lengths of loops: one release closes one wait\n", grouped { mode = "merge", names = { "a", "b", "c", "d" } }, function(r) for _, n in ipairs { "a", "b", "c", "d" } do r[n]:wait(); r[n]:use() end r.g:release(); r.g:release() end)
low("sums of two tiles in one group: the second waits for nothing of its own", "PLAN-ZERO: commits 's1' where no mma may have followed zero(): tensor memory would still hold old sums\nPLAN-ZERO: commits 's2' where no mma may have followed zero(): tensor memory would still hold old sums\n", { arch = "sm_100a", with = function(k, r)
  local m = {}
  for i = 1, 2 do m[i] = k:tmem_tile { name = "s" .. i, tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } } end
  local g = k:group { name = "g", mode = "merge", members = m }
  r.s = { g:member "s1", g:member "s2" }
end, warps = { 0, 1 } }, function(r) for _, s in ipairs(r.s) do s:acquire(); s:zero(); s:commit() end end)

-- ---- stages that are held -----------------------------------------------------------------------------------------------------------------------
-- Waits in the first turn of a loop, gives back in the last: is the number that is held counted at run time?
local function ends(name, want, start, stop, step)
  local why, p = planned(kernel({ with = function(k, r) r.r, r.n = ring(k, "r"), k:dim "n" end }, function(r)
    local function of(x) return x == "n" and r.n or x == "-n" and -r.n or x end
    for i in weir.domain_loop(of(start), of(stop), of(step)) do
      for _ in i:first_iter() do r.r:wait(); r.r:use() end
      for _ in i:last_iter() do r.r:release() end
    end
  end))
  tap.is(want, p and { plan.get(p, "cursors", 0, "held_max"), plan.get(p, "cursors", 0, "needs_held") } or why, name)
end
ends("the first turn and the last: one of one", { 1, false }, 0, 1, 1)
ends("of four", { 1, false }, 0, 4, 1)
ends("of two", { 1, false }, 0, 2, 1)
ends("of as many as the launch says", { 1, false }, 0, "n", 1)
ends("of four, from n on", { 1, false }, "n", 4, 1)
ends("by n", { 1, false }, 0, 4, "n")
ends("downwards", { 1, false }, 4, 0, -1)
ends("downwards, once", { 1, false }, 1, 0, -1)
-- advance_on_wait, advance_on_acquire given as false.
local function ahead(pipe) return { with = function(k, r) pipe.stages = 2; r.r = ring(k, "r", pipe) end } end
low("waits twice before it releases", "CN6: advance_on_wait = false, but task 't' waits for 'r' again before it releases\n", ahead { advance_on_wait = false }, function(r) r.r:wait(); r.r:use(); r.r:wait(); r.r:use(); r.r:release(0) end)
low("acquires twice before it commits", "CN6: advance_on_acquire = false, but task 't' acquires 'r' again before it commits\n", ahead { advance_on_acquire = false }, function(r) r.r:acquire(); r.r:fill(); r.r:acquire(); r.r:fill(); r.r:commit(0) end)
low("waits, and another task gives back", "CN6: advance_on_wait = false, but task 't' waits for 'r' and another task releases\n", ahead { advance_on_wait = false }, function(r) r.r:wait(); r.r:use() end)
low("acquires, and another task commits", "CN6: advance_on_acquire = false, but task 't' acquires 'r' and another task commits\n", ahead { advance_on_acquire = false }, function(r) r.r:acquire(); r.r:fill() end)
low("acquires and commits one by one", "", ahead { advance_on_acquire = false, advance_on_wait = false }, function(r) fill(r.r); r.r:wait(); r.r:use(); r.r:release() end)

-- ---- copies ---------------------------------------------------------------------------------------------------------------------------------------
local one = { warps = { 0, 1 } }
local function load(s, place, o) s:acquire(); s:tma_load(place, o); s:commit() end
local function stored(name, want, o, view) -- o: of the stage, and out =, warps =, split =
  low(name, want, { warps = o.warps }, function(r)
    local s, y = sm(r.k, "o", { dtype = o.dtype, tile = o.tile, swizzle = o.swizzle, pipe = P.async_tma { stages = 1 } }), gm(r.k, "y", { out = true, tile = o.out, dtype = o.gdtype })
    local w = o.split and r.k:wgmma_tile { name = "w", tile = o.split, split = "n" }
    if w then w:zero() end
    s:acquire(); s:store(1); s:commit(); s:wait(); y:tma_store(view and view(s:read()) or s:read(), y:at(0, 0)); s:release()
  end)
end
stored("a bulk store of other columns", "PLAN-TILE: copies tiles { 64, 32 } of 'y' from stages { 64, 64 } of 'o'\n", { out = { 64, 32 } })
stored("of another dtype", "PLAN-DTYPE: copies 'y' of bf16 from 'o' of f32\n", { gdtype = "bf16" })
stored("of tf32 as f32", "", { dtype = "tf32" })
stored("of tf32 as bf16", "PLAN-DTYPE: copies 'y' of bf16 from 'o' of tf32\n", { dtype = "tf32", gdtype = "bf16" })
stored("of one row, by two warpgroups", "PLAN-TILE: task 't': y:tma_store stores a stage that does not divide among the task's warpgroups\n", { tile = { 1, 64 }, out = { 1, 64 }, warps = { 0, 8 } })
stored("of slabs, by two warpgroups", "PLAN-TILE: task 't': y:tma_store stores a stage that does not divide among the task's warpgroups\n", { tile = { 2, 64, 64 }, out = { 2, 64, 64 }, warps = { 0, 8 } })
stored("of 128 rows, by two warpgroups", "", { tile = { 128, 64 }, out = { 128, 64 }, warps = { 0, 8 } })
stored("of columns that two warpgroups cannot share, no swizzle", "PLAN-TILE: task 't': y:tma_store stores a stage whose columns do not divide among the task's warpgroups\n", { split = { 64, 128 }, tile = { 64, 32 }, out = { 64, 32 }, warps = { 0, 8 } })
stored("of one span of 128 bytes for two", "PLAN-TILE: task 't': y:tma_store stores a stage whose columns do not divide among the task's warpgroups\n", { split = { 64, 128 }, tile = { 64, 32 }, out = { 64, 32 }, swizzle = 128, warps = { 0, 8 } })
low("rows, then a slab of them", "PLAN-UNSUPPORTED: task 't': s:tma_load works on a part of a tile that no box can be (t, limit, or a single element)\n", one, function(r) load(sm(r.k, "s", { tile = { 64 } }), gm(r.k, "x"):at(0, 0):rows(8, 16):sub(1)) end)
low("rows of 8 bytes, of a resource of the author's own", "PLAN-BOX: inner box of 'y' is 2 elements of 4 bytes\n", {}, function(r)
  local z = r.k:resource { name = "z", space = "smem", dtype = "f32", tile = { 64, 2 }, pipeline = P.async_tma { stages = 1 }, work = { fill = weir.producer_work { code = ";" } } }
  local y = gm(r.k, "y", { out = true, tile = { 64, 2 } })
  z:acquire(); z:fill(); z:commit(); z:wait(); y:tma_store(z:read(), y:at(0, 0)); z:release()
end)
do
  local why, p = planned(kernel({ warps = { 0, 1 } }, function(r)
    local x, t = gm(r.k, "x", { dtype = "bf16", shape = { 128, 128 } })
    local z = gm(r.k, "z", { tensor = t, tile = { 64, 32 } })
    load(sm(r.k, "a", { dtype = "bf16", swizzle = 128 }), x:at(0, 0))
    load(sm(r.k, "b", { dtype = "bf16" }), x:at(0, 0))
    load(sm(r.k, "c", { dtype = "bf16", swizzle = 64, tile = { 64, 32 } }), z:at(0, 0))
    load(sm(r.k, "d", { dtype = "bf16", swizzle = 128 }), x:at(1, 0))
  end))
  tap.is({ { box0 = 64, box1 = 64, name = "X_map", swizzle = 128 }, { box0 = 64, box1 = 64, name = "X_map2", swizzle = 0 }, { box0 = 32, box1 = 64, name = "X_map3", swizzle = 64 } },
    p and lab.rows(p, "tmaps", "name", "swizzle", "box0", "box1") or why, "maps of one tensor: by swizzle and box")
  local k, r = kernel { with = function(k, r) r.x, r.s, r.o = gm(k, "x", { out = true }), sm(k, "s"), sm(k, "o", { pipe = P.async_tma { stages = 1 } }) end }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() load(r.s, r.x:at(0, 0)) end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function() r.o:acquire(); r.o:store(1); r.o:commit(); r.o:wait(); r.x:tma_store(r.o:read(), r.x:at(0, 0)); r.o:release() end }
  why, p = planned(k)
  tap.is({ { name = "X_map", store = true } }, p and lab.rows(p, "tmaps", "name", "store") or why, "one map to load and to store")
end
-- Where a box begins: what is known of the column. n has a multiple, m none.
local function begins(name, want, column, dtype)
  local k = kernel(one, function(r)
    local x, s = gm(r.k, "x", { shape = { 4096, 4096 }, dtype = dtype }), sm(r.k, "s", { dtype = dtype })
    column(function(c) -- on lines of their own: a report says one thing of a line
      s:acquire()
      s:tma_load(x:from(0, c))
      s:commit()
    end, function() return r.k:dim("n", { multiple = 16 }) end, function() return r.k:dim "m" end)
  end)
  local said = {}
  for _, f in ipairs(k:verify { prove = false }.findings) do if f.rule:find "^PLAN%-ALIGN" then said[#said + 1] = f.rule .. ": " .. f.message end end
  tap.is(want, table.concat(said, "; "), name)
end
begins("column 8", "", function(at) at(8) end)
begins("column 6", "PLAN-ALIGN: a box of 'x' begins at column 6, off 16 bytes", function(at) at(6) end)
begins("a dim that is a multiple of 16", "", function(at, dim_n) local n = dim_n() at(n) end)
begins("a dim of which nothing is known", "PLAN-ALIGN-OPEN: a box of 'x' begins at column m, of which it is not known that it is whole 16 bytes", function(at, _, dim_m) local m = dim_m() at(m) end)
begins("4 m", "", function(at, _, dim_m) local m = dim_m() at(m * 4) end)
begins("n times n", "", function(at, dim_n) local n = dim_n() at(n * n) end)
begins("2 m + 2 m + 2", "PLAN-ALIGN-OPEN: a box of 'x' begins at column m * 2 + m * 2 + 2, of which it is not known that it is whole 16 bytes", function(at, _, dim_m) local m = dim_m() at(m * 2 + m * 2 + 2) end)
begins("n - 4", "", function(at, dim_n) local n = dim_n() at(n - 4) end)
begins("n - 3", "PLAN-ALIGN: a box of 'x' begins at column n - 3, off 16 bytes", function(at, dim_n) local n = dim_n() at(n - 3) end)
begins("-n", "", function(at, dim_n) local n = dim_n() at(-n) end)
begins("-n - 1", "PLAN-ALIGN: a box of 'x' begins at column -n - 1, off 16 bytes", function(at, dim_n) local n = dim_n() at(-n - 1) end)
begins("the smaller of n and 8", "", function(at, dim_n) local n = dim_n() at(weir.min(n, 8)) end)
begins("the larger of n and m", "PLAN-ALIGN-OPEN: a box of 'x' begins at column max(n, m), of which it is not known that it is whole 16 bytes", function(at, dim_n, dim_m) local m = dim_m() local n = dim_n() at(weir.max(n, m)) end)
begins("one of 4 and 8", "", function(at, _, dim_m) local m = dim_m() at(weir.select(weir.gt(m, 3), 4, 8)) end)
begins("one of 4 and 7", "PLAN-ALIGN-OPEN: a box of 'x' begins at column select(m > 3, 4, 7), of which it is not known that it is whole 16 bytes", function(at, _, dim_m) local m = dim_m() at(weir.select(weir.gt(m, 3), 4, 7)) end)
begins("an index by 4", "", function(at, dim_n) local n = dim_n() for i in weir.domain_loop(0, n, 4) do at(i) end end)
begins("an index by 4 from 2 on", "PLAN-ALIGN: a box of 'x' begins at column i0, off 16 bytes", function(at, dim_n) local n = dim_n() for i in weir.domain_loop(2, n, 4) do at(i) end end)
begins("an index by 1", "PLAN-ALIGN-OPEN: a box of 'x' begins at column i0, of which it is not known that it is whole 16 bytes", function(at, dim_n) local n = dim_n() for i in weir.domain_loop(0, n) do at(i) end end)
begins("m // 4", "PLAN-ALIGN-OPEN: a box of 'x' begins at column m // 4, of which it is not known that it is whole 16 bytes", function(at, _, dim_m) local m = dim_m() at(m // 4) end)


-- ---- tiles that are used late ------------------------------------------------------------------------------------------------------------------
-- What is loaded from ring s (or what lies on it) in a warpgroup, what happens, and what takes it then.
local function late(name, want, f, o)
  o = o or {}
  low(name, want, { with = function(k, r)
    local pipe = P.tma_async { stages = 2 }
    local s, z = sm(k, "s", { pipe = pipe }), sm(k, "z", { pipe = pipe })
    r.s, r.z = s, z
    if o.group then r.g = k:group { name = "g", mode = "merge", members = { s, z } }; r.s, r.z = r.g:member "s", r.g:member "z" end
    r.y, r.t = gm(k, "y", { out = true })
    r.other = gm(k, "other", { out = true })
    r.v = sm(k, "v", { storage = s, pipe = false })
    r.body = k:resource { name = "body", space = "gmem", bind = { t = r.t }, work = { write = weir.producer_work { code = ";" } } }
    r.far = k:resource { name = "far", space = "gmem", bind = { t = r.other.tensor or gm(k, "third", { out = true, tensor = nil }).tensor }, work = { write = weir.producer_work { code = ";" } } }
  end }, f)
end
late("nothing in between", "", function(r) r.s:wait(); local v = r.s:read():load(); r.y:store(v, r.y:at(0, 0)); r.s:release() end)
late("the stage was given back", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r) r.s:wait(); local v = r.s:read():load(); r.s:release(); r.y:store(v, r.y:at(0, 0)) end)
late("the next stage was waited for", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r) r.s:wait(); local v = r.s:read():load(); r.s:wait(); r.y:store(v, r.y:at(0, 0)); r.s:release(); r.s:release() end)
late("another ring's", "", function(r) r.s:wait(); r.z:wait(); local v = r.s:read():load(); r.z:release(); r.y:store(v, r.y:at(0, 0)); r.s:release() end)
late("a member's, by its group", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r) r.s:wait(); r.z:wait(); local v = r.s:read():load(); r.z:read():load(); r.g:release(); r.y:store(v, r.y:at(0, 0)) end, { group = true })
late("what lies on the stage was stored to", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r) r.s:wait(); local v = r.s:read():load(); r.v:store(1); r.y:store(v, r.y:at(0, 0)); r.s:release() end)
late("what lies on the stage was loaded, the stage given back", "", function(r) r.s:wait(); local v = r.v:read():load(); r.s:release(); r.y:store(v, r.y:at(0, 0)) end)
late("part of a sum", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r) r.s:wait(); local v = r.s:read():load() * 2 + 1; r.s:release(); r.y:store(v, r.y:at(0, 0)) end)
late("in a loop whose end gives back", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", function(r)
  r.s:wait()
  local v = r.s:read():load()
  for _ in weir.domain_loop(0, 3) do r.y:store(v, r.y:at(0, 0)); r.s:release(); r.s:wait() end
  r.s:release()
end)
late("in a loop that only works", "", function(r)
  r.s:wait()
  local v = r.s:read():load()
  for _ in weir.domain_loop(0, 3) do for _ in weir.when_true(weir.gt(r.k:scalar { name = "q", dtype = "i32" }, 0)) do r.y:store(v, r.y:at(0, 0)) end r.z:wait(); r.z:release() end
  r.s:release()
end)
late("loaded in a condition in a loop", "", function(r)
  local q = r.k:scalar { name = "q", dtype = "i32" }
  for _ in weir.domain_loop(0, 3) do for _ in weir.when_true(weir.gt(q, 0)) do r.s:wait(); local v = r.s:read():load(); r.y:store(v, r.y:at(0, 0)); r.s:release() end end
end)
late("a tensor that is written by a store", "PLAN-UNSUPPORTED: takes a tile that was loaded from 'y' before its tensor was written\n", function(r) local v = r.y:at(0, 0):load(); r.y:store(1, r.y:at(0, 0)); r.other:store(v, r.other:at(0, 0)) end)
late("by a body", "PLAN-UNSUPPORTED: takes a tile that was loaded from 'y' before its tensor was written\n", function(r) local v = r.y:at(0, 0):load(); r.body:write(); r.other:store(v, r.other:at(0, 0)) end)
late("another tensor by a body", "", function(r) local v = r.y:at(0, 0):load(); r.far:write(); r.other:store(v, r.other:at(0, 0)) end)
late("another by a store, and into shared memory", "", function(r) local v = r.y:at(0, 0):load(); r.v:store(2); r.other:store(1, r.other:at(0, 0)); r.other:store(v, r.other:at(0, 0)) end)
late("by a bulk sum", "PLAN-UNSUPPORTED: takes a tile that was loaded from 'y' before its tensor was written\n", function(r) local v = r.y:at(0, 0):load(); r.y:tma_reduce_add(r.v:read(), r.y:at(0, 0)); r.y:drain(); r.other:store(v, r.other:at(0, 0)) end)
late("by a bulk store", "PLAN-UNSUPPORTED: takes a tile that was loaded from 'y' before its tensor was written\n", function(r) local v = r.y:at(0, 0):load(); r.y:tma_store(r.v:read(), r.y:at(0, 0)); r.y:drain(); r.other:store(v, r.other:at(0, 0)) end)

-- ---- parts -----------------------------------------------------------------------------------------------------------------------------------------
local function copied(name, want, part) -- by cp.async
  low(name, want, { warps = { 0, 4 } }, function(r) local s = sm(r.k, "s", { pipe = P.async_async { stages = 1, producer_op = "load" } }); s:acquire(); s:cp_async(part(gm(r.k, "x"):at(0, 0))); s:commit() end)
end
copied("cp.async of a whole tile", "", function(v) return v end)
copied("of columns", "PLAN-UNSUPPORTED: task 't': s:cp_async works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", function(v) return v:cols(0, 32) end)
copied("of columns behind others", "PLAN-UNSUPPORTED: task 't': s:cp_async works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", function(v) return v:cols(32, 32) end)
copied("of a slab", "PLAN-UNSUPPORTED: task 't': s:cp_async works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", function(v) return v:sub(3) end)
copied("of what is limited", "PLAN-UNSUPPORTED: task 't': s:cp_async works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", function(v) return v:limit(3) end)
copied("of what is turned", "PLAN-UNSUPPORTED: task 't': s:cp_async copies a tile turned over, which cp.async cannot\n", function(v) return v:t() end)
low("cp.async into a tile that nobody waits for", "", {}, function(r) local s = sm(r.k, "s", { pipe = false }); s:cp_async(gm(r.k, "x"):at(0, 0)) end)
low("cp.async into a tile that has no layout", "PLAN-SWIZZLE: tile 's': swizzle 64: a row of 20 x 4 bytes = 80 is not a multiple of the span; use swizzle = 0, or 32 columns\n", {}, function(r) local s = sm(r.k, "s", { swizzle = 64, tile = { 64, 20 }, pipe = P.async_async { stages = 1 } }); s:acquire(); s:cp_async(gm(r.k, "x", { tile = { 64, 20 } }):at(0, 0)); s:commit() end)
low("cp.async of 24 bytes", "PLAN-SWIZZLE: tile 's': a row of 6 x 4 bytes = 24 is not a multiple of 16, which TMA needs; use 8 columns\n", {}, function(r) local s = sm(r.k, "s", { tile = { 64, 6 }, pipe = P.async_async { stages = 1 } }); s:acquire(); s:cp_async(gm(r.k, "x", { tile = { 64, 6 } }):at(0, 0)); s:commit() end)
-- Stores of threads: to a stage o of { 2, 8, 64 }, or to y.
local function puts(name, want, f, o)
  o = o or {}
  refuses(name, want, kernel({ with = function(k, r)
    r.o = sm(k, "o", { tile = o.tile or { 2, 8, 64 }, dtype = o.dtype, swizzle = o.swizzle, pipe = P.async_async { stages = 1 } })
    r.other = sm(k, "other", { tile = { 2, 8, 64 }, pipe = P.async_async { stages = 1 } })
    r.y, r.n = gm(k, "y", { out = true, tile = o.gtile }), k:dim "n"
    r.w = k:wgmma_tile { name = "w", tile = { 64, o.cols or 64 } }
  end }, function(r) r.o:acquire(); f(r); r.o:commit() end))
end
puts("the whole stage", "", function(r) r.o:store(1) end)
puts("a slab", "", function(r) r.o:store(1, r.o:sub(1)) end)
puts("rows of a slab", "", function(r) r.o:store(1, r.o:sub(1):rows(2, 4)) end)
puts("a slab of a slab", "", function(r) r.o:store(1, r.o:sub(1):sub(2)) end)
puts("an element", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):sub(2):sub(3)) end)
puts("a slab, turned", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):t()) end)
puts("columns of a slab", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):cols(0, 32)) end)
puts("columns of a slab behind others", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):cols(32, 32)) end)
puts("what is limited", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):limit(3)) end)
puts("a slab by number", "", function(r) r.o:store(1, r.o:sub(r.n)) end)
puts("rows of rows of slabs", "", function(r) r.o:store(1, r.o:sub(1)) end, { tile = { 2, 2, 8, 64 } })
puts("rows in slabs of slabs", "", function(r) r.o:store(1, r.o:sub(1):rows(0, 4)) end, { tile = { 2, 2, 8, 64 } })
puts("another stage's place", "", function(r) r.o:store(1, r.other:sub(1)) end)
puts("a place of a tensor", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.y:at(0, 0)) end)
puts("a slab in panels", "", function(r) r.o:store(1, r.o:sub(1)) end, { swizzle = 128 })
puts("sums to a part", "PLAN-UNSUPPORTED: task 't': y:store stores to a part of a tile that cannot be built yet\n", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):t()) end)
puts("sums to a slab", "PLAN-UNSUPPORTED: task 't': y:store stores to a part of a tile that cannot be built yet\n", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):sub(1)) end)
puts("sums to rows", "", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):rows(0, 32)) end)
puts("few columns of sums to a stage", "PLAN-UNSUPPORTED: task 't': o:store stores a value of a single row, or of few columns to shared memory, which cannot be built yet\n", function(r) r.w:zero(); r.o:store(r.w:read():cols(0, 4)) end, { tile = { 64, 4 } })
puts("few columns of sums to a tensor", "", function(r) r.w:zero(); r.y:store(r.w:read():cols(0, 4), r.y:at(0, 0)) end, { gtile = { 64, 4 } })

tap.done()
