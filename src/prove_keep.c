/* Which rows keep which words of knowledge. What is known of a ring's bits is kept only where it can come to matter, so that a state grows
 * with the tasks and not with their square (docs/proof.md, "Why so few states"). */
#include "prove_know.h"

enum { MOST_ACTORS = 63 }; /* a bit each; a CTA has 32 warps */

typedef struct keeper {
    weiri_prog *g;
    uint64_t all;
    uint64_t near[MOST_ACTORS];     /* by actor: who meets it at a barrier, itself included */
    uint64_t even;                  /* actors all of whose threads know what they hand on, when they do */
    uint64_t gates;                 /* those, and actors that hand on the same threads' knowledge wherever they do */
    uint64_t *home;                 /* by ring: who asks of its bits or sets them */
    uint64_t *late;                 /* by ring: whose accesses complete by themselves, which others may know sooner */
    uint64_t *comes;                /* by barrier: who does anything there */
    uint64_t *word;                 /* by word: actors that keep it */
} keeper;

/* Whose knowledge of the actor's threads the action hands on: a row of the actor's, WHOLE all that any knows, NOTHING. Of an actor
 * with one row that is no matter: it is even. */
enum { NOTHING = -1, WHOLE = BY_COUNT };
static int handed(const weiri_actor *me, const weiri_action *a) {
    int by = weiri_prog_by(a), need = me->by[by == BY_ALL ? BY_EACH : by];
    switch (a->kind) {
    case ACT_ARRIVE: case ACT_EXPECT: case ACT_CP_ARRIVE: return by == BY_ALL ? WHOLE : me->by[by];
    case ACT_NAMED_SYNC: return WHOLE;
    case ACT_UMMA_COMMIT: return need;
    default: return a->bar >= 0 && a->kind != ACT_WAIT ? need : NOTHING;
    }
}

/* Do the actor's threads meet right before instruction x, whichever way it is come to? */
static bool have_met(const weiri_actor *me, const weiri_code *c, const bool *target, int x) {
    for (; !target[x]; x--) {
        const weiri_ins *before = &c->ins.v[x - 1];
        weiri_act kind = before->op == IN_ACT ? before->act->kind : ACT_NONE;
        if (kind == ACT_WARP_SYNC) return me->nrows <= 3;
        if (kind == ACT_NAMED_SYNC) return true;
        if (kind != ACT_ADVANCE) return false;
    }
    return false;
}

/* A record's bits are asked for by whoever accesses bytes that meet its bytes. */
static void asks(keeper *k, uint64_t who, const weiri_rec *q) {
    const weiri_prog *g = k->g;
    k->home[q->ring] |= who;
    if (q->loc < 0) return;
    const weiri_loc *l = &g->locs.v[q->loc];
    for (int i = 0; i < l->over.n; i++) {
        const weiri_loc *m = &g->locs.v[l->over.v[i]];
        k->home[m->ring] |= who;
        if (m->region < 0 || m->region == l->region) continue;
        for (int p = 0; p < g->p->pipes.n; p++) { /* is what was written there still unread? */
            const weiri_ppipe *x = &g->p->pipes.v[p];
            if (x->full >= 0 && x->region >= 0 && weiri_data_region(g->p, x->region) == m->region)
                k->home[g->bars[x->full].ring] |= who;
        }
    }
}

/* Who meets where. Prologue and epilogue join all of the CTA, and no task does (weiri_lower). */
static void look(keeper *k) {
    const weiri_prog *g = k->g;
    uint64_t *named = WEIRI_NEW_N(g->a, uint64_t, g->named.n + 1), fence = 0;
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        uint64_t self = 1ull << i;
        int out = NOTHING;
        bool gate = true, even = true;
        bool *target = WEIRI_NEW_N(g->a, bool, c->ins.n + 1);
        target[0] = true;
        for (int x = 0; x < c->ins.n; x++) {
            if (c->ins.v[x].op != IN_ACT) target[c->ins.v[x].jump] = target[c->ins.v[x].skip] = true;
        }
        for (int x = 0; x < c->ins.n; x++) {
            const weiri_action *a = c->ins.v[x].op == IN_ACT ? c->ins.v[x].act : NULL;
            bool framed = x < c->from || x >= c->to;
            if (!a || !weiri_prog_runs(g, me, a)) continue;
            if (a->bar >= 0) k->comes[a->bar] |= self, k->home[g->bars[a->bar].ring] |= self;
            if (a->kind == ACT_NAMED_SYNC) named[weiri_prog_slot(g, 0, weiri_prog_named(g, me, a))] |= self;
            if (a->kind == ACT_FENCE_ASYNC) fence |= self;
            if (me->gmem[x + 1] > me->gmem[x]) k->home[g->gmem_ring] |= self;
            for (int e = me->eff[x]; framed && e < me->eff[x + 1]; e++) asks(k, k->all, &g->recs.v[g->eff.v[e]]);
            int row = handed(me, a);
            gate = gate && (row == NOTHING || out == NOTHING || row == out);
            if (row == NOTHING) continue;
            out = row;
            even = even && (me->nrows == 1 || a->kind == ACT_NAMED_SYNC || (row != WHOLE && have_met(me, c, target, x)));
        }
        for (int q = 0; q < me->recs.n; q++) {
            const weiri_rec *rec = &g->recs.v[me->recs.v[q]];
            asks(k, self, rec);
            bool at_once = (rec->kind == REC_READ || rec->kind == REC_WRITE) && !rec->place;
            if (!at_once && rec->kind != REC_PASSED) k->late[rec->ring] |= self;
        }
        if (even) k->even |= self;
        if (gate || even) k->gates |= self;
        k->near[i] |= self;
    }
    for (int i = 0; i < g->recs.n; i++) /* whoever fences hands on that copies which it knows to have landed are fenced */
        if (g->recs.v[i].kind == REC_CP_WRITE) k->home[g->recs.v[i].ring] |= fence;
    for (int i = 0; i < g->nbars + g->named.n; i++) {
        uint64_t who = i < g->nbars ? k->comes[i] : named[i - g->nbars];
        for (int x = 0; x < g->actors.n; x++)
            if (who >> x & 1) k->near[x] |= who;
    }
}

/* Those that `from` comes to without passing the actor `shut`. */
static uint64_t reached(const keeper *k, uint64_t from, uint64_t shut) {
    uint64_t all = from, next = from;
    while (next) {
        uint64_t more = 0;
        for (int i = 0; next; i++, next >>= 1)
            if (next & 1) more |= k->near[i];
        next = more & ~all & ~shut;
        all |= next;
    }
    return all;
}

/* Who keeps each word. An actor that lies behind a gate, as seen from all that a ring concerns, learns of the ring only what the gate knew
 * before, and whatever comes back from there the gate knows already. If all its threads do, being even, the ring may concern the gate
 * itself, but not by accesses of its own that arrive by themselves: who waits knows of their end before it does. */
static void settle(keeper *k) {
    const weiri_prog *g = k->g;
    uint64_t *drop = WEIRI_NEW_N(g->a, uint64_t, g->rings.n);
    for (int i = 0; i < g->actors.n; i++) {
        uint64_t self = 1ull << i, rest = k->gates & self ? k->all & ~self : 0;
        while (rest) {
            uint64_t part = reached(k, rest & (~rest + 1), self);
            rest &= ~part;
            for (int r = 1; r < g->rings.n; r++)
                if (!(k->home[r] & (part | (self & (~k->even | k->late[r]))))) drop[r] |= part;
        }
    }
    for (int r = 0; r < g->rings.n; r++) {
        const weiri_ring *q = &g->rings.v[r];
        int from = q->at / 64, to = (q->at + q->stride * q->stages + 63) / 64;
        for (int w = from; w < to; w++) k->word[w] |= k->all & ~drop[r];
    }
}

/* What is kept by who is among `who`, or all of whom come to a barrier. */
static const weiri_keep *keep_of(const keeper *k, uint64_t who) {
    const weiri_prog *g = k->g;
    weiri_keep *x = WEIRI_NEW(g->a, weiri_keep);
    x->word = WEIRI_NEW_N(g->a, int, g->nwords + 1);
    x->at = WEIRI_NEW_N(g->a, int, g->nwords + 1);
    for (int w = 0; w < g->nwords; w++) {
        bool here = !(who & ~k->word[w]);
        x->at[w] = here ? x->n : -1;
        if (here) x->word[x->n++] = w;
    }
    return x->n == g->nwords ? g->whole : x;
}

static void give_rows(weiri_prog *g, int first, int n, const weiri_keep *k) {
    for (int i = first; i < first + n; i++) g->rows[i].keep = k;
}

/* Does the word hold bits that are no ring's, or of tensors? Those are kept by all. */
static bool is_common(const weiri_prog *g, int w) {
    for (int i = 0; i < 2; i++) {
        const weiri_ring *q = i && g->gmem_ring >= 0 ? &g->rings.v[g->gmem_ring] : &g->rings.v[0];
        if (w >= q->at / 64 && 64 * w < q->at + q->stride * q->stages) return true;
    }
    return false;
}

/* As x, but of the ring q only the words of one stage (-1: of all), and `alone`: of other rings nothing. */
static const weiri_keep *narrowed(const weiri_prog *g, const weiri_keep *x, const weiri_ring *q, int stage, bool alone) {
    weiri_keep *y = WEIRI_NEW(g->a, weiri_keep);
    const int first = q->at / 64, end = (q->at + q->stride * q->stages + 63) / 64, each = q->stride / 64, own = first + each * stage;
    y->word = WEIRI_NEW_N(g->a, int, x->n + 1);
    y->at = WEIRI_NEW_N(g->a, int, g->nwords + 1);
    for (int w = 0; w < g->nwords; w++) {
        const bool here = w >= first && w < end, other = here ? stage >= 0 && (w < own || w >= own + each) : alone && !is_common(g, w);
        y->at[w] = x->at[w] < 0 || other ? -1 : y->n;
        if (y->at[w] >= 0) y->word[y->n++] = w;
    }
    return y;
}

/* Does a task take its turn among others at the work tiles? Lanes are put in order by barriers of other rings than those they share. */
static bool has_lanes(const weiri_prog *g) {
    bool any = false;
    for (int i = 0; i < g->code.n; i++) any = any || g->code.v[i].skip_to;
    return any;
}

/* What the arrivals of a stage of a ring bring is nearly always about that stage, and else hardly ever asked: so of the ring's other
 * stages, and of other rings, the barrier's rows keep nothing. Whoever knows too little for that only makes the proof fail, and then it is
 * made again with WEIRI_RINGS, and with WEIRI_WIDE. Rows of one barrier keep alike, but each its own stage. */
static void narrow(weiri_prog *g) {
    const bool alone = !(g->without & WEIRI_RINGS) && !has_lanes(g);
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        const weiri_bari *b = &g->bars[i];
        const weiri_ring *q = &g->rings.v[b->ring];
        const bool own = q->turns && q->stages > 1 && q->stride % 64 == 0;
        if (!own && !alone) continue;
        const weiri_keep *was = g->rows[b->row].keep, *one = own ? NULL : narrowed(g, was, q, -1, alone);
        for (int s = 0; s < q->stages; s++) give_rows(g, b->row + 2 * s, 2, own ? narrowed(g, was, q, s, alone) : one);
        g->narrow = g->narrow || g->rows[b->row].keep->n < was->n;
    }
}

void weiri_keep_place(weiri_prog *g) {
    keeper k = { .g = g };
    int n = g->actors.n;
    weiri_keep *whole = WEIRI_NEW(g->a, weiri_keep);
    whole->n = g->nwords;
    whole->word = whole->at = WEIRI_NEW_N(g->a, int, g->nwords + 1);
    for (int w = 0; w < g->nwords; w++) whole->word[w] = w;
    g->whole = whole;
    g->rows = WEIRI_NEW_N(g->a, weiri_known, g->nrows);
    give_rows(g, 0, g->nrows, whole);
    k.home = WEIRI_NEW_N(g->a, uint64_t, g->rings.n);
    k.late = WEIRI_NEW_N(g->a, uint64_t, g->rings.n);
    k.comes = WEIRI_NEW_N(g->a, uint64_t, g->nbars + 1);
    k.word = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    if (g->nctas == 1 && n <= MOST_ACTORS && !(g->without & WEIRI_EVERYWHERE)) {
        k.all = (1ull << n) - 1;
        look(&k);
        settle(&k);
        for (int i = 0; i < n; i++) give_rows(g, g->actors.v[i].row, g->actors.v[i].nrows, keep_of(&k, 1ull << i));
        for (int i = 0; i < g->nbars; i++) {
            bool like = i && k.comes[i] == k.comes[i - 1];
            give_rows(g, g->bars[i].row, 2 * g->p->bars.v[i].stages,
                      like ? g->rows[g->bars[i - 1].row].keep : keep_of(&k, k.comes[i]));
        }
    }
    if (!(g->without & (WEIRI_WIDE | WEIRI_EVERYWHERE))) narrow(g);
    g->held = WEIRI_NEW_N(g->a, weiri_held, g->nwords + 1);
    for (int i = 0; i < g->nrows; i++) {
        g->rows[i].first = g->nknow;
        g->nknow += g->rows[i].keep->n;
        for (int w = 0; w < g->rows[i].keep->n; w++) g->held[g->rows[i].keep->word[w]].n++;
    }
    for (int w = 0; w < g->nwords; w++) {
        g->held[w].row = WEIRI_NEW_N(g->a, int, g->held[w].n + 1);
        g->held[w].at = WEIRI_NEW_N(g->a, int, g->held[w].n + 1);
        g->held[w].n = 0;
    }
    for (int i = 0; i < g->nrows; i++)
        for (int w = 0; w < g->rows[i].keep->n; w++) {
            weiri_held *h = &g->held[g->rows[i].keep->word[w]];
            h->row[h->n] = i;
            h->at[h->n++] = g->rows[i].first + w;
        }
}
