#!/usr/bin/env lua5.4
-- Programmatic dependent launches: what a kernel reads or writes before griddepcontrol.wait of what the launch before it writes or reads.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir = lab.weir
local cd = weir.ceil_div
local dev = weir.device("sim", { seed = 21 })

-- y = x + 1 by threads. o: wait = "first" | "inside"; launch = "first" | "last" (in the body: the proof refuses one before any wait);
-- early, code: of the body
local function add(name, o)
  local k = weir.kernel { name = name, arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "i32", shape = { N } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { cd(N, 128) } }
  local s = k:resource { name = "s", space = "gmem", bind = { x = X, y = Y }, work = { add = weir.producer_work { params = "i32 first",
    code = (o.launch == "first" and "w_grid_launch();" or "") .. (o.early or "") .. "\n" .. (o.wait == "inside" and "w_grid_wait();" or "") .. (o.code or "if (first + (i32)tid < y_shape[0]) y[first + tid] = x[first + tid] + 1;") .. (o.launch == "last" and "w_grid_launch();" or "") } } }
  k:task { name = "go", warps = { 0, 4 }, schedule = function()
    if o.wait == "first" then k:pdl_wait { name = "before" }:wait_griddep() end
    for t in weir.work_tile_loop(wq) do s:add(t.i * 128); wq:next() end
  end }
  return k:build { device = dev }
end

local function tensor(value) return dev:tensor { dtype = "i32", shape = { 700 } }:fill(value) end
local pdl = { pdl = true }
local function overlap(p, x, y, options) return p:launch({ x = x, y = y }, options or pdl) end

local first = add("first", { launch = "first" })          -- lets the next begin before it stores: PTX allows that
local closed = add("closed", {})                          -- never does
local waits = add("waits", { wait = "first", launch = "first" })
local blind = add("blind", { launch = "first" })

-- Runs a chain of { program, from, to } on tensors a to d, all dependent launches. Gives the tensors, what came of the last launch.
local function chain(list, options)
  local t = {}
  for _, name in ipairs { "a", "b", "c", "d" } do t[name] = tensor(name == "a" and 5 or 0) end
  local ok, message = true, nil
  for i, l in ipairs(list) do
    if not ok then break end
    ok, message = overlap(l[1], t[l[2]], t[l[3]], i > 1 and options or pdl)
  end
  return t, ok, tostring(message)
end
local function right(name, list, out, value, options)
  local t, ok, message = chain(list, options)
  tap.ok(ok, name .. ": no finding " .. message)
  if not ok then return end
  local wrong = 0
  for _, v in ipairs(t[out]:get()) do if v ~= value then wrong = wrong + 1 end end
  tap.is(0, wrong, name .. ": the numbers")
end
local function finds(name, list, ...)
  local _, ok, message = chain(list)
  if not tap.ok(not ok, name) then return end
  for _, part in ipairs { "[sim-pdl]", ... } do tap.like(part, message, name .. ": " .. part) end
end

right("a wait before the first read", { { first, "a", "b" }, { waits, "b", "c" } }, "c", 7)
finds("the wait left out", { { first, "a", "b" }, { blind, "b", "c" } }, "a load of 'x' byte", "which the launch before, 'first', writes (CTA ", "no griddepcontrol.wait stands before it", "t/sim/pdl.t:")
right("the wait left out, and no dependent launch", { { first, "a", "b" }, { blind, "b", "c" } }, "c", 7, {})
right("the wait left out behind a kernel that lets nobody begin", { { closed, "a", "b" }, { blind, "b", "c" } }, "c", 7)
right("nothing shared", { { first, "a", "b" }, { blind, "c", "d" } }, "d", 1)
finds("written before the one before has read it", { { first, "a", "b" }, { blind, "c", "a" } }, "a store to 'y' byte", "which the launch before, 'first', reads")
finds("written before the one before has written it", { { first, "a", "b" }, { blind, "c", "b" } }, "a store to 'y' byte", "which the launch before, 'first', writes")
right("the launch at the end", { { add("late", { launch = "last" }), "a", "b" }, { waits, "b", "c" } }, "c", 7)
finds("the wait behind the read", { { first, "a", "b" }, { add("behind", { early = "i32 v = first + (i32)tid < y_shape[0] ? x[first + tid] : 0;", wait = "inside",
  code = "if (first + (i32)tid < y_shape[0]) y[first + tid] = v + 1;" }), "b", "c" } }, "a load of 'x' byte")
right("the wait inside the body", { { first, "a", "b" }, { add("inside", { wait = "inside" }), "b", "c" } }, "c", 7)
finds("a wait by some threads that do not tell the others", { { first, "a", "b" }, { add("some", { early = "if (warp == 0) w_grid_wait();" }), "b", "c" } }, "a load of 'x' byte", "warp ")
right("a wait by some threads, then a barrier", { { first, "a", "b" }, { add("told", { early = "if (warp == 0) w_grid_wait(); task_sync();" }), "b", "c" } }, "c", 7)

-- three in a row
right("three that wait", { { first, "a", "b" }, { waits, "b", "c" }, { waits, "c", "d" } }, "d", 8)
finds("one between that does not wait", { { first, "a", "b" }, { blind, "c", "d" }, { waits, "b", "c" } }, "which the launch of 'first' writes", "no thread of the launch between, 'blind', has run griddepcontrol.wait")
right("one between that waits and shares nothing", { { first, "a", "b" }, { add("idle", { wait = "first", launch = "first" }), "c", "d" }, { waits, "b", "c" } }, "c", 7)
right("of two before the earlier one has ended", { { first, "a", "b" }, { waits, "a", "c" }, { blind, "b", "d" } }, "d", 7)
finds("one between that does not wait, and no wait", { { first, "a", "b" }, { blind, "c", "d" }, { blind, "b", "c" } }, "which the launch of 'first' writes")

-- the host
local function host(name, between, options)
  local a, b, c = tensor(5), tensor(0), tensor(0)
  assert(overlap(first, a, b))
  between(b)
  local ok, message = overlap(blind, b, c, options)
  tap.is({ true }, { ok, message }, name)
end
host("dev:sync() between", function() dev:sync() end)
host("the host has read between", function(b) b:get() end)
host("a tensor made between", function() tensor(1) end)
host("another stream", function() end, { pdl = true, stream = 64 })

-- many seeds: each of the runs comes after the same launch
do
  local a, b, c = tensor(5), tensor(0), tensor(0)
  assert(overlap(first, a, b))
  tap.ok(waits:explore({ x = b, y = c }, { seeds = 4, pdl = true }), "explore: a kernel that waits")
  dev:sync()
  assert(overlap(first, a, b))
  local ok, message = blind:explore({ x = b, y = c }, { seeds = 4, pdl = true })
  tap.ok(not ok and tostring(message):find("[sim-pdl]", 1, true), "explore: one that does not")
end

-- copies: TMA and cp.async by one task, whose wait the others learn of through the pipeline
local function copy(name, o)
  local k = weir.kernel { name = name, arch = "sm_90a" }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "x", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "y", dtype = "f32", shape = { H, W }, out = true }
  local wq = k:work_queue { name = "wq", over = Y, tile = { 8, 64 } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 8, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 8, 64 } }
  local P = weir.pipeline
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 8, 64 }, pipeline = o.tma and P.tma_async { stages = 3 } or P.async_async { stages = 3, producer_op = "load" } }
  local before, after = k:pdl_wait { name = "before" }, k:pdl_launch { name = "after" }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    before:wait_griddep()
    for t in weir.work_tile_loop(wq) do
      ring:acquire()
      if o.tma then ring:tma_load(gx:at(t.m, t.n)) else ring:cp_async(gx:at(t.m, t.n)) end
      ring:commit()
      wq:next()
    end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    if o.launch then before:wait_griddep(); after:launch_griddep() end
    for t in weir.work_tile_loop(wq) do
      ring:wait(); gy:store(ring:read(), t); ring:release()
      wq:next()
    end
  end }
  local p = k:build { device = dev }
  if o.drop then
    local text, n = p:source():gsub("w_grid_wait%(%);", ";")
    assert(n >= 1)
    lab.plan.run_text(p, text)
  end
  return p
end
for _, tma in ipairs { true, false } do
  local what = tma and "TMA" or "cp.async"
  local one, two, bad = copy("one", { tma = tma, launch = true }), copy("two", { tma = tma }), copy("bad", { tma = tma, drop = true })
  local function run(second)
    local t = {}
    for i = 1, 3 do t[i] = dev:tensor { dtype = "f32", shape = { 20, 100 } }:fill(i == 1 and 3 or 0) end
    assert(one:launch({ x = t[1], y = t[2] }, pdl))
    local ok, message = second:launch({ x = t[2], y = t[3] }, pdl)
    return ok, tostring(message), ok and t[3]:get()[1999]
  end
  local ok, message, value = run(two)
  tap.is({ true, 3 }, { ok, value }, what .. ": the copying task waits " .. message)
  ok, message = run(bad)
  tap.ok(not ok and message:find("[sim-pdl]", 1, true), what .. ": it does not")
  tap.like("task 'load'", message, what .. ": who")
  tap.like("which the launch before, 'one', writes", message, what .. ": what")
end

-- The proof knows nothing of the launch before: what may be accessed before the wait for it is named in the verdict. who: the tasks that wait.
local function waiting(who, by)
  local k = weir.kernel { name = "waits", arch = "sm_90a" }
  local n = k:dim "n"
  local x, y = k:tensor { name = "x", dtype = "f32", shape = { n, 32 } }, k:tensor { name = "y", dtype = "f32", shape = { n, 32 }, out = true }
  local gx, gy = k:gmem_tile { name = "gx", tensor = x, tile = { 8, 32 } }, k:gmem_tile { name = "gy", tensor = y, tile = { 8, 32 } }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { cd(n, 8) } }
  local before, after = k:pdl_wait { name = "before" }, k:pdl_launch { name = "after" }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 8, 32 }, pipeline = by == "tma_load" and weir.pipeline.tma_async { stages = 2 } or weir.pipeline.async_async { stages = 2 } }
  local body = k:resource { name = "body", space = "gmem", bind = { y = y }, work = { look = weir.consumer_work { code = "(void)y;" } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    if who:find "load" then before:wait_griddep() end
    for t in weir.work_tile_loop(wq) do ring:acquire(); ring[by](ring, gx:at(t.m, 0)); ring:commit(); wq:next() end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    if who:find "look" then body:look(); body:look() end
    if who:find "put" then before:wait_griddep(); after:launch_griddep() end
    for t in weir.work_tile_loop(wq) do ring:wait(); gy:store(ring:read(), gy:at(t.m, 0)); ring:release(); wq:next() end
  end }
  return k:build { device = dev }
end
for _, by in ipairs { "tma_load", "store" } do
  tap.ok(not waiting("load, put", by).report.proof.text:find("launch before", 1, true), by .. ": both tasks wait")
  local p = waiting("put", by)
  tap.like("trusting the launch before to leave tensor 'x' alone, which is accessed before the wait for it (pdl.t:", p.report.proof.text, by .. ": one task waits")
  tap.ok(not p.report.proof.text:find("tensor 'y'", 1, true), by .. ": the other tensor is not named")
  local t = {}
  for i = 1, 3 do t[i] = dev:tensor { dtype = "f32", shape = { 20, 32 } }:fill(1) end
  assert(p:launch({ x = t[1], y = t[2] }, pdl))
  local ok, message = p:launch({ x = t[2], y = t[3] }, pdl)
  tap.ok(not ok and tostring(message):find("[sim-pdl]", 1, true), by .. ": and it is wrong where that launch writes x")
end
tap.ok(not waiting("load", "tma_load").report.proof.text:find("tensor 'y'", 1, true), "who waits for a task that has waited needs no wait of its own")
tap.like("trusting the launch before to leave tensor 'y' alone, which is accessed before the wait for it (pdl.t:", waiting("load, look, put", "store").report.proof.text, "a body, too")
-- Each line once, 12 and 1 apart; who is given a number does not access what that was loaded of.
do
  local k = weir.kernel { name = "early", arch = "sm_90a" }
  local n = k:dim "n"
  local function place(name) return k:gmem_tile { name = name, tensor = k:tensor { name = name, dtype = "i32", shape = { n } }, tile = { 1 } } end
  local x, z = place "x", place "z"
  local body = k:resource { name = "body", space = "smem", dtype = "i32", tile = { 1 }, work = { count = weir.producer_work { params = "i32 a", code = ";" } } }
  local before = k:pdl_wait { name = "before" }
  local far, near = load(("\n"):rep(11) .. "return (...):load()", "@early.lua"), load("return (...):load()", "@early.lua")
  k:task { name = "t", warps = { 0, 1 }, schedule = function()
    far(x:at(0)); near(x:at(1)); far(x:at(2)); body:count(near(z:at(0))) -- its line is not z's
    before:wait_griddep()
    far(z:at(1))
  end }
  local list = {}
  for name, lines in k:verify().proof.text:gmatch "leave tensor '(%w)' alone, which is accessed before the wait for it %((.-)%)" do list[name] = lines end
  tap.is({ x = "early.lua:12, early.lua:1", z = "early.lua:1" }, list, "lines of what is accessed early")
end
tap.done()
