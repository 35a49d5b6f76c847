/* Who arrives on a pipeline's mbarriers, how often, with how many bytes, and the sum their counts come from: of a kernel's
 * resource from the plan, of a pipeline type alone from the rows of the protocol. Everything shown is read; the one thing
 * computed here is the sum, which is held against the barrier's count. */
#include <inttypes.h>
#include <string.h>

#include "lower.h"
#include "plan.h"
#include "plan_tc.h"
#include "print.h"
#include "protocol.h"

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- a kernel's resource ------------------------------------------------------------------------------------------------- */

typedef struct explainer {
    const weiri_plan *p;
    weiri_buf *b;
    int task;          /* in walk: of the action */
    const weir_res *r; /* bare, never a group */
    int pipe;
    bool later;          /* a member behind the first, which has shown the group's moves */
    const char *heading; /* last one written, "" none */
    int last_task;
} explainer;

/* "acquire", "tma_load", ...: what the author wrote. */
static const char *word_of(const weiri_action *a) {
    return a->op->atom == ATOM_NONE ? a->note ? a->note : "" : weiri_atom_name(a->op->atom);
}

/* CTAs from which an action reaches one: CTA 0, where it differs. */
static int ctas_reached(const weiri_plan *p, const weiri_action *a) {
    if (a->cta0 || a->first) return 1; /* each CTA's by CTA 0, or by the first along an axis */
    if (a->at0) return p->cluster;
    int n = 0;
    for (int i = 0; a->reach && i < p->cluster; i++) n += a->reach[i] & 1;
    if (a->reach) return n;
    return a->targets > 0 ? weiri_served(p->k->cluster, a->targets, a->cross != 0) : 1;
}

/* CTAs that the arrivals and bytes of one CTA's barrier come from. */
static int ctas_coming(const weiri_plan *p, const weiri_action *a) {
    if (a->cta0 || a->at0 || !weiri_tc_pair(p->k)) return ctas_reached(p, a);
    int along = a->targets & ~8, served = along > 0 ? weiri_served(p->k->cluster, along, a->cross != 0) : 1;
    return !a->leader && (a->at_leader || a->targets & 8) ? served * p->k->cluster.v : served;
}

/* Executions of the action per use of a stage, in one CTA. */
static int executions(const weiri_plan *p, int task, const weiri_action *a) {
    const weiri_ptask *t = &p->tasks[task];
    return a->who == WHO_ONE || a->twl || t->solo || t->lanes ? 1 : t->actors;
}

static void put_actors(const weiri_ptask *t, const weiri_action *a, int n, weiri_buf *b) {
    if (t->solo || a->who == WHO_ONE) weiri_put(b, "1 thread");
    else weiri_put(b, "%d %s%s%s", n, t->wg_actor ? "warpgroup" : "warp", plural(n), a->twl ? " (the task's first)" : "");
}

/* Whose arrivals: "one thread of each of 2 warpgroups". */
static void put_who(const weiri_ptask *t, const weiri_action *a, int n, weiri_buf *b) {
    const char *unit = t->wg_actor ? "warpgroup" : "warp";
    if (t->solo || a->who == WHO_ONE) weiri_put(b, "one thread");
    else if (a->who == WHO_THREADS) weiri_put(b, "every thread");
    else if (a->who == WHO_LANE_CTAS) weiri_put(b, "lane i of each warp");
    else if (a->who == WHO_WG_CTAS) weiri_put(b, "thread i of each %s", unit);
    else if (a->who == WHO_LANE) weiri_put(b, "one lane of each warp");
    else weiri_put(b, "one thread of each warpgroup");
    if (a->twl) weiri_put(b, " of the first warp");
    else if (n > 1 && a->who != WHO_ONE) weiri_put(b, " (%d %ss)", n, unit);
    if (a->who == WHO_LANE_CTAS || a->who == WHO_WG_CTAS) weiri_put(b, ", for CTA i,");
}

static void put_reach(const weiri_plan *p, const weiri_action *a, weiri_buf *b) {
    int n = a->first ? weiri_served(p->k->cluster, a->targets, false) : ctas_reached(p, a);
    if (a->cta0 && a->targets) weiri_put(b, " of each of %d CTAs, from CTA 0", p->cluster);
    else if (a->at0) weiri_put(b, " of CTA 0");
    else if (a->reach) { /* "CTA 1's at 0, 1" */
        weiri_put(b, ", ");
        for (int i = 0; i < p->cluster; i++) {
            weiri_put(b, "%sCTA %d's in", i ? "; " : "", i);
            for (int to = 0, some = 0; to < p->cluster; to++)
                if (a->reach[i] >> to & 1) weiri_put(b, "%s %d", some++ ? "," : "", to);
        }
    }
    else if (n > 1)
        weiri_put(b, " in %d CTAs (along %s%s%s%s)", n, a->targets & 8 ? "v" : "", a->targets & 1 ? "m" : "",
                  a->cross ? " and " : "", a->targets & 2 ? "n" : "");
    if (a->at_leader) weiri_put(b, n > 1 ? ", of the leader CTA of each pair" : " of the leader CTA (v = 0)");
}

static void put_plain_action(const explainer *e, const weiri_action *a, weiri_buf *b);

/* What one action does, in words; nothing for those that only move cursors or compute. */
static void put_action(const explainer *e, const weiri_action *a, weiri_buf *b) {
    size_t before = b->n;
    put_plain_action(e, a, b);
    if (a->leader && b->n > before) weiri_put(b, ", in leader CTAs only");
}

static void put_plain_action(const explainer *e, const weiri_action *a, weiri_buf *b) {
    const weiri_plan *p = e->p;
    const weiri_ptask *t = &p->tasks[e->task];
    const char *bar = a->bar >= 0 ? p->bars.v[a->bar].name : "";
    int n = executions(p, e->task, a);
    switch (a->kind) {
    case ACT_WAIT:
        put_who(t, a, n, b);
        weiri_put(b, " waits on %s", bar);
        if (p->cursors.v[a->cur].producer) weiri_put(b, "; the first %d pass at once", p->cursors.v[a->cur].stages);
        return;
    case ACT_EXPECT:
        put_who(t, a, n, b);
        weiri_put(b, " arrives on %s and arms %" PRId64 " bytes", bar, a->bytes);
        put_reach(p, a, b);
        return;
    case ACT_ARRIVE:
        put_who(t, a, n, b);
        weiri_put(b, " arrives on %s", bar);
        put_reach(p, a, b);
        return;
    case ACT_CP_ARRIVE: weiri_put(b, "every thread arrives on %s once its cp.asyncs have landed", bar); return;
    case ACT_UMMA_COMMIT:
        weiri_put(b, "tcgen05.commit arrives on %s once the mma is done", bar);
        put_reach(p, a, b);
        return;
    case ACT_TC_AFTER: weiri_put(b, "every thread may touch what was handed over: tcgen05.fence::after_thread_sync"); return;
    case ACT_TC_BEFORE: weiri_put(b, "every thread hands over what it loaded: tcgen05.fence::before_thread_sync"); return;
    case ACT_LOAD_BULK:
        put_who(t, a, n, b);
        weiri_put(b, "%s copies %" PRId64 " bytes, counted on %s", a->first ? " of the first CTA" : "", a->bytes, bar);
        put_reach(p, a, b);
        return;
    case ACT_PUSH_BULK:
        put_who(t, a, n, b);
        weiri_put(b, " copies %" PRId64 " bytes, counted on %s", a->bytes, bar);
        put_reach(p, a, b);
        return;
    case ACT_BODY:
        if (a->bytes > 0) weiri_put(b, "the body brings %" PRId64 " bytes, counted on %s", a->bytes, bar);
        else if (a->op->atom == ATOM_NONE) weiri_put(b, "every thread writes its sums to the stage");
        return;
    case ACT_MMA_WAIT:
        weiri_put(b, "every thread waits until at most %d mma group%s in flight", a->n, a->n == 1 ? " is" : "s are");
        return;
    case ACT_BULK_WAIT:
        put_who(t, a, n, b);
        weiri_put(b, " waits until at most %d of its stores %s", a->n, a->read ? "still read" : "are not done");
        return;
    case ACT_FENCE_ASYNC: weiri_put(b, "every thread fences what it wrote or read for the async proxy"); return;
    case ACT_WARP_SYNC: weiri_put(b, "the warp joins"); return;
    case ACT_NAMED_SYNC: weiri_put(b, "%d threads join at named barrier %d", a->threads, a->named); return;
    default: return;
    }
}

/* Is the action part of a move, or of work that brings bytes, on the resource or on its group? */
static bool concerns(const explainer *e, const weiri_action *a) {
    if (!a->op || (a->op->res != e->r && (e->later || !e->r->group || a->op->res != e->r->group))) return false;
    return a->op->atom == ATOM_NONE || (a->bar >= 0 && a->bytes > 0);
}

static bool visit_each(explainer *e, const weiri_pnode *n, bool (*f)(explainer *, const weiri_action *, void *), void *ud) {
    for (; n; n = n->next)
        if (n->kind == PN_ACTION ? !f(e, n->act, ud) : !visit_each(e, n->first, f, ud)) return false;
    return true;
}

static void every_action(explainer *e, bool (*f)(explainer *, const weiri_action *, void *), void *ud) {
    for (e->task = 0; e->task < e->p->ntasks; e->task++) visit_each(e, e->p->tasks[e->task].root, f, ud);
}

/* The ops that the task's earlier ones do not already show: each move and each kind of work once. */
typedef struct shown {
    const weiri_op *op[64];
    int task[64], n;
} shown;

static bool is_shown(shown *s, const weiri_op *op, int task) {
    for (int i = 0; i < s->n; i++) {
        if (s->op[i] == op) return false; /* another action of an op that is being shown */
        bool same = s->op[i]->stage == op->stage && s->op[i]->atom == op->atom && s->task[i] == task;
        if (same && (op->atom == ATOM_NONE || s->op[i]->work == op->work)) return true;
    }
    if (s->n < 64) s->op[s->n] = op, s->task[s->n++] = task;
    return false;
}

static bool put_line(explainer *e, const weiri_action *a, void *ud) {
    weiri_buf t;
    if (!concerns(e, a) || is_shown(ud, a->op, e->task)) return true;
    weiri_buf_init(&t, e->b->ctx);
    put_action(e, a, &t);
    if (t.n) {
        const char *word = word_of(a), *task = e->p->tasks[e->task].task->name;
        bool again = e->last_task == e->task && !strcmp(e->heading, word);
        weiri_put(e->b, "  %-9s %-12s %s\n", again ? "" : word, again ? "" : task, t.s);
        e->heading = word;
        e->last_task = e->task;
    }
    weiri_buf_free(&t);
    return true;
}

/* ---- sums ---------------------------------------------------------------------------------------------------------------- */

typedef struct sum {
    int bar;
    int64_t arrivals, bytes;
    weiri_buf terms, loads; /* a line each */
    bool lanes;             /* dealt to lanes in turn: one lane's arrivals are a phase's */
    int task;
    bool over; /* in this task, the stage was filled once: what follows fills another */
    struct {
        int task;
        const weir_res *res;
        weiri_act kind;
    } seen[64];
    int nseen;
} sum;

static bool is_seen(sum *s, int task, const weiri_action *a) {
    for (int i = 0; i < s->nseen; i++)
        if (s->seen[i].task == task && s->seen[i].res == a->op->res && s->seen[i].kind == a->kind) return true;
    if (s->nseen == 64) return true;
    s->seen[s->nseen].task = task;
    s->seen[s->nseen].res = a->op->res;
    s->seen[s->nseen++].kind = a->kind;
    return false;
}

static void put_term(weiri_buf *b, int64_t n, const weiri_plan *p, int task, const weiri_action *a) {
    weiri_put(b, "      %7" PRId64 "  %s.%s by %s: ", n, a->op->res->name, word_of(a), p->tasks[task].task->name);
}

/* The arrivals of a task for one member count once, wherever in its schedule they are written; bytes until it arms again. */
static bool add_term(explainer *e, const weiri_action *a, void *ud) {
    sum *s = ud;
    const weiri_ptask *t = &e->p->tasks[e->task];
    if (s->task != e->task) s->task = e->task, s->over = false;
    if (a->bar != s->bar || !a->op) return true;
    int reach = ctas_coming(e->p, a);
    bool brings = a->kind == ACT_LOAD_BULK || a->kind == ACT_PUSH_BULK || (a->kind == ACT_BODY && a->bytes > 0);
    if (brings) {
        if (s->over) return true;
        put_term(&s->loads, a->bytes * reach, e->p, e->task, a);
        weiri_put(&s->loads, "%" PRId64 " bytes", a->bytes);
        if (reach > 1) weiri_put(&s->loads, " x %d CTAs", reach);
        weiri_put(&s->loads, "\n");
        s->bytes += a->bytes * reach;
        return true;
    }
    if (a->kind != ACT_ARRIVE && a->kind != ACT_EXPECT && a->kind != ACT_CP_ARRIVE && a->kind != ACT_UMMA_COMMIT) return true;
    if (is_seen(s, e->task, a)) {
        s->over = s->over || a->kind == ACT_EXPECT;
        return true;
    }
    int n = executions(e->p, e->task, a);
    put_term(&s->terms, (int64_t)n * a->arrivals * reach, e->p, e->task, a);
    put_actors(t, a, n, &s->terms);
    if (a->arrivals > 1)
        weiri_put(&s->terms, " x %d %s", a->arrivals, a->who == WHO_LANE || a->who == WHO_LANE_CTAS ? "warps" : "threads");
    if (reach > 1) weiri_put(&s->terms, " x %d CTAs", reach);
    weiri_put(&s->terms, "\n");
    s->arrivals += (int64_t)n * a->arrivals * reach;
    for (int role = 0; role < 4; role++) s->lanes = s->lanes || a->op->res->pipe.given.interleave[role] > 1;
    s->lanes = s->lanes || (a->cur >= 0 && e->p->cursors.v[a->cur].tile_lanes > 1);
    return true;
}

static void put_bar(explainer *e, int bar) {
    const weiri_bar *x = &e->p->bars.v[bar];
    sum s = { .bar = bar, .task = -1 };
    weiri_buf_init(&s.terms, e->b->ctx);
    weiri_buf_init(&s.loads, e->b->ctx);
    every_action(e, add_term, &s);
    weiri_put(e->b, "  %s, %d stage%s: %d arrival%s a phase", x->name, x->stages, plural(x->stages), x->count,
              plural(x->count));
    if (x->tx) weiri_put(e->b, ", %" PRId64 " bytes", x->tx);
    if (x->sum && *x->sum) weiri_put(e->b, " (%s)", x->sum);
    weiri_put(e->b, "\n%s", s.terms.s ? s.terms.s : "");
    if (s.lanes) weiri_put(e->b, "               of these one lane's in a phase\n");
    else if (s.arrivals != x->count)
        weiri_put(e->b, "               these make %" PRId64 ", the mbarrier counts %d\n", s.arrivals, x->count);
    if (x->tx) weiri_put(e->b, "    bytes\n%s", s.loads.s ? s.loads.s : "");
    if (x->tx && s.bytes != x->tx && !s.lanes)
        weiri_put(e->b, "               these make %" PRId64 ", armed are %" PRId64 "\n", s.bytes, x->tx);
    weiri_buf_free(&s.terms);
    weiri_buf_free(&s.loads);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

static void explain_member(explainer *e, const weir_res *r) {
    e->r = r;
    e->pipe = weiri_pipe_of(e->p, r);
    e->heading = "";
    e->last_task = -1;
    if (e->pipe < 0) {
        weiri_put(e->b, "'%s' has no pipeline in the plan\n", r->name);
        return;
    }
    const weiri_ppipe *pp = &e->p->pipes.v[e->pipe];
    weiri_put(e->b, "pipeline '%s': %s, %d stage%s", r->name, weiri_pipe_type_name(pp->type), pp->stages, plural(pp->stages));
    if (r->group) weiri_put(e->b, ", in %s '%s'", weiri_group_mode_name(r->group->mode), r->group->name);
    weiri_put(e->b, "\n");
    shown s = { .n = 0 };
    every_action(e, put_line, &s);
    if (pp->full < 0) weiri_put(e->b, "  no mbarrier: the threads that fill a stage also give it away\n");
}

static bool bar_of_other(const explainer *e, const weir_res *g, int before, int bar) {
    for (int i = 0; i < before; i++) {
        const weiri_ppipe *pp = &e->p->pipes.v[weiri_pipe_of(e->p, g->members[i])];
        if (pp->full == bar || pp->empty == bar) return true;
    }
    return false;
}

const char *weir_explain(weir_kernel *k, const weir_res *r) {
    weiri_buf *b = &k->text;
    b->n = 0;
    b->oom = false;
    weiri_put_n(b, "", 0);
    const weiri_plan *p = weiri_print_plan(k);
    if (r && r->bare) r = r->bare;
    if (!p) {
        weiri_print_no_plan(k, b);
        return b->oom ? NULL : b->s;
    }
    if (!r || r->k != k) {
        weiri_put(b, "that resource is of another kernel\n");
        return b->oom ? NULL : b->s;
    }
    explainer e = { .p = p, .b = b };
    bool group = r->kind == WEIR_RES_GROUP;
    int n = group ? r->nmembers : 1;
    for (int i = 0; i < n; i++) {
        const weir_res *m = group ? r->members[i] : r;
        e.later = i > 0;
        explain_member(&e, m);
        if (e.pipe < 0) continue;
        const weiri_ppipe *pp = &p->pipes.v[e.pipe];
        if (!group || !bar_of_other(&e, r, i, pp->full))
            if (pp->full >= 0) put_bar(&e, pp->full);
        if (!group || !bar_of_other(&e, r, i, pp->empty))
            if (pp->empty >= 0) put_bar(&e, pp->empty);
    }
    if (p->cluster > 1 && e.pipe >= 0)
        weiri_put(b, "Every CTA of the cluster of %d does the same%s; counts are of one CTA's mbarriers.\n", p->cluster,
                  weiri_tc_pair(k) ? ", but for what leaders do alone" : "");
    return b->oom ? NULL : b->s;
}

/* ---- a pipeline type alone ----------------------------------------------------------------------------------------------- */

static const char *const who_text[] = { "every thread",
                                        "one lane of each warp",
                                        "one thread of each warpgroup",
                                        "thread i of each warpgroup, for CTA i,",
                                        "lane i of each warp, for CTA i,",
                                        "one thread of the task" };

static void put_targets(const weiri_row *r, weir_cluster c, weiri_buf *b) {
    if (r->targets == WEIRI_TO_LEADER) weiri_put(b, " of the leader CTA (v = 0)");
    else if (r->targets == WEIRI_TO_CTA0) weiri_put(b, " of CTA 0");
    else if (r->targets > 0)
        weiri_put(b, " in %d CTAs (along %s%s%s%s%s)", weiri_served(c, r->targets, r->cross), r->targets & 8 ? "v" : "",
                  r->targets & 1 ? "m" : "", r->cross ? " and " : "", r->targets & 2 ? "n" : "", r->targets & 4 ? "k" : "");
    if (r->cta0_only) weiri_put(b, ", in CTA 0 only");
    if (r->leader_only) weiri_put(b, ", in leader CTAs only");
    if (r->twl_only) weiri_put(b, ", first warp of the task only");
}

static void put_rows(const char *op, const weiri_row *r, const weiri_proto *pr, weir_cluster c, weiri_buf *b) {
    static const char *const bars[] = { "", "full", "empty" };
    bool any = false;
    for (; r->kind != ROW_END; r++) {
        const char *who = who_text[r->who], *bar = bars[r->bar];
        weiri_put(b, "  %-8s ", any ? "" : op);
        any = true;
        switch (r->kind) {
        case ROW_WAIT: weiri_put(b, "every thread waits on %s", bar); break;
        case ROW_ARRIVE: weiri_put(b, "%s arrives on %s", who, bar); break;
        case ROW_EXPECT:
            weiri_put(b, "%s arrives on %s and arms ", who, bar);
            if (pr->expect_bytes) weiri_put(b, "%" PRId64 " bytes", pr->expect_bytes);
            else weiri_put(b, "what the copies bring");
            break;
        case ROW_CP_ARRIVE: weiri_put(b, "every thread arrives on %s once its cp.asyncs have landed", bar); break;
        case ROW_UMMA_COMMIT: weiri_put(b, "tcgen05.commit by the issuing thread arrives on %s once the mma is done", bar); break;
        case ROW_TC_AFTER: weiri_put(b, "every thread may touch what was handed over: tcgen05.fence::after_thread_sync"); break;
        case ROW_TC_BEFORE: weiri_put(b, "every thread hands over what it loaded: tcgen05.fence::before_thread_sync"); break;
        case ROW_FENCE_ASYNC: weiri_put(b, "every thread fences what it wrote or read for the async proxy"); break;
        case ROW_WARP_SYNC: weiri_put(b, "the warp joins"); break;
        case ROW_WG_SYNC: weiri_put(b, "the warpgroup joins at its named barrier"); break;
        case ROW_BULK_WAIT: weiri_put(b, "%s waits until its stores have read the stage", who); break;
        case ROW_MMA_DRAIN: weiri_put(b, "every thread waits until the mma is done"); break;
        case ROW_SPILL: weiri_put(b, "every thread writes its sums to the stage"); break;
        default: break;
        }
        put_targets(r, c, b);
        weiri_put(b, "\n");
    }
    if (!any) weiri_put(b, "  %-8s nothing\n", op);
}

static weiri_pside side(int warps, bool groups) {
    return (weiri_pside){
        .tasks = 1, .warps = warps, .warpgroups = groups && warps % 4 == 0 ? warps / 4 : 0, .max_warps_of_a_task = warps
    };
}

size_t weir_explain_pipeline(weir_ctx *ctx, const weir_explain_desc *desc, char *out, size_t size) {
    weiri_proto_in in = { .given = desc->pipeline, .arch = desc->arch ? desc->arch : WEIR_ARCH_SM_90A, .tx = desc->bytes };
    const weir_cluster c = { desc->cluster.v > 0 ? desc->cluster.v : 1, desc->cluster.m > 0 ? desc->cluster.m : 1,
                             desc->cluster.n > 0 ? desc->cluster.n : 1, desc->cluster.k > 0 ? desc->cluster.k : 1 };
    const weir_pipe_type t = desc->pipeline.type;
    /* an mma is a warpgroup's on sm_90a, a warp's on sm_100a */
    const int mma = in.arch >= WEIR_ARCH_SM_100A ? 1 : 4;
    const bool fills = weiri_filled_by_mma(t), reads = weiri_read_by_mma(t);
    const int producers = desc->producer_warps > 0 ? desc->producer_warps : fills ? mma : 1;
    const int consumers = desc->consumer_warps > 0 ? desc->consumer_warps : reads ? mma : 4;
    in.cluster = c;
    in.producer = side(producers, fills);
    in.consumer = side(consumers, reads || desc->mma_reads);
    in.consumer.only_mma_reads = in.consumer.async_reads = reads || desc->mma_reads;
    in.fence_release = !in.consumer.only_mma_reads && weiri_filled_by_tma(t);
    in.serve = (desc->multicast & 1 && c.m > 1 ? 1 : 0) | (desc->multicast & 2 && c.n > 1 ? 2 : 0);
    weiri_proto pr;
    weiri_protocol(&in, &pr);
    weiri_buf b;
    weiri_buf_init(&b, ctx);
    weiri_put(&b, "%s, %d stage%s, sm_%d%s, cluster { v = %d, m = %d, n = %d, k = %d }; %d warp%s fill, %d warp%s empty\n",
              weiri_pipe_type_name(t), desc->pipeline.stages, plural(desc->pipeline.stages), (int)in.arch,
              in.arch >= WEIR_ARCH_SM_90A ? "a" : "", c.v, c.m, c.n, c.k, producers, plural(producers), consumers,
              plural(consumers));
    const bool exists = pr.acquire[0].kind != ROW_END; /* on this architecture */
    if (exists) {
        put_rows("acquire", pr.acquire, &pr, c, &b);
        put_rows("commit", pr.commit, &pr, c, &b);
        put_rows("wait", pr.wait, &pr, c, &b);
        put_rows("release", pr.release, &pr, c, &b);
    }
    if (pr.has_full) weiri_put(&b, "  full     counts %d a phase: %s", pr.full_count, pr.full_sum);
    if (pr.has_full && pr.full_tx) weiri_put(&b, "; %" PRId64 " bytes", pr.full_tx);
    if (pr.has_full) weiri_put(&b, "\n");
    if (pr.has_empty) weiri_put(&b, "  empty    counts %d a phase: %s\n", pr.empty_count, pr.empty_sum);
    if (exists && !pr.has_full) weiri_put(&b, "  no mbarrier: the threads that fill a stage also give it away\n");
    for (int i = 0; i < pr.nfaults; i++) weiri_put(&b, "  fault    %s [%s]\n", pr.fault[i].text, pr.fault[i].rule);
    size_t n = b.n;
    if (out && size) {
        size_t k = n < size ? n : size - 1;
        if (k) memcpy(out, b.s, k);
        out[k] = 0;
    }
    weiri_buf_free(&b);
    return n;
}
