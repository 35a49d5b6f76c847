#!/usr/bin/env lua5.4
-- Random kernels (t/gen/kernels.lua) in the simulator and on a GPU: both against the reference, and the one against the other to the bit;
-- those of real inputs within the bound of each element. Writes nothing but its report.
--
--   lua5.4 t/gpu/random.t [240 [3/16]]              seeds 1 to 240, or of those part 3 of 16 (0/16 to 15/16)
--   lua5.4 t/gpu/random.t [240 [3/16]] compile      only compiles, anywhere with NVRTC, into the disk cache; ptxas must be silent
--   lua5.4 t/gpu/random.t [240 [3/16]] sim          against a second simulator, which does everything in another order
--   lua5.4 t/gpu/random.t 100 late                  of one kind: kernels that store a tile in the turn behind it, or any of t/gen/random
--   lua5.4 t/gpu/random.t 259-265 x20               these seeds, each launch 20 times on the GPU
local tap = require "tap"
local weir = require "weir"
local kernels = require "gen.kernels"

local from, count, part, how, times, kind = 1, 240, nil, "gpu", 1, nil
for _, a in ipairs(arg) do
  local first, last = a:match "^(%d+)%-(%d+)$"
  if first then from, count = tonumber(first), tonumber(last) elseif a:find "^x%d+$" then times = tonumber(a:sub(2))
  elseif a:find "^%d+$" then count = tonumber(a) elseif a:find "^%d+/%d+$" then part = a elseif a == "compile" or a == "sim" then how = a elseif pcall(require, "gen.random." .. a) then kind = a else error("what is " .. a .. "?") end
end
if how == "gpu" and weir.device_count() == 0 then tap.skip_all "no GPU" end
local sim = assert(weir.device("sim", { seed = 5 }))
local other = how == "gpu" and assert(weir.device(0)) or how == "sim" and assert(weir.device("sim", { seed = 6 })) or nil
local sum = kernels.test(tap, sim, from, count, { part = part, how = how, other = other, times = times, kind = kind })
tap.diag(("%s: %s; %d zeros of the other sign"):format(other and other.name or how, sum.text, sum.zeros))
tap.done()
