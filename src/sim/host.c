/* Emitted source -> a library of the host: find the compiler, build, keep on disk and in memory, load. Also what belongs to the
 * context between launches: the ranges a kernel may access, and the stacks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../embedded.h"
#include "../hash.h"
#include "../lower.h"
#include "../names.h"
#include "machine.h"

extern char **environ;

enum { MAX_LIBS = 32, PATH_SIZE = 1024, HEX = 40, RED_ZONE = 4096 };

typedef struct range {
    const char *lo;
    u64 n;
    void *block; /* ours, to be freed */
    char name[48];
    weiri_page **pages; /* who accessed it last; NULL: nobody */
} range;
typedef struct lib {
    char key[HEX + 1];
    void *handle;
    void (*entry)(w_sim_api *);
    u64 used;
} lib;

struct weiri_sim {
    range *ranges;
    int nranges, range_cap;
    lib libs[MAX_LIBS];
    int nlibs;
    u64 uses;
    u32 homes; /* clusters so far */
    char *stacks;
    int nstacks;
    size_t stack_size;
};

struct weiri_sim *weiri_host_sim(weir_ctx *c) {
    if (!c->sim) c->sim = weiri_alloc(c, sizeof(struct weiri_sim));
    return c->sim;
}

/* ---- ranges -------------------------------------------------------------------------------------------------------------- */

static range *add_range(weir_ctx *c, const void *p, u64 n) {
    struct weiri_sim *s = weiri_host_sim(c);
    if (!s) return NULL;
    if (s->nranges == s->range_cap) {
        int cap = s->range_cap ? 2 * s->range_cap : 16;
        range *more = weiri_realloc(c, s->ranges, (size_t)s->range_cap * sizeof *more, (size_t)cap * sizeof *more);
        if (!more) return NULL;
        s->ranges = more;
        s->range_cap = cap;
    }
    range *r = &s->ranges[s->nranges++];
    *r = (range){ .lo = p, .n = n };
    return r;
}

/* The block is larger than asked for, so that two buffers never touch: an index past the end of one is not in the next. */
void *weiri_sim_malloc(weir_ctx *c, size_t size) {
    size_t all = size + 2 * RED_ZONE;
    char *block = weiri_alloc(c, all);
    if (!block) return NULL;
    char *p = block + RED_ZONE;
    p += (256 - (uintptr_t)p % 256) % 256;
    range *r = add_range(c, p, size);
    if (!r) {
        weiri_free(c, block, all);
        return NULL;
    }
    r->block = block;
    return p;
}

static void drop_range(weir_ctx *c, struct weiri_sim *s, int i) {
    range *r = &s->ranges[i];
    if (r->block) weiri_free(c, r->block, (size_t)r->n + 2 * RED_ZONE);
    if (r->pages) weiri_race_free_pages(c, r->pages, weiri_race_pages(r->n));
    *r = s->ranges[--s->nranges];
}

void weiri_sim_free(weir_ctx *c, void *p) {
    struct weiri_sim *s = c->sim;
    for (int i = 0; s && p && i < s->nranges; i++)
        if (s->ranges[i].lo == p && s->ranges[i].block) {
            drop_range(c, s, i);
            return;
        }
}

bool weiri_sim_holds(weir_ctx *c, const void *p, size_t *left) {
    const struct weiri_sim *s = c->sim;
    uintptr_t a = (uintptr_t)p;
    for (int i = 0; s && i < s->nranges; i++) {
        const range *r = &s->ranges[i];
        uintptr_t lo = (uintptr_t)r->lo;
        if (!r->block || a < lo || a - lo >= r->n) continue;
        *left = (size_t)(r->n - (a - lo));
        return true;
    }
    return false;
}

bool weiri_sim_lend(weir_ctx *c, const void *p, size_t size) { return add_range(c, p, size) != NULL; }

void weiri_sim_unlend(weir_ctx *c, const void *p, size_t size) {
    struct weiri_sim *s = c->sim;
    for (int i = 0; s && i < s->nranges; i++)
        if (s->ranges[i].lo == p && s->ranges[i].n == size && !s->ranges[i].block) {
            drop_range(c, s, i);
            return;
        }
}

void weiri_sim_name(weir_ctx *c, const void *p, const char *name) {
    struct weiri_sim *s = c->sim;
    for (int i = 0; s && name && i < s->nranges; i++)
        if (s->ranges[i].lo == p) snprintf(s->ranges[i].name, sizeof s->ranges[i].name, "%s", name);
}

bool weiri_host_range(struct weiri_sim *s, const void *p, u64 n, char *why, size_t size) {
    u64 a = (u64)(uintptr_t)p, best = UINT64_MAX;
    const range *near = NULL;
    for (int i = 0; i < s->nranges; i++) {
        const range *r = &s->ranges[i];
        u64 lo = (u64)(uintptr_t)r->lo;
        if (a >= lo && n <= r->n && a - lo <= r->n - n) {
            if (i) { /* the next access is likely to the same one */
                range hit = *r;
                s->ranges[i] = s->ranges[i / 2];
                s->ranges[i / 2] = hit;
            }
            return true;
        }
        u64 far = a < lo ? lo - a : a >= lo + r->n ? a - (lo + r->n) : 0;
        if (far < best) {
            best = far;
            near = r;
        }
    }
    if (!near) snprintf(why, size, "there is none");
    else {
        u64 lo = (u64)(uintptr_t)near->lo;
        const char *name = *near->name ? near->name : "a buffer";
        if (a < lo) snprintf(why, size, "%llu bytes before '%s' (%llu bytes)", lo - a, name, near->n);
        else if (a >= lo + near->n)
            snprintf(why, size, "%llu bytes past the end of '%s' (%llu bytes)", a - (lo + near->n), name, near->n);
        else snprintf(why, size, "it begins at byte %llu of '%s' and ends past its end (%llu bytes)", a - lo, name, near->n);
    }
    return false;
}

static range *range_of(struct weiri_sim *s, const void *p) {
    for (int i = 0; i < s->nranges; i++)
        if ((const char *)p >= s->ranges[i].lo && (u64)((const char *)p - s->ranges[i].lo) < s->ranges[i].n) return &s->ranges[i];
    return NULL;
}

void weiri_host_name(struct weiri_sim *s, const void *p, char *out, size_t size) {
    const range *r = range_of(s, p);
    if (!r) snprintf(out, size, "%p", p);
    else snprintf(out, size, "%s%s%s byte %lld", *r->name ? "'" : "", *r->name ? r->name : "a buffer", *r->name ? "'" : "",
                  (i64)((const char *)p - r->lo));
}

weiri_page **weiri_host_pages(struct weiri_sim *s, weir_ctx *c, const void *p, u64 *offset) {
    range *r = range_of(s, p);
    if (!r) return NULL;
    if (!r->pages) r->pages = weiri_alloc(c, (size_t)weiri_race_pages(r->n) * sizeof *r->pages);
    *offset = (u64)((const char *)p - r->lo) + (uintptr_t)r->lo % 4;
    return r->pages;
}

u32 weiri_host_homes(struct weiri_sim *s, u32 clusters) {
    u32 first = s->homes + 1;
    s->homes += clusters;
    return first;
}

char *weiri_host_stacks(weir_ctx *c, int n, size_t size) {
    struct weiri_sim *s = c->sim;
    if (s->stacks && s->nstacks >= n && s->stack_size == size) return s->stacks;
    if (s->stacks) weiri_stacks_unmap(s->stacks, s->nstacks, s->stack_size);
    s->stacks = weiri_stacks_map(n, size);
    s->nstacks = s->stacks ? n : 0;
    s->stack_size = size;
    return s->stacks;
}

void weiri_sim_close(weir_ctx *c) {
    struct weiri_sim *s = c->sim;
    if (!s) return;
    for (int i = 0; i < s->nlibs; i++) dlclose(s->libs[i].handle);
    while (s->nranges) drop_range(c, s, s->nranges - 1);
    weiri_free(c, s->ranges, (size_t)s->range_cap * sizeof *s->ranges);
    if (s->stacks) weiri_stacks_unmap(s->stacks, s->nstacks, s->stack_size);
    weiri_free(c, s, sizeof *s);
    c->sim = NULL;
}

/* ---- the compiler -------------------------------------------------------------------------------------------------------- */

/* The file a command would run; false: none. */
static bool find_program(const char *name, char *out, size_t size) {
    if (strchr(name, '/')) {
        snprintf(out, size, "%s", name);
        return access(out, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        int len = snprintf(out, size, "%.*s/%s", (int)n, n ? p : ".", name);
        if (len > 0 && (size_t)len < size && access(out, X_OK) == 0) return true;
        p += n + (p[n] == ':');
    }
    return false;
}

static weir_status find_compiler(weir_ctx *c, char *out, size_t size) {
    static const char *const names[] = { "c++", "g++", "clang++" };
    const char *given = c->cfg.cxx && *c->cfg.cxx ? c->cfg.cxx : getenv("WEIR_CXX");
    if (given && *given) {
        if (find_program(given, out, size)) return WEIR_OK;
        return weiri_fail(c, WEIR_E_NO_COMPILER,
                          "the simulator's C++ compiler '%s' is not there; give another as weir_config.cxx or in WEIR_CXX",
                          given);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_program(names[i], out, size)) return WEIR_OK;
    return weiri_fail(c, WEIR_E_NO_COMPILER,
                      "the simulator needs a C++17 compiler: no c++, g++ or clang++ on PATH; install one, or name it as "
                      "weir_config.cxx or in WEIR_CXX");
}

static const char *const compile_flags[] = {
    "-std=c++17",
    "-O1",
    "-fno-builtin",
    "-fsanitize=thread",
    "-fsanitize=integer-divide-by-zero,signed-integer-overflow,alignment", /* its answers are among the hooks, too */
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-ffp-contract=off",
    "-fstack-usage",
    "-w",
    "-Wno-psabi",
    "-c",
};
/* The hooks are compiled without -fsanitize, so that its runtime stays out. They are the same for every kernel. */
static const char *const hook_flags[] = {
    "-std=c++17", "-O1", "-fno-builtin", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-w", "-c",
};
static const char *const link_flags[] = { "-shared", "-Wl,-z,now" };

/* Runs a program with its output in a file; false, with errno, when it could not be started. */
static bool run(const char *program, const char *const *args, const char *log, int *status) {
    posix_spawn_file_actions_t fa;
    if (posix_spawn_file_actions_init(&fa)) return false;
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    pid_t pid;
    int e = posix_spawn(&pid, program, &fa, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&fa);
    if (e) {
        errno = e;
        return false;
    }
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR) return false;
    return true;
}

/* ---- files --------------------------------------------------------------------------------------------------------------- */

static bool make_folders(const char *dir) {
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) return false;
    for (char *s = path + 1; *s; s++) {
        if (*s != '/') continue;
        *s = '\0';
        mkdir(path, 0777);
        *s = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static bool write_file(const char *path, const weiri_buf *b) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = !b->n || fwrite(b->s, 1, b->n, f) == b->n;
    return fclose(f) == 0 && ok;
}

static bool read_file(const char *path, weiri_buf *b) {
    char chunk[4096];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) weiri_put_n(b, chunk, n);
    bool ok = !ferror(f);
    fclose(f);
    return ok;
}

/* The cache's files end in the SHA-256 of what goes before; the loader does not mind, and a damaged file is not loaded. */
static bool seal(const char *path, const weiri_buf *b) {
    weiri_hash h;
    uint8_t digest[32];
    weiri_hash_init(&h);
    weiri_hash_add(&h, b->s, b->n);
    weiri_hash_end(&h, digest);
    FILE *f = fopen(path, "ab");
    if (!f) return false;
    bool ok = fwrite(digest, 1, sizeof digest, f) == sizeof digest;
    return fclose(f) == 0 && ok;
}

static bool sealed(const weiri_buf *b) {
    weiri_hash h;
    uint8_t digest[32];
    if (b->n < sizeof digest) return false;
    weiri_hash_init(&h);
    weiri_hash_add(&h, b->s, b->n - sizeof digest);
    weiri_hash_end(&h, digest);
    return !memcmp(b->s + b->n - sizeof digest, digest, sizeof digest);
}

/* A private copy is loaded: the loader knows files by identity, and two contexts must not share a library's variables. */
static weir_status load(weir_ctx *c, const char *path, const char *dir, lib *l) {
    char copy[PATH_SIZE];
    weiri_buf b;
    weiri_buf_init(&b, c);
    snprintf(copy, sizeof copy, "%.900s/weir-sim-XXXXXX", dir);
    int fd = mkstemp(copy);
    weir_status st = WEIR_OK;
    if (!read_file(path, &b) || b.oom || !sealed(&b))
        st = weiri_fail(c, b.oom ? WEIR_E_MEMORY : WEIR_E_IO, "%s is damaged or cannot be read", path);
    else if (fd < 0 || !write_file(copy, &b))
        st = weiri_fail(c, b.oom ? WEIR_E_MEMORY : WEIR_E_IO, "cannot copy %s to %s: %s", path, copy, strerror(errno));
    if (fd >= 0) close(fd);
    weiri_buf_free(&b);
    if (st == WEIR_OK) {
        l->handle = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
        void *sym = l->handle ? dlsym(l->handle, "weir_sim_entry") : NULL;
        memcpy(&l->entry, &sym, sizeof sym);
        if (!sym) {
            st = weiri_fail(c, WEIR_E_IO, "cannot load the simulator's build %s: %s", path, dlerror());
            if (l->handle) dlclose(l->handle);
        }
    }
    if (fd >= 0) unlink(copy);
    return st;
}

/* ---- building ------------------------------------------------------------------------------------------------------------ */

static void put_entry(const weiri_plan *p, weiri_buf *b) {
    const char *name = weiri_kernel_symbol(p);
    weiri_put(b,
              "\n#undef %s\n#line 1 \"weir_sim_entry\"\nstatic void w_sim_run(void *const *p) {\n    (void)p;\n    w_kernel_%s(",
              name, name);
    for (int i = 0; i < p->params.n; i++) {
        const weiri_kparam *k = &p->params.v[i];
        weiri_put(b, "%s*(%s const *)p[%d]", i ? ", " : "", k->kind == KP_TMAP ? "w_tmap" : k->type, i);
    }
    weiri_put(b, ");\n}\nextern \"C\" __attribute__((visibility(\"default\"))) void weir_sim_entry(w_sim_api *api) { "
                 "w_sim_bind(api, w_sim_run); }\n");
}

/* Removes the temporary folder's files that exist, then the folder. */
static void clean(const char *dir) {
    static const char *const names[] = { "kernel.cpp", "hooks.cpp", "kernel.o", "hooks.o", "kernel.so", "kernel.su", "log" };
    char path[PATH_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.900s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static bool spawn_step(weir_ctx *c, const char *cxx, const char *const *flags, size_t n, const char *const *rest,
                       const char *log_path, weiri_buf *log, weir_status *st) {
    const char *args[32];
    size_t k = 0;
    args[k++] = cxx;
    for (size_t i = 0; i < n; i++) args[k++] = flags[i];
    for (; *rest; rest++) args[k++] = *rest;
    args[k] = NULL;
    int status = 0;
    if (!run(cxx, args, log_path, &status)) {
        *st = weiri_fail(c, WEIR_E_NO_COMPILER, "cannot run the C++ compiler %s: %s", cxx, strerror(errno));
        return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    read_file(log_path, log);
    *st = weiri_fail(c, WEIR_E_COMPILE, "the simulator's C++ compiler %s refused the source:\n%.800s", cxx,
                     log->s ? log->s : "(it said nothing)");
    return false;
}

/* The compiler is known by its file: asking it for its version would take longer than all the rest. */
static void hash_compiler(weiri_hash *h, const char *cxx) {
    struct stat st;
    weiri_hash_text(h, cxx);
    if (stat(cxx, &st)) return;
    weiri_hash_add(h, &st.st_size, sizeof st.st_size);
    weiri_hash_add(h, &st.st_mtime, sizeof st.st_mtime);
    weiri_hash_add(h, &st.st_ino, sizeof st.st_ino);
}

static void hash_flags(weiri_hash *h, const char *const *flags, size_t n) {
    for (size_t i = 0; i < n; i++) weiri_hash_text(h, flags[i]);
}

#define FLAGS(f) f, sizeof(f) / sizeof *(f)

static weir_status seal_file(weir_ctx *c, const char *path) {
    weiri_buf b;
    weiri_buf_init(&b, c);
    weir_status st = WEIR_OK;
    if (!read_file(path, &b) || b.oom || !seal(path, &b))
        st = weiri_fail(c, b.oom ? WEIR_E_MEMORY : WEIR_E_IO, "cannot write %s: %s", path, strerror(errno));
    weiri_buf_free(&b);
    return st;
}

/* The object of the hooks: kept in the cache, or made in `dir`. Its path goes to `out`. */
static weir_status hooks_object(weir_ctx *c, const char *cxx, const char *dir, const char *cache, const char *log_path,
                                weiri_buf *log, char out[PATH_SIZE]) {
    char src[PATH_SIZE], kept[PATH_SIZE] = "", key[HEX + 1];
    weiri_hash h;
    uint8_t digest[32];
    weiri_buf b;
    weir_status st = WEIR_OK;
    weiri_hash_init(&h);
    weiri_hash_text(&h, weiri_weir_sim_h);
    hash_flags(&h, FLAGS(hook_flags));
    hash_compiler(&h, cxx);
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, HEX / 2, key);
    weiri_buf_init(&b, c);
    if (cache) {
        snprintf(kept, sizeof kept, "%.900s/sim-hooks-%s.o", cache, key);
        bool good = read_file(kept, &b) && !b.oom && sealed(&b);
        weiri_buf_free(&b);
        if (good) {
            snprintf(out, PATH_SIZE, "%s", kept);
            return WEIR_OK;
        }
        weiri_buf_init(&b, c);
    }
    snprintf(src, sizeof src, "%.900s/hooks.cpp", dir);
    snprintf(out, PATH_SIZE, "%.900s/hooks.o", dir);
    weiri_put(&b, "#define WEIR_SIM_HOOKS\n%s", weiri_weir_sim_h);
    if (b.oom || !write_file(src, &b))
        st = weiri_fail(c, b.oom ? WEIR_E_MEMORY : WEIR_E_IO, "cannot write %s: %s", src, strerror(errno));
    weiri_buf_free(&b);
    const char *const args[] = { "-o", out, src, NULL };
    if (st != WEIR_OK || !spawn_step(c, cxx, FLAGS(hook_flags), args, log_path, log, &st)) return st;
    if (cache && seal_file(c, out) == WEIR_OK && rename(out, kept) == 0) snprintf(out, PATH_SIZE, "%s", kept);
    return WEIR_OK;
}

/* What the compiler says its functions take of a stack, "file:line:column:name<tab>bytes<tab>kind" each: the kernel and the largest that it
 * may call must fit, beside what the simulator's own calls take. A stack that ran over would be the end of the process. */
static weir_status check_stack(weir_ctx *c, const char *path, const char *kernel) {
    enum { OWN = 16 << 10 }; /* bytes */
    weiri_buf b;
    long long base = 0, most = 0;
    char where[256] = "";
    weiri_buf_init(&b, c);
    if (!read_file(path, &b) || b.oom) b.n = 0;
    for (const char *s = b.n ? b.s : "", *end; (end = strchr(s, '\n')); s = end + 1) {
        const char *tab = memchr(s, '\t', (size_t)(end - s));
        long long n = tab ? strtoll(tab + 1, NULL, 10) : 0;
        const char *name = tab ? strstr(s, kernel) : NULL;
        if (name && name < tab) {
            base = n;
        } else if (tab && n > most) {
            most = n;
            snprintf(where, sizeof where, "%.*s", (int)(tab - s), s);
        }
    }
    weiri_buf_free(&b);
    if (base + most <= STACK - OWN) return WEIR_OK;
    return weiri_fail(c, WEIR_E_COMPILE,
                      "a simulated thread has a stack of %d bytes, and the kernel takes %lld of it%s%s%s: local arrays of bodies must "
                      "be smaller here",
                      STACK, base + most, most > base ? " (most by " : "", most > base ? where : "", most > base ? ")" : "");
}

/* Builds `out` in the folder `dir`. */
static weir_status build(weir_ctx *c, const weiri_sim_run *r, const char *cxx, const char *dir, const char *cache,
                         weiri_buf *log) {
    char src[PATH_SIZE], hooks[PATH_SIZE], obj[PATH_SIZE], out[PATH_SIZE], log_path[PATH_SIZE];
    weiri_buf b;
    weir_status st = WEIR_OK;
    snprintf(src, sizeof src, "%.900s/kernel.cpp", dir);
    snprintf(obj, sizeof obj, "%.900s/kernel.o", dir);
    snprintf(out, sizeof out, "%.900s/kernel.so", dir);
    snprintf(log_path, sizeof log_path, "%.900s/log", dir);

    weiri_buf_init(&b, c);
    /* The kernel's name may be one of the C library's, which the GPU does not have. */
    const char *name = weiri_kernel_symbol(r->plan);
    weiri_put(&b, "#line 1 \"weir_sim.h\"\n%s\n#line 1 \"weir_sim_cuda.h\"\n%s\n#line 1 \"weir_halves.h\"\n%s\n", weiri_weir_sim_h,
              weiri_weir_sim_cuda_h, weiri_weir_halves_h);
    weiri_put(&b, "#define %s w_kernel_%s\n#line 1 \"%s.cu\"\n%s", name, name, r->plan->k->name, r->source);
    put_entry(r->plan, &b);
    if (b.oom || !write_file(src, &b))
        st = weiri_fail(c, b.oom ? WEIR_E_MEMORY : WEIR_E_IO, "cannot write %s: %s", src, strerror(errno));
    weiri_buf_free(&b);
    /* volatile accesses of a body are meant to meet others' */
    char real[PATH_MAX];
    bool clang = realpath(cxx, real) && strstr(real, "clang");
    const char *const one[] = {
        "-o", obj, src, clang ? "-mllvm" : "--param", clang ? "-tsan-distinguish-volatile=1" : "tsan-distinguish-volatile=1",
        NULL
    };
    const char *const two[] = { "-o", out, hooks, obj, "-lm", NULL };
    if (st != WEIR_OK || !spawn_step(c, cxx, FLAGS(compile_flags), one, log_path, log, &st)) return st;
    char usage[PATH_SIZE], symbol[160];
    snprintf(usage, sizeof usage, "%.900s/kernel.su", dir);
    snprintf(symbol, sizeof symbol, "w_kernel_%s", name);
    if ((st = check_stack(c, usage, symbol)) != WEIR_OK) return st;
    st = hooks_object(c, cxx, dir, cache, log_path, log, hooks);
    if (st != WEIR_OK || !spawn_step(c, cxx, FLAGS(link_flags), two, log_path, log, &st)) return st;
    return seal_file(c, out);
}

static void hash_key(const weiri_sim_run *r, const char *cxx, char key[HEX + 1]) {
    weiri_hash h;
    uint8_t digest[32];
    weiri_hash_init(&h);
    weiri_hash_text(&h, weiri_weir_sim_h);
    weiri_hash_text(&h, weiri_weir_sim_cuda_h);
    weiri_hash_text(&h, weiri_weir_halves_h);
    weiri_hash_text(&h, r->source);
    weiri_hash_text(&h, r->plan->k->name);
    for (int i = 0; i < r->plan->params.n; i++)
        weiri_hash_text(&h, r->plan->params.v[i].kind == KP_TMAP ? "w_tmap" : r->plan->params.v[i].type);
    hash_flags(&h, FLAGS(compile_flags));
    hash_flags(&h, FLAGS(hook_flags));
    hash_flags(&h, FLAGS(link_flags));
    hash_compiler(&h, cxx);
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, HEX / 2, key);
}

weir_status weiri_host_build(weir_ctx *c, const weiri_sim_run *r, void (**entry)(w_sim_api *), weiri_buf *log) {
    struct weiri_sim *s = c->sim;
    char cxx[PATH_SIZE], key[HEX + 1], cached[PATH_SIZE] = "", dir[PATH_SIZE], built[PATH_SIZE];
    weir_status st = find_compiler(c, cxx, sizeof cxx);
    bool have_compiler = st == WEIR_OK;
    if (!have_compiler) snprintf(cxx, sizeof cxx, "none");
    hash_key(r, cxx, key);
    for (int i = 0; i < s->nlibs; i++)
        if (!strcmp(s->libs[i].key, key)) {
            s->libs[i].used = ++s->uses;
            *entry = s->libs[i].entry;
            return WEIR_OK;
        }
    if (!have_compiler) return st;
    const char *cache = c->cfg.cache_dir && *c->cfg.cache_dir && make_folders(c->cfg.cache_dir) ? c->cfg.cache_dir : NULL;
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp) tmp = "/tmp";
    const char *base = cache ? cache : tmp;
    if (cache) snprintf(cached, sizeof cached, "%.800s/sim-%.64s-%s.so", cache, r->plan->k->name, key);

    lib l = { .used = ++s->uses };
    snprintf(l.key, sizeof l.key, "%s", key);
    /* A damaged entry does not load: it is built again. */
    if (cache && access(cached, R_OK) == 0 && load(c, cached, base, &l) == WEIR_OK) st = WEIR_OK;
    else {
        snprintf(dir, sizeof dir, "%.900s/weir-sim-XXXXXX", base);
        if (!mkdtemp(dir)) {
            if (base == tmp) return weiri_fail(c, WEIR_E_IO, "cannot make a folder %s: %s", dir, strerror(errno));
            base = tmp; /* a cache that cannot be written */
            cache = NULL;
            snprintf(dir, sizeof dir, "%.900s/weir-sim-XXXXXX", base);
            if (!mkdtemp(dir)) return weiri_fail(c, WEIR_E_IO, "cannot make a folder %s: %s", dir, strerror(errno));
        }
        weiri_log(c, WEIR_LOG_INFO, "weir: building kernel '%s' for the simulator with %s", r->plan->k->name, cxx);
        st = build(c, r, cxx, dir, cache, log);
        snprintf(built, sizeof built, "%.900s/kernel.so", dir);
        if (st == WEIR_OK && cache && rename(built, cached) == 0) st = load(c, cached, base, &l);
        else if (st == WEIR_OK) st = load(c, built, base, &l);
        clean(dir);
    }
    if (st != WEIR_OK) return st;
    int slot = s->nlibs;
    if (slot == MAX_LIBS) {
        slot = 0;
        for (int i = 1; i < MAX_LIBS; i++)
            if (s->libs[i].used < s->libs[slot].used) slot = i;
        dlclose(s->libs[slot].handle);
    } else s->nlibs++;
    s->libs[slot] = l;
    *entry = l.entry;
    return WEIR_OK;
}
