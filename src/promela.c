/* The plan's protocol as a Promela model, for spin: one process a thread that matters, one for the engines that land copies. It
 * says what unroll.c says, so a reader can follow a kernel's barriers line by line, and another tool can search its states. */
#include <inttypes.h>
#include <string.h>

#include "print.h"
#include "unroll.h"

typedef struct writer {
    const weiri_unrolled *u;
    const weiri_plan *p;
    weiri_buf *b;
    int *live;               /* by touch: its index in live[], -1: it clashes with nothing */
    int nlive;
    int *dirty;              /* by place: its index in dirty[], -1: not watched for fences */
    int ndirty;
    int *late;               /* by place: its index in late[], -1: the async proxy fills it never, or threads read it never */
    int nlate;
    int *flies;              /* by touch: a cp.async at a watched place: its index in flies[], -1 */
    int nflies;
    bool *over;              /* by number of phases: somebody waits until so many are over */
} writer;

static const char prelude[] =
    "/* Barriers. lap: which phase a move is meant for, from 0. */\n"
    "inline settle(c)\n"
    "{\n"
    "    if\n"
    "    :: pending[c] == 0 && tx[c] == 0 -> phase[c] = phase[c] + 1; pending[c] = count[c]\n"
    "    :: else\n"
    "    fi\n"
    "}\n"
    "inline reach(c, lap, arrivals, bytes)\n"
    "{\n"
    "    assert(phase[c] == lap);                     /* it falls into the phase it is meant for */\n"
    "    pending[c] = pending[c] - arrivals;\n"
    "    tx[c] = tx[c] + bytes;\n"
    "    assert(pending[c] >= 0 && (pending[c] > 0 || tx[c] >= 0));\n"
    "    settle(c)\n"
    "}\n"
    "inline arrive(c, cta, lap, arrivals, bytes)\n"
    "{\n"
    "    d_step { assert(ready[cta] && ended[cta] < threads[cta]); reach(c, lap, arrivals, bytes) }\n"
    "}\n"
    "inline wait(c, cta, lap)\n"
    "{\n"
    "    assert(ready[cta] && phase[c] >= lap);       /* else the parity of the phase before lets it pass */\n"
    "    phase[c] == lap + 1                          /* a thread left two phases behind stays here */\n"
    "}\n"
    "inline meet(m, me, weight, needed)\n"
    "{\n"
    "    d_step {\n"
    "        assert(!((came[m] >> me) & 1) && come[m] + weight <= needed);\n"
    "        come[m] = come[m] + weight;\n"
    "        came[m] = came[m] | (1 << me);\n"
    "        if\n"
    "        :: come[m] == needed -> come[m] = 0; came[m] = 0\n"
    "        :: else\n"
    "        fi\n"
    "    }\n"
    "}\n"
    "inline leave(m, me) { !((came[m] >> me) & 1) }\n\n";

/* ---- what clashes ------------------------------------------------------------------------------------------------------- */

/* The touch that stands for y: mma batches are one for all threads of their actor. */
static int stands_for(const weiri_unrolled *u, int y) {
    const weiri_touch *t = &u->touches.v[y];
    if (t->kind != TOUCH_MMA || u->places.v[t->place].reg >= 0) return y;
    for (int i = 0; i < y; i++) {
        const weiri_touch *o = &u->touches.v[i];
        if (o->kind == TOUCH_MMA && o->batch == t->batch && o->place == t->place &&
            u->threads.v[o->thread].actor == u->threads.v[t->thread].actor)
            return i;
    }
    return y;
}

static bool together(const weiri_unrolled *u, int i, int j) {
    const weiri_touch *x = &u->touches.v[i], *y = &u->touches.v[j];
    if (x->thread == y->thread && (x->move == y->move || (x->kind == TOUCH_PLAIN && y->kind == TOUCH_PLAIN))) return false;
    return weiri_touches_clash(u, x, y);
}

/* Does it read shared memory, and no wait for its end stands in the way of its thread's? */
static bool outlives(const weiri_unrolled *u, const weiri_touch *t) {
    return (t->kind == TOUCH_STORE || t->kind == TOUCH_MMA) && t->end == WEIRI_NEVER && u->places.v[t->place].reg < 0;
}

static void find_clashes(writer *w) {
    const weiri_unrolled *u = w->u;
    for (int i = 0; i < u->touches.n; i++) {
        int s = stands_for(u, i);
        w->live[i] = s < i ? w->live[s] : -1;
        const weiri_touch *t = &u->touches.v[i];
        bool first = t->kind == TOUCH_MMA && u->places.v[t->place].reg < 0; /* its threads must know who was first */
        bool counts = first || outlives(u, t);
        for (int j = 0; j < u->touches.n && w->live[i] < 0; j++)
            if (counts || together(u, i, j)) w->live[i] = w->nlive++;
    }
    for (int i = 0; i < u->places.n; i++) {
        w->dirty[i] = weiri_place_watched(u, i) ? w->ndirty++ : -1;
        w->late[i] = weiri_place_refilled(u, i) ? w->nlate++ : -1;
    }
    for (int i = 0; i < u->touches.n; i++)
        w->flies[i] = u->touches.v[i].kind == TOUCH_CP && w->dirty[u->touches.v[i].place] >= 0 ? w->nflies++ : -1;
}

/* ---- moves -------------------------------------------------------------------------------------------------------------- */

static bool is_async(weiri_touch_kind k) { return k == TOUCH_MMA || k == TOUCH_LOAD || k == TOUCH_STORE; }

static void put_begin(writer *w, int y) {
    const weiri_unrolled *u = w->u;
    const weiri_touch *x = &u->touches.v[y];
    weiri_buf *b = w->b;
    bool shared = x->kind == TOUCH_MMA && w->live[y] >= 0, any = false; /* whichever thread is first */
    if (shared) weiri_put(b, " if :: live[%d] == 0 ->", w->live[y]);
    for (int p = 0; p < u->places.n && is_async(x->kind); p++) /* plain writes it meets must have been fenced */
        if (w->dirty[p] >= 0 && weiri_places_meet(&u->places.v[p], &u->places.v[x->place]))
            weiri_put(b, " assert(dirty[%d] == 0);", w->dirty[p]);
    for (int p = 0; p < u->places.n && x->overtakes; p++) /* so must plain reads of what it fills */
        if (w->late[p] >= 0 && weiri_places_meet(&u->places.v[p], &u->places.v[x->place]))
            weiri_put(b, " assert(late[%d] == 0);", w->late[p]);
    bool memory = u->places.v[x->place].region >= 0;
    if (x->write && memory) weiri_put(b, " filled[%d] = 1;", x->place);
    if (!x->write && memory) { /* somebody must have begun to fill what is read */
        weiri_put(b, " assert(filled[%d]", x->place);
        for (int p = 0; p < u->places.n; p++)
            if (p != x->place && weiri_places_meet(&u->places.v[p], &u->places.v[x->place])) weiri_put(b, " || filled[%d]", p);
        weiri_put(b, ");");
    }
    if (w->flies[y] >= 0) weiri_put(b, " flies[%d] = 1;", w->flies[y]);
    if (w->live[y] < 0) return;
    for (int j = 0, last = -1; j < u->touches.n; j++) {
        if (w->live[j] < 0 || w->live[j] == last || !together(u, y, j)) continue;
        weiri_put(b, "%slive[%d] != 1", any ? " && " : " assert(", last = w->live[j]);
        any = true;
    }
    weiri_put(b, "%s live[%d] = 1%s;", any ? ");" : "", w->live[y], shared ? " :: else fi" : "");
}

static void put_end(writer *w, int y) {
    if (w->live[y] >= 0) weiri_put(w->b, " live[%d] = 2;", w->live[y]);
    if (w->flies[y] >= 0) weiri_put(w->b, " flies[%d] = 0;", w->flies[y]);
}

/* Plain writes make their place dirty, and cover what other tasks wrote there. */
static void put_dirt(writer *w, int thread, const weiri_touch *x) {
    const weiri_unrolled *u = w->u;
    if (!x->write || is_async(x->kind)) return;
    unsigned mates = 0;
    const weiri_upl *l = &u->places.v[x->place];
    for (int o = 0; o < u->threads.n; o++)
        if (u->threads.v[o].task == u->threads.v[thread].task && u->threads.v[o].cta == u->threads.v[thread].cta) mates |= 1u << o;
    for (int p = 0; p < u->places.n; p++) {
        const weiri_upl *o = &u->places.v[p];
        if (w->dirty[p] < 0 || o->cta != l->cta || o->lo < l->lo || o->hi > l->hi) continue;
        if (p == x->place) weiri_put(w->b, " dirty[%d] = (dirty[%d] & %u) | %u;", w->dirty[p], w->dirty[p], mates, 1u << thread);
        else weiri_put(w->b, " dirty[%d] = dirty[%d] & %u;", w->dirty[p], w->dirty[p], mates);
    }
}

/* Plain reads may be under way until a fence; what another actor's threads write over them comes behind. */
static void put_late(writer *w, int thread, const weiri_touch *x) {
    const weiri_unrolled *u = w->u;
    const int at = w->late[x->place];
    unsigned own = 0;
    for (int o = 0; o < u->threads.n; o++)
        if (u->threads.v[o].actor == u->threads.v[thread].actor) own |= 1u << o;
    if (at >= 0 && x->write) weiri_put(w->b, " late[%d] = late[%d] & %u;", at, at, own);
    if (at >= 0 && x->late) weiri_put(w->b, " late[%d] = late[%d] | %u;", at, at, 1u << thread);
}

/* What begins with a move; what is over at once ends with it, too. */
static void put_touches(writer *w, int thread, const weiri_move *m) {
    const weiri_unrolled *u = w->u;
    bool ends = false;
    weiri_put(w->b, "    d_step {");
    if (m->cell >= 0) weiri_put(w->b, " assert(ready[%d]);", u->cells.v[m->cell].cta);
    for (int pass = 0; pass < 2; pass++) /* reads first */
        for (int i = 0; i < m->ntouch; i++)
            if (u->touches.v[m->touch + i].write == (pass == 1)) put_begin(w, m->touch + i);
    for (int i = 0; i < m->ntouch; i++)
        ends = ends || (u->touches.v[m->touch + i].kind == TOUCH_PLAIN && w->live[m->touch + i] >= 0);
    if (m->act->kind == ACT_MMA) weiri_put(w->b, " issued[%d] = issued[%d] + 1;", thread, thread);
    for (int i = 0; i < m->ntouch; i++) {
        put_dirt(w, thread, &u->touches.v[m->touch + i]);
        put_late(w, thread, &u->touches.v[m->touch + i]);
    }
    if (m->item >= 0) weiri_put(w->b, " item[%d] = 1;", m->item);
    weiri_put(w->b, " skip };");
    if (ends) weiri_put(w->b, " d_step {");
    for (int i = 0; i < m->ntouch; i++)
        if (u->touches.v[m->touch + i].kind == TOUCH_PLAIN) put_end(w, m->touch + i);
    if (ends) weiri_put(w->b, " skip };");
}

static void put_drain(writer *w, int thread, int at, const weiri_move *m) {
    const weiri_unrolled *u = w->u;
    const weiri_thread *t = &u->threads.v[thread];
    weiri_put(w->b, "    d_step { true");
    for (int i = 0; i < t->of && m->n > 0; i++) weiri_put(w->b, " && issued[%d] >= %d", t->first + i, m->n);
    weiri_put(w->b, " ->");
    for (int y = 0; y < u->touches.n; y++)
        if (u->touches.v[y].thread == thread && u->touches.v[y].end == at) put_end(w, y);
    weiri_put(w->b, " skip };");
}

/* A fence covers the thread's own writes and reads, and others' cp.asyncs that have landed: those write as threads do, and fence
 * nothing. */
static void put_fence(writer *w, int thread) {
    const weiri_unrolled *u = w->u;
    weiri_buf *b = w->b;
    for (int p = 0; p < w->ndirty; p++) weiri_put(b, " dirty[%d] = dirty[%d] & ~%u;", p, p, 1u << thread);
    for (int p = 0; p < w->nlate; p++) weiri_put(b, " late[%d] = late[%d] & ~%u;", p, p, 1u << thread);
    for (int p = 0; p < u->places.n; p++)
        for (int o = 0; o < u->threads.n && w->dirty[p] >= 0; o++) {
            const char *sep = " if :: ";
            for (int y = 0; y < u->touches.n; y++) {
                if (w->flies[y] < 0 || u->touches.v[y].place != p || u->touches.v[y].thread != o) continue;
                weiri_put(b, "%s!flies[%d]", sep, w->flies[y]);
                sep = " && ";
            }
            if (sep[1] == '&') weiri_put(b, " -> dirty[%d] = dirty[%d] & ~%u :: else fi;", w->dirty[p], w->dirty[p], 1u << o);
        }
}

static void put_move(writer *w, int thread, int at) {
    const weiri_unrolled *u = w->u;
    const weiri_move *m = &u->threads.v[thread].moves.v[at];
    weiri_buf *b = w->b;
    int cta = m->cell >= 0 ? u->cells.v[m->cell].cta : u->threads.v[thread].cta, full;
    switch (m->kind) {
    case MOVE_WAIT: weiri_put(b, "    wait(%d, %d, %d);", m->cell, cta, m->lap); break;
    case MOVE_ARRIVE: weiri_put(b, "    arrive(%d, %d, %d, %d, %" PRId64 ");", m->cell, cta, m->lap, m->n, m->bytes); break;
    case MOVE_SEND:
    case MOVE_LATER:
    case MOVE_TOUCH: put_touches(w, thread, m); break;
    case MOVE_DRAIN: put_drain(w, thread, at, m); break;
    case MOVE_FENCE:
        weiri_put(b, "    d_step {");
        put_fence(w, thread);
        weiri_put(b, " skip };");
        break;
    case MOVE_MEET:
        full = m->act->kind == ACT_NAMED_SYNC ? m->act->threads : u->meets.v[m->meet].full;
        weiri_put(b, "    meet(%d, %d, %d, %d);", m->meet, thread, u->threads.v[thread].weight, full);
        break;
    case MOVE_LEAVE: weiri_put(b, "    leave(%d, %d);", m->meet, thread); break;
    case MOVE_INIT: weiri_put(b, "    ready[%d] = 1;", cta); break;
    case MOVE_GRID_WAIT: weiri_put(b, "    waited = 1;"); break;
    default: weiri_put(b, "    assert(waited);"); break; /* MOVE_GRID_LAUNCH */
    }
    weiri_put(b, "  /* %d %s", m->act->id, weiri_act_name(m->act->kind));
    if (m->cell >= 0) weiri_put(b, " %s[%d]", u->p->bars.v[u->cells.v[m->cell].bar].name, u->cells.v[m->cell].stage);
    if (m->act->op && m->act->op->at.n) weiri_put(b, ", line %d", m->act->op->at.at[0].line);
    weiri_put(b, " */\n");
}

static void put_thread(writer *w, int thread) {
    const weiri_unrolled *u = w->u;
    const weiri_thread *t = &u->threads.v[thread];
    weiri_put(w->b, "proctype thread_%d() /* %s */\n{\n", thread, t->name);
    for (int i = 0; i < t->moves.n; i++) put_move(w, thread, i);
    weiri_put(w->b, "    d_step {");
    for (int y = 0; y < u->touches.n; y++) { /* nothing may still read this CTA's memory */
        const weiri_touch *x = &u->touches.v[y];
        if (x->thread == thread && outlives(u, x)) weiri_put(w->b, " assert(live[%d] != 1);", w->live[y]);
    }
    weiri_put(w->b, " ended[%d] = ended[%d] + 1 }\n}\n\n", t->cta, t->cta);
}

/* What lands by itself, whenever it likes. */
static void put_engine(writer *w) {
    const weiri_unrolled *u = w->u;
    if (!u->items.n) return;
    weiri_put(w->b, "proctype engine()\n{\nend:\n    do\n");
    for (int i = 0; i < u->items.n; i++) {
        const weiri_item *it = &u->items.v[i];
        const weiri_move *m = &u->threads.v[it->thread].moves.v[it->move];
        int cta = u->cells.v[m->cell].cta;
        weiri_put(w->b, "    :: d_step { item[%d] == 1 -> item[%d] = 2; assert(ended[%d] < threads[%d]);", i, i, cta, cta);
        for (int y = 0; y < u->touches.n; y++)
            if (u->touches.v[y].item == i) put_end(w, y);
        weiri_put(w->b, " reach(%d, %d, %d, %" PRId64 ") }\n", m->cell, m->lap, m->n, -m->bytes);
    }
    weiri_put(w->b, "    od\n}\n\n");
}

static int threads_of(const weiri_unrolled *u, int cta) {
    int n = 0;
    for (int i = 0; i < u->threads.n; i++) n += u->threads.v[i].cta == cta;
    return n;
}

/* Starts all, and when all have ended looks for data that nobody has waited for. */
static void put_init(writer *w) {
    const weiri_unrolled *u = w->u;
    weiri_buf *b = w->b;
    weiri_put(b, "init\n{\n    d_step {\n");
    for (int i = 0; i < u->cells.n; i++)
        weiri_put(b, "        count[%d] = %d; pending[%d] = %d; /* %s[%d] of CTA %d */\n", i, u->cells.v[i].count, i,
                  u->cells.v[i].count, u->p->bars.v[u->cells.v[i].bar].name, u->cells.v[i].stage, u->cells.v[i].cta);
    for (int c = 0; c < u->ctas; c++) weiri_put(b, "        threads[%d] = %d;\n", c, threads_of(u, c));
    weiri_put(b, "    }\n    atomic {\n%s", u->items.n ? "        run engine();\n" : "");
    for (int i = 0; i < u->threads.n; i++) weiri_put(b, "        run thread_%d();\n", i);
    weiri_put(b, "    }\n");
    for (int c = 0; c < u->ctas; c++) weiri_put(b, "    ended[%d] == threads[%d];\n", c, c);
    for (int i = 0; i < u->cells.n; i++) {
        bool data = false;
        for (int q = 0; q < u->p->pipes.n; q++)
            data = data || (u->p->pipes.v[q].full == u->cells.v[i].bar && u->p->pipes.v[q].region >= 0);
        if (!data) continue;
        memset(w->over, 0, sizeof *w->over * (size_t)(u->nmoves + 1));
        for (int t = 0; t < u->threads.n; t++)
            for (int m = 0; m < u->threads.v[t].moves.n; m++) {
                const weiri_move *x = &u->threads.v[t].moves.v[m];
                if (x->kind == MOVE_WAIT && x->cell == i) w->over[x->lap + 1] = true;
            }
        weiri_put(b, "    assert(phase[%d] == 0", i); /* or the last phase is one that somebody waits for */
        for (int n = 1; n <= u->nmoves; n++)
            if (w->over[n]) weiri_put(b, " || phase[%d] == %d", i, n);
        weiri_put(b, ");\n");
    }
    weiri_put(b, "    skip\n}\n");
}

bool weiri_promela(const weiri_unrolled *u, const char *sizes, weiri_buf *b) {
    writer w = { .u = u, .p = u->p, .b = b };
    weiri_arena a;
    weiri_arena_init(&a, u->p->k->ctx);
    w.live = WEIRI_NEW_N(&a, int, u->touches.n + 1);
    w.dirty = WEIRI_NEW_N(&a, int, u->places.n + 1);
    w.late = WEIRI_NEW_N(&a, int, u->places.n + 1);
    w.flies = WEIRI_NEW_N(&a, int, u->touches.n + 1);
    w.over = WEIRI_NEW_N(&a, bool, u->nmoves + 1);
    find_clashes(&w);
    weiri_put(b, "/* The barrier protocol of kernel '%s'%s%s: every order of its threads and of the copies they start.\n",
              u->p->k->name, *sizes ? " with " : "", sizes);
    weiri_put(b, " *\n *   spin -a FILE && cc -O2 -DSAFETY -DNOFAIR -o pan pan.c && ./pan -m1000000\n */\n");
#define ARRAY(type, name, n, what) weiri_put(b, "%-5s %s[%d]; /* %s */\n", type, name, (n) > 0 ? (n) : 1, what)
    ARRAY("short", "phase", u->cells.n, "by mbarrier: phases over");
    ARRAY("int", "pending", u->cells.n, "arrivals missing in the open one");
    ARRAY("int", "count", u->cells.n, "arrivals of a phase");
    ARRAY("int", "tx", u->cells.n, "bytes missing");
    ARRAY("byte", "item", u->items.n, "copies: 1 on the way, 2 landed");
    ARRAY("byte", "live", w.nlive, "accesses that others must not meet: 1 running, 2 over");
    ARRAY("int", "dirty", w.ndirty, "by place: threads whose writes the async proxy need not see yet");
    ARRAY("int", "late", w.nlate, "by place: threads whose reads may still be under way for the async proxy");
    ARRAY("bit", "flies", w.nflies, "a cp.async is on its way");
    ARRAY("bit", "filled", u->places.n, "by place: somebody has written it");
    ARRAY("short", "issued", u->threads.n, "by thread: mma batches");
    ARRAY("short", "come", u->meets.n, "by rendezvous: threads that came");
    ARRAY("int", "came", u->meets.n, "which");
    ARRAY("byte", "ended", u->ctas, "by CTA: threads that ended");
    ARRAY("byte", "threads", u->ctas, "of how many");
    ARRAY("bit", "ready", u->ctas, "its mbarriers are initialised");
#undef ARRAY
    weiri_put(b, "bit   waited;     /* for the previous kernel */\n\n%s", prelude);
    for (int i = 0; i < u->threads.n; i++) put_thread(&w, i);
    put_engine(&w);
    put_init(&w);
    bool ok = !a.oom && !b->oom;
    weiri_arena_free(&a);
    return ok;
}

/* ---- public ------------------------------------------------------------------------------------------------------------- */

/* The sizes asked for, by k->dims; text: as the model's head says them. False, and the context's error: one is missing or unknown. */
static bool read_sizes(weir_kernel *k, const weir_promela_desc *d, int64_t *dims, weiri_buf *text) {
    for (int i = 0; i < d->n; i++) {
        bool known = false;
        for (int j = 0; j < k->dims.n; j++) known = known || !strcmp(weiri_val(k, k->dims.v[j])->name, d->dims[i]);
        if (known) continue;
        weiri_fail(k->ctx, WEIR_E_ARGUMENT, "kernel '%s' has no dim '%s'", k->name, d->dims[i]);
        return false;
    }
    for (int i = 0; i < k->dims.n; i++) {
        const char *name = weiri_val(k, k->dims.v[i])->name;
        int at = 0;
        while (at < d->n && strcmp(d->dims[at], name)) at++;
        if (at == d->n) {
            weiri_fail(k->ctx, WEIR_E_ARGUMENT, "a model has fixed sizes: give the size of dim '%s'", name);
            return false;
        }
        weiri_put(text, "%s%s = %" PRId64, i ? ", " : "", name, dims[i] = d->sizes[at]);
    }
    return true;
}

const char *weir_kernel_promela(weir_kernel *k, const weir_promela_desc *desc) {
    weir_promela_desc d = desc ? *desc : (weir_promela_desc){ 0 };
    const uint64_t refused = k->ctx->refused;
    const weiri_plan *p = weiri_print_plan(k);
    if (!p || !p->ok) { /* when memory was short, the allocator has said so */
        if (k->ctx->refused == refused)
            weiri_fail(k->ctx, WEIR_E_INVALID, "kernel '%s' has no plan to model: verify tells why", k->name);
        return NULL;
    }
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    weiri_buf text, *b = &k->text;
    weiri_buf_init(&text, k->ctx);
    int64_t *dims = WEIRI_NEW_N(&a, int64_t, k->dims.n + 1);
    bool sized = read_sizes(k, &d, dims, &text) && !a.oom && !text.oom, ok = false;
    weiri_unrolled *u = sized ? weiri_unroll(p, &(weiri_sizes){ .dims = dims, .tiles = d.tiles > 0 ? d.tiles : 1 }) : NULL;
    if (u && u->why) weiri_fail(k->ctx, WEIR_E_ARGUMENT, "kernel '%s' cannot be modelled: %s", k->name, u->why);
    else if (u) {
        b->n = 0;
        b->oom = false;
        ok = weiri_promela(u, text.s ? text.s : "", b);
    }
    weiri_unrolled_free(u);
    weiri_buf_free(&text);
    weiri_arena_free(&a);
    return ok ? b->s : NULL;
}
