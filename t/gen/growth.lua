-- Kernels that grow by one number, for what the proof of them costs: t/growth.t counts it, bench/prove.lua measures it.
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div
local growth = {}

--- The GEMM of four tasks: threads load A, TMA loads B, a merge group joins them, one task multiplies, one stores.
function growth.four_tasks(stages)
  local BM, BN, BK = 64, 64, 64
  local k = weir.kernel { name = "gemm4", arch = "sm_90a" }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { BM, BN } }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }, k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, BN } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { BM, BK }, swizzle = 128, pipeline = P.async_umma { stages = stages } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN, BK }, swizzle = 128, pipeline = P.tma_umma { stages = stages } }
  local acc = k:tmem_tile { name = "acc", tile = { BM, BN }, pipeline = P.umma_async { stages = 1 } }
  local g = k:group { name = "g", mode = "merge", members = { a, b } }
  local function task(name, warps, body)
    k:task { name = name, warps = warps, schedule = function()
      for t in weir.work_tile_loop(wq) do
        body(t)
        wq:next()
      end
    end }
  end
  local function steps() return weir.domain_loop(0, cd(K, BK)) end
  task("mma", { 0, 4 }, function()
    acc:acquire(); acc:zero()
    for _ in steps() do
      g.a:wait(); g.b:wait(); acc:mma(g.a:read(), g.b:read()); g:release()
    end
    acc:commit()
  end)
  task("load_a", { 4, 4 }, function(t) for i in steps() do g.a:acquire(); g.a:store(ga:at(t.m, i)); g.a:commit() end end)
  task("store", { 8, 4 }, function(t) acc:wait(); gd:store(acc:read(), t); acc:release() end)
  task("load_b", { 12, 1 }, function(t) for i in steps() do g.b:acquire(); g.b:tma_load(gb:at(t.n, i)); g.b:commit() end end)
  return k
end

local function bytes(k, name, stages)
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = stages },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
end

--- n tasks in a row, each hands its stages on to the next; in each of so many CTAs.
function growth.chain(n, ctas)
  local k = weir.kernel { name = "chain", arch = "sm_90a", cluster = ctas and { m = ctas } }
  local N, ring = k:dim "N", {}
  for i = 1, n - 1 do ring[i] = bytes(k, "r" .. i, 2) end
  for i = 1, n do
    k:task { name = "t" .. i, warps = { i - 1, 1 }, schedule = function()
      for _ in weir.domain_loop(0, N) do
        if i > 1 then ring[i - 1]:wait(); ring[i - 1]:use() end
        if i < n then ring[i]:acquire(); ring[i]:fill(); ring[i]:commit() end
        if i > 1 then ring[i - 1]:release() end
      end
    end }
  end
  return k
end

--- One task that fills a ring for each of n - 1 others.
function growth.star(n)
  local k = weir.kernel { name = "star", arch = "sm_90a" }
  local N, ring = k:dim "N", {}
  for i = 1, n - 1 do ring[i] = bytes(k, "r" .. i, 2) end
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do
      for i = 1, n - 1 do ring[i]:acquire(); ring[i]:fill(); ring[i]:commit() end
    end
  end }
  for i = 1, n - 1 do
    k:task { name = "get" .. i, warps = { i, 1 }, schedule = function()
      for _ in weir.domain_loop(0, N) do ring[i]:wait(); ring[i]:use(); ring[i]:release() end
    end }
  end
  return k
end

--- n warps of one task fill a ring, one warp of another empties it.
function growth.warps(n)
  local k = weir.kernel { name = "warps", arch = "sm_90a" }
  local N, s = k:dim "N", bytes(k, "s", 2)
  k:task { name = "give", warps = { 0, n }, schedule = function()
    for _ in weir.domain_loop(0, N) do s:acquire(); s:fill(); s:commit() end
  end }
  k:task { name = "get", warps = { n, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do s:wait(); s:use(); s:release() end
  end }
  return k
end

--- Two tasks, n rounds of a ring of four stages in each step of the loop.
function growth.rounds(n)
  local k = weir.kernel { name = "rounds", arch = "sm_90a" }
  local N, s = k:dim "N", bytes(k, "s", 4)
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do for _ = 1, n do s:acquire(); s:fill(); s:commit() end end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do for _ = 1, n do s:wait(); s:use(); s:release() end end
  end }
  return k
end

--- Two tasks and a ring of n stages.
function growth.ring(n)
  local k = weir.kernel { name = "ring", arch = "sm_90a" }
  local N, s = k:dim "N", bytes(k, "s", n)
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do s:acquire(); s:fill(); s:commit() end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do s:wait(); s:use(); s:release() end
  end }
  return k
end

--- Two tasks and n rings between them.
function growth.rings(n)
  local k = weir.kernel { name = "rings", arch = "sm_90a" }
  local N, ring = k:dim "N", {}
  for i = 1, n do ring[i] = bytes(k, "r" .. i, 2) end
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do for i = 1, n do ring[i]:acquire(); ring[i]:fill(); ring[i]:commit() end end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for _ in weir.domain_loop(0, N) do for i = 1, n do ring[i]:wait(); ring[i]:use(); ring[i]:release() end end
  end }
  return k
end

--- Two tasks, n loops one after the other in each: of one length, or of n.
function growth.loops(n, lengths)
  local k = weir.kernel { name = "loops", arch = "sm_90a" }
  local N, s = {}, bytes(k, "s", 2)
  for i = 1, n do N[i] = (lengths or i == 1) and k:dim("N" .. i) or N[1] end
  k:task { name = "give", warps = { 0, 1 }, schedule = function()
    for i = 1, n do for _ in weir.domain_loop(0, N[i]) do s:acquire(); s:fill(); s:commit() end end
  end }
  k:task { name = "get", warps = { 1, 1 }, schedule = function()
    for i = 1, n do for _ in weir.domain_loop(0, N[i]) do s:wait(); s:use(); s:release() end end
  end }
  return k
end

--- A task that keeps a tile's n parts and lets them leave a turn late: one behind each of the next tile's first n steps, and what that has no
--- steps for behind the last one.
function growth.late(n)
  local k = weir.kernel { name = "late", arch = "sm_90a" }
  local N, M = k:dim "N", k:dim "M"
  local Y = k:tensor { name = "Y", dtype = "bf16", shape = { M, 64 * n }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { cd(M, 64) } }
  local s = bytes(k, "s", 2)
  local parts = k:smem_tile { name = "parts", dtype = "bf16", tile = { 64, 64 }, pipeline = P.async_tma { stages = 2 } }
  k:task { name = "give", warps = { 4, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for _ in weir.domain_loop(0, N) do s:acquire(); s:fill(); s:commit() end
      wq:next()
    end
  end }
  k:task { name = "late", warps = { 0, 4 }, schedule = function()
    local function leave(b, j)
      parts:acquire(); parts:store(1.0); parts:commit()
      parts:wait(); y:tma_store(parts:read(), y:at(b.m, j)); parts:release()
    end
    for _ in weir.work_tile_loop(wq) do
      for i in weir.domain_loop(0, N) do
        s:wait(); s:use(); s:release()
        for j = 0, n - 1 do
          for _ in weir.when_true(weir.eq(i, j)) do for b in weir.previous_tile(wq) do leave(b, j) end end
        end
      end
      for j = 0, n - 1 do
        for _ in weir.when_true(weir.le(N, j)) do for b in weir.previous_tile(wq) do leave(b, j) end end
      end
      wq:next()
    end
    for b in weir.last_tile(wq) do for j = 0, n - 1 do leave(b, j) end end
  end }
  return k
end

--- Two tasks that store to n places of a tensor each, in turn.
function growth.stores(n)
  local k = weir.kernel { name = "stores", arch = "sm_90a" }
  local M = k:dim "M"
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { cd(M, 64) } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, 2 * 64 * n }, out = true }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 64, 64 } }
  for q = 0, 1 do
    k:task { name = "t" .. q, warps = { 4 * q, 4 }, schedule = function()
      for t in weir.work_tile_loop(wq) do
        for j = 0, n - 1 do y:store(1.0, y:at(t.m, 2 * j + q)) end
        wq:next()
      end
    end }
  end
  return k
end

growth.series = {
  { of = "stages", text = "stages of the GEMM of four tasks", make = growth.four_tasks, x = { 1, 2, 3, 4, 6, 8, 10, 12 } },
  { of = "ring", text = "stages of a ring of bytes", make = growth.ring, x = { 1, 2, 4, 8, 12, 16, 24, 32, 48, 64 } },
  { of = "tasks", text = "tasks of a chain", make = growth.chain, x = { 2, 4, 6, 8, 12, 16, 20, 24, 28, 32 } }, -- a CTA has 32 warps at most
  { of = "arms", text = "tasks of a star", make = growth.star, x = { 2, 4, 6, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "warps", text = "warps of a task", make = growth.warps, x = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 31 } },
  { of = "moves", text = "rounds of a ring in one step", make = growth.rounds, x = { 1, 2, 4, 6, 8, 12, 16, 20, 28, 36, 44 } },
  { of = "rings", text = "pipelines between two tasks", make = growth.rings, x = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "clustered", text = "tasks of a chain, in each of two CTAs", make = function(n) return growth.chain(n, 2) end, x = { 2, 4, 6, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "loops", text = "loops one after the other", make = growth.loops, x = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "lengths", text = "loops of a length each", make = function(n) return growth.loops(n, true) end, x = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "stores", text = "stores of each of two tasks", make = growth.stores, x = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32 } },
  { of = "parts", text = "parts that leave a turn late", make = growth.late, x = { 1, 2, 3, 4, 6, 8 } },
}

return growth
