#!/usr/bin/env lua5.4
-- Random kernels with a statement left out, moved, said twice, an argument, a guard, a type or a number changed (t/gen/edits.lua): what is
-- proved runs without a fault on several simulators, with one result; what is called unsafe the explorer of actions bears out.
--
--   lua5.4 t/edits.t [FROM TO [EDITS]]      of seeds FROM to TO, so many edits of each
local tap = require "tap"
local lab = require "lab"
local plan, weir = lab.plan, lab.weir
local edits, kernels, numbers, agreement = require "gen.edits", require "gen.kernels", require "gen.numbers", require "gen.agreement"

local devices = { weir.device("sim", { seed = 1 }), weir.device("sim", { seed = 2 }) }
local sizes = { {}, {}, tiles = 3 }
for _, name in ipairs { "M", "N", "K", "H", "W", "T", "B", "N1", "N2", "N3", "N4", "N5" } do sizes[1][name], sizes[2][name] = 1, 64 end
sizes[1].tiles, sizes[2].tiles = 1, 2

-- What a launch refuses, and a body that the compiler does: no matter of the proof.
local function of_author(message)
  return message:find("launch: ", 1, true) or message:find("refused the source", 1, true) or message:find("[sim-tmap]", 1, true)
end

-- What goes wrong in the launches of a case; nil: nothing.
local function fault(program, case)
  for _, l in ipairs(case.launches) do
    local first
    for _, dev in ipairs(devices) do
      local ok, got, message = pcall(kernels.run, program, l, dev)
      if not ok then got, message = nil, got end
      if not got then return tostring(message) end
      for name, x in pairs(got) do
        if first and not case.real and x.bytes ~= first[name].bytes then return name .. " differs from seed to seed" end
      end
      first = first or got
    end
  end
end

local sum = { proved = 0, run = 0, refuted = 0, borne_out = 0, open = 0, trusting = 0, refused = 0, incomplete = 0, shown = 0, wrong = {} }
local function wrong(text) sum.wrong[#sum.wrong + 1] = text end

-- o.runs: proofs that are run, at most; o.shown: refuted ones that are
local function judge(case, seen, list, o)
  local ok, k = pcall(edits.apply, list, case.kernel)
  if not ok then sum.refused = sum.refused + 1; return end
  local report = k:verify()
  local verdict, text = report.proof.verdict, ("%s: %s"):format(case.name, edits.text(seen, list))
  if verdict == "SAFE" and report.proof.text:find("trusting", 1, true) then sum.trusting = sum.trusting + 1
  elseif verdict == "SAFE" then
    sum.proved = sum.proved + 1
    if sum.run < o.runs then
      local built, program = pcall(k.build, k, { device = devices[1] })
      local what = built and fault(program, case)
      if what and not of_author(what) then wrong(("proved, but %s: %s"):format(what, text)) end
      if built and not what then sum.run = sum.run + 1 end
    end
  elseif verdict == "UNSAFE" then
    sum.refuted = sum.refuted + 1
    local program = plan.of(k)
    if program then
      local said = agreement.compare(plan, program, sizes, { limit = 4000, far = 30000 })
      if said.wrong then wrong(("%s: %s"):format(said.wrong, text)) elseif said.open then sum.open = sum.open + 1 else sum.borne_out = sum.borne_out + 1 end
      program:close()
    end
    if sum.shown < o.shown then -- what is refuted and can be run shows it, mostly: so a wrong proof would
      local built, broken = pcall(k.build, k, { device = devices[1], unsafe = true })
      if built and fault(broken, case) then sum.shown = sum.shown + 1 end
    end
  elseif verdict == "INCOMPLETE" then sum.incomplete = sum.incomplete + 1
  else sum.refused = sum.refused + 1 end
  k:close()
end

local from, to, many = tonumber(arg[1] or 1), tonumber(arg[2] or arg[1] or 60), tonumber(arg[3] or 6)
local o = arg[1] and { runs = math.huge, shown = 20 } or { runs = 8, shown = 1 }
local long, compared = arg[1] ~= nil, false
for seed = from, to do
  local case = kernels.make(seed)
  if long or case.kind ~= "gemm" then
    local seen, k = edits.watch(case.kernel)
    if not compared then
      compared = true
      local same = edits.apply({}, case.kernel)
      tap.is(k:source(), same:source(), "a kernel without edits is the kernel")
      same:close()
    end
    k:close()
    for n = 1, many do
      local d = numbers.dice(seed * 1000 + n)
      judge(case, seen, edits.draw(d, seen, d.weighted { { 70, 1 }, { 25, 2 }, { 5, 3 } }), o)
    end
    collectgarbage()
  end
end
tap.is({}, sum.wrong, "no verdict is wrong")
tap.ok(sum.run > 0 and sum.refuted > 0 and sum.borne_out > 0 and sum.refused > 0, "edits of each kind")
tap.ok(sum.shown > 0, "what is refuted stops in the simulator")
tap.diag(("%d edits: %d proved (%d run), %d trusting, %d refuted (%d borne out, %d open), %d refused, %d incomplete"):format(
  sum.proved + sum.trusting + sum.refuted + sum.refused + sum.incomplete, sum.proved, sum.run, sum.trusting, sum.refuted, sum.borne_out, sum.open, sum.refused, sum.incomplete))
tap.done()
