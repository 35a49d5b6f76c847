#!/usr/bin/env lua5.4
-- weir.previous_tile and weir.last_tile: each tile is stored once, a turn late, whatever hands the tiles out; what the proof knows of them;
-- what is refused.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline
local dev = assert(weir.device("sim", { seed = 5 }))
local R, C = 8, 32 -- rows and columns of a tile

-- ---- every element once, with every queue and raster ------------------------------------------------------------------------------------

local function numbers(n, seed)
  local out = {}
  for i = 1, n do out[i] = (i * 7919 + seed * 104729) % 251 - 125 end
  return out
end

-- Y = Y + X, tile by tile: each tile waits in the ring until the task is in its next one, or behind the loop. kind, raster, m, n (of the
-- cluster), lanes; late: in the last step of a loop in the tile; place(y, b): where it is put; axes: of the queue; H of the queue over both tensors.
local function delayed(o)
  local m, n, lanes = o.m or 1, o.n or 1, o.lanes or 1
  local k = weir.kernel { name = o.name or "delayed", arch = "sm_90a", cluster = { m = m, n = n } }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { R, C } }, k:gmem_tile { name = "y", tensor = Y, tile = { R, C } }
  local dynamic = o.kind == "atomic" or o.kind == "clc"
  local raster = o.raster ~= "traced" and o.raster or function(i, a) return i % a, i // a end
  local wq = k:work_queue { name = "wq", kind = o.kind, over = Y, tile = { R, C }, raster = raster, group = o.raster == "grouped" and 2 * m or nil,
    stages = dynamic and 2 or nil }
  local function tiles(lane) return weir.work_tile_loop(wq, lane and lanes > 1 and { lane = lane, lanes = lanes } or nil) end
  local rings = {}
  for l = 0, lanes - 1 do rings[l] = k:smem_tile { name = "a" .. l, dtype = "f32", tile = { R, C }, pipeline = P.tma_async { stages = o.stages or 2 } } end
  if dynamic then k:task { name = "fetch", warps = { 4 * lanes, 1 }, schedule = function() for _ in tiles() do wq:fetch(); wq:next() end end } end
  for l = 0, lanes - 1 do
    local a = rings[l]
    k:task { name = "load" .. l, warps = { 4 * lanes + 1 + l, 1 }, schedule = function()
      for t in tiles(l) do a:acquire(); a:tma_load(x:at(t.m, t.n)); a:commit(); wq:next() end
    end }
    k:task { name = "store" .. l, warps = { 4 * l, 2 }, schedule = function()
      local function put(b, back)
        local place = o.place and o.place(y, b) or b
        y:store(a:read(back):load() + y:at(b.m, b.n):load(), place)
        a:release()
      end
      for _ in tiles(l) do
        a:wait()
        if o.late then
          for i in weir.domain_loop(0, 3) do for _ in i:last_iter() do for b in weir.previous_tile(wq) do put(b, 1) end end end
        else
          for b in weir.previous_tile(wq) do put(b, 1) end
        end
        wq:next()
      end
      for b in weir.last_tile(wq) do put(b, 0) end
    end }
  end
  return k
end

local sizes = { { 0, 0 }, { 8, 32 }, { 16, 32 }, { 8, 64 }, { 24, 96 }, { 20, 200 }, { 64, 160 } }

local function check(name, o)
  local ok, p = pcall(function() return delayed(o):build { device = dev } end)
  if not tap.ok(ok, name .. ": builds") then return tap.diag(p) end
  if not tap.is("SAFE", p.report.proof.verdict, name .. ": proved") then tap.diag(p.report) end
  for seed, size in ipairs(sizes) do
    local H, W = size[1], size[2]
    local data = numbers(H * W, seed)
    local X, Y = dev:tensor { dtype = "f32", shape = { H, W } }:set(data), dev:tensor { dtype = "f32", shape = { H, W } }:fill(1000)
    local launched, why = p:launch({ X = X, Y = Y }, { grid = o.kind ~= "grid" and (o.grid or 2) * (o.m or 1) * (o.n or 1) or nil })
    if launched then launched, why = dev:sync() end
    local wrong = 0
    for i, v in ipairs(launched and Y:get() or {}) do
      if v ~= 1000 + data[i] then wrong = wrong + 1; why = why or ("element %d: %g, wanted %g"):format(i - 1, v, 1000 + data[i]) end
    end
    if not tap.ok(launched and wrong == 0 and dev:findings() == "", ("%s: %d x %d"):format(name, H, W)) then
      tap.diag(wrong, "wrong", why, dev:findings())
    end
  end
  p:close()
end

for _, kind in ipairs { "static", "atomic", "clc", "grid" } do check("queue of kind " .. kind, { kind = kind }) end
for _, raster in ipairs { "row", "column", "grouped", "traced" } do check("raster " .. raster, { raster = raster, grid = 3 }) end
for _, raster in ipairs { "grouped", "traced" } do check("raster " .. raster .. ", clusters of 2 x 2", { raster = raster, m = 2, n = 2 }) end
check("atomic, clusters of 2 x 1", { kind = "atomic", m = 2 })
check("one CTA", { grid = 1, stages = 3 })
check("in the last step of a loop", { late = true, stages = 3 })
check("places that are written out", { place = function(y, b) return y:at(b.m, b.n) end })
check("two lanes", { lanes = 2 })
check("two lanes, atomic, traced", { lanes = 2, kind = "atomic", raster = "traced" })

tap.done()
