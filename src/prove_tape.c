/* The tapes that loops read their lengths off: one for all tasks, or for those that ask alike; and how long each is asked. */
#include "proving.h"

/* ---- who asks alike ----------------------------------------------------------------------------------------------------- */

/* Where the code at `i` is left when it does not go on inside; 0: no loop may stand inside. Loops that warps share out have
 * none. */
static int inside_to(const weiri_code *c, int i) {
    const weiri_ins *x = &c->ins.v[i];
    switch (x->op) {
    case IN_LOOP: return c->ins.v[i + 1].jump;
    case IN_FIRST: case IN_LAST: case IN_EVERY: case IN_TRUTHS: case IN_WHEN: case IN_RAN: case IN_UNITS: case IN_CTA:
    case IN_BEFORE: return x->jump;
    default: return 0;
    }
}

/* The form of a code's loop. */
static int handle_of(const builder *b, int code, int loop) {
    for (int j = 0; j < code; j++) loop += b->g->code.v[j].loops.n;
    return b->handles.v[loop];
}

int pg_asks(const builder *b, int code, int i, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    if (c->ins.v[i].op != IN_LOOP) return 0;
    weiri_trips t = weiri_forms_trips(b->g->forms, handle_of(b, code, c->ins.v[i].a), b->g->without & WEIRI_IN_TURN);
    int n = 0;
    for (int q = 0; q < t.nparts; q++) n += t.part[q].tape == cls;
    return n;
}

int pg_next_ask(const builder *b, int code, int i, int to, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    for (; i < to; i++) {
        if (pg_asks(b, code, i, cls)) break;
        if (c->ins.v[i].op == IN_TILES) i = c->ins.v[i].jump - 1; /* a stretch of its own */
        const int end = inside_to(c, i);
        if (end && pg_next_ask(b, code, i + 1, end, cls) < end) break;
    }
    return i;
}

/* Loops of two codes, pair by pair, the innermost first; NULL: none. They may be more than their blocks: products are loops in
 * each other. */
typedef struct around { const struct around *out; int x, y; } around;
static bool is_pair(const around *a, int x, int y) {
    while (a && (a->x != x || a->y != y)) a = a->out;
    return a != NULL;
}

/* Do two stretches of code ask for the class alike: in the same loops, under the same guards, one after the other? Then their i-th
 * answers are the same by computation. */
static bool ask_alike(const builder *b, int x, int xi, int xto, int y, int yi, int yto, int cls, const around *a) {
    const weiri_code *c = &b->g->code.v[x], *d = &b->g->code.v[y];
    for (int xleft = 0, yleft = 0;;) { /* questions of a loop with none inside that the other has not yet asked */
        if (!xleft) xi = pg_next_ask(b, x, xi, xto, cls);
        if (!yleft) yi = pg_next_ask(b, y, yi, yto, cls);
        if (xi == xto || yi == yto) return xi == xto && yi == yto;
        const weiri_ins *p = &c->ins.v[xi], *q = &d->ins.v[yi];
        const int xend = inside_to(c, xi), yend = inside_to(d, yi);
        const bool more = pg_next_ask(b, x, xi + 1, xend, cls) < xend;
        const int xasks = pg_asks(b, x, xi, cls), yasks = pg_asks(b, y, yi, cls);
        if (xasks && yasks && !more && pg_next_ask(b, y, yi + 1, yend, cls) == yend) {
            if (!xleft) xleft = xasks;
            if (!yleft) yleft = yasks;
            const int both = xleft < yleft ? xleft : yleft;
            xleft -= both, yleft -= both;
            if (!xleft) xi = xend;
            if (!yleft) yi = yend;
            continue;
        }
        if (p->op != q->op || xasks != yasks)
            return false; /* one with questions left has none inside, and the other is no such loop */
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
            /* of one lane. Of the tile before, inside; of the last one, outside: that a stretch is */
            if (p->b != q->b) return false;
            break;
        default: /* IN_CTA */
            if (p->ctas != q->ctas) return false;
        }
        if (!ask_alike(b, x, xi + 1, xend, y, yi + 1, yend, cls, p->op == IN_LOOP ? &here : a)) return false;
        xi = xend, yi = yend;
    }
}

/* ---- tapes -------------------------------------------------------------------------------------------------------------- */

/* May a guard or a loop let a CTA ask more or less often than others? */
static bool by_cta(const builder *b, const stretch *s, int cls) {
    const weiri_code *c = &b->g->code.v[s->code];
    bool any = false;
    for (int i = s->from; i < s->to && !any; i++) {
        const weiri_ins *x = &c->ins.v[i];
        const bool differs = x->op == IN_CTA || x->op == IN_WHEN || x->op == IN_RAN ||
                             (x->op == IN_LOOP && pg_around_by_cta(b->g->p->k, c->loops.v[x->a].node));
        const int end = inside_to(c, i);
        any = differs && pg_next_ask(b, s->code, i + 1, end, cls) < end;
    }
    return any;
}

int pg_inside_others(const builder *b, int code, int i, int cls) {
    const weiri_code *c = &b->g->code.v[code];
    int n = 0;
    for (int q = 0; q < i; q++) n += c->ins.v[q].op == IN_LOOP && c->ins.v[q + 1].jump > i && pg_asks(b, code, q, cls) > 0;
    return n;
}

/* Is a length of the launch one stream over all tiles? Where a task looks back, its turns come to the lengths of the tiles
 * before. */
static bool one_stream(const builder *b, int cls) {
    const weiri_prog *g = b->g;
    weiri_tape t;
    bool per, back = false;
    for (int i = 0; i < g->code.n; i++) back = back || g->code.v[i].looks_back;
    weiri_forms_class(g->forms, cls, &t.least, &t.most, &t.steady, &per, &t.node);
    return back && t.steady && g->without & WEIRI_COUNTED;
}

int pg_tape_for(builder *b, trips_list *all, const stretch *s, int cls, int at) {
    weiri_prog *g = b->g;
    const int deep = pg_inside_others(b, s->code, at, cls);
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
    t.multiple = pg_common(g->deals, (int)(weiri_forms_multiple(g->forms, cls) % g->deals));
    if (per || (wanders && by_cta(b, s, cls))) t.cta = 0;
    if (wanders) t.apart = true, t.node = g->code.v[s->code].loops.v[g->code.v[s->code].ins.v[at].a].node;
    trips_tape new = { .cls = cls, .deep = deep, .code = s->code, .from = s->from, .to = s->to, .in = in };
    new.tape = pg_new_tape(g, t);
    WEIRI_PUSH(g->a, *all, new);
    return new.tape;
}

stretch pg_stretch_of(const weiri_code *c, int code, int i) {
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

/* ---- all of them -------------------------------------------------------------------------------------------------------- */

/* The code asks the tape up to `end`; `tiles`: where the loop over tiles ends that is around, or -1; `skip`: in tiles of other
 * lanes. */
static void asked_until(const weiri_prog *g, weiri_code *c, int tape, int end, int tiles, bool skip) {
    if (g->tapes.v[tape].kind == TAPE_TRIPS && !g->tapes.v[tape].tile && tiles > end) c->tape_end[tape] = c->skip_end[tape] = tiles;
    else (skip ? c->skip_end : c->tape_end)[tape] = end;
}

/* Where a task asks each tape for the last time: behind the outermost loop around the question, the one over tiles where its tape
 * is of none. */
static void find_ends(const weiri_prog *g, weiri_code *c) {
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

void pg_place_tapes(builder *b) {
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
            const stretch s = pg_stretch_of(c, ci, i);
            l->trips = weiri_forms_trips(g->forms, b->handles.v[h + c->ins.v[i].a], g->without & WEIRI_IN_TURN);
            for (int q = 0; q < l->trips.nparts; q++) l->trips.part[q].tape = pg_tape_for(b, &all, &s, l->trips.part[q].tape, i);
        }
        h += c->loops.n;
    }
    if (g->without & WEIRI_COUNTED) {
        pg_cap_loops(b, &all);
        pg_count_conditions(b, &all);
    }
    g->root_tape = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
    g->tile_tape = WEIRI_NEW_N(g->a, int, g->tapes.n + 1);
    for (int i = 0; i < g->tapes.n; i++) {
        g->root_tape[i] = g->tapes.v[i].tile ? -1 : g->nroot++;
        g->tile_tape[i] = g->tapes.v[i].tile ? g->ntile++ : -1;
    }
    for (int ci = 0; ci < g->code.n; ci++) find_ends(g, &g->code.v[ci]);
}
