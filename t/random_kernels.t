#!/usr/bin/env lua5.4
-- Random kernels (t/gen/kernels.lua) in the simulator, against their references; t/gpu/random.t has more of them, and a GPU beside.
--
--   lua5.4 t/random_kernels.t [FROM [TO]]
local tap = require "tap"
local weir = require "weir"
local kernels = require "gen.kernels"

local from, to = tonumber(arg[1] or 1), tonumber(arg[2] or arg[1] or 24)
local dev = assert(weir.device("sim", { seed = 3 }))
local sum = kernels.test(tap, dev, from, to, { other = not arg[1] and assert(weir.device("sim", { seed = 4 })) or nil })
tap.diag(sum.text)
-- Found among 481 to 1700: of a fused group that cp.async fills threads read the first member, wgmma the second.
if not arg[1] then kernels.test(tap, dev, 1467, 1467) end
-- Products that ptxas takes in parts only (t/registers.t); rings that did not fit, and a condition of nothing, as they were drawn.
if not arg[1] then for _, seed in ipairs { 1534, 3044, 709, 1906, 3084 } do kernels.test(tap, dev, seed, seed) end end
if not arg[1] then tap.diag(kernels.test(tap, dev, 1, 16, { kind = "late", other = assert(weir.device("sim", { seed = 5 })) }).text) end

-- The checks find what is wrong: one bit of one element, and one element of a reference.
local case = kernels.make(2, "gemm")
local program = case.kernel():build { device = dev }
local launch = case.launches[1]
local got = assert(kernels.run(program, launch, dev))
local name
for _, t in ipairs(launch.tensors) do if t.out then name = t.name end end
local function changed(at)
  local other = { bytes = got[name].bytes, list = table.move(got[name].list, 1, #got[name].list, 1, {}) }
  other.list[at] = other.list[at] + 1
  other.bytes = other.bytes:sub(1, 1) .. string.char(other.bytes:byte(2) ~ 1) .. other.bytes:sub(3)
  return { [name] = other }
end
tap.is(true, (kernels.compare(launch, got, got)), "a result agrees with itself")
local same, text = kernels.compare(launch, got, changed(7))
tap.is(false, same, "one element that differs")
tap.like(name .. "[0,6]: ", text, "is named")
local right, what = kernels.check(launch, changed(#got[name].list))
tap.is(false, right, "one that is not the reference's")
tap.like(name .. "[", what, "is named, too")
-- A seed makes one kernel.
tap.is(kernels.make(11).kernel():source(), kernels.make(11).kernel():source(), "a seed is a kernel")
tap.done()
