#!/usr/bin/env lua5.4
-- Loop lengths in every form: which are equal, which add up, which differ and at what sizes. Each verdict is held against the explorer.
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local agreement = require "gen.agreement"
local cd = weir.ceil_div

-- A kernel of a producer and a consumer. make(k, side) yields the loops of a side: lists { start, stop, step, rounds, inside }, where
-- inside(i) gives the loops within. o: stages, cluster, release = false, tiles.
local function ring(o, make)
  local k = weir.kernel { name = "lengths", arch = "sm_90a", cluster = o.cluster }
  local s = k:resource { name = "s", space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = o.stages or 2 },
    work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
  local wq = o.tiles and k:work_queue(o.tiles(k))
  local function round(side)
    if side == "give" then s:acquire(); s:fill(); s:commit()
    else
      s:wait(); s:use()
      if o.release ~= false then s:release() end
    end
  end
  local dims = {}
  local function dim(name, limits)
    dims[name] = dims[name] or k:dim(name, limits)
    return dims[name]
  end
  for i, side in ipairs { "give", "get" } do
    k:task { name = side, warps = { i - 1, 1 }, schedule = function()
      local function run(loops)
        for _, l in ipairs(loops) do
          for at in weir.domain_loop(l[1], l[2], l[3] or 1) do
            for _ = 1, l[4] or 1 do if l[4] ~= 0 then round(side) end end
            if l[5] then run(l[5](at)) end
          end
        end
      end
      if wq then for t in weir.work_tile_loop(wq) do run(make(k, side, dim, t)); wq:next() end
      else run(make(k, side, dim)) end
    end }
  end
  return k
end

local function check(name, want, o, make)
  local k = ring(o, make)
  local program, why = plan.of(k)
  if not tap.ok(program, name .. ": a plan") then return tap.diag(why) end
  local sizes = {}
  for n = o.least or 0, o.most or 4 do
    for m = 0, 2 do sizes[#sizes + 1] = { N = n * (o.unit or 1), M = m, L = 1, S = 1 + m, H = n, W = 2, T = 2, R = 64, tiles = 2 } end
  end
  sizes.tiles = o.tiles and 3 or nil
  local said = agreement.compare(plan, program, sizes, { limit = o.limit or 40000, far = 200000 })
  local seen = said.verdict
  if seen == "UNSAFE" then seen = said.findings[1].rule:gsub("PROVE%-", "") end
  local fits = false
  for word in want:gmatch "%S+" do fits = fits or word == seen end
  if o.grid then said.wrong = nil end -- the explorer's one CTA takes the first tiles in row order, a launch may deal them otherwise
  if not tap.ok(fits and not said.wrong, ("%s: %s"):format(name, seen)) then tap.diag("wanted " .. want, said.text, said.wrong or "") end
end
-- Both sides from one list each.
local function both(give, get)
  return function(k, side, dim, t) return (side == "give" and give or get)(k, dim, t) end
end
local function N(dim, limits) return dim("N", limits) end

check("the same", "SAFE", {}, both(function(_, d) return { { 0, N(d) } } end, function(_, d) return { { 0, N(d) } } end))
check("one more", "LOST DEADLOCK", {}, both(function(_, d) return { { 0, N(d) + 1 } } end, function(_, d) return { { 0, N(d) } } end))
check("one less", "DEADLOCK", {}, both(function(_, d) return { { 0, N(d) } } end, function(_, d) return { { 0, N(d) + 1 } } end))
check("two names", "LOST DEADLOCK", {}, both(function(_, d) return { { 0, N(d) } } end, function(_, d) return { { 0, d "M" } } end))
check("backwards", "SAFE", {}, both(function(_, d) return { { N(d), 0, -1 } } end, function(_, d) return { { 0, N(d) } } end))
check("backwards by two", "SAFE", {}, both(function(_, d) return { { N(d), 0, -2 } } end, function(_, d) return { { 0, cd(N(d), 2) } } end))
check("by two", "SAFE", {}, both(function(_, d) return { { 0, N(d), 2 } } end, function(_, d) return { { 0, (N(d) + 1) // 2 } } end))
check("rounded down", "LOST DEADLOCK", {}, both(function(_, d) return { { 0, cd(N(d), 2) } } end, function(_, d) return { { 0, N(d) // 2 } } end))
check("whole multiples", "SAFE", { unit = 4 }, both(function(_, d) return { { 0, N(d, { multiple = 4 }), 4 } } end, function(_, d) return { { 0, cd(N(d), 4) } } end))
check("from three on", "SAFE", {}, both(function(_, d) return { { 3, N(d) } } end, function(_, d) return { { 0, N(d) - 3 } } end))
check("twice", "SAFE", {}, both(function(_, d) return { { 0, N(d) * 2 } } end, function(_, d) return { { 0, N(d) + N(d) } } end))
check("two rounds a step", "SAFE", {}, both(function(_, d) return { { 0, N(d), 1, 2 } } end, function(_, d) return { { 0, 2 * N(d) } } end))
check("two loops, and one twice as long", "SAFE", { limit = 20000 }, both(function(_, d) return { { 0, N(d) }, { 0, N(d) } } end, function(_, d) return { { 0, 2 * N(d) } } end))
check("two loops, and one twice as long and one more", "LOST DEADLOCK", {}, both(function(_, d) return { { 0, N(d) }, { 0, N(d) } } end, function(_, d) return { { 0, 2 * N(d) + 1 } } end))
check("three loops and two, and one as long as all", "SAFE INCOMPLETE", { limit = 20000, most = 2 }, both(function(_, d)
  return { { 0, N(d) }, { 0, N(d) }, { 0, N(d) }, { 0, d "M" }, { 0, d "M" } }
end, function(_, d) return { { 0, 3 * N(d) + 2 * d "M" } } end))
for n, want in pairs { [12] = "SAFE", [13] = "INCOMPLETE", [40] = "INCOMPLETE" } do -- read loop by loop, of so many at most
  check(n .. " loops, and one as long as all", want, { limit = 20000, most = 1 }, both(function(_, d)
    local all = {}
    for i = 1, n do all[i] = { 0, N(d) } end
    return all
  end, function(_, d) return { { 0, n * N(d) } } end))
end
check("two loops against two rounds a step, and a sum", "SAFE INCOMPLETE", { limit = 20000, most = 2 }, both(function(_, d)
  return { { 0, N(d) }, { 0, N(d) }, { 0, N(d) + d "M" } }
end, function(_, d) return { { 0, N(d), 1, 2 }, { 0, N(d) }, { 0, d "M" } } end))
check("less what is more", "SAFE", {}, both(function(_, d) return { { 0, N(d) - (d "M" - d "M") } } end, function(_, d) return { { 0, N(d) } } end))
check("minus minus", "SAFE", {}, both(function(_, d) return { { 0, -(-N(d)) } } end, function(_, d) return { { 0, N(d) } } end))
check("cast", "SAFE", {}, both(function(_, d) return { { 0, weir.cast(N(d), "i64") } } end, function(_, d) return { { 0, N(d) } } end))
check("a sum of three", "SAFE", { limit = 20000 }, both(function(_, d) return { { 0, N(d) + d "M" + d "L" } } end,
  function(_, d) return { { 0, N(d) }, { 0, d "M" }, { 0, d "L" } } end))
check("a sum in another order", "SAFE", { limit = 20000 }, both(function(_, d) return { { 0, d "M" }, { 0, N(d) } } end,
  function(_, d) return { { 0, d "M" }, { 0, N(d) } } end))
check("cut at a clamp", "SAFE", {}, both(function(_, d) return { { 0, N(d) } } end, function(_, d)
  local cut = weir.clamp(d "M", 0, N(d))
  return { { 0, cut }, { cut, N(d) } }
end))
check("cut at two places", "SAFE INCOMPLETE", { limit = 20000 }, both(function(_, d) return { { 0, N(d) } } end, function(_, d)
  local cut = weir.clamp(d "M", 0, N(d))
  local last = weir.max(cut, N(d) - 1)
  return { { 0, cut }, { cut, last }, { last, N(d) } }
end))
check("the smaller of two", "SAFE", {}, both(function(_, d) return { { 0, weir.min(N(d), d "M") } } end, function(_, d) return { { 0, weir.min(N(d), d "M") } } end))
check("smaller against larger", "LOST DEADLOCK INCOMPLETE", {}, both(function(_, d) return { { 0, weir.max(N(d), d "M") } } end,
  function(_, d) return { { 0, weir.min(N(d), d "M") } } end))
check("a step of the launch", "SAFE", {}, both(function(_, d) return { { 0, N(d), d("S", { min = 1 }) } } end, function(_, d) return { { 0, N(d), d("S", { min = 1 }) } } end))
check("a step of the launch against one", "LOST DEADLOCK INCOMPLETE", {}, both(function(_, d) return { { 0, N(d) } } end,
  function(_, d) return { { 0, N(d), d("S", { min = 1 }) } } end))
check("at least one", "SAFE", { least = 1 }, both(function(_, d) return { { 0, N(d, { min = 1 }) } } end, function(_, d) return { { 0, 1 }, { 0, N(d, { min = 1 }) - 1 } } end))
check("at most two", "SAFE", { release = false, most = 2 }, both(function(_, d) return { { 0, N(d, { max = 2 }) } } end, function(_, d) return { { 0, N(d, { max = 2 }) } } end))
check("fixed lengths", "SAFE", {}, both(function() return { { 0, 5 } } end, function() return { { 0, 2 }, { 0, 3 } } end))
check("a step over the end", "SAFE", {}, both(function() return { { 0, 5, 7 } } end, function() return { { 0, 1 } } end))
check("none", "SAFE", {}, both(function() return { { 3, 3 } } end, function() return { { 5, 3 } } end))
check("nested", "SAFE", {}, both(function(_, d) return { { 0, N(d), 1, 0, function() return { { 0, d "M" } } end } } end,
  function(_, d) return { { 0, N(d), 1, 0, function() return { { 0, d "M" } } end } } end))
check("nested, the inner by the outer", "SAFE", {}, both(function(_, d) return { { 0, N(d), 1, 0, function(i) return { { 0, i } } end } } end,
  function(_, d) return { { 0, N(d), 1, 0, function(i) return { { 0, i } } end } } end))
check("nested, the inner one longer", "LOST DEADLOCK", {}, both(function(_, d) return { { 0, N(d), 1, 0, function(i) return { { 0, i + 1 } } end } } end,
  function(_, d) return { { 0, N(d), 1, 0, function(i) return { { 0, i } } end } } end))
check("a product", "SAFE", {}, both(function(_, d) return { { 0, N(d) * d "M" } } end,
  function(_, d) return { { 0, N(d), 1, 0, function() return { { 0, d "M" } } end } } end))
check("chosen", "SAFE", {}, both(function(_, d) return { { 0, weir.select(weir.gt(N(d), 2), N(d), 1) } } end,
  function(_, d) return { { 0, weir.select(weir.gt(N(d), 2), N(d), 1) } } end))

-- An index may be another number than it looks like from afar: that of a loop within a loop through the same numbers, and what a loop by steps
-- of the launch counts.
local function in_both(inside) return function(_, d) return { { 0, N(d), 1, 0, function(i) return { { 0, N(d), 1, 0, function(j) return inside(i, j) end } } end } } end end
local function rounds(n) return { { 0, n } } end
check("by the outer of two equal loops", "SAFE", { limit = 20000 }, both(in_both(rounds), in_both(rounds)))
check("by the outer, and by the inner", "DEADLOCK", { limit = 20000 }, both(in_both(function(i) return rounds(i) end), in_both(function(_, j) return rounds(j + 1) end)))
check("by the difference of both, and never", "LOST", { limit = 20000 }, both(in_both(function(i, j) return rounds(i - j) end), function() return {} end))
check("a step of the launch: by the index, and as often as the loop runs", "DEADLOCK", { limit = 20000 },
  both(function(_, d) return { { 0, N(d), d("S", { min = 1 }), 0, function(i) return { { 0, i } } end } } end,
    function(_, d) return { { 0, N(d), d("S", { min = 1 }), 0, function() return { { 0, N(d), d("S", { min = 1 }) } } end } } end))

-- tiles
local function square(k) return { name = "wq", axes = { "m", "n" }, extent = { k:dim "H", k:dim "W" } } end
check("by the tile", "SAFE", { tiles = square }, both(function(_, _, t) return { { 0, t.m } } end, function(_, _, t) return { { 0, t.m } } end))
check("by the tile's other side", "LOST DEADLOCK", { tiles = square, grid = true }, both(function(_, _, t) return { { 0, t.m + 1 } } end, function(_, _, t) return { { 0, t.n + 1 } } end))
check("one tile each", "SAFE", { tiles = function(k) return { name = "wq", kind = "grid", axes = { "m", "n" }, extent = { k:dim "H", k:dim "W" } } end },
  both(function(_, d) return { { 0, N(d) } } end, function(_, d) return { { 0, N(d) } } end))
check("by the tile of each CTA", "SAFE", { tiles = square, cluster = { m = 2 }, limit = 20000 },
  both(function(_, _, t) return { { 0, t.m } } end, function(_, _, t) return { { 0, t.m } } end))

-- what only the device knows
check("by the CTA", "SAFE", { cluster = { m = 2 }, limit = 2000 }, both(function(k) return { { 0, k.cta.m } } end, function(k) return { { 0, k.cta.m } } end))
local table_of
local function from_table(k)
  if not table_of or table_of.k ~= k then
    table_of = { k = k, g = k:gmem_tile { name = "lengths", tensor = k:tensor { name = "X", dtype = "i32", shape = { k:dim "R" } }, tile = { 1 } } }
  end
  return { { 0, table_of.g:at(0):load() } }
end
check("from memory that nobody writes", "SAFE", {}, both(from_table, from_table))
local scalar
local function from_scalar(k)
  if not scalar or scalar.k ~= k then scalar = { k = k, v = k:scalar { name = "n", dtype = "i32" } } end
  return { { 0, scalar.v } }
end
check("a scalar of the launch", "SAFE", {}, both(from_scalar, from_scalar))
check("a scalar against a dim", "LOST DEADLOCK INCOMPLETE", {}, both(from_scalar, function(_, d) return { { 0, N(d) } } end))

-- ---- the sizes that a fault is shown with --------------------------------------------------------------------------------------------------

local function told(name, want, make)
  local k = weir.kernel { name = "sizes", arch = "sm_90a" }
  local s, r = k:smem_tile { name = "s", dtype = "f32", tile = { 1, 32 } }, k:barrier { name = "r", pipeline = weir.pipeline.async_async { stages = 1 } }
  local wq
  local bodies = make(k, s, r, function(axis) wq = k:work_queue { name = "wq", axes = { axis }, extent = { k:dim "T" } } end)
  for i, body in ipairs(bodies) do
    k:task { name = ("abc"):sub(i, i), warps = { i - 1, 1 }, schedule = function()
      if not wq then return body() end
      for t in weir.work_tile_loop(wq) do body(t); wq:next() end
    end }
  end
  tap.is(want, k:verify().proof.text, name)
  k:close()
end
local function loop(n, body) for _ in weir.domain_loop(0, n) do if body then body() end end end
-- The shortest way to the race is one step of each loop, which no tile has; the tiles of the launch that is shown have five and three.
told("beside a loop that a fault cuts short, nothing is known of another's length", "the work of 'b' and the work of 'a' both write 's' in no order (with T = 2) [PROVE-RACE]", function(_, s, _, tiles)
  tiles "i"
  return { function(t) loop(t.i % 2 * 5); loop(t.i % 2 * 3, function() s:store(1) end) end,
    function(t) loop(t.i % 2 * 5, function() s:store(2) end); loop(t.i % 2 * 3) end }
end)
-- No short run shows it; of what the launch of 8 does wrong, the race comes first, and the deadlock is told.
told("of what a launch does wrong, the worst", "'b' waits at r_full[0] for phase 0 (parity 0), 1 of 1 arrivals missing; 'a' has ended; 'c' has ended (with N = 8) [PROVE-DEADLOCK]", function(k, s, r)
  local n = k:dim "N"
  return { function() loop(n); loop(n // 8, function() s:store(1) end) end, function() loop(n); loop(n // 8, function() s:store(2); r:wait(); r:release() end) end,
    function() loop(n // 9, function() r:acquire(); r:commit() end) end }
end)
tap.done()
