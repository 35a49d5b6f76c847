/* Pipelines that share barriers: which fit one group, what the group's pipeline is, and what a member leaves out and another
 * says. */
#include <stdarg.h>
#include <string.h>

#include "protocol_own.h"

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
    return pr_filled(c.v || c.m || c.n || c.k ? c : in->cluster);
}

static bool same_layout(weir_cluster a, weir_cluster b) { return a.v == b.v && a.m == b.m && a.n == b.n && a.k == b.k; }

static void layout_text(weir_cluster c, char *out, size_t size) {
    snprintf(out, size, "{ %d, %d, %d, %d }", c.v, c.m, c.n, c.k);
}

static const char *flag_text(int flag) { return flag > 0 ? "true" : flag < 0 ? "false" : "derived"; }

/* ---- members against each other ----------------------------------------------------------------------------------------- */

/* Fields in which every member must agree with the first. */
static bool check_member(const weiri_group_in *in, int i, weiri_group_out *out) {
    const weir_pipe_desc *a = &in->member[0], *b = &in->member[i];
    const char *an = in->name[0], *bn = in->name[i];
    weir_group_mode mode = in->mode;
    char x[64], y[64];
    if (a->stages != b->stages)
        return misfit(out, "G-CFG-04", pr_number(a->stages).s, pr_number(b->stages).s,
                      "'%s' has %d stages, '%s' %d; members share their stages", an, a->stages, bn, b->stages);
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
            return misfit(out, "G-CFG-15", pr_signal_name(signal[s].a), pr_signal_name(signal[s].b),
                          "a %s needs one %s: '%s' has \"%s\", '%s' \"%s\"", mode_name(mode), signal[s].field, an,
                          pr_signal_name(signal[s].a), bn, pr_signal_name(signal[s].b));
    return true;
}

static const char *op_text(int op) { return op == WEIR_PRODUCER_LOAD ? "load" : "thread"; }
static const char *grain_text(int grain) { return pr_unit_of((weir_grain)grain, 1); }

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
    if (pr_types[d->type].producer == BY_THREADS && producer) {
        if (!d->producer_grain) d->producer_grain = from->producer_grain;
        if (!d->producer_op) d->producer_op = from->producer_op;
    }
    if (pr_types[d->type].consumer == BY_THREADS && !producer && !d->grain) d->grain = from->grain;
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
        if (!count || (int)pr_types[d->type].producer == skip) continue;
        if (first < 0) {
            first = i;
            continue;
        }
        const weir_pipe_desc *f = &in->member[first];
        int want = producers ? f->producers : f->consumers;
        if (count == want) continue;
        return misfit(out, "G-CFG-13", pr_number(want).s, pr_number(count).s,
                      "a %s has one %s barrier, but %s%s is %d for '%s', %d for '%s'", mode_name(out->mode),
                      producers ? "full" : "empty", producers ? "producers" : "consumers", among, want, in->name[first], count,
                      in->name[i]);
    }
    return true;
}

/* ---- the group's pipeline ---------------------------------------------------------------------------------------------- */

static void merge_configs(const weiri_group_in *in, weiri_group_out *out) {
    const weir_pipe_desc *first = &in->member[0];
    weir_pipe_desc *m = &out->merged;
    bool fork = out->mode == WEIR_GROUP_FORK, mixed_tma = false;
    for (int i = 0; i < in->n; i++)
        mixed_tma |= (pr_types[in->member[i].type].producer == BY_TMA) != (pr_types[first->type].producer == BY_TMA);
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
        bool counts = fork || !mixed_tma || pr_types[d->type].producer != BY_TMA;
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
    if (pr_types[d->type].producer == BY_TMA && !d->bytes_per_warp_per_cta)
        d->bytes_per_warp_per_cta = g->bytes_per_warp_per_cta;
    take_by(d, g, true);
    take_by(d, g, false);
}

/* One member against the group's own pipeline. */
static bool check_given_member(const weiri_group_in *in, int i, weiri_group_out *out) {
    const weir_pipe_desc *g = in->given, *d = &in->member[i];
    const char *name = in->name[i];
    char x[64], y[64];
    layout_text(layout_of(in, g), x, sizeof x);
    layout_text(layout_of(in, d), y, sizeof y);
    if (!same_layout(layout_of(in, g), layout_of(in, d)))
        return misfit(out, "G-CFG-07", y, x, "cta_layout is %s for the group, %s for '%s'", x, y, name);
    const struct {
        const char *field, *rule;
        int group, member;
        const char *(*text)(int);
    } same[] = {
        { "producer_signaling", "G-CFG-15", g->producer_signaling, d->producer_signaling, pr_signal_name },
        { "consumer_signaling", "G-CFG-15", g->consumer_signaling, d->consumer_signaling, pr_signal_name },
        { "consumer_wait_signaling", "G-CFG-15", g->consumer_wait_signaling, d->consumer_wait_signaling, pr_signal_name },
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
    const long long each = d->bytes_per_warp_per_cta, asked = g->bytes_per_warp_per_cta;
    if (!each || !asked || each == asked) return true;
    return misfit(out, "V-GRP-04", pr_number(each).s, pr_number(asked).s,
                  "bytes_per_warp_per_cta is %lld for the group, %lld for '%s'", asked, each, name);
}

/* The group's own pipeline says nothing else than its members do. What they leave out it may say for them (weiri_group_inherit). */
static bool check_given(const weiri_group_in *in, weiri_group_out *out) {
    const weir_pipe_desc *g = in->given, *m = &out->merged;
    const bool fork = out->mode == WEIR_GROUP_FORK;
    char x[64], y[64];
    if (g->stages && g->stages != m->stages)
        return misfit(out, "V-GRP-02", pr_number(m->stages).s, pr_number(g->stages).s,
                      "the group's pipeline has %d stages, '%s' %d", g->stages, in->name[0], m->stages);
    if (!same_strides(g, m)) {
        strides_text(m, x, sizeof x);
        strides_text(g, y, sizeof y);
        return misfit(out, "G-CFG-06", x, y, "interleave is %s for the group, %s for '%s'", y, x, in->name[0]);
    }
    if (g->type != m->type)
        return misfit(out, "V-GRP-03", pr_types[m->type].name, pr_types[g->type].name,
                      "the group's pipeline is %s, its members make %s", pr_types[g->type].name, pr_types[m->type].name);
    if (g->bytes && m->bytes && g->bytes != m->bytes)
        return misfit(out, "V-GRP-04", pr_number(m->bytes).s, pr_number(g->bytes).s,
                      fork ? "bytes = %lld of the group, but its one load brings %lld"
                           : "bytes = %lld of the group, but its members add up to %lld",
                      (long long)g->bytes, (long long)m->bytes);
    if (g->producer_op == WEIR_PRODUCER_LOAD && pr_types[g->type].producer != BY_THREADS)
        return misfit(out, "CF5", "thread", "load", "producer_op = \"load\" on %s: only threads copy by cp.async",
                      pr_types[g->type].name);
    for (int side = 0; side < 2; side++) {
        const int given = side ? g->consumers : g->producers, made = side ? m->consumers : m->producers;
        if (!given || !made || given == made) continue;
        return misfit(out, "G-CFG-13", pr_number(made).s, pr_number(given).s, "%s = %d of the group, but its members %s %d",
                      side ? "consumers" : "producers", given, (side == 1) == fork ? "add up to" : "have", made);
    }
    for (int i = 0; i < in->n; i++)
        if (!check_given_member(in, i, out)) return false;
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

/* ---- the whole ---------------------------------------------------------------------------------------------------------- */

/* The type that fills by the one kind of all producers and is read by threads. */
static weir_pipe_type type_to_threads(int producers) {
    return producers == BY_TMA ? WEIR_TMA_ASYNC : producers == BY_MMA ? WEIR_UMMA_ASYNC : WEIR_ASYNC_ASYNC;
}

/* Does the list name pipelines, each once? */
static bool check_list(const weiri_group_in *in, weiri_group_out *out) {
    if (in->n < 1) return misfit(out, "G-CFG-01", "at least one member", "none", "a group has at least one member");
    for (int i = 0; i < in->n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(in->name[i], in->name[j]) == 0)
                return misfit(out, "G-CFG-02", "once", "twice", "'%s' is listed twice", in->name[i]);
    for (int i = 0; i < in->n; i++)
        if (in->member[i].type == WEIR_PIPE_NONE)
            return misfit(out, "G-CFG-03", "a pipeline", "none",
                          "'%s' has no pipeline; only pipelined resources share barriers", in->name[i]);
    return true;
}

/* Who fills the members and who reads them: sets of kinds. */
typedef struct sides {
    int producers, consumers;
    bool many_producers, many_consumers; /* more than one kind */
} sides;

static sides sides_of(const weiri_group_in *in) {
    sides s = { 0 };
    for (int i = 0; i < in->n; i++) {
        s.producers |= (int)pr_types[in->member[i].type].producer;
        s.consumers |= (int)pr_types[in->member[i].type].consumer;
    }
    s.many_producers = (s.producers & (s.producers - 1)) != 0;
    s.many_consumers = (s.consumers & (s.consumers - 1)) != 0;
    return s;
}

/* One side alike, and the mode shares that one. */
static bool check_kinds(const weiri_group_in *in, const sides *s, weir_group_mode topology, weiri_group_out *out) {
    char x[64], y[64];
    for (int i = 0; i < in->n; i++) {
        const weir_pipe_type t = in->member[i].type;
        if (t == WEIR_CLC_FETCH_ASYNC || t == WEIR_ASYNC_TMA)
            return misfit(out, "G-CFG-10", "another type", pr_types[t].name,
                          "'%s' is %s; a group takes async_async, async_umma, tma_async, tma_umma, umma_async and umma_umma",
                          in->name[i], pr_types[t].name);
    }
    kinds_text(s->producers, x, sizeof x);
    kinds_text(s->consumers, y, sizeof y);
    if (s->many_producers && s->many_consumers)
        return misfit(out, "G-CFG-11", "one side alike", "both differ",
                      "members differ on both sides: producers are %s, consumers are %s; keep one side alike", x, y);
    if (out->heterogeneous && (topology == WEIR_GROUP_FORK) != (out->mode == WEIR_GROUP_FORK))
        return misfit(out, "G-CFG-12", mode_name(topology), mode_name(out->mode),
                      "mode is \"%s\", but the members' %s differ (%s), which makes a %s", mode_name(out->mode),
                      s->many_producers ? "producers" : "consumers", s->many_producers ? x : y, mode_name(topology));
    return true;
}

/* One producer loads once for all members; acquire and the shared commit must not both move the cursor. */
static bool check_fork(const weiri_group_in *in, weiri_group_out *out) {
    const long long bytes = in->member[0].bytes;
    if (!same_counts(in, true, 0, "", out)) return false;
    for (int i = 1; i < in->n; i++) {
        const long long other = in->member[i].bytes;
        if (other == bytes || !other || !bytes) continue;
        return misfit(out, "G-CFG-14", pr_number(bytes).s, pr_number(other).s,
                      "bytes are %lld for '%s', %lld for '%s'; in a fork one producer loads once for all members", bytes,
                      in->name[0], other, in->name[i]);
    }
    for (int i = 0; i < in->n; i++)
        if (in->member[i].advance_on_acquire > 0)
            return misfit(out, "G-CFG-17", "false", "true",
                          "'%s' has advance_on_acquire; a fork's acquires and its one commit move the same cursor",
                          in->name[i]);
    return true;
}

/* Sizes of TMA members do not count beside those of others. */
static bool check_merge(const weiri_group_in *in, const sides *s, weiri_group_out *out) {
    const bool mixed_tma = s->producers & BY_TMA && s->producers != BY_TMA;
    bool ragged = false;
    for (int i = 0; i < in->n && mixed_tma; i++)
        ragged |= in->member[i].consumers && pr_types[in->member[i].type].producer != BY_TMA;
    return same_counts(in, false, ragged ? BY_TMA : 0, ragged ? " of the non-TMA members" : "", out);
}

/* What the mode cannot do. */
static bool check_mode(const weiri_group_in *in, const sides *s, weiri_group_out *out) {
    const bool fork = out->mode == WEIR_GROUP_FORK, fused = out->mode == WEIR_GROUP_FUSED_MERGE;
    char x[64];
    for (int r = 0; r < 4 && fused; r++)
        if (stride_of(&in->member[0], r) > 1) {
            strides_text(&in->member[0], x, sizeof x);
            return misfit(out, "G-CFG-16", "1", x, "interleave %s is not supported in a fused_merge", x);
        }
    for (int i = 0; i < in->n && out->heterogeneous && fork;
         i++) { /* the leader's commit never reaches the other CTA's threads */
        const weir_cluster c = layout_of(in, &in->member[i]);
        if (s->producers == BY_THREADS && c.v > 1)
            return misfit(out, "G-CFG-18", "v = 1", "v = 2",
                          "a fork of async_async and async_umma with v = %d: its commit arrives at the leader CTA only, so "
                          "threads of the other CTA would wait forever",
                          c.v);
    }
    return true;
}

bool weiri_group_check(const weiri_group_in *in, weiri_group_out *out) {
    *out = (weiri_group_out){ .mode = in->mode };
    if (!check_list(in, out)) return false;
    const sides s = sides_of(in);
    for (int i = 1; i < in->n; i++) out->heterogeneous |= in->member[i].type != in->member[0].type;
    const weir_group_mode topology = s.many_producers              ? WEIR_GROUP_MERGE
                                     : s.many_consumers            ? WEIR_GROUP_FORK
                                     : in->mode == WEIR_GROUP_FORK ? WEIR_GROUP_FORK
                                                                   : WEIR_GROUP_MERGE;
    weiri_group_in with_mode = *in; /* a mode left out is the members' */
    if (in->mode == WEIR_GROUP_DEFAULT) with_mode.mode = out->mode = topology;
    const bool fork = out->mode == WEIR_GROUP_FORK;
    for (int i = 1; i < in->n; i++)
        if (!check_member(&with_mode, i, out)) return false;
    if (!check_kinds(in, &s, topology, out)) return false;
    if (fork ? !check_fork(in, out) : !check_merge(in, &s, out)) return false;
    if (!same_arrivals(in, out) || !check_mode(in, &s, out)) return false;
    out->barriers_per_stage = out->mode == WEIR_GROUP_FUSED_MERGE ? 2 : in->n + 1;
    out->type = !out->heterogeneous     ? in->member[0].type
                : fork                  ? type_to_threads(s.producers)
                : s.consumers == BY_MMA ? WEIR_ASYNC_UMMA
                                        : WEIR_ASYNC_ASYNC;
    merge_configs(in, out);
    if (!in->given || in->given->type == WEIR_PIPE_NONE) return true;
    if (!check_given(in, out)) return false;
    weir_pipe_desc *m = &out->merged;
    fill_in(m, in->given);
    if (!m->producers) m->producers = in->given->producers;
    if (!m->consumers) m->consumers = in->given->consumers;
    if (!m->bytes) m->bytes = in->given->bytes;
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
