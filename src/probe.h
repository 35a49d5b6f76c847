/* Instrumented builds: the same source behind kernels/device/weir_probe.h. With a watchdog no wait lasts for ever; with a trace each
 * actor notes when it began each action. A launch of one is waited for. */
#ifndef WEIRI_PROBE_H
#define WEIRI_PROBE_H

#include "device.h"
#include "program.h"
#include "trace.h"

/* The device memory that the instruments of one loaded program write to. */
typedef struct weiri_probe weiri_probe;

static inline bool weiri_probed(const weir_program *p) { return p->watchdog > 0 || p->traced; }
/* What stands between preamble and source. */
void weiri_probe_put(const weir_program *p, weiri_buf *out);

/* Around a launch, on the device whose context is current. arm makes *at on first use, clears it, and tells the module of it; collect
 * waits for the launch, and fails with WEIR_E_WATCHDOG and the report in d->findings when a wait was given up. The stamps of a traced
 * program go to `trace`. */
weir_status weiri_probe_arm(weir_program *p, weir_device *d, weiri_cumod module, int grid, weiri_probe **at);
weir_status weiri_probe_collect(weir_program *p, weir_device *d, weiri_probe *at, weir_timeline *trace);
void weiri_probe_free(weir_device *d, weiri_probe *at, bool lost);   /* lost: the context is gone, and its memory with it */

/* The watchdog's report of n records, as text; for tests without a GPU as well. */
typedef struct weiri_record {       /* ORDER PROBE: kernels/device/weir_probe.h */
    uint32_t kind, cta, warp, lanes;
    uint32_t at, nth, object, want;
    uint64_t state;
    uint32_t since, pad;
} weiri_record;
enum { WEIRI_ON_MBAR = 1, WEIRI_ON_NAMED = 2 };
/* `first`: when the first wait was given up; waits that began later are its consequences. `n` may be more than there are records. */
void weiri_probe_report(const weiri_plan *p, double seconds, weiri_record *r, int records, uint32_t n, uint32_t first,
                        weiri_buf *out);

#endif
