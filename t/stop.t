#!/usr/bin/env lua5.4
-- A long run in the simulator: it says how far it is, and ends where a hook of the Lua state raises (as the interpreter's does at Ctrl-C).
local tap = require "tap"
local weir = require "weir"

local dev = assert(weir.device "sim")
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X, Y = k:tensor { name = "X", dtype = "f32", shape = { N } }, k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 128 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 128 } }
local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, 128) } }
k:task { name = "copy", warps = { 0, 4 }, schedule = function()
  for t in weir.work_tile_loop(wq) do y:store(x:at(t.i):load(), y:at(t.i)); wq:next() end
end }
local program = k:build { device = dev }
local a, b = dev:tensor { dtype = "f32", shape = { 256 } }:fill(3), dev:tensor { dtype = "f32", shape = { 256 } }
local MANY = 1000000 -- CTAs: twenty minutes

if arg[1] == "speak" then -- as a process of its own: the log is its stderr
  local from = os.time()
  debug.sethook(function() if os.difftime(os.time(), from) > 2 then error "enough" end end, "", 1)
  program:launch({ X = a, Y = b }, { grid = MANY })
  os.exit(0)
end

local function ended(name, run, ...)
  local message = { "enough of it" }
  local from = os.clock()
  debug.sethook(function() if os.clock() - from > 0.2 then error(message) end end, "", 1000)
  local ok, seen = pcall(run, ...)
  debug.sethook()
  tap.ok(not ok and seen == message, name .. ": the hook's own error is raised")
  tap.ok(os.clock() - from < 5, name .. ": at once")
  tap.like("the host ended the run: ", dev:findings(), name .. ": what the simulator says of it")
  b:fill(0)
  tap.is({ true, true }, { program:launch({ X = a, Y = b }, { grid = 2 }), dev:sync() }, name .. ": the next launch runs")
  tap.is(3.0, b:get()[256], name .. ": and is right")
end
ended("launch", program.launch, program, { X = a, Y = b }, { grid = MANY })
ended("explore", program.explore, program, { X = a, Y = b }, { grid = MANY, seeds = 2 })
ended("trace", program.trace, program, { X = a, Y = b }, { grid = MANY })

-- A hook that only counts ends nothing; nor is one run that another coroutine has.
local counted = 0
debug.sethook(function() counted = counted + 1 end, "", 100)
local ok = program:launch({ X = a, Y = b }, { grid = 600 })
debug.sethook()
tap.ok(ok and counted > 2, "a hook that counts: asked, and the run goes on")

local lua = os.getenv "WEIR_LUA" or "lua5.4"
local f = assert(io.popen("WEIR_LOG=info " .. lua .. " t/stop.t speak 2>&1"))
local text = f:read "a"
f:close()
local begun, all, rest = text:match "weir: kernel 'copy' in the simulator: (%d+) of (%d+) CTAs have begun in %d s, the rest takes (%d+) s more: a smaller grid or smaller sizes take less"
if not tap.ok(tonumber(begun) and tonumber(begun) > 0 and tonumber(all) == MANY and tonumber(rest) > 10, "a long run says how long") then tap.diag(text) end
tap.like("enough", text, "and was ended")
tap.done()
