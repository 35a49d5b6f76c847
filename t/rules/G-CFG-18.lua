-- With v = 2 the leader CTA's commit reaches the mma of both CTAs, but no threads of the other one. So a fork to threads and to an mma exists at v = 1 only.
local weir = require "weir"
local function kernel(v)
  local k = weir.kernel { name = "fork", arch = "sm_100a", cluster = { v = v } }
  local body = weir.producer_work { code = [[ smem[tid] = 0; ]] }
  local function part(name, make)
    return k:resource { name = name, space = "smem", dtype = "bf16", tile = { 64, 64 }, work = { fill = body },
                        pipeline = make { stages = 2, cta_layout = { v, 1, 1, 1 } } }
  end
  local s, t = part("s", weir.pipeline.async_async), part("t", weir.pipeline.async_umma)
  local st = k:group { name = "st", mode = "fork", members = { s, t } }
  k:task { name = "fill", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(4) do
      st.s:acquire(); st.t:acquire()
      st.s:fill(); st.t:fill()
      st:commit()
    end
  end }
  local function read(r) r:wait(); r:read(); r:release() end
  k:task { name = "look", warps = { 1, 1 }, schedule = function() for _ in weir.domain_loop(4) do read(st.s) end end }
  k:task { name = "take", warps = { 2, 1 }, schedule = function() for _ in weir.domain_loop(4) do read(st.t) end end }
  return k
end
return kernel(2)  -- broken
return kernel(1)  -- mended
--[[ report
G-CFG-18.lua:11: group 'st': a fork of async_async and async_umma with v = 2: its commit arrives at the leader CTA only, so threads of the other CTA would wait forever (expected v = 1, got v = 2) [G-CFG-18]
]]
