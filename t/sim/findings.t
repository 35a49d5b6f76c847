#!/usr/bin/env lua5.4
-- Each kind of finding has a kernel that shows it, and says what the author needs: who, where, what is missing.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local sm100a = require "sm100a"
local weir, plan = lab.weir, lab.plan

local shown, named = {}, {}                               -- rule -> true, name of a kernel -> rule
local function stops(name, rule, ok, message, ...)
  if ok then return tap.ok(false, ("%s: %s went through"):format(rule, name)) end
  message = tostring(message)
  shown[rule] = true
  named[name] = rule
  tap.like("[" .. rule .. "]", message, name .. ": " .. rule)
  for _, part in ipairs { ... } do tap.like(part, message, name .. ": " .. part) end
end

-- ---- one body --------------------------------------------------------------------------------------------------------------------------
-- 4 KiB of shared memory at `at`, x { 128 } to read, y { 128 } to write. o: threads = 128, cluster = 1, grid = cluster
local function kernel(code, o)
  local k = weir.kernel { name = "shows", arch = "sm_90a", cluster = { m = o.cluster or 1 } }
  local X = k:tensor { name = "x", dtype = "u32", shape = { 128 } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { 128 }, out = true }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 4096 }, bind = { x = X, y = Y },
    work = { run = weir.producer_work { code = "const u32 at = w_smem_base();\n" .. code } } }
  k:task { name = "one", warps = { 0, (o.threads or 128) // 32 }, schedule = function() s:run() end }
  return k
end
local function body(name, rule, code, o, ...)
  local p = kernel(code, o):build { device = lab.device() }
  if o.leaves then                                        -- without the barrier at the end
    for _, id in ipairs(plan.tree(p, "epilogue")) do plan.drop(p, id) end
    plan.run_text(p, plan.emit(p))
  end
  local ok, message
  for seed = 1, 4 do
    local dev = weir.device("sim", { seed = seed })
    local x, y = dev:tensor { dtype = "u32", shape = { 128 } }:fill(1), dev:tensor { dtype = "u32", shape = { 128 } }:fill(0)
    ok, message = p:launch({ x = x, y = y }, { device = dev, grid = o.grid or o.cluster or 1 })
    if not ok and tostring(message):find(rule, 1, true) then break end
  end
  if rule == "right" then return tap.ok(ok, name .. ": no finding " .. tostring(message)) end
  stops(name, rule, ok, message, ...)
end

local bar = "if (tid == 0) { w_mbar_init(at, 1); w_fence_mbar_init(); } task_sync();\n"
-- operands of m64n8k16, bf16, K-major without swizzle: 2 KiB and 256 bytes
local operands = "for (u32 i = tid; i < 1024; i += nthreads) ((u32 *)smem)[i] = 0; w_fence_async(); task_sync(); float d[4]; for (u32 i = 0; i < 4; i++) d[i] = 0;\n"
local mma = "w_wgmma_ss<8, W_BF16, 0, 0>(d, w_desc(at, 1024, 128, 0), w_desc(at + 2048, 128, 128, 0), 1); w_wgmma_commit();\n"
local done = "w_wgmma_wait<0>(); if (d[0] == 5.f) y[0] = 1;\n"

body("a wait that never ends", "sim-deadlock", bar .. "w_mbar_wait(at, 0);", {}, "task 'one', CTA 0, warps 0 to 3: waits for mbarrier at shared byte 0, parity 0: phase 0 has 0 of 1 arrivals")
body("an arrival too many", "sim-arrivals", bar .. "if (tid == 0) { w_mbar_expect(at, 16); w_mbar_arrive(at); }", {},
  "an arrival too many on mbarrier at shared byte 0 of CTA 0: all 1 of phase 0 have come, and 16 bytes are still to land")
body("more bytes than expected", "sim-tx", bar .. "if (tid == 0) { w_mbar_expect(at, 8); w_queue_fetch(at + 16, at, y, 0); w_mbar_wait(at, 0); }", {}, "16 bytes landed, 8 were expected")
body("fewer bytes than expected", "sim-deadlock", bar .. "if (tid == 0) { w_mbar_expect(at, 32); w_queue_fetch(at + 16, at, y, 0); w_mbar_wait(at, 0); }", {},
  "phase 0 has 1 of 1 arrivals, 16 bytes landed, 16 missing")
body("two phases behind", "sim-lap", bar .. [[
  if (tid == 32) w_mbar_arrive(at);
  if (tid == 0) w_mbar_wait(at, 0);
  task_sync(); if (tid == 32) for (u32 i = 0; i < 3; i++) w_mbar_arrive(at); task_sync();
  if (tid == 0) w_mbar_wait(at, 1);]], {}, "the wait is for phase 1, the barrier has completed phase 3 already")
body("a slot read without its wait", "sim-early-read", bar .. "if (tid == 0) { w_mbar_expect(at, 16); w_queue_fetch(at + 16, at, y, 0); y[1] = *(u32 *)(smem + 16); w_mbar_wait(at, 0); }", {},
  "a load of 's' byte 16")
body("a slot filled twice", "sim-async-write", bar .. "if (tid == 0) { w_mbar_expect(at, 32); w_queue_fetch(at + 16, at, y, 0); w_queue_fetch(at + 16, at, y, 0); w_mbar_wait(at, 0); }", {},
  "a fetch into 's' byte 16")
body("operands overwritten before the wait", "sim-async-read", operands .. "w_wgmma_fence();" .. mma .. "((u32 *)smem)[tid] = 1;" .. done, {},
  "a store to 's' byte", "a wgmma (t/sim/findings.t:", "still reads it: the wait before this write is missing")
body("no proxy fence", "sim-fence", operands:gsub("w_fence_async%(%);", "") .. "w_wgmma_fence();" .. mma .. done, {},
  "a wgmma reads A from 's' byte 0, which task 'one', CTA 0, warp 0 lane 0 wrote without a fence.proxy.async after it")
body("accumulators read before the wait", "sim-accumulator", operands .. "w_wgmma_fence();" .. mma .. "y[tid] = (u32)d[0];" .. done, {}, "accumulator register 0 is read while a wgmma on it (t/sim/findings.t:27) is in flight")
body("a wgmma without its fence", "sim-wgmma", operands .. mma .. done, {}, "a wgmma before any wgmma.fence of the thread")
body("a malformed descriptor", "sim-descriptor", operands .. "w_wgmma_fence();" .. mma:gsub("w_desc%(at, 1024, 128, 0%)", "w_desc(at, 1024, 128, 0) | 1ull << 50") .. done, {}, "operand A: base offset 2 in the descriptor")
body("an operand past the shared memory", "sim-bounds", operands .. "w_wgmma_fence();" .. mma:gsub("at %+ 2048", "at + 4096") .. done, {}, "operand B of a wgmma at shared bytes 4096 to 4111; the kernel has 4096")
body("past the shared memory", "sim-bounds", "((u32 *)smem)[1024] = 1;", {}, "a store to shared bytes 4096 to 4099; the kernel has 4096")
body("past a tensor", "sim-bounds", "y[tid + 1] = 1;", {}, "a store of 4 bytes", "0 bytes past the end of 'y' (512 bytes)")
body("a misaligned mbarrier", "sim-align", "if (tid == 0) w_mbar_init(at + 4, 1);", {}, "an mbarrier at shared address 1028, which is no multiple of 8")
-- Vectors at addresses that are no multiple of their size, however the host's compiler takes them apart. clang++ lets copies of
-- structs of more than 8 bytes, or of several numbers, through.
local compiler <close> = assert(io.popen((os.getenv "WEIR_CXX" or "c++") .. " --version"))
local clang = compiler:read "a":find "clang" ~= nil
for _, c in ipairs {
  { "float2 stores", "((float2 *)y)[0] = make_float2(1, 2);", "((float2 *)(y + 1))[0] = make_float2(1, 2);", "a store of 8 bytes at 'y' byte 4", 8 },
  { "float2 stores to shared memory", "*(float2 *)(smem + 8) = make_float2(1, 2);", "*(float2 *)(smem + 4) = make_float2(1, 2);", "a store of 8 bytes at 's' byte ", 8 },
  { "float4 stores", "((float4 *)y)[0] = make_float4(1, 2, 3, 4);", "((float4 *)(y + 2))[0] = make_float4(1, 2, 3, 4);", "a store of 16 bytes at 'y' byte 8", 16, true },
  { "float4 loads", "const float4 v = *(const float4 *)x; y[0] = (u32)(v.x + v.w);", "const float4 v = *(const float4 *)(x + 2); y[0] = (u32)(v.x + v.w);", " 16 bytes at 'x' byte 8", 16, true },
  { "float4 copies", "*(float4 *)y = *(const float4 *)x;", "*(float4 *)y = *(const float4 *)(x + 1);", " 16 bytes at 'x' byte 4", 16, true },
  { "uint2 loads by a function", "y[0] = __ldg((const uint2 *)x).y;", "y[0] = __ldg((const uint2 *)(x + 1)).y;", " 8 bytes at 'x' byte 4", 8 },
  { "one member of a vector", "((float4 *)y)->y = 1;", "((float4 *)(y + 1))->y = 1;", "an access to 16 bytes at 'y' byte 4", 16 },
  { "packs", "*(w_pack<u16, 4> *)(smem + 16) = { { 1, 2, 3, 4 } };", "*(w_pack<u16, 4> *)(smem + 20) = { { 1, 2, 3, 4 } };", "a store of 8 bytes at 's' byte ", 8, true },
  { "packs of floats", "const w_pack<float, 4> p = *(const w_pack<float, 4> *)x; y[0] = (u32)p.x[3];", "const w_pack<float, 4> p = *(const w_pack<float, 4> *)(x + 2); y[0] = (u32)p.x[3];", " 16 bytes at 'x' byte 8", 16, true },
  { "pairs of halves", "*(bf16x2 *)y = bf16x2(1.f, 2.f);", "*(bf16x2 *)((u16 *)y + 1) = bf16x2(1.f, 2.f);", "a store of 4 bytes at 'y' byte 2", 4 },
  { "an atomic", "atomicAdd(y, 1u);", "atomicAdd((u32 *)((u16 *)y + 1), 1u);", " 4 bytes at 'y' byte 2", 4 },
  { "an atomic of 64 bits", "atomicAdd((unsigned long long *)y, 1ull);", "atomicAdd((unsigned long long *)(y + 1), 1ull);", " 8 bytes at 'y' byte 4", 8 },
  { "a vector atomic", "atomicAdd((float2 *)y, make_float2(1.f, 2.f));", "atomicAdd((float2 *)(y + 1), make_float2(1.f, 2.f));", " 8 bytes at 'y' byte 4", 8 },
  { "an atomic of two halves", "atomicAdd((bf16x2 *)y, bf16x2(1.f, 2.f));", "atomicAdd((bf16x2 *)((u16 *)y + 1), bf16x2(1.f, 2.f));", " 4 bytes at 'y' byte 2", 4 },
  { "whole numbers", "*(u32 *)y = 1;", "*(u32 *)((u8 *)y + 2) = 1;", "a store of 4 bytes at 'y' byte 2", 4 },
  { "volatile numbers", "*(volatile u64 *)y = 1;", "*(volatile u64 *)(y + 1) = 1;", "a store of 8 bytes at 'y' byte 4", 8 },
  { "structs of an author's own", "struct alignas(8) two { u32 a, b; }; *(two *)y = { 1, 2 };", "struct alignas(8) two { u32 a, b; }; *(two *)(y + 1) = { 1, 2 };", "a store of 8 bytes at 'y' byte 4", 8, true },
} do
  local name, right, wrong, said, bytes, whole = table.unpack(c)
  body(name .. ", aligned", "right", "if (tid == 0) { " .. right .. " }", {})
  if not (whole and clang) then body(name .. ", misaligned", "sim-align", "if (tid == 0) { " .. wrong .. " }", {}, said, ", an address that is no multiple of " .. bytes) end
end
body("an ldmatrix row off 16 bytes", "sim-align", "u32 r[4]; ((u32 *)smem)[tid] = tid; task_sync(); w_ldmatrix4(at + (lane == 9 ? 8 : 16 * (lane % 8)), r); y[tid] = r[0];", {}, "ldmatrix of shared address 1032, which is no multiple of 16")
body("an stmatrix row off 16 bytes", "sim-align", "w_stmatrix1(at + 16 * (lane % 8) + (lane == 3 ? 4 : 0), tid);", { threads = 32 }, "stmatrix to shared address 1076, which is no multiple of 16")
body("a cp.async off its size", "sim-align", "w_cp_async<8>(at + 8 * tid, (const u8 *)x + 4, 8); w_cp_commit(); w_cp_wait<0>();", {}, "a cp.async of 8 bytes from")
body("a cp.async to an address off its size", "sim-align", "w_cp_async<16>(at + 8, x, 16); w_cp_commit(); w_cp_wait<0>();", {}, "shared address 1032, which is no multiple of 16")
body("what nobody has written", "sim-uninit", "if (tid < 4) ((u32 *)smem)[tid] = 1; task_sync(); y[tid] = ((u32 *)smem)[tid];", {}, "a load of 's' byte", "which nothing has written")
body("a variable that nothing has set", "sim-uninit", "float v[32]; if (x[0] == 9) v[tid % 32] = 1; y[tid] = w_pack_bf16(v[tid % 32], 0.f);", {}, "the value of a variable that nothing has set")
body("a warp that has diverged", "sim-warp", "if (lane < 7) w_elect(); else w_sync_warp();", {}, "the warp has diverged: lane")
body("a named barrier with two counts", "sim-named", "w_bar_sync(3, warp ? 96 : 64);", {}, "named barrier 3 is joined with")
body("a named barrier that is none", "sim-named", "w_bar_sync(16, 128);", {}, "named barrier 16; ids are 1 to 15")
body("an exit with a copy in flight", "sim-exit", "w_cp_async<16>(at + 16 * tid, x + tid / 4 * 4, 16);", {}, "the thread exits while its cp.async into 's' byte", "is in flight: a wait is missing")
body("an exit with a wgmma in flight", "sim-exit", operands .. "w_wgmma_fence();" .. mma, {}, "the thread exits while a wgmma of its warpgroup is in flight: a wait is missing")
body("an mbarrier that is not initialised", "sim-bar-init", "w_mbar_arrive(at);", {}, "an arrive on mbarrier at shared byte 0 of CTA 0, which is not initialised")
body("an mbarrier overwritten", "sim-bar-write", bar .. "if (tid == 5) *(u32 *)smem = 0;", {}, "a store to shared byte 0, which is mbarrier")
for seed, use in ipairs { "w_mbar_arrive(at);", "w_mbar_wait(at, 1);", "w_mbar_expect(at, 64);", "w_mbar_try(at, 1);", "w_mbar_cp_async_arrive(at);" } do
  body("an mbarrier used without a join behind its initialisation: " .. use, "sim-bar-init",
    ("if (tid == 0) { w_mbar_init(at, 1); w_fence_mbar_init(); } for (u32 i = 0; i < 50; i++) w_sync_warp(); if (tid == %d) { for (int i = 0; i < 99; i++) __nanosleep(9); %s }"):format(30 + 8 * seed, use), {},
    "mbarrier at shared byte 0 of CTA 0: nothing orders it behind the initialisation by thread 0: a barrier is missing between them")
end
body("told of by the cluster barrier, after its fence", "right", "if (tid == 0) { w_mbar_init(at, 1); w_fence_mbar_init(); } w_cluster_arrive_relaxed(); w_cluster_wait(); if (tid == 50) w_mbar_arrive_remote(at, w_cluster_rank() ^ 1); w_mbar_wait(at, 0); w_cluster_arrive(); w_cluster_wait();", { cluster = 2 })
body("told of before its fence", "sim-bar-init", "if (tid == 0) w_mbar_init(at, 1); w_cluster_arrive_relaxed(); w_cluster_wait(); if (tid == 0) w_fence_mbar_init(); if (tid == 50) w_mbar_arrive(at); w_cluster_arrive(); w_cluster_wait();", { cluster = 2 },
  "nothing orders it behind the initialisation by thread 0")
body("a parity that is none", "sim-parity", bar .. "w_mbar_wait(at, 2);", {}, "a wait with parity 2; a parity is 0 or 1")
body("a CTA that is none", "sim-cluster", bar .. "if (tid == 0) w_mbar_arrive_remote(at, 2);", {}, "an arrive at CTA 2 of a cluster of 1")
body("a CTA that has left", "sim-exited", bar .. "w_cluster_arrive(); w_cluster_wait(); if (w_cluster_rank() == 1) return; for (u32 i = 0; i < 999; i++) task_sync(); if (tid == 0) w_mbar_arrive_remote(at, 1);",
  { cluster = 2, leaves = true }, "an arrive on mbarrier at shared byte 0 of CTA 1, which has exited")
body("a spin without an end", "sim-livelock", "if (warp) task_sync(); else while (*(volatile u32 *)(y + 9) != 7) {}", { threads = 64 }, "32 of 64 threads wait, the others spin on memory",
  "t/sim/findings.t:27: task 'one', CTA 0, warp 0: spins; it last looked at 'y' byte 36\n", "task 'one', CTA 0, warp 1: waits for named barrier 1: 32 of 64 threads have come")
body("a trap", "sim-trap", "if (x[tid]) __trap();", {}, "__trap()")
body("an assertion", "sim-trap", "const u32 one = 2;\nassert(x[tid] == one && \"nothing there\");", {}, "task 'one', CTA 0, warp", 'assertion failed: x[tid] == one && "nothing there", t/sim/findings.t:')
body("a vector atomic on shared memory", "sim-trap", "((float *)smem)[tid] = 0; task_sync(); atomicAdd((float2 *)smem, make_float2(1.f, 2.f));", {}, "works on global memory only")
body("a barrier that counts among others", "sim-named", "if (warp == 1) __syncthreads(); else y[tid] = (u32)__syncthreads_count(1);", {}, "__syncthreads", "_count, _and or _or")
body("a shuffle from a lane that is not there", "sim-warp", "if (lane < 8) y[tid] = __shfl_xor_sync(0xffu, tid, 8);", {}, "shuffles from lane", "which is not among the lanes 0xff")
body("a vote for lanes without the caller", "sim-warp", "if (lane < 8) y[tid] = __ballot_sync(0xfu, 1);", {}, "calls a shuffle or vote for the lanes 0xf, of which it is none")
body("a reduction that not all lanes join", "sim-deadlock", "if (lane < 8) y[tid] = __reduce_add_sync(~0u, tid);", {}, "lane")
body("a sleep in a spin without an end", "sim-livelock", "while (*(volatile u32 *)y != 7) __nanosleep(100);", { threads = 32 }, "the others spin on memory")

-- ---- bulk copies of a body's own ------------------------------------------------------------------------------------------------------
local load = bar .. "if (tid == 0) { w_mbar_expect(at, 512); w_bulk_load(at + 1024, %s, 512, at); } %s"
body("a bulk load read without its wait", "sim-early-read", load:format("x", "if (tid == 0) y[0] = ((u32 *)smem)[256]; w_mbar_wait(at, 0);"), {}, "a load of 's' byte")
body("a bulk load past its tensor", "sim-bounds", load:format("x + 4", "w_mbar_wait(at, 0);"), {}, "a bulk load of 512 bytes", "is in no buffer")
body("a bulk load off 16 bytes", "sim-align", load:format("x + 1", "w_mbar_wait(at, 0);"), {}, "a bulk load at ", "no multiple of 16")
body("a bulk load of 8 bytes", "sim-align", load:format("x", "w_mbar_wait(at, 0);"):gsub("512, at", "8, at"), {}, "a bulk load of 8 bytes, which is no multiple of 16")
body("a bulk load past the shared memory", "sim-bounds", load:format("x", "w_mbar_wait(at, 0);"):gsub("at %+ 1024", "at + 4000"), {}, "a bulk load to shared bytes 4000 to 4511; the kernel has 4096")
body("a bulk load of more than was expected", "sim-tx", load:format("x", "w_mbar_wait(at, 0);"):gsub("w_mbar_expect%(at, 512%)", "w_mbar_expect(at, 256)"), {}, "512 bytes landed, 256 were expected")
body("a bulk load on an mbarrier without its fence", "sim-bar-init", load:format("x", "w_mbar_wait(at, 0);"):gsub("w_fence_mbar_init%(%);", ""), {}, "has run no fence.mbarrier_init since")
body("a bulk load over an mbarrier", "sim-bar-write", load:format("x", "w_mbar_wait(at, 0);"):gsub("at %+ 1024", "at"), {}, "a bulk load into shared byte 0, which is mbarrier")
body("a tensor written before its bulk load", "sim-race", bar .. "if (tid == 64) y[0] = 7; if (tid == 0) { w_mbar_expect(at, 512); w_bulk_load(at + 1024, y, 512, at); } w_mbar_wait(at, 0);", {}, "a TMA load reads 'y' byte 0 (4 bytes) and a store by task 'one', CTA 0, warp 2, lane 0")
local store = "((u32 *)smem)[tid] = tid; %s task_sync(); if (tid == 0) { w_bulk_store(%s, at, 512); w_bulk_commit(); %s }"
body("a bulk store without the proxy fence", "sim-fence", store:format("", "y", "w_bulk_wait<0>();"), {}, "without a fence.proxy.async after it")
body("a bulk store that nobody waits for", "sim-exit", store:format("w_fence_async();", "y", ""), {}, "a bulk wait is missing")
body("a bulk store past its tensor", "sim-bounds", store:format("w_fence_async();", "y + 4", "w_bulk_wait<0>();"), {}, "a bulk store of 512 bytes", "is in no buffer")
body("the source of a bulk store overwritten", "sim-async-read", store:format("w_fence_async();", "y", "w_bulk_wait<1>(); ((u32 *)smem)[5] = 1; w_bulk_wait<0>();"), {}, "a store to 's' byte 20")
body("the result of a bulk store read too early", "sim-race", store:format("w_fence_async();", "y", "w_bulk_wait_read<0>(); const u32 v = y[3]; w_bulk_wait<0>(); y[3] = v;"), {}, "of 'y' byte 12")
-- A copy over what threads have read: each of them fences behind its loads, before it tells of them.
local again = bar .. "if (tid == 0) { w_mbar_expect(at, 512); w_bulk_load(at + 1024, x, 512, at); } w_mbar_wait(at, 0); y[tid] = ((u32 *)smem)[256 + tid]; %s if (tid == 0) { w_mbar_expect(at, 512); w_bulk_load(at + 1024, x, 512, at); } w_mbar_wait(at, 1);"
body("a bulk load over what threads have read", "sim-fence", again:format "task_sync();", {}, "task 'one', CTA 0, warp 0: a bulk load into 's' byte 1024, may overtake a load by task 'one', CTA 0, warp 0, lane 0 (t/sim/findings.t:",
  "a fence.proxy.async of that thread is expected between the load and its hand-over, and there is none")
body("behind the threads' fences", "right", again:format "w_fence_async(); task_sync();", {})
body("behind a fence before the loads", "sim-fence", again:gsub("w_mbar_wait%(at, 0%);", "%0 w_fence_async();"):format "task_sync();", {}, "may overtake a load by task 'one'")
body("behind one thread's fence", "sim-fence", again:format "if (tid == 0) w_fence_async(); task_sync();", {}, "a bulk load into 's' byte 1028, may overtake a load by task 'one', CTA 0, warp 0, lane 1 ")
body("behind all fences but one", "sim-fence", again:format "if (tid != 77) w_fence_async(); task_sync();", {}, "a bulk load into 's' byte 1332, may overtake a load by task 'one', CTA 0, warp 2, lane 13 ")
body("behind fences that come after the join", "sim-fence", again:format "task_sync(); w_fence_async();", {}, "a bulk load into 's' byte 1028, may overtake a load by task 'one', CTA 0, warp 0, lane 1 ")
body("behind fences and many more", "right", again:format "for (u32 i = 0; i < 40; i++) w_fence_async(); task_sync();", {})
body("a word that one thread reads and fences behind another that does not", "sim-fence", again:format "if (tid == 0) y[0] += ((u32 *)smem)[300]; task_sync(); if (tid == 9) y[9] += ((u32 *)smem)[300]; if (tid) w_fence_async(); task_sync();", {}, "may overtake a load by task 'one', CTA 0, warp 0, lane 0 ")
body("a bulk load over what ldmatrix has read", "sim-fence", again:gsub("y%[tid%] = .-;", "u32 r[4]; w_ldmatrix4(at + 1024 + 16 * lane, r); y[tid] = r[0];"):format "task_sync();", {}, "a bulk load into 's' byte 1024, may overtake a load by task 'one'")
body("a bulk load over what threads wrote", "sim-fence", "((u32 *)smem)[tid] = tid; if (tid == 0) { w_mbar_init(at + 512, 1); w_fence_mbar_init(); } task_sync(); if (tid == 0) { w_mbar_expect(at + 512, 512); w_bulk_load(at, x, 512, at + 512); } w_mbar_wait(at + 512, 0);", {},
  "a bulk load into 's' byte 0, which task 'one', CTA 0, warp 0 lane 0 wrote without a fence.proxy.async after it")
body("plain stores and cp.async over what threads have read", "right", again:gsub("w_bulk_load%(at %+ 1024, x, 512, at%); } w_mbar_wait%(at, 1%);", "w_mbar_inval(at); } if (tid & 1) ((u32 *)smem)[256 + tid] = 0; else { w_cp_async<4>(at + 1024 + 4 * tid, x + tid, 4); w_cp_commit(); w_cp_wait<0>(); }"):format "task_sync();", {})
body("a fetch over a slot that was read", "right", bar .. "for (u32 i = 0; i < 2; i++) { if (tid == 0) { w_mbar_expect(at, 16); w_queue_fetch(at + 16, at, y + 127, 0); } w_mbar_wait(at, i); if (*(u32 *)(smem + 16) != i) y[tid] = 1; task_sync(); }", {})
local peer = bar .. "w_cluster_arrive(); w_cluster_wait(); const u32 to = w_cluster_rank() ^ 1; ((u32 *)smem)[256 + tid] = tid; w_fence_async(); w_cluster_arrive(); w_cluster_wait(); if (((u32 *)smem)[256 + tid] != tid) __trap(); %s w_cluster_arrive(); w_cluster_wait(); if (tid == 0) { w_mbar_expect(at, 512); w_bulk_push(at + 1024, at + 2048, 512, at, to); } w_mbar_wait(at, 0); w_cluster_arrive(); w_cluster_wait();"
peer = peer:gsub("w_fence_async%(%); w_cluster_arrive", "((u32 *)smem)[512 + tid] = tid; %0", 1)
body("a push over what the peer's threads have read", "sim-fence", peer:format "", { cluster = 2 }, "a push into 's' byte 1024, may overtake a load by task 'one', CTA", "warp 0, lane 0 (t/sim/findings.t:")
body("behind the peer's fences", "right", peer:format "w_fence_async();", { cluster = 2 })
body("cp.async over an mbarrier", "sim-bar-write", bar .. "if (tid == 3) { w_cp_async<16>(at, x, 16); w_cp_commit(); w_cp_wait<0>(); }", {}, "a cp.async into shared byte 0, which is mbarrier")
local small = "%s w_sync_warp(); w_cp_commit(); w_cp_wait<0>(); y[tid] = ((u32 *)smem)[tid];"
body("cp.async of 4 bytes beside others'", "right", small:format "w_cp_async<4>(at + 4 * tid, x + tid, 4);", {})
body("stores and loads beside a cp.async of 4 bytes", "right", small:format "if (tid & 1) w_cp_async<4>(at + 4 * tid, x + tid, 4); else { ((u32 *)smem)[tid] = 1; __syncwarp(0x55555555u); y[tid] = ((u32 *)smem)[tid]; }", {})
body("cp.async of 4 bytes by two threads into one place", "sim-async-write", small:format "w_cp_async<4>(at + 4 * (tid / 2), x + tid, 4);", {}, "a cp.async into 's' byte", "a cp.async (t/sim/findings.t:27) is still filling it")
body("arrivals too many at once", "sim-arrivals", bar .. "if (tid == 0) w_mbar_arrive_n(at, 2);", {}, "an arrival too many on mbarrier")
body("an mbarrier used after its inval", "sim-bar-init", bar .. "if (tid == 0) { w_mbar_inval(at); w_mbar_arrive(at); }", {}, "an arrive on mbarrier at shared byte 0 of CTA 0, which is not initialised")
body("bytes expected and never copied", "sim-deadlock", bar .. "if (tid == 0) { w_mbar_expect_tx(at, 64); w_mbar_arrive(at); } w_mbar_wait(at, 0);", {}, "0 bytes landed, 64 missing")

-- ---- races -----------------------------------------------------------------------------------------------------------------------------
local mix = "((u32 *)smem)[tid] = 0; task_sync(); ((u32 *)smem)[tid] = tid; %s y[tid] = ((u32 *)smem)[127 - tid];"
body("a join left out", "sim-race", mix:format "", {}, "(4 bytes) and a ", "task 'one', CTA 0, warp", "nothing orders the two: a barrier, or an arrive and its wait, is missing between them")
body("the join", "right", mix:format "task_sync();", {})
body("__syncthreads", "right", mix:format "__syncthreads();", {})
body("a warp's join orders its lanes", "right", "((u32 *)smem)[tid] = tid; __syncwarp(); y[tid] = ((u32 *)smem)[tid ^ 5];", {})
body("and no others", "sim-race", "((u32 *)smem)[tid] = 0; task_sync(); ((u32 *)smem)[tid] = tid; __syncwarp(); y[tid] = ((u32 *)smem)[tid ^ 37];", {}, "lane ")
body("a shuffle orders nothing", "sim-race", "((u32 *)smem)[tid] = 0; task_sync(); ((u32 *)smem)[tid] = __shfl_xor_sync(~0u, tid, 1); __shfl_sync(~0u, tid, 0); y[tid] = ((u32 *)smem)[tid ^ 5];", {}, "[sim-race]")
body("a read, then another's write", "sim-race", "((u32 *)smem)[tid] = tid; task_sync(); y[tid] = ((u32 *)smem)[tid ^ 64]; ((u32 *)smem)[tid] = 0;", {}, "(4 bytes) and a ")
body("halves of a word", "right", "((u16 *)smem)[tid] = (u16)tid; task_sync(); y[tid] = ((u16 *)smem)[tid];", {})
body("bytes of a word that overlap", "sim-race", "if (tid == 0) *(u32 *)smem = 1; if (tid == 64) smem[3] = 1;", {}, "'s' byte 3 (1 byte) and a store by")
body("an arrive and its wait", "right", bar .. "if (tid == 0) { *(u32 *)(smem + 64) = 7; w_mbar_arrive(at); } else { w_mbar_wait(at, 0); y[tid] = *(u32 *)(smem + 64); }", {})
body("the arrive before the store", "sim-race", bar .. "if (tid == 0) { w_mbar_arrive(at); *(u32 *)(smem + 64) = 7; } else { w_mbar_wait(at, 0); ((u32 *)smem)[16] = 8; }", {}, "'s' byte 64 (4 bytes)")
body("bar.arrive tells, and is told nothing", "sim-race", "if (tid < 64) { w_bar_arrive(3, 128); ((u32 *)smem)[tid] = 1; } else { ((u32 *)smem)[tid - 64] = 2; w_bar_sync(3, 128); }", {}, "a store by task 'one'")
body("atomics", "right", "if (tid == 0) *(u32 *)smem = 0; task_sync(); atomicAdd((u32 *)smem, 1u); atomicMax(y, tid);", {})
body("an atomic and a plain store", "sim-race", "if (tid == 0) *(u32 *)smem = 0; task_sync(); if (tid < 64) atomicAdd((u32 *)smem, 1u); else if (tid == 64) *(u32 *)smem = 5;", {}, "an atomic")
body("an atomic alone orders nothing", "sim-race", "if (tid == 0) { y[1] = 5; atomicExch(y, 1u); } else if (tid == 64) { while (atomicAdd(y, 0u) == 0) {} y[2] = y[1]; }", {}, "of 'y' byte 4 (4 bytes) and a store by task 'one', CTA 0, warp 0, lane 0")
body("fence, atomic, fence", "right", "if (tid == 0) { y[1] = 5; __threadfence(); atomicExch(y, 1u); } else if (tid == 64) { while (atomicAdd(y, 0u) == 0) {} __threadfence(); y[2] = y[1]; }", {})
body("warps that store to one place of global memory", "sim-race", "y[tid % 32] = tid;", {}, "a store to 'y' byte", "and a store by task 'one', CTA 0, warp")
body("lanes that store to one place by one instruction", "right", "y[tid / 32] = 3;", {})
body("CTAs that store to one place", "sim-race", "if (tid == 0) y[0] = w_block();", { grid = 2 }, "the two CTAs share no barrier; only fence, atomic, fence would order them")
body("CTAs that tell by fence, atomic, fence", "right",
  "if (tid == 0) { if (w_block() == 0) { y[1] = 5; __threadfence(); atomicExch(y, 1u); } else { while (atomicAdd(y, 0u) == 0) {} __threadfence(); y[2] = y[1]; } }", { grid = 2 })
body("CTAs of a cluster, by CUDA's own functions", "right", "if (__clusterRelativeBlockRank() == 0) y[tid] = 1; __threadfence_cluster(); __cluster_barrier_arrive(); __cluster_barrier_wait(); if (__clusterRelativeBlockRank() == 1) y[tid] = 2;", { cluster = 2 })
body("CTAs of a cluster, at their barrier", "right", "if (w_cluster_rank() == 0) y[tid] = 1; w_cluster_arrive(); w_cluster_wait(); if (w_cluster_rank() == 1) y[tid] = 2;", { cluster = 2 })
body("a relaxed arrive releases nothing", "sim-race", "if (w_cluster_rank() == 0) y[tid] = 1; w_cluster_arrive_relaxed(); w_cluster_wait(); if (w_cluster_rank() == 1) y[tid] = 2;", { cluster = 2 },
  "a store to 'y' byte")
body("a store before cp.async, by another", "sim-race", "*(u32 *)(smem + 16 * (tid ^ 64)) = 1; w_cp_async<16>(at + 16 * tid, x + tid / 4 * 4, 16); w_cp_commit(); w_cp_wait<0>();", {}, "nothing orders the two")
body("cp.async, waited for, not joined", "sim-race", "for (u32 i = tid; i < 1024; i += 128) ((u32 *)smem)[i] = 0; task_sync(); w_cp_async<16>(at + 16 * tid, x + tid / 4 * 4, 16); w_cp_commit(); w_cp_wait<0>(); y[tid] = *(u32 *)(smem + 16 * (tid ^ 64));", {}, "nothing orders the two")
body("cp.async, waited for and joined", "right", "w_cp_async<16>(at + 16 * tid, x + tid / 4 * 4, 16); w_cp_commit(); w_cp_wait<0>(); task_sync(); y[tid] = *(u32 *)(smem + 16 * (tid ^ 64));", {})

-- ---- what needs a tensor map, registers, tensor memory ---------------------------------------------------------------------------------
local function edited(name, rule, k, run, from, to, ...)
  local ok, message
  for seed = 1, 4 do
    local dev = weir.device("sim", { seed = seed })
    local p = k:build { device = dev }
    local text, n = p:source():gsub(from, to, 1)
    assert(n == 1, from)
    plan.run_text(p, text)
    ok, message = run(p, dev)
    if not ok and tostring(message):find(rule, 1, true) then break end
  end
  stops(name, rule, ok, message, ...)
end
local function copy(p, dev) return lab.run_copy(p, { 24, 100 }, { device = dev, grid = 1 }) end
edited("a box off 16 bytes", "sim-tmap", lab.tma_copy(), copy, "(w_tma_load%([^,]*, [^,]*, [^,]*, )", "%11 + ", "off 16 bytes: a multiple of 4 is expected")
edited("a task that does less than planned", "sim-plan", lab.tma_copy(), copy, "W_AT%(%d+%); w_mbar_expect%b();", "", "the plan expects 4 expect_tx 'ring_full'")
edited("a stage read without its wait", "sim-early-read", lab.tma_copy(), copy, "(w_mbar_wait%(ring_full[^;]*;)", "if (wq_index < 1) %1", "a load of 'ring' stage", "task 'put'")
edited("a stage given back before all lanes have read it", "sim-race", lab.tma_copy(2), copy, "(W_AT%(%d+%);) w_sync_warp%(%);", "%1", "a TMA load into 'ring' stage 0, byte", "a load by task 'put'")
edited("a staging tile rewritten while TMA reads it", "sim-async-read", lab.gemm(), function(p, dev) return lab.run_gemm(p, 64, 256, 64, { device = dev, grid = 1 }) end,
  "w_bulk_wait_read<%d>%(%);", ";", "stmatrix to 'stage' stage 0", "a TMA store (t/lab.lua:")
edited("an exit with a TMA store in flight", "sim-exit", lab.gemm(), function(p, dev) return lab.run_gemm(p, 64, 64, 64, { device = dev, grid = 1 }) end,
  "if %(wtid == 0%) w_bulk_wait<0>%(%);", ";", "the thread exits while its TMA store may still read 'stage' stage ")
edited("a register pool that has too few", "sim-deadlock", lab.gemm { warpgroups = 2, load_registers = 40, mma_registers = 232 }, function(p, dev) return lab.run_gemm(p, 128, 64, 64, { device = dev }) end,
  "w_reg_inc<232>%(%);", "w_reg_inc<256>();", "setmaxnreg.inc 256: it lacks")
edited("registers that setmaxnreg does not take", "sim-registers", lab.gemm { warpgroups = 2, load_registers = 40, mma_registers = 232 }, function(p, dev) return lab.run_gemm(p, 128, 64, 64, { device = dev }) end,
  "w_reg_dec<40>%(%);", "w_reg_dec<36>();", "setmaxnreg.dec 36; it takes 24 to 256 in steps of 8")
local o = { n = 64, sums = 1, grid = 2 }
local function blackwell(p, dev) return sm100a.run_gemm(p, o, dev, 300, 72, 330) end
edited("tensor memory that is not given back", "sim-tmem", sm100a.gemm(o), blackwell, "w_tmem_free%b();", ";", "tcgen05.dealloc is missing")
edited("a descriptor of sm_100a without its constant", "sim-descriptor", sm100a.gemm(o), blackwell, "w_umma_desc(%b())", "(w_umma_desc%1 & ~(1ull << 46))", "operand A: descriptor", "lacks bit 46")
edited("an instruction descriptor that is none", "sim-descriptor", sm100a.gemm(o), blackwell, "0x08100490", "0x08100493", "instruction descriptor 0x8100493 of kind f16")
edited("an exit with an mma in flight", "sim-exit", sm100a.gemm(o), blackwell, "if %(warp == 0%) w_tmem_free%b();",
  "if (w_tid() == 0) { w_umma_f16(acc_tmem, w_umma_desc(a_smem, 16, 1024, 2), w_umma_desc(b_smem, 16, 1024, 2), 0x08100490, 0); w_umma_commit(ab_full); }", "exits while an mma is in flight")
edited("columns that are not allocated", "sim-tmem", sm100a.gemm(o), blackwell, "w_tmem_alloc%((.-), %d+%)", "w_tmem_alloc(%1, 32)", "of tensor memory, which are not allocated: ")
edited("tensor memory taken over without a fence", "sim-tcgen05-fence", sm100a.gemm(o), blackwell, "(w_mbar_wait%(acc_full.-)w_tcgen05_after%(%);", "%1", "fence::after_thread_sync")

do
  local p = kernel("w_grid_launch(); y[tid] = x[tid];", {}):build { device = lab.device() }
  local x, y = lab.device():tensor { dtype = "u32", shape = { 128 } }:fill(1), lab.device():tensor { dtype = "u32", shape = { 128 } }:fill(0)
  assert(p:launch({ x = x, y = y }, { grid = 1 }))
  local ok, message = p:launch({ x = y, y = x }, { grid = 1, pdl = true })
  stops("a dependent launch that does not wait", "sim-pdl", ok, message, "a load of 'x' byte", "which the launch before, 'shows', writes")
end

-- ---- every kind that was asked for -----------------------------------------------------------------------------------------------------
-- (a tensor map that is larger than its buffer cannot be made from here: t/c/sim_test.c)
for kind, name in pairs {
  ["never-ending wait"] = "a wait that never ends", ["arrival too many"] = "an arrival too many", ["tx over"] = "more bytes than expected", ["tx under"] = "fewer bytes than expected",
  ["parity lap"] = "two phases behind", ["read of an incomplete stage"] = "a stage read without its wait", ["write under an async read"] = "a staging tile rewritten while TMA reads it",
  ["missing proxy fence"] = "no proxy fence", ["race on shared memory"] = "a join left out", ["race on global memory"] = "warps that store to one place of global memory",
  ["out of bounds, shared"] = "past the shared memory", ["out of bounds, global"] = "past a tensor", ["out of bounds, TMEM"] = "columns that are not allocated",
  ["misaligned box of a tensor map"] = "a box off 16 bytes", ["malformed descriptor"] = "a malformed descriptor", ["malformed descriptor, sm_100a"] = "a descriptor of sm_100a without its constant",
  ["uninitialised shared memory"] = "what nobody has written", ["divergent collective"] = "a warp that has diverged", ["register pool exhausted"] = "a register pool that has too few",
  ["named-barrier misuse"] = "a named barrier with two counts", ["missing dealloc"] = "tensor memory that is not given back", ["exit with a copy in flight"] = "an exit with a copy in flight",
  ["exit with a store in flight"] = "an exit with a TMA store in flight", ["exit with a wgmma in flight"] = "an exit with a wgmma in flight", ["exit with an mma in flight"] = "an exit with an mma in flight",
} do tap.ok(named[name], kind .. ": " .. name) end

-- ---- every rule of the table in docs/simulator.md -----------------------------------------------------------------------------------------
local missing = {}
shown["sim-stopped"] = true -- t/stop.t, t/c/sim_test.c
for line in io.lines "docs/simulator.md" do
  local first = line:match "^| (sim%-[^|]*) |"
  for rule in (first or ""):gmatch "sim%-[%w-]+" do if not shown[rule] then missing[#missing + 1] = rule end end
end
tap.is({}, missing, "every finding in docs/simulator.md is shown by a kernel above")
tap.done()
