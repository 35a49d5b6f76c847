-- Time from script to loaded cubin: cold, from the cache, and NVRTC alone on the same text; results in bench/results/build.json.
--   lua5.4 bench/build_time.lua [--reps 7]
-- Every sample is a process of its own. The GPU's context is made before the clock starts: making it is the driver's time, and the
-- same for everyone.
local common = require "bench.common"

if arg[1] == "child" then
  local what = arg[2]
  local peer = common.peer()
  peer.open():sync()                                  -- the context; NVRTC is slower beside one
  if what == "nvrtc" then
    local file <close> = assert(io.open(arg[3]))
    local open, compile = peer.nvrtc(nil, file:read "a", "-arch=sm_90a")
    io.write(common.encode { open = open, compile = compile })
    return
  end
  local t0 = peer.now()
  local weir = require "weir"
  local dev = weir.device(0)
  local t1 = peer.now()
  local k = require "weir.kernels.gemm".kernels { m = 8192, n = 8192, k = 8192 }[1]
  local t2 = peer.now()
  local program = k:build { device = dev }
  local t3 = peer.now()
  local function empty(rows, cols) return dev:tensor { dtype = "bf16", shape = { rows, cols } } end
  local args = { A = empty(0, 64), B = empty(256, 64), D = empty(0, 256) }
  local t4 = peer.now()
  assert(program:launch(args))                              -- no tile: compiles and loads, launches nothing
  local t5 = peer.now()
  if arg[3] then
    local file <close> = assert(io.open(arg[3], "w"))
    file:write(program:full_source())
  end
  local times = program:times()
  times.require, times.describe, times.build, times.compile_and_load = (t1 - t0) / 1e3, (t2 - t1) / 1e3, (t3 - t2) / 1e3, (t5 - t4) / 1e3
  times.total = (t3 - t0 + t5 - t4) / 1e3
  io.write(common.encode(times))
  return
end

local reps = arg[1] == "--reps" and math.tointeger(tonumber(arg[2])) or 7
local weir = require "weir"
local dev = weir.device(0)
local result = { kind = "build", setting = common.setting(dev, common.peer().open()), cold = {}, cached = {}, nvrtc = {} }
local folder = assert(common.run "mktemp -d")
local source = folder .. "/gemm.cu"
local function child(cache, ...)
  local command = ("XDG_CACHE_HOME='%s' lua5.4 bench/build_time.lua child %s"):format(cache, table.concat({ ... }, " "))
  return common.decode(assert(common.run(command), "the child process failed"))
end
child(folder .. "/warm", "build", source)                   -- warms the page cache, fills the cubin cache
for i = 1, reps do                                          -- taking turns
  result.cold[i] = child(("%s/cold%d"):format(folder, i), "build")
  result.cached[i] = child(folder .. "/warm", "build")
  result.nvrtc[i] = child(folder, "nvrtc", source)
  assert(result.cached[i].cache_hit and not result.cold[i].cache_hit, "the cache does not do its work")
end
os.execute("rm -rf '" .. folder .. "'")
common.write("bench/results/build.json", result)
print "wrote bench/results/build.json"
