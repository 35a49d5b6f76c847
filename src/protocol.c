/* What the ops of a pipeline type do to its two mbarriers, and what those count. The rows of a type stand in one function per
 * side (produce, consume); sizes come from `count_threads`. Group rules follow at the end. */
#include "protocol.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"

enum {
    M = 1,
    N = 2,
    K = 4,
    V = 8, /* axes bits of `targets` and `serve` */
    WARP = 32,
    WARPGROUP = 128,        /* threads */
    MAX_TX = (1 << 20) - 1, /* bytes an mbarrier may expect per phase (PTX ISA, "tx-count": 2^20 - 1) */
    CLC_BYTES = 16          /* one response of the tile scheduler */
};

/* ---- names and kinds ---------------------------------------------------------------------------------------------------- */

typedef enum kind { BY_THREADS = 1, BY_TMA = 2, BY_MMA = 4, BY_CLC = 8, BY_STORE = 16 } kind; /* who fills, who reads */

static const struct {
    const char *name;
    kind producer, consumer;
} types[WEIR_PIPE_COUNT] = {
    [WEIR_PIPE_NONE] = { "none", 0, 0 },
    [WEIR_ASYNC_ASYNC] = { "async_async", BY_THREADS, BY_THREADS },
    [WEIR_TMA_ASYNC] = { "tma_async", BY_TMA, BY_THREADS },
    [WEIR_TMA_UMMA] = { "tma_umma", BY_TMA, BY_MMA },
    [WEIR_UMMA_ASYNC] = { "umma_async", BY_MMA, BY_THREADS },
    [WEIR_ASYNC_UMMA] = { "async_umma", BY_THREADS, BY_MMA },
    [WEIR_UMMA_UMMA] = { "umma_umma", BY_MMA, BY_MMA },
    [WEIR_CLC_FETCH_ASYNC] = { "clc_fetch_async", BY_CLC, BY_THREADS },
    [WEIR_ASYNC_TMA] = { "async_tma", BY_THREADS, BY_STORE },
};

bool weiri_filled_by_tma(weir_pipe_type t) { return types[t].producer == BY_TMA; }
bool weiri_filled_by_mma(weir_pipe_type t) { return types[t].producer == BY_MMA; }
bool weiri_read_by_mma(weir_pipe_type t) { return types[t].consumer == BY_MMA; }

const char *weiri_pipe_type_name(weir_pipe_type t) { return (unsigned)t < WEIR_PIPE_COUNT ? types[t].name : "unknown"; }

static const char *signal_name(int bits) {
    switch (bits) {
    case WEIR_SIGNAL_DEFAULT: return "derived";
    case WEIR_SIGNAL_ALL: return "all";
    case WEIR_SIGNAL_CTA_LEADER: return "cta_leader";
    case WEIR_SIGNAL_TASK_WARP_LEADER: return "task_warp_leader";
    case WEIR_SIGNAL_CTA_LEADER | WEIR_SIGNAL_TASK_WARP_LEADER: return "cta_leader+task_warp_leader";
    default: return "unknown";
    }
}

/* ---- clusters ----------------------------------------------------------------------------------------------------------- */

static int ctas(weir_cluster c) { return c.v * c.m * c.n * c.k; }

static weir_cluster filled(weir_cluster c) {
    return (weir_cluster){ c.v > 0 ? c.v : 1, c.m > 0 ? c.m : 1, c.n > 0 ? c.n : 1, c.k > 0 ? c.k : 1 };
}

int weiri_served(weir_cluster c, int serve, bool cross) {
    int m = serve & M ? c.m : 1, n = serve & N ? c.n : 1;
    return (cross ? m + n - 1 : m * n) * (serve & K ? c.k : 1) * (serve & V ? c.v : 1);
}

uint32_t weiri_cta_mask(weir_cluster c, int rank, int serve, bool cross) {
    uint32_t mask = 0;
    int v = rank % c.v, m = rank / c.v % c.m, n = rank / (c.v * c.m) % c.n, k = rank / (c.v * c.m * c.n);
    for (int r = 0; r < ctas(c); r++) {
        bool same_m = r / c.v % c.m == m, same_n = r / (c.v * c.m) % c.n == n;
        bool in = (same_m || serve & M) && (same_n || serve & N) && (!cross || same_m || same_n);
        in = in && (r % c.v == v || serve & V) && (r / (c.v * c.m * c.n) == k || serve & K);
        if (in) mask |= 1u << r;
    }
    return mask;
}

uint32_t weiri_reach(weir_cluster c, int rank, int serve, bool cross, int first) {
    uint32_t mask = weiri_cta_mask(c, rank, serve, cross);
    int m = rank / c.v % c.m * c.v, n = rank / (c.v * c.m) % c.n * c.v * c.m; /* steps from the first CTA along the axis */
    if (first & 1) mask |= 1u << (rank - m);
    if (first & 2) mask |= 1u << (rank - n);
    if (first & 4) mask |= 1u << (rank - m - n);
    return mask;
}

/* ---- faults ------------------------------------------------------------------------------------------------------------- */

static void fault(weiri_proto *out, const char *rule, const char *expected, const char *got, const char *fmt, ...)
    WEIRI_PRINTF(5, 6);

/* One finding; further ones past the table are follow-ups of those in it and are dropped. */
static void fault(weiri_proto *out, const char *rule, const char *expected, const char *got, const char *fmt, ...) {
    if (out->nfaults == (int)(sizeof out->fault / sizeof *out->fault)) return;
    va_list ap;
    va_start(ap, fmt);
    out->fault[out->nfaults].rule = rule;
    vsnprintf(out->fault[out->nfaults].text, sizeof out->fault->text, fmt, ap);
    snprintf(out->fault[out->nfaults].expected, sizeof out->fault->expected, "%s", expected);
    snprintf(out->fault[out->nfaults].got, sizeof out->fault->got, "%s", got);
    out->nfaults++;
    va_end(ap);
}

/* ---- given fields on their own ------------------------------------------------------------------------------------------ */

static const char *const roles[4] = { "acquire", "commit", "wait", "release" };

/* Fills in the strides that are left out. Faults of the fields alone. */
static void check_fields(const weir_pipe_desc *d, int stride[4], weiri_proto *out) {
    const struct {
        const char *field;
        int bits;
        const char *rule;
    } signaling[3] = {
        { "producer_signaling", d->producer_signaling, "CF2" },
        { "consumer_signaling", d->consumer_signaling, "CF3" },
        { "consumer_wait_signaling", d->consumer_wait_signaling, "CF3" },
    };
    char expected[48], got[48];
    for (int i = 0; i < 3; i++) {
        if (strcmp(signal_name(signaling[i].bits), "unknown") != 0) continue;
        snprintf(got, sizeof got, "%d", signaling[i].bits);
        fault(out, signaling[i].rule, "all, cta_leader, task_warp_leader or both", got,
              "%s is %d; it is \"all\", \"cta_leader\", \"task_warp_leader\" or \"cta_leader+task_warp_leader\"",
              signaling[i].field, signaling[i].bits);
    }
    if (d->producer_op == WEIR_PRODUCER_LOAD && types[d->type].producer != BY_THREADS)
        fault(out, "CF5", "thread", "load",
              "producer_op = \"load\" on %s: only the threads of async_async and async_umma copy by cp.async",
              types[d->type].name);
    if (d->stages < 1) {
        snprintf(got, sizeof got, "%d", d->stages);
        fault(out, "CN1", "at least 1", got, "stages = %d; a pipeline has at least 1", d->stages);
    }
    if (d->bytes < 0) {
        snprintf(got, sizeof got, "%lld", (long long)d->bytes);
        fault(out, "CN2", "0 or more", got, "bytes = %lld is negative", (long long)d->bytes);
    } else if (d->bytes > 0 && types[d->type].producer != BY_TMA && types[d->type].producer != BY_CLC) {
        snprintf(got, sizeof got, "%lld", (long long)d->bytes);
        fault(out, "CN3", "0", got, "bytes = %lld on %s: no copy engine brings bytes to its barrier; leave bytes out",
              (long long)d->bytes, types[d->type].name);
    }
    if (d->bytes_per_warp_per_cta > 0 && types[d->type].producer != BY_TMA) {
        snprintf(got, sizeof got, "%lld", (long long)d->bytes_per_warp_per_cta);
        fault(out, "CN3", "0", got, "bytes_per_warp_per_cta = %lld on %s: no warp of its producer loads by TMA; leave it out",
              (long long)d->bytes_per_warp_per_cta, types[d->type].name);
    }
    if (d->consumer_wait_signaling && d->consumer_wait_signaling == d->consumer_signaling)
        fault(out, "CN5", "", signal_name(d->consumer_signaling),
              "consumer_wait_signaling and consumer_signaling are both \"%s\"; leave the first out",
              signal_name(d->consumer_signaling));

    bool strides_ok = true;
    for (int i = 0; i < 4; i++) {
        stride[i] = d->interleave[i] ? d->interleave[i] : 1;
        if (stride[i] >= 1) continue;
        snprintf(got, sizeof got, "%d", stride[i]);
        fault(out, "CF10", "at least 1", got, "interleave of %s is %d; it is at least 1", roles[i], stride[i]);
        stride[i] = 1;
        strides_ok = false;
    }
    for (int i = 0; i < 4 && d->stages > 0; i++) {
        if (d->stages % stride[i] == 0) continue;
        snprintf(expected, sizeof expected, "a divisor of %d", d->stages);
        snprintf(got, sizeof got, "%d", stride[i]);
        fault(out, "P-ILV-01", expected, got, "interleave of %s is %d, which does not divide the %d stages", roles[i],
              stride[i], d->stages);
        strides_ok = false;
    }
    for (int i = 0; i < 4 && strides_ok; i += 2) {
        const char *flag = i == 0 ? "advance_on_acquire" : "advance_on_wait";
        if (stride[i] == stride[i + 1] || (i == 0 ? d->advance_on_acquire : d->advance_on_wait) >= 0) continue;
        fault(out, i == 0 ? "CF12" : "CF13", "true", "false",
              "interleave of %s is %d, of %s %d: they need %s, which is given as false", roles[i], stride[i], roles[i + 1],
              stride[i + 1], flag);
    }
}

/* The interleave rules that need nothing of the schedule. */
static void check_interleave(const weiri_proto_in *in, const int stride[4], weiri_proto *out) {
    int most = 1;
    for (int i = 0; i < 4; i++)
        if (stride[i] > most) most = stride[i];
    if (most == 1) return;
    char got[48];
    snprintf(got, sizeof got, "%d", most);
    weir_pipe_type t = in->given.type;
    const char *name = types[t].name;
    if (t == WEIR_UMMA_UMMA || t == WEIR_CLC_FETCH_ASYNC || t == WEIR_ASYNC_TMA)
        fault(out, "V-ILV-01", "1", got,
              "interleave %d on %s: only async_async, tma_async, tma_umma, umma_async and async_umma interleave", most, name);
    else if (t == WEIR_TMA_ASYNC && ctas(in->cluster) > 1)
        fault(out, "V-ILV-02", "1 CTA", got, "interleave %d on tma_async in a cluster of %d CTAs; it needs a cluster of 1",
              most, ctas(in->cluster));
    else if (t == WEIR_UMMA_ASYNC && (stride[0] > 1 || stride[1] > 1))
        fault(out, "V-ILV-03", "1", got,
              "interleave of acquire %d, commit %d on umma_async: its producer side is not interleaved", stride[0], stride[1]);
    else if (t == WEIR_ASYNC_UMMA && (stride[2] > 1 || stride[3] > 1))
        fault(out, "V-ILV-04", "1", got,
              "interleave of wait %d, release %d on async_umma: its consumer side is not interleaved", stride[2], stride[3]);
    else if (in->arch < WEIR_ARCH_SM_100A && types[t].consumer == BY_MMA && stride[3] > 1 && !in->consumer.domain_lanes)
        fault(out, "V-ILV-06", "a task per lane", got,
              "interleave %d deals the stages of %s to single warps, but wgmma takes a warpgroup; use one task of 4 warps per "
              "lane",
              stride[3], name);
}

/* ---- counts ------------------------------------------------------------------------------------------------------------- */

/* Warps, warpgroups, tasks of a side that close one stage: of an interleaved side those of one lane. */
typedef struct share {
    int warps, groups, tasks;
    int one_cta_warps;
    bool whole_groups; /* every warp is one of a warpgroup that acts as one */
    const char *per;   /* "" or " of a lane" */
} share;

static share share_of(const weiri_pside *s, int stride) {
    share r = { s->warps, s->warpgroups, s->tasks, s->one_cta_warps, s->warps > 0 && s->warpgroups * 4 == s->warps, "" };
    if (stride > 1 || s->dealt) r.per = " of a lane";
    if (stride <= 1) return r;
    if (s->domain_lanes > 0) {
        r.warps /= s->domain_lanes;
        r.groups /= s->domain_lanes;
        r.tasks /= s->domain_lanes;
    } else { /* dealt to the warps in turn: one warp of each task meets a stage */
        r.warps = s->tasks;
        r.groups = 0;
        r.whole_groups = false;
    }
    return r;
}

static int grain_count(weir_grain g, const share *s) {
    return g == WEIR_GRAIN_THREAD ? s->warps * WARP : g == WEIR_GRAIN_WARP ? s->warps : s->groups;
}

/* How often a count of one CTA arrives: from `all` CTAs; tasks that run on one CTA only count once. */
typedef struct reach {
    int all;
    bool single_tasks;
    const uint8_t *by_rank; /* how many, where it differs; `all` is that of CTA 0 (of pushes: of the CTA with the most) */
    int ctas;
} reach;

static int grain_total(weir_grain g, const share *s, reach r) {
    if (!r.single_tasks) return grain_count(g, s) * r.all;
    share once = *s; /* only the queue, whose tasks may run on one CTA; those never act as warpgroups of several CTAs */
    once.warps = s->one_cta_warps;
    share rest = *s;
    rest.warps = s->warps - s->one_cta_warps;
    if (g == WEIR_GRAIN_WARPGROUP) return s->groups * r.all;
    return grain_count(g, &rest) * r.all + grain_count(g, &once);
}

static const char *unit_of(weir_grain g, int n) {
    static const char *const one[] = { "", "thread", "warp", "warpgroup" }, *const many[] = { "", "threads", "warps",
                                                                                              "warpgroups" };
    return n == 1 ? one[g] : many[g];
}

/* " x 2 CTAs"; where it differs: " x 2, 1 CTAs by rank", the last of many as ", ..." */
static void describe_reach(char *sum, size_t size, reach r) {
    size_t k = strlen(sum);
    if (!r.by_rank) {
        if (r.all > 1) snprintf(sum + k, size - k, " x %d CTAs", r.all);
        return;
    }
    int i = 0;
    for (; i < r.ctas && k + 24 < size; i++)
        k += (size_t)snprintf(sum + k, size - k, i ? ", %d" : " x %d", r.by_rank[i]);
    snprintf(sum + k, size - k, "%s CTAs by rank", i < r.ctas ? ", ..." : "");
}

static void describe(char *sum, size_t size, weir_grain g, const share *s, reach r) {
    int n = grain_count(g, s);
    snprintf(sum, size, "%d %s%s", n, unit_of(g, n), s->per);
    describe_reach(sum, size, r);
}

/* One side whose threads arrive. */
typedef struct thread_side {
    const char *field, *op;     /* "consumers", "release" */
    const char *rule;           /* of a wrong count */
    int given;                  /* 0: derived */
    weir_grain grain, standard; /* given (DEFAULT: not), and what holds without */
    share share;
    reach reach;
} thread_side;

/* Lanes dealt by the loops' starts must bring equal shares, or each stage would need a count of its own. */
static void check_lanes(const char *op, const weiri_pside *s, int stride, weiri_proto *out) {
    if (stride <= 1 || s->domain_lanes < 1 || s->warps % s->domain_lanes == 0) return;
    char expected[48], got[48];
    snprintf(expected, sizeof expected, "a multiple of %d", s->domain_lanes);
    snprintf(got, sizeof got, "%d", s->warps);
    fault(out, "V-CNT-06", expected, got, "%s by %d lanes of %d warps in all: give each lane as many warps", op,
          s->domain_lanes, s->warps);
}

/* Settles the grain: as given, else the one whose total is the given count, else the standard one. Returns the count. */
static int count_threads(const thread_side *t, weir_grain *grain, char *sum, size_t sum_size, weiri_proto *out) {
    weir_grain g = t->grain;
    char expected[48], got[48];
    snprintf(got, sizeof got, "%d", t->given);
    if (t->share.warps == 0) { /* nobody does it: another rule's matter; the barrier still needs a count */
        *grain = g ? g : t->standard;
        snprintf(sum, sum_size, "nobody");
        return t->given > 0 ? t->given : 1;
    }
    if (g == WEIR_GRAIN_WARPGROUP && !t->share.whole_groups) {
        fault(out, "V-CNT-13", "warp or thread", "warpgroup",
              "grain = \"warpgroup\" for %s: not all of its %d warps%s work as warpgroups; use \"warp\"", t->op, t->share.warps,
              t->share.per);
        g = WEIR_GRAIN_WARP;
    }
    if (!g && t->given) {
        const weir_grain tried[4] = { t->standard, WEIR_GRAIN_WARPGROUP, WEIR_GRAIN_WARP, WEIR_GRAIN_THREAD };
        for (int i = 0; i < 4 && !g; i++) {
            if (tried[i] == WEIR_GRAIN_WARPGROUP && !t->share.whole_groups) continue;
            if (grain_total(tried[i], &t->share, t->reach) == t->given) g = tried[i];
        }
        if (!g) {
            int warp = grain_total(WEIR_GRAIN_WARP, &t->share, t->reach),
                thread = grain_total(WEIR_GRAIN_THREAD, &t->share, t->reach);
            int group = grain_total(WEIR_GRAIN_WARPGROUP, &t->share, t->reach);
            char from[96];
            describe(from, sizeof from, WEIR_GRAIN_WARP, &t->share, t->reach);
            if (t->share.whole_groups) snprintf(expected, sizeof expected, "%d, %d or %d", group, warp, thread);
            else snprintf(expected, sizeof expected, "%d or %d", warp, thread);
            fault(out, t->rule, expected, got, "%s = %d, but %s makes %s arrivals per phase (%s; one per %swarp or per thread)",
                  t->field, t->given, t->op, expected, from, t->share.whole_groups ? "warpgroup, " : "");
        }
    }
    if (!g) g = t->standard;
    int count = grain_total(g, &t->share, t->reach);
    describe(sum, sum_size, g, &t->share, t->reach);
    if (t->grain && t->given && t->given != count) {
        snprintf(expected, sizeof expected, "%d", count);
        fault(out, t->rule, expected, got, "%s = %d, but %s with grain \"%s\" makes %d arrivals per phase (%s)", t->field,
              t->given, t->op, unit_of(g, 1), count, sum);
    }
    *grain = g;
    return count;
}

/* A grain is the author's to choose where threads arrive; elsewhere it says at most what holds anyway (`fixed`, DEFAULT: none). */
static void check_grain(const char *field, weir_grain given, weir_grain fixed, const char *type, const char *why,
                        weiri_proto *out) {
    if (!given || given == fixed) return;
    fault(out, "V-CNT-13", fixed ? unit_of(fixed, 1) : "none", unit_of(given, 1), "%s = \"%s\" on %s: %s; leave it out", field,
          unit_of(given, 1), type, why);
}

/* One side whose count the mechanism fixes. `why`: "one commit of the mma". */
static int count_fixed(const char *field, int given, const char *rule, int count, const char *why, char *sum, size_t sum_size,
                       weiri_proto *out) {
    snprintf(sum, sum_size, "%s", why);
    if (given && given != count) {
        char expected[48], got[48];
        snprintf(expected, sizeof expected, "%d", count);
        snprintf(got, sizeof got, "%d", given);
        fault(out, rule, expected, got, "%s = %d, but %d arrival%s reach%s the barrier per phase (%s)", field, given, count,
              count == 1 ? "" : "s", count == 1 ? "es" : "", why);
    }
    return count;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

static void row(weiri_row rows[WEIRI_MAX_ROWS], weiri_row r) {
    int n = 0;
    while (rows[n].kind != ROW_END) n++;
    rows[n] = r;
}

/* An elected arrive speaks for threads that must have come first. `quiet`: they touched the stage by wgmma alone, whose wait
 * already covers the whole warpgroup (kernels with one arrive per warpgroup rely on it), so nothing has to join them. */
static void join(weiri_row rows[WEIRI_MAX_ROWS], weir_grain g, bool quiet) {
    if (g == WEIR_GRAIN_WARP) row(rows, (weiri_row){ .kind = ROW_WARP_SYNC });
    if (g == WEIR_GRAIN_WARPGROUP && !quiet) row(rows, (weiri_row){ .kind = ROW_WG_SYNC });
}

/* `to` as weiri_row.targets; several targets are dealt to as many threads where one is elected. */
static weiri_row arrive(weiri_row_bar bar, weir_grain g, int to, bool cross, bool several) {
    weiri_row r = { .kind = ROW_ARRIVE, .bar = bar, .targets = to, .cross = cross };
    if (g == WEIR_GRAIN_THREAD) r.who = ROW_THREADS;
    else if (g == WEIR_GRAIN_WARP) r.who = several ? ROW_LANE_CTAS : ROW_LANE;
    else r.who = several ? ROW_WG_CTAS : ROW_WG;
    return r;
}

int weiri_row_arrivals(const weiri_row *r, bool wg_actor) {
    if (r->kind != ROW_ARRIVE && r->kind != ROW_EXPECT && r->kind != ROW_CP_ARRIVE && r->kind != ROW_UMMA_COMMIT) return 0;
    switch (r->who) {
    case ROW_THREADS: return wg_actor ? WARPGROUP : WARP;
    case ROW_LANE:
    case ROW_LANE_CTAS: return wg_actor ? 4 : 1;
    default: return 1;
    }
}

static int closing_arrivals(const weiri_row rows[WEIRI_MAX_ROWS], weiri_row_bar bar, bool wg_actor) {
    int n = 0;
    for (int i = 0; rows[i].kind != ROW_END; i++)
        if (rows[i].bar == bar) n += weiri_row_arrivals(&rows[i], wg_actor);
    return n;
}

/* ---- the two sides ------------------------------------------------------------------------------------------------------ */

/* What both sides need to know of the pipeline. */
typedef struct facts {
    const weiri_proto_in *in;
    weir_pipe_type type;
    weir_cluster c;
    int stride[4];        /* acquire, commit, wait, release */
    int psig, csig, wsig; /* signaling after defaults; wsig: of the wait */
    bool native;          /* tensor core commits by itself (tcgen05) */
    bool twl;             /* only the first warp of each producer task arms */
} facts;

static bool leads(int signaling) { return (signaling & WEIR_SIGNAL_CTA_LEADER) != 0; }

/* CTA-leader rows mean something only where V > 1. */
static bool gated(const facts *f, int signaling) { return f->c.v > 1 && leads(signaling); }

static void check_tma_warps(const facts *f, weiri_proto *out) {
    int warps = f->in->producer.max_warps_of_a_task, stride = f->stride[1];
    char got[48];
    snprintf(got, sizeof got, "%d warps", warps);
    if (warps <= 1) return;
    if (stride <= 1 && !f->twl)
        fault(out, "V-CNT-03", "1 warp", got,
              "a producer task of %d warps on %s: each would arm the barrier; use producer_signaling = \"task_warp_leader\", "
              "or interleave above 1 (it is %d)",
              warps, types[f->type].name, stride);
    if (stride > 1 && f->twl)
        fault(out, "V-CNT-04", "one of them", got,
              "a producer task of %d warps has interleave %d and \"task_warp_leader\": with the first each warp arms its own "
              "stages, with the second only the first warp arms; choose one",
              warps, stride);
}

/* Warps that arm one stage of a TMA producer, in one CTA. */
static int arming_warps(const facts *f) {
    share s = share_of(&f->in->producer, f->stride[1]);
    int n = f->twl ? s.tasks : s.warps;
    return n > 0 ? n : 1;
}

/* TMA and CLC producers: the bytes, given and derived. */
static void settle_bytes(const facts *f, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *p = &f->in->producer, *c = &f->in->consumer;
    char expected[48], got[48];
    if (types[f->type].producer == BY_CLC) {
        out->expect_bytes = out->full_tx = CLC_BYTES;
        if (d->bytes > 0 && d->bytes != CLC_BYTES) {
            snprintf(got, sizeof got, "%lld", (long long)d->bytes);
            fault(out, "V-BYT-02", "16", got, "bytes = %lld, but a response of the tile scheduler has %d", (long long)d->bytes,
                  CLC_BYTES);
        }
        return;
    }
    if (types[f->type].producer != BY_TMA) return;
    int all = ctas(f->c), arming = arming_warps(f) * (f->in->senders ? f->in->senders : 1);
    bool aggregate = f->twl && p->warps > p->tasks;
    bool routed =
        all > 1 && p->tasks > p->one_cta_tasks && (leads(d->consumer_signaling) || leads(f->wsig) || c->one_cta_tasks > 0);
    int mult = !routed ? 1 : f->type == WEIR_TMA_UMMA ? f->c.v : all;
    int64_t required = 0; /* by the declaration per warp and CTA */
    if (d->bytes_per_warp_per_cta > 0) {
        required = d->bytes_per_warp_per_cta * mult * share_of(p, f->stride[1]).warps / arming;
        if (d->bytes > 0 && d->bytes != required) {
            snprintf(expected, sizeof expected, "%lld", (long long)required);
            snprintf(got, sizeof got, "%lld", (long long)d->bytes);
            fault(out, "V-BYT-02", expected, got,
                  "bytes = %lld, but bytes_per_warp_per_cta %lld x %d CTA%s x %d producer warp%s / %d that arm%s = %lld",
                  (long long)d->bytes, (long long)d->bytes_per_warp_per_cta, mult, mult == 1 ? "" : "s", p->warps,
                  p->warps == 1 ? "" : "s", arming, arming == 1 ? "s" : "", (long long)required);
        }
    } else if (d->bytes > 0 && f->in->tx <= 0 && (routed || aggregate)) { /* nothing else to check the bytes against */
        fault(out, "V-BYT-01", "bytes_per_warp_per_cta", "none",
              "bytes = %lld are given, so bytes_per_warp_per_cta must be declared too: %s", (long long)d->bytes,
              aggregate ? "the first warp of a task arms what all its warps load"
                        : "the leader CTA's barrier counts what other CTAs load");
    }
    /* what the copies bring: with v = 2 the leader's barrier counts both halves */
    int64_t landed = f->in->tx * (f->type == WEIR_TMA_UMMA ? f->c.v : 1);
    out->full_tx = landed > 0 ? landed : (d->bytes > 0 ? d->bytes : required) * arming;
    out->expect_bytes = out->full_tx / arming;
    int64_t declared = d->bytes > 0 ? d->bytes : required;
    bool told = out->nfaults > 0 && strncmp(out->fault[out->nfaults - 1].rule, "V-BYT", 5) == 0;
    if (landed > 0 && declared > 0 && declared * arming != landed && !(routed && f->type == WEIR_TMA_ASYNC) && !told) {
        snprintf(expected, sizeof expected, "%lld", (long long)(landed / arming));
        snprintf(got, sizeof got, "%lld", (long long)declared);
        fault(out, "V-BYT-02", expected, got, "bytes = %lld are armed per stage, but the copies bring %lld",
              (long long)(declared * arming), (long long)landed);
    }
    if (out->full_tx > MAX_TX) {
        snprintf(expected, sizeof expected, "%d", MAX_TX);
        snprintf(got, sizeof got, "%lld", (long long)out->full_tx);
        fault(out, "V-BYT-04", expected, got, "%lld bytes per stage: an mbarrier counts at most %d per phase; split the tile",
              (long long)out->full_tx, MAX_TX);
    }
}

/* acquire, commit, full_count */
static void produce(const facts *f, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *p = &f->in->producer;
    bool lead = gated(f, f->psig), load = d->producer_op == WEIR_PRODUCER_LOAD;
    share s = share_of(p, f->stride[1]);
    out->producer_grain = WEIR_GRAIN_WARP;
    weiri_row wait = { .kind = ROW_WAIT, .bar = ROW_EMPTY, .leader_only = lead };
    if (f->type == WEIR_UMMA_ASYNC && f->c.v > 1)
        wait.leader_only = true; /* threads of both CTAs release to the leader alone */
    char why[96];
    const char *name = types[f->type].name;

    switch (types[f->type].producer) {
    case BY_TMA: {
        check_grain("producer_grain", d->producer_grain, WEIR_GRAIN_DEFAULT, name,
                    "a stage is filled by copies, and one lane arms it", out);
        int arming = arming_warps(f), senders = f->in->senders ? f->in->senders : 1;
        bool umma = f->type == WEIR_TMA_UMMA;
        reach from = { .all = senders, .by_rank = f->in->senders ? out->senders : NULL, .ctas = ctas(f->c) };
        for (int i = 0; i < from.ctas && f->in->senders; i++) {
            int to = f->in->dest[i];
            if (to >= 0) out->arms[i] = (uint16_t)(1u << to), out->senders[to]++;
        }
        if (umma || f->twl) wait.leader_only = false; /* every CTA waits: its own loads write into its own stage */
        row(out->acquire, wait);
        if (f->in->fence_acquire) row(out->acquire, (weiri_row){ .kind = ROW_FENCE_ASYNC }); /* who arms joins the others */
        row(out->acquire, (weiri_row){ .kind = ROW_EXPECT,
                                       .bar = ROW_FULL,
                                       .who = f->twl ? ROW_ONE : ROW_LANE,
                                       .twl_only = f->twl,
                                       .by_rank = f->in->senders > 0,
                                       .leader_only = umma ? f->c.v > 1 : lead });
        check_tma_warps(f, out);
        snprintf(why, sizeof why, "%d warp%s that arm%s", arming, arming == 1 ? "" : "s", arming == 1 ? "s" : "");
        describe_reach(why, sizeof why, from);
        out->full_unit = arming;
        out->full_count = count_fixed("producers", d->producers, f->stride[1] > 1 ? "V-CNT-07" : "V-CNT-09", arming * senders, why,
                                      out->full_sum, sizeof out->full_sum, out);
        break;
    }
    case BY_CLC:
        check_grain("producer_grain", d->producer_grain, WEIR_GRAIN_DEFAULT, name, "one lane of CTA 0 arms each CTA", out);
        wait.leader_only = false;
        wait.cta0_only = ctas(f->c) > 1;
        row(out->acquire, wait);
        row(out->acquire, (weiri_row){ .kind = ROW_EXPECT,
                                       .bar = ROW_FULL,
                                       .who = ctas(f->c) > 1 ? ROW_LANE_CTAS : ROW_LANE,
                                       .targets = ctas(f->c) > 1 ? M | N | K | V : 0,
                                       .cta0_only = ctas(f->c) > 1 });
        out->full_count = count_fixed("producers", d->producers, "V-CNT-08", 1, "one lane of CTA 0 arms each CTA",
                                      out->full_sum, sizeof out->full_sum, out);
        break;
    case BY_MMA:
        check_grain("producer_grain", d->producer_grain, f->native ? WEIR_GRAIN_DEFAULT : WEIR_GRAIN_WARPGROUP, name,
                    f->native ? "the tensor core arrives" : "one thread of each warpgroup arrives", out);
        row(out->acquire, wait);
        if (f->native) {
            row(out->acquire, (weiri_row){ .kind = ROW_TC_AFTER, .leader_only = wait.leader_only });
            int tasks = s.tasks > 0 ? s.tasks : 1, from = tasks * (f->c.v > 1 && !lead ? f->c.v : 1);
            row(out->commit, (weiri_row){ .kind = ROW_UMMA_COMMIT,
                                          .bar = ROW_FULL,
                                          .who = ROW_LANE,
                                          .targets = f->c.v > 1 ? V : 0,
                                          .leader_only = lead });
            if (tasks > 1)
                snprintf(why, sizeof why, "one commit of the mma x %d tasks x %d CTA%s", tasks, from / tasks,
                         from == tasks ? "" : "s");
            else snprintf(why, sizeof why, from > 1 ? "one commit of the mma x %d CTAs" : "one commit of the mma", from);
            out->full_count =
                count_fixed("producers", d->producers, "V-CNT-08", from, why, out->full_sum, sizeof out->full_sum, out);
        } else { /* wgmma cannot arrive: drain, leave the tile in the stage, join, one thread arrives */
            int groups = s.groups > 0 ? s.groups : 1;
            out->producer_grain = WEIR_GRAIN_WARPGROUP;
            row(out->commit, (weiri_row){ .kind = ROW_MMA_DRAIN });
            row(out->commit, (weiri_row){ .kind = ROW_SPILL });
            if (f->type == WEIR_UMMA_UMMA || f->in->fence_commit) row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC });
            join(out->commit, WEIR_GRAIN_WARPGROUP, false);
            row(out->commit, arrive(ROW_FULL, WEIR_GRAIN_WARPGROUP, 0, false, false));
            snprintf(why, sizeof why, "%d warpgroup%s", groups, groups == 1 ? "" : "s");
            out->full_count =
                count_fixed("producers", d->producers, "V-CNT-08", groups, why, out->full_sum, sizeof out->full_sum, out);
        }
        break;
    default: { /* threads */
        row(out->acquire, wait);
        bool umma = f->type == WEIR_ASYNC_UMMA;
        int to = umma && f->c.v > 1 ? WEIRI_TO_LEADER : 0;
        thread_side t = { .field = "producers", .op = "commit", .given = d->producers, .share = s };
        t.rule = p->domain_lanes && f->stride[1] > 1 ? "V-CNT-06" : "V-CNT-09";
        t.grain = load ? WEIR_GRAIN_THREAD : d->producer_grain; /* every thread's copies arrive for themselves */
        t.standard = WEIR_GRAIN_WARP;
        t.reach.all = to == WEIRI_TO_LEADER && !lead ? f->c.v : 1;
        if (load && umma && f->c.v > 1)
            fault(out, "X-V2-02", "v = 1", "v = 2",
                  "producer_op = \"load\" on async_umma with v = %d: cp.async arrives in its own CTA only, so the leader's mma "
                  "cannot see that the peer's copies landed; load with tma_umma, or use v = 1",
                  f->c.v);
        if (load && d->producer_grain > WEIR_GRAIN_THREAD)
            fault(out, "V-CNT-13", "thread", unit_of(d->producer_grain, 1),
                  "producer_grain = \"%s\" with producer_op = \"load\": every thread's copies arrive for themselves; leave the "
                  "grain out",
                  unit_of(d->producer_grain, 1));
        out->full_count = count_threads(&t, &out->producer_grain, out->full_sum, sizeof out->full_sum, out);
        if (load) {
            row(out->commit, (weiri_row){ .kind = ROW_CP_ARRIVE, .bar = ROW_FULL, .leader_only = lead });
        } else {
            bool read_async = umma || f->type == WEIR_ASYNC_TMA || f->in->consumer.only_mma_reads ||
                              f->in->consumer.async_reads || f->in->fence_commit;
            if (read_async) row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
            join(out->commit, out->producer_grain, false);
            weiri_row r = arrive(ROW_FULL, out->producer_grain, to, false, false);
            r.leader_only = lead;
            row(out->commit, r);
        }
    }
    }
}

/* wait, release, empty_count. fence_release: plain loads may still be in flight when their thread has arrived, and the async proxy, which
 * fills the stage again, does not queue behind them: on an H200 a load that banks held up read what the next copy brought. The fence
 * waits for them (PTX ISA, "Async proxy"). */
static void consume(const facts *f, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *c = &f->in->consumer;
    bool lead = gated(f, f->csig);
    share s = share_of(c, f->stride[3]);
    int served = weiri_served(f->c, f->in->serve, f->in->serve_cross), n = ctas(f->c);
    int to = served > 1 ? f->in->serve : 0;
    bool cross = served > 1 && f->in->serve_cross;
    char why[96];
    for (int i = 0; i < n && n <= WEIRI_MAX_CTAS; i++) {
        uint32_t here = weiri_reach(f->c, i, f->in->serve, f->in->serve_cross, f->in->first);
        out->reach[i] = (uint16_t)here;
        out->uneven = out->uneven || here != weiri_cta_mask(f->c, i, f->in->serve, f->in->serve_cross);
        for (int j = 0; j < n; j++) out->sources[j] = (uint8_t)(out->sources[j] + (here >> j & 1));
    }
    for (int i = 0; i < n && f->in->senders; i++) { /* whoever empties a stage tells those that push into it, and nobody else */
        if (!i) memset(out->sources, 0, sizeof out->sources), out->uneven = true;
        out->reach[i] = 0;
        for (int j = 0; j < n; j++)
            if (f->in->dest[j] == i) out->reach[i] = (uint16_t)(out->reach[i] | 1u << j);
        out->sources[i] = f->in->dest[i] >= 0;
    }
    if (out->uneven) to = 0, cross = false, served = f->in->senders ? 1 : out->sources[0];
    reach all = { .all = served, .by_rank = out->uneven ? out->sources : NULL, .ctas = n };
    out->grain = WEIR_GRAIN_WARP;
    /* with v = 2 the full barrier of an mma's operands is the leader's alone, unless another mma fills the stage */
    bool leaders_full = f->c.v > 1 && types[f->type].consumer == BY_MMA && types[f->type].producer != BY_MMA;
    bool wait_gated = gated(f, f->wsig) || leaders_full;
    row(out->wait, (weiri_row){ .kind = ROW_WAIT, .bar = ROW_FULL, .leader_only = wait_gated });
    /* cp.async completes in the generic proxy and arrives by itself: the fence can only stand behind the wait */
    bool read_async =
        types[f->type].consumer == BY_MMA || types[f->type].consumer == BY_STORE || c->only_mma_reads || c->async_reads;
    if ((d->producer_op == WEIR_PRODUCER_LOAD && read_async) || f->in->fence_wait)
        row(out->wait, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = wait_gated });
    bool tensor = f->native && (types[f->type].consumer == BY_MMA || types[f->type].producer == BY_MMA);
    if (tensor || (f->native && f->in->tensor_wait)) row(out->wait, (weiri_row){ .kind = ROW_TC_AFTER, .leader_only = wait_gated });

    switch (types[f->type].consumer) {
    case BY_MMA:
        check_grain("grain", d->grain, f->native ? WEIR_GRAIN_DEFAULT : WEIR_GRAIN_WARPGROUP, types[f->type].name,
                    f->native ? "the tensor core arrives" : "one thread of each warpgroup arrives", out);
        if (f->native) {
            if (f->in->fence_release) { /* of loads by threads of the task: its commit comes behind the one thread's own work */
                row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
                join(out->release, c->warpgroups > 0 ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP, false);
            }
            int tasks = s.tasks > 0 ? s.tasks : 1;
            int commits = tasks * served * (lead ? 1 : f->c.v); /* what the mask brings, not every CTA of the cluster */
            row(out->release, (weiri_row){ .kind = ROW_UMMA_COMMIT,
                                           .bar = ROW_EMPTY,
                                           .who = ROW_LANE,
                                           .cross = cross,
                                           .leader_only = lead,
                                           .by_rank = out->uneven,
                                           .targets = f->c.v > 1 ? to | V : to });
            if (out->uneven) {
                snprintf(why, sizeof why, tasks > 1 ? "one commit of the mma x %d tasks" : "one commit of the mma", tasks);
                describe_reach(why, sizeof why, all);
            } else if (tasks > 1)
                snprintf(why, sizeof why, "one commit of the mma x %d tasks x %d CTA%s", tasks, commits / tasks,
                         commits == tasks ? "" : "s");
            else snprintf(why, sizeof why, "one commit of the mma x %d CTA%s", commits, commits == 1 ? "" : "s");
            out->empty_count = count_fixed("consumers", d->consumers, f->stride[3] > 1 ? "V-CNT-07" : "V-CNT-08", commits, why,
                                           out->empty_sum, sizeof out->empty_sum, out);
        } else {
            int groups = s.groups > 0 ? s.groups : 1;
            out->grain = WEIR_GRAIN_WARPGROUP;
            row(out->release, (weiri_row){ .kind = ROW_MMA_DRAIN });
            if (f->in->fence_release) row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC });
            join(out->release, WEIR_GRAIN_WARPGROUP, !c->async_reads || c->only_mma_reads);
            weiri_row r = arrive(ROW_EMPTY, WEIR_GRAIN_WARPGROUP, to, cross, served > 1);
            r.by_rank = out->uneven;
            row(out->release, r);
            snprintf(why, sizeof why, "%d warpgroup%s", groups, groups == 1 ? "" : "s");
            describe_reach(why, sizeof why, all);
            out->empty_count = count_fixed("consumers", d->consumers, "V-CNT-08", groups * served, why, out->empty_sum,
                                           sizeof out->empty_sum, out);
        }
        break;
    case BY_STORE: { /* the thread that stores says when its reads are done; other warps of its task say that they have waited */
        int n = s.whole_groups ? s.groups : s.warps > 0 ? s.warps : 1;
        out->grain = s.whole_groups ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP;
        check_grain("grain", d->grain, out->grain, types[f->type].name,
                    s.whole_groups ? "one thread of each warpgroup arrives" : "one lane of each warp arrives", out);
        row(out->release, (weiri_row){ .kind = ROW_BULK_WAIT, .who = s.whole_groups ? ROW_WG : ROW_ONE });
        join(out->release, out->grain, false);
        row(out->release, arrive(ROW_EMPTY, out->grain, 0, false, false));
        snprintf(why, sizeof why, "%d %s", n, unit_of(out->grain, n));
        out->empty_count =
            count_fixed("consumers", d->consumers, "V-CNT-08", n, why, out->empty_sum, sizeof out->empty_sum, out);
        break;
    }
    default: {
        thread_side t = { .field = "consumers", .op = "release", .given = d->consumers, .grain = d->grain, .share = s };
        t.standard = c->only_mma_reads && s.whole_groups ? WEIR_GRAIN_WARPGROUP : WEIR_GRAIN_WARP;
        t.rule = f->type == WEIR_TMA_ASYNC ? "V-CNT-11" : "V-CNT-09";
        if (f->stride[3] > 1 && f->type == WEIR_TMA_ASYNC) t.rule = "V-CNT-07";
        if (f->stride[3] > 1 && c->domain_lanes) t.rule = "V-CNT-06";
        t.reach = all; /* of the resource itself, or of what shares its empty barrier */
        if (f->type == WEIR_CLC_FETCH_ASYNC) {
            t.rule = "V-CNT-10";
            to = ctas(f->c) > 1 ? WEIRI_TO_CTA0 : 0;
            t.reach = (reach){ .all = n / (leads(f->csig) ? f->c.v : 1), .single_tasks = true };
        } else if (f->type == WEIR_UMMA_ASYNC && f->c.v > 1) {
            to = WEIRI_TO_LEADER;
            t.reach.all = lead ? 1 : f->c.v;
        }
        bool several = to > 0 || out->uneven;
        out->empty_count = count_threads(&t, &out->grain, out->empty_sum, sizeof out->empty_sum, out);
        if (tensor || (f->native && f->in->tensor_release)) row(out->release, (weiri_row){ .kind = ROW_TC_BEFORE });
        if (f->in->fence_release) row(out->release, (weiri_row){ .kind = ROW_FENCE_ASYNC, .leader_only = lead });
        join(out->release, out->grain, c->only_mma_reads);
        weiri_row a = arrive(ROW_EMPTY, out->grain, to, several && cross, several);
        a.leader_only = lead;
        a.by_rank = out->uneven;
        row(out->release, a);
    }
    }
    out->empty_unit = out->empty_count / (served > 0 ? served : 1);
}

/* From how many CTAs of a V group the rows arrive at `bar` of the one with coordinate v. Rows of an op wait for one barrier and
 * arrive at the other, so all that name `bar` arrive. */
static int sources(const weiri_row rows[WEIRI_MAX_ROWS], weiri_row_bar bar, int v, int group) {
    int n = 0;
    for (int i = 0; rows[i].kind != ROW_END; i++) {
        const weiri_row *r = &rows[i];
        if (r->bar != bar) continue;
        int from = r->leader_only ? 1 : group; /* CTAs that run the row */
        if (r->targets == WEIRI_TO_LEADER) n += v == 0 ? from : 0;
        else if (r->targets > 0 && r->targets & V) n += from;
        else n += v < from;
    }
    return n;
}

/* Acquire and wait begin with their one wait. */
static bool followers_wait(const weiri_row rows[WEIRI_MAX_ROWS]) { return !rows[0].leader_only; }

/* Barriers count alike in all CTAs. Where another CTA than the leader waits, as many arrivals must come as at the leader's.
 * (clc_fetch_async is apart: CTA 0 arms all full barriers, and alone waits for an empty one.) */
static void check_followers(const facts *f, weiri_proto *out) {
    if (f->c.v == 1 || types[f->type].producer == BY_CLC) return;
    int full[2], empty[2]; /* sources at v = 0 and v = 1 */
    for (int v = 0; v < 2; v++) {
        full[v] = sources(out->acquire, ROW_FULL, v, f->c.v) + sources(out->commit, ROW_FULL, v, f->c.v);
        empty[v] = sources(out->release, ROW_EMPTY, v, f->c.v);
    }
    if (followers_wait(out->wait) && full[0] != full[1])
        fault(out, "X-SIG-01", "all", signal_name(f->psig),
              "producer_signaling = \"%s\" on %s with v = %d: CTAs with v > 0 wait on their own full barriers, where nothing "
              "arrives; leave it out",
              signal_name(f->psig), types[f->type].name, f->c.v);
    if (followers_wait(out->acquire) && empty[0] != empty[1])
        fault(out, "X-SIG-01", "all", signal_name(f->csig),
              "consumer_signaling = \"%s\" on %s with v = %d: CTAs with v > 0 wait on their own empty barriers, where nothing "
              "arrives; leave it out",
              signal_name(f->csig), types[f->type].name, f->c.v);
}

/* async_tma whose filling warpgroups also store: program order and a named barrier do, no mbarrier. */
static void fill_and_store(const facts *f, weiri_proto *out) {
    out->has_full = out->has_empty = false;
    out->grain = out->producer_grain = WEIR_GRAIN_WARPGROUP;
    row(out->acquire, (weiri_row){ .kind = ROW_BULK_WAIT, .who = ROW_WG });
    row(out->acquire, (weiri_row){ .kind = ROW_WG_SYNC });
    row(out->commit, (weiri_row){ .kind = ROW_FENCE_ASYNC });
    row(out->commit, (weiri_row){ .kind = ROW_WG_SYNC });
    const weir_pipe_desc *d = &f->in->given;
    char got[48];
    check_grain("grain", d->grain, WEIR_GRAIN_WARPGROUP, types[f->type].name, "one task fills and stores, nobody arrives", out);
    check_grain("producer_grain", d->producer_grain, WEIR_GRAIN_WARPGROUP, types[f->type].name,
                "one task fills and stores, nobody arrives", out);
    snprintf(got, sizeof got, "%d, %d", d->producers, d->consumers);
    if (d->producers || d->consumers)
        fault(out, "V-CNT-08", "none", got,
              "producers, consumers = %s: one task fills and stores this async_tma, no mbarrier counts; leave them out", got);
}

void weiri_protocol(const weiri_proto_in *in, weiri_proto *out) {
    *out = (weiri_proto){ .has_full = true, .has_empty = true };
    const weir_pipe_desc *d = &in->given;
    facts f = { .in = in,
                .type = d->type,
                .c = filled(in->cluster),
                .psig = d->producer_signaling,
                .csig = d->consumer_signaling,
                .native = in->arch >= WEIR_ARCH_SM_100A };
    if (d->type <= WEIR_PIPE_NONE || d->type >= WEIR_PIPE_COUNT) {
        out->has_full = out->has_empty = false;
        return;
    }
    if (in->arch < WEIR_ARCH_SM_90A && d->type != WEIR_ASYNC_ASYNC) {
        fault(out, "PLAN-ARCH", "", "", "%s needs the copy engine or tensor cores of sm_90a or sm_100a", types[d->type].name);
        out->has_full = out->has_empty = false;
        return;
    }
    check_fields(d, f.stride, out);
    check_interleave(in, f.stride, out);

    kind producer = types[d->type].producer, consumer = types[d->type].consumer;
    bool tensor = producer == BY_MMA || consumer == BY_MMA || producer == BY_CLC;
    if (tensor && !f.native && f.c.v > 1)
        fault(out, "X-V2-01", "v = 1", "v = 2",
              "%s with v = %d: CTAs share an mma on sm_100a only; use cluster = { m = %d } and let the loads of B multicast "
              "along m",
              types[d->type].name, f.c.v, f.c.v * f.c.m);
    if (d->producer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER) {
        f.twl = producer == BY_TMA;
        if (!f.twl)
            fault(out, "V-CNT-01", "all or cta_leader", signal_name(d->producer_signaling),
                  "producer_signaling = \"%s\" on %s: only a TMA producer's first warp can arm for its task",
                  signal_name(d->producer_signaling), types[d->type].name);
    }
    if ((d->consumer_signaling | d->consumer_wait_signaling) & WEIR_SIGNAL_TASK_WARP_LEADER) {
        bool release = (d->consumer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER) != 0;
        const char *mode = signal_name(release ? d->consumer_signaling : d->consumer_wait_signaling);
        fault(out, "V-CNT-02", "all or cta_leader", mode, "%s = \"%s\" on %s: consumers have no task-warp leader",
              release ? "consumer_signaling" : "consumer_wait_signaling", mode, types[d->type].name);
    }
    /* Unwritten signaling of an mma side at v = 2 is the leader's: one mma reads and writes both CTAs' halves. */
    if (f.c.v > 1 && !f.psig && producer == BY_MMA) f.psig = WEIR_SIGNAL_CTA_LEADER;
    if (f.c.v > 1 && !f.csig && consumer == BY_MMA) f.csig = WEIR_SIGNAL_CTA_LEADER;
    f.wsig = d->consumer_wait_signaling ? d->consumer_wait_signaling : f.csig;

    if (in->same_warpgroup) {
        fill_and_store(&f, out);
        return;
    }
    check_lanes("commit", &in->producer, f.stride[1], out);
    check_lanes("release", &in->consumer, f.stride[3], out);
    produce(&f, out);
    consume(&f, out);
    check_followers(&f, out);
    settle_bytes(&f, out);
    bool p_wg = in->producer.warps > 0 && in->producer.warpgroups * 4 == in->producer.warps;
    bool c_wg = in->consumer.warps > 0 && in->consumer.warpgroups * 4 == in->consumer.warps;
    out->full_per_commit = closing_arrivals(out->commit, ROW_FULL, p_wg) + closing_arrivals(out->acquire, ROW_FULL, p_wg);
    out->empty_per_release = closing_arrivals(out->release, ROW_EMPTY, c_wg);
}

/* ---- cursors ------------------------------------------------------------------------------------------------------------ */

void weiri_cursor_at(int stages, int stride, int lane, bool producer, int64_t n, int *stage, int *phase) {
    int64_t at = lane + n * stride;
    *stage = (int)(at % stages);
    *phase = (int)(at / stages % 2) ^ (producer ? 1 : 0);
}

/* ---- groups ------------------------------------------------------------------------------------------------------------- */

/* Of a mode that is settled. */
static const char *mode_name(weir_group_mode m) {
    return m == WEIR_GROUP_FORK ? "fork" : m == WEIR_GROUP_FUSED_MERGE ? "fused_merge" : "merge";
}

/* "async, tma"; 64 bytes hold all of them */
static void kinds_text(int set, char *out, size_t size) {
    static const struct {
        int bit;
        const char *name;
    } names[] = {
        { BY_THREADS, "async" }, { BY_TMA, "tma" }, { BY_MMA, "umma" }, { BY_CLC, "clc_fetch" }, { BY_STORE, "tma" },
    };
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (set & names[i].bit) n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", names[i].name);
}

static bool misfit(weiri_group_out *out, const char *rule, const char *expected, const char *got, const char *fmt, ...)
    WEIRI_PRINTF(5, 6);

static bool misfit(weiri_group_out *out, const char *rule, const char *expected, const char *got, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    out->fault.rule = rule;
    vsnprintf(out->fault.text, sizeof out->fault.text, fmt, ap);
    va_end(ap);
    snprintf(out->fault.expected, sizeof out->fault.expected, "%s", expected);
    snprintf(out->fault.got, sizeof out->fault.got, "%s", got);
    return false;
}

static int stride_of(const weir_pipe_desc *d, int role) { return d->interleave[role] > 0 ? d->interleave[role] : 1; }

static void strides_text(const weir_pipe_desc *d, char *out, size_t size) {
    snprintf(out, size, "{ %d, %d, %d, %d }", stride_of(d, 0), stride_of(d, 1), stride_of(d, 2), stride_of(d, 3));
}

static bool same_strides(const weir_pipe_desc *a, const weir_pipe_desc *b) {
    for (int i = 0; i < 4; i++)
        if (stride_of(a, i) != stride_of(b, i)) return false;
    return true;
}

/* The given layout, or the kernel's cluster. */
static weir_cluster layout_of(const weiri_group_in *in, const weir_pipe_desc *d) {
    const weir_cluster c = d->cta_layout;
    return filled(c.v || c.m || c.n || c.k ? c : in->cluster);
}

static bool same_layout(weir_cluster a, weir_cluster b) { return a.v == b.v && a.m == b.m && a.n == b.n && a.k == b.k; }

static void layout_text(weir_cluster c, char *out, size_t size) { snprintf(out, size, "{ %d, %d, %d, %d }", c.v, c.m, c.n, c.k); }

static const char *flag_text(int flag) { return flag > 0 ? "true" : flag < 0 ? "false" : "derived"; }

/* Fields in which every member must agree with the first. */
static bool check_member(const weiri_group_in *in, int i, weiri_group_out *out) {
    const weir_pipe_desc *a = &in->member[0], *b = &in->member[i];
    const char *an = in->name[0], *bn = in->name[i];
    weir_group_mode mode = in->mode;
    char x[64], y[64];
    if (a->stages != b->stages) {
        snprintf(x, sizeof x, "%d", a->stages);
        snprintf(y, sizeof y, "%d", b->stages);
        return misfit(out, "G-CFG-04", x, y, "'%s' has %s stages, '%s' %s; members share their stages", an, x, bn, y);
    }
    if (a->advance_on_wait != b->advance_on_wait)
        return misfit(out, "G-CFG-05", flag_text(a->advance_on_wait), flag_text(b->advance_on_wait),
                      "advance_on_wait is %s for '%s', %s for '%s'", flag_text(a->advance_on_wait), an,
                      flag_text(b->advance_on_wait), bn);
    if (a->advance_on_acquire != b->advance_on_acquire)
        return misfit(out, "G-CFG-05", flag_text(a->advance_on_acquire), flag_text(b->advance_on_acquire),
                      "advance_on_acquire is %s for '%s', %s for '%s'", flag_text(a->advance_on_acquire), an,
                      flag_text(b->advance_on_acquire), bn);
    if (!same_strides(a, b)) {
        strides_text(a, x, sizeof x);
        strides_text(b, y, sizeof y);
        return misfit(out, "G-CFG-06", x, y, "interleave is %s for '%s', %s for '%s'", x, an, y, bn);
    }
    layout_text(layout_of(in, a), x, sizeof x);
    layout_text(layout_of(in, b), y, sizeof y);
    if (!same_layout(layout_of(in, a), layout_of(in, b)))
        return misfit(out, "G-CFG-07", x, y, "cta_layout is %s for '%s', %s for '%s'", x, an, y, bn);
    const struct {
        const char *field;
        int a, b;
        bool compared;
    } signal[3] = {
        { "producer_signaling", a->producer_signaling, b->producer_signaling,
          mode == WEIR_GROUP_FORK || mode == WEIR_GROUP_FUSED_MERGE },
        { "consumer_signaling", a->consumer_signaling, b->consumer_signaling,
          mode == WEIR_GROUP_MERGE || mode == WEIR_GROUP_FUSED_MERGE },
        { "signaling of the wait", a->consumer_wait_signaling ? a->consumer_wait_signaling : a->consumer_signaling,
          b->consumer_wait_signaling ? b->consumer_wait_signaling : b->consumer_signaling, mode == WEIR_GROUP_FUSED_MERGE },
    };
    for (int s = 0; s < 3; s++)
        if (signal[s].compared && signal[s].a != signal[s].b)
            return misfit(out, "G-CFG-15", signal_name(signal[s].a), signal_name(signal[s].b),
                          "a %s needs one %s: '%s' has \"%s\", '%s' \"%s\"", mode_name(mode), signal[s].field, an,
                          signal_name(signal[s].a), bn, signal_name(signal[s].b));
    return true;
}

static const char *op_text(int op) { return op == WEIR_PRODUCER_LOAD ? "load" : "thread"; }
static const char *grain_text(int grain) { return unit_of((weir_grain)grain, 1); }

/* Who arrives, and how: of release, or of commit. 0 where left out. */
enum { BY_GRAIN, BY_PRODUCER_GRAIN, BY_OP, NBY };
static const struct {
    const char *field;
    bool producer; /* of commit */
    const char *(*text)(int);
} by[NBY] = { { "grain", false, grain_text }, { "producer_grain", true, grain_text }, { "producer_op", true, op_text } };

static int by_of(const weir_pipe_desc *d, int which) {
    return which == BY_GRAIN ? (int)d->grain : which == BY_PRODUCER_GRAIN ? (int)d->producer_grain : (int)d->producer_op;
}

/* What is left out in `d`, where threads do it. */
static void take_by(weir_pipe_desc *d, const weir_pipe_desc *from, bool producer) {
    if (types[d->type].producer == BY_THREADS && producer) {
        if (!d->producer_grain) d->producer_grain = from->producer_grain;
        if (!d->producer_op) d->producer_op = from->producer_op;
    }
    if (types[d->type].consumer == BY_THREADS && !producer && !d->grain) d->grain = from->grain;
}

/* The one move of the shared side has one grain and one way to arrive. */
static bool same_arrivals(const weiri_group_in *in, weiri_group_out *out) {
    bool fork = out->mode == WEIR_GROUP_FORK;
    for (int which = 0; which < NBY; which++)
        for (int i = 1, first = 0; i < in->n && by[which].producer == fork; i++) {
            if (!by_of(&in->member[first], which)) first = i;
            int x = by_of(&in->member[first], which), y = by_of(&in->member[i], which);
            if (!y || x == y) continue;
            return misfit(out, "G-CFG-13", by[which].text(x), by[which].text(y),
                          "a %s has one %s, but %s is \"%s\" for '%s', \"%s\" for '%s'", mode_name(out->mode),
                          fork ? "commit" : "release", by[which].field, by[which].text(x), in->name[first], by[which].text(y),
                          in->name[i]);
        }
    return true;
}

/* Two given counts that must agree; one left out is derived and compared in plan. `skip`: kind of producer left out, 0 none. */
static bool same_counts(const weiri_group_in *in, bool producers, int skip, const char *among, weiri_group_out *out) {
    int first = -1;
    for (int i = 0; i < in->n; i++) {
        const weir_pipe_desc *d = &in->member[i];
        int count = producers ? d->producers : d->consumers;
        if (!count || (int)types[d->type].producer == skip) continue;
        if (first < 0) {
            first = i;
            continue;
        }
        const weir_pipe_desc *f = &in->member[first];
        int want = producers ? f->producers : f->consumers;
        if (count == want) continue;
        char x[64], y[64];
        snprintf(x, sizeof x, "%d", want);
        snprintf(y, sizeof y, "%d", count);
        return misfit(out, "G-CFG-13", x, y, "a %s has one %s barrier, but %s%s is %s for '%s', %s for '%s'",
                      mode_name(out->mode), producers ? "full" : "empty", producers ? "producers" : "consumers", among, x,
                      in->name[first], y, in->name[i]);
    }
    return true;
}

static void merge_configs(const weiri_group_in *in, weiri_group_out *out) {
    const weir_pipe_desc *first = &in->member[0];
    weir_pipe_desc *m = &out->merged;
    bool fork = out->mode == WEIR_GROUP_FORK, mixed_tma = false;
    for (int i = 0; i < in->n; i++)
        mixed_tma |= (types[in->member[i].type].producer == BY_TMA) != (types[first->type].producer == BY_TMA);
    *m = *first;
    m->type = out->type;
    m->bytes = fork ? first->bytes : 0;
    m->producers = m->consumers = 0;
    bool sums_known = true; /* a sum is known when every term is given */
    for (int i = 0; i < in->n; i++) {
        const weir_pipe_desc *d = &in->member[i];
        int summed = fork ? d->consumers : d->producers, common = fork ? d->producers : d->consumers;
        sums_known = sums_known && summed > 0;
        if (fork) m->consumers += summed;
        else m->producers += summed, m->bytes += d->bytes;
        bool counts = fork || !mixed_tma || types[d->type].producer != BY_TMA;
        if (counts && common) *(fork ? &m->producers : &m->consumers) = common;
    }
    if (!sums_known) *(fork ? &m->consumers : &m->producers) = 0;
    bool by_threads = out->type == WEIR_ASYNC_ASYNC || out->type == WEIR_ASYNC_UMMA;
    if (!fork && !m->consumers && mixed_tma) /* the TMA members' is as good as any, if no other says */
        for (int i = 0; i < in->n; i++)
            if (in->member[i].consumers) m->consumers = in->member[i].consumers;
    for (int i = 0; i < in->n; i++) take_by(m, &in->member[i], fork);
    if (!by_threads) m->producer_op = WEIR_PRODUCER_DEFAULT;
}

/* What the group's own pipeline says of fields that are left out in `d`. */
static void fill_in(weir_pipe_desc *d, const weir_pipe_desc *g) {
    const weir_cluster l = d->cta_layout;
    if (!l.v && !l.m && !l.n && !l.k) d->cta_layout = g->cta_layout;
    if (!d->producer_signaling) d->producer_signaling = g->producer_signaling;
    if (!d->consumer_signaling) d->consumer_signaling = g->consumer_signaling;
    if (!d->consumer_wait_signaling) d->consumer_wait_signaling = g->consumer_wait_signaling;
    if (!d->advance_on_wait) d->advance_on_wait = g->advance_on_wait;
    if (!d->advance_on_acquire) d->advance_on_acquire = g->advance_on_acquire;
    if (types[d->type].producer == BY_TMA && !d->bytes_per_warp_per_cta) d->bytes_per_warp_per_cta = g->bytes_per_warp_per_cta;
    take_by(d, g, true);
    take_by(d, g, false);
}

/* The group's own pipeline says nothing else than its members do. What they leave out it may say for them (weiri_group_inherit). */
static bool check_given(const weiri_group_in *in, weiri_group_out *out) {
    const weir_pipe_desc *g = in->given, *m = &out->merged;
    bool fork = out->mode == WEIR_GROUP_FORK;
    char x[64], y[64];
    if (g->stages && g->stages != m->stages) {
        snprintf(x, sizeof x, "%d", m->stages);
        snprintf(y, sizeof y, "%d", g->stages);
        return misfit(out, "V-GRP-02", x, y, "the group's pipeline has %s stages, '%s' %s", y, in->name[0], x);
    }
    if (!same_strides(g, m)) {
        strides_text(m, x, sizeof x);
        strides_text(g, y, sizeof y);
        return misfit(out, "G-CFG-06", x, y, "interleave is %s for the group, %s for '%s'", y, x, in->name[0]);
    }
    if (g->type != m->type)
        return misfit(out, "V-GRP-03", types[m->type].name, types[g->type].name,
                      "the group's pipeline is %s, its members make %s", types[g->type].name, types[m->type].name);
    if (g->bytes && m->bytes && g->bytes != m->bytes) {
        snprintf(x, sizeof x, "%lld", (long long)m->bytes);
        snprintf(y, sizeof y, "%lld", (long long)g->bytes);
        return misfit(out, "V-GRP-04", x, y,
                      fork ? "bytes = %s of the group, but its one load brings %s"
                           : "bytes = %s of the group, but its members add up to %s",
                      y, x);
    }
    if (g->producer_op == WEIR_PRODUCER_LOAD && types[g->type].producer != BY_THREADS)
        return misfit(out, "CF5", "thread", "load", "producer_op = \"load\" on %s: only threads copy by cp.async",
                      types[g->type].name);
    for (int side = 0; side < 2; side++) {
        int given = side ? g->consumers : g->producers, made = side ? m->consumers : m->producers;
        const char *field = side ? "consumers" : "producers";
        if (!given || !made || given == made) continue;
        snprintf(x, sizeof x, "%d", made);
        snprintf(y, sizeof y, "%d", given);
        return misfit(out, "G-CFG-13", x, y, "%s = %s of the group, but its members %s %s", field, y,
                      (side == 1) == fork ? "add up to" : "have", x);
    }
    for (int i = 0; i < in->n; i++) {
        const weir_pipe_desc *d = &in->member[i];
        const char *name = in->name[i];
        layout_text(layout_of(in, g), x, sizeof x);
        layout_text(layout_of(in, d), y, sizeof y);
        if (!same_layout(layout_of(in, g), layout_of(in, d)))
            return misfit(out, "G-CFG-07", y, x, "cta_layout is %s for the group, %s for '%s'", x, y, name);
        const struct {
            const char *field, *rule;
            int group, member;
            const char *(*text)(int);
        } same[] = {
            { "producer_signaling", "G-CFG-15", g->producer_signaling, d->producer_signaling, signal_name },
            { "consumer_signaling", "G-CFG-15", g->consumer_signaling, d->consumer_signaling, signal_name },
            { "consumer_wait_signaling", "G-CFG-15", g->consumer_wait_signaling, d->consumer_wait_signaling, signal_name },
            { "advance_on_wait", "G-CFG-05", g->advance_on_wait, d->advance_on_wait, flag_text },
            { "advance_on_acquire", "G-CFG-05", g->advance_on_acquire, d->advance_on_acquire, flag_text },
            { "grain", "G-CFG-13", (int)g->grain, (int)d->grain, grain_text },
            { "producer_grain", "G-CFG-13", (int)g->producer_grain, (int)d->producer_grain, grain_text },
            { "producer_op", "G-CFG-13", (int)g->producer_op, (int)d->producer_op, op_text },
        };
        for (size_t j = 0; j < sizeof same / sizeof *same; j++)
            if (same[j].member && same[j].group && same[j].member != same[j].group)
                return misfit(out, same[j].rule, same[j].text(same[j].member), same[j].text(same[j].group),
                              "%s is \"%s\" for the group, \"%s\" for '%s'", same[j].field, same[j].text(same[j].group),
                              same[j].text(same[j].member), name);
        if (d->bytes_per_warp_per_cta && g->bytes_per_warp_per_cta && d->bytes_per_warp_per_cta != g->bytes_per_warp_per_cta) {
            snprintf(x, sizeof x, "%lld", (long long)d->bytes_per_warp_per_cta);
            snprintf(y, sizeof y, "%lld", (long long)g->bytes_per_warp_per_cta);
            return misfit(out, "V-GRP-04", x, y, "bytes_per_warp_per_cta is %s for the group, %s for '%s'", y, x, name);
        }
    }
    if (fork && g->advance_on_acquire > 0)
        return misfit(out, "G-CFG-17", "false", "true",
                      "the group has advance_on_acquire; a fork's acquires and its one commit move the same cursor");
    return true;
}

void weiri_group_inherit(const weiri_group_in *in, const weiri_group_out *out, weir_pipe_desc *d) {
    const weir_pipe_desc *m = &out->merged;
    bool fork = out->mode == WEIR_GROUP_FORK;
    take_by(d, m, fork);
    if (fork && m->producers) d->producers = m->producers;
    if (!fork && m->consumers) d->consumers = m->consumers;
    if (in->given && in->given->type) fill_in(d, in->given);
}

/* The type that fills by the one kind of all producers and is read by threads. */
static weir_pipe_type type_to_threads(int producers) {
    return producers == BY_TMA ? WEIR_TMA_ASYNC : producers == BY_MMA ? WEIR_UMMA_ASYNC : WEIR_ASYNC_ASYNC;
}

bool weiri_group_check(const weiri_group_in *in, weiri_group_out *out) {
    *out = (weiri_group_out){ .mode = in->mode };
    char x[64], y[64];
    if (in->n < 1) return misfit(out, "G-CFG-01", "at least one member", "none", "a group has at least one member");
    for (int i = 0; i < in->n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(in->name[i], in->name[j]) == 0)
                return misfit(out, "G-CFG-02", "once", "twice", "'%s' is listed twice", in->name[i]);
    for (int i = 0; i < in->n; i++)
        if (in->member[i].type == WEIR_PIPE_NONE)
            return misfit(out, "G-CFG-03", "a pipeline", "none",
                          "'%s' has no pipeline; only pipelined resources share barriers", in->name[i]);

    int producers = 0, consumers = 0;
    bool mixed = false;
    for (int i = 0; i < in->n; i++) {
        producers |= (int)types[in->member[i].type].producer;
        consumers |= (int)types[in->member[i].type].consumer;
        mixed |= in->member[i].type != in->member[0].type;
    }
    out->heterogeneous = mixed;
    bool many_p = (producers & (producers - 1)) != 0, many_c = (consumers & (consumers - 1)) != 0;
    weir_group_mode topology = many_p                        ? WEIR_GROUP_MERGE
                               : many_c                      ? WEIR_GROUP_FORK
                               : in->mode == WEIR_GROUP_FORK ? WEIR_GROUP_FORK
                                                             : WEIR_GROUP_MERGE;
    weiri_group_in with_mode = *in; /* a mode left out is the members' */
    if (in->mode == WEIR_GROUP_DEFAULT) with_mode.mode = out->mode = topology;
    bool fork = out->mode == WEIR_GROUP_FORK, fused = out->mode == WEIR_GROUP_FUSED_MERGE;

    for (int i = 1; i < in->n; i++)
        if (!check_member(&with_mode, i, out)) return false;
    for (int i = 0; i < in->n; i++) {
        weir_pipe_type t = in->member[i].type;
        if (t == WEIR_CLC_FETCH_ASYNC || t == WEIR_ASYNC_TMA)
            return misfit(out, "G-CFG-10", "another type",
                          types[t].name,
                          "'%s' is %s; a group takes async_async, async_umma, tma_async, tma_umma, umma_async and umma_umma",
                          in->name[i], types[t].name);
    }
    kinds_text(producers, x, sizeof x);
    kinds_text(consumers, y, sizeof y);
    if (many_p && many_c)
        return misfit(out, "G-CFG-11", "one side alike", "both differ",
                      "members differ on both sides: producers are %s, consumers are %s; keep one side alike", x, y);
    if (mixed && (topology == WEIR_GROUP_FORK) != fork)
        return misfit(out, "G-CFG-12", mode_name(topology), mode_name(out->mode),
                      "mode is \"%s\", but the members' %s differ (%s), which makes a %s", mode_name(out->mode),
                      many_p ? "producers" : "consumers", many_p ? x : y, mode_name(topology));

    bool some_tma = (producers & BY_TMA) != 0, all_tma = producers == BY_TMA;
    if (fork) {
        if (!same_counts(in, true, 0, "", out)) return false;
        for (int i = 1; i < in->n; i++) {
            if (in->member[i].bytes == in->member[0].bytes || !in->member[i].bytes || !in->member[0].bytes) continue;
            snprintf(x, sizeof x, "%lld", (long long)in->member[0].bytes);
            snprintf(y, sizeof y, "%lld", (long long)in->member[i].bytes);
            return misfit(out, "G-CFG-14", x, y,
                          "bytes are %s for '%s', %s for '%s'; in a fork one producer loads once for all members", x,
                          in->name[0], y, in->name[i]);
        }
        for (int i = 0; i < in->n; i++)
            if (in->member[i].advance_on_acquire > 0) /* acquire and the shared commit would both move the cursor */
                return misfit(out, "G-CFG-17", "false", "true",
                              "'%s' has advance_on_acquire; a fork's acquires and its one commit move the same cursor",
                              in->name[i]);
    } else {
        bool ragged = false; /* sizes of TMA members do not count beside those of others */
        for (int i = 0; i < in->n && some_tma && !all_tma; i++)
            ragged |= in->member[i].consumers && types[in->member[i].type].producer != BY_TMA;
        if (!same_counts(in, false, ragged ? BY_TMA : 0, ragged ? " of the non-TMA members" : "", out)) return false;
    }
    if (!same_arrivals(in, out)) return false;
    for (int r = 0; r < 4 && fused; r++)
        if (stride_of(&in->member[0], r) > 1) {
            strides_text(&in->member[0], x, sizeof x);
            return misfit(out, "G-CFG-16", "1", x, "interleave %s is not supported in a fused_merge", x);
        }
    for (int i = 0; i < in->n && mixed && fork; i++) { /* the leader's commit alone never reaches the other CTA's threads */
        weir_cluster c = layout_of(in, &in->member[i]);
        if (producers == BY_THREADS && c.v > 1)
            return misfit(out, "G-CFG-18", "v = 1", "v = 2",
                          "a fork of async_async and async_umma with v = %d: its commit arrives at the leader CTA only, so "
                          "threads of the other CTA would wait forever",
                          c.v);
    }

    out->barriers_per_stage = fused ? 2 : in->n + 1;
    out->type = !mixed                ? in->member[0].type
                : fork                ? type_to_threads(producers)
                : consumers == BY_MMA ? WEIR_ASYNC_UMMA
                                      : WEIR_ASYNC_ASYNC;
    merge_configs(in, out);

    if (!in->given || in->given->type == WEIR_PIPE_NONE) return true;
    if (!check_given(in, out)) return false;
    weir_pipe_desc *m = &out->merged;
    const weir_pipe_desc *g = in->given;
    fill_in(m, g);
    if (!m->producers) m->producers = g->producers;
    if (!m->consumers) m->consumers = g->consumers;
    if (!m->bytes) m->bytes = g->bytes;
    return true;
}

int weiri_group_full(weir_group_mode mode, int n, int stages, int member, int stage) {
    (void)n;
    return mode == WEIR_GROUP_MERGE ? member * stages + stage : stage;
}

int weiri_group_empty(weir_group_mode mode, int n, int stages, int member, int stage) {
    if (mode == WEIR_GROUP_FORK) return (1 + member) * stages + stage;
    return (mode == WEIR_GROUP_FUSED_MERGE ? 1 : n) * stages + stage;
}
