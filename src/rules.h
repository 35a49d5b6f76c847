/* Every rule once: id, severity, title. Read by the report, the docs and the tests; a rule's broken schedule is in t/rules/.
 * The C-, T-, G-, V- and X- ids are those of the schedule specification weir keeps to; X(id, severity, title). */
#ifndef WEIRI_RULES_H
#define WEIRI_RULES_H

#include "weir.h"

#define WEIRI_RULES(X) \
    /* model: names, sizes, options */ \
    X("M-NAME", WEIR_ERROR, "names are C identifiers, each used once") \
    X("M-OPTION", WEIR_ERROR, "an option is one that the call has, with a value that it takes") \
    X("M-DTYPE", WEIR_ERROR, "a dtype is known and fits its place") \
    X("M-TILE", WEIR_ERROR, "tile sizes are positive and match what they tile") \
    X("M-RANK", WEIR_ERROR, "ranks agree") \
    X("M-SWIZZLE", WEIR_ERROR, "the swizzle span is 0, 32, 64 or 128 bytes") \
    X("M-DIM", WEIR_ERROR, "bounds of a dim make sense") \
    X("M-SHAPE", WEIR_ERROR, "shapes are integers known at launch, rows are dense") \
    X("M-PIPE", WEIR_ERROR, "the pipeline's fields make sense") \
    X("M-STORAGE", WEIR_ERROR, "storage is another tile in shared memory of the same size") \
    X("M-QUEUE", WEIR_ERROR, "the work queue's axes and extents make sense") \
    X("M-WORK", WEIR_ERROR, "a custom method's interface and brackets can be read") \
    X("M-TID", WEIR_WARNING, "a body counts its threads in its task") \
    X("M-UNUSED", WEIR_WARNING, "what takes memory is used") \
    X("M-HOST", WEIR_ERROR, "what a caller finds by itself") \
    /* values */ \
    X("VAL-ARG", WEIR_ERROR, "an argument is a value") \
    X("VAL-TYPE", WEIR_ERROR, "an operation works on values of its kind") \
    X("VAL-SHAPE", WEIR_ERROR, "shapes spread as in numpy") \
    X("VAL-ZERO", WEIR_ERROR, "nothing is divided by zero") \
    X("VAL-SCOPE", WEIR_ERROR, "a value is used inside the block that made it") \
    X("VAL-UNIFORM", WEIR_ERROR, "only values equal in all threads steer loops, guards and coordinates") \
    X("VAL-DEPTH", WEIR_ERROR, "an expression is at most 4096 operations deep") \
    X("VAL-UNUSED", WEIR_WARNING, "a condition decides something") \
    X("VIEW-ARG", WEIR_ERROR, "a view names a place that exists") \
    /* capture */ \
    X("C-CTX-01", WEIR_ERROR, "ops and blocks belong in a schedule") \
    X("C-ARG-01", WEIR_ERROR, "a resource stands where one is wanted") \
    X("C-ARG-02", WEIR_ERROR, "a grouped resource is spelled through its group") \
    X("C-BREAK", WEIR_ERROR, "a captured block is not left by break") \
    X("C-NEST-03", WEIR_ERROR, "the work-tile loop is at top level") \
    X("C-NEST-04", WEIR_ERROR, "a schedule has one work-tile loop") \
    X("C-NEST-07", WEIR_ERROR, "a guard belongs to a loop that is still open") \
    X("C-NEST-08", WEIR_ERROR, "blocks close in reverse order") \
    X("C-NEST-09", WEIR_ERROR, "skippable is not nested") \
    X("C-NEST-10", WEIR_ERROR, "skippable needs a work-tile loop with a skip predicate") \
    X("C-NEST-11", WEIR_ERROR, "with a skip predicate, domain loops are skippable") \
    X("C-NEST-12", WEIR_ERROR, "queue steps are not skippable") \
    X("C-NEST-13", WEIR_ERROR, "blocks are at most 64 deep") \
    X("C-NEST-14", WEIR_ERROR, "previous_tile is inside the work-tile loop over its queue, last_tile behind it") \
    X("C-GUARD-01", WEIR_ERROR, "every(period, start): period at least 1, start at least 0") \
    X("C-GUARD-02", WEIR_ERROR, "only conditions can be negated") \
    X("C-GUARD-03", WEIR_ERROR, "a runtime guard needs a condition") \
    X("C-WTL-01", WEIR_ERROR, "the work-tile loop runs over a work queue") \
    X("C-DOM-01", WEIR_ERROR, "a loop has one to three bounds") \
    X("C-DOM-02", WEIR_ERROR, "a loop's step is not 0") \
    X("C-DOM-03", WEIR_ERROR, "a loop has its bounds") \
    X("C-SKIP-01", WEIR_ERROR, "a skip predicate gives a condition") \
    X("C-NAME-01", WEIR_ERROR, "a work method is not named like a pipeline move") \
    X("C-NAME-02", WEIR_ERROR, "a work method is declared once") \
    X("C-NAME-03", WEIR_ERROR, "the method exists") \
    X("C-NAME-04", WEIR_ERROR, "a returned value is no method") \
    X("C-NAME-05", WEIR_ERROR, "the steps of a queue are called by name") \
    X("V-LBL-03", WEIR_ERROR, "work is called by its name") \
    X("C-MOVE-01", WEIR_ERROR, "pipeline moves need a pipeline") \
    X("C-MOVE-02", WEIR_ERROR, "a move keeps at least 0 stages") \
    X("C-FLOW-01", WEIR_ERROR, "as many arguments as the method takes") \
    X("C-FLOW-02", WEIR_ERROR, "each argument is given once") \
    X("C-FLOW-03", WEIR_ERROR, "no argument is missing") \
    X("C-FLOW-04", WEIR_ERROR, "an argument is not nil") \
    X("C-FLOW-05", WEIR_ERROR, "the argument has the kind the method takes") \
    X("C-FLOW-06", WEIR_ERROR, "an argument is no result of a call that returns nothing") \
    X("C-FLOW-08", WEIR_ERROR, "a const parameter takes a plain number") \
    X("C-FLOW-09", WEIR_ERROR, "a const parameter is given") \
    X("C-FLOW-10", WEIR_ERROR, "the argument's name is declared") \
    X("C-FLOW-12", WEIR_WARNING, "a returned value is used") \
    /* tasks */ \
    X("T-SCHED-01", WEIR_ERROR, "a task has a schedule") \
    X("T-UNROLL-01", WEIR_ERROR, "unroll is at least 1") \
    X("T-WQ-01", WEIR_ERROR, "a task takes tiles from one queue") \
    X("T-REG-01", WEIR_ERROR, "registers are a multiple of 8, 24 to 256") \
    X("T-SKIP-01", WEIR_ERROR, "a skip predicate needs the queue in src") \
    X("T-CTA-01", WEIR_ERROR, "the CTA coordinate exists") \
    X("T-GRP-01", WEIR_ERROR, "a collapsed op goes to the group") \
    X("T-GRP-02", WEIR_ERROR, "other ops go to the member") \
    X("X-WARP-01", WEIR_ERROR, "warps of tasks do not overlap") \
    X("X-WARP-02", WEIR_ERROR, "at most 32 warps") \
    X("X-WARP-03", WEIR_NOTE, "warps below the highest are covered") \
    X("X-WARP-04", WEIR_ERROR, "wgmma tasks are whole warpgroups") \
    X("X-REG-01", WEIR_ERROR, "setmaxnreg takes at least 24 registers") \
    X("V-WG-01", WEIR_ERROR, "warp ranges are given") \
    X("V-WG-02", WEIR_ERROR, "one register count per warpgroup") \
    X("V-REG-01", WEIR_ERROR, "the register pool holds all declared registers") \
    /* groups */ \
    X("G-NAME-01", WEIR_ERROR, "a member is not named like a field or method of a group") \
    X("G-CFG-01", WEIR_ERROR, "a group has members") \
    X("G-CFG-02", WEIR_ERROR, "a resource is in one group") \
    X("G-CFG-03", WEIR_ERROR, "a member has a pipeline") \
    X("G-CFG-04", WEIR_ERROR, "members have equal stages") \
    X("G-CFG-05", WEIR_ERROR, "members advance alike") \
    X("G-CFG-06", WEIR_ERROR, "members have equal strides") \
    X("G-CFG-07", WEIR_ERROR, "members have equal CTA layouts") \
    X("G-CFG-10", WEIR_ERROR, "no CLC member") \
    X("G-CFG-11", WEIR_ERROR, "members differ on one side only") \
    X("G-CFG-12", WEIR_ERROR, "the mode collapses the side that is alike") \
    X("G-CFG-13", WEIR_ERROR, "counts on the collapsed side are equal") \
    X("G-CFG-14", WEIR_ERROR, "fork members have equal bytes") \
    X("G-CFG-15", WEIR_ERROR, "members signal alike") \
    X("G-CFG-16", WEIR_ERROR, "a fused merge is not interleaved") \
    X("G-CFG-17", WEIR_ERROR, "a fork does not advance on acquire") \
    X("G-CFG-18", WEIR_ERROR, "a fork's commit reaches the threads of both CTAs") \
    X("V-GRP-02", WEIR_ERROR, "group and members have equal stages") \
    X("V-GRP-03", WEIR_ERROR, "group and members have one type") \
    X("V-GRP-04", WEIR_ERROR, "the group's bytes are the members' sum") \
    /* roles, graph, coverage */ \
    X("V-SIM-01", WEIR_ERROR, "the schedule can finish") \
    X("V-SIM-02", WEIR_ERROR, "every commit is consumed") \
    X("V-SIM-03", WEIR_ERROR, "every acquire is answered by a release") \
    X("V-SIM-04", WEIR_ERROR, "every release answers an acquire") \
    X("V-INIT-01", WEIR_ERROR, "a dependency graph is not empty") \
    X("V-ROLE-01", WEIR_ERROR, "a source is not produced") \
    X("V-ROLE-02", WEIR_ERROR, "a destination is not consumed") \
    X("V-ROLE-03", WEIR_ERROR, "a scheduled resource is in src or dst") \
    X("V-ROLE-04", WEIR_ERROR, "a group step is in a task with members") \
    X("V-DEP-01", WEIR_ERROR, "a downstream of the graph is used") \
    X("V-DEP-02", WEIR_ERROR, "an upstream of the graph is used") \
    X("V-DEP-03", WEIR_ERROR, "a self-edge is consumed and produced") \
    X("V-DEP-04", WEIR_ERROR, "an edge is backed by a task") \
    X("V-COV-01", WEIR_ERROR, "a declared resource is in the graph") \
    X("V-USE-01", WEIR_ERROR, "a declared resource is used") \
    X("V-BRK-01", WEIR_ERROR, "work stands between an opening and a closing move") \
    X("V-BRK-02", WEIR_ERROR, "work follows its opening move") \
    X("V-BRK-03", WEIR_ERROR, "work is closed") \
    X("V-BRK-04", WEIR_ERROR, "a try is followed by its blocking move") \
    X("V-BRK-05", WEIR_ERROR, "a closing move has a stage to close") \
    X("V-WQ-01", WEIR_ERROR, "all tasks walk the queue or none") \
    X("V-WQ-02", WEIR_ERROR, "no queue step before the loops") \
    X("V-WQ-03", WEIR_ERROR, "no queue step inside a domain loop") \
    X("V-WQ-04", WEIR_ERROR, "a tile ends with queue steps") \
    X("V-WQ-05", WEIR_ERROR, "one queue in a kernel") \
    X("V-WQ-06", WEIR_ERROR, "a CLC queue has one scheduler task") \
    X("V-WQ-07", WEIR_ERROR, "a tile ends with try_wait, wait, get_and_advance_work_tile, release") \
    X("V-WQ-08", WEIR_ERROR, "the scheduler fetches, then advances") \
    X("V-WQ-09", WEIR_ERROR, "a CLC queue has one producer") \
    X("V-WQ-11", WEIR_ERROR, "a raster reaches every tile once") \
    X("V-DMA-01", WEIR_ERROR, "an asynchronous read is issued before its stage is released") \
    X("V-DMA-02", WEIR_ERROR, "a labelled release matches") \
    X("V-DMA-03", WEIR_WARNING, "an edge to a hardware producer has work") \
    X("V-CWS-01", WEIR_ERROR, "a wait-signaling override is on a split consumer") \
    X("V-TYPE-01", WEIR_ERROR, "the pipeline's type says who fills a stage") \
    X("V-TYPE-02", WEIR_ERROR, "the pipeline's type says who empties a stage") \
    X("V-PP-01", WEIR_ERROR, "a ping-pong resource has a pipeline") \
    X("V-PP-02", WEIR_ERROR, "a ping-pong consumer is no mma") \
    X("V-PP-03", WEIR_ERROR, "a ping-pong resource is produced") \
    X("V-PP-04", WEIR_ERROR, "a ping-pong resource is consumed") \
    X("V-PDL-01", WEIR_ERROR, "data of the previous kernel is waited for") \
    X("V-PDL-02", WEIR_ERROR, "the wait for the previous kernel comes first") \
    X("V-HLO-01", WEIR_NOTE, "producer work stands before and in the loop") \
    X("V-KEY-01", WEIR_ERROR, "conditions under one key come out alike") \
    X("V-VAL-02", WEIR_ERROR, "a value comes from a source of its task") \
    X("V-VAL-03", WEIR_ERROR, "a value goes to a destination of its task") \
    X("V-VAL-04", WEIR_ERROR, "a value read by consumer work goes to a source of its task") \
    X("V-ATOM-01", WEIR_ERROR, "shapes of source and destination agree") \
    X("V-ATOM-02", WEIR_ERROR, "dtypes of source and destination agree") \
    X("V-ATOM-03", WEIR_ERROR, "the source is in the right kind of memory") \
    X("V-ATOM-04", WEIR_ERROR, "only out tensors are written") \
    X("V-MMA-01", WEIR_ERROR, "operand shapes of an mma agree") \
    X("V-MMA-02", WEIR_ERROR, "operand dtypes of an mma agree and exist") \
    X("V-MMA-03", WEIR_ERROR, "the tile is divisible by the instruction's shape") \
    /* pipelines: fields by themselves (protocol) */ \
    X("CF2", WEIR_ERROR, "the producer signaling exists") \
    X("CF3", WEIR_ERROR, "the consumer signaling exists") \
    X("CF5", WEIR_ERROR, "cp.async producers are threads") \
    X("CF10", WEIR_ERROR, "strides are at least 1") \
    X("CF12", WEIR_ERROR, "acquire and commit of unlike strides advance separately") \
    X("CF13", WEIR_ERROR, "wait and release of unlike strides advance separately") \
    X("CN1", WEIR_ERROR, "a pipeline has a stage") \
    X("CN2", WEIR_ERROR, "bytes are not negative") \
    X("CN3", WEIR_ERROR, "only copy engines bring bytes to a barrier") \
    X("CN5", WEIR_ERROR, "a wait-signaling override differs from the release") \
    X("CN6", WEIR_ERROR, "stages that are opened ahead need a cursor of their own") \
    X("CN7", WEIR_ERROR, "producer_op is what fills the stage") \
    X("P-ILV-01", WEIR_ERROR, "strides divide the stages") \
    X("X-SIG-01", WEIR_ERROR, "every CTA that waits for its full barrier arms it") \
    X("X-V2-01", WEIR_ERROR, "CTAs share an mma on sm_100a only") \
    X("X-V2-02", WEIR_ERROR, "the leader's mma sees the peer's copies") \
    /* pipelines: counts and bytes (plan) */ \
    X("V-CNT-01", WEIR_ERROR, "task-warp-leader signaling is for TMA producers") \
    X("V-CNT-02", WEIR_ERROR, "task-warp-leader signaling is not for consumers") \
    X("V-CNT-03", WEIR_ERROR, "one warp of a TMA producer commits") \
    X("V-CNT-04", WEIR_ERROR, "a strided TMA producer has no task-warp-leader") \
    X("V-CNT-05", WEIR_ERROR, "lanes and other tasks are not mixed") \
    X("V-CNT-06", WEIR_ERROR, "arrive count of a lane") \
    X("V-CNT-07", WEIR_ERROR, "a strided TMA side counts 1") \
    X("V-CNT-08", WEIR_ERROR, "arrive count of a hardware side") \
    X("V-CNT-09", WEIR_ERROR, "arrive count of a thread side") \
    X("V-CNT-10", WEIR_ERROR, "arrive count of a CLC consumer") \
    X("V-CNT-11", WEIR_ERROR, "arrive count of a TMA pipeline's consumer") \
    X("V-CNT-12", WEIR_ERROR, "the multicast mode exists") \
    X("V-CNT-13", WEIR_ERROR, "the grain fits who arrives") \
    X("V-BYT-01", WEIR_ERROR, "bytes per warp and CTA are declared") \
    X("V-BYT-02", WEIR_ERROR, "armed bytes are the bytes that come") \
    X("V-BYT-04", WEIR_ERROR, "an mbarrier can count the bytes") \
    X("V-ILV-01", WEIR_ERROR, "the pipeline type can be interleaved") \
    X("V-ILV-02", WEIR_ERROR, "an interleaved tma_async is in one CTA") \
    X("V-ILV-03", WEIR_ERROR, "an umma producer is not interleaved") \
    X("V-ILV-04", WEIR_ERROR, "an umma consumer of threads' stages is not interleaved") \
    X("V-ILV-06", WEIR_ERROR, "an interleaved role has its lanes") \
    X("V-ILV-07", WEIR_ERROR, "a lane of a loop has one stride on its side") \
    X("V-ILV-08", WEIR_ERROR, "acquire and commit of one task have one stride") \
    X("V-ILV-09", WEIR_ERROR, "wait and release of one task have one stride") \
    X("V-CTA-01", WEIR_ERROR, "pipelines have one CTA layout") \
    X("V-CTA-02", WEIR_ERROR, "CTAs that a load serves name one tile") \
    X("V-TMEM-01", WEIR_ERROR, "tensor memory holds all columns") \
    /* plan */ \
    X("PLAN-SMEM", WEIR_ERROR, "shared memory holds data and barriers") \
    X("PLAN-REGS", WEIR_ERROR, "the register pool holds what setmaxnreg asks for") \
    X("PLAN-SWIZZLE", WEIR_ERROR, "a tile lies in shared memory as swizzle and copy engine need it") \
    X("PLAN-BOX", WEIR_ERROR, "the TMA box is legal") \
    X("PLAN-ALIGN", WEIR_ERROR, "a bulk copy begins at a multiple of 16 bytes") \
    X("PLAN-ALIGN-OPEN", WEIR_WARNING, "a bulk copy is known to begin at a multiple of 16 bytes") \
    X("PLAN-FRONT", WEIR_ERROR, "a bulk store begins in its tensor, not in front of it") \
    X("PLAN-FRONT-OPEN", WEIR_WARNING, "a bulk store is known not to begin in front of its tensor") \
    X("PLAN-TILE", WEIR_ERROR, "the tile divides among warpgroups and instructions") \
    X("PLAN-SPLIT", WEIR_ERROR, "warpgroups that share columns keep to their own") \
    X("PLAN-WARPS", WEIR_ERROR, "the block's warps are legal") \
    X("PLAN-HELD", WEIR_ERROR, "no more stages are held at once than there are") \
    X("PLAN-TX", WEIR_ERROR, "a stage of a copy engine is filled by copies") \
    X("PLAN-NAMED", WEIR_ERROR, "at most 15 named barriers") \
    X("PLAN-ARCH", WEIR_ERROR, "the architecture has what the kernel uses") \
    X("PLAN-ZERO", WEIR_ERROR, "a register tile is zeroed or set before it is used") \
    X("PLAN-DRAIN", WEIR_ERROR, "what an mma in flight uses is left alone") \
    X("PLAN-VIEW", WEIR_ERROR, "a copy reads and writes places") \
    X("PLAN-DTYPE", WEIR_ERROR, "a copy converts nothing") \
    X("PLAN-MULTICAST", WEIR_ERROR, "a multicast divides its tile among the CTAs") \
    X("PLAN-PUSH", WEIR_ERROR, "a push goes to one other CTA, into bytes of its own") \
    X("PLAN-CLUSTER", WEIR_ERROR, "the cluster is legal") \
    X("PLAN-ROUND", WEIR_ERROR, "members of a group are moved in one order") \
    X("PLAN-COUNT", WEIR_ERROR, "an mbarrier counts 1 to 1048575 arrivals") \
    X("PLAN-UNSUPPORTED", WEIR_ERROR, "what cannot be built yet is refused") \
    /* prove */ \
    X("PROVE-DEADLOCK", WEIR_ERROR, "every wait ends") \
    X("PROVE-RACE", WEIR_ERROR, "accesses of the same bytes are ordered") \
    X("PROVE-TX", WEIR_ERROR, "bytes that arrive are the bytes expected") \
    X("PROVE-COUNT", WEIR_ERROR, "arrivals are as many as the barrier counts") \
    X("PROVE-PROXY", WEIR_ERROR, "a proxy fence stands between generic and async accesses") \
    X("PROVE-ASYNC-READ", WEIR_ERROR, "a stage is not given away under an asynchronous read") \
    X("PROVE-EXIT", WEIR_ERROR, "a CTA stays while others reach into it") \
    X("PROVE-PARITY", WEIR_ERROR, "a waiter is never two phases behind") \
    X("PROVE-INCOMPLETE", WEIR_WARNING, "the proof covers every length and condition") \
    X("PROVE-PDL", WEIR_ERROR, "a launch does not come before the wait") \
    X("PROVE-LOST", WEIR_ERROR, "a write is not lost") \
    X("PROVE-PLAN", WEIR_ERROR, "the plan's tables agree with each other")

/* Names that other texts use for the same rules: the pipeline specification's CF, MF, GR, GX and IL, the error names of bug
 * reports, and the schedule specification's ids of what plan and prover find. X(name, id). */
#define WEIRI_RULE_ALIASES(X) \
    X("V-EXH-01", "PROVE-DEADLOCK") \
    X("V-EXH-02", "PROVE-RACE") \
    X("V-EXH-03", "PROVE-PDL") \
    X("V-SMEM-01", "PLAN-SMEM") \
    X("V-REG-02", "PLAN-REGS") \
    X("T-SKIP-02", "C-SKIP-01") \
    X("T-GRP-03", "C-ARG-02") \
    X("V-LBL-01", "C-NAME-03") \
    X("V-LBL-02", "C-NAME-05") \
    X("V-WQ-10", "V-WQ-09") \
    X("V-ILV-05", "P-ILV-01") \
    X("CF1", "CF2") \
    X("CF4", "CF5") \
    X("CF6", "CF5") \
    X("CF7", "CF5") \
    X("CF8", "CF10") \
    X("CF9", "CF10") \
    X("CF11", "P-ILV-01") \
    X("MF1", "V-CNT-09") \
    X("MF2", "V-CWS-01") \
    X("MF3", "V-CTA-01") \
    X("MF4", "V-BYT-01") \
    X("MF5", "V-ILV-06") \
    X("MF6", "V-PP-01") \
    X("GR1", "G-CFG-01") \
    X("GR2", "G-CFG-02") \
    X("GR3", "G-CFG-03") \
    X("GR4", "G-CFG-04") \
    X("GR5", "G-CFG-05") \
    X("GR5b", "G-CFG-05") \
    X("GR6", "G-CFG-06") \
    X("GR7", "G-CFG-07") \
    X("GR9b", "G-CFG-15") \
    X("GR9c", "G-CFG-15") \
    X("GR9d", "G-CFG-15") \
    X("GR10", "G-CFG-10") \
    X("GR11", "G-CFG-11") \
    X("GR12", "G-CFG-12") \
    X("GR13a", "G-CFG-13") \
    X("GR13b", "G-CFG-13") \
    X("GR13c", "G-CFG-13") \
    X("GR13d", "G-CFG-14") \
    X("GR14", "G-CFG-16") \
    X("GX1", "G-CFG-03") \
    X("GX2", "G-CFG-10") \
    X("GX3", "V-GRP-02") \
    X("GX4", "G-CFG-06") \
    X("GX5", "V-GRP-03") \
    X("GX6", "V-GRP-04") \
    X("IL1", "V-ILV-01") \
    X("IL2", "V-ILV-02") \
    X("IL3", "V-ILV-03") \
    X("IL4", "V-ILV-04") \
    X("IL5", "P-ILV-01") \
    X("IL6", "V-ILV-06") \
    X("IL7", "V-ILV-07") \
    X("IL8", "V-ILV-08") \
    X("E-ARRIVE", "V-CNT-09") \
    X("E-NAMED-ID", "PLAN-NAMED") \
    X("E-DEPTH", "PLAN-HELD") \
    X("E-TX", "V-BYT-02") \
    X("E-PROXY", "PROVE-PROXY") \
    X("E-STORE-DRAIN", "PROVE-ASYNC-READ") \
    X("E-NEVER-RELEASED", "V-SIM-01") \
    X("E-ARCH", "PLAN-ARCH") \
    X("E-REGS", "PLAN-REGS") \
    X("E-SMEM", "PLAN-SMEM")

#endif
