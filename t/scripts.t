#!/usr/bin/env lua5.4
-- The whole kernels of examples/ that other tests only build: launched as they stand in the simulator, every element compared with plain
-- Lua. Sizes that leave tiles ragged, rows empty, loops without a step.
--
--   lua5.4 t/scripts.t [FOLDER]     FOLDER: the scripts of the design, which the examples are copies of
local tap = require "tap"
local weir = require "weir"
local dev = weir.device("sim", { seed = 6 })
local folder = arg[1] or "/work/shared/scripts"

local function slurp(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

-- The script of the design where it is at hand, else its copy; the two differ in a comment.
local function script(name)
  local here, there = ("examples/%s.lua"):format(name), ("%s/%s.lua"):format(folder, name)
  local theirs = slurp(there)
  if not theirs then return dofile(here) end
  local function body(text) return (text:gsub("^(%-%-[^\n]*\n)%-%-[^\n]*\n", "%1")) end
  tap.is(body(theirs), body(slurp(here)), name .. ": the example is the design's script")
  return dofile(there)
end

local function numbers(n, seed, span)
  local out = {}
  for i = 1, n do out[i] = (i * 7919 + seed * 104729) % (2 * span + 1) - span end
  return out
end
local function tensor(dtype, shape, data) return dev:tensor { dtype = dtype, shape = shape }:set(data) end

-- want[i], or nothing where any value will do; at most `far` away.
local function compare(name, want, seen, far)
  local wrong, first = 0, nil
  for i = 1, #seen do
    local ok = math.abs(seen[i] - want[i]) <= (far or 0)
    if not ok then
      wrong = wrong + 1
      first = first or ("element %d: wanted %g, seen %g"):format(i - 1, want[i], seen[i])
    end
  end
  if not tap.is({ #want, 0 }, { #seen, wrong }, name) then tap.diag(first) end
end
local function launch(name, program, args)
  local ok, message = program:launch(args)
  if ok then ok, message = dev:sync() end
  if ok and dev:findings() ~= "" then ok, message = false, dev:findings() end
  if not tap.ok(ok, name .. ": runs") then tap.diag(message) end
end

-- ---- fork_gemm_act: D = relu(A B^T), R = relu(A) ----------------------------------------------------------------------------------

local fork = script "fork_gemm_act"
for _, size in ipairs { { 128, 16, 64 }, { 200, 30, 150 }, { 60, 7, 330 }, { 5, 3, 0 } } do
  local M, N, K = table.unpack(size)
  local name = ("fork_gemm_act, M %d, N %d, K %d"):format(M, N, K)
  local a, b = numbers(M * K, 1, 4), numbers(N * K, 2, 4)
  local d, r = {}, {}
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      local sum = 0
      for q = 1, K do sum = sum + a[i * K + q] * b[j * K + q] end
      d[#d + 1] = math.max(sum, 0)
    end
  end
  for i = 1, M * K do r[i] = math.max(a[i], 0) end
  local args = { A = tensor("bf16", { M, K }, a), B = tensor("bf16", { N, K }, b), D = dev:tensor { dtype = "bf16", shape = { M, N } }, R = dev:tensor { dtype = "bf16", shape = { M, K } } }
  launch(name, fork, args)
  local far = 0 -- bf16 keeps 8 bits of a sum
  for _, x in ipairs(d) do far = math.max(far, x / 256) end
  compare(name .. ": D", d, args.D:get(), far)
  compare(name .. ": R", r, args.R:get())
end

-- ---- varlen_copy: row i of y is x[off[i] .. off[i + 1]) and what was there behind it -----------------------------------------------

local varlen = script "varlen_copy"
for _, rows in ipairs { { 128 }, { 0, 1, 127, 128, 129, 300, 0 }, { 5, 5, 0, 0, 260 }, {} } do
  local off, sum = { 0 }, 0
  for i, n in ipairs(rows) do sum = sum + n; off[i + 1] = sum end
  local x, max = numbers(sum, 3, 100), 320
  local name = "varlen_copy, rows of { " .. table.concat(rows, ", ") .. " }"
  local want = {}
  for i, n in ipairs(rows) do
    for j = 1, max do want[#want + 1] = j <= n and x[off[i] + j] or -777 end
  end
  local args = { off = tensor("i32", { #rows + 1 }, off), x = tensor("f32", { sum }, x), y = dev:tensor { dtype = "f32", shape = { #rows, max } }:fill(-777) }
  launch(name, varlen, args)
  compare(name, want, args.y:get())
end

-- ---- blur_custom: a cross of five, zero outside --------------------------------------------------------------------------------------

local blur = script "blur_custom"
for _, size in ipairs { { 1, 1 }, { 64, 256 }, { 70, 300 }, { 3, 513 } } do
  local H, W = table.unpack(size)
  local x = numbers(H * W, 4, 50)
  local function at(i, j) return i >= 0 and i < H and j >= 0 and j < W and x[i * W + j + 1] or 0 end
  local want = {}
  for i = 0, H - 1 do
    for j = 0, W - 1 do want[#want + 1] = 0.2 * (at(i, j - 1) + at(i, j) + at(i, j + 1) + at(i - 1, j) + at(i + 1, j)) end
  end
  local args = { x = tensor("f32", { H, W }, x), y = dev:tensor { dtype = "f32", shape = { H, W } } }
  local name = ("blur_custom, %d x %d"):format(H, W)
  launch(name, blur, args)
  compare(name, want, args.y:get(), 1e-4)
end

tap.done()
