#!/usr/bin/env lua5.4
-- mma.sync in the simulator: fragments against the element by element formulas of the PTX ISA, numbers against exact ones, what is
-- found, and a whole GEMM. (t/sim/layouts.t compares the same instructions with an H200.)
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local dev = lab.device()

-- Warps that run a body with x { 256 } to read and y { 256 } to write, u32.
local bodies = require "bodies" (function(code)
  local k = weir.kernel { name = "warp", arch = "sm_90a" }
  local X = k:tensor { name = "x", dtype = "u32", shape = { 256 } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { 256 }, out = true }
  local which = k:scalar { name = "which", dtype = "i32" }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 1024 }, bind = { x = X, y = Y },
    work = { run = weir.producer_work { params = "i32 which", code = code } } }
  k:task { name = "one", warps = { 0, 1 }, schedule = function() s:run(which) end }
  return k:build { device = dev }
end, function(program, which, words, device)
  local d = device or dev
  words = table.move(words, 1, #words, 1, {})
  while #words < 256 do words[#words + 1] = 0 end
  local x, y = d:tensor { dtype = "u32", shape = { 256 } }:set(words), d:tensor { dtype = "u32", shape = { 256 } }:fill(0)
  local ok, message = program:launch({ x = x, y = y, which = which }, { device = d, grid = 1 })
  return ok and y:get() or nil, tostring(message)
end)
local launch, later = bodies.launch, bodies.later

-- ---- fragments: row and column (k) of element i in lane l, as the tables of "Matrix Fragments for mma" give them -------------------------
local g, q = function(l) return l // 4 end, function(l) return l % 4 end
local f16 = {
  [16] = { a = function(l, i) return g(l) + (i // 2 % 2 == 1 and 8 or 0), q(l) * 2 + i % 2 + (i >= 4 and 8 or 0) end,
           b = function(l, i) return q(l) * 2 + i % 2 + (i >= 2 and 8 or 0), g(l) end, na = 8, nb = 4 },
  [8] = { a = function(l, i) return g(l) + (i < 2 and 0 or 8), q(l) * 2 + i % 2 end, b = function(l, i) return q(l) * 2 + i, g(l) end, na = 4, nb = 2 },
}
local tf32 = {
  [8] = { a = function(l, i) return g(l) + (i % 2 == 1 and 8 or 0), q(l) + (i >= 2 and 4 or 0) end, b = function(l, i) return q(l) + 4 * i, g(l) end, na = 4, nb = 2 },
  [4] = { a = function(l, i) return g(l) + 8 * i, q(l) end, b = function(l) return q(l), g(l) end, na = 2, nb = 1 },
}
local i8 = {
  [32] = { a = function(l, i) return g(l) + ((i < 4 or (i >= 8 and i < 12)) and 0 or 8), q(l) * 4 + i % 4 + (i < 8 and 0 or 16) end,
           b = function(l, i) return q(l) * 4 + i % 4 + (i < 4 and 0 or 16), g(l) end, na = 16, nb = 8 },
  [16] = { a = function(l, i) return g(l) + (i < 4 and 0 or 8), q(l) * 4 + i % 4 end, b = function(l, i) return q(l) * 4 + i, g(l) end, na = 8, nb = 4 },
}
local f64 = { [4] = { a = function(l) return g(l), q(l) end, b = function(l) return q(l), g(l) end, na = 1, nb = 1 } }
local function sums(l, i) return g(l) + (i < 2 and 0 or 8), q(l) * 2 + i % 2 end

-- Elements as bits, and the same as a C expression's value; integers of -span to span.
local function bits(dtype)
  local f = { bf16 = function(v) return string.unpack("<I4", string.pack("<f", v)) >> 16 end, f16 = function(v) return string.unpack("<I2", require "layouts".half(v)) end,
    tf32 = function(v) return string.unpack("<I4", string.pack("<f", v)) end, s8 = function(v) return v & 255 end, u8 = function(v) return v & 255 end,
    f64 = function(v) return string.unpack("<I8", string.pack("<d", v)) end }
  for _, name in ipairs { "e4m3", "e5m2" } do
    local e, bias = tonumber(name:sub(2, 2)), ({ e4m3 = 7, e5m2 = 15 })[name]
    f[name] = function(v)
      if v == 0 then return 0 end
      local m, x = math.abs(v), 0
      while m >= 2 do m, x = m / 2, x + 1 end
      return (v < 0 and 128 or 0) | (x + bias) << (7 - e) | math.floor((m - 1) * (1 << (7 - e)))
    end
  end
  return f[dtype]
end
local size = { bf16 = 2, f16 = 2, tf32 = 4, s8 = 1, u8 = 1, e4m3 = 1, e5m2 = 1, f64 = 8 }
local span = { bf16 = 16, f16 = 16, tf32 = 100, s8 = 128, u8 = 255, e4m3 = 8, e5m2 = 4, f64 = 1000 }

local function check_now(call, K, ta, tb, layout, sum, most)
  math.randomseed(K, #call)
  local rows = sum == "f64" and 8 or 16
  local A, B, C = {}, {}, {}
  local function number(t) local n = most or span[t]; return t == "u8" and math.random(0, n) or math.random(-n, n - (t == "s8" and 1 or 0)) end
  for r = 0, rows - 1 do A[r] = {} for k = 0, K - 1 do A[r][k] = number(ta) end end
  for k = 0, K - 1 do B[k] = {} for c = 0, 7 do B[k][c] = number(tb) end end
  for r = 0, rows - 1 do C[r] = {} for c = 0, 7 do C[r][c] = math.random(-50, 50) end end
  local f = layout[K]
  local wa, wb, words = f.na * size[ta] // 4, f.nb * size[tb] // 4, {}
  for l = 0, 31 do
    local s = ""
    for i = 0, f.na - 1 do local r, k = f.a(l, i); s = s .. string.pack("<I" .. size[ta], bits(ta)(A[r][k])) end
    for i = 0, f.nb - 1 do local k, c = f.b(l, i); s = s .. string.pack("<I" .. size[tb], bits(tb)(B[k][c])) end
    for at = 1, #s, 4 do words[#words + 1] = string.unpack("<I4", s, at) end
  end
  local per = wa + wb
  local nd, ctype = sum == "f64" and 2 or 4, ({ f32 = "float", i32 = "i32", f64 = "double" })[sum]
  local load
  if sum == "f64" then load = "double v[2], d[2]; memcpy(v, x + 4 * lane, 16);"
  else load = ("u32 v[%d]; for (u32 i = 0; i < %d; i++) v[i] = x[%d * lane + i]; const u32 *a = v, *b = v + %d;"):format(per, per, per, wa) end
  local start = {}                                          -- C, each element in its lane
  for l = 0, 31 do for i = 0, nd - 1 do local r, c = sums(l, i); start[#start + 1] = C[r][c] end end
  local table_c = ("static const i32 start[] = { %s };"):format(table.concat(start, ", "))
  local body
  if sum == "f16" then
    body = ("%s %s u32 d[2]; for (u32 i = 0; i < 2; i++) d[i] = w_pack_f16((float)start[4 * lane + 2 * i], (float)start[4 * lane + 2 * i + 1]); %s; for (u32 i = 0; i < 4; i++) y[4 * lane + i] = (u32)(i32)w_unpack_f16(d[i / 2], i %% 2);"):format(table_c, load, call)
  else
    body = ("%s %s %s for (u32 i = 0; i < %d; i++) d[i] = (%s)start[%d * lane + i]; %s; for (u32 i = 0; i < %d; i++) y[%d * lane + i] = (u32)(i32)d[i];"):format(
      table_c, load, sum == "f64" and "" or ctype .. " d[4];", nd, ctype, nd, call, nd, nd)
  end
  local got, message = launch(body, words)
  if not got then return tap.ok(false, call .. ": " .. message) end
  local wrong = {}
  for l = 0, 31 do
    for i = 0, nd - 1 do
      local r, c = sums(l, i)
      local s = C[r][c]
      for k = 0, K - 1 do s = s + A[r][k] * B[k][c] end
      if got[nd * l + i + 1] ~= s & 0xffffffff then wrong[#wrong + 1] = ("lane %d element %d is %d, should be %d"):format(l, i, got[nd * l + i + 1], s) end
    end
  end
  tap.is({}, { wrong[1] }, call)
end

local function check(...) local given = table.pack(...); later(function() check_now(table.unpack(given, 1, given.n)) end) end
for _, t in ipairs { "bf16", "f16" } do for _, K in ipairs { 16, 8 } do check(("w_mma<%d, W_%s>(d, a, b)"):format(K, t:upper()), K, t, t, f16, "f32") end end
for _, K in ipairs { 8, 4 } do check(("w_mma<%d, W_TF32>(d, a, b)"):format(K), K, "tf32", "tf32", tf32, "f32") end
for _, p in ipairs { { "E4M3", "e4m3", "e4m3" }, { "E5M2", "e5m2", "e5m2" }, { "E4M3_E5M2", "e4m3", "e5m2" }, { "E5M2_E4M3", "e5m2", "e4m3" } } do
  check(("w_mma<32, W_%s>(d, a, b)"):format(p[1]), 32, p[2], p[3], i8, "f32")
end
for _, K in ipairs { 16, 8 } do check(("w_mma_f16<%d>(d, a, b)"):format(K), K, "f16", "f16", f16, "f16", 8) end
for _, K in ipairs { 32, 16 } do
  for _, ta in ipairs { "s8", "u8" } do
    for _, tb in ipairs { "s8", "u8" } do check(("w_mma_i32<%d, W_%s, W_%s>(d, a, b)"):format(K, ta:upper(), tb:upper()), K, ta, tb, i8, "i32") end
  end
end
check("w_mma_f64(d, v[0], v[1])", 4, "f64", "f64", f64, "f64")

-- ---- numbers -----------------------------------------------------------------------------------------------------------------------------
-- 2^24 + 1 + 1 + ... needs more than f32's bits until the end; a sum of f32 in steps would lose every 1
local one = "u32 a[4], b[2]; for (u32 i = 0; i < 4; i++) a[i] = 0x3f803f80; for (u32 i = 0; i < 2; i++) b[i] = 0x3f803f80; float d[4] = { 16777216.f, 0.f, 0.f, 0.f };"
later(function() tap.is(0x4b800008, (launch(one .. "w_mma<16, W_BF16>(d, a, b); y[lane] = __float_as_uint(d[0]);", {}) or {})[1], "the sum of one instruction is rounded once") end)
later(function() tap.is(0x80000010, (launch("u32 a[4], b[2]; for (u32 i = 0; i < 4; i++) a[i] = 0x01010101; for (u32 i = 0; i < 2; i++) b[i] = 0x01010101; i32 d[4] = { 0x7ffffff0, 0, 0, 0 }; w_mma_i32<32, W_S8, W_S8>(d, a, b); y[lane] = (u32)d[0];", {}) or {})[1], "integers wrap") end)
later(function() tap.is(0x7c00, (launch("u32 a[4], b[2], d[2] = { 0x7bff, 0 }; for (u32 i = 0; i < 4; i++) a[i] = 0x5c005c00; b[0] = b[1] = 0x5c005c00; w_mma_f16<16>(d, a, b); y[lane] = d[0] & 0xffff;", {}) or {})[1], "f16 sums overflow to infinity") end)
later(function() tap.is(0x7fffffff, (launch(one:gsub("16777216.f", "__uint_as_float(0xff800000)") .. "a[0] = 0x7f807f80; w_mma<16, W_BF16>(d, a, b); y[lane] = __float_as_uint(d[0]);", {}) or {})[1], "infinities of two signs give the one NaN") end)

-- movmatrix, and ldmatrix of one matrix and of two: rows of 16 bytes
local matrix = "for (u32 i = lane; i < 256; i += 32) ((u32 *)smem)[i] = 2 * i | (2 * i + 1) << 16; w_sync_warp(); const u32 at = w_smem_base() + 16 * lane;"
local function words_of(f) local t = {} for l = 0, 31 do t[#t + 1] = f(l) end return t end
local function first(got, message) return got and table.move(got, 1, 32, 1, {}) or message end
local function pair(lo, hi) return lo | hi << 16 end
later(function() tap.is(words_of(function(l) return pair(8 * (l // 4) + 2 * (l % 4), 8 * (l // 4) + 2 * (l % 4) + 1) end), first(launch(matrix .. "u32 r[1]; w_ldmatrix1(at, r); y[lane] = r[0];", {})), "ldmatrix x1") end)
later(function() tap.is(words_of(function(l) return pair(16 * (l % 4) + l // 4, 16 * (l % 4) + 8 + l // 4) end), first(launch(matrix .. "u32 r[1]; w_ldmatrix1t(at, r); y[lane] = r[0];", {})), "ldmatrix x1 trans") end)
later(function() tap.is(words_of(function(l) return pair(16 * (l % 4) + l // 4, 16 * (l % 4) + 8 + l // 4) end), first(launch(matrix .. "u32 r[1]; w_ldmatrix1(at, r); y[lane] = w_movmatrix(r[0]);", {})), "movmatrix transposes") end)
later(function() tap.is(words_of(function(l) return pair(64 + 8 * (l // 4) + 2 * (l % 4), 64 + 8 * (l // 4) + 2 * (l % 4) + 1) end), first(launch(matrix .. "u32 r[2]; w_ldmatrix2(at, r); y[lane] = r[1];", {})), "ldmatrix x2") end)
later(function() tap.is(words_of(function(l) return pair(2 * l, 2 * l + 1) end), first(launch(matrix .. "u32 r[2]; w_ldmatrix2t(at, r); w_sync_warp(); w_stmatrix2t(at, r[0], r[1]); w_sync_warp(); y[lane] = ((u32 *)smem)[lane];", {})), "stmatrix x2 trans undoes ldmatrix x2 trans") end)
later(function() tap.is(words_of(function(l) return pair(2 * l, 2 * l + 1) end), first(launch(matrix .. "u32 r[1]; w_ldmatrix1t(at, r); w_sync_warp(); w_stmatrix1t(at, r[0]); w_sync_warp(); y[lane] = ((u32 *)smem)[lane];", {})), "stmatrix x1 trans undoes ldmatrix x1 trans") end)
later(function() tap.is(words_of(function(l) return pair(2 * l, 2 * l + 1) end), first(launch(matrix .. "u32 r[1]; w_ldmatrix1(at, r); w_sync_warp(); w_stmatrix1(at, r[0]); w_sync_warp(); y[lane] = ((u32 *)smem)[lane];", {})), "stmatrix x1") end)

-- ---- findings ----------------------------------------------------------------------------------------------------------------------------
local function finds(name, code, ...)
  local parts = { ... }
  later(function()
    local got, message = launch(code, {}, weir.device("sim", { seed = 5 }))
    tap.ok(not got, name)
    for _, part in ipairs(parts) do tap.like(part, message, name .. ": " .. part) end
  end)
end
finds("an mma.sync by some lanes", one .. "if (lane < 9) w_sync_warp(); else w_mma<16, W_BF16>(d, a, b); y[lane] = (u32)d[0];", "[sim-warp]", "the warp has diverged", "mma.sync")
finds("an mma.sync that one lane leaves out", one .. "if (lane != 7) w_mma<16, W_BF16>(d, a, b); y[lane] = (u32)d[0];", "[sim-deadlock]", "the other lanes of its warp")
finds("lanes at two shapes", one .. "if (lane < 9) w_mma<8, W_BF16>(d, a, b); else w_mma<16, W_BF16>(d, a, b); y[lane] = (u32)d[0];", "[sim-warp]", "is at mma.sync, lane", "at mma.sync of another type or shape")
finds("sums that nobody has set", one:gsub("float d.*$", "float d[4]; if (x[0] == 9) d[1] = 0;") .. "w_mma<16, W_BF16>(d, a, b); y[lane] = (u32)d[0];", "[sim-uninit]", "register 0 of the sum of an mma.sync holds the value of a variable that nothing has set")
finds("an operand that nobody has set", one:gsub("b%[i%] =", "if (x[0] == 9) b[i] =") .. "w_mma<16, W_BF16>(d, a, b); y[lane] = (u32)d[0];", "[sim-uninit]", "of B of an mma.sync")
finds("an address that is not shared memory", "y[0] = w_addr(x);", "[sim-bounds]", "the address behind a pointer to")

bodies.go()

-- ---- a whole GEMM ------------------------------------------------------------------------------------------------------------------------
local describe = loadfile "examples/mma_sync.lua" "describe"
for _, arch in ipairs { "sm_80", "sm_90a", "sm_100a" } do
  local p = describe(arch):build { device = dev }
  tap.is("SAFE", describe(arch):verify().proof.verdict, "the GEMM of examples/mma_sync.lua is proved for " .. arch)
  local cubin, why, code = p:cubin()
  if not cubin and code == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then tap.skip(why) else
    tap.ok(cubin, "it compiles for " .. arch .. " " .. tostring(why))
    tap.like("0 bytes spill stores, 0 bytes spill loads", tostring(p:log()), "without spills")
  end
  for _, mutant in ipairs(arch == "sm_100a" and {} or { -- a's free stage says that b's is read too, and b's arrive comes after all of a's copies: those two waits order
    { "w_mbar_wait%(b_full", "the wait for B", "'b' stage" }, { "w_mbar_wait%(a_empty", "the wait for a free stage of A", "'a' stage" },
    { "w_mbar_wait%(a_full", "the wait for A" }, { "w_mbar_wait%(b_empty", "the wait for a free stage of B" } }) do
    local broken = describe(arch):build { device = dev }
    local text, n = broken:source():gsub(mutant[1] .. "[^;]*;", ";", 1)
    assert(n == 1, mutant[1])
    lab.plan.run_text(broken, text)
    local m, nn, kk = 64, 64, 512
    local a, b = dev:tensor { dtype = "bf16", shape = { m, kk } }:randn(1), dev:tensor { dtype = "bf16", shape = { nn, kk } }:randn(2)
    local d = dev:tensor { dtype = "f32", shape = { m, nn } }:fill(0)
    local ok, message = broken:launch({ A = a, B = b, D = d }, { device = dev, grid = 1 })
    local name = ("without %s, %s"):format(mutant[2], arch)
    if not mutant[3] then tap.is({ true }, { ok, message }, name .. ": nothing is lost")
    else tap.like(mutant[3], tostring(message), name .. ": " .. mutant[3]) end
  end
end
tap.done()
