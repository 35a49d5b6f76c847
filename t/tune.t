#!/usr/bin/env lua5.4
-- weir.tune: workers that die or hang cost their candidate and nothing else; what was found is kept and used.
local tap = require "tap"
local weir = require "weir"
local tune = require "weir.tune"

local file = os.tmpname()
local dev = assert(weir.device())
local options = { bias = 0.5, name = "x\n'y'", list = { 1, 2 } }
local said = {}
local function search(more)
  local o = { kernel = "tune_fake", options = options, file = file, timeout = 2, reps = 1, turns = 3, device = not dev.is_sim and 0 or "sim",
              log = function(line) said[#said + 1] = line end }
  for name, value in pairs(more or {}) do o[name] = value end
  return tune.search(o)
end

local found, message = search()
if not tap.ok(found, "a search among faults finds something") then tap.diag(message) tap.done() end
tap.is({ config = { speed = 1 }, ms = 1.5 }, found.best, "the fastest")
tap.is({ config = { speed = 2 }, ms = 2.5 }, found.second, "and the runner-up")
tap.is(7, #found.tried, "each candidate was tried")
tap.is(3.5, found.tried[1].ms, "with its time")
tap.like("a tile that does not fit", found.tried[3].failed, "one that cannot be built")
tap.like("died: exit 9: CUDA error: an illegal memory access", found.tried[4].failed, "one that dies, with its last words")
tap.like("hung: ended after 2 s", found.tried[5].failed, "one that hangs")
tap.like("launch failed", found.tried[7].failed, "one whose launch fails")
tap.is(7, #said, "the log was told of each")

-- The database.
local kept = tune.find("tune_fake", options, dev, file)
tap.is(found, kept, "what was stored is what is read")
tap.is(nil, tune.find("tune_fake", { bias = 1 }, dev, file), "other options are another key")
tap.is(nil, tune.find("tune_fake", options, "another GPU", file), "another device too")
tap.is({ speed = 1 }, tune.build("tune_fake", { bias = 0.5, name = "x\n'y'", list = { 1, 2 }, device = dev }, file).config, "build takes the best")
tap.is({ speed = 9 }, tune.build("tune_fake", { bias = 7, device = dev }, file).config, "and the kernel's own choice where nothing is known")
tap.is({ speed = 4 }, tune.build("tune_fake", { bias = 0.5, config = { speed = 4 }, device = dev }, file).config, "a given configuration stays")
do
  local f <close> = io.open(file, "a")
  f:write "{ device = 'half a line\n"
end
local newer = search { candidates = { { speed = 0.25 } } }
tap.is({ speed = 0.25 }, newer.best.config, "one candidate")
tap.is({ speed = 0.25 }, tune.find("tune_fake", options, dev, file).best.config, "the last record counts, and a torn line does no harm")
local none, why = search { candidates = { { fault = "build" } } }
tap.is(nil, none, "nothing ran")
tap.like("no candidate of 1 ran: ", why, "and why")

-- Compiling ahead.
local done, failures = tune.compile { kernel = "tune_fake", options = options, jobs = 2 }
tap.is({ 3, 4 }, { done, #failures }, "compiled in two processes: three, four cannot be")
table.sort(failures)
tap.like("ptxas says no", failures[2], "with the reason")

tap.raises("options.f is a function; only plain data can be sent to another process", function()
  search { options = { f = print } }
end, "a function among the options")

-- A real kernel: refused candidates are results too, and the others compile.
local gemm = require "weir.kernels.gemm"
local list = { { bm = 64, bn = 64, cluster_m = 1, cluster_n = 1, split = 1 }, { bm = 64, bn = 8, cluster_m = 1, cluster_n = 1, split = 1 } }
done, failures = tune.compile { kernel = "weir.kernels.gemm", options = { m = 64, n = 64, k = 64 }, candidates = list, jobs = 1 }
if failures[1] and failures[1]:find "NVRTC" and done == 0 then tap.skip("NVRTC is not found", 2)
else
  tap.is({ 1, 1 }, { done, #failures }, "one of two GEMMs compiles")
  tap.like("config.bn is a multiple of 16 here", tostring(failures[1]), "the other is refused")
end
tap.ok(#gemm.candidates { dtype = "bf16", out = "bf16" } > 24, "there is something to search")
os.remove(file)
tap.done()
