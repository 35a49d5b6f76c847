/* The schedule table: every task's ops of one work tile as a straight line, walked in rows. Each row gives every task the
 * chance of one op; an op that waits for a barrier leaves its cell empty until the counterpart has run. */
#include "print.h"

#include <stdio.h>
#include <string.h>

#include "prove.h" /* trip counts in one normal form, so that equal bounds get equal lengths */

enum { LENGTH = 2, MAX_STEPS = 1 << 20, MAX_TILES = 12, CELL = 30 };
enum { WIDTH_NAME = 10, WIDTH_HEAD = 28 };

/* Moves that count uses of a pipeline; the order of weir_pipe_desc.interleave. */
typedef enum use { USE_ACQUIRE, USE_COMMIT, USE_WAIT, USE_RELEASE, USES, USE_NONE = USES } use;

typedef struct step { const weiri_op *op; int index; /* which use of the pipeline, from 0 */ } step;
typedef struct mark { char tag; int call; } mark; /* by op: phase tag, call index */

/* One task's uses of one pipeline by one move. */
typedef struct line {
    WEIRI_LIST(int) index;  /* rising */
    int done;               /* of them executed */
    bool lane;              /* others take the indices in between */
} line;

typedef struct task_line {
    const weiri_node *tiles; /* its work-tile loop, or NULL */
    WEIRI_LIST(step) steps;
    int at;                 /* next one */
} task_line;

typedef struct sim {
    const weir_kernel *k;
    weiri_arena a;
    weiri_forms *forms;
    int *units;             /* by class of trip counts */
    task_line *task;
    line *lines;            /* [(task * resources + resource) * USES + use], bare resources */
    mark *mark;             /* by op id */
    /* flattening one task */
    int ti;
    int *count;             /* [resource * USES + use], bare resources and groups */
    int *iter, *trips;      /* by node id: of the loops that are open */
    bool silent;            /* a tile of another lane: its uses pass, nothing runs */
    int tiles, nsteps;
    bool too_long;
    WEIRI_LIST(uint32_t) assumed;               /* conditions taken as true */
    WEIRI_LIST(const weiri_node *) open_loops;  /* loops whose length is not known */
} sim;

/* ---- ops ----------------------------------------------------------------------------------------------------------------- */

static use use_of(const weiri_op *op) {
    if (op->atom != ATOM_NONE || op->res->kind == WEIR_RES_QUEUE) return USE_NONE; /* work queues are exempt */
    switch (op->stage) {
    case STAGE_PROD_ACQUIRE: return USE_ACQUIRE;
    case STAGE_PROD_COMMIT: return USE_COMMIT;
    case STAGE_CONS_WAIT: return USE_WAIT;
    case STAGE_CONS_RELEASE: return USE_RELEASE;
    default: return USE_NONE;
    }
}

/* The bare resources whose barriers an op touches: a group's move is one on every member. */
static int members_of(const weir_res *r, weir_res *const **list, weir_res **one) {
    if (r->kind == WEIR_RES_GROUP) {
        *list = r->members;
        return r->nmembers;
    }
    *list = one;
    return 1;
}

static int stages_of(const weir_res *r) { return r->pipe.given.stages > 0 ? r->pipe.given.stages : 1; }

static line *line_of(const sim *s, int task, const weir_res *r, use u) {
    return &s->lines[((size_t)task * (size_t)s->k->res.n + (size_t)r->index) * USES + (size_t)u];
}

static int *count_of(const sim *s, const weir_res *r, use u) { return &s->count[(size_t)r->index * USES + (size_t)u]; }

/* ---- tags and call indices ----------------------------------------------------------------------------------------------- */

typedef struct seen { int section; const weir_res *res; weiri_stage stage; int n; } seen;

static const weiri_node *loop_around(const weiri_node *n) {
    for (n = n->parent; n; n = n->parent)
        if (n->kind == NODE_LOOP) return n;
    return NULL;
}

static char tag_of(const weiri_node *n, int before, int loops) {
    for (const weiri_node *p = n->parent; p && p->kind != NODE_LOOP; p = p->parent) {
        if (p->kind != NODE_GUARD) continue;
        switch (p->guard) {
        case WEIR_GUARD_FIRST: return 'F';
        case WEIR_GUARD_LAST: return 'L';
        case WEIR_GUARD_EVERY: return 'P';
        case WEIR_GUARD_TRUE:
        case WEIR_GUARD_FALSE: return 'I';
        }
    }
    if (loop_around(n)) return ' ';
    return before == loops ? 'T' : before == 0 ? 'H' : 'O'; /* a body without a loop is all tail */
}

/* Sections: each loop's own body, and each stretch between outermost loops. Calls are counted per section. */
static void mark_task(sim *s, const weiri_task *t) {
    WEIRI_LIST(seen) calls = { 0 };
    int loops = 0, before = 0;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) loops += n->kind == NODE_LOOP && !loop_around(n);
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind == NODE_LOOP && !loop_around(n)) before++;
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        const weiri_node *loop = loop_around(n);
        int section = loop ? loop->id : -before - 1, i = 0;
        seen c = { section, op->res, op->stage, 0 };
        while (i < calls.n && (calls.v[i].section != c.section || calls.v[i].res != c.res || calls.v[i].stage != c.stage)) i++;
        if (i == calls.n) WEIRI_PUSH(&s->a, calls, c);
        s->mark[op->id] = (mark){ tag_of(n, before, loops), calls.v[i].n++ };
    }
}

/* ---- loops and conditions ------------------------------------------------------------------------------------------------ */

/* Units for each class of trip counts that no constant gives: as few as let every loop of the class run LENGTH times. */
static void choose_lengths(sim *s) {
    const weir_kernel *k = s->k;
    s->forms = weiri_forms_new(k, &s->a);
    for (int i = 0; i < k->tasks.n; i++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[i]->root, n));)
            if (n->kind == NODE_LOOP) weiri_forms_loop(s->forms, n);
    weiri_forms_settle(s->forms);
    int classes = weiri_forms_class_count(s->forms);
    s->units = WEIRI_NEW_N(&s->a, int, classes + 1);
    for (int i = 0; i < classes; i++) s->units[i] = LENGTH;
    for (int i = 0; i < k->tasks.n; i++)
        for (const weiri_node *n = NULL; (n = weiri_node_next(k->tasks.v[i]->root, n));) {
            if (n->kind != NODE_LOOP) continue;
            weiri_trips t = weiri_forms_trips(s->forms, weiri_forms_loop(s->forms, n));
            for (int p = 0; p < t.nparts; p++)
                if (s->units[t.part[p].tape] < t.part[p].skip + LENGTH) s->units[t.part[p].tape] = t.part[p].skip + LENGTH;
            if (!t.fixed) WEIRI_PUSH(&s->a, s->open_loops, n);
        }
    for (int i = 0; i < classes; i++) {
        int least, most;
        bool steady, per_cta;
        const weiri_node *node;
        weiri_forms_class(s->forms, i, &least, &most, &steady, &per_cta, &node);
        if (s->units[i] < least) s->units[i] = least;
        if (most >= 0 && s->units[i] > most) s->units[i] = most;
    }
}

static int64_t trips_of(const sim *s, const weiri_node *loop) {
    weiri_trips t = weiri_forms_trips(s->forms, weiri_forms_loop(s->forms, loop));
    int64_t n = t.base;
    for (int i = 0; i < t.nparts; i++) {
        int beyond = s->units[t.part[i].tape] - t.part[i].skip;
        if (beyond > 0) n += (int64_t)t.part[i].rep * beyond;
    }
    return n;
}

/* The one loop whose index the value names; NULL: none. False: several, or a value too large to look through. */
static bool one_index(const weir_kernel *k, uint32_t id, const weiri_node **loop, int *budget) {
    const weiri_value *v = weiri_val(k, id);
    if (--*budget < 0) return false;
    if (v->op == WEIR_OP_INDEX) {
        if (*loop && *loop != v->loop) return false;
        *loop = v->loop;
    }
    for (int i = 0; i < v->nargs; i++)
        if (v->arg[i] && !one_index(k, v->arg[i], loop, budget)) return false;
    return true;
}

/* Truth of a condition in this iteration. What only the launch can tell is taken as true. */
static bool holds(sim *s, uint32_t id) {
    const weir_kernel *k = s->k;
    const weiri_value *v = weiri_val(k, id);
    if (v->op == WEIR_OP_NOT) return !holds(s, v->arg[0]);
    if (v->op == WEIR_OP_AND || v->op == WEIR_OP_OR) {
        bool a = holds(s, v->arg[0]), b = holds(s, v->arg[1]);
        return v->op == WEIR_OP_AND ? a && b : a || b;
    }
    const weiri_node *loop = NULL;
    int64_t start = 0, by = 1, x;
    bool plain = one_index(k, id, &loop, &(int){ 1000 });
    if (plain && loop) plain = weiri_value_const(k, loop->start, &start) && weiri_value_const(k, loop->step, &by);
    if (plain && weiri_value_eval(k, id, NULL, NULL, loop ? start + by * s->iter[loop->id] : 0, &x)) return x != 0;
    for (int i = 0; i < s->assumed.n; i++)
        if (s->assumed.v[i] == id) return true;
    WEIRI_PUSH(&s->a, s->assumed, id);
    return true;
}

static bool guard_opens(sim *s, const weiri_node *n) {
    int i = n->loop ? s->iter[n->loop->id] : 0;
    switch (n->guard) {
    case WEIR_GUARD_FIRST: return i == 0;
    case WEIR_GUARD_LAST: return n->loop && i == s->trips[n->loop->id] - 1;
    case WEIR_GUARD_EVERY: return i >= n->phase && (i - n->phase) % n->period == 0;
    case WEIR_GUARD_TRUE: return !n->of || holds(s, n->of);
    case WEIR_GUARD_FALSE: return n->of && !holds(s, n->of);
    }
    return true;
}

/* ---- flattening ---------------------------------------------------------------------------------------------------------- */

static const weiri_node *tiles_of(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_TILES) return n;
    return NULL;
}

static bool does(const weiri_task *t, const weir_res *r, bool producer) {
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));)
        if (n->kind == NODE_OP && n->op->res == r && use_of(n->op) != USE_NONE && (use_of(n->op) <= USE_COMMIT) == producer)
            return true;
    return false;
}

/* Do tasks of several lanes of the work queue share this side of r? Their cursors then skip each other's stages. */
static bool side_is_dealt(const sim *s, const weir_res *r, bool producer) {
    int first = -1;
    for (int i = 0; i < s->k->tasks.n; i++) {
        const weiri_node *tiles = s->task[i].tiles;
        if (!tiles || tiles->lanes < 2 || !does(s->k->tasks.v[i], r, producer)) continue;
        if (first >= 0 && tiles->lane != first) return true;
        first = tiles->lane;
    }
    return false;
}

/* Interleaved by the loop: a constant start and a step equal to the stride, in a task of another number of warps. */
static bool loop_lane(const sim *s, const weiri_node *n, const weir_res *bare, use u, int *stride, int *lane) {
    int64_t start, by;
    int q = bare->pipe.given.interleave[u];
    const weiri_node *loop = loop_around(n);
    *stride = 1;
    *lane = 0;
    if (q < 2 || !loop || s->k->tasks.v[s->ti]->num_warps == q) return false;
    if (!weiri_value_const(s->k, loop->start, &start) || !weiri_value_const(s->k, loop->step, &by) || by != q) return false;
    *stride = q;
    *lane = (int)(((start % q) + q) % q);
    return true;
}

static void add_step(sim *s, const weiri_op *op, int index) {
    step x = { op, index };
    if (++s->nsteps > MAX_STEPS) {
        s->too_long = true;
        return;
    }
    WEIRI_PUSH(&s->a, s->task[s->ti].steps, x);
}

static void flatten_op(sim *s, const weiri_node *n) {
    const weiri_op *op = n->op;
    use u = use_of(op);
    if (u == USE_NONE) {
        if (!s->silent) add_step(s, op, 0);
        return;
    }
    weir_res *one = op->res, *const *list;
    int nlist = members_of(op->res, &list, &one), stride, lane;
    bool dealt = side_is_dealt(s, op->res, u <= USE_COMMIT), strided = loop_lane(s, n, list[0], u, &stride, &lane);
    if (s->silent && !dealt) return;
    int times = 1, *count = count_of(s, op->res, u);
    if (op->keep >= 0) { /* all but the newest `keep` of those held */
        use opened = u == USE_COMMIT ? USE_ACQUIRE : USE_WAIT;
        int open = *count_of(s, op->res, opened);
        if (!open && list[0] != op->res) open = *count_of(s, list[0], opened); /* opened member by member */
        times = open - *count - op->keep;
    }
    for (; times > 0 && !s->too_long; times--) {
        int index = lane + stride * (*count)++;
        if (s->silent) continue;
        add_step(s, op, index);
        for (int i = 0; i < nlist; i++) {
            line *l = line_of(s, s->ti, list[i], u);
            l->lane = l->lane || dealt || strided;
            WEIRI_PUSH(&s->a, l->index, index);
        }
    }
}

static void flatten(sim *s, const weiri_node *n) {
    for (; n && !s->too_long; n = n->next) {
        switch (n->kind) {
        case NODE_OP: flatten_op(s, n); break;
        case NODE_LOOP: {
            int64_t trips = trips_of(s, n);
            s->trips[n->id] = trips > MAX_STEPS ? MAX_STEPS : (int)trips;
            for (int i = 0; i < s->trips[n->id] && n->first && !s->too_long; i++) {
                s->iter[n->id] = i;
                flatten(s, n->first);
            }
            break;
        }
        case NODE_GUARD:
            if (guard_opens(s, n)) flatten(s, n->first);
            break;
        case NODE_TILES:
            for (int i = 0; i < s->tiles; i++) {
                s->silent = n->lanes > 1 && i % n->lanes != n->lane;
                flatten(s, n->first);
            }
            s->silent = false;
            break;
        case NODE_SKIPPABLE: flatten(s, n->first); break;
        }
    }
}

/* One tile; where tiles are dealt to lanes, one for each lane. */
static int count_tiles(const sim *s) {
    int tiles = 1;
    for (int i = 0; i < s->k->tasks.n; i++) {
        const weiri_node *n = s->task[i].tiles;
        if (n && n->lanes > 1 && tiles % n->lanes && tiles * n->lanes <= MAX_TILES) tiles *= n->lanes;
    }
    return tiles;
}

/* ---- the walk ------------------------------------------------------------------------------------------------------------ */

static bool has_index(const line *l, int index) {
    if (!l->index.n) return false;
    if (!l->lane) return true; /* each of them takes part in every phase; one that stops short is missed */
    for (int lo = 0, hi = l->index.n - 1; lo <= hi;) {
        int mid = (lo + hi) / 2;
        if (l->index.v[mid] == index) return true;
        if (l->index.v[mid] < index) lo = mid + 1;
        else hi = mid - 1;
    }
    return false;
}

static bool has_passed(const line *l, int index) { return l->done > 0 && l->index.v[l->done - 1] >= index; }

/* What a blocked step lacks. */
typedef struct lack { const weir_res *res; use counterpart; int index; int task; /* who owes it, -1: nobody does it */ } lack;

/* May the step run? If not, the first thing it lacks is in *why. */
static bool enabled(const sim *s, const step *x, lack *why) {
    use u = use_of(x->op), counterpart = u == USE_WAIT ? USE_COMMIT : USE_RELEASE;
    if (u != USE_WAIT && u != USE_ACQUIRE) return true;
    weir_res *one = x->op->res, *const *list;
    int n = members_of(x->op->res, &list, &one);
    for (int i = 0; i < n; i++) {
        int index = u == USE_WAIT ? x->index : x->index - stages_of(list[i]);
        if (index < 0) continue; /* the stage was never filled */
        bool anyone = false;
        for (int t = 0; t < s->k->tasks.n; t++) {
            const line *l = line_of(s, t, list[i], counterpart);
            if (!has_index(l, index)) continue;
            anyone = true;
            if (has_passed(l, index)) continue;
            *why = (lack){ list[i], counterpart, index, t };
            return false;
        }
        if (anyone) continue;
        *why = (lack){ list[i], counterpart, index, -1 };
        return false;
    }
    return true;
}

static void execute(sim *s, int task) {
    const step *x = &s->task[task].steps.v[s->task[task].at++];
    use u = use_of(x->op);
    if (u == USE_NONE) return;
    weir_res *one = x->op->res, *const *list;
    int n = members_of(x->op->res, &list, &one);
    for (int i = 0; i < n; i++) line_of(s, task, list[i], u)->done++;
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

static const char *const stage_texts[] = { /* ORDER STAGE; arrows point to the partner */
    "  ConsAux", "  ConsTrW", "->ConsWai", "  ConsWrk", "<-ConsRel",
    "  ProdAux", "  ProdTrA", "  ProdAcq<-", "  ProdWrk", "  ProdCmt->",
};
static const char *const use_names[] = { "acquire", "commit", "wait", "release" };

static bool ended(const task_line *t) { return t->at == t->steps.n; }

static void put_rule(weiri_buf *b, int width, const char *title) {
    int n = (int)strlen(title), left = n ? (width - n - 2) / 2 : width;
    for (int i = 0; i < left; i++) weiri_put_n(b, "=", 1);
    if (n) {
        weiri_put(b, " %s ", title);
        for (int i = left + n + 2; i < width; i++) weiri_put_n(b, "=", 1);
    }
    weiri_put(b, "\n");
}

static void put_head(const weir_kernel *k, weiri_buf *b) {
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        char warps[40], head[WIDTH_HEAD + 1];
        int n = snprintf(warps, sizeof warps, "[%d:%d)", t->first_warp, t->first_warp + t->num_warps);
        int len = snprintf(head, sizeof head, "%.*s%s", n < WIDTH_HEAD ? WIDTH_HEAD - n : 0, t->name, warps);
        if (len > WIDTH_HEAD) len = WIDTH_HEAD;
        int left = (WIDTH_HEAD - len) / 2;
        weiri_put(b, "| %*s%s%*s ", left, "", head, WIDTH_HEAD - len - left, "");
    }
    weiri_put(b, "|\n");
}

static void put_cell(const sim *s, const step *x, weiri_buf *b) {
    char cell[80];
    const mark *m = &s->mark[x->op->id];
    snprintf(cell, sizeof cell, " %-*.*s %-12s%2c%3d ", WIDTH_NAME, WIDTH_NAME, x->op->res->name, stage_texts[x->op->stage],
             m->tag, m->call < 999 ? m->call : 999);
    weiri_put(b, "|%-*.*s", CELL, CELL, cell);
}

static void put_op(const weiri_op *op, const mark *m, weiri_buf *b) {
    weiri_put(b, "%s %s %d", weiri_stage_name(op->stage), op->res->name, m->call);
    if (!op->at.n) return;
    const char *file = strrchr(op->at.at[0].file, '/');
    weiri_put(b, " (%s:%d)", file ? file + 1 : op->at.at[0].file, op->at.at[0].line);
}

static void put_plural(weiri_buf *b, int n, const char *what) {
    const char *es = what[strlen(what) - 1] == 's' ? "es" : "s";
    weiri_put(b, "%d %s%s", n, what, n == 1 ? "" : es);
}

/* All blocked tasks, each with what it lacks and from whom. */
static void put_blocked(const sim *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    for (int t = 0; t < k->tasks.n; t++) {
        const task_line *tl = &s->task[t];
        if (ended(tl)) continue;
        lack w = { 0 };
        const step *x = &tl->steps.v[tl->at];
        if (enabled(s, x, &w)) continue;
        weiri_put(b, "blocked: %s at ", k->tasks.v[t]->name);
        put_op(x->op, &s->mark[x->op->id], b);
        weiri_put(b, ": needs %s %d of %s", use_names[w.counterpart], w.index + 1, w.res->name);
        if (w.task < 0) weiri_put(b, ", which no task makes\n");
        else {
            const line *l = line_of(s, w.task, w.res, w.counterpart);
            bool over = ended(&s->task[w.task]);
            weiri_put(b, " by %s, which %s after ", k->tasks.v[w.task]->name, over ? "has ended" : "is blocked itself");
            put_plural(b, l->done, use_names[w.counterpart]);
            weiri_put(b, "\n");
        }
    }
}

/* From the first blocked task to whom it waits for, and on, until it closes or meets a task that cannot help. */
static void put_chain(sim *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    bool *met = WEIRI_NEW_N(&s->a, bool, k->tasks.n);
    int t = 0;
    while (ended(&s->task[t])) t++;
    weiri_put(b, "wait chain: %s", k->tasks.v[t]->name);
    for (;;) {
        lack w = { 0 };
        met[t] = true;
        const step *x = &s->task[t].steps.v[s->task[t].at];
        enabled(s, x, &w);
        weiri_put(b, " -(%s)-> ", w.res->name);
        if (w.task < 0) {
            weiri_put(b, "nobody");
            break;
        }
        t = w.task;
        weiri_put(b, "%s", k->tasks.v[t]->name);
        if (ended(&s->task[t])) {
            weiri_put(b, " (ended)");
            break;
        }
        if (met[t]) {
            weiri_put(b, " (a cycle)");
            break;
        }
    }
    weiri_put(b, "\n");
}

/* Phases that all arrivals of a move complete. */
static int uses_made(const sim *s, const weir_res *r, use u) {
    int most = 0;
    for (int t = 0; t < s->k->tasks.n; t++) {
        const line *l = line_of(s, t, r, u);
        if (l->done && l->index.v[l->done - 1] + 1 > most) most = l->index.v[l->done - 1] + 1;
    }
    return most;
}

/* Credits left over at the end, one line per pipeline: the first of the three that is wrong explains the others. */
static void put_balance(const sim *s, weiri_buf *b) {
    for (int i = 0; i < s->k->res.n; i++) {
        const weir_res *r = s->k->res.v[i];
        if (r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE || !weiri_piped(r)) continue;
        int made[USES];
        for (use u = 0; u < USES; u++) made[u] = uses_made(s, r, u);
        int spare = r->kind == WEIR_RES_BARRIER; /* turns: a last unanswered commit is fine */
        int full = made[USE_COMMIT] - made[USE_WAIT] - spare, empty = made[USE_ACQUIRE] - made[USE_RELEASE];
        if (full <= 0 && empty >= 0 && empty <= spare) continue;
        weiri_put(b, "unbalanced: %s: ", r->name);
        if (full > 0) {
            put_plural(b, full + spare, "commit");
            weiri_put(b, " not consumed (%d made, %d waited for)\n", made[USE_COMMIT], made[USE_WAIT]);
        } else {
            put_plural(b, empty > 0 ? empty : -empty, empty > 0 ? "acquire" : "release");
            weiri_put(b, empty > 0 ? " without release" : " without acquire");
            weiri_put(b, " (%d acquired, %d released)\n", made[USE_ACQUIRE], made[USE_RELEASE]);
        }
    }
}

static void put_notes(const sim *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    weiri_put(b, "tags: H before the loops, blank in a loop, F its first iteration, L its last, P every n-th, I under a\n"
                 "      condition, O between loops, T after them; then the call index of (resource, stage) in its section\n");
    for (int i = 0; i < k->res.n; i++)
        if (strlen(k->res.v[i]->name) > WIDTH_NAME)
            weiri_put(b, "name: %.*s is %s\n", WIDTH_NAME, k->res.v[i]->name, k->res.v[i]->name);
    weiri_buf line, all;
    weiri_buf_init(&line, k->ctx);
    weiri_buf_init(&all, k->ctx);
    weiri_put(&all, "\n");
    for (int i = 0; i < s->open_loops.n; i++) {
        const weiri_node *n = s->open_loops.v[i];
        int64_t by;
        line.n = 0;
        weiri_put(&line, "\nloop ");
        weiri_value_print(k, n->start, &line);
        weiri_put(&line, " .. ");
        weiri_value_print(k, n->stop, &line);
        if (!weiri_value_const(k, n->step, &by) || by != 1) weiri_put(&line, " by "), weiri_value_print(k, n->step, &line);
        weiri_put(&line, ": shown with ");
        put_plural(&line, (int)trips_of(s, n), "iteration");
        weiri_put(&line, "\n");
        if (line.oom || all.oom) break;
        if (strstr(all.s, line.s)) continue; /* loops of one text have one length */
        weiri_put(&all, "%s", line.s + 1);
    }
    if (all.n > 1) weiri_put(b, "%s", all.s + 1);
    b->oom = b->oom || line.oom || all.oom;
    weiri_buf_free(&line);
    weiri_buf_free(&all);
    for (int i = 0; i < s->assumed.n; i++) {
        weiri_put(b, "condition ");
        weiri_value_print(k, s->assumed.v[i], b);
        weiri_put(b, ": shown as true\n");
    }
    if (s->tiles > 1) weiri_put(b, "work tiles are dealt to lanes: %d tiles are shown\n", s->tiles);
}

static void put_rows(sim *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    for (int row = 0;; row++) {
        int left = 0, moved = 0;
        lack w;
        for (int t = 0; t < k->tasks.n; t++) left += !ended(&s->task[t]);
        for (int t = 0; t < k->tasks.n && !moved; t++)
            moved = !ended(&s->task[t]) && enabled(s, &s->task[t].steps.v[s->task[t].at], &w);
        if (!moved) {
            put_rule(b, k->tasks.n * (CELL + 1) + 1, left ? "blocked" : "end of full");
            if (left) put_blocked(s, b), put_chain(s, b);
            else weiri_put(b, "rows: %d\n", row), put_balance(s, b);
            return;
        }
        for (int t = 0; t < k->tasks.n; t++) {
            task_line *tl = &s->task[t];
            if (!ended(tl) && enabled(s, &tl->steps.v[tl->at], &w)) {
                put_cell(s, &tl->steps.v[tl->at], b);
                execute(s, t); /* seen by the columns to the right in the same row */
            } else {
                weiri_put(b, "|%*s", CELL, "");
            }
        }
        weiri_put(b, "|\n");
    }
}

bool weiri_print_schedule(const weir_kernel *k, weiri_buf *b) {
    int width = k->tasks.n * (CELL + 1) + 1;
    if (!k->tasks.n) {
        weiri_put(b, "schedule of kernel %s: no tasks\n", k->name);
        return !b->oom;
    }
    sim s = { .k = k };
    weiri_arena_init(&s.a, k->ctx);
    s.task = WEIRI_NEW_N(&s.a, task_line, k->tasks.n);
    for (int i = 0; i < k->tasks.n; i++) s.task[i].tiles = tiles_of(k->tasks.v[i]);
    s.tiles = count_tiles(&s);
    s.lines = WEIRI_NEW_N(&s.a, line, (size_t)k->tasks.n * (size_t)k->res.n * USES + 1);
    s.mark = WEIRI_NEW_N(&s.a, mark, k->nops + 1);
    s.iter = WEIRI_NEW_N(&s.a, int, k->nnodes + 1);
    s.trips = WEIRI_NEW_N(&s.a, int, k->nnodes + 1);
    choose_lengths(&s);
    for (int i = 0; i < k->tasks.n; i++) {
        s.ti = i;
        s.count = WEIRI_NEW_N(&s.a, int, (size_t)k->res.n * USES + 1);
        mark_task(&s, k->tasks.v[i]);
        flatten(&s, k->tasks.v[i]->root->first);
    }
    weiri_put(b, "schedule of kernel %s\n", k->name);
    if (s.too_long) {
        weiri_put(b, "no table: one work tile has more than %d ops, in loops of constant length\n", MAX_STEPS);
    } else {
        put_rule(b, width, "");
        put_head(k, b);
        put_rule(b, width, "full");
        put_rows(&s, b);
        put_notes(&s, b);
    }
    bool ok = !s.a.oom && !b->oom;
    weiri_arena_free(&s.a);
    return ok;
}
