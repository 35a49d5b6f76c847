/* Does an actor do what the plan says? Each task's tree becomes a position automaton over action ids (Glushkov: which actions
 * may come first, last, and after which); every event of an actor is one step. All its threads must give the same sequence. */
#include <stdio.h>
#include <string.h>

#include "../tell.h"
#include "machine.h"

struct automaton {
    int n, words; /* positions; u64s of a set */
    int cap;
    u32 *id;     /* of each position */
    u64 *follow; /* n sets */
    u64 *first, *last;
    bool nullable;
    int task;
};

typedef struct part {
    u64 *first, *last;
    bool nullable;
} part;
typedef struct builder {
    machine *m;
    automaton *a;
    bool solo;
} builder;

static void put(u64 *set, int i) { set[i / 64] |= 1ull << (i % 64); }
static bool has(const u64 *set, int i) { return set[i / 64] >> (i % 64) & 1; }
static void join(u64 *set, const u64 *more, int words) {
    for (int i = 0; i < words; i++) set[i] |= more[i];
}

/* Which actions are events: moving a cursor is none; the mbarriers are initialised by one warp for all; a solo task's
 * setmaxnreg is run by its whole warpgroup. */
static bool is_event(weiri_act k) { return k != ACT_ADVANCE && k != ACT_INIT; }

static int count(const weiri_pnode *n) {
    int sum = 0;
    for (; n; n = n->next)
        sum += n->kind == PN_ACTION ? 1 : count(n->skip) + count(n->first);
    return sum;
}

static part empty(builder *b) {
    size_t n = (size_t)b->a->words * sizeof(u64);
    return (part){ weiri_sim_alloc(b->m, n), weiri_sim_alloc(b->m, n), true };
}

static void follow_all(automaton *a, const u64 *from, const u64 *to) {
    for (int i = 0; i < a->n; i++)
        if (has(from, i)) join(a->follow + (size_t)i * (size_t)a->words, to, a->words);
}

static void append(builder *b, part *x, const part *y) {
    int w = b->a->words;
    follow_all(b->a, x->last, y->first);
    if (x->nullable) join(x->first, y->first, w);
    if (!y->nullable) memset(x->last, 0, (size_t)w * sizeof(u64));
    join(x->last, y->last, w);
    x->nullable &= y->nullable;
}

static part list(builder *b, const weiri_pnode *n) {
    part all = empty(b);
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            if (!is_event(n->act->kind) || (b->solo && n->act->kind == ACT_REGS)) continue;
            part x = empty(b);
            int p = b->a->n++;
            b->a->id[p] = (u32)n->act->id;
            put(x.first, p);
            put(x.last, p);
            x.nullable = n->act->kind == ACT_REGS;
            append(b, &all, &x);
            continue;
        }
        part x = list(b, n->first);
        if (n->skip) { /* a tile of another lane */
            part y = list(b, n->skip);
            join(x.first, y.first, b->a->words);
            join(x.last, y.last, b->a->words);
        }
        if (n->kind == PN_LOOP || n->kind == PN_TILES || (n->kind == PN_HELD && !n->once)) follow_all(b->a, x.last, x.first);
        x.nullable = true;
        append(b, &all, &x);
    }
    return all;
}

void weiri_match_build(machine *m) {
    const weiri_plan *p = m->plan;
    m->task_of = weiri_sim_alloc(m, (size_t)(p->nactions + 1) * sizeof *m->task_of);
    weiri_tell_tasks(p, m->task_of);
    m->automata = weiri_sim_alloc(m, (size_t)(p->ntasks + 1) * sizeof *m->automata);
    for (int t = 0; t <= p->ntasks; t++) {
        automaton *a = weiri_sim_alloc(m, sizeof *a);
        const weiri_ptask *pt = t < p->ntasks ? &p->tasks[t] : NULL;
        a->task = t;
        a->cap = count(p->prologue) + count(p->epilogue) + (pt ? count(pt->root) : 0);
        a->words = a->cap / 64 + 1;
        a->id = weiri_sim_alloc(m, (size_t)(a->cap + 1) * sizeof *a->id);
        a->follow = weiri_sim_alloc(m, (size_t)(a->cap + 1) * (size_t)a->words * sizeof(u64));
        builder b = { m, a, pt && pt->solo };
        part all = list(&b, p->prologue);
        if (pt) {
            part body = list(&b, pt->root);
            body.nullable |= pt->solo || pt->leader; /* the task's other lanes; the other CTA of a pair */
            append(&b, &all, &body);
        }
        part end = list(&b, p->epilogue);
        append(&b, &all, &end);
        a->first = all.first;
        a->last = all.last;
        a->nullable = all.nullable;
        m->automata[t] = a;
    }
}

static automaton *automaton_of(const machine *m, const actor *a) {
    return m->automata[a->task < 0 ? m->plan->ntasks : a->task];
}

void weiri_match_start(actor *a) {
    a->n = 0;
    a->base = 0;
    a->nstates = -1; /* at the start */
    a->ended = false;
}

/* The author's words for an action: "17 arrive 'ab_empty' (gemm.lua:41)". */
static void name_action(const machine *m, u32 id, char *out, size_t size) {
    const weiri_plan *p = m->plan;
    const weiri_action *x = id >= 1 && (int)id <= p->nactions ? p->action[id] : NULL;
    char place[160];
    if (!x) {
        snprintf(out, size, "%u, which the plan does not have", id);
        return;
    }
    weiri_sim_place(m, id, place, sizeof place);
    snprintf(out, size, "%u %s%s%s%s%s%s%s", id, weiri_act_name(x->kind), x->bar >= 0 ? " '" : "",
             x->bar >= 0 ? p->bars.v[x->bar].name : "", x->bar >= 0 ? "'" : "", *place ? " (" : "", place, *place ? ")" : "");
}

/* What the actor might do now, at most three of it. */
static void name_expected(const machine *m, const actor *a, char *out, size_t size) {
    const automaton *g = automaton_of(m, a);
    size_t n = 0;
    int shown = 0;
    bool may_end = a->nstates < 0 ? g->nullable : false;
    out[0] = '\0';
    for (int i = 0; i < a->nstates; i++) may_end |= has(g->last, a->state[i]);
    for (int p = 0; p < g->n; p++) {
        bool ok = a->nstates < 0 && has(g->first, p);
        for (int i = 0; i < a->nstates && !ok; i++) ok = has(g->follow + (size_t)a->state[i] * (size_t)g->words, p);
        if (!ok) continue;
        char one[256];
        if (++shown > 3) break;
        name_action(m, g->id[p], one, sizeof one);
        int k = snprintf(out + n, size - n, "%s%s", n ? ", or " : "", one);
        if (k > 0 && (size_t)k < size - n) n += (size_t)k;
    }
    if (may_end) snprintf(out + n, size - n, "%sthe end", n ? ", or " : "");
}

static bool advance(machine *m, actor *a, u32 id) {
    const automaton *g = automaton_of(m, a);
    int next[64], n = 0;
    for (int p = 0; p < g->n; p++) {
        if (g->id[p] != id) continue;
        bool ok = a->nstates < 0 && has(g->first, p);
        for (int i = 0; i < a->nstates && !ok; i++) ok = has(g->follow + (size_t)a->state[i] * (size_t)g->words, p);
        if (ok && n < 64) next[n++] = p;
    }
    if (!n) return false;
    memcpy(a->state, next, (size_t)n * sizeof *next);
    a->nstates = n;
    return true;
}

static void grow_log(machine *m, actor *a) {
    u64 past = a->first->nevents;
    for (int i = 1; i < a->nthreads; i++)
        if (a->first[i].nevents < past) past = a->first[i].nevents;
    /* the event at hand is counted and not yet in the log */
    int drop = past - a->base < (u64)a->n ? (int)(past - a->base) : a->n;
    if (drop > a->n / 2) {
        memmove(a->log, a->log + drop, (size_t)(a->n - drop) * sizeof *a->log);
        a->base += (u64)drop;
        a->n -= drop;
        return;
    }
    int cap = a->cap ? 2 * a->cap : 256;
    u32 *more = weiri_sim_alloc(m, (size_t)cap * sizeof *more);
    if (a->n) memcpy(more, a->log, (size_t)a->n * sizeof *more);
    a->log = more;
    a->cap = cap;
}

void weiri_match_event(thread *t, u32 id) {
    machine *m = t->m;
    const weiri_plan *p = m->plan;
    actor *a = t->actor;
    char got[256], want[768];
    if (id < 1 || (int)id > p->nactions || !p->action[id]) {
        weiri_sim_fault(m, t, id, "sim-plan", "the source begins action %u; the plan has 1 to %d", id, p->nactions);
        return;
    }
    weiri_act k = p->action[id]->kind;
    if (!is_event(k)) return;
    if (k == ACT_REGS && (a->task < 0 || p->tasks[a->task].solo)) return;
    u64 i = t->nevents++;
    if (i < a->base + (u64)a->n) {
        u32 before = a->log[i - a->base];
        if (before == id) return;
        name_action(m, id, got, sizeof got);
        name_action(m, before, want, sizeof want);
        weiri_sim_fault(m, t, id, "sim-plan", "lane %u begins action %s as its event %llu, other threads of the actor began %s",
                        t->lane, got, i, want);
        return;
    }
    if (a->n == a->cap) grow_log(m, a);
    a->log[a->n++] = id;
    if (!a->ended && advance(m, a, id)) return;
    name_action(m, id, got, sizeof got);
    name_expected(m, a, want, sizeof want);
    weiri_sim_fault(m, t, id, "sim-plan", "the source begins action %s as event %llu of its actor, the plan expects %s", got, i,
                    a->ended ? "the end" : want);
}

void weiri_match_exit(thread *t) {
    machine *m = t->m;
    actor *a = t->actor;
    const automaton *g = automaton_of(m, a);
    char want[768];
    if (t->nevents < a->base + (u64)a->n) {
        name_action(m, a->log[t->nevents - a->base], want, sizeof want);
        weiri_sim_fault(m, t, t->at, "sim-plan",
                        "lane %u exits after %llu events, other threads of the actor went on with action %s", t->lane,
                        t->nevents, want);
        return;
    }
    bool done = a->nstates < 0 && g->nullable;
    for (int i = 0; i < a->nstates; i++) done |= has(g->last, a->state[i]);
    a->ended = true;
    if (done) return;
    name_expected(m, a, want, sizeof want);
    weiri_sim_fault(m, t, t->at, "sim-plan", "the source ends after %llu events of the actor, the plan expects %s", t->nevents,
                    want);
}

int weiri_match_states(const machine *m, int task) {
    int n = m->automata[task < 0 ? m->plan->ntasks : task]->n;
    return n < 64 ? 64 : n;
}
