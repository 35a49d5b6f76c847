#!/usr/bin/env lua5.4
-- Names: whatever C++, CUDA, the C library, the device preamble or the emitter means by a word, an author's kernel, task, tensor, scalar,
-- dim or resource may have it; what the author's own CUDA uses as it is, is refused at its line. Where NVRTC is found it must take the
-- source too.
local tap = require "tap"
local weir = require "weir"
local P, cd = weir.pipeline, weir.ceil_div
local dev = assert(weir.device("sim", { seed = 3 }))

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- ---- words ----------------------------------------------------------------------------------------------------------------------

local words, seen = {}, {}
local function add(text)
  for word in text:gmatch "[%a_][%w_]*" do
    if not seen[word] then seen[word], words[#words + 1] = true, word end
  end
end
add [[alignas alignof and asm auto bitand bitor bool break case catch char char16_t class compl concept const constexpr const_cast continue co_await decltype default
  delete do double else enum explicit export extern false final float for friend goto if import inline int long module mutable namespace near new noexcept not
  not_eq nullptr operator or override private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert struct
  switch template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor _Bool _Generic]]
add [[sqrt memcpy memset strlen malloc free printf exit abort abs floor ceil exp exp2 exp2f log log2f pow fabs fmin fmax fminf fmaxf fabsf floorf round y0 y1 yn j0 j1 jn
  gamma signal time clock read write open index div remove raise system random rand assert errno stdin stdout NULL EOF NAN INFINITY M_PI INT32_MAX UINT64_MAX SIZE_MAX
  HUGE_VAL RAND_MAX FP_NAN FLT_MAX DBL_EPSILON INT_MIN ULLONG_MAX CHAR_BIT LONG_MAX linux unix i386 isnan isinf signbit offsetof alloca size_t ptrdiff_t wchar_t uint ulong ushort uint8_t int32_t max_align_t time_t std main]]
add [[__global__ __device__ __shared__ __launch_bounds__ __restrict__ __forceinline__ __syncthreads __syncwarp __shfl_sync __ldg threadIdx blockIdx blockDim gridDim
  warpSize dim3 float2 float4 uint4 int2 half half2 __half nv_bfloat16 make_float2 make_uint4 atomicAdd atomicCAS clock64 min max rsqrtf sincosf normcdff
  cudaError_t cudaSuccess CUtensorMap cuda CUdeviceptr __CUDA_ARCH__ __LINE__ __FILE__ __func__ __x x__y _x _X]]
add [[i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 tf32 e4m3 e5m2 i0 i1 i7 i0_end v0 v1 v12 r3 p4 t0 t1 x0 x1 a b f h i j n q x y kk fh at row col out pairs first
  twist turn wtid ttid wg warp lane tid rank smem mbar smem_base iter stage bar elected tile nthreads task_sync ring_full ring_empty ring_stage ring_phase ring_at
  ring_smem wq_index wq_i wq_tiles wq_tiles_i wq_c0 wq_next wq_tile wq_counter X_map X_stride0 X_wide Y_pairs S w_n w_x W_X Int INT weir names_kernel]]
for _, file in ipairs { "weir_cuda.h", "weir_numbers.h", "weir_halves.h", "weir_sim.h", "weir_sim_cuda.h", "weir_probe.h", "primitives.def" } do
  local text = read("kernels/device/" .. file):gsub("//[^\n]*", "")
  for word in text:gmatch "#define%s+([%w_]+)" do add(word) end
  for word in text:gmatch "struct%s+([%w_]+)" do add(word) end
  for word in text:gmatch "[PTM]%([^\n]-([%w_]+), [<(]" do add(word) end
end
tap.ok(#words > 400, ("%d words"):format(#words))

-- ---- kernels ----------------------------------------------------------------------------------------------------------------------

local T, N = 32, 40

-- A copy of X through a ring into Y in two tasks; value(v, k) is what is stored of it. declare(k) comes first.
local function copy(o)
  local k = weir.kernel { name = o.name or "names_kernel", arch = "sm_90a" }
  local c = { k = k }
  if o.declare then o.declare(k, c) end
  local n = c.n or k:dim(o.dim or "N")
  local X = k:tensor { name = o.x or "X", dtype = "f32", shape = { n } }
  local Y = k:tensor { name = o.y or "Y", dtype = "f32", shape = { n }, out = true }
  local wq = k:work_queue { name = o.wq or "wq", axes = { "i" }, extent = { cd(n, T) } }
  local gx, gy = k:gmem_tile { name = o.gx or "gx", tensor = X, tile = { T } }, k:gmem_tile { name = "gy", tensor = Y, tile = { T } }
  local rings = {}
  for i, name in ipairs(o.rings or { "ring" }) do
    rings[i] = k:smem_tile { name = name, dtype = "f32", tile = { T }, pipeline = P.tma_async { stages = 2 } }
  end
  k:task { name = o.load or "load", warps = { 0, 1 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for _, ring in ipairs(rings) do ring:acquire() ring:tma_load(gx:at(t.i)) ring:commit() end
      wq:next()
    end
  end }
  k:task { name = o.store or "store", warps = { 4, 4 }, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for _, ring in ipairs(rings) do
        ring:wait()
        local v = ring:read():load()
        if o.value then v = o.value(v, c, t) end
        for _ = 1, o.loops or 1 do
          if o.loops then
            for j in weir.domain_loop(0, 1) do gy:store(v, gy:at(t.i + j)) end
          else
            gy:store(v, gy:at(t.i))
          end
        end
        ring:release()
      end
      wq:next()
    end
  end }
  return k
end

local function sum(list, from, to) -- balanced: text has no deeper parentheses than it must
  if from == to then return list[from] end
  local mid = (from + to) // 2
  return sum(list, from, mid) + sum(list, mid + 1, to)
end

-- Runs it; every element must be x + more. NVRTC takes the text as well.
local nvrtc = true
local function check(what, k, args, more, x, y, n)
  local ok, p = pcall(k.build, k, { device = dev })
  if not ok then return tap.ok(false, what .. ": " .. tostring(p):sub(1, 300)) end
  if nvrtc then
    local cubin, message, code = p:cubin()
    if code == "no_compiler" then nvrtc = false
    elseif not cubin then return tap.ok(false, what .. ", NVRTC: " .. message:sub(1, 600)) end
  end
  local from = {}
  for i = 1, N do from[i] = i % 7 end
  args[x or "X"], args[y or "Y"] = dev:tensor { dtype = "f32", shape = N }:set(from), dev:tensor { dtype = "f32", shape = N }
  args[n or "N"] = N
  local done, why = p:launch(args)
  if not done then return tap.ok(false, what .. ": " .. why:sub(1, 600)) end
  for i = 1, N do from[i] = from[i] + more end
  tap.is(from, args[y or "Y"]:get(), what)
end

-- Scalars, dims and tensors with their tiles, as many as a launch takes; each has a number of its own.
local MANY = 60
for from = 1, #words, MANY do
  local args, more, to = {}, 0, math.min(from + MANY - 1, #words)
  check(("words %d to %d are arguments"):format(from, to), copy {
    x = "tensor_x", y = "tensor_y", rings = { "the_ring" }, wq = "the_queue",
    declare = function(k, c)
      c.n, c.list = k:dim "dim_n", {}
      for i = from, to do
        local name, kind = words[i], (i + i // MANY) % 3
        args[name], more = i, more + i
        if kind == 0 then
          local x = k:tensor { name = name, dtype = "f32", shape = { 1, c.n } }
          c.list[#c.list + 1] = k:gmem_tile { name = name, tensor = x, tile = { 1, T } }
          args[name] = dev:tensor { dtype = "f32", shape = { 1, N } }:fill(i)
        else c.list[#c.list + 1] = kind == 1 and weir.cast(k:dim(name), "f32") or k:scalar { name = name, dtype = "f32" } end
      end
    end,
    value = function(v, c, t)
      local list = {}
      for i, x in ipairs(c.list) do list[i] = (from + i - 1 + (from + i - 1) // MANY) % 3 == 0 and x:at(0, t.i):load() or x end
      return v + sum(list, 1, #list)
    end,
  }, args, more, "tensor_x", "tensor_y", "dim_n")
end

-- Rings, whose barriers, cursors and storage are named after them.
for from = 1, #words, MANY do
  local list = table.move(words, from, math.min(from + MANY - 1, #words), 1, {})
  check(("words %d to %d are rings"):format(from, from + #list - 1), copy { rings = list, wq = "the_queue" }, {}, 0)
end

-- One at a time: kernels (NVRTC's own functions, types and macros among them), queues, tasks; register tiles in a warpgroup.
for i, word in ipairs { "sqrt", "memcpy", "size_t", "__global__", "int", "uint", "exp2f", "y0", "i32", "w_tid", "cudaSuccess", "NULL", "std", "main", "half", "nv_bfloat162", "p", "api" } do
  local ok, k = pcall(copy, { name = word, load = word, store = "w_" .. word })
  tap.ok(ok, ("kernel and task %s are described%s"):format(word, ok and "" or ": " .. tostring(k)))
  if ok then
    tap.is(word, k.name, ("kernel %s keeps its name"):format(word))
    if i <= 5 then check(("kernel %s"):format(word), k, {}, 0) -- the others are NVRTC's to refuse
    elseif nvrtc then
      local cubin, message = k:build({ device = dev }):cubin()
      tap.ok(cubin, ("kernel %s, NVRTC%s"):format(word, cubin and "" or ": " .. message:sub(1, 600)))
    end
  end
end
for _, word in ipairs { "int", "w", "size" } do check(("work queue %s"):format(word), copy { wq = word }, {}, 0) end
check("kernel, tensors, dim, scalar and ring of one name each", copy {
  name = "ring", x = "wq", y = "load", dim = "gx", rings = { "ring" }, declare = function(k, c) c.s = k:scalar { name = "ring", dtype = "f32" } end,
  value = function(v, c) return v + c.s end,
}, { ring = 5 }, 5, "wq", "load", "gx")
check("scalars named like what belongs to the ring, the queue and the loops", copy {
  declare = function(k, c)
    c.list = {}
    for i, name in ipairs { "ring_full", "ring_empty", "ring_stage", "ring_smem", "wq_i", "wq_tiles_i", "wq_index", "i0", "i0_end", "v9", "X_map", "Y_wide" } do
      c.list[i] = k:scalar { name = name, dtype = "f32" }
    end
  end,
  value = function(v, c) return v + sum(c.list, 1, #c.list) end,
}, { ring_full = 1, ring_empty = 2, ring_stage = 4, ring_smem = 8, wq_i = 16, wq_tiles_i = 32, wq_index = 64, i0 = 128, i0_end = 256, v9 = 512, X_map = 1024, Y_wide = 2048 }, 4095)
check("names of 3000 letters", copy { name = ("n"):rep(3000), rings = { ("r"):rep(3000) } }, {}, 0)

-- Register tiles: each named by a word, set and read in one warpgroup, beside a tensor of the same name.
do
  local names = { "int", "i32", "x", "row", "v3", "acc", "fminf", "w_min", "turn", "out", "Y", "NULL", "lane", "wtid", "f", "i" }
  local k = weir.kernel { name = "registers", arch = "sm_90a" }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { 64, 8 }, out = true }
  local gy = k:gmem_tile { name = "gy", tensor = Y, tile = { 64, 8 } }
  local tiles = {}
  for i, name in ipairs(names) do tiles[i] = k:reg_tile { name = name, dtype = "f32", tile = { 64, 8 } } end
  k:task { name = "only", warps = { 0, 4 }, schedule = function()
    for i, tile in ipairs(tiles) do tile:set(tile:row_index() * 0.0 + i) end
    local v = tiles[1]:read()
    for i = 2, #tiles do v = v + tiles[i]:read() end
    gy:store(v, gy:at(0, 0))
  end }
  local y = dev:tensor { dtype = "f32", shape = { 64, 8 } }
  local p = k:build { device = dev }
  local ok, why = p:launch({ Y = y }, { grid = 1 })
  tap.ok(ok, "register tiles: " .. tostring(why))
  local want = {}
  for i = 1, 512 do want[i] = #names * (#names + 1) / 2 end
  tap.is(want, y:get(), "register tiles: every one is its own")
end

-- Seventy loops, one after the other: the 8th, 16th, 32nd and 64th index is no type.
do
  local k = copy { loops = 70 }
  tap.like("for (i32 i32_ = ", k:source(), "the 33rd index")
  check("seventy loops", k, {}, 0)
end

-- A chunk may be called anything too.
for _, name in ipairs { 'a "quoted" one', "back\\slash\\", "two\nlines", "per%cent %s" } do
  local k = assert(load([[
    local weir = ...
    local k = weir.kernel { name = "chunk", arch = "sm_90a" }
    local Y = k:tensor { name = "Y", dtype = "f32", shape = { 1 }, out = true }
    local r = k:resource { name = "r", space = "gmem", bind = { y = Y }, work = { go = weir.consumer_work { code = "if (tid == 0) y[0] = 7.f;" } } }
    k:task { name = "only", warps = { 0, 1 }, schedule = function() r:go() end }
    return k]], "=" .. name))(weir)
  local y = dev:tensor { dtype = "f32", shape = 1 }
  tap.ok(k:build({ device = dev }):launch({ Y = y }, { grid = 1 }), ("a chunk called %q"):format(name))
  tap.is({ 7 }, y:get(), ("a chunk called %q: run"):format(name))
end

-- ---- what is refused --------------------------------------------------------------------------------------------------------------

local function refused(wanted, name, f)
  local err = tap.raises("[M-NAME]", f, name .. " is refused")
  tap.like("names.t:", tostring(err), name .. ": at its line")
  tap.like(wanted, tostring(err), name .. ": and why")
end
for _, word in ipairs { "", "1x", "a b", "a-b", "ä", "a\nb", "a;int z" } do
  refused(word == "" and "has no name" or "is no C identifier", ("a ring named %q"):format(word), function() return copy { rings = { word } }:build { device = dev } end)
  tap.raises("is no C identifier", function() return copy { name = word } end, ("a kernel named %q is refused"):format(word))
end
local function body(o)
  local k = weir.kernel { name = "body", arch = "sm_90a" }
  local Y = k:tensor { name = "Y", dtype = "f32", shape = { 64 }, out = true }
  local r = k:resource { name = "r", space = "gmem", bind = { [o.bind or "y"] = Y }, const = { [o.const or "C"] = 2 },
    work = { go = weir.consumer_work { params = o.params, returns = o.returns, code = o.code or "if (tid == 0) y[0] = C;" } } }
  k:task { name = "only", warps = { 0, 1 }, schedule = function() if o.params then r:go(1) else r:go() end end }
  return k:build { device = dev }
end
for _, word in ipairs { "int", "u32", "NULL", "w_ptr", "__x", "tid", "iter", "elected", "tile", "bar" } do
  local free = word:find "^[tieb]" and word ~= "int"
  local why = word == "int" and "a word of C++" or word == "u32" and "a type of the device preamble" or word == "NULL" and "a macro" or word == "w_ptr" and "(w_)"
    or word == "__x" and "for the compiler" or free and "what every body is given"
  refused(("'%s' is "):format(word), "bind " .. word, function() body { bind = word } end)
  refused(why, "const " .. word, function() body { const = word } end)
  refused(why, "parameter " .. word, function() body { params = "i32 " .. word } end)
  refused(why, "return " .. word, function() body { returns = "i32 " .. word } end)
end
refused("'y_shape' is the shape of a bound tensor already", "a const like a bind's shape", function() body { const = "y_shape" } end)
refused("'y' is a bound tensor already", "a parameter like a bind", function() body { params = "i32 y" } end)
refused("'C' is a const already", "a return like a const", function() body { returns = "i32 C" } end)
refused("'n' is a parameter already", "a return like a parameter", function() body { params = "i32 n", returns = "i32 n" } end)
refused("'__global__' is reserved for the compiler", "an axis", function()
  local k = weir.kernel { name = "axis", arch = "sm_90a" }
  k:work_queue { name = "wq", axes = { "__global__" }, extent = { 1 } }
  k:build { device = dev }
end)
if not nvrtc then tap.skip "NVRTC is not found: no source was compiled for a GPU" end
tap.done()
