-- Builds the kernel that a vector of the compact schedule notation describes (see notation.md, 2 and 5), through the Lua API.
--
--   build(weir, model, options) -> kernel         raises where the API does
--     options.repeated          how often `..` repeats a call
local notation = require "notation"

local M = {}

local constructors = { AA = "async_async", TA = "tma_async", TU = "tma_umma", UA = "umma_async", AU = "async_umma", UU = "umma_umma",
                       CF = "clc_fetch_async" }
local signals = { All = "all", Cta = "cta_leader", Warp = "task_warp_leader" }
local modes = { Merge = "merge", Fork = "fork", FusedMerge = "fused_merge" }
local methods = { acq = "acquire", tacq = "try_acquire", com = "commit", wait = "wait", twait = "try_wait", rel = "release",
                  adv = "get_and_advance_work_tile", fetch = "fetch_work_tile", init = "init_work_tile", gwait = "wait_griddep",
                  glaunch = "launch_griddep", rawget = "consumer_work" }

local function cluster_of(r)
  local c = r.cta
  if type(c) ~= "table" then return nil end
  return { v = c[1], m = c[2], n = c[3], k = c[4] }
end

local function pipeline(weir, r)
  return weir.pipeline[constructors[r.type]] {
    stages = r.s or 1, producers = r.P, consumers = r.C, bytes = r.b, bytes_per_warp_per_cta = r.bw, interleave = r.il,
    advance_on_wait = r.aw, advance_on_acquire = r.aa, cta_layout = cluster_of(r), producer_op = r.op and r.op:lower(),
    producer_signaling = signals[r.ps], consumer_signaling = signals[r.cs], consumer_wait_signaling = signals[r.cw],
  }
end

-- What a put on a copy engine's pipeline brings: exactly what its task arms. Without a leader or interleave every warp arms;
-- with v = 2 the leader arms for both CTAs.
local function copied(model, r)
  if r.type ~= "TA" and r.type ~= "TU" then return nil end
  local c, warps = cluster_of(r), 1
  for _, t in ipairs(model.tasks) do
    for _, name in ipairs(t.dst) do if name == r.name then warps = math.max(warps, t.count) end end
  end
  if r.ps == "Warp" or r.il and r.il[2] > 1 then warps = 1 end
  return r.b * warps // (r.type == "TU" and c and c.v or 1)
end

local function work(weir, model, r)
  local put, get, bytes = weir.producer_work, weir.consumer_work, copied(model, r)
  local list = {
    put = put { code = "", tx_bytes = bytes },
    putx = put { params = "i32 x", code = "", tx_bytes = bytes },
    putxy = put { params = "i32 x, i32 y", code = "", tx_bytes = bytes },
    putk = put { params = "i32 x", code = "", tx_bytes = bytes },
    putc = put { params = "const i32 n", code = "", tx_bytes = bytes },
    get = get { code = "" },
    getx = get { params = "i32 x", code = "" },
    getv = get { returns = "uniform i32 v", code = "v = 1;" },
    getu = get { returns = "uniform i32 u", code = "u = 1;" },
    getvu = get { returns = "uniform i32 v, uniform i32 u", code = "v = u = 1;" },
    caux = get { code = "", aux = true },
    cauxv = get { returns = "uniform i32 v", code = "v = 1;", aux = true },
    paux = put { code = "", aux = true },
  }
  if r.kind == "unnamed" then return { consumer_work_of_g = get { code = "" } } end -- weir has no work without a name
  return list
end

-- Loads of a TmaAsync pipeline in a cluster along m and n multicast along both (the reference's default), so they are real ones.
local function multicasts(r)
  local c = cluster_of(r)
  return r.type == "TA" and c and c.m > 1 and c.n > 1
end

-- Names that the tasks, groups, graph and aliases of the model mention.
local function mentioned(model)
  local used = {}
  local function use(list) for _, n in ipairs(list) do used[n] = true end end
  for _, t in ipairs(model.tasks) do
    use(t.src)
    use(t.dst)
    if t.tiles then used[t.tiles.queue] = true end
    for _, s in ipairs(notation.steps(t)) do if s.call.res then used[s.call.res] = true end end
  end
  for _, g in pairs(model.groups) do use(g.members) end
  for _, e in ipairs(model.graph) do used[e.to] = true; use(e.from) end
  for _, a in ipairs(model.alias) do use(a) end
  local names = {}
  for n in pairs(used) do names[#names + 1] = n end
  table.sort(names)
  return names
end

-- The target: sm_100a where tensor cores, their memory or shared mmas occur, else sm_90a.
function M.arch(model)
  for _, name in ipairs(mentioned(model)) do
    local r = model.resources[name]
    local c = cluster_of(r)
    if r.type and r.type:find "U" or r.tmem or c and c.v > 1 then return "sm_100a" end
  end
  return "sm_90a"
end

local Build = {}
Build.__index = Build

function Build:declare(name)
  local weir, k, r = self.weir, self.k, self.model.resources[name]
  if r.kind == "queue" then
    return k:work_queue { name = name, kind = r.type and "clc" or "static", axes = { "i" }, extent = { 4 },
                          pipeline = r.type and pipeline(weir, r) or nil }
  elseif r.kind == "pdl_wait" then return k:pdl_wait { name = name }
  elseif r.kind == "pdl_launch" then return k:pdl_launch { name = name }
  elseif r.kind == "barrier" then return k:resource { name = name, work = work(weir, self.model, r) }
  elseif r.kind ~= "pipelined" then
    if not self.multicast then return k:resource { name = name, space = "gmem", work = work(weir, self.model, r) } end
    self.tensor = self.tensor or k:tensor { name = "X", dtype = "u8", shape = { 4096, 4096 }, out = true }
    return k:gmem_tile { name = name, tensor = self.tensor, tile = { 2, self.model.resources.T.b // 4 } }
  end
  if r.tmem then k:tmem_tile { name = name .. "_columns", tile = { 128, r.tmem }, pipeline = weir.pipeline.umma_async { stages = 1 } } end
  if self.multicast then
    return k:smem_tile { name = name, dtype = "u8", tile = { 2, r.b // 4 }, pipeline = pipeline(weir, r) }
  end
  local bytes = r.smem and -(-r.smem // (r.s or 1)) or 256
  return k:resource { name = name, space = "smem", dtype = "u8", tile = { bytes }, pipeline = pipeline(weir, r), work = work(weir, self.model, r) }
end

function Build:call(n, env)
  if self.multicast and (n.op == "get" or n.op == "put") then return self:atoms(n) end
  local h = self.of[n.res or n.path[1]]
  if n.group then
    h = self.groups[n.group]
    if n.res then h = h:member(n.res) end
  end
  local args, by_name, count = {}, nil, 0
  for _, a in ipairs(n.args or {}) do
    local value = a.value
    if type(value) == "string" then value = env.vars[value] end
    if a.key then
      by_name = by_name or {}
      by_name[a.key] = value
    else
      count = count + 1
      args[count] = value
    end
  end
  local name = methods[n.op] or n.op
  if name == "putk" and count > 0 then name = "put" end -- weir has no parameters by name only: here, none by position
  if by_name then
    count = count + 1
    args[count] = by_name
  end
  if self.model.resources[n.res or ""] and self.model.resources[n.res].kind == "unnamed" then name = "consumer_work_of_g" end
  local ret = table.pack(h[name](h, table.unpack(args, 1, count)))
  local group = n.op == "put" and n.group and n.res and self.model.groups[n.group]
  for _, m in ipairs(group and group.mode == "Fork" and group.members or {}) do -- what one work of a fork fills, all members read
    local o = m ~= n.res and not copied(self.model, self.model.resources[m]) and self.groups[n.group]:member(m)
    if o then o[name](o, table.unpack(args, 1, count)) end
  end
  for i, out in ipairs(n.outs or {}) do env.vars[out] = ret[i] end
end

function Build:atoms(n)
  local r = self.of[n.res]
  if r.kind == "smem_tile" and n.op == "put" then
    r:tma_load(self.of.g:at(0, 0), { multicast = "m" })
    r:tma_load(self.of.g:at(0, 0), { multicast = "n" })
  elseif r.kind == "smem_tile" then
    r:read()
  elseif n.op == "put" then
    r:store(self.of.T:read(), r:at(0, 0))
  end
end

function Build:bound(x, default)
  if x == "?" then
    self.ndims = self.ndims + 1
    return self.k:dim("N" .. self.ndims)
  end
  return x or default
end

local run

function run(self, nodes, env)
  local weir = self.weir
  for _, n in ipairs(nodes) do
    if n.kind == "call" then
      for _ = 1, n.repeated and self.repeated or 1 do self:call(n, env) end
    elseif n.kind == "loop" then
      local stop = n.provider and self:bound "?" or self:bound(n.stop)
      for i in weir.domain_loop(self:bound(n.start, 0), stop, self:bound(n.step, 1)) do
        env.loop = i
        run(self, n.body, env)
      end
    elseif n.kind == "guard" then
      local key = n.key and { key = n.key } or nil
      local blocks
      if n.test == "first" then blocks = table.pack(env.loop:first_iter())
      elseif n.test == "last" then blocks = table.pack(env.loop:last_iter())
      elseif n.test == "every" then blocks = table.pack(env.loop:every(n.period, n.start or 0))
      elseif n.test == "when" then blocks = table.pack(weir.when_true(env.vars[n.value], key))
      else blocks = table.pack(weir.when_false(env.vars[n.value], key)) end
      for _ in table.unpack(blocks, 1, blocks.n) do run(self, n.body, env) end
    elseif n.kind == "tiles" then
      local skip = n.skip and { skip = function(tile) return weir.ge(tile.i, 3) end } or nil
      for tile in weir.work_tile_loop(self.of[n.queue], skip) do
        env.tile = tile
        run(self, n.body, env)
      end
    else
      for _ in env.tile:skippable() do run(self, n.body, env) end
    end
  end
end

function M.build(weir, model, options)
  local self = setmetatable({ weir = weir, model = model, of = {}, groups = {}, ndims = 0, repeated = options and options.repeated or 1 },
    Build)
  local cluster
  for _, name in ipairs(mentioned(model)) do
    local r = model.resources[name]
    cluster = cluster or cluster_of(r)
    self.multicast = self.multicast or multicasts(r)
  end
  local k = weir.kernel { name = "vector", arch = M.arch(model), cluster = cluster }
  self.k = k
  for _, name in ipairs(mentioned(model)) do self.of[name] = self:declare(name) end
  local function handles(list)
    local out = {}
    for i, name in ipairs(list) do out[i] = self.of[name] end
    return out
  end
  for name, g in pairs(model.groups) do
    self.groups[name] = k:group { name = name, mode = modes[g.mode], members = handles(g.members) }
  end
  if model.graph_given or model.dma_labels[1] then
    local pairs_of = {}
    for i, e in ipairs(model.graph) do
      pairs_of[i] = { self.of[e.to], handles(e.from) }
      for _, l in ipairs(model.dma_labels) do
        if l.to == e.to then pairs_of[i].release_after = { l.label } end
      end
    end
    k:depends(pairs_of)
  end
  for _, e in ipairs(model.alias) do k:alias { handles { e[1] }, handles { e[2] } } end
  for _, t in ipairs(model.tasks) do
    k:task { name = t.name, warps = { t.first, t.count }, registers = t.registers, cta = t.cta and { v = t.cta } or nil,
             src = handles(t.src), dst = handles(t.dst), schedule = function() run(self, t.body, { vars = {} }) end }
  end
  return k
end

return M
