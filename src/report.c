/* Findings and the report they end up in. */
#include "report.h"

#include <string.h>

#include "rules.h"

/* ---- rules -------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *id;
    weir_severity severity;
} rules[] = {
#define ROW(id, severity, title) { id, severity }, /* titles are for the pages */
    WEIRI_RULES(ROW)
#undef ROW
};
enum { NRULES = (int)(sizeof rules / sizeof *rules) };

static int find_rule(const char *id) {
    for (int i = 0; i < NRULES; i++)
        if (strcmp(rules[i].id, id) == 0) return i;
    return -1;
}

/* ---- findings ----------------------------------------------------------------------------------------------------------- */

const char *weiri_file_name(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

weir_finding *weiri_find(weiri_findings *f, const char *rule, const weir_place *at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = weiri_arena_vfmt(f->a, fmt, ap);
    va_end(ap);
    int i = find_rule(rule);
    weir_finding out = { .rule = i < 0 ? weiri_arena_str(f->a, rule) : rules[i].id,
                         .severity = i < 0 ? WEIR_ERROR : rules[i].severity,
                         .message = text,
                         .file = at ? at->file : NULL,
                         .line = at ? at->line : 0 };
    WEIRI_PUSH(f->a, f->list, out);
    return &f->list.v[f->list.n - 1];
}

int weiri_findings_errors(const weiri_findings *f) {
    int n = 0;
    for (int i = 0; i < f->list.n; i++) n += f->list.v[i].severity == WEIR_ERROR;
    return n;
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* ---- report ------------------------------------------------------------------------------------------------------------- */

weir_report *weiri_report_new(weir_ctx *c) {
    weir_report *r = weiri_alloc(c, sizeof *r);
    if (!r) return NULL;
    r->ctx = c;
    weiri_arena_init(&r->a, c);
    r->text = "";
    return r;
}

void weir_report_free(weir_report *r) {
    if (!r) return;
    weiri_arena_free(&r->a);
    weiri_free(r->ctx, r, sizeof *r);
}

/* Names that the message has in quotes or before a method, behind those given: 'smem_a', acc:mma. */
static void take_objects(weir_report *r, weir_finding *x) {
    int n = 0;
    while (n < 4 && x->objects[n]) n++;
    for (const char *s = x->message; *s && n < 4; s++) {
        bool quoted = *s == '\'', start = s == x->message || !is_word(s[-1]);
        if (!quoted && (!start || !is_word(*s))) continue;
        const char *at = quoted ? s + 1 : s, *end = at;
        while (is_word(*end)) end++;
        bool name = end > at && (quoted ? *end == '\'' : end[0] == ':' && is_word(end[1]));
        bool told = false;
        for (int i = 0; i < n && name; i++)
            told |= strncmp(x->objects[i], at, (size_t)(end - at)) == 0 && !x->objects[i][end - at];
        if (name && !told) x->objects[n++] = weiri_arena_fmt(&r->a, "%.*s", (int)(end - at), at);
        if (quoted && name) s = end;
    }
}

void weiri_report_add(weir_report *r, const weiri_findings *f) {
    if (!f->list.n) return;
    weir_finding *all = WEIRI_NEW_N(&r->a, weir_finding, r->n + f->list.n);
    if (r->n) memcpy(all, r->f, sizeof *all * (size_t)r->n);
    for (int i = 0; i < f->list.n; i++) {
        weir_finding x = f->list.v[i];
        x.rule = weiri_arena_str(&r->a, x.rule);
        x.message = weiri_arena_str(&r->a, x.message);
        x.hint = weiri_arena_str(&r->a, x.hint);
        x.file = weiri_arena_str(&r->a, x.file);
        x.other_file = weiri_arena_str(&r->a, x.other_file);
        x.other_what = weiri_arena_str(&r->a, x.other_what);
        for (int j = 0; j < 4; j++) x.objects[j] = weiri_arena_str(&r->a, x.objects[j]);
        x.expected = weiri_arena_str(&r->a, x.expected);
        x.got = weiri_arena_str(&r->a, x.got);
        take_objects(r, &x);
        all[r->n + i] = x;
    }
    r->f = all;
    r->n += f->list.n;
}

/* Findings without a place come first; nothing else is moved than file and line ask for. */
static int by_place(const weir_finding *x, const weir_finding *y) {
    int c = strcmp(x->file ? x->file : "", y->file ? y->file : "");
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

static void sort(weir_finding *f, int n) { /* insertion: stable, and reports are short */
    for (int i = 1; i < n; i++) {
        weir_finding x = f[i];
        int j = i;
        for (; j > 0 && by_place(&f[j - 1], &x) > 0; j--) f[j] = f[j - 1];
        f[j] = x;
    }
}

static bool same(const weir_finding *x, const weir_finding *y) {
    return by_place(x, y) == 0 && strcmp(x->rule, y->rule) == 0 && strcmp(x->message, y->message) == 0;
}

/* Rules whose failure brings others about, by the starts of their ids. `one`: only those about the same object. */
/* clang-format off */
static const struct { const char *cause, *follower; bool one; } chains[] = {
    { "V-TYPE-", "PROVE-", false },     /* the proof says the same in counts and bytes */
    { "V-TYPE-", "V-CNT-", true },      { "V-TYPE-", "V-BYT-", true },
    { "V-TYPE-", "PLAN-TX", true },     { "V-TYPE-", "PLAN-ZERO", true },
    { "V-TYPE-", "CF", true },          { "V-TYPE-", "CN", true },
    { "V-BRK-05", "V-SIM-", true },     /* the credits count what was written */
    { "V-SIM-", "PROVE-", false },      /* wrong credits: the proof finds the same, with the counterexample */
    { "PROVE-DEADLOCK", "PROVE-LOST", false }, { "PROVE-COUNT", "PROVE-LOST", false },
    { "PROVE-LOST", "PROVE-EXIT", false },     { "PROVE-ASYNC-READ", "PROVE-PARITY", false },
    { "X-WARP-", "PLAN-WARPS", false }, /* the plan places the same warps */
    { "T-REG-", "PLAN-REGS", false },   { "X-REG-", "PLAN-REGS", false },
    { "V-REG-", "PLAN-REGS", false },   { "V-WG-", "PLAN-REGS", false },
    { "P-ILV-", "V-ILV-", true },       { "V-ILV-", "V-CNT-", true },
    { "V-CNT-05", "V-CNT-06", true },   { "V-CNT-04", "V-BYT-", true },
    { "X-V2-02", "V-CNT-", true },      { "V-ROLE-04", "V-CNT-", true }, /* who arrives is not yet known */
    { "M-TILE", "V-ATOM-", true },      { "M-RANK", "V-ATOM-", true },
    { "M-WORK", "C-FLOW-", true },      { "C-ARG-01", "V-ROLE-", true },
    { "V-PP-01", "V-PP-03", true },     { "V-PP-01", "V-PP-04", true },
    { "V-PP-01", "V-DEP-03", true },
    { "PLAN-TX", "V-DMA-03", true },    { "V-BYT-", "PLAN-TX", true },
    { "PLAN-PUSH", "PLAN-TX", true },   { "PLAN-PUSH", "V-CNT-", true },
    { "PLAN-ROUND", "PLAN-HELD", true },
    { "V-ILV-01", "V-ILV-06", true },   { "V-ILV-02", "V-ILV-06", true },
    { "V-ILV-03", "V-ILV-06", true },   { "V-ILV-04", "V-ILV-06", true },
    { "CF12", "V-ILV-", true },         { "CF13", "V-ILV-", true },
    { "V-ILV-", "V-SIM-", true },
    { "CN5", "V-CWS-01", true },        { "X-V2-01", "PLAN-ARCH", false },
    { "V-", "PLAN-UNSUPPORTED", true }, { "CF", "PLAN-UNSUPPORTED", true }, /* first things first */
    { "X-", "PLAN-UNSUPPORTED", true }, { "X-V2-", "PLAN-UNSUPPORTED", false },
    { "T-SKIP-01", "V-ROLE-", true },   { "T-SKIP-01", "V-WQ-01", true },
};
/* clang-format on */

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool share_object(const weir_finding *x, const weir_finding *y) {
    for (int i = 0; i < 4 && x->objects[i]; i++)
        for (int j = 0; j < 4 && y->objects[j]; j++)
            if (strcmp(x->objects[i], y->objects[j]) == 0) return true;
    return false;
}

/* Does x repeat `cause`, or follow from it? So does what the plan finds at a line where a rule before it failed. */
static bool follows(const weir_finding *x, const weir_finding *cause) {
    if (cause->severity != WEIR_ERROR) return false;
    if (x->line && starts(x->rule, "PLAN-") && !starts(cause->rule, "PLAN-") && by_place(x, cause) == 0) return true;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        if (starts(x->rule, chains[i].follower) && starts(cause->rule, chains[i].cause) && strcmp(x->rule, cause->rule) != 0 &&
            (!chains[i].one || share_object(x, cause)))
            return true;
    return false;
}

static int drop_follow_ons(weiri_arena *a, weir_finding *f, int n) {
    bool *drop = WEIRI_NEW_N(a, bool, n + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n && !drop[i]; j++) drop[i] = follows(&f[i], &f[j]);
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (!drop[i]) f[kept++] = f[i];
    return kept;
}

static int drop_repeats(weir_finding *f, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = kept - 1; j >= 0 && !seen && by_place(&f[j], &f[i]) == 0; j--) seen = same(&f[j], &f[i]);
        if (!seen) f[kept++] = f[i];
    }
    return kept;
}

static int count(const weir_report *r, weir_severity s) {
    int n = 0;
    for (int i = 0; i < r->n; i++) n += r->f[i].severity == s;
    return n;
}

static void put_finding(weiri_buf *b, const weir_finding *f) {
    static const char *const words[] = { "", "note", "warning", "error" };
    if (f->file) weiri_put(b, "%s:%d: ", f->file, f->line);
    weiri_put(b, "%s: %s [%s]\n", words[f->severity], f->message, f->rule);
    if (f->other_file)
        weiri_put(b, "    %s:%d: %s\n", f->other_file, f->other_line, f->other_what ? f->other_what : "see also");
    if (f->expected && f->got) weiri_put(b, "    expected %s, got %s\n", f->expected, f->got);
    else if (f->expected) weiri_put(b, "    expected %s\n", f->expected);
    else if (f->got) weiri_put(b, "    got %s\n", f->got);
    if (f->hint) weiri_put(b, "    hint: %s\n", f->hint);
}

static void put_count(weiri_buf *b, int n, const char *what, const char **sep) {
    if (!n) return;
    weiri_put(b, "%s%d %s%s", *sep, n, what, n == 1 ? "" : "s");
    *sep = ", ";
}

static void put_proof(weiri_buf *b, const weir_proof *p) {
    static const char *const words[] = { "not proved", "SAFE", "SAFE_BOUNDED", "UNSAFE", "INCOMPLETE" };
    if (p->verdict == WEIR_NOT_PROVED && !p->text) return;
    weiri_put(b, "proof: %s", words[p->verdict]);
    if (p->text && *p->text) weiri_put(b, ": %s", p->text);
    weiri_put(b, "\n");
    if (p->trace && *p->trace) weiri_put(b, "%s%s", p->trace, p->trace[strlen(p->trace) - 1] == '\n' ? "" : "\n");
}

void weiri_report_finish(weir_report *r) {
    sort(r->f, r->n);
    r->n = drop_repeats(r->f, drop_follow_ons(&r->a, r->f, r->n));
    weiri_buf b;
    weiri_buf_init(&b, r->ctx);
    for (int i = 0; i < r->n; i++) put_finding(&b, &r->f[i]);
    const char *sep = "";
    put_count(&b, count(r, WEIR_ERROR), "error", &sep);
    put_count(&b, count(r, WEIR_WARNING), "warning", &sep);
    put_count(&b, count(r, WEIR_NOTE), "note", &sep);
    if (r->n) weiri_put(&b, "\n");
    put_proof(&b, &r->proof);
    if (r->trusted) weiri_put(&b, "taken on trust: %s\n", r->trusted);
    if (r->lowered) weiri_put(&b, "%s", r->lowered);
    r->text = b.s ? weiri_arena_str(&r->a, b.s) : "";
    weiri_buf_free(&b);
}

bool weir_report_ok(const weir_report *r) { return count(r, WEIR_ERROR) == 0 && r->proof.verdict != WEIR_UNSAFE; }
int weir_report_count(const weir_report *r) { return r->n; }
const weir_finding *weir_report_get(const weir_report *r, int i) { return i >= 0 && i < r->n ? &r->f[i] : NULL; }
const weir_proof *weir_report_proof(const weir_report *r) { return &r->proof; }
const char *weir_report_text(const weir_report *r) { return r->text; }
