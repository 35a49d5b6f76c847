-- Kernels that work on the rows of a matrix: what rms_norm, layer_norm, softmax and reduce share.
--
-- A row belongs to a CTA, or to a warp when it is short. It is read once, 16 bytes a thread and access, and stays in registers
-- while it is reduced as often as the kernel needs. Rows too long for that, and rows whose base, pitch or length are no multiple of
-- 16 bytes, are read again from L2 for each pass, the latter by single elements.
--
-- A kernel is described by C expressions of an element: `v`, the columns' operands by their names, and what earlier steps left.
local weir = require "weir"
local common = require "weir.kernels.common"
local M = {}

local CTYPE = { bf16 = "bf16", f16 = "f16", f32 = "float" }

---@class weir.kernels.rows.step
---@field name string        the float that holds the result
---@field op "sum"|"max"|"min"
---@field let? string        statement before, per element, that may change v
---@field each string        what is reduced
---@field after? string      statements that follow, once per row

---@class weir.kernels.rows.spec
---@field name string
---@field n integer                                 longest row
---@field dtype weir.dtype                          of the inputs
---@field inputs string[]                           names of { M, N } operands; the first is the one whose length counts
---@field value? string                             v, from the inputs' elements; default: the first input
---@field round? boolean                            v is rounded to the inputs' dtype, as it is stored
---@field columns? { name: string, dtype: weir.dtype }[]      { N } operands
---@field scalars? string[]                         f32 launch arguments
---@field consts? table<string, number>
---@field steps weir.kernels.rows.step[]
---@field outputs? { name: string, dtype: weir.dtype, value: string }[]        { M, N }
---@field results? { name: string, dtype: weir.dtype, value: string }[]        { M }, one per row
---@field before? string                            statements before the row is read
---@field arch? string
---@field pdl? boolean                              overlap with the kernels before and after in the stream; true if left out
---@field config? weir.kernels.rows.config

---@class weir.kernels.rows.config
---@field threads? integer   of a CTA
---@field per_row? "warp"|"cta"
---@field chunks? integer    16-byte vectors a thread holds; 0: the row is read again for each step

--- How a row is spread: at most 4 vectors in a thread keep it under 64 registers, so that 2048 threads of an SM have 16 bytes x 4 in
--- flight, more than what bandwidth times latency asks for (some 32 KB an SM).
--- A thread of a CTA of 1024 has 64 registers: room for one input.
---@param inputs? integer    how many are read
---@return weir.kernels.rows.config
function M.choose(dtype, n, inputs)
  local vectors = (n * weir.dtype_size(dtype) + 15) // 16
  if vectors <= 128 then return { per_row = "warp", threads = 256, chunks = (vectors + 31) // 32 } end
  local threads = math.max(128, ((vectors + 3) // 4 + 31) // 32 * 32)
  if threads > (inputs and inputs > 1 and 640 or 1024) then return { per_row = "cta", threads = 512, chunks = 0 } end
  return { per_row = "cta", threads = threads, chunks = (vectors + threads - 1) // threads }
end

--- Configurations worth a try: the row over fewer or more threads.
---@return weir.kernels.rows.config[]
function M.candidates(dtype, n, inputs)
  local list, vectors = { M.choose(dtype, n, inputs) }, (n * weir.dtype_size(dtype) + 15) // 16
  if vectors <= 256 then list[#list + 1] = { per_row = "warp", threads = 256, chunks = (vectors + 31) // 32 } end
  for chunks = 1, 8 do
    local threads = ((vectors + chunks - 1) // chunks + 31) // 32 * 32
    if threads >= 128 and threads <= 1024 and threads ~= list[1].threads then list[#list + 1] = { per_row = "cta", threads = threads, chunks = chunks } end
  end
  return list
end

--- Launch arguments for a trial: m rows of n elements, and small scalars.
---@param s weir.kernels.rows.spec
---@param m integer
---@param device weir.device
---@return table<string, weir.argument>
function M.example(s, m, device)
  local args = {}
  local function tensor(name, dtype, shape) args[name:upper()] = assert(device:tensor { dtype = dtype, shape = shape }):randn(#name) end
  for _, name in ipairs(s.inputs) do tensor(name, s.dtype, { m, s.n }) end
  for _, t in ipairs(s.columns or {}) do tensor(t.name, t.dtype, { s.n }) end
  for _, t in ipairs(s.outputs or {}) do tensor(t.name, t.dtype, { m, s.n }) end
  for _, t in ipairs(s.results or {}) do tensor(t.name, t.dtype, { m }) end
  for _, name in ipairs(s.scalars or {}) do args[name] = 1e-2 end
  return args
end

local COMBINE = { sum = "%s + %s", max = "fmaxf(%s, %s)", min = "fminf(%s, %s)" }
local NEUTRAL = { sum = "0.f", max = "-__int_as_float(0x7f800000)", min = "__int_as_float(0x7f800000)" }

-- Text with each whole word `name` replaced.
local function replace(text, name, by) return (text:gsub("%f[%w_]" .. name .. "%f[^%w_]", (by:gsub("%%", "%%%%")))) end

-- The CUDA body of a row.
local function code(s, c)
  local out, depth = {}, 0
  local function put(text, ...)
    if select("#", ...) > 0 then text = text:format(...) end
    if text:match "^}" then depth = depth - 1 end
    out[#out + 1] = (" "):rep(2 * depth + 4) .. text
    if text:match "{$" then depth = depth + 1 end
  end
  local cta = c.per_row == "cta"
  local vec, first = 16 // weir.dtype_size(s.dtype), s.inputs[1]
  local columns, outputs, results = s.columns or {}, s.outputs or {}, s.results or {}
  local lets = false
  for _, step in ipairs(s.steps) do lets = lets or step.let ~= nil end

  put("constexpr i32 VEC = %d;", vec)
  put("const i32 n = %s_shape[1], me = (i32)%s, lanes = %s;", first, cta and "tid" or "lane", cta and "(i32)nthreads" or "32")
  if not cta then
    put "row += (i32)warp;"
    put("if (row >= %s_shape[0]) return;", first)
  end
  local packs, pointers = {}, {}
  local function pack(dtype)                              -- VEC elements, moved together
    if not packs[dtype] then
      packs[dtype] = "pack_" .. dtype
      put("struct alignas(%d) %s { %s e[VEC]; };", math.min(16, vec * weir.dtype_size(dtype)), packs[dtype], CTYPE[dtype])
    end
    return packs[dtype]
  end
  local loads = {}                                        -- { name, pack, zero, from }: what a chunk reads, inputs first
  for _, name in ipairs(s.inputs) do
    put("const %s *%s_row = %s + (i64)row * %s_stride[0];", CTYPE[s.dtype], name, name, name)
    loads[#loads + 1] = { name = name, pack = pack(s.dtype), zero = CTYPE[s.dtype] .. "(0.f)", from = name .. "_row" }
  end
  for _, t in ipairs(columns) do loads[#loads + 1] = { name = t.name, pack = pack(t.dtype), zero = CTYPE[t.dtype] .. "(0.f)", from = t.name } end
  for _, l in ipairs(loads) do pointers[#pointers + 1] = "(u64)" .. l.from end
  for _, t in ipairs(outputs) do
    pack(t.dtype)
    put("%s *%s_row = %s + (i64)row * %s_stride[0];", CTYPE[t.dtype], t.name, t.name, t.name)
    pointers[#pointers + 1] = "(u64)" .. t.name .. "_row"
  end
  put("const bool wide = n %% VEC == 0 && ((%s) & 15) == 0;", table.concat(pointers, " | "))
  if s.before then put(s.before) end

  -- v of element e, from packs of the inputs.
  local function value(of)
    local text = s.value or first
    for _, name in ipairs(s.inputs) do text = replace(text, name, "(float)" .. of(name) .. ".e[e]") end
    return s.round and ("(float)%s(%s)"):format(CTYPE[s.dtype], text) or text
  end

  -- All of it. held: the row in registers, in whole vectors; else read for each pass, by vectors where `wide`.
  local function passes(held)
    local function chunks(f)
      if held then
        put "#pragma unroll"
        put("for (i32 c = 0; c < %d; c++) {", c.chunks)
        put "const i32 i = (c * lanes + me) * VEC;"
        put "if (i >= n) continue;"
      else
        if c.chunks == 0 then put "#pragma unroll 4" end
        put "for (i32 i = me * VEC; i < n; i += lanes * VEC) {"
      end
      f()
      put "}"
    end
    local function elements(f)
      put "#pragma unroll"
      put "for (i32 e = 0; e < VEC; e++) {"
      f()
      put "}"
    end
    local function read(first_load, last_load)            -- packs q_<name> of chunk i
      for j = first_load, last_load do
        local l = loads[j]
        put("%s q_%s;", l.pack, l.name)
        if c.chunks == 0 then put("if (wide) q_%s = *(const %s *)(%s + i); else", l.name, l.pack, l.from) end
        put("for (i32 e = 0; e < VEC; e++) q_%s.e[e] = i + e < n ? %s[i + e] : %s;", l.name, l.from, l.zero)
      end
    end
    local function element(done)                          -- v, with what the first `done` steps made of it
      if held then
        put(lets and "float &v = f[c][e];" or "float v = %s;", not lets and value(function(name) return "h_" .. name .. "[c]" end) or nil)
      else
        put("float v = %s;", value(function(name) return "q_" .. name end))
        for j = 1, done do if s.steps[j].let then put(s.steps[j].let) end end
      end
    end
    if held then                                          -- every load before the first use
      for j = 1, #s.inputs do put("%s h_%s[%d];", loads[j].pack, loads[j].name, c.chunks) end
      chunks(function()
        for j = 1, #s.inputs do put("h_%s[c] = *(const %s *)(%s + i);", loads[j].name, loads[j].pack, loads[j].from) end
      end)
      if lets then
        put("float f[%d][VEC];", c.chunks)
        chunks(function() elements(function() put("f[c][e] = %s;", value(function(name) return "h_" .. name .. "[c]" end)) end) end)
      end
    end
    for number, step in ipairs(s.steps) do
      local name, combine, at = step.name, COMBINE[step.op], 32 * (number - 1)
      put("float %s = %s;", name, NEUTRAL[step.op])
      chunks(function()
        if not held then read(1, #s.inputs) end
        elements(function()
          if not held then put "if (i + e >= n) break;" end
          element(number - 1)
          if step.let then put(step.let) end
          put("%s = %s;", name, combine:format(name, step.each))
        end)
      end)
      put("for (u32 o = 16; o; o /= 2) %s = %s;", name, combine:format(name, ("__shfl_xor_sync(0xffffffffu, %s, o)"):format(name)))
      if cta then
        put("if (lane == 0) smem[%d + warp] = %s;", at, name)
        put "task_sync();"
        put("%s = smem[%d];", name, at)
        put("for (u32 o = 1; o < nthreads / 32; o++) %s = %s;", name, combine:format(name, ("smem[%d + o]"):format(at)))
      end
      if step.after then put(step.after) end
    end
    for _, t in ipairs(results) do put("if (me == 0) %s[row] = %s(%s);", t.name, CTYPE[t.dtype], t.value) end
    if #outputs > 0 then
      chunks(function()
        if not held then read(1, #loads) end
        for j = held and #s.inputs + 1 or #loads + 1, #loads do
          put("const %s q_%s = *(const %s *)(%s + i);", loads[j].pack, loads[j].name, loads[j].pack, loads[j].from)
        end
        for _, t in ipairs(outputs) do put("pack_%s o_%s;", t.dtype, t.name) end
        elements(function()
          element(#s.steps)
          for _, t in ipairs(outputs) do
            local text = t.value
            for _, column in ipairs(columns) do
              text = replace(text, column.name, ("(float)q_%s.e[e]"):format(column.name))
            end
            put("o_%s.e[e] = %s(%s);", t.name, CTYPE[t.dtype], text)
          end
        end)
        for _, t in ipairs(outputs) do
          local whole = ("*(pack_%s *)(%s_row + i) = o_%s;"):format(t.dtype, t.name, t.name)
          local each = ("for (i32 e = 0; e < VEC; e++) if (i + e < n) %s_row[i + e] = o_%s.e[e];"):format(t.name, t.name)
          put(held and whole or c.chunks > 0 and each or ("if (wide) %s else %s"):format(whole, each))
        end
      end)
    end
  end
  if c.chunks > 0 then
    put "if (wide) {"
    passes(true)
    put "} else {"
    passes(false)
    put "}"
  else
    passes(false)
  end
  return table.concat(out, "\n")
end

--- The kernel that a description stands for. Operands are the names of the description in capitals.
---@param s weir.kernels.rows.spec
---@return weir.kernel, weir.kernels.rows.config
function M.kernel(s)
  local c = common.with(M.choose(s.dtype, s.n, #s.inputs), common.options(s.name .. ": config", s.config or {}, "threads per_row chunks"))
  if c.threads % 32 ~= 0 or c.threads < 32 or c.threads > 1024 then error(s.name .. ": config.threads is a multiple of 32 up to 1024", 0) end
  local lanes = c.per_row == "cta" and c.threads or 32
  local longest = c.chunks > 0 and lanes * c.chunks * (16 // weir.dtype_size(s.dtype)) or nil
  if longest and longest < s.n then
    error(("%s: %d threads with %d vectors hold rows of %d elements, n is %d"):format(s.name, lanes, c.chunks, longest, s.n), 0)
  end
  local k = weir.kernel { name = s.name, arch = s.arch or "sm_90a" }
  local dm, dn = k:dim "M", k:dim("N", { max = longest })
  local bind, parameters, values = {}, { "i32 row" }, {}
  local function tensor(name, dtype, shape, out) bind[name] = k:tensor { name = name:upper(), dtype = dtype, shape = shape, out = out } end
  for _, name in ipairs(s.inputs) do tensor(name, s.dtype, { dm, dn }) end
  for _, t in ipairs(s.columns or {}) do tensor(t.name, t.dtype, { dn }) end
  for _, t in ipairs(s.outputs or {}) do tensor(t.name, t.dtype, { dm, dn }, true) end
  for _, t in ipairs(s.results or {}) do tensor(t.name, t.dtype, { dm }, true) end
  for _, name in ipairs(s.scalars or {}) do
    parameters[#parameters + 1] = "f32 " .. name
    values[#values + 1] = k:scalar { name = name, dtype = "f32" }
  end
  local work = { row = weir.producer_work { params = table.concat(parameters, ", "), code = code(s, c) } }
  local rows
  if c.per_row == "cta" then                              -- shared memory for the warps' parts of each reduction
    rows = k:resource { name = "rows", space = "smem", dtype = "f32", tile = { 32 * #s.steps }, bind = bind, const = s.consts, work = work }
  else
    rows = k:resource { name = "rows", space = "gmem", bind = bind, const = s.consts, work = work }
  end
  local per_cta = c.per_row == "cta" and 1 or c.threads // 32
  local wq = k:work_queue { name = "wq", kind = "grid", axes = { "row" }, extent = { weir.ceil_div(dm, per_cta) } }
  local wait, launch = common.overlap(k, s.pdl)
  k:task { name = "rows", warps = { 0, c.threads // 32 }, schedule = function()
    wait(); launch()
    for t in weir.work_tile_loop(wq) do
      rows:row(t.row * per_cta, table.unpack(values))
      wq:next()
    end
  end }
  return k, c
end

--- Builds it.
---@param s weir.kernels.rows.spec
---@param device? weir.device
---@return weir.kernels.ready
function M.build(s, device)
  local k, c = M.kernel(s)
  return common.ready({ { program = k:build { device = device }, pdl = s.pdl } }, c)
end

return M
