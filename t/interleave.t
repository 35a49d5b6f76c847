#!/usr/bin/env lua5.4
-- Stages dealt to lanes (interleave), right and wrong, at random: the prover and the explorer of actions say the same of each.
--
--   lua5.4 t/interleave.t [SCHEDULES]      how many; 60
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local agreement = require "gen.agreement"
local P = weir.pipeline

local state = 1
local function random(n)
  state = (state * 6364136223846793005 + 1442695040888963407)
  return (state >> 33) % n + 1
end
local function pick(list) return list[random(#list)] end

-- One ring; each side dense, by the warps of a task, or by tasks; perhaps a lane too few, twice, late, or a count that is wrong.
local function describe(seed)
  state = seed
  for _ = 1, 3 do random(2) end
  local q = random(2) + 1
  local s = { seed = seed, q = q, stages = q * random(2), fill = pick { "dense", "warps", "tasks" }, empty = pick { "dense", "warps", "tasks" }, tiles = random(3) > 1,
    multiple = pick { 1, q }, tma = random(2) == 1, mistake = random(3) == 1 and pick { "lane missing", "lane twice", "late", "lag", "longer" } or "none" }
  if s.fill == "dense" and s.empty == "dense" then s.empty = "warps" end
  return s
end

local function text(s)
  return ("seed %d: %d stages, lanes of %d, %s fill by %s, %s empty, N a multiple of %d, %s%s"):format(s.seed, s.stages, s.q, s.fill, s.tma and "TMA" or "threads", s.empty, s.multiple,
    s.tiles and "tiles" or "one run", s.mistake ~= "none" and ", " .. s.mistake or "")
end

local function kernel(s)
  local k = weir.kernel { name = "lanes", arch = "sm_90a" }
  local N, T = k:dim("N", { multiple = s.multiple }), k:dim("T")
  local wq = s.tiles and k:work_queue { name = "wq", axes = { "t" }, extent = { T } }
  local fq, eq = s.fill == "dense" and 1 or s.q, s.empty == "dense" and 1 or s.q
  local pipe = P[s.tma and "tma_async" or "async_async"] { stages = s.stages, interleave = { fq, fq, eq, eq } }
  local X = k:tensor { name = "X", dtype = "u8", shape = { k:dim "W" } }
  local x = k:gmem_tile { name = "x", tensor = X, tile = { 64 } }
  local a = s.tma and k:smem_tile { name = "a", dtype = "u8", tile = { 64 }, pipeline = pipe } or k:resource { name = "a", space = "smem", dtype = "u8", tile = { 64 },
    pipeline = pipe, work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local out = k:resource { name = "out", space = "gmem", bind = { x = X }, work = { see = weir.producer_work { params = "view v", code = ";" } } }
  local warp = 0
  local function side(name, how, body)
    local lanes = how == "tasks" and s.q or 1
    local wrong = s.mistake
    for l = 0, lanes - 1 do
      if not (how == "tasks" and wrong == "lane missing" and l == lanes - 1 and name == "empty") then
        local first, n = how == "tasks" and l or 0, how == "warps" and s.q or 1
        if how == "tasks" and name == "empty" and l == 1 then
          if wrong == "lane twice" then first = 0 elseif wrong == "late" then first = 1 + s.q end
        end
        local stop = wrong == "longer" and name == "fill" and N + 1 or N
        k:task { name = name .. l, warps = { warp, n }, schedule = function()
          local function steps()
            for _ in weir.domain_loop(first, stop, how == "tasks" and s.q or 1) do body(how) end
            if name == "empty" and wrong == "lag" and how ~= "warps" then a:release(0) end
          end
          if wq then for _ in weir.work_tile_loop(wq) do steps() wq:next() end else steps() end
        end }
        warp = warp + n
      end
    end
  end
  side("fill", s.fill, function()
    a:acquire()
    if s.tma then a:tma_load(x:at(0)) else a:fill() end
    a:commit()
  end)
  side("empty", s.empty, function(how)
    a:wait()
    if s.tma then out:see(a:read()) else a:use() end
    if s.mistake == "lag" and how ~= "warps" and s.stages > s.q then a:release(1) else a:release() end
  end)
  return k
end

local wrong, refused, open, safe, unsafe, compared = {}, 0, 0, 0, 0, 0
for seed = 1, tonumber(arg[1]) or 60 do
  local s = describe(seed)
  local k = kernel(s)
  local program, why = plan.of(k)
  if not program then
    refused = refused + 1
    if s.mistake == "none" then wrong[#wrong + 1] = text(s) .. ": refused: " .. tostring(why) end
  else
    local sizes = { tiles = s.tiles and 3 or nil }
    for _, n in ipairs { 0, 1, 2, 3, 4, 6 } do
      for t = 0, s.tiles and 3 or 0 do
        if n % s.multiple == 0 and n * t <= 12 then sizes[#sizes + 1] = { N = n, M = 0, T = t, W = 64, tiles = t } end
      end
    end
    local said = agreement.compare(plan, program, sizes, { limit = 20000, far = 100000 })
    compared = compared + 1
    if said.wrong then wrong[#wrong + 1] = text(s) .. ": " .. said.wrong
    elseif said.open then open = open + 1 end
    if said.verdict == "SAFE" then safe = safe + 1 elseif said.verdict == "UNSAFE" then unsafe = unsafe + 1 else open = open + 1 end
    -- what must be so: lanes that face lanes of their own kind of partner are right for every length
    if s.mistake == "none" and (s.fill ~= "dense" and s.empty ~= "dense" or s.multiple == s.q or not s.tiles) and said.verdict ~= "SAFE" then
      wrong[#wrong + 1] = ("%s: %s, should be SAFE: %s"):format(text(s), said.verdict, said.text)
    end
  end
  k:close()
end
tap.is({}, wrong, ("%d schedules compared: no contradiction, right ones proved"):format(compared))
tap.ok(safe >= compared // 4 and unsafe >= compared // 6, ("%d proved, %d refuted, %d refused by the plan"):format(safe, unsafe, refused))
tap.ok(open <= compared // 5, ("%d left open"):format(open))
tap.done()
