/* The proof: a breadth-first search over what the program may do, for every loop length and tile count. One run is enough for
 * all orders of the actors (docs/proof.md), so the only choices are "one more step or
 * the last?" and the truth of conditions. */
#include "prove.h"
#include "tcgen05.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_NODES = 20000, MAX_BYTES = 96 << 20, AFTER_FAULT = 400, MAX_FAULTS = 6, MAX_WAY = 64, TURNS = 2 };

typedef struct node {
    int parent;
    int8_t letter;
    bool leaf, queued, ahead[2]; /* ahead: by letter, has the way that leads back by it been gone on? */
    int want, want_tile;         /* what is asked there */
} node;
typedef struct found { weiri_fault f; int parent; int letter; bool shown; } found;   /* parent -1: before the first choice */

typedef struct search {
    const weiri_prog *g;
    weir_ctx *ctx;
    size_t size, key;            /* bytes of a state; of its first part, by which states are told apart */
    bool merge;                  /* one node a control state, knowing what all ways to it know */
    bool lean;                   /* it stands only if nothing is found */
    WEIRI_LIST(node) nodes;
    WEIRI_LIST(int) queue;
    unsigned char **state;       /* of each node, canonical */
    int cap, room;
    int *table; int mask;
    WEIRI_LIST(found) found;
    weiri_arena a;               /* nodes, states */
    bool capped, letters_out;    /* gave up on size; on the distance between tasks */
    int far;                     /* ... on the answers to what: a tape, or WEIRI_WANT_TILE */
    bool endless;                /* a task goes round for ever, or nearly */
    const int *force;
    int *misses;                 /* arguments that may yet be tried in vain for the tiles of a path, over all searches */
} search;

static uint64_t hash(const unsigned char *s, size_t n) {
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t x;
        memcpy(&x, s + i, 8);
        h = (h ^ x) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

static void grow(search *s) {
    int room = s->room ? 4 * s->room : 64, slots = 4 * room;
    unsigned char **state = WEIRI_NEW_N(&s->a, unsigned char *, room);
    if (s->nodes.n) memcpy(state, s->state, sizeof *state * (size_t)s->nodes.n);
    s->state = state;
    s->room = room;
    s->table = WEIRI_NEW_N(&s->a, int, slots);
    s->mask = slots - 1;
    for (int i = 0; i < slots; i++) s->table[i] = -1;
    for (int i = 0; i < s->nodes.n; i++) {
        int at = (int)(hash(s->state[i], s->key) & (uint64_t)s->mask);
        while (s->table[at] >= 0) at = (at + 1) & s->mask;
        s->table[at] = i;
    }
}

/* The node of the state's key, or where in the table there is room for it. */
static int slot_of(const search *s, const unsigned char *state) {
    int at = (int)(hash(state, s->key) & (uint64_t)s->mask);
    while (s->table[at] >= 0 && memcmp(s->state[s->table[at]], state, s->key)) at = (at + 1) & s->mask;
    return at;
}

/* Merges the state into the node; queues that if there is news. */
static bool merge_into(search *s, int i, const unsigned char *state) {
    node *n = &s->nodes.v[i];
    if (!s->merge || !weiri_run_merge(s->g, s->state[i], state) || n->leaf) return false;
    if (!n->queued) WEIRI_PUSH(&s->a, s->queue, i);
    n->queued = true;
    return true;
}

/* Adds the state, or merges it into the one with the same key. Returns the node if there it is news, else -1. */
static int add_node(search *s, const weiri_run *r, unsigned char *state, int parent, int letter) {
    const bool leaf = r->done;
    if (s->nodes.n == s->room) grow(s);
    int at = slot_of(s, state), i = s->table[at];
    if (i >= 0) return merge_into(s, i, state) ? i : -1;
    if (s->nodes.n == s->cap || (size_t)s->nodes.n * s->size > MAX_BYTES) {
        s->capped = true;
        return -1;
    }
    s->table[at] = s->nodes.n;
    s->state[s->nodes.n] = weiri_arena_alloc(&s->a, s->size);
    memcpy(s->state[s->nodes.n], state, s->size);
    node n = {
        .parent = parent, .letter = (int8_t)letter, .leaf = leaf, .queued = !leaf, .want = r->want, .want_tile = r->want_tile
    };
    WEIRI_PUSH(&s->a, s->nodes, n);
    if (!leaf) WEIRI_PUSH(&s->a, s->queue, s->nodes.n - 1);
    return s->nodes.n - 1;
}

/* A way has led back to node `to`, by `letter` at node `at`. What is known there is lost stage by stage, as its rings turn: so the way is
 * gone on until they have turned twice, and merged only then. Each state on it can be come to, so nothing is assumed;
 * where it shows a fault, all is left to the search. */
static void run_ahead(search *s, weiri_run *r, unsigned char *scratch, int to, int at, int letter) {
    int8_t way[MAX_WAY];
    int n = 0, most = 0;
    way[n++] = (int8_t)letter;
    for (int i = at; i != to; i = s->nodes.v[i].parent) {
        if (i < 0 || n == MAX_WAY) return;
        way[n++] = s->nodes.v[i].letter;
    }
    for (int i = 0; i < s->g->rings.n; i++)
        if (most < TURNS * s->g->rings.v[i].stages) most = TURNS * s->g->rings.v[i].stages;
    memcpy(r->v, s->state[to], s->size);
    r->want = s->nodes.v[to].want, r->want_tile = s->nodes.v[to].want_tile;
    for (int round = 0; !round || !weiri_run_turned(r, (const int *)(const void *)s->state[to], TURNS); round++) {
        if (round > most) return; /* cover: assert: what moves in one round moves in each */
        for (int i = n; i-- > 0;) {
            if (!weiri_run_may(r, way[i])) return; /* cover: assert: the control of a state decides, and that is as it was */
            weiri_run_choose(r, way[i]);
            weiri_run_go(r);
            if (r->nfaults) return;
            if (r->stuck || r->done) return; /* cover: assert: as above */
        }
    }
    weiri_run_canonical(s->g, r->v, scratch);
    int i = s->table[slot_of(s, (const unsigned char *)r->v)];
    if (i >= 0) merge_into(s, i, (const unsigned char *)r->v); /* cover: assert: it is `to` */
}

/* Of one action, and against one rule? */
static bool alike(const weiri_fault *x, const weiri_fault *y) { return x->rule == y->rule && x->act == y->act && x->actor == y->actor; }

static void note_faults(search *s, const weiri_run *r, int parent, int letter) {
    for (int i = 0; i < r->nfaults; i++) {
        const weiri_fault *f = &r->fault[i];
        int same = 0;
        for (int j = 0; j < s->found.n; j++) {
            const weiri_fault *o = &s->found.v[j].f;
            same += alike(o, f) && o->with == f->with;
        }
        if (same >= 4) continue; /* a few ways to each: one may be more convincing than another */
        found x = { .f = *f, .parent = parent, .letter = letter };
        WEIRI_PUSH(&s->a, s->found, x);
    }
}

static void search_all(search *s, int cap, bool merge) {
    const weiri_prog *g = s->g;
    s->size = weiri_state_size(g);
    s->merge = merge;
    s->key = merge ? sizeof(int) * (size_t)g->ncontrol : s->size;
    s->cap = cap;
    unsigned char *now = weiri_arena_alloc(&s->a, s->size), *scratch = weiri_arena_alloc(&s->a, s->size);
    weiri_run r = { .force = s->force };
    weiri_run_init(&r, g, &s->a, now);
    weiri_run_start(&r);
    weiri_run_go(&r);
    note_faults(s, &r, -1, 0);
    s->endless = r.endless;
    if (r.fatal || r.stuck) return;
    weiri_run_canonical(g, now, scratch);
    add_node(s, &r, now, -1, 0);
    /* Of a proof that stands only if nothing is found, any order will do, and the newest first visits each the least often: a loop has told what
     * it loses before others go by it. Ways to what is found are shortest the other way. */
    const bool newest = g->narrow || g->told || g->counted;
    int stop = cap, q = 0;
    while (q < s->queue.n && s->nodes.n < stop && !s->capped && !(s->found.n && s->lean)) {
        int at = newest ? s->queue.v[--s->queue.n] : s->queue.v[q++], answers = 0;
        s->nodes.v[at].queued = false;
        for (int letter = 0; letter < 2; letter++) {
            memcpy(now, s->state[at], s->size);
            r.want = s->nodes.v[at].want, r.want_tile = s->nodes.v[at].want_tile;
            if (weiri_run_far(&r)) s->letters_out = true, s->far = r.want;
            if (!weiri_run_may(&r, letter)) continue;
            answers++;
            weiri_run_choose(&r, letter);
            weiri_run_go(&r);
            note_faults(s, &r, at, letter);
            s->endless = s->endless || r.endless;
            if (r.nfaults && stop > s->nodes.n + AFTER_FAULT) stop = s->nodes.n + AFTER_FAULT;
            if (r.fatal || r.stuck) continue;
            weiri_run_canonical(g, now, scratch);
            int to = add_node(s, &r, now, at, letter);
            if (to >= 0 && to <= at && !s->nodes.v[at].ahead[letter] && !(g->without & WEIRI_STAGEWISE)) {
                s->nodes.v[at].ahead[letter] = true;
                run_ahead(s, &r, scratch, to, at, letter);
            }
        }
        if (!answers) s->letters_out = true, s->far = r.want;
    }
    if (q < s->queue.n) s->capped = true; /* not all of them have been looked at */
}

static void search_start(search *s, const weiri_prog *g, weir_ctx *ctx, const int *force, int *misses) {
    memset(s, 0, sizeof *s);
    s->g = g;
    s->ctx = ctx;
    s->force = force;
    s->misses = misses;
    s->lean = g->narrow || g->told || g->counted;
    weiri_arena_init(&s->a, ctx);
}

static void took(const weiri_prog *g, const weiri_arena *a) { *g->work += a->total / sizeof(uint64_t); }

static void search_end(search *s) {
    took(s->g, &s->a);
    weiri_arena_free(&s->a);
}

/* ---- replay ------------------------------------------------------------------------------------------------------------- */

/* What a question about one tile got for an answer: a condition's truth; a length, or the least it can be. */
typedef struct fact {
    int tape, tile;
    int64_t n, is;               /* is: a length with the coordinates that are tried */
    bool closed;
} fact;

typedef struct firings {
    uint64_t truth;
    int n, tile;
} firings; /* bit i: how the condition came out the i-th time, of 63, in its first tile */

/* How often a loop ran, time for time, in its first tile, where that may be another number each time; the last: at least so often. */
typedef struct lengths { WEIRI_LIST(int64_t) n; bool open; int tile; } lengths;

typedef struct replay {
    weiri_run r;
    weiri_arena *a;
    WEIRI_LIST(fact) facts;      /* of lengths and conditions that the tile's coordinates and the launch decide */
    int nletters;
    bool plausible;              /* lengths fixed for the launch, or for a tile, are the same each time they are asked */
    int64_t *seen;               /* by form: units of its instances, -1 unknown; open ones: at least `open` */
    int64_t *open;
    int8_t *key;                 /* by tape: a condition of sizes alone, 1 false, 2 true, 0 not asked */
    firings *fired;              /* by tape: of a condition on a loop's index, a body's return, ... */
    lengths *ran;                /* by tape: of a loop whose length follows an index, a body's return, ... */
} replay;

static bool decided(const weir_kernel *k, uint32_t id) {
    bool tile, cta;
    return weiri_forms_varies(k, id, &tile, &cta) && !cta;
}

static void see_tile(replay *p, const weiri_tape *t, int letter) {
    const weiri_run *r = &p->r;
    const weir_kernel *k = r->g->p->k;
    bool trips = t->kind == TAPE_TRIPS;
    if (trips ? !decided(k, t->node->start) || !decided(k, t->node->stop) || !decided(k, t->node->step)
              : !decided(k, weiri_key_condition(t)))
        return;
    fact f = { .tape = r->want, .tile = r->left + r->want_tile, .n = letter, .closed = true };
    if (trips) {
        f.n = weiri_run_tape(r, r->want, r->want_tile)[T_TOTAL] + (letter ? 1 : 0);
        f.closed = !letter;
    }
    for (int i = 0; i < p->facts.n; i++) {
        fact *o = &p->facts.v[i];
        if (o->tape != f.tape || o->tile != f.tile) continue;
        if (!o->closed) o->n = f.n, o->closed = f.closed;
        else if (f.closed ? f.n != o->n : f.n > o->n) p->plausible = false; /* inside a loop, and not so long each time */
        return;
    }
    WEIRI_PUSH(p->a, p->facts, f);
}

static void see_length(replay *p, int letter) {
    const weiri_run *r = &p->r;
    lengths *x = &p->ran[r->want];
    const int tile = r->left + r->want_tile;
    if (x->n.n && x->tile != tile) return;
    if (!x->open) WEIRI_PUSH(p->a, x->n, 0);
    x->n.v[x->n.n - 1] = weiri_run_tape(r, r->want, r->want_tile)[T_TOTAL] + letter;
    x->open = letter != 0;
    x->tile = tile;
}

static void see_letter(replay *p, int letter) {
    const weiri_run *r = &p->r;
    if (r->want < 0) return;
    const weiri_tape *t = &r->g->tapes.v[r->want];
    firings *x = &p->fired[r->want];
    const int tile = r->left + r->want_tile;
    if (t->kind == TAPE_KEY && x->n < 63 && (!x->n || x->tile == tile)) {
        x->truth |= (uint64_t)letter << x->n++;
        x->tile = tile;
    }
    bool of_tile, of_cta; /* what memory says is believed */
    if (t->kind == TAPE_CONST && !t->tile && weiri_forms_varies(r->g->p->k, weiri_key_condition(t), &of_tile, &of_cta))
        p->key[r->want] = (int8_t)(1 + letter);
    if (t->tile && (t->kind == TAPE_CONST || (t->kind == TAPE_TRIPS && !t->steady))) see_tile(p, t, letter);
    if (t->kind == TAPE_TRIPS && t->apart) see_length(p, letter);
    if (t->kind != TAPE_TRIPS || !t->steady) return;
    int64_t n = weiri_run_tape(r, r->want, r->want_tile)[T_TOTAL];
    if (letter) {
        if (n + 1 > p->open[t->form]) p->open[t->form] = n + 1;
    } else {
        if (p->seen[t->form] >= 0 && p->seen[t->form] != n) p->plausible = false;
        p->seen[t->form] = n;
    }
}

/* Did a condition on nothing but its loop's index come out otherwise than that index has it? */
static bool against_index(const weir_kernel *k, const weiri_tape *t, const firings *x) {
    bool truth;
    for (int i = 0; i < x->n; i++)
        if (weiri_key_at(k, t, i, &truth) && truth != (x->truth >> i & 1)) return true;
    return false;
}

/* Conditions of one form, on indices that run through the same numbers, come out alike in every task, and each as its index has it: not
 * so here? */
static bool other_cta(const weiri_tape *x, const weiri_tape *y) { return x->cta >= 0 && y->cta >= 0 && x->cta != y->cta; }

static bool truths_impossible(const replay *p) {
    const weiri_prog *g = p->r.g;
    bool not;
    for (int i = 0; i < g->tapes.n; i++)
        if (p->fired[i].n && against_index(g->p->k, &g->tapes.v[i], &p->fired[i])) return true;
    for (int i = 0; i < g->tapes.n; i++)
        for (int j = 0; j < i && p->fired[i].n; j++) {
            const firings *x = &p->fired[i], *y = &p->fired[j];
            const int n = x->n < y->n ? x->n : y->n;
            const uint64_t both = ((uint64_t)1 << n) - 1;
            if (!n || g->tapes.v[i].named || g->tapes.v[j].named || other_cta(&g->tapes.v[i], &g->tapes.v[j]) ||
                !weiri_forms_alike(g->p->k, weiri_key_condition(&g->tapes.v[i]), weiri_key_condition(&g->tapes.v[j]), &not ))
                continue;
            if (((x->truth ^ y->truth ^ (not ? ~(uint64_t)0 : 0)) & both) != 0) return true;
        }
    return false;
}

/* Tasks that do not ask alike have tapes of their own for loops of one form. Is there a time at which two of them do not agree? Then the
 * fault may come of that alone. */
static bool lengths_doubtful(const replay *p) {
    const weiri_prog *g = p->r.g;
    for (int i = 0; i < g->tapes.n; i++)
        for (int j = 0; j < i; j++) {
            const weiri_tape *t = &g->tapes.v[i], *u = &g->tapes.v[j];
            const lengths *x = &p->ran[i], *y = &p->ran[j];
            if (t->form != u->form || other_cta(t, u)) continue;
            for (int q = 0; q < x->n.n && q < y->n.n; q++) {
                const bool xopen = x->open && q == x->n.n - 1, yopen = y->open && q == y->n.n - 1; /* at least so often */
                const int64_t m = x->n.v[q], n = y->n.v[q];
                if ((m < n && !xopen) || (n < m && !yopen)) return true;
            }
        }
    return false;
}

/* Runs the choices that lead to a fault again, keeping texts and events. Returns the fault, NULL if it does not come back. */
static const weiri_fault *run_again(search *s, const found *x, replay *p, weiri_arena *a) {
    const weiri_prog *g = s->g;
    int n = 0;
    for (int i = x->parent; i > 0; i = s->nodes.v[i].parent) n++;
    int8_t *letters = WEIRI_NEW_N(&s->a, int8_t, n + 2);
    int nl = 0;
    if (x->parent >= 0) {
        nl = n + 1;
        letters[n] = (int8_t)x->letter;
        for (int i = x->parent, at = n - 1; i > 0; i = s->nodes.v[i].parent) letters[at--] = s->nodes.v[i].letter;
    }
    memset(p, 0, sizeof *p);
    p->a = &s->a;
    p->plausible = true;
    p->nletters = nl;
    int forms = weiri_forms_class_count(g->forms);
    p->seen = WEIRI_NEW_N(&s->a, int64_t, forms + 1);
    p->open = WEIRI_NEW_N(&s->a, int64_t, forms + 1);
    p->key = WEIRI_NEW_N(&s->a, int8_t, g->tapes.n + 1);
    p->fired = WEIRI_NEW_N(&s->a, firings, g->tapes.n + 1);
    p->ran = WEIRI_NEW_N(&s->a, lengths, g->tapes.n + 1);
    for (int i = 0; i < forms; i++) p->seen[i] = -1;
    p->r.replay = true;
    p->r.force = s->force;
    p->r.rec_act = WEIRI_NEW_N(&s->a, const weiri_action *, g->nints + 1);
    p->r.last_commit = WEIRI_NEW_N(&s->a, const weiri_action *, g->actors.n + 1);
    weiri_run_init(&p->r, g, a, weiri_arena_alloc(&s->a, s->size));
    weiri_run_start(&p->r);
    weiri_run_go(&p->r);
    for (int i = 0; i < nl; i++) {
        see_letter(p, letters[i]);
        weiri_run_choose(&p->r, letters[i]);
        weiri_run_go(&p->r);
    }
    for (int i = 0; i < forms; i++)
        if (p->seen[i] >= 0 && p->open[i] > p->seen[i]) p->plausible = false;
    if (truths_impossible(p) || lengths_doubtful(p)) p->plausible = false;
    for (int i = 0; i < p->r.nfaults; i++) {
        const weiri_fault *f = &p->r.fault[i];
        if (alike(f, &x->f) && f->with == x->f.with) return f;
    }
    return NULL;
}

/* ---- are the lengths possible together? --------------------------------------------------------------------------------- */

/* Arguments of a launch, tried or found. */
typedef struct trial { int64_t *dims; double *scalars; bool *dim_used, *scalar_used; bool found; } trial;

/* Can these arguments be launched, as the author assumes, and do they make the conditions come out as they did? */
static bool conditions_hold(const weiri_prog *g, const replay *p, const trial *t) {
    const weir_kernel *k = g->p->k;
    weiri_env e = { .k = k, .dims = t->dims, .scalars = t->scalars, .cta = -1 };
    int64_t x;
    for (int i = 0; g->tiles && i < g->tiles->queue->qrank; i++)
        if (!weiri_range_number(&e, g->tiles->queue->extent[i].id, &x)) return false;
    if (!weiri_range_allowed(&e)) return false;
    for (int i = 0; i < g->tapes.n; i++) {
        e.cta = g->tapes.v[i].cta;
        if (p->key[i] && (!weiri_range_number(&e, weiri_key_condition(&g->tapes.v[i]), &x) || (x != 0) != (p->key[i] == 2)))
            return false;
    }
    return true;
}

static bool lengths_hold(const weiri_prog *g, const replay *p, const trial *t) {
    weiri_env e = { .k = g->p->k, .dims = t->dims, .scalars = t->scalars, .cta = -1 };
    for (int i = 0; i < weiri_forms_class_count(g->forms); i++) {
        int64_t n;
        if (p->seen[i] < 0 && p->open[i] <= 0) continue;
        if (!weiri_forms_eval(g->forms, i, &e, &n)) return false;
        if (p->seen[i] >= 0 ? n != p->seen[i] : n < p->open[i]) return false;
    }
    return true;
}

/* Is a length of the tile, now f->is, longer than, as long as, shorter than the tile's other lengths, as it was? */
static bool ranks_alike(const weiri_prog *g, const replay *p, const fact *f) {
    for (int i = 0; i < p->facts.n; i++) {
        const fact *o = &p->facts.v[i];
        const bool longer = o->n > f->n, known = longer || o->closed; /* an open one is at least so long */
        if (o->tile != f->tile || !known || g->tapes.v[o->tape].kind != TAPE_TRIPS) continue;
        if ((f->is < o->is) != longer || (f->is > o->is) != (f->n > o->n)) return false;
    }
    return true;
}

/* Do a tile's lengths, with the coordinates in e, come out as they did? Roughly: beside each other, an open one if it is none of nothing. */
static bool lengths_of_tile_hold(const weiri_prog *g, const replay *p, int tile, weiri_env *e, bool roughly) {
    for (int pass = 0; pass <= roughly; pass++)
        for (int i = 0; i < p->facts.n; i++) {
            fact *f = &p->facts.v[i];
            const weiri_tape *t = &g->tapes.v[f->tape];
            if (f->tile != tile || t->kind != TAPE_TRIPS) continue;
            if (!pass && !weiri_forms_eval(g->forms, t->form, e, &f->is)) return false;
            if (!roughly && (f->closed ? f->is != f->n : f->is < f->n)) return false;
            if (pass && (f->closed ? !ranks_alike(g, p, f) : !f->is)) return false;
        }
    return true;
}

/* Are there coordinates for each tile of the run with which its lengths and conditions come out as they did? Roughly: the lengths that
 * a run is found with are the shortest, which conditions of the same coordinates may not allow. */
static bool tiles_hold(const weiri_prog *g, const replay *p, const trial *t, weiri_sampler *tries, bool roughly) {
    const weir_res *q = g->p->queue;
    if (!p->facts.n) return true; /* they are of tiles: there is a queue */
    weiri_env e = { .k = g->p->k, .dims = t->dims, .scalars = t->scalars, .cta = -1 };
    int64_t coord[WEIRI_PAST][WEIR_MAX_RANK], n;
    int last = 0;
    for (int i = 0; i < p->facts.n; i++) last = p->facts.v[i].tile > last ? p->facts.v[i].tile : last;
    for (int tile = 0; tile <= last; tile++) {
        bool fits = false;
        for (int attempt = 0; attempt < 30 && !fits; attempt++) {
            e.coord = NULL;
            e.counts = false;
            if (!weiri_sampler_tile(tries, &e, q, coord[tile % WEIRI_PAST])) return false;
            e.coord = coord[tile % WEIRI_PAST];
            for (int i = 1; i < WEIRI_PAST && i <= tile; i++) e.before[i] = coord[(tile - i) % WEIRI_PAST];
            fits = lengths_of_tile_hold(g, p, tile, &e, roughly);
            e.counts = false;
            for (int i = 0; i < p->facts.n && fits; i++) {
                const fact *f = &p->facts.v[i];
                const weiri_tape *tape = &g->tapes.v[f->tape];
                if (f->tile == tile && tape->kind != TAPE_TRIPS)
                    fits = weiri_range_number(&e, weiri_key_condition(tape), &n) && (n != 0) == (f->n != 0);
            }
        }
        if (!fits) return false;
    }
    return true;
}

static trial new_trial(search *s) {
    const weir_kernel *k = s->g->p->k;
    return (trial){ .dims = WEIRI_NEW_N(&s->a, int64_t, k->dims.n + 1),
                    .scalars = WEIRI_NEW_N(&s->a, double, k->scalars.n + 1),
                    .dim_used = WEIRI_NEW_N(&s->a, bool, k->dims.n + 1),
                    .scalar_used = WEIRI_NEW_N(&s->a, bool, k->scalars.n + 1) };
}

/* Does the answer hang on what the search leaves open: the index of a loop around, or where a CTA stands? */
static bool is_open(const weiri_tape *t) { return t->apart || t->cta >= 0 || (t->kind == TAPE_KEY && !t->named); }

static bool leaves_open(const weiri_prog *g) {
    for (int i = 0; i < g->tapes.n; i++)
        if (is_open(&g->tapes.v[i])) return true;
    return false;
}

/* Marks the arguments that the answer hangs on. */
static void mark_tape(const weir_kernel *k, const weiri_tape *t, trial *out) {
    const bool trips = t->kind == TAPE_TRIPS;
    const uint32_t v[] = { trips ? t->node->start : weiri_key_condition(t), t->node->stop, t->node->step };
    for (int q = 0; q < (trips ? 3 : 1); q++) weiri_range_used(k, v[q], out->dim_used, out->scalar_used);
}

/* ... and the indices of the loops around, which come of their bounds. */
static void mark_around(const weir_kernel *k, const weiri_tape *t, trial *out) {
    mark_tape(k, t, out);
    for (const weiri_node *l = t->node->parent; l; l = l->parent) {
        const uint32_t w[] = { l->start, l->stop, l->step };
        for (int q = 0; l->kind == NODE_LOOP && q < 3; q++) weiri_range_used(k, w[q], out->dim_used, out->scalar_used);
    }
}

/* Two loops of one launch are tied by its arguments. Looks for some that give the counts seen, computed as the kernel does; false: none
 * found. `exact`: what the search leaves open, too, is to be computed with them. */
static bool sizes_exist(search *s, const replay *p, bool exact, trial *best, weiri_buf *text) {
    const weiri_prog *g = s->g;
    const weir_kernel *k = g->p->k;
    int forms = weiri_forms_class_count(g->forms);
    bool asked = exact;
    *best = new_trial(s);
    for (int i = 0; i < forms; i++) {
        if (p->seen[i] < 0 && p->open[i] <= 0) continue;
        int least, most;
        bool steady, per;
        const weiri_node *n;
        weiri_forms_class(g->forms, i, &least, &most, &steady, &per, &n);
        weiri_range_used(k, n->start, best->dim_used, best->scalar_used);
        weiri_range_used(k, n->stop, best->dim_used, best->scalar_used);
        weiri_range_used(k, n->step, best->dim_used, best->scalar_used);
        asked = true;
    }
    for (int i = 0; i < g->tapes.n; i++) {
        const weiri_tape *t = &g->tapes.v[i];
        if (p->key[i]) mark_tape(k, t, best), asked = true;
        if (exact && is_open(t)) mark_around(k, t, best);
    }
    for (int i = 0; i < p->facts.n; i++) {
        const weir_res *q = g->p->queue;
        for (int x = 0; x < q->qrank; x++) weiri_range_used(k, q->extent[x].id, best->dim_used, best->scalar_used);
        mark_tape(k, &g->tapes.v[p->facts.v[i].tape], best);
        asked = true;
    }
    if (!asked) return true;
    weiri_sampler tries = weiri_sampler_new(k), tile_tries = tries;
    for (int i = 0; i < forms; i++)
        if (p->seen[i] > 0 || p->open[i] > 0) weiri_sampler_like(&tries, p->seen[i] > 0 ? p->seen[i] : p->open[i]);
    for (int tiles = 2; p->facts.n && tiles < 16; tiles = 2 * tiles + 1) weiri_sampler_like(&tries, tiles);
    trial t = new_trial(s);
    double least = -1;
    bool roughly = false; /* only where nothing fits well */
    for (int attempt = 0, more = 400, misses = 300; attempt < 4000 && more > 0 && misses > 0 && *s->misses > 0;
         attempt++, more -= least >= 0) {
        double sum = 0;
        roughly = roughly || (misses < 200 && least < 0);
        weiri_sampler_next(&tries, t.dims, t.scalars);
        for (int i = 0; i < k->dims.n; i++) sum += best->dim_used[i] ? (double)t.dims[i] : 0;
        for (int i = 0; i < k->scalars.n; i++) {
            double y = t.scalars[i];
            if (best->scalar_used[i]) sum += fabs(y) < 1e9 ? fabs(y) + (y < 0 ? 0.5 : 0) : 1e9;
        }
        if ((least >= 0 && sum >= least) || !conditions_hold(g, p, &t) || !lengths_hold(g, p, &t)) continue;
        if (!tiles_hold(g, p, &t, &tile_tries, roughly)) {
            misses--, --*s->misses;
            continue;
        }
        least = sum;
        best->found = true;
        memcpy(best->dims, t.dims, sizeof *t.dims * (size_t)k->dims.n);
        memcpy(best->scalars, t.scalars, sizeof *t.scalars * (size_t)k->scalars.n);
    }
    if (least >= 0) weiri_range_put_args(k, "with ", best->dims, best->scalars, best->dim_used, best->scalar_used, text);
    return least >= 0;
}

/* ---- report ------------------------------------------------------------------------------------------------------------- */

static void put_event(const weiri_prog *g, const weiri_event *e, char *out, size_t n) {
    const weiri_action *a = e->act;
    char where[32] = "";
    const weir_place *at = weiri_act_at(a);
    if (at) snprintf(where, sizeof where, ":%d ", at->line);
    if (a->bar >= 0 && e->phase < 0)
        snprintf(out, n, "%s%s %s[%d], free", where, weiri_act_name(a->kind), g->p->bars.v[a->bar].name, e->stage);
    else if (a->bar >= 0)
        snprintf(out, n, "%s%s %s[%d] phase %d", where, weiri_act_name(a->kind), g->p->bars.v[a->bar].name, e->stage, e->phase);
    else if (a->kind == ACT_MMA_WAIT || a->kind == ACT_BULK_WAIT)
        snprintf(out, n, "%s%s %d", where, weiri_act_name(a->kind), a->n);
    else if (e->stage >= 0) snprintf(out, n, "%s%s stage %d", where, weiri_act_name(a->kind), e->stage);
    else snprintf(out, n, "%s%s", where, weiri_act_name(a->kind));
}

/* One column a task (of its actor that the fault is about), the last steps, then where everybody stands. */
static const char *trace_text(search *s, replay *p, const weiri_fault *x, weiri_arena *a) {
    const weiri_prog *g = s->g;
    weiri_buf b;
    weiri_buf_init(&b, s->ctx);
    enum { WIDE = 36, ROWS = 24, COLS = 4 };
    int col[COLS], ncol = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->actors.n; i++) {
            const weiri_actor *me = &g->actors.v[i];
            bool about = i == x->who || i == x->other, there = false;
            for (int c = 0; c < ncol; c++) there = there || g->actors.v[col[c]].task == me->task;
            if (me->code < g->p->ntasks && ncol < COLS && (pass ? !there : about)) col[ncol++] = i;
        }
    for (int c = 0; c < ncol; c++) weiri_put(&b, "%s%-*s", c ? "" : "  ", c + 1 < ncol ? WIDE : 0, g->actors.v[col[c]].name);
    weiri_put(&b, "\n");
    int shown = 0;
    for (int i = 0; i < p->r.log.n; i++)
        for (int c = 0; c < ncol; c++) shown += p->r.log.v[i].actor == col[c];
    int skip = shown > ROWS ? shown - ROWS : 0, tiles = g->tiles ? p->r.left + p->r.v[g->stream_at] : 1;
    if (tiles > 1) weiri_put(&b, "  %d work tiles\n", tiles);
    if (skip) weiri_put(&b, "  (%d earlier steps)\n", skip);
    for (int i = 0; i < p->r.log.n; i++)
        for (int c = 0; c < ncol; c++) {
            if (p->r.log.v[i].actor != col[c] || skip-- > 0) continue;
            char cell[160];
            put_event(g, &p->r.log.v[i], cell, sizeof cell);
            weiri_put(&b, "  %*s%s\n", c * WIDE, "", cell);
        }
    for (int i = 0; p->r.stuck && i < g->actors.n; i++) {
        const weiri_action *act;
        const char *t = weiri_run_stop_text(&p->r, i, &act);
        const weir_place *at = weiri_act_at(act);
        if (!t) continue;
        weiri_put(&b, "  %s %s", g->actors.v[i].name, t);
        if (at) weiri_put(&b, " (%s:%d)", weiri_file_name(at->file), at->line);
        weiri_put(&b, "\n");
    }
    const char *text = weiri_arena_str(a, b.s ? b.s : ""); /* cover: memory */
    weiri_buf_free(&b);
    return text;
}

/* "0 .. n", "0 .. n by 2" and where it stands. */
static void put_loop(const weir_kernel *k, const weiri_node *loop, weiri_arena *a, weiri_buf *out) {
    int64_t by;
    weiri_value_print(k, loop->start, out);
    weiri_put(out, " .. ");
    weiri_value_print(k, loop->stop, out);
    if (!weiri_value_const(k, loop->step, &by) || by != 1) weiri_put(out, " by "), weiri_value_print(k, loop->step, out);
    weiri_put(out, "%s", weiri_prog_at(a, loop));
}

/* ---- what makes two tasks fall out of step ------------------------------------------------------------------------------ */

/* Where a task meets a barrier: its steps there with the arguments found, the innermost loop and condition around it. */
typedef struct meeting { const char *task; int64_t steps; bool known; const weiri_node *loop, *guard; } meeting;

static int64_t steps_of(const weiri_node *n, weiri_env *e, bool *known) {
    int64_t from, to, by;
    e->counts = true;
    *known = *known && weiri_range_number(e, n->start, &from) && weiri_range_number(e, n->stop, &to) &&
             weiri_range_number(e, n->step, &by) && by;
    if (!*known) return 0;
    int64_t far = by > 0 ? to - from : from - to, step = by > 0 ? by : -by;
    return far > 0 ? (far + step - 1) / step : 0;
}

/* The first wait for the barrier (or else the first arrival) in the code of a task other than `not_of`; false: there is none. */
static bool find_meeting(const weiri_prog *g, int bar, bool wait, int not_of, const trial *t, meeting *out, int *task) {
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        if (me->task == not_of || me->code >= g->p->ntasks) continue;
        for (int pc = 0; pc < c->ins.n; pc++) {
            const weiri_action *a = c->ins.v[pc].op == IN_ACT ? c->ins.v[pc].act : NULL;
            if (!a || a->bar != bar || (a->kind == ACT_WAIT) != wait) continue;
            weiri_env e = { .k = g->p->k, .dims = t->found ? t->dims : NULL, .scalars = t->found ? t->scalars : NULL, .cta = me->cta };
            *out = (meeting){ .task = g->p->tasks[me->task].task->name, .steps = 1, .known = true };
            *task = me->task;
            for (int q = 0; q < pc; q++) {
                const weiri_ins *x = &c->ins.v[q];
                if (x->op == IN_LOOP && c->ins.v[q + 1].jump > pc) {
                    out->loop = c->loops.v[x->a].node;
                    out->steps *= steps_of(out->loop, &e, &out->known);
                }
                if (x->guard && x->jump > pc) out->guard = x->guard;
            }
            return true;
        }
    }
    return false;
}

/* What a guard, or the skippable part of a tile, asks; does it open if that holds? */
static uint32_t condition_of(const weiri_node *guard) { return guard->kind == NODE_TILES ? guard->skip : guard->of; }
static bool opens(const weiri_node *guard) { return guard->kind == NODE_GUARD && guard->guard == WEIR_GUARD_TRUE; }

static bool same_guard(const weir_kernel *k, const weiri_node *x, const weiri_node *y) {
    bool not;
    if (!x || !y) return x == y;
    return weiri_forms_alike(k, condition_of(x), condition_of(y), &not ) && not == (opens(x) != opens(y));
}

static bool is_returned(const weir_kernel *k, const weiri_node *loop) {
    return weiri_value_uses(k, loop->start, WEIR_OP_RETURN) || weiri_value_uses(k, loop->stop, WEIR_OP_RETURN);
}

/* The mend, where two loops or two conditions are the cause; else NULL. `with`: the arguments, as text. */
static const char *out_of_step_hint(search *s, const replay *p, const weiri_fault *x, const trial *t, const char *with,
                                    weiri_arena *a) {
    const weiri_prog *g = s->g;
    int bar = -1, one, two;
    meeting m, n;
    if (!strcmp(x->rule, "PROVE-LOST")) bar = x->with;
    else if (!strcmp(x->rule, "PROVE-DEADLOCK")) {
        const weiri_actor *me = &g->actors.v[x->who];
        const weiri_action *stop = g->code.v[me->code].ins.v[p->r.v[me->vars + V_PC]].act;
        if (stop->kind == ACT_WAIT) bar = stop->bar;
    }
    if (bar < 0 || !find_meeting(g, bar, true, -1, t, &m, &one) || !find_meeting(g, bar, false, one, t, &n, &two)) return NULL;
    if (m.known && n.known && m.steps != n.steps)
        return weiri_arena_fmt(a, "'%s' runs %" PRId64 " step%s%s, '%s' %" PRId64 "%s%s%s: make both equally long", m.task,
                               m.steps, m.steps == 1 ? "" : "s", weiri_prog_at(a, m.loop), n.task, n.steps,
                               weiri_prog_at(a, n.loop), *with ? " " : "", with);
    const weir_kernel *k = g->p->k;
    bool unlike = m.loop && n.loop && !(m.known && n.known) &&
                  !(weiri_forms_same(k, m.loop->start, n.loop->start) && weiri_forms_same(k, m.loop->stop, n.loop->stop) &&
                    weiri_forms_same(k, m.loop->step, n.loop->step));
    if (!unlike && same_guard(k, m.guard, n.guard)) return NULL;
    weiri_buf b;
    weiri_buf_init(&b, s->ctx);
    for (int i = 0; i < 2 && unlike; i++) { /* lengths of a tile, or that only the device knows */
        const meeting *q = i ? &n : &m;
        weiri_put(&b, "%s'%s' runs ", i ? ", " : "", q->task);
        put_loop(k, q->loop, a, &b);
    }
    if (unlike) {
        const bool body = is_returned(k, m.loop) || is_returned(k, n.loop);
        const char *how = body ? "a body may return another number each time: take a size, a scalar or an element of a tensor"
                               : "make both equally long";
        const char *text = weiri_arena_fmt(a, "%s: %s", b.s ? b.s : "", how); /* cover: memory */
        weiri_buf_free(&b);
        return text;
    }
    for (int i = 0; i < 2; i++) {
        const meeting *q = i ? &n : &m;
        weiri_put(&b, "%s'%s' does it ", i ? ", " : "", q->task);
        if (!q->guard) weiri_put(&b, "always");
        else {
            weiri_put(&b, opens(q->guard) ? "if " : "unless ");
            weiri_value_print(g->p->k, condition_of(q->guard), &b);
            weiri_put(&b, "%s", weiri_prog_at(a, q->guard));
        }
    }
    const char *both = b.s ? b.s : "", /* cover: memory */
        *text = weiri_arena_fmt(a, "%s: put both under one condition, or under one key if they are always equal", both);
    weiri_buf_free(&b);
    return text;
}

/* May a loop that lanes take in turn end in the middle of a turn? */
static bool breaks_off(const weiri_prog *g) {
    for (int i = 0; i < g->code.n; i++)
        for (int l = 0; l < g->code.v[i].loops.n; l++) {
            const weiri_loop *x = &g->code.v[i].loops.v[l];
            for (int q = 0; x->deal && q < x->trips.nparts; q++)
                if (g->tapes.v[x->trips.part[q].tape].multiple * x->trips.part[q].rep % x->deal) return true;
        }
    return false;
}

static void add_finding(const weiri_prog *g, weiri_findings *f, const weiri_fault *x, const char *hint, const char *with) {
    weir_finding *o = weiri_find(f, x->rule, x->at, "%s%s%s%s", x->text, *with ? " (" : "", with, *with ? ")" : "");
    o->hint = hint ? hint : x->hint;
    if ((!strcmp(x->rule, "PROVE-DEADLOCK") || !strcmp(x->rule, "PROVE-PARITY")) && breaks_off(g))
        o->hint = weiri_arena_fmt(
            f->a,
            "where lanes take the stages in turn and the other side takes them all, each run of the loop must be "
            "a multiple of %d steps: k:dim(name, { multiple = ... })",
            g->deals);
    o->expected = x->expected;
    o->got = x->got;
    o->objects[0] = x->object;
    if (x->other_at) {
        o->other_file = x->other_at->file;
        o->other_line = x->other_at->line;
        o->other_what = x->other_what;
    }
}

/* ---- with everything computed ------------------------------------------------------------------------------------------- */

enum { MOST_TILES = 16, TILE_TRIES = 20 };

/* So many tiles of the queue, no two of which are one, or as many as are found. Often in one row: what goes wrong with one adds up there. */
static int some_tiles(search *s, weiri_sampler *tries, weiri_env *launch, const weir_res *queue, int tiles,
                      int64_t (**out)[WEIR_MAX_RANK]) {
    int64_t(*c)[WEIR_MAX_RANK] = weiri_arena_alloc(&s->a, sizeof *c * MOST_TILES);
    memset(c, 0, sizeof *c * MOST_TILES);
    int n = 0;
    for (int attempt = 0; n < tiles && attempt < TILE_TRIES && weiri_sampler_tile(tries, launch, queue, c[n]); attempt++) {
        bool again = false;
        for (int i = 0; n && i < queue->qrank; i++)
            if (tries->seed >> (i + 8) & 1) c[n][i] = c[0][i];
        for (int i = 0; i < n; i++) again = again || !memcmp(c[i], c[n], sizeof c[n]);
        n += !again;
    }
    *out = c;
    return n;
}

/* One run with these arguments, everything computed, with some coordinates of its tiles and contents of memory, if `tries` gives them. Leaves it
 * in p, and (`keep`) in *m what was read. */
static weiri_exact run_exactly(search *s, replay *p, const trial *t, int tiles, weiri_sampler *tries, weiri_memory *m,
                               bool keep, weiri_arena *a) {
    const weiri_prog *g = s->g;
    weiri_env launch = { .k = g->p->k, .dims = t->dims, .scalars = t->scalars, .cta = -1 };
    memset(p, 0, sizeof *p);
    p->a = &s->a;
    const weir_cluster *c = &g->p->k->cluster;
    if (g->tiles && c->v * c->m * c->n == 1) /* else each CTA has its own */
        tiles = p->r.ncoords = some_tiles(s, tries, &launch, g->tiles->queue, tiles < MOST_TILES ? tiles : MOST_TILES, &p->r.coords);
    *m = (weiri_memory){ .seed = tries->seed, .like = tries, .a = keep ? &s->a : NULL };
    launch.memory = m;
    p->r.rec_act = WEIRI_NEW_N(&s->a, const weiri_action *, g->nints + 1);
    p->r.last_commit = WEIRI_NEW_N(&s->a, const weiri_action *, g->actors.n + 1);
    weiri_run_init(&p->r, g, a, weiri_arena_alloc(&s->a, weiri_state_size(g)));
    weiri_exact e = weiri_run_exact(&p->r, &launch, tiles);
    p->r.launch = NULL;
    return e;
}

/* The fault among those of an exact run that is the worst. */
static const weiri_fault *worst(const replay *p) {
    const weiri_fault *f = &p->r.fault[0];
    for (int i = 1; i < p->r.nfaults; i++)
        if (p->r.fault[i].order < f->order) f = &p->r.fault[i];
    return f;
}

/* That of an exact run which is like x, or else the worst. */
static const weiri_fault *among(const replay *p, const weiri_fault *x) {
    for (int i = 0; i < p->r.nfaults; i++)
        if (alike(&p->r.fault[i], x)) return &p->r.fault[i];
    return worst(p);
}

static bool is_shown(const search *s, const weiri_fault *x) {
    bool shown = false;
    for (int i = 0; i < s->found.n; i++) shown = shown || (s->found.v[i].shown && alike(&s->found.v[i].f, x));
    return shown;
}

/* Is a length or condition made of numbers in tensors? */
static bool reads_memory(const weiri_prog *g) {
    bool tile, cta, any = false;
    for (int i = 0; i < g->tapes.n && !any; i++) {
        const weiri_tape *t = &g->tapes.v[i];
        const uint32_t v[] = { t->kind == TAPE_TRIPS ? t->node->start : weiri_key_condition(t), t->node->stop, t->node->step };
        for (int q = 0; q < (t->kind == TAPE_TRIPS ? 3 : 1) && !any; q++) any = !weiri_forms_varies(g->p->k, v[q], &tile, &cta);
    }
    return any;
}

/* Can what *y says of the way in p happen? Finds sizes for it. Where these, coordinates of tiles or contents of memory decide what the search has
 * left open, a run with some of them takes the way's place. */
static bool borne_out(search *s, found *x, replay *p, const weiri_fault **y, trial *sizes, weiri_buf *with, weiri_arena *a) {
    const bool open = leaves_open(s->g), more = p->facts.n || reads_memory(s->g);
    if (!p->plausible || !sizes_exist(s, p, open || more, sizes, with)) return false;
    if (!open && !more) return true;
    weiri_sampler tries = weiri_sampler_new(s->g->p->k);
    weiri_exact e = EXACT_NONE;
    const int tiles = p->r.left + p->r.v[s->g->stream_at];
    bool other = false; /* one that is no such fault, but one */
    weiri_sampler others = tries;
    for (int attempt = 0; attempt < (more ? 60 : 1) && e != EXACT_UNKNOWN && *s->misses > 0; attempt++) {
        search one; /* of its own, so that what a try has kept goes with it */
        replay q;
        weiri_memory m;
        const weiri_sampler now = tries;
        search_start(&one, s->g, s->ctx, NULL, NULL);
        e = run_exactly(&one, &q, sizes, tiles, &tries, &m, false, &one.a);
        const bool like = e == EXACT_FAULT && alike(among(&q, &x->f), &x->f);
        search_end(&one);
        *s->misses -= 1 + q.r.log.n / 1000; /* by what it has cost */
        if (e != EXACT_FAULT) continue;
        if (!other || like) others = now;
        other = true;
        if (like) break;
    }
    if (other) {
        weiri_memory m;
        run_exactly(s, p, sizes, tiles, &others, &m, true, a);
        *y = among(p, &x->f);
        x->f = **y;
        weiri_memory_put(&m, with->n ? ", " : "with ", with);
        return true;
    }
    if (e != EXACT_UNKNOWN) return false;
    weiri_buf_free(with); /* what bodies decide, or CTAs' own coordinates, is believed: sizes say nothing of it */
    return sizes_exist(s, p, false, sizes, with);
}

/* Shows what was found, worst class first. Returns how many; *doubtful: some did not come back on their way, or need lengths
 * that were not found to fit together. */
static int show(search *s, weiri_arena *a, weir_proof *out, weiri_findings *f, bool *doubtful) {
    int shown = 0;
    for (int rank = 0; rank < 10; rank++)
        for (int i = 0; i < s->found.n && shown < MAX_FAULTS; i++) {
            found *x = &s->found.v[i];
            if (x->f.order != rank || is_shown(s, &x->f)) continue;
            replay p;
            trial sizes;
            weiri_buf with;
            weiri_buf_init(&with, s->ctx);
            const weiri_fault *y = run_again(s, x, &p, a);
            if (!y || !borne_out(s, x, &p, &y, &sizes, &with, a)) *doubtful = true;
            else if (!is_shown(s, &x->f)) {
                const char *text = with.s ? with.s : "";
                add_finding(s->g, f, y, out_of_step_hint(s, &p, y, &sizes, text, a), text);
                x->shown = true;
                if (!shown++) out->trace = trace_text(s, &p, y, a);
            }
            weiri_buf_free(&with);
        }
    return shown;
}

static double now_ms(void) {
    struct timespec t = { 0 };
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static weir_finding *incomplete(weir_proof *out, weiri_arena *a, weiri_findings *f, const weir_place *at, const char *why) {
    out->verdict = WEIR_INCOMPLETE;
    out->text = weiri_arena_str(a, why);
    return weiri_find(f, "PROVE-INCOMPLETE", at, "the proof is incomplete: %s", why);
}

/* What one task has done long before another, further than a state holds. */
static void too_far(const search *s, weir_proof *out, weiri_arena *a, weiri_findings *f) {
    const weiri_prog *g = s->g;
    const weiri_tape *t = s->far < 0 ? NULL : &g->tapes.v[s->far];
    const weiri_node *n = t ? t->node : g->tiles;
    weiri_buf b;
    weiri_buf_init(&b, s->ctx);
    if (!t) weiri_put(&b, "%d tiles", WEIRI_TILES);
    else { /* a loop: so many answers of a condition are more states than are looked at */
        weiri_put(&b, "%d steps of the loop ", WEIRI_LETTERS);
        weiri_value_print(g->p->k, n->start, &b);
        weiri_put(&b, " .. ");
        weiri_value_print(g->p->k, n->stop, &b);
    }
    const char *what = b.s ? b.s : ""; /* cover: memory */
    incomplete(out, a, f, weiri_place_of(&n->at),
               weiri_arena_fmt(a, "tasks can run too far apart: one can be more than %s%s ahead of another", what, weiri_prog_at(a, n)))
        ->hint = "let a ring or a barrier join the two, so that neither goes on for ever while the other waits";
    weiri_buf_free(&b);
}

/* Some lengths or truths are unsafe, but none that arguments were found for: the author must say which are alike. */
static void out_of_step(const weiri_prog *g, weir_proof *out, weiri_arena *a, weiri_findings *f) {
    weiri_buf b[2];
    const weir_place *at = NULL;
    for (int what = 0; what < 2; what++) {
        int n = 0;
        weiri_buf_init(&b[what], g->p->k->ctx);
        for (int i = 0; i < g->tapes.n; i++) {
            const weiri_tape *t = &g->tapes.v[i];
            const weiri_node *x = t->node;
            if ((t->kind == TAPE_TRIPS) != (what == 0) || (i && g->tapes.v[i - 1].node == x)) continue;
            weiri_put(&b[what], "%s", n++ ? " and " : "");
            if (!what) put_loop(g->p->k, x, a, &b[what]);
            else {
                weiri_value_print(g->p->k, weiri_key_condition(t), &b[what]);
                weiri_put(&b[what], "%s", weiri_prog_at(a, x));
            }
            if (!at) at = weiri_place_of(&x->at);
        }
    }
    const char *loops = b[0].s ? weiri_arena_fmt(a, "the loops %s were not equally long", b[0].s) : NULL;
    const char *truths = b[1].s ? weiri_arena_fmt(a, "the conditions %s did not come out alike", b[1].s) : NULL;
    incomplete(out, a, f, at,
               weiri_arena_fmt(a, "if %s%s%s where it matters, the program would fail; no %s were found for which it does",
                               loops ? loops : truths, loops && truths ? ", or " : "", loops && truths ? truths : "",
                               g->p->k->scalars.n ? "arguments" : "sizes"));
    for (int what = 0; what < 2; what++) weiri_buf_free(&b[what]);
}

/* Lengths that differ from instance to instance may only be a fault of the model: look at equal ones, exactly. */
static int fixed_lengths(const weiri_prog *g, weir_ctx *ctx, weiri_arena *a, weir_proof *out, weiri_findings *f, int *misses) {
    int forms = weiri_forms_class_count(g->forms), most = forms == 1 ? 8 : forms == 2 ? 4 : 2, shown = 0;
    if (forms > 3) return 0;
    int total = 1;
    for (int i = 0; i < forms; i++) total *= most + 1;
    for (int n = 0; n < total && !shown; n++) {
        int force[4] = { 0 };
        for (int i = 0, x = n; i < forms; i++, x /= most + 1) force[i] = x % (most + 1);
        search s;
        search_start(&s, g, ctx, force, misses);
        search_all(&s, 600, false);
        bool doubtful = false;
        out->states += (uint64_t)s.nodes.n;
        shown = show(&s, a, out, f, &doubtful);
        search_end(&s);
    }
    return shown;
}

/* What the search leaves open may hide a fault, or be none: looks at launches, with everything computed. */
static int launches(const weiri_prog *g, weir_ctx *ctx, weiri_arena *a, weiri_findings *f, weir_proof *out) {
    enum { ATTEMPTS = 300, EVENTS = 200000 };
    const weir_kernel *k = g->p->k;
    const int few = g->tiles ? 1 : 0, many = g->tiles && !g->one_tile ? 3 : few; /* tiles */
    search s, one;
    search_start(&s, g, ctx, NULL, NULL);
    trial t = new_trial(&s), best = new_trial(&s);
    replay p = { .key = WEIRI_NEW_N(&s.a, int8_t, g->tapes.n + 1) };
    double least = -1;
    int events = 0, tiles = 0;
    for (int i = 0; i < g->tapes.n; i++) mark_around(k, &g->tapes.v[i], &best);
    weiri_sampler tries = weiri_sampler_new(k), best_tries = tries;
    for (int n = 1; n < 8; n++) weiri_sampler_like(&tries, n);
    for (int attempt = 0; attempt < ATTEMPTS && events < EVENTS; attempt++) {
        double sum = 0;
        weiri_sampler_next(&tries, t.dims, t.scalars);
        for (int i = 0; i < k->dims.n; i++) sum += best.dim_used[i] ? (double)t.dims[i] : 0;
        for (int i = 0; i < k->scalars.n; i++) sum += best.scalar_used[i] && isfinite(t.scalars[i]) ? fabs(t.scalars[i]) : 0;
        if ((least >= 0 && sum >= least) || !conditions_hold(g, &p, &t)) continue;
        for (int n = few; n <= many; n++) {
            replay q;
            search_start(&one, g, ctx, NULL, NULL);
            weiri_sampler of = tries;
            weiri_memory m;
            const weiri_exact e = run_exactly(&one, &q, &t, n, &of, &m, false, &one.a);
            events += q.r.log.n;
            search_end(&one);
            if (e != EXACT_FAULT) continue;
            best_tries = tries;
            least = sum;
            tiles = n;
            best.found = true;
            memcpy(best.dims, t.dims, sizeof *t.dims * (size_t)k->dims.n);
            memcpy(best.scalars, t.scalars, sizeof *t.scalars * (size_t)k->scalars.n);
            break;
        }
    }
    if (best.found) {
        weiri_memory m;
        run_exactly(&s, &p, &best, tiles, &best_tries, &m, true, a); /* once more, now with the texts kept */
        const weiri_fault *y = worst(&p);
        weiri_buf with;
        weiri_buf_init(&with, ctx);
        weiri_range_put_args(k, "with ", best.dims, best.scalars, best.dim_used, best.scalar_used, &with);
        weiri_memory_put(&m, with.n ? ", " : "with ", &with);
        const char *sizes = with.s ? with.s : "";
        add_finding(g, f, y, out_of_step_hint(&s, &p, y, &best, sizes, a), sizes);
        out->trace = trace_text(&s, &p, y, a);
        weiri_buf_free(&with);
    }
    search_end(&s);
    return best.found;
}

/* The same plan, compiled otherwise. What it costs counts with what has been done so far. */
static weiri_prog *another_prog(const weiri_prog *g, weiri_arena *mine, int without) {
    weiri_prog *c = weiri_prog_new(g->p, mine, g->without | without);
    *g->work += *c->work;
    c->work = g->work;
    return c;
}

static bool not_proved(const search *s) { return s->found.n || s->capped || s->letters_out || s->endless; }

/* Is it proved of another program? Then that takes the place of s and *g. */
static bool proved_instead(search *s, weiri_prog **g, weiri_prog *other, bool merge, weir_proof *out) {
    search t;
    search_start(&t, other, s->ctx, NULL, s->misses);
    search_all(&t, MAX_NODES, merge);
    out->states += (uint64_t)t.nodes.n;
    const bool proved = !not_proved(&t);
    search_end(proved ? s : &t);
    if (proved) *s = t, *g = other;
    return proved;
}

/* The verdict on all runs. Gives back the program that it is about, which is another where g kept too little. */
static weiri_prog *prove_runs(weiri_prog *g, weiri_arena *mine, weiri_arena *a, weir_proof *out, weiri_findings *f) {
    weir_ctx *ctx = g->p->k->ctx;
    const bool merge = !(g->without & WEIRI_APART);
    const int alone = WEIRI_WIDE | WEIRI_ASKED | WEIRI_COUNTED;
    search s;
    int misses = 3000;
    search_start(&s, g, ctx, NULL, &misses);
    s.lean = s.lean || !(g->without & alone);
    search_all(&s, MAX_NODES, merge);
    bool again = s.found.n ? s.lean : g->told && (s.capped || s.letters_out); /* what is not kept, or asked, may be to blame */
    if (not_proved(&s) &&
        !(g->without & alone)) { /* do units of loops tell more? Does it with loops in each other in one order? */
        weiri_prog *c = another_prog(g, mine, WEIRI_COUNTED);
        for (bool sorted = false, proved = false; c && !proved; sorted = true) {
            proved = c->counted && proved_instead(&s, &g, c, merge, out);
            if (proved) again = false;
            else c = c->sorts && !sorted ? another_prog(g, mine, WEIRI_COUNTED | WEIRI_SORTED) : NULL;
        }
    }
    while (again) {
        const bool rings = s.found.n && g->narrow && !(g->without & WEIRI_RINGS);
        search_end(&s);
        if (g->narrow || g->told) g = another_prog(g, mine, rings ? WEIRI_RINGS : WEIRI_WIDE);
        search_start(&s, g, ctx, NULL, &misses);
        search_all(&s, MAX_NODES, merge);
        again = s.lean && not_proved(&s);
    }
    out->states = (uint64_t)s.nodes.n;
    bool doubtful = false;
    int shown = s.found.n ? show(&s, a, out, f, &doubtful) : 0;
    if (!shown && doubtful && merge) { /* only the merging may be to blame: keep all states apart */
        search_end(&s);
        search_start(&s, g, ctx, NULL, &misses);
        search_all(&s, MAX_NODES, false);
        out->states += (uint64_t)s.nodes.n;
        doubtful = false;
        shown = s.found.n ? show(&s, a, out, f, &doubtful) : 0;
    }
    if (!shown && doubtful && weiri_forms_repeat(g->forms)) { /* as long as two others, or twice as long as one? */
        weiri_prog *turn = another_prog(g, mine, WEIRI_WIDE | WEIRI_IN_TURN);
        search_end(&s);
        search_start(&s, turn, ctx, NULL, &misses);
        search_all(&s, MAX_NODES, merge);
        out->states += (uint64_t)s.nodes.n;
        if (!not_proved(&s)) doubtful = false, g = turn;
    }
    if (!shown && not_proved(&s)) { /* is it right with more lengths than there are? */
        weiri_prog *more = another_prog(g, mine, WEIRI_WIDE | WEIRI_PARTED);
        if (more->parts && proved_instead(&s, &g, more, merge, out)) doubtful = false;
    }
    if (!shown && doubtful) shown = fixed_lengths(g, ctx, a, out, f, &misses);
    if (!shown && doubtful) shown = launches(g, ctx, a, f, out);
    const bool oom = s.a.oom || mine->oom; /* cover: memory */
    if (shown) {
        const weir_finding *x = &f->list.v[f->list.n - shown];
        out->verdict = WEIR_UNSAFE;
        out->text = weiri_arena_fmt(a, "%s [%s]", x->message, x->rule);
    } else if (s.endless)
        incomplete(out, a, f, NULL,
                   "a task makes very many steps that no length decides: a fixed loop is too long, or never ends");
    else if (oom) incomplete(out, a, f, NULL, "there is too little memory"); /* cover: memory */
    else if (s.found.n) out_of_step(g, out, a, f);
    else if (s.capped) incomplete(out, a, f, NULL, weiri_arena_fmt(a, "more than %d states", s.nodes.n));
    else if (s.letters_out) too_far(&s, out, a, f);
    else out->verdict = WEIR_SAFE;
    search_end(&s);
    return g;
}

/* What a proof that holds says: for how much, and on whose word. */
static const char *safe_text(weiri_prog *g, const weir_proof *proof, weiri_arena *a) {
    weiri_gmem_trusts(g);
    const char *trusted = g->p->trusted ? weiri_arena_fmt(a, ", trusting %s's declared effects", g->p->trusted) : "";
    for (int i = 0; i < g->trusts.n; i++)
        trusted = weiri_arena_fmt(a, "%s%s%s", trusted, *trusted ? "; " : ", trusting ", g->trusts.v[i]);
    return weiri_arena_fmt(a, "for every loop length and tile count (%" PRIu64 " state%s, %.1f ms)%s", proof->states,
                           proof->states == 1 ? "" : "s", proof->ms, trusted);
}

void weiri_prove(const weiri_plan *p, weiri_arena *a, weir_proof *out, weiri_findings *f) {
    weiri_prove_without(p, a, out, f, 0);
}

uint64_t weiri_prove_without(const weiri_plan *p, weiri_arena *a, weir_proof *out, weiri_findings *f, int without) {
    double from = now_ms();
    memset(out, 0, sizeof *out);
    weiri_arena mine;
    weiri_arena_init(&mine, p->k->ctx);
    weiri_prog *g = weiri_prog_new(p, &mine, without);
    if (g->why) incomplete(out, a, f, g->why_at, weiri_arena_str(a, g->why));
    else if (g->depth_fault) {
        weiri_find(f, "PROVE-COUNT", g->depth_at, "%s", g->depth_fault)->hint = "give both sides the same number of stages";
        out->verdict = WEIR_UNSAFE;
        out->text = weiri_arena_str(a, g->depth_fault);
    } else g = prove_runs(g, &mine, a, out, f);
    int first = f->list.n, odd = without & WEIRI_TABLES ? 0 : weiri_prove_plan(p, a, f);
    if (odd && out->verdict != WEIR_UNSAFE) {
        out->verdict = WEIR_UNSAFE;
        out->text = weiri_arena_fmt(a, "%s [%s]", f->list.v[first].message, f->list.v[first].rule);
    }
    out->ms = now_ms() - from;
    if (out->verdict == WEIR_SAFE) out->text = safe_text(g, out, a);
    if (p->k->arch >= WEIR_ARCH_SM_100A)
        out->text = weiri_arena_fmt(a, "%s; sm_100a: " WEIRI_UNCHECKED, out->text ? out->text : ""); /* cover: memory */
    took(g, &mine);
    const uint64_t work = *g->work;
    weiri_arena_free(&mine);
    return work;
}
