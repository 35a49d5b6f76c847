/* A task as flat code: the plan's tree walked block by block, and what of its cursors the code moves. */
#include "proving.h"

/* ---- loops -------------------------------------------------------------------------------------------------------------- */

int pg_emit(builder *b, weiri_ins i) {
    WEIRI_PUSH(b->g->a, b->c->ins, i);
    return b->c->ins.n - 1;
}

int pg_open_loop(builder *b, const weiri_node *node, int handle) {
    const weiri_loop loop = { .node = node, .slot = b->open.n };
    const int l = b->c->loops.n;
    WEIRI_PUSH(b->g->a, b->c->loops, loop);
    WEIRI_PUSH(b->g->a, b->handles, handle);
    WEIRI_PUSH(b->g->a, b->open, l);
    if (b->c->nslots < b->open.n) b->c->nslots = b->open.n;
    pg_emit(b, (weiri_ins){ .op = IN_LOOP, .a = l });
    return pg_emit(b, (weiri_ins){ .op = IN_TEST, .a = l });
}

void pg_close_loop(builder *b, int test) {
    const int l = b->c->ins.v[test].a;
    pg_emit(b, (weiri_ins){ .op = IN_BACK, .a = l, .jump = test });
    b->c->ins.v[test].jump = b->c->loops.v[l].end = b->c->ins.n;
    b->open.n--;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------- */

/* Does a task wait for the launch before? Then it matters what is accessed earlier. */
static bool plan_waits(const weiri_plan *p) {
    for (int i = 1; i <= p->nactions; i++)
        if (p->action[i]->kind == ACT_GRID_WAIT) return true;
    return false;
}

/* Actions that change nothing the proof is about. */
static bool idle(weiri_prog *g, const weiri_action *a) {
    switch (a->kind) {
    case ACT_NONE: case ACT_REGS: case ACT_MMA_FENCE: case ACT_ZERO: return true;
    case ACT_BODY:
        return a->neff == 0 && a->bar < 0 && !weiri_gmem_touches(g->p->k, g->a, a->op) &&
               !(plan_waits(g->p) && weiri_gmem_any(a->op));
    default: return false;
    }
}

static void compile_loop(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    if (pg_compile_nest(b, n)) return;
    const int at = pg_open_loop(b, n->src, weiri_forms_loop(g->forms, n->src, n->deal ? n->lane : -1)), l = b->c->ins.v[at].a;
    int own = -1;
    b->c->loops.v[l].lane = n->lane;
    if (n->deal) {
        own = pg_emit(b, (weiri_ins){ .op = IN_DEAL, .a = l, .period = n->deal, .phase = n->lane });
        b->c->loops.v[l].deal = b->c->loops.v[l].period = n->deal;
        g->deals = g->deals / pg_common(g->deals, n->deal) * n->deal;
    }
    pg_compile(b, n->first);
    pg_close_loop(b, at);
    if (n->deal) b->c->ins.v[own].jump = b->c->ins.n - 1;
}

static void compile_tiles(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    const weiri_node *s = n->src;
    if (!g->tiles) g->tiles = s;
    if (s->queue != g->tiles->queue) { /* V-WQ-05, but that may be a warning */
        g->why = "there are two work queues";
        g->why_at = s->at.at;
    }
    if (s->queue->qkind == WEIR_QUEUE_GRID) g->one_tile = true;
    b->in_tiles = b->c->tiles = true;
    const int at = pg_emit(b, (weiri_ins){ .op = IN_TILES, .a = s->lane, .b = s->lanes });
    pg_compile(b, n->first);
    pg_emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
    if (s->lanes > 1) { /* even where it does nothing there: a task skips no tile before there is one */
        b->c->skip_from = b->c->ins.v[at].skip = b->c->ins.n;
        pg_compile(b, n->skip);
        pg_emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
        b->c->skip_to = b->c->ins.n;
    }
    b->c->ins.v[at].jump = b->c->ins.n;
    b->in_tiles = false;
}

/* A block that a turn goes into where the question says so, and past where not. */
static void compile_under(builder *b, weiri_ins question, const weiri_pnode *body) {
    const int at = pg_emit(b, question);
    pg_compile(b, body);
    b->c->ins.v[at].jump = b->c->ins.n;
}

/* Of a guard on the iteration of a loop. */
static weiri_ins turn_of(builder *b, const weiri_node *s) {
    const int l = pg_loop_of(b, s->loop);
    weiri_loop *loop = &b->c->loops.v[l];
    weiri_ins i = { .op = s->guard == WEIR_GUARD_FIRST  ? IN_FIRST
                          : s->guard == WEIR_GUARD_LAST ? IN_LAST
                                                        : IN_EVERY,
                    .a = l };
    /* of a lane's loop its own iterations count: every by-th, from `from` on */
    int from = loop->deal && loop->lane > 0 ? loop->lane : 0, by = loop->deal && loop->lane >= 0 ? loop->deal : 1;
    i.from = from, i.by = by;
    if (i.op == IN_FIRST && loop->count_to < from + 1) loop->count_to = from + 1;
    if (i.op == IN_EVERY) {
        i.period = s->period > 0 ? s->period : 1;
        i.phase = s->phase > 0 ? s->phase : 0;
        if (loop->count_to < from + by * i.phase) loop->count_to = from + by * i.phase;
        int p = loop->period ? loop->period : 1, q = by * i.period;
        loop->period = p / pg_common(p, q) * q;
    }
    return i;
}

static void compile_guard(builder *b, const weiri_pnode *n) {
    const weiri_node *s = n->src;
    if (weiri_is_condition(s)) pg_compile_condition(b, n);
    else if (weiri_of_before(s)) {
        b->c->looks_back = true;
        compile_under(b, (weiri_ins){ .op = IN_BEFORE, .a = s->guard == WEIR_GUARD_LAST_TILE ? 1 : 2, .b = s->lane }, n->first);
    } else compile_under(b, turn_of(b, s), n->first);
}

static void compile_skippable(builder *b, const weiri_pnode *n) {
    const weiri_node *t = n->src;
    while (t->kind != NODE_TILES) t = t->parent;
    bool not = false;
    const int key = pg_key_for(b, t->skip, NULL, t, &not);
    compile_under(b, (weiri_ins){ .op = IN_WHEN, .a = key, .b = not, .of = t->skip, .guard = t }, n->first);
}

static void compile_held(builder *b, const weiri_pnode *n) {
    const int at = pg_emit(b, (weiri_ins){ .op = IN_HELD, .a = local_cursor(b->g, b->c, n->cur), .b = n->keep });
    pg_compile(b, n->first);
    if (!n->once) pg_emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
    b->c->ins.v[at].jump = b->c->ins.n;
}

static void compile_block(builder *b, const weiri_pnode *n) {
    switch (n->kind) {
    case PN_ACTION:
        if (!idle(b->g, n->act)) pg_emit(b, (weiri_ins){ .op = IN_ACT, .act = n->act });
        break;
    case PN_LOOP: compile_loop(b, n); break;
    case PN_TILES: compile_tiles(b, n); break;
    case PN_SKIPPABLE: compile_skippable(b, n); break;
    case PN_GUARD: compile_guard(b, n); break;
    default: compile_held(b, n); /* PN_HELD */
    }
}

void pg_compile(builder *b, const weiri_pnode *n) {
    for (; n; n = n->next) compile_block(b, n);
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------- */

/* What of its cursors the code moves, and what anything in it depends on. */
static void note_cursor(const weiri_prog *g, weiri_code *c, bool **which, int cur, weiri_stage_ref stage) {
    int local = cur >= 0 ? local_cursor(g, c, cur) : -1;
    if (local >= 0) which[stage == STAGE_CLOSE ? C_CLOSE : C_OPEN][local] = true;
}

static void note_cursors(const weiri_prog *g, weiri_code *c) {
    for (int var = C_OPEN; var < C_VARS; var++) {
        c->matters[var] = WEIRI_NEW_N(g->a, bool, c->ncursors + 1);
        c->moves[var] = WEIRI_NEW_N(g->a, bool, c->ncursors + 1);
    }
    for (int i = 0; i < c->ins.n; i++) {
        const weiri_ins *x = &c->ins.v[i];
        if (x->op == IN_HELD) c->matters[C_OPEN][x->a] = c->matters[C_CLOSE][x->a] = true;
        if (x->op == IN_SPENT) /* each side looks at how far the other has closed */
            c->matters[C_OPEN][x->a] = c->matters[C_CLOSE][x->a] = c->matters[C_OPEN][x->b] = c->matters[C_CLOSE][x->b] = true;
        if (x->op != IN_ACT) continue;
        const weiri_action *a = x->act;
        note_cursor(g, c, a->kind == ACT_ADVANCE ? c->moves : c->matters, a->cur, a->stage);
        for (int e = 0; e < a->neff; e++) note_cursor(g, c, c->matters, a->eff[e].cur, a->eff[e].stage);
    }
}

static void sort_cursors(builder *b) {
    weiri_prog *g = b->g;
    const weiri_plan *p = g->p;
    b->cursors = WEIRI_NEW_N(g->a, int, p->cursors.n + 1);
    b->cursor_at = WEIRI_NEW_N(g->a, int, p->ntasks + 2);
    g->local = WEIRI_NEW_N(g->a, int, p->cursors.n + 1);
    for (int i = 0; i < p->cursors.n; i++) b->cursor_at[p->cursors.v[i].task + 1]++;
    for (int t = 0; t < p->ntasks; t++) b->cursor_at[t + 1] += b->cursor_at[t];
    int *next = WEIRI_NEW_N(g->a, int, p->ntasks + 1);
    for (int i = 0; i < p->cursors.n; i++) {
        int t = p->cursors.v[i].task;
        g->local[i] = next[t]++;
        b->cursors[b->cursor_at[t] + g->local[i]] = i;
    }
}

/* Where one task fills a stage and stores it, its own order stands for barriers. */
static void find_mates(weiri_prog *g) {
    const weiri_plan *p = g->p;
    g->mate = WEIRI_NEW_N(g->a, int, p->cursors.n + 1);
    for (int i = 0; i < p->cursors.n; i++) g->mate[i] = -1;
    for (int i = 0; i < p->cursors.n; i++)
        for (int j = 0; j < i; j++) {
            const weiri_cursor *x = &p->cursors.v[i], *y = &p->cursors.v[j];
            if (x->pipe != y->pipe || x->task != y->task || x->producer == y->producer) continue;
            if (x->pipe < 0 || p->pipes.v[x->pipe].full >= 0) continue; /* of a plan made by hand; of barriers */
            g->mate[i] = j;
            g->mate[j] = i;
        }
}

static void *copied(weiri_arena *a, const void *v, size_t size) {
    return size ? memcpy(weiri_arena_alloc(a, size), v, size) : NULL;
}

/* A list as long as it is, and what it grew in free for the next. */
#define TAKE(b, list) \
    ((b)->room.list = (b)->c->list, (b)->room.list.n = 0, (b)->c->list.cap = (b)->c->list.n, \
     (b)->c->list.v = copied((b)->g->a, (b)->c->list.v, sizeof *(b)->c->list.v * (size_t)(b)->c->list.n))

static void compile_task(builder *b, int task) {
    weiri_prog *g = b->g;
    weiri_code code = { .ins = b->room.ins, .loops = b->room.loops, .keys = b->room.keys };
    WEIRI_PUSH(g->a, g->code, code); /* cover: assert: WEIRI_ROOM is for all of them */
    b->c = &g->code.v[g->code.n - 1];
    b->task = task;
    if (task >= 0) {
        b->c->cursor = b->cursors + b->cursor_at[task];
        b->c->ncursors = b->cursor_at[task + 1] - b->cursor_at[task];
    }
    pg_compile(b, g->p->prologue);
    b->c->from = b->c->ins.n;
    if (task >= 0) pg_compile(b, g->p->tasks[task].root);
    for (int q = 0; q < b->c->ncursors; q++) {
        const int cur = b->c->cursor[q];
        if (g->mate[cur] >= 0 && g->p->cursors.v[cur].producer)
            pg_emit(b, (weiri_ins){ .op = IN_SPENT, .a = q, .b = g->local[g->mate[cur]] });
    }
    b->c->to = b->c->ins.n;
    pg_compile(b, g->p->epilogue);
    pg_emit(b, (weiri_ins){ .op = IN_END });
    TAKE(b, ins);
    TAKE(b, loops);
    TAKE(b, keys);
    note_cursors(g, b->c);
}

void pg_compile_tasks(builder *b) {
    weiri_prog *g = b->g;
    sort_cursors(b);
    find_mates(g);
    WEIRI_ROOM(g->a, g->code, g->p->ntasks + 1);
    for (int i = 0; i < g->p->ntasks; i++) compile_task(b, i);
    compile_task(b, -1);
}
