#!/usr/bin/env lua5.4
-- Mistakes that people reported of other tools and that text written by weir does not contain, or that it warns of: t/rejects.t has those
-- that it refuses, t/sim/bugs.t those that a run shows. Numbers are those of the list that the reports were collected in.
local tap = require "tap"
local lab = require "lab"
local sm100a = require "sm100a"
local weir, plan = lab.weir, lab.plan
local P, cd = weir.pipeline, weir.ceil_div
local dev = lab.device()

-- ---- 2 cutlass/issues/2418: deadlocks when another warp than the first ones produces --------------------------------------------------

-- A copy whose tasks stand at these warps. The last reader has two warps, so its elected thread is one of 64.
local function relay(load, move, put)
  local k = weir.kernel { name = "relay", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 64 } }
  local a = k:smem_tile { name = "a", dtype = "f32", tile = { 64 }, pipeline = P.tma_async { stages = 2 } }
  local b = k:smem_tile { name = "b", dtype = "f32", tile = { 64 }, pipeline = P.async_async { stages = 2 } }
  k:task { name = "load", warps = { load, 1 }, schedule = function() for i in weir.domain_loop(0, 5) do a:acquire(); a:tma_load(x:at(i)); a:commit() end end }
  k:task { name = "move", warps = { move, 1 }, schedule = function() for _ in weir.domain_loop(0, 5) do a:wait(); b:acquire(); b:store(a:read()); b:commit(); a:release() end end }
  k:task { name = "put", warps = { put, 2 }, schedule = function() for i in weir.domain_loop(0, 5) do b:wait(); y:store(b:read(), y:at(i)); b:release() end end }
  return k
end
for i, w in ipairs { { 0, 1, 2 }, { 1, 0, 2 }, { 3, 2, 0 }, { 0, 3, 1 }, { 7, 4, 0 }, { 5, 0, 6 } } do
  local k = relay(w[1], w[2], w[3])
  local report = k:verify()
  tap.is("proof: SAFE", report.text:match "proof: %u+", ("2: tasks at warps %d, %d and %d: the verdict"):format(w[1], w[2], w[3]))
  if i % 3 == 1 then
    local p, want = k:build { device = dev }, {}
    for j = 1, 300 do want[j] = j * 37 % 1009 end
    local x, y = dev:tensor { dtype = "f32", shape = { 300 } }:set(want), dev:tensor { dtype = "f32", shape = { 300 } }:fill(-1)
    local ok, message = p:launch({ X = x, Y = y }, { device = dev, grid = 1 })
    tap.is({ true, want }, { ok or message, ok and y:get() }, "2: ... and what it copies")
  end
end

-- ---- 29 tilelang/issues/284: a flat thread id in a body of a later warp ----------------------------------------------------------------

local function bodied(code)
  local k = weir.kernel { name = "bodied", arch = "sm_90a" }
  local s = k:resource { name = "s", space = "smem", dtype = "u32", tile = { 32 }, work = { step = weir.producer_work { code = code } } }
  k:task { name = "one", warps = { 2, 1 }, schedule = function() s:step() end }
  local out = {}
  for _, f in ipairs(k:verify().findings) do if f.rule == "M-TID" then out[#out + 1] = ("%s at %d: %s"):format(f.severity, f.line, f.message:match "'[%w_]+'") end end
  k:close()
  return out
end
local here = debug.getinfo(1, "l").currentline
tap.is({ "warning at " .. here + 3 .. ": 'threadIdx'" }, bodied [[
  // threadIdx in a comment, "w_tid" in /* a text */
  smem[threadIdx.x] = 1;]], "29: threadIdx, at its row")
tap.is({ "'w_tid'", "'w_warp'" }, { bodied("smem[w_tid()] = 1;")[1]:match "'.*'", bodied("smem[w_warp()] = 1;")[1]:match "'.*'" }, "29: so do weir's own")
for _, code in ipairs { "smem[tid] = warp + lane + w_lane();", "/* threadIdx */ smem[tid] = 1; // w_tid()", [[if (smem[tid] == 7) printf("\"threadIdx\" w_tid");]],
  "const u32 my_w_tid = tid, w_tid2 = 0, threadIdxs = 1; smem[tid] = my_w_tid + w_tid2 + threadIdxs;" } do
  tap.is({}, bodied(code), "29: nothing to say of " .. code)
end

-- ---- 44, 65, 75, 81: what emitted text has, and what it has not -----------------------------------------------------------------------

local kernels = { gemm = lab.gemm(), cluster = lab.gemm { cluster = 2 }, copy = lab.tma_copy(), threads = lab.thread_copy(), tensor_memory = sm100a.gemm { n = 64, sums = 1 } }
for name, k in pairs(kernels) do
  local p = k:build { device = dev }
  local text = p:source()
  tap.unlike("#include", text, name .. ": 81: it includes nothing")
  tap.unlike("__shared__", text, name .. ": 75: no static shared memory")
  tap.like(("__launch_bounds__(%d, 1)"):format(plan.get(p, "plan", 0, "threads")), text, name .. ": 65: threads and blocks, so that the count at entry is known")
  local maps = 0
  for _ in text:gmatch "const __grid_constant__ w_tmap [%w_]+[,)]" do maps = maps + 1 end
  tap.is(plan.count(p, "tmaps"), maps, name .. ": 44: each tensor map is a parameter of the grid, none lies in memory")
  tap.unlike("w_tmap *", text, name .. ": 44: and none is pointed to")
end

-- ---- 20 tilelang/pull/1828: the second kernel of a module waits for the wrong bytes --------------------------------------------------

-- Each text in a context of its own, and once more where all the others were built before it.
for name, make in pairs { gemm = function() return lab.gemm() end, cluster = function() return lab.gemm { cluster = 2 } end, copy = lab.tma_copy, threads = lab.thread_copy } do
  local shared = make():source()
  lab.weir = plan.open { cache_dir = "" }
  package.loaded.weir = lab.weir
  local own = dofile(package.searchpath("lab", package.path)) -- named in the text as it was for the others
  package.loaded.weir, lab.weir = weir, weir
  local alone = ({ gemm = function() return own.gemm() end, cluster = function() return own.gemm { cluster = 2 } end, copy = own.tma_copy, threads = own.thread_copy })[name]():source()
  tap.is(alone, shared, name .. ": 20: built behind others, the same text")
end

-- ---- 53 emmy/pull/200: right by luck until another buffer came first; 54 tilelang/issues/2528: 64 bytes a stage -----------------------

-- Pads of 16 bytes are declared in front of the tiles named.
local function padded(where)
  local k = weir.kernel { name = "padded", arch = "sm_90a" }
  local N = k:dim "N"
  local X, Y = k:tensor { name = "X", dtype = "bf16", shape = { N, 64 } }, k:tensor { name = "Y", dtype = "bf16", shape = { N, 64 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { 8, 64 } }, k:gmem_tile { name = "y", tensor = Y, tile = { 8, 64 } }
  local pads = {}
  local function pad(name)
    if not where[name] then return end
    pads[#pads + 1] = k:resource { name = "pad_" .. name, space = "smem", dtype = "u8", tile = { 16 }, work = { touch = weir.producer_work { code = "if (tid < 16) smem[tid] = 0xa5;" } } }
  end
  pad "a"
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 8, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } }
  pad "b"
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 8, 64 }, swizzle = 128, pipeline = P.async_tma { stages = 2 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(cd(N, 8)) do a:acquire(); a:tma_load(x:at(i, 0)); a:commit() end end }
  k:task { name = "move", warps = { 4, 4 }, schedule = function()
    for _, p in ipairs(pads) do p:touch() end
    for i in weir.domain_loop(cd(N, 8)) do
      a:wait(); b:acquire(); b:store(a:read()); b:commit(); a:release()
      b:wait(); y:tma_store(b:read(), y:at(i, 0)); b:release()
    end
  end }
  return k
end
for name, where in pairs { ["nothing"] = {}, ["the first"] = { a = true }, ["the second"] = { b = true }, ["both"] = { a = true, b = true } } do
  local k = padded(where)
  local report = k:verify()
  if not tap.ok(report.ok, "53: 16 bytes in front of " .. name .. ": planned and proved") then tap.diag(report.text) end
  if report.ok then
    local p, want = k:build { device = dev }, {}
    for i = 1, 20 * 64 do want[i] = i % 251 end
    local x, y = dev:tensor { dtype = "bf16", shape = { 20, 64 } }:set(want), dev:tensor { dtype = "bf16", shape = { 20, 64 } }:fill(-1)
    local ok, message = p:launch({ X = x, Y = y }, { device = dev, grid = 1 })
    tap.is({ true, want }, { ok or message, ok and y:get() }, "53: ... the same numbers")
  end
end

-- ---- 58 tilelang/issues/1648: small tiles -----------------------------------------------------------------------------------------------

local function small(dtype, rows, cols)
  local k = weir.kernel { name = "small", arch = "sm_90a" }
  local N = k:dim "N"
  local X, Y = k:tensor { name = "X", dtype = dtype, shape = { N, 128 } }, k:tensor { name = "Y", dtype = dtype, shape = { N, 128 }, out = true }
  local x, y = k:gmem_tile { name = "x", tensor = X, tile = { rows, cols } }, k:gmem_tile { name = "y", tensor = Y, tile = { rows, cols } }
  local s = k:smem_tile { name = "s", dtype = dtype, tile = { rows, cols }, pipeline = P.tma_async { stages = 3 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function() for i in weir.domain_loop(cd(N, rows)) do s:acquire(); s:tma_load(x:at(i, 0)); s:commit() end end }
  k:task { name = "put", warps = { 1, 1 }, schedule = function() for i in weir.domain_loop(cd(N, rows)) do s:wait(); y:store(s:read(), y:at(i, 0)); s:release() end end }
  return k
end
local ran, taken, not_taken, wrong = 0, 0, {}, {} -- every fourth that is taken is run
for _, dtype in ipairs { "u8", "bf16", "f32" } do
  for _, rows in ipairs { 1, 2, 4 } do
    for _, cols in ipairs { 4, 8, 16, 24, 32, 128 } do
      local name = ("%s %d x %d"):format(dtype, rows, cols)
      local k = small(dtype, rows, cols)
      local report = k:verify()
      if not report.ok then
        not_taken[#not_taken + 1] = name
        if not report.text:find "%[PLAN%-%u+%]" then wrong[#wrong + 1] = name .. ": " .. report.text end
      else
        local p = k:build { device = dev }
        local stage = plan.get(p, "smem", lab.index(p, "smem", "s"), "stage_bytes")
        if stage % 128 ~= 0 then wrong[#wrong + 1] = ("%s: stages of %d bytes, off 128"):format(name, stage) end
        taken = taken + 1
        if taken % 4 == 0 then
          local values, want = {}, {}
          for i = 1, 7 * 128 do
            values[i] = i % 127
            want[i] = (i - 1) % 128 < cols and i % 127 or 99
          end
          local a, b = dev:tensor { dtype = dtype, shape = { 7, 128 } }:set(values), dev:tensor { dtype = dtype, shape = { 7, 128 } }:fill(99)
          local ok, message = p:launch({ X = a, Y = b }, { device = dev, grid = 1 })
          local got = ok and b:get() or {}
          local same = ok
          for i = 1, #want do same = same and got[i] == want[i] end
          if not same then wrong[#wrong + 1] = name .. ": " .. (ok and "wrong numbers" or tostring(message)) end
          ran = ran + 1
        end
      end
    end
  end
end
tap.is({}, wrong, ("58, 54: small tiles: %d of %d run, right, %d are refused by a rule of the plan; stages begin at multiples of 128"):format(ran, taken, #not_taken))
tap.ok(taken >= 24 and ran >= 8 and #not_taken > 0, "58: refused: " .. table.concat(not_taken, ", "))
tap.done()
