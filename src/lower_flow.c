/* What flows along a task: the groups in flight, which give the numbers of wgmma.wait_group and cp.async.bulk.wait_group, and
 * whether a register tile holds sums. */
#include "lowering.h"

#include <string.h>

#include "plan_tc.h"

/* ---- numbers of wait_group -------------------------------------------------------------------------------------------------- */

/* The groups that may be open, newest first, for one way through the program. */
#define QMAX 12
#define AHEAD 8
typedef struct queue {
    int n;
    bool cut;
    uint16_t ahead[AHEAD]; /* stages without barriers that are acquired and not yet waited for, by the pipe's place */
    struct {
        int16_t tag, use;
        uint16_t age;
    } e[QMAX];
} queue;
#define QSET 48
typedef struct qset {
    queue v[QSET];
    int n, back; /* of the bulk store before its commit: how many stages ago it was opened */
    bool full;
} qset;

static bool same_queue(const queue *a, const queue *b) {
    if (a->n != b->n || a->cut != b->cut || memcmp(a->ahead, b->ahead, sizeof a->ahead)) return false;
    for (int i = 0; i < a->n; i++)
        if (a->e[i].tag != b->e[i].tag || a->e[i].use != b->e[i].use || a->e[i].age != b->e[i].age) return false;
    return true;
}

static bool join_queue(qset *s, const queue *q) {
    for (int i = 0; i < s->n; i++)
        if (same_queue(&s->v[i], q)) return false;
    if (s->n == QSET) { /* waits then fall back to 0, which is always right; once, for those before it in a loop to know */
        const bool first = !s->full;
        s->full = true;
        return first;
    }
    s->v[s->n++] = *q;
    return true;
}

static void tidy(qset *s) {
    qset out = { .n = 0, .full = s->full, .back = s->back };
    for (int i = 0; i < s->n; i++) join_queue(&out, &s->v[i]);
    *s = out;
}

static void push_group(queue *q, int tag, int use, int age) {
    if (q->n == QMAX) q->n--, q->cut = true;
    memmove(&q->e[1], &q->e[0], sizeof q->e[0] * (size_t)q->n);
    q->e[0].tag = (int16_t)tag;
    q->e[0].use = (int16_t)use;
    q->e[0].age = (uint16_t)age;
    q->n++;
}

/* How many groups may stay open, at most `most`, so that of those with this tag and age none but the newest `keep` does, whatever the way
 * here. */
static int fewest(const qset *s, int most, int tag, int age, int keep) {
    for (int i = 0; i < s->n; i++) {
        const queue *q = &s->v[i];
        int left = keep, at = -1;
        for (int j = 0; j < q->n && at < 0; j++)
            if (q->e[j].tag == tag && q->e[j].age >= age && left-- == 0) at = j;
        if (at < 0 && q->cut) at = q->n;
        if (at >= 0 && at < most) most = at;
    }
    return s->full ? 0 : most;
}

/* A wait is over: n groups are open at most. */
static void leave(qset *s, int n) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i].n > n) s->v[i].n = n, s->v[i].cut = false;
    tidy(s);
}

static void in_flight_fault(lowering *l, const weiri_action *a, const qset *s) {
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->v[i].n; j++) {
            bool sums = s->v[i].e[j].tag == a->reg, operand = s->v[i].e[j].use == a->reg && a->op->atom != ATOM_READ;
            if (!sums && !operand) continue;
            const weir_res *r = l->k->res.v[a->reg];
            for (int f = 0; f < l->p->findings.list.n; f++) /* once a line */
                if (!strcmp(l->p->findings.list.v[f].rule, "PLAN-DRAIN") && l->p->findings.list.v[f].objects[0] == r->name &&
                    a->op->at.n && l->p->findings.list.v[f].line == a->op->at.at[0].line)
                    return;
            weir_finding *f = weiri_find(&l->p->findings, "PLAN-DRAIN", weiri_place_of(&a->op->at),
                                         "%s '%s' while an mma %s it may be in flight",
                                         a->op->atom == ATOM_READ   ? "reads"
                                         : a->op->atom == ATOM_ZERO ? "zeroes"
                                                                    : "sets",
                                         r->name, sums ? "into" : "that reads");
            f->objects[0] = r->name;
            f->hint = sums ? weiri_arena_fmt(&l->p->a, "call %s:drain() before", r->name)
                           : "drain the tile that the mma adds to before";
            return;
        }
}

static void mma_step(lw_ways *w, const void *leaf, void *state) {
    lowering *l = w->l;
    qset *s = state;
    weiri_action *a = ((const weiri_pnode *)leaf)->act;
    if (a->kind == ACT_MMA_COMMIT) {
        int use = -1;
        for (int i = 0; i < a->op->nargs; i++) {
            const weiri_value *x = weiri_val(l->k, a->op->arg[i]);
            if (x->op == WEIR_OP_READ_REG) use = x->res->index;
        }
        for (int i = 0; i < s->n; i++) push_group(&s->v[i], a->reg, use, 0);
        tidy(s);
    } else if (a->kind == ACT_MMA_WAIT && a->op->atom == ATOM_NONE) { /* a commit or release that drains all */
        for (int i = 0; i < s->n; i++) {
            if (s->v[i].n || s->full) a->n = 0; /* what is cut is not empty */
            s->v[i].n = 0, s->v[i].cut = false;
        }
        tidy(s);
    } else if (a->kind == ACT_MMA_WAIT) {
        a->n = fewest(s, a->n, a->reg, 0, a->op->keep);
        leave(s, a->n);
    } else if (a->reg >= 0 && (a->op->atom == ATOM_READ || a->op->atom == ATOM_SET || a->op->atom == ATOM_ZERO)) {
        in_flight_fault(l, a, s);
    }
}

/* Opens since the use that a release gives back, at least. */
static int oldest_held(const lowering *l, const weiri_op *op) {
    int least = op->keep > 0 ? op->keep : 0;
    for (int h = 1; h < 63; h++)
        if (l->held_in[op->id] >> h & 1) return h - 1 > least ? h - 1 : least;
    return least;
}

/* The place of a pipe without barriers among those; AHEAD or more: it is not followed. */
static int place_of_pipe(const weiri_plan *p, int pipe) {
    int n = 0;
    for (int i = 0; i < pipe; i++) n += p->pipes.v[i].full < 0;
    return n;
}

static void bulk_step(lw_ways *w, const void *leaf, void *state) {
    lowering *l = w->l;
    qset *s = state;
    weiri_action *a = ((const weiri_pnode *)leaf)->act;
    const weiri_plan *p = l->p;
    const int pipe = a->kind == ACT_ADVANCE ? p->cursors.v[a->cur].pipe : a->pipe;
    const bool counted = pipe >= 0 && p->pipes.v[pipe].full < 0; /* uses are counted by the acquires, else by the waits */
    const int stages = pipe >= 0 ? p->pipes.v[pipe].stages : 0, at = counted ? place_of_pipe(p, pipe) : AHEAD;
    if (a->kind == ACT_STORE_BULK) s->back = a->back;
    if (a->kind == ACT_BULK_COMMIT) { /* what it reads was opened so many opens ago */
        for (int i = 0; i < s->n; i++)
            push_group(&s->v[i], a->pipe, -1, s->back + (at < AHEAD ? s->v[i].ahead[at] : counted ? stages : 0));
        tidy(s);
    } else if (a->kind == ACT_ADVANCE && a->stage == STAGE_NEXT) {
        const bool producer = p->cursors.v[a->cur].producer;
        for (int i = 0; i < s->n; i++) {
            for (int j = 0; producer == counted && j < s->v[i].n; j++)
                if (s->v[i].e[j].tag == pipe && s->v[i].e[j].age < stages) s->v[i].e[j].age++; /* nobody asks for more */
            if (at < AHEAD && producer && s->v[i].ahead[at] < stages) s->v[i].ahead[at]++;
            else if (at < AHEAD && !producer && s->v[i].ahead[at]) s->v[i].ahead[at]--;
        }
        tidy(s);
    } else if (a->kind == ACT_BULK_WAIT) {
        if (a->read) {
            /* an acquire: the store of the use `stages` ago has read its stage; a release: that of the oldest held use */
            int old = a->stage == STAGE_CLOSE ? oldest_held(l, a->op) : l->p->pipes.v[a->pipe].stages - 1;
            a->n = fewest(s, a->n, a->pipe, old, 0);
        }
        leave(s, a->n);
    }
}

static bool join_queues(lw_ways *w, void *a, const void *b) {
    (void)w;
    qset *s = a;
    const qset *from = b;
    bool grew = false;
    for (int i = 0; i < from->n; i++) grew = join_queue(s, &from->v[i]) || grew;
    grew = grew || (from->full && !s->full);
    s->full = s->full || from->full;
    return grew;
}

/* Waits for which nothing can be open keep a number that never blocks. */
static void settle_waits(weiri_pnode *n) {
    for (; n; n = n->next) {
        if (n->kind == PN_ACTION) {
            if ((n->act->kind == ACT_MMA_WAIT || n->act->kind == ACT_BULK_WAIT) && n->act->n > 7) n->act->n = 7;
        } else {
            settle_waits(n->first);
        }
    }
}

/* What would wait for nothing is taken out: drains of commits and releases with no mma in flight, and fences behind a wait when
 * another wait with its own follows at once. */
static void elide(weiri_pnode *parent, weiri_pnode **first) {
    for (weiri_pnode **at = first; *at;) {
        weiri_pnode *n = *at;
        if (n->kind != PN_ACTION) {
            elide(n, &n->first);
        } else {
            bool idle = n->act->kind == ACT_MMA_WAIT && n->act->n < 0;
            const weiri_pnode *m = n->next;
            while (n->act->kind == ACT_TC_AFTER && m && m->kind == PN_ACTION &&
                   (m->act->kind == ACT_WAIT || m->act->kind == ACT_ADVANCE))
                m = m->next;
            if (idle || (m != n->next && m && m->kind == PN_ACTION && m->act->kind == ACT_TC_AFTER)) {
                *at = n->next;
                continue;
            }
        }
        parent->last = n;
        at = &n->next;
    }
}

/* ---- fresh and live register tiles ------------------------------------------------------------------------------------------ */

/* Tensor memory cannot be cleared but by an mma: a stage is committed with sums of this use only. */
static void tensor_commit(lowering *l, const weiri_action *a, uint8_t *s) {
    const weir_res *g = a->op->res;
    for (int i = 0; i < (g->kind == WEIR_RES_GROUP ? g->nmembers : 1); i++) {
        const weir_res *r = g->kind == WEIR_RES_GROUP ? g->members[i] : l->k->res.v[a->reg];
        if (r->kind == WEIR_RES_TMEM && (s[r->index] & 3)) { /* bodies of the author's own see to it themselves */
            weir_finding *f =
                weiri_find(&l->p->findings, "PLAN-ZERO", weiri_place_of(&a->op->at),
                           "commits '%s' where no mma may have followed %s: tensor memory would still hold old sums", r->name,
                           s[r->index] & 2 ? "zero()" : "the acquire");
            f->objects[0] = r->name;
            f->hint = s[r->index] & 2 ? "let its loop run at least once: k:dim(name, { min = 1 })"
                                      : "zero it, and add to it, between acquire and commit";
        }
        s[r->index] = 1;
    }
}

static bool join_states(lw_ways *w, void *a, const void *b) {
    uint8_t *s = a;
    const uint8_t *from = b;
    bool grew = false;
    for (size_t i = 0; i < w->size; i++)
        if ((s[i] | from[i]) != s[i]) s[i] |= from[i], grew = true;
    return grew;
}

/* state by tile: bit 0 never written, bit 1 zero() pending, bit 2 holds sums */
static void fresh_step(lw_ways *w, const void *leaf, void *state) {
    lowering *l = w->l;
    uint8_t *s = state;
    weiri_action *a = ((const weiri_pnode *)leaf)->act;
    if (a->reg < 0) return;
    if (a->kind == ACT_UMMA_COMMIT) {
        tensor_commit(l, a, s);
        return;
    }
    bool spill = a->kind == ACT_BODY && a->op->atom == ATOM_NONE; /* a commit that leaves the sums in the stage */
    bool reads_it = a->op->atom == ATOM_READ || spill;
    if (a->kind == ACT_ZERO)
        s[a->reg] = l->k->res.v[a->reg]->kind == WEIR_RES_REG ? 4 : 2; /* a reg_tile is zeroed on the spot */
    else if (a->op->atom == ATOM_SET) s[a->reg] = 4;
    else if (a->kind == ACT_MMA || reads_it) {
        a->fresh |= s[a->reg] >> 1;
        if (s[a->reg] & 1) {
            const weir_res *r = l->k->res.v[a->reg];
            bool said = false;
            for (int f = 0; f < l->p->findings.list.n; f++)
                if (!strcmp(l->p->findings.list.v[f].rule, "PLAN-ZERO") &&
                    l->p->findings.list.v[f].objects[0] == r->name)
                    said = true;
            if (!said) {
                weir_finding *f = weiri_find(&l->p->findings, "PLAN-ZERO", weiri_place_of(&a->op->at),
                                             "%s '%s', which may never have been zeroed or set",
                                             reads_it ? "reads" : "adds to", r->name);
                f->objects[0] = r->name;
                f->hint = weiri_arena_fmt(&l->p->a, "call %s:zero() or %s:set(...) before", r->name, r->name);
            }
        }
        if (a->kind == ACT_MMA) s[a->reg] = 4;
        if (spill) s[a->reg] = 1;
    }
}

/* Who adds to a register tile. */
typedef struct adders {
    int reg;
    const weiri_node *loop;
    bool others;
} adders;

static bool alike(const weir_kernel *k, uint32_t x) {
    static const weir_op by_tile[] = { WEIR_OP_COORD, WEIR_OP_BEFORE, WEIR_OP_QUEUE_INDEX, WEIR_OP_INDEX,
                                       WEIR_OP_LOAD,  WEIR_OP_RETURN, WEIR_OP_READ_REG };
    for (size_t i = 0; i < sizeof by_tile / sizeof *by_tile; i++)
        if (weiri_value_uses(k, x, by_tile[i])) return false;
    return true;
}

static void find_adders(const weir_kernel *k, const weiri_pnode *n, const weiri_node *loop, bool within, adders *out) {
    for (; n; n = n->next) {
        const weiri_action *a = n->act;
        if (n->kind == PN_ACTION && a->reg == out->reg && a->kind == ACT_ZERO) out->others = out->others || loop || within;
        if (n->kind == PN_ACTION && a->reg == out->reg && a->kind == ACT_MMA) {
            if (!out->loop) out->loop = loop;
            if (within || !loop || loop != out->loop) out->others = true;
        }
        if (n->kind == PN_ACTION && a->reg == out->reg && (a->op->atom == ATOM_SET || a->op->atom == ATOM_NONE)) out->others = true;
        if (n->kind == PN_ACTION || n->kind == PN_HELD) continue;
        bool tiles = n->kind == PN_TILES, first = n->kind == PN_LOOP && !loop;
        find_adders(k, n->first, first ? n->src : loop, within || !(tiles || first), out);
    }
}

/* Reads that asked whether the loop ran take the registers as they are. */
static bool settle_reads(weiri_pnode *n, int reg) {
    bool any = false;
    for (; n; n = n->next) {
        weiri_action *a = n->act;
        if (n->kind == PN_ACTION && a->reg == reg && a->op->atom == ATOM_READ && a->fresh == 3)
            a->fresh = 2, any = true;
        else if (n->kind != PN_ACTION && n->kind != PN_HELD && settle_reads(n->first, reg)) any = true;
    }
    return any;
}

/* Where one loop adds to a tile, and is as long in every tile of work, it adds always or never: registers that begin as 0 hold
 * the sum behind it either way, and nobody needs to look whether it ran (1 % of a GEMM of 16 k-steps, measured). */
static void zero_once(lowering *l, weiri_pnode *root, weiri_preg *r) {
    adders by = { .reg = r->res->index };
    if (r->res->kind == WEIR_RES_REG) return;
    find_adders(l->k, root, NULL, false, &by);
    if (!by.loop || by.others) return;
    if (!alike(l->k, by.loop->start) || !alike(l->k, by.loop->stop) || !alike(l->k, by.loop->step)) return;
    r->zeroed = settle_reads(root, by.reg);
}

void lw_flow(lowering *l, weiri_pnode *root) {
    qset s = { .n = 1 };
    lw_ways w = { .l = l, .plan = true, .size = sizeof s, .step = mma_step, .join = join_queues };
    lw_walk_ways(&w, root->first, &s);
    s = (qset){ .n = 1 };
    w.step = bulk_step;
    lw_walk_ways(&w, root->first, &s);
    elide(root, &root->first);
    settle_waits(root->first);
    uint8_t *state = WEIRI_NEW_N(&l->p->a, uint8_t, l->k->res.n + 1);
    memset(state, 1, (size_t)l->k->res.n);
    lw_walk_ways(&(lw_ways){ .l = l, .plan = true, .skip_held = true, .size = (size_t)l->k->res.n,
                             .step = fresh_step, .join = join_states },
                 root->first, state);
    for (int r = 0; r < l->p->regs.n; r++)
        if (l->p->regs.v[r].task == l->task) zero_once(l, root->first, &l->p->regs.v[r]);
}
