#!/usr/bin/env lua5.4
-- What goes wrong in the text of a body comes back at its line and leaves the host's process standing: instructions that do not exist, asm
-- where there is none, divisions of whole numbers, local arrays larger than a simulated thread's stack.
local tap = require "tap"
local weir = require "weir"
local dev = weir.device "sim"

local first                                               -- line of the body's first row
local function program(code)
  local k = weir.kernel { name = "body", arch = "sm_90a" }
  local Y = k:tensor { name = "y", dtype = "i32", shape = { 64 }, out = true }
  local D = k:scalar { name = "d", dtype = "i32" }
  local o = k:resource { name = "o", space = "gmem", bind = { y = Y }, work = { put = weir.producer_work { params = "i32 d", code = code } } }
  k:task { name = "t", warps = { 0, 1 }, schedule = function() o:put(D) end }
  return k:build { device = dev }
end
local y = dev:tensor { dtype = "i32", shape = { 64 } }

-- asm: NVRTC's own errors have the line; those of ptxas get it.
first = debug.getinfo(1, "l").currentline + 2
local p = program [[
  i32 r = 0;
  asm volatile("mov.u32 %0, 7;" : "=r"(r));
  y[tid] = r;
  asm volatile("{\n\t"
      "add.s32 %0, %1, %1;\n\t"
      "add.nix %0, %1, %1;\n\t"
      "}"
      : "=r"(r)
      : "r"(d));
  y[tid] += r;
]]
local _, why, code = p:cubin()
if code == "compile" then
  tap.like(("t/body_errors.t:%d: in this asm: add.nix "):format(first + 5), why, "an instruction that does not exist: its line")
  tap.like("Unknown modifier '.nix'", why, "  and what ptxas says")
else tap.diag("no NVRTC: " .. tostring(why)) end
local ok
ok, why = p:launch({ y = y, d = 1 }, { grid = 1 })
tap.is({ nil, ("t/body_errors.t:%d:"):format(first + 1) }, { ok, tostring(why):match "refused the source:\n([^:]+:%d+:)" }, "asm in the simulator: its line, first of all")
tap.like("inline assembly runs on the GPU only, not in the simulator", why, "  and why")

-- Divisions: by 0, and of the least number by -1. Others go on, and sums wrap.
first = debug.getinfo(1, "l").currentline + 2
p = program [[
  y[tid] = d * 65536 * 65536 + 2147483647;
  y[tid] += 1 - y[tid];
  y[tid] = (i32)(0x80000000u + (u32)(y[tid] - 1)) / d
         + (i32)(7u % (u32)d);
]]
for d, wants in pairs { [2] = -1073741824 + 1, [0] = first + 2, [-1] = first + 2 } do
  ok, why = p:launch({ y = y, d = d }, { grid = 1 })
  if d == 2 then tap.is({ true, wants }, { ok, y:get()[32] }, "a division that goes")
  else
    tap.is(nil, ok, "a division by " .. d)
    tap.like(("a whole number is divided by 0, or the least one by -1, at t/body_errors.t:%d [sim-trap]"):format(wants), why, "  its line")
  end
end
p = program [[ y[tid] = (i32)((u64)7 % (u64)d); ]]
tap.is({ true, 1 }, { p:launch({ y = y, d = 3 }, { grid = 1 }), y:get()[1] }, "64 bits without a sign")
tap.like("divided by 0", select(2, p:launch({ y = y, d = 0 }, { grid = 1 })), "  by 0")
tap.is(true, p:launch({ y = y, d = 1 }, { grid = 1 }), "the next launch runs")

-- Local arrays: what the stack holds, and more.
local function array(n) return program(([[ f32 big[%d]; for (i32 i = 0; i < %d; i++) big[i] = (f32)(i + d); y[tid] = (i32)big[(tid * 777) %% %d]; ]]):format(n, n, n)) end
tap.is({ true, 778 }, { array(25000):launch({ y = y, d = 1 }, { grid = 1 }), y:get()[2] }, "an array of 100000 bytes")
ok, why, code = array(40000):launch({ y = y, d = 1 }, { grid = 1 })
tap.is({ nil, "compile" }, { ok, code }, "one of 160000 is refused")
tap.like("a simulated thread has a stack of 131072 bytes, and the kernel takes 160", why, "  with both numbers")
tap.like("local arrays of bodies must be smaller here", why, "  and the mend")

tap.done()
