-- require "weir": the C module, and what is better said in Lua. Nothing here computes a count, a byte or an offset.
local weir = require "weir.core"

-- Builds and exports for several targets: make(arch) returns the kernel for one; files go to dir/arch. Returns the programs by arch,
-- or nil, message, code of the first that failed.
function weir.export(archs, make, dir)
  if type(archs) ~= "table" or type(make) ~= "function" or type(dir) ~= "string" then
    error('weir.export({ "sm_90a" }, function(arch) return kernel end, "folder")', 2)
  end
  local programs = {}
  for _, arch in ipairs(archs) do
    local program = make(arch):build()
    local ok, message, code = program:export(dir .. "/" .. arch)
    if not ok then return nil, arch .. ": " .. message, code end
    programs[arch] = program
  end
  return programs
end

require "weir.allocators"(weir)

return weir
