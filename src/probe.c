#include "probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "tell.h"

enum { TICK = 1 << 20 };    /* nanoseconds of one tick of w_now */
enum { MAX_RECORDS = 4096, NAMED = 16, MAX_LINES = 40 };

/* ORDER PROBE: kernels/device/weir_probe.h */
typedef struct host_words {
    uint64_t report, records, named;
    uint32_t limit, pad0;            /* ticks */
    uint64_t trace;
    uint32_t max_records, trace_ctas, trace_warps, pad;
} host_words;

typedef struct header { uint32_t first, n; } header;

struct weiri_probe {
    weiri_cuptr words;           /* w_probe, in the module */
    weiri_cuptr memory; size_t size;   /* header, records, named barriers of each CTA; stamps */
    size_t named, trace;         /* where the last two begin */
    int grid;                    /* CTAs there is room for */
};

void weiri_probe_put(const weir_program *p, weiri_buf *out) {
    if (p->watchdog > 0) weiri_put(out, "#define W_WATCHDOG %d\n", p->plan->nactions + 1);
    if (p->traced) weiri_put(out, "#define W_TRACE %d\n", p->plan->nactions + 1);
    weiri_put_n(out, weiri_weir_probe_h, strlen(weiri_weir_probe_h));
}

/* ---- around a launch ------------------------------------------------------------------------------------------------------------- */

static weir_status make(weir_program *p, weir_device *d, weiri_cumod module, int grid, weiri_probe **at) {
    weiri_probe *m = weiri_alloc(p->ctx, sizeof *m);
    size_t n = 0;
    if (!m) return WEIR_E_MEMORY;
    m->grid = grid;
    m->named = (sizeof(header) + MAX_RECORDS * sizeof(weiri_record) + 255) / 256 * 256;
    m->trace = (m->named + (size_t)grid * NAMED * 4 + 255) / 256 * 256;
    m->size = m->trace + (p->into ? (size_t)weiri_timeline_slots(p->into) + 1 : 0) * WEIRI_SLOT;
    weiri_cures r = d->cu->module_global(&m->words, &n, module, "w_probe");
    if (r == CU_OK && n != sizeof(host_words)) r = CU_INVALID_VALUE;
    if (r == CU_OK) r = d->cu->mem_alloc(&m->memory, m->size);
    if (r == CU_OK) {
        *at = m;
        return WEIR_OK;
    }
    weir_status st = weiri_device_fail(d, r, "kernel '%s': %zu bytes for its watchdog or trace", p->name, m->size);
    weiri_free(p->ctx, m, sizeof *m);
    return st;
}

void weiri_probe_free(weir_device *d, weiri_probe *at, bool lost) {
    if (!at) return;
    if (!lost) d->cu->mem_free(at->memory);
    weiri_free(d->ctx, at, sizeof *at);
}

/* The launch may be on any stream: everything is in place before it, and over after it. */
weir_status weiri_probe_arm(weir_program *p, weir_device *d, weiri_cumod module, int grid, weiri_probe **at) {
    size_t slots = p->into ? (size_t)weiri_timeline_slots(p->into) : 0;
    if (*at && ((*at)->grid < grid || (*at)->size < (*at)->trace + (slots ? slots + 1 : 0) * WEIRI_SLOT)) {
        weiri_probe_free(d, *at, false);
        *at = NULL;
    }
    weir_status st = *at ? WEIR_OK : make(p, d, module, grid, at);
    if (st != WEIR_OK) return st;
    weiri_probe *m = *at;
    host_words w = { .report = m->memory,
                     .records = m->memory + sizeof(header),
                     .named = m->memory + m->named,
                     .limit = (uint32_t)(p->watchdog * 1e9 / TICK) + 1,
                     .trace = m->memory + m->trace,
                     .max_records = MAX_RECORDS };
    if (p->into) weiri_timeline_wants(p->into, &w.trace_ctas, &w.trace_warps);
    header none = { .first = UINT32_MAX };
    weiri_cures r = d->cu->set_d8(m->memory, 0, m->size);
    if (r == CU_OK) r = d->cu->copy_to(m->memory, &none, sizeof none);
    if (r == CU_OK) r = d->cu->copy_to(m->words, &w, sizeof w);
    if (r == CU_OK) r = d->cu->ctx_sync();
    return r == CU_OK ? WEIR_OK : weiri_device_fail(d, r, "kernel '%s': preparing its watchdog or trace", p->name);
}

static weir_status read_trace(weir_program *p, weir_device *d, const weiri_probe *m, weir_timeline *t) {
    weiri_stamp *raw = weiri_alloc(p->ctx, WEIRI_SLOT);
    weiri_cures r = raw ? CU_OK : CU_INVALID_VALUE;
    for (int i = 0; i < weiri_timeline_slots(t) && r == CU_OK; i++) {
        r = d->cu->copy_from(raw, m->memory + m->trace + (size_t)(i + 1) * WEIRI_SLOT, WEIRI_SLOT);
        if (r == CU_OK) weiri_timeline_slot(t, i, raw);
    }
    weir_status st = !raw         ? WEIR_E_MEMORY
                     : r != CU_OK ? weiri_device_fail(d, r, "reading the trace of kernel '%s'", p->name)
                                  : WEIR_OK;
    weiri_free(p->ctx, raw, WEIRI_SLOT);
    return st;
}

weir_status weiri_probe_collect(weir_program *p, weir_device *d, weiri_probe *m, weir_timeline *trace) {
    header h;
    weiri_cures r = d->cu->ctx_sync();
    if (r == CU_OK) r = d->cu->copy_from(&h, m->memory, sizeof h);
    if (r != CU_OK) return weiri_device_fail(d, r, "waiting for kernel '%s'", p->name);
    weir_status st = trace ? read_trace(p, d, m, trace) : WEIR_OK;
    if (st != WEIR_OK || !h.n) return st;
    int n = h.n < MAX_RECORDS ? (int)h.n : MAX_RECORDS;
    weiri_record *records = weiri_alloc(p->ctx, (size_t)n * sizeof *records);
    if (!records) return WEIR_E_MEMORY;
    r = d->cu->copy_from(records, m->memory + sizeof h, (size_t)n * sizeof *records);
    if (r == CU_OK) {
        weiri_buf_free(&d->findings);
        weiri_probe_report(p->plan, p->watchdog, records, n, h.n, h.first, &d->findings);
        st = weiri_fail(p->ctx, WEIR_E_WATCHDOG, "the watchdog ended kernel '%s': %.900s", p->name,
                        d->findings.s ? d->findings.s : "");
    } else {
        st = weiri_device_fail(d, r, "reading the watchdog's report of kernel '%s'", p->name);
    }
    weiri_free(p->ctx, records, (size_t)n * sizeof *records);
    return st;
}

/* ---- the watchdog's report --------------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const weiri_record *x = a, *y = b;
    if (x->cta != y->cta) return x->cta < y->cta ? -1 : 1;
    if (x->warp != y->warp) return x->warp < y->warp ? -1 : 1;
    return x->lanes < y->lanes ? -1 : x->lanes > y->lanes;
}

/* Arrivals still missing in this phase. The layout is that of sm_80 to sm_100, read off the code of mbarrier.init and
 * mbarrier.pending_count: bits 43 to 62 count up from minus the pending arrivals. Measured on an H200: a load of an mbarrier gives 0
 * there, whatever its state; only mbarrier.arrive hands the state out, and that would change it. The simulator gives all of it. */
static int64_t pending(uint64_t state) {
    int64_t field = (int64_t)(state >> 43 & 0xfffff);
    return field ? 0x100000 - field : 0;
}

static const char *times(uint32_t n, char *out, size_t size) {
    const char *end = n % 100 / 10 == 1 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
    snprintf(out, size, "%" PRIu32 "%s", n, end);
    return out;
}

static void describe(const weiri_plan *p, const weiri_record *r, char *out, size_t size) {
    int stage = 0;
    if (r->kind == WEIRI_ON_NAMED) {
        snprintf(out, size, "named barrier %" PRIu32 ": %" PRIu64 " of %" PRIu32 " threads have come", r->object, r->state,
                 r->want);
        return;
    }
    const weiri_bar *b = weiri_tell_bar(p, r->object, &stage);
    int64_t missing = pending(r->state);
    if (b && !r->state)
        snprintf(out, size, "mbarrier '%s' stage %d, parity %" PRIu32 ": some of its %d arrivals, or bytes, are missing",
                 b->name, stage, r->want, b->count);
    else if (!b)
        snprintf(out, size, "mbarrier at shared byte %" PRIu32 ", parity %" PRIu32 ": %" PRId64 " arrivals missing", r->object,
                 r->want, missing);
    else if (missing)
        snprintf(out, size, "mbarrier '%s' stage %d, parity %" PRIu32 ": %" PRId64 " of %d arrivals", b->name, stage, r->want,
                 b->count - missing, b->count);
    else
        snprintf(out, size, "mbarrier '%s' stage %d, parity %" PRIu32 ": all %d arrivals, bytes are still to land", b->name,
                 stage, r->want, b->count);
}

/* What one line of the report covers: warps in a row of one task and CTA that wait in one way. */
typedef struct line { const weiri_record *r; int task; uint32_t last_warp, ctas, last_cta; bool late; } line;

static bool alike(const weiri_record *a, const weiri_record *b) {
    return a->kind == b->kind && a->at == b->at && a->object == b->object && a->want == b->want && a->lanes == b->lanes &&
           pending(a->state) == pending(b->state);
}

/* Lanes of a warp that gave up apart, as if they had done it together. Returns how many records are left. */
static int join_lanes(weiri_record *r, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int j = kept - 1;
        while (j >= 0 && r[j].cta == r[i].cta && r[j].warp == r[i].warp &&
               !(r[j].kind == r[i].kind && r[j].at == r[i].at && r[j].object == r[i].object && r[j].want == r[i].want &&
                 r[j].nth == r[i].nth))
            j--;
        if (j >= 0 && r[j].cta == r[i].cta && r[j].warp == r[i].warp) {
            r[j].lanes |= r[i].lanes;
            if (r[i].since < r[j].since) r[j].since = r[i].since;
        } else {
            r[kept++] = r[i];
        }
    }
    return kept;
}

static int count_lanes(uint32_t x) {
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

static void put_line(const weiri_plan *p, const line *l, const int *task_of, weiri_buf *out) {
    char place[256], what[256], nth[24];
    const weiri_record *r = l->r;
    int stage, lane = 0;
    weiri_tell_place(p, (int)r->at, place, sizeof place);
    describe(p, r, what, sizeof what);
    weiri_put(out, "  %s%s", place, *place ? ": " : "");
    if (l->task >= 0) weiri_put(out, "task '%s', ", p->tasks[l->task].task->name);
    weiri_put(out, "CTA %" PRIu32, r->cta);
    if (l->ctas > 1) weiri_put(out, " and %" PRIu32 " more up to %" PRIu32, l->ctas - 1, l->last_cta);
    weiri_put(out, ", warp%s %" PRIu32, l->last_warp > r->warp ? "s" : "", r->warp);
    if (l->last_warp > r->warp) weiri_put(out, " to %" PRIu32, l->last_warp);
    while (lane < 31 && !(r->lanes >> lane & 1)) lane++;
    int lanes = count_lanes(r->lanes);
    if (lanes == 1) weiri_put(out, ", lane %d", lane);
    else if (lanes < 32) weiri_put(out, ", %d lanes", lanes);
    weiri_put(out, ": waits for %s", what);
    if (r->nth) weiri_put(out, "; its %s wait here", times(r->nth, nth, sizeof nth));
    weiri_put(out, "\n");
    const weiri_bar *b = r->kind == WEIRI_ON_MBAR ? weiri_tell_bar(p, r->object, &stage) : NULL;
    if (b) weiri_tell_arrivers(p, b, task_of, out);
}

void weiri_probe_report(const weiri_plan *p, double seconds, weiri_record *r, int records, uint32_t n, uint32_t first,
                        weiri_buf *out) {
    weiri_arena a;
    weiri_arena_init(&a, out->ctx);
    WEIRI_LIST(line) lines = { 0 };
    int *task_of = WEIRI_NEW_N(&a, int, p->nactions + 1);
    weiri_tell_tasks(p, task_of);
    qsort(r, (size_t)records, sizeof *r, by_place);
    int kept = join_lanes(r, records);
    for (int i = 0; i < kept;) {
        int task = weiri_tell_task_of_warp(p, (int)r[i].cta % (p->cluster > 0 ? p->cluster : 1), (int)r[i].warp);
        line l = { .r = &r[i], .task = task, .ctas = 1, .last_cta = r[i].cta, .late = r[i].since >= first };
        int j = i + 1;
        for (; j < kept && r[j].cta == r[i].cta && r[j].warp == r[j - 1].warp + 1 && alike(&r[i], &r[j]); j++)
            if (weiri_tell_task_of_warp(p, (int)r[j].cta % (p->cluster > 0 ? p->cluster : 1), (int)r[j].warp) != task) break;
        l.last_warp = r[j - 1].warp;
        int k = 0;                                                  /* another CTA that waits in the same way */
        while (k < lines.n && !(lines.v[k].late == l.late && lines.v[k].task == task && lines.v[k].last_cta < l.last_cta &&
                                lines.v[k].r->warp == l.r->warp && lines.v[k].last_warp == l.last_warp && alike(lines.v[k].r, l.r)))
            k++;
        if (k < lines.n) {
            lines.v[k].ctas++;
            lines.v[k].last_cta = l.last_cta;
        } else {
            WEIRI_PUSH(&a, lines, l);
        }
        i = j;
    }
    weiri_put(out, "watchdog: these have waited for %g s and were let go [watchdog]\n", seconds);
    int shown = 0, late = 0;
    for (int i = 0; i < lines.n; i++) {
        late += lines.v[i].late;
        if (!lines.v[i].late && shown++ < MAX_LINES) put_line(p, &lines.v[i], task_of, out);
    }
    if (shown > MAX_LINES) weiri_put(out, "  ... and %d more kinds of waits\n", shown - MAX_LINES);
    if (late) weiri_put(out, "  then those that waited for them:\n");
    for (int i = 0, m = 0; i < lines.n; i++)
        if (lines.v[i].late && m++ < MAX_LINES / 4) put_line(p, &lines.v[i], task_of, out);
    if (n > (uint32_t)records) weiri_put(out, "  (%" PRIu32 " warps in all; there was room for %d)\n", n, records);
    weiri_arena_free(&a);
}
