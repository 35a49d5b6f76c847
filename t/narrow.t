#!/usr/bin/env lua5.4
-- Stages whose rows are no multiple of 16 bytes: what only threads fill and read may have any width; what a copy engine touches may not.
local tap = require "tap"
local weir = require "weir"
local dev = weir.device "sim"

local function kernel(c)
  local k = weir.kernel { name = "narrow", arch = "sm_90a" }
  local R, C = k:dim "R", k:dim "C"
  local dtype = c.copied and c.dtype or "f32"
  local X = k:tensor { name = "X", dtype = dtype, shape = { R, C } }
  local Y = k:tensor { name = "Y", dtype = c.stored and c.dtype or "f32", shape = { R, C }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = c.tile }, k:gmem_tile { name = "gy", tensor = Y, tile = c.tile }
  local pipeline = c.copied and weir.pipeline.tma_async { stages = 2 } or c.stored and weir.pipeline.async_tma { stages = 2 } or weir.pipeline.async_async { stages = 2 }
  local s = k:smem_tile { name = "s", dtype = c.dtype, tile = c.tile, pipeline = pipeline }
  if c.shared then
    local other = k:smem_tile { name = "other", dtype = c.dtype, tile = c.tile, storage = s, pipeline = weir.pipeline.async_async { stages = 2 } }
    k:task { name = "more", warps = { 8, 4 }, schedule = function() other:wait() other:release() end }
  end
  local n = weir.ceil_div(R, c.tile[1])
  k:task { name = "fill", warps = { 0, c.copied and 1 or 4 }, schedule = function() for i in weir.domain_loop(n) do
    s:acquire()
    if c.copied then s:tma_load(gx:at(i, 0)) else s:store(gx:at(i, 0):load() * 2) end
    s:commit() end end }
  k:task { name = "empty", warps = { 4, 4 }, schedule = function() for i in weir.domain_loop(n) do
    s:wait()
    if c.stored then gy:tma_store(s:read(), gy:at(i, 0)) gy:drain() else gy:store(s:read():load(), gy:at(i, 0)) end
    s:release() end end }
  return k
end

for _, c in ipairs { { "f32", 64, 1 }, { "f32", 64, 3 }, { "bf16", 64, 1 }, { "f32", 3, 5 }, { "bf16", 65, 7 } } do
  local name = ("{ %d, %d } of %s"):format(c[2], c[3], c[1])
  local k = kernel { dtype = c[1], tile = { c[2], c[3] } }
  local p = k:build { device = dev }
  tap.is("SAFE", p.report.proof.verdict, name .. ": proved")
  tap.ok(k:smem_layout()[1].stage_bytes >= c[2] * c[3] * weir.dtype_size(c[1]), "  its stages hold it")
  local rows, x, wrong = 2 * c[2] + 1, {}, 0
  for i = 1, rows * c[3] do x[i] = i % 101 end
  local y = dev:tensor { dtype = "f32", shape = { rows, c[3] } }:fill(-1)
  tap.is(true, p:launch({ X = dev:tensor { dtype = "f32", shape = { rows, c[3] } }:set(x), Y = y }, { grid = 1 }), "  runs")
  for i, v in ipairs(y:get()) do if v ~= 2 * x[i] then wrong = wrong + 1 end end
  tap.is(0, wrong, "  to the element")
  local cubin, why, code = p:cubin()
  tap.ok(cubin or code == "no_device" or code == "compile" and why:find "NVRTC", "  compiles: " .. tostring(why))
end
for name, c in pairs { ["loaded by TMA"] = { copied = true }, ["stored by TMA"] = { stored = true }, ["the bytes of another tile"] = { shared = true } } do
  c.dtype, c.tile = "f32", { 64, 1 }
  local text = tostring(kernel(c):verify { prove = false })
  tap.like("tile 's': a row of 1 x 4 bytes = 4 is not a multiple of 16, which TMA needs; use 4 columns [PLAN-SWIZZLE]", text, name .. ": refused")
end

tap.done()
