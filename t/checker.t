#!/usr/bin/env lua5.4
-- The vectors of the credit checker: the fast explorer of credits counts what the reference counted, state by state; and the prover,
-- on the kernel that the vector describes, says what the exact mode says.
local tap = require "tap"
package.path = "t/vectors/?.lua;" .. package.path
package.cpath = (os.getenv "WEIR_BUILD" or "build") .. "/t/?.so;" .. package.cpath
local plan = require "weir_plan"
local weir = require "weir"
local checker, notation, bfs, kernels = require "checker", require "checker_notation", require "bfs", require "checker_kernel"

-- ---- counts ----------------------------------------------------------------------------------------------------------------------

local function verdict_of(r)
  return r.deadlock > 0 and "DEADLOCK" or r.race > 0 and "RACE" or r.pdl > 0 and "PDL" or r.limit_hit and "INCOMPLETE" or "SAFE"
end
local function fields(r, list)
  local out = {}
  for i, f in ipairs(list) do out[i] = tostring(r[f]) end
  return table.concat(out, " ")
end

tap.is(80, #checker.vectors, "vectors")
for _, v in ipairs(checker.vectors) do
  local model = notation.parse(v.notation)
  local r = plan.credits(bfs.prepare(model))
  local list = { "states", "complete", "deadlock", "race", "pdl", "first", v.cursor_vectors and "cursor_vectors" }
  tap.is(v.r1 .. " " .. fields(v, list), verdict_of(r) .. " " .. fields(r, list), v.id .. ": counts")
  if v.r2_states then
    tap.is(v.r2_states, plan.credits(bfs.prepare(model, { revision = "R2" })).states, v.id .. ": states of the later revision")
  end
  -- the readable explorer and the fast one are the same explorer
  if v.states < 200 then
    local slow = bfs.explore(model)
    tap.is(fields(slow, { "states", "complete", "deadlock", "race", "pdl", "first", "cursor_vectors" }),
      fields(r, { "states", "complete", "deadlock", "race", "pdl", "first", "cursor_vectors" }), v.id .. ": the readable explorer")
  end
end
for _, v in ipairs(checker.derived) do
  for i, run in ipairs(v.runs) do
    local r = plan.credits(bfs.prepare(notation.parse(v.notation), { revision = "R2", conditions = run.conditions }))
    tap.is(("%s %d %s"):format(run.r2, run.states, run.first), ("%s %d %s"):format(verdict_of(r), r.states, r.first), ("%s: counts %d"):format(v.id, i))
  end
end
for _, v in ipairs(checker.extra) do
  if v.states then
    local r = plan.credits(bfs.prepare(notation.parse(v.notation)))
    tap.is(v.r1 .. " " .. v.states, verdict_of(r) .. " " .. r.states, v.id .. ": counts")
  end
end
for _, form in ipairs(checker.forms) do
  local off = {}
  for d = 1, 6 do
    for s = 1, 5 do
      local r = plan.credits(bfs.prepare(notation.parse((form.template:gsub("%$S", s):gsub("%$D", d)))))
      if r.states ~= form.states(d, s) then off[#off + 1] = ("%d, %d: %d"):format(d, s, r.states) end
    end
  end
  tap.is({}, off, ("%s: %s"):format(form.id, form.text))
end

-- The 4-task GEMM: every state of it, up to 1.77 million.
local gemm = checker.gemm
for _, row in ipairs(gemm.counts) do
  local want, got = {}, {}
  for s = 2, 8 do
    local model = bfs.prepare(notation.parse((gemm.template:gsub("%$S", s):gsub("%$D", row.d))))
    local from = os.clock()
    local r = plan.credits(model)
    local seconds = os.clock() - from
    want[s - 1], got[s - 1] = row[s], r.states
    if row.d == gemm.widest_level.d and s == gemm.widest_level.s then
      tap.is(gemm.widest_level.states, r.widest, "the widest level")
      tap.diag(("%d states in %.3f s"):format(r.states, seconds))
    end
  end
  tap.is(want, got, ("GEMM of %d steps, 2 to 8 stages"):format(row.d))
end
local cut = plan.credits(bfs.prepare(notation.parse((gemm.template:gsub("%$S", 8):gsub("%$D", 32)))), 1000)
tap.is("INCOMPLETE", verdict_of(cut), "a limit is never called safe")

-- ---- verdicts ----------------------------------------------------------------------------------------------------------------------

-- Where weir says something else than the exact mode, and why.
local otherwise = {
  C10 = { "LOST", "a commit that nobody waits for is a fault" }, C11 = { "LOST", "as C10" },
  C16 = { "PLAN-HELD", "three stages of two at once are refused by the plan" }, C17 = { "PLAN-HELD", "as C16" },
  C23 = { "PLAN-HELD", "as C16" }, C67 = { "PLAN-HELD", "as C16" }, C71 = { "PLAN-HELD", "as C16" },
  C26 = { "DEADLOCK", "lengths that differ are judged for every value" },
  C57 = { "RACE", "A is read, and nobody has written it" },
  C59 = { "SAFE", "on sm_90a the commit of T waits for the mma, so X comes after its reads" },
  C60 = { "RACE", "the task overwrites what it has filled before it is read, which the reference sees with its same-task switch" },
  C73 = { "PDL", "one kernel with C74: tiles that are skipped are among all tiles" },
  K06 = { "COUNT", "a deadlock for lack of an arrival that nobody owes" },
}
local not_expressible = {
  C46 = "weir has no wait for the previous kernel outside the kernel", C55 = "a resource has one range of bytes for both sides",
  C80 = "a kernel has a task",
}

local class = { ["PROVE-ASYNC-READ"] = "RACE" }
-- Verdict and class of the prover (the wanted one, if it is among the findings), or the rule by which the plan refuses.
local function judged(v, want)
  local model = notation.parse(v.notation)
  for _, unrolled in ipairs { false, true } do
    local k, place = kernels.build(weir, model, unrolled)
    if not k then return nil, place end
    local program, why = plan.of(k)
    if program then
      place(plan, program)
      local verdict, findings, text = plan.prove(program, true) -- storage lies where the vector says
      if verdict ~= "UNSAFE" then return verdict, text end
      local first
      for _, f in ipairs(findings) do
        local c = class[f.rule] or f.rule:gsub("^PROVE%-", "")
        if c == want then first = c end
        first = first or c
      end
      return first, text
    end
    -- fixed loops with guards are written out when the plan cannot follow how many stages are held
    if unrolled or not why:find "^PLAN%-HELD" then return why:match "^([%w-]+)", why end
  end
end

for _, v in ipairs(checker.vectors) do
  if not_expressible[v.id] then
    local verdict, why = judged(v)
    tap.ok(not verdict or verdict:find "^PLAN", v.id .. " is not expressible: " .. not_expressible[v.id])
    if verdict and not verdict:find "^PLAN" then tap.diag(why) end
  else
    local want = otherwise[v.id] or { v.exact }
    local verdict, why = judged(v, want[1])
    if not tap.is(want[1], verdict, v.id .. ": verdict" .. (want[2] and ": " .. want[2] or "")) then tap.diag(v.notation, "\n" .. tostring(why)) end
  end
end
for _, v in ipairs(checker.derived) do
  local want = "SAFE"
  for _, run in ipairs(v.runs) do if run.r2 ~= "SAFE" then want = run.r2 end end -- weir judges all truths at once
  local o = otherwise[v.id]
  tap.is(o and o[1] or want, judged(v), v.id .. ": verdict" .. (o and ": " .. o[2] or ""))
end
tap.done()
