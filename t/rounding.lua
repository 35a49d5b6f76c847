-- Numbers through the tensor core, to see how it rounds: mma.sync and wgmma of every type of floating point. A GPU and the simulator run the
-- same ones; t/gpu/rounding.t records what a GPU gave, t/sim/rounding.t compares with it and with the rule written down again here.
--
--   local run = rounding.program(weir, device)
--   for _, round in ipairs(rounding.rounds()) do run(round) end         -- the results: a list of u32, in the order of the threads
local rounding = {}

rounding.file = "t/vectors/h200_rounding.lua"

-- ---- types -----------------------------------------------------------------------------------------------------------------------------
-- Bits of exponent and mantissa; lowest: zeros below it in a word.
local types = {
  bf16 = { size = 2, e = 8, m = 7, infinite = true }, f16 = { size = 2, e = 5, m = 10, infinite = true }, tf32 = { size = 4, e = 8, m = 10, lowest = 13, infinite = true },
  e4m3 = { size = 1, e = 4, m = 3 }, e5m2 = { size = 1, e = 5, m = 2, infinite = true }, f32 = { size = 4, e = 8, m = 23, infinite = true },
}
for _, t in pairs(types) do t.bias, t.top = (1 << t.e - 1) - 1, (1 << t.e) - 1 end

-- The bits of a number: sign, unbiased exponent (below the least: a subnormal), mantissa.
local function number(t, s, e, m)
  e = math.max(0, math.min(t.infinite and t.top - 1 or t.top, e + t.bias))
  if not t.infinite and e == t.top and m == (1 << t.m) - 1 then m = m - 1 end
  return (s << t.e + t.m | e << t.m | m) << (t.lowest or 0)
end

-- Sign and size as an integer, and its exponent of 2; or nil and what it is, if it is not finite.
local function split(t, bits)
  bits = bits >> (t.lowest or 0)
  local e, m = bits >> t.m & t.top, bits & (1 << t.m) - 1
  local s = bits >> t.e + t.m & 1 == 1 and -1 or 1
  if e == t.top and (t.infinite or m == 7) then return nil, t.infinite and m == 0 and s * math.huge or 0 / 0 end
  if e > 0 then m = m | 1 << t.m end
  return s * m, math.max(e, 1) - t.bias - t.m
end

-- ---- instructions ----------------------------------------------------------------------------------------------------------------------
-- first: in the first recording, whose numbers are those of `first_rounds`
local kinds = {
  { "mma bf16 16", "bf16", first = true }, { "mma bf16 8", "bf16", first = true }, { "mma f16 16", "f16", first = true }, { "mma tf32 8", "tf32", first = true }, { "mma tf32 4", "tf32", first = true },
  { "mma e4m3 32", "e4m3", first = true }, { "wgmma bf16 16", "bf16", first = true }, { "wgmma f16 16", "f16", first = true }, { "wgmma tf32 8", "tf32", first = true }, { "wgmma e4m3 32", "e4m3", first = true },
  { "mma f16 8", "f16" }, { "mma e5m2 32", "e5m2" }, { "mma e4m3_e5m2 32", "e4m3", "e5m2" }, { "mma e5m2_e4m3 32", "e5m2", "e4m3" },
  { "mma_f16 f16 16", "f16" }, { "mma_f16 f16 8", "f16" },
  { "wgmma e5m2 32", "e5m2" }, { "wgmma e4m3_e5m2 32", "e4m3", "e5m2" }, { "wgmma e5m2_e4m3 32", "e5m2", "e4m3" },
  { "wgmma_rs bf16 16", "bf16" }, { "wgmma_rs tf32 8", "tf32" }, { "wgmma_rs e4m3 32", "e4m3" },
}
for i, kind in ipairs(kinds) do
  local instruction, of, k = kind[1]:match "^(%S+) (%S+) (%d+)$"
  kind.which, kind.name, kind.instruction, kind.of, kind.k = i, kind[1], instruction, of:upper(), tonumber(k)
  kind.a, kind.b = types[kind[2]], types[kind[3] or kind[2]]
  kind.rows = instruction:find "^wgmma" and 64 or 16
  kind.words = kind.k * kind.a.size // 4                    -- of a row
  kind.sums = instruction == "mma_f16" and types.f16 or types.f32
end

-- x: A { 64 or 16 rows, 8 words }, B { 8 rows, 8 words }, then the old sums as the threads hold them. wgmma: 16 warps' worth, of which the first is told.
local function code_of(kind)
  local load = ("float d[4]; for (u32 i = 0; i < 4; i++) d[i] = __uint_as_float(x[576 + 4 * tid + i]);")
  local store = "for (u32 i = 0; i < 4; i++) y[4 * tid + i] = __float_as_uint(d[i]);"
  if kind.instruction == "wgmma" then
    return ([[
      for (u32 i = tid; i < 512; i += nthreads) { u32 r = i / 8, w = i %% 8; *(u32 *)(smem + w / 4 * 1024 + r / 8 * 128 + r %% 8 * 16 + w %% 4 * 4) = x[i]; }
      for (u32 i = tid; i < 64; i += nthreads) { u32 r = i / 8, w = i %% 8; *(u32 *)(smem + 2048 + w / 4 * 128 + r * 16 + w %% 4 * 4) = x[512 + i]; }
      w_fence_async(); task_sync(); %s
      w_wgmma_fence(); w_wgmma_ss<8, W_%s, 0, 0>(d, w_desc(w_smem_base(), 1024, 128, 0), w_desc(w_smem_base() + 2048, 128, 128, 0), 1); w_wgmma_commit(); w_wgmma_wait<0>();
      %s]]):format(load, kind.of, store)
  elseif kind.instruction == "wgmma_rs" then
    return ([[
      for (u32 i = tid; i < 64; i += nthreads) { u32 r = i / 8, w = i %% 8; *(u32 *)(smem + 2048 + w / 4 * 128 + r * 16 + w %% 4 * 4) = x[512 + i]; }
      u32 a[4]; for (u32 i = 0; i < 4; i++) a[i] = x[8 * (tid / 32 * 16 + tid %% 32 / 4 + i %% 2 * 8) + i / 2 * 4 + tid %% 4];
      w_fence_async(); task_sync(); %s
      w_wgmma_fence(); w_wgmma_rs<8, W_%s, 0>(d, a, w_desc(w_smem_base() + 2048, 128, 128, 0), 1); w_wgmma_commit(); w_wgmma_wait<0>();
      %s]]):format(load, kind.of, store)
  end
  local half = kind.instruction == "mma_f16"
  return ([[
      if (tid < 32) {
        u32 a[4], b[2]; for (u32 i = 0; i < 4; i++) a[i] = x[8 * (tid / 4 + i %% 2 * 8) + i / 2 * 4 + tid %% 4]; for (u32 i = 0; i < 2; i++) b[i] = x[512 + 8 * (tid / 4) + i * 4 + tid %% 4];
        %s
      }]]):format(half and ("u32 d[2]; for (u32 i = 0; i < 2; i++) d[i] = x[576 + 2 * tid + i]; w_mma_f16<%d>(d, a, b); for (u32 i = 0; i < 2; i++) y[2 * tid + i] = d[i];"):format(kind.k)
    or ("%s w_mma<%d, W_%s>(d, a, b); %s"):format(load, kind.k, kind.of, store))
end

--- One kernel, a branch for each instruction.
function rounding.program(weir, dev)
  local k = weir.kernel { name = "rounding", arch = "sm_90a" }
  local X = k:tensor { name = "x", dtype = "u32", shape = { 1088 } }
  local Y = k:tensor { name = "y", dtype = "u32", shape = { 512 }, out = true }
  local which, text = k:scalar { name = "which", dtype = "i32" }, {}
  for i, kind in ipairs(kinds) do text[i] = ("if (which == %d) {\n%s\n}"):format(i, code_of(kind)) end
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 4096 }, bind = { x = X, y = Y },
    work = { run = weir.producer_work { params = "i32 which", code = table.concat(text, "\n") } } }
  k:task { name = "one", warps = { 0, 4 }, schedule = function() s:run(which) end }
  local p = k:build { device = dev }
  local x, y = dev:tensor { dtype = "u32", shape = { 1088 } }, dev:tensor { dtype = "u32", shape = { 512 } }
  return function(round)
    assert(p:launch({ x = x:set(round.words), y = y:fill(0), which = round.kind.which }, { device = dev, grid = 1 }))
    assert(dev:sync())
    return table.move(y:get(), 1, round.kind.sums == types.f16 and 64 or 128, 1, {})
  end, p
end

-- ---- numbers ---------------------------------------------------------------------------------------------------------------------------
-- The same everywhere: xorshift over 32 bits.
local function random(seed)
  local x = seed
  return function(n)
    x = (x ~ x << 13) & 0xffffffff
    x = x ~ x >> 17
    x = (x ~ x << 5) & 0xffffffff
    return x % n
  end
end

local function set_element(words, t, row, i, bits) -- row of A, or 64 + row of B
  local per = 4 // t.size
  local at = 8 * row + i // per + 1
  words[at] = words[at] | bits << 8 * t.size * (i % per)
end

-- From the order of the threads of an mma.sync (the first recording drew them so) into rows; with halves of k the rest is never looked at.
local function into_rows(list)
  local words = {}
  for i = 1, 576 do words[i] = 0 end
  for l = 0, 31 do
    for i = 0, 3 do words[8 * (l // 4 + i % 2 * 8) + i // 2 * 4 + l % 4 + 1] = list[4 * l + i + 1] end
    for i = 0, 1 do words[512 + 8 * (l // 4) + i * 4 + l % 4 + 1] = list[128 + 2 * l + i + 1] end
  end
  return words
end

-- Exponents of -6 to 6, every e4m3; old sums of several sizes, some of them 0.
local function first_rounds(out, most)
  local rnd = random(12345)
  local function float(lo, hi) return rnd(2) << 31 | (127 + lo + rnd(hi - lo + 1)) << 23 | rnd(1 << 23) end
  local draw = {
    bf16 = function() local function one() return float(-6, 6) >> 16 end return one() | one() << 16 end,
    f16 = function() local function one() return rnd(2) << 15 | (15 - 6 + rnd(13)) << 10 | rnd(1024) end return one() | one() << 16 end,
    tf32 = function() return float(-6, 6) & ~0x1fff end,
    e4m3 = function() local w = 0 for i = 0, 3 do local b; repeat b = rnd(256) until b & 127 ~= 127; w = w | b << 8 * i end return w end,
  }
  for _, kind in ipairs(kinds) do
    if not kind.first then break end
    for round = 1, 24 do
      local list, n = {}, kind.rows == 64 and 576 or 192
      for i = 1, n do list[i] = draw[kind[2]]() end
      for i = n + 1, 1088 do list[i] = round % 6 == 0 and 0 or float(round % 4 * 4 - 8, round % 4 * 4 + 2) end
      if round <= most then
        local words = kind.rows == 64 and list or into_rows(list)
        if kind.rows == 16 then table.move(list, 193, 704, 577, words) end
        out[#out + 1] = { kind = kind, set = "random", name = ("%s: random %d"):format(kind.name, round), words = words }
      end
    end
  end
end

-- Sets of numbers: a(rnd, t, row, k) and b the same draw an element, c(rnd, t) an old sum. Wide exponents are those of bf16 and tf32.
local function power(t, s, e) return number(t, s, e, e < 1 - t.bias and 1 << e + t.bias - 1 + t.m or 0) end -- 2^e; 0 if it is too small
local function is_wide(t) return t.e == 8 end
local function any(rnd, t, lo, hi) return number(t, rnd(2), lo + rnd(hi - lo + 1), rnd(1 << t.m)) end
local function span(t) return 1 - t.bias, t.infinite and t.bias or t.bias + 1 end
local sets = {
  { "every exponent", function(rnd, t)
      if is_wide(t) then return any(rnd, t, -40, 40) end
      return any(rnd, t, span(t))
    end, function(rnd, t, of) if t.e < 8 then return any(rnd, t, span(t)) end return any(rnd, t, is_wide(of) and -90 or -30, is_wide(of) and 80 or 30) end },
  { "subnormal operands", function(rnd, t, row) -- odd rows of A: no other; odd columns of B: none
      if row % 2 == 1 and row < 64 or row % 2 == 0 and rnd(2) == 0 then return number(t, rnd(2), -1000, rnd(1 << t.m)) end
      if is_wide(t) then return any(rnd, t, 90, 126) end
      return any(rnd, t, -2, t.bias)
    end, function(rnd, t, of) if t.e < 8 then return any(rnd, t, -24, -2) end return any(rnd, t, is_wide(of) and -50 or -25, rnd(2) == 0 and 4 or -12) end },
  { "small sums", function(rnd, t) -- around the least f32
      if is_wide(t) then return any(rnd, t, -76, -62) end
      return rnd(8) > 0 and rnd(2) << t.e + t.m or number(t, rnd(2), -1000, 1 + rnd(3))
    end, function(rnd, t) return any(rnd, t, -140 + rnd(2) * 10, -118) end },
  { "zeros", function(rnd, t, row, k) -- whole rows of one sign, rows with both, a rare 1
      local s = row % 4 == 0 and 0 or row % 4 == 1 and 1 or rnd(2)
      return rnd(40) == 0 and k == 1 and row % 8 == 5 and number(t, s, 0, 0) or s << t.e + t.m + (t.lowest or 0)
    end, function(rnd, t) return rnd(4) > 0 and rnd(2) << t.e + t.m or number(t, rnd(2), -1000 + rnd(2) * 1000, 1 + rnd(9)) end },
  { "cancellation", nil, function(rnd, t, of) if t.e < 8 then return any(rnd, t, -10, -2) end return rnd(3) == 0 and 0 or any(rnd, t, is_wide(of) and -30 or -12, -4) end },
  { "large sums", function(rnd, t)
      if is_wide(t) then return any(rnd, t, 58, 64) end
      return any(rnd, t, t.bias - 3, t.bias + 1)
    end, function(rnd, t) return any(rnd, t, t.bias - 3, t.bias) end },
  { "infinities and NaNs", function(rnd, t)
      if rnd(30) > 0 then return any(rnd, t, -3, 3) end
      local m = t.infinite and rnd(3) > 0 and 0 or not t.infinite and 7 or 1 + rnd((1 << t.m) - 1)
      return rnd(6) == 0 and 0 or (rnd(2) << t.e + t.m | t.top << t.m | m) << (t.lowest or 0)
    end, function(rnd, t) return rnd(10) == 0 and (rnd(2) << t.e + t.m | t.top << t.m | (rnd(2) == 0 and 0 or 1 + rnd(1000))) or any(rnd, t, -3, 3) end },
  { "integers", function(rnd, t) return number(t, rnd(2), rnd(4), rnd(2) << t.m - 1) end, function(rnd, t) return number(t, rnd(2), rnd(6), rnd(2) << t.m - 1) end },
  { "ties", function(rnd, t, row, k) -- even rows: half of the last bit of an f16 near 1, and a last straw or none; odd ones: of a subnormal
      if row >= 64 then return k == 0 and power(t, 0, -6) or k == 1 and power(t, rnd(2), -10 - 2 * (1 + rnd(4))) or k == 2 and power(t, 0, -13) or 0 end
      if row % 2 == 0 then return k == 0 and power(t, 0, -5) or k == 1 and power(t, 0, -12) or 0 end
      return k == 1 and power(t, 0, -24) or k == 2 and power(t, 0, -12) or 0
    end, function(rnd, t) return number(t, rnd(2), -1000 + 1000 * rnd(2), rnd(64)) end },
  { "sums that vanish", function(rnd, t) -- below the least number of the sum
      if is_wide(t) then return any(rnd, t, -80, -70) end
      return any(rnd, t, -19, -11)
    end, function(rnd, t) return rnd(3) > 0 and rnd(2) << t.e + t.m or number(t, rnd(2), -1000, rnd(2)) end },
}

-- Neighbours in k are the same but for the sign of B's and now and then the last bit: their products cancel.
local function cancelling(rnd, kind, words)
  for row = 0, kind.rows + 7 do
    local of_b = row >= kind.rows
    local t = of_b and kind.b or kind.a
    for k = 0, kind.k - 1, 2 do
      local e, m = rnd(7) - 3, rnd(1 << t.m)
      if is_wide(t) and rnd(4) == 0 then e = e + rnd(24) end
      for i = 0, 1 do
        set_element(words, t, of_b and 64 + row - kind.rows or row, k + i, number(t, of_b and i or 0, e, (m ~ (rnd(6) == 0 and i or 0)) & (1 << t.m) - 1))
      end
    end
  end
end

--- kind, set, name, words: in the order in which they are recorded.
function rounding.rounds()
  local out = {}
  first_rounds(out, 8)
  for at, set in ipairs(sets) do
    for _, kind in ipairs(kinds) do
      local rnd, words = random((kind.which * 64 + at) * 2654435761 & 0xffffffff | 1), {}
      for i = 1, 576 do words[i] = 0 end
      if not set[2] then cancelling(rnd, kind, words) else
        for row = 0, kind.rows - 1 do for k = 0, kind.k - 1 do set_element(words, kind.a, row, k, set[2](rnd, kind.a, row, k)) end end
        for row = 0, 7 do for k = 0, kind.k - 1 do set_element(words, kind.b, 64 + row, k, set[2](rnd, kind.b, 64 + row, k)) end end
      end
      local t, narrow = kind.sums, is_wide(kind.a) and kind.a or kind.b
      for i = 577, 1088 do words[i] = set[3](rnd, t, narrow) | (t.size == 2 and set[3](rnd, t, narrow) << 16 or 0) end
      out[#out + 1] = { kind = kind, set = set[1], name = ("%s: %s"):format(kind.name, set[1]), words = words }
    end
  end
  return out
end

--- Results as they are recorded: 8 hexadecimal digits each.
function rounding.text(results)
  local out = {}
  for i, w in ipairs(results) do out[i] = ("%08x"):format(w) end
  return table.concat(out)
end

-- ---- the rule, once more ---------------------------------------------------------------------------------------------------------------
-- Slow and in whole numbers, for comparison with src/sim/sums.c, which says it in words.

local function floor_log2(m) local n = -1 while m > 0 do m, n = m >> 1, n + 1 end return n end
local function cut_right(m, by) -- towards zero
  if by >= 0 then return m << by end
  return m < 0 and -(by > -64 and -m >> -by or 0) or (by > -64 and m >> -by or 0)
end

-- m 2^e to the bits of an f32 or f16: cut to `kept` bits, or (nil) rounded to nearest even.
local function pack(t, m, e, kept)
  local s, whole = m < 0 and 1 << t.e + t.m or 0, t.m + 1
  m = math.abs(m)
  local n, least = floor_log2(m) + 1, 1 - t.bias - t.m
  local drop = math.max(n - (kept or whole), least - e)
  if drop > 0 then
    local rest = drop < 63 and m & (1 << drop) - 1 or m
    m = drop < 63 and m >> drop or 0
    if not kept and drop < 63 and (rest > 1 << drop - 1 or rest == 1 << drop - 1 and m & 1 == 1) then m = m + 1 end
    e = e + drop
  end
  if m == 0 then return 0 end
  n = floor_log2(m) + 1
  if n + e > t.bias + 1 then return s | t.top << t.m end
  local shift = math.min(whole - n, e - least)              -- all its bits, as far as the least number allows; below 0: zeros leave
  m, e = shift >= 0 and m << shift or m >> -shift, e - shift
  return s | (m < 1 << t.m and m or (e - least + 1) << t.m | m & (1 << t.m) - 1)
end

local function value(bits) return (string.unpack("<f", string.pack("<I4", bits))) end
-- What is not a number is one number.
local function special(t, x)
  if x ~= x then return (1 << t.e + t.m) - 1 end
  return (x < 0 and 1 << t.e + t.m or 0) | t.top << t.m
end

-- terms: { m, e, exponent, or what is not finite: its value }
local function sum(t, terms, fraction, kept)
  local whole, largest = nil, -math.huge
  for _, x in ipairs(terms) do
    if not x.m then whole = (whole or 0) + x.value
    elseif x.m ~= 0 then largest = math.max(largest, x.exponent) end
  end
  if whole then return special(t, whole) end
  if largest == -math.huge then return 0 end
  local lsb, total = math.max(largest, -133) - fraction, 0
  for _, x in ipairs(terms) do if x.m ~= 0 then total = total + cut_right(x.m, x.e - lsb) end end
  return pack(t, total, lsb, kept)
end

local function product(ta, tb, x, y, least_a, least_b)
  local m, e = split(ta, x)
  local n, f = split(tb, y)
  if not m or not n then return { value = (m or e) * (n or f) } end
  if m == 0 or n == 0 then return { m = 0 } end
  return { m = m * n, e = e + f, exponent = math.max(floor_log2(math.abs(m)) + e, least_a) + math.max(floor_log2(math.abs(n)) + f, least_b) }
end

local function old_sum(t, bits)
  local m, e = split(t, bits)
  if not m then return { value = e } end
  return { m = m, e = e, exponent = m ~= 0 and math.max(floor_log2(math.abs(m)) + e, 1 - t.bias) or nil }
end

--- The results of one round by the rule, as `run` gives them.
function rounding.expected(round)
  local kind, words, t = round.kind, round.words, round.kind.sums
  local half, bytes = t == types.f16, kind.a.size == 1
  local through_f16 = bytes and kind.instruction == "mma"
  local fraction, kept = 25, not half and 24 or nil
  if bytes and not through_f16 then fraction, kept = 13, 14 end
  local least_a, least_b = through_f16 and -14 or 1 - kind.a.bias, through_f16 and -14 or 1 - kind.b.bias
  local function element(of, row, i) local per = 4 // of.size; return words[8 * row + i // per + 1] >> 8 * of.size * (i % per) & (1 << 8 * of.size) - 1 end
  local out = {}
  for l = 0, 31 do
    for i = 0, 3 do
      local row, column = l // 4 + 8 * (i // 2), 2 * (l % 4) + i % 2
      local old = half and words[576 + 2 * l + i // 2 + 1] >> 16 * (i % 2) & 0xffff or words[576 + 4 * l + i + 1]
      local parts = { {}, {} }
      for k = 0, kind.k - 1 do
        local list = parts[through_f16 and k // 2 % 2 + 1 or 1]
        list[#list + 1] = product(kind.a, kind.b, element(kind.a, row, k), element(kind.b, 64 + column, k), least_a, least_b)
      end
      local s = through_f16 and 0 or old
      for p = 1, through_f16 and 2 or 1 do
        table.insert(parts[p], 1, old_sum(t, s))
        s = sum(t, parts[p], fraction, kept)
      end
      if through_f16 then
        local x = value(s) + value(old)
        s = string.unpack("<I4", string.pack("<f", x))
        if x ~= x then s = special(t, x) end
      end
      if half and i % 2 == 1 then out[#out] = out[#out] | s << 16 else out[#out + 1] = s end
    end
  end
  return out
end

return rounding
