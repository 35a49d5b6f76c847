-- Draws bench/results.svg from bench/results/*.json: for each case how many times as fast weir is as its fastest peer.
--   lua5.4 bench/plot.lua
local common = require "bench.common"

-- { label, ratio, peer }; ratio: median over neighbouring samples.
local function bars()
  local out = {}
  local function add(label, mine, peers)
    local best
    for name, samples in pairs(peers) do
      local all = {}
      for i, x in ipairs(mine) do all[i] = samples[i] / x end
      local ratio = common.median(all)
      if not best or ratio < best.ratio then best = { label = label, ratio = ratio, peer = name } end
    end
    if best then out[#out + 1] = best end
  end
  for path in common.run("ls bench/results/*.json 2>/dev/null; true"):gmatch "[^\n]+" do
    local r = common.read(path)
    if r.kind == "gemm" then
      for _, c in ipairs(r.cases) do add(("gemm %d x %d x %d"):format(c.m, c.n, c.k), c.weir_ms, { cublas = c.cublas_ms }) end
    elseif r.kind == "peers" then
      for _, c in ipairs(r.cases) do
        local peers = {}
        for name, samples in pairs(c.ms) do if name ~= "weir" and name ~= "copy" then peers[name] = samples end end
        add(r.kernel .. " " .. c.name, c.ms.weir, peers)
      end
    end
  end
  return out
end

local function escape(s) return (s:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })) end

local ROW, LEFT, WIDTH, RIGHT, TOP = 20, 330, 420, 130, 44
local function draw(list)
  local most = 1.25
  for _, b in ipairs(list) do most = math.max(most, b.ratio) end
  most = math.min(most, 3)
  local function x(ratio) return LEFT + WIDTH * math.min(ratio, most) / most end
  local high, out = TOP + ROW * #list + 12, {}
  local function put(s, ...) out[#out + 1] = select("#", ...) > 0 and s:format(...) or s end
  put('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">', LEFT + WIDTH + RIGHT, high)
  put '<rect width="100%" height="100%" fill="white"/>'
  put('<text x="%d" y="18" font-size="14" font-weight="bold">Speed over the fastest peer measured (1: as fast)</text>', 10)
  local tick = 0
  while tick <= most do
    put('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/>', x(tick), TOP - 6, x(tick), high - 8, tick == 1 and "#444" or "#ddd")
    put('<text x="%.1f" y="%d" text-anchor="middle" fill="#666">%g</text>', x(tick), TOP - 10, tick)
    tick = tick + 0.5
  end
  for i, b in ipairs(list) do
    local y = TOP + ROW * (i - 1)
    put('<text x="%d" y="%d" text-anchor="end">%s</text>', LEFT - 8, y + 13, escape(b.label))
    put('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>', LEFT, y + 2, x(b.ratio) - LEFT, ROW - 5, b.ratio >= 1 and "#3a7d44" or "#b5532a")
    put('<text x="%.1f" y="%d">%.2f</text>', x(b.ratio) + 5, y + 13, b.ratio)
    put('<text x="%d" y="%d" fill="#666">%s</text>', LEFT + WIDTH + 55, y + 13, escape(b.peer))
  end
  put '</svg>'
  return table.concat(out, "\n") .. "\n"
end

local file <close> = assert(io.open("bench/results.svg", "w"))
file:write(draw(bars()))
