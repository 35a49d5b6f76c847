#!/usr/bin/env lua5.4
-- Views of views: rows, columns, slabs, transposition and limits, named in every order, of a stage and of a tensor. Each element is compared.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local weir, plan = lab.weir, lab.plan
local P = weir.pipeline
local dev = weir.device("sim", { seed = 3 })

local ROWS, COLS = 16, 32
local function S(i, j) return i * 100 + j end
local function T(i, j) return S(j, i) end
local function limited(n, f) return function(i, j) return j < n and f(i, j) or 0 end end
local function at(r, c, f) return function(i, j) return f(i + r, j + c) end end
-- Name, shape, the view of a whole tile, what lies there.
local views = {
  { "rows", { 8, 32 }, function(v) return v:rows(8, 8) end, at(8, 0, S) },
  { "rows of rows", { 2, 32 }, function(v) return v:rows(4, 8):rows(3, 2) end, at(7, 0, S) },
  { "columns of rows", { 8, 8 }, function(v) return v:rows(8, 8):cols(20, 8) end, at(8, 20, S) },
  { "transposed", { 32, 16 }, function(v) return v:t() end, T },
  { "rows of the transposed", { 8, 16 }, function(v) return v:t():rows(8, 8) end, at(8, 0, T) },
  { "columns of the transposed", { 32, 8 }, function(v) return v:t():cols(8, 8) end, at(0, 8, T) },
  { "both", { 8, 4 }, function(v) return v:t():rows(8, 8):cols(4, 4) end, at(8, 4, T) },
  { "rows, transposed", { 32, 8 }, function(v) return v:rows(8, 8):t() end, at(0, 8, T) },
  { "columns, transposed, rows of those", { 4, 16 }, function(v) return v:cols(8, 16):t():rows(4, 4) end, at(12, 0, T) },
  { "rows of the transposed, and back", { 16, 8 }, function(v) return v:t():rows(8, 8):t() end, at(0, 8, S) },
  { "there and back, rows", { 8, 32 }, function(v) return v:t():cols(8, 8):t() end, at(8, 0, S) },
  { "a slab", { 1, 32 }, function(v) return v:sub(3) end, at(3, 0, S) },
  { "a slab of rows", { 1, 32 }, function(v) return v:rows(8, 8):sub(1) end, at(9, 0, S) },
  { "columns of a slab", { 1, 8 }, function(v) return v:sub(3):cols(8, 8) end, at(3, 8, S) },
  { "a limit", { 16, 32 }, function(v) return v:limit(5) end, limited(5, S) },
  { "a limit of columns", { 16, 8 }, function(v) return v:cols(8, 8):limit(5) end, limited(5, at(0, 8, S)) },
  { "columns of what is limited", { 16, 8 }, function(v) return v:limit(12):cols(8, 8) end, limited(4, at(0, 8, S)) },
  { "columns, a limit, columns", { 16, 8 }, function(v) return v:cols(4, 20):limit(9):cols(4, 8) end, limited(5, at(0, 8, S)) },
  { "a limit, transposed", { 32, 16 }, function(v) return v:limit(5):t() end, function(i, j) return i < 5 and T(i, j) or 0 end },
  { "columns, a limit, transposed, rows", { 4, 16 }, function(v) return v:cols(8, 16):limit(6):t():rows(4, 4) end, function(i, j) return i < 2 and T(i + 12, j) or 0 end },
}

-- One kernel that stores them all, of what from(k) gives where it is read.
local function compare(of, declare)
  local k, args, ys = weir.kernel { name = "views", arch = "sm_90a" }, {}, {}
  local read = declare(k)
  local y = {}
  for n, v in ipairs(views) do
    local name, shape = "Y" .. n, v[2]
    y[n] = k:gmem_tile { name = "y" .. n, tensor = k:tensor { name = name, dtype = "f32", shape = shape, out = true }, tile = shape }
    ys[n] = dev:tensor { dtype = "f32", shape = shape }:fill(-1)
    args[name] = ys[n]
  end
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    read(function(tile) for n, v in ipairs(views) do y[n]:store(v[3](tile), y[n]:at(0, 0)) end end)
  end }
  local data = {}
  for i = 0, ROWS - 1 do for j = 0, COLS - 1 do data[i * COLS + j + 1] = S(i, j) end end
  args.X = dev:tensor { dtype = "f32", shape = { ROWS, COLS } }:set(data)
  local p = k:build { device = dev }
  local ok, why = p:launch(args, { grid = 1 })
  if not tap.ok(ok, of .. ": runs") then return tap.diag(why) end
  for n, v in ipairs(views) do
    local want, rows, cols = {}, v[2][1], v[2][2]
    for i = 0, rows - 1 do for j = 0, cols - 1 do want[i * cols + j + 1] = v[4](i, j) end end
    tap.is(want, ys[n]:get(), of .. ": " .. v[1])
  end
end
compare("of a stage", function(k)
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { ROWS, COLS } }, tile = { ROWS, COLS } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { ROWS, COLS }, swizzle = 128, pipeline = P.tma_async { stages = 1 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() s:acquire(); s:tma_load(x:at(0, 0)); s:commit() end }
  return function(use) s:wait(); use(s:read()); s:release() end
end)
compare("of a tensor", function(k)
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { ROWS, COLS } }, tile = { ROWS, COLS } }
  return function(use) use(x:at(0, 0)) end
end)

do -- fragments go to the columns that a limit leaves, counted from where it was said
  for _, o in ipairs { { "columns of what is limited", function(v) return v:limit(20):cols(16, 16) end, 20 }, { "a limit of columns", function(v) return v:cols(16, 16):limit(4) end, 20 } } do
    local k = weir.kernel { name = "frags", arch = "sm_90a" }
    local y = k:gmem_tile { name = "y", tensor = k:tensor { name = "Y", dtype = "f32", shape = { 64, 32 }, out = true }, tile = { 64, 32 } }
    local t = k:reg_tile { name = "t", dtype = "f32", tile = { 64, 16 } }
    k:task { name = "put", warps = { 0, 4 }, schedule = function() t:set(7); y:store(t:read(), o[2](y:at(0, 0))) end }
    local p = k:build { device = dev }
    local out = dev:tensor { dtype = "f32", shape = { 64, 32 } }:fill(-1)
    tap.ok(p:launch({ Y = out }, { grid = 1 }), o[1] .. ": runs")
    local want = {}
    for i = 0, 63 do for j = 0, 31 do want[i * 32 + j + 1] = j >= 16 and j < o[3] and 7 or -1 end end
    tap.is(want, out:get(), "fragments, " .. o[1])
  end
end

do -- an operand of an mma, named both ways round
  local function source(view)
    local k = weir.kernel { name = "mma", arch = "sm_90a" }
    local function ring(name, tile) return k:smem_tile { name = name, dtype = "bf16", tile = tile, swizzle = 128, pipeline = P.tma_async { stages = 1 } } end
    local a, b, w = ring("a", { 64, 64 }), ring("b", { 64, 128 }), k:wgmma_tile { name = "w", tile = { 64, 64 } }
    k:task { name = "t", warps = { 0, 4 }, schedule = function() a:wait(); b:wait(); w:zero(); w:mma(a:read(), view(b:read())); w:drain(); a:release(); b:release() end }
    local p, why = plan.of(k)
    return p and plan.emit(p):gsub("//[^\n]*", "") or why
  end
  local one, other = source(function(v) return v:cols(64, 64):t() end), source(function(v) return v:t():rows(64, 64) end)
  tap.like("8192", one, "columns of b, transposed: the second panel")
  tap.ok(one == other, "rows of b transposed are the same")
end

-- What a body may be given: a pointer to a stage, or to slabs and rows of it.
local function body(name, want, view)
  local k = weir.kernel { name = "v", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 16, 32 } }, tile = { 16, 32 } }
  local s = k:smem_tile { name = "s", dtype = "f32", tile = { 2, 8, 32 }, pipeline = P.tma_async { stages = 1 } }
  local out = k:resource { name = "out", space = "gmem", bind = { y = k:tensor { name = "Y", dtype = "f32", shape = { 16, 32 }, out = true } },
    work = { put = weir.producer_work { params = "view from", code = "y[tid] = from[tid];" } } }
  k:task { name = "put", warps = { 4, 4 }, schedule = function() s:wait(); out:put(view(s:read(), x)); s:release() end }
  local p, why = plan.of(k)
  tap.is(want, p and (plan.emit(p):match "%(const float %*%)w_ptr%((.-)%)%);\n") or why, "a body: " .. name)
end
local no_rows = "PLAN-VIEW: task 'put': out:put takes 'from', a part of a stage that is no pointer to whole rows\n"
local of_tensor = "PLAN-VIEW: task 'put': out:put takes 'from' of a tensor; a body's views are of stages\n"
body("a stage", "s_smem", function(v) return v end)
body("a slab", "s_smem + (u32)((1 * 8) * 128 + (0) * 4)", function(v) return v:sub(1) end)
body("rows of a slab", "s_smem + (u32)((1 * 8 + 4) * 128 + (0) * 4)", function(v) return v:sub(1):rows(4, 2) end)
body("the first columns", "s_smem", function(v) return v:cols(0, 8) end)
body("others", no_rows, function(v) return v:cols(8, 8) end)
body("rows of each slab", no_rows, function(v) return v:rows(4, 2) end)
body("an element", no_rows, function(v) return v:sub(1):sub(2):sub(3) end)
body("transposed", no_rows, function(v) return v:sub(1):t() end)
body("limited", no_rows, function(v) return v:limit(3) end)
body("a tile of a tensor", of_tensor, function(_, x) return x:at(0, 0) end)

local function refused(name, message, hint, view, tile)
  local k = weir.kernel { name = "v", arch = "sm_90a" }
  local x = k:gmem_tile { name = "x", tensor = k:tensor { name = "X", dtype = "f32", shape = { 4, 16, 32 } }, tile = tile or { 4, 16, 32 } }
  k:task { name = "t", warps = { 0, 4 }, schedule = function() pcall(view, x:at(0, 0, 0)) end }
  local seen
  for _, f in ipairs(k:verify().findings) do if f.rule == "VIEW-ARG" then seen = { f.message, f.hint } end end
  tap.is({ message, hint }, seen, name)
end
refused("a row turned over", "t wants a view of at least 2 axes, and x:at(0, 0, 0) has 1, leading ones of 1 apart", nil, function(v) return v:t() end, { 1, 1, 32 })
refused("a slab of what is transposed", "sub: x:at(0, 0, 0):sub(1):t() is transposed: its slabs are columns", "take cols(first, 1) before t()", function(v) return v:sub(1):t():sub(2) end)
refused("the same, transposed before a slab of its own", "sub: x:at(0, 0, 0):t():sub(1) is transposed: its slabs are columns", "take cols(first, 1) before t()", function(v) return v:t():sub(1):sub(2) end)
refused("a limit of what is transposed", "limit: x:at(0, 0, 0):t() is transposed: its last axis is rows", "limit(n) before t(): there is a limit of columns alone", function(v) return v:t():limit(3) end)
refused("two limits", "limit: x:at(0, 0, 0):limit(5):cols(0, 8) has a limit already", "limit(weir.min(n, m))", function(v) return v:limit(5):cols(0, 8):limit(3) end)
tap.done()
