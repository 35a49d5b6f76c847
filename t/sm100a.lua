-- Kernels for sm_100a, as tests need them. Required by t/sm100a.t, t/sm100a_pairs.t and t/perturb.t.
local lab = require "lab" -- before weir
local tap = require "tap"
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div

local M = {}

--- D = act(A * transpose(B)), the shape of spec K02: loads, one thread that issues the mma, four warps that store.
--- | m, n, k = 128, 64, 64: the tile; stages = 3, sums = 2; dtype, out = "bf16"; group = "fused_merge" | "merge" | "none"
--- | a, b = "tma" | "threads" | "cp_async": who fills the operand; ta, tb: stored transposed
--- | zero_k: K may be 0; steps(K, k): the length of the loop over K. store = "plain" | "staged"; cluster = { m, n }, multicast loads, loads_by = "first"; issue = 1: warps of the task with the mma; relu; swizzle = 128
--- | v = 2: two CTAs share each mma: M and N are the rows and columns of one CTA's tile, b a stage's half of N; mma_cta: the task's `cta`
--- | operands_by, commit_by, release_by: signaling of the mma that gives operands back and hands sums over, of the threads that give those back
--- | load_warps = 4: warps of the task that loads, whose first arms for the leader CTA (task_warp_leader); bytes as the spec has them declared
--- | pdl = true: the task that loads waits for the launch before
--- | store_lanes: so many tasks take the finished tiles in turn, a stage of sums each for good
function M.gemm(o)
  o = o or {}
  local BM, BN, BK, S = o.m or 128, o.n or 64, o.k or 64, o.stages or 3
  local dtype, out, mode = o.dtype or "bf16", o.out or "bf16", o.group or "fused_merge"
  local cm, cn = table.unpack(o.cluster or { 1, 1 })
  local ctas = o.v or 1
  local k = weir.kernel { name = "gemm", arch = o.arch or "sm_100a", cluster = { v = ctas, m = cm, n = cn } }
  local Ms, Ns, K = k:dim "M", k:dim "N", k:dim("K", { min = o.zero_k and 0 or 1 })
  local function operand(name, rows, tile, transposed)
    local t = k:tensor { name = name:upper(), dtype = dtype == "tf32" and "f32" or dtype, shape = transposed and { K, rows } or { rows, K } }
    return k:gmem_tile { name = "g" .. name, tensor = t, tile = transposed and { BK, tile } or { tile, BK } }
  end
  local BH = o.b_rows or BN // ctas -- rows of B that a CTA loads
  local ga, gb = operand("a", Ms, BM, o.ta), operand("b", Ns, BH, o.tb)
  local D = k:tensor { name = "D", dtype = out, shape = { Ms, Ns }, out = true }
  local wq = k:work_queue { name = "wq", kind = o.queue, over = D, tile = { BM, BN } }
  local EN = o.store == "staged" and math.min(BN, 64) or BN
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, EN } }
  local function ring(name, tile, transposed, by)
    by = by or "tma"
    local routed = by == "tma" and o.load_warps and ctas * tile * BK * 2 or nil -- what the leader's barrier counts of both CTAs
    local pipe = by == "tma" and P.tma_umma { stages = S, consumer_signaling = o.operands_by, producer_signaling = routed and "cta_leader+task_warp_leader",
      bytes = routed, bytes_per_warp_per_cta = routed and routed // ctas // o.load_warps } or P.async_umma { stages = S, producer_op = by == "cp_async" and "load" or nil }
    return k:smem_tile { name = name, dtype = dtype, tile = transposed and { BK, tile } or { tile, BK }, swizzle = o.swizzle or 128, pipeline = pipe }
  end
  local a, b = ring("a", BM, o.ta, o.a), ring("b", BH, o.tb, o.b)
  local ma, mb, ab = a, b, nil
  if mode ~= "none" then
    ab = k:group { name = "ab", mode = mode, members = { a, b } }
    ma, mb = ab:member "a", ab:member "b"
  end
  local acc = k:tmem_tile { name = "acc", tile = { BM, BN }, pipeline = P.umma_async { stages = o.sums or 2, producer_signaling = o.commit_by, consumer_signaling = o.release_by } }
  for lane = 0, (o.store_lanes or 1) - 1 do
    local name = o.store_lanes and tostring(lane) or ""
    local stage = o.store == "staged" and k:smem_tile { name = "stage" .. name, dtype = out, tile = { BM, EN }, swizzle = 128, pipeline = P.async_tma { stages = 2 } }
    k:task { name = "store" .. name, warps = { 8 * lane, 4 }, registers = o.registers and 160 or nil, schedule = function()
      for t in weir.work_tile_loop(wq, o.store_lanes and { lane = lane, lanes = o.store_lanes } or nil) do
        acc:wait()
        for c = 0, BN // EN - 1 do
          local v = EN == BN and acc:read() or acc:read():cols(c * EN, EN)
          v = o.relu and weir.relu(v:load()) or v
          if stage then
            stage:acquire(); stage:store(v); stage:commit()
            stage:wait(); gd:tma_store(stage:read(), gd:at(t.m, t.n * (BN // EN) + c)); stage:release()
          else
            gd:store(v, gd:at(t.m, t.n * (BN // EN) + c))
          end
        end
        acc:release()
        wq:next()
      end
    end }
  end
  local steps = o.steps and o.steps(K, k) or cd(K, BK)
  local function fill(s, g, by, transposed, outer, kk, axis)
    s:acquire()
    local place = transposed and g:at(kk, outer) or g:at(outer, kk)
    if by == "threads" then s:store(place) elseif by == "cp_async" then s:cp_async(place) else s:tma_load(place, { multicast = axis, issue = axis and o.loads_by }) end
    s:commit()
  end
  -- B is the same for the CTAs along m, A for those along n
  local along_a, along_b = cn > 1 and "n" or nil, cm > 1 and "m" or nil
  local before = o.pdl and k:pdl_wait { name = "before" }
  local function loads(name, warps, list)
    k:task { name = name, warps = warps, registers = o.registers and 40 or nil, schedule = function()
      if before then before:wait_griddep() end
      for t in weir.work_tile_loop(wq) do
        for kk in weir.domain_loop(0, steps) do
          for _, x in ipairs(list) do
            if x == "a" then fill(ma, ga, o.a, o.ta, t.m, kk, along_a) else fill(mb, gb, o.b, o.tb, ctas > 1 and t.n * ctas + k.cta.v or t.n, kk, along_b) end
          end
        end
        wq:next()
      end
    end }
  end
  local warp = 4
  if (o.a or "tma") == (o.b or "tma") and not o.a then
    loads("load", { 4, o.load_warps or 1 }, { "a", "b" })
    warp = 4 + (o.load_warps or 1)
  else
    for _, x in ipairs { "a", "b" } do
      local n = (o[x] or "tma") == "tma" and 1 or 2
      loads("load_" .. x, { warp, n }, { x })
      warp = warp + n
    end
  end
  if o.queue == "atomic" then -- tiles drawn from a counter
    k:task { name = "fetch", warps = { 7, 1 }, schedule = function()
      for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end
    end }
  end
  if (o.issue or 1) > 1 then warp = 8 end
  k:task { name = "mma", warps = { warp, o.issue or 1 }, registers = o.registers and 40 or nil, cta = o.mma_cta, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      acc:acquire(); acc:zero()
      for _ in weir.domain_loop(0, steps) do
        if mode == "fused_merge" then ab:wait() else ma:wait(); mb:wait() end
        acc:mma(o.ta and ma:read():t() or ma:read(), o.tb and mb:read():t() or mb:read())
        if ab then ab:release() else ma:release(); mb:release() end
      end
      acc:commit()
      wq:next()
    end
  end }
  return k, { a = a, b = b, acc = acc }
end

--- Runs it: true, or false and what is wrong. o: as above, and grid: CTAs; m, n, k sizes.
function M.run_gemm(program, o, dev, m, n, k)
  local dtype = o.dtype == "tf32" and "f32" or o.dtype or "bf16"
  local function upload(rows, cols, transposed, seed)
    return dev:tensor { dtype = dtype, shape = transposed and { cols, rows } or { rows, cols } }:randn(seed)
  end
  local a, b = upload(m, k, o.ta, 3), upload(n, k, o.tb, 4)
  local d = dev:tensor { dtype = o.out or "bf16", shape = { m, n } }:fill(0 / 0)
  local ok, message = program:launch({ A = a, B = b, D = d }, { grid = o.grid })
  if ok then ok, message = dev:sync() end
  if not ok then return false, message end
  local x, y, z = a:get(), b:get(), d:get()
  local function low(v) -- tf32 keeps 10 bits of the fraction
    if o.dtype ~= "tf32" or v == 0 then return v end
    local e = 2.0 ^ (10 - math.floor(math.log(math.abs(v), 2)))
    local t = v * e
    return (t < 0 and math.ceil(t) or math.floor(t)) / e
  end
  for i, v in ipairs(x) do x[i] = low(v) end
  for i, v in ipairs(y) do y[i] = low(v) end
  local exact = (o.out or "bf16") == "f32"
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local s, size = 0.0, 0.0
      for q = 0, k - 1 do
        local p = (o.ta and x[q * m + i + 1] or x[i * k + q + 1]) * (o.tb and y[q * n + j + 1] or y[j * k + q + 1])
        s, size = s + p, size + math.abs(p)
      end
      if o.relu then s = math.max(s, 0) end
      local off = math.abs(z[i * n + j + 1] - s)
      if off ~= off or off > (exact and 0 or math.abs(s) / 200) + size * 1e-6 then
        return false, ("wrong numbers: D[%d][%d] is %g, should be %g"):format(i, j, z[i * n + j + 1], s)
      end
    end
  end
  return true, ""
end

--- D = A * transpose(B) + R, spec K07.3: the sums and the loaded tile R are one merge, released together.
function M.residual(by, v)
  local BM, BN, BK = 128, 32, 64
  local k = weir.kernel { name = "residual", arch = "sm_100a", cluster = { v = v } }
  local Ms, Ns, K = k:dim "M", k:dim "N", k:dim("K", { min = 1 })
  local function tile(name, shape, t, out)
    return k:gmem_tile { name = "g" .. name, tensor = k:tensor { name = name, dtype = "bf16", shape = shape, out = out }, tile = t }
  end
  local BH = BN // (v or 1)
  local ga, gb = tile("A", { Ms, K }, { BM, BK }), tile("B", { Ns, K }, { BH, BK })
  local gr, gd = tile("R", { Ms, Ns }, { BM, BN }), tile("D", { Ms, Ns }, { BM, BN }, true)
  local wq = k:work_queue { name = "wq", over = gd.tensor, tile = { BM, BN } }
  local function ring(name, t) return k:smem_tile { name = name, dtype = "bf16", tile = t, swizzle = 128, pipeline = P.tma_umma { stages = 3 } } end
  local a, b = ring("a", { BM, BK }), ring("b", { BH, BK })
  local ab = k:group { name = "ab", mode = "merge", members = { a, b } }
  local acc = k:tmem_tile { name = "acc", tile = { BM, BN }, pipeline = P.umma_async { stages = 1 } }
  local res = k:smem_tile { name = "res", dtype = "bf16", tile = { BM, BN }, pipeline = by == "threads" and P.async_async { stages = 1 } or P.tma_async { stages = 1 } }
  local sum = k:group { name = "sum", mode = "merge", members = { acc, res } }
  local function tiles(f) return function() for t in weir.work_tile_loop(wq) do f(t) wq:next() end end end
  local function each_k(f) return tiles(function(t) for kk in weir.domain_loop(0, cd(K, BK)) do f(t, kk) end end) end
  k:task { name = "store", warps = { 0, 4 }, schedule = tiles(function(t)
    sum.acc:wait(); sum.res:wait()
    gd:store(sum.acc:read():load() + sum.res:read():load(), t)
    sum:release()
  end) }
  k:task { name = "load_a", warps = { 4, 1 }, schedule = each_k(function(t, kk) ab.a:acquire(); ab.a:tma_load(ga:at(t.m, kk)); ab.a:commit() end) }
  k:task { name = "load_b", warps = { 5, 1 }, schedule = each_k(function(t, kk) ab.b:acquire(); ab.b:tma_load(gb:at(v and t.n * v + k.cta.v or t.n, kk)); ab.b:commit() end) }
  k:task { name = "mma", warps = { 6, 1 }, schedule = tiles(function()
    sum.acc:acquire(); sum.acc:zero()
    for _ in weir.domain_loop(0, cd(K, BK)) do
      ab.a:wait(); ab.b:wait(); sum.acc:mma(ab.a:read(), ab.b:read()); ab:release()
    end
    sum.acc:commit()
  end) }
  k:task { name = "load_r", warps = { 7, 1 }, schedule = tiles(function(t)
    sum.res:acquire()
    if by == "threads" then sum.res:store(gr:at(t.m, t.n)) else sum.res:tma_load(gr:at(t.m, t.n)) end
    sum.res:commit()
  end) }
  return k
end

--- D = relu(A * transpose(B)) and R = relu(A), spec K07.4: a fork gives each loaded tile of A to the tensor core and to threads.
function M.fork(by, v)
  local BM, BN, BK, S = 128, v and 32 or 16, 64, 4
  local k = weir.kernel { name = "fork", arch = "sm_100a", cluster = { v = v } }
  local Ms, Ns, K = k:dim "M", k:dim "N", k:dim("K", { min = 1 })
  local function tile(name, shape, t, out)
    return k:gmem_tile { name = "g" .. name, tensor = k:tensor { name = name, dtype = "bf16", shape = shape, out = out }, tile = t }
  end
  local ga, gb = tile("A", { Ms, K }, { BM, BK }), tile("B", { Ns, K }, { BN // (v or 1), BK })
  local gd, gr = tile("D", { Ms, Ns }, { BM, BN }, true), tile("R", { Ms, K }, { BM, BK }, true)
  local wq = k:work_queue { name = "wq", kind = "grid", over = gd.tensor, tile = { BM, BN } }
  local threads = by == "threads"
  local a_mm = k:smem_tile { name = "a_mm", dtype = "bf16", tile = { BM, BK }, swizzle = 128,
    pipeline = threads and P.async_umma { stages = S } or P.tma_umma { stages = S } }
  local a_act = k:smem_tile { name = "a_act", storage = a_mm, pipeline = threads and P.async_async { stages = S } or P.tma_async { stages = S } }
  local a = k:group { name = "a", mode = "fork", members = { a_mm, a_act } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN // (v or 1), BK }, swizzle = 128, pipeline = P.tma_umma { stages = S } }
  local acc = k:tmem_tile { name = "acc", tile = { BM, BN }, pipeline = P.umma_async { stages = 1 } }
  local function each_k(f) return function()
    for t in weir.work_tile_loop(wq) do for kk in weir.domain_loop(0, cd(K, BK)) do f(t, kk) end wq:next() end end end
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do acc:wait(); gd:store(weir.relu(acc:read():load()), t); acc:release(); wq:next() end
  end }
  k:task { name = "load_a", warps = { 4, 1 }, schedule = each_k(function(t, kk)
    a.a_mm:acquire(); a.a_act:acquire()
    if threads then a.a_mm:store(ga:at(t.m, kk)) else a.a_mm:tma_load(ga:at(t.m, kk)) end
    a:commit()
  end) }
  k:task { name = "load_b", warps = { 5, 1 }, schedule = each_k(function(t, kk) b:acquire(); b:tma_load(gb:at(v and t.n * v + k.cta.v or t.n, kk)); b:commit() end) }
  k:task { name = "mma", warps = { 6, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do
      acc:acquire(); acc:zero()
      for _ in weir.domain_loop(0, cd(K, BK)) do
        a.a_mm:wait(); b:wait(); acc:mma(a.a_mm:read(), b:read()); a.a_mm:release(); b:release()
      end
      acc:commit()
      wq:next()
    end
  end }
  k:task { name = "act", warps = { 7, 1 }, schedule = each_k(function(t, kk)
    a.a_act:wait()
    for _ in weir.when_true(weir.eq(t.n, 0)) do gr:store(weir.relu(a.a_act:read():load()), gr:at(t.m, kk)) end
    a.a_act:release()
  end) }
  return k
end

--- D = (A * transpose(B)) * transpose(C): the sums of one mma stay in tensor memory and are operand a of the next, in tf32.
--- | v = 2: two CTAs share each mma; one = false: both in one task; c = "bf16": what does not fit; stages of the sums between them: sums = 2; fork = true: threads store those too, as E
function M.chain(o)
  local v = o.v or 1
  local BM, BN, BK, BP = 128, 32, 64, v > 1 and 64 or 48
  local k = weir.kernel { name = "chain", arch = "sm_100a", cluster = { v = v } }
  local function half(i) return v > 1 and i * v + k.cta.v or i end -- of B and C a CTA has its part
  local Ms, Ns, Ps, K = k:dim "M", k:dim("N", { max = BN }), k:dim "P", k:dim("K", { min = 1 })
  local function tile(name, dtype, shape, t, out)
    return k:gmem_tile { name = "g" .. name, tensor = k:tensor { name = name, dtype = dtype, shape = shape, out = out }, tile = t }
  end
  local ga, gb = tile("A", "bf16", { Ms, K }, { BM, BK }), tile("B", "bf16", { Ns, K }, { BN // v, BK })
  local gc, gd = tile("C", o.c or "f32", { Ps, Ns }, { BP // v, BN }), tile("D", "f32", { Ms, Ps }, { BM, BP }, true)
  local ge = o.fork and tile("E", "f32", { Ms, Ns }, { BM, BN }, true)
  local wq = k:work_queue { name = "wq", over = gd.tensor, tile = { BM, BP } }
  local function ring(name, dtype, t, swizzle)
    return k:smem_tile { name = name, dtype = dtype, tile = t, swizzle = swizzle or 128, pipeline = P.tma_umma { stages = 2 } }
  end
  local a, b, c = ring("a", "bf16", { BM, BK }), ring("b", "bf16", { BN // v, BK }), ring("c", o.c or "tf32", { BP // v, BN }, o.c and 64)
  local x = k:tmem_tile { name = "x", tile = { BM, BN }, pipeline = P.umma_umma { stages = o.sums or 2 } }
  local acc = k:tmem_tile { name = "acc", tile = { BM, BP }, pipeline = P.umma_async { stages = 2 } }
  local seen, both
  if o.fork then
    seen = k:tmem_tile { name = "seen", tile = { BM, BN }, pipeline = P.umma_async { stages = o.sums or 2 } }
    both = k:group { name = "both", mode = "fork", members = { x, seen } }
    x, seen = both:member "x", both:member "seen"
  end
  local function tiles(f) return function() for t in weir.work_tile_loop(wq) do f(t) wq:next() end end end
  k:task { name = "store", warps = { 0, 4 }, schedule = tiles(function(t)
    if seen then
      seen:wait()
      for _ in weir.when_true(weir.eq(t.n, 0)) do ge:store(seen:read(), ge:at(t.m, 0)) end   -- one tile of a row does: E has no n
      seen:release()
    end
    acc:wait(); gd:store(acc:read(), t); acc:release()
  end) }
  k:task { name = "load", warps = { 4, 1 }, schedule = tiles(function(t)
    for kk in weir.domain_loop(0, cd(K, BK)) do
      a:acquire(); a:tma_load(ga:at(t.m, kk)); a:commit()
      b:acquire(); b:tma_load(gb:at(half(0), kk)); b:commit()
    end
    c:acquire(); c:tma_load(gc:at(half(t.n), 0)); c:commit()
  end) }
  local function first()
    x:acquire()
    if seen then seen:acquire(); seen:zero() end
    x:zero()
    for _ in weir.domain_loop(0, cd(K, BK)) do
      a:wait(); b:wait(); x:mma(a:read(), b:read())
      if seen then seen:mma(a:read(), b:read()) end
      a:release(); b:release()
    end
    if both then both:commit() else x:commit() end
  end
  local function second()
    acc:acquire(); acc:zero()
    x:wait(); c:wait(); acc:mma(x:read(), c:read()); x:release(); c:release()
    acc:commit()
  end
  if o.one then
    k:task { name = "mma", warps = { 5, 1 }, schedule = tiles(function() first() second() end) }
  else
    k:task { name = "first", warps = { 5, 1 }, schedule = tiles(first) }
    k:task { name = "second", warps = { 6, 1 }, schedule = tiles(second) }
  end
  return k
end

--- Runs it with whole numbers, of which every bit must be right.
function M.run_chain(program, o, dev, m, n, p, k)
  local function upload(dtype, rows, cols, seed)
    local t = {}
    for i = 1, rows * cols do t[i] = i * seed % 7 - 3 end
    return dev:tensor { dtype = dtype, shape = { rows, cols } }:set(t), t
  end
  local A, x = upload("bf16", m, k, 5)
  local B, y = upload("bf16", n, k, 11)
  local C, z = upload("f32", p, n, 13)
  local D, E = dev:tensor { dtype = "f32", shape = { m, p } }:fill(0 / 0), o.fork and dev:tensor { dtype = "f32", shape = { m, n } }:fill(0 / 0)
  local ok, message = program:launch({ A = A, B = B, C = C, D = D, E = E or nil }, { grid = o.grid })
  if ok then ok, message = dev:sync() end
  if not ok then return false, message end
  local d, e = D:get(), E and E:get()
  for i = 0, m - 1 do
    local sums = {}
    for j = 0, n - 1 do
      sums[j] = 0
      for q = 1, k do sums[j] = sums[j] + x[i * k + q] * y[j * k + q] end
      if e and e[i * n + j + 1] ~= sums[j] then return false, ("wrong numbers: E[%d][%d]"):format(i, j) end
    end
    for l = 0, p - 1 do
      local s = 0
      for j = 0, n - 1 do s = s + sums[j] * z[l * n + j + 1] end
      if d[i * p + l + 1] ~= s then return false, ("wrong numbers: D[%d][%d] is %g, should be %g"):format(i, l, d[i * p + l + 1], s) end
    end
  end
  return true, ""
end

--- Runs one of the two: every element of D, and of R where it is made.
function M.run_groups(program, what, dev, m, n, k)
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(3), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(4)
  local r = dev:tensor { dtype = "bf16", shape = what == "fork" and { m, k } or { m, n } }:randn(5)
  local d = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
  local ok, message = program:launch { A = a, B = b, R = r, D = d }
  if ok then ok, message = dev:sync() end
  if not ok then return false, message end
  local x, y, z, w = a:get(), b:get(), d:get(), r:get()
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local s = what == "fork" and 0 or w[i * n + j + 1]
      for q = 1, k do s = s + x[i * k + q] * y[j * k + q] end
      if what == "fork" then s = math.max(s, 0) end
      local off = math.abs(z[i * n + j + 1] - s)
      if off ~= off or off > math.abs(s) / 200 + 1e-4 then return false, ("wrong numbers: D[%d][%d] is %g, should be %g"):format(i, j, z[i * n + j + 1], s) end
    end
  end
  for i = 1, what == "fork" and m * k or 0 do
    if w[i] ~= math.max(x[i], 0) then return false, ("wrong numbers: R[%d] is %g, should be %g"):format(i - 1, w[i], math.max(x[i], 0)) end
  end
  return true, ""
end

-- ---- a task's last commits ------------------------------------------------------------------------------------------------------------

--- D = A * transpose(B), a tile of 128 x 64 a CTA, K = 64 * steps. | v; steps = 1
--- | behind: the last stage of b is given back behind acc:commit(). commit = "last": the sums are committed in a loop's last step
--- | more = "always" | "perhaps": a second time each tile, or only in column 0, with the sums committed last
--- | beside: a body of the task's threads besides
function M.late(o)
  local v, steps = o.v or 1, o.steps or 1
  local k = weir.kernel { name = "late", arch = "sm_100a", cluster = { v = v } }
  local Ms, Ns = k:dim "M", k:dim "N"
  local D = k:tensor { name = "D", dtype = "f32", shape = { Ms, Ns }, out = true }
  local ga = k:gmem_tile { name = "ga", tensor = k:tensor { name = "A", dtype = "bf16", shape = { Ms, 64 * steps } }, tile = { 128, 64 } }
  local gb = k:gmem_tile { name = "gb", tensor = k:tensor { name = "B", dtype = "bf16", shape = { Ns, 64 * steps } }, tile = { 64 // v, 64 } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 128, 64 } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 2 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 64 // v, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 2 } }
  local acc = k:tmem_tile { name = "acc", tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } }
  local seen = k:resource { name = "seen", space = "gmem", bind = { d = D }, work = { look = weir.producer_work { code = ";" } } }
  local wq = k:work_queue { name = "wq", over = D, tile = { 128, 64 } }
  local function rounds(t, round)
    if o.more == "always" then round(true) round(false)
    elseif o.more then
      round(true)
      for _ in weir.when_true(weir.eq(t.n, 0)) do round(false) end
    else round(o.behind) end
  end
  local function each_step(step)
    if o.commit == "last" then
      for i in weir.domain_loop(0, steps) do step(i, false, i) end
    else
      for i in weir.domain_loop(0, steps - 1) do step(i) end
      step(steps - 1, true)
    end
  end
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      rounds(t, function() acc:wait(); gd:store(acc:read(), gd:at(t.m, t.n)); acc:release() end)
      wq:next()
    end
  end }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      rounds(t, function()
        each_step(function(i)
          a:acquire(); a:tma_load(ga:at(t.m, i)); a:commit()
          b:acquire(); b:tma_load(gb:at(v > 1 and t.n * v + k.cta.v or t.n, i)); b:commit()
        end)
      end)
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 5, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      rounds(t, function(behind)
        acc:acquire(); acc:zero()
        each_step(function(_, last, i)
          a:wait(); b:wait(); acc:mma(a:read(), b:read()); a:release()
          if not (behind and last) then b:release() end
          if i then for _ in i:last_iter() do acc:commit() end end
          if o.beside then seen:look() end
        end)
        if o.commit ~= "last" then acc:commit() end
        if behind then b:release() end
      end)
      wq:next()
    end
  end }
  return k
end

--- Runs it: true, "", or false and what is wrong.
function M.run_late(program, o, dev)
  local K = 64 * (o.steps or 1)
  local a, b = dev:tensor { dtype = "bf16", shape = { 512, K } }:fill(1), dev:tensor { dtype = "bf16", shape = { 64, K } }:fill(2)
  local d = dev:tensor { dtype = "f32", shape = { 512, 64 } }:fill(0 / 0)
  local ok, message = program:launch({ A = a, B = b, D = d }, { grid = o.grid, device = dev })
  if ok then ok, message = dev:sync() end
  if not ok then return false, message end
  for i, x in ipairs(d:get()) do if x ~= 2 * K then return false, ("element %d is %s, not %d"):format(i, x, 2 * K) end end
  return true, ""
end

-- ---- one kernel, all the way ----------------------------------------------------------------------------------------------------------
M.unchecked = "model not checked on hardware"

local nvrtc, why_not
local function has_nvrtc()
  local ok, program = pcall(function() return M.gemm():build { device = lab.device() } end)
  local cubin, message = false, "no program"
  if ok then cubin, message = program:cubin() end
  return cubin and true or false, tostring(message)
end

-- No warning, no spill, no note that something was serialised.
local function compiles(program, name)
  if nvrtc == nil then nvrtc, why_not = has_nvrtc() end
  if not nvrtc then return tap.skip("NVRTC is not found: " .. why_not:match "[^\n]*") end
  local cubin, message = program:cubin()
  local log = cubin and program:log() or tostring(message)
  local complaint = not cubin and log or log:match "[^\n]*warning[^\n]*" or log:match "[^\n]*C75%d%d[^\n]*" or log:match "[^\n]*[1-9]%d* bytes spill[^\n]*"
  tap.is(nil, complaint, name .. ": NVRTC makes a cubin of it without a complaint")
end

--- Proved; right with three seeds in the simulator; compiled by NVRTC. uncompiled: not that, and with two seeds.
function M.check(name, k, run, uncompiled)
  local report = k:verify()
  if not tap.is("SAFE", report.proof.verdict, name .. ": proved") then tap.diag(report.text) return end
  tap.like(M.unchecked, report.proof.text, name .. ": the verdict says what it rests on")
  local p
  for _, seed in ipairs(uncompiled and { 1, 77 } or { 1, 12, 77 }) do
    local dev = weir.device("sim", { seed = seed })
    p = k:build { device = dev }
    local ok, message = run(p, dev)
    tap.is({ true, "" }, { ok, message or "" }, ("%s: right, seed %d"):format(name, seed))
  end
  if not uncompiled then compiles(p, name) end
end

return M
