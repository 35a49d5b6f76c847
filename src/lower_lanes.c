/* Lanes: tasks, or warps of one, that take stages or work tiles in turn. */
#include "lowering.h"

#include <string.h>

/* ---- lanes of the stages ---------------------------------------------------------------------------------------------------- */

int weiri_lanes_on(const weir_res *r, bool producer) {
    const int *q = (r->kind == WEIR_RES_GROUP ? r->members[0] : r)->pipe.given.interleave + (producer ? 0 : 2);
    int n = q[0] > q[1] ? q[0] : q[1];
    return n > 1 ? n : 1;
}

int weiri_warp_lanes(const weiri_task *t) {
    for (const weiri_node *n = weiri_node_next(t->root, NULL); n; n = weiri_node_next(t->root, n)) {
        if (n->kind != NODE_OP || n->op->atom != ATOM_NONE || n->op->res->kind == WEIR_RES_QUEUE) continue;
        int q = weiri_lanes_on(n->op->res, lw_is_producer(n->op->stage));
        if (q > 1 && q == t->num_warps) return q;
    }
    return 0;
}

int weiri_loop_lane(const weir_kernel *k, const weiri_task *t, const weiri_node *loop, int lanes) {
    int64_t start, step;
    if (lanes < 2 || t->num_warps == lanes || loop->kind != NODE_LOOP || !weiri_value_const(k, loop->start, &start) ||
        !weiri_value_const(k, loop->step, &step) || step != lanes)
        return -1;
    return (int)((start % lanes + lanes) % lanes);
}

/* An op on stages that lanes take in turn. */
static bool dealt_op(lowering *l, const weiri_node *n) {
    return n->kind == NODE_OP && lw_piped(l->p, n->op) && weiri_lanes_on(n->op->res, lw_is_producer(n->op->stage)) > 1;
}

static bool dealt_inside(lowering *l, const weiri_node *loop) {
    for (const weiri_node *n = weiri_node_next(loop, NULL); n; n = weiri_node_next(loop, n))
        if (dealt_op(l, n)) return true;
    return false;
}

/* A loop whose body opens or closes stages that lanes take in turn: its iterations are dealt likewise. */
void lw_deal_loop(lowering *l, const weiri_node *n, weiri_pnode *b) {
    const weiri_task *t = l->pt->task;
    for (const weiri_node *x = weiri_node_next(n, NULL); x; x = weiri_node_next(n, x)) {
        const weiri_node *loop = x->parent;
        while (loop->kind != NODE_LOOP) loop = loop->parent;
        if (loop != n || !dealt_op(l, x)) continue;
        int q = weiri_lanes_on(x->op->res, lw_is_producer(x->op->stage));
        int lane = q == t->num_warps ? -1 : weiri_loop_lane(l->k, t, n, q);
        if (lane < 0 && q != t->num_warps) { /* V-ILV-06 names tasks that have no lane at all */
            lw_complain(l, "PLAN-UNSUPPORTED", x->op, "start the loop at the lane and step by the number of lanes",
                        "stands in a loop that is no lane of its stages");
            return;
        }
        if (b->deal && b->deal != q) {
            lw_complain(l, "PLAN-UNSUPPORTED", x->op, "give the pipelines of the loop one interleave",
                        "is dealt differently from others in its loop");
            return;
        }
        b->deal = q;
        b->lane = lane;
        weiri_cursor *c = &l->p->cursors.v[lw_cursor(l, x->op->res, lw_is_producer(x->op->stage))];
        if (c->lane >= 0 && c->lane != lane) {
            lw_complain(l, "PLAN-UNSUPPORTED", x->op, "a task per lane", "takes another lane of its stages than a loop before");
            return;
        }
        c->lane = lane;
    }
}

/* Warps that go their own ways share nothing else: other stages, whatever one thread of the task would do, registers. */
void lw_check_warp_lanes(lowering *l) {
    const weiri_node *root = l->pt->task->root;
    for (int i = 0; i < l->p->findings.list.n; i++)
        if (!strncmp(l->p->findings.list.v[i].rule, "V-ILV-", 6)) return; /* such lanes there should not be */
    for (const weiri_node *n = weiri_node_next(root, NULL); n && l->pt->lanes; n = weiri_node_next(root, n)) {
        if (n->kind != NODE_OP || n->op->res->kind == WEIR_RES_QUEUE || n->op->atom == ATOM_GRID_WAIT ||
            n->op->atom == ATOM_GRID_LAUNCH)
            continue;
        const weiri_node *loop = n->parent;
        while (loop && loop->kind != NODE_LOOP) loop = loop->parent;
        bool in = loop && dealt_inside(l, loop);
        if (in && (n->op->atom != ATOM_NONE || dealt_op(l, n) || !lw_piped(l->p, n->op))) continue;
        lw_complain(l, "PLAN-UNSUPPORTED", n->op,
                    "a task per lane, whose loop starts at the lane and steps by the number of lanes",
                    in ? "takes stages that are not dealt, in a loop that is dealt to the task's warps"
                       : "stands outside the loop that is dealt to the task's warps, each of which goes its own way");
        return;
    }
}

/* ---- lanes of the work tiles ------------------------------------------------------------------------------------------------ */

const weiri_node *weiri_lanes_of(const weiri_task *t) {
    const weiri_node *tiles = weiri_tile_loop(t);
    return tiles && tiles->lanes > 1 ? tiles : NULL;
}

static bool within(const weir_res *r, const weir_res *group) {
    for (int i = 0; group->kind == WEIR_RES_GROUP && i < group->nmembers; i++)
        if (group->members[i] == r) return true;
    return r == group;
}

bool weiri_side_dealt(const weir_kernel *k, const weir_res *r, bool producer) {
    int lane = -1;
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_node *tiles = weiri_lanes_of(k->tasks.v[i]);
        for (const weiri_node *n = tiles ? weiri_node_next(tiles, NULL) : NULL; n; n = weiri_node_next(tiles, n)) {
            if (n->kind != NODE_OP || n->op->atom != ATOM_NONE) continue;
            if (lw_is_producer(n->op->stage) != producer || !(within(n->op->res, r) || within(r, n->op->res))) continue;
            if (lane >= 0 && tiles->lane != lane) return true;
            lane = tiles->lane;
            break;
        }
    }
    return false;
}

/* Can the value be had without the body: from sizes, scalars, coordinates and the indices of loops alone? */
static bool known_outside(const weir_kernel *k, uint32_t id) {
    static const weir_op made[] = { WEIR_OP_RETURN, WEIR_OP_LOAD, WEIR_OP_READ_REG, WEIR_OP_VIEW_READ };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (weiri_value_uses(k, id, made[i])) return false;
    return true;
}

/* What the op would do to a cursor that lanes share. */
static void skip_op(lowering *l, weiri_pnode *at, const weiri_op *op) {
    if (!lw_piped(l->p, op) || !(lw_opens(op) || lw_closes_one(op))) return;
    const int cur = lw_cursor(l, op->res, lw_is_producer(op->stage));
    const weiri_cursor *c = &l->p->cursors.v[cur];
    if (c->tile_lanes < 2) return;
    if (lw_opens(op)) {
        bool first, last;
        lw_round_place(l, op, &first, &last);
        if (!last) return;
        lw_advance(l, at, op, cur, STAGE_NEXT);
        if (c->held_max > 0) lw_advance(l, at, op, cur, STAGE_CLOSE); /* what a tile opens it closes */
    } else if (c->held_max == 0 && lw_closes(l, op)) {
        lw_advance(l, at, op, cur, STAGE_CLOSE);
    }
}

/* What the body would do to cursors that lanes share, and to a dynamic queue; every loop and guard around that. */
void lw_skip(lowering *l, const weiri_node *n, const weiri_pnode *body, weiri_pnode *at) {
    static const weiri_pnode_kind kinds[] = { PN_ACTION, PN_LOOP, PN_GUARD, PN_TILES, PN_SKIPPABLE };
    for (; n; n = n->next) {
        if (n->kind == NODE_OP) {
            if (n->op->res->kind == WEIR_RES_QUEUE) lw_op(l, at, n->op);
            else skip_op(l, at, n->op);
            continue;
        }
        if (weiri_of_before(n)) continue; /* nothing that lanes share is moved there (check_dealt_before) */
        weiri_pnode *before = at->last, *b = lw_append(l->p, at, kinds[n->kind]);
        b->src = n;
        const weiri_pnode *same = body; /* the body's own block */
        while (same->src != n) same = same->next;
        b->deal = same->deal;
        b->lane = same->lane;
        lw_skip(l, n->first, same->first, b);
        if (!b->first) { /* nothing in it */
            at->last = before;
            if (before) before->next = NULL;
            else at->first = NULL;
            continue;
        }
        const uint32_t asks[] = { n->kind == NODE_LOOP ? n->start : 0, n->kind == NODE_LOOP ? n->stop : 0,
                                  n->kind == NODE_LOOP ? n->step : 0, n->kind == NODE_GUARD ? n->of : 0 };
        for (int i = 0; i < 4; i++) {
            if (!asks[i] || known_outside(l->k, asks[i])) continue;
            weir_finding *f =
                weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&n->at),
                           "task '%s': how many stages a tile takes is read from memory, so that the other lanes of the "
                           "work tiles cannot skip them",
                           l->pt->task->name);
            f->hint = "give each lane pipelines of its own, or lengths that follow from sizes and coordinates";
            break;
        }
    }
}

/* Lanes that share a side move its cursor past each other's tiles by what a tile of theirs takes; what another lane takes for
 * the tile it had before, or for its last one, none of them knows. */
void lw_check_dealt_before(lowering *l, const weiri_node *guard) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(guard, n));) {
        const weiri_op *op = n->kind == NODE_OP ? n->op : NULL;
        if (!op || !lw_piped(l->p, op) || !(lw_opens(op) || lw_closes_one(op))) continue;
        if (!weiri_side_dealt(l->k, op->res, lw_is_producer(op->stage))) continue;
        weir_finding *f =
            weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&op->at),
                       "task '%s': '%s' is shared by lanes of the work tiles, and moved inside %s", l->pt->task->name,
                       op->res->name, guard->guard == WEIR_GUARD_LAST_TILE ? "last_tile" : "previous_tile");
        f->objects[0] = op->res->name;
        f->hint = "give each lane a pipeline of its own, or move this one in the tile itself";
        weiri_second_place(f, &guard->at, "the guard");
        return;
    }
}
