-- `weir explain pipeline TYPE [field=value ...]`: what the moves of a pipeline become, without a kernel.
-- `weir explain RULE`: the page of a rule.
local weir = require "weir"
local M = {}

-- Fields of weir.explain itself; all others are the pipeline's.
local own = { arch = true, producer_warps = true, consumer_warps = true, multicast = true, copies = true, mma_reads = true }

M.usage = [[
weir explain RULE               a rule's page: V-BRK-01, PROVE-RACE, ...
weir explain pipeline TYPE [field=value ...]

  TYPE            async_async tma_async tma_umma umma_async async_umma umma_umma clc_fetch_async async_tma
  stages=4        and the other fields of a pipeline: bytes producers consumers grain producer_grain producer_op producer_signaling
                  consumer_signaling consumer_wait_signaling interleave advance_on_wait advance_on_acquire bytes_per_warp_per_cta
  arch=sm_90a     sm_80, sm_90a, sm_100a
  m=2 n=2 v=2     the cluster
  multicast=m     axes along which a load serves other CTAs: m, n, mn
  copies=16384    bytes that the copies of one stage bring to a CTA
  producer_warps=1 consumer_warps=4
  mma_reads=true  threads empty the stage by wgmma alone]]

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  if text:find "^%d+,%d" then
    local list = {}
    for n in text:gmatch "%d+" do list[#list + 1] = math.tointeger(n) end
    return list
  end
  return math.tointeger(text) or text
end

-- The text for { "tma_async", "stages=4", ... }; nil and a message for arguments that make none.
function M.pipeline(args)
  local type_name = args[1]
  local desc, pipe, cluster = {}, { stages = 4 }, {}
  if not type_name then return nil, M.usage end
  for i = 2, #args do
    local key, text = args[i]:match "^([%w_]+)=(.+)$"
    if not key then return nil, ("'%s' is no field=value\n\n%s"):format(args[i], M.usage) end
    if key:find "^[vmnk]$" then cluster[key] = value_of(text)
    elseif key == "copies" then desc.bytes = value_of(text)
    elseif own[key] then desc[key] = value_of(text)
    else pipe[key] = value_of(text) end
  end
  local ok, result = pcall(function()
    desc.pipeline = weir.pipeline[type_name](pipe)
    desc.cluster = cluster
    return weir.explain(desc)
  end)
  if not ok then return nil, (tostring(result):gsub("^[^\n]-:%d+: ", "")) end
  return result
end

-- The command line; returns the exit status.
function M.main(args)
  local text, message
  if args[1] == "pipeline" then text, message = M.pipeline(table.move(args, 2, #args, 1, {}))
  elseif args[1] and not args[2] and args[1]:find "^%w" then text, message = require "weir.explain_rule".page(args[1])
  else message = M.usage end
  if not text then
    io.stderr:write(message, "\n")
    return 2
  end
  io.write(text)
  return 0
end

if arg and arg[0] and arg[0]:find "weir/explain%.lua$" and ... ~= "weir.explain" then os.exit(M.main(arg)) end
return M
