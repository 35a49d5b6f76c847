-- The GEMM that the benchmarks run: the schedule of examples/build_gemm.lua with its sizes as parameters.
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div
local M = {}

--- c: bm, bn, bk, stages, cluster, group (rows of cluster tiles side by side), mode of the group of A and B (fused_merge; "none": no
--- group); dtype.
function M.kernel(c, dtype)
  local EN = c.en or math.min(64, c.bn)                    -- columns of a staging tile
  local lag = math.min(1, c.stages - 1)                    -- batches left in flight when a stage is released
  local wide = c.bm > 64
  local k = weir.kernel { name = "gemm", arch = "sm_90a", cluster = { m = c.cluster } }
  local dm, dn, dk = k:dim "M", k:dim "N", k:dim "K"
  local A = k:tensor { name = "A", dtype = dtype, shape = { dm, dk } }
  local B = k:tensor { name = "B", dtype = dtype, shape = { dn, dk } }
  local D = k:tensor { name = "D", dtype = dtype, shape = { dm, dn }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { c.bm, c.bn }, raster = "grouped", group = c.group }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { c.bm, c.bk } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = { c.bn, c.bk } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { c.bm, EN } }
  local function smem(name, tile, pipeline)
    return k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = math.min(128, 2 * tile[2]), pipeline = pipeline }
  end
  local a = smem("a", { c.bm, c.bk }, P.tma_async { stages = c.stages })
  local b = smem("b", { c.bn, c.bk }, P.tma_async { stages = c.stages })
  local stage = smem("stage", { c.bm, EN }, P.async_tma { stages = 2 })
  local acc = k:wgmma_tile { name = "acc", tile = { c.bm, c.bn } }
  local mode = c.mode or "fused_merge"
  local ab = mode ~= "none" and k:group { name = "ab", mode = mode, members = { a, b }, fold = c.fold == 1 } or { a = a, b = b }
  local function release(n)
    if mode == "none" then a:release(n); b:release(n) else ab:release(n) end
  end
  k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
    for tile in weir.work_tile_loop(wq) do
      for kk in weir.domain_loop(0, cd(dk, c.bk)) do
        ab.a:acquire(); ab.a:tma_load(ga:at(tile.m, kk)); ab.a:commit()
        ab.b:acquire(); ab.b:tma_load(gb:at(tile.n, kk), { multicast = c.cluster > 1 and "m" or nil }); ab.b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 4, wide and 8 or 4 }, registers = 232, schedule = function()
    for tile in weir.work_tile_loop(wq) do
      acc:zero()
      for _ in weir.domain_loop(0, cd(dk, c.bk)) do
        if mode == "fused_merge" then ab:wait() else ab.a:wait(); ab.b:wait() end
        acc:mma(ab.a:read(), ab.b:read())
        acc:drain(lag)
        release(lag)
      end
      acc:drain(); release(0)
      for j = 0, c.bn // EN - 1 do
        stage:acquire(); stage:store(acc:read():cols(j * EN, EN)); stage:commit()
        stage:wait(); gd:tma_store(stage:read(), gd:at(tile.m, tile.n * (c.bn // EN) + j)); stage:release()
      end
      wq:next()
    end
  end }
  return k
end

return M
