#!/usr/bin/env lua5.4
-- The instructions of the roles of every pipeline type (t/gen/roles.lua), one by one, as NVRTC makes them of the emitted text: what
-- t/vectors/ptx.lua says. Registers and labels are numbered as they appear.
--
--   lua5.4 t/ptx.t              compares
--   lua5.4 t/ptx.t show NAME    prints what is there now, for those whose name matches
--   lua5.4 t/ptx.t write        rewrites t/vectors/ptx.lua: read the difference before it is committed
package.path = "t/vectors/?.lua;" .. package.path
local tap = require "tap"
local weir = require "weir"
local roles = require "gen.roles"

-- kernel, arch, options, then by role a pattern that only its loop has
local cases = {
  { "async_async", "sm_80", {}, fill = "st%.shared", empty = "ld%.shared" },
  { "async_async", "sm_90a", {}, fill = "st%.shared", empty = "ld%.shared" },
  { "async_async_load", "sm_90a", {}, fill = "cp%.async%.cg" },
  { "tma_async", "sm_90a", {}, load = "expect_tx", empty = "ld%.shared" },
  { "tma_async", "sm_90a", { cluster = 2 }, load = "expect_tx", empty = "ld%.shared" },
  { "fused_merge", "sm_90a", {}, load = "expect_tx", empty = "ld%.shared" },
  { "fused_merge", "sm_90a", { fold = true }, load = "expect_tx" },
  { "async_tma", "sm_90a", {}, fill = "st%.shared", store = "bulk_group" },
  { "tma_umma", "sm_90a", {}, load = "expect_tx", mma = "mma_async" },
  { "async_umma", "sm_90a", {}, fill = "st%.shared", mma = "mma_async" },
  { "umma_async", "sm_90a", {}, mma = "mma_async", empty = "ld%.shared" },
  { "umma_umma", "sm_90a", {}, first = "stmatrix", mma = "n8k16" },
  { "clc_fetch_async", "sm_90a", {}, fetch = "complete_tx", use = "st%.global" },
  { "tma_umma", "sm_100a", {}, load = "expect_tx", mma = "tcgen05%.mma" },
  { "async_umma", "sm_100a", {}, fill = "st%.shared", mma = "tcgen05%.mma" },
  { "umma_async", "sm_100a", {}, mma = "tcgen05%.mma", empty = "tcgen05%.ld" },
  { "umma_umma", "sm_100a", {}, first = "kind::f16", mma = "kind::tf32" },
}

local function name_of(c, role)
  return ("%s%s%s, %s: %s"):format(c[1], c[3].cluster and ", multicast to 2" or "", c[3].fold and ", fold" or "", c[2], role)
end
local function roles_of(c)
  local out = {}
  for role in pairs(c) do if type(role) == "string" then out[#out + 1] = role end end
  table.sort(out)
  return out
end

local dev = assert(weir.device("sim"))
local function ptx_of(c)
  local program = roles.kernel(c[1], c[2], c[3]):build { device = dev }
  local ptx, message, code = program:ptx()
  return ptx, message, code
end
local function role_of(ptx, pattern)
  for _, rows in ipairs((roles.loops(ptx))) do
    if table.concat(rows, "\n"):find(pattern) then return rows end
  end
  return { "no loop with " .. pattern }
end

if arg[1] == "show" then
  for _, c in ipairs(cases) do
    for _, role in ipairs(roles_of(c)) do
      if name_of(c, role):find(arg[2] or ".") then print("-- " .. name_of(c, role) .. "\n" .. table.concat(role_of(assert(ptx_of(c)), c[role]), "\n")) end
    end
  end
  return
elseif arg[1] == "write" then
  local out, release = {}, nil
  for _, c in ipairs(cases) do
    local ptx = assert(ptx_of(c))
    release = select(2, roles.loops(ptx))
    for _, role in ipairs(roles_of(c)) do
      out[#out + 1] = ("v[%q] = [[\n%s\n]]\n"):format(name_of(c, role), table.concat(role_of(ptx, c[role]), "\n"))
    end
  end
  local file <close> = assert(io.open("t/vectors/ptx.lua", "w"))
  file:write(("-- The loop of each role of t/ptx.t, instruction by instruction, as NVRTC %s makes it.\nlocal v = { release = %q }\n\n%s\nreturn v\n")
    :format(release, release, table.concat(out, "\n")))
  return
end

local vectors = require "ptx"
-- What another release of NVRTC must leave as it is: everything but arithmetic on registers, without operands.
local function moves(rows)
  local out = {}
  for _, row in ipairs(rows) do
    for _, word in ipairs { "mbarrier%.[%w_.:]+", "cp%.async[%w_.:]*", "wgmma%.[%w_.:]+", "tcgen05%.[%w_.:]+", "fence%.[%w_.:]+", "bar%.[%w.]+", "stmatrix", "mapa[%w_.:]*",
                            "^ld%.[%w_.:]+", "^st%.[%w_.:]+", "^atom%.[%w_.:]+" } do
      for found in row:gmatch(word) do out[#out + 1] = found end
    end
  end
  return out
end

local seen = {}
for _, c in ipairs(cases) do
  local ptx, message, code = ptx_of(c)
  if code == "no_compiler" then
    tap.skip(message:match "[^\n]*", 1)
    break
  end
  tap.ok(ptx, ("%s on %s compiles%s"):format(c[1], c[2], ptx and "" or ": " .. message))
  local _, release = roles.loops(ptx or "")
  for _, role in ipairs(roles_of(c)) do
    local name, rows = name_of(c, role), role_of(ptx or "", c[role])
    local want = {}
    for row in (vectors[name] or ""):gmatch "[^\n]+" do want[#want + 1] = row end
    seen[name] = true
    if release == vectors.release then tap.is(table.concat(want, "\n"), table.concat(rows, "\n"), name)
    else tap.is(moves(want), moves(rows), name .. ", by NVRTC " .. tostring(release)) end
    -- what holds of every role
    local waits, joined = 0, 0
    for _, move in ipairs(moves(rows)) do
      if move:find "_wait%.parity" then waits = waits + 1 end
      if move:find "^bar%." then joined = joined + 1 end
    end
    local most = (role == "fetch" or c[1]:find "^umma_" and role ~= "empty") and 2 or 1 -- two rings
    tap.ok(waits >= 1 and waits <= most, ("%s: %d waits, at most %d"):format(name, waits, most))
    tap.ok(joined <= 1, name .. ": its threads are joined once at most")
  end
end
if next(seen) then
  local lost = {}
  for name in pairs(vectors) do if name ~= "release" and not seen[name] then lost[#lost + 1] = name end end
  tap.is({}, lost, "no vector without a role")
end
tap.done()
