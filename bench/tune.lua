-- Tunes the shapes that the benchmarks run; what is found goes to weir.tune's database, which bench/peers.py --tuned uses.
--   lua5.4 bench/tune.lua compile [gemm] [attention] [rows] [--limit 24] [--jobs 8]     without a GPU: fills the cache of cubins
--   lua5.4 bench/tune.lua search  [gemm] [attention] [rows] [--limit 24] [--file FILE]
require "bench.common"
local tune = require "weir.tune"

local shapes = { gemm = {}, attention = {}, rows = {} }
local function add(set, kernel, options) table.insert(shapes[set], { "weir.kernels." .. kernel, options }) end
for _, s in ipairs { { 8192, 8192, 8192 }, { 4096, 4096, 4096 }, { 2048, 2048, 2048 }, { 8192, 8192, 1024 }, { 4096, 4096, 16384 }, { 5000, 5016, 5016 },
                     { 512, 8192, 8192 }, { 64, 8192, 8192 }, { 5120, 5120, 5120 }, { 16, 8192, 8192 }, { 128, 1024, 16384 }, { 1000, 1000, 1000 } } do
  add("gemm", "gemm", { m = s[1], n = s[2], k = s[3] })
end
for _, s in ipairs { { 8192, 8192, 8192 }, { 4096, 4096, 4096 }, { 8192, 28672, 8192 } } do
  add("gemm", "gemm", { dtype = "e4m3", scales = true, accumulate = "fast", m = s[1], n = s[2], k = s[3] })
end
for _, causal in ipairs { false, true } do
  for _, s in ipairs { { 16, 16384, 128 }, { 64, 4096, 128 }, { 128, 2048, 128 }, { 32, 8192, 64 }, { 16, 8192, 256 } } do
    add("attention", "attention", { d = s[3], causal = causal, shape = { b = 1, h = s[1], hk = s[1], lq = s[2] } })
  end
end
for _, kernel in ipairs { "rms_norm", "layer_norm", "softmax" } do
  for _, s in ipairs { { 16384, 8192 }, { 16384, 4096 }, { 65536, 1024 }, { 4096, 16384 } } do add("rows", kernel, { n = s[2], m = s[1] }) end
end

local action, limit, jobs, file, sets, i = arg[1], 24, 8, nil, {}, 2
while arg[i] do
  if arg[i] == "--limit" then limit, i = math.tointeger(tonumber(arg[i + 1])), i + 1
  elseif arg[i] == "--jobs" then jobs, i = math.tointeger(tonumber(arg[i + 1])), i + 1
  elseif arg[i] == "--file" then file, i = arg[i + 1], i + 1
  elseif shapes[arg[i]] then sets[#sets + 1] = arg[i]
  else error("unknown argument " .. arg[i], 0) end
  i = i + 1
end
if action ~= "compile" and action ~= "search" then error("bench/tune.lua compile|search ...", 0) end

local function text(t)
  local keys, out = {}, {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  for n, key in ipairs(keys) do out[n] = key .. "=" .. (type(t[key]) == "table" and "{" .. text(t[key]) .. "}" or tostring(t[key])) end
  return table.concat(out, " ")
end

for _, set in ipairs(#sets > 0 and sets or { "gemm", "attention", "rows" }) do
  for _, s in ipairs(shapes[set]) do
    local kernel, options = s[1], s[2]
    io.write(kernel:match "[^.]*$", " ", text(options), "\n")
    local o = { kernel = kernel, options = options, limit = limit, jobs = jobs, file = file }
    if action == "compile" then
      local done, failures = tune.compile(o)
      print(("  %d compiled"):format(done))
      for _, failure in ipairs(failures) do print("  " .. failure) end
    else
      local own = tune.search { kernel = kernel, options = options, candidates = { require(kernel).choose and require(kernel).choose(options) or nil }, file = "/dev/null" }
      local found, message = tune.search(o)
      if found then
        print(("  best %.4f ms: %s"):format(found.best.ms, text(found.best.config)))
        if found.second then print(("  next %.4f ms: %s"):format(found.second.ms, text(found.second.config))) end
        if own then print(("  choice %.4f ms: %s"):format(own.best.ms, text(own.best.config))) end
        for _, t in ipairs(found.tried) do if t.failed then print("  failed: " .. text(t.config) .. ": " .. t.failed) end end
      else
        print("  " .. message)
      end
    end
    io.stdout:flush()
  end
end
