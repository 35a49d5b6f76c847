-- Random GEMMs: D = f(A * transpose(B), ...) by wgmma. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local exprs = require "gen.exprs"
local P, cd = weir.pipeline, weir.ceil_div
local SIZE = numbers.SIZE

local SUMS = 96                                                -- of f32 that a thread holds, beside what else it needs

-- A row of `bytes` bytes in shared memory: swizzles that divide it.
local function spans(bytes)
  local out = {}
  for _, s in ipairs { 32, 64, 128 } do if bytes % s == 0 then out[#out + 1] = s end end
  return out
end

-- What a seed says.
local function draw(d)
  local o = {}
  o.dtype = d.weighted { { 35, "bf16" }, { 20, "f16" }, { 15, "tf32" }, { 15, "e4m3" }, { 8, "e5m2" }, { 7, "e4m3" } }
  o.dtype_b = o.dtype
  if SIZE[o.dtype] == 1 and d.chance(30) then o.dtype_b = o.dtype == "e4m3" and "e5m2" or "e4m3" end
  local size = SIZE[o.dtype]
  o.real = d.chance(20)
  o.bk = d.one { 32, 64, 128, 128, 256 } // size               -- of K in a stage: 32 bytes are one instruction
  o.wgs = d.chance(40) and 2 or 1
  o.split = o.wgs == 2 and d.chance(35) and "n" or "m"
  o.two = o.wgs == 2 and d.chance(30)                          -- two tasks of a warpgroup, each with its rows
  if o.two then o.split = "m" end
  o.bm = o.split == "n" and d.one { 64, 64, 128 } or 64 * o.wgs * (d.chance(20) and 2 or 1)
  local most = math.min(256, SUMS * 128 * o.wgs // o.bm) * (o.split == "n" and 1 or 1)
  local unit = o.split == "n" and 16 or 8
  o.bn = unit * d.range(1, math.max(1, math.min(most, o.split == "n" and 512 or 256) // unit))
  if o.bn > 128 and d.chance(60) then o.bn = unit * d.range(1, 128 // unit) end
  -- 16-bit operands may lie MN-major
  if size == 2 then
    o.ta, o.tb = d.chance(25), d.chance(30)
    if o.tb then
      local step = o.split == "n" and 32 or 16
      o.bn = math.max(step, o.bn // step * step)
    end
  end
  o.feed = d.weighted { { 70, "tma" }, { 15, "cp_async" }, { 15, "threads" } }
  o.umma = d.chance(30)                                        -- the pipeline says that the tensor core empties it
  o.rs = size == 2 and not o.ta and not o.two and o.split == "m" and d.chance(25)
  if o.rs then o.umma = false end
  local row_a, row_b = (o.ta and o.bm or o.bk) * size, (o.tb and o.bn or o.bk) * size
  o.swizzle_a, o.swizzle_b = d.one(spans(row_a)), d.one(spans(row_b))
  if o.split == "n" and o.tb then -- each warpgroup's columns are whole panels
    local half = o.bn // 2 * size
    o.swizzle_b = d.one(spans(half))
  end
  if o.ta and o.bm > 64 then o.swizzle_a = d.one(spans(64 * size)) end
  o.mode = d.weighted { { 30, "none" }, { 20, "merge" }, { 30, "fused_merge" }, { 20, "fork" } }
  if o.mode == "fork" and (o.ta or o.rs or o.two or o.umma and d.chance(50)) then o.mode = "none" end
  o.fold = o.mode == "fused_merge" and d.chance(30) or nil
  o.stages = d(6)
  while o.stages > 1 and o.stages * (o.bm + o.bn) * o.bk * size > 140 * 1024 do o.stages = o.stages - 1 end
  o.lag = math.min(d.range(0, 2), o.stages - 1)
  if o.rs then o.lag = 0 end                                   -- the registers are set again
  o.parts = not o.rs and o.bk * size >= 64 and d.chance(20)    -- the K of a stage in two mmas
  if o.parts and (row_a // 2 % 32 ~= 0 and not o.ta) then o.parts = false end
  o.promoted = not o.rs and o.bm * o.bn // (128 * o.wgs) <= 48 and d.chance(20)
  o.joint = o.feed == "tma" and d.chance(70)                   -- one task fills both operands
  if o.feed ~= "tma" then o.joint = d.chance(30) end
  o.fill_warps = o.feed == "tma" and 1 or d.one { 1, 2, 4 }
  o.grain = d.chance(15) and "thread" or nil
  o.cm, o.cn = 1, 1
  if d.chance(35) then
    local c = d.one { { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1 } }
    o.cm, o.cn = c[1], c[2]
  end
  o.multicast = o.feed == "tma" and d.chance(80)
  -- by slices where the tile divides into them, whole spans of 8 rows each
  local function slices(rows, along) return rows % (8 * along) == 0 end
  o.issue = (d.chance(25) or not slices(o.ta and o.bk or o.bm, o.cn) or not slices(o.tb and o.bk or o.bn, o.cm)) and "first" or nil
  o.kind = d.weighted { { 55, "static" }, { 20, "grid" }, { 25, "atomic" } }
  o.queue_stages = d(3)
  o.raster = d.one { "row", "column", "grouped", "grouped", "traced" }
  o.group = d(3)
  o.registers = o.feed == "tma" and o.mode ~= "fork" and d.chance(25) -- given: 56 for those that only start copies
  o.ctas = d(3)
  -- the way out
  o.store = d.weighted { { 30, "plain" }, { 35, "staged" }, { 20, "task" }, { 15, "reduce" } }
  if o.two and o.store == "task" then o.store = "staged" end
  o.out = d.weighted { { 45, "f32" }, { 35, "bf16" }, { 20, "f16" } }
  if o.store == "reduce" then o.out = "f32" end
  o.split_k = o.store == "reduce" and o.cm * o.cn == 1 and d.chance(50) and d.range(2, 3) or nil
  -- columns of a staging tile
  local cols = {}
  for _, c in ipairs { 8, 16, 32, 64, 128, 256 } do
    if o.bn % c == 0 and c * SIZE[o.out] >= 16 and o.bm * c * SIZE[o.out] <= 32768 then cols[#cols + 1] = c end
  end
  o.en = o.split == "n" and o.bn or d.one(cols)
  if o.split == "n" and o.bm * o.bn * SIZE[o.out] > 32768 then o.store = "plain"; o.split_k = nil end
  local row = o.en * SIZE[o.out]
  local fit = spans(o.split == "n" and row // 2 or row)
  local apart = o.split == "n" and (o.store == "staged" or o.store == "reduce")   -- each warpgroup stores its columns: whole spans
  if apart and #fit == 0 then o.store, o.split_k = "plain", nil end
  if not apart or #fit == 0 then fit[#fit + 1] = 0 end
  o.swizzle_d = d.one(fit)
  o.staging = d(3)
  -- its epilogue: an expression of the sums and of what lies beside them
  o.bias = d.one { "none", "none", "n", "m" }
  o.c = d.chance(25) and d.one { "f32", "bf16" } or nil
  o.alpha = d.chance(20)
  if o.split_k or o.store == "reduce" then o.bias, o.c, o.alpha = "none", nil, false end
  o.span = size == 1 and 2 or 3
  if o.real and (o.dtype == "e4m3" or o.dtype == "e5m2") then o.real = false end
  -- sizes: whole tiles or a few over, K of a few stages
  o.sizes = {}
  for i = 1, 2 do
    local tm, tn = o.cm * d.one { 1, 1, 2 }, o.cn * d.one { 1, 1, 2 }
    if o.bm * o.bn >= 16384 then tm, tn = o.cm, o.cn end
    local m, n = o.bm * tm, o.bn * tn
    local k = o.bk * d.range(1, math.max(1, math.min(2 * o.stages + 2, 256 // o.bk)))
    if d.chance(60) then m = math.max(1, m - d.range(0, o.bm * 3 // 4)) end
    if d.chance(60) then n = math.max(1, n - d.range(0, o.bn * 3 // 4)) end
    if d.chance(50) then k = math.max(1, k - d.range(0, o.bk - 1)) end
    if i == 2 and d.chance(15) then k = 0 end
    if i == 2 and d.chance(10) then m, n = d(5), d(9) end
    if o.feed == "cp_async" then k = (k + 16 // size - 1) // (16 // size) * (16 // size) end
    while m * n * math.max(k, 1) > 2200000 and k > o.bk do k = k // 2 // (16 // size) * (16 // size) end
    o.sizes[i] = { m, n, k }
  end
  if o.feed == "cp_async" then -- whole 16 bytes along the operands' rows
    for _, s in ipairs(o.sizes) do
      if o.ta then s[1] = (s[1] + 7) // 8 * 8 end
      if o.tb then s[2] = (s[2] + 7) // 8 * 8 end
    end
  end
  return o
end

local function text(o)
  local words = { ("%s%s%dx%dx%d s%d"):format(o.dtype, o.dtype_b ~= o.dtype and "*" .. o.dtype_b .. " " or " ", o.bm, o.bn, o.bk, o.stages), o.mode, o.feed,
    ("swizzle %d %d"):format(o.swizzle_a, o.swizzle_b) }
  local function word(x, w) if x then words[#words + 1] = w end end
  word(o.wgs > 1, o.two and "2 tasks" or "2 warpgroups by " .. o.split)
  word(o.rs, "A in registers"); word(o.ta, "A M-major"); word(o.tb, "B N-major"); word(o.lag > 0, "lag " .. o.lag); word(o.parts, "K in parts")
  word(o.umma, "umma"); word(o.promoted, "promoted"); word(o.joint, "joint"); word(o.fold, "fold"); word(o.grain, "grain thread")
  word(o.cm * o.cn > 1, ("cluster %dx%d%s%s"):format(o.cm, o.cn, o.multicast and " multicast" or "", o.multicast and o.issue and " by the first" or ""))
  word(true, o.kind .. " " .. o.raster); word(o.registers, "registers")
  word(true, ("%s %s %d swizzle %d"):format(o.store, o.out, o.en, o.swizzle_d)); word(o.split_k, "K over " .. tostring(o.split_k))
  word(o.bias ~= "none", "bias " .. o.bias); word(o.c, "C " .. tostring(o.c)); word(o.alpha, "alpha")
  word(o.late, "late, " .. tostring(o.late)); word(o.real, "real")
  return table.concat(words, ", ")
end

-- The epilogue's leaves that an expression may take, exact ones with their bounds.
local function epilogue(d, o)
  local longest = 0
  for _, s in ipairs(o.sizes) do longest = math.max(longest, s[3]) end
  local leaves = { { name = "acc", type = "f32", mag = o.real and longest or longest * o.span * o.span, inexact = o.real } }
  if o.bias ~= "none" then leaves[#leaves + 1] = { name = "bias", type = "f32", mag = 5 } end
  if o.c then leaves[#leaves + 1] = { name = "c", type = "f32", mag = 5 } end
  if o.alpha then leaves[#leaves + 1] = { name = "alpha", type = "f32", mag = 3 } end
  if o.store == "reduce" or #leaves == 1 and d.chance(35) then return exprs.leaf(leaves[1]), leaves end
  return exprs.random(d, leaves, { type = "f32", depth = d.range(2, 4), real = o.real, with = "acc" }), leaves
end

local function describe(o, name, e)
  local size = SIZE[o.dtype]
  local k = weir.kernel { name = name, arch = "sm_90a", cluster = { m = o.cm, n = o.cn } }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  if o.feed == "cp_async" then -- it copies 16 bytes
    k:assume(weir.eq((o.ta and M or K) % (16 // size), 0))
    k:assume(weir.eq((o.tb and N or K) % (16 // size), 0))
  end
  local function memory(t) return t == "tf32" and "f32" or t end
  local A = k:tensor { name = "A", dtype = memory(o.dtype), shape = o.ta and { K, M } or { M, K } }
  local B = k:tensor { name = "B", dtype = memory(o.dtype_b), shape = o.tb and { K, N } or { N, K } }
  local D = k:tensor { name = "D", dtype = o.out, shape = { M, N }, out = true }
  local BM, BN, BK = o.bm, o.bn, o.bk
  local steps, S = cd(K, BK), o.split_k
  local wq
  local queue = { name = "wq", kind = o.kind, stages = o.kind == "atomic" and o.queue_stages or nil }
  if S then
    queue.axes, queue.extent = { "s", "m", "n" }, { S, cd(M, BM), cd(N, BN) }
  else
    queue.over, queue.tile, queue.group = D, { BM, BN }, o.group
    queue.raster = o.raster
    if o.raster == "traced" then queue.raster = function(i, m, n) return i % m, n - 1 - i // m end end
  end
  wq = k:work_queue(queue)
  local function range()
    if not S then return 0, steps end
    local share = cd(steps, S)
    return function(t) return weir.min(t.s * share, steps), weir.min((t.s + 1) * share, steps) end
  end
  local function loop(t)
    local first, last = range()
    if S then first, last = first(t) end
    return weir.domain_loop(first, last)
  end
  local tile_a, tile_b = o.ta and { BK, BM } or { BM, BK }, o.tb and { BK, BN } or { BN, BK }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = tile_a }, k:gmem_tile { name = "gb", tensor = B, tile = tile_b }
  local tasks = o.two and 2 or 1                               -- that multiply
  local rows = BM // tasks                                     -- of D in one of them
  local function pipe()
    local desc = { stages = o.stages, grain = not o.umma and o.grain or nil, producer_op = o.feed == "cp_async" and "load" or nil }
    return P[(o.feed == "tma" and "tma" or "async") .. (o.umma and "_umma" or "_async")](desc)
  end
  local a = k:smem_tile { name = "a", dtype = o.dtype, tile = tile_a, swizzle = o.swizzle_a, pipeline = pipe() }
  local b = k:smem_tile { name = "b", dtype = o.dtype_b, tile = tile_b, swizzle = o.swizzle_b, pipeline = pipe() }
  local ma, mb, ab, fork, act = a, b, nil, nil, nil
  if o.mode == "fork" then
    local act_pipe = P[(o.feed == "tma" and "tma" or "async") .. "_async"] { stages = o.stages, producer_op = o.feed == "cp_async" and "load" or nil }
    local bare = k:smem_tile { name = "a_act", storage = a, pipeline = act_pipe }
    fork = k:group { name = "fork", mode = "fork", members = { a, bare } }
    ma, act = fork.a, fork.a_act
  elseif o.mode ~= "none" then
    ab = k:group { name = "ab", mode = o.mode, members = { a, b }, fold = o.fold }
    ma, mb = ab.a, ab.b
  end
  local EN = o.en
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { rows, EN } }
  local bias = o.bias == "n" and k:gmem_tile { name = "gbias", tensor = k:tensor { name = "bias", dtype = "f32", shape = { N } }, tile = { BN } }
    or o.bias == "m" and k:gmem_tile { name = "gbias", tensor = k:tensor { name = "bias", dtype = "f32", shape = { M, 1 } }, tile = { rows, 1 } }
  local gc = o.c and k:gmem_tile { name = "gc", tensor = k:tensor { name = "C", dtype = o.c, shape = { M, N } }, tile = { rows, BN } }
  local alpha = o.alpha and k:scalar { name = "alpha", dtype = "f32" }

  -- ---- who fills ----
  local share_a, share_b = o.multicast and o.cn > 1 and "n" or nil, o.multicast and o.cm > 1 and "m" or nil
  local function put(s, view, along)
    if o.feed == "tma" then s:tma_load(view, { multicast = along, issue = along and o.issue or nil })
    elseif o.feed == "cp_async" then s:cp_async(view)
    else s:store(view) end
  end
  local function fill_a(t, kk)
    ma:acquire()
    if fork then act:acquire() end
    put(ma, o.ta and ga:at(kk, t.m) or ga:at(t.m, kk), share_a)
    if fork then fork:commit() else ma:commit() end
  end
  local function fill_b(t, kk) mb:acquire(); put(mb, o.tb and gb:at(kk, t.n) or gb:at(t.n, kk), share_b); mb:commit() end
  local list = {}
  local function task(task_name, warps, registers, body) list[#list + 1] = { name = task_name, warps = warps, registers = registers, body = body } end
  local function each_step(body)
    return function()
      for t in weir.work_tile_loop(wq) do
        for kk in loop(t) do body(t, kk) end
        wq:next()
      end
    end
  end
  if o.joint then task("load", o.fill_warps, nil, each_step(function(t, kk) fill_a(t, kk); fill_b(t, kk) end))
  else
    task("load_a", o.fill_warps, nil, each_step(fill_a))
    task("load_b", o.fill_warps, nil, each_step(fill_b))
  end
  if o.kind == "atomic" then
    task("fetch", 1, nil, function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end)
  end
  if fork then
    local gr = k:gmem_tile { name = "gr", tensor = k:tensor { name = "R", dtype = memory(o.dtype), shape = { M, K }, out = true }, tile = { BM, BK } }
    task("act", 1, nil, each_step(function(t, kk)
      act:wait()
      for _ in weir.when_true(weir.eq(t.n, 0)) do gr:store(weir.relu(act:read():load()), gr:at(t.m, kk)) end
      act:release()
    end))
  end

  -- ---- who multiplies ----
  for i = 0, tasks - 1 do
    local suffix = tasks > 1 and tostring(i) or ""
    local acc = k:wgmma_tile { name = "acc" .. suffix, tile = { rows, BN }, split = o.split == "n" and "n" or nil }
    local sum = o.promoted and k:reg_tile { name = "sum" .. suffix, dtype = "f32", tile = { rows, BN } }
    local held = o.rs and k:reg_tile { name = "held" .. suffix, dtype = o.dtype, tile = { rows, BK } }
    local stage = o.store ~= "plain" and k:smem_tile { name = "stage" .. suffix, dtype = o.out, tile = { rows, EN }, swizzle = o.swizzle_d,
      pipeline = P.async_tma { stages = o.staging } }
    local function multiply()
      local va, vb = ma:read(), mb:read()
      if tasks > 1 then va = o.ta and va:cols(i * rows, rows) or va:rows(i * rows, rows) end
      local function pair(x, y) acc:mma(x, o.tb and y:t() or y) end
      if o.rs then held:set(va:load()); va = held:read() elseif o.ta then va = va end
      if not o.parts then return pair(o.ta and va:t() or va, vb) end
      local half = BK // 2
      for part = 0, 1 do
        local x = o.ta and va:rows(part * half, half):t() or va:cols(part * half, half)
        pair(x, o.tb and vb:rows(part * half, half) or vb:cols(part * half, half))
      end
    end
    local function wait()
      if o.mode == "fused_merge" then ab:wait() else ma:wait(); mb:wait() end
    end
    local function release(n)
      if ab then ab:release(n) else ma:release(n); mb:release(n) end
    end
    local function place(t, j)
      local r = tasks > 1 and t.m * tasks + i or t.m
      return gd:at(r, j and t.n * (BN // EN) + j or t.n)
    end
    local function put_stage(t, j)
      if o.store == "reduce" then gd:tma_reduce_add(stage:read(), place(t, j)) else gd:tma_store(stage:read(), place(t, j)) end
    end
    local kept = o.late and k:reg_tile { name = "kept" .. suffix, dtype = "f32", tile = { rows, BN } }
    local function finish(t, sums)
      local row = tasks > 1 and t.m * tasks + i or t.m
      local env = { acc = sums:read(), alpha = alpha, bias = bias and (o.bias == "n" and bias:at(t.n):load() or bias:at(row, 0):load()),
        c = gc and gc:at(row, t.n):load() }
      local x = e:weir(env)
      for j = 0, BN // EN - 1 do
        local part = BN == EN and x or x:cols(j * EN, EN)
        if stage then
          stage:acquire(); stage:store(part); stage:commit()
          if o.store ~= "task" then stage:wait(); put_stage(t, j); stage:release() end
        else gd:store(part, place(t, j)) end
      end
    end
    -- of the tile before: at once, or behind the first step's product, or where there is no step
    local function before() for tile in weir.previous_tile(wq) do finish(tile, kept) end end
    local in_step = o.late == "step" and not S
    local function step(kk) if in_step then for _ in kk:first_iter() do before() end end end
    task("mma" .. suffix, 4 * o.wgs // tasks, 0, function()
      for t in weir.work_tile_loop(wq) do
        if o.late and not in_step then before() end
        if sum then
          sum:zero()
          for kk in loop(t) do
            acc:zero()
            wait(); multiply(); step(kk); acc:drain(); release()
            sum:set(sum:read() + acc:read())
          end
        else
          acc:zero()
          for kk in loop(t) do
            wait(); multiply(); step(kk)
            acc:drain(o.lag); release(o.lag)
          end
          acc:drain(); release(0)
        end
        if in_step then for _ in weir.when_true(weir.le(steps, 0)) do before() end end
        if kept then kept:set((sum or acc):read()) else finish(t, sum or acc) end
        wq:next()
      end
      if kept then for tile in weir.last_tile(wq) do finish(tile, kept) end end
    end)
    if o.store == "task" then
      task("put" .. suffix, 1, nil, function()
        local function all(t) for j = 0, BN // EN - 1 do stage:wait(); put_stage(t, j); stage:release() end end
        for t in weir.work_tile_loop(wq) do
          if kept then for past in weir.previous_tile(wq) do all(past) end else all(t) end
          wq:next()
        end
        if kept then for last in weir.last_tile(wq) do all(last) end end
      end)
    end
  end
  return k, list
end

-- Warps: those that take whole warpgroups first.
local function place_tasks(k, list, registers)
  local warp = 0
  for _, size in ipairs { 8, 4, 2, 1 } do
    for _, t in ipairs(list) do
      if t.warps == size then
        k:task { name = t.name, warps = { warp, size }, registers = registers and (t.registers and 200 or 56) or nil, schedule = t.body }
        warp = warp + size
      end
    end
  end
end

-- ---- the only right result -------------------------------------------------------------------------------------------------------

local function product(o, A, B, m, n, K)
  local rows_b, out, size = {}, {}, o.real and {} or nil
  for j = 0, n - 1 do
    local row = {}
    for q = 0, K - 1 do row[q + 1] = B[o.tb and q * n + j + 1 or j * K + q + 1] end
    rows_b[j] = row
  end
  for i = 0, m - 1 do
    local row_a = {}
    for q = 0, K - 1 do row_a[q + 1] = A[o.ta and q * m + i + 1 or i * K + q + 1] end
    for j = 0, n - 1 do
      local row_b, s, abs = rows_b[j], 0.0, 0.0
      for q = 1, K do s = s + row_a[q] * row_b[q] end
      out[i * n + j + 1] = s
      if size then
        for q = 1, K do abs = abs + math.abs(row_a[q] * row_b[q]) end
        size[i * n + j + 1] = abs
      end
    end
  end
  return out, size
end

-- more.late: the epilogue a turn late, where its sums fit beside those of the next tile.
return function(d, name, more)
  local o = draw(d)
  o.late = more and more.late and o.mode ~= "fork" and o.bm * o.bn <= 56 * 128 * o.wgs and d.one { "first", "step" } or nil
  if o.late and o.store == "task" then o.late = "first" end    -- that a loop and what stands for it come to one, for another task, is no proof's matter
  local e = epilogue(d, o)
  local case = { name = name, text = text(o), real = o.real, launches = {} }
  case.kernel = function()
    local k, list = describe(o, name, e)
    place_tasks(k, list, o.registers)
    return k
  end
  local function memory(t) return t == "tf32" and "f32" or t end
  for i, s in ipairs(o.sizes) do
    local m, n, K = table.unpack(s)
    local seed = d(1000000)
    local function data(count, at, dtype, span)
      if o.real then return numbers.reals(count, seed + at, dtype) end
      return numbers.integers(count, seed + at, span)
    end
    local A, B = data(m * K, 1, o.dtype, o.span), data(n * K, 2, o.dtype_b, o.span)
    local l = { grid = o.kind ~= "grid" and o.ctas * o.cm * o.cn or nil, args = {}, tensors = {} }
    local function tensor(tensor_name, dtype, shape, values, fill) l.tensors[#l.tensors + 1] = { name = tensor_name, dtype = dtype, shape = shape, data = values, fill = fill, out = fill ~= nil } end
    tensor("A", memory(o.dtype), o.ta and { K, m } or { m, K }, A)
    tensor("B", memory(o.dtype_b), o.tb and { K, n } or { n, K }, B)
    tensor("D", o.out, { m, n }, nil, o.store == "reduce" and 3 or -777)
    if o.mode == "fork" then tensor("R", memory(o.dtype), { m, K }, nil, -7) end
    local bias = o.bias ~= "none" and data(o.bias == "n" and n or m, 3, "f32", 5)
    if bias then tensor("bias", "f32", o.bias == "n" and { n } or { m, 1 }, bias) end
    local C = o.c and data(m * n, 4, o.c, 5)
    if C then tensor("C", o.c, { m, n }, C) end
    if o.alpha then l.args.alpha = o.real and 0.625 or 3.0 end
    l.size = ("%d x %d x %d"):format(m, n, K)
    l.wanted = function()
      local sums, abs = product(o, A, B, m, n, K)
      local out, off = {}, o.real and {} or nil
      local env, errors = { alpha = l.args.alpha }, {}
      -- a sum of K products in any order, each addition cut off or rounded in f32: at most one unit of 2^-23 a term, of all magnitudes;
      -- operands in tf32 are exact, as the inputs are
      local unit = (K + 2) * 2.0 ^ -23
      for r = 0, m - 1 do
        for j = 0, n - 1 do
          local at = r * n + j + 1
          env.acc = sums[at]
          errors.acc = abs and abs[at] * unit or 0.0
          if bias then env.bias = bias[o.bias == "n" and j + 1 or r + 1] end
          if C then env.c = C[at] end
          local v, err = e:eval(env, errors)
          if o.store == "reduce" then v = v + 3 end
          if off then
            off[at] = err + 2 * numbers.half_unit(o.out, math.abs(v) + err)
            out[at] = v
          else
            out[at] = numbers.round(o.out, v)
          end
        end
      end
      local result = { D = { out, off } }
      if o.mode == "fork" then
        local R = {}
        for j = 1, m * K do R[j] = math.max(A[j], 0.0) end
        result.R = { R }
        if n == 0 then result.R = nil end
      end
      return result
    end
    case.launches[i] = l
  end
  return case
end
