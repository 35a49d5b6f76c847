-- What the kernel modules share: option tables, activations, and the object that build() hands to a host.
local weir = require "weir"
local M = {}

-- ---- options ------------------------------------------------------------------------------------------------------------------

--- f(...), its errors raised at the line that called the caller: a kernel's build() blames who called it. No tail call, which would
--- hide the caller.
function M.blame(f, ...)
  local r = table.pack(pcall(f, ...))
  if not r[1] then error(r[2], 3) end
  return table.unpack(r, 2, r.n)
end

--- Checks an option table against the names a kernel knows. These checks raise without a place: see blame().
---@param what string            "gemm.build"
---@param given table?
---@param known string           "dtype out m n k"
---@return table given
function M.options(what, given, known)
  if type(given) ~= "table" then error(("%s { ... }: a table of options expected, got %s"):format(what, type(given)), 0) end
  for name in pairs(given) do
    if not (" " .. known .. " "):find(" " .. tostring(name) .. " ", 1, true) then
      error(("%s: unknown option '%s'; there are: %s"):format(what, tostring(name), known:gsub(" ", ", ")), 0)
    end
  end
  return given
end

--- A copy of a table, with `changes`.
function M.with(table, changes)
  local copy = {}
  for name, value in pairs(table) do copy[name] = value end
  for name, value in pairs(changes or {}) do copy[name] = value end
  return copy
end

--- `value` when it is one of `allowed` ("bf16 f16"), `default` when it is nil.
function M.choice(what, name, value, allowed, default)
  if value == nil then value = default end
  if type(value) ~= "string" or not (" " .. allowed .. " "):find(" " .. value .. " ", 1, true) then
    error(("%s: %s is one of %s, got %s"):format(what, name, allowed:gsub(" ", ", "), tostring(value)), 0)
  end
  return value
end

--- A positive whole number, or nil.
function M.size(what, name, value, default)
  if value == nil then return default end
  if math.type(value) ~= "integer" or value < 1 then
    error(("%s: %s is a positive whole number, got %s"):format(what, name, tostring(value)), 0)
  end
  return value
end

-- ---- activations ----------------------------------------------------------------------------------------------------------------

--- Functions of a value, by name: for GEMM's epilogue and elementwise kernels.
---@type table<string, fun(x: weir.value): weir.value>
M.activations = {
  relu = weir.relu,
  gelu = function(x) return 0.5 * x * (1 + weir.tanh(0.7978845608 * (x + 0.044715 * x * x * x))) end,
  silu = function(x) return x / (1 + weir.exp(-x)) end,
  sigmoid = function(x) return 1 / (1 + weir.exp(-x)) end,
  tanh = weir.tanh,
}

--- The function that an option names or is; nil for none.
function M.activation(what, f)
  if f == nil or type(f) == "function" then return f end
  if M.activations[f] then return M.activations[f] end
  local names = {}
  for name in pairs(M.activations) do names[#names + 1] = name end
  table.sort(names)
  error(("%s: activation is a function of a value or one of %s, got %s"):format(what, table.concat(names, ", "), tostring(f)), 0)
end

-- ---- launches that overlap --------------------------------------------------------------------------------------------------------

--- Programmatic dependent launch: the kernel's CTAs start, set up and fetch their code while the kernel before it in the stream ends.
--- Every task calls the first function before it touches memory: it waits until that kernel is complete. One task calls the second
--- after that: the next kernel may start likewise, if it was launched so too. With on = false both do nothing.
---@param k weir.kernel
---@param on boolean?
---@return fun() wait, fun() launch
function M.overlap(k, on)
  if on == false then return function() end, function() end end
  local before, after = k:pdl_wait { name = "grid_before" }, k:pdl_launch { name = "grid_after" }
  return function() before:wait_griddep() end, function() after:launch_griddep() end
end

-- ---- what build() returns ---------------------------------------------------------------------------------------------------------

--- One launch or several on one stream; each step makes its arguments from the caller's.
---@class weir.kernels.step
---@field program weir.program
---@field args? fun(args: table, options: table?): table
---@field pdl? boolean               false: not built for overlapping launches

---@class weir.kernels.ready
---@field program weir.program      of the first step
---@field report weir.report        its report: verdict, trusted bodies
---@field config table              what was built
---@field steps weir.kernels.step[]
local ready = {}
ready.__index = ready
ready.__name = "weir.kernels.ready"

---@param steps weir.kernels.step[]
---@param config table
---@return weir.kernels.ready
function M.ready(steps, config)
  return setmetatable({ program = steps[1].program, report = steps[1].program.report, config = config, steps = steps }, ready)
end

local OVERLAP = { pdl = true }

-- A step's arguments and launch options: overlapping where it was built for that and the caller says nothing else.
local function arguments(step, args, options)
  local o = options
  if step.pdl ~= false then
    if not o then o = OVERLAP
    elseif o.pdl == nil then
      o = M.with(options, OVERLAP)
    end
  end
  return step.args and step.args(args, options) or args, o
end

--- Asynchronous on a GPU, done on return in the simulator. true, or nil, message, code; bad arguments raise.
---@param args table<string, weir.argument>
---@param options? weir.launch_options
---@return true?, string?, string?
function ready:launch(args, options)
  for _, step in ipairs(self.steps) do
    local a, o = arguments(step, args, options)
    local ok, message, code = step.program:launch(a, o)
    if not ok then return nil, message, code end
  end
  return true
end

---@class weir.kernels.bound
local bound = {}
bound.__index = bound

--- Arguments bound once, for many launches.
---@param args table<string, weir.argument>
---@param options? weir.launch_options
---@return weir.kernels.bound
function ready:bind(args, options)
  local list = {}
  for i, step in ipairs(self.steps) do list[i] = step.program:bind(arguments(step, args, options)) end
  return setmetatable(list, bound)
end

---@param stream? integer|lightuserdata
---@return true?, string?, string?
function bound:launch(stream)
  for i = 1, #self do
    local ok, message, code = self[i]:launch(stream)
    if not ok then return nil, message, code end
  end
  return true
end

function bound:close()
  for i = 1, #self do self[i]:close() end
end

--- Milliseconds: the medians of the steps' times, added.
---@return number?, string?, string?
function ready:time(args, options)
  local sum = 0
  for _, step in ipairs(self.steps) do
    local ms, message, code = step.program:time(arguments(step, args, options))
    if not ms then return nil, message, code end
    sum = sum + ms
  end
  return sum
end

---@return string
function ready:source()
  local out = {}
  for i, step in ipairs(self.steps) do out[i] = step.program:source() end
  return table.concat(out, "\n")
end

--- Compiles every step and keeps it in the cache of cubins, without a GPU too. true, or nil, message, code (no NVRTC).
---@return true?, string?, string?
function ready:compile()
  for _, step in ipairs(self.steps) do
    local cubin, message, code = step.program:cubin()
    if not cubin then return nil, message, code end
  end
  return true
end

function ready:close()
  for _, step in ipairs(self.steps) do step.program:close() end
end

-- ---- tensors ----------------------------------------------------------------------------------------------------------------------

--- The shape of a launch argument: a device tensor or { address =, shape = }; nil for a bare address.
---@return integer[]?
function M.shape(argument)
  if type(argument) ~= "table" and type(argument) ~= "userdata" then return nil end
  return argument.shape
end

return M
