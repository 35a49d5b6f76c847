/* What the two barriers of a pipeline count: arrivals by threads, in a grain that is given or derived, and those that a mechanism
 * fixes. */
#include <string.h>

#include "protocol_own.h"

enum { WARP = 32 }; /* threads */

/* ---- who closes a stage -------------------------------------------------------------------------------------------------- */

share pr_share_of(const weiri_pside *s, int stride) {
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

static int grain_total(weir_grain g, const share *s, reach r) {
    if (!r.single_tasks) return grain_count(g, s) * r.all;
    share once = *s; /* only the queue, whose tasks may run on one CTA; those never act as warpgroups of several CTAs */
    once.warps = s->one_cta_warps;
    share rest = *s;
    rest.warps = s->warps - s->one_cta_warps;
    if (g == WEIR_GRAIN_WARPGROUP) return s->groups * r.all;
    return grain_count(g, &rest) * r.all + grain_count(g, &once);
}

const char *pr_unit_of(weir_grain g, int n) {
    static const char *const one[] = { "", "thread", "warp", "warpgroup" }, *const many[] = { "", "threads", "warps",
                                                                                              "warpgroups" };
    return n == 1 ? one[g] : many[g];
}

void pr_describe_reach(char *sum, size_t size, reach r) {
    size_t k = strlen(sum);
    if (!r.by_rank) {
        if (r.all > 1) snprintf(sum + k, size - k, " x %d CTAs", r.all);
        return;
    }
    int i = 0;
    for (; i < r.ctas && k + 24 < size; i++) k += (size_t)snprintf(sum + k, size - k, i ? ", %d" : " x %d", r.by_rank[i]);
    snprintf(sum + k, size - k, "%s CTAs by rank", i < r.ctas ? ", ..." : "");
}

static void describe(char *sum, size_t size, weir_grain g, const share *s, reach r) {
    int n = grain_count(g, s);
    snprintf(sum, size, "%d %s%s", n, pr_unit_of(g, n), s->per);
    pr_describe_reach(sum, size, r);
}

int pr_arming_warps(const facts *f) {
    share s = pr_share_of(&f->in->producer, f->stride[1]);
    int n = f->twl ? s.tasks : s.warps;
    return n > 0 ? n : 1;
}

/* ---- counts -------------------------------------------------------------------------------------------------------------- */

/* Lanes dealt by the loops' starts must bring equal shares, or each stage would need a count of its own. */
void pr_check_lanes(const char *op, const weiri_pside *s, int stride, weiri_proto *out) {
    if (stride <= 1 || s->domain_lanes < 1 || s->warps % s->domain_lanes == 0) return;
    char expected[48];
    snprintf(expected, sizeof expected, "a multiple of %d", s->domain_lanes);
    pr_fault(out, "V-CNT-06", expected, pr_number(s->warps).s,
             "%s by %d lanes of %d warps in all: give each lane as many warps", op, s->domain_lanes, s->warps);
}

/* The grain whose total is the given count; DEFAULT: none, and that is said. */
static weir_grain grain_of_count(const thread_side *t, weiri_proto *out) {
    const weir_grain tried[4] = { t->standard, WEIR_GRAIN_WARPGROUP, WEIR_GRAIN_WARP, WEIR_GRAIN_THREAD };
    int total[WEIR_GRAIN_WARPGROUP + 1] = { 0 }; /* by grain */
    for (int i = 0; i < 4; i++) {
        if (tried[i] == WEIR_GRAIN_WARPGROUP && !t->share.whole_groups) continue;
        total[tried[i]] = grain_total(tried[i], &t->share, t->reach);
        if (total[tried[i]] == t->given) return tried[i];
    }
    char from[96], expected[48];
    const int warp = total[WEIR_GRAIN_WARP], thread = total[WEIR_GRAIN_THREAD];
    describe(from, sizeof from, WEIR_GRAIN_WARP, &t->share, t->reach);
    if (t->share.whole_groups) snprintf(expected, sizeof expected, "%d, %d or %d", total[WEIR_GRAIN_WARPGROUP], warp, thread);
    else snprintf(expected, sizeof expected, "%d or %d", warp, thread);
    pr_fault(out, t->rule, expected, pr_number(t->given).s,
             "%s = %d, but %s makes %s arrivals per phase (%s; one per %swarp or per thread)", t->field, t->given, t->op,
             expected, from, t->share.whole_groups ? "warpgroup, " : "");
    return WEIR_GRAIN_DEFAULT;
}

/* Settles the grain: as given, else the one whose total is the given count, else the standard one. Returns the count. Where nobody
 * does it that is another rule's matter; the barrier still needs a count. */
int pr_count_threads(const thread_side *t, weir_grain *grain, char *sum, size_t sum_size, weiri_proto *out) {
    weir_grain g = t->grain;
    if (t->share.warps == 0) {
        *grain = g ? g : t->standard;
        snprintf(sum, sum_size, "nobody");
        return t->given > 0 ? t->given : 1;
    }
    if (g == WEIR_GRAIN_WARPGROUP && !t->share.whole_groups) {
        pr_fault(out, "V-CNT-13", "warp or thread", "warpgroup",
                 "grain = \"warpgroup\" for %s: not all of its %d warps%s work as warpgroups; use \"warp\"", t->op,
                 t->share.warps, t->share.per);
        g = WEIR_GRAIN_WARP;
    }
    if (!g && t->given) g = grain_of_count(t, out);
    if (!g) g = t->standard;
    const int count = grain_total(g, &t->share, t->reach);
    describe(sum, sum_size, g, &t->share, t->reach);
    if (t->grain && t->given && t->given != count)
        pr_fault(out, t->rule, pr_number(count).s, pr_number(t->given).s,
                 "%s = %d, but %s with grain \"%s\" makes %d arrivals per phase (%s)", t->field, t->given, t->op,
                 pr_unit_of(g, 1), count, sum);
    *grain = g;
    return count;
}

/* A grain is the author's to choose where threads arrive; elsewhere it says at most what holds anyway (`fixed`, DEFAULT: none). */
void pr_check_grain(const char *field, weir_grain given, weir_grain fixed, const char *type, const char *why,
                    weiri_proto *out) {
    if (!given || given == fixed) return;
    pr_fault(out, "V-CNT-13", fixed ? pr_unit_of(fixed, 1) : "none", pr_unit_of(given, 1),
             "%s = \"%s\" on %s: %s; leave it out", field, pr_unit_of(given, 1), type, why);
}

/* One side whose count the mechanism fixes. `why`: "one commit of the mma". */
int pr_count_fixed(const char *field, int given, const char *rule, int count, const char *why, char *sum, size_t sum_size,
                   weiri_proto *out) {
    snprintf(sum, sum_size, "%s", why);
    if (given && given != count)
        pr_fault(out, rule, pr_number(count).s, pr_number(given).s,
                 "%s = %d, but %d arrival%s reach%s the barrier per phase (%s)", field, given, count, count == 1 ? "" : "s",
                 count == 1 ? "es" : "", why);
    return count;
}
