#!/usr/bin/env lua5.4
-- Reports: what verify returns and build raises, every finding at the author's line.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

local function now() return debug.getinfo(2, "l").currentline end

-- A sound copy kernel, or one that `change` has broken.
local function copy(change)
  change = change or {}
  local k = weir.kernel { name = "copy", arch = "sm_90a" }
  local M, N = k:dim "M", k:dim "N"
  local X = k:tensor { name = "X", dtype = "f32", shape = { M, N } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = Y, tile = { 8, 64 } }
  local x = k:gmem_tile { name = "x", tensor = X, tile = { 8, 64 } }
  local y = k:gmem_tile { name = "y", tensor = Y, tile = { 8, 64 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 8, 64 }, swizzle = change.swizzle, pipeline = P.tma_async { stages = 2 } }
  k:task { name = "load", warps = { 4, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      a:acquire(); a:tma_load(x:at(t.m, t.n)); a:commit()
      if change.load then change.load(t, k) end
      wq:next()
    end
  end }
  local function store() y:store(a:read(), y:at(0, 0)) end
  k:task { name = "store", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      a:wait()
      if change.store then change.store(t, k, a) else y:store(a:read(), t) end
      if change.helper then store() end
      a:release()
      wq:next()
    end
  end }
  return k
end

local function finding(report, rule)
  for _, f in ipairs(report.findings) do if f.rule == rule then return f end end
  tap.diag("no finding of " .. rule .. " in:\n" .. tostring(report))
  return { objects = {} }
end

-- A sound kernel.
do
  local r = copy():verify { prove = false }
  tap.is(true, r.ok, "a sound kernel is ok")
  tap.is(0, #r, "and has no findings")
  tap.is({}, r.findings, "as a list")
  tap.is("NOT_PROVED", r.proof.verdict, "without a proof the verdict says so")
end

-- Several faults in one report.
do
  local brk, swizzle
  local k = copy { swizzle = 48, load = function(_, kernel)
    for _ in weir.domain_loop(0, 4) do
      brk = now() if kernel then break end
    end
    kernel:dim "M"
  end }
  local r = k:verify()
  tap.is(false, r.ok, "a broken kernel is not ok")
  tap.ok(#r >= 3, "all faults are in one report")
  local f = finding(r, "C-BREAK")
  tap.is({ "t/lua_report.t", "error" }, { f.file, f.severity }, "break: file and severity")
  tap.ok(f.line == brk or f.line == brk - 1, "break: its line")
  f = finding(r, "M-SWIZZLE")
  swizzle = f.line
  tap.like("'a'", f.message, "swizzle: the object")
  tap.like("48", f.message, "swizzle: the number")
  tap.ok(f.hint and #f.hint > 0, "swizzle: the change that mends it")
  tap.like(("t/lua_report.t:%d: "):format(swizzle), tostring(r), "text: places")
  tap.like("[M-SWIZZLE]", tostring(r), "text: rules")
  tap.ok(rawequal(r.findings, r.findings), "findings are made once")
  tap.is(tostring(r), r.text, "text by name")
  tap.raises("a report has no field 'finding'; did you mean 'findings'?", function() return r.finding end, "misspelt field")
  -- What build raises is the report.
  local ok, raised = pcall(k.build, k)
  tap.is(false, ok, "build raises")
  tap.is("userdata", type(raised), "the report itself")
  tap.is(tostring(r), tostring(raised), "with the same text")
  tap.is(finding(r, "C-BREAK"), finding(raised, "C-BREAK"), "and the same findings")
end

-- What is made and never run.
do
  local at
  local r = copy { load = function(t) at = now() weir.when_true(weir.eq(t.m, 0)) end }:verify { prove = false }
  local f = finding(r, "M-HOST")
  tap.is(at, f.line, "a guard that is never run: its line")
  tap.is("weir.when_true is made but never run", f.message, "a guard that is never run: the message")
  tap.is("write: for _ in weir.when_true(...) do ... end", f.hint, "a guard that is never run: the mend")
end

-- A helper is named with its caller.
do
  local r = copy { store = function(t, _, a) t.m:map(weir.relu) a:store(a:read()) end }:verify { prove = false }
  tap.is(false, r.ok, "a consumer that writes its stage is refused")
  local text = r.findings[1] and r.findings[1].file or "none"
  tap.is("t/lua_report.t", text, "at a line of this file")
end

-- An error in a schedule that the script swallows leaves a kernel that cannot be built.
do
  local k
  local at
  local function fails(_, kernel) k = kernel at = now() error "out of ideas" end
  pcall(copy, { load = fails })
  local r = k:verify { prove = false }
  tap.is(false, r.ok, "an error swallowed in a schedule")
  local f = finding(r, "M-HOST")
  tap.like("the schedule of task 'load' stopped with an error: t/lua_report.t:" .. at .. ": out of ideas", f.message, "is told")
end

-- Memory: kernels, their handles and reports go together.
do
  copy():verify { prove = false }
  collectgarbage() collectgarbage()
  local before = weir.live_bytes()
  for _ = 1, 10 do
    local k = copy { swizzle = 48 }
    k:verify()
    pcall(k.build, k)
  end
  collectgarbage() collectgarbage()
  tap.is(before, weir.live_bytes(), "the collector gives all memory back")
  local k = copy()
  k:close()
  tap.is(before, weir.live_bytes(), "so does close")
  tap.is("kernel (closed)", tostring(k), "a closed kernel says so")
end

tap.done()
