#!/usr/bin/env lua5.4
-- The annotations say what the module has, no more and no less.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

local annotated, fields = {}, {} -- class -> name -> true
do
  local class
  for row in io.lines "lua/weir/types.lua" do
    class = row:match "^%-%-%-@class ([%w_.]+)" or class
    local field = row:match "^%-%-%-@field ([%a_][%w_]*)"
    if field then
      fields[class] = fields[class] or {}
      fields[class][field] = true
    end
    local object, name = row:match "^function ([%a_]+)[.:]([%a_][%w_]*)%("
    if object then
      annotated[object] = annotated[object] or {}
      annotated[object][name] = true
    end
  end
end

local function keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

-- One object of each class.
local dev = assert(weir.device "sim")
local k = weir.kernel { name = "t", arch = "sm_90a" }
local M = k:dim "M"
local X = k:tensor { name = "X", dtype = "bf16", shape = { M, 64 }, out = true }
local function smem(name) return k:smem_tile { name = name, dtype = "bf16", tile = { 64, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 2 } } end
local a, b, c = smem "a", smem "b", smem "c"
local view
local objects = {
  kernel = k, gmem_tile = k:gmem_tile { name = "g", tensor = X, tile = { 64, 64 } }, smem_tile = c, piped = c,
  reg_tile = k:reg_tile { name = "r", dtype = "f32", tile = { 64, 64 } }, wgmma_tile = k:wgmma_tile { name = "w", tile = { 64, 64 } },
  tmem_tile = k:tmem_tile { name = "tm", tile = { 128, 64 }, pipeline = P.umma_async { stages = 1 } },
  queue = k:work_queue { name = "wq", axes = { "i" }, extent = { 4 } },
  custom = k:resource { name = "cu", space = "smem", dtype = "f32", tile = { 4 }, pipeline = P.async_async { stages = 1 } },
  group = k:group { name = "ab", mode = "fused_merge", members = { a, b } },
  device = dev, buffer = dev:tensor { dtype = "f32", shape = 4 },
}
pcall(k.task, k, { name = "t", warps = { 0, 4 }, schedule = function()
  for tile in weir.work_tile_loop(objects.queue) do
    objects.worktile = tile
    for i in weir.domain_loop(0, 4) do objects.index = i end
    view = objects.gmem_tile:at(0, 0)
  end
end })
objects.value = view

local function has(object, name) return (pcall(function() return object[name] end)) end

for _, class in ipairs(keys(objects)) do
  for _, name in ipairs(keys(annotated[class] or {})) do
    tap.ok(has(objects[class], name), ("%s:%s exists"):format(class, name))
  end
end

-- The other way round, for classes whose methods are all in one table.
local function methods(object) return keys(debug.getmetatable(object).methods) end
local registry = debug.getregistry()
tap.is(keys(annotated.kernel), methods(k), "methods of a kernel")
tap.is(keys(annotated.device), methods(dev), "methods of a device")
tap.is(keys(annotated.buffer), methods(objects.buffer), "methods of a device tensor")
tap.is(keys(annotated.program), keys(registry["weir.program"].methods), "methods of a program")
tap.is(keys(annotated.bound), keys(registry["weir.bound"].methods), "methods of a bound launch")

local module = {}
for name in next, weir do module[name] = true end
for _, part in ipairs { "version", "pipeline" } do module[part] = nil end
tap.is(keys(annotated.weir), keys(module), "functions of the module")
local pipes = {}
for name in next, P do pipes[name] = true end
tap.is(keys(fields["weir.pipelines"]), keys(pipes), "pipelines")

-- Fields of options, by what the module itself lists for a name like no other.
local function options(f)
  local _, err = pcall(f)
  local set = {}
  for name in tostring(err):match "; there are (.*)$":gmatch "[%w_]+" do set[name] = true end
  return keys(set)
end
tap.is(keys(fields["weir.pipe_desc"]), options(function() P.tma_async { qqqqqqqqqqqqqq = 1 } end), "options of a pipeline")
tap.is(keys(fields["weir.queue_desc"]), options(function() k:work_queue { qqqqqqqqqqqqqq = 1 } end), "options of a work queue")
tap.is(keys(fields["weir.resource_desc"]), options(function() k:resource { qqqqqqqqqqqqqq = 1 } end), "options of a custom resource")
tap.is(keys(fields["weir.task_desc"]), options(function() k:task { qqqqqqqqqqqqqq = 1 } end), "options of a task")
tap.is(keys(fields["weir.work_desc"]), options(function() weir.producer_work { qqqqqqqqqqqqqq = 1 } end), "options of a body")

tap.done()
