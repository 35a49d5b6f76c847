/* Layouts by hand: bytes, columns and mbarriers placed by the functions that the plan itself uses. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "mem.h"

static weir_status same_name(weir_ctx *ctx, const char *a, const char *b) {
    return a && b && !strcmp(a, b) ? weiri_fail(ctx, WEIR_E_ARGUMENT, "'%s' is added twice", a) : WEIR_OK;
}

weir_status weir_place_records(weir_ctx *ctx, const weir_place_desc *d, weir_placed *out) {
    *out = (weir_placed){ 0 };
    char why[256];
    int groups = 0;
    weir_status st = WEIR_OK;
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < i && st == WEIR_OK; j++) st = same_name(ctx, d->records[i].name, d->records[j].name);
    if (st != WEIR_OK) return st;
    weiri_item *item = weiri_alloc(ctx, sizeof *item * (size_t)(d->n + 1));
    if (!item) return WEIR_E_MEMORY; /* cover: memory */
    for (int i = 0; i < d->n; i++) {
        const weir_place_record *r = &d->records[i];
        item[i] = (weiri_item){ r->name ? r->name : "",       r->size, r->align ? r->align : 1, r->alias - 1,
                                r->alias ? r->phase - 1 : -1, 0 };
        if (r->alias > groups) groups = r->alias;
    }
    weiri_capacity c = weiri_layout_capacity(d->arch ? d->arch : WEIR_ARCH_SM_90A);
    out->capacity = d->tmem ? c.tmem_columns : c.smem;
    out->total = weiri_layout_place(item, d->n, groups, why, sizeof why);
    if (out->total < 0) st = weiri_fail(ctx, WEIR_E_ARGUMENT, "%s", why);
    else {
        out->saved = weiri_layout_saved(item, d->n, groups);
        out->allocated = d->tmem ? weiri_layout_tmem_columns((int)out->total) : out->total;
        for (int i = 0; i < d->n; i++) d->records[i].offset = item[i].offset;
        out->barrier_offset = weiri_layout_array(out->total, d->mbarriers, &out->end);
        if (out->end > out->capacity)
            st =
                weiri_fail(ctx, WEIR_E_ARGUMENT, "the layout takes %" PRId64 " %s, there are %" PRId64 ": %" PRId64 " too many",
                           out->end, d->tmem ? "columns of tensor memory" : "bytes of shared memory", out->capacity,
                           out->end - out->capacity);
    }
    weiri_free(ctx, item, sizeof *item * (size_t)(d->n + 1));
    return st;
}

weir_status weir_tile_bytes(weir_ctx *ctx, const weir_tile_desc *d, int64_t *bytes, int64_t *align) {
    weiri_tile_geom g;
    char why[256];
    if (!weiri_layout_tile(d->dtype, d->tile, d->rank, d->swizzle, !d->threads, &g, why, sizeof why))
        return weiri_fail(ctx, WEIR_E_ARGUMENT, "%s", why);
    if (d->stages < 0) return weiri_fail(ctx, WEIR_E_ARGUMENT, "stages = %d; at least 1", d->stages);
    int stages = d->stages > 0 ? d->stages : 1;
    *align = g.align;
    *bytes = stages > 1 ? weiri_layout_stage_bytes(&g) * stages : g.bytes;
    return WEIR_OK;
}

weir_status weir_place_barriers(weir_ctx *ctx, weir_barrier_record *r, int n, weir_barrier_run *runs, int *nruns, int *used) {
    weir_status st = WEIR_OK;
    for (int i = 0; i < n && st == WEIR_OK; i++) {
        for (int j = 0; j < i && st == WEIR_OK; j++) st = same_name(ctx, r[i].name, r[j].name);
        if (st == WEIR_OK && (r[i].count < 1 || r[i].arrivals < 1))
            st = weiri_fail(ctx, WEIR_E_ARGUMENT, "'%s' has %d mbarriers of %d arrivals; both are at least 1",
                            r[i].name ? r[i].name : "", r[i].count, r[i].arrivals);
    }
    if (st != WEIR_OK) return st;
    weiri_bar_item *item = weiri_alloc(ctx, sizeof *item * (size_t)(n + 1));
    weiri_bar_run *run = weiri_alloc(ctx, sizeof *run * (size_t)(n + 1));
    if (item && run) { /* cover: memory */
        for (int i = 0; i < n; i++) item[i] = (weiri_bar_item){ r[i].name, r[i].count, r[i].arrivals, 0 };
        *used = weiri_layout_barriers(item, n, run, nruns);
        for (int i = 0; i < n; i++) r[i].first = item[i].first;
        for (int i = 0; i < *nruns; i++) runs[i] = (weir_barrier_run){ run[i].begin, run[i].end, run[i].arrivals };
    } else st = WEIR_E_MEMORY;
    if (run) weiri_free(ctx, run, sizeof *run * (size_t)(n + 1));    /* cover: memory */
    if (item) weiri_free(ctx, item, sizeof *item * (size_t)(n + 1)); /* cover: memory */
    return st;
}

int weir_barrier_records(const weir_barrier_set *s, weir_barrier_record *out) {
    int n = 0, full = 0, empty = 0;
    for (int i = 0; i < s->n; i++) {
        full += s->mode == WEIR_GROUP_FUSED_MERGE ? s->members[i].producers : 0;
        empty = s->members[i].consumers; /* of a merge and a fused merge every member's is the group's */
    }
    const bool fork = s->mode == WEIR_GROUP_FORK, fused = s->mode == WEIR_GROUP_FUSED_MERGE;
    for (int i = 1; i < s->n; i++)
        if (fork ? s->members[i].producers != s->members[0].producers : s->members[i].consumers != s->members[0].consumers)
            return -1;
    for (int side = 0; side < 2; side++) {
        bool shared = side ? !fork : fork || fused;
        if (s->mode == WEIR_GROUP_DEFAULT) shared = false;
        for (int i = 0; i < (shared ? 1 : s->n); i++) {
            weir_barrier_record *r = &out[n++];
            *r = (weir_barrier_record){ .count = s->stages,
                                        .arrivals = shared ? (side    ? empty
                                                              : fused ? full
                                                                      : s->members[0].producers)
                                                    : side ? s->members[i].consumers
                                                           : s->members[i].producers };
            snprintf(r->text, sizeof r->text, "%s%s%s_%s", s->name, shared || s->mode == WEIR_GROUP_DEFAULT ? "" : "_",
                     shared || s->mode == WEIR_GROUP_DEFAULT ? "" : s->members[i].name, side ? "empty" : "full");
            r->name = r->text;
        }
    }
    return n;
}
