#!/usr/bin/env lua5.4
-- Would these sizes do? Asked before a launch, without memory and without a device; the launch answers alike.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local dev = lab.device()

local program = lab.gemm():build { device = dev }
tap.is({ true }, { program:accepts { M = 256, N = 512, K = 128 } }, "sizes that rows of 16 bytes fit")
tap.is({ true }, { program:accepts { M = 0, N = 0, K = 0 } }, "nothing at all")
do
  local yes, needs = program:accepts { M = 100, N = 72, K = 101 }
  tap.is(true, yes, "rows of 202 bytes: where they are padded")
  tap.like("tensor 'A': axis 0 steps by 202 bytes (101 elements); TMA needs a multiple of 16 bytes (nearest: 192 bytes = 96 elements, 208 bytes = 104 elements)", needs, "... and why")
end
local function refused(name, args, options, text)
  local yes, why = program:accepts(args, options)
  tap.is(false, yes, name)
  tap.like(text, why, name .. ": why")
end
refused("a size below 0", { M = -1, N = 64, K = 64 }, nil, "kernel 'gemm': dim 'M' is -1; it must be 0 or more")
refused("a size that is missing", { M = 64, N = 64 }, nil, "dim 'K' is not known: no launched tensor has it alone as an axis; pass it as an argument, K = ...")
refused("a name that it has not", { M = 64, N = 64, K = 64, L = 1 }, nil, "it has no argument 'L'; it takes tensors A, B, D; dims M, N, K")
refused("a broken number", { M = 64.5, N = 64, K = 64 }, nil, "dim 'M' is 64.5; it must be an integer")
refused("a grid that is none", { M = 64, N = 64, K = 64 }, { grid = -3 }, "the grid is -3 CTAs")
refused("shapes that contradict each other", { A = { shape = { 64, 128 } }, B = { shape = { 64, 120 } }, M = 64, N = 64 }, nil,
  "dim 'K' is 128 by axis 1 of tensor 'A' but 120 by axis 1 of tensor 'B'")
refused("a pitch of the caller's", { A = { shape = { 64, 128 }, stride = { 129, 1 } }, M = 64, N = 64, K = 128 }, nil, "tensor 'A': axis 0 steps by 258 bytes")
refused("an address of the caller's", { A = { address = 1032, shape = { 64, 128 } }, M = 64, N = 64, K = 128 }, nil, "tensor 'A' starts at address 0x408, 8 bytes past a multiple of 16")
tap.is({ true }, { program:accepts { A = { shape = { 64, 128 } }, N = 64 } }, "sizes by a tensor's shape")
tap.is({ true }, { program:accepts { A = dev:tensor { dtype = "bf16", shape = { 64, 101 } }, B = dev:tensor { dtype = "bf16", shape = { 64, 101 } }, D = dev:tensor { dtype = "bf16", shape = { 64, 64 } } } },
  "tensors that are there are padded already")

-- Extents, shapes and assumptions of scalars: a launch knows them. As many tiles are done as the scalar says, and none more.
local function by_scalar(dtype, kind, more, shape)
  local k = weir.kernel { name = "by", arch = "sm_90a" }
  local S, N = k:scalar { name = "S", dtype = dtype }, k:dim "N"
  local first = shape and shape(S, N) or 32
  local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { first, 8 }, out = true }, tile = { 1, 8 } }
  local wq = k:work_queue { name = "wq", axes = { "i", "j" }, extent = more and { more(S, N), 1 } or { S, 1 }, kind = kind }
  k:task { name = "t", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do y:store(y:at(t.i, 0):load() + 1, y:at(t.i, 0)); wq:next() end
  end }
  return k
end
local function done(p, args, rows)
  local Y = dev:tensor { dtype = "f32", shape = { rows or 32, 8 } }
  args.Y = Y
  local ok, why = pcall(p.launch, p, args)
  args.Y = { shape = { rows or 32, 8 } }
  local yes, said = p:accepts(args)
  local n, sum = 0, 0
  for i, v in ipairs(Y:get()) do if v ~= 0 then n = i end; sum = sum + v end
  Y:close()
  if ok ~= yes or (not ok and not tostring(why):find(said, 1, true)) then return "accepts: " .. tostring(said) end
  return not ok and tostring(why):gsub("^.-kernel 'by': ", "") or sum == n and n / 8 or "some twice"
end
for _, dtype in ipairs { "i32", "u32", "i64", "u64" } do
  for _, kind in ipairs { "static", "grid" } do
    local p, seen = by_scalar(dtype, kind):build { device = dev }, {}
    for i, S in ipairs { 0, 1, 7, 32 } do seen[i] = done(p, { S = S, N = 1 }) end
    tap.is({ 0, 1, 7, 32 }, seen, ("an extent by a scalar of %s, %s: so many tiles are done"):format(dtype, kind))
    if dtype ~= "i32" then
      tap.is("work queue 'wq': its extent along 'i', S, cannot be computed from the arguments: S reaches 2147483648; kernels count in 32 bits",
        done(p, { S = 1 << 31, N = 1 }), "... of more tiles than 32 bits count")
    end
  end
end
do
  local p = by_scalar("i32", "static", function(S, N) return S // N * 2 + weir.ceil_div(S, 2) end):build { device = dev }
  tap.is({ 7, 11 }, { done(p, { S = 5, N = 2 }), done(p, { S = 9, N = 3 }) }, "an extent computed of a scalar and a dim")
  tap.is("work queue 'wq': its extent along 'i', S // N * 2 + ceil_div(S, 2), cannot be computed from the arguments: S // N divides by 0",
    done(p, { S = 5, N = 0 }), "... that divides by 0")
  tap.is(0, done(p, { S = -5, N = 2 }), "... of less than none")
  p = by_scalar("u64", "static"):build { device = dev }
  tap.is("work queue 'wq': its extent along 'i', S, cannot be computed from the arguments", done(p, { S = -1, N = 1 }), "... in the upper half of 64 bits")
  p = by_scalar("i32", "static", nil, function(S, N) return S * 2 + N end):build { device = dev }
  tap.is(3, done(p, { S = 3, N = 1 }, 7), "a shape by a scalar")
  tap.is("tensor 'Y': axis 0 has 32 elements; it is declared as S * 2 + N = 7", done(p, { S = 3, N = 1 }), "... is checked")
  tap.is({ false, "kernel 'by': tensor 'Y': axis 0 has 4294967294 elements; 0 to 2^31 - 1 fit" }, { p:accepts { S = 0x7fffffff, N = 0 } }, "... in whole numbers")
  local Y = dev:tensor { dtype = "f32", shape = { 7, 8 } }
  tap.is(#assert(p:trace({ S = 3, N = 1, Y = Y })):spans(), #assert(p:trace({ S = 3, N = 1 })):spans(), "... and a timeline's tensors are made by it")
  tap.raises("scalar 'S' is missing", function() p:trace { N = 1 } end, "... if it is there")
end
do
  local k = by_scalar("i32", "static")
  local S, N = k:scalar { name = "T", dtype = "i32" }, k:scalar { name = "U", dtype = "u32" }
  k:assume(weir.lt(S, 100))
  k:assume(weir.lt(S // 7 * 100000 * 100000, 130000000000))
  k:assume(weir.gt(N - 1, 2))
  k:assume(weir.ne(N, S))
  local p = k:build { device = dev }
  tap.is(2, done(p, { S = 2, N = 1, T = 70, U = 5 }), "assumptions on scalars that hold; in whole numbers")
  tap.is("its assumption T < 100 does not hold for these arguments", done(p, { S = 2, N = 1, T = 100, U = 5 }), "... that do not")
  tap.is("its assumption T // 7 * 100000 * 100000 < 130000000000 does not hold for these arguments", done(p, { S = 2, N = 1, T = 99, U = 5 }), "... nor in whole numbers")
  tap.is("its assumption, U - 1 > 2, cannot be computed from the arguments: U - 1 reaches -1", done(p, { S = 2, N = 1, T = 0, U = 0 }), "... that would wrap")
  tap.like("cannot be computed from the arguments", done(p, { S = 0, N = 1, T = -7, U = 4 }), "... a number below 0 beside one without a sign")
end

-- What the kernel asks for itself.
local k = weir.kernel { name = "scaled", arch = "sm_90a" }
local N = k:dim("N", { min = 8, max = 4096, multiple = 8 })
local by, steps = k:scalar { name = "by", dtype = "f32" }, k:scalar { name = "steps", dtype = "i32" }
k:assume(weir.ne(N, 64))
local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { N, 8 } }, tile = { 8, 8 } }
local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { N, 8 }, out = true }, tile = { 8, 8 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 8, 8 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(0, steps) do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
k:task { name = "put", warps = { 1, 1 }, schedule = function() for i in weir.domain_loop(0, steps) do s:wait(); y:store(s:read():load() * by, y:at(i, 0)); s:release() end end }
program = k:build { device = dev }
tap.is({ true }, { program:accepts { N = 16, steps = 2 } }, "a scalar that nothing is counted in need not be known")
refused("one that loops count in must be", { N = 16, by = 2 }, nil, "scalar 'steps' is missing")
refused("too small", { N = 0, steps = 2 }, nil, "dim 'N' is 0; it must be 8 or more")
refused("too large", { N = 8192, steps = 2 }, nil, "dim 'N' is 8192; it must be 4096 or less")
refused("between two", { N = 20, steps = 2 }, nil, "dim 'N' is 20; it must be a multiple of 8 (nearest: 16, 24)")
refused("not as assumed", { N = 64, steps = 2 }, nil, "does not hold for these arguments")

-- A launch says the same, in numbers at random.
local random, alike, taken, differ = 12345, 0, 0, {}
local function pick(n) random = (random * 1103515245 + 12345) & 0x7fffffff return (random >> 8) % n end
for _ = 1, 300 do
  local n, count = pick(40) * (1 + pick(2) * 3), 1 + pick(3)
  local yes, why = program:accepts { N = n, steps = count, by = 2 }
  local tx, ty = dev:tensor { dtype = "f32", shape = { n, 8 } }:fill(1), dev:tensor { dtype = "f32", shape = { n, 8 } }
  local ok, said = pcall(program.launch, program, { X = tx, Y = ty, steps = count, by = 2 }, { device = dev, grid = 1 })
  if ok == yes and (ok or tostring(said):find(why, 1, true)) then alike = alike + 1 else differ[#differ + 1] = ("N = %d: %s, %s"):format(n, tostring(why), tostring(said)) end
  if yes then taken = taken + 1 end
  tx:close(); ty:close()
end
tap.is({}, differ, ("%d sizes at random, %d taken: the launch answers alike"):format(alike, taken))
tap.ok(taken > 20 and taken < 280, "both ways")
tap.done()
