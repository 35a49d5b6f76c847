-- For tests of plans and emitted text: small kernels, the plan's tables, the text of a role, runs on the simulator.
-- Requires weir_plan before weir, so that both are one library: see t/c/planlib.c.
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"

local lab = { weir = weir, plan = plan }

local device
function lab.device()
  device = device or weir.device("sim", { seed = 11 })
  return device
end

-- ---- kernels ------------------------------------------------------------------------------------------------------------------

--- A persistent GEMM. o: warpgroups = 1, n = 64, stages = 3, lag = 1, cluster = 1 (along m; B is multicast), cluster_n = 1 (A is
--- multicast), issue (of multicasts: "slices" | "first"), group = "fused_merge" | "merge" | "none", fold, grain, dtype = "bf16", epilogue = "staged" | "plain", staging = 64
--- (columns of a staging tile), load_registers, mma_registers, raster, consumer_first (order of the tasks), name (of an object).
function lab.gemm(o)
  o = o or {}
  local P, cd = weir.pipeline, weir.ceil_div
  local function name(s) return o.name and o.name(s) or s end
  local wgs, BN, BK, stages, dtype = o.warpgroups or 1, o.n or 64, 64, o.stages or 3, o.dtype or "bf16"
  local BM, EN, lag, mode = 64 * wgs, o.staging or 64, o.lag or 1, o.group or "fused_merge"
  local cluster, cluster_n = o.cluster or 1, o.cluster_n or 1
  lag = math.min(lag, stages - 1)
  local k = weir.kernel { name = name "gemm", arch = "sm_90a", cluster = { m = cluster, n = cluster_n } }
  local M, N, K = k:dim(name "M"), k:dim(name "N"), k:dim(name "K")
  local A = k:tensor { name = name "A", dtype = dtype, shape = { M, K } }
  local B = k:tensor { name = name "B", dtype = dtype, shape = { N, K } }
  local D = k:tensor { name = name "D", dtype = dtype, shape = { M, N }, out = true }
  local wq = k:work_queue { name = name "wq", over = D, tile = { BM, BN }, raster = o.raster }
  local ga = k:gmem_tile { name = name "ga", tensor = A, tile = { BM, BK } }
  local gb = k:gmem_tile { name = name "gb", tensor = B, tile = { BN, BK } }
  local gd = k:gmem_tile { name = name "gd", tensor = D, tile = { BM, EN } }
  local a = k:smem_tile { name = name "a", dtype = dtype, tile = { BM, BK }, swizzle = 128, pipeline = P.tma_async { stages = stages, grain = o.grain } }
  local b = k:smem_tile { name = name "b", dtype = dtype, tile = { BN, BK }, swizzle = 128, pipeline = P.tma_async { stages = stages, grain = o.grain } }
  local stage = o.epilogue ~= "plain" and k:smem_tile { name = name "stage", dtype = dtype, tile = { BM, EN }, swizzle = 2 * EN,
    pipeline = P.async_tma { stages = 2 } }
  local acc = k:wgmma_tile { name = name "acc", tile = { BM, BN } }
  local ma, mb, ab = a, b, nil
  if mode ~= "none" then
    ab = k:group { name = name "ab", mode = mode, members = { a, b }, fold = o.fold }
    ma, mb = ab:member(name "a"), ab:member(name "b")
  end
  local function load()
    k:task { name = name "load", warps = { 0, 1 }, registers = o.load_registers, schedule = function()
      for t in weir.work_tile_loop(wq) do
        for kk in weir.domain_loop(0, cd(K, BK)) do
          ma:acquire(); ma:tma_load(ga:at(t.m, kk), { multicast = cluster_n > 1 and "n" or nil, issue = cluster_n > 1 and o.issue or nil }); ma:commit()
          mb:acquire(); mb:tma_load(gb:at(t.n, kk), { multicast = cluster > 1 and "m" or nil, issue = cluster > 1 and o.issue or nil }); mb:commit()
        end
        wq:next()
      end
    end }
  end
  local function mma()
    k:task { name = name "mma", warps = { 4, 4 * wgs }, registers = o.mma_registers, schedule = function()
      for t in weir.work_tile_loop(wq) do
        acc:zero()
        for _ in weir.domain_loop(0, cd(K, BK)) do
          if mode == "fused_merge" then ab:wait() else ma:wait(); mb:wait() end
          acc:mma(ma:read(), mb:read())
          acc:drain(lag)
          if ab then ab:release(lag) else ma:release(lag); mb:release(lag) end
        end
        acc:drain()
        if ab then ab:release(0) else ma:release(0); mb:release(0) end
        for c = 0, BN // EN - 1 do
          if stage then
            stage:acquire(); stage:store(acc:read():cols(c * EN, EN)); stage:commit()
            stage:wait(); gd:tma_store(stage:read(), gd:at(t.m, t.n * (BN // EN) + c)); stage:release()
          else
            gd:store(acc:read():cols(c * EN, EN), gd:at(t.m, t.n * (BN // EN) + c))
          end
        end
        wq:next()
      end
    end }
  end
  if o.consumer_first then mma() load() else load() mma() end
  return k
end

--- A copy by tiles of 8 x 64 f32 through a TMA ring; 4 warps store.
function lab.tma_copy(stages)
  local k = weir.kernel { name = "copy", arch = "sm_90a" }
  local H, W = k:dim "H", k:dim "W"
  local X = k:tensor { name = "X", dtype = "f32", shape = { H, W } }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { H, W }, out = true }
  local wq = k:work_queue { name = "wq", over = Y, tile = { 8, 64 } }
  local gx, gy = k:gmem_tile { name = "gx", tensor = X, tile = { 8, 64 } }, k:gmem_tile { name = "gy", tensor = Y, tile = { 8, 64 } }
  local ring = k:smem_tile { name = "ring", dtype = "f32", tile = { 8, 64 }, pipeline = weir.pipeline.tma_async { stages = stages or 3 } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:acquire(); ring:tma_load(gx:at(t.m, t.n)); ring:commit()
      wq:next()
    end
  end }
  k:task { name = "put", warps = { 4, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:wait(); gy:store(ring:read(), t); ring:release()
      wq:next()
    end
  end }
  return k
end

--- A copy of tiles of 128 i32 by threads alone: one warp fills, `readers` warps empty. Bodies in CUDA.
function lab.thread_copy(stages, readers)
  local T = 128
  local k = weir.kernel { name = "threads", arch = "sm_90a" }
  local N = k:dim "N"
  local X = k:tensor { name = "x", dtype = "i32", shape = { N } }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { N }, out = true }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { weir.ceil_div(N, T) } }
  local ring = k:resource { name = "ring", space = "smem", dtype = "i32", tile = { T }, bind = { x = X }, const = { T = T },
    pipeline = weir.pipeline.async_async { stages = stages or 2 },
    work = { fill = weir.producer_work { params = "i32 first", code = [[
      for (u32 i = tid; i < T; i += nthreads) smem[i] = first + (i32)i < x_shape[0] ? x[first + i] : 0; ]] } } }
  local out = k:resource { name = "out", space = "gmem", bind = { y = Y }, const = { T = T },
    work = { put = weir.producer_work { params = "view from, i32 first", code = [[
      for (u32 i = tid; i < T; i += nthreads) if (first + (i32)i < y_shape[0]) y[first + i] = from[i]; ]] } } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:acquire(); ring:fill(t.i * T); ring:commit()
      wq:next()
    end
  end }
  k:task { name = "put", warps = { 4, readers or 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      ring:wait(); out:put(ring:read(), t.i * T); ring:release()
      wq:next()
    end
  end }
  return k
end

-- ---- the plan -------------------------------------------------------------------------------------------------------------------

--- Rows of a table as Lua tables with the fields asked for, in order; by name when they have one.
function lab.rows(program, table, ...)
  local out, fields, first = {}, { ... }, table == "action" and 1 or 0
  for i = first, plan.count(program, table) - 1 + first do
    local row = {}
    for _, f in ipairs(fields) do row[f] = plan.get(program, table, i, f) end
    out[i - first + 1] = row
  end
  return out
end

--- Index of the row with this name.
function lab.index(program, table, name)
  for i = 0, plan.count(program, table) - 1 do
    if plan.get(program, table, i, "name") == name then return i end
  end
  error(("no '%s' in %s"):format(name, table), 2)
end

--- Id of the nth (1) action of a kind, on the barrier `bar` when given.
function lab.action(program, kind, bar, nth)
  nth = nth or 1
  for id = 1, plan.count(program, "action") do
    local on = plan.get(program, "action", id, "bar")
    if plan.get(program, "action", id, "kind") == kind and (not bar or (on >= 0 and plan.get(program, "bars", on, "name") == bar)) then
      nth = nth - 1
      if nth == 0 then return id end
    end
  end
  error(("no action %s%s"):format(kind, bar and " on " .. bar or ""), 2)
end

-- ---- text ------------------------------------------------------------------------------------------------------------------------

--- The lines of a task's role without indentation, comments and the declarations of its variables.
function lab.role(source, task)
  local out, depth, inside = {}, nil, false
  for row in source:gmatch "[^\n]+" do
    local indent = #row:match "^ *"
    if inside and indent < depth then break end
    if inside then
      local text = row:gsub("%s*//.*$", ""):gsub("^ *", ""):gsub(" ?%(void%)[%w_]+;", "")
      if text ~= "" and not text:find "^u32 [%w_]+ = %d" and not text:find "^const u32 [%w_]+ = " and not text:find "^const i32 wq_" then out[#out + 1] = text end
    elseif row:find("// task " .. task .. ":", 1, true) then
      inside, depth = true, indent
    end
  end
  return out
end

--- The statement of an action, without its marker.
function lab.statement(source, id)
  return (source:match("W_AT%(" .. id .. "%);%s*([^\n]*)"):gsub("%s*//.*$", ""))
end

--- Replaces the plain text `from`, which must be there; the nth time (1) it is.
function lab.edit(source, from, to, nth)
  local at = 1
  for i = 1, nth or 1 do
    local a, b = source:find(from, at, true)
    if not a then error("not in the text: " .. from, 2) end
    if i == (nth or 1) then return source:sub(1, a - 1) .. to .. source:sub(b + 1) end
    at = b + 1
  end
end

--- Runs with seeds 1 to `seeds`, as a hazard may need an order of its own, until one finds all of `parts`; each must be in what was found.
--- run(dev): true, or false and what was found.
function lab.found(tap, name, seeds, run, parts)
  local seen
  for seed = 1, seeds do
    local ok, message = run(weir.device("sim", { seed = seed }))
    if not ok then
      seen = message
      local all = true
      for _, part in ipairs(parts) do all = all and message:find(part, 1, true) end
      if all then break end
    end
  end
  if not seen then return tap.ok(false, name .. ": went through") end
  for _, part in ipairs(parts) do tap.like(part, seen, name .. ": " .. part) end
end

-- ---- runs ------------------------------------------------------------------------------------------------------------------------

local runs = 0                                            -- each run has other numbers: what an earlier one left on a stack is wrong

--- Runs a GEMM of lab.gemm: true when it ran and is right; else false and what went wrong: the findings, or "wrong numbers".
--- o: device, grid, dtype.
function lab.run_gemm(program, m, n, k, o)
  o = o or {}
  local dev, dtype = o.device or lab.device(), o.dtype or "bf16"
  runs = runs + 1
  local a = dev:tensor { dtype = dtype, shape = { m, k } }:randn(2 * runs)
  local b = dev:tensor { dtype = dtype, shape = { n, k } }:randn(2 * runs + 1)
  local d = dev:tensor { dtype = dtype, shape = { m, n } }:fill(0 / 0)
  local ok, message = program:launch({ A = a, B = b, D = d }, { device = dev, grid = o.grid })
  if not ok then return false, message end
  local x, y, z = a:get(), b:get(), d:get()
  for i = 0, m - 1 do
    for j = 0, n - 1, 7 do                                -- every row, every seventh column
      local s, size = 0.0, 0.0
      for q = 1, k do
        local p = x[i * k + q] * y[j * k + q]
        s, size = s + p, size + math.abs(p)
      end
      local got = z[i * n + j + 1]
      local off = math.abs(got - s)
      if off ~= off or off > math.abs(s) / 128 + size * 1e-5 then
        return false, ("wrong numbers: D[%d][%d] is %g, should be %g"):format(i, j, got, s)
      end
    end
  end
  return true, ""
end

--- Runs a copy of lab.tma_copy or lab.thread_copy; o: device, grid.
function lab.run_copy(program, shape, o)
  o = o or {}
  local dev = o.device or lab.device()
  local dtype, X, Y = "f32", "X", "Y"
  if #shape == 1 then dtype, X, Y = "i32", "x", "y" end
  local size = 1
  for _, n in ipairs(shape) do size = size * n end
  local want = {}
  for i = 1, size do want[i] = i * 7919 % 10007 end
  local x = dev:tensor { dtype = dtype, shape = shape }:set(want)
  local y = dev:tensor { dtype = dtype, shape = shape }:fill(-1)
  local ok, message = program:launch({ [X] = x, [Y] = y }, { device = dev, grid = o.grid })
  if not ok then return false, message end
  local got = y:get()
  for i = 1, size do
    if got[i] ~= want[i] then return false, ("wrong numbers: element %d is %s, should be %s"):format(i, got[i], want[i]) end
  end
  return true, ""
end

-- A tile of sums of 64 x 8 in each work tile, to which add() adds 16; schedule { n, t, acc, add, put, wq } is what a tile does, `n` a dim;
-- first(acc): what comes before the tiles.
function lab.sums(schedule, first)
  local k = weir.kernel { name = "sums", arch = "sm_90a" }
  local n, M = k:dim "n", k:dim "M"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { 64, 16 } }
  local D = k:tensor { name = "D", dtype = "f32", shape = { M, 8 }, out = true }
  local ga, gd = k:gmem_tile { name = "ga", tensor = A, tile = { 64, 16 } }, k:gmem_tile { name = "gd", tensor = D, tile = { 64, 8 } }
  local s = k:smem_tile { name = "s", dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = weir.pipeline.tma_async { stages = 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { 64, 8 } }
  local wq = k:work_queue { name = "wq", axes = { "m" }, extent = { weir.ceil_div(M, 64) } }
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do s:acquire(); s:tma_load(ga:at(0, 0)); s:commit(); wq:next() end
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    local function add() acc:mma(s:read(), s:read():rows(0, 8)); acc:drain() end
    if first then first(acc) end
    for t in weir.work_tile_loop(wq) do
      s:wait()
      schedule { n = n, t = t, acc = acc, add = add, put = function() gd:store(acc:read(), gd:at(t.m, 0)) end, wq = wq }
      s:release(); wq:next()
    end
  end }
  return k
end

--- One CTA takes `tiles` tiles of lab.sums. A set for each: the sums it has.
function lab.run_sums(dev, program, n, tiles)
  local a, d = dev:tensor { dtype = "bf16", shape = { 64, 16 } }:fill(1), dev:tensor { dtype = "f32", shape = { 64 * tiles, 8 } }:fill(-1)
  assert(program:launch({ A = a, D = d, n = n }, { grid = 1 }))
  assert(dev:sync())
  local seen = {}
  for i, x in ipairs(d:get()) do
    local tile = (i - 1) // 512 + 1
    seen[tile] = seen[tile] or {}
    seen[tile][x] = true
  end
  return seen
end

return lab
