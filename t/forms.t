#!/usr/bin/env lua5.4
-- What the prover knows of numbers: which values are equal, how often loops run, which spans of a tensor meet, what a value can be. A
-- wrong yes here is a wrong SAFE, so beside each yes stands a neighbour that must be none.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local cd = weir.ceil_div

-- A kernel with some of everything that a value can be made of; body(v) runs in a schedule. v: its values by name.
local function kernel(body, o)
  o = o or {}
  local k = weir.kernel { name = "forms", arch = o.arch or "sm_90a", cluster = o.cluster }
  local v = { k = k, n = k:dim("n", o.n), m = k:dim "m", p = k:dim("p", { min = 3, max = 40 }), d8 = k:dim("d8", { multiple = 8 }), odd = k:dim("odd", { multiple = 1 << 40 }), big = k:dim("big", { multiple = 1 << 13 }) }
  for _, t in ipairs { "i32", "u32", "i64", "u64", "f32", "f64" } do v[t] = k:scalar { name = "s_" .. t, dtype = t } end
  local X = k:tensor { name = "X", dtype = "i32", shape = { v.n, 256 } }
  local X1 = k:tensor { name = "X1", dtype = "i32", shape = { v.n } }
  local Y = k:tensor { name = "Y", dtype = "i32", shape = { v.n, 256 }, out = true }
  v.x, v.wide = k:gmem_tile { name = "x", tensor = X, tile = { 1, 1 } }, k:gmem_tile { name = "wide", tensor = X, tile = { 1, 2 } }
  v.x1, v.y = k:gmem_tile { name = "x1", tensor = X1, tile = { 1 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 1, 1 } }
  v.q = k:work_queue { name = "q", axes = o.axes or { "i", "j" }, extent = o.extent and o.extent(v) or { v.n, 12 }, raster = o.raster and o.raster(v) }
  v.acc = k:reg_tile { name = "acc", dtype = "f32", tile = { 64, 64 } }
  v.gen = k:resource { name = "gen", space = "none", work = {
    make = weir.consumer_work { code = ";", returns = { "uniform i32 a" } }, ask = weir.consumer_work { code = ";", returns = { "uniform bool a" } } } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function()
    for t in weir.work_tile_loop(v.q) do
      v.t = t
      body(v)
      v.q:next()
    end
  end }
  return v
end

-- ---- equal values ------------------------------------------------------------------------------------------------------------------------

local function equal(name, want, make, o)
  local v = kernel(function(v)
    local a, b = make(v)
    v.want = { plan.same(v.k, a, b), plan.same(v.k, b, a) }
  end, o)
  tap.is({ want, want }, v.want, name)
  v.k:close()
end

equal("a value and itself", true, function(v) return v.n, v.n end)
equal("two dims", false, function(v) return v.n, v.m end)
for _, op in ipairs { "min", "max", "eq", "ne" } do
  equal(op .. " either way round", true, function(v) return weir[op](v.n, v.m), weir[op](v.m, v.n) end)
  equal(op .. " of others", false, function(v) return weir[op](v.n, v.m), weir[op](v.m, v.p) end)
  equal(op .. " of one other", false, function(v) return weir[op](v.n, v.m), weir[op](v.p, v.n) end)
end
equal("a sum either way round", true, function(v) return v.n + v.m, v.m + v.n end)
equal("a product either way round", true, function(v) return v.n * v.m, v.m * v.n end)
equal("a difference either way round", false, function(v) return v.n - v.m, v.m - v.n end)
equal("a quotient either way round", false, function(v) return v.n // v.m, v.m // v.n end)
equal("both conditions either way round", true, function(v) return weir.lt(v.n, 4) & weir.lt(v.m, 4), weir.lt(v.m, 4) & weir.lt(v.n, 4) end)
equal("one of two either way round", true, function(v) return weir.lt(v.n, 4) | weir.lt(v.m, 4), weir.lt(v.m, 4) | weir.lt(v.n, 4) end)
equal("both, and one of the two", false, function(v) return weir.lt(v.n, 4) & weir.lt(v.m, 4), weir.lt(v.m, 4) | weir.lt(v.n, 4) end)
equal("casts to two types", false, function(v) return weir.cast(v.n, "i64"), weir.cast(v.n, "u32") end)
equal("deep inside", true, function(v) return (v.n * v.m + v.p) // 3, (v.p + v.m * v.n) // 3 end)
equal("deep inside, another number", false, function(v) return (v.n * v.m + v.p) // 3, (v.p + v.m * v.n) // 5 end)

local function twice(_, f, ...)                            -- the same expression of two loops' indices
  local out = {}
  for i = 1, 2 do
    for index in weir.domain_loop(table.unpack((select(i, ...)))) do out[i] = f and f(index) or index end
  end
  return out[1], out[2]
end
equal("indices of two loops with the same numbers", true, function(v) return twice(v, nil, { 0, v.n * v.m, 2 }, { 0, v.m * v.n, 2 }) end)
equal("... of other starts", false, function(v) return twice(v, nil, { 0, v.n, 2 }, { 1, v.n, 2 }) end)
equal("... of other stops", false, function(v) return twice(v, nil, { 0, v.n, 2 }, { 0, v.m, 2 }) end)
equal("... of other steps", false, function(v) return twice(v, nil, { 0, v.n, 2 }, { 0, v.n, 3 }) end)
-- The same expression f(i, j) of the indices of two nests; bounds of each: { outer, inner }.
local function nests(f, g, x, y)
  return function(v)
    local out = {}
    for n, bounds in ipairs { x(v), (y or x)(v) } do
      for i in weir.domain_loop(table.unpack(bounds[1])) do
        for j in weir.domain_loop(table.unpack(bounds[2])) do out[n] = (n == 1 and f or g or f)(i, j) end
      end
    end
    return out[1], out[2]
  end
end
local function square(v) return { { 0, v.n * v.m }, { 0, v.m * v.n } } end
local function outer(i) return i end
local function inner(_, j) return j end
equal("indices of a nest of equal loops: the outer ones", true, nests(outer, nil, square))
equal("... the inner ones", true, nests(inner, nil, square))
equal("... the outer and the inner", false, nests(outer, inner, square))
equal("... the outer and the inner of one nest", false, function(v)
  local x, y
  for i in weir.domain_loop(0, v.n) do for j in weir.domain_loop(0, v.n) do x, y = i, j end end
  return x, y end)
equal("... an inner one and one alone", false, function(v)
  local x, y
  for _ in weir.domain_loop(0, v.n) do for j in weir.domain_loop(0, v.n) do x = j end end
  for i in weir.domain_loop(0, v.n) do y = i end
  return x, y end)
equal("... the inner ones of unequal loops", true, nests(inner, nil, function(v) return { { 0, v.n }, { 0, v.m } } end, function(v) return { { 0, v.p }, { 0, v.m } } end))
equal("... inner ones that begin at equal outer ones", true, function(v)
  local out = {}
  for n = 1, 2 do for i in weir.domain_loop(0, v.n) do for j in weir.domain_loop(i, v.n) do out[n] = i + j end end end
  return out[1], out[2] end)
equal("sums with these indices", true, function(v) return twice(v, function(i) return i + v.m end, { 0, v.n }, { 0, v.n }) end)
equal("two loads of one place of an input", true, function(v) return v.x:at(v.t.i, 3):load(), v.x:at(v.t.i, 3):load() end)
equal("... of another column", false, function(v) return v.x:at(v.t.i, 3):load(), v.x:at(v.t.i, 4):load() end)
equal("... of a tensor that is written", false, function(v) return v.y:at(v.t.i, 3):load(), v.y:at(v.t.i, 3):load() end)
equal("... through another tile", false, function(v) return v.x:at(v.t.i, 3):load(), v.wide:at(v.t.i, 3):load() end)
equal("... by tiles and by elements", false, function(v) return v.x:at(v.t.i, 3):load(), v.x:from(v.t.i, 3):load() end)
equal("... of a tensor of another rank", false, function(v) return v.x:at(v.t.i, 3):load(), v.x1:at(v.t.i):load() end)
equal("... of parts of a place", false, function(v) return v.wide:at(v.t.i, 3):cols(0, 1):load(), v.wide:at(v.t.i, 3):cols(0, 1):load() end)
equal("... from one element on", true, function(v) return v.x:from(v.n - 1, 3):load(), v.x:from(v.n - 1, 3):load() end)
equal("two reads of registers", false, function(v) return v.acc:read(), v.acc:read() end)
equal("two returns of one body", false, function(v) return v.gen:make(), v.gen:make() end)
local function nest(v, n, x) for _ = 1, n do x = weir.min(x * 3, v.n) end return x end
equal("eleven deep", true, function(v) return nest(v, 10, v.m + v.p), nest(v, 10, v.p + v.m) end)
equal("deeper than it looks", false, function(v) return nest(v, 20, v.m + v.p), nest(v, 20, v.p + v.m) end)
local function large(x) for _ = 1, 13 do x = x + x * x end return x end
equal("larger than it looks", false, function(v) return large(v.n + v.m), large(v.m + v.n) end)
equal("one of them larger than it looks", false, function(v) return large(v.n), v.n + v.m end)
equal("one of them larger: the other", false, function(v) return v.n + v.m, large(v.n) end)

-- ---- equal and opposite conditions ----------------------------------------------------------------------------------------------------------

local function truth(name, want, make)
  local v = kernel(function(v)
    local a, b = make(v)
    v.want = { plan.alike(v.k, a, b), plan.alike(v.k, b, a), plan.alike(v.k, ~a, b), plan.alike(v.k, a, ~b), plan.alike(v.k, ~a, ~b) }
  end)
  local other = want == "alike" and "opposite" or want == "opposite" and "alike" or want
  tap.is({ want, want, other, other, want }, v.want, name)
  v.k:close()
end

truth("itself", "alike", function(v) return weir.lt(v.n, v.m), weir.lt(v.n, v.m) end)
truth("a < b and b > a", "alike", function(v) return weir.lt(v.n, v.m), weir.gt(v.m, v.n) end)
truth("a < b and a >= b", "opposite", function(v) return weir.lt(v.n, v.m), weir.ge(v.n, v.m) end)
truth("a < b and b <= a", "opposite", function(v) return weir.lt(v.n, v.m), weir.le(v.m, v.n) end)
truth("a < b and a <= b", "unlike", function(v) return weir.lt(v.n, v.m), weir.le(v.n, v.m) end)
truth("a < b and b < a", "unlike", function(v) return weir.lt(v.n, v.m), weir.lt(v.m, v.n) end)
truth("a < b and a < c", "unlike", function(v) return weir.lt(v.n, v.m), weir.lt(v.n, v.p) end)
truth("a < b and c < b", "unlike", function(v) return weir.lt(v.n, v.m), weir.lt(v.p, v.m) end)
truth("n < 4 and n <= 3", "alike", function(v) return weir.lt(v.n, 4), weir.le(v.n, 3) end)
truth("n < 4 and n <= 4", "unlike", function(v) return weir.lt(v.n, 4), weir.le(v.n, 4) end)
truth("n < 4 and 3 < n", "opposite", function(v) return weir.lt(v.n, 4), weir.lt(3, v.n) end)
truth("n < 4 and 4 < n", "unlike", function(v) return weir.lt(v.n, 4), weir.lt(4, v.n) end)
truth("n < 4 and 4 <= n", "opposite", function(v) return weir.lt(v.n, 4), weir.le(4, v.n) end)
truth("n < 4 and m < 4", "unlike", function(v) return weir.lt(v.n, 4), weir.lt(v.m, 4) end)
truth("n < 4 and n < m", "unlike", function(v) return weir.lt(v.n, 4), weir.lt(v.n, v.m) end)
truth("of 64 bits", "alike", function(v) return weir.lt(v.i64, 4), weir.le(v.i64, 3) end)
truth("the greatest number: no next one", "alike", function(v) return weir.lt(2147483647, v.i64), weir.gt(v.i64, 2147483647) end)
truth("the greatest but one", "alike", function(v) return weir.lt(2147483646, v.i64), weir.ge(v.i64, 2147483647) end)
truth("n == 4 and 4 == n", "alike", function(v) return weir.eq(v.n, 4), weir.eq(4, v.n) end)
truth("n == 4 and n ~= 4", "opposite", function(v) return weir.eq(v.n, 4), weir.ne(v.n, 4) end)
truth("n == 4 and n == 5", "unlike", function(v) return weir.eq(v.n, 4), weir.eq(v.n, 5) end)
truth("n == 4 and n < 4", "unlike", function(v) return weir.eq(v.n, 4), weir.lt(v.n, 4) end)
truth("a == b and b == a", "alike", function(v) return weir.eq(v.n + 1, v.m), weir.eq(v.m, v.n + 1) end)
truth("a == b and b ~= a", "opposite", function(v) return weir.eq(v.n, v.m), weir.ne(v.m, v.n) end)
truth("a == b and a == c", "unlike", function(v) return weir.eq(v.n, v.m), weir.eq(v.n, v.p) end)
truth("a == b and c == a", "unlike", function(v) return weir.eq(v.n, v.m), weir.eq(v.p, v.n) end)
truth("a == b and b == c", "unlike", function(v) return weir.eq(v.n, v.m), weir.eq(v.m, v.p) end)
truth("floats: a < b and b > a", "alike", function(v) return weir.lt(v.f32, v.f64), weir.gt(v.f64, v.f32) end)
truth("floats: neither less nor not less", "unlike", function(v) return weir.lt(v.f32, v.f64), weir.ge(v.f32, v.f64) end)
truth("floats: a <= b and b >= a", "alike", function(v) return weir.le(v.f32, v.f64), weir.ge(v.f64, v.f32) end)
truth("a float and a whole number: neither less nor not less", "unlike", function(v) return weir.lt(v.n, v.f32), weir.ge(v.n, v.f32) end)
truth("no sign: a < b and a >= b", "unlike", function(v) return weir.lt(v.u32, v.n), weir.ge(v.u32, v.n) end)
truth("no sign, either way round", "alike", function(v) return weir.eq(v.u32, v.n), weir.eq(v.n, v.u32) end)
truth("a comparison and none", "unlike", function(v) return weir.lt(v.n, 4), weir.lt(v.n, 4) & weir.lt(v.m, 4) end)
local function ab(v) return weir.lt(v.n, 4), weir.eq(v.m, 7) end
truth("a and b, b and a", "alike", function(v) local a, b = ab(v) return a & b, weir.eq(7, v.m) & weir.gt(4, v.n) end)
truth("a and b, not a or not b", "opposite", function(v) local a, b = ab(v) return a & b, ~a | ~b end)
truth("... written with opposites", "opposite", function(v) local a, b = ab(v) return a & b, weir.ne(v.m, 7) | weir.ge(v.n, 4) end)
truth("a and b, not a and not b", "unlike", function(v) local a, b = ab(v) return a & b, ~a & ~b end)
truth("a and b, a or b", "unlike", function(v) local a, b = ab(v) return a & b, a | b end)
truth("a and b, a and c", "unlike", function(v) local a, b = ab(v) return a & b, a & weir.lt(v.p, 9) end)
truth("a and b, c and a", "unlike", function(v) local a, b = ab(v) return a & b, weir.lt(v.p, 9) & a end)
truth("not not a", "alike", function(v) local a = ab(v) return ~~a, weir.le(v.n, 3) end)
truth("what a body says, and a comparison", "unlike", function(v) return v.gen:ask(), weir.lt(v.n, 4) end)
truth("conditions compared", "alike", function(v) local a, b = ab(v) return weir.eq(a, b), weir.eq(b, a) end)
truth("what a scalar says", "alike", function(v) return weir.cast(v.n + v.m, "bool"), weir.cast(v.m + v.n, "bool") end)
truth("what two scalars say", "unlike", function(v) return weir.cast(v.n, "bool"), weir.cast(v.m, "bool") end)
local function chain(v, n, first) local c = first for i = 1, n do c = c & weir.lt(v.p, 10 + i) end return c end
truth("a dim that is not 0", "alike", function(v) return weir.gt(v.n, 0), weir.ne(v.n, 0) end)
truth("... that is", "opposite", function(v) return weir.gt(v.n, 0), weir.eq(v.n, 0) end)
truth("a scalar that is not 0 may be below", "unlike", function(v) return weir.gt(v.i32, 0), weir.ne(v.i32, 0) end)
truth("a dim that is not 1", "unlike", function(v) return weir.gt(v.n, 1), weir.ne(v.n, 1) end)
truth("a dim of at least 3 that is 3", "alike", function(v) return weir.lt(v.p, 4), weir.eq(3, v.p) end)
truth("... that is 0: never", "unlike", function(v) return weir.lt(v.p, 1), weir.eq(v.p, 0) end)
truth("not the first tile", "alike", function(v) return weir.gt(v.t.i, 0), weir.ne(v.t.i, 0) end)
truth("not a dim's sum with another", "unlike", function(v) return weir.gt(v.n + v.i32, 0), weir.ne(v.n + v.i32, 0) end)
truth("five deep", "alike", function(v) return chain(v, 4, weir.lt(v.n, 4)), chain(v, 4, weir.le(v.n, 3)) end)
truth("deeper than it looks", "unlike", function(v) return chain(v, 7, weir.lt(v.n, 4)), chain(v, 7, weir.le(v.n, 3)) end)

-- ---- how often loops run --------------------------------------------------------------------------------------------------------------------

-- make(v): a list of { start, stop, step }. loops: a text for each, "2 + 1 x a but 1": 2 times, and one more for each unit of a beyond the
-- first; classes: of what a and so on are between, what they are multiples of; given: also how many they are.
local function counted(name, loops, classes, make, o)
  o = o or {}
  local v = kernel(function(v)
    for _, l in ipairs(make(v)) do for _ in weir.domain_loop(l[1], l[2], l[3] or 1) do end end
  end, o)
  tap.is({ loops, classes }, { plan.trips(v.k, o.lanes, o.given, o.deep, o.grouped) }, name)
  v.k:close()
end
local function upto(...) local out = {} for i, x in ipairs { ... } do out[i] = { 0, x } end return out end

local ones = { "0 + 1 x a", "0 + 1 x a", "0 + 1 x a", "0 + 1 x a" }
local steady = { "a: 0.. by 1, steady", "b: 0.. by 1, steady", "c: 0.. by 1, steady", "d: 0.. by 1, steady" }
local others = { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x d" }
local function first(n, list) return { table.unpack(list, 1, n) } end
local huge = 1 << 40                                       -- beyond what a launch counts with

do -- what a product's factors are asked for, and the loop itself: four loops
  local v = kernel(function(v) for _ in weir.domain_loop(0, v.p * v.p * v.p) do end end)
  tap.is({ { "0 + 1 x a", "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, { false, 27 } }, { plan.nest(v.k, { dims = { 1, 1, 3 } }) }, "a product's factors, and the product; in a launch")
  v.k:close()
end
counted("plain numbers", { "always 4", "always 0", "always 3" }, {}, function() return { { 0, 4 }, { 4, 0 }, { 9, 3, -2 } } end)
counted("a dim", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n) end)
counted("one more, one less", { "0 + 1 x a but 1", "0 + 1 x a but 2", "0 + 1 x a" }, { "a: 1.. by 1, steady" }, function(v) return upto(v.n, v.n - 1, v.n + 1) end)
counted("a dim with bounds", { "0 + 1 x a" }, { "a: 3.. by 1, steady" }, function(v) return upto(v.p) end)
counted("few at most", { "0 + 1 x a" }, { "a: 1..10 by 1, steady" }, function(v) return upto(cd(v.p, 4)) end)
counted("many at least", { "0 + 1 x a" }, { "a: 16.. by 1, steady" }, function(v) return upto(v.p + 30) end)
counted("never", { "0 + 1 x a" }, { "a: 0..0 by 1, steady" }, function(v) return upto(v.p - 50) end)
counted("downwards", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return { { v.n, 0, -1 } } end)
counted("downwards by two, and upwards", { "0 + 1 x a", "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return { { v.n, 0, -2 }, { 0, v.n, 2 } } end)
counted("between two dims", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return { { v.n, v.m }, { v.m, v.n } } end)
counted("what cancels", { "always 5" }, {}, function(v) return { { v.n - 2, v.n + 3 } } end)
counted("the same by another way, but for one that is not seen", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v)
  return upto(cd(v.n, 4), (v.n + 3) // 4, (v.n + 3 - (v.n + 3) % 4) // 4, -((-v.n) // 4)) end)
counted("a quotient rounded another way", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(cd(v.n, 4), cd(v.n, 5)) end)
counted("a quotient of another dim", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(cd(v.n, 4), cd(v.m, 4)) end)
counted("of a number more: no longer one class", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 1.. by 1, steady" }, function(v) return upto(cd(v.n, 4), cd(v.n + 2, 4)) end)
counted("of a whole step more: one class", { "0 + 1 x a but 1", "0 + 1 x a" }, { "a: 1.. by 1, steady" }, function(v) return upto(cd(v.n, 4), cd(v.n + 4, 4)) end)
counted("a remainder, which stays below 4", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0..3 by 1, steady" }, function(v) return upto(v.n, v.p % 4) end)
counted("a multiple divided", { "0 + 1 x a", "0 + 1 x a", "0 + 3 x a" }, { "a: 0.. by 1, steady", "b: 0.. by 3, steady" }, function(v)
  return upto(v.n, 6 * v.n // 6, 6 * v.n // 2) end)
counted("a multiple and a rest that stays within a step", { "0 + 1 x a", "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n, (4 * v.n + weir.min(v.m, 3)) // 4) end)
counted("... rounded up: 0 and what is more part", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(v.n, cd(4 * v.n + weir.min(v.m, 3), 4)) end)
counted("... rounded up, always more than 0", { "0 + 1 x a but 1", "0 + 1 x a" }, { "a: 1.. by 1, steady" }, function(v) return upto(v.n, cd(4 * v.n + weir.min(v.p, 4), 4)) end)
counted("... a rest that may go beyond", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(v.n, (4 * v.n + v.p) // 4) end)
counted("... a rest without an end", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(v.n, (4 * v.n + v.m) // 4) end)
counted("... a rest without a beginning", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(v.n, (4 * v.n + weir.min(v.i32, 3)) // 4) end)
counted("multiples of what a dim is one of", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 3 x a" },
  { "a: 0.. by 8, steady", "b: 0.. by 2, steady", "c: 0.. by 1, steady", "d: 0.. by 24, steady" }, function(v) return upto(v.d8, cd(v.d8, 4), cd(v.d8, 16), 3 * v.d8) end)
counted("... and some", { "0 + 1 x a" }, { "a: 12.. by 4, steady" }, function(v) return upto(v.d8 * 2 + 12) end)
counted("a scalar", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.i32) end)
counted("floats to whole numbers: each expression a class", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v)
  return upto(weir.cast(v.f32, "i32"), weir.cast(v.f32, "i32"), weir.cast(v.f32 + 1.0, "i32")) end)
counted("the index of an outer loop without that of an inner one, which run through the same numbers", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x d" },
  { steady[1], "b: 0.. by 1", "c: 0.. by 1", "d: 0.. by 1" }, function(v)
    for i in weir.domain_loop(0, v.n) do
      for j in weir.domain_loop(0, v.n) do
        for _, to in ipairs { i, j, i - j } do for _ in weir.domain_loop(0, to) do end end
      end
    end
    return {} end)
counted("steps of a launch: what an index is, is another number", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x a" }, { "a: 0.. by 1, steady", "b: 5.. by 1" }, function(v)
  for i in weir.domain_loop(5, v.n, v.m) do
    for _ in weir.domain_loop(0, weir.max(i, 5)) do end
    for _ in weir.domain_loop(5, v.n, v.m) do end
  end
  return {} end)
counted("a step so large that it is not counted with: there may be no round at all", first(1, others), first(1, steady), function(v) return { { 5, v.n, huge } } end)
counted("steps of a launch: a class for each", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v)
  return { { 0, v.n, v.m }, { 0, v.n, v.m }, { 0, v.m, v.n } } end)
counted("starts, stops and steps of a tile", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a: 1.. by 1", "b: 0.. by 1", "c: 0.. by 1" }, function(v)
  return { { v.t.i, v.n }, { 0, v.t.i }, { 0, v.n, v.t.i + 1 } } end)
local pair = { cluster = { m = 2 } }
counted("starts, stops and steps of a CTA", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a: 0.. by 1, per CTA", "b: 0.. by 1, per CTA", "c: 0.. by 1, per CTA" }, function(v)
  return { { v.k.cta.rank, v.n }, { 0, v.k.cta.rank + v.n }, { 0, v.n, v.k.cta.rank + 1 } } end, pair)
counted("... one alone has one coordinate", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.k.cta.rank + v.n) end)
counted("what a body returns", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1", "b: 0.. by 1" }, function(v) return upto(v.gen:make(), v.gen:make()) end)
counted("... as a start, as a step", first(2, others), { "a: 0.. by 1", "b: 0.. by 1" }, function(v) return { { v.gen:make(), v.n }, { 0, v.n, v.gen:make() } } end)
counted("... in each CTA", { "0 + 1 x a" }, { "a: 0.. by 1, per CTA" }, function(v) return upto(v.gen:make()) end, pair)
counted("casts to more bits and back", first(3, ones), first(1, steady), function(v) return upto(v.n, weir.cast(v.n, "i64"), weir.cast(weir.cast(v.n, "i64"), "i32")) end)
counted("casts of a number without sign: to more bits, and to as many of what the launch knows", ones, first(1, steady), function(v)
  return upto(v.u32, weir.cast(v.u32, "i64"), weir.cast(v.u32, "i32"), weir.cast(v.u32 * 1 + 0, "i32")) end)
counted("casts of 64 bits that the launch knows", first(3, ones), { "a: 0.. by 1" }, function(v)
  local x = (v.i64 + v.n) // (v.t.j + v.u64 + v.k.cta.rank)
  return upto(x, weir.cast(x, "i32"), weir.cast(x, "i64")) end)
counted("... of memory, which no launch looks at", first(2, others), { "a: 0.. by 1", "b: 0.. by 1" }, function(v)
  local x = weir.cast(v.gen:make(), "i64") + v.i64
  return upto(x, weir.cast(x, "i32")) end)
counted("... of a float", first(2, others), first(2, steady), function(v)
  local x = weir.cast(v.f32, "i64") + v.i64
  return upto(x, weir.cast(x, "i32")) end)
counted("... of a load", first(2, others), { "a: 0.. by 1", "b: 0.. by 1" }, function(v)
  local x = v.x:at(0, 0):load() + v.i64
  return upto(x, weir.cast(x, "i32")) end)
counted("... of a loop's index", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1" }, function(v)
  for i in weir.domain_loop(0, v.n) do
    for _, to in ipairs { v.i64 + i, weir.cast(v.i64 + i, "i32") } do for _ in weir.domain_loop(0, to) do end end
  end
  return {} end)
counted("... from fewer bits", first(2, ones), first(1, steady), function(v) return upto(weir.cast(v.n, "i8"), weir.cast(weir.cast(v.n, "i8"), "i32")) end)
counted("... to fewer bits, and without a sign", others, steady, function(v) return upto(v.n, weir.cast(v.n, "i8"), weir.cast(v.n, "i16"), weir.cast(v.n, "u32")) end)
counted("... of a condition", first(2, ones), first(1, steady), function(v) return upto(weir.cast(weir.eq(v.n, v.m), "i32"), weir.cast(weir.eq(v.m, v.n), "i32")) end)
counted("... too deep to be looked at", first(2, others), first(2, steady), function(v)
  local x = v.i64
  for i = 1, 27 do x = weir.min(x * 3, v.n + i) end
  return upto(x, weir.cast(x, "i32")) end)
counted("... of a tile's number", first(2, ones), { "a: 0.. by 1" }, function(v) return upto(v.number + v.i64, weir.cast(v.number + v.i64, "i32")) end,
  { axes = { "i" }, extent = function() return { 12 } end, raster = function(v) return function(i) v.number = i return i end end })
counted("... too large to be looked at", first(2, others), first(2, steady), function(v)
  local x = v.i64
  for _ = 1, 13 do x = weir.min(x * 3, x) end
  return upto(x, weir.cast(x, "i32")) end)

counted("made of more than eight", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v)
  local s = v.n
  for _, x in ipairs { v.m, v.i32, v.u32, v.i64, v.d8, v.p, cd(v.n, 3), cd(v.n, 5) } do s = s + x end
  return upto(s - v.n, s) end)

-- Numbers that no launch counts with: what is made of them is one atom, equal to itself alone.
counted("a huge number", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n - v.m + huge) end)
counted("huge numbers cancel all the same", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto((v.n + huge) - huge) end)
counted("a product beyond 64 bits", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n * huge * huge) end)
counted("... in steps: what is made of the huge one", { "0 + 1 x a" }, { "a: 0.. by 16777216, steady" }, function(v) return upto(v.n * (1 << 20) * (1 << 20) * (1 << 24)) end)
counted("a sum beyond 32 bits", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return { { -2000000000, v.n * 0 + 2000000000 } } end)
counted("a huge divisor", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n // huge) end)
counted("a divisor below 0", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.n // -4) end)
counted("a divisor that is a dim", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(v.n // v.m, v.n % v.m) end)
counted("a huge step", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return { { 0, v.n, v.n - v.m + huge }, { v.n, 0, v.n - v.m + math.mininteger } } end)
counted("a remainder of eight terms: all of it is one", { "0 + 1 x a", "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v)
  return upto((v.m + v.i32 + v.u32 + v.i64 + v.d8 + v.p + cd(v.n, 3) + cd(v.n, 5)) % 3, (v.m + v.i32 + v.u32 + v.i64 + v.d8 + v.p + cd(v.n, 3) + cd(v.n, 5)) % 3) end)
local function thrice(v, n) local x = v.n for _ = 1, n do x = x * 3 + v.m end return x end
counted("written out", { "0 + 1 x a", "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(thrice(v, 8), v.n * 6561 + v.m * 3280) end)
counted("written out: deeper than is looked at", { "0 + 1 x a", "0 + 1 x b" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady" }, function(v) return upto(thrice(v, 13), v.n * 1594323 + v.m * 797161) end)
counted("a remainder by a large number", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto((8 * v.n + v.m) % 2000000000) end)
counted("a dim that is a multiple of too much", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v) return upto(v.odd) end)

-- Where a form would have more than eight terms, or a product more than eight factors, nothing is known of it: equal to itself alone.
local function power(x, n) local all = x for _ = 2, n do all = all * x end return all end
local function squares(x) x = x * x x = x * x return x * x end
counted("eight factors, whichever are multiplied first", first(2, ones), first(1, steady), function(v) return upto(power(v.n, 8), squares(v.n)) end)
counted("nine are too many", first(2, others), first(2, steady), function(v) return upto(power(v.n, 9), squares(v.n) * v.n) end)
counted("... and a sum with them is none", first(2, others), first(2, steady), function(v) return upto((v.n + 1) * power(v.n, 8), power(v.n, 8) * v.n + power(v.n, 8)) end)
counted("products of large multiples", { "0 + 1 x a", "0 + 1 x b" }, first(2, steady), function(v) return upto((v.n * 65536) * (v.m * 65536), v.m * (v.n * 65536) * 65536) end)
counted("... whatever is added to it", first(2, others), first(2, steady), function(v) return upto((power(v.n, 8) + v.m) * (v.n + 1), v.m * v.n) end)
local function eight(v) return v.m + v.i32 + v.u32 + v.i64 + v.d8 + v.p + cd(v.n, 3) + cd(v.n, 5) end
counted("the less of eight terms and a ninth", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x b" }, first(2, steady), function(v)
  return upto(eight(v), weir.min(eight(v), v.n), weir.min(eight(v), v.n)) end, { deep = true })
counted("the more of them", { "0 + 1 x a", "0 + 1 x b" }, first(2, steady), function(v) return upto(eight(v), weir.max(eight(v), v.n)) end, { deep = true })
counted("minima that the proof sees through", { "0 + 1 x a but 3", "0 + 1 x a", "0 + 1 x a but 3" }, { "a: 3.. by 1, steady" }, function(v)
  return upto(weir.min(v.n, v.n + 3), weir.max(v.n, v.n + 3), v.n) end, { deep = true })
counted("a quotient's quotient, and a number far beyond the dividend's own", { "0 + 1 x a but 262144", "0 + 1 x a" }, { "a: 16.. by 1, steady" }, function(v)
  return upto(cd(v.n, 65536 * 4), cd(cd(v.n, 65536) + (1 << 20), 4)) end)
counted("... and what is left over of it", { "0 + 1 x a but 2", "0 + 1 x a" }, { "a: 3.. by 1, steady" }, function(v)
  return upto(cd(v.n + 3 * 65536, 65536 * 4), cd(cd(v.n, 65536) + 11, 4)) end)
counted("a quotient's quotient by more than 32 bits", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, first(2, steady), function(v)
  return upto(cd(cd(v.n, 65536), 32768), cd(v.n, 65536 * 32768), cd(cd(v.n, 65536), 65536)) end)
counted("... either way round: two", first(2, others), first(2, steady), function(v) return upto(cd(cd(v.n, 65536), 131072), cd(cd(v.n, 131072), 65536)) end)
counted("what falls below 0 without a sign is large in 64 bits, and not 5 less", first(2, others), first(2, steady), function(v)
  return upto(v.u32, weir.cast(v.u32 - 5, "i64")) end)

-- Sums of other loops' counts.
counted("one after the other", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x a + 1 x b" }, first(3, steady), function(v) return upto(v.n, v.m, v.n + v.m) end)
counted("the sum first", { "0 + 1 x b + 1 x c", "0 + 1 x b", "0 + 1 x c" }, first(3, steady), function(v) return upto(v.n + v.m, v.n, v.m) end)
counted("three of them", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x a + 1 x b + 1 x c" },
  { steady[1], steady[2], "c: 0.. by 8, steady", steady[4] }, function(v) return upto(v.n, v.m, v.d8, v.n + v.m + v.d8) end)
counted("four are too many", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x d", "0 + 1 x e" },
  { steady[1], steady[2], "c: 0.. by 8, steady", "d: 3.. by 1, steady", "e: 3.. by 1, steady" }, function(v) return upto(v.n, v.m, v.d8, v.p, v.n + v.m + v.d8 + v.p) end)
counted("twice and four times", { "0 + 1 x a", "0 + 2 x a", "0 + 4 x a" }, { steady[1], "b: 0.. by 2, steady", "c: 0.. by 4, steady" }, function(v) return upto(v.n, v.n * 2, v.n * 4) end)
counted("64 times, and 65: too often", { "0 + 1 x a", "0 + 64 x a", "0 + 1 x c" }, { steady[1], "b: 0.. by 64, steady", "c: 0.. by 65, steady" }, function(v) return upto(v.n, v.n * 64, v.n * 65) end)
counted("once and twice", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x a + 2 x b" }, first(3, steady), function(v) return upto(v.n, v.m, v.n + v.m * 2) end)
counted("a sum and one more", { "0 + 1 x a", "0 + 1 x b", "1 + 1 x a + 1 x b" }, { steady[1], steady[2], "c: 1.. by 1, steady" }, function(v) return upto(v.n, v.m, v.n + v.m + 1) end)
counted("a sum and two more, and the sum", { "0 + 1 x a", "0 + 1 x b", "2 + 1 x a + 1 x b", "0 + 1 x a + 1 x b" }, { steady[1], steady[2], "c: 2.. by 1, steady" },
  function(v) return upto(v.n, v.m, v.n + v.m + 2, v.n + v.m) end)
counted("... and one less than it", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x c but 3" }, { steady[1], steady[2], "c: 2.. by 1, steady" },
  function(v) return upto(v.n, v.m, v.n + v.m + 2, v.n + v.m - 1) end)
counted("shorter than a part's head start", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a: 2.. by 1, steady", steady[2], steady[3] }, function(v) return upto(v.n + 2, v.m, v.n + v.m) end)
counted("a part that may be cut off at 0", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, first(3, steady), function(v) return upto(v.n - 1, v.m, v.n + v.m - 1) end)
counted("a part of others is not taken apart", { "0 + 1 x b + 1 x c", "0 + 1 x b", "0 + 1 x c", "0 + 1 x d", "0 + 1 x e" },
  { "a: 3.. by 1, steady", "b: 0.. by 1, steady", "c: 3.. by 1, steady", "d: 0.. by 1, steady", "e: 0.. by 1, steady" },
  function(v) return upto(v.n + v.m + v.p, v.n + v.m, v.p, v.n, v.m) end)
counted("the sum beside a plain number", { "0 + 1 x a", "0 + 1 x b", "always 3", "0 + 1 x a + 1 x b" }, first(3, steady), function(v) return upto(v.n, v.m, 3, v.n + v.m) end)
counted("eight, and one of another", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a: 0.. by 1, steady", "b: 0.. by 1, steady", "c: 0.. by 1, steady" }, function(v)
  local s = v.m
  for _, x in ipairs { v.i32, v.u32, v.i64, v.d8, v.p, cd(v.n, 3), cd(v.n, 5) } do s = s + x end
  return upto(v.n, cd(v.n, 7), s) end)

-- Loops of several units a step: "1 x c / 4 but 1", one for each 4 units of c but its last. d: what stands beside n, by loop.
local function grouped(name, loops, least, by, d)
  local classes = {}
  for i, x in ipairs(least) do classes[i] = ("%s: %d.. by 1, steady"):format(("abc"):sub(i, i), x) end
  counted(name, loops, classes, function(v)
    local to = {}
    for i, m in ipairs(by) do to[i] = m == 1 and v.n or cd(v.n + (d and d[i] or 0), m) end
    return upto(table.unpack(to))
  end, { grouped = true })
end
grouped("blocks of 4 and of 6", { "0 + 1 x c / 4", "0 + 1 x c / 6" }, { 0, 0, 0 }, { 4, 6 })
counted("... what there are of it in a launch, no loop says", { "0 + 1 x c / 4", "0 + 1 x c / 6" }, { "a = 2: 0.. by 1, steady", "b = 2: 0.. by 1, steady", "c = ?: 0.. by 1, steady" },
  function(v) return upto(cd(v.n, 4), cd(v.n, 6)) end, { grouped = true, given = { dims = { 7 } } })
grouped("... of one more: by what both divide, not by two of it", { "0 + 1 x c / 4 but 1", "0 + 1 x c / 6" }, { 0, 1, 1 }, { 4, 6 }, { 0, 1 })
grouped("blocks of 64 and of 96", { "0 + 1 x c / 2", "0 + 1 x c / 3" }, { 0, 0, 0 }, { 64, 96 })
grouped("... the first of 32 more", { "0 + 1 x c / 2", "0 + 1 x c / 3 but 1" }, { 1, 0, 1 }, { 64, 96 }, { 32, 0 })
grouped("... both of one more", { "0 + 1 x c / 2", "0 + 1 x c / 3" }, { 1, 1, 1 }, { 64, 96 }, { 1, 1 })
grouped("... one of one more: there are no such parts", { "0 + 1 x a", "0 + 1 x b" }, { 0, 1 }, { 64, 96 }, { 0, 1 })
grouped("blocks of 18, and of 12 of 6 more", { "0 + 1 x c / 3 but 1", "0 + 1 x c / 2" }, { 0, 1, 1 }, { 18, 12 }, { 0, 6 })
grouped("... the other way round", { "0 + 1 x c / 2", "0 + 1 x c / 3 but 1" }, { 1, 0, 1 }, { 12, 18 }, { 6, 0 })
grouped("blocks of 3 and of 17: that many are too many", { "0 + 1 x a", "0 + 1 x b" }, { 0, 0 }, { 3, 17 })
grouped("... the other way round", { "0 + 1 x a", "0 + 1 x b" }, { 0, 0 }, { 17, 3 })
grouped("blocks of what a loop runs through one by one", { "0 + 1 x a", "0 + 1 x a / 16", "0 + 1 x c" }, { 0, 0, 0 }, { 1, 16, 17 })
-- Lanes of a loop, and counts for one launch.
local function longer(v) local s = v.m for _, x in ipairs { v.i32, v.u32, v.i64, v.d8, v.p, cd(v.n, 3), cd(v.n, 5), cd(v.n, 7) } do s = s + x end return s end
counted("lanes of what no form tells: the loop that they are dealt from, not theirs", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x a" }, first(2, steady),
  function(v) return { { 0, longer(v), 2 }, { 0, longer(v), 2 }, { 0, longer(v), 2 } } end, { lanes = { 0, [3] = 0 } })
counted("... of one beyond 32 bits", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x a" }, first(2, steady),
  function(v) local l = { -2000000000, v.n + 2000000000, 2 } return { l, l, l } end, { lanes = { 0, [3] = 0 } })
counted("lanes of a loop that is dealt", { "0 + 1 x a", "0 + 1 x a", "0 + 1 x b" }, { "a = 7: 0.. by 1, steady", "b = 4: 0.. by 1, steady" },
  function(v) return { { 0, v.n, 2 }, { 1, v.n, 2 }, { 0, v.n, 2 } } end, { lanes = { 0, 1 }, given = { dims = { 7 } } })
counted("downwards, and by steps of the launch", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a = 4: 0.. by 1, steady", "b = 3: 0.. by 1, steady", "c = 0: 0.. by 1, steady" },
  function(v) return { { v.n, 0, -2 }, { 0, v.n, v.m }, { v.n + 1, 2, v.m } } end, { given = { dims = { 7, 3 } } })
counted("one more of a class than its first loop", { "0 + 1 x a but 2", "0 + 1 x a" }, { "a = 9: 2.. by 1, steady" }, function(v) return upto(v.n, v.n + 2) end, { given = { dims = { 7 } } })
counted("what the arguments do not say", { "0 + 1 x a", "0 + 1 x b", "0 + 1 x c" }, { "a = ?: 0.. by 1, steady", "b = ?: 0.. by 1, steady", "c = ?: 0.. by 1, steady" },
  function(v) return { { v.i32, v.n }, { 0, v.i32 }, { 0, v.n, v.i32 } } end, { given = { dims = { 7 } } })
counted("a step of 0", { "0 + 1 x a" }, { "a = ?: 0.. by 1, steady" }, function(v) return { { 0, v.n, v.m } } end, { given = { dims = { 7, 0 } } })
counted("steps of a tile", { "0 + 1 x a", "0 + 1 x a" }, { "a = 2: 0.. by 1" }, function(v) return { { 0, v.n, v.t.i + 1 }, { 0, v.n, v.t.i + 1 } } end,
  { given = { dims = { 7 }, coord = { 3, 0 } } })
counted("a number too large for the proof in each quotient", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, function(v)
  local x = v.d8
  for _ = 1, 9 do x = cd(x, 16) end
  return upto(x) end)
local function thirds(levels) return function(v)
  local x = v.big
  for _ = 1, levels do x = cd(3 * x, 2) end
  return upto(x) end end
counted("a multiple in six quotients", { "0 + 1 x a" }, { ("a: 0.. by %d, steady"):format(3 ^ 6 * 2 ^ 7) }, thirds(6))
counted("... in seven: what it is one of is not looked for", { "0 + 1 x a" }, { "a: 0.. by 1, steady" }, thirds(7))
counted("as many by 8 at each step", { "0 + 1 x a" }, { "a: 0.. by 8, steady" }, function(v) return upto(cd(v.big, 1 << 10)) end)

do -- the index of a loop that stands in one of as many steps, and in one of steps that only the launch knows
  local v = kernel(function(v)
    for _ in weir.domain_loop(0, v.n, v.m) do for i in weir.domain_loop(0, v.n) do for _ in weir.domain_loop(0, i) do end end end
    for _ in weir.domain_loop(0, v.n) do for i in weir.domain_loop(0, v.n) do for _ in weir.domain_loop(0, i) do end end end
  end)
  tap.is({ "0 + 1 x a", "0 + 1 x b", "0 + 1 x c", "0 + 1 x b", "0 + 1 x b", "0 + 1 x d" }, (plan.trips(v.k)), "an inner index among as many steps, or among as many as only the launch knows")
  v.k:close()
end

-- What counts are between.
local function bounds(name, want, make, o)
  counted(name, { "0 + 1 x a" }, { "a: " .. want }, function(v) return upto(make(v)) end, o)
end
bounds("at least the more of two", "3.. by 1, steady", function(v) return weir.max(v.n, 3) end)
bounds("... either way round", "3.. by 1, steady", function(v) return weir.max(3, v.n) end)
bounds("at most the less of two", "0..3 by 1, steady", function(v) return weir.min(v.n, 3) end)
bounds("... either way round", "0..3 by 1, steady", function(v) return weir.min(3, v.n) end)
bounds("without the more of two", "0..4 by 1, steady", function(v) return 7 - weir.max(v.n, 3) end)
bounds("without the less of two", "4..7 by 1, steady", function(v) return 7 - weir.min(v.n, 3) end)
bounds("the less of two without one of them", "0..0 by 1, steady", function(v) return weir.min(v.n, v.m) - v.n end)
bounds("the less of a number and more, without it", "0..0 by 1, steady", function(v) return weir.min(v.n, v.m + v.n) - v.n end)
bounds("a number without the less of it and another", "0.. by 1, steady", function(v) return v.n - weir.min(v.n, v.m) end)
bounds("... and two", "2.. by 1, steady", function(v) return v.n + 2 - weir.min(v.n, v.m) end)
bounds("the more of two without one of them, and two", "2.. by 1, steady", function(v) return weir.max(v.n, v.m) + 2 - v.n end)
bounds("a number without the more of it and another, and two", "0..2 by 1, steady", function(v) return v.n + 2 - weir.max(v.n, v.m) end)
bounds("the less of two, each at least something", "3.. by 1, steady", function(v) return weir.min(v.p, v.n + 4) end)
bounds("... either way round", "3.. by 1, steady", function(v) return weir.min(v.n + 4, v.p) end)
bounds("... beside too much to put one in the other's place", "3.. by 1, steady", function(v)
  return v.p + weir.min(cd(v.n, 2) + cd(v.n, 3), v.n) + cd(v.m, 2) + cd(v.m, 3) + cd(v.m, 5) + cd(v.m, 7) + cd(v.m, 11) + cd(v.m, 13) end)
bounds("... nor the other", "3.. by 1, steady", function(v)
  return v.p + weir.min(v.n, cd(v.n, 2) + cd(v.n, 3)) + cd(v.m, 2) + cd(v.m, 3) + cd(v.m, 5) + cd(v.m, 7) + cd(v.m, 11) + cd(v.m, 13) end)
local function more(n) return function(v)
  local x = v.p
  for i = 1, n do x = weir.max(x, v.n - i) * 2 end
  return x end
end
bounds("more and more", "12.. by 2, steady", more(2))
bounds("more and more than is looked at", "0.. by 2, steady", more(9))
bounds("without a dim of no more than 40", "10.. by 1, steady", function(v) return 50 - v.p end)
bounds("a quotient of what may be below 0", "0.. by 1, steady", function(v) return cd(v.i32, 3) end)
bounds("without a quotient of no more than 40", "0..8 by 1, steady", function(v) return 10 - cd(v.p + 5, 4) end)
bounds("without a quotient of a dim", "0..9 by 1, steady", function(v) return 9 - cd(v.n, 4) end)
bounds("without a coordinate", "9.. by 1", function(v) return 20 - v.t.j end)
bounds("... of a dim", "0..9 by 1", function(v) return 9 - v.t.i end)
bounds("... of no tile at all", "9..9 by 1", function(v) return 9 - v.t.j end, { extent = function(v) return { v.n, 0 } end })
bounds("... of more than is counted", "0..9 by 1", function(v) return 9 - v.t.j end, { extent = function(v) return { v.n, huge } end })
local along = { axes = { "m", "n", "k" }, extent = function() return { 5, 3, 3 } end, cluster = { m = 2, n = 3 } }
bounds("... along the cluster's m: 5 tiles are run as 6", "5..10 by 1, per CTA", function(v) return 10 - v.t.m end, along)
bounds("... along its n: 3 as 3", "8..10 by 1, per CTA", function(v) return 10 - v.t.n end, along)
bounds("... along neither", "8..10 by 1", function(v) return 10 - v.t.k end, along)
bounds("a product of what is at least 3", "9.. by 1, steady", function(v) return v.p * v.p end)
bounds("... of many", "16.. by 1, steady", function(v) return power(v.p, 8) end)
bounds("... of what may be below 0", "0.. by 1, steady", function(v) return v.p * v.i32 end)
bounds("without a product of no more than 1600", "5.. by 1, steady", function(v) return 1605 - v.p * v.p end)
bounds("without one of at least 6561, and more than a launch counts with", "0..0 by 1, steady", function(v) return 1600 - power(v.p, 8) end)
bounds("one that is never less than 4900000000: 2147483648 are seen", "8.. by 1, steady", function(v) return power(weir.max(v.n, 70000), 2) - 2147483640 end)
bounds("without one of what may be below 0", "0.. by 1, steady", function(v) return 1600 - v.p * v.i32 end)
bounds("... both factors", "0.. by 1, steady", function(v) return 20 - weir.min(v.i32, 3) * weir.min(v.i32, 3) end)
bounds("without a CTA's number", "0..3 by 1, per CTA", function(v) return 3 - v.k.cta.m end, pair)
bounds("the number of a tile", "0..3 by 1", function(v) return 3 - v.number end, { axes = { "i" }, extent = function() return { 12 } end,
  raster = function(v) return function(i) v.number = i return i end end })
local function within(name, want, from, to, by, make)      -- with the index of a loop; its bounds may be functions of v
  local open = #want == 2
  counted(name, { open and "0 + 1 x a" or "always " .. to, open and "0 + 1 x b" or "0 + 1 x a" }, want, function(v)
    local function of(x) if type(x) == "function" then return x(v) end return x end
    for i in weir.domain_loop(of(from), of(to), of(by)) do
      for _ in weir.domain_loop(0, make(i, v)) do end
    end
    return {} end)
end
within("an index: at least its start", { "a: 0.. by 1, steady", "b: 2.. by 1" }, 2, function(v) return v.n end, 1, function(i) return i end)
within("an index: below its stop", { "a: 6..10 by 1" }, 0, 5, 1, function(i) return 10 - i end)
within("an index up to a dim", { "a: 0.. by 1, steady", "b: 0..10 by 1" }, 0, function(v) return v.n end, 1, function(i) return 10 - i end)
within("an index downwards", { "a: 0.. by 1, steady", "b: 1.. by 1" }, function(v) return v.n end, 0, -1, function(i) return i end)
within("an index by steps of the launch", { "a: 0.. by 1, steady", "b: 0.. by 1" }, 0, function(v) return v.n end, function(v) return v.m end, function(i) return i end)
within("an index so large that bounds would leave 64 bits", { "a: 16.. by 2147483648, steady", "b: 0.. by 2147483648" }, 0, function(v) return v.p * (1 << 31) end, 1,
  function(i) return i * (1 << 31) end)

-- ---- how values change ----------------------------------------------------------------------------------------------------------------------

local function changes(name, want, make, o)
  local v = kernel(function(v) v.want = plan.varies(v.k, make(v)) end, o)
  tap.is(want, v.want, name)
  v.k:close()
end
local often = ", at any time"
changes("dims and scalars", "launch", function(v) return v.n * v.m + v.i32 * 2 + v.n end)
changes("floats", "launch", function(v) return v.f32 * 0.5 end)
changes("a coordinate", "tile", function(v) return v.t.i + v.n end)
changes("a CTA alone", "launch", function(v) return v.k.cta.rank end)
changes("a CTA of two", "cta", function(v) return v.k.cta.rank end, pair)
changes("a coordinate that CTAs split", "tile cta", function(v) return v.t.m end, along)
changes("... the other", "tile cta", function(v) return v.t.n end, along)
changes("... none", "tile", function(v) return v.t.k end, along)
changes("m, where n alone is split", "tile", function(v) return v.t.m end, { axes = along.axes, extent = along.extent, cluster = { n = 2 } })
changes("n, where m alone is split", "tile", function(v) return v.t.n end, { axes = along.axes, extent = along.extent, cluster = { m = 2 } })
local function index(v) local x; for i in weir.domain_loop(0, v.n) do x = i end return x end
changes("an index", "launch" .. often, index)
changes("a body's number", "launch" .. often, function(v) return v.gen:make() end)
changes("... in a cluster", "cta" .. often, function(v) return v.gen:make() end, pair)
changes("an index in a cluster: as in the others", "launch" .. often, index, pair)
changes("a load", "tile" .. often, function(v) return v.x:at(v.t.i, 0):load() + v.t.j end)
changes("a load of an input, in a cluster: one number", "launch" .. often, function(v) return v.x:at(0, 0):load() end, pair)
changes("... at a place for each CTA", "cta" .. often, function(v) return v.x:at(v.k.cta.rank, 0):load() end, pair)
changes("a load of what the kernel writes, in a cluster", "cta" .. often, function(v) return v.y:at(0, 0):load() end, pair)
local function settles(name, want, make) -- where what lies in tensors that nobody writes is known
  local v = kernel(function(v) v.want = plan.varies(v.k, make(v), true) end)
  tap.is(want, v.want, name)
  v.k:close()
end
settles("an element of an input is one number", "launch", function(v) return v.x:at(0, 0):load() + v.n end)
settles("one for each tile", "tile", function(v) return v.x:at(v.t.i, 0):load() end)
settles("at a place that an input tells", "launch", function(v) return v.x:at(v.x1:at(v.n):load(), 0):load() end)
settles("at a place that a body tells", "launch" .. often, function(v) return v.x:at(v.gen:make(), 0):load() end)
settles("an element of what the kernel writes", "launch" .. often, function(v) return v.y:at(0, 0):load() end)
changes("registers", "launch" .. often, function(v) return v.acc:read() end)
changes("rows of registers", "launch" .. often, function(v) return v.acc:row_index() end)
changes("a sum along rows", "launch" .. often, function(v) return v.acc:read():row_sum() end)

-- ---- spans of a tensor ----------------------------------------------------------------------------------------------------------------------

-- x, y: { extent, value, by, plus } in one tile. want: of meet, of aligned; both ways round.
local function spans(name, meet, aligned, make)
  local v = kernel(function(v)
    local x, y = make(v)
    v.want = { plan.meet(v.k, x, y), plan.meet(v.k, y, x), plan.aligned(v.k, x, y), plan.aligned(v.k, y, x) }
  end)
  tap.is({ meet, meet, aligned, aligned }, v.want, name)
  v.k:close()
end
local function indexed(v, f, n)
  local x, y
  for i in weir.domain_loop(0, n or v.n) do x, y = f(i) end
  return x, y
end

spans("one place", "meet", true, function(v) return { 64, v.t.j, by = 64 }, { 64, v.t.j, by = 64 } end)
spans("the next place", "apart", false, function(v) return { 64, v.t.j, by = 64 }, { 64, v.t.j, by = 64, plus = 64 } end)
spans("the last element of it", "meet", false, function(v) return { 64, v.t.j, by = 64 }, { 64, v.t.j, by = 64, plus = 63 } end)
spans("a part of a place", "meet", false, function(v) return { 64, v.t.j, by = 64 }, { 16, v.t.j, by = 64, plus = 16 } end)
spans("no value", "apart", false, function() return { 64 }, { 64, plus = 64 } end)
spans("no value, an element less", "meet", false, function() return { 64 }, { 64, plus = 63 } end)
spans("two coordinates", "may", true, function(v) return { 64, v.t.i, by = 64 }, { 64, v.t.j, by = 64 } end)
spans("... of narrow tiles that overlap", "may", false, function(v) return { 64, v.t.i, by = 32 }, { 64, v.t.j, by = 32 } end)
spans("... never at one place", "apart", false, function(v) return { 32, v.t.i, by = 64 }, { 32, v.t.j, by = 64, plus = 32 } end)
spans("... an element into the other", "may", false, function(v) return { 33, v.t.i, by = 64 }, { 32, v.t.j, by = 64, plus = 32 } end)
spans("... an element into the next", "may", false, function(v) return { 32, v.t.i, by = 64 }, { 33, v.t.j, by = 64, plus = 32 } end)
spans("a dim", "may", true, function(v) return { 64, v.n, by = 64 }, { 64 } end)
spans("an index may be another", "may", true, function(v) return indexed(v, function(i) return { 64, i, by = 64 }, { 64, i, by = 64 } end) end)
spans("an index, the next place", "may", true, function(v) return indexed(v, function(i) return { 64, i, by = 64 }, { 64, i + 1, by = 64 } end) end)
spans("an index, halves of its place", "apart", false, function(v) return indexed(v, function(i) return { 32, i, by = 64 }, { 32, i, by = 64, plus = 32 } end) end)
spans("an index, more than halves", "may", false, function(v) return indexed(v, function(i) return { 40, i, by = 64 }, { 40, i, by = 64, plus = 32 } end) end)
spans("a quotient of an index may be another", "may", true, function(v) return indexed(v, function(i) return { 64, i // 2, by = 64 }, { 64, i // 2, by = 64 } end) end)
spans("a quotient of a coordinate is one", "meet", true, function(v) return { 64, v.t.i // 2, by = 64 }, { 64, v.t.i // 2, by = 64 } end)
spans("a quotient of both may be another", "may", true, function(v) return indexed(v, function(i) return { 64, (v.t.i + i) // 2, by = 64 }, { 64, (v.t.i + i) // 2, by = 64 } end) end)
spans("a quotient of two indices may be another", "may", true, function(v) return indexed(v, function(i) return indexed(v, function(j)
  return { 64, (i + j) // 2, by = 64 }, { 64, (i + j) // 2, by = 64 } end) end) end)
spans("an index of the one alone", "may", true, function(v) return indexed(v, function(i) return { 64, i, by = 64 }, { 64 } end) end)
spans("two bodies' numbers", "may", false, function(v) return { 64, v.gen:make() }, { 64, v.gen:make() } end)
local function many(v, from) local s = from for _, x in ipairs { v.i32, v.u32, v.i64, v.d8, v.p, cd(v.n, 3), cd(v.n, 5) } do s = s + x end return s end
spans("eight terms", "meet", true, function(v) return { 8, many(v, v.m) }, { 8, many(v, v.m) } end)
spans("eight, and eight others: nothing is known", "may", false, function(v) return { 8, many(v, v.m) }, { 8, v.n + v.t.i + v.t.j } end)
spans("too large a step: nothing is known", "may", false, function(v) return { 8, v.n * (1 << 31), by = 2 }, { 8 } end)
spans("... and if it were known", "apart", false, function(v) return { 8, v.n * (1 << 30), by = 2 }, { 8, plus = 8 } end)

-- Tiles that differ along an axis of the queue, 0 or 1.
local function dealt(name, want, make, axis, other)
  local v = kernel(function(v)
    local x, y = make(v)
    v.want = plan.dealt(v.k, x, y or x, other and v.k:work_queue { name = "other", axes = { "i" }, extent = { 4 } } or v.q, axis or 0)
  end)
  tap.is(want, v.want, name)
  v.k:close()
end
dealt("a place for each tile", true, function(v) return { 64, v.t.i, by = 64 } end)
dealt("... of another axis", false, function(v) return { 64, v.t.i, by = 64 } end, 1)
dealt("... of another queue", false, function(v) return { 64, v.t.i, by = 64 } end, 0, true)
dealt("... backwards", true, function(v) return { 64, 7 - v.t.i, by = 64 } end)
dealt("... backwards, an element too wide", false, function(v) return { 65, 7 - v.t.i, by = 64 } end)
dealt("an element too wide", false, function(v) return { 65, v.t.i, by = 64 } end)
dealt("one of the two too wide", false, function(v) return { 1, v.t.i, by = 64 }, { 65, v.t.i, by = 64 } end)
dealt("the other of the two", false, function(v) return { 65, v.t.i, by = 64 }, { 1, v.t.i, by = 64 } end)
dealt("a part of the place", true, function(v) return { 64, v.t.i, by = 64 }, { 32, v.t.i, by = 64, plus = 32 } end)
dealt("a part beyond the place", false, function(v) return { 64, v.t.i, by = 64 }, { 32, v.t.i, by = 64, plus = 33 } end)
dealt("steps of two sizes", false, function(v) return { 64, v.t.i, by = 64 }, { 64, v.t.i, by = 128 } end)
dealt("the other coordinate, too", false, function(v) return { 1, v.t.i * 12 + v.t.j } end)
dealt("the other coordinate alone", false, function(v) return { 1, v.t.j } end)
dealt("no coordinate", false, function(v) return { 64, v.n, by = 64 } end)
dealt("a coordinate of the one alone", false, function(v) return { 64, v.t.i, by = 64 }, { 64 } end)
dealt("an index within the place", true, function(v) return indexed(v, function(i) return { 16, v.t.i * 64 + i * 16 } end, 4) end)
dealt("an index beyond it", false, function(v) return indexed(v, function(i) return { 16, v.t.i * 64 + i * 16 } end, 5) end)
dealt("an index without an end", false, function(v) return indexed(v, function(i) return { 16, v.t.i * 64 + i * 16 } end) end)
dealt("a scalar beside it: nothing is known", false, function(v) return { 16, v.t.i * 64 + v.i32 } end)
dealt("a quotient beside it: nothing is known", false, function(v) return { 16, v.t.i * 64 + v.p // 3 } end)
dealt("too large a step: nothing is known", false, function(v) return { 8, v.t.i * (1 << 31), by = 2 } end)
dealt("... in the other: nothing is known", false, function(v) return { 8, v.t.i, by = 64 }, { 8, v.t.i * (1 << 31), by = 2 } end)
-- ---- conditions on the index of a loop -----------------------------------------------------------------------------------------------------------

-- want: how f(i, v) comes out in each iteration, and (behind a space) what repeats itself from there on; nil: nothing tells. The loop starts at
-- `from` and steps by `by`, which may be functions of v; it stops at n, or at p, which is 40 at most.
local function truths(name, want, f, from, by, few)
  local v = kernel(function(v)
    local function of(x) if type(x) == "function" then return x(v) end return x end
    for i in weir.domain_loop(of(from or 0), few and v.p or v.n, of(by or 1)) do v.want = { plan.truths(v.k, f(i, v)) } end
  end)
  tap.is({ want }, v.want, name)
  v.k:close()
end
local lt, eq, cast = weir.lt, weir.eq, weir.cast
local function rows(n, ...) return (("1"):rep(n) .. ("0"):rep((...) or 0)) end
truths("every second", " 10", function(i) return eq(i % 2, 0) end)
truths("every second, of steps by 3 from 1 on", " 01", function(i) return eq(i % 2, 0) end, 1, 3)
truths("of two that repeat themselves", " 111000000000", function(i) return eq(i % 3, i % 4) end)
truths("... together too late", nil, function(i) return eq(i % 7, i % 11) end)
truths("... of which one is fixed", " 0010", function(i) return eq(i % 4, 2) & lt(1, 2) end)
truths("up to a number", "111 0", function(i) return lt(i, 3) end)
truths("up to 60", ("1"):rep(60) .. " 0", function(i) return lt(i, 60) end)
truths("up to 63: too late", nil, function(i) return lt(i, 63) end)
truths("up to 65: too late", nil, function(i) return lt(i, 65) end)
truths("the remainder of 64", " " .. rows(60, 4), function(i) return lt(i % 64, 60) end)
truths("the remainder of 65: too late", nil, function(i) return lt(i % 65, 60) end)
truths("... by steps of 65, too", nil, function(i) return lt(i % 65, 60) end, 0, 65)
truths("a quotient: too late", nil, function(i) return lt(i // 33 * 2, i // 2) end)
truths("by a large step down", "0 1", function(i) return lt(i, 0) end, 7, -32768)
truths("by a larger one", nil, function(i) return lt(i, 0) end, 7, -32769)
truths("by a large step up", "1111 0", function(i) return lt(i, 100000) end, 7, 32767)
truths("by a larger one, up", nil, function(i) return lt(i, 100000) end, 7, 32768)
truths("from where the launch says", nil, function(i) return lt(i, 3) end, function(v) return v.m end)
truths("by steps of the launch", nil, function(i) return lt(i, 3) end, 0, function(v) return v.p end)
truths("of the launch alone", nil, function(_, v) return lt(v.n, 3) end)
truths("beside the launch", nil, function(i, v) return lt(i, v.n) end)
truths("of a coordinate", nil, function(_, v) return lt(v.t.i, 3) end)
truths("of another loop", nil, function(i) local c; for j in weir.domain_loop(0, 3) do c = lt(j, i) end return c end)
truths("negated", "0 00111", function(i) return lt(-i // 2, -1) & lt(-i % 5 , 3) end)
truths("a quotient, rounded up, of what falls", "00000 1", function(i) return lt(weir.ceil_div(3 - i, 2), 0) end)
truths("a remainder beside the index", nil, function(i) return lt(i + i % 3, 5) end) -- 32 bits may not hold it
truths("... in 64 bits", "1111 0", function(i) return lt(i + cast(i % 3, "i64"), 5) end)
truths("... without a sign", nil, function(i) return lt(i + cast(i % 3, "u32"), 5) end)
truths("three times the index", nil, function(i) return lt(i * 3, 5) end)
truths("... in a loop of few", "11 0", function(i) return lt(i * 3, 5) end, 0, 1, true)
truths("... the other way round", "11 0", function(i) return lt(3 * i, 5) end, 0, 1, true)
truths("beside itself", " 01", function(i) return lt(i, i + i % 2) end, 0, 1, true)
truths("less three times itself", "0 1", function(i) return lt(i - i * 3, 0) end, 0, 1, true)
truths("beside what is read", nil, function(i, v) return lt(i, v.x1:at(0):load()) end)
truths("a square", nil, function(i) return lt(i * i, 5) end)
truths("a multiple by a large number", nil, function(i) return lt(i * (1 << 32), 5) end)
truths("... below 0", nil, function(i) return lt(i * -(1 << 32), 5) end)
truths("a multiple that rises by a large number", nil, function(i) return lt((i + cast(i % 3, "i64")) * 0x7fffffff, 5) end)
truths("... that falls", nil, function(i) return lt((i + cast(i % 3, "i64")) * -0x7fffffff, 5) end)
truths("a quotient by a repeated number", nil, function(i) return lt(i // (i % 3 + 1), 5) end)
truths("a quotient by a number below 0", nil, function(i) return lt(i // -3, 5) end)
truths("the least of what rises", nil, function(i) return lt(weir.min(i, 3), 2) end)
truths("the least of what repeats itself", " 110", function(i) return lt(weir.min(i % 3, 2), 2) end)
truths("one of two", " 100000", function(i) return lt(weir.select(eq(i % 2, 0), i % 3, 1), 1) end)
truths("a float", nil, function(i) return lt(cast(i % 3, "f32") * 0.5, 1) end)
truths("two floats", nil, function(i) return lt(cast(i % 3, "f32"), cast(i % 2, "f32")) end)
truths("divided by 0 at times", nil, function(i) return lt(3 // (i % 2), 5) end)
truths("... beside what rises", nil, function(i) return lt(i + 3 // (i % 2), 5) end)
truths("... on the other side", nil, function(i) return lt(5, i + 3 // (i % 2)) end)
truths("deep inside", " 110", function(i) local x = i % 3 for j = 1, 14 do x = weir.min(x, 20 - j) end return lt(x, 2) end)
truths("too deep inside", nil, function(i) local x = i % 3 for j = 1, 15 do x = weir.min(x, 20 - j) end return lt(x, 2) end)
-- What fewer bits keep, and what has no sign, is not what whole numbers say.
truths("in 8 bits", " 001", function(i) return lt(cast(i % 3 + 254, "u8"), 2) end)
truths("in 8 bits with a sign", " 00111", function(i) return lt(cast(i % 5 + 126, "i8"), 0) end)
truths("in 16 bits", " 001", function(i) return lt(cast(i % 3 + 65534, "u16"), 2) end)
truths("in 16 bits with a sign", " 001", function(i) return lt(cast(i % 3 + 32766, "i16"), 0) end)
local function u(x) return cast(x, "u32") end
truths("below 0 beside what has no sign", " 010", function(i) return lt(i % 3 - 1, u(1)) end)
truths("... as the larger of two: it may wrap", nil, function(i) return lt(weir.max(i % 3 - 1, u(0)), 1) end)
truths("... as one of two", nil, function(i) return lt(weir.select(eq(i % 2, 0), i % 2 - 1, u(0)), 1) end)
truths("... divided", nil, function(i) return lt((i % 3 - 1) // u(3), 1) end)
truths("... never below 0", " 1110", function(i) return lt((i % 4) // u(3), 1) end)
truths("below 0 beside what has no sign, in 64 bits", nil, function(i) return lt(i % 3 - 1, cast(1, "u64")) end)

-- ---- what a value can be ------------------------------------------------------------------------------------------------------------------------

-- given: what is known of the launch, see formslib.c; misfit: what leaves its type or is divided by 0.
local function ranged(name, want, misfit, make, given, o)
  local v = kernel(function(v) v.want = { plan.range(v.k, make(v), given) } end, o)
  tap.is({ want, misfit }, v.want, name)
  v.k:close()
end
local function dims(...) return { dims = { ... } } end
local function scalars(x) return { scalars = { x, x, x, x, x, x }, dims = { 5, 3 } } end

ranged("a number", "7", nil, function(v) return weir.cast(7, "i32"), v end)
ranged("a dim", "5", nil, function(v) return v.n end, dims(5))
ranged("a dim of any launch", "0 .. 2147483647", nil, function(v) return v.n end)
ranged("a dim with bounds", "3 .. 40", nil, function(v) return v.p end)
ranged("a dim whose bound no launch reaches", "0 .. 2147483647", nil, function(v) return v.n end, nil, { n = { max = 1 << 40 } })
ranged("a scalar of any launch", "unknown", nil, function(v) return v.i32 end)
ranged("a scalar", "-3", nil, function(v) return v.i32 end, scalars(-3))
ranged("a scalar without sign", "4294967293", nil, function(v) return v.u32 end, scalars(-3))
ranged("a scalar of 64 bits without sign: beyond what is counted with", "unknown", nil, function(v) return v.u64 end, scalars(1e19))
ranged("... below 0", "unknown", "s_u64: -3", function(v) return v.u64 end, scalars(-3))
ranged("a scalar that is no number", "unknown", nil, function(v) return v.i64 end, scalars(0 / 0))
ranged("a scalar beyond its type", "unknown", "s_i32: 3000000000", function(v) return v.i32 end, scalars(3e9))
ranged("a float of 32 bits", "float 0.100000001", nil, function(v) return v.f32 end, scalars(0.1))
ranged("a float of 64 bits", "float 0.1", nil, function(v) return v.f64 end, scalars(0.1))
ranged("a coordinate", "4", nil, function(v) return v.t.j end, { coord = { 3, 4 } })
ranged("a coordinate of any tile", "0 .. 11", nil, function(v) return v.t.j end)
ranged("... of no tile", "0", nil, function(v) return v.t.i end, dims(0))
ranged("... in a cluster: a tile beyond, where its CTAs share the last ones", "0 .. 12", nil, function(v) return v.t.j end, nil, pair)
ranged("... of an extent that nothing tells", "unknown", nil, function(v) return v.t.i end, nil, { extent = function(v) return { v.i32, 2 } end })
ranged("a tile's number", "5", nil, function(v) return v.number end, { qindex = 5 }, { axes = { "i" }, extent = function() return { 12 } end,
  raster = function(v) return function(i) v.number = i return i end end })
ranged("a tile's number, any", "unknown", nil, function(v) return v.number end, nil, { axes = { "i" }, extent = function() return { 12 } end,
  raster = function(v) return function(i) v.number = i return i end end })
for _, c in ipairs { { "0 .. 1", "1", "m" }, { "0 .. 2", "2", "n" }, { "0", "0", "k" }, { "0", "0", "v" }, { "0 .. 5", "5", "rank" } } do
  local axis = c[3]
  ranged("a CTA's " .. axis, c[1], nil, function(v) return v.k.cta[axis] end, nil, along)
  ranged("the last CTA's " .. axis, c[2], nil, function(v) return v.k.cta[axis] end, { cta = 5 }, along)
end
ranged("an index", "2 .. 5", nil, function(v) local x for i in weir.domain_loop(2, v.n) do x = i end return x end, dims(5))
ranged("an index downwards", "0 .. 5", nil, function(v) local x for i in weir.domain_loop(v.n, 0, -1) do x = i end return x end, dims(5))
ranged("an index from what nothing tells", "unknown", nil, function(v) local x for i in weir.domain_loop(v.i32, v.n) do x = i end return x end, dims(5))
ranged("... to what nothing tells", "unknown", nil, function(v) local x for i in weir.domain_loop(v.n, v.i32) do x = i end return x end, dims(5))
ranged("a body's number", "unknown", nil, function(v) return v.gen:make() end)
ranged("registers", "unknown", nil, function(v) return v.acc:read() * 2 end)
ranged("a tile as a place", "unknown", nil, function(v) return v.t end)

local both_dims = dims(5, 3)
local sums = {
  ["n + m"] = { "8", nil }, ["n - m"] = { "2", "-40 .. 2147483644" }, ["n * m"] = { "15", nil }, ["n // m"] = { "1", "0 .. 715827882" },
  ["n % m"] = { "2", "0 .. 39" }, ["-n"] = { "-5", "-2147483647 .. 0" }, ["ceil_div(n, m)"] = { "2", "0 .. 715827883" }, ["min(n, m)"] = { "3", "0 .. 40" },
  ["max(n, m)"] = { "5", "3 .. 2147483647" }, ["abs(m - n)"] = { "2", "0 .. 2147483644" }, ["abs(n)"] = { "5", "0 .. 2147483647" }, ["abs(-n - 1)"] = { "6", nil },
  ["lt(n, m)"] = { "0", "0 .. 1" }, ["le(n, m)"] = { "0", "0 .. 1" }, ["gt(n, m)"] = { "1", "0 .. 1" }, ["ge(n, m)"] = { "1", "0 .. 1" },
  ["eq(n, m)"] = { "0", "0 .. 1" }, ["ne(n, m)"] = { "1", "0 .. 1" }, ["~lt(n, m)"] = { "1", "0 .. 1" }, ["lt(n, m) | gt(m, 2)"] = { "1", "1" },
  ["gt(n, m) & lt(m, 3)"] = { "0", "0" }, ["gt(m, 2) & lt(m, 50)"] = { "1", "1" }, ["lt(m, 3) | gt(m, 40)"] = { "0", "0" }, ["ge(m, 3)"] = { "1", "1" }, ["lt(m, 3) & gt(m, 2)"] = { "0", "0" }, ["gt(m, 2) | lt(m, 3)"] = { "1", "1" }, ["gt(m, 2) & lt(m, 3)"] = { "0", "0" }, ["lt(m, 3) | gt(m, 2)"] = { "1", "1" }, ["le(m, 40)"] = { "1", "1" },
  ["le(m, 2)"] = { "0", "0" }, ["eq(m, 41)"] = { "0", "0" }, ["eq(m, 2)"] = { "0", "0" }, ["ne(2, m)"] = { "1", "1" }, ["eq(m, 3)"] = { "1", "0 .. 1" }, ["select(lt(n, m), n, m)"] = { "3", "0 .. 2147483647" },
  ["select(gt(n, m), n, m)"] = { "5", "0 .. 2147483647" }, ["n // -m"] = { "-2", "-715827883 .. 0" }, ["m % (n + 41)"] = { "3", nil }, ["n % -m"] = { "-1", "-39 .. 0" },
  ["m % 41"] = { "3", "3 .. 40" }, ["m % 40"] = { "3", "0 .. 39" }, ["(m - 4) % 41"] = { "40", "0 .. 40" }, ["m % (m + 1)"] = { "3", "0 .. 40" },
}
local texts = {}
for text in pairs(sums) do texts[#texts + 1] = text end
table.sort(texts)
for _, text in ipairs(texts) do
  local c = sums[text]
  local f = assert(load("local weir, n, m = ... local ceil_div, min, max, abs, lt, le, gt, ge, eq, ne, select = weir.ceil_div, weir.min, weir.max, weir.abs, weir.lt, weir.le, weir.gt,"
    .. " weir.ge, weir.eq, weir.ne, weir.select return " .. text))
  ranged(text .. " with 5 and 3", c[1], nil, function(v) return f(weir, v.n, v.m) end, both_dims)
  if c[2] then ranged(text .. " of any dim and one from 3 to 40", c[2], nil, function(v) return f(weir, v.n, v.p) end, { counts = false }) end
end
ranged("a sum beyond 32 bits", "unknown", "n + p: 2147483687", function(v) return v.n + v.p end)
ranged("a difference below 32 bits", "unknown", "m - n - 2: -2147483649", function(v) return v.m - v.n - 2 end, dims(2147483647, 0))
ranged("two that leave them: the first is told", "unknown", "n * n: 4294967296", function(v) return v.n * v.n + v.m * v.m end, dims(65536, 65537))
ranged("some numbers without sign", "4 .. 41", nil, function(v) return weir.cast(v.p, "u32") + 1 end)
ranged("a load", "unknown", nil, function(v) return v.x:at(0, 0):load() end)
ranged("one number by any of some", "0 .. 39", nil, function(v) return 7 % v.p end)
ranged("a sum that stays", "2147483647", nil, function(v) return v.n + v.m end, dims(2147483646, 1))
ranged("a product beyond 64 bits", "unknown", "s_i64 * s_i64: 9223372036854775807", function(v) return v.i64 * v.i64 end, scalars(4e18))
ranged("... of 64 bits", "16000000000000000000" and "unknown", "s_i64 * s_i64: 9223372036854775807", function(v) return v.i64 * v.i64 end, scalars(-4e18))
ranged("a sum without sign starts again at 0", "1", nil, function(v) return v.u32 + v.u32 - weir.cast(v.n, "u32") end, { scalars = { 0, 2147483651 }, dims = { 5 } })
local function lowest(v) return weir.min(v.i64, math.mininteger) end
ranged("the least number of 64 bits", "-9223372036854775808", nil, lowest, scalars(5))
ranged("... divided", "unknown", "min(s_i64, -9223372036854775808) // m: 9223372036854775807", function(v) return lowest(v) // v.m end, scalars(5))
ranged("... without its sign", "unknown", nil, function(v) return weir.abs(lowest(v)) end, scalars(5))
ranged("... what it leaves over", "unknown", nil, function(v) return lowest(v) % v.m end, scalars(5))
ranged("divided by 0", "unknown", "n // m: by 0", function(v) return v.n // v.m end, dims(5, 0))
ranged("what is left over by 0", "unknown", "n % m: by 0", function(v) return v.n % v.m end, dims(5, 0))
ranged("divided by what may be 0", "unknown", nil, function(v) return v.n // v.m end)
ranged("divided by what may be below and above 0", "unknown", nil, function(v) return v.n // (v.p - 20) end)
ranged("a sum of what nothing tells", "unknown", nil, function(v) return v.gen:make() + v.n end)
local function counts(x) x.counts = true return x end
ranged("of 64 bits", "4000000000", nil, function(v) return v.i64 * 2 end, scalars(2e9))
ranged("... where it counts", "unknown", "s_i64 * 2: 4000000000", function(v) return v.i64 * 2 end, counts(scalars(2e9)))
ranged("... in a condition, which counts nothing", "0", nil, function(v) return weir.lt(v.i64 * 2, v.n) end, counts(scalars(2e9)))
ranged("... in a choice's condition", "3", nil, function(v) return weir.select(weir.lt(v.i64 * 2, v.n), v.n, v.m) end, counts(scalars(2e9)))
ranged("... in what is not chosen", "5", nil, function(v) return weir.select(weir.gt(v.i64 * 2, v.n), v.n, v.i64 * 2) end, counts(scalars(2e9)))
ranged("... in what is chosen", "unknown", "s_i64 * 2: 4000000000", function(v) return weir.select(weir.lt(v.i64 * 2, v.n), v.n, v.i64 * 2) end, counts(scalars(2e9)))
ranged("without sign, where it counts", "unknown", "s_u32: 3000000000", function(v) return v.u32 end, counts(scalars(3e9)))
ranged("shared too often to be looked at", "unknown", nil, function(v) return large(v.n) end, dims(0))

ranged("below 0 in 32 bits, as 64 bits where it counts", "-5", nil, function(v) return weir.cast(v.i32, "i64") end, counts(scalars(-5)))
ranged("what has no sign, below 0 in whole numbers, as 64 bits where it counts", "unknown", "s_u32 - 5: -2", function(v) return weir.cast(v.u32 - 5, "i64") end, counts(scalars(3)))
-- an index within its loop
local function inside(x) x.within = true return x end
local function index_of(start, stop, step)
  return function(v)
    local function of(x) return type(x) == "function" and x(v) or x end
    local x
    for i in weir.domain_loop(of(start), of(stop), of(step)) do x = i end
    return x
  end
end
local function by_n(v) return v.n end
ranged("an index, or its end", "2 .. 10", nil, index_of(2, 10, 1), {})
ranged("an index in an iteration", "2 .. 9", nil, index_of(2, 10, 1), inside {})
ranged("... of a loop that never runs", "10", nil, index_of(10, 2, 1), inside {})
ranged("... downwards", "2 .. 10", nil, index_of(10, 2, -1), inside {})
ranged("... by steps of the launch", "2 .. 10", nil, index_of(2, 10, by_n), inside {})
ranged("... from what is not known", "unknown", nil, index_of(function(v) return v.i32 end, 10, 1), inside {})
ranged("... to what is not known", "unknown", nil, index_of(2, function(v) return v.i32 end, 1), inside {})
ranged("a rest of whatever number, in an iteration", "0 .. 7", nil, function(v) return v.i32 % 8 end, inside {})
ranged("... elsewhere", "unknown", nil, function(v) return v.i32 % 8 end, {})
ranged("a rest by a number below 0", "unknown", nil, function(v) return v.i32 % -8 end, inside {})
ranged("a rest by a number of the launch", "unknown", nil, function(v) return v.i32 % v.p end, inside {})
-- casts
local function casted(name, want, misfit, to, x, make)
  ranged(("%s to %s"):format(name, to), want, misfit, function(v) return weir.cast(make and make(v) or x[1] and v.n or v.f64, to) end, x[1] and dims(x[1]) or scalars(x.f))
end
for _, c in ipairs { { "i8", "44" }, { "u8", "44" }, { "i16", "300" }, { "u16", "300" }, { "i64", "300" }, { "u64", "300" }, { "f32", "float 300" }, { "f64", "float 300" },
  { "bool", "1" }, { "f16", "unknown" }, { "bf16", "unknown" } } do casted("300", c[2], nil, c[1], { 300 }) end
for _, c in ipairs { { "i8", "-56" }, { "u8", "200" }, { "i16", "200" } } do casted("200", c[2], nil, c[1], { 200 }) end
for _, c in ipairs { { "i8", "0" }, { "u16", "0" }, { "i16", "0" }, { "i32", "65536" } } do casted("65536", c[2], nil, c[1], { 65536 }) end
for _, c in ipairs { { "i32", "-2" }, { "i8", "-2" }, { "u8", "unknown" }, { "bool", "1" }, { "f32", "float -2.70000005" } } do casted("-2.7", c[2], nil, c[1], { f = -2.7 }) end
for _, c in ipairs { { "i32", "unknown" }, { "i64", "3000000000" }, { "u32", "3000000000" } } do casted("3e9", c[2], nil, c[1], { f = 3e9 }) end
for _, c in ipairs { { "i64", "unknown" }, { "bool", "1" } } do casted("1e30", c[2], nil, c[1], { f = 1e30 }) end
casted("0.0", "0", nil, "bool", { f = 0 })
casted("no number", "unknown", nil, "i32", { f = 0 / 0 })
casted("too much", "unknown", "cast(s_i64, i32): 3000000000", "i32", { f = 3e9 }, function(v) return v.i64 end)
casted("too little", "unknown", "cast(s_i64, i32): -3000000000", "i32", { f = -3e9 }, function(v) return v.i64 end)
casted("below 0", "unknown", "cast(s_i32, u32): -3", "u32", { f = -3 }, function(v) return v.i32 end)
casted("what nothing tells", "unknown", nil, "i32", { f = 0 }, function(v) return v.gen:make() + v.i64 end)
ranged("any dim to 8 bits", "-128 .. 127", nil, function(v) return weir.cast(v.n, "i8") end)
ranged("any of few to 8 bits", "3 .. 40", nil, function(v) return weir.cast(v.p, "i8") end)
ranged("any dim to a truth", "0 .. 1", nil, function(v) return weir.cast(v.n, "bool") end)
ranged("any of some to a truth", "1", nil, function(v) return weir.cast(v.p, "bool") end)
ranged("any dim to a float", "unknown", nil, function(v) return weir.cast(v.n, "f32") end)
ranged("a float to a number that counts", "unknown", "cast(s_f64, i64): 3000000000", function(v) return weir.cast(v.f64, "i64") end, counts(scalars(3e9)))

-- floats
for _, c in ipairs {
  { "f32 + f32", "float 5" }, { "f32 - f64", "float 0" }, { "f32 * f64", "float 6.25" }, { "f64 / n", "float 0.5" }, { "-f64", "float -2.5" }, { "abs(-f32)", "float 2.5" }, { "min(f32, n)", "float 2.5" },
  { "max(n, f32)", "float 5" }, { "exp(f32)", "unknown" }, { "select(lt(n, m), f32, f64)", "float 2.5" }, { "lt(f32, n)", "1" }, { "le(n, f32)", "0" }, { "gt(n, f32)", "1" },
  { "ge(f32, n)", "0" }, { "eq(f32, f64)", "1" }, { "ne(f32, f64)", "0" }, { "lt(f32, p)", "0 .. 1", true }, { "lt(p, f32)", "0 .. 1", true }, { "f32 + p", "unknown", true },
  { "p * f32", "unknown", true }, { "select(lt(n, p), f32, f64)", "unknown", true }, { "1.5 + f32", "float 4" },
} do
  local f = assert(load("local weir, v = ... local abs, min, max, lt, le, gt, ge, eq, ne, select, exp = weir.abs, weir.min, weir.max, weir.lt, weir.le, weir.gt, weir.ge, weir.eq,"
    .. " weir.ne, weir.select, weir.exp local n, m, p, f32, f64 = v.n, v.m, v.p, v.f32, v.f64 return " .. c[1]))
  ranged(c[1], c[2], nil, function(v) return f(weir, v) end, { scalars = scalars(2.5).scalars, dims = not c[3] and dims(5, 3).dims or nil })
end
ranged("no number is not less", "0", nil, function(v) return weir.lt(v.f32, v.n) end, scalars(0 / 0))
ranged("... nor not less", "0", nil, function(v) return weir.ge(v.f32, v.n) end, scalars(0 / 0))
ranged("below 0, compared without a sign", "0", nil, function(v) return weir.lt(v.i32, v.u32) end, scalars(-3))
ranged("... the other way round", "0", nil, function(v) return weir.lt(v.u32, v.i32) end, scalars(-3))
ranged("... it is a large number", "1", nil, function(v) return weir.lt(v.n, v.i32 + weir.cast(0, "u32")) end, scalars(-3))
ranged("... one of several", "0 .. 1", nil, function(v) return weir.lt(v.n - 9, weir.cast(3, "u32")) end)
ranged("... in 64 bits: beyond what is counted with", "0 .. 1", nil, function(v) return weir.lt(v.i32, weir.cast(v.n, "u64")) end, scalars(-3))
ranged("below 0, divided without a sign", "1431655764", nil, function(v) return v.i32 // weir.cast(3, "u32") end, scalars(-3))
ranged("... the remainder", "1", nil, function(v) return v.i32 % weir.cast(3, "u32") end, scalars(-3))
ranged("... the larger of two", "4294967293", nil, function(v) return weir.max(v.i32, weir.cast(3, "u32")) end, scalars(-3))
ranged("... one of two", "4294967293", nil, function(v) return weir.select(weir.lt(v.i32, 0), v.i32, weir.cast(3, "u32")) end, scalars(-3))
ranged("... one of two, not known which", "unknown", "select(t.i < 3, n - 9, cast(3, u32)): -9", function(v) return weir.select(weir.lt(v.t.i, 3), v.n - 9, weir.cast(3, "u32")) end)
ranged("... several numbers, divided", "unknown", "n - 9: -9", function(v) return (v.n - 9) // weir.cast(3, "u32") end)
ranged("... by what is below 0", "unknown", "n - 9: -9", function(v) return weir.cast(3, "u32") // (v.n - 9) end)
ranged("without a sign, none below 0", "1", nil, function(v) return weir.lt(v.u32, v.n) end, scalars(2))
ranged("without a sign, and a float", "1", nil, function(v) return weir.lt(v.f32, v.u32) end, { scalars = { 0, 4, 0, 0, -2.5, 0 } })

-- Rasters of one's own, run for sizes that a launch may have. want: nil, or the first number whose tile is wrong and its first wrong
-- coordinate; all: there is one size only; sizes: those that were run.
local function rastered(name, want, all, sizes, o)
  local k = weir.kernel { name = "raster", arch = "sm_90a", cluster = o.cluster }
  local v = { k = k, n = k:dim("n", o.n), m = k:dim("m", o.m), s = k:scalar { name = "s", dtype = o.scalar or "u64" } }
  if o.assume then k:assume(o.assume(v)) end
  local q = k:work_queue { name = "q", axes = o.axes or { "i" }, extent = o.extent(v), raster = function(...) return o.raster(v, ...) end }
  local found, whole, run = plan.raster(k, q)
  tap.is({ want, all, sizes }, { found, whole, run > 0 }, name)
  k:close()
end
local function one(v) return { v.n } end
local function same(_, i) return i end
rastered("row by row", nil, false, true, { extent = one, raster = same })
rastered("one size", nil, true, true, { extent = function() return { 12 } end, raster = same })
rastered("one size, too far", "11: 12", false, false, { extent = function() return { 12 } end, raster = function(_, i) return i // 11 * 12 + i % 11 end })
rastered("one too low", "0: -1", false, false, { extent = one, raster = function(_, i) return i - 1 end })
rastered("two coordinates beyond: the first", "0: 7", false, false, { axes = { "i", "j" }, extent = function() return { 2, 2 } end, raster = function(_, i) return i + 7, i + 8 end })
rastered("where the author says that there is one tile, twice the same is not met", nil, false, true,
  { extent = one, raster = function(_, i) return i * 0 end, assume = function(v) return weir.lt(v.n, 2) end })
rastered("... which cannot be told where it divides by 0", nil, false, true, { extent = one, raster = same, assume = function(v) return weir.lt(v.n // v.m, 1000000) end })
rastered("beside a scalar without sign", nil, false, true, { scalar = "u32", extent = one, raster = same })
rastered("beside a float", nil, false, true, { scalar = "f32", extent = one, raster = same })
rastered("by a dim", nil, false, true, { extent = one, raster = function(_, i, n) return n - 1 - i end })
rastered("by a dim deep inside: not one size", nil, false, true, { extent = function() return { 12 } end, raster = function(v, i)
  local x = weir.min(v.n, 0)
  for j = 1, 40 do x = weir.min(x * 2, j) end
  return i + x end })
rastered("by a scalar: not one size", nil, false, true, { extent = function() return { 12 } end, raster = function(v, i) return i + weir.cast(v.s - v.s % 1000000, "i32") * 0 + weir.min(weir.cast(v.s % 2, "i32"), 0) end })
rastered("by a scalar that shifts", "11: 12", false, false, { scalar = "i64", extent = function() return { 12 } end, raster = function(v, i) return i + weir.cast(v.s % 2, "i32") end })
rastered("what divides by 0 is not run", nil, false, true, { extent = function(v) return { v.n // v.m } end, raster = same })
rastered("... in a coordinate", nil, false, true, { extent = one, raster = function(v, i) return i + 0 // v.m end })
rastered("more tiles than are run", nil, false, false, { extent = function(v) return { v.n + 5000 } end, raster = same })
rastered("more tiles together than are run", nil, false, false, { axes = { "i", "j" }, extent = function(v) return { v.n + 100, 100 } end, raster = function(_, i) return i // 100, i % 100 end })
rastered("no tile", nil, false, false, { extent = function() return { 0 } end, raster = same })
rastered("clusters along m and n", nil, false, true, { cluster = { m = 2, n = 2 }, axes = { "m", "n" }, extent = function(v) return { v.n, 5 } end,
  raster = function(_, i, _, n) return i // n, i % n end })
rastered("... counted in tiles, not in clusters", "0: 2", false, false, { cluster = { m = 2, n = 2 }, axes = { "m", "n" }, extent = function() return { 4, 5 } end,
  raster = function(_, i) return i // 3 + 2, i % 3 end })
rastered("dims of few sizes", nil, false, true, { n = { min = 3, max = 4 }, extent = one, raster = same })
rastered("many numbers in the kernel", nil, false, true, { extent = one, raster = function(_, i)
  local x = i
  for j = 2, 20 do x = weir.max(x, weir.min(i - j, 0)) end
  return weir.max(x, i) end })

-- Bounds of loops that leave 32 bits.
local function fits(name, want, misfit, make, given)
  local v = kernel(function(v) for _, l in ipairs(make(v)) do for _ in weir.domain_loop(l[1], l[2], l[3] or 1) do end end end)
  tap.is({ want, misfit }, { plan.counts(v.k, given) }, name)
  v.k:close()
end
fits("loops of the launch", true, nil, function(v) return { { 0, v.n }, { v.n, 0, -1 } } end, dims(7))
fits("a stop that leaves them", false, "n * 65536: 4294967296", function(v) return { { 0, v.n }, { 0, v.n * 65536 } } end, dims(65536))
fits("a start that leaves them", false, "n * 65536: 4294967296", function(v) return { { v.n * 65536, 0 } } end, dims(65536))
fits("a step that leaves them", false, "n * 65536: 4294967296", function(v) return { { 0, 9, v.n * 65536 } } end, dims(65536))
fits("a stop that is divided by 0", false, "n // m: by 0", function(v) return { { 0, v.n // v.m } } end, dims(7, 0))
fits("an index that steps beyond its end", false, "n: 2147483649", function(v) return { { 0, v.n, 5 } } end, dims(2147483645))
fits("... just not", true, nil, function(v) return { { 0, v.n, 5 } } end, dims(2147483643))
fits("an index that steps below its end", false, "m - n: -2147483649", function(v) return { { 0, v.m - v.n, -3 } } end, dims(2147483647, 0))
fits("... just not", true, nil, function(v) return { { 0, v.m - v.n, -2 } } end, dims(2147483647, 0))
local function u32(x) return weir.cast(x, "u32") end
fits("below 0, divided without a sign", false, "n - 6: -1", function(v) return { { 0, (v.n - 6) // u32(3) } } end, dims(5))
fits("... not below 0", true, nil, function(v) return { { 0, (v.n - 6) // u32(3) } } end, dims(6))
fits("... made longer", false, "cast(n, u32) - 6: -1", function(v) return { { 0, weir.cast(u32(v.n) - 6, "i64") } } end, dims(5))
fits("... and no sign is asked for", true, nil, function(v) return { { 0, u32(v.n) - 6 } } end, dims(5))
fits("what nothing tells", true, nil, function(v) return { { v.gen:make(), v.n }, { 0, v.gen:make() }, { 0, v.n, v.gen:make() } } end, dims(7))
tap.done()
