-- Test vectors of the specification of the credit checker ("the specification" below), with closed forms of the counts.
--
-- vectors: text      the cell of the specification, word for word
--          notation  the same in full where the text refers to another vector; filled in below where it does not.
--                    checker_notation.lua parses it
--          r1        verdict of the executed reference: SAFE, DEADLOCK, RACE, PDL
--          states, complete, deadlock, race, pdl
--                    R1: states explored, complete states, deadlocked states, race records, PDL records
--          first     depth of the first record (absent when SAFE); depth = operations executed
--          cursor_vectors  different cursor vectors among the states, where the specification gives it
--          r2_states states of the later revision: its operation splitting, cursor key, full exploration; false: not given
--          exact     verdict of the exact mode; exact_text the cell when it says more; exact_same_task with the switch of 11.3
--          leftover  commits that nobody consumes; r1_fault what is wrong with R1's verdict (section 10)
-- derived: K01..K06, features of R2 and R3, derived by hand from the rules; one run per assignment of the conditions
-- extra:   counts that the specification states in running text
-- gemm:    the larger 4-task GEMM, d k-tiles and s stages: R1 splitting, all SAFE, 1 complete state. The specification
--          gives the shape in words; with the order of operations in `template` bfs.lua reproduces all 42 counts
--          (each was run once; check2.lua repeats those below its limit). counts: a row per d, [s] = states
-- forms:   closed forms for one resource: template, states(d, s), and the vectors they cover

local checker = {}

checker.vectors = {
  { id = "C01", text = "P:AA/1; x1{A C} | x1{a r}",
    r1 = "SAFE", states = 5, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 5, exact = "SAFE" },
  { id = "C02", text = "P:AA/1; x3{A C} | x3{a r}",
    r1 = "SAFE", states = 13, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 13, exact = "SAFE" },
  { id = "C03", text = "P:AA/2; x3{A C} | x3{a r}",
    r1 = "SAFE", states = 21, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 21, exact = "SAFE" },
  { id = "C04", text = "P:AA/3; x3{A C} | x3{a r}",
    r1 = "SAFE", states = 25, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 25, exact = "SAFE" },
  { id = "C05", text = "P:AA/1; x1{A P C} | x1{a c r}",
    r1 = "SAFE", states = 9, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 7, exact = "SAFE" },
  { id = "C06", text = "P:AA/2; x4{T A P C} | x4{t a c r}",
    r1 = "SAFE", states = 146, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 105, exact = "SAFE" },
  { id = "C07", text = "P:TA/2; same as C06",
    notation = "P:TA/2; x4{T A P C} | x4{t a c r}",
    r1 = "SAFE", states = 123, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 105, exact = "SAFE" },
  { id = "C08", text = "P:TU/2; same as C06",
    notation = "P:TU/2; x4{T A P C} | x4{t a c r}",
    r1 = "SAFE", states = 105, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 105, exact = "SAFE" },
  { id = "C09", text = "P:AA/1; x2{A P C} | x3{a c r}",
    r1 = "DEADLOCK", states = 17, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 16, r2_states = 13, exact = "DEADLOCK" },
  { id = "C10", text = "P:AA/1; x3{A P C} | x2{a c r}",
    r1 = "SAFE", states = 21, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 16, exact = "SAFE",
    leftover = 1, note = "the schedule table rejects it: 1 commit of P not consumed (T04 of the printout)" },
  { id = "C11", text = "P:AA/2; x3{A P C} | x2{a c r}",
    r1 = "SAFE", states = 53, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 34, exact = "SAFE",
    leftover = 1, note = "as C10" },
  { id = "C12", text = "P:AA/2; x0{A P C} | x0{a c r}",
    r1 = "SAFE", states = 1, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 1, exact = "SAFE" },
  { id = "C13", text = "A,B:AA/1; x1{aB rB AA CA} | x1{aA rA AB CB}",
    r1 = "DEADLOCK", states = 1, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 0, r2_states = 1, exact = "DEADLOCK" },
  { id = "C14", text = "A,B:AA/1; x1{AA CA aB rB} | x1{aA rA AB CB}",
    r1 = "SAFE", states = 9, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 9, exact = "SAFE" },
  { id = "C15", text = "P:AA/2; x1{A C A C A C} | x1{a r a r a r}",
    r1 = "SAFE", states = 21, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 21, exact = "SAFE" },
  { id = "C16", text = "P:AA/2; x1{A A A C C C} | x1{a r a r a r}",
    r1 = "DEADLOCK", states = 3, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 2, r2_states = 3, exact = "DEADLOCK" },
  { id = "C17", text = "P:AA/2; x1{A C A C A C} | x1{a a a r r r}",
    r1 = "DEADLOCK", states = 9, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 6, r2_states = 9, exact = "DEADLOCK" },
  { id = "C18", text = "A,B:AA/1; x2{AA CA AB CB} | x2{aB rB aA rA}",
    r1 = "SAFE", states = 17, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 17, exact = "SAFE" },
  { id = "C19", text = "A,B:AA/1; x1{AA CA AA CA AB CB} | x1{aB rB aA rA aA rA}",
    r1 = "DEADLOCK", states = 3, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 2, r2_states = 3, exact = "DEADLOCK" },
  { id = "C20", text = "P:AA/2; H{A C} x2{A C} | x2{a r} Z{a r}",
    r1 = "SAFE", states = 21, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 21, exact = "SAFE" },
  { id = "C21", text = "P:AA/1; x3{F:A P L:C} | x3{} Z{a c r}",
    r1 = "SAFE", states = 13, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 9, exact = "SAFE" },
  { id = "C22", text = "P:AA/1; x1{F:A P L:C} | x1{} Z{a c r}",
    r1 = "SAFE", states = 9, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 7, exact = "SAFE" },
  { id = "C23", text = "P:AA/1; x2{A L:C} | x2{} Z{a r}",
    r1 = "DEADLOCK", states = 2, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 1, r2_states = 2, exact = "DEADLOCK" },
  { id = "C24", text = "P:AA/4; range(3,11,4){A C} | range(10,2,-4){a r}",
    r1 = "SAFE", states = 13, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 13, exact = "SAFE" },
  { id = "C25", text = "P:AA/1; dynamic end, start 0{A C} | dynamic end{a r}",
    r1 = "SAFE", states = 5, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 5, exact = "SAFE",
    exact_text = "SAFE for N=1",
    note = "whether the two ends are one value is not said; equal: SAFE for every length, different: UNSAFE" },
  { id = "C26", text = "P:AA/1; dynamic end, start 2{A C} | x1{a r}",
    r1 = "DEADLOCK", states = 1, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 0, r2_states = 1, exact = "SAFE",
    r1_fault = "false deadlock", exact_text = "see row 9",
    note = "exact: with the schedule table's end 3, one iteration; over all lengths the trip counts differ: UNSAFE" },
  { id = "C27", text = "P,Q:AA/1; x1{AP CP} | x1{aP rP} | x1{AQ CQ} | x1{aQ rQ}",
    r1 = "SAFE", states = 25, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 25, exact = "SAFE" },
  { id = "C28", text = "A,B:TU/2, G=merge(A,B); x2{AA PA CA} | x2{AB PB CB} | x2{aA aB cA cB rG}",
    r1 = "SAFE", states = 149, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 149, exact = "SAFE" },
  { id = "C29", text = "A,B:TA/1, G=fork(A,B); x2{AA AB PA CG} | x2{aA cA rA} | x2{aB cB rB}",
    r1 = "SAFE", states = 61, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 42, exact = "SAFE" },
  { id = "C30", text = "as C29 with x3, x3, x1",
    notation = "A,B:TA/1, G=fork(A,B); x3{AA AB PA CG} | x3{aA cA rA} | x1{aB cB rB}",
    r1 = "DEADLOCK", states = 42, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 21, r2_states = 31, exact = "DEADLOCK" },
  { id = "C31", text = "P:AA/1; x1{A C} | x1{A C} | x1{a r}",
    r1 = "SAFE", states = 11, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 11, exact = "SAFE" },
  { id = "C32", text = "as C31 with x2 each",
    notation = "P:AA/1; x2{A C} | x2{A C} | x2{a r}",
    r1 = "SAFE", states = 31, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 31, exact = "SAFE",
    note = "row 8: the verdict is right, the runs explored are not those of the hardware" },
  { id = "C33", text = "P:AA/1; x2{A C} | x2{a r} | x2{a r}",
    r1 = "SAFE", states = 31, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 31, exact = "SAFE",
    note = "row 8, as C32" },
  { id = "C34", text = "P:TU/1, X:AA/1; x1{AP PP CP} | x1{aP AX CX} | x1{aX cP rP rX}",
    r1 = "SAFE", states = 11, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 11, exact = "SAFE" },
  { id = "C35", text = "as C34 with x2",
    notation = "P:TU/1, X:AA/1; x2{AP PP CP} | x2{aP AX CX} | x2{aX cP rP rX}",
    r1 = "SAFE", states = 28, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 28, exact = "SAFE" },
  { id = "C36", text = "as C34 with x3",
    notation = "P:TU/1, X:AA/1; x3{AP PP CP} | x3{aP AX CX} | x3{aX cP rP rX}",
    r1 = "DEADLOCK", states = 36, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 27, r2_states = 36, exact = "SAFE",
    r1_fault = "false deadlock", note = "table of section 10, row 7" },
  { id = "C37", text = "as C34 with 2 stages and x4",
    notation = "P:TU/2, X:AA/2; x4{AP PP CP} | x4{aP AX CX} | x4{aX cP rP rX}",
    r1 = "SAFE", states = 259, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 259, exact = "SAFE" },
  { id = "C38", text = "P:AA/1, Q:WQ, 2 tiles; x1{AP CP} Z{aQ cQ rQ} | x1{aP rP} Z{aQ cQ rQ}",
    r1 = "SAFE", states = 97, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 97, exact = "SAFE" },
  { id = "C39", text = "as C38, skipped run, only task 0 has a skip predicate",
    notation = "P:AA/1, Q:WQ, 2 tiles, skipped, task 0 skips; x1{AP CP} Z{aQ cQ rQ} | x1{aP rP} Z{aQ cQ rQ}",
    r1 = "DEADLOCK", states = 9, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 8, r2_states = 9, exact = "DEADLOCK" },
  { id = "C40", text = "as C39, both tasks have one",
    notation = "P:AA/1, Q:WQ, 2 tiles, skipped, both skip; x1{AP CP} Z{aQ cQ rQ} | x1{aP rP} Z{aQ cQ rQ}",
    r1 = "SAFE", states = 81, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 81, exact = "SAFE" },
  { id = "C41", text = "P:AA/1, Q:WQ, 2 tiles, skipped, both skip; x1{} Z{k:AP k:CP aQ cQ rQ} | x1{} Z{aP rP aQ cQ rQ}",
    r1 = "DEADLOCK", states = 9, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 8, r2_states = 9, exact = "DEADLOCK" },
  { id = "C42", text = "W,L; x1{cW PL}",
    r1 = "SAFE", states = 3, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 3, exact = "SAFE" },
  { id = "C43", text = "W,L; x1{PL cW}",
    r1 = "PDL", states = 1, complete = 0, deadlock = 0, race = 0, pdl = 1, first = 0, r2_states = 1, exact = "PDL" },
  { id = "C44", text = "W,L; x1{cW} | x1{PL}",
    r1 = "PDL", states = 3, complete = 1, deadlock = 0, race = 0, pdl = 1, first = 0, r2_states = 3, exact = "PDL",
    note = "the wait of another task satisfies the rule only if it comes first" },
  { id = "C45", text = "W,L,P:AA/1; x1{cW A C} | x1{a r PL}",
    r1 = "SAFE", states = 7, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 7, exact = "SAFE" },
  { id = "C46", text = "L, flag set; x1{PL}",
    r1 = "SAFE", states = 2, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 2, exact = "SAFE" },
  { id = "C47", text = "L,P:AA/1; x1{A C PL}",
    r1 = "PDL", states = 3, complete = 0, deadlock = 0, race = 0, pdl = 1, first = 2, r2_states = 3, exact = "PDL" },
  { id = "C48", text = "A:AA/1 t[0,64), B:AA/1 t[32,96); x1{AA PA CA} | x1{aA cA rA} | x1{AB PB CB} | x1{aB cB rB}",
    r1 = "RACE", states = 81, complete = 1, deadlock = 0, race = 12, pdl = 0, first = 2, r2_states = 49, exact = "RACE" },
  { id = "C49", text = "as C48 with s[0,64) and s[64,128)",
    notation = "A:AA/1 s[0,64), B:AA/1 s[64,128); x1{AA PA CA} | x1{aA cA rA} | x1{AB PB CB} | x1{aB cB rB}",
    r1 = "SAFE", states = 81, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 49, exact = "SAFE" },
  { id = "C50", text = "S:TU/1 s[0,128), T:UA/1, D:- s[0,128); x2{AS PS CS} | H{AT} x2{aS cS PT rS} Z{CT} | Z{aT cT PD rT}",
    r1 = "SAFE", states = 25, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 25, exact = "SAFE" },
  { id = "C51", text = "as C50, third task Z{PD aT cT rT}",
    notation = "S:TU/1 s[0,128), T:UA/1, D:- s[0,128); x2{AS PS CS} | H{AT} x2{aS cS PT rS} Z{CT} | Z{PD aT cT rT}",
    r1 = "RACE", states = 44, complete = 1, deadlock = 0, race = 18, pdl = 0, first = 1, r2_states = 63, exact = "RACE" },
  { id = "C52", text = "as C50, 2 tiles",
    notation = "S:TU/1 s[0,128), T:UA/1, D:- s[0,128), 2 tiles; x2{AS PS CS} | H{AT} x2{aS cS PT rS} Z{CT} | Z{aT cT PD rT}",
    r1 = "RACE", states = 85, complete = 1, deadlock = 0, race = 4, pdl = 0, first = 20, cursor_vectors = 67, r2_states = 67, exact = "RACE" },
  { id = "C53", text = "Sp:AA/1 t[0,64), V:- t[0,64); x2{ASp PSp CSp} | x2{aSp cSp rSp cV}",
    r1 = "RACE", states = 29, complete = 1, deadlock = 0, race = 4, pdl = 0, first = 9, r2_states = 23, exact = "RACE" },
  { id = "C54", text = "as C53, second x2{aSp cSp cV rSp}",
    notation = "Sp:AA/1 t[0,64), V:- t[0,64); x2{ASp PSp CSp} | x2{aSp cSp cV rSp}",
    r1 = "SAFE", states = 21, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 17, exact = "SAFE" },
  { id = "C55", text = "A:AA/1 s[0,64)+t[0,64), producer role t, consumer role s; B:AA/1 t[0,64); tasks as C48",
    notation = "A:AA/1 s[0,64)+t[0,64), producer role t, consumer role s, B:AA/1 t[0,64); x1{AA PA CA} | x1{aA cA rA} | x1{AB PB CB} | x1{aB cB rB}",
    r1 = "RACE", states = 81, complete = 1, deadlock = 0, race = 8, pdl = 0, first = 2, r2_states = 49, exact = "RACE",
    note = "the writer is A, together with both tasks of B" },
  { id = "C56", text = "A,B:- s[0,64); x1{cA} | x1{cB}",
    r1 = "RACE", states = 9, complete = 1, deadlock = 0, race = 3, pdl = 0, first = 0, r2_states = 9, exact = "RACE",
    note = "row 10: a read without pipeline counts as a write" },
  { id = "C57", text = "A,B:- s[0,64); x1{cA PB}",
    r1 = "SAFE", states = 4, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 5, exact = "SAFE" },
  { id = "C58", text = "A:AA/1 s[0,64), B:- s[0,64), X,Y:AA/1; x1{AA PA CA AX CX} | x1{aX PB AY CY rX} | x1{aY aA cA rA rY}",
    r1 = "SAFE", states = 24, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 22, exact = "RACE",
    r1_fault = "missed race", note = "row 4" },
  { id = "C59", text = "S:TU/1 s[0,128), T:UA/1, X:AA/1, D:- s[0,128); x1{AS PS CS} | x1{AT aS cS PT rS CT AX CX} | x1{aX PD rX aT rT}",
    r1 = "RACE", states = 20, complete = 1, deadlock = 0, race = 1, pdl = 0, first = 12, r2_states = 21, exact = "RACE" },
  { id = "C60", text = "A:AA/1 s[0,64), B:- s[0,64); x1{AA PA PB CA} | x1{aA cA rA}",
    r1 = "SAFE", states = 10, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 9, exact = "SAFE",
    exact_same_task = "RACE", exact_text = "SAFE; RACE with the same-task switch",
    note = "row 5: the same task overwrites its own unread data" },
  { id = "C61", text = "A:TA/2 s[0,64), N:- s[0,64); x1{A P C A} | x1{a c r PN}",
    r1 = "RACE", states = 20, complete = 2, deadlock = 0, race = 1, pdl = 0, first = 8, cursor_vectors = 15, r2_states = 15, exact = "SAFE",
    r1_fault = "false race", note = "row 6" },
  { id = "C62", text = "as C61, first x1{A P C}",
    notation = "A:TA/2 s[0,64), N:- s[0,64); x1{A P C} | x1{a c r PN}",
    r1 = "SAFE", states = 9, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 9, exact = "SAFE" },
  { id = "C63", text = "A:AA/2 strides (1,1,2,2); x4{A C} | range(0,4,2){a r} 4 warps | range(1,4,2){a r} 4 warps",
    r1 = "SAFE", states = 73, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 73, exact = "SAFE" },
  { id = "C64", text = "as C63: x3{A C} | range(0,2,2) | range(1,5,2)",
    notation = "A:AA/2 strides (1,1,2,2); x3{A C} | range(0,2,2){a r} 4 warps | range(1,5,2){a r} 4 warps",
    r1 = "SAFE", states = 41, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = false, exact = "DEADLOCK",
    r1_fault = "missed deadlock", r2_text = "DEADLOCK by design", note = "row 3" },
  { id = "C65", text = "Q:WQ with CLC/1, P:AA/1, 2 tiles; Z{AQ PQ CQ aQ cQ rQ} | x1{AP CP} Z{aQ cQ rQ} | x1{aP rP} Z{aQ cQ rQ}",
    r1 = "SAFE", states = 1455, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 858, exact = "SAFE",
    r1_fault = "blind", note = "row 2: waits on a work queue never block; see X01" },
  { id = "C66", text = "as C28 with x2, x1, x2",
    notation = "A,B:TU/2, G=merge(A,B); x2{AA PA CA} | x1{AB PB CB} | x2{aA aB cA cB rG}",
    r1 = "DEADLOCK", states = 61, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 15, r2_states = 61, exact = "DEADLOCK" },
  { id = "C67", text = "as C28 without work, x3{AA CA} | x3{AB CB} | x3{aA aB L:rG}",
    notation = "A,B:TU/2, G=merge(A,B); x3{AA CA} | x3{AB CB} | x3{aA aB L:rG}",
    r1 = "DEADLOCK", states = 53, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 12, r2_states = 53, exact = "DEADLOCK" },
  { id = "C68", text = "A:AA/2, B:AA/1; x3{AA CA} | x3{aA AB CB rA} | x3{aB rB}",
    r1 = "SAFE", states = 75, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 75, exact = "SAFE" },
  { id = "C69", text = "A,B:AA/1; x3{AA CA aB rB} | x3{aA rA AB CB}",
    r1 = "SAFE", states = 25, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 25, exact = "SAFE" },
  { id = "C70", text = "A,B,C:AA/1; x1{aC AA CA rC} | x1{aA AB CB rA} | x1{aB AC CC rB}",
    r1 = "DEADLOCK", states = 1, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 0, r2_states = 1, exact = "DEADLOCK" },
  { id = "C71", text = "A:AA/3; x4{A C} | x4{a L:r}",
    r1 = "DEADLOCK", states = 16, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 9, r2_states = 16, exact = "DEADLOCK" },
  { id = "C72", text = "A:AA/4; as C71",
    notation = "A:AA/4; x4{A C} | x4{a L:r}",
    r1 = "SAFE", states = 26, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 26, exact = "SAFE" },
  { id = "C73", text = "W,L,Q:WQ, 2 tiles, task skips; Z{k:cW PL aQ cQ rQ}, normal run",
    r1 = "SAFE", states = 13, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 13, exact = "SAFE" },
  { id = "C74", text = "as C73, skipped run",
    notation = "W,L,Q:WQ, 2 tiles, task skips, skipped run; Z{k:cW PL aQ cQ rQ}",
    r1 = "PDL", states = 1, complete = 0, deadlock = 0, race = 0, pdl = 1, first = 0, r2_states = 1, exact = "PDL" },
  { id = "C75", text = "P,Q:AA/1; x2{AP CP} | x2{aP rP} | x2{AQ CQ} | x2{aQ rQ}",
    r1 = "SAFE", states = 81, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 81, exact = "SAFE" },
  { id = "C76", text = "S:TU/1 s[0,128), T:UA/1, D:- s[0,128); x1{AS PS CS} | x1{AT aS cS PT rS CT} | x1{aT PD rT}",
    r1 = "SAFE", states = 16, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 17, exact = "SAFE" },
  { id = "C77", text = "A:AA/2 s[0,128), B:AA/2 s[0,64); four tasks as C48, x2 each",
    notation = "A:AA/2 s[0,128), B:AA/2 s[0,64); x2{AA PA CA} | x2{aA cA rA} | x2{AB PB CB} | x2{aB cB rB}",
    r1 = "RACE", states = 2025, complete = 1, deadlock = 0, race = 1200, pdl = 0, first = 2, cursor_vectors = 1089, r2_states = 484, exact = "RACE" },
  { id = "C78", text = "P:AA/1; x3{A P C a c r} one task",
    r1 = "SAFE", states = 25, complete = 1, deadlock = 0, race = 0, pdl = 0, r2_states = 19, exact = "SAFE" },
  { id = "C79", text = "P:AA/1; x3{a c r A P C} one task",
    r1 = "DEADLOCK", states = 1, complete = 0, deadlock = 1, race = 0, pdl = 0, first = 0, r2_states = 1, exact = "DEADLOCK" },
  { id = "C80", text = "no tasks",
    r1 = "SAFE", states = 0, complete = 0, deadlock = 0, race = 0, pdl = 0, r2_states = 0, exact = "SAFE" },
}

checker.derived = {
  { id = "K01", text = "P:AA/1; when k {A C} | when k {a r}", runs = {
    { conditions = { k = false }, r2 = "SAFE", states = 1 },
    { conditions = { k = true },  r2 = "SAFE", states = 5 } } },
  { id = "K02", text = "P:AA/1; when k {A C} | when m {a r}", runs = {
    { conditions = { k = false, m = false }, r2 = "SAFE", states = 1 },
    { conditions = { k = true,  m = false }, r2 = "SAFE", states = 3 },
    { conditions = { k = true,  m = true },  r2 = "SAFE", states = 5 },
    { conditions = { k = false, m = true },  r2 = "DEADLOCK", states = 1, first = 0 } },
    note = "the specification lists 1, 3 and 5 states for the three safe assignments without saying which is which" },
  { id = "K03", text = "P:AA/1; x5{every(2){A C}} | x3{a r}", runs = { { r2 = "SAFE", states = 13 } } },
  { id = "K04", text = "P:AA/1; x5{every(2,1){A C}} | x3{a r}", runs = { { r2 = "DEADLOCK", states = 9, first = 8 } } },
  { id = "K05", text = "fused merge G(A,B)/1; x1{AA CA} | x1{AB CB} | x1{aG rG}", runs = { { r2 = "SAFE", states = 11 } } },
  { id = "K06", text = "as K05 without the commit of B",
    notation = "fused merge G(A,B)/1; x1{AA CA} | x1{AB} | x1{aG rG}",
    runs = { { r2 = "DEADLOCK", states = 6, first = 3 } } },
}

checker.extra = {
  { id = "X01", text = "C65 without the scheduler's commit (section 10, row 2)",
    notation = "Q:WQ with CLC/1, P:AA/1, 2 tiles; Z{AQ PQ aQ cQ rQ} | x1{AP CP} Z{aQ cQ rQ} | x1{aP rP} Z{aQ cQ rQ}",
    r1 = "SAFE", states = 1261, exact = "DEADLOCK", r1_fault = "missed deadlock",
    note = "exact: with the work queue modelled as a pipeline, section 11.8" },
  { id = "X02", text = "GEMM at d = 32, s = 8 without operations that cannot matter (section 11.7)",
    notation = "A:AU/8, B:TU/8, acc:UA/1, G=merge(A,B); "
      .. "x32{AA CA} | x32{AB CB} | H{Aacc} x32{aA aB rG} Z{Cacc} | Z{aacc racc}",
    r1 = "SAFE", states = 21205, exact = "SAFE" },
}

checker.gemm = {
  template = "gA,gB:-, A:AU/$S, B:TU/$S, acc:UA/1, D:-, G=merge(A,B); "
    .. "H{UA UA} x$D{cgA TA AA PA CA} | "
    .. "H{UB UB} x$D{cgB TB AB PB CB} | "
    .. "H{uA uB Uacc Tacc Aacc} x$D{tA aA tB aB cA cB Pacc rG} Z{Cacc} | "
    .. "H{uacc} Z{tacc aacc cacc PD racc}",
  r1 = "SAFE", exact = "SAFE", complete = 1, deadlock = 0,
  flat_ops = { load_a = { head = 2, loop = 7, tail = 0 }, load_b = { head = 2, loop = 6, tail = 0 },
               mma = { head = 5, loop = 8, tail = 1 }, store = { total = 7 } },
  counts = {
    { d = 1, [2] = 1967, [3] = 1967, [4] = 1967, [5] = 1967, [6] = 1967, [7] = 1967, [8] = 1967 },
    { d = 2, [2] = 7148, [3] = 7148, [4] = 7148, [5] = 7148, [6] = 7148, [7] = 7148, [8] = 7148 },
    { d = 4, [2] = 17039, [3] = 29081, [4] = 35582, [5] = 35582, [6] = 35582, [7] = 35582, [8] = 35582 },
    { d = 8, [2] = 33455, [3] = 65609, [4] = 103139, [5] = 142013, [6] = 178199, [7] = 207665, [8] = 221186 },
    { d = 16, [2] = 66287, [3] = 138665, [4] = 232547, [5] = 343901, [6] = 468695, [7] = 602897, [8] = 742475 },
    { d = 32, [2] = 131951, [3] = 284777, [4] = 491363, [5] = 747677, [6] = 1049687, [7] = 1393361, [8] = 1774667 },
  },
  widest_level = { d = 32, s = 8, states = 3254 },
}

local function sum(first, last, term)
  local total = 0
  for k = first, last do total = total + term(k) end
  return total
end

checker.forms = {
  { id = "F1", template = "P:AA/$S; x$D{A C} | x$D{a r}",
    text = "1 + 4 * sum_{k<m} (D - k), m = min(D, S)",
    states = function(d, s) return 1 + 4 * sum(0, math.min(d, s) - 1, function(k) return d - k end) end,
    covers = { C01 = { d = 1, s = 1 }, C02 = { d = 3, s = 1 }, C03 = { d = 3, s = 2 }, C04 = { d = 3, s = 3 } } },
  { id = "F2", template = "P:AA/$S; x$D{T A P C} | x$D{t a c r}",
    text = "20D - 4 + sum_{1<=k<m} (25(D-k) - 5)",
    states = function(d, s)
      return 20 * d - 4 + sum(1, math.min(d, s) - 1, function(k) return 25 * (d - k) - 5 end)
    end,
    covers = { C06 = { d = 4, s = 2 } } },
  { id = "F3", template = "P:TA/$S; x$D{T A P C} | x$D{t a c r}",
    text = "18D - 4 + sum_{1<=k<m} (20(D-k) - 5)",
    states = function(d, s)
      return 18 * d - 4 + sum(1, math.min(d, s) - 1, function(k) return 20 * (d - k) - 5 end)
    end,
    covers = { C07 = { d = 4, s = 2 } } },
}

for _, list in ipairs { checker.vectors, checker.derived, checker.extra } do
  for _, vector in ipairs(list) do vector.notation = vector.notation or vector.text end
end

return checker
