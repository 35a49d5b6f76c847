-- D = f(alpha * A * B + beta * C + bias): matrix products on Hopper's tensor cores, written as a weir schedule.
--
--   local gemm = require "weir.kernels.gemm"
--   local p = gemm.build { dtype = "bf16", m = 4096, n = 4096, k = 4096 }
--   p:launch { A = a, B = b, D = d }                    -- A { M, K }, B { N, K }, D { M, N }
--
-- m, n, k only choose the configuration: what is built takes every size. Give none and it is the one for large matrices.
--
-- One warp loads by TMA into a ring of stages; one or two warpgroups multiply, one k-step in flight while the next is issued; sums
-- leave through two staging tiles and TMA stores while the next tile's loads run. CTAs are persistent. With `defer` a tile's sums
-- are packed to 16 bits when they are done and leave behind the next tile's first products, a part a k-step. With `stagger` the two
-- warpgroups are out of step by an epilogue, as far as the ring is deep: one keeps the tensor core busy while the other stores.
-- With `pingpong` each takes every second tile, whole, and a turn passes between them: one runs its k-loop while the other stores.
local weir = require "weir"
local common = require "weir.kernels.common"
local P, cd = weir.pipeline, weir.ceil_div
local M = {}

local OPTIONS = "dtype dtype_b out m n k a_major b_major batched alpha beta bias scales activation epilogue accumulate c_dtype "
  .. "config device arch pitch pdl name"

---@class weir.kernels.gemm.options
---@field dtype? "bf16"|"f16"|"tf32"|"e4m3"|"e5m2"   of A and B; tf32: f32 tensors. "bf16" if left out
---@field dtype_b? "e4m3"|"e5m2"                      of B, where it is the other 8-bit type
---@field out? "bf16"|"f16"|"f32"                    of D; default: dtype when it has 16 bits, f32 for tf32, bf16 for 8 bits
---@field m? integer                                 rows of D, a hint
---@field n? integer                                 columns of D, a hint
---@field k? integer                                 a hint
---@field a_major? "k"|"m"                           innermost axis of A: "k" is { M, K }, "m" is { K, M } (16-bit types)
---@field b_major? "k"|"n"                           innermost axis of B: "k" is { N, K }, "n" is { K, N } (16-bit types)
---@field batched? boolean                           every operand has a leading axis L
---@field alpha? number|true                         factor of the product; true: the launch argument `alpha`
---@field beta? number|true                          factor of operand C; true: the launch argument `beta`
---@field c_dtype? weir.dtype                        of C; default: that of D
---@field bias? "n"|"m"                              operand `bias`, f32: "n" { N }, one per column; "m" { M, 1 }, one per row
---@field scales? boolean                            operands `scale_a`, `scale_b`, f32 { 1 }: factors of A and B, for 8-bit types
---@field activation? string|fun(x: weir.value): weir.value    "relu", "gelu", "silu", "sigmoid", "tanh" or a function, applied last
---@field epilogue? fun(x: weir.value): weir.value   the same, before the activation
---@field accumulate? "fast"|"promoted"              8-bit types: sums stay in the tensor core, whose adder keeps about 14 bits, or
---                                                  are added up in f32 every 128 of K
---@field config? weir.kernels.gemm.config           overrides of what choose() gives
---@field pitch? integer                             bytes from row to row of A and B, a hint; default: a row's bytes
---@field pdl? boolean                              overlap with the kernels before and after in the stream; true if left out
---@field device? weir.device
---@field arch? string
---@field name? string                               of the kernel

---@class weir.kernels.gemm.config
---@field bm? integer         rows of a CTA's tile: 64 (one math warpgroup), 128 or 256 (two)
---@field bn? integer         columns: a multiple of 32 bytes of what is staged for them, 16 of a 16-bit D (or C), 8 of f32;
---                           with `blocks` of 8
---@field stages? integer     of the ring of A and B; each holds 128 bytes of K
---@field cluster_m? integer  CTAs along m that share B's tile by multicast
---@field cluster_n? integer  CTAs along n that share A's tile
---@field group? integer      rows of tiles that run side by side, so that L2 serves what they share
---@field split? integer      parts of K, each summed by a CTA of its own; a second kernel adds them
---@field lag? integer        k-steps left in flight when a stage is released, 0 or 1
---@field fold? boolean       A's and B's bytes are expected by one arrive
---@field swap? boolean       for few rows: rows of B are the rows of the tensor core's tile, rows of A (bm, a multiple of 8) its
---                           columns
---@field stagger? integer    the two math warpgroups are tasks of their own, and the second begins its epilogue when the first has
---                           stored this many parts of its own: each multiplies while the other stores. 0: they go in step
---@field defer? boolean      a tile's sums are packed to D's 16 bits and stored while the next tile's first k-steps run. Not with
---                           beta, promoted sums, split, swap, blocks, stagger, pingpong, stream
---@field staging? integer    staging tiles of a math task, 1 or 2: with one, a store begins when the one before has left
---@field blocks? integer     with bm = 256: 2 accumulators of a math task, one below the other, so that bn may be up to 160, any
---                           multiple of 8
---@field pingpong? boolean   two math warpgroups with a tile each: one multiplies while the other stores. bm 64 or 128, bm * bn at
---                           most 16384 (8192 where sums are promoted)
---@field stream? boolean|integer   stream-K: what is left over from whole waves of tiles is dealt out in k-steps, in as many
---                           shares as the device has SMs, or as this says; a second kernel adds what a tile got from several.
---                           What that costs ate the gain at every shape measured on an H200 (bench/NOTES.md): choose() never
---                           takes it

-- ---- choosing a configuration -------------------------------------------------------------------------------------------------

local SMEM = 232448 - 512               -- bytes of a CTA on sm_90, less the mbarriers
local KBYTES = 128                      -- of K in a stage: one swizzle span
local SIZE = { bf16 = 2, f16 = 2, tf32 = 4, f32 = 4, e4m3 = 1, e5m2 = 1 }

--- Columns of a staging tile: at most 128 bytes, so that one swizzled row is one span; and what the ring of A and B leaves. The
--- widest that does not cost a stage: narrower boxes make more TMA stores. With few rows the f32 sums take what is staged.
local function staging(o, c)
  if c.swap then return { en = c.bn, stages = math.min(12, (SMEM - 4 * c.bm * c.bn) // ((c.bm + c.bn) * KBYTES)) } end
  local size, best = SIZE[o.out], nil
  if c.blocks then -- the fewest parts that leave four stages; what they do not cover goes by itself
    for parts = 1, 6 do
      local en = c.bn // parts // 8 * 8
      local stages = (SMEM - c.bm // c.blocks * en * (c.staging or 2) * size) // ((c.bm + c.bn) * KBYTES)
      if c.bn - parts * en <= 16 and (not best or stages > best.stages and best.stages < 4) then
        best = { en = en, stages = math.min(stages, 12) }
      end
    end
    return best
  end
  local csize = o.beta and SIZE[o.c_dtype or o.out] or 0
  local en = KBYTES // math.max(size, csize)
  while en * size >= 32 and (csize == 0 or en * csize >= 32) do
    if c.bn % en == 0 then
      local staged = (c.pingpong and 2 or 1) * c.bm * en * ((c.staging or 2) * size + 2 * csize)
      local stages = (SMEM - staged) // ((c.bm + c.bn) * KBYTES)
      if not best or stages > best.stages and best.stages < 4 then best = { en = en, stages = math.min(stages, 12) } end
    end
    en = en // 2
  end
  return best
end

-- Figures of an H200, per SM and clock: what decides between tiles is their ratio.
local CLOCK = 1.7e9
local FEED = 50                         -- bytes from L2 into shared memory: 128 x 256 tiles at full rate take 48
local DRAM = 4.2e12 / CLOCK             -- bytes, all SMs

--- Clocks that a configuration would take, by a model: k-steps times the slower of tensor core and loads, a border per tile, whole
--- waves of CTAs, and never less than memory allows.
local function clocks(o, c, sms)
  local m, n, k, l = o.m, o.n, o.k, 1
  local size = SIZE[o.dtype]
  local steps = math.ceil(k * size / KBYTES / c.split)
  local mma = c.bm * c.bn / 32          -- per k-step: the same for 8, 16 and 32 bits, K shrinks as the rate grows
  local feed = FEED
  if o.accumulate == "promoted" then -- adding up waits for the tensor core once a step, whatever the tile; loads catch up meanwhile
    mma, feed = mma + 45, 59            -- (128 x 128: CTAs alone 3 to 4 % ahead of pairs, measured)
  end
  local pitch = o.pitch or k * size
  local torn = pitch % KBYTES ~= 0 and 1.5 or 1          -- a 128-byte row of a box then touches a sector more
  local shared = torn * (c.bm / c.cluster_n + c.bn / c.cluster_m) * KBYTES / feed
  local own = (c.bm + c.bn) * KBYTES / 64                -- what multicast brings arrives all the same
  local border = c.pingpong and 200 or 1200 + c.bm * c.bn / 14   -- epilogue and the ring filling again; or the turn changing hands
  if c.defer then border = 1000 + c.bm * c.bn / 25 end   -- what is left of it, and packing
  if c.blocks then border = border + 1200 end            -- one staging tile, filled and left in turn
  local tm, tn = math.ceil(m / c.bm), math.ceil(n / c.bn)
  tm, tn = math.ceil(tm / c.cluster_m) * c.cluster_m, math.ceil(tn / c.cluster_n) * c.cluster_n
  local waves = math.ceil(l * c.split * tm * tn / sms)
  if c.stream then waves = math.max(tm * tn / sms, math.ceil(tm * tn / sms) / 2) end
  local total = waves * (steps * math.max(mma, shared, own) + border)
  total = math.max(total, size * (m + n) * k / DRAM)
  -- a launch, a border in the share; partial sums through L2
  if c.stream then total = total + 7500 + 2 * 4 * c.bm * c.bn * sms / DRAM end
  if c.split > 1 then total = total + 4500 + 2 * 4 * c.split * m * n / (2 * DRAM) end   -- a launch; partial sums through L2
  return total
end

-- Options of the model: sizes that are not given are large.
local function hints(options)
  local o = common.with({ m = 8192, n = 8192, k = 8192, dtype = "bf16" }, options)
  o.out = o.out or SIZE[o.dtype] == 2 and o.dtype or o.dtype == "tf32" and "f32" or "bf16"
  return o
end

-- What keeps the sums from waiting in registers, packed, until the next tile's products run; nil: nothing. Promoted ones leave
-- none.
local function against_defer(o, c)
  if SIZE[o.out] ~= 2 then return "D of " .. o.out end
  if o.beta then return "beta" end
  if o.accumulate == "promoted" then return "promoted sums" end
  for _, form in ipairs { "swap", "blocks", "pingpong", "stream" } do
    if c[form] then return form end
  end
  return c.split > 1 and "split" or (c.stagger or 0) > 0 and "stagger" or nil
end

-- Configurations with the clocks the model gives them, fastest first; of a `form` that is asked for: "pingpong", "stream".
local function ranked(o, sms, form)
  local pingpong, stream = form == "pingpong" or nil, form == "stream" or nil
  local list = {}
  local promoted = o.accumulate == "promoted"
  local splits = (o.batched or stream) and { 1 } or { 1, 2, 3, 4, 6, 8 }
  -- A warpgroup holds at most 64 x 256 sums (128 registers a thread), 64 x 192 beside the promoted sums: 224 columns spill, and 208
  -- leave in boxes of 16.
  local function add(bm, bn, cl, split, swap)
    local c = { bm = bm, bn = bn, cluster_m = cl[1], cluster_n = cl[2], split = split, group = bm <= 64 and 16 or 8, lag = 1,
                swap = swap, pingpong = pingpong, stream = stream }
    if bm * bn > 32768 then c.blocks, c.staging, c.group = 2, 1, cl[1] > 1 and 12 or 8 end
    -- Two warpgroups with a product each keep the tensor core busy; what one releases at once is loaded a step earlier (measured:
    -- 1.00 to 1.03, most for short sums; 0.92 with two accumulators, 0.98 with one warpgroup).
    if bm == 128 and bn >= 160 and not pingpong then c.lag = 0 end
    -- Where a CTA has one tile nothing runs behind its sums, and packing them first is in the way (0.99 at 2048^3, measured).
    c.defer = c.lag == 0 and not against_defer(o, c) and math.ceil(o.m / bm) * math.ceil(o.n / bn) > sms or nil
    local s = staging(o, c)
    if not s or s.stages < 2 then return end
    c.stages = s.stages
    local t_model = clocks(o, c, sms)
    -- A pair waits for the slower of two (1 to 2 % where L2 keeps up, measured), and smaller tiles move more bytes, hence
    -- take more power, per product: both have to pay.
    if cl[1] + cl[2] > 2 then t_model = t_model * 1.015 end
    if bm * bn < 32768 then t_model = t_model * 1.03 end
    if not swap and o.m <= bm // 2 then t_model = t_model * 1.3 end                 -- boxes that are half outside
    list[#list + 1] = { c, t_model, #list }
  end
  for _, t in ipairs { { 128, 256 }, { 128, 224 }, { 128, 192 }, { 128, 160 }, { 128, 128 }, { 128, 64 },
                       { 256, 152 }, { 256, 144 }, { 256, 136 }, { 256, 128 },
                       { 64, 256 }, { 64, 192 }, { 64, 128 }, { 64, 64 }, { 64, 32 } } do
    local bm, bn = t[1], t[2]
    local sums = bm * bn // (bm > 64 and not pingpong and 256 or 128)
    local most = not promoted and 128 or pingpong and 64 or 96
    -- Two accumulators: no register is left for more addresses. With 8 bits the border, which is twice the share, eats the gain
    -- (measured).
    if bm * bn > 32768 and SIZE[o.dtype] == 2 and not (promoted or form or o.beta or o.a_major == "m") then most = 160 end
    local panels = o.b_major ~= "n" or bn % 64 == 0      -- an n-major tile is cut into panels of 64 columns
    if panels and sums <= most then
      -- K in parts fills a last wave: of many it is too little
      local many = math.ceil(o.m / bm) * math.ceil(o.n / bn) >= 2 * sms
      for _, cl in ipairs { { 1, 1 }, { 2, 1 }, { 1, 2 } } do
        for _, split in ipairs(many and { 1 } or splits) do
          local full = bn == 256 or o.beta and sums == 128         -- a pair's addresses would spill
          if not (stream or pingpong and full) or cl[1] + cl[2] == 2 then add(bm, bn, cl, split) end
        end
      end
    end
  end
  -- few rows; an m-major tile is cut into panels of 64
  for _, bm in ipairs(form and {} or o.a_major == "m" and { 64 } or { 8, 16, 32, 64 }) do
    for _, split in ipairs(splits) do
      if o.m <= bm and o.m > bm // 2 or bm == 8 and o.m <= bm then add(bm, 64, { 1, 1 }, split, true) end
    end
  end
  table.sort(list, function(x, y) if x[2] ~= y[2] then return x[2] < y[2] end return x[3] < y[3] end)
  for i, x in ipairs(list) do list[i] = x[1] end
  return list
end

--- Configurations worth a try, the model's favourites first; of the first two also with other rasters and staggered; then a few
--- with warpgroups in turn and two with K dealt out.
---@param options? weir.kernels.gemm.options
---@param sms? integer
---@return weir.kernels.gemm.config[]
function M.candidates(options, sms)
  local list = ranked(hints(options), sms or 132)
  local first = table.move(list, 1, math.min(2, #list), 1, {})
  for i, c in ipairs(first) do
    local changes = { { group = 4 }, { group = 16 }, { lag = 1 - c.lag } }
    -- Alone at times, a warpgroup needs a product in flight. C comes to both in step.
    if c.bm > 64 and not (options and options.beta) then changes[4] = { stagger = 4, lag = 1, defer = false } end
    if c.defer then table.insert(changes, 1, { defer = false }) end
    for j, change in ipairs(changes) do
      if change.group ~= c.group then table.insert(list, math.min(#list, 2 + 4 * (i - 1) + j), common.with(c, change)) end
    end
  end
  local o, at, turns, flat = hints(options), math.min(#list, 8), 0, 0
  local function put(c) at = at + 1; table.insert(list, at, c) end
  for _, c in ipairs(ranked(o, sms or 132, "pingpong")) do
    local wanted = c.split == 1 and (turns < 3 or c.bm == 64 and flat < 2)
    if wanted then
      put(c)
      turns, flat = turns + 1, flat + (c.bm == 64 and 1 or 0)
      -- the store is hidden: what a staging tile takes may serve the ring better
      if turns <= 2 and not (o.beta and c.bm * c.bn == 16384) then
        local other = common.with(c, { staging = 1 })
        other.stages = staging(o, other).stages
        put(other)
      end
    end
  end
  for i, c in ipairs(o.batched and {} or ranked(o, sms or 132, "stream")) do if i <= 2 then put(c) end end
  return list
end

--- The configuration for a shape.
---  * Large matrices: 128 x 256, the tile that reads least per product.
---  * Rows that do not start at multiples of 128 bytes: pairs of CTAs that share a tile by multicast, as L2 is the limit then: each
---    row of a box touches a sector more.
---  * Its last wave nearly empty: a tile whose count fits the SMs (5000 x 5016: 256 x 152, 5.00 waves of pairs, for 6.06 of 128 x
---    256; 8192 x 8192: 256 x 144, 13.8 waves for 15.5).
---  * Few rows: time is the weights' way through memory. Narrow tiles so that every SM pulls, a deep ring so that it pulls enough.
---  * Few tiles and long K: K is split.
---@param options? weir.kernels.gemm.options
---@param sms? integer
---@return weir.kernels.gemm.config
function M.choose(options, sms) return ranked(hints(options), sms or 132)[1] end

-- ---- the kernel ---------------------------------------------------------------------------------------------------------------

-- The tile of a tensor of `shape`, with the dims `lead` in front; and a second one, of another size.
local function operand(k, lead, name, dtype, shape, tile, out, second)
  local function behind(list, of)
    local all = {}
    for i, d in ipairs(lead) do all[i] = of or d end
    return table.move(list, 1, #list, #lead + 1, all)
  end
  local tensor = k:tensor { name = name, dtype = dtype, shape = behind(shape), out = out }
  local g = k:gmem_tile { name = "g" .. name, tensor = tensor, tile = behind(tile, 1) }
  return g, second and k:gmem_tile { name = "g" .. name .. "_rest", tensor = tensor, tile = behind(second, 1) }
end

-- What turns sums into D, as a function of the sums, C's tile and the tile's indices (n as place() of frame takes it); declares the
-- operands it reads. rest: columns of the narrow tiles, if there are such.
local function epilogue(k, o, bm, bn, rest)
  local dm, dn = o.dims.m, o.dims.n
  local alpha = o.alpha == true and k:scalar { name = "alpha", dtype = "f32" } or o.alpha
  local beta = o.beta == true and k:scalar { name = "beta", dtype = "f32" } or o.beta
  local function vector(name, ...) return operand(k, {}, name, "f32", ...) end
  local bias_n, bias_rest, bias_m, scale_a, scale_b
  if o.bias == "n" then bias_n, bias_rest = vector("bias", { dn }, { bn }, false, rest and { rest }) end
  if o.bias == "m" then bias_m = vector("bias", { dm, 1 }, { bm, 1 }) end
  if o.scales then scale_a, scale_b = vector("scale_a", { 1 }, { 1 }), (vector("scale_b", { 1 }, { 1 })) end
  local act, f = common.activation("gemm.build", o.activation), o.epilogue
  return function(x, c, m, n)
    local factor = alpha
    if scale_a then
      local scale = scale_a:at(0):load() * scale_b:at(0):load()
      factor = factor and factor * scale or scale
    end
    if factor then x = x * factor end
    if c then x = x + c * beta end
    if bias_n then x = x + (type(n) ~= "table" and bias_n:at(n) or (n.rest and bias_rest or bias_n):from(n.from)) end
    if bias_m then x = x + bias_m:at(m, 0) end
    if f then x = f(x) end
    if act then x = act(x) end
    return x
  end
end

-- Stream-K (Osama, Merrill, Cecka, Garland and Owens, 2023): whole tiles as long as they make full waves of `shares` CTAs, less
-- one; the k-steps of the tiles that are left, in order, are cut into equal shares, so that all CTAs end together. A share touches
-- three tiles at most, each a unit of the queue; of a tile that several shares touch, at most PARTS, each has a part. The kernel
-- that adds the parts deals the same way.
local PARTS = 5
local function dealing(c, bk, dm, dn, dk, shares)
  local tm, tn, steps = cd(dm, c.bm), cd(dn, c.bn), cd(dk, bk)
  local tiles = tm * tn
  local whole = weir.select(weir.eq(steps, 0), tiles, weir.max(tiles // shares - 1, 0) * shares)
  local rest = tiles - whole
  local used = weir.max(weir.min(shares, rest * (PARTS - 1)), 1)      -- none less than a quarter of a tile
  local base, over = rest * steps // used, rest * steps % used
  local d = {
    shares = shares, whole = whole, rest = rest, steps = steps, units = whole + weir.select(weir.eq(rest, 0), 0, 3 * used),
  }
  local function start(share) return share * base + weir.min(share, over) end
  -- The share that has a step.
  function d.owner(step)
    local long = over * (base + 1)                       -- steps of the shares that have one more
    return weir.select(weir.lt(step, long), step // (base + 1), over + (step - long) // weir.max(base, 1))
  end
  -- Row and column of the i-th tile: c.group rows side by side.
  function d.place(i)
    local per = c.group * tn
    local first = i // per * c.group
    local rows = weir.min(tm - first, c.group)
    return first + i % per % rows, i % per // rows
  end
  function d.unit(u)
    local streamed, v = weir.ge(u, whole), weir.max(u - whole, 0)
    local share = v % used
    local from, to = start(share), start(share + 1)
    local tile = from // weir.max(steps, 1) + v // used
    local first = weir.select(streamed, weir.max(from - tile * steps, 0), 0)
    local last = weir.select(streamed, weir.max(weir.min(to - tile * steps, steps), first), steps)
    local all = weir.eq(last - first, steps)
    return { tile = weir.select(streamed, weir.min(whole + tile, weir.max(tiles - 1, 0)), u),
             first = first, last = last, whole = all, part = weir.gt(last, first) & ~all,
             slot = share * 2 + weir.select(weir.eq(first, 0), 1, 0) }
  end
  return d
end

-- What both forms of the product begin with: the kernel, A's and B's tiles of a k-step, D's (or W's, where K is split) tile of
-- `d_tile`, the queue of tiles of bm x bn, and how a task finds its tiles. `rows`: of A's tile, when two tasks have half of it
-- each.
local function frame(o, c, d_tile, rows)
  local stream = c.stream
  local k = weir.kernel { name = o.name, arch = o.arch or "sm_90a", cluster = { m = c.cluster_m, n = c.cluster_n } }
  local L = o.batched and k:dim "L" or nil
  local S = c.split > 1 and k:dim("S", { min = 1 }) or nil
  local dm, dn, dk = k:dim "M", k:dim "N", k:dim "K"
  o.dims = { m = dm, n = dn }
  local bm, bn, bk = c.bm, c.bn, KBYTES // SIZE[o.dtype]
  local a_mn, b_mn = o.a_major == "m", o.b_major == "n"
  local f = { out = S and "f32" or o.out }
  f.a_tile, f.b_tile = a_mn and { bk, rows } or { rows, bk }, b_mn and { bk, bn } or { bn, bk }

  local function memory(dtype) return dtype == "tf32" and "f32" or dtype end
  local batch = { L }
  local ga = operand(k, batch, "A", memory(o.dtype), a_mn and { dk, dm } or { dm, dk }, f.a_tile)
  local gb = operand(k, batch, "B", memory(o.dtype_b), b_mn and { dk, dn } or { dn, dk }, f.b_tile)
  f.gc = not S and o.beta and operand(k, batch, "C", o.c_dtype, { dm, dn }, d_tile) or nil
  local rest = bn % d_tile[2] > 0 and { d_tile[1], bn % d_tile[2] } or nil
  f.gd, f.gd_rest = operand(k, S and { S, L } or batch, S and "W" or "D", f.out, { dm, dn }, d_tile, true, rest)

  local deal = nil
  if stream then
    deal = dealing(c, bk, dm, dn, dk, k:dim("P", { min = 1 }))
    f.gw = k:gmem_tile { name = "gW", tile = { 1, bm, bn },
                         tensor = k:tensor { name = "W", dtype = "f32", shape = { 2 * deal.shares, bm, bn }, out = true } }
    f.queue = k:work_queue { name = "wq", axes = { "u" }, extent = { deal.units } }
  else
    local axes, extent = { "m", "n" }, { cd(dm, bm), cd(dn, bn) }
    if L then table.insert(axes, 1, "l"); table.insert(extent, 1, L) end
    if S then table.insert(axes, 1, "s"); table.insert(extent, 1, S) end
    f.queue = k:work_queue { name = "wq", axes = axes, extent = extent, raster = "grouped", group = c.group }
  end

  -- Row and column of a tile among the tiles.
  function f.m(t) if stream then return (deal.place(deal.unit(t.u).tile)) end return t.m end
  function f.n(t) if stream then return select(2, deal.place(deal.unit(t.u).tile)) end return t.n end
  -- What became of a tile's sums: `whole` that they are all, `part` that they are some, which belong in `slot` of W. nil: all.
  function f.share(t) return stream and deal.unit(t.u) or nil end
  -- The tile of tensor `g` at (i, j) of this batch.
  function f.at(g, t, i, j)
    if L then return g:at(t.l, i, j) end
    return g:at(i, j)
  end
  function f.a(t, kk, i) if a_mn then return f.at(ga, t, kk, i) end return f.at(ga, t, i, kk) end
  function f.b(t, kk) if b_mn then return f.at(gb, t, kk, f.n(t)) end return f.at(gb, t, f.n(t), kk) end
  -- What the mma takes of stages of A and B: K innermost.
  function f.operands(a, b) return a_mn and a:t() or a, b_mn and b:t() or b end
  -- Where the tile (i, j) of sums goes; j = { from = column } where tiles do not lie in steps of their own, `rest`: in the second
  -- one's.
  function f.place(t, i, j)
    local g, method, lead = f.gd, "at", {}
    if type(j) == "table" then g, method, i, j = j.rest and f.gd_rest or g, "from", i * d_tile[1], j.from end
    if S then lead[1] = t.s end
    if L then lead[#lead + 1] = t.l end
    lead[#lead + 1], lead[#lead + 2] = i, j
    return g[method](g, table.unpack(lead))
  end
  function f.steps(t)                                    -- k-steps of a tile
    if stream then
      local unit = deal.unit(t.u)
      return unit.first, unit.last
    end
    local all = cd(dk, bk)
    if not S then return 0, all end
    local share = cd(all, S)
    return weir.min(t.s * share, all), weir.min((t.s + 1) * share, all)
  end
  f.finish = not S and epilogue(k, o, d_tile[1], c.defer and bn or d_tile[2], rest and rest[2]) or function(x) return x end
  return k, f
end

local function each(list, method, ...)
  for _, x in ipairs(list) do x[method](x, ...) end
end

-- The main loop of a math task: what `multiply` adds to its accumulators for every k-step, as a list; with promoted sums in f32
-- registers, `sum`. take_turn and end_turn stand around it where lanes share the ring: a lane's first wait must follow the other's
-- last. meanwhile(kk) is what there is to do while the products of step kk run.
local function accumulate(f, c, t, ab, acc, sum, multiply, take_turn, end_turn, meanwhile)
  local first, last = f.steps(t)
  if take_turn then take_turn() end
  if sum then
    sum:zero()
    for _ in weir.domain_loop(first, last) do            -- the other warpgroup's products run meanwhile
      acc[1]:zero()
      ab:wait(); multiply(); acc[1]:drain(); ab:release()
      sum:set(sum:read() + acc[1]:read())
    end
    if end_turn then end_turn() end
    return { sum:read() }
  end
  each(acc, "zero")
  for kk in weir.domain_loop(first, last) do
    ab:wait(); multiply()
    if meanwhile then meanwhile(kk) end
    each(acc, "drain", c.lag); ab:release(c.lag)
  end
  if end_turn then end_turn() end                        -- with the last products still in flight
  each(acc, "drain"); ab:release(0)
  local sums = {}
  for i, x in ipairs(acc) do sums[i] = x:read() end
  return sums
end

-- The product; with split > 1 partial sums in f32 go to W { split, [L,] M, N } and the epilogue is left to reduction().
local function product(o, c)
  local warpgroups = c.bm > 64 and 2 or 1
  local stagger = warpgroups == 2 and c.stagger or 0
  local halves = stagger > 0 and 2 or 1                  -- math tasks with a part of the tile each
  local lanes = c.pingpong and 2 or 1                    -- ... with every second tile each
  if lanes > 1 then warpgroups = 2 end
  local blocks = c.blocks or 1                           -- accumulators of a math task, one below the other
  local rows, bn, en = c.bm // halves // blocks, c.bn, c.en      -- of one of them
  local k, f = frame(o, c, { rows, en }, rows * blocks)
  local gc = not c.stream and f.gc or nil                 -- with stream-K the epilogue is for whole tiles, and reads C itself

  local function smem(name, dtype, tile, pipeline)
    local width = tile[2] * SIZE[dtype]                  -- a row of no whole span stays as it is, off the banks of its neighbours
    local swizzle = (width == 32 or width == 64) and width or width % 128 == 0 and 128 or 0
    return k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = swizzle, pipeline = pipeline }
  end
  local sb = smem("b", o.dtype_b, f.b_tile, P.tma_async { stages = c.stages })
  local half, members = {}, {}                           -- what each math task has for itself
  for i = 1, halves * lanes do
    local name = halves * lanes > 1 and tostring(i - 1) or ""
    local first = i == 1 or halves > 1                   -- lanes share the ring
    half[i] = {
      name = name, of = lanes > 1 and { lane = i - 1, lanes = lanes } or nil,
      a = first and smem("a" .. (halves > 1 and name or ""), o.dtype, f.a_tile, P.tma_async { stages = c.stages }) or half[1].a,
      c = gc and smem("c" .. name, o.c_dtype, { rows, en }, P.tma_async { stages = 2 }),
      stage = smem("stage" .. name, f.out, { rows, en }, P.async_tma { stages = c.staging or 2 }),
      acc = {},
      sum = o.accumulate == "promoted" and k:reg_tile { name = "sum" .. name, dtype = "f32", tile = { rows, bn } } or nil,
    }
    for b = 1, blocks do
      half[i].acc[b] = k:wgmma_tile { name = "acc" .. name .. (blocks > 1 and ("_" .. b - 1) or ""), tile = { rows, bn } }
    end
    if first then members[i] = half[i].a end
  end
  members[#members + 1] = sb
  local ab = k:group { name = "ab", mode = "fused_merge", members = members, fold = c.fold }
  local turn = halves * lanes > 1 and k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } } or nil

  local parts, rest = bn // en, bn % en                  -- of a tile's columns: what leaves through a stage, and what by itself
  local function row(t, i) return halves > 1 and t.m * halves + (i - 1) or f.m(t) end    -- tile row of the i-th math task

  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
    wait(); launch()
    local share_a, share_b = { multicast = c.cluster_n > 1 and "n" or "none" }, { multicast = c.cluster_m > 1 and "m" or "none" }
    for t in weir.work_tile_loop(f.queue) do
      for kk in weir.domain_loop(f.steps(t)) do
        for i = 1, halves do
          local a = ab:member(half[i].a.name)
          a:acquire(); a:tma_load(f.a(t, kk, row(t, i)), share_a); a:commit()
        end
        ab.b:acquire(); ab.b:tma_load(f.b(t, kk), share_b); ab.b:commit()
      end
      f.queue:next()
    end
  end }

  for lane = 1, gc and lanes or 0 do                     -- a lane's C is loaded by a warp of its own
    k:task { name = "load_c" .. (lanes > 1 and lane - 1 or ""), warps = { lane, 1 }, registers = 40, schedule = function()
      wait()
      for t in weir.work_tile_loop(f.queue, half[lane].of) do
        for j = 0, parts - 1 do
          for i = lane, lanes > 1 and lane or halves do
            local sc = half[i].c
            sc:acquire(); sc:tma_load(f.at(gc, t, row(t, i), t.n * parts + j)); sc:commit()
          end
        end
        f.queue:next()
      end
    end }
  end

  -- The parts of a tile's sums, packed in registers, and how each leaves: behind the next tile's first products; what that tile has
  -- no k-steps for behind its last one, and the last tile's at the end.
  local packed = c.defer and k:reg_tile { name = "packed", dtype = f.out, tile = { rows, bn } } or nil
  local function leave(t, j)
    local stage = half[1].stage
    stage:acquire(); stage:store(packed:read():cols(j * en, en)); stage:commit()
    stage:wait(); f.gd:tma_store(stage:read(), f.place(t, f.m(t), f.n(t) * parts + j)); stage:release()
  end
  local function leave_meanwhile(kk)
    for j = 0, parts - 1 do
      for _ in weir.when_true(weir.eq(kk, j)) do
        for before in weir.previous_tile(f.queue) do leave(before, j) end
      end
    end
  end
  local function leave_rest(steps)
    for _ in weir.when_true(weir.lt(steps, parts)) do
      for before in weir.previous_tile(f.queue) do
        for j = 0, parts - 1 do
          for _ in weir.when_true(weir.le(steps, j)) do leave(before, j) end
        end
      end
    end
  end

  for i, h in ipairs(half) do
    local stage, sc = h.stage, h.c
    local first_warp, warps = 4 * i, 4 * warpgroups // #half
    local function take_turn() if i == 1 then turn:acquire() else turn:wait() end end
    local function end_turn() if i == 1 then turn:commit() else turn:release() end end
    k:task { name = "mma" .. h.name, warps = { first_warp, warps }, registers = 232, schedule = function()
      wait()
      if packed then packed:zero() end
      for t in weir.work_tile_loop(f.queue, h.of) do
        local function multiply()
          local a = ab:member(h.a.name):read()
          for b, acc in ipairs(h.acc) do acc:mma(f.operands(blocks > 1 and a:rows((b - 1) * rows, rows) or a, ab.b:read())) end
        end
        local sums = accumulate(f, c, t, ab, h.acc, h.sum, multiply, h.of and take_turn, h.of and end_turn,
          packed and leave_meanwhile)
        local function finish()
          if halves > 1 then take_turn() end
          for b, of_block in ipairs(sums) do
            local at = row(t, i) * blocks + b - 1
            for j = 0, parts - 1 do
              local col = rest == 0 and f.n(t) * parts + j or { from = f.n(t) * bn + j * en }
              local from_c = c.stream and f.gc and f.at(f.gc, t, at, col) or nil
              if sc then sc:wait(); from_c = sc:read() end
              stage:acquire(); stage:store(f.finish(of_block:cols(j * en, en), from_c, at, col)); stage:commit()
              if sc then sc:release() end
              stage:wait(); f.gd:tma_store(stage:read(), f.place(t, at, col)); stage:release()
              if halves > 1 and i == 1 and (b - 1) * parts + j + 1 == math.min(stagger, blocks * parts) then end_turn() end
            end
            if rest > 0 then
              local col = { from = f.n(t) * bn + parts * en, rest = true }
              f.gd_rest:store(f.finish(of_block:cols(parts * en, rest), nil, at, col), f.place(t, at, col))
            end
          end
          if halves > 1 and i == 2 then end_turn() end
        end
        local share = f.share(t)
        if packed then
          leave_rest(select(2, f.steps(t)))
          packed:set(f.finish(sums[1], nil, f.m(t), f.n(t)))
        elseif share then
          for _ in weir.when_true(share.whole) do finish() end
          for _ in weir.when_true(share.part) do f.gw:store(sums[1], f.gw:at(share.slot, 0, 0)) end
        else
          finish()
        end
        f.queue:next()
      end
      if packed then
        for last in weir.last_tile(f.queue) do
          for j = 0, parts - 1 do leave(last, j) end
        end
      end
    end }
  end
  return k
end

-- The product for few rows of A: rows of B are the accumulator's rows, of which the tensor core takes 64 whatever there is, and A's
-- its columns, of which it takes as few as 8. No box reaches past A by more than 7 rows: loads of missing rows are slow (a third of
-- the time at 16 rows, measured). The sums turn on their way through shared memory.
local function narrow(o, c)
  local k, f = frame(o, c, { c.bm, c.bn }, c.bm)
  local function ring(name, dtype, tile)
    return k:smem_tile { name = name, dtype = dtype, tile = tile, swizzle = math.min(128, tile[2] * SIZE[dtype]),
      pipeline = P.tma_async { stages = c.stages } }
  end
  local a, b = ring("a", o.dtype, f.a_tile), ring("b", o.dtype_b, f.b_tile)
  local ab = k:group { name = "ab", mode = "fused_merge", members = { a, b }, fold = c.fold }
  local turned = k:smem_tile { name = "turned", dtype = "f32", tile = { c.bn, c.bm }, pipeline = P.async_async { stages = 1 } }
  local acc = k:wgmma_tile { name = "acc", tile = { c.bn, c.bm } }
  local sum = o.accumulate == "promoted" and k:reg_tile { name = "sum", dtype = "f32", tile = { c.bn, c.bm } } or nil

  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "load", warps = { 0, 1 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(f.queue) do
      for kk in weir.domain_loop(f.steps(t)) do
        ab.a:acquire(); ab.a:tma_load(f.a(t, kk, t.m)); ab.a:commit()
        ab.b:acquire(); ab.b:tma_load(f.b(t, kk)); ab.b:commit()
      end
      f.queue:next()
    end
  end }
  k:task { name = "mma", warps = { 4, 4 }, schedule = function()
    wait()
    for t in weir.work_tile_loop(f.queue) do
      local sums = accumulate(f, c, t, ab, { acc }, sum, function()
        local x, y = f.operands(ab.a:read(), ab.b:read())
        acc:mma(y, x)
      end)
      turned:acquire(); turned:store(sums[1]); turned:commit()
      turned:wait()
      f.gd:store(f.finish(turned:read():t():load(), f.gc and f.at(f.gc, t, t.m, t.n), t.m, t.n), f.place(t, t.m, t.n))
      turned:release()
      f.queue:next()
    end
  end }
  return k
end

-- Adds the parts of W and applies the epilogue: one CTA for 16 x 128 elements.
local function reduction(o, c)
  local R, C = 16, 128
  local k = weir.kernel { name = o.name .. "_sum", arch = o.arch or "sm_90a" }
  local L = o.batched and k:dim "L" or nil
  local S, dm, dn = k:dim "S", k:dim "M", k:dim "N"
  o.dims = { m = dm, n = dn }
  local w_shape, w_tile = L and { S, L, dm, dn } or { S, dm, dn }, L and { 1, 1, R, C } or { 1, R, C }
  local gw = k:gmem_tile { name = "gW", tensor = k:tensor { name = "W", dtype = "f32", shape = w_shape }, tile = w_tile }
  local gc = o.beta and operand(k, { L }, "C", o.c_dtype, { dm, dn }, { R, C }) or nil
  local gd = operand(k, { L }, "D", o.out, { dm, dn }, { R, C }, true)
  local finish = epilogue(k, o, R, C)
  local axes, extent = { "m", "n" }, { cd(dm, R), cd(dn, C) }
  if L then table.insert(axes, 1, "l"); table.insert(extent, 1, L) end
  local wq = k:work_queue { name = "wq", kind = "grid", axes = axes, extent = extent }
  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "sum", warps = { 0, 8 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      local function part(s) if L then return gw:at(s, t.l, t.m, t.n) end return gw:at(s, t.m, t.n) end
      local x = part(0)
      for s = 1, c.split - 1 do x = x + part(s) end
      local function at(g) if L then return g:at(t.l, t.m, t.n) end return g:at(t.m, t.n) end
      gd:store(finish(x, gc and at(gc), t.m, t.n), at(gd))
      wq:next()
    end
  end }
  return k
end

-- Adds the parts of the tiles that several shares of stream-K touched and applies the epilogue: 2048 elements a CTA.
local function gather(o, c)
  local k = weir.kernel { name = o.name .. "_sum", arch = o.arch or "sm_90a" }
  local dm, dn, dk = k:dim "M", k:dim "N", k:dim "K"
  local deal = dealing(c, KBYTES // SIZE[o.dtype], dm, dn, dk, k:dim("P", { min = 1 }))
  o.dims = { m = dm, n = dn }
  local C = c.bn % 128 == 0 and 128 or c.bn % 64 == 0 and 64 or 32
  local R = math.min(2048 // C, c.bm)
  local W = k:tensor { name = "W", dtype = "f32", shape = { 2 * deal.shares, c.bm, c.bn } }
  local gw = k:gmem_tile { name = "gW", tile = { 1, R, C }, tensor = W }
  local gc = o.beta and operand(k, {}, "C", o.c_dtype, { dm, dn }, { R, C }) or nil
  local gd = operand(k, {}, "D", o.out, { dm, dn }, { R, C }, true)
  local finish = epilogue(k, o, R, C)
  local wq = k:work_queue { name = "wq", kind = "grid", axes = { "r", "i", "j" }, extent = { deal.rest, c.bm // R, c.bn // C } }
  local wait, launch = common.overlap(k, o.pdl)
  k:task { name = "sum", warps = { 0, 8 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      local from, to = deal.owner(t.r * deal.steps), deal.owner((t.r + 1) * deal.steps - 1)
      local m, n = deal.place(deal.whole + t.r)
      m, n = m * (c.bm // R) + t.i, n * (c.bn // C) + t.j
      local function part(i) return gw:at(weir.min(from + i, to) * 2 + (i == 0 and 1 or 0), t.i, t.j) end
      local function put(x) gd:store(finish(x, gc and gc:at(m, n), m, n), gd:at(m, n)) end
      for _ in weir.when_true(weir.eq(from + 1, to)) do put(part(0) + part(1)) end           -- nearly always
      for _ in weir.when_true(weir.lt(from + 1, to)) do
        local x = part(0) + part(1)
        for i = 2, PARTS - 1 do x = x + weir.select(weir.le(from + i, to), part(i):load(), 0) end
        put(x)
      end
      wq:next()
    end
  end }
  return k
end

-- ---- build --------------------------------------------------------------------------------------------------------------------

-- Options with their defaults, checked.
local function settle(options)
  local what = "gemm.build"
  local o = common.with(common.options(what, options, OPTIONS))
  local function choice(name, allowed, default) o[name] = common.choice(what, name, o[name], allowed, default) end
  choice("dtype", "bf16 f16 tf32 e4m3 e5m2", "bf16")
  choice("dtype_b", SIZE[o.dtype] == 1 and "e4m3 e5m2" or o.dtype, o.dtype)
  choice("out", "bf16 f16 f32", SIZE[o.dtype] == 2 and o.dtype or o.dtype == "tf32" and "f32" or "bf16")
  choice("a_major", "k m", "k")
  choice("b_major", "k n", "k")
  choice("accumulate", "fast promoted", "fast")
  if o.beta then choice("c_dtype", "bf16 f16 f32", o.out) end
  if o.bias then choice("bias", "n m") end
  if SIZE[o.dtype] ~= 2 and (o.a_major == "m" or o.b_major == "n") then
    error(("%s: wgmma takes operands of %s with K innermost only; store A as { M, K } and B as { N, K }"):format(what, o.dtype), 0)
  end
  o.name = o.name or "gemm"
  return o
end

local CONFIG = "bm bn stages cluster_m cluster_n group split lag fold stagger swap pingpong staging stream blocks defer"

local function refuse(fmt, ...) error(("gemm.build: " .. fmt):format(...), 0) end

-- What each of the special forms asks for.
local function check_form(o, c)
  local staggered, clustered = (c.stagger or 0) > 0, c.cluster_m ~= 1 or c.cluster_n ~= 1
  if c.staging and c.staging ~= 1 and c.staging ~= 2 then refuse("config.staging is 1 or 2, got %s", tostring(c.staging)) end
  if c.blocks and c.blocks ~= 1 then
    local other = c.swap or c.pingpong or c.stream or o.beta or o.accumulate == "promoted" or o.a_major == "m"
    if c.blocks ~= 2 or c.bm ~= 256 or c.bn % 8 ~= 0 or c.bn > 160 or other then
      refuse("config.blocks is 2, with bm = 256 and bn a multiple of 8, at most 160, for A with K innermost: no beta, promoted "
        .. "sums, swap, pingpong or stream; got blocks = %s, a tile of %d x %d", tostring(c.blocks), c.bm, c.bn)
    end
  end
  if c.pingpong then
    local most = o.accumulate == "promoted" and 8192 or 16384
    if c.swap or staggered then
      refuse "config: stagger and pingpong are two ways to part the warpgroups, and swap has but one: give one"
    end
    if c.bm > 128 or c.bm % 64 ~= 0 or c.bm * c.bn > most then
      refuse("config: with pingpong a warpgroup holds a whole tile: bm 64 or 128 and bm * bn at most %d, got %d x %d", most, c.bm,
        c.bn)
    end
  end
  if c.swap and (clustered or c.bn ~= 64 or c.bm % (o.a_major == "m" and 64 or 8) ~= 0 or c.bm > 256) then
    refuse("config.swap takes no cluster, bn = 64 and bm a multiple of 8 (of 64 with m-major A), at most 256; got a tile of %d x "
      .. "%d, cluster %d x %d", c.bm, c.bn, c.cluster_m, c.cluster_n)
  end
  if c.stream then
    if c.stream ~= true then common.size("gemm.build", "config.stream", c.stream) end
    if o.batched or c.split > 1 or c.swap or c.pingpong or staggered or clustered or c.bn % 32 ~= 0 then
      refuse("config.stream deals out the k-steps of one product, bn a multiple of 32: not batched, no split, swap, pingpong, "
        .. "stagger or cluster")
    end
  end
end

-- The best of the model's configurations that have what is given; where none has, the best that is no special form, changed.
local function pick(o, given)
  local sms = o.device and not o.device.is_sim and o.device.sms or 132
  local best
  for _, x in ipairs((ranked(hints(o), sms, given.pingpong and "pingpong" or given.stream and "stream" or nil))) do
    local fits = not (x.swap and (given.stagger or 0) > 0)
    for _, name in ipairs { "bm", "bn", "cluster_m", "cluster_n", "split", "swap" } do
      fits = fits and (given[name] == nil or given[name] == (x[name] or false))
    end
    if fits then return x end
    if not best and not x.swap then best = x end
  end
  return best
end

local function configure(o)
  local given = common.options("gemm.build: config", o.config or {}, CONFIG)
  for _, name in ipairs { "fold", "swap", "pingpong", "defer" } do
    if given[name] ~= nil and type(given[name]) ~= "boolean" then
      refuse("config.%s is true or false, got %s", name, tostring(given[name]))
    end
  end
  local c = common.with(pick(o, given), given)
  c.blocks = given.blocks or c.bm * c.bn > 32768 and c.bm == 256 and 2 or nil
  c.staging = given.staging or c.blocks and 1 or nil
  local against = against_defer(o, c)
  if given.defer and against then refuse("config.defer packs sums to 16 bits: not with %s", against) end
  c.defer = c.defer and not against or nil
  check_form(o, c)
  local staged = { out = c.split > 1 and "f32" or o.out, beta = c.split == 1 and not c.stream and o.beta, c_dtype = o.c_dtype }
  local room = staging(staged, c)
  if not room then
    local unit = 32 // math.min(SIZE[staged.out], staged.beta and SIZE[staged.c_dtype or staged.out] or 4)
    refuse("config.bn is a multiple of %d here: rows of D%s are staged by 32 bytes at least; got %d", unit,
      staged.beta and " and C" or "", c.bn)
  end
  if room.stages < 2 then
    refuse("a tile of %d x %d leaves no room for two stages; take a smaller one, with bn a multiple of 16", c.bm, c.bn)
  end
  c.en = room.en
  c.stages = given.stages and math.min(given.stages, room.stages) or room.stages
  c.lag = math.min(c.lag, c.stages - 1)
  return c
end

local function prepare(options)
  local o = settle(options)
  return o, configure(o)
end

local function forms(o, c)
  local k = (c.swap and narrow or product)(o, c)
  return c.split > 1 and { k, reduction(o, c) } or c.stream and { k, gather(o, c) } or { k }
end

--- The kernels behind an option table, not yet built: one, or two where K is split or streamed.
---@param options weir.kernels.gemm.options
---@return weir.kernel[], weir.kernels.gemm.config
function M.kernels(options)
  local o, c = common.blame(prepare, options)
  return forms(o, c), c
end

-- Launch arguments of the two steps of a split or streamed K: the workspace, kept for the next launch, and what each of the two
-- takes.
local function steps_of(o, c, programs)
  if #programs == 1 then return { { program = programs[1], pdl = o.pdl } } end
  local kept = {}
  local function device(options) return options and options.device or o.device or weir.device() end
  local function shares(args, options)
    return args.P or c.stream ~= true and c.stream or device(options).sms or 1
  end
  local function workspace(args, options)
    if args.W then return args.W end
    local want = { 2 * (c.stream and shares(args, options) or 0), c.bm, c.bn }
    if not c.stream then
      local shape = common.shape(args.D)
      if not shape then error("gemm: D as { address =, shape = } expected: the workspace of a split K takes its shape", 4) end
      want = table.move(shape, 1, #shape, 2, { c.split })
    end
    local key = table.concat(want, "x")
    if not kept[key] then kept[key] = assert(device(options):tensor { dtype = "f32", shape = want }) end
    return kept[key]
  end
  local function step(i, names)
    return { program = programs[i], pdl = o.pdl, args = function(args, options)
      local out = { W = workspace(args, options) }
      for name in names:gmatch "%a[%w_]*" do out[name] = args[name] end
      if c.stream then out.P = shares(args, options) end
      return out
    end }
  end
  local rest = "C D alpha beta bias scale_a scale_b"
  if not c.stream then return { step(1, "A B"), step(2, rest) } end
  local second = step(2, rest)
  local plain = second.args
  function second.args(args, options)                     -- its size K stands in no tensor of its own
    local out, a = plain(args, options), common.shape(args.A)
    if not a then error("gemm: A as { address =, shape = } expected: stream-K takes K from it", 4) end
    out.K = a[o.a_major == "m" and 1 or 2]
    return out
  end
  return { step(1, "A B " .. rest), second }
end

--- Launch arguments for a trial: random operands of the hinted sizes (batched: two of them).
---@param options weir.kernels.gemm.options
---@param device weir.device
---@return table<string, weir.argument>
function M.example(options, device)
  local o = common.blame(settle, options)
  local m, n, k = o.m or 8192, o.n or 8192, o.k or 8192
  local function tensor(dtype, rows, cols, seed)
    local t = assert(device:tensor { dtype = dtype, shape = o.batched and { 2, rows, cols } or { rows, cols } })
    return seed and t:randn(seed) or t
  end
  local function memory(dtype) return dtype == "tf32" and "f32" or dtype end
  local args = { A = tensor(memory(o.dtype), o.a_major == "m" and k or m, o.a_major == "m" and m or k, 1),
                 B = tensor(memory(o.dtype_b), o.b_major == "n" and k or n, o.b_major == "n" and n or k, 2),
                 D = tensor(o.out, m, n) }
  if o.beta then args.C = tensor(o.c_dtype, m, n, 3) end
  if o.bias then args.bias = assert(device:tensor { dtype = "f32", shape = o.bias == "n" and { n } or { m, 1 } }):randn(4) end
  for _, name in ipairs(o.scales and { "scale_a", "scale_b" } or {}) do
    args[name] = assert(device:tensor { dtype = "f32", shape = { 1 } }):fill(1)
  end
  if o.alpha == true then args.alpha = 1 end
  if o.beta == true then args.beta = 1 end
  return args
end

--- Builds a GEMM. Launch arguments: A, B, D; C, bias, scale_a, scale_b, alpha, beta where asked for; W, a workspace f32
--- { split, [L,] M, N }, may be given where K is split and is allocated otherwise; with stream-K f32 { 2 P, bm, bn } and P, the
--- number of shares.
---@param options? weir.kernels.gemm.options
---@return weir.kernels.ready
function M.build(options)
  local o, c = common.blame(prepare, options or {})
  local programs = {}
  for i, k in ipairs(forms(o, c)) do programs[i] = k:build { device = o.device } end
  return common.ready(steps_of(o, c, programs), c)
end

return M
