#!/usr/bin/env lua5.4
-- What ptxas allots a wgmma: of the registers at entry n / 2 for its sums, 26 beside them, 4 for an A in registers (C7602 where there are fewer,
-- whatever setmaxnreg brings later). A product that asks for more is cut into instructions of fewer columns, never one that ptxas would take
-- whole; refused is only what no cut helps. Compiling needs NVRTC, no GPU; the results are the simulator's.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local dev = lab.device()

local BK = 64 -- bytes of a row: 128, with 8-bit operands 64

-- One product of 64 * wgs x n. o: warps (of the CTA), ctas, n, wgs = 1, split, dtype = "bf16", t (B transposed), from ("regs": A comes from
-- registers), swizzle, registers.
local function kernel(o)
  local wgs, n, dtype, rows = o.wgs or 1, o.n, o.dtype or "bf16", o.split == "n" and 64 or 64 * (o.wgs or 1)
  rows = rows * (o.frags or 1)
  local k = weir.kernel { name = "product", arch = "sm_90a", ctas_per_sm = o.ctas }
  local A = k:tensor { name = "A", dtype = dtype, shape = { rows, BK } }
  local B = k:tensor { name = "B", dtype = dtype, shape = o.t and { BK, n } or { n, BK } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { rows, n }, out = true }
  local P, sw = weir.pipeline, o.swizzle or (dtype == "e4m3" and 64 or 128)
  local a = k:smem_tile { name = "a", dtype = dtype, tile = { rows, BK }, swizzle = dtype == "e4m3" and 64 or 128, pipeline = P.tma_async { stages = 1 } }
  local b = k:smem_tile { name = "b", dtype = dtype, tile = o.t and { BK, n } or { n, BK }, swizzle = sw, pipeline = P.tma_async { stages = 1 } }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { rows, BK } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = o.t and { BK, n } or { n, BK } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { rows, n } }
  local acc = k:wgmma_tile { name = "acc", tile = { rows, n }, split = o.split }
  local r = o.from == "regs" and k:reg_tile { name = "r", dtype = dtype, tile = { rows, BK } }
  k:task { name = "load", warps = { o.warps - 1, 1 }, schedule = function()
    a:acquire(); a:tma_load(ga:at(0, 0)); a:commit()
    b:acquire(); b:tma_load(gb:at(0, 0)); b:commit()
  end }
  k:task { name = "mma", warps = { 0, 4 * wgs }, registers = o.registers, schedule = function()
    acc:zero(); a:wait(); b:wait()
    if r then r:set(a:read()) end
    acc:mma(r and r:read() or a:read(), o.t and b:read():t() or b:read())
    acc:drain(); a:release(); b:release()
    gd:store(acc:read(), gd:at(0, 0))
  end }
  return k, rows
end

-- Runs it on the simulator: the right sums?
local function right(program, o, rows)
  local dtype, n = o.dtype or "bf16", o.n
  local x, y, want = {}, {}, {}
  for i = 1, rows * BK do x[i] = (i * 7 + i // BK) % 9 - 4 end
  for i = 1, n * BK do y[i] = (i * 5 + i // 13) % 7 - 3 end
  for i = 0, rows - 1 do
    for j = 0, n - 1 do
      local sum = 0
      for c = 0, BK - 1 do sum = sum + x[i * BK + c + 1] * (o.t and y[c * n + j + 1] or y[j * BK + c + 1]) end
      want[i * n + j + 1] = sum
    end
  end
  local A, B = assert(dev:tensor { dtype = dtype, shape = { rows, BK } }), assert(dev:tensor { dtype = dtype, shape = o.t and { BK, n } or { n, BK } })
  local D = assert(dev:tensor { dtype = "f32", shape = { rows, n } })
  A:set(x); B:set(y)
  local ok, message = program:launch({ A = A, B = B, D = D }, { device = dev, grid = 1 })
  if ok then ok, message = dev:sync() end
  if not ok then return message end
  local got = D:get()
  for i = 1, #want do if got[i] ~= want[i] then return ("element %d: %s, not %s"):format(i, got[i], want[i]) end end
  return "right"
end

-- What ptxas asks for, where it refuses; "taken" where it does not.
local no_compiler
local function asked(program)
  local cubin, message, code = program:cubin()
  if cubin then return "taken" end
  if code == "no_compiler" then no_compiler = message end
  return tonumber(message:match "%(C7602%).-register target of (%d+)") or message
end

-- Columns of the instructions of the first 64 rows.
local function cut(source)
  local out = {}
  for n in source:gmatch "w_wgmma_[rs]s<(%d+)" do out[#out + 1] = tonumber(n) end
  return out
end
-- The same in one instruction.
local function whole(source, n)
  local first = true
  return (source:gsub("[^\n]*w_wgmma_[rs]s<%d+[^\n]*\n", function(row)
    if not first then return "" end
    first = false
    return (row:gsub("<%d+", "<" .. n, 1))
  end))
end

-- { name, o, registers at entry, cut }
local cases = {
  { "512 threads take 200 columns at once", { warps = 16, n = 200 }, 128, { 200 } },
  { "and 208 in two parts", { warps = 16, n = 208 }, 128, { 104, 104 } },
  { "with A in registers 192 at once", { warps = 16, n = 192, from = "regs" }, 128, { 192 } },
  { "and 200 in two parts, the second the smaller", { warps = 16, n = 200, from = "regs" }, 128, { 104, 96 } },
  { "640 threads: 136 at once", { warps = 20, n = 136 }, 96, { 136 } },
  { "and 144 in two parts, of 8-bit operands", { warps = 20, n = 144, dtype = "e4m3" }, 96, { 72, 72 } },
  { "1024 threads: 256 in four", { warps = 32, n = 256 }, 64, { 64, 64, 64, 64 } },
  { "768 threads, B transposed: panels of 64 columns stay whole", { warps = 24, n = 128, t = true }, 80, { 64, 64 } },
  { "with panels of 32 columns", { warps = 24, n = 160, t = true, swizzle = 64 }, 80, { 96, 64 } },
  { "tiles of two warpgroups by columns", { warps = 28, n = 208, wgs = 2, split = "n" }, 72, { 56, 48 } },
  { "several CTAs an SM leave fewer", { warps = 16, ctas = 2, n = 80 }, 64, { 40, 40 } },
}
for _, case in ipairs(cases) do
  local name, o, entry, parts = table.unpack(case, 1, 4)
  local k, rows = kernel(o)
  local program = k:build { device = dev }
  tap.is(entry, plan.get(program, "plan", 0, "entry_registers"), name .. ": registers at entry")
  tap.is(parts, cut(program:source()), name .. ": columns of the instructions")
  tap.is("right", right(program, o, rows), name .. ": the sums")
  if not no_compiler then
    local seen = asked(program)
    if not no_compiler then
      tap.is("taken", seen, name .. ": ptxas takes it")
      tap.unlike("C75%d%d", program:log(), name .. ": and serialises nothing")
      if #parts > 1 then
        local n = o.split == "n" and o.n // o.wgs or o.n
        plan.run_text(program, whole(program:source(), n))
        tap.is(n // 2 + 26 + (o.from and 4 or 0), asked(program), name .. ": not in one instruction")
      end
    end
  end
end
if no_compiler then tap.skip(no_compiler) end

-- Two blocks of 64 rows are cut alike.
do
  local o = { warps = 20, n = 144, wgs = 1, frags = 2 }
  local k, rows = kernel(o)
  local program = k:build { device = dev }
  tap.is({ 72, 72, 72, 72 }, cut(program:source()), "two blocks of rows: columns of the instructions")
  tap.is("right", right(program, o, rows), "two blocks of rows: the sums")
end

-- What cannot be cut is refused, with what it lacks.
local function refused(name, o, text)
  local ok, message = pcall(function() return kernel(o):build { device = dev } end)
  tap.is(false, ok, name .. ": refused")
  tap.like(text, tostring(message), name .. ": why")
end
refused("panels of 64 columns in 56 registers", { warps = 12, ctas = 3, n = 64, t = true }, "an mma into 'acc' by task 'mma' needs 58 registers of a thread at entry for 64 columns at a time; with 3 CTAs of 384 threads an SM there are 56 [PLAN-REGS]")
refused("panels of 64 columns in 56 registers", { warps = 12, ctas = 3, n = 64, t = true }, "expected at least 58, got 56\n    hint: ptxas allots them before setmaxnreg brings more: lower ctas_per_sm, take fewer warps, or a narrower swizzle, or a b that is not transposed")
tap.is({ 32, 32 }, cut(kernel { warps = 12, ctas = 3, n = 64, t = true, swizzle = 64 }:build { device = dev }:source()), "of 32 columns there are enough")
refused("A in registers in 32 of them", { warps = 8, ctas = 8, n = 8, from = "regs" }, "needs 34 registers of a thread at entry for 8 columns at a time; with 8 CTAs of 256 threads an SM there are 32")
tap.done()
