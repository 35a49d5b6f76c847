#!/usr/bin/env lua5.4
-- sm_100a, cluster v = 2: two CTAs share each mma (tcgen05, cta_group::2). Proved, run in the simulator, compiled by NVRTC; the text;
-- what happens when one of the two does not do its part; what is refused. No such GPU has run any of it: docs/blackwell.md.
-- (One field of the plan changed at a time: t/perturb.t.)
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local s = require "sm100a"
local P = weir.pipeline
local check = s.check

-- ---- GEMMs --------------------------------------------------------------------------------------------------------------------------
-- M and N are no multiples of the pair's tile: one CTA of a pair, or both, have rows that do not exist. cubin: NVRTC compiles it.
local cases = {
  { "K04: 256 x 256 of a pair, persistent", { cubin = true, n = 256, registers = true, grid = 2 }, { 600, 260, 70 } },
  { "staged, relu", { cubin = true, n = 128, store = "staged", relu = true, grid = 4 } },
  { "64 rows in each CTA: the columns' halves one above the other", { cubin = true, m = 64, n = 64 } },
  { "64 rows, 96 columns, one stage of everything, f32", { m = 64, n = 96, stages = 1, sums = 1, out = "f32", grid = 2 } },
  { "256 x 32, one stage of everything, no group", { n = 32, stages = 1, sums = 1, group = "none", grid = 2 } },
  { "merge", { group = "merge", grid = 2 } },
  { "f16, four stages", { dtype = "f16", out = "f16", stages = 4 } },
  { "tf32", { cubin = true, dtype = "tf32", k = 32, out = "f32" } },
  { "e4m3", { cubin = true, dtype = "e4m3", k = 128, out = "f32" } },
  { "A stored transposed", { ta = true } },
  { "B stored transposed, two panels in each CTA", { tb = true, n = 256 }, { 140, 260, 70 } },
  { "swizzle 64", { k = 32, swizzle = 64 } },
  { "K of two panels", { k = 128, stages = 2 } },
  { "A by threads, B by TMA: merge", { a = "threads", group = "merge" } },
  { "A by threads, B by TMA: fused merge", { a = "threads" } },
  { "both by threads", { cubin = true, a = "threads", b = "threads", group = "none" } },
  { "signaling written out: the leader's", { operands_by = "cta_leader", commit_by = "cta_leader", grid = 2 } },
  { "P17: four warps load, the first arms for the leader CTA", { load_warps = 4, operands_by = "cta_leader", grid = 2 } },
  { "P17 without a group", { load_warps = 4, operands_by = "cta_leader", group = "none", grid = 2 } },
  { "a warpgroup whose first thread issues", { cubin = true, issue = 4, grid = 2 } },
  { "the task with the mma is for v = 0 alone", { mma_cta = { v = 0 }, grid = 2 } },
  { "one tile a CTA", { queue = "grid" } },
  { "tiles drawn from a counter", { cubin = true, queue = "atomic", grid = 2 } },
  { "two warpgroups store in turn", { store_lanes = 2, store = "staged", grid = 2 } },
  { "two pairs along m: B is multicast", { cubin = true, cluster = { 2, 1 } } },
  { "two pairs along n: A is multicast", { cluster = { 1, 2 }, group = "none", grid = 4 } },
  { "2 x 2 pairs: row and column", { cubin = true, cluster = { 2, 2 } } },
}
for _, c in ipairs(cases) do
  local name, o, size = c[1], c[2], c[3] or { 290, 40, 130 }
  o.v = 2
  check(name, s.gemm(o), function(p, dev) return s.run_gemm(p, o, dev, table.unpack(size)) end, not o.cubin)
end
for _, c in ipairs { { "sums as operand: umma_umma", {} }, { "in one task", { one = true } }, { "one stage, a fork to threads", { fork = true, sums = 1 } } } do
  local o = c[2]
  o.v, o.grid = 2, 2
  check("chain: " .. c[1], s.chain(o), function(p, dev) return s.run_chain(p, o, dev, 500, 30, 90, 100) end)
end

do -- sizes that leave one CTA, or all but one row, without work; K of one element
  local o = { v = 2, out = "f32", sums = 1, stages = 2 }
  local dev = weir.device("sim", { seed = 5 })
  local p = s.gemm(o):build { device = dev }
  for _, size in ipairs { { 1, 1, 1 }, { 128, 64, 64 }, { 129, 65, 65 }, { 257, 8, 7 }, { 40, 200, 400 } } do
    local ok, message = s.run_gemm(p, o, dev, table.unpack(size))
    tap.is({ true, "" }, { ok, message or "" }, ("M %d, N %d, K %d: right"):format(table.unpack(size)))
  end
end

-- ---- the text -----------------------------------------------------------------------------------------------------------------------
local source = s.gemm({ v = 2, n = 256, sums = 1 }):build { device = lab.device() }:source()
for what, text in pairs {
  ["each CTA allocates"] = "if (warp == 0) w_tmem_alloc_pair(smem_base + 98368, 256);",
  ["each CTA frees"] = "if (warp == 0) w_tmem_free_pair(tmem, 256);",
  ["the leader arms both CTAs' halves"] = "if (leader) w_mbar_expect(ab_full + ab_stage * 8, 32768);",
  ["a load of either counts on the leader's barrier"] = "w_tma_load_pair(a_smem + ab_stage * 16384, &A_map, ab_full + ab_stage * 8, 0, i0 * 64, wq_m * 128);",
  ["each loads its half of B"] = "w_tma_load_pair(b_smem + ab_at * 16384, &B_map, ab_full + ab_at * 8, 0, i0 * 64, ((wq_n * 2) + (i32)rank) * 128);",
  ["one thread of the leader issues"] = "if (leader && lane == 0) {",
  ["the instruction descriptor is of 256 x 256"] = "w_umma_f16_pair(acc_tmem, a + kk * 2, b + kk * 2, 0x10400490, acc_live | kk);  // 256 x 256",
  ["the stage is given back to both"] = "w_umma_commit_pair(ab_empty + ab_at * 8, (u16)0x3);",
  ["the sums are handed to both"] = "w_umma_commit_pair(acc_full, (u16)0x3);",
  ["both give them back to the leader"] = "if (lane == 0) w_mbar_arrive_remote(acc_empty, 0);",
  ["a pair's tile is two of the queue's along m"] = "const i32 wq_m = wq_c0 * 2 + (i32)(rank % 2);",
} do tap.like(text, source, what) end
tap.like("cluster of 4", s.gemm({ v = 2, cluster = { 1, 2 } }):build { device = lab.device() }:source(), "two pairs")
do
  local text = s.gemm({ v = 2, cluster = { 2, 2 }, group = "none" }):build { device = lab.device() }:source()
  tap.like("(rank & ~1u), (u16)(0x5 << (rank - (i32)(rank / 2 % 2) * 2))", text, "2 x 2 pairs: a load of B for the same place of both pairs of the column")
  tap.like("w_umma_commit_pair(b_empty + b_at * 8, (u16)(0xf << ((rank & ~1u) - (i32)(rank / 2 % 2) * 2)));", text, "its stage goes back to both CTAs of both")
end

-- ---- edited by hand: the simulator stops ----------------------------------------------------------------------------------------------
local function found(name, edit, ...)
  local o = { v = 2, n = 64, sums = 1, grid = 2 } -- two tiles a CTA: columns are used again
  lab.found(tap, name, 6, function(dev)
    local p = s.gemm(o):build { device = dev }
    local text = edit(p:source())
    assert(text ~= p:source(), name)
    plan.run_text(p, text)
    return s.run_gemm(p, o, dev, 400, 60, 330)
  end, { ... })
end
local function becomes(a, b, nth) return function(t) return lab.edit(t, a, b, nth) end end
found("the leader arms its own half", becomes("w_mbar_expect(ab_full + ab_stage * 8, 32768)", "w_mbar_expect(ab_full + ab_stage * 8, 16384)"), "[sim-")
found("the other CTA's loads count at home", becomes("ab_full + ab_at * 8, 0,", "ab_full + ab_at * 8, rank,"), "[sim-deadlock]", "ab_full")
found("a load for another pair's barrier", becomes("ab_full + ab_at * 8, 0,", "ab_full + ab_at * 8, 2,"), "[sim-cluster]", "which is not of its pair")
found("the other CTA's threads do not release", becomes("if (lane == 0) w_mbar_arrive_remote(acc_empty, 0)", "if (leader && lane == 0) w_mbar_arrive_remote(acc_empty, 0)"), "[sim-deadlock]", "acc_empty")
found("the operands go back to the leader alone", becomes("w_umma_commit_pair(ab_empty + ab_at * 8, (u16)0x3)", "w_umma_commit_pair(ab_empty + ab_at * 8, (u16)0x1)"), "[sim-deadlock]", "ab_empty")
found("the sums are handed to the leader alone", becomes("w_umma_commit_pair(acc_full, (u16)0x3)", "w_umma_commit_pair(acc_full, (u16)0x1)"), "[sim-deadlock]", "acc_full")
found("both CTAs issue", becomes("if (leader && lane == 0)", "if (lane == 0)"), "[sim-")
found("the other CTA issues", becomes("if (leader && lane == 0)", "if (!leader && lane == 0)"), "[sim-")
found("an mma of one CTA", becomes("w_umma_f16_pair", "w_umma_f16"), "[sim-tmem]", "of one CTA (cta_group::1) in a kernel of pairs")
found("columns of one CTA", becomes("w_tmem_alloc_pair", "w_tmem_alloc"), "[sim-tmem]", "of two CTAs (cta_group::2) in a kernel of single CTAs")
found("the other CTA allocates nothing", becomes("if (warp == 0) w_tmem_alloc_pair", "if (leader && warp == 0) w_tmem_alloc_pair"), "[sim-")
found("the other CTA frees nothing", becomes("if (warp == 0) w_tmem_free_pair", "if (leader && warp == 0) w_tmem_free_pair"), "[sim-tmem]", "dealloc is missing")
found("the two ask for different columns", function(t)
  return (t:gsub("(w_tmem_alloc_pair%(smem_base %+ %d+), 64%)", "%1, leader ? 64 : 128)"))
end, "[sim-tmem]", "the pair's other CTA asks for")
found("the shape of one CTA", becomes("0x10100490", "0x08100490"), "[sim-") -- 64 rows each: half the columns
found("rows of no pair", becomes("0x10100490", "0x04100490"), "[sim-descriptor]", "32 rows in each of two CTAs")
found("no fence behind the wait for sums", function(t)
  local at = assert(t:find("w_mbar_wait(acc_full", 1, true))
  local a, b = t:find("w_tcgen05_after();", at, true)
  return t:sub(1, a - 1) .. t:sub(b + 1)
end, "[sim-tcgen05-fence]", "task 'store'", "after_thread_sync")
found("no cluster barrier before columns are freed", function(t) return lab.edit(t, "w_cluster_wait();", "", 2) end, "[sim-")

-- ---- refusals ---------------------------------------------------------------------------------------------------------------------------
local function refused(name, make, ...)
  local report = make():verify()
  tap.is(false, report.ok, name .. ": refused")
  for _, part in ipairs { ... } do tap.like(part, report.text, name .. ": " .. part) end
end
refused("three CTAs", function()
  local k = weir.kernel { name = "three", arch = "sm_100a", cluster = { v = 3 } }
  local N = k:dim "N"
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { N } }, tile = { 64 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 64 }, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(x:at(0)); a:commit() end }
  k:task { name = "read", warps = { 1, 1 }, schedule = function() a:wait(); a:release() end }
  return k
end, "[PLAN-CLUSTER]", "has v = 3; one mma is shared by at most 2 CTAs", "v = 2")
refused("on sm_90a", function() return s.gemm { v = 2, arch = "sm_90a" } end, "[X-V2-01]", "tma_umma with v = 2: CTAs share an mma on sm_100a only; use cluster = { m = 2 } and let the loads of B multicast along m")
refused("all of B in each CTA", function()
  local o = { v = 2, n = 64 }
  o.b_rows = 64
  return s.gemm(o)
end, "[V-MMA-01]", "times both CTAs' b { 64, 64 } is { 128, 128 }, 'acc' is { 128, 64 }", "b { N / 2, K }")
refused("rows of no mma", function() return s.gemm { v = 2, m = 32 } end, "[PLAN-TILE]", "32 rows in each of two CTAs; their mma has 64 or 128 in each")
refused("columns of no mma", function() return s.gemm { v = 2, n = 48 } end, "[PLAN-TILE]", "48 columns; of two CTAs with 256 rows an mma has a multiple of 32, up to 256")
refused("K may be 0", function() return s.gemm { v = 2, zero_k = true } end, "[PLAN-ZERO]")
refused("more columns than there are", function() return s.gemm { v = 2, n = 256, sums = 3 } end, "[V-TMEM-01]", "the tmem_tiles take 768 columns")
tap.is(true, s.gemm({ v = 2, m = 64, n = 256, sums = 4, stages = 2 }):verify().ok, "64 rows in each CTA take half the columns: four stages of 256 fit")
refused("part of the columns of 64 rows", function() return s.gemm { v = 2, m = 64, n = 128, store = "staged" } end, "[PLAN-UNSUPPORTED]",
  "stores part of the columns of 64 rows, whose halves lie one above the other with v = 2")
refused("loads by the first CTA for all", function() return s.gemm { v = 2, cluster = { 2, 1 }, loads_by = "first" } end, "[PLAN-UNSUPPORTED]",
  'issued by the first CTA (issue = "first") for operands of an mma of two CTAs (v = 2)')
refused("cp.async", function() return s.gemm { v = 2, a = "cp_async" } end, "[X-V2-02]")
refused("sums and a residual in one merge", function() return s.residual("tma", 2) end, "[PLAN-UNSUPPORTED]",
  "group 'sum': with v = 2 the empty barriers of 'acc' (umma_async) are the leader CTA's, those of 'res' (tma_async) each CTA's own")
refused("a fork of loads to an mma and to threads", function() return s.fork("tma", 2) end, "[PLAN-UNSUPPORTED]",
  "group 'a': with v = 2 the full barriers of 'a_mm' (tma_umma) are the leader CTA's, those of 'a_act' (tma_async) each CTA's own")

-- Signaling that is written: accepted and counted as written; the proof says what it leads to.
local function unsafe(name, o, ...)
  o.v, o.sums = 2, 1
  local report = s.gemm(o):verify()
  tap.is("UNSAFE", report.proof.verdict, name .. ": not safe")
  for _, part in ipairs { ... } do tap.like(part, report.text, name .. ": " .. part) end
end
unsafe("both CTAs give operands back", { operands_by = "all" }, "[PROVE-COUNT]", "an arrival of 'mma of CTA 1' at ab_empty[0] of CTA 1 may fall into the phase before", "which counts 2")
unsafe("both CTAs hand sums over", { commit_by = "all" }, "[PROVE-COUNT]", "an arrival of 'mma of CTA 1' at acc_full[0]", "which counts 2")
unsafe("the leader's threads alone wait and release", { release_by = "cta_leader" }, "[PROVE-RACE]", "'store warp 0 of CTA 1'", "which counts 4 (4 warps)")

-- ---- what is said ------------------------------------------------------------------------------------------------------------------------
do
  local k, of = s.gemm { v = 2, group = "none", cluster = { 2, 1 } }
  local report = k:verify()
  local b, acc = k:explain(of.b), k:explain(of.acc)
  tap.like("one thread copies 2048 bytes, counted on b_full in 2 CTAs (along m), of the leader CTA of each pair", b, "explain: where bytes count")
  tap.like("         8192  b.tma_load by load: 2048 bytes x 4 CTAs", b, "explain: whose bytes a phase has")
  tap.like("            2  b.release by mma: 1 thread x 2 CTAs", b, "explain: whose commits")
  tap.like("one lane of each warp (4 warps) arrives on acc_empty of the leader CTA (v = 0)", acc, "explain: where threads release")
  tap.like("            8  acc.release by store: 4 warps x 2 CTAs", acc, "explain: whose releases")
  tap.like("one thread waits on acc_empty; the first 2 pass at once, in leader CTAs only", acc, "explain: who waits")
  tap.is(nil, (b .. acc):match "these make", "explain: the sums agree")
  tap.like("to b_full of the leader CTA of every pair served", report.text, "the report: where bytes count")
  tap.like("acc.acquire: waits on acc_empty, in leader CTAs only", report.text, "the report: who waits")
end

tap.done()
