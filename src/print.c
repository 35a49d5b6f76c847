/* The plan as text and as rows: registers, shared memory, mbarriers, launch. The schedule table and the graph have files of
 * their own. */
#include "print.h"
#include "tcgen05.h"

#include <inttypes.h>
#include <stdio.h>

#include "layout.h"

/* ---- the plan to show ---------------------------------------------------------------------------------------------------- */

/* Did the kernel change since the plan was made? */
static bool is_stale(const weir_kernel *k, const weiri_plan *p) {
    return p->of.tasks != k->tasks.n || p->of.res != k->res.n || p->of.nodes != k->nnodes || p->of.aliases != k->aliases.n;
}

static bool can_plan(const weir_kernel *k) { return !k->task && !weiri_findings_errors(&k->faults); }

static void drop_plan(weir_kernel *k) {
    weiri_plan_free(k->plan);
    k->plan = NULL;
}

/* The plan of the last verify or build, else one made now. NULL: there can be none, or memory is short. */
const weiri_plan *weiri_print_plan(weir_kernel *k) {
    if (k->plan && is_stale(k, k->plan)) drop_plan(k);
    if (!k->plan && can_plan(k)) k->plan = weiri_plan_new(k);
    if (k->plan && k->plan->a.oom) drop_plan(k); /* made of scratch */
    return k->plan;
}

void weiri_print_no_plan(const weir_kernel *k, weiri_buf *b) {
    int n = weiri_findings_errors(&k->faults);
    if (k->task) weiri_put(b, "no plan: the schedule of task '%s' is still being captured\n", k->task->name);
    else weiri_put(b, "no plan: the description has %d error%s, which verify lists\n", n, n == 1 ? "" : "s");
}

static void put_line(weiri_buf *b, int width) {
    for (int i = 0; i < width; i++) weiri_put_n(b, "-", 1);
    weiri_put(b, "\n");
}

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static int round_up8(int x) { return (x + 7) / 8 * 8; }

/* ---- registers ----------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1024 }; /* 32-bit registers: a unit of what is left, as the reference counts it */

/* Registers per thread that warpgroup w has after the split. */
static int after_split(const weiri_plan *p, int w) {
    int r = w < 8 ? p->reg_split[w] : 0;
    return r ? r : round_up8(p->entry_registers);
}

static const weiri_task *task_at(const weir_kernel *k, int warp) {
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        if (warp >= t->first_warp && warp < t->first_warp + t->num_warps) return t;
    }
    return NULL;
}

static void put_register_row(const weiri_plan *p, const char *name, int first, int end, weiri_buf *b) {
    int d = round_up8(p->entry_registers), r = after_split(p, first / 4);
    char warps[32];
    snprintf(warps, sizeof warps, "[%d:%d)", first, end);
    weiri_put(b, "%-20s %-8s %5d %6d %6d %12d\n", name, warps, end - first, d, r, (end - first) * (d - r));
}

static void print_registers(const weiri_plan *p, weiri_buf *b) {
    const weir_kernel *k = p->k;
    const int pool = weiri_layout_capacity(k->arch).registers;
    int used = 0, balance = 0, d = round_up8(p->entry_registers);
    weiri_put(b, "registers of kernel %s\n", k->name);
    weiri_put(b, "%-20s %-8s %5s %6s %6s %12s\n", "task", "warps", "count", "entry", "after", "gives");
    put_line(b, 62);
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        put_register_row(p, t->name, t->first_warp, t->first_warp + t->num_warps, b);
    }
    for (int w = 0; w < p->warps;) { /* whole warpgroups are launched */
        int end = w;
        while (end < p->warps && end / 4 == w / 4 && !task_at(k, end)) end++;
        if (end > w) put_register_row(p, "(idle)", w, end, b);
        w = end > w ? end : w + 1;
    }
    put_line(b, 62);
    for (int w = 0; w < p->warps / 4; w++) {
        used += 128 * after_split(p, w);
        balance += 4 * (d - after_split(p, w));
    }
    int free_blocks = used < pool ? (pool - used) / BLOCK : 0;
    weiri_put(b, "%d of %d used, %d block%s of %d free, balance %d\n", used, pool, free_blocks, plural(free_blocks), BLOCK,
              balance);
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *r = &p->regs.v[i];
        if (!r->per_thread) continue; /* only its rows or columns are counted */
        weiri_put(b, "%s of %s: { %d, %d } %s a warpgroup, %d registers a thread\n", r->res->name, k->tasks.v[r->task]->name,
                  r->rows, r->cols, weir_dtype_name(r->res->dtype), r->per_thread);
    }
    if (k->arch < WEIR_ARCH_SM_90A) weiri_put(b, "no split: this target has no setmaxnreg\n");
}

/* ---- shared memory ------------------------------------------------------------------------------------------------------- */

/* Regions in order of offset; those at one offset in order of declaration. */
static int *by_offset(const weiri_plan *p, weiri_arena *a) {
    int *order = WEIRI_NEW_N(a, int, p->smem.n + 1);
    for (int i = 0; i < p->smem.n; i++) {
        int j = i;
        for (; j > 0 && p->smem.v[order[j - 1]].offset > p->smem.v[i].offset; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    return order;
}

/* What the phases of `alias` save, and what storage = other saves. */
static void savings(const weiri_plan *p, weiri_arena *a, int64_t *alias, int64_t *storage) {
    const weir_kernel *k = p->k;
    weiri_item *item = WEIRI_NEW_N(a, weiri_item, p->smem.n + 1);
    int n = 0;
    *storage = 0;
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as >= 0) *storage += g->size;
        if (g->same_as >= 0 || !g->res || g->tmem) continue;
        item[n] = (weiri_item){ .name = g->name, .size = g->size, .align = g->align };
        item[n].group = weiri_alias_of(k, g->res, &item[n].phase);
        n++;
    }
    *alias = weiri_layout_saved(item, n, k->aliases.n);
}

static void put_alias_groups(const weiri_plan *p, weiri_buf *b) {
    const weir_kernel *k = p->k;
    for (int g = 0; g < k->aliases.n; g++) {
        weiri_put(b, "alias group %d\n", g + 1);
        for (int f = 0; f < k->aliases.v[g].n; f++) {
            const weir_phase *phase = &k->aliases.v[g].phase[f];
            weiri_put(b, "  phase %d:", f + 1);
            for (int i = 0; i < phase->n; i++)
                for (int r = 0; r < p->smem.n; r++)
                    if (p->smem.v[r].res == phase->res[i])
                        weiri_put(b, " %s (%" PRId64 " B)", p->smem.v[r].name, p->smem.v[r].size);
            weiri_put(b, "\n");
        }
    }
}

static void put_tmem(const weiri_plan *p, const int *order, weiri_buf *b) {
    int most = weiri_layout_capacity(p->k->arch).tmem_columns;
    weiri_put(b, "\n[tmem-layout] TMEM Usage Report; sm_100a: " WEIRI_UNCHECKED "\n");
    weiri_put(b, "%-28s %8s %8s %8s  %s\n", "name", "columns", "offset", "end", "stages x columns");
    put_line(b, 78);
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[order[i]];
        if (g->tmem)
            weiri_put(b, "%-28s %8" PRId64 " %8" PRId64 " %8" PRId64 "  %d x %" PRId64 "\n", g->name, g->size, g->offset,
                      g->offset + g->size, g->stages, g->stage_bytes);
    }
    put_line(b, 78);
    weiri_put(b, "laid out %d, allocated %d of %d by warp %d, address left at byte %" PRId64 " of shared memory\n",
              p->tmem_columns, p->tmem_alloc, most, p->tmem_warp, p->tmem_slot);
}

static void print_smem(const weiri_plan *p, weiri_buf *b) {
    const weir_kernel *k = p->k;
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    int *order = by_offset(p, &a);
    weiri_put(b, "[smem-layout] SMEM Usage Report\n");
    weiri_put(b, "%-28s %8s %5s %8s %8s  %s\n", "name", "size", "align", "offset", "end", "stages x bytes");
    put_line(b, 78);
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[order[i]];
        if (g->tmem) continue;
        int phase;
        const char *star = g->res && weiri_alias_of(k, g->res, &phase) >= 0 ? "*" : "";
        const char *shares = g->same_as >= 0 ? weiri_arena_fmt(&a, " = %s", p->smem.v[g->same_as].name) : "";
        const char *name = weiri_arena_fmt(&a, "%s%s%s", g->name, star, shares);
        weiri_put(b, "%-28s %8" PRId64 " %5" PRId64 " %8" PRId64 " %8" PRId64 "  %d x %" PRId64 "\n", name, g->size, g->align,
                  g->offset, g->offset + g->size, g->stages, g->stage_bytes);
    }
    if (k->aliases.n) {
        put_line(b, 78);
        put_alias_groups(p, b);
    }
    put_line(b, 78);
    int64_t alias, storage;
    savings(p, &a, &alias, &storage);
    weiri_put(b, "data %" PRId64 " B", p->smem_data);
    if (p->smem_barrier)
        weiri_put(b, ", mbarriers %" PRId64 " B from %" PRId64 ", together %" PRId64 " B", p->smem_barrier, p->barrier_offset,
                  p->smem_data + p->smem_barrier);
    weiri_put(b, "\ntotal %" PRId64 " B of %" PRId64 ", %" PRId64 " %s\n", p->smem_total, p->smem_capacity,
              p->smem_total > p->smem_capacity ? p->smem_total - p->smem_capacity : p->smem_capacity - p->smem_total,
              p->smem_total > p->smem_capacity ? "too many" : "free");
    if (alias > 0) weiri_put(b, "saved %" PRId64 " B by phases that share bytes in time\n", alias);
    if (storage > 0) weiri_put(b, "saved %" PRId64 " B by tiles in another's storage\n", storage);
    if (p->tmem_columns) put_tmem(p, order, b);
    weiri_arena_free(&a);
}

/* Rows of one memory in order of offset; returns how many there are. */
static int layout_rows(const weiri_plan *p, weir_ctx *ctx, bool tmem, weir_layout_row *rows, int max) {
    weiri_arena a;
    weiri_arena_init(&a, ctx);
    int *order = by_offset(p, &a), n = 0;
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[order[i]];
        if (g->tmem != tmem) continue;
        if (n < max)
            rows[n] = (weir_layout_row){ .name = g->name, .offset = g->offset, .size = g->size, .align = g->align,
                                         .stage_bytes = g->stage_bytes, .stages = g->stages, .phase = g->phase };
        n++;
    }
    weiri_arena_free(&a);
    return n;
}

int weir_smem_layout(weir_kernel *k, weir_layout_row *rows, int max, int64_t *total) {
    const weiri_plan *p = weiri_print_plan(k);
    if (total) *total = p ? p->smem_total : 0;
    return p ? layout_rows(p, k->ctx, false, rows, max) : 0;
}

int weir_tmem_layout(weir_kernel *k, weir_layout_row *rows, int max, int64_t *total, int64_t *allocated) {
    const weiri_plan *p = weiri_print_plan(k);
    if (total) *total = p ? p->tmem_columns : 0;
    if (allocated) *allocated = p ? p->tmem_alloc : 0;
    return p ? layout_rows(p, k->ctx, true, rows, max) : 0;
}

/* ---- mbarriers ----------------------------------------------------------------------------------------------------------- */

/* Runs in order of their place in the kernel's one array. */
static int *by_index(const weiri_plan *p, weiri_arena *a) {
    int *order = WEIRI_NEW_N(a, int, p->bars.n + 1);
    for (int i = 0; i < p->bars.n; i++) {
        int j = i;
        for (; j > 0 && p->bars.v[order[j - 1]].first > p->bars.v[i].first; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    return order;
}

static void print_barriers(const weiri_plan *p, weiri_buf *b) {
    weiri_arena a;
    weiri_arena_init(&a, p->k->ctx);
    int *order = by_index(p, &a);
    weiri_put(b, "[barrier-layout] Barrier Usage Report\n");
    weiri_put(b, "%-28s %6s %9s %8s %8s %8s  %s\n", "name", "stages", "index", "offset", "tx bytes", "arrivals", "are");
    put_line(b, 90);
    for (int i = 0; i < p->bars.n; i++) {
        const weiri_bar *r = &p->bars.v[order[i]];
        char index[32];
        snprintf(index, sizeof index, "[%d:%d)", r->first, r->first + r->stages);
        const char *sum = r->sum && *r->sum ? r->sum : "nobody's";
        weiri_put(b, "%-28s %6d %9s %8" PRId64 " %8" PRId64 " %8d  %s%s\n", r->name, r->stages, index, r->offset, r->tx,
                  r->count, sum, r->remote ? ", other CTAs' too" : "");
    }
    put_line(b, 90);
    weiri_put(b, "%d mbarrier%s, %" PRId64 " B from offset %" PRId64 "\n", p->nbarriers, plural(p->nbarriers), p->smem_barrier,
              p->barrier_offset);
    for (int i = 0; i < p->bars.n;) { /* stretches of equal counts, which one loop initialises */
        const weiri_bar *r = &p->bars.v[order[i]];
        int end = r->first + r->stages, j = i + 1;
        for (; j < p->bars.n && !r->counts && !p->bars.v[order[j]].counts && p->bars.v[order[j]].count == r->count; j++)
            end = p->bars.v[order[j]].first + p->bars.v[order[j]].stages;
        weiri_put(b, "  [%d:%d) initialised with %d", r->first, end, r->count);
        for (int c = 1; r->counts && c < p->cluster; c++) weiri_put(b, ", %d", r->counts[c]);
        weiri_put(b, "%s\n", r->counts ? " by rank" : "");
        i = j;
    }
    for (int i = 0; i < p->named.n; i++)
        weiri_put(b, "named barrier %d: %d threads, %s\n", p->named.v[i].id, p->named.v[i].threads, p->named.v[i].owner);
    weiri_arena_free(&a);
}

int weir_barrier_layout(weir_kernel *k, weir_barrier_row *rows, int max) {
    const weiri_plan *p = weiri_print_plan(k);
    if (!p) return 0;
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    int *order = by_index(p, &a);
    for (int i = 0; i < p->bars.n && i < max; i++) {
        const weiri_bar *r = &p->bars.v[order[i]];
        rows[i] = (weir_barrier_row){ .name = r->name, .first = r->first, .stages = r->stages, .offset = r->offset,
                                      .arrivals = r->count, .tx_bytes = r->tx };
    }
    weiri_arena_free(&a);
    return p->bars.n;
}

/* ---- launch -------------------------------------------------------------------------------------------------------------- */

/* Clusters of work in the queue, as launch.c counts them. */
static void put_grid(const weiri_plan *p, weiri_buf *b) {
    const weir_res *q = p->queue;
    const weir_cluster *c = &p->k->cluster;
    const char *what = p->cluster > 1 ? "cluster" : "CTA";
    if (!q) {
        weiri_put(b, "grid: as many %ss as fit the GPU at once (no work queue)\n", what);
        return;
    }
    if (p->persistent) weiri_put(b, "grid: persistent, the smaller of what fits the GPU at once and ");
    else weiri_put(b, "grid: one %s a tile, ", what);
    for (int i = 0; i < q->qrank; i++) {
        int split = i == q->axis_m ? c->v * c->m : i == q->axis_n ? c->n : 1;
        weiri_put(b, "%s", i ? " x " : "");
        if (split > 1) weiri_put(b, "ceil_div(");
        weiri_value_print(p->k, q->extent[i].id, b);
        if (split > 1) weiri_put(b, ", %d)", split);
    }
    weiri_put(b, " %ss", what);
    if (p->cluster > 1) weiri_put(b, " of %d CTAs", p->cluster);
    weiri_put(b, "\n");
}

static const char *param_what(const weiri_plan *p, const weiri_kparam *q, weiri_arena *a) {
    const weir_kernel *k = p->k;
    switch (q->kind) {
    case KP_TMAP: {
        const weiri_tmap_use *m = &p->tmaps.v[q->index];
        weiri_buf b;
        weiri_buf_init(&b, k->ctx);
        for (int i = m->rank - 1; i >= 0; i--) weiri_put(&b, "%s%u", i < m->rank - 1 ? ", " : "", m->box[i]);
        const char *s = weiri_arena_fmt(a, "tensor map of %s, box { %s }, swizzle %d%s", k->tensors.v[m->tensor]->name,
                                        b.s ? b.s : "", m->swizzle, m->store ? ", stored to" : "");
        weiri_buf_free(&b);
        return s;
    }
    case KP_PTR: return weiri_arena_fmt(a, "address of %s", k->tensors.v[q->index]->name);
    case KP_SHAPE: return weiri_arena_fmt(a, "shape %d of %s", q->axis, k->tensors.v[q->index]->name);
    case KP_STRIDE: return weiri_arena_fmt(a, "stride %d of %s, elements", q->axis, k->tensors.v[q->index]->name);
    case KP_DIM: return weiri_arena_fmt(a, "dim %s", weiri_val(k, k->dims.v[q->index])->name);
    case KP_SCALAR: return weiri_arena_fmt(a, "scalar %s", weiri_val(k, k->scalars.v[q->index])->name);
    case KP_COUNTER: return "counter of the work queue";
    }
    return "?";
}

static void print_launch(const weiri_plan *p, weiri_buf *b) {
    const weir_kernel *k = p->k;
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    weiri_put(b, "launch of kernel %s\n", k->name);
    weiri_put(b, "block: %d threads (%d warps), 1 CTA an SM\n", p->threads, p->warps);
    if (p->cluster > 1)
        weiri_put(b, "cluster: %d CTAs (v %d, m %d, n %d, k %d)\n", p->cluster, k->cluster.v, k->cluster.m, k->cluster.n,
                  k->cluster.k);
    put_grid(p, b);
    weiri_put(b, "shared memory: %" PRId64 " B, dynamic\n", p->smem_total);
    weiri_put(b, "parameters:%s\n", p->params.n ? "" : " none");
    for (int i = 0; i < p->params.n; i++) {
        const weiri_kparam *q = &p->params.v[i];
        weiri_put(b, "  %2d %-14s %-20s %4d B  %s\n", i, q->type, q->name, q->size, param_what(p, q, &a));
    }
    weiri_arena_free(&a);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

typedef void printer(const weiri_plan *p, weiri_buf *b);

static void put_plan_part(const weir_kernel *k, const weiri_plan *p, printer *print, weiri_buf *b) {
    if (!p) {
        weiri_print_no_plan(k, b);
        return;
    }
    print(p, b);
}

const char *weir_kernel_print(weir_kernel *k, weir_print what) {
    weiri_buf *b = &k->text;
    const weiri_plan *p = what == WEIR_PRINT_SCHEDULE || what == WEIR_PRINT_CAPTURE ? k->plan : weiri_print_plan(k);
    bool ok = p || !can_plan(k) || what == WEIR_PRINT_SCHEDULE || what == WEIR_PRINT_CAPTURE;
    b->n = 0;
    b->oom = false;
    weiri_put_n(b, "", 0);
    if (p && !p->ok && what != WEIR_PRINT_SCHEDULE && what != WEIR_PRINT_CAPTURE && what != WEIR_PRINT_DOT) {
        int n = weiri_findings_errors(&p->findings);
        weiri_put(b, "the plan has %d error%s, which verify lists; what follows is incomplete\n", n, plural(n));
    }
    switch (what) {
    case WEIR_PRINT_SCHEDULE: ok = weiri_print_schedule(k, b) && ok; break;
    case WEIR_PRINT_REGISTERS: put_plan_part(k, p, print_registers, b); break;
    case WEIR_PRINT_SMEM: put_plan_part(k, p, print_smem, b); break;
    case WEIR_PRINT_BARRIERS: put_plan_part(k, p, print_barriers, b); break;
    case WEIR_PRINT_LAUNCH: put_plan_part(k, p, print_launch, b); break;
    case WEIR_PRINT_PLAN: put_plan_part(k, p, weiri_plan_print, b); break;
    case WEIR_PRINT_CAPTURE: weiri_capture_print(k, b); break;
    case WEIR_PRINT_DOT: ok = weiri_print_dot(k, p, b) && ok; break;
    case WEIR_PRINT_ALL: {
        printer *const parts[] = { print_registers, print_smem, print_barriers, print_launch };
        ok = weiri_print_schedule(k, b) && ok;
        for (size_t i = 0; i < sizeof parts / sizeof *parts && (p || !i); i++) {
            weiri_put(b, "\n");
            put_plan_part(k, p, parts[i], b);
        }
        break;
    }
    }
    if (ok && !b->oom && b->s) return b->s;
    weiri_fail(k->ctx, WEIR_E_MEMORY, "out of memory while printing kernel '%s'", k->name);
    return NULL;
}
