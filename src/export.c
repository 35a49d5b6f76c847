/* A program as files, for a host with neither weir nor NVRTC nor Lua: NAME.cubin, and NAME.h with all a launch needs. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "compile.h"
#include "lower.h"
#include "names.h"
#include "program.h"

static const char *parameter_meaning(const weir_program *p, const weiri_kparam *q, char *out, size_t size) {
    const weir_kernel *k = p->k;
    switch (q->kind) {
    case KP_TMAP:
        snprintf(out, size, "tensor map %d below, of tensor %s", q->index,
                 k->tensors.v[p->plan->tmaps.v[q->index].tensor]->name);
        break;
    case KP_PTR:
        snprintf(out, size, "device address of tensor %s, %s", k->tensors.v[q->index]->name,
                 weir_dtype_name(k->tensors.v[q->index]->dtype));
        break;
    case KP_SHAPE: snprintf(out, size, "elements of tensor %s along axis %d", k->tensors.v[q->index]->name, q->axis); break;
    case KP_STRIDE:
        snprintf(out, size, "elements from one index to the next of tensor %s, axis %d", k->tensors.v[q->index]->name, q->axis);
        break;
    case KP_DIM: snprintf(out, size, "dim %s", weiri_val(k, k->dims.v[q->index])->name); break;
    case KP_SCALAR: snprintf(out, size, "scalar %s", weiri_val(k, k->scalars.v[q->index])->name); break;
    case KP_COUNTER: snprintf(out, size, "device address of 64 bytes that are zero at each launch"); break;
    }
    return out;
}

static void put_upper(weiri_buf *b, const char *s) {
    for (; *s; s++) weiri_put(b, "%c", toupper((unsigned char)*s));
}

static void put_define(weiri_buf *b, const char *name, const char *what, int64_t value, const char *comment) {
    weiri_put(b, "#define ");
    put_upper(b, name);
    weiri_put(b, "_%s %" PRId64 " /* %s */\n", what, value, comment);
}

static const char *c_type(const weiri_kparam *q) {
    if (q->kind == KP_PTR || q->kind == KP_COUNTER) return "uint64_t";
    if (q->kind == KP_STRIDE) return "int64_t";
    if (q->kind != KP_SCALAR) return "int32_t";
    static const struct {
        const char *device, *host;
    } types[] = {
        { "i8", "int8_t" },     { "u8", "uint8_t" },   { "i16", "int16_t" },  { "u16", "uint16_t" }, { "i32", "int32_t" },
        { "u32", "uint32_t" },  { "i64", "int64_t" },  { "u64", "uint64_t" }, { "float", "float" },  { "f32", "float" },
        { "double", "double" }, { "f64", "double" },   { "bool", "uint8_t" }, { "f16", "uint16_t" }, { "bf16", "uint16_t" },
        { "e4m3", "uint8_t" },  { "e5m2", "uint8_t" }, { "tf32", "float" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].device, q->type)) return types[i].host;
    return q->size == 8 ? "uint64_t" : q->size == 4 ? "uint32_t" : q->size == 2 ? "uint16_t" : "uint8_t";
}

static void put_grid(const weir_program *p, weiri_buf *b) {
    const weir_res *q = p->plan->queue;
    if (!q) {
        weiri_put(b, " * Grid: any multiple of the cluster; as many CTAs as the GPU has multiprocessors is usual.\n");
        return;
    }
    weiri_put(b, " * Grid: work queue %s has ceil(extent / cluster) tiles along", q->name);
    for (int i = 0; i < q->qrank; i++) {
        weiri_put(b, "%s %s = ", i ? "," : "", q->axis[i]);
        weiri_value_print(p->k, q->extent[i].id, b);
    }
    weiri_put(b, ".\n * %s\n",
              p->plan->persistent ? "Persistent: at most as many clusters as are resident at once, at most one per tile."
                                  : "One cluster per tile.");
}

static void put_maps(const weir_program *p, weiri_buf *b) {
    weiri_put(b,
              "/* Tensor maps, innermost axis first; swizzle and l2_promotion in bytes. Encode with cuTensorMapEncodeTiled: "
              "dims and strides\n"
              " * of the tensor at hand, element strides 1, no interleave, no fill; an extent of 0 as 1; base and outer "
              "strides multiples of 16. */\n"
              "static const struct { const char *tensor, *dtype; int rank; uint32_t box[5]; int swizzle, l2_promotion; } "
              "%s_maps[] = {\n",
              p->name);
    for (int i = 0; i < p->plan->tmaps.n; i++) {
        const weiri_tmap_use *u = &p->plan->tmaps.v[i];
        const weir_tensor *t = p->k->tensors.v[u->tensor];
        weiri_put(b, "    { \"%s\", \"%s\", %d, { %u, %u, %u, %u, %u }, %d, %d },\n", t->name, weir_dtype_name(t->dtype),
                  u->rank, u->box[0], u->box[1], u->box[2], u->box[3], u->box[4], u->swizzle, u->l2_promotion);
    }
    if (!p->plan->tmaps.n) weiri_put(b, "    { 0, 0, 0, { 0 }, 0, 0 }, /* none */\n");
    weiri_put(b, "};\n\n");
}

static void put_header(const weir_program *p, weiri_buf *b) {
    const weiri_plan *plan = p->plan;
    char text[200];
    weiri_put(
        b,
        "/* Kernel %s for %s, written by weir %d.%d. Load %s.cubin with cuModuleLoadData, get the function \"%s\", raise its\n"
        " * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES to the shared memory below, launch with cuLaunchKernelEx%s.\n",
        p->name, weiri_arch_name(p->arch), WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, p->name, weiri_kernel_symbol(p->plan),
        plan->cluster > 1 ? " and a cluster dimension" : "");
    put_grid(p, b);
    weiri_put(b, " */\n#ifndef WEIR_EXPORT_");
    put_upper(b, p->name);
    weiri_put(b, "_H\n#define WEIR_EXPORT_");
    put_upper(b, p->name);
    weiri_put(b, "_H\n\n#include <stdint.h>\n\n");
    put_define(b, p->name, "THREADS", plan->threads, "block size, x");
    put_define(b, p->name, "SMEM", plan->smem_total, "dynamic shared memory, bytes");
    put_define(b, p->name, "CLUSTER", plan->cluster > 1 ? plan->cluster : 1, "CTAs of a cluster, x");
    put_define(b, p->name, "PARAMS", plan->params.n, "kernel parameters");
    weiri_put(b, "\n");
    put_maps(p, b);
    weiri_put(b, "/* The parameters in order. */\ntypedef struct %s_args {\n", p->name);
    for (int i = 0; i < plan->params.n; i++) {
        const weiri_kparam *q = &plan->params.v[i];
        parameter_meaning(p, q, text, sizeof text);
        if (q->kind == KP_TMAP) weiri_put(b, "    const void *%s; /* an encoded CUtensorMap: %s */\n", q->name, text);
        else weiri_put(b, "    %s %s; /* %s */\n", c_type(q), q->name, text);
    }
    if (!plan->params.n) weiri_put(b, "    char none;\n");
    weiri_put(b,
              "} %s_args;\n\n/* Fills in what cuLaunchKernelEx takes as kernelParams; valid as long as *args is. */\n"
              "static inline void %s_params(%s_args *args, void **params) {\n",
              p->name, p->name, p->name);
    for (int i = 0; i < plan->params.n; i++) {
        const weiri_kparam *q = &plan->params.v[i];
        if (q->kind == KP_TMAP) weiri_put(b, "    params[%d] = (void *)(uintptr_t)args->%s;\n", i, q->name);
        else weiri_put(b, "    params[%d] = &args->%s;\n", i, q->name);
    }
    if (!plan->params.n) weiri_put(b, "    (void)args, (void)params;\n");
    weiri_put(b, "}\n\n#endif\n");
}

static weir_status write_file(weir_ctx *ctx, const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, n, f) == n;
    if (f) ok = fclose(f) == 0 && ok;
    return ok ? WEIR_OK : weiri_fail(ctx, WEIR_E_IO, "%s cannot be written: %s", path, strerror(errno));
}

weir_status weir_program_export(weir_program *p, const char *dir) {
    char path[PATH_MAX];
    weir_status st = weiri_program_compile(p);
    if (st != WEIR_OK) return st;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return weiri_fail(p->ctx, WEIR_E_IO, "folder %s cannot be made: %s", dir, strerror(errno));
    weiri_buf b;
    weiri_buf_init(&b, p->ctx);
    put_header(p, &b);
    snprintf(path, sizeof path, "%s/%s.h", dir, p->name);
    st = b.oom ? weiri_fail(p->ctx, WEIR_E_MEMORY, "out of memory: %s", path) : write_file(p->ctx, path, b.s, b.n);
    weiri_buf_free(&b);
    snprintf(path, sizeof path, "%s/%s.cubin", dir, p->name);
    return st == WEIR_OK ? write_file(p->ctx, path, p->cubin, p->cubin_size) : st;
}
