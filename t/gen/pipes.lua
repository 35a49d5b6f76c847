-- One small kernel for every pipeline type, group mode and legal mix, with what each must leave in memory.
--
--   local pipes = require "gen.pipes"
--   for _, cell in ipairs(pipes.cells()) do
--     local k = pipes.kernel(cell)                              -- a description; build it as any other
--     local run = pipes.bench(cell, device)                     -- its tensors
--     local ok, text = pipes.run(run, program, length)          -- one launch, every element compared
--   end
--
-- A cell is { mode, members, m, n, multicast, stages, queue, joint, seed }:
--   mode       "none", "merge", "fused_merge" or "fork"
--   members    short names of the pipelines: AA TA TU UA AU UU; LA and LU are AA and AU filled by cp.async; alone also AT (async_tma)
--              and AS (async_tma filled and stored by one task)
--   m, n       the cluster
--   multicast  "none", "m", "n", "mn", or "cross": one member along m, the next along n. Of TMA loads
--   queue      "grid": one tile a CTA; "static": two, by one CTA after the other
--   joint      one task fills all members that are filled alike (or, in a fork, empties them); else one task each
--
-- What moves: each member has a tensor of its own, a tile a step. Threads copy the tile they get to the member's output; the tensor
-- core multiplies it by one small matrix first, and what it leaves is exact. So every element names the step, the tile, the member
-- and the place it came from. Steps that a short domain leaves out must keep what was there before.
local weir = require "weir"
local P = weir.pipeline

local pipes = {}

local TYPE = { AA = "async_async", TA = "tma_async", TU = "tma_umma", UA = "umma_async", AU = "async_umma", UU = "umma_umma",
  AT = "async_tma", AS = "async_tma", LA = "async_async", LU = "async_umma" }
local KIND = { async = "threads", tma = "tma", umma = "mma" }
local function sides(t)
  local a, b = TYPE[t]:match "(%a+)_(%a+)"
  return KIND[a], KIND[b]
end
local BK, BN = 16, 8          -- columns of an operand tile, of a product
local UNTOUCHED = -777

-- ---- cells ---------------------------------------------------------------------------------------------------------------------

local function mixes()
  local out = {}
  local function add(mode, ...) out[#out + 1] = { mode = mode, members = { ... } } end
  for _, t in ipairs { "AA", "TA", "TU", "UA", "AU", "UU", "AT", "AS" } do add("none", t) end
  for _, mode in ipairs { "merge", "fused_merge" } do
    for _, t in ipairs { "AA", "TA", "TU", "UA", "AU", "UU" } do add(mode, t, t) end
    for _, set in ipairs { { "AA", "TA", "UA" }, { "AU", "TU", "UU" } } do
      local a, b, c = table.unpack(set)
      for _, pair in ipairs { { a, b }, { b, a }, { a, c }, { c, a }, { b, c }, { c, b } } do add(mode, pair[1], pair[2]) end
      add(mode, a, b, c)
      add(mode, c, b, b, a)
    end
    add(mode, "TA") -- one member is a group too
  end
  for _, t in ipairs { "AA", "TA", "TU", "UA", "AU", "UU" } do add("fork", t, t) end
  for _, pair in ipairs { { "TA", "TU" }, { "AA", "AU" }, { "UA", "UU" } } do
    local a, b = table.unpack(pair)
    add("fork", a, b)
    add("fork", b, a)
    add("fork", a, b, b)
  end
  add("fork", "TA", "TA", "TU", "TU")
  add("fork", "AU")
  add("none", "LA")
  add("none", "LU")
  add("merge", "LU", "TU")
  add("merge", "TA", "LA")
  add("fused_merge", "UU", "LU")
  add("fused_merge", "LA", "AA", "UA")
  add("fork", "LA", "LU")
  return out
end

local function loads_by_tma(members)
  local n = 0
  for _, t in ipairs(members) do if sides(t) == "tma" then n = n + 1 end end
  return n
end

-- Clusters and multicasts that a mix can have, with a number that stays the same for each.
local function shapes(mix)
  local out = { { 1, 1, "none", 1 }, { 2, 1, "none", 2 }, { 2, 2, "none", 4 } }
  local tma = loads_by_tma(mix.members)
  if tma > 0 then
    for _, s in ipairs { { 2, 1, "m", 6 }, { 1, 2, "n", 7 }, { 2, 2, "m", 8 }, { 2, 2, "mn", 10 }, { 4, 1, "m", 11 } } do out[#out + 1] = s end
    if tma > 1 and mix.mode ~= "fork" then out[#out + 1] = { 2, 2, "cross", 12 } end
  end
  return out
end

-- A text that is one word, for names of kernels and of tests.
function pipes.name(c)
  return ("%s%s_%s_c%d%d%s_s%d_%s%s"):format(c.arch and c.arch .. "_" or "", c.mode, table.concat(c.members):lower(), c.m, c.n, c.multicast == "none" and "" or c.multicast,
    c.stages, c.queue, c.joint and "_joint" or "")
end

pipes.all_stages = { 1, 2, 3, 7 }

-- Every cell. Queue and joint alternate with a hash of the rest, so that both meet every mix.
-- For sm_100a those without umma_umma, which takes tf32 and 128 rows there (t/sm100a.lua has them).
function pipes.cells(arch)
  local out = {}
  for i, mix in ipairs(mixes()) do
    local lacks = arch == "sm_100a" and table.concat(mix.members, " "):find "UU"
    for _, shape in ipairs(lacks and {} or shapes(mix)) do
      for s, stages in ipairs(pipes.all_stages) do
        local h = i * 7 + shape[4] * 3 + s
        out[#out + 1] = { arch = arch, mode = mix.mode, members = mix.members, m = shape[1], n = shape[2], multicast = shape[3], stages = stages,
          queue = h % 2 == 0 and "grid" or "static", joint = #mix.members > 1 and h // 2 % 2 == 0, seed = h }
      end
    end
  end
  return out
end

-- What a cell has, as a set of words.
local function traits(c)
  local out = { "mode " .. c.mode, "stages " .. c.stages, ("cluster %d %d"):format(c.m, c.n), "multicast " .. c.multicast, "queue " .. c.queue,
    "joint " .. tostring(c.joint), "members " .. math.min(#c.members, 3) }
  local seen = {}
  for _, t in ipairs(c.members) do
    if not seen[t] then out[#out + 1] = "type " .. t end
    seen[t] = true
  end
  return out
end

local function pairs_of(c)
  local t, out = traits(c), {}
  for i = 1, #t do for j = i + 1, #t do out[#out + 1] = t[i] .. " & " .. t[j] end end
  return out
end

-- The compatibility matrix: which two types meet in which mode.
local function matrix_of(c)
  local out = {}
  for i, a in ipairs(c.members) do
    for j = i + 1, #c.members do
      local b = c.members[j]
      out[#out + 1] = c.mode .. " " .. (a < b and a .. " " .. b or b .. " " .. a)
    end
  end
  if #out == 0 then out[1] = c.mode .. " " .. c.members[1] end
  return out
end

-- Greedily few cells that have every pair of traits, and every entry of the matrix; `most` of them at the most. Also returns how
-- many pairs and entries there are, and how many are left out.
function pipes.covering(most, arch)
  local cells, open, total = pipes.cells(arch), {}, 0
  local has = {}
  for i, c in ipairs(cells) do
    has[i] = table.move(matrix_of(c), 1, 32, #pairs_of(c) + 1, pairs_of(c))
    for _, p in ipairs(has[i]) do
      if not open[p] then open[p] = true; total = total + 1 end
    end
  end
  local out, left = {}, total
  while left > 0 and #out < most do
    local best, gain = nil, 0
    for i, c in ipairs(cells) do
      local g = 0
      for _, p in ipairs(has[i]) do if open[p] then g = g + 1 end end
      -- of equal gain the smaller kernel
      if g > gain or (g == gain and best and #c.members < #cells[best].members) then best, gain = i, g end
    end
    for _, p in ipairs(has[best]) do
      if open[p] then open[p] = nil; left = left - 1 end
    end
    out[#out + 1] = cells[best]
  end
  return out, total, left
end

-- Part "i/n" of a list: every n-th from the i-th on. No part: the list.
function pipes.part(list, part)
  if not part then return list end
  local i, n = part:match "^(%d+)/(%d+)$"
  local out = {}
  for k = tonumber(i), #list, tonumber(n) do out[#out + 1] = list[k] end
  return out
end

-- Lengths of the domain that find off-by-one mistakes of a ring of S stages.
function pipes.lengths(c)
  local out, seen = {}, {}
  for _, n in ipairs { 0, 1, c.stages - 1, c.stages, c.stages + 1, 3 * c.stages + 1 } do
    if not seen[n] then out[#out + 1] = n end
    seen[n] = true
  end
  return out
end

-- ---- the kernel ----------------------------------------------------------------------------------------------------------------

local function facts(c)
  local f = { m = c.m, n = c.n, rounds = c.queue == "static" and 2 or 1, steps = 3 * c.stages + 1, rows = 16, mma = false, fork = c.mode == "fork" }
  for _, t in ipairs(c.members) do
    local _, reader = sides(t)
    if reader == "mma" then f.mma, f.rows = true, 64 end
  end
  if sides(c.members[1]) == "mma" then f.rows = 64 end
  f.members = {}
  for i, t in ipairs(c.members) do
    local filler, reader = sides(t)
    local along = c.multicast
    if along == "cross" then along = i % 2 == 1 and "m" or "n" end
    if filler ~= "tma" then along = "none" end
    f.members[i] = { type = t, name = "p" .. i, filler = filler, reader = reader, along = along, rows = filler == "mma" and 64 or f.rows,
      source = f.fork and 1 or i }
  end
  return f
end

-- Along which axes one tile of the source serves every CTA of a cluster.
local function shared(along) return along:find "m" ~= nil, along:find "n" ~= nil end

-- The description, and the group or else the one resource that it is about.
function pipes.kernel(c)
  local f = facts(c)
  local tensor_memory = c.arch == "sm_100a" -- products lie there, one thread multiplies and a task of its own stores them
  local k = weir.kernel { name = pipes.name(c), arch = c.arch or "sm_90a", cluster = { m = c.m, n = c.n } }
  local L, EM, EN = k:dim "L", k:dim "EM", k:dim "EN"
  local wq = k:work_queue { name = "wq", kind = c.queue, axes = { "m", "n" }, extent = { EM, EN } }
  local W = f.steps
  local function tensor(name, rows, cols, dtype, out)
    return k:tensor { name = name, dtype = dtype, shape = { EN, EM * rows, W * cols }, out = out }
  end

  local any_mma = f.mma
  for _, p in ipairs(f.members) do any_mma = any_mma or p.filler == "mma" end
  local gb, b, gs, s
  if any_mma then -- the small matrix, and the signed permutation for products that are multiplied again
    gb = k:gmem_tile { name = "gb", tensor = k:tensor { name = "B", dtype = "bf16", shape = { BN, BK } }, tile = { BN, BK } }
    b = k:smem_tile { name = "b", dtype = "bf16", tile = { BN, BK }, swizzle = 32, pipeline = P.tma_umma { stages = 1 } }
    for _, p in ipairs(f.members) do
      if p.type == "UU" and not s then
        gs = k:gmem_tile { name = "gs", tensor = k:tensor { name = "S", dtype = "bf16", shape = { BK, BK } }, tile = { BK, BK } }
        s = k:smem_tile { name = "s", dtype = "bf16", tile = { BK, BK }, swizzle = 32, pipeline = P.tma_umma { stages = 1 } }
      end
    end
  end

  -- the members, their source and, filled by an mma, the pipeline that feeds it
  for i, p in ipairs(f.members) do
    p.cp_async = p.type:sub(1, 1) == "L"
    local pipe = P[TYPE[p.type]] { stages = c.stages, producer_op = p.cp_async and "load" or nil }
    if p.filler == "mma" then
      p.res = k:tmem_tile { name = p.name, tile = { 64, p.type == "UU" and BK or BN }, pipeline = pipe }
    elseif f.fork and i > 1 then
      p.res = k:smem_tile { name = p.name, storage = f.members[1].res, pipeline = pipe }
    else
      p.res = k:smem_tile { name = p.name, dtype = "bf16", tile = { p.rows, BK }, swizzle = f.mma and 32 or 0, pipeline = pipe }
    end
    if not f.fork or i == 1 then
      p.g = k:gmem_tile { name = "x" .. i, tensor = tensor("X" .. i, p.rows, BK, "bf16"), tile = { 1, p.rows, BK } }
    end
    if p.filler == "mma" and (not f.fork or i == 1) then
      p.feed = k:smem_tile { name = "f" .. i, dtype = "bf16", tile = { 64, BK }, swizzle = 32, pipeline = P.tma_umma { stages = 2 } }
    end
  end
  local group
  if c.mode ~= "none" then
    local list = {}
    for i, p in ipairs(f.members) do list[i] = p.res end
    group = k:group { name = "g", mode = c.mode, members = list }
    for _, p in ipairs(f.members) do p.bare = p.res; p.res = group:member(p.name) end
  end

  -- the outputs: of threads one a member; of the tensor core one a member of a fork, else the sum
  local function product(name)
    return k:gmem_tile { name = "y" .. name, tensor = tensor("D" .. name, 64, BN, "f32", true), tile = { 1, 64, BN } },
      tensor_memory and k:tmem_tile { name = "acc" .. name, tile = { 64, BN }, pipeline = P.umma_async { stages = c.seed % 2 + 1 } }
        or k:wgmma_tile { name = "acc" .. name, tile = { 64, BN } }
  end
  if f.mma and not f.fork then f.y, f.acc = product "" end
  for i, p in ipairs(f.members) do
    if p.reader ~= "mma" then
      local cols = p.filler == "mma" and BN or BK
      p.y = k:gmem_tile { name = "y" .. i, tensor = tensor("Y" .. i, p.rows, cols, p.reader == "tma" and "bf16" or "f32", true), tile = { 1, p.rows, cols } }
    elseif f.fork then
      p.y, p.acc = product(tostring(i))
    end
  end

  -- Where the source tile of a step lies: a tile that serves several CTAs is the cluster's, not the CTA's.
  local function place(p, t, j)
    local by_m, by_n = shared(p.along)
    return p.g:at(by_n and t.n // c.n or t.n, by_m and t.m // c.m or t.m, j)
  end
  local function output(y, t, j) return y:at(t.n, t.m, j) end

  -- ---- tasks: warpgroups first, single warps behind them -----------------------------------------------------------------------
  local tasks, warp = {}, 0
  local function task(name, warps, body, setup, finish)
    tasks[#tasks + 1] = { name = name, warps = warps, schedule = function()
      for t in weir.work_tile_loop(wq) do
        if setup then setup() end
        for j in weir.domain_loop(0, L) do body(t, j) end
        if finish then finish() end
        wq:next()
      end
    end }
  end
  local function few(i) return ({ 1, 2, 4 })[(c.seed + i) % 3 + 1] end
  local function constant(...)
    local list = { ... }
    return function() for _, x in ipairs(list) do x:wait() end end, function() for _, x in ipairs(list) do x:release() end end
  end

  local function fill(p, t, j)
    if p.filler == "tma" then p.res:tma_load(place(p, t, j), { multicast = p.along })
    elseif p.cp_async then p.res:cp_async(place(p, t, j))
    elseif p.filler == "threads" then p.res:store(place(p, t, j))
    else
      p.res:zero()
      p.res:mma(p.from.feed:read(), (p.type == "UU" and s or b):read())
    end
  end
  local function produce(name, list)
    local p1 = list[1]
    local mma, uu, ub = p1.filler == "mma", false, false
    for _, p in ipairs(list) do
      p.from = f.fork and f.members[1] or p
      uu, ub = uu or p.type == "UU", ub or p.type == "UA"
    end
    local function steps(t, j)
      if f.fork then
        for _, p in ipairs(list) do p.res:acquire() end
        if mma then
          p1.feed:wait()
          for _, p in ipairs(list) do fill(p, t, j) end
          p1.feed:release()
        else
          fill(p1, t, j)
        end
        group:commit()
        return
      end
      for _, p in ipairs(list) do
        p.res:acquire()
        if mma then p.feed:wait() end
        fill(p, t, j)
        if mma then p.feed:release() end
        p.res:commit()
      end
    end
    if not mma then return task(name, p1.filler == "tma" and 1 or few(#tasks), steps) end
    local constants = {}
    if ub then constants[#constants + 1] = b end
    if uu then constants[#constants + 1] = s end
    local setup, finish = constant(table.unpack(constants))
    task(name, 4, steps, setup, finish)
    local feeds = {}
    for _, p in ipairs(list) do if p.feed then feeds[#feeds + 1] = p end end
    task(name .. "_feed", 1, function(t, j)
      for _, p in ipairs(feeds) do p.feed:acquire(); p.feed:tma_load(place(p, t, j)); p.feed:commit() end
    end)
  end

  local function copy_out(p, t, j)
    if p.reader == "tma" then p.y:tma_store(p.res:read(), output(p.y, t, j)) else p.y:store(p.res:read(), output(p.y, t, j)) end
  end

  if c.members[1] == "AS" then -- one warpgroup fills the stage and stores it
    local p = f.members[1]
    task("turn", 4, function(t, j)
      p.res:acquire(); p.res:store(place(p, t, j)); p.res:commit()
      p.res:wait(); copy_out(p, t, j); p.res:release()
    end)
  else
    if f.fork then
      produce("fill", f.members)
    elseif c.joint then
      for _, filler in ipairs { "mma", "tma", "threads" } do
        local list = {}
        for _, p in ipairs(f.members) do if p.filler == filler then list[#list + 1] = p end end
        if #list > 0 then produce("fill_" .. filler, list) end
      end
    else
      for i, p in ipairs(f.members) do produce("fill" .. i, { p }) end
    end

    local function multiply(y, acc, t, j, list)
      if tensor_memory then acc:acquire() end
      acc:zero()
      for _, p in ipairs(list) do acc:mma(p.res:read(), b:read()) end
      if tensor_memory then acc:commit() return function() end end
      acc:drain()
      return function() y:store(acc:read(), output(y, t, j)) end
    end
    local multiplies = tensor_memory and c.seed % 3 == 0 and 1 or 4
    local function results(name, y, acc)
      task("results" .. name, 4, function(t, j) acc:wait(); y:store(acc:read(), output(y, t, j)); acc:release() end)
    end
    if not f.fork then
      local wide = false
      for _, p in ipairs(f.members) do wide = wide or p.filler == "mma" end
      local setup, finish
      if f.mma then setup, finish = constant(b) end
      if f.mma and tensor_memory then results("", f.y, f.acc) end
      task("empty", f.mma and multiplies or (f.mma or wide) and 4 or few(7), function(t, j)
        if c.mode == "fused_merge" then group:wait() else for _, p in ipairs(f.members) do p.res:wait() end end
        local store
        if f.mma then store = multiply(f.y, f.acc, t, j, f.members) else for _, p in ipairs(f.members) do copy_out(p, t, j) end end
        if group then group:release() else f.members[1].res:release() end
        if store then store() end
      end, setup, finish)
    else
      local together, apart = {}, {}
      for i, p in ipairs(f.members) do
        local list = c.joint and p.reader == "threads" and together or apart
        list[#list + 1] = { i, p }
      end
      local function empty(name, list)
        local wide = false
        for _, e in ipairs(list) do wide = wide or e[2].filler == "mma" end
        task(name, wide and 4 or few(3), function(t, j)
          for _, e in ipairs(list) do
            e[2].res:wait(); copy_out(e[2], t, j); e[2].res:release()
          end
        end)
      end
      if #together > 0 then empty("empty", together) end
      for _, e in ipairs(apart) do
        local i, p = table.unpack(e)
        if p.reader == "mma" then
          local setup, finish = constant(b)
          if tensor_memory then results(tostring(i), p.y, p.acc) end
          task("multiply" .. i, multiplies, function(t, j)
            p.res:wait()
            local store = multiply(p.y, p.acc, t, j, { p })
            p.res:release()
            store()
          end, setup, finish)
        else
          empty("empty" .. i, { e })
        end
      end
    end
  end
  if b then
    tasks[#tasks + 1] = { name = "constants", warps = 1, schedule = function()
      for _ in weir.work_tile_loop(wq) do
        b:acquire(); b:tma_load(gb:at(0, 0)); b:commit()
        if s then s:acquire(); s:tma_load(gs:at(0, 0)); s:commit() end
        wq:next()
      end
    end }
  end
  for _, size in ipairs { 4, 2, 1 } do
    for _, t in ipairs(tasks) do
      if t.warps == size then
        k:task { name = t.name, warps = { warp, t.warps }, schedule = t.schedule }
        warp = warp + t.warps
      end
    end
  end
  return k, group or f.members[1].res
end

-- ---- data and check ------------------------------------------------------------------------------------------------------------

-- Small integers, exact in bf16 and in every sum made of them.
local function numbers(n, seed, span)
  local out, x = {}, seed * 2654435761 % 4294967296
  for i = 1, n do
    x = (x * 1664525 + 1013904223) % 4294967296
    out[i] = (x >> 16) % (2 * span + 1) - span
  end
  return out
end

-- The tensors of a cell on a device, and what a full run must leave.
function pipes.bench(c, dev)
  local f = facts(c)
  local em, en, W = c.m * f.rounds, c.n, f.steps
  local r = { cell = c, dev = dev, args = { EM = em, EN = en }, wanted = {}, grid = c.queue == "static" and c.m * c.n or nil }
  local B, S, sigma = numbers(BN * BK, 99, 2), {}, {}
  for i = 1, BK * BK do S[i] = 0 end
  for i = 0, BK - 1 do -- row i of the permutation takes column sigma[i]
    sigma[i] = (5 * i + 3) % BK
    S[i * BK + sigma[i] + 1] = i % 3 == 0 and -1 or 1
  end
  local any_mma, uu = f.mma, false
  for _, p in ipairs(f.members) do any_mma = any_mma or p.filler == "mma"; uu = uu or p.type == "UU" end
  local function upload(name, dtype, shape, data)
    r.args[name] = dev:tensor { dtype = dtype, shape = shape }
    if data then r.args[name]:set(data) end
  end
  if any_mma then upload("B", "bf16", { BN, BK }, B) end
  if uu then upload("S", "bf16", { BK, BK }, S) end
  for i, p in ipairs(f.members) do
    if p.source == i then
      p.x = numbers(en * em * p.rows * W * BK, i, 4)
      upload("X" .. i, "bf16", { en, em * p.rows, W * BK }, p.x)
    end
  end
  -- element (row, col) of the tile that a CTA gets in a step, as the consumer sees it before the small matrix
  local function tile_row(p, tn, tm, row, j)
    local by_m, by_n = shared(p.along)
    tm, tn = by_m and tm // c.m or tm, by_n and tn // c.n or tn
    local x, at = f.members[p.source].x, ((tn * em + tm) * p.rows + row) * W * BK + j * BK
    local out = table.move(x, at + 1, at + BK, 1, {})
    if p.type == "UU" then
      local y = {}
      for i = 0, BK - 1 do y[i + 1] = out[sigma[i] + 1] * S[i * BK + sigma[i] + 1] end
      return y
    end
    return out
  end
  local function product(row)
    local out = {}
    for c1 = 0, BN - 1 do
      local sum = 0
      for q = 1, BK do sum = sum + row[q] * B[c1 * BK + q] end
      out[c1 + 1] = sum
    end
    return out
  end
  local function want(name, dtype, rows, cols, compute)
    local full = {}
    for tn = 0, en - 1 do for tm = 0, em - 1 do for row = 0, rows - 1 do for j = 0, W - 1 do
      local x = compute(tn, tm, row, j)
      table.move(x, 1, cols, #full + 1, full)
    end end end end
    r.wanted[#r.wanted + 1] = { name = name, cols = cols, full = full, rows = rows, em = em }
    upload(name, dtype, { en, em * rows, W * cols })
  end
  if f.mma and not f.fork then
    want("D", "f32", 64, BN, function(tn, tm, row, j)
      local sum
      for _, p in ipairs(f.members) do
        local x = product(tile_row(p, tn, tm, row, j))
        if sum then for i = 1, BN do sum[i] = sum[i] + x[i] end else sum = x end
      end
      return sum
    end)
  end
  for i, p in ipairs(f.members) do
    local mul = p.reader == "mma" or p.filler == "mma"
    local function get(tn, tm, row, j)
      local x = tile_row(p, tn, tm, row, j)
      return mul and product(x) or x
    end
    if p.reader ~= "mma" then want("Y" .. i, p.reader == "tma" and "bf16" or "f32", p.rows, mul and BN or BK, get)
    elseif f.fork then want("D" .. i, "f32", 64, BN, get) end
  end
  return r
end

-- Launches with a domain of `length` steps and compares every element. true, or false and what is wrong.
function pipes.run(r, program, length)
  local f = facts(r.cell)
  r.args.L = length
  for _, w in ipairs(r.wanted) do r.args[w.name]:fill(UNTOUCHED) end
  local ok, message = program:launch(r.args, { grid = r.grid })
  if ok then ok, message = r.dev:sync() end
  if not ok then return false, message end
  if r.dev.is_sim and r.dev:findings() ~= "" then return false, r.dev:findings() end
  for _, w in ipairs(r.wanted) do
    local seen, wrong, first = r.args[w.name]:get(), 0, nil
    local line, untouched = f.steps * w.cols, nil
    if w.name:sub(1, 1) == "Y" and r.args[w.name].dtype == "bf16" then untouched = UNTOUCHED + 1 end -- 777 is no bf16; 776 is
    for i = 1, #w.full do
      local j = (i - 1) % line // w.cols
      local wanted = j < length and w.full[i] or untouched or UNTOUCHED
      if seen[i] ~= wanted then
        wrong = wrong + 1
        first = first or ("row %d, step %d, column %d: wanted %g, seen %g"):format((i - 1) // line, j, (i - 1) % w.cols, wanted, seen[i])
      end
    end
    if wrong > 0 then return false, ("%s: %d of %d elements are wrong; %s"):format(w.name, wrong, #w.full, first) end
  end
  return true
end

-- ---- tests ---------------------------------------------------------------------------------------------------------------------

-- Two tests a cell: the proof holds for every length, and every element is right at the lengths above. Returns what happened:
-- { cells, proved, passed, launches, elements, failed = { name = text } }.
function pipes.test(tap, cells, dev)
  local sum = { cells = #cells, proved = 0, passed = 0, launches = 0, elements = 0, failed = {} }
  for _, c in ipairs(cells) do
    local name = pipes.name(c)
    local built, program = pcall(function() return pipes.kernel(c):build { device = dev } end)
    local verdict = built and program.report.proof.verdict or "not built"
    local why = not built and tostring(program) or nil
    if tap.is("SAFE", verdict, name .. " is proved") then sum.proved = sum.proved + 1 end
    local right = built
    if built then
      local bench, lengths = pipes.bench(c, dev), pipes.lengths(c)
      for _, n in ipairs(lengths) do
        local ok, text = pipes.run(bench, program, n)
        sum.launches = sum.launches + 1
        for _, w in ipairs(bench.wanted) do sum.elements = sum.elements + #w.full end
        if not ok then
          right, why = false, ("length %d: %s"):format(n, text)
          break
        end
      end
      program.kernel:close()
    end
    if tap.ok(right, name .. " moves every element") then sum.passed = sum.passed + 1 else tap.diag(why) end
    if why then sum.failed[name] = why end
  end
  return sum
end

return pipes
