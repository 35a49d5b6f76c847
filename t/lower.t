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
  local k = weir.kernel { name = "k", arch = o.arch or "sm_90a", cluster = o.cluster, ctas_per_sm = o.ctas }
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
-- Stages of a are read by threads and given back by another task: what tells that task, a load into a member of g, fences in front of its arming.
do
  local k, r = kernel { with = function(k, r)
    r.a, r.x, r.y = sm(k, "a"), gm(k, "x"), gm(k, "y", { out = true })
    r.g = k:group { name = "g", mode = "merge", members = { sm(k, "b"), sm(k, "c") } }
  end }
  local function load(s) s:acquire(); s:tma_load(r.x:at(0, 0)); s:commit() end
  local b, c = r.g:member "b", r.g:member "c"
  k:task { name = "load", warps = { 0, 1 }, schedule = function() load(r.a) end }
  k:task { name = "half", warps = { 1, 1 }, schedule = function() r.a:wait(); r.y:store(r.a:read(), r.y:at(0, 0)); load(b); load(c) end }
  k:task { name = "add", warps = { 4, 4 }, schedule = function() b:wait(); c:wait(); r.g:release(); r.a:release() end }
  local why, p = planned(k)
  local seen = {}
  for _, a in ipairs(p and plan.tree(p, "half") or {}) do seen[#seen + 1] = plan.get(p, "action", a, "kind") end
  tap.is("wait, advance, body, body, wait, fence_async, warp_sync, expect_tx, bulk_issue, fence_async, warp_sync, expect_tx, advance, bulk_issue, advance",
    p and table.concat(seen, ", ") or why, "a load into each of two members tells of reads")
end
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
    s:acquire(); s:store(1); s:commit(); s:wait(); y[o.by or "tma_store"](y, view and view(s:read()) or s:read(), y:at(0, 0)); s:release()
  end)
end
stored("a bulk store of other columns", "PLAN-TILE: copies tiles { 64, 32 } of 'y' from stages { 64, 64 } of 'o'\n", { out = { 64, 32 } })
stored("of another dtype", "PLAN-DTYPE: copies 'y' of bf16 from 'o' of f32\n", { gdtype = "bf16" })
stored("of tf32 as f32", "", { dtype = "tf32" })
stored("a sum of e4m3", "PLAN-DTYPE: task 't': y:tma_reduce_add adds elements of e4m3, which the copy engine cannot\n", { dtype = "e4m3", gdtype = "e4m3", by = "tma_reduce_add" })
stored("a sum of 16-bit numbers", "PLAN-DTYPE: task 't': y:tma_reduce_add adds elements of i16, which the copy engine cannot\n", { dtype = "i16", gdtype = "i16", by = "tma_reduce_add" })
stored("a sum of bf16", "", { dtype = "bf16", gdtype = "bf16", by = "tma_reduce_add" })
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


-- ---- where a TMA store begins ---------------------------------------------------------------------------------------------------------------
-- place(y, n, m, q): where a ring's stage goes, at a row; n is a dim of at least 8, m any. Seen on an H200: in front of a tensor is an
-- illegal instruction.
local function stores(name, want, place)
  local k = weir.kernel { name = "front", arch = "sm_90a" }
  local n, m = k:dim("n", { min = 8 }), k:dim "m"
  local y = gm(k, "y", { shape = { 4096, 4096 }, out = true })
  local s = sm(k, "s", { pipeline = weir.pipeline.async_tma { stages = 2 } })
  k:task { name = "fill", warps = { 0, 4 }, schedule = function()
    local function at(...) y:tma_store(s:read(), ...) end
    s:acquire()
    s:store(1.0)
    s:commit()
    s:wait()
    place(at, y, n, m, k)
    s:release()
  end }
  local said = {}
  for _, f in ipairs(k:verify { prove = false }.findings) do if f.rule:find "^PLAN%-FRONT" then said[#said + 1] = f.rule .. ": " .. f.message end end
  tap.is(want, table.concat(said, "; "), name)
  k:close()
end
local function not_known(text, axis)
  return ("PLAN-FRONT-OPEN: a store into 'y' begins at %s along axis %d of its tensor, of which it is not known that it is not in front of it"):format(text, axis or 0)
end
stores("row -1", "PLAN-FRONT: a store into 'y' begins at -1 along axis 0 of its tensor, in front of it", function(at, y) at(y:from(-1, 0)) end)
stores("tile -1 of columns", "PLAN-FRONT: a store into 'y' begins at -1 along axis 1 of its tensor, in front of it", function(at, y) at(y:at(0, -1)) end)
stores("row 0", "", function(at, y) at(y:from(0, 0)) end)
stores("n - 8", "", function(at, y, n) at(y:from(n - 8, 0)) end)
stores("n - 9", not_known "n - 9", function(at, y, n) at(y:from(n - 9, 0)) end)
stores("8 - n", not_known "8 - n", function(at, y, n) at(y:from(8 - n, 0)) end)
stores("-n", not_known "-n", function(at, y, n) at(y:from(-n, 0)) end)
stores("-(-3)", "", function(at, y, n) at(y:from(-(n * 0 - 3), 0)) end)
stores("n m", "", function(at, y, n, m) at(y:from(n * m, 0)) end)
stores("n (m - 1)", not_known "n * (m - 1)", function(at, y, n, m) at(y:from(n * (m - 1), 0)) end)
stores("(n - 9) // 2", not_known "(n - 9) // 2", function(at, y, n) at(y:from((n - 9) // 2, 0)) end)
stores("(n - 9) % 2: rests are not below 0", "", function(at, y, n) at(y:from((n - 9) % 2, 0)) end)
stores("n % (m - 1)", not_known "n % (m - 1)", function(at, y, n, m) at(y:from(n % (m - 1), 0)) end)
stores("the larger of -n and 0", "", function(at, y, n) at(y:from(weir.max(-n, 0), 0)) end)
stores("the smaller of n and m - 1", not_known "min(n, m - 1)", function(at, y, n, m) at(y:from(weir.min(n, m - 1), 0)) end)
stores("one of n - 9 and 0", not_known "select(m > 3, n - 9, 0)", function(at, y, n, m) at(y:from(weir.select(weir.gt(m, 3), n - 9, 0), 0)) end)
stores("made wider", not_known "cast(n - 9, i64)", function(at, y, n) at(y:from(weir.cast(n - 9, "i64"), 0)) end)
stores("an index that goes up from 0", "", function(at, y, n) for i in weir.domain_loop(0, n) do at(y:at(i, 0)) end end)
stores("... from -1", not_known "i0", function(at, y, n) for i in weir.domain_loop(-1, n) do at(y:at(i, 0)) end end)
stores("... the one before", not_known "i0 - 1", function(at, y, n) for i in weir.domain_loop(0, n) do at(y:at(i - 1, 0)) end end)
stores("... from 1 on", "", function(at, y, n) for i in weir.domain_loop(1, n) do at(y:at(i - 1, 0)) end end)
stores("... by steps of m - 9, whatever that is", not_known "i0", function(at, y, n, m) for i in weir.domain_loop(0, n, m - 9) do at(y:at(i, 0)) end end)
stores("an index that goes down to 0", "", function(at, y, n) for i in weir.domain_loop(n - 1, -1, -1) do at(y:at(i, 0)) end end)
stores("... to -1", not_known "i0", function(at, y, n) for i in weir.domain_loop(n - 1, -2, -1) do at(y:at(i, 0)) end end)
stores("what is given", "", function(at, y, _, _, k) at(y:from(k:scalar { name = "first", dtype = "i32" }, 0)) end)

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
late("in a condition that gives back behind it", "", function(r)
  r.s:wait()
  local v = r.s:read():load()
  for _ in weir.when_true(weir.gt(r.k:scalar { name = "q", dtype = "i32" }, 0)) do r.y:store(v, r.y:at(0, 0)); r.s:release() end
end)
late("in a loop that ends the task", "", function(r) r.s:wait(); local v = r.s:read():load(); for _ in weir.domain_loop(0, 3) do r.y:store(v, r.y:at(0, 0)) end end)
late("while the next stage of the same ring is asked for", "PLAN-TX: task 't': s:acquire opens a stage that no copy fills\n", function(r) r.s:wait(); local v = r.s:read():load(); r.s:acquire(); r.y:store(v, r.y:at(0, 0)); r.s:release() end)
local function in_tiles(f)
  return function(r)
    r.s:wait()
    local v, wq = r.s:read():load(), r.k:work_queue { name = "wq", axes = { "i" }, extent = { r.k:dim "N" } }
    for _ in weir.work_tile_loop(wq) do r.y:store(v, r.y:at(0, 0)); f(r); wq:next() end
  end
end
late("in a tile, loaded before them all", "", in_tiles(function() end))
late("in a tile whose end gives back", "PLAN-UNSUPPORTED: takes a tile that was loaded from 's' before the stage changed hands\n", in_tiles(function(r) r.s:release(); r.s:wait() end))
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
    r.r4 = k:reg_tile { name = "r4", dtype = "f32", tile = { 64, 4 } }
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
puts("rows in slabs of slabs", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:sub(1):rows(0, 4)) end, { tile = { 2, 2, 8, 64 } })
puts("another stage's place", "", function(r) r.o:store(1, r.other:sub(1)) end)
puts("the stage as it is read", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.o:read()) end)
puts("a place of a tensor", "PLAN-UNSUPPORTED: task 't': o:store stores to a part of a tile that cannot be built yet\n", function(r) r.o:store(1, r.y:at(0, 0)) end)
puts("a slab in panels", "", function(r) r.o:store(1, r.o:sub(1)) end, { swizzle = 128 })
puts("sums to a part", "PLAN-UNSUPPORTED: task 't': y:store stores to a part of a tile that cannot be built yet\n", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):t()) end)
puts("sums to a slab", "PLAN-UNSUPPORTED: task 't': y:store stores to a part of a tile that cannot be built yet\n", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):sub(1)) end)
puts("sums to rows", "", function(r) r.w:zero(); r.y:store(r.w:read(), r.y:at(0, 0):rows(0, 32)) end)
puts("few columns of sums to a stage", "PLAN-UNSUPPORTED: task 't': o:store stores a value of a single row, or of few columns to shared memory, which cannot be built yet\n", function(r) r.w:zero(); r.o:store(r.w:read():row_sum(4)) end, { tile = { 64, 4 } })
puts("column numbers of a register tile of four", "PLAN-TILE: task 't': y:store takes col_index() of a register tile of four columns\n", function(r) r.w:zero(); r.r4:zero(); r.y:store(r.r4:read() + r.r4:col_index(), r.y:at(0, 0)) end, { gtile = { 64, 4 } })
puts("few columns of sums to a tensor", "", function(r) r.w:zero(); r.y:store(r.w:read():row_sum(4), r.y:at(0, 0)) end, { gtile = { 64, 4 } })
puts("a row of numbers to a tensor", "PLAN-UNSUPPORTED: task 't': y:store stores a value of a single row, or of few columns to shared memory, which cannot be built yet\n", function(r) r.y:store(r.w:col_index(), r.y:at(0, 0)) end, { gtile = { 1, 64 } })


-- ---- products ------------------------------------------------------------------------------------------------------------------------------------
-- w:mma(a, b) of wgmma, its operands from rings. o: at, bt (tiles), as, bs (swizzles), a, b: what is taken of them, warps, split, wt
local function product(name, want, o)
  o = o or {}
  refuses(name, want, kernel({ warps = o.warps, ctas = o.ctas, with = function(k, r)
    r.a = sm(k, "a", { dtype = "bf16", tile = o.at or { 64, 64 }, swizzle = o.as or 128 })
    r.b = sm(k, "b", { dtype = "bf16", tile = o.bt or { 64, 64 }, swizzle = o.bs or 128 })
    r.w = k:wgmma_tile { name = "w", tile = o.wt or { 64, 64 }, split = o.split }
    r.h, r.u = k:wgmma_tile { name = "h", tile = { 64, 64 } }, k:reg_tile { name = "u", dtype = "bf16", tile = { 64, 64 } }
  end }, function(r)
    local function same(v) return v end
    r.a:wait(); r.b:wait()
    r.w:zero()
    if o.f then o.f(r) else r.w:mma((o.a or same)(r.a:read()), (o.b or same)(r.b:read())) end
    r.w:drain(); r.a:release(); r.b:release()
  end))
end
product("an mma", "")
product("an operand that has no layout", "PLAN-SWIZZLE: tile 'a': swizzle 64: a row of 20 x 2 bytes = 40 is not a multiple of the span; use swizzle = 0, or 32 columns\n", { at = { 64, 20 }, as = 64 })
product("part of one that has none", "PLAN-SWIZZLE: tile 'a': swizzle 64: a row of 20 x 2 bytes = 40 is not a multiple of the span; use swizzle = 0, or 32 columns\n", { at = { 128, 20 }, as = 64, a = function(v) return v:rows(0, 64) end })
product("rows of an operand", "", { at = { 128, 64 }, a = function(v) return v:rows(64, 64) end })
product("rows off an atom", "PLAN-SWIZZLE: a of the mma into 'w', 'a': the part begins at row 4, no multiple of the 8 rows of an atom\n", { at = { 128, 64 }, a = function(v) return v:rows(4, 64) end })
product("rows of an operand without swizzle", "PLAN-SWIZZLE: a of the mma into 'w', 'a': a part of a tile without swizzle has no descriptor; give the tile a swizzle\n", { at = { 128, 64 }, as = 0, a = function(v) return v:rows(64, 64) end })
product("columns of an operand", "", { at = { 64, 128 }, a = function(v) return v:cols(64, 64) end })
product("columns that are no steps", "PLAN-SWIZZLE: a of the mma into 'w', 'a': columns 0 to 24 are no multiple of 16\nPLAN-SWIZZLE: b of the mma into 'w', 'b': K = 24 of the operand is no multiple of 16 (32 bytes of bf16)\n", { at = { 64, 128 }, a = function(v) return v:cols(0, 24) end, bt = { 64, 24 }, bs = 0 })
product("columns off a step", "PLAN-SWIZZLE: a of the mma into 'w', 'a': columns 8 to 72 are no multiple of 16\n", { at = { 64, 128 }, a = function(v) return v:cols(8, 64) end })
product("columns in two panels", "PLAN-SWIZZLE: a of the mma into 'w', 'a': columns 32 to 96 begin inside a panel of 64 and end in another\n", { at = { 64, 128 }, a = function(v) return v:cols(32, 64) end })
product("where so many CTAs do not fit an SM: nothing of registers", "PLAN-WARPS: kernel 'k': 32 CTAs of 128 threads do not fit an SM, which has 2048\nPLAN-SMEM: kernel 'k': 32 CTAs of 16416 bytes of shared memory do not fit an SM, which has 233472\n", { ctas = 32 })
product("where many leave few registers: b is cut into columns of 8", "", { ctas = 12 })
product("and not, where it is turned over, in panels of 64", "PLAN-REGS: an mma into 'w' by task 't' needs 58 registers of a thread at entry for 64 columns at a time; with 12 CTAs of 128 threads an SM there are 40\n", { ctas = 12, b = function(v) return v:t() end })
product("nor columns of 8, where a comes from registers", "PLAN-REGS: an mma into 'w' by task 't' needs 34 registers of a thread at entry for 8 columns at a time; with 16 CTAs of 128 threads an SM there are 32\n", { ctas = 16, wt = { 64, 32 }, at = { 64, 16 }, as = 32, bt = { 32, 16 }, bs = 32, f = function(r)
  local a = r.k:reg_tile { name = "ra", dtype = "bf16", tile = { 64, 16 } }
  a:zero(); r.w:mma(a:read(), r.b:read())
end })
product("a slab of an operand", "PLAN-UNSUPPORTED: task 't': w:mma works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", { at = { 2, 64, 64 }, a = function(v) return v:sub(1) end })
product("an operand that is limited", "PLAN-UNSUPPORTED: task 't': w:mma works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", { a = function(v) return v:limit(3) end })
product("two warpgroups share columns", "", { warps = { 0, 8 }, split = "n", wt = { 64, 128 }, bt = { 128, 64 } })
product("of an operand that has no layout", "PLAN-SWIZZLE: tile 'b': swizzle 64: a row of 20 x 2 bytes = 40 is not a multiple of the span; use swizzle = 0, or 32 columns\n", { warps = { 0, 8 }, split = "n", wt = { 64, 128 }, bt = { 128, 20 }, bs = 64 })
product("of rows of an operand", "", { warps = { 0, 8 }, split = "n", wt = { 64, 128 }, bt = { 256, 64 }, b = function(v) return v:rows(128, 128) end })
product("of rows that do not divide", "PLAN-TILE: tile 'w' { 64, 24 } does not divide among the 2 warpgroups of task 't'\nPLAN-TILE: tile 'w' { 64, 24 } does not divide among the 2 warpgroups of task 't'\nPLAN-TILE: tile 'w' { 64, 24 } does not divide among the 2 warpgroups of task 't'\n", { warps = { 0, 8 }, split = "n", wt = { 64, 24 }, bt = { 24, 64 } })
-- What is in flight: what an mma adds to or reads is left alone until it has been drained.
local function flight(name, want, f) product(name, want, { f = f }) end
flight("sums that are read", "PLAN-DRAIN: reads 'w' while an mma into it may be in flight\n", function(r) r.w:mma(r.a:read(), r.b:read()); gm(r.k, "y", { out = true }):store(r.w:read(), r.k and gm(r.k, "z", { out = true }):at(0, 0)) end)
flight("sums that are set", "PLAN-DRAIN: sets 'w' while an mma into it may be in flight\n", function(r) r.w:mma(r.a:read(), r.b:read()); r.w:set(1) end)
flight("sums that are zeroed", "PLAN-DRAIN: zeroes 'w' while an mma into it may be in flight\n", function(r) r.w:mma(r.a:read(), r.b:read()); r.w:zero() end)
flight("twice on one line", "PLAN-DRAIN: sets 'w' while an mma into it may be in flight\n", function(r) r.w:mma(r.a:read(), r.b:read()); r.w:set(1); r.w:set(2) end)
flight("twice on two lines", "PLAN-DRAIN: sets 'w' while an mma into it may be in flight\nPLAN-DRAIN: zeroes 'w' while an mma into it may be in flight\n", function(r)
  r.w:mma(r.a:read(), r.b:read())
  r.w:set(1)
  r.w:zero()
end)
flight("both tiles", "PLAN-DRAIN: sets 'w' while an mma into it may be in flight\nPLAN-DRAIN: sets 'h' while an mma into it may be in flight\n", function(r) r.h:zero(); r.w:mma(r.a:read(), r.b:read()); r.h:mma(r.a:read(), r.b:read()); r.w:set(1); r.h:set(2); r.h:drain() end)
flight("an operand that is set", "PLAN-DRAIN: sets 'u' while an mma that reads it may be in flight\n", function(r) r.u:zero(); r.w:mma(r.u:read(), r.b:read()); r.u:set(1) end)
-- An mma with one operand of two, then perhaps another in its stead.
local function perhaps(name, first, then_first)
  flight(name, "PLAN-DRAIN: sets 'u' while an mma that reads it may be in flight\n", function(r)
    r.u:zero(); r.w:mma(r[first]:read(), r.b:read())
    for _ in weir.when_true(weir.gt(r.k:scalar { name = "q", dtype = "i32" }, 0)) do r.w:drain(); r.w:mma(r[then_first]:read(), r.b:read()) end
    r.u:set(1)
  end)
end
perhaps("that is set, where another mma may have come since", "u", "a")
perhaps("where its mma may have come since", "a", "u")
flight("beside something else on the line", "PLAN-UNSUPPORTED: task 't': w:mma works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\nPLAN-DRAIN: sets 'w' while an mma into it may be in flight\n", function(r) r.w:mma(r.a:read(), r.b:read()); r.w:mma(r.a:read():limit(3), r.b:read()); r.w:set(1) end)
flight("an operand that is read", "", function(r) r.u:zero(); r.w:mma(r.u:read(), r.b:read()); r.w:mma(r.u:read(), r.b:read()) end)
flight("a value made of an operand that is set", "", function(r) r.h:zero(); r.w:mma(weir.cast(r.h:read(), "bf16"), r.b:read()); r.h:set(1) end)
flight("another tile", "", function(r) r.w:mma(r.a:read(), r.b:read()); r.h:zero() end)
flight("tiles that are never zeroed", "PLAN-ZERO: adds to 'h', which may never have been zeroed or set\nPLAN-ZERO: reads 't', which may never have been zeroed or set\n", function(r) r.h:mma(r.a:read(), r.b:read()); r.h:mma(r.a:read(), r.b:read()); r.h:drain(); local t = r.k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } }; t:read() end)
-- The numbers that waits leave open: n of each mma_wait and bulk_wait, in order.
local function waits(name, want, kind, k)
  local why, p = planned(k)
  local out = {}
  for id = 1, p and plan.count(p, "action") or 0 do
    if plan.get(p, "action", id, "kind") == kind then out[#out + 1] = plan.get(p, "action", id, "n") end
  end
  tap.is(want, p and out or why, name)
end
local function drains(name, want, f, pipe)
  waits(name, want, "mma_wait", kernel({ with = function(k, r)
    r.a, r.b = sm(k, "a", { dtype = "bf16", swizzle = 128, pipe = pipe }), sm(k, "b", { dtype = "bf16", swizzle = 128, pipe = pipe })
    r.w, r.h, r.n = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:wgmma_tile { name = "h", tile = { 64, 64 } }, k:dim "n"
    r.q = k:scalar { name = "q", dtype = "i32" }
  end }, function(r)
    r.a:wait(); r.b:wait(); r.w:zero(); r.h:zero()
    f(r, function(w) w:mma(r.a:read(), r.b:read()) end)
    r.a:release(); r.b:release()
  end))
end
drains("two and two: the older two", { 2 }, function(r, mma) mma(r.w); mma(r.w); mma(r.h); mma(r.h); r.w:drain() end)
drains("all but one of each", { 3, 2 }, function(r, mma) mma(r.w); mma(r.h); mma(r.w); mma(r.h); r.w:drain(1); r.h:drain(1) end)
drains("of a tile that is not in flight", { 7 }, function(r, mma) mma(r.w); r.h:drain() end)
drains("fourteen, the oldest but two", { 2, 0 }, function(r, mma) for _ = 1, 14 do mma(r.w) end r.w:drain(2); r.w:drain() end)
drains("more of another than are counted", { 7 }, function(r, mma) mma(r.w); for _ = 1, 14 do mma(r.h) end r.w:drain() end)
drains("more ways than are followed", { 0 }, function(r, mma)
  for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do mma(i % 2 == 0 and r.w or r.h) end end
  r.w:drain(1)
end)
drains("more ways, in a loop", {  }, function(r, mma)
  for _ in weir.domain_loop(0, r.n) do
    for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do mma(i % 2 == 0 and r.w or r.h) end end
  end
end)
drains("more ways, drained at the end of a loop: at its begin, too", { 0, 0 }, function(r, mma)
  for _ in weir.domain_loop(0, r.n) do
    r.w:drain()
    for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do mma(i % 2 == 0 and r.w or r.h) end end
    r.w:drain(1)
  end
end)
drains("a loop of mmas, none drained", {  }, function(r, mma) for _ in weir.domain_loop(0, r.n) do mma(r.w) end end)
local umma_ring = P.tma_umma { stages = 1 } -- whose release drains by itself
drains("given back with none in flight", {  }, function() end, umma_ring)
drains("with one", { 0 }, function(r, mma) mma(r.w) end, umma_ring)
drains("with fourteen", { 7, 0 }, function(r, mma) for _ = 1, 14 do mma(r.w) end r.w:drain(13) end, umma_ring)
drains("with more ways than are followed", { 0, 0 }, function(r, mma)
  for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do mma(i % 2 == 0 and r.w or r.h) end end
end, umma_ring)
-- Fences behind a wait for tensor memory: one is enough where waits follow one another, whatever comes at the end of a block.
do
  local function fences(name, want, f)
    waits(name, want, "tcgen05_after", kernel { arch = "sm_100a", with = function(k, r)
      r.n = k:dim "n"
      r.a, r.b = k:tmem_tile { name = "a", tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } }, k:tmem_tile { name = "b", tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } }
      k:task { name = "t", warps = { 0, 4 }, schedule = function() f(r) end }
    end })
  end
  fences("two waits: one fence, beside those of the kernel's ends", { 0, 0, 0 }, function(r) r.a:wait(); r.b:wait(); r.a:release(); r.b:release() end)
  fences("the waits end a block", { 0, 0, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.a:release(); r.b:release(); r.a:wait(); r.b:wait() end end)
  fences("work between them", { 0, 0, 0, 0 }, function(r) r.a:wait(); r.a:release(); r.b:wait(); r.b:release() end)
end
-- Bulk stores: an acquire waits until what was stored from that stage has been read.
local function bulk(name, want, f, stages, others, tile)
  waits(name, want, "bulk_wait", kernel({ with = function(k, r)
    tile = tile or { 64, 32 }
    r.o = sm(k, "o", { tile = tile, pipe = P.async_tma { stages = stages or 2 } })
    r.p = sm(k, "p", { tile = tile, pipe = P.async_tma { stages = others or 2 } })
    r.y, r.n, r.q = gm(k, "y", { tile = tile, out = true }), k:dim "n", k:scalar { name = "q", dtype = "i32" }
    r.put = function(o) o:acquire(); o:store(1); o:commit(); o:wait(); r.y:tma_store(o:read(), r.y:at(0, 0)); o:release() end
  end }, f))
end
bulk("a ring of two", { 1, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o) end end)
bulk("of four", { 3, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o) end end, 4)
bulk("two rings in turn", { 3, 3, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o); r.put(r.p) end end)
bulk("two rings, one now and then", { 1, 7, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o); for _ in weir.when_true(weir.gt(r.q, 0)) do r.put(r.p) end end end)
bulk("of sixteen: more groups than are counted", { 7, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o) end end, 16)
bulk("drained in between", { 7, 1, 0 }, function(r) for _ in weir.domain_loop(0, r.n) do r.put(r.o); r.y:drain(1) end end)
bulk("more ways than are followed", { 1, 1, 1, 1, 0 }, function(r)
  for _ in weir.domain_loop(0, r.n) do for i = 1, 4 do for _ in weir.when_true(weir.gt(r.q, i)) do r.put(i % 2 == 0 and r.o or r.p) end end end
end)
bulk("more by far", { 1, 3, 1, 3, 0 }, function(r)
  for _ in weir.domain_loop(0, r.n) do for i = 1, 4 do for _ in weir.when_true(weir.gt(r.q, i)) do r.put(i % 2 == 0 and r.o or r.p) end end end
end, 4)
bulk("too many by far", { 7, 7, 7, 7, 7, 7, 7, 0, 0 }, function(r)
  for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do r.put(i % 2 == 0 and r.o or r.p) end end
  r.put(r.o)
end, 16, 16, { 64, 4 })
local function pass(r) r.o:acquire(); r.o:store(1); r.o:commit(); r.o:wait(); r.o:release() end -- a stage that is not stored from
bulk("one store, then as many stages as there are: the wait is for it", { 7, 7, 0, 0 }, function(r) r.put(r.o); pass(r); pass(r) end)
bulk("one store, and perhaps one stage less: for it, too", { 7, 7, 0, 0 }, function(r) r.put(r.o); for _ in weir.when_true(weir.gt(r.q, 0)) do pass(r) end pass(r) end)
bulk("one store before a loop of as many stages as ways are followed, and more", { 7, 0, 0 }, function(r) r.put(r.o); for _ in weir.domain_loop(0, r.n) do pass(r) end end, 128, 2, { 1, 4 })
do
  local ns = {}
  for i = 1, 103 do ns[i] = 7 end
  ns[104], ns[105] = 0, 0
  bulk("one store in a ring of 103 stages: the last of 103 waits for it", ns, function(r) r.put(r.o); for _ = 1, 103 do pass(r) end end, 103, 2, { 1, 4 })
end
do
  local ns = {}
  for i = 1, 260 do ns[i] = 7 end
  ns[261], ns[262] = 0, 0
  bulk("260 stages are filled, then one is stored: the next fills that one", ns, function(r)
    for _ = 1, 260 do r.o:acquire(); r.o:store(1); r.o:commit() end
    r.o:wait(); r.y:tma_store(r.o:read(), r.y:at(0, 0)); r.o:release()
    r.o:acquire()
  end, 260, 2, { 1, 4 })
end
for last = 8, 9 do -- of more rings than are followed, every store is waited for
  waits(("a ring of two, the %dth of nine"):format(last), { 7, 7, 7, 7, 7, 7, 7, 7, 7, last == 8 and 1 or 0, 0 }, "bulk_wait", kernel({ with = function(k, r)
    for i = 1, 9 do r[i] = sm(k, "o" .. i, { tile = { 1, 4 }, pipe = P.async_tma { stages = 2 } }) end
    r.y, r.n = gm(k, "y", { tile = { 1, 4 }, out = true }), k:dim "n"
  end }, function(r)
    local function put(o) o:acquire(); o:store(1); o:commit(); o:wait(); r.y:tma_store(o:read(), r.y:at(0, 0)); o:release() end
    for i = 1, 9 do put(r[i]) end
    for _ in weir.domain_loop(0, r.n) do put(r[last]) end
  end))
end
do
  local function released(name, want, f, o) -- a task that stores what another stages, and gives back
    local k, r = kernel { with = function(k, r) r.o, r.y = sm(k, "o", { pipe = P.async_tma { stages = 3 } }), gm(k, "y", { out = true }); r.n = k:dim "n" end }
    k:task { name = "fill", warps = { 0, 4 }, schedule = function() for _ in weir.domain_loop(0, r.n) do r.o:acquire(); r.o:store(1); r.o:commit() end end }
    k:task { name = "put", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, r.n) do f(r) end if o then o(r) end end }
    waits(name, want, "bulk_wait", k)
  end
  local function put(r) r.y:tma_store(r.o:read(), r.y:at(0, 0)) end
  released("given back at once", { 0, 0 }, function(r) r.o:wait(); put(r); r.o:release() end)
  released("one later", { 1, 0, 0 }, function(r) r.o:wait(); put(r); r.o:release(1) end, function(r) r.o:release(0) end)
  released("two later", { 2, 0, 0 }, function(r) r.o:wait(); put(r); r.o:release(2) end, function(r) r.o:release(0) end)
  released("by a task that does not wait", { 0, 0 }, function(r) put(r); r.o:release() end)
end

-- The same of a task that looks back: the first tile has none before it, the others do.
local function before(name, want, kind, f, stages)
  waits(name, want, kind, kernel({ with = function(k, r)
    r.a, r.b = sm(k, "a", { dtype = "bf16", swizzle = 128 }), sm(k, "b", { dtype = "bf16", swizzle = 128 })
    r.w, r.h = k:wgmma_tile { name = "w", tile = { 64, 64 } }, k:wgmma_tile { name = "h", tile = { 64, 64 } }
    r.o, r.y = sm(k, "o", { tile = { 64, 32 }, pipe = P.async_tma { stages = stages or 2 } }), gm(k, "y", { tile = { 64, 32 }, out = true })
    r.wq, r.q = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "N" } }, k:scalar { name = "q", dtype = "i32" }
  end }, function(r)
    r.a:wait(); r.b:wait(); r.w:zero(); r.h:zero()
    for _ in weir.work_tile_loop(r.wq) do f(r, function(w) w:mma(r.a:read(), r.b:read()) end); r.wq:next() end
    r.a:release(); r.b:release()
  end))
end
before("in flight from the tile before", { 2 }, "mma_wait", function(r, mma) for _ in weir.previous_tile(r.wq) do mma(r.h) end mma(r.w); r.w:drain(1) end)
before("from two tiles before", { 4 }, "mma_wait", function(r, mma) for _ in weir.previous_tile(r.wq) do mma(r.h) end mma(r.w); r.w:drain(2) end)
before("more ways than are followed", { 0 }, "mma_wait", function(r, mma)
  for _ in weir.previous_tile(r.wq) do for i = 1, 7 do for _ in weir.when_true(weir.gt(r.q, i)) do mma(i % 2 == 0 and r.w or r.h) end end end
  r.w:drain(3)
end)

-- ---- reductions of what is only loaded ---------------------------------------------------------------------------------------------------------------
low("shared parts of a reduction", "", {}, function(r)
  local y, t = gm(r.k, "y", { out = true }), r.k:reg_tile { name = "t", dtype = "f32", tile = { 64, 64 } }
  t:zero()
  local m = t:read():row_max(1)
  y:store(t:read() - m + m * m, y:at(0, 0))
end)

product("a row reduction by warpgroups that share columns", "PLAN-SPLIT: task 't': y:store takes a row reduction where each warpgroup has only its columns of the tile (split = \"n\")\n", { warps = { 0, 8 }, split = "n", wt = { 64, 128 }, bt = { 128, 64 }, f = function(r)
  r.w:mma(r.a:read(), r.b:read()); r.w:drain()
  local y = gm(r.k, "y", { tile = { 64, 128 }, out = true })
  y:store(r.w:read() - r.w:read():row_max(1), y:at(0, 0))
end })

-- ---- loops dealt to lanes ------------------------------------------------------------------------------------------------------------------------------
local function dealt(name, want, o, f) -- o: lanes of r and s, warps
  refuses(name, want, kernel({ warps = { 0, o.warps or 1 }, with = function(k, r)
    for i, x in ipairs { "r", "s" } do r[x] = ring(k, x, { stages = 8, interleave = i == 2 and o.s or { 1, 1, o[i], o[i] } }) end
    r.n = k:dim "n"
    r.pdl = k:pdl_wait { name = "pdl" }
    r.go = k:pdl_launch { name = "go" }
  end }, f))
end
local function take(x) x:wait(); x:use(); x:release() end
dealt("one lane", "", { 2, 1 }, function(r) for _ in weir.domain_loop(1, r.n, 2) do take(r.r) end end)
dealt("a loop that is none", "PLAN-UNSUPPORTED: task 't': r:wait stands in a loop that is no lane of its stages\n", { 2, 1 }, function(r) for _ in weir.domain_loop(0, r.n, 3) do take(r.r) end end)
dealt("rings of two lanes and of four in one loop", "PLAN-UNSUPPORTED: task 't': s:wait is dealt differently from others in its loop\n", { 2, 4, warps = 2 }, function(r) for _ in weir.domain_loop(0, r.n, 4) do take(r.r); take(r.s) end end)
dealt("two lanes in one task", "PLAN-UNSUPPORTED: task 't': r:wait takes another lane of its stages than a loop before\n", { 2, 1 }, function(r) for i = 0, 1 do for _ in weir.domain_loop(i, r.n, 2) do take(r.r) end end end)
dealt("one lane twice", "", { 2, 1 }, function(r) for _ = 0, 1 do for _ in weir.domain_loop(1, r.n, 2) do take(r.r) end end end)
dealt("a ring in a condition of the loop", "", { 2, 1 }, function(r) for i in weir.domain_loop(0, r.n, 2) do for _ in weir.when_true(weir.gt(i, 2)) do take(r.r) end end end)
dealt("to warps", "", { 2, 1, warps = 2 }, function(r) r.pdl:wait_griddep(); for _ in weir.domain_loop(0, r.n) do take(r.r) end r.go:launch_griddep() end)
dealt("to warps, beside what stands outside", "PLAN-UNSUPPORTED: task 't': s:wait stands outside the loop that is dealt to the task's warps, each of which goes its own way\n", { 2, 1, warps = 2 }, function(r) for _ in weir.domain_loop(0, r.n) do take(r.r) end take(r.s) end)
dealt("to warps, beside a loop of its own", "PLAN-UNSUPPORTED: task 't': s:wait stands outside the loop that is dealt to the task's warps, each of which goes its own way\n", { 2, 1, warps = 2 }, function(r) for _ in weir.domain_loop(0, r.n) do take(r.r) end for _ in weir.domain_loop(0, r.n) do take(r.s) end end)
dealt("to warps, beside a ring that is not", "PLAN-UNSUPPORTED: task 't': s:wait takes stages that are not dealt, in a loop that is dealt to the task's warps\n", { 2, 1, warps = 2 }, function(r) for _ in weir.domain_loop(0, r.n) do take(r.r); take(r.s) end end)
dealt("to warps, beside a ring that cannot be built", "PLAN-UNSUPPORTED: pipeline 's': acquire by 2 lanes and commit by 1 cannot be built yet\n", { 2, 1, warps = 2, s = { 2, 1, 1, 1 } }, function(r) for _ in weir.domain_loop(0, r.n) do take(r.r); take(r.s) end end)

-- Work tiles dealt to two tasks: which steps the tiles of the other lane take instead.
local function skips(name, want, f, o)
  o = o or {}
  local k, r = kernel { with = function(k, r)
    r.r, r.s = (o.tma and sm or ring)(k, "r"), (o.tma and sm or ring)(k, "s")
    if not o.group then return end
    r.g = k:group { name = "g", mode = o.group, members = { r.r, r.s } }
    r.r, r.s = r.g:member "r", r.g:member "s"
  end }
  local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind == "atomic" and 2 or nil, axes = { "i" }, extent = { k:dim "N" } }
  r.wq = wq
  r.x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "i32", shape = { 64, 64 } }, tile = { 1, 1 } }
  for lane = 0, 1 do
    k:task { name = "t" .. lane, warps = { lane, 1 }, schedule = function()
      for t in weir.work_tile_loop(wq, { lane = lane, lanes = 2 }) do f(r, t, lane); wq:next() end
    end }
  end
  if o.more then k:task { name = "more", warps = { 2, 1 }, schedule = function() for t in weir.work_tile_loop(wq) do o.more(r, t); wq:next() end end } end
  local why, p = planned(k)
  local out = {}
  for _, task in ipairs(p and { plan.tree(p, "t0") } or {}) do
    local function look(list, skipping)
      for _, x in ipairs(list) do
        if type(x) == "table" then
          if skipping and x.kind ~= "skip" then out[#out + 1] = x.kind end
          look(x, skipping or x.kind == "skip")
        elseif skipping then out[#out + 1] = plan.get(p, "action", x, "kind") .. (plan.get(p, "action", x, "kind") == "advance" and plan.get(p, "action", x, "stage") == 3 and " close" or "") end
      end
    end
    look(task)
  end
  tap.is(want, p and table.concat(out, ", ") or why, name)
  if o.gives_back then tap.is(o.gives_back, p and plan.get(p, "bars", lab.index(p, "bars", "g_empty"), "sum"), name .. ": arrivals that give back") end
end
skips("a stage a tile", "advance, advance close", function(r) fill(r.r) end)
skips("a loop of stages", "loop, advance, advance close", function(r, t) for _ in weir.domain_loop(0, t.i) do fill(r.r) end end)
skips("a loop without any, then one", "loop, advance, advance close", function(r, t) for _ in weir.domain_loop(0, t.i) do for _ in weir.when_true(weir.gt(t.i, 3)) do r.x:at(0, 0):load() end end for _ in weir.domain_loop(0, 2) do fill(r.r) end end)
skips("one, then a loop without any", "advance, advance close", function(r, t) fill(r.r); for _ in weir.domain_loop(0, t.i) do r.x:at(0, 0):load() end end)
skips("stages that are asked for first", "advance, advance close, advance, advance close", function(r) r.r:acquire(); r.r:fill(); r.r:commit(); r.s:try_wait() ; take(r.s) end)
skips("waits here, and another task gives back", "advance", function(r) r.r:wait(); r.r:use() end, { more = function(r) r.r:release() end })
skips("gives back here what another task waits for", "advance close", function(r) r.r:release() end, { more = function(r) r.r:wait(); r.r:use() end })
skips("as many as memory says", "PLAN-UNSUPPORTED: task 't0': how many stages a tile takes is read from memory, so that the other lanes of the work tiles cannot skip them\nPLAN-UNSUPPORTED: task 't1': how many stages a tile takes is read from memory, so that the other lanes of the work tiles cannot skip them\n", function(r) for _ in weir.domain_loop(0, r.x:at(0, 0):load()) do fill(r.r) end end)
skips("when memory says so", "PLAN-UNSUPPORTED: task 't0': how many stages a tile takes is read from memory, so that the other lanes of the work tiles cannot skip them\nPLAN-UNSUPPORTED: task 't1': how many stages a tile takes is read from memory, so that the other lanes of the work tiles cannot skip them\n", function(r) for _ in weir.when_true(weir.gt(r.x:at(0, 0):load(), 0)) do fill(r.r) end end)
skips("tiles handed out at run time", "advance, advance close, wait, advance, body, warp_sync, arrive, advance close", function(r) fill(r.r) end, { kind = "atomic" })
skips("by the task itself", "wait, expect_tx, advance, bulk_issue, advance close, wait, advance, body, arrive, advance close", function(r, _, lane) if lane == 0 then r.wq:fetch() else fill(r.r) end end, { kind = "atomic" })
skips("a member's commit, the last one's in another task", "advance", function(r)
  r.z = r.z or gm(r.k, "z")
  for _, x in ipairs { r.r, r.s } do x:acquire(); x:tma_load(r.z:at(0, 0)) end
  r.r:commit()
end, { group = "merge", tma = true, more = function(r) r.s:commit() end })
skips("a group's own", "advance, advance close", function(r) r.g:wait(); r.r:use(); r.s:use(); r.g:release() end, { group = "fused_merge", gives_back = "1 warp of a lane", more = function(r) fill(r.r); fill(r.s) end })
skips("only asked for, for the tile before", "advance, advance close", function(r) fill(r.r); for _ in weir.previous_tile(r.wq) do r.s:try_wait() end end)


-- ---- the tensor core of sm_100a --------------------------------------------------------------------------------------------------------------------------
-- Sums in tensor memory: what four warps take of them. o: v, tile, more
local function sums(name, want, f, o)
  o = o or {}
  local k, r = kernel { arch = "sm_100a", cluster = { v = o.v or 1 }, with = function(k, r)
    r.acc = k:tmem_tile { name = "acc", tile = o.tile or { 128, 64 }, pipeline = P.umma_async { stages = 1 } }
    r.y, r.t, r.n = gm(k, "y", { tile = o.tile or { 128, 64 }, out = true }), k:reg_tile { name = "t", dtype = "f32", tile = { 128, 64 } }, k:dim "n"
    r.part = gm(k, "part", { tile = { 128, 32 }, out = true })
  end }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() r.acc:wait(); f(r, r.acc:read()); r.acc:release() end }
  refuses(name, want, k)
end
sums("sums that are stored", "", function(r, v) r.y:store(v, r.y:at(0, 0)) end)
sums("twice as much", "", function(r, v) r.y:store(v:load() * 2, r.y:at(0, 0)) end)
sums("columns of them", "", function(r, v) r.part:store(v:cols(32, 32), r.part:at(0, 0)) end)
sums("columns that are no eights", "PLAN-UNSUPPORTED: task 't': z:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) gm(r.k, "z", { tile = { 128, 4 }, out = true }):store(v:cols(0, 4), r.y:at(0, 0)) end)
sums("columns of what is loaded", "PLAN-UNSUPPORTED: task 't': part:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) r.part:store(v:load():cols(0, 32), r.part:at(0, 0)) end)
sums("rows", "PLAN-UNSUPPORTED: task 't': z:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) gm(r.k, "z", { tile = { 32, 64 }, out = true }):store(v:rows(0, 32), r.y:at(0, 0)) end)
sums("turned over", "PLAN-UNSUPPORTED: task 't': z:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) gm(r.k, "z", { tile = { 64, 128 }, out = true }):store(v:t(), r.y:at(0, 0)) end)
sums("a square turned over", "PLAN-UNSUPPORTED: task 't': y:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) r.y:store(v:t(), r.y:at(0, 0)) end, { tile = { 64, 64 } })
local function wider(r) return gm(r.k, "z", { tile = { 128, 128 } }):at(0, 0) end
sums("beside columns of a wider value", "PLAN-UNSUPPORTED: task 't': y:store stores load():cols(first, n) beside sums of tensor memory; write cols(first, n) of the view, then load()\n", function(r, v) r.y:store(v:load() + wider(r):load():cols(64, 64), r.y:at(0, 0)) end)
sums("beside columns of a wider tile", "", function(r, v) r.y:store(v:load() + wider(r):cols(64, 64):load(), r.y:at(0, 0)) end)
sums("a row", "PLAN-UNSUPPORTED: task 't': z:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) gm(r.k, "z", { tile = { 1, 64 }, out = true }):store(v:sub(3), r.y:at(0, 0)) end)
sums("limited", "PLAN-UNSUPPORTED: task 't': y:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) r.y:store(v:limit(r.n), r.y:at(0, 0)) end)
sums("sums of two shapes", "PLAN-UNSUPPORTED: task 't': y:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) r.y:store(v:load() + v:rows(0, 1):load(), r.y:at(0, 0)) end)
sums("a column beside all", "PLAN-UNSUPPORTED: task 't': y:store stores part of a stage in tensor memory other than whole rows of a multiple of 8 columns, s:read():cols(first, n)\n", function(r, v) r.y:store(v:load() + v:cols(0, 1):load(), r.y:at(0, 0)) end)
sums("beside a register tile", "PLAN-UNSUPPORTED: task 't': y:store stores a value of tensor memory and of a register tile, whose rows lie differently in the threads\n", function(r, v) r.t:zero(); r.y:store(v:load() + r.t:read(), r.y:at(0, 0)) end)
sums("into a register tile", "PLAN-UNSUPPORTED: task 't': t:set takes a value of tensor memory; on sm_100a only store() can take one yet\n", function(r, v) r.t:set(v:load()) end)
sums("a row reduction", "PLAN-UNSUPPORTED: task 't': y:store stores a row reduction of tensor memory, which cannot be built yet\nPLAN-UNSUPPORTED: task 't': y:store takes a row reduction of a value that no register tile holds\n", function(r, v) r.y:store(v:load() - v:load():row_max(1), r.y:at(0, 0)) end)
sums("columns of 64 rows of two CTAs", "PLAN-UNSUPPORTED: task 't': z:store stores part of the columns of 64 rows, whose halves lie one above the other with v = 2\n", function(r, v) gm(r.k, "z", { tile = { 64, 32 }, out = true }):store(v:cols(0, 32), r.y:at(0, 0)) end, { v = 2, tile = { 64, 64 } })
sums("columns of 128 rows of two CTAs", "", function(r, v) r.part:store(v:cols(0, 32), r.part:at(0, 0)) end, { v = 2 })
-- One mma into acc. o: v, at, bt, a, b: what is taken of the operands, ap, bp: their pipelines, warps, beside: other work of the task
local function umma(name, want, o)
  o = o or {}
  local function same(v) return v end
  refuses(name, want, kernel({ arch = "sm_100a", cluster = { v = o.v or 1 }, warps = o.warps or { 0, 1 }, with = function(k, r)
    r.a = sm(k, "a", { dtype = "bf16", tile = o.at or { 128, 64 }, swizzle = 128, pipe = o.ap or P.tma_umma { stages = 1 } })
    r.b = sm(k, "b", { dtype = "bf16", tile = o.bt or { 64, 64 }, swizzle = 128, pipe = o.bp or P.tma_umma { stages = 1 } })
    r.acc, r.z = k:tmem_tile { name = "acc", tile = o.tile or { 128, 64 }, pipeline = P.umma_async { stages = 1 } }, ring(k, "z")
  end }, function(r)
    if o.beside then fill(r.z) end
    r.acc:acquire(); r.acc:zero(); r.a:wait(); r.b:wait()
    r.acc:mma((o.a or same)(r.a:read()), (o.b or same)(r.b:read()))
    r.a:release(); r.b:release(); r.acc:commit()
  end))
end
umma("an mma of the tensor core", "")
umma("beside work of its warp", "", { beside = true })
umma("beside work of two warps", "PLAN-UNSUPPORTED: task 't' issues for the tensor core ('acc') beside work of its threads and has 2 warps\n", { beside = true, warps = { 0, 2 } })
umma("beside work of a warpgroup", "", { beside = true, warps = { 0, 4 } })
umma("of rows of an operand", "PLAN-UNSUPPORTED: task 't': acc:mma works on a part of a view (rows, cols, sub or limit), which cannot be built here yet\n", { at = { 256, 64 }, a = function(v) return v:rows(0, 128) end })
umma("of a whose stages threads give back", "PLAN-UNSUPPORTED: a of the mma into 'acc', 'a', has a pipeline of type tma_async, whose release does not wait for the tensor core\n", { ap = P.tma_async { stages = 1 } })
umma("of b", "PLAN-UNSUPPORTED: b of the mma into 'acc', 'b', has a pipeline of type tma_async, whose release does not wait for the tensor core\n", { bp = P.tma_async { stages = 1 } })
umma("of a ring that cannot be built", "PLAN-UNSUPPORTED: pipeline 'a': acquire by 2 lanes and commit by 1 cannot be built yet\n", { ap = P.tma_umma { stages = 2, interleave = { 2, 1, 1, 1 } } })
umma("of 96 rows", "PLAN-TILE: mma into 'acc' { 96, 64 }: 96 rows; an mma of one CTA has 64 or 128\n", { at = { 96, 64 }, tile = { 96, 64 } })
umma("of 96 rows, two CTAs", "PLAN-TILE: mma into 'acc' { 96, 64 }: 96 rows in each of two CTAs; their mma has 64 or 128 in each\n", { v = 2, at = { 96, 64 }, tile = { 96, 64 }, bt = { 32, 64 } })
low("loads by the first CTA of a pair", "PLAN-UNSUPPORTED: task 't': s:tma_load is issued by the first CTA (issue = \"first\") for operands of an mma of two CTAs (v = 2)\n", { arch = "sm_100a", cluster = { v = 2, m = 2 }, warps = { 0, 1 } }, function(r)
  local s = sm(r.k, "s", { dtype = "bf16", swizzle = 128, pipe = P.tma_umma { stages = 1 } })
  s:acquire(); s:tma_load(gm(r.k, "x", { dtype = "bf16" }):at(0, 0), { multicast = "m", issue = "first" }); s:commit()
end)
local function brings(pipe)
  return function(r)
    local s = r.k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = P[pipe] { stages = 1 }, work = { bring = weir.producer_work { code = ";", tx_bytes = 64 } } }
    s:acquire(); s:bring(); s:commit()
  end
end
low("a body that brings bytes to operands of two CTAs", "PLAN-UNSUPPORTED: task 't': s:bring issues mmas, or brings bytes to operands of one, by a body of its own where two CTAs share the mma (v = 2)\n", { arch = "sm_100a", cluster = { v = 2 }, warps = { 0, 1 } }, brings "tma_umma")
low("a body that brings bytes to threads, v = 2", "", { arch = "sm_100a", cluster = { v = 2 }, warps = { 0, 1 } }, brings "tma_async")
low("a body that brings bytes which nothing counts", "PLAN-UNSUPPORTED: task 't': s:bring brings bytes that no pipeline counts\n", {}, function(r)
  local s = r.k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, work = { bring = weir.producer_work { code = ";", tx_bytes = 64 } } }
  s:bring()
end)
tap.like("w:mma reads from shared memory, and 'x' is a gmem_tile [V-ATOM-03]", kernel({}, function(r)
  local w, s = r.k:wgmma_tile { name = "w", tile = { 64, 64 } }, sm(r.k, "s", { dtype = "bf16", swizzle = 128 })
  s:wait(); w:zero()
  w:mma(gm(r.k, "x", { dtype = "bf16" }):at(0, 0), s:read())
  w:drain(); s:release()
end):verify().text, "an operand that lies in a tensor: validate refuses")

-- ---- copies into another CTA -----------------------------------------------------------------------------------------------------------------------------
-- From ring a to ring b of CTA 0, by CTA 1. o: at, bt (tiles), as, bs (swizzles), ad, bd (dtypes), from, to: what is taken, warps, staged: a is a
-- staging tile of the pushing task, plain = "a" | "b": the one without stages
local function pushed(name, want, o)
  o = o or {}
  local k, r = kernel { cluster = { k = 2 }, with = function(k, r)
    local a_pipe, b_pipe
    if o.staged then a_pipe = P.async_tma { stages = 1 } elseif o.plain == "a" then a_pipe = false end
    if o.plain == "b" then b_pipe = false elseif o.warps then b_pipe = P.tma_async { stages = 1, producer_signaling = "task_warp_leader" } end
    r.a = sm(k, "a", { tile = o.at or { 8, 32 }, swizzle = o.as, dtype = o.ad, pipe = a_pipe })
    r.b = sm(k, "b", { tile = o.bt or { 8, 32 }, swizzle = o.bs, dtype = o.bd, pipe = b_pipe })
  end }
  k:task { name = "t", warps = o.warps or { 0, 1 }, cta = { k = 1 }, schedule = function()
    if o.math then k:reg_tile { name = "t", dtype = "f32", tile = { 128, 64 } }:zero() end
    if o.staged then r.a:acquire(); r.a:store(1); r.a:commit() end
    if o.plain ~= "a" then r.a:wait() end
    if o.plain ~= "b" then r.b:acquire() end
    local what = o.from and o.from(r.a:read()) or r.a:read()
    if o.to then r.b:push(what, o.to(r.b), { k = 0 }) else r.b:push(what, { k = 0 }) end
    if o.plain ~= "b" then r.b:commit() end
    if o.plain ~= "a" then r.a:release() end
  end }
  if o.plain ~= "b" then k:task { name = "u", warps = { 8, 1 }, cta = { k = 0 }, schedule = function() r.b:wait(); r.b:release() end } end
  refuses(name, want, k)
end
local slabs = { 2, 8, 32 }
pushed("a push", "")
pushed("into a slab", "", { bt = slabs, to = function(b) return b:sub(1) end })
pushed("of a slab", "", { at = slabs, from = function(a) return a:sub(1) end })
pushed("of a slab of one row", "", { at = { 2, 32 }, bt = { 1, 32 }, from = function(a) return a:sub(1) end })
pushed("of an element", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = slabs, from = function(a) return a:sub(1):sub(2):sub(3) end })
pushed("of what is turned over", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 32, 8 }, from = function(a) return a:t() end })
pushed("of rows", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 16, 32 }, from = function(a) return a:rows(8, 8) end })
pushed("of the first rows", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 16, 32 }, from = function(a) return a:rows(0, 8) end })
pushed("of columns", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 8, 64 }, from = function(a) return a:cols(32, 32) end })
pushed("of the first columns", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 8, 64 }, from = function(a) return a:cols(0, 32) end })
pushed("of what is limited", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { from = function(a) return a:limit(3) end })
pushed("into rows of a slab", "PLAN-PUSH: task 't': b:push takes a part of a view other than slabs\n", { at = { 4, 32 }, bt = slabs, to = function(b) return b:sub(1):rows(4, 4) end })
pushed("into a stage that is read", "PLAN-VIEW: task 't': b:push goes to something that is no slab of its own tile\n", { to = function(b) return b:read() end })
pushed("between two swizzles", "PLAN-PUSH: task 't': b:push copies bytes as they lie, and the two tiles lie differently\n", { as = 128 })
pushed("both swizzled", "", { as = 128, bs = 128 })
pushed("one panel into two", "PLAN-SWIZZLE: tile 'b': swizzle 128: 2 panels of 4 rows; rows must be a multiple of 8 when a tile is wider than its span of 32 elements\n", { as = 128, bs = 128, bt = { 4, 64 } })
pushed("rows of another length", "PLAN-PUSH: task 't': b:push copies bytes as they lie, and the two tiles lie differently\n", { bt = { 4, 64 } })
pushed("elements of another size", "PLAN-PUSH: task 't': b:push copies bytes as they lie, and the two tiles lie differently\n", { ad = "bf16", at = { 8, 64 } })
pushed("a slab inside an atom", "PLAN-PUSH: task 't': b:push takes a slab that begins inside an atom of the swizzle, which is 8 rows\n", { as = 128, bs = 128, at = { 2, 4, 32 }, bt = { 4, 32 }, from = function(a) return a:sub(1) end })
pushed("into a slab inside an atom", "PLAN-PUSH: task 't': b:push takes a slab that begins inside an atom of the swizzle, which is 8 rows\n", { as = 128, bs = 128, at = { 4, 32 }, bt = { 2, 4, 32 }, to = function(b) return b:sub(1) end })
pushed("all of odd slabs, swizzled", "", { as = 128, bs = 128, at = { 4, 32 }, bt = { 4, 32 } })
pushed("two panels into two", "", { as = 128, bs = 128, at = { 8, 64 }, bt = { 8, 64 } })
pushed("from a tile that has no layout", "PLAN-SWIZZLE: tile 'a': swizzle 64: a row of 20 x 4 bytes = 80 is not a multiple of the span; use swizzle = 0, or 32 columns\nPLAN-VIEW: task 't': b:push copies something that is not a stage in shared memory\n", { as = 64, at = { 8, 20 } })
pushed("into one", "PLAN-SWIZZLE: tile 'b': swizzle 64: a row of 20 x 4 bytes = 80 is not a multiple of the span; use swizzle = 0, or 32 columns\n", { bs = 64, bt = { 8, 20 } })
pushed("panels of two widths", "PLAN-PUSH: task 't': b:push copies bytes as they lie, and the two tiles lie differently\n", { as = 128, bs = 64, at = { 8, 64 }, bt = { 8, 64 } })
pushed("two panels of 8 rows as 16 rows", "PLAN-PUSH: task 't': b:push copies bytes as they lie, and the two tiles lie differently\n", { as = 128, bs = 128, at = { 8, 64 }, bt = { 16, 32 } })
pushed("of a tile without stages", "", { plain = "a" })
pushed("into one without", "PLAN-UNSUPPORTED: task 't': b:push brings bytes that no pipeline counts\n", { plain = "b" })
pushed("of what two warpgroups stage", "PLAN-PUSH: task 't': b:push takes a stage of which each warpgroup of the task fills and stores its own share\n", { staged = true, at = { 128, 32 }, bt = { 128, 32 }, warps = { 0, 8 } })
pushed("of what one warpgroup stages", "", { staged = true, at = { 64, 32 }, bt = { 64, 32 }, warps = { 0, 4 } })
pushed("of what was loaded, by two warpgroups", "", { math = true, at = { 128, 32 }, bt = { 128, 32 }, warps = { 0, 8 } })
pushed("of a tile without stages, by two warpgroups", "", { math = true, plain = "a", at = { 128, 32 }, bt = { 128, 32 }, warps = { 0, 8 } })

tap.done()
