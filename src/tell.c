#include "tell.h"

#include <stdio.h>

const char *weiri_tell_place(const weiri_plan *p, int id, char *out, size_t size) {
    const weiri_action *a = id >= 1 && id <= p->nactions ? p->action[id] : NULL;
    out[0] = '\0';
    if (a && a->op && a->op->at.n > 0) snprintf(out, size, "%s:%d", a->op->at.at[0].file, a->op->at.at[0].line);
    else if (a && a->note) snprintf(out, size, "%s", a->note);
    else if (a) snprintf(out, size, "%s", weiri_act_name(a->kind));
    return out;
}

const weiri_bar *weiri_tell_bar(const weiri_plan *p, int64_t offset, int *stage) {
    for (int i = 0; i < p->bars.n; i++) {
        const weiri_bar *b = &p->bars.v[i];
        if (offset < b->offset || offset >= b->offset + 8 * (int64_t)b->stages) continue;
        *stage = (int)((offset - b->offset) / 8);
        return b;
    }
    return NULL;
}

const weiri_region *weiri_tell_region(const weiri_plan *p, int64_t offset, int *stage) {
    for (int i = 0; i < p->smem.n; i++) {
        const weiri_region *r = &p->smem.v[i];
        if (!r->res || offset < r->offset || offset >= r->offset + r->size || r->stage_bytes <= 0) continue;
        *stage = (int)((offset - r->offset) / r->stage_bytes);
        return r;
    }
    return NULL;
}

static void note_task(const weiri_pnode *n, int task, int *task_of) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) task_of[n->act->id] = task;
        else note_task(n->first, task, task_of), note_task(n->skip, task, task_of);
    }
}

void weiri_tell_tasks(const weiri_plan *p, int *task_of) {
    for (int i = 0; i <= p->nactions; i++) task_of[i] = -1;
    for (int t = 0; t < p->ntasks; t++) note_task(p->tasks[t].root, t, task_of);
}

int weiri_tell_task_of_warp(const weiri_plan *p, int rank, int warp) {
    const weir_cluster *cl = &p->k->cluster;
    int at[4], size[4] = { cl->v, cl->m, cl->n, cl->k };
    for (int i = 0; i < 4; i++) {
        int n = size[i] > 0 ? size[i] : 1;
        at[i] = rank % n;
        rank /= n;
    }
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        if (warp < t->first_warp || warp >= t->first_warp + t->num_warps) continue;
        bool here = true;
        for (int x = 0; x < 4 && t->on_cta; x++) here &= t->cta[x] < 0 || t->cta[x] == at[x];
        if (here) return i;
    }
    return -1;
}

void weiri_tell_arrivers(const weiri_plan *p, const weiri_bar *b, const int *task_of, weiri_buf *out) {
    int shown = 0;
    for (int id = 1; id <= p->nactions; id++) {
        const weiri_action *a = p->action[id];
        char place[256];
        if (!a || a->bar < 0 || &p->bars.v[a->bar] != b) continue;
        if (a->kind != ACT_ARRIVE && a->kind != ACT_EXPECT && a->kind != ACT_CP_ARRIVE && a->kind != ACT_UMMA_COMMIT) continue;
        weiri_tell_place(p, id, place, sizeof place);
        int t = task_of[id];
        weiri_put(out, "%s%s%s%s%s", shown++ ? ", " : "    who arrives there: ", place, t >= 0 ? " (task '" : "",
                  t >= 0 ? p->tasks[t].task->name : "", t >= 0 ? "')" : "");
    }
    if (shown) weiri_put(out, "\n");
}
