-- The smallest kernel of two roles for each pipeline type: a ring of three stages, a task that fills it, one that empties it, a loop
-- each over the domain N. What threads do with a stage is one body of a line, so that the moves are what is left to see.
--
--   roles.kernel(type, arch, o) -> description. o.cluster: CTAs along m, loads multicast
local weir = require "weir"
local P = weir.pipeline

local roles, make = {}, {}
local S = 3

local function begin(arch, o)
  local t = { native = arch == "sm_100a", o = o }
  t.k = weir.kernel { name = "role", arch = arch, cluster = o.cluster and { m = o.cluster } or nil }
  t.N = t.k:dim("N", { min = t.native and 1 or 0 })
  local Y = t.k:tensor { name = "Y", dtype = "i32", shape = { t.k:dim "H" }, out = true }
  t.out = t.k:resource { name = "out", space = "gmem", bind = { y = Y },
    work = { put = weir.producer_work { params = "view from", code = "y[tid] = ((const int *)from)[tid];" } } }
  -- a ring that threads fill
  function t.ring(pipe, dtype, tile, swizzle)
    return t.k:resource { name = "s", space = "smem", dtype = dtype or "i32", tile = tile or { 4, 32 }, swizzle = swizzle, pipeline = pipe,
      work = { fill = weir.producer_work { code = "((int *)smem)[tid] = iter;" } } }
  end
  function t.task(name, warps, body, before, after)
    t.k:task { name = name, warps = warps, schedule = function()
      if before then before() end
      for j in weir.domain_loop(0, t.N, 1, { unroll = 1 }) do body(j) end
      if after then after() end
    end }
  end
  function t.gmem(name, dtype, tile, out)
    local shape = out == "once" and tile or { tile[1], t.k:dim(name .. "W") }
    return t.k:gmem_tile { name = "g" .. name, tile = tile, tensor = t.k:tensor { name = name, dtype = dtype, shape = shape, out = out and true } }
  end
  -- an operand that stays for the whole run
  function t.constant(name, dtype, tile, swizzle, warp)
    local s = t.k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = swizzle, pipeline = P.tma_umma { stages = 1 } }
    local g = t.gmem(name:upper(), dtype == "tf32" and "f32" or dtype, tile)
    t.k:task { name = "load_" .. name, warps = { warp, 1 }, schedule = function() s:acquire(); s:tma_load(g:at(0, 0)); s:commit() end }
    return s
  end
  -- Sums that leave once, behind the loop, and the task that makes them of each stage of `s` and of b.
  function t.multiply(s, b, warps)
    local rows = t.native and s.tile_rows or 64
    local cols = rows == 128 and 16 or 8
    local z = t.gmem("Z", "f32", { rows, cols }, "once")
    local acc = t.native and t.k:tmem_tile { name = "acc", tile = { rows, cols }, pipeline = P.umma_async { stages = 1 } }
      or t.k:wgmma_tile { name = "acc", tile = { rows, cols } }
    t.task("mma", warps or t.native and { 8, 1 } or { 4, 4 }, function()
      s[1]:wait(); acc:mma(s[1]:read(), b:read())
      if not t.native then acc:drain() end
      s[1]:release()
    end, function()
      b:wait()
      if t.native then acc:acquire() end
      acc:zero()
    end, function()
      if t.native then acc:commit() else z:store(acc:read(), z:at(0, 0)) end
      b:release()
    end)
    if t.native then t.k:task { name = "store", warps = { 4, 4 }, schedule = function() acc:wait(); z:store(acc:read(), z:at(0, 0)); acc:release() end } end
  end
  return t
end

function make.async_async(t)
  local s = t.ring(P.async_async { stages = S })
  t.task("fill", { 0, 4 }, function() s:acquire(); s:fill(); s:commit() end)
  t.task("empty", { 4, 4 }, function() s:wait(); t.out:put(s:read()); s:release() end)
end

-- filled by cp.async
function make.async_async_load(t)
  local x = t.gmem("X", "i32", { 4, 32 })
  local s = t.k:smem_tile { name = "s", dtype = "i32", tile = { 4, 32 }, pipeline = P.async_async { stages = S, producer_op = "load" } }
  t.task("fill", { 0, 1 }, function(j) s:acquire(); s:cp_async(x:at(0, j)); s:commit() end)
  t.task("empty", { 4, 4 }, function() s:wait(); t.out:put(s:read()); s:release() end)
end

function make.tma_async(t)
  local x = t.gmem("X", "i32", { 4, 32 })
  local s = t.k:smem_tile { name = "s", dtype = "i32", tile = { 4, 32 }, pipeline = P.tma_async { stages = S } }
  t.task("load", { 0, 1 }, function(j) s:acquire(); s:tma_load(x:at(0, j), { multicast = t.o.cluster and "m" }); s:commit() end)
  t.task("empty", { 4, 4 }, function() s:wait(); t.out:put(s:read()); s:release() end)
end

-- two rings as one group
function make.fused_merge(t)
  local x, z = t.gmem("X", "i32", { 4, 32 }), t.gmem("Z", "i32", { 4, 32 })
  local function ring(name) return t.k:smem_tile { name = name, dtype = "i32", tile = { 4, 32 }, pipeline = P.tma_async { stages = S } } end
  local g = t.k:group { name = "g", mode = "fused_merge", members = { ring "a", ring "b" }, fold = t.o.fold }
  t.task("load", { 0, 1 }, function(j)
    g.a:acquire(); g.a:tma_load(x:at(0, j)); g.a:commit()
    g.b:acquire(); g.b:tma_load(z:at(0, j)); g.b:commit()
  end)
  t.task("empty", { 4, 4 }, function() g:wait(); t.out:put(g.a:read()); t.out:put(g.b:read()); g:release() end)
end

function make.async_tma(t)
  local s = t.ring(P.async_tma { stages = S })
  local z = t.gmem("Z", "i32", { 4, 32 }, true)
  t.task("fill", { 0, 4 }, function() s:acquire(); s:fill(); s:commit() end)
  t.task("store", { 4, 1 }, function(j) s:wait(); z:tma_store(s:read(), z:at(0, j)); s:release() end)
end

function make.tma_umma(t)
  local x, b = t.gmem("X", "bf16", { 64, 16 }), t.constant("b", "bf16", { 8, 16 }, 32, 9)
  local s = t.k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_umma { stages = S } }
  t.task("load", { 0, 1 }, function(j) s:acquire(); s:tma_load(x:at(0, j)); s:commit() end)
  t.multiply({ s, tile_rows = 64 }, b)
end

function make.async_umma(t)
  local b = t.constant("b", "bf16", { 8, 16 }, 32, 9)
  local s = t.ring(P.async_umma { stages = S }, "bf16", { 64, 16 }, 32)
  t.task("fill", { 0, 4 }, function() s:acquire(); s:fill(); s:commit() end)
  t.multiply({ s, tile_rows = 64 }, b)
end

function make.umma_async(t)
  local x, b = t.gmem("X", "bf16", { 64, 16 }), t.constant("b", "bf16", { 8, 16 }, 32, 9)
  local a = t.k:smem_tile { name = "a", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_umma { stages = S } }
  local s = t.k:tmem_tile { name = "s", tile = { 64, 8 }, pipeline = P.umma_async { stages = S } }
  t.task("load", { 8, 1 }, function(j) a:acquire(); a:tma_load(x:at(0, j)); a:commit() end)
  t.task("mma", t.native and { 10, 1 } or { 0, 4 }, function()
    s:acquire(); a:wait(); s:zero(); s:mma(a:read(), b:read()); a:release(); s:commit()
  end, function() b:wait() end, function() b:release() end)
  local z = t.native and t.gmem("Z", "f32", { 64, 8 }, true)
  t.task("empty", { 4, 4 }, function(j) s:wait(); if z then z:store(s:read(), z:at(0, j)) else t.out:put(s:read()) end; s:release() end)
end

-- An mma takes what another has left: sm_90a in the operands' dtype through shared memory, sm_100a as tf32 in tensor memory.
function make.umma_umma(t)
  local rows, mid = t.native and 128 or 64, 16
  local x, b = t.gmem("X", "bf16", { rows, 16 }), t.constant("b", "bf16", { mid, 16 }, 32, 9)
  local c = t.native and t.constant("c", "tf32", { 16, mid }, 64, 10) or t.constant("c", "bf16", { 8, mid }, 32, 10)
  local a = t.k:smem_tile { name = "a", dtype = "bf16", tile = { rows, 16 }, swizzle = 32, pipeline = P.tma_umma { stages = S } }
  local s = t.k:tmem_tile { name = "s", tile = { rows, mid }, pipeline = P.umma_umma { stages = S } }
  t.task("load", { 11, 1 }, function(j) a:acquire(); a:tma_load(x:at(0, j)); a:commit() end)
  t.task("first", t.native and { 0, 1 } or { 0, 4 }, function()
    s:acquire(); a:wait(); s:zero(); s:mma(a:read(), b:read()); a:release(); s:commit()
  end, function() b:wait() end, function() b:release() end)
  t.multiply({ s, tile_rows = rows }, c)
end

-- tiles drawn from a counter, each by one thread for all
function make.clc_fetch_async(t)
  local wq = t.k:work_queue { name = "wq", kind = "atomic", axes = { "m" }, extent = { t.N }, stages = S }
  t.k:task { name = "fetch", warps = { 0, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end
  end }
  local put = t.k:resource { name = "put", space = "gmem", bind = { y = t.k:tensor { name = "Z", dtype = "i32", shape = { t.N }, out = true } },
    work = { tile = weir.producer_work { params = "i32 m", code = "y[m] = tid;" } } }
  t.k:task { name = "use", warps = { 4, 1 }, schedule = function()
    for tile in weir.work_tile_loop(wq) do put:tile(tile.m); wq:next() end
  end }
end

function roles.kernel(kind, arch, o)
  local t = begin(arch, o or {})
  make[kind](t)
  return t.k
end

-- ---- PTX -------------------------------------------------------------------------------------------------------------------------

-- Rows of a loop with registers and labels numbered in the order in which they appear.
local function normal(rows)
  local names, n = {}, {}
  local function number(kind, name)
    if not names[name] then
      n[kind] = (n[kind] or 0) + 1
      names[name] = kind .. n[kind]
    end
    return names[name]
  end
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = row:gsub("%%(%a+)(%d+)", function(kind, digits) return number("%" .. kind, kind .. digits) end)
      :gsub("%$L__[%w_]+", function(label) return number("L", label) end)
  end
  return out
end

--- The innermost loops of a PTX text that have an mbarrier in them: lists of instructions. NVRTC's release beside them.
function roles.loops(ptx)
  local rows, at, out, inside = {}, {}, {}, false
  for row in ptx:gmatch "[^\n]+" do
    row = row:gsub("//.*$", ""):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
    if inside then -- asm of several rows is one instruction to whom it matters: a wait, a mapped arrive, a predicated mma
      rows[#rows] = rows[#rows] .. " " .. row
      inside = not row:find "}$"
    elseif row ~= "" and not row:find "^%.pragma" then
      if row:find "^%$L__[%w_]+:$" then at[row:sub(1, -2)] = #rows + 1 end
      rows[#rows + 1] = row
      inside = row:find "^{ " and not row:find "}$"
    end
  end
  for i, row in ipairs(rows) do
    local label = row:match "bra[.%w]* (%$L__[%w_]+);"
    if label and at[label] and at[label] < i then
      local body, sync = table.move(rows, at[label] + 1, i - 1, 1, {}), false
      for _, r in ipairs(body) do sync = sync or r:find "mbarrier" end
      if sync then out[#out + 1] = normal(body) end
    end
  end
  return out, ptx:match "release ([%d.]+)"
end

return roles
