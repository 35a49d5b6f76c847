#!/usr/bin/env lua5.4
-- One field of the plan changed at a time: what its three readers make of it. The emitter's text changes or stays, the prover's verdict
-- changes or stays, the simulator stops, gives wrong numbers or runs. A change that neither prover nor simulator notices must be
-- harmless, with the reason. At the end: was every action kind, and every field of the tables, changed?
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local push = require "push"
local weir, plan = lab.weir, lab.plan
local s = require "sm100a"

local kernels = {
  gemm = { lab.gemm, function(p, o) return lab.run_gemm(p, 64, 64, 330, o) end },
  wide = { function() return lab.gemm { n = 192 } end, function(p, o) return lab.run_gemm(p, 64, 192, 200, o) end },
  two = { function() return lab.gemm { warpgroups = 2, n = 128 } end, function(p, o) return lab.run_gemm(p, 128, 128, 200, o) end },
  cluster = { function() return lab.gemm { cluster = 2 } end, function(p, o) return lab.run_gemm(p, 128, 64, 330, o) end },
  merge = { function() return lab.gemm { group = "merge" } end, function(p, o) return lab.run_gemm(p, 64, 64, 330, o) end },
  nolag = { function() return lab.gemm { lag = 0 } end, function(p, o) return lab.run_gemm(p, 64, 64, 330, o) end },
  loads = { lab.tma_copy, function(p, o) o.grid = 1 return lab.run_copy(p, { 40, 100 }, o) end },
  threads = { lab.thread_copy, function(p, o) o.grid = 1 return lab.run_copy(p, { 1500 }, o) end },
}
kernels.pair = { function() return s.gemm { v = 2, n = 32, sums = 1 } end,          -- two CTAs share each mma (sm_100a); two tiles a CTA
  function(p, o) o.grid = 2 return lab.run_gemm(p, 500, 30, 330, o) end }
kernels.late = { function() return s.late { behind = true } end,  -- a stage given back behind the sums: the task waits for its own last commit
  function(p, o) return s.run_late(p, {}, o.device) end }
kernels.late_pair = { function() return s.late { behind = true, v = 2 } end, function(p, o) return s.run_late(p, {}, o.device) end }
kernels.tiles = { lab.gemm, function(p, o) o.grid = 1 return lab.run_gemm(p, 128, 64, 100, o) end }    -- two tiles, one CTA
kernels.nothing = { lab.gemm, function(p, o)               -- K = 0, on stacks where K = 330 left its sums
  lab.run_gemm(p, 64, 64, 330, o)
  return lab.run_gemm(p, 64, 64, 0, o)
end }

kernels.first = { function() return lab.gemm { cluster = 2, issue = "first" } end, kernels.cluster[2] }
kernels.push = { function() return (push.split_k()) end, function(p, o) o.grid = 2 return push.run_split_k(p, 128, 64, 264, o) end } -- two tiles
kernels.slabs = { function() return (push.split_k { ctas = 3 }) end, function(p, o) o.grid = 3 return push.run_split_k(p, 128, 64, 200, o) end }

-- ---- changes ------------------------------------------------------------------------------------------------------------------------
local kinds_changed, fields_changed = {}, {}

local function where(p, table, row)
  if type(row) == "number" then return row end
  if table == "action" then return lab.action(p, row[1], row[2], row[3]) end
  return lab.index(p, table, row)
end
-- A number is added; a function gives the new value; anything else is it.
local function set(table, row, field, to)
  fields_changed[table .. "." .. field] = true
  if table == "action" then kinds_changed[row[1]] = true end
  return function(p)
    local i = where(p, table, row)
    local old = plan.get(p, table, i, field)
    local new = to
    if type(to) == "number" then new = old + to elseif type(to) == "function" then new = to(p, old) end
    assert(new ~= old, "the change changes nothing")
    plan.set(p, table, i, field, new)
  end
end
local function drop(kind, bar, nth)
  kinds_changed[kind] = true
  return function(p) plan.drop(p, lab.action(p, kind, bar, nth)) end
end
local function swap(kind, bar, nth)
  kinds_changed[kind] = true
  return function(p) plan.swap(p, lab.action(p, kind, bar, nth)) end
end
local function value(x) return function() return x end end
local function other_bar(name) return function(p) return lab.index(p, "bars", name) end end
local function ranks(table, row, rank, to)
  if table == "action" then kinds_changed[row[1]] = true end
  return function(p) plan.ranks(p, table, where(p, table, row), rank, to) end
end
local function box(copy, coordinates, offset)
  fields_changed["copies.box"] = true
  return function(p) plan.box(p, copy, 0, coordinates, offset) end
end

local THREADS, LANE, WG, ONE = 0, 1, 2, 5                  -- weiri_who
local HELD, CLOSE = 2, 3                                   -- weiri_stage_ref

-- ---- one change -----------------------------------------------------------------------------------------------------------------------
-- wanted: text = "same" (else it changes); proof = a rule (else SAFE); sim = a rule or words (nil: not run; "right": runs, is right), seed
local function try(name, kernel, change, wanted)
  local make, run = kernels[kernel][1], kernels[kernel][2]
  local p = make():build { device = lab.device() }
  local before = p:source()
  change(p)
  local verdict, findings = plan.prove(p)
  local rules = {}
  for _, f in ipairs(findings) do rules[#rules + 1] = f.rule end
  if wanted.proof then
    tap.is("UNSAFE", verdict, name .. ": not safe")
    tap.like(wanted.proof, table.concat(rules, " "), name .. ": the prover says " .. wanted.proof)
  else
    tap.is({ "SAFE" }, { verdict, table.unpack(rules) }, name .. ": no matter of the proof")
  end
  local text = plan.emit(p)
  tap.ok((text == before) == (wanted.text == "same"), name .. ": the text " .. (wanted.text == "same" and "does not say it" or "changes"))
  if wanted.sim then
    plan.run_text(p, text)
    local seen
    for seed = wanted.seed or 1, wanted.seed or (wanted.sim == "right" and 1 or 3) do
      local ok, message = run(p, { device = weir.device("sim", { seed = seed }) })
      seen = ok and "right" or message
      if seen:find(wanted.sim, 1, true) then break end
    end
    tap.like(wanted.sim, seen, name .. ": the simulator: " .. wanted.sim)
  end
  if not wanted.harmless then tap.ok(wanted.proof or (wanted.sim and wanted.sim ~= "right"), name .. ": somebody notices") end
end

-- As they are: proved, right.
for name, kernel in pairs(kernels) do
  local p = kernel[1]():build { device = lab.device() }
  tap.is("SAFE", (plan.prove(p)), name .. " as it is: proved")
  tap.is(p:source(), plan.emit(p), name .. " as it is: emitted again, the same")
  tap.is({ true, "" }, { kernel[2](p, { device = lab.device() }) }, name .. " as it is: right")
end

-- ---- two CTAs that share each mma (v = 2) ----------------------------------------------------------------------------------------------
try("the leader arms its own half only", "pair", set("action", { "expect_tx" }, "bytes", -16384), { proof = "PROVE-TX", sim = "[sim-" })
try("each CTA arms its own barrier", "pair", set("action", { "expect_tx" }, "leader", value(false)), { proof = "PROVE-", sim = "[sim-arrivals]" })
try("each load counts on its own CTA's barrier", "pair", set("action", { "bulk_issue" }, "at_leader", value(false)), { proof = "PROVE-", sim = "[sim-" })
try("no load of A by either", "pair", drop("bulk_issue"), { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("the other CTA does not wait before it loads", "pair", set("action", { "wait", "ab_empty" }, "leader", value(true)), { proof = "PROVE-", sim = "[sim-" })
try("neither waits before it loads", "pair", drop("wait", "ab_empty"), { proof = "PROVE-ASYNC-READ", sim = "[sim-" })
try("operands given back to the leader alone", "pair", set("action", { "tcgen05_commit", "ab_empty" }, "targets", value(0)), { proof = "PROVE-", sim = "[sim-" })
try("operands never given back", "pair", drop("tcgen05_commit", "ab_empty"), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("sums handed to the leader's threads alone", "pair", set("action", { "tcgen05_commit", "acc_full" }, "targets", value(0)), { proof = "PROVE-", sim = "[sim-" })
try("sums never handed over", "pair", drop("tcgen05_commit", "acc_full"), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("each CTA's threads release to their own CTA", "pair", set("action", { "arrive", "acc_empty" }, "at_leader", value(false)), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("the other CTA's threads do not release", "pair", set("action", { "arrive", "acc_empty" }, "leader", value(true)), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a count of one CTA's threads", "pair", set("bars", "acc_empty", "count", -4), { proof = "PROVE-", sim = "[sim-" })
try("no wait for free columns", "pair", drop("wait", "acc_empty"), { proof = "PROVE-", sim = "[sim-" })
try("no wait for operands", "pair", drop("wait", "ab_full"), { proof = "PROVE-", sim = "[sim-" })
try("no fence behind the other CTA's wait", "pair", drop("tcgen05_after", nil, 2), { proof = "PROVE-PROXY", sim = "[sim-tcgen05-fence]" })
try("no fence before the release", "pair", drop("tcgen05_before", nil, 2), { proof = "PROVE-PROXY", sim = "[sim-tcgen05-fence]" })
try("no mma", "pair", drop("mma_issue"), { sim = "[sim-tmem]" })
try("nobody allocates", "pair", drop("tmem_alloc"), { proof = "PROVE-PLAN", sim = "[sim-" })
try("nobody frees", "pair", drop("tmem_free"), { proof = "PROVE-PLAN", sim = "dealloc is missing" })
try("no cluster barrier before columns are freed", "pair", drop("cluster_wait", nil, 2), { proof = "PROVE-", sim = "[sim-" })
try("no cluster barrier before the first use", "pair", drop("cluster_wait"), { proof = "PROVE-RACE", sim = "[sim-" })
try("an mma by both CTAs, in a task that is the leader's", "pair", set("action", { "mma_issue" }, "leader", value(false)),
  { text = "same", sim = "right", harmless = "the task is the leader's as a whole" })

-- ---- the commit that a task waits for at its end ----------------------------------------------------------------------------------------
for _, v in ipairs { "late", "late_pair" } do
  local said = v .. ": "
  try(said .. "no wait for the commit at the task's end", v, drop("wait", "mma_done"), { proof = "PROVE-EXIT", sim = "[sim-exit]", seed = 8 })
  try(said .. "neither wait nor commit", v, function(p) drop("wait", "mma_done")(p) drop("tcgen05_commit", "mma_done")(p) end,
    { proof = "PROVE-EXIT", sim = "exits while a tcgen05.commit", seed = 8 })
  try(said .. "no commit at the task's end", v, drop("tcgen05_commit", "mma_done"), { proof = "PROVE-", sim = "[sim-deadlock]" })
  try(said .. "the wait in front of the commit", v, swap("tcgen05_commit", "mma_done"), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
  try(said .. "a count of two", v, set("bars", "mma_done", "count", 1), { proof = "PROVE-", sim = "[sim-deadlock]" })
end
try("late_pair: the commit to the other CTA, too", "late_pair", set("action", { "tcgen05_commit", "mma_done" }, "targets", value(8)),
  { sim = "right", harmless = "the commits of a thread arrive in order, so that who has waited for one knows of both" })

-- ---- every kind left out, or moved ------------------------------------------------------------------------------------------------------
try("no acquire", "gemm", drop("wait", "ab_empty"), { proof = "PROVE-ASYNC-READ", sim = "[sim-arrivals]" })
try("no wait", "gemm", drop("wait", "ab_full"), { proof = "PROVE-RACE", sim = "a wgmma reads A from 'a' stage 0" })
try("no arming", "gemm", drop("expect_tx", "ab_full", 2), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("no load", "gemm", drop("bulk_issue", "ab_full", 2), { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("no release in the loop", "gemm", drop("arrive", "ab_empty"), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("no release behind the loop", "tiles", drop("arrive", "ab_empty", 2), { proof = "PROVE-COUNT" })
try("a producer that does not move on", "gemm", drop("advance"), { proof = "PROVE-TX", sim = "[sim-arrivals]" })
try("a consumer that does not close", "gemm", drop("advance", nil, 4), { proof = "PROVE-", sim = "[sim-deadlock]" })
try("no wgmma fence", "gemm", drop("mma_fence"), { proof = "PROVE-RACE", sim = "[sim-wgmma]" })
try("no mma", "gemm", drop("mma_issue"), { proof = "PROVE-PARITY", sim = "[sim-lap]" })   -- nothing holds the warps of the group together then
try("no commit of the batch", "gemm", drop("mma_commit"), { proof = "PROVE-RACE", sim = "[sim-async-read]" })
try("no wait for batches in the loop", "gemm", drop("mma_wait"), { proof = "PROVE-ASYNC-READ", sim = "[sim-async-read]" })
try("no wait for batches behind it", "gemm", drop("mma_wait", nil, 2), { proof = "PROVE-RACE", sim = "[sim-accumulator]" })
try("no wait for a staging tile", "wide", drop("bulk_wait", nil, 3), { proof = "PROVE-RACE", sim = "[sim-async-read]" })
try("no wait for stores at the end", "gemm", drop("bulk_wait", nil, 2), { proof = "PROVE-EXIT", sim = "[sim-exit]" })
try("no barrier in front of a staging tile", "gemm", drop("named_sync"), { proof = "PROVE-RACE" })
try("no barrier behind it", "gemm", drop("named_sync", nil, 2), { proof = "PROVE-RACE", sim = "a TMA store from 'stage' stage 0" })
try("no zeros where no mma ran", "nothing", drop("body"), { sim = "right", harmless = "the sums begin as 0" })
try("no staging", "gemm", drop("body", nil, 2), { proof = "PROVE-RACE", sim = "[sim-uninit]" })
try("no proxy fence", "gemm", drop("fence_async"), { proof = "PROVE-PROXY", sim = "[sim-fence]" })
try("no proxy fence behind plain reads", "loads", drop("fence_async"), { proof = "PROVE-PROXY", sim = "a TMA load into 'ring' stage 0, byte 0, may overtake a load by task 'put'" })
try("no store", "gemm", drop("bulk_store"), { sim = "wrong numbers" })
try("no closing of a store's group", "gemm", drop("bulk_commit"), { proof = "PROVE-EXIT", sim = "[sim-exit]" })
try("no zero()", "tiles", drop("zero"), { sim = "wrong numbers" })
try("no init", "gemm", drop("init"), { proof = "PROVE-RACE", sim = "[sim-bar-init]" })
try("no CTA barrier", "gemm", drop("cta_sync"), { proof = "PROVE-RACE", sim = "[sim-bar-init]" })
try("no cluster arrive at the start", "cluster", drop("cluster_arrive"), { proof = "PROVE-RACE", sim = "[sim-cluster]" })
try("no cluster wait at the start", "cluster", drop("cluster_wait"), { proof = "PROVE-RACE", sim = "[sim-bar-init]" })
try("no cluster arrive at the end", "cluster", drop("cluster_arrive", nil, 2), { proof = "PROVE-EXIT", sim = "[sim-cluster]" })
try("no cluster wait at the end", "cluster", drop("cluster_wait", nil, 2), { proof = "PROVE-EXIT", sim = "[sim-exited]" })
try("no warp sync before a commit", "threads", drop("warp_sync"), { proof = "PROVE-RACE", sim = "[sim-uninit]" })
try("no warp sync before a release", "threads", drop("warp_sync", nil, 2), { proof = "PROVE-RACE" })
try("no mark of a register split", "two", drop("setmaxnreg"), { sim = "right", harmless = "the split itself is plan.reg_split; the action is its marker" })
try("armed behind the load", "gemm", swap("expect_tx"), { sim = "right", harmless = "bytes may land before they are armed, within a phase" })
try("fenced behind the barrier", "gemm", swap("fence_async"), { proof = "PROVE-PROXY" })
try("plain reads fenced behind the join", "loads", swap("fence_async"), { proof = "PROVE-PROXY", sim = "[sim-fence]" })
try("committed before the batch", "gemm", swap("mma_issue"), { proof = "PROVE-" })
try("released before the drain", "nolag", swap("mma_wait"), { proof = "PROVE-ASYNC-READ", sim = "[sim-async-read]" })
try("closed before the store", "gemm", swap("bulk_store"), { proof = "PROVE-EXIT" })

-- ---- fields of actions --------------------------------------------------------------------------------------------------------------------
try("16 bytes more", "gemm", set("action", { "expect_tx" }, "bytes", 16), { proof = "PROVE-TX", sim = "16 missing" })
try("16 bytes fewer, of a tile in no group", "loads", set("action", { "expect_tx" }, "bytes", -16), { proof = "PROVE-TX", sim = "[sim-tx]" })
try("16 bytes fewer", "gemm", set("action", { "expect_tx" }, "bytes", -16), { proof = "PROVE-TX", sim = "[sim-tx]" })
try("bytes of a load", "gemm", set("action", { "bulk_issue" }, "bytes", 16), { text = "same", proof = "PROVE-TX" })
try("arming another stage", "gemm", set("action", { "expect_tx", nil, 2 }, "stage", value(HELD)), { proof = "PROVE-COUNT", sim = "[sim-arrivals]" })
try("waiting for another stage", "nolag", set("action", { "wait", "ab_full" }, "stage", value(HELD)), { proof = "PROVE-RACE", sim = "[sim-early-read]" })
try("loading another stage", "gemm", set("action", { "bulk_issue" }, "stage", value(HELD)), { proof = "PROVE-TX", sim = "[sim-async-write]" })
try("releasing another stage", "gemm", set("action", { "arrive" }, "stage", value(HELD)), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("releasing one open before", "gemm", set("action", { "arrive" }, "back", 1), { text = "same", sim = "right", harmless = "the oldest held stage has no `back`" })
try("loading one open before", "gemm", set("action", { "bulk_issue", nil, 2 }, "back", 1), { proof = "PROVE-TX", sim = "[sim-" })
try("storing another stage", "gemm", set("action", { "bulk_store" }, "stage", value(1)), { sim = "[sim-uninit]" })
try("moving the other end", "gemm", set("action", { "advance" }, "stage", value(CLOSE)), { proof = "PROVE-TX", sim = "[sim-arrivals]" })
try("waiting with the producer's cursor", "gemm", set("action", { "wait", "ab_full" }, "cur", value(0)), { text = "same", proof = "PROVE-PARITY" })
try("loading for another barrier", "merge", set("action", { "bulk_issue", "ab_a_full" }, "bar", other_bar "ab_b_full"), { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("releasing on another barrier", "merge", set("action", { "arrive", "ab_empty" }, "bar", other_bar "ab_a_full"), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("loading another tensor's boxes", "gemm", set("action", { "bulk_issue" }, "copy", 1), { proof = "PROVE-PLAN", sim = "wrong numbers" })
try("storing another tensor's boxes", "gemm", set("action", { "bulk_store" }, "copy", -2), { proof = "PROVE-PLAN", sim = "wrong numbers" })
try("a load for one CTA", "cluster", set("action", { "bulk_issue", nil, 2 }, "targets", value(0)), { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("a load for both CTAs", "cluster", set("action", { "bulk_issue" }, "targets", value(1)), { proof = "PROVE-TX", sim = "[sim-" })
try("a release to one CTA", "cluster", set("action", { "arrive" }, "targets", value(0)), { proof = "PROVE-COUNT", sim = "[sim-" })
try("a load by both CTAs for both", "first", set("action", { "bulk_issue", nil, 2 }, "first", value(false)), { proof = "PROVE-PLAN", sim = "[sim-" })
try("a release to the own CTA, not to the one that loads", "first", ranks("action", { "arrive" }, 1, 2), { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("a release to who loads, not to the own CTA", "first", ranks("action", { "arrive" }, 1, 1), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a release to a CTA that loads nothing", "first", ranks("action", { "arrive" }, 0, 3), { proof = "PROVE-COUNT", sim = "[sim-" })
try("releases counted alike in both CTAs", "first", ranks("bars", "ab_empty", 1, 2), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a release not counted where it goes", "first", ranks("bars", "ab_empty", 0, 1), { proof = "PROVE-COUNT", sim = "[sim-" })
try("the first CTA arms half of what it loads", "first", set("action", { "expect_tx", nil, 2 }, "bytes", -4096), { proof = "PROVE-TX", sim = "[sim-" })
try("no acquire of what is pushed", "push", drop("wait", "sums_empty"), { proof = "PROVE-", sim = "[sim-" })
try("no arming of what is pushed", "push", drop("expect_tx", "sums_full"), { proof = "PROVE-", sim = "[sim-" })
try("no push", "push", drop "bulk_push", { proof = "PROVE-TX", sim = "[sim-deadlock]" })
try("no wait for what is pushed", "push", drop("wait", "sums_full"), { proof = "PROVE-RACE", sim = "[sim-" })
try("no release of what was pushed", "push", drop("arrive", "sums_empty"), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("no wait for the source of a push", "push", drop("wait", "part_full"), { proof = "PROVE-RACE", sim = "[sim-" })
try("no fence in front of a push", "push", drop "fence_async", { proof = "PROVE-PROXY", sim = "[sim-fence]" })
try("16 bytes more than are pushed", "push", set("action", { "expect_tx", "sums_full" }, "bytes", 16), { proof = "PROVE-TX", sim = "16 missing" })
try("16 bytes fewer than are pushed", "push", set("action", { "expect_tx", "sums_full" }, "bytes", -16), { proof = "PROVE-TX", sim = "[sim-" })
try("bytes of a push", "push", set("action", { "bulk_push" }, "bytes", 16), { text = "same", proof = "PROVE-TX" })
try("a push that pushes another way", "push", set("action", { "bulk_push" }, "stage", value(CLOSE)), { text = "same", sim = "right", harmless = "one stage: all names of it are the same" })
try("armed in the own CTA", "push", ranks("action", { "expect_tx", "sums_full" }, 1, 2), { proof = "PROVE-", sim = "[sim-" })
try("pushed into the own CTA", "push", ranks("action", { "bulk_push" }, 1, 2), { proof = "PROVE-", sim = "[sim-cluster]" })
try("released to nobody", "push", ranks("action", { "arrive", "sums_empty" }, 0, 0), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("released to the wrong CTA", "push", ranks("action", { "arrive", "sums_empty" }, 0, 1), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("one sender counted too few", "slabs", ranks("bars", "sums_full", 0, 1), { proof = "PROVE-", sim = "[sim-" })
try("one sender counted too many", "slabs", ranks("bars", "sums_full", 0, 3), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("one sender not told", "slabs", ranks("action", { "arrive", "sums_empty" }, 0, 2), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("two arrivals of one", "gemm", set("action", { "arrive" }, "arrivals", 1), { text = "same", proof = "PROVE-COUNT" })
try("two arrivals of an arming", "gemm", set("action", { "expect_tx" }, "arrivals", 1), { text = "same", proof = "PROVE-COUNT" })
try("a release by every thread", "gemm", set("action", { "arrive" }, "who", value(THREADS)), { proof = "PROVE-COUNT", sim = "[sim-lap]" })
try("a release by every warp", "gemm", set("action", { "arrive" }, "who", value(LANE)), { proof = "PROVE-COUNT", sim = "[sim-lap]" })
try("a release by one thread of a task", "threads", set("action", { "arrive", "ring_empty" }, "who", value(ONE)), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a fence by one thread", "gemm", set("action", { "fence_async" }, "who", value(WG)), { text = "same", proof = "PROVE-PROXY" })
try("plain reads fenced by one thread", "loads", set("action", { "fence_async" }, "who", value(WG)), { text = "same", proof = "PROVE-PROXY" })
try("a store by every thread", "gemm", set("action", { "bulk_store" }, "who", value(THREADS)), { proof = "PROVE-EXIT", sim = "[sim-exit]" })
try("a group closed by every thread", "gemm", set("action", { "bulk_commit" }, "who", value(THREADS)), { sim = "right", harmless = "the other threads close empty groups" })
try("a release by the first warp alone", "threads", set("action", { "arrive", "ring_empty" }, "twl", value(true)), { text = "same", proof = "PROVE-COUNT" })
try("a release by the first CTA alone", "cluster", set("action", { "arrive" }, "cta0", value(true)), { text = "same", proof = "PROVE-COUNT" })
try("one batch more in flight", "gemm", set("action", { "mma_wait" }, "n", 1), { proof = "PROVE-ASYNC-READ", sim = "[sim-async-read]" })
try("one batch fewer in flight", "gemm", set("action", { "mma_wait" }, "n", -1), { sim = "right", harmless = "it waits for more than it needs" })
try("a batch in flight at the epilogue", "gemm", set("action", { "mma_wait", nil, 2 }, "n", 1), { proof = "PROVE-RACE", sim = "[sim-accumulator]" })
try("one store more in flight", "wide", set("action", { "bulk_wait", nil, 3 }, "n", 1), { proof = "PROVE-RACE", sim = "[sim-async-read]" })
try("one store fewer in flight", "wide", set("action", { "bulk_wait", nil, 3 }, "n", -1), { sim = "right", harmless = "it waits for more than it needs" })
try("a wait for whole stores", "wide", set("action", { "bulk_wait", nil, 3 }, "read", value(false)), { sim = "right", harmless = "it waits for more than it needs" })
try("a store in flight at the end", "gemm", set("action", { "bulk_wait", nil, 2 }, "n", 1), { proof = "PROVE-EXIT", sim = "[sim-exit]" })
try("another named barrier", "two", set("action", { "named_sync" }, "named", 1), { proof = "PROVE-COUNT" })
try("a warp more at a named barrier", "gemm", set("action", { "named_sync" }, "threads", 32), { proof = "PROVE-DEADLOCK", sim = "128 of 160 threads have come" })
try("a warp fewer at a named barrier", "gemm", set("action", { "named_sync" }, "threads", -32), { proof = "PROVE-COUNT", sim = "[sim-" })
try("sums that are never fresh", "tiles", set("action", { "mma_issue" }, "fresh", value(2)), { sim = "wrong numbers" })
try("sums that are always fresh", "gemm", set("action", { "mma_issue" }, "fresh", value(1)), { sim = "wrong numbers" })
try("an arrive that became nothing", "gemm", set("action", { "arrive" }, "kind", value "none"), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a fence that became a warp sync", "gemm", set("action", { "fence_async" }, "kind", value "warp_sync"), { proof = "PROVE-PROXY", sim = "[sim-fence]" })

-- ---- tables ---------------------------------------------------------------------------------------------------------------------------------
try("an empty barrier that counts one more", "gemm", set("bars", "ab_empty", "count", 1), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a full barrier that counts one more", "gemm", set("bars", "ab_full", "count", 1), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a full barrier that counts one fewer", "gemm", set("bars", "ab_full", "count", -1), { proof = "PROVE-COUNT", sim = "[sim-arrivals]" })
try("an empty barrier without the peer", "cluster", set("bars", "ab_empty", "count", -1), { proof = "PROVE-COUNT", sim = "[sim-async-read]" })
try("barriers one further", "gemm", set("bars", "ab_full", "first", 1), { proof = "PROVE-PLAN", sim = "[sim-bar-init]" })
try("barriers that share places", "gemm", set("bars", "ab_full", "first", -3), { proof = "PROVE-COUNT", sim = "[sim-" })
try("a barrier fewer", "gemm", set("bars", "ab_full", "stages", -1), { proof = "PROVE-COUNT", sim = "[sim-bar-init]" })
try("barriers in the staging tile", "gemm", set("plan", 0, "barrier_offset", -16384), { proof = "PROVE-RACE", sim = "[sim-bar-write]" })
try("barriers not aligned", "gemm", set("plan", 0, "barrier_offset", 4), { proof = "PROVE-PLAN", sim = "[sim-align]" })
try("barriers past the end", "gemm", set("plan", 0, "barrier_offset", 8), { proof = "PROVE-PLAN", sim = "[sim-bounds]" })
try("less shared memory than is used", "gemm", set("plan", 0, "smem_total", -64), { proof = "PROVE-PLAN", sim = "[sim-bounds]" })
try("a tile moved into the next", "gemm", set("smem", "a", "offset", 512), { proof = "PROVE-RACE", sim = "[sim-async-write]" })
try("a tile moved into the one before", "gemm", set("smem", "b", "offset", -1024), { proof = "PROVE-RACE", sim = "[sim-async-write]" })
try("a tile not aligned", "gemm", set("smem", "b", "offset", 16), { proof = "PROVE-RACE", sim = "[sim-align]" })
try("staging over operands", "gemm", set("smem", "stage", "offset", value(0)), { proof = "PROVE-RACE" })
try("stages that overlap", "gemm", set("smem", "a", "stage_bytes", -1024), { proof = "PROVE-", sim = "[sim-async-write]" })
try("another swizzle for the operand", "gemm", set("smem", "a", "swizzle", value(64)), { proof = "PROVE-PLAN", sim = "wrong numbers" })
try("a producer's ring one stage shorter", "gemm", set("cursors", 0, "stages", -1), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a consumer's ring one stage shorter", "gemm", set("cursors", 1, "stages", -1), { proof = "PROVE-COUNT", sim = "[sim-deadlock]" })
try("a producer that starts as a consumer", "gemm", set("cursors", 0, "producer", value(false)), { proof = "PROVE-DEADLOCK", sim = "[sim-deadlock]" })
try("a consumer that starts as a producer", "gemm", set("cursors", 1, "producer", value(true)), { proof = "PROVE-PARITY", sim = "a wgmma reads A from 'a' stage 0" })
try("closes that move with opens", "gemm", set("cursors", 1, "split_close", value(false)), { proof = "PROVE-PLAN", sim = "[sim-deadlock]" })
try("held stages that are not counted", "gemm", set("cursors", 1, "needs_held", value(false)), { proof = "PROVE-PLAN", sim = "ab_held" })
try("a box of half the rows", "gemm", set("tmaps", "A_map", "box1", value(32)), { text = "same", proof = "PROVE-TX", sim = "4096 missing" })
try("a box of half the columns", "gemm", set("tmaps", "A_map", "box0", value(32)), { text = "same", proof = "PROVE-TX", sim = "4096 missing" })
try("another box", "gemm", box(0, { 64, 0 }, 0), { proof = "PROVE-PLAN", sim = "wrong numbers" })
try("another place of a box", "gemm", box(0, { 0, 0 }, 1024), { proof = "PROVE-PLAN", sim = "[sim-" })
try("half the rows of a slice", "cluster", set("copies", 1, "slice_elems", value(16)), { proof = "PROVE-PLAN", sim = "wrong numbers" })
try("half the bytes of a slice", "cluster", set("copies", 1, "slice_bytes", value(2048)), { proof = "PROVE-PLAN", sim = "[sim-" })
try("a warpgroup's rows", "two", set("copies", 2, "wg_elems", value(32)), { proof = "PROVE-PLAN", sim = "no bulk wait for its result is known" })
try("a warpgroup's bytes", "two", set("copies", 2, "wg_bytes", value(4096)), { proof = "PROVE-PLAN", sim = "[sim-race]" })
try("a slice along no axis", "cluster", set("copies", 1, "slice_axis", value(-1)), { proof = "PROVE-PLAN", sim = "[sim-" })
try("a warpgroup's share along no axis", "two", set("copies", 2, "wg_axis", value(-1)), { proof = "PROVE-PLAN", sim = "[sim-uninit]" })
try("registers over the pool", "two", set("plan", 0, "reg_split1", 8), { proof = "PROVE-DEADLOCK", sim = "setmaxnreg.inc 240" })
try("registers kept", "two", set("plan", 0, "reg_split0", value(0)), { proof = "PROVE-DEADLOCK", sim = "setmaxnreg" })
try("fewer registers at entry", "two", set("plan", 0, "entry_registers", -16), { text = "same", proof = "PROVE-DEADLOCK", sim = "setmaxnreg.inc 232" })
try("a warpgroup fewer", "gemm", set("plan", 0, "threads", -128), { proof = "PROVE-PLAN", sim = "[sim-deadlock]" })
try("a warpgroup more", "gemm", set("plan", 0, "threads", 128), { sim = "right", harmless = "its warps have no task" })
try("a narrower register tile than the operand", "gemm", set("regs", 0, "cols", value(32)), { proof = "PROVE-PLAN", sim = "wrong numbers" })

-- ---- what was changed -------------------------------------------------------------------------------------------------------------------------
do
  local never = {}
  for name, kernel in pairs(kernels) do
    local p = kernel[1]():build { device = lab.device() }
    for _, row in ipairs(lab.rows(p, "action", "kind")) do
      if not kinds_changed[row.kind] then never[row.kind] = name end
    end
  end
  tap.is({}, never, "every action kind of these kernels was changed")
end
do
  -- Fields no reader takes a decision from, and why.
  local told = {
    ["action.id"] = "its number", ["action.note"] = "a comment", ["action.cross"] = "two multicast axes", ["action.pipe"] = "for the printout",
    ["action.reg"] = "names the tile of an mma, which the op names too", ["action.neff"] = "the length of a list",
    ["bars.name"] = "a name", ["bars.sum"] = "a comment", ["bars.offset"] = "printed; readers count with `first`", ["bars.tx"] = "printed; armed by actions",
    ["bars.full"] = "what it is", ["bars.remote"] = "printed",
    ["smem.name"] = "a name", ["smem.size"] = "printed", ["smem.align"] = "printed", ["smem.stages"] = "printed", ["smem.phase"] = "printed", ["smem.same_as"] = "no alias here",
    ["cursors.name"] = "a name", ["cursors.task"] = "whose", ["cursors.pipe"] = "of what", ["cursors.held_min"] = "a fact that needs_held follows from",
    ["cursors.held_max"] = "a fact that needs_held follows from",
    ["tmaps.name"] = "a name", ["tmaps.tensor"] = "checked by launch_test", ["tmaps.rank"] = "checked by launch_test", ["tmaps.swizzle"] = "refused at launch: see below",
    ["tmaps.l2_promotion"] = "a hint", ["tmaps.store"] = "what it is",
    ["copies.tmap"] = "see the copy of an action", ["copies.nbox"] = "the length of a list", ["copies.bytes"] = "printed; armed by actions",
    ["named.id"] = "checked by tables.t", ["named.threads"] = "printed", ["named.owner"] = "printed",
    ["regs.task"] = "whose", ["regs.rows"] = "of more than one warpgroup or fragment", ["regs.frags"] = "of more than one fragment", ["regs.per_thread"] = "the length of an array",
    ["plan.ok"] = "whether the rest is to be read", ["plan.ntasks"] = "the length of a list", ["plan.nactions"] = "the length of a list", ["plan.nbarriers"] = "the length of a list",
    ["plan.smem_data"] = "printed", ["plan.smem_barrier"] = "printed", ["plan.smem_capacity"] = "printed", ["plan.warps"] = "of threads", ["plan.cluster"] = "also the kernel's",
    ["plan.tmem_alloc"] = "checked by tables.t", ["plan.tmem_columns"] = "checked by tables.t", ["plan.tmem_slot"] = "checked by tables.t", ["plan.persistent"] = "the rule of the grid", ["plan.reg_split2"] = "no third warpgroup",
  }
  local p = lab.gemm():build { device = lab.device() }
  for _, table in ipairs { "action", "bars", "smem", "cursors", "tmaps", "copies", "named", "regs", "plan" } do
    local never = {}
    for _, field in ipairs(plan.fields(p, table)) do
      local name = table .. "." .. field
      if not fields_changed[name] and not told[name] then never[#never + 1] = name end
    end
    tap.is({}, never, "every field of '" .. table .. "' was changed, or is told why not")
  end
  plan.set(p, "tmaps", lab.index(p, "tmaps", "A_map"), "swizzle", 64)
  tap.raises("tensor 'A': a box row has 128 bytes, more than the swizzle span of 64", function() lab.run_gemm(p, 64, 64, 64) end, "a tensor map of another swizzle")
end

tap.done()
