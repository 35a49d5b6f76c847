/* Conditions and lengths that loops tell: how often one has run, how many units of a class are read, left unread, or come next. */
#include "proving.h"

/* ---- how often a loop has run ------------------------------------------------------------------------------------------- */

/* Whoever comes to instruction i has left the loop at `loop` behind, in the same tile and the same iterations of what is around
 * both. */
static bool leads_to(const weiri_code *c, int loop, int i) {
    if (c->loops.v[c->ins.v[loop].a].end > i) return false;
    for (int q = 0; q < loop; q++) {
        const weiri_ins *x = &c->ins.v[q];
        if ((x->jump > loop && x->jump <= i) || (x->skip > loop && x->skip <= i)) return false;
    }
    return true;
}

/* Of the question at i: is the answer how often a loop has run that is behind it, and whose iterations are counted so far
 * anyway? */
static bool told(builder *b, const weiri_code *c, const int *handles, int i, weiri_ins *out) {
    const weiri_ins *x = &c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        if (c->ins.v[q].op != IN_LOOP) continue;
        const int l = c->ins.v[q].a;
        if (c->loops.v[l].deal || !leads_to(c, q, i) || !weiri_forms_ran(b->g->forms, handles[l], x->of, &ran) ||
            ran.times >= c->loops.v[l].count_to)
            continue;
        *out = *x;
        out->op = IN_RAN, out->a = l, out->b = x->is != ran.not, out->equal = ran.equal, out->by = (int)ran.times;
        out->phase = c->keys.v[x->a].tape;
        return true;
    }
    return false;
}

void pg_tell(builder *b) {
    weiri_prog *g = b->g;
    for (int tape = 0; tape < g->tapes.n; tape++)
        for (int pass = 0, all = g->tapes.v[tape].kind == TAPE_CONST; pass < 2 && all; pass++)
            for (int ci = 0, h = 0; ci < g->code.n && all; h += g->code.v[ci].loops.n, ci++) {
                weiri_code *c = &g->code.v[ci];
                for (int i = 0; i < c->ins.n && all; i++) {
                    weiri_ins *x = &c->ins.v[i], ran;
                    if (x->op != IN_WHEN || c->keys.v[x->a].tape != tape) continue;
                    all = told(b, c, b->handles.v + h, i, &ran);
                    if (!all || !pass) continue;
                    *x = ran;
                    if (!c->loops.v[x->a].told) c->loops.v[x->a].slot = c->nslots++;
                    if (c->loops.v[x->a].told < i + 1) c->loops.v[x->a].told = i + 1;
                    g->told = true;
                }
            }
}

/* ---- units -------------------------------------------------------------------------------------------------------------- */

/* A task's code with its loops' handles. */
typedef struct counting { builder *b; weiri_code *c; const int *handles; trips_list *all; int code; } counting;

/* Of the loop at `q`: the class whose units it reads, one by one or in groups, and nothing else; -1: it is none such. */
static int reads(const counting *o, int q) {
    const weiri_loop *l = &o->c->loops.v[o->c->ins.v[q].a];
    const weiri_trips t = weiri_forms_trips(o->b->g->forms, o->handles[o->c->ins.v[q].a], false);
    return l->deal || l->cap || t.nparts != 1 || t.part[0].rep != 1 ? -1 : t.part[0].tape;
}

/* Does an answer of the class's lie between the one that the loop at `q` has read last, and instruction i in it? */
static bool read_between(const counting *o, int q, int i, int cls) {
    for (int x = q + 1; x < o->c->ins.v[q + 1].jump; x++)
        if (x != i && pg_asks(o->b, o->code, x, cls)) return true;
    return false;
}

/* What the truth of the condition at `i` is read off, in an iteration of a loop around it: what of the loop is still ahead. */
static bool counted_ahead(const counting *o, int i, weiri_ins *out) {
    const weiri_ins *x = &o->c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        if (o->c->ins.v[q].op != IN_LOOP || o->c->ins.v[q + 1].jump <= i) continue;
        const int l = o->c->ins.v[q].a, cls = reads(o, q);
        if (cls < 0 || read_between(o, q, i, cls) || !weiri_forms_ahead(o->b->g->forms, o->handles[l], x->of, &ran) ||
            ran.times > 16)
            continue;
        *out = *x;
        out->op = IN_UNITS, out->a = o->c->loops.v[l].trips.part[0].tape, out->b = x->is != ran.not, out->equal = ran.equal;
        out->by = (int)ran.times;
        return true;
    }
    return false;
}

/* ... in a loop that is behind it: how many units that was given. */
static bool counted_behind(const counting *o, int i, weiri_ins *out, int *count_to) {
    const weiri_ins *x = &o->c->ins.v[i];
    for (int q = i; q-- > 0;) {
        weiri_ran ran;
        const int cls = o->c->ins.v[q].op == IN_LOOP ? reads(o, q) : -1;
        if (cls < 0 || !leads_to(o->c, q, i) || !weiri_forms_units(o->b->g->forms, cls, x->of, NULL, &ran) || ran.times > 16)
            continue;
        const int l = o->c->ins.v[q].a, per = o->c->loops.v[l].trips.part[0].per;
        if (ran.period && (per > 1 ? per : o->c->loops.v[l].period ? o->c->loops.v[l].period : 1) % ran.period) continue;
        *out = *x;
        out->op = IN_RAN, out->a = l, out->b = x->is != ran.not, out->equal = ran.equal;
        out->by = (int)ran.times, out->period = ran.period;
        out->phase = -1;
        *count_to = ran.period ? 1 : (int)ran.times + 1;
        return true;
    }
    return false;
}

/* ... of a class that the task is in no loop of: how many units come next. Or, in each iteration of loop `around`: more than so
 * many and its index. */
static bool counted_next(const counting *o, int i, int around, weiri_ins *out) {
    const weiri_ins *x = &o->c->ins.v[i];
    weiri_forms *f = o->b->g->forms;
    for (int cls = 0; cls < weiri_forms_class_count(f); cls++) {
        weiri_ran ran;
        if (!weiri_forms_plain(f, cls) || weiri_forms_wanders(f, cls) || pg_inside_others(o->b, o->code, i, cls) ||
            !weiri_forms_units(f, cls, x->of, around < 0 ? NULL : o->c->loops.v[around].node, &ran) || ran.period ||
            ran.times > 16)
            continue;
        const stretch s = pg_stretch_of(o->c, o->code, i);
        *out = *x;
        out->op = IN_UNITS, out->b = x->is != ran.not, out->equal = ran.equal, out->by = (int)ran.times, out->from = 1 + around;
        out->a = pg_tape_for(o->b, o->all, &s, cls, i);
        return true;
    }
    return false;
}

/* The loop's count is kept behind it, exactly up to a number, until instruction `at`. */
static void keep_count(weiri_code *c, weiri_loop *l, int count_to, int at) {
    if (!l->told) l->slot = c->nslots++;
    l->units = true;
    if (l->count_to < count_to) l->count_to = count_to;
    if (l->told < at + 1) l->told = at + 1;
}

/* The innermost loop around the instruction, if it runs a number of times, not many; -1: it does not. */
static int short_loop(const counting *o, int i) {
    int l = -1;
    for (int q = 0; q < i; q++)
        if (o->c->ins.v[q].op == IN_LOOP && o->c->ins.v[q + 1].jump > i) l = o->c->ins.v[q].a;
    return l >= 0 && o->c->loops.v[l].trips.fixed && o->c->loops.v[l].trips.base <= 16 && !o->c->loops.v[l].deal ? l : -1;
}

void pg_count_conditions(builder *b, trips_list *all) {
    weiri_prog *g = b->g;
    for (int tape = 0; tape < b->key_value.n; tape++) /* the tapes of conditions come first */
        for (int pass = 0, can = !g->tapes.v[tape].named; pass < 2 && can; pass++)
            for (int ci = 0, h = 0; ci < g->code.n && can; h += g->code.v[ci].loops.n, ci++) {
                counting o = { .b = b, .c = &g->code.v[ci], .handles = b->handles.v + h, .all = all, .code = ci };
                for (int i = 0; i < o.c->ins.n && can; i++) {
                    weiri_ins *x = &o.c->ins.v[i], told;
                    if (x->op != IN_WHEN || o.c->keys.v[x->a].tape != tape) continue;
                    const bool turn = g->tapes.v[tape].kind == TAPE_CONST;
                    int count_to = 0;
                    const int in = short_loop(&o, i);
                    can = counted_ahead(&o, i, &told) ||
                          (turn && (counted_behind(&o, i, &told, &count_to) || counted_next(&o, i, -1, &told))) ||
                          (in >= 0 && counted_next(&o, i, in, &told));
                    if (!can || !pass) continue;
                    *x = told;
                    g->counted = true;
                    if (x->op == IN_UNITS && x->from) /* it has no more */
                        o.c->loops.v[in].count_to = (int)o.c->loops.v[in].trips.base;
                    if (x->op != IN_RAN) continue;
                    keep_count(o.c, &o.c->loops.v[x->a], count_to, i);
                }
            }
}

/* ---- lengths ------------------------------------------------------------------------------------------------------------ */

/* The loop at `i` runs as often as one behind it was given units, up to a number; no other of the class follows, whose units it
 * could mean. */
static bool capped_behind(const counting *o, int i, weiri_loop *l) {
    const stretch s = pg_stretch_of(o->c, o->code, i);
    for (int q = i; q-- > 0;) {
        const int cls = o->c->ins.v[q].op == IN_LOOP ? reads(o, q) : -1;
        if (cls < 0 || !leads_to(o->c, q, i) || pg_next_ask(o->b, o->code, o->c->ins.v[i + 1].jump, s.to, cls) < s.to ||
            !weiri_forms_capped(o->b->g->forms, o->handles[o->c->ins.v[i].a], cls, -1, &l->cap, &l->but))
            continue;
        l->behind = 1 + o->c->ins.v[q].a;
        l->trips = (weiri_trips){ 0 };
        l->count_to = l->cap; /* it has no more */
        keep_count(o->c, &o->c->loops.v[l->behind - 1], l->cap + l->but, i);
        return true;
    }
    return false;
}

void pg_cap_loops(builder *b, trips_list *all) {
    weiri_prog *g = b->g;
    for (int ci = 0, h = 0; ci < g->code.n; h += g->code.v[ci].loops.n, ci++) {
        counting o = { .b = b, .c = &g->code.v[ci], .handles = b->handles.v + h, .all = all, .code = ci };
        for (int i = 0; i < o.c->ins.n; i++) {
            if (o.c->ins.v[i].op != IN_LOOP || reads(&o, i) < 0 || o.c->loops.v[o.c->ins.v[i].a].node->kind != NODE_LOOP)
                continue;
            weiri_loop *l = &o.c->loops.v[o.c->ins.v[i].a];
            int around = -1, tape = -1;
            for (int q = 0; q < i; q++)
                if (o.c->ins.v[q].op == IN_LOOP && o.c->ins.v[q + 1].jump > i) around = q;
            if (around >= 0) { /* the innermost */
                const int cls = reads(&o, around);
                if (cls < 0 || read_between(&o, around, i, cls) ||
                    !weiri_forms_capped(g->forms, o.handles[o.c->ins.v[i].a], cls, o.handles[o.c->ins.v[around].a], &l->cap,
                                        &l->but))
                    continue;
                tape = o.c->loops.v[o.c->ins.v[around].a].trips.part[0].tape;
            }
            if (around < 0 && capped_behind(&o, i, l)) {
                g->counted = true;
                continue;
            }
            for (int cls = 0; around < 0 && tape < 0 && cls < weiri_forms_class_count(g->forms); cls++) {
                if (!weiri_forms_plain(g->forms, cls) || weiri_forms_wanders(g->forms, cls) ||
                    !weiri_forms_capped(g->forms, o.handles[o.c->ins.v[i].a], cls, -1, &l->cap, &l->but))
                    continue;
                const stretch s = pg_stretch_of(o.c, ci, i);
                tape = pg_tape_for(b, all, &s, cls, i);
            }
            if (tape < 0) continue;
            l->trips = (weiri_trips){ .nparts = 1, .part = { { .tape = tape, .rep = 1 } } };
            l->count_to = l->cap;
            g->counted = true;
        }
    }
}
