/* The protocol of pipelines, between its own files: protocol.c has the types, what is given and the bytes; protocol_count.c what
 * barriers count; protocol_rows.c what the ops of each side do; protocol_group.c which pipelines fit one group. */
#ifndef WEIRI_PROTOCOL_OWN_H
#define WEIRI_PROTOCOL_OWN_H

#include <stdio.h>

#include "mem.h"
#include "protocol.h"

/* The names as the linker sees them. */
#define pr_types weiri_pr_types
#define pr_signal_name weiri_pr_signal_name
#define pr_filled weiri_pr_filled
#define pr_fault weiri_pr_fault
#define pr_unit_of weiri_pr_unit_of
#define pr_share_of weiri_pr_share_of
#define pr_describe_reach weiri_pr_describe_reach
#define pr_check_lanes weiri_pr_check_lanes
#define pr_check_grain weiri_pr_check_grain
#define pr_count_threads weiri_pr_count_threads
#define pr_count_fixed weiri_pr_count_fixed
#define pr_arming_warps weiri_pr_arming_warps
#define pr_produce weiri_pr_produce
#define pr_consume weiri_pr_consume
#define pr_check_followers weiri_pr_check_followers
#define pr_fill_and_store weiri_pr_fill_and_store
#define pr_count_closing weiri_pr_count_closing

enum {
    M = 1,
    N = 2,
    K = 4,
    V = 8,         /* axes bits of `targets` and `serve` */
    CLC_BYTES = 16 /* one response of the tile scheduler */
};

typedef enum kind { BY_THREADS = 1, BY_TMA = 2, BY_MMA = 4, BY_CLC = 8, BY_STORE = 16 } kind; /* who fills, who reads */
typedef struct pipe_kind {
    const char *name;
    kind producer, consumer;
} pipe_kind;

/* A number as text, as long as the expression lasts that it stands in. */
typedef struct number_text {
    char s[24];
} number_text;
static inline number_text pr_number(int64_t x) {
    number_text t;
    snprintf(t.s, sizeof t.s, "%lld", (long long)x);
    return t;
}

/* Warps, warpgroups, tasks of a side that close one stage: of an interleaved side those of one lane. */
typedef struct share {
    int warps, groups, tasks;
    int one_cta_warps;
    bool whole_groups; /* every warp is one of a warpgroup that acts as one */
    const char *per;   /* "" or " of a lane" */
} share;

/* How often a count of one CTA arrives: from `all` CTAs; tasks that run on one CTA only count once. */
typedef struct reach {
    int all;
    bool single_tasks;
    const uint8_t *by_rank; /* how many, where it differs; `all` is that of CTA 0 (of pushes: of the CTA with the most) */
    int ctas;
} reach;

/* One side whose threads arrive. */
typedef struct thread_side {
    const char *field, *op;     /* "consumers", "release" */
    const char *rule;           /* of a wrong count */
    int given;                  /* 0: derived */
    weir_grain grain, standard; /* given (DEFAULT: not), and what holds without */
    share share;
    reach reach;
} thread_side;

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

static inline int pr_ctas(weir_cluster c) { return c.v * c.m * c.n * c.k; }
static inline bool pr_leads(int signaling) { return (signaling & WEIR_SIGNAL_CTA_LEADER) != 0; }
/* CTA-leader rows mean something only where V > 1. */
static inline bool pr_gated(const facts *f, int signaling) { return f->c.v > 1 && pr_leads(signaling); }

/* protocol.c */
extern const pipe_kind pr_types[WEIR_PIPE_COUNT];
const char *pr_signal_name(int bits);
weir_cluster pr_filled(weir_cluster c); /* no zeros */
/* One finding; further ones past the table are follow-ups of those in it and are dropped. */
void pr_fault(weiri_proto *out, const char *rule, const char *expected, const char *got, const char *fmt, ...)
    WEIRI_PRINTF(5, 6);

/* protocol_count.c */
const char *pr_unit_of(weir_grain g, int n); /* "warp", "warps" */
share pr_share_of(const weiri_pside *s, int stride);
int pr_arming_warps(const facts *f); /* warps that arm one stage of a TMA producer, in one CTA */
/* Appends " x 2 CTAs"; where it differs: " x 2, 1 CTAs by rank", the last of many as ", ..." */
void pr_describe_reach(char *sum, size_t size, reach r);
void pr_check_lanes(const char *op, const weiri_pside *s, int stride, weiri_proto *out);
void pr_check_grain(const char *field, weir_grain given, weir_grain fixed, const char *type, const char *why, weiri_proto *out);
int pr_count_threads(const thread_side *t, weir_grain *grain, char *sum, size_t sum_size, weiri_proto *out);
int pr_count_fixed(const char *field, int given, const char *rule, int count, const char *why, char *sum, size_t sum_size,
                   weiri_proto *out);

/* protocol_rows.c: acquire, commit, full_count; wait, release, empty_count; both sides of async_tma inside one task; X-SIG-01; the
 * arrivals of one op by one actor. */
void pr_produce(const facts *f, weiri_proto *out);
void pr_consume(const facts *f, weiri_proto *out);
void pr_fill_and_store(const facts *f, weiri_proto *out);
void pr_check_followers(const facts *f, weiri_proto *out);
void pr_count_closing(const facts *f, weiri_proto *out);

#endif
