-- What validation, planning, proof and emission cost, kernel by kernel; how the proof grows with stages, tasks, warps and moves; and what
-- a search of every state costs beside it. Results in bench/results/prove.json, the growth also as bench/results/prove.svg.
--   lua5.4 bench/prove.lua [--reps 15]           needs no GPU; one core
-- The searches are those of the tests' module weir_plan (./weir build makes it).
local common = require "bench.common"
package.path = "t/?.lua;t/vectors/?.lua;" .. package.path
package.cpath = common.build .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"                          -- before weir: both are one library
local weir = require "weir"
local bfs, checker, notation = require "bfs", require "checker", require "checker_notation"

local reps = arg[1] == "--reps" and math.tointeger(tonumber(arg[2])) or 15
local P, cd = weir.pipeline, weir.ceil_div

-- ---- kernels -----------------------------------------------------------------------------------------------------------------------

--- The GEMM of four tasks: threads load A, TMA loads B, a merge group joins them, one task multiplies, one stores.
local function four_tasks(stages)
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

--- n tasks in a row, each hands its stages on to the next.
local function chain(n)
  local k = weir.kernel { name = "chain", arch = "sm_90a" }
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
local function star(n)
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
local function warps(n)
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
local function rounds(n)
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

-- ---- measured ----------------------------------------------------------------------------------------------------------------------

local function sample(make)
  local program = make()
  local t, proof = program:times(), program.report.proof
  assert(proof.verdict == "SAFE", proof.text)
  local out = { validate = t.validate, plan = t.plan, prove = t.prove, emit = t.emit, states = proof.states, actions = plan.count(program, "action") }
  program:close()
  return out
end

local function measure(make)
  sample(make)                                            -- warm
  local all = {}
  for i = 1, reps do
    collectgarbage()
    all[i] = sample(make)
  end
  local out = { states = all[1].states, actions = all[1].actions }
  for _, field in ipairs { "validate", "plan", "prove", "emit" } do
    out[field] = {}
    for i, s in ipairs(all) do out[field][i] = s[field] end
  end
  return out
end

local result = { kind = "prove", setting = common.host_setting(), kernels = {}, growth = {}, searches = {} }
for _, row in ipairs {
  { "GEMM of four tasks, 8 stages", function() return four_tasks(8):build() end },
  { "examples/gemm_staged.lua", function() return dofile "examples/gemm_staged.lua" end },
  { "examples/attention.lua", function() return dofile "examples/attention.lua" end },
  { "examples/fork_gemm_act.lua", function() return dofile "examples/fork_gemm_act.lua" end },
  { "examples/varlen_copy.lua", function() return dofile "examples/varlen_copy.lua" end },
  { "the GEMM of bench/gemm.lua, 8192^3", function()
    return require "weir.kernels.gemm".kernels { m = 8192, n = 8192, k = 8192 }[1]:build()
  end },
} do
  local m = measure(row[2])
  m.name = row[1]
  result.kernels[#result.kernels + 1] = m
  print(("%-36s validate %.2f plan %.2f prove %.2f emit %.2f ms, %d states"):format(row[1], common.median(m.validate), common.median(m.plan),
    common.median(m.prove), common.median(m.emit), m.states))
end

for _, row in ipairs {
  { "stages", "stages of the GEMM of four tasks", four_tasks, { 1, 2, 3, 4, 6, 8, 10, 12 } },
  { "tasks", "tasks of a chain", chain, { 2, 4, 6, 8, 12, 16, 20, 24, 28, 32 } }, -- a CTA has 32 warps at most
  { "arms", "tasks of a star", star, { 2, 4, 6, 8, 12, 16, 20, 24, 28, 32 } },
  { "warps", "warps of a task", warps, { 1, 2, 4, 8, 12, 16, 20, 24, 28, 31 } },
  { "moves", "rounds of a ring in one step", rounds, { 1, 2, 4, 6, 8, 12, 16, 20, 28, 36, 44 } },
} do
  local series = { of = row[1], text = row[2], x = row[4], ms = {}, states = {} }
  for i, n in ipairs(row[4]) do
    local m = measure(function() return row[3](n):build() end)
    series.ms[i], series.states[i] = math.min(table.unpack(m.prove)), m.states
  end
  result.growth[#result.growth + 1] = series
  print(row[2], table.concat(series.ms, " "), table.concat(series.states, " "))
end

-- Every state of the reference's model of the same schedule, for one length each, by the tests' explorer of credits.
local gemm = checker.gemm
for _, row in ipairs(gemm.counts) do
  for s = 2, 8, 2 do
    local model = bfs.prepare(notation.parse((gemm.template:gsub("%$S", s):gsub("%$D", row.d))))
    local seconds = {}
    for i = 1, 5 do
      local from = os.clock()
      local r = plan.credits(model)
      seconds[i] = os.clock() - from
      assert(r.states == row[s])
    end
    result.searches[#result.searches + 1] = { steps = row.d, stages = s, states = row[s], seconds = seconds }
  end
end
common.write("bench/results/prove.json", result)

-- ---- the plot ----------------------------------------------------------------------------------------------------------------------

local W, H, PAD = 300, 200, 44
local svg = { ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">'):format(#result.growth * W, H),
  '<rect width="100%" height="100%" fill="white"/>' }
local function put(text, ...) svg[#svg + 1] = text:format(...) end
for i, s in ipairs(result.growth) do
  local left, top = (i - 1) * W + PAD, 24
  local w, h = W - PAD - 16, H - top - 36
  local xmax, ymax = s.x[#s.x], 0
  for _, y in ipairs(s.ms) do ymax = math.max(ymax, y) end
  local function at(x, y) return left + w * x / xmax, top + h - h * y / (1.1 * ymax) end
  put('<text x="%d" y="14">%s</text>', left, s.text)
  put('<path d="M%d %d v%d h%d" fill="none" stroke="black"/>', left, top, h, w)
  put('<text x="%d" y="%d" text-anchor="end">%.2f ms</text><text x="%d" y="%d" text-anchor="end">0</text>', left - 4, select(2, at(0, ymax)) // 1 + 4, ymax, left - 4, top + h)
  local points = {}
  for j, x in ipairs(s.x) do
    local px, py = at(x, s.ms[j])
    points[j] = ("%.1f,%.1f"):format(px, py)
    put('<circle cx="%.1f" cy="%.1f" r="2.5"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>', px, py, px, top + h + 14, x)
  end
  put('<polyline points="%s" fill="none" stroke="black"/>', table.concat(points, " "))
end
svg[#svg + 1] = "</svg>\n"
local file <close> = assert(io.open("bench/results/prove.svg", "w"))
file:write(table.concat(svg, "\n"))
print "wrote bench/results/prove.json and prove.svg"
