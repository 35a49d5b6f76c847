#!/usr/bin/env lua5.4
-- Offsets, barrier arrays, tiles and operands in shared memory: the vectors, then properties over many shapes.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local core = require "weir_test"

require "layout_suite"(tap, require "layout", core)

-- The 16-byte chunk c of row r of a swizzled tile, as the ISA's tables have it, by span.
local chunk = {
  [128] = function(r, c) return c ~ (r & 7) end,
  [64] = function(r, c) return c ~ (r >> 1 & 3) end,
  [32] = function(r, c) return c ~ (r >> 2 & 1) end,
}
-- The same as XOR of address bits.
local xor = {
  [128] = function(a) return a ~ (a >> 3 & 0x70) end,
  [64] = function(a) return a ~ (a >> 3 & 0x30) end,
  [32] = function(a) return a ~ (a >> 3 & 0x10) end,
}
local size = { bf16 = 2, f32 = 4, e4m3 = 1 }

for _, dtype in ipairs { "bf16", "f32", "e4m3" } do
  for span in pairs(chunk) do
    for _, shape in ipairs { { 8, 1 }, { 64, 1 }, { 40, 2 }, { 16, 3 } } do
      local rows, panels, e = shape[1], shape[2], size[dtype]
      local cols = panels * span // e
      local t = { dtype = dtype, tile = { rows, cols }, swizzle = span }
      local at = core.elements(t)
      local by_chunk, by_xor, once, seen = true, true, true, {}
      for r = 0, rows - 1 do
        for c = 0, cols - 1 do
          local got = at[r * cols + c + 1]
          local panel, byte = c * e // span, c * e % span
          local row = panel * rows * span + r * span
          by_chunk = by_chunk and got == row + chunk[span](r, byte // 16) * 16 + byte % 16
          by_xor = by_xor and got == xor[span](row + byte)
          once = once and not seen[got] and got >= 0 and got + e <= rows * cols * e
          seen[got] = true
        end
      end
      local name = ("%s, %d x %d, span %d"):format(dtype, rows, cols, span)
      tap.ok(by_chunk, name .. ": chunks are permuted as the ISA's tables say")
      tap.ok(by_xor, name .. ": the XOR of the address bits gives the same")
      tap.ok(once, name .. ": every element has its own place inside the tile")
    end
  end
end

-- What an operand's descriptor and steps reach is where the tile's elements are. The hardware walks un-swizzled addresses and
-- applies the XOR last, so both sides are compared before it. K-major: 8-row groups are `sbo` apart. MN-major: chunks are `lbo`
-- apart, groups of 8 k `sbo`.
local function unswizzled(span, a) return xor[span] and xor[span](a) or a end -- the XOR is its own inverse

local function reaches(t, transposed, n)
  local o = core.operand(t, transposed, n)
  local at, e = core.elements(t), size[t.dtype] or 2
  local rows, cols = t.tile[1], t.tile[2]
  local span, kk = t.swizzle, 32 // e
  local mn, k = transposed and cols or rows, transposed and rows or cols
  for i = 0, mn - 1 do
    for j = 0, k - 1 do
      local element = transposed and j * cols + i or i * cols + j
      local step, in_step = j // kk, j % kk
      local start = i // n * o.mn_step_bytes + step // o.k_per_panel * o.k_panel_bytes + step % o.k_per_panel * o.k_step_bytes
      local inside = i % n
      local a
      if transposed then
        local wide = span // e
        a = start + inside // wide * o.lbo + inside % wide * e + in_step // 8 * o.sbo + in_step % 8 * span
      else
        a = start + inside // 8 * o.sbo + inside % 8 * span + in_step * e
      end
      if a ~= unswizzled(span, at[element + 1]) then return false end
    end
  end
  return true
end

for span in pairs(chunk) do
  for _, shape in ipairs { { 64, 64 }, { 128, 128 }, { 256, 64 } } do
    local t = { dtype = "bf16", tile = shape, swizzle = span }
    local name = ("%d x %d, span %d"):format(shape[1], shape[2], span)
    tap.ok(reaches(t, false, 64), name .. ": a K-major operand of 64 rows reaches every element")
    tap.ok(reaches(t, true, 64), name .. ": a transposed operand of 64 columns reaches every element")
  end
  local t = { dtype = "e4m3", tile = { 128, 256 }, swizzle = span }
  tap.ok(reaches(t, false, 128), ("e4m3, 128 x 256, span %d: a K-major operand of 128 rows reaches every element"):format(span))
end

-- Many random placements: the same invariants as the vectors'.
local seed = 1
local function random(n) -- the same numbers everywhere
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return seed // 65536 % n
end

local good, tight = true, true
for _ = 1, 300 do
  local n, groups, items = 1 + random(8), random(3), {}
  for g = 1, groups do
    for phase = 1, 2 do
      items[#items + 1] = { name = "g", size = random(300), align = 1 << random(11), group = g, phase = phase }
    end
  end
  for i = 1, n do
    local g = groups > 0 and random(2) == 1 and 1 + random(groups) or nil
    local phase = g and 1 + random(2)
    items[#items + 1] = { name = "x" .. i, size = random(5000), align = 1 << random(11), group = g, phase = phase }
  end
  local total, offsets, saved = core.place(items, groups)
  local sum, dissolved = 0, {}
  for i, a in ipairs(items) do
    sum = sum + a.size + a.align
    dissolved[i] = { name = a.name, size = a.size, align = a.align }
    good = good and offsets[i] % a.align == 0 and offsets[i] + a.size <= total
    for j = 1, i - 1 do
      local b = items[j]
      good = good and (offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
        or a.group ~= nil and a.group == b.group and a.phase ~= b.phase)
    end
  end
  tight = tight and total <= sum and core.place(dissolved, 0) - total == saved
end
tap.ok(good, "300 random placements: aligned, inside the total, no overlap but between phases")
tap.ok(tight, "300 random placements: what is saved is the total without groups minus the total")

tap.done()
