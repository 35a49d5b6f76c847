#!/usr/bin/env lua5.4
-- Parts of stages as operands of wgmma: rows and columns, K-major and transposed, in every swizzle. Proved, run in the simulator,
-- every element compared; and what no descriptor can begin at is refused.
local tap = require "tap"
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div
local dev = assert(arg[1] == "gpu" and weir.device(0) or weir.device("sim", { seed = 9 })) -- lua5.4 t/parts.t gpu: on a GPU
local M, N, K = 128, 128, 128

-- D = A * transpose(B), a stage the whole of K = BK. o: bk, dtype, swizzle, tb (B is stored { K, N }); parts: list of { rows of D, columns
-- of D, { list of K ranges } }, first and count; each is a task of one warpgroup.
local function gemm(o)
  local BK, dtype = o.bk or 64, o.dtype or "bf16"
  local k = weir.kernel { name = "parts", arch = "sm_90a" }
  local dk = k:dim "K"
  local tensor = dtype == "tf32" and "f32" or dtype
  local A = k:tensor { name = "A", dtype = tensor, shape = { M, dk } }
  local B = k:tensor { name = "B", dtype = tensor, shape = o.tb and { dk, N } or { N, dk } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { M, BK } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = o.tb and { BK, N } or { N, BK } }
  local function ring(name, tile)
    return k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = o.swizzle or 128, pipeline = P.tma_umma { stages = 2 } }
  end
  local a, b = ring("a", { M, BK }), ring("b", o.tb and { BK, N } or { N, BK })
  k:task { name = "load", warps = { 4 * #o.parts, 1 }, schedule = function()
    for i in weir.domain_loop(0, cd(dk, BK)) do
      a:acquire(); a:tma_load(ga:at(0, i)); a:commit()
      b:acquire(); b:tma_load(o.tb and gb:at(i, 0) or gb:at(0, i)); b:commit()
    end
  end }
  for n, part in ipairs(o.parts) do
    local r, c, ks = table.unpack(part)
    local acc = k:wgmma_tile { name = "acc" .. n, tile = { r[2], c[2] } }
    local gd = k:gmem_tile { name = "gd" .. n, tensor = D, tile = { r[2], c[2] } }
    k:task { name = "mma" .. n, warps = { 4 * n - 4, 4 }, schedule = function()
      acc:zero()
      for _ in weir.domain_loop(0, cd(dk, BK)) do
        a:wait(); b:wait()
        for _, range in ipairs(ks or { { 0, BK } }) do
          local va, vb = a:read(), b:read()
          if r[2] < M then va = va:rows(r[1], r[2]) end
          if range[2] < BK then va = va:cols(range[1], range[2]) end
          if o.tb then
            if range[2] < BK then vb = vb:rows(range[1], range[2]) end
            if c[2] < N then vb = vb:cols(c[1], c[2]) end
            vb = vb:t()
          else
            if c[2] < N then vb = vb:rows(c[1], c[2]) end
            if range[2] < BK then vb = vb:cols(range[1], range[2]) end
          end
          acc:mma(va, vb)
        end
        acc:drain()
        a:release(); b:release()
      end
      gd:store(acc:read(), gd:from(r[1], c[1]))
    end }
  end
  return k
end

local function numbers(n, seed)
  local out, x = {}, seed * 2654435761 % 4294967296
  for i = 1, n do
    x = (x * 1664525 + 1013904223) % 4294967296
    out[i] = (x >> 16) % 7 - 3
  end
  return out
end

local function run(name, o)
  local ok, program = pcall(function() return gemm(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": builds") then return tap.diag(program) end
  tap.is("SAFE", program.report.proof.verdict, name .. ": proved")
  local dtype = (o.dtype or "bf16") == "tf32" and "f32" or o.dtype or "bf16"
  local x, y = numbers(M * K, 3), numbers(N * K, 5)
  local B = {}
  for n = 0, N - 1 do for q = 0, K - 1 do B[(o.tb and q * N + n or n * K + q) + 1] = y[n * K + q + 1] end end
  local args = { A = dev:tensor { dtype = dtype, shape = { M, K } }:set(x), D = dev:tensor { dtype = "f32", shape = { M, N } }:fill(0 / 0),
    B = dev:tensor { dtype = dtype, shape = o.tb and { K, N } or { N, K } }:set(B) }
  local launched, message = program:launch(args, { grid = 1 })
  if launched then launched, message = dev:sync() end
  if launched and dev.is_sim and dev:findings() ~= "" then launched, message = false, dev:findings() end
  local bad, seen = 0, args.D:get()
  for i = 0, M - 1, 3 do
    for j = 0, N - 1, 5 do
      local s = 0
      for q = 1, K do s = s + x[i * K + q] * y[j * K + q] end
      if seen[i * N + j + 1] ~= s then bad = bad + 1 end
    end
  end
  if not tap.ok(launched and bad == 0, name .. ": right") then tap.diag(bad, "wrong;", message) end
  local cubin, why, code = program:cubin()
  if code ~= "no_compiler" then tap.ok(cubin and not program:log():find "C75%d%d", name .. ": compiles, no wgmma serialised" .. (cubin and "" or ": " .. why)) end
  program:close()
end

local halves = { { { 0, 64 }, { 0, 128 } }, { { 64, 64 }, { 0, 128 } } }
local quarters = { { { 64, 64 }, { 64, 64 } }, { { 0, 64 }, { 0, 64 } }, { { 64, 64 }, { 0, 64 } }, { { 0, 64 }, { 64, 64 } } }
for _, swizzle in ipairs { 128, 64, 32 } do
  run(("rows of A, swizzle %d"):format(swizzle), { swizzle = swizzle, parts = halves })
  run(("rows of A and B, swizzle %d"):format(swizzle), { swizzle = swizzle, parts = quarters })
  run(("rows of A, columns of a transposed B, swizzle %d"):format(swizzle), { swizzle = swizzle, parts = quarters, tb = true })
end
run("K in parts of one step", { parts = { { { 0, 128 }, { 0, 128 }, { { 0, 16 }, { 48, 16 }, { 16, 32 } } } }, bk = 64 })
run("K in panels", { parts = { { { 0, 64 }, { 0, 128 }, { { 64, 64 }, { 0, 64 } } }, { { 64, 64 }, { 0, 128 }, { { 0, 128 } } } }, bk = 128 })
run("K in parts, B transposed", { parts = { { { 0, 64 }, { 0, 64 }, { { 32, 32 }, { 0, 16 }, { 16, 16 } } }, { { 64, 64 }, { 0, 64 } }, { { 0, 128 }, { 64, 64 } } }, tb = true })
run("e4m3", { dtype = "e4m3", parts = { { { 0, 64 }, { 0, 128 }, { { 32, 32 }, { 0, 32 } } }, { { 64, 64 }, { 0, 128 } } } , swizzle = 64 })
run("tf32", { dtype = "tf32", bk = 32, parts = { { { 64, 64 }, { 32, 96 }, { { 0, 8 }, { 8, 24 } } }, { { 64, 64 }, { 0, 32 } }, { { 0, 64 }, { 0, 128 } } } })

-- ---- refused ----------------------------------------------------------------------------------------------------------------------

local function refused(o, what, name)
  local k = gemm(o)
  tap.like(what, k:verify().text, name)
  k:close()
end
refused({ parts = { { { 4, 64 }, { 0, 128 } } } }, "begins at row 4, no multiple of the 8 rows of an atom", "rows that begin inside an atom")
refused({ bk = 128, parts = { { { 0, 64 }, { 0, 128 }, { { 32, 64 } } } } }, "columns 32 to 96 begin inside a panel of 64 and end in another", "columns across two panels")
refused({ parts = { { { 0, 64 }, { 32, 32 } } }, tb = true }, "columns 32 to 64 are no multiple of 64", "columns inside a panel of a transposed operand")
tap.done()
