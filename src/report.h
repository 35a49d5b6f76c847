/* Findings: collected by every stage, merged and sorted by build.c. */
#ifndef WEIRI_REPORT_H
#define WEIRI_REPORT_H

#include "mem.h"

typedef struct weiri_findings { WEIRI_LIST(weir_finding) list; weiri_arena *a; } weiri_findings;

struct weir_report {
    weir_ctx *ctx;
    weiri_arena a;
    weir_finding *f; int n;
    weir_proof proof;
    const char *trusted;     /* bodies whose declared effects were taken on trust, or NULL */
    const char *lowered;     /* per line: the wait_group, counts and bytes it became */
    const char *text;
};

/* What is behind a path's last slash. */
const char *weiri_file_name(const char *path);
/* Adds a finding and returns it, so that the caller can fill in the second place, objects, expected and got. Severity and
 * title come from src/rules.h by `rule`; an unknown rule is an error finding of that name. */
weir_finding *weiri_find(weiri_findings *f, const char *rule, const weir_place *at, const char *fmt, ...) WEIRI_PRINTF(4, 5);
/* Copies, sorts by file and line (ties keep order), drops repeats, sets ok, renders the text. */
weir_report *weiri_report_new(weir_ctx *c);
void weiri_report_add(weir_report *r, const weiri_findings *f);
void weiri_report_finish(weir_report *r);
int weiri_findings_errors(const weiri_findings *f);

#endif
