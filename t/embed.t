#!/usr/bin/env lua5.4
-- The embedding examples build and run kernels inside hosts of their own.
local tap = require "tap"

local build = os.getenv "WEIR_BUILD" or "build"

for _, name in ipairs { "minimal", "host" } do
  local pipe <close> = assert(io.popen(("%s/examples/%s 2>&1"):format(build, name)))
  local text = pipe:read "a"
  local ok = pipe:close()
  tap.ok(ok, name .. " succeeds")
  tap.is("PASS", text:match "([^\n]*)\n$", name .. " ends with PASS")
  tap.matches("%f[%w]0 still held", text, name .. " gets all its memory back")
  if not ok then tap.diag(text) end
end

tap.done()
