#!/usr/bin/env lua5.4
-- Whatever a C host can do, a script can: every function of weir.h is called by the binding, or listed here with the reason.
local tap = require "tap"

local not_for_scripts = {
  weir_openlib = "it is the binding",
}

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local binding = {}
for path in assert(io.popen "ls src/lua/*.c"):lines() do
  local text = read(path):gsub("/%*.-%*/", " ")
  for name in text:gmatch "[%a_][%w_]*" do binding[name] = true end
end

local count = 0
for name in read "include/weir.h":gsub("/%*.-%*/", " "):gmatch "WEIR_API[^;(]-(weir_[%w_]+)%(" do
  count = count + 1
  if not_for_scripts[name] then
    tap.ok(true, name .. ": not for scripts, " .. not_for_scripts[name])
    not_for_scripts[name] = nil
  else
    tap.ok(binding[name], name .. " is reached from Lua")
  end
end
tap.ok(count > 100, "the header was read")
tap.is(nil, (next(not_for_scripts)), "every exception exists")

-- Fields of desc structs, too: an option that a script cannot give would be C's alone.
local structs, missing = 0, {}
for body, name in read "include/weir.h":gsub("/%*.-%*/", " "):gmatch "typedef struct [%w_]+ (%b{}) ([%w_]+);" do
  if name:match "_desc$" then
    structs = structs + 1
    for field in body:gmatch "[%s%*]([%a_][%w_]*)%s*%f[%[;,]" do
      if not binding[field] then missing[#missing + 1] = name .. "." .. field end
    end
  end
end
tap.ok(structs > 15, "desc structs were read")
tap.is("", table.concat(missing, " "), "every field of a desc struct is set by the binding")

tap.done()
