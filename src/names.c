/* How the plan's things are spelled around the words that are taken. */
#include "names.h"

#include <string.h>

#include "words.h"

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool at_file_scope(weiri_name_kind kind, const char *suffix) {
    return kind == NAME_KERNEL || kind == NAME_BODY || (kind == NAME_QUEUE && strcmp(suffix, "_tile") == 0);
}

static bool is_reserved(weiri_name_kind kind, const char *suffix, const char *s) {
    if (weiri_is_ours(s) && *suffix) return weiri_in_preamble(s); /* W_stride0 of a tensor W is no word of the preamble's */
    if (weiri_taken_by(s) || (kind != NAME_LOOP && weiri_is_local(s))) return true;
    return at_file_scope(kind, suffix) && weiri_is_function(s);
}

/* What is put behind a name of each kind: all of it is taken at once, so that the emitter may put it there. */
static const char *const *suffixes_of(weiri_name_kind kind) {
    static const char *const none[] = { "", NULL };
    static const char *const tensor[] = { "_stride0", "_stride1", "_stride2", "_stride3", "_stride4", "_wide", "_pairs", NULL };
    static const char *const queue[] = { "_tile", "_tiles", "_index", "_next", "_turn", "_counter", "_by0", "_by1", "_by2",
                                         "_by3", "_per0", "_per1", "_per2", "_per3", "_before", "_band", "_in", "_high",
                                         "_row", "_c0", "_c1", "_q0", "_q1", "_q2", "_r0", "_r1", "_r2", NULL };
    static const char *const reg[] = { "", "_live", NULL };
    static const char *const cursor[] = { "_stage", "_phase", "_at", "_close", "_held", NULL };
    static const char *const loop[] = { "", "_end", NULL };
    switch (kind) {
    case NAME_TENSOR: return tensor;
    case NAME_QUEUE: return queue;
    case NAME_REG: return reg;
    case NAME_CURSOR: return cursor;
    case NAME_LOOP: return loop;
    default: return none;
    }
}

static bool is_spelled(const weiri_plan *p, const char *base, const char *suffix) {
    const size_t n = strlen(base);
    for (int i = 0; i < p->names.n; i++) {
        const weiri_spelling *x = &p->names.v[i];
        const size_t m = strlen(x->base);
        /* base + suffix == x->base + one of x's */
        if (m > n ? !begins(x->base, base) : !begins(base, x->base)) continue;
        for (const char *const *s = suffixes_of((weiri_name_kind)x->kind); *s; s++)
            if (m > n ? begins(suffix, x->base + n) && strcmp(suffix + (m - n), *s) == 0
                      : begins(*s, base + m) && strcmp(*s + (n - m), suffix) == 0)
                return true;
    }
    return false;
}

static bool is_free(const weiri_plan *p, weiri_name_kind kind, const char *base) {
    for (const char *const *s = suffixes_of(kind); *s; s++)
        if (is_reserved(kind, *s, weiri_arena_fmt((weiri_arena *)&p->a, "%s%s", base, *s)) || is_spelled(p, base, *s)) return false;
    return true;
}

const char *weiri_name(const weiri_plan *p, weiri_name_kind kind, int index, const char *text) {
    for (int i = 0; i < p->names.n; i++) {
        const weiri_spelling *x = &p->names.v[i];
        if (x->kind == (int)kind && x->index == index && strcmp(x->text, text) == 0) return x->base;
    }
    weiri_arena *a = (weiri_arena *)&p->a;
    weiri_spelling x = { (int)kind, index, weiri_arena_str(a, text), NULL };
    x.base = x.text;
    const char *front = weiri_is_family(text) || weiri_is_family(weiri_arena_fmt(a, "%s_", text))
                            ? "u_"
                            : ""; /* nothing behind such a name makes it another */
    for (int n = 1; !is_free(p, kind, x.base) && !a->oom; n++)
        x.base = n == 1 ? weiri_arena_fmt(a, "%s%s%s", front, text, *front ? "" : "_")
                        : weiri_arena_fmt(a, "%s%s_%d", front, text, n);
    WEIRI_PUSH(a, ((weiri_plan *)p)->names, x);
    return x.base;
}

const char *weiri_kernel_symbol(const weiri_plan *p) { return weiri_name(p, NAME_KERNEL, 0, p->k->name); }
