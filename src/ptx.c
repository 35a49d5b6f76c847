/* The CUDA preamble. wgmma has some thousand forms, each with up to 128 accumulator operands; only those that a source names
 * are written out, since NVRTC's time grows with the text. The source itself is the list of what it needs: nothing can get
 * out of step with it, and a custom body may name an instance too. */
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "embedded.h"
#include "plan.h"

typedef struct wtype_row {
    const char *name, *shape; /* in the source; PTX shape suffix and operand types */
    bool trans;               /* takes the transpose immediates */
} wtype_row;

/* ORDER WTYPE */
static const wtype_row wtypes[WTYPE_COUNT] = {
    { "W_BF16", "k16.f32.bf16.bf16", true },  { "W_F16", "k16.f32.f16.f16", true },     { "W_TF32", "k8.f32.tf32.tf32", false },
    { "W_E4M3", "k32.f32.e4m3.e4m3", false }, { "W_E5M2", "k32.f32.e5m2.e5m2", false },
    { "W_E4M3_E5M2", "k32.f32.e4m3.e5m2", false }, { "W_E5M2_E4M3", "k32.f32.e5m2.e4m3", false }, /* A, B */
};

bool weiri_wgmma_valid(const weiri_wgmma *w, char *why, size_t size) {
    if (w->type < 0 || w->type >= WTYPE_COUNT)
        snprintf(why, size,
                 "wgmma operand type %d does not exist (0 bf16, 1 f16, 2 tf32, 3 e4m3, 4 e5m2, 5 e4m3 by e5m2, 6 e5m2 by e4m3)",
                 w->type);
    else if (w->n < 8 || w->n > 256 || w->n % 8)
        snprintf(why, size, "wgmma N is %d; it must be a multiple of 8 from 8 to 256", w->n);
    else if ((w->ta | w->tb) >> 1 || (w->rs && w->ta))
        snprintf(why, size, "wgmma transpose flags are %d, %d; they must be 0 or 1, and 0 for A in registers", w->ta, w->tb);
    else if ((w->ta || w->tb) && !wtypes[w->type].trans)
        snprintf(why, size, "wgmma takes transposed operands of 16-bit types only; %s must be K-major", wtypes[w->type].name);
    else return true;
    return false;
}

/* The accumulators are read and written ("+f") even when acc is 0: the predicate decides at run time. PTX ISA, wgmma.mma_async;
 * trap: with A in registers there is no trans-a immediate. */
void weiri_wgmma_put(weiri_buf *b, const weiri_wgmma *w) {
    const wtype_row *t = &wtypes[w->type];
    int regs = w->n / 2, a = regs, desc_b = w->rs ? regs + 4 : regs + 1, acc = desc_b + 1;
    weiri_put(b, "\ntemplate <> __device__ __forceinline__ void ");
    if (w->rs) weiri_put(b, "w_wgmma_rs<%d, %s, %d>(float *d, const u32 *a, u64 b, u32 acc) {\n", w->n, t->name, w->tb);
    else weiri_put(b, "w_wgmma_ss<%d, %s, %d, %d>(float *d, u64 a, u64 b, u32 acc) {\n", w->n, t->name, w->ta, w->tb);
    weiri_put(b, "    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %%%d, 0;\\n\"\n", acc);
    weiri_put(b, "        \"wgmma.mma_async.sync.aligned.m64n%d%s {\"", w->n, t->shape);
    for (int i = 0; i < regs; i++)
        weiri_put(b, "%s%%%d%s", i % 16 ? "" : "\n        \"", i, i == regs - 1 ? "}, \"\n" : i % 16 == 15 ? ",\"" : ",");
    if (w->rs) weiri_put(b, "        \"{%%%d,%%%d,%%%d,%%%d}, %%%d, p, 1, 1", a, a + 1, a + 2, a + 3, desc_b);
    else weiri_put(b, "        \"%%%d, %%%d, p, 1, 1", a, desc_b);
    if (t->trans && !w->rs) weiri_put(b, ", %d, %d", w->ta, w->tb);
    if (t->trans && w->rs) weiri_put(b, ", %d", w->tb);
    weiri_put(b, "; }\"\n        :");
    for (int i = 0; i < regs; i++)
        weiri_put(b, "%s \"+f\"(d[%d])%s", i && i % 8 == 0 ? "\n         " : "", i, i == regs - 1 ? "" : ",");
    if (w->rs) weiri_put(b, "\n        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b), \"r\"(acc)");
    else weiri_put(b, "\n        : \"l\"(a), \"l\"(b), \"r\"(acc)");
    weiri_put(b, " : \"memory\");\n}\n");
}

static const char *skip_space(const char *s) {
    while (isspace((unsigned char)*s)) s++;
    return s;
}

/* One template argument, a number or a W_ name; NULL when it is neither (the compiler will say so). */
static const char *template_argument(const char *s, int *out) {
    s = skip_space(s);
    if (isdigit((unsigned char)*s)) {
        for (*out = 0; isdigit((unsigned char)*s) && *out < 1000000; s++) *out = *out * 10 + (*s - '0');
        return skip_space(s);
    }
    for (int i = 0; i < WTYPE_COUNT; i++) {
        size_t n = strlen(wtypes[i].name);
        if (!strncmp(s, wtypes[i].name, n) && !isalnum((unsigned char)s[n]) && s[n] != '_') {
            *out = i;
            return skip_space(s + n);
        }
    }
    return NULL;
}

static bool parse_instance(const char *s, bool rs, weiri_wgmma *w) {
    int arg[4] = { 0, 0, 0, 0 }, n = rs ? 3 : 4;
    if (*(s = skip_space(s)) != '<') return false;
    for (int i = 0; i < n; i++) {
        s = template_argument(s + 1, &arg[i]);
        if (!s || *s != (i == n - 1 ? '>' : ',')) return false;
    }
    *w = (weiri_wgmma){ .rs = rs ? 1 : 0, .n = arg[0], .type = arg[1], .ta = rs ? 0 : arg[2], .tb = rs ? arg[2] : arg[3] };
    return true;
}

/* Pairs of halves cost NVRTC milliseconds, and few kernels have any. Shuffles and atomics of halves name no pair. */
static bool names_halves(const char *source) {
    static const char *const words[] = { "f16x2",     "half",     "bfloat16", "__h",    "__shfl",
                                         "atomicAdd", "__nv_fp8", "__low2",   "__high2" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(source, words[i])) return true;
    return false;
}

bool weiri_ptx_preamble(const char *source, weiri_buf *b) {
    weiri_wgmma seen[64];
    int nseen = 0;
    char why[160];
    weiri_put_n(b, weiri_weir_cuda_h, strlen(weiri_weir_cuda_h));
    if (names_halves(source)) weiri_put_n(b, weiri_weir_halves_h, strlen(weiri_weir_halves_h));
    for (const char *s = source; (s = strstr(s, "w_wgmma_")) != NULL;) {
        s += strlen("w_wgmma_");
        bool rs = !strncmp(s, "rs", 2);
        weiri_wgmma w;
        if ((!rs && strncmp(s, "ss", 2)) || !parse_instance(s + 2, rs, &w)) continue;
        if (!weiri_wgmma_valid(&w, why, sizeof why)) {
            weiri_fail(b->ctx, WEIR_E_COMPILE, "%s", why);
            return false;
        }
        int i = 0;
        while (i < nseen && memcmp(&seen[i], &w, sizeof w)) i++;
        if (i < nseen) continue;
        if (nseen == (int)(sizeof seen / sizeof seen[0])) {
            weiri_fail(b->ctx, WEIR_E_COMPILE, "the source names more than %d different wgmma instances", nseen);
            return false;
        }
        seen[nseen++] = w;
        weiri_wgmma_put(b, &w);
    }
    return !b->oom;
}

bool weiri_preamble(const weiri_plan *p, weiri_buf *out) {
    weiri_buf source;
    weiri_buf_init(&source, p->a.ctx);
    bool ok = weiri_emit(p, &source) && weiri_ptx_preamble(source.s ? source.s : "", out);
    weiri_buf_free(&source);
    return ok;
}
