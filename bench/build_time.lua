-- Time from script to loaded cubin, cold and from the cache: a GEMM's schedule as a script of its own (bench/gemm_kernel.lua), and the
-- library's (kernels/gemm.lua, which chooses its configuration first). Results in bench/results/build.json.
--   lua5.4 bench/build_time.lua [--reps 7]
-- Every sample is a process of its own. The GPU's context is made before the clock starts: making it is the driver's time, and the
-- same for everyone.
local common = require "bench.common"

if arg[1] == "child" then
  local what = arg[2]
  local peer = common.peer()
  peer.open():sync()                                  -- the context; NVRTC is slower beside one
  local t0 = peer.now()
  local weir = require "weir"
  local dev = weir.device(0)
  local t1 = peer.now()
  local k
  if what == "library" then k = require "weir.kernels.gemm".kernels { m = 8192, n = 8192, k = 8192 }[1]
  else k = require "bench.gemm_kernel".kernel({ bm = 128, bn = 256, bk = 64, stages = 4, cluster = 1, group = 8 }, "bf16") end
  local t2 = peer.now()
  local program = k:build { device = dev }
  local t3 = peer.now()
  local function empty(rows, cols) return dev:tensor { dtype = "bf16", shape = { rows, cols } } end
  local args = { A = empty(0, 64), B = empty(256, 64), D = empty(0, 256) }
  local t4 = peer.now()
  assert(program:launch(args))                              -- no tile: compiles and loads, launches nothing
  local t5 = peer.now()
  local times = program:times()
  times.require, times.describe, times.build, times.compile_and_load = (t1 - t0) / 1e3, (t2 - t1) / 1e3, (t3 - t2) / 1e3, (t5 - t4) / 1e3
  times.total = (t3 - t0 + t5 - t4) / 1e3
  io.write(common.encode(times))
  return
end

local reps = arg[1] == "--reps" and math.tointeger(tonumber(arg[2])) or 7
local weir = require "weir"
local dev = weir.device(0)
local result = { kind = "build", setting = common.setting(dev, common.peer().open()), scripts = {} }
local folder = assert(common.run "mktemp -d")
local function child(cache, what)
  local command = ("XDG_CACHE_HOME='%s' lua5.4 bench/build_time.lua child %s"):format(cache, what)
  return common.decode(assert(common.run(command), "the child process failed"))
end
for n, what in ipairs { "script", "library" } do
  local r = { name = what, cold = {}, cached = {} }
  child(folder .. "/warm", what)                            -- warms the page cache, fills the cubin cache
  for i = 1, reps do                                        -- taking turns
    r.cold[i] = child(("%s/cold-%s%d"):format(folder, what, i), what)
    r.cached[i] = child(folder .. "/warm", what)
    assert(r.cached[i].cache_hit and not r.cold[i].cache_hit, "the cache does not do its work")
  end
  result.scripts[n] = r
end
os.execute("rm -rf '" .. folder .. "'")
common.write("bench/results/build.json", result)
print "wrote bench/results/build.json"
