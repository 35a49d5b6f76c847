#!/usr/bin/env lua5.4
-- What a proof costs, counted: the instructions that its runs execute, the words of states that they touch and of memory that is taken. It must
-- grow no faster than the schedule, whatever of that grows; bench/prove.lua measures the same kernels' milliseconds.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local growth = require "gen.growth"

--- Work and states of the proof of series `of` at n; stagewise, wide, asked: with that reduction left out. wide: true, or "rings".
local function cost(of, n, stagewise, wide, asked)
  for _, s in ipairs(growth.series) do
    if s.of == of then
      local k = s.make(n)
      local p = assert(plan.of(k))
      local verdict, _, text, work = plan.prove(p, true, wide, stagewise, asked)
      local kept = plan.known(p)
      p:close()
      k:close()
      assert(verdict == "SAFE", text)
      return work, math.tointeger(text:match "(%d+) states?,"), kept
    end
  end
end

-- Twice as many of them: at most so many times the work, and states as often as they are asked something: once more for each loop.
for _, c in ipairs {
  { "stages", 6, 2 }, { "ring", 8, 2.1 }, { "tasks", 16, 2.1 }, { "arms", 16, 2.3 }, { "warps", 12, 2.2 }, { "moves", 20, 2 }, { "rings", 16, 2.4 },
  { "clustered", 16, 2.4 }, { "loops", 16, 2, 16 }, { "lengths", 16, 2.8, 16 }, { "stores", 16, 2 },
} do
  local of, n, most, loops = table.unpack(c)
  local work, states = cost(of, n)
  local more, states2 = cost(of, 2 * n)
  tap.ok(more <= most * work, ("%s, %d and %d: %d and %d, %.2f times the work, %.1f at most"):format(of, n, 2 * n, work, more, more / work, most))
  tap.is(states + (loops or 0), states2, ("%s: as many states"):format(of))
end

-- The count sees what it is there for: without either reduction of stages it grows with their square.
local kept, kept2 = select(3, cost("stages", 6)), select(3, cost("stages", 12))
tap.ok(kept2 <= 2 * kept, ("twice the stages: a state of %d words for %d"):format(kept2, kept))
for _, c in ipairs { { "visited stage by stage", true, false }, { "all kept everywhere", false, true } } do
  local work, more = cost("stages", 6, c[2], c[3]), cost("stages", 12, c[2], c[3])
  tap.ok(more > 2.1 * work, ("%s: %.2f times the work, and %.1f times what it is at 12 stages"):format(c[1], more / work, more / cost("stages", 12)))
end
for _, c in ipairs { { "rings", "rings" }, { "clustered", "rings" }, { "tasks", true } } do
  local work, more = cost(c[1], 16, false, c[2]), cost(c[1], 32, false, c[2])
  tap.ok(more > 2.8 * work, ("%s, all kept%s: %.2f times the work"):format(c[1], c[2] == "rings" and " of other rings" or "", more / work))
end

-- Parts of a tile that leave behind the next one's first steps, under conditions on index and length that exclude each other: a state or two
-- a part, where each condition on the length, as a question of its own, would double them.
do
  local work, states = cost("parts", 6)
  local more, states2 = cost("parts", 12)
  tap.ok(states2 <= 2 * states and more <= 3 * work, ("parts, 6 and 12: %d and %d states, %.2f times the work"):format(states, states2, more / work))
  local answered, asked = select(2, cost("parts", 4)), select(2, cost("parts", 4, false, false, true))
  tap.ok(asked > 5 * answered, ("four parts: %d states, %d if lengths are asked for once more"):format(answered, asked))
  local eight = cost("parts", 8)
  tap.ok(eight <= 150000, ("eight parts: %d of work, where states are visited newest first"):format(eight))
  for _, c in ipairs {
    { "the library's GEMM", require "weir.kernels.gemm".kernels { dtype = "bf16" }[1], 160000 },
    { "its attention with a window, whose loops' lengths are minima of minima", require "weir.kernels.attention".kernel { d = 64, window = 40, causal = true }, 160000 },
  } do
    local what, k, most = table.unpack(c)
    local p = assert(plan.of(k))
    local verdict, _, text, of_it = plan.prove(p, true)
    tap.ok(verdict == "SAFE" and of_it <= most, ("%s: %s, %s, %d of work"):format(what, verdict, text, of_it))
    p:close()
    k:close()
  end
end
tap.done()
