#!/usr/bin/env lua5.4
-- An op that a target lacks is a finding that names the op, the target and the targets that have it; those that have it take it.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- A kernel with that op.
local function kernel(arch, what)
  local k = weir.kernel { name = "op", arch = arch }
  local H, W = k:dim "H", k:dim "W"
  local X, Y = k:tensor { name = "X", dtype = "f32", shape = { H, W } }, k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
  local function ring(pipe) return k:smem_tile { name = "s", dtype = "f32", tile = { 16, 32 }, pipeline = pipe } end
  local function task(name, warps, body) k:task { name = name, warps = warps, schedule = body } end
  local function operand(name, rows)
    local s = k:smem_tile { name = name, dtype = "bf16", tile = { rows, 64 }, swizzle = 128, pipeline = P.async_umma { stages = 1 } }
    local g = k:gmem_tile { name = "g" .. name, tensor = k:tensor { name = name:upper(), dtype = "bf16", shape = { H, W } }, tile = { rows, 64 } }
    task("fill_" .. name, { name == "a" and 8 or 12, 4 }, function() s:acquire(); s:store(g:at(0, 0)); s:commit() end)
    return s
  end
  if what == "tma_load" then
    local s = ring(P.tma_async { stages = 1 })
    task("give", { 4, 1 }, function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end)
    task("take", { 0, 1 }, function() s:wait(); y:store(s:read(), y:at(0, 0)); s:release() end)
  elseif what == "tma_store" or what == "tma_reduce_add" then
    local s = ring(P.async_tma { stages = 1 })
    task("give", { 0, 4 }, function()
      s:acquire(); s:store(x:at(0, 0)); s:commit()
      s:wait(); y[what](y, s:read(), y:at(0, 0)); s:release()
    end)
  elseif what == "wait_griddep" or what == "launch_griddep" then
    local before, r = k:pdl_wait { name = what == "wait_griddep" and "r" or "before" }, what == "launch_griddep" and k:pdl_launch { name = "r" }
    task("copy", { 0, 1 }, function()
      before:wait_griddep()
      y:store(x:at(0, 0), y:at(0, 0))
      if r then r:launch_griddep() end
    end)
  elseif what == "fetch_work_tile" then
    local wq = k:work_queue { name = "wq", kind = "atomic", axes = { "m" }, extent = { H }, stages = 1 }
    task("fetch", { 1, 1 }, function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end)
    task("copy", { 0, 1 }, function() for t in weir.work_tile_loop(wq) do y:store(x:at(t.m, 0), y:at(t.m, 0)); wq:next() end end)
  else -- an mma into registers, or into a tmem_tile
    local a, b = operand("a", 64), operand("b", 32)
    local out = k:gmem_tile { name = "out", tensor = Y, tile = { 64, 32 } }
    if what == "wgmma" then
      local acc = k:wgmma_tile { name = "acc", tile = { 64, 32 } }
      task("mma", { 0, 4 }, function()
        acc:zero(); a:wait(); b:wait(); acc:mma(a:read(), b:read()); acc:drain(); a:release(); b:release()
        out:store(acc:read(), out:at(0, 0))
      end)
    else
      local acc = k:tmem_tile { name = "acc", tile = { 64, 32 }, pipeline = P.umma_async { stages = 1 } }
      task("mma", { 0, 4 }, function()
        acc:acquire(); acc:zero(); a:wait(); b:wait(); acc:mma(a:read(), b:read()); a:release(); b:release(); acc:commit()
      end)
      task("store", { 4, 4 }, function() acc:wait(); out:store(acc:read(), out:at(0, 0)); acc:release() end)
    end
  end
  return k
end

local both = "sm_90a and sm_100a have it"
for _, row in ipairs {
  { "tma_load", "s:tma_load is a TMA load", { sm_80 = both } },
  { "tma_store", "y:tma_store is a TMA store", { sm_80 = both } },
  { "tma_reduce_add", "y:tma_reduce_add is a TMA reduction", { sm_80 = both } },
  { "wait_griddep", "r:wait_griddep is a dependent launch", { sm_80 = both } },
  { "launch_griddep", "r:launch_griddep is a dependent launch", { sm_80 = both } },
  { "fetch_work_tile", "wq:fetch_work_tile is a tile handed out at run time", { sm_80 = both } },
  { "wgmma", "acc:mma is wgmma", { sm_80 = "sm_90a has it", sm_100a = "sm_90a has it" } },
  { "umma", "acc:mma is an asynchronous mma", { sm_80 = both } },
} do
  local what, op, lacks = table.unpack(row)
  for _, arch in ipairs { "sm_80", "sm_90a", "sm_100a" } do
    local k = kernel(arch, what)
    local text = k:verify().text
    local told = ("%s, which %s lacks"):format(op, arch)
    if lacks[arch] then
      tap.like(told .. "; " .. lacks[arch], text, ("%s on %s: op, target, and who has it"):format(what, arch))
      tap.like("[PLAN-ARCH]", text, ("%s on %s: as PLAN-ARCH"):format(what, arch))
    else tap.ok(not text:find "lacks" and not text:find "error:", ("%s on %s is taken%s"):format(what, arch, text:find "error:" and ": " .. text or "")) end
    k:close()
  end
end
tap.done()
