#!/usr/bin/env lua5.4
-- What ptxas notes of a kernel, and what becomes of it; why a kernel was not found in the cache. Needs NVRTC, no GPU.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local plan = require "lab".plan
local folder = os.tmpname()
os.remove(folder)

-- A body of 32 warps, which have 64 registers a thread; with `values` = 128 it spills.
local function kernel(weir, values)
  local k = weir.kernel { name = "body", arch = "sm_90a" }
  local r = k:resource { name = "r", space = "gmem", bind = { x = k:tensor { name = "x", dtype = "f32", shape = { k:dim "N" }, out = true } }, const = { VALUES = values },
    work = { step = weir.producer_work { code = [[
      float a[VALUES];
      for (int i = 0; i < VALUES; i++) a[i] = x[i * nthreads + tid];
      for (int k = 0; k < 3; k++) { w_sync_warp(); for (int i = 0; i < VALUES; i++) a[i] = a[i] * a[(i + 7) % VALUES] + a[(i * 5 + 3) % VALUES]; }
      for (int i = 0; i < VALUES; i++) x[i * nthreads + tid] = a[i]; ]] } } }
  k:task { name = "t", warps = { 0, 32 }, schedule = function() r:step() end }
  return k
end
local function open() return plan.open { cache_dir = folder } end

local weir = open()
local quiet = kernel(weir, 8):build()
local cubin, why, code = quiet:cubin()
if code == "no_compiler" and not (os.getenv "WEIR_REQUIRE" or ""):find "nvrtc" then
  tap.diag("no NVRTC: " .. why)
  tap.ok(true, "what ptxas notes # SKIP no NVRTC")
  tap.done()
  os.exit(0)
end
tap.ok(cubin, "a body that fits")
tap.is(nil, quiet:notes(), "nothing is noted of it")
tap.is({ 0, 1, 1, "kernel 'body' was not compiled before", folder }, (function(c) return { c.hits, c.misses, c.absent, c.why, c.dir } end)(weir.cache()), "the cache: a first time")
local large = kernel(weir, 128):build { notes = "ignore" }
tap.ok(large:cubin(), "one that spills")
tap.matches("^%d+ bytes of spill stores, %d+ of spill loads %(NVRTC %d+%.%d+%)$", large:notes(), "what is noted, and whose word it is")
tap.is({ 2, 1, "the source of kernel 'body' is none of the 1 that are there" }, (function(c) return { c.misses, c.changed, c.why } end)(weir.cache()), "the cache: another source")
local strict = kernel(weir, 128):build { notes = "error" }
local none, message, status = strict:cubin()
tap.is({ nil, "compile" }, { none, status }, "notes = \"error\": it is refused")
tap.is(("kernel 'body' compiles, with what notes = \"error\" does not take: %s"):format(large:notes()), message, "... and why")
tap.ok(kernel(weir, 8):build { notes = "error" }:cubin(), "what has no notes is not")
tap.raises("notes", function() kernel(weir, 8):build { notes = "loud" } end, "no such policy")

-- Left to itself the module tells it on stderr.
local script = os.tmpname()
local f = assert(io.open(script, "w"))
f:write [[local values, notes = tonumber(arg[1]), arg[2]
local weir = require "weir"
local k = weir.kernel { name = "loud", arch = "sm_90a" }
local r = k:resource { name = "r", space = "gmem", bind = { x = k:tensor { name = "x", dtype = "f32", shape = { k:dim "N" }, out = true } }, const = { VALUES = values },
  work = { step = weir.producer_work { code = "float a[VALUES]; for (int i = 0; i < VALUES; i++) a[i] = x[i * nthreads + tid]; w_sync_warp(); for (int i = 0; i < VALUES; i++) x[i * nthreads + tid] = a[(i * 7 + 1) % VALUES] + a[(i * 3 + 5) % VALUES];" } } }
k:task { name = "t", warps = { 0, 32 }, schedule = function() r:step() end }
assert(k:build { notes = notes }:cubin())]]
f:close()
local function stderr_of(values, notes)
  local pipe = assert(io.popen(("XDG_CACHE_HOME=%s %s %s %d %s 2>&1"):format(folder, os.getenv "WEIR_LUA" or "lua5.4", script, values, notes or "")))
  local text = pipe:read "a"
  return pipe:close() and text or "it failed: " .. text
end
tap.matches("^weir: kernel 'loud': %d+ bytes of spill stores, %d+ of spill loads %(NVRTC [%d.]+%)\n$", stderr_of(160), "a warning")
tap.is("", stderr_of(160, "ignore"), "notes = \"ignore\": none")
tap.is("", stderr_of(8), "nothing is noted, nothing is told")
os.remove(script)

-- Another process compiles nothing.
local again = open()
for _, n in ipairs { 8, 128 } do tap.ok(kernel(again, n):build { notes = "ignore" }:cubin(), "again") end
tap.is({ 2, 0, "" }, (function(c) return { c.hits, c.misses, c.why } end)(again.cache()), "another context compiles nothing")
local kept = kernel(again, 128):build { notes = "ignore" }
kept:cubin()
tap.is(large:notes(), kept:notes(), "what was noted is kept with the entry")
os.execute("rm -rf " .. folder)
tap.done()
