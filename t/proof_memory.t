#!/usr/bin/env lua5.4
-- What a proof takes of memory and time where it tries launch after launch: nothing of a try is kept, and long ones are fewer. (These took 180 and 320 MB; the fuzzer's that
-- they are cut down from took 10 GB, and minutes.)
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline

local function put(r) r:acquire(); r:fill(); r:commit() end
local function get(r) r:wait(); r:use(); r:release() end

-- Lengths by what memory says, by the index around and by two dims: no run but one of given sizes tells whether they fit together. `third`: a
-- task that has the inner loops the other way round.
local function kernel(third)
  local k = weir.kernel { name = "memory", arch = "sm_90a" }
  local N, M = k:dim "N", k:dim "M"
  local at = k:gmem_tile { name = "at", tensor = k:tensor { name = "L", dtype = "i32", shape = { 4 } }, tile = { 1 } }
  local ring = {}
  for i = 1, 2 do
    ring[i] = k:resource { name = "ring" .. i, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = i },
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  end
  local function schedule(f, turned, split, first)
    local function on(i) if i >= first then f(ring[i]) end end
    local len = weir.max(0, at:at(0):load())
    local function step(i)
      local function inner() for _ in weir.domain_loop(N - i, i // 2) do on(1); on(1); on(2) end end
      on(2)
      if not turned then inner() end
      for _ in weir.domain_loop(M - 1, M) do on(2) end
      if turned then inner() end
    end
    local cut = split and weir.min(3, len - N)
    if cut then for i in weir.domain_loop(0, cut) do step(i) end end
    for i in weir.domain_loop(cut and weir.max(0, cut) or 0, len - N) do step(i) end
    for _ in weir.domain_loop(0, len) do on(1) end
    on(1)
  end
  k:task { name = "put", warps = { 0, 1 }, schedule = function() schedule(put, false, false, 1) end }
  k:task { name = "get", warps = { 4, 1 }, schedule = function() schedule(get, false, true, 1) end }
  if third then k:task { name = "also", warps = { 8, 1 }, schedule = function() schedule(get, true, false, 2) end } end
  return k
end

for i = 1, 2 do
  local k = kernel(i == 2)
  tap.is("INCOMPLETE", k:verify().proof.verdict, i .. ": the verdict")
  local _, _, _, work = plan.prove(assert(plan.of(k)), true)
  tap.ok(work < 60000000, i .. ": " .. work .. " counted steps: a try counts by its length")
  k:close()
  local most
  for line in io.lines "/proc/self/status" do most = most or line:match "^VmHWM:%s+(%d+) kB" end
  tap.ok(math.tointeger(most) < 60000, i .. ": " .. most .. " kB at most")
end
tap.done()
