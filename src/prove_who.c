/* Who there is in a program: an actor for each warp, warpgroup or thread of a task in each CTA; which of them executes an action,
 * and which CTAs it reaches. */
#include "plan_tc.h"
#include "proving.h"

typedef struct coords { int v, m, n, k; } coords;

static coords coords_of(const weir_cluster *c, int rank) {
    int v = c->v > 0 ? c->v : 1, m = c->m > 0 ? c->m : 1, n = c->n > 0 ? c->n : 1;
    return (coords){ rank % v, rank / v % m, rank / (v * m) % n, rank / (v * m * n) };
}

/* Axes (bits as in action.targets) along which two CTAs differ. */
static int differ(const weir_cluster *c, int x, int y) {
    coords a = coords_of(c, x), b = coords_of(c, y);
    return (a.m != b.m ? 1 : 0) | (a.n != b.n ? 2 : 0) | (a.k != b.k ? 4 : 0) | (a.v != b.v ? 8 : 0);
}

/* ---- executors ---------------------------------------------------------------------------------------------------------- */

int weiri_prog_targets(const weiri_prog *g, int cta, const weiri_action *act, int *out) {
    int n = 0;
    for (int to = 0; act->reach && to < g->nctas; to++) {
        if (act->reach[cta] >> to & 1) out[n++] = to;
    }
    if (act->reach) return n;
    out[n++] = act->at0 ? 0 : cta;
    for (int to = 0; act->targets && to < g->nctas; to++) {
        int d = differ(&g->p->k->cluster, cta, to);
        bool one = (d & 3) != 3; /* row and column only */
        if (to != cta && !(d & ~act->targets) && (!act->cross || one)) out[n++] = to;
    }
    return n;
}

int weiri_prog_leader(const weiri_prog *g, int cta) {
    int v = g->p->k->cluster.v;
    return v > 1 ? cta - cta % v : cta;
}

int weiri_prog_spots(const weiri_prog *g, int cta, const weiri_action *act, int *out) {
    int n = weiri_prog_targets(g, cta, act, out);
    for (int i = 0; act->at_leader && i < n; i++) out[i] = weiri_prog_leader(g, out[i]);
    return n;
}

/* CTAs whose bytes an effect touches: loads write at every target, an mma of two CTAs works on the halves of both. */
int weiri_prog_effect(const weiri_prog *g, const weiri_actor *me, const weiri_action *act, const weiri_effect *e, int *out) {
    if ((act->kind == ACT_LOAD_BULK || act->kind == ACT_PUSH_BULK) && e->write) return weiri_prog_targets(g, me->cta, act, out);
    out[0] = me->cta;
    if (act->kind != ACT_MMA || !weiri_tc_pair(g->p->k)) return 1;
    for (int v = 1; v < g->p->k->cluster.v; v++) out[v] = me->cta + v;
    return g->p->k->cluster.v;
}

bool weiri_prog_unwatched(const weiri_prog *g, int cta, int bar) {
    int leader = weiri_prog_leader(g, cta);
    return cta != leader && !g->bars[cta * g->nbars + bar].waiters.n && g->bars[leader * g->nbars + bar].waiters.n;
}

int weiri_prog_by(const weiri_action *act) {
    switch (act->who) {
    case WHO_THREADS: return BY_ALL;
    case WHO_LANE: case WHO_LANE_CTAS: return BY_LANE;
    case WHO_WG_CTAS: return BY_EACH; /* some other thread than the elected one */
    default: return BY_ONE;
    }
}

bool weiri_prog_runs(const weiri_prog *g, const weiri_actor *me, const weiri_action *act) {
    const weiri_ptask *t = &g->p->tasks[me->task];
    if (act->kind == ACT_INIT || act->kind == ACT_TMEM_ALLOC || act->kind == ACT_TMEM_FREE) return me->task == 0 && me->index == 0;
    if ((act->twl && me->index > 0) || (act->cta0 && me->cta > 0)) return false;
    if (act->leader && me->cta != weiri_prog_leader(g, me->cta)) return false;
    if (act->first) { /* the first CTA along the axes loads for all */
        coords c = coords_of(&g->p->k->cluster, me->cta);
        if (((act->targets & 1) && c.m) || ((act->targets & 2) && c.n)) return false;
    }
    return t->solo || act->who != WHO_ONE || me->index == 0 ||
           t->lanes; /* one of a warpgroup: only where the warpgroup is the actor (V-CNT-13) */
}

int weiri_prog_named(const weiri_prog *g, const weiri_actor *me, const weiri_action *act) {
    const weiri_ptask *t = &g->p->tasks[me->task];
    if (act->kind == ACT_CTA_SYNC) return CTA_MEETS;
    if (t->wg_actor && act->named == t->named_wg && act->threads == 128) return act->named + me->index;
    return act->named;
}

int weiri_prog_lane(const weiri_prog *g, const weiri_actor *me, int cur) {
    const weiri_cursor *c = &g->p->cursors.v[cur];
    return c->stride < 2 ? 0 : c->lane < 0 ? me->index : c->lane;
}

int weiri_prog_slot(const weiri_prog *g, int cta, int id) {
    int i = 0;
    while (i < g->named.n - 1 && g->named.v[i] != id) i++;
    return cta * g->named.n + i;
}

weiri_rec_kind weiri_prog_kind(const weiri_action *act, const weiri_effect *e) {
    if (act->kind == ACT_BODY && act->op && act->op->res->k->arch >= WEIR_ARCH_SM_100A && e->async && act->bar < 0)
        return e->write ? REC_MMA_WRITE : REC_MMA_READ; /* a body's own mmas: the commit waits for them */
    switch (act->kind) {
    case ACT_MMA: return e->write ? REC_MMA_WRITE : REC_MMA_READ;
    case ACT_STORE_BULK: return REC_BULK_READ;
    case ACT_PUSH_BULK: return e->write ? REC_LOAD : REC_PUSH_READ;
    case ACT_LOAD_BULK: return REC_LOAD;
    case ACT_CP_ASYNC: return REC_CP_WRITE;
    default:
        return !e->write                                ? REC_READ
               : act->kind == ACT_BODY && act->bar >= 0 ? REC_LOAD
                                                        : REC_WRITE; /* with a barrier: it brings bytes */
    }
}

/* ---- actors ------------------------------------------------------------------------------------------------------------- */

static bool task_on(const weiri_prog *g, int task, int cta) {
    const weiri_task *t = g->p->tasks[task].task;
    if (!t->on_cta) return true;
    coords c = coords_of(&g->p->k->cluster, cta);
    const int at[4] = { c.v, c.m, c.n, c.k };
    for (int i = 0; i < 4; i++)
        if (t->cta[i] >= 0 && t->cta[i] != at[i]) return false;
    return true;
}

void pg_place_actors(weiri_prog *g) {
    const weiri_plan *p = g->p;
    int row = 1, most = 0; /* row 0: which records stand */
    for (int t = 0; t < p->ntasks; t++) most += g->nctas * p->tasks[t].actors;
    WEIRI_ROOM(g->a, g->actors, most);
    for (int cta = 0; cta < g->nctas; cta++)
        for (int t = 0; t < p->ntasks; t++)
            for (int i = 0; i < p->tasks[t].actors; i++) {
                const weiri_ptask *pt = &p->tasks[t];
                const char *name = pt->task->name;
                if (pt->actors > 1) name = weiri_arena_fmt(g->a, "%s %s %d", name, pt->wg_actor ? "warpgroup" : "warp", i);
                if (g->nctas > 1) name = weiri_arena_fmt(g->a, "%s of CTA %d", name, cta);
                weiri_actor a = {
                    .task = t, .cta = cta, .index = i, .name = name, .threads = pt->wg_actor ? 128 : 32, .row = row
                };
                a.code = task_on(g, t, cta) && !(pt->leader && cta != weiri_prog_leader(g, cta)) ? t : p->ntasks;
                a.nrows = pt->solo ? 1 : pt->wg_actor ? 4 : 3;
                const int by[3][BY_COUNT] = { { 0, 0, 0, 0 }, { 0, 1, 2, 2 }, { 0, 1, 2, 3 } };
                memcpy(a.by, by[pt->solo ? 0 : pt->wg_actor ? 2 : 1], sizeof a.by);
                row += a.nrows;
                WEIRI_PUSH(g->a, g->actors, a); /* cover: assert: WEIRI_ROOM is for all of them */
            }
    g->nrows = row;
}

void pg_find_named(weiri_prog *g) {
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_code *c = &g->code.v[g->actors.v[i].code];
        for (int x = 0; x < c->ins.n; x++) {
            const weiri_action *a = c->ins.v[x].op == IN_ACT ? c->ins.v[x].act : NULL;
            if (!a || (a->kind != ACT_NAMED_SYNC && a->kind != ACT_CTA_SYNC)) continue;
            int id = weiri_prog_named(g, &g->actors.v[i], a);
            bool there = false;
            for (int n = 0; n < g->named.n; n++) there = there || g->named.v[n] == id;
            if (!there) WEIRI_PUSH(g->a, g->named, id);
        }
    }
}
