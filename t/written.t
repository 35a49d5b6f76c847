#!/usr/bin/env lua5.4
-- Schedules as kernel engineers write them: what one task does in one way another does in another. Each is proved, the explorer agrees, and so it
-- does of its neighbour with one number wrong, which is refused (docs/proof.md, "Counted by units", "Sums of loops", "Loops in each other").
local tap = require "tap"
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local agreement = require "gen.agreement"
local min, max, cd, clamp = weir.min, weir.max, weir.ceil_div, weir.clamp
local lt, le, gt, ge, eq = weir.lt, weir.le, weir.gt, weir.ge, weir.eq
local function loop(from, to, body, step) for i in weir.domain_loop(from, to, step or 1) do body(i) end end
local function when(c, body) for _ in weir.when_true(c) do body() end end

-- make(e, x) gives the tasks' schedules; x: 0, or 1 to make one number wrong. e.N, e.M, e.K, e.T: sizes; e.ring(name, stages) gives one with put() and
-- get(); e.tiles(body): for each tile t.i of e.T; e.list(name): numbers in a tensor.
local function kernel(make, x, o)
  local k = weir.kernel { name = "written", arch = "sm_90a", cluster = o.cluster }
  local e = { k = k }
  for _, name in ipairs { "N", "M", "K", "T" } do e[name] = k:dim(name, { max = 1 << 16 }) end
  if o.scalar then e.s = k:scalar { name = "s", dtype = "i32" } end
  function e.ring(name, stages)
    local s = k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = weir.pipeline.async_async { stages = stages or 3 },
      work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } }
    return { s = s, put = function() s:acquire(); s:fill(); s:commit() end, get = function() s:wait(); s:use(); s:release() end }
  end
  function e.list(name)
    local g = k:gmem_tile { name = name .. "_g", tensor = k:tensor { name = name, dtype = "i32", shape = { e.T + 1 } }, tile = { 1 } }
    return function(i) return g:at(i):load() end
  end
  local wq = o.extent and k:work_queue { name = "wq", axes = { "i" }, extent = { o.extent(e) } }
  function e.tiles(body) for t in weir.work_tile_loop(wq) do body(t); wq:next() end end
  for i, schedule in ipairs(make(e, x)) do k:task { name = "task" .. i, warps = { i - 1, 1 }, schedule = schedule } end
  return k
end

-- o: extent(e), sizes (a list), memory (numbers that are read: the explorer does not know them), refused (what the neighbour is), open (it is proved no more)
local function check(name, make, o)
  o = o or {}
  for x = 0, 1 do
    local k = kernel(make, x, o)
    local text = x == 0 and name or name .. ", one number wrong"
    if o.memory then
      local proof = k:verify().proof
      local want = x == 0 and (o.open and "INCOMPLETE" or "SAFE") or o.refused or "UNSAFE"
      if not tap.is(want, proof.verdict, text) then tap.diag(proof.text) end
      if o.says and x == 1 then tap.like(o.says, proof.text, text .. ": what is read") end
    else
      local program, why = plan.of(k)
      assert(program, why)
      local sizes = {}
      for _, n in ipairs { 0, 1, 2, 3, 5, 6 } do
        for m = 0, 2 do
          local u = o.unit or 1
          sizes[#sizes + 1] = { N = n * u - (n % 2 == 1 and u > 1 and 1 or 0), M = m, K = (m + 1) % 3, T = 2, R = 64, tiles = o.extent and (o.tiles and o.tiles(n * u) or 2) or nil }
        end
      end
      if o.extent then sizes.tiles = 3 end
      local said = agreement.compare(plan, program, sizes, { limit = 8000, far = 40000 })
      local want = x == 0 and (o.open and "INCOMPLETE" or "SAFE") or o.refused or "UNSAFE"
      if not tap.ok(said.verdict == want and not said.wrong, text) then tap.diag(said.verdict, said.text, said.wrong) end
    end
    k:close()
  end
end
local function tile(e) return e.T end

-- ---- groups, chunks, windows -------------------------------------------------------------------------------------------------------------------
check("scales for every fourth step, of K / 256 and of K / 64", function(e, x)
  local ab, sc = e.ring "ab", e.ring "sc"
  return { function() loop(0, cd(e.N, 64), ab.put) end, function() loop(0, cd(e.N + 256 * x, 256), sc.put) end,
    function() loop(0, cd(e.N, 64), function(i) when(eq(i % 4, 0), sc.get); ab.get() end) end }
end, { unit = 64 })
check("scales held for four steps, given back behind the fourth or the last", function(e, x)
  local ab, sc = e.ring "ab", e.ring "sc"
  return { function() loop(0, cd(e.N, 64), ab.put) end, function() loop(0, cd(cd(e.N, 64), 4) + x, sc.put) end,
    function()
      local n = cd(e.N, 64)
      loop(0, n, function(i)
        when(eq(i % 4, 0), function() sc.s:wait() end)
        ab.get()
        when(eq(i % 4, 3) | eq(i, n - 1), function() sc.s:use(); sc.s:release() end)
      end)
    end }
end, { unit = 64 })
check("a loop of groups around 4 g .. 4 g + 4", function(e, x)
  local ab, sc = e.ring "ab", e.ring "sc"
  return { function() loop(0, cd(e.N, 64), function(i) when(eq(i % 4, 0), sc.put); ab.put() end) end,
    function() loop(0, cd(e.N, 256), function(g) sc.s:wait(); loop(4 * g, min(4 * g + 4 - x, cd(e.N, 64)), ab.get); sc.s:use(); sc.s:release() end) end }
end, { unit = 64 })
check("steps of four, each i .. i + 4", function(e, x)
  local ab, sc = e.ring "ab", e.ring "sc"
  return { function() loop(0, e.N, function(i) sc.put(); loop(i, min(i + 4, e.N - x), ab.put) end, 4) end,
    function() loop(0, e.N, function(i) when(eq(i % 4, 0), sc.get); ab.get() end) end }
end)
check("two levels of rings", function(e, x)
  local big, small = e.ring("big", 2), e.ring "small"
  return { function() loop(0, cd(e.N, 256), big.put) end,
    function() loop(0, cd(e.N, 256), function(c) big.s:wait(); loop(0, min(4, cd(e.N, 64) - 4 * c), function() big.s:use(); small.put() end); big.s:release() end) end,
    function() loop(0, cd(e.N, 64) + x, small.get) end }
end, { unit = 64 })
check("blocks of 96 and of 64, by steps of 32", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, cd(e.N, 32), function(i) when(eq(i % 3, 0), a.put); when(eq(i % 2, x), b.put) end) end,
    function() loop(0, cd(e.N, 96), a.get) end, function() loop(0, cd(e.N, 64), b.get) end }
end, { unit = 32 })
check("blocks of 96 and of 64, one beside the other", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, cd(e.N, 96), a.put); loop(0, cd(e.N, 64), a.put) end, function() loop(0, cd(e.N, 96) + cd(e.N, 64) + x, a.get) end }
end, { unit = 32 })
check("blocks of 32, and of 48 of one more: no parts of both", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, cd(e.N, 32), a.put); loop(0, cd(e.N + 1, 48), a.put); loop(0, e.M, b.put) end,
    function() loop(0, cd(e.N, 32) + cd(e.N + 1 + 48 * x, 48), a.get); loop(0, max(0, e.M - 3), b.get); loop(0, min(3, e.M), b.get) end }
end, { unit = 32 })
check("blocks of 3, of 17 and of 4, of which there are no units alone", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, cd(e.N, 3), a.put); loop(0, cd(e.N, 17), a.put); loop(0, cd(e.N, 4), a.put); loop(0, e.M, b.put) end,
    function()
      loop(0, cd(e.N, 3), a.get); loop(0, cd(e.N + 17 * x, 17), a.get); loop(0, cd(e.N, 4), a.get)
      loop(0, max(0, e.M - 3), b.get); loop(0, min(3, e.M), b.get)
    end }
end, { unit = 8 })
check("what is left of a number that has too many terms when it is divided", function(e, x)
  local a = e.ring "a"
  local n = 32 * (e.N + e.M + e.K + e.T + cd(e.N, 3) + cd(e.N, 5)) + max(0, cd(e.N, 7) - cd(e.M, 7)) + max(0, cd(e.K, 7) - cd(e.T, 7))
  local function some(body) when(eq(n % 32, 0), body) end
  return { function() some(a.put); loop(0, e.M, a.put) end, function() if x == 0 then some(a.get) else a.get() end loop(0, e.M - 3, a.get); loop(0, min(3, e.M), a.get) end }
end)
check("a window, as a range and as its length", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(i) loop(max(0, i - 1), min(e.N, i + 2), a.put) end) end,
    function() loop(0, e.N, function(i) loop(0, min(e.N, i + 2) - max(0, i - 1 - x), a.get) end) end }
end)
check("windows in three loops, as ranges and as lengths", function(e, x)
  local a = e.ring "a"
  local function each(body) loop(0, e.N, function(i) loop(0, e.M, function(j) loop(0, e.K, function(l) body(i, j, l) end) end) end) end
  return {
    function() each(function(i, j, l) loop(max(0, i - 1), min(e.N, i + 2), function() loop(max(0, j - 1), min(e.M, j + 2), function() loop(max(0, l - 1), min(e.K, l + 2), a.put) end) end) end) end,
    function()
      each(function(i, j, l)
        loop(0, min(e.N, i + 2) - max(0, i - 1), function() loop(0, min(e.M, j + 2 + x) - max(0, j - 1), function() loop(0, min(e.K, l + 2) - max(0, l - 1), a.get) end) end)
      end)
    end }
end)
check("the left, the own and the right neighbour, and a window", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(i) when(gt(i, 0), a.put); a.put(); when(lt(i + 1 + x, e.N), a.put) end) end,
    function() loop(0, e.N, function(i) loop(max(0, i - 1), min(e.N, i + 2), a.get) end) end }
end)
check("... of a tile", function(e, x)
  local a = e.ring "a"
  return { function() e.tiles(function(t) when(gt(t.i, x), a.put); a.put(); when(lt(t.i + 1, cd(e.N, 32)), a.put) end) end,
    function() e.tiles(function(t) loop(max(0, t.i - 1), min(cd(e.N, 32), t.i + 2), a.get) end) end }
end, { unit = 32, extent = function(e) return cd(e.N, 32) end, tiles = function(n) return math.min(2, (n + 31) // 32) end })

-- ---- the first and the last steps --------------------------------------------------------------------------------------------------------------
check("steady steps, and the last three behind", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, a.put) end, function() loop(0, max(0, e.N - 3), a.get); loop(0, min(3 + x, e.N), a.get) end }
end)
check("... with a look at every eighth", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, e.N, a.put) end, function() loop(0, max(0, e.N - 3), a.get); for i in weir.domain_loop(0, min(3 + x, e.N)) do a.get(); for _ in i:every(8, 5) do b.put() end end end,
    function() for i in weir.domain_loop(0, min(3, e.N)) do for _ in i:every(8, 5) do b.get() end end end }
end)
check("steady steps, and those from the third last on", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, a.put) end, function() loop(0, e.N - 3, a.get); loop(max(0, e.N - 3 + x), e.N, a.get) end }
end)
check("a prologue of three with a look at each", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, 3, function(i) when(lt(i + x, e.N), a.put) end); loop(3, e.N, a.put) end, function() loop(0, e.N, a.get) end }
end)
check("... by two lengths", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, 3, function(i) when(lt(i + x, e.N), a.put); when(lt(i, e.M), b.put) end); loop(3, e.N, a.put); loop(3, e.M, b.put) end,
    function() loop(0, e.N, a.get) end, function() loop(0, e.M, b.get) end }
end)
check("... and of a tile", function(e, x)
  local a = e.ring "a"
  return { function() e.tiles(function(t) loop(0, 2, function(i) when(lt(i, min(e.N, t.i) + x), a.put) end); loop(2, min(e.N, t.i), a.put) end) end,
    function() e.tiles(function(t) loop(0, min(e.N, t.i), a.get) end) end }
end, { extent = tile })
check("what is left behind whole steps, in the same steps", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, a.put, 64) end, function() loop(0, e.N // 64 + x, a.get); loop(e.N // 64 * 64, e.N, a.get, 64) end }
end, { unit = 64 })

check("twice as many as quarters, and a look at the size", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, 2 * cd(e.N, 4), a.put); when(gt(2 * cd(e.N, 4), 2 - x), a.put) end, function() loop(0, 2 * cd(e.N, 4), a.get); when(gt(e.N, 4), a.get) end }
end)
check("so many less the quarters, and a look at the size", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, 10 - cd(e.N, 4), a.put); when(lt(10 - cd(e.N, 4), 9 + x), a.put) end, function() loop(0, 10 - cd(e.N, 4), a.get); when(gt(e.N, 4), a.get) end }
end)
check("a look at whether there is the step that it stands in", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(i) when(lt(i, e.N + (x == 0 and 40 or -1)), a.put) end, 2) end, function() loop(0, cd(e.N, 2), a.get) end }
end)
check("the first four of all but two, of a difference", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, e.M, b.put); loop(0, e.N - e.M, a.put) end,
    function() loop(0, e.M, b.get); loop(0, min(4, e.N - e.M - 2), a.get); loop(4 + x, e.N - e.M - 2, a.get); loop(max(0, e.N - e.M - 2), e.N - e.M, a.get) end }
end)
check("none of a difference, and all of it", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, e.M, b.put); loop(0, e.N - e.M, a.put) end,
    function() loop(0, e.M, b.get); loop(0, min(0 + x, e.N - e.M), a.get); loop(0, e.N - e.M - 3, a.get); loop(0, min(3, e.N - e.M), a.get) end }
end)

-- ---- ranges of tiles ---------------------------------------------------------------------------------------------------------------------------
check("causal blocks: those no mask cuts, and two that it does", function(e, x)
  local kv = e.ring "kv"
  local function last(t) return min(cd(e.N, 64), 2 * t.i + 2) end
  return { function() e.tiles(function(t) loop(0, last(t), kv.put) end) end,
    function() e.tiles(function(t) loop(0, min(last(t), 2 * t.i), kv.get); loop(2 * t.i + x, last(t), kv.get) end) end }
end, { unit = 64, extent = function(e) return cd(e.N, 128) end, tiles = function(n) return math.min(2, (n + 127) // 128) end })
check("a part of the keys for each tile, which may be none", function(e, x)
  local kv = e.ring "kv"
  local function span(t) local from = t.i * e.K; return from, min(min(from + e.K, e.N), 2 * t.i + 2) end
  return { function() e.tiles(function(t) local from, to = span(t); loop(from, to, kv.put) end) end,
    function() e.tiles(function(t) local from, to = span(t); local cut = clamp(2 * t.i, from, to); loop(from, cut, kv.get); loop(cut, to + x, kv.get) end) end }
end, { extent = tile })
check("a part, from its start or from 0 on", function(e, x)
  local a = e.ring "a"
  return { function() e.tiles(function(t) loop(t.i * e.K, min(t.i * e.K + e.K, e.N), a.put) end) end,
    function() e.tiles(function(t) loop(0, min(e.K, e.N - t.i * e.K) + x, a.get) end) end }
end, { extent = tile })
check("a range that may end before it begins, clamped", function(e, x)
  local a = e.ring "a"
  local function span(t) local from = max(0, 2 * t.i - e.K); return from, max(from, min(e.N, 2 * t.i + 2)) end
  return { function() e.tiles(function(t) local from, to = span(t); loop(from, to, a.put) end) end,
    function()
      e.tiles(function(t)
        local from, to = span(t)
        local one = clamp(2 * t.i + 2 - e.K, from, to)
        local two = clamp(2 * t.i, one, to)
        loop(from, one, a.get); loop(one, two, a.get); loop(two, to + x, a.get)
      end)
    end }
end, { extent = tile })

-- ---- loops in each other -----------------------------------------------------------------------------------------------------------------------
check("tap by tap, and all taps of a step", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, 9, function() loop(0, e.N, a.put) end) end, function() loop(0, e.N, function() loop(0, 9 - x, a.get) end) end }
end)
check("rows of columns, and columns of rows", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function() loop(0, e.M, a.put) end) end, function() loop(0, e.M, function() loop(0, e.N + x, a.get) end) end }
end)
check("a product, in another order than its loops", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function() loop(0, e.M, function() loop(0, e.K, a.put) end) end) end, function() loop(0, e.K * (e.N + x) * e.M, a.get) end }
end)
check("a product beside one of its factors", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, e.N, a.put) end, function() loop(0, e.M * e.N + x, b.put) end, function() loop(0, e.N, function() a.get(); loop(0, e.M, b.get) end) end }
end)
check("products in each other, in another order", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N * e.M, function() loop(0, e.K * e.N, a.put) end) end, function() loop(0, e.K * e.N, function() loop(0, e.N * (e.M + x), a.get) end) end }
end)
for _, c in ipairs { { "", function(_, op) op() end }, { ", around a triangle", function(i, op) loop(0, i, op) end, "INCOMPLETE" } } do -- 1 + 50 * 4 loops, of 51 blocks
  check("products of four, more in each other than are sorted" .. c[1], function(e, x)
    local a = e.ring "a"
    local function each(n, of, i, op) if n == 0 then c[2](i, op) else loop(0, of, function() each(n - 1, of, i, op) end) end end
    local function rows(of, op) loop(0, e.N, function(i) each(50, of, i, op) end) end
    return { function() rows(e.N * e.M * e.K * e.T, a.put) end, function() rows(e.T * e.K * e.M * (e.N + x), a.get) end }
  end, { memory = true, refused = c[3] })
end
check("products, multiplied out", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(i) loop(0, (i + 1) * e.M, a.put) end) end, function() loop(0, e.N, function(i) loop(0, i * e.M + e.M + x, a.get) end) end }
end)
check("a triangle, from its corner or from 0 on", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(j) loop(j, e.N, function(i) loop(0, i, a.put) end) end) end,
    function() loop(0, e.N, function(j) loop(0, e.N - j, function(i) loop(0, i + j + x, a.get) end) end) end }
end)
check("index by index: what is a condition's in one is its opposite's in the other", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N, function(i) when(lt(i, 1), function() loop(0, i + e.M, a.put) end) end) end,
    function() loop(0, e.N, function(i) when(x == 0 and le(i, 0) or ge(i, 0), function() loop(0, i + e.M, a.get) end) end) end }
end)
check("both conditions, one in the other", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N - 1, a.put); when(gt(e.N, 0) & gt(e.M, 0), a.put) end,
    function() when(gt(e.M, x), function() when(ge(e.N, 1), a.get) end); loop(1, e.N, a.get) end }
end)
check("either, and a loop in there", function(e, x)
  local a = e.ring "a"
  local function body(op) when(gt(e.N, 1) | gt(e.M, 1), function() loop(0, e.N, op) end) end
  return { function() body(a.put); loop(0, e.N - 1, a.put); when(gt(e.N, 0), a.put) end, function() body(a.get); loop(0, e.N + x, a.get) end }
end)
check("either, and a loop in there, under one more", function(e, x)
  local a = e.ring "a"
  local function body(op) when(gt(e.N, 1) | gt(e.M, 1), function() when(gt(e.K, 0), function() loop(0, e.N, op) end) end) end
  return { function() body(a.put); loop(0, e.N - 1, a.put); when(gt(e.N, 0), a.put) end, function() body(a.get); loop(0, e.N + x, a.get) end }
end)
check("both, one of which is the CTA's", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N - 1, a.put); for m = 0, 1 do when(eq(e.k.cta.m, m) & gt(e.N, 0), a.put) end end, function() loop(0, e.N + x, a.get) end }
end, { cluster = { m = 2 } })
check("unless one of two is not", function(e, x)
  local a = e.ring "a"
  return { function() loop(0, e.N - 1, a.put); for _ in weir.when_false(le(e.N, 0) | le(e.M, 0)) do a.put() end end,
    function() loop(1, e.N, a.get); for _ in weir.when_true(~(le(e.N, 0) | le(e.M, x))) do a.get() end end }
end)

-- ---- numbers in memory -------------------------------------------------------------------------------------------------------------------------
local function lists(name, make, o) o.memory = true; check(name, make, o) end
lists("once, if there is any key", function(e, x)
  local q, kv, len = e.ring "q", e.ring "kv", e.list "len"
  return { function() e.tiles(function(t) when(gt(len(t.i), x), q.put); loop(0, cd(len(t.i), 64), kv.put) end) end,
    function()
      e.tiles(function(t)
        for i in weir.domain_loop(0, cd(len(t.i), 64)) do
          for _ in i:first_iter() do q.s:wait() end
          kv.get()
          for _ in i:last_iter() do q.s:use(); q.s:release() end
        end
      end)
    end }
end, { extent = tile, says = "len[" })
lists("tiles of a group, flat and by rows", function(e, x)
  local a, rows = e.ring "a", e.list "rows"
  local function of(g) return cd(max(rows(g), 0), 128) end
  return { function() loop(0, e.T, function(g) loop(0, of(g) * cd(e.N, 128), a.put) end) end,
    function() loop(0, e.T, function(g) loop(0, of(g), function() loop(0, cd(e.N, 128) + x, a.get) end) end) end }
end, {})
for _, c in ipairs { { "", function(_, op) op() end }, { ", under a condition", function(e, op) when(gt(e.K, 0), op) end } } do
  lists("rows of columns, and columns of rows, if a number that each step reads says so" .. c[1], function(e, x)
    local a, len = e.ring "a", e.list "len"
    local function if_any(op) c[2](e, function() when(gt(len(0), 0), op) end) end
    return { function() loop(0, e.N, function() loop(0, e.M, function() if_any(a.put) end) end) end, function() loop(0, e.M, function() loop(0, e.N + x, function() if_any(a.get) end) end) end }
  end, { says = "len[" })
end
lists("old and new keys", function(e, x)
  local kv, old, new = e.ring "kv", e.list "old", e.list "new"
  local function of(list, t) return cd(x == 0 and max(0, list(t.i)) or list(t.i), 64) end
  return { function() e.tiles(function(t) loop(0, of(old, t), kv.put); loop(0, of(new, t), kv.put) end) end, function() e.tiles(function(t) loop(0, of(old, t) + of(new, t), kv.get) end) end }
end, { extent = tile, says = "= -" })
lists("keys of a sequence, all but two and those two", function(e, x)
  local kv, at = e.ring "kv", e.list "at"
  local function n(t) return cd(min(at(t.i + 1) - at(t.i), t.i * 128 + 128), 64) end
  return { function() e.tiles(function(t) when(lt(t.i * 128, at(t.i + 1) - at(t.i)), function() loop(0, n(t), kv.put) end) end) end,
    function() e.tiles(function(t) when(lt(t.i * 128, at(t.i + 1) - at(t.i)), function() loop(0, n(t) - 2, kv.get); loop(max(0, n(t) - 2 + x), n(t), kv.get) end) end) end }
end, { extent = tile })

-- ---- what is not told: nothing false is said of it ----------------------------------------------------------------------------------------------
check("rows twice over, and flat", function(e, x)
  local a, o = e.ring "a", e.ring "o"
  return { function() loop(0, e.N, function() loop(0, 2, function() loop(0, e.M, a.put) end) end) end,
    function() loop(0, e.N, function() loop(0, e.M, a.get); loop(0, e.M, function() a.get(); o.put() end) end) end, function() loop(0, e.N * e.M + x, o.get) end }
end, { open = true })
check("taps of a row that lie in the picture, and as many", function(e, x)
  local a = e.ring "a"
  return { function() e.tiles(function(t) loop(0, 3, function(d) when(ge(t.i + d, 1) & le(t.i + d, e.T), function() loop(0, e.M, a.put) end) end) end) end,
    function() e.tiles(function(t) loop(max(0, t.i - 1), min(e.T, t.i + 2), function() loop(0, e.M + x, a.get) end) end) end }
end, { open = true, extent = tile })
lists("tiles of groups that may be less than none", function(e, x)
  local a, rows = e.ring "a", e.list "rows"
  return { function() loop(0, e.T, function(g) loop(0, cd(rows(g), 128) * cd(e.N, 128), a.put) end) end,
    function() loop(0, e.T, function(g) loop(0, cd(rows(g), 128), function() loop(0, cd(e.N, 128) + x, a.get) end) end) end }
end, { open = true })

-- ---- passes of one length --------------------------------------------------------------------------------------------------------------------
-- Each would be right with lengths of their own for what moves different rings (docs/proof.md): with the one length both are told apart.
check("two loaders, and one who takes what the one brings and then what the other does", function(e, x)
  local a, b = e.ring "a", e.ring "b"
  return { function() loop(0, e.N, a.put) end, function() loop(0, e.N + x, b.put) end, function() loop(0, e.N, a.get); loop(0, e.N, b.get) end } end)
check("two passes over the rows: sums, and what is made with them", function(e, x)
  local a, b, s = e.ring "a", e.ring "b", e.ring("s", 1)
  return { function() loop(0, e.N, a.put); loop(0, e.N, b.put) end, function() loop(0, e.N, a.get); s.put() end, function() s.get(); loop(0, e.N + x, b.get) end } end)
check("... with a loader each", function(e, x)
  local a, b, s = e.ring "a", e.ring "b", e.ring("s", 1)
  return { function() loop(0, e.N, a.put) end, function() loop(0, e.N, b.put) end, function() loop(0, e.N + x, a.get); s.put() end, function() s.get(); loop(0, e.N, b.get) end } end)
check("two layers of one width", function(e, x)
  local a, b, h = e.ring("a", 2), e.ring("b", 2), e.ring("h", 2)
  return { function() loop(0, e.N, a.put); loop(0, e.N, b.put) end, function() loop(0, e.N, a.get); loop(0, e.N, h.put) end,
    function() loop(0, e.N, function() h.get(); b.get() end); if x == 1 then b.get() end end } end)
check("a phase behind the other, each with a ring of its own", function(e, x)
  local a, b, s = e.ring "a", e.ring "b", e.ring("s", 1)
  local function own(r) return function() r.put(); r.get() end end
  return { function() loop(0, e.N, own(a)); s.put() end, function() s.get(); loop(0, e.N, own(b)); if x == 1 then s.get() end end } end)
check("... behind a fixed number of steps, and in steps that the launch gives", function(e, x)
  local a, b, c, s = e.ring "a", e.ring "b", e.ring "c", e.ring("s", 1)
  local by = e.M + 1
  return { function() loop(0, 2, c.put); loop(0, e.N, a.put, by); loop(0, e.N, b.put, by) end, function() loop(0, 2, c.get); loop(0, e.N, a.get, by); s.put() end,
    function() s.get(); loop(0, e.N + x, b.get, by) end } end)
check("... of members of a group, and of it", function(e, x)
  local a, b, c, s = e.ring "a", e.ring "b", e.ring "c", e.ring("s", 1)
  local g = e.k:group { name = "g", mode = "merge", members = { a.s, b.s } }
  local function both() for _, r in ipairs { g.a, g.b } do r:acquire(); r:fill(); r:commit() end end
  local function take() for _, r in ipairs { g.a, g.b } do r:wait(); r:use() end g:release() end
  return { function() loop(0, e.N, both); loop(0, e.N, c.put) end, function() loop(0, e.N, take); s.put() end, function() s.get(); loop(0, e.N + x, c.get) end } end)
check("... one of them beside two in a row", function(e, x)
  local a, b, s = e.ring "a", e.ring "b", e.ring("s", 1)
  return { function() loop(0, e.N, a.put); loop(0, e.M, a.put); loop(0, e.N, b.put) end, function() loop(0, e.N + e.M + x, a.get); s.put() end, function() s.get(); loop(0, e.N, b.get) end } end)
check("... between lengths that change places", function(e, x)
  local a, b, c, s = e.ring "a", e.ring "b", e.ring "c", e.ring("s", 1)
  return { function() loop(0, e.N, a.put); loop(0, e.M, c.put); loop(0, e.N, c.put); loop(0, e.N, b.put) end,
    function() loop(0, e.N, a.get); loop(0, e.N, c.get); loop(0, e.M + x, c.get); s.put() end, function() s.get(); loop(0, e.N, b.get) end } end, { open = true })
check("if there is any, as a dim above 0 and as one that is not 0", function(e, x)
  local a = e.ring "a"
  return { function() when(gt(e.N, 0), a.put) end, function() when(weir.ne(e.N, x), a.get) end } end)
check("all tiles but the first, above 0 and not 0", function(e, x)
  local a = e.ring "a"
  return { function() e.tiles(function(t) when(gt(t.i, 0), a.put) end) end, function() e.tiles(function(t) when(weir.ne(t.i, 0), a.get); if x == 1 then a.get() end end) end } end, { extent = tile })
tap.done()
