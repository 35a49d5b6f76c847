-- Searching configurations, and keeping what was found.
--
--   local tune = require "weir.tune"
--   tune.compile { kernel = "weir.kernels.gemm", options = { m = 4096, n = 4096, k = 4096 }, jobs = 8 }   -- anywhere, no GPU needed
--   local found = tune.search { kernel = "weir.kernels.gemm", options = { m = 4096, n = 4096, k = 4096 } }   -- where the GPU is
--   local p = tune.build("weir.kernels.gemm", { m = 4096, n = 4096, k = 4096 })                          -- with what was found
--
-- A kernel is a module with build(options), candidates(options) and example(options, device), which makes launch arguments. Options
-- are plain data: they go to other processes, and are the key of what is found.
--
-- Each candidate runs in a process of its own, which may die (a bad launch takes its context along) or hang, and is then ended after
-- `timeout` seconds; the search notes it and goes on. The best three are measured again, taking turns, so that clocks and heat are
-- the same for all. Compiled candidates lie in weir's cache of cubins ($XDG_CACHE_HOME/weir): compile() fills it in parallel, and the
-- folder may be carried to the machine that searches.
--
-- The database is a text file, one record a line, each a Lua table; the last one of a key counts. Processes may append at once.
local weir = require "weir"
local M = {}

-- ---- plain data as text -------------------------------------------------------------------------------------------------------

-- Keys in order, so that equal tables are equal texts; nil and the name of what is no data.
local function text_of(v, name)
  local t = type(v)
  if t == "number" and v ~= v then return "(0/0)" end
  if t == "number" and (v == math.huge or v == -math.huge) then return v > 0 and "math.huge" or "-math.huge" end
  if t == "string" then return (("%q"):format(v):gsub("\\\n", "\\n")) end
  if t == "number" or t == "boolean" then return ("%q"):format(v) end
  if t ~= "table" then return nil, ("%s is a %s"):format(name, t) end
  local parts, keys = {}, {}
  for i, x in ipairs(v) do
    local text, why = text_of(x, ("%s[%d]"):format(name, i))
    if not text then return nil, why end
    parts[i] = text
  end
  for key in pairs(v) do
    if type(key) == "string" then keys[#keys + 1] = key
    elseif not (math.type(key) == "integer" and key >= 1 and key <= #v) then return nil, ("%s has the key %s"):format(name, tostring(key)) end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local text, why = text_of(v[key], name .. "." .. key)
    if not text then return nil, why end
    parts[#parts + 1] = (key:match "^[%a_][%w_]*$" and key or ("[%q]"):format(key)) .. " = " .. text
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function plain(v, name)
  local text, why = text_of(v, name)
  if not text then error("tune: " .. why .. "; only plain data can be sent to another process", 3) end
  return text
end

local function data_of(text)
  local f = load("return " .. text, "=tune", "t", { math = { huge = math.huge } })
  local ok, v = pcall(f or error)
  return ok and v or nil
end

-- ---- the database -------------------------------------------------------------------------------------------------------------

--- $WEIR_TUNE, else tune.lua beside the cache of cubins.
---@return string
function M.path()
  local given, xdg, home = os.getenv "WEIR_TUNE", os.getenv "XDG_CACHE_HOME", os.getenv "HOME"
  if given and given ~= "" then return given end
  return (xdg and xdg ~= "" and xdg or (home or "") .. "/.cache") .. "/weir/tune.lua"
end

---@class weir.tune.record
---@field device string
---@field kernel string
---@field options table
---@field best { config: table, ms: number }
---@field second? { config: table, ms: number }
---@field tried { config: table, ms?: number, failed?: string }[]
---@field version string       of weir
---@field date string

local function key_of(device, kernel, options) return ("%s %s %s"):format(device, kernel, plain(options, "options")) end

--- Every record that counts, by its key. A line that cannot be read is left out.
---@param file? string
---@return table<string, weir.tune.record>
function M.load(file)
  local records, f = {}, io.open(file or M.path())
  if not f then return records end
  for line in f:lines() do
    local r = data_of(line)
    if type(r) == "table" and r.device and r.kernel and r.options and r.best then records[key_of(r.device, r.kernel, r.options)] = r end
  end
  f:close()
  return records
end

---@param record weir.tune.record
---@param file? string
function M.store(record, file)
  local path = file or M.path()
  local f = io.open(path, "a")
  if not f then                                          -- the folder is not there yet
    os.execute(("mkdir -p '%s'"):format((path:match "^(.*)/[^/]*$" or "."):gsub("'", "'\\''")))
    f = assert(io.open(path, "a"))
  end
  f:setvbuf "full"
  assert(f:write(plain(record, "record") .. "\n"))       -- one write: lines of several processes do not mix
  f:close()
end

--- The record for a device, kernel and options, or nil.
---@param kernel string
---@param options table
---@param device string|weir.device   its name
---@param file? string
---@return weir.tune.record?
function M.find(kernel, options, device, file)
  local name = type(device) == "string" and device or device.name
  return M.load(file)[key_of(name, kernel, options)]
end

--- The kernel with the best configuration known, else with its own choice. options.device is the device it is for.
---@param kernel string
---@param options table
---@param file? string
---@return any
function M.build(kernel, options, file)
  local dev, o = options.device or weir.device(), {}
  for name, value in pairs(options) do if name ~= "device" then o[name] = value end end
  local found = text_of(o, "options") and M.find(kernel, o, dev, file)
  if found and not o.config then o.config = found.best.config end
  o.device = dev
  return require(kernel).build(o)
end

-- ---- workers ------------------------------------------------------------------------------------------------------------------

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- A process that does job `j`, started; lines of its output.
local function start(j, o)
  local path = os.tmpname()
  local f <close> = assert(io.open(path, "w"))
  f:write(plain(j, "job"))
  local here = ("package.path, package.cpath = %q, %q"):format(package.path, package.cpath)
  local command = ("%s%s -e %s -e %s %s 2>&1"):format(
    o.timeout and ("timeout -k 2 %g "):format(o.timeout * (j.turns and #j.candidates or 1)) or "", quote(o.lua or "lua5.4"), quote(here),
    quote 'require "weir.tune".worker(arg[1])', "- " .. quote(path))
  return { pipe = assert(io.popen(command)), path = path, timeout = o.timeout }
end

-- Waits for it: its results by candidate, and why it ended early, nil if it did not.
local function finish(w)
  local results, last, why = {}, nil, nil
  for line in w.pipe:lines() do
    local i, what, rest = line:match "^weir tune (%d+) (%a+) ?(.*)$"
    if i then results[tonumber(i)] = { what = what, value = rest } else last = line end
  end
  local ok, how, code = w.pipe:close()
  os.remove(w.path)
  if not ok then
    if how == "exit" and (code == 124 or code == 137) then why = ("hung: ended after %g s"):format(w.timeout)
    else why = ("died: %s %d%s"):format(how, code, last and ": " .. last or "") end
  end
  return results, why
end

local function with(options, config)
  local o = {}
  for name, value in pairs(options) do o[name] = value end
  o.config = config
  return o
end

local function say(i, what, value) io.write(("weir tune %d %s %s\n"):format(i, what, tostring(value):gsub("\n", " | "))); io.stdout:flush() end

--- What a worker process runs: compiles or measures candidates, one line of output for each. Not for callers.
---@param path string
function M.worker(path)
  local f <close> = assert(io.open(path))
  local job = assert(data_of(f:read "a"), "a job that cannot be read")
  local kernel = require(job.kernel)
  local dev = job.work == "compile" and assert(weir.device "sim") or assert(weir.device(job.device))
  if job.work == "compile" then
    for i, config in ipairs(job.candidates) do
      local o = with(job.options, config)
      o.device = dev
      local ok, p = pcall(kernel.build, o)
      local done, message = false, p
      if ok then done, message = p:compile() end
      say(i, done and "ok" or "error", done and "" or message)
    end
    return
  end
  local args, ready = nil, {}
  for i, config in ipairs(job.candidates) do
    local o = with(job.options, config)
    o.device = dev
    local ok, p = pcall(kernel.build, o)
    args = args or kernel.example(o, dev)
    local ms, message = nil, p
    if ok then ms, message = p:time(args, { reps = job.reps }) end
    if ms then ready[#ready + 1] = { i = i, p = p, ms = ms } else say(i, "error", message) end
  end
  for _ = 2, job.turns or 1 do                           -- taking turns; the median of each
    for _, r in ipairs(ready) do
      r.all = r.all or { r.ms }
      r.all[#r.all + 1] = assert(r.p:time(args, { reps = job.reps }))
    end
  end
  for _, r in ipairs(ready) do
    if r.all then
      table.sort(r.all)
      r.ms = r.all[(#r.all + 1) // 2]
    end
    say(r.i, "ms", ("%.17g"):format(r.ms))
  end
end

---@class weir.tune.options
---@field kernel string              name of the module
---@field options table              of its build(), plain data; the shape is among them
---@field candidates? table[]        configurations; default: the module's candidates(options)
---@field limit? integer             how many of them, 24 if left out: the first, as the module orders them
---@field device? integer            of weir.device, 0 if left out
---@field timeout? number            seconds for a candidate, 30 if left out
---@field reps? integer              launches of a measurement, 20 if left out
---@field turns? integer             measurements of each of the best, 9 if left out
---@field jobs? integer              processes that compile side by side, 4 if left out
---@field file? string               of the database
---@field lua? string                interpreter of the workers, "lua5.4" if left out
---@field log? fun(line: string)     told of each candidate

local function candidates_of(o)
  local list = o.candidates or require(o.kernel).candidates(o.options)
  return table.move(list, 1, math.min(#list, o.limit or 24), 1, {})
end

local function check(o)
  if type(o) ~= "table" or type(o.kernel) ~= "string" or type(o.options) ~= "table" then
    error("tune: { kernel = \"module\", options = { ... } } expected", 3)
  end
  plain(o.options, "options")
end

--- Compiles candidates into the cache, in parallel, without a GPU. How many were compiled, and the failures as texts.
---@param o weir.tune.options
---@return integer, string[]
function M.compile(o)
  check(o)
  local list, jobs, workers, done, failures = candidates_of(o), o.jobs or 4, {}, 0, {}
  for j = 1, math.min(jobs, #list) do
    local mine = {}
    for i = j, #list, jobs do mine[#mine + 1] = list[i] end
    workers[j] = start({ work = "compile", kernel = o.kernel, options = o.options, candidates = mine }, { lua = o.lua })
    workers[j].list = mine
  end
  for _, w in ipairs(workers) do
    local results, why = finish(w)
    for i, config in ipairs(w.list) do
      local r = results[i]
      if r and r.what == "ok" then done = done + 1
      else failures[#failures + 1] = plain(config, "config") .. ": " .. (r and r.value or why or "no result") end
    end
  end
  return done, failures
end

--- Measures the candidates and stores the best. nil and a message when none of them ran.
---@param o weir.tune.options
---@return weir.tune.record?, string?
function M.search(o)
  check(o)
  local log = o.log or function() end
  local device = o.device or 0
  local dev, message = weir.device(device)
  if not dev then return nil, message end
  local settings = { timeout = o.timeout or 30, lua = o.lua }
  local tried = {}
  for i, config in ipairs(candidates_of(o)) do
    local results, why = finish(start({ work = "time", kernel = o.kernel, options = o.options, candidates = { config }, device = device, reps = o.reps or 20 }, settings))
    local r = results[1]
    tried[i] = { config = config, ms = r and r.what == "ms" and tonumber(r.value) or nil }
    if not tried[i].ms then tried[i].failed = r and r.value or why or "no result" end
    log(("%s: %s"):format(plain(config, "config"), tried[i].ms and ("%.4f ms"):format(tried[i].ms) or tried[i].failed))
  end
  local ran = {}
  for _, t in ipairs(tried) do if t.ms then ran[#ran + 1] = t end end
  table.sort(ran, function(a, b) return a.ms < b.ms end)
  if #ran == 0 then return nil, ("no candidate of %d ran%s"):format(#tried, tried[1] and ": " .. tried[1].failed or "") end
  local last = {}
  for i = 1, math.min(3, #ran) do last[i] = ran[i].config end
  local results = finish(start({ work = "time", kernel = o.kernel, options = o.options, candidates = last, device = device, reps = o.reps or 20, turns = o.turns or 9 }, settings))
  local final = {}
  for i, config in ipairs(last) do
    local r = results[i]
    final[i] = { config = config, ms = r and r.what == "ms" and tonumber(r.value) or ran[i].ms }
  end
  table.sort(final, function(a, b) return a.ms < b.ms end)
  local record = { device = dev.name, kernel = o.kernel, options = o.options, best = final[1], second = final[2], tried = tried, version = weir.version,
                   date = os.date "!%Y-%m-%dT%H:%M:%SZ" }
  M.store(record, o.file)
  return record
end

return M
