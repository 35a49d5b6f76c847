#!/usr/bin/env lua5.4
-- sm_100a: GEMMs on tensor memory, proved, run in the simulator, compiled by NVRTC; what happens when a fence, a wait or a commit is
-- missing; what is refused, and by what name. No such GPU has run any of it: docs/blackwell.md.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local s = require "sm100a"
local P = weir.pipeline
local unchecked = "model not checked on hardware"

local check = s.check

-- ---- GEMMs --------------------------------------------------------------------------------------------------------------------------
local cases = {
  { "K02: 128 x 256, two stages of sums", { n = 256, registers = true } },
  { "64 rows: the lower lanes of each quarter", { m = 64, n = 24 } },
  { "128 x 16, one stage of everything", { n = 16, stages = 1, sums = 1, group = "none" } },
  { "merge, relu", { group = "merge", relu = true } },
  { "staged, two chunks", { n = 128, store = "staged" } },
  { "f32 results", { out = "f32" } },
  { "f16", { dtype = "f16", out = "f16" } },
  { "tf32", { dtype = "tf32", k = 32, out = "f32" } },
  { "e4m3", { dtype = "e4m3", k = 128, out = "f32" } },
  { "e5m2, merge", { dtype = "e5m2", k = 128, out = "bf16", group = "merge" } },
  { "A stored transposed", { ta = true } },
  { "B stored transposed, two panels", { tb = true, n = 128 } },
  { "swizzle 64", { k = 32, swizzle = 64 } },
  { "swizzle 32", { k = 16, swizzle = 32 } },
  { "K of two panels", { k = 128, stages = 2 } },
  { "A by threads, B by TMA: merge", { a = "threads", group = "merge" } },
  { "A by cp.async, B by TMA: fused merge", { a = "cp_async" } },
  { "both by threads", { a = "threads", b = "threads", group = "none" } },
  { "a warpgroup whose first thread issues", { issue = 4 } },
  { "one tile a CTA", { queue = "grid" } },
  { "tiles drawn from a counter", { queue = "atomic" } },
  { "two warpgroups store in turn", { store_lanes = 2, store = "staged", grid = 1 } },
  { "cluster of 2 along m: B is multicast", { cluster = { 2, 1 } } },
  { "cluster of 2 along n: A is multicast", { cluster = { 1, 2 }, group = "none" } },
  { "cluster of 2 x 2: row and column", { cluster = { 2, 2 } } },
}
for _, c in ipairs(cases) do
  local name, o = c[1], c[2]
  check(name, s.gemm(o), function(p, dev) return s.run_gemm(p, o, dev, 150, 72, 130) end)
end
tap.like("PROVE-PARITY", s.gemm({ store_lanes = 2, sums = 3 }):verify().text, "lanes that meet on the stages of three need an order")
for _, what in ipairs { "residual", "fork" } do
  for _, by in ipairs { "tma", "threads" } do
    check(("%s, %s"):format(what, by), s[what](by), function(p, dev) return s.run_groups(p, what, dev, 150, 40, 130) end)
  end
end

for _, c in ipairs { { "sums as operand: umma_umma", {} }, { "in one task", { one = true } }, { "one stage, a fork to threads", { fork = true, sums = 1 } } } do
  local o = c[2]
  o.grid = 2
  check("chain: " .. c[1], s.chain(o), function(p, dev) return s.run_chain(p, o, dev, 300, 30, 90, 100) end)
end

do -- a value of twelve parts of the sums
  local k = weir.kernel { name = "parts", arch = "sm_100a" }
  local function operand(name) return k:gmem_tile { name = "g" .. name, tensor = k:tensor { name = name, dtype = "bf16", shape = { 128, 64 } }, tile = { 128, 64 } },
    k:smem_tile { name = "s" .. name, dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } } end
  local ga, a = operand "A"
  local gb, b = operand "B"
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 128, 8 }, out = true }, tile = { 128, 8 } }
  local acc = k:tmem_tile { name = "acc", tile = { 128, 128 }, pipeline = P.umma_async { stages = 1 } }
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    acc:wait()
    local sums, all = acc:read(), 0
    for c = 0, 11 do all = all + sums:cols(8 * c, 8):load() * (c + 1) end
    y:store(all, y:at(0, 0))
    acc:release()
  end }
  k:task { name = "load", warps = { 4, 1 }, schedule = function() a:acquire(); a:tma_load(ga:at(0, 0)); a:commit(); b:acquire(); b:tma_load(gb:at(0, 0)); b:commit() end }
  k:task { name = "mma", warps = { 5, 1 }, schedule = function() acc:acquire(); acc:zero(); a:wait(); b:wait(); acc:mma(a:read(), b:read()); a:release(); b:release(); acc:commit() end }
  check("a value of twelve parts of the sums", k, function(p, dev)
    local x, z, bad = {}, {}, 0
    for i = 1, 128 * 64 do x[i], z[i] = i * 7 % 5 - 2, i * 11 % 7 - 3 end
    local out = dev:tensor { dtype = "f32", shape = { 128, 8 } }:fill(-1)
    local ok, why = p:launch({ A = dev:tensor { dtype = "bf16", shape = { 128, 64 } }:set(x), B = dev:tensor { dtype = "bf16", shape = { 128, 64 } }:set(z), Y = out }, { device = dev, grid = 1 })
    if not ok then return false, why end
    local seen = out:get()
    for i = 0, 127 do for j = 0, 7 do
      local want = 0
      for c = 0, 11 do for q = 1, 64 do want = want + (c + 1) * x[i * 64 + q] * z[(8 * c + j) * 64 + q] end end
      if seen[i * 8 + j + 1] ~= want then bad = bad + 1 end
    end end
    return bad == 0, bad > 0 and bad .. " wrong" or ""
  end)
end

do -- integers: the sums are exact, whatever the order
  local o, dev = { out = "f32", n = 32 }, weir.device("sim", { seed = 9 })
  local p = s.gemm(o):build { device = dev }
  local m, n, k = 130, 40, 200
  local x, y = {}, {}
  for i = 1, m * k do x[i] = i * 7 % 13 - 6 end
  for i = 1, n * k do y[i] = i * 5 % 11 - 5 end
  local a, b = dev:tensor { dtype = "bf16", shape = { m, k } }:set(x), dev:tensor { dtype = "bf16", shape = { n, k } }:set(y)
  local d = dev:tensor { dtype = "f32", shape = { m, n } }:fill(0 / 0)
  tap.is(true, p:launch { A = a, B = b, D = d }, "integers: runs")
  tap.is(true, dev:sync(), "integers: to its end")
  local z, wrong = d:get(), 0
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local sum = 0
      for q = 1, k do sum = sum + x[i * k + q] * y[j * k + q] end
      if z[i * n + j + 1] ~= sum then wrong = wrong + 1 end
    end
  end
  tap.is(0, wrong, "integers: every bit is right")
end

-- ---- the text -----------------------------------------------------------------------------------------------------------------------
local function role(source, task)
  local out = {}
  for _, row in ipairs(lab.role(source, task)) do
    row = row:gsub("^W_AT%(%d+%);%s*", "")
    if row ~= "" then out[#out + 1] = row end
  end
  return out
end
local function from(rows, first, last)
  local out
  for _, row in ipairs(rows) do
    if not out and row:find(first, 1, true) == 1 then out = {} end
    if out then out[#out + 1] = row end
    if out and row:find(last, 1, true) == 1 then return out end
  end
  error("no " .. first)
end
local program = s.gemm():build { device = lab.device() }
local source = program:source()
tap.is({
  "w_mbar_wait(acc_empty + acc_stage * 8, acc_phase);", "w_tcgen05_after();", "acc_at = acc_stage;",
  "if (++acc_stage == 2) { acc_stage = 0; acc_phase ^= 1; }", "acc_live = 0;", "const i32 i0_end = w_ceil_div(K, 64);",
  "for (i32 i0 = 0; i0 < i0_end; i0++) {",
  "w_mbar_wait(ab_full + ab_stage * 8, ab_phase);", "w_tcgen05_after();", "ab_at = ab_stage;", "if (++ab_stage == 3) { ab_stage = 0; ab_phase ^= 1; }",
  "{", "const u64 a = w_umma_desc(a_smem + ab_at * 16384, 16, 1024, 2);", "const u64 b = w_umma_desc(b_smem + ab_at * 8192, 16, 1024, 2);",
  "#pragma unroll", "for (int kk = 0; kk < 4; kk++)", "w_umma_f16(acc_tmem + acc_at * 64, a + kk * 2, b + kk * 2, 0x08100490, acc_live | kk);", "}",
  "acc_live = 1;", "w_umma_commit(ab_empty + ab_at * 8);", "}", "w_umma_commit(acc_full + acc_at * 8);",
}, from(role(source, "mma"), "w_mbar_wait(acc_empty", "w_umma_commit(acc_full"), "the thread that issues: four mmas a step, one commit gives both operands back")
tap.like("columns of tensor memory; sm_100a: " .. unchecked, source, "the source says what it rests on")
tap.like("0x08400490", s.gemm { n = 256 }:build { device = lab.device() }:source(), "bf16, 128 x 256: the instruction descriptor of the ISA's fields")

do
  local k = s.gemm()
  k:verify()
  local layout = k:tmem_layout()
  tap.is({ { "acc", 0, 128, 64, 2 }, 128, 128 }, { { layout[1].name, layout[1].offset, layout[1].size, layout[1].stage_bytes, layout[1].stages },
    layout.total, layout.allocated }, "tmem_layout: columns")
  tap.like("[tmem-layout] TMEM Usage Report; sm_100a: " .. unchecked, k:print "smem", "print: tensor memory")
  k = s.gemm { n = 48, sums = 1, group = "none" }
  k:verify()
  tap.is({ 48, 64 }, { k:tmem_layout().total, k:tmem_layout().allocated }, "48 columns are laid out, 64 asked for")
end

do -- figures say it too
  local dev = weir.device("sim", { seed = 2 })
  local p = s.gemm():build { device = dev }
  local function tensor(rows, cols) return dev:tensor { dtype = "bf16", shape = { rows, cols } }:randn(1) end
  local timeline = assert(p:trace { A = tensor(128, 64), B = tensor(64, 64), D = tensor(128, 64) })
  for _, kind in ipairs { "svg", "perfetto" } do
    local path = os.tmpname()
    assert(timeline[kind](timeline, path))
    local f = assert(io.open(path))
    tap.like("sm_100a: " .. unchecked, f:read "a", kind .. ": the figure says what it rests on")
    f:close()
    os.remove(path)
  end
end

-- ---- edited by hand: the simulator stops ----------------------------------------------------------------------------------------------
local function found(name, edit, ...)
  local o = { n = 64, sums = 1, grid = 2 } -- three tiles a CTA: columns are used again
  lab.found(tap, name, 32, function(dev)
    local p = s.gemm(o):build { device = dev }
    local text = edit(p:source(), p)
    assert(text ~= p:source(), name)
    plan.run_text(p, text)
    return s.run_gemm(p, o, dev, 300, 72, 330)
  end, { ... })
end
local function gone(text, nth) return function(t) return lab.edit(t, text, "", nth) end end
local function becomes(a, b, nth) return function(t) return lab.edit(t, a, b, nth) end end
local function behind(mark, text) -- what stands first behind a mark goes
  return function(t)
    local at = assert(t:find(mark, 1, true))
    local a, b = t:find(text, at, true)
    return t:sub(1, a - 1) .. t:sub(b + 1)
  end
end
found("no fence behind the wait for sums", behind("w_mbar_wait(acc_full", "w_tcgen05_after();"), "[sim-tcgen05-fence]", "task 'store'", "after_thread_sync", unchecked)
found("no fence before the sums are given back", behind("w_mbar_wait(acc_full", "w_tcgen05_before();"), "[sim-tcgen05-fence]", "task 'mma'", "before_thread_sync")
found("no fence behind the wait for free columns", function(t)
  return behind("w_mbar_wait(ab_full", "w_tcgen05_after();")(behind("w_mbar_wait(acc_empty", "w_tcgen05_after();")(t))
end, "[sim-tcgen05-fence]", "task 'mma'", "after_thread_sync")
found("no wait for the sums", gone "w_mbar_wait(acc_full + 0, acc_phase);" and behind("task store", "w_mbar_wait(acc_full, acc_phase);"), "[sim-tmem]", "task 'store'")
found("no wait for free columns", behind("task mma", "w_mbar_wait(acc_empty, acc_phase);"), "task 'mma'", "an mma writes column")
found("no wait::ld", gone "w_tmem_wait_ld<32>(x0);", "[sim-tmem]")
found("a release by the thread, not by the tensor core", becomes("w_umma_commit(ab_empty + ab_at * 8);", "w_mbar_arrive(ab_empty + ab_at * 8);"), "an mma", "task 'load'")
found("sums committed by the thread", becomes("w_umma_commit(acc_full);", "w_mbar_arrive(acc_full);"), "[sim-tmem]", "its commit is missing")
found("no commit of the sums", gone "w_umma_commit(acc_full);", "[sim-deadlock]", "mbarrier 'acc_full'", "task 'mma'")
found("lanes of another quarter", gone " + (quarter * 32 << 16)", "[sim-tmem]", "tcgen05.ld of lane 0 by warp")
found("too few columns allocated", becomes("w_tmem_alloc(smem_base + 73792, 64)", "w_tmem_alloc(smem_base + 73792, 32)"), "[sim-tmem]", "which are not allocated")
found("48 columns allocated", becomes("w_tmem_alloc(smem_base + 73792, 64)", "w_tmem_alloc(smem_base + 73792, 48)"), "[sim-tmem]", "a power of two from 32 to 512")
found("columns taken to begin at 0", becomes("const u32 tmem = *(const u32 *)w_ptr(smem_base + 73792);", "const u32 tmem = 0;"), "[sim-tmem]")
found("tensor memory is not freed", gone "if (warp == 0) w_tmem_free(tmem, 64);", "[sim-tmem]", "tcgen05.dealloc is missing")
found("freed by another warp", becomes("if (warp == 0) w_tmem_free", "if (warp == 1) w_tmem_free"), "[sim-tmem]", "dealloc by warp 1 of what warp 0 allocated")
found("freed before the others are done", function(t)
  return lab.edit(t, "w_sync_cta();", "", 2)
end, "[sim-")
found("a descriptor of sm_90a", becomes("w_umma_desc(a_smem", "w_desc(a_smem"), "[sim-descriptor]", "lacks bit 46")
found("another shape in the instruction descriptor", becomes("0x08100490", "0x08080490"), "[sim-tmem]", "no mma has written")
found("a shape that no mma has", becomes("0x08100490", "0x06100490"), "[sim-descriptor]", "96 rows")
found("an accumulator type that the simulator does not know", becomes("0x08100490", "0x08100480"), "[sim-descriptor]")

-- ---- actions taken out of the plan: the proof fails -------------------------------------------------------------------------------------
local function unsafe(name, kind, bar, nth, rule, part, make)
  local p = (make or function() return s.gemm { sums = 1 } end)():build { device = lab.device() }
  tap.is("SAFE", (plan.prove(p)), name .. ": whole")
  for _, n in ipairs(type(nth) == "table" and nth or { nth }) do plan.drop(p, lab.action(p, kind, bar, n)) end
  local verdict, findings = plan.prove(p)
  local rules = {}
  for _, f in ipairs(findings) do rules[#rules + 1] = f.rule .. ": " .. f.message end
  local text = table.concat(rules, "\n")
  tap.is("UNSAFE", verdict, name .. ": without it")
  tap.like(rule, text, name .. ": " .. rule)
  if part then tap.like(part, text, name .. ": " .. part) end
end
-- in the order of the source: prologue 1; store 2; mma 3, 4; exit 5
unsafe("fence behind the wait for sums", "tcgen05_after", nil, 2, "PROVE-PROXY", "reads tensor memory of 'acc', which the mma of 'mma' has written: no tcgen05.fence::after_thread_sync")
unsafe("fences behind the waits for free columns and for operands", "tcgen05_after", nil, { 4, 3 }, "PROVE-PROXY", "the mma of 'mma' writes tensor memory of 'acc'")
unsafe("fence at the end", "tcgen05_after", nil, 5, "PROVE-PROXY", "the release of tensor memory")
unsafe("fence before the CTA's barrier", "tcgen05_before", nil, 1, "PROVE-PROXY", "before_thread_sync")
unsafe("fence before the sums are given back", "tcgen05_before", nil, 2, "PROVE-PROXY", "before_thread_sync")
unsafe("the wait for sums", "wait", "acc_full", 1, "PROVE-")
unsafe("the wait for free columns", "wait", "acc_empty", 1, "PROVE-")
unsafe("the commit of the operands", "tcgen05_commit", "ab_empty", 1, "PROVE-DEADLOCK")
unsafe("the commit of the sums", "tcgen05_commit", "acc_full", 1, "PROVE-DEADLOCK")
unsafe("the barrier before tensor memory is freed", "cta_sync", nil, 2, "PROVE-RACE", "the release of tensor memory")
unsafe("the barrier behind the allocation", "cta_sync", nil, 1, "PROVE-RACE")
for _, one in ipairs { false, true } do
  local function chain() return s.chain { one = one, sums = 1 } end
  unsafe("chain: the wait for the sums", "wait", "x_full", 1, "PROVE-RACE", "while an mma may still add to it", chain)
  unsafe("chain: the wait for free columns", "wait", "x_empty", 1, "PROVE-", nil, chain)
end
do -- operands given back before the mma
  local p = s.gemm { sums = 1 }:build { device = lab.device() }
  plan.swap(p, lab.action(p, "mma_issue"), lab.action(p, "tcgen05_commit", "ab_empty"))
  local verdict, findings = plan.prove(p)
  tap.is({ "UNSAFE", "PROVE-ASYNC-READ" }, { verdict, findings[1] and findings[1].rule }, "operands given back before the mma")
end

-- ---- refusals ---------------------------------------------------------------------------------------------------------------------------
local function refused(name, make, ...)
  local report = make():verify()
  tap.is(false, report.ok, name .. ": refused")
  for _, part in ipairs { ... } do tap.like(part, report.text, name .. ": " .. part) end
end
refused("K may be 0", function()
  local k = s.gemm()
  k:close()
  return s.gemm { zero_k = true }
end, "[PLAN-ZERO]", "commits 'acc' where no mma may have followed zero()", 'k:dim(name, { min = 1 })')
refused("rows of no mma", function() return s.gemm { m = 96 } end, "[PLAN-TILE]", "96 rows; an mma of one CTA has 64 or 128")
refused("columns of no mma", function() return s.gemm { n = 24 } end, "[PLAN-TILE]", "24 columns; with 128 rows an mma has a multiple of 16, up to 256")
refused("an operand without swizzle", function() return s.gemm { k = 16, swizzle = 0 } end, "use swizzle")
refused("more columns than there are", function() return s.gemm { n = 256, sums = 3 } end, "[V-TMEM-01]", "the tmem_tiles take 768 columns")

local function copy(arch, body)
  local k = weir.kernel { name = "c", arch = arch }
  local N = k:dim("N", { min = 1 })
  local X, Y = k:tensor { name = "X", dtype = "bf16", shape = { N, 64 } }, k:tensor { name = "Y", dtype = "bf16", shape = { N, 64 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
  body(k, gx, gy)
  return k
end
refused("wgmma", function()
  return copy("sm_100a", function(k, gx, gy)
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }
    local acc = k:wgmma_tile { name = "acc", tile = { 64, 64 } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(gx:at(0, 0)); a:commit() end }
    k:task { name = "mma", warps = { 4, 4 }, schedule = function()
      acc:zero(); a:wait(); acc:mma(a:read(), a:read()); acc:drain(); a:release(); gy:store(acc:read(), gy:at(0, 0))
    end }
  end)
end, "[PLAN-ARCH]", "acc:mma is wgmma, which sm_100a lacks; sm_90a has it", "k:tmem_tile")
refused("TMA on sm_80", function()
  return copy("sm_80", function(k, gx, gy)
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, pipeline = P.tma_async { stages = 1 } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(gx:at(0, 0)); a:commit() end }
    k:task { name = "put", warps = { 4, 4 }, schedule = function() a:wait(); gy:store(a:read(), gy:at(0, 0)); a:release() end }
  end)
end, "a:tma_load is a TMA load, which sm_80 lacks; sm_90a and sm_100a have it")
refused("operands released by threads", function()
  return copy("sm_100a", function(k, gx, gy)
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }
    local acc = k:tmem_tile { name = "acc", tile = { 64, 64 }, pipeline = P.umma_async { stages = 1 } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(gx:at(0, 0)); a:commit() end }
    k:task { name = "mma", warps = { 1, 1 }, schedule = function()
      acc:acquire(); acc:zero(); a:wait(); acc:mma(a:read(), a:read()); a:release(); acc:commit()
    end }
    k:task { name = "put", warps = { 4, 4 }, schedule = function() acc:wait(); gy:store(acc:read(), gy:at(0, 0)); acc:release() end }
  end)
end, "[PLAN-UNSUPPORTED]", "whose release does not wait for the tensor core", "tma_umma or async_umma")
refused("readers of another place in the warpgroup", function()
  return copy("sm_100a", function(k, gx, gy)
    local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_umma { stages = 1 } }
    local acc = k:tmem_tile { name = "acc", tile = { 64, 64 }, pipeline = P.umma_async { stages = 1 } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() a:acquire(); a:tma_load(gx:at(0, 0)); a:commit() end }
    k:task { name = "mma", warps = { 1, 1 }, schedule = function()
      acc:acquire(); acc:zero(); a:wait(); acc:mma(a:read(), a:read()); a:release(); acc:commit()
    end }
    k:task { name = "put", warps = { 2, 4 }, schedule = function() acc:wait(); gy:store(acc:read(), gy:at(0, 0)); acc:release() end }
  end)
end, "[PLAN-WARPS]", "task 'put' reads 'acc' in tensor memory and has warps 2 to 5", "start at a multiple of 4 and take 4 warps")
refused("sums as operand beside bf16", function() return s.chain { c = "bf16" } end, "[PLAN-TILE]",
  "a is the f32 sums of 'x' and b is bf16; only tf32 can follow", "umma_async, then async_umma")
-- The tensor core's last arrivals: a commit behind the sums that are waited for is one that nobody else waits for, so the task does, for one
-- behind it at an mbarrier of its own. Only where it may be the last.
local function ends(name, o, wait, commit)
  local report, k = s.late(o):verify(), s.late(o)
  tap.is("SAFE", report.proof.verdict, name .. ": safe")
  tap.unlike("commit", report.proof.text, name .. ": nothing on trust")
  tap[wait and "like" or "unlike"]("mma_done", k:print "barriers", name .. ": an mbarrier of the task's own")
  local sim = weir.device("sim", { seed = 8 })
  local built = k:build { device = sim }
  if wait then
    local at = assert(built:source():find(commit, 1, true), name .. ": " .. commit)
    tap.like(wait, built:source():sub(at), name .. ": the wait behind it")
  end
  tap.is({ true, "" }, { s.run_late(built, o, sim) }, name .. ": the simulator")
end
do -- tensor memory is set up before the wait for the launch before, by nobody's op
  local proof = s.gemm({ pdl = true }):verify().proof
  tap.is("SAFE", proof.verdict, "a wait for the launch before")
  tap.unlike("which is accessed before the wait", proof.text, "... which all that stores comes behind")
end
for v = 1, 2 do
  local wait = "w_mbar_wait(mma_done, 0);"
  local commit = v == 1 and "w_umma_commit(mma_done);" or "w_umma_commit_pair(mma_done, (u16)(0x1 << (rank)));"
  local with = (", v = %d"):format(v)
  ends("operands given back before the sums are committed" .. with, { v = v }, false)
  ends("one of them behind" .. with, { v = v, behind = true }, wait, commit)
  s.check("one of them behind, compiled" .. with, s.late { v = v, behind = true }, function(p, dev) return s.run_late(p, {}, dev) end)
  ends("one of them behind, in the last step" .. with, { v = v, behind = true, steps = 3 }, wait, commit)
  ends("the sums committed in the last step of a loop" .. with, { v = v, commit = "last", steps = 3 }, false)
  ends("behind the sums, but where more sums always follow" .. with, { v = v, behind = true, more = "always" }, false)
  ends("behind the sums, where more may follow" .. with, { v = v, behind = true, more = "perhaps" }, wait, commit)
  ends("work of the task's threads besides, behind the sums" .. with, { v = v, behind = true, beside = true }, wait, commit)
end
do -- two warps of the task take the stages in turn; that their mmas have no sums to hand over is refused elsewhere
  local k = weir.kernel { name = "lanes", arch = "sm_100a" }
  local N = k:dim("N", { multiple = 2 })
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "u8", shape = { k:dim "W" } }, tile = { 64 } }
  local a = k:smem_tile { name = "a", dtype = "u8", tile = { 64 }, pipeline = P.tma_umma { stages = 2, interleave = { 1, 1, 2, 2 } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do a:acquire(); a:tma_load(x:at(0)); a:commit() end end }
  k:task { name = "mma", warps = { 1, 2 }, schedule = function() for _ in weir.domain_loop(0, N) do a:wait(); a:release() end end }
  local b = k:smem_tile { name = "b", dtype = "u8", tile = { 64 }, pipeline = P.tma_umma { stages = 2 } }
  k:task { name = "load_b", warps = { 3, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do b:acquire(); b:tma_load(x:at(0)); b:commit() end end }
  k:task { name = "more", warps = { 4, 1 }, schedule = function() for _ in weir.domain_loop(0, N) do b:wait(); b:release() end end }
  local text = k:print "barriers"
  tap.like(" 2  one commit of each of 2 warps at its end", text:match "mma_done[^\n]*", "the mbarrier of a task whose warps are lanes")
  tap.like(" 1  one commit at the task's end", text:match "more_done[^\n]*", "another task's")
end

do -- each number is listed
  local f = assert(io.open "docs/blackwell.md")
  local page = f:read "a"
  f:close()
  for row in io.lines "src/tcgen05.h" do
    for name in row:gmatch "(TC_[%u%d_]+)%s*= ?%d" do if not name:find "KIND" then tap.like("`" .. name .. "`", page, "docs/blackwell.md lists " .. name) end end
  end
end

tap.done()
