/* Test Anything Protocol for C tests. What is wanted comes before what is seen; a test is named for its case. End with
 * `return done();`, which prints the plan. */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

static inline bool ok(bool good, const char *name, ...) {
    va_list ap;
    va_start(ap, name);
    printf("%sok %d - ", good ? "" : "not ", ++tap_count);
    vprintf(name, ap);
    printf("\n");
    va_end(ap);
    tap_failed += !good;
    fflush(stdout);
    return good;
}

static inline bool is_int(long long wanted, long long seen, const char *name) {
    bool good = ok(wanted == seen, "%s", name);
    if (!good) printf("# wanted: %lld\n#   seen: %lld\n", wanted, seen);
    return good;
}

/* Texts of several lines are printed with every line marked, so that a harness reads them as comments. */
static inline void tap_text(const char *what, const char *s) {
    printf("# %s:\n#   ", what);
    for (; *s; s++) {
        putchar(*s);
        if (*s == '\n' && s[1]) printf("#   ");
    }
    printf("\n");
}

static inline bool is_str(const char *wanted, const char *seen, const char *name) {
    bool good = ok(seen && strcmp(wanted, seen) == 0, "%s", name);
    if (!good) tap_text("wanted", wanted), tap_text("seen", seen ? seen : "(null)");
    return good;
}

static inline bool has_str(const char *part, const char *seen, const char *name) {
    bool good = ok(seen && strstr(seen, part), "%s", name);
    if (!good) tap_text("wanted somewhere", part), tap_text("seen", seen ? seen : "(null)");
    return good;
}

static inline int done(void) {
    printf("1..%d\n", tap_count);
    if (tap_failed) printf("# %d of %d failed\n", tap_failed, tap_count);
    return tap_failed != 0;
}

#endif
