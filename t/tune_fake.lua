-- A kernel module for t/tune.t: its candidates are fast or slow, refuse to build, die, or hang.
local M = {}

function M.candidates()
  return { { speed = 3 }, { speed = 1 }, { fault = "build" }, { fault = "die" }, { fault = "hang" }, { speed = 2 }, { fault = "time" } }
end

function M.example() return {} end

function M.build(o)
  local c = o.config or { speed = 9 }
  if c.fault == "build" then error "a tile that does not fit" end
  return {
    config = c,
    time = function()
      if c.fault == "die" then io.stderr:write "CUDA error: an illegal memory access\n"; os.exit(9) end
      if c.fault == "hang" then while true do end end
      if c.fault == "time" then return nil, "launch failed", "cuda" end
      return c.speed + o.bias
    end,
    compile = function()
      if c.fault then return nil, "ptxas says no" end
      return true
    end,
  }
end

return M
