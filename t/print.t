#!/usr/bin/env lua5.4
-- What k:print shows: the schedule table row by row, and the reports of registers, shared memory, mbarriers and launch as text.
local tap = require "tap"
local weir = require "weir"
local P = weir.pipeline

-- ---- schedules in short -----------------------------------------------------------------------------------------------------
-- "P:1 g:- G=merge(A,B); Prod x2{T A P C} | Cons x2{t a c r}": resources with their stages (-: no pipeline), groups, and tasks
-- with their names, parted by bars. An op is a letter and a resource, P when left out: A acquire, C commit, P producer work,
-- T try, U aux; a wait, r release (r0, r1: it keeps as many), c work, t try, u aux. x2{..} runs twice, x1:3{..} from 1 up to 3;
-- n is a dim. Guards: F:{..} first, L:{..} last, every:2,1{..}, odd{..} by the index, when{..} and unless{..} by an argument.
local stages = { A = "ProdAcq", C = "ProdCmt", P = "ProdWrk", T = "ProdTrA", U = "ProdAux",
                 a = "ConsWai", r = "ConsRel", c = "ConsWrk", t = "ConsTrW", u = "ConsAux" }
local letter = {}
for l, text in pairs(stages) do letter[text] = l end
local methods = { A = "acquire", C = "commit", T = "try_acquire", P = "put", U = "paux",
                  a = "wait", r = "release", t = "try_wait", c = "get", u = "caux" }

local function schedule(text)
  local k = weir.kernel { name = "t", arch = "sm_90a" }
  local n, q = k:dim "n", k:scalar { name = "q", dtype = "i32" }
  local decls, tasks = text:match "^(.-);%s*(.*)$"
  local res = {}
  for name, count in decls:gmatch "(%w+):([%d-]+)" do
    local aux = { code = ";", aux = true }
    local pipeline = count ~= "-" and P.async_async { stages = math.tointeger(count) } or nil
    res[name] = k:resource { name = name, pipeline = pipeline, work = {
      put = weir.producer_work { code = ";" }, get = weir.consumer_work { code = ";" },
      paux = weir.producer_work(aux), caux = weir.consumer_work(aux) } }
  end
  for name, mode, members in decls:gmatch "(%w+)=([%a_]+)%((.-)%)" do
    local list = {}
    for m in members:gmatch "%w+" do list[#list + 1] = res[m] end
    res[name] = k:group { name = name, mode = mode, members = list }
    for m in members:gmatch "%w+" do res[m] = res[name][m] end
  end
  local guards = {
    F = function(i) return i:first_iter() end,
    L = function(i) return i:last_iter() end,
    every = function(i, period, start) return i:every(period, start or 0) end,
    odd = function(i) return weir.when_true(weir.eq(i % 2, 1)) end,
    when = function() return weir.when_true(weir.gt(q, 0)) end,
    unless = function() return weir.when_false(weir.gt(q, 0)) end,
  }
  local function bound(s) return s == "n" and n or math.tointeger(s) end
  local run
  local function block(head, body)
    local from, to = head:match "^x(%w+):(%w+)$"
    if not from then from, to = "0", head:match "^x(%w+)$" end
    if to then return function() for i in weir.domain_loop(bound(from), bound(to)) do run(body, i) end end end
    local kind, period, start = head:match "^(%a+):?(%d*),?(%d*)$"
    return function(i) for _ in guards[kind](i, math.tointeger(period), math.tointeger(start)) do run(body, i) end end
  end
  function run(ops, i)
    local at = 1
    while at <= #ops do
      local head, body, next_at = ops:match("^%s*([%w:,/-]+)(%b{})()", at)
      if head then
        block(head, body:sub(2, -2))(i)
      else
        local op, name
        op, name, next_at = ops:match("^%s*(%a)(%w*)%s*()", at)
        local keep = op == "r" and name:match "%d$"
        if keep then name = name:sub(1, -2) end
        local r = res[name ~= "" and name or "P"]
        if keep then r:release(math.tointeger(keep)) else r[methods[op]](r) end
      end
      at = next_at
    end
  end
  local warp = 0
  for name, ops in (tasks .. "|"):gmatch "%s*(%w+)%s+(.-)%s*|" do
    k:task { name = name, warps = { warp, 1 }, schedule = function() run(ops) end }
    warp = warp + 1
  end
  return k
end

-- The rows of a table in letters: "A -; P -; ...", and what stands below them.
local function rows(k)
  local text = k:print "schedule"
  local out, below, inside = {}, {}, nil
  for line in text:gmatch "([^\n]*)\n" do
    if line:match "^=+ full =+$" then inside = true
    elseif line:match "^=+ [%a ]+ =+$" then inside = false
    elseif inside then
      local row = {}
      for cell in line:gmatch "([^|]+)" do
        if #cell ~= 30 then row[#row + 1] = "width " .. #cell end
        row[#row + 1] = cell:find "%S" and letter[cell:sub(13, 24):match "%a+"] or "-"
      end
      out[#out + 1] = table.concat(row, " ")
    elseif inside == false and not line:match "^tags" and not line:match "^ " then below[#below + 1] = line end
  end
  return table.concat(out, "; "), (table.concat(below, "\n"):gsub("print%.t:%d+", "print.t"))
end

local function table_is(name, text, wanted, wanted_below)
  local seen, below = rows(schedule(text))
  if wanted then tap.is(wanted, seen, name) end
  if wanted_below then tap.is(wanted_below, below, name .. ": below the table") end
end

-- ---- T01 to T09 of the printout page ----------------------------------------------------------------------------------------

table_is("T01 producer first", "P:1; Prod x1{T A P C} | Cons x1{t a c r}", "T t; A -; P -; C a; - c; - r", "rows: 6")
table_is("T02 consumer first", "P:1; Cons x1{t a c r} | Prod x1{T A P C}", "t T; - A; - P; - C; a -; c -; r -", "rows: 7")
do
  local _, below = rows(schedule "P:1; Prod x2{A P C} | Cons x3{a c r}")
  tap.is("blocked: Cons at ConsumerWait P 0 (print.t): needs commit 3 of P by Prod, which has ended after 2 commits\n"
    .. "wait chain: Cons -(P)-> Prod (ended)", below, "T03 a wait too many is blocked")
end
table_is("T04 a commit too many, 1 stage", "P:1; Prod x3{A P C} | Cons x2{a c r}", nil,
  "rows: 13\nunbalanced: P: 1 commit not consumed (3 made, 2 waited for)")
table_is("T04 a commit too many, 2 stages", "P:2; Prod x3{A P C} | Cons x2{a c r}", nil,
  "rows: 9\nunbalanced: P: 1 commit not consumed (3 made, 2 waited for)")
do
  local seen, below = rows(schedule "A:1 B:1; T0 x1{aB rB AA CA} | T1 x1{aA rA AB CB}")
  tap.is("", seen, "T05 both wait first: no row")
  tap.is("blocked: T0 at ConsumerWait B 0 (print.t): needs commit 1 of B by T1, which is blocked itself after 0 commits\n"
    .. "blocked: T1 at ConsumerWait A 0 (print.t): needs commit 1 of A by T0, which is blocked itself after 0 commits\n"
    .. "wait chain: T0 -(B)-> T1 -(A)-> T0 (a cycle)", below, "T05: the cycle")
end
-- T06: weir judges unrelated bounds one by one; 2 iterations against 1
table_is("T06 an unknown end from 2 on", "P:1; Prod x2:n{A C} | Cons x1{a r}", "A -; C a; - r; A -; C -",
  "rows: 5\nunbalanced: P: 1 commit not consumed (2 made, 1 waited for)\nloop 2 .. n: shown with 2 iterations")
table_is("T07 one waits, another releases", "P:1 X:1; T0 x3{AP PP CP} | T1 x3{aP AX CX} | T2 x3{aX cP rP rX}", nil, "rows: 22")
local function chain(n) return ("P:1; Prod x1{%s A C} | Cons x1{a%s r}"):format((" U"):rep(n), (" u"):rep(n)) end
table_is("T08 long serial chains", chain(99), nil, "rows: 201")
table_is("T09 there is no limit to rows", chain(101), nil, "rows: 205")

-- the tutorial GEMM, 2 k-tiles and 4 stages
do
  local k = schedule("gA:- gB:- A:4 B:4 acc:1 D:- G=merge(A,B); "
    .. "LoadA UA UA x2{cgA TA AA PA CA} | LoadB UB UB x2{cgB TB AB PB CB} | "
    .. "MMA uA uB Uacc Tacc Aacc x2{tA aA tB aB cA cB Pacc rG} Cacc | Store uacc tacc aacc cacc PD racc")
  local seen, below = rows(k)
  local row = {}
  for r in (seen .. "; "):gmatch "(.-); " do row[#row + 1] = r end
  tap.is("rows: 25", below, "GEMM: 25 rows")
  tap.is("- - C a", row[22], "GEMM: the accumulator's wait stands beside its commit")
  tap.is("- - - r", row[25], "GEMM: the store finishes last")
end

-- ---- G01 to G07 of the printout page ------------------------------------------------------------------

-- { warps, count } of each task; the rule that refuses it; the last row. Warps that no task has idle with their warpgroup's value and count, too
-- (G03, G07), and what asks for no number gets what is left (G06).
for id, v in pairs {
  G01 = { { { 1, 40 }, { 1, 40 }, { 1, 40 }, { 4, 160 }, { 1, 40 } }, "V-WG-02", "25600 of 65536 used, 39 blocks of 1024 free, balance 1248" },
  G02 = { { { 12 } }, nil, "64512 of 65536 used, 1 block of 1024 free, balance 0" },
  G03 = { { { 4 }, { 1 } }, nil, "65536 of 65536 used, 0 blocks of 1024 free, balance 0" },
  G04 = { { { 4, 232 }, { 12, 96 } }, "V-REG-01", "66560 of 65536 used, 0 blocks of 1024 free, balance -32" },
  G05 = { { { 4, 232 }, { 12, 88 } }, nil, "63488 of 65536 used, 2 blocks of 1024 free, balance 64" },
  G06 = { { { 4, 232 }, { 4 }, { 1 } }, nil, "64512 of 65536 used, 1 block of 1024 free, balance 0" },
  G07 = { { { 1 } }, nil, "32768 of 65536 used, 32 blocks of 1024 free, balance 0" },
} do
  local k <close> = weir.kernel { name = "t", arch = "sm_90a" }
  local r = k:resource { name = "r", work = { step = weir.producer_work { code = ";" } } }
  local first = 0
  for i, t in ipairs(v[1]) do
    k:task { name = "t" .. i, warps = { first, t[1] }, registers = t[2], schedule = function() r:step() end }
    first = first + t[1]
  end
  local rule
  for _, f in ipairs(k:verify().findings) do if f.severity == "error" then rule = f.rule end end
  tap.is({ v[2], v[3] }, { rule, k:print "registers":match "([^\n]+)\n*$" }, id .. ": registers")
end

-- ---- wider than the page ----------------------------------------------------------------------------------------------------

table_is("equal unknown bounds are equal", "P:1; Prod xn{A C} | Cons xn{a r}", "A -; C a; - r; A -; C a; - r",
  "rows: 6\nloop 0 .. n: shown with 2 iterations")
table_is("unknown bounds add up", "P:2; Prod xn{A C} | Cons a x1:n{a r} r", "A -; C a; A -; C a; - r; A -; C a; - r; - r",
  "rows: 9\nloop 0 .. n: shown with 3 iterations\nloop 1 .. n: shown with 2 iterations")
table_is("a lagging release", "P:2; Prod xn{A C} | Cons xn{a c r1} r0", "A -; C a; A c; C a; - c; - r; - r",
  "rows: 7\nloop 0 .. n: shown with 2 iterations")
table_is("nested loops", "P:1; Prod x2{U x2{A C}} | Cons x4{a r}",
  "U -; A -; C a; - r; A -; C a; U r; A -; C a; - r; A -; C a; - r", "rows: 13")
table_is("two loops in a row", "P:1; Prod x2{A C} U x1{A C} | Cons x3{a r}",
  "A -; C a; - r; A -; C a; U r; A -; C a; - r", "rows: 9")
table_is("first, last and every second", "P:1; One x4{F:{U} L:{P} every:2{T}}", "U; T; T; P", "rows: 4")
table_is("every second from 1", "P:1; One x5{every:2,1{T} P}", "P; T; P; P; T; P; P", "rows: 7")
table_is("a condition of the loop index is decided", "P:1; One x4{odd{U}}", "U; U", "rows: 2")
table_is("a condition of the launch is taken as true", "P:1; One x1{when{U} unless{T}}", "U",
  "rows: 1\ncondition q > 0: shown as true")
table_is("a merge releases once for all members", "A:1 B:1 G=merge(A,B); Prod x2{AA CA AB CB} | Cons x2{aA aB rG}",
  "A -; C a; A -; C a; - r; A -; C a; A -; C a; - r", "rows: 10")
table_is("a fork commits once for all members", "A:1 B:1 G=fork(A,B); Prod x2{AA AB CG} | One x2{aA rA} | Two x2{aB rB}",
  "A - -; A - -; C a a; - r r; A - -; A - -; C a a; - r r", "rows: 8")
table_is("a fused merge waits for all members", "A:1 B:1 G=fused_merge(A,B); Prod x2{AA CA AB CB} | Cons x2{aG rG}",
  "A -; C -; A -; C a; - r; A -; C -; A -; C a; - r", "rows: 10")
table_is("several consumers, each of them is waited for", "P:1; Prod x2{A C} | One x2{a r} | Two x2{a u r}",
  "A - -; C a a; - r u; - - r; A - -; C a a; - r u; - - r", "rows: 8")
table_is("releases too many", "P:1; Prod x1{A C} | Cons x1{a r r}", "A -; C a; - r; - r",
  "rows: 4\nunbalanced: P: 1 release without acquire (1 acquired, 2 released)")
table_is("acquires too many", "P:2; Prod x1{A C A} | Cons x1{a r}", nil,
  "rows: 3\nunbalanced: P: 1 acquire without release (2 acquired, 1 released)")
do
  local _, below = rows(schedule "P:1; Prod x1{A C} x1{A} | Cons x1{a}")
  tap.like("needs release 1 of P, which no task makes\nwait chain: Prod -(P)-> nobody", below, "a counterpart that is missing")
end

do -- two consumers deal the iterations of a loop: each waits for its own commits only
  local k <close> = weir.kernel { name = "t", arch = "sm_90a" }
  local r = k:resource { name = "P", pipeline = P.async_async { stages = 2, interleave = { 1, 1, 2, 2 } }, work = {} }
  k:task { name = "Prod", warps = { 0, 1 }, schedule = function()
    for _ in weir.domain_loop(0, 4) do r:acquire(); r:commit() end
  end }
  for lane = 0, 1 do
    k:task { name = "Cons" .. lane, warps = { 4 + 4 * lane, 4 }, schedule = function()
      for _ in weir.domain_loop(lane, 4, 2) do r:wait(); r:release() end
    end }
  end
  local seen, below = rows(k)
  tap.is("A - -; C a -; A r -; C - a; A - r; C a -; A r -; C - a; - - r", seen, "a loop dealt to two tasks")
  tap.is("rows: 9", below, "a loop dealt to two tasks: balanced")
end

do -- the work queue deals tiles: one tile a lane is shown, and a turn between the lanes is not dealt
  local k <close> = weir.kernel { name = "t", arch = "sm_90a" }
  local wq = k:work_queue { name = "wq", axes = { "i" }, extent = { k:dim "n" } }
  local r = k:resource { name = "P", pipeline = P.async_async { stages = 2 }, work = {} }
  local turn = k:barrier { name = "turn", pipeline = P.async_async { stages = 1 } }
  k:task { name = "Prod", warps = { 0, 1 }, schedule = function()
    for _ in weir.work_tile_loop(wq) do r:acquire(); r:commit() end
  end }
  k:task { name = "Even", warps = { 4, 4 }, schedule = function()
    for _ in weir.work_tile_loop(wq, { lane = 0, lanes = 2 }) do r:wait(); r:release(); turn:acquire(); turn:commit() end
  end }
  k:task { name = "Odd", warps = { 8, 4 }, schedule = function()
    for _ in weir.work_tile_loop(wq, { lane = 1, lanes = 2 }) do turn:wait(); r:wait(); r:release(); turn:release() end
  end }
  local seen, below = rows(k)
  tap.is("A - -; C a -; A r -; C A -; - C a; - - a; - - r; - - r", seen, "tiles dealt to two tasks")
  tap.is("rows: 8\nwork tiles are dealt to lanes: 2 tiles are shown", below, "tiles dealt to two tasks: balanced")
end

-- ---- the text ---------------------------------------------------------------------------------------------------------------

do
  local k = schedule("accumulator:1 g:-; Prod ug x2{F:{Ug} Aaccumulator Caccumulator L:{Pg}} | "
    .. "Cons x2{aaccumulator raccumulator} cg")
  tap.is([[
schedule of kernel t
===============================================================
|          Prod[0:1)           |          Cons[1:2)           |
============================ full =============================
| g            ConsAux    H  0 |                              |
| g            ProdAux    F  0 |                              |
| accumulato   ProdAcq<-     0 |                              |
| accumulato   ProdCmt->     0 | accumulato ->ConsWai       0 |
|                              | accumulato <-ConsRel       0 |
| accumulato   ProdAcq<-     0 |                              |
| accumulato   ProdCmt->     0 | accumulato ->ConsWai       0 |
| g            ProdWrk    L  0 | accumulato <-ConsRel       0 |
|                              | g            ConsWrk    T  0 |
========================= end of full =========================
rows: 9
tags: H before the loops, blank in a loop, F its first iteration, L its last, P every n-th, I under a
      condition, O between loops, T after them; then the call index of (resource, stage) in its section
name: accumulato is accumulator
]], k:print "schedule", "a whole table")
  tap.is(k:print "schedule", k:schedule_table(), "schedule_table is the same text")
end

-- A GEMM with every kind of row in its reports: alias phases, another tile's storage, a fused group, two named barriers.
local function gemm()
  local k = weir.kernel { name = "gemm", arch = "sm_90a" }
  local M, N, K = k:dim "M", k:dim "N", k:dim "K"
  local A = k:tensor { name = "A", dtype = "bf16", shape = { M, K } }
  local B = k:tensor { name = "B", dtype = "bf16", shape = { N, K } }
  local D = k:tensor { name = "D", dtype = "bf16", shape = { M, N }, out = true }
  local wq = k:work_queue { name = "wq", over = D, tile = { 128, 128 } }
  local ga = k:gmem_tile { name = "ga", tensor = A, tile = { 128, 64 } }
  local gb = k:gmem_tile { name = "gb", tensor = B, tile = { 128, 64 } }
  local gd = k:gmem_tile { name = "gd", tensor = D, tile = { 128, 128 } }
  local a = k:smem_tile { name = "a", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } }
  local b = k:smem_tile { name = "b", dtype = "bf16", tile = { 128, 64 }, swizzle = 128, pipeline = P.tma_async { stages = 3 } }
  local ab = k:group { name = "ab", mode = "fused_merge", members = { a, b } }
  local before = k:smem_tile { name = "before", dtype = "f32", tile = { 300 } }
  local after = k:smem_tile { name = "after", dtype = "f32", tile = { 100 } }
  local twin = k:smem_tile { name = "twin", dtype = "f32", tile = { 300 }, storage = before }
  k:alias { { before }, { after } }
  local acc = k:wgmma_tile { name = "acc", tile = { 128, 128 } }
  k:task { name = "load", warps = { 0, 1 }, registers = 40, schedule = function()
    for t in weir.work_tile_loop(wq) do
      for kk in weir.domain_loop(0, weir.ceil_div(K, 64)) do
        ab.a:acquire(); ab.a:tma_load(ga:at(t.m, kk)); ab.a:commit()
        ab.b:acquire(); ab.b:tma_load(gb:at(t.n, kk)); ab.b:commit()
      end
      wq:next()
    end
  end }
  k:task { name = "mma", warps = { 4, 8 }, registers = 232, schedule = function()
    for t in weir.work_tile_loop(wq) do
      acc:zero()
      for _ in weir.domain_loop(0, weir.ceil_div(K, 64)) do
        ab:wait(); acc:mma(ab.a:read(), ab.b:read()); acc:drain(); ab:release()
      end
      gd:store(acc:read(), t)
      wq:next()
    end
  end }
  return k, twin, after
end

do
  local k <close> = gemm()
  tap.is([[
[smem-layout] SMEM Usage Report
name                             size align   offset      end  stages x bytes
------------------------------------------------------------------------------
a                               49152  1024        0    49152  3 x 16384
b                               49152  1024    49152    98304  3 x 16384
before*                          1280   128    98304    99584  1 x 1280
after*                            512   128    98304    98816  1 x 512
twin = before                    1280   128    98304    99584  1 x 1280
------------------------------------------------------------------------------
alias group 1
  phase 1: before (1280 B)
  phase 2: after (512 B)
------------------------------------------------------------------------------
data 99584 B, mbarriers 48 B from 99584, together 99632 B
total 99632 B of 232448, 132816 free
saved 512 B by phases that share bytes in time
saved 1280 B by tiles in another's storage
]], k:print "smem", "shared memory")
  tap.is([[
[barrier-layout] Barrier Usage Report
name                         stages     index   offset tx bytes arrivals  are
------------------------------------------------------------------------------------------
ab_full                           3     [0:3)    99584    32768        2  1 warp that arms of a + 1 warp that arms of b
ab_empty                          3     [3:6)    99608        0        2  2 warpgroups
------------------------------------------------------------------------------------------
6 mbarriers, 48 B from offset 99584
  [0:6) initialised with 2
named barrier 1: 128 threads, warpgroup 0 of mma
named barrier 2: 128 threads, warpgroup 1 of mma
]], k:print "barriers", "mbarriers")
  tap.is([[
registers of kernel gemm
task                 warps    count  entry  after        gives
--------------------------------------------------------------
load                 [0:1)        1    168     40          128
mma                  [4:12)       8    168    232         -512
(idle)               [1:4)        3    168     40          384
--------------------------------------------------------------
64512 of 65536 used, 1 block of 1024 free, balance 0
acc of mma: { 64, 128 } f32 a warpgroup, 64 registers a thread
]], k:print "registers", "registers")
  tap.is([[
launch of kernel gemm
block: 384 threads (12 warps), 1 CTA an SM
grid: persistent, the smaller of what fits the GPU at once and ceil_div(M, 128) x ceil_div(N, 128) CTAs
shared memory: 99632 B, dynamic
parameters:
   0 w_tmap         A_map                 128 B  tensor map of A, box { 128, 64 }, swizzle 128
   1 w_tmap         B_map                 128 B  tensor map of B, box { 128, 64 }, swizzle 128
   2 bf16 *         D                       8 B  address of D
   3 i64            D_stride0               8 B  stride 0 of D, elements
   4 i32            M                       4 B  dim M
   5 i32            N                       4 B  dim N
   6 i32            K                       4 B  dim K
]], k:print "launch", "launch")
  local all = k:print()
  local parts = { k:print "schedule", k:print "registers", k:print "smem", k:print "barriers", k:print "launch" }
  tap.is(table.concat(parts, "\n"), all, "all of it in order")
  tap.ok(not all:find "[^\n\32-\126]", "plain ASCII")

  local layout = k:smem_layout()
  local seen = {}
  for i, r in ipairs(layout) do seen[i] = ("%s %d+%d"):format(r.name, r.offset, r.size) end
  tap.is({ "a 0+49152", "b 49152+49152", "before 98304+1280", "after 98304+512", "twin 98304+1280" }, seen,
    "smem_layout: the same rows")
  tap.is(99632, layout.total, "smem_layout: the same total")
  seen = {}
  for i, r in ipairs(k:barrier_layout()) do
    seen[i] = ("%s %d+%d at %d: %d"):format(r.name, r.first, r.stages, r.offset, r.arrivals)
  end
  tap.is({ "ab_full 0+3 at 99584: 2", "ab_empty 3+3 at 99608: 2" }, seen, "barrier_layout: the same rows")

  k:smem_tile { name = "late", dtype = "f32", tile = { 1024 } }
  tap.like("\nlate                             4096", k:print "smem", "a kernel that grew is planned again")
end

do -- registers: nothing asked, and a pool that leaves a block
  local k <close> = schedule "P:1; Prod x1{A C} | Cons x1{a r}"
  tap.like("Cons                 [1:2)        1    256    256            0\n"
    .. "(idle)               [2:4)        2    256    256            0\n",
    k:print "registers", "registers: all have the entry count")
  tap.like("32768 of 65536 used, 32 blocks of 1024 free, balance 0", k:print "registers", "registers: what is left")
  tap.like("grid: as many CTAs as fit the GPU at once (no work queue)", k:print "launch", "launch: no work queue")
end

do -- what cannot be planned is said, and what can be shown is shown
  local k <close> = weir.kernel { name = "t", arch = "sm_90a" }
  local r = k:resource { name = "r", work = { put = weir.producer_work { code = ";" } } }
  k:task { name = "one", warps = { 0, 1 }, schedule = function() r:put(); r:acquire() end }
  tap.is("no plan: the description has 1 error, which verify lists\n", k:print "smem", "faults: no plan")
  tap.like("| r            ProdWrk    T  0 |", k:print "all", "faults: the schedule is shown")
  local none <close> = weir.kernel { name = "none", arch = "sm_90a" }
  tap.like("schedule of kernel none: no tasks\n", none:print "schedule", "no tasks")
end

-- ---- the graph --------------------------------------------------------------------------------------------------------------

do
  local k <close> = gemm()
  local dot = k:dot()
  local edges = {}
  for from, to, label in dot:gmatch '\n  "([^"]*)" %-> "([^"]*)" %[label="([^"]*)"' do
    edges[#edges + 1] = from .. " > " .. to .. (label ~= "" and " : " .. label or "")
  end
  table.sort(edges)
  local ab = [[ : tma_async, 3 stages\nfused_merge ab\nfull: 2 arrivals, 32768 B\nempty: 2 arrivals]]
  tap.is({ ".ga > load.a", ".gb > load.b", ".wq > load.a", ".wq > load.b", ".wq > mma.gd", "load.a > mma.acc" .. ab,
           "load.b > mma.acc" .. ab, "mma.acc > mma.gd" }, edges, "graph: edges and their pipelines")
  if os.execute "command -v dot >/dev/null 2>&1" then
    local name = os.tmpname()
    local pipe = assert(io.popen("LD_PRELOAD= dot -Tsvg >" .. name .. " 2>&1", "w"))
    pipe:write(dot)
    tap.ok(pipe:close(), "graph: Graphviz takes it")
    local file <close> = assert(io.open(name))
    local svg = file:read "a"
    tap.ok(svg:find "</svg>" and not svg:find "Warning" and not svg:find "Error", "graph: Graphviz draws it")
    os.remove(name)
  end
end

tap.done()
