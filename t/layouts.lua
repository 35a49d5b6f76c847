-- Kernels that show how an instruction lays out its data: fragments and descriptors of wgmma, fragments of mma.sync, ldmatrix, stmatrix and
-- movmatrix, boxes and swizzles of TMA. A GPU and the simulator run the same ones; t/gpu/layouts.t records what a GPU saw, t/sim/layouts.t compares.
--
--   for _, probe in ipairs(layouts.probes(weir, plan)) do   -- plan: weir_plan, required before weir
--     probe.run(device, function(name, words) ... end)      -- words: a list of u32, in the order in which the threads hold them
--   end
local layouts = {}

layouts.file = "t/vectors/h200_layouts.lua"

-- Numbers that are the same everywhere: xorshift over 32 bits.
local function random(seed)
  local x = seed * 2654435761 & 0xffffffff | 1
  return function(n)
    x = (x ~ x << 13) & 0xffffffff
    x = x ~ x >> 17
    x = (x ~ x << 5) & 0xffffffff
    return x % n
  end
end

local function words_of(bytes)
  local out = {}
  for at = 1, #bytes - 3, 4 do out[#out + 1] = string.unpack("<I4", bytes, at) end
  return out
end

--- Few words as they are, else one checksum for each 32 of them: which thread, which rows are wrong can be told from either.
function layouts.digest(words)
  local out = {}
  if #words <= 512 then
    for i, w in ipairs(words) do out[i] = ("%x"):format(w) end
    return table.concat(out, " ")
  end
  for first = 1, #words, 32 do
    local h = 0x811c9dc5
    for i = first, math.min(first + 31, #words) do h = ((h ~ words[i]) * 0x01000193 + (h >> 15)) & 0xffffffff end
    out[#out + 1] = ("%04x"):format((h >> 16) ~ (h & 0xffff))
  end
  return table.concat(out)
end

-- ---- wgmma -------------------------------------------------------------------------------------------------------------------------

-- Small integers of a type, as bits: sums of products of these are exact in f32 (and in what fp8 accumulates with).
local function bits16(name) return function(v) return name == "bf16" and string.unpack("<I4", string.pack("<f", v)) >> 16 or string.unpack("<I2", layouts.half(v)) end end
function layouts.half(v) -- an integer -16..16 as f16
  if v == 0 then return "\0\0" end
  local m, e = math.abs(v), 0
  while m >= 2 do m, e = m / 2, e + 1 end
  return string.pack("<I2", (v < 0 and 0x8000 or 0) | (e + 15) << 10 | math.floor((m - 1) * 1024))
end
local function bits8(exponents, bias) -- e4m3: 4, 7; e5m2: 5, 15
  local mantissa = 7 - exponents
  return function(v)
    if v == 0 then return 0 end
    local m, e = math.abs(v), 0
    while m >= 2 do m, e = m / 2, e + 1 end
    return (v < 0 and 0x80 or 0) | (e + bias) << mantissa | math.floor((m - 1) * (1 << mantissa))
  end
end
local e4m3, e5m2 = bits8(4, 7), bits8(5, 15)
local types = {
  { "W_BF16", size = 2, a = bits16 "bf16", span = 8 }, { "W_F16", size = 2, a = bits16 "f16", span = 8 },
  { "W_TF32", size = 4, a = function(v, low) return string.unpack("<I4", string.pack("<f", v)) | (v ~= 0 and low & 0x1fff or 0) end, span = 8 },
  { "W_E4M3", size = 1, a = e4m3, span = 8 }, { "W_E5M2", size = 1, a = e5m2, span = 4 },
  { "W_E4M3_E5M2", size = 1, a = e4m3, b = e5m2, span = 4 }, { "W_E5M2_E4M3", size = 1, a = e5m2, b = e4m3, span = 4 },
}

local A_BYTES, B_BYTES = 16384, 65536
-- What a shared memory full of operands holds, as words.
local function operands(t, seed)
  local next_random, out = random(seed), {}
  local function fill(bits, bytes)
    for _ = 1, bytes // t.size do
      local v = next_random(2 * t.span + 1) - t.span
      out[#out + 1] = string.pack("<I" .. t.size, bits(v, next_random(8192)))
    end
  end
  fill(t.a, A_BYTES)
  fill(t.b or t.a, B_BYTES)
  return words_of(table.concat(out))
end

-- lbo, sbo of an operand of `rows` (M or N): packed as a tile of weir's is, or apart, so that each stride shows by itself.
local function strides(layout, mn_major, rows, apart)
  local span = ({ [0] = 16, [1] = 128, [2] = 64, [3] = 32 })[layout]
  local group = 8 * span                                  -- bytes of eight rows of the pattern
  if not mn_major then
    if layout ~= 0 then return 16, apart and 2 * group or group end
    if apart then return 128, 256 end                     -- core matrices: two of k beside each other
    return 16 * rows, 128
  end
  if layout == 0 then return apart and 256 or 128, apart and 512 or 256 end
  if apart then return 2 * group, 4 * group end
  return 2 * group, group                                 -- the two groups of k in each atom
end

local function cases_of(t)
  local list = {}
  local function add(c) list[#list + 1] = c end
  local majors = t.size == 2 and { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } } or { { 0, 0 } }
  for _, m in ipairs(majors) do
    for layout = 0, 3 do
      for _, apart in ipairs { false, true } do add { n = 64, ta = m[1], tb = m[2], layout = layout, apart = apart } end
    end
  end
  for layout = 0, 3 do
    for tb = 0, t.size == 2 and 1 or 0 do add { rs = true, n = 64, ta = 0, tb = tb, layout = layout } end
  end
  for _, n in ipairs { 8, 16, 24, 40, 96, 128, 192, 248, 256 } do add { n = n, ta = 0, tb = 0, layout = 1 } end
  if t.size == 2 then for _, n in ipairs { 128, 256 } do add { n = n, ta = 0, tb = 1, layout = 1 } end end
  for _, step in ipairs { 32, 64, 96 } do add { n = 64, ta = 0, tb = 0, layout = 1, start = step } end      -- steps of k inside the pattern
  add { n = 64, ta = 0, tb = 0, layout = 2, start = 32 }
  return list
end

local function wgmma_name(t, c)
  return ("wgmma %s %s n%d %s%s layout %d%s%s"):format(t[1]:sub(3):lower(), c.rs and "rs" or "ss", c.n, c.ta == 1 and "M" or "K", c.tb == 1 and "N" or "K",
    c.layout, c.apart and " apart" or "", c.start and " +" .. c.start or "")
end

local function wgmma_probe(weir, t)
  local cases = cases_of(t)
  local code = { ("for (u32 i = tid; i < %d; i += nthreads) ((u32 *)smem)[i] = x[i];\nw_fence_async(); task_sync();\n"):format((A_BYTES + B_BYTES) // 4),
    "const u32 at = w_smem_base();\n" }
  for i, c in ipairs(cases) do
    local alo, aso = strides(c.layout, c.ta == 1, 64, c.apart)
    local blo, bso = strides(c.layout, c.tb == 1, c.n, c.apart)
    local call = c.rs and ("u32 a[4]; for (u32 i = 0; i < 4; i++) a[i] = ((u32 *)smem)[4 * tid + i];\n  w_wgmma_fence(); w_wgmma_rs<%d, %s, %d>(d, a, "):format(c.n, t[1], c.tb)
      or ("w_wgmma_fence(); w_wgmma_ss<%d, %s, %d, %d>(d, w_desc(at + %d, %d, %d, %d), "):format(c.n, t[1], c.ta, c.tb, c.start or 0, alo, aso, c.layout)
    code[#code + 1] = ([[if (which == %d) {
  float d[%d]; for (u32 i = 0; i < %d; i++) d[i] = (float)((7 * tid + i) %% 16);
  %sw_desc(at + %d, %d, %d, %d), %d);
  w_wgmma_commit(); w_wgmma_wait<0>();
  for (u32 i = 0; i < %d; i++) y[%d * tid + i] = __float_as_uint(d[i]);
}
]]):format(i, c.n // 2, c.n // 2, call, A_BYTES + (c.start or 0), blo, bso, c.layout, i % 2, c.n // 2, c.n // 2)
  end
  local name = "wgmma_" .. t[1]:sub(3):lower()
  local function build(dev)
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local N, W, which = k:dim "N", k:dim "W", k:scalar { name = "which", dtype = "i32" }
    local X = k:tensor { name = "x", dtype = "u32", shape = { N } }
    local Y = k:tensor { name = "y", dtype = "u32", shape = { W }, out = true }
    local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { A_BYTES + B_BYTES }, bind = { x = X, y = Y },
      work = { run = weir.producer_work { params = "i32 which", code = table.concat(code) } } }
    k:task { name = "probe", warps = { 0, 4 }, schedule = function() s:run(which) end }
    return k:build { device = dev }
  end
  local function run(dev, give)
    local p = build(dev)
    local data = operands(t, 17)
    local x = dev:tensor { dtype = "u32", shape = { #data } }:set(data)
    for i, c in ipairs(cases) do
      local y = dev:tensor { dtype = "u32", shape = { 64 * c.n } }:fill(0)
      assert(p:launch({ x = x, y = y, which = i }, { device = dev, grid = 1 }))
      assert(dev:sync())
      give(wgmma_name(t, c), words_of(y:get "bytes"))
    end
  end
  return { name = name, run = run, build = build }
end

-- D[r][c] = 256 r + c, so that each register names its place: the accumulator's layout, to be read.
local function accumulator_probe(weir)
  local function build(dev)
    local k = weir.kernel { name = "accumulator", arch = "sm_90a" }
    local W = k:dim "W"
    local Y = k:tensor { name = "y", dtype = "u32", shape = { W }, out = true }
    local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 8192 }, bind = { y = Y }, work = { run = weir.producer_work { code = [[
      // K-major without swizzle: rows of 16 bytes, 8 of them a core matrix; the second half of k is 0
      for (u32 i = tid; i < 2048; i += nthreads) ((u32 *)smem)[i] = 0;
      task_sync();
      bf16 *a = (bf16 *)smem, *b = (bf16 *)(smem + 4096);
      if (tid < 64) { a[8 * tid] = (float)tid; a[8 * tid + 1] = 1.f; }
      if (tid < 16) { b[8 * tid] = 256.f; b[8 * tid + 1] = (float)tid; }
      w_fence_async(); task_sync();
      float d[8];
      w_wgmma_fence();
      w_wgmma_ss<16, W_BF16, 0, 0>(d, w_desc(w_smem_base(), 1024, 128, 0), w_desc(w_smem_base() + 4096, 256, 128, 0), 0);
      w_wgmma_commit(); w_wgmma_wait<0>();
      for (u32 i = 0; i < 8; i++) y[8 * tid + i] = (u32)d[i];
    ]] } } }
    k:task { name = "probe", warps = { 0, 4 }, schedule = function() s:run() end }
    return k:build { device = dev }
  end
  local function run(dev, give)
    local y = dev:tensor { dtype = "u32", shape = { 1024 } }:fill(0)
    assert(build(dev):launch({ y = y }, { device = dev, grid = 1 }))
    assert(dev:sync())
    local words = words_of(y:get "bytes")
    for w = 0, 1 do give(("accumulator m64n16, warps %d and %d: 256 row + column"):format(2 * w, 2 * w + 1), table.move(words, 512 * w + 1, 512 * w + 512, 1, {})) end
  end
  return { name = "accumulator", run = run, build = build }
end

-- ---- ldmatrix and stmatrix ---------------------------------------------------------------------------------------------------------

local moves = {
  { "ldmatrix x4", "u32 r[4]; w_ldmatrix4(at, r); for (u32 i = 0; i < 4; i++) y[4 * lane + i] = r[i];" },
  { "ldmatrix x4 trans", "u32 r[4]; w_ldmatrix4t(at, r); for (u32 i = 0; i < 4; i++) y[4 * lane + i] = r[i];" },
  { "stmatrix x4", "w_stmatrix4(at, v, v + 0x00080008, v + 0x00100010, v + 0x00180018);", store = true },
  { "stmatrix x4 trans", "w_stmatrix4t(at, v, v + 0x00080008, v + 0x00100010, v + 0x00180018);", store = true },
  { "stmatrix x2", "w_stmatrix2(at, v, v + 0x00080008);", store = true },
  { "ldmatrix x1", "u32 r[1]; w_ldmatrix1(at, r); y[lane] = r[0];" },
  { "ldmatrix x1 trans", "u32 r[1]; w_ldmatrix1t(at, r); y[lane] = r[0];" },
  { "ldmatrix x2", "u32 r[2]; w_ldmatrix2(at, r); for (u32 i = 0; i < 2; i++) y[2 * lane + i] = r[i];" },
  { "ldmatrix x2 trans", "u32 r[2]; w_ldmatrix2t(at, r); for (u32 i = 0; i < 2; i++) y[2 * lane + i] = r[i];" },
  { "stmatrix x1", "w_stmatrix1(at, v);", store = true },
  { "stmatrix x1 trans", "w_stmatrix1t(at, v);", store = true },
  { "stmatrix x2 trans", "w_stmatrix2t(at, v, v + 0x00080008);", store = true },
  { "movmatrix", "y[lane] = w_movmatrix(v);" },
}

local function matrix_probe(weir)
  local code = { [[
    for (u32 i = lane; i < 512; i += 32) ((u32 *)smem)[i] = i << 17 | 0x10000 | i << 1;      // 16-bit elements that count
    w_sync_warp();
    const u32 at = w_smem_base() + 16 * ((13 * lane + 7) % 64);                              // rows in no order
    const u32 v = 0x80008000u | lane << 8 | lane << 24 | 1 << 16;                            // two elements: lane, register, half
]] }
  for i, m in ipairs(moves) do
    code[#code + 1] = ("if (which == %d) { %s %s }\n"):format(i, m[2], m.store and "w_sync_warp(); for (u32 i = lane; i < 256; i += 32) y[i] = ((u32 *)smem)[i];" or "")
  end
  local function build(dev)
    local k = weir.kernel { name = "matrices", arch = "sm_90a" }
    local W, which = k:dim "W", k:scalar { name = "which", dtype = "i32" }
    local Y = k:tensor { name = "y", dtype = "u32", shape = { W }, out = true }
    local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 2048 }, bind = { y = Y },
      work = { run = weir.producer_work { params = "i32 which", code = table.concat(code) } } }
    k:task { name = "probe", warps = { 0, 1 }, schedule = function() s:run(which) end }
    return k:build { device = dev }
  end
  local function run(dev, give)
    local p = build(dev)
    for i, m in ipairs(moves) do
      local y = dev:tensor { dtype = "u32", shape = { m.store and 256 or 128 } }:fill(0)
      assert(p:launch({ y = y, which = i }, { device = dev, grid = 1 }))
      assert(dev:sync())
      give(m[1], words_of(y:get "bytes"))
    end
  end
  return { name = "matrices", run = run, build = build }
end

-- ---- mma.sync ----------------------------------------------------------------------------------------------------------------------

-- The call, the type of its operands, k in bytes, the type of its sums.
local i8 = function(v) return v & 255 end
local mmas = {}
for _, t in ipairs(types) do
  local name, k = t[1], 32 // t.size
  mmas[#mmas + 1] = { ("w_mma<%d, %s>(d, a, b)"):format(k, name), t = t, k = 32, d = "float" }
  if t.size > 1 then mmas[#mmas + 1] = { ("w_mma<%d, %s>(d, a, b)"):format(k // 2, name), t = t, k = 16, d = "float" } end
end
for _, k in ipairs { 16, 8 } do mmas[#mmas + 1] = { ("w_mma_f16<%d>(d, a, b)"):format(k), t = types[2], k = 2 * k, d = "half" } end
for _, k in ipairs { 32, 16 } do
  for _, ta in ipairs { "W_S8", "W_U8" } do
    for _, tb in ipairs { "W_S8", "W_U8" } do
      mmas[#mmas + 1] = { ("w_mma_i32<%d, %s, %s>(d, a, b)"):format(k, ta, tb), t = { "int", size = 1, a = i8, span = 127 }, k = k, d = "i32" }
    end
  end
end
mmas[#mmas + 1] = { "w_mma_f64(d, a[0], b[0])", t = { "f64", size = 8, span = 100 }, k = 32, d = "double" }

-- What the lanes hold: 128 words of A, 64 of B, in the order of lanes; doubles have one element a lane.
local function fragments(t, seed)
  local next_random, out = random(seed), {}
  local function fill(bits, bytes)
    for _ = 1, bytes // t.size do
      local v = next_random(2 * t.span + 1) - t.span
      out[#out + 1] = t.size == 8 and string.pack("<d", v) or string.pack("<I" .. t.size, bits(v, next_random(8192)))
    end
  end
  fill(t.a, 512)
  fill(t.b or t.a, 256)
  return words_of(table.concat(out))
end

local function mma_probe(weir)
  local code = {}
  for i, m in ipairs(mmas) do
    local n, full = m.d == "half" and 2 or 4, m.k == 32
    local take
    if m.d == "double" then take = "double a[1], b[1], d[2]; memcpy(a, x + 2 * lane, 8); memcpy(b, x + 128 + 2 * lane, 8); for (u32 i = 0; i < 2; i++) d[i] = (double)((7 * lane + i) % 16);"
    else
      take = ("u32 a[%d], b[%d]; %s d[%d]; for (u32 i = 0; i < %d; i++) a[i] = x[4 * lane + i]; for (u32 i = 0; i < %d; i++) b[i] = x[128 + 2 * lane + i]; for (u32 i = 0; i < %d; i++) d[i] = %s;"):format(
        full and 4 or 2, full and 2 or 1, m.d == "half" and "u32" or m.d, n, full and 4 or 2, full and 2 or 1, n,
        m.d == "half" and "w_pack_f16((float)((7 * lane + i) % 16), (float)(lane % 5))" or ("(%s)((7 * lane + i) %% 16)"):format(m.d))
    end
    code[#code + 1] = ("if (which == %d) { %s %s; for (u32 i = 0; i < %d; i++) y[%d * lane + i] = ((u32 *)d)[i]; }\n"):format(i, take, m[1], n, n)
  end
  local function build(dev)
    local k = weir.kernel { name = "mma_sync", arch = "sm_90a" }
    local N, W, which = k:dim "N", k:dim "W", k:scalar { name = "which", dtype = "i32" }
    local X = k:tensor { name = "x", dtype = "u32", shape = { N } }
    local Y = k:tensor { name = "y", dtype = "u32", shape = { W }, out = true }
    local s = k:resource { name = "s", space = "gmem", bind = { x = X, y = Y },
      work = { run = weir.producer_work { params = "i32 which", code = table.concat(code) } } }
    k:task { name = "probe", warps = { 0, 1 }, schedule = function() s:run(which) end }
    return k:build { device = dev }
  end
  local function run(dev, give)
    local p = build(dev)
    for i, m in ipairs(mmas) do
      local x = dev:tensor { dtype = "u32", shape = { 192 } }:set(fragments(m.t, 23 + i))
      local y = dev:tensor { dtype = "u32", shape = { m.d == "half" and 64 or 128 } }:fill(0)
      assert(p:launch({ x = x, y = y, which = i }, { device = dev, grid = 1 }))
      assert(dev:sync())
      give("mma.sync " .. m[1]:match "^w_mma_?([^(]*)", words_of(y:get "bytes"))
    end
  end
  return { name = "mma_sync", run = run, build = build }
end

-- ---- TMA ---------------------------------------------------------------------------------------------------------------------------

-- shape and box outermost first, from: the box's first element. size: bytes of an element.
local boxes = {}
for _, swizzle in ipairs { 0, 32, 64, 128 } do
  for _, dtype in ipairs { "u8", "bf16", "f32" } do
    local size = dtype == "u8" and 1 or dtype == "bf16" and 2 or 4
    boxes[#boxes + 1] = { dtype = dtype, size = size, swizzle = swizzle, shape = { 40, 768 // size }, tile = { 16, (swizzle ~= 0 and swizzle or 64) // size },
      from = { 3, 64 // size } }
  end
end
for _, more in ipairs {
  { dtype = "bf16", size = 2, swizzle = 128, shape = { 40, 100 }, tile = { 16, 64 }, from = { -5, 56 }, name = "outside: above and right" },
  { dtype = "bf16", size = 2, swizzle = 64, shape = { 40, 104 }, tile = { 16, 32 }, from = { 30, -8 }, name = "outside: below and left" },
  { dtype = "f32", size = 4, swizzle = 0, shape = { 200 }, tile = { 64 }, from = { 148 }, name = "1 axis" },
  { dtype = "f32", size = 4, swizzle = 32, shape = { 5, 9, 20 }, tile = { 2, 8, 8 }, from = { 4, -2, 12 }, name = "3 axes" },
  { dtype = "bf16", size = 2, swizzle = 64, shape = { 3, 4, 9, 40 }, tile = { 2, 2, 4, 32 }, from = { 1, -1, 6, 8 }, name = "4 axes" },
  { dtype = "f32", size = 4, swizzle = 128, shape = { 5, 4, 3, 6, 40 }, tile = { 2, 2, 2, 4, 32 }, from = { -1, 3, 2, -2, 20 }, name = "5 axes" },
} do boxes[#boxes + 1] = more end

local function count(list)
  local n = 1
  for _, x in ipairs(list) do n = n * x end
  return n
end

local function box_name(b, what)
  return ("TMA %s %s swizzle %d, box %s of %s at %s%s"):format(what, b.dtype, b.swizzle, table.concat(b.tile, "x"), table.concat(b.shape, "x"), table.concat(b.from, ","),
    b.name and ": " .. b.name or "")
end

-- A tensor whose bytes count; in u8 they do so in no short period. Values a dtype has are not what matters, the bytes are.
local function numbers(b)
  local n, out = count(b.shape), {}
  for i = 0, n - 1 do out[i + 1] = b.size == 1 and (i * 37 + i // 256 * 11) % 251 or b.dtype == "bf16" and (i % 251 + 1) / 2 ^ (i // 251 % 16) or i + 1 end
  return out
end

local function load_probe(weir, b, i)
  local bytes = count(b.tile) * b.size
  local name = "tma_load_" .. i
  local function build(dev)
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local X = k:tensor { name = "x", dtype = b.dtype, shape = b.shape }
    local Y = k:tensor { name = "y", dtype = "u32", shape = { bytes // 4 }, out = true }
    local g = k:gmem_tile { name = "g", tensor = X, tile = b.tile }
    local s = k:smem_tile { name = "s", dtype = b.dtype, tile = b.tile, swizzle = b.swizzle ~= 0 and b.swizzle or nil, pipeline = weir.pipeline.tma_async { stages = 1 } }
    local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, work = { dump = weir.producer_work { params = "view from", code =
      ("for (u32 i = tid; i < %d; i += nthreads) y[i] = ((const u32 *)from)[i];"):format(bytes // 4) } } }
    k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(g:from(table.unpack(b.from))); s:commit() end }
    k:task { name = "dump", warps = { 1, 1 }, schedule = function() s:wait(); out:dump(s:read()); s:release() end }
    return k:build { device = dev }
  end
  local function run(dev, give)
    local x = dev:tensor { dtype = b.dtype, shape = b.shape }:set(numbers(b))
    local y = dev:tensor { dtype = "u32", shape = { bytes // 4 } }:fill(0)
    assert(build(dev):launch({ x = x, y = y }, { device = dev, grid = 1 }))
    assert(dev:sync())
    give(box_name(b, "load"), words_of(y:get "bytes"))
  end
  return { name = name, run = run, build = build }
end

-- Stores and additions: shared memory holds numbers that count, written past the staging's own layout.
local stores = {
  { dtype = "bf16", size = 2, swizzle = 128, shape = { 70, 100 }, tile = { 64, 64 }, from = { 16, 56 } },
  { dtype = "bf16", size = 2, swizzle = 64, shape = { 70, 100 }, tile = { 64, 32 }, from = { 2, 40 } },
  { dtype = "bf16", size = 2, swizzle = 32, shape = { 70, 100 }, tile = { 64, 16 }, from = { 2, 40 } },
  { dtype = "f16", size = 2, swizzle = 128, shape = { 70, 100 }, tile = { 64, 64 }, from = { 2, 40 }, reduce = true },
  { dtype = "bf16", size = 2, swizzle = 128, shape = { 70, 100 }, tile = { 64, 64 }, from = { 2, 40 }, reduce = true },
  { dtype = "f32", size = 4, swizzle = 128, shape = { 70, 100 }, tile = { 64, 32 }, from = { 2, 40 }, reduce = true },
  { dtype = "f32", size = 4, swizzle = 64, shape = { 70, 100 }, tile = { 64, 16 }, from = { 2, 88 } },
}

local function store_probe(weir, plan, b, i)
  local name = "tma_store_" .. i
  local words = count(b.tile) * b.size // 4
  local function build(dev)
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local X = k:tensor { name = "x", dtype = b.dtype, shape = b.shape, out = true }
    local g = k:gmem_tile { name = "g", tensor = X, tile = b.tile }
    local s = k:smem_tile { name = "s", dtype = b.dtype, tile = b.tile, swizzle = b.swizzle, pipeline = weir.pipeline.async_tma { stages = 1 } }
    local r = k:reg_tile { name = "r", dtype = "f32", tile = b.tile }
    k:task { name = "probe", warps = { 0, 4 }, schedule = function()
      r:zero()
      s:acquire(); s:store(r:read()); s:commit()
      s:wait(); g[b.reduce and "tma_reduce_add" or "tma_store"](g, s:read(), g:from(table.unpack(b.from))); s:release()
    end }
    local p = k:build { device = dev }
    -- behind the staging's own store: small integers, by bytes
    local value = b.dtype == "f32" and "__float_as_uint((float)(i % 977))" or
      ("((u32)%s((float)(i %% 61)).bits | (u32)%s((float)(i %% 53)).bits << 16)"):format(b.dtype, b.dtype)
    local text, n = p:source():gsub("(W_AT%(%d+%); w_fence_async%(%);)",
      function(fence) return ("w_bar_sync(1, 128); for (u32 i = w_tid(); i < %d; i += 128) *(u32 *)w_ptr(s_smem + 4 * i) = %s;\n    %s"):format(words, value, fence) end, 1)
    assert(n == 1, "no fence in the emitted text")
    plan.run_text(p, text)
    return p
  end
  local function run(dev, give)
    local x = dev:tensor { dtype = b.dtype, shape = b.shape }:fill(b.reduce and 3 or -1)
    assert(build(dev):launch({ x = x }, { device = dev, grid = 1 }))
    assert(dev:sync())
    give(box_name(b, b.reduce and "addition" or "store"), words_of(x:get "bytes"))
  end
  return { name = name, run = run, build = build }
end

function layouts.probes(weir, plan)
  local list = { accumulator_probe(weir), matrix_probe(weir), mma_probe(weir) }
  for _, t in ipairs(types) do list[#list + 1] = wgmma_probe(weir, t) end
  for i, b in ipairs(boxes) do list[#list + 1] = load_probe(weir, b, i) end
  for i, b in ipairs(stores) do list[#list + 1] = store_probe(weir, plan, b, i) end
  return list
end

return layouts
