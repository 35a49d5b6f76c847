-- Random tasks whose threads store to a tile in shared memory and read it, part by part and in ways that deal its elements out anew: of
-- constants, of other tiles, of registers, turned over, rows and slabs of it.
--
--   local shares = require "gen.shares"
--   local case = shares.make(seed)                  -- the same for a seed
--   local k = case.kernel(weir)                     -- a kernel of one task; raises where the API refuses it
--   local args, wanted = case.launch()              -- what to launch it with, and the tensors that must come out: name = list
--
-- Numbers are whole and small. Each op reads all it takes before it writes, as the author would have it.
local numbers = require "gen.numbers"
local shares = {}

local shapes = { { 32, 32 }, { 16, 64 }, { 3, 8, 20 }, { 3, 8, 16 }, { 4, 16, 64 }, { 2, 64, 64 }, { 64, 64 }, { 2, 8, 12 }, { 128, 64 }, { 2, 128, 64 }, { 8, 36 } }

function shares.make(seed)
  local d = numbers.dice(seed)
  local case = { seed = seed, text = {} }
  local shape = d.one(shapes)
  local rank, rows = #shape, 1
  for i = 1, #shape - 1 do rows = rows * shape[i] end
  local cols = shape[rank]
  local warps = d.one { 1, 1, 2, 4, 4, 8 }
  local dtype = d.one { "f32", "f32", "bf16" }
  local registers = warps % 4 == 0 and cols == 64 and shape[rank - 1] % (16 * warps) == 0
  local half = registers and d.chance(70)
  local swizzle = dtype == "bf16" and cols == 64 and d.chance(50) and 128 or 0
  local kind = d.one { "bare", "bare", "staged", "ring" }
  local square = rank == 2 and rows == cols
  -- ops: { "store", place, source }, { "out", part }, { "set", part }; { "loop", trips, ops } ; places: nil, { slab = n | "i" }, { row, n }
  local function place(inside, stored)
    if rank == 3 then
      local r = d.range(1, 4)
      if r == 1 then return nil end
      if r == 2 and inside then return { slab = "i" } end
      if r == 3 and not half then
        local n = shape[2] // 2
        return { slab = d.range(0, shape[1] - 1), row = d.one { 0, n }, n = n }
      end
      return { slab = d.range(0, shape[1] - 1) }
    end
    if half or stored or d.chance(50) then return nil end
    local n = d.one { rows // 2, rows // 4 }
    return { row = d.range(0, rows // n - 1) * n, n = n }
  end
  local function extent(p) -- rows of a part
    if not p then return rows end
    return p.n or shape[rank - 1]
  end
  local used = {}
  local function source(p)
    local r, n = d.range(1, 6), extent(p)
    if r <= 2 then return { "const", d.range(1, 9) } end
    if r == 3 and registers and n == shape[rank - 1] and not (p and p.n) then used.r = true; return { "reg" } end
    if r == 4 then return { "index" } end
    if r == 5 and square and not p then return { "other", "t" } end
    return { "other", p and "part" or "whole" }
  end
  local count = 0
  local function ops(depth, inside, stores, reads)
    local out = {}
    for _ = 1, d.range(1, depth == 0 and 5 or 3) do
      local r = d.range(1, 10)
      count = count + 1
      if r <= 5 and stores then
        local p = place(inside, true)
        out[#out + 1] = { "store", p, source(p) }
      elseif r > 5 and r <= 7 and reads then
        local turned = square and d.chance(40)
        out[#out + 1] = { "out", not turned and d.chance(60) and place(inside) or nil, turned and "t" or nil }
      elseif r == 8 and registers and rank == 2 and reads then used.r = true; out[#out + 1] = { "set" }
      elseif r == 9 and stores and reads then out[#out + 1] = { "self", place(inside, true) }
      elseif r == 10 and depth < 1 and count < 9 then out[#out + 1] = { "loop", rank == 3 and shape[1] or 2, ops(depth + 1, true, stores, reads) } end
    end
    return out
  end
  local bare = kind == "bare"
  local list, later = ops(0, false, true, bare), bare and {} or ops(0, false, false, true)

  local function named(p) return not p and "all" or (p.slab and "slab " .. p.slab or "") .. (p.n and (" rows %d+%d"):format(p.row, p.n) or "") end
  local function describe(l)
    local out = {}
    for _, x in ipairs(l) do
      out[#out + 1] = x[1] == "loop" and ("loop %d { %s }"):format(x[2], describe(x[3]))
        or x[1] == "store" and ("store %s to %s"):format(table.concat(x[3], " "), named(x[2]))
        or ("%s %s%s"):format(x[1], named(x[2]), x[3] and " turned" or "")
    end
    return table.concat(out, "; ")
  end
  case.name = ("seed %d: %s {%s} of %d warps, %s%s%s: %s"):format(seed, dtype, table.concat(shape, ","), warps, kind, swizzle > 0 and ", swizzled" or "",
    half and ", in registers" or "", describe(list) .. (bare and "" or " || " .. describe(later)))

  function case.kernel(weir)
    local P = weir.pipeline
    local k = weir.kernel { name = "k", arch = "sm_90a" }
    local X = k:tensor { name = "X", dtype = dtype, shape = shape }
    local x = k:gmem_tile { name = "x", tensor = X, tile = shape }
    local pipe = kind == "staged" and P.async_tma { stages = 1 } or kind == "ring" and P.async_async { stages = 1 } or nil
    local s = k:smem_tile { name = "s", dtype = dtype, tile = shape, swizzle = swizzle, pipeline = pipe }
    local o = k:smem_tile { name = "o", dtype = dtype, tile = shape, swizzle = swizzle }
    local r = (used.r or half) and k:reg_tile { name = "r", dtype = "f32", tile = { shape[rank - 1], cols } }
    local outs, at0 = {}, {}
    for i = 1, rank do at0[i] = 0 end
    local function out(p, turned) -- each its own tensor: in a loop the last one counts
      local tile = turned and { cols, rows } or (p and { extent(p), cols }) or shape
      local t = k:tensor { name = "Y" .. #outs + 1, dtype = dtype, shape = tile, out = true }
      local g = k:gmem_tile { name = "y" .. #outs + 1, tensor = t, tile = tile }
      outs[#outs + 1] = { "Y" .. #outs + 1, tile }
      return g, { table.unpack(at0, 1, #tile) }
    end
    local function part(view, p, i)
      if not p then return view end
      if p.slab then view = view:sub(p.slab == "i" and i or p.slab) end
      if p.n then view = view:rows(p.row, p.n) end
      return view
    end
    local function value(q, p, i)
      if q[1] == "const" then return q[2] end
      if q[1] == "reg" then return r:read() end
      if q[1] == "index" then return i and i + 1 or 7 end
      if q[2] == "t" then return o:read():t() end
      return part(o:read(), p, i)
    end
    local function where(p, i)
      if not p then return nil end
      if p.slab then return part(s, { slab = p.slab, row = p.row, n = p.n }, i) end
      return s:read():rows(p.row, p.n)
    end
    local function run(l, i)
      for _, y in ipairs(l) do
        if y[1] == "loop" then for j in weir.domain_loop(0, y[2]) do run(y[3], j) end
        elseif y[1] == "store" then
          local to = where(y[2], i)
          if to then s:store(value(y[3], y[2], i), to) else s:store(value(y[3], nil, i)) end
        elseif y[1] == "out" then
          local g, at = out(y[2], y[3])
          local v = part(s:read(), y[2], i)
          if y[3] then v = v:t() end
          g:store(v, g:at(table.unpack(at)))
        elseif y[1] == "set" then r:set(s:read())
        elseif y[1] == "self" then
          local to = where(y[2], i)
          local v = part(s:read(), y[2], i) * 0 + 3
          if to then s:store(v, to) else s:store(v) end
        end
      end
    end
    local function keep() -- what the registers hold at the end
      if not used.r then return end
      outs[#outs + 1] = { "R", { shape[rank - 1], cols } }
      local t = k:tensor { name = "R", dtype = dtype, shape = outs[#outs][2], out = true }
      local g = k:gmem_tile { name = "r_out", tensor = t, tile = outs[#outs][2] }
      g:store(r:read(), g:at(0, 0))
    end
    k:task { name = "t", warps = { 0, warps }, schedule = function()
      o:store(x:at(table.unpack(at0)):load())
      if r then r:set(5) end
      if bare then s:store(1); run(list); return keep() end
      for _ in weir.domain_loop(0, 2) do
        s:acquire()
        s:store(1)
        run(list)
        s:commit(); s:wait()
        run(later)
        local g, at = out()
        if kind == "staged" then g:tma_store(s:read(), g:at(table.unpack(at))) else g:store(s:read(), g:at(table.unpack(at))) end
        s:release()
      end
      keep()
    end }
    case.outs = outs
    return k
  end

  -- What must come out: the ops one by one.
  function case.launch()
    local n, given, tile, reg = rows * cols, {}, {}, {}
    for i = 1, n do given[i] = (i * 7 + i // cols) % 61; tile[i] = 1 end
    for i = 1, shape[rank - 1] * cols do reg[i] = 5 end
    local wanted = {}
    local function range(p, i)
      local first = p and p.slab and (p.slab == "i" and i or p.slab) * shape[rank - 1] or 0
      return first + (p and p.row or 0), extent(p)
    end
    local function run(l, i, names)
      for _, y in ipairs(l) do
        local first, many = range(y[2] ~= nil and type(y[2]) == "table" and y[2] or nil, i)
        if y[1] == "loop" then
          local before = names.n
          for j = 0, y[2] - 1 do names.n = before; run(y[3], j, names) end
        elseif y[1] == "store" then
          local q = y[3]
          for e = 1, many * cols do
            local at = first * cols + e
            tile[at] = q[1] == "const" and q[2] or q[1] == "reg" and reg[(e - 1) % #reg + 1] or q[1] == "index" and (i and i + 1 or 7)
              or q[2] == "t" and given[(at - 1) % cols * cols + (at - 1) // cols + 1] or given[at]
          end
        elseif y[1] == "out" then
          names.n = names.n + 1
          local list_ = {}
          for e = 1, many * cols do
            local at = first * cols + e
            if y[3] then list_[(e - 1) % cols * rows + (e - 1) // cols + 1] = tile[at] else list_[e] = tile[at] end
          end
          wanted["Y" .. names.n] = list_
        elseif y[1] == "set" then for e = 1, #reg do reg[e] = tile[e] end
        elseif y[1] == "self" then for e = 1, many * cols do tile[first * cols + e] = 3 end
        end
      end
    end
    local names = { n = 0 }
    for _ = 1, bare and 1 or 2 do
      names.n = 0
      if not bare then for i = 1, n do tile[i] = 1 end end
      run(list, nil, names)
      run(later, nil, names)
    end
    if kind ~= "bare" then wanted["Y" .. names.n + 1] = { table.unpack(tile) } end
    if used.r then wanted.R = reg end
    return { X = { dtype = dtype, shape = shape, data = given } }, wanted, dtype
  end
  return case
end

return shares
