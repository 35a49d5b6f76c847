-- Kernels whose CTAs copy into each other: a GEMM that splits K over the CTAs of a cluster, a halo exchange. t/push.t proves and runs them,
-- t/gpu/push.t runs them on a GPU.
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div
local push = {}

--- D = A * transpose(B); the CTAs along k each take a part of K. All but the first push their sums, in f32, into slabs of the first, which
--- adds and stores. o: ctas (2), stages (of the sums, 1), m and n (CTAs along these axes, 1), swizzle (of the sums, 128), kind (of the queue),
--- change = what is wrong: "guard" (CTA 0 pushes too), "slab" (all into one), "early" (the source is given back before what was pushed has
--- arrived), "release" (the first CTA never gives the sums back).
function push.split_k(o)
  o = o or {}
  local BM, BN, BK, ctas, stages, wrong = 64, o.bn or 64, 64, o.ctas or 2, o.stages or 1, o.change or ""
  local k = weir.kernel { name = "split_k", arch = "sm_90a", cluster = { m = o.m or 1, n = o.n or 1, k = ctas } }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  local A, B = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }, k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", kind = o.kind, stages = o.kind and 2 or nil, over = D, tile = { BM, BN } }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }, k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, BN } }
  local ring = P.tma_async { stages = 2 }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { BM, BK }, swizzle = 128, pipeline = ring }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN, BK }, swizzle = 128, pipeline = ring }
  local part = k:smem_tile { name = "part", dtype = "f32", tile = { BM, BN }, swizzle = o.swizzle or 128, pipeline = P.async_tma { stages = stages } }
  local sums = k:smem_tile { name = "sums", dtype = "f32", tile = ctas > 2 and { ctas - 1, BM, BN } or { BM, BN }, swizzle = o.swizzle or 128,
    pipeline = P.tma_async { stages = stages } }
  local acc = k:wgmma_tile { name = "acc", tile = { BM, BN } }
  local each = cd(cd(K, BK), ctas)
  local function steps() return weir.domain_loop(k.cta.k * each, weir.min((k.cta.k + 1) * each, cd(K, BK))) end
  local function others() return weir.when_true(weir.ge(k.cta.k, wrong == "guard" and 0 or 1)) end
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in steps() do
        a:acquire(); a:tma_load(ga:at(t.m, i)); a:commit()
        b:acquire(); b:tma_load(gb:at(t.n, i)); b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      acc:zero()
      for _ in steps() do
        a:wait(); b:wait()
        acc:mma(a:read(), b:read())
        acc:drain()
        a:release(); b:release()
      end
      for _ in others() do part:acquire(); part:store(acc:read()); part:commit() end
      for _ in weir.when_true(weir.eq(k.cta.k, 0)) do
        sums:wait()
        local x = acc:read()
        for i = 0, ctas - 2 do x = x + (ctas > 2 and sums:read():sub(i) or sums:read()):load() end
        gd:store(x, t)
        if wrong ~= "release" then sums:release() end
      end
      wq:next()
    end
  end }
  if o.kind then
    k:task { name = "fetch", warps = { 6, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
  end
  k:task { name = "send", warps = { 5, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      for _ in others() do
        sums:acquire()                                       -- what was pushed `stages` tiles ago has arrived, and was added
        if wrong ~= "early" then part:release(stages - 1) end
        part:wait()
        if ctas == 2 then sums:push(part:read(), { k = 0 })
        else sums:push(part:read(), sums:sub(wrong == "slab" and 0 or k.cta.k - 1), { k = 0 }) end
        sums:commit()
        if wrong == "early" then part:release() end
      end
      wq:next()
    end
  end }
  return k, { sums = sums, part = part }
end

--- y[i] = x[i - 1] + x[i] + x[i + 1] by rows of tiles, which the CTAs along k share out: each loads its tile and pushes it to both neighbours.
--- What lies outside is 0. o: ctas (4), stages (of what is pushed, 1), change = "early" (the source is given back a step too soon).
function push.halo(o)
  o = o or {}
  local R, C, ctas = 8, 32, o.ctas or 4
  local k = weir.kernel { name = "halo", arch = "sm_90a", cluster = { k = ctas } }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { ctas, H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { ctas, H, W }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { cd(H, R) } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 1, R, C } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, R, C } }
  local function tile(name, stages) return k:smem_tile { name = name, dtype = "f32", tile = { R, C }, pipeline = P.tma_async { stages = stages } } end
  local depth = o.stages or 1
  local own, left, right = tile("own", depth + 1), tile("left", depth), tile("right", depth)      -- left: of the CTA before this one
  local kk = k.cta.k
  local function not_last() return weir.when_true(weir.lt(kk, ctas - 1)) end
  local function not_first() return weir.when_true(weir.gt(kk, 0)) end
  local function each(body)
    return function()
      for t in weir.work_tile_loop(wq) do
        for j in weir.domain_loop(0, cd(W, C)) do body(t, j) end
        wq:next()
      end
    end
  end
  k:task { name = "load", warps = { 4, 1 }, schedule = each(function(t, j) own:acquire(); own:tma_load(gx:at(kk, t.i, j)); own:commit() end) }
  -- An acquire of left and right says that what was pushed `depth` steps ago has arrived: its source may be given back.
  k:task { name = "send", warps = { 5, 1 }, schedule = each(function()
    own:wait()
    for _ in not_last() do left:acquire(); left:push(own:read(), { k = kk + 1 }); left:commit() end
    for _ in not_first() do right:acquire(); right:push(own:read(), { k = kk - 1 }); right:commit() end
    own:release(o.change == "early" and depth - 1 or depth)
  end) }
  k:task { name = "add", warps = { 0, 2 }, schedule = each(function(t, j)
    own:wait()
    local at = gy:at(kk, t.i, j)
    if ctas == 2 then
      for _ in not_first() do left:wait(); gy:store(own:read():load() + left:read():load(), at); left:release() end
      for _ in not_last() do right:wait(); gy:store(own:read():load() + right:read():load(), at); right:release() end
    else
      for _ in weir.when_true(weir.eq(kk, 0)) do right:wait(); gy:store(own:read():load() + right:read():load(), at); right:release() end
      for _ in weir.when_true(weir.gt(kk, 0) & weir.lt(kk, ctas - 1)) do
        left:wait(); right:wait()
        gy:store(left:read():load() + own:read():load() + right:read():load(), at)
        left:release(); right:release()
      end
      for _ in weir.when_true(weir.eq(kk, ctas - 1)) do left:wait(); gy:store(own:read():load() + left:read():load(), at); left:release() end
    end
    own:release()
  end) }
  return k
end

local runs = 0

--- Runs a split_k: true, or false and what is wrong. o: device, grid.
function push.run_split_k(program, M, N, K, o)
  local dev = o.device
  runs = runs + 1                                            -- each has numbers of its own
  local a, b = dev:tensor { dtype = "bf16", shape = { M, K } }:randn(2 * runs), dev:tensor { dtype = "bf16", shape = { N, K } }:randn(2 * runs + 1)
  local d = dev:tensor { dtype = "f32", shape = { M, N } }:fill(0 / 0)
  local ok, message = program:launch({ A = a, B = b, D = d }, { device = dev, grid = o.grid })
  if ok then ok, message = dev:sync() end
  if not ok then return false, message end
  local x, y, z = a:get(), b:get(), d:get()
  for i = 0, M - 1, M > 400 and 7 or 1 do
    for j = 0, N - 1, 3 do
      local s, size = 0.0, 0.0
      for q = 1, K do
        local v = x[i * K + q] * y[j * K + q]
        s, size = s + v, size + math.abs(v)
      end
      local got = z[i * N + j + 1]
      local off = math.abs(got - s)
      if off ~= off or off > 1e-5 * size + 1e-6 * math.abs(s) then return false, ("wrong numbers: D[%d][%d] is %g, should be %g"):format(i, j, got, s) end
    end
  end
  return true, ""
end

return push
