-- Layouts by hand: records are added, laid out once, and reported. The placing itself is the plan's (weir.place_records, weir.place_barriers).
--
--   local smem = weir.smem_allocator { arch = "sm_90a" }
--   smem:add { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, stages = 4 }
--   smem:add { name = "scratch", size = 4096, align = 128 }
--   smem:alias { { "a" }, { "scratch" } }              -- phases that share bytes in time
--   local layout = smem:compute_layout()               -- { { name, offset, size }, ..., total, saved, capacity }
--   local bars = weir.barrier_allocator()
--   bars:add { name = "a", stages = 4, producers = 1, consumers = 4 }
--   bars:add_group { name = "ab", mode = "fused_merge", stages = 4, members = { { name = "a", producers = 1, consumers = 2 }, ... } }
--   bars:compute_layout()                              -- { { name, first, count, arrivals }, ..., runs, used }
return function(weir)
  local function fail(...) error(select("#", ...) > 1 and (...):format(select(2, ...)) or ..., 3) end
  -- What the core raises, at the caller's line.
  local function call(f, desc)
    local ok, a, b = pcall(f, desc)
    if not ok then error(tostring(a):gsub("^[^:]+:%d+: ", ""):gsub("^weir%.[%w_]+: ", ""), 3) end
    return a, b
  end

  local space = {}
  space.__index = space

  function space:add(r)
    if self.layout then fail("%s: '%s' comes after compute_layout()", self.what, tostring(r.name)) end
    local size, align = r.size, r.align
    if r.dtype then size, align = call(weir.tile_bytes, { dtype = r.dtype, tile = r.tile, swizzle = r.swizzle, stages = r.stages, threads = r.threads }) end
    if self.of[r.name] then fail("%s: '%s' is added twice", self.what, r.name) end
    if not size then fail("%s: '%s' needs a size, or a dtype and a tile", self.what, tostring(r.name)) end
    local record = { name = r.name, size = size, align = r.align or align or 1 }
    self.records[#self.records + 1] = record
    self.of[r.name] = record
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
    self.layout = call(weir.place_records, { arch = self.arch, space = self.space, records = self.records })
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
    put("total %d %s of %d", self.layout.total, unit, self.layout.capacity)
    if self.layout.saved > 0 then put("saved %d %s by phases that share %s in time", self.layout.saved, unit, unit == "B" and "bytes" or "columns") end
    return table.concat(out, "\n") .. "\n"
  end

  local function new(kind, options)
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
  function bars:add(r)
    if self.layout then fail("barrier_allocator: '%s' comes after compute_layout()", tostring(r.name)) end
    if r.count then return take(self, { { name = r.name, count = r.count, arrivals = r.arrivals } }) end
    return take(self, call(weir.barrier_records, { name = r.name, stages = r.stages, members = { { name = r.name, producers = r.producers, consumers = r.consumers } } }))
  end

  function bars:add_group(g)
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
    local out, order, line = { "\n[barrier-layout] Barrier Usage Report", ("%-28s%8s%10s%9s%9s"):format("name", "count", "arrivals", "offset", "end") }, {}, ("-"):rep(64)
    for i, r in ipairs(self.layout) do order[i] = r end
    table.sort(order, function(x, y) return x.first < y.first end)
    out[#out + 1] = line
    for _, r in ipairs(order) do out[#out + 1] = ("%-28s%8d%10d%9d%9d"):format(r.name, r.count, r.arrivals, 8 * r.first, 8 * (r.first + r.count)) end
    out[#out + 1] = line
    for _, run in ipairs(self.layout.runs) do out[#out + 1] = ("[%d:%d) initialised with %d"):format(run.first, run.last + 1, run.arrivals) end
    out[#out + 1] = ("%d mbarriers, %d B"):format(self.layout.used, 8 * self.layout.used)
    return table.concat(out, "\n") .. "\n"
  end

  function weir.barrier_allocator() return setmetatable({ records = {}, of = {} }, bars) end
end
