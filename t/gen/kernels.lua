-- Random kernels: whole, valid and of many kinds, each with its inputs and the only right result.
--
--   local kernels = require "gen.kernels"
--   local case = kernels.make(seed)                     -- the same for a seed, whatever the machine
--   print(case.name, case.text)
--   local program = case.kernel():build { device = dev }
--   for _, launch in ipairs(case.launches) do           -- of different sizes
--     local got, why = kernels.run(program, launch, dev)          -- what lies in each out tensor
--     local ok, text = kernels.check(case, launch, got)           -- against the reference
--     local same, text = kernels.compare(case, launch, got, other) -- against another device's
--   end
--
-- Inputs are whole numbers so small that every sum is exact: the reference, the simulator and a GPU must agree to the bit, but for the
-- sign of a zero (fmin and fmax of two zeros give either). Of a case that is `real` the inputs are not, and launch.wanted() has the
-- bound of each element: what any order of its sums, rounding or cutting off, and the approximations of the PTX ISA can make of it
-- (t/gen/exprs.lua, gen/random/gemm.lua); two devices may differ by twice that.
local numbers = require "gen.numbers"

local kernels = {}

-- Kinds and how often each comes; "late", "views", "flow" and "extremes" by their names only (o.kind of kernels.test).
kernels.kinds = { { 40, "gemm" }, { 18, "copy" }, { 18, "map" }, { 12, "rows" }, { 12, "body" }, { 14, "relay" } }

function kernels.make(seed, kind)
  local d = numbers.dice(seed)
  local drawn = d.weighted(kernels.kinds)
  kind = kind or drawn
  local case = require("gen.random." .. kind)(d, ("%s_%d"):format(kind, seed))
  case.seed, case.kind = seed, kind
  return case
end

-- Launches on a device. What lies in each out tensor then, { name = bytes }; or nil and what went wrong.
function kernels.run(program, launch, dev)
  local args, out = {}, {}
  for name, x in pairs(launch.args) do args[name] = x end
  for _, t in ipairs(launch.tensors) do
    local x = assert(dev:tensor { dtype = t.dtype, shape = t.shape, pitch = t.pitch })
    if t.data and #t.data > 0 then x:set(t.data) elseif t.fill then x:fill(t.fill) end
    args[t.name] = x
    if t.out then out[t.name] = x end
  end
  local ok, message = program:launch(args, { device = dev, grid = launch.grid })
  if ok then ok, message = dev:sync() end
  if ok and dev.is_sim and dev:findings() ~= "" then ok, message = false, dev:findings() end
  local got = {}
  if ok then
    for name, x in pairs(out) do got[name] = { bytes = x:get "bytes", list = x:get() } end
  end
  for _, t in ipairs(launch.tensors) do args[t.name]:close() end
  if not ok then return nil, message end
  return got
end

local function place(t, at)
  local index = {}
  at = at - 1
  for i = #t.shape, 1, -1 do index[i] = at % t.shape[i]; at = at // t.shape[i] end
  return table.concat(index, ",")
end

-- The wanted result is computed once.
local function wanted(launch)
  launch.result = launch.result or launch.wanted()
  return launch.result
end

-- Is `got` the reference's result? true and the number of elements; or false and what is wrong.
function kernels.check(launch, got)
  local elements = 0
  for _, t in ipairs(launch.tensors) do
    local want = t.out and wanted(launch)[t.name]
    if t.out and not want then return false, "no reference for " .. t.name end
    if want then
      local values, errors, seen = want[1], want[2], got[t.name].list
      if #seen ~= #values then return false, ("%s: %d elements, the reference has %d"):format(t.name, #seen, #values) end
      for i = 1, #values do
        local v, s = values[i], seen[i]
        local good = s == v or (s ~= s and v ~= v)
        if not good and errors then good = math.abs(s - v) <= errors[i] end
        if not good then
          return false, ("%s[%s]: wanted %s%s, seen %s"):format(t.name, place(t, i), v, errors and (" within %g"):format(errors[i]) or "", s)
        end
      end
      elements = elements + #values
    end
  end
  return true, elements
end

-- Do two devices agree? true and the number of zeros of different sign; or false and where not.
function kernels.compare(launch, a, b)
  local zeros = 0
  for _, t in ipairs(launch.tensors) do
    if t.out and a[t.name].bytes ~= b[t.name].bytes then
      local errors, x, y = wanted(launch)[t.name][2], a[t.name].list, b[t.name].list
      local differs = false
      for i = 1, #x do
        if x[i] ~= x[i] and y[i] ~= y[i] then differs = true     -- NaN, of whatever bits
        elseif x[i] ~= y[i] then
          if not (errors and math.abs(x[i] - y[i]) <= 2 * errors[i]) then
            return false, ("%s[%s]: %s here, %s there%s"):format(t.name, place(t, i), x[i], y[i], errors and (", may differ by %g"):format(2 * errors[i]) or "")
          end
          differs = true
        elseif x[i] == 0 and 1 / x[i] ~= 1 / y[i] then zeros = zeros + 1; differs = true
        end
      end
      if not differs then return false, t.name .. ": equal numbers, but not the same bytes" end
    end
  end
  return true, zeros
end

-- ---- tests ---------------------------------------------------------------------------------------------------------------------

-- Seeds `from` to `to`, those of part "i/n": proved, run on `dev` and against the reference; with `other`, run there too and compared to
-- the bit (real inputs: within twice the bound). `how`: "compile" only compiles, and ptxas must have nothing to say. A failed test
-- shows its kernel. Returns what happened.
function kernels.test(tap, dev, from, to, o)
  o = o or {}
  local i, n = (o.part or "0/1"):match "^(%d+)/(%d+)$"
  i, n = tonumber(i), tonumber(n)
  local sum = { kernels = 0, launches = 0, elements = 0, zeros = 0, real = 0, kinds = {} }
  for seed = from, to do
    if seed % n == i % n then
      local case = kernels.make(seed, o.kind)
      local name = ("%s: %s"):format(case.name, case.text)
      local kernel
      local built, program = pcall(function()
        kernel = case.kernel()
        return kernel:build { device = dev }
      end)
      local why = not built and tostring(program) or nil
      if built and program.report.proof.verdict ~= "SAFE" then why = "not proved: " .. tostring(program.report) end
      for _, f in ipairs(built and program.report.findings or {}) do
        if f.severity ~= "note" then why = why or f.message end
      end
      if not why and o.how == "compile" then
        local cubin, message = program:cubin()
        if not cubin then why = message end
        for row in (cubin and program:log() or ""):gmatch "[^\n]+" do
          local stores, loads = row:match "(%d+) bytes spill stores, (%d+) bytes spill loads"
          if (stores and (stores ~= "0" or loads ~= "0")) or row:find "[Ww]arning" or row:find "C75%d%d" then why = row end
        end
      end
      for at, l in ipairs(why and {} or o.how == "compile" and {} or case.launches) do
        local got, message = kernels.run(program, l, dev)
        local ok, text = got ~= nil, message
        if got then ok, text = kernels.check(l, got) end
        local elements = ok and text or 0
        for _ = 1, ok and o.other and (o.times or 1) or 0 do
          if not ok then break end
          local there
          there, text = kernels.run(program, l, o.other)
          ok = there ~= nil
          if ok then
            ok, text = kernels.compare(l, got, there)
            if ok then sum.zeros = sum.zeros + text end
          end
        end
        if not ok then why = ("launch %d, %s: %s"):format(at, l.size, text); break end
        sum.launches, sum.elements = sum.launches + 1, sum.elements + elements
      end
      sum.kernels, sum.real = sum.kernels + 1, sum.real + (case.real and 1 or 0)
      sum.kinds[case.kind] = (sum.kinds[case.kind] or 0) + 1
      if not tap.ok(not why, name) then tap.diag(why) end
      if kernel then kernel:close() end
      collectgarbage()
    end
  end
  local kinds = {}
  for kind, many in pairs(sum.kinds) do kinds[#kinds + 1] = ("%s %d"):format(kind, many) end
  table.sort(kinds)
  sum.text = ("%d random kernels (%s), %d of them real: %d launches, %d elements"):format(sum.kernels, table.concat(kinds, ", "), sum.real, sum.launches, sum.elements)
  return sum
end

return kernels
