#!/usr/bin/env lua5.4
-- The examples, in the simulator: each ends well and says so.
local tap = require "tap"

-- Runs an example: what it printed, its last line, whether it exited with 0.
local function run(command)
  local pipe <close> = assert(io.popen((os.getenv "WEIR_LUA" or "lua5.4") .. " examples/" .. command .. " 2>&1"))
  local text = pipe:read "a"
  return text, text:match "([^\n]*)\n*$", (pipe:close())
end

local function passes(command)
  local text, last, ok = run(command)
  tap.ok(ok and last:match "^PASS", command)
  if not (ok and last:match "^PASS") then tap.diag(text) end
end

passes "01_copy.lua 100000 sim"
passes "01_copy.lua 1 sim"
passes "02_tma_copy.lua 300 200 sim"
passes "02_tma_copy.lua 1 1 sim"

passes "mma_sync.lua sim"
passes "mma_sync.lua 1 65 8 sim sm_90a"
passes "mma_sync.lua 64 1 0 sim"

passes "pingpong.lua 500 600 300 sim"
passes "pingpong.lua 64 128 0 sim"

for _, options in ipairs {
  "--m 512 --n 512 --k 512", "--group merge --m 256 --n 300 --k 200", "--group none --m 129 --n 257 --k 65 --dtype f16",
  "--m 1 --n 1 --k 1", "--m 128 --n 256 --k 0", "--stages 1 --cluster 1 --m 200 --n 300 --k 256", "--stages 2 --m 300 --n 520 --k 640 --epilogue gelu",
  "--m 384 --n 256 --k 192 --epilogue relu",
} do passes("build_gemm.lua --device sim " .. options) end

do -- from another folder
  local pwd <close> = assert(io.popen "pwd")
  local root = pwd:read "l"
  local function absolute(path) return path:sub(1, 1) == "/" and path or root .. "/" .. path end
  local core = absolute(assert(package.searchpath("weir.core", package.cpath))):gsub("weir/core%.so$", "?.so")
  for _, example in ipairs { "build_gemm.lua --device sim --m 8 --n 8 --k 8", "pingpong.lua 8 8 8 sim" } do
    local pipe <close> = assert(io.popen(("cd / && LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua' LUA_CPATH='%s' %s %s/examples/%s 2>&1"):format(root, root, core,
      os.getenv "WEIR_LUA" or "lua5.4", root, example)))
    local text = pipe:read "a"
    if not tap.like("\nPASS: 8 x 8 x 8 ", text, "from another folder: " .. example) then tap.diag(text) end
  end
end

local text, last, ok = run "build_gemm.lua --device sim --stages 5"
tap.is({ false, true }, { not not ok, last:match "^FAIL" ~= nil }, "build_gemm.lua with more stages than fit fails")
tap.matches("stages = %d+ of '%w+' fits", text, "and says how many fit")

text, last, ok = run "03_broken.lua"
tap.ok(ok and last, "03_broken.lua")
tap.is(5, select(2, text:gsub("\n%-%- [^\n]+%-%-%-+\n[^\n]*03_broken%.lua:%d+: error: ", "")), "five mistakes, each with its line")

-- Whole kernels of other kinds are checked, proved and emitted.
for _, name in ipairs { "gemm_staged", "attention", "fork_gemm_act", "varlen_copy", "blur_custom" } do
  local done, program = pcall(dofile, "examples/" .. name .. ".lua")
  tap.ok(done and tostring(program):match "^program", name .. ".lua builds")
  if not done then tap.diag(tostring(program)) end
end

tap.done()
