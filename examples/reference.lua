-- A double-precision GEMM check, written with weir's custom work: used by build_gemm.lua, on the simulator and on a GPU alike.
local M = {}

local code = [[
  const i64 ld_a = A_stride[0], ld_b = B_stride[0], ld_d = D_stride[0];
  const i32 m = A_shape[0], n = B_shape[0], k = A_shape[1];
  const i32 r0 = row + (i32)(tid / 16) * 8, c0 = col + (i32)(tid % 16) * 4;
  double sum[8][4];
  for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) sum[i][j] = 0;
  for (i32 q = 0; q < k; q++) {
    float a[8], b[4];
    for (int i = 0; i < 8; i++) a[i] = r0 + i < m ? (float)A[(r0 + i) * ld_a + q] : 0.f;
    for (int j = 0; j < 4; j++) b[j] = c0 + j < n ? (float)B[(c0 + j) * ld_b + q] : 0.f;
    for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) sum[i][j] += (double)a[i] * (double)b[j];
  }
  double e2 = 0, s2 = 0, bad = 0;
  for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) {
    if (r0 + i >= m || c0 + j >= n) continue;
    double x = sum[i][j];
    if (ACT == 1) x = x > 0 ? x : 0;
    if (ACT == 2) x = 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
    double got = (double)(float)D[(r0 + i) * ld_d + c0 + j], d = got - x;
    e2 += d * d; s2 += x * x;
    double most = REL * fabs(x) + ABS * sqrt((double)k);
    if (!(fabs(d) <= most)) bad += 1;
  }
  for (int o = 16; o > 0; o /= 2) {
    e2 += __shfl_xor_sync(0xffffffffu, e2, o);
    s2 += __shfl_xor_sync(0xffffffffu, s2, o);
    bad += __shfl_xor_sync(0xffffffffu, bad, o);
  }
  if (lane == 0) {
    i64 at = ((i64)slot * 4 + warp) * E_stride[0];
    E[at] = e2; E[at + 1] = s2; E[at + 2] = bad;
  }
]]

--- o: weir, device, dtype, epilogue, A { m, k }, B { n, k }, D { m, n } (device tensors), m, n, k.
--- Returns { relative, bad }: Frobenius norm of the error over that of the reference, and the number of elements that are off.
function M.gemm(o)
  local weir = o.weir
  local k = weir.kernel { name = "reference", arch = "sm_90a" }
  local dm, dn, dk, slots = k:dim "M", k:dim "N", k:dim "K", k:dim "slots"
  local A = k:tensor { name = "A", dtype = o.dtype, shape = { dm, dk } }
  local B = k:tensor { name = "B", dtype = o.dtype, shape = { dn, dk } }
  local D = k:tensor { name = "D", dtype = o.dtype, shape = { dm, dn } }
  local E = k:tensor { name = "E", dtype = "f64", shape = { slots, 4 }, out = true }
  local wq = k:work_queue { name = "wq", kind = "grid", axes = { "m", "n" }, extent = { weir.ceil_div(dm, 64), weir.ceil_div(dn, 64) } }
  local half = o.dtype == "bf16" and 2.0 ^ -8 or 2.0 ^ -11   -- twice the rounding of the output type
  local check = k:resource { name = "check", space = "gmem", bind = { A = A, B = B, D = D, E = E },
    const = { REL = half, ABS = 1e-4, ACT = ({ none = 0, relu = 1, gelu = 2 })[o.epilogue] },
    work = { tile = weir.producer_work { params = "i32 row, i32 col, i32 slot", code = code } } }
  k:task { name = "sum", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      check:tile(t.m * 64, t.n * 64, t.m * weir.ceil_div(dn, 64) + t.n)
      wq:next()
    end
  end }
  local program = k:build { device = o.device }
  local tiles = ((o.m + 63) // 64) * ((o.n + 63) // 64)
  local e = o.device:tensor { dtype = "f64", shape = { math.max(1, tiles * 4), 4 } }:fill(0)
  assert(program:launch { A = o.A, B = o.B, D = o.D, E = e })
  assert(o.device:sync())
  local x, e2, s2, bad = e:get(), 0.0, 0.0, 0
  for i = 1, #x, 4 do e2, s2, bad = e2 + x[i], s2 + x[i + 1], bad + x[i + 2] end
  return { relative = s2 > 0 and math.sqrt(e2 / s2) or math.sqrt(e2), bad = bad ~= bad and o.m * o.n or math.floor(bad) }
end

return M
