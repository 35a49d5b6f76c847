-- Kernels that get stuck, made from good ones: one action of the plan left out, one count or number of bytes off. For t/deadlocks.t, which
-- runs them in the simulator, and t/gpu/watchdog.t.
--
--   for _, mutant in ipairs(deadlocks.list()) do
--     local p = deadlocks.build(mutant, { device = dev, watchdog = .5 })     -- the text of the changed plan
--     local ok, message, code = mutant.run(p, dev)
--   end
local lab = require "lab"
local weir, plan = lab.weir, lab.plan

local deadlocks = {}

local function launch_gemm(m, n, k, grid)
  return function(p, dev)
    local a = dev:tensor { dtype = "bf16", shape = { m, k } }:randn(3)
    local b = dev:tensor { dtype = "bf16", shape = { n, k } }:randn(4)
    local d = dev:tensor { dtype = "bf16", shape = { m, n } }
    return p:launch({ A = a, B = b, D = d }, { grid = grid })
  end
end

local bases = {
  { "gemm", function() return lab.gemm() end, launch_gemm(64, 64, 640, 1) },
  { "gemm of two warpgroups in a cluster", function() return lab.gemm { warpgroups = 2, cluster = 2 } end, launch_gemm(256, 64, 640, 2) },
  { "gemm without a group", function() return lab.gemm { group = "none", stages = 2 } end, launch_gemm(64, 64, 512, 1) },
  { "gemm with one stage", function() return lab.gemm { group = "merge", stages = 1, lag = 0 } end, launch_gemm(128, 64, 256, 1) },
  { "gemm in f16, plain stores", function() return lab.gemm { dtype = "f16", epilogue = "plain", group = "merge" } end, function(p, dev)
    local a, b = dev:tensor { dtype = "f16", shape = { 64, 512 } }:randn(1), dev:tensor { dtype = "f16", shape = { 64, 512 } }:randn(2)
    return p:launch({ A = a, B = b, D = dev:tensor { dtype = "f16", shape = { 64, 64 } } }, { grid = 1 })
  end },
  { "copy through TMA", function() return lab.tma_copy(2) end, function(p, dev)
    local x = dev:tensor { dtype = "f32", shape = { 64, 64 } }:randn(1)
    return p:launch({ X = x, Y = x:copy() }, { grid = 1 })
  end },
  { "copy by threads", function() return lab.thread_copy(2, 4) end, function(p, dev)
    local x = dev:tensor { dtype = "i32", shape = { 1500 } }:fill(1)
    return p:launch({ x = x, y = x:copy() }, { grid = 1 })
  end },
  { "copy by threads, three stages", function() return lab.thread_copy(3, 2) end, function(p, dev)
    local x = dev:tensor { dtype = "i32", shape = { 1500 } }:fill(1)
    return p:launch({ x = x, y = x:copy() }, { grid = 1 })
  end },
}

local function change(p, c)
  if c.drop then plan.drop(p, c.drop)
  else plan.set(p, c.table, c.row, c.field, plan.get(p, c.table, c.row, c.field) + c.add)
  end
end

-- All changes of a base that may leave somebody waiting.
local function changes(p)
  local out = {}
  for id = 1, plan.count(p, "action") do
    local kind, bar = plan.get(p, "action", id, "kind"), plan.get(p, "action", id, "bar")
    local on = bar >= 0 and " on " .. plan.get(p, "bars", bar, "name") or ""
    local what = ("%s%s, action %d"):format(kind, on, id)
    if kind == "arrive" or kind == "expect_tx" or kind == "bulk_issue" then out[#out + 1] = { "no " .. what, drop = id } end
    if kind == "expect_tx" then out[#out + 1] = { "16 bytes more by " .. what, table = "action", row = id, field = "bytes", add = 16 } end
    if kind == "named_sync" then
      out[#out + 1] = { "32 threads more at " .. what, table = "action", row = id, field = "threads", add = 32 }
    end
  end
  for i = 0, plan.count(p, "bars") - 1 do
    local name = plan.get(p, "bars", i, "name")
    out[#out + 1] = { "an arrival more counted by " .. name, table = "bars", row = i, field = "count", add = 1 }
  end
  for i = 0, plan.count(p, "cursors") - 1 do
    local stages = plan.get(p, "cursors", i, "stages")
    if stages > 2 then out[#out + 1] = { ("'%s' walks %d stages"):format(plan.get(p, "cursors", i, "name"), stages - 1), table = "cursors", row = i, field = "stages", add = -1 } end
  end
  return out
end

--- { name, base, change, run }
function deadlocks.list()
  local out = {}
  for _, base in ipairs(bases) do
    for _, c in ipairs(changes(base[2]():build { device = weir.device "sim" })) do
      out[#out + 1] = { name = base[1] .. ": " .. c[1], base = base[2], change = c, run = base[3] }
    end
  end
  return out
end

--- The program with the changed text; the prover's verdict on the changed plan, and its findings.
function deadlocks.build(mutant, options)
  local p = mutant.base():build(options)
  change(p, mutant.change)
  local verdict, findings = plan.prove(p)
  plan.run_text(p, plan.emit(p))
  return p, verdict, findings
end

--- Does the prover name a barrier at which, in the simulator, somebody waits?
function deadlocks.same_culprit(findings, waits)
  for _, wait in ipairs(waits) do
    local bar = wait:match "^%S+ (%S+) %d+$"
    for _, f in ipairs(findings) do
      if bar ~= "named" and f.message:find("%f[%w_]" .. bar .. "%f[^%w_]") then return true end
      if bar == "named" and (f.message:find "named barrier" or f.message:find "bar.sync") then return true end
    end
  end
  return false
end

--- Who waits where, as a sorted list of "task barrier stage", from a report of the simulator or of the watchdog.
function deadlocks.waits(text)
  local set, list = {}, {}
  for row in text:gmatch "[^\n]+" do
    if row:find("then those that waited", 1, true) then break end
    local task = row:match "task '([^']+)', CTA" or "?"
    local bar, stage = row:match "waits for mbarrier '([^']+)' stage (%d+)"
    local named = row:match "waits for named barrier (%d+)"
    local one = bar and ("%s %s %s"):format(task, bar, stage) or named and ("%s named %s"):format(task, named)
    if one and not set[one] then
      set[one] = true
      list[#list + 1] = one
    end
  end
  table.sort(list)
  return list
end

return deadlocks
