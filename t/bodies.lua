-- Many small bodies in one kernel, so that the host's compiler runs once: each is a branch of it.
--
--   local bodies = require "bodies" (build, run)         build(code) -> program; run(program, which, ...) -> results
--   bodies.later(function() ... bodies.launch(code, ...) ... end)
--   bodies.go()
--
-- `launch` inside `later` waits until the code of all others is known.
return function(build, run)
  local place, waiting, bodies = {}, {}, {}
  function bodies.launch(code, ...)
    if not place[code] then coroutine.yield(code) end
    return run(place[code].program, place[code].which, ...)
  end
  function bodies.later(f) waiting[#waiting + 1] = coroutine.create(f) end
  function bodies.go()
    while #waiting > 0 do
      local still, text, n = {}, {}, 0
      local fresh = {}
      for _, co in ipairs(waiting) do
        local ok, code = coroutine.resume(co)
        if not ok then error(debug.traceback(co, code), 0) end
        if coroutine.status(co) ~= "dead" then
          still[#still + 1] = co
          if not fresh[code] then
            n = n + 1
            fresh[code] = n
            text[n] = ("if (which == %d) {\n%s\n}"):format(n, code)
          end
        end
      end
      if n > 0 then
        local program = build(table.concat(text, "\n"))
        for code, which in pairs(fresh) do place[code] = { program = program, which = which } end
      end
      waiting = still
    end
  end
  return bodies
end
