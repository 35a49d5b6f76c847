-- O = softmax(scale * Q * K^T + mask) * V, forward, as one weir schedule.
--
--   local attention = require "weir.kernels.attention"
--   local p = attention.build { d = 128, causal = true }
--   p:launch { Q = q, K = k, V = v, O = o }            -- Q, O { B, H, LQ, d }; K, V { B, HK, LK, d }
--
-- Any lengths, and any strides but the innermost ( { B, L, H, d } in memory is a matter of strides). H is a multiple of HK: each head
-- of K and V serves H / HK heads of Q. One warp loads by TMA; each math warpgroup owns 64 rows of queries. S of a block is in flight
-- together with P * V of the block before it, and the softmax runs while P * V does. Only blocks that a mask cuts pay for it: they
-- have loops of their own. With `pingpong` the warpgroups are tasks of their own that issue their products in turn, so that one's softmax
-- runs while the tensor core has the other's.
local weir = require "weir"
local common = require "weir.kernels.common"
local P, cd = weir.pipeline, weir.ceil_div
local M = {}

local OPTIONS = "dtype d causal window scale lse score shape config pdl device arch name"

---@class weir.kernels.attention.options
---@field d integer                       head dimension, a multiple of 8 up to 256; 64, 128 and 256 waste nothing
---@field dtype? "bf16"|"f16"
---@field causal? boolean                 query i sees the keys up to i + LK - LQ: the last query sees all
---@field window? integer|{ left?: integer, right?: integer }   keys seen before the own position, and after it; a number: left
---@field scale? number|true              of the scores; default 1 / sqrt(d); true: the launch argument `scale`
---@field lse? boolean                    output LSE { B, H, LQ, 1 } f32: log(sum(exp(score))), -inf where nothing is seen
---@field score? fun(s: weir.value, row: weir.value, col: weir.value): weir.value   changes unscaled scores before the mask: soft caps, biases
---@field shape? { b: integer, h: integer, hk?: integer, lq: integer, lk?: integer }   a hint, for tuning
---@field config? weir.kernels.attention.config
---@field pdl? boolean                    overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string
---@field name? string

---@class weir.kernels.attention.config
---@field warpgroups? integer   that multiply; each has 64 rows of queries
---@field bn? integer           keys of a block
---@field stages? integer       of the rings of K and of V
---@field q_stages? integer     2: the next tile's queries are loaded early
---@field heads? integer        that run side by side: K and V of these are to stay in L2
---@field queue? "static"|"atomic"   atomic: whoever is done takes the next tile
---@field pingpong? boolean     warpgroups issue their products in turn
---@field load_registers? integer
---@field math_registers? integer

local UNSEEN, NOTHING = -1e38, -1e30     -- a masked score; the maximum of no scores. exp2(scale * (UNSEEN - NOTHING)) is 0

--- The configuration for a head dimension. Registers of a math thread: bn / 2 for S, d / 2 for O, bn / 4 for P, and some 40 more.
---  * d 64: three warpgroups, as the softmax is the limit and more of it overlaps.
---  * d 128: 128 x 128; 128 x 176 has fewer borders, but leaves one buffer for Q.
---  * d 256: O alone takes 128 registers.
---@param o weir.kernels.attention.options
---@return weir.kernels.attention.config
function M.choose(o)
  local c
  if o.d <= 64 then c = { warpgroups = 3, bn = 128, stages = 2, q_stages = 2, load_registers = 32, math_registers = 160 }
  elseif o.d <= 128 then c = { warpgroups = 2, bn = 128, stages = 2, q_stages = 2, load_registers = 24, math_registers = 240 }
  else c = { warpgroups = 2, bn = 64, stages = 2, q_stages = 1, load_registers = 24, math_registers = 240 } end
  -- A static share of the tiles leaves SMs idle at the end: most under a mask, whose tiles are of unequal length (0.86 to 1.2 x cuDNN with the
  -- number of heads, on an H200; an atomic queue with 32 heads 1.11 to 1.18 x), and by 0.6 to 2.3 % (d 64: 7 %) without one.
  c.queue, c.heads = "atomic", (o.causal or o.window) and 32 or 8
  return c
end

--- Configurations worth a try, for tuning.
---@param o weir.kernels.attention.options
---@return weir.kernels.attention.config[]
function M.candidates(o)
  local list = {}
  local function add(warpgroups, bn, stages, q_stages)
    for _, heads in ipairs { 4, 8, 16, 32 } do
      list[#list + 1] = { warpgroups = warpgroups, bn = bn, stages = stages, q_stages = q_stages, heads = heads, queue = "atomic",
                          load_registers = warpgroups == 3 and 32 or 24, math_registers = warpgroups == 3 and 160 or 240 }
    end
  end
  if o.d <= 64 then
    add(3, 128, 2, 2); add(3, 96, 3, 2); add(2, 128, 3, 2); add(2, 192, 2, 2); add(2, 160, 2, 2)
  elseif o.d <= 128 then
    add(2, 128, 2, 2); add(2, 128, 2, 1); add(2, 176, 2, 1); add(2, 160, 2, 1); add(3, 64, 2, 2); add(2, 96, 3, 2)
  else
    add(2, 64, 2, 1); add(2, 48, 2, 1); add(2, 48, 3, 1)
  end
  for i = 1, 4 do                                        -- the first of them also in turn
    table.insert(list, 4 + i, common.with(list[i], { pingpong = true }))
  end
  return list
end

local function describe(o, c)
  local dt = o.dtype
  local D, BN = cd(o.d, 64) * 64, c.bn                   -- columns past d are loaded as 0 and dropped when stored
  local BM, EN = 64 * c.warpgroups, 64                   -- EN: columns of O's staging tile
  local tasks = c.pingpong and c.warpgroups or 1         -- that multiply
  local rows = BM // tasks                               -- of one of them
  local k = weir.kernel { name = o.name or "attention", arch = o.arch or "sm_90a" }
  local B, H, HK = k:dim "B", k:dim("H", { min = 1 }), k:dim("HK", { min = 1 })
  local LQ, LK = k:dim "LQ", k:dim("LK", { min = 1 })
  k:assume(weir.eq(H % HK, 0))
  local scale = o.scale == true and k:scalar { name = "scale", dtype = "f32" } or o.scale or 1 / math.sqrt(o.d)
  local scale2 = scale * 1.4426950408889634              -- exp(x) = exp2(x * log2(e))

  local function G(name, heads, length, tile, out)
    local tensor = k:tensor { name = name, dtype = dt, shape = { B, heads, length, o.d }, out = out }
    return k:gmem_tile { name = "g" .. name, tensor = tensor, tile = { 1, 1, table.unpack(tile) } }
  end
  local gq, gk, gv = G("Q", H, LQ, { rows, D }), G("K", HK, LK, { BN, D }), G("V", HK, LK, { BN, D })
  local go = G("O", H, LQ, { rows, EN }, true)
  local glse = o.lse and k:gmem_tile { name = "gLSE", tile = { 1, 1, rows, 1 },
    tensor = k:tensor { name = "LSE", dtype = "f32", shape = { B, H, LQ, 1 }, out = true } }
  local function smem(name, tile, pipeline) return k:smem_tile { name = name, dtype = dt, tile = tile, swizzle = 128, pipeline = pipeline } end
  local function named(name, w) return tasks > 1 and name .. w - 1 or name end
  local qs, mine = {}, {}                                -- what each math task has for itself
  for w = 1, tasks do qs[w] = smem(named("q", w), { rows, D }, P.tma_async { stages = c.q_stages }) end
  local kt, vt = smem("k", { BN, D }, P.tma_async { stages = c.stages }), smem("v", { BN, D }, P.tma_async { stages = c.stages })
  for w = 1, tasks do
    mine[w] = {
      ost = smem(named("ost", w), { rows, EN }, P.async_tma { stages = 1 }),
      S = k:wgmma_tile { name = named("S", w), tile = { rows, BN } }, O = k:wgmma_tile { name = named("O", w), tile = { rows, D } },
      P = k:reg_tile { name = named("P", w), dtype = dt, tile = { rows, BN } },
      m = k:reg_tile { name = named("m", w), dtype = "f32", tile = { rows, 1 } }, l = k:reg_tile { name = named("l", w), dtype = "f32", tile = { rows, 4 } },
    }
  end
  -- A turn goes from each task to the next, and from the last back to the first, which may begin.
  local hand, back = {}, nil
  if tasks > 1 then
    local function turn(name) return k:barrier { name = name, pipeline = P.async_async { stages = 1 } } end
    back = turn "turn_back"
    for w = 2, tasks > 2 and tasks or 1 do hand[w] = turn("turn" .. w - 1) end
  end
  local function take_turn(w)
    if hand[w] then hand[w]:wait() end
    if back and w == 1 then back:acquire() elseif back and w == tasks then back:wait() end
  end
  local function end_turn(w)
    if hand[w] then hand[w]:release() end
    if hand[w + 1] then hand[w + 1]:acquire(); hand[w + 1]:commit() end
    if back and w == 1 then back:commit() elseif back and w == tasks then back:release() end
  end

  -- `heads` heads side by side, so that L2 serves their keys and values; under a causal mask the long tiles first, the short ones fill
  -- the last wave.
  local longest_first = o.right and not o.left
  local dynamic = c.queue == "atomic"
  local wq = k:work_queue { name = "wq", kind = c.queue, stages = dynamic and 2 or nil, axes = { "q", "bh" }, extent = { cd(LQ, BM), B * H },
    raster = function(i, nq, nbh)
      local side = weir.min(nbh, c.heads)
      local group, r = i // (side * nq), i % (side * nq)
      local wide = weir.min(side, nbh - group * side)
      return longest_first and nq - 1 - r // wide or r // wide, group * side + r % wide
    end }

  -- Blocks of keys that a tile sees, [first, last); those no mask cuts, [free, cut).
  local function blocks(t)
    local all = cd(LK, BN)
    local r0, own = t.q * BM, t.q * BM + LK - LQ         -- first row; its own position among the keys
    local first, last, free, cut = 0, all, 0, LK // BN
    if o.left then first, free = weir.clamp((own - o.left) // BN, 0, all - 1), cd(own + BM - 1 - o.left, BN) end
    -- The newest block goes first, outside the loops, and counts as cut.
    if o.right then
      last = weir.clamp(cd(own + BM + o.right, BN), first + 1, all)
      cut = weir.clamp(weir.min(cut, (own + o.right + 1) // BN), first, last - 1)
    else
      cut = last - 1
    end
    free = o.left and weir.clamp(free, first, cut) or first
    return first, last, free, cut, r0
  end
  local function tile_row(t, w) return tasks > 1 and t.q * tasks + (w - 1) or t.q end
  local function heads_of(t) return t.bh // H, t.bh % H end

  local wait, launch = common.overlap(k, o.pdl)
  if dynamic then
    k:task { name = "tiles", warps = { 1, 1 }, registers = c.load_registers, schedule = function()
      wait()
      for _ in weir.work_tile_loop(wq) do wq:fetch(); wq:next() end
    end }
  end

  k:task { name = "load", warps = { 0, 1 }, registers = c.load_registers, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      local b, h = heads_of(t)
      local hk = h // (H // HK)
      local first, last = blocks(t)
      for w, q in ipairs(qs) do q:acquire(); q:tma_load(gq:at(b, h, tile_row(t, w), 0)); q:commit() end
      for j in weir.domain_loop(last - 1, first - 1, -1) do
        kt:acquire(); kt:tma_load(gk:at(b, hk, j, 0)); kt:commit()
        vt:acquire(); vt:tma_load(gv:at(b, hk, j, 0)); vt:commit()
      end
      wq:next()
    end
  end }

  local function math_task(w)
    local q, ost, S, O, Pr, m, l = qs[w], mine[w].ost, mine[w].S, mine[w].O, mine[w].P, mine[w].m, mine[w].l
    k:task { name = named("math", w), warps = { 4 * w, 4 * c.warpgroups // tasks }, registers = c.math_registers, schedule = function()
      wait()
      for t in weir.work_tile_loop(wq) do
        local b, h = heads_of(t)
        local first, last, free, cut, r0 = blocks(t)
        if tasks > 1 then r0 = r0 + (w - 1) * rows end
        local function qk() kt:wait(); S:zero(); S:mma(q:read(), kt:read()) end
        local function pv() vt:wait(); O:mma(Pr:read(), vt:read():t()) end
        local function softmax(j, masked)                  -- P of block j, and by what earlier sums shrink
          local s, m0 = S:read(), m:read()
          if masked or o.score then
            local row, col = S:row_index() + r0, S:col_index() + j * BN
            if o.score then s = o.score(s, row, col) end
            if masked then
              local live, own = weir.lt(col, LK), row + (LK - LQ)
              if o.left then live = live & weir.ge(col, own - o.left) end
              if o.right then live = live & weir.le(col, own + o.right) end
              s = weir.select(live, s, UNSEEN)
            end
          end
          local m1 = weir.max(m0, s:row_max())
          local f, p = weir.exp2((m0 - m1) * scale2), weir.exp2(s * scale2 - m1 * scale2)
          m:set(m1); l:set(l:read() * f + p:row_sum(4))    -- 4 partial sums a row: no shuffle in the loop
          return p, f
        end
        local function step(j, masked)                     -- S of block j in flight together with P * V of block j + 1
          take_turn(w)
          qk(); pv()
          end_turn(w)
          S:drain(); kt:release()                          -- P * V goes on
          local p, f = softmax(j, masked)
          O:drain(); vt:release()
          O:set(O:read() * f); Pr:set(p)
        end
        m:set(NOTHING); l:zero(); O:zero()
        q:wait(); qk(); S:drain(); kt:release()
        Pr:set((softmax(last - 1, true)))
        if o.right then                                    -- without, the newest block is the only one that the end of the keys can cut
          for j in weir.domain_loop(last - 2, cut - 1, -1) do step(j, true) end
        end
        for j in weir.domain_loop(cut - 1, free - 1, -1) do step(j, false) end
        if o.left then
          for j in weir.domain_loop(free - 1, first - 1, -1) do step(j, true) end
        end
        q:release()
        pv(); O:drain(); vt:release()
        local sum = l:read():row_sum()
        local one = weir.select(weir.gt(sum, 0), sum, 1)   -- a row that sees nothing: O is 0
        for part = 0, D // EN - 1 do
          ost:acquire(); ost:store(O:read():cols(part * EN, EN) * weir.rcp(one)); ost:commit()
          ost:wait(); go:tma_store(ost:read(), go:at(b, h, tile_row(t, w), part)); ost:release()
        end
        if glse then
          local log = m:read() * scale + weir.log2(one) * 0.6931471805599453
          glse:store(weir.select(weir.gt(sum, 0), log, -math.huge), glse:at(b, h, tile_row(t, w), 0))
        end
        wq:next()
      end
    end }
  end
  for w = 1, tasks do math_task(w) end
  return k
end

local function prepare(options)
  local what = "attention.build"
  local o = common.with(common.options(what, options, OPTIONS))
  o.dtype = common.choice(what, "dtype", o.dtype, "bf16 f16", "bf16")
  o.d = common.size(what, "d", o.d)
  if not o.d or o.d > 256 or o.d % 8 ~= 0 then error(("%s: d is a multiple of 8 up to 256, got %s"):format(what, tostring(o.d)), 0) end
  local w = type(o.window) == "table" and o.window or { left = o.window }
  o.left, o.right = w.left, w.right
  if o.causal then o.right = math.min(o.right or 0, 0) end
  for _, side in ipairs { "left", "right" } do
    if o[side] ~= nil and (math.type(o[side]) ~= "integer" or o[side] < 0) then
      error(("%s: window.%s is a whole number of keys, got %s"):format(what, side, tostring(o[side])), 0)
    end
  end
  local known = "warpgroups bn stages q_stages heads queue pingpong load_registers math_registers"
  return o, common.with(M.choose(o), common.options(what .. ": config", o.config or {}, known))
end

--- The kernel behind an option table, not yet built.
---@param options weir.kernels.attention.options
---@return weir.kernel, weir.kernels.attention.config
function M.kernel(options)
  local o, c = common.blame(prepare, options)
  return describe(o, c), c
end

--- Launch arguments for a trial: random operands of the hinted shape, or of 16 heads and 4096 keys.
---@param options weir.kernels.attention.options
---@param device weir.device
---@return table<string, weir.argument>
function M.example(options, device)
  local o = common.blame(prepare, options)
  local s = o.shape or { b = 1, h = 16, lq = 4096 }
  local function tensor(heads, length, seed)
    local t = assert(device:tensor { dtype = o.dtype, shape = { s.b, heads, length, o.d } })
    return seed and t:randn(seed) or t
  end
  local hk, lk = s.hk or s.h, s.lk or s.lq
  local args = { Q = tensor(s.h, s.lq, 1), K = tensor(hk, lk, 2), V = tensor(hk, lk, 3), O = tensor(s.h, s.lq) }
  if o.lse then args.LSE = assert(device:tensor { dtype = "f32", shape = { s.b, s.h, s.lq, 1 } }) end
  if o.scale == true then args.scale = 1 / math.sqrt(o.d) end
  return args
end

--- Builds attention. Launch arguments: Q, K, V, O; LSE and scale where asked for.
---@param options weir.kernels.attention.options
---@return weir.kernels.ready
function M.build(options)
  local o, c = common.blame(prepare, options)
  return common.ready({ { program = describe(o, c):build { device = o.device }, pdl = o.pdl } }, c)
end

return M
