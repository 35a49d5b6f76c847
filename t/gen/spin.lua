-- Runs spin on a model: does it find an error?
--
--   local spin = require "gen.spin"
--   if not spin.there() then ... end
--   local errors, states = spin.run(text)        errors: true, false; nil and why when the search was not finished
local spin = {}

function spin.there() return os.execute "command -v spin >/dev/null 2>&1 && command -v cc >/dev/null 2>&1" == true end

local folder
function spin.run(text, seconds)
  if not folder then
    local pipe <close> = assert(io.popen "mktemp -d")
    folder = pipe:read "l"
  end
  local file <close> = assert(io.open(folder .. "/model.pml", "w"))
  file:write(text)
  file:close()
  local pipe <close> = assert(io.popen(("cd '%s' && spin -a model.pml && cc -w -O1 -DSAFETY -DMEMLIM=2000 -o pan pan.c && timeout %d ./pan -m200000 2>&1")
    :format(folder, seconds or 60)))
  local out = pipe:read "a"
  local errors = out:match "errors: (%d+)"
  local states = math.tointeger(tonumber(out:match "([%d.e+]+) states, stored"))
  if not errors then return nil, out:sub(-300) end
  if errors == "0" and (out:find "max search depth too small" or out:find "MEMLIM bound") then return nil, "the search was cut short" end
  return errors ~= "0", states or 0
end

function spin.clean() if folder then os.execute("rm -rf '" .. folder .. "'") end end

return spin
