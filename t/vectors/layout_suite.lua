-- Runs layout.lua against the core: `t` has ok(condition, name) and is(want, got, name), `core` is weir_test.

local text
function text(list)
  local words = {}
  for i, x in ipairs(list) do words[i] = type(x) == "table" and text(x) or tostring(x) end
  return "{ " .. table.concat(words, ", ") .. " }"
end

local function refuses(t, id, part, ok, why)
  t.ok(not ok and why:find(part, 1, true), ("%s: refused, saying '%s'"):format(id, part))
end

local function placed(t, core, v, align_of_columns)
  local items = {}
  for i, r in ipairs(v.items) do
    items[i] = { name = r[1], size = r[2], align = align_of_columns or r[3], group = r[4], phase = r[5] }
  end
  local total, offsets, saved = core.place(items, v.groups)
  if v.refused then return refuses(t, v.id, v.refused, total, offsets) end
  t.is(v.total, total, v.id .. ": total")
  t.is(text(v.offsets), text(offsets or {}), v.id .. ": offsets")
  t.is(v.saved, saved, v.id .. ": bytes saved by aliasing")
  if v.rounded then t.is(v.rounded, core.tmem_columns(total or 0), v.id .. ": columns asked for") end
  -- What any placement must satisfy: alignment, and no overlap but between phases of one group.
  for i, a in ipairs(items) do
    t.ok(offsets and offsets[i] % a.align == 0, ("%s: %s is aligned to %d"):format(v.id, a.name, a.align))
    for j = 1, i - 1 do
      local b = items[j]
      local apart = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
      local share = a.group and a.group == b.group and a.phase ~= b.phase
      t.ok(apart or share, ("%s: %s and %s do not overlap"):format(v.id, a.name, b.name))
    end
  end
end

-- Fields of a row and what the core calls them.
local tile_fields = { panels = "panels", panel_cols = "panel_cols", row = "row_bytes", bytes = "bytes", align = "align" }
local operand_fields = { layout = "layout", sbo = "sbo", k_step = "k_step_bytes", k_per_panel = "k_per_panel",
                         k_panel = "k_panel_bytes", m64 = "m64_bytes", mn_step = "mn_step_bytes" }

local function tile(t, core, v)
  local g, why = core.tile(v)
  if v.refused then return refuses(t, v.id, v.refused, g, why) end
  g = g or {}
  for want, got in pairs(tile_fields) do t.is(v[want], g[got], ("%s: %s"):format(v.id, got)) end
end

local function operand(t, core, v)
  local o, why = core.operand(v, v.transposed, v.n)
  if v.refused then return refuses(t, v.id, v.refused, o, why) end
  o = o or {}
  t.is(v.transposed or false, o.mn_major, v.id .. ": MN-major")
  for want, got in pairs(operand_fields) do t.is(v[want], o[got], ("%s: %s"):format(v.id, got)) end
  if v.transposed then t.is(v.lbo, o.lbo, v.id .. ": lbo") end -- not read from a swizzled K-major operand
end

return function(t, layout, core)
  for _, v in ipairs(layout.smem) do placed(t, core, v) end
  for _, v in ipairs(layout.tmem) do placed(t, core, v) end
  for _, v in ipairs(layout.arch) do
    local c = core.capacity(v.sm)
    t.is(v.smem, c.smem, v.id .. ": shared memory")
    t.is(v.tmem, c.tmem_columns, v.id .. ": tensor memory")
    t.is(65536, c.registers, v.id .. ": registers")
  end
  for _, v in ipairs(layout.barriers) do
    local items = {}
    for i, r in ipairs(v.items) do items[i] = { name = r[1], count = r[2], arrivals = r[3] } end
    local used, first, runs = core.barriers(items)
    t.is(v.used, used, v.id .. ": barriers used")
    t.is(text(v.first), text(first), v.id .. ": index of each")
    t.is(text(v.runs), text(runs), v.id .. ": runs of equal count")
  end
  for _, v in ipairs(layout.tiles) do tile(t, core, v) end
  for _, v in ipairs(layout.operands) do operand(t, core, v) end
end
