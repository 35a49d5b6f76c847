-- What validation, planning, proof and emission cost, kernel by kernel; how the proof grows with stages, tasks, warps and moves; and what
-- a search of every state costs beside it. Results in bench/results/prove.json, the growth also as bench/results/prove.svg.
--   lua5.4 bench/prove.lua [--reps 15]           needs no GPU; one core
-- The searches are those of the tests' module weir_plan (./weir build makes it).
local common = require "bench.common"
package.path = "t/?.lua;t/vectors/?.lua;" .. package.path
package.cpath = common.build .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"                          -- before weir (in gen.growth): both are one library
local bfs, checker, notation = require "bfs", require "checker", require "checker_notation"
local growth = require "gen.growth"

local reps = arg[1] == "--reps" and math.tointeger(tonumber(arg[2])) or 15

-- ---- measured ----------------------------------------------------------------------------------------------------------------------

local function sample(make)
  local program = make()
  local t, proof = program:times(), program.report.proof
  assert(proof.verdict == "SAFE", proof.text)
  local out = { validate = t.validate, plan = t.plan, prove = t.prove, emit = t.emit, states = proof.states, actions = plan.count(program, "action"),
    work = select(4, plan.prove(program, true)) }
  program:close()
  return out
end

local function measure(make)
  sample(make)                                            -- warm
  local all = {}
  for i = 1, reps do
    collectgarbage()
    all[i] = sample(make)
  end
  local out = { states = all[1].states, actions = all[1].actions, work = all[1].work }
  for _, field in ipairs { "validate", "plan", "prove", "emit" } do
    out[field] = {}
    for i, s in ipairs(all) do out[field][i] = s[field] end
  end
  return out
end

local result = { kind = "prove", setting = common.host_setting(), kernels = {}, growth = {}, searches = {} }
for _, row in ipairs {
  { "GEMM of four tasks, 8 stages", function() return growth.four_tasks(8):build() end },
  { "examples/gemm_staged.lua", function() return dofile "examples/gemm_staged.lua" end },
  { "examples/attention.lua", function() return dofile "examples/attention.lua" end },
  { "examples/fork_gemm_act.lua", function() return dofile "examples/fork_gemm_act.lua" end },
  { "examples/varlen_copy.lua", function() return dofile "examples/varlen_copy.lua" end },
  { "the GEMM of bench/gemm.lua, 8192^3", function()
    return require "weir.kernels.gemm".kernels { m = 8192, n = 8192, k = 8192 }[1]:build()
  end },
} do
  local m = measure(row[2])
  m.name = row[1]
  result.kernels[#result.kernels + 1] = m
  print(("%-36s validate %.2f plan %.2f prove %.2f emit %.2f ms, %d states"):format(row[1], common.median(m.validate), common.median(m.plan),
    common.median(m.prove), common.median(m.emit), m.states))
end

for pass = 1, 3 do                                         -- the least of passes far apart: the heap and the machine differ
  for i, row in ipairs(growth.series) do
    local series = result.growth[i] or { of = row.of, text = row.text, x = row.x, ms = {}, states = {}, work = {} }
    result.growth[i] = series
    for j, n in ipairs(row.x) do
      local m = measure(function() return row.make(n):build() end)
      series.ms[j] = math.min(series.ms[j] or math.huge, table.unpack(m.prove))
      series.states[j], series.work[j] = m.states, m.work
    end
    if pass == 3 then print(row.text, table.concat(series.ms, " "), table.concat(series.work, " ")) end
  end
end

-- Every state of the reference's model of the same schedule, for one length each, by the tests' explorer of credits.
local gemm = checker.gemm
for _, row in ipairs(gemm.counts) do
  for s = 2, 8, 2 do
    local model = bfs.prepare(notation.parse((gemm.template:gsub("%$S", s):gsub("%$D", row.d))))
    local seconds = {}
    for i = 1, 5 do
      local from = os.clock()
      local r = plan.credits(model)
      seconds[i] = os.clock() - from
      assert(r.states == row[s])
    end
    result.searches[#result.searches + 1] = { steps = row.d, stages = s, states = row[s], seconds = seconds }
  end
end
common.write("bench/results/prove.json", result)

-- ---- the plot ----------------------------------------------------------------------------------------------------------------------

local W, H, PAD, A_ROW = 300, 200, 52, 4
local svg = { ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">'):format(A_ROW * W,
  (#result.growth + A_ROW - 1) // A_ROW * H),
  '<rect width="100%" height="100%" fill="white"/>' }
local function put(text, ...) svg[#svg + 1] = text:format(...) end
for i, s in ipairs(result.growth) do
  local left, top = (i - 1) % A_ROW * W + PAD, (i - 1) // A_ROW * H + 24
  local w, h = W - PAD - 16, H - 24 - 36
  local xmax, ymax = s.x[#s.x], 0
  for _, y in ipairs(s.ms) do ymax = math.max(ymax, y) end
  local function at(x, y) return left + w * x / xmax, top + h - h * y / (1.1 * ymax) end
  put('<text x="%d" y="%d">%s</text>', left, top - 10, s.text)
  put('<path d="M%d %d v%d h%d" fill="none" stroke="black"/>', left, top, h, w)
  put('<text x="%d" y="%d" text-anchor="end">%.2f ms</text><text x="%d" y="%d" text-anchor="end">0</text>', left - 4, select(2, at(0, ymax)) // 1 + 4, ymax, left - 4, top + h)
  local points = {}
  for j, x in ipairs(s.x) do
    local px, py = at(x, s.ms[j])
    points[j] = ("%.1f,%.1f"):format(px, py)
    put('<circle cx="%.1f" cy="%.1f" r="2.5"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>', px, py, px, top + h + 14, x)
  end
  put('<polyline points="%s" fill="none" stroke="black"/>', table.concat(points, " "))
end
svg[#svg + 1] = "</svg>\n"
local file <close> = assert(io.open("bench/results/prove.svg", "w"))
file:write(table.concat(svg, "\n"))
print "wrote bench/results/prove.json and prove.svg"
