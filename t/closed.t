#!/usr/bin/env lua5.4
-- What a handle needs is closed under it: every use of it raises or says so, none reaches into memory that is gone. So that a read of
-- such memory shows, glibc overwrites what is freed.
local tap = require "tap"
if not os.getenv "MALLOC_PERTURB_" then
  local i = 0
  while arg[i - 1] do i = i - 1 end
  local ok, how, code = os.execute(("MALLOC_PERTURB_=165 '%s' '%s'"):format(arg[i], arg[0]))
  if not ok then print(("the run ended by %s %d"):format(how, code)) end
  os.exit(ok and 0 or 1)
end
local weir = require "weir"

local function make()
  local h = {}
  h.dev = weir.device "sim"
  local k = weir.kernel { name = "twice", arch = "sm_90a" }
  h.kernel, h.N = k, k:dim "N"
  h.tensor = k:tensor { name = "X", dtype = "f32", shape = { h.N } }
  local out = k:tensor { name = "Y", dtype = "f32", shape = { h.N }, out = true }
  h.gmem, h.queue = k:gmem_tile { name = "gx", tensor = h.tensor, tile = { 64 } }, k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(h.N, 64) } }
  local gy = k:gmem_tile { name = "gy", tensor = out, tile = { 64 } }
  h.smem = k:smem_tile { name = "s", dtype = "f32", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = 2 } }
  h.cta = k.cta
  k:task { name = "in", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(h.queue) do h.tile = t; h.smem:acquire(); h.smem:store(h.gmem:at(t.i):load() * 2); h.smem:commit(); h.queue:next() end end }
  k:task { name = "out", warps = { 1, 1 }, schedule = function()
    for t in weir.work_tile_loop(h.queue) do h.smem:wait(); h.view = h.smem:read(); gy:store(h.view:load(), gy:at(t.i)); h.smem:release(); h.queue:next() end end }
  h.program = k:build { device = h.dev }
  h.report = h.program.report
  h.x, h.y = h.dev:tensor { dtype = "f32", shape = { 100 } }:fill(1), h.dev:tensor { dtype = "f32", shape = { 100 } }
  h.bound = h.program:bind({ X = h.x, Y = h.y }, { grid = 1 })
  h.timeline = h.program:trace({ X = h.x, Y = h.y }, { grid = 1 })
  return h
end

-- Methods and fields of each handle; what takes arguments gets some that would do.
local uses = {
  dev = { "tensor", "sync", "explore", "findings", "name", "is_sim", "seed", "sms" },
  kernel = { "dim", "scalar", "tensor", "verify", "build", "print", "source", "dot", "smem_layout", "barrier_layout", "schedule_table", "name", "cta", "arch" },
  N = { "kind", "dtype", "uniform", "map" }, view = { "load", "rows", "cols", "t", "row_sum", "kind", "shape" },
  tensor = { "name", "dtype", "shape" }, gmem = { "at", "from", "store", "name", "tile", "tensor" }, queue = { "next", "fetch", "wait", "name" },
  smem = { "acquire", "commit", "wait", "release", "read", "store", "pipeline", "barriers", "name" },
  cta = { "v", "m", "rank" }, tile = { "i", "skippable" },
  program = { "launch", "time", "trace", "explore", "bind", "source", "full_source", "log", "ptx", "times", "name", "report", "kernel" },
  report = { "ok", "findings", "proof" }, bound = { "launch", "set_address" }, timeline = { "spans", "unit", "complete", "svg" },
  x = { "get", "set", "fill", "copy", "randn", "dtype", "shape", "stride", "address", "rank", "device" },
}
local function arguments(h, handle, key)
  if handle == "dev" and key == "tensor" then return { dtype = "f32", shape = { 4 } } end
  if handle == "dev" and key == "explore" then return { seeds = 1 } end
  if handle == "program" then return { X = h.x, Y = h.y }, { grid = 1 } end
  if key == "set_address" then return "X", h.x end
  if key == "svg" then return os.tmpname() end
  if key == "set" then return ("x"):rep(400) end
  if key == "at" or key == "from" or key == "fill" or key == "row_sum" then return 1 end
  if key == "rows" or key == "cols" then return 0, 1 end
  if key == "map" then return weir.exp end
  if key == "print" then return "launch" end
  if key == "dim" or key == "scalar" then return "Q" end
end
-- Uses h[handle] in every way, and calls each(key, ok, message).
local function use(h, handle, each)
  tap.ok(#tostring(h[handle]) > 0, handle .. " has a text")
  for _, key in ipairs(uses[handle]) do
    local ok, got = pcall(function() return h[handle][key] end)
    if ok and type(got) == "function" then
      ok, got = pcall(got, h[handle], arguments(h, handle, key))
    end
    each(key, ok, got)
  end
end

-- handle -> what is not to work once this is closed; the rest may.
local dead = {
  x = { bound = { "launch" }, program = { "launch", "bind", "trace" }, x = { "get", "set", "fill", "copy", "dtype", "address" } },
  program = { bound = { "launch", "set_address" }, program = { "launch", "bind", "source" } },
  kernel = { bound = { "launch", "set_address" }, program = { "launch", "bind", "source", "trace" }, N = { "kind", "map" }, view = { "load", "rows" },
    smem = { "acquire", "read", "pipeline" }, tile = { "i", "skippable" }, cta = { "v" }, kernel = { "dim", "build", "print" } },
  dev = { bound = { "launch", "set_address" }, program = { "launch", "bind" }, x = { "get", "fill", "address" }, dev = { "tensor", "sync", "name" } },
}
local texts = { x = "closed", program = "closed", kernel = "closed", dev = "closed" }
for _, closed in ipairs { "x", "program", "kernel", "dev", "bound", "timeline" } do
  local h = make()
  h[closed]:close()
  for handle in pairs(uses) do
    local wrong
    use(h, handle, function(key, ok, message)
      for _, k in ipairs(dead[closed] and dead[closed][handle] or {}) do
        if k ~= key then goto next end
        if ok then wrong = key .. " works" elseif not tostring(message):find(texts[closed], 1, true) then wrong = key .. ": " .. tostring(message) end
        ::next::
      end
    end)
    tap.is(nil, wrong, ("%s closed: %s"):format(closed, handle))
  end
end

-- Handed to another kernel, what is of a closed one raises, too.
do
  local h = make()
  h.kernel:close()
  local k = weir.kernel { name = "other", arch = "sm_90a" }
  local M = k:dim "M"
  local y = k:tensor { name = "Y", dtype = "f32", shape = { M }, out = true }
  local g = k:gmem_tile { name = "g", tensor = y, tile = { 64 } }
  local function inside(f) return function() local ok, e; k:task { name = "t", warps = { 0, 1 }, schedule = function() ok, e = pcall(f); g:store(1.0, g:at(0)) end } if not ok then error(e, 0) end end end
  for name, f in pairs { value = function() return M + h.N end, ["a value in a shape"] = function() k:tensor { name = "Z", dtype = "f32", shape = { h.N } } end,
    tensor = function() k:gmem_tile { name = "z", tensor = h.tensor, tile = { 64 } } end, ["a tile as storage"] = function() k:smem_tile { name = "s2", dtype = "f32", tile = { 64 }, storage = h.smem } end,
    queue = inside(function() for _ in weir.work_tile_loop(h.queue) do g:store(1.0, g:at(0)) end end), view = inside(function() g:store(h.view, g:at(0)) end),
    tile = inside(function() g:store(1.0, h.tile) end), ["a member"] = function() k:group { name = "gr", members = { h.smem } } end,
    ["an edge"] = function() k:depends { { h.smem, { g } } } end, ["a condition"] = inside(function() for _ in weir.when_true(h.N) do g:store(1.0, g:at(0)) end end),
    ["a bound tensor"] = function() k:resource { name = "r", space = "gmem", bind = { x = h.tensor } } end, ["a queue over a tensor"] = function() k:work_queue { name = "q", over = h.tensor, tile = { 64 } } end, alias = function() k:alias { { h.smem }, { h.smem } } end } do
    tap.raises("closed", f, "of a closed kernel: " .. name)
    k = weir.kernel { name = "other", arch = "sm_90a" }
    M = k:dim "M"
    y = k:tensor { name = "Y", dtype = "f32", shape = { M }, out = true }
    g = k:gmem_tile { name = "g", tensor = y, tile = { 64 } }
  end
end

-- A binding keeps its tensors: the caller's table may change, and what it held be collected.
do
  local h = make()
  local args = { X = h.dev:tensor { dtype = "f32", shape = { 100 } }:fill(3), Y = h.y }
  local b = h.program:bind(args, { grid = 1 })
  args.X = nil
  collectgarbage() collectgarbage()
  tap.ok(b:launch(), "the table of arguments emptied after the binding")
  tap.is(6.0, h.y:get()[100], "  the tensor that was in it is read")
  -- Closed, exchanged, closed again: each is told by name, and the rest can be mended.
  h.y:close()
  tap.raises("kernel 'twice': tensor 'Y' was closed after it was bound; give the binding another one (set_address), or bind again", function() b:launch() end, "an output closed")
  local x, y = h.dev:tensor { dtype = "f32", shape = { 100 } }:fill(4), h.dev:tensor { dtype = "f32", shape = { 100 } }
  tap.is({ true, true, true }, { b:set_address("X", x), b:set_address("Y", y), b:launch() }, "other tensors for both")
  tap.is(8.0, y:get()[1], "  they are read and written")
  x:close()
  tap.raises("tensor 'X' was closed", function() b:launch() end, "an input closed")
  -- A launch whose tensors are those of the last one, at the same addresses even, binds anew.
  for i = 1, 20 do
    local t = h.dev:tensor { dtype = "f32", shape = { 100 } }:fill(i)
    if not h.program:launch({ X = t, Y = y }, { grid = 1 }) or y:get()[7] ~= 2.0 * i then tap.ok(false, "a tensor made where another one was: " .. i) end
    t:close()
  end
end

tap.done()
