-- Random kernels with bodies of their own: mma.sync by ldmatrix in every type, shuffles, atomics on integers. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"
local P, cd = weir.pipeline, weir.ceil_div

-- ---- products by mma.sync --------------------------------------------------------------------------------------------------------

-- Of a type: its call, bytes, what it adds up in, how A and B are stored.
local types = {
  { "bf16", "w_mma<16, W_BF16>", 2 }, { "f16", "w_mma<16, W_F16>", 2 }, { "tf32", "w_mma<8, W_TF32>", 4, store = "f32" }, { "e4m3", "w_mma<32, W_E4M3>", 1 },
  { "e5m2", "w_mma<32, W_E5M2>", 1 }, { "i8", "w_mma_i32<32, W_S8, W_S8>", 1, sum = "i32" }, { "u8", "w_mma_i32<32, W_U8, W_U8>", 1, sum = "i32" },
  { "i8", "w_mma_i32<32, W_S8, W_U8>", 1, sum = "i32", b = "u8" }, { "u8", "w_mma_i32<32, W_U8, W_S8>", 1, sum = "i32", b = "i8" },
}

local function mma(d, name)
  local t = d.one(types)
  local o = { swizzle = d.one { 32, 64, 128 }, stages = d(4), wm = d.one { 1, 2 }, wn = d.one { 1, 2 }, mi = d.range(1, 2), nj = d.range(1, 2), lag = 0,
    via = d.one { "tma", "tma", "cp_async", "threads" }, mode = d.one { "none", "merge", "fused_merge" }, kind = d.one { "static", "grid" }, keep = d.chance(50) }
  local a_type, b_type, sum = t[1], t.b or t[1], t.sum or "f32"
  local BM, BN, BK = 16 * o.mi * o.wm, 16 * o.nj * o.wn, o.swizzle // t[3]   -- B's fragments come two at a time
  local warps = o.wm * o.wn
  local memory_a, memory_b = t.store or a_type, t.store or b_type
  local case = { name = name, launches = {}, text = ("mma.sync %s %s %dx%dx%d s%d, %d warps, by %s, %s, swizzle %d, %s"):format(a_type, b_type, BM, BN, BK, o.stages, warps,
    o.via, o.mode, o.swizzle, o.kind) }

  -- 16-byte piece c of row r, as the swizzle moves it
  local twist = o.swizzle == 128 and "(%s %% 8)" or o.swizzle == 64 and "(%s / 2 %% 4)" or "(%s / 4 %% 2)"
  local function piece(base, row, c) return ("%s + %d * (%s) + 16 * ((%s) ^ %s)"):format(base, o.swizzle, row, c, twist:format("(" .. row .. ")")) end
  local n = 8 * o.mi * o.nj                                       -- sums of a thread
  local ctype = sum == "i32" and "i32" or "float"
  local code = ([[
    const u32 a0 = w_addr(a), b0 = w_addr(b), m0 = $MT * (warp / $WN), n0 = $NT * (warp % $WN), row = lane % 16, half = lane / 16;
    $T c[$MI][$NJ2][4];
    for (u32 i = 0; i < $N; i++) (&c[0][0][0])[i] = step ? smem[i * nthreads + tid] : 0;
    for (u32 k = 0; k < $KS; k++) {
      u32 fa[$MI][4], fb[$NJ][4];
      for (u32 i = 0; i < $MI; i++) w_ldmatrix4($PA, fa[i]);
      for (u32 j = 0; j < $NJ; j++) w_ldmatrix4($PB, fb[j]);
      for (u32 i = 0; i < $MI; i++)
        for (u32 j = 0; j < $NJ2; j++) {
          const u32 f[2] = { fb[j / 2][j % 2], fb[j / 2][2 + j % 2] };
          $CALL(c[i][j], fa[i], f);
        }
    }
    for (u32 i = 0; i < $N; i++) smem[i * nthreads + tid] = (&c[0][0][0])[i]; ]])
  local store = ([[
    for (u32 i = 0; i < $N; i++) {
      const i32 r = row + $MT * (warp / $WN) + 16 * (i / (4 * $NJ2)) + lane / 4 + 8 * (i / 2 % 2);
      const i32 q = column + $NT * (warp % $WN) + 8 * (i / 4 % $NJ2) + 2 * (lane % 4) + i % 2;
      if (r < d_shape[0] && q < d_shape[1]) d[r * d_stride[0] + q] = steps ? smem[i * nthreads + tid] : 0;
    } ]])
  local words = { MT = 16 * o.mi, NT = 16 * o.nj, WN = o.wn, MI = o.mi, NJ = o.nj, NJ2 = 2 * o.nj, N = n, KS = o.swizzle // 32, T = ctype, CALL = t[2],
    PA = piece("a0", "m0 + 16 * i + row", "2 * k + half"), PB = piece("b0", "n0 + 16 * j + row", "2 * k + half") }
  local function fill(text) return (text:gsub("%$(%w+)", function(w) return tostring(words[w]) end)) end

  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local M, N, K = k:dim "M", k:dim "N", k:dim "K"
    if o.via == "cp_async" then k:assume(weir.eq(K % (16 // t[3]), 0)) end
    local A = k:tensor { name = "A", dtype = memory_a, shape = { M, K } }
    local B = k:tensor { name = "B", dtype = memory_b, shape = { N, K } }
    local D = k:tensor { name = "D", dtype = sum, shape = { M, N }, out = true }
    local wq = k:work_queue { name = "wq", kind = o.kind, over = D, tile = { BM, BN } }
    local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }, k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
    local function ring(ring_name, dtype, rows)
      return k:smem_tile { name = ring_name, dtype = dtype, tile = { rows, BK }, swizzle = o.swizzle,
        pipeline = P[o.via == "tma" and "tma_async" or "async_async"] { stages = o.stages, producer_op = o.via == "cp_async" and "load" or nil } }
    end
    local a, b = ring("a", memory_a, BM), ring("b", memory_b, BN)
    local group = o.mode ~= "none" and k:group { name = "ab", mode = o.mode, members = { a, b } } or nil
    if group then a, b = group.a, group.b end
    local sums = k:resource { name = "sums", space = "smem", dtype = sum, tile = { BM * BN }, bind = { d = D }, work = {
      mma = weir.producer_work { params = "view a, view b, i32 step", code = fill(code) },
      store = weir.producer_work { params = "i32 row, i32 column, i32 steps", code = fill(store) } } }
    local steps = cd(K, BK)
    local function put(s, view) if o.via == "tma" then s:tma_load(view) elseif o.via == "cp_async" then s:cp_async(view) else s:store(view) end end
    k:task { name = "load", warps = { warps, 1 }, schedule = function()
      for tile in weir.work_tile_loop(wq) do
        for i in weir.domain_loop(0, steps) do
          a:acquire(); put(a, ga:at(tile.m, i)); a:commit()
          b:acquire(); put(b, gb:at(tile.n, i)); b:commit()
        end
        wq:next()
      end
    end }
    k:task { name = "mma", warps = { 0, warps }, schedule = function()
      for tile in weir.work_tile_loop(wq) do
        for i in weir.domain_loop(0, steps) do
          if o.mode == "fused_merge" then group:wait() else a:wait(); b:wait() end
          sums:mma(a:read(), b:read(), i)
          if group then group:release() else a:release(); b:release() end
        end
        sums:store(tile.m * BM, tile.n * BN, steps)
        wq:next()
      end
    end }
    return k
  end

  for i = 1, 2 do
    local m, nn, K = math.max(1, BM * d.range(1, 3) - d.range(0, BM - 1)), math.max(1, BN * d.range(1, 3) - d.range(0, BN - 1)), math.max(1, BK * d.range(1, 5) - d.range(0, BK - 1))
    if o.via == "cp_async" then K = (K * t[3] + 15) // 16 * 16 // t[3] end
    local seed = d(1000000)
    local function data(count, at, dtype)
      if sum == "i32" then return numbers.bits(count, seed + at, dtype) end
      return numbers.integers(count, seed + at, 3)
    end
    local A, B = data(m * K, 1, a_type), data(nn * K, 2, b_type)
    local l = { args = {}, size = ("%d x %d x %d"):format(m, nn, K), grid = o.kind == "static" and d(3) or nil }
    l.tensors = { { name = "A", dtype = memory_a, shape = { m, K }, data = A }, { name = "B", dtype = memory_b, shape = { nn, K }, data = B },
      { name = "D", dtype = sum, shape = { m, nn }, fill = -7, out = true } }
    l.wanted = function()
      local out = {}
      for r = 0, m - 1 do
        for c = 0, nn - 1 do
          local s = 0
          for q = 1, K do s = s + A[r * K + q] * B[c * K + q] end
          out[r * nn + c + 1] = s
        end
      end
      return { D = { out } }
    end
    case.launches[i] = l
  end
  return case
end

-- ---- rows by shuffles --------------------------------------------------------------------------------------------------------------

local reductions = {
  sum = { "x + y", 0, function(x, y) return numbers.wrap("i32", x + y) end }, max = { "x > y ? x : y", "(-2147483647 - 1)", function(x, y) return math.max(x, y) end },
  min = { "x < y ? x : y", 2147483647, function(x, y) return math.min(x, y) end }, xor = { "x ^ y", 0, function(x, y) return x ~ y end },
  ["and"] = { "x & y", -1, function(x, y) return x & y end }, ["or"] = { "x | y", 0, function(x, y) return x | y end },
}

-- Each row by a warp, or by all warps of the task through shared memory: reduced, and scanned.
local function shuffles(d, name)
  local names = {}
  for key in pairs(reductions) do names[#names + 1] = key end
  table.sort(names)
  local op = d.one(names)
  local r = reductions[op]
  local o = { warps = d.one { 1, 2, 4, 8 }, way = d.one { "xor", "down", "up" }, by = d.one { "warp", "task" }, chunk = 32 * d.range(1, 4), kind = d.one { "static", "grid" } }
  local case = { name = name, launches = {}, text = ("shuffles: %s, %s by a %s of %d warps"):format(op, o.way == "up" and "scan" or "reduce by " .. o.way, o.by, o.warps) }
  local code
  if o.way == "up" then -- an inclusive scan along the row, a warp a row
    o.by = "warp"
    code = [[
      for (i32 row = first + (i32)warp; row < first + $ROWS && row < x_shape[0]; row += nthreads / 32) {
        i32 before = $NEUTRAL;
        for (i32 c = 0; c < x_shape[1]; c += 32) {
          i32 x = c + (i32)lane < x_shape[1] ? x_[row * x_stride[0] + c + lane] : $NEUTRAL;
          for (u32 o = 1; o < 32; o *= 2) {
            const i32 y = __shfl_up_sync(0xffffffffu, x, o);
            if (lane >= o) x = $OP;
          }
          { const i32 y = before; x = $OP; }
          if (c + (i32)lane < x_shape[1]) y_[row * y_stride[0] + c + lane] = x;
          before = __shfl_sync(0xffffffffu, x, 31);
        }
      } ]]
  elseif o.by == "warp" then
    code = [[
      for (i32 row = first + (i32)warp; row < first + $ROWS && row < x_shape[0]; row += nthreads / 32) {
        i32 x = $NEUTRAL;
        for (i32 c = (i32)lane; c < x_shape[1]; c += 32) { const i32 y = x_[row * x_stride[0] + c]; x = $OP; }
        $SHUFFLE
        const i32 all = __shfl_sync(0xffffffffu, x, 0);
        for (i32 c = (i32)lane; c < x_shape[1]; c += 32) { x = x_[row * x_stride[0] + c]; const i32 y = all; y_[row * y_stride[0] + c] = $OP; }
      } ]]
  else
    code = [[
      for (i32 row = first; row < first + $ROWS && row < x_shape[0]; row++) {
        i32 x = $NEUTRAL;
        for (i32 c = (i32)tid; c < x_shape[1]; c += (i32)nthreads) { const i32 y = x_[row * x_stride[0] + c]; x = $OP; }
        $SHUFFLE
        if (lane == 0) smem[warp] = x;
        task_sync();
        i32 all = $NEUTRAL;
        for (u32 w = 0; w < nthreads / 32; w++) { x = all; const i32 y = smem[w]; all = $OP; }
        for (i32 c = (i32)tid; c < x_shape[1]; c += (i32)nthreads) { x = x_[row * x_stride[0] + c]; const i32 y = all; y_[row * y_stride[0] + c] = $OP; }
        task_sync();
      } ]]
  end
  local shuffle = ("for (u32 o = 16; o; o /= 2) { const i32 y = __shfl_%s_sync(0xffffffffu, x, o); x = $OP; }"):format(o.way == "xor" and "xor" or "down")
  local rows = o.by == "warp" and o.warps * d.range(1, 2) or d.range(1, 3)
  code = code:gsub("%$SHUFFLE", (shuffle:gsub("%%", "%%%%")))
  -- sums wrap, which is undefined for i32 in C
  local text = op == "sum" and "(i32)((u32)x + (u32)y)" or "(" .. r[1] .. ")"
  code = code:gsub("%$OP", (text:gsub("%%", "%%%%"))):gsub("%$NEUTRAL", tostring(r[2])):gsub("%$ROWS", tostring(rows))
  code = code:gsub("x_%[", "in["):gsub("y_%[", "out["):gsub("x_shape", "in_shape"):gsub("x_stride", "in_stride"):gsub("y_stride", "out_stride")
  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local M, N = k:dim "M", k:dim "N"
    local X, Y = k:tensor { name = "X", dtype = "i32", shape = { M, N } }, k:tensor { name = "Y", dtype = "i32", shape = { M, N }, out = true }
    local wq = k:work_queue { name = "wq", kind = o.kind, axes = { "m" }, extent = { cd(M, rows) } }
    local s = k:resource { name = "s", space = "smem", dtype = "i32", tile = { 32 }, bind = { ["in"] = X, out = Y }, work = { run = weir.producer_work { params = "i32 first", code = code } } }
    k:task { name = "rows", warps = { 0, o.warps }, schedule = function()
      for t in weir.work_tile_loop(wq) do s:run(t.m * rows); wq:next() end
    end }
    return k
  end
  for i = 1, 2 do
    local m, n = d.range(1, 20), d.range(1, 200)
    local x = numbers.bits(m * n, d(1000000), "i32")
    local l = { args = {}, size = ("%d x %d"):format(m, n), grid = o.kind == "static" and d(3) or nil,
      tensors = { { name = "X", dtype = "i32", shape = { m, n }, data = x }, { name = "Y", dtype = "i32", shape = { m, n }, fill = 1, out = true } } }
    l.wanted = function()
      local out = {}
      local neutral = type(r[2]) == "number" and r[2] or -2147483648
      for row = 0, m - 1 do
        local all = neutral
        for c = 1, n do
          all = r[3](all, x[row * n + c])
          if o.way == "up" then out[row * n + c] = all end
        end
        if o.way ~= "up" then for c = 1, n do out[row * n + c] = r[3](x[row * n + c], all) end end
      end
      return { Y = { out } }
    end
    case.launches[i] = l
  end
  return case
end

-- ---- atomics -------------------------------------------------------------------------------------------------------------------------

local atomics = {
  { "atomicAdd", function(a, b) return a + b end, 0 }, { "atomicSub", function(a, b) return a - b end, 0 }, { "atomicMax", math.max, 0 }, { "atomicMin", math.min, 4294967295 },
  { "atomicAnd", function(a, b) return a & b end, 4294967295 }, { "atomicOr", function(a, b) return a | b end, 0 }, { "atomicXor", function(a, b) return a ~ b end, 0 },
}

-- A table of bins that every thread of every CTA puts its elements into: one by one in global memory, or by CTA in shared memory first.
local function bins(d, name)
  local a = d.one(atomics)
  local o = { bins = d.range(1, 70), warps = d.one { 1, 2, 4 }, way = d.one { "global", "shared" }, kind = d.one { "static", "grid" }, tile = 32 * d.range(1, 8) }
  local call = a[1]
  local second = call == "atomicSub" and "atomicAdd" or call       -- what a CTA took off comes off in sum
  local code = o.way == "global" and [[
      for (i32 i = first + (i32)tid; i < first + TILE && i < x_shape[0]; i += (i32)nthreads) CALL(&y[x[i] % BINS], x[i] >> 7);]] or [[
      for (u32 i = tid; i < BINS; i += nthreads) smem[i] = NEUTRALu;
      task_sync();
      for (i32 i = first + (i32)tid; i < first + TILE && i < x_shape[0]; i += (i32)nthreads) CALL(&smem[x[i] % BINS], x[i] >> 7);
      task_sync();
      for (u32 i = tid; i < BINS; i += nthreads) SECOND(&y[i], smem[i]);
      task_sync();]]
  code = code:gsub("CALL", call):gsub("SECOND", second):gsub("NEUTRAL", tostring(a[3])):gsub("TILE", tostring(o.tile)):gsub("BINS", tostring(o.bins))
  local case = { name = name, launches = {}, text = ("%s into %d bins, %s, %d warps, tiles of %d"):format(call, o.bins, o.way, o.warps, o.tile) }
  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local N = k:dim "N"
    local X, Y = k:tensor { name = "X", dtype = "u32", shape = { N } }, k:tensor { name = "Y", dtype = "u32", shape = { o.bins }, out = true }
    local wq = k:work_queue { name = "wq", kind = o.kind, axes = { "m" }, extent = { cd(N, o.tile) } }
    local s = k:resource { name = "s", space = "smem", dtype = "u32", tile = { o.bins }, bind = { x = X, y = Y }, work = { run = weir.producer_work { params = "i32 first", code = code } } }
    k:task { name = "count", warps = { 0, o.warps }, schedule = function()
      for t in weir.work_tile_loop(wq) do s:run(t.m * o.tile); wq:next() end
    end }
    return k
  end
  for i = 1, 2 do
    local n = d.range(1, 3000)
    local x = numbers.bits(n, d(1000000), "u32")
    local l = { args = {}, size = tostring(n), grid = o.kind == "static" and d(4) or nil,
      tensors = { { name = "X", dtype = "u32", shape = { n }, data = x }, { name = "Y", dtype = "u32", shape = { o.bins }, fill = 1000, out = true } } }
    l.wanted = function()
      local out = {}
      for b = 1, o.bins do out[b] = 1000 end
      for _, v in ipairs(x) do
        local b = v % o.bins + 1
        out[b] = numbers.wrap("u32", a[2](out[b], v >> 7))
      end
      return { Y = { out } }
    end
    case.launches[i] = l
  end
  return case
end

return function(d, name)
  return d.weighted { { 50, mma }, { 30, shuffles }, { 20, bins } }(d, name)
end
