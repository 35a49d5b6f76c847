#!/usr/bin/env lua5.4
-- Emitted text: the statements of small roles one by one, in the author's names; the same text for the same script; what NVRTC says.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local plan = lab.plan

local function build(k) return k:build { device = lab.device() } end

-- A role's text without the markers; the kernel's braces are kept, they say what is inside what.
local function role(source, task)
  local out = lab.role(source, task)
  for i, row in ipairs(out) do out[i] = row:gsub("^W_AT%(%d+%);%s*", "") end
  for i = #out, 1, -1 do
    if out[i] == "" then table.remove(out, i) end
  end
  return out
end

-- The rows from the first that begins with `from` to the first behind it that begins with `to`; up_to: without that one.
local function part(rows, from, to, up_to)
  local out
  for _, row in ipairs(rows) do
    if not out and row:sub(1, #from) == from then
      out = { row }
    elseif out then
      local last = row:sub(1, #to) == to
      if not (last and up_to) then out[#out + 1] = row end
      if last then return out end
    end
  end
  error(("no part from '%s' to '%s'"):format(from, to))
end

-- ---- roles ----------------------------------------------------------------------------------------------------------------------
local gemm = build(lab.gemm())
local source = gemm:source()

tap.is({
  "if (lane == 0) {",
  "for (i32 wq_index = (i32)w_block(); wq_index < wq_tiles; wq_index += (i32)w_blocks()) {",
  "const i32 i0_end = w_ceil_div(K, 64);",
  "for (i32 i0 = 0; i0 < i0_end; i0++) {",
  "w_mbar_wait(ab_empty + ab_stage * 8, ab_phase);",
  "w_mbar_expect(ab_full + ab_stage * 8, 8192);",
  "w_tma_load(a_smem + ab_stage * 8192, &A_map, ab_full + ab_stage * 8, i0 * 64, wq_m * 64);",
  "w_mbar_expect(ab_full + ab_stage * 8, 8192);",
  "ab_at = ab_stage;",
  "if (++ab_stage == 3) { ab_stage = 0; ab_phase ^= 1; }",
  "w_tma_load(b_smem + ab_at * 8192, &B_map, ab_full + ab_at * 8, i0 * 64, wq_n * 64);",
  "}", "}", "}",
}, role(source, "load"), "TMA producer: one wait for the stage, a member's bytes armed before its load")

local consumer = role(source, "mma")
tap.is({
  "acc_live = 0;",
  "const i32 i0_end = w_ceil_div(K, 64);",
  "for (i32 i0 = 0; i0 < i0_end; i0++) {",
  "w_mbar_wait(ab_full + ab_stage * 8, ab_phase);",
  "ab_at = ab_stage;",
  "if (++ab_stage == 3) { ab_stage = 0; ab_phase ^= 1; }",
  "ab_held++;",
  "w_wgmma_fence();",
  "{",
  "const u64 a = w_desc(a_smem + ab_at * 8192, 16, 1024, 1);",
  "const u64 b = w_desc(b_smem + ab_at * 8192, 16, 1024, 1);",
  "#pragma unroll",
  "for (int kk = 0; kk < 4; kk++) {",
  "w_wgmma_ss<64, W_BF16, 0, 0>(acc, a + kk * 2, b + kk * 2, acc_live | kk);",
  "}", "}",
  "acc_live = 1;",
  "w_wgmma_commit();",
  "w_wgmma_wait<1>();",
  "if (ab_held > 1) {",
  "if (wtid == 0) w_mbar_arrive(ab_empty + ab_close * 8);",
  "if (++ab_close == 3) ab_close = 0;",
  "ab_held--;",
  "}", "}",
  "w_wgmma_wait<0>();",
  "if (ab_held > 0) {",
  "if (wtid == 0) w_mbar_arrive(ab_empty + ab_close * 8);",
  "if (++ab_close == 3) ab_close = 0;",
  "ab_held--;",
  "}",
}, part(consumer, "acc_live = 0;", "if (wtid == 0) w_bulk_wait_read", true), "wgmma consumer: the release lags one batch behind, the rest behind the loop")

tap.is({
  "if (wtid == 0) w_bulk_wait_read<1>();",
  "w_bar_sync(1, 128);",
  "stage_put_at = stage_put_stage;",
  "if (++stage_put_stage == 2) stage_put_stage = 0;",
  "{",
  "#pragma unroll",
  "for (int f = 0; f < 1; f++) {",
  "#pragma unroll",
  "for (int j = 0; j < 8; j += 2) {",
  "float x[8];",
  "#pragma unroll",
  "for (int i = 0; i < 8; i++) x[i] = acc[(j * 4 + i)];",
  "w_stmatrix4(at + ((j * 16u + lane / 16 * 16u) ^ twist), w_pack_bf16(x[0], x[1]), w_pack_bf16(x[2], x[3]), w_pack_bf16(x[4], x[5]), w_pack_bf16(x[6], x[7]));",
  "}", "}", "}",
  "w_fence_async();",
  "w_bar_sync(1, 128);",
  "stage_at = stage_stage;",
  "if (++stage_stage == 2) stage_stage = 0;",
  "if (wtid == 0) w_tma_store(&D_map, stage_smem + stage_at * 8192, wq_n * 64, wq_m * 64);",
  "if (wtid == 0) w_bulk_commit();",
}, part(consumer, "if (wtid == 0) w_bulk_wait_read", "if (wtid == 0) w_bulk_commit();"),
  "staged epilogue: the tile is free, written, fenced, handed over, stored, the group closed")
tap.is({ "}", "if (wtid == 0) w_bulk_wait<0>();" }, { consumer[#consumer - 1], consumer[#consumer] }, "the task ends when its stores have landed")

local function declared(text, task) return text:match("// task " .. task .. ":.-\n(.-)W_AT") end
tap.like("u32 ab_stage = 0, ab_at = 0;", declared(source, "load"), "cursors start at stage 0")
tap.like("u32 ab_phase = 1;", declared(source, "load"), "a producer finds fresh barriers free: it starts with parity 1")
tap.like("u32 ab_phase = 0;", declared(source, "mma"), "a consumer starts with parity 0")

local threads = build(lab.thread_copy())
tap.is({
  "for (i32 wq_index = (i32)w_block(); wq_index < wq_tiles; wq_index += (i32)w_blocks()) {",
  "w_mbar_wait(ring_empty + ring_stage * 8, ring_phase);",
  "ring_at = ring_stage;",
  "if (++ring_stage == 2) { ring_stage = 0; ring_phase ^= 1; }",
  "ring_fill(0, (i32)ring_at, ring_full + ring_at * 8, ttid, 32, warp - 0, lane, ttid == 0, 0, wq_tile{wq_i}, (i32 *)w_ptr(ring_smem + ring_at * 512), x_, N, (wq_i * 128));",
  "w_sync_warp();",
  "if (lane == 0) w_mbar_arrive(ring_full + ring_at * 8);",
  "}",
}, role(threads:source(), "load"), "a warp fills: its lanes join before the elected arrive")
tap.is({
  "for (i32 wq_index = (i32)w_block(); wq_index < wq_tiles; wq_index += (i32)w_blocks()) {",
  "w_mbar_wait(ring_full + ring_stage * 8, ring_phase);",
  "ring_at = ring_stage;",
  "if (++ring_stage == 2) { ring_stage = 0; ring_phase ^= 1; }",
  "out_put(0, (i32)0, 0, ttid, 128, warp - 4, lane, ttid == 0, 0, wq_tile{wq_i}, y_, N, (const i32 *)w_ptr(ring_smem + ring_at * 512), (wq_i * 128));",
  "w_sync_warp();",
  "if (lane == 0) w_mbar_arrive(ring_empty + ring_at * 8);",
  "}",
}, role(threads:source(), "put"), "four warps empty: each arrives once")

local function matches(text, pattern)
  local out = {}
  for row in text:gmatch(pattern) do out[#out + 1] = row end
  return out
end
tap.is({ "if (lane < 2) w_mbar_init(mbar + 0 + 8 * lane, 1);", "if (lane < 2) w_mbar_init(mbar + 16 + 8 * lane, 4);" },
  matches(threads:source(), "(if %(lane < %d+%) w_mbar_init[^\n]*)"), "the mbarriers count one warp, and four")

-- Other forms of the same roles, by the statements that differ.
local function statements(k, task, ...)
  local out = {}
  for _, row in ipairs(role(build(k):source(), task)) do
    for _, pattern in ipairs { ... } do
      if row:find(pattern) then out[#out + 1] = row end
    end
  end
  return out
end
tap.is({ "w_mbar_wait(a_empty + a_stage * 8, a_phase);", "w_mbar_wait(b_empty + b_stage * 8, b_phase);" },
  statements(lab.gemm { group = "none" }, "load", "mbar_wait"), "no group: two empty barriers")
tap.is({ "w_mbar_wait(a_full + a_stage * 8, a_phase);", "w_mbar_wait(b_full + b_stage * 8, b_phase);" },
  statements(lab.gemm { group = "none" }, "mma", "mbar_wait"), "no group: two full barriers")
tap.is({ "w_mbar_wait(ab_empty + ab_stage * 8, ab_phase);" }, statements(lab.gemm { group = "merge" }, "load", "mbar_wait"), "merge: one empty barrier")
tap.is({ "w_mbar_wait(ab_a_full + ab_stage * 8, ab_phase);", "w_mbar_wait(ab_b_full + ab_stage * 8, ab_phase);" },
  statements(lab.gemm { group = "merge" }, "mma", "mbar_wait"), "merge: a full barrier for each member")
tap.is({ "w_wgmma_wait<0>();", "if (wtid == 0) w_mbar_arrive(ab_empty + ab_at * 8);" },
  part(statements(lab.gemm { lag = 0 }, "mma", "wgmma_wait", "mbar_arrive"), "w_wgmma_wait", "if (wtid == 0) w_mbar_arrive"),
  "no lag: the stage just read is released, without a count of those held")
tap.is({ "w_mbar_wait(ab_full, ab_phase);", "ab_phase ^= 1;", "if (wtid == 0) w_mbar_arrive(ab_empty);" },
  statements(lab.gemm { stages = 1 }, "mma", "mbar_", "phase %^"), "one stage: no index, the parity alone")
do
  local k = lab.gemm { cluster = 2, warpgroups = 2, n = 128 }
  tap.is({
    "w_mbar_expect(ab_full + ab_stage * 8, 16384);",
    "w_tma_load(a_smem + ab_stage * 16384, &A_map, ab_full + ab_stage * 8, i0 * 64, wq_m * 128);",
    "w_mbar_expect(ab_full + ab_stage * 8, 16384);",
    "w_tma_load_multicast(b_smem + ab_at * 16384 + (u32)(i32)rank * 8192, &B_map, ab_full + ab_at * 8, (u16)0x3, i0 * 64, wq_n * 128 + (i32)rank * 64);",
  }, statements(k, "load", "w_mbar_expect", "w_tma_load"), "cluster: each CTA loads its half of B for both, each expects all of it")
  tap.is({ "if (wtid < 2) w_mbar_arrive_remote(ab_empty + ab_close * 8, wtid);", "if (wtid < 2) w_mbar_arrive_remote(ab_empty + ab_close * 8, wtid);" },
    statements(k, "mma", "arrive_remote"), "cluster: a warpgroup releases to both CTAs")
  local calls = {}
  for _, name in ipairs(matches(build(k):source(), "(w_[%w_]+<?%d*>?)%(%)")) do
    if name:find "cluster_[aw]" or name:find "reg_" or name:find "mbar_init" then calls[#calls + 1] = name end
  end
  tap.is({ "w_fence_mbar_init", "w_cluster_arrive_relaxed", "w_cluster_wait", "w_reg_dec<40>", "w_reg_inc<232>", "w_cluster_arrive", "w_cluster_wait" },
    calls, "cluster: mbarriers ready in every CTA, registers split, nobody leaves early")
end

-- ---- names and places -----------------------------------------------------------------------------------------------------------
for _, name in ipairs { "a_smem", "b_smem", "stage_smem", "ab_full", "ab_empty", "A_map", "B_map", "D_map", "float acc[32]", "wq_m", "wq_n",
  "// task load: warps 0 to 0", "// task mma: warps 4 to 7", "// kernel gemm:", "i32 M,", "i32 N,", "i32 K)" } do
  tap.like(name, source, "the author's name: " .. name)
end

-- Where `#line` says that a row stands. Every body is at its own line of this repository's t/lab.lua; all other rows count on.
do
  local file, number, bodies, strays = nil, 0, {}, {}
  local first
  local at = 0
  for row in threads:source():gmatch "[^\n]*" do
    local l, f = row:match '^#line (%d+) "(.*)"$'
    if first then at = at + 1 end
    if l then
      file, number = f, tonumber(l)
      first = first or true
    else
      if file == "threads.cu" and number ~= at then strays[#strays + 1] = ("%d is called %d: %s"):format(at, number, row) end
      if file ~= "threads.cu" then bodies[#bodies + 1] = { file = file, line = number, text = row } end
      number = number + 1
    end
  end
  tap.is({}, strays, "#line: the text's own rows keep their numbers")
  tap.is(2, #bodies, "#line: two bodies of one row")
  for _, body in ipairs(bodies) do
    local n, found = 0, nil
    for row in io.lines(body.file) do
      n = n + 1
      if n == body.line then found = row end
    end
    tap.ok(found and found:find(body.text:gsub("%s+$", ""), 1, true), ("#line %d: the author's row: %s"):format(body.line, body.text))
  end
end

-- ---- the same text for the same script --------------------------------------------------------------------------------------------
tap.is(source, build(lab.gemm()):source(), "two builds give the same bytes")
do
  local others = { lab.tma_copy(), lab.gemm { cluster = 2 }, lab.thread_copy(3, 8), lab.gemm { group = "none", dtype = "f16" } }
  for _, k in ipairs(others) do build(k) end
  tap.is(source, build(lab.gemm()):source(), "kernel B after kernel A is kernel B alone")
  local function alone(expression)
    local lua = os.getenv "WEIR_LUA" or "lua5.4"
    local f = assert(io.popen(([[%s -e 'package.path = "t/?.lua;" .. package.path; local lab = require "lab"; io.write(lab.%s:build { device = lab.device() }:source())' 2>&1]])
      :format(lua, expression)))
    local text = f:read "a"
    f:close()
    return text
  end
  tap.is(source, alone "gemm()", "another process gives the same bytes")
  tap.is(build(others[2]):source(), alone "gemm { cluster = 2 }", "a kernel with a cluster, built third here, first there")
  local k = lab.gemm()
  k:verify()
  k:verify { prove = false }
  tap.is(source, build(k):source(), "verified before, built after")
end

-- Renamed objects, permuted tasks: names and order change, nothing else.
do
  local function rename(s) return "z" .. s .. "_q" end
  local k = lab.gemm { name = rename }
  local back = build(k):source():gsub("zab_q_za_q", "ab_a"):gsub("zab_q_zb_q", "ab_b"):gsub("z(%w+)_q", "%1")
  tap.is(source, back, "other names, the same text but for the names")
  local swapped = build(lab.gemm { consumer_first = true })
  local text = swapped:source()
  for _, task in ipairs { "load", "mma" } do
    local function bare(rows)
      for i, row in ipairs(rows) do rows[i] = row:gsub("^%s*", "") end
      return rows
    end
    tap.is(bare(role(source, task)), bare(role(text, task)), "tasks in another order: the role of " .. task)
  end
  local function head(t)
    local out = matches(t:match "^(.-)    W_AT", "[^\n,]+")
    table.sort(out)
    return out
  end
  tap.is(head(source), head(text), "and the memory map, and the parameters but for their order")
  tap.is({ true, "" }, { lab.run_gemm(swapped, 64, 64, 130) }, "and the result")
  for _, what in ipairs { "bars", "smem", "cursors" } do
    local function sorted(p)
      local out = {}
      for _, row in ipairs(lab.rows(p, what, "name", what ~= "cursors" and "offset" or "stages", "stages")) do
        out[#out + 1] = ("%s %s %s"):format(row.name, row.offset or "", row.stages)
      end
      table.sort(out)
      return out
    end
    tap.is(sorted(gemm), sorted(swapped), "and the plan's " .. what)
  end
end

-- Names that the emitted text uses itself.
do
  local words = { gemm = "main", M = "row", N = "col", K = "rank", A = "x", B = "at", D = "out", wq = "tile", ga = "wg", gb = "warp", gd = "lane",
    a = "i", b = "mbar", ab = "kk", stage = "q", acc = "a", load = "w", mma = "smem" }
  local function hostile(o)
    o.name = function(s) return words[s] end
    return build(lab.gemm(o))
  end
  local dev = lab.device()
  local a = dev:tensor { dtype = "bf16", shape = { 64, 100 } }:randn(3)
  local b = dev:tensor { dtype = "bf16", shape = { 64, 100 } }:randn(4)
  local want = dev:tensor { dtype = "bf16", shape = { 64, 64 } }:fill(0)
  assert(gemm:launch { A = a, B = b, D = want })
  local function try(what, o)
    local d = dev:tensor { dtype = "bf16", shape = { 64, 64 } }:fill(0)
    local ok, message = hostile(o):launch { [words.A] = a, [words.B] = b, [words.D] = d }
    tap.is("", ok and "" or message, what .. ": runs")
    tap.is(want:get(), d:get(), what .. ": the same numbers")
  end
  try("names of the text's own variables", {})
  try("and with plain stores", { epilogue = "plain" })
  words.acc, words.M, words.N, words.K, words.D = "x", "f", "j", "h", "pairs"
  try("others of them", {})
  try("others of them, with plain stores", { epilogue = "plain" })
end

-- ---- NVRTC ------------------------------------------------------------------------------------------------------------------------
local function complaints(k)
  local p = build(k)
  local cubin, message, code = p:cubin()
  if not cubin then return code == "no_compiler" and code or "not compiled: " .. message end
  local log, out = p:log(), {}
  if not log:find("ptxas info", 1, true) then out[#out + 1] = "the log is not kept" end
  for row in log:gmatch "[^\n]+" do
    if row:find "[Ww]arning" or row:find "C75%d%d" or row:find "error" then out[#out + 1] = row end
    local stores, loads = row:match "(%d+) bytes spill stores, (%d+) bytes spill loads"
    if stores and (stores ~= "0" or loads ~= "0") then out[#out + 1] = row end
  end
  if not log:find("0 bytes spill stores, 0 bytes spill loads", 1, true) then out[#out + 1] = "no row about spills" end
  return table.concat(out, "\n"), p
end
local forms = {
  { "GEMM 64 x 64", {} },
  { "GEMM 128 x 256, two warpgroups", { warpgroups = 2, n = 256, stages = 4 } },
  { "GEMM 128 x 256, cluster of 2", { warpgroups = 2, n = 256, stages = 4, cluster = 2 } },
  { "GEMM 128 x 256, cluster of 2, the first CTA loads B", { warpgroups = 2, n = 256, stages = 4, cluster = 2, issue = "first" } },
  { "GEMM without lag", { lag = 0 } }, { "GEMM with one stage", { stages = 1 } },
  { "GEMM with plain stores, f16", { epilogue = "plain", dtype = "f16", group = "none" } },
}
if complaints(lab.gemm(forms[1][2])) == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then
  tap.skip("no NVRTC", #forms + 3)
else
  for _, form in ipairs(forms) do tap.is("", (complaints(lab.gemm(form[2]))), "NVRTC: " .. form[1] .. ": no warning, no spill, no C75xx") end
  tap.is("", (complaints(lab.tma_copy())), "NVRTC: copy through TMA")
  tap.is("", (complaints(lab.thread_copy())), "NVRTC: copy by threads")
  -- The accumulator read before the wait: ptxas serialises, and says so.
  local p = build(lab.gemm())
  plan.run_text(p, lab.edit(p:source(), "w_wgmma_wait<1>();", "if (K == 77) D_stride[0] = acc[0]; w_wgmma_wait<1>();"):gsub("i32 K%) {", "i32 K, float *D_stride) {"))
  local cubin, message = p:cubin()
  tap.ok(cubin, "an edited text compiles" .. (cubin and "" or ": " .. message))
  tap.matches("C75%d%d", p:log(), "and the log tells of a serialised wgmma")
end

-- However an integer is negated, ptxas must not see it: it loses the sign in max(max(x, -y), z) (weir_cuda.h, w_neg).
for name, f in pairs { ["-x"] = function(x) return -x end, ["0 - x"] = function(x) return 0 - x end, ["x * -1"] = function(x) return x * -1 end,
                       ["-1 * x"] = function(x) return -1 * x end, ["abs(x)"] = function(x) return lab.weir.abs(x) end } do
  for _, dtype in ipairs { "i32", "i16", "i64", "f32" } do
    local k = lab.weir.kernel { name = "negated", arch = "sm_90a" }
    local X, Y = k:tensor { name = "X", dtype = dtype, shape = { 64 } }, k:tensor { name = "Y", dtype = dtype, shape = { 64 }, out = true }
    local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64 } }
    k:task { name = "t", warps = { 0, 1 }, schedule = function() gy:store(lab.weir.cast(f(gx:at(0):load()), dtype), gy:at(0)) end }
    tap.is(dtype == "i32" or dtype == "i16", k:source():find("w_neg(", 1, true) ~= nil, ("%s of %s: %s"):format(name, dtype, dtype:find "^i[13]" and "hidden" or "plain"))
  end
end

-- A reduction along rows that no register tile holds has no text: it is refused, in every place, and of registers it is not.
for name, f in pairs { ["of a load"] = function(v) return v:row_sum(1) end, ["of a product"] = function(v) return (v * v):row_max(1) end,
                       ["inside"] = function(v, q) return q + lab.weir.exp(v):row_min(1) end, ["of registers"] = function(v, q) return (v * q):row_sum(1) end } do
  local k = lab.weir.kernel { name = "bare", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, k:tensor { name = "Y", dtype = "f32", shape = { 64, 64 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
  local q, r = k:reg_tile { name = "q", dtype = "f32", tile = { 64, 64 } }, k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    q:set(gx:at(0, 0):load()); r:zero(); r:set(r:read() + f(gx:at(0, 0):load(), q:read())); gy:store(r:read(), gy:at(0, 0))
  end }
  local text = tostring(k:verify())
  local told = text:find("takes a row reduction of a value that no register tile holds", 1, true) ~= nil
  tap.is(name ~= "of registers", told, "a row reduction " .. name)
end

-- What threads read of a stage they must have before the stage goes back to the copy engine: an arrive does not wait for loads, and the
-- async proxy does not queue behind them (t/gpu/random.t 259-265 x20 fails without the fence). Threads that fill it again do.
do
  local function held(pipe, set)
    local k = lab.weir.kernel { name = "held", arch = "sm_90a" }
    local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, k:tensor { name = "Y", dtype = "f32", shape = { 64, 64 }, out = true }
    local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
    local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = lab.weir.pipeline[pipe] { stages = 1 } }
    local r = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }
    local c = k:resource { name = "c", work = { first = lab.weir.consumer_work { params = "view v", returns = "f32 x", code = "x = v[tid];" } } }
    k:task { name = "fill", warps = { 4, 1 }, schedule = function() s:acquire(); if pipe == "tma_async" then s:tma_load(gx:at(0, 0)) else s:store(gx:at(0, 0)) end s:commit() end }
    k:task { name = "take", warps = { 0, 4 }, schedule = function()
      s:wait()
      if set == "set" then r:set(s:read():load()) elseif set == "body" then r:zero(); r:set(r:read() + c:first(s:read())) else gy:store(s:read(), gy:at(0, 0)) end
      s:release()
      if set then gy:store(r:read(), gy:at(0, 0)) end
    end }
    local text = k:source()
    local at, release = text:find("w_fence_async();", 1, true), text:find("w_mbar_arrive(s_empty", 1, true)
    return at and (release > at and "before the release" or "behind it") or "none"
  end
  tap.is("before the release", held("tma_async", "set"), "a register tile set from a stage that TMA fills: the loads are over")
  tap.is("before the release", held("tma_async", "body"), "so are those of a body that returns what it read")
  tap.is("before the release", held("tma_async"), "and those of a store")
  -- what threads fill and read in bytes that TMA fills in another phase of an alias group
  local k = lab.weir.kernel { name = "mates", arch = "sm_90a" }
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { 64, 64 } }, k:tensor { name = "Y", dtype = "f32", shape = { 64, 64 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 64, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 64, 64 }, pipeline = lab.weir.pipeline.async_async { stages = 1 } }
  local mate = k:smem_tile { name = "mate", dtype = "f32", tile = { 64, 64 }, pipeline = lab.weir.pipeline.tma_async { stages = 1 } }
  local plain = k:smem_tile { name = "plain", dtype = "f32", tile = { 64, 64 }, pipeline = lab.weir.pipeline.async_async { stages = 1 } }
  k:alias { { s }, { mate } }
  k:task { name = "fill", warps = { 4, 1 }, schedule = function()
    for _, x in ipairs { s, plain } do x:acquire(); x:store(gx:at(0, 0)); x:commit() end
    mate:acquire(); mate:tma_load(gx:at(0, 0)); mate:commit()
  end }
  k:task { name = "take", warps = { 0, 4 }, schedule = function()
    for _, x in ipairs { s, plain, mate } do x:wait(); gy:store(x:read(), gy:at(0, 0)); x:release() end
  end }
  local function fenced(r) return k:explain(r):match "release[^%a]+take[^%a]+every thread fences" ~= nil end
  tap.is({ true, false, true }, { fenced(s), fenced(plain), fenced(mate) }, "mates of an alias group that TMA fills count, others do not")
  tap.is("none", held("async_async", "set"), "a stage that threads fill: nothing")
end
tap.done()
