-- TAP for tests in Lua: what is wanted comes before what is seen, and the exit status says whether all passed.
--
--   local tap = require "tap"
--   tap.is(4, 2 + 2, "two and two")
--   tap.done()                      -- prints the plan; a script that dies before it has failed
local tap = {}

local count, failed = 0, 0
io.stdout:setvbuf "line"

-- A comment in the output, every line of it.
function tap.diag(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = tostring(parts[i]) end
  for line in (table.concat(parts, " ") .. "\n"):gmatch "(.-)\n" do io.stdout:write("# ", line, "\n") end
end

-- The line of the test file that called, for the comment under a failure.
local function caller()
  for level = 2, 20 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.currentline > 0 and not info.short_src:match "tap%.lua$" then return info.short_src .. ":" .. info.currentline end
  end
  return "?"
end

function tap.ok(pass, name)
  count = count + 1
  io.stdout:write(pass and "ok " or "not ok ", tostring(count), name and " - " .. tostring(name):gsub("[\n#]", " ") or "", "\n")
  if not pass then
    failed = failed + 1
    tap.diag("failed at " .. caller())
  end
  return not not pass
end

-- In order of keys, lists without theirs; what is long is cut.
local function show(x)
  if type(x) == "string" then return x:find "\n" and "\n" .. x or ("%q"):format(x) end
  if type(x) ~= "table" or getmetatable(x) then return tostring(x) end
  local parts, keys, n = {}, {}, #x
  for i = 1, math.min(n, 24) do parts[i] = show(x[i]) end
  if n > 24 then parts[#parts + 1] = ("... %d in all"):format(n) end
  for k in pairs(x) do
    if not (math.type(k) == "integer" and k >= 1 and k <= n) then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do parts[#parts + 1] = tostring(k) .. " = " .. show(x[k]) end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Equal, tables by content.
local function same(a, b)
  if rawequal(a, b) then return true end
  if type(a) ~= type(b) then return false end
  if type(a) == "userdata" then return false end -- values of weir raise when compared
  if type(a) ~= "table" then return a == b end
  for k, v in pairs(a) do if not same(v, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

function tap.is(wanted, seen, name)
  if tap.ok(same(wanted, seen), name) then return true end
  tap.diag("wanted: " .. show(wanted))
  tap.diag("seen:   " .. show(seen))
  if type(wanted) == "table" and type(seen) == "table" then
    for i = 1, math.max(#wanted, #seen) do
      if not same(wanted[i], seen[i]) then
        tap.diag(("first difference at %d: wanted %s, seen %s"):format(i, show(wanted[i]), show(seen[i])))
        break
      end
    end
  end
  return false
end

function tap.isnt(unwanted, seen, name)
  if tap.ok(not same(unwanted, seen), name) then return true end
  tap.diag("seen: " .. show(seen))
  return false
end

-- The text contains what is wanted, as it stands; a pattern is for tap.matches.
function tap.like(wanted, seen, name)
  local text = tostring(seen)
  if tap.ok(text:find(wanted, 1, true), name) then return true end
  tap.diag("wanted in it: " .. wanted)
  tap.diag("seen:         " .. text)
  return false
end

function tap.unlike(unwanted, seen, name)
  local text = tostring(seen)
  if tap.ok(not text:find(unwanted, 1, true), name) then return true end
  tap.diag("unwanted in it: " .. unwanted)
  tap.diag("seen:           " .. text)
  return false
end

function tap.matches(pattern, seen, name)
  local text = tostring(seen)
  if tap.ok(text:find(pattern), name) then return true end
  tap.diag("wanted to match: " .. pattern)
  tap.diag("seen:            " .. text)
  return false
end

-- f(...) raises, and the error's text contains what is wanted. Returns the error.
function tap.raises(wanted, f, name, ...)
  local result = table.pack(pcall(f, ...))
  if result[1] then
    tap.ok(false, name)
    tap.diag("wanted an error with: " .. wanted)
    return nil
  end
  tap.like(wanted, result[2], name)
  return result[2]
end

-- Tests that cannot run here, with the reason.
function tap.skip(reason, n)
  for _ = 1, n or 1 do
    count = count + 1
    io.stdout:write("ok ", tostring(count), " # SKIP ", reason, "\n")
  end
end

-- The whole file cannot run here.
function tap.skip_all(reason)
  io.stdout:write("1..0 # SKIP ", reason, "\n")
  os.exit(0, true)
end

-- Prints the plan and ends the script. A file that ends without it gives no plan, which prove counts as a failure.
function tap.done()
  io.stdout:write("1..", tostring(count), "\n")
  if failed > 0 then tap.diag(("%d of %d failed"):format(failed, count)) end
  os.exit(failed == 0 and count > 0, true)
end

return tap
