/* The plan as the prover runs it: flat code per task, actors per CTA, and the numbered bits and ints that make up a state. */
#include <stdlib.h>
#include "lower.h"
#include "plan_tc.h"
#include "prove_know.h"

/* ---- targets, executors ------------------------------------------------------------------------------------------------- */

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

/* ---- code of a task ----------------------------------------------------------------------------------------------------- */

typedef struct asked_as { uint32_t value; int tape; bool not; } asked_as;
typedef struct builder {
    weiri_prog *g;
    weiri_code *c;
    int task;                /* -1: no body */
    bool in_tiles;
    weiri_code room;         /* whose lists the code that is being written borrows */
    WEIRI_LIST(int) handles; /* of the loops' forms, all codes in order */
    WEIRI_LIST(int) open;    /* loops around here */
    WEIRI_LIST(const char *) key_name;   /* by tape: of a key */
    WEIRI_LIST(bool) key_each;   /* asked once an iteration */
    WEIRI_LIST(uint32_t) key_value;
    WEIRI_LIST(asked_as) asked;  /* conditions that are another's, in other values */
    int *cursors, *cursor_at;    /* cursors in order of their tasks; by task: its first */
} builder;

static int emit(builder *b, weiri_ins i) {
    WEIRI_PUSH(b->g->a, b->c->ins, i);
    return b->c->ins.n - 1;
}

static int new_tape(weiri_prog *g, weiri_tape t) {
    int n = t.cta >= 0 ? g->nctas : 1, first = g->tapes.n;
    for (int i = 0; i < n; i++) {
        if (n > 1) t.cta = i;
        WEIRI_PUSH(g->a, g->tapes, t);
    }
    return first;
}

int weiri_prog_tape(const weiri_prog *g, int tape, int cta) { return g->tapes.v[tape].cta < 0 ? tape : tape + cta; }

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
        return a->neff == 0 && a->bar < 0 && !weiri_gmem_touches(g->p->k, g->a, a->op) && !(plan_waits(g->p) && weiri_gmem_any(a->op));
    default: return false;
    }
}

/* Of a loop around here. */
static int loop_of(const builder *b, const weiri_node *n) {
    int i = b->open.n - 1;
    while (b->c->loops.v[b->open.v[i]].node != n) i--;
    return b->open.v[i];
}

const char *weiri_prog_at(weiri_arena *a, const weiri_node *n) {
    const char *file = n && n->at.n > 0 ? weiri_file_name(n->at.at[0].file) : NULL;
    return file ? weiri_arena_fmt(a, " (%s:%d)", file, n->at.at[0].line) : "";
}

void weiri_prog_trust(weiri_prog *g, const char *what) {
    for (int i = 0; i < g->trusts.n; i++)
        if (!strcmp(g->trusts.v[i], what)) return;
    WEIRI_PUSH(g->a, g->trusts, what);
}

/* Two conditions under one key that nothing shows to be equal. */
static void trust_key(weiri_prog *g, const char *name, const weiri_node *x, uint32_t a, const weiri_node *y, uint32_t b) {
    weiri_buf one, two;
    weiri_buf_init(&one, g->p->k->ctx);
    weiri_buf_init(&two, g->p->k->ctx);
    weiri_value_print(g->p->k, a, &one);
    weiri_value_print(g->p->k, b, &two);
    const char *s = one.s ? one.s : "", *t = two.s ? two.s : ""; /* cover: memory */
    weiri_prog_trust(g, weiri_arena_fmt(g->a, "key '%s': %s%s and %s%s are equal", name, s, weiri_prog_at(g->a, x), t,
                                        weiri_prog_at(g->a, y)));
    weiri_buf_free(&one);
    weiri_buf_free(&two);
}

/* Is it the condition of the tape? One that is known at launch is, however it is written; *not: its opposite. */
static bool same_key(const builder *b, int tape, uint32_t value, bool known, bool *not) {
    const weir_kernel *k = b->g->p->k;
    *not = false;
    if (b->key_value.v[tape] == value) return true;
    return known && b->g->tapes.v[tape].kind == TAPE_CONST && weiri_forms_alike(k, b->key_value.v[tape], value, not);
}

uint32_t weiri_key_condition(const weiri_tape *t) { return t->node->kind == NODE_TILES ? t->node->skip : t->node->of; }

bool weiri_key_at(const weir_kernel *k, const weiri_tape *t, int i, bool *truth) {
    const uint32_t id = weiri_key_condition(t);
    const weiri_node *loop = weiri_val(k, id)->scope;
    int64_t first, step, x;
    if (t->named || loop->kind != NODE_LOOP || t->node->parent != loop ||
        !weiri_value_const(k, loop->start, &first) || !weiri_value_const(k, loop->step, &step) ||
        !weiri_range_at(k, id, loop, first + i * step, &x))
        return false;
    *truth = x != 0;
    return true;
}

/* A block that a condition which is computed alike may stand in: tasks come to what is inside in the same iterations. */
static bool by_condition(const weiri_node *n) {
    return n->kind == NODE_SKIPPABLE || weiri_is_condition(n);
}

static bool same_name(const char *x, const char *y) { return x && y ? !strcmp(x, y) : x == y; }

/* Do two guards stand in the same loops, under the same conditions, one in the other? */
static bool in_same_blocks(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    bool skips = false, not;
    for (x = x->parent, y = y->parent; x->parent && x->kind != NODE_TILES; x = x->parent, y = y->parent) {
        if (x->kind != y->kind) return false;
        if (x->kind == NODE_SKIPPABLE) skips = true;
        else if (!same_name(x->key, y->key) || (x->key ? x->guard != y->guard : !weiri_forms_same_loop(k, x, y))) return false;
    }
    return x->kind == y->kind && (!skips || (weiri_forms_alike(k, x->skip, y->skip, &not) && !not));
}

/* The next guard of the task on the value, under no name, behind `n`. */
static const weiri_node *next_on(const weiri_node *n, uint32_t value) {
    const weiri_node *root = n;
    while (root->parent) root = root->parent;
    do n = weiri_node_next(root, n);
    while (n && !(n->kind == NODE_GUARD && n->of == value && !n->key));
    return n;
}

/* A guard in the loop itself, and not under a condition in it, asks in each iteration: who asks behind it has been told. */
static bool asks_always(const weir_kernel *k, const weiri_node *guard) { return guard->parent == weiri_val(k, guard->of)->scope; }

/* Is the condition one on loops' indices, and is nothing around its guards but tiles, loops and conditions? Then it comes out alike, time for
 * time, wherever it is asked in the same blocks. (In tiles of other lanes, guards that move nothing are not compiled: the one guard or none.) */
static bool asks_by_index(const builder *b, const weiri_node *guard) {
    const weir_kernel *k = b->g->p->k;
    const weiri_node *loop = weiri_val(k, guard->of)->scope, *out;
    if (weiri_lanes_of(b->g->p->tasks[b->task].task) && next_on(guard, guard->of)) return false;
    for (const weiri_node *n = guard; n; n = asks_always(k, n) ? NULL : next_on(n, n->of)) {
        bool inside = true;
        if (loop->kind != NODE_LOOP) return false;
        for (out = n->parent; out->parent && out->kind != NODE_TILES; out = out->parent) {
            if (out == loop) inside = false;
            if (out->kind == NODE_LOOP ? inside || b->c->loops.v[loop_of(b, out)].deal : !by_condition(out)) return false;
        }
    }
    return true;
}

static bool asked_alike(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    while (x && y) {
        if (!in_same_blocks(k, x, y)) return false;
        if (asks_always(k, x)) return true;
        x = next_on(x, x->of), y = next_on(y, y->of);
    }
    return !x && !y;
}

/* Does it hang on the CTA how often, or whether, one comes to what stands in the block? */
static bool around_by_cta(const weir_kernel *k, const weiri_node *n) {
    bool tile, cta = false;
    for (; n && !cta; n = n->parent) {
        const uint32_t of[] = { n->of, n->start, n->stop, n->step, n->skip };
        for (int i = 0; i < 5 && !cta; i++)
            if (of[i]) weiri_forms_varies(k, of[i], &tile, &cta);
    }
    return cta;
}

/* The tape, of those there are, that the condition is read off as one `t` would be; -1: it is none of them. *not: its opposite is. */
static int tape_of(builder *b, const weiri_tape *t, uint32_t value, const char *name, bool each, bool *not) {
    weiri_prog *g = b->g;
    const bool known = t->kind == TAPE_CONST;
    for (int i = 0; i < b->asked.n && !known && !name; i++)
        if (b->asked.v[i].value == value) return *not = b->asked.v[i].not, b->asked.v[i].tape;
    for (int i = 0; i < b->key_value.n; i++) {
        if (!b->key_name.v[i] != !name || g->tapes.v[i].tile != t->tile) continue;
        if (name ? !strcmp(b->key_name.v[i], name) : same_key(b, i, value, known, not)) return i;
        if (each && b->key_each.v[i] && asked_alike(g->p->k, g->tapes.v[i].node, t->node) &&
            weiri_forms_alike(g->p->k, b->key_value.v[i], value, not)) {
            WEIRI_PUSH(g->a, b->asked, ((asked_as){ value, i, *not }));
            return i;
        }
    }
    return -1;
}

/* The key of a condition: one per name, or per value; how long its truth holds. *not: the key's truth is that of its opposite. */
static int key_for(builder *b, uint32_t value, const char *name, const weiri_node *n, bool *not) {
    weiri_prog *g = b->g;
    const weir_kernel *k = g->p->k;
    bool tile, cta, known = !name && weiri_forms_settled(k, value, &tile, &cta);
    if (!known) tile = true;
    if (name) cta = false; /* the author says that it is one truth */
    const bool own = !known && !name; /* nothing else tells it */
    for (const weiri_node *of = n; of && own && !cta; of = next_on(of, value)) cta = around_by_cta(k, of->parent);
    weiri_key key = { .constant = known };
    key.scope = known ? -2 : b->open.n ? b->open.v[b->open.n - 1] : b->in_tiles ? -1 : -2;
    if (own) { /* the value lives in the block that made it */
        for (const weiri_node *s = weiri_val(k, value)->scope; s; s = s->parent) {
            if (s->kind == NODE_LOOP) { key.scope = loop_of(b, s); break; }
            if (s->kind == NODE_TILES) { key.scope = -1; break; }
        }
    }
    const bool guard = own && n->kind == NODE_GUARD; /* else a loop over tiles skips by it */
    const bool part = guard && value != n->of;       /* of a condition: it is not known how often it is asked */
    const bool each = guard && !part && asks_by_index(b, n);
    const weiri_tape t = { .kind = known ? TAPE_CONST : TAPE_KEY,
                           .tile = b->in_tiles && (known ? tile : true),
                           .cta = cta ? 0 : -1,
                           .most = -1,
                           .form = -1,
                           .named = name != NULL,
                           .node = n };
    *not = false;
    key.tape = part ? -1 : tape_of(b, &t, value, name, each, not);
    bool opposite;
    if (key.tape >= 0 && name && (!weiri_forms_alike(k, b->key_value.v[key.tape], value, &opposite) || opposite))
        trust_key(g, name, g->tapes.v[key.tape].node, b->key_value.v[key.tape], n, value);
    if (key.tape < 0) {
        key.tape = new_tape(g, t);
        while (b->key_value.n < g->tapes.n) {
            WEIRI_PUSH(g->a, b->key_value, part ? 0 : value);
            WEIRI_PUSH(g->a, b->key_name, name);
            WEIRI_PUSH(g->a, b->key_each, each);
        }
    }
    for (int i = 0; i < b->c->keys.n; i++)
        if (b->c->keys.v[i].tape == key.tape && b->c->keys.v[i].scope == key.scope) return i;
    WEIRI_PUSH(g->a, b->c->keys, key);
    return b->c->keys.n - 1;
}

/* Greatest number that divides both. */
static int common(int x, int y) {
    while (y) {
        int r = x % y;
        x = y, y = r;
    }
    return x;
}

/* Is the guard's condition that of one around it, or its opposite? *runs: does its body run, then? */
static bool told_around(const weir_kernel *k, const weiri_node *n, bool *runs) {
    for (const weiri_node *out = n->parent; out; out = out->parent) {
        bool not;
        if (out->kind == NODE_SKIPPABLE || out->key || !by_condition(out) || !weiri_forms_alike(k, out->of, n->of, &not)) continue;
        *runs = (out->guard == n->guard) != not;
        return true;
    }
    return false;
}

static void compile(builder *b, const weiri_pnode *n);

/* The condition is worked out from the iteration alone. */
static bool repeats(const builder *b, const weiri_node *s, uint32_t of, bool want, weiri_ins *i) {
    weiri_truths t;
    if (s->key || !weiri_index_truths(b->g->p->k, of, &t)) return false;
    const int l = loop_of(b, t.loop);
    weiri_loop *loop = &b->c->loops.v[l];
    const int p = loop->period ? loop->period : 1, both = p / common(p, t.period) * t.period;
    if (loop->deal || both > 64) return false;
    loop->period = both;
    if (loop->count_to < t.pre) loop->count_to = t.pre;
    *i = (weiri_ins){ .op = IN_TRUTHS,
                      .a = l,
                      .b = t.pre,
                      .period = t.period,
                      .guard = s,
                      .ctas = want ? t.truth : ~t.truth & ~(uint64_t)0 >> (64 - t.pre - t.period) };
    return true;
}

/* ... or from the CTA alone. */
static bool by_rank(const builder *b, const weiri_node *s, uint32_t of, bool want, weiri_ins *i) {
    const weiri_prog *g = b->g;
    bool known = !s->key && g->nctas > 1;
    *i = (weiri_ins){ .op = IN_CTA };
    for (int cta = 0; cta < g->nctas && known; cta++) {
        int64_t truth;
        known = weiri_range_cta(g->p->k, of, cta, &truth);
        if (known && (truth != 0) == want) i->ctas |= 1ull << cta;
    }
    return known;
}

/* Of a guard, or of a part of its condition: goes on where that is `want`. */
static weiri_ins question(builder *b, const weiri_node *s, uint32_t of, bool want) {
    weiri_ins i;
    bool not = false;
    if (by_rank(b, s, of, want, &i) || repeats(b, s, of, want, &i)) return i;
    i = (weiri_ins){ .op = IN_WHEN, .a = key_for(b, of, s->key, s, &not ), .of = of, .is = want, .guard = s };
    i.b = want != not ;
    return i;
}

static bool has_loop(const weiri_pnode *n) {
    for (; n; n = n->next)
        if (n->kind == PN_LOOP || (n->kind != PN_ACTION && has_loop(n->first))) return true;
    return false;
}

typedef WEIRI_LIST(int) questions;

static void ask(builder *b, weiri_ins question, questions *fails) {
    const int at = emit(b, question);
    WEIRI_PUSH(b->g->a, *fails, at);
}

/* Asks part by part, as units of loops may tell one and not the other; `fails`: questions that lead past the guard. Where either of two lets in,
 * a loop in there would hang on both: then they are one question. */
static void ask_parts(builder *b, const weiri_pnode *n, uint32_t of, bool want, questions *fails) {
    weiri_prog *g = b->g;
    const weiri_value *v = weiri_val(g->p->k, of);
    if (v->op == WEIR_OP_NOT) {
        ask_parts(b, n, v->arg[0], !want, fails);
        return;
    }
    const bool both = v->op == (want ? WEIR_OP_AND : WEIR_OP_OR),
               either = v->op == (want ? WEIR_OP_OR : WEIR_OP_AND) && !has_loop(n->first);
    if (!both && !either) {
        ask(b, question(b, n->src, of, want), fails);
        return;
    }
    questions first = { 0 };
    ask_parts(b, n, v->arg[0], want, both ? fails : &first);
    const int in = both ? -1 : emit(b, (weiri_ins){ .op = IN_JUMP });
    for (int i = 0; i < first.n; i++) b->c->ins.v[first.v[i]].jump = b->c->ins.n;
    ask_parts(b, n, v->arg[1], want, fails);
    if (!both) b->c->ins.v[in].jump = b->c->ins.n;
    g->counted = true;
}

/* Does the value hang on the index of that loop? */
static bool has_index(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    if (!weiri_visit(k, id)) return false; /* it has been looked at */
    const weiri_value *v = weiri_val(k, id);
    bool has = v->op == WEIR_OP_INDEX && v->loop == loop;
    for (int i = 0; i < v->nargs && !has; i++) has = has_index(k, v->arg[i], loop);
    return has;
}

static bool of_index(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    weiri_visit_begin(k);
    return has_index(k, id, loop);
}

/* Is the condition another one each time that the loop comes round, which is no number of the turn's? */
static bool lives_in(const weir_kernel *k, uint32_t id, const weiri_node *loop) {
    bool tile, cta;
    const weiri_node *in = weiri_val(k, id)->scope;
    while (in && in->kind != NODE_LOOP) in = in->parent;
    return in == loop && !weiri_forms_settled(k, id, &tile, &cta);
}

/* Does something in there hang on the loop's index, as far as the code goes? */
static bool uses_index(const weir_kernel *k, const weiri_pnode *n, const weiri_node *loop) {
    for (; n; n = n->next) {
        if (n->kind == PN_GUARD &&
            (n->src->of ? of_index(k, n->src->of, loop) || lives_in(k, n->src->of, loop) : n->src->loop == loop))
            return true;
        if (n->kind == PN_LOOP &&
            (of_index(k, n->src->start, loop) || of_index(k, n->src->stop, loop) || of_index(k, n->src->step, loop)))
            return true;
        if (n->kind != PN_ACTION && uses_index(k, n->first, loop)) return true;
    }
    return false;
}

/* Writes a loop's head, and what leads back to it. */
static int open_loop(builder *b, const weiri_node *node, int handle) {
    const weiri_loop loop = { .node = node, .slot = b->open.n };
    const int l = b->c->loops.n;
    WEIRI_PUSH(b->g->a, b->c->loops, loop);
    WEIRI_PUSH(b->g->a, b->handles, handle);
    WEIRI_PUSH(b->g->a, b->open, l);
    if (b->c->nslots < b->open.n) b->c->nslots = b->open.n;
    emit(b, (weiri_ins){ .op = IN_LOOP, .a = l });
    return emit(b, (weiri_ins){ .op = IN_TEST, .a = l });
}

static void close_loop(builder *b, int test) {
    const int l = b->c->ins.v[test].a;
    emit(b, (weiri_ins){ .op = IN_BACK, .a = l, .jump = test });
    b->c->ins.v[test].jump = b->c->loops.v[l].end = b->c->ins.n;
    b->open.n--;
}

static void compile_condition(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    const weiri_node *s = n->src;
    const bool want = s->guard == WEIR_GUARD_TRUE, counted = !s->key && g->without & WEIRI_COUNTED;
    int64_t truth;
    bool runs = false;
    if (weiri_value_const(g->p->k, s->of, &truth) ? (runs = (truth != 0) == want, true) : !s->key && told_around(g->p->k, s, &runs)) {
        if (runs) compile(b, n->first);
        return;
    }
    weiri_ins whole;
    const bool rank = by_rank(b, s, s->of, want, &whole), known = rank || repeats(b, s, s->of, want, &whole);
    const int handle = counted && (!known || (!rank && g->without & WEIRI_SORTED))
                           ? weiri_forms_guard(g->forms, s, want, &g->sorts, g->without & WEIRI_SORTED)
                           : -1;
    if (handle >= 0) { /* a loop that runs once or not at all */
        const int at = open_loop(b, s, handle);
        compile(b, n->first);
        close_loop(b, at);
        g->counted = true;
        return;
    }
    questions fails = { 0 };
    if (counted && !known) ask_parts(b, n, s->of, want, &fails);
    else ask(b, known ? whole : question(b, s, s->of, want), &fails);
    compile(b, n->first);
    for (int i = 0; i < fails.n; i++) b->c->ins.v[fails.v[i]].jump = b->c->ins.n;
}

/* Loops in each other that could stand in any order: nothing in them asks for their indices. */
typedef struct nest {
    int n;
    const weiri_node *node[WEIRI_MAX_NEST];
    int handle[WEIRI_MAX_NEST];
    const weiri_pnode *body;
} nest;

static nest nest_at(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    nest x = { .body = n };
    while (x.body->kind == PN_LOOP && !x.body->deal && !uses_index(g->p->k, x.body->first, x.body->src)) {
        int handles[WEIRI_NEST], deep = weiri_forms_nest(g->forms, x.body->src, handles);
        g->sorts = g->sorts || deep;
        if (!deep) handles[deep++] = weiri_forms_loop(g->forms, x.body->src, -1);
        if (x.n + deep > WEIRI_MAX_NEST) break;
        for (int i = 0; i < deep; i++) x.node[x.n] = x.body->src, x.handle[x.n++] = handles[i];
        x.body = x.body->first;
        if (!x.body || x.body->next) break;
        g->sorts = g->sorts || x.body->kind == PN_LOOP;
        if (!(g->without & WEIRI_SORTED)) break;
    }
    return x;
}

/* A loop of x * y steps as a loop of y in one of x, and so on: others may have written it so. Or in the order of their forms. */
static bool compile_nest(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    if (!(g->without & WEIRI_COUNTED)) return false;
    nest x = nest_at(b, n);
    if (x.n < 2) return false; /* a product has two factors at least */
    for (int i = 1; i < x.n && g->without & WEIRI_SORTED; i++)
        for (int q = i; q > 0 && weiri_forms_order(g->forms, x.handle[q]) < weiri_forms_order(g->forms, x.handle[q - 1]); q--) {
            const int handle = x.handle[q];
            x.handle[q] = x.handle[q - 1], x.handle[q - 1] = handle;
        }
    int at[WEIRI_MAX_NEST];
    for (int i = 0; i < x.n; i++) at[i] = open_loop(b, x.node[i], x.handle[i]);
    compile(b, x.body);
    for (int i = x.n; i-- > 0;) close_loop(b, at[i]);
    return g->counted = true;
}

static void compile_block(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    const weiri_node *s = n->src;
    int at, l;
    switch (n->kind) {
    case PN_ACTION:
        if (!idle(b->g, n->act)) emit(b, (weiri_ins){ .op = IN_ACT, .act = n->act });
        return;
    case PN_LOOP: {
        if (compile_nest(b, n)) return;
        int own = -1;
        at = open_loop(b, s, weiri_forms_loop(g->forms, s, n->deal ? n->lane : -1));
        l = b->c->ins.v[at].a;
        b->c->loops.v[l].lane = n->lane;
        if (n->deal) {
            own = emit(b, (weiri_ins){ .op = IN_DEAL, .a = l, .period = n->deal, .phase = n->lane });
            b->c->loops.v[l].deal = b->c->loops.v[l].period = n->deal;
            g->deals = g->deals / common(g->deals, n->deal) * n->deal;
        }
        compile(b, n->first);
        close_loop(b, at);
        if (n->deal) b->c->ins.v[own].jump = b->c->ins.n - 1;
        return;
    }
    case PN_TILES:
        if (!g->tiles) g->tiles = s;
        if (s->queue != g->tiles->queue) { /* V-WQ-05, but that may be a warning */
            g->why = "there are two work queues";
            g->why_at = s->at.at;
        }
        if (s->queue->qkind == WEIR_QUEUE_GRID) g->one_tile = true;
        b->in_tiles = b->c->tiles = true;
        at = emit(b, (weiri_ins){ .op = IN_TILES, .a = s->lane, .b = s->lanes });
        compile(b, n->first);
        emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
        if (s->lanes > 1) { /* even where it does nothing there: a task skips no tile before there is one */
            b->c->skip_from = b->c->ins.v[at].skip = b->c->ins.n;
            compile(b, n->skip);
            emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
            b->c->skip_to = b->c->ins.n;
        }
        b->c->ins.v[at].jump = b->c->ins.n;
        b->in_tiles = false;
        return;
    case PN_SKIPPABLE: {
        const weiri_node *t = s;
        while (t->kind != NODE_TILES) t = t->parent;
        bool not = false;
        int key = key_for(b, t->skip, NULL, t, &not);
        at = emit(b, (weiri_ins){ .op = IN_WHEN, .a = key, .b = not, .of = t->skip, .guard = t });
        compile(b, n->first);
        b->c->ins.v[at].jump = b->c->ins.n;
        return;
    }
    case PN_GUARD: {
        weiri_ins i = { .op = IN_JUMP };
        if (weiri_is_condition(s)) {
            compile_condition(b, n);
            return;
        }
        if (weiri_of_before(s)) {
            i = (weiri_ins){ .op = IN_BEFORE, .a = s->guard == WEIR_GUARD_LAST_TILE ? 1 : 2, .b = s->lane };
            b->c->looks_back = true;
        } else {
            l = loop_of(b, s->loop);
            weiri_loop *loop = &b->c->loops.v[l];
            i = (weiri_ins){ .op = s->guard == WEIR_GUARD_FIRST  ? IN_FIRST
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
                loop->period = p / common(p, q) * q;
            }
        }
        at = emit(b, i);
        compile(b, n->first);
        b->c->ins.v[at].jump = b->c->ins.n;
        return;
    }
    default: /* PN_HELD */
        at = emit(b, (weiri_ins){ .op = IN_HELD, .a = local_cursor(g, b->c, n->cur), .b = n->keep });
        compile(b, n->first);
        if (!n->once) emit(b, (weiri_ins){ .op = IN_JUMP, .jump = at });
        b->c->ins.v[at].jump = b->c->ins.n;
        return;
    }
}

static void compile(builder *b, const weiri_pnode *n) {
    for (; n; n = n->next) compile_block(b, n);
}

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

static void *copied(weiri_arena *a, const void *v, size_t size) { return size ? memcpy(weiri_arena_alloc(a, size), v, size) : NULL; }

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
    compile(b, g->p->prologue);
    b->c->from = b->c->ins.n;
    if (task >= 0) compile(b, g->p->tasks[task].root);
    for (int q = 0; q < b->c->ncursors; q++) {
        const int cur = b->c->cursor[q];
        if (g->mate[cur] >= 0 && g->p->cursors.v[cur].producer)
            emit(b, (weiri_ins){ .op = IN_SPENT, .a = q, .b = g->local[g->mate[cur]] });
    }
    b->c->to = b->c->ins.n;
    compile(b, g->p->epilogue);
    emit(b, (weiri_ins){ .op = IN_END });
    TAKE(b, ins);
    TAKE(b, loops);
    TAKE(b, keys);
    note_cursors(g, b->c);
}

/* ---- conditions that a loop's end tells --------------------------------------------------------------------------------- */

/* Whoever comes to instruction i has left the loop at `loop` behind, in the same tile and the same iterations of what is around both. */
static bool leads_to(const weiri_code *c, int loop, int i) {
    if (c->loops.v[c->ins.v[loop].a].end > i) return false;
    for (int q = 0; q < loop; q++) {
        const weiri_ins *x = &c->ins.v[q];
        if ((x->jump > loop && x->jump <= i) || (x->skip > loop && x->skip <= i)) return false;
    }
    return true;
}

/* Of the question at i: is the answer how often a loop has run that is behind it, and whose iterations are counted so far anyway? */
static bool told(builder *b, const weiri_code *c, const int *handles, int i, weiri_ins *out) {
    const weiri_ins *x = &c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        if (c->ins.v[q].op != IN_LOOP) continue;
        const int l = c->ins.v[q].a;
        if (c->loops.v[l].deal || !leads_to(c, q, i) || !weiri_forms_ran(b->g->forms, handles[l], x->of, &ran) ||
            ran.times >= c->loops.v[l].count_to)
            continue;
        *out = *x;
        out->op = IN_RAN, out->a = l, out->b = x->is != ran.not, out->equal = ran.equal, out->by = (int)ran.times;
        out->phase = c->keys.v[x->a].tape;
        return true;
    }
    return false;
}

/* A condition that is known at launch, and that every task asks where such a loop is behind it, is no question. */
static void tell(builder *b) {
    weiri_prog *g = b->g;
    for (int tape = 0; tape < g->tapes.n; tape++)
        for (int pass = 0, all = g->tapes.v[tape].kind == TAPE_CONST; pass < 2 && all; pass++)
            for (int ci = 0, h = 0; ci < g->code.n && all; h += g->code.v[ci].loops.n, ci++) {
                weiri_code *c = &g->code.v[ci];
                for (int i = 0; i < c->ins.n && all; i++) {
                    weiri_ins *x = &c->ins.v[i], ran;
                    if (x->op != IN_WHEN || c->keys.v[x->a].tape != tape) continue;
                    all = told(b, c, b->handles.v + h, i, &ran);
                    if (!all || !pass) continue;
                    *x = ran;
                    if (!c->loops.v[x->a].told) c->loops.v[x->a].slot = c->nslots++;
                    if (c->loops.v[x->a].told < i + 1) c->loops.v[x->a].told = i + 1;
                    g->told = true;
                }
            }
}

/* ---- tapes of trip counts ----------------------------------------------------------------------------------------------- */

/* Where the code at `i` is left when it does not go on inside; 0: no loop may stand inside. Loops that warps share out have none. */
static int inside_to(const weiri_code *c, int i) {
    const weiri_ins *x = &c->ins.v[i];
    switch (x->op) {
    case IN_LOOP: return c->ins.v[i + 1].jump;
    case IN_FIRST: case IN_LAST: case IN_EVERY: case IN_TRUTHS: case IN_WHEN: case IN_RAN: case IN_UNITS: case IN_CTA: case IN_BEFORE: return x->jump;
    default: return 0;
    }
}

/* The form of a code's loop. */
static int handle_of(const builder *b, int code, int loop) {
    for (int j = 0; j < code; j++) loop += b->g->code.v[j].loops.n;
    return b->handles.v[loop];
}

/* How often does the loop at `i` ask how often loops of the class run? */
static int asks(const builder *b, int code, int i, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    if (c->ins.v[i].op != IN_LOOP) return 0;
    weiri_trips t = weiri_forms_trips(b->g->forms, handle_of(b, code, c->ins.v[i].a), b->g->without & WEIRI_IN_TURN);
    int n = 0;
    for (int q = 0; q < t.nparts; q++) n += t.part[q].tape == cls;
    return n;
}

/* From `i` on, the next that asks or has one that asks inside; `to`: there is none. */
static int next_ask(const builder *b, int code, int i, int to, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    for (; i < to; i++) {
        if (asks(b, code, i, cls)) break;
        if (c->ins.v[i].op == IN_TILES) i = c->ins.v[i].jump - 1; /* a stretch of its own */
        const int end = inside_to(c, i);
        if (end && next_ask(b, code, i + 1, end, cls) < end) break;
    }
    return i;
}

/* Loops of two codes, pair by pair, the innermost first; NULL: none. They may be more than their blocks: products are loops in each other. */
typedef struct around { const struct around *out; int x, y; } around;
static bool is_pair(const around *a, int x, int y) {
    while (a && (a->x != x || a->y != y)) a = a->out;
    return a != NULL;
}

/* Do two stretches of code ask for the class alike: in the same loops, under the same guards, one after the other? Then their i-th answers
 * are the same by computation. */
static bool ask_alike(const builder *b, int x, int xi, int xto, int y, int yi, int yto, int cls, const around *a) {
    const weiri_code *c = &b->g->code.v[x], *d = &b->g->code.v[y];
    for (int xleft = 0, yleft = 0;;) { /* questions of a loop with none inside that the other has not yet asked */
        if (!xleft) xi = next_ask(b, x, xi, xto, cls);
        if (!yleft) yi = next_ask(b, y, yi, yto, cls);
        if (xi == xto || yi == yto) return xi == xto && yi == yto;
        const weiri_ins *p = &c->ins.v[xi], *q = &d->ins.v[yi];
        const int xend = inside_to(c, xi), yend = inside_to(d, yi);
        const bool more = next_ask(b, x, xi + 1, xend, cls) < xend;
        const int xasks = asks(b, x, xi, cls), yasks = asks(b, y, yi, cls);
        if (xasks && yasks && !more && next_ask(b, y, yi + 1, yend, cls) == yend) {
            if (!xleft) xleft = xasks;
            if (!yleft) yleft = yasks;
            const int both = xleft < yleft ? xleft : yleft;
            xleft -= both, yleft -= both;
            if (!xleft) xi = xend;
            if (!yleft) yi = yend;
            continue;
        }
        if (p->op != q->op || xasks != yasks) return false; /* one with questions left has none inside, and the other is no such loop */
        const around here = { a, p->a, q->a };
        switch (p->op) {
        case IN_LOOP:
            if (more && !weiri_forms_same_count(b->g->forms, handle_of(b, x, p->a), handle_of(b, y, q->a))) return false;
            break;
        case IN_FIRST: case IN_LAST: case IN_EVERY: case IN_TRUTHS:
            if (!is_pair(a, p->a, q->a) || p->b != q->b || p->period != q->period || p->phase != q->phase || p->ctas != q->ctas)
                return false; /* no lane's loop: those have no loops inside */
            break;
        case IN_WHEN:
            if (c->keys.v[p->a].tape != d->keys.v[q->a].tape || p->b != q->b) return false;
            break;
        case IN_RAN:
            if (p->phase != q->phase || p->is != q->is) return false;
            break;
        case IN_BEFORE:
            if (p->b != q->b) return false; /* of one lane. Of the tile before, inside; of the last one, outside: that a stretch is */
            break;
        default: /* IN_CTA */
            if (p->ctas != q->ctas) return false;
        }
        if (!ask_alike(b, x, xi + 1, xend, y, yi + 1, yend, cls, p->op == IN_LOOP ? &here : a)) return false;
        xi = xend, yi = yend;
    }
}

/* A tape that tells how often loops of a class run, that stand in `deep` others of it: of all tasks, or of those that ask alike. */
typedef struct trips_tape { int cls, deep, tape, code, from, to; bool in; } trips_tape;
typedef WEIRI_LIST(trips_tape) trips_list;
typedef struct stretch { int code, from, to; bool in; } stretch; /* of code, in or outside the loop over tiles */

/* May a guard or a loop let a CTA ask more or less often than others? */
static bool by_cta(const builder *b, const stretch *s, int cls) {
    const weiri_code *c = &b->g->code.v[s->code];
    bool any = false;
    for (int i = s->from; i < s->to && !any; i++) {
        const weiri_ins *x = &c->ins.v[i];
        const bool differs = x->op == IN_CTA || x->op == IN_WHEN || x->op == IN_RAN ||
                             (x->op == IN_LOOP && around_by_cta(b->g->p->k, c->loops.v[x->a].node));
        const int end = inside_to(c, i);
        any = differs && next_ask(b, s->code, i + 1, end, cls) < end;
    }
    return any;
}

/* In how many loops of the class stands the one at `i`? Whoever reads answers of the one must not come to those of the other in between. */
static int inside_others(const builder *b, int code, int i, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    int n = 0;
    for (int q = 0; q < i; q++) n += c->ins.v[q].op == IN_LOOP && c->ins.v[q + 1].jump > i && asks(b, code, q, cls) > 0;
    return n;
}

/* Is a length of the launch one stream over all tiles? Where a task looks back, its turns come to the lengths of the tiles before. */
static bool one_stream(const builder *b, int cls) {
    const weiri_prog *g = b->g;
    weiri_tape t;
    bool per, back = false;
    for (int i = 0; i < g->code.n; i++) back = back || g->code.v[i].looks_back;
    weiri_forms_class(g->forms, cls, &t.least, &t.most, &t.steady, &per, &t.node);
    return back && t.steady && g->without & WEIRI_COUNTED;
}

/* The tape of the class for the loop at `at`, in the stretch. */
static int tape_for(builder *b, trips_list *all, const stretch *s, int cls, int at) {
    weiri_prog *g = b->g;
    const int deep = inside_others(b, s->code, at, cls);
    const bool wanders = weiri_forms_wanders(g->forms, cls), stream = one_stream(b, cls), in = s->in && !stream;
    g->counted = g->counted || stream;
    for (int i = 0; i < all->n; i++) {
        const trips_tape *o = &all->v[i];
        if (o->cls != cls || o->deep != deep || o->in != in) continue;
        if (!wanders || (o->code == s->code && o->from == s->from) ||
            ask_alike(b, o->code, o->from, o->to, s->code, s->from, s->to, cls, NULL))
            return o->tape;
    }
    weiri_tape t = { .kind = TAPE_TRIPS, .tile = in, .cta = -1, .form = cls };
    bool per;
    weiri_forms_class(g->forms, cls, &t.least, &t.most, &t.steady, &per, &t.node);
    t.multiple = common(g->deals, (int)(weiri_forms_multiple(g->forms, cls) % g->deals));
    if (per || (wanders && by_cta(b, s, cls))) t.cta = 0;
    if (wanders) t.apart = true, t.node = g->code.v[s->code].loops.v[g->code.v[s->code].ins.v[at].a].node;
    trips_tape new = { .cls = cls, .deep = deep, .code = s->code, .from = s->from, .to = s->to, .in = in, .tape = new_tape(g, t) };
    WEIRI_PUSH(g->a, *all, new);
    return new.tape;
}

/* ---- what the units of loops tell ---------------------------------------------------------------------------------------- */

/* A task's code with its loops' handles, and the stretch of it that the instruction at `i` is in. */
typedef struct counting { builder *b; weiri_code *c; const int *handles; trips_list *all; int code; } counting;

static stretch stretch_of(const weiri_code *c, int code, int i) {
    int tiles_from = c->ins.n, tiles_to = 0;
    for (int q = 0; q < c->ins.n; q++)
        if (c->ins.v[q].op == IN_TILES) tiles_from = q, tiles_to = c->ins.v[q].jump;
    stretch s = { .code = code, .to = c->ins.n, .in = i > tiles_from && i < tiles_to };
    if (s.in) { /* a tile is this task's, or another lane's */
        const bool skipped = i >= c->skip_from && i < c->skip_to;
        s.from = skipped ? c->skip_from : tiles_from + 1;
        s.to = skipped || c->skip_to == 0 ? tiles_to : c->skip_from;
    }
    return s;
}

/* Of the loop at `q`: the class whose units it reads, one by one or in groups, and nothing else; -1: it is none such. */
static int reads(const counting *o, int q) {
    const weiri_loop *l = &o->c->loops.v[o->c->ins.v[q].a];
    const weiri_trips t = weiri_forms_trips(o->b->g->forms, o->handles[o->c->ins.v[q].a], false);
    return l->deal || l->cap || t.nparts != 1 || t.part[0].rep != 1 ? -1 : t.part[0].tape;
}

/* Does an answer of the class's lie between the one that the loop at `q` has read last, and instruction i in it? */
static bool read_between(const counting *o, int q, int i, int cls) {
    for (int x = q + 1; x < o->c->ins.v[q + 1].jump; x++)
        if (x != i && asks(o->b, o->code, x, cls)) return true;
    return false;
}

/* What the truth of the condition at `i` is read off, in an iteration of a loop around it: what of the loop is still ahead. */
static bool counted_ahead(const counting *o, int i, weiri_ins *out) {
    const weiri_ins *x = &o->c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        if (o->c->ins.v[q].op != IN_LOOP || o->c->ins.v[q + 1].jump <= i) continue;
        const int l = o->c->ins.v[q].a, cls = reads(o, q);
        if (cls < 0 || read_between(o, q, i, cls) || !weiri_forms_ahead(o->b->g->forms, o->handles[l], x->of, &ran) || ran.times > 16) continue;
        *out = *x;
        out->op = IN_UNITS, out->a = o->c->loops.v[l].trips.part[0].tape, out->b = x->is != ran.not, out->equal = ran.equal;
        out->by = (int)ran.times;
        return true;
    }
    return false;
}

/* ... in a loop that is behind it: how many units that was given. */
static bool counted_behind(const counting *o, int i, weiri_ins *out, int *count_to) {
    const weiri_ins *x = &o->c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        const int cls = o->c->ins.v[q].op == IN_LOOP ? reads(o, q) : -1;
        if (cls < 0 || !leads_to(o->c, q, i) || !weiri_forms_units(o->b->g->forms, cls, x->of, NULL, &ran) || ran.times > 16)
            continue;
        const int l = o->c->ins.v[q].a, per = o->c->loops.v[l].trips.part[0].per;
        if (ran.period && (per > 1 ? per : o->c->loops.v[l].period ? o->c->loops.v[l].period : 1) % ran.period) continue;
        *out = *x;
        out->op = IN_RAN, out->a = l, out->b = x->is != ran.not, out->equal = ran.equal, out->by = (int)ran.times, out->period = ran.period;
        out->phase = -1;
        *count_to = ran.period ? 1 : (int)ran.times + 1;
        return true;
    }
    return false;
}

/* ... of a class that the task is in no loop of: how many units come next. Or, in each iteration of loop `around`: more than so many and its index. */
static bool counted_next(const counting *o, int i, int around, weiri_ins *out) {
    const weiri_ins *x = &o->c->ins.v[i];
    weiri_forms *f = o->b->g->forms;
    for (int cls = 0; cls < weiri_forms_class_count(f); cls++) {
        weiri_ran ran;
        if (!weiri_forms_plain(f, cls) || weiri_forms_wanders(f, cls) || inside_others(o->b, o->code, i, cls) ||
            !weiri_forms_units(f, cls, x->of, around < 0 ? NULL : o->c->loops.v[around].node, &ran) || ran.period ||
            ran.times > 16)
            continue;
        const stretch s = stretch_of(o->c, o->code, i);
        *out = *x;
        out->op = IN_UNITS, out->b = x->is != ran.not, out->equal = ran.equal, out->by = (int)ran.times, out->from = 1 + around;
        out->a = tape_for(o->b, o->all, &s, cls, i);
        return true;
    }
    return false;
}

/* The loop's count is kept behind it, exactly up to a number, until instruction `at`. */
static void keep_count(weiri_code *c, weiri_loop *l, int count_to, int at) {
    if (!l->told) l->slot = c->nslots++;
    l->units = true;
    if (l->count_to < count_to) l->count_to = count_to;
    if (l->told < at + 1) l->told = at + 1;
}

/* The innermost loop around the instruction, if it runs a number of times, not many; -1: it does not. */
static int short_loop(const counting *o, int i) {
    int l = -1;
    for (int q = 0; q < i; q++)
        if (o->c->ins.v[q].op == IN_LOOP && o->c->ins.v[q + 1].jump > i) l = o->c->ins.v[q].a;
    return l >= 0 && o->c->loops.v[l].trips.fixed && o->c->loops.v[l].trips.base <= 16 && !o->c->loops.v[l].deal ? l : -1;
}

/* Conditions that the units of some loop decide, wherever they are asked, are no questions. */
static void count_conditions(builder *b, trips_list *all) {
    weiri_prog *g = b->g;
    for (int tape = 0; tape < b->key_value.n; tape++) /* the tapes of conditions come first */
        for (int pass = 0, can = !g->tapes.v[tape].named; pass < 2 && can; pass++)
            for (int ci = 0, h = 0; ci < g->code.n && can; h += g->code.v[ci].loops.n, ci++) {
                counting o = { .b = b, .c = &g->code.v[ci], .handles = b->handles.v + h, .all = all, .code = ci };
                for (int i = 0; i < o.c->ins.n && can; i++) {
                    weiri_ins *x = &o.c->ins.v[i], told;
                    if (x->op != IN_WHEN || o.c->keys.v[x->a].tape != tape) continue;
                    const bool turn = g->tapes.v[tape].kind == TAPE_CONST;
                    int count_to = 0;
                    const int in = short_loop(&o, i);
                    can = counted_ahead(&o, i, &told) ||
                          (turn && (counted_behind(&o, i, &told, &count_to) || counted_next(&o, i, -1, &told))) ||
                          (in >= 0 && counted_next(&o, i, in, &told));
                    if (!can || !pass) continue;
                    *x = told;
                    g->counted = true;
                    if (x->op == IN_UNITS && x->from) o.c->loops.v[in].count_to = (int)o.c->loops.v[in].trips.base; /* it has no more */
                    if (x->op != IN_RAN) continue;
                    keep_count(o.c, &o.c->loops.v[x->a], count_to, i);
                }
            }
}

/* The loop at `i` runs as often as one behind it was given units, up to a number; no other of the class follows, whose units it could mean. */
static bool capped_behind(const counting *o, int i, weiri_loop *l) {
    const stretch s = stretch_of(o->c, o->code, i);
    for (int q = i; q-- > 0;) {
        const int cls = o->c->ins.v[q].op == IN_LOOP ? reads(o, q) : -1;
        if (cls < 0 || !leads_to(o->c, q, i) || next_ask(o->b, o->code, o->c->ins.v[i + 1].jump, s.to, cls) < s.to ||
            !weiri_forms_capped(o->b->g->forms, o->handles[o->c->ins.v[i].a], cls, -1, &l->cap, &l->but))
            continue;
        l->behind = 1 + o->c->ins.v[q].a;
        l->trips = (weiri_trips){ 0 };
        l->count_to = l->cap; /* it has no more */
        keep_count(o->c, &o->c->loops.v[l->behind - 1], l->cap + l->but, i);
        return true;
    }
    return false;
}

/* A loop that runs as often as there are units ahead, up to a number, reads none: they are another's. */
static void cap_loops(builder *b, trips_list *all) {
    weiri_prog *g = b->g;
    for (int ci = 0, h = 0; ci < g->code.n; h += g->code.v[ci].loops.n, ci++) {
        counting o = { .b = b, .c = &g->code.v[ci], .handles = b->handles.v + h, .all = all, .code = ci };
        for (int i = 0; i < o.c->ins.n; i++) {
            if (o.c->ins.v[i].op != IN_LOOP || reads(&o, i) < 0 || o.c->loops.v[o.c->ins.v[i].a].node->kind != NODE_LOOP)
                continue;
            weiri_loop *l = &o.c->loops.v[o.c->ins.v[i].a];
            int around = -1, tape = -1;
            for (int q = 0; q < i; q++)
                if (o.c->ins.v[q].op == IN_LOOP && o.c->ins.v[q + 1].jump > i) around = q;
            if (around >= 0) { /* the innermost */
                const int cls = reads(&o, around);
                if (cls < 0 || read_between(&o, around, i, cls) ||
                    !weiri_forms_capped(g->forms, o.handles[o.c->ins.v[i].a], cls, o.handles[o.c->ins.v[around].a], &l->cap, &l->but))
                    continue;
                tape = o.c->loops.v[o.c->ins.v[around].a].trips.part[0].tape;
            }
            if (around < 0 && capped_behind(&o, i, l)) {
                g->counted = true;
                continue;
            }
            for (int cls = 0; around < 0 && tape < 0 && cls < weiri_forms_class_count(g->forms); cls++) {
                if (!weiri_forms_plain(g->forms, cls) || weiri_forms_wanders(g->forms, cls) ||
                    !weiri_forms_capped(g->forms, o.handles[o.c->ins.v[i].a], cls, -1, &l->cap, &l->but))
                    continue;
                const stretch s = stretch_of(o.c, ci, i);
                tape = tape_for(b, all, &s, cls, i);
            }
            if (tape < 0) continue;
            l->trips = (weiri_trips){ .nparts = 1, .part = { { .tape = tape, .rep = 1 } } };
            l->count_to = l->cap;
            g->counted = true;
        }
    }
}

/* The code asks the tape up to `end`; `tiles`: where the loop over tiles ends that is around, or -1; `skip`: in tiles of other lanes. */
static void asked_until(const weiri_prog *g, weiri_code *c, int tape, int end, int tiles, bool skip) {
    if (g->tapes.v[tape].kind == TAPE_TRIPS && !g->tapes.v[tape].tile && tiles > end) c->tape_end[tape] = c->skip_end[tape] = tiles;
    else (skip ? c->skip_end : c->tape_end)[tape] = end;
}

/* Symbols get their tapes once all loops are known. */
static void place_tapes(builder *b) {
    weiri_prog *g = b->g;
    if (g->without & WEIRI_COUNTED) g->counted = weiri_forms_group(g->forms) || g->counted || weiri_forms_apart(g->forms);
    weiri_forms_settle(g->forms);
    trips_list all = { 0 };
    int h = 0;
    for (int ci = 0; ci < g->code.n; ci++) {
        weiri_code *c = &g->code.v[ci];
        for (int i = 0; i < c->ins.n; i++) {
            if (c->ins.v[i].op != IN_LOOP) continue;
            weiri_loop *l = &c->loops.v[c->ins.v[i].a];
            const stretch s = stretch_of(c, ci, i);
            l->trips = weiri_forms_trips(g->forms, b->handles.v[h + c->ins.v[i].a], g->without & WEIRI_IN_TURN);
            for (int q = 0; q < l->trips.nparts; q++) l->trips.part[q].tape = tape_for(b, &all, &s, l->trips.part[q].tape, i);
        }
        h += c->loops.n;
    }
    if (g->without & WEIRI_COUNTED) {
        cap_loops(b, &all);
        count_conditions(b, &all);
    }
    g->root_tape = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
    g->tile_tape = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
    for (int i = 0; i < g->tapes.n; i++) {
        g->root_tape[i] = g->tapes.v[i].tile ? -1 : g->nroot++;
        g->tile_tape[i] = g->tapes.v[i].tile ? g->ntile++ : -1;
    }
    /* where each task asks a tape for the last time: behind the outermost loop around the question, the one over tiles where its tape is of none */
    for (int ci = 0; ci < g->code.n; ci++) {
        weiri_code *c = &g->code.v[ci];
        c->tape_end = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
        c->skip_end = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
        int outer = -1, tiles = -1;
        for (int i = 0; i < c->ins.n; i++) {
            const weiri_ins *x = &c->ins.v[i];
            if (outer >= 0 && i >= outer) outer = -1;
            if (tiles >= 0 && i >= tiles) tiles = -1;
            if (x->op == IN_LOOP && outer < 0) outer = c->ins.v[i + 1].jump;
            if (x->op == IN_TILES) tiles = x->jump;
            const int end = outer >= 0 ? outer : i + 1, skip = i >= c->skip_from && i < c->skip_to;
            for (int cta = 0; cta < g->nctas; cta++) {
                if (x->op == IN_LOOP)
                    for (int q = 0; q < c->loops.v[x->a].trips.nparts; q++)
                        asked_until(g, c, weiri_prog_tape(g, c->loops.v[x->a].trips.part[q].tape, cta),
                                    c->ins.v[i + 1].jump > end ? c->ins.v[i + 1].jump : end, tiles, skip);
                if (x->op == IN_WHEN) asked_until(g, c, weiri_prog_tape(g, c->keys.v[x->a].tape, cta), end, tiles, skip);
                if (x->op == IN_UNITS) asked_until(g, c, weiri_prog_tape(g, x->a, cta), end, tiles, skip);
            }
        }
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

static void place_actors(weiri_prog *g) {
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

/* ---- rings -------------------------------------------------------------------------------------------------------------- */

typedef WEIRI_LIST(int) numbers;

/* Things that turn together are found by union: cursors of actors, barriers of CTAs, storage. */
typedef struct joiner {
    weiri_prog *g;
    int *up; int *stages; bool *fixed;
    int ncur, nbar;              /* actors' cursors, CTAs x bars; then CTAs x regions and actors x regions shared out */
    int *cursor_at;              /* by actor: its first cursor */
    int *actor;                  /* by cursor: its actor */
    bool *shared;                /* by region: are its stages shared out to warpgroups? */
    bool *refilled;              /* by region: does the async proxy fill it? */
    int *share, nshare;          /* by region whose bytes it has: its number among those, or -1 */
    int *first, *next;           /* by root: its first cursor; by cursor: the one behind it, -1 none */
    int *ring;                   /* by root */
    int things;
    numbers *meets;              /* by region: those that share bytes with it, itself left out */
    numbers *here;               /* by region, then by actor for register tiles: locations */
} joiner;

static int root_of(joiner *j, int x) {
    while (j->up[x] != x) x = j->up[x] = j->up[j->up[x]];
    return x;
}

static void join(joiner *j, int x, int y) {
    x = root_of(j, x), y = root_of(j, y);
    if (x == y) return;
    if (j->stages[x] != j->stages[y]) j->fixed[x] = j->fixed[y] = true;
    j->fixed[x] = j->fixed[x] || j->fixed[y];
    j->up[y] = x;
}

/* -1: the cursor is another task's, and never moves here. */
static int thing_cursor(const joiner *j, int actor, int cur) {
    const weiri_prog *g = j->g;
    int local = local_cursor(g, &g->code.v[g->actors.v[actor].code], cur);
    return local < 0 ? -1 : j->cursor_at[actor] + local;
}
static int thing_bar(const joiner *j, int cta, int bar) { return j->ncur + cta * j->g->nbars + bar; }

/* The cursor turns with something; one that never moves keeps it where it is. */
static void join_cursor(joiner *j, int actor, int cur, int thing) {
    int c = thing_cursor(j, actor, cur);
    if (c >= 0) join(j, c, thing);
    else j->fixed[root_of(j, thing)] = true;
}

/* What a stage's accesses touch: the tile, however far apart the plan has put the stages. */
static int64_t bytes_of_stage(const weiri_plan *p, int region) {
    const weiri_region *g = &p->smem.v[region];
    if (g->tmem) return g->stage_bytes; /* columns */
    bool tile = g->res && g->res->rank > 0;
    return tile ? weiri_tile_elems(g->res) * weir_dtype_size(g->dtype) : g->stage_bytes; /* in the type it is stored in */
}

/* Regions of whose stages the warpgroups of a task each have a share. */
static void find_shares(joiner *j) {
    const weiri_plan *p = j->g->p;
    j->shared = WEIRI_NEW_N(j->g->a, bool, p->smem.n + 1);
    j->share = WEIRI_NEW_N(j->g->a, int, p->smem.n + 1);
    for (int i = 0; i < p->smem.n; i++) j->share[i] = -1;
    for (int i = 0; i < p->pipes.n; i++) {
        const weiri_ppipe *x = &p->pipes.v[i];
        if (!x->own || x->region < 0) continue;
        j->shared[x->region] = true;
        j->share[x->region] = j->nshare++; /* the bytes are its own: no fork takes async_tma (G-CFG-10) */
    }
}

static int thing_region(const joiner *j, int cta, int actor, int region) {
    const weiri_prog *g = j->g;
    int first = j->ncur + j->nbar;
    return actor < 0 ? first + cta * g->p->smem.n + region : first + g->nctas * g->p->smem.n + actor * j->nshare + j->share[region];
}

/* CTAs whose bytes an effect touches: loads write at every target, an mma of two CTAs works on the halves of both. */
int weiri_prog_effect(const weiri_prog *g, const weiri_actor *me, const weiri_action *act, const weiri_effect *e, int *out) {
    if ((act->kind == ACT_LOAD_BULK || act->kind == ACT_PUSH_BULK) && e->write) return weiri_prog_targets(g, me->cta, act, out);
    out[0] = me->cta;
    if (act->kind != ACT_MMA || !weiri_tc_pair(g->p->k)) return 1;
    for (int v = 1; v < g->p->k->cluster.v; v++) out[v] = me->cta + v;
    return g->p->k->cluster.v;
}

static void join_action(joiner *j, int ai, const weiri_action *act) {
    weiri_prog *g = j->g;
    const weiri_actor *me = &g->actors.v[ai];
    int to[64], nto;
    if (act->bar >= 0) {
        nto = weiri_prog_spots(g, me->cta, act, to);
        for (int t = 0; t < nto; t++) join_cursor(j, ai, act->cur, thing_bar(j, to[t], act->bar));
        if (g->p->bars.v[act->bar].stages != g->p->cursors.v[act->cur].stages && !g->depth_fault) {
            g->depth_fault =
                weiri_arena_fmt(g->a, "cursor '%s' walks %d stages, its barrier '%s' has %d", g->p->cursors.v[act->cur].name,
                                g->p->cursors.v[act->cur].stages, g->p->bars.v[act->bar].name, g->p->bars.v[act->bar].stages);
            g->depth_at = weiri_act_at(act);
        }
    }
    for (int i = 0; i < act->neff; i++) {
        const weiri_effect *e = &act->eff[i];
        if (e->reg >= 0) continue;
        int region = weiri_data_region(g->p, e->region), whole = j->shared[e->region] ? ai : -1;
        /* the fetch of a tile is made of plain stores */
        if (weiri_prog_kind(act, e) == REC_LOAD && !(act->op && act->op->atom == ATOM_QUEUE_FETCH)) j->refilled[e->region] = true;
        nto = weiri_prog_effect(g, me, act, e, to);
        for (int t = 0; t < nto; t++) {
            int r = thing_region(j, to[t], whole, region);
            if (e->cur >= 0) join_cursor(j, ai, e->cur, r);
            else if (g->p->smem.v[region].stages > 1) j->fixed[root_of(j, r)] = true;
        }
        if (e->cur >= 0 && g->p->cursors.v[e->cur].stages > g->p->smem.v[e->region].stages && !g->depth_fault) {
            g->depth_fault =
                weiri_arena_fmt(g->a, "cursor '%s' walks %d stages, its storage '%s' has %d", g->p->cursors.v[e->cur].name,
                                g->p->cursors.v[e->cur].stages, g->p->smem.v[e->region].name, g->p->smem.v[e->region].stages);
            g->depth_at = weiri_act_at(act);
        }
    }
}

/* Which regions share bytes: each is compared with those that begin before it ends. */
static void find_meets(joiner *j) {
    const weiri_plan *p = j->g->p;
    int n = p->smem.n, *order = WEIRI_NEW_N(j->g->a, int, n + 1);
    for (int i = 0; i < n; i++) { /* they come nearly sorted */
        int at = i;
        for (; at > 0 && p->smem.v[order[at - 1]].offset > p->smem.v[i].offset; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int x = 0; x < n; x++)
        for (int y = x + 1; y < n && p->smem.v[order[y]].offset < p->smem.v[order[x]].offset + p->smem.v[order[x]].size; y++) {
            if (p->smem.v[order[x]].tmem != p->smem.v[order[y]].tmem) continue;
            WEIRI_PUSH(j->g->a, j->meets[order[x]], order[y]);
            WEIRI_PUSH(j->g->a, j->meets[order[y]], order[x]);
        }
}

static int new_ring(weiri_prog *g, int stages) {
    weiri_ring r = { .stages = stages, .ref_actor = -1, .ref_cur = -1, .lanes = 1 };
    WEIRI_PUSH(g->a, g->rings, r);
    return g->rings.n - 1;
}

/* Lists the cursors that turn together, once all are joined. */
static void list_cursors(joiner *j, int things) {
    j->first = WEIRI_NEW_N(j->g->a, int, things + 1);
    j->next = WEIRI_NEW_N(j->g->a, int, j->ncur + 1);
    for (int i = 0; i < things; i++) j->first[i] = -1;
    for (int i = j->ncur - 1; i >= 0; i--) {
        int root = root_of(j, i);
        j->next[i] = j->first[root];
        j->first[root] = i;
    }
}

static const weiri_cursor *plan_cursor(const joiner *j, int cursor, int *cur) {
    const weiri_prog *g = j->g;
    int actor = j->actor[cursor];
    *cur = g->code.v[g->actors.v[actor].code].cursor[cursor - j->cursor_at[actor]];
    return &g->p->cursors.v[*cur];
}

/* The cursor that a ring's uses are counted from; lane >= 0: of those of that lane. */
static weiri_lane origin_cursor(joiner *j, int root, int lane) {
    const weiri_prog *g = j->g;
    int cur;
    for (int var = C_OPEN; var < C_VARS; var++)
        for (int i = j->first[root]; i >= 0; i = j->next[i]) {
            int actor = j->actor[i], local = i - j->cursor_at[actor];
            const weiri_code *c = &g->code.v[g->actors.v[actor].code];
            if (!c->moves[var][local] || !c->matters[var][local]) continue;
            plan_cursor(j, i, &cur);
            if (lane >= 0 && weiri_prog_lane(g, &g->actors.v[actor], cur) != lane) continue;
            return (weiri_lane){ actor, local, var };
        }
    return (weiri_lane){ -1, -1, C_OPEN };
}

/* Lanes that share no cursor's stages: all cursors of the ring take every lanes-th stage. 1: there are none. */
static int ring_lanes(joiner *j, int root) {
    int lanes = 0, cur;
    for (int i = j->first[root]; i >= 0; i = j->next[i]) {
        int stride = plan_cursor(j, i, &cur)->stride;
        if (lanes && stride != lanes) return 1;
        lanes = stride;
    }
    return lanes > 1 ? lanes : 1;
}

static int ring_of(joiner *j, int thing) {
    int r = root_of(j, thing);
    if (j->ring[r] >= 0) return j->ring[r];
    weiri_prog *g = j->g;
    j->ring[r] = new_ring(g, j->stages[r]);
    weiri_ring *ring = &g->rings.v[j->ring[r]];
    weiri_lane o = origin_cursor(j, r, -1);
    ring->ref_actor = o.ref_actor;
    ring->ref_cur = o.ref_cur;
    ring->ref_var = o.ref_var;
    ring->turns = !j->fixed[r] && ring->ref_actor >= 0 && !(g->without & WEIRI_STILL);
    ring->lanes = ring_lanes(j, r);
    ring->first_lane = g->lanes.n;
    for (int l = 0; ring->lanes > 1 && l < ring->lanes; l++) WEIRI_PUSH(g->a, g->lanes, origin_cursor(j, r, l));
    return j->ring[r];
}

/* ---- locations and records ---------------------------------------------------------------------------------------------- */

static int loc_for(joiner *j, int ai, int cta, const weiri_effect *e) {
    weiri_prog *g = j->g;
    weiri_loc l = { .cta = cta, .actor = -1, .region = -1, .reg = -1 };
    if (e->reg >= 0) {
        l.actor = ai;
        l.reg = e->reg;
    } else {
        l.region = weiri_data_region(g->p, e->region);
        if (j->shared[e->region]) l.actor = ai;
        l.lo = e->lo;
        l.hi = e->hi > 0 ? e->hi : bytes_of_stage(g->p, e->region);
    }
    int where = l.region >= 0 ? l.region : g->p->smem.n + ai;
    for (int i = 0; i < j->here[where].n; i++) {
        const weiri_loc *x = &g->locs.v[j->here[where].v[i]];
        if (x->cta == l.cta && x->actor == l.actor && x->reg == l.reg && x->lo == l.lo && x->hi == l.hi) return j->here[where].v[i];
    }
    WEIRI_PUSH(g->a, j->here[where], g->locs.n);
    l.ring = l.region >= 0 ? ring_of(j, thing_region(j, cta, l.actor, l.region)) : 0;
    WEIRI_PUSH(g->a, g->locs, l);
    return g->locs.n - 1;
}

static int find_rec(const weiri_prog *g, int loc, int actor, weiri_rec_kind kind, int by, int deal, bool fenced) {
    const weiri_loc *l = &g->locs.v[loc];
    for (int i = 0; i < l->recs.n; i++) {
        const weiri_rec *r = &g->recs.v[l->recs.v[i]];
        if (r->actor == actor && r->kind == kind && r->by == by && r->deal == deal && fenced == (r->fence_bit >= 0)) return l->recs.v[i];
    }
    return -1;
}

static bool in_tensor_memory(const weiri_prog *g, int loc) {
    int region = g->locs.v[loc].region;
    return region >= 0 && g->p->smem.v[region].tmem;
}

/* Does the async proxy fill these bytes again? */
static bool refills(const joiner *j, const weiri_loc *l) {
    bool any = l->region >= 0 && j->refilled[l->region];
    for (int i = 0; l->region >= 0 && i < j->meets[l->region].n; i++) any = any || j->refilled[j->meets[l->region].v[i]];
    return any;
}

static int rec_for(joiner *j, int loc, int actor, const weiri_action *act, const weiri_effect *e) {
    weiri_prog *g = j->g;
    const weiri_rec_kind kind = weiri_prog_kind(act, e);
    const bool tensor = in_tensor_memory(g, loc); /* a commit of the tensor core is fenced already */
    const bool fenced = tensor ? kind == REC_READ || kind == REC_WRITE
                        : kind == REC_READ ? weiri_plain_read(act, e) && refills(j, &g->locs.v[loc])
                                           : kind == REC_WRITE || kind == REC_CP_WRITE;
    const int by = weiri_prog_by(act), old = find_rec(g, loc, actor, kind, by, e->deal, fenced);
    if (old >= 0) return old;
    int ring = g->locs.v[loc].ring;
    weiri_rec r = { .loc = loc, .actor = actor, .kind = kind, .by = by, .deal = e->deal, .ring = ring, .bit = g->rings.v[ring].bits++ };
    r.fence_bit = fenced ? g->rings.v[ring].bits++ : -1;
    r.seen = tensor ? 1 + g->rings.v[ring].bits++ : 0;
    bool write = kind == REC_WRITE || kind == REC_LOAD || kind == REC_CP_WRITE || kind == REC_MMA_WRITE;
    r.filled = write && !tensor && g->locs.v[loc].region >= 0 ? g->rings.v[ring].bits++ : -1;
    WEIRI_PUSH(g->a, g->recs, r);
    WEIRI_PUSH(g->a, g->locs.v[loc].recs, g->recs.n - 1);
    WEIRI_PUSH(g->a, g->actors.v[actor].recs, g->recs.n - 1);
    return g->recs.n - 1;
}

/* The record that all threads of a warpgroup have got past what bit `bit` of a barrier stands for. */
static int passed_rec(weiri_prog *g, int bar, int actor, int bit) {
    weiri_rec w = { .loc = -1, .actor = actor, .by = BY_ALL, .kind = REC_PASSED, .ring = g->bars[bar].ring,
                    .bit = g->bars[bar].bit + bit, .fence_bit = -1, .filled = -1 };
    WEIRI_PUSH(g->a, g->actors.v[actor].recs, g->recs.n);
    WEIRI_PUSH(g->a, g->recs, w);
    return g->recs.n - 1;
}

/* Who arrives where; at barriers that copies reach, too, that alone says nothing of a phase. */
static void note_arrivals(weiri_prog *g, const weiri_actor *me, const weiri_action *act) {
    int to[64], n = weiri_prog_spots(g, me->cta, act, to), row = me->row + me->by[weiri_prog_by(act)];
    for (int t = 0; t < n; t++) {
        weiri_bari *b = &g->bars[to[t] * g->nbars + act->bar];
        weiri_arriver x = { .actor = (int)(me - g->actors.v), .row = row, .passed = -1 };
        if (act->kind != ACT_ARRIVE) b->lands = true;
        else if (arriver_of(b, row) < 0) WEIRI_PUSH(g->a, b->arrivers, x);
    }
}

/* The records of an action in tensors that others access, too. */
static void gmem_recs(weiri_prog *g, int ai, const weiri_action *act) {
    if (g->gmem_ring < 0 || !weiri_gmem_works(act)) return;
    for (int i = g->place_of[act->op->id]; i >= 0; i = g->places.v[i].next) {
        const weiri_gplace *p = &g->places.v[i];
        if (!p->clashes) continue;
        weiri_rec r = { .loc = -1,
                        .actor = ai,
                        .by = weiri_prog_by(act),
                        .kind = p->share == SHARE_CP                ? REC_CP_WRITE
                                : p->share == SHARE_BULK && p->write ? REC_BULK_READ
                                : p->write                           ? REC_WRITE
                                                                     : REC_READ,
                        .ring = g->gmem_ring,
                        .fence_bit = -1,
                        .filled = -1,
                        .place = i + 1 };
        weiri_ring *ring = &g->rings.v[g->gmem_ring];
        r.bit = ring->bits++;
        if (r.kind == REC_CP_WRITE) r.fence_bit = ring->bits++;
        WEIRI_PUSH(g->a, g->actors.v[ai].recs, g->recs.n);
        WEIRI_PUSH(g->a, g->gmem, g->recs.n);
        WEIRI_PUSH(g->a, g->recs, r);
    }
}

static void place_records(joiner *j, int ai) {
    weiri_prog *g = j->g;
    const weiri_actor *me = &g->actors.v[ai];
    const weiri_code *c = &g->code.v[me->code];
    int to[64];
    g->actors.v[ai].eff = WEIRI_NEW_N(g->a, int, c->ins.n + 1);
    g->actors.v[ai].gmem = WEIRI_NEW_N(g->a, int, c->ins.n + 1);
    for (int i = 0; i < c->ins.n; i++) {
        const weiri_action *act = c->ins.v[i].op == IN_ACT ? c->ins.v[i].act : NULL;
        g->actors.v[ai].eff[i] = g->eff.n;
        g->actors.v[ai].gmem[i] = g->gmem.n;
        if (!act || !weiri_prog_runs(g, me, act)) continue;
        gmem_recs(g, ai, act);
        for (int e = 0; e < act->neff; e++) {
            int n = weiri_prog_effect(g, me, act, &act->eff[e], to);
            for (int t = 0; t < n; t++) {
                int rec = rec_for(j, loc_for(j, ai, to[t], &act->eff[e]), ai, act, &act->eff[e]);
                g->recs.v[rec].body = act->kind == ACT_BODY;
                g->recs.v[rec].pushed = act->kind == ACT_PUSH_BULK;
                if (weiri_joins_itself(act)) g->recs.v[rec].joins = true;
                WEIRI_PUSH(g->a, g->eff, rec);
            }
        }
        if (act->bar >= 0 && act->kind != ACT_WAIT) note_arrivals(g, me, act);
        if (act->kind == ACT_WAIT) {
            weiri_bari *b = &g->bars[me->cta * g->nbars + act->bar];
            weiri_waiter x = { .actor = ai, .passed = -1 };
            if (waiter_of(b, ai) < 0) WEIRI_PUSH(g->a, b->waiters, x);
        }
    }
}

static bool locs_meet(const weiri_loc *x, const weiri_loc *y) {
    if (x->cta != y->cta) return false;
    if (x->region < 0) return x->reg == y->reg;
    if (x->region == y->region) /* whole for all, or shares of warpgroups, which are disjoint */
        return x->lo < y->hi && y->lo < x->hi && x->actor == y->actor;
    return true;
}

/* Which locations share bytes with location x, in order. */
static void find_over(joiner *j, int x) {
    weiri_prog *g = j->g;
    weiri_loc *l = &g->locs.v[x];
    int regions = l->region >= 0 ? j->meets[l->region].n : 0;
    for (int i = -1; i < regions; i++) {
        const numbers *here = &j->here[l->region < 0 ? g->p->smem.n + l->actor : i < 0 ? l->region : j->meets[l->region].v[i]];
        for (int n = 0; n < here->n; n++)
            if (locs_meet(l, &g->locs.v[here->v[n]])) WEIRI_PUSH(g->a, l->over, here->v[n]);
    }
    for (int i = 1; i < l->over.n; i++) {
        int y = l->over.v[i], at = i;
        for (; at > 0 && l->over.v[at - 1] > y; at--) l->over.v[at] = l->over.v[at - 1];
        l->over.v[at] = y;
    }
}

/* Ids of the named barriers in use. */
static void find_named(weiri_prog *g) {
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

static bool has_action(const weiri_prog *g, weiri_act kind) {
    for (int i = 0; i < g->code.n; i++)
        for (int x = 0; x < g->code.v[i].ins.n; x++)
            if (g->code.v[i].ins.v[x].op == IN_ACT && g->code.v[i].ins.v[x].act->kind == kind) return true;
    return false;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

/* Small rings share words; the stages of one never straddle two. */
static void place_bits(weiri_prog *g) {
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->rings.n; i++) {
            weiri_ring *r = &g->rings.v[i];
            bool small = r->bits * r->stages <= 64;
            if (small != (pass == 1)) continue;
            if (!small || at % 64 + r->bits * r->stages > 64) at = (at + 63) / 64 * 64;
            r->at = at;
            r->stride = small ? r->bits : (r->bits + 63) / 64 * 64;
            at += r->stride * r->stages;
        }
    g->nwords = (at + 63) / 64;
}

/* What completes by itself hands on all that its thread knows but what its own threads wrote, and what anybody wrote to a tensor: that may be
 * another SM's. */
static void place_async(const weiri_prog *g, weiri_actor *me) {
    me->async_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    memcpy(me->async_mask, g->own_mask, sizeof(uint64_t) * (size_t)g->nwords);
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        bool own = &g->actors.v[q->actor] == me && (q->kind == REC_WRITE || q->kind == REC_CP_WRITE);
        bool tensor = q->place && g->places.v[q->place - 1].write;
        for (int s = 0; (own || tensor) && s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            me->async_mask[b.word] |= b.mask;
        }
    }
}

static void place_state(weiri_prog *g) {
    const weiri_plan *p = g->p;
    int at = 0;
    for (int i = 0; i < g->actors.n; i++) {
        weiri_actor *a = &g->actors.v[i];
        const weiri_code *c = &g->code.v[a->code];
        a->vars = at;
        at += V_FIXED;
        a->keys = at, at += c->keys.n;
        a->loops = at, at += L_VARS * c->nslots;
        a->cursors = at, at += C_VARS * c->ncursors;
        a->offs = at, at += g->tapes.n;
    }
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        weiri_bari *b = &g->bars[i];
        int stages = p->bars.v[i % g->nbars].stages;
        b->vars = at, at += B_VARS * stages;
        b->row = g->nrows, g->nrows += 2 * stages;
    }
    g->named_at = at, at += g->named.n * g->nctas;
    g->named_row = g->nrows, g->nrows += g->named.n * g->nctas;
    g->cluster_at = at, at += 2;
    g->cluster_row = g->nrows, g->nrows += 2;
    g->stream_at = at, at += 2;     /* tiles known, no more */
    g->root_at = at, at += T_VARS * g->nroot;
    g->tile_at = at, at += T_VARS * g->ntile * WEIRI_TILES;
    g->ncontrol = at = (at + 1) & ~1;
    for (int i = 0; i < g->recs.n; i++) {
        g->recs.v[i].aux = at;
        at += R_VARS * g->rings.v[g->recs.v[i].ring].stages;
    }
    g->nints = (at + 1) & ~1;
    place_bits(g);
    g->must_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    g->own_mask = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    for (int i = 0; i < g->nctas + g->nwait; i++) {
        int n = i < g->nctas ? g->bit_init + i : g->bit_wait + i - g->nctas;
        bit b = bit_of(g, 0, 0, n);
        g->must_mask[b.word] |= b.mask;
    }
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        const weiri_ring *r = &g->rings.v[q->ring];
        for (int s = 0; q->seen && s < r->stages; s++) {
            bit b = bit_of(g, q->ring, s, q->seen - 1);
            g->own_mask[b.word] |= b.mask;
        }
        for (int s = 0; q->filled >= 0 && s < r->stages; s++) {
            bit b = bit_of(g, q->ring, s, q->filled);
            g->must_mask[b.word] |= b.mask;
        }
    }
    for (int i = 0; i < g->actors.n; i++) place_async(g, &g->actors.v[i]);
    weiri_keep_place(g);
}

/* Cursors, barriers and storage, none joined yet. */
static void place_things(joiner *j) {
    const weiri_prog *g = j->g;
    const weiri_plan *p = g->p;
    int nact = g->actors.n;
    j->cursor_at = WEIRI_NEW_N(g->a, int, nact + 1);
    for (int i = 0; i < nact; i++) {
        j->cursor_at[i] = j->ncur;
        j->ncur += g->code.v[g->actors.v[i].code].ncursors;
    }
    j->actor = WEIRI_NEW_N(g->a, int, j->ncur + 1);
    for (int i = 0; i < nact; i++)
        for (int q = 0; q < g->code.v[g->actors.v[i].code].ncursors; q++) j->actor[j->cursor_at[i] + q] = i;
    find_shares(j);
    j->refilled = WEIRI_NEW_N(g->a, bool, p->smem.n + 1);
    j->meets = WEIRI_NEW_N(g->a, numbers, p->smem.n + 1);
    j->here = WEIRI_NEW_N(g->a, numbers, p->smem.n + nact + 1);
    find_meets(j);
    int things = j->things = j->ncur + j->nbar + g->nctas * p->smem.n + nact * j->nshare, first = j->ncur + j->nbar;
    j->up = WEIRI_NEW_N(g->a, int, things + 1);
    j->stages = WEIRI_NEW_N(g->a, int, things + 1);
    j->ring = WEIRI_NEW_N(g->a, int, things + 1);
    j->fixed = WEIRI_NEW_N(g->a, bool, things + 1);
    for (int i = 0; i < things; i++) {
        j->up[i] = i;
        j->ring[i] = -1;
    }
    for (int i = 0, cur; i < j->ncur; i++) {
        const weiri_cursor *c = plan_cursor(j, i, &cur);
        j->stages[i] = c->stages;
        j->fixed[i] = c->stride > 1; /* a lane takes the same stages for good */
    }
    for (int i = 0; i < j->nbar; i++) j->stages[j->ncur + i] = p->bars.v[i % g->nbars].stages;
    for (int r = 0; r < p->smem.n; r++) {
        for (int cta = 0; cta < g->nctas; cta++) j->stages[first + cta * p->smem.n + r] = p->smem.v[r].stages;
        for (int i = 0; i < nact && j->share[r] >= 0; i++) j->stages[thing_region(j, 0, i, r)] = p->smem.v[r].stages;
    }
}

/* Storage whose bytes meet other storage keeps its stage numbers: which stages meet depends on them. */
static void keep_stages(joiner *j) {
    const weiri_prog *g = j->g;
    const weiri_plan *p = g->p;
    for (int x = 0; x < p->smem.n; x++) {
        int whose = weiri_data_region(p, x);
        bool meets = p->smem.v[x].stages > 1 && bytes_of_stage(p, x) > p->smem.v[x].stage_bytes;
        for (int i = 0; i < j->meets[x].n; i++) meets = meets || weiri_data_region(p, j->meets[x].v[i]) != whose;
        for (int cta = 0; meets && cta < g->nctas; cta++) j->fixed[root_of(j, thing_region(j, cta, -1, whose))] = true;
        for (int i = 0; meets && i < g->actors.n && j->share[whose] >= 0; i++)
            j->fixed[root_of(j, thing_region(j, 0, i, whose))] = true;
    }
}

/* A barrier's bits, and the records of what warpgroups pass there. */
static void place_bar(joiner *j, int i) {
    weiri_prog *g = j->g;
    weiri_bari *b = &g->bars[i];
    b->ring = ring_of(j, j->ncur + i);
    b->pairs = b->lands ? 0 : b->arrivers.n;
    weiri_ring *r = &g->rings.v[b->ring];
    b->bit = r->bits;
    r->bits += waiter_bit(b, b->waiters.n);
    int w = 0, a = 0; /* both are in the actors' order */
    while (w < b->waiters.n || a < b->pairs) {
        bool waits = w < b->waiters.n && (a >= b->pairs || b->waiters.v[w].actor <= b->arrivers.v[a].actor);
        const int x = waits ? b->waiters.v[w].actor : b->arrivers.v[a].actor;
        const weiri_actor *me = &g->actors.v[x];
        bool wg = g->p->tasks[me->task].wg_actor;
        if (waits) {
            if (wg) b->waiters.v[w].passed = passed_rec(g, i, x, waiter_bit(b, w));
            w++;
            continue;
        }
        if (wg && b->arrivers.v[a].row == me->row + me->by[BY_LANE]) {
            b->arrivers.v[a].passed = passed_rec(g, i, x, arrival_bit(a, false));
            passed_rec(g, i, x, arrival_bit(a, true));
        }
        a++;
    }
}

/* One place of a tensor gives one number to all tasks; where the kernel waits for the one before, only if that does not write it. */
static void trust_memory(weiri_prog *g, const weiri_tape *t) {
    const bool trips = t->kind == TAPE_TRIPS;
    const uint32_t v[] = { trips ? t->node->start : weiri_key_condition(t), t->node->stop, t->node->step };
    bool tile, cta, read = false;
    for (int i = 0; i < (trips ? 3 : 1) && !t->named; i++)
        read = read || (!weiri_forms_varies(g->p->k, v[i], &tile, &cta) && weiri_forms_settled(g->p->k, v[i], &tile, &cta));
    if (read)
        weiri_prog_trust(g, weiri_arena_fmt(g->a, "that the kernel before does not write what a %s is read from%s",
                                            trips ? "length" : "condition", weiri_prog_at(g->a, t->node)));
}

weiri_prog *weiri_prog_new(const weiri_plan *p, weiri_arena *a, int without) {
    weiri_prog *g = WEIRI_NEW(a, weiri_prog);
    g->p = p;
    g->a = a;
    g->without = without;
    g->nctas = p->cluster > 0 ? p->cluster : 1;
    g->nbars = p->bars.n;
    g->deals = 1;
    g->work = WEIRI_NEW(a, uint64_t);
    g->forms = weiri_forms_new(p->k, a, without & WEIRI_COUNTED);
    builder b = { .g = g };
    sort_cursors(&b);
    find_mates(g);
    WEIRI_ROOM(a, g->code, p->ntasks + 1);
    for (int i = 0; i < p->ntasks; i++) compile_task(&b, i);
    compile_task(&b, -1);
    if (g->why) return g;
    if (!(without & (WEIRI_WIDE | WEIRI_ASKED | WEIRI_COUNTED))) tell(&b);
    place_tapes(&b);
    weiri_gmem_places(g);
    place_actors(g);
    find_named(g);
    int nact = g->actors.n;
    joiner j = { .g = g, .nbar = g->nctas * g->nbars };
    place_things(&j);
    for (int i = 0; i < nact; i++) {
        const weiri_code *c = &g->code.v[g->actors.v[i].code];
        for (int x = 0; x < c->ins.n; x++)
            if (c->ins.v[x].op == IN_ACT && weiri_prog_runs(g, &g->actors.v[i], c->ins.v[x].act))
                join_action(&j, i, c->ins.v[x].act);
    }
    if (g->depth_fault) return g;
    keep_stages(&j);
    list_cursors(&j, j.things);
    new_ring(g, 1); /* ring 0: bits that no stage has */
    if (g->gmem_ring >= 0) g->gmem_ring = new_ring(g, 1 + g->gmem_back + WEIRI_TILES);
    g->bit_init = 0;
    g->bit_remote = g->nctas;
    g->bit_commit = g->bit_remote + (g->nctas > 1 ? nact * g->nctas : 0);
    g->ncommit = has_action(g, ACT_UMMA_COMMIT) ? nact * g->nctas : 0;
    g->bit_wait = g->bit_commit + g->ncommit;
    g->nwait = has_action(g, ACT_GRID_WAIT) ? nact : 0;
    for (int i = 0; g->nwait && i < g->tapes.n; i++) trust_memory(g, &g->tapes.v[i]);
    g->bit_named = g->bit_wait + g->nwait;
    g->rings.v[0].bits = g->bit_named + g->named.n * g->nctas;
    g->bars = WEIRI_NEW_N(a, weiri_bari, j.nbar + 1);
    for (int i = 0; i < nact; i++) place_records(&j, i);
    for (int i = 0; i < j.nbar; i++) place_bar(&j, i);
    for (int i = 0; i < p->pipes.n; i++)
        for (int cta = 0; cta < g->nctas && p->pipes.v[i].full >= 0 && p->pipes.v[i].region >= 0; cta++) {
            weiri_bari *b = &g->bars[cta * g->nbars + p->pipes.v[i].full];
            b->data = true;
            b->res = p->pipes.v[i].res;
        }
    for (int i = 0; i < j.ncur; i++) ring_of(&j, i);
    for (int x = 0; x < g->locs.n; x++) find_over(&j, x);
    place_state(g);
    /* which ring each cursor of each actor turns with */
    for (int i = 0; i < nact; i++) {
        weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        me->ring = WEIRI_NEW_N(a, int, c->ncursors + 1);
        for (int q = 0; q < c->ncursors; q++) me->ring[q] = ring_of(&j, j.cursor_at[i] + q);
    }
    g->ring_origin = WEIRI_NEW_N(a, int, g->rings.n + 1);
    g->lane_origin = WEIRI_NEW_N(a, int, g->lanes.n + 1);
    *g->work += weiri_forms_tried(g->forms);
    return g;
}
