#!/usr/bin/env lua5.4
-- kernels/gemm.lua in the simulator: every kind of operand, output and epilogue at small awkward sizes, each configuration proved; and
-- what the heuristic picks.
local tap = require "tap"
local weir = require "weir"
local gemm = require "weir.kernels.gemm"
local cases = require "kernel_cases"

local dev = assert(weir.device("sim", { seed = 11 }))
local h200 = dofile(require "rounding".file).gemms or {}
for _, case in ipairs(cases.gemm.cases) do
  local ok, seen = pcall(cases.gemm.run, dev, case)
  if tap.ok(ok, case[1] .. ": builds and runs") then
    tap.is("SAFE", seen.verdict, case[1] .. ": proved for every size")
    if not tap.ok(seen.bad == 0 and seen.relative < 0.01, ("%s: right, relative error %.1e"):format(case[1], seen.relative)) then
      tap.diag(seen.bad .. " elements are off")
    end
    if h200[case[1]] then tap.is(h200[case[1]], seen.digest, case[1] .. ": the bits that an H200 gave") end
  else
    tap.diag(tostring(seen))
  end
end

-- The heuristic.
local function chosen(m, n, k, more)
  local o = { m = m, n = n, k = k }
  for name, value in pairs(more or {}) do o[name] = value end
  return gemm.choose(o, 132)
end
local c = chosen(8192, 8192, 8192)
tap.is({ 128, 256, true, 4, 1 }, { c.bm, c.bn, c.defer, c.stages, c.split }, "large: sums leave behind the next tile's products")
c = chosen(4096, 4096, 4096)
tap.is({ 128, 256, 4, 1 }, { c.bm, c.bn, c.stages, c.split }, "four waves that are full: the tile that reads least")
tap.is({ nil, nil, nil, nil }, { chosen(2048, 2048, 2048).defer, chosen(8192, 8192, 8192, { beta = 1 }).defer, chosen(8192, 8192, 8192, { out = "f32" }).defer,
  chosen(8192, 8192, 8192, { dtype = "e4m3", accumulate = "promoted" }).defer }, "one tile a CTA, C, 32 bits, promoted sums: they leave at once")
c = chosen(8192, 8192, 8192, { beta = 1 })
tap.is({ 128, 256 }, { c.bm, c.bn }, "beside C no register is left for two accumulators")
c = chosen(64, 8192, 8192)
tap.ok(c.bm == 64 and c.bn <= 64 and c.stages >= 8 and c.split == 1, "few rows: every SM pulls weights, and enough of them")
c = chosen(16, 8192, 8192)
tap.ok(c.swap and c.bm == 16 and c.stages == 12, "fewer rows than the tensor core takes: they become columns")
c = chosen(8192, 8192, 1024)
tap.is({ 128, 256, 0 }, { c.bm, c.bn, c.lag }, "two warpgroups with a product each: a stage is released when it has been read")
tap.is({ 1, 1 }, { chosen(5000, 5016, 5016).lag, chosen(64, 8192, 8192).lag }, "two accumulators, or one warpgroup: a product stays in flight")
c = chosen(5000, 5016, 5016)
tap.is({ 256, 152 }, { c.bm, c.bn }, "a last wave nearly empty at 256 columns: five waves of 256 x 152")
tap.ok(c.cluster_m * c.cluster_n == 2, "rows that start off 128 bytes: multicast")
c = chosen(128, 1024, 16384)
tap.ok(c.split > 1, "few tiles and long K: K is split")
c = chosen(4096, 4096, 4096, { dtype = "e4m3", accumulate = "promoted" })
tap.ok(c.bm * c.bn <= 16384, "promoted sums halve the tile")
for _, x in ipairs(gemm.candidates { dtype = "bf16", out = "bf16", m = 512, n = 512, k = 512 }) do
  if x.split == 1 and x.cluster_m + x.cluster_n == 2 then
    local ok, k = pcall(gemm.kernels, { config = x })
    local report = ok and k[1]:verify() or k
    tap.ok(ok and report.ok and report.proof.verdict == "SAFE", ("candidate %d x %d is safe"):format(x.bm, x.bn))
    if not (ok and report.ok) then tap.diag(tostring(report)) end
  end
end

-- A caller's mistakes are raised at the caller's line.
local function refused(wanted, options, name)
  local err = tap.raises(wanted, function() gemm.build(options) end, name)
  tap.like("t/kernels_gemm.t:", err, name .. ": a place")
end
refused("unknown option 'dtyp'", { dtyp = "bf16" }, "an unknown option")
refused("dtype is one of bf16, f16, tf32, e4m3, e5m2, got f64", { dtype = "f64" }, "a dtype without tensor cores")
refused("config.swap takes no cluster, bn = 64 and bm a multiple of 8", { config = { swap = true, bm = 12, bn = 64 } }, "few rows, in tiles of 12")
refused("(of 64 with m-major A)", { a_major = "m", config = { swap = true, bm = 8, bn = 64 } }, "few rows, m-major, in tiles of 8")
refused("unknown option 'pingpongs'", { config = { pingpongs = true } }, "an unknown field of config")
-- What the tuner is given is right as it stands.
for _, o in ipairs { {}, { beta = true }, { dtype = "e4m3" }, { dtype = "e4m3", accumulate = "promoted" }, { a_major = "m", b_major = "n" } } do
  local wrong, count = {}, 0
  for _, each in ipairs(gemm.candidates(o)) do
    local options = { device = dev, config = each }
    for name, value in pairs(o) do options[name] = value end
    local ok, why = pcall(function()
      for _, k in ipairs((gemm.kernels(options))) do
        local report = k:build { device = dev }.report
        if report.proof.verdict ~= "SAFE" then error(tostring(report)) end
        k:close()
      end
    end)
    count = count + 1
    if not ok then wrong[#wrong + 1] = ("%d x %d, stagger %s, defer %s: %s"):format(each.bm, each.bn, each.stagger, each.defer, tostring(why):sub(1, 200)) end
  end
  tap.is({}, wrong, ("%d candidates of %s %s are built and proved"):format(count, o.dtype or o.out or "bf16", o.beta and "with C" or ""))
end
refused("config.defer packs sums to 16 bits: not with D of f32", { out = "f32", config = { bm = 128, bn = 256, defer = true } }, "32-bit sums deferred")
refused("config.defer packs sums to 16 bits", { beta = true, config = { bm = 128, bn = 256, defer = true } }, "deferred beside C")
refused("config.defer packs sums to 16 bits: not with split", { config = { bm = 128, bn = 128, split = 2, defer = true } }, "deferred, K in parts: the cause alone")
refused("config.pingpong is true or false, got no", { config = { pingpong = "no" } }, "a word for a switch")
refused("stagger and pingpong are two ways", { config = { bm = 128, bn = 128, stagger = 2, pingpong = true } }, "staggered and in turn")
refused("at most 16384, got 128 x 256", { config = { bm = 128, bn = 256, pingpong = true } }, "a tile that a warpgroup cannot hold")
refused("bm 64 or 128 and bm * bn at most 16384, got 96 x 64", { config = { bm = 96, bn = 64, pingpong = true } }, "rows that no warpgroup has")
refused("config.blocks is 2, with bm = 256 and bn a multiple of 8, at most 160", { config = { bm = 256, bn = 168 } }, "more sums than a warpgroup holds")
refused("no beta, promoted sums, swap, pingpong or stream; got blocks = 2, a tile of 256 x 152", { beta = true, config = { bm = 256, bn = 152 } }, "two accumulators beside C")
refused("config.bn is a multiple of 16 here: rows of D are staged by 32 bytes at least; got 24", { config = { bn = 24 } }, "a tile that no staged row divides")
refused("config.bn is a multiple of 16 here: rows of D and C are staged by 32 bytes at least; got 24", { out = "f32", beta = true, c_dtype = "bf16", config = { bm = 128, bn = 24 } }, "nor of C")
refused("config.bn is a multiple of 8 here: rows of D are staged by 32 bytes at least; got 12", { out = "f32", config = { bm = 128, bn = 12 } }, "of 32 bits")
refused("a tile of 64 x 1024 leaves no room for two stages", { out = "f32", config = { bm = 64, bn = 1024 } }, "no room")
refused("config.staging is 1 or 2, got 3", { config = { staging = 3 } }, "three staging tiles")
refused("at most 8192, got 128 x 128", { dtype = "e4m3", accumulate = "promoted", config = { bm = 128, bn = 128, pingpong = true } }, "nor with promoted sums")
refused("wgmma takes operands of e4m3 with K innermost only", { dtype = "e4m3", b_major = "n" }, "8 bits, n-major")

tap.done()
