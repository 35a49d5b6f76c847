-- For the interactive interpreter (`./weir` alone): requiring it makes weir a global and lets print show what is in a table. Kernels,
-- reports and values print themselves.
local weir = require "weir"

local repl = {}

local function key_text(k) return type(k) == "string" and k:match "^[%a_][%w_]*$" and k or "[" .. tostring(k) .. "]" end

local function quoted(x) return type(x) == "string" and ("%q"):format(x):gsub("\\\n", "\\n") or tostring(x) end

local function less(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  return tostring(a) < tostring(b)
end

local function show(x, depth)
  local meta = getmetatable(x)
  if type(x) ~= "table" or (type(meta) == "table" and meta.__tostring) then return quoted(x) end
  if next(x) == nil then return "{}" end
  if depth == 0 then return "{ ... }" end
  local parts, n = {}, #x
  for i = 1, math.min(n, 16) do parts[i] = show(x[i], depth - 1) end
  if n > 16 then parts[#parts + 1] = ("... %d in all"):format(n) end
  local keys = {}
  for k in next, x do
    if not (math.type(k) == "integer" and k >= 1 and k <= n) then keys[#keys + 1] = k end
  end
  table.sort(keys, less)
  for _, k in ipairs(keys) do parts[#parts + 1] = key_text(k) .. " = " .. show(rawget(x, k), depth - 1) end
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #line <= 100 then return line end
  return "{\n  " .. table.concat(parts, ",\n  "):gsub("\n(%s*)}", "\n  %1}") .. "\n}"
end

-- Text of any value, as the REPL prints it.
function repl.show(x) return type(x) == "string" and x or show(x, 3) end

local plain_print = print

-- print, with tables shown.
function repl.print(...)
  local args = table.pack(...)
  for i = 1, args.n do args[i] = repl.show(args[i]) end
  plain_print(table.unpack(args, 1, args.n))
end

_G.weir, _G.print = weir, repl.print
_G._PROMPT, _G._PROMPT2 = "weir> ", "  ...> "
local gpus, why = weir.device_count()
local where = gpus == 1 and "1 GPU" or gpus > 1 and gpus .. " GPUs" or "no GPU, kernels run in the simulator: " .. why
plain_print(("weir %s; %s"):format(weir.version, where))

return repl
