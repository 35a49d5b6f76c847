#!/usr/bin/env lua5.4
-- A TMA box that begins off 16 bytes along the innermost axis is an illegal instruction on an H200 (seen there, driver 580.159.04: all
-- dtypes, swizzles and ranks); the plan warns where it cannot know, and the simulator stops.
local tap = require "tap"
local weir = require "weir"

local function kernel(dtype)
  local k = weir.kernel { name = "piece", arch = "sm_90a" }
  local from, to = k:scalar { name = "from", dtype = "i32" }, k:scalar { name = "to", dtype = "i32" }
  local X = k:tensor { name = "X", dtype = dtype, shape = { 4, 64 } }
  local Y = k:tensor { name = "Y", dtype = dtype, shape = { 4, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 4, 16 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 4, 16 } }
  local s = k:smem_tile { name = "s", dtype = dtype, tile = { 4, 16 }, pipeline = weir.pipeline.tma_async { stages = 1 } }
  local o = k:smem_tile { name = "o", dtype = dtype, tile = { 4, 16 }, pipeline = weir.pipeline.async_tma { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(x:from(0, from)); s:commit() end }
  k:task { name = "move", warps = { 1, 1 }, schedule = function()
    s:wait(); o:acquire(); o:store(s:read()); o:commit(); s:release()
  end }
  k:task { name = "store", warps = { 2, 1 }, schedule = function()
    o:wait(); y:tma_store(o:read(), y:from(0, to)); o:release()
  end }
  return k
end

local dev = assert(weir.device("sim", { seed = 3 }))
for _, case in ipairs { { "bf16", 8 }, { "f32", 4 }, { "u8", 16 } } do
  local dtype, unit = case[1], case[2]
  local k = kernel(dtype)
  local p = k:build { device = dev }
  local x = dev:tensor { dtype = dtype, shape = { 4, 64 } }
  local values = {}
  for i = 1, 256 do values[i] = i % 128 end
  x:set(values)
  local function launch(from, to)
    local y = dev:tensor { dtype = dtype, shape = { 4, 64 } }:fill(0)
    local ok, message = p:launch({ X = x, Y = y, from = from, to = to }, { grid = 1 })
    if ok then ok, message = dev:sync() end
    return ok, y:get(), message
  end
  local ok, y = launch(unit, 2 * unit)
  tap.is(true, ok, dtype .. ": a multiple of 16 bytes is taken")
  tap.is({ values[64 + unit + 1], values[64 + unit + 16] }, { y[64 + 2 * unit + 1], y[64 + 2 * unit + 16] }, dtype .. ": and moves what is there")
  ok, y = launch(-unit, 0)
  tap.is({ true, 0, unit < 16 and values[1] or 0 }, { ok, y[unit], y[unit + 1] }, dtype .. ": in front of the tensor there are zeros")
  local _, message
  ok, _, message = launch(unit - 1, 0)
  tap.is(nil, ok, dtype .. ": a load off 16 bytes stops")
  tap.like(("a box begins at column %d of %s, off 16 bytes: a multiple of %d is expected"):format(unit - 1, dtype, unit), message, dtype .. ": and says why")
  ok, _, message = launch(0, unit + 1)
  tap.like(("a box begins at column %d of %s, off 16 bytes"):format(unit + 1, dtype), not ok and message or "", dtype .. ": so does a store")
end

-- What the plan knows of a column.
local function said(column, store)
  local k = weir.kernel { name = "piece", arch = "sm_90a" }
  local first = k:scalar { name = "first", dtype = "i32" }
  local N, W = k:dim "N", k:dim("W", { multiple = 8 })
  local X = k:tensor { name = "X", dtype = "bf16", shape = { N, W }, out = store }
  local x = k:gmem_tile { name = "x", tensor = X, tile = { 8, 64 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 8, 64 }, pipeline = weir.pipeline[store and "async_tma" or "tma_async"] { stages = 1 } }
  local out = k:resource { name = "out", space = "gmem", work = { use = weir.consumer_work { params = "view v", code = "(void)v;" } } }
  k:task { name = "a", warps = { 0, 1 }, schedule = function()
    for i in weir.domain_loop(0, 10, 4) do
      s:acquire()
      if store then s:store(0.0) else s:tma_load(x:from(0, column(first, N, W, i))) end
      s:commit()
    end
  end }
  k:task { name = "b", warps = { 1, 1 }, schedule = function()
    for i in weir.domain_loop(0, 10, 4) do
      s:wait()
      if store then x:tma_store(s:read(), x:from(0, column(first, N, W, i))) else out:use(s:read()) end
      s:release()
    end
  end }
  local report = k:verify { prove = false }
  for _, f in ipairs(report.findings) do if f.rule:find "^PLAN%-ALIGN" then return f.rule end end
  return report.ok and "known" or tostring(report)
end
local cases = {
  { "16", "known", function() return 16 end },
  { "a loop's index times 2", "known", function(_, _, _, i) return i * 2 end },
  { "a loop's index, step 4", "PLAN-ALIGN-OPEN", function(_, _, _, i) return i end },
  { "2 more", "PLAN-ALIGN", function(_, _, _, i) return i * 2 + 2 end },
  { "a dim with a multiple", "known", function(_, _, W) return W - 64 end },
  { "less 4", "PLAN-ALIGN", function(_, _, W) return W - 4 end },
  { "a dim", "PLAN-ALIGN-OPEN", function(_, N) return N end },
  { "eight times a dim", "known", function(_, N) return N * 8 end },
  { "four times a dim", "PLAN-ALIGN-OPEN", function(_, N) return N * 4 end },
  { "four times a dim, and 2", "PLAN-ALIGN", function(_, N) return N * 4 + 2 end },
  { "a scalar", "PLAN-ALIGN-OPEN", function(first) return first end },
  { "rounded", "known", function(first) return first // 8 * 8 end },
  { "the less of two", "known", function(first, _, W) return weir.min(first * 8, W) end },
  { "the less of two, one off", "PLAN-ALIGN-OPEN", function(first, _, W) return weir.min(first * 8 + 4, W) end },
  { "negative", "known", function(first) return -(first * 16) end },
}
for _, store in ipairs { false, true } do
  for _, c in ipairs(cases) do tap.is(c[2], said(c[3], store), ("%s: column %s"):format(store and "store" or "load", c[1])) end
end
tap.done()
