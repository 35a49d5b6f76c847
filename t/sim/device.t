#!/usr/bin/env lua5.4
-- The CUDA C++ of bodies in the simulator: every function against numbers worked out in Lua (t/device.lua), and the same text through NVRTC.
package.path = "t/?.lua;./?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local device = require "device"

local program = device.run(lab.device(), function(name, wrong) tap.is({}, wrong, name) end)
local copier = device.run_copies(lab.device(), function(name, wrong) tap.is({}, wrong, name) end, function(seed) return lab.weir.device("sim", { seed = seed }) end)
local cubin, message, code = program:cubin()
if code ~= "no_compiler" then
  local good, why = copier:cubin()
  tap.ok(good, "NVRTC takes the copies: " .. tostring(why))
end
if code == "no_compiler" then tap.skip "NVRTC is not found"
else tap.ok(cubin, "NVRTC takes the same text: " .. tostring(message)) end

-- A message names the error, whatever the compiler warned of before it.
if code ~= "no_compiler" then
  local weir = lab.weir
  local k = weir.kernel { name = "wrong", arch = "sm_90a" }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 128 },
    work = { run = weir.producer_work { code = ("{ int unset; if (unset) w_sync_warp(); }\n"):rep(20) .. "no_such_name();" } } }
  k:task { name = "one", warps = { 0, 4 }, schedule = function() s:run() end }
  local wrong, why = k:build { device = lab.device() }:cubin()
  tap.ok(not wrong, "a body that names nothing is refused")
  tap.like('identifier "no_such_name" is undefined', why, "by the error, not by what was warned of before")
end

-- printf comes out where the host's own output does, in between.
do
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write [[
    local weir = require "weir"
    local k = weir.kernel { name = "says", arch = "sm_90a" }
    local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 128 },
      work = { run = weir.producer_work { code = "if (tid % 50 == 9) printf(\"%s %d of CTA %d: %.2f %c\\n\", \"thread\", tid, (int)blockIdx.x, tid / 4., 'x');" } } }
    k:task { name = "one", warps = { 0, 4 }, schedule = function() s:run() end }
    local dev = weir.device "sim"
    local p = k:build { device = dev }
    io.write "before\n"
    assert(p:launch({}, { device = dev, grid = 2 }))
    io.write "after\n"]]
  file:close()
  local pipe = assert(io.popen("lua5.4 " .. path))
  local rows = {}
  for row in pipe:lines() do rows[#rows + 1] = row end
  pipe:close()
  os.remove(path)
  tap.is("before", rows[1], "printf: what the host wrote before comes first")
  tap.is("after", rows[#rows], "printf: and what it wrote after comes last")
  table.sort(rows)
  local want = { "after", "before" }
  for _, t in ipairs { 109, 59, 9 } do for cta = 0, 1 do want[#want + 1] = ("thread %d of CTA %d: %.2f x"):format(t, cta, t / 4) end end
  table.sort(want)
  tap.is(want, rows, "printf: once for each thread that says something")
end
tap.done()
