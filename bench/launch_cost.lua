-- Host cost of a launch, in microseconds: from Lua, from C, and of the bare driver call; results in bench/results/launch.json.
--   lua5.4 bench/launch_cost.lua [--bursts 41]
-- A sample is the mean of a burst of 200 launches of a kernel of one CTA, without waiting; the queue takes 1024.
local common = require "bench.common"
local weir = require "weir"
local bursts = arg[1] == "--bursts" and math.tointeger(tonumber(arg[2])) or 41
local LAUNCHES = 200

local dev = weir.device(0)
local lib = common.peer()
local peer = lib.open()

local k = weir.kernel { name = "one", arch = "sm_90a" }
local N = k:dim "N"
local x = k:tensor { name = "x", dtype = "f32", shape = { N } }
local y = k:tensor { name = "y", dtype = "f32", shape = { N }, out = true }
local copy = k:resource { name = "copy", space = "gmem", bind = { x = x, y = y }, work = { all = weir.producer_work { code = [[
  if ((i32)tid < x_shape[0]) y[tid] = x[tid]; ]] } } }
k:task { name = "copy", warps = { 0, 4 }, schedule = function() copy:all() end }
local program = k:build { device = dev }
local tx, ty = dev:tensor { dtype = "f32", shape = { 64 } }:fill(1), dev:tensor { dtype = "f32", shape = { 64 } }:fill(0)
local args, options = { x = tx, y = ty }, { grid = 1 }

local function burst(f)
  local t = lib.now()
  for _ = 1, LAUNCHES do f() end
  t = (lib.now() - t) / LAUNCHES
  peer:sync()
  return t
end
local function measure(f)
  local out = {}
  burst(f)
  for i = 1, bursts do out[i] = burst(f) end
  return out
end

local bound = program:bind(args, options)
local result = { kind = "launch", setting = common.setting(dev, peer) }
result.lua_launch = measure(function() program:launch(args, options) end)
result.lua_fresh_table = measure(function() program:launch({ x = tx, y = ty }, options) end)
result.lua_bound = measure(function() bound:launch() end)
assert(ty:get()[64] == 1.0, "the kernel did not run")
local c = common.decode(assert(common.run(common.program "launch_cost" .. " " .. bursts), "bench/launch_cost.c failed"))
for name, samples in pairs(c) do result[name] = samples end
common.write("bench/results/launch.json", result)
print "wrote bench/results/launch.json"
