#!/usr/bin/env lua5.4
-- Block-scaled mmas and copies to tensor memory (sm_100a) in bodies: numbers against exact ones, where a copy's rows go, what is found.
-- The model is not checked on hardware: docs/blackwell.md.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir

-- 128 threads; x to read, y to write, u32; 16 KiB of shared memory at `at`, an mbarrier at `done`; `tmem`: 512 columns that are `open`ed and `close`d
local prelude = [[
  const u32 at = w_smem_base(), done = at + 15872, slot = at + 15880;
  if (tid == 0) { w_mbar_init(done, 1); w_fence_mbar_init(); }
]]
local open = [[
  if (warp == 0) w_tmem_alloc(slot, 512);
  w_tcgen05_before(); task_sync(); w_tcgen05_after();
  const u32 tmem = *(u32 *)w_ptr(slot);
]]
local close = " w_tcgen05_before(); task_sync(); w_tcgen05_after(); if (warp == 0) w_tmem_free(tmem, 512);"
local compiled = {}
local bodies = require "bodies" (function(code)
  local k = weir.kernel { name = "scaled", arch = "sm_100a" }
  local X = k:tensor { name = "x", dtype = "u32", shape = { k:dim "N" } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { k:dim "M" }, out = true }
  local which = k:scalar { name = "which", dtype = "i32" }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 16384 }, bind = { x = X, y = Y },
    work = { run = weir.producer_work { params = "i32 which", code = prelude .. code } } }
  k:task { name = "one", warps = { 0, 4 }, schedule = function() s:run(which) end }
  compiled[#compiled + 1] = k:build { device = lab.device() }
  return compiled[#compiled]
end, function(program, which, words, n, seed)
  local dev = weir.device("sim", { seed = seed or 9 })
  local x, y = dev:tensor { dtype = "u32", shape = { #words } }:set(words), dev:tensor { dtype = "u32", shape = { n } }:fill(0)
  local ok, message = program:launch({ x = x, y = y, which = which }, { device = dev, grid = 1 })
  return ok and y:get() or nil, tostring(message)
end)
local launch, later = bodies.launch, bodies.later

-- ---- numbers -----------------------------------------------------------------------------------------------------------------------------
local fp4 = { [0] = 0, 0.5, 1, 1.5, 2, 3, 4, 6 }
local function e4m3(v) local m, e = math.abs(v), 0; if v == 0 then return 0 end; while m >= 2 do m, e = m / 2, e + 1 end; while m < 1 do m, e = m * 2, e - 1 end
  return (v < 0 and 128 or 0) | (e + 7) << 3 | math.floor((m - 1) * 8) end
local function e5m2(v) local m, e = math.abs(v), 0; if v == 0 then return 0 end; while m >= 2 do m, e = m / 2, e + 1 end
  return (v < 0 and 128 or 0) | (e + 15) << 2 | math.floor((m - 1) * 4) end

-- A of 128 rows, B of n, each of 32 bytes; a word of scales a row, of which `count` from byte `id` count
local function inputs(o)
  math.randomseed(o.n, o.count)
  local words, A, B, SA, SB = {}, {}, {}, {}, {}
  local function rows(count, type, out)
    for r = 0, count - 1 do
      out[r] = {}
      local bytes = {}
      for i = 0, 31 do
        if type == "e2m1" then
          local lo, hi = math.random(0, 15), math.random(0, 15)
          for h, v in ipairs { lo, hi } do out[r][2 * i + h - 1] = (v >= 8 and -1 or 1) * fp4[v & 7] end
          bytes[i + 1] = string.char(lo | hi << 4)
        else
          local v = math.random(-4, 4)
          out[r][i] = v
          bytes[i + 1] = string.char(type == "e4m3" and e4m3(v) or e5m2(v))
        end
      end
      for w in table.concat(bytes):gmatch "...." do words[#words + 1] = string.unpack("<I4", w) end
    end
  end
  local function scales(count, id, out)
    for r = 0, count - 1 do
      local word = 0xa5a5a5a5                              -- what is not a scale of this mma
      out[r] = {}
      for j = 0, o.count - 1 do
        local e = math.random(-2, 2)
        out[r][j] = o.ue4m3 and ({ 0.5, 1, 1.5, 2, 3 })[e + 3] or 2.0 ^ e
        word = word & ~(255 << 8 * (id + j)) | (o.ue4m3 and e4m3(out[r][j]) or 127 + e) << 8 * (id + j)
      end
      words[#words + 1] = word
    end
  end
  rows(128, o.a, A) rows(o.n, o.b, B) scales(128, o.ida, SA) scales(o.n, o.idb, SB)
  return words, A, B, SA, SB
end

-- operands as core matrices without swizzle, scales as a copy of 32 x 128b takes them
local function fill(n) return ([[
  const u32 sa = at + 12288, sb = at + 12800;
  for (u32 i = tid; i < (128 + %d) * 8; i += nthreads) {
    const u32 r = i / 8, w = i %% 8;
    *(u32 *)w_ptr(at + r / 8 * 256 + r %% 8 * 16 + w / 4 * 128 + w %% 4 * 4) = x[i];
  }
  for (u32 i = tid; i < 128 + %d; i += nthreads) {
    const u32 r = i < 128 ? i : i - 128, l = r %% 32;
    *(u32 *)w_ptr((i < 128 ? sa : sb + r / 128 * 512) + l / 8 * 128 + l %% 8 * 16 + r %% 128 / 32 * 4) = x[(128 + %d) * 8 + i];
  }
  for (u32 i = 128 + %d + tid; i < 128 + (%d + 127) / 128 * 128; i += nthreads) {   // rows of scales that no mma takes
    const u32 r = i - 128, l = r %% 32;
    *(u32 *)w_ptr(sb + r / 128 * 512 + l / 8 * 128 + l %% 8 * 16 + r %% 128 / 32 * 4) = 0;
  }
  w_fence_async();
]]):format(n, n, n, n, n) end
local function copies(n) return "w_tmem_cp_32x128b(tmem + 256, w_umma_desc(sa, 0, 128, 0)); w_tmem_cp_32x128b(tmem + 260, w_umma_desc(sb, 0, 128, 0));" ..
  (n > 128 and "w_tmem_cp_32x128b(tmem + 264, w_umma_desc(sb + 512, 0, 128, 0));" or "") end
local function mma(o, acc) return ("w_umma_%s(tmem, w_umma_desc(at, 128, 256, 0), w_umma_desc(at + 4096, 128, 256, 0), %s, tmem + 256, tmem + 260, %d);"):format(
  o.kind, o.idesc or ("w_umma_mx_idesc(%d, W_MX_%s, W_MX_%s, %d, %d, %d)"):format(o.n, o.a:upper(), o.b:upper(), o.ue4m3 and 0 or 1, o.ida, o.idb), acc) end
local function read(n) return ([[
  w_mbar_wait(done, 0); w_tcgen05_after();
  for (u32 c = 0; c < %d; c += 8) {
    u32 r[8];
    w_tmem_ld_x8(r, tmem + (warp * 32 << 16) + c); w_tmem_wait_ld<8>(r);
    for (u32 i = 0; i < 8; i++) y[%d * tid + c + i] = r[i];
  }
]]):format(n, n) end

local mx8 = { kind = "mxf8", a = "e4m3", b = "e4m3", n = 64, count = 1, ida = 0, idb = 0 }
local cases = { mx8, { kind = "mxf8", a = "e5m2", b = "e4m3", n = 256, count = 1, ida = 3, idb = 2 }, { kind = "mxf8", a = "e4m3", b = "e5m2", n = 16, count = 1, ida = 1, idb = 0 },
  { kind = "mxf4", a = "e2m1", b = "e2m1", n = 128, count = 2, ida = 2, idb = 0 }, { kind = "mxf4", a = "e2m1", b = "e2m1", n = 48, count = 2, ida = 0, idb = 2 },
  { kind = "nvf4", a = "e2m1", b = "e2m1", n = 96, count = 4, ida = 0, idb = 0, ue4m3 = true } }
for i, o in ipairs(cases) do later(function()
  local words, A, B, SA, SB = inputs(o)
  local k = o.a == "e2m1" and 64 or 32
  local name = ("%s %s by %s, n %d, ids %d and %d"):format(o.kind, o.a, o.b, o.n, o.ida, o.idb)
  local y, message = launch(fill(o.n) .. open .. "if (tid == 0) {" .. copies(o.n) .. mma(o, 0) .. mma(o, 1) .. "w_umma_commit(done); }" .. read(o.n) .. close, words, 128 * o.n, 9 + i)
  if not y then tap.ok(false, name .. ": " .. message)
  else
    local wrong = {}
    for r = 0, 127 do
      for c = 0, o.n - 1 do
        local s = 0.0
        for j = 0, k - 1 do
          local block = j * o.count // k
          s = s + A[r][j] * SA[r][block] * B[c][j] * SB[c][block]
        end
        local got = string.unpack("<f", string.pack("<I4", y[o.n * r + c + 1]))
        if got ~= 2 * s and #wrong < 3 then wrong[#wrong + 1] = ("[%d][%d] is %g, should be %g"):format(r, c, got, 2 * s) end
      end
    end
    tap.is({}, wrong, name)
  end
end) end

-- ---- copies ------------------------------------------------------------------------------------------------------------------------------
-- rows of 32 bytes (core matrices of 16, the second 128 bytes on), numbered by word
for _, shape in ipairs { { "128x256b", 8, function(l) return l end }, { "128x128b", 4, function(l) return l end }, { "64x128b_02_13", 4, function(l) return l % 64 end },
  { "64x128b_01_23", 4, function(l) return l // 64 * 32 + l % 32 end }, { "32x128b", 4, function(l) return l % 32 end } } do later(function()
  local words = {}
  for i = 1, 1024 do words[i] = i end
  local y, message = launch([[for (u32 i = tid; i < 1024; i += nthreads) { const u32 r = i / 8, w = i % 8; *(u32 *)w_ptr(at + r / 8 * 256 + r % 8 * 16 + w / 4 * 128 + w % 4 * 4) = x[i]; }
    w_fence_async(); ]] .. open .. ("if (tid == 0) { w_tmem_cp_%s(tmem + 40, w_umma_desc(at, 128, 256, 0)); w_umma_commit(done); }"):format(shape[1]) ..
    ([[ w_mbar_wait(done, 0); w_tcgen05_after(); u32 r[8]; w_tmem_ld_x8(r, tmem + (warp * 32 << 16) + 40); w_tmem_wait_ld<8>(r); for (u32 i = 0; i < %d; i++) y[8 * tid + i] = r[i];]]):format(shape[2]) .. close,
    words, 1024)
  local wrong = {}
  for l = 0, 127 do
    for c = 0, shape[2] - 1 do
      local want = 8 * shape[3](l) + c + 1
      if y and y[8 * l + c + 1] ~= want and #wrong < 3 then wrong[#wrong + 1] = ("lane %d column %d is %d, should be %d"):format(l, c, y[8 * l + c + 1], want) end
    end
  end
  tap.is({ true, {} }, { y ~= nil, wrong }, "tcgen05.cp " .. shape[1] .. (y and "" or ": " .. message))
end) end

-- ---- findings ----------------------------------------------------------------------------------------------------------------------------
local words = inputs(mx8)
local filled = fill(64)
local function finds_now(name, code, rule, ...)
  local message
  for seed = 1, 4 do                                      -- when the tensor core looks is for the seed to say
    local y
    y, message = launch(code, words, 8192, seed)
    if y then message = "no finding" end
    if message:find(rule, 1, true) then break end
  end
  for _, part in ipairs { "[" .. rule .. "]", ... } do tap.like(part, message, name .. ": " .. part) end
end
local function finds(...) local given = table.pack(...); later(function() finds_now(table.unpack(given, 1, given.n)) end) end
local commit, whole = "w_umma_commit(done);", read(64) .. close
local function one(code) return filled .. open .. "if (tid == 0) {" .. code .. "}" .. whole end
finds("scales that nobody has copied", one("w_tmem_cp_32x128b(tmem + 256, w_umma_desc(sa, 0, 128, 0));" .. mma(mx8, 0) .. commit), "sim-tmem", "an mma reads the scales of row 0 of B from lane 0, column", "which nothing has written")
finds("scales of one quarter alone", one(copies(64):gsub("cp_32x128b%(tmem %+ 256, w_umma_desc%(sa", "cp_64x128b_02_13(tmem + 256, w_umma_desc(sa", 1) .. mma(mx8, 0) .. commit), "sim-tmem", "an mma reads the scales of row", "all four hold the same scales")
finds("scales copied by another thread", filled .. open .. "if (tid == 32) {" .. copies(64) .. "} task_sync(); if (tid == 0) {" .. mma(mx8, 0) .. commit .. "}" .. whole, "sim-tmem", "while another thread's copy in flight writes it: the wait for its commit is missing")
finds("scales where the sums are", one(copies(64) .. mma(mx8, 0):gsub("tmem %+ 260", "tmem + 62") .. commit), "sim-tmem", "an mma takes its scales from columns", "which it writes")
finds("scales outside the allocation", one(copies(64) .. mma(mx8, 0):gsub("tmem %+ 260", "tmem + 511") .. commit), "sim-tmem", "which are not allocated")
finds("a scale type that the kind has not", one(copies(64) .. mma({ kind = "mxf8", n = 64, idesc = "w_umma_mx_idesc(64, 0, 0, 0, 0, 0)" }, 0) .. commit), "sim-descriptor", "scales of ue4m3, which kind mxf4nvf4 alone takes")
finds("scales in the middle of a pair", one(copies(64) .. mma({ kind = "mxf4", n = 64, idesc = "w_umma_mx_idesc(64, 1, 1, 1, 1, 0)" }, 0) .. commit), "sim-descriptor", "scale ids 1 and 0; of 2 scales a row an id is a multiple of 2")
finds("a type that is none", one(copies(64) .. mma({ kind = "mxf4", n = 64, idesc = "w_umma_mx_idesc(64, 0, 0, 1, 0, 0)" }, 0) .. commit), "sim-descriptor", "operand types 0 and 0; of a 4-bit kind both are 1 (e2m1)")
finds("64 rows", one(copies(64) .. mma({ kind = "mxf8", n = 64, idesc = "w_umma_mx_idesc(64, 0, 0, 1, 0, 0) ^ 12u << 24" }, 0) .. commit), "sim-descriptor", "64 rows; a block-scaled mma of one CTA has 128")
finds("a copy of what nobody has fenced", (one(copies(64) .. mma(mx8, 0) .. commit):gsub("w_fence_async%(%);", "", 1)), "sim-fence", "a tcgen05.cp reads 's' byte 12288")
finds("a copy's source overwritten", filled .. open .. "if (tid == 0) {" .. copies(64) .. mma(mx8, 0) .. commit .. "} task_sync(); if (tid == 1) *(u32 *)w_ptr(sa) = 1;" .. whole, "sim-async-read", "a store to 's' byte 12288", "still reads it")
finds("a copy over what is being loaded", filled .. open .. "u32 r[8]; if (tid == 0) { " .. copies(64) .. commit .. "} w_mbar_wait(done, 0); w_tcgen05_after(); w_tmem_ld_x8(r, tmem + (warp * 32 << 16) + 256); task_sync(); if (tid == 0) {" .. copies(64) .. "} w_tmem_wait_ld<8>(r); y[tid] = r[0];" .. close,
  "sim-tmem", "a tcgen05.cp writes column", "the wait is missing")
finds("a copy to columns that are not allocated", one("w_tmem_cp_32x128b(tmem + 510, w_umma_desc(sa, 0, 128, 0));" .. commit), "sim-tmem", "a tcgen05.cp writes columns", "which are not allocated")
finds("columns given back with a copy in flight", filled .. open .. "if (tid == 0) {" .. copies(64) .. "}" .. close, "sim-tmem", "tcgen05.dealloc while an mma or copy in flight writes column")
finds("a copy that is not modelled", one "w_tmem_cp_4x256b(tmem, 0);", "sim-trap", "tcgen05.cp.4x256b: the simulator does not know which lanes it fills")

-- ---- stores ------------------------------------------------------------------------------------------------------------------------------
-- the scales stored by the warps, then the mma of one thread
local function stored(between)
  return filled .. open .. [[ u32 v[8];
  for (u32 i = 0; i < 8; i++) v[i] = *(u32 *)w_ptr((i < 4 ? sa : sb) + lane / 8 * 128 + lane % 8 * 16 + i % 4 * 4);
  w_tmem_st_x8(tmem + (warp * 32 << 16) + 256, v); ]] .. between .. "if (tid == 0) {" .. mma(mx8, 0) .. mma(mx8, 1) .. commit .. "}" .. whole
end
later(function()
  local by_copy = launch(one(copies(64) .. mma(mx8, 0) .. mma(mx8, 1) .. commit), words, 8192)
  local y, message = launch(stored "w_tmem_wait_st(); w_tcgen05_before(); task_sync(); w_tcgen05_after();", words, 8192)
  tap.ok(y, "scales that the warps store " .. (y and "" or message))
  tap.is(by_copy, y, "give the same sums as those that are copied")
end)
finds("a store that is not over", stored "w_tcgen05_before(); task_sync(); w_tcgen05_after();", "sim-tmem", "an mma takes its scales from column", "while a store of warp 0 in flight writes it: tcgen05.wait::st is missing")
finds("a store handed over without the first fence", stored "w_tmem_wait_st(); task_sync(); w_tcgen05_after();", "sim-tcgen05-fence", "which warp 1 has stored to: tcgen05.fence::before_thread_sync before the hand-over is missing")
finds("a store taken over without the second", stored "w_tmem_wait_st(); w_tcgen05_before(); task_sync();", "sim-tcgen05-fence", "which warp 1 has stored to: tcgen05.fence::after_thread_sync behind the wait is missing")
finds("a store to lanes of another warp", filled .. open .. "u32 v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }; w_tmem_st_x8(tmem + ((warp ^ 1) * 32 << 16), v); w_tmem_wait_st();" .. close, "sim-tmem", "tcgen05.st to lane ", "which reaches lanes")
finds("a store to columns that an mma writes", stored("w_tmem_wait_st(); w_tcgen05_before(); task_sync(); w_tcgen05_after();"):gsub("w_mbar_wait%(done, 0%);", "if (warp == 0) w_tmem_st_x8(tmem, v); %0", 1), "sim-tmem", "tcgen05.st to column", "while an mma or copy in flight writes it")
for _, n in ipairs { 8, 16, 32 } do later(function()
  local got, message = launch(open .. ([[ u32 v[32], r[32]; for (u32 i = 0; i < %d; i++) v[i] = 1000 * tid + i;
    w_tmem_st_x%d(tmem + (warp * 32 << 16) + 100, v); w_tmem_wait_st(); w_tmem_ld_x%d(r, tmem + (warp * 32 << 16) + 100); w_tmem_wait_ld<%d>(r);
    for (u32 i = 0; i < %d; i++) y[32 * tid + i] = r[i];]]):format(n, n, n, n, n) .. close, { 0 }, 4096)
  local wrong = 0
  for l = 0, 127 do for i = 0, n - 1 do if got and got[32 * l + i + 1] ~= 1000 * l + i then wrong = wrong + 1 end end end
  tap.is({ true, 0 }, { got ~= nil, wrong }, ("a warp stores and loads %d columns "):format(n) .. (got and "" or message))
end) end
finds("a load of what is not stored yet", open .. "u32 v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, r[8]; w_tmem_st_x8(tmem + (warp * 32 << 16), v); w_tmem_ld_x8(r, tmem + (warp * 32 << 16)); w_tmem_wait_ld<8>(r); y[tid] = r[1]; w_tmem_wait_st();" .. close,
  "sim-tmem", "tcgen05.ld reads column", "tcgen05.wait::st is missing")

-- what runs in order: a copy over scales that an earlier mma of the same thread takes
later(function()
  local y, message = launch(one(copies(64) .. mma(mx8, 0) .. copies(64) .. mma(mx8, 1) .. commit), words, 8192)
  tap.ok(y, "a thread's copies and mmas run in order " .. (y and "" or message))
end)
bodies.go()

for _, p in ipairs(compiled) do
  local cubin, why, code = p:cubin()
  if not cubin and code == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then tap.skip(why)
  else tap.ok(cubin, "all of it compiles for sm_100a " .. tostring(why)) end
end
tap.done()
