/* A condition as instructions: what the iteration or the CTA alone decides, a loop that runs once or not at all, or questions part
 * by part. */
#include "proving.h"

/* The condition is worked out from the iteration alone. */
static bool repeats(const builder *b, const weiri_node *s, uint32_t of, bool want, weiri_ins *i) {
    weiri_truths t;
    if (s->key || !weiri_index_truths(b->g->p->k, of, &t)) return false;
    const int l = pg_loop_of(b, t.loop);
    weiri_loop *loop = &b->c->loops.v[l];
    const int p = loop->period ? loop->period : 1, both = p / pg_common(p, t.period) * t.period;
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
    i = (weiri_ins){ .op = IN_WHEN, .a = pg_key_for(b, of, s->key, s, &not ), .of = of, .is = want, .guard = s };
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
    const int at = pg_emit(b, question);
    WEIRI_PUSH(b->g->a, *fails, at);
}

/* Asks part by part, as units of loops may tell one and not the other; `fails`: questions that lead past the guard. Where either
 * of two lets in, a loop in there would hang on both: then they are one question. */
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
    const int in = both ? -1 : pg_emit(b, (weiri_ins){ .op = IN_JUMP });
    for (int i = 0; i < first.n; i++) b->c->ins.v[first.v[i]].jump = b->c->ins.n;
    ask_parts(b, n, v->arg[1], want, fails);
    if (!both) b->c->ins.v[in].jump = b->c->ins.n;
    g->counted = true;
}

void pg_compile_condition(builder *b, const weiri_pnode *n) {
    weiri_prog *g = b->g;
    const weiri_node *s = n->src;
    const bool want = s->guard == WEIR_GUARD_TRUE, counted = !s->key && g->without & WEIRI_COUNTED;
    int64_t truth;
    bool runs = false;
    if (weiri_value_const(g->p->k, s->of, &truth) ? (runs = (truth != 0) == want, true)
                                                  : !s->key && pg_told_around(g->p->k, s, &runs)) {
        if (runs) pg_compile(b, n->first);
        return;
    }
    weiri_ins whole;
    const bool rank = by_rank(b, s, s->of, want, &whole), known = rank || repeats(b, s, s->of, want, &whole);
    const int handle = counted && (!known || (!rank && g->without & WEIRI_SORTED))
                           ? weiri_forms_guard(g->forms, s, want, &g->sorts, g->without & WEIRI_SORTED)
                           : -1;
    if (handle >= 0) { /* a loop that runs once or not at all */
        const int at = pg_open_loop(b, s, handle);
        pg_compile(b, n->first);
        pg_close_loop(b, at);
        g->counted = true;
        return;
    }
    questions fails = { 0 };
    if (counted && !known) ask_parts(b, n, s->of, want, &fails);
    else ask(b, known ? whole : question(b, s, s->of, want), &fails);
    pg_compile(b, n->first);
    for (int i = 0; i < fails.n; i++) b->c->ins.v[fails.v[i]].jump = b->c->ins.n;
}
