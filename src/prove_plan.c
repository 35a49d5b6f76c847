/* Before anything is run: do the plan's tables agree with each other? What is proved is the program of the actions; these are the
 * facts that it stands on: where bytes lie, who executes an action how often, what a copy's boxes bring, how registers are dealt.
 * The plan made them together; here each is worked out again from the others. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lower.h"
#include "prove.h"

typedef struct checker {
    const weiri_plan *p;
    weiri_arena *a;
    weiri_findings *f;
    int found;
} checker;

/* The finding, whose text the caller has formatted. */
static void find(checker *c, const char *rule, const weir_place *at, const char *object, const char *text, const char *expected,
                 const char *got) {
    weir_finding *o = weiri_find(c->f, rule, at, "%s", text);
    o->objects[0] = object;
    o->expected = expected;
    o->got = got;
    o->hint = "the plan contradicts itself: a fault of weir or of who changed the plan, not of the schedule";
    c->found++;
}
#define TEXT(...) weiri_arena_fmt(c->a, __VA_ARGS__)

/* ---- bytes -------------------------------------------------------------------------------------------------------------- */

static bool meet(int64_t lo, int64_t hi, int64_t lo2, int64_t hi2) { return lo < hi2 && lo2 < hi; }

static void check_bytes(checker *c) {
    const weiri_plan *p = c->p;
    int64_t bars = p->barrier_offset, bars_end = bars + 8 * (int64_t)p->nbarriers;
    if (p->smem_total > p->smem_capacity)
        find(c, "PROVE-PLAN", NULL, NULL, "the kernel takes more shared memory than there is",
             TEXT("at most %" PRId64 " bytes", p->smem_capacity), TEXT("%" PRId64 " bytes", p->smem_total));
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        int64_t end = g->offset + g->size, total = g->tmem ? p->tmem_columns : p->smem_total;
        const char *unit = g->tmem ? "columns" : "bytes";
        if (g->offset < 0 || end > total)
            find(c, "PROVE-PLAN", NULL, g->name, TEXT("'%s' ends at %" PRId64 " %s", g->name, end, unit),
                 TEXT("at most %" PRId64, total), TEXT("%" PRId64, end));
        if (g->stages * g->stage_bytes > g->size)
            find(c, "PROVE-PLAN", NULL, g->name,
                 TEXT("'%s' has %d stages of %" PRId64 " %s in %" PRId64, g->name, g->stages, g->stage_bytes, unit, g->size),
                 TEXT("at most %" PRId64, g->size), TEXT("%" PRId64, g->stages * g->stage_bytes));
        if (g->align > 0 && (g->offset % g->align || (g->stages > 1 && g->stage_bytes % g->align)))
            find(c, "PROVE-PLAN", NULL, g->name,
                 TEXT("'%s' is not aligned: stage 0 at %" PRId64 ", the next %" PRId64 " further", g->name, g->offset,
                      g->stage_bytes),
                 TEXT("multiples of %" PRId64, g->align), TEXT("%" PRId64 " and %" PRId64, g->offset, g->stage_bytes));
        const weiri_region *o = g->same_as >= 0 ? &p->smem.v[g->same_as] : g;
        if (g->offset != o->offset)
            find(c, "PROVE-PLAN", NULL, g->name, TEXT("'%s' has the storage of '%s', and begins elsewhere", g->name, o->name),
                 TEXT("%" PRId64, o->offset), TEXT("%" PRId64, g->offset));
        if (!g->tmem && p->nbarriers && meet(g->offset, end, bars, bars_end))
            find(c, "PROVE-RACE", NULL, g->name,
                 TEXT("the mbarriers lie on '%s': bytes %" PRId64 " to %" PRId64 " are both's", g->name,
                      g->offset > bars ? g->offset : bars, end < bars_end ? end : bars_end),
                 TEXT("outside %" PRId64 " to %" PRId64, g->offset, end), TEXT("%" PRId64 " to %" PRId64, bars, bars_end));
        if (!g->tmem && p->tmem_alloc && meet(g->offset, end, p->tmem_slot, p->tmem_slot + 4))
            find(c, "PROVE-RACE", NULL, g->name, TEXT("the address of tensor memory is left in '%s'", g->name), NULL, NULL);
    }
    if (p->nbarriers && (bars < 0 || bars % 8 || bars_end > p->smem_total))
        find(c, "PROVE-PLAN", NULL, NULL, TEXT("%d mbarriers at byte %" PRId64 " end at %" PRId64, p->nbarriers, bars, bars_end),
             TEXT("a multiple of 8, in %" PRId64 " bytes", p->smem_total), TEXT("%" PRId64 " to %" PRId64, bars, bars_end));
    if (p->tmem_alloc &&
        (p->tmem_columns > p->tmem_alloc || p->tmem_alloc > 512 || p->tmem_alloc < 32 || (p->tmem_alloc & (p->tmem_alloc - 1))))
        find(c, "PROVE-PLAN", NULL, NULL,
             TEXT("%d columns of tensor memory are asked for, %d are used", p->tmem_alloc, p->tmem_columns),
             "a power of two from 32 to 512, all that are used", TEXT("%d", p->tmem_alloc));
    for (int i = 0; i < p->bars.n; i++) {
        const weiri_bar *b = &p->bars.v[i];
        if (b->first < 0 || b->first + b->stages > p->nbarriers || b->offset != bars + 8 * (int64_t)b->first)
            find(c, "PROVE-PLAN", NULL, b->name,
                 TEXT("'%s' has mbarriers %d to %d of %d, at byte %" PRId64, b->name, b->first, b->first + b->stages - 1,
                      p->nbarriers, b->offset),
                 TEXT("byte %" PRId64, bars + 8 * (int64_t)b->first), TEXT("byte %" PRId64, b->offset));
        for (int j = 0; j < i; j++) {
            const weiri_bar *o = &p->bars.v[j];
            if (meet(b->first, b->first + b->stages, o->first, o->first + o->stages))
                find(c, "PROVE-COUNT", NULL, b->name,
                     TEXT("'%s' and '%s' are the same mbarrier: arrivals of both count at %d", b->name, o->name,
                          b->first > o->first ? b->first : o->first),
                     NULL, NULL);
        }
    }
}

/* ---- threads and registers ---------------------------------------------------------------------------------------------- */

static void check_threads(checker *c) {
    const weiri_plan *p = c->p;
    int nwg = p->threads / 128, sum = 0, end = 0;
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        if (t->first_warp + t->num_warps > end) end = t->first_warp + t->num_warps;
    }
    if (p->threads % 128 || p->threads < 32 * end || p->threads > 1024)
        find(c, "PROVE-PLAN", NULL, NULL, TEXT("the CTA is launched with %d threads; its tasks take %d warps", p->threads, end),
             TEXT("%d, in whole warpgroups", (end + 3) / 4 * 128), TEXT("%d", p->threads));
    bool any = false;
    for (int w = 0; w < nwg && w < 8; w++) {
        int n = p->reg_split[w];
        any = any || n;
        sum += n ? n : p->entry_registers;
        if (n && (n < 24 || n > 256 || n % 8))
            find(c, "PROVE-PLAN", NULL, NULL, TEXT("warpgroup %d asks for %d registers", w, n),
                 "a multiple of 8 from 24 to 256", TEXT("%d", n));
    }
    if (any && sum > p->entry_registers * nwg)
        find(c, "PROVE-DEADLOCK", NULL, NULL,
             TEXT("setmaxnreg.inc waits for ever: the warpgroups ask for %d registers a thread, %d are in the pool (%d at "
                  "entry x %d warpgroups)",
                  sum, p->entry_registers * nwg, p->entry_registers, nwg),
             TEXT("a sum of at most %d", p->entry_registers * nwg), TEXT("%d", sum));
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *g = &p->regs.v[i];
        int n = g->split == 'w' ? 1 : p->tasks[g->task].warpgroups;
        if ((int64_t)g->rows * g->cols * n != weiri_tile_elems(g->res))
            find(c, "PROVE-PLAN", NULL, g->res->name,
                 TEXT("'%s' has { %d, %d } in each of %d warpgroups, in all { %d, %d }", g->res->name, g->rows, g->cols, n,
                      g->res->tile[0], g->res->tile[1]),
                 TEXT("%" PRId64 " elements", weiri_tile_elems(g->res)), TEXT("%" PRId64, (int64_t)g->rows * g->cols * n));
    }
}

/* ---- named barriers ----------------------------------------------------------------------------------------------------- */

/* A named barrier is one group's: threads of two that come to the same would count for each other. 0 is __syncthreads'. */
static void check_named(checker *c) {
    const weiri_plan *p = c->p;
    for (int i = 0; i < p->named.n; i++) {
        const weiri_named *n = &p->named.v[i];
        if (n->id < 1 || n->id > 15)
            find(c, "PROVE-PLAN", NULL, NULL, TEXT("%s joins at named barrier %d", n->owner, n->id), "1 to 15", TEXT("%d", n->id));
        for (int j = 0; j < i; j++)
            if (n->id == p->named.v[j].id)
                find(c, "PROVE-PLAN", NULL, NULL,
                     TEXT("%s and %s join at the same named barrier, %d", p->named.v[j].owner, n->owner, n->id), "an id each",
                     TEXT("%d", n->id));
    }
}

/* How many threads it waits for, the run sees. */
static void check_meeting(checker *c, const weiri_action *a, const weiri_ptask *t) {
    const char *owner = a->named == 0 ? "__syncthreads" : "nobody";
    if (a->named > 0 && (a->named == t->named_wg || a->named == t->named_task)) return;
    for (int i = 0; i < c->p->named.n; i++)
        if (c->p->named.v[i].id == a->named) owner = c->p->named.v[i].owner;
    const int own = t->named_wg ? t->named_wg : t->named_task;
    find(c, "PROVE-PLAN", weiri_act_at(a), t->task->name,
         TEXT("task '%s' joins at named barrier %d, which is that of %s", t->task->name, a->named, owner), TEXT("%d", own),
         TEXT("%d", a->named));
}

/* ---- copies ------------------------------------------------------------------------------------------------------------- */

typedef struct piece { int64_t lo[6], hi[6]; } piece; /* by dimension of the tensor, elements; [5]: bytes in the stage */

static bool pieces_meet(const piece *x, const piece *y, int from, int to) {
    for (int d = from; d < to; d++)
        if (!meet(x->lo[d], x->hi[d], y->lo[d], y->hi[d])) return false;
    return true;
}

/* The boxes that all who share the copy bring, together: every element of the tile once, every byte of the stage once, each element
 * where the tile has it; and as many bytes as are counted. */
static void check_copy(checker *c, const weiri_action *act, int task) {
    const weiri_plan *p = c->p;
    const weiri_copy *y = &p->copies.v[act->copy];
    const weiri_tmap_use *m = &p->tmaps.v[y->tmap];
    weiri_view v;
    bool load = act->kind == ACT_LOAD_BULK;
    weiri_tile_geom geo;
    if (!weiri_view_of(p->k, act->op->arg[0], &v)) return; /* cover: assert: no plan copies what is no view */
    const weir_res *s = load ? act->op->res : v.res, *g = load ? v.res : act->op->res;
    if (!weiri_geom(p, s, &geo)) return; /* cover: assert: nor what lies in no region */
    const weir_place *at = weiri_act_at(act);
    if (m->tensor != g->tensor->index) {
        find(c, "PROVE-PLAN", at, g->name, TEXT("a copy of '%s' has the tensor map '%s'", g->name, m->name),
             TEXT("a map of '%s'", g->tensor->name), m->name);
        return;
    }
    int swizzle = p->smem.v[weiri_region_of(p, s)].swizzle;
    if (m->swizzle != swizzle)
        find(c, "PROVE-PLAN", at, s->name,
             TEXT("'%s' is swizzled by %d, the copies' tensor map '%s' by %d", s->name, swizzle, m->name, m->swizzle),
             TEXT("%d", swizzle), TEXT("%d", m->swizzle));
    int64_t elems = 1, size = weir_dtype_size(g->tensor->dtype);
    for (int d = 0; d < m->rank; d++) elems *= m->box[d];
    int64_t bytes = y->nbox * elems * size;
    if (act->bytes != bytes)
        find(c, load ? "PROVE-TX" : "PROVE-PLAN", at, s->name,
             TEXT("%d box%s of '%s' hold%s %" PRId64 " bytes, the action counts %" PRId64, y->nbox, y->nbox == 1 ? "" : "es",
                  m->name, y->nbox == 1 ? "s" : "", bytes, act->bytes),
             TEXT("%" PRId64 " bytes", bytes), TEXT("%" PRId64 " bytes", act->bytes));
    weir_cluster cl = p->k->cluster;
    int cm = act->targets & 1 ? cl.m : 1, cn = act->targets & 2 ? cl.n : 1;
    int slices = load && !act->first ? cm * cn : 1, parts = !load && p->tasks[task].wg_actor ? p->tasks[task].warpgroups : 1;
    int all = slices * parts * y->nbox, n = 0, wrong = -1;
    piece *x = WEIRI_NEW_N(c->a, piece, all + 1);
    for (int r = 0; r < slices; r++)
        for (int w = 0; w < parts; w++)
            for (int b = 0; b < y->nbox; b++) {
                piece *q = &x[n++];
                int64_t row = 0;
                for (int d = m->rank - 1; d >= 0; d--) {
                    q->lo[d] = y->box[b].c[d] + (d == y->slice_axis ? r * y->slice_elems : 0) +
                               (d == y->wg_axis ? w * y->wg_elems : 0);
                    q->hi[d] = q->lo[d] + m->box[d];
                    if (q->lo[d] < 0 || q->hi[d] > y->tile[d]) wrong = n - 1;
                    if (d) row = row * y->tile[d] + q->lo[d];
                }
                q->lo[5] =
                    y->box[b].offset + (y->slice_axis >= 0 ? r * y->slice_bytes : 0) + (y->wg_axis >= 0 ? w * y->wg_bytes : 0);
                q->hi[5] = q->lo[5] + elems * size;
                int64_t panel = q->lo[0] / geo.panel_cols;
                int64_t there =
                    y->base + panel * geo.panel_bytes + row * geo.row_bytes + (q->lo[0] - panel * geo.panel_cols) * geo.elem;
                if (q->lo[5] != there || q->hi[5] > geo.bytes) wrong = n - 1;
                for (int o = 0; o < n - 1; o++)
                    if (pieces_meet(q, &x[o], 0, m->rank) || pieces_meet(q, &x[o], 5, 6)) wrong = n - 1;
            }
    if (wrong >= 0)
        find(c, "PROVE-PLAN", at, s->name,
             TEXT("box %d of the %d that fill a stage of '%s' is not where the tile has it, or lies on another: column %" PRId64
                  ", bytes %" PRId64 " to %" PRId64,
                  wrong, all, s->name, x[wrong].lo[0], x[wrong].lo[5], x[wrong].hi[5]),
             NULL, NULL);
    int64_t whole = size; /* what all who share the copy are to move: a tile, or the part of it that a view names */
    for (int d = 0; d < m->rank; d++) whole *= y->tile[d];
    if (wrong < 0 && all * elems * size != whole)
        find(c, "PROVE-PLAN", at, s->name,
             TEXT("the boxes of all who fill or store a stage of '%s' are not the whole tile", s->name),
             TEXT("%" PRId64 " bytes", whole), TEXT("%" PRId64 " bytes", all * elems * size));
}

/* The pieces of a push: as many bytes as are counted, side by side, inside a stage of either end. */
static void check_push(checker *c, const weiri_action *act) {
    const weiri_plan *p = c->p;
    const weiri_push *y = &p->pushes.v[act->copy];
    const weiri_region *to = &p->smem.v[y->to], *from = &p->smem.v[y->from];
    const weir_place *at = weiri_act_at(act);
    int64_t bytes = 0;
    int wrong = -1;
    for (int i = 0; i < y->npiece; i++) {
        const weiri_piece *x = &y->piece[i];
        bytes += x->bytes;
        if (x->to < 0 || x->from < 0 || x->to + x->bytes > to->stage_bytes || x->from + x->bytes > from->stage_bytes ||
            x->bytes % 16)
            wrong = i;
        for (int j = 0; j < i; j++)
            if (meet(x->to, x->to + x->bytes, y->piece[j].to, y->piece[j].to + y->piece[j].bytes)) wrong = i;
    }
    if (bytes != act->bytes)
        find(c, "PROVE-TX", at, to->name,
             TEXT("the pieces of a push into '%s' bring %" PRId64 " bytes, the action counts %" PRId64, to->name, bytes,
                  act->bytes),
             TEXT("%" PRId64 " bytes", bytes), TEXT("%" PRId64 " bytes", act->bytes));
    if (wrong >= 0)
        find(c, "PROVE-PLAN", at, to->name,
             TEXT("piece %d of a push from '%s' into '%s' does not lie inside the stages, or on another: bytes %" PRId64
                  " to %" PRId64,
                  wrong, from->name, to->name, y->piece[wrong].to, y->piece[wrong].to + y->piece[wrong].bytes),
             NULL, NULL);
}

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

static const char *who_text(weiri_who w) {
    static const char *const text[] = {
        "every thread",        "a lane of each warp", "a thread of each warpgroup", "a thread of each warpgroup",
        "a lane of each warp", "one thread"
    }; /* ORDER WHO */
    return text[w];
}

static void check_action(checker *c, const weiri_action *a, int task) {
    const weiri_plan *p = c->p;
    const weiri_ptask *t = &p->tasks[task];
    bool arrives = a->kind == ACT_ARRIVE || a->kind == ACT_EXPECT || a->kind == ACT_CP_ARRIVE || a->kind == ACT_UMMA_COMMIT;
    if (arrives) {
        bool each = a->kind == ACT_CP_ARRIVE; /* every thread's own copies */
        int n = t->solo ? 1 : each || a->who == WHO_THREADS ? (t->wg_actor ? 128 : 32)
              : a->who == WHO_LANE || a->who == WHO_LANE_CTAS ? (t->wg_actor ? 4 : 1) : 1;
        if (a->arrivals != n)
            find(c, "PROVE-COUNT", weiri_act_at(a), p->bars.v[a->bar].name,
                 TEXT("%s of '%s' arrives at '%s', and %d is counted for a %s", who_text(a->who), t->task->name,
                      p->bars.v[a->bar].name, a->arrivals, t->wg_actor ? "warpgroup" : "warp"),
                 TEXT("%d arrival%s", n, n == 1 ? "" : "s"), TEXT("%d", a->arrivals));
    }
    if (a->kind == ACT_NAMED_SYNC) check_meeting(c, a, t);
    const bool tile = a->op && a->op->res->kind != WEIR_RES_QUEUE; /* a queue hands its next tile on without boxes */
    const bool copies = tile && (a->kind == ACT_LOAD_BULK || a->kind == ACT_STORE_BULK), pushes = tile && a->kind == ACT_PUSH_BULK;
    const int there = copies ? p->copies.n : p->pushes.n;
    if ((copies || pushes) && (a->copy < 0 || a->copy >= there))
        find(c, "PROVE-PLAN", weiri_act_at(a), a->op->res->name,
             TEXT("a copy of '%s' is number %d of %d", a->op->res->name, a->copy, there), TEXT("0 to %d", there - 1),
             TEXT("%d", a->copy));
    else if (copies) check_copy(c, a, task);
    else if (pushes) check_push(c, a);
}

static void check_list(checker *c, const weiri_pnode *n, int task) {
    const weiri_plan *p = c->p;
    bool fenced = false; /* wgmma.fence since the registers were last touched */
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            if (n->kind == PN_HELD && !p->cursors.v[n->cur].needs_held)
                find(c, "PROVE-PLAN", NULL, p->cursors.v[n->cur].name,
                     TEXT("the stages that '%s' holds decide what runs, and are not counted", p->cursors.v[n->cur].name), NULL,
                     NULL);
            check_list(c, n->first, task);
            fenced = false;
            continue;
        }
        const weiri_action *a = n->act;
        if (a->kind == ACT_MMA_FENCE) fenced = true;
        if (a->kind == ACT_BODY || a->kind == ACT_ZERO) fenced = false;
        if (a->kind == ACT_MMA && p->k->arch == WEIR_ARCH_SM_90A && !fenced)
            find(c, "PROVE-RACE", weiri_act_at(a), p->k->res.v[a->reg]->name,
                 "the mma takes registers that threads wrote, and no wgmma.fence stands in front of it", NULL, NULL);
        check_action(c, a, task);
    }
}

/* In the prologue or the epilogue, which have no blocks. */
static int count(const weiri_pnode *n, weiri_act kind) {
    int m = 0;
    for (; n; n = n->next) m += n->act->kind == kind;
    return m;
}

int weiri_prove_plan(const weiri_plan *p, weiri_arena *a, weiri_findings *f) {
    checker me = { p, a, f, 0 }, *c = &me;
    check_bytes(c);
    check_threads(c);
    check_named(c);
    for (int i = 0; i < p->cursors.n; i++) {
        const weiri_cursor *x = &p->cursors.v[i];
        if (x->held_max > 1 && !x->split_close)
            find(c, "PROVE-PLAN", NULL, x->name,
                 TEXT("'%s' holds up to %d stages, and gives back the newest", x->name, x->held_max), NULL, NULL);
    }
    check_list(c, p->prologue, 0); /* of every task: nothing in it is checked by who does it */
    for (int i = 0; i < p->ntasks; i++) check_list(c, p->tasks[i].root, i);
    check_list(c, p->epilogue, 0);
    bool alloc = p->tmem_alloc > 0;
    if (count(p->prologue, ACT_TMEM_ALLOC) != alloc || count(p->epilogue, ACT_TMEM_FREE) != alloc)
        find(c, "PROVE-PLAN", NULL, NULL, "tensor memory is not allocated once and freed once", TEXT("%d of each", alloc),
             TEXT("%d and %d", count(p->prologue, ACT_TMEM_ALLOC), count(p->epilogue, ACT_TMEM_FREE)));
    return me.found;
}
