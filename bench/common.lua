-- Shared by the benchmarks: the peer module, JSON, medians, what identifies a run.
local M = {}

M.build = os.getenv "WEIR_BUILD" or "build"
if not package.searchpath("weir", package.path) then
  package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
  package.cpath = M.build .. "/lua/?.so;" .. package.cpath
end
package.path = "./?.lua;" .. package.path

--- Output of a command, without the last line break; nil when it fails.
function M.run(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return pipe:close() and (text:gsub("\n$", "")) or nil
end

local function compile(source, out, flags)
  local cc, include = os.getenv "CC" or "cc", os.getenv "LUA_INCLUDE_DIR" or "/usr/include/lua5.4"
  if os.execute(("test '%s' -nt '%s'"):format(out, source)) then return end
  local command = ("mkdir -p '%s/bench' && %s -std=gnu11 -O2 -Wall %s -Iinclude -I'%s' '%s' -o '%s' %s"):format(M.build, cc, flags[1],
    include, source, out, flags[2])
  assert(os.execute(command), source .. " does not compile")
end

--- bench/peer.c as a module, built when it is not there.
function M.peer()
  local out = M.build .. "/bench/peer.so"
  compile("bench/peer.c", out, { "-shared -fPIC", "-ldl" })
  return assert(package.loadlib(out, "luaopen_weir_bench_peer"))()
end

--- A C program that links weir, built; its path.
function M.program(name)
  local out = M.build .. "/bench/" .. name
  compile("bench/" .. name .. ".c", out, { "", ("-L'%s' -lweir -Wl,-rpath,'$ORIGIN/..' -ldl -lm"):format(M.build) })
  return out
end

function M.median(list)
  local x = table.move(list, 1, #list, 1, {})
  table.sort(x)
  return (x[(#x + 1) // 2] + x[#x // 2 + 1]) / 2
end

-- ---- JSON ------------------------------------------------------------------------------------------------------------------------
-- Keys in alphabetical order, so that equal results are equal files.

local function encode(v, indent)
  local t = type(v)
  if t == "table" then
    local pad = indent .. "  "
    if #v > 0 or next(v) == nil then
      local flat, out = type(v[1]) ~= "table", {}
      for i, x in ipairs(v) do out[i] = encode(x, pad) end
      if flat then return "[" .. table.concat(out, ", ") .. "]" end
      return "[\n" .. pad .. table.concat(out, ",\n" .. pad) .. "\n" .. indent .. "]"
    end
    local keys, out = {}, {}
    for key in pairs(v) do keys[#keys + 1] = key end
    table.sort(keys)
    for i, key in ipairs(keys) do out[i] = ("%q: %s"):format(key, encode(v[key], pad)) end
    return "{\n" .. pad .. table.concat(out, ",\n" .. pad) .. "\n" .. indent .. "}"
  elseif t == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  elseif t == "number" then
    if v ~= v or v == math.huge or v == -math.huge then return "null" end
    return math.type(v) == "integer" and ("%d"):format(v) or ("%.6g"):format(v)
  end
  return tostring(v)
end
function M.encode(v) return encode(v, "") .. "\n" end

--- The reverse; null becomes nil. Raises with the position of what it cannot read.
function M.decode(text)
  local at = 1
  local function fail(what) error(("JSON at character %d: %s expected"):format(at, what), 0) end
  local function skip() at = text:find("%S", at) or #text + 1 end
  local value
  local function list(close, item)
    local out = {}
    at = at + 1
    skip()
    if text:sub(at, at) == close then at = at + 1 return out end
    while true do
      item(out)
      skip()
      local c = text:sub(at, at)
      at = at + 1
      if c == close then return out end
      if c ~= "," then at = at - 1 fail("',' or '" .. close .. "'") end
      skip()
    end
  end
  local function str()
    local s, e = text:match('^"([^"]*)"()', at)
    if not s then fail "a string" end
    at = e
    return (s:gsub("\\u(%x%x%x%x)", function(h) return utf8.char(tonumber(h, 16)) end))
  end
  function value()
    skip()
    local c = text:sub(at, at)
    if c == "{" then
      return list("}", function(out)
        local key = str()
        skip()
        if text:sub(at, at) ~= ":" then fail "':'" end
        at = at + 1
        out[key] = value()
      end)
    elseif c == "[" then return list("]", function(out) out[#out + 1] = value() end)
    elseif c == '"' then return str() end
    local word, e = text:match("^([%w.+-]+)()", at)
    if not word then fail "a value" end
    at = e
    if word == "null" then return nil elseif word == "true" then return true elseif word == "false" then return false end
    return tonumber(word) or fail "a number"
  end
  local v = value()
  skip()
  if at <= #text then fail "the end" end
  return v
end

function M.read(path)
  local file <close> = assert(io.open(path))
  return M.decode(file:read "a")
end

function M.write(path, v)
  local file <close> = assert(io.open(path, "w"))
  file:write(M.encode(v))
end

-- ---- the run -----------------------------------------------------------------------------------------------------------------------

--- What was measured on a machine without a GPU, or without using it.
function M.host_setting()
  local given = os.getenv "WEIR_REVISION"               -- of a tree carried to a machine without its history
  return {
    cpu = (M.run "sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | head -n 1" or ""):gsub("%s+", " "),
    revision = given or M.run "git rev-parse HEAD 2>/dev/null" or "unknown",
    changed = not given and (M.run "git status --porcelain --untracked-files=no 2>/dev/null" or "") ~= "",
    date = os.date "!%Y-%m-%dT%H:%MZ",
    host = M.run "uname -srm",
  }
end

--- What was measured where: goes into every result.
function M.setting(dev, peer)
  local driver, cublas, path = peer:versions()
  local setting = M.host_setting()
  setting.cpu = nil
  setting.device = dev.name
  setting.driver_api = ("%d.%d"):format(driver // 1000, driver % 1000 // 10)
  setting.driver = (M.run "cat /proc/driver/nvidia/version 2>/dev/null" or ""):match "%d%d%d+%.[%d.]+" or "unknown"
  setting.cublas = ("%d.%d.%d"):format(cublas // 10000, cublas % 10000 // 100, cublas % 100)
  setting.cublas_path = path
  return setting
end

return M
