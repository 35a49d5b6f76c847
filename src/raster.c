/* A raster of the author's own must give each number of a tile a tile of its own: it is run for sizes that a launch may have. */
#include "raster.h"

#include <string.h>

enum { MOST_NUMBERS = 8000, MOST_TILES = 2048, MOST_FIXED = 1 << 16, MOST_SIZES = 2000, FEW_SIZES = 200 };

/* Tiles along an axis, in clusters: what the raster is given. */
static bool extent_of(weiri_env *e, const weir_res *q, int axis, int64_t *out) {
    const weir_cluster *c = &e->k->cluster;
    int per = axis == q->axis_m ? c->v * c->m : axis == q->axis_n ? c->n : 1;
    if (!weiri_range_number(e, q->extent[axis].id, out)) return false;
    *out = *out > 0 ? (*out + per - 1) / per : 0;
    return true;
}

/* All numbers of one size; false: some coordinate cannot be computed. `owner` has room for most + 1 tiles. */
static bool walk(const weiri_env *of, const weir_res *q, int64_t tiles, int64_t *owner, weiri_raster *r) {
    weiri_env e = *of;
    int64_t i, x;
    e.qindex = &i;
    for (i = 0; i < tiles; i++) owner[i] = -1;
    for (i = 0; i < tiles; i++) {
        int64_t at = 0;
        e.memo->number++;
        r->bad_axis = -1;
        for (int a = 0; a < q->qrank; a++) {
            if (!weiri_range_number(&e, q->raster_coord[a].id, &x)) return false;
            if (r->bad_axis < 0 && (x < 0 || x >= r->extent[a])) r->bad_axis = a;
            r->coord[a] = x;
            at = at * r->extent[a] + x;
        }
        r->i = i;
        if (r->bad_axis >= 0) return r->found = true;
        if (owner[at] >= 0) {
            r->j = i;
            r->i = owner[at];
            return r->found = true;
        }
        owner[at] = i;
    }
    return true;
}

/* Marks what the raster is made of; is it nothing that a launch decides? */
static bool look(const weir_kernel *k, const weir_res *q, weiri_raster *r, weiri_arena *a) {
    r->dim_used = WEIRI_NEW_N(a, bool, k->dims.n + 1);
    r->scalar_used = WEIRI_NEW_N(a, bool, k->scalars.n + 1);
    for (int i = 0; i < q->qrank; i++) {
        weiri_range_used(k, q->extent[i].id, r->dim_used, r->scalar_used);
        weiri_range_used(k, q->raster_coord[i].id, r->dim_used, r->scalar_used);
    }
    bool fixed = true;
    for (int i = 0; i < k->dims.n; i++) fixed = fixed && !r->dim_used[i];
    for (int i = 0; i < k->scalars.n; i++) fixed = fixed && !r->scalar_used[i];
    return fixed;
}

bool weiri_raster_certain(const weir_kernel *k, const weir_res *q, weiri_arena *a) {
    weiri_raster r;
    return look(k, q, &r, a) && weiri_raster_try(k, q, a).all;
}

weiri_raster weiri_raster_try(const weir_kernel *k, const weir_res *q, weiri_arena *a) {
    weiri_raster r = { .bad_axis = -1 };
    weiri_sampler tries = weiri_sampler_new(k);
    r.dims = WEIRI_NEW_N(a, int64_t, k->dims.n + 1);
    r.scalars = WEIRI_NEW_N(a, double, k->scalars.n + 1);
    const bool fixed = look(k, q, &r, a);
    int most = fixed ? MOST_FIXED : MOST_TILES;
    int64_t *owner = WEIRI_NEW_N(a, int64_t, most);
    int64_t *last = WEIRI_NEW_N(a, int64_t, k->dims.n + 1);
    weiri_memo memo = { .all = 0 };
    weiri_env e = { .k = k, .dims = r.dims, .scalars = r.scalars, .cta = -1, .memo = &memo };
    for (int i = 0; i < q->qrank; i++) {
        weiri_memo_add(&memo, k, a, q->extent[i].id);
        weiri_memo_add(&memo, k, a, q->raster_coord[i].id);
    }
    int64_t numbers = 0;
    for (int attempt = 0; attempt < MOST_SIZES && (r.sizes || attempt < FEW_SIZES) && numbers < MOST_NUMBERS; attempt++) {
        weiri_sampler_next(&tries, r.dims, r.scalars);
        if (attempt && !k->scalars.n && !memcmp(last, r.dims, sizeof *last * (size_t)k->dims.n)) continue;
        memcpy(last, r.dims, sizeof *last * (size_t)k->dims.n);
        memo.all++, memo.number++;
        bool allowed = weiri_range_allowed(&e);
        int64_t tiles = 1;
        for (int i = 0; i < q->qrank && allowed; i++) {
            allowed = extent_of(&e, q, i, &r.extent[i]) && r.extent[i] <= most;
            tiles = allowed ? tiles * r.extent[i] : 0;
            allowed = allowed && tiles <= most;
        }
        if (!allowed || tiles < 1) continue;
        numbers += tiles * q->qrank;
        if (!walk(&e, q, tiles, owner, &r)) continue;
        if (r.found) return r;
        r.sizes++;
        if (fixed) {
            r.all = true;
            return r;
        }
    }
    return r;
}
