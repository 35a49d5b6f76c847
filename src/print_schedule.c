/* The schedule table: every task's ops of one work tile as a straight line, walked in rows. Each row gives every task the
 * chance of one op; an op that waits for a barrier leaves its cell empty until the counterpart has run. */
#include "print.h"

#include <stdio.h>
#include <string.h>

#include "walk.h"

enum { CELL = 30, WIDTH_NAME = 10, WIDTH_HEAD = 28 };

typedef struct mark { char tag; int call; } mark; /* by op: phase tag, call index */
typedef struct sheet { weiri_walk walk; mark *mark; /* by op id */ } sheet;

/* ---- tags and call indices ----------------------------------------------------------------------------------------------- */

typedef struct seen { int section; const weir_res *res; weiri_stage stage; int n; } seen;

static char tag_of(const weiri_node *n, int before, int loops) {
    for (const weiri_node *p = n->parent; p && p->kind != NODE_LOOP; p = p->parent) {
        if (p->kind != NODE_GUARD) continue;
        switch (p->guard) {
        case WEIR_GUARD_FIRST: return 'F';
        case WEIR_GUARD_LAST: return 'L';
        case WEIR_GUARD_EVERY: return 'P';
        case WEIR_GUARD_TRUE:
        case WEIR_GUARD_FALSE:
        case WEIR_GUARD_PREVIOUS_TILE:
        case WEIR_GUARD_LAST_TILE: return 'I';
        }
    }
    if (weiri_loop_around(n)) return ' ';
    return before == loops ? 'T' : before == 0 ? 'H' : 'O'; /* a body without a loop is all tail */
}

/* Sections: each loop's own body, and each stretch between outermost loops. Calls are counted per section. */
static void mark_task(sheet *p, const weiri_task *t) {
    WEIRI_LIST(seen) calls = { 0 };
    int loops = 0, before = 0;
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) loops += n->kind == NODE_LOOP && !weiri_loop_around(n);
    for (const weiri_node *n = NULL; (n = weiri_node_next(t->root, n));) {
        if (n->kind == NODE_LOOP && !weiri_loop_around(n)) before++;
        if (n->kind != NODE_OP) continue;
        const weiri_op *op = n->op;
        const weiri_node *loop = weiri_loop_around(n);
        int section = loop ? loop->id : -before - 1, i = 0;
        seen c = { section, op->res, op->stage, 0 };
        while (i < calls.n && (calls.v[i].section != c.section || calls.v[i].res != c.res || calls.v[i].stage != c.stage)) i++;
        if (i == calls.n) WEIRI_PUSH(&p->walk.a, calls, c);
        p->mark[op->id] = (mark){ tag_of(n, before, loops), calls.v[i].n++ };
    }
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

static const char *const stage_texts[] = { /* ORDER STAGE; arrows point to the partner */
    "  ConsAux", "  ConsTrW", "->ConsWai", "  ConsWrk", "<-ConsRel",
    "  ProdAux", "  ProdTrA", "  ProdAcq<-", "  ProdWrk", "  ProdCmt->",
};
static void put_rule(weiri_buf *b, int width, const char *title) {
    int n = (int)strlen(title), left = n ? (width - n - 2) / 2 : width;
    for (int i = 0; i < left; i++) weiri_put_n(b, "=", 1);
    if (n) {
        weiri_put(b, " %s ", title);
        for (int i = left + n + 2; i < width; i++) weiri_put_n(b, "=", 1);
    }
    weiri_put(b, "\n");
}

static void put_head(const weir_kernel *k, weiri_buf *b) {
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        char warps[40], head[WIDTH_HEAD + 1];
        int n = snprintf(warps, sizeof warps, "[%d:%d)", t->first_warp, t->first_warp + t->num_warps);
        int len = snprintf(head, sizeof head, "%.*s%s", n < WIDTH_HEAD ? WIDTH_HEAD - n : 0, t->name, warps);
        if (len > WIDTH_HEAD) len = WIDTH_HEAD;
        int left = (WIDTH_HEAD - len) / 2;
        weiri_put(b, "| %*s%s%*s ", left, "", head, WIDTH_HEAD - len - left, "");
    }
    weiri_put(b, "|\n");
}

static void put_cell(const sheet *p, const weiri_step *x, weiri_buf *b) {
    char cell[80];
    const mark *m = &p->mark[x->op->id];
    snprintf(cell, sizeof cell, " %-*.*s %-12s%2c%3d ", WIDTH_NAME, WIDTH_NAME, x->op->res->name, stage_texts[x->op->stage],
             m->tag, m->call < 999 ? m->call : 999);
    weiri_put(b, "|%-*.*s", CELL, CELL, cell);
}

static void put_op(const weiri_op *op, const mark *m, weiri_buf *b) {
    weiri_put(b, "%s %s %d", weiri_stage_name(op->stage), op->res->name, m->call);
    if (!op->at.n) return;
    weiri_put(b, " (%s:%d)", weiri_file_name(op->at.at[0].file), op->at.at[0].line);
}

static void put_plural(weiri_buf *b, int n, const char *what) {
    const char *es = what[strlen(what) - 1] == 's' ? "es" : "s";
    weiri_put(b, "%d %s%s", n, what, n == 1 ? "" : es);
}

/* All blocked tasks, each with what it lacks and from whom. */
static void put_blocked(const sheet *p, weiri_buf *b) {
    const weiri_walk *s = &p->walk;
    const weir_kernel *k = s->k;
    for (int t = 0; t < k->tasks.n; t++) {
        const weiri_task_line *tl = &s->task[t];
        if (weiri_walk_ended(tl)) continue;
        weiri_lack w = { 0 };
        const weiri_step *x = &tl->steps.v[tl->at];
        if (weiri_walk_enabled(s, x, &w)) continue;
        weiri_put(b, "blocked: %s at ", k->tasks.v[t]->name);
        put_op(x->op, &p->mark[x->op->id], b);
        weiri_put(b, ": needs %s %d of %s", weiri_use_names[w.counterpart], w.index + 1, w.res->name);
        if (w.task < 0) weiri_put(b, ", which no task makes\n");
        else {
            const weiri_line *l = weiri_walk_line(s, w.task, w.res, w.counterpart);
            bool over = weiri_walk_ended(&s->task[w.task]);
            weiri_put(b, " by %s, which %s after ", k->tasks.v[w.task]->name, over ? "has ended" : "is blocked itself");
            put_plural(b, l->done, weiri_use_names[w.counterpart]);
            weiri_put(b, "\n");
        }
    }
}

/* From the first blocked task to whom it waits for, and on, until it closes or meets a task that cannot help. */
static void put_chain(weiri_walk *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    bool *met = WEIRI_NEW_N(&s->a, bool, k->tasks.n);
    int t = 0;
    while (weiri_walk_ended(&s->task[t])) t++;
    weiri_put(b, "wait chain: %s", k->tasks.v[t]->name);
    for (;;) {
        weiri_lack w = { 0 };
        met[t] = true;
        const weiri_step *x = &s->task[t].steps.v[s->task[t].at];
        weiri_walk_enabled(s, x, &w);
        weiri_put(b, " -(%s)-> ", w.res->name);
        if (w.task < 0) {
            weiri_put(b, "nobody");
            break;
        }
        t = w.task;
        weiri_put(b, "%s", k->tasks.v[t]->name);
        if (weiri_walk_ended(&s->task[t])) {
            weiri_put(b, " (ended)");
            break;
        }
        if (met[t]) {
            weiri_put(b, " (a cycle)");
            break;
        }
    }
    weiri_put(b, "\n");
}

/* Credits left over at the end, one line per pipeline: the first of the three that is wrong explains the others. */
static void put_balance(const weiri_walk *s, weiri_buf *b) {
    for (int i = 0; i < s->k->res.n; i++) {
        const weir_res *r = s->k->res.v[i];
        if (r->kind == WEIR_RES_GROUP || r->kind == WEIR_RES_QUEUE || !weiri_piped(r)) continue;
        weiri_rest x = weiri_walk_rest(s, r);
        if (x.full <= 0 && x.empty == 0) continue;
        weiri_put(b, "unbalanced: %s: ", r->name);
        if (x.full > 0) {
            put_plural(b, x.full, "commit");
            weiri_put(b, " not consumed (%d made, %d waited for)\n", x.made[USE_COMMIT], x.made[USE_WAIT]);
        } else {
            put_plural(b, x.empty > 0 ? x.empty : -x.empty, x.empty > 0 ? "acquire" : "release");
            weiri_put(b, x.empty > 0 ? " without release" : " without acquire");
            weiri_put(b, " (%d acquired, %d released)\n", x.made[USE_ACQUIRE], x.made[USE_RELEASE]);
        }
    }
}

static void put_notes(const weiri_walk *s, weiri_buf *b) {
    const weir_kernel *k = s->k;
    weiri_put(b, "tags: H before the loops, blank in a loop, F its first iteration, L its last, P every n-th, I under a\n"
                 "      condition, O between loops, T after them; then the call index of (resource, stage) in its section\n");
    for (int i = 0; i < k->res.n; i++)
        if (strlen(k->res.v[i]->name) > WIDTH_NAME)
            weiri_put(b, "name: %.*s is %s\n", WIDTH_NAME, k->res.v[i]->name, k->res.v[i]->name);
    weiri_buf line, all;
    weiri_buf_init(&line, k->ctx);
    weiri_buf_init(&all, k->ctx);
    weiri_put(&all, "\n");
    for (int i = 0; i < s->open_loops.n; i++) {
        const weiri_node *n = s->open_loops.v[i];
        int64_t by;
        line.n = 0;
        weiri_put(&line, "\nloop ");
        weiri_value_print(k, n->start, &line);
        weiri_put(&line, " .. ");
        weiri_value_print(k, n->stop, &line);
        if (!weiri_value_const(k, n->step, &by) || by != 1) weiri_put(&line, " by "), weiri_value_print(k, n->step, &line);
        weiri_put(&line, ": shown with ");
        put_plural(&line, weiri_walk_trips(s, n), "iteration");
        weiri_put(&line, "\n");
        if (line.oom || all.oom) break;
        if (strstr(all.s, line.s)) continue; /* loops of one text have one length */
        weiri_put(&all, "%s", line.s + 1);
    }
    if (all.n > 1) weiri_put(b, "%s", all.s + 1);
    b->oom = b->oom || line.oom || all.oom;
    weiri_buf_free(&line);
    weiri_buf_free(&all);
    for (int i = 0; i < s->assumed.n; i++) {
        weiri_put(b, "condition ");
        weiri_value_print(k, s->assumed.v[i], b);
        weiri_put(b, ": shown as true\n");
    }
    if (s->tiles > 1)
        weiri_put(b, "%s: %d tiles are shown\n",
                  s->looks_back ? "a task looks back at the tile before" : "work tiles are dealt to lanes", s->tiles);
}

static void put_rows(sheet *p, weiri_buf *b) {
    weiri_walk *s = &p->walk;
    const weir_kernel *k = s->k;
    for (int row = 0;; row++) {
        int left = 0, moved = 0;
        weiri_lack w;
        for (int t = 0; t < k->tasks.n; t++) left += !weiri_walk_ended(&s->task[t]);
        for (int t = 0; t < k->tasks.n && !moved; t++)
            moved = !weiri_walk_ended(&s->task[t]) && weiri_walk_enabled(s, &s->task[t].steps.v[s->task[t].at], &w);
        if (!moved) {
            put_rule(b, k->tasks.n * (CELL + 1) + 1, left ? "blocked" : "end of full");
            if (left) put_blocked(p, b), put_chain(s, b);
            else weiri_put(b, "rows: %d\n", row), put_balance(s, b);
            return;
        }
        for (int t = 0; t < k->tasks.n; t++) {
            weiri_task_line *tl = &s->task[t];
            if (!weiri_walk_ended(tl) && weiri_walk_enabled(s, &tl->steps.v[tl->at], &w)) {
                put_cell(p, &tl->steps.v[tl->at], b);
                weiri_walk_execute(s, t); /* seen by the columns to the right in the same row */
            } else {
                weiri_put(b, "|%*s", CELL, "");
            }
        }
        weiri_put(b, "|\n");
    }
}

bool weiri_print_schedule(const weir_kernel *k, weiri_buf *b) {
    int width = k->tasks.n * (CELL + 1) + 1;
    if (!k->tasks.n) {
        weiri_put(b, "schedule of kernel %s: no tasks\n", k->name);
        return !b->oom;
    }
    sheet p;
    weiri_walk_init(&p.walk, k);
    p.mark = WEIRI_NEW_N(&p.walk.a, mark, k->nops + 1);
    for (int i = 0; i < k->tasks.n; i++) mark_task(&p, k->tasks.v[i]);
    weiri_put(b, "schedule of kernel %s\n", k->name);
    if (p.walk.too_long) {
        weiri_put(b, "no table: one work tile is too long, with loops of constant length\n");
    } else {
        put_rule(b, width, "");
        put_head(k, b);
        put_rule(b, width, "full");
        put_rows(&p, b);
        put_notes(&p.walk, b);
    }
    bool ok = !p.walk.a.oom && !b->oom;
    weiri_walk_free(&p.walk);
    return ok;
}
