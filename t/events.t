#!/usr/bin/env lua5.4
-- What the simulator runs is what the plan says: events carry the plan's action ids, each actor's sequence is the plan's, and a text
-- whose statements stand in another order, are missing, or are of another plan is stopped.
package.path = "t/?.lua;" .. package.path
local tap = require "tap"
local lab = require "lab"
local plan = lab.plan

-- ---- recorded sequences -----------------------------------------------------------------------------------------------------------
-- The text is edited so that each marker also writes its id and thread (lanes 0, 1 and 31 of a warp) to a file; the simulator checks
-- all threads by itself meanwhile.
local function record(program, run)
  local path = os.tmpname()
  local head = ([[
extern "C" void *fopen(const char *, const char *);
extern "C" int fprintf(void *, const char *, ...);
extern "C" int fclose(void *);
static void w_log(u32 id) {
  w_sim_at(id);
  if (w_lane() > 1 && w_lane() < 31) return;
  void *file = fopen("%s", "a");
  fprintf(file, "%%u %%u %%u\n", w_block(), w_tid(), id);
  fclose(file);
}
#undef W_AT
#define W_AT(id) w_log(id)
]]):format(path)
  plan.run_text(program, head .. plan.emit(program))
  local ok, message = run(program)
  local events = {}                                       -- by "cta thread": list of ids
  for row in io.lines(path) do
    local cta, tid, id = row:match "(%d+) (%d+) (%d+)"
    local key = cta .. " " .. tid
    events[key] = events[key] or {}
    table.insert(events[key], tonumber(id))
  end
  os.remove(path)
  return ok, message, events
end

-- Ids as words: "wait ab_full".
local function words(program, ids)
  local out = {}
  for i, id in ipairs(ids) do
    local bar = plan.get(program, "action", id, "bar")
    out[i] = plan.get(program, "action", id, "kind") .. (bar >= 0 and " " .. plan.get(program, "bars", bar, "name") or "")
  end
  return out
end

local function repeated(n, list)
  local out = {}
  for _ = 1, n do table.move(list, 1, #list, #out + 1, out) end
  return out
end
local function join(...)
  local out = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #out + 1, out) end
  return out
end

do
  local p = lab.gemm():build { device = lab.device() }
  local ok, message, events = record(p, function() return lab.run_gemm(p, 64, 128, 150, { grid = 1 }) end)   -- 2 tiles, 3 steps
  tap.is("", ok and "" or message, "a GEMM of 2 tiles and 3 steps runs, recorded")
  local step = { "wait ab_empty", "expect_tx ab_full", "bulk_issue ab_full", "expect_tx ab_full", "bulk_issue ab_full" }
  tap.is(join({ "init", "cta_sync" }, repeated(6, step)), words(p, events["0 0"] or {}), "the producing thread: 6 steps, no border between tiles")
  tap.is({ "init", "cta_sync" }, words(p, events["0 1"] or {}), "its neighbour does nothing")
  local function k_step(release)
    return join({ "wait ab_full", "mma_fence", "mma_issue", "mma_commit", "mma_wait" }, release and { "arrive ab_empty" } or {})
  end
  local tile = join({ "zero" }, k_step(false), k_step(true), k_step(true), { "mma_wait", "arrive ab_empty" },
    { "bulk_wait", "named_sync", "body", "body", "fence_async", "named_sync", "bulk_store", "bulk_commit" })
  local consumer = words(p, events["0 128"] or {})
  tap.is(join({ "cta_sync" }, tile, tile, { "bulk_wait" }), consumer, "a consuming thread: the release lags one step, the last one follows the loop")
  for _, tid in ipairs { 129, 159, 160, 191, 192, 224, 255 } do
    tap.is(consumer, words(p, events["0 " .. tid] or {}), "thread " .. tid .. " of the warpgroup has the same sequence")
  end
  -- Every action of the plan happens, or is none that shows.
  local seen = {}
  for _, list in pairs(events) do for _, id in ipairs(list) do seen[id] = true end end
  local never = {}
  for id = 1, plan.count(p, "action") do
    local kind = plan.get(p, "action", id, "kind")
    if not seen[id] and kind ~= "advance" then never[#never + 1] = id .. " " .. kind end
  end
  tap.is({}, never, "no action of the plan is without an event")

  ok, message, events = record(p, function() return lab.run_gemm(p, 64, 64, 0) end)
  tap.ok(ok, "K = 0 runs, recorded: " .. tostring(message))
  tap.is({ "init", "cta_sync" }, words(p, events["0 0"] or {}), "K = 0: the producer does nothing")
  tap.is({ "cta_sync", "zero", "mma_wait", "bulk_wait", "named_sync", "body", "body", "fence_async", "named_sync", "bulk_store", "bulk_commit", "bulk_wait" },
    words(p, events["0 128"] or {}), "K = 0: the consumer neither waits nor releases")
end

-- ---- an own reading of the tree -----------------------------------------------------------------------------------------------------
-- The set of positions in a task's tree after each event, by plain recursion on the tree: may the recorded sequence come out of it?
-- match(list, i, events, at, rest): can list[i..] and then `rest` consume events from `at`?
local function accepts(tree, events, skip)
  local steps = 0
  local function match(list, i, at, rest)
    steps = steps + 1
    if steps > 200000 then error "too many steps" end
    local node = list[i]
    if node == nil then return rest(at) end
    if type(node) == "number" then
      if skip(node) then return match(list, i + 1, at, rest) end
      return events[at] == node and match(list, i + 1, at + 1, rest)
    end
    local function after(next_at) return match(list, i + 1, next_at, rest) end
    local again = node.kind == "loop" or node.kind == "tiles" or (node.kind == "held" and not node.once)
    local function once(from)
      return match(node, 1, from, function(next_at)
        if again and next_at > from and once(next_at) then return true end
        return after(next_at)
      end)
    end
    return once(at) or after(at)
  end
  return match(tree, 1, 1, function(at) return at == #events + 1 end)
end

for _, case in ipairs {
  { "GEMM, lag 1", lab.gemm {}, function(p) return lab.run_gemm(p, 100, 70, 200) end },
  { "GEMM, no group, one stage", lab.gemm { group = "none", stages = 1 }, function(p) return lab.run_gemm(p, 64, 64, 130) end },
  { "GEMM, cluster of 2", lab.gemm { cluster = 2 }, function(p) return lab.run_gemm(p, 100, 64, 130) end },
  { "copy through TMA", lab.tma_copy(), function(p) return lab.run_copy(p, { 40, 100 }) end },
  { "copy by threads", lab.thread_copy(), function(p) return lab.run_copy(p, { 1000 }) end },
} do
  local name, k, run = case[1], case[2], case[3]
  local p = k:build { device = lab.device() }
  local ok, message, events = record(p, run)
  tap.ok(ok, name .. ": runs" .. (ok and "" or ": " .. tostring(message)))
  local function skip(id)
    local kind = plan.get(p, "action", id, "kind")
    return kind == "advance" or kind == "init" or kind == "setmaxnreg"
  end
  local frame_in, frame_out = plan.tree(p, "prologue"), plan.tree(p, "epilogue")
  local warps = { load = { 0, 1 }, mma = { 4, 8 }, put = { 4, 8 } }
  local checked, wrong, shuffled_ok = 0, {}, 0
  for key, ids in pairs(events) do
    local shown = {}
    for _, id in ipairs(ids) do if not skip(id) then shown[#shown + 1] = id end end
    local tid = tonumber(key:match " (%d+)")
    for task, range in pairs(warps) do
      local is_there = pcall(plan.tree, p, task)
      if is_there and tid // 32 >= range[1] and tid // 32 < range[2] and (task ~= "load" or tid == 0 or name == "copy by threads") then
        local tree = join(frame_in, plan.tree(p, task), frame_out)
        checked = checked + 1
        if not accepts(tree, shown, skip) then wrong[#wrong + 1] = key end
        if checked == 1 and #shown > 4 then               -- and a sequence that is none is refused
          local a = #shown // 2
          while a > 1 and shown[a] == shown[a + 1] do a = a - 1 end
          shown[a], shown[a + 1] = shown[a + 1], shown[a]
          if accepts(tree, shown, skip) then shuffled_ok = shuffled_ok + 1 end
        end
      end
    end
  end
  tap.ok(checked > 0, ("%s: %d threads looked at"):format(name, checked))
  tap.is({}, wrong, name .. ": every thread's events come out of its task's tree")
  tap.is(0, shuffled_ok, name .. ": two events exchanged do not")
end

-- ---- texts that are not the plan's ----------------------------------------------------------------------------------------------------
local function stopped(name, k, run, edit, wanted)
  local p = k:build { device = lab.device() }
  plan.run_text(p, edit(p:source(), p))
  local ok, message = run(p)
  if ok then return tap.ok(false, name .. ": went through") end
  for _, part in ipairs(type(wanted) == "table" and wanted or { wanted }) do tap.like(part, message, name .. ": " .. part) end
end
local function run_gemm(p) return lab.run_gemm(p, 64, 64, 200) end
local function row(source, id) return source:match("\n *(W_AT%(" .. id .. "%);[^\n]*)") end
local function exchange(kind_a, bar_a, kind_b, bar_b)
  return function(source, p)
    local a, b = row(source, lab.action(p, kind_a, bar_a)), row(source, lab.action(p, kind_b, bar_b))
    return lab.edit(lab.edit(lab.edit(source, a, "@@"), b, a), "@@", b)
  end
end
local function without(kind, bar)
  return function(source, p) return lab.edit(source, row(source, lab.action(p, kind, bar)), "") end
end
stopped("two statements exchanged", lab.gemm(), run_gemm, exchange("expect_tx", "ab_full", "bulk_issue", "ab_full"),
  { "[sim-plan]", "begins action 5 bulk_issue 'ab_full' (t/lab.lua:", "the plan expects 4 expect_tx 'ab_full'" })
stopped("the wait behind the fence", lab.gemm(), run_gemm, exchange("wait", "ab_full", "mma_fence"), { "[sim-plan]", "the plan expects 11 wait 'ab_full' (t/lab.lua:" })
stopped("a statement left out", lab.gemm(), run_gemm, without("mma_wait"), { "[sim-plan]", "the plan expects 16 mma_wait (t/lab.lua:" })
stopped("the last statement left out", lab.gemm(), run_gemm, function(source) return lab.edit(source, "W_AT(34); if (wtid == 0) w_bulk_wait<0>();", "") end,
  { "[sim-plan]", "the plan expects", "34 bulk_wait" })
stopped("a statement twice", lab.gemm(), run_gemm, function(source, p)
  local r = row(source, lab.action(p, "bulk_commit"))
  return lab.edit(source, r, r .. "\n" .. r)
end, { "[sim-plan]", "begins action 32 bulk_commit" })
stopped("a marker of another action", lab.gemm(), run_gemm, function(source) return lab.edit(source, "W_AT(17)", "W_AT(20)") end, { "[sim-plan]", "begins action 20 arrive 'ab_empty'" })
stopped("a marker of no action", lab.gemm(), run_gemm, function(source) return lab.edit(source, "W_AT(17)", "W_AT(99)") end, { "[sim-plan]", "action 99; the plan has 1 to" })
stopped("a branch that threads take apart", lab.gemm(), run_gemm, function(source)
  return lab.edit(source, "W_AT(27); w_fence_async();", "if (lane < 16) { W_AT(27); } w_fence_async();")
end, { "[sim-plan]", "fence_async" })
stopped("a role that stops early", lab.tma_copy(), function(p) return lab.run_copy(p, { 24, 100 }, { grid = 1 }) end, function(source)
  return lab.edit(source, "W_AT(13); w_sync_warp();", "W_AT(13); w_sync_warp(); if (wq_index > 2) return;")
end, { "[sim-plan]", "the plan expects 14 arrive 'ring_empty' (t/lab.lua:" })
-- The same text under a plan in another order.
do
  local p = lab.gemm():build { device = lab.device() }
  plan.swap(p, lab.action(p, "expect_tx"))
  local ok, message = run_gemm(p)
  tap.ok(not ok, "the same text under a plan that was changed is stopped")
  tap.like("the plan expects 5 bulk_issue 'ab_full'", message, "and the plan's wish is named")
end

tap.done()
