/* Pipelines against the work on them: does the type say who fills and who empties a stage (V-TYPE), are its fields the kernel's
 * (specification 3.8, 3.11: V-CWS, V-CTA)? And do all tmem_tiles fit tensor memory (V-TMEM)? */
#include "layout.h"
#include "protocol.h"
#include "tcgen05.h"
#include "validating.h"

/* ---- types -------------------------------------------------------------------------------------------------------------- */

typedef enum filler { BY_NOBODY, BY_THREADS, BY_COPIES } filler;

/* What a use puts into the stage, as far as the core knows it: of a body only that it brings bytes. */
static filler filled_by(const use *u) {
    if (u->stage != STAGE_PROD_WORK || u->operand) return BY_NOBODY;
    switch (u->op->atom) {
    case ATOM_TMA_LOAD: return BY_COPIES;
    case ATOM_STORE:
    case ATOM_CP_ASYNC: return BY_THREADS;
    case ATOM_CUSTOM: return u->op->work->tx_bytes ? BY_COPIES : BY_NOBODY;
    default: return BY_NOBODY;
    }
}

/* The first use of r that fills it so. */
static const use *first_fill(const checker *c, const weir_res *r, filler by) {
    for (int i = 0; i < c->k->tasks.n; i++)
        for (int j = 0; j < c->of[i].n; j++)
            if (c->of[i].v[j].res == r && filled_by(&c->of[i].v[j]) == by) return &c->of[i].v[j];
    return NULL;
}

/* An umma consumer's release stands for the mma that has read the stage: the first use by a task that releases and has no mma. */
static const use *reads_without_mma(const checker *c, const weir_res *r, const weiri_task **by) {
    for (int i = 0; i < c->k->tasks.n; i++) {
        const use *reads = NULL;
        bool mma = false;
        for (int j = 0; j < c->of[i].n; j++) {
            const use *u = &c->of[i].v[j];
            if (u->res != r || u->stage != STAGE_CONS_WORK) continue;
            mma |= u->op->atom == ATOM_MMA || u->op->atom == ATOM_CUSTOM; /* what a body reads by, it alone knows */
            if (!reads && u->op->atom != ATOM_READ) reads = u;
        }
        *by = c->k->tasks.v[i];
        if (reads && !mma && vd_has(&c->of[i], r, STAGE_CONS_RELEASE)) return reads;
    }
    return NULL;
}

static void wrong_type(checker *c, const weir_res *r, const use *u, const char *rule, const char *what, weir_pipe_type fits) {
    const char *given = weiri_pipe_type_name(r->pipe.given.type);
    weir_finding *f = weiri_find(c->out, rule, VD_AT_OP(u->op), "%s on '%s', whose pipeline is %s: %s", vd_written(u),
                                 vd_spelled(c, r), given, what);
    f->objects[0] = r->name;
    f->got = given;
    f->expected = weiri_pipe_type_name(fits);
    f->hint = weiri_arena_fmt(c->out->a, "pipeline = weir.pipeline.%s { stages = %d }", f->expected, r->pipe.given.stages);
    weiri_second_place(f, &r->pipe.at, "the pipeline");
}

/* The use, if any, that fills what a pipeline of this type is filled by otherwise, and why. */
static const use *wrong_fill(weir_pipe_type t, const use *threads, const use *copies, const char **why) {
    const use *either = copies ? copies : threads;
    switch (t) {
    case WEIR_ASYNC_ASYNC:
    case WEIR_ASYNC_UMMA:
    case WEIR_ASYNC_TMA: *why = "its full barrier counts arrivals of threads, and a copy brings bytes"; return copies;
    case WEIR_TMA_ASYNC:
    case WEIR_TMA_UMMA:
        *why = "its full barrier waits for bytes of copies, and here threads fill the stage";
        return copies ? NULL : threads;
    case WEIR_UMMA_ASYNC:
    case WEIR_UMMA_UMMA: *why = "its stages are what an mma leaves in a tmem_tile"; return either;
    default: *why = "its stages are the answers to a work_queue"; return either;
    }
}

static void check_type(checker *c, const weir_res *r) {
    const weir_pipe_type t = r->pipe.given.type;
    const use *threads = first_fill(c, r, BY_THREADS), *copies = first_fill(c, r, BY_COPIES);
    const weiri_task *by = NULL;
    const use *reads = weiri_read_by_mma(t) ? reads_without_mma(c, r, &by) : NULL;
    const char *why;
    const use *fills = wrong_fill(t, threads, copies, &why);
    const bool by_copies = copies || (weiri_filled_by_tma(t) && !threads), for_mma = weiri_read_by_mma(t) && !reads;
    const weir_pipe_type fits = by_copies ? for_mma ? WEIR_TMA_UMMA : WEIR_TMA_ASYNC
                                : for_mma ? WEIR_ASYNC_UMMA
                                          : WEIR_ASYNC_ASYNC;
    if (fills) wrong_type(c, r, fills, "V-TYPE-01", why, fits);
    if (!reads || t == WEIR_UMMA_UMMA) return;
    const bool tma = reads->op->atom == ATOM_TMA_STORE || reads->op->atom == ATOM_TMA_REDUCE_ADD;
    why = weiri_arena_fmt(c->out->a, "its empty barrier counts what an mma has read, and task '%s' reads it by %s", by->name,
                          tma ? "TMA" : "threads");
    wrong_type(c, r, reads, "V-TYPE-02", why, fits);
}

/* ---- fields ------------------------------------------------------------------------------------------------------------- */

/* Signaling by those that wait is for a consumer that is split: one task waits, another releases. */
static void check_wait_signaling(checker *c, const weir_res *r) {
    if (!r->pipe.given.consumer_wait_signaling) return;
    for (int t = 0; t < c->k->tasks.n; t++)
        if (vd_has(&c->of[t], r, STAGE_CONS_WAIT) && !vd_has(&c->of[t], r, STAGE_CONS_RELEASE)) return;
    weiri_find(c->out, "V-CWS-01", weiri_place_of(&r->pipe.at),
               "pipeline '%s': consumer_wait_signaling is given, but every task that waits also releases", r->name)
        ->hint = "leave it out";
}

static void check_cta_layout(checker *c, const weir_res *r) {
    const weir_cluster given = r->pipe.given.cta_layout, w = c->k->cluster;
    if (!given.v && !given.m && !given.n && !given.k) return;
    const weir_cluster l = { given.v ? given.v : 1, given.m ? given.m : 1, given.n ? given.n : 1, given.k ? given.k : 1 };
    if (l.v == w.v && l.m == w.m && l.n == w.n && l.k == w.k) return;
    weir_finding *f = weiri_find(c->out, "V-CTA-01", weiri_place_of(&r->pipe.at),
                                 "pipeline '%s' has cta_layout { %d, %d, %d, %d }, the kernel's cluster is { %d, %d, %d, %d }",
                                 r->name, l.v, l.m, l.n, l.k, w.v, w.m, w.n, w.k);
    f->objects[0] = r->name;
    f->hint = "leave it out: it is the kernel's cluster";
}

void vd_check_pipes(checker *c) {
    for (int i = 0; i < c->k->res.n; i++) {
        const weir_res *r = c->k->res.v[i];
        if (!weiri_piped(r) || r->kind == WEIR_RES_GROUP) continue;
        if (weiri_in_smem(r)) check_type(c, r);
        check_wait_signaling(c, r);
        check_cta_layout(c, r);
    }
}

/* ---- tensor memory ------------------------------------------------------------------------------------------------------ */

void vd_check_tmem(checker *c) {
    const weir_kernel *k = c->k;
    const int have = weiri_layout_capacity(k->arch).tmem_columns;
    int need = 0, wide = 0;
    const weir_res *most = NULL;
    for (int i = 0; i < k->res.n && have; i++) {
        const weir_res *r = k->res.v[i];
        if (r->kind != WEIR_RES_TMEM) continue;
        int stages = r->pipe.given.stages;
        int columns = weiri_tc_columns(k->cluster.v > 1, r->tile[0], r->tile[1]);
        need += columns * stages;
        if (!most || columns * stages > wide * most->pipe.given.stages) most = r, wide = columns;
    }
    if (need <= have || !most) return;
    weir_finding *f = weiri_find(c->out, "V-TMEM-01", weiri_place_of(&most->at),
                                 "the tmem_tiles take %d columns of tensor memory, an SM has %d ('%s' takes %d x %d)", need,
                                 have, most->name, most->pipe.given.stages, wide);
    f->objects[0] = most->name;
    f->expected = weiri_arena_fmt(c->out->a, "at most %d columns", have);
    f->got = weiri_arena_fmt(c->out->a, "%d", need);
    f->hint = "fewer stages, or narrower tiles";
}
