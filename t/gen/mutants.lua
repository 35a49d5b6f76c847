-- Schedules that are right, each broken in one place in every way that the list of mutation operators knows. An operator breaks the
-- schedule as it is written, or the plan that it became.
--
--   local mutants = require "gen.mutants"            -- needs weir_plan
--   for _, m in ipairs(mutants.all(plan, weir)) do   -- { base, number, what, allowed, make = function() return program, why end }
--
-- `number` is the operator's, `allowed` the classes it may be found as: D deadlock, X race or stale read, B counts and bytes,
-- P proxy, C capacity or shape (refused by the plan), L lost work.
local schedules = require "gen.schedules"

local mutants = {}

-- ---- bases -----------------------------------------------------------------------------------------------------------------------

local texts = {
  ["one stage"] = "p1:threads/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["three stages"] = "p1:threads/3 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["two warps"] = "p1:threads/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(2) for N{ p1.wait p1.use p1.release }",
  ["loads"] = "p1:tma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["bytes by a body"] = "p1:tx/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["turns"] = "p1:bar/1 p2:bar/1 | t1(1) for N{ p1.acquire p1.commit p2.wait p2.release } | t2(1) for N{ p1.wait p1.release p2.acquire p2.commit }",
  ["mma"] = "p1:mma/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release }",
  ["cp.async"] = "p1:cp/2 | t1(2) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["cp.async for an mma"] = "p1:cpm/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(0) p1.release }",
  ["lagging mma"] = "p1:mma/3 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) for N{ p1.wait p1.use p1.drain(1) p1.release(1) } { p1.drain(0) p1.release(0) }",
  ["lagging release"] = "p1:threads/2 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release(1) } { p1.release(0) }",
  ["merge"] = "p1:threads/2 p2:threads/2 g=merge | t1(1) for N{ p1.acquire p1.fill p1.commit p2.acquire p2.fill p2.commit } | t2(1) for N{ p1.wait p2.wait p1.use p2.use g.release }",
  ["fused merge"] = "p1:tma/2 p2:tma/2 g=fused_merge | t1(1) for N{ p1.acquire p1.fill p1.commit p2.acquire p2.fill p2.commit } | t2(1) for N{ g.wait p1.use p2.use g.release }",
  ["fused merge of two"] = "p1:threads/1 p2:threads/1 g=fused_merge | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p2.acquire p2.fill p2.commit } | t3(1) for N{ g.wait p1.use p2.use g.release }",
  ["fork"] = "p1:tma/2 p2:tma/2 g=fork | t1(1) for N{ p1.acquire p2.acquire p1.fill g.commit } | t2(1) for N{ p1.wait p1.use p1.release } | t3(1) for N{ p2.wait p2.use p2.release }",
  ["every other step"] = "p1:threads/2 | t1(1) for N if every 2{ p1.acquire p1.fill p1.commit } | t2(1) for N if every 2{ p1.wait p1.use p1.release }",
  ["first step"] = "p1:threads/1 p2:bar/1 | t1(1) for N if first{ p1.acquire p1.fill p1.commit } for N{ p2.acquire p2.commit } | t2(1) for N if first{ p1.wait p1.use p1.release } for N{ p2.wait p2.release }",
  ["two lengths"] = "p1:threads/2 p2:tma/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } for M{ p2.acquire p2.fill p2.commit } | t2(1) for N{ p1.wait p1.use p1.release } for M{ p2.wait p2.use p2.release }",
  ["tiles"] = "p1:tma/2 tiles | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release }",
  ["lanes"] = "p1:threads/2 turn:bar/1 tiles | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) lane 0/2 { turn.acquire } for N{ p1.wait p1.use p1.release } { turn.commit } | t3(1) lane 1/2 { turn.wait } for N{ p1.wait p1.use p1.release } { turn.release }",
  ["lanes of the loading side"] = "p1:tma/2 turn:bar/1 tiles | t1(1) lane 0/2 { turn.acquire } for N{ p1.acquire p1.fill p1.commit } { turn.commit } | t2(1) lane 1/2 { turn.wait } for N{ p1.acquire p1.fill p1.commit } { turn.release } | t3(1) for N{ p1.wait p1.use p1.release }",
  ["lanes with rings of their own"] = "p1:threads/1 p2:threads/1 tiles | t1(1) lane 0/2 for N{ p1.acquire p1.fill p1.commit } | t2(1) lane 1/2 for N{ p2.acquire p2.fill p2.commit } | t3(1) lane 0/2 for N{ p1.wait p1.use p1.release } | t4(1) lane 1/2 for N{ p2.wait p2.use p2.release }",
  ["lanes of mmas, lagging"] = "p1:mma/3 turn:bar/1 tiles | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(4) lane 0/2 { turn.acquire } for N{ p1.wait p1.use p1.drain(1) p1.release(1) } { turn.commit p1.drain(0) p1.release(0) } | t3(4) lane 1/2 { turn.wait } for N{ p1.wait p1.use p1.drain(1) p1.release(1) } { turn.release p1.drain(0) p1.release(0) }",
  ["chain"] = "p1:threads/2 p2:threads/1 | t1(1) for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p2.acquire p1.use p2.fill p2.commit p1.release } | t3(1) for N{ p2.wait p2.use p2.release }",
  ["exchange"] = "p1:threads/1 p2:threads/1 | t1(1) for N{ p1.acquire p1.fill p1.commit p2.wait p2.use p2.release } | t2(1) for N{ p2.acquire p2.fill p2.commit p1.wait p1.use p1.release }",
  ["two rings"] = "p1:tma/2 p2:threads/1 | t1(1) for N{ p1.acquire p1.fill p1.commit p2.acquire p2.fill p2.commit } | t2(1) for N{ p2.wait p2.use p2.release p1.wait p1.use p1.release }",
  ["ahead by one"] = "p1:threads/2 | t1(1) { p1.acquire p1.fill p1.commit } for N{ p1.acquire p1.fill p1.commit } | t2(1) for N{ p1.wait p1.use p1.release } { p1.wait p1.use p1.release }",
}

-- Kernels with tiles, accumulators, staged stores and clusters. Sizes of one step, one tile.
local gemms = {
  ["gemm"] = { stages = 2, lag = 0 }, ["gemm lagging"] = { stages = 3, lag = 1 }, ["gemm of one stage"] = { stages = 1, lag = 0, epilogue = "plain" },
  ["gemm without group"] = { stages = 2, lag = 0, group = "none", epilogue = "plain" }, ["gemm merged"] = { stages = 2, lag = 1, group = "merge" },
  ["gemm of a cluster"] = { stages = 2, lag = 0, cluster = 2, epilogue = "plain" },
}

local function sorted(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = name end
  table.sort(list)
  return list
end

--- { name, make = function() return kernel end, schedule = its description or nil, sizes }
function mutants.bases(weir, lab)
  local out = {}
  for _, name in ipairs(sorted(texts)) do
    local s = schedules.parse(texts[name])
    local sizes = schedules.sizes(s)
    sizes.tiles = s.tiles and (texts[name]:find " lane " and 12 or 4) or nil
    out[#out + 1] = { name = name, schedule = s, sizes = sizes, make = function(bodies) return schedules.kernel(weir, s, bodies) end }
  end
  for _, name in ipairs(sorted(gemms)) do
    local function with_tiles(at, tiles)
      at.M, at.N, at.tiles, at.T = 64 * tiles * (gemms[name].cluster or 1), 64, tiles, tiles
      return at
    end
    local sizes = { tiles = 6, with_tiles = with_tiles }
    for steps = 0, 3 do
      for tiles = 1, steps < 2 and 2 or 1 do sizes[#sizes + 1] = with_tiles({ K = 64 * steps }, tiles) end
    end
    out[#out + 1] = { name = name, sizes = sizes, make = function() return lab.gemm(gemms[name]) end, heavy = gemms[name].cluster ~= nil }
  end
  return out
end

-- ---- operators on the schedule ---------------------------------------------------------------------------------------------------

local dropped = { acquire = { 1, "XBD" }, commit = { 2, "DBC" }, wait = { 3, "XBDCL" }, release = { 4, "DBC" }, fill = { 2, "DBCX" }, use = { 0, "XDLB" },
  drain = { 7, "X" } }
local doubled = { acquire = { 13, "DXBC" }, commit = { 5, "XBDL" }, wait = { 13, "DXBC" }, release = { 5, "XBD" }, fill = { 10, "BX" } }

-- Calls add(number, what, allowed, change) for every place; change(copy of the schedule).
local function on_schedule(s, add)
  for t, task in ipairs(s.tasks) do
    for _, l in ipairs(task.lane and { { task.lane[1], 3 }, { 1 - task.lane[1], 2 }, { 0, 1 } } or {}) do
      add(15, ("%s takes lane %d/%d for %d/%d"):format(task.name, l[1], l[2], task.lane[1], task.lane[2]), "DXLBC",
        function(c) c.tasks[t].lane = l end)
    end
    for g, seg in ipairs(task.segments) do
      local function at(c) return c.tasks[t].segments[g] end
      local function where(i) return ("%s: %s %d"):format(task.name, seg.body[i].op, i) end
      for i, x in ipairs(seg.body) do
        local d, two = dropped[x.op], doubled[x.op]
        add(x.op == "wait" and s.groups[1] and 28 or d[1], "drop " .. where(i), d[2], function(c) table.remove(at(c).body, i) end)
        if two then add(two[1], "twice " .. where(i), two[2], function(c) table.insert(at(c).body, i, setmetatable({}, { __index = x })) end) end
        if seg.body[i + 1] then
          local both = x.op == "acquire" and seg.body[i + 1].op == "acquire"
          add(both and 8 or 6, "swap " .. where(i) .. " and the next", "DXBCL", function(c)
            local b = at(c).body
            b[i], b[i + 1] = b[i + 1], b[i]
          end)
        end
        if x.op == "release" and i > 1 then
          add(7, "first " .. where(i), "XBD", function(c) table.insert(at(c).body, 1, table.remove(at(c).body, i)) end)
        end
        if (x.op == "drain" or x.op == "release") and x.n then
          add(21, "one more left by " .. where(i), "XDBCL", function(c) at(c).body[i].n = x.n + 1 end)
        end
      end
      if seg.bound then
        for _, b in ipairs { seg.bound .. " + 1", seg.bound .. " - 1", "0", seg.bound == "N" and "M" or "N" } do
          add(15, ("%s runs %s for %s"):format(task.name, b, seg.bound), "DLXB", function(c) at(c).bound = b end)
        end
        if not seg.guard then
          for _, guard in ipairs { "first", "last", "every 2", "every 2 1", "N > 1" } do
            add(16, ("%s only if %s"):format(task.name, guard), "DLXBC", function(c) at(c).guard = guard end)
          end
        else
          add(16, task.name .. " without its guard", "DLXB", function(c) at(c).guard = nil end)
        end
      elseif #task.segments > 1 then
        add(17, task.name .. " without what stands beside the loop", "DXLB", function(c) table.remove(c.tasks[t].segments, g) end)
      end
    end
  end
end

-- ---- operators on what is checked before there is a plan -------------------------------------------------------------------------

-- Calls add(number, what, rules, change): the report of the changed schedule has errors of these rules and of no other; "raised": a call raises
-- without naming a rule.
local function on_description(s, add)
  local copies, wide = false, nil
  for _, p in ipairs(s.pipes) do copies = copies or p.kind == "tma" or p.kind == "mma" or p.kind == "cp" or p.kind == "cpm" end
  for i, t in ipairs(s.tasks) do if t.warps == 4 then wide = i end end
  if copies then
    for _, cols in ipairs { 12, 20, 1 } do
      add(25, ("rows of %d bytes"):format(2 * cols), { "PLAN-BOX", "PLAN-SWIZZLE", "PLAN-TILE", "V-MMA-03" }, function(c) c.cols = cols end)
    end
  end
  for i, t in ipairs(s.tasks) do
    for _, n in ipairs { 100, 16, 264 } do
      add(27, ("%d registers for %s"):format(n, t.name), { n == 16 and "X-REG-01" or "T-REG-01" }, function(c)
        for _, o in ipairs(c.tasks) do o.registers = n end
      end)
    end
    local beside = false                                     -- in its warpgroup
    for j, o in ipairs(s.tasks) do beside = beside or (j ~= i and o.warps < 4 and t.warps < 4) end
    if beside then add(27, ("other registers for %s than its warpgroup has"):format(t.name), { "V-WG-02" }, function(c)
      for j, o in ipairs(c.tasks) do o.registers = j == i and 96 or 104 end
    end) end
    if #s.tasks > 1 then
      add(30, ("%s on another's warps"):format(t.name), { "X-WARP-01" }, function(c) c.same = { i, i % #s.tasks + 1 } end)
    end
  end
  if #s.tasks > 1 then
    add(27, "256 registers for all of three warpgroups", { "PLAN-REGS", "V-REG-01" }, function(c)
      c.apart = 8
      for _, o in ipairs(c.tasks) do o.registers = 256 end
    end)
  end
  if wide then
    for _, by in ipairs { 1, 2 } do
      add(30, ("%s in two warpgroups"):format(s.tasks[wide].name), { "X-WARP-04" }, function(c)
        for _, o in ipairs(c.tasks) do o.shift = by end       -- all, so that none overlap
      end)
    end
  end
  for _, p in ipairs(s.pipes) do
    add(14, ("no stage for %s"):format(p.name), { "raised" }, function(c) c.depth = { [p.name] = 0 } end)
    if p.group then
      for _, n in ipairs { p.stages - 1, p.stages + 1 } do
        if n > 0 then add(28, ("%d stages for %s, its group has %d"):format(n, p.name, p.stages), { "G-CFG-04" }, function(c) c.depth = { [p.name] = n } end) end
      end
    end
  end
  add(29, "shared memory a byte over", { "PLAN-SMEM" }, function(c, fits) c.pad = fits() + 1 end)
end

-- ---- operators on the plan -------------------------------------------------------------------------------------------------------

-- Calls add(number, what, allowed, change) for every place of the plan; change(program).
local function on_plan(plan, p, add)
  local get = function(id, f) return plan.get(p, "action", id, f) end
  local function set(id, f, v) return function(q) plan.set(q, "action", id, f, v) end end
  local function drop(id) return function(q) plan.drop(q, id) end end
  local acts = {}
  local function look(list)
    for _, n in ipairs(list) do if type(n) == "table" then look(n) else acts[#acts + 1] = n end end
  end
  for _, name in ipairs { "prologue", "epilogue" } do look(plan.tree(p, name)) end
  for _, name in ipairs(plan.tasks(p)) do look(plan.tree(p, name)) end
  for i, id in ipairs(acts) do
    local kind = get(id, "kind")
    local bar = get(id, "bar")
    local full = bar >= 0 and plan.get(p, "bars", bar, "full")
    local name = ("%s %d"):format(kind, id)
    if kind == "wait" then
      add(full and 3 or 1, "drop " .. name, "XBDL", drop(id))
      add(13, "twice " .. name, "DXB", function(q) plan.twice(q, id) end)
    elseif kind == "arrive" then
      add(full and 2 or 4, "drop " .. name, "DBX", drop(id))
      add(5, "twice " .. name, "XBD", function(q) plan.twice(q, id) end)
      add(9, "two arrivals by " .. name, "XBD", set(id, "arrivals", get(id, "arrivals") + 1))
      if get(id, "targets") ~= 0 then
        add(23, "own CTA only: " .. name, "DXB", set(id, "targets", 0))
        add(22, "arrives at itself for the peer: " .. name, "DXB", function(q)
          plan.set(q, "action", id, "targets", 0)
          plan.set(q, "action", id, "arrivals", 2)
        end)
      end
    elseif kind == "expect_tx" then
      add(2, "drop " .. name, "DBX", drop(id))
      add(5, "twice " .. name, "BXD", function(q) plan.twice(q, id) end)
      local bytes = get(id, "bytes")
      for _, b in ipairs { bytes + 16, bytes - 16, 2 * bytes, bytes // 2, 0 } do
        add(10, ("%d for %d bytes armed by %s"):format(b, bytes, name), "BDX", set(id, "bytes", b))
      end
    elseif kind == "bulk_issue" then
      add(2, "drop " .. name, "BD", drop(id))
      add(10, "half the bytes of " .. name, "BDX", set(id, "bytes", get(id, "bytes") // 2))
      if get(id, "targets") ~= 0 then add(23, "multicast to itself only: " .. name, "BDX", set(id, "targets", 0))
      elseif plan.get(p, "plan", 0, "cluster") > 1 then add(23, "multicast of one CTA's tile: " .. name, "BDX", set(id, "targets", 1)) end
    elseif kind == "cp_async_arrive" then add(2, "drop " .. name, "DB", drop(id))
    elseif kind == "advance" then
      add(13, "drop " .. name, "DXBL", drop(id))
      add(13, "twice " .. name, "DXBL", function(q) plan.twice(q, id) end)
    elseif kind == "mma_wait" then
      add(7, "drop " .. name, "X", drop(id))
      add(21, "one more left by " .. name, "X", set(id, "n", get(id, "n") + 1))
    elseif kind == "bulk_wait" then
      add(21, "drop " .. name, "X", drop(id))
      add(21, "one more left by " .. name, "X", set(id, "n", get(id, "n") + 1))
    elseif kind == "bulk_commit" then add(21, "drop " .. name, "X", drop(id))
    elseif kind == "bulk_store" then add(21, "store before its group: " .. name, "XP", function(q) plan.swap(q, id) end)
    elseif kind == "warp_sync" or kind == "named_sync" then
      add(18, "drop " .. name, "XDBP", drop(id))
      if kind == "named_sync" then
        for _, other in ipairs { 0, 16 } do add(26, ("id %d for %s"):format(other, name), "C", set(id, "named", other)) end
        for n = 0, plan.count(p, "named") - 1 do
          local other = plan.get(p, "named", n, "id")
          if other ~= get(id, "named") then add(26, ("%s at that of %s"):format(name, plan.get(p, "named", n, "owner")), "C", set(id, "named", other)) end
        end
        add(26, "one warp less at " .. name, "BD", set(id, "threads", get(id, "threads") - 32))
        add(26, "one warp more at " .. name, "BD", set(id, "threads", get(id, "threads") + 32))
      end
    elseif kind == "fence_async" then
      add(20, "drop " .. name, "P", drop(id))
      local behind = acts[i + 1] and get(acts[i + 1], "kind")
      if behind == "warp_sync" or behind == "named_sync" then
        add(20, "behind the join: " .. name, "P", function(q) plan.swap(q, id) end)
      end
      for j = i + 1, #acts do
        if get(acts[j], "kind") == "bulk_store" then
          add(20, "at the reader: " .. name, "P", function(q) plan.move(q, id, acts[j]) end)
          break
        end
      end
    elseif kind == "init" then
      add(19, "later: " .. name, "X", function(q) plan.swap(q, id) end)
      add(19, "drop " .. name, "X", drop(id))
    elseif kind == "cta_sync" then add(19, "drop " .. name, "X", drop(id))
    elseif kind == "cluster_arrive" or kind == "cluster_wait" then
      add(22, "drop " .. name, "XBD", drop(id))
    elseif kind == "body" then
      if acts[i + 1] then add(6, "later: " .. name, "XPBD", function(q) plan.swap(q, id) end) end
    end
  end
  for i = 0, plan.count(p, "bars") - 1 do
    local n, name = plan.get(p, "bars", i, "count"), plan.get(p, "bars", i, "name")
    for _, c in ipairs { n + 1, n - 1, 2 * n, n // 2, 0 } do
      if c ~= n then
        add(9, ("%s counts %d for %d"):format(name, c, n), "BDX", function(q) plan.set(q, "bars", i, "count", c) end)
      end
    end
  end
  for i = 0, plan.count(p, "cursors") - 1 do
    local name, stages = plan.get(p, "cursors", i, "name"), plan.get(p, "cursors", i, "stages")
    local producer = plan.get(p, "cursors", i, "producer")
    add(11, ("parity of %s (%d) flipped"):format(name, i), "DXB", function(q) plan.set(q, "cursors", i, "producer", not producer) end)
    if stages > 1 then
      local own = plan.get(p, "pipes", plan.get(p, "cursors", i, "pipe"), "full") < 0 -- no barriers: a stage is stored that was not filled, another is lost
      add(14, ("%s (%d) walks a stage less"):format(name, i), own and "CLX" or "BCX", function(q) plan.set(q, "cursors", i, "stages", stages - 1) end)
    end
    add(12, ("%s (%d) wraps a stage late"):format(name, i), "BCX", function(q) plan.set(q, "cursors", i, "stages", stages + 1) end)
  end
  for i = 1, plan.count(p, "named") - 1 do
    add(26, plan.get(p, "named", i, "owner") .. " takes the id of another", "C", function(q) plan.set(q, "named", i, "id", plan.get(q, "named", 0, "id")) end)
  end
  local capacity = plan.get(p, "plan", 0, "smem_capacity")
  add(29, "shared memory a byte over its limit", "C", function(q) plan.set(q, "plan", 0, "smem_total", capacity + 1) end)
  for i = 0, plan.count(p, "tmaps") - 1 do
    local inner = plan.get(p, "tmaps", i, "box0")
    add(25, ("boxes of %s a little narrower"):format(plan.get(p, "tmaps", i, "name")), "CB", function(q) plan.set(q, "tmaps", i, "box0", inner - 4) end)
  end
  for i = 0, plan.count(p, "smem") - 1 do
    local align, swizzle = plan.get(p, "smem", i, "align"), plan.get(p, "smem", i, "swizzle")
    local own, off = plan.get(p, "smem", i, "same_as") < 0, math.min(128, align // 2)
    local function moved(q, field, by)                        -- with all that lies in the same bytes
      for j = 0, plan.count(q, "smem") - 1 do
        if j == i or plan.get(q, "smem", j, "same_as") == i then plan.set(q, "smem", j, field, plan.get(q, "smem", j, field) + by) end
      end
    end
    if swizzle > 0 and own then
      add(25, ("%s lies %d bytes off its swizzle"):format(plan.get(p, "smem", i, "name"), off), "C", function(q) moved(q, "offset", off) end)
    end
    if align > 16 and own and plan.get(p, "smem", i, "stages") > 1 then
      add(25, ("stages of %s without what pads them"):format(plan.get(p, "smem", i, "name")), "C", function(q) moved(q, "stage_bytes", -off) end)
    end
  end
  for i = 0, plan.count(p, "smem") - 1 do
    local stages, bytes = plan.get(p, "smem", i, "stages"), plan.get(p, "smem", i, "stage_bytes")
    local name, offset = plan.get(p, "smem", i, "name"), plan.get(p, "smem", i, "offset")
    if stages > 1 and plan.get(p, "smem", i, "same_as") < 0 then
      add(24, ("stages of %s overlap by a byte"):format(name), "XP", function(q) plan.set(q, "smem", i, "stage_bytes", bytes - 1) end)
    end
    if i > 0 then
      local before, size = plan.get(p, "smem", i - 1, "offset"), plan.get(p, "smem", i - 1, "size")
      local same = plan.get(p, "smem", i, "same_as") >= 0
      if not same and offset > before then
        add(24, ("%s overlaps its neighbour by a byte"):format(name), "XP", function(q) plan.set(q, "smem", i, "offset", before + size - 1) end)
        add(24, ("%s lies on its neighbour"):format(name), "XP", function(q) plan.set(q, "smem", i, "offset", before) end)
      end
    end
  end
end

--- Bytes beside the pipelines of a base with which shared memory is full to the last byte.
function mutants.fits(plan, weir, base)
  local function total(pad)
    local c = schedules.copy(base.schedule)
    c.pad = pad
    local p = assert(plan.of(schedules.kernel(weir, c)))
    return plan.get(p, "plan", 0, "smem_total"), plan.get(p, "plan", 0, "smem_capacity")
  end
  local used, capacity = total(16)
  local pad = 16 + capacity - used
  for _ = 1, 4 do
    used = total(pad)
    if used == capacity then return pad end
    pad = pad + capacity - used
  end
  error("shared memory of " .. base.name .. " cannot be filled")
end

--- One random change of a plan, by a number; what it was, or nil.
function mutants.change(plan, program, seed)
  local list = {}
  on_plan(plan, program, function(number, what, allowed, change)
    if not allowed:find "^C" then list[#list + 1] = { number, what, change } end -- what a run can tell
  end)
  if #list == 0 then return nil end
  local m = list[(seed * 2654435761 >> 7) % #list + 1]
  m[3](program)
  return ("%d: %s"):format(m[1], m[2])
end

--- Every mutant of every base. `build(options)` is one to be run: its threads write and read what they fill and use.
function mutants.all(plan, weir, lab)
  local out = {}
  for _, base in ipairs(mutants.bases(weir, lab)) do
    if base.schedule then
      on_schedule(base.schedule, function(number, what, allowed, change)
        out[#out + 1] = { base = base, number = number, what = what, allowed = allowed, written = true, make = function()
          local c = schedules.copy(base.schedule)
          change(c)
          local ok, k = pcall(schedules.kernel, weir, c)
          if not ok then return nil, tostring(k) end
          return plan.of(k)
        end, build = function(options)
          local c = schedules.copy(base.schedule)
          change(c)
          local ok, p = pcall(function() return schedules.kernel(weir, c, true):build(options) end)
          return ok and p or nil
        end }
      end)
    end
    if base.schedule then
      on_description(base.schedule, function(number, what, rules, change)
        out[#out + 1] = { base = base, number = number, what = what, allowed = "C", rules = rules, make = function()
          local c = schedules.copy(base.schedule)
          change(c, function() return mutants.fits(plan, weir, base) end)
          local ok, k = pcall(schedules.kernel, weir, c)
          if not ok then return nil, (tostring(k):match "%[(%u[%u%d%-]+)%]" or "raised") .. ": " .. tostring(k) end
          local report = k:verify()
          if report.ok then return plan.of(k) end
          local said = {}
          for _, f in ipairs(report.findings) do if f.severity == "error" then said[#said + 1] = f.rule .. ": " .. f.message .. "\n" end end
          return nil, table.concat(said)
        end, build = function() return nil end }
      end)
    end
    local kernel = base.make()
    local program = assert(plan.of(kernel))
    on_plan(plan, program, function(number, what, allowed, change)
      out[#out + 1] = { base = base, number = number, what = what, allowed = allowed, make = function()
        local p = assert(plan.of(base.make()))
        change(p)
        return p
      end, build = function(options)
        local p = base.make(true):build(options)
        change(p)
        plan.run_text(p, plan.emit(p))
        return p
      end }
    end)
  end
  return out
end

--- Edits that change nothing that matters: { base, what, make }
function mutants.harmless(plan, weir, lab)
  local out = {}
  local function add(base, what, make) out[#out + 1] = { base = base, what = what, make = make } end
  for _, base in ipairs(mutants.bases(weir, lab)) do
    local s = base.schedule
    if s then
      local function changed(what, change)
        add(base, what, function()
          local c = schedules.parse(schedules.text(s):gsub("^seed 0: ", ""))
          change(c)
          return plan.of(schedules.kernel(weir, c))
        end)
      end
      changed("one stage more", function(c) -- a turn of two would let both in
        for _, p in ipairs(c.pipes) do if p.name ~= "turn" then p.stages = p.stages + 1 end end
      end)
      changed("tasks in another order", function(c)
        for i = 1, #c.tasks // 2 do c.tasks[i], c.tasks[#c.tasks + 1 - i] = c.tasks[#c.tasks + 1 - i], c.tasks[i] end
      end)
      if #s.tasks > 1 then
        changed("a gap between the tasks' warps", function(c) c.apart = 4 end)
      end
      changed("fewer registers", function(c) for _, t in ipairs(c.tasks) do t.registers = 128 end end)
      changed("something else in shared memory", function(c) c.pad = 100 end)
      changed("shared memory full to the last byte", function(c) c.pad = mutants.fits(plan, weir, base) end)
      changed("other names", function(c) for _, p in ipairs(c.pipes) do p.name = "pipe_" .. p.name end end)
    end
    local function edited(what, change)
      add(base, what, function()
        local p = assert(plan.of(base.make()))
        if change(p) == false then return nil, "nothing to edit" end
        return p
      end)
    end
    local function each(p, kind, f)
      local any = false
      for id = 1, plan.count(p, "action") do
        if plan.get(p, "action", id, "kind") == kind then any = true; f(id) end
      end
      return any
    end
    edited("every fence twice", function(p) return each(p, "fence_async", function(id) plan.twice(p, id) end) end)
    edited("every warp joined twice", function(p) return each(p, "warp_sync", function(id) plan.twice(p, id) end) end)
    edited("every drain waits for all", function(p) return each(p, "mma_wait", function(id) plan.set(p, "action", id, "n", 0) end) end)
    edited("every bulk wait waits for all", function(p) return each(p, "bulk_wait", function(id) plan.set(p, "action", id, "n", 0) end) end)
    edited("storage moved apart", function(p)
      for i = 0, plan.count(p, "smem") - 1 do
        if plan.get(p, "smem", i, "same_as") < 0 then plan.set(p, "smem", i, "offset", plan.get(p, "smem", i, "offset") + (i << 14)) end
      end
      local more, bars = plan.count(p, "smem") << 14, plan.get(p, "plan", 0, "barrier_offset")
      plan.set(p, "plan", 0, "barrier_offset", bars + more)
      for i = 0, plan.count(p, "bars") - 1 do plan.set(p, "bars", i, "offset", plan.get(p, "bars", i, "offset") + more) end
      plan.set(p, "plan", 0, "smem_total", plan.get(p, "plan", 0, "smem_total") + more)
    end)
  end
  return out
end

-- ---- judging ---------------------------------------------------------------------------------------------------------------------

local letters = { ["PROVE-DEADLOCK"] = "D", ["PROVE-LOST"] = "L", ["PROVE-RACE"] = "X", ["PROVE-ASYNC-READ"] = "X", ["PROVE-PARITY"] = "X",
  ["PROVE-EXIT"] = "X", ["PROVE-COUNT"] = "B", ["PROVE-TX"] = "B", ["PROVE-PROXY"] = "P", ["PROVE-PDL"] = "X", ["PROVE-PLAN"] = "C" }

-- The class of what is refused before the proof.
local refused_letters = { ["PLAN-HELD"] = "D", ["V-BRK-05"] = "B", ["PLAN-TX"] = "B", ["PLAN-DRAIN"] = "X", ["PLAN-ROUND"] = "D", ["PLAN-UNSUPPORTED"] = "C" }

-- nil where what was refused was refused for the right reason, and no other; else what is wrong.
local function misnamed(m, why)
  local any = false
  for rule, message in why:gmatch "([%w-]+): ([^\n]*)\n?" do
    any = true
    local right = false
    if m.rules then for _, r in ipairs(m.rules) do right = right or r == rule end
    else right = m.allowed:find(refused_letters[rule] or "?", 1, true) ~= nil end
    if not right then return ("refused as %s: %s"):format(rule, message) end
  end
  return not any and why or nil
end

--- The classes of a list of findings; those of a phase that never ends are deadlocks too.
function mutants.classes(findings)
  local out = ""
  for _, f in ipairs(findings) do
    out = out .. (letters[f.rule] or "?")
    if f.message:find("waits at", 1, true) then out = out .. "D" end
  end
  return out
end

--- Judges one mutant: "found", "survives" (equal, says the explorer), "refused" (by the plan) or "wrong", and why; and what was said.
function mutants.judge(agreement, plan, m, o)
  local program, why = m.make()
  if not program then
    local other = misnamed(m, why)
    if other then return "wrong", other end
    return m.rules and "found" or "refused", why
  end
  if m.rules then return "wrong", "not refused, wanted " .. table.concat(m.rules, " or ") end
  local said = agreement.compare(plan, program, m.base.sizes, o)
  if said.wrong then return "wrong", said.wrong, said end
  if #said.tables > 0 and m.written then return "wrong", said.tables[1].message, said end -- as planned from what was written
  if said.verdict == "SAFE" and #said.tables > 0 then
    local classes = mutants.classes(said.tables)
    if not classes:find("[" .. m.allowed .. "]") then return "wrong", ("class %s, wanted one of %s: %s"):format(classes, m.allowed, said.tables[1].message), said end
    return "found", "", said
  elseif said.verdict == "SAFE" and m.allowed == "C" then return "wrong", "not found, and no run can tell", said
  elseif said.verdict == "SAFE" then
    if said.cut > 0 and not m.base.heavy then return "open", said.why, said end
    return "survives", "", said
  elseif said.verdict ~= "UNSAFE" then
    if next(said.kinds) then return "wrong", said.text, said end
    return "undecided", said.text, said
  end
  local classes = mutants.classes(said.findings) .. mutants.classes(said.tables)
  if not classes:find("[" .. m.allowed .. "]") then return "wrong", ("class %s, wanted one of %s: %s"):format(classes, m.allowed, said.text), said end
  return said.open and "found, not borne out" or "found", "", said
end

return mutants
