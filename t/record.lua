-- What a GPU showed, written as a Lua table that tests without one compare with.
local record = {}

local function line_of(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe and pipe:read "l"
  if pipe then pipe:close() end
  return text or "unknown"
end

--- Writes lists { key, names, values }, values by name, to `path`, with where and when they were seen.
---@param path string?
---@param what string   the file's first line, without "-- "
---@param dev weir.device
function record.write(path, what, dev, ...)
  local file <close> = assert(io.open(assert(path, "record: where to?"), "w"))
  file:write(("-- %s\nreturn {\n  device = %q, driver = %q, revision = %q, date = %q,\n"):format(what, dev.name,
    line_of "nvidia-smi --query-gpu=driver_version --format=csv,noheader", os.getenv "WEIR_REVISION" or line_of "git rev-parse --short HEAD",
    os.date "!%Y-%m-%d"))
  for _, list in ipairs { ... } do
    file:write(("  %s = {\n"):format(list[1]))
    for _, name in ipairs(list[2]) do file:write(("    [%q] = %q,\n"):format(name, list[3][name])) end
    file:write "  },\n"
  end
  file:write "}\n"
end

return record
