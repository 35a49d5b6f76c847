#!/usr/bin/env lua5.4
-- The emitted text with one thing changed by hand: a parity, a byte count, a fence, an arrive, a wait, a stage. The simulator stops,
-- says what it is, and names the place: the author's line, the task, the barrier or tile.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local plan = lab.plan

-- Lines of t/lab.lua by a text that stands in them once.
local lines = {}
for row in io.lines "t/lab.lua" do lines[#lines + 1] = row end
local function at(text)
  for n, row in ipairs(lines) do
    if row:find(text, 1, true) then return ("t/lab.lua:%d: task '"):format(n) end
  end
  error("no line with " .. text)
end

-- The statement behind the marker of an action is replaced: "" leaves the marker alone. Function: what it becomes.
local function statement(kind, bar, to, nth)
  return function(source, p)
    local id = lab.action(p, kind, bar, nth)
    local text = lab.statement(source, id)
    local marker = "W_AT(" .. id .. "); "
    return lab.edit(source, marker .. text, marker .. (type(to) == "function" and to(text) or to))
  end
end
local function text(from, to, nth) return function(source) return lab.edit(source, from, to, nth) end end

-- Runs the edited text with a few seeds, as a hazard may need an order of its own; every `parts` must be in what one of them finds.
local function found(name, k, edit, run, ...)
  local p = k:build { device = lab.device() }
  local edited = edit(p:source(), p)
  assert(edited ~= p:source(), name .. ": the edit changes nothing")
  plan.run_text(p, edited)
  lab.found(tap, name, 6, function(dev) return run(p, dev) end, { ... })
end

local function gemm(o, m, n, k)
  return lab.gemm(o), function(p, dev) return lab.run_gemm(p, m or 64, n or 64, k or 330, { device = dev }) end
end
local function case(name, o, edit, ...)
  local k, run = gemm(o)
  found(name, k, edit, run, ...)
end

-- As it is, every form runs: what follows is due to the edit.
for _, o in ipairs { {}, { group = "none" }, { cluster = 2 }, { lag = 0 } } do
  local k, run = gemm(o)
  tap.is({ true, "" }, { run(k:build { device = lab.device() }, lab.device()) }, "unedited: right")
end

-- ---- parities -----------------------------------------------------------------------------------------------------------------------
local acquire, wait, use = at "ma:acquire()", at "ab:wait() else", at "acc:mma(" .. "mma'"
case("the producer's first parity", {}, text("u32 ab_phase = 1;", "u32 ab_phase = 0;"), "[sim-deadlock]", acquire .. "load'", "mbarrier 'ab_empty' stage 0, parity 0")
case("the consumer's first parity", {}, text("u32 ab_phase = 0;", "u32 ab_phase = 1;"), "[sim-uninit]", use, "'a' stage 0")
case("a parity not flipped at the end of the ring", {}, text("ab_stage = 0; ab_phase ^= 1;", "ab_stage = 0;"), "[sim-arrivals]", acquire .. "load'", "'ab_full' stage 0")
case("a parity flipped one stage early", {}, text("if (++ab_stage == 3) { ab_stage = 0; ab_phase ^= 1; }", "if (++ab_stage == 3) ab_stage = 0; if (ab_stage == 2) ab_phase ^= 1;", 2), "[sim-deadlock]", wait .. "mma'", "'ab_full' stage 2, parity 1")
case("a parity given to one wait", {}, statement("wait", "ab_full", function(t) return (t:gsub("ab_phase", "ab_phase ^ 1")) end), "[sim-uninit]", use, "'a' stage 0")

-- ---- bytes --------------------------------------------------------------------------------------------------------------------------
case("16 bytes more armed", {}, statement("expect_tx", "ab_full", function(t) return (t:gsub("8192", "8208")) end), "[sim-deadlock]", "mbarrier 'ab_full' stage 0, parity 0", "16 missing", wait .. "mma'")
case("16 bytes fewer armed", {}, statement("expect_tx", "ab_full", function(t) return (t:gsub("8192", "8176")) end), "[sim-tx]", "'ab_full' stage 0")
case("no bytes armed", {}, statement("expect_tx", "ab_full", function(t) return (t:gsub("8192", "0")) end), "[sim-early-read]", use, "has not finished filling it")
case("one CTA's bytes armed where both send", { cluster = 2 }, statement("expect_tx", "ab_full", function(t) return (t:gsub("8192", "4096")) end, 2), "[sim-early-read]", use, "from 'b' stage 0")
case("a load left out", {}, statement("bulk_issue", "ab_full", "", 2), "[sim-deadlock]", "mbarrier 'ab_full' stage 0, parity 0", "8192 missing")
case("a load twice", {}, statement("bulk_issue", "ab_full", function(t) return t .. " " .. t end, 2), "[sim-async-write]", "task 'load'", "'b' stage 0")
case("a load of the next tile's columns", {}, statement("bulk_issue", "ab_full", function(t) return (t:gsub("i0 %* 64", "i0 * 64 + 64")) end), "wrong numbers")

-- ---- arrives ------------------------------------------------------------------------------------------------------------------------
case("no arming", {}, statement("expect_tx", "ab_full", "", 2), "[sim-deadlock]", "mbarrier 'ab_full' stage 0, parity 0", "has 1 of 2 arrivals")
case("a release left out", {}, statement("arrive", "ab_empty", ""), "[sim-deadlock]", acquire .. "load'", "mbarrier 'ab_empty' stage 0, parity 0", "has 0 of 1 arrivals")
case("a release by all threads", {}, statement("arrive", "ab_empty", function(t) return (t:gsub("if %(wtid == 0%) ", "")) end), "[sim-lap]", acquire .. "load'", "mbarrier 'ab_empty' stage 0")
case("a release twice", {}, statement("arrive", "ab_empty", function(t) return t .. " " .. t end), "[sim-deadlock]", "mbarrier 'ab_empty' stage 0, parity 0: phase 2")
case("a release of the newest stage for the oldest", {}, statement("arrive", "ab_empty", function(t) return (t:gsub("ab_close", "ab_at")) end), "[sim-deadlock]", acquire .. "load'", "'ab_empty' stage 0")
case("a release to the own CTA alone", { cluster = 2 }, statement("arrive", "ab_empty", function(t) return (t:gsub("wtid < 2", "wtid < 1")) end), "[sim-deadlock]", "CTA 1, warp 0, lane 0: waits for mbarrier 'ab_empty' stage 0, parity 0: phase 0 has 0 of 2")
case("mbarriers that count one more", {}, text("w_mbar_init(mbar + 0 + 8 * lane, 1)", "w_mbar_init(mbar + 0 + 8 * lane, 2)"), "[sim-deadlock]", "mbarrier 'ab_empty' stage 0", "has 1 of 2 arrivals")
case("mbarriers that count one fewer", {}, text("w_mbar_init(mbar + 24 + 8 * lane, 2)", "w_mbar_init(mbar + 24 + 8 * lane, 1)"), "[sim-arrivals]", "mbarrier 'ab_full' stage 0")

-- ---- waits --------------------------------------------------------------------------------------------------------------------------
case("no acquire", {}, statement("wait", "ab_empty", ""), "[sim-arrivals]", acquire .. "load'", "mbarrier 'ab_full' stage 0")
case("no wait", {}, statement("wait", "ab_full", ""), use, "a wgmma reads A from 'a' stage 0")
case("no wait for one member", { group = "none" }, statement("wait", "b_full", ""), use, "a wgmma reads B from 'b' stage")
case("no drain before the release", { lag = 0 }, statement("mma_wait", nil, ""), "[sim-async-read]", acquire .. "load'", "'a' stage 0")
case("a drain one batch short", {}, statement("mma_wait", nil, "w_wgmma_wait<2>();"), "[sim-async-read]", acquire .. "load'", "'a' stage")
case("no drain before the epilogue", {}, statement("mma_wait", nil, "", 2), "[sim-accumulator]", at "stage:store(")
case("no commit of a batch", {}, statement("mma_commit", nil, ""), "[sim-async-read]", acquire .. "load'", "'a' stage 0")
case("the staging tile's wait left out", { n = 192 }, statement("bulk_wait", nil, "", 3), "[sim-async-read]", at "stage:store(", "'stage'")
case("the staging tile's wait one short", { n = 192 }, statement("bulk_wait", nil, "if (wtid == 0) w_bulk_wait_read<2>();", 3), "[sim-async-read]", "'stage'")
case("the last wait for stores left out", {}, statement("bulk_wait", nil, "", 2), "[sim-exit]", at "gd:tma_store(" .. "mma'", "the thread exits while its TMA store may still read")
case("the store's group not closed", {}, statement("bulk_commit", nil, ""), "[sim-exit]", at "gd:tma_store(" .. "mma'")
case("no barrier before the store", {}, statement("named_sync", nil, "", 2), "[sim-uninit]", at "gd:tma_store(" .. "mma'", "from 'stage' stage 0")
case("a named barrier of another count", {}, statement("named_sync", nil, "w_bar_sync(1, 160);"), "[sim-deadlock]", "named barrier 1: 128 of 160 threads have come")

-- ---- fences, order ------------------------------------------------------------------------------------------------------------------
case("no proxy fence", {}, statement("fence_async", nil, ""), "[sim-fence]", at "gd:tma_store(", "'stage'")
case("the proxy fence by one thread", {}, statement("fence_async", nil, "if (wtid == 0) w_fence_async();"), "[sim-fence]", "'stage'")
case("the store before the fence", {}, function(source)
  local store = source:match "W_AT%(31%); ([^\n]*)"
  return lab.edit(lab.edit(source, store, ";"), "W_AT(27); w_fence_async();", "W_AT(27); " .. store .. " w_fence_async();")
end, "[sim-uninit]", at "stage:store(" .. "mma'", "from 'stage' stage 0")
case("no wgmma fence", {}, statement("mma_fence", nil, ""), "[sim-wgmma]", use, "before any wgmma.fence")
case("no fence after the mbarriers' init", {}, text("w_fence_mbar_init();", ""), "[sim-bar-init]", "no fence.mbarrier_init since")
case("no CTA barrier after the mbarriers' init", {}, text("w_sync_cta();", ""), "[sim-bar-init]", "which is not initialised")
case("no cluster barrier at the exit", { cluster = 2 }, statement("cluster_wait", nil, "", 2), "[sim-exited]", "mbarrier 'ab_empty' stage", "which has exited")

-- ---- stages, addresses ----------------------------------------------------------------------------------------------------------------
case("the stage of the load", {}, statement("bulk_issue", "ab_full", function(t) return (t:gsub("a_smem %+ ab_stage", "a_smem + (ab_stage + 1) %% 3")) end), "[sim-early-read]", use, "a wgmma reads A from 'a' stage",
  "a copy that completes on mbarrier 'ab_full' stage")
case("the barrier of the load", {}, statement("bulk_issue", "ab_full", function(t) return (t:gsub("ab_full %+ ab_stage", "ab_full + (ab_stage + 1) %% 3")) end), "[sim-early-read]", use, "a wgmma reads A from 'a' stage 0",
  "a copy that completes on mbarrier 'ab_full' stage 1")
case("the stage of the operand", {}, text("w_desc(a_smem + ab_at * 8192", "w_desc(a_smem + (ab_at + 1) % 3 * 8192"), use, "a wgmma reads A from 'a' stage")
case("a stage of the operand off by 16 bytes", {}, text("w_desc(b_smem + ab_at * 8192", "w_desc(b_smem + 16 + ab_at * 8192"), use, "a wgmma reads B from 'b' stage")
case("a descriptor of another swizzle", {}, text("8192, 16, 1024, 1)", "8192, 16, 1024, 2)"), "wrong numbers")
case("another place in the staging tile", {}, text("at + ((j * 16u", "at + 16 + ((j * 16u"), "[sim-uninit]", at "gd:tma_store(" .. "mma'", "from 'stage' stage 0, byte 0")
case("the store's other stage", {}, statement("bulk_store", nil, function(t) return (t:gsub("stage_smem %+ stage_at", "stage_smem + (stage_at ^ 1)")) end), "[sim-uninit]", at "gd:tma_store(" .. "mma'", "from 'stage' stage 1")
case("a ring one stage shorter", {}, text("if (++ab_stage == 3)", "if (++ab_stage == 2)"), "[sim-deadlock]", "mbarrier 'ab_full' stage 2, parity 0")

-- ---- registers ------------------------------------------------------------------------------------------------------------------------
case("more registers than the pool has", { warpgroups = 2, n = 128 }, text("w_reg_inc<232>", "w_reg_inc<240>"), "[sim-deadlock]", "setmaxnreg.inc 240: it lacks 72 registers a thread, the CTA's pool has 40 free")
case("registers not given back", { warpgroups = 2, n = 128 }, text("w_reg_dec<40>();", ""), "setmaxnreg")

-- ---- threads alone --------------------------------------------------------------------------------------------------------------------
local function copies(name, edit, ...)
  found(name, lab.thread_copy(), edit, function(p, dev) return lab.run_copy(p, { 1500 }, { device = dev, grid = 1 }) end, ...)
end
copies("a copy: no warp sync before the arrive", statement("warp_sync", nil, ""), "[sim-uninit]", at "ring:wait(); out:put" .. "put'", "'ring' stage 0")
copies("a copy: no wait", statement("wait", "ring_full", ""), "[sim-uninit]", at "ring:wait(); out:put" .. "put'", "'ring' stage 0")
copies("a copy: no acquire", statement("wait", "ring_empty", ""), "[sim-race]", at "ring:acquire(); ring:fill" .. "load'", "a store to 'ring' stage 0", "a load by task 'put'")
copies("a copy: a release left out", statement("arrive", "ring_empty", ""), "[sim-deadlock]", at "ring:acquire(); ring:fill", "mbarrier 'ring_empty' stage 0, parity 0", "has 0 of 4 arrivals")
copies("a copy: one element past the tile", text("i < T; i += nthreads) smem[i]", "i <= T; i += nthreads) smem[i]"), "[sim-bar-write]", at "ring:acquire(); ring:fill" .. "load'", "'ring_full' stage 0")
copies("a copy: one element past the tensor", text("first + (i32)i < x_shape[0]", "first + (i32)i <= x_shape[0]"), "[sim-bounds]", "'x'")

tap.done()
