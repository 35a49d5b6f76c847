/* The way through, on one screen: validate, plan, prove, emit. Compilation waits for the first launch (compile.c). */
#include <string.h>
#include <time.h>

#include "close.h"
#include "device.h"
#include "plan.h"
#include "program.h"
#include "validate.h"
#include "walk.h"

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double lap(double *t) {
    double n = now_ms(), d = n - *t;
    *t = n;
    return d;
}

typedef struct weiri_checked {
    weir_report *report;
    weiri_plan *plan;
    bool valid, safe;
} weiri_checked;

static bool has_rule(const weiri_findings *f, const char *rule) {
    for (int i = 0; i < f->list.n; i++)
        if (strcmp(f->list.v[i].rule, rule) == 0) return true;
    return false;
}

/* Validates, plans, proves. The report has all findings, sorted by line; the plan becomes the kernel's. `unsafe`: what validation finds
 * does not make it invalid, as long as there is a whole plan. */
static weir_status check(weir_kernel *k, bool no_proof, bool warn_only, bool unsafe, weir_times *times, weiri_checked *out) {
    double t = now_ms();
    uint64_t refused = k->ctx->refused;
    weir_report *r = weiri_report_new(k->ctx);
    if (!r) return weiri_fail(k->ctx, WEIR_E_MEMORY, "out of memory");
    weiri_findings found = { .a = &r->a };
    weiri_report_add(r, &k->faults);
    bool valid = weiri_findings_errors(&k->faults) == 0;
    weiri_validate(k, &found);
    weiri_findings credits = { .a = &r->a }; /* named at the author's lines; the proof gives the counterexample */
    bool sure = false;
    if (weiri_findings_errors(&k->faults) == 0) weiri_balance(k, &credits, &sure);
    if (!warn_only && !unsafe) valid = valid && weiri_findings_errors(&found) == 0;
    times->validate = lap(&t);

    weiri_plan_free(k->plan);
    k->plan = NULL;
    if (weiri_findings_errors(&k->faults) == 0) { /* half-described objects are not planned */
        k->plan = weiri_plan_new(k);
        if (!k->plan) {
            weir_report_free(r);
            return weiri_fail(k->ctx, WEIR_E_MEMORY, "out of memory");
        }
        weiri_report_add(r, &k->plan->findings);
        valid = valid && k->plan->ok;
    }
    times->plan = lap(&t);

    bool safe = valid;
    if (valid && !no_proof) {
        weiri_prove(k->plan, &r->a, &r->proof, &found);
        r->trusted = weiri_arena_str(&r->a, k->plan->trusted); /* the plan may go before the report */
        if (safe) {
            weiri_buf lowered;
            weiri_buf_init(&lowered, k->ctx);
            weiri_plan_lowered(k->plan, &lowered);
            r->lowered = weiri_arena_str(&r->a, lowered.s);
            weiri_buf_free(&lowered);
        }
        safe = r->proof.verdict == WEIR_SAFE || r->proof.verdict == WEIR_SAFE_BOUNDED;
    }
    times->prove = lap(&t);

    /* With lengths or conditions that only the launch knows, the proof has the last word. */
    bool unbalanced = credits.list.n && (sure || has_rule(&found, "PROVE-DEADLOCK"));
    if (unbalanced && !warn_only) {
        valid = valid && unsafe;
        safe = false;
    }
    for (int i = 0; warn_only && i < found.list.n; i++)
        if (found.list.v[i].severity == WEIR_ERROR && strncmp(found.list.v[i].rule, "PROVE", 5))
            found.list.v[i].severity = WEIR_WARNING;
    for (int i = 0; warn_only && i < credits.list.n; i++) credits.list.v[i].severity = WEIR_WARNING;
    if (unbalanced) weiri_report_add(r, &credits);
    weiri_report_add(r, &found);
    weiri_report_finish(r);
    if (k->a.oom || k->ctx->refused != refused) { /* some text, list or state is not whole, wherever it was */
        weir_report_free(r);
        return weiri_fail(k->ctx, WEIR_E_MEMORY, "out of memory: kernel '%s'", k->name);
    }
    *out = (weiri_checked){ r, k->plan, valid, safe };
    return WEIR_OK;
}

static weir_status verdict(weir_kernel *k, const weiri_checked *c) {
    if (!c->valid) return weiri_fail(k->ctx, WEIR_E_INVALID, "%s", weir_report_text(c->report));
    if (!c->safe) return weiri_fail(k->ctx, WEIR_E_UNSAFE, "%s", weir_report_text(c->report));
    return WEIR_OK;
}

weir_status weir_verify(weir_kernel *k, const weir_verify_desc *desc, weir_report **report) {
    weir_verify_desc d = desc ? *desc : (weir_verify_desc){ 0 };
    weir_times times;
    weiri_checked c;
    if (report) *report = NULL;
    weir_status st = check(k, d.no_proof, d.warn_only, false, &times, &c);
    if (st != WEIR_OK) return st;
    st = verdict(k, &c);
    if (report) *report = c.report;
    else weir_report_free(c.report);
    return st;
}

weir_status weir_build(weir_kernel *k, const weir_build_desc *desc, weir_program **program, weir_report **report) {
    weir_build_desc d = desc ? *desc : (weir_build_desc){ 0 };
    weir_times times = { 0 };
    weiri_checked c;
    *program = NULL;
    if (report) *report = NULL;
    if (!(d.watchdog >= 0 && d.watchdog <= 3600))
        return weiri_fail(k->ctx, WEIR_E_ARGUMENT, "watchdog is %g seconds; 0 (none) to 3600 are possible", d.watchdog);
    weir_status st = check(k, false, d.warn_only, d.unsafe, &times, &c);
    if (st != WEIR_OK) return st;
    st = verdict(k, &c);
    if (d.unsafe && st == WEIR_E_UNSAFE) st = WEIR_OK;
    if (d.unsafe && st == WEIR_OK && !weir_report_ok(c.report))
        weiri_log(k->ctx, WEIR_LOG_WARNING, "weir: kernel '%s' is built although it was refused", k->name);
    if (report) *report = c.report;
    else weir_report_free(c.report);
    if (st != WEIR_OK) return st;

    double t = now_ms();
    uint64_t refused = k->ctx->refused;
    weir_program *p = weiri_alloc(k->ctx, sizeof *p);
    if (!p) return WEIR_E_MEMORY;
    p->ctx = k->ctx;
    p->k = k;
    p->name = k->name;
    p->arch = k->arch;
    p->device = d.device;
    p->watchdog = d.watchdog;
    p->notes = d.notes;
    weiri_buf_init(&p->source, k->ctx);
    weiri_buf_init(&p->full, k->ctx);
    weiri_buf_init(&p->log, k->ctx);
    weiri_buf_init(&p->ptx, k->ctx);
    weiri_buf_init(&p->noted, k->ctx);
    weiri_buf_init(&p->needs, k->ctx);
    p->plan = k->plan; /* the program owns it now: another verify of the kernel makes its own */
    k->plan = NULL;
    if (!weiri_emit(p->plan, &p->source) || k->ctx->refused != refused) {
        weir_program_free(p);
        return weiri_fail(k->ctx, WEIR_E_MEMORY, "out of memory while writing the source of '%s'", k->name);
    }
    times.emit = lap(&t);
    p->times = times;
    *program = p;
    return WEIR_OK;
}

void weir_program_free(weir_program *p) {
    if (!p) return;
    weir_ctx *c = p->ctx;
    weiri_program_drop_launched(p);
    weiri_program_drop_compiled(p);
    weiri_buf_free(&p->source);
    weiri_buf_free(&p->full);
    weiri_buf_free(&p->log);
    weiri_buf_free(&p->ptx);
    weiri_buf_free(&p->noted);
    weiri_buf_free(&p->needs);
    weiri_plan_free(p->plan);
    weiri_free(c, p, sizeof *p);
}
