/* The protocol of a pipeline type: what is given is checked and settled, the bytes are; its rows and counts stand in
 * protocol_rows.c and protocol_count.c. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "protocol_own.h"

/* ---- names and kinds ---------------------------------------------------------------------------------------------------- */

const pipe_kind pr_types[WEIR_PIPE_COUNT] = {
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

bool weiri_filled_by_tma(weir_pipe_type t) { return pr_types[t].producer == BY_TMA; }
bool weiri_filled_by_mma(weir_pipe_type t) { return pr_types[t].producer == BY_MMA; }
bool weiri_read_by_mma(weir_pipe_type t) { return pr_types[t].consumer == BY_MMA; }

const char *weiri_pipe_type_name(weir_pipe_type t) { return (unsigned)t < WEIR_PIPE_COUNT ? pr_types[t].name : "unknown"; }

const char *pr_signal_name(int bits) {
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

weir_cluster pr_filled(weir_cluster c) {
    return (weir_cluster){ c.v > 0 ? c.v : 1, c.m > 0 ? c.m : 1, c.n > 0 ? c.n : 1, c.k > 0 ? c.k : 1 };
}

int weiri_served(weir_cluster c, int serve, bool cross) {
    int m = serve & M ? c.m : 1, n = serve & N ? c.n : 1;
    return (cross ? m + n - 1 : m * n) * (serve & K ? c.k : 1) * (serve & V ? c.v : 1);
}

uint32_t weiri_cta_mask(weir_cluster c, int rank, int serve, bool cross) {
    uint32_t mask = 0;
    int v = rank % c.v, m = rank / c.v % c.m, n = rank / (c.v * c.m) % c.n, k = rank / (c.v * c.m * c.n);
    for (int r = 0; r < pr_ctas(c); r++) {
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

void pr_fault(weiri_proto *out, const char *rule, const char *expected, const char *got, const char *fmt, ...) {
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

static void check_signaling(const weir_pipe_desc *d, weiri_proto *out) {
    const struct {
        const char *field;
        int bits;
        const char *rule;
    } given[3] = {
        { "producer_signaling", d->producer_signaling, "CF2" },
        { "consumer_signaling", d->consumer_signaling, "CF3" },
        { "consumer_wait_signaling", d->consumer_wait_signaling, "CF3" },
    };
    for (int i = 0; i < 3; i++)
        if (strcmp(pr_signal_name(given[i].bits), "unknown") == 0)
            pr_fault(out, given[i].rule, "all, cta_leader, task_warp_leader or both", pr_number(given[i].bits).s,
                     "%s is %d; it is \"all\", \"cta_leader\", \"task_warp_leader\" or \"cta_leader+task_warp_leader\"",
                     given[i].field, given[i].bits);
}

static void check_bytes(const weir_pipe_desc *d, weiri_proto *out) {
    const kind by = pr_types[d->type].producer;
    const long long bytes = d->bytes, each = d->bytes_per_warp_per_cta;
    if (bytes < 0) pr_fault(out, "CN2", "0 or more", pr_number(bytes).s, "bytes = %lld is negative", bytes);
    else if (bytes > 0 && by != BY_TMA && by != BY_CLC)
        pr_fault(out, "CN3", "0", pr_number(bytes).s,
                 "bytes = %lld on %s: no copy engine brings bytes to its barrier; leave bytes out", bytes,
                 pr_types[d->type].name);
    if (each > 0 && by != BY_TMA)
        pr_fault(out, "CN3", "0", pr_number(each).s,
                 "bytes_per_warp_per_cta = %lld on %s: no warp of its producer loads by TMA; leave it out", each,
                 pr_types[d->type].name);
}

/* Fills in the strides that are left out. */
static void check_strides(const weir_pipe_desc *d, int stride[4], weiri_proto *out) {
    char expected[48];
    bool fit = true;
    for (int i = 0; i < 4; i++) {
        stride[i] = d->interleave[i] ? d->interleave[i] : 1;
        if (stride[i] >= 1) continue;
        pr_fault(out, "CF10", "at least 1", pr_number(stride[i]).s, "interleave of %s is %d; it is at least 1", roles[i],
                 stride[i]);
        stride[i] = 1;
        fit = false;
    }
    for (int i = 0; i < 4 && d->stages > 0; i++) {
        if (d->stages % stride[i] == 0) continue;
        snprintf(expected, sizeof expected, "a divisor of %d", d->stages);
        pr_fault(out, "P-ILV-01", expected, pr_number(stride[i]).s,
                 "interleave of %s is %d, which does not divide the %d stages", roles[i], stride[i], d->stages);
        fit = false;
    }
    for (int i = 0; i < 4 && fit; i += 2) {
        if (stride[i] == stride[i + 1] || (i == 0 ? d->advance_on_acquire : d->advance_on_wait) >= 0) continue;
        pr_fault(out, i == 0 ? "CF12" : "CF13", "true", "false",
                 "interleave of %s is %d, of %s %d: they need %s, which is given as false", roles[i], stride[i], roles[i + 1],
                 stride[i + 1], i == 0 ? "advance_on_acquire" : "advance_on_wait");
    }
}

/* Faults of the fields alone. */
static void check_fields(const weir_pipe_desc *d, int stride[4], weiri_proto *out) {
    check_signaling(d, out);
    if (d->producer_op == WEIR_PRODUCER_LOAD && pr_types[d->type].producer != BY_THREADS)
        pr_fault(out, "CF5", "thread", "load",
                 "producer_op = \"load\" on %s: only the threads of async_async and async_umma copy by cp.async",
                 pr_types[d->type].name);
    if (d->stages < 1)
        pr_fault(out, "CN1", "at least 1", pr_number(d->stages).s, "stages = %d; a pipeline has at least 1", d->stages);
    check_bytes(d, out);
    if (d->consumer_wait_signaling && d->consumer_wait_signaling == d->consumer_signaling)
        pr_fault(out, "CN5", "", pr_signal_name(d->consumer_signaling),
                 "consumer_wait_signaling and consumer_signaling are both \"%s\"; leave the first out",
                 pr_signal_name(d->consumer_signaling));
    check_strides(d, stride, out);
}

/* The interleave rules that need nothing of the schedule. */
static void check_interleave(const weiri_proto_in *in, const int stride[4], weiri_proto *out) {
    int most = 1;
    for (int i = 0; i < 4; i++)
        if (stride[i] > most) most = stride[i];
    if (most == 1) return;
    const number_text number = pr_number(most);
    const weir_pipe_type t = in->given.type;
    const char *got = number.s, *name = pr_types[t].name;
    if (t == WEIR_UMMA_UMMA || t == WEIR_CLC_FETCH_ASYNC || t == WEIR_ASYNC_TMA)
        pr_fault(out, "V-ILV-01", "1", got,
                 "interleave %d on %s: only async_async, tma_async, tma_umma, umma_async and async_umma interleave", most,
                 name);
    else if (t == WEIR_TMA_ASYNC && pr_ctas(in->cluster) > 1)
        pr_fault(out, "V-ILV-02", "1 CTA", got, "interleave %d on tma_async in a cluster of %d CTAs; it needs a cluster of 1",
                 most, pr_ctas(in->cluster));
    else if (t == WEIR_UMMA_ASYNC && (stride[0] > 1 || stride[1] > 1))
        pr_fault(out, "V-ILV-03", "1", got,
                 "interleave of acquire %d, commit %d on umma_async: its producer side is not interleaved", stride[0],
                 stride[1]);
    else if (t == WEIR_ASYNC_UMMA && (stride[2] > 1 || stride[3] > 1))
        pr_fault(out, "V-ILV-04", "1", got,
                 "interleave of wait %d, release %d on async_umma: its consumer side is not interleaved", stride[2], stride[3]);
    else if (in->arch < WEIR_ARCH_SM_100A && pr_types[t].consumer == BY_MMA && stride[3] > 1 && !in->consumer.domain_lanes)
        pr_fault(
            out, "V-ILV-06", "a task per lane", got,
            "interleave %d deals the stages of %s to single warps, but wgmma takes a warpgroup; use one task of 4 warps per "
            "lane",
            stride[3], name);
}

/* ---- bytes -------------------------------------------------------------------------------------------------------------- */

enum { MAX_TX = (1 << 20) - 1 }; /* bytes an mbarrier may expect per phase (PTX ISA, "tx-count": 2^20 - 1) */

static void settle_response(const facts *f, weiri_proto *out) {
    const long long bytes = f->in->given.bytes;
    out->expect_bytes = out->full_tx = CLC_BYTES;
    if (bytes > 0 && bytes != CLC_BYTES)
        pr_fault(out, "V-BYT-02", "16", pr_number(bytes).s, "bytes = %lld, but a response of the tile scheduler has %d", bytes,
                 CLC_BYTES);
}

/* Do other CTAs load what the leader's barrier counts? */
static bool is_routed(const facts *f) {
    const weiri_pside *p = &f->in->producer;
    return pr_ctas(f->c) > 1 && p->tasks > p->one_cta_tasks &&
           (pr_leads(f->in->given.consumer_signaling) || pr_leads(f->wsig) || f->in->consumer.one_cta_tasks > 0);
}

/* Bytes of one arming by what is declared a warp and CTA; 0: nothing is. */
static int64_t required_bytes(const facts *f, int arming, bool routed, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const weiri_pside *p = &f->in->producer;
    const bool aggregate = f->twl && p->warps > p->tasks;
    const int mult = !routed ? 1 : f->type == WEIR_TMA_UMMA ? f->c.v : pr_ctas(f->c);
    if (d->bytes_per_warp_per_cta <= 0) {
        if (d->bytes > 0 && f->in->tx <= 0 && (routed || aggregate)) /* nothing else to check the bytes against */
            pr_fault(out, "V-BYT-01", "bytes_per_warp_per_cta", "none",
                     "bytes = %lld are given, so bytes_per_warp_per_cta must be declared too: %s", (long long)d->bytes,
                     aggregate ? "the first warp of a task arms what all its warps load"
                               : "the leader CTA's barrier counts what other CTAs load");
        return 0;
    }
    const int64_t required = d->bytes_per_warp_per_cta * mult * pr_share_of(p, f->stride[1]).warps / arming;
    if (d->bytes > 0 && d->bytes != required)
        pr_fault(out, "V-BYT-02", pr_number(required).s, pr_number(d->bytes).s,
                 "bytes = %lld, but bytes_per_warp_per_cta %lld x %d CTA%s x %d producer warp%s / %d that arm%s = %lld",
                 (long long)d->bytes, (long long)d->bytes_per_warp_per_cta, mult, mult == 1 ? "" : "s", p->warps,
                 p->warps == 1 ? "" : "s", arming, arming == 1 ? "s" : "", (long long)required);
    return required;
}

/* TMA and CLC producers: the bytes, given and derived. With v = 2 the leader's barrier counts both halves of what the copies
 * bring. */
static void settle_bytes(const facts *f, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    if (pr_types[f->type].producer == BY_CLC) settle_response(f, out);
    if (pr_types[f->type].producer != BY_TMA) return;
    const int arming = pr_arming_warps(f) * (f->in->senders ? f->in->senders : 1);
    const bool routed = is_routed(f);
    const int64_t required = required_bytes(f, arming, routed, out), declared = d->bytes > 0 ? d->bytes : required;
    const int64_t landed = f->in->tx * (f->type == WEIR_TMA_UMMA ? f->c.v : 1);
    out->full_tx = landed > 0 ? landed : declared * arming;
    out->expect_bytes = out->full_tx / arming;
    const bool told = out->nfaults > 0 && strncmp(out->fault[out->nfaults - 1].rule, "V-BYT", 5) == 0;
    if (landed > 0 && declared > 0 && declared * arming != landed && !(routed && f->type == WEIR_TMA_ASYNC) && !told)
        pr_fault(out, "V-BYT-02", pr_number(landed / arming).s, pr_number(declared).s,
                 "bytes = %lld are armed per stage, but the copies bring %lld", (long long)(declared * arming),
                 (long long)landed);
    if (out->full_tx > MAX_TX)
        pr_fault(out, "V-BYT-04", pr_number(MAX_TX).s, pr_number(out->full_tx).s,
                 "%lld bytes per stage: an mbarrier counts at most %d per phase; split the tile", (long long)out->full_tx,
                 MAX_TX);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

/* Who leads. Unwritten signaling of an mma side at v = 2 is the leader's: one mma reads and writes both CTAs' halves. */
static void settle_signaling(facts *f, weiri_proto *out) {
    const weir_pipe_desc *d = &f->in->given;
    const char *name = pr_types[d->type].name;
    if (d->producer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER) {
        f->twl = weiri_filled_by_tma(d->type);
        if (!f->twl)
            pr_fault(out, "V-CNT-01", "all or cta_leader", pr_signal_name(d->producer_signaling),
                     "producer_signaling = \"%s\" on %s: only a TMA producer's first warp can arm for its task",
                     pr_signal_name(d->producer_signaling), name);
    }
    if ((d->consumer_signaling | d->consumer_wait_signaling) & WEIR_SIGNAL_TASK_WARP_LEADER) {
        const bool release = (d->consumer_signaling & WEIR_SIGNAL_TASK_WARP_LEADER) != 0;
        const char *mode = pr_signal_name(release ? d->consumer_signaling : d->consumer_wait_signaling);
        pr_fault(out, "V-CNT-02", "all or cta_leader", mode, "%s = \"%s\" on %s: consumers have no task-warp leader",
                 release ? "consumer_signaling" : "consumer_wait_signaling", mode, name);
    }
    f->psig = d->producer_signaling;
    f->csig = d->consumer_signaling;
    if (f->c.v > 1 && !f->psig && weiri_filled_by_mma(d->type)) f->psig = WEIR_SIGNAL_CTA_LEADER;
    if (f->c.v > 1 && !f->csig && weiri_read_by_mma(d->type)) f->csig = WEIR_SIGNAL_CTA_LEADER;
    f->wsig = d->consumer_wait_signaling ? d->consumer_wait_signaling : f->csig;
}

void weiri_protocol(const weiri_proto_in *in, weiri_proto *out) {
    *out = (weiri_proto){ .has_full = true, .has_empty = true };
    const weir_pipe_type t = in->given.type;
    facts f = { .in = in, .type = t, .c = pr_filled(in->cluster), .native = in->arch >= WEIR_ARCH_SM_100A };
    if (t <= WEIR_PIPE_NONE || t >= WEIR_PIPE_COUNT) {
        out->has_full = out->has_empty = false;
        return;
    }
    if (in->arch < WEIR_ARCH_SM_90A && t != WEIR_ASYNC_ASYNC) {
        pr_fault(out, "PLAN-ARCH", "", "", "%s needs the copy engine or tensor cores of sm_90a or sm_100a", pr_types[t].name);
        out->has_full = out->has_empty = false;
        return;
    }
    check_fields(&in->given, f.stride, out);
    check_interleave(in, f.stride, out);
    const bool tensor = weiri_filled_by_mma(t) || weiri_read_by_mma(t) || pr_types[t].producer == BY_CLC;
    if (tensor && !f.native && f.c.v > 1)
        pr_fault(out, "X-V2-01", "v = 1", "v = 2",
                 "%s with v = %d: CTAs share an mma on sm_100a only; use cluster = { m = %d } and let the loads of B multicast "
                 "along m",
                 pr_types[t].name, f.c.v, f.c.v * f.c.m);
    settle_signaling(&f, out);
    if (in->same_warpgroup) {
        pr_fill_and_store(&f, out);
        return;
    }
    pr_check_lanes("commit", &in->producer, f.stride[1], out);
    pr_check_lanes("release", &in->consumer, f.stride[3], out);
    pr_produce(&f, out);
    pr_consume(&f, out);
    pr_check_followers(&f, out);
    settle_bytes(&f, out);
    pr_count_closing(&f, out);
}

/* ---- cursors ------------------------------------------------------------------------------------------------------------ */

void weiri_cursor_at(int stages, int stride, int lane, bool producer, int64_t n, int *stage, int *phase) {
    int64_t at = lane + n * stride;
    *stage = (int)(at % stages);
    *phase = (int)(at / stages % 2) ^ (producer ? 1 : 0);
}
