#!/usr/bin/env lua5.4
-- The cells of t/pipes.t on a GPU.
--
--   lua5.4 t/gpu/pipes.t [all [1/2]]            the covering cells, all of them, or a part
--   lua5.4 t/gpu/pipes.t compile [all [1/2]]    only compiles them, anywhere with NVRTC, into the disk cache ($XDG_CACHE_HOME/weir)
local tap = require "tap"
local weir = require "weir"
local pipes = require "gen.pipes"

local compile = arg[1] == "compile"
if compile then table.remove(arg, 1) end
local cells = arg[1] == "all" and pipes.part(pipes.cells(), arg[2]) or pipes.covering(60)

if compile then
  local sim = assert(weir.device "sim")
  for _, c in ipairs(cells) do
    local program = pipes.kernel(c):build { device = sim }
    local cubin, message = program:cubin()
    tap.ok(cubin, pipes.name(c) .. " is compiled")
    if not cubin then tap.diag(message) end
    program.kernel:close()
  end
else
  if weir.device_count() == 0 then tap.skip_all "no GPU" end
  pipes.test(tap, cells, weir.device(0))
end
tap.done()
