-- Random small schedules: right ones, and right ones with a mistake or two, built through the Lua API.
--
--   local schedules = require "gen.schedules"
--   local s = schedules.random(seed)               -- a description
--   local k = schedules.kernel(weir, s)            -- its kernel; raises where the API refuses it
--   print(schedules.text(s))                       -- one line, for reports
--   for _, sizes in ipairs(schedules.sizes(s)) do  -- sizes small enough to explore
--
-- A description is { pipes, tasks, tiles, mistakes }. All tasks walk the same list of segments (loops and single steps); each keeps
-- the moves on its own pipelines, in an order of its own. That is right by counts, if not free of deadlock; a mistake changes one
-- task's copy.
local schedules = {}

-- ---- random numbers: the same everywhere -----------------------------------------------------------------------------------------

local function dice(seed)
  local x = (seed * 0x9e3779b97f4a7c15) ~ 0x2545f4914f6cdd1d
  local function pick(n)
    x = x ~ (x << 13); x = x ~ (x >> 7); x = x ~ (x << 17)
    return (x >> 11) % n + 1
  end
  for _ = 1, 4 do pick(2) end
  return pick, function(percent) return pick(100) <= percent end
end

-- ---- pipelines -------------------------------------------------------------------------------------------------------------------

-- kind: "bar" (no bytes), "threads" (bodies fill and use), "tx" (a body brings bytes), "tma" (a load), "mma" (a load that wgmma reads),
-- "cp" (cp.async), "cpm" (cp.async that wgmma reads), "out" (sums staged for a bulk store, by the task that multiplies); and "pdl", the
-- two moves of programmatic launch, with no pipeline
local multiplies = { mma = true, cpm = true }
local copied = { tma = "tma_load", mma = "tma_load", cp = "cp_async", cpm = "cp_async" } -- from global memory, by this move
local function make_pipe(pick, i, ntasks, kind)
  local p = { name = "p" .. i, kind = kind, stages = pick(3) }
  p.producer = pick(ntasks)
  p.consumer = (p.producer + pick(ntasks - 1) - 1) % ntasks + 1
  return p
end

local function produce(p)
  local out = { { op = "acquire", pipe = p } }
  if p.kind ~= "bar" then out[2] = { op = "fill", pipe = p } end
  out[#out + 1] = { op = "commit", pipe = p }
  return out
end

local function consume(p)
  local out = { { op = "wait", pipe = p } }
  if p.kind ~= "bar" then out[2] = { op = "use", pipe = p } end
  if multiplies[p.kind] then out[#out + 1] = { op = "drain", pipe = p, n = p.lag or 0 } end
  out[#out + 1] = { op = "release", pipe = p, n = p.lag }
  return out
end

-- A round of staging: sums to shared memory, from there to global memory.
local function stage_out(p)
  return { { op = "acquire", pipe = p }, { op = "fill", pipe = p }, { op = "commit", pipe = p }, { op = "wait", pipe = p }, { op = "use", pipe = p },
    { op = "release", pipe = p } }
end

local function append(list, more) for _, x in ipairs(more) do list[#list + 1] = x end return list end

-- One round of a group, as task `t` sees it; nil: it has no part.
local function group_round(g, t)
  local out, a, b = {}, g.members[1], g.members[2]
  if g.mode == "fork" then
    if a.producer == t then
      out = { { op = "acquire", pipe = a }, { op = "acquire", pipe = b }, { op = "fill", pipe = a }, { op = "commit", group = g } }
    end
    for _, p in ipairs(g.members) do if p.consumer == t then append(out, consume(p)) end end
  else
    for _, p in ipairs(g.members) do if p.producer == t then append(out, produce(p)) end end
    if a.consumer == t then
      if g.mode == "merge" then append(out, { { op = "wait", pipe = a }, { op = "wait", pipe = b } })
      else out[#out + 1] = { op = "wait", group = g } end
      for _, p in ipairs(g.members) do if p.kind ~= "bar" then out[#out + 1] = { op = "use", pipe = p } end end
      for _, p in ipairs(g.members) do if multiplies[p.kind] then out[#out + 1] = { op = "drain", pipe = p, n = 0 } end end
      out[#out + 1] = { op = "release", group = g }
    end
  end
  return out
end

-- ---- schedules -------------------------------------------------------------------------------------------------------------------

local bounds = { "N", "N", "N", "N", "M", "N + 1", "2", "3", "ceil(N, 2)" }

local function shuffle(pick, list)
  for i = #list, 2, -1 do
    local j = pick(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- The body of a segment for one task: a block of moves for each of its pipelines and groups, in some order.
local function body_of(pick, units, t, shuffled)
  local blocks = {}
  for _, u in ipairs(units) do
    local block
    if u.members then block = group_round(u, t)
    elseif u.producer == t then block = produce(u)
    elseif u.consumer == t then block = consume(u) end
    if block and #block > 0 then blocks[#blocks + 1] = block end
  end
  if shuffled then shuffle(pick, blocks) end
  local out = {}
  for _, b in ipairs(blocks) do append(out, b) end
  return out
end

local function copy(x)
  if type(x) ~= "table" or x.kind or x.members then return x end -- pipelines and groups stay
  local out = {}
  for k, v in pairs(x) do out[k] = copy(v) end
  return out
end

-- Every list of moves in a task, with the segment around it.
local function lists_of(task)
  local out = {}
  for _, seg in ipairs(task.segments) do if #seg.body > 0 then out[#out + 1] = seg end end
  return out
end

local mistakes = {}

function mistakes.drop(pick, seg) return "drop " .. table.remove(seg.body, pick(#seg.body)).op end
function mistakes.twice(pick, seg)
  local i = pick(#seg.body)
  table.insert(seg.body, i, copy(seg.body[i]))
  return "twice " .. seg.body[i].op
end
function mistakes.swap(pick, seg)
  if #seg.body < 2 then return nil end
  local i = pick(#seg.body - 1)
  seg.body[i], seg.body[i + 1] = seg.body[i + 1], seg.body[i]
  return ("swap %s and %s"):format(seg.body[i + 1].op, seg.body[i].op)
end
function mistakes.bound(pick, seg)
  if not seg.bound then return nil end
  local other = ({ seg.bound .. " + 1", seg.bound .. " - 1", seg.bound == "N" and "M" or "N" })[pick(3)]
  local was = seg.bound
  seg.bound = other
  return ("bound %s for %s"):format(other, was)
end
function mistakes.guard(pick, seg)
  if not seg.bound or seg.guard then return nil end
  seg.guard = ({ "first", "last", "every 2", "every 2 1", "N > 1" })[pick(5)]
  return "guard " .. seg.guard
end
function mistakes.lag(pick, seg)
  local i = pick(#seg.body)
  local x = seg.body[i]
  if x.op ~= "release" and x.op ~= "drain" then return nil end
  x.n = (x.n or 0) + 1
  return "lag of " .. x.op
end
function mistakes.early(pick, seg) -- a move to the front or the end
  local x = table.remove(seg.body, pick(#seg.body))
  table.insert(seg.body, pick(2) == 1 and 1 or #seg.body + 1, x)
  return "moved " .. x.op
end
function mistakes.extra(pick, seg, task)
  table.insert(task.segments, pick(#task.segments + 1), { body = copy(seg.body) })
  return "an extra round"
end
-- Tiles dealt to two tasks with the same moves; `turn`: one runs its moves when the other has run its own.
local function deal(s, which, turn)
  local task = s.tasks[which]
  local other = { name = "t" .. 5 + #s.tasks, segments = copy(task.segments), warps = task.warps }
  task.lane, other.lane = { 0, 2 }, { 1, 2 }
  s.tasks[#s.tasks + 1] = other
  if not turn then return end
  local p = { name = "turn", kind = "bar", stages = 1 }
  s.pipes[#s.pipes + 1] = p
  for i, t in ipairs { task, other } do
    table.insert(t.segments, 1, { body = { { op = i == 1 and "acquire" or "wait", pipe = p } } })
    t.segments[#t.segments + 1] = { body = { { op = i == 1 and "commit" or "release", pipe = p } } }
  end
end

--- Makes segments late: their moves are those of the tile that the task had before, and behind the tiles those of the last. `how`: which one
--- of several choices; nil: there is nothing that could be late. As right by counts as the schedule was, but for what is now "left" (out).
function schedules.late(s, how)
  local _, chance = dice(how * 7919 + s.seed)
  local could = {}
  for _, t in ipairs(s.tasks) do
    for _, seg in ipairs(t.segments) do
      local plain = #seg.body > 0
      for _, x in ipairs(seg.body) do
        for _, p in ipairs(x.group and x.group.members or { x.pipe }) do plain = plain and not multiplies[p.kind] and p.kind ~= "out" and p.kind ~= "pdl" end
      end
      if plain then could[#could + 1] = seg end
    end
  end
  if not s.tiles or #could == 0 then return nil end
  local any = false
  for i, seg in ipairs(could) do
    if chance(50) or (i == #could and not any) then
      any, seg.late = true, true
      if chance(15) then seg.left = true; s.mistakes[#s.mistakes + 1] = "the last tile left out" end
    end
  end
  return s
end

local mistake_names = { "drop", "drop", "twice", "swap", "swap", "bound", "guard", "lag", "early", "extra" }

--- o.mistakes: how many, nil: none to two by chance; o.tasks, o.pipes: how many, nil: few; o.kinds: of pipelines
function schedules.random(seed, o)
  o = o or {}
  local pick, chance = dice(seed)
  local s = { seed = seed, pipes = {}, groups = {}, tasks = {}, mistakes = {} }
  local ntasks = 1 + pick(10) // 4                           -- 1 to 3
  if ntasks < 2 then ntasks = 2 end
  if chance(12) then ntasks = 4 end
  local npipes = ntasks > 2 and 1 + pick(3) or pick(3)
  if npipes > 4 then npipes = 4 end
  ntasks, npipes = o.tasks or ntasks, o.pipes or npipes
  local kinds = o.kinds or { "bar", "bar", "bar", "threads", "threads", "tx", "tma", "mma", "cp", "cpm" }
  for i = 1, npipes do s.pipes[i] = make_pipe(pick, i, ntasks, kinds[pick(#kinds)]) end

  -- at most two pipelines join a group; what that asks of them
  if npipes > 1 and chance(30) then
    local a, b = s.pipes[1], s.pipes[2]
    local g = { name = "g", mode = ({ "merge", "fork", "fused_merge" })[pick(3)], members = { a, b } }
    b.kind, b.stages = a.kind, a.stages
    if g.mode == "fork" then
      a.kind = multiplies[a.kind] and "mma" or "tma"
      b.kind = a.kind
      b.producer, b.storage = a.producer, a
      if b.consumer == b.producer then b.consumer = a.consumer end
    else
      b.consumer = a.consumer
      if b.producer == b.consumer then b.producer = a.producer end
    end
    a.group, b.group = g, g
    s.groups[1] = g
  end
  for _, p in ipairs(s.pipes) do
    if not p.group and p.stages > 1 and chance(20) then p.lag = 1 end
  end

  local units = {}
  if s.groups[1] then units[1] = s.groups[1] end
  for _, p in ipairs(s.pipes) do if not p.group then units[#units + 1] = p end end

  -- segments: which units take part, how often
  local nseg, segments = chance(75) and 1 or 2, {}
  for i = 1, nseg do
    local seg = { units = {} }
    for _, u in ipairs(units) do if nseg == 1 or i == 1 or chance(70) then seg.units[#seg.units + 1] = u end end
    if nseg == 1 or chance(70) then seg.bound = bounds[pick(#bounds)] end
    if seg.bound and chance(15) then seg.guard = ({ "first", "last", "every 2", "every 2 1", "N > 1" })[pick(5)] end
    segments[i] = seg
  end
  s.tiles = chance(20)
  local shuffled = chance(50)
  for t = 1, ntasks do
    local task = { name = "t" .. t, segments = {}, warps = 1 }
    local lagged = {}
    for i, seg in ipairs(segments) do
      task.segments[i] = { bound = seg.bound, guard = seg.guard, body = body_of(pick, seg.units, t, shuffled) }
      for _, u in ipairs(seg.units) do if u.consumer == t and u.lag and not lagged[u] then lagged[u] = true; lagged[#lagged + 1] = u end end
    end
    for _, p in ipairs(lagged) do -- give the last ones back
      local tail = {}
      if multiplies[p.kind] then tail[1] = { op = "drain", pipe = p, n = 0 } end
      tail[#tail + 1] = { op = "release", pipe = p, n = 0 }
      task.segments[#task.segments + 1] = { body = tail }
    end
    for _, p in ipairs(s.pipes) do
      if multiplies[p.kind] and p.consumer == t then task.warps = 4 end
    end
    if task.warps == 4 and chance(35) then -- sums leave, in the last step of the loop's body or behind it
      local p = { name = "out" .. t, kind = "out", stages = pick(2), producer = t, consumer = t }
      s.pipes[#s.pipes + 1] = p
      local seg = task.segments[pick(#task.segments)]
      local lag = false
      for _, q in ipairs(s.pipes) do lag = lag or (multiplies[q.kind] and q.consumer == t and q.lag) end
      if lag or #seg.body == 0 then
        seg = { body = {} }
        task.segments[#task.segments + 1] = seg
      end
      for _ = 1, pick(2) do append(seg.body, stage_out(p)) end
    end
    -- a task with nothing to do is none
    if #lists_of(task) > 0 then s.tasks[#s.tasks + 1] = task end
  end
  if #s.tasks > 0 and chance(8) then -- waits for the kernel before, lets the one behind start
    local p = { name = "pdl", kind = "pdl", stages = 0 }
    s.pipes[#s.pipes + 1] = p
    table.insert(s.tasks[pick(#s.tasks)].segments, 1, { body = { { op = "grid_wait", pipe = p } } })
    local last = s.tasks[pick(#s.tasks)].segments
    last[#last + 1] = { body = { { op = "grid_launch", pipe = p } } }
  end
  if s.tiles and #s.tasks > 1 and o.lanes ~= false and chance(40) then
    local which = pick(#s.tasks)
    local stages = false                                      -- staged sums stay with one task
    for _, p in ipairs(s.pipes) do stages = stages or p.kind == "pdl" or p.name == "out" .. s.tasks[which].name:sub(2) end
    if not stages then
      deal(s, which, chance(75))
      if not o.mistakes and chance(20) then
        local t = s.tasks[pick(2) == 1 and which or #s.tasks]
        local was = t.lane
        t.lane = ({ { 0, 2 }, { 1, 2 }, { was[1], 3 }, { 2, 3 } })[pick(4)]
        if t.lane[1] ~= was[1] or t.lane[2] ~= was[2] then
          s.mistakes[#s.mistakes + 1] = ("%s: lane %d/%d for %d/%d"):format(t.name, t.lane[1], t.lane[2], was[1], was[2])
        end
      end
    end
  end
  if #s.tasks > 0 then
    if s.tasks[1].warps == 1 and not s.tasks[1].lane and chance(8) then s.tasks[1].warps = 2 end
    local n = o.mistakes or (chance(45) and 0 or pick(2))
    for _ = 1, n do
      for _ = 1, 8 do
        local task = s.tasks[pick(#s.tasks)]
        local lists = lists_of(task)
        local seg = #lists > 0 and lists[pick(#lists)]
        local what = seg and mistakes[mistake_names[pick(#mistake_names)]](pick, seg, task)
        if what then
          s.mistakes[#s.mistakes + 1] = task.name .. ": " .. what
          break
        end
      end
    end
  end
  return s
end

local function op_text(x)
  return (x.group and x.group.name or x.pipe.name) .. "." .. x.op .. (x.n and "(" .. x.n .. ")" or "")
end

function schedules.text(s)
  local out = { ("seed %d:"):format(s.seed) }
  for _, p in ipairs(s.pipes) do out[#out + 1] = ("%s:%s/%d"):format(p.name, p.kind, p.stages) end
  for _, g in ipairs(s.groups) do out[#out + 1] = ("g=%s"):format(g.mode) end
  if s.tiles then out[#out + 1] = "tiles" end
  for _, t in ipairs(s.tasks) do
    out[#out + 1] = ("| %s(%d)%s"):format(t.name, t.warps, t.lane and (" lane %d/%d"):format(t.lane[1], t.lane[2]) or "")
    for _, seg in ipairs(t.segments) do
      local ops = {}
      for i, x in ipairs(seg.body) do ops[i] = op_text(x) end
      out[#out + 1] = ("%s%s%s{ %s }"):format(seg.late and "late " or "", seg.bound and "for " .. seg.bound or "", seg.guard and " if " .. seg.guard or "", table.concat(ops, " "))
    end
  end
  if #s.mistakes > 0 then out[#out + 1] = "[" .. table.concat(s.mistakes, "; ") .. "]" end
  return table.concat(out, " ")
end

--- The reverse: a description from such a line (without seed and mistakes). Who fills and who empties follows from the moves.
function schedules.parse(text)
  local s = { seed = 0, pipes = {}, groups = {}, tasks = {}, mistakes = {} }
  local head, rest = text:match "^(.-)|(.*)$"
  local by_name = {}
  for name, kind, stages in head:gmatch "(%w+):(%w+)/(%d+)" do -- PDL has 0
    local p = { name = name, kind = kind, stages = tonumber(stages) }
    s.pipes[#s.pipes + 1], by_name[name] = p, p
  end
  for mode in head:gmatch "g=([%w_]+)" do
    local g = { name = "g", mode = mode, members = { s.pipes[1], s.pipes[2] } }
    s.pipes[1].group, s.pipes[2].group, s.groups[1], by_name.g = g, g, g, g
    if mode == "fork" then s.pipes[2].storage = s.pipes[1] end
  end
  s.tiles = head:find "tiles" ~= nil
  for part in rest:gmatch "[^|]+" do
    local name, warps, segs = part:match "^%s*(%w+)%((%d+)%)(.*)$"
    local task = { name = name, warps = tonumber(warps), segments = {} }
    local lane, lanes, after = segs:match "^%s*lane (%d+)/(%d+)(.*)$"
    if lane then task.lane, segs = { tonumber(lane), tonumber(lanes) }, after end
    local index = tonumber(name:match "%d+")
    for before, body in segs:gmatch "([^{]*)(%b{})" do
      local seg = { bound = before:match "for (.-)%s*$", body = {} }
      if seg.bound then
        local bound, guard = seg.bound:match "^(.-) if (.*)$"
        if bound then seg.bound, seg.guard = bound, guard end
      end
      for on, op, n in body:gmatch "(%w+)%.([%a_]+)%(?(%d*)%)?" do
        local what = assert(by_name[on], on)
        local x = { op = op, n = tonumber(n) }
        if what.members then x.group = what else x.pipe = what end
        seg.body[#seg.body + 1] = x
        for _, p in ipairs(what.members or { what }) do
          if op == "acquire" then p.producer = index elseif op == "wait" then p.consumer = index end
          if op == "release" and x.n == 1 then p.lag = 1 end
        end
      end
      task.segments[#task.segments + 1] = seg
    end
    s.tasks[#s.tasks + 1] = task
  end
  return s
end

--- A copy whose tasks can be changed.
function schedules.copy(s)
  local out = { seed = s.seed, pipes = s.pipes, groups = s.groups, tiles = s.tiles, tasks = {}, mistakes = {} }
  for i, t in ipairs(s.tasks) do
    out.tasks[i] = { name = t.name, warps = t.warps, lane = t.lane, segments = copy(t.segments) }
  end
  return out
end

-- ---- kernels ---------------------------------------------------------------------------------------------------------------------

--- What the first byte of a stage of p holds: other bytes than in its neighbours' stages.
function schedules.mark(p) return 16 * tonumber(p.name:match "%d+") end

--- bodies: what threads fill and use is written and read (else the bodies are empty: for proofs). What threads fill tells how many stages
--- were filled before (argument C of the pipe, { 2, 128 } of zeros: counts of fills and of uses, by thread), so that a stage read again
--- is no other's. What only a broken description has: s.cols (of the tiles that copies bring, else 16), s.depth (stages, by pipe), s.pad (bytes of shared memory beside the
--- pipelines), s.apart (tasks begin at multiples of so many warps), s.same (two tasks that stand on the same warps), and of a task `shift` (warps
--- that it stands further) and `registers`.
function schedules.kernel(weir, s, bodies)
  local P = weir.pipeline
  local k = weir.kernel { name = "random", arch = "sm_90a" }
  local N, M, T = k:dim "N", k:dim "M", k:dim "T"
  local of, row, cols = {}, k:dim "R", s.cols or 16
  local function depth(p) return s.depth and s.depth[p.name] or p.stages end
  local pad = s.pad and k:resource { name = "pad", space = "smem", dtype = "u8", tile = { s.pad }, work = { touch = weir.producer_work { code = ";" } } }
  for _, p in ipairs(s.pipes) do
    if p.kind == "pdl" then
      of[p] = { wait = k:pdl_wait { name = "before" }, launch = k:pdl_launch { name = "behind" } }
    elseif p.kind == "out" then
      of[p] = k:smem_tile { name = p.name, dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.async_tma { stages = depth(p) } }
    elseif p.kind == "bar" then
      of[p] = k:barrier { name = p.name, pipeline = P.async_async { stages = depth(p) } }
    elseif p.kind == "threads" or p.kind == "tx" then
      local bytes = p.kind == "tx" and 64 or nil
      local from = bytes and bodies and k:tensor { name = "B" .. p.name, dtype = "u8", shape = { 64 } }
      local counts = not bytes and bodies and k:tensor { name = "C" .. p.name, dtype = "u32", shape = { 2, 128 }, out = true }
      local bind = from and { from = from } or counts and { counts = counts } or nil
      local own = counts and "+ 5 * n" or ""
      local fill = from and "if (elected) w_bulk_load(w_addr(smem), from, 64, bar);"
        or ("const u32 n = counts[tid]++; for (u32 i = tid; i < 64; i += nthreads) smem[i] = (u8)(i + %d %s);"):format(schedules.mark(p), own)
      local use = ("%s for (u32 i = tid; i < 64; i += nthreads) if (smem[i] != (u8)(i + %d %s)) __trap();")
        :format(counts and "const u32 n = counts[128 + tid]++;" or "", schedules.mark(p), own)
      of[p] = k:resource { name = p.name, space = "smem", dtype = "u8", tile = { 64 }, bind = bind,
        pipeline = P[bytes and "tma_async" or "async_async"] { stages = depth(p) },
        work = { fill = weir.producer_work { code = bodies and fill or ";", tx_bytes = bytes },
          use = weir.consumer_work { code = bodies and use or ";" } } }
    else
      local pipe = copied[p.kind] == "tma_load" and P.tma_async { stages = depth(p) } or P.async_async { stages = depth(p), producer_op = "load" }
      local shape = { name = p.name, dtype = "bf16", tile = { 64, cols }, swizzle = 32, pipeline = pipe }
      if p.storage then shape = { name = p.name, storage = of[p.storage], pipeline = shape.pipeline } end
      of[p] = k:smem_tile(shape)
    end
  end
  local sources, outputs, accs = {}, {}, {}
  for _, p in ipairs(s.pipes) do
    if copied[p.kind] then
      sources[p] = k:gmem_tile { name = "x_" .. p.name, tensor = k:tensor { name = "X" .. p.name, dtype = "bf16", shape = { row, 64 } }, tile = { 64, cols } }
    end
    if p.kind == "out" then
      outputs[p] = k:gmem_tile { name = "y_" .. p.name, tensor = k:tensor { name = "Y" .. p.name, dtype = "bf16", shape = { row, 64 }, out = true }, tile = { 64, 64 } }
    elseif p.kind == "tma" or p.kind == "cp" then
      outputs[p] = k:gmem_tile { name = "y_" .. p.name, tensor = k:tensor { name = "Y" .. p.name, dtype = "bf16", shape = { row, 64 }, out = true }, tile = { 64, cols } }
    elseif multiplies[p.kind] then
      accs[p] = {}                                            -- by task: lanes have one each
      for _, t in ipairs(s.tasks) do
        local index, users = tonumber(t.name:match "%d+"), false
        for _, seg in ipairs(t.segments) do for _, x in ipairs(seg.body) do users = users or (x.pipe == p and (x.op == "use" or x.op == "drain")) end end
        if index == p.consumer or users then
          accs[p][index] = k:wgmma_tile { name = index == p.consumer and "a_" .. p.name or ("a_%s_%d"):format(p.name, index), tile = { 64, 64 } }
        end
      end
    end
  end
  local groups = {}
  for _, g in ipairs(s.groups) do
    groups[g] = k:group { name = g.name, mode = g.mode, members = { of[g.members[1]], of[g.members[2]] } }
    for _, p in ipairs(g.members) do of[p] = groups[g]:member(p.name) end
  end
  local wq = s.tiles and k:work_queue { name = "wq", axes = { "i" }, extent = { T } }

  local function value(text)
    local base, sign, c = text:match "^(.-) ([+-]) (%d+)$"
    if base then return sign == "+" and value(base) + tonumber(c) or value(base) - tonumber(c) end
    if text == "N" then return N elseif text == "M" then return M end
    local of_ceil = text:match "^ceil%(N, (%d+)%)$"
    if of_ceil then return weir.ceil_div(N, tonumber(of_ceil)) end
    return tonumber(text)
  end
  local function sums_of(task) for _, p in ipairs(s.pipes) do if accs[p] and accs[p][task] then return accs[p][task] end end end
  local function perform(x, task)
    local h = x.group and groups[x.group] or of[x.pipe]
    if x.op == "grid_wait" then h.wait:wait_griddep()
    elseif x.op == "grid_launch" then h.launch:launch_griddep()
    elseif x.pipe and x.pipe.kind == "out" and x.op == "fill" then h:store(sums_of(x.pipe.producer):read())
    elseif x.pipe and x.pipe.kind == "out" and x.op == "use" then outputs[x.pipe]:tma_store(h:read(), outputs[x.pipe]:at(0, 0))
    elseif x.op == "fill" then
      if sources[x.pipe] then h[copied[x.pipe.kind]](h, sources[x.pipe]:at(0, 0)) else h:fill() end
    elseif x.op == "use" then
      if outputs[x.pipe] then outputs[x.pipe]:store(h:read(), outputs[x.pipe]:at(0, 0))
      elseif accs[x.pipe] then accs[x.pipe][task.index]:mma(h:read(), h:read())
      else h:use() end
    elseif x.op == "drain" then accs[x.pipe][task.index]:drain(x.n)
    elseif x.op == "release" and x.n then h:release(x.n)
    else h[x.op](h) end
  end
  local function guarded(i, guard)
    if guard == "first" then return i:first_iter() elseif guard == "last" then return i:last_iter() end
    local period, start = guard:match "^every (%d+) ?(%d*)$"
    if period then return i:every(tonumber(period), tonumber(start) or 0) end
    return weir.when_true(weir.gt(N, 1))
  end
  local function segment(task, seg)
    local function body() for _, x in ipairs(seg.body) do perform(x, task) end end
    if not seg.bound then return body() end
    for i in weir.domain_loop(0, value(seg.bound)) do
      if seg.guard then for _ in guarded(i, seg.guard) do body() end else body() end
    end
  end
  local function run(task)
    for _, p in ipairs(s.pipes) do
      if accs[p] and accs[p][task.index] then accs[p][task.index]:zero() end
    end
    for _, seg in ipairs(task.segments) do
      if #seg.body > 0 then
        if seg.late then for _ in weir.previous_tile(wq) do segment(task, seg) end else segment(task, seg) end
      end
    end
    for _, p in ipairs(s.pipes) do
      if accs[p] and accs[p][task.index] and not p.lag then accs[p][task.index]:drain(0) end
    end
  end
  local warp, order = 0, {}
  for i, t in ipairs(s.tasks) do t.index = tonumber(t.name:match "%d+"); order[i] = t end
  table.sort(order, function(a, b) return a.warps > b.warps or (a.warps == b.warps and a.index < b.index) end)
  local first = {}
  for _, t in ipairs(order) do first[t], warp = warp, s.apart and (warp + t.warps + s.apart - 1) // s.apart * s.apart or warp + t.warps end
  for i, t in ipairs(s.tasks) do
    if s.same and s.same[1] == i then first[t] = first[s.tasks[s.same[2]]] end
    k:task { name = t.name, warps = { first[t] + (t.shift or 0), t.warps }, registers = t.registers, schedule = function()
      if pad and i == 1 then pad:touch() end
      if wq then for _ in weir.work_tile_loop(wq, t.lane and { lane = t.lane[1], lanes = t.lane[2] }) do run(t); wq:next() end else run(t) end
      for _, seg in ipairs(t.segments) do
        if seg.late and not seg.left then for _ in weir.last_tile(wq) do segment(t, seg) end end
      end
    end }
  end
  return k
end

--- Sizes worth a look: small lengths, with tiles up to two.
function schedules.sizes(s)
  local text, out = schedules.text(s), {}
  local two, dealt = text:find "for M" ~= nil or text:find "%[.*M", text:find " lane " ~= nil
  for n = 0, 3 do
    for m = two and 0 or 1, two and 2 or 1 do
      for t = s.tiles and 0 or 1, dealt and 3 or s.tiles and 2 or 1 do
        if n + m + t <= (dealt and 6 or 5) then out[#out + 1] = { N = n, M = m, T = t, R = 64, tiles = t } end
      end
    end
  end
  return out
end

local tensors = { threads = "", tx = "", bar = "", pdl = "", mma = "X", cpm = "X", out = "Y" }   -- of a kind of pipe; others load and store

--- Launches the schedule's program on a device with what it takes: tensors of 64 rows, N, M and (of tiles) T as in `at`.
function schedules.launch(s, program, device, at)
  local args = { N = at.N, M = at.M, T = at.T, R = 64 }
  for _, pipe in ipairs(s.pipes) do
    for side in (tensors[pipe.kind] or "XY"):gmatch "." do
      args[side .. pipe.name], args.R = device:tensor { dtype = "bf16", shape = { 64, 64 } }:fill(1), nil
    end
    if pipe.kind == "threads" then args["C" .. pipe.name] = device:tensor { dtype = "u32", shape = { 2, 128 } } end
    if pipe.kind == "tx" then
      local bytes = {}
      for i = 1, 64 do bytes[i] = i - 1 + schedules.mark(pipe) end
      args["B" .. pipe.name] = device:tensor { dtype = "u8", shape = { 64 } }:set(bytes)
    end
  end
  local raised, ok, message
  repeat                                                  -- which of them are there is the schedule's business
    raised, ok, message = pcall(program.launch, program, args, { device = device, grid = 1 })
    local extra = not raised and ok:match "it has no argument '(%w+)'"
    if extra then args[extra] = nil end
  until not extra
  if not raised then error(ok, 0) end
  return ok, message
end

return schedules
