/* The explorer of credits: spec by t/vectors/bfs.lua, made fast. Cursors are packed into one word, a move adds a constant to it,
 * and since each move raises the sum of the cursors by one, only the level being built is remembered. */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

/* Windows of a tracked resource: a length, then entries of kind and task, in two words. */
enum { WINDOW_WORDS = 2, WINDOW_MOST = 15, MAX_WORDS = 1 + WINDOW_WORDS * WEIRX_RESOURCES };
enum { HELD = 0, READS = 1, WRITES = 2 };

/* A condition on the cursors: stages + rounds of the counterpart - own rounds > 0. */
typedef struct count { int task; const int *prefix; } count;
typedef struct test { int stages, nplus, nminus, plus_round, minus_round; count plus[WEIRX_TASKS], minus[WEIRX_TASKS]; } test;

typedef struct search {
    const weirx_credit_model *m;
    weirx_credits_result r;
    int shift[WEIRX_TASKS];
    uint64_t mask[WEIRX_TASKS];
    const test **need[WEIRX_TASKS];      /* by task and cursor; NULL: always enabled */
    test tests[2 * WEIRX_RESOURCES];     /* acquire, wait */
    int window[WEIRX_RESOURCES];         /* word of a tracked resource's windows, 0: not tracked */
    int first_wait[WEIRX_TASKS];         /* PDL: position of the task's first wait */
    int words;
    uint64_t *now, *next;
    size_t nnow, nnext, room;
    uint32_t *table;
    size_t slots;
} search;

static void *room_for(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

static void *grown(void *p, size_t n) {
    p = realloc(p, n);
    if (!p) abort();
    return p;
}

/* ---- what is fixed ------------------------------------------------------------------------------------------------------ */

/* How often the task's first c ops count for a resource by this letter, for every c. */
static int *prefix_of(const weirx_credit_model *m, int task, char letter, int resource) {
    int n = m->length[task], *p = room_for((size_t)n + 1, sizeof *p);
    for (int i = 0; i < n; i++)
        p[i + 1] = p[i] + (m->op[task][i].letter == letter && m->op[task][i].counts >> resource & 1);
    if (p[n]) return p;
    free(p);
    return NULL;
}

static void fill_side(const weirx_credit_model *m, char letter, int resource, count *out, int *n) {
    for (int t = 0; t < m->ntasks; t++) {
        int *p = prefix_of(m, t, letter, resource);
        if (p) out[(*n)++] = (count){ t, p };
    }
}

static bool prepare(search *s) {
    const weirx_credit_model *m = s->m;
    int bits = 0;
    s->words = 1;
    for (int i = 0; i < m->nresources; i++) {
        const weirx_resource *q = &m->resource[i];
        test *acquire = &s->tests[2 * i], *wait = &s->tests[2 * i + 1];
        *acquire = (test){ .stages = q->stages, .plus_round = q->nsrc, .minus_round = q->ndst };
        *wait = (test){ .plus_round = q->ndst, .minus_round = q->nsrc };
        fill_side(m, 'r', i, acquire->plus, &acquire->nplus);
        fill_side(m, 'A', i, acquire->minus, &acquire->nminus);
        fill_side(m, 'C', i, wait->plus, &wait->nplus);
        fill_side(m, 'a', i, wait->minus, &wait->nminus);
        if (q->tracked) s->window[i] = s->words, s->words += WINDOW_WORDS;
    }
    for (int t = 0; t < m->ntasks; t++) {
        int n = m->length[t], b = 0;
        while (n >> b) b++;
        s->shift[t] = bits;
        s->mask[t] = (1ull << b) - 1;
        bits += b;
        s->need[t] = room_for((size_t)n + 1, sizeof *s->need[t]);
        s->first_wait[t] = n;
        for (int i = n - 1; i >= 0; i--) {
            const weirx_op *op = &m->op[t][i];
            if (op->pdl_wait) s->first_wait[t] = i;
            if ((op->letter == 'A' || op->letter == 'a') && !m->resource[op->resource].queue)
                s->need[t][i] = &s->tests[2 * op->resource + (op->letter == 'a')];
        }
    }
    return bits <= 64;
}

static void release(search *s) {
    for (int i = 0; i < 2 * s->m->nresources; i++) {
        for (int c = 0; c < s->tests[i].nplus; c++) free((void *)(uintptr_t)s->tests[i].plus[c].prefix);
        for (int c = 0; c < s->tests[i].nminus; c++) free((void *)(uintptr_t)s->tests[i].minus[c].prefix);
    }
    for (int t = 0; t < s->m->ntasks; t++) free(s->need[t]);
    free(s->now), free(s->next), free(s->table);
}

/* ---- windows ------------------------------------------------------------------------------------------------------------ */

typedef unsigned char *window; /* [0] length, then (kind << 4 | task) in order */

static window window_of(const search *s, uint64_t *state, int resource) {
    return s->window[resource] ? (window)(state + s->window[resource]) : NULL;
}

static void drop(window w, int i) {
    if (i < 1) return;
    memmove(w + i, w + i + 1, (size_t)(w[0] - i));
    w[w[0]--] = 0;
}

static bool append(window w, int kind, int task) {
    if (w[0] == WINDOW_MOST) return false;
    w[++w[0]] = (unsigned char)(kind << 4 | task);
    return true;
}

/* First (step 1) or last (step -1) entry of these kinds (bits), of a task or of any (-1); 0: none. */
static int find(window w, int kinds, int task, int step) {
    for (int i = step > 0 ? 1 : w[0]; i >= 1 && i <= w[0]; i += step)
        if (kinds >> (w[i] >> 4) & 1 && (task < 0 || (w[i] & 15) == task)) return i;
    return 0;
}

static void change(window w, int i, int kind) {
    if (i) w[i] = (unsigned char)(kind << 4 | (w[i] & 15));
}

enum { K_HELD = 1 << HELD, K_READS = 1 << READS, K_WRITES = 1 << WRITES, K_ALL = 7 };

/* The task has done its op at `i`. */
static bool update_windows(const search *s, uint64_t *state, int t, int i) {
    const weirx_credit_model *m = s->m;
    const weirx_op *op = &m->op[t][i], *after = i + 1 < m->length[t] ? op + 1 : NULL;
    const weirx_resource *q = &m->resource[op->resource];
    window w = window_of(s, state, op->resource);
    bool again = after && after->letter == op->letter && after->resource == op->resource, fits = true;
    switch (op->letter) {
    case 'A':
        if (!w) break;
        if (q->umma_consumer) drop(w, find(w, K_HELD | K_READS, -1, 1));
        fits = append(w, HELD, t);
        break;
    case 'P':
        if (!w) break;
        change(w, find(w, K_HELD, t, 1), WRITES);
        if ((!q->piped || q->thread_producer) && !again) change(w, find(w, K_WRITES, t, 1), HELD);
        break;
    case 'a':
        if (w) {
            drop(w, find(w, K_HELD | K_WRITES, -1, -1));
            drop(w, find(w, K_READS, -1, -1));
            fits = append(w, HELD, t);
        }
        for (int o = 0; o < m->nresources; o++) {
            window other = q->paired >> o & 1 ? window_of(s, state, o) : NULL;
            if (other) drop(other, find(other, K_HELD | K_READS, -1, 1));
        }
        break;
    case 'c':
        if (!w) break;
        change(w, find(w, K_ALL, t, 1), op->write ? WRITES : READS);
        if (!q->umma_consumer && !again) change(w, find(w, K_READS | K_WRITES, t, 1), HELD);
        break;
    case 'r':
        for (int o = 0; o < m->nresources; o++) {
            window member = q->members >> o & 1 ? window_of(s, state, o) : NULL;
            if (member && !m->resource[o].umma_consumer) drop(member, find(member, K_ALL, t, 1));
        }
        break;
    default: break;
    }
    return fits;
}

typedef struct access { int resource, task; bool write; } access;

static bool confirms(const weirx_credit_model *m, const access *a, const access *b) {
    const weirx_resource *q = &m->resource[a->resource];
    return (a->write ? q->writer_meets : q->reader_meets) >> b->resource & 1;
}

/* Race records of a state: one for each pair of tasks and pair of resources. */
static uint64_t races(const search *s, uint64_t *state, const int *cursor, unsigned ready) {
    const weirx_credit_model *m = s->m;
    access on[WEIRX_RESOURCES * WINDOW_MOST + WEIRX_TASKS];
    struct { int t, u, r, q; } seen[256];
    int n = 0, nseen = 0;
    for (int i = 0; i < m->nresources; i++) {
        window w = window_of(s, state, i);
        for (int e = 1; w && e <= w[0]; e++)
            if (w[e] >> 4 != HELD) on[n++] = (access){ i, w[e] & 15, w[e] >> 4 == WRITES };
    }
    for (int t = 0; t < m->ntasks; t++) { /* about to run */
        if (!(ready >> t & 1)) continue;
        const weirx_op *op = &m->op[t][cursor[t]];
        if (m->resource[op->resource].tracked && (op->letter == 'P' || op->letter == 'c'))
            on[n++] = (access){ op->resource, t, op->letter == 'P' || op->write };
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const access *a = &on[i], *b = &on[j];
            if (a->task == b->task || !(a->write || b->write) || !confirms(m, a, b) || !confirms(m, b, a)) continue;
            int t = a->task < b->task ? a->task : b->task, u = a->task ^ b->task ^ t;
            int r = a->resource < b->resource ? a->resource : b->resource, q = a->resource ^ b->resource ^ r;
            bool old = false;
            for (int x = 0; x < nseen && !old; x++) old = seen[x].t == t && seen[x].u == u && seen[x].r == r && seen[x].q == q;
            if (old || nseen == 256) continue;
            seen[nseen].t = t, seen[nseen].u = u, seen[nseen].r = r, seen[nseen++].q = q;
        }
    return (uint64_t)nseen;
}

/* ---- the search --------------------------------------------------------------------------------------------------------- */

static inline int rounds(const count *c, int n, int size, const int *cursor) {
    int total = 0;
    if (size == 0) return 0;
    for (int i = 0; i < n; i++) total += c[i].prefix[cursor[c[i].task]];
    return size == 1 ? total : total / size;
}

static inline bool holds(const test *t, const int *cursor) {
    return !t || t->stages + rounds(t->plus, t->nplus, t->plus_round, cursor) - rounds(t->minus, t->nminus, t->minus_round, cursor) > 0;
}

static inline size_t slot_of(const uint64_t *state, int words, size_t slots) {
    uint64_t h = 0;
    for (int i = 0; i < words; i++) {
        h = (h ^ state[i]) * 0x9e3779b97f4a7c15ull;
        if (words > 1) h ^= h >> 29;
    }
    return (size_t)(h >> 32) & (slots - 1);
}

/* The state at the end of `next` joins its level unless it is there. */
static inline void keep(search *s, int words) {
    uint64_t *x = s->next + s->nnext * (size_t)words;
    size_t h = slot_of(x, words, s->slots);
    for (; s->table[h]; h = (h + 1) & (s->slots - 1))
        if (!memcmp(s->next + (size_t)(s->table[h] - 1) * (size_t)words, x, sizeof *x * (size_t)words)) return;
    s->table[h] = (uint32_t)++s->nnext;
    if (s->nnext + 1 >= s->room) {
        s->room *= 2;
        s->now = grown(s->now, s->room * sizeof *s->now * (size_t)words);
        s->next = grown(s->next, s->room * sizeof *s->next * (size_t)words);
    }
    if (2 * s->nnext < s->slots) return;
    s->slots *= 2;
    s->table = grown(s->table, s->slots * sizeof *s->table);
    memset(s->table, 0, s->slots * sizeof *s->table);
    for (size_t i = 0; i < s->nnext; i++) {
        for (h = slot_of(s->next + i * (size_t)words, words, s->slots); s->table[h];) h = (h + 1) & (s->slots - 1);
        s->table[h] = (uint32_t)i + 1;
    }
}

static void record(search *s, uint64_t *kind, uint64_t n, int depth) {
    *kind += n;
    if (n && s->r.first < 0) s->r.first = depth;
}

static int by_cursors(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t different_cursors(const search *s, int words) {
    if (words == 1) return s->nnow;
    uint64_t *key = room_for(s->nnow, sizeof *key), n = 0;
    for (size_t i = 0; i < s->nnow; i++) key[i] = s->now[i * (size_t)words];
    qsort(key, s->nnow, sizeof *key, by_cursors);
    for (size_t i = 0; i < s->nnow; i++) n += i == 0 || key[i] != key[i - 1];
    free(key);
    return n;
}

/* All states of a level: counts them, and builds the next. */
static inline void level(search *s, int words, int depth) {
    const weirx_credit_model *m = s->m;
    for (size_t i = 0; i < s->nnow; i++) {
        uint64_t *state = s->now + i * (size_t)words, key = state[0];
        int cursor[WEIRX_TASKS];
        unsigned ready = 0, left = 0;
        bool waited = m->pdl_done;
        for (int t = 0; t < m->ntasks; t++) {
            cursor[t] = (int)(key >> s->shift[t] & s->mask[t]);
            waited = waited || cursor[t] > s->first_wait[t];
        }
        for (int t = 0; t < m->ntasks; t++) {
            if (cursor[t] == m->length[t]) continue;
            left |= 1u << t;
            if (holds(s->need[t][cursor[t]], cursor)) ready |= 1u << t;
        }
        if (!left) s->r.complete++;
        else if (!ready) record(s, &s->r.deadlock, 1, depth);
        else if (words > 1) record(s, &s->r.race, races(s, state, cursor, ready), depth);
        for (int t = 0; t < m->ntasks; t++) {
            if (!(ready >> t & 1)) continue;
            if (m->op[t][cursor[t]].pdl_launch && !waited) {
                record(s, &s->r.pdl, 1, depth);
                continue;
            }
            state = s->now + i * (size_t)words;
            uint64_t *to = s->next + s->nnext * (size_t)words;
            memcpy(to, state, sizeof *to * (size_t)words);
            to[0] = key + (1ull << s->shift[t]);
            if (words > 1 && !update_windows(s, to, t, cursor[t])) s->r.why = "more windows of a resource than fit";
            keep(s, words);
        }
    }
}

weirx_credits_result weirx_credits(const weirx_credit_model *m, uint64_t limit) {
    search s = { .m = m, .r = { .first = -1 }, .room = 1024, .slots = 1024 };
    if (m->ntasks == 0) return s.r;
    if (!prepare(&s)) s.r.why = "the cursors do not fit into a word";
    s.now = room_for(s.room * (size_t)s.words, sizeof *s.now);
    s.next = room_for(s.room * (size_t)s.words, sizeof *s.next);
    s.table = room_for(s.slots, sizeof *s.table);
    s.nnow = 1;
    for (int depth = 0; s.nnow > 0 && !s.r.why; depth++) {
        if (s.r.states >= limit) {
            s.r.limit_hit = true;
            break;
        }
        s.nnext = 0;
        memset(s.table, 0, s.slots * sizeof *s.table);
        if (s.words == 1) level(&s, 1, depth);
        else level(&s, s.words, depth);
        s.r.states += s.nnow;
        s.r.cursor_vectors += different_cursors(&s, s.words);
        if (s.nnow > s.r.widest) s.r.widest = s.nnow;
        uint64_t *swap = s.now;
        s.now = s.next, s.next = swap;
        s.nnow = s.nnext;
    }
    release(&s);
    return s.r;
}
