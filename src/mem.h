/* The context's memory: one host allocator, arenas for objects that die with their kernel, growing arrays. */
#ifndef WEIRI_MEM_H
#define WEIRI_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#if defined(__GNUC__)
#define WEIRI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define WEIRI_PRINTF(f, a)
#endif

struct weir_ctx {
    weir_config cfg;       /* filled in: no zero fields */
    char error[1024];      /* text of the last failed call: weir_error() */
    weir_status status;    /* and its code */
    void *cuda;            /* cuda.c: driver table, NULL until asked for */
    void *nvrtc;           /* compile.c: NVRTC table */
    void *sim;             /* sim/: settings and caches */
    uint64_t bytes;        /* live bytes, for tests */
    uint64_t refused;      /* times that the host's allocator gave nothing */
    bool said_sim;         /* "no GPU: simulator" was logged once */
    struct weiri_head *live; /* every block held, newest first */
};

/* Allocation never returns NULL silently: on failure the context's error is set and NULL comes back; arenas then turn
 * sticky (`oom`) and hand out zeroed scratch memory, so that builders need check once, at the end. */
void *weiri_alloc(weir_ctx *c, size_t n);                      /* zeroed */
void *weiri_realloc(weir_ctx *c, void *p, size_t old, size_t n);
void weiri_free(weir_ctx *c, void *p, size_t n);

typedef struct weiri_block weiri_block;
typedef struct weiri_arena {
    weir_ctx *ctx;
    weiri_block *blocks;
    size_t used, cap; /* of the newest block */
    size_t total;     /* bytes given out */
    bool oom;
} weiri_arena;

void weiri_arena_init(weiri_arena *a, weir_ctx *c);
void weiri_arena_free(weiri_arena *a);
void *weiri_arena_alloc(weiri_arena *a, size_t n);             /* zeroed, 16-aligned; not NULL while the C library has memory */
char *weiri_arena_str(weiri_arena *a, const char *s);          /* copy; NULL gives NULL */
char *weiri_arena_fmt(weiri_arena *a, const char *fmt, ...) WEIRI_PRINTF(2, 3);
char *weiri_arena_vfmt(weiri_arena *a, const char *fmt, va_list ap);
#define WEIRI_NEW(a, T) ((T *)weiri_arena_alloc((a), sizeof(T)))
#define WEIRI_NEW_N(a, T, n) ((T *)weiri_arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Growing array in an arena: WEIRI_PUSH(a, list, x) with fields `T *v; int n, cap;`. Old storage stays in the arena. */
#define WEIRI_LIST(T) struct { T *v; int n, cap; }
void *weiri_grow(weiri_arena *a, void *v, int n, int *cap, size_t size);
/* Room for n elements in an empty list. */
#define WEIRI_ROOM(a, l, n) ((l).v = weiri_arena_alloc((a), sizeof *(l).v * (size_t)(n)), (l).cap = (n))
#define WEIRI_PUSH(a, l, x) \
    ((l).n == (l).cap ? (void)((l).v = weiri_grow((a), (l).v, (l).n, &(l).cap, sizeof *(l).v)) : (void)0, (l).v[(l).n++] = (x))

/* Growing text, on the context's allocator. */
typedef struct weiri_buf {
    weir_ctx *ctx;
    char *s; /* NUL-terminated once anything was put */
    size_t n, cap;
    bool oom;
} weiri_buf;
void weiri_buf_init(weiri_buf *b, weir_ctx *c);
void weiri_buf_free(weiri_buf *b);
void weiri_put(weiri_buf *b, const char *fmt, ...) WEIRI_PRINTF(2, 3);
void weiri_putv(weiri_buf *b, const char *fmt, va_list ap);
void weiri_put_n(weiri_buf *b, const char *s, size_t n);

/* Sets the context's error (code and text) and returns the code. */
weir_status weiri_fail(weir_ctx *c, weir_status st, const char *fmt, ...) WEIRI_PRINTF(3, 4);
void weiri_log(weir_ctx *c, weir_log_level level, const char *fmt, ...) WEIRI_PRINTF(3, 4);

#endif
