/* The plan as text: its tree of actions, and what each of the author's lines became. */
#include <inttypes.h>

#include "plan.h"

static const char *const act_names[ACT_COUNT] = {
    "none",          "wait",          "arrive",     "expect_tx",  "cp_async_arrive", "tcgen05_commit",
    "advance",       "bulk_issue",    "bulk_store", "bulk_push",  "bulk_commit",     "bulk_wait",
    "cp_async",      "cp_async_wait", "mma_fence",  "mma_issue",  "mma_commit",      "mma_wait",
    "fence_async",   "warp_sync",     "named_sync", "cta_sync",   "cluster_arrive",  "cluster_wait",
    "grid_wait",     "grid_launch",   "setmaxnreg", "tmem_alloc", "tmem_free",       "tcgen05_before",
    "tcgen05_after", "init",          "body",       "zero",
};

const char *weiri_act_name(weiri_act a) { return act_names[a]; }

/* ---- the tree ------------------------------------------------------------------------------------------------------------ */

static void put_action(const weiri_plan *p, const weiri_action *a, weiri_buf *b) {
    static const char *const who[] = { "threads", "lane", "warpgroup", "warpgroup-ctas", "lane-ctas", "one" };
    static const char *const stage[] = { "", "next", "held", "close" };
    weiri_put(b, "%3d %-14s", a->id, weiri_act_name(a->kind));
    if (a->bar >= 0) weiri_put(b, " %s", p->bars.v[a->bar].name);
    if (a->cur >= 0)
        weiri_put(b, " [%s %s%s]", p->cursors.v[a->cur].name, stage[a->stage],
                  a->stage == STAGE_HELD && a->back ? " back" : "");
    if (a->arrivals) weiri_put(b, " arrivals %d", a->arrivals);
    if (a->bytes) weiri_put(b, " bytes %" PRId64, a->bytes);
    if (a->targets)
        weiri_put(b, " targets %s%s%s", a->targets & 1 ? "m" : "", a->targets & 2 ? "n" : "", a->targets & 8 ? "v" : "");
    if (a->at_leader) weiri_put(b, " at the leader");
    if (a->leader) weiri_put(b, " leader only");
    if (a->first) weiri_put(b, " from the first");
    if (a->reach) weiri_put(b, " targets by rank");
    if (a->kind == ACT_MMA_WAIT || a->kind == ACT_BULK_WAIT || a->kind == ACT_REGS || a->kind == ACT_CP_WAIT)
        weiri_put(b, " %d%s", a->n, a->read ? " read" : "");
    if (a->kind == ACT_TMEM_ALLOC || a->kind == ACT_TMEM_FREE) weiri_put(b, " %d columns", p->tmem_alloc);
    if (a->named) weiri_put(b, " barrier %d (%d threads)", a->named, a->threads);
    weiri_put(b, " by %s", who[a->who]);
    if (a->note) weiri_put(b, "  -- %s", a->note);
    if (a->op && a->op->at.n) weiri_put(b, "  %s:%d", a->op->at.at[0].file, a->op->at.at[0].line);
}

/* What its body is: a loop's bounds, a guard's condition. */
static void put_block(const weiri_plan *p, const weiri_pnode *n, weiri_buf *b) {
    static const char *const guards[] = { "?", "first", "last", "every", "when", "unless", "previous tile", "last tile" };
    switch (n->kind) {
    case PN_LOOP:
        weiri_put(b, "loop ");
        weiri_value_print(p->k, n->src->start, b);
        weiri_put(b, " .. ");
        weiri_value_print(p->k, n->src->stop, b);
        if (n->deal && n->lane < 0) weiri_put(b, ", dealt to %d warps in turn", n->deal);
        else if (n->deal) weiri_put(b, ", lane %d of %d", n->lane, n->deal);
        break;
    case PN_GUARD:
        weiri_put(b, "guard %s", guards[n->src->guard]);
        if (weiri_of_before(n->src)) weiri_put(b, " of %s", n->src->queue->name);
        else if (n->src->guard >= WEIR_GUARD_TRUE) weiri_put(b, " "), weiri_value_print(p->k, n->src->of, b);
        break;
    case PN_TILES:
        weiri_put(b, "tiles of %s", n->src->queue->name);
        if (n->src->lanes > 1) weiri_put(b, ", lane %d of %d", n->src->lane, n->src->lanes);
        break;
    case PN_SKIPPABLE: weiri_put(b, "skippable"); break;
    default: /* PN_HELD */
        weiri_put(b, "%s more than %d held on %s", n->once ? "if" : "while", n->keep, p->cursors.v[n->cur].name);
        break;
    }
}

static void print_nodes(const weiri_plan *p, const weiri_pnode *n, int depth, weiri_buf *b) {
    for (; n; n = n->next) {
        weiri_put(b, "%*s", 2 * depth, "");
        if (n->kind == PN_ACTION) put_action(p, n->act, b);
        else put_block(p, n, b);
        weiri_put(b, "\n");
        print_nodes(p, n->first, depth + 1, b);
        if (n->skip) weiri_put(b, "%*stiles of other lanes\n", 2 * depth, "");
        print_nodes(p, n->skip, depth + 1, b);
    }
}

void weiri_plan_print(const weiri_plan *p, weiri_buf *b) {
    weiri_put(b, "kernel %s: %d threads, %d CTAs a cluster, %" PRId64 " bytes of shared memory\n", p->k->name, p->threads,
              p->cluster, p->smem_total);
    print_nodes(p, p->prologue, 1, b);
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_ptask *t = &p->tasks[i];
        weiri_put(b, "task %s: warps %d to %d, %s\n", t->task->name, t->task->first_warp,
                  t->task->first_warp + t->task->num_warps - 1,
                  t->solo       ? t->lanes ? "one thread of each warp" : "one thread"
                  : t->wg_actor ? "by warpgroup"
                                : "by warp");
        print_nodes(p, t->root, 1, b);
    }
    if (p->epilogue) weiri_put(b, "exit\n");
    print_nodes(p, p->epilogue, 1, b);
}

/* ---- what each line became -------------------------------------------------------------------------------------------------- */

static const char *at_whom(const weiri_action *a) {
    if (a->reach) return " of every CTA that fills the stage";
    return a->at_leader ? a->targets ? " of the leader CTA of every pair served" : " of the leader CTA"
           : a->targets ? " of every CTA served"
                        : "";
}

static void lowered_action(const weiri_plan *p, const weiri_action *a, weiri_buf *b) {
    const char *bar = a->bar >= 0 ? p->bars.v[a->bar].name : "";
    switch (a->kind) {
    case ACT_WAIT: weiri_put(b, "waits on %s", bar); return;
    case ACT_ARRIVE: {
        const weiri_bar *x = &p->bars.v[a->bar];
        weiri_put(b, "%d arrival%s on %s%s, which counts ", a->arrivals, a->arrivals == 1 ? "" : "s", bar, at_whom(a));
        if (!x->counts) weiri_put(b, "%d ", x->count);
        weiri_put(b, "(%s)", x->sum ? x->sum : ""); /* cover: memory */
        return;
    }
    case ACT_UMMA_COMMIT:
        weiri_put(b, "tcgen05.commit to %s%s, which counts %d (%s)", bar, at_whom(a), p->bars.v[a->bar].count,
                  p->bars.v[a->bar].sum ? p->bars.v[a->bar].sum : ""); /* cover: memory */
        return;
    case ACT_EXPECT:
        weiri_put(b, "arms %" PRId64 " bytes on %s%s", a->bytes, bar, a->reach ? " of the CTA that is pushed to" : "");
        return;
    case ACT_CP_ARRIVE: weiri_put(b, "%d cp.async arrivals on %s", a->arrivals, bar); return;
    case ACT_LOAD_BULK:
        weiri_put(b, "%d box%s, %" PRId64 " bytes to %s%s%s", a->copy >= 0 ? p->copies.v[a->copy].nbox : 0,
                  a->copy >= 0 && p->copies.v[a->copy].nbox == 1 ? "" : "es", a->bytes, bar, at_whom(a),
                  a->first ? ", by the first of them" : "");
        return;
    case ACT_STORE_BULK: weiri_put(b, "bulk store of %" PRId64 " bytes", a->bytes); return;
    case ACT_PUSH_BULK: weiri_put(b, "%" PRId64 " bytes to another CTA, on its %s", a->bytes, bar); return;
    case ACT_BULK_WAIT: weiri_put(b, "cp.async.bulk.wait_group%s %d", a->read ? ".read" : "", a->n); return;
    case ACT_MMA_WAIT: weiri_put(b, "wgmma.wait_group %d", a->n); return;
    case ACT_FENCE_ASYNC: weiri_put(b, "fence.proxy.async"); return;
    case ACT_WARP_SYNC: weiri_put(b, "__syncwarp"); return;
    case ACT_NAMED_SYNC: weiri_put(b, "named barrier %d, %d threads", a->named, a->threads); return;
    default: return;
    }
}

void weiri_plan_lowered(const weiri_plan *p, weiri_buf *b) {
    const weiri_op *last = NULL;
    for (int i = 1; i <= p->nactions; i++) {
        const weiri_action *a = p->action[i];
        if (!a->op || !a->op->at.n) continue;
        weiri_buf t;
        weiri_buf_init(&t, p->k->ctx);
        lowered_action(p, a, &t);
        if (t.n && a->leader) weiri_put(&t, ", in leader CTAs only");
        if (t.n) {
            if (a->op == last) weiri_put(b, "; %s", t.s);
            else
                weiri_put(b, "%s%s:%d: %s.%s: %s", last ? "\n" : "", a->op->at.at[0].file, a->op->at.at[0].line,
                          a->op->res->name, a->op->atom == ATOM_NONE ? a->note : weiri_act_name(a->kind), t.s);
            last = a->op;
        }
        weiri_buf_free(&t);
    }
    if (last) weiri_put(b, "\n");
}
