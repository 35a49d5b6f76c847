/* Accesses and the order between them: what each may meet, and how a race reads in a report. */
#include "deal.h"
#include "plan_tc.h"
#include "prove_know.h"

/* ---- faults ------------------------------------------------------------------------------------------------------------- */

/* Order in a report: what certainly fails, then races, then what may happen to a barrier because of them, then the end. */
static int order_of(const char *rule, bool maybe) {
    static const char *const order[] = { "PROVE-TX",   "PROVE-COUNT",  "PROVE-DEADLOCK", "PROVE-ASYNC-READ", "PROVE-PROXY",
                                         "PROVE-RACE", "PROVE-PARITY", "PROVE-PDL",      "PROVE-EXIT",       "PROVE-LOST" };
    int i = 0;
    while (i < 9 && strcmp(order[i], rule)) i++;
    return maybe ? 6 : i; /* of the first two */
}

weiri_fault *weiri_fault_add(weiri_run *r, const char *rule, const weiri_action *act, int ai, int with) {
    static const weiri_fault none = { 0 };
    int task = ai >= 0 ? r->g->actors.v[ai].task : -1, id = act ? act->id : 0;
    for (int i = 0; i < r->nfaults; i++)
        if (r->fault[i].rule == rule && r->fault[i].act == id && r->fault[i].with == with) return NULL;
    if (r->nfaults == (int)(sizeof r->fault / sizeof *r->fault)) return NULL;
    weiri_fault *f = &r->fault[r->nfaults++];
    *f = none;
    f->rule = rule;
    f->act = id;
    f->actor = task;
    f->with = with;
    f->order = order_of(rule, false);
    f->who = ai;
    f->other = -1;
    f->at = weiri_act_at(act);
    return r->replay ? f : NULL;
}

const char *weiri_fault_verb(const weiri_action *a) {
    switch (a->kind) {
    case ACT_MMA: return "the mma";
    case ACT_LOAD_BULK: return "the bulk load";
    case ACT_STORE_BULK: return "the bulk store";
    case ACT_PUSH_BULK: return "the push";
    case ACT_CP_ASYNC: return "the cp.async";
    case ACT_TMEM_ALLOC: return "the allocation of tensor memory";
    case ACT_TMEM_FREE: return "the release of tensor memory";
    default: return "the work";
    }
}

/* The region as the action that accesses it calls it: several may have the bytes of one. */
static const weiri_region *called(const weiri_run *r, const weiri_action *act, const weiri_loc *l) {
    const weiri_plan *p = r->g->p;
    const weiri_effect *e = act->eff;
    while (e->region < 0 || weiri_data_region(p, e->region) != l->region) e++;
    return &p->smem.v[e->region];
}

const char *weiri_fault_object(const weiri_run *r, const weiri_action *act, const weiri_loc *l) {
    return l->region < 0 ? NULL : called(r, act, l)->name;
}

const char *weiri_fault_storage(const weiri_run *r, const weiri_action *act, const weiri_loc *l, int stage) {
    if (l->region < 0) return weiri_arena_fmt(r->a, "register tile '%s'", r->g->p->k->res.v[l->reg]->name);
    const weiri_region *m = called(r, act, l);
    if (m->stages > 1) return weiri_arena_fmt(r->a, "stage %d of '%s'", stage, m->name);
    return weiri_arena_fmt(r->a, m->tmem ? "tensor memory of '%s'" : "'%s'", m->name);
}

void weiri_fault_maybe(weiri_run *r, int before) {
    if (r->nfaults > before) r->fault[before].order = order_of(r->fault[before].rule, true);
}

/* ---- accesses ----------------------------------------------------------------------------------------------------------- */

static bool writes(weiri_rec_kind k) { return k == REC_WRITE || k == REC_MMA_WRITE || k == REC_LOAD || k == REC_CP_WRITE; }
static bool generic(weiri_rec_kind k) { return k == REC_READ || k == REC_WRITE || k == REC_CP_WRITE; }

static int64_t byte_of(const weiri_plan *p, const weiri_loc *l, int stage, int64_t in) {
    const weiri_region *g = &p->smem.v[l->region];
    return g->offset + stage * g->stage_bytes + in;
}

/* Do stage i of x and stage j of y share bytes? */
static bool bytes_meet(const weiri_prog *g, const weiri_loc *x, int i, const weiri_loc *y, int j) {
    return byte_of(g->p, x, i, x->lo) < byte_of(g->p, y, j, y->hi) && byte_of(g->p, y, j, y->lo) < byte_of(g->p, x, i, x->hi);
}

/* By threads of one task: is an element that both access one thread's in both? */
static weiri_owners owners(const weiri_run *r, const weiri_rec *x, const weiri_rec *y) {
    return weiri_deal_owners(r->g->p, x->deal, y->deal, x->actor == y->actor ? 1 : 2);
}

/* Two accesses by threads of one actor: is each behind the other by the order of its own thread's steps? */
static bool in_order(const weiri_run *r, const weiri_rec *x, const weiri_rec *y) {
    const weiri_owners who = owners(r, x, y);
    const int region = r->g->locs.v[y->loc].region;
    if (who != OWNERS_OPEN || region < 0 || r->g->p->smem.v[region].tmem) return who != OWNERS_OTHER;
    return writes(x->kind) && writes(y->kind); /* a share each, says the author */
}

/* By two actors of a task: has each elements of its own? */
static bool beside(const weiri_run *r, const weiri_rec *x, const weiri_rec *y) {
    const weiri_actor *a = &r->g->actors.v[x->actor], *b = &r->g->actors.v[y->actor];
    if (a == b || a->task != b->task || a->cta != b->cta) return false;
    return generic(x->kind) && generic(y->kind) && owners(r, x, y) == OWNERS_SAME;
}

/* Is y, done before x, ordered by other means than events? In-order MMAs, threads that come to their own elements again or fill
 * a stage together, slices of a load, bodies that join their task themselves. */
static bool allied(const weiri_run *r, const weiri_rec *x, int genx, const weiri_rec *y, int geny) {
    const weiri_actor *a = &r->g->actors.v[x->actor], *b = &r->g->actors.v[y->actor];
    const bool lands = y->kind == REC_CP_WRITE; /* when it likes, behind whatever its thread does next */
    const bool plain = generic(x->kind) && generic(y->kind);
    if (x->actor == y->actor) {
        if (plain && !lands && in_order(r, x, y)) return true;
        /* in order, but for an mma that takes as operand what another leaves in tensor memory */
        if (weiri_is_mma(x->kind) && weiri_is_mma(y->kind) && (!x->seen || x->kind == y->kind)) return true;
        if (generic(y->kind) && r->g->locs.v[y->loc].region < 0) return true; /* a thread's own registers, behind wgmma.fence */
    }
    bool same = r->g->locs.v[x->loc].region == r->g->locs.v[y->loc].region;
    if (x->kind == REC_LOAD && y->kind == REC_LOAD && x->pushed && y->pushed) return same && genx == geny;
    if (x->kind == REC_LOAD && y->kind == REC_LOAD) return same && a->cta != b->cta && a->task == b->task && genx == geny;
    if (!plain || a->task != b->task) return false; /* threads come to their own CTA's memory only */
    if (!lands && (x->joins || y->joins)) return true;
    /* a share each, says the author; one's next copy is of all its share */
    return a != b && owners(r, x, y) == OWNERS_OPEN && writes(x->kind) && writes(y->kind) && same && genx == geny;
}

/* Does what was written to that stage still wait for its readers, as far as row `need` knows? Its phase is not over, or is not
 * known to have been waited for by all. The threads of an actor are in order among themselves here too, as they are in
 * allied(). */
static bool unread(const weiri_run *r, int self, int need, const weiri_loc *l, int stage, int gen) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < g->p->pipes.n; i++) {
        const weiri_ppipe *p = &g->p->pipes.v[i];
        if (p->full < 0 || p->region < 0 || weiri_data_region(g->p, p->region) != l->region) continue;
        int stages = g->p->bars.v[p->full].stages;
        bool leaders = weiri_tc_leaders_full(g->p->k, p->type);
        spot s = spot_of(r, leaders ? weiri_prog_leader(g, l->cta) : l->cta, p->full, mod(stage, stages));
        if (gen == GEN_MANY || (gen > 0 && s.v[B_PHASE] <= lap(gen, stages)))
            return true; /* of several, one may be the open phase's */
        for (int a = 0; a < s.b->waiters.n; a++) {
            bit w = spot_bit(r, &s, waiter_bit(s.b, a));
            if (!has(r, 0, w) || (s.b->waiters.v[a].actor != self && !has(r, need, w))) return true;
        }
        if (!s.b->waiters.n) return true;
    }
    return false;
}

typedef enum clash { CLASH_ORDER, CLASH_PROXY, CLASH_UNREAD } clash;

static void race(weiri_run *r, int ai, const weiri_action *act, const weiri_rec *me, int stage, const weiri_rec *other,
                 int ostage, clash how) {
    bool proxy = how == CLASH_PROXY;
    const weiri_prog *g = r->g;
    const weiri_loc *l = &g->locs.v[me->loc];
    const weiri_actor *self = &g->actors.v[ai];
    const char *rule = proxy                                           ? "PROVE-PROXY"
                       : other->kind == REC_MMA_READ && l->region >= 0 ? "PROVE-ASYNC-READ"
                                                                       : "PROVE-RACE";
    const weiri_actor *him = &g->actors.v[other->actor];
    int with = ((him->task * 8 + (int)other->kind) * 4 + other->by) * 1024 + (l->region >= 0 ? l->region : 512 + l->reg);
    weiri_fault *f = weiri_fault_add(r, rule, act, ai, with);
    if (!f) return;
    f->other = other->actor;
    const weiri_action *old = r->rec_act[other->aux + R_VARS * ostage];
    const char *what = weiri_fault_storage(r, act, l, stage), *mine = r->g->actors.v[ai].name, *his = him->name;
    const char *other_what = weiri_fault_storage(r, old, &g->locs.v[other->loc], ostage);
    f->object = weiri_fault_object(r, act, l);
    f->other_at = weiri_act_at(old);
    const char *same = strcmp(what, other_what) ? weiri_arena_fmt(r->a, ", the bytes of %s,", other_what) : "";
    if (proxy && other->seen) { /* tensor memory */
        bool left = other->fence_bit < 0 ||
                    has(r, need_row(&r->g->actors.v[ai], me->by), bit_of(g, other->ring, ostage, other->fence_bit));
        f->text = weiri_arena_fmt(r->a, "%s of '%s' %s %s, which %s of '%s' has %s: no tcgen05.fence::%s",
                                  weiri_fault_verb(act), mine, writes(me->kind) ? "writes" : "reads", what,
                                  weiri_fault_verb(old), his, writes(other->kind) ? "written" : "read",
                                  left ? "after_thread_sync behind the wait" : "before_thread_sync before the hand-over");
        f->hint = left ? "run tcgen05.fence::after_thread_sync between the wait and the access"
                       : "run tcgen05.fence::before_thread_sync between the access and the arrival";
        f->other_what = writes(other->kind) ? "the write" : "the read";
    } else if (generic(me->kind) && generic(other->kind) && other->kind != REC_CP_WRITE && him->task == self->task) {
        const bool wrote = writes(other->kind), one = old == act;
        f->text = weiri_arena_fmt(r->a, "%s of '%s' %s %s%s which %sthreads of '%s' %s%s", weiri_fault_verb(act), mine,
                                  writes(me->kind) ? "writes" : "reads", what, same, other->actor == ai ? "other " : "", his,
                                  wrote ? "have written" : "may still read",
                                  one ? " in the same op" : wrote ? ", and has not met them since" : ": they have not met");
        f->hint = one ? "read it into a reg_tile first, and store that: the threads meet between the two"
                      : "access the same part both times, element for element, or let the threads meet in between: in a move "
                        "of the stage's pipeline, or by task_sync() in a body";
        f->other_what = wrote ? "the write" : "the read";
    } else if (how == CLASH_UNREAD) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' writes %s%s which %s of '%s' has filled and not everybody has read yet",
                                  weiri_fault_verb(act), mine, what, same, weiri_fault_verb(old), his);
        f->hint = "write once those who wait for the stage have released it, or give the two bytes of their own";
        f->other_what = "the data";
    } else if (proxy) {
        const bool wrote = writes(other->kind);
        const char *it = wrote ? "write" : "read";
        f->text = weiri_arena_fmt(r->a,
                                  "%s of '%s' %s %s%s through the async proxy; threads of '%s' %s it with no fence between "
                                  "the %s and its hand-over",
                                  weiri_fault_verb(act), mine, writes(me->kind) ? "overwrites" : "reads", what, wrote ? "" : same,
                                  his, wrote ? "wrote" : "read", it);
        f->hint = weiri_arena_fmt(r->a, "the %s threads must run fence.proxy.async after the %s and before they arrive",
                                  wrote ? "writing" : "reading", it);
        f->other_what = wrote ? "the write" : "the read";
    } else if (other->kind == REC_MMA_READ && l->region < 0) {
        f->text =
            weiri_arena_fmt(r->a, "%s of '%s' touches %s while an mma may still read it", weiri_fault_verb(act), mine, what);
        f->hint = "drain the mma first";
        f->other_what = "the mma";
    } else if (other->kind == REC_MMA_WRITE) {
        f->text =
            weiri_arena_fmt(r->a, "%s of '%s' touches %s while an mma may still add to it", weiri_fault_verb(act), mine, what);
        f->hint = other->seen ? "wait for the stage that the mma commits" : "drain the tile first";
        f->other_what = "the mma";
    } else if (writes(me->kind) && !writes(other->kind)) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' writes %s%s while %s of '%s' may still read it", weiri_fault_verb(act),
                                  mine, what, same, weiri_fault_verb(old), his);
        bool tc = g->p->k->arch >= WEIR_ARCH_SM_100A; /* there a release is a commit */
        f->hint = other->kind == REC_MMA_READ
                      ? (tc ? "release the stage after the mma that reads it" : "drain the mma before the stage is released")
                  : other->kind == REC_BULK_READ ? "wait for the bulk group (read) before the stage is filled again"
                  : other->kind == REC_PUSH_READ
                      ? "acquire the pushed stage again before its source is written: then it has arrived"
                      : "release the stage after the read, and acquire it before the write";
        f->other_what = "the read";
    } else if (!writes(me->kind)) {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' reads %s%s and nothing says that %s of '%s' has finished",
                                  weiri_fault_verb(act), mine, what, *same ? same : ",", weiri_fault_verb(old), his);
        f->hint = "wait for the stage before it is read";
        f->other_what = "the write";
    } else {
        f->text = weiri_arena_fmt(r->a, "%s of '%s' and %s of '%s' both write %s%s in no order", weiri_fault_verb(act), mine,
                                  weiri_fault_verb(old), his, what, same);
        f->hint = "acquire the stage before it is written";
        f->other_what = "the other write";
    }
}

static void forget_record(weiri_run *r, bit *gone, const weiri_rec *q, int stage) {
    forget_with(r, gone, bit_of(r->g, q->ring, stage, q->bit));
    if (q->fence_bit >= 0) forget_with(r, gone, bit_of(r->g, q->ring, stage, q->fence_bit));
    if (q->seen) forget_with(r, gone, bit_of(r->g, q->ring, stage, q->seen - 1));
}

/* Threads `by` of actor ai access what record `ri` stands for, at `stage`, in use `gen` of its cursor. */
void weiri_access(weiri_run *r, int ai, const weiri_action *act, int ri, int stage, int gen) {
    const weiri_prog *g = r->g;
    const weiri_rec *me = &g->recs.v[ri];
    const weiri_loc *l = &g->locs.v[me->loc];
    const weiri_actor *self = &g->actors.v[ai];
    int need = need_row(self, me->by);
    const weiri_rec *lost = NULL; /* the write of what is read, whose bytes have another's data now */
    int lost_stage = 0;
    bit gone = { 0, 0 }; /* of records that this one takes the place of */
    bool filled =
        writes(me->kind) || l->region < 0 || g->p->smem.v[l->region].tmem; /* tensor memory and registers may count as 0 */
    for (int o = 0; o < l->over.n; o++) {
        const weiri_loc *m = &g->locs.v[l->over.v[o]];
        int from = 0, to = g->rings.v[m->ring].stages;
        if (l->region < 0 || (m->region == l->region && l->hi <= g->p->smem.v[l->region].stage_bytes &&
                              m->hi <= g->p->smem.v[l->region].stage_bytes))
            from = stage, to = stage + 1;
        for (int x = 0; x < m->recs.n; x++) {
            const weiri_rec *q = &g->recs.v[m->recs.v[x]];
            if (!writes(me->kind) && !writes(q->kind)) continue;
            for (int s = from; s < to; s++) {
                bit b = bit_of(g, q->ring, s, q->bit);
                bool once = !filled && has(r, 0, bit_of(g, q->ring, s, q->filled)); /* a write, of shared memory */
                if (!has(r, 0, b) && !once) continue;
                if (l->region >= 0 && !bytes_meet(g, l, stage, m, s)) continue;
                filled = filled || once;
                if (!has(r, 0, b) || beside(r, me, q)) continue;
                int *aux = r->v + q->aux + R_VARS * s;
                bool other = l->region >= 0 && m->region != l->region && writes(me->kind) &&
                             writes(q->kind); /* the bytes change hands */
                if (writes(q->kind) && !writes(me->kind) && m->region == l->region && aux[R_OVER]) lost = q, lost_stage = s;
                if (allied(r, me, gen, q, aux[R_GEN])) {
                    if (other) aux[R_OVER] = 1;
                    continue;
                }
                bool tensor = q->seen, fenced = q->fence_bit >= 0 && (tensor || !generic(me->kind));
                bool known = has(r, need, b);
                if (!known) race(r, ai, act, me, stage, q, s, CLASH_ORDER);
                else if (tensor && !has(r, need, bit_of(g, q->ring, s, q->seen - 1)))
                    race(r, ai, act, me, stage, q, s, CLASH_PROXY);
                else if (fenced && !has(r, need, bit_of(g, q->ring, s, q->fence_bit)))
                    race(r, ai, act, me, stage, q, s, CLASH_PROXY);
                else if (other && g->actors.v[q->actor].task != self->task && unread(r, ai, need, m, s, aux[R_GEN]))
                    race(r, ai, act, me, stage, q, s, CLASH_UNREAD);
                else if (other) aux[R_OVER] = 1;
                /* ordered, and covered by this write: whatever it could meet later meets this write too */
                else if (writes(me->kind) && q != me && m->region == l->region && s == stage && l->lo <= m->lo &&
                         m->hi <= l->hi) {
                    forget_record(r, &gone, q, s);
                    aux[R_AGE] = aux[R_GEN] = aux[R_OVER] = 0;
                }
            }
        }
    }
    if (lost) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-RACE", act, ai, 28672 + l->region);
        if (f) {
            const weiri_action *old = r->rec_act[lost->aux + R_VARS * lost_stage];
            f->object = weiri_fault_object(r, act, l);
            f->text = weiri_arena_fmt(
                r->a, "%s of '%s' reads %s, whose bytes have been overwritten through other storage since they were filled",
                weiri_fault_verb(act), self->name, weiri_fault_storage(r, act, l, stage));
            f->hint = "let whoever reads the data release them before the bytes are filled for another use";
            f->other = lost->actor;
            f->other_at = weiri_act_at(old);
            f->other_what = "filled here";
        }
    }
    if (!filled) {
        weiri_fault *f = weiri_fault_add(r, "PROVE-RACE", act, ai, 24576 + l->region);
        if (f) {
            f->object = weiri_fault_object(r, act, l);
            f->text = weiri_arena_fmt(r->a, "%s of '%s' reads %s, which nobody has filled", weiri_fault_verb(act), self->name,
                                      weiri_fault_storage(r, act, l, stage));
            f->hint = "fill the stage before it is committed";
        }
    }
    forget_record(r, &gone, me, stage);
    forget(r, gone);
    bit b = bit_of(g, me->ring, stage, me->bit);
    set(r, 0, b);
    if (me->filled >= 0) set(r, 0, bit_of(g, me->ring, stage, me->filled));
    if (me->fence_bit >= 0) set(r, 0, bit_of(g, me->ring, stage, me->fence_bit));
    if (me->seen) set(r, 0, bit_of(g, me->ring, stage, me->seen - 1));
    int *aux = r->v + me->aux + R_VARS * stage;
    aux[R_AGE] = aux[R_OVER] = 0;
    aux[R_GEN] = me->kind == REC_LOAD || me->kind == REC_WRITE || me->kind == REC_CP_WRITE ? gen : 0;
    if (me->kind == REC_READ || me->kind == REC_WRITE) {
        aux[R_AGE] = COMPLETE;
        set(r, self->row + self->by[me->by], b);
    }
    if (r->replay) r->rec_act[me->aux + R_VARS * stage] = act;
}

/* Asynchronous accesses of the actor grow older by a group, or are found complete. */
void weiri_access_groups(weiri_run *r, const weiri_actor *me, weiri_group_kind kind, int wait, int by) {
    const weiri_prog *g = r->g;
    for (int i = 0; i < me->recs.n; i++) {
        const weiri_rec *q = &g->recs.v[me->recs.v[i]];
        bool bulk = kind == GROUP_BULK || kind == GROUP_BULK_READ;
        if (kind == GROUP_CP ? q->kind != REC_CP_WRITE : bulk ? q->kind != REC_BULK_READ : !weiri_is_mma(q->kind)) continue;
        if (kind == GROUP_BULK_READ && q->place) continue; /* the stage is read, the tensor not yet written */
        if (bulk && by != BY_ALL && by != q->by) continue; /* bulk groups belong to the thread that issued them */
        for (int s = 0; s < g->rings.v[q->ring].stages; s++) {
            bit b = bit_of(g, q->ring, s, q->bit);
            int *age = r->v + q->aux + R_VARS * s + R_AGE;
            if (*age == COMPLETE || !has(r, 0, b)) continue;
            if (wait < 0) {
                if (*age < AGE_MAX) ++*age;
            } else if (*age > wait) {
                *age = COMPLETE;
                if (kind != GROUP_MMA) set(r, me->row + me->by[q->by], b);
                else set_all(r, me, b);
            }
        }
    }
}
