-- Random edits of any kernel, as its author could make them by mistake: a statement of a schedule left out, said twice, moved behind others,
-- in or out of a loop or a guard; an argument changed or left out; a loop's bounds, a guard, lanes; stages, warps, types of pipelines,
-- modes of groups, kinds of queues. Not on the plan (gen.mutants does that): what is edited is captured, checked and planned as any script.
--
--   local edits = require "gen.edits"
--   local seen = edits.watch(function() return make() end)          -- what make() says to weir, as a list of events
--   local list = edits.draw(dice, seen, 2)                          -- two edits: { { at = event, what = "drop" }, ... }
--   local ok, kernel = pcall(edits.apply, list, make)               -- make() with the edits
--   edits.text(seen, list)                                          -- "drop 17 ring:commit; ..."
local weir = require "weir"

local edits = {}

-- Statements of schedules: what an author writes for its effect.
local statements = {}
for name in ("acquire commit wait release try_wait try_acquire tma_load cp_async store set zero mma drain tma_store tma_reduce_add push next fetch "
  .. "wait_griddep launch_griddep"):gmatch "%S+" do statements[name] = true end
-- What gives values, with numbers among its arguments.
local values = {}
for name in ("at from read sub rows cols limit t load row_max row_sum row_min"):gmatch "%S+" do values[name] = true end
local guards = { first_iter = true, last_iter = true, every = true, skippable = true }
local declarations = {}
for name in ("task smem_tile wgmma_tile reg_tile tmem_tile gmem_tile group work_queue alias barrier resource"):gmatch "%S+" do declarations[name] = true end

local run            -- of one capture: { n, seen, edits = { [n] = edit }, held = { { n, call } }, depth }

local function spell(x)
  local kind = type(x)
  if kind == "number" then return tostring(x) end
  if kind == "table" then return "{..}" end
  return tostring(x):gsub("\n.*", ""):sub(1, 40)
end

-- A new event; the edit that is meant for it.
local function event(kind, name, ...)
  run.n = run.n + 1
  local args = table.pack(...)
  local e = { n = run.n, kind = kind, name = name, count = args.n, args = args, depth = run.depth }
  if run.seen then
    local words = {}
    for i = 1, args.n do words[i] = spell(args[i]) end
    e.text = ("%s(%s)"):format(name, table.concat(words, ", "))
    e.types = {}
    for i = 1, args.n do
      local x = args[i]
      e.types[i] = math.type(x) == "integer" and "integer" or type(x) == "table" and "table" or type(x) == "userdata" and "value" or type(x)
    end
    e.args = nil
    run.seen[run.n] = e
  end
  return run.edits[run.n], e
end

-- Statements held back that are due now: those that were to wait for `what` no longer.
local function due()
  local left, now = {}, {}
  for _, h in ipairs(run.held) do
    h.left = h.left - 1
    if h.left <= 0 then now[#now + 1] = h else left[#left + 1] = h end
  end
  run.held = left
  for _, h in ipairs(now) do h.call() end
end

local function changed_args(edit, args)
  if not edit or edit.what ~= "argument" then return args end
  local out = table.pack(table.unpack(args, 1, args.n))
  local i = edit.index
  if edit.to == "none" then
    table.remove(out, i)
    out.n = out.n - 1
  elseif edit.to == "nil" then out[i] = nil
  elseif edit.to == "zero" then out[i] = 0
  elseif type(edit.to) == "number" then out[i] = out[i] + edit.to
  elseif edit.to == "swap" then out[i], out[i + 1] = out[i + 1], out[i]
  end
  return out
end

local function call(f, args) return f(table.unpack(args, 1, args.n)) end

local function statement(f, name)
  return function(self, ...)
    local args = table.pack(self, ...)
    if not run then return call(f, args) end
    local edit = event("statement", name, self, ...)
    local result
    if not edit then result = table.pack(call(f, args))
    elseif edit.what == "drop" then result = { n = 0 }
    elseif edit.what == "twice" then call(f, args); result = table.pack(call(f, args))
    elseif edit.what == "later" then
      due()
      run.held[#run.held + 1] = { left = edit.by, call = function() call(f, args) end }
      return
    elseif edit.what == "other" then result = table.pack(self[edit.name](table.unpack(args, 1, args.n)))
    elseif edit.what == "again" then
      call(f, args)
      run.held[#run.held + 1] = { left = edit.by + 1, call = function() call(f, args) end }
      result = { n = 0 }
    else result = table.pack(call(f, changed_args(edit, args)))
    end
    due()
    return table.unpack(result, 1, result.n)
  end
end

local function value(f, name)
  return function(...)
    if not run then return f(...) end
    local edit = event("value", name, ...)
    return call(f, changed_args(edit, table.pack(...)))
  end
end

-- An iterator of one or more rounds, with events where its body begins and ends.
local function iterator(kind, name, make, once)
  return function(...)
    if not run then return make(...) end
    local edit = event(kind, name, ...)
    local args = changed_args(edit, table.pack(...))
    if edit and edit.what == "unguarded" and once then
      local went = false
      return function()
        if went then return nil end
        went = true
        return true
      end
    end
    local f, s, c, close
    if edit and edit.what == "other" then
      if edit.on_weir then f, s, c, close = weir["plain_" .. edit.name](table.unpack(args, 1, args.n))
      else f, s, c, close = args[1][edit.name](table.unpack(args, 1, args.n)) end
    else f, s, c, close = make(table.unpack(args, 1, args.n)) end
    local inside = false
    local function stepper(state, control)
      if inside then
        event("end", "end of " .. name)
        due()
        run.depth = run.depth - 1
      end
      local packed = table.pack(f(state, control))
      if packed[1] ~= nil and not inside then
        inside = true
        run.depth = run.depth + 1
        event("begin", "begin of " .. name)
        due()
      end
      return table.unpack(packed, 1, packed.n)
    end
    return stepper, s, c, close
  end
end

local function declaration(f, name)
  return function(self, d, ...)
    if not run or type(d) ~= "table" then return f(self, d, ...) end
    local keys = {}
    for key, x in pairs(d) do keys[#keys + 1] = key; if type(x) == "table" and key ~= "tile" and key ~= "warps" then keys[#keys] = nil end end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    local edit, e = event("declaration", name, d.name)
    if run.seen then
      e.keys, e.given = keys, {}
      for _, key in ipairs(keys) do e.given[key] = d[key] end
    end
    if not edit then return f(self, d, ...) end
    local c = {}
    for key, x in pairs(d) do c[key] = x end
    if edit.what == "without" then c[edit.key] = nil
    elseif edit.what == "number" then
      if edit.index then
        c[edit.key] = table.move(d[edit.key], 1, #d[edit.key], 1, {})
        c[edit.key][edit.index] = edit.to
      else c[edit.key] = edit.to end
    elseif edit.what == "missing" then return nil end
    return f(self, c, ...)
  end
end

local patched
local function patch(make_resource, make_kernel, make_value)
  if patched then return end
  patched = true
  for _, name in ipairs { "domain_loop", "work_tile_loop", "when_true", "when_false", "previous_tile", "last_tile" } do
    local plain = weir[name]
    weir["plain_" .. name] = plain
    weir[name] = iterator(name:find "loop" and "loop" or "guard", name, plain, not name:find "loop" and not name:find "tile")
  end
  for name, make in pairs(weir.pipeline) do
    weir.pipeline[name] = function(d, ...)
      if not run or type(d) ~= "table" then return make(d, ...) end
      local edit, e = event("pipeline", name, d.stages)
      if run.seen then e.stages = d.stages end
      if not edit then return make(d, ...) end
      local c = {}
      for key, x in pairs(d) do c[key] = x end
      if edit.what == "number" then c.stages = edit.to end
      if edit.what == "kind" then return weir.pipeline_plain[edit.to](c, ...) end
      return make(c, ...)
    end
  end
  -- objects of each class, for their metatables
  local function index(meta, wrap)
    local plain = meta.__index
    meta.__index = function(self, key)
      local f = type(plain) == "table" and plain[key] or type(plain) ~= "table" and plain(self, key) or nil
      if type(f) ~= "function" or not run then return f end
      return wrap(f, key)
    end
  end
  index(make_kernel, function(f, key) return declarations[key] and declaration(f, key) or f end)
  index(make_resource, function(f, key)
    return statements[key] and statement(f, key) or values[key] and value(f, key) or f
  end)
  index(make_value, function(f, key)
    return guards[key] and iterator("guard", key, f, true) or values[key] and value(f, key) or f
  end)
end

-- Metatables are hidden from scripts; the debug library shows them.
function edits.install()
  if patched then return end
  weir.pipeline_plain = {}
  for name, make in pairs(weir.pipeline) do weir.pipeline_plain[name] = make end
  local k = weir.kernel { name = "edits", arch = "sm_90a" }
  local n = k:dim "n"
  local b = k:reg_tile { name = "b", dtype = "f32", tile = { 64, 8 } }
  patch(debug.getmetatable(b), debug.getmetatable(k), debug.getmetatable(n))
  k:close()
end

local function capture(seen, list, make)
  edits.install()
  run = { n = 0, seen = seen, edits = {}, held = {}, depth = 0 }
  for _, e in ipairs(list) do run.edits[e.at] = e end
  local ok, result = pcall(make)
  local done = run
  run = nil
  if not ok then error(result, 0) end
  return result, done
end

function edits.watch(make)
  local seen = {}
  local kernel = capture(seen, {}, make)
  return seen, kernel
end

function edits.apply(list, make) return (capture(nil, list, make)) end

local others = {
  acquire = { "commit", "wait" }, commit = { "release", "acquire" }, wait = { "acquire", "release", "try_wait" }, release = { "commit", "wait" },
  first_iter = { "last_iter" }, last_iter = { "first_iter" }, tma_store = { "tma_reduce_add" }, tma_reduce_add = { "tma_store" },
  set = nil,
}

-- One edit of an event; nil: none fits.
local function one(d, e)
  if e.kind == "statement" then
    local pick = d(12)
    if pick <= 2 then return { what = "drop" } end
    if pick == 3 then return { what = "twice" } end
    if pick <= 6 then return { what = "later", by = d.one { 1, 1, 1, 2, 2, 3, 4, 6 } } end
    if pick == 7 then return { what = "again", by = d.one { 1, 2, 3 } } end
    if pick == 8 and others[e.name] then return { what = "other", name = d.one(others[e.name]) } end
    for i = 2, e.count do
      if e.types[i] == "integer" then return { what = "argument", index = i, to = d.one { 1, -1, "none" } } end
      if e.types[i] == "table" then return { what = "argument", index = i, to = "none" } end
    end
    return { what = "later", by = 1 }
  elseif e.kind == "value" then
    if e.count < 2 then return nil end
    local i = d.range(2, e.count)
    if e.types[i] == "integer" then return { what = "argument", index = i, to = d.one { 1, -1, 8, -8, "none", "zero" } } end
    if e.types[i] == "value" then return { what = "argument", index = i, to = d.one { 1, -1, "none", "zero", i < e.count and "swap" or "zero" } } end
    return nil
  elseif e.kind == "guard" then
    if others[e.name] and d.chance(40) then return { what = "other", name = d.one(others[e.name]) } end
    if e.name == "when_true" and d.chance(50) then return { what = "other", on_weir = true, name = "when_false" } end
    if e.name == "when_false" and d.chance(50) then return { what = "other", on_weir = true, name = "when_true" } end
    if e.name == "previous_tile" then return { what = "other", on_weir = true, name = "last_tile" } end
    if e.name == "last_tile" then return { what = "other", on_weir = true, name = "previous_tile" } end
    if e.name == "every" then return { what = "argument", index = d.range(2, math.max(2, e.count)), to = d.one { 1, -1 } } end
    return { what = "unguarded" }
  elseif e.kind == "loop" then
    if e.name == "work_tile_loop" then return { what = "argument", index = 2, to = "nil" } end
    local i = d.range(1, e.count)
    if e.types[i] == "integer" or e.types[i] == "value" then return { what = "argument", index = i, to = d.one { 1, -1 } } end
  elseif e.kind == "pipeline" then
    if d.chance(60) then return { what = "number", to = math.max(1, e.stages + d.one { 1, -1, 2 }) } end
    return { what = "kind", to = d.one { "tma_async", "async_async", "async_tma", "tma_umma", "async_umma" } }
  elseif e.kind == "declaration" then
    if #e.keys == 0 then return nil end
    local key = d.one(e.keys)
    local x = e.given[key]
    if key == "warps" then
      local i = d(2)
      return { what = "number", key = key, index = i, to = math.max(0, x[i] + d.one { 1, -1, 4, -4 }) }
    elseif key == "tile" then
      local i = d.range(1, #x)
      if math.type(x[i]) ~= "integer" then return nil end
      return { what = "number", key = key, index = i, to = d.one { x[i] // 2, x[i] * 2, x[i] + 8 } }
    elseif key == "mode" then return { what = "number", key = key, to = d.one { "merge", "fused_merge", "fork" } }
    elseif key == "kind" then return { what = "number", key = key, to = d.one { "static", "grid", "atomic" } }
    elseif key == "swizzle" then return { what = "number", key = key, to = d.one { 0, 32, 64, 128 } }
    elseif key == "name" or key == "schedule" or key == "dtype" then return nil
    elseif math.type(x) == "integer" then return { what = "number", key = key, to = x + d.one { 1, -1 } }
    else return { what = "without", key = key } end
  end
  return nil
end

function edits.draw(d, seen, many)
  local list, taken, tries = {}, {}, 0
  while #list < many and tries < 200 do
    tries = tries + 1
    local e = seen[d(#seen)]
    local x = not taken[e.n] and one(d, e)
    if x then
      x.at = e.n
      taken[e.n] = true
      list[#list + 1] = x
    end
  end
  return list
end

function edits.text(seen, list)
  local out = {}
  for i, e in ipairs(list) do
    local words = {}
    for key, x in pairs(e) do if key ~= "at" and key ~= "what" then words[#words + 1] = key .. "=" .. tostring(x) end end
    table.sort(words)
    out[i] = ("%d %s: %s %s"):format(e.at, seen[e.at].text, e.what, table.concat(words, " "))
  end
  return table.concat(out, "; ")
end

return edits
