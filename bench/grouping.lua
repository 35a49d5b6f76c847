-- What a group buys: the same work with pipelines apart, merged, merged and fused, folded, and forked; results in
-- bench/results/grouping.json.
--   lua5.4 bench/grouping.lua [--reps 40] [--only gemm]           on a GPU
--   lua5.4 bench/grouping.lua --sim [--only copy]                 anywhere: counts, and every element of a small run; no times, no file
-- Each family does one piece of work with one geometry; only the barriers differ. First of a family is what the others are compared
-- with. A sample is one launch right behind an untimed one of its kind, between two events; the members of a family take turns, and
-- turns at going first. What is reported is the median of the ratios of neighbours: time of the first over time of the other, so above
-- 1 is what the group buys. Results are compared in every element: of GEMMs those timed, of copies those of a shorter run. Counts are the plan's (k:barrier_layout) and the emitted text's: mbarriers, and for each step of the inner
-- loop arrivals on them, waits for them and copies.
local common = require "bench.common"
local weir = require "weir"
local gemm_kernel = require "bench.gemm_kernel"
local reference = require "examples.reference"
local P, cd = weir.pipeline, weir.ceil_div

local opt = { reps = 40 }
do
  local i = 1
  while arg[i] do
    local name = arg[i]:match "^%-%-(%w+)$"
    if name == "sim" then opt.sim, i = true, i + 1
    elseif (name == "reps" or name == "only") and arg[i + 1] then opt[name], i = name == "reps" and assert(math.tointeger(tonumber(arg[i + 1]))) or arg[i + 1], i + 2
    else error("unknown option " .. arg[i], 0) end
  end
end

-- ---- kernels ---------------------------------------------------------------------------------------------------------------------

--- The benchmarks' GEMM: one warp loads A and B, two warpgroups multiply.
local function gemm(mode, fold)
  return gemm_kernel.kernel({ bm = 128, bn = 256, bk = 64, stages = 4, cluster = 1, group = 8, en = 64, mode = mode, fold = fold and 1 }, "bf16")
end

--- The same tile by two tasks of one warpgroup, each for its half of the columns, with its own ring of B. Both read A:
--- "apart" each from a ring of its own, loaded twice; "shared" from one ring that both empty; "fork" from one that each empties alone.
--- Three stages: with four, "apart" does not fit.
local function two(how)
  local BM, BN, BK, EN = 128, 128, 64, 64
  local k = weir.kernel { name = "gemm_" .. how, arch = "sm_90a" }
  local dm, dn, dk = k:dim "M", k:dim "N", k:dim "K"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { dm, dk } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { dn, dk } }
  local D = k:tensor { name = "D", dtype = "bf16", shape = { dm, dn }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { BM, 2 * BN }, raster = "grouped", group = 8 }
  local ga, gb = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }, k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { BM, EN } }
  local function ring(name, rows) return k:smem_tile { name = name, dtype = "bf16", tile = { rows, BK }, swizzle = 128, pipeline = P.tma_async { stages = 3 } } end
  local a = { ring("a0", BM) }
  if how == "apart" then a[2] = ring("a1", BM)
  elseif how == "shared" then a[2] = a[1]
  else
    local second = k:smem_tile { name = "a1", storage = a[1], pipeline = P.tma_async { stages = 3 } }
    a.group = k:group { name = "a", mode = "fork", members = { a[1], second } }
    a[1], a[2] = a.group.a0, a.group.a1
  end
  local b = { ring("b0", BN), ring("b1", BN) }
  k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for kk in weir.domain_loop(0, cd(dk, BK)) do
        a[1]:acquire()
        if a.group then a[2]:acquire() end
        a[1]:tma_load(ga:at(t.m, kk))
        if a.group then a.group:commit() else a[1]:commit() end
        if how == "apart" then a[2]:acquire(); a[2]:tma_load(ga:at(t.m, kk)); a[2]:commit() end
        for i = 1, 2 do b[i]:acquire(); b[i]:tma_load(gb:at(t.n * 2 + i - 1, kk)); b[i]:commit() end
      end
      wq:next()
    end
  end }
  for i = 1, 2 do
    local acc = k:wgmma_tile { name = "acc" .. i, tile = { BM, BN } }
    local stage = k:smem_tile { name = "stage" .. i, dtype = "bf16", tile = { BM, EN }, swizzle = 128, pipeline = P.async_tma { stages = 1 } }
    k:task { name = "mma" .. i, warps = { 4 * i, 4 }, registers = 232, schedule = function()
      for t in weir.work_tile_loop(wq) do
        acc:zero()
        for _ in weir.domain_loop(0, cd(dk, BK)) do
          a[i]:wait(); b[i]:wait()
          acc:mma(a[i]:read(), b[i]:read())
          acc:drain(1)
          a[i]:release(1); b[i]:release(1)
        end
        acc:drain()
        a[i]:release(0); b[i]:release(0)
        for j = 0, BN // EN - 1 do
          stage:acquire(); stage:store(acc:read():cols(j * EN, EN)); stage:commit()
          stage:wait(); gd:tma_store(stage:read(), gd:at(t.m, t.n * (2 * BN // EN) + (i - 1) * (BN // EN) + j)); stage:release()
        end
        wq:next()
      end
    end }
  end
  return k
end

local R, C = 16, 32            -- a tile of the copies: 2 KiB of f32

local function copy(name, outs)
  local t = { k = weir.kernel { name = name, arch = "sm_90a" } }
  local k = t.k
  local H, W = k:dim "H", k:dim "W"
  local function tile(n, out) return k:gmem_tile { name = "g" .. n, tensor = k:tensor { name = n, dtype = "f32", shape = { H, W }, out = out }, tile = { R, C } } end
  t.x, t.y = tile "X", outs == 1 and tile "Z"
  t.out = {}
  for i = 1, outs do t.out[i] = tile("Y" .. i, true) end
  t.wq = k:work_queue { name = "wq", axes = { "m" }, extent = { cd(H, R) } }
  function t.ring(n) return k:smem_tile { name = n, dtype = "f32", tile = { R, C }, pipeline = P.tma_async { stages = 2 } } end
  function t.each(body)
    return function()
      for q in weir.work_tile_loop(t.wq) do
        for j in weir.domain_loop(0, cd(W, C)) do body(q, j) end
        t.wq:next()
      end
    end
  end
  return t
end

--- Y1 = X + Z, two rings filled by one warp.
local function sum(mode, fold)
  local t = copy("sum", 1)
  local a, b = t.ring "a", t.ring "b"
  local g = mode ~= "none" and t.k:group { name = "g", mode = mode, members = { a, b }, fold = fold } or nil
  local ma, mb = g and g.a or a, g and g.b or b
  t.k:task { name = "load", warps = { 4, 1 }, schedule = t.each(function(q, j)
    ma:acquire(); ma:tma_load(t.x:at(q.m, j)); ma:commit()
    mb:acquire(); mb:tma_load(t.y:at(q.m, j)); mb:commit()
  end) }
  t.k:task { name = "store", warps = { 0, 4 }, schedule = t.each(function(q, j)
    if mode == "fused_merge" then g:wait() else ma:wait(); mb:wait() end
    t.out[1]:store(ma:read():load() + mb:read():load(), t.out[1]:at(q.m, j))
    if g then g:release() else ma:release(); mb:release() end
  end) }
  return t.k
end

--- Y1 = X, Y2 = 2 X, by two tasks: of two rings loaded alike, of one that both empty, of one that each empties alone.
local function twice(how)
  local t = copy("twice", 2)
  local a = { t.ring "a" }
  local g
  if how == "apart" then a[2] = t.ring "b"
  elseif how == "shared" then a[2] = a[1]
  else
    local second = t.k:smem_tile { name = "b", storage = a[1], pipeline = P.tma_async { stages = 2 } }
    g = t.k:group { name = "g", mode = "fork", members = { a[1], second } }
    a[1], a[2] = g.a, g.b
  end
  t.k:task { name = "load", warps = { 8, 1 }, schedule = t.each(function(q, j)
    a[1]:acquire()
    if g then a[2]:acquire() end
    a[1]:tma_load(t.x:at(q.m, j))
    if g then g:commit() else a[1]:commit() end
    if how == "apart" then a[2]:acquire(); a[2]:tma_load(t.x:at(q.m, j)); a[2]:commit() end
  end) }
  for i = 1, 2 do
    t.k:task { name = "store" .. i, warps = { 4 * i - 4, 4 }, schedule = t.each(function(q, j)
      a[i]:wait()
      t.out[i]:store(a[i]:read():load() * i, t.out[i]:at(q.m, j))
      a[i]:release()
    end) }
  end
  return t.k
end

-- ---- families --------------------------------------------------------------------------------------------------------------------

local dev = opt.sim and weir.device("sim", { seed = 2 }) or weir.device(0)
local CTAS = opt.sim and 2 or 132

local function gemm_inputs(m, n, k)
  local t = { m = m, n = n, k = k, A = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(1), B = dev:tensor { dtype = "bf16", shape = { n, k } }:randn(2),
    D = dev:tensor { dtype = "bf16", shape = { m, n } } }
  t.args = { A = t.A, B = t.B, D = t.D }
  function t.check()
    return reference.gemm { weir = weir, device = dev, dtype = "bf16", epilogue = "none", A = t.A, B = t.B, D = t.D, m = m, n = n, k = k }.bad
  end
  function t.clear() t.D:fill(0 / 0) end
  return t
end

local function copy_inputs(rounds, steps, outs)
  local h, w = R * CTAS * rounds, C * steps
  local function tensor() return dev:tensor { dtype = "f32", shape = { h, w } } end
  local t = { args = { X = tensor():randn(3), Z = outs == 1 and tensor():randn(4) or nil }, steps = steps, rounds = rounds }
  for i = 1, outs do t.args["Y" .. i] = tensor() end
  function t.clear() for i = 1, outs do t.args["Y" .. i]:fill(0 / 0) end end
  function t.check()
    local x, z, bad = t.args.X:get(), t.args.Z and t.args.Z:get(), 0
    for i = 1, outs do
      local y = t.args["Y" .. i]:get()
      for e = 1, #y do
        local want = z and string.unpack("f", string.pack("f", x[e] + z[e])) or i * x[e]
        if y[e] ~= want then bad = bad + 1 end
      end
    end
    return bad
  end
  return t
end

local merges = { { "none" }, { "merge" }, { "fused_merge" }, { "fused_merge", true } }
local function merged(make)
  local out = {}
  for i, v in ipairs(merges) do out[i] = { name = v[2] and "fused_merge, fold" or v[1], make = function() return make(v[1], v[2]) end } end
  return out
end
local function forked(make)
  local names, out = { apart = "none, loaded twice", shared = "none, one ring for both", fork = "fork" }, {}
  for i, how in ipairs { "apart", "shared", "fork" } do out[i] = { name = names[how], make = function() return make(how) end } end
  return out
end

local families = {}
for _, s in ipairs(opt.sim and { { 128, 256, 130 } } or { { 4096, 4096, 4096 }, { 8192, 8192, 256 } }) do
  local m, n, k = table.unpack(s)
  local function inputs() return gemm_inputs(m, n, k) end
  families[#families + 1] = { of = "gemm", name = ("GEMM %d x %d x %d, one task multiplies"):format(m, n, k), steps = (k + 63) // 64, variants = merged(gemm), inputs = inputs }
  families[#families + 1] = { of = "gemm", name = ("GEMM %d x %d x %d, two tasks share A"):format(m, n, k), steps = (k + 63) // 64, variants = forked(two), inputs = inputs }
end
for _, steps in ipairs(opt.sim and { 3 } or { 1, 2, 8 }) do
  local rounds = opt.sim and 2 or 64 // steps
  families[#families + 1] = { of = "copy", name = ("two inputs, one output, %d step%s a tile"):format(steps, steps == 1 and "" or "s"), steps = steps, variants = merged(sum),
    inputs = function(short) return copy_inputs(short and 4 or rounds, steps, 1) end }
  families[#families + 1] = { of = "copy", name = ("one input, two tasks, %d step%s a tile"):format(steps, steps == 1 and "" or "s"), steps = steps, variants = forked(twice),
    inputs = function(short) return copy_inputs(short and 4 or rounds, steps, 2) end }
end

-- ---- measured --------------------------------------------------------------------------------------------------------------------

local function count(text, what) return select(2, text:gsub(what, "")) end

local programs = {}            -- by what makes them: two families may share one
local function build(v)
  local k = v.make()
  local text = k:source()
  if not programs[text] then
    local p = k:build { device = dev }
    assert(p.report.proof.verdict == "SAFE", p.report.proof.text)
    local c = { mbarriers = 0, mbarriers_a_stage = 0, arrivals_a_step = 0, waits_a_step = count(text, "w_mbar_wait%("), copies_a_step = count(text, "w_tma_load%(") }
    for _, bar in ipairs(k:barrier_layout()) do
      c.mbarriers, c.mbarriers_a_stage, c.arrivals_a_step = c.mbarriers + bar.stages, c.mbarriers_a_stage + 1, c.arrivals_a_step + bar.arrivals
    end
    programs[text] = { program = p, counts = c }
  end
  return programs[text].program, programs[text].counts
end

local result, wrong = { kind = "grouping", setting = not opt.sim and common.setting(dev, common.peer().open()) or nil, families = {} }, 0
for _, f in ipairs(families) do
  if not opt.only or opt.only == f.of then
    local checked, out = f.inputs(true), { name = f.name, of = f.of, steps = f.steps, variants = {} }
    local built = {}
    for i, v in ipairs(f.variants) do
      local program, counts = build(v)
      checked.clear()
      assert(program:launch(checked.args))
      assert(dev:sync())
      local bad = checked.check()
      wrong = wrong + bad
      built[i], out.variants[i] = program, { name = v.name, counts = counts, bad = bad, ms = {} }
    end
    local inputs = f.of == "gemm" and checked or f.inputs()
    for turn = 1, opt.sim and 0 or opt.reps do
      local n = #built
      for j = 1, n do
        local i = turn % 2 == 1 and j or n + 1 - j
        out.variants[i].ms[turn] = assert(built[i]:time(inputs.args, { reps = 1 }))
      end
    end
    result.families[#result.families + 1] = out
    print(f.name)
    for i, v in ipairs(out.variants) do
      local ratio = {}
      for turn, x in ipairs(v.ms) do ratio[turn] = out.variants[1].ms[turn] / x end
      print(("  %-26s %3d mbarriers, a step %2d arrivals, %d waits, %d copies%s%s"):format(v.name, v.counts.mbarriers, v.counts.arrivals_a_step, v.counts.waits_a_step,
        v.counts.copies_a_step, #v.ms > 0 and (", %.2f us, %.3f of the first"):format(1e3 * common.median(v.ms), i == 1 and 1 or common.median(ratio)) or "",
        v.bad > 0 and "  WRONG: " .. v.bad .. " elements" or ""))
    end
    for _, t in pairs(inputs.args) do t:close() end
    if inputs ~= checked then for _, t in pairs(checked.args) do t:close() end end
  end
end
if not opt.sim and not opt.only then common.write("bench/results/grouping.json", result) print "wrote bench/results/grouping.json" end
if wrong > 0 then error(wrong .. " wrong elements", 0) end
