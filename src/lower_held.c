/* How many stages of each pipeline a task may hold at each of its ops, by one walk over the captured tree. */
#include "lowering.h"

#define MAX_CURSORS 64
/* by cursor of the task: bit h of v: h stages may be held; bit h of loose: no mma may have followed the newest h opens. LW_MANY:
 * more than the sets count exactly */
typedef struct held {
    uint64_t v[MAX_CURSORS], loose[MAX_CURSORS];
} held;

static uint64_t one_more(uint64_t set) { return set << 1 | (set & LW_MANY); }

static bool merge_set(uint64_t *into, uint64_t from) {
    /* the walk of a loop stops growing there, the finding comes from the maximum */
    uint64_t all = *into | from, u = all & ((1ull << 40) - 1);
    if (all != u) u |= LW_MANY;
    bool grew = u != *into;
    *into = u;
    return grew;
}

static bool merge_held(lw_ways *w, void *a, const void *b) {
    (void)w;
    held *into = a;
    const held *from = b;
    bool grew = false;
    for (int i = 0; i < MAX_CURSORS; i++) {
        grew = merge_set(&into->v[i], from->v[i]) || grew;
        grew = merge_set(&into->loose[i], from->loose[i]) || grew;
    }
    return grew;
}

static void held_step(lw_ways *w, const void *leaf, void *state) {
    lowering *l = w->l;
    held *s = state;
    const weiri_op *op = ((const weiri_node *)leaf)->op;
    for (int i = 0; op->atom == ATOM_MMA && i < MAX_CURSORS; i++) s->loose[i] = 1;
    if (!lw_piped(l->p, op) || op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) return;
    int c = lw_cursor(l, op->res, lw_is_producer(op->stage));
    int ci = 0;
    while (l->cursors.v[ci].index != c) ci++;
    if (ci >= MAX_CURSORS) return;
    bool first, last;
    if (lw_opens(op)) {
        lw_round_place(l, op, &first, &last);
        l->held_in[op->id] |= s->v[ci];
        if (last) s->v[ci] = one_more(s->v[ci]), s->loose[ci] = one_more(s->loose[ci]);
    } else if (lw_closes(l, op)) {
        l->held_in[op->id] |= s->v[ci];
        l->loose_in[op->id] |= s->loose[ci];
        uint64_t in = s->v[ci], out = 0;
        if (op->keep < 0)
            out = in >> 1 | (in & (LW_MANY | 1)); /* of LW_MANY one less: the largest that is counted, or LW_MANY */
        else
            for (int h = 0; h < 64; h++)
                if (in >> h & 1) out |= 1ull << (h < op->keep ? h : op->keep);
        s->v[ci] = out;
    }
}

/* advance_on_wait, advance_on_acquire: whether a side opens stages before it has closed the last one follows from the schedule;
 * given as false it must not. `here`: in one task. */
static void check_ahead(lowering *l, const weiri_cursor *c, const weiri_op *open, bool here) {
    const weir_res *r = c->res->kind == WEIR_RES_GROUP ? c->res->members[0] : c->res;
    if (!open || (c->producer ? r->pipe.given.advance_on_acquire : r->pipe.given.advance_on_wait) >= 0) return;
    const char *flag = c->producer ? "advance_on_acquire" : "advance_on_wait",
               *opens_it = c->producer ? "acquires" : "waits for", *close = c->producer ? "commits" : "releases";
    weir_finding *f =
        weiri_find(&l->p->findings, "CN6", weiri_place_of(&open->at), "%s = false, but task '%s' %s '%s' %s%s", flag,
                   l->pt->task->name, opens_it, c->name, here ? "again before it " : "and another task ", close);
    f->objects[0] = r->name;
    f->expected = "true";
    f->got = "false";
    weiri_second_place(f, &r->at, "declared here");
    f->hint = "leave it out: it is derived";
}

void lw_find_held(lowering *l) {
    held s;
    l->held_in = WEIRI_NEW_N(&l->p->a, uint64_t, l->k->nops + 2);
    l->loose_in = WEIRI_NEW_N(&l->p->a, uint64_t, l->k->nops + 2);
    for (int i = 0; i < MAX_CURSORS; i++) s.v[i] = s.loose[i] = 1;
    lw_walk_ways(&(lw_ways){ .l = l, .size = sizeof s, .step = held_step, .join = merge_held }, l->pt->task->root->first, &s);
    if (l->cursors.n > MAX_CURSORS) {
        weir_finding *f = weiri_find(&l->p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&l->pt->task->at),
                                     "task '%s' moves %d pipelines; more than %d cannot be built yet", l->pt->task->name,
                                     l->cursors.n, MAX_CURSORS);
        f->expected = weiri_arena_fmt(&l->p->a, "at most %d", MAX_CURSORS);
        f->got = weiri_arena_fmt(&l->p->a, "%d", l->cursors.n);
        f->hint = "put some of them into a group, or give them to another task";
    }
    /* what each cursor's ops saw */
    for (int i = 0; i < l->cursors.n; i++) {
        weiri_cursor *c = &l->p->cursors.v[l->cursors.v[i].index];
        bool has_open = false, has_close = false, vague = false, apart = false;
        const weiri_node *around = NULL;
        int most = 0;
        const weiri_op *worst = NULL;
        for (const weiri_node *n = weiri_node_next(l->pt->task->root, NULL); n; n = weiri_node_next(l->pt->task->root, n)) {
            if (n->kind != NODE_OP || !lw_piped(l->p, n->op)) continue;
            const weiri_op *op = n->op;
            if (op->stage == STAGE_CONS_TRY || op->stage == STAGE_PROD_TRY) continue;
            if (lw_cursor(l, op->res, lw_is_producer(op->stage)) != l->cursors.v[i].index) continue;
            if (lw_opens(op) || lw_closes(l, op)) {
                if ((has_open || has_close) && lw_unknown_guard(n) != around) apart = true;
                around = lw_unknown_guard(n);
            }
            uint64_t in = l->held_in[op->id];
            int top = 0;
            for (int h = 0; h < 63; h++)
                if (in >> h & 1) top = h;
            if (lw_opens(op)) {
                has_open = true;
                if (top + 1 > most) most = top + 1, worst = op;
            } else if (lw_closes(l, op)) {
                has_close = true;
                if (in & (in - 1) || in & LW_MANY)
                    vague = true; /* more than one number is possible, or more than are counted */
            }
        }
        c->held_max = most;
        if (most > 1 || !has_open || !has_close) check_ahead(l, c, worst, has_open && has_close);
        if (!has_open || !has_close) { /* split: opens and closes are in different tasks */
            c->held_max = 0;
            c->split_close = !has_open;
            continue;
        }
        c->split_close = most > 1;
        c->needs_held = vague;
        if (most > c->stages && !apart) { /* where guards part the moves, the proof says which of them come together */
            weir_finding *f = weiri_find(&l->p->findings, "PLAN-HELD", weiri_place_of(&worst->at),
                                         "task '%s' may hold %s%d stages of '%s' at once, which has %d", l->pt->task->name,
                                         most >= 40 ? "more than " : "", most >= 40 ? 39 : most, c->name, c->stages);
            f->expected = weiri_arena_fmt(&l->p->a, "at least %d stages", most);
            f->got = weiri_arena_fmt(&l->p->a, "%d", c->stages);
            f->hint = c->producer ? "commit earlier, or give the pipeline more stages"
                                  : "release earlier, or give the pipeline more stages";
            f->objects[0] = c->name;
        }
    }
}
