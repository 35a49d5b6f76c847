/* Schedules to actions: the tree of a task, its moves, and the frame around all tasks (lowering.h tells the other files' parts). */
#include "lowering.h"

#include <limits.h>
#include <string.h>

#include "deal.h"
#include "plan_tc.h"

/* "task 'load': s:tma_load TEXT" */
weir_finding *lw_complain(lowering *l, const char *rule, const weiri_op *op, const char *hint, const char *text) {
    static const char *const moves[] = {
        "", "try_wait", "wait", "", "release", "", "try_acquire", "acquire", "", "commit"
    }; /* ORDER STAGE */
    const char *method = op->atom == ATOM_NONE     ? moves[op->stage]
                         : op->atom == ATOM_CUSTOM ? op->work->name
                                                   : weiri_atom_name(op->atom);
    weir_finding *f = weiri_find(&l->p->findings, rule, weiri_place_of(&op->at), "task '%s': %s:%s %s", l->pt->task->name,
                                 op->res->name, method, text);
    f->hint = hint;
    f->objects[0] = op->res->name;
    return f;
}

/* ---- rounds and cursors --------------------------------------------------------------------------------------------------- */

/* Checks one block's own ops (not nested blocks): opens of g's members must repeat one order. */
static bool round_block(round_info *r, const weiri_node *first) {
    int at = 0;
    for (const weiri_node *n = first; n; n = n->next) {
        if (n->kind != NODE_OP) {
            if (!round_block(r, n->first)) return false;
            continue;
        }
        if (n->op->stage != r->stage || n->op->group != r->group || n->op->res == r->group) continue;
        if (at < r->n) {
            if (r->order[at] != n->op->res) return false;
        } else {
            if (r->over) return false; /* a round before it had fewer */
            r->order[r->n++] = n->op->res;
        }
        at++;
        if (at == r->n) {
            /* does another member follow that we have not seen yet? */
            const weiri_node *m = n->next;
            while (m && !(m->kind == NODE_OP && m->op->stage == r->stage && m->op->group == r->group)) m = m->next;
            bool known = false;
            for (int i = 0; m && i < r->n; i++)
                if (r->order[i] == m->op->res) known = true;
            if (!m || known) at = 0, r->over = true;
        }
    }
    return at == 0;
}

static round_info *round_for(lowering *l, const weir_res *group, weiri_stage stage) {
    for (int i = 0; i < l->rounds.n; i++)
        if (l->rounds.v[i].group == group && l->rounds.v[i].stage == stage) return &l->rounds.v[i];
    round_info r = { .group = group, .stage = stage, .order = WEIRI_NEW_N(&l->p->a, const weir_res *, group->nmembers) };
    bool regular = round_block(&r, l->pt->task->root->first);
    bool tma = true;
    for (int i = 0; i < r.n; i++)
        if (r.order[i]->pipe.given.type != WEIR_TMA_ASYNC && r.order[i]->pipe.given.type != WEIR_TMA_UMMA) tma = false;
    if (stage == STAGE_PROD_ACQUIRE) r.shared = regular && r.n > 0 && (tma || group->mode == WEIR_GROUP_FORK);
    else r.shared = group->mode != WEIR_GROUP_FORK;
    if (r.n && !regular && (stage == STAGE_CONS_WAIT ? group->mode != WEIR_GROUP_FORK : group->mode == WEIR_GROUP_FORK)) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-ROUND", weiri_place_of(&l->pt->task->at),
                                     "task '%s' %s the members of group '%s' in different orders", l->pt->task->name,
                                     stage == STAGE_CONS_WAIT ? "waits for" : "acquires", group->name);
        f->hint = "take every member once, in one order, before the next round";
    }
    WEIRI_PUSH(&l->p->a, l->rounds, r);
    return &l->rounds.v[l->rounds.n - 1];
}

/* What the cursor of an op on r (seen through group g, may be NULL) walks. */
static const weir_res *cursor_res(lowering *l, const weir_res *r, bool producer) {
    if (r->kind == WEIR_RES_GROUP) return r;
    const weir_res *g = r->group;
    if (!g) return r;
    if (producer) return round_for(l, g, STAGE_PROD_ACQUIRE)->shared ? g : r;
    return g->mode == WEIR_GROUP_FORK ? r : g;
}

int lw_cursor(lowering *l, const weir_res *r, bool producer) {
    const weir_res *c = cursor_res(l, r, producer);
    for (int i = 0; i < l->cursors.n; i++)
        if (l->cursors.v[i].res == c && l->cursors.v[i].producer == producer) return l->cursors.v[i].index;
    const weir_res *bare = c->kind == WEIR_RES_GROUP ? c->members[0] : c;
    weiri_plan *p = l->p;
    const char *name = c == r && c->group ? weiri_arena_fmt(&p->a, "%s_%s", c->group->name, c->name) : c->name;
    weiri_cursor cur = { .name = name,
                         .task = l->task,
                         .pipe = weiri_pipe_of(p, bare),
                         .res = c,
                         .producer = producer,
                         .stages = bare->pipe.given.stages,
                         .tile_lanes = 1,
                         .lane = -1,
                         .stride = weiri_lanes_on(c, producer) };
    const weiri_node *lanes = weiri_lanes_of(l->pt->task);
    if (lanes && c->kind != WEIR_RES_QUEUE && weiri_side_dealt(l->k, c, producer)) {
        cur.tile_lane = lanes->lane;
        cur.tile_lanes = lanes->lanes;
    }
    WEIRI_PUSH(&p->a, p->cursors, cur);
    cursor_key key = { c, producer, p->cursors.n - 1 };
    WEIRI_PUSH(&p->a, l->cursors, key);
    return key.index;
}

bool lw_piped(const weiri_plan *p, const weiri_op *op) {
    if (op->atom != ATOM_NONE || (op->res->kind == WEIR_RES_QUEUE && !weiri_dynamic(op->res))) return false;
    const weir_res *b = op->res->kind == WEIR_RES_GROUP ? op->res->members[0] : op->res;
    return weiri_pipe_of(p, b) >= 0;
}

/* Place of a member in its round: sets first and last. Ops that are no part of a shared round are both. */
void lw_round_place(lowering *l, const weiri_op *op, bool *first, bool *last) {
    *first = *last = true;
    if (!op->res->group) return;
    round_info *r = round_for(l, op->res->group, op->stage);
    if (!r->shared) return;
    *first = r->order[0] == op->res;
    *last = r->order[r->n - 1] == op->res;
}

/* Does a commit or release move the cursor? In a shared round only the last member's does. */
bool lw_closes(lowering *l, const weiri_op *op) {
    if (!op->res->group || op->stage != STAGE_PROD_COMMIT) return true;
    round_info *r = round_for(l, op->res->group, STAGE_PROD_ACQUIRE);
    return !r->shared || r->order[r->n - 1] == op->res;
}

/* ---- building the tree ---------------------------------------------------------------------------------------------------- */

weiri_pnode *lw_append(weiri_plan *p, weiri_pnode *parent, weiri_pnode_kind kind) {
    weiri_pnode *n = WEIRI_NEW(&p->a, weiri_pnode);
    n->kind = kind;
    n->parent = parent;
    if (parent->last) parent->last->next = n;
    else parent->first = n;
    parent->last = n;
    return n;
}

weiri_action *lw_act(weiri_plan *p, weiri_pnode *parent, weiri_act kind, weiri_who who, const weiri_op *op, const char *note) {
    weiri_pnode *n = lw_append(p, parent, PN_ACTION);
    weiri_action *a = WEIRI_NEW(&p->a, weiri_action);
    n->act = a;
    a->kind = kind;
    a->who = who;
    a->bar = a->cur = a->copy = a->reg = a->pipe = -1;
    a->op = op;
    a->note = note;
    return a;
}

weiri_effect *lw_effect(lowering *l, weiri_action *a, bool write, bool async, int region, int cur, weiri_stage_ref stage,
                        int back) {
    weiri_effect *e = WEIRI_NEW_N(&l->p->a, weiri_effect, a->neff + 1);
    if (a->neff) memcpy(e, a->eff, sizeof *e * (size_t)a->neff);
    a->eff = e;
    e = &a->eff[a->neff++];
    *e =
        (weiri_effect){ .write = write, .async = async, .region = region, .reg = -1, .cur = cur, .stage = stage, .back = back };
    return e;
}

void lw_reg_effect(lowering *l, weiri_action *a, bool write, const weir_res *r) {
    weiri_effect *e = lw_effect(l, a, write, false, -1, -1, STAGE_NONE, 0);
    e->reg = r->index;
}

static int arrivals_of(const lowering *l, weiri_who who) {
    if (l->pt->solo) return 1;
    bool wg = l->pt->wg_actor;
    switch (who) {
    case WHO_THREADS: return wg ? 128 : 32;
    case WHO_LANE:
    case WHO_LANE_CTAS: return wg ? 4 : 1;
    default: return 1;
    }
}

/* The stage an op on r works on now: the one just opened, or, inside a shared round that is not yet complete, the next. */
weiri_stage_ref lw_stage(lowering *l, const weir_res *r, bool producer) {
    if (r->group) {
        round_info *ri = round_for(l, r->group, producer ? STAGE_PROD_ACQUIRE : STAGE_CONS_WAIT);
        for (int i = 0; ri->shared && i < ri->at; i++)
            if (ri->order[i] == r) return STAGE_NEXT;
    }
    int c = lw_cursor(l, r, producer);
    return l->p->cursors.v[c].held_max == 0 && l->p->cursors.v[c].split_close ? STAGE_CLOSE : STAGE_HELD;
}

/* ---- moves ----------------------------------------------------------------------------------------------------------------- */

/* May one thread of the warpgroup release while others have not yet waited? An mma takes all of them, so none may where one stands
 * behind the wait of each stage that is given back; without, a thread could miss a phase. */
static bool loose_release(const lowering *l, const weiri_op *op) {
    uint64_t held_set = l->held_in[op->id], loose = l->loose_in[op->id];
    int most = 0, least = 1;
    while (most < 40 && loose >> (most + 1)) most++;
    while (least < 40 && !(held_set >> least & 1)) least++;
    return op->keep < 0 ? most >= least : most > op->keep;
}

static int named_wg(const lowering *l) { return l->pt->named_wg; }

/* One thread goes on to arm and load; those that wait with it must not be left a phase behind. */
static void join_waiters(lowering *l, weiri_pnode *at, const weiri_op *op, bool task) {
    const char *note = "every thread has waited";
    if (task && l->pt->task->num_warps > 1 && !l->pt->lanes) {
        weiri_action *a = lw_act(l->p, at, ACT_NAMED_SYNC, WHO_THREADS, op, note);
        a->named = l->pt->named_task;
        a->threads = 32 * l->pt->task->num_warps;
    } else {
        lw_act(l->p, at, ACT_WARP_SYNC, WHO_THREADS, op, note);
    }
}

weiri_action *lw_join_warpgroup(lowering *l, weiri_pnode *at, const weiri_op *op, const char *note) {
    weiri_action *a = lw_act(l->p, at, ACT_NAMED_SYNC, WHO_THREADS, op, note);
    a->named = named_wg(l);
    a->threads = 128;
    return a;
}

const uint16_t *lw_by_rank(weiri_plan *p, const uint16_t *masks) {
    uint16_t *reach = WEIRI_NEW_N(&p->a, uint16_t, p->cluster);
    memcpy(reach, masks, sizeof *reach * (size_t)p->cluster);
    return reach;
}

static void rows(lowering *l, weiri_pnode *at, const weiri_op *op, const weir_res *bare, const weiri_row *row, int cur,
                 weiri_stage_ref stage, bool elide_wait, int64_t arm, const char *note) {
    weiri_plan *p = l->p;
    int pi = weiri_pipe_of(p, bare);
    const weiri_ppipe *pipe = &p->pipes.v[pi];
    bool joined = false, fenced = false;
    for (; row->kind != ROW_END; row++) {
        weiri_action *a = NULL;
        int bar = row->bar == ROW_FULL ? pipe->full : row->bar == ROW_EMPTY ? pipe->empty : -1;
        switch (row->kind) {
        case ROW_WAIT:
            if (elide_wait) continue;
            a = lw_act(p, at, ACT_WAIT, lw_who(l, WHO_THREADS), op, note);
            a->cta0 = row->cta0_only;
            break;
        case ROW_TC_AFTER:
        case ROW_TC_BEFORE:
            a = lw_act(p, at, row->kind == ROW_TC_AFTER ? ACT_TC_AFTER : ACT_TC_BEFORE, lw_who(l, WHO_THREADS), op, note);
            a->leader = row->leader_only;
            continue;
        case ROW_ARRIVE:
        case ROW_CP_ARRIVE:
        case ROW_UMMA_COMMIT:
            if (l->pt->wg_actor && !joined && op->stage == STAGE_CONS_RELEASE &&
                (row->who == ROW_WG || row->who == ROW_WG_CTAS) && loose_release(l, op))
                lw_join_warpgroup(l, at, op, "every thread has waited");
            if (row->kind == ROW_UMMA_COMMIT && !l->pt->solo && loose_release(l, op)) { /* work that is no mma joined nobody */
                if (l->pt->wg_actor) lw_join_warpgroup(l, at, op, "every thread has waited");
                else lw_act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, "every thread has waited");
            }
            a = lw_act(p, at,
                       row->kind == ROW_ARRIVE      ? ACT_ARRIVE
                       : row->kind == ROW_CP_ARRIVE ? ACT_CP_ARRIVE
                                                    : ACT_UMMA_COMMIT,
                       lw_who(l, (weiri_who)row->who), op, note);
            a->arrivals = arrivals_of(l, (weiri_who)row->who);
            if (row->kind == ROW_UMMA_COMMIT) { /* by the thread that issued the mmas */
                a->who = WHO_ONE;
                a->arrivals = 1;
                if (op->stage == STAGE_PROD_COMMIT) a->reg = bare->index;
            }
            a->targets = row->targets > 0 ? row->targets : 0;
            a->at0 = row->targets == WEIRI_TO_CTA0;
            a->at_leader = row->targets == WEIRI_TO_LEADER;
            a->cross = row->cross;
            if (row->by_rank) a->reach = lw_by_rank(p, l->protos[bare->index].reach);
            a->cta0 = row->cta0_only;
            break;
        case ROW_EXPECT:
            if ((!elide_wait || fenced) && !l->pt->solo) join_waiters(l, at, op, row->twl_only);
            if (arm == 0) continue; /* a fork's first member arms for all */
            a = lw_act(p, at, ACT_EXPECT, lw_who(l, WHO_ONE), op, note);
            a->targets = row->targets > 0 ? row->targets : 0;
            if (row->by_rank) a->reach = lw_by_rank(p, l->protos[bare->index].arms);
            a->cta0 = row->cta0_only;
            a->arrivals = 1;
            a->bytes = arm;
            a->twl = row->twl_only && l->pt->task->num_warps > 1;
            break;
        case ROW_FENCE_ASYNC:
            a = lw_act(p, at, ACT_FENCE_ASYNC, lw_who(l, WHO_THREADS), op, note);
            fenced = true;
            break;
        case ROW_WARP_SYNC:
            if (l->pt->solo) continue;
            a = lw_act(p, at, ACT_WARP_SYNC, WHO_THREADS, op, note);
            break;
        case ROW_WG_SYNC:
            a = lw_join_warpgroup(l, at, op, note);
            if (pipe->type == WEIR_ASYNC_TMA && pipe->full < 0 && !pipe->own) { /* it stores what other warpgroups have filled */
                a->named = weiri_task_barrier(p, l->task);
                a->threads = 32 * l->pt->task->num_warps;
            }
            joined = true;
            break;
        case ROW_BULK_WAIT:
            a = lw_act(p, at, ACT_BULK_WAIT, lw_who(l, row->who == ROW_ONE ? WHO_ONE : WHO_WG), op, note);
            a->n = 99; /* bulk_step finds the number */
            a->read = true;
            break;
        case ROW_MMA_DRAIN:
            a = lw_act(p, at, ACT_MMA_WAIT, WHO_THREADS, op, note);
            a->n = -1; /* mma_step finds out whether anything can be in flight */
            break;
        default: /* ROW_SPILL: the one commit of a fork leaves every member's sums */
            for (int i = 0; i < (op->res->kind == WEIR_RES_GROUP ? op->res->nmembers : 1); i++) {
                const weir_res *to = op->res->kind == WEIR_RES_GROUP ? op->res->members[i] : bare;
                a = lw_act(p, at, ACT_BODY, WHO_THREADS, op, note);
                a->reg = to->index;
                a->pipe = weiri_pipe_of(p, to);
                lw_reg_effect(l, a, false, to);
                lw_effect(l, a, true, false, p->pipes.v[a->pipe].region, cur, stage, 0)->deal = weiri_deal_spill(p, l->task, to);
            }
            continue;
        }
        a->bar = bar;
        a->pipe = pi;
        a->leader = row->leader_only;
        if (bar >= 0 || row->kind == ROW_BULK_WAIT) {
            a->cur = cur;
            a->stage = stage;
        }
    }
}

void lw_advance(lowering *l, weiri_pnode *at, const weiri_op *op, int cur, weiri_stage_ref which) {
    weiri_action *a = lw_act(l->p, at, ACT_ADVANCE, lw_who(l, WHO_THREADS), op, NULL);
    a->cur = cur;
    a->stage = which;
}

/* Does one arrive arm all members of a fused merge? Where one task acquires them all, in one order, and each is filled by TMA. */
bool weiri_folds(weiri_plan *p, const weir_res *g) {
    if (g->mode != WEIR_GROUP_FUSED_MERGE || !g->fold) return false;
    for (int i = 0; i < g->nmembers; i++)
        if (g->members[i]->pipe.given.type != WEIR_TMA_ASYNC && g->members[i]->pipe.given.type != WEIR_TMA_UMMA) return false;
    const weiri_task *by = NULL;
    for (int i = 0; i < p->k->tasks.n; i++) {
        const weiri_task *t = p->k->tasks.v[i];
        for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
            if (n->kind != NODE_OP || n->op->group != g || n->op->stage != STAGE_PROD_ACQUIRE) continue;
            if (by && by != t) return false;
            by = t;
        }
    }
    round_info r = { .group = g, .stage = STAGE_PROD_ACQUIRE, .order = WEIRI_NEW_N(&p->a, const weir_res *, g->nmembers) };
    return by && round_block(&r, by->root->first) && r.n == g->nmembers;
}

/* Bytes this acquire arms: the member's own; the group's sum once when folded; those of a fork when its last member is acquired,
 * as a CTA that another one loads for does nothing else before the bytes come. */
static int64_t armed(lowering *l, const weiri_op *op, bool first, bool last) {
    const weir_res *r = op->res, *g = r->group;
    const weiri_ppipe *pipe = &l->p->pipes.v[weiri_pipe_of(l->p, r)];
    if (!g) return pipe->tx;
    if (g->mode == WEIR_GROUP_FORK) return last ? l->p->bars.v[pipe->full].tx : 0;
    if (weiri_folds(l->p, g)) return first ? l->p->bars.v[pipe->full].tx : 0;
    return pipe->tx;
}

static void lower_open(lowering *l, weiri_pnode *at, const weiri_op *op) {
    bool producer = op->stage == STAGE_PROD_ACQUIRE, first, last;
    bool group = op->res->kind == WEIR_RES_GROUP; /* fused merge: wait on the group */
    const weir_res *bare = group ? op->res->members[0] : op->res;
    const weiri_proto *pr = &l->protos[bare->index];
    int cur = lw_cursor(l, op->res, producer);
    lw_round_place(l, op, &first, &last);
    bool shared_empty = bare->group && bare->group->mode != WEIR_GROUP_FORK;
    bool elide = producer && !first && shared_empty;
    weir_pipe_type type = bare->pipe.given.type;
    if (producer && pr->has_full && (type == WEIR_TMA_ASYNC || type == WEIR_TMA_UMMA) &&
        l->p->pipes.v[weiri_pipe_of(l->p, bare)].tx == 0 && !(bare->group && bare->group->mode == WEIR_GROUP_FORK))
        lw_complain(l, "PLAN-TX", op, "load the stage between acquire and commit (tma_load), or use async_async or async_umma",
                    "opens a stage that no copy fills");
    rows(l, at, op, bare, producer ? pr->acquire : pr->wait, cur, STAGE_NEXT, elide, producer ? armed(l, op, first, last) : 0,
         producer ? "acquire" : "wait");
    if (op->res->group) {
        round_info *r = round_for(l, op->res->group, op->stage);
        if (r->shared) r->at = last ? 0 : r->at + 1;
    }
    if (last) lw_advance(l, at, op, cur, STAGE_NEXT);
}

/* A plain commit or release in front of which no stage is ever held: it would be nothing, and was meant to be something. */
static void nothing_to_close(lowering *l, const weiri_op *op) {
    const char *open = op->stage == STAGE_PROD_COMMIT ? "acquire" : "wait";
    const char *close = op->stage == STAGE_PROD_COMMIT ? "commit" : "release";
    const weiri_op *before = NULL;
    const weiri_node *root = l->pt->task->root;
    for (const weiri_node *n = weiri_node_next(root, NULL); n->op != op; n = weiri_node_next(root, n))
        if (n->kind == NODE_OP && n->op->res == op->res && n->op->stage == op->stage) before = n->op;
    bool member = op->group && op->res != op->group;
    const char *name = member ? weiri_arena_fmt(&l->p->a, "%s.%s", op->group->name, op->res->name) : op->res->name;
    weir_finding *f =
        weiri_find(&l->p->findings, "V-BRK-05", weiri_place_of(&op->at),
                   "task '%s': %s on '%s' finds no stage held, whatever the lengths of loops: one %s closes one %s",
                   l->pt->task->name, close, name, close, open);
    f->objects[0] = op->res->name;
    for (int i = 0; i < op->res->nmembers && i < 3; i++) f->objects[i + 1] = op->res->members[i]->name;
    f->hint = weiri_arena_fmt(&l->p->a, "leave it out, or write %s:%s() for the stage it is to close", name, open);
    if (before) weiri_second_place(f, &before->at, weiri_arena_fmt(&l->p->a, "the %s before it", close));
}

static void lower_close(lowering *l, weiri_pnode *at, const weiri_op *op) {
    bool producer = op->stage == STAGE_PROD_COMMIT;
    const weir_res *bare = op->res->kind == WEIR_RES_GROUP ? op->res->members[0] : op->res;
    const weiri_proto *pr = &l->protos[bare->index];
    const weiri_row *row = producer ? pr->commit : pr->release;
    int cur = lw_cursor(l, op->res, producer);
    const weiri_cursor *c = &l->p->cursors.v[cur];
    bool moves = lw_closes(l, op);
    const char *note = producer ? "commit" : "release";
    weiri_stage_ref stage = STAGE_CLOSE;
    if (!moves) { /* a member of a shared round before its last: nothing but its own rows, on the stage in work */
        rows(l, at, op, bare, row, cur, lw_stage(l, op->res, producer), false, 0, note);
        return;
    }
    uint64_t in = l->held_in[op->id];
    int times = 1;
    weiri_pnode *to = at;
    if (c->held_max > 0) {
        int lo = 63, hi = 0;
        for (int h = 0; h < 63; h++)
            if (in >> h & 1) {
                if (h < lo) lo = h;
                hi = h;
            }
        if (in & LW_MANY) hi = INT_MAX;
        int keep = op->keep < 0 ? 0 : op->keep; /* the oldest of any number: only "none held" needs asking */
        if (in == 1 && op->keep < 0) nothing_to_close(l, op);
        if (hi <= keep) return;
        if (op->keep < 0) {
            if (lo == 0) {
                to = lw_append(l->p, at, PN_HELD);
                to->cur = cur;
                to->keep = 0;
                to->once = true;
            }
        } else if (lo == hi) {
            times = hi - keep;
        } else {
            to = lw_append(l->p, at, PN_HELD);
            to->cur = cur;
            to->keep = keep;
            to->once = hi == keep + 1;
        }
    } else if (op->keep > 0) {
        lw_complain(l, "PLAN-UNSUPPORTED", op, "let the task that waits release, or release without a number",
                    "keeps stages of a pipeline that this task does not open");
    }
    for (int i = 0; i < times; i++) {
        rows(l, to, op, bare, row, cur, stage, false, 0, note);
        lw_advance(l, to, op, cur, STAGE_CLOSE);
    }
}

void lw_op(lowering *l, weiri_pnode *at, const weiri_op *op) {
    if (op->atom != ATOM_NONE) lw_work(l, at, op);
    else if (!lw_piped(l->p, op)) return; /* queue moves; resources whose own rules failed */
    else if (lw_opens(op)) lower_open(l, at, op);
    else if (lw_closes_one(op)) lower_close(l, at, op);
}

/* ---- the tree -------------------------------------------------------------------------------------------------------------- */

static void lower_nodes(lowering *l, const weiri_node *n, weiri_pnode *at) {
    for (; n; n = n->next) {
        if (n->kind == NODE_OP) {
            lw_op(l, at, n->op);
            continue;
        }
        static const weiri_pnode_kind kinds[] = { PN_ACTION, PN_LOOP, PN_GUARD, PN_TILES, PN_SKIPPABLE };
        weiri_pnode *b = lw_append(l->p, at, kinds[n->kind]);
        b->src = n;
        lower_nodes(l, n->first, b);
        if (weiri_of_before(n) && n->lanes > 1) lw_check_dealt_before(l, n);
        if (n->kind == NODE_LOOP) lw_deal_loop(l, n, b);
        if (n->kind != NODE_TILES || n->lanes < 2) continue;
        weiri_pnode *skip = WEIRI_NEW(&l->p->a, weiri_pnode);
        lw_skip(l, n->first, b->first, skip);
        b->skip = skip->first;
    }
}

/* ---- prologue and exit ------------------------------------------------------------------------------------------------------- */

static weiri_pnode *list_node(weiri_plan *p) { return WEIRI_NEW(&p->a, weiri_pnode); }

/* Allocation and release touch every column of every tmem_tile. */
static void tensor_frame(weiri_plan *p, weiri_pnode *list, weiri_act kind, const char *note) {
    lowering l = { .p = p, .k = p->k };
    weiri_action *a = lw_act(p, list, kind, WHO_ONE, NULL, note);
    for (int i = 0; i < p->smem.n; i++)
        if (p->smem.v[i].tmem) lw_effect(&l, a, true, false, i, -1, STAGE_NONE, 0)->hi = p->smem.v[i].size;
}

static void frame(weiri_plan *p) {
    weiri_pnode *pro = list_node(p), *epi = list_node(p);
    if (p->nbarriers) { lw_act(p, pro, ACT_INIT, WHO_LANE, NULL, "mbarriers"); }
    if (p->tmem_columns) {
        tensor_frame(p, pro, ACT_TMEM_ALLOC, "tensor memory, its address left in shared memory");
        lw_act(p, pro, ACT_TC_BEFORE, WHO_THREADS, NULL, NULL);
        lw_act(p, epi, ACT_TC_BEFORE, WHO_THREADS, NULL, NULL);
    }
    if (p->cluster > 1) {
        /* Relaxed: fence.mbarrier_init is all that mbarriers need. The address of tensor memory is a plain store, to be
         * released. */
        lw_act(p, pro, ACT_CLUSTER_ARRIVE, WHO_THREADS, NULL, "every CTA's mbarriers are ready")->n = p->tmem_columns ? 0 : 1;
        lw_act(p, pro, ACT_CLUSTER_WAIT, WHO_THREADS, NULL, NULL);
        lw_act(p, epi, ACT_CLUSTER_ARRIVE, WHO_THREADS, NULL, "no CTA leaves while a peer may still arrive at it");
        lw_act(p, epi, ACT_CLUSTER_WAIT, WHO_THREADS, NULL, NULL);
    } else if (p->nbarriers) { /* tensor memory has some */
        lw_act(p, pro, ACT_CTA_SYNC, WHO_THREADS, NULL,
               p->tmem_columns ? "mbarriers and tensor memory are ready" : "the mbarriers are ready");
        if (p->tmem_columns) lw_act(p, epi, ACT_CTA_SYNC, WHO_THREADS, NULL, "nobody uses tensor memory any more");
    }
    if (p->tmem_columns) {
        lw_act(p, pro, ACT_TC_AFTER, WHO_THREADS, NULL, NULL);
        lw_act(p, epi, ACT_TC_AFTER, WHO_THREADS, NULL, NULL);
        tensor_frame(p, epi, ACT_TMEM_FREE, NULL);
    }
    p->prologue = pro->first;
    p->epilogue = epi->first;
}

/* The tensor core's last arrivals must find the CTA there. */
static void tensor_end(lowering *l, weiri_pnode *root) {
    const weiri_tc_end *e = &l->pt->end;
    static const struct {
        weiri_act kind;
        weiri_who who;
        const char *note;
    } step[] = { { ACT_UMMA_COMMIT, WHO_ONE, "behind all that the task has committed" },
                 { ACT_WAIT, WHO_THREADS, "its last commits have arrived" } };
    for (int i = 0; e->needed && i < 2; i++) {
        weiri_action *a = lw_act(l->p, root, step[i].kind, lw_who(l, step[i].who), NULL, step[i].note);
        a->bar = e->bar;
        a->cur = e->cur;
        a->stage = STAGE_NEXT;
        a->arrivals = i ? 0 : 1;
        a->leader = e->leader;
    }
}

/* v = 2: does nobody but the leader do anything here, beside moving cursors? */
static bool leaders_work(const weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind != PN_ACTION) {
            if (!leaders_work(n->first)) return false; /* what other lanes' tiles leave of it is no more */
        } else if (!n->act->leader && n->act->kind != ACT_ADVANCE && n->act->kind != ACT_ZERO && n->act->kind != ACT_REGS) {
            return false;
        }
    }
    return true;
}

void weiri_lower(weiri_plan *p, const weiri_proto *protos) {
    const weir_kernel *k = p->k;
    weiri_action *wg_regs[8] = { NULL };
    p->touches = WEIRI_NEW_N(&p->a, bool, k->tensors.n + 1);
    p->wide = WEIRI_NEW_N(&p->a, bool, k->tensors.n + 1);
    weiri_deal_find_own(p);
    for (int i = 0; i < k->tasks.n; i++) {
        lowering l = {
            .p = p, .k = k, .protos = protos, .task = i, .pt = &p->tasks[i], .looks_back = weiri_looks_back(p->tasks[i].task)
        };
        lw_find_held(&l);
        weiri_pnode *root = list_node(p);
        int w = l.pt->task->first_warp / 4;
        if (p->reg_split[w]) { /* one instruction for all warps of a warpgroup, so one action for its tasks */
            if (!wg_regs[w]) {
                wg_regs[w] = lw_act(p, root, ACT_REGS, WHO_THREADS, NULL, NULL);
                wg_regs[w]->n = p->reg_split[w];
            } else {
                lw_append(p, root, PN_ACTION)->act = wg_regs[w];
            }
        }
        lw_check_late(&l);
        lw_check_warp_lanes(&l);
        lower_nodes(&l, l.pt->task->root->first, root);
        if (l.stores) {
            weiri_action *a =
                lw_act(p, root, ACT_BULK_WAIT, lw_who(&l, l.pt->wg_actor ? WHO_WG : WHO_ONE), NULL, "the stores are done");
            a->n = 0;
        }
        if (l.copies) lw_act(p, root, ACT_CP_WAIT, WHO_THREADS, NULL, "the copies are done");
        tensor_end(&l, root);
        weiri_deal_join(p, i, root);
        lw_flow(&l, root);
        l.pt->root = root->first;
        l.pt->leader = weiri_tc_pair(k) && leaders_work(root->first);
    }
    frame(p);
}
