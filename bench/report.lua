-- Writes bench/RESULTS.md from bench/results/*.json; with --check only says whether it is up to date.
local common = require "bench.common"

local function files()
  local out = {}
  for path in common.run("ls bench/results/*.json 2>/dev/null; true"):gmatch "[^\n]+" do out[#out + 1] = path end
  return out
end

local function range(list)
  local x = table.move(list, 1, #list, 1, {})
  table.sort(x)
  return x[1], common.median(x), x[#x]
end

local function times_of(list, field)
  local out = {}
  for i, t in ipairs(list) do out[i] = type(t) == "table" and t[field] or t end
  local low, mid, high = range(out)
  return ("%.1f (%.1f to %.1f)"):format(mid, low, high)
end

local section = {}

-- What the project set out to reach, for launches on an idle GPU: that is how the prototypes were measured that the goals are from.
local GOALS = { ["8192x8192x8192"] = 1.05, ["4096x4096x4096"] = 1.15, ["2048x2048x2048"] = 1.35, ["8192x8192x1024"] = 1.15, ["4096x4096x16384"] = 1.03, mean = 1.12 }

function section.gemm(r, put)
  put "## bf16 GEMM against cuBLAS\n"
  put "D[M, N] = A[M, K] * transpose(B[N, K]), f32 accumulation, random inputs. Ratio: cuBLAS's time over weir's, median over neighbouring"
  put "samples. Busy: each timed launch right behind another of its kind, which is where the TFLOP/s are from. Idle: on a GPU with nothing"
  put "to do, so that the host's call and the kernel's start count too. Chain: eight launches in a row, weir's overlapping (programmatic"
  put "dependent launch). Goal: what was set out to reach, idle; without one 0.97. Error: Frobenius norm of the difference from an f64 reference"
  put "over that of the reference, every element.\n"
  put "| M x N x K | tile, stages, cluster | weir TFLOP/s | cuBLAS TFLOP/s | ratio, busy (lowest to highest) | ratio, idle | goal | ratio, chain | weir error | cuBLAS error | samples |"
  put "|---|---|---|---|---|---|---|---|---|---|---|"
  local product = { busy = 1, idle = 1, chain = 1 }
  for _, c in ipairs(r.cases) do
    local ratio = {}
    for i, x in ipairs(c.weir_ms) do ratio[i] = c.cublas_ms[i] / x end
    local low, mid, high = range(ratio)
    product.busy, product.idle, product.chain = product.busy * mid, product.idle * c.idle_ratio, product.chain * c.chain_ratio
    put(("| %d x %d x %d | %d x %d, %d, %d x %d%s | %.1f | %.1f | **%.3f** (%.3f to %.3f) | **%.3f** | %.2f | **%.3f** | %.2e%s | %.2e | %d |"):format(c.m, c.n, c.k,
      c.config.bm, c.config.bn, c.config.stages, c.config.cluster_m, c.config.cluster_n, c.config.stagger and ", staggered" or "", c.weir_tflops,
      c.cublas_tflops, mid, low, high, c.idle_ratio, GOALS[("%dx%dx%d"):format(c.m, c.n, c.k)] or 0.97, c.chain_ratio, c.weir_error or 0 / 0,
      c.weir_off > 0 and (" WRONG: %d elements"):format(c.weir_off) or "", c.cublas_error or 0 / 0, #ratio))
  end
  local n = #r.cases
  put(("| geometric mean | | | | **%.3f** | **%.3f** | %.2f | **%.3f** | | | |"):format(product.busy ^ (1 / n), product.idle ^ (1 / n), GOALS.mean, product.chain ^ (1 / n)))
end

function section.build(r, put)
  put "## From script to loaded cubin\n"
  put "Milliseconds, median (lowest to highest) of processes of their own; the CUDA context exists before. A script: a GEMM's schedule in 60"
  put "lines, `bench/gemm_kernel.lua`. The library: `kernels/gemm.lua`, which is ten times as long and ranks configurations first.\n"
  put "| | script, cold | script, from the cache | library, cold | library, from the cache |"
  put "|---|---|---|---|---|"
  local function row(label, of)
    local cells = {}
    for _, s in ipairs(r.scripts) do
      for _, list in ipairs { s.cold, s.cached } do cells[#cells + 1] = of(list) end
    end
    put(("| %s | %s |"):format(label, table.concat(cells, " | ")))
  end
  for _, x in ipairs { { "require", "require weir" }, { "describe", "describe the kernel" }, { "validate", "validate" }, { "plan", "plan" }, { "prove", "prove" },
                       { "emit", "emit" }, { "compile", "compile, or read the cache" }, { "nvrtc", "of that, NVRTC" }, { "load", "load the module" },
                       { "total", "**script to loaded cubin**" } } do
    row(x[2], function(list) return times_of(list, x[1]) end)
  end
  row("**without NVRTC and loading**", function(list)
    local own = {}
    for i, t in ipairs(list) do own[i] = t.total - t.load - t.nvrtc end
    return times_of(own)
  end)
end

function section.launch(r, put)
  put "## Host cost of a launch\n"
  put "Microseconds per launch, median (lowest to highest) of bursts of 200 launches of a one-CTA kernel.\n"
  put "| call | us |"
  put "|---|---|"
  for _, row in ipairs { { "bare", "cuLaunchKernelEx, context current" }, { "c_bound", "C: weir_bound_launch" }, { "c_launch", "C: weir_launch, arguments by name" },
                         { "lua_bound", "Lua: bound:launch()" }, { "lua_launch", "Lua: program:launch(args)" },
                         { "lua_fresh_table", "Lua: program:launch { x = ..., y = ... }" } } do
    local low, mid, high = range(r[row[1]])
    put(("| %s | %.2f (%.2f to %.2f) |"):format(row[2], mid, low, high))
  end
end

-- "weir 3.9, torch 2.4 TB/s": the median of each contestant.
local function rates(c)
  local names, out = {}, {}
  for name in pairs(c.ms) do if name ~= "weir" then names[#names + 1] = name end end
  table.sort(names)
  table.insert(names, 1, "weir")
  for i, name in ipairs(names) do
    out[i] = ("%s %s"):format(name, (c.unit == "TB/s" and "%.2f" or "%.0f"):format(c.amount[name] / common.median(c.ms[name]) / 1e9))
  end
  return table.concat(out, ", "), names
end

function section.peers(r, put)
  put(("## %s against torch and Triton%s\n"):format(r.kernel, r.setting.apart and ", launches apart" or r.setting.graph and ", launches in CUDA graphs" or ""))
  put "Ratio: a peer's time over weir's, median over neighbouring samples (copy: bytes per second over those of torch's device copy)."
  put(r.setting.apart and "A sample is one launch between two events, on an idle GPU: what the host takes to launch counts."
    or r.setting.pdl and "weir's launches overlap (programmatic dependent launch, the default of `kernels/`), a sample is a few launches in a row."
    or "weir's launches do not overlap; a sample is a few launches in a row.")
  put(("cuDNN %s, torch %s, Triton %s."):format(r.setting.cudnn, r.setting.torch, r.setting.triton))
  put "Error: Frobenius norm of the difference from a reference in f64 or f32 over that of the reference.\n"
  put "| case | configuration | rates | ratio (lowest to highest) | error, at most | samples |"
  put "|---|---|---|---|---|---|"
  for _, c in ipairs(r.cases) do
    local text, names = rates(c)
    local ratios = {}
    for i = 2, #names do
      local peer, all = c.ms[names[i]], {}
      local same = c.amount.weir / c.amount[names[i]]
      for j, x in ipairs(c.ms.weir) do all[j] = peer[j] / x * same end
      local low, mid, high = range(all)
      ratios[i - 1] = ("%s **%.3f** (%.3f to %.3f)"):format(names[i], mid, low, high)
    end
    put(("| %s | %s | %s %s | %s | %.1e%s, %.0e | %d |"):format(c.name, c.config, text, c.unit, table.concat(ratios, "; "), c.errors.weir or 0 / 0,
      c.right and "" or " WRONG", c.most, #c.ms.weir))
  end
end

function section.pipes(r, put)
  local sim = r.device == nil
  put(("## Every pipeline type, group mode and mix, %s\n"):format(sim and "in the simulator" or "on a GPU"))
  put(("`lua5.4 %s all`: %d kernels for %s; %d proved safe for every length, %d right in every element%s%s"):format(sim and "t/pipes.t" or "t/gpu/pipes.t",
    r.cells, r.arch, r.proved, r.passed, sim and (" (%d launches, %d elements)"):format(r.launches, r.elements) or "",
    #r.failed > 0 and "; WRONG: " .. table.concat(r.failed, ", ") or "."))
  put(("%sweir %s, %s.\n"):format(sim and "" or r.device:gsub(", ", ", driver ") .. "; ", r.revision:sub(1, 12), r.date))
end

function section.random(r, put)
  put "## Random kernels, simulator against GPU\n"
  local names, list = {}, {}
  for name in pairs(r.families) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do list[i] = ("%d %s"):format(r.families[name], name) end
  put(("`lua5.4 t/gpu/random.t`: %d kernels from seeds (%s), each proved safe, %d of them with real-valued inputs; %d launches, each %d times on the GPU,")
    :format(r.kernels, table.concat(list, ", "), r.real, r.launches, r.times))
  put(("%d elements: against a reference in Lua and, bit for bit, against the simulator (real ones within the bound of each element; %d zeros have the other sign)%s"):format(
    r.elements, r.zeros, #r.failed > 0 and "; WRONG: " .. table.concat(r.failed, ", ") or ": all right."))
  put(("%s; weir %s, %s.\n"):format(r.device:gsub(", ", ", driver "), r.revision:sub(1, 12), r.date))
end

function section.grouping(r, put)
  put "## What a group buys\n"
  put "The same work with the same geometry, only the barriers differ (`bench/grouping.lua`). Arrivals, waits and copies: of one tile's steps in"
  put "one CTA; an arrival is one mbarrier operation of one thread, a wait one statement of a task. Ratio: time of the first line over that of"
  put "this one, median over neighbouring samples: above 1 the group is faster.\n"
  put "Why (seen on an H200): with many k-steps a tile the tensor cores are the limit and each wait is over before it is made, so that"
  put "barriers cost nothing and a group buys shared memory (8 bytes a barrier) and readable code, no time. With four k-steps a tile the ring"
  put "runs empty at every tile's start, and a step's latency is a copy's plus that of each wait behind it: one wait for both operands"
  put "instead of two is 4 to 5 %. A fork saves the second load of what two tasks read: traffic, not barriers; its own empty barrier per"
  put "member costs what one ring's larger count does not, within noise. A copy that waits for memory hides all but 1 to 3 %; `fold`,"
  put "one arrive for both members' bytes, shows where a tile is one step."
  for _, f in ipairs(r.families) do
    put(("\n%s:\n"):format(f.name))
    put "| | mbarriers | arrivals | waits | copies | us | ratio (lowest to highest) | samples |"
    put "|---|---|---|---|---|---|---|---|"
    for i, v in ipairs(f.variants) do
      local ratio, c = {}, v.counts
      for turn, x in ipairs(v.ms) do ratio[turn] = f.variants[1].ms[turn] / x end
      local low, mid, high = range(ratio)
      put(("| %s%s | %d | %d | %d | %d | %.1f | %s | %d |"):format(v.name, v.bad > 0 and " WRONG: " .. v.bad .. " elements" or "", c.mbarriers,
        c.arrivals_a_step * f.steps, c.waits_a_step * f.steps, c.copies_a_step * f.steps, 1e3 * common.median(v.ms),
        i == 1 and "" or ("**%.3f** (%.3f to %.3f)"):format(mid, low, high), #v.ms))
    end
  end
end

-- Of the line that fits y over x best, from the first to the last of them.
local function slope(x, y, first, last)
  local n, mx, my, xy, xx = last - first + 1, 0, 0, 0, 0
  for i = first, last do mx, my = mx + x[i] / n, my + y[i] / n end
  for i = first, last do xy, xx = xy + (x[i] - mx) * (y[i] - my), xx + (x[i] - mx) ^ 2 end
  return xy / xx
end

function section.prove(r, put)
  put "## Proof\n"
  put "Milliseconds on one core, median (lowest to highest); every loop length and tile count is proved. States: of the proof's search."
  put "\n| kernel | validate | plan | prove | emit | states |"
  put "|---|---|---|---|---|---|"
  for _, k in ipairs(r.kernels) do
    local function ms(list) return ("%.2f (%.2f to %.2f)"):format(select(2, range(list)), (range(list)), select(3, range(list))) end
    put(("| %s | %s | %s | **%.2f** (%.2f to %.2f) | %s | %d |"):format(k.name, ms(k.validate), ms(k.plan), select(2, range(k.prove)), (range(k.prove)),
      select(3, range(k.prove)), ms(k.emit), k.states))
  end
  put "\nHow the proof grows (![plot](results/prove.svg)):\n"
  put "The least of the runs. Exponent: of the power of x that fits best. One more: ms for one more of them, in the upper half over in the lower;"
  put "1 where it grows linearly. Counted: the same of the instructions that the proof runs and the words that it touches, whatever the machine.\n"
  put "| grows | from | to | ms | ms | exponent | one more | counted |"
  put "|---|---|---|---|---|---|---|---|"
  for _, g in ipairs(r.growth) do
    local n = #g.x
    local middle = (n + 1) // 2
    local lx, ly = {}, {}
    for i = 1, n do lx[i], ly[i] = math.log(g.x[i]), math.log(g.ms[i]) end
    local function one_more(y) return n > 2 and ("%.2f"):format(slope(g.x, y, middle, n) / slope(g.x, y, 1, middle)) or "" end
    put(("| %s | %d | %d | %.3f | %.3f | %.2f | %s | %s |"):format(g.text, g.x[1], g.x[n], g.ms[1], g.ms[n], slope(lx, ly, 1, n), one_more(g.ms), one_more(g.work)))
  end
  local proof = common.median(r.kernels[1].prove)
  put "\nBeside it, every state of the reference's model of that GEMM, one length at a time, by the tests' own explorer (t/c/credits.c). The"
  put "reference itself is published as needing 729 s of CPU and 957 MiB for 32 steps and 8 stages.\n"
  put "| k-steps | stages | states | search, s | search over proof | reference over proof |"
  put "|---|---|---|---|---|---|"
  for _, x in ipairs(r.searches) do
    local seconds = common.median(x.seconds)
    put(("| %d | %d | %d | %.4f | %.1f | %s |"):format(x.steps, x.stages, x.states, seconds, 1e3 * seconds / proof,
      x.steps == 32 and x.stages == 8 and ("%.1e"):format(729e3 / proof) or ""))
  end
end

function section.oracle(r, put)
  local a, m, s = r.random, r.mutants, r.models
  put "## The proof against oracles\n"
  put "An explorer that reduces nothing runs small schedules through every order of threads and copies, for small sizes and for those that the"
  put "prover names. Agreed: the same verdict, and each finding of the prover borne out in its class.\n"
  put(("Random schedules: %d compared, **%d agreed**, %d contradictions; %d left open by the explorer's limit, %d by the prover. %d proved, %d"
    .. " refuted; %d proved ones are right at all sizes explored. %d million states, %d s."):format(a.compared, a.agreed, #a.wrong, a.open - a.incomplete,
    a.incomplete, a.safe, a.unsafe, a.valid, a.states // 1000000, a.seconds // 1))
  put(("\nMutants: %d of %d right schedules, %d operators. %d found in their class (%d borne out by the explorer, the rest too large for it), %d refused"
    .. " by the plan, %d equal as far as the explorer sees, %d left open by the prover, %d by the explorer, **%d missed or misnamed**. %d bases and"
    .. " harmless edits: %d false alarms."):format(m.made, m.bases, (function() local n = 0 for _ in pairs(m.operators) do n = n + 1 end return n end)(), m.found,
    m.borne_out, m.refused, m.survives, m.undecided, m.open, #m.wrong, m.controls, #m.alarms))
  if m.setting then put(("(Mutants: weir %s%s, %s.)"):format(m.setting.revision:sub(1, 12), m.setting.changed and " with changes" or "", m.setting.date)) end
  put(("\nModels searched by %s: **%d alike**, %d not; %d safe, %d with a fault."):format(s.version or "spin", s.same, #s.differs, s.safe, s.unsafe))
end

local function render()
  local out = {}
  local function put(s) out[#out + 1] = s end
  put "# Results\n"
  put "Written by `lua5.4 bench/report.lua` from `bench/results/*.json`, which hold every sample. To measure: `./weir bench/gemm.lua`,"
  put "`./weir bench/grouping.lua`, `./weir bench/build_time.lua`, `./weir bench/launch_cost.lua` on a machine with an sm_90a GPU and cuBLAS,"
  put "`python3 bench/peers.py` with torch besides; `lua5.4 bench/prove.lua` and `lua5.4 bench/oracle.lua` anywhere.\n"
  local paths = files()
  if #paths == 0 then put "Nothing has been measured yet.\n" end
  for _, path in ipairs(paths) do
    local r = common.read(path)
    assert(section[r.kind], path .. ": unknown kind of result")(r, put)
    local s = r.setting
    if s and s.cpu then put(("\n%s, %s; weir %s%s, %s.\n"):format(s.cpu, s.host, s.revision:sub(1, 12), s.changed and " with changes" or "", s.date))
    elseif s then put(("\n%s, driver %s (CUDA %s), cuBLAS %s; weir %s%s, %s.\n"):format(s.device, s.driver, s.driver_api, s.cublas, s.revision:sub(1, 12),
      s.changed and " with changes" or "", s.date)) end
  end
  return table.concat(out, "\n")
end

local text = render()
if arg and arg[1] == "--check" then
  local file = io.open "bench/RESULTS.md"
  local same = file and file:read "a" == text
  print(same and "bench/RESULTS.md is up to date" or "bench/RESULTS.md differs from bench/results: run lua5.4 bench/report.lua")
  os.exit(same and 0 or 1)
end
local file <close> = assert(io.open("bench/RESULTS.md", "w"))
file:write(text)
