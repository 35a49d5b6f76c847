#!/usr/bin/env lua5.4
-- k:explain and `weir explain pipeline`: the text, and that the sums it shows are what the mbarriers count.
local tap = require "tap"
local weir = require "weir"
local pipes = require "gen.pipes"
local explain = require "weir.explain"

-- Of every cell: arrivals and bytes, added up from the ops, are the plan's counts.
local shown = 0
for _, c in ipairs(pipes.covering(60)) do
  local k, what = pipes.kernel(c)
  local text = k:explain(what)
  tap.unlike("these make", text, pipes.name(c) .. ": the sums are the counts")
  for _, bar in ipairs(k:barrier_layout()) do
    local owner = c.mode == "none" and "p1_" or "g_"
    if bar.name:sub(1, #owner) == owner then
      shown = shown + 1
      local line = ("%s, %d stage%s: %d arrival"):format(bar.name, bar.stages, bar.stages == 1 and "" or "s", bar.arrivals)
      if not text:find(line, 1, true) then tap.like(line, text, pipes.name(c) .. ": " .. bar.name) end
      if bar.tx_bytes > 0 and not text:find(("%s.-a phase, %d bytes"):format(bar.name, bar.tx_bytes)) then
        tap.like(bar.tx_bytes .. " bytes", text, pipes.name(c) .. ": bytes of " .. bar.name)
      end
    end
  end
  k:close()
end
tap.ok(shown > 120, "mbarriers were compared: " .. shown)

-- And of the one type that those cells have not.
for _, ctas in ipairs { 1, 2, 4 } do
  local q = weir.kernel { name = "drawn", arch = "sm_90a", cluster = { m = ctas } }
  local T = q:dim "T"
  local out = q:gmem_tile { name = "out", tensor = q:tensor { name = "Y", dtype = "i32", shape = { T }, out = true }, tile = { 1 } }
  local wq = q:work_queue { name = "wq", kind = "clc", axes = { "m" }, extent = { T }, stages = 3 }
  q:task { name = "fetch", warps = { 4, 1 }, schedule = function() for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end end }
  q:task { name = "use", warps = { 0, 2 }, schedule = function() for t in weir.work_tile_loop(wq) do out:store(t.m, out:at(t.m)); wq:next() end end }
  local told = q:explain(wq)
  tap.unlike("these make", told, "clc_fetch_async, " .. ctas .. " CTAs: the sums are the counts")
  tap.like("wq_full, 3 stages: 1 arrival a phase, 16 bytes", told, "clc_fetch_async: arrivals and bytes of the full barrier")
  tap.like(("wq_empty, 3 stages: %d arrivals a phase (3 warps%s)"):format(3 * ctas, ctas > 1 and " x " .. ctas .. " CTAs" or ""), told, "clc_fetch_async: arrivals of the empty barrier")
  q:close()
end

-- One of them whole.
local k = weir.kernel { name = "copy", arch = "sm_90a", cluster = { m = 2 } }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { 16, N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { 16, N }, out = true }
local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 16, 32 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 16, 32 } }
local a = k:smem_tile { name = "a", dtype = "f32", tile = { 16, 32 }, pipeline = weir.pipeline.tma_async { stages = 3 } }
local plain = k:reg_tile { name = "plain", dtype = "f32", tile = { 64, 8 } }
k:task { name = "load", warps = { 4, 1 }, schedule = function()
  for j in weir.domain_loop(0, weir.ceil_div(N, 32)) do
    a:acquire(); a:tma_load(x:at(0, j), { multicast = "m" }); a:commit()
  end
end }
k:task { name = "store", warps = { 0, 4 }, schedule = function()
  for j in weir.domain_loop(0, weir.ceil_div(N, 32)) do
    a:wait(); y:store(a:read(), y:at(0, j)); a:release()
  end
end }
tap.is([[
pipeline 'a': tma_async, 3 stages
  acquire   load         one thread waits on a_empty; the first 3 pass at once
                         one thread arrives on a_full and arms 2048 bytes
  tma_load  load         one thread copies 1024 bytes, counted on a_full in 2 CTAs (along m)
  wait      store        every thread (4 warps) waits on a_full
  release   store        every thread fences what it wrote or read for the async proxy
                         the warp joins
                         lane i of each warp (4 warps), for CTA i, arrives on a_empty in 2 CTAs (along m)
  a_full, 3 stages: 1 arrival a phase, 2048 bytes (1 warp that arms)
            1  a.acquire by load: 1 thread
    bytes
         2048  a.tma_load by load: 1024 bytes x 2 CTAs
  a_empty, 3 stages: 8 arrivals a phase (4 warps x 2 CTAs)
            8  a.release by store: 4 warps x 2 CTAs
Every CTA of the cluster of 2 does the same; counts are of one CTA's mbarriers.
]], k:explain(a), "a multicast ring")
tap.is("'plain' has no pipeline in the plan\n", k:explain(plain), "a tile without a pipeline")
tap.raises("resource", function() k:explain(3) end, "a number is no resource")
local other = weir.kernel { name = "other", arch = "sm_90a" }
tap.like("another kernel", other:explain(a), "a resource of another kernel")

-- A type alone.
tap.is([[
async_tma, 2 stages, sm_90a, cluster { v = 1, m = 1, n = 1, k = 1 }; 4 warps fill, 1 warp empty
  acquire  every thread waits on empty
  commit   every thread fences what it wrote or read for the async proxy
           the warp joins
           one lane of each warp arrives on full
  wait     every thread waits on full
  release  one thread of the task waits until its stores have read the stage
           the warp joins
           one lane of each warp arrives on empty
  full     counts 4 a phase: 4 warps
  empty    counts 1 a phase: 1 warp
]], weir.explain { pipeline = weir.pipeline.async_tma { stages = 2 }, producer_warps = 4, consumer_warps = 1 }, "a type")
tap.raises("pipeline is missing", function() weir.explain {} end, "no pipeline")
tap.raises("did you mean 'cluster'", function() weir.explain { pipeline = weir.pipeline.async_tma { stages = 2 }, clustr = {} } end, "a misspelt field")

-- The command line.
local text = explain.pipeline { "tma_async", "stages=3", "m=2", "multicast=m", "copies=2048" }
tap.like("3 stages, sm_90a, cluster { v = 1, m = 2", text, "fields are given as field=value")
tap.like("empty    counts 8 a phase: 4 warps x 2 CTAs", text, "and counted")
tap.like("arms 2048 bytes", text, "with the bytes of the copies")
tap.like("[P-ILV-01]", explain.pipeline { "async_async", "stages=3", "interleave=2" }, "faults are shown")
for _, kind in ipairs { "async_async", "tma_async", "tma_umma", "umma_async", "async_umma", "umma_umma", "clc_fetch_async", "async_tma" } do
  for _, arch in ipairs { "sm_80", "sm_90a", "sm_100a" } do
    local told, lacks = explain.pipeline { kind, "arch=" .. arch }, arch == "sm_80" and kind ~= "async_async"
    tap.is(lacks, told:find("[PLAN-ARCH]", 1, true) ~= nil, ("%s on %s: %s"):format(kind, arch, lacks and "refused, as k:build does" or "explained"))
    tap.is(not lacks, told:find "acquire  " ~= nil and told:find "release  " ~= nil and told:find "  empty    counts %d" ~= nil, ("%s on %s: what its moves become and what is counted"):format(kind, arch))
  end
end
for _, bad in ipairs { { { "tma_asink" }, "did you mean 'tma_async'" }, { { "tma_async", "stages" }, "no field=value" }, { { "tma_async", "stags=3" }, "did you mean 'stages'" },
                       { {}, "weir explain pipeline TYPE" } } do
  local none, message = explain.pipeline(bad[1])
  tap.is(nil, none, "refused: " .. table.concat(bad[1], " "))
  tap.like(bad[2], message, "with the reason")
end
tap.done()
