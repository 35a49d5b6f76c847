#!/usr/bin/env lua5.4
-- Many seeds: the first that fails is named, and a device of that seed fails in the same way.
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan

-- A copy that goes wrong when the last of its four warps comes first to a counter: which one does is up to the seed.
local program = lab.thread_copy(4, 4):build {}
local text, gone = program:source():gsub("(for %(u32 i = tid; i < T; i %+= nthreads%) if %(first %+ %(i32%)i < y_shape%[0%])",
  "if (lane == 0 && first == 0 && atomicAdd(&y[y_shape[0] - 1], 1) %% 4 == 0 && warp == 3) __trap();\n      %1 - 1", 1)
tap.is(1, gone, "the body is edited")
plan.run_text(program, text)
local N = 600
local function arguments(dev)
  return { x = dev:tensor { dtype = "i32", shape = { N } }:fill(1), y = dev:tensor { dtype = "i32", shape = { N } } }
end

local fails, said = {}, {}
for seed = 1, 40 do
  local dev = weir.device("sim", { seed = seed })
  local ok, message = program:launch(arguments(dev), { grid = 1 })
  fails[seed], said[seed] = not ok, message
  dev:close()
end
local base, culprit                     -- a seed that is well, and the first behind it that is not
for seed = 1, 39 do
  if not fails[seed] and fails[seed + 1] and not base then base = seed end
end
for seed = base or 1, 40 do if fails[seed] then culprit = culprit or seed end end
if not tap.ok(base, "some seeds fail, some do not") then tap.done() end

local dev = weir.device("sim", { seed = base })
local args = arguments(dev)
local ok, message, code, seed = program:explore(args, { seeds = 40, grid = 1 })
tap.is({ nil, "sim", culprit }, { ok, code, seed }, "the first seed that fails")
tap.is(culprit, dev.seed, "which the device tells, too")
local finding = said[culprit]:match "stopped: (.*)$"
tap.like(finding:sub(1, 200), message, "with the finding that a device of this seed has")
tap.like(("seed %d, run %d of 40:"):format(culprit, culprit - base + 1), dev:findings(), "and the seed in front of it")
tap.is(true, program:launch(args, { grid = 1 }), "one launch afterwards is one run again")
tap.is(true, program:explore(args, { seeds = culprit - base, grid = 1 }), "fewer seeds do not get there")
tap.is("", dev:findings(), "and find nothing")
tap.is(base + (culprit - base) - 1, dev.seed, "the last seed that ran")

-- A device that explores: every launch.
args.y:fill(0)
tap.is(dev, dev:explore { seeds = 40 }, "dev:explore")
tap.is({ nil, "sim" }, (function() local o, _, c = program:launch(args, { grid = 1 }); return { o, c } end)(), "a launch finds it")
tap.is(culprit, dev.seed, "with the same seed")
dev:explore { seeds = 1 }
tap.is(true, program:launch(args, { grid = 1 }), "seeds = 1 ends it")

-- Each run begins with what was there: a kernel that adds to its output adds once.
local k = weir.kernel { name = "bump", arch = "sm_90a" }
local M = k:dim "M"
local Z = k:tensor { name = "z", dtype = "i32", shape = { M }, out = true }
local bump = k:resource { name = "bump", space = "gmem", bind = { z = Z },
  work = { go = weir.producer_work { code = "for (i32 i = (i32)tid; i < z_shape[0]; i += (i32)nthreads) z[i] += 1;" } } }
k:task { name = "t", warps = { 0, 1 }, schedule = function() bump:go() end }
local z = dev:tensor { dtype = "i32", shape = { 3 } }:set { 10, 20, 30 }
local bumped = k:build { device = dev }
tap.is(true, bumped:explore({ z = z }, { seeds = 7, grid = 1 }), "a kernel that reads what it writes")
tap.is({ 11, 21, 31 }, z:get(), "ran once, as far as its output shows")

tap.raises("seeds is 0; it must be 1 or more", function() program:explore(args, { seeds = 0 }) end, "seeds = 0")
tap.raises("seeds is -3; it must be 1 or more", function() dev:explore { seeds = -3 } end, "seeds = -3")
tap.raises("did you mean 'seeds'", function() dev:explore { seed = 3 } end, "a misspelt option")
tap.raises("it takes", function() program:explore({ x = args.x }, { seeds = 2 }) end, "a missing tensor")
tap.done()
