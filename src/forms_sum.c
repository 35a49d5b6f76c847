/* Classes by other classes: one that takes the units of another in groups, one whose count is a sum of others', which runs through their
 * symbols one after the other. */
#include "forming.h"

enum { MOST_SUMMED = 3, MOST_REPS = 4 }; /* parts of a sum, and how often one counts that is not all of the rest */

/* Of a class that counts ceil(of / by): that atom; else NULL. */
static const atom *in_groups(const weiri_forms *f, int cls) {
    const lin *t = &f->classes.v[cls].terms;
    const atom *x = t->n == 1 && t->coef[0] == 1 ? &f->atoms.v[t->atom[0]] : NULL;
    return x && x->kind == ATOM_CEIL && !weiri_forms_wanders(f, cls) ? x : NULL;
}

/* Is ceil(x / m) = ceil((ceil(y / a) + *lead) / *per), `y` what class j counts (a = 1), or the quotient that it is? */
static bool grouped(const weiri_forms *f, const atom *x, int j, int64_t *per, int64_t *lead) {
    const form_class *o = &f->classes.v[j];
    const atom *y = in_groups(f, j);
    if (fo_same_terms(&o->terms, &x->of)) *per = x->by, *lead = x->of.c;
    else if (y && fo_same_terms(&y->of, &x->of) && x->by % y->by == 0 && (x->of.c - y->of.c) % y->by == 0)
        *per = x->by / y->by, *lead = (x->of.c - y->of.c) / y->by;
    else return false;
    return *per > 1 && *per <= 16 && o->per < 2;
}

/* What could count the units of both quotients: the number that both divide, or it in parts of a number that divides both divisors. */
static lin common_units(weiri_forms *f, const atom *x, const atom *y) {
    lin out = x->of;
    const int64_t a = fo_gcd(x->by, y->by);
    out.c = x->of.c % a;
    return x->by <= 16 && y->by <= 16 ? out : fo_ceil(f, &out, a);
}

/* The class of which the atom counts groups; -1: there is none. Where two classes count groups of it, none of which is the other's, it is made. */
static int base_of(weiri_forms *f, int cls, const atom *x, int64_t *per, int64_t *lead) {
    for (int j = 0; j < f->classes.n; j++)
        if (j != cls && grouped(f, x, j, per, lead)) return j;
    for (int j = 0; j < f->classes.n; j++) {
        const atom *y = in_groups(f, j);
        if (j == cls || !y || !fo_same_terms(&y->of, &x->of)) continue;
        const form_class *o = &f->classes.v[cls];
        const form_class made = { .terms = common_units(f, x, y), .node = o->node, .steady = o->steady, .per_cta = o->per_cta };
        WEIRI_PUSH(f->a, f->classes, made);
        f->classes.v[f->classes.n - 1].terms.c = 0;
        const int at = f->classes.n - 1;
        int64_t other, begins;
        if (grouped(f, x, at, per, lead) && grouped(f, y, at, &other, &begins)) return at;
        f->classes.n--;
    }
    return -1;
}

/* Loops of so many units a step become readers of those units. Returns whether there are any. */
bool weiri_forms_group(weiri_forms *f) {
    bool any = false;
    for (int i = 0; i < f->classes.n; i++) { /* no count below 0 is lost where one is added to it */
        const lin n = fo_units(f, i);
        if (n.c < 0 && fo_low(f, &n, 0) < 0) f->classes.v[i].top = 0;
    }
    for (int i = 0, all = f->classes.n; i < all; i++) {
        const atom *x = f->classes.v[i].base ? NULL : in_groups(f, i);
        int64_t per, lead;
        const int j = x ? base_of(f, i, x, &per, &lead) : -1;
        if (j < 0) continue;
        form_class *c = &f->classes.v[i], *o = &f->classes.v[j];
        c->per = (int)per, c->lead = (int)lead, c->of = j;
        o->base = any = true;
        for (int q = 0; q < f->loops.n; q++) { /* no loop may have more than the class has units */
            const loop_form *l = &f->loops.v[q];
            const int64_t top = lead + per * l->c;
            if (l->cls == i && top > o->top) o->top = top;
        }
    }
    return any;
}

/* Which classes may be parts of one sum: what falls out of a sum must stand in two of its terms, so all are joined by atoms that they share. */
static void find_kin(weiri_forms *f) {
    int *up = WEIRI_NEW_N(f->a, int, f->atoms.n + 1);
    for (int i = 0; i < f->atoms.n; i++) up[i] = i;
    for (int pass = 0; pass < 2; pass++) /* to join them, and to see what they have come to */
        for (int i = 0; i < f->classes.n; i++) {
            form_class *c = &f->classes.v[i];
            for (int t = 0; t < c->count.n; t++) {
                int x = c->count.atom[t];
                while (up[x] != x) x = up[x] = up[up[x]];
                if (t) up[x] = c->kin;
                else c->kin = x;
            }
        }
}

/* The class `rep` times is the whole of `rest`; 0: it is not. */
static int times(const form_class *o, const lin *rest) {
    if (o->count.n != rest->n || o->count.atom[0] != rest->atom[0]) return 0;
    const int64_t rep = rest->coef[0] / o->count.coef[0];
    lin next = *rest;
    return rep >= 1 && rep <= 64 && fo_cancels(&next, &o->count, -rep) ? (int)rep : 0;
}

/* Can `rest` be written with classes from `from` on? Fills c's parts, in the order in which their loops are written: that in which the
 * other tasks run them. */
static bool split(weiri_forms *f, form_class *c, int self, const lin *rest, int from) {
    c->plus = rest->c;
    if (!rest->n) return true;
    for (int i = from; i < f->classes.n; i++) {
        const form_class *o = &f->classes.v[i];
        if (i == self || o->nparts || o->per > 1 || o->kin != c->kin || !o->count.n || fo_same_terms(&o->terms, &c->terms)) continue; /* nor another of its length */
        const int whole = times(o, rest);
        f->tried++;
        for (int turn = c->nparts + 1 == MOST_SUMMED ? MOST_REPS : 0; turn <= MOST_REPS; turn++) {
            const int rep = turn < MOST_REPS ? turn + 1 : whole;
            if (!rep) continue;
            lin next = *rest;
            if (!fo_add(&next, &o->count, -rep)) continue;
            c->part[c->nparts] = i;
            c->rep[c->nparts++] = rep;
            if (split(f, c, self, &next, i + 1)) return true;
            c->nparts--;
        }
    }
    return false;
}

void weiri_forms_settle(weiri_forms *f) {
    for (int i = 0; i < f->classes.n; i++) {
        const lin all = fo_units(f, i);
        const bool whole = fo_low(f, &all, 0) >= 0;
        lin count = { 0 };
        if (whole) count = all;
        else if (f->deep) count = fo_pos(f, &all);
        f->classes.v[i].count = count; /* of no terms: it is part of no sum, and none */
    }
    find_kin(f);
    for (int i = 0; i < f->classes.n; i++) {
        form_class c = f->classes.v[i];
        lin rest = c.count;
        if (c.per > 1 || c.base || !rest.n || !split(f, &c, i, &rest, 0)) continue;
        bool fits = true; /* no loop of the class may be shorter than its parts' head starts; such are cut off at 0 nowhere */
        for (int j = 0; j < f->loops.n; j++) {
            const loop_form *l = &f->loops.v[j];
            if (l->cls == i && l->c - c.top + c.plus < 0) fits = false;
        }
        bool used = false; /* a class that others are made of stays */
        for (int j = 0; j < i; j++)
            for (int q = 0; q < f->classes.v[j].nparts; q++) used = used || f->classes.v[j].part[q] == i;
        if (fits && !used) f->classes.v[i] = c;
    }
}

bool weiri_forms_repeat(const weiri_forms *f) {
    bool any = false;
    for (int i = 0; i < f->classes.n; i++)
        for (int q = 0; q < f->classes.v[i].nparts; q++) any = any || f->classes.v[i].rep[q] > 1;
    return any;
}
