#!/usr/bin/env lua5.4
-- The benchmarks' own parts: JSON, the report, and that RESULTS.md is what the results give.
local tap = require "tap"
package.path = "./?.lua;" .. package.path
local common = require "bench.common"

local value = { a = { 1, 2.5, -3e-7 }, b = { c = "q\"\\\n", d = true }, e = {}, list = { { x = 1 }, { x = 2 } } }
local text = common.encode(value)
tap.is(text, common.encode(common.decode(text)), "JSON goes and comes back")
tap.is(2, common.decode("[1, 2, null]")[2], "a list")
tap.is("A", common.decode '"\\u0041"', "an escape")
for _, bad in ipairs { "{", "[1,]", '{"a" 1}', "[1] x", '"open' } do tap.ok(not pcall(common.decode, bad), "refused: " .. bad) end
tap.is(2, common.median { 3, 1, 2 }, "median of three")
tap.is(2.5, common.median { 4, 1, 3, 2 }, "median of four")
tap.ok(common.run "lua5.4 bench/report.lua --check >/dev/null", "bench/RESULTS.md is what bench/results give")

-- the proof's campaign, as it was run
local oracle = common.read "bench/results/oracle.json"
tap.ok(oracle.random.agreed >= 10000 and #oracle.random.wrong == 0 and oracle.random.valid >= 1000, ("%d random schedules agreed on, none contradicted"):format(oracle.random.agreed))
tap.ok(oracle.mutants.made >= 2000 and oracle.mutants.bases >= 20 and #oracle.mutants.wrong == 0 and
  oracle.mutants.found - oracle.mutants.borne_out <= 3, -- those are too large for the explorer
  ("%d mutants of %d bases, none missed or misnamed"):format(oracle.mutants.made, oracle.mutants.bases))
tap.is(oracle.mutants.survives, #oracle.mutants.survivors, "survivors are listed")
tap.is({ 0, 0 }, { #oracle.mutants.alarms, #oracle.models.differs }, "no false alarms; spin says the same")
tap.ok(oracle.models.same >= 100, ("%d models"):format(oracle.models.same))

-- the kernels of bench/grouping.lua, in the simulator
local sim = assert(common.run "lua5.4 bench/grouping.lua --sim 2>&1")
tap.is({ "16", "12", "8", "8", "24", "18", "21", "8", "6", "4", "4", "8", "4", "6" }, (function()
  local out = {}
  for n in sim:gmatch "(%d+) mbarriers" do out[#out + 1] = n end
  return out
end)(), "what a group buys: all right in every element, and as many mbarriers")
tap.unlike("WRONG", sim, "and none wrong")

-- a result made up here gives every section, with the numbers in it
local folder = assert(common.run "mktemp -d")
local setting = { device = "D", driver = "1", driver_api = "13.0", cublas = "13.0.0", revision = ("a"):rep(40), changed = false, date = "now" }
os.execute(("mkdir -p %s/bench/results && cp bench/*.lua %s/bench"):format(folder, folder))
common.write(folder .. "/bench/results/gemm.json", { kind = "gemm", setting = setting, cases = { {
  m = 1, n = 2, k = 3, config = { bm = 128, bn = 256, stages = 4, cluster_m = 2, cluster_n = 1, stagger = 4 }, weir_ms = { 1, 2, 4 }, cublas_ms = { 2, 2, 2 },
  weir_tflops = 10.5, cublas_tflops = 9.5, ratio = 1, idle_ratio = 1.25, chain_ratio = 1.5, weir_error = 1e-3, cublas_error = 2e-3, weir_off = 7, cublas_off = 0 } } })
local t = { describe = 1, validate = 1, plan = 1, prove = 1, emit = 1, compile = 100, nvrtc = 94, load = 2, total = 110, require = 1 }
common.write(folder .. "/bench/results/build.json", { kind = "build", setting = setting, scripts = {
  { name = "script", cold = { t }, cached = { t } }, { name = "library", cold = { t }, cached = { t } } } })
local us = { 1.5, 2.5, 3.5 }
common.write(folder .. "/bench/results/launch.json", { kind = "launch", setting = setting, bare = us, c_bound = us, c_launch = us, lua_bound = us,
  lua_launch = us, lua_fresh_table = us })
common.write(folder .. "/bench/results/peers_softmax.json", { kind = "peers", kernel = "softmax", setting = setting, cases = { {
  name = "2 x 4", config = "threads=128", unit = "TB/s", amount = { weir = 6e9, torch = 6e9, copy = 4e9 }, errors = { weir = 1e-3 }, most = 4e-3, right = false,
  ms = { weir = { 2, 3, 4 }, torch = { 4, 6, 6 }, copy = { 1, 2, 3 } } } } })
local function counts(arrivals) return { mbarriers = 8, mbarriers_a_stage = 4, arrivals_a_step = arrivals, waits_a_step = 4, copies_a_step = 2 } end
common.write(folder .. "/bench/results/grouping.json", { kind = "grouping", setting = setting, families = { { name = "F", of = "copy", steps = 3, variants = {
  { name = "none", counts = counts(6), bad = 0, ms = { 0.2, 0.4, 0.3 } }, { name = "merge", counts = counts(4), bad = 5, ms = { 0.1, 0.1, 0.1 } } } } } })
local host = { cpu = "C", host = "Linux", revision = ("b"):rep(40), changed = true, date = "now" }
common.write(folder .. "/bench/results/prove.json", { kind = "prove", setting = host,
  kernels = { { name = "K", validate = { 0.1 }, plan = { 0.2 }, prove = { 0.4, 0.5, 0.6 }, emit = { 0.3 }, states = 7, actions = 9 } },
  growth = { { of = "tasks", text = "tasks", x = { 1, 2, 4 }, ms = { 0.1, 0.4, 1.6 }, states = { 1, 1, 1 }, work = { 10, 20, 40 } } },
  searches = { { steps = 32, stages = 8, states = 1774667, seconds = { 0.05 } } } })
common.write(folder .. "/bench/results/oracle.json", { kind = "oracle", setting = host,
  random = { compared = 10, agreed = 8, wrong = { "x" }, open = 1, incomplete = 1, safe = 6, unsafe = 3, valid = 5, states = 2000000, seconds = 3.5 },
  mutants = { made = 9, bases = 2, operators = { ["1"] = 9 }, found = 7, borne_out = 6, refused = 1, survives = 1, undecided = 0, open = 0, wrong = {},
    controls = 4, alarms = {} },
  models = { same = 3, differs = {}, safe = 1, unsafe = 2, version = "Spin" } })
assert(common.run(("cd %s && lua5.4 bench/report.lua && lua5.4 bench/plot.lua"):format(folder)))
local file <close> = assert(io.open(folder .. "/bench/RESULTS.md"))
local report = file:read "a"
tap.ok(report:find("| 1 x 2 x 3 | 128 x 256, 4, 2 x 1, staggered | 10.5 | 9.5 | **1.000** (0.500 to 2.000) | **1.250** | 0.97 | **1.500** | 1.00e-03 WRONG: 7 elements | 2.00e-03 | 3 |", 1, true),
  "a GEMM's row: the median of ratios, and wrong elements shout")
tap.like("| **without NVRTC and loading** | 14.0 (14.0 to 14.0) | 14.0", report, "what weir adds to NVRTC")
tap.like("| 2 x 4 | threads=128 | weir 2.00, copy 2.00, torch 1.00 TB/s | copy **1.000** (0.750 to 1.125); torch **2.000** (1.500 to 2.000) | 1.0e-03 WRONG, 4e-03 | 3 |",
  report, "a peer's row: copies by bytes, and a wrong result shouts")
tap.like("| none | 8 | 18 | 12 | 6 | 300.0 |  | 3 |", report, "a family's first row")
tap.like("| merge WRONG: 5 elements | 8 | 12 | 12 | 6 | 100.0 | **3.000** (2.000 to 4.000) | 3 |", report, "the next: counts of a tile, the ratio to the first")
local plot <close> = assert(io.open(folder .. "/bench/results.svg"))
local svg = plot:read "a"
tap.like(">softmax, launches in a row, overlapping<", svg, "the plot has the kernel")
tap.like(">2 x 4<", svg, "and the case")
tap.like(">2.00<", svg, "with the ratio to the fastest peer")
tap.is(select(2, svg:gsub("<text", "")), select(2, svg:gsub("</text>", "")), "and is closed text by text")
tap.ok(report:find("| C: weir_bound_launch | 2.50 (1.50 to 3.50) |", 1, true), "launch cost")
tap.like("| K | 0.10 (0.10 to 0.10) | 0.20 (0.20 to 0.20) | **0.50** (0.40 to 0.60) | 0.30 (0.30 to 0.30) | 7 |", report, "a proof's row")
tap.like("| tasks | 1 | 4 | 0.100 | 1.600 | 2.00 | 2.00 | 1.00 |", report, "growth: its exponent, and what one more costs later, measured and counted")
tap.like("| 32 | 8 | 1774667 | 0.0500 | 100.0 | 1.5e+06 |", report, "the search and the reference beside the proof")
tap.like("10 compared, **8 agreed**, 1 contradictions; 0 left open by the explorer's limit, 1 by the prover", report, "schedules decided twice")
tap.like("**0 missed or misnamed**", report, "mutants")
tap.like("C, Linux; weir bbbbbbbbbbbb with changes, now.", report, "a result that needs no GPU")
os.execute("rm -rf " .. folder)
tap.done()
