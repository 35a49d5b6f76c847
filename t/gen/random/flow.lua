-- Random programs of one warpgroup over register tiles of whole numbers: what is read is used at once, later, in loops and guards, while
-- the tiles change; row sums and parts of rows, tiles of one and four columns, loops up and down, scalars. See t/gen/kernels.lua.
local weir = require "weir"
local numbers = require "gen.numbers"

local function wrap(x) return numbers.wrap("i32", x) end

-- ---- what a program is -----------------------------------------------------------------------------------------------------------
-- A value: { kind, of... } of the names in the environment; cols is how many columns it has. A statement: { kind, ... } likewise.

local function draw(d)
  local o = { wgs = d.one { 1, 1, 2 }, frags = d.one { 1, 1, 2 }, cols = 8 * d.range(1, 3) }
  o.rows = 64 * o.wgs * o.frags
  o.tiles = {}
  for i = 1, d.range(2, 3) do o.tiles[i] = { name = "r" .. i, cols = o.cols } end
  o.tiles[#o.tiles + 1] = { name = "one", cols = 1 }
  if d.chance(40) then o.tiles[#o.tiles + 1] = { name = "four", cols = 4 } end
  local names, loops = 0, 0
  local function of_cols(list, cols)
    local fit = {}
    for _, x in ipairs(list) do if x.cols == cols then fit[#fit + 1] = x end end
    return #fit > 0 and d.one(fit) or nil
  end
  -- an expression of `cols` columns of the values in scope (which know their columns) and the indices of open loops
  local expr
  local function leaf(scope, cols, open)
    local which = d(10)
    if which <= 6 then
      local v = of_cols(scope, cols) or (cols > 1 and of_cols(scope, 1))
      if v then return { "v", v.name, cols = v.cols } end
    end
    if which == 7 and #open > 0 then return { "index", d.one(open), cols = 1, scalar = true } end
    if which == 8 then return { "row", cols = 1 } end
    if which == 9 and cols == o.cols then return { "col", cols = cols } end
    if which == 10 then return { "s", cols = 1, scalar = true } end
    return { "n", d.one { d.range(-9, 9), d.range(-9, 9), 2147483647, -2147483648, 1103515245, 65537 }, cols = 1, scalar = true }
  end
  expr = function(scope, cols, open, depth)
    if depth <= 0 then return leaf(scope, cols, open) end
    local which = d(12)
    if which == 1 and cols == 1 then
      local v = of_cols(scope, o.cols) or of_cols(scope, 4)
      if v then return { d.one { "row_sum", "row_max", "row_min" }, { "v", v.name, cols = v.cols }, 1, cols = 1 } end
    end
    if which == 1 and cols == 4 then
      local v = of_cols(scope, o.cols)
      if v then return { "row_sum", { "v", v.name, cols = v.cols }, 4, cols = 4 } end
    end
    local a, b = expr(scope, cols, open, depth - 1), expr(scope, cols, open, depth - 1)
    if a.scalar and b.scalar then return a end
    local wide = math.max(a.cols, b.cols)
    if which == 2 then
      local c = expr(scope, cols, open, depth - 1)
      return { "select", d.one { "lt", "le", "eq", "ne" }, a, b, c, d.range(-3, 3), cols = math.max(wide, c.cols) }
    end
    if which == 3 then return { d.one { "//", "%", "ceil" }, a.scalar and b or a, d.one { 2, 3, 7, 10, -3, -1, 100 }, cols = a.scalar and b.cols or a.cols } end
    if which == 4 then return { d.one { "neg", "abs" }, a.scalar and b or a, cols = a.scalar and b.cols or a.cols } end
    return { d.one { "+", "+", "-", "*", "min", "max" }, a, b, cols = wide }
  end
  local function body(scope, open, depth, length)
    scope = table.move(scope, 1, #scope, 1, {})
    local list = {}
    for _ = 1, length do
      local which = d(12)
      if which <= 4 then
        local t = d.one(o.tiles)
        names = names + 1
        local v = { name = "v" .. names, cols = t.cols }
        list[#list + 1] = { "read", v.name, t }
        scope[#scope + 1] = v
      elseif which == 5 and #scope > 0 then
        local cols = d.one(o.tiles).cols
        local e = expr(scope, cols, open, 2)
        if not e.scalar then
          names = names + 1
          local v = { name = "v" .. names, cols = e.cols }
          list[#list + 1] = { "let", v.name, e }
          scope[#scope + 1] = v
        end
      elseif which <= 9 then
        local t = d.one(o.tiles)
        local e = expr(scope, t.cols, open, d.range(0, 3))
        if e.cols == 4 and t.cols ~= 4 or e.cols > t.cols then e = { "n", d.range(-9, 9), cols = 1, scalar = true } end
        list[#list + 1] = d.chance(8) and { "zero", t } or { "set", t, e }
      elseif depth > 0 and which <= 11 then
        loops = loops + 1
        local i = "i" .. loops
        local start, count, step = d.range(-3, 4), d.range(1, 3), d.one { 1, 1, 2, 3, -1, -2 }
        local inner = table.move(open, 1, #open, 1, {})
        inner[#inner + 1] = i
        list[#list + 1] = { "loop", i, start, start + count * step, step, body(scope, inner, depth - 1, d.range(1, 4)), by = d.one { "number", "number", "scalar" }, count = count,
          unroll = d.chance(20) and 2 or nil }
      elseif #open > 0 then
        list[#list + 1] = { "guard", d.one { "true", "false", "first_iter", "last_iter", "every" }, d.one(open), d.range(-3, 6), body(scope, open, 0, d.range(1, 2)) }
      end
    end
    return list
  end
  o.body = body({}, {}, 2, d.range(5, 10))
  return o
end

-- ---- as weir records it ------------------------------------------------------------------------------------------------------------

local function count_of(list, kind)
  local n = 0
  for _, s in ipairs(list) do
    if s[1] == kind then n = n + 1 end
    for _, x in ipairs(s) do if type(x) == "table" and type(x[1]) == "table" then n = n + count_of(x, kind) end end
  end
  return n
end

local function record(o, env, tiles, s)
  local value
  value = function(e)
    local k = e[1]
    if k == "v" then return env[e[2]] end
    if k == "index" then return env[e[2]] end
    if k == "row" then return tiles.r1:row_index() end
    if k == "col" then return tiles.r1:col_index() end
    if k == "s" then return s end
    if k == "n" then return e[2] end
    if k == "row_sum" or k == "row_max" or k == "row_min" then local v = value(e[2]) return v[k](v, e[3]) end
    if k == "select" then return weir.select(weir[e[2]](value(e[3]), e[6]), value(e[4]), value(e[5])) end
    if k == "//" then return value(e[2]) // e[3] end
    if k == "%" then return value(e[2]) % e[3] end
    if k == "ceil" then return weir.ceil_div(value(e[2]), e[3]) end
    if k == "neg" then return -value(e[2]) end
    if k == "abs" then return weir.abs(value(e[2])) end
    local a, b = value(e[2]), value(e[3])
    if k == "+" then return a + b elseif k == "-" then return a - b elseif k == "*" then return a * b end
    return weir[k](a, b)
  end
  local function run(list)
    for _, x in ipairs(list) do
      local k = x[1]
      if k == "read" then env[x[2]] = tiles[x[3].name]:read()
      elseif k == "let" then env[x[2]] = value(x[3])
      elseif k == "zero" then tiles[x[2].name]:zero()
      elseif k == "set" then tiles[x[2].name]:set(value(x[3]))
      elseif k == "loop" then
        local stop = x[4]
        if x.by == "scalar" then stop = x[4] - 5 + s end     -- s is 5
        for i in weir.domain_loop(x[3], stop, x[5], { unroll = x.unroll }) do
          env[x[2]] = i
          run(x[6])
        end
      else
        local i = env[x[3]]
        local function guarded() run(x[5]) end
        if x[2] == "true" then for _ in weir.when_true(weir.lt(i, x[4])) do guarded() end
        elseif x[2] == "false" then for _ in weir.when_false(weir.lt(i, x[4])) do guarded() end
        elseif x[2] == "every" then for _ in i:every(2, x[4] > 1 and 1 or nil) do guarded() end
        else for _ in i[x[2]](i) do guarded() end
        end
      end
    end
  end
  run(o.body)
end

-- ---- as it is -----------------------------------------------------------------------------------------------------------------------
-- One row at a time; a tile or value is a list of its columns. Four columns are those of a quad's lanes: lane l has columns 8 j + 2 l, + 1.

local function simulate(o, row, tiles, s)
  local env, at = {}, {}
  local function get(v, c) return type(v) == "table" and (v[#v == 1 and 1 or c]) or v end
  local function each(cols, f)
    local out = {}
    for c = 1, cols do out[c] = wrap(f(c)) end
    return out
  end
  local value
  value = function(e)
    local k = e[1]
    if k == "v" or k == "index" then return env[e[2]] end
    if k == "row" then return { row } end
    if k == "col" then return each(o.cols, function(c) return c - 1 end) end
    if k == "s" then return s end
    if k == "n" then return e[2] end
    if k == "row_sum" or k == "row_max" or k == "row_min" then
      local v, out = value(e[2]), {}
      for c = 1, #v do
        local lane = e[3] == 1 and 1 or (c - 1) % 8 // 2 + 1
        if not out[lane] then out[lane] = v[c]
        elseif k == "row_sum" then out[lane] = wrap(out[lane] + v[c])
        else out[lane] = math[k:sub(5)](out[lane], v[c]) end
      end
      return out
    end
    if k == "select" then
      local a, b, c = value(e[3]), value(e[4]), value(e[5])
      return each(e.cols, function(i)
        local x, y = get(a, i), e[6]
        local yes = e[2] == "lt" and x < y or e[2] == "le" and x <= y or e[2] == "eq" and x == y or e[2] == "ne" and x ~= y
        return get(yes and b or c, i)
      end)
    end
    local a = value(e[2])
    if k == "//" then return each(e.cols, function(c) return get(a, c) // e[3] end) end
    if k == "%" then return each(e.cols, function(c) return get(a, c) % e[3] end) end
    if k == "ceil" then return each(e.cols, function(c) return -((-get(a, c)) // e[3]) end) end
    if k == "neg" then return each(e.cols, function(c) return -get(a, c) end) end
    if k == "abs" then return each(e.cols, function(c) return math.abs(get(a, c)) end) end
    local b = value(e[3])
    return each(e.cols, function(c)
      local x, y = get(a, c), get(b, c)
      if k == "+" then return x + y elseif k == "-" then return x - y elseif k == "*" then return x * y end
      return math[k](x, y)
    end)
  end
  local function run(list)
    for _, x in ipairs(list) do
      local k = x[1]
      if k == "read" then env[x[2]] = table.move(tiles[x[3].name], 1, x[3].cols, 1, {})
      elseif k == "let" then env[x[2]] = value(x[3])
      elseif k == "zero" then tiles[x[2].name] = each(x[2].cols, function() return 0 end)
      elseif k == "set" then
        local v = value(x[3])
        tiles[x[2].name] = each(x[2].cols, function(c) return get(v, c) end)
      elseif k == "loop" then
        for n = 0, x.count - 1 do
          env[x[2]] = x[3] + n * x[5]
          at[x[2]] = { n, x.count }
          run(x[6])
        end
      else
        local i, n = env[x[3]], at[x[3]]
        local yes
        if x[2] == "true" then yes = i < x[4] elseif x[2] == "false" then yes = i >= x[4]
        elseif x[2] == "first_iter" then yes = n[1] == 0
        elseif x[2] == "last_iter" then yes = n[1] == n[2] - 1
        else
          local from = x[4] > 1 and 1 or 0
          yes = n[1] >= from and (n[1] - from) % 2 == 0
        end
        if yes then run(x[5]) end
      end
    end
  end
  run(o.body)
end

return function(d, name)
  local o = draw(d)
  local case = { name = name, launches = {} }
  local words = {}
  for _, kind in ipairs { "read", "let", "set", "loop", "guard" } do words[#words + 1] = ("%d %s"):format(count_of(o.body, kind), kind) end
  case.text = ("%dx%d of %d warpgroups: %s"):format(o.rows, o.cols, o.wgs, table.concat(words, ", "))
  local count = o.rows * o.cols
  case.kernel = function()
    local k = weir.kernel { name = name, arch = "sm_90a" }
    local gx = k:gmem_tile { name = "gx", tensor = k:tensor { name = "X", dtype = "i32", shape = { o.rows, o.cols } }, tile = { o.rows, o.cols } }
    local s = k:scalar { name = "s", dtype = "i32" }
    local tiles, out = {}, {}
    for i, t in ipairs(o.tiles) do
      tiles[t.name] = k:reg_tile { name = t.name, dtype = "i32", tile = { o.rows, t.cols } }
      out[i] = k:gmem_tile { name = "g" .. t.name, tensor = k:tensor { name = "Y" .. i, dtype = "i32", shape = { o.rows, t.cols }, out = true }, tile = { o.rows, t.cols } }
    end
    k:task { name = "t", warps = { 0, 4 * o.wgs }, schedule = function()
      for i, t in ipairs(o.tiles) do
        if t.cols == o.cols then tiles[t.name]:set(gx:at(0, 0):load() * i) else tiles[t.name]:set(i) end
      end
      record(o, {}, tiles, s)
      for i, t in ipairs(o.tiles) do out[i]:store(tiles[t.name]:read(), out[i]:at(0, 0)) end
    end }
    return k
  end
  local data = numbers.integers(count, d(1000000), 50)
  local l = { args = { s = 5 }, size = "s = 5", grid = 1, tensors = { { name = "X", dtype = "i32", shape = { o.rows, o.cols }, data = data } } }
  for i, t in ipairs(o.tiles) do l.tensors[i + 1] = { name = "Y" .. i, dtype = "i32", shape = { o.rows, t.cols }, fill = 7, out = true } end
  l.wanted = function()
    local result = {}
    for i in ipairs(o.tiles) do result["Y" .. i] = { {} } end
    for row = 0, o.rows - 1 do
      local tiles = {}
      for i, t in ipairs(o.tiles) do
        tiles[t.name] = {}
        for c = 1, t.cols do tiles[t.name][c] = t.cols == o.cols and data[row * o.cols + c] * i or i end
      end
      simulate(o, row, tiles, 5)
      for i, t in ipairs(o.tiles) do
        for c = 1, t.cols do table.insert(result["Y" .. i][1], tiles[t.name][c]) end
      end
    end
    return result
  end
  case.launches[1] = l
  return case
end
