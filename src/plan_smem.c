/* Shared memory: a region for each resource whose stages lie there, and whether the kernel fits its target. */
#include <inttypes.h>

#include "layout.h"
#include "planning.h"

/* ---- regions ------------------------------------------------------------------------------------------------------------- */

/* Does a stage of r lie in shared memory? Without tensor memory a tmem_tile's does; a dynamic queue's is one response. */
static bool in_smem(const weir_kernel *k, const weir_res *r) {
    return weiri_in_smem(r) || weiri_dynamic(r) || (r->kind == WEIR_RES_TMEM && k->arch < WEIR_ARCH_SM_100A);
}

/* What a tmem_tile's stage holds: sums as f32; for the next mma the dtype of its other operand. */
static weir_dtype spilled_dtype(const weir_kernel *k, const weir_res *r) {
    if (r->pipe.given.type != WEIR_UMMA_UMMA) return WEIR_F32;
    for (int ti = 0; ti < k->tasks.n; ti++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[ti]->root, n));) {
            if (n->op->atom != ATOM_MMA) continue;
            weiri_view v[2];
            for (int i = 0; i < 2; i++) weiri_view_of(k, n->op->arg[i], &v[i]); /* of nothing, if it is held in registers */
            for (int i = 0; i < 2; i++)
                if (v[i].res == r && v[1 - i].res && v[1 - i].res != r) return v[1 - i].res->dtype;
        }
    return WEIR_BF16;
}

/* The widest swizzle that rows of so many bytes can have; the next mma reads what this one left, and takes no rows without. */
static int widest_swizzle(int row_bytes) {
    return row_bytes % 128 == 0 ? 128 : row_bytes % 64 == 0 ? 64 : row_bytes % 32 == 0 ? 32 : 0;
}

/* Work of threads, by values or in a body that says nothing else. */
static bool is_plain(const weiri_op *op) {
    return op->atom == ATOM_NONE || op->atom == ATOM_STORE || op->atom == ATOM_READ || op->atom == ATOM_LOAD ||
           (op->atom == ATOM_CUSTOM && !op->work->async_read && !op->work->tx_bytes);
}

/* Do only threads fill and read the tile, by stores and loads of values? Then its rows may have any width. Tiles that share their
 * bytes have one layout. */
static bool threads_alone(const weir_kernel *k, const weir_res *r) {
    if (r->storage) return false;
    for (int i = 0; i < k->res.n; i++)
        if (k->res.v[i]->storage == r) return false;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[t]->root, n));) {
            const weiri_op *op = n->op;
            if (is_plain(op)) continue;
            if (op->res == r) return false;
            for (int i = 0; i < op->nargs; i++)
                if (weiri_view_base(k, op->arg[i]) == r) return false;
        }
    return true;
}

static weiri_region region_of_queue(const weir_res *r) {
    const int stages = r->pipe.given.stages;
    return (weiri_region){ .res = r,
                           .name = r->name,
                           .size = 16 * (int64_t)stages,
                           .align = 16,
                           .stages = stages,
                           .stage_bytes = 16,
                           .dtype = WEIR_I32,
                           .phase = -1,
                           .same_as = -1 };
}

/* false: the tile has no layout, and that is said. */
static bool region_of_tile(weiri_plan *p, const weir_res *r, weiri_region *reg) {
    char why[256], other[256];
    weiri_tile_geom g;
    const weir_dtype dtype = r->kind == WEIR_RES_TMEM ? spilled_dtype(p->k, r) : r->dtype;
    const int swizzle = r->kind != WEIR_RES_TMEM ? r->swizzle : widest_swizzle(r->tile[1] * weir_dtype_size(dtype));
    bool fits = weiri_layout_tile(dtype, r->tile, r->rank, swizzle, r->kind == WEIR_RES_SMEM, &g, why, sizeof why);
    const bool threads = !fits && threads_alone(p->k, r);
    /* nothing new of a body's tile, which TMA does not fill either */
    if (threads) fits = weiri_layout_tile(dtype, r->tile, r->rank, swizzle, false, &g, other, sizeof other);
    if (!fits) {
        weiri_find(&p->findings, "PLAN-SWIZZLE", weiri_place_of(&r->at), "tile '%s': %s", r->name, why)->objects[0] = r->name;
        return false;
    }
    const int stages = r->pipe.given.stages > 0 ? r->pipe.given.stages : 1;
    *reg = (weiri_region){ .res = r,
                           .name = r->name,
                           .size = weiri_layout_stage_bytes(&g) * stages,
                           .align = g.align,
                           .stages = stages,
                           .stage_bytes = weiri_layout_stage_bytes(&g),
                           .dtype = dtype,
                           .swizzle = swizzle,
                           .phase = -1,
                           .same_as = -1,
                           .threads = threads };
    return true;
}

/* Regions in the storage of another are where that is. */
static void share_storage(weiri_plan *p) {
    for (int i = 0; i < p->smem.n; i++) {
        weiri_region *g = &p->smem.v[i];
        if (!g->res->storage) continue;
        g->same_as = weiri_region_of(p, g->res->storage);
        if (g->same_as >= 0) g->offset = p->smem.v[g->same_as].offset;
        else
            weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&g->res->at),
                       "'%s' shares the storage of '%s', which has none", g->name, g->res->storage->name);
    }
}

void pl_place_smem(weiri_plan *p) {
    const weir_kernel *k = p->k;
    weiri_item *item = WEIRI_NEW_N(&p->a, weiri_item, k->res.n + 1);
    int n = 0;
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *r = k->res.v[i];
        weiri_region g;
        if (!in_smem(k, r)) continue;
        if (weiri_dynamic(r)) g = region_of_queue(r);
        else if (!region_of_tile(p, r, &g)) continue;
        if (!r->storage) {
            const int alias = weiri_alias_of(k, r, &g.phase);
            item[n++] = (weiri_item){ .name = r->name, .size = g.size, .align = g.align, .group = alias, .phase = g.phase };
        }
        WEIRI_PUSH(&p->a, p->smem, g);
    }
    char why[256] = "";
    p->smem_data = weiri_layout_place(item, n, k->aliases.n, why, sizeof why);
    if (p->smem_data < 0) {
        weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&k->at), "shared memory of kernel '%s': %s", k->name, why);
        p->smem_data = 0;
    }
    for (int i = 0, at = 0; i < p->smem.n; i++)
        if (!p->smem.v[i].res->storage) p->smem.v[i].offset = item[at++].offset;
    share_storage(p);
    for (int i = 0; i < p->pipes.n; i++) p->pipes.v[i].region = weiri_region_of(p, p->pipes.v[i].res);
}

/* ---- capacity ------------------------------------------------------------------------------------------------------------ */

/* Whom "what fits" is about: the largest tile of a pipeline with stages to spare, else the largest tile. */
static const weiri_region *largest(const weiri_plan *p, int stages) {
    const weiri_region *out = NULL;
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as < 0 && g->stages >= stages && (!out || g->size > out->size)) out = g;
    }
    return out;
}

/* Is it who's, or of the same group? */
static bool goes_with(const weir_res *r, const weir_res *who) { return r == who || (who->group && r->group == who->group); }

/* Bytes of a stage of `who`, or of its whole group: of its tiles. Stages are multiples of their alignment: no bytes between tiles
 * come or go with one. */
static int64_t tile_bytes(const weiri_plan *p, const weir_res *who) {
    int64_t bytes = 0;
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].same_as < 0 && goes_with(p->smem.v[i].res, who)) bytes += p->smem.v[i].stage_bytes;
    return bytes;
}

/* ... of its mbarriers. */
static int64_t bar_bytes(const weiri_plan *p, const weir_res *who) {
    int64_t bytes = 0;
    for (int i = 0; i < p->bars.n; i++) {
        bool with = false;
        for (int j = 0; j < p->pipes.n; j++) {
            const weiri_ppipe *pipe = &p->pipes.v[j];
            with = with || ((pipe->full == i || pipe->empty == i) && goes_with(pipe->res, who));
        }
        if (with) bytes += 8;
    }
    return bytes;
}

/* "what fits": the most stages of the largest pipeline (or group) with which the kernel would fit. */
static void over_capacity(weiri_plan *p) {
    const weir_kernel *k = p->k;
    const weiri_region *spare = largest(p, 2), *big = spare ? spare : largest(p, 1);
    const weir_res *who = big ? big->res : NULL;
    const int64_t over = p->smem_total - p->smem_capacity;
    weiri_buf b;
    weiri_buf_init(&b, k->ctx);
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *g = &p->smem.v[i];
        if (g->same_as < 0) weiri_put(&b, "%s%s %d x %" PRId64, b.n ? ", " : "", g->name, g->stages, g->stage_bytes);
    }
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(who ? &who->at : &k->at),
                   "kernel '%s' needs %" PRId64 " bytes of shared memory, the target has %" PRId64 ": %" PRId64
                   " too many (%s%smbarriers %" PRId64 ")",
                   k->name, p->smem_total, p->smem_capacity, over, b.s ? b.s : "", b.n ? ", " : "", p->smem_barrier);
    weiri_buf_free(&b);
    f->expected = weiri_arena_fmt(&p->a, "at most %" PRId64 " bytes", p->smem_capacity);
    f->got = weiri_arena_fmt(&p->a, "%" PRId64 " bytes", p->smem_total);
    if (!who) return;
    const int64_t per_stage = tile_bytes(p, who), with_bars = per_stage + bar_bytes(p, who);
    const int64_t cut = (over + with_bars - 1) / with_bars;
    const int stages = who->pipe.given.stages;
    const char *name = who->group ? who->group->name : who->name;
    f->hint =
        spare && cut < stages
            ? weiri_arena_fmt(&p->a, "stages = %d of '%s' fits (%" PRId64 " bytes a stage)", stages - (int)cut, name, per_stage)
            : weiri_arena_fmt(&p->a, "not even one stage of '%s' (%" PRId64 " bytes) fits: take smaller tiles", name,
                              per_stage);
}

void pl_end_smem(weiri_plan *p) {
    enum { SYSTEM = 1024 }; /* bytes of each CTA beside its own */
    if (p->tmem_columns) {  /* 16 bytes apart from the mbarriers: the simulator watches those in pieces of 16 */
        p->tmem_slot = (p->smem_total + 15) / 16 * 16;
        p->smem_total = p->tmem_slot + 4;
    }
    p->smem_capacity = weiri_layout_capacity(p->k->arch).smem;
    if (p->smem_total > p->smem_capacity) over_capacity(p);
    const int ctas = p->k->ctas_per_sm;
    const int64_t each = p->smem_total + SYSTEM, all = p->smem_capacity + SYSTEM;
    if (ctas < 2 || each * ctas <= all) return;
    weiri_find(&p->findings, "PLAN-SMEM", weiri_place_of(&p->k->at),
               "kernel '%s': %d CTAs of %" PRId64 " bytes of shared memory do not fit an SM, which has %" PRId64, p->k->name,
               ctas, p->smem_total, all)
        ->hint = weiri_arena_fmt(&p->a, "ctas_per_sm = %" PRId64 " fits", all / each);
}
