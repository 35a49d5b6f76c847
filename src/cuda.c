/* The driver table. Functions are fetched through cuGetProcAddress with the version of the prototype compiled here, so that a
 * newer driver does not hand back a newer ABI under the same name; an old driver without it is asked for the exported name. */
#define _POSIX_C_SOURCE 200809L
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "close.h"
#include "device.h"

#define OBJECT_TO_FUNCTION(f, p) memcpy(&(f), &(p), sizeof(f)) /* ISO C has no cast between the two */

typedef weiri_cures (*get_proc_v1)(const char *name, void **f, int version, uint64_t flags);
typedef weiri_cures (*get_proc_v2)(const char *name, void **f, int version, uint64_t flags, int *status);

typedef struct lookup {
    void *lib;
    get_proc_v2 v2;
    get_proc_v1 v1;
} lookup;

/* cuGetProcAddress answers an unknown symbol with success and a NULL pointer. */
static void *find(const lookup *l, const char *exported, const char *base, int version) {
    void *f = NULL;
    int status = 0;
    if (l->v2 && l->v2(base, &f, version, 0, &status) == CU_OK && f) return f;
    f = NULL;
    if (!l->v2 && l->v1 && l->v1(base, &f, version, 0) == CU_OK && f) return f;
    return dlsym(l->lib, exported);
}

/* Fills in cu or says in cu->why what is missing. */
static void open_driver(weir_ctx *ctx, weiri_cuda *cu) {
    const char *path = ctx->cfg.driver_path && *ctx->cfg.driver_path ? ctx->cfg.driver_path : "libcuda.so.1";
    cu->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cu->lib) {
        const char *e = dlerror();
        snprintf(cu->why, sizeof cu->why, "no CUDA driver: %s cannot be opened (%s)", path, e ? e : "no reason given");
        return;
    }
    lookup l = { .lib = cu->lib };
    void *p = dlsym(cu->lib, "cuGetProcAddress_v2"), *q = dlsym(cu->lib, "cuGetProcAddress");
    if (p) OBJECT_TO_FUNCTION(l.v2, p);
    if (q) OBJECT_TO_FUNCTION(l.v1, q);
#define FIND(field, exported, base, version, args) \
    { \
        void *f = find(&l, exported, base, version); \
        if (f) OBJECT_TO_FUNCTION(cu->field, f); \
        else if (!*cu->why) \
            snprintf(cu->why, sizeof cu->why, "the CUDA driver %s has no %s; CUDA 12.0 or newer is needed", path, base); \
    }
    WEIRI_CUDA_FUNCTIONS(FIND)
#undef FIND
    if (*cu->why) return;
    cu->driver_version(&cu->version);
    weiri_cures r = cu->init(0);
    if (r == CU_OK) r = cu->device_count(&cu->gpus);
    if (r != CU_OK) {
        const char *name = NULL, *text = NULL;
        cu->error_name(r, &name);
        cu->error_text(r, &text);
        snprintf(cu->why, sizeof cu->why, "the CUDA driver does not start: %s (%d): %s", name ? name : "error", r,
                 text ? text : "");
    } else if (cu->gpus == 0) {
        snprintf(cu->why, sizeof cu->why, "the CUDA driver sees no GPU");
    }
}

weiri_cuda *weiri_cuda_state(weir_ctx *ctx) {
    if (ctx->cuda) return ctx->cuda;
    weiri_cuda *cu = weiri_alloc(ctx, sizeof *cu);
    if (!cu) return NULL;
    ctx->cuda = cu;
    open_driver(ctx, cu);
    return cu;
}

weiri_cuda *weiri_cuda_open(weir_ctx *ctx) {
    weiri_cuda *cu = weiri_cuda_state(ctx);
    if (!cu) return NULL;
    if (!*cu->why) return cu;
    weiri_fail(ctx, WEIR_E_NO_DEVICE, "%s", cu->why);
    return NULL;
}

weir_status weiri_cuda_fail(weir_ctx *ctx, const weiri_cuda *cu, weiri_cures r, const char *what, ...) {
    char text[400];
    va_list ap;
    va_start(ap, what);
    vsnprintf(text, sizeof text, what, ap);
    va_end(ap);
    const char *name = NULL, *why = NULL;
    cu->error_name(r, &name);
    cu->error_text(r, &why);
    return weiri_fail(ctx, WEIR_E_DRIVER, "%s: %s (%d): %s", text, name ? name : "CUDA error", r, why ? why : "no text");
}

void weiri_cuda_close(weir_ctx *ctx) {
    weiri_cuda *cu = ctx->cuda;
    if (!cu) return;
    while (cu->devices) weir_device_close(cu->devices);
    ctx->cuda = NULL; /* the library stays: the driver has threads of its own, and the host may use it */
    weiri_free(ctx, cu, sizeof *cu);
}
