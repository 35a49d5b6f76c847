-- Breadth-first explorer of the credit model, nothing reduced. It is meant to be read, not to be fast: t/c/credits.c is the fast
-- one, and must count the same. Sections are those of the specification of the reference checker.
--
--   local bfs = require "bfs"
--   local result = bfs.explore(model, { limit = 200000 })      model from checker_notation.parse
--   local flat = bfs.prepare(model, options)                   the same model for weir_plan.credits(flat, limit)
--
-- Options: revision    "R1" (default): the executed reference. "R2": its later revision, operations split by R2's rules,
--                      states keyed by cursors alone, fused merge and runtime conditions; races are not looked for, and
--                      lanes share credits as in R1 (R2 keys them by stage: C64).
--          conditions  { key = true or false } for `when` blocks
--          limit       stop when this many states were explored (default: none)
-- Result:  verdict: "DEADLOCK", "RACE" or "PDL", the first class with a record in this order; without records "SAFE", or
--          "INCOMPLETE" if the limit cut the search short (R1 says safe there, section 10 row 1),
--          states, complete, deadlock (states), race, pdl (records), first (depth of the first record, else nil),
--          cursor_vectors (different cursor vectors among the states), limit_hit.

local bfs = {}

-- Which side of a pipeline is driven by ordinary threads, which by the tensor core.
local thread_producer = { AA = true, AU = true }
local thread_consumer = { AA = true, TA = true, UA = true, CLC = true }
local umma_producer = { UA = true, UU = true }
local umma_consumer = { TU = true, AU = true, UU = true }

-- Section 2: flat lists -------------------------------------------------------------------------------------------

local function iterations(domain)
  local stop = domain.stop or 1                   -- a dynamic end: the checker's fallback value
  local count, at = 0, domain.start
  while (domain.step > 0 and at < stop) or (domain.step < 0 and at > stop) do
    count, at = count + 1, at + domain.step
  end
  return count
end

local function fires(guard, iteration, count)     -- iteration counts from 0
  if guard == nil then return true end
  if guard == "first" then return iteration == 0 end
  if guard == "last" then return iteration == count - 1 end
  return iteration >= guard.start and (iteration - guard.start) % guard.period == 0
end

-- Section 2.6: the phases of one operation; "write" marks the write-capable phase of consumer work.
local function phases(model, op, revision)
  local object = model.by_name[op.resource]
  local barrier = object.members or object.type == "PDL_WAIT" or object.type == "PDL_LAUNCH"
  local bare = not object.stages                  -- no pipeline (a work queue without one too)
  if barrier then return { "whole" } end
  if op.letter == "c" then
    if bare then return { "write", "read" } end
    if revision == "R1" and thread_consumer[object.type] then return { "read", "read" } end
  elseif op.letter == "P" then
    if bare and revision == "R2" then return { "whole", "whole" } end
    if not bare and revision == "R1" and thread_producer[object.type] then return { "whole", "whole" } end
  end
  return { "whole" }
end

local function flatten(model, task, options)
  local flat = {}
  local function add(op)
    if op.key and not options.conditions[op.key] then return end
    for _, phase in ipairs(phases(model, op, options.revision)) do
      flat[#flat + 1] = { letter = op.letter, resource = op.resource, phase = phase }
    end
  end
  local skipping = model.skipped and task.skips
  for _ = 1, model.tiles do
    for _, op in ipairs(task.head) do
      if not (skipping and op.skippable) then add(op) end
    end
    if not skipping then
      local count = iterations(task.domain)
      for iteration = 0, count - 1 do
        for _, op in ipairs(task.loop) do
          if fires(op.guard, iteration, count) then add(op) end
        end
      end
    end
    for _, op in ipairs(task.tail) do
      if not (skipping and op.skippable) then add(op) end
    end
  end
  return flat
end

-- Section 4: credits ----------------------------------------------------------------------------------------------

-- The (resource, letter) pairs that one barrier operation counts for.
local function counted(model, groups_of, op)
  local object = model.by_name[op.resource]
  if object.members then
    if object.mode == "fused_merge" and op.letter == "a" then return { object.name } end
    return object.members                         -- the release of a merge, the commit of a fork
  end
  local group = groups_of[op.resource]
  if group and group.mode == "fused_merge" and op.letter == "C" then return { group.name } end
  return { op.resource }
end

local function lists(list, name)
  for _, item in ipairs(list) do if item == name then return true end end
  return false
end

-- Domain lane: stride above 1, loop step equal to it, warp count different from it.
local function domain_lane(task, stride)
  return stride > 1 and task.domain.step == stride and task.warps ~= stride
end

-- How many operations make one round of `side` ("src" or "dst") on a resource or group.
local function participants(model, object, side)
  if object.members and side == "dst" then return #object.members end       -- fused merge: one commit per member
  local name = object.members and object.members[1] or object.name
  local count = 0
  for _, task in ipairs(model.tasks) do
    if lists(task[side], name) then
      local strides = object.strides
      if strides and domain_lane(task, side == "src" and strides[4] or strides[2]) then return 1 end
      count = count + 1
    end
  end
  return count
end

-- done[letter][name][task][cursor]: how often that operation on that resource lies before the cursor.
local function prefix_counts(model, flats, groups_of)
  local done = {}
  for _, letter in ipairs { "A", "C", "a", "r" } do
    done[letter] = {}
    for name in pairs(model.by_name) do
      local rows = {}
      for t, flat in ipairs(flats) do
        rows[t] = { [0] = 0 }
        for i, op in ipairs(flat) do
          local counts = op.letter == letter and lists(counted(model, groups_of, op), name)
          rows[t][i] = rows[t][i - 1] + (counts and 1 or 0)
        end
      end
      done[letter][name] = rows
    end
  end
  return done
end

-- Section 5: alias maps -------------------------------------------------------------------------------------------

local function ranges_of(resource, role)          -- role: nil, "producer" or "consumer"
  local space = role and resource[role .. "_role"]
  local result = {}
  for _, range in ipairs(resource.ranges) do
    if range.lo < range.hi and (not space or range.space == space) then result[#result + 1] = range end
  end
  return result
end

local function meets(some, others)
  for _, a in ipairs(some) do
    for _, b in ipairs(others) do
      if a.space == b.space and a.lo < b.hi and b.lo < a.hi then return true end
    end
  end
  return false
end

local function alias_map(model, role)
  local map = {}
  for _, a in ipairs(model.resources) do
    map[a.name] = {}
    for _, b in ipairs(model.resources) do
      if a ~= b and meets(ranges_of(a, role), ranges_of(b)) then map[a.name][b.name] = true end
    end
  end
  return map
end

-- Section 6.1: access windows -------------------------------------------------------------------------------------
-- Per tracked resource an ordered list of { kind, task }; kinds "held", "prod_work", "cons_work". The functions below
-- change the list in place; the caller has copied it.

local function first_index(list, wanted)
  for i, entry in ipairs(list) do if wanted(entry) then return i end end
end

local function last_index(list, wanted)
  for i = #list, 1, -1 do if wanted(list[i]) then return i end end
end

local function drop(list, index) if index then table.remove(list, index) end end

local function change(list, index, kind)
  if index then list[index] = { kind = kind, task = list[index].task } end
end

local function release_window(model, list, name, t)
  if not umma_consumer[model.by_name[name].type] then
    drop(list, first_index(list, function(e) return e.task == t end))
  end
end

-- `next_op` is the operation after `op` in the same task; `window(name)` gives the list of a tracked resource or nil.
local function update_windows(model, paired, window, t, op, next_op)
  local object = model.by_name[op.resource]
  local list = window(op.resource)
  local repeats = next_op and next_op.letter == op.letter and next_op.resource == op.resource
  if op.letter == "A" and list then
    if umma_consumer[object.type] then
      drop(list, first_index(list, function(e) return e.kind ~= "prod_work" end))
    end
    list[#list + 1] = { kind = "held", task = t }
  elseif op.letter == "P" and list then
    change(list, first_index(list, function(e) return e.kind == "held" and e.task == t end), "prod_work")
    if (not object.stages or thread_producer[object.type]) and not repeats then
      change(list, first_index(list, function(e) return e.kind == "prod_work" and e.task == t end), "held")
    end
  elseif op.letter == "a" then
    if list then
      drop(list, last_index(list, function(e) return e.kind ~= "cons_work" end))
      drop(list, last_index(list, function(e) return e.kind == "cons_work" end))
      list[#list + 1] = { kind = "held", task = t }
    end
    for _, name in ipairs(paired[op.resource] or {}) do
      local other = window(name)
      if other then drop(other, first_index(other, function(e) return e.kind ~= "prod_work" end)) end
    end
  elseif op.letter == "c" and list then
    change(list, first_index(list, function(e) return e.task == t end), op.phase == "write" and "prod_work" or "cons_work")
    if not umma_consumer[object.type] and not repeats then
      change(list, first_index(list, function(e) return e.kind ~= "held" and e.task == t end), "held")
    end
  elseif op.letter == "r" then
    for _, name in ipairs(object.members or { object.name }) do
      local member = window(name)
      if member then release_window(model, member, name, t) end
    end
  end
end

-- UMMA-consumed resources whose reads end when a wait on the UMMA-produced resource returns: one task consumes the
-- former and produces the latter.
local function completion_pairs(model)
  local paired = {}
  for _, q in ipairs(model.resources) do
    for _, s in ipairs(model.resources) do
      if umma_producer[q.type] and umma_consumer[s.type] then
        for _, task in ipairs(model.tasks) do
          if lists(task.src, s.name) and lists(task.dst, q.name) then
            paired[q.name] = paired[q.name] or {}
            table.insert(paired[q.name], s.name)
            break
          end
        end
      end
    end
  end
  return paired
end

-- Section 7: race records of one state ----------------------------------------------------------------------------

local function count_races(tracked, windows, flats, cursors, enabled, producer_map, consumer_map)
  local accesses = {}
  for name in pairs(tracked) do
    for _, entry in ipairs(windows[name]) do
      if entry.kind ~= "held" then
        accesses[#accesses + 1] = { resource = name, task = entry.task, write = entry.kind == "prod_work" }
      end
    end
  end
  for t in pairs(enabled) do                      -- about to run
    local op = flats[t][cursors[t] + 1]
    if tracked[op.resource] and (op.letter == "P" or op.letter == "c") then
      accesses[#accesses + 1] = { resource = op.resource, task = t, write = op.letter == "P" or op.phase == "write" }
    end
  end
  local function confirms(a, b)
    local map = a.write and producer_map or consumer_map
    return map[a.resource][b.resource]
  end
  local seen, count = {}, 0
  for i, a in ipairs(accesses) do
    for j = i + 1, #accesses do
      local b = accesses[j]
      if a.task ~= b.task and (a.write or b.write) and confirms(a, b) and confirms(b, a) then
        local key = math.min(a.task, b.task) .. " " .. math.max(a.task, b.task) .. " "
          .. (a.resource < b.resource and a.resource .. " " .. b.resource or b.resource .. " " .. a.resource)
        if not seen[key] then seen[key], count = true, count + 1 end
      end
    end
  end
  return count
end

-- Section 8: the search -------------------------------------------------------------------------------------------

function bfs.explore(model, options)
  options = options or {}
  local revision = options.revision or "R1"
  local limit = options.limit or math.huge
  local result = { states = 0, complete = 0, deadlock = 0, race = 0, pdl = 0, cursor_vectors = 0, limit_hit = false }
  if #model.tasks == 0 then
    result.verdict = "SAFE"
    return result
  end

  local flats = {}
  for t, task in ipairs(model.tasks) do
    flats[t] = flatten(model, task, { revision = revision, conditions = options.conditions or {} })
  end

  local groups_of = {}
  for _, group in ipairs(model.groups) do
    for _, member in ipairs(group.members) do groups_of[member] = group end
  end
  local done = prefix_counts(model, flats, groups_of)
  local n_src, n_dst = {}, {}
  for name, object in pairs(model.by_name) do
    n_src[name] = participants(model, object, "src")
    n_dst[name] = participants(model, object, "dst")
  end

  local general_map = alias_map(model)
  local producer_map, consumer_map = alias_map(model, "producer"), alias_map(model, "consumer")
  local tracked = {}                              -- resources that alias another one
  if revision == "R1" then
    for name, others in pairs(general_map) do if next(others) then tracked[name] = true end end
  end
  local tracked_names = {}
  for name in pairs(tracked) do tracked_names[#tracked_names + 1] = name end
  table.sort(tracked_names)
  local paired = completion_pairs(model)

  -- Completed rounds of `letter` on `name` in a state: its total over all tasks, by the number of participants.
  local function rounds(cursors, letter, name)
    local size = (letter == "a" or letter == "r") and n_src[name] or n_dst[name]
    if size == 0 then return 0 end
    local total = 0
    for t, row in ipairs(done[letter][name]) do total = total + row[cursors[t]] end
    return total // size
  end

  local function enabled(cursors, op)
    local name = op.resource
    if model.by_name[name].queue then return true end
    if op.letter == "A" then                      -- an empty credit is left
      return model.by_name[name].stages - rounds(cursors, "A", name) + rounds(cursors, "r", name) > 0
    elseif op.letter == "a" then                  -- a full credit is left
      return rounds(cursors, "C", name) - rounds(cursors, "a", name) > 0
    end
    return true
  end

  local function pdl_wait_done(cursors)
    if model.pdl_done then return true end
    for t, flat in ipairs(flats) do
      for i = 1, cursors[t] do
        if flat[i].letter == "c" and model.by_name[flat[i].resource].type == "PDL_WAIT" then return true end
      end
    end
    return false
  end

  local function key_of(state)
    local parts = { table.concat(state.cursors, ",") }
    for _, name in ipairs(tracked_names) do
      local list = state.windows[name]
      if #list > 0 then
        parts[#parts + 1] = name
        for _, entry in ipairs(list) do parts[#parts + 1] = entry.kind .. entry.task end
      end
    end
    return table.concat(parts, " ")
  end

  local function successor(state, t)
    local op = flats[t][state.cursors[t] + 1]
    local cursors = table.move(state.cursors, 1, #flats, 1, {})
    cursors[t] = cursors[t] + 1
    local windows = {}
    for name in pairs(tracked) do windows[name] = table.move(state.windows[name], 1, #state.windows[name], 1, {}) end
    if #tracked_names > 0 then
      update_windows(model, paired, function(name) return windows[name] end, t, op, flats[t][cursors[t] + 1])
    end
    return { cursors = cursors, windows = windows, depth = state.depth + 1 }
  end

  local start = { cursors = {}, windows = {}, depth = 0 }
  for t = 1, #flats do start.cursors[t] = 0 end
  for name in pairs(tracked) do start.windows[name] = {} end
  local queue, head, tail = { start }, 1, 1
  local visited = { [key_of(start)] = true }
  local vectors = {}

  local function record(kind, count, state)
    result[kind] = result[kind] + count
    if count > 0 and not result.first then result.first = state.depth end
  end

  while head <= tail do
    if result.states >= limit then result.limit_hit = true break end
    local state = queue[head]
    queue[head] = nil
    head = head + 1
    result.states = result.states + 1
    local vector = table.concat(state.cursors, ",")
    if not vectors[vector] then
      vectors[vector] = true
      result.cursor_vectors = result.cursor_vectors + 1
    end

    local all_done, ready = true, {}
    for t, flat in ipairs(flats) do
      local op = flat[state.cursors[t] + 1]
      if op then
        all_done = false
        if enabled(state.cursors, op) then ready[t] = op end
      end
    end
    if all_done then result.complete = result.complete + 1
    elseif not next(ready) then record("deadlock", 1, state)
    else
      if #tracked_names > 0 then
        record("race", count_races(tracked, state.windows, flats, state.cursors, ready, producer_map, consumer_map), state)
      end
      for t = 1, #flats do
        local op = ready[t]
        if op and model.by_name[op.resource].type == "PDL_LAUNCH" and op.letter == "P"
            and not pdl_wait_done(state.cursors) then
          record("pdl", 1, state)
        elseif op then
          local after = successor(state, t)
          local key = key_of(after)
          if not visited[key] then
            visited[key] = true
            tail = tail + 1
            queue[tail] = after
          end
        end
      end
    end
  end

  result.verdict = result.deadlock > 0 and "DEADLOCK" or result.race > 0 and "RACE" or result.pdl > 0 and "PDL"
    or result.limit_hit and "INCOMPLETE" or "SAFE"
  return result
end

-- What the search in C takes: flat lists, and resources (then groups) by number.
function bfs.prepare(model, options)
  options = options or {}
  local revision = options.revision or "R1"
  local number, objects, out = {}, {}, { tasks = {}, resources = {}, pdl_done = model.pdl_done }
  for _, list in ipairs { model.resources, model.groups } do
    for _, object in ipairs(list) do
      objects[#objects + 1] = object
      number[object.name] = #objects
    end
  end
  local function numbers(names)
    local list = {}
    for _, name in ipairs(names or {}) do list[#list + 1] = number[name] end
    return list
  end
  local function met(map, name)
    local list = {}
    for other in pairs(map[name] or {}) do list[#list + 1] = number[other] end
    return list
  end
  local groups_of = {}
  for _, group in ipairs(model.groups) do
    for _, member in ipairs(group.members) do groups_of[member] = group end
  end
  local general_map, paired = alias_map(model), completion_pairs(model)
  local producer_map, consumer_map = alias_map(model, "producer"), alias_map(model, "consumer")
  for i, object in ipairs(objects) do
    out.resources[i] = {
      stages = object.stages or 0, piped = object.stages ~= nil, queue = object.queue or false,
      nsrc = participants(model, object, "src"), ndst = participants(model, object, "dst"),
      tracked = revision == "R1" and next(general_map[object.name] or {}) ~= nil,
      umma_consumer = umma_consumer[object.type] or false, thread_producer = thread_producer[object.type] or false,
      members = numbers(object.members or { object.name }), paired = numbers(paired[object.name]),
      writer_meets = met(producer_map, object.name), reader_meets = met(consumer_map, object.name),
    }
  end
  for t, task in ipairs(model.tasks) do
    out.tasks[t] = {}
    for i, op in ipairs(flatten(model, task, { revision = revision, conditions = options.conditions or {} })) do
      local kind = model.by_name[op.resource].type
      out.tasks[t][i] = {
        letter = op.letter, resource = number[op.resource], write = op.phase == "write",
        counts = op.letter:find "[ACar]" and numbers(counted(model, groups_of, op)) or nil,
        pdl_wait = kind == "PDL_WAIT" and op.letter == "c", pdl_launch = kind == "PDL_LAUNCH" and op.letter == "P",
      }
    end
  end
  return out
end

return bfs
