/* Conditions that count: on how often a loop has run, how many units a class has, how many are left. */
#include "forming.h"

/* Does the number stay what a form says? A launch looks at the bounds of loops, not at what else is computed in 32 bits. */
static bool stays(const weiri_forms *f, uint32_t id) {
    const weiri_value *v = weiri_val(f->k, id);
    bool is = v->op == WEIR_OP_INT || v->op == WEIR_OP_INDEX || v->op == WEIR_OP_DIM || v->op == WEIR_OP_COORD ||
              v->op == WEIR_OP_LOAD;
    for (int i = 0; i < f->loops.n && !is; i++) {
        const weiri_node *n = f->loops.v[i].node;
        is = n->kind == NODE_LOOP && (fo_same_value(f->k, n->start, id, 0) || fo_same_value(f->k, n->stop, id, 0));
    }
    return is;
}

bool fo_lasting(const weiri_forms *f, uint32_t id, comparison *c) {
    if (!fo_comparison(f->k, id, c) || !fo_is_whole(f->k, c->a) || !stays(f, c->a)) return false;
    return !c->b || (fo_is_whole(f->k, c->b) && stays(f, c->b));
}

static bool fits_at_launch(const weiri_forms *f, uint32_t id) {
    weiri_env all = { .k = f->k, .cta = -1, .counts = true, .within = true };
    return weiri_range_of(&all, id).known && !all.misfit;
}

bool fo_counting(const weiri_forms *f, uint32_t id, comparison *c) {
    bool not = false;
    id = fo_bare(f->k, id, &not);
    if (!fo_comparison(f->k, id, c) || !fo_is_whole(f->k, c->a) || (c->b && !fo_is_whole(f->k, c->b))) return false;
    c->not = c->not != not;
    return (stays(f, c->a) || fits_at_launch(f, c->a)) && (!c->b || stays(f, c->b) || fits_at_launch(f, c->b));
}

lin fo_side(weiri_forms *f, const comparison *c, bool right) {
    return !right ? fo_lin(f, c->a, 0) : c->b ? fo_lin(f, c->b, 0) : (lin){ .c = c->c };
}

/* Is x = y + a number, or x = a number - y? Left in *c; *down: the second. */
static bool differs(const lin *x, const lin *y, bool *down, int64_t *c) {
    for (int turn = 0; turn < 2; turn++) {
        lin d = *x;
        if (!fo_cancels(&d, y, turn ? 1 : -1)) continue;
        *down = turn;
        *c = d.c;
        return true;
    }
    return false;
}

/* The comparison as one of n, max(0, n) of which is what is counted; least: n is never below. */
static bool ran_of(const comparison *c, lin a, const lin *b, const lin *n, int64_t least, weiri_ran *out) {
    bool down;
    int64_t e;
    fo_add(&a, b, -1);
    a = fo_negative(&a); /* a < b, or a = b: b - a > 0, or = 0 */
    if (!differs(&a, n, &down, &e)) return false;
    *out = (weiri_ran){ .equal = c->op == WEIR_OP_EQ, .not = c->not, .times = down ? e : -e }; /* = 0: n is that many */
    if (!out->equal && down) out->times--; /* n < e */
    else if (!out->equal) out->not = !out->not; /* not n <= -e */
    return out->times > 0 || (!out->times && (!out->equal || least >= 0));
}

bool weiri_forms_ran(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out) {
    const loop_form *l = &f->loops.v[loop];
    comparison c;
    bool not = false;
    condition = fo_bare(f->k, condition, &not);
    if (l->cls < 0 || !fo_lasting(f, condition, &c)) return false;
    c.not = c.not != not;
    /* the loop runs max(0, n) times. What is known at launch has no index in it, so n has none if they meet */
    lin n = f->classes.v[l->cls].terms;
    n.c = l->c;
    const lin b = fo_side(f, &c, true);
    return ran_of(&c, fo_side(f, &c, false), &b, &n, fo_low(f, &n, 0), out);
}

lin fo_units(const weiri_forms *f, int cls) {
    lin n = f->classes.v[cls].terms;
    n.c = f->classes.v[cls].top;
    return n;
}

bool weiri_forms_plain(const weiri_forms *f, int cls) { return !f->classes.v[cls].nparts && f->classes.v[cls].per < 2; }

/* Does the comparison say that x > by * *than, or (*down) that it is not? */
static bool above(weiri_forms *f, const comparison *c, const lin *x, int64_t by, int64_t *than, bool *down) {
    lin d = fo_side(f, c, true);
    const lin a = fo_side(f, c, false);
    int64_t e;
    fo_add(&d, &a, -1);
    if (c->op != WEIR_OP_LT || !differs(&d, x, down, &e)) return false;
    e = *down ? e - 1 : -e;
    *than = fo_floor_div(e, by);
    return e % by == 0;
}

bool weiri_forms_units(weiri_forms *f, int cls, uint32_t condition, const weiri_node *around, weiri_ran *out) {
    comparison c;
    int64_t m;
    if (!fo_counting(f, condition, &c)) return false;
    lin n = fo_units(f, cls), i = { 0 };
    const lin b = fo_side(f, &c, true);
    const int64_t least = fo_low(f, &n, 0);
    if (around) fo_iteration(f, around, &i); /* it runs a number of times */
    fo_add(&n, &i, -1);
    if (ran_of(&c, fo_side(f, &c, false), &b, &n, least, out)) return true;
    if (around) return false;
    int64_t than;
    bool down;
    if (n.n == 1 && fo_is_kind(f, &n, 0, ATOM_CEIL) &&
        above(f, &c, &f->atoms.v[n.atom[0]].of, f->atoms.v[n.atom[0]].by, &than, &down)) {
        const bool falls = n.coef[0] < 0; /* x > m * than: so is ceil(x / m) > than, and n more, or less, than with that */
        *out = (weiri_ran){ .not = (down == c.not) != falls, .times = n.coef[0] * than + n.c - falls };
        return out->times >= 0;
    }
    /* x % m = r */
    const weiri_value *v = weiri_val(f->k, c.a);
    if (c.op != WEIR_OP_EQ || c.b || v->op != WEIR_OP_MOD || !weiri_value_const(f->k, v->arg[1], &m) || m < 2 || m > 16 ||
        least < 0)
        return false;
    lin x = fo_lin(f, v->arg[0], 0);
    if (!fo_cancels(&x, &n, -1)) return false;
    if (c.c < 0 || c.c >= m) return false;
    *out = (weiri_ran){ .equal = true, .not = c.not, .times = c.c - x.c - fo_floor_div(c.c - x.c, m) * m, .period = (int)m };
    return true;
}

/* Of a loop that reads the units of one class, in an iteration: those it has not read yet; they are not below 0. */
static bool unread_of(weiri_forms *f, const loop_form *l, lin *n) {
    const form_class *c = &f->classes.v[l->cls];
    lin i;
    if (l->node->kind != NODE_LOOP || !fo_iteration(f, l->node, &i)) return false;
    *n = fo_units(f, c->per > 1 ? c->of : l->cls);
    if (c->per < 2) n->c--; /* that of the iteration is read */
    return fo_add(n, &i, c->per > 1 ? -c->per : -1);
}

bool weiri_forms_ahead(weiri_forms *f, int loop, uint32_t condition, weiri_ran *out) {
    const loop_form *l = &f->loops.v[loop];
    comparison c;
    int64_t step, than;
    lin n;
    bool down;
    if (!fo_counting(f, condition, &c)) return false;
    const lin a = fo_side(f, &c, false), b = fo_side(f, &c, true);
    if (unread_of(f, l, &n) && ran_of(&c, a, &b, &n, 0, out)) return true;
    /* of larger steps: i + so many steps < stop */
    const form_class *k = &f->classes.v[l->cls];
    if (k->per > 1 || l->node->kind != NODE_LOOP || !weiri_value_const(f->k, l->node->step, &step) || step < 2) return false;
    lin left = fo_lin(f, l->node->stop, 0);
    const lin i = fo_lin(f, l->node->index, 0);
    fo_add(&left, &i, -1);
    if (!above(f, &c, &left, step, &than, &down)) return false;
    *out = (weiri_ran){ .not = down == c.not, .times = than - 1 + (k->top - l->c) }; /* below 0: always more */
    return true;
}

/* Is x the smaller of *cap and n - *but, as the form has it? */
static bool is_capped(weiri_forms *f, const lin *x, const lin *n, int *cap, int *but) {
    for (int i = 0; i < x->n; i++) {
        int64_t coef;
        lin m = fo_without_term(x, i, &coef), d = f->atoms.v[x->atom[i]].of; /* m - max(0, m - n), or n - max(0, n - m) */
        if (!fo_is_kind(f, x, i, ATOM_POS) || coef != -1) continue;
        fo_add(&d, &m, -1);
        d = fo_negative(&d); /* the other of the two */
        if (!m.n) {
            const lin t = m;
            m = d, d = t;
        }
        if (d.n || d.c < 1 || d.c > 16 || !fo_cancels(&m, n, -1) || m.c > 0 || m.c < -16) continue;
        *cap = (int)d.c;
        *but = (int)-m.c;
        return true;
    }
    return false;
}

bool weiri_forms_capped(weiri_forms *f, int loop, int cls, int around, int *cap, int *but) {
    const loop_form *l = &f->loops.v[loop];
    lin all = f->classes.v[l->cls].terms, n;
    all.c = l->c;
    if (around < 0 && cls == l->cls) return false;
    if (around < 0) n = fo_units(f, cls);
    else if (!unread_of(f, &f->loops.v[around], &n)) return false;
    *but = 0;
    if (is_capped(f, &all, &n, cap, but)) return true;
    for (*cap = 1; *cap <= 16; ++*cap) { /* or is it what that comes to? */
        lin d = fo_negative(&n), less = all;
        d.c += *cap;
        d = fo_pos(f, &d);
        d = fo_negative(&d);
        d.c += *cap;
        if (fo_cancels(&less, &d, -1) && !less.c) return true;
    }
    *cap = 0;
    return false;
}
