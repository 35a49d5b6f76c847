/* A timeline: what each actor of a few CTAs did and when. A GPU's clock is nanoseconds. The simulator has none: its steps count what the
 * traced actors begin, so that the order shows and each action has its width. */
#ifndef WEIRI_TRACE_H
#define WEIRI_TRACE_H

#include "plan.h"

enum { WEIRI_SLOT = 1 << 18 };      /* bytes of stamps of one actor; ORDER PROBE: W_SLOT */
/* One stamp of a GPU; ORDER PROBE: w_stamp */
typedef struct weiri_stamp {
    uint32_t clock, time;           /* low halves of %clock and %globaltimer */
    uint32_t at, object;            /* action, or the number of actions and one more: the end; shared offset + 1, or 0 */
} weiri_stamp;

/* A row's number is that of its slot: by CTA, then by warp. NULL: no memory. */
weir_timeline *weiri_timeline_new(const weiri_plan *p, int ctas, bool gpu);
int weiri_timeline_slots(const weir_timeline *t);
void weiri_timeline_wants(const weir_timeline *t, uint32_t *ctas, uint32_t *warps);   /* warps: bits */
/* GPU: the stamps of slot i, up to the first that is 0. */
void weiri_timeline_slot(weir_timeline *t, int i, const weiri_stamp *s);
/* Simulator: the row of an actor that begins with this warp, or -1; its events in turn. */
int weiri_timeline_row(const weir_timeline *t, uint32_t cta, uint32_t warp);
void weiri_timeline_stamp(weir_timeline *t, int row, uint32_t at);
void weiri_timeline_touch(weir_timeline *t, int row, int64_t offset);   /* the last event is about this byte of shared memory */
void weiri_timeline_stuck(weir_timeline *t, int row);                   /* the last event never ends */
/* Everything is in: makes the spans. */
void weiri_timeline_finish(weir_timeline *t);

/* ---- for those that draw it ------------------------------------------------------------------------------------------------------ */

typedef struct weiri_flight {
    int row, stage;
    double from, to;
    const char *what;
} weiri_flight; /* a batch of MMAs, issued to drained */
typedef struct weiri_trow { int cta, warp, warps; const char *name; int first, n; } weiri_trow;   /* spans first .. first + n */

typedef struct weiri_event { uint64_t time; uint32_t clock, at; int64_t object; } weiri_event;   /* object: shared offset, -1 */
typedef struct weiri_events { WEIRI_LIST(weiri_event) list; bool full, stuck; } weiri_events;    /* of a slot */

struct weir_timeline {
    weir_ctx *ctx;
    weiri_arena a;
    const weiri_plan *p;             /* until finished */
    const char *kernel;
    bool unchecked;              /* the model of its target has not been checked on hardware */
    bool gpu, cut;                   /* cut: some actor did more than there was room for */
    int ctas;
    uint32_t warps; int per_cta;     /* the first warp of each actor, bits; how many */
    weiri_events *slot;
    WEIRI_LIST(weir_span) spans;
    WEIRI_LIST(weiri_trow) rows;
    WEIRI_LIST(weiri_flight) flights;
    uint64_t step;                   /* simulator: events so far */
    double end;
    int stages;                      /* the most of any pipeline */
};

#endif
