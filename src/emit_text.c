/* Lines of the source, and what stands in them by name: the author's names, as names.c makes them C's; numbers and paths. */
#include "emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_line(emitter *e, const char *fmt, va_list ap) {
    weiri_put(e->o, "%*s", 2 * e->depth, "");
    weiri_putv(e->o, fmt, ap);
    weiri_put(e->o, "\n");
}

void em_line(emitter *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    put_line(e, fmt, ap);
    va_end(ap);
}

void em_act(emitter *e, const weiri_action *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    weiri_put(e->o, "%*sW_AT(%d); ", 2 * e->depth, "", a->id);
    weiri_putv(e->o, fmt, ap);
    weiri_put(e->o, "\n");
    va_end(ap);
}

void em_open(emitter *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    put_line(e, fmt, ap);
    va_end(ap);
    e->depth++;
}

void em_close(emitter *e) {
    e->depth--;
    em_line(e, "}");
}

const char *em_fmt(emitter *e, const char *f, ...) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    va_list ap;
    va_start(ap, f);
    weiri_putv(&b, f, ap);
    va_end(ap);
    const char *s = weiri_arena_str(e->a, b.s ? b.s : "");
    weiri_buf_free(&b);
    return s;
}

static int line_now(emitter *e) {
    for (; e->counted < e->o->n; e->counted++)
        if (e->o->s[e->counted] == '\n') e->lines++;
    return e->lines + 1;
}

/* After text that came from the author's file: numbering goes on in ours. */
void em_own_line(emitter *e) { weiri_put(e->o, "#line %d \"%s.cu\"\n", line_now(e) + 1, e->k->name); }

/* ---- names --------------------------------------------------------------------------------------------------------------- */

const char *em_arg(emitter *e, const char *name) { return weiri_name(e->p, NAME_ARGUMENT, 0, name); }
const char *em_tensor(emitter *e, const weir_tensor *t) { return weiri_name(e->p, NAME_TENSOR, 0, t->name); }
const char *em_reg(emitter *e, const weir_res *r) { return weiri_name(e->p, NAME_REG, r->index, r->name); }
const char *em_queue(emitter *e, const weir_res *q) { return weiri_name(e->p, NAME_QUEUE, q->index, q->name); }
const char *em_bar(emitter *e, int bar) { return weiri_name(e->p, NAME_BARRIER, bar, e->p->bars.v[bar].name); }
const char *em_map(emitter *e, int tmap) { return weiri_name(e->p, NAME_MAP, tmap, e->p->tmaps.v[tmap].name); }

const char *em_region(emitter *e, int region) {
    const weiri_region *g = &e->p->smem.v[region];
    return weiri_name(e->p, NAME_REGION, region, em_fmt(e, "%s%s", g->name, g->tmem ? "_tmem" : "_smem"));
}

const char *em_coord_name(emitter *e, const weir_res *q, int axis, bool before) {
    return weiri_name(e->p, NAME_COORD, q->index, em_fmt(e, "%s%s_%s", q->name, before ? "_before" : "", q->axis[axis]));
}

const char *em_loop(emitter *e, const weiri_node *loop) {
    int n = 0;
    for (const weiri_node *x = NULL; (x = weiri_node_next(e->pt->task->root, x)) && x != loop;) n += x->kind == NODE_LOOP;
    return weiri_name(e->p, NAME_LOOP, n, em_fmt(e, "i%d", n));
}

/* A task that is both ends of a pipeline has two cursors of one name. */
const char *em_cursor_name(emitter *e, int cur) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    bool twin = false;
    for (int i = 0; i < e->p->cursors.n && c->producer; i++)
        twin = twin || (i != cur && e->p->cursors.v[i].task == c->task && e->p->cursors.v[i].res == c->res);
    return weiri_name(e->p, NAME_CURSOR, c->res->index, twin ? em_fmt(e, "%s_put", c->name) : c->name);
}

/* ---- places and numbers -------------------------------------------------------------------------------------------------- */

const weir_place *em_place_of(const weiri_action *a) { return a->op && a->op->at.n ? a->op->at.at : NULL; }

/* A chunk's name may hold anything: no line ends where it stands. */
const char *em_base_name(emitter *e, const char *path) {
    char *copy = weiri_arena_str(e->a, weiri_file_name(path));
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    return copy;
}

const char *em_quoted(emitter *e, const char *path) {
    weiri_buf b;
    weiri_buf_init(&b, e->k->ctx);
    for (; *path; path++)
        weiri_put(&b, *path == '"' || *path == '\\' ? "\\%c" : "%c", (unsigned char)*path < ' ' ? '?' : *path);
    const char *s = em_fmt(e, "\"%s\"", b.s ? b.s : "");
    weiri_buf_free(&b);
    return s;
}

/* Rounded once: by nine digits of the double it could be another one. NVRTC takes the odd one of a tie. */
const char *em_float_text(emitter *e, double x) {
    const float f = (float)x;
    if (f != f) return "__int_as_float(0x7fc00000)";
    if (isinf(f)) return f < 0 ? "__int_as_float((i32)0xff800000u)" : "__int_as_float(0x7f800000)";
    const char *s = em_fmt(e, "%.9g", x);
    const double off = strtod(s, NULL) - (double)f;
    const bool tie = off != 0 && off * 2 == (double)nextafterf(f, off > 0 ? HUGE_VALF : -HUGE_VALF) - (double)f;
    if (f == 0 || tie || strtof(s, NULL) != f) s = em_fmt(e, "%.9g", (double)f);
    bool point = strpbrk(s, ".e") != NULL;
    return *s == '-' ? em_fmt(e, "(%s%sf)", s, point ? "" : ".") : em_fmt(e, "%s%sf", s, point ? "" : ".");
}
