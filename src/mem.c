/* The context: its memory, its error text, its log. Every block is on one list, so that weir_close leaves nothing behind. */
#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "close.h"

/* ---- allocation --------------------------------------------------------------------------------------------------------- */

/* Stands before each block and keeps it 16-aligned. */
typedef struct weiri_head {
    _Alignas(16) struct weiri_head *prev;
    struct weiri_head *next;
    size_t size; /* bytes, this header included */
} head;

static head *head_of(void *p) { return (head *)p - 1; }

static void link_head(weir_ctx *c, head *h) {
    h->prev = NULL;
    h->next = c->live;
    if (h->next) h->next->prev = h;
    c->live = h;
}

static void unlink_head(weir_ctx *c, head *h) {
    if (h->prev) h->prev->next = h->next;
    else c->live = h->next;
    if (h->next) h->next->prev = h->prev;
}

void *weiri_realloc(weir_ctx *c, void *p, size_t old, size_t n) {
    if (!p && !n) return NULL;
    if (!n) {
        head *h = head_of(p);
        unlink_head(c, h);
        c->cfg.alloc(c->cfg.ud, h, old + sizeof *h, 0);
        c->bytes -= old + sizeof *h;
        return NULL;
    }
    if (n > SIZE_MAX - sizeof(head)) {
        weiri_fail(c, WEIR_E_MEMORY, "out of memory: %zu bytes asked for", n);
        return NULL;
    }
    head *h = p ? head_of(p) : NULL;
    if (h) unlink_head(c, h);
    head *to = c->cfg.alloc(c->cfg.ud, h, h ? old + sizeof *h : 0, n + sizeof *h);
    if (!to) {
        if (h) link_head(c, h);
        c->refused++;
        weiri_fail(c, WEIR_E_MEMORY, "out of memory: %zu bytes asked for, %llu held", n, (unsigned long long)c->bytes);
        return NULL;
    }
    to->size = n + sizeof *to;
    link_head(c, to);
    c->bytes += n + sizeof *to - (h ? old + sizeof *to : 0);
    return to + 1;
}

void *weiri_alloc(weir_ctx *c, size_t n) {
    void *p = weiri_realloc(c, NULL, 0, n);
    if (p) memset(p, 0, n);
    return p;
}

void weiri_free(weir_ctx *c, void *p, size_t n) {
    if (p) weiri_realloc(c, p, n, 0);
}

/* ---- arenas ------------------------------------------------------------------------------------------------------------- */

enum { BLOCK_BYTES = 16384 };

struct weiri_block {
    _Alignas(16) weiri_block *older;
    size_t size;  /* bytes behind this header */
    bool scratch; /* from the C library, after the host's allocator refused */
};

void weiri_arena_init(weiri_arena *a, weir_ctx *c) { *a = (weiri_arena){ .ctx = c }; }

void weiri_arena_free(weiri_arena *a) {
    for (weiri_block *b = a->blocks, *older; b; b = older) {
        older = b->older;
        if (b->scratch) free(b);
        else weiri_free(a->ctx, b, sizeof *b + b->size);
    }
    weiri_arena_init(a, a->ctx);
}

/* Once the host's allocator has refused, its result is worthless and will be thrown away, but the builders still need somewhere
 * to write until they look at `oom`. That scratch is the C library's: a few blocks, freed with the arena. */
static bool add_block(weiri_arena *a, size_t n) {
    size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
    weiri_block *b = a->oom ? NULL : weiri_alloc(a->ctx, sizeof *b + size);
    if (!b) {
        a->oom = true;
        b = calloc(1, sizeof *b + size);
        if (!b) return false;
        b->scratch = true;
    }
    b->size = size;
    b->older = a->blocks;
    a->blocks = b;
    a->cap = size;
    a->used = 0;
    return true;
}

void *weiri_arena_alloc(weiri_arena *a, size_t n) {
    n = (n + 15) & ~(size_t)15;
    if (n > a->cap - a->used && !add_block(a, n)) return NULL; /* nothing anywhere */
    void *p = (char *)(a->blocks + 1) + a->used;
    a->used += n;
    a->total += n;
    return p; /* blocks are zeroed when they come and never reused */
}

char *weiri_arena_str(weiri_arena *a, const char *s) {
    if (!s) return NULL;
    size_t n = strlen(s) + 1;
    return memcpy(weiri_arena_alloc(a, n), s, n);
}

char *weiri_arena_vfmt(weiri_arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *s = weiri_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n >= 0) vsnprintf(s, (size_t)n + 1, fmt, ap);
    return s;
}

char *weiri_arena_fmt(weiri_arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *s = weiri_arena_vfmt(a, fmt, ap);
    va_end(ap);
    return s;
}

void *weiri_grow(weiri_arena *a, void *v, int n, int *cap, size_t size) {
    int to = *cap ? *cap * 2 : 4;
    void *w = weiri_arena_alloc(a, size * (size_t)to);
    if (n) memcpy(w, v, size * (size_t)n);
    *cap = to;
    return w;
}

/* ---- text --------------------------------------------------------------------------------------------------------------- */

void weiri_buf_init(weiri_buf *b, weir_ctx *c) { *b = (weiri_buf){ .ctx = c }; }

void weiri_buf_free(weiri_buf *b) {
    weiri_free(b->ctx, b->s, b->cap);
    weiri_buf_init(b, b->ctx);
}

/* Makes room for n more bytes and the NUL. */
static bool reserve(weiri_buf *b, size_t n) {
    if (b->oom) return false;
    if (b->cap - b->n > n) return true;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->n <= n) cap *= 2;
    char *s = weiri_realloc(b->ctx, b->s, b->cap, cap);
    if (!s) {
        b->oom = true;
        return false;
    }
    b->s = s;
    b->cap = cap;
    return true;
}

void weiri_put_n(weiri_buf *b, const char *s, size_t n) {
    if (!reserve(b, n)) return;
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void weiri_putv(weiri_buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0 || !reserve(b, (size_t)n)) return;
    vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
}

void weiri_put(weiri_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    weiri_putv(b, fmt, ap);
    va_end(ap);
}

/* ---- context ------------------------------------------------------------------------------------------------------------ */

static void *libc_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
    (void)ud, (void)old_size;
    if (new_size) return realloc(p, new_size);
    free(p);
    return NULL;
}

static void silent(void *ud, weir_log_level level, const char *text) { (void)ud, (void)level, (void)text; }

static bool copy_text(weir_ctx *c, const char **s) {
    if (!*s) return true;
    size_t n = strlen(*s) + 1;
    char *t = weiri_alloc(c, n);
    if (t) memcpy(t, *s, n);
    *s = t;
    return t != NULL;
}

/* Where cubins and host builds are kept when the host says nothing; "" when there is no place. As XDG's rules want it, a path that
 * is not absolute counts as none: it would be another folder wherever the program starts. */
static void default_cache_dir(char *out, size_t size) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = xdg && *xdg == '/'     ? snprintf(out, size, "%s/weir", xdg)
            : home && *home == '/' ? snprintf(out, size, "%s/.cache/weir", home)
                                   : 0;
    if (n <= 0 || (size_t)n >= size) out[0] = '\0';
}

weir_ctx *weir_open(const weir_config *config) {
    weir_config cfg = config ? *config : (weir_config){ 0 };
    char cache[1024];
    if (!cfg.alloc) cfg.alloc = libc_alloc;
    if (!cfg.log) cfg.log = silent;
    if (!cfg.log_level) cfg.log_level = WEIR_LOG_WARNING;
    if (!cfg.driver_path) cfg.driver_path = "libcuda.so.1";
    if (!cfg.cxx) cfg.cxx = getenv("WEIR_CXX");
    if (!cfg.cache_dir) {
        default_cache_dir(cache, sizeof cache);
        cfg.cache_dir = cache;
    }
    weir_ctx *c = cfg.alloc(cfg.ud, NULL, 0, sizeof *c);
    if (!c) return NULL;
    *c = (weir_ctx){ .cfg = cfg, .bytes = sizeof *c };
    if (!copy_text(c, &c->cfg.cache_dir) || !copy_text(c, &c->cfg.nvrtc_path) || !copy_text(c, &c->cfg.driver_path) ||
        !copy_text(c, &c->cfg.cxx)) {
        weir_close(c);
        return NULL;
    }
    return c;
}

void weir_close(weir_ctx *c) {
    if (!c) return;
    weiri_cuda_close(c);
    weiri_nvrtc_close(c);
    weiri_sim_close(c);
    /* Kernels, programs, reports and buffers still open hold memory only, and all of it is here. */
    for (head *h = c->live, *next; h; h = next) {
        next = h->next;
        c->cfg.alloc(c->cfg.ud, h, h->size, 0);
    }
    weir_config cfg = c->cfg;
    cfg.alloc(cfg.ud, c, sizeof *c, 0);
}

const char *weir_error(const weir_ctx *c) { return c->error; }
weir_status weir_error_status(const weir_ctx *c) { return c->status; }
size_t weir_live_bytes(const weir_ctx *c) { return (size_t)c->bytes; }

const char *weir_status_name(weir_status st) {
    switch (st) {
    case WEIR_OK: return "ok";
    case WEIR_E_MEMORY: return "memory";
    case WEIR_E_ARGUMENT: return "argument";
    case WEIR_E_INVALID: return "invalid";
    case WEIR_E_UNSAFE: return "unsafe";
    case WEIR_E_NO_DEVICE: return "no_device";
    case WEIR_E_NO_COMPILER: return "no_compiler";
    case WEIR_E_COMPILE: return "compile";
    case WEIR_E_DRIVER: return "driver";
    case WEIR_E_LAUNCH: return "launch";
    case WEIR_E_SIM: return "sim";
    case WEIR_E_IO: return "io";
    case WEIR_E_WATCHDOG: return "watchdog";
    }
    return "unknown";
}

weir_status weiri_fail(weir_ctx *c, weir_status st, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->error, sizeof c->error, fmt, ap);
    va_end(ap);
    c->status = st;
    return st;
}

void weiri_log(weir_ctx *c, weir_log_level level, const char *fmt, ...) {
    if (level > c->cfg.log_level) return;
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->cfg.log(c->cfg.ud, level, text);
}
