/* The rare ways through the pure functions: protocol, group, layout, hand layouts, numbers, tensor maps, tcgen05. A row is a case
 * and the literal that it must give; what other tests take is not repeated here. */
#include <math.h>
#include <stdlib.h>

#include "../tap.h"
#include "deal.h"
#include "launch.h"
#include "layout.h"
#include "model.h"
#include "number.h"
#include "plan.h"
#include "protocol.h"
#include "tcgen05.h"
#include "tmap.h"

enum { AXIS_M = 1, AXIS_N = 2, AXIS_K = 4, AXIS_V = 8 };

/* ---- protocol: faults --------------------------------------------------------------------------------------------------- */

#define SM90 .arch = WEIR_ARCH_SM_90A
#define SM100 .arch = WEIR_ARCH_SM_100A
#define ONE .cluster = { 1, 1, 1, 1 }
#define WARP_SIDE \
    { .tasks = 1, .warps = 1, .max_warps_of_a_task = 1 }
#define WARPS_SIDE \
    { .tasks = 1, .warps = 4, .max_warps_of_a_task = 4 }
#define GROUP_SIDE \
    { .tasks = 1, .warps = 4, .warpgroups = 1, .max_warps_of_a_task = 4 }

static void faults(void) {
    static const struct {
        const char *name;
        weiri_proto_in in;
        const char *rule, *text, *expected, *got; /* rule NULL: no fault */
    } t[] = {
        { "clc_fetch_async does not interleave",
          { SM100, ONE, .given = { .type = WEIR_CLC_FETCH_ASYNC, .stages = 2, .interleave = { 2, 2, 2, 2 } },
            .producer = WARP_SIDE, .consumer = { .tasks = 1, .warps = 2, .max_warps_of_a_task = 2 } },
          "V-ILV-01",
          "interleave 2 on clc_fetch_async: only async_async, tma_async, tma_umma, umma_async and async_umma interleave",
          "1",
          "2" },
        { "umma_umma does not interleave",
          { SM100, ONE, .given = { .type = WEIR_UMMA_UMMA, .stages = 4, .interleave = { 4, 4, 4, 4 } }, .producer = WARP_SIDE,
            .consumer = WARP_SIDE },
          "V-ILV-01",
          "interleave 4 on umma_umma",
          "1",
          "4" },
        { "umma_async: commits interleaved, acquires not",
          { SM100, ONE,
            .given = { .type = WEIR_UMMA_ASYNC, .stages = 2, .interleave = { 1, 2, 1, 1 }, .advance_on_acquire = 1 },
            .producer = WARP_SIDE, .consumer = WARPS_SIDE },
          "V-ILV-03",
          "interleave of acquire 1, commit 2 on umma_async: its producer side is not interleaved",
          "1",
          "2" },
        { "async_umma: releases interleaved, waits not",
          { SM100, ONE, .given = { .type = WEIR_ASYNC_UMMA, .stages = 2, .interleave = { 1, 1, 1, 2 }, .advance_on_wait = 1 },
            .producer = WARPS_SIDE, .consumer = WARP_SIDE },
          "V-ILV-04",
          "interleave of wait 1, release 2 on async_umma: its consumer side is not interleaved",
          "1",
          "2" },
        { "async_umma: producers interleaved alone are fine",
          { SM100, ONE, .given = { .type = WEIR_ASYNC_UMMA, .stages = 4, .interleave = { 4, 4, 1, 1 } }, .producer = WARPS_SIDE,
            .consumer = WARP_SIDE },
          NULL,
          "",
          "",
          "" },
        { "tma_async: warps loading, bytes given, none landed known: routed to the leader's barrier they need the bytes of a "
          "warp",
          { SM90, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 1024 },
            .producer = WARP_SIDE, .consumer = { .tasks = 1, .warps = 4, .one_cta_tasks = 1, .one_cta_warps = 4 } },
          "V-BYT-01",
          "bytes = 1024 are given, so bytes_per_warp_per_cta must be declared too: the leader CTA's barrier counts what other "
          "CTAs load",
          "bytes_per_warp_per_cta",
          "none" },
        { "the same without such a consumer: nothing to declare",
          { SM90, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 1024 },
            .producer = WARP_SIDE, .consumer = WARPS_SIDE },
          NULL,
          "",
          "",
          "" },
        { "bytes declared twice, differently, are told once: not against the copies again",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 1024, .bytes_per_warp_per_cta = 512 },
            .producer = WARP_SIDE, .consumer = WARPS_SIDE, .tx = 2048 },
          "V-BYT-02",
          "bytes = 1024, but bytes_per_warp_per_cta 512 x 1 CTA x 1 producer warp / 1 that arms = 512",
          "512",
          "1024" },
        { "bytes against the copies",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 1024 }, .producer = WARP_SIDE,
            .consumer = WARPS_SIDE, .tx = 2048 },
          "V-BYT-02",
          "bytes = 1024 are armed per stage, but the copies bring 2048",
          "2048",
          "1024" },
        { "tma_async routed to the leader: its own copies are only part of the bytes",
          { SM90, .cluster = { 1, 2, 1, 1 },
            .given = { .type = WEIR_TMA_ASYNC,
                       .stages = 2,
                       .bytes = 2048,
                       .bytes_per_warp_per_cta = 1024,
                       .consumer_signaling = WEIR_SIGNAL_CTA_LEADER },
            .producer = WARP_SIDE, .consumer = WARPS_SIDE, .tx = 1024 },
          NULL,
          "",
          "",
          "" },
        { "two tasks of the mma produce: producers = 1 is one short",
          { SM100, ONE, .given = { .type = WEIR_UMMA_ASYNC, .stages = 2, .producers = 1 },
            .producer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 }, .consumer = WARPS_SIDE },
          "V-CNT-08",
          "producers = 1, but 2 arrivals reach the barrier per phase (one commit of the mma x 2 tasks x 1 CTA)",
          "2",
          "1" },
        { "two tasks of the mma consume in a cluster of two that shares the stage",
          { SM100, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_UMMA, .stages = 2, .consumers = 2 },
            .producer = WARP_SIDE, .consumer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 }, .serve = AXIS_M },
          "V-CNT-08",
          "consumers = 2, but 4 arrivals reach the barrier per phase (one commit of the mma x 2 tasks x 2 CTAs)",
          "4",
          "2" },
        { "lanes by the loop among the producers, interleave 1: the count is of the threads",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2, .producers = 3 },
            .producer = { .tasks = 1, .warps = 2, .max_warps_of_a_task = 2, .domain_lanes = 2 }, .consumer = WARPS_SIDE },
          "V-CNT-09",
          "producers = 3, but commit makes 2 or 64 arrivals per phase (2 warps; one per warp or per thread)",
          "2 or 64",
          "3" },
        { "lanes by the loop, interleave 2: the count is of a lane",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2, .producers = 3, .interleave = { 2, 2, 1, 1 } },
            .producer = { .tasks = 2, .warps = 4, .max_warps_of_a_task = 2, .domain_lanes = 2 }, .consumer = WARPS_SIDE },
          "V-CNT-06",
          "producers = 3, but commit makes 2 or 64 arrivals per phase (2 warps of a lane; one per warp or per thread)",
          "2 or 64",
          "3" },
        { "warpgroups: three sums to choose from",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .consumers = 3 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 2, .warps = 8, .warpgroups = 2, .max_warps_of_a_task = 4 } },
          "V-CNT-11",
          "consumers = 3, but release makes 2, 8 or 256 arrivals per phase (8 warps; one per warpgroup, warp or per thread)",
          "2, 8 or 256",
          "3" },
        { "loads by tasks of one CTA alone are not routed: nothing to declare",
          { SM90, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 1024 },
            .producer = { .tasks = 1, .warps = 1, .max_warps_of_a_task = 1, .one_cta_tasks = 1, .one_cta_warps = 1 },
            .consumer = { .tasks = 1, .warps = 4, .one_cta_tasks = 1, .one_cta_warps = 4 } },
          NULL,
          "",
          "",
          "" },
        { "async_tma in one task has no mbarrier: consumers are not counted",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_TMA, .stages = 2, .consumers = 1 }, .producer = GROUP_SIDE,
            .consumer = GROUP_SIDE, .same_warpgroup = true },
          "V-CNT-08",
          "producers, consumers = 0, 1: one task fills and stores this async_tma, no mbarrier counts; leave them out",
          "none",
          "0, 1" },
        { "the same, producers",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_TMA, .stages = 2, .producers = 4 }, .producer = GROUP_SIDE,
            .consumer = GROUP_SIDE, .same_warpgroup = true },
          "V-CNT-08",
          "producers, consumers = 4, 0: one task",
          "none",
          "4, 0" },
        { "nobody releases: consumers = 7 stands, another rule tells",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .consumers = 7, .grain = WEIR_GRAIN_THREAD },
            .producer = WARP_SIDE },
          NULL,
          "",
          "",
          "" },
        { "no type, nothing to say", { SM90, ONE, .given = { .type = WEIR_PIPE_NONE } }, NULL, "", "", "" },
        { "a type past the last, as C can pass it", { SM90, ONE, .given = { .type = WEIR_PIPE_COUNT } }, NULL, "", "", "" },
        { "consumer_wait_signaling alone at v = 2: the leader waits", /* X-SIG-01 is not for it */
          { SM100, .cluster = { 2, 1, 1, 1 },
            .given = { .type = WEIR_TMA_UMMA, .stages = 2, .consumer_wait_signaling = WEIR_SIGNAL_ALL }, .producer = WARP_SIDE,
            .consumer = WARP_SIDE },
          NULL,
          "",
          "",
          "" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weiri_proto out;
        weiri_protocol(&t[i].in, &out);
        is_int(t[i].rule ? 1 : 0, out.nfaults, t[i].name);
        if (!out.nfaults) continue;
        is_str(t[i].rule ? t[i].rule : "", out.fault[0].rule, "its rule");
        ok(!strncmp(out.fault[0].text, t[i].text, strlen(t[i].text)), "its text: %s", out.fault[0].text);
        is_str(t[i].expected, out.fault[0].expected, "what is expected");
        is_str(t[i].got, out.fault[0].got, "what it got");
    }
    /* more faults than the table holds: the first eight stand */
    weiri_proto out;
    weiri_proto_in bad = { SM90, ONE,
                           .given = { .type = WEIR_TMA_ASYNC,
                                      .producer_op = WEIR_PRODUCER_LOAD,
                                      .stages = 5,
                                      .bytes = -1,
                                      .producer_signaling = 64,
                                      .consumer_signaling = 64,
                                      .consumer_wait_signaling = 65,
                                      .interleave = { 2, 3, 4, 7 } } };
    weiri_protocol(&bad, &out);
    is_int(8, out.nfaults, "nine faults: eight are kept");
    is_str("CF2", out.fault[0].rule, "the first of them");
    is_str("P-ILV-01", out.fault[7].rule, "the eighth of them: the third interleave");
    is_str("interleave of wait is 4, which does not divide the 5 stages", out.fault[7].text, "its text");
}

/* ---- protocol: counts and rows ------------------------------------------------------------------------------------------ */

static const char *rows_text(const weiri_row *r) {
    static const char *const kinds[] = { "end",       "wait",        "arrive",    "expect",
                                         "cp_arrive", "umma_commit", "fence", "warp_sync", "wg_sync",
                                         "bulk_wait", "drain",       "spill", "after",     "before" };
    static char text[200];
    size_t n = 0;
    text[0] = 0;
    for (; r->kind != ROW_END; r++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", n ? " " : "", kinds[r->kind], r->by_rank ? "*" : "");
    return text;
}

static void counts(void) {
    static const struct {
        const char *name;
        weiri_proto_in in;
        int full, empty;
        const char *full_sum, *empty_sum, *commit, *wait, *release;
    } t[] = {
        { "two tasks of the mma produce, two CTAs share it",
          { SM100, .cluster = { 2, 1, 1, 1 },
            .given = { .type = WEIR_UMMA_ASYNC, .stages = 2, .producer_signaling = WEIR_SIGNAL_ALL },
            .producer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 }, .consumer = WARPS_SIDE },
          4,
          8,
          "one commit of the mma x 2 tasks x 2 CTAs",
          "4 warps x 2 CTAs",
          "umma_commit",
          "wait after",
          "before warp_sync arrive" },
        { "two tasks of the mma consume, alone",
          { SM100, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 } },
          1,
          2,
          "1 warp that arms",
          "one commit of the mma x 2 tasks x 1 CTA",
          "",
          "wait after",
          "umma_commit" },
        { "the first CTA issues for the mma of three others: counts by rank",
          { SM100, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = WARP_SIDE, .first = 1 },
          1,
          2,
          "1 warp that arms",
          "one commit of the mma x 2, 1 CTAs by rank",
          "",
          "wait after",
          "umma_commit*" },
        { "the same for two tasks",
          { SM100, .cluster = { 1, 2, 1, 1 }, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 }, .first = 1 },
          1,
          4,
          "1 warp that arms",
          "one commit of the mma x 2 tasks x 2, 1 CTAs by rank",
          "",
          "wait after",
          "umma_commit*" },
        { "sixteen CTAs, the first issues: the sum names all of them",
          { SM90, .cluster = { 1, 16, 1, 1 }, .given = { .type = WEIR_TMA_ASYNC, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 12, .warpgroups = 3, .max_warps_of_a_task = 12, .only_mma_reads = true },
            .first = 1 },
          1,
          48,
          "1 warp that arms",
          "3 warpgroups x 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 CTAs by rank",
          "",
          "wait",
          "arrive*" },
        { "the same with a longer sum: it says that more follow",
          { SM100, .cluster = { 1, 16, 1, 1 }, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 2, .warps = 2, .max_warps_of_a_task = 1 }, .first = 1 },
          1,
          32,
          "1 warp that arms",
          "one commit of the mma x 2 tasks x 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ... CTAs by rank",
          "",
          "wait after",
          "umma_commit*" },
        { "threads fill what the async proxy reads besides: a fence before they arrive",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .max_warps_of_a_task = 4, .async_reads = true } },
          1,
          4,
          "1 warp",
          "4 warps",
          "fence warp_sync arrive",
          "wait",
          "warp_sync arrive" },
        { "threads read what TMA fills again: a fence before they arrive",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .max_warps_of_a_task = 4 },
            .fence_release = true },
          1,
          4,
          "1 warp that arms",
          "4 warps",
          "",
          "wait",
          "fence warp_sync arrive" },
        { "threads read beside the mma: the fence behind its drain",
          { SM90, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .warpgroups = 1, .max_warps_of_a_task = 4, .async_reads = true },
            .fence_release = true },
          1,
          1,
          "1 warp that arms",
          "1 warpgroup",
          "",
          "wait",
          "drain fence wg_sync arrive" },
        { "threads of an sm_100a mma's warp read its operands: fence and join before the commit",
          { SM100, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE, .consumer = WARP_SIDE,
            .fence_release = true },
          1,
          1,
          "1 warp that arms",
          "one commit of the mma x 1 CTA",
          "",
          "wait after",
          "fence warp_sync umma_commit" },
        { "threads of its warpgroup do",
          { SM100, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .warpgroups = 1, .max_warps_of_a_task = 4 },
            .fence_release = true },
          1,
          1,
          "1 warp that arms",
          "one commit of the mma x 1 CTA",
          "",
          "wait after",
          "fence wg_sync umma_commit" },
        { "threads read what threads fill again: none",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .max_warps_of_a_task = 4 } },
          1,
          4,
          "1 warp",
          "4 warps",
          "warp_sync arrive",
          "wait",
          "warp_sync arrive" },
        { "cp.async fills what the async proxy reads besides: the fence behind the wait",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2, .producer_op = WEIR_PRODUCER_LOAD },
            .producer = WARP_SIDE, .consumer = { .tasks = 1, .warps = 4, .max_warps_of_a_task = 4, .async_reads = true } },
          32,
          4,
          "32 threads",
          "4 warps",
          "cp_arrive",
          "wait fence",
          "warp_sync arrive" },
        { "cp.async fills what threads alone read: no fence",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2, .producer_op = WEIR_PRODUCER_LOAD },
            .producer = WARP_SIDE, .consumer = WARPS_SIDE },
          32,
          4,
          "32 threads",
          "4 warps",
          "cp_arrive",
          "wait",
          "warp_sync arrive" },
        { "a fused wait that takes over tensor memory of another member",
          { SM100, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2 }, .producer = WARP_SIDE, .consumer = WARPS_SIDE,
            .tensor_wait = true },
          1,
          4,
          "1 warp that arms",
          "4 warps",
          "",
          "wait after",
          "warp_sync arrive" },
        { "the same flags below sm_100a bring nothing",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2 }, .producer = WARP_SIDE, .consumer = WARPS_SIDE,
            .tensor_wait = true, .tensor_release = true },
          1,
          4,
          "1 warp that arms",
          "4 warps",
          "",
          "wait",
          "warp_sync arrive" },
        { "a release that gives back tensor memory of another member",
          { SM100, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2 }, .producer = WARP_SIDE, .consumer = WARPS_SIDE,
            .tensor_release = true },
          1,
          4,
          "1 warp that arms",
          "4 warps",
          "",
          "wait",
          "before warp_sync arrive" },
        { "nobody commits: one arrival, at the standard grain",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2 }, .consumer = WARPS_SIDE },
          1,
          4,
          "nobody",
          "4 warps",
          "warp_sync arrive",
          "wait",
          "warp_sync arrive" },
        { "nobody releases, the count is given: it stands",
          { SM90, ONE, .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .consumers = 7, .grain = WEIR_GRAIN_THREAD },
            .producer = WARP_SIDE },
          1,
          7,
          "1 warp that arms",
          "nobody",
          "",
          "wait",
          "arrive" },
        { "sm_90a: an mma side that nobody runs counts one warpgroup",
          { SM90, ONE, .given = { .type = WEIR_UMMA_UMMA, .stages = 2 } },
          1,
          1,
          "1 warpgroup",
          "1 warpgroup",
          "drain spill fence wg_sync arrive",
          "wait",
          "drain arrive" },
        { "sm_100a: an mma side that nobody runs counts one commit",
          { SM100, ONE, .given = { .type = WEIR_UMMA_UMMA, .stages = 2 } },
          1,
          1,
          "one commit of the mma",
          "one commit of the mma x 1 CTA",
          "umma_commit",
          "wait after",
          "umma_commit" },
        { "sm_90a: the stage of an mma that the async proxy reads besides: its threads join before they give it back",
          { SM90, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 4, .warpgroups = 1, .max_warps_of_a_task = 4, .async_reads = true } },
          1,
          1,
          "1 warp that arms",
          "1 warpgroup",
          "",
          "wait",
          "drain wg_sync arrive" },
        { "sm_90a: the same by wgmma alone",
          { SM90, ONE, .given = { .type = WEIR_TMA_UMMA, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1,
                          .warps = 4,
                          .warpgroups = 1,
                          .max_warps_of_a_task = 4,
                          .async_reads = true,
                          .only_mma_reads = true } },
          1,
          1,
          "1 warp that arms",
          "1 warpgroup",
          "",
          "wait",
          "drain arrive" },
        { "lanes of the work tiles take the stages in turn: a sum is of one lane",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_ASYNC, .stages = 2 }, .producer = WARP_SIDE,
            .consumer = { .tasks = 1, .warps = 2, .max_warps_of_a_task = 2, .dealt = true } },
          1,
          2,
          "1 warp",
          "2 warps of a lane",
          "warp_sync arrive",
          "wait",
          "warp_sync arrive" },
        { "a store that nobody makes counts one warp",
          { SM90, ONE, .given = { .type = WEIR_ASYNC_TMA, .stages = 2 }, .producer = WARPS_SIDE },
          4,
          1,
          "4 warps",
          "1 warp",
          "fence warp_sync arrive",
          "wait",
          "bulk_wait warp_sync arrive" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weiri_proto out;
        weiri_protocol(&t[i].in, &out);
        is_int(t[i].full, out.full_count, t[i].name);
        is_int(t[i].empty, out.empty_count, "empty count");
        is_str(t[i].full_sum, out.full_sum, "sum of the full count");
        is_str(t[i].empty_sum, out.empty_sum, "sum of the empty count");
        is_str(t[i].commit, rows_text(out.commit), "commit");
        is_str(t[i].wait, rows_text(out.wait), "wait");
        is_str(t[i].release, rows_text(out.release), "release");
    }
    weiri_proto out;
    weiri_proto_in nobody = { SM90, ONE,
                              .given = { .type = WEIR_TMA_ASYNC, .stages = 2, .consumers = 7, .grain = WEIR_GRAIN_THREAD },
                              .producer = WARP_SIDE };
    weiri_protocol(&nobody, &out);
    is_int(WEIR_GRAIN_THREAD, out.grain, "a given grain stands where nobody releases");
    weiri_proto_in none = { SM90, ONE, .given = { .type = WEIR_PIPE_NONE } };
    weiri_protocol(&none, &out);
    ok(!out.has_full && !out.has_empty, "no type has no barriers");
    none.given.type = WEIR_PIPE_COUNT;
    weiri_protocol(&none, &out);
    ok(!out.has_full && !out.has_empty && out.full_count == 0, "nor has a type past the last");
    is_str("unknown", weiri_pipe_type_name((weir_pipe_type)99), "its name");
    is_str("async_tma", weiri_pipe_type_name(WEIR_ASYNC_TMA), "the last one's name");
    const weir_cluster c = { 1, 2, 4, 1 }; /* rank = m + 2 n */
    is_int(1 << 7 | 1 << 6, (int)weiri_reach(c, 7, 0, false, 1), "the first along m issues: rank 7 (1, 3) and rank 6 (0, 3)");
    is_int(1 << 7 | 1 << 1, (int)weiri_reach(c, 7, 0, false, 2), "the first along n: rank 1 (1, 0)");
    is_int(1 << 7 | 1 << 0, (int)weiri_reach(c, 7, 0, false, 4), "the first along both: rank 0");
    is_int(1 << 7, (int)weiri_reach(c, 7, 0, false, 0), "none issues: the own one");
    is_int(3, weiri_served((weir_cluster){ 1, 1, 1, 3 }, AXIS_K, false), "three CTAs along k");
    is_int(2, weiri_served((weir_cluster){ 2, 1, 1, 3 }, AXIS_V, false), "two along v");
    is_int(0x05, (int)weiri_cta_mask((weir_cluster){ 2, 1, 1, 2 }, 0, AXIS_K, false), "along k, of v = 0: ranks 0 and 2");
    is_int(0x0a, (int)weiri_cta_mask((weir_cluster){ 2, 1, 1, 2 }, 3, AXIS_K, false), "along k, of v = 1: ranks 1 and 3");
}

/* ---- groups ------------------------------------------------------------------------------------------------------------- */

static void groups(void) {
    static const struct {
        const char *name;
        weir_group_mode mode;
        weir_pipe_desc a, b, given;
        const char *rule, *text; /* rule NULL: fits, `text` is the merged type */
    } t[] = {
        { "layouts that differ in n and k",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .cta_layout = { .n = 2 } },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .cta_layout = { .k = 2 } },
          { 0 },
          "G-CFG-07",
          "cta_layout is { 1, 1, 2, 1 } for 'a', { 1, 1, 1, 2 } for 'b'" },
        { "one layout left out",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .cta_layout = { .m = 2 } },
          { 0 },
          "G-CFG-07",
          "cta_layout is { 1, 1, 1, 1 } for 'a', { 1, 2, 1, 1 } for 'b'" },
        { "bytes of a fork that differ",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 128 },
          { 0 },
          "G-CFG-14",
          "bytes are 64 for 'a', 128 for 'b'; in a fork one producer loads once for all members" },
        { "bytes of a fork, the second's left out",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { 0 },
          NULL,
          "tma_async" },
        { "bytes of a fork, the first's left out",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { 0 },
          NULL,
          "tma_async" },
        { "a fork of an mma's results, to threads and to another mma",
          WEIR_GROUP_FORK,
          { .type = WEIR_UMMA_UMMA, .stages = 2 },
          { .type = WEIR_UMMA_ASYNC, .stages = 2 },
          { 0 },
          NULL,
          "umma_async" },
        { "a fork of loads, to threads and to an mma",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_UMMA, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { 0 },
          NULL,
          "tma_async" },
        { "a fork of threads, to threads and to an mma",
          WEIR_GROUP_FORK,
          { .type = WEIR_ASYNC_UMMA, .stages = 2 },
          { .type = WEIR_ASYNC_ASYNC, .stages = 2 },
          { 0 },
          NULL,
          "async_async" },
        { "a merge of loads and threads, to an mma",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_UMMA, .stages = 2 },
          { .type = WEIR_ASYNC_UMMA, .stages = 2 },
          { 0 },
          NULL,
          "async_umma" },
        { "a merge of loads and threads, to threads",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_ASYNC_ASYNC, .stages = 2 },
          { 0 },
          NULL,
          "async_async" },
        { "the group's stages differ",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 3 },
          "V-GRP-02",
          "the group's pipeline has 3 stages, 'a' 2" },
        { "the group's stages left out",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC },
          NULL,
          "tma_async" },
        { "the group's bytes, its members' sum",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 128 },
          { .type = WEIR_TMA_ASYNC, .bytes = 128 },
          "V-GRP-04",
          "bytes = 128 of the group, but its members add up to 192" },
        { "the group's bytes, right",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 128 },
          { .type = WEIR_TMA_ASYNC, .bytes = 192 },
          NULL,
          "tma_async" },
        { "the group's bytes left out",
          WEIR_GROUP_MERGE,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 128 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          NULL,
          "tma_async" },
        { "the group's bytes, none of its members",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .stages = 2 },
          { .type = WEIR_TMA_ASYNC, .bytes = 192 },
          NULL,
          "tma_async" },
        { "the group's bytes of a fork",
          WEIR_GROUP_FORK,
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .stages = 2, .bytes = 64 },
          { .type = WEIR_TMA_ASYNC, .bytes = 128 },
          "V-GRP-04",
          "bytes = 128 of the group, but its one load brings 64" },
    };
    static const char *const names[] = { "a", "b" };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weir_pipe_desc member[] = { t[i].a, t[i].b };
        weiri_group_out out;
        weiri_group_in in = { .mode = t[i].mode, .member = member, .name = names, .n = 2, .given = &t[i].given };
        bool fits = weiri_group_check(&in, &out);
        ok(fits == !t[i].rule, "%s", t[i].name);
        is_str(t[i].rule ? t[i].rule : "", fits ? "" : out.fault.rule, "its rule");
        is_str(t[i].text, fits ? weiri_pipe_type_name(out.type) : out.fault.text, fits ? "the merged type" : "its text");
    }
    static const struct {
        weir_group_mode mode;
        const char *name;
        bool commit, wait, try_wait, release, acquire;
    } modes[] = {
        { WEIR_GROUP_DEFAULT, "group", false, false, false, false, false },
        { WEIR_GROUP_MERGE, "merge", false, false, false, true, false },
        { WEIR_GROUP_FORK, "fork", true, false, false, false, false },
        { WEIR_GROUP_FUSED_MERGE, "fused_merge", false, true, true, true, false },
        { (weir_group_mode)99, "group", false, false, false, false, false },
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        weir_group_mode m = modes[i].mode;
        is_str(modes[i].name, weiri_group_mode_name(m), "name of a mode");
        ok(weiri_group_collapses(m, WEIR_COMMIT) == modes[i].commit && weiri_group_collapses(m, WEIR_WAIT) == modes[i].wait &&
               weiri_group_collapses(m, WEIR_TRY_WAIT) == modes[i].try_wait &&
               weiri_group_collapses(m, WEIR_RELEASE) == modes[i].release &&
               weiri_group_collapses(m, WEIR_ACQUIRE) == modes[i].acquire,
           "%s: the moves that its group makes", modes[i].name);
    }
}

/* A group through the C interface: what the Lua module's own checks stop earlier. */
static void group_calls(weir_ctx *ctx) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "k", .arch = WEIR_ARCH_SM_90A });
    weir_smem_tile_desc tile = {
        .name = "a", .dtype = WEIR_BF16, .tile = { 64, 64 }, .pipeline = { .type = WEIR_TMA_ASYNC, .stages = 2 }
    };
    weir_res *a = weir_smem_tile(k, &tile);
    tile.name = "b";
    weir_res *b = weir_smem_tile(k, &tile);
    tile.name = "c", tile.pipeline.stages = 3;
    weir_res *c = weir_smem_tile(k, &tile);
    weir_res *three[] = { a, c }, *hole[] = { a, NULL }, *twice[] = { a, a };
    struct {
        const char *name;
        weir_group_desc d;
        const char *says;
    } bad[] = {
        { "no members", { .members = three }, "group '?' has no members [G-CFG-01]" },
        { "a negative number of members",
          { .name = "g", .members = three, .nmembers = -1 },
          "group 'g' has no members [G-CFG-01]" },
        { "a member that is nothing",
          { .name = "g", .members = hole, .nmembers = 2 },
          "group 'g': member 2 is nothing, not a resource [C-ARG-01]" },
        { "a member twice",
          { .name = "g", .members = twice, .nmembers = 2 },
          "group 'g': 'a' is already in group 'g' [G-CFG-02]" },
        { "stages that differ, no name",
          { .mode = WEIR_GROUP_MERGE, .members = three, .nmembers = 2 },
          "group '?': 'a' has 2 stages, 'c' 3; members share their stages (expected 2, got 3) [G-CFG-04]" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!weir_group(k, &bad[i].d), "%s", bad[i].name);
        has_str(bad[i].says, weir_error(ctx), "it says so");
    }
    weir_res *two[] = { a, b };
    weir_res *g =
        weir_group(k, &(weir_group_desc){ .name = "g", .mode = WEIR_GROUP_FUSED_MERGE, .members = two, .nmembers = 2 });
    ok(g && weir_group_barriers_per_stage(g) == 2, "a fused merge has two mbarriers a stage");
    weir_res *nested[] = { c, g }, *again[] = { weir_group_member(g, "b") };
    ok(!weir_group(k, &(weir_group_desc){ .name = "h", .members = nested, .nmembers = 2 }), "a group in a group");
    has_str("group 'h': member 2 is a group, not a resource [C-ARG-01]", weir_error(ctx), "it says so");
    ok(!weir_group(k, &(weir_group_desc){ .name = "h", .members = again, .nmembers = 1 }),
       "a member of another group, as that group gives it");
    has_str("group 'h': 'b' is already in group 'g' [G-CFG-02]", weir_error(ctx), "it says so");
    ok(!weir_group_member(a, "a") && !weir_group_member(g, "z") && weir_group_member(g, "b"), "members are of groups");
    weir_kernel_free(k);
}

/* A group's own pipeline: what it must not differ in from its members, and what they take from it. */
static void group_pipelines(void) {
    const weir_pipe_desc all = { .type = WEIR_TMA_ASYNC,
                                 .stages = 2,
                                 .consumers = 4,
                                 .producer_signaling = WEIR_SIGNAL_ALL,
                                 .consumer_signaling = WEIR_SIGNAL_ALL,
                                 .consumer_wait_signaling = WEIR_SIGNAL_ALL,
                                 .advance_on_wait = 1,
                                 .advance_on_acquire = 1,
                                 .bytes_per_warp_per_cta = 64 };
    const weir_pipe_desc bare = { .type = WEIR_TMA_ASYNC, .stages = 2 };
    static const weir_cluster layouts[] = { { .v = 2 }, { .m = 2 }, { .n = 2 }, { .k = 2 } };
    const char *const name[] = { "a", "b" };
    weir_pipe_desc m[2] = { all, all }, given = all, d;
    weiri_group_in in = { .mode = WEIR_GROUP_MERGE, .member = m, .name = name, .n = 2, .given = &given };
    weiri_group_out out;
    ok(weiri_group_check(&in, &out), "a group's pipeline that says what its members do");
    d = all;
    weiri_group_inherit(&in, &out, &d);
    ok(d.producer_signaling == WEIR_SIGNAL_ALL && d.advance_on_wait == 1 && d.bytes_per_warp_per_cta == 64 && d.consumers == 4,
       "they stay as they are");
    for (size_t i = 0; i < 4; i++) {
        m[0].cta_layout = m[1].cta_layout = given.cta_layout = layouts[i];
        ok(weiri_group_check(&in, &out), "one layout of CTAs, along the axis %c", "vmnk"[i]);
        const weir_cluster l = out.merged.cta_layout;
        ok(l.v == layouts[i].v && l.m == layouts[i].m && l.n == layouts[i].n && l.k == layouts[i].k, "it is the merged one's");
        given.cta_layout = (weir_cluster){ .v = 3 };
        ok(!weiri_group_check(&in, &out) && !strcmp(out.fault.rule, "G-CFG-07"), "another one of the group's");
        given.cta_layout = layouts[(i + 1) % 4];
        ok(!weiri_group_check(&in, &out) && !strcmp(out.fault.rule, "G-CFG-07"), "another axis");
    }
    given.cta_layout = (weir_cluster){ .k = 4 };
    ok(!weiri_group_check(&in, &out), "another number along the last");
    is_str("cta_layout is { 1, 1, 1, 4 } for the group, { 1, 1, 1, 2 } for 'a'", out.fault.text, "it says so");
    m[0] = m[1] = bare;
    given = all;
    ok(weiri_group_check(&in, &out), "what members leave out");
    d = bare;
    weiri_group_inherit(&in, &out, &d);
    ok(d.producer_signaling == WEIR_SIGNAL_ALL && d.consumer_signaling == WEIR_SIGNAL_ALL &&
           d.consumer_wait_signaling == WEIR_SIGNAL_ALL && d.advance_on_wait == 1 && d.advance_on_acquire == 1 &&
           d.bytes_per_warp_per_cta == 64,
       "they take from the group");
    d = (weir_pipe_desc){ .type = WEIR_ASYNC_ASYNC, .stages = 2 };
    weiri_group_inherit(&in, &out, &d);
    ok(d.producer_signaling == WEIR_SIGNAL_ALL && !d.bytes_per_warp_per_cta, "but bytes are the copy engine's");
    m[0] = m[1] = all;
    given = bare;
    ok(weiri_group_check(&in, &out) && out.merged.bytes_per_warp_per_cta == 64, "what the group leaves out, its members may say");
    given = (weir_pipe_desc){ 0 };
    ok(weiri_group_check(&in, &out), "a group's pipeline without a type is none");
    d = bare;
    weiri_group_inherit(&in, &out, &d);
    ok(!d.producer_signaling && d.consumers == 4, "nothing is taken from it");
}

/* ---- layout ------------------------------------------------------------------------------------------------------------- */

/* Whose data a region has that lies in the storage of another. */
static void data_regions(void) {
    weir_res fork = { .kind = WEIR_RES_GROUP, .mode = WEIR_GROUP_FORK }, other = fork,
             merge = { .kind = WEIR_RES_GROUP, .mode = WEIR_GROUP_MERGE };
    weir_res of_fork = { .group = &fork }, of_other = { .group = &other }, of_merge = { .group = &merge }, of_none = { .group = NULL };
    const struct {
        const char *name;
        const weir_res *first, *second, *third; /* each in the storage of the one before */
        int data;
    } t[] = {
        { "a member of a fork has the first one's", &of_fork, &of_fork, &of_fork, 0 },
        { "in the storage of another fork it has its own", &of_other, &of_other, &of_fork, 2 },
        { "behind that, of its own fork", &of_other, &of_fork, &of_fork, 1 },
        { "a member of a merge has its own", &of_merge, &of_merge, &of_merge, 2 },
        { "a tile of no group, too", &of_none, &of_none, &of_none, 2 },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weiri_region r[3] = { { .res = t[i].first, .same_as = -1 }, { .res = t[i].second, .same_as = 0 }, { .res = t[i].third, .same_as = 1 } };
        weiri_plan p = { .smem = { .v = r, .n = 3 } };
        is_int(t[i].data, weiri_data_region(&p, 2), t[i].name);
    }
}

static void layouts(weir_ctx *ctx) {
    char why[256];
    int64_t bytes, align;
    ok(weir_tile_bytes(ctx, &(weir_tile_desc){ .dtype = WEIR_F32, .tile = { 8, 8 }, .rank = 2, .stages = -1 }, &bytes, &align) == WEIR_E_ARGUMENT,
       "bytes of less than one stage");
    is_str("stages = -1; at least 1", weir_error(ctx), "it says so");
    static const struct {
        const char *name;
        weiri_item item;
        int groups;
        const char *says;
    } bad[] = {
        { "alignment 0", { "x", 8, 0, -1, -1, 0 }, 0, "'x': alignment 0 is not a power of two" },
        { "alignment -16", { "x", 8, -16, -1, -1, 0 }, 0, "'x': alignment -16 is not a power of two" },
        { "a negative size", { "x", -8, 16, -1, -1, 0 }, 0, "'x': size -8 is negative" },
        { "2 GiB", { "x", INT64_C(1) << 31, 16, -1, -1, 0 }, 0, "'x': 2147483648 bytes, aligned to 16, are more than any memory has" },
        { "an alignment of 2 GiB", { "x", 8, INT64_C(1) << 31, -1, -1, 0 }, 0,
          "'x': 8 bytes, aligned to 2147483648, are more than any memory has" },
        { "a group past the last", { "x", 8, 16, 2, 0, 0 }, 2, "'x': alias group 2, phase 0 of 2 groups" },
        { "a group without a phase", { "x", 8, 16, 0, -1, 0 }, 1, "'x': alias group 0, phase -1 of 1 groups" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weiri_item item = bad[i].item;
        is_int(-1, weiri_layout_place(&item, 1, bad[i].groups, why, sizeof why), bad[i].name);
        is_str(bad[i].says, why, "it says so");
    }
    weiri_item gap[] = { { "x", 8, 16, 0, 0, 0 }, { "y", 8, 16, 0, 2, 0 } }, plain = { "x", 8, 16, -1, -1, 0 };
    is_int(-1, weiri_layout_place(gap, 2, 1, why, sizeof why), "a phase that nothing is in");
    is_str("alias group 1: phase 2 of 3 is empty", why, "it says so");
    is_int(-1, weiri_layout_place(gap, 1, 1, why, sizeof why), "one phase");
    is_str("alias group 1 has 1 phase, it needs at least two that share bytes", why, "it says so");
    is_int(-1, weiri_layout_place(&plain, 1, 1, why, sizeof why), "a group of nothing");
    is_str("alias group 1 has 0 phases, it needs at least two that share bytes", why, "it says so");
    weiri_bar_item bars[] = { { "a", 2, 1, -1 }, { "none", 0, 7, -1 }, { "b", 1, 1, -1 } };
    weiri_bar_run runs[3];
    int nruns = -1;
    is_int(3, weiri_layout_barriers(bars, 3, runs, &nruns), "a record of no mbarriers takes none");
    ok(nruns == 1 && runs[0].begin == 0 && runs[0].end == 3 && runs[0].arrivals == 1, "and makes no run");
    is_int(3, bars[1].first, "it lies at the end");

    weiri_tile_geom g;
    static const struct {
        const char *name;
        weir_dtype t;
        int tile[3], rank, swizzle;
        bool tma;
        const char *says;
    } tiles[] = {
        { "no extents", WEIR_BF16, { 0 }, 0, 0, true, "a tile has 1 to 5 extents, got 0" },
        { "six extents", WEIR_BF16, { 1, 1, 1 }, 6, 0, true, "a tile has 1 to 5 extents, got 6" },
        { "too many rows", WEIR_BF16, { 65536, 65536, 64 }, 3, 0, true, "the tile has more than 1073741823 rows" },
        { "a row of 96 bytes at span 64",
          WEIR_BF16,
          { 8, 48 },
          2,
          64,
          true,
          "a row of 48 x 2 bytes = 96 is not a multiple of the span; use swizzle = 32, or 64 columns" },
        { "a row of 192 bytes at span 128",
          WEIR_BF16,
          { 8, 96 },
          2,
          128,
          true,
          "a row of 96 x 2 bytes = 192 is not a multiple of the span; use swizzle = 64, or 128 columns" },
        { "a row of 40 bytes at span 32",
          WEIR_BF16,
          { 8, 20 },
          2,
          32,
          true,
          "a row of 20 x 2 bytes = 40 is not a multiple of the span; use swizzle = 0, or 32 columns" },
    };
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        int tile[8] = { tiles[i].tile[0], tiles[i].tile[1], tiles[i].tile[2], 1, 1, 1 };
        ok(!weiri_layout_tile(tiles[i].t, tile, tiles[i].rank, tiles[i].swizzle, tiles[i].tma, &g, why, sizeof why), "%s",
           tiles[i].name);
        has_str(tiles[i].says, why, "it says so");
    }
    ok(weiri_layout_tile(WEIR_F32, (int[]){ 4, 10 }, 2, 0, false, &g, why, sizeof why), "a tile of threads: rows of 40 bytes");
    is_int(2 * 40 + 3 * 4, weiri_layout_element(&g, 2, 3), "its element (2, 3) lies where it is counted: no swizzle");

    static const struct {
        const char *name;
        int tile[2], swizzle;
        bool t;
        int n;
        const char *says;
    } operands[] = {
        { "an instruction of no rows",
          { 64, 64 },
          128,
          false,
          0,
          "64 rows of the operand are no multiple of the 0 that one instruction takes" },
        { "rows of 32 bytes without swizzle",
          { 64, 16 },
          0,
          false,
          64,
          "the rows of 32 bytes are no 8 x 16-byte core matrices; use swizzle = 32" },
        { "rows of 64 bytes without swizzle",
          { 64, 32 },
          0,
          false,
          64,
          "the rows of 64 bytes are no 8 x 16-byte core matrices; use swizzle = 64" },
        { "rows of 128 bytes without swizzle",
          { 64, 64 },
          0,
          false,
          64,
          "the rows of 128 bytes are no 8 x 16-byte core matrices; use swizzle = 128" },
        { "twelve rows", { 12, 64 }, 128, false, 12, "12 rows of the operand are no multiple of 8" },
        { "transposed, rows of 32 bytes without swizzle",
          { 64, 16 },
          0,
          true,
          16,
          "a transposed operand without swizzle has rows of 16 bytes, not 32; use swizzle = 32" },
        { "transposed, rows of 64 bytes without swizzle", { 64, 32 }, 0, true, 16, "not 64; use swizzle = 64" },
        { "transposed, rows of 256 bytes without swizzle", { 64, 128 }, 0, true, 16, "not 256; use swizzle = 128" },
        { "transposed, half a panel",
          { 64, 64 },
          128,
          true,
          32,
          "an instruction takes 32 columns of the transposed operand, no multiple of the 64 of its panels" },
    };
    weiri_operand o;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        ok(weiri_layout_tile(WEIR_BF16, operands[i].tile, 2, operands[i].swizzle, true, &g, why, sizeof why), "%s: a tile",
           operands[i].name);
        ok(!weiri_layout_operand(&g, WEIR_BF16, operands[i].t, operands[i].n, &o, why, sizeof why), "no operand");
        has_str(operands[i].says, why, "it says so");
    }
    ok(weiri_layout_tile(WEIR_I8, (int[]){ 64, 128 }, 2, 128, true, &g, why, sizeof why) &&
           !weiri_layout_operand(&g, WEIR_I8, false, 64, &o, why, sizeof why),
       "an operand of i8");
    has_str("dtype i8 is no operand of an mma; use bf16, f16, tf32, e4m3 or e5m2", why, "it says so");
    ok(weiri_layout_operand(&g, WEIR_E5M2, false, 64, &o, why, sizeof why) && o.k_per_panel == 4,
       "the same bytes as e5m2: four steps of 32 bytes");
    ok(weiri_layout_tile(WEIR_BF16, (int[]){ 64, 8 }, 2, 0, true, &g, why, sizeof why) &&
           weiri_layout_operand(&g, WEIR_BF16, true, 8, &o, why, sizeof why),
       "transposed, rows of 16 bytes: core matrices as they are");
    ok(o.sbo == 1024 && o.lbo == 128 && o.k_step_bytes == 256 && o.mn_step_bytes == 1024, "its strides: %d, %d, %d, %d", o.sbo,
       o.lbo, o.k_step_bytes, (int)o.mn_step_bytes);

    /* by hand, in C */
    weir_place_record r[] = { { .size = 100 }, { .name = "x", .size = 64, .align = 16 }, { .size = 8, .align = 8 } };
    weir_placed placed;
    ok(weir_place_records(ctx, &(weir_place_desc){ .records = r, .n = 3 }, &placed) == WEIR_OK,
       "records without names, without alignment");
    ok(r[0].offset == 72 && r[1].offset == 0 && r[2].offset == 64 && placed.total == 172 && placed.capacity == 232448,
       "where they lie: %d, %d, %d of %d", (int)r[0].offset, (int)r[1].offset, (int)r[2].offset, (int)placed.total);
    r[2].name = "x";
    ok(weir_place_records(ctx, &(weir_place_desc){ .records = r, .n = 3 }, &placed) == WEIR_E_ARGUMENT,
       "a name twice, in the last two");
    has_str("'x' is added twice", weir_error(ctx), "it says so");
    weir_place_record same[] = { { .name = "y", .size = 1 }, { .name = "y", .size = 1 }, { .name = "z", .size = 1 } };
    ok(weir_place_records(ctx, &(weir_place_desc){ .records = same, .n = 3 }, &placed) == WEIR_E_ARGUMENT,
       "a name twice, in the first two");
    has_str("'y' is added twice", weir_error(ctx), "it says so");
    weir_barrier_record b[] = { { .count = 2, .arrivals = 4 },
                                { .count = 2, .arrivals = 1 },
                                { .name = "b", .count = 1, .arrivals = 4 } };
    weir_barrier_run run[3];
    int used, n;
    ok(weir_place_barriers(ctx, b, 3, run, &n, &used) == WEIR_OK && used == 5 && n == 2, "mbarriers without names");
    ok(b[0].first == 2 && b[1].first == 0 && b[2].first == 4, "where they lie: %d, %d, %d", b[0].first, b[1].first, b[2].first);
    b[1].count = 0;
    ok(weir_place_barriers(ctx, b, 3, run, &n, &used) == WEIR_E_ARGUMENT, "no mbarriers, no name");
    has_str("'' has 0 mbarriers of 1 arrivals; both are at least 1", weir_error(ctx), "it says so");
    weir_barrier_record twice[] = { { .name = "b", .count = 1, .arrivals = 1 },
                                    { .name = "b", .count = 0, .arrivals = 1 },
                                    { .name = "c", .count = 1, .arrivals = 1 } };
    ok(weir_place_barriers(ctx, twice, 3, run, &n, &used) == WEIR_E_ARGUMENT, "a name twice");
    has_str("'b' is added twice", weir_error(ctx), "the name is told before the count");
    weir_barrier_record around[] = { { .name = "b", .count = 1, .arrivals = 1 },
                                     { .name = "c", .count = 1, .arrivals = 1 },
                                     { .name = "b", .count = 1, .arrivals = 1 } };
    ok(weir_place_barriers(ctx, around, 3, run, &n, &used) == WEIR_E_ARGUMENT, "a name twice, another between");
    has_str("'b' is added twice", weir_error(ctx), "it says so");
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

static void numbers(void) {
    static const struct {
        weir_dtype t;
        double x;
        uint64_t bits;
        double back;
        const char *name;
    } t[] = {
        { WEIR_BOOL, NAN, 1, 1, "bool of NaN: not 0" },
        { WEIR_BOOL, -0.0, 0, 0, "bool of -0" },
        { WEIR_I8, -129, 0x80, -128, "i8 saturates below" },
        { WEIR_I16, 40000, 0x7fff, 32767, "i16 saturates" },
        { WEIR_I16, -2, 0xfffe, -2, "i16 -2" },
        { WEIR_U16, 65535.5, 0xffff, 65535, "u16 saturates" },
        { WEIR_U16, 2.5, 2, 2, "u16 tie to even" },
        { WEIR_U16, 3.5, 4, 4, "u16 tie to even, up" },
        { WEIR_U16, 2.75, 3, 3, "u16 up" },
        { WEIR_U16, NAN, 0, 0, "u16 of NaN" },
        { WEIR_U8, 256, 255, 255, "u8 saturates" },
        { WEIR_U32, 3, 3, 3, "u32 3" },
        { WEIR_I64, -1, UINT64_MAX, -1, "i64 -1" },
        { WEIR_I64, 1e30, INT64_MAX, 0x1p63, "i64 saturates" },
        { WEIR_U64, 1e30, UINT64_MAX, 0x1p64, "u64 saturates" },
        { WEIR_U64, 0x1p63, 0x8000000000000000u, 0x1p63, "u64 2^63" },
        { WEIR_F64, 0.1, 0x3fb999999999999au, 0.1, "f64 0.1" },
        { WEIR_TF32, 1.5, 0x3fc00000, 1.5, "tf32 1.5" },
        { WEIR_F32, -2, 0xc0000000, -2, "f32 -2" },
        { WEIR_E5M2, INFINITY, 0x7b, 57344, "e5m2 saturates infinity" },
        { WEIR_E5M2, -1e9, 0xfb, -57344, "e5m2 saturates below" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        uint64_t bits = 0;
        weiri_number_put(t[i].t, t[i].x, &bits);
        ok(bits == t[i].bits, "%s: %#llx", t[i].name, (unsigned long long)bits);
        ok(weiri_number_get(t[i].t, &bits) == t[i].back, "%s, and back", t[i].name);
    }
    static const struct {
        weir_dtype t;
        double x;
        bool holds;
        double as;
        const char *name;
    } held[] = {
        { WEIR_DTYPE_NONE, 1, false, -7, "no dtype holds no number" },
        { WEIR_DTYPE_COUNT, 1, false, -7, "nor does what is behind the last" },
        { WEIR_BOOL, NAN, true, 1, "a bool holds NaN as 1" },
        { WEIR_BOOL, 0.5, true, 1, "and a half" },
        { WEIR_I8, -128.9, true, -128, "an i8 is cut toward 0" },
        { WEIR_I8, 128, false, -7, "128 does not fit it" },
    };
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        double out = -7;
        ok(weir_dtype_number(held[i].t, held[i].x, &out) == held[i].holds && out == held[i].as, "%s", held[i].name);
    }
    static const struct {
        weir_dtype t;
        double x;
        bool fits;
        double low, high;
    } whole[] = {
        { WEIR_BOOL, 2, true, 0, 1 },
        { WEIR_BOOL, NAN, false, 0, 1 },
        { WEIR_I8, -128, true, -128, 127 },
        { WEIR_I8, 128, false, -128, 127 },
        { WEIR_I16, -32769, false, -32768, 32767 },
        { WEIR_I32, 0.5, false, -0x1p31, 0x1p31 - 1 },
        { WEIR_I64, 0x1p63, false, -0x1p63, 0x1p63 },
        { WEIR_U8, 255, true, 0, 255 },
        { WEIR_U16, -1, false, 0, 65535 },
        { WEIR_U32, 0x1p32, false, 0, 0x1p32 - 1 },
        { WEIR_U64, 0x1p63, true, 0, 0x1p64 },
        { WEIR_U8, NAN, false, 0, 255 },
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        double low = -7, high = -7;
        bool fits = weiri_number_fits(whole[i].t, whole[i].x, &low, &high);
        ok(fits == whole[i].fits && low == whole[i].low && high == whole[i].high, "%s takes %g: %s, from %g to %g",
           weir_dtype_name(whole[i].t), whole[i].x, whole[i].fits ? "yes" : "no", whole[i].low, whole[i].high);
    }
    ok(weiri_number_fits(WEIR_F16, 1e9, NULL, NULL) && weiri_number_fits(WEIR_DTYPE_NONE, NAN, NULL, NULL),
       "a float takes any number");
    uint32_t bits = 0;
    weiri_number_put(WEIR_TF32, NAN, &bits);
    ok(bits == 0x7fffffffu && isnan(weiri_number_get(WEIR_TF32, &bits)), "tf32 NaN");
    static const struct {
        weir_dtype t;
        uint32_t bits;
    } nan[] = { { WEIR_F16, 0x7e00 }, { WEIR_BF16, 0xffc0 }, { WEIR_E4M3, 0x7f }, { WEIR_E4M3, 0xff }, { WEIR_E5M2, 0x7d } };
    for (size_t i = 0; i < sizeof nan / sizeof *nan; i++)
        ok(isnan(weiri_number_get(nan[i].t, &nan[i].bits)), "NaN of %s", weir_dtype_name(nan[i].t));
    uint32_t inf = 0xfc;
    ok(weiri_number_get(WEIR_E5M2, &inf) == -INFINITY, "e5m2 has infinities to read");
    static const weir_dtype none[] = { WEIR_DTYPE_NONE, WEIR_DTYPE_COUNT, (weir_dtype)99 };
    for (size_t i = 0; i < 3; i++) {
        uint32_t untouched = 0x55555555;
        weiri_number_put(none[i], 1, &untouched);
        ok(untouched == 0x55555555 && weiri_number_get(none[i], &untouched) == 0, "no dtype: nothing is written, 0 is read");
    }
}

/* ---- tensor maps -------------------------------------------------------------------------------------------------------- */

static void maps(void) {
    const weiri_tmap good = { .base = 4096,
                              .dtype = WEIR_BF16,
                              .rank = 2,
                              .dim = { 256, 128 },
                              .stride = { 2, 512 },
                              .box = { 64, 64 },
                              .swizzle = 128,
                              .l2_promotion = 128 };
    char why[256];
    is_int(0, weiri_tmap_check(&good, "X", why, sizeof why), "a map");
#define MAP(change, code, says) \
    do { \
        weiri_tmap m = good; \
        change; \
        is_int(code, weiri_tmap_check(&m, "X", why, sizeof why), #change); \
        if (code) has_str(says, why, "it says so"); \
    } while (0)
    MAP(m.rank = 0, 1, "tensor 'X' has rank 0; a tensor map takes 1 to 5");
    MAP(m.rank = 6, 1, "tensor 'X' has rank 6");
    MAP(m.base = 0, 2, "tensor 'X': its address is null");
    MAP(m.base = 4098, 3, "starts at address 0x1002, 2 bytes past a multiple of 16");
    MAP(m.dim[1] = 0, 4, "tensor 'X': axis 0 has 0 elements; a tensor map takes 1 to 2^32");
    MAP(m.dim[0] = 1ull << 32, 0, "");
    MAP(m.dim[0] = (1ull << 32) + 1, 4, "tensor 'X': axis 1 has 4294967297 elements; a tensor map takes 1 to 2^32");
    MAP(m.stride[1] = 520, 5,
        "axis 0 steps by 520 bytes (260 elements); TMA needs a multiple of 16 bytes (nearest: 512 bytes = 256 elements, 528 "
        "bytes = 264 elements)");
    MAP(m.stride[1] = (1ull << 40) - 16, 0, "");
    MAP(m.stride[1] = 1ull << 40, 6, "tensor 'X': axis 0 steps by 1099511627776 bytes; a tensor map takes less than 2^40");
    MAP(m.box[1] = 0, 7, "tensor 'X': the box has 0 elements along axis 0; a box takes 1 to 256");
    MAP(m.box[1] = 256, 0, "");
    MAP(m.box[1] = 257, 7, "tensor 'X': the box has 257 elements along axis 0");
    MAP(m.box[0] = 12, 8, "tensor 'X': a box row has 24 bytes; TMA needs a multiple of 16 (8 elements of bf16)");
    MAP(m.swizzle = 96, 9, "tensor 'X': swizzle span 96; it must be 0, 32, 64 or 128 bytes");
    MAP(m.swizzle = 64, 10, "tensor 'X': a box row has 128 bytes, more than the swizzle span of 64");
    MAP((m.swizzle = 32, m.box[0] = 16), 0, "");
    MAP(m.swizzle = 0, 0, "");
    MAP(m.l2_promotion = 0, 0, "");
    MAP(m.l2_promotion = 64, 0, "");
    MAP(m.l2_promotion = 256, 0, "");
    MAP(m.l2_promotion = 100, 11, "tensor 'X': L2 promotion 100; it must be 0, 64, 128 or 256 bytes");
}

/* What the driver is asked for; it gives `result`. */
static struct {
    int type, interleave, swizzle, l2_promotion, oob_fill;
    unsigned rank;
    uint64_t base, dim, stride;
    uint32_t box, step;
    weiri_cures result;
} asked;

static weiri_cures encodes(weiri_cumap *m, int type, unsigned rank, void *base, const uint64_t *dim, const uint64_t *stride,
                           const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int l2_promotion,
                           int oob_fill) {
    (void)m;
    weiri_cures result = asked.result;
    memset(&asked, 0, sizeof asked);
    asked.type = type, asked.rank = rank, asked.base = (uint64_t)(uintptr_t)base, asked.dim = dim[rank - 1];
    asked.stride = rank > 1 ? stride[rank - 2] : 0, asked.box = box[rank - 1], asked.step = step[rank - 1];
    asked.interleave = interleave, asked.swizzle = swizzle, asked.l2_promotion = l2_promotion, asked.oob_fill = oob_fill;
    return result;
}

static weiri_cures no_name(weiri_cures r, const char **text) {
    (void)r, (void)text;
    return CU_OK;
}

static void encoded_maps(weir_ctx *ctx) {
    weiri_cuda cu = { .tensor_map = encodes, .error_name = no_name, .error_text = no_name };
    weir_device d = { .ctx = ctx, .cu = &cu };
    weiri_cumap map;
    /* CUtensorMapDataType: fp8 and bool travel as bytes, tf32 as float */
    static const int types[][2] = { { WEIR_BOOL, 0 }, { WEIR_I8, 0 },    { WEIR_U8, 0 },    { WEIR_E4M3, 0 }, { WEIR_E5M2, 0 },
                                    { WEIR_I16, 1 },  { WEIR_U16, 1 },   { WEIR_U32, 2 },   { WEIR_I32, 3 },  { WEIR_U64, 4 },
                                    { WEIR_I64, 5 },  { WEIR_F16, 6 },   { WEIR_F32, 7 },   { WEIR_TF32, 7 }, { WEIR_F64, 8 },
                                    { WEIR_BF16, 9 } };
    /* swizzle span, CUtensorMapSwizzle; CUtensorMapL2promotion beside it */
    static const int spans[][2] = { { 0, 0 }, { 32, 1 }, { 64, 2 }, { 128, 3 } }, l2[][2] = { { 0, 0 }, { 64, 1 }, { 128, 2 }, { 256, 3 } };
    weiri_tmap m = { .base = 4096, .rank = 2, .dim = { 256, 100 }, .stride = { 2, 512 }, .box = { 8, 24 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        m.dtype = (weir_dtype)types[i][0];
        is_int(WEIR_OK, weiri_tmap_encode(&d, &m, "X", &map), "a map of a dtype");
        is_int(types[i][1], asked.type, weir_dtype_name(m.dtype));
    }
    for (size_t i = 0; i < 4; i++) {
        m.swizzle = spans[i][0], m.l2_promotion = l2[i][0];
        weiri_tmap_encode(&d, &m, "X", &map);
        ok(asked.swizzle == spans[i][1] && asked.l2_promotion == l2[i][1], "swizzle %d, L2 promotion %d", m.swizzle, m.l2_promotion);
    }
    ok(asked.rank == 2 && asked.base == 4096 && asked.dim == 100 && asked.stride == 512 && asked.box == 24 && asked.step == 1,
       "where, axes, the step of rows, the box");
    ok(asked.interleave == 0 && asked.oob_fill == 0, "no interleave, what is outside is 0");
    asked.result = 1;
    is_int(WEIR_E_DRIVER, weiri_tmap_encode(&d, &m, "X", &map), "what the driver refuses");
    is_str("tensor map of 'X' (rank 2, bf16, 256 x 100 elements, row step 512 bytes, box 8 x 24, swizzle 128): CUDA error (1): no text",
           weir_error(ctx), "it is told whole");
    m.rank = 1;
    asked.result = 1;
    weiri_tmap_encode(&d, &m, "X", &map);
    has_str("(rank 1, bf16, 256 x 1 elements, row step 0 bytes, box 8 x 1, swizzle 128)", weir_error(ctx), "one axis");
}

/* ---- tcgen05 ------------------------------------------------------------------------------------------------------------ */

static void scaled(void) {
    const uint32_t columns = 1u << TC_IDESC_N_SHIFT, e5m2 = 1u << TC_IDESC_A_SHIFT | 1u << TC_IDESC_B_SHIFT, ue8m0 = 1u << TC_IDESC_SCALE_TYPE;
    const uint32_t size = 8 * columns | 8u << TC_IDESC_M_SHIFT; /* 128 rows, 64 columns */
    const uint32_t fp4 = 1u << TC_IDESC_A_SHIFT | 1u << TC_IDESC_B_SHIFT;
    const struct {
        weiri_tc_kind kind;
        uint32_t idesc;
        const char *says;
    } t[] = {
        { TC_KIND_MXF8, size | ue8m0, NULL },
        { TC_KIND_MXF8, size | ue8m0 | e5m2, NULL },
        { TC_KIND_MXF4, size | ue8m0 | fp4, NULL },
        { TC_KIND_NVF4, size | fp4, NULL },
        { TC_KIND_MXF8, size | ue8m0 | 1u << 15, "bits 0x8000 are set, which dense K-major operands do not have" },
        { TC_KIND_MXF8, 8 * columns | 4u << TC_IDESC_M_SHIFT | ue8m0, "64 rows; a block-scaled mma of one CTA has 128" },
        { TC_KIND_MXF8, columns | 8u << TC_IDESC_M_SHIFT | ue8m0, "8 columns; with 128 rows an mma has a multiple of 16, up to 256" },
        { TC_KIND_MXF8, 34 * columns | 8u << TC_IDESC_M_SHIFT | ue8m0, "272 columns; with 128 rows" },
        { TC_KIND_MXF8, 3 * columns | 8u << TC_IDESC_M_SHIFT | ue8m0, "24 columns; with 128 rows" },
        { TC_KIND_MXF8, size | ue8m0 | 2u << TC_IDESC_A_SHIFT, "operand types 2 and 0; known are 0 (e4m3) and 1 (e5m2)" },
        { TC_KIND_MXF8, size | ue8m0 | 3u << TC_IDESC_B_SHIFT, "operand types 0 and 3; known are 0 (e4m3) and 1 (e5m2)" },
        { TC_KIND_MXF4, size | ue8m0 | 1u << TC_IDESC_B_SHIFT, "operand types 0 and 1; of a 4-bit kind both are 1 (e2m1)" },
        { TC_KIND_NVF4, size | 1u << TC_IDESC_A_SHIFT, "operand types 1 and 0; of a 4-bit kind both are 1 (e2m1)" },
        { TC_KIND_MXF8, size, "scales of ue4m3, which kind mxf4nvf4 alone takes" },
        { TC_KIND_NVF4, size | fp4 | ue8m0, "scales of ue8m0, where four a row are ue4m3" },
        { TC_KIND_MXF4, size | ue8m0 | fp4 | 1u << TC_IDESC_SCALE_A, "scale ids 1 and 0; of 2 scales a row an id is a multiple of 2" },
        { TC_KIND_MXF4, size | ue8m0 | fp4 | 3u << TC_IDESC_SCALE_B, "scale ids 0 and 3; of 2 scales a row an id is a multiple of 2" },
        { TC_KIND_MXF4, size | ue8m0 | fp4 | 2u << TC_IDESC_SCALE_B, NULL },
    };
    char why[200];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weiri_tc_scaled s;
        bool valid = weiri_tc_decode_scaled(t[i].kind, t[i].idesc, &s, why, sizeof why);
        ok(valid == !t[i].says, "block-scaled descriptor %#x", t[i].idesc);
        if (!valid) has_str(t[i].says ? t[i].says : "", why, "it says so");
        else ok(s.n == 64 && s.k == (t[i].kind == TC_KIND_MXF8 ? 32 : 64) && s.scales == (t[i].kind == TC_KIND_MXF8 ? 1 : t[i].kind == TC_KIND_MXF4 ? 2 : 4),
                "its columns, its K, its scales a row");
    }
}

static void tensor_core(void) {
    static const struct {
        weiri_tc_shape s;
        const char *says;
    } t[] = {
        { { .m = 128, .n = 64, .kind = TC_KIND_F16, .a = WEIR_BF16, .b = WEIR_BF16 }, NULL },
        { { .m = 96, .n = 64, .kind = TC_KIND_F16 }, "96 rows; an mma of one CTA has 64 or 128" },
        { { .m = 64, .n = 0, .kind = TC_KIND_F16 }, "0 columns; with 64 rows an mma has a multiple of 8, up to 256" },
        { { .m = 128, .n = 8, .kind = TC_KIND_F16 }, "8 columns; with 128 rows an mma has a multiple of 16, up to 256" },
        { { .m = 64, .n = 8, .kind = TC_KIND_F16 }, NULL },
        { { .m = 128, .n = 264, .kind = TC_KIND_F16 }, "264 columns" },
        { { .m = 128, .n = 24, .kind = TC_KIND_F16 }, "24 columns; with 128 rows" },
        { { .m = 128, .n = 64, .kind = TC_KIND_F16, .a = WEIR_F16, .b = WEIR_F16, .a_mn = true, .b_mn = true }, NULL },
        { { .m = 128, .n = 64, .kind = TC_KIND_TF32, .a = WEIR_TF32, .b = WEIR_TF32, .a_mn = true },
          "a transposed operand of tf32; only 16-bit operands may be transposed" },
        { { .m = 128, .n = 64, .kind = TC_KIND_F8, .a = WEIR_E4M3, .b = WEIR_E5M2, .b_mn = true },
          "a transposed operand of e5m2; only 16-bit operands may be transposed" },
    };
    static const struct {
        int m, n;
        const char *says;
    } pairs[] = {
        { 256, 64, NULL },
        { 128, 64, NULL },
        { 64, 64, "32 rows in each of two CTAs; their mma has 64 or 128 in each" },
        { 256, 24, "24 columns; of two CTAs with 256 rows an mma has a multiple of " },
    };
    char why[200];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        weiri_tc_shape s = {
            .m = pairs[i].m, .n = pairs[i].n, .pair = true, .kind = TC_KIND_F16, .a = WEIR_BF16, .b = WEIR_BF16
        };
        bool valid = weiri_tc_valid(&s, why, sizeof why);
        ok(valid == !pairs[i].says, "tcgen05 shape %d x %d of two CTAs", s.m, s.n);
        if (!valid) has_str(pairs[i].says ? pairs[i].says : "", why, "it says so");
    }
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        bool valid = weiri_tc_valid(&t[i].s, why, sizeof why);
        ok(valid == !t[i].says, "tcgen05 shape %d x %d", t[i].s.m, t[i].s.n);
        if (!valid) has_str(t[i].says ? t[i].says : "", why, "it says so");
    }
    static const struct {
        int m;
        bool pair;
        int row, column, cta, lane, at;
    } cells[] = {
        { 128, false, 77, 5, 0, 77, 5 }, { 64, false, 20, 5, 0, 36, 5 },  { 256, true, 130, 40, 1, 2, 40 },
        { 128, true, 70, 10, 1, 6, 10 }, { 128, true, 70, 40, 1, 70, 8 }, { 128, true, 6, 32, 0, 70, 0 },
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        weiri_tc_shape s = { .m = cells[i].m, .n = 64, .pair = cells[i].pair };
        int cta, lane, column;
        weiri_tc_cell(&s, cells[i].row, cells[i].column, &cta, &lane, &column);
        ok(cta == cells[i].cta && lane == cells[i].lane && column == cells[i].at,
           "sum (%d, %d) of %d rows%s: CTA %d, lane %d, column %d", cells[i].row, cells[i].column, cells[i].m,
           cells[i].pair ? " of two CTAs" : "", cta, lane, column);
    }
    ok(weiri_tc_columns(true, 64, 128) == 64 && weiri_tc_columns(true, 128, 128) == 128 &&
           weiri_tc_columns(false, 64, 128) == 128,
       "64 rows in each of two CTAs take half the columns");
    weiri_tc_kind kind;
    weiri_tc_shape back, shape = { .m = 128, .n = 64, .kind = TC_KIND_F8, .a = WEIR_E5M2, .b = WEIR_E4M3 };
    ok(weiri_tc_kind_of(WEIR_E5M2, &kind) && kind == TC_KIND_F8 && weiri_tc_kind_of(WEIR_E4M3, &kind) && kind == TC_KIND_F8,
       "fp8 is a kind of its own");
    ok(weiri_tc_kind_of(WEIR_F16, &kind) && kind == TC_KIND_F16 && weiri_tc_kind_of(WEIR_TF32, &kind) && kind == TC_KIND_TF32,
       "so are 16 bits and tf32");
    ok(!weiri_tc_kind_of(WEIR_F32, &kind), "f32 is none");
    uint32_t d = weiri_tc_idesc(&shape);
    ok(weiri_tc_decode(TC_KIND_F8, d, &back) && back.a == WEIR_E5M2 && back.b == WEIR_E4M3 && back.m == 128 && back.n == 64,
       "an instruction descriptor comes back");
    ok(!weiri_tc_decode(TC_KIND_F16, (d & ~(7u << TC_IDESC_A_SHIFT)) | 5u << TC_IDESC_A_SHIFT, &back),
       "a code of A that no 16-bit type has");
    ok(!weiri_tc_decode(TC_KIND_F8, (d & ~(7u << TC_IDESC_B_SHIFT)) | 5u << TC_IDESC_B_SHIFT, &back),
       "a code of B that no fp8 type has");
    ok(!weiri_tc_decode(TC_KIND_F8, d | 1u << 31, &back), "a bit that no shape sets");
    static const struct {
        weir_dtype a, b;
        const char *kind;
        uint32_t codes; /* of A and B in the descriptor */
    } operands[] = {
        { WEIR_BF16, WEIR_F16, "f16", 1 << 7 | 0 << 10 },   { WEIR_F16, WEIR_BF16, "f16", 0 << 7 | 1 << 10 },
        { WEIR_TF32, WEIR_TF32, "tf32", 2 << 7 | 2 << 10 }, { WEIR_E4M3, WEIR_E5M2, "f8", 0 << 7 | 1 << 10 },
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        weiri_tc_shape s = { .m = 128, .n = 64, .a = operands[i].a, .b = operands[i].b };
        weiri_tc_kind_of(s.a, &s.kind);
        is_str(operands[i].kind, weiri_tc_kind_name(s.kind), "the kind of an mma");
        uint32_t word = weiri_tc_idesc(&s);
        is_int(operands[i].codes, word & (63u << TC_IDESC_A_SHIFT), "the codes of its operands");
        ok(weiri_tc_decode(s.kind, word, &back) && back.a == s.a && back.b == s.b, "and back: %s, %s", weir_dtype_name(s.a), weir_dtype_name(s.b));
    }
    static const int swizzle[][2] = {
        { 0, TC_LAYOUT_NONE }, { 32, TC_LAYOUT_32B }, { 64, TC_LAYOUT_64B }, { 128, TC_LAYOUT_128B }
    };
    for (size_t i = 0; i < 4; i++)
        ok(weiri_tc_layout(swizzle[i][0]) == swizzle[i][1] && weiri_tc_swizzle(swizzle[i][1]) == swizzle[i][0],
           "layout code of span %d, and back", swizzle[i][0]);
    is_int(-1, weiri_tc_swizzle(7), "a layout code that is none");
}

/* ---- a host that tells no places ---------------------------------------------------------------------------------------- */

typedef struct change {
    const char *name;
    int stages, swizzle, waits, columns;
    const char *says;
} change;

static weir_kernel *placeless(weir_ctx *ctx, const change *c) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "copy", .arch = WEIR_ARCH_SM_90A });
    weir_value n = weir_dim(k, &(weir_dim_desc){ .name = "N" }), cols = weir_int(k, c->columns);
    weir_tensor *tx =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "X", .dtype = WEIR_F32, .rank = 2, .shape = { n, cols } });
    weir_tensor *ty =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "Y", .dtype = WEIR_F32, .rank = 2, .shape = { n, cols }, .out = true });
    weir_res *x = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "x", .tensor = tx, .rank = 2, .tile = { 8, c->columns } });
    weir_res *y = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "y", .tensor = ty, .rank = 2, .tile = { 8, c->columns } });
    weir_res *s = weir_smem_tile(k, &(weir_smem_tile_desc){ .name = "s",
                                                            .dtype = WEIR_F32,
                                                            .tile = { 8, c->columns },
                                                            .swizzle = c->swizzle,
                                                            .pipeline = { .type = WEIR_TMA_ASYNC, .stages = c->stages } });
    weir_value zero = weir_int(k, 0), one = weir_int(k, 1);
    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = 1 });
    weir_value i = weir_loop_begin(k, zero, weir_int(k, 4), one, 1);
    weir_value from = weir_view_at(k, x, (weir_value[]){ i, zero }, 2);
    weir_do(k, s, WEIR_ACQUIRE, -1);
    weir_work(k, s, "tma_load", &(weir_work_desc){ .args = &from, .nargs = 1 }, NULL, 0);
    weir_do(k, s, WEIR_COMMIT, -1);
    weir_block_end(k, false);
    weir_task_end(k);
    weir_task_begin(k, &(weir_task_desc){ .name = "put", .first_warp = 4, .num_warps = 4 });
    i = weir_loop_begin(k, zero, weir_int(k, c->waits), one, 1);
    weir_do(k, s, WEIR_WAIT, -1);
    weir_value out[] = { weir_view_read(k, s, 0), weir_view_at(k, y, (weir_value[]){ i, zero }, 2) };
    weir_work(k, y, "store", &(weir_work_desc){ .args = out, .nargs = 2 }, NULL, 0);
    weir_do(k, s, WEIR_RELEASE, -1);
    weir_block_end(k, false);
    weir_task_end(k);
    return k;
}

static void no_places(weir_ctx *ctx) {
    static const change t[] = {
        { "as it should be", 2, 0, 4, 64, "proof: SAFE" },
        { "a wait too many", 2, 0, 5, 64,
          "error: task 'put' is blocked at wait 5 of 's': task 'load' ends after 4 commits [V-SIM-01]" },
        { "a commit too many", 2, 0, 3, 64, "error: 1 commit of 's' is not consumed: 4 commits, 3 waits [V-SIM-02]" },
        { "too many stages", 300, 0, 4, 64,
          "error: kernel 'copy' needs 619200 bytes of shared memory, the target has 232448: 386752 too many (s 300 x 2048, "
          "mbarriers 4800) [PLAN-SMEM]" },
        { "a swizzle", 2, 128, 4, 24,
          "error: tile 's': swizzle 128: a row of 24 x 4 bytes = 96 is not a multiple of the span" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        weir_kernel *k = placeless(ctx, &t[i]);
        weir_report *report = NULL;
        weir_verify(k, NULL, &report);
        const char *text = report ? weir_report_text(report) : "";
        ok(!strncmp(text, t[i].says, strlen(t[i].says)), "%s: the finding, and no place", t[i].name);
        if (strncmp(text, t[i].says, strlen(t[i].says))) printf("# %s\n", text);
        ok(report && (weir_report_count(report) == 0 || !weir_report_get(report, 0)->file), "%s: no file", t[i].name);
        weir_report_free(report);
        weir_kernel_free(k);
    }
}

/* Of a tile that is in flight one finding a line; without lines each is said. */
static void no_lines(weir_ctx *ctx, bool lines, int want) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "k", .arch = WEIR_ARCH_SM_90A });
    if (lines) weir_at(k, &(weir_place){ "x.lua", 1 }, 1);
    weir_res *w = weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "w", .tile = { 64, 64 } });
    weir_res *s = weir_smem_tile(k, &(weir_smem_tile_desc){ .name = "s",
                                                            .dtype = WEIR_BF16,
                                                            .tile = { 64, 64 },
                                                            .swizzle = 128,
                                                            .pipeline = { .type = WEIR_TMA_ASYNC, .stages = 1 } });
    weir_task_begin(k, &(weir_task_desc){ .name = "t", .first_warp = 0, .num_warps = 4 });
    weir_do(k, s, WEIR_WAIT, -1);
    weir_work(k, w, "zero", NULL, NULL, 0);
    weir_work(k, w, "mma", &(weir_work_desc){ .args = (weir_value[]){ weir_view_read(k, s, 0), weir_view_read(k, s, 0) }, .nargs = 2 }, NULL, 0);
    for (int i = 1; i <= 2; i++) weir_work(k, w, "set", &(weir_work_desc){ .args = (weir_value[]){ weir_int(k, i) }, .nargs = 1 }, NULL, 0);
    weir_work(k, w, "drain", NULL, NULL, 0);
    weir_do(k, s, WEIR_RELEASE, -1);
    weir_task_end(k);
    weiri_plan *p = weiri_plan_new(k);
    int n = 0;
    for (int i = 0; i < p->findings.list.n; i++) n += !strcmp(p->findings.list.v[i].rule, "PLAN-DRAIN");
    is_int(want, n, lines ? "sums set twice in flight, on one line" : "on no line");
    weiri_plan_free(p);
    weir_kernel_free(k);
}

/* Fragments: the layout of D of wgmma in the PTX ISA. */
static void threads_of_deals(void) {
    static const weiri_deal one = { .kind = DEAL_FRAGMENT }, rows = { .kind = DEAL_FRAGMENT, .rows = 128 },
                            more = { .kind = DEAL_FRAGMENT, .rows = 256 }, cols = { .kind = DEAL_FRAGMENT, .width = 32 },
                            order = { .kind = DEAL_ORDER, .threads = 64, .piece = 4, .cols = 128 };
    static const struct { const char *name; const weiri_deal *deal; int row, col, thread; } t[] = {
        { "the first element", &one, 0, 0, 0 },
        { "two side by side are one thread's", &one, 0, 1, 0 },
        { "the next two are the next one's", &one, 0, 2, 1 },
        { "four threads a row", &one, 0, 7, 3 },
        { "eight columns on", &one, 0, 8, 0 },
        { "the next row", &one, 1, 0, 4 },
        { "the last of eight rows", &one, 7, 6, 31 },
        { "eight rows on", &one, 8, 0, 0 },
        { "the last row of a warp", &one, 15, 7, 31 },
        { "the next warp", &one, 16, 0, 32 },
        { "the last warp", &one, 63, 7, 127 },
        { "64 rows on, of one warpgroup", &one, 64, 0, 0 },
        { "64 rows each: the second's", &rows, 64, 0, 128 },
        { "64 rows each: the last", &rows, 127, 7, 255 },
        { "128 rows each", &more, 64, 0, 0 },
        { "128 rows each: the second's", &more, 128, 2, 129 },
        { "32 columns each: the last of the first", &cols, 0, 31, 3 },
        { "32 columns each: the second's", &cols, 17, 34, 165 },
        { "in order: a piece", &order, 0, 3, 0 },
        { "in order: the next piece", &order, 0, 4, 1 },
        { "in order: the next row", &order, 1, 0, 32 },
        { "in order: all threads have one", &order, 2, 0, 0 },
    };
    weiri_ptask task = { .warpgroups = 2 };
    const weiri_plan p = { .tasks = &task };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        is_int(t[i].thread, weiri_deal_thread(&p, 0, t[i].deal, t[i].row, t[i].col), t[i].name);
}

int main(void) {
    weir_ctx *ctx = weir_open(NULL);
    faults();
    counts();
    groups();
    group_pipelines();
    group_calls(ctx);
    data_regions();
    layouts(ctx);
    numbers();
    maps();
    encoded_maps(ctx);
    scaled();
    tensor_core();
    threads_of_deals();
    no_places(ctx);
    no_lines(ctx, true, 1);
    no_lines(ctx, false, 2);
    weir_close(ctx);
    return done();
}
