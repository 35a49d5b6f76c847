-- The body of a loop runs once, to be recorded. `break` would leave it half recorded; the kernel's loop ends by its bounds.
local weir = require "weir"
local k = weir.kernel { name = "copy", arch = "sm_90a" }
local N = k:dim "N"
local X = k:tensor { name = "X", dtype = "f32", shape = { N } }
local Y = k:tensor { name = "Y", dtype = "f32", shape = { N }, out = true }
local x = k:gmem_tile { name = "x", tensor = X, tile = { 256 } }
local y = k:gmem_tile { name = "y", tensor = Y, tile = { 256 } }
local s = k:smem_tile { name = "s", dtype = "f32", tile = { 256 }, pipeline = weir.pipeline.tma_async { stages = 2 } }
k:task { name = "load", warps = { 0, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:acquire()
    s:tma_load(x:at(i))
    s:commit()  -- broken
    if weir.ge(i, 3) then break end  -- broken
    s:commit()  -- mended
  end
end }
k:task { name = "store", warps = { 1, 1 }, schedule = function()
  for i in weir.domain_loop(weir.ceil_div(N, 256)) do
    s:wait()
    y:store(s:read(), y:at(i))
    s:release()
  end
end }
return k
--[[ report
C-BREAK.lua:11: error: this domain_loop was left by `break` (or an error) and cannot be captured [C-BREAK]
    hint: the body runs once, to be recorded: cut the range with weir.min or weir.clamp instead
C-BREAK.lua:15: warning: the condition i0 >= 3 decides nothing [VAL-UNUSED]
    hint: Lua's `if` cannot see it: use weir.when_true, weir.select or a loop bound
1 error, 1 warning
]]
