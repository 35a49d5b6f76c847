/* Pipelines: what the tasks say of each (who fills it and by what, who reads it, what the copies bring) goes to protocol.c, which
 * answers with counts, rows of barrier actions and faults; what can be built is a row of pipes[]. */
#include <string.h>

#include "plan_push.h"
#include "plan_tc.h"
#include "planning.h"

/* ---- who reads a stage --------------------------------------------------------------------------------------------------- */

enum {
    READ_MMA = 1,     /* wgmma, tcgen05.mma */
    READ_BULK = 2,    /* bulk stores and pushes */
    READ_THREADS = 4, /* plain loads */
    READ_ASYNC = 8,   /* a body of r's that says so */
    READ_BODY = 16,   /* a body that takes the stage, and says so */
};

/* How one task does. */
static int reads_by(const weir_kernel *k, const weiri_task *t, const weir_res *r) {
    int by = 0;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        const weiri_op *op = n->op;
        const bool says = op->work && op->work->async_read, own = op->atom == ATOM_CUSTOM && op->res == r;
        const int plain = says ? READ_BODY : READ_THREADS;
        if (own && says) by |= READ_ASYNC;
        if (own && op->work->side == WEIR_SIDE_CONSUMER && !op->work->aux) by |= plain;
        for (int i = 0; i < op->nargs; i++) {
            weiri_view v; /* a view that is loaded inside arithmetic has an op of its own */
            if (!weiri_view_of(k, op->arg[i], &v) || v.res != r || v.op != WEIR_OP_VIEW_READ) continue;
            const bool bulk = op->atom == ATOM_TMA_STORE || op->atom == ATOM_TMA_REDUCE_ADD || op->atom == ATOM_PUSH;
            by |= op->atom == ATOM_MMA ? READ_MMA : bulk ? READ_BULK : plain;
        }
    }
    return by;
}

static int readers(const weir_kernel *k, const weir_res *r) {
    int by = 0;
    for (int t = 0; t < k->tasks.n; t++) by |= reads_by(k, k->tasks.v[t], r);
    return by;
}

/* Is every read by a wgmma? (Only then may one thread of a warpgroup release for all.) */
static bool only_mma_reads(int by) { return by & READ_MMA && !(by & (READ_BULK | READ_THREADS | READ_BODY)); }

static bool async_reads(int by) { return by & (READ_MMA | READ_BULK | READ_ASYNC); }

static const weir_res *storage_of(const weir_res *r) {
    while (r->storage) r = r->storage;
    return r;
}

/* Does TMA fill the bytes of r again: as r's own, as another's with the same storage, or as those of a mate in an alias group? */
static bool tma_refills(const weir_kernel *k, const weir_res *r) {
    int phase;
    if (weiri_filled_by_tma(r->pipe.given.type)) return true; /* whatever it is: a body may bring the bytes */
    const int alias = weiri_alias_of(k, storage_of(r), &phase);
    for (int i = 0; i < k->res.n; i++) {
        const weir_res *m = k->res.v[i];
        if (!weiri_in_smem(m) || !weiri_filled_by_tma(m->pipe.given.type)) continue;
        if (storage_of(m) == storage_of(r) || (alias >= 0 && weiri_alias_of(k, storage_of(m), &phase) == alias)) return true;
    }
    return false;
}

/* Does a task that closes a stage of r with `stage` hand on, by that, what it has read by plain loads of a stage that others give
 * back? */
static bool relays(const weir_kernel *k, const weir_res *r, weiri_stage stage) {
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_task *t = k->tasks.v[ti];
        if (!pl_closes(t, r, stage)) continue;
        for (int i = 0; i < k->res.n; i++) {
            const weir_res *m = k->res.v[i];
            if (!weiri_in_smem(m) || pl_closes(t, m, STAGE_CONS_RELEASE) || !(reads_by(k, t, m) & READ_THREADS)) continue;
            if (tma_refills(k, m)) return true;
        }
    }
    return false;
}

/* ---- who fills it -------------------------------------------------------------------------------------------------------- */

/* Axes along which loads of a resource reach other CTAs: bits 1 m, 2 n. */
typedef struct served {
    int axes;   /* multicast in slices */
    bool cross; /* as separate loads, one along m and one along n */
    int first;  /* of loads that one CTA issues for all: bits 1 m, 2 n, 4 both */
} served;

static served served_by(const weir_kernel *k, const weir_res *r) {
    served s = { 0 };
    for (int ti = 0; ti < k->tasks.n; ti++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[ti]->root, n));) {
            if (n->op->atom != ATOM_TMA_LOAD || n->op->res != r) continue;
            int mc = n->op->multicast;
            if (n->op->issue_first) {
                if (k->cluster.m == 1) mc &= ~1;
                if (k->cluster.n == 1) mc &= ~2;
                s.first |= mc == 3 ? 4 : mc;
            } else if (mc == WEIR_MULTICAST_MN) s.axes |= 3;
            else if (mc && s.axes && (s.axes & mc) != mc) s.axes |= mc, s.cross = true;
            else s.axes |= mc;
        }
    if (k->cluster.m == 1) s.axes &= ~1;
    if (k->cluster.n == 1) s.axes &= ~2;
    if (s.axes != 3) s.cross = false;
    return s;
}

/* One load along m beside another along n: the union of row and column, unless a load serves their whole product. */
static void also_serves(weiri_proto_in *in, served s) {
    const bool whole = (s.axes == 3 && !s.cross) || (in->serve == 3 && !in->serve_cross);
    in->serve |= s.axes;
    in->serve_cross = in->serve == 3 && !whole;
    in->first |= s.first;
}

static int64_t bytes_of(const weiri_op *op) {
    switch (op->atom) {
    case ATOM_TMA_LOAD: return weiri_tile_bytes(op->res);
    case ATOM_CUSTOM: return op->work->tx_bytes;
    case ATOM_QUEUE_FETCH: return 16;
    default: return 0;
    }
}

/* Bytes that the copies bring to one CTA per stage of r: what it must arm. Tasks fill a stage together, unless they are lanes that
 * fill stages in turn. */
static int64_t landed_bytes(const weir_kernel *k, const weir_res *r) {
    int64_t sum = 0, lane_most = 0;
    for (int ti = 0; ti < k->tasks.n; ti++) {
        const weiri_task *t = k->tasks.v[ti];
        int64_t open = 0, most = 0;
        for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
            const weiri_op *op = n->op;
            if (op->res != r) continue;
            if (op->stage == STAGE_PROD_ACQUIRE) open = 0;
            if (op->stage == STAGE_PROD_WORK) open += bytes_of(op);
            if (open > most) most = open;
        }
        const bool lane = weiri_lanes_of(t) || pl_loop_lane(k, t, r->pipe.given.interleave[1]) >= 0;
        if (!lane) sum += most;
        else if (most > lane_most) lane_most = most;
    }
    return sum + lane_most;
}

/* The first works that fill the stages of r by threads; in a fork any member's work fills the one stage. */
typedef struct fills {
    const weiri_op *load, *other; /* by cp.async; by stores */
    bool body;                    /* may do either */
} fills;

static fills fills_of(const weir_kernel *k, const weir_res *r) {
    fills f = { 0 };
    const weir_res *fork = r->group && r->group->mode == WEIR_GROUP_FORK ? r->group : NULL;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[t]->root, n));) {
            const weiri_op *op = n->op;
            if ((op->res != r && !(fork && op->res->group == fork)) || op->stage != STAGE_PROD_WORK) continue;
            if (op->atom == ATOM_CP_ASYNC) f.load = f.load ? f.load : op;
            else if (op->atom == ATOM_CUSTOM) f.body = true;
            else f.other = f.other ? f.other : op;
        }
    return f;
}

static bool threads_fill(const weir_res *r) {
    return r->pipe.given.type == WEIR_ASYNC_ASYNC || r->pipe.given.type == WEIR_ASYNC_UMMA;
}

/* thread, or load where cp.async alone fills the stage. */
static weir_producer_op producer_op(const weir_res *r, const fills *f) {
    const weir_producer_op given = r->pipe.given.producer_op;
    if (!threads_fill(r) || given) return given;
    return f->load && !f->other && !f->body ? WEIR_PRODUCER_LOAD : WEIR_PRODUCER_THREAD;
}

/* What is given is held against the work: one commit arrives either when its threads come to it or when their copies land. */
static void check_producer_op(weiri_plan *p, const weir_res *r, weir_producer_op op, const fills *by) {
    const weiri_op *load = by->load, *other = by->other;
    const bool both = load && other;
    const weiri_op *wrong = both || op == WEIR_PRODUCER_LOAD ? other : load;
    if (!threads_fill(r) || !wrong || (!r->pipe.given.producer_op && !other)) return; /* a body beside cp.async may do either */
    if (r->group && r->group->mode == WEIR_GROUP_FORK && r->member > 0) return;       /* said of the first */
    weir_finding *f =
        both ? weiri_find(&p->findings, "CN7", weiri_place_of(&wrong->at),
                          "pipeline '%s': the stage is filled by cp_async and by %s", r->name, weiri_atom_name(other->atom))
             : weiri_find(&p->findings, "CN7", weiri_place_of(&wrong->at),
                          "pipeline '%s': producer_op is \"%s\", but %s fills the stage", r->name,
                          op == WEIR_PRODUCER_LOAD ? "load" : "thread", weiri_atom_name(wrong->atom));
    f->objects[0] = r->name;
    if (both) weiri_second_place(f, &load->at, "the cp_async");
    else
        weiri_second_place(f, &r->at, "declared here"), f->expected = load ? "load" : "thread",
                                                        f->got = load ? "thread" : "load";
    f->hint = both ? "fill a stage in one way, or take a pipeline for each: its commit arrives when the threads come, or when "
                     "their copies land"
                   : "leave producer_op out: it follows from the work";
}

/* ---- the protocol -------------------------------------------------------------------------------------------------------- */

/* Both moves of a side go by one stride; else that is said. */
static bool one_stride(weiri_plan *p, const weir_res *r) {
    for (int i = 0; i < 4; i += 2) { /* ORDER weir_pipe_desc.interleave */
        const int *lanes = &r->pipe.given.interleave[i];
        const int open = lanes[0] > 1 ? lanes[0] : 1, close = lanes[1] > 1 ? lanes[1] : 1;
        if (open == close) continue;
        weiri_find(&p->findings, "PLAN-UNSUPPORTED", weiri_place_of(&r->at),
                   "pipeline '%s': %s by %d lane%s and %s by %d cannot be built yet", r->name, i ? "wait" : "acquire", open,
                   open == 1 ? "" : "s", i ? "release" : "commit", close)
            ->hint = "one number for both";
        return false;
    }
    return true;
}

/* What the other members of its group make of r's protocol. A shared empty barrier answers for every member, an empty barrier of a
 * fork for every load into the same bytes. */
static void add_member(const weir_kernel *k, const weir_res *r, const weir_res *m, weiri_proto_in *in) {
    const bool fork = r->group->mode == WEIR_GROUP_FORK, fused = r->group->mode == WEIR_GROUP_FUSED_MERGE;
    const bool tensor = m->pipe.given.type == WEIR_UMMA_ASYNC;
    const int by = readers(k, m);
    if (!fork || storage_of(m) == storage_of(r)) also_serves(in, served_by(k, m));
    if (fork) {
        if (weiri_read_by_mma(m->pipe.given.type) || async_reads(by)) in->fence_commit = true;
        return;
    }
    if (!only_mma_reads(by)) in->consumer.only_mma_reads = false;
    if (by & READ_THREADS && tma_refills(k, m)) in->fence_release = true;
    if (tensor) in->tensor_release = true;
    if (tensor && fused) in->tensor_wait = true;
    const fills f = fills_of(k, m);
    const bool copied = producer_op(m, &f) == WEIR_PRODUCER_LOAD && async_reads(by);
    if (copied && fused) in->fence_wait = true;
}

static void add_pushes(weiri_plan *p, const weir_res *r, const weiri_pushes *s, weiri_proto_in *in) {
    in->senders = s->senders;
    memcpy(in->dest, s->dest, sizeof in->dest);
    in->tx = s->bytes * s->senders;
    in->producer = pl_side_of_push(p, r, STAGE_PROD_COMMIT, s);
    weiri_pside consumer = pl_side_of_push(p, r, STAGE_CONS_RELEASE, s);
    consumer.only_mma_reads = in->consumer.only_mma_reads;
    consumer.async_reads = in->consumer.async_reads;
    in->consumer = consumer;
}

/* async_tma: is the one task of each side the same, and its warpgroups the actors? It has moves of r, never in a group. */
static bool same_warpgroup(const weiri_plan *p, const weir_res *r, const weiri_proto_in *in) {
    const weir_kernel *k = p->k;
    int task = -1;
    if (in->producer.tasks != 1 || in->consumer.tasks != 1) return false;
    for (int i = 0; i < k->tasks.n; i++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[i]->root, n));) {
            if (n->op->res != r || n->op->atom != ATOM_NONE) continue;
            if (task >= 0 && task != i) return false;
            task = i;
        }
    return p->tasks[task].wg_actor;
}

/* Was the same said of a member before it in its group? What they share is one mistake. */
static bool told_of_mate(const weiri_proto *protos, const weir_res *r, const char *text) {
    for (int i = 0; r->group && i < r->member; i++) {
        const weiri_proto *mate = &protos[r->group->members[i]->index];
        for (int j = 0; j < mate->nfaults; j++)
            if (strcmp(mate->fault[j].text, text) == 0) return true;
    }
    return false;
}

/* The protocol's faults as findings; false: the target has no such pipeline. */
static bool tell_faults(weiri_plan *p, const weir_res *r, const weiri_proto *protos) {
    const weiri_proto *pr = &protos[r->index];
    bool exists = true;
    for (int i = 0; i < pr->nfaults; i++) {
        if (told_of_mate(protos, r, pr->fault[i].text)) continue;
        weir_finding *f = weiri_find(&p->findings, pr->fault[i].rule, weiri_place_of(&r->at), "pipeline '%s': %s", r->name,
                                     pr->fault[i].text);
        if (pr->fault[i].expected[0]) f->expected = weiri_arena_str(&p->a, pr->fault[i].expected);
        if (pr->fault[i].got[0]) f->got = weiri_arena_str(&p->a, pr->fault[i].got);
        f->objects[0] = r->name;
        if (r->group && r->group->asked.type) weiri_second_place(f, &r->group->at, "its group's pipeline");
        if (strcmp(pr->fault[i].rule, "PLAN-ARCH") != 0) continue;
        f->hint = "sm_80 has async_async";
        exists = false;
    }
    return exists;
}

void pl_add_pipe(weiri_plan *p, const weir_res *r, weiri_proto *protos) {
    const weir_kernel *k = p->k;
    const weir_pipe_type type = r->pipe.given.type;
    weiri_proto_in in = { .given = r->pipe.given, .arch = k->arch, .cluster = k->cluster };
    const bool strides = one_stride(p, r); /* counts and bytes are checked all the same */
    const fills f = fills_of(k, r);
    in.given.producer_op = producer_op(r, &f);
    check_producer_op(p, r, in.given.producer_op, &f);
    in.producer = pl_side(p, r, STAGE_PROD_COMMIT);
    in.consumer = pl_side(p, r, STAGE_CONS_RELEASE);
    const weiri_pushes pushes = weiri_push_find(p, r);
    const int by = readers(k, r);
    in.consumer.only_mma_reads = only_mma_reads(by);
    in.consumer.async_reads = async_reads(by);
    in.fence_release = (by & READ_THREADS && (pushes.senders > 0 || tma_refills(k, r))) || relays(k, r, STAGE_CONS_RELEASE);
    in.fence_commit = in.fence_acquire = relays(k, r, STAGE_PROD_COMMIT);
    const served own = served_by(k, r);
    also_serves(&in, own);
    for (int i = 0; r->group && i < r->group->nmembers; i++) add_member(k, r, r->group->members[i], &in);
    in.tx = landed_bytes(k, r);
    if (pushes.senders) add_pushes(p, r, &pushes, &in);
    if (type == WEIR_ASYNC_TMA) in.same_warpgroup = same_warpgroup(p, r, &in);
    weiri_protocol(&in, &protos[r->index]);
    if (!tell_faults(p, r, protos) || !strides) return;
    weiri_ppipe pp = { .res = r,
                       .type = type,
                       .stages = in.given.stages,
                       .full = -1,
                       .empty = -1,
                       .region = -1,
                       .tx = pushes.senders ? pushes.bytes
                                            : in.tx * (type == WEIR_TMA_UMMA && weiri_tc_pair(k) ? k->cluster.v : 1),
                       .serve = own.axes,
                       .cross = in.serve_cross };
    if (pushes.senders) {
        int8_t *dest = WEIRI_NEW_N(&p->a, int8_t, WEIRI_MAX_CTAS);
        memcpy(dest, pushes.dest, sizeof pushes.dest);
        pp.dest = dest;
    }
    WEIRI_PUSH(&p->a, p->pipes, pp);
}
