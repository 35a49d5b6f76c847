/* A timeline as files: trace-event JSON, and a drawing with an actor a row. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tcgen05.h"
#include "trace.h"

static weir_status save(weir_timeline *t, weiri_buf *b, const char *path) {
    weir_status st = b->oom ? weiri_fail(t->ctx, WEIR_E_MEMORY, "out of memory: the drawing of a timeline") : WEIR_OK;
    FILE *f = st == WEIR_OK ? fopen(path, "wb") : NULL;
    bool ok = f && fwrite(b->s, 1, b->n, f) == b->n;
    if (f && fclose(f)) ok = false;
    if (st == WEIR_OK && !ok) st = weiri_fail(t->ctx, WEIR_E_IO, "cannot write %s: %s", path, strerror(errno));
    weiri_buf_free(b);
    return st;
}

static const weir_span *spans_of(const weir_timeline *t, const weiri_trow *r) { return t->spans.v + r->first; }

/* ---- JSON ---------------------------------------------------------------------------------------------------------------------------- */

static void put_json(weiri_buf *b, const char *s) {
    weiri_put(b, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') weiri_put(b, "\\%c", *s);
        else if ((unsigned char)*s < 32) weiri_put(b, "\\u%04x", *s);
        else weiri_put_n(b, s, 1);
    }
    weiri_put(b, "\"");
}

/* Microseconds, as the format has it; a step is drawn as one. */
static double micro(const weir_timeline *t, double x) { return t->gpu ? x / 1000 : x; }

weir_status weir_timeline_perfetto(weir_timeline *t, const char *path) {
    weiri_buf b;
    weiri_buf_init(&b, t->ctx);
    weiri_put(&b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":");
    put_json(&b, t->kernel);
    if (t->unchecked) weiri_put(&b, ",\"note\":\"sm_100a: " WEIRI_UNCHECKED "\"");
    weiri_put(&b, ",\"unit\":\"%s\"},\"traceEvents\":[\n", weir_timeline_unit(t));
    for (int i = 0; i < t->rows.n; i++) {
        const weiri_trow *r = &t->rows.v[i];
        weiri_put(&b, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"CTA %d\"}},\n", r->cta, r->cta);
        weiri_put(&b, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", r->cta, r->warp);
        char name[128];
        snprintf(name, sizeof name, "%s, warp %d", r->name, r->warp);
        put_json(&b, name);
        weiri_put(&b, "}},\n");
        for (int k = 0; k < r->n; k++) {
            const weir_span *s = &spans_of(t, r)[k];
            weiri_put(&b, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.4f,\"dur\":%.4f,\"cat\":\"%s\",\"name\":", r->cta,
                      r->warp, micro(t, s->from), micro(t, s->to - s->from), s->waits ? "wait" : "work");
            put_json(&b, s->what);
            weiri_put(&b, ",\"args\":{\"action\":%d,\"nth\":%d", s->action, s->nth);
            if (s->stage >= 0) weiri_put(&b, ",\"stage\":%d", s->stage);
            if (s->stuck) weiri_put(&b, ",\"stuck\":true");
            if (s->file) {
                snprintf(name, sizeof name, "%.100s:%d", s->file, s->line);
                weiri_put(&b, ",\"at\":");
                put_json(&b, name);
            }
            weiri_put(&b, "}},\n");
        }
    }
    for (int i = 0; i < t->flights.n; i++) {     /* they overlap, so they are no slices of the actor's track */
        const weiri_flight *f = &t->flights.v[i];
        const weiri_trow *r = &t->rows.v[f->row];
        for (int end = 0; end < 2; end++) {
            weiri_put(&b, "{\"ph\":\"%c\",\"cat\":\"in flight\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%.4f,\"name\":",
                      end ? 'e' : 'b', i, r->cta, r->warp, micro(t, end ? f->to : f->from));
            put_json(&b, f->what);
            weiri_put(&b, ",\"args\":{\"stage\":%d}},\n", f->stage);
        }
    }
    weiri_put(&b, "{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0,\"args\":{\"complete\":%s}}\n]}\n", t->cut ? "false" : "true");
    return save(t, &b, path);
}

/* ---- SVG ----------------------------------------------------------------------------------------------------------------------------- */

enum { LEFT = 150, RIGHT = 24, TOP = 78, MAIN = 20, THIN = 6, ROW = 42, CTA_GAP = 22, COLOURS = 8 };

/* By stage; what is about no stage is grey. */
static const char *const colour[COLOURS] = { "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1",
                                             "#e0b92f", "#5fa8a3", "#e8768a", "#9c755f" };
static const char *const grey = "#9a9a9a", *const red = "#c62828";

static const char *fill(int stage) { return stage < 0 ? grey : colour[stage % COLOURS]; }

static void put_text(weiri_buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '<') weiri_put(b, "&lt;");
        else if (*s == '&') weiri_put(b, "&amp;");
        else weiri_put_n(b, s, 1);
    }
}

typedef struct drawing { const weir_timeline *t; weiri_buf *b; double scale; int y; } drawing;

static double x_of(const drawing *d, double time) { return LEFT + time * d->scale; }

static void put_title(const drawing *d, const weir_span *s, double from, double to) {
    weiri_put(d->b, "<title>");
    put_text(d->b, s->what);
    if (s->stage >= 0) weiri_put(d->b, ", stage %d", s->stage);
    weiri_put(d->b, ", no. %d", s->nth);
    if (s->file) {
        weiri_put(d->b, ", ");
        put_text(d->b, s->file);
        weiri_put(d->b, ":%d", s->line);
    }
    weiri_put(d->b, "\n%.0f to %.0f: %.0f %s</title>", from, to, to - from, weir_timeline_unit(d->t));
}

/* The text that fits into a box of this width, in the middle of it. */
static void put_label(const drawing *d, double x, double w, const weir_span *s, const char *ink) {
    char number[16];
    snprintf(number, sizeof number, "%d", s->nth);
    const char *text = w >= 6.1 * (double)strlen(s->what) + 4                   ? s->what
                       : w >= 6.1 * (double)strlen(number) + 3 && s->stage >= 0 ? number
                                                                                : NULL;
    if (!text) return;
    weiri_put(d->b, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" text-anchor=\"middle\">", x + w / 2, d->y + MAIN - 6, ink);
    put_text(d->b, text);
    weiri_put(d->b, "</text>");
}

static void put_wait(const drawing *d, const weir_span *s) {
    double x = x_of(d, s->from), w = (s->to - s->from) * d->scale;
    char pattern[8] = "none";
    if (s->stage >= 0) snprintf(pattern, sizeof pattern, "%d", s->stage % COLOURS);
    weiri_put(
        d->b,
        "<g><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"url(#wait-%s)\" stroke=\"%s\" stroke-width=\"%s\"/>",
        x, d->y + 3, w, MAIN - 6, pattern, s->stuck ? red : fill(s->stage), s->stuck ? "2" : ".6");
    put_title(d, s, s->from, s->to);
    put_label(d, x, w, s, s->stuck ? red : "#444");
    weiri_put(d->b, "</g>\n");
}

/* Which of the actions that make one box names it. */
static int weight(const weir_span *s) {
    static const char *const first[] = { "mma", "load", "store", "push", "fetch", "read", "set", "work" };
    static const char *const last[] = { "wait",       "arrive",      "expect_tx", "fence_async", "mma_fence",
                                        "mma_commit", "bulk_commit", "warp_sync", "drain",       "zero" };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!strncmp(s->what, first[i], strlen(first[i])) && s->what[strlen(first[i])] != '_') return 20 - (int)i;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (!strncmp(s->what, last[i], strlen(last[i]))) return 1;
    return 5;
}

typedef struct box { const weir_span *name; double from, to; int stage; bool stuck; } box;

static void put_box(const drawing *d, box *k) {
    if (!k->name) return;
    double x = x_of(d, k->from), w = fmax((k->to - k->from) * d->scale, .8);
    weiri_put(d->b, "<g><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s%s%s/>", x, d->y, w, MAIN,
              fill(k->stage), k->stuck ? " stroke=\"" : "", k->stuck ? red : "", k->stuck ? "\" stroke-width=\"2\"" : "");
    put_title(d, k->name, k->from, k->to);
    put_label(d, x, w, k->name, "#fff");
    weiri_put(d->b, "</g>\n");
    k->name = NULL;
}

/* Waits one by one; actions in a row that are about one stage in one box. */
static void put_row(const drawing *d, const weiri_trow *r) {
    box k = { 0 };
    for (int i = 0; i < r->n; i++) {
        const weir_span *s = &spans_of(d->t, r)[i];
        bool thin = (s->to - s->from) * d->scale < .5;
        if (s->waits && (!thin || s->stuck)) {
            put_box(d, &k);
            put_wait(d, s);
            continue;
        }
        if (s->waits && !k.name) continue;
        bool joins = k.name && (s->waits || s->stage == k.stage || s->stage < 0 || k.stage < 0);
        if (!joins) {
            put_box(d, &k);
            k = (box){ .name = s, .from = s->from, .stage = s->stage };
        }
        k.to = s->to;
        k.stuck |= s->stuck;
        if (!s->waits && k.stage < 0) k.stage = s->stage;
        if (!s->waits && weight(s) > weight(k.name)) k.name = s;
    }
    put_box(d, &k);
}

static void put_flights(const drawing *d, int row) {
    for (int i = 0, n = 0; i < d->t->flights.n; i++) {
        const weiri_flight *f = &d->t->flights.v[i];
        if (f->row != row) continue;
        weiri_put(d->b, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"%s\"><title>", x_of(d, f->from),
                  d->y + MAIN + 2 + (n++ & 1) * (THIN + 1), fmax((f->to - f->from) * d->scale, .8), THIN, fill(f->stage));
        put_text(d->b, f->what);
        weiri_put(d->b, " in flight, stage %d\n%.0f to %.0f</title></rect>\n", f->stage, f->from, f->to);
    }
}

/* Lines at round numbers, some 12 of them. */
static void put_axis(const drawing *d, double end, int bottom) {
    double step = pow(10, floor(log10(end / 12)));
    for (int i = 0; end / step > 14; i++) step *= i % 3 == 1 ? 2.5 : 2;
    for (double x = 0; x <= end; x += step) {
        weiri_put(d->b, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>", x_of(d, x), x_of(d, x), TOP - 6,
                  bottom);
        weiri_put(d->b, "<text x=\"%.1f\" y=\"%d\" fill=\"#666\" text-anchor=\"middle\">%.10g%s</text>\n", x_of(d, x), TOP - 11, x,
                  x == 0 && d->t->gpu ? " ns" : x == 0 ? " steps" : "");
    }
}

static void put_legend(const drawing *d) {
    int n = d->t->stages < COLOURS ? d->t->stages : COLOURS, x = LEFT;
    weiri_put(d->b, "<g transform=\"translate(0 36)\">");
    for (int i = 0; i < n; i++, x += 66)
        weiri_put(
            d->b,
            "<rect x=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"10\" fill=\"#444\">stage %d%s</text>", x,
            colour[i], x + 16, i, i == COLOURS - 1 && d->t->stages > COLOURS ? " ..." : "");
    weiri_put(d->b,
              "<rect x=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"10\" fill=\"#444\">no stage</text>",
              x + 10, grey, x + 26);
    weiri_put(d->b,
              "<rect x=\"%d\" width=\"24\" height=\"12\" fill=\"url(#wait-none)\" stroke=\"%s\" stroke-width=\".6\"/><text "
              "x=\"%d\" y=\"10\" fill=\"#444\">waits</text>",
              x + 100, grey, x + 128);
    if (d->t->flights.n)
        weiri_put(d->b,
                  "<rect x=\"%d\" y=\"4\" width=\"24\" height=\"%d\" rx=\"2\" fill=\"%s\"/><text x=\"%d\" y=\"10\" "
                  "fill=\"#444\">mma in flight</text>",
                  x + 180, THIN, grey, x + 208);
    x += d->t->flights.n ? 300 : 180;
    weiri_put(d->b, "<text x=\"%d\" y=\"10\" fill=\"#444\">1, 2, ...: first, second time</text>", x);
    bool stuck = false;
    for (int i = 0; i < d->t->spans.n; i++) stuck |= d->t->spans.v[i].stuck;
    if (stuck)
        weiri_put(d->b,
                  "<rect x=\"%d\" width=\"24\" height=\"12\" fill=\"#fff\" stroke=\"%s\" stroke-width=\"2\"/><text x=\"%d\" "
                  "y=\"10\" fill=\"#444\">never ended</text>",
                  x + 160, red, x + 190);
    weiri_put(d->b, "</g>\n");
}

static void put_patterns(weiri_buf *b) {
    weiri_put(b, "<defs>\n");
    for (int i = -1; i < COLOURS; i++) {
        char name[8] = "none";
        if (i >= 0) snprintf(name, sizeof name, "%d", i);
        weiri_put(
            b,
            "<pattern id=\"wait-%s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
            "<rect width=\"6\" height=\"6\" fill=\"#fff\"/><rect width=\"1.6\" height=\"6\" fill=\"%s\" "
            "fill-opacity=\".45\"/></pattern>\n",
            name, fill(i));
    }
    weiri_put(b, "</defs>\n");
}

weir_status weir_timeline_svg(weir_timeline *t, const char *path) {
    weiri_buf b;
    weiri_buf_init(&b, t->ctx);
    int most = 0, height = TOP, cta = -1;
    for (int i = 0; i < t->rows.n; i++) {
        if (t->rows.v[i].n > most) most = t->rows.v[i].n;
        if (t->rows.v[i].cta != cta) height += CTA_GAP;
        height += ROW;
        cta = t->rows.v[i].cta;
    }
    double end = t->end > 0 ? t->end : 1, plot = fmin(fmax(1400, 8.0 * most), 16000);
    drawing d = { .t = t, .b = &b, .scale = plot / end, .y = TOP };
    weiri_put(&b,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" font-family=\"Helvetica, Arial, "
              "sans-serif\" font-size=\"11\">\n",
              plot + LEFT + RIGHT, height + 16);
    weiri_put(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
    put_patterns(&b);
    weiri_put(&b, "<text x=\"%d\" y=\"22\" font-size=\"15\" fill=\"#222\">", LEFT);
    put_text(&b, t->kernel);
    weiri_put(&b, ": %d CTA%s, %.0f %s%s%s</text>\n", t->ctas, t->ctas > 1 ? "s" : "", t->end, weir_timeline_unit(t),
              t->cut ? ", cut short" : "", t->unchecked ? "; sm_100a: " WEIRI_UNCHECKED : "");
    put_legend(&d);
    put_axis(&d, end, height);
    cta = -1;
    for (int i = 0; i < t->rows.n; i++, d.y += ROW) {
        const weiri_trow *r = &t->rows.v[i];
        if (r->cta != cta) {
            d.y += CTA_GAP;
            weiri_put(&b, "<text x=\"12\" y=\"%d\" font-weight=\"bold\" fill=\"#222\">CTA %d</text>\n", d.y - 6, r->cta);
        }
        cta = r->cta;
        weiri_put(&b, "<text x=\"%d\" y=\"%d\" fill=\"#222\" text-anchor=\"end\">", LEFT - 10, d.y + MAIN - 6);
        put_text(&b, r->name);
        if (r->warps > 1) weiri_put(&b, ", warps %d-%d</text>\n", r->warp, r->warp + r->warps - 1);
        else weiri_put(&b, ", warp %d</text>\n", r->warp);
        put_row(&d, r);
        put_flights(&d, i);
    }
    weiri_put(&b, "</svg>\n");
    return save(t, &b, path);
}
