#!/usr/bin/env lua5.4
-- The vectors of t/vectors/pipelines.lua against what kernels do: stages and parities of successive waits, CTAs that commits and releases
-- reach, places of a group's mbarriers. The emitted text runs in the simulator, with each wait, commit and remote arrival noted.
package.path = "t/?.lua;t/vectors/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local sm100a = require "sm100a"
local vectors = require "pipelines"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local dev = weir.device("sim", { seed = 2 })

-- Runs the program; what was noted, as a list of { what, block, warp, lane, mbarrier, x }: of a wait the parity, of a commit the mask, of a
-- remote arrival the CTA.
local function noted(program, run)
  local path = os.tmpname()
  local head = ([[
extern "C" void *fopen(const char *, const char *);
extern "C" int fprintf(void *, const char *, ...);
extern "C" int fclose(void *);
static void w_note(const char *what, u32 bar, u32 x) {
  void *file = fopen("%s", "a");
  fprintf(file, "%%s %%u %%u %%u %%u\n", what, w_block(), w_tid(), bar, x);
  fclose(file);
}
#define w_mbar_wait(bar, parity) (w_note("wait", (bar) - smem_base, parity), (w_mbar_wait)(bar, parity))
#define w_umma_commit_pair(bar, mask) (w_note("commit", (bar) - smem_base, mask), (w_umma_commit_pair)(bar, mask))
#define w_umma_commit_multicast(bar, mask) (w_note("commit", (bar) - smem_base, mask), (w_umma_commit_multicast)(bar, mask))
#define w_mbar_arrive_remote(bar, cta) (w_note("arrive", (bar) - smem_base, cta), (w_mbar_arrive_remote)(bar, cta))
]]):format(path)
  plan.run_text(program, head .. plan.emit(program))
  local ok, message = run(program)
  if not ok then tap.diag(message) end
  tap.ok(ok, "the noted text runs")
  local out = {}
  for row in io.lines(path) do
    local what, block, tid, bar, x = row:match "(%a+) (%d+) (%d+) (%d+) (%d+)"
    tid = math.tointeger(tid)
    out[#out + 1] = { what = what, block = math.tointeger(block), warp = tid // 32, lane = tid % 32, at = math.tointeger(bar), x = math.tointeger(x) }
  end
  os.remove(path)
  return out
end

-- ---- cursors ------------------------------------------------------------------------------------------------------------------------

-- A ring that `stride` warps fill and as many empty; { stage, parity } of the first waits of a warp on one of its mbarriers.
for _, v in ipairs(vectors.cursors) do
  local k = weir.kernel { name = "turns", arch = "sm_90a" }
  local N = k:dim "N"
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "i32", shape = { N * 32 }, out = true }, tile = { 32 } }
  local a = k:smem_tile { name = "a", dtype = "i32", tile = { 32 }, pipeline = P.async_async { stages = v.stages, interleave = v.stride > 1 and v.stride or nil } }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "i32", shape = { N * 32 } }, tile = { 32 } }
  k:task { name = "fill", warps = { 4, v.stride }, schedule = function() for j in weir.domain_loop(0, N) do a:acquire(); a:store(x:at(j)); a:commit() end end }
  k:task { name = "take", warps = { 0, v.stride }, schedule = function() for j in weir.domain_loop(0, N) do a:wait(); y:store(a:read(), y:at(j)); a:release() end end }
  local program, n = k:build { device = dev }, 6 * v.stride
  local bars = {}
  for _, bar in ipairs(k:barrier_layout()) do bars[bar.name] = bar end
  local list = noted(program, function(p)
    return p:launch({ N = n, X = dev:tensor { dtype = "i32", shape = { n * 32 } }:fill(1), Y = dev:tensor { dtype = "i32", shape = { n * 32 } } }, { grid = 1 })
  end)
  for side, o in pairs { producer = { "a_empty", 4 }, consumer = { "a_full", 0 } } do
    local seen, bar, waits = {}, bars[o[1]], 0
    for _, e in ipairs(list) do
      local mine = e.warp == o[2] + v.lane and e.lane == 0
      if mine and #seen < #v[side] then seen[#seen + 1] = { (e.at - bar.offset) // 8, e.x } end
      if mine then waits = waits + 1 end
    end
    -- The reference's producers wait for their stages to be emptied before they end. Nothing here needs it: shared memory stays with the CTA,
    -- and CTAs that others reach into leave together (PROVE-EXIT).
    tap.is(n // v.stride, waits, ("%s: no wait behind the last acquire or wait of the %s"):format(v.id, side))
    tap.is(v[side], seen, ("%s: %d stages, lane %d of %d: waits of the %s"):format(v.id, v.stages, v.lane, v.stride, side))
  end
  k:close()
end

-- ---- masks --------------------------------------------------------------------------------------------------------------------------

local function mask_of(id, axes) for _, v in ipairs(vectors.masks) do if v.id == id then return v.mask[axes] end end end
local function lanes_of(id, axes) for _, v in ipairs(vectors.masks) do if v.id == id then return v.lanes[axes] end end end

-- Masks of the commits that give operands back, by mbarrier and rank. A is multicast along n, B along m; a group's release is for both.
local function commits(o)
  o.v, o.stages, o.sums = 2, 2, 1
  local k = sm100a.gemm(o)
  local program = k:build { device = dev }
  local at, out = {}, {}
  for _, bar in ipairs(k:barrier_layout()) do for s = 0, bar.stages - 1 do at[bar.offset + 8 * s] = bar.name end end
  local list = noted(program, function(p) return sm100a.run_gemm(p, o, dev, 128 * 2 * o.cluster[1], 64 * o.cluster[2], 70) end)
  for _, e in ipairs(list) do
    local name = at[e.at]
    if e.what == "commit" and name:find "_empty" then
      out[name] = out[name] or {}
      local rank = e.block % (2 * o.cluster[1] * o.cluster[2])
      if out[name][rank] and out[name][rank] ~= e.x then tap.is(out[name][rank], e.x, "a CTA's mask is always the same") end
      out[name][rank] = e.x
    end
  end
  k:close()
  return out
end
local group = commits { cluster = { 2, 2 } }
tap.is({ mask_of("K4", "m,n"), mask_of("K5", "m,n") }, { group.ab_empty[0], group.ab_empty[2] }, "K4, K5: row and column")
tap.is(nil, group.ab_empty[5] or group.ab_empty[1], "K6: a CTA with v = 1 commits nothing")
local each = commits { cluster = { 2, 2 }, group = "none" }
tap.is({ mask_of("K4", "n"), mask_of("K5", "n") }, { each.a_empty[0], each.a_empty[2] }, "K4, K5: along n")
tap.is({ mask_of("K4", "m"), mask_of("K5", "m") }, { each.b_empty[0], each.b_empty[2] }, "K4, K5: along m")
tap.is({ mask_of("K3", "m,n") }, { commits { cluster = { 2, 1 } }.ab_empty[2] }, "K3: two pairs along m")
tap.is({ mask_of("K1", "m,n") }, { commits { cluster = { 1, 1 } }.ab_empty[0] }, "K1: one pair")

-- CTAs that threads release to.
for _, o in ipairs { { "n", "n" }, { "m", "m" } } do
  local k = weir.kernel { name = "reach", arch = "sm_90a", cluster = { m = 2, n = 2 } }
  local M, N = k:dim "M", k:dim "N"
  local y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { M, N } }, tile = { 8, 32 } }
  local gy = k:gmem_tile { name = "gy", tensor = y, tile = { 8, 32 } }
  local wq = k:work_queue { name = "wq", kind = "grid", over = y, tile = { 8, 32 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      a:acquire(); a:tma_load(o[1] == "n" and x:at(t.m, t.n // 2) or x:at(t.m // 2, t.n), { multicast = o[1] }); a:commit(); wq:next()
    end
  end }
  k:task { name = "take", warps = { 0, 1 }, schedule = function() for t in weir.work_tile_loop(wq) do a:wait(); gy:store(a:read(), t); a:release(); wq:next() end end }
  local list = noted(k:build { device = dev }, function(p)
    return p:launch { X = dev:tensor { dtype = "f32", shape = { 16, 64 } }:fill(1), Y = dev:tensor { dtype = "f32", shape = { 16, 64 } } }
  end)
  for id, rank in pairs { K7 = 0, K8 = 3 } do
    local seen = {}
    for _, e in ipairs(list) do if e.what == "arrive" and e.block == rank then seen[#seen + 1] = e.x end end
    table.sort(seen)
    tap.is(lanes_of(id, o[2]), seen, ("%s: rank %d releases to the CTAs along %s"):format(id, rank, o[1]))
  end
  k:close()
end

-- ---- places -------------------------------------------------------------------------------------------------------------------------

package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local core = require "weir_test"

-- Where all of a group's mbarriers count alike they lie in the order of the formulas, one behind the other.
for _, mode in ipairs { "merge", "fork", "fused_merge" } do
  for n = 1, mode == "fused_merge" and 1 or 4 do -- (two members of a fused merge arrive twice on the full barrier)
    for _, stages in ipairs { 1, 3 } do
      local k = weir.kernel { name = "places", arch = "sm_90a" }
      local members = {}
      for i = 1, n do
        members[i] = k:resource { name = "m" .. i, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = stages },
          work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
      end
      local g = k:group { name = "g", mode = mode, members = members }
      local fork, fused = mode == "fork", mode == "fused_merge"
      k:task { name = "fill", warps = { 0, 1 }, schedule = function()
        for i = 1, n do
          local m = g["m" .. i]
          m:acquire(); m:fill()
          if not fork then m:commit() end
        end
        if fork then g:commit() end
      end }
      k:task { name = "use", warps = { 4, 1 }, schedule = function()
        if fused then g:wait() end
        for i = 1, n do
          local m = g["m" .. i]
          if not fused then m:wait() end
          m:use()
          if fork then m:release() end
        end
        if not fork then g:release() end
      end }
      local bars, want, seen, total = g.barriers, {}, {}, 0
      for _, bar in pairs(bars) do total = total + bar.count end
      for i = 1, n do
        local full, empty = bars["g_m" .. i .. "_full"] or bars.g_full, bars["g_m" .. i .. "_empty"] or bars.g_empty
        for s = 0, stages - 1 do
          want[#want + 1] = { core.group_full(mode, n, stages, i - 1, s), core.group_empty(mode, n, stages, i - 1, s) }
          seen[#seen + 1] = { full.first + s, empty.first + s }
        end
      end
      tap.is(want, seen, ("%s of %d, %d stages: each barrier's place"):format(mode, n, stages))
      tap.is({ fused and 2 * stages or (n + 1) * stages, g.num_barriers_per_stage * stages }, { total, total }, ("%s of %d, %d stages: how many"):format(mode, n, stages))
      k:close()
    end
  end
end
tap.done()
