/* One run of the compiled program: every actor goes as far as it can. What happened before what is kept as sets: for each
 * access that still matters, who knows it has happened. */
#include <inttypes.h>

#include "prove_know.h"

/* ---- knowledge of actors ------------------------------------------------------------------------------------------------ */

/* What row `from` knows, but for `not`, flows into row `to`. Of an actor and a barrier that it comes to, one keeps all that the
 * other does. */
static void pour(weiri_run *r, int to, int from, const uint64_t *not) {
    const weiri_known *x = &r->g->rows[to], *y = &r->g->rows[from];
    const weiri_keep *less = x->keep->n <= y->keep->n ? x->keep : y->keep;
    worked(r->g, less->n);
    for (int i = 0; i < less->run.n; i++) {
        const weiri_words *k = &less->run.v[i];
        uint64_t *d = x->keep == less ? r->w + x->first + k->at : kept(r, to, k->first);
        const uint64_t *s = y->keep == less ? r->w + y->first + k->at : kept(r, from, k->first), *hold = not + k->first;
        for (int w = 0; w < k->end - k->first; w++) d[w] |= s[w] & ~hold[w];
    }
}

static void join(weiri_run *r, int to, int from) { pour(r, to, from, r->g->own_mask); }

/* What threads `by` know flows into row `to`. */
static void give(weiri_run *r, const weiri_actor *me, int by, int to) {
    if (by == BY_ALL)
        for (int i = 0; i < me->nrows; i++) join(r, to, me->row + i);
    else join(r, to, me->row + me->by[by]);
}

/* What completes by itself comes later than all the thread knew before, finished loads and others' released writes included;
 * what its own threads wrote it does not release. */
static void follow(weiri_run *r, const weiri_actor *me, int from, int to) { pour(r, to, from, me->async_mask); }

static void take(weiri_run *r, const weiri_actor *me, int by, int from) {
    if (by == BY_ALL)
        for (int i = 0; i < me->nrows; i++) join(r, me->row + i, from);
    else join(r, me->row + me->by[by], from);
}

/* The actor's threads meet: all know what any knew. Its rows keep alike, and lie side by side: one, three or four. */
static void meet(weiri_run *r, const weiri_actor *me) {
    const weiri_known *x = &r->g->rows[me->row];
    const int n = x->keep->n;
    if (me->nrows == 1) return;
    worked(r->g, me->nrows * n);
    for (int i = 0; i < x->keep->run.n; i++) {
        const weiri_words *k = &x->keep->run.v[i];
        const uint64_t *own = r->g->own_mask + k->first;
        uint64_t *one = r->w + x->first + k->at, *two = one + n, *three = two + n, *last = one + n * (me->nrows - 1);
        for (int w = 0; w < k->end - k->first; w++) {
            const uint64_t any = (one[w] | two[w] | three[w] | last[w]) & ~own[w];
            one[w] |= any, two[w] |= any, three[w] |= any;
            last[w] |= any;
        }
    }
}

/* ---- mbarriers ---------------------------------------------------------------------------------------------------------- */

/* Of a record REC_PASSED: 0 until an mma is issued, then 1 and one more for each commit. */
static int *passed_age(const weiri_run *r, int rec, int stage) { return r->v + r->g->recs.v[rec].aux + R_VARS * stage + R_AGE; }

/* n bits from bit `from` of a row on, as far as they lie in that word, the one they begin in or a later one; of 2 n every other
 * one. */
static uint64_t bits_in(int word, int from, int n) {
    int lo = from - 64 * word, hi = lo + n;
    if (hi <= 0) return 0;
    return ~0ull << (lo > 0 ? lo : 0) & (hi < 64 ? (1ull << hi) - 1 : ~0ull);
}
static uint64_t every_other(int word, int from, int n) {
    return 0x5555555555555555ull << (from & 1) & bits_in(word, from, 2 * n);
}

/* Does a row know that the last phase is over? It was told by who waited, or knows of every arrival. x: its words from that of
 * the stage on. */
static bool knows_over(const weiri_run *r, const spot *s, const uint64_t *x) {
    const bit now = spot_bit(r, s, BIT_NOW);
    if (!has(r, 0, now) || x[0] & now.mask) return true;
    const int from = at_of(r->g, s->b->ring, s->stage, s->b->bit + arrival_bit(0, true)), end = from + 2 * s->b->pairs;
    bool all = s->b->pairs > 0;
    for (int w = from / 64; all && 64 * w < end; w++) all = !(r->w[w] & ~x[w - now.word] & every_other(w, from, s->b->pairs));
    return all;
}
static bool is_over(const weiri_run *r, const spot *s, int rw) {
    return knows_over(r, s, kept(r, rw, spot_bit(r, s, BIT_NOW).word));
}

/* The phase ends if nothing is missing. Whoever waited for the phase before must have been seen by then. */
static void complete(weiri_run *r, const spot *s, const weiri_action *act, int ai) {
    const weiri_prog *g = r->g;
    if (s->v[B_PENDING] != 0 || s->v[B_TX] != 0) return;
    const weiri_bari *b = s->b;
    for (int i = 0; i < b->waiters.n; i++) {
        const weiri_actor *him = &g->actors.v[b->waiters.v[i].actor];
        bit w = spot_bit(r, s, waiter_bit(b, i));
        if (has(r, 0, w) && !has(r, s->gather, w)) {
            weiri_fault *f = weiri_fault_add(r, "PROVE-PARITY", act, ai, 4096 + him->task);
            if (f) {
                f->text = weiri_arena_fmt(r->a,
                                          "%s may end its next phase while '%s' still waits for the one before: the parity it "
                                          "waits for comes round again",
                                          spot_name(r, s), him->name);
                f->hint = "let the arrivals of a phase follow every wait for the phase before it";
                f->object = g->p->bars.v[s->bar].name;
            }
        }
    }
    /* the newest completion becomes the one before, its arrivals those of the last phase: each bit of a pair moves up; who has
     * waited is forgotten */
    bit now = spot_bit(r, s, BIT_NOW), before = spot_bit(r, s, BIT_BEFORE);
    const int at = at_of(g, b->ring, s->stage, b->bit), n = 1 + b->pairs, all = waiter_bit(b, b->waiters.n),
              end = (at + all - 1) / 64;
    const bool was = has(r, 0, now);
    const uint64_t first = bits_in(now.word, at, all);
    const weiri_held *held = &g->held[now.word];
    worked(g, held->n);
    for (int i = held->n - 1; i >= 0; i--) { /* row 0, which says what stands, last */
        uint64_t *x = r->w + held->at[i] - now.word, any = x[now.word] & first; /* who keeps one of these words keeps all */
        for (int w = now.word + 1; w <= end; w++) any |= x[w] & bits_in(w, at, all);
        if (!any) continue;
        const bool known = was && (!held->row[i] || knows_over(r, s, x + now.word));
        for (int w = end; w >= now.word; w--) {
            const uint64_t up = (x[w] & every_other(w, at, n)) << 1,
                           in = w > now.word ? (x[w - 1] & every_other(w - 1, at, n)) >> 63 : 0;
            x[w] = (x[w] & ~bits_in(w, at, all)) | up | in;
        }
        x[before.word] = known ? x[before.word] | before.mask : x[before.word] & ~before.mask;
    }
    for (int a = 0; a < b->pairs; a++) {
        int rec = b->arrivers.v[a].passed;
        if (rec >= 0) *passed_age(r, rec + 1, s->stage) = *passed_age(r, rec, s->stage);
    }
    set(r, 0, now);
    set(r, s->gather, now);
    hand_over(r, s->done, s->gather);
    s->v[B_PHASE]++;
    s->v[B_PENDING] = weiri_bar_count(&g->p->bars.v[s->bar], s->cta);
}

/* The barrier must have been initialised, as far as `need` knows. */
static void usable(weiri_run *r, const spot *s, const weiri_action *act, int ai, int need) {
    const weiri_prog *g = r->g;
    bit b = bit_of(g, 0, 0, g->bit_init + s->cta);
    if (has(r, 0, b) && has(r, need, b)) return;
    weiri_fault *f = weiri_fault_add(r, "PROVE-RACE", act, ai, 8192 + s->cta);
    if (!f) return;
    f->text = weiri_arena_fmt(r->a, "'%s' may use %s before it is initialised", r->g->actors.v[ai].name, spot_name(r, s));
    f->hint = "initialise the mbarriers, fence, and join the CTA (or the cluster) before the first use";
    f->object = g->p->bars.v[s->bar].name;
}

/* An arrival (or bytes) meant for phase `k`: is that the phase it falls into, in every order? */
static bool in_phase(weiri_run *r, const spot *s, const weiri_action *act, int ai, int need, int k, bool tx) {
    const weiri_prog *g = r->g;
    bool late = s->v[B_PHASE] > k, early = s->v[B_PHASE] < k || !is_over(r, s, need);
    if (!late && !early) return true;
    int before = r->nfaults;
    weiri_fault *f = weiri_fault_add(r, tx ? "PROVE-TX" : "PROVE-COUNT", act, ai, 4 * act->bar + (late ? 1 : 0));
    if (!late) weiri_fault_maybe(r, before);
    if (f) {
        const weiri_bar *b = &g->p->bars.v[s->bar];
        f->object = b->name;
        if (late) {
            f->text = weiri_arena_fmt(
                r->a,
                "%s of '%s' at %s come after the phase they belong to is complete: it counts %d arrival%s and %" PRId64
                " bytes",
                tx ? "bytes" : "arrivals", r->g->actors.v[ai].name, spot_name(r, s), weiri_bar_count(b, s->cta),
                weiri_bar_count(b, s->cta) == 1 ? "" : "s", b->tx);
            const weir_res *group = tx && act->op ? act->op->res->group : NULL; /* plans that tests make have no ops */
            f->hint = !tx ? "the count must be the number of arrivals of a phase"
                      : group && group->mode == WEIR_GROUP_FORK
                          ? weiri_arena_fmt(r->a, "the members of fork '%s' are one datum: load one of them, and give the others its storage",
                                            group->name)
                          : "the bytes armed for a phase must be all that arrive in it";
            f->expected = weiri_arena_fmt(r->a, tx ? "all bytes of a phase armed" : "a count of all arrivals of a phase");
            f->got = tx ? weiri_arena_fmt(r->a, "%" PRId64 " bytes", b->tx)
                        : weiri_arena_fmt(r->a, "%d", weiri_bar_count(b, s->cta));
        } else {
            f->text = weiri_arena_fmt(r->a, "%s of '%s' at %s may fall into the phase before: nothing says that it is over",
                                      tx ? "bytes" : "an arrival", r->g->actors.v[ai].name, spot_name(r, s));
            f->hint = "wait for the phase before, or for something that follows it";
        }
    }
    if (s->v[B_PHASE] != k) r->fatal = true;
    return s->v[B_PHASE] == k;
}

/* It arrives in another CTA, which must be there still. */
static void reach(weiri_run *r, int ai, int by, int cta) {
    const weiri_actor *me = &r->g->actors.v[ai];
    if (cta == me->cta) return;
    bit b = bit_of(r->g, 0, 0, r->g->bit_remote + ai * r->g->nctas + cta);
    forget(r, b);
    set(r, 0, b);
    if (by == BY_ALL) set_all(r, me, b);
    else set(r, me->row + me->by[by], b);
}

/* The tensor core arrives in these CTAs by itself, in the order of the thread's commits: who has seen one knows that it and those
 * before have arrived, wherever that was. The thread only knows that it has asked. */
static bit commit_bit(const weiri_run *r, int ai, int cta) {
    return bit_of(r->g, 0, 0, r->g->bit_commit + ai * r->g->nctas + cta);
}
static void commit_asked(weiri_run *r, int ai, const int *to, int n) {
    for (int t = 0; t < n; t++) {
        forget(r, commit_bit(r, ai, to[t]));
        set(r, 0, commit_bit(r, ai, to[t]));
    }
}
static void commit_seen(weiri_run *r, int ai, const spot *s) {
    for (int cta = 0; cta < r->g->nctas; cta++)
        if (has(r, 0, commit_bit(r, ai, cta))) set(r, s->gather, commit_bit(r, ai, cta));
}

static void arrive(weiri_run *r, const spot *s, const weiri_action *act, int ai, int by, int k, int n, int64_t bytes,
                   bool knows) {
    const weiri_actor *me = &r->g->actors.v[ai];
    int need = need_row(me, by);
    usable(r, s, act, ai, need);
    /* Lanes arrive one by one, and one knows nothing of the others but what every thread knows. */
    bool single = me->by[by] == me->by[BY_ONE];
    if (!in_phase(r, s, act, ai, single ? need : need_row(me, BY_ALL), k, false)) return;
    int arriver = s->b->lands ? -1 : arriver_of(s->b, me->row + me->by[by]);
    if (arriver >= 0) { /* the thread knows of its arrival; of several, only all together do */
        bit mine = spot_bit(r, s, arrival_bit(arriver, false));
        forget(r, mine);
        set(r, 0, mine);
        set(r, me->row + (single ? me->by[by] : 0), mine);
        if (s->b->arrivers.v[arriver].passed >= 0) *passed_age(r, s->b->arrivers.v[arriver].passed, s->stage) = 0;
    }
    s->v[B_PENDING] -= n;
    s->v[B_TX] += (int)bytes;
    if (s->v[B_PENDING] < 0) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-COUNT", act, ai, 4 * act->bar + 2);
        if (f) {
            const weiri_bar *b = &r->g->p->bars.v[s->bar];
            f->text = weiri_arena_fmt(r->a, "%d arrival%s too many in a phase of %s", -s->v[B_PENDING],
                                      s->v[B_PENDING] == -1 ? "" : "s", spot_name(r, s));
            f->expected = weiri_arena_fmt(r->a, "%d a phase (%s)", weiri_bar_count(b, s->cta), b->sum ? b->sum : "count");
            f->got = weiri_arena_fmt(r->a, "%d", weiri_bar_count(b, s->cta) - s->v[B_PENDING]);
            f->object = b->name;
        }
        r->fatal = true;
        return;
    }
    reach(r, ai, by, s->cta);
    if (knows) give(r, me, by, s->gather);
}

static bool too_many_bytes(weiri_run *r, const spot *s, const weiri_action *act, int ai) {
    if (s->v[B_PENDING] != 0 || s->v[B_TX] >= 0) return false;
    weiri_fault *f = weiri_fault_add(r, "PROVE-TX", act, ai, 4 * act->bar + 2);
    if (f) {
        const weiri_bar *b = &r->g->p->bars.v[s->bar];
        f->text = weiri_arena_fmt(r->a, "%d bytes more arrive in a phase of %s than its arrivals expect", -s->v[B_TX],
                                  spot_name(r, s));
        f->hint = "arm the bytes that all copies into the stage bring";
        f->object = b->name;
    }
    r->fatal = true;
    return true;
}

/* Something has arrived: the phase is over, or wrong, or goes on. */
static void settle(weiri_run *r, const spot *s, const weiri_action *act, int ai) {
    if (!r->fatal && !too_many_bytes(r, s, act, ai)) complete(r, s, act, ai);
}

/* Waiting for phase k: true when it is over. */
static bool wait(weiri_run *r, const spot *s, const weiri_action *act, int ai, int by, int k) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int need = need_row(me, by), ahead = s->v[B_PHASE] - k;
    usable(r, s, act, ai, need);
    bit before = spot_bit(r, s, BIT_BEFORE);
    bool known =
        ahead == 1 ? !has(r, 0, before) || has(r, need, before) : is_over(r, s, need); /* that the phase before k has ended */
    if (ahead < 0 || ahead > 1 || !known) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-PARITY", act, ai, act->bar);
        if (f) {
            f->object = g->p->bars.v[s->bar].name;
            f->text =
                ahead > 1
                    ? weiri_arena_fmt(
                          r->a, "'%s' waits for a phase of %s that was over two phases ago: its parity has come round again",
                          r->g->actors.v[ai].name, spot_name(r, s))
                    : weiri_arena_fmt(r->a,
                                      "'%s' waits for a phase of %s while the one before may still be open: it may pass at "
                                      "once, on the same parity",
                                      r->g->actors.v[ai].name, spot_name(r, s));
            f->hint = "every phase must be waited for, in turn, by each side";
        }
        if (ahead < 0 || ahead > 1) {
            r->fatal = true;
            return false;
        }
    }
    if (ahead < 1) return false;
    take(r, me, by, s->done);
    int waiter = waiter_of(s->b, ai);
    bit w = spot_bit(r, s, waiter_bit(s->b, waiter));
    forget(r, w);
    set(r, 0, w);
    set(r, me->row + me->by[by], w); /* that all threads have passed no thread of them knows until they meet */
    if (s->b->waiters.v[waiter].passed >= 0) *passed_age(r, s->b->waiters.v[waiter].passed, s->stage) = 0;
    return true;
}

/* An mma takes all threads of the warpgroup: once it is done, each knows that all have passed the waits and arrivals in front
 * of it. */
static void passed_before_mma(weiri_run *r, const weiri_actor *me, const weiri_action *act) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < me->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[me->recs.v[i]];
        for (int s = 0; q->kind == REC_PASSED && s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            int *age = passed_age(r, me->recs.v[i], s);
            if (*age == COMPLETE || !has(r, 0, b)) continue;
            if (act->kind == ACT_MMA ? *age == 0 : act->kind == ACT_MMA_COMMIT && *age > 0 && *age < AGE_MAX) ++*age;
            if (act->kind == ACT_MMA_WAIT && *age - 1 > act->n) {
                *age = COMPLETE;
                set_all(r, me, b);
            }
        }
    }
}

/* ---- tapes -------------------------------------------------------------------------------------------------------------- */

int *weiri_run_tape(const weiri_run *r, int tape, int tile) {
    const weiri_prog *g = r->g;
    return g->tapes.v[tape].tile ? r->v + g->tile_at + T_VARS * (tile * g->ntile + g->tile_tape[tape])
                                 : r->v + g->root_at + T_VARS * g->root_tape[tape];
}

static uint64_t letters(const int *t) { return (uint64_t)(uint32_t)t[T_LO] | (uint64_t)(uint32_t)t[T_HI] << 32; }
static void set_letters(int *t, uint64_t x) {
    t[T_LO] = (int)(uint32_t)x;
    t[T_HI] = (int)(uint32_t)(x >> 32);
}

typedef struct view { int *tape; int *off; int id; } view; /* a tape as an actor sees it */
static view view_of(const weiri_run *r, const weiri_actor *me, int tape) {
    int id = weiri_prog_tape(r->g, tape, me->cta), tile = r->v[me->vars + V_TILE];
    return (view){ weiri_run_tape(r, id, tile < 0 || tile >= WEIRI_TILES ? 0 : tile), r->v + me->offs + id, id };
}

/* Units of the running instance still ahead, or of the one that begins `behind` letters later; *ended: no more can follow. */
static int units(const view *x, int behind, bool *ended) {
    uint64_t l = letters(x->tape);
    int n = 0, i = *x->off + behind;
    while (i < x->tape[T_LEN] && (l >> i & 1)) i++, n++;
    *ended = i < x->tape[T_LEN];
    return n;
}

/* Are there more than `than` units still unread? 1 yes, 0 no, -1: ask *want. */
static int unread(const view *x, int than, int *want) {
    bool ended;
    if (units(x, 0, &ended) > than) return 1;
    *want = x->id;
    return ended ? 0 : -1;
}

/* Of a loop that reads units in groups: those of the group that it is at, which it has not passed yet. */
static int group_at(const weiri_part *part, const int *v) { return v[L_SUB] ? part->per : 0; }

/* Are there `need` more iterations? 1 yes, 0 no, -1: ask *want. */
static int more(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, const int *v, int need, int *want) {
    if (l->behind) {
        const weiri_code *c = &r->g->code.v[me->code];
        const int n = r->v[loop_at(me, c, l->behind - 1) + L_RAN] - l->but;
        return v[L_IDX] + need <= (n < l->cap ? n : l->cap);
    }
    if (l->cap || l->trips.part[0].per > 1) {
        const weiri_part *part = &l->trips.part[0];
        view x = view_of(r, me, part->tape);
        if (l->cap) return v[L_IDX] + need > l->cap ? 0 : unread(&x, v[L_IDX] + need - 1 + l->but, want);
        return unread(&x, group_at(part, v) + part->skip + part->per * (need - 1), want);
    }
    need -= v[L_SUB];
    if (need <= 0) return 1;
    for (int p = v[L_PART], behind = 0; p < l->trips.nparts; p++) {
        const weiri_part *part = &l->trips.part[p];
        view x = view_of(r, me, part->tape);
        bool ended;
        int n = units(&x, behind, &ended);
        behind = p + 1 < l->trips.nparts && part[1].tape == part->tape ? behind + n + 1 : 0; /* in turn: the next instance */
        n -= part->skip;
        if (n > 0 && n * part->rep >= need) return 1;
        if (!ended) {
            *want = x.id;
            return -1;
        }
        if (n > 0) need -= n * part->rep;
    }
    return 0;
}

/* One that more() has promised. */
static void next_iteration(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, int *v) {
    if (l->cap) return;
    if (l->trips.part[0].per > 1) {
        *view_of(r, me, l->trips.part[0].tape).off += group_at(&l->trips.part[0], v);
        v[L_SUB] = 1;
        return;
    }
    if (v[L_SUB] > 0) {
        v[L_SUB]--;
        return;
    }
    for (;; v[L_PART]++) {
        const weiri_part *part = &l->trips.part[v[L_PART]];
        view x = view_of(r, me, part->tape);
        bool ended;
        int n = units(&x, 0, &ended);
        if (n > part->skip) {
            ++*x.off;
            v[L_SUB] = part->rep - 1;
            return;
        }
        *x.off += n + 1;
    }
}

static void leave_loop(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, int *v) {
    for (; !l->cap && v[L_PART] < l->trips.nparts; v[L_PART]++) {
        view x = view_of(r, me, l->trips.part[v[L_PART]].tape);
        bool ended;
        *x.off += units(&x, 0, &ended) + 1;
    }
    memset(v, 0, sizeof(int) * L_VARS);
}

/* How many units a loop that is at its end was given: of many, a number that leaves as much over. */
static int given(const weiri_run *r, const weiri_actor *me, const weiri_loop *l, const int *v) {
    view x = view_of(r, me, l->trips.part[0].tape);
    const int per = l->trips.part[0].per;
    bool ended;
    return units(&x, 0, &ended) + (per > 1 ? per * (v[L_IDX] - (v[L_SUB] != 0)) : v[L_IDX]);
}

/* ---- actions ------------------------------------------------------------------------------------------------------------ */

/* Is the launch before complete, as far as row `rw` knows? */
static bool after_grid_wait(const weiri_run *r, int rw) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->nwait; i++)
        if (has(r, rw, bit_of(g, 0, 0, g->bit_wait + i))) return true;
    return false;
}

static void effects(weiri_run *r, int ai, int pc, const weiri_action *act) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int at = me->eff[pc], to[64];
    uint8_t *slabs = &g->slabs[act->id * g->nctas + me->cta];
    if (!*slabs) *slabs = !act->op || weiri_slabs_inside(g->p->k, act->op, me->cta) ? 1 : 2;
    if (g->nwait && act->op && !after_grid_wait(r, need_row(me, weiri_prog_by(act)))) g->early[act->id] = true;
    for (int i = me->gmem[pc]; i < me->gmem[pc + 1]; i++) weiri_gmem_access(r, ai, act, g->gmem.v[i]);
    /* all reads before the writes: an action does not race with itself */
    for (int pass = 0; pass < 2; pass++)
        for (int e = 0, i = at; e < act->neff; e++) {
            const weiri_effect *x = &act->eff[e];
            int n = weiri_prog_effect(g, me, act, x, to);
            int use = x->cur >= 0 ? use_of(r, me, x->cur, x->stage, x->back) : 0,
                stages = x->cur >= 0 ? g->p->cursors.v[x->cur].stages : 1;
            for (int t = 0; t < n; t++, i++)
                if ((pass == 1) == x->write) weiri_access(r, ai, act, g->eff.v[i], mod(use, stages), use);
        }
}

static int source_stage(const weiri_run *r, const weiri_actor *me, const weiri_effect *e) {
    return e->cur >= 0 ? mod(use_of(r, me, e->cur, e->stage, e->back), r->g->p->cursors.v[e->cur].stages) : 0;
}

/* Bytes that land on a barrier by themselves. The write is known to whoever waits for the phase, not to the issuer. */
static void land(weiri_run *r, int ai, int pc, const weiri_action *act, int use, int stage) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int by = weiri_prog_by(act), need = need_row(me, by), to[64], n = weiri_prog_targets(g, me->cta, act, to);
    effects(r, ai, pc, act);
    if (act->bar < 0) return;
    for (int t = 0; t < n && !r->fatal; t++) {
        spot s = spot_of(r, act->at_leader ? weiri_prog_leader(g, to[t]) : to[t], act->bar, stage);
        usable(r, &s, act, ai, need);
        if (!in_phase(r, &s, act, ai, need, lap(use, g->p->bars.v[act->bar].stages), true)) return;
        s.v[B_TX] -= (int)act->bytes;
        follow(r, me, need, s.gather);
        for (int i = me->gmem[pc]; i < me->gmem[pc + 1]; i++) set(r, s.gather, weiri_gmem_bit(r, ai, g->gmem.v[i]));
        for (int e = 0, i = me->eff[pc]; e < act->neff; e++) {
            int tt[64], nt = weiri_prog_effect(g, me, act, &act->eff[e], tt);
            for (int q = 0; q < nt; q++, i++) {
                const weiri_rec *rec = &g->recs.v[g->eff.v[i]];
                if (tt[q] == to[t] && rec->kind == REC_LOAD) set(r, s.gather, bit_of(g, rec->ring, stage, rec->bit));
                if (rec->kind == REC_PUSH_READ) set(r, s.gather, bit_of(g, rec->ring, source_stage(r, me, &act->eff[e]), rec->bit));
            }
        }
        settle(r, &s, act, ai);
    }
}

static void log_event(weiri_run *r, int ai, const weiri_action *act, int use, int stages) {
    if (!r->replay) return;
    bool before = act->kind == ACT_WAIT && r->g->p->cursors.v[act->cur].producer; /* it waits for the phase before its use */
    weiri_event e = { ai, act, stages ? mod(use, stages) : -1, stages ? lap(use, stages) - LAPS - before : 0 };
    WEIRI_PUSH(r->a, r->log, e);
}

/* Several actors meet at a named barrier or the CTA's: true when the last has come; all then go on. */
static bool rendezvous(weiri_run *r, int ai, const weiri_action *act) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = &g->actors.v[ai];
    int id = weiri_prog_named(g, me, act), slot = weiri_prog_slot(g, me->cta, id);
    int *count = r->v + g->named_at + slot, gather = g->named_row + slot;
    bit last = bit_of(g, 0, 0, g->bit_named + slot); /* the barrier's last round is over */
    if (has(r, 0, last) && !has(r, need_row(me, BY_ALL), last)) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-COUNT", act, ai, 20480 + id);
        if (f) {
            f->text = weiri_arena_fmt(
                r->a, "'%s' may come to named barrier %d twice in one round: nothing says that the last one is over", me->name,
                id);
            f->hint = "wait for the others (bar.sync) before the barrier is used again";
        }
    }
    int full = id == CTA_MEETS ? g->actors.n / g->nctas : act->threads;
    *count += id == CTA_MEETS ? 1 : me->threads;
    give(r, me, BY_ALL, gather);
    if (*count > full) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-COUNT", act, ai, 16384 + id);
        if (f) {
            f->text =
                weiri_arena_fmt(r->a, "named barrier %d takes %d threads, '%s' brings it to %d", id, full, me->name, *count);
            f->expected = weiri_arena_fmt(r->a, "%d threads", full);
            f->got = weiri_arena_fmt(r->a, "%d", *count);
        }
        r->fatal = true;
        return false;
    }
    r->v[me->vars + V_STOP] = 1;
    if (*count < full) return false;
    forget(r, last);
    set(r, 0, last);
    set(r, gather, last);
    for (int i = 0; i < g->actors.n; i++) {
        const weiri_actor *o = &g->actors.v[i];
        int *v = r->v + o->vars;
        if (o->cta != me->cta || !v[V_STOP]) continue;
        const weiri_action *his = g->code.v[o->code].ins.v[v[V_PC]].act;
        if (weiri_prog_named(g, o, his) != id) continue;
        take(r, o, BY_ALL, gather);
        v[V_STOP] = 0;
        if (i != ai) v[V_PC]++;
    }
    memset(r->w + g->rows[gather].first, 0, sizeof(uint64_t) * (size_t)g->rows[gather].keep->n);
    *count = 0;
    return true;
}

/* ---- stages without barriers ------------------------------------------------------------------------------------------------ */

static const char *stage_of(const weiri_run *r, int cur, int use) {
    const weiri_cursor *c = &r->g->p->cursors.v[cur];
    if (c->stages == 1) return weiri_arena_fmt(r->a, "'%s'", c->name);
    return weiri_arena_fmt(r->a, "stage %d of '%s'", mod(use, c->stages), c->name);
}

/* A task opens a stage that it fills and empties itself: nothing makes it wait, so its own order must be right. */
static void in_turn(weiri_run *r, int ai, const weiri_action *act, const int *c) {
    const weiri_actor *me = &r->g->actors.v[ai];
    const weiri_cursor *cur = &r->g->p->cursors.v[act->cur];
    const int mate = r->g->mate[act->cur], closed = cursor_vars(r, me, mate)[C_CLOSE], ahead = c[C_OPEN] - closed;
    weiri_fault *f = NULL;
    if (cur->producer && ahead > cur->stages) {
        if (!(f = weiri_fault_add(r, "PROVE-LOST", act, ai, -1))) return;
        f->text = weiri_arena_fmt(r->a, "'%s' fills %s again before what it has committed there is stored", me->name,
                                  stage_of(r, act->cur, c[C_OPEN] - cur->stride));
        f->hint = "wait, store and release first, or give the pipeline more stages";
    } else if (!cur->producer && ahead > 0) {
        if (!(f = weiri_fault_add(r, "PROVE-RACE", act, ai, -1))) return;
        f->text = weiri_arena_fmt(r->a, "'%s' takes %s, to which it has committed nothing new", me->name,
                                  stage_of(r, act->cur, c[C_OPEN] - cur->stride));
        f->hint = "fill the stage before it is committed";
    } else return;
    f->object = cur->name;
}

/* The task has ended. */
static void spent(weiri_run *r, int ai, const weiri_ins *x) {
    const weiri_actor *me = &r->g->actors.v[ai];
    const int *in = r->v + me->cursors + C_VARS * x->a, *out = r->v + me->cursors + C_VARS * x->b;
    if (in[C_CLOSE] <= out[C_OPEN]) return;
    const int cur = r->g->code.v[me->code].cursor[x->a];
    weiri_fault *f = weiri_fault_add(r, "PROVE-LOST", NULL, ai, -1 - x->a);
    if (!f) return;
    f->text = weiri_arena_fmt(r->a, "what '%s' has committed to %s is never stored", me->name, stage_of(r, cur, out[C_OPEN]));
    f->hint = "wait, store and release first, or give the pipeline more stages";
    f->object = r->g->p->cursors.v[cur].name;
    f->at = r->g->p->cursors.v[cur].res->at.at;
}

/* ---- what an action does ------------------------------------------------------------------------------------------------ */

/* An action that an actor comes to: threads `by`, the row that must know what they rely on, its use of the cursor, stage. */
typedef struct doing {
    int ai;
    const weiri_action *act;
    const weiri_actor *me;
    int by, need, use, stages, stage;
} doing;

/* False: the phase is not over. */
static bool do_wait(weiri_run *r, const doing *d) {
    const weiri_cursor *c = &r->g->p->cursors.v[d->act->cur];
    spot s = spot_of(r, d->me->cta, d->act->bar, d->stage);
    if (wait(r, &s, d->act, d->ai, d->by, lap(d->use, d->stages) - (c->producer ? 1 : 0))) return true;
    r->parked[d->ai] = (weiri_parked){ s.v, s.v[B_PHASE] };
    return false;
}

static void do_arrive(weiri_run *r, const doing *d) {
    const weiri_action *act = d->act;
    int to[64], n = weiri_prog_spots(r->g, d->me->cta, act, to);
    for (int t = 0; t < n && !r->fatal; t++) {
        spot s = spot_of(r, to[t], act->bar, d->stage);
        arrive(r, &s, act, d->ai, d->by, lap(d->use, d->stages), act->arrivals, act->kind == ACT_EXPECT ? act->bytes : 0, true);
        settle(r, &s, act, d->ai);
    }
}

/* What the actor has copied, or multiplied, is over for who waits there. */
static void bring_accesses(weiri_run *r, const doing *d, const spot *s) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < d->me->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[d->me->recs.v[i]];
        if (d->act->kind == ACT_CP_ARRIVE ? q->kind != REC_CP_WRITE : !weiri_is_mma(q->kind)) continue;
        for (int x = 0; x < g->rings.v[q->ring].stages; x++)
            if (has(r, 0, bit_of(g, q->ring, x, q->bit))) set(r, s->gather, bit_of(g, q->ring, x, q->bit));
    }
}

/* An arrival that comes by itself once the accesses before it are done; it brings nothing else. */
static void do_arrive_later(weiri_run *r, const doing *d) {
    const weiri_action *act = d->act;
    const bool commit = act->kind == ACT_UMMA_COMMIT;
    int to[64], n = weiri_prog_spots(r->g, d->me->cta, act, to);
    if (commit) commit_asked(r, d->ai, to, n);
    if (r->replay && commit && act->op) r->last_commit[d->ai] = act;
    for (int t = 0; t < n && !r->fatal; t++) {
        spot s = spot_of(r, to[t], act->bar, d->stage);
        if (weiri_prog_unwatched(r->g, to[t], act->bar)) {
            reach(r, d->ai, d->by, to[t]);
            continue;
        }
        arrive(r, &s, act, d->ai, d->by, lap(d->use, d->stages), act->arrivals, 0, false);
        if (commit) follow(r, d->me, d->need, s.gather), commit_seen(r, d->ai, &s);
        else /* every thread arrives for its copies */
            for (int i = 0; i < d->me->nrows; i++) follow(r, d->me, d->me->row + i, s.gather);
        bring_accesses(r, d, &s);
        settle(r, &s, act, d->ai);
    }
}

/* Does row x of the actor's belong to the threads that act? */
static bool acts(const doing *d, int x) { return d->by == BY_ALL || x == d->me->by[d->by]; }

/* What is known of tensor memory, and fenced by who did it, may be built on now. */
static void do_tc_after(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        for (int s = 0; q->seen && s < g->rings.v[q->ring].stages; s++)
            for (int x = 0; x < d->me->nrows; x++) {
                const int rw = d->me->row + x;
                if (!acts(d, x)) continue;
                bool ready = has(r, rw, bit_of(g, q->ring, s, q->bit)) &&
                             (q->fence_bit < 0 || has(r, rw, bit_of(g, q->ring, s, q->fence_bit)));
                if (ready) set(r, rw, bit_of(g, q->ring, s, q->seen - 1));
            }
    }
}

/* Threads fence what they have done themselves. */
static void fence_own(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    const weiri_actor *me = d->me;
    for (int i = 0; i < me->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[me->recs.v[i]];
        if (q->fence_bit < 0 || (d->act->kind == ACT_TC_BEFORE) != (q->seen > 0) || (d->by != BY_ALL && d->by != q->by)) continue;
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            int own = me->row + me->by[q->by];
            if (has(r, 0, bit_of(g, q->ring, s, q->bit)) && has(r, own, bit_of(g, q->ring, s, q->bit)))
                set(r, own, bit_of(g, q->ring, s, q->fence_bit));
        }
    }
}

/* cp.asyncs fence nothing: who knows that they have landed does. */
static void fence_copies(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[i];
        for (int s = 0; q->kind == REC_CP_WRITE && s < g->rings.v[q->ring].stages; s++)
            for (int x = 0; x < d->me->nrows; x++) {
                const int rw = d->me->row + x;
                if (!acts(d, x)) continue;
                if (has(r, 0, bit_of(g, q->ring, s, q->bit)) && has(r, rw, bit_of(g, q->ring, s, q->bit)))
                    set(r, rw, bit_of(g, q->ring, s, q->fence_bit));
            }
    }
}

static void do_advance(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    const weiri_action *act = d->act;
    int *c = cursor_vars(r, d->me, act->cur);
    c[act->stage == STAGE_CLOSE ? C_CLOSE : C_OPEN] += g->p->cursors.v[act->cur].stride;
    if (act->stage != STAGE_CLOSE && g->mate[act->cur] >= 0) in_turn(r, d->ai, act, c);
}

static void do_warp_sync(weiri_run *r, const weiri_actor *me) {
    if (me->nrows <= 3) meet(r, me);
    else { /* the elected lanes of the warps, together, know all, and what the one thread knows, which is in one of the warps */
        join(r, me->row + me->by[BY_LANE], me->row + me->by[BY_ALL]);
        join(r, me->row + me->by[BY_LANE], me->row + me->by[BY_ONE]);
    }
}

static void do_cluster_arrive(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    int *c = r->v + g->cluster_at;
    actor_vars(r, d->ai)[V_CLUSTER] = 1 + c[1];
    give(r, d->me, BY_ALL, g->cluster_row);
    if (++c[0] != g->actors.n) return;
    hand_over(r, g->cluster_row + 1, g->cluster_row);
    c[0] = 0;
    c[1] ^= 1;
}

/* False: not all of the cluster have arrived. */
static bool do_cluster_wait(weiri_run *r, const doing *d) {
    const weiri_prog *g = r->g;
    int *v = actor_vars(r, d->ai);
    if (v[V_CLUSTER] && r->v[g->cluster_at + 1] == v[V_CLUSTER] - 1) return false;
    if (v[V_CLUSTER]) take(r, d->me, BY_ALL, g->cluster_row + 1);
    v[V_CLUSTER] = 0;
    return true;
}

static void do_init(weiri_run *r, const weiri_actor *me) {
    bit b = bit_of(r->g, 0, 0, r->g->bit_init + me->cta);
    set(r, 0, b);
    set(r, me->row, b);
}

static void do_grid_wait(weiri_run *r, const doing *d) {
    bit b = bit_of(r->g, 0, 0, r->g->bit_wait + d->ai);
    set(r, 0, b);
    set_all(r, d->me, b);
}

static void do_grid_launch(weiri_run *r, const doing *d) {
    weiri_fault *f = after_grid_wait(r, d->need) ? NULL : weiri_fault_add(r, "PROVE-PDL", d->act, d->ai, 0);
    if (!f) return;
    f->text = weiri_arena_fmt(r->a, "'%s' may launch the next kernel before any task has waited for the previous one", d->me->name);
    f->hint = "wait_griddep() before launch_griddep(), in the same task or ordered before it";
}

/* Executes the action; false: it must wait. */
static bool perform(weiri_run *r, int ai, int pc, const weiri_action *act) {
    const weiri_prog *g = r->g;
    const weiri_plan *p = g->p;
    const weiri_actor *me = &g->actors.v[ai];
    if (!weiri_prog_runs(g, me, act)) return true;
    doing d = { .ai = ai, .act = act, .me = me, .by = weiri_prog_by(act) };
    d.need = need_row(me, d.by);
    d.use = use_of(r, me, act->cur, act->stage, act->back);
    d.stages = act->bar >= 0 ? p->bars.v[act->bar].stages : act->cur >= 0 ? p->cursors.v[act->cur].stages : 0;
    d.stage = d.stages ? mod(d.use, d.stages) : 0;
    switch (act->kind) {
    case ACT_WAIT:
        if (!do_wait(r, &d)) return false;
        break;
    case ACT_ARRIVE: case ACT_EXPECT: do_arrive(r, &d); break;
    case ACT_CP_ARRIVE: case ACT_UMMA_COMMIT: do_arrive_later(r, &d); break;
    case ACT_ADVANCE: do_advance(r, &d); return true; /* no event */
    case ACT_LOAD_BULK: case ACT_PUSH_BULK: land(r, ai, pc, act, d.use, d.stage); break;
    case ACT_BODY:
        if (act->bar < 0) effects(r, ai, pc, act);
        else if (me->index == 0 || p->tasks[me->task].lanes)
            land(r, ai, pc, act, d.use, d.stage); /* it brings bytes: one thread issues them */
        break;
    case ACT_STORE_BULK: case ACT_CP_ASYNC: case ACT_TMEM_ALLOC: case ACT_TMEM_FREE: effects(r, ai, pc, act); break;
    case ACT_MMA: effects(r, ai, pc, act); passed_before_mma(r, me, act); break;
    case ACT_MMA_COMMIT: weiri_access_groups(r, me, GROUP_MMA, -1, d.by); passed_before_mma(r, me, act); break;
    case ACT_MMA_WAIT: weiri_access_groups(r, me, GROUP_MMA, act->n, d.by); passed_before_mma(r, me, act); break;
    case ACT_BULK_COMMIT: weiri_access_groups(r, me, GROUP_BULK, -1, d.by); break;
    case ACT_BULK_WAIT: weiri_access_groups(r, me, act->read ? GROUP_BULK_READ : GROUP_BULK, act->n, d.by); break;
    case ACT_CP_WAIT:
        weiri_access_groups(r, me, GROUP_CP, -1, d.by);
        weiri_access_groups(r, me, GROUP_CP, act->n, d.by);
        break;
    case ACT_TC_AFTER: do_tc_after(r, &d); break;
    case ACT_FENCE_ASYNC: case ACT_TC_BEFORE:
        fence_own(r, &d);
        if (act->kind == ACT_FENCE_ASYNC) fence_copies(r, &d);
        break;
    case ACT_WARP_SYNC: do_warp_sync(r, me); break;
    case ACT_NAMED_SYNC: case ACT_CTA_SYNC:
        meet(r, me);
        if (!rendezvous(r, ai, act)) return false;
        break;
    case ACT_CLUSTER_ARRIVE: do_cluster_arrive(r, &d); break;
    case ACT_CLUSTER_WAIT:
        if (!do_cluster_wait(r, &d)) return false;
        break;
    case ACT_INIT: do_init(r, me); break;
    case ACT_GRID_WAIT: do_grid_wait(r, &d); break;
    default: do_grid_launch(r, &d); break; /* ACT_GRID_LAUNCH */
    }
    log_event(r, ai, act, d.use, d.stages);
    return true;
}

/* ---- steps -------------------------------------------------------------------------------------------------------------- */

typedef enum outcome { MOVED, WAITS, ASKS, ENDED } outcome;

static void reset_keys(const weiri_run *r, const weiri_actor *me, const weiri_code *c, int scope) {
    for (int i = 0; i < c->keys.n; i++)
        if (c->keys.v[i].scope == scope) r->v[me->keys + i] = 0;
}

/* An actor at an instruction of its code. */
typedef struct going {
    int ai, pc;
    const weiri_actor *me;
    const weiri_code *c;
    int *v;                      /* the actor's ints */
    const weiri_ins *x;
} going;

static outcome go_to(const going *o, int pc) {
    o->v[V_PC] = pc;
    return MOVED;
}
/* On behind the test, or where it leads when it fails. */
static outcome branch(const going *o, bool on) { return go_to(o, on ? o->pc + 1 : o->x->jump); }

static int *loop_vars(const weiri_run *r, const going *o) { return r->v + loop_at(o->me, o->c, o->x->a); }
static int64_t *iteration(const weiri_run *r, const going *o) { return &r->iter[loop_at(o->me, o->c, o->x->a)]; }

static outcome enter_loop(weiri_run *r, const going *o) {
    int *l = loop_vars(r, o);
    l[L_PART] = l[L_IDX] = 0;
    l[L_SUB] = (int)o->c->loops.v[o->x->a].trips.base;
    if (r->iter) *iteration(r, o) = 0;
    return go_to(o, o->pc + 1);
}

/* Has the loop with variables l `need` iterations more, so many done since they were counted? < 0: that is to be asked. */
static inline int has_more(weiri_run *r, const going *o, const weiri_loop *loop, const int *l, int done, int need, int *want) {
    if (r->launch) return weiri_exact_more(r, o->ai, o->x->a, *iteration(r, o) + done, need);
    return more(r, o->me, loop, l, need, want);
}

static outcome test_loop(weiri_run *r, const going *o, int *want) {
    const weiri_loop *loop = &o->c->loops.v[o->x->a];
    int *l = loop_vars(r, o);
    const int yes = has_more(r, o, loop, l, 0, 1, want);
    if (yes < 0) return ASKS;
    const int ran = !yes && loop->units ? given(r, o->me, loop, l) : l[L_IDX];
    if (r->launch && !yes) memset(l, 0, sizeof(int) * L_VARS);
    else if (!r->launch && yes) next_iteration(r, o->me, loop, l);
    else if (!r->launch) leave_loop(r, o->me, loop, l);
    if (!yes && loop->told) l[L_RAN] = ran;
    if (yes) reset_keys(r, o->me, o->c, o->x->a);
    return branch(o, yes);
}

static outcome end_iteration(weiri_run *r, const going *o) {
    const weiri_loop *loop = &o->c->loops.v[o->x->a];
    int *i = loop_vars(r, o) + L_IDX, period = loop->period ? loop->period : 1;
    if (++*i >= loop->count_to + period) *i -= period;
    if (r->iter) ++*iteration(r, o);
    return go_to(o, o->x->jump);
}

/* What is asked about a tile is asked anew. */
static void forget_tile(const weiri_run *r, const going *o) {
    for (int i = 0; i < r->g->tapes.n; i++)
        if (r->g->tapes.v[i].tile) r->v[o->me->offs + i] = 0;
    reset_keys(r, o->me, o->c, -1);
}

static outcome next_tile(weiri_run *r, const going *o, int *want) {
    const int *stream = r->v + r->g->stream_at, next = o->v[V_TILE] + 1;
    int *v = o->v;
    if (next < stream[0]) {
        const bool own = v[V_TURN] == o->x->a;
        v[V_TILE] = next;
        forget_tile(r, o);
        if (o->c->looks_back && own && v[V_HAD] < 2) v[V_HAD]++;
        v[V_TURN] = (v[V_TURN] + 1) % o->x->b;
        return go_to(o, own ? o->pc + 1 : o->x->skip);
    }
    if (!stream[1]) {
        *want = WEIRI_WANT_TILE;
        return ASKS;
    }
    v[V_TILE] = TILE_DONE;
    v[V_TURN] = 0;
    if (v[V_HAD]) v[V_HAD] = 1; /* how many does not matter any more */
    forget_tile(r, o);
    return go_to(o, o->x->jump);
}

static outcome ask(weiri_run *r, const going *o, int *want) {
    const weiri_prog *g = r->g;
    const weiri_ins *x = o->x;
    const weiri_key *key = &o->c->keys.v[x->a];
    if (r->launch) { /* conditions under one key are equal: as the first of them has it */
        const weiri_tape *k = &g->tapes.v[weiri_prog_tape(g, key->tape, o->me->cta)];
        return branch(o, k->named ? weiri_exact_truth(r, o->ai, weiri_key_condition(k)) == x->b
                                  : weiri_exact_truth(r, o->ai, x->of) == x->is);
    }
    view t = view_of(r, o->me, key->tape);
    int *cached = r->v + o->me->keys + x->a, at = key->constant ? 0 : *t.off;
    if (key->constant || !*cached) {
        if (at >= t.tape[T_LEN]) {
            *want = t.id;
            return ASKS;
        }
        const int truth = (int)(letters(t.tape) >> at & 1);
        if (key->constant) return branch(o, truth == x->b);
        *cached = 1 + truth;
        ++*t.off;
    }
    return branch(o, *cached - 1 == x->b);
}

/* Are so many units unread, or (`from`) so many more than a loop around has run? */
static outcome ask_units(weiri_run *r, const going *o, int *want) {
    const weiri_ins *x = o->x;
    view t = view_of(r, o->me, x->a);
    const int than = x->by + (x->from ? r->v[loop_at(o->me, o->c, x->from - 1) + L_IDX] : 0), over = unread(&t, than, want);
    const int some = x->equal && !over && than > 0 ? unread(&t, than - 1, want) : 1;
    if (over < 0) return ASKS;
    return branch(o, (!over && some) == x->b);
}

static bool ran_so(const weiri_run *r, const going *o) {
    const weiri_ins *x = o->x;
    const int all = loop_vars(r, o)[L_RAN], ran = x->period ? all % x->period : all;
    return (x->equal ? ran == x->by : ran <= x->by) == x->b;
}

static bool every(const weiri_run *r, const going *o) {
    const weiri_ins *x = o->x;
    const int i = (loop_vars(r, o)[L_IDX] - x->from) / x->by;
    return i >= x->phase && (i - x->phase) % x->period == 0;
}

static bool true_there(const weiri_run *r, const going *o) {
    const weiri_ins *x = o->x;
    int i = loop_vars(r, o)[L_IDX];
    if (i >= x->b) i = x->b + (i - x->b) % x->period;
    return x->ctas >> i & 1;
}

static bool own_turn(const weiri_run *r, const going *o) {
    const weiri_ins *x = o->x;
    return loop_vars(r, o)[L_IDX] % x->period == (x->phase < 0 ? o->me->index : x->phase);
}

static bool held(const weiri_run *r, const going *o) {
    const int *k = r->v + o->me->cursors + C_VARS * o->x->a;
    return k[C_OPEN] - k[C_CLOSE] > o->x->b * r->g->p->cursors.v[o->c->cursor[o->x->a]].stride;
}

static outcome step(weiri_run *r, int ai, int *want) {
    const weiri_actor *me = &r->g->actors.v[ai];
    const weiri_code *c = &r->g->code.v[me->code];
    int *v = r->v + me->vars;
    const going o = { ai, v[V_PC], me, c, v, &c->ins.v[v[V_PC]] };
    const weiri_ins *x = o.x;
    if (v[V_STOP]) return WAITS;
    switch (x->op) {
    case IN_ACT: return perform(r, ai, o.pc, x->act) ? go_to(&o, o.pc + 1) : WAITS;
    case IN_LOOP: return enter_loop(r, &o);
    case IN_TEST: return test_loop(r, &o, want);
    case IN_BACK: return end_iteration(r, &o);
    case IN_DEAL: return branch(&o, own_turn(r, &o));
    case IN_TILES: return next_tile(r, &o, want);
    case IN_FIRST: return branch(&o, loop_vars(r, &o)[L_IDX] == x->from);
    case IN_LAST: {
        const int yes = has_more(r, &o, &c->loops.v[x->a], loop_vars(r, &o), 1, x->by, want);
        return yes < 0 ? ASKS : branch(&o, !yes);
    }
    case IN_EVERY: return branch(&o, every(r, &o));
    case IN_TRUTHS: return branch(&o, true_there(r, &o));
    case IN_WHEN: return ask(r, &o, want);
    case IN_RAN: return branch(&o, ran_so(r, &o));
    case IN_UNITS: return ask_units(r, &o, want);
    case IN_CTA: return branch(&o, x->ctas >> me->cta & 1);
    case IN_BEFORE: return branch(&o, v[V_HAD] >= x->a);
    case IN_HELD: return branch(&o, held(r, &o));
    case IN_SPENT: spent(r, ai, x); return go_to(&o, o.pc + 1);
    case IN_JUMP: return go_to(&o, x->jump);
    default: return ENDED; /* IN_END */
    }
}

/* Is the task in a tile of another lane, moving its cursors only? */
static bool skipping(const weiri_code *c, const int *v) { return v[V_PC] >= c->skip_from && v[V_PC] < c->skip_to; }

/* Forgets letters that everybody has read, and tiles that everybody has left. */
static void tidy_tapes(weiri_run *r) {
    const weiri_prog *g = r->g;
    int *stream = r->v + g->stream_at, first = TILE_DONE;
    for (int i = 0; i < g->actors.n; i++) {
        const int *v = actor_vars(r, i);
        if (g->code.v[g->actors.v[i].code].tiles && v[V_TILE] < first) first = v[V_TILE];
    }
    if (first == TILE_DONE) first = stream[0]; /* all have left the tile loop */
    if (first > 0) {
        size_t each = sizeof(int) * T_VARS * (size_t)g->ntile;
        int *t = r->v + g->tile_at, keep = WEIRI_TILES - first;
        if (keep > 0) memmove(t, t + T_VARS * g->ntile * first, each * (size_t)keep);
        for (int i = keep > 0 ? keep : 0; i < WEIRI_TILES; i++) memset(t + T_VARS * g->ntile * i, 0, each);
        stream[0] -= first;
        r->left += first;
        if (g->gmem_ring >= 0) weiri_gmem_leave(r, first);
        for (int i = 0; i < g->actors.n; i++) {
            int *v = actor_vars(r, i);
            if (v[V_TILE] >= 0 && v[V_TILE] < TILE_DONE) v[V_TILE] -= first;
        }
    }
    for (int tape = 0; tape < g->tapes.n; tape++) {
        const weiri_tape *t = &g->tapes.v[tape];
        if (t->kind == TAPE_CONST) continue;
        for (int tile = 0; tile < (t->tile ? stream[0] : 1); tile++) {
            int *x = weiri_run_tape(r, tape, tile), least = x[T_LEN];
            if (!least) continue;
            for (int i = 0; i < g->actors.n; i++) {
                const weiri_actor *me = &g->actors.v[i];
                const int *v = r->v + me->vars;
                if (t->cta >= 0 && t->cta != me->cta) continue;
                const weiri_code *c = &g->code.v[me->code];
                int own = c->tape_end[tape], other = c->skip_end[tape], end = skipping(c, v) ? other : own;
                int off = r->v[me->offs + tape];
                if (t->tile && v[V_TILE] < tile) end = own > other ? own : other; /* whosever tile it is */
                if (!end) continue;
                bool between = c->ins.v[v[V_PC]].op == IN_TILES; /* done with its tile, the next is not known */
                if (!t->tile ? v[V_PC] >= end : v[V_TILE] > tile || (v[V_TILE] == tile && (between || v[V_PC] >= end))) continue;
                if (t->tile && v[V_TILE] < tile) off = 0;
                if (off < least) least = off;
            }
            if (!least) continue;
            x[T_LEN] -= least;
            set_letters(x, letters(x) >> least); /* of WEIRI_LETTERS */
            for (int i = 0; i < g->actors.n; i++) {
                int *off = r->v + g->actors.v[i].offs + tape;
                if (t->tile && actor_vars(r, i)[V_TILE] != tile) continue;
                *off = *off > least ? *off - least : 0;
            }
        }
    }
}

void weiri_run_go(weiri_run *r) {
    const weiri_prog *g = r->g;
    r->nfaults = 0;
    r->stuck = r->done = r->fatal = r->endless = false;
    r->want = WEIRI_WANT_NONE;
    bool moved = true, all = true, skipped = false; /* skipped: who asks skips the tile */
    int least = 0;                                  /* ... and so many answers to it wait to be read */
    long steps = 0, most = r->launch ? WEIRI_EXACT_STEPS : WEIRI_MOST_STEPS;
    for (int i = 0; i < g->actors.n; i++) r->parked[i].at = NULL;
    while (moved && !r->fatal) {
        moved = false;
        all = true;
        r->want = WEIRI_WANT_NONE;
        r->want_tile = TILE_DONE;
        for (int i = 0; i < g->actors.n && !r->fatal; i++) {
            outcome o;
            int want = WEIRI_WANT_NONE;
            if (r->parked[i].at && r->parked[i].at[B_PHASE] == r->parked[i].phase) { /* nothing else lets it go on */
                all = false;
                continue;
            }
            while ((o = step(r, i, &want)) == MOVED && !r->fatal && steps++ < most) moved = true;
            if (steps >= most) r->endless = r->fatal = true;
            all = all && o == ENDED;
            if (o != ASKS) continue;
            /* of several questions, that of whoever is furthest behind */
            int tile = actor_vars(r, i)[V_TILE];
            if (want == WEIRI_WANT_TILE) tile++;
            else if (!g->tapes.v[want].tile) tile = -1;
            /* of one tile, whoever works in it before who only skips it: the answers are the other's steps, and he must not run
             * ahead; then the question of which the fewest answers wait to be read, so that nobody asks on and on where others
             * wait with another */
            const bool skips = skipping(&g->code.v[g->actors.v[i].code], actor_vars(r, i));
            const int unread = want < 0 ? 0 : weiri_run_tape(r, want, tile < 0 ? 0 : tile)[T_LEN];
            if (r->want == WEIRI_WANT_NONE || tile < r->want_tile ||
                (tile == r->want_tile && (skipped != skips ? skipped : unread < least)))
                r->want = want, r->want_tile = tile, skipped = skips, least = unread;
        }
    }
    *g->work += (uint64_t)steps;
    if (r->fatal) return;
    r->done = all;
    int before = r->v[g->stream_at];
    tidy_tapes(r);
    if (r->want >= 0 && g->tapes.v[r->want].tile) r->want_tile -= before - r->v[g->stream_at];
    if (r->done) weiri_run_at_exit(r);
    else if (r->want == WEIRI_WANT_NONE) {
        r->stuck = true;
        weiri_run_stuck(r);
    }
}

static int forced(const weiri_run *r, const weiri_tape *t) {
    return r->force && t->steady ? r->force[t->form] : -1; /* steady: TAPE_TRIPS, which have a form */
}

bool weiri_run_may(const weiri_run *r, int letter) {
    const weiri_prog *g = r->g;
    const int *stream = r->v + g->stream_at;
    if (r->want == WEIRI_WANT_TILE) return letter ? stream[0] < WEIRI_TILES : !g->one_tile;
    const weiri_tape *t = &g->tapes.v[r->want];
    const int *x = weiri_run_tape(r, r->want, r->want_tile);
    if (x[T_LEN] >= WEIRI_LETTERS) return false;
    bool truth;
    if (t->kind == TAPE_KEY && r->force && weiri_key_at(g->p->k, t, x[T_COUNT], &truth)) return truth == (letter != 0);
    if (t->kind != TAPE_TRIPS) return true;
    int force = forced(r, t);
    if (force >= 0) return letter ? x[T_COUNT] < force : x[T_COUNT] == force;
    return letter ? t->most < 0 || x[T_COUNT] < t->most : x[T_COUNT] >= t->least && x[T_COUNT] % t->multiple == 0;
}

bool weiri_run_far(const weiri_run *r) {
    if (r->want == WEIRI_WANT_TILE) return r->v[r->g->stream_at] >= WEIRI_TILES;
    return weiri_run_tape(r, r->want, r->want_tile)[T_LEN] >= WEIRI_LETTERS;
}

void weiri_run_choose(weiri_run *r, int letter) {
    const weiri_prog *g = r->g;
    int *stream = r->v + g->stream_at;
    if (r->want == WEIRI_WANT_TILE) {
        if (letter) stream[0]++;
        stream[1] = !letter || g->one_tile;
        return;
    }
    const weiri_tape *t = &g->tapes.v[r->want];
    int *x = weiri_run_tape(r, r->want, r->want_tile), force = forced(r, t);
    if (letter) set_letters(x, letters(x) | 1ull << x[T_LEN]);
    x[T_LEN]++;
    if (t->kind == TAPE_KEY && r->force) x[T_COUNT]++; /* where all is exact, also how often it was asked */
    if (t->kind != TAPE_TRIPS) return;
    int top = t->least > t->most ? t->least : t->most;
    if (force > top) top = force;
    int more = x[T_COUNT] + 1; /* beyond the bounds only the remainder counts */
    x[T_COUNT] = !letter ? 0 : more >= top + t->multiple ? more - t->multiple : more;
    if (r->replay) x[T_TOTAL] = letter ? x[T_TOTAL] + 1 : 0;
}
