#!/usr/bin/env lua5.4
-- The REPL: weir as a global, tables shown, everything prints itself.
local tap = require "tap"

-- Output of an interactive interpreter that is fed these lines.
local function session(text)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe <close> = assert(io.popen(("%s -i -e 'weir = require \"weir\"; require \"weir.repl\"' < %s 2>&1"):format(os.getenv "WEIR_LUA" or "lua5.4", path)))
  local out = pipe:read "a"
  os.remove(path)
  return out
end

local out = session [[
k = weir.kernel { name = "gemm", arch = "sm_90a" }
k
M = k:dim "M"
weir.ceil_div(M + 1, 64)
{ 1, 2, { x = "y" } }
k:tensr {}
a = weir.device("sim"):tensor { dtype = "f32", shape = { 2, 2 } }:set { 1, 2, 3, 4 }
a
a:get()
]]
tap.like("weir 0.1", out, "a first line")
tap.like("kernel 'gemm'", out, "a kernel")
tap.like("ceil_div(M + 1, 64)", out, "a value")
tap.like('{ 1, 2, { x = "y" } }', out, "a table")
tap.like("kernel 'gemm' has no method or field 'tensr'; did you mean 'tensor'?", out, "a mistake")
tap.like("f32 2 x 2 on ", out, "a device tensor")
tap.like("{ 1.0, 2.0, 3.0, 4.0 }", out, "its numbers")

local repl = require "weir.repl"
tap.is("{ ... }", repl.show({ { { { 1 } } } }):match "{ %.%.%. }", "deep tables are cut")
tap.like("20 in all", repl.show { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }, "long tables are cut")
tap.is("text", repl.show "text", "a string alone is plain")

tap.done()
