-- Kernels from the schedules of checker.lua, through the Lua API, so that the prover judges what the credit model judged.
--
--   local k, place = build(weir, model, unrolled)   model from checker_notation.parse; nil and the reason where weir has no such
--                                            schedule. unrolled: loops of a fixed length are written out
--   place(plan, program)                     puts the storage where the vector says: the API lays out by itself
--
-- A pipeline whose producer does no work brings no bytes: a barrier. With work it is shared memory filled by threads (AA, AU) or by a
-- body that brings bytes (TA, TU). Where threads cannot do what the vector is about (UA), real tiles and an mma take their place.
local M = {}

local TMEM_BASE = 1 << 16                        -- columns of tensor memory become bytes far from those of shared memory

local function refuse(model)
  if model.pdl_done then return "a wait for the previous kernel that lies outside the kernel" end
  for _, r in ipairs(model.resources) do
    if r.producer_role or r.consumer_role then return "a resource whose two sides use different bytes" end
    if r.type == "CLC" then return nil end
  end
end

-- Does a task do this on the resource?
local function does(model, name, letters)
  for _, task in ipairs(model.tasks) do
    for _, list in ipairs { task.head, task.loop, task.tail } do
      for _, op in ipairs(list) do
        if op.resource == name and letters:find(op.letter, 1, true) then return true end
      end
    end
  end
  return false
end

local function declare(weir, k, model, r, real, forked)
  local P = weir.pipeline
  local strides = r.strides and { r.strides[1], r.strides[2], r.strides[3], r.strides[4] } or nil
  if r.type == "WQ" then return k:work_queue { name = r.name, axes = { "i" }, extent = { k:dim("T" .. r.name) } }
  elseif r.type == "CLC" then
    return k:work_queue { name = r.name, kind = "clc", axes = { "i" }, extent = { k:dim("T" .. r.name) }, pipeline = P.clc_fetch_async { stages = r.stages } }
  elseif r.type == "PDL_WAIT" then return k:pdl_wait { name = r.name }
  elseif r.type == "PDL_LAUNCH" then return k:pdl_launch { name = r.name } end
  local bytes = r.ranges[1] and (r.ranges[1].hi - r.ranges[1].lo) // (r.stages or 1) or 64
  if real and r.type == "UA" then return k:tmem_tile { name = r.name, tile = { 64, 16 }, pipeline = P.umma_async { stages = r.stages } }
  elseif real and r.type == "TU" then
    return k:smem_tile { name = r.name, dtype = "bf16", tile = { 64, 16 }, swizzle = 32, pipeline = P.tma_umma { stages = r.stages } }
  elseif r.type == "-" then
    if not r.ranges[1] then return k:resource { name = r.name, space = "gmem", work = { get = weir.consumer_work { code = ";" }, put = weir.producer_work { code = ";" } } } end
    return k:resource { name = r.name, space = "smem", dtype = "u8", tile = { real and 2048 or bytes },
      work = { get = weir.consumer_work { code = ";" }, put = weir.producer_work { code = ";" } } }
  end
  local loads = does(model, r.name, "P") and (r.type == "TA" or r.type == "TU") and not forked
  local pipe = P[loads and "tma_async" or "async_async"] { stages = r.stages, interleave = strides }
  if not does(model, r.name, "Pc") and not r.ranges[1] then return k:barrier { name = r.name, pipeline = pipe } end
  return k:resource { name = r.name, space = "smem", dtype = "u8", tile = { bytes }, pipeline = pipe,
    work = { get = weir.consumer_work { code = ";" }, put = weir.producer_work { code = ";", tx_bytes = loads and bytes or nil } } }
end

local moves = { A = "acquire", C = "commit", T = "try_acquire", a = "wait", r = "release", t = "try_wait" }

function M.build(weir, model, unrolled)
  local why = refuse(model)
  if why then return nil, why end
  local real = false
  for _, r in ipairs(model.resources) do real = real or r.type == "UA" end
  local k = weir.kernel { name = "vector", arch = "sm_90a" }
  local of, dims, groups_of = {}, 0, {}
  for _, g in ipairs(model.groups) do
    for _, name in ipairs(g.members) do groups_of[name] = g end
  end
  for _, r in ipairs(model.resources) do
    local g = groups_of[r.name]
    of[r.name] = declare(weir, k, model, r, real, g and g.mode == "fork")
  end
  for _, g in ipairs(model.groups) do
    local members = {}
    for i, name in ipairs(g.members) do members[i] = of[name] end
    of[g.name] = k:group { name = g.name, mode = g.mode, members = members }
    for _, name in ipairs(g.members) do of[name] = of[g.name]:member(name) end
  end
  local queue, real_operand
  for _, r in ipairs(model.resources) do if r.queue then queue = of[r.name] end end
  local source, sink
  if real then
    local R = k:dim "R"
    source = k:gmem_tile { name = "source", tensor = k:tensor { name = "X", dtype = "bf16", shape = { R, 64 } }, tile = { 64, 16 } }
    sink = k:gmem_tile { name = "sink", tensor = k:tensor { name = "Y", dtype = "f32", shape = { R, 64 }, out = true }, tile = { 64, 16 } }
  end

  local function perform(op)
    local r, h = model.by_name[op.resource], of[op.resource]
    if r.queue then
      if op.letter == "c" then h:get_and_advance_work_tile()
      elseif op.letter == "P" then h:fetch_work_tile()
      else h[moves[op.letter]](h) end
    elseif r.type == "PDL_WAIT" then h:wait_griddep()
    elseif r.type == "PDL_LAUNCH" then h:launch_griddep()
    elseif op.letter == "P" then
      if real and r.type == "TU" then h:tma_load(source:at(0, 0))
      elseif real and r.type == "UA" then
        local s = of[real_operand]
        h:mma(s:read(), s:read())
      elseif groups_of[r.name] and groups_of[r.name].mode == "fork" then -- what one fills is there for all
        for _, name in ipairs(groups_of[r.name].members) do of[name]:put() end
      else h:put() end
    elseif op.letter == "c" then
      if real and r.type == "UA" then sink:store(h:read(), sink:at(0, 0))
      elseif not (real and r.type == "TU") then h:get() end
    elseif moves[op.letter] then
      h[moves[op.letter]](h)
      if real and r.type == "UA" and op.letter == "A" then h:zero() end
    end
  end
  for _, r in ipairs(model.resources) do if real and r.type == "TU" then real_operand = r.name end end

  local keys = {}
  local function key_of(name)
    if not keys[name] then
      dims = dims + 1
      keys[name] = weir.gt(k:dim("K" .. name), 7)
    end
    return keys[name]
  end
  local stop
  local function dynamic_stop()
    stop = stop or k:dim "N"
    return stop
  end

  local function run(list, i)
    for _, op in ipairs(list) do
      local blocks
      if op.key then blocks = table.pack(weir.when_true(key_of(op.key)))
      elseif op.guard == "first" then blocks = table.pack(i:first_iter())
      elseif op.guard == "last" then blocks = table.pack(i:last_iter())
      elseif op.guard then blocks = table.pack(i:every(op.guard.period, op.guard.start)) end
      if blocks then
        for _ in table.unpack(blocks, 1, blocks.n) do perform(op) end
      else
        perform(op)
      end
    end
  end
  local function skippable(task, tile, f)
    if tile and task.skips then for _ in tile:skippable() do f() end else f() end
  end
  -- neighbours marked k: go into one skippable block
  local function run_marked(task, list, tile)
    local i = 1
    while i <= #list do
      local part, marked = {}, list[i].skippable and tile ~= nil
      repeat
        part[#part + 1] = list[i]
        i = i + 1
      until i > #list or (list[i].skippable and tile ~= nil) ~= marked
      if marked then skippable(task, tile, function() run(part) end) else run(part) end
    end
  end
  -- The moves of iteration n of last + 1, without their guards.
  local function iteration(list, n, last)
    local out = {}
    for _, op in ipairs(list) do
      local g = op.guard
      if not g or (g == "first" and n == 0) or (g == "last" and n == last) or
        (type(g) == "table" and n >= g.start and (n - g.start) % g.period == 0) then
        out[#out + 1] = { letter = op.letter, resource = op.resource, key = op.key }
      end
    end
    return out
  end
  local function body(task, tile)
    run_marked(task, task.head, tile)
    skippable(task, tile, function()
      local d = task.domain
      if #task.loop == 0 then return end
      if unrolled and d.stop then
        local last = (d.stop - d.start - 1) // d.step
        for n = 0, last do run(iteration(task.loop, n, last)) end
        return
      end
      local upto = d.stop == nil and dynamic_stop() or d.stop
      for i in weir.domain_loop(d.start, upto, d.step) do run(task.loop, i) end
    end)
    run_marked(task, task.tail, tile)
  end

  local warp = 0
  for t, task in ipairs(model.tasks) do
    local wide = task.warps or 1
    for _, list in ipairs { task.src, task.dst } do
      for _, name in ipairs(list) do if real and model.by_name[name].type == "UA" then wide = 4 end end
    end
    if wide > 1 and warp % 4 ~= 0 then warp = warp + 4 - warp % 4 end
    local skip = task.skips and { skip = function(tile) return weir.ge(tile.i, 3) end } or nil
    k:task { name = "t" .. t, warps = { warp, wide }, schedule = function()
      if queue and model.tiles > 1 then
        for tile in weir.work_tile_loop(queue, skip) do body(task, tile) end
      elseif model.tiles > 1 then
        for _ = 1, model.tiles do body(task, nil) end
      else
        body(task, nil)
      end
    end }
    warp = warp + wide
  end

  -- One region a resource, where and as long as its range.
  local function place(plan, program)
    local rows = {}
    for i = 0, plan.count(program, "smem") - 1 do rows[plan.get(program, "smem", i, "name")] = i end
    for _, r in ipairs(model.resources) do
      local range, row = r.ranges[1], rows[r.name]
      if range and row then
        local stages, size = r.stages or 1, range.hi - range.lo
        local base = range.space == "t" and TMEM_BASE or 0
        if real then                                -- real tiles are larger; the ranges of these vectors coincide
          plan.set(program, "smem", row, "offset", base)
          if rows.T then plan.set(program, "smem", rows.T, "offset", 1 << 17) end
        else
          plan.set(program, "smem", row, "offset", base + range.lo)
          plan.set(program, "smem", row, "stage_bytes", size // stages)
          plan.set(program, "smem", row, "size", size)
        end
      end
    end
  end
  return k, place
end

return M
