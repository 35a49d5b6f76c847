/* From events to spans. An actor does one thing after the other: a span lasts from one event to the next. Which stage it is about is
 * known where the event has a shared address; the rest follows the stages that the actor has opened. */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "launch.h"
#include "probe.h"
#include "range.h"
#include "tell.h"

enum { MOST_EVENTS = WEIRI_SLOT / (int)sizeof(weiri_stamp), KEPT_OPEN = 16 };

/* ---- events ------------------------------------------------------------------------------------------------------------------------ */

static uint32_t first_warps(const weiri_plan *p) {
    uint32_t bits = 0;
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_ptask *t = &p->tasks[i];
        for (int w = 0; w < t->task->num_warps; w += t->wg_actor ? 4 : 1) bits |= 1u << (t->task->first_warp + w);
    }
    return bits;
}

weir_timeline *weiri_timeline_new(const weiri_plan *p, int ctas, bool gpu) {
    weir_timeline *t = weiri_alloc(p->k->ctx, sizeof *t);
    if (!t) return NULL;
    t->ctx = p->k->ctx;
    weiri_arena_init(&t->a, t->ctx);
    t->p = p;
    t->kernel = weiri_arena_str(&t->a, p->k->name);
    t->unchecked = p->k->arch >= WEIR_ARCH_SM_100A;
    t->gpu = gpu;
    t->ctas = ctas;
    t->warps = first_warps(p);
    for (uint32_t x = t->warps; x; x &= x - 1) t->per_cta++;
    t->slot = WEIRI_NEW_N(&t->a, weiri_events, ctas * t->per_cta + 1);
    return t;
}

void weir_timeline_free(weir_timeline *t) {
    if (!t) return;
    weiri_arena_free(&t->a);
    weiri_free(t->ctx, t, sizeof *t);
}

int weiri_timeline_slots(const weir_timeline *t) { return t->ctas * t->per_cta; }

void weiri_timeline_wants(const weir_timeline *t, uint32_t *ctas, uint32_t *warps) {
    *ctas = (uint32_t)t->ctas;
    *warps = t->warps;
}

int weiri_timeline_row(const weir_timeline *t, uint32_t cta, uint32_t warp) {
    if (cta >= (uint32_t)t->ctas || warp >= 32 || !(t->warps >> warp & 1)) return -1;
    int before = 0;
    for (uint32_t x = t->warps & ((1u << warp) - 1); x; x &= x - 1) before++;
    return (int)cta * t->per_cta + before;
}

static void put_event(weir_timeline *t, weiri_events *e, weiri_event x) {
    if (e->list.n == MOST_EVENTS) {
        e->full = t->cut = true;
        return;
    }
    WEIRI_PUSH(&t->a, e->list, x);
}

void weiri_timeline_stamp(weir_timeline *t, int row, uint32_t at) {
    put_event(t, &t->slot[row], (weiri_event){ t->step++, 0, at, -1 });
}

void weiri_timeline_touch(weir_timeline *t, int row, int64_t offset) {
    weiri_events *e = &t->slot[row];
    if (e->list.n && !e->full && e->list.v[e->list.n - 1].object < 0) e->list.v[e->list.n - 1].object = offset;
}

void weiri_timeline_stuck(weir_timeline *t, int row) { t->slot[row].stuck = true; }

void weiri_timeline_slot(weir_timeline *t, int i, const weiri_stamp *s) {
    for (int n = 0; n < MOST_EVENTS && s[n].at; n++)
        put_event(t, &t->slot[i], (weiri_event){ s[n].time, s[n].clock, s[n].at, (int64_t)s[n].object - 1 });
    if (t->slot[i].list.n == MOST_EVENTS) t->slot[i].full = t->cut = true;
}

/* ---- a GPU's clocks ------------------------------------------------------------------------------------------------------------------ */

/* %globaltimer is common to all SMs and may be coarse; %clock is one SM's and fine. Both are 32 bits here, so that a run may last a
 * second. Times become nanoseconds from time0 on: %clock, along the line that fits %globaltimer best over the CTA. */
static double *times_of(weir_timeline *t, int cta, uint32_t time0) {
    weiri_events *s = &t->slot[cta * t->per_cta];
    int n = 0;
    const weiri_event *first = NULL;
    for (int i = 0; i < t->per_cta; n += s[i++].list.n)
        if (s[i].list.n && !first) first = &s[i].list.v[0];
    double *out = WEIRI_NEW_N(&t->a, double, n + 1), *cycles = WEIRI_NEW_N(&t->a, double, n + 1);
    double mean_c = 0, mean_t = 0, cc = 0, ct = 0;
    for (int i = 0, k = 0; i < t->per_cta; i++)
        for (int j = 0; j < s[i].list.n; j++, k++) {
            cycles[k] = (double)(int32_t)(s[i].list.v[j].clock - first->clock);
            out[k] = (double)(int32_t)((uint32_t)s[i].list.v[j].time - time0);
            mean_c += cycles[k] / n;
            mean_t += out[k] / n;
        }
    for (int k = 0; k < n; k++) {
        cc += (cycles[k] - mean_c) * (cycles[k] - mean_c);
        ct += (cycles[k] - mean_c) * (out[k] - mean_t);
    }
    for (int k = 0; k < n && cc > 0 && ct > 0; k++) out[k] = mean_t + (cycles[k] - mean_c) * ct / cc;
    return out;
}

/* ---- words --------------------------------------------------------------------------------------------------------------------------- */

static bool waits(weiri_act kind) {
    switch (kind) {
    case ACT_WAIT:
    case ACT_BULK_WAIT:
    case ACT_CP_WAIT:
    case ACT_MMA_WAIT:
    case ACT_NAMED_SYNC:
    case ACT_CTA_SYNC:
    case ACT_CLUSTER_WAIT:
    case ACT_GRID_WAIT: case ACT_WARP_SYNC: return true;
    default: return false;
    }
}

static const char *verb(const weiri_action *a) {
    switch (a->kind) {
    case ACT_LOAD_BULK: return a->op && a->op->atom == ATOM_QUEUE_FETCH ? "fetch" : "load";
    case ACT_STORE_BULK: return "store";
    case ACT_PUSH_BULK: return "push";
    case ACT_CP_ASYNC: return "load";
    case ACT_MMA: return "mma";
    case ACT_MMA_WAIT: return "drain";
    case ACT_BODY:
        switch (a->op ? a->op->atom : ATOM_NONE) {
        case ATOM_STORE: return "store";
        case ATOM_SET: return "set";
        case ATOM_READ: case ATOM_LOAD: return "read";
        case ATOM_QUEUE_ADVANCE: return "next tile";
        case ATOM_CUSTOM: return a->op->work->name;
        default: return "work";
        }
    default: return weiri_act_name(a->kind);
    }
}

static const char *what(weir_timeline *t, const weiri_action *a) {
    const weiri_plan *p = t->p;
    const char *on = "";
    if (a->kind == ACT_NAMED_SYNC) return weiri_arena_fmt(&t->a, "%s %d", verb(a), a->named);
    if (a->kind == ACT_REGS) return weiri_arena_fmt(&t->a, "%s %d", verb(a), a->n);
    if (a->bar >= 0 && a->kind != ACT_LOAD_BULK) on = p->bars.v[a->bar].name;
    else if (a->op && a->op->res) on = a->op->res->name;
    return *on ? weiri_arena_fmt(&t->a, "%s %s", verb(a), on) : verb(a);
}

/* ---- stages -------------------------------------------------------------------------------------------------------------------------- */

static const weiri_action *action_of(const weiri_plan *p, uint32_t id) {
    return id >= 1 && id <= (uint32_t)p->nactions ? p->action[id] : NULL;
}

typedef struct opened { int stage[KEPT_OPEN]; int n; } opened;   /* by one cursor, newest last, in a ring */

static int touched(const weiri_plan *p, int64_t object) {
    int stage = -1;
    if (object < 0) return -1;
    const weiri_bar *b = weiri_tell_bar(p, object, &stage);
    if (b) return stage;
    const weiri_region *r = weiri_tell_region(p, object, &stage);
    return r && r->stages > 1 ? stage : -1;
}

/* Of an action without an address: the stage of the cursor that it, or its last effect, names. */
static int followed(const weiri_action *a, const opened *o) {
    int cur = a->cur, back = a->back;
    weiri_stage_ref ref = a->stage;
    for (int i = a->neff - 1; i >= 0 && (cur < 0 || ref == STAGE_NONE); i--)
        if (a->eff[i].cur >= 0) cur = a->eff[i].cur, back = a->eff[i].back, ref = a->eff[i].stage;
    if (cur < 0 || ref != STAGE_HELD || back >= o[cur].n || back >= KEPT_OPEN) return -1;
    return o[cur].stage[(o[cur].n - 1 - back) % KEPT_OPEN];
}

/* The region of shared memory that an action is about, -1 none. */
static int region_of(const weiri_plan *p, const weiri_action *a) {
    for (int i = a->neff - 1; i >= 0; i--)
        if (a->eff[i].region >= 0) return a->eff[i].region;
    return a->pipe >= 0 ? p->pipes.v[a->pipe].region : -1;
}

/* Work beside a pipeline without barriers: the address comes with the copy that follows, or went before. */
static void fill_stages(const weiri_plan *p, const weiri_events *e, int *stage) {
    for (int i = 0; i < e->list.n; i++) {
        const weiri_action *a = action_of(p, e->list.v[i].at);
        int region = a ? region_of(p, a) : -1;
        for (int way = 1; way >= -1 && region >= 0 && stage[i] < 0; way -= 2)
            for (int k = i + way, far = 0; far < 12 && k >= 0 && k < e->list.n && stage[i] < 0; k += way, far++) {
                const weiri_action *b = action_of(p, e->list.v[k].at);
                if (b && region_of(p, b) == region) stage[i] = touched(p, e->list.v[k].object);
            }
    }
}

/* ---- spans --------------------------------------------------------------------------------------------------------------------------- */

typedef struct batches { WEIRI_LIST(weiri_flight) open; int first; weiri_flight next; bool any; } batches;

/* Batches of MMAs: issued until their group is closed, drained by the wait that leaves no more than n groups open. */
static void follow_mma(weir_timeline *t, batches *m, int row, const weiri_action *a, weir_span *s) {
    if (a->kind == ACT_MMA) {
        if (!m->any) m->next = (weiri_flight){ .row = row, .stage = s->stage, .from = s->from, .what = s->what };
        m->any = true;
    } else if (a->kind == ACT_MMA_COMMIT && m->any) {
        WEIRI_PUSH(&t->a, m->open, m->next);
        m->any = false;
    } else if (a->kind == ACT_MMA_WAIT) {
        while (m->open.n - m->first > a->n) {
            weiri_flight f = m->open.v[m->first++];
            f.to = s->to;
            s->stage = f.stage;
            WEIRI_PUSH(&t->a, t->flights, f);
        }
    }
}

static void make_row(weir_timeline *t, int slot, const double *time, double end) {
    const weiri_plan *p = t->p;
    const weiri_events *e = &t->slot[slot];
    int cta = slot / t->per_cta, warp = 0, nth = slot % t->per_cta;
    for (; !(t->warps >> warp & 1) || nth--; warp++) {}
    int task = weiri_tell_task_of_warp(p, cta % (p->cluster > 0 ? p->cluster : 1), warp);
    if (task < 0 || !e->list.n) return;
    const weiri_ptask *pt = &p->tasks[task];
    weiri_trow row = { .cta = cta,
                       .warp = warp,
                       .warps = pt->wg_actor ? 4 : 1,
                       .name = weiri_arena_str(&t->a, pt->task->name),
                       .first = t->spans.n };
    opened *open = WEIRI_NEW_N(&t->a, opened, p->cursors.n + 1);
    int *count = WEIRI_NEW_N(&t->a, int, p->nactions + 2), *stage = WEIRI_NEW_N(&t->a, int, e->list.n + 1);
    const char **text = WEIRI_NEW_N(&t->a, const char *, p->nactions + 2);
    for (int i = 0; i < e->list.n; i++) {
        uint32_t id = e->list.v[i].at;
        const weiri_action *a = action_of(p, id);
        stage[i] = -1;
        if (!a) continue;
        stage[i] = touched(p, e->list.v[i].object);
        if (stage[i] < 0) stage[i] = followed(a, open);
        if (a->kind == ACT_WAIT && a->cur >= 0 && stage[i] >= 0) {
            opened *o = &open[a->cur];      /* members of a group may wait one after the other for one use */
            if (!o->n || o->stage[(o->n - 1) % KEPT_OPEN] != stage[i] || p->cursors.v[a->cur].stages == 1)
                o->stage[o->n++ % KEPT_OPEN] = stage[i];
        }
    }
    fill_stages(p, e, stage);
    batches mma = { .first = 0 };
    for (int i = 0; i < e->list.n; i++) {
        uint32_t id = e->list.v[i].at;
        const weiri_action *a = action_of(p, id);
        bool last = i + 1 == e->list.n;
        if (!a) continue;
        if (!text[id]) text[id] = what(t, a);
        weir_span s = { .task = row.name,
                        .cta = cta,
                        .warp = warp,
                        .what = text[id],
                        .action = (int)id,
                        .nth = ++count[id],
                        .stage = stage[i],
                        .waits = waits(a->kind),
                        .from = time[i],
                        .to = !last           ? time[i + 1]
                              : end > time[i] ? end
                                              : time[i] };
        if (s.to < s.from) s.to = s.from;
        s.stuck = last && e->stuck;
        if (a->op && a->op->at.n) {
            s.file = weiri_arena_str(&t->a, a->op->at.at[0].file);
            s.line = a->op->at.at[0].line;
        }
        follow_mma(t, &mma, t->rows.n, a, &s);
        if (s.stage + 1 > t->stages) t->stages = s.stage + 1;
        if (s.to > t->end) t->end = s.to;
        WEIRI_PUSH(&t->a, t->spans, s);
    }
    row.n = t->spans.n - row.first;
    WEIRI_PUSH(&t->a, t->rows, row);
}

void weiri_timeline_finish(weir_timeline *t) {
    int slots = weiri_timeline_slots(t);
    double **time = WEIRI_NEW_N(&t->a, double *, slots + 1), first = 0;
    uint32_t time0 = 0;
    bool any = false;
    for (int i = 0; i < slots; i++) {
        if (!t->slot[i].list.n) continue;
        uint32_t x = (uint32_t)t->slot[i].list.v[0].time;
        if (!any || (int32_t)(x - time0) < 0) time0 = x;
        any = true;
    }
    for (int cta = 0; cta < t->ctas; cta++) {
        double *fitted = t->gpu ? times_of(t, cta, time0) : NULL;
        for (int i = cta * t->per_cta; i < (cta + 1) * t->per_cta; i++) {
            const weiri_events *e = &t->slot[i];
            time[i] = t->gpu ? fitted : WEIRI_NEW_N(&t->a, double, e->list.n + 1);
            for (int j = 0; !t->gpu && j < e->list.n; j++) time[i][j] = (double)(e->list.v[j].time - time0);
            if (e->list.n && time[i][0] < first) first = time[i][0];
            if (t->gpu) fitted += e->list.n;
        }
    }
    for (int i = 0; i < slots; i++) {
        const weiri_events *e = &t->slot[i];
        for (int j = 0; j < e->list.n; j++) time[i][j] -= first;
        make_row(t, i, time[i], e->stuck ? (double)(t->step - time0) * 1.04 + 2 : 0);
    }
    t->p = NULL;
    t->slot = NULL;
}

const char *weir_timeline_unit(const weir_timeline *t) { return t->gpu ? "ns" : "steps"; }
bool weir_timeline_complete(const weir_timeline *t) { return !t->cut; }
int weir_timeline_count(const weir_timeline *t) { return t->spans.n; }
const weir_span *weir_timeline_get(const weir_timeline *t, int i) { return i >= 0 && i < t->spans.n ? &t->spans.v[i] : NULL; }

/* ---- a traced launch ----------------------------------------------------------------------------------------------------------------- */

/* The same plan and source with instruments. */
weir_program *weiri_program_twin(weir_program *p) {
    if (p->twin) return p->twin;
    weir_program *t = weiri_alloc(p->ctx, sizeof *t);
    if (!t) return NULL;
    t->ctx = p->ctx;
    t->k = p->k;
    t->plan = p->plan;
    t->name = p->name;
    t->arch = p->arch;
    t->device = p->device;
    t->watchdog = p->watchdog;
    t->traced = true;
    t->notes = WEIR_NOTES_IGNORE; /* of the instruments */
    weiri_buf *const bufs[] = { &t->source, &t->full, &t->log, &t->ptx, &t->noted };
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++) weiri_buf_init(bufs[i], p->ctx);
    weiri_put_n(&t->source, p->source.s ? p->source.s : "", p->source.n);
    p->twin = t;
    if (!t->source.oom) return t;
    weiri_program_drop_traced(p);
    weiri_fail(p->ctx, WEIR_E_MEMORY, "out of memory: the traced build of kernel '%s'", p->name);
    return NULL;
}

void weiri_program_drop_traced(weir_program *p) {
    weir_program *t = p->twin;
    if (!t) return;
    weiri_program_drop_launched(t);
    weiri_program_drop_compiled(t);
    weiri_buf_free(&t->source);
    weiri_free(p->ctx, t, sizeof *t);
    p->twin = NULL;
}

static const weir_arg *arg_named(const weir_arg *args, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (args[i].name && !strcmp(args[i].name, name)) return &args[i];
    return NULL;
}

/* The dims that numbers and bare axes of tensors give; -1: none does. */
static void known_dims(const weir_kernel *k, const weir_arg *args, int n, int64_t *dims) {
    for (int i = 0; i < k->dims.n; i++) {
        const weir_arg *a = arg_named(args, n, weiri_val(k, k->dims.v[i])->name);
        dims[i] = a && a->is_number && a->number >= 0 && a->number <= INT32_MAX ? (int64_t)a->number : -1;
    }
    for (int i = 0; i < k->tensors.n; i++) {
        const weir_tensor *t = k->tensors.v[i];
        const weir_arg *a = arg_named(args, n, t->name);
        for (int axis = 0; a && axis < t->rank && axis < (a->buffer ? weir_buffer_rank(a->buffer) : a->rank); axis++) {
            const weiri_value *v = weiri_val(k, t->shape[axis].id);
            if (v->op == WEIR_OP_DIM) dims[v->dim] = a->buffer ? weir_buffer_shape(a->buffer, axis) : a->shape[axis];
        }
    }
}

/* Integer scalars as they are given; 0 where one is not: the launch says what is missing. */
static void known_scalars(const weir_kernel *k, const weir_arg *args, int n, double *scalars) {
    for (int i = 0; i < k->scalars.n; i++) {
        const weir_arg *a = arg_named(args, n, weiri_val(k, k->scalars.v[i])->name);
        scalars[i] = !a ? 0 : a->is_integer ? (double)a->integer : a->number;
    }
}

/* In the simulator tensors may be left out: sizes alone make a timeline. Adds zeros of the declared shape for those whose sizes are known;
 * `args` has room for every tensor. */
static weir_status stand_in(weir_program *p, weir_device *d, weir_arg *args, int *n, weir_buffer **made) {
    const weir_kernel *k = p->k;
    weiri_arena mem;
    weiri_arena_init(&mem, p->ctx);
    int64_t *dims = WEIRI_NEW_N(&mem, int64_t, k->dims.n + 1);
    double *scalars = WEIRI_NEW_N(&mem, double, k->scalars.n + 1);
    weiri_env e = { .k = k, .dims = dims, .scalars = scalars, .cta = -1, .large = true };
    known_dims(k, args, *n, dims);
    known_scalars(k, args, *n, scalars);
    weir_status st = mem.oom ? WEIR_E_MEMORY : WEIR_OK;
    bool known = true;
    for (int i = 0; i < k->dims.n; i++) known = known && dims[i] >= 0;
    for (int i = 0; i < k->tensors.n && known && st == WEIR_OK; i++) {
        const weir_tensor *t = k->tensors.v[i];
        if (arg_named(args, *n, t->name)) continue;
        weir_buffer_desc b = { .dtype = t->dtype, .rank = t->rank };
        bool sized = true;
        for (int axis = 0; axis < t->rank; axis++)
            sized = sized && weiri_range_number(&e, t->shape[axis].id, &b.shape[axis]) && b.shape[axis] >= 0;
        if (!sized) continue; /* the launch says what is missing */
        made[i] = weir_buffer_new(d, &b);
        st = made[i] ? weir_buffer_fill(made[i], 0) : p->ctx->status;
        args[(*n)++] = (weir_arg){ .name = t->name, .buffer = made[i] };
    }
    weiri_arena_free(&mem);
    return st;
}

static weir_status trace_on(weir_program *p, weir_device *d, const weir_launch_desc *desc, int ctas, weir_timeline **out) {
    weir_program *runs = d->index < 0 ? p : weiri_program_twin(p);
    weir_timeline *t = runs ? weiri_timeline_new(p->plan, ctas, d->index >= 0) : NULL;
    if (!t) return WEIR_E_MEMORY;
    weir_launch_desc on = *desc;
    on.device = d;
    runs->into = t;
    weir_status st = weir_launch(runs, &on);
    runs->into = NULL;
    weiri_timeline_finish(t);
    if (t->a.oom) st = weiri_fail(p->ctx, WEIR_E_MEMORY, "out of memory: the trace of kernel '%s'", p->name);
    if (st == WEIR_OK || st == WEIR_E_SIM || st == WEIR_E_WATCHDOG) *out = t;
    else weir_timeline_free(t);
    return st;
}

weir_status weir_trace(weir_program *p, const weir_launch_desc *desc, const weir_trace_desc *trace, weir_timeline **out) {
    int cluster = p->plan->cluster > 0 ? p->plan->cluster : 1, ctas = trace && trace->ctas ? trace->ctas : cluster;
    *out = NULL;
    if (ctas < 1 || ctas > 256) return weiri_fail(p->ctx, WEIR_E_ARGUMENT, "a trace of %d CTAs; 1 to 256 are possible", ctas);
    weir_device *d = weiri_launch_device(p, desc);
    if (!d) return p->ctx->status;
    if (d->index >= 0) return trace_on(p, d, desc, ctas, out);
    int room = p->k->tensors.n + desc->nargs + 1, n = desc->nargs;
    weir_arg *args = weiri_alloc(p->ctx, sizeof *args * (size_t)room);
    weir_buffer **made = weiri_alloc(p->ctx, sizeof *made * (size_t)room);
    weir_status st = args && made ? WEIR_OK : WEIR_E_MEMORY;
    if (st == WEIR_OK) {
        if (n) memcpy(args, desc->args, sizeof *args * (size_t)n);
        st = stand_in(p, d, args, &n, made);
    }
    if (st == WEIR_OK) {
        weir_launch_desc all = *desc;
        all.args = args;
        all.nargs = n;
        st = trace_on(p, d, &all, ctas, out);
    }
    for (int i = 0; made && i < p->k->tensors.n; i++) weir_buffer_free(made[i]);
    weiri_free(p->ctx, made, sizeof *made * (size_t)room);
    weiri_free(p->ctx, args, sizeof *args * (size_t)room);
    return st;
}
