#!/usr/bin/env lua5.4
-- What the plan decides for the kernels of Hopper GEMMs and copies: bytes, offsets, arrive counts, group numbers, registers, boxes.
-- The numbers are those of the PTX and CUDA rules and of published kernels; they stand here as literals.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan

local function build(k) return k:build { device = lab.device() } end
local function fact(p, table, row, ...)
  local i = type(row) == "string" and lab.index(p, table, row) or row
  local out = {}
  for j, f in ipairs { ... } do out[j] = plan.get(p, table, i, f) end
  return out
end
-- The nth barrier's count, by name.
local function counts(p)
  local out = {}
  for _, row in ipairs(lab.rows(p, "bars", "name", "count")) do out[row.name] = row.count end
  return out
end
-- The numbers of all actions of a kind, in source order.
local function numbers(p, kind, field)
  local out = {}
  for _, row in ipairs(lab.rows(p, "action", "kind", field)) do
    if row.kind == kind then out[#out + 1] = row[field] end
  end
  return out
end

-- ---- the GEMM of the main job: 128 x 256 x 64, two math warpgroups, four stages, cluster of 2 x 1 --------------------------------------------
local main = build(lab.gemm { warpgroups = 2, n = 256, stages = 4, cluster = 2, load_registers = 40, mma_registers = 232 })
tap.is({ 0, 65536, 16384, 1024 }, fact(main, "smem", "a", "offset", "size", "stage_bytes", "align"), "A: 128 x 64 bf16 is 16384 bytes a stage, at the swizzle's 1024")
tap.is({ 65536, 131072, 32768, 1024 }, fact(main, "smem", "b", "offset", "size", "stage_bytes", "align"), "B: 256 x 64 bf16 is 32768 bytes a stage")
tap.is({ 196608, 32768, 16384, 1024 }, fact(main, "smem", "stage", "offset", "size", "stage_bytes", "align"), "staging: 128 x 64 bf16, twice")
tap.is({ 229376, 64, 229440, 232448 }, fact(main, "plan", 0, "smem_data", "smem_barrier", "smem_total", "smem_capacity"), "229376 bytes of data, 8 mbarriers, of 227 KiB")
tap.is({ 229376, 8 }, fact(main, "plan", 0, "barrier_offset", "nbarriers"), "the mbarriers lie behind the data")
tap.is({ ab_full = 2, ab_empty = 4 }, counts(main), "full: one arrival per armed member; empty: 2 warpgroups x 2 CTAs")
tap.is({ { 0, 4, 229376, 49152 }, { 4, 4, 229408, 0 } }, { fact(main, "bars", "ab_full", "first", "stages", "offset", "tx"), fact(main, "bars", "ab_empty", "first", "stages", "offset", "tx") },
  "four of each; 49152 bytes land in a stage")
tap.is({ 384, 12, 2, true }, fact(main, "plan", 0, "threads", "warps", "cluster", "persistent"), "384 threads, a cluster of 2, persistent")
tap.is({ 168, 40, 232, 232 }, fact(main, "plan", 0, "entry_registers", "reg_split0", "reg_split1", "reg_split2"), "168 at entry; 40 + 232 + 232 is 3 x 168")
tap.is({ 16384, 32768 }, numbers(main, "expect_tx", "bytes"), "every CTA arms the whole tiles that it receives")
tap.is({ 16384, 16384 }, numbers(main, "bulk_issue", "bytes"), "and issues its half of B")
tap.is({ 0, 1 }, numbers(main, "bulk_issue", "targets"), "A for itself, B along m")
tap.is({ 1, 1 }, numbers(main, "arrive", "targets"), "releases go along m")
tap.is({ 1, 0 }, numbers(main, "mma_wait", "n"), "wgmma.wait_group 1 in the loop, 0 behind it")
tap.is({ 1, 1, 1, 1, 0 }, numbers(main, "bulk_wait", "n"), "bulk wait_group 1 before a staging tile of two, 0 at the end")
tap.is({ true, true, true, true, false }, numbers(main, "bulk_wait", "read"), "reads alone, but at the end")
tap.is({ { 64, 128, 128 }, { 64, 128, 128 }, { 64, 64, 128 } }, { fact(main, "tmaps", "A_map", "box0", "box1", "swizzle"), fact(main, "tmaps", "B_map", "box0", "box1", "swizzle"),
  fact(main, "tmaps", "D_map", "box0", "box1", "swizzle") }, "boxes: 64 x 128 of A, half of B's 256 rows, 64 x 64 of D for each warpgroup")
tap.is({ 1, 128, 16384 }, fact(main, "copies", 1, "slice_axis", "slice_elems", "slice_bytes"), "a CTA's half of B: 128 rows, 16384 bytes on")
tap.is({ 1, 64, 8192 }, fact(main, "copies", 2, "wg_axis", "wg_elems", "wg_bytes"), "a warpgroup's share of the store: 64 rows, 8192 bytes on")
tap.is({ 64, 256, 1, 128 }, fact(main, "regs", 0, "rows", "cols", "frags", "per_thread"), "128 sums in a thread")
tap.is({ { id = 1, threads = 128 }, { id = 2, threads = 128 } }, lab.rows(main, "named", "id", "threads"), "a named barrier for each math warpgroup; 0 is __syncthreads")
tap.is({ "A_map", "B_map", "D_map", "M", "N", "K" }, (function() local o = {} for i, r in ipairs(lab.rows(main, "params", "name")) do o[i] = r.name end return o end)(), "parameters: maps, then sizes")
tap.is({ { true, 1 }, { false, 2 } }, { fact(main, "tasks", 0, "solo", "actors"), fact(main, "tasks", 1, "solo", "actors") }, "one thread loads, two warpgroups multiply")
tap.is({ 0, 2, true, true }, fact(main, "cursors", 1, "held_min", "held_max", "needs_held", "split_close"), "a lag of one: two stages held at most, counted at run time")

-- ---- its variants --------------------------------------------------------------------------------------------------------------------------
local function gemm(o)
  o.warpgroups, o.n = o.warpgroups or 2, o.n or 256
  return build(lab.gemm(o))
end
tap.is({ 147456, 196608 }, { plan.get(gemm { stages = 3, epilogue = "plain" }, "plan", 0, "smem_data"), plan.get(gemm { stages = 4, epilogue = "plain" }, "plan", 0, "smem_data") },
  "3 and 4 stages of 49152 bytes")
for grain, count in pairs { thread = 256, warp = 8, warpgroup = 2 } do
  tap.is({ ab_full = 2, ab_empty = count }, counts(gemm { grain = grain }), ("release by %s: %d arrivals"):format(grain, count))
end
tap.is({ ab_full = 1, ab_empty = 2 }, counts(gemm { fold = true }), "folded: one arrival arms both members")
tap.is({ 49152 }, numbers(gemm { fold = true }, "expect_tx", "bytes"), "with their sum")
do -- registers where nobody asks: a loader by TMA gives up most of its own, threads that copy keep some, and so does who issues many boxes
  local function split(n, o)
    local k = weir.kernel { name = "split", arch = "sm_90a" }
    local K = k:dim "K"
    local X = k:tensor { name = "X", dtype = "bf16", shape = { 128, K } }
    local Z = k:tensor { name = "Z", dtype = "bf16", shape = { n, K } }
    local Y = k:tensor { name = "Y", dtype = "f32", shape = { 128, n }, out = true }
    local gx, gz, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 128, 128 } }, k:gmem_tile { name = "gz", tensor = Z, tile = { n, 128 } },
      k:gmem_tile { name = "gy", tensor = Y, tile = { 128, n } }
    local pipe = weir.pipeline[o.threads and "async_async" or "tma_async"] { stages = 1 }
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 128 }, swizzle = o.swizzle or 128, pipeline = pipe }
    local b = k:smem_tile { name = "b", dtype = "bf16", tile = { n, 128 }, swizzle = o.swizzle or 128, pipeline = pipe }
    local acc = k:wgmma_tile { name = "acc", tile = { 128, n } }
    k:task { name = "load", warps = { 8, o.threads and 4 or 1 }, schedule = function()
      for i in weir.domain_loop(0, weir.ceil_div(K, 128)) do
        for _, s in ipairs { { a, gx }, { b, gz } } do
          s[1]:acquire()
          if o.threads then s[1]:store(s[2]:at(0, i)) else s[1]:tma_load(s[2]:at(0, i)) end
          s[1]:commit()
        end
      end
    end }
    k:task { name = "mma", warps = { 0, 8 }, schedule = function()
      acc:zero()
      for _ in weir.domain_loop(0, weir.ceil_div(K, 128)) do a:wait(); b:wait(); acc:mma(a:read(), b:read()); acc:drain(); a:release(); b:release() end
      gy:store(acc:read(), gy:at(0, 0))
    end }
    local p = build(k)
    return { fact(p, "tasks", 0, "registers")[1], fact(p, "tasks", 1, "registers")[1] }
  end
  tap.is({ 40, 232 }, split(64, {}), "registers: loads by TMA, sums in 32")
  tap.is({ 56, 224 }, split(64, { swizzle = 32 }), "registers: each tile in eight boxes")
  tap.is({ 128, 184 }, split(64, { threads = true }), "registers: threads copy")
  tap.is({ 120, 192 }, split(160, { threads = true }), "registers: threads copy beside sums in 80")
  tap.is({ 40, 232 }, split(256, { threads = true }), "registers: threads copy beside sums in 128, which come first")
end
do -- where two tasks arm, or threads fill a member, there is nothing to fold
  local function folded(types, tasks)
    local k = weir.kernel { name = "folded", arch = "sm_90a" }
    local X = k:tensor { name = "X", dtype = "f32", shape = { 8, 32 } }
    local g = k:gmem_tile { name = "g", tensor = X, tile = { 8, 32 } }
    local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 8, 32 }, out = true }, tile = { 8, 32 } }
    local m, put = {}, {}
    for i, t in ipairs(types) do m[i] = k:smem_tile { name = "m" .. i, dtype = "f32", tile = { 8, 32 }, pipeline = weir.pipeline[t] { stages = 1 } } end
    local ab = k:group { name = "ab", mode = "fused_merge", members = m, fold = true }
    for i, t in ipairs(types) do
      local s = ab:member("m" .. i)
      put[i] = function() s:acquire(); if t == "tma_async" then s:tma_load(g:at(0, 0)) else s:store(g:at(0, 0)) end s:commit() end
    end
    for i = 1, tasks do k:task { name = "fill" .. i, warps = { i - 1, 1 }, schedule = function() for j = i, tasks > 1 and i or #types do put[j]() end end } end
    k:task { name = "get", warps = { 4, 1 }, schedule = function() ab:wait(); y:store(ab.m1:read():load() + ab.m2:read():load(), y:at(0, 0)); ab:release() end }
    local p = build(k)
    return { p.report.proof.verdict, counts(p).ab_full }
  end
  tap.is({ "SAFE", 1 }, folded({ "tma_async", "tma_async" }, 1), "fold: one task arms both")
  tap.is({ "SAFE", 2 }, folded({ "tma_async", "tma_async" }, 2), "fold: two tasks arm one each")
  tap.is({ "SAFE", 2 }, folded({ "async_async", "tma_async" }, 1), "fold: threads fill the first")
  tap.is({ "SAFE", 2 }, folded({ "tma_async", "async_async" }, 1), "fold: threads fill the second")
end
tap.is({ ab_empty = 2, ab_a_full = 1, ab_b_full = 1 }, counts(gemm { group = "merge" }), "merge: a full barrier for each member")
tap.is({ a_full = 1, a_empty = 2, b_full = 1, b_empty = 2 }, counts(gemm { group = "none" }), "no group: four runs of barriers")
tap.is({ a_full = 1, a_empty = 2, b_full = 1, b_empty = 4 }, counts(gemm { group = "none", cluster = 2 }), "cluster 2 x 1: B's stages are released to both CTAs, A's to the own one")
tap.is({ a_full = 1, a_empty = 4, b_full = 1, b_empty = 4 }, counts(gemm { group = "none", cluster = 2, cluster_n = 2 }), "cluster 2 x 2, separate: 4 and 4")
tap.is({ ab_full = 2, ab_empty = 6 }, counts(gemm { cluster = 2, cluster_n = 2 }), "cluster 2 x 2, together: (2 + 2 - 1) x 2")
tap.is({ ab_full = 2, ab_empty = 8 }, counts(gemm { cluster = 4 }), "cluster 4 x 1: 4 x 2")
tap.is({ 16384, 8192 }, numbers(gemm { cluster = 4 }, "bulk_issue", "bytes"), "of B a quarter each")
tap.is({ 8192, 32768 }, numbers(gemm { cluster_n = 2 }, "bulk_issue", "bytes"), "cluster 1 x 2: of A a half each")
do
  local p = gemm { stages = 4, staging = 32 }
  tap.is({ 16384, 8192, 512 }, fact(p, "smem", "stage", "size", "stage_bytes", "align"), "staging of 128 x 32: 8192 bytes twice, 64-byte swizzle, aligned to 512")
  tap.is({ 212992, 64, 213056 }, fact(p, "plan", 0, "smem_data", "smem_barrier", "smem_total"), "212992 bytes and 64 of barriers")
  tap.is({ 32, 64, 64 }, fact(p, "tmaps", "D_map", "box0", "box1", "swizzle"), "its box: 32 x 64, 64-byte swizzle")
  tap.is(9, #numbers(p, "bulk_wait", "n"), "eight stores of 32 columns, and the last wait")
end
tap.is(0, numbers(gemm { lag = 0 }, "mma_wait", "n")[1], "no lag: wgmma.wait_group 0 in the loop")
tap.is({ 2, 0 }, numbers(gemm { lag = 2, stages = 4, n = 128 }, "mma_wait", "n"), "a lag of two")
tap.is({ 3 }, { plan.get(gemm { lag = 2, stages = 4, n = 128 }, "cursors", 1, "held_max") }, "holds three stages")
tap.is({ 168, 24, 240, 240 }, fact(gemm { load_registers = 24, mma_registers = 240 }, "plan", 0, "entry_registers", "reg_split0", "reg_split1", "reg_split2"), "24 + 240 + 240 is 3 x 168 too")
tap.is({ 256, 255 }, fact(gemm { warpgroups = 1, n = 64 }, "plan", 0, "threads", "entry_registers"), "256 threads may have 255 registers each")
tap.is({ 512, 128 }, fact(gemm { warpgroups = 3, n = 64, stages = 2, load_registers = 32, mma_registers = 160 }, "plan", 0, "threads", "entry_registers"), "512 threads have 128 at entry")
tap.is({ 32, 160, 160 }, fact(gemm { warpgroups = 3, n = 64, stages = 2, load_registers = 32, mma_registers = 160 }, "plan", 0, "reg_split0", "reg_split1", "reg_split2"), "32 + 3 x 160 is 4 x 128")

-- ---- copies ------------------------------------------------------------------------------------------------------------------------------------
-- A row of 128 f16 by TMA, one stage, four warps read it: 256 bytes, released by one lane per warp, or by all 128 threads.
local function row_copy(pipeline)
  local k = weir.kernel { name = "rows", arch = "sm_90a" }
  local R, C = k:dim "R", k:dim "C"
  local X = k:tensor { name = "X", dtype = "f16", shape = { R, C } }
  local Y = k:tensor { name = "Y", dtype = "f16", shape = { R, C }, out = true }
  local wq = k:work_queue { name = "wq", kind = "grid", axes = { "c" }, extent = { weir.ceil_div(C, 128) } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 1, 128 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 1, 128 } }
  pipeline.stages = 1
  local s = k:smem_tile { name = "s", dtype = "f16", tile = { 1, 128 }, pipeline = weir.pipeline.tma_async(pipeline) }
  k:task { name = "put", warps = { 0, 4 }, registers = 160, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for r in weir.domain_loop(0, R) do s:wait(); gy:store(s:read(), gy:at(r, t.c)); s:release() end
      wq:next()
    end
  end }
  k:task { name = "load", warps = { 4, 1 }, registers = 40, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for r in weir.domain_loop(0, R) do s:acquire(); s:tma_load(gx:at(r, t.c)); s:commit() end
      wq:next()
    end
  end }
  return k
end
do
  local p = build(row_copy {})
  tap.is({ 0, 256, 256, 128 }, fact(p, "smem", "s", "offset", "size", "stage_bytes", "align"), "row copy: 256 bytes, aligned for TMA")
  tap.is({ 256, 16, 272, 256 }, fact(p, "plan", 0, "smem_data", "smem_barrier", "smem_total", "threads"), "256 bytes and two mbarriers; 5 warps are padded to 256 threads")
  tap.is({ s_full = 1, s_empty = 4 }, counts(p), "row copy: by warps")
  tap.is({ 128, 1, 0 }, fact(p, "tmaps", "X_map", "box0", "box1", "swizzle"), "row copy: its box")
  tap.is({ 256 }, numbers(p, "expect_tx", "bytes"), "row copy: its bytes")
  p = build(row_copy { bytes = 256, producers = 1, consumers = 128 })
  tap.is({ s_full = 1, s_empty = 128 }, counts(p), "row copy: consumers = 128 means every thread")
  p = build(row_copy { consumers = { 4, "warp" } })
  tap.is({ s_full = 1, s_empty = 128 }, counts(p), "row copy: { 4, \"warp\" } is 128 too")
  local report = row_copy { bytes = 512 }:verify {}
  tap.is(false, report.ok, "row copy: 512 bytes are not what the copies bring")
  tap.matches("256.*512", report.text, "and both numbers are named")
end
tap.is({ ring_full = 1, ring_empty = 4 }, counts(build(lab.thread_copy())), "copy by threads: a warp fills, four empty")
tap.is({ ring_full = 1, ring_empty = 8 }, counts(build(lab.thread_copy(3, 8))), "copy by threads: eight empty")
tap.is({ 1024, 32, 1056 }, fact(build(lab.thread_copy()), "plan", 0, "smem_data", "smem_barrier", "smem_total"), "copy by threads: two stages of 512 bytes, four mbarriers")

-- ---- whole scripts ---------------------------------------------------------------------------------------------------------------------------------
do
  local p = dofile "examples/gemm_staged.lua"
  tap.is({ ab_full = 2, ab_empty = 4 }, counts(p), "gemm_staged: counts")
  tap.is({ 229440, 384, 2 }, fact(p, "plan", 0, "smem_total", "threads", "cluster"), "gemm_staged: memory, threads, cluster")
  p = dofile "examples/fork_gemm_act.lua"
  tap.is({ b_full = 1, b_empty = 1, a_full = 1, a_a_mm_empty = 1, a_a_act_empty = 1 }, counts(p), "fork: one full barrier, an empty one for each member")
  tap.is({ 16384 }, { plan.get(p, "bars", lab.index(p, "bars", "a_full"), "tx") }, "fork: one load feeds both")
end

tap.done()
