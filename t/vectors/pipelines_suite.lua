-- Runs pipelines.lua against the core: `t` has ok(condition, name) and is(want, got, name), `core` is weir_test.
-- Counts are checked twice: as derived, and as what the rows of every op bring, thread by thread and CTA by CTA.

local M, N, K, V = 1, 2, 4, 8
local signals = { all = 1, cta_leader = 2, task_warp_leader = 4, ["cta_leader+task_warp_leader"] = 6 }
local function bits_of(signal) return signal and assert(signals[signal], signal) end

local text
function text(list)
  local words = {}
  for i, x in ipairs(list) do words[i] = type(x) == "table" and text(x) or tostring(x) end
  return "{ " .. table.concat(words, ", ") .. " }"
end

local function says(message, names)
  local rest = message
  for _, word in ipairs(names or {}) do
    if not rest:find(word, 1, true) then return false end
  end
  return true
end

local function whole(c) c = c or {} return { v = c.v or 1, m = c.m or 1, n = c.n or 1, k = c.k or 1 } end

-- ---- clusters, by sets -------------------------------------------------------------------------------------------------

local function rank_of(c, v, m, n, k) return v + c.v * (m + c.m * (n + c.n * k)) end
local function place(c, r) return r % c.v, r // c.v % c.m, r // (c.v * c.m) % c.n, r // (c.v * c.m * c.n) end

-- CTAs that `row` of CTA `rank` arrives at: a list of ranks.
local function targets(c, rank, row)
  local v, m, n, k = place(c, rank)
  if row.targets == -1 then return { rank_of(c, 0, m, n, k) } end
  if row.targets == -2 then return { 0 } end
  local list = {}
  for kk = 0, c.k - 1 do for nn = 0, c.n - 1 do for mm = 0, c.m - 1 do for vv = 0, c.v - 1 do
    local ok = (vv == v or row.targets & V ~= 0) and (kk == k or row.targets & K ~= 0)
    ok = ok and (mm == m or row.targets & M ~= 0) and (nn == n or row.targets & N ~= 0)
    if row.cross then ok = ok and (mm == m or nn == n) end
    if ok then list[#list + 1] = rank_of(c, vv, mm, nn, kk) end
  end end end end
  return list
end

local function serve_of(multicast)
  local bits, cross = 0, false
  for _, axis in ipairs(multicast or {}) do
    bits = bits | ({ m = M, n = N, mn = M | N })[axis]
  end
  if multicast and #multicast == 2 then cross = true end
  return bits, cross
end

-- ---- what the rows bring -----------------------------------------------------------------------------------------------

-- Lists of warps of each task that meet one stage: a warp lane is one warp of the task, a domain lane one of the tasks.
local function of_a_stage(tasks, stride, lanes)
  if stride == 1 then return tasks end
  if lanes == "domain" then return { tasks[1] } end
  assert(lanes == "warp", lanes)
  local list = {}
  for i, warps in ipairs(tasks) do
    assert(warps == stride, "a warp for each lane")
    list[i] = 1
  end
  return list
end

-- Adds the arrivals of one op by all CTAs to by[rank]; `tasks` are warps of each task.
local function run(by, c, rows, tasks, bytes)
  for rank = 0, c.v * c.m * c.n * c.k - 1 do
    for _, row in ipairs(rows) do
      local counts = row.kind == "arrive" or row.kind == "expect" or row.kind == "cp_arrive" or row.kind == "umma_commit"
      local runs = (not row.leader_only or rank % c.v == 0) and (not row.cta0_only or rank == 0)
      for _, warps in ipairs(counts and runs and tasks or {}) do
        local each = 1
        if row.who == "threads" then each = 32 * warps
        elseif row.who:find "lane" then each = warps
        elseif row.who:find "wg" then each = warps // 4 end
        for _, to in ipairs(targets(c, rank, row)) do
          by[to][row.bar] = by[to][row.bar] + each
          if row.kind == "expect" then by[to].tx = by[to].tx + each * bytes end
        end
      end
    end
  end
end

local function arrivals(c, p, producers, consumers)
  local by = {}
  for rank = 0, c.v * c.m * c.n * c.k - 1 do by[rank] = { full = 0, empty = 0, tx = 0 } end
  run(by, c, p.acquire, producers, p.expect_bytes)
  run(by, c, p.commit, producers, 0)
  run(by, c, p.wait, consumers, 0)
  run(by, c, p.release, consumers, 0)
  return by
end

-- ---- single pipelines --------------------------------------------------------------------------------------------------

local function side(tasks, groups, lanes)
  local s = { tasks = #tasks, warps = 0, max_warps_of_a_task = 0, domain_lanes = lanes == "domain" and #tasks or 0 }
  for _, warps in ipairs(tasks) do
    s.warps = s.warps + warps
    s.max_warps_of_a_task = math.max(s.max_warps_of_a_task, warps)
  end
  if groups then s.warpgroups = s.warps // 4 end
  return s
end

local function native(kind) return kind ~= "async_async" and kind ~= "tma_async" end

local function given_of(v, counts)
  local stride = v.interleave or { 1, 1, 1, 1 }
  return {
    type = v.type, stages = v.stages or 2, interleave = v.interleave, producer_op = v.producer_op,
    producers = counts and v.producers or nil, consumers = counts and v.consumers or nil, bytes = counts and v.bytes or nil,
    bytes_per_warp_per_cta = counts and v.bytes_per_warp_per_cta or nil,
    producer_signaling = bits_of(v.producer_signaling), consumer_signaling = bits_of(v.consumer_signaling),
    advance_on_acquire = stride[1] ~= stride[2] and 1 or 0, advance_on_wait = stride[3] ~= stride[4] and 1 or 0,
  }
end

local function single(t, core, v)
  local c, stride = whole(v.cluster), v.interleave or { 1, 1, 1, 1 }
  local serve, cross = serve_of(v.multicast)
  local input = {
    given = given_of(v, true), arch = native(v.type) and 100 or 90, cluster = c, serve = serve, serve_cross = cross,
    producer = side(v.producer_warps, false, stride[2] > 1 and v.lanes),
    consumer = side(v.consumer_warps, false, stride[4] > 1 and v.lanes),
  }
  local p = core.protocol(input)
  t.is(nil, p.faults[1] and p.faults[1].text, v.id .. ": no fault")
  t.is(v.init.full, p.full_count, v.id .. ": full count")
  t.is(v.init.empty, p.empty_count, v.id .. ": empty count")
  local by = arrivals(c, p, of_a_stage(v.producer_warps, stride[2], v.lanes), of_a_stage(v.consumer_warps, stride[4], v.lanes))
  for i, want in ipairs(v.ranks) do
    local rank = i - 1
    local got = by[rank] or {}
    t.is(text(want), text { got.full, got.tx, got.empty },
      ("%s: arrivals on full, bytes, arrivals on empty of CTA %d"):format(v.id, rank))
  end
  t.is(c.v * c.m * c.n * c.k, #v.ranks, v.id .. ": all CTAs of the cluster are listed")

  input.given = given_of(v, false)
  local d = core.protocol(input)
  t.is(v.derived.full, d.full_count, v.id .. ": full count, derived")
  t.is(v.derived.empty, d.empty_count, v.id .. ": empty count, derived")
  -- The bytes that the copies bring take the place of the given ones.
  if v.bytes and v.type ~= "clc_fetch_async" then
    input.tx = v.bytes // (v.type == "tma_umma" and c.v or 1)
    t.is(v.bytes, core.protocol(input).expect_bytes, v.id .. ": bytes armed, derived")
  end

  if v.sm90a == nil then return end
  -- A task of one warp that issues tcgen05 becomes a warpgroup; the queue's tasks stay as they are.
  local function grown(tasks, umma)
    local list = {}
    for i, warps in ipairs(tasks) do list[i] = umma and math.max(warps, 4) or warps end
    return list
  end
  local umma_p, umma_c = v.type:find "^umma_" ~= nil, v.type:find "_umma$" ~= nil
  local producers, consumers = grown(v.producer_warps, umma_p), grown(v.consumer_warps, umma_c)
  input.arch, input.given = 90, given_of(v, true)
  input.producer = side(producers, umma_p, stride[2] > 1 and v.lanes)
  input.consumer = side(consumers, umma_c, stride[4] > 1 and v.lanes)
  input.consumer.only_mma_reads = umma_c
  local h = core.protocol(input)
  if type(v.sm90a) == "string" then
    t.is(v.sm90a, h.faults[1] and h.faults[1].rule, v.id .. ": refused on sm_90a")
    return
  end
  t.is(nil, h.faults[1] and h.faults[1].text, v.id .. ": no fault on sm_90a")
  t.is(v.sm90a.full, h.full_count, v.id .. ": full count on sm_90a")
  t.is(v.sm90a.empty, h.empty_count, v.id .. ": empty count on sm_90a")
  by = arrivals(c, h, of_a_stage(producers, stride[2], v.lanes), of_a_stage(consumers, stride[4], v.lanes))
  for rank, got in pairs(by) do
    local want = v.type == "clc_fetch_async" and rank > 0 and 0 or h.empty_count
    t.is(text { h.full_count, want }, text { got.full, got.empty }, ("%s: arrivals on sm_90a, CTA %d"):format(v.id, rank))
  end
end

-- ---- fields, grains, sequences -----------------------------------------------------------------------------------------

local function default_arch(v) return v.sm or (native(v.given.type) and v.given.type ~= "async_tma" and 100 or 90) end

local function with(t, extra)
  local copy = {}
  for k, x in pairs(t) do copy[k] = x end
  for k, x in pairs(extra) do if copy[k] == nil then copy[k] = x end end
  return copy
end

local function field(t, core, v)
  local umma, stride = v.given.type:find "_umma$", v.given.interleave
  local serve, cross = serve_of(v.multicast)
  local p = core.protocol {
    given = with(v.given, { stages = 4 }), arch = default_arch(v), cluster = whole { v = v.v, m = v.m, n = v.n }, tx = v.tx,
    serve = serve, serve_cross = cross, same_warpgroup = v.same, producer = side { v.producer_warps or 1 },
    consumer = v.lanes and side(v.lanes, false, "domain") or side { umma and 1 or stride and stride[4] or 4 },
  }
  local rules, message = {}, ""
  for i, f in ipairs(p.faults) do
    rules[i] = f.rule
    message = message .. f.text .. "\n"
  end
  t.is(text(v.faults), text(rules), v.id .. ": faults")
  t.ok(says(message, v.names), v.id .. ": the message tells " .. table.concat(v.names or {}, ", "))
end

local function grain(t, core, v)
  local serve, cross = serve_of(v.multicast)
  local c = whole { m = v.m, n = v.n }
  local p = core.protocol {
    given = { type = "tma_async", stages = 2, grain = v.grain, consumers = v.consumers }, arch = 90, cluster = c,
    producer = side { 1 }, serve = serve, serve_cross = cross,
    consumer = { tasks = 1, warps = v.warps, warpgroups = v.groups, max_warps_of_a_task = v.warps, only_mma_reads = v.mma },
  }
  t.is(nil, p.faults[1] and p.faults[1].text, v.id .. ": no fault")
  t.is(v.count, p.empty_count, v.id .. ": arrivals")
  t.is(v.is or v.grain, p.grain, v.id .. ": grain")
  local each = p.grain == "thread" and 32 or 1
  local actors = p.grain == "warpgroup" and v.groups or v.warps
  t.is(v.count, actors * each * core.served(c, serve, cross), v.id .. ": the count is that of its actors")
  local by = arrivals(c, p, { 1 }, { v.warps })
  for rank = 0, #by do t.is(v.count, by[rank].empty, ("%s: arrivals of CTA %d"):format(v.id, rank)) end
end

-- A row as text: "expect full lane -> m leader".
local function row_text(row)
  local words = { row.kind }
  if row.bar ~= "none" then words[#words + 1] = row.bar end
  if row.who ~= "threads" then words[#words + 1] = row.who end
  if row.targets ~= 0 then
    local axes = {}
    for i, axis in ipairs { "m", "n", "k", "v" } do
      if row.targets > 0 and row.targets & 1 << i - 1 ~= 0 then axes[#axes + 1] = axis end
    end
    local list = table.concat(axes, ",")
    if not row.cross and list == "m,n" then list = "mn" end
    words[#words + 1] = "-> " .. (row.targets == -1 and "leader" or row.targets == -2 and "cta0" or list)
  end
  if row.leader_only then words[#words + 1] = "leader" end
  if row.cta0_only then words[#words + 1] = "cta0" end
  return table.concat(words, " ")
end

local function sequence(t, core, v)
  local serve, cross = serve_of(v.multicast)
  local async_tma = v.given.type == "async_tma"
  local umma = v.sm == 100 and v.given.type:find "_umma$"
  local p = core.protocol {
    given = with(v.given, { stages = 2 }), arch = v.sm or 90, cluster = whole { v = v.v, m = v.m, n = v.n }, serve = serve,
    serve_cross = cross, same_warpgroup = v.same, fence_wait = v.fence_wait, fence_acquire = v.fence_acquire, fence_commit = v.fence_commit,
    producer = side({ v.producer_groups and 4 * v.producer_groups or v.producer_warps or async_tma and 4 or 1 },
                    v.producer_groups),
    consumer = with(side({ v.consumer_warps or umma and 1 or 4 }, not umma and not v.consumer_warps), { only_mma_reads = v.mma }),
  }
  t.is(nil, p.faults[1] and p.faults[1].text, v.id .. ": no fault")
  for _, op in ipairs { "acquire", "commit", "wait", "release" } do
    local words = {}
    for i, row in ipairs(p[op]) do words[i] = row_text(row) end
    t.is(v[op], table.concat(words, "; "), ("%s: %s"):format(v.id, op))
  end
  t.is(not v.same, p.has_full, v.id .. ": has a full barrier")
  t.is(not v.same, p.has_empty, v.id .. ": has an empty barrier")
end

local function leader_bytes(t, core, v)
  local tasks = {}
  for i = 1, v.tasks do tasks[i] = v.warps // v.tasks end
  local function faults(bytes)
    local p = core.protocol {
      given = { type = v.type, stages = 2, bytes = bytes, bytes_per_warp_per_cta = v.bytes_per_warp_per_cta,
                producer_signaling = bits_of(v.producer_signaling), consumer_signaling = bits_of(v.consumer_signaling) },
      arch = v.type == "tma_umma" and 100 or 90, cluster = whole(v.cluster), producer = side(tasks), consumer = side { 1 },
    }
    local rules = {}
    for _, f in ipairs(p.faults) do
      if f.rule:find "^V%-BYT" then rules[#rules + 1] = f.rule end
    end
    return table.concat(rules, ", "), p
  end
  if v.rule then
    t.is(v.rule, faults(v.bytes), v.id .. ": bytes given without those of a warp")
    t.is("", faults(nil), v.id .. ": bytes left out are derived")
    return
  end
  t.is("", faults(v.required), v.id .. ": the required bytes")
  t.is("V-BYT-02", faults(v.required + 16), v.id .. ": 16 bytes more")
  local _, p = faults(nil)
  t.is(v.required, p.expect_bytes, v.id .. ": bytes armed at once, derived")
end

-- ---- groups ------------------------------------------------------------------------------------------------------------

local function group_input(v, members, counts)
  local list = {}
  for i, m in ipairs(members) do
    local stride = m.interleave or { 1, 1, 1, 1 }
    list[i] = with(m, { name = "m" .. i, stages = v.stages or 4, consumer_signaling = bits_of(v.consumer_signaling) })
    if not counts then list[i].producers, list[i].consumers = nil, nil end
    if m.interleave and stride[3] ~= stride[4] then list[i].advance_on_wait = 1 end
  end
  return list
end

local function in_run(core, g, member, stage, which)
  return core["group_" .. which](g.mode, #g.members, g.stages, member, stage)
end

-- Counts of a member by its own protocol, left out ones derived; warps follow from the counts of the row.
local function member_counts(core, g, m)
  local async_p, async_c = m.type:find "^async", m.type:find "_async$" and m.type ~= "tma_async"
  local c = whole(g.cluster)
  local leader = bits_of(g.consumer_signaling)
  local producers = m.producers // (async_p and (leader and c.v or 1) * 32 or 1)
  local consumers = m.consumers // (async_c and 32 or 1)
  return core.protocol {
    given = { type = m.type, stages = g.stages, producer_op = m.producer_op, consumer_signaling = leader },
    arch = 100, cluster = c, producer = side { m.type:find "^tma" and 1 or producers }, consumer = side { consumers },
  }
end

local function group(t, core, g)
  local out = core.group { mode = g.mode, members = group_input(g, g.members, true) }
  t.is(nil, out.rule, g.id .. ": fits")
  for _, name in ipairs { "type", "bytes", "producers", "consumers" } do
    t.is(g.merged[name], out[name], ("%s: merged %s"):format(g.id, name))
  end
  t.is(g.mbarriers, out.barriers_per_stage * g.stages, g.id .. ": mbarriers")
  local init, derived = {}, {}
  for i, m in ipairs(g.members) do
    local p = member_counts(core, g, m)
    for s = 0, g.stages - 1 do
      local full, empty = in_run(core, g, i - 1, s, "full"), in_run(core, g, i - 1, s, "empty")
      t.is(g.full_index[i][s + 1], full, ("%s: full barrier of member %d, stage %d"):format(g.id, i, s))
      t.is(g.empty_index[i][s + 1], empty, ("%s: empty barrier of member %d, stage %d"):format(g.id, i, s))
      local fused = g.mode == "fused_merge"
      init[full + 1] = fused and (init[full + 1] or 0) + m.producers or m.producers
      derived[full + 1] = fused and (derived[full + 1] or 0) + p.full_count or p.full_count
      init[empty + 1] = g.mode == "fork" and m.consumers or out.consumers
      derived[empty + 1] = p.empty_count
    end
  end
  t.is(text(g.init), text(init), g.id .. ": arrive counts")
  t.is(text(g.derived), text(derived), g.id .. ": arrive counts, derived")
end

local function group_check(t, core, v)
  local out = core.group { mode = v.mode, members = group_input({}, v.members, true), cluster = v.cluster,
                           given = v.given and with(v.given, { stages = 4 }) or nil }
  t.is(v.rule, out.rule, v.id .. ": rule")
  t.is(v.rule == nil, out.ok, v.id .. ": fits")
  t.ok(says(out.text, v.names), v.id .. ": the message tells " .. table.concat(v.names or {}, ", "))
  if v.merged then t.is(v.merged, out.type, v.id .. ": merged type") end
  if v.mode_is then t.is(v.mode_is, out.mode, v.id .. ": derived mode") end
  if v.counts then t.is(text(v.counts), text { out.producers, out.consumers }, v.id .. ": merged counts") end
end

local function pairs_of(t, core, v)
  local members = group_input({}, { { type = v.a }, { type = v.b } })
  local function fits(mode) return core.group { mode = mode, members = members }.ok end
  t.is(v.merge, fits "merge", v.id .. ": merge")
  t.is(v.merge, fits "fused_merge", v.id .. ": fused_merge")
  t.is(v.fork, fits "fork", v.id .. ": fork")
  t.is(v.merge or v.fork, core.group { members = members }.ok, v.id .. ": some mode fits when none is given")
end

local function mixes(t, core, mode, sets)
  local types = { "async_async", "tma_async", "tma_umma", "umma_async", "async_umma", "umma_umma" }
  for choice = 1, (1 << #types) - 1 do
    local members, names, legal = {}, {}, false
    for i, name in ipairs(types) do
      if choice & 1 << i - 1 ~= 0 then
        members[#members + 1] = { type = name }
        names[name] = true
      end
    end
    for _, set in ipairs(sets) do
      local in_set, all = {}, true
      for _, name in ipairs(set) do in_set[name] = true end
      for name in pairs(names) do all = all and in_set[name] end
      legal = legal or all == true
    end
    if #members == 1 then legal = true end
    local words = {}
    for i, m in ipairs(members) do words[i] = m.type end
    t.is(legal, core.group { mode = mode, members = group_input({}, members) }.ok, mode .. " of " .. table.concat(words, ", "))
  end
end

-- ---- the rest ----------------------------------------------------------------------------------------------------------

local function masks(t, core, v)
  local axes = { ["m,n"] = { M | N, true }, n = { N, false }, m = { M, false } }
  for name, axis in pairs(axes) do
    t.is(v.mask[name], core.mask(v.cluster, v.rank, axis[1] | V, axis[2]), ("%s: mask of %s"):format(v.id, name))
    local bits = 0
    for _, rank in ipairs(v.lanes[name]) do bits = bits | 1 << rank end
    t.is(bits, core.mask(v.cluster, v.rank, axis[1], axis[2]), ("%s: CTAs that a release reaches, %s"):format(v.id, name))
    t.is(#v.lanes[name], core.served(v.cluster, axis[1], axis[2]), ("%s: how many, %s"):format(v.id, name))
  end
  t.is(v.vgroup, core.mask(v.cluster, v.rank, V, false), v.id .. ": own V group")
end

local function cursors(t, core, v)
  for _, name in ipairs { "producer", "consumer" } do
    local got = {}
    for n = 1, #v[name] do got[n] = { core.cursor(v.stages, v.stride, v.lane, name == "producer", n - 1) } end
    t.is(text(v[name]), text(got), ("%s: %s"):format(v.id, name))
  end
end

-- ---- properties --------------------------------------------------------------------------------------------------------

-- Random pipelines: where no fault is found, every barrier somebody waits on gets exactly what it counts. Returns how many
-- were legal and the first that is wrong.
local function balanced(core, tries)
  local seed = 7
  local function random(n)
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return seed // 65536 % n
  end
  local function one_of(...) return (select(1 + random(select("#", ...)), ...)) end
  local types = { "async_async", "tma_async", "tma_umma", "umma_async", "async_umma", "umma_umma", "clc_fetch_async",
                  "async_tma" }
  local legal = 0
  for _ = 1, tries do
    local c = { v = one_of(1, 1, 2), m = one_of(1, 2, 3), n = one_of(1, 2), k = one_of(1, 1, 2) }
    local multicast = one_of({}, { "m" }, { "n" }, { "mn" }, { "m", "n" })
    local serve, cross = serve_of(multicast)
    local kind, arch = types[1 + random(#types)], one_of(90, 100)
    local umma_p, umma_c = kind:find "^umma_" ~= nil, kind:find "_umma$" ~= nil
    local groups_p, groups_c = random(2) == 0 or arch == 90 and umma_p, random(2) == 0 or arch == 90 and umma_c
    local released, committed = one_of(nil, "thread", "warp", "warpgroup"), one_of(nil, "thread", "warp")
    local function tasks(by_mma, by_tma, groups)
      if by_mma and arch == 100 or by_tma then return { 1 } end
      local list = {}
      for i = 1, 1 + random(2) do list[i] = groups and 4 * (1 + random(2)) or 1 + random(5) end
      return list
    end
    local producers, consumers = tasks(umma_p, kind:find "^tma" or kind:find "^clc", groups_p), tasks(umma_c, false, groups_c)
    if #producers == 1 and producers[1] == 1 then groups_p = false end
    if umma_c and arch == 100 then groups_c = false end
    local p = core.protocol {
      given = {
        type = kind, stages = 2, producer_op = one_of(nil, nil, "load"),
        grain = kind:find "_async$" and released or nil, producer_grain = kind:find "^async" and committed or nil,
        producer_signaling = one_of(nil, 1, 2), consumer_signaling = one_of(nil, 1, 2),
      },
      arch = arch, cluster = c, serve = kind:find "^tma" and serve or 0, serve_cross = cross,
      producer = side(producers, groups_p),
      consumer = with(side(consumers, groups_c), { only_mma_reads = random(2) == 0 }),
    }
    if #p.faults == 0 then
      legal = legal + 1
      local by = arrivals(c, p, producers, consumers)
      for rank = 0, #by do
        for op, bar in pairs { wait = "full", acquire = "empty" } do
          local waits = false
          for _, row in ipairs(p[op]) do
            local runs = (not row.leader_only or rank % c.v == 0) and (not row.cta0_only or rank == 0)
            waits = waits or row.kind == "wait" and runs
          end
          local got, count = by[rank][bar], p[bar .. "_count"]
          if waits and got ~= count then
            return legal, ("%s on sm_%d, cluster %s: CTA %d gets %d arrivals on %s, which counts %d"):format(kind, arch,
              text { c.v, c.m, c.n, c.k }, rank, got, bar, count)
          end
        end
      end
    end
  end
  return legal
end

local suite = {}

function suite.properties(t, core)
  local legal, wrong = balanced(core, 4000)
  t.is(nil, wrong, "random pipelines: a barrier that is waited on gets what it counts")
  t.ok(legal > 1500, ("%d of 4000 are legal"):format(legal))
end

function suite.protocol(t, pipelines, core)
  for _, v in ipairs(pipelines.singles) do single(t, core, v) end
  for _, v in ipairs(pipelines.fields) do field(t, core, v) end
  for _, v in ipairs(pipelines.grains) do grain(t, core, v) end
  for _, v in ipairs(pipelines.sequences) do sequence(t, core, v) end
  for _, v in ipairs(pipelines.leader_bytes) do leader_bytes(t, core, v) end
  for _, v in ipairs(pipelines.masks) do masks(t, core, v) end
  for _, v in ipairs(pipelines.cursors) do cursors(t, core, v) end
end

function suite.group(t, pipelines, core)
  local by_id = {}
  for _, g in ipairs(pipelines.groups) do
    by_id[g.id] = g
    group(t, core, g)
  end
  for _, v in ipairs(pipelines.index_checks) do
    t.is(v.entry, in_run(core, by_id[v.group], v.member, v.stage, v.side), v.id .. ": place in the run")
  end
  for _, v in ipairs(pipelines.group_checks) do group_check(t, core, v) end
  for _, v in ipairs(pipelines.compatible) do pairs_of(t, core, v) end
  for mode, sets in pairs(pipelines.mixes) do mixes(t, core, mode, sets) end
end

return suite
