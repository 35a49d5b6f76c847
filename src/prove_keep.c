/* Which rows keep which words of knowledge. What is known of a ring's bits is kept only where it can come to matter, so that a
 * state grows with the tasks and not with their square (docs/proof.md, "Why so few states"). */
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

typedef WEIRI_LIST(int) rings;

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

/* Do the actor's threads meet right before instruction x, whichever way it is come to? (Behind a task's barrier one thread arms
 * and then loads, and nobody meets right before the load.) */
static bool have_met(const weiri_actor *me, const weiri_code *c, const bool *target, int x) {
    for (; !target[x]; x--) {
        const weiri_ins *before = &c->ins.v[x - 1];
        weiri_act kind = before->op == IN_ACT ? before->act->kind : ACT_NONE;
        if (kind == ACT_WARP_SYNC) return me->nrows <= 3;
        if (kind != ACT_ADVANCE) return false;
    }
    return false;
}

/* A record's bits are asked for by whoever accesses bytes that meet its bytes. */
static void asks(const weiri_prog *g, const weiri_rec *q, rings *out) {
    WEIRI_PUSH(g->a, *out, q->ring);
    if (q->loc < 0) return;
    const weiri_loc *l = &g->locs.v[q->loc];
    for (int i = 0; i < l->over.n; i++) {
        const weiri_loc *m = &g->locs.v[l->over.v[i]];
        WEIRI_PUSH(g->a, *out, m->ring);
        if (m->region < 0 || m->region == l->region) continue;
        for (int p = 0; p < g->p->pipes.n; p++) { /* is what was written there still unread? */
            const weiri_ppipe *x = &g->p->pipes.v[p];
            if (x->full < 0 || x->region < 0 || weiri_data_region(g->p, x->region) != m->region) continue;
            WEIRI_PUSH(g->a, *out, g->bars[m->cta * g->nbars + x->full].ring);
            WEIRI_PUSH(g->a, *out, g->bars[weiri_prog_leader(g, m->cta) * g->nbars + x->full].ring);
        }
    }
}

/* Rings whose bits an actor asks for or sets: of barriers that it comes to, of bytes that it accesses; and of `copied`,
 * cp.async's, if it fences: that it hands on that those which it knows to have landed are fenced. */
static void rings_of(const weiri_prog *g, const weiri_actor *me, const rings *copied, rings *out) {
    const weiri_code *c = &g->code.v[me->code];
    bool fences = false;
    int to[64];
    out->n = 0;
    for (int x = 0; x < c->ins.n; x++) {
        const weiri_action *a = c->ins.v[x].op == IN_ACT ? c->ins.v[x].act : NULL;
        if (!a || !weiri_prog_runs(g, me, a)) continue;
        for (int n = a->bar >= 0 ? weiri_prog_spots(g, me->cta, a, to) : 0; n-- > 0;)
            WEIRI_PUSH(g->a, *out, g->bars[to[n] * g->nbars + a->bar].ring);
        if (me->gmem[x + 1] > me->gmem[x]) WEIRI_PUSH(g->a, *out, g->gmem_ring);
        fences = fences || a->kind == ACT_FENCE_ASYNC;
    }
    for (int i = 0; i < me->recs.n; i++) asks(g, &g->recs.v[me->recs.v[i]], out);
    for (int i = 0; fences && i < copied->n; i++) WEIRI_PUSH(g->a, *out, copied->v[i]);
}

static rings rings_copied(const weiri_prog *g) {
    rings out = { 0 };
    for (int i = 0; i < g->recs.n; i++)
        if (g->recs.v[i].kind == REC_CP_WRITE) WEIRI_PUSH(g->a, out, g->recs.v[i].ring);
    return out;
}

/* Who meets where. Prologue and epilogue join all of the CTA, and no task does (weiri_lower). */
static void look(keeper *k) {
    const weiri_prog *g = k->g;
    uint64_t *named = WEIRI_NEW_N(g->a, uint64_t, g->named.n + 1);
    const rings copied = rings_copied(g);
    rings of = { 0 }, framed = { 0 };
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
            const bool frame = x < c->from || x >= c->to;
            if (!a || !weiri_prog_runs(g, me, a)) continue;
            if (a->bar >= 0) k->comes[a->bar] |= self;
            if (a->kind == ACT_NAMED_SYNC) named[weiri_prog_slot(g, 0, weiri_prog_named(g, me, a))] |= self;
            for (int e = me->eff[x]; frame && e < me->eff[x + 1]; e++) asks(g, &g->recs.v[g->eff.v[e]], &framed);
            int row = handed(me, a);
            gate = gate && (row == NOTHING || out == NOTHING || row == out);
            if (row == NOTHING) continue;
            out = row;
            even = even && (me->nrows == 1 || a->kind == ACT_NAMED_SYNC || (row != WHOLE && have_met(me, c, target, x)));
        }
        for (int q = 0; q < me->recs.n; q++) {
            const weiri_rec *rec = &g->recs.v[me->recs.v[q]];
            bool at_once = (rec->kind == REC_READ || rec->kind == REC_WRITE) && !rec->place;
            if (!at_once && rec->kind != REC_PASSED) k->late[rec->ring] |= self;
        }
        rings_of(g, me, &copied, &of);
        for (int r = 0; r < of.n; r++) k->home[of.v[r]] |= self;
        if (even) k->even |= self;
        if (gate || even) k->gates |= self;
        k->near[i] |= self;
    }
    for (int r = 0; r < framed.n; r++) k->home[framed.v[r]] |= k->all;
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

static weiri_words words_of(const weiri_prog *g, int ring) {
    const weiri_ring *q = &g->rings.v[ring];
    return (weiri_words){ .first = q->at / 64, .end = (q->at + q->stride * q->stages + 63) / 64 };
}

/* Who keeps each word. An actor that lies behind a gate, as seen from all that a ring concerns, learns of the ring only what
 * the gate knew before, and whatever comes back from there the gate knows already. If all its threads do, being even, the ring
 * may concern the gate itself, but not by accesses of its own that arrive by themselves: who waits knows of their end before it
 * does. */
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
        const weiri_words x = words_of(g, r);
        for (int w = x.first; w < x.end; w++) k->word[w] |= k->all & ~drop[r];
    }
}

static bool in(const weiri_words *x, int word) { return word >= x->first && word < x->end; }

/* Keeps words too, no earlier ones than are kept. */
static void keep_words(const weiri_prog *g, weiri_keep *k, int from, int to) {
    weiri_words *last = k->run.n ? &k->run.v[k->run.n - 1] : NULL;
    if (last && from < last->end) from = last->end;
    if (from >= to) return;
    if (last && from == last->end) last->end = to;
    else WEIRI_PUSH(g->a, k->run, ((weiri_words){ .first = from, .end = to, .at = k->n }));
    k->n += to - from;
}

/* What is kept by who is among `who`, or all of whom come to a barrier. */
static const weiri_keep *keep_of(const keeper *k, uint64_t who) {
    const weiri_prog *g = k->g;
    weiri_keep *x = WEIRI_NEW(g->a, weiri_keep);
    for (int w = 0; w < g->nwords; w++)
        if (!(who & ~k->word[w])) keep_words(g, x, w, w + 1);
    return x;
}

static void give_rows(weiri_prog *g, int first, int n, const weiri_keep *k) {
    for (int i = first; i < first + n; i++) g->rows[i].keep = k;
}

/* Do stages of the ring have words of their own, and can be renamed? */
static bool has_own(const weiri_ring *q) { return q->turns && q->stages > 1 && q->stride % 64 == 0; }
static weiri_words words_at(const weiri_ring *q, int stage) {
    return (weiri_words){ .first = (q->at + q->stride * stage) / 64, .end = (q->at + q->stride * (stage + 1)) / 64 };
}

/* What the arrivals of a stage of a ring bring is nearly always about that stage, and else hardly ever asked: so of the ring's
 * other stages the barrier's rows keep nothing. Rows of one barrier keep alike, but each its own stage. */
static void narrow(weiri_prog *g) {
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        const weiri_bari *b = &g->bars[i];
        const weiri_ring *q = &g->rings.v[b->ring];
        const weiri_words ring = words_of(g, b->ring);
        const weiri_keep *was = g->rows[b->row].keep;
        for (int s = 0; has_own(q) && s < q->stages; s++) {
            const weiri_words own = words_at(q, s);
            weiri_keep *x = WEIRI_NEW(g->a, weiri_keep);
            for (int n = 0; n < was->run.n; n++)
                for (int w = was->run.v[n].first; w < was->run.v[n].end; w++)
                    if (!in(&ring, w) || in(&own, w)) keep_words(g, x, w, w + 1);
            give_rows(g, b->row + 2 * s, 2, x);
            g->narrow = true;
        }
    }
}

/* Does a task take its turn among others at the work tiles? Lanes are put in order by barriers of other rings than those they
 * share. */
static bool has_lanes(const weiri_prog *g) {
    bool any = false;
    for (int i = 0; i < g->code.n; i++) any = any || g->code.v[i].skip_to;
    return any;
}

/* The rings' words; of ring `own` one stage's, where stages have some. */
static const weiri_keep *keep_rings(const weiri_prog *g, rings *of, int own, int stage) {
    weiri_keep *x = WEIRI_NEW(g->a, weiri_keep);
    WEIRI_PUSH(g->a, *of, 0); /* bits that are no ring's, and of tensors */
    if (g->gmem_ring >= 0) WEIRI_PUSH(g->a, *of, g->gmem_ring);
    for (int i = 1; i < of->n; i++) { /* as they lie */
        const int r = of->v[i];
        int at = i;
        for (; at > 0 && g->rings.v[of->v[at - 1]].at > g->rings.v[r].at; at--) of->v[at] = of->v[at - 1];
        of->v[at] = r;
    }
    for (int i = 0; i < of->n; i++) {
        const weiri_ring *q = &g->rings.v[of->v[i]];
        const weiri_words w = of->v[i] == own && has_own(q) ? words_at(q, stage) : words_of(g, of->v[i]);
        keep_words(g, x, w.first, w.end);
    }
    return x;
}

/* Who asks nothing of a ring need know nothing of it, unless he is to hand it on; and what a barrier brings is nearly always
 * about its own ring. So actors keep the rings that they ask of, and a barrier's rows their own, or the stage of it. */
static void keep_alone(weiri_prog *g) {
    const rings copied = rings_copied(g);
    rings of = { 0 };
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        rings_of(g, me, &copied, &of);
        give_rows(g, me->row, me->nrows, keep_rings(g, &of, -1, 0));
    }
    rings own = { 0 };
    for (int i = 0; i < g->nctas * g->nbars; i++) {
        const weiri_bari *b = &g->bars[i];
        const weiri_ring *q = &g->rings.v[b->ring];
        const weiri_keep *x = NULL;
        for (int s = 0; s < q->stages; s++) {
            own.n = 0;
            WEIRI_PUSH(g->a, own, b->ring);
            if (!x || has_own(q)) x = keep_rings(g, &own, b->ring, s);
            give_rows(g, b->row + 2 * s, 2, x);
        }
    }
    for (int i = 0; i < g->nrows; i++) g->narrow = g->narrow || g->rows[i].keep->n < g->nwords;
}

/* What can be shown to suffice: all but what lies behind gates. */
static void keep_enough(weiri_prog *g) {
    keeper k = { .g = g };
    k.home = WEIRI_NEW_N(g->a, uint64_t, g->rings.n);
    k.late = WEIRI_NEW_N(g->a, uint64_t, g->rings.n);
    k.comes = WEIRI_NEW_N(g->a, uint64_t, g->nbars + 1);
    k.word = WEIRI_NEW_N(g->a, uint64_t, g->nwords + 1);
    k.all = (1ull << g->actors.n) - 1;
    look(&k);
    settle(&k);
    for (int i = 0; i < g->actors.n; i++) give_rows(g, g->actors.v[i].row, g->actors.v[i].nrows, keep_of(&k, 1ull << i));
    for (int i = 0; i < g->nbars; i++) {
        bool like = i && k.comes[i] == k.comes[i - 1];
        give_rows(g, g->bars[i].row, 2 * g->p->bars.v[i].stages, like ? g->rows[g->bars[i - 1].row].keep : keep_of(&k, k.comes[i]));
    }
}

/* Where each row lies, and who keeps a word. */
static void place_rows(weiri_prog *g) {
    g->held = WEIRI_NEW_N(g->a, weiri_held, g->nwords + 1);
    for (int pass = 0; pass < 2; pass++) { /* how many, and which */
        g->nknow = 0;
        for (int i = 0; i < g->nrows; i++) {
            const weiri_keep *k = g->rows[i].keep;
            g->rows[i].first = g->nknow;
            g->nknow += k->n;
            for (int n = 0; n < k->run.n; n++)
                for (int w = k->run.v[n].first, at = g->rows[i].first + k->run.v[n].at; w < k->run.v[n].end; w++, at++) {
                    weiri_held *h = &g->held[w];
                    if (pass) h->row[h->n] = i, h->at[h->n] = at;
                    h->n++;
                }
        }
        for (int w = 0; w < g->nwords && !pass; w++) {
            g->held[w].row = WEIRI_NEW_N(g->a, int, g->held[w].n + 1);
            g->held[w].at = WEIRI_NEW_N(g->a, int, g->held[w].n + 1);
            g->held[w].n = 0;
        }
    }
}

void weiri_keep_place(weiri_prog *g) {
    weiri_keep *whole = WEIRI_NEW(g->a, weiri_keep);
    keep_words(g, whole, 0, g->nwords);
    g->rows = WEIRI_NEW_N(g->a, weiri_known, g->nrows);
    give_rows(g, 0, g->nrows, whole);
    const bool everywhere = g->without & WEIRI_EVERYWHERE, wide = everywhere || g->without & WEIRI_WIDE;
    if (!wide && !(g->without & WEIRI_RINGS) && !has_lanes(g)) keep_alone(g);
    else {
        if (!everywhere && g->nctas == 1 && g->actors.n <= MOST_ACTORS) keep_enough(g);
        if (!wide) narrow(g);
    }
    place_rows(g);
}
