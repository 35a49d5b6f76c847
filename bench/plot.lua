-- Draws bench/results.svg from bench/results/*.json: for each case how many times as fast weir is as its fastest peer.
--   lua5.4 bench/plot.lua
local common = require "bench.common"

-- Median over neighbouring samples of the peer that is fastest by it.
local function fastest(mine, peers)
  local best
  for name, samples in pairs(peers) do
    local all = {}
    for i, x in ipairs(mine) do all[i] = samples[i] / x end
    local ratio = common.median(all)
    if not best or ratio < best.ratio then best = { ratio = ratio, peer = name } end
  end
  return best
end

local SETTINGS = { [""] = "launches in a row, overlapping", apart = "one launch at a time, on an idle GPU", graph = "launches in CUDA graphs" }

-- { title, { label, ratio, peer }... } of each file
local function sections()
  local out = {}
  for path in common.run("ls bench/results/*.json 2>/dev/null; true"):gmatch "[^\n]+" do
    local r, s = common.read(path), nil
    if r.kind == "gemm" then
      s = { title = "bf16 GEMM, each launch right behind another" }
      for _, c in ipairs(r.cases) do
        s[#s + 1] = fastest(c.weir_ms, { cublas = c.cublas_ms })
        s[#s].label = ("%d x %d x %d"):format(c.m, c.n, c.k)
      end
    elseif r.kind == "peers" then
      s = { title = ("%s, %s"):format(r.kernel, SETTINGS[r.setting.graph and "graph" or r.setting.apart and "apart" or ""]) }
      for _, c in ipairs(r.cases) do
        local peers = {}
        for name, samples in pairs(c.ms) do if name ~= "weir" and name ~= "copy" then peers[name] = samples end end
        local bar = fastest(c.ms.weir, peers)
        if bar then
          bar.label = c.name
          s[#s + 1] = bar
        end
      end
    end
    if s and #s > 0 then out[#out + 1] = s end
  end
  return out
end

local function escape(s) return (s:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })) end

local ROW, LEFT, WIDTH, RIGHT, TOP = 20, 310, 440, 110, 48
local LOW, HIGH = 0.8, 1.6                                -- bars grow from 1; what is beyond is cut, its number stands beside
local function draw(list)
  local function x(ratio) return LEFT + WIDTH * (math.max(LOW, math.min(ratio, HIGH)) - LOW) / (HIGH - LOW) end
  local rows, out = 0, {}
  for _, s in ipairs(list) do rows = rows + #s + 1.5 end
  local high = math.ceil(TOP + ROW * rows)
  local function put(s, ...) out[#out + 1] = select("#", ...) > 0 and s:format(...) or s end
  put('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">', LEFT + WIDTH + RIGHT, high)
  put '<rect width="100%" height="100%" fill="white"/>'
  put '<text x="10" y="20" font-size="14" font-weight="bold">Time of the fastest peer measured over time of weir (above 1: weir is faster)</text>'
  for i = 0, math.floor((HIGH - LOW) * 10 + .5) do
    local tick = LOW + i / 10
    put('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/>', x(tick), TOP - 6, x(tick), high - 8, i == 2 and "#444" or "#ddd")
    put('<text x="%.1f" y="%d" text-anchor="middle" fill="#666">%.1f</text>', x(tick), TOP - 10, tick)
  end
  local y = TOP
  for _, s in ipairs(list) do
    y = y + ROW
    put('<text x="10" y="%d" font-weight="bold">%s</text>', y - 5, escape(s.title))
    for _, b in ipairs(s) do
      local from, to = math.min(x(1), x(b.ratio)), math.max(x(1), x(b.ratio))
      put('<text x="%d" y="%d" text-anchor="end">%s</text>', LEFT - 8, y + 13, escape(b.label))
      put('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>', from, y + 2, math.max(to - from, 1), ROW - 5, b.ratio >= 1 and "#3a7d44" or "#b5532a")
      put('<text x="%.1f" y="%d">%.2f</text>', to + 5, y + 13, b.ratio)
      put('<text x="%d" y="%d" fill="#666">%s</text>', LEFT + WIDTH + 45, y + 13, escape(b.peer))
      y = y + ROW
    end
    y = y + ROW // 2
  end
  put '</svg>'
  return table.concat(out, "\n") .. "\n"
end

local file <close> = assert(io.open("bench/results.svg", "w"))
file:write(draw(sections()))
