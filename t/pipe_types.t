#!/usr/bin/env lua5.4
-- The type of a pipeline against who fills and who empties its stages, every pair of them: what fits is proved, what does not is told at
-- the work, with the type that fits.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

local function kernel(type, fill, empty)
  local k = weir.kernel { name = "w", arch = "sm_90a" }
  local N = k:dim "N"
  local gx = k:gmem_tile { name = "gx", tensor = k:tensor { name = "X", dtype = "bf16", shape = { N, 64 } }, tile = { 64, 64 } }
  local gy = k:gmem_tile { name = "gy", tensor = k:tensor { name = "Y", dtype = "bf16", shape = { N, 64 }, out = true }, tile = { 64, 64 } }
  local gz = k:gmem_tile { name = "gz", tensor = k:tensor { name = "Z", dtype = "f32", shape = { N, 64 }, out = true }, tile = { 64, 64 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P[type] { stages = 2, producer_op = fill == "cp_async" and "load" or nil } }
  local acc = empty == "mma" and k:wgmma_tile { name = "acc", tile = { 64, 64 } }
  local n = weir.ceil_div(N, 64)
  k:task { name = "fills", warps = { 0, fill == "tma_load" and 1 or 4 }, schedule = function() for i in weir.domain_loop(n) do
    s:acquire()
    if fill == "store" then s:store(1.0) else s[fill](s, gx:at(i, 0)) end
    s:commit() end end }
  k:task { name = "empties", warps = { 4, 4 }, schedule = function()
    if acc then acc:zero() end
    for i in weir.domain_loop(n) do
      s:wait()
      if empty == "load" then gy:store(s:read():load(), gy:at(i, 0)) elseif acc then acc:mma(s:read(), s:read()) acc:drain() else gy:tma_store(s:read(), gy:at(i, 0)) gy:drain() end
      s:release()
    end
    if acc then gz:store(acc:read(), gz:at(0, 0)) end
  end }
  return k
end

for type in ("async_async tma_async tma_umma async_umma async_tma umma_async umma_umma clc_fetch_async"):gmatch "%S+" do
  for fill in ("tma_load store cp_async"):gmatch "%S+" do
    for empty in ("load mma tma_store"):gmatch "%S+" do
      local from, to = type:match "^(%a+)_(%a+)$"
      if not from then from, to = "clc", "async" end
      local want = {}
      if from ~= (fill == "tma_load" and "tma" or "async") then want[1] = "V-TYPE-01" end
      if to == "umma" and from ~= "umma" and empty ~= "mma" then want[#want + 1] = "V-TYPE-02" end
      local fits = (fill == "tma_load" and "tma_" or "async_") .. (to == "umma" and empty == "mma" and "umma" or "async")
      local k = kernel(type, fill, empty)
      local report = k:verify()
      local got, expected = {}, {}
      for _, f in ipairs(report.findings) do got[#got + 1] = f.rule; expected[f.expected or "?"] = true end
      local name = ("%s, %s, then %s"):format(type, fill, empty)
      tap.is(table.concat(want, " "), table.concat(got, " "), name)
      if #want == 0 then tap.is("SAFE", report.proof.verdict, "  proved")
      else
        tap.is({ [fits] = true }, expected, "  the type that fits")
        local mended = kernel(fits, fill, empty)
        tap.is("SAFE", mended:verify().proof.verdict, "  fits")
        mended:close()
      end
      k:close()
    end
  end
end

tap.done()
