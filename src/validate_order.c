/* What a task must have done before: the work that reads a stage is issued before the stage is released (specification 3.7: V-DMA),
 * and what another kernel may still write is waited for (3.12: V-PDL). */
#include <string.h>

#include "protocol.h"
#include "validating.h"

/* ---- releases ----------------------------------------------------------------------------------------------------------- */

static const weiri_labels *labels_of(const checker *c, const weir_res *up, const weir_res *down) {
    for (int i = 0; i < c->k->labels.n; i++)
        if (c->k->labels.v[i].up == up && c->k->labels.v[i].down == down) return &c->k->labels.v[i];
    return NULL;
}

/* Does the edge name the work? Without labels it means every release; a release's label is the latest work on its resource. */
static bool is_meant(const weiri_labels *l, const use *latest) {
    for (int i = 0; l && i < l->n && latest; i++)
        if (strcmp(l->work[i], vd_written(latest)) == 0) return true;
    return !l;
}

static void released_early(checker *c, const weiri_task *t, const use *u, const weir_res *down) {
    weir_finding *f = weiri_find(c->out, "V-DMA-01", VD_AT_OP(u->op),
                                 "task '%s' releases '%s' before the work on '%s' that reads it is issued", t->name,
                                 vd_spelled(c, u->res), vd_spelled(c, down));
    f->objects[0] = u->res->name, f->objects[1] = down->name;
    f->hint = "release it after that work";
    vd_called_from(f, &u->op->at);
}

static void no_release_meant(checker *c, const weiri_task *t, const weiri_labels *l, const use *first, const use *latest) {
    const char *names = "";
    for (int i = 0; i < l->n; i++) names = weiri_arena_fmt(c->out->a, "%s%s%s", names, i ? ", " : "", l->work[i]);
    weir_finding *f = weiri_find(c->out, "V-DMA-02", VD_AT_OP(first->op),
                                 "task '%s': no release of '%s' follows the work that its edge to '%s' names", t->name,
                                 vd_spelled(c, l->up), vd_spelled(c, l->down));
    f->objects[0] = l->up->name, f->objects[1] = l->down->name;
    f->expected = weiri_arena_fmt(c->out->a, "a release after %s", names);
    f->got = latest ? weiri_arena_fmt(c->out->a, "releases after %s", vd_written(latest)) : "releases after no work";
    weiri_second_place(f, &l->at, "the edge");
    f->hint = "name the work that the release follows";
}

/* Work on `down` is issued between the wait for a stage of `up` and its release. Stages that another task waited for: somewhere
 * before the release. */
static void release_after_issue(checker *c, const weiri_task *t, const uses *us, const weir_res *up, const weir_res *down) {
    const weiri_labels *labels = labels_of(c, up, down);
    bool waits = false, ever_issued = false, matched = false;
    int held = 0, unissued = 0; /* stages waited for; of them, the newest that no work followed */
    const use *latest = NULL, *first_release = NULL;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res == down && u->stage == STAGE_PROD_WORK) ever_issued = true, unissued = 0;
        if (u->res != up) continue;
        if (u->stage == STAGE_CONS_WORK) latest = u;
        if (u->stage == STAGE_CONS_WAIT) held++, unissued++, waits = true;
        if (u->stage != STAGE_CONS_RELEASE) continue;
        if (!first_release) first_release = u;
        if (is_meant(labels, latest)) {
            matched = true;
            if (!(waits && held > 0 ? held > unissued : ever_issued)) {
                released_early(c, t, u, down);
                return;
            }
        }
        const int keep = u->op->keep < 0 ? held - 1 : u->op->keep;
        held = keep < 0 ? 0 : keep < held ? keep : held;
        if (unissued > held) unissued = held;
    }
    if (labels && first_release && !matched) no_release_meant(c, t, labels, first_release, latest);
}

/* A task that fills `down` and never says by what. In a fork one load is every member's. */
static bool fills_without_work(checker *c, const weiri_task *t, const uses *us, const weir_res *down) {
    const use *commit = NULL;
    const weir_res *fork = down->group && down->group->mode == WEIR_GROUP_FORK ? down->group : NULL;
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != down && !(fork && u->res->group == fork)) continue;
        if (u->stage == STAGE_PROD_WORK) return false;
        if (u->stage == STAGE_PROD_COMMIT && !commit) commit = u;
    }
    if (!commit) return true;
    weir_finding *f = weiri_find(c->out, "V-DMA-03", VD_AT_OP(commit->op), "task '%s' commits '%s' and does no work on it",
                                 t->name, vd_spelled(c, down));
    f->objects[0] = down->name;
    f->hint = "write the work that fills the stage, between acquire and commit";
    return true;
}

static bool takes_view(const weir_kernel *k, const weiri_op *op, const weir_res *r) {
    for (int i = 0; i < op->nargs; i++)
        if (op->arg[i] && weiri_view_base(k, op->arg[i]) == r) return true;
    return false;
}

/* A derived edge only says that one task touches both. Does work on `down` read `up`: take a view of it, or may a body do so? */
static bool may_read(const checker *c, const uses *us, const weir_res *up, const weir_res *down) {
    for (int i = 0; i < us->n; i++) {
        const use *u = &us->v[i];
        if (u->res != down || u->stage != STAGE_PROD_WORK || u->operand) continue;
        if (u->op->atom == ATOM_CUSTOM || takes_view(c->k, u->op, up)) return true;
    }
    return false;
}

/* The edge in a task that fills its downstream, by copies or mmas: these read on when they have been issued. */
static void check_issue(checker *c, const weiri_task *t, const uses *us, const weiri_edge *e) {
    if (fills_without_work(c, t, us, e->down)) return;
    for (int i = 0; i < e->nup; i++) {
        const weir_res *up = e->up[i];
        if (up == e->down || up->kind == WEIR_RES_QUEUE || !vd_in_src(t, up) || vd_pushes_from(c, us, up)) continue;
        if (c->graph_given || may_read(c, us, up, e->down)) release_after_issue(c, t, us, up, e->down);
    }
}

static bool is_filled_by_hardware(weir_pipe_type t) {
    return weiri_filled_by_tma(t) || weiri_filled_by_mma(t) || t == WEIR_CLC_FETCH_ASYNC;
}

void vd_check_releases(checker *c) {
    for (int i = 0; i < c->graph.n; i++) {
        const weiri_edge *e = &c->graph.v[i];
        if (!is_filled_by_hardware(e->down->pipe.given.type) || e->down->kind == WEIR_RES_QUEUE) continue;
        for (int j = 0; j < c->k->tasks.n; j++) {
            const weiri_task *t = c->k->tasks.v[j];
            if (vd_in_dst(t, e->down) && (c->graph_given || c->edge_of.v[i] == t)) check_issue(c, t, &c->of[j], e);
        }
    }
}

/* ---- the previous kernel ------------------------------------------------------------------------------------------------ */

/* Has `wait` run whenever `work` runs? It is written before, and no condition or loop stands around it alone; the first
 * iteration's guard lets the work of later ones follow. */
static bool comes_first(const use *wait, const use *work) {
    if (wait->order > work->order) return false;
    for (const weiri_node *n = wait->node->parent; n && n->parent; n = n->parent) {
        if (weiri_node_inside(work->node, n)) return true;
        if (n->kind == NODE_GUARD && n->guard == WEIR_GUARD_FIRST && weiri_node_inside(work->node, n->loop)) continue;
        return false;
    }
    return true;
}

static bool waits_on(const use *u, const weir_res *wait) { return u->res == wait && u->op->atom == ATOM_GRID_WAIT; }

static void check_wait(checker *c, const weiri_task *t, const uses *us, const weir_res *wait, const weir_res *r) {
    if (!vd_in_list(t->dst, t->ndst, r) && !(vd_in_list(t->src, t->nsrc, r) && !weiri_piped(r))) return;
    const use *work = NULL, *waited = NULL; /* the first of each */
    for (int i = us->n - 1; i >= 0; i--) {
        const use *u = &us->v[i];
        const bool works = u->stage == STAGE_CONS_WORK || u->stage == STAGE_PROD_WORK || vd_is_aux(u->stage);
        if (u->res == r && works) work = u;
        if (waits_on(u, wait)) waited = u;
    }
    if (!work) return;
    for (int i = 0; i < us->n; i++)
        if (waits_on(&us->v[i], wait) && comes_first(&us->v[i], work)) return;
    const char *how = !waited                       ? "and never waits"
                      : waited->order > work->order ? "before it waits"
                                                    : "and does not always wait";
    weir_finding *f =
        weiri_find(c->out, waited ? "V-PDL-02" : "V-PDL-01", VD_AT_OP(work->op),
                   "task '%s' touches '%s' %s on '%s' for the previous kernel", t->name, r->name, how, wait->name);
    if (waited) weiri_second_place(f, &waited->op->at, "the wait");
    f->objects[0] = r->name, f->objects[1] = wait->name;
    f->hint = weiri_arena_fmt(c->out->a, "write %s:wait_griddep() first%s", wait->name,
                              waited && waited->order < work->order ? ", outside of conditions and loops" : "");
}

void vd_check_pdl(checker *c) {
    for (int i = 0; i < c->graph.n && c->graph_given; i++) {
        const weiri_edge *e = &c->graph.v[i];
        for (int j = 0; j < e->nup; j++)
            for (int t = 0; t < c->k->tasks.n && e->up[j]->kind == WEIR_RES_PDL_WAIT; t++)
                check_wait(c, c->k->tasks.v[t], &c->of[t], e->up[j], e->down);
    }
}
