-- Where bytes lie, by hand. Read by t/layout.t, altered by alter.lua.
--
-- items     { name, size, alignment [, alias group, phase] }; offsets in the same order
-- saved     bytes that aliasing saves: total with the groups dissolved, minus total
-- refused   part of the message

local layout = {}

layout.smem = {
  { id = "L01", items = { { "x", 100, 128 } },
    groups = 0, offsets = { 0 }, total = 100, saved = 0 },
  { id = "L02", items = { { "x", 100, 128 }, { "y", 100, 128 } },
    groups = 0, offsets = { 0, 128 }, total = 228, saved = 0 },
  { id = "L03", items = { { "p", 4, 4 }, { "x", 1024, 128 } },
    groups = 0, offsets = { 1024, 0 }, total = 1028, saved = 0 },
  { id = "L04", items = { { "p", 4, 4 }, { "q", 10, 16 }, { "x", 1000, 1024 }, { "y", 100, 128 } },
    groups = 0, offsets = { 1148, 1136, 0, 1024 }, total = 1152, saved = 0 },
  { id = "L05", items = { { "x", 33, 32 }, { "y", 16, 16 } },
    groups = 0, offsets = { 0, 48 }, total = 64, saved = 0 },
  { id = "L06", items = { { "A", 4096, 128, 1, 1 }, { "B", 4096, 128, 1, 1 }, { "s", 8192, 128, 1, 2 } },
    groups = 1, offsets = { 0, 4096, 0 }, total = 8192, saved = 8192 },
  { id = "L07", items = { { "a", 33, 32, 1, 1 }, { "b", 16, 16, 1, 1 }, { "c", 64, 64, 1, 2 } },
    groups = 1, offsets = { 0, 48, 0 }, total = 64, saved = 64 },
  { id = "L08", items = { { "A", 1000, 128, 1, 1 }, { "B", 500, 128, 1, 2 }, { "C", 200, 128, 1, 2 }, { "p", 4, 4 } },
    groups = 1, offsets = { 0, 0, 512, 1000 }, total = 1004, saved = 736 },
  { id = "L09", items = { { "A", 100, 128, 1, 1 }, { "B", 100, 256, 1, 1 }, { "C", 300, 16, 1, 2 } },
    groups = 1, offsets = { 0, 256, 0 }, total = 356, saved = 184 },
  { id = "L10", items = { { "A", 512, 128, 1, 1 }, { "B", 256, 128, 1, 2 }, { "C", 128, 128, 1, 3 } },
    groups = 1, offsets = { 0, 0, 0 }, total = 512, saved = 384 },
  { id = "L11", items = { { "A", 512, 1024, 1, 1 }, { "B", 512, 128, 2, 1 }, { "C", 700, 128, 1, 2 }, { "D", 700, 128, 2, 2 } },
    groups = 2, offsets = { 0, 768, 0, 768 }, total = 1468, saved = 1024 },
  { id = "L12", items = { },
    groups = 0, offsets = {  }, total = 0, saved = 0 },
  { id = "L13", items = { { "z", 0, 128 }, { "p", 4, 4 } },
    groups = 0, offsets = { 0, 0 }, total = 4, saved = 0 },
  { id = "L14", items = { { "t", 16384, 128 }, { "ptr", 4, 4 } },
    groups = 0, offsets = { 0, 16384 }, total = 16388, saved = 0 },
  { id = "L15", items = { { "t", 100, 128 } },
    groups = 0, offsets = { 0 }, total = 100, saved = 0 },
  { id = "L20", items = { { "x", 64, 128, 1, 1 }, { "y", 64, 128, 1, 2 } },
    groups = 1, offsets = { 0, 0 }, total = 64, saved = 128 },
  { id = "L21", items = { { "x", 64, 128, 1, 1 } },
    groups = 1, refused = "at least two" },
  { id = "L22", items = { { "x", 64, 24 } },
    groups = 0, refused = "24 is not a power of two" },
  { id = "L26", items = { { "ptr", 4, 4 }, { "a", 65536, 128 }, { "b", 8192, 128 } },
    groups = 0, offsets = { 73728, 0, 65536 }, total = 73732, saved = 0 },
}

-- Columns; rounded: what the hardware is asked for.
layout.tmem = {
  { id = "L16", items = { { "acc", 256, 1 }, { "sf", 16, 1 } },
    groups = 0, offsets = { 0, 256 }, total = 272, saved = 0, rounded = 512 },
  { id = "L17", items = { { "sp", 128, 1, 1, 1 }, { "vec", 2, 1, 1, 2 } },
    groups = 1, offsets = { 0, 0 }, total = 128, saved = 2, rounded = 128 },
  { id = "L18", items = { { "sp0", 128, 1, 1, 1 }, { "v0", 2, 1, 1, 2 }, { "sp1", 128, 1, 2, 1 }, { "v1", 2, 1, 2, 2 }, { "o",
    128, 1 } },
    groups = 2, offsets = { 128, 128, 256, 256, 0 }, total = 384, saved = 4, rounded = 512 },
  { id = "L16a", items = { { "c", 16, 1 } },
    groups = 0, offsets = { 0 }, total = 16, saved = 0, rounded = 32 },
}

-- Bytes of shared memory of a CTA and columns of tensor memory.
layout.arch = {
  { id = "sm_80", sm = 80, smem = 166912, tmem = 0 },
  { id = "sm_87", sm = 87, smem = 166912, tmem = 0 },
  { id = "sm_86", sm = 86, smem = 101376, tmem = 0 },
  { id = "sm_89", sm = 89, smem = 101376, tmem = 0 },
  { id = "sm_90", sm = 90, smem = 232448, tmem = 0 },
  { id = "sm_100", sm = 100, smem = 232448, tmem = 512 },
  { id = "sm_103", sm = 103, smem = 232448, tmem = 512 },
  { id = "sm_101", sm = 101, smem = 232448, tmem = 512 },
  { id = "sm_110", sm = 110, smem = 232448, tmem = 512 },
  { id = "sm_120", sm = 120, smem = 101376, tmem = 0 },
  { id = "sm_121", sm = 121, smem = 101376, tmem = 0 },
}

-- The array of mbarriers: { name, barriers, arrivals }; first: index of each; runs { begin, end, arrivals }.
layout.barriers = {
  { id = "B01", items = {
      { "pipe.full", 3, 1 }, { "pipe.empty", 3, 128 } },
    first = { 0, 3 }, used = 6, runs = { { 0, 3, 1 }, { 3, 6, 128 } } },
  { id = "B02", items = {
      { "warp_a", 1, 32 }, { "single", 1, 1 }, { "warp_b", 2, 32 } },
    first = { 1, 0, 2 }, used = 4, runs = { { 0, 1, 1 }, { 1, 4, 32 } } },
  { id = "B03", items = {
      { "p0.full", 1, 32 }, { "p0.empty", 1, 32 }, { "p1.full", 1, 32 }, { "p1.empty", 1, 32 }, { "p2.full", 1, 32 },
      { "p2.empty", 1, 32 }, { "p3.full", 1, 32 }, { "p3.empty", 1, 32 } },
    first = { 0, 1, 2, 3, 4, 5, 6, 7 }, used = 8, runs = { { 0, 8, 32 } } },
  { id = "B04", items = {
      { "SmemAb.full", 7, 1 }, { "SmemAb.empty", 7, 1 }, { "TmemC.full", 2, 1 }, { "TmemC.empty", 2, 128 } },
    first = { 0, 7, 14, 16 }, used = 18, runs = { { 0, 16, 1 }, { 16, 18, 128 } } },
  { id = "B05", items = {
      { "x", 20, 128 }, { "y", 20, 1 } },
    first = { 20, 0 }, used = 40, runs = { { 0, 20, 1 }, { 20, 40, 128 } } },
  { id = "B06", items = {},
    first = {  }, used = 0, runs = {} },
  { id = "B07", items = {
      { "x", 32, 1 } },
    first = { 0 }, used = 32, runs = { { 0, 32, 1 } } },
  { id = "B08", items = {
      { "x", 33, 1 } },
    first = { 0 }, used = 33, runs = { { 0, 33, 1 } } },
}

-- Tiles: dtype, extents, swizzle span; panels, bytes of a row and of the tile, alignment of its base.
layout.tiles = {
  { id = "T1", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, panels = 1, panel_cols = 64, row = 128, bytes = 16384,
    align = 1024 },
  { id = "T2", dtype = "bf16", tile = { 256, 64 }, swizzle = 128, panels = 1, panel_cols = 64, row = 128, bytes = 32768,
    align = 1024 },
  { id = "T3", dtype = "bf16", tile = { 128, 128 }, swizzle = 128, panels = 2, panel_cols = 64, row = 128, bytes = 32768,
    align = 1024 },
  { id = "T4", dtype = "bf16", tile = { 64, 32 }, swizzle = 64, panels = 1, panel_cols = 32, row = 64, bytes = 4096,
    align = 512 },
  { id = "T5", dtype = "f16", tile = { 64, 16 }, swizzle = 32, panels = 1, panel_cols = 16, row = 32, bytes = 2048,
    align = 256 },
  { id = "T6", dtype = "e4m3", tile = { 128, 128 }, swizzle = 128, panels = 1, panel_cols = 128, row = 128, bytes = 16384,
    align = 1024 },
  { id = "T7", dtype = "tf32", tile = { 64, 64 }, swizzle = 128, panels = 2, panel_cols = 32, row = 128, bytes = 16384,
    align = 1024 },
  { id = "T8", dtype = "f32", tile = { 64, 128 }, tma = true, panels = 1, panel_cols = 128, row = 512, bytes = 32768,
    align = 128 },
  { id = "T9", dtype = "f32", tile = { 3, 5 }, panels = 1, panel_cols = 5, row = 20, bytes = 60, align = 16 },
  { id = "T10", dtype = "bf16", tile = { 2, 4, 64 }, swizzle = 128, panels = 1, panel_cols = 64, row = 128, bytes = 1024,
    align = 1024 },
  { id = "T11", dtype = "bf16", tile = { 512 }, tma = true, panels = 1, panel_cols = 512, row = 1024, bytes = 1024,
    align = 128 },
  { id = "T12", dtype = "bf16", tile = { 128, 32 }, swizzle = 128, refused = "use swizzle = 64, or 64 columns" },
  { id = "T13", dtype = "bf16", tile = { 128, 96 }, swizzle = 128, refused = "use swizzle = 64, or 128 columns" },
  { id = "T14", dtype = "bf16", tile = { 12, 128 }, swizzle = 128, refused = "rows must be a multiple of 8" },
  { id = "T15", dtype = "bf16", tile = { 64, 64 }, swizzle = 96, refused = "span is 0, 32, 64 or 128" },
  { id = "T16", dtype = "bf16", tile = { 64, 4 }, tma = true, refused = "use 8 columns" },
  { id = "T17", dtype = "bf16", tile = { 64, 512 }, tma = true, refused = "at most 256" },
  { id = "T18", dtype = "bf16", tile = { 64, 0 }, refused = "extent 2 of the tile is 0" },
  { id = "T19", dtype = "bf16", tile = { 1, 1, 1, 1, 1, 1 }, refused = "1 to 5 extents" },
  { id = "T20", dtype = "bf17", tile = { 64, 64 }, refused = "needs a dtype" },
}

-- Operands of wgmma: the tile, whether it is read transposed, M or N of one instruction; descriptor fields and steps in bytes.
layout.operands = {
  { id = "O1", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, n = 64, layout = 1, sbo = 1024, k_step = 32, k_per_panel = 4,
    k_panel = 16384, m64 = 8192, mn_step = 8192 },
  { id = "O2", dtype = "bf16", tile = { 256, 64 }, swizzle = 128, n = 256, layout = 1, sbo = 1024, k_step = 32, k_per_panel = 4,
    k_panel = 32768, m64 = 8192, mn_step = 32768 },
  { id = "O3", dtype = "bf16", tile = { 64, 128 }, swizzle = 64, n = 64, layout = 2, sbo = 512, k_step = 32, k_per_panel = 2,
    k_panel = 4096, m64 = 4096, mn_step = 4096 },
  { id = "O4", dtype = "f16", tile = { 64, 32 }, swizzle = 32, n = 64, layout = 3, sbo = 256, k_step = 32, k_per_panel = 1,
    k_panel = 2048, m64 = 2048, mn_step = 2048 },
  { id = "O5", dtype = "e4m3", tile = { 128, 128 }, swizzle = 128, n = 64, layout = 1, sbo = 1024, k_step = 32, k_per_panel = 4,
    k_panel = 16384, m64 = 8192, mn_step = 8192 },
  { id = "O6", dtype = "tf32", tile = { 64, 64 }, swizzle = 128, n = 64, layout = 1, sbo = 1024, k_step = 32, k_per_panel = 4,
    k_panel = 8192, m64 = 8192, mn_step = 8192 },
  { id = "O7", dtype = "bf16", tile = { 64, 256 }, swizzle = 128, transposed = true, n = 256, layout = 1, lbo = 8192,
    sbo = 1024,
    k_step = 2048, k_per_panel = 4, k_panel = 0, m64 = 8192, mn_step = 32768 },
  { id = "O8", dtype = "bf16", tile = { 64, 128 }, swizzle = 128, transposed = true, n = 64, layout = 1, lbo = 8192, sbo = 1024,
    k_step = 2048, k_per_panel = 4, k_panel = 0, m64 = 8192, mn_step = 8192 },
  { id = "O9", dtype = "f16", tile = { 32, 64 }, swizzle = 64, transposed = true, n = 64, layout = 2, lbo = 2048, sbo = 512,
    k_step = 1024, k_per_panel = 2, k_panel = 0, m64 = 4096, mn_step = 4096 },
  { id = "O10", dtype = "f16", tile = { 48, 16 }, swizzle = 32, transposed = true, n = 16, layout = 3, lbo = 1536, sbo = 256,
    k_step = 512, k_per_panel = 3, k_panel = 0, m64 = 6144, mn_step = 1536 },
  { id = "O11", dtype = "bf16", tile = { 32, 8 }, swizzle = 0, transposed = true, n = 8, layout = 0, lbo = 128, sbo = 512,
    k_step = 256, k_per_panel = 2, k_panel = 0, m64 = 4096, mn_step = 512 },
  { id = "O12", dtype = "bf16", tile = { 32, 64 }, swizzle = 128, transposed = true, n = 32,
    refused = "no multiple of the 64" },
  { id = "O13", dtype = "e4m3", tile = { 64, 128 }, swizzle = 128, transposed = true, n = 128, refused = "16-bit" },
  { id = "O14", dtype = "bf16", tile = { 64, 64 }, n = 64, refused = "use swizzle = 128" },
  { id = "O15", dtype = "f32", tile = { 64, 64 }, swizzle = 128, n = 64, refused = "no operand of an mma" },
  { id = "O16", dtype = "bf16", tile = { 96, 64 }, swizzle = 128, n = 64, refused = "no multiple of the 64" },
  { id = "O17", dtype = "bf16", tile = { 24, 64 }, swizzle = 128, transposed = true, n = 64, refused = "no multiple of 16" },
  { id = "O18", dtype = "bf16", tile = { 16, 32 }, transposed = true, n = 32, refused = "use swizzle = 64" },
}

return layout
