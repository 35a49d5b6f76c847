#!/usr/bin/env lua5.4
-- Layouts by hand: the vectors of spec/layout.md through the module's own functions, groups of mbarriers, mistakes, reports; and that
-- a kernel's plan lies as the same records placed by hand.
local tap = require "tap"
local weir = require "weir"
package.path = "t/vectors/?.lua;" .. package.path
local vectors = require "layout"
local P = weir.pipeline

-- ---- bytes and columns ------------------------------------------------------------------------------------------------------------

local placed = 0
for _, space in ipairs { "smem", "tmem" } do
  for _, v in ipairs(vectors[space]) do
    local records = {}
    for i, item in ipairs(v.items) do
      records[i] = { name = item[1], size = item[2], align = item[3], alias = item[4], phase = item[5] }
    end
    local ok, l = pcall(weir.place_records, { space = space, arch = space == "tmem" and "sm_100a" or nil, records = records })
    placed = placed + 1
    if v.refused then tap.like(v.refused, tostring(l), v.id .. ": refused")
    elseif not tap.ok(ok, v.id .. ": placed") then tap.diag(l)
    else
      local offsets = {}
      for i, r in ipairs(l) do offsets[i] = r.offset end
      tap.is(v.offsets, offsets, v.id .. ": offsets")
      tap.is({ v.total, v.saved }, { l.total, l.saved }, v.id .. ": total, saved")
      if v.rounded then tap.is(v.rounded, l.allocated, v.id .. ": what is asked for") end
    end
  end
end
tap.ok(placed > 20, placed .. " vectors")

local s = weir.smem_allocator()
s:add { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, stages = 4 }:add { name = "scratch", size = 4096, align = 128 }:add { name = "p", size = 4, align = 4 }
s:alias { { "a" }, { "scratch" } }
local l = s:compute_layout()
tap.is({ 0, 0, 65536, 65540, 4096, 232448 }, { l[1].offset, l[2].offset, l[3].offset, l.total, l.saved, l.capacity }, "an alias")
tap.is([[

[smem-layout] SMEM Usage Report
name                            size align   offset      end
------------------------------------------------------------
a*                             65536  1024        0    65536
scratch*                        4096   128        0     4096
p                                  4     4    65536    65540
------------------------------------------------------------
alias group 1
  phase 1: a (65536 B)
  phase 2: scratch (4096 B)
------------------------------------------------------------
total 65540 B of 232448
saved 4096 B by phases that share bytes in time
]], s:report(), "its report")
tap.is({ 16384, 1024 }, { weir.tile_bytes { dtype = "bf16", tile = { 128, 64 }, swizzle = 128 } }, "a tile")
tap.is({ 160, 16 }, { weir.tile_bytes { dtype = "f32", tile = { 5, 8 }, threads = true } }, "a tile of threads")

local function mistake(what, name, f)
  local ok, message = pcall(f)
  tap.ok(not ok, name .. ": raises")
  tap.like("t/allocators.t:", tostring(message), name .. ": at the author's line")
  tap.like(what, tostring(message), name .. ": says so")
end
local function smem() return weir.smem_allocator():add { name = "x", size = 64 } end
mistake("'late' comes after compute_layout()", "an add after the layout", function() s:add { name = "late", size = 1 } end)
mistake("compute_layout() was called before", "a second layout", function() s:compute_layout() end)
mistake("'x' is added twice", "one name twice", function() smem():add { name = "x", size = 1 } end)
mistake("'x': 4611686018427387904 bytes, aligned to 16, are more than any memory has", "sizes past 64 bits in sum",
  function() weir.smem_allocator():add { name = "x", size = 1 << 62, align = 16 }:add { name = "y", size = 1 << 62 }:compute_layout() end)
mistake("at least two phases", "one phase", function() smem():alias { { "x" } } end)
mistake("'x' is in another phase already", "one record in two phases", function() smem():alias { { "x" }, { "x" } } end)
mistake("'y', which was not added", "an unknown record", function() smem():alias { { "x" }, { "y" } } end)
mistake("alignment 24 is not a power of two", "an alignment", function() weir.smem_allocator():add { name = "x", size = 1, align = 24 }:compute_layout() end)
mistake("232449 bytes of shared memory, there are 232448: 1 too many", "too much shared memory", function() weir.smem_allocator():add { name = "x", size = 232449 }:compute_layout() end)
mistake("513 columns of tensor memory, there are 512: 1 too many", "too many columns", function() weir.tmem_allocator():add { name = "x", size = 513 }:compute_layout() end)
mistake("compute_layout() comes before report()", "a report too early", function() smem():report() end)
mistake("not a multiple of the span", "a tile that cannot be", function() smem():add { name = "t", dtype = "bf16", tile = { 8, 20 }, swizzle = 128 } end)
tap.is(232448, weir.smem_allocator():add { name = "x", size = 232448 }:compute_layout().total, "all of it")

-- ---- mbarriers --------------------------------------------------------------------------------------------------------------------

for _, v in ipairs(vectors.barriers) do
  local records = {}
  for i, item in ipairs(v.items) do records[i] = { name = item[1], count = item[2], arrivals = item[3] } end
  local b = weir.place_barriers { records = records }
  local first, runs = {}, {}
  for i, r in ipairs(b) do first[i] = r.first end
  for i, r in ipairs(b.runs) do runs[i] = { r.first, r.last + 1, r.arrivals } end
  tap.is({ v.first, v.runs, v.used }, { first, runs, b.used }, v.id)
end

-- Each mode: as many mbarriers, and counts, as a group of that mode has.
local x, y = { name = "x", producers = 32, consumers = 128 }, { name = "y", producers = 1, consumers = 128 }
local function set(mode, members)
  local out = {}
  for _, r in ipairs(weir.barrier_records { name = "g", mode = mode, stages = 2, members = members }) do out[#out + 1] = ("%s %d x %d"):format(r.name, r.count, r.arrivals) end
  return out
end
tap.is({ "g_full 2 x 32", "g_empty 2 x 128" }, set(nil, { x }), "a pipeline")
tap.is({ "g_x_full 2 x 32", "g_y_full 2 x 1", "g_empty 2 x 128" }, set("merge", { x, y }), "a merge")
tap.is({ "g_full 2 x 33", "g_empty 2 x 128" }, set("fused_merge", { x, y }), "a fused merge")
tap.is({ "g_full 2 x 32", "g_x_empty 2 x 128", "g_y_empty 2 x 64" }, set("fork", { x, { name = "y", producers = 32, consumers = 64 } }), "a fork")

-- By hand as the plan has it: the same indices and runs.
local k = weir.kernel { name = "hand", arch = "sm_90a" }
local function ring(name) return k:resource { name = name, space = "smem", dtype = "u8", tile = { 64 }, pipeline = P.async_async { stages = 3 },
  work = { fill = weir.producer_work { code = ";" }, use = weir.consumer_work { code = ";" } } } end
local a, b = ring "a", ring "b"
local g = k:group { name = "g", mode = "merge", members = { a, b } }
local c = ring "c"
k:task { name = "give", warps = { 0, 2 }, schedule = function() for _, r in ipairs { g.a, g.b, c } do r:acquire(); r:fill(); r:commit() end end }
k:task { name = "get", warps = { 2, 4 }, schedule = function() g.a:wait(); g.a:use(); g.b:wait(); g.b:use(); g:release(); c:wait(); c:use(); c:release() end }
local hand = weir.barrier_allocator()
for _, bar in ipairs(k:barrier_layout()) do hand:add { name = bar.name, count = bar.stages, arrivals = bar.arrivals } end
local want, seen = {}, {}
for i, bar in ipairs(k:barrier_layout()) do want[i] = bar.first end
for i, bar in ipairs(hand:compute_layout()) do seen[i] = bar.first end
tap.is(want, seen, "a plan's array, by hand")
tap.like("15 mbarriers, 120 B", hand:report(), "and its report")
-- A group of a kernel, as it is.
local one = {}
for name, bar in pairs(g.barriers) do one[#one + 1] = { name, bar.count, bar.arrivals } end
local of_g = {}
for _, bar in ipairs(weir.barrier_allocator():add(g):compute_layout()) do of_g[#of_g + 1] = { bar.name, bar.count, bar.arrivals } end
local function by_name(p, q) return p[1] < q[1] end
table.sort(one, by_name)
table.sort(of_g, by_name)
tap.is({ { "g_a_full", 3, 2 }, { "g_b_full", 3, 2 }, { "g_empty", 3, 4 } }, one, "a group's mbarriers")
tap.is(one, of_g, "registered with an allocator")
mistake("a record or a group expected, got resource 'a'", "a resource that is no group", function() weir.barrier_allocator():add(a) end)

-- ---- mbarriers behind the data (L27 to L30) -----------------------------------------------------------------------------------------

-- Bytes of mbarriers, where they begin, where all ends.
local function behind(fill)
  local m = weir.smem_allocator()
  fill(m)
  local all = m:compute_layout()
  return { (all.barrier_offset and all.size - all.barrier_offset) or 0, all.barrier_offset or 0, all.size }, m
end
local function ring_of(m, name, stages) return m:add { name = name, size = 128 * stages, align = 128, stages = stages, producers = 1, consumers = 4 } end
tap.is({ 64, 512, 576 }, (behind(function(m) ring_of(m, "a", 4) end)), "L27: one resource of 4 stages")
tap.is({ 112, 896, 1008 }, (behind(function(m) ring_of(m, "a", 4) ring_of(m, "b", 2) ring_of(m, "c", 1) end)), "L27: three of 4, 2 and 1")
tap.is({ 32, 1032, 1064 }, (behind(function(m)
  m:add { name = "p", size = 4, align = 4 }:add { name = "x", size = 1024, align = 128, stages = 2, producers = 32, consumers = 128 }
end)), "L28: the array begins at the next multiple of 8")
local function pair_of(m, mode)
  m:add { name = "a", size = 512, align = 128 }:add { name = "b", size = 512, align = 128 }
  m:add_group { name = "ab", mode = mode, stages = 4, members = { { name = "a", producers = 1, consumers = 4 }, { name = "b", producers = 1, consumers = 4 } } }
end
tap.is({ 96, 1024, 1120 }, (behind(function(m) pair_of(m, "merge") end)), "L29, L30: a merge of two members, 4 stages, takes 96 bytes")
tap.is({ 96, 1024, 1120 }, (behind(function(m) m:add_group { name = "cd", mode = "fork", stages = 4,
  members = { { name = "c", producers = 1, consumers = 4 }, { name = "d", producers = 1, consumers = 1 } } } m:add { name = "a", size = 1024, align = 128 } end)), "a fork, registered before the data")
local sizes, fused = behind(function(r) pair_of(r, "fused_merge") end)
tap.is({ 64, 1024, 1088 }, sizes, "a fused merge takes 64")
tap.like("data 1024 B, mbarriers 64 B from 1024\ntotal 1088 B of 232448\n", fused:report(), "the report has both and their sum")
tap.is({ 0, 0, 232448 }, (behind(function(r) r:add { name = "x", size = 232448 } end)), "no mbarriers: the data's end")
tap.is(232448, behind(function(r) r:add { name = "x", size = 232384, stages = 4, producers = 1, consumers = 1 } end)[3], "data and mbarriers fill it to the last byte")
mistake("the layout takes 232456 bytes of shared memory, there are 232448: 8 too many", "eight bytes more", function()
  weir.smem_allocator():add { name = "x", size = 232385, stages = 4, producers = 1, consumers = 1 }:compute_layout()
end)
do -- a barrier allocator that an smem_allocator backs
  local back = weir.smem_allocator():add { name = "x", size = 100, align = 128 }
  local array = weir.barrier_allocator { smem = back }
  array:add { name = "a", stages = 2, producers = 1, consumers = 128 }
  tap.is({ 104, 136 }, { back:compute_layout().barrier_offset, back.layout.size }, "its array lies behind the data")
  tap.like("a_full                             2         1      104      120", array:report(), "its report has the addresses")
  mistake("comes after compute_layout()", "mbarriers after the layout", function() array:add { name = "b", stages = 1, producers = 1, consumers = 1 } end)
  mistake("has mbarriers, or its layout, already", "a second array", function() weir.barrier_allocator { smem = back } end)
  mistake("'g' comes after compute_layout()", "a group after the layout", function() back:add_group { name = "g", mode = "merge", stages = 1, members = {} } end)
end
mistake("mbarriers lie in shared memory", "mbarriers in tensor memory", function() weir.tmem_allocator():add { name = "x", size = 16, stages = 1, producers = 1, consumers = 1 } end)
mistake("a merge has one empty barrier, but consumers is 128 for 'x', 64 for 'y' [G-CFG-13]", "a shared side of two counts", function()
  weir.barrier_allocator():add_group { name = "g", mode = "merge", stages = 2, members = { x, { name = "y", producers = 1, consumers = 64 } } }
end)
mistake("a fork has one full barrier, but producers is 32 for 'x', 1 for 'y'", "and of a fork", function()
  weir.barrier_allocator():add_group { name = "g", mode = "fork", stages = 2, members = { x, y } }
end)
mistake("unknown field 'algin'; there are name, size, align", "a misspelt field", function() weir.smem_allocator():add { name = "x", size = 4, algin = 3 } end)
mistake("unknown field 'arhc'", "a misspelt option", function() weir.smem_allocator { arhc = "sm_90a" } end)
mistake("name is a string, got nil", "no name", function() weir.smem_allocator():add { size = 4 } end)
mistake("name is a string, got nil", "no name of an mbarrier", function() weir.barrier_allocator():add { stages = 4, producers = 1, consumers = 1 } end)
mistake("unknown field 'stage'", "a misspelt field of a group", function() weir.barrier_allocator():add_group { name = "g", stage = 1, members = {} } end)
mistake("a table expected, got number", "no table", function() weir.smem_allocator():add(4) end)
mistake("stages is 0; at least 1", "no stage", function() weir.smem_allocator():add { name = "x", dtype = "bf16", tile = { 8, 8 }, stages = 0 } end)
mistake("'x': size -4 is negative", "a negative size", function() weir.smem_allocator():add { name = "x", size = -4 }:compute_layout() end)

mistake("'a_full' is added twice", "a pipeline twice", function() weir.barrier_allocator():add { name = "a", stages = 1, producers = 1, consumers = 1 }:add { name = "a", stages = 1, producers = 1, consumers = 1 } end)
mistake("both are at least 1", "no arrivals", function() weir.barrier_allocator():add { name = "a", stages = 1, producers = 1, consumers = 0 }:compute_layout() end)
tap.done()
