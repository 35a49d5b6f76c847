#!/usr/bin/env lua5.4
-- The watchdog on a GPU: kernels that get stuck end, say where, and leave the device as it was. Traces of a GPU, too.
--
--   lua5.4 t/gpu/watchdog.t [PART]       parts: first, good, mutants, trace; all if left out
--   lua5.4 t/gpu/watchdog.t ahead 3/8    every eighth mutant from the third on, compiled into the disk cache: part "mutants" does so by itself
--   lua5.4 t/gpu/watchdog.t compile      compiles what the parts need into the disk cache, and runs nothing: needs no GPU
package.path = "./?.lua;t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local deadlocks = require "deadlocks"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local only = arg[1]
if only == "ahead" then
  local first, step = arg[2]:match "^(%d+)/(%d+)$"
  local list, host = deadlocks.list(), assert(weir.device("sim", { seed = 2 }))
  for i = tonumber(first), #list, tonumber(step) do
    list[i].run(deadlocks.build(list[i], { device = host }), host)
    deadlocks.build(list[i], { device = host, watchdog = .25 }):cubin()
  end
  os.exit(0)
end
local dry = only == "compile"
if not dry and weir.device_count() == 0 then tap.skip_all "no GPU" end
local sim = assert(weir.device("sim", { seed = 2 }))
local dev = dry and sim or weir.device(0)
local function part(name) return not only or only == name or dry end
local function compiled(p)
  if dry then tap.ok(p:cubin(), "compiles") end
  return p
end
local function seconds(f)
  local from = os.time()
  f()
  return os.time() - from
end

-- One warp fills, four empty; these wait `late` times more than there is to come.
local T = 64
local function ring(late)
  local k = weir.kernel { name = "ring", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "i32", shape = { N } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N }, out = true }
  local r = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { T }, bind = { x = X }, const = { T = T },
    pipeline = P.async_async { stages = 2 },
    work = { fill = weir.producer_work { params = "i32 first", code = [[
      for (u32 i = tid; i < T; i += nthreads) smem[i] = first + (i32)i < x_shape[0] ? x[first + i] : 0; ]] } } }
  local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, const = { T = T },
    work = { put = weir.producer_work { params = "view from, i32 first", code = [[
      task_sync();
      for (u32 i = tid; i < T; i += nthreads) if (first + (i32)i < y_shape[0]) y[first + i] = from[i]; ]] } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(N, T)) do r:acquire(); r:fill(i * T); r:commit() end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    for i in weir.domain_loop(0, weir.ceil_div(N, T) + late) do r:wait(); out:put(r:read(), i * T); r:release() end
  end }
  return k
end
local function ring_tensors(n)
  local want = {}
  for i = 1, n do want[i] = i * 7 end
  return { x = dev:tensor { dtype = "i32", shape = { n } }:set(want), y = dev:tensor { dtype = "i32", shape = { n } } }, want
end

-- ---- one deadlock, in all detail ------------------------------------------------------------------------------------------------------

if part "first" then
  local good = compiled(ring(0):build { device = dev })
  local bad = compiled(ring(1):build { device = dev, unsafe = true, watchdog = 1 })
  local text, gone = bad:source():gsub("task_sync%(%);", "if (warp != 1) task_sync();", 1)
  local unjoined = ring(0):build { device = dev, watchdog = .5 }
  plan.run_text(unjoined, text)
  compiled(unjoined)
  tap.is(1, gone, "the join in the body is edited")
  if not dry then
    local args, want = ring_tensors(1000)
    tap.is(true, good:launch(args, { grid = 1 }) and dev:sync(), "a good kernel before")
    for round = 1, 3 do
      local ok, message, code
      local took = seconds(function() ok, message, code = bad:launch(args, { grid = 1 }) end)
      tap.is({ nil, "watchdog" }, { ok, code }, ("round %d: the launch fails"):format(round))
      tap.ok(took <= 6, ("in %d s"):format(took))
      message = tostring(message)
      -- A plain load of an mbarrier gave its state on one H200 and 0 on another, driver 580.159.04 both: the second cannot tell how many came.
      local seen = message:gsub("some of its 1 arrivals, or bytes, are missing", "0 of 1 arrivals")
      tap.like("task 'put', CTA 0, warps 4 to 7: waits for mbarrier 'ring_full' stage 0, parity 0: 0 of 1 arrivals; its 17th wait here", seen,
        "who waits where and how often it went well")
      tap.matches("watchdog.t:%d+: task 'put'", message, "the author's line")
      tap.matches("who arrives there: [^\n]*watchdog.t:%d+ %(task 'load'%)", message, "and who should have come")
      tap.is(true, dev:sync(), "the context lives")
      args.y:fill(-1)
      tap.is(true, good:launch(args, { grid = 1 }) and dev:sync(), "and runs the good kernel")
      tap.is(want, args.y:get(), "which is right")
    end
    -- many CTAs are told of in one line
    local _, many = bad:launch(args, { grid = 64 })
    tap.like("CTA 0 and 63 more up to 63", many, "64 CTAs that wait alike")
    -- threads that wait for a warp which does not come, inside a body
    local ok, message, code = unjoined:launch(args, { grid = 1 })
    tap.is({ nil, "watchdog" }, { ok, code }, "a named barrier that one warp leaves out")
    tap.matches("task 'put', CTA 0, warps? %d[^\n]*waits for named barrier %d+: %d+ of 128 threads have come", tostring(message), "is told of")
    tap.is(true, good:launch(args, { grid = 1 }) and dev:sync(), "the context lives")
  end
end

-- ---- good kernels: the same results, no alarm -------------------------------------------------------------------------------------------

if part "good" then
  for _, o in ipairs { { warpgroups = 2, n = 256, stages = 4 }, { warpgroups = 2, n = 128, stages = 4, cluster = 2 }, { stages = 1, lag = 0, group = "merge" } } do
    local plain, watched = compiled(lab.gemm(o):build { device = dev }), compiled(lab.gemm(o):build { device = dev, watchdog = 2 })
    if not dry then
      local m, n, k = 512, 512, 1000
      local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(1), dev:tensor { dtype = "bf16", shape = { n, k } }:randn(2)
      local d, e = dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0), dev:tensor { dtype = "bf16", shape = { m, n } }:fill(0 / 0)
      tap.is(true, plain:launch { A = a, B = b, D = d } and dev:sync(), "a GEMM")
      local same = 0
      for _ = 1, 50 do
        local ok, message = watched:launch { A = a, B = b, D = e }
        if not ok then tap.diag(message) break end
        if e:get "bytes" == d:get "bytes" then same = same + 1 end
      end
      tap.is(50, same, "under the watchdog: the same bits, fifty times, no alarm")
    end
  end
  local attention = require "weir.kernels.attention"
  local function build(options) return compiled(attention.kernel({ d = 128, causal = true, config = attention.choose { d = 128, causal = true } }):build(options)) end
  local plain, watched = build { device = dev }, build { device = dev, watchdog = 2 }
  if not dry then
    local function tensor(seed) return dev:tensor { dtype = "bf16", shape = { 1, 4, 700, 128 } }:randn(seed) end
    local q, k, v, o, u = tensor(1), tensor(2), tensor(3), tensor(4), tensor(5)
    tap.is(true, plain:launch { Q = q, K = k, V = v, O = o } and dev:sync(), "attention, a queue that is drawn from")
    tap.is(true, (watched:launch { Q = q, K = k, V = v, O = u }), "under the watchdog")
    tap.ok(o:get "bytes" == u:get "bytes", "the same bits")
  end
end

-- ---- every kernel of t/deadlocks.lua ------------------------------------------------------------------------------------------------------

if part "mutants" then
  local stuck, alike, from = 0, 0, os.time()
  if not dry then                                         -- the compilers take longest: sixteen at a time
    local pipes = {}
    for i = 1, 16 do pipes[i] = io.popen(("%s t/gpu/watchdog.t ahead %d/16 2>&1"):format(os.getenv "WEIR_LUA" or "lua5.4", i)) end
    for _, p in ipairs(pipes) do
      local said = p:read "a"
      if not p:close() then tap.diag(said) end
    end
    tap.diag(("compiled ahead in %d s"):format(os.time() - from))
  end
  local alive = compiled(ring(0):build { device = dev })
  local list, seconds_left = deadlocks.list(), 50         -- at least 60 that get stuck, then as many as the time is enough for
  for i = 1, #list do
    local mutant = list[(i - 1) * 37 % #list + 1]          -- of every base
    if not dry and stuck >= 60 and os.time() - from > seconds_left then break end
    local p = deadlocks.build(mutant, { device = dev, watchdog = .25 })
    if dry then compiled(p)
    else
      local wanted_ok, wanted, ok, message, code
      local thought = seconds(function() wanted_ok, wanted = mutant.run(deadlocks.build(mutant, { device = sim }), sim) end)
      local took = seconds(function() ok, message, code = mutant.run(p, dev) end)
      if thought + took > 1 then tap.diag(("%s: %d s in the simulator, %d s on the GPU"):format(mutant.name, thought, took)) end
      if wanted_ok then
        tap.is(true, ok, mutant.name .. ": runs, as in the simulator")
      else
        stuck = stuck + 1
        tap.is({ nil, "watchdog" }, { ok, code }, mutant.name .. ": ends")
        tap.ok(took <= 6, "in time")
        local want, seen = deadlocks.waits(wanted), deadlocks.waits(tostring(message))
        if tap.is(want, seen, "with the waits that the simulator has") then alike = alike + 1 else tap.diag(tostring(message)) end
      end
      if not tap.is(true, dev:sync(), "the context lives") then break end
    end
  end
  if not dry then
    local args, want = ring_tensors(300)
    tap.is(true, alive:launch(args, { grid = 1 }) and dev:sync(), "after all of them a good kernel runs")
    tap.is(want, args.y:get(), "and is right")
    tap.ok(stuck >= 60, stuck .. " kernels that got stuck, " .. alike .. " of them as in the simulator")
  end
end

-- ---- a timeline -------------------------------------------------------------------------------------------------------------------------

if part "trace" then
  local p = lab.gemm { warpgroups = 2, n = 128, stages = 4 }:build { device = dev }
  if dry then tap.ok(plan.traced(p), "compiles")
  else
    local m, n, k = 256, 128, 512
    local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:fill(1), dev:tensor { dtype = "bf16", shape = { n, k } }:fill(2)
    local d = dev:tensor { dtype = "bf16", shape = { m, n } }
    local t = assert(p:trace({ A = a, B = b, D = d }, { ctas = 2 }))
    tap.is({ "ns", true }, { t.unit, t.complete }, "in ns, all of it")
    tap.is(2.0 * k, d:get()[m * n], "a traced launch computes")
    local rows, last, backward = {}, 0, 0
    for _, s in ipairs(t:spans()) do
      local key = s.cta .. " " .. s.warp
      rows[key] = rows[key] or {}
      table.insert(rows[key], s)
      last = math.max(last, s.to)
      if s.from < 0 or s.to < s.from - .5 then backward = backward + 1 end
    end
    tap.ok(last > 1000 and last < 1e6, ("a GEMM of 8 steps takes %.0f ns"):format(last))
    tap.is(0, backward, "no span ends before it begins")
    for _, want in ipairs { { "0 0", "wait ab_empty" }, { "0 0", "load a" }, { "0 4", "wait ab_full" }, { "0 4", "mma acc" }, { "1 8", "mma acc" }, { "0 4", "drain acc" } } do
      local stages = {}
      for _, s in ipairs(rows[want[1]] or {}) do if s.what == want[2] then stages[#stages + 1] = s.stage end end
      tap.is({ 0, 1, 2, 3, 0, 1, 2, 3 }, stages, ("%s of %s goes through the stages"):format(want[2], want[1]))
    end
    local file = os.getenv "WEIR_TRACE_OUT"                -- a folder to look at the drawing in
    if file then
      t:svg(file .. "/gemm.svg")
      t:perfetto(file .. "/gemm.json")
    end
    tap.is(2.0 * k, (function() assert(p:launch { A = a, B = b, D = d:fill(0) }); dev:sync(); return d:get()[1] end)(), "an ordinary launch afterwards")
  end
end
tap.done()
