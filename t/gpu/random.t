#!/usr/bin/env lua5.4
-- Random kernels (t/gen/kernels.lua) in the simulator and on a GPU: both against the reference, and the one against the other to the bit;
-- those of real inputs within the bound of each element. Writes nothing but its report.
--
--   lua5.4 t/gpu/random.t [240 [3/16]]              seeds 1 to 240, or of those part 3 of 16 (0/16 to 15/16)
--   lua5.4 t/gpu/random.t [240 [3/16]] compile      only compiles, anywhere with NVRTC, into the disk cache; ptxas must be silent
--   lua5.4 t/gpu/random.t [240 [3/16]] sim          against a second simulator, which does everything in another order
local tap = require "tap"
local weir = require "weir"
local kernels = require "gen.kernels"

local count, part, how = 240, nil, "gpu"
for _, a in ipairs(arg) do
  if a:find "^%d+$" then count = tonumber(a) elseif a:find "^%d+/%d+$" then part = a elseif a == "compile" or a == "sim" then how = a else error("what is " .. a .. "?") end
end
if how == "gpu" and weir.device_count() == 0 then tap.skip_all "no GPU" end
local sim = assert(weir.device("sim", { seed = 5 }))
local other = how == "gpu" and assert(weir.device(0)) or how == "sim" and assert(weir.device("sim", { seed = 6 })) or nil
local sum = kernels.test(tap, sim, 1, count, { part = part, how = how, other = other })
tap.diag(("%s: %s; %d zeros of the other sign"):format(other and other.name or how, sum.text, sum.zeros))
tap.done()
