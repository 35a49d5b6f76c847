-- Y = transpose(X).
--
--   local transpose = require "weir.kernels.transpose"
--   local p = transpose.build { dtype = "bf16" }
--   p:launch { X = x, Y = y }                             -- X { M, N }, Y { N, M }; batched: { L, M, N }, { L, N, M }
--
-- Square blocks of 128 bytes go through shared memory: read by rows, 16 bytes a thread, scattered into their transposed place, and
-- written by rows. In row c of the transposed block the 16-byte chunks are permuted by xor with c / (elements of a chunk): the eight
-- threads that scatter one row of X then hit eight different groups of banks, and so do those that read a row back. Two blocks are
-- stacked, so that Y is written 256 bytes at a time.
local weir = require "weir"
local common = require "weir.kernels.common"
local M = {}

---@class weir.kernels.transpose.options
---@field dtype? weir.dtype            "bf16" if left out; any of 1, 2, 4 or 8 bytes
---@field batched? boolean             a leading axis L
---@field config? { blocks?: integer, threads?: integer }   blocks: stacked along M, 1, 2 or 4
---@field pdl? boolean                overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string

local STORAGE = { "u8", "u16", [4] = "u32", [8] = "u64" }    -- the bytes are moved as they are

local code = [[
  constexpr i32 VEC = 16 / SIZE, C = 8 * VEC, R = C * BLOCKS;        // a block of X: R rows, C columns
  struct alignas(16) pack { T e[VEC]; };
  const i32 m = x_shape[RANK - 2], n = x_shape[RANK - 1], row0 = tile_m * R, col0 = tile_n * C;
  const i64 ldx = x_stride[RANK - 2], ldy = y_stride[RANK - 2];
  const T *from = (const T *)x + (RANK == 3 ? (i64)batch * x_stride[0] : 0);
  T *to = (T *)y + (RANK == 3 ? (i64)batch * y_stride[0] : 0);
  T *block = (T *)smem;                                             // element (r, c) at c * R + (r with its chunk permuted)
  const bool wide_x = (((u64)from | (u64)(ldx * SIZE)) & 15) == 0, wide_y = (((u64)to | (u64)(ldy * SIZE)) & 15) == 0;
  for (i32 q = (i32)tid; q < R * 8; q += (i32)nthreads) {
    const i32 r = q / 8, c = q % 8 * VEC, row = row0 + r, col = col0 + c;
    pack p;
    if (wide_x && row < m && col + VEC <= n) p = *(const pack *)(from + row * ldx + col);
    else for (i32 e = 0; e < VEC; e++) p.e[e] = row < m && col + e < n ? from[row * ldx + col + e] : T(0);
    const i32 chunk = (r / VEC) ^ (q % 8);
    for (i32 e = 0; e < VEC; e++) block[(c + e) * R + chunk * VEC + r % VEC] = p.e[e];
  }
  task_sync();
  for (i32 q = (i32)tid; q < C * 8 * BLOCKS; q += (i32)nthreads) {
    const i32 c = q / (8 * BLOCKS), k = q % (8 * BLOCKS), row = col0 + c, col = row0 + k * VEC;   // of Y
    if (row >= n) continue;
    const pack p = *(const pack *)(block + c * R + (k ^ (c / VEC)) * VEC);
    if (wide_y && col + VEC <= m) *(pack *)(to + row * ldy + col) = p;
    else for (i32 e = 0; e < VEC; e++) if (col + e < m) to[row * ldy + col + e] = p.e[e];
  }
]]

local function describe(o)
  local size = weir.dtype_size(o.dtype)
  local c = common.with({ blocks = 2, threads = 256 }, common.options("transpose.build: config", o.config or {}, "blocks threads"))
  local side = 128 // size
  local k = weir.kernel { name = "transpose", arch = o.arch or "sm_90a" }
  local L = o.batched and k:dim "L" or nil
  local dm, dn = k:dim "M", k:dim "N"
  local function tensor(name, rows, cols, out)
    return k:tensor { name = name, dtype = o.dtype, shape = L and { L, rows, cols } or { rows, cols }, out = out }
  end
  local X, Y = tensor("X", dm, dn), tensor("Y", dn, dm, true)
  local text = ("typedef %s T;\n"):format(STORAGE[size]) .. code
  local swap = k:resource { name = "swap", space = "smem", dtype = STORAGE[size], tile = { side * side * c.blocks }, bind = { x = X, y = Y },
    const = { SIZE = size, BLOCKS = c.blocks, RANK = L and 3 or 2 },
    work = { block = weir.producer_work { params = "i32 tile_m, i32 tile_n, i32 batch", code = text } } }
  local axes, extent = { "m", "n" }, { weir.ceil_div(dm, side * c.blocks), weir.ceil_div(dn, side) }
  if L then table.insert(axes, 1, "l"); table.insert(extent, 1, L) end
  local wq = k:work_queue { name = "wq", kind = "grid", axes = axes, extent = extent }
  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "swap", warps = { 0, c.threads // 32 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      swap:block(t.m, t.n, L and t.l or 0)
      wq:next()
    end
  end }
  return k, c
end

--- Builds it. Launch arguments: X, Y.
---@param options? weir.kernels.transpose.options
---@return weir.kernels.ready
function M.build(options)
  local ready = common.blame(function()
    local o = common.with(common.options("transpose.build", options or {}, "dtype batched config pdl device arch"))
    o.dtype = o.dtype or "bf16"
    local k, c = describe(o)
    return common.ready({ { program = k:build { device = o.device }, pdl = o.pdl } }, c)
  end)
  return ready
end

return M
