// Instrumented builds of the same source. This file follows weir_cuda.h when one or both of these are defined, each as the number of
// the plan's actions and one more:
//
//   W_WATCHDOG   no wait lasts longer than w_probe.limit: a thread that has waited so long notes where, leaves the role it plays, and
//                ends with the others. Nothing traps, so that the context lives. Named barriers are counted in memory: the hardware's
//                cannot be given up.
//   W_TRACE      one thread of each actor notes the time at which it begins each action.
//
// A thread's own state is w_here, a variable of the kernel; what it holds are constants and counters, so that it lies in registers.
#ifndef WEIR_PROBE_H
#define WEIR_PROBE_H

// ORDER PROBE: src/probe.c has the same structs. The host fills w_probe in before each launch.
struct w_probe_host {
    u64 report, records; // a w_report; room for max_records
    u64 named;           // u32 [CTA][16]: a word for each named barrier, see w_watch_come
    u32 limit, pad0;     // of one wait, in w_now's units
    u64 trace;           // slots of W_SLOT bytes, from 1: one for each warp of trace_warps (bits) of the first trace_ctas CTAs
    u32 max_records, trace_ctas, trace_warps, pad;
};
extern "C" {
__constant__ w_probe_host w_probe;
}

#define W_MEMBER __device__ __forceinline__

enum { W_ON_MBAR = 1, W_ON_NAMED = 2, W_SLOT = 1 << 18 };

struct w_report {
    u32 first, n; // time of the first record; records, those without room too
};

struct w_record {
    u32 kind, cta, warp, lanes; // lanes: bits
    u32 at, nth;                // action, 0 inside a body; how many times this thread has begun it
    u32 object, want;           // mbarrier: offset in shared memory, parity; named barrier: id, threads it joins
    u64 state;                  // mbarrier: its 64 bits; named barrier: threads that have come to this use of it
    u32 since, pad;             // when the wait began
};

struct w_stamp { u32 clock, time, at, object; }; // low halves of %clock64 and %globaltimer; object: a shared address + 1, or 0

W_FN u32 w_now(void) { u64 t; W_ASM("mov.u64 %0, %%globaltimer;" : "=l"(t) :); return (u32)(t >> 20); } // about milliseconds

#ifdef W_WATCHDOG

W_FN void w_watch_report(const w_record &r) {
    w_report *to = (w_report *)w_probe.report;
    const u32 i = atomicAdd(&to->n, 1u);
    atomicMin(&to->first, w_now());
    if (i < w_probe.max_records) ((w_record *)w_probe.records)[i] = r;
}

// One record for lanes of a warp that gave up together.
W_FN void w_watch_note(u32 kind, u32 at, u32 nth, u32 object, u32 want, u32 since) {
    const u32 lanes = __activemask();
    if (w_lane() != (u32)__ffs((int)lanes) - 1) return;
    w_record r = { kind, w_block(), threadIdx.x / 32, lanes, at, nth, object, want, 0, since, 0 };
    if (kind == W_ON_MBAR) {
        r.object -= w_smem_base();
        W_ASM("ld.shared::cta.b64 %0, [%1];" : "=l"(r.state) : "r"(object));
    } else {
        r.state = ((volatile u32 *)w_probe.named)[w_block() * 16 + object] & 0xffff;
    }
    w_watch_report(r);
}

W_FN u32 w_watch_try(u32 bar, u32 parity) {
    u32 r;
#if __CUDA_ARCH__ < 900
    W_ASM("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(r) : "r"(bar), "r"(parity));
#else
    W_ASM("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(r) : "r"(bar), "r"(parity));
#endif
    return r;
}

// What is true of one lane that waits alone, or of all (any) of a warp that waits whole: a warp that multiplies goes on whole, or gives up
// whole, since a wgmma of some of its lanes is an illegal instruction.
template <class H> W_FN int w_watch_all(H &here, int x) { return here.whole() ? __all_sync(~0u, x) : x; }
template <class H> W_FN int w_watch_any(H &here, int x) { return here.whole() ? __any_sync(~0u, x) : x; }

template <class H> W_FN void w_watch_mbar(H &here, u32 bar, u32 parity) {
    here.begin();
    if (w_watch_all(here, (int)w_watch_try(bar, parity))) return;
    const u32 since = w_now();
    while (!w_watch_all(here, (int)w_watch_try(bar, parity))) {
        if (!w_watch_any(here, w_now() - since > here.limit())) continue;
        here.give_up(W_ON_MBAR, bar, parity, since);
        return;
    }
}

// A warp comes to a named barrier, as the hardware counts, at once. A barrier's word: how many threads have come to this use of it, and
// from bit 16 how many uses are over, which is what this gives.
W_FN u32 w_watch_come(u32 id, u32 threads) {
    u32 over = 0;
    __syncwarp();
    __threadfence_block();
    if (w_lane() == 0) {
        u32 *word = (u32 *)w_probe.named + w_block() * 16 + id, before = *(volatile u32 *)word, seen;
        for (;; before = seen) {
            const bool last = (before & 0xffff) + 32 >= threads;
            seen = atomicCAS(word, before, last ? (before | 0xffff) + 1 : before + 32);
            if (seen == before) break;
        }
        over = before >> 16;
    }
    return __shfl_sync(~0u, over, 0);
}

template <class H> W_FN void w_watch_bar(H &here, u32 id, u32 threads) {
    here.begin();
    const u32 over = w_watch_come(id, threads), since = w_now();
    const volatile u32 *word = (u32 *)w_probe.named + w_block() * 16 + id;
    while (!__all_sync(~0u, *word >> 16 != over)) { // the whole warp goes on, or gives up
        if (!__any_sync(~0u, w_now() - since > here.limit())) continue;
        here.give_up(W_ON_NAMED, id, threads, since);
        return;
    }
    __threadfence_block();
    __syncwarp();
}

#endif

// Inside a body: no action, no way out. Once anybody has given up, waits here are short, since a body may do many.
struct w_outside {
#ifdef W_WATCHDOG
    W_MEMBER void begin(void) {}
    W_MEMBER bool whole(void) { return false; }
    W_MEMBER u32 limit(void) { return ((volatile w_report *)w_probe.report)->n ? w_probe.limit / 32 : w_probe.limit; }
    W_MEMBER void give_up(u32 kind, u32 object, u32 want, u32 since) { w_watch_note(kind, 0, 0, object, want, since); }
#endif
    W_MEMBER void touch(u32) {}
};
static __device__ w_outside w_here;

struct w_place {
    u32 at; // the action begun last
#ifdef W_WATCHDOG
    u32 cut, times, object, want; // cut: the kind of what it gave up on, or 0
    u32 mma;                      // the role multiplies
    u32 since;
    u32 nth[W_WATCHDOG];
    W_MEMBER void begin(void) { nth[at]++; }
    W_MEMBER bool whole(void) { return mma != 0; }
    W_MEMBER u32 limit(void) { return w_probe.limit; }
    W_MEMBER void give_up(u32 kind, u32 on, u32 wanted, u32 from) {
        cut = kind, times = nth[at], object = on, want = wanted, since = from;
    }
#endif
#ifdef W_TRACE
    u32 to; // where the next stamp goes, from w_probe.trace; 0: another thread stamps, or the slot is full
    // Predicated, not branched around: a branch among wgmmas makes ptxas add fences (C7519).
    W_MEMBER void stamp(void) {
        W_ASM("{ .reg .pred p, q; .reg .u32 c, t; .reg .u64 x;\n"
              "setp.ne.u32 p, %0, 0; mov.u32 c, %%clock; mov.u32 t, %%globaltimer_lo;\n"
              "cvt.u64.u32 x, %0; add.u64 x, x, %1; @p st.global.v4.u32 [x], {c, t, %2, 0}; @p add.u32 %0, %0, 16;\n"
              "and.b32 c, %0, %3; setp.eq.u32 q, c, 0; @q mov.u32 %0, 0; }"
              : "+r"(to) : "l"(w_probe.trace), "r"(at), "n"(W_SLOT - 1));
    }
    W_MEMBER void touch(u32 addr) {
        W_ASM("{ .reg .pred p; .reg .u64 x; setp.ne.u32 p, %0, 0;\n"
              "cvt.u64.u32 x, %0; add.u64 x, x, %1; @p st.global.u32 [x + -4], %2; }"
              :: "r"(to), "l"(w_probe.trace), "r"(addr - w_smem_base() + 1));
    }
#else
    W_MEMBER void touch(u32) {}
#endif
    W_MEMBER void enter(void) {
#ifdef W_TRACE
        const u32 warp = threadIdx.x / 32, all = w_probe.trace_warps;
        const u32 slot = w_block() * (u32)__popc(all) + (u32)__popc(all & ((1u << warp) - 1));
        if (w_lane() == 0 && (all >> warp & 1) && w_block() < w_probe.trace_ctas)
            to = (slot + 1) * W_SLOT;
#endif
    }
    W_MEMBER void leave(void) {
        const u32 last = at;
        (void)last;
#ifdef W_TRACE
        at = W_TRACE; // the end of the role
        stamp();
#endif
#ifdef W_WATCHDOG
        if (!cut) return;
        w_watch_note(cut, last, times, object, want, since);
        cut = 0; // what follows the roles, a cluster's last barrier, is for everyone
        __nanosleep(1000000); // copies in flight land while their shared memory is still this CTA's
#endif
    }
};

// Whoever leaves with sums in flight waits for them, else ptxas waits for each wgmma (C7518). Only there: the wait joins the warp, and
// in other roles a lane may be alone.
#if defined W_WATCHDOG && defined __CUDA_ARCH_FEAT_SM90_ALL
#define W_DRAIN() if (w_here.mma) w_wgmma_wait<0>()
#else
#define W_DRAIN()
#endif
#undef W_ENTER
#undef W_LEAVE
#ifdef W_WATCHDOG
#undef W_MMA_TASK
#define W_MMA_TASK() w_here.mma = 1
#endif
#define W_ENTER() w_place w_here = {}; w_here.enter()
#undef W_AT
#ifdef W_TRACE
#define W_STAMP(id) w_here.at = (id); w_here.stamp()
#else
#define W_STAMP(id) w_here.at = (id)
#endif
#ifdef W_WATCHDOG
#define W_AT(id) if (w_here.cut) { W_DRAIN(); goto w_leave; } W_STAMP(id)
#define W_LEAVE() w_leave: w_here.leave()
#else
#define W_AT(id) W_STAMP(id)
#define W_LEAVE() w_here.leave()
#endif
#undef W_MEMBER

// ---- the primitives that wait, and those that have a shared address to tell ------------------------------------------------------

#ifdef W_WATCHDOG
#define w_mbar_wait(bar, parity) (w_here.touch(bar), w_watch_mbar(w_here, bar, parity))
#define w_bar_sync(id, threads) w_watch_bar(w_here, id, threads)
#define w_bar_arrive(id, threads) (void)w_watch_come(id, threads)
#else
#define w_mbar_wait(bar, parity) (w_here.touch(bar), (w_mbar_wait)(bar, parity))
#endif
#ifdef W_TRACE
#define w_mbar_arrive(bar) (w_here.touch(bar), (w_mbar_arrive)(bar))
#define w_mbar_arrive_remote(bar, cta) (w_here.touch(bar), (w_mbar_arrive_remote)(bar, cta))
#define w_mbar_expect(bar, bytes) (w_here.touch(bar), (w_mbar_expect)(bar, bytes))
#define w_mbar_expect_remote(bar, cta, bytes) (w_here.touch(bar), (w_mbar_expect_remote)(bar, cta, bytes))
#define w_mbar_cp_async_arrive(bar) (w_here.touch(bar), (w_mbar_cp_async_arrive)(bar))
#define w_queue_fetch_cluster(slot, ...) (w_here.touch(slot), (w_queue_fetch_cluster)(slot, __VA_ARGS__))
#define w_queue_fetch(slot, ...) (w_here.touch(slot), (w_queue_fetch)(slot, __VA_ARGS__))
#define w_tma_load(dst, ...) (w_here.touch(dst), (w_tma_load)(dst, __VA_ARGS__))
#define w_tma_load_multicast(dst, ...) (w_here.touch(dst), (w_tma_load_multicast)(dst, __VA_ARGS__))
#define w_tma_load_hint(dst, ...) (w_here.touch(dst), (w_tma_load_hint)(dst, __VA_ARGS__))
#define w_tma_load_multicast_hint(dst, ...) (w_here.touch(dst), (w_tma_load_multicast_hint)(dst, __VA_ARGS__))
#define w_tma_store(map, src, ...) (w_here.touch(src), (w_tma_store)(map, src, __VA_ARGS__))
#define w_tma_reduce_add(map, src, ...) (w_here.touch(src), (w_tma_reduce_add)(map, src, __VA_ARGS__))
#define w_bulk_push(dst, src, ...) (w_here.touch(dst), (w_bulk_push)(dst, src, __VA_ARGS__))
#endif

#endif
