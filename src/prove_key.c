/* Conditions: which of them are one, the tape that each is read off, and how long an answer holds. */
#include "lower.h"
#include "proving.h"

/* ---- tapes -------------------------------------------------------------------------------------------------------------- */

int pg_new_tape(weiri_prog *g, weiri_tape t) {
    int n = t.cta >= 0 ? g->nctas : 1, first = g->tapes.n;
    for (int i = 0; i < n; i++) {
        if (n > 1) t.cta = i;
        WEIRI_PUSH(g->a, g->tapes, t);
    }
    return first;
}

int weiri_prog_tape(const weiri_prog *g, int tape, int cta) { return g->tapes.v[tape].cta < 0 ? tape : tape + cta; }

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

/* ---- asked alike -------------------------------------------------------------------------------------------------------- */

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

int pg_loop_of(const builder *b, const weiri_node *n) {
    int i = b->open.n - 1;
    while (b->c->loops.v[b->open.v[i]].node != n) i--;
    return b->open.v[i];
}

/* Is the condition one on loops' indices, and is nothing around its guards but tiles, loops and conditions? Then it comes out
 * alike, time for time, wherever it is asked in the same blocks. (In tiles of other lanes, guards that move nothing are not
 * compiled: the one guard or none.) */
static bool asks_by_index(const builder *b, const weiri_node *guard) {
    const weir_kernel *k = b->g->p->k;
    const weiri_node *loop = weiri_val(k, guard->of)->scope, *out;
    if (weiri_lanes_of(b->g->p->tasks[b->task].task) && next_on(guard, guard->of)) return false;
    for (const weiri_node *n = guard; n; n = asks_always(k, n) ? NULL : next_on(n, n->of)) {
        bool inside = true;
        if (loop->kind != NODE_LOOP) return false;
        for (out = n->parent; out->parent && out->kind != NODE_TILES; out = out->parent) {
            if (out == loop) inside = false;
            if (out->kind == NODE_LOOP ? inside || b->c->loops.v[pg_loop_of(b, out)].deal : !by_condition(out)) return false;
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

/* ---- keys --------------------------------------------------------------------------------------------------------------- */

bool pg_around_by_cta(const weir_kernel *k, const weiri_node *n) {
    bool tile, cta = false;
    for (; n && !cta; n = n->parent) {
        const uint32_t of[] = { n->of, n->start, n->stop, n->step, n->skip };
        for (int i = 0; i < 5 && !cta; i++)
            if (of[i]) weiri_forms_varies(k, of[i], &tile, &cta);
    }
    return cta;
}

/* Is it the condition of the tape? One that is known at launch is, however it is written; *not: its opposite. */
static bool same_key(const builder *b, int tape, uint32_t value, bool known, bool *not) {
    const weir_kernel *k = b->g->p->k;
    *not = false;
    if (b->key_value.v[tape] == value) return true;
    return known && b->g->tapes.v[tape].kind == TAPE_CONST && weiri_forms_alike(k, b->key_value.v[tape], value, not);
}

/* The tape, of those there are, that the condition is read off as one `t` would be; -1: it is none of them. *not: its opposite
 * is. */
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

int pg_key_for(builder *b, uint32_t value, const char *name, const weiri_node *n, bool *not) {
    weiri_prog *g = b->g;
    const weir_kernel *k = g->p->k;
    bool tile, cta, known = !name && weiri_forms_settled(k, value, &tile, &cta);
    if (!known) tile = true;
    if (name) cta = false; /* the author says that it is one truth */
    const bool own = !known && !name; /* nothing else tells it */
    for (const weiri_node *of = n; of && own && !cta; of = next_on(of, value)) cta = pg_around_by_cta(k, of->parent);
    weiri_key key = { .constant = known };
    key.scope = known ? -2 : b->open.n ? b->open.v[b->open.n - 1] : b->in_tiles ? -1 : -2;
    if (own) { /* the value lives in the block that made it */
        for (const weiri_node *s = weiri_val(k, value)->scope; s; s = s->parent) {
            if (s->kind == NODE_LOOP) { key.scope = pg_loop_of(b, s); break; }
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
        key.tape = pg_new_tape(g, t);
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

bool pg_told_around(const weir_kernel *k, const weiri_node *n, bool *runs) {
    for (const weiri_node *out = n->parent; out; out = out->parent) {
        bool not;
        if (out->kind == NODE_SKIPPABLE || out->key || !by_condition(out) || !weiri_forms_alike(k, out->of, n->of, &not)) continue;
        *runs = (out->guard == n->guard) != not;
        return true;
    }
    return false;
}
