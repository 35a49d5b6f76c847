/* Where a run ends: all tasks done, or nobody able to go on. */
#include <inttypes.h>
#include <stdio.h>

#include "prove_know.h"

/* ---- ends --------------------------------------------------------------------------------------------------------------- */

static bool anyone_knows(const weiri_run *r, int cta, bit b) {
    for (int i = 0; i < r->g->actors.n; i++) {
        const weiri_actor *a = &r->g->actors.v[i];
        if (a->cta != cta) continue;
        for (int q = 0; q < a->nrows; q++)
            if (has(r, a->row + q, b)) return true;
    }
    return false;
}

/* All have ended: what may still be on its way into a CTA that is gone, and what nobody has looked at? */
void weiri_run_at_exit(weiri_run *r) {
    const weiri_prog *g = r->g;
    const weiri_plan *p = g->p;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        if (q->place ||
            (q->kind != REC_LOAD && q->kind != REC_BULK_READ && q->kind != REC_MMA_READ && q->kind != REC_PUSH_READ))
            continue;
        const weiri_loc *l = &g->locs.v[q->loc];
        if (l->region < 0) continue;
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            if (!has(r, 0, b)) continue;
            bool over = q->kind == REC_LOAD || q->kind == REC_PUSH_READ ? anyone_knows(r, l->cta, b)
                                                                        : r->v[q->aux + R_VARS * s + R_AGE] == COMPLETE;
            if (!over && q->kind == REC_MMA_READ) over = q->body || anyone_knows(r, l->cta, b);
            if (over) continue;
            const weiri_actor *him = &g->actors.v[q->actor];
            weiri_fault *f = weiri_fault_add(r, "PROVE-EXIT", NULL, q->actor, (int)q->kind * 1024 + l->region);
            if (!f) continue;
            const weiri_action *act = r->rec_act[q->aux + R_VARS * s];
            f->at = weiri_act_at(act);
            f->text =
                weiri_arena_fmt(r->a,
                                q->kind == REC_LOAD ? "%s of '%s' may still write %s of CTA %d when that CTA has ended"
                                                    : "%s of '%s' may still read %s of CTA %d when that CTA has ended",
                                weiri_fault_verb(act), him->name, weiri_fault_storage(r, act, l, s), l->cta);
            f->hint = q->kind == REC_LOAD || q->kind == REC_PUSH_READ
                          ? "wait for the stage before the task ends, or end in a cluster barrier"
                          : "wait for the group before the task ends";
            f->object = weiri_fault_object(r, act, l);
        }
    }
    for (int i = 0; i < g->actors.n; i++)
        for (int cta = 0; cta < g->nctas; cta++) {
            if (cta == g->actors.v[i].cta) continue;
            bit b = bit_of(g, 0, 0, g->bit_remote + i * g->nctas + cta);
            if (!has(r, 0, b) || anyone_knows(r, cta, b)) continue;
            weiri_fault *f = weiri_fault_add(r, "PROVE-EXIT", NULL, i, 32768);
            if (!f) continue;
            f->text = weiri_arena_fmt(r->a, "'%s' may arrive at a barrier of CTA %d when that CTA has ended",
                                      r->g->actors.v[i].name, cta);
            f->hint = "end the kernel in a cluster barrier";
            f->at = p->tasks[g->actors.v[i].task].task->at.at; /* NULL, as its chain is empty */
        }
    for (int i = 0; i < g->ncommit; i++) {
        const bit b = bit_of(g, 0, 0, g->bit_commit + i);
        const int ai = i / g->nctas, cta = i % g->nctas;
        if (!has(r, 0, b) || anyone_knows(r, cta, b)) continue;
        weiri_fault *f = weiri_fault_add(r, "PROVE-EXIT", NULL, ai, 65536 + cta);
        if (!f) continue;
        f->text = weiri_arena_fmt(r->a,
                                  "the last tcgen05.commit of '%s' may arrive in CTA %d when that CTA has ended: nobody waits for "
                                  "it, nor for one behind it",
                                  g->actors.v[ai].name, cta);
        f->hint = "let the task wait for a commit at its end";
        f->at = weiri_act_at(r->last_commit[ai]);
    }
    for (int bar = 0; bar < g->nbars; bar++) {
        for (int cta = 0; cta < g->nctas; cta++) {
            const weiri_bari *b = &g->bars[cta * g->nbars + bar];
            if (!b->data) continue;
            if (weiri_prog_unwatched(g, cta, bar)) continue;
            for (int s = 0; s < p->bars.v[bar].stages; s++) {
                spot sp = spot_of(r, cta, bar, s);
                bit done = spot_bit(r, &sp, BIT_NOW);
                bool seen = false;
                for (int i = 0; i < b->waiters.n; i++) seen = seen || has(r, 0, spot_bit(r, &sp, waiter_bit(b, i)));
                if (!has(r, 0, done) || seen) continue;
                weiri_fault *f = weiri_fault_add(r, "PROVE-LOST", NULL, -1, bar);
                if (!f) continue;
                f->text = weiri_arena_fmt(r->a, "what was committed to %s is never waited for", spot_name(r, &sp));
                f->hint = "let the consumer run as many steps as the producer";
                f->object = p->bars.v[bar].name;
                f->at = b->res->at.at;
            }
        }
    }
}

/* Has every actor that arrives at this barrier in a phase done so for the phase that is open? */
static bool all_arrived(const weiri_run *r, const spot *s, int *arrivals) {
    const weiri_prog *g = r->g;
    int stages = g->p->bars.v[s->bar].stages, use = s->v[B_PHASE] * stages + s->stage, to[64], n = 0;
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *me = &g->actors.v[i];
        const weiri_code *c = &g->code.v[me->code];
        for (int x = 0; x < c->ins.n; x++) {
            const weiri_action *a = c->ins.v[x].op == IN_ACT ? c->ins.v[x].act : NULL;
            if (!a || a->bar != s->bar || a->kind < ACT_ARRIVE || a->kind > ACT_UMMA_COMMIT || !weiri_prog_runs(g, me, a))
                continue;
            int k = weiri_prog_spots(g, me->cta, a, to);
            bool here = false;
            for (int t = 0; t < k; t++) here = here || to[t] == s->cta;
            if (!here) continue;
            n++;
            if (cursor_vars(r, me, a->cur)[a->stage == STAGE_CLOSE ? C_CLOSE : C_OPEN] <= use) return false;
        }
    }
    *arrivals = weiri_bar_count(&g->p->bars.v[s->bar], s->cta) - s->v[B_PENDING];
    return n > 0;
}

static const weiri_action *stopped_at(const weiri_run *r, int ai) {
    const weiri_actor *me = &r->g->actors.v[ai];
    const weiri_ins *x = &r->g->code.v[me->code].ins.v[r->v[me->vars + V_PC]];
    return x->op == IN_ACT ? x->act : NULL;
}

const char *weiri_run_stop_text(weiri_run *r, int ai, const weiri_action **act) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    const weiri_action *a = *act = stopped_at(r, ai);
    if (!a) return NULL;
    if (a->kind == ACT_WAIT) {
        int stages = g->p->bars.v[a->bar].stages, use = use_of(r, me, a->cur, a->stage, a->back);
        spot s = spot_of(r, me->cta, a->bar, mod(use, stages));
        int phase = lap(use, stages) - LAPS - (g->p->cursors.v[a->cur].producer ? 1 : 0);
        const char *miss = s.v[B_PENDING] > 0 && s.v[B_TX] > 0
                               ? weiri_arena_fmt(r->a, "%d of %d arrivals and %d bytes missing", s.v[B_PENDING],
                                                 weiri_bar_count(&g->p->bars.v[a->bar], s.cta), s.v[B_TX])
                           : s.v[B_PENDING] > 0 ? weiri_arena_fmt(r->a, "%d of %d arrivals missing", s.v[B_PENDING],
                                                                  weiri_bar_count(&g->p->bars.v[a->bar], s.cta))
                                                : weiri_arena_fmt(r->a, "%d bytes missing", s.v[B_TX]);
        return weiri_arena_fmt(r->a, "waits at %s for phase %d (parity %d), %s", spot_name(r, &s), phase, phase & 1, miss);
    }
    if (a->kind == ACT_NAMED_SYNC)
        return weiri_arena_fmt(r->a, "waits at named barrier %d: %d of %d threads have come", weiri_prog_named(g, me, a),
                               r->v[g->named_at + weiri_prog_slot(g, me->cta, weiri_prog_named(g, me, a))], a->threads);
    if (a->kind == ACT_CTA_SYNC) return "waits for the CTA";
    return "waits for the cluster";
}

/* Nobody can go on. The cause, if one barrier's numbers are wrong, else the ring of waits. */
void weiri_run_stuck(weiri_run *r) {
    const weiri_prog *g = r->g;
    const char *rule = "PROVE-DEADLOCK";
    int first = -1, with = 0;
    const weiri_bar *bar = NULL;
    char got[96] = "", expected[96] = "";
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_action *a = stopped_at(r, i);
        if (!a) continue;
        if (first < 0 || (!stopped_at(r, first)->op && a->op)) first = i; /* with a line, if any has one */
        if (a->kind != ACT_WAIT) continue;
        int stages = g->p->bars.v[a->bar].stages;
        spot s = spot_of(r, g->actors.v[i].cta, a->bar, mod(use_of(r, &g->actors.v[i], a->cur, a->stage, a->back), stages));
        int n = 0;
        bool tx = s.v[B_PENDING] == 0, count = !tx && all_arrived(r, &s, &n); /* with no bytes missing it would be over */
        if (!tx && !count) continue;
        rule = tx ? "PROVE-TX" : "PROVE-COUNT";
        first = i;
        bar = &g->p->bars.v[a->bar];
        if (r->replay && tx) {
            snprintf(got, sizeof got, "%" PRId64 " bytes", bar->tx - s.v[B_TX]);
            snprintf(expected, sizeof expected, "%" PRId64 " bytes", bar->tx);
        } else if (r->replay) {
            snprintf(got, sizeof got, "%d arrivals", n);
            snprintf(expected, sizeof expected, "%d (%s)", weiri_bar_count(bar, s.cta), bar->sum ? bar->sum : "count");
        }
        if (tx) break;
    }
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_action *a = stopped_at(r, i);
        if (i != first && a && g->actors.v[i].task != g->actors.v[first].task) with = with * 31 + a->id;
    }
    weiri_fault *f = weiri_fault_add(r, rule, stopped_at(r, first), first, bar ? 1 : with & 0xffffff);
    if (!f) return;
    weiri_buf b;
    weiri_buf_init(&b, g->p->k->ctx);
    const weiri_action *a;
    weiri_put(&b, "'%s' %s", r->g->actors.v[first].name, weiri_run_stop_text(r, first, &a));
    int named = 0;
    for (int i = 0; i < g->actors.n && named < 6; i++) {
        const weiri_actor *o = &g->actors.v[i];
        const char *t = i == first ? NULL : weiri_run_stop_text(r, i, &a);
        bool said =
            o->task == g->actors.v[first].task && a == stopped_at(r, first); /* like the first, or like one named already */
        for (int j = 0; j < i; j++) said = said || (g->actors.v[j].task == o->task && stopped_at(r, j) == a);
        if (!t || said) continue;
        if (!named) f->other = i, f->other_at = weiri_act_at(a), f->other_what = "the other waits here";
        weiri_put(&b, "; '%s' %s", r->g->actors.v[i].name, t);
        named++;
    }
    for (int i = 0; i < g->actors.n && named < 6; i++) {
        const weiri_actor *o = &g->actors.v[i];
        if (stopped_at(r, i) || o->cta != g->actors.v[first].cta || o->code >= g->p->ntasks || o->index > 0) continue;
        weiri_put(&b, "; '%s' has ended", o->name);
        named++;
    }
    f->text = weiri_arena_str(r->a, b.s ? b.s : ""); /* cover: memory */
    weiri_buf_free(&b);
    if (bar) {
        f->object = bar->name;
        f->expected = weiri_arena_str(r->a, expected);
        f->got = weiri_arena_str(r->a, got);
        f->hint = rule[6] == 'T' ? "arm exactly the bytes that the copies into the stage bring"
                                 : "the count must be the number of arrivals of a phase";
    } else {
        f->hint = "give each wait an arrival that does not itself depend on the wait";
    }
}
