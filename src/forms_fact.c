/* What conditions and loops say where something stands, as numbers that are at least 0; which of it contradicts, which pins an index. */
#include "forming.h"

/* What is at least 0 where something stands. */
enum { MOST_FACTS = 32 };
typedef struct facts { int n; lin v[MOST_FACTS]; } facts;

static void note(facts *all, const lin *x) {
    if (all->n < MOST_FACTS) all->v[all->n++] = *x; /* one that is lost contradicts none */
}

/* That b + plus is at least a. */
static void at_least(facts *all, const lin *b, int64_t plus, const lin *a) {
    lin x = *b;
    fo_add(&x, a, -1);
    x.c += plus;
    note(all, &x);
}

static void note_condition(weiri_forms *f, facts *all, uint32_t id, bool truth, int depth) {
    bool not = false;
    id = fo_bare(f->k, id, &not);
    truth = truth != not;
    const weiri_value *v = weiri_val(f->k, id);
    if (v->op == (truth ? WEIR_OP_AND : WEIR_OP_OR) && depth < 5) {
        for (int i = 0; i < 2; i++) note_condition(f, all, v->arg[i], truth, depth + 1);
        return;
    }
    comparison c;
    if (!fo_lasting(f, id, &c)) return;
    truth = truth != c.not;
    const lin a = fo_lin(f, c.a, 0), b = c.b ? fo_lin(f, c.b, 0) : (lin){ .c = c.c };
    const int strict = c.op == WEIR_OP_LT;
    if (truth) at_least(all, &b, -strict, &a);
    if (truth ? c.op == WEIR_OP_EQ : c.op != WEIR_OP_EQ) at_least(all, &a, truth ? 0 : strict - 1, &b);
}

static void note_loop(weiri_forms *f, facts *all, const weiri_node *n) {
    int64_t step;
    if (!weiri_value_const(f->k, n->step, &step)) return;
    const lin i = fo_lin(f, n->index, 0), from = fo_lin(f, n->start, 0), to = fo_lin(f, n->stop, 0);
    at_least(all, step > 0 ? &i : &from, 0, step > 0 ? &from : &i);
    at_least(all, step > 0 ? &to : &i, -1, step > 0 ? &i : &to);
}

/* Two facts that hold at one time, so that an index between them falls out. */
static void without(facts *all, int index) {
    const int n = all->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int64_t x = 0, y = 0;
            for (int q = 0; q < all->v[i].n; q++) x = all->v[i].atom[q] == index ? all->v[i].coef[q] : x;
            for (int q = 0; q < all->v[j].n; q++) y = all->v[j].atom[q] == index ? all->v[j].coef[q] : y;
            lin sum = all->v[i];
            if (x <= 0 || x + y) continue;
            fo_add(&sum, &all->v[j], 1);
            note(all, &sum);
        }
}

/* What loops and conditions around the node say. */
static void collect(weiri_forms *f, const weiri_node *node, facts *all) {
    all->n = 0;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent) {
        if (n->kind == NODE_LOOP) note_loop(f, all, n);
        if (weiri_is_condition(n)) note_condition(f, all, n->of, n->guard == WEIR_GUARD_TRUE, 0);
    }
}

static bool one_a_turn(weiri_forms *f, const lin *x) {
    for (int i = 0; i < x->n; i++)
        if (fo_wanders(f, x->atom[i], false)) return false;
    return true;
}

/* Is the index one number in all of a turn? */
static bool pinned(weiri_forms *f, const facts *all, int index) {
    for (int i = 0; i < all->n; i++)
        for (int j = 0; j < i; j++) {
            lin sum = all->v[i], rest = { 0 };
            int64_t coef = 0;
            for (int q = 0; q < sum.n; q++)
                if (sum.atom[q] == index) coef = sum.coef[q];
                else rest.atom[rest.n] = sum.atom[q], rest.coef[rest.n++] = sum.coef[q];
            /* at least that, and at most? */
            if (coef && one_a_turn(f, &rest) && fo_cancels(&sum, &all->v[j], 1) && !sum.c) return true;
        }
    return false;
}

bool weiri_forms_once(weiri_forms *f, const weiri_node *node) {
    facts all;
    collect(f, node, &all);
    int i;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP && (!fo_index(f, n, &i) || !pinned(f, &all, i))) return false;
    return true;
}

/* What they say of numbers that are one for a turn. */
static void facts_at(weiri_forms *f, const weiri_node *node, facts *all) {
    collect(f, node, all);
    int i;
    for (const weiri_node *n = node->parent; n && n->kind != NODE_TILES; n = n->parent)
        if (n->kind == NODE_LOOP && fo_index(f, n, &i)) without(all, i);
    int kept = 0;
    for (i = 0; i < all->n; i++)
        if (one_a_turn(f, &all->v[i])) all->v[kept++] = all->v[i];
    all->n = kept;
}

bool weiri_forms_exclude(weiri_forms *f, const weiri_node *x, const weiri_node *y) {
    facts a, b;
    facts_at(f, x, &a);
    facts_at(f, y, &b);
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < b.n; j++) {
            lin sum = a.v[i];
            if (fo_cancels(&sum, &b.v[j], 1) && sum.c < 0) return true;
        }
    return false;
}
