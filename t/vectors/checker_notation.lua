-- Parser of the schedule notation of checker.lua into plain tables.
--
--   local notation = require "checker_notation"
--   local model = notation.parse "P:AA/1; x3{A C} | x3{a r}"
--
-- Grammar (blanks separate words and mean nothing else; {x} is repetition, [x] an option):
--
--   vector   = "no tasks" | decls ";" task {"|" task} [", normal run"]
--   decls    = decl {"," decl}
--   decl     = name {"," name} ":" type {attr}                names in a row share what follows the colon
--            | "W" | "L"                                      the PDL wait and the PDL launch resource
--            | name "=" ("merge"|"fork") "(" name {"," name} ")"
--            | "fused merge" name "(" name {"," name} ")" "/" n     also declares its members, AsyncAsync, n stages
--            | ("producer"|"consumer") "role" space           that role of the resource just declared uses only this space
--            | n "tiles" | "flag set"                         the "PDL wait already happened" flag
--            | "skipped" ["run"] | "task skips" | "both skip" | "task" i "skips"    i counts from 0
--   type     = ("AA"|"TA"|"TU"|"UA"|"AU"|"UU") "/" stages | "WQ" ["with CLC/" stages] | "-"
--   attr     = range {"+" range} | "strides (" acquire "," commit "," wait "," release ")"
--   range    = space "[" low "," high ")"                     space: s SMEM bytes, t TMEM columns
--   task     = {block} [n "warps"] ["one task"]
--   block    = "H{" ops "}" | loop "{" ops "}" | "Z{" ops "}" | "when" key "{" ops "}"
--   loop     = "x" n | "range(" start "," stop "," step ")" | "dynamic end" [", start" n]
--   ops      = { [("F"|"L"|"k") ":"] op | "every(" period ["," start] "){" ops "}" }
--   op       = letter [name]       without a name: the only pipelined resource that is no work queue
--
-- Letters: A acquire, C commit, P producer work, T producer try, U producer auxiliary work,
--          a wait,    r release, c consumer work, t consumer try, u consumer auxiliary work.
-- U and u are not in the specification's vectors; the larger GEMM needs them for its heads.
-- F: first iteration only, L: last only, k: skippable.
--
-- Result:
--   { resources = { {name, type, stages, ranges = { {space, lo, hi} }, producer_role, consumer_role, strides} },
--     groups    = { {name, mode, members = {name}} },
--     by_name   = { [name] = resource or group },
--     tasks     = { {head = ops, loop = ops, tail = ops, domain, warps, skips, src = {name}, dst = {name}} },
--     tiles = 1, skipped = false, pdl_done = false }
--   op     = { letter, resource, guard = nil | "first" | "last" | {period, start}, skippable, key }
--   domain = { start, stop, step }, stop = nil for a dynamic end
--   type is "WQ", "PDL_WAIT", "PDL_LAUNCH", "-", "CLC" (a work queue with a CLC pipeline: queue = true) or a pipeline type.

local notation = {}

notation.stage = {
  A = "ProducerAcquire", C = "ProducerCommit",  P = "ProducerWork", T = "ProducerTryAcquire", U = "ProducerAuxWork",
  a = "ConsumerWait",    r = "ConsumerRelease", c = "ConsumerWork", t = "ConsumerTryWait",    u = "ConsumerAuxWork",
}

local function trim(s) return (s:gsub("^%s+", ""):gsub("%s+$", "")) end

-- Splits at `sep` outside all brackets. "[0,64)" closes with a parenthesis, so kinds are not told apart.
local function split(text, sep)
  local parts, depth, from = {}, 0, 1
  for at = 1, #text do
    local ch = text:sub(at, at)
    if ch:find "[%(%[{]" then depth = depth + 1
    elseif ch:find "[%)%]}]" then depth = depth - 1
    elseif ch == sep and depth == 0 then
      parts[#parts + 1] = trim(text:sub(from, at - 1))
      from = at + 1
    end
  end
  parts[#parts + 1] = trim(text:sub(from))
  return parts
end

local function add_once(list, item)
  for _, old in ipairs(list) do if old == item then return end end
  list[#list + 1] = item
end

-- Declarations ----------------------------------------------------------------------------------------------------

local pipeline_types = { AA = true, TA = true, TU = true, UA = true, AU = true, UU = true }

local function parse_type(text, resource)
  local kind, stages, rest = text:match "^(%u%u)/(%d+)(.*)$"
  if kind then
    assert(pipeline_types[kind], "unknown pipeline type: " .. kind)
    resource.type, resource.stages = kind, tonumber(stages)
  elseif text:find "^WQ" then
    resource.type, resource.queue, rest = "WQ", true, text:sub(3)
    local clc = rest:match "^ with CLC/(%d+)"
    if clc then
      resource.type, resource.stages = "CLC", tonumber(clc)
      rest = rest:gsub("^ with CLC/%d+", "")
    end
  elseif text:find "^%-" then
    resource.type, rest = "-", text:sub(2)
  else
    error("bad resource type: " .. text)
  end
  local strides = rest:match "^%s*strides (%b())"
  if strides then
    resource.strides = {}
    for n in strides:gmatch "%d+" do table.insert(resource.strides, tonumber(n)) end
    rest = rest:gsub("^%s*strides %b()", "")
  end
  for space, lo, hi in rest:gmatch "([st])%[(%d+),(%d+)%)" do
    table.insert(resource.ranges, { space = space, lo = tonumber(lo), hi = tonumber(hi) })
  end
  rest = rest:gsub("[st]%[%d+,%d+%)", ""):gsub("[%s%+]", "")
  assert(rest == "", "not understood after the type: " .. rest)
end

local function parse_decls(text, model)
  local pending = {}                              -- names waiting for the colon that tells their type
  local function declare(name, type_text)
    local resource = { name = name, ranges = {} }
    if type_text == "PDL_WAIT" or type_text == "PDL_LAUNCH" then resource.type = type_text
    else parse_type(type_text, resource) end
    table.insert(model.resources, resource)
    model.by_name[name] = resource
  end
  local function declare_group(name, mode, members)
    local group = { name = name, mode = mode, members = split(members, ",") }
    table.insert(model.groups, group)
    model.by_name[name] = group
    return group
  end
  for _, item in ipairs(split(text, ",")) do
    local names, rest = item:match "^(%w+):(.+)$"
    if names then
      table.insert(pending, names)
      for _, name in ipairs(pending) do declare(name, rest) end
      pending = {}
    elseif item == "W" then declare("W", "PDL_WAIT")
    elseif item == "L" then declare("L", "PDL_LAUNCH")
    elseif item:find "^%w+=%a+%(" then
      local name, mode, members = item:match "^(%w+)=(%a+)%((.-)%)$"
      declare_group(name, mode, members)
    elseif item:find "^fused merge" then
      local name, members, stages = item:match "^fused merge (%w+)%((.-)%)/(%d+)$"
      for _, member in ipairs(declare_group(name, "fused_merge", members).members) do
        declare(member, "AA/" .. stages)
      end
    elseif item:find "^%a+ role [st]$" then
      local role, space = item:match "^(%a+) role ([st])$"
      model.resources[#model.resources][role .. "_role"] = space
    elseif item:find "^%d+ tiles$" then model.tiles = tonumber(item:match "^%d+")
    elseif item == "flag set" then model.pdl_done = true
    elseif item == "skipped" or item == "skipped run" then model.skipped = true
    elseif item == "task skips" then model.skips[0] = true
    elseif item == "both skip" then model.skips[0], model.skips[1] = true, true
    elseif item:find "^task %d+ skips$" then model.skips[tonumber(item:match "%d+")] = true
    elseif item:find "^%w+$" then table.insert(pending, item)
    else error("declaration not understood: " .. item) end
  end
  assert(#pending == 0, "resource without a type")
end

-- Tasks -----------------------------------------------------------------------------------------------------------

local function default_resource(model)
  local found
  for _, resource in ipairs(model.resources) do
    if resource.stages and not resource.queue then
      assert(not found, "an operation without a resource name is ambiguous here")
      found = resource.name
    end
  end
  return assert(found, "no pipelined resource")
end

-- Appends the ops written in `text` to `list`, each with the fields of `common`.
local function parse_ops(text, model, list, common)
  local at = 1
  while true do
    at = text:find("%S", at)
    if not at then return end
    local period, start, body = text:match("^every%((%d+),?(%d*)%)(%b{})", at)
    if period then
      parse_ops(body:sub(2, -2), model, list, { guard = { period = tonumber(period), start = tonumber(start) or 0 } })
      at = select(2, text:find("^every%b()%b{}", at)) + 1
    else
      local word = text:match("^%S+", at)
      at = at + #word
      local op = { guard = common.guard, key = common.key }
      local prefix, plain = word:match "^([FLk]):(.+)$"
      if prefix == "F" then op.guard = "first"
      elseif prefix == "L" then op.guard = "last"
      elseif prefix == "k" then op.skippable = true end
      plain = plain or word
      op.letter = plain:sub(1, 1)
      assert(notation.stage[op.letter], "unknown operation: " .. word)
      op.resource = #plain > 1 and plain:sub(2) or default_resource(model)
      assert(model.by_name[op.resource], "unknown resource: " .. word)
      table.insert(list, op)
    end
  end
end

-- Sources and destinations are exactly the resources that the ops of the task consume and produce;
-- an op on a group touches every member.
local function find_sources(task, model)
  for _, section in ipairs { task.head, task.loop, task.tail } do
    for _, op in ipairs(section) do
      local list = op.letter:find "%u" and task.dst or task.src
      local object = model.by_name[op.resource]
      for _, name in ipairs(object.members or { object.name }) do add_once(list, name) end
    end
  end
end

-- One rule per form: a pattern, and what to do with the task, a function that reads ops, and the captures.
local forms = {
  { "H(%b{})", function(task, read, body) read(body, task.head) end },
  { "Z(%b{})", function(task, read, body) read(body, task.tail) end },
  { "when (%w+) (%b{})", function(task, read, key, body) read(body, task.head, key) end },
  { "x(%d+)(%b{})", function(task, read, count, body)
      task.domain = { start = 0, stop = tonumber(count), step = 1 }
      read(body, task.loop)
    end },
  { "range%((%-?%d+),(%-?%d+),(%-?%d+)%)(%b{})", function(task, read, start, stop, step, body)
      task.domain = { start = tonumber(start), stop = tonumber(stop), step = tonumber(step) }
      read(body, task.loop)
    end },
  { "dynamic end, start (%d+)(%b{})", function(task, read, start, body)
      task.domain = { start = tonumber(start), step = 1 }
      read(body, task.loop)
    end },
  { "dynamic end(%b{})", function(task, read, body)
      task.domain = { start = 0, step = 1 }
      read(body, task.loop)
    end },
  { "(%d+) warps", function(task, _, warps) task.warps = tonumber(warps) end },
  { "(one task)", function() end },
}

local function parse_task(text, model)
  local task = { head = {}, loop = {}, tail = {}, domain = { start = 0, stop = 0, step = 1 }, src = {}, dst = {} }
  local function read(body, list, key)
    parse_ops(body:sub(2, -2), model, list, { key = key })
  end
  local at = 1
  while text:find("%S", at) do
    local matched
    for _, form in ipairs(forms) do
      local found = table.pack(text:find("^%s*" .. form[1], at))
      if found[1] then
        form[2](task, read, table.unpack(found, 3, found.n))
        at, matched = found[2] + 1, true
        break
      end
    end
    assert(matched, "task not understood at: " .. text:sub(at))
  end
  find_sources(task, model)
  return task
end

function notation.parse(text)
  local model = { resources = {}, groups = {}, by_name = {}, tasks = {}, skips = {},
                  tiles = 1, skipped = false, pdl_done = false }
  text = trim(text)
  if text == "no tasks" then return model end
  local decls, body = text:match "^(.-);(.+)$"
  assert(decls, "no ';' between resources and tasks")
  parse_decls(decls, model)
  body = body:gsub(", normal run$", "")
  for index, task_text in ipairs(split(body, "|")) do
    local task = parse_task(task_text, model)
    task.skips = model.skips[index - 1] or false
    table.insert(model.tasks, task)
  end
  model.skips = nil
  return model
end

return notation
