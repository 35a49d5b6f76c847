#!/usr/bin/env lua5.4
-- A bf16 GEMM by mma.sync, in a body of its own: what a GPU without wgmma has (sm_80), and any later one runs too. One task copies by
-- cp.async, the other multiplies by ldmatrix and mma.sync.
--
--   lua5.4 examples/mma_sync.lua [M N K] [sim] [sm_80|sm_90a]
--   loadfile "examples/mma_sync.lua" "describe"   -- a function of the target that returns the kernel, not built
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local weir = require "weir"

local BM, BN, BK, STAGES = 64, 64, 64, 3

local function describe(arch)
  local k = weir.kernel { name = "mma_gemm", arch = arch }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  k:assume(weir.eq(K % 8, 0))                               -- cp.async copies 16 bytes
  local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { BM, BN } }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { BM, BK } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = { BN, BK } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { BM, BK }, swizzle = 128, pipeline = weir.pipeline.async_async { stages = STAGES, producer_op = "load" } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN, BK }, swizzle = 128, pipeline = weir.pipeline.async_async { stages = STAGES, producer_op = "load" } }

  -- Four warps, 32 x 32 of the tile each: 2 x 4 products of m16n8k16. The sums lie in shared memory between two steps, each thread's its own.
  local sums = k:resource { name = "sums", space = "smem", dtype = "f32", tile = { BM * BN }, bind = { d = D },
    work = {
      mma = weir.producer_work { params = "view a, view b, i32 step", code = [[
        // rows of 128 bytes whose 16-byte pieces are exchanged as swizzle = 128 says
        const u32 a0 = w_addr(a), b0 = w_addr(b), m0 = 32 * (warp / 2), n0 = 32 * (warp % 2), row = lane % 16, half = lane / 16;
        float c[2][4][4];
        for (u32 i = 0; i < 32; i++) (&c[0][0][0])[i] = step ? smem[i * nthreads + tid] : 0.f;
        for (u32 k = 0; k < 4; k++) {
          u32 fa[2][4], fb[2][4];
          for (u32 i = 0; i < 2; i++) {
            const u32 ra = m0 + 16 * i + row, rb = n0 + 16 * i + row;
            w_ldmatrix4(a0 + 128 * ra + 16 * ((2 * k + half) ^ (ra % 8)), fa[i]);
            w_ldmatrix4(b0 + 128 * rb + 16 * ((2 * k + half) ^ (rb % 8)), fb[i]);   // rows n: 0 to 7, 8 to 15, then the same of the next k
          }
          for (u32 i = 0; i < 2; i++)
            for (u32 j = 0; j < 4; j++) {
              const u32 f[2] = { fb[j / 2][j % 2], fb[j / 2][2 + j % 2] };
              w_mma<16, W_BF16>(c[i][j], fa[i], f);
            }
        }
        for (u32 i = 0; i < 32; i++) smem[i * nthreads + tid] = (&c[0][0][0])[i]; ]] },
      store = weir.producer_work { params = "i32 row, i32 column, i32 steps", code = [[
        for (u32 i = 0; i < 32; i++) {
          const i32 r = row + 32 * (warp / 2) + 16 * (i / 16) + lane / 4 + 8 * (i / 2 % 2);
          const i32 c = column + 32 * (warp % 2) + 8 * (i / 4 % 4) + 2 * (lane % 4) + i % 2;
          if (r < d_shape[0] && c < d_shape[1]) d[r * d_stride[0] + c] = steps ? smem[i * nthreads + tid] : 0.f;
        } ]] } } }

  local steps = weir.ceil_div(K, BK)
  k:task { name = "load", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in weir.domain_loop(0, steps) do
        a:acquire(); a:cp_async(ga:at(t.m, i)); a:commit()
        b:acquire(); b:cp_async(gb:at(t.n, i)); b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for i in weir.domain_loop(0, steps) do
        a:wait(); b:wait()
        sums:mma(a:read(), b:read(), i)
        a:release(); b:release()
      end
      sums:store(t.m * BM, t.n * BN, steps)
      wq:next()
    end
  end }
  return k
end
if ... == "describe" then return describe end

local sizes, arch, sim = {}, "sm_80", false
for _, a in ipairs(arg) do
  if a == "sim" then sim = true elseif a:find "^sm_" then arch = a else sizes[#sizes + 1] = assert(math.tointeger(tonumber(a)), a) end
end
local m, n, kk = table.unpack(sizes)
m, n, kk = m or 200, n or 136, kk or 264

local dev = sim and weir.device("sim", { seed = 3 }) or weir.device()
local program = describe(arch):build { device = dev }
local ta = dev:tensor { dtype = "bf16", shape = { m, kk } }:randn(1)
local tb = dev:tensor { dtype = "bf16", shape = { n, kk } }:randn(2)
local td = dev:tensor { dtype = "f32", shape = { m, n } }:fill(0 / 0)
assert(program:launch { A = ta, B = tb, D = td })
local x, y, d, worst = ta:get(), tb:get(), td:get(), 0.0
for r = 0, m - 1 do
  for c = 0, n - 1 do
    local s, size = 0.0, 1e-30
    for i = 1, kk do
      local p = x[r * kk + i] * y[c * kk + i]
      s, size = s + p, size + math.abs(p)
    end
    local off = math.abs(d[r * n + c + 1] - s) / size
    worst = off <= worst and worst or off
  end
end
local ok = worst < 1e-5
print(("%s mma_gemm %s %dx%dx%d on %s: worst error %.2g of the sum of magnitudes"):format(ok and "PASS" or "FAIL", arch, m, n, kk, dev.name, worst))
os.exit(ok)
