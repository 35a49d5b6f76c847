/* The explorer of actions. A state is: where each thread stands, which items have landed, each mbarrier's phase, pending arrivals
 * and bytes, who has come to each rendezvous, and whose plain writes and plain reads of a place are not yet
 * fenced. Every move and every landing
 * takes one step, so equal states have equal depth, and only the level being built must be remembered. */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 32, MAX_LIVE = 512 };

typedef struct explorer {
    const weiri_unrolled *u;
    weirx_result r;
    /* a state, in 16-bit words: positions, landed items, cells (phase, pending, bytes in two), meets (count, mask in two), dirty, late */
    int landed_at, cell_at, meet_at, dirty_at, late_at, words;
    int *dirty;                      /* by place: its slot, -1: nothing to watch */
    int ndirty;
    int *late, nlate;                /* the same of plain reads that the async proxy could overtake */
    unsigned char *clash;            /* [touch * ntouches + touch] */
    int **open;                      /* by thread, position: asynchronous touches begun before it that may be running; -1 ends */
    int *init_thread, *init_move;    /* by CTA */
    int *last_remote;                /* [thread * ctas + cta]: last move that reaches a barrier of that CTA, -1 none */
    int *fills;                      /* by touch: full barrier's cell of the data it writes, -1 none */
    int *fills_lap;
    int **writers;                   /* by touch that reads shared memory: those that write there; -1 ends; NULL: it writes */
    int over_at;                     /* words: by place: overwritten through another region; -1: none can be */
    bool overlaid;                   /* some data share bytes with another region */
    bool *exit_open;                 /* by CTA: an access of its threads is never waited for */
    struct data { bool is; uint64_t waited; } *data; /* by cell of a full barrier: laps below 64 that somebody waits for */
    /* levels */
    uint16_t *now, *next;
    size_t nnow, nnext, room;
    uint32_t *table;
    size_t slots;
    /* path */
    int path_to;
    struct link { uint32_t parent; int32_t move; } *link;
    size_t nlink, link_room, base_now, base_next;
} explorer;

static uint16_t *at(const explorer *x, uint16_t *level, size_t i) { return level + i * (size_t)x->words; }

static uint32_t get32(const uint16_t *w) { return w[0] | (uint32_t)w[1] << 16; }
static void put32(uint16_t *w, uint32_t v) { w[0] = (uint16_t)v, w[1] = (uint16_t)(v >> 16); }

enum { CELL = 4, MEET = 3 };
static uint16_t *cell(const explorer *x, uint16_t *s, int i) { return s + x->cell_at + CELL * i; }
static uint16_t *rendezvous(const explorer *x, uint16_t *s, int i) { return s + x->meet_at + MEET * i; }
static bool landed(const explorer *x, const uint16_t *s, int item) { return s[x->landed_at + item / 16] >> (item % 16) & 1; }

/* ---- what is fixed ------------------------------------------------------------------------------------------------------ */

static void *room(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

/* Do two regions share these bytes? */
static bool regions_meet(const weiri_upl *a, const weiri_upl *b) {
    return a->region >= 0 && b->region >= 0 && a->region != b->region && weiri_places_meet(a, b);
}

static void prepare(explorer *x) {
    const weiri_unrolled *u = x->u;
    int nt = u->touches.n, threads = u->threads.n;
    x->clash = room((size_t)nt * (size_t)nt, 1);
    for (int i = 0; i < nt; i++)
        for (int j = 0; j < nt; j++) x->clash[i * nt + j] = weiri_touches_clash(u, &u->touches.v[i], &u->touches.v[j]);
    /* places that plain writes and asynchronous accesses share are watched for fences */
    x->dirty = room((size_t)u->places.n, sizeof *x->dirty);
    for (int i = 0; i < u->places.n; i++) x->dirty[i] = weiri_place_watched(u, i) ? x->ndirty++ : -1;
    x->late = room((size_t)u->places.n, sizeof *x->late);
    for (int i = 0; i < u->places.n; i++) x->late[i] = weiri_place_refilled(u, i) ? x->nlate++ : -1;
    x->landed_at = threads;
    x->cell_at = x->landed_at + (u->items.n + 15) / 16;
    x->meet_at = x->cell_at + CELL * u->cells.n;
    x->dirty_at = x->meet_at + MEET * u->meets.n;
    x->late_at = x->dirty_at + 2 * x->ndirty;
    x->over_at = -1;
    for (int i = 0; i < u->places.n; i++)
        for (int j = 0; j < i; j++)
            if (regions_meet(&u->places.v[i], &u->places.v[j])) x->over_at = x->late_at + 2 * x->nlate;
    x->words = (x->late_at + 2 * x->nlate + (x->over_at < 0 ? 0 : (u->places.n + 15) / 16) + 3) & ~3;
    x->open = room((size_t)threads, sizeof *x->open);
    for (int t = 0; t < threads; t++) { /* lists behind their heads: open[t][p] is where p's begins */
        int n = u->threads.v[t].moves.n, used = n + 1;
        int *list = room((size_t)(n + 1) * (size_t)(nt + 2), sizeof *list);
        for (int p = 0; p <= n; p++) {
            list[p] = used;
            for (int j = 0; j < nt; j++) {
                const weiri_touch *y = &u->touches.v[j];
                if (y->thread == t && y->kind != TOUCH_PLAIN && y->move < p && p <= y->end) list[used++] = j;
            }
            list[used++] = -1;
        }
        x->open[t] = list;
    }
    x->writers = room((size_t)nt, sizeof *x->writers);
    for (int i = 0; i < nt; i++) {
        const weiri_touch *y = &u->touches.v[i];
        if (y->write || u->places.v[y->place].region < 0) continue;
        int n = 0;
        x->writers[i] = room((size_t)nt + 1, sizeof(int));
        for (int j = 0; j < nt; j++)
            if (u->touches.v[j].write && weiri_places_meet(&u->places.v[u->touches.v[j].place], &u->places.v[y->place])) x->writers[i][n++] = j;
        x->writers[i][n] = -1;
    }
    x->init_thread = room((size_t)u->ctas, sizeof(int));
    x->init_move = room((size_t)u->ctas, sizeof(int));
    x->last_remote = room((size_t)threads * (size_t)u->ctas, sizeof(int));
    x->exit_open = room((size_t)u->ctas, sizeof(bool));
    x->data = room((size_t)u->cells.n, sizeof *x->data);
    for (int i = 0; i < u->cells.n; i++) {
        for (int q = 0; q < u->p->pipes.n; q++)
            if (u->p->pipes.v[q].full == u->cells.v[i].bar && u->p->pipes.v[q].region >= 0) x->data[i].is = true;
    }
    for (int c = 0; c < u->ctas; c++) x->init_thread[c] = -1;
    for (int t = 0; t < threads; t++) {
        const weiri_thread *th = &u->threads.v[t];
        for (int c = 0; c < u->ctas; c++) x->last_remote[t * u->ctas + c] = -1;
        for (int p = 0; p < th->moves.n; p++) {
            const weiri_move *m = &th->moves.v[p];
            if (m->kind == MOVE_INIT) x->init_thread[th->cta] = t, x->init_move[th->cta] = p;
            if (m->kind == MOVE_WAIT && m->lap >= 0 && m->lap < 64) x->data[m->cell].waited |= 1ull << m->lap;
            if (m->cell < 0 || m->kind == MOVE_WAIT) continue;
            x->last_remote[t * u->ctas + u->cells.v[m->cell].cta] = p;
        }
    }
    x->fills = room((size_t)nt, sizeof(int));
    x->fills_lap = room((size_t)nt, sizeof(int));
    for (int j = 0; j < nt; j++) {
        const weiri_touch *y = &u->touches.v[j];
        const weiri_upl *l = &u->places.v[y->place];
        x->fills[j] = -1;
        if (!y->write || y->kind == TOUCH_MMA || l->region < 0) continue;
        for (int q = 0; q < u->p->pipes.n; q++) {
            const weiri_ppipe *pp = &u->p->pipes.v[q];
            int region = pp->region < 0 ? -1 : weiri_data_region(u->p, pp->region);
            for (int c = 0; pp->full >= 0 && region == l->region && c < u->cells.n; c++)
                if (u->cells.v[c].bar == pp->full && u->cells.v[c].cta == l->cta && u->cells.v[c].stage == l->stage)
                    x->fills[j] = c, x->fills_lap[j] = y->use / u->p->bars.v[pp->full].stages;
        }
        for (int o = 0; o < u->places.n; o++)
            if (x->fills[j] >= 0 && u->places.v[o].region != l->region && weiri_places_meet(l, &u->places.v[o])) x->overlaid = true;
    }
    for (int j = 0; j < nt; j++) {
        const weiri_touch *y = &u->touches.v[j];
        const weiri_thread *th = &u->threads.v[y->thread];
        bool over = y->end != WEIRI_NEVER || y->item >= 0 || u->places.v[y->place].reg >= 0;
        for (int s = 0; y->kind == TOUCH_MMA && s < th->of; s++) {
            const weiri_thread *o = &u->threads.v[th->first + s];
            over = over || (y->batch < o->mma_end.n && o->mma_end.v[y->batch] != WEIRI_NEVER);
        }
        if (!over && (y->kind == TOUCH_STORE || (y->kind == TOUCH_MMA && !y->write))) x->exit_open[th->cta] = true;
    }
}

/* ---- levels ------------------------------------------------------------------------------------------------------------- */

static uint64_t hash(const uint16_t *s, int words) {
    uint64_t h = 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < words; i += 4) {
        uint64_t v;
        memcpy(&v, s + i, 8);
        h = (h ^ v) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    return h;
}

static void *grown(void *p, size_t n) {
    p = realloc(p, n);
    if (!p) abort();
    return p;
}

static void rehash(explorer *x, size_t slots) {
    x->slots = slots;
    x->table = grown(x->table, slots * sizeof *x->table);
    memset(x->table, 0, slots * sizeof *x->table);
    for (size_t i = 0; i < x->nnext; i++) {
        size_t h = hash(at(x, x->next, i), x->words) & (slots - 1);
        while (x->table[h]) h = (h + 1) & (slots - 1);
        x->table[h] = (uint32_t)i + 1;
    }
}

/* s, which stands at the end of `next`, joins the level unless it is there. */
static void keep(explorer *x, size_t parent, int move) {
    uint16_t *s = at(x, x->next, x->nnext);
    size_t h = hash(s, x->words) & (x->slots - 1);
    for (; x->table[h]; h = (h + 1) & (x->slots - 1))
        if (!memcmp(at(x, x->next, x->table[h] - 1), s, sizeof *s * (size_t)x->words)) return;
    x->table[h] = (uint32_t)++x->nnext;
    if (x->path_to) {
        if (x->nlink == x->link_room) x->link = grown(x->link, sizeof *x->link * (x->link_room = 2 * x->link_room + 1024));
        x->link[x->nlink++] = (struct link){ (uint32_t)(x->base_now + parent), move };
    }
    if (2 * x->nnext >= x->slots) rehash(x, 2 * x->slots);
    if (x->nnext + 1 >= x->room) {
        x->room *= 2;
        x->now = grown(x->now, x->room * sizeof *x->now * (size_t)x->words);
        x->next = grown(x->next, x->room * sizeof *x->next * (size_t)x->words);
    }
}

static void put_move(const explorer *x, weiri_buf *b, int move) {
    const weiri_unrolled *u = x->u;
    int t = move < 0 ? u->items.v[-1 - move].thread : move / 65536, p = move < 0 ? u->items.v[-1 - move].move : move % 65536;
    const weiri_move *m = &u->threads.v[t].moves.v[p];
    weiri_put(b, "%s%s: %s", move < 0 ? "lands: " : "", u->threads.v[t].name, weiri_act_name(m->act->kind));
    if (m->cell >= 0)
        weiri_put(b, " %s[%d] lap %d", u->p->bars.v[u->cells.v[m->cell].bar].name, u->cells.v[m->cell].stage, m->lap);
    if (m->kind == MOVE_LEAVE) weiri_put(b, " passes");
    weiri_put(b, " (action %d)\n", m->act->id);
}

static void fault(explorer *x, int kinds, int depth, size_t state, int move) {
    if (!x->r.faults) x->r.depth = depth;
    bool news = kinds & x->path_to & ~x->r.faults;
    x->r.faults |= kinds;
    if (!news || x->r.path.n) return;
    int *moves = room((size_t)depth + 2, sizeof *moves), n = 0;
    for (size_t i = x->base_now + state; i > 0 && n <= depth; i = x->link[i].parent) moves[n++] = x->link[i].move;
    while (n > 0) put_move(x, &x->r.path, moves[--n]);
    if (move != INT32_MIN) put_move(x, &x->r.path, move);
    weiri_put(&x->r.path, "faults %x; then:", (unsigned)kinds);
    for (int t = 0; t < x->u->threads.n; t++) {
        int p = at(x, x->now, state)[t];
        weiri_put(&x->r.path, "\n  ");
        if (p < x->u->threads.v[t].moves.n) put_move(x, &x->r.path, t * 65536 + p), x->r.path.s[--x->r.path.n] = 0;
        else weiri_put(&x->r.path, "%s: ended", x->u->threads.v[t].name);
    }
    weiri_put(&x->r.path, "\n");
    free(moves);
}

/* ---- moves -------------------------------------------------------------------------------------------------------------- */

/* What happens to a barrier: a fault, or 0. */
static int reach(const explorer *x, uint16_t *s, int c, int lap, int arrivals, int64_t bytes, int wrong) {
    uint16_t *b = cell(x, s, c);
    if (b[0] != (uint16_t)lap) return wrong;
    int pending = (int16_t)b[1] - arrivals, tx = (int32_t)get32(b + 2) + (int)bytes;
    if (pending < 0) return WEIRX_COUNT;
    if (pending == 0 && tx < 0) return WEIRX_TX;
    if (pending == 0 && tx == 0) {
        b[0]++;
        pending = x->u->cells.v[c].count;
    }
    b[1] = (uint16_t)pending;
    put32(b + 2, (uint32_t)tx);
    return 0;
}

/* Has one thread of the actor drained this batch? Then it is done for all. */
static bool batch_over(const explorer *x, const uint16_t *s, const weiri_touch *y) {
    const weiri_thread *t = &x->u->threads.v[y->thread];
    for (int i = 0; i < t->of; i++) {
        const weiri_thread *o = &x->u->threads.v[t->first + i];
        if (y->batch < o->mma_end.n && s[t->first + i] > o->mma_end.v[y->batch]) return true;
    }
    return false;
}

static bool over(const explorer *x, const uint16_t *s, const weiri_touch *y) {
    if (y->kind == TOUCH_MMA && batch_over(x, s, y)) return true;
    return y->item >= 0 && landed(x, s, y->item);
}

static bool enabled(const explorer *x, uint16_t *s, int t, const weiri_move *m) {
    const weiri_thread *th = &x->u->threads.v[t];
    switch (m->kind) {
    case MOVE_WAIT: return cell(x, s, m->cell)[0] == (uint16_t)(m->lap + 1);
    case MOVE_LEAVE: return !(get32(rendezvous(x, s, m->meet) + 1) >> t & 1);
    case MOVE_DRAIN:
        for (int i = 0; i < th->of && m->n > 0; i++) {
            const weiri_thread *o = &x->u->threads.v[th->first + i];
            if (o->mma.n >= m->n && s[th->first + i] <= o->mma.v[m->n - 1]) return false;
        }
        return true;
    default: return true;
    }
}

static void soil(const explorer *x, uint16_t *s, int t, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    uint32_t mates = 0;
    for (int o = 0; o < u->threads.n; o++)
        if (u->threads.v[o].task == u->threads.v[t].task && u->threads.v[o].cta == u->threads.v[t].cta) mates |= 1u << o;
    for (int i = 0; i < m->ntouch; i++) {
        const weiri_touch *y = &u->touches.v[m->touch + i];
        if (!y->write || (y->kind != TOUCH_PLAIN && y->kind != TOUCH_CP)) continue;
        const weiri_upl *l = &u->places.v[y->place];
        for (int p = 0; p < u->places.n; p++) { /* covers what others had written there */
            const weiri_upl *o = &u->places.v[p];
            if (x->dirty[p] < 0 || o->cta != l->cta || o->lo < l->lo || o->hi > l->hi) continue;
            uint16_t *d = s + x->dirty_at + 2 * x->dirty[p];
            put32(d, get32(d) & mates);
        }
        if (x->dirty[y->place] < 0) continue;
        uint16_t *d = s + x->dirty_at + 2 * x->dirty[y->place];
        put32(d, get32(d) | 1u << t);
    }
}

/* Plain reads may still be under way when their thread goes on; what another actor's threads write over them comes behind. */
static void leave_behind(const explorer *x, uint16_t *s, int t, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < m->ntouch; i++) {
        const weiri_touch *y = &u->touches.v[m->touch + i];
        if (x->late[y->place] < 0) continue;
        uint16_t *d = s + x->late_at + 2 * x->late[y->place];
        uint32_t own = 0;
        for (int v = 0; v < u->threads.n; v++)
            if (u->threads.v[v].actor == u->threads.v[t].actor) own |= 1u << v;
        if (y->write) put32(d, get32(d) & own);
        if (y->late) put32(d, get32(d) | 1u << t);
    }
}

/* Has all that thread t wrote at place p been written by cp.async, and landed? */
static bool all_landed(const explorer *x, const uint16_t *s, int t, int p) {
    for (int i = 0; i < x->u->touches.n; i++) {
        const weiri_touch *y = &x->u->touches.v[i];
        if (y->thread != t || y->place != p || !y->write || s[t] <= y->move) continue;
        if (y->kind != TOUCH_CP || (s[t] <= y->end && !over(x, s, y))) return false;
    }
    return true;
}

/* What the move writes is no longer what other regions had there. */
static void overwrite(const explorer *x, uint16_t *s, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < m->ntouch; i++) {
        const weiri_touch *y = &u->touches.v[m->touch + i];
        const weiri_upl *l = &u->places.v[y->place];
        for (int p = 0; p < u->places.n && y->write && l->region >= 0; p++) {
            const weiri_upl *o = &u->places.v[p];
            uint16_t *w = s + x->over_at + p / 16, bit = (uint16_t)(1u << p % 16);
            if (regions_meet(l, o)) *w |= bit;
            else if (o->region == l->region && o->cta == l->cta && o->lo >= l->lo && o->hi <= l->hi) *w &= (uint16_t)~bit;
        }
    }
}

/* Thread t makes its next move in s. A fault, or 0. */
static int make(const explorer *x, uint16_t *s, int t, const weiri_move *m) {
    s[t]++;
    if (x->over_at >= 0) overwrite(x, s, m);
    switch (m->kind) {
    case MOVE_ARRIVE: return reach(x, s, m->cell, m->lap, m->n, m->bytes, WEIRX_COUNT);
    case MOVE_MEET: {
        uint16_t *r = rendezvous(x, s, m->meet);
        bool named = m->act->kind == ACT_NAMED_SYNC;
        int full = named ? m->act->threads : x->u->meets.v[m->meet].full;
        uint32_t mask = get32(r + 1);
        if (mask >> t & 1 || r[0] + x->u->threads.v[t].weight > full) return WEIRX_COUNT;
        r[0] = (uint16_t)(r[0] + x->u->threads.v[t].weight);
        put32(r + 1, mask | 1u << t);
        if (r[0] == full) r[0] = r[1] = r[2] = 0;
        return 0;
    }
    case MOVE_FENCE:
        for (int i = 0; i < x->ndirty; i++) {
            uint16_t *d = s + x->dirty_at + 2 * i;
            put32(d, get32(d) & ~(1u << t));
        }
        for (int i = 0; i < x->nlate; i++) {
            uint16_t *d = s + x->late_at + 2 * i;
            put32(d, get32(d) & ~(1u << t));
        }
        for (int p = 0; p < x->u->places.n; p++) /* cp.asyncs fence nothing, so that any fence behind their landing counts */
            for (int o = 0; o < x->u->threads.n && x->dirty[p] >= 0; o++) {
                uint16_t *d = s + x->dirty_at + 2 * x->dirty[p];
                if (get32(d) >> o & 1 && all_landed(x, s, o, p)) put32(d, get32(d) & ~(1u << o));
            }
        return 0;
    case MOVE_TOUCH:
        if (x->ndirty) soil(x, s, t, m);
        if (x->nlate) leave_behind(x, s, t, m);
        return 0;
    case MOVE_SEND: if (x->nlate) leave_behind(x, s, t, m); return 0; /* a body that brings bytes reads, too */
    default: return 0;
    }
}

static int land(const explorer *x, uint16_t *s, int item) {
    const weiri_item *i = &x->u->items.v[item];
    const weiri_move *m = &x->u->threads.v[i->thread].moves.v[i->move];
    s[x->landed_at + item / 16] |= (uint16_t)(1u << item % 16);
    if (m->cell < 0) return 0;
    return m->kind == MOVE_SEND ? reach(x, s, m->cell, m->lap, 0, -m->bytes, WEIRX_TX) : reach(x, s, m->cell, m->lap, m->n, 0, WEIRX_COUNT);
}

/* ---- looking at a state ------------------------------------------------------------------------------------------------- */

static int kind_of_race(const explorer *x, const weiri_touch *first, const weiri_touch *later, bool any_order) {
    const weiri_unrolled *u = x->u;
    bool smem = u->places.v[first->place].reg < 0;
    bool async = smem && first->kind == TOUCH_MMA && !first->write, other = smem && later->kind == TOUCH_MMA && !later->write;
    if (any_order && (async || other)) return WEIRX_ASYNC_READ | WEIRX_RACE;
    return async ? WEIRX_ASYNC_READ : WEIRX_RACE;
}

static int races(const explorer *x, const uint16_t *s) {
    const weiri_unrolled *u = x->u;
    int live[MAX_LIVE], n = 0, running, found = 0, nt = u->touches.n;
    for (int t = 0; t < u->threads.n; t++)
        for (const int *o = x->open[t] + x->open[t][s[t]]; *o >= 0 && n < MAX_LIVE; o++)
            if (!over(x, s, &u->touches.v[*o])) live[n++] = *o;
    running = n;
    for (int t = 0; t < u->threads.n; t++) {
        if (s[t] == u->threads.v[t].moves.n) continue;
        const weiri_move *m = &u->threads.v[t].moves.v[s[t]];
        for (int i = 0; i < m->ntouch && n < MAX_LIVE; i++) {
            const weiri_touch *y = &u->touches.v[m->touch + i];
            if (y->kind != TOUCH_MMA || !batch_over(x, s, y)) live[n++] = m->touch + i;
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const weiri_touch *a = &u->touches.v[live[j]], *b = &u->touches.v[live[i]];
            if (!x->clash[live[i] * nt + live[j]] || (a->thread == b->thread && a->move == b->move)) continue;
            found |= kind_of_race(x, a, b, (i < running) == (j < running));
        }
    return found;
}

static int proxies(const explorer *x, const uint16_t *s, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < m->ntouch; i++) {
        const weiri_touch *y = &u->touches.v[m->touch + i];
        if (y->kind == TOUCH_PLAIN || y->kind == TOUCH_CP || (y->kind == TOUCH_MMA && batch_over(x, s, y))) continue;
        for (int p = 0; p < u->places.n; p++) {
            if (!weiri_places_meet(&u->places.v[p], &u->places.v[y->place])) continue;
            if (x->dirty[p] >= 0 && get32(s + x->dirty_at + 2 * x->dirty[p])) return WEIRX_PROXY;
            if (y->overtakes && x->late[p] >= 0 && get32(s + x->late_at + 2 * x->late[p])) return WEIRX_PROXY;
        }
    }
    return 0;
}

/* Has another thread of the actor made this read? Its threads count as one, in order. */
static bool read_by_mate(const explorer *x, const uint16_t *s, const weiri_touch *y) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < u->touches.n; i++) {
        const weiri_touch *o = &u->touches.v[i];
        bool mate = o->thread != y->thread && u->threads.v[o->thread].actor == u->threads.v[y->thread].actor;
        if (mate && !o->write && o->place == y->place && o->use == y->use && s[o->thread] > o->move) return true;
    }
    return false;
}

/* Does the move read bytes of shared memory that no move has begun to write? */
static bool reads_nothing(const explorer *x, const uint16_t *s, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < m->ntouch; i++) {
        const int *o = x->writers[m->touch + i];
        if (!o) continue;
        for (int p = 0; p < u->places.n && x->over_at >= 0; p++) {
            const weiri_upl *l = &u->places.v[u->touches.v[m->touch + i].place];
            bool over = u->places.v[p].region == l->region && weiri_places_meet(&u->places.v[p], l) && s[x->over_at + p / 16] >> p % 16 & 1;
            if (over && !read_by_mate(x, s, &u->touches.v[m->touch + i])) return true;
        }
        while (*o >= 0 && s[u->touches.v[*o].thread] <= u->touches.v[*o].move) o++;
        if (*o < 0) return true;
    }
    return false;
}

/* Does the move overwrite data of another region and task that somebody has still to wait for? */
static int overwrites(const explorer *x, const uint16_t *s, int t, const weiri_move *m) {
    const weiri_unrolled *u = x->u;
    for (int i = 0; i < m->ntouch; i++) {
        const weiri_touch *y = &u->touches.v[m->touch + i];
        const weiri_upl *l = &u->places.v[y->place];
        for (int j = 0; y->write && l->region >= 0 && j < u->touches.n; j++) {
            const weiri_touch *d = &u->touches.v[j];
            const weiri_upl *o = &u->places.v[d->place];
            if (x->fills[j] < 0 || o->region == l->region || s[d->thread] <= d->move || !weiri_places_meet(o, l)) continue;
            if (u->threads.v[d->thread].task == u->threads.v[t].task) continue;
            bool waited = false, all = true;
            for (int v = 0; v < u->threads.n; v++)
                for (int p = 0; p < u->threads.v[v].moves.n && (v == t || u->threads.v[v].actor != u->threads.v[t].actor); p++) { /* its own are in order */
                    const weiri_move *w = &u->threads.v[v].moves.v[p];
                    if (w->kind != MOVE_WAIT || w->cell != x->fills[j] || w->lap != x->fills_lap[j]) continue;
                    waited = true;
                    all = all && s[v] > p;
                }
            if (!waited || !all) return WEIRX_RACE;
        }
    }
    return 0;
}

/* Does anything still reach, or read in, a CTA whose threads have all ended? */
static int exits(const explorer *x, const uint16_t *s) {
    const weiri_unrolled *u = x->u;
    for (int c = 0; c < u->ctas; c++) {
        bool ended = true;
        for (int t = 0; t < u->threads.n && ended; t++) ended = u->threads.v[t].cta != c || s[t] == u->threads.v[t].moves.n;
        if (!ended) continue;
        if (x->exit_open[c]) return WEIRX_EXIT;
        for (int t = 0; t < u->threads.n; t++)
            if (s[t] <= x->last_remote[t * u->ctas + c]) return WEIRX_EXIT;
        for (int i = 0; i < u->items.n; i++) {
            const weiri_item *it = &u->items.v[i];
            const weiri_move *m = &u->threads.v[it->thread].moves.v[it->move];
            bool here = m->cell >= 0 && u->cells.v[m->cell].cta == c;
            for (int q = 0; q < m->ntouch; q++) here = here || u->places.v[u->touches.v[m->touch + q].place].cta == c;
            if (here && s[it->thread] > it->move && !landed(x, s, i)) return WEIRX_EXIT;
        }
    }
    return 0;
}

/* All have ended: data whose last phase nobody waits for. */
static int lost(const explorer *x, uint16_t *s) {
    for (int i = 0; i < x->u->cells.n; i++) {
        int laps = cell(x, s, i)[0];
        if (x->data[i].is && laps > 0 && laps <= 64 && !(x->data[i].waited >> (laps - 1) & 1)) return WEIRX_LOST;
    }
    return 0;
}

/* Nobody moves: is it a phase that got bytes or arrivals wrong? */
static int stuck(const explorer *x, uint16_t *s) {
    const weiri_unrolled *u = x->u;
    int kinds = WEIRX_DEADLOCK;
    for (int t = 0; t < u->threads.n; t++) {
        if (s[t] == u->threads.v[t].moves.n) continue;
        const weiri_move *m = &u->threads.v[t].moves.v[s[t]];
        if (m->kind != MOVE_WAIT) continue;
        const uint16_t *b = cell(x, s, m->cell);
        if (b[0] != (uint16_t)m->lap) return 0; /* on the wrong lap: named already */
        if (b[1] == 0) kinds |= WEIRX_STUCK_TX;
        bool owed = false, some = false;
        for (int o = 0; o < u->threads.n; o++)
            for (int q = 0; q < u->threads.v[o].moves.n; q++) {
                const weiri_move *y = &u->threads.v[o].moves.v[q];
                if (y->cell != m->cell || y->lap != m->lap || (y->kind != MOVE_ARRIVE && y->kind != MOVE_LATER)) continue;
                owed = owed || s[o] <= q;
                some = true;
            }
        if (b[1] != 0 && some && !owed) kinds |= WEIRX_STUCK_COUNT;
    }
    return kinds;
}

static void expand(explorer *x, size_t i, int depth) {
    const weiri_unrolled *u = x->u;
    uint16_t *s = at(x, x->now, i);
    bool waited = false;   /* a GRID_WAIT lies behind */
    int kinds = races(x, s), nenabled = 0, nleft = 0;
    if (!depth) kinds |= (u->lost ? WEIRX_LOST : 0) | (u->stale ? WEIRX_UNFILLED : 0);
    for (int t = 0; t < u->threads.n; t++)
        for (int p = 0; p < s[t] && !waited; p++) waited = u->threads.v[t].moves.v[p].kind == MOVE_GRID_WAIT;
    for (int t = 0; t < u->threads.n; t++) {
        if (s[t] == u->threads.v[t].moves.n) continue;
        const weiri_move *m = &u->threads.v[t].moves.v[s[t]];
        nleft++;
        if (m->cell >= 0) {
            int c = u->cells.v[m->cell].cta;
            if (x->init_thread[c] < 0 || s[x->init_thread[c]] <= x->init_move[c]) kinds |= WEIRX_RACE; /* not yet initialised */
        }
        if (m->kind == MOVE_WAIT) {
            int phase = cell(x, s, m->cell)[0];
            if (phase < m->lap || phase > m->lap + 1) kinds |= WEIRX_PARITY;
        }
        if (m->kind == MOVE_GRID_LAUNCH && !waited) kinds |= WEIRX_PDL;
        if (m->ntouch && enabled(x, s, t, m) && reads_nothing(x, s, m)) kinds |= WEIRX_UNFILLED;
        if (x->ndirty || x->nlate) kinds |= proxies(x, s, m);
        if (x->overlaid) kinds |= overwrites(x, s, t, m);
    }
    if (nleft < u->threads.n) kinds |= exits(x, s);
    if (kinds) fault(x, kinds, depth, i, INT32_MIN);
    for (int t = 0; t < u->threads.n; t++) {
        s = at(x, x->now, i);
        if (s[t] == u->threads.v[t].moves.n) continue;
        const weiri_move *m = &u->threads.v[t].moves.v[s[t]];
        if (!enabled(x, s, t, m)) continue;
        nenabled++;
        uint16_t *to = at(x, x->next, x->nnext);
        memcpy(to, s, sizeof *s * (size_t)x->words);
        int move = t * 65536 + s[t], bad = make(x, to, t, m);
        if (bad) fault(x, bad, depth + 1, i, move);
        else keep(x, i, move);
    }
    for (int it = 0; it < u->items.n; it++) {
        s = at(x, x->now, i);
        if (s[u->items.v[it].thread] <= u->items.v[it].move || landed(x, s, it)) continue;
        nenabled++;
        uint16_t *to = at(x, x->next, x->nnext);
        memcpy(to, s, sizeof *s * (size_t)x->words);
        int bad = land(x, to, it);
        if (bad) fault(x, bad, depth + 1, i, -1 - it);
        else keep(x, i, -1 - it);
    }
    if (nenabled) return;
    s = at(x, x->now, i);
    kinds = nleft ? stuck(x, s) : lost(x, s);
    x->r.complete += nleft == 0;
    x->r.deadlocks += nleft && kinds;
    if (kinds) fault(x, kinds, depth, i, INT32_MIN);
}

weirx_result weirx_actions(const weiri_unrolled *u, uint64_t limit, int path_to) {
    explorer x = { .u = u, .path_to = path_to, .room = 1024, .slots = 1024 };
    weiri_buf_init(&x.r.path, u->p->k->ctx);
    if (u->why || u->threads.n > MAX_THREADS || u->touches.n > 4000) {
        x.r.cut = true;
        x.r.why = u->why ? u->why : "too many threads or accesses";
        return x.r;
    }
    prepare(&x);
    x.table = room(x.slots, sizeof *x.table);
    x.now = room(x.room * (size_t)x.words, sizeof *x.now);
    x.next = room(x.room * (size_t)x.words, sizeof *x.next);
    for (int i = 0; i < u->cells.n; i++) x.now[x.cell_at + CELL * i + 1] = (uint16_t)u->cells.v[i].count;
    x.nnow = 1;
    if (path_to) x.link = grown(NULL, sizeof *x.link * (x.link_room = 1024)), x.nlink = 1, x.base_next = 1;
    for (int depth = 0; x.nnow > 0 && !x.r.cut; depth++) {
        x.nnext = 0;
        memset(x.table, 0, x.slots * sizeof *x.table);
        for (size_t i = 0; i < x.nnow; i++) expand(&x, i, depth);
        x.r.states += x.nnow;
        if (x.nnow > x.r.widest) x.r.widest = x.nnow;
        if (x.r.states > limit) x.r.cut = true, x.r.why = "more states than the limit";
        uint16_t *swap = x.now;
        x.now = x.next;
        x.next = swap;
        x.nnow = x.nnext;
        x.base_now = x.base_next;
        x.base_next = x.nlink;
    }
    for (int i = 0; i < u->touches.n; i++) free(x.writers[i]);
    free(x.writers);
    for (int t = 0; t < u->threads.n; t++) free(x.open[t]);
    free(x.open), free(x.clash), free(x.dirty), free(x.late), free(x.init_thread), free(x.init_move), free(x.last_remote);
    free(x.exit_open), free(x.data), free(x.fills), free(x.fills_lap), free(x.table), free(x.now), free(x.next), free(x.link);
    return x.r;
}
