-- Layouts by hand: records are added, laid out once, and reported. The placing itself is the plan's (weir.place_records, weir.place_barriers).
--
--   local smem = weir.smem_allocator { arch = "sm_90a" }
--   smem:add { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, stages = 4 }
--   smem:add { name = "scratch", size = 4096, align = 128 }
--   smem:alias { { "a" }, { "scratch" } }              -- phases that share bytes in time
--   local layout = smem:compute_layout()               -- { { name, offset, size }, ..., total, saved, capacity, size }
--   local bars = weir.barrier_allocator { smem = smem } -- its array lies behind smem's data and counts in its size; without smem: alone
--   bars:add { name = "a", stages = 4, producers = 1, consumers = 4 }
--   bars:add_group { name = "ab", mode = "fused_merge", stages = 4, members = { { name = "a", producers = 1, consumers = 2 }, ... } }
--   bars:add(group)                                    -- of a kernel: the mbarriers that its plan has
--   bars:compute_layout()                              -- { { name, first, count, arrivals }, ..., runs, used }
-- A record of smem:add with `producers` and `consumers` brings the mbarriers of its pipeline, smem:add_group those of a group.
return function(weir)
  local function fail(...) error(select("#", ...) > 1 and (...):format(select(2, ...)) or ..., 3) end
  -- A table with these fields and no others, and a name.
  local function fields(what, desc, list, level, nameless)
    if type(desc) ~= "table" then error(("%s: a table expected, got %s"):format(what, type(desc)), level) end
    local known = {}
    for field in list:gmatch "%S+" do known[field] = true end
    for key in pairs(desc) do
      if not known[key] then error(("%s: unknown field '%s'; there are %s"):format(what, tostring(key), (list:gsub("%s+", ", "))), level) end
    end
    if not nameless and type(desc.name) ~= "string" then error(("%s: name is a string, got %s"):format(what, type(desc.name)), level) end
  end
  -- What the core raises, at the caller's line.
  local function call(f, desc)
    local ok, a, b = pcall(f, desc)
    if not ok then error(tostring(a):gsub("^[^:]+:%d+: ", ""):gsub("^weir%.[%w_]+: ", ""), 3) end
    return a, b
  end

  local space = {}
  space.__index = space

  -- The array behind the data of an smem_allocator.
  local function array(self)
    if self.space ~= "smem" then fail("%s: mbarriers lie in shared memory", self.what) end
    self.bars = self.bars or weir.barrier_allocator()
    return self.bars
  end

  function space:add(r)
    fields(self.what .. ":add", r, "name size align dtype tile swizzle stages threads producers consumers", 3)
    if self.layout then fail("%s: '%s' comes after compute_layout()", self.what, tostring(r.name)) end
    local size, align = r.size, r.align
    if r.dtype then size, align = call(weir.tile_bytes, { dtype = r.dtype, tile = r.tile, swizzle = r.swizzle, stages = r.stages, threads = r.threads }) end
    if self.of[r.name] then fail("%s: '%s' is added twice", self.what, r.name) end
    if not size then fail("%s: '%s' needs a size, or a dtype and a tile", self.what, tostring(r.name)) end
    if r.producers or r.consumers then
      call(function() array(self):add { name = r.name, stages = r.stages or 1, producers = r.producers, consumers = r.consumers } end)
    end
    local record = { name = r.name, size = size, align = r.align or align or 1 }
    self.records[#self.records + 1] = record
    self.of[r.name] = record
    return self
  end

  -- The mbarriers of a group; its members' bytes are records of their own.
  function space:add_group(g)
    if self.layout then fail("%s: '%s' comes after compute_layout()", self.what, tostring(type(g) == "table" and g.name or g)) end
    call(function() array(self):add_group(g) end)
    return self
  end

  function space:alias(phases)
    if self.layout then fail("%s: alias comes after compute_layout()", self.what) end
    if type(phases) ~= "table" or #phases < 2 then fail("%s: alias takes at least two phases", self.what) end
    self.aliases = self.aliases + 1
    for i, phase in ipairs(phases) do
      if #phase == 0 then fail("%s: phase %d of an alias is empty", self.what, i) end
      for _, name in ipairs(phase) do
        local r = self.of[name]
        if not r then fail("%s: alias names '%s', which was not added", self.what, tostring(name)) end
        if r.alias then fail("%s: '%s' is in another phase already", self.what, name) end
        r.alias, r.phase = self.aliases, i
      end
    end
    return self
  end

  function space:compute_layout()
    if self.layout then fail("%s: compute_layout() was called before", self.what) end
    local bars = self.bars and (self.bars.layout or call(function() return self.bars:compute_layout() end))
    self.layout = call(weir.place_records, { arch = self.arch, space = self.space, records = self.records, mbarriers = bars and bars.used })
    return self.layout
  end

  function space:report()
    if not self.layout then fail("%s: compute_layout() comes before report()", self.what) end
    local unit = self.space == "smem" and "B" or "cols"
    local out, order, line = { ("\n[%s-layout] %s Usage Report"):format(self.space, self.space:upper()) }, {}, ("-"):rep(60)
    local function put(...) out[#out + 1] = (...):format(select(2, ...)) end
    put("%-28s%8s%6s%9s%9s", "name", "size", "align", "offset", "end")
    put(line)
    for i, r in ipairs(self.layout) do order[i] = { r = r, own = self.records[i], i = i } end
    table.sort(order, function(x, y) return x.r.offset < y.r.offset or x.r.offset == y.r.offset and x.i < y.i end)
    for _, x in ipairs(order) do
      put("%-28s%8d%6d%9d%9d", x.r.name .. (x.own.alias and "*" or ""), x.r.size, x.own.align, x.r.offset, x.r.offset + x.r.size)
    end
    for a = 1, self.aliases do
      put(a == 1 and line or "")
      put("alias group %d", a)
      local phases = {}
      for _, r in ipairs(self.records) do
        if r.alias == a then
          phases[r.phase] = phases[r.phase] or {}
          table.insert(phases[r.phase], ("%s (%d %s)"):format(r.name, r.size, unit))
        end
      end
      for i, list in ipairs(phases) do put("  phase %d: %s", i, table.concat(list, ", ")) end
    end
    put(line)
    if self.layout.barrier_offset then
      put("data %d B, mbarriers %d B from %d", self.layout.total, 8 * self.bars.layout.used, self.layout.barrier_offset)
    end
    put("total %d %s of %d", self.layout.size, unit, self.layout.capacity)
    if self.layout.saved > 0 then put("saved %d %s by phases that share %s in time", self.layout.saved, unit, unit == "B" and "bytes" or "columns") end
    return table.concat(out, "\n") .. "\n"
  end

  local function new(kind, options)
    fields(kind .. "_allocator", options or {}, "arch", 3, true)
    return setmetatable({ what = kind .. "_allocator", space = kind, arch = (options or {}).arch or (kind == "tmem" and "sm_100a" or "sm_90a"), records = {}, of = {}, aliases = 0 }, space)
  end
  function weir.smem_allocator(options) return new("smem", options) end
  function weir.tmem_allocator(options) return new("tmem", options) end

  local bars = {}
  bars.__index = bars

  local function take(self, list)
    for _, r in ipairs(list) do
      if self.of[r.name] then fail("barrier_allocator: '%s' is added twice", r.name) end
      self.of[r.name] = r
      self.records[#self.records + 1] = r
    end
    return self
  end

  -- A pipeline: two mbarriers a stage. With `count` and `arrivals`: a run of its own.
  -- A group of a kernel: as its plan has them.
  function bars:add(r)
    if self.layout then fail("barrier_allocator: '%s' comes after compute_layout()", tostring(r.name)) end
    if type(r) == "userdata" then
      if r.kind ~= "group" then fail("barrier_allocator: a record or a group expected, got %s '%s'", r.kind, r.name) end
      local list = {}
      for name, b in pairs(r.barriers) do list[#list + 1] = { name = name, count = b.count, arrivals = b.arrivals, first = b.first } end
      table.sort(list, function(x, y) return x.first < y.first end)
      for _, x in ipairs(list) do x.first = nil end
      return take(self, list)
    end
    fields("barrier_allocator:add", r, "name count arrivals stages producers consumers", 3)
    if r.count then return take(self, { { name = r.name, count = r.count, arrivals = r.arrivals } }) end
    return take(self, call(weir.barrier_records, { name = r.name, stages = r.stages, members = { { name = r.name, producers = r.producers, consumers = r.consumers } } }))
  end

  function bars:add_group(g)
    fields("barrier_allocator:add_group", g, "name mode stages members", 3)
    if self.layout then fail("barrier_allocator: '%s' comes after compute_layout()", tostring(g.name)) end
    return take(self, call(weir.barrier_records, { name = g.name, mode = g.mode or "merge", stages = g.stages, members = g.members }))
  end

  function bars:compute_layout()
    if self.layout then fail "barrier_allocator: compute_layout() was called before" end
    self.layout = call(weir.place_barriers, { records = self.records })
    return self.layout
  end

  function bars:report()
    if not self.layout then fail "barrier_allocator: compute_layout() comes before report()" end
    local base = self.smem and self.smem.layout and self.smem.layout.barrier_offset or 0
    local out, order, line = { "\n[barrier-layout] Barrier Usage Report", ("%-28s%8s%10s%9s%9s"):format("name", "count", "arrivals", "offset", "end") }, {}, ("-"):rep(64)
    for i, r in ipairs(self.layout) do order[i] = r end
    table.sort(order, function(x, y) return x.first < y.first end)
    out[#out + 1] = line
    for _, r in ipairs(order) do out[#out + 1] = ("%-28s%8d%10d%9d%9d"):format(r.name, r.count, r.arrivals, base + 8 * r.first, base + 8 * (r.first + r.count)) end
    out[#out + 1] = line
    for _, run in ipairs(self.layout.runs) do out[#out + 1] = ("[%d:%d) initialised with %d"):format(run.first, run.last + 1, run.arrivals) end
    out[#out + 1] = ("%d mbarriers, %d B"):format(self.layout.used, 8 * self.layout.used)
    return table.concat(out, "\n") .. "\n"
  end

  function weir.barrier_allocator(options)
    fields("barrier_allocator", options or {}, "smem", 3, true)
    local smem = options and options.smem
    if smem and getmetatable(smem) ~= space then fail "barrier_allocator: smem is an smem_allocator" end
    if smem and (smem.bars or smem.layout or smem.space ~= "smem") then fail "barrier_allocator: this smem_allocator has mbarriers, or its layout, already" end
    local self = setmetatable({ smem = smem, records = {}, of = {} }, bars)
    if smem then smem.bars = self end
    return self
  end
end
