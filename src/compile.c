/* NVRTC and the cubin cache.
 *
 * * The cache's key is everything that decides the binary: source, options, architecture, NVRTC's version, weir's version.
 * An entry is written under a name of its own, flushed and renamed, so that readers see a whole entry or none; a short or
 * damaged one is a miss and is written again. Its head says what it was compiled from, so that a miss can be explained.
 * Opening NVRTC takes 10 ms and more, so a second small file remembers which library the search found and its version: a
 * hit opens no library at all. */
#define _GNU_SOURCE /* dladdr */
#include "compile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "close.h"
#include "hash.h"
#include "probe.h"
#include "ptx.h"

#define OBJECT_TO_FUNCTION(f, p) memcpy(&(f), &(p), sizeof(f)) /* ISO C has no cast between the two */

typedef int nvrtc_result;
typedef void *nvrtc_program;
enum { NVRTC_OK = 0, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6, NVRTC_BUILTIN = 7 };

/* X(field, symbol, needed, arguments) */
#define NVRTC_FUNCTIONS(X) \
    X(version, "nvrtcVersion", 1, (int *major, int *minor)) \
    X(create, "nvrtcCreateProgram", 1, \
      (nvrtc_program * p, const char *source, const char *name, int n, const char *const *headers, const char *const *names)) \
    X(compile, "nvrtcCompileProgram", 1, (nvrtc_program p, int n, const char *const *options)) \
    X(log_size, "nvrtcGetProgramLogSize", 1, (nvrtc_program p, size_t * size)) \
    X(log, "nvrtcGetProgramLog", 1, (nvrtc_program p, char *log)) \
    X(cubin_size, "nvrtcGetCUBINSize", 1, (nvrtc_program p, size_t * size)) \
    X(cubin, "nvrtcGetCUBIN", 1, (nvrtc_program p, char *cubin)) \
    X(ptx_size, "nvrtcGetPTXSize", 1, (nvrtc_program p, size_t * size)) \
    X(ptx, "nvrtcGetPTX", 1, (nvrtc_program p, char *ptx)) \
    X(destroy, "nvrtcDestroyProgram", 1, (nvrtc_program * p)) \
    X(narchs, "nvrtcGetNumSupportedArchs", 0, (int *n)) \
    X(archs, "nvrtcGetSupportedArchs", 0, (int *archs))

typedef struct nvrtc {
    void *lib;  /* NULL: not opened (yet) */
    bool found; /* path, major and minor are known */
    char path[PATH_MAX];
    int major, minor;
    char why[640]; /* of a failed search */
    int hits, absent, changed, damaged;
    char miss[320]; /* why the last one was */
    bool said_unwritable;
    const char *(*error_string)(nvrtc_result r);
#define NVRTC_FIELD(field, symbol, needed, args) nvrtc_result(*field) args;
    NVRTC_FUNCTIONS(NVRTC_FIELD)
#undef NVRTC_FIELD
} nvrtc;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static nvrtc *state(weir_ctx *ctx) {
    if (!ctx->nvrtc) ctx->nvrtc = weiri_alloc(ctx, sizeof(nvrtc));
    return ctx->nvrtc;
}

void weiri_nvrtc_close(weir_ctx *ctx) {
    nvrtc *n = ctx->nvrtc;
    if (!n) return;
    if (n->lib) dlclose(n->lib);
    ctx->nvrtc = NULL;
    weiri_free(ctx, n, sizeof *n);
}

weir_cache weir_cache_stats(weir_ctx *ctx) {
    const nvrtc *n = ctx->nvrtc;
    weir_cache c = { .dir = ctx->cfg.cache_dir, .why = "" };
    if (!n) return c;
    c.hits = n->hits;
    c.absent = n->absent, c.changed = n->changed, c.damaged = n->damaged;
    c.misses = n->absent + n->changed + n->damaged;
    c.why = n->miss;
    return c;
}

const char *weiri_arch_name(weir_arch a) {
    switch (a) {
    case WEIR_ARCH_SM_80: return "sm_80";
    case WEIR_ARCH_SM_90A: return "sm_90a";
    case WEIR_ARCH_SM_100A: return "sm_100a";
    case WEIR_ARCH_DEFAULT: break;
    }
    return "no arch";
}

/* ---- finding and opening NVRTC ------------------------------------------------------------------------------------------ */

/* The builtins are opened by bare name at the first compile and are mostly not on the loader's path: opening them here by
 * absolute path makes that later dlopen find them by their SONAME. */
static void preload_builtins(const char *lib_path, int major, int minor) {
    char path[PATH_MAX + 64];
    const char *slash = strrchr(lib_path, '/');
    if (!slash) return;
    int dir = (int)(slash - lib_path);
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", dir, lib_path, major, minor);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL); /* failure shows at the compile, as result 7 */
}

/* Opens one candidate; false when it cannot be used. */
static bool open_library(nvrtc *n, const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return false;
    bool complete = true;
    void *f = dlsym(lib, "nvrtcGetErrorString");
    if (f) OBJECT_TO_FUNCTION(n->error_string, f);
    else complete = false;
#define FIND(field, symbol, needed, args) \
    f = dlsym(lib, symbol); \
    if (f) OBJECT_TO_FUNCTION(n->field, f); \
    else if (needed) complete = false;
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    Dl_info info;
    if (!complete || n->version(&n->major, &n->minor) != NVRTC_OK) {
        dlclose(lib);
        return false;
    }
    f = dlsym(lib, "nvrtcVersion");
    const char *where = dladdr(f, &info) && info.dli_fname ? info.dli_fname : path;
    if (!realpath(where, n->path)) snprintf(n->path, sizeof n->path, "%s", where);
    preload_builtins(n->path, n->major, n->minor);
    n->lib = lib;
    n->found = true;
    return true;
}

static const char *const sonames[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
enum { NSONAMES = sizeof sonames / sizeof *sonames };

/* Folders beside the loader's: `var` is an environment variable put before the pattern, NULL none. pip's packages hold the
 * library in nvidia/cu13/lib (13) or nvidia/cuda_nvrtc/lib (12). */
static const struct {
    const char *var, *pattern;
} folders[] = {
    { "CUDA_HOME", "/lib64" },
    { "CUDA_PATH", "/lib64" },
    { NULL, "/usr/local/cuda/lib64" },
    { NULL, "/usr/local/cuda-*/lib64" },
    { "VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib" },
    { "CONDA_PREFIX", "/lib" },
    { "CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib" },
    { "HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib" },
    { "HOME", "/.pyenv/versions/*/lib/python3*/site-packages/nvidia/*/lib" },
    { NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/lib" },
    { NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/lib" },
    { NULL, "/usr/lib/python3*/dist-packages/nvidia/*/lib" },
    { NULL, "/opt/*/lib/python3*/site-packages/nvidia/*/lib" },
    { NULL, "/opt/*/*/lib/python3*/site-packages/nvidia/*/lib" },
};
enum { NFOLDERS = sizeof folders / sizeof *folders };

/* Tries every file that matches, last (newest name) first. */
static bool open_matching(nvrtc *n, const char *pattern) {
    glob_t g;
    bool ok = false;
    if (glob(pattern, 0, NULL, &g)) return false;
    for (size_t i = g.gl_pathc; i > 0 && !ok; i--) ok = open_library(n, g.gl_pathv[i - 1]);
    globfree(&g);
    return ok;
}

/* Search order: the host's word, the loader, the toolkit's variables, /usr/local, pip's folders. */
static bool search_library(weir_ctx *ctx, nvrtc *n) {
    const char *given = ctx->cfg.nvrtc_path;
    if (given && *given) {
        if (open_library(n, given)) return true;
        const char *e = dlerror();
        snprintf(n->why, sizeof n->why, "NVRTC cannot be opened at the given path '%s' (%s)", given,
                 e ? e : "it lacks functions weir needs");
        return false;
    }
    for (int i = 0; i < NSONAMES; i++)
        if (open_library(n, sonames[i])) return true;
    char pattern[PATH_MAX];
    for (int f = 0; f < NFOLDERS; f++) {
        const char *root = folders[f].var ? getenv(folders[f].var) : "";
        if (!root || (folders[f].var && !*root)) continue;
        for (int i = 0; i < NSONAMES; i++) {
            snprintf(pattern, sizeof pattern, "%s%s/%s", root, folders[f].pattern, sonames[i]);
            if (open_matching(n, pattern)) return true;
        }
    }
    snprintf(n->why, sizeof n->why,
             "NVRTC is not found: looked for libnvrtc.so.13, .12, .11.2 on the loader's path, in $CUDA_HOME/lib64%s, "
             "$CUDA_PATH/lib64%s, "
             "/usr/local/cuda*/lib64 and the nvidia/*/lib folders of Python packages; install a CUDA toolkit or the package "
             "nvidia-cuda-nvrtc, or set nvrtc_path",
             getenv("CUDA_HOME") ? "" : " (unset)", getenv("CUDA_PATH") ? "" : " (unset)");
    return false;
}

/* ---- files -------------------------------------------------------------------------------------------------------------- */

static bool make_folders(const char *dir) {
    char path[PATH_MAX];
    size_t n = strlen(dir);
    if (n == 0 || n >= sizeof path) return false;
    memcpy(path, dir, n + 1);
    for (char *s = path + 1; *s; s++) {
        if (*s != '/') continue;
        *s = 0;
        (void)mkdir(path, 0777); /* the last one decides */
        *s = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static bool write_all(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

typedef struct piece {
    const void *data;
    size_t n;
} piece;

/* Writes under a temporary name that no other process or thread uses, flushes, renames. */
static bool write_whole(const char *path, const piece *pieces, int n) {
    char temporary[PATH_MAX + 32];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    if (fd < 0) return false;
    bool ok = true;
    for (int i = 0; i < n && ok; i++) ok = write_all(fd, pieces[i].data, pieces[i].n);
    ok = ok && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    if (!ok) unlink(temporary);
    return ok;
}

/* The whole file, on the context's allocator, with a NUL behind it; NULL when it cannot be read. */
static char *read_whole(weir_ctx *ctx, const char *path, size_t *size) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    char *data = NULL;
    size_t n = 0, at = 0;
    if (fstat(fd, &st) == 0 && st.st_size >= 0 && st.st_size < 1 << 30) {
        n = (size_t)st.st_size;
        data = weiri_alloc(ctx, n + 1);
    }
    while (data && at < n) {
        ssize_t r = read(fd, data + at, n - at);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) break;
        at += (size_t)r;
    }
    close(fd);
    if (data && at < n) {
        weiri_free(ctx, data, n + 1);
        data = NULL;
    }
    *size = n;
    return data;
}

/* ---- which NVRTC, without opening it ------------------------------------------------------------------------------------- */

/* The stamp's name depends on everything the search looks at besides the folders' contents. */
static void stamp_path(weir_ctx *ctx, char *out, size_t size) {
    static const char *const vars[] = { "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME" };
    weiri_hash h;
    uint8_t digest[32];
    char hex[33];
    weiri_hash_init(&h);
    weiri_hash_text(&h, ctx->cfg.nvrtc_path ? ctx->cfg.nvrtc_path : "");
    for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) weiri_hash_text(&h, getenv(vars[i]) ? getenv(vars[i]) : "");
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, 16, hex);
    snprintf(out, size, "%s/nvrtc-%s", ctx->cfg.cache_dir, hex);
}

static void stamp_text(const nvrtc *n, const struct stat *st, char *out, size_t size) {
    snprintf(out, size, "weir nvrtc 1\n%d %d\n%lld %lld.%09ld\n%s\n", n->major, n->minor, (long long)st->st_size,
             (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, n->path);
}

/* Takes path and version from the stamp if the library it names is still the same file. */
static bool stamp_read(weir_ctx *ctx, nvrtc *n) {
    char path[PATH_MAX], expect[PATH_MAX + 128];
    size_t size = 0;
    struct stat st;
    if (!*ctx->cfg.cache_dir) return false;
    stamp_path(ctx, path, sizeof path);
    char *text = read_whole(ctx, path, &size);
    if (!text) return false;
    nvrtc t = { 0 };
    char *lib = text;
    for (int i = 0; i < 3 && lib; i++) lib = (lib = strchr(lib, '\n')) ? lib + 1 : NULL;
    bool ok = lib && sscanf(text, "weir nvrtc 1\n%d %d", &t.major, &t.minor) == 2 && size > 0 && text[size - 1] == '\n';
    if (ok) {
        snprintf(t.path, sizeof t.path, "%.*s", (int)strcspn(lib, "\n"), lib);
        ok = stat(t.path, &st) == 0;
    }
    if (ok) {
        stamp_text(&t, &st, expect, sizeof expect);
        ok = !strcmp(expect, text);
    }
    weiri_free(ctx, text, size + 1);
    if (!ok) return false;
    memcpy(n->path, t.path, sizeof n->path);
    n->major = t.major;
    n->minor = t.minor;
    n->found = true;
    return true;
}

static void stamp_write(weir_ctx *ctx, const nvrtc *n) {
    char path[PATH_MAX], text[PATH_MAX + 128];
    struct stat st;
    if (!*ctx->cfg.cache_dir || stat(n->path, &st) || !make_folders(ctx->cfg.cache_dir)) return;
    stamp_path(ctx, path, sizeof path);
    stamp_text(n, &st, text, sizeof text);
    write_whole(path, &(piece){ text, strlen(text) }, 1);
}

/* Path and version known; the library open if `open`. */
static weir_status find_nvrtc(weir_ctx *ctx, nvrtc *n, bool open) {
    if (n->lib || (n->found && !open)) return WEIR_OK;
    if (*n->why) return weiri_fail(ctx, WEIR_E_NO_COMPILER, "%s", n->why);
    if (!open && stamp_read(ctx, n)) return WEIR_OK;
    int major = n->major, minor = n->minor;
    bool stamped = n->found && open_library(n, n->path) && n->major == major && n->minor == minor;
    if (stamped || search_library(ctx, n)) {
        if (!stamped) stamp_write(ctx, n);
        return WEIR_OK;
    }
    return weiri_fail(ctx, WEIR_E_NO_COMPILER, "%s", n->why);
}

/* ---- the cache ---------------------------------------------------------------------------------------------------------- */

/* What decides the binary: the key is a hash of it, an entry's head has it in parts. */
typedef struct origin {
    char by[48];       /* "weir 1.0, NVRTC 13.0" */
    char target[16];   /* "sm_90a" */
    uint8_t options[16], source[16]; /* digests; options: without the target */
} origin;

typedef struct entry_head {
    char magic[8]; /* "weircub2" */
    uint64_t log_size, cubin_size;
    origin from;
    uint8_t digest[32]; /* of `from` and what follows the head */
} entry_head;

static const char magic[8] = { 'w', 'e', 'i', 'r', 'c', 'u', 'b', '2' };

static void entry_digest(const origin *from, const void *log, size_t nlog, const void *cubin, size_t ncubin, uint8_t out[32]) {
    weiri_hash h;
    weiri_hash_init(&h);
    weiri_hash_add(&h, from, sizeof *from);
    weiri_hash_add(&h, log, nlog);
    weiri_hash_add(&h, cubin, ncubin);
    weiri_hash_end(&h, out);
}

static bool head_read(const char *path, entry_head *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, out, sizeof *out);
    close(fd);
    return n == sizeof *out && !memcmp(out->magic, magic, sizeof magic) && memchr(out->from.by, 0, sizeof out->from.by) &&
           memchr(out->from.target, 0, sizeof out->from.target);
}

/* There is no entry of this key. Are there others of the kernel's name, and what do they have that is not so now? */
static void tell_miss(weir_ctx *ctx, nvrtc *n, const char *name, const origin *now) {
    char pattern[PATH_MAX];
    glob_t g;
    entry_head head, best = { .magic = "" };
    int found = 0, like = -1;
    snprintf(pattern, sizeof pattern, "%s/%.64s-????????????????????????????????.cubin", ctx->cfg.cache_dir, name);
    if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc && i < 256; i++) {
            if (!head_read(g.gl_pathv[i], &head)) continue;
            found++;
            int same = 4 * !memcmp(head.from.source, now->source, sizeof now->source) + 2 * !strcmp(head.from.target, now->target) +
                       !memcmp(head.from.options, now->options, sizeof now->options);
            if (same > like) like = same, best = head;
        }
        globfree(&g);
    }
    if (found) n->changed++;
    else n->absent++;
    if (!found) snprintf(n->miss, sizeof n->miss, "kernel '%s' was not compiled before", name);
    else if (like < 4) snprintf(n->miss, sizeof n->miss, "the source of kernel '%s' is none of the %d that are there", name, found);
    else if (!(like & 2))
        snprintf(n->miss, sizeof n->miss, "kernel '%s' was compiled for %s, not for %s", name, best.from.target, now->target);
    else if (!(like & 1)) snprintf(n->miss, sizeof n->miss, "kernel '%s' was compiled with other options", name);
    else snprintf(n->miss, sizeof n->miss, "kernel '%s' was compiled by %s; this is %s", name, best.from.by, now->by);
}

/* Fills in cubin and log; false when there is no such entry or it is not whole, and n->miss says why. */
static bool entry_read(weir_ctx *ctx, nvrtc *n, const char *path, const char *name, const origin *now, weiri_binary *out) {
    size_t size = 0;
    entry_head head;
    uint8_t digest[32];
    char *file = read_whole(ctx, path, &size);
    if (!file) {
        tell_miss(ctx, n, name, now);
        return false;
    }
    bool ok = size > sizeof head;
    if (ok) {
        memcpy(&head, file, sizeof head);
        size_t body = size - sizeof head;
        ok = !memcmp(head.magic, magic, sizeof magic) && head.log_size <= body && head.cubin_size == body - head.log_size &&
             head.cubin_size > 0;
    }
    if (ok) {
        const char *log = file + sizeof head, *cubin = log + head.log_size;
        entry_digest(&head.from, log, (size_t)head.log_size, cubin, (size_t)head.cubin_size, digest);
        ok = !memcmp(digest, head.digest, sizeof digest) && (out->cubin = weiri_alloc(ctx, (size_t)head.cubin_size)) != NULL;
        if (ok) {
            memcpy(out->cubin, cubin, (size_t)head.cubin_size);
            out->cubin_size = (size_t)head.cubin_size;
            weiri_put_n(&out->log, log, (size_t)head.log_size);
        }
    }
    if (ok) {
        n->hits++;
    } else {
        n->damaged++;
        snprintf(n->miss, sizeof n->miss, "the entry of kernel '%s' is damaged", name);
        weiri_log(ctx, WEIR_LOG_INFO, "weir: cache entry %s is damaged; it is built again", path);
    }
    weiri_free(ctx, file, size + 1);
    return ok;
}

static void entry_write(weir_ctx *ctx, nvrtc *n, const char *path, const origin *from, const weiri_binary *b) {
    entry_head head = { .log_size = b->log.n, .cubin_size = b->cubin_size, .from = *from };
    memcpy(head.magic, magic, sizeof magic);
    entry_digest(from, b->log.s, b->log.n, b->cubin, b->cubin_size, head.digest);
    piece pieces[] = { { &head, sizeof head }, { b->log.s, b->log.n }, { b->cubin, b->cubin_size } };
    if (make_folders(ctx->cfg.cache_dir) && write_whole(path, pieces, 3)) return;
    if (!n->said_unwritable)
        weiri_log(ctx, WEIR_LOG_INFO, "weir: the cache %s cannot be written: %s", ctx->cfg.cache_dir, strerror(errno));
    n->said_unwritable = true;
}

/* ---- compiling ---------------------------------------------------------------------------------------------------------- */

/* -no-cache keeps NVRTC from opening the driver and from a second cache of its own; -minimal leaves out built-in headers that
 * weir's text never names. NVRTC releases that know neither answer "invalid option": then the rest is tried alone. */
static const char *const extra_options[] = { "-no-cache", "-minimal" };
enum { NEXTRA = sizeof extra_options / sizeof *extra_options, MAX_OPTIONS = 8 };

static int options_for(const char *arch_option, bool extras, const char *option[MAX_OPTIONS]) {
    int n = 0;
    option[n++] = arch_option;
    option[n++] = "-diag-suppress=177"; /* a variable declared but not used: metaprogrammed schedules leave some */
    option[n++] = "-default-device";    /* lambdas and members of a body's structs, which cannot say __device__ or need not */
    option[n++] = "--ptxas-options=-v"; /* registers and spills, into the log */
    for (int i = 0; extras && i < NEXTRA; i++) option[n++] = extra_options[i];
    return n;
}

/* A message has room for a part of the log: that which says why, not warnings that came before. */
static const char *first_error(const char *log) {
    const char *s = strstr(log, "error"), *fatal = strstr(log, "fatal");
    if (fatal && (!s || fatal < s)) s = fatal; /* ptxas gives its reason first, then that there were errors */
    while (s && s > log && s[-1] != '\n') s--;
    return s ? s : log;
}

static weir_status fail_nvrtc(weir_ctx *ctx, const nvrtc *n, nvrtc_result r, const char *what) {
    return weiri_fail(ctx, WEIR_E_COMPILE, "%s: %s (%d) from NVRTC %d.%d at %s", what, n->error_string(r), r, n->major,
                      n->minor, n->path);
}

/* False, with a text, when NVRTC lists its architectures and this is not among them. */
static bool knows_arch(weir_ctx *ctx, const nvrtc *n, const char *name, weir_arch arch) {
    int count = 0, list[128], newest = 0;
    if (!n->narchs || !n->archs || n->narchs(&count) != NVRTC_OK || count <= 0 || count > 128 || n->archs(list) != NVRTC_OK)
        return true;
    for (int i = 0; i < count; i++) {
        if (list[i] == (int)arch) return true;
        if (list[i] > newest) newest = list[i];
    }
    weiri_fail(ctx, WEIR_E_NO_COMPILER, "kernel '%s' is for %s, but NVRTC %d.%d at %s knows %d to %d: %s", name,
               weiri_arch_name(arch), n->major, n->minor, n->path, list[0], newest,
               (int)arch > newest ? "a newer NVRTC is needed (12.0 for sm_90a, 12.8 for sm_100a)"
                                  : "an older NVRTC still has it");
    return false;
}

/* The PTX of a source that compiles as far as that; with `lines` it says which line each statement came from. */
static bool ptx_of(weir_ctx *ctx, nvrtc *n, const char *source, const char *file, const char *arch_option, bool lines,
                   weiri_buf *out) {
    nvrtc_program prog = NULL;
    const char *option[MAX_OPTIONS];
    char virtual_arch[40];
    size_t size = 0;
    char *text = NULL;
    snprintf(virtual_arch, sizeof virtual_arch, "-arch=compute_%s", arch_option + strlen("-arch=sm_"));
    if (n->create(&prog, source, file, 0, NULL, NULL) != NVRTC_OK) return false;
    int count = options_for(virtual_arch, false, option);
    if (lines) option[count++] = "-lineinfo";
    if (n->compile(prog, count, option) == NVRTC_OK && n->ptx_size(prog, &size) == NVRTC_OK && size > 1)
        text = weiri_alloc(ctx, size);
    if (text && n->ptx(prog, text) == NVRTC_OK) weiri_put_n(out, text, size - 1);
    weiri_free(ctx, text, text ? size : 0);
    n->destroy(&prog);
    return out->n > 0 && !out->oom;
}

static bool ends_in(const char *path, const char *name) {
    size_t n = strlen(path), m = strlen(name);
    return m && n >= m && !strcmp(path + n - m, name) && (n == m || path[n - m - 1] == '/');
}

/* NVRTC has an asm statement at its last line: which of its lines, from the word asm on, has the instruction `what` of n
 * characters? The file, which NVRTC made absolute, becomes the source's name of it. */
static int line_in_asm(const char *source, char *file, size_t size, int last, const char *what, size_t n) {
    char here[PATH_MAX] = "";
    int line = 0, first = 0, hit = 0;
    for (const char *s = source, *end; (end = strchr(s, '\n')); s = end + 1, line++) {
        if (sscanf(s, "#line %d \"%4000[^\"\n]\"", &line, here) == 2) {
            line--;
            continue;
        }
        if (line > last || !ends_in(file, here)) continue;
        const char *word = strstr(s, "asm"), *found = strstr(s, what);
        if (word && word < end) first = line, hit = 0;
        for (; found && found < end && !hit; found = strstr(found + 1, what))
            if (first && strspn(found + n, " ;\\\t")) hit = line;
        if (line < last) continue;
        snprintf(file, size, "%s", here);
        break;
    }
    return hit ? hit : first ? first : last;
}

/* ptxas knows lines of PTX alone. What it dislikes there is a body's asm, nearly always: whose line is it? Asm statements are
 * counted in the PTX up to that line, and as many in a PTX with lines. `out` becomes "file:8: in this asm: add.x %r1, %r2;", or
 * stays empty. */
static void place_of_asm(weir_ctx *ctx, nvrtc *n, const char *source, const char *file, const char *arch_option, const char *log,
                         weiri_buf *out) {
    static const char begins[] = "// begin inline asm", ends[] = "// end inline asm";
    const char *at = strstr(log, "ptxas application ptx input, line ");
    weiri_buf plain, lined;
    weiri_buf_init(&plain, ctx);
    weiri_buf_init(&lined, ctx);
    if (at && ptx_of(ctx, n, source, file, arch_option, false, &plain) && ptx_of(ctx, n, source, file, arch_option, true, &lined)) {
        long long want = strtoll(at + strlen("ptxas application ptx input, line "), NULL, 10), line = 1;
        int blocks = 0;
        bool in = false;
        const char *s = plain.s;
        for (; line < want && (s = strchr(s, '\n')); s++, line++) {
            const char *end = strchr(s + 1, '\n'), *b = strstr(s + 1, begins), *e = strstr(s + 1, ends);
            if (b && end && b < end) blocks++, in = true;
            if (e && end && e < end) in = false;
        }
        const char *loc = NULL, *b = lined.s;
        for (int i = 0; i < blocks && (b = strstr(b, begins)); i++, b++) {
            loc = b;
            while (loc > lined.s && strncmp(loc, ".loc", 4)) loc--;
        }
        int number = 0, row = 0;
        char name[PATH_MAX] = "";
        if (in && s && loc && sscanf(loc, ".loc %d %d", &number, &row) == 2)
            for (const char *f = lined.s; (f = strstr(f, ".file")); f++) {
                int k = 0;
                char path[PATH_MAX];
                if (sscanf(f, ".file %d \"%4000[^\"]\"", &k, path) == 2 && k == number) snprintf(name, sizeof name, "%s", path);
            }
        if (*name) {
            char what[64];
            while (*s == ' ' || *s == '\t' || *s == '\n') s++;
            size_t len = strcspn(s, " ;\t\n");
            snprintf(what, sizeof what, "%.*s", (int)len, s);
            row = line_in_asm(source, name, sizeof name, row, what, strlen(what));
            weiri_put(out, "%s:%d: in this asm: %.*s\n", name, row, (int)strcspn(s, "\n"), s);
        }
    }
    weiri_buf_free(&plain);
    weiri_buf_free(&lined);
}

static weir_status run_nvrtc(weir_ctx *ctx, nvrtc *n, const char *name, const char *source, weir_arch arch,
                             const char *arch_option, bool want_ptx, weiri_binary *out) {
    nvrtc_program prog = NULL;
    const char *option[MAX_OPTIONS];
    char file[256];
    size_t size = 0;
    if (!knows_arch(ctx, n, name, arch)) return WEIR_E_NO_COMPILER;
    snprintf(file, sizeof file, "%s.cu", name);
    nvrtc_result r = n->create(&prog, source, file, 0, NULL, NULL);
    if (r != NVRTC_OK) return fail_nvrtc(ctx, n, r, "NVRTC program not created");
    r = n->compile(prog, options_for(arch_option, true, option), option);
    if (r == NVRTC_INVALID_OPTION) r = n->compile(prog, options_for(arch_option, false, option), option);

    weir_status st = WEIR_OK;
    char *text = NULL;
    if (n->log_size(prog, &size) == NVRTC_OK && size > 1 && (text = weiri_alloc(ctx, size)) != NULL) {
        if (n->log(prog, text) == NVRTC_OK) weiri_put_n(&out->log, text, size - 1);
        weiri_free(ctx, text, size);
    }
    if (r == NVRTC_COMPILATION) {
        weiri_buf place;
        weiri_buf_init(&place, ctx);
        if (out->log.n) place_of_asm(ctx, n, source, file, arch_option, out->log.s, &place);
        st = weiri_fail(ctx, WEIR_E_COMPILE, "kernel '%s' does not compile for %s (NVRTC %d.%d):\n%s%s", name, weiri_arch_name(arch),
                        n->major, n->minor, place.n ? place.s : "", out->log.n ? first_error(out->log.s) : "(empty log)");
        weiri_buf_free(&place);
    } else if (r == NVRTC_BUILTIN) {
        st = weiri_fail(ctx, WEIR_E_NO_COMPILER,
                        "NVRTC %d.%d at %s cannot open its libnvrtc-builtins.so.%d.%d; it belongs into the same folder",
                        n->major, n->minor, n->path, n->major, n->minor);
    } else if (r != NVRTC_OK) {
        st = fail_nvrtc(ctx, n, r, "NVRTC did not compile");
    } else if ((r = n->cubin_size(prog, &size)) != NVRTC_OK || size == 0) {
        st = fail_nvrtc(ctx, n, r, "NVRTC gave no CUBIN");
    } else if (!(out->cubin = weiri_alloc(ctx, size))) {
        st = WEIR_E_MEMORY;
    } else {
        out->cubin_size = size;
        r = n->cubin(prog, out->cubin);
        if (r != NVRTC_OK) st = fail_nvrtc(ctx, n, r, "NVRTC gave no CUBIN");
    }
    if (st == WEIR_OK && want_ptx && n->ptx_size(prog, &size) == NVRTC_OK && size > 1 &&
        (text = weiri_alloc(ctx, size)) != NULL) {
        if (n->ptx(prog, text) == NVRTC_OK) weiri_put_n(&out->ptx, text, size - 1);
        weiri_free(ctx, text, size);
    }
    n->destroy(&prog);
    return st;
}

/* "DIR/NAME-<key>.cubin"; the key's parts */
static void entry_path(weir_ctx *ctx, const nvrtc *n, const char *name, const char *source, const char *arch_option, char *out,
                       size_t size, origin *from) {
    weiri_hash h;
    uint8_t digest[32];
    char hex[33];
    const char *option[MAX_OPTIONS];
    memset(from, 0, sizeof *from);
    snprintf(from->by, sizeof from->by, "weir %d.%d, NVRTC %d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, n->major, n->minor);
    snprintf(from->target, sizeof from->target, "%s", arch_option + strlen("-arch="));
    int count = options_for(arch_option, true, option);
    weiri_hash_init(&h);
    for (int i = 1; i < count; i++) weiri_hash_text(&h, option[i]);
    weiri_hash_end(&h, digest);
    memcpy(from->options, digest, sizeof from->options);
    weiri_hash_init(&h);
    weiri_hash_text(&h, name);
    weiri_hash_text(&h, source);
    weiri_hash_end(&h, digest);
    memcpy(from->source, digest, sizeof from->source);
    weiri_hash_init(&h);
    weiri_hash_add(&h, from, sizeof *from);
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, 16, hex);
    snprintf(out, size, "%s/%.64s-%s.cubin", ctx->cfg.cache_dir, name, hex);
}

weir_status weiri_compile(weir_ctx *ctx, const char *name, const char *source, weir_arch arch, bool want_ptx,
                          weiri_binary *out) {
    char path[PATH_MAX], arch_option[32];
    origin from;
    double start = now_ms();
    *out = (weiri_binary){ 0 };
    weiri_buf_init(&out->log, ctx);
    weiri_buf_init(&out->ptx, ctx);
    nvrtc *n = state(ctx);
    if (!n) return WEIR_E_MEMORY;
    bool cached = *ctx->cfg.cache_dir && !want_ptx;
    weir_status st = find_nvrtc(ctx, n, !cached);
    if (st != WEIR_OK) return st;
    snprintf(arch_option, sizeof arch_option, "-arch=%s", weiri_arch_name(arch));
    if (cached) {
        entry_path(ctx, n, name, source, arch_option, path, sizeof path, &from);
        out->cache_hit = entry_read(ctx, n, path, name, &from, out);
    }
    if (!out->cache_hit) {
        int major = n->major, minor = n->minor;
        double opened = now_ms();
        st = find_nvrtc(ctx, n, true);
        if (st == WEIR_OK) st = run_nvrtc(ctx, n, name, source, arch, arch_option, want_ptx, out);
        out->nvrtc_ms = now_ms() - opened;
        if (st == WEIR_OK && cached) {
            if (n->major != major || n->minor != minor) entry_path(ctx, n, name, source, arch_option, path, sizeof path, &from);
            entry_write(ctx, n, path, &from, out);
        }
    }
    if (st == WEIR_OK && out->log.oom) st = weiri_fail(ctx, WEIR_E_MEMORY, "out of memory: log of kernel '%s'", name);
    out->ms = now_ms() - start;
    return st;
}

void weiri_binary_free(weir_ctx *ctx, weiri_binary *b) {
    weiri_free(ctx, b->cubin, b->cubin_size);
    weiri_buf_free(&b->log);
    weiri_buf_free(&b->ptx);
    b->cubin = NULL;
    b->cubin_size = 0;
}

/* ---- what the log says -------------------------------------------------------------------------------------------------- */

/* The number just before `words` in the line at s, or -1. */
static int number_before(const char *s, const char *end, const char *words) {
    const char *w = strstr(s, words);
    if (!w || w >= end) return -1;
    while (w > s && w[-1] == ' ') w--;
    const char *digits = w;
    while (digits > s && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    return digits == w ? -1 : atoi(digits);
}

static int larger(int a, int b) { return a > b ? a : b; }

void weiri_compile_log_check(const char *log, weiri_log_facts *out) {
    *out = (weiri_log_facts){ 0 };
    for (const char *s = log ? log : "", *end; *s; s = *end ? end + 1 : end) {
        end = s + strcspn(s, "\n");
        out->registers = larger(out->registers, number_before(s, end, " registers"));
        out->stack = larger(out->stack, number_before(s, end, " bytes stack frame"));
        out->spill_stores = larger(out->spill_stores, number_before(s, end, " bytes spill stores"));
        out->spill_loads = larger(out->spill_loads, number_before(s, end, " bytes spill loads"));
        const char *w = strstr(s, "warning"), *c = strstr(s, "(C75");
        if (w && w < end) out->warnings++;
        if (!c || c >= end) continue;
        int code = atoi(c + 2), i = 0;
        while (i < out->ncodes && out->codes[i] != code) i++;
        if (i == out->ncodes && i < (int)(sizeof out->codes / sizeof *out->codes)) out->codes[out->ncodes++] = code;
    }
}

/* What each note means for a kernel (collected from ptxas 13.0). */
static const char *note_meaning(int code) {
    switch (code) {
    case 7508: return "setmaxnreg is ignored: the register count at entry is not known";
    case 7510: return "wgmma is serialised: it crosses a function boundary";
    case 7511: return "wgmma is serialised: not enough registers";
    case 7514: return "wgmma is serialised: other instructions read accumulators in the middle of a batch";
    case 7517: return "wgmma is serialised: a result is read before its wait_group";
    case 7519: return "wgmma is serialised: accumulators are touched without a wgmma.fence";
    default: return "see the log";
    }
}

void weiri_compile_log_complaint(const weiri_log_facts *f, char *out, size_t size) {
    size_t at = 0;
    *out = 0;
    if (f->spill_stores || f->spill_loads)
        at += (size_t)snprintf(out + at, size - at, "; %d bytes of spill stores, %d of spill loads", f->spill_stores,
                               f->spill_loads);
    for (int i = 0; i < f->ncodes && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "; C%d: %s", f->codes[i], note_meaning(f->codes[i]));
    if (f->warnings && at < size) snprintf(out + at, size - at, "; %d warning%s", f->warnings, f->warnings == 1 ? "" : "s");
    if (*out) memmove(out, out + 2, strlen(out + 2) + 1);
}

/* ---- programs ----------------------------------------------------------------------------------------------------------- */

const char *weiri_program_full(weir_program *p) {
    if (p->full.n) return p->full.s;
    weiri_buf_init(&p->full, p->ctx);
    const char *source = p->source.s ? p->source.s : "";
    if (weiri_ptx_preamble(source, &p->full)) {
        weiri_put_n(&p->full, "\n", 1);
        if (weiri_probed(p)) weiri_probe_put(p, &p->full);
        weiri_put_n(&p->full, source, strlen(source));
        if (!p->full.oom) return p->full.s;
    }
    weiri_buf_free(&p->full);
    return NULL;
}

weir_status weiri_program_note(weir_program *p, const char *log) {
    weiri_log_facts f;
    char text[600];
    const nvrtc *n = p->ctx->nvrtc;
    weiri_compile_log_check(log, &f);
    weiri_compile_log_complaint(&f, text, sizeof text);
    weiri_buf_free(&p->noted);
    weiri_buf_init(&p->noted, p->ctx);
    if (!*text) return WEIR_OK;
    weiri_put(&p->noted, "%s (NVRTC %d.%d)", text, n->major, n->minor);
    if (p->notes == WEIR_NOTES_ERROR)
        return weiri_fail(p->ctx, WEIR_E_COMPILE, "kernel '%s' compiles, with what notes = \"error\" does not take: %s", p->name,
                          p->noted.s);
    if (p->notes == WEIR_NOTES_WARN) weiri_log(p->ctx, WEIR_LOG_WARNING, "weir: kernel '%s': %s", p->name, p->noted.s);
    return WEIR_OK;
}

static weir_status compile_program(weir_program *p, bool want_ptx) {
    const char *text = weiri_program_full(p);
    if (!text) return p->ctx->status ? p->ctx->status : WEIR_E_MEMORY;
    weiri_binary b;
    weir_status st = weiri_compile(p->ctx, p->name, text, p->arch, want_ptx, &b);
    weiri_buf_free(&p->log);
    p->log = b.log;
    weiri_buf_init(&b.log, p->ctx);
    if (st == WEIR_OK && !p->cubin) st = weiri_program_note(p, weir_program_log(p));
    if (st == WEIR_OK && !p->cubin) {
        p->cubin = b.cubin;
        p->cubin_size = b.cubin_size;
        p->times.compile = b.ms;
        p->times.nvrtc = b.nvrtc_ms;
        p->times.cache_hit = b.cache_hit;
        b.cubin = NULL;
        b.cubin_size = 0;
    }
    if (st == WEIR_OK && want_ptx) {
        weiri_buf_free(&p->ptx);
        p->ptx = b.ptx;
        weiri_buf_init(&b.ptx, p->ctx);
    }
    weiri_binary_free(p->ctx, &b);
    return st;
}

weir_status weiri_program_compile(weir_program *p) { return p->cubin ? WEIR_OK : compile_program(p, false); }

weir_status weir_program_cubin(weir_program *p, const void **data, size_t *size) {
    weir_status st = weiri_program_compile(p);
    *data = st == WEIR_OK ? p->cubin : NULL;
    *size = st == WEIR_OK ? p->cubin_size : 0;
    return st;
}

weir_status weir_program_ptx(weir_program *p, const char **text) {
    weir_status st = p->ptx.n ? WEIR_OK : compile_program(p, true);
    *text = st == WEIR_OK ? p->ptx.s : NULL;
    return st;
}

const char *weir_program_name(const weir_program *p) { return p->name; }
const char *weir_program_source(const weir_program *p) { return p->source.s ? p->source.s : ""; }
const char *weir_program_full_source(weir_program *p) { return weiri_program_full(p); }
const char *weir_program_log(const weir_program *p) { return p->log.s ? p->log.s : ""; }
const char *weir_program_notes(const weir_program *p) { return p->noted.s ? p->noted.s : ""; }
weir_times weir_program_times(const weir_program *p) { return p->times; }

void weiri_program_drop_compiled(weir_program *p) {
    weiri_free(p->ctx, p->cubin, p->cubin_size);
    p->cubin = NULL;
    p->cubin_size = 0;
    weiri_buf_free(&p->full);
    weiri_buf_free(&p->log);
    weiri_buf_free(&p->ptx);
    weiri_buf_free(&p->noted);
    weiri_program_drop_traced(p);
}
