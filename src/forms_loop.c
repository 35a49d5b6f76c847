/* Loops to classes. Those whose forms differ only in the constant count one symbol with a head start; a guard on what a division leaves
 * over is a loop of one step. */
#include "forming.h"

weiri_forms *weiri_forms_new(const weir_kernel *k, weiri_arena *a, bool deep) {
    weiri_forms *f = WEIRI_NEW(a, weiri_forms);
    f->deep = deep;
    f->k = k;
    f->a = a;
    f->memo = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    f->own = WEIRI_NEW_N(a, lin *, k->values.n + 1);
    return f;
}

/* Files the loop under the class of d, its number of steps. */
static int file_loop(weiri_forms *f, loop_form l, lin d, bool steady, bool per) {
    while (d.n == 1 && !d.c && d.coef[0] == 1 && fo_is_kind(f, &d, 0, ATOM_POS))
        d = f->atoms.v[d.atom[0]].of; /* that a loop has anyway */
    const int among = f->part ? f->part[l.node->id] : 0;
    l.cls = -1;
    if (!d.n) l.c = d.c > 0 ? d.c : 0;
    else {
        l.c = d.c;
        d.c = 0;
        for (int i = 0; i < f->classes.n && l.cls < 0; i++)
            if (f->classes.v[i].among == among && fo_same_terms(&f->classes.v[i].terms, &d)) l.cls = i;
        if (l.cls < 0) {
            form_class c = { .terms = d, .top = l.c, .node = l.node, .among = among, .steady = steady, .per_cta = per };
            WEIRI_PUSH(f->a, f->classes, c);
            l.cls = f->classes.n - 1;
        }
        if (l.c > f->classes.v[l.cls].top) f->classes.v[l.cls].top = l.c;
    }
    WEIRI_PUSH(f->a, f->loops, l);
    return f->loops.n - 1;
}

/* A comparison of whole numbers that the launch and loops decide, d > 0: that many runs are max(0, d) - max(0, d - 1). */
static bool runs_of(weiri_forms *f, const weiri_node *n, const comparison *c, lin *out) {
    lin d = fo_side(f, c, true);
    const lin a = fo_side(f, c, false);
    if (c->op != WEIR_OP_LT || !fo_at_launch(f->k, n->of, 0)) return false;
    fo_add(&d, &a, -1);
    lin less = d;
    less.c--;
    less = fo_pos(f, &less);
    *out = fo_pos(f, &d);
    return fo_add(out, &less, -1);
}

int weiri_forms_guard(weiri_forms *f, const weiri_node *n, bool truth, bool *sum, bool all) {
    comparison c;
    int64_t m;
    bool tile, cta;
    lin d;
    if (!fo_counting(f, n->of, &c)) return -1;
    const bool settled = weiri_forms_settled(f->k, n->of, &tile, &cta);
    if (all && runs_of(f, n, &c, &d)) truth = !truth; /* below they are those of what is left over */
    else {
        *sum = *sum || c.op == WEIR_OP_LT;
        if (c.op != WEIR_OP_EQ || c.b || c.c || !settled) return -1;
        const weiri_value *v = weiri_val(f->k, c.a); /* x % m = 0: as much rounded up as down */
        if (v->op != WEIR_OP_MOD || !weiri_value_const(f->k, v->arg[1], &m) || m < 17 || m > FAR)
            return -1; /* less is counted */
        const lin x = fo_lin(f, v->arg[0], 0);
        lin down = x;
        down.c -= m - 1;
        d = fo_ceil(f, &x, m);
        down = fo_ceil(f, &down, m);
        if (!fo_add(&d, &down, -1)) return -1;
    }
    if (truth != c.not) { /* it runs where nothing is left over */
        d = fo_negative(&d);
        d.c++;
    }
    return file_loop(f, (loop_form){ .node = n, .lane = -1 }, d, settled && !tile && !cta, cta);
}

/* The factors of a product, in order; false: there are too many, or one may be below 0. */
static bool factors(weiri_forms *f, uint32_t id, uint32_t out[WEIRI_NEST], int *n) {
    const weiri_value *v = weiri_val(f->k, id);
    if (!fo_is_whole(f->k, id)) return false;
    if (v->op == WEIR_OP_MUL) return factors(f, v->arg[0], out, n) && factors(f, v->arg[1], out, n);
    const lin x = fo_lin(f, id, 0);
    if (*n == WEIRI_NEST || fo_low(f, &x, 0) < 0) return false;
    out[(*n)++] = id;
    return true;
}

int64_t weiri_forms_order(const weiri_forms *f, int loop) {
    const loop_form *l = &f->loops.v[loop];
    return l->cls < 0 ? INT64_MAX : (int64_t)l->cls * 4 * FAR + l->c;
}

int weiri_forms_nest(weiri_forms *f, const weiri_node *loop, int handles[WEIRI_NEST]) {
    uint32_t of[WEIRI_NEST];
    int64_t from, step;
    int n = 0, open = 0;
    if (!weiri_value_const(f->k, loop->start, &from) || from || !weiri_value_const(f->k, loop->step, &step) || step != 1 ||
        !factors(f, loop->stop, of, &n))
        return 0;
    for (int i = 0; i < n; i++) open += !weiri_value_const(f->k, of[i], &from);
    for (int i = 0; i < n && open > 1; i++) {
        bool tile, cta;
        const bool steady = weiri_forms_varies(f->k, of[i], &tile, &cta) && !tile && !cta;
        handles[i] = file_loop(f, (loop_form){ .node = loop, .lane = -1, .part = true }, fo_lin(f, of[i], 0), steady, cta);
    }
    return open > 1 ? n : 0;
}

bool weiri_forms_same_count(const weiri_forms *f, int x, int y) {
    const loop_form *a = &f->loops.v[x], *b = &f->loops.v[y];
    return a->cls == b->cls && a->c == b->c;
}

int weiri_forms_loop(weiri_forms *f, const weiri_node *n, int lane) {
    loop_form l = { .node = n, .lane = lane };
    for (int i = 0; i < f->loops.n; i++)
        if (f->loops.v[i].node == n && !f->loops.v[i].part) return i; /* it is of one lane, always */
    const lin start = fo_lin(f, n->start, 0);
    lin d = fo_lin(f, n->stop, 0);
    const bool plain = lane < 0 ? fo_steps(f, n, &d) : fo_add(&d, &start, -1); /* a lane's steps by a number: weiri_loop_lane */
    if (plain && lane >= 0) d.c += lane; /* of the loop in steps of 1 */
    if (!plain) { /* a step known only at launch: one symbol per (start, stop, step) */
        atom a = { .kind = ATOM_TRIPS, .id = n->index, .by = lane };
        d = fo_single(f, &a);
    }
    bool tile, cta;
    bool steady = weiri_forms_varies(f->k, n->start, &tile, &cta) && !tile && !cta;
    bool per = cta;
    steady = weiri_forms_varies(f->k, n->stop, &tile, &cta) && !tile && !cta && steady;
    per = per || cta;
    steady = weiri_forms_varies(f->k, n->step, &tile, &cta) && !tile && !cta && steady;
    return file_loop(f, l, d, steady, per || cta);
}

bool weiri_forms_apart(const weiri_forms *f) { return f->apart; }

uint64_t weiri_forms_tried(const weiri_forms *f) { return f->tried; }

weiri_trips weiri_forms_trips(const weiri_forms *f, int loop, bool in_turn) {
    const loop_form *l = &f->loops.v[loop];
    if (l->cls < 0) return (weiri_trips){ .base = l->c, .fixed = true };
    const form_class *c = &f->classes.v[l->cls];
    if (c->per > 1) {
        const form_class *o = &f->classes.v[c->of];
        const int64_t top = c->lead + c->per * l->c;
        return (weiri_trips){ .nparts = 1, .part = { { .tape = c->of, .rep = 1, .skip = (int)(o->top - top), .per = c->per } } };
    }
    if (!c->nparts)
        return (weiri_trips){ .nparts = 1, .part = { { .tape = l->cls, .rep = 1, .skip = (int)(c->top - l->c) } } };
    weiri_trips t = { .base = l->c - c->top + c->plus };
    int most = 0;
    for (int i = 0; i < c->nparts; i++) most += c->rep[i];
    for (int i = 0; i < c->nparts; i++) {
        bool apart = in_turn && most <= WEIRI_MAX_PARTS;
        for (int n = 0; n < (apart ? c->rep[i] : 1); n++)
            t.part[t.nparts++] = (weiri_part){ .tape = c->part[i], .rep = apart ? 1 : c->rep[i] };
    }
    return t;
}

int weiri_forms_class_count(const weiri_forms *f) { return f->classes.n; }

void weiri_forms_class(const weiri_forms *f, int cls, int *least, int *most, bool *steady, bool *per_cta,
                       const weiri_node **node) {
    const form_class *c = &f->classes.v[cls];
    lin x = c->terms;
    x.c = c->top;
    int64_t lo = fo_low((weiri_forms *)f, &x, 0), hi = fo_high((weiri_forms *)f, &x, 0);
    *least = lo < 0 ? 0 : lo > 16 ? 16 : (int)lo; /* fewer is a wider proof */
    *most = hi < 0 ? 0 : hi > 16 ? -1 : (int)hi;
    *steady = c->steady;
    *per_cta = c->per_cta;
    *node = c->node;
}

bool weiri_forms_wanders(const weiri_forms *f, int cls) {
    const lin *x = &f->classes.v[cls].terms;
    bool w = false;
    for (int i = 0; i < x->n; i++) w = w || fo_wanders(f, x->atom[i], false);
    return w;
}

/* Divides x, which is no plain number, whatever the sizes. */
static int64_t divisor(const weiri_forms *f, const lin *x, int depth) {
    int64_t d = x->c < 0 ? -x->c : x->c;
    for (int i = 0; i < x->n && d != 1; i++) {
        const atom *a = &f->atoms.v[x->atom[i]];
        int64_t m = 1;
        if (a->kind == ATOM_CEIL) {
            int64_t of = depth < 6 ? divisor(f, &a->of, depth + 1) : 1;
            if (of % a->by == 0) m = of / a->by;
        } else {
            const weiri_value *v = weiri_val(f->k, a->id);
            if (v->op == WEIR_OP_DIM && fo_near(v->multiple)) m = v->multiple;
        }
        d = fo_gcd(d, m * x->coef[i]);
    }
    return d;
}

int64_t weiri_forms_multiple(const weiri_forms *f, int cls) {
    lin x = f->classes.v[cls].terms;
    x.c = f->classes.v[cls].top;
    return divisor(f, &x, 0);
}

bool weiri_forms_eval(const weiri_forms *f, int cls, weiri_env *env, int64_t *out) {
    const form_class *c = &f->classes.v[cls];
    const loop_form *l = NULL;
    for (int i = 0; i < f->loops.n; i++) {
        const loop_form *x = &f->loops.v[i];
        if (x->cls == cls && !x->part && (!l || x->c > l->c)) l = x; /* the longest, of which none is cut off at 0 */
    }
    if (!l) return false; /* no loop has been written for it: base_of, weiri_forms_nest */
    const weiri_node *n = l->node;
    int64_t start, stop, step;
    env->counts = true;
    if (!weiri_range_number(env, n->start, &start) || !weiri_range_number(env, n->stop, &stop) ||
        !weiri_range_number(env, n->step, &step) || !step)
        return false;
    if (l->lane >= 0) start -= l->lane, step = 1;
    int64_t d = step > 0 ? -fo_floor_div(start - stop, step) : -fo_floor_div(stop - start, -step);
    d += c->top - l->c;
    *out = d > 0 ? d : 0;
    return true;
}
