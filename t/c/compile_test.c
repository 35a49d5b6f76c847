/* The preamble through NVRTC, the log, the cubin cache. Needs NVRTC but no GPU. */
#define _GNU_SOURCE /* syscall */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "compile.h"
#include "embedded.h"
#include "hash.h"
#include "ptx.h"

static char folder[] = "/tmp/weir-compile-XXXXXX";
static char logged[4096];

static void on_log(void *ud, weir_log_level level, const char *text) {
    (void)ud, (void)level;
    snprintf(logged, sizeof logged, "%s", text);
}

static weir_ctx *open_in(const char *cache) {
    return weir_open(&(weir_config){ .cache_dir = cache, .log = on_log, .log_level = WEIR_LOG_INFO });
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) printf("# %s stays\n", folder);
}

/* Preamble and source of a kernel whose body is `body`. */
static weir_status compile(weir_ctx *ctx, const char *body, weir_arch arch, weiri_binary *out) {
    weiri_buf text, source;
    weiri_buf_init(&text, ctx);
    weiri_buf_init(&source, ctx);
    weiri_put(&source,
              "extern \"C\" __global__ void __launch_bounds__(384, 1) k(const __grid_constant__ w_tmap map, float *f, i32 n) "
              "{\n%s\n}\n",
              body);
    weir_status st = WEIR_E_COMPILE;
    *out = (weiri_binary){ 0 };
    if (weiri_ptx_preamble(source.s, &text)) {
        weiri_put_n(&text, source.s, source.n);
        st = weiri_compile(ctx, "k", text.s, arch, false, out);
    }
    weiri_buf_free(&source);
    weiri_buf_free(&text);
    return st;
}

static const char plain[] = "f[w_block() * 384 + w_tid()] = (float)n;";

/* ---- preamble ------------------------------------------------------------------------------------------------------------ */

static void test_preamble_text(weir_ctx *ctx) {
    weiri_buf b;
    weiri_buf_init(&b, ctx);
    ok(weiri_ptx_preamble("w_wgmma_ss<256, W_BF16, 0, 0>(d, a, b, 1); w_wgmma_ss< 256,W_BF16,0 , 0 >(d, a, b, 0); "
                          "w_wgmma_rs<64, W_F16, 1>(d, r, b, 1);",
                          &b),
       "two instances, one named twice");
    int count = 0;
    for (const char *s = b.s; (s = strstr(s, "template <>")) != NULL; s++) count++;
    is_int(2, count, "each is written once");
    has_str("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {", b.s, "the f16 form");
    has_str("\"{%32,%33,%34,%35}, %36, p, 1, 1, 1; }\"", b.s, "A in registers: no trans-a immediate");
    has_str("\"%128, %129, p, 1, 1, 0, 0; }\"", b.s, "A in shared memory: both");
    ok(!strstr(b.s, "struct alignas(4) PAIR"), "no pairs of halves where the source has none");
    weiri_buf_free(&b);
    ok(weiri_ptx_preamble("half2 h = __floats2half2_rn(1.f, 2.f);", &b), "a source with pairs of halves");
    has_str("struct alignas(4) PAIR", b.s, "brings them in");
    weiri_buf_free(&b);
    static const struct {
        const char *source, *text;
    } bad[] = {
        { "w_wgmma_ss<60, W_BF16, 0, 0>(d, a, b, 1);", "wgmma N is 60; it must be a multiple of 8 from 8 to 256" },
        { "w_wgmma_ss<264, W_BF16, 0, 0>(d, a, b, 1);", "wgmma N is 264; it must be a multiple of 8 from 8 to 256" },
        { "w_wgmma_ss<64, W_E4M3, 0, 1>(d, a, b, 1);",
          "wgmma takes transposed operands of 16-bit types only; W_E4M3 must be K-major" },
        { "w_wgmma_ss<64, 7, 0, 0>(d, a, b, 1);",
          "wgmma operand type 7 does not exist (0 bf16, 1 f16, 2 tf32, 3 e4m3, 4 e5m2, 5 e4m3 by e5m2, 6 e5m2 by e4m3)" },
        { "w_wgmma_rs<64, W_BF16, 2>(d, a, b, 1);",
          "wgmma transpose flags are 0, 2; they must be 0 or 1, and 0 for A in registers" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weiri_buf_init(&b, ctx);
        bool made = weiri_ptx_preamble(bad[i].source, &b);
        weiri_buf_free(&b);
        ok(!made, "%s is refused", bad[i].source);
        is_str(bad[i].text, weir_error(ctx), "with the rule");
    }
}

/* Every name of kernels/device/primitives.def is in weir_cuda.h, and the preamble has no function that is not in the list. */
static void test_primitives(void) {
    char path[512], row[512], name[64];
    snprintf(path, sizeof path, "%s/kernels/device/primitives.def", WEIR_ROOT);
    FILE *f = fopen(path, "r");
    char listed[200][64];
    int n = 0;
    while (f && fgets(row, sizeof row, f)) {
        if ((row[0] != 'P' && row[0] != 'T' && row[0] != 'M') || row[1] != '(') continue;
        const char *s = strstr(row, row[0] == 'M' ? "W_" : "w_");
        if (row[0] != 'M') { /* skip a result type that starts with w_ */
            s = strchr(row, ',');
            while (*++s == ' ') {}
        }
        size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        snprintf(name, sizeof name, "%.*s", (int)len, s);
        char what[80];
        snprintf(what, sizeof what, "%s(", name);
        ok(strstr(weiri_weir_cuda_h, what), "%s is in the preamble", name);
        snprintf(listed[n++], 64, "%s", name);
    }
    if (f) fclose(f);
    ok(n >= 70, "the list was read: %d primitives", n);
    bool known = true;
    for (const char *s = weiri_weir_cuda_h; (s = strstr(s, " w_")) != NULL; s += 3) {
        size_t len = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (s[1 + len] != '(') continue;
        int i = 0;
        while (i < n && (strlen(listed[i]) != len || strncmp(listed[i], s + 1, len))) i++;
        if (i == n) printf("# not in primitives.def: %.*s\n", (int)len, s + 1);
        known = known && i < n;
    }
    ok(known, "the preamble has no other function");
}

/* Every primitive, and one wgmma of every type, goes through ptxas. */
static const char everything[] =
    "u32 base = w_smem_base(), bar = base + 65536, r[4], a[4] = { 1, 2, 3, 4 }; float d[64]; for (int i = 0; i < 64; i++) d[i] "
    "= 0;\n"
    "w_mbar_init(bar, 1); w_fence_mbar_init(); w_sync_cta(); w_cluster_arrive_relaxed(); w_cluster_wait(); w_cluster_arrive(); "
    "w_cluster_wait();\n"
    "w_grid_wait(); w_grid_launch(); w_reg_dec<40>(); w_reg_inc<232>(); w_mbar_wait(bar, 0); if (w_mbar_try(bar, 1)) "
    "w_mbar_arrive(bar);\n"
    "w_mbar_arrive_remote(bar, 1); w_mbar_expect(bar, 128); w_mbar_expect_remote(bar, 1, 128); w_mbar_cp_async_arrive(bar); "
    "w_sync_warp();\n"
    "w_bar_sync(1, 128); w_bar_arrive(2, 256); w_fence_async(); w_fence_async_global(); w_tma_prefetch(&map);\n"
    "u64 p = w_policy_evict_first() + w_policy_evict_last();\n"
    "#define ALL(...) w_tma_load(base, &map, bar, __VA_ARGS__); w_tma_load_multicast(base, &map, bar, 3, __VA_ARGS__); \\\n"
    "  w_tma_load_hint(base, &map, bar, p, __VA_ARGS__); w_tma_load_multicast_hint(base, &map, bar, 3, p, __VA_ARGS__); \\\n"
    "  w_tma_store(&map, base, __VA_ARGS__); w_tma_reduce_add(&map, base, __VA_ARGS__);\n"
    "ALL(1) ALL(1, n) ALL(1, 2, n) ALL(1, 2, 3, n) ALL(1, 2, 3, 4, n)\n"
    "w_bulk_commit(); w_bulk_wait<1>(); w_bulk_wait_read<0>(); w_bulk_push(base, base + 1024, 64, bar, 1);\n"
    "w_bulk_load(base, f, 64, bar); w_bulk_store(f, base, 64); w_bulk_reduce_add(f, base, 64); w_bulk_reduce_add((f64 *)f, base, 64); w_bulk_reduce_add((f16 *)f, base, 64);\n"
    "w_bulk_reduce_add((bf16 *)f, base, 64); w_bulk_reduce_add((i32 *)f, base, 64); w_bulk_reduce_add((u32 *)f, base, 64); w_bulk_reduce_add((u64 *)f, base, 64);\n"
    "w_mbar_arrive_n(bar, 3); w_mbar_expect_tx(bar, 16); w_mbar_inval(bar);\n"
    "w_cp_async<4>(base, f, 4); w_cp_async<8>(base, f, 8); w_cp_async<16>(base, f, 8); w_cp_commit(); w_cp_wait<2>();\n"
    "u64 x = w_desc(base, 16, 1024, 1);\n"
    "#define MMA(...) w_wgmma_fence(); __VA_ARGS__; w_wgmma_commit(); w_wgmma_wait<1>(); w_wgmma_wait<0>();\n"
    "MMA(w_wgmma_ss<96, W_BF16, 0, 0>(d, x, x, 0)) MMA(w_wgmma_ss<64, W_F16, 1, 1>(d, x, x, 1)) MMA(w_wgmma_ss<128, W_TF32, 0, "
    "0>(d, x, x, 1))\n"
    "MMA(w_wgmma_ss<8, W_E4M3, 0, 0>(d, x, x, 1)) MMA(w_wgmma_ss<16, W_E5M2, 0, 0>(d, x, x, 1)) MMA(w_wgmma_rs<128, W_BF16, "
    "1>(d, a, x, n))\n"
    "MMA(w_wgmma_rs<128, 1, 0>(d, a, x, n)) MMA(w_wgmma_rs<40, W_E4M3, 0>(d, a, x, n)) MMA(w_wgmma_rs<40, W_TF32, 0>(d, a, x, "
    "n))\n"
    "MMA(w_wgmma_rs<120, W_E5M2, 0>(d, a, x, n))\n"
    "w_stmatrix4(base, 1, 2, 3, n); w_stmatrix4t(base, 1, 2, 3, n); w_stmatrix2(base, 1, n); w_ldmatrix4(base, r); "
    "w_ldmatrix4t(base, a);\n"
    "f[0] = w_exp2(f[1]) + w_log2(f[2]) + w_rcp(f[3]) + w_rsqrt(f[4]) + w_tanh(f[5]) + w_shfl_xor(f[6], 1) + r[0] + a[1] + "
    "d[2];\n"
    "f[1] = w_pack_bf16(f[7], f[8]) + w_pack_f16(f[7], f[8]) + w_ceil_div(n, 64) + w_min(n, 3) + w_quotient(n, 3, w_reciprocal(3)) + w_neg(n) + w_max(n, 7) + w_floor_div(n, "
    "3) + w_unpack_bf16(n, 1) + w_unpack_f16(n, 0) + w_block() + w_blocks()\n"
    "  + w_elect() + w_warp() + w_lane() + w_cluster_rank() + *(u32 *)w_ptr(base);\n"
    "bf16 *b = (bf16 *)f; f16 *h = (f16 *)f; e4m3 *e = (e4m3 *)f; e5m2 *g = (e5m2 *)f; tf32 *t = (tf32 *)f; i32 i = w_tid();\n"
    "float v = i < n ? b[i] : 0.f; v += h[i]; v = v + e[i] * 2.f + g[i] - t[i]; b[i] = v; h[i] = v * 2; e[i] = v; g[i] = 3; "
    "t[i] = v;\n"
    "b[i + 1] = b[i]; bf16 q(v); b[i + 2] = q; b[i + 3] = bf16(1.5f);";

/* What only sm_100a has. */
static const char tensor_memory[] =
    "u32 base = w_smem_base(), bar = base + 65536, r[32]; u64 x = w_umma_desc(base, 16, 1024, 2);\n"
    "if (w_warp() == 0) w_tmem_alloc(bar + 16, 512); w_tcgen05_before(); w_sync_cta(); w_tcgen05_after();\n"
    "u32 t = *(u32 *)w_ptr(bar + 16); if (w_tid() == 0) { w_umma_f16(t, x, x, 0x08400490, 0); w_umma_tf32(t, x, x, 0x08400910, n); w_umma_tf32_ts(t, t + 256, x, 0x08200910, n);\n"
    "u32 mx = w_umma_mx_idesc(128, W_MX_E4M3, W_MX_E5M2, 1, 2, 0); w_tmem_cp_128x256b(t + 256, x); w_tmem_cp_4x256b(t + 256, x); w_tmem_cp_128x128b(t + 256, x);\n"
    "w_tmem_cp_64x128b_02_13(t + 256, x); w_tmem_cp_64x128b_01_23(t + 256, x); w_tmem_cp_32x128b(t + 256, x); w_umma_mxf8(t, x, x, mx, t + 256, t + 264, n);\n"
    "w_umma_mxf4(t, x, x, mx, t + 256, t + 264, n); w_umma_nvf4(t, x, x, mx & ~(1u << 23), t + 256, t + 264, 1);\n"
    "w_umma_f8(t, x, x, 0x08400010, 1); w_umma_commit(bar); w_umma_commit_multicast(bar, 3); } w_mbar_wait(bar, 0); w_sync_warp();\n"
    "w_tmem_ld_x8(r, t); w_tmem_wait_ld<8>(r); f[0] = r[n % 8 == 3 ? 3 : 4]; w_tmem_ld_x16(r, t); w_tmem_wait_ld<16>(r); f[1] = r[15];\n"
    "w_tmem_st_x8(t, r); w_tmem_st_x16(t + 8, r); w_tmem_st_x32(t + 32, r); w_tmem_wait_st();\n"
    "w_tmem_ld_x32(r, t); w_tmem_wait_ld<32>(r); f[2] = r[31]; w_tcgen05_before(); w_sync_cta(); w_tcgen05_after();\n"
    "if (w_warp() == 0) w_tmem_free(t, 512);";

/* Every mma.sync, and the moves of one matrix and of two: ldmatrix and 16-bit types on sm_80, the rest later. */
static const char warp_mma[] =
    "u32 base = w_addr(w_ptr(w_smem_base())), a[4] = { 1, 2, 3, (u32)n }, b[2] = { 4, 5 }, h[2] = { 0, 0 }; float d[4] = { 0, 0, 0, 0 }; i32 i[4] = { 0, 0, 0, 0 };\n"
    "w_ldmatrix1(base, a); w_ldmatrix1t(base, a + 1); w_ldmatrix2(base, b); w_ldmatrix2t(base, a + 2); b[0] ^= w_movmatrix(a[0]);\n"
    "w_mma<16, W_BF16>(d, a, b); w_mma<8, W_BF16>(d, a, b); w_mma<16, W_F16>(d, a, b); w_mma<8, W_F16>(d, a, b);\n"
    "w_mma<8, W_TF32>(d, a, b); w_mma<4, W_TF32>(d, a, b); w_mma_f16<16>(h, a, b); w_mma_f16<8>(h, a, b);\n"
    "w_mma_i32<32, W_S8, W_S8>(i, a, b); w_mma_i32<32, W_S8, W_U8>(i, a, b); w_mma_i32<32, W_U8, W_S8>(i, a, b); w_mma_i32<32, W_U8, W_U8>(i, a, b);\n"
    "w_mma_i32<16, W_S8, W_S8>(i, a, b); w_mma_i32<16, W_S8, W_U8>(i, a, b); w_mma_i32<16, W_U8, W_S8>(i, a, b); w_mma_i32<16, W_U8, W_U8>(i, a, b);\n"
    "double e[2] = { 0, 0 }; w_mma_f64(e, f[0], f[1]); f[0] = d[0] + d[3] + i[0] + i[3] + h[1] + e[1];\n";
static const char warp_mma_90[] =
    "u32 base = w_smem_base(), a[4] = { 1, 2, 3, (u32)n }, b[2] = { 4, 5 }; float d[4] = { 0, 0, 0, 0 };\n"
    "w_mma<32, W_E4M3>(d, a, b); w_mma<32, W_E5M2>(d, a, b); w_mma<32, W_E4M3_E5M2>(d, a, b); w_mma<32, W_E5M2_E4M3>(d, a, b);\n"
    "w_stmatrix1(base, n); w_stmatrix1t(base, n); w_stmatrix2t(base, n, 2); f[0] = d[0] + d[3];\n";

static void test_mma(weir_ctx *ctx) {
    weiri_binary b;
    static const struct { const char *text; weir_arch arch; const char *name; } forms[] = {
        { warp_mma, WEIR_ARCH_SM_80, "sm_80" },         { warp_mma, WEIR_ARCH_SM_90A, "sm_90a" },       { warp_mma, WEIR_ARCH_SM_100A, "sm_100a" },
        { warp_mma_90, WEIR_ARCH_SM_90A, "8 bits, sm_90a" }, { warp_mma_90, WEIR_ARCH_SM_100A, "8 bits, sm_100a" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        weiri_log_facts facts;
        char complaint[512];
        ok(compile(ctx, forms[i].text, forms[i].arch, &b) == WEIR_OK, "mma.sync compiles: %s", forms[i].name);
        weiri_compile_log_check(b.log.s, &facts);
        weiri_compile_log_complaint(&facts, complaint, sizeof complaint);
        is_str("", complaint, "without warning or spill");
        weiri_binary_free(ctx, &b);
    }
    static const char *const bad[][2] = {
        { "w_mma<16, W_TF32>(nullptr, nullptr, nullptr);", "mma: K is 16 or 8 of 16-bit types, 8 or 4 of tf32, 32 of 8-bit floats" },
        { "w_mma<32, W_E4M3>(nullptr, nullptr, nullptr);", "mma of 8-bit floats needs sm_89" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(compile(ctx, bad[i][0], WEIR_ARCH_SM_80, &b) == WEIR_E_COMPILE, "%s on sm_80", bad[i][0]);
        has_str(bad[i][1], b.log.s, "is told");
        weiri_binary_free(ctx, &b);
    }
}

/* The same of two CTAs; a kernel has one kind. */
static const char pairs[] =
    "u32 base = w_smem_base(), bar = base + 65536, r[8], cta = w_cluster_rank() & ~1u; u64 x = w_umma_desc(base, 16, 1024, 2);\n"
    "u64 p = w_policy_evict_first();\n"
    "#define ALL(...) w_tma_load_pair(base, &map, bar, cta, __VA_ARGS__); w_tma_load_pair_multicast(base, &map, bar, cta, 3, __VA_ARGS__); \\\n"
    "  w_tma_load_pair_hint(base, &map, bar, cta, p, __VA_ARGS__); w_tma_load_pair_multicast_hint(base, &map, bar, cta, 3, p, __VA_ARGS__);\n"
    "ALL(1) ALL(1, n) ALL(1, 2, n) ALL(1, 2, 3, n) ALL(1, 2, 3, 4, n)\n"
    "if (w_warp() == 0) w_tmem_alloc_pair(bar + 16, 512); w_tcgen05_before(); w_cluster_arrive(); w_cluster_wait(); w_tcgen05_after();\n"
    "u32 t = *(u32 *)w_ptr(bar + 16); if (cta == 0 && w_tid() == 0) { w_umma_f16_pair(t, x, x, 0x10400490, 0); w_umma_tf32_pair(t, x, x, 0x10400910, n);\n"
    "w_umma_tf32_ts_pair(t, t + 256, x, 0x10200910, n); w_umma_f8_pair(t, x, x, 0x10400010, 1); w_umma_commit_pair(bar, 3); } w_mbar_wait(bar, 0); w_sync_warp();\n"
    "w_tmem_ld_x8(r, t); w_tmem_wait_ld<8>(r); f[0] = r[n % 8 == 3 ? 3 : 4]; w_tcgen05_before(); w_cluster_arrive(); w_cluster_wait(); w_tcgen05_after();\n"
    "if (w_warp() == 0) w_tmem_free_pair(t, 512);";

static void test_ptxas(weir_ctx *ctx) {
    weiri_binary b;
    weiri_log_facts facts;
    char complaint[512];
    is_int(WEIR_OK, compile(ctx, everything, WEIR_ARCH_SM_90A, &b), "every primitive compiles for sm_90a");
    weiri_compile_log_check(b.log.s, &facts);
    weiri_compile_log_complaint(&facts, complaint, sizeof complaint);
    is_str("", complaint, "without warning, spill or C75xx note");
    ok(facts.registers > 64 && facts.registers <= 168, "registers are read from the log: %d", facts.registers);
    weiri_binary_free(ctx, &b);
    is_int(WEIR_OK, compile(ctx, plain, WEIR_ARCH_SM_80, &b), "sm_80");
    weiri_binary_free(ctx, &b);
    is_int(WEIR_OK, compile(ctx, plain, WEIR_ARCH_SM_100A, &b), "sm_100a");
    weiri_binary_free(ctx, &b);
    is_int(WEIR_OK, compile(ctx, tensor_memory, WEIR_ARCH_SM_100A, &b), "tensor memory on sm_100a");
    weiri_compile_log_check(b.log.s, &facts);
    weiri_compile_log_complaint(&facts, complaint, sizeof complaint);
    is_str("", complaint, "without warning or spill");
    weiri_binary_free(ctx, &b);
    is_int(WEIR_OK, compile(ctx, pairs, WEIR_ARCH_SM_100A, &b), "pairs of CTAs on sm_100a");
    weiri_compile_log_check(b.log.s, &facts);
    weiri_compile_log_complaint(&facts, complaint, sizeof complaint);
    is_str("", complaint, "without warning or spill");
    weiri_binary_free(ctx, &b);

    is_int(WEIR_OK,
           compile(ctx,
                   "float d[128]; for (int i = 0; i < 128; i++) d[i] = f[i]; u64 x = w_desc(n, 16, 1024, 1);\n"
                   "w_wgmma_fence(); w_wgmma_ss<256, W_BF16, 0, 0>(d, x, x, 1); w_wgmma_commit(); f[0] = d[3]; "
                   "w_wgmma_wait<0>(); f[1] = d[5];",
                   WEIR_ARCH_SM_90A, &b),
           "an accumulator read before its wait compiles");
    weiri_compile_log_check(b.log.s, &facts);
    weiri_compile_log_complaint(&facts, complaint, sizeof complaint);
    has_str("C7517: wgmma is serialised: a result is read before its wait_group", complaint, "and is told from the log");
    weiri_binary_free(ctx, &b);

    is_int(WEIR_E_COMPILE, compile(ctx, "#line 41 \"gemm.lua\"\nint x = nothing;", WEIR_ARCH_SM_90A, &b),
           "an error in the source");
    has_str("gemm.lua(41): error: identifier \"nothing\" is undefined", b.log.s, "keeps the author's line");
    has_str("kernel 'k' does not compile for sm_90a (NVRTC ", weir_error(ctx), "and names kernel, target and compiler");
    weiri_binary_free(ctx, &b);
}

static void test_log_facts(void) {
    weiri_log_facts f;
    char complaint[256];
    weiri_compile_log_check(
        "ptxas info    : Function properties for k\n    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 2 barriers\nptxas info    : (C7508) setmaxnreg ignored\n(C7508) again\n"
        "k.cu(3): warning #1-D: odd\n",
        &f);
    ok(f.registers == 168 && f.spill_stores == 16 && f.spill_loads == 20 && f.stack == 24 && f.warnings == 1,
       "numbers of a log");
    ok(f.ncodes == 1 && f.codes[0] == 7508, "a code counts once");
    weiri_compile_log_complaint(&f, complaint, sizeof complaint);
    is_str("16 bytes of spill stores, 20 of spill loads; C7508: setmaxnreg is ignored: the register count at entry is not "
           "known; 1 warning",
           complaint, "the complaint has all of it");
    weiri_compile_log_check(NULL, &f);
    ok(f.registers == 0 && f.ncodes == 0, "no log, no facts");
}

/* ---- cache ------------------------------------------------------------------------------------------------------------- */

static char entry[512];

static bool find_entry(void) {
    char pattern[128];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/k-*.cubin", folder);
    if (glob(pattern, 0, NULL, &g)) return false;
    snprintf(entry, sizeof entry, "%s", g.gl_pathv[0]);
    bool one = g.gl_pathc == 1;
    globfree(&g);
    return one;
}

static char why[320]; /* of the last miss */
static weir_cache stats;

static bool compile_hits(const char *body) {
    weir_ctx *ctx = open_in(folder);
    weiri_binary b;
    bool good = compile(ctx, body, WEIR_ARCH_SM_90A, &b) == WEIR_OK && b.cubin_size > 0 && strstr(b.log.s, "registers");
    bool hit = b.cache_hit;
    stats = weir_cache_stats(ctx);
    snprintf(why, sizeof why, "%s", stats.why);
    good = good && stats.hits == hit && stats.misses == !hit && stats.absent + stats.changed + stats.damaged == stats.misses &&
           !strcmp(stats.dir, folder) && (hit ? b.nvrtc_ms == 0 : b.nvrtc_ms > b.ms / 2) && b.nvrtc_ms < b.ms;
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
    return ok(good, "cubin and log are there, counters agree") && hit;
}

static void damage(long at, long cut) {
    FILE *f = fopen(entry, "r+b");
    if (cut >= 0) {
        if (ftruncate(fileno(f), cut)) printf("# not cut\n");
    } else {
        fseek(f, at, SEEK_SET);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 1, f);
    }
    fclose(f);
}

static void test_cache(void) {
    ok(!compile_hits(plain) && stats.absent == 1, "first compilation: a miss");
    is_str("kernel 'k' was not compiled before", why, "and why");
    ok(compile_hits(plain), "second, in a new context: a hit");
    is_str("", why, "no miss, no reason");
    ok(find_entry(), "one entry on disk");
    struct stat st;
    stat(entry, &st);
    long size = st.st_size;
    damage(size - 9, -1);
    logged[0] = 0;
    ok(!compile_hits(plain), "a flipped bit in the cubin: a miss");
    has_str("is damaged; it is built again", logged, "with a line in the log");
    is_str("the entry of kernel 'k' is damaged", why, "and why");
    is_int(1, stats.damaged, "counted as that");
    ok(compile_hits(plain), "and the entry is good again");
    damage(170, -1);
    ok(!compile_hits(plain), "a flipped bit in the log: a miss");
    damage(30, -1);
    ok(!compile_hits(plain), "a flipped bit in what it was compiled from: a miss");
    stat(entry, &st); /* its log says how long ptxas took: another build, another length */
    damage(0, st.st_size - 1);
    ok(!compile_hits(plain), "a byte short: a miss");
    damage(0, 10);
    ok(!compile_hits(plain), "shorter than its header: a miss");
    damage(0, 0);
    ok(!compile_hits(plain), "empty: a miss");
    ok(compile_hits(plain), "good again");
    ok(!compile_hits("f[0] = 1;") && stats.changed == 1, "another source: a miss");
    is_str("the source of kernel 'k' is none of the 1 that are there", why, "and why");
    weir_ctx *ctx = open_in(folder);
    weiri_binary b;
    ok(compile(ctx, plain, WEIR_ARCH_SM_100A, &b) == WEIR_OK && !b.cache_hit, "another target: a miss");
    is_str("kernel 'k' was compiled for sm_90a, not for sm_100a", weir_cache_stats(ctx).why, "and why");
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
    char command[256];
    snprintf(command, sizeof command, "ls -A %s | grep -c -v -e '^k-[0-9a-f]*.cubin$' -e '^nvrtc-[0-9a-f]*$'", folder);
    FILE *f = popen(command, "r");
    int other = -1;
    if (!f || fscanf(f, "%d", &other) != 1) other = -1;
    if (f) pclose(f);
    is_int(0, other, "no temporary file is left");
}

/* ---- a cache that many write, or that a writer leaves in the middle -------------------------------------------------------- */

/* NVRTC's place is taken by a library that gives 100000 bytes at once, in versions of its own: so that rounds are many. */
static const char fast_nvrtc[] =
    "#include <string.h>\n"
    "int nvrtcVersion(int *a, int *b) { *a = MAJOR; *b = 0; return 0; }\n"
    "const char *nvrtcGetErrorString(int r) { (void)r; return \"fast\"; }\n"
    "int nvrtcCreateProgram(void **p) { *p = (void *)8; return 0; }\n"
    "int nvrtcCompileProgram(void *p) { (void)p; return 0; }\n"
    "int nvrtcDestroyProgram(void **p) { *p = 0; return 0; }\n"
    "int nvrtcGetProgramLogSize(void *p, size_t *n) { (void)p; *n = 5; return 0; }\n"
    "int nvrtcGetProgramLog(void *p, char *s) { (void)p; memcpy(s, \"said\", 5); return 0; }\n"
    "int nvrtcGetCUBINSize(void *p, size_t *n) { (void)p; *n = 100000; return 0; }\n"
    "int nvrtcGetCUBIN(void *p, char *s) { (void)p; for (int i = 0; i < 100000; i++) s[i] = (char)(i * 7 + MAJOR); return 0; }\n"
    "int nvrtcGetPTXSize(void *p, size_t *n) { (void)p; *n = 1; return 0; }\n"
    "int nvrtcGetPTX(void *p, char *s) { (void)p; *s = 0; return 0; }\n";

static bool make_fast(int major, char *path, size_t size) {
    char source[96], command[400];
    snprintf(source, sizeof source, "%s/fast.c", folder);
    snprintf(path, size, "%s/libnvrtc-fast%d.so", folder, major);
    FILE *f = fopen(source, "w");
    fputs(fast_nvrtc, f);
    fclose(f);
    snprintf(command, sizeof command, "${CC:-cc} -shared -fPIC -DMAJOR=%d -o %s %s", major, path, source);
    return system(command) == 0;
}

/* 0: a hit, 1: a miss, both with the right bytes; 2: anything else */
static int compile_fast(const char *library, const char *cache, int major, char *reason, size_t size) {
    weir_ctx *ctx = weir_open(&(weir_config){ .cache_dir = cache, .nvrtc_path = library });
    weiri_binary b;
    bool good = weiri_compile(ctx, "k", "a source", WEIR_ARCH_SM_90A, false, &b) == WEIR_OK && b.cubin_size == 100000 &&
                b.log.n == 4 && !memcmp(b.log.s, "said", 4);
    for (int i = 0; good && i < 100000; i++) good = ((char *)b.cubin)[i] == (char)(i * 7 + major);
    int out = !good ? 2 : !b.cache_hit;
    if (reason) snprintf(reason, size, "%s", weir_cache_stats(ctx).why);
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
    return out;
}

/* What a process does to the cache, call by call: this file's own write, fsync, ... are the ones that libweir.a is linked with. The one
 * that dies does so before the call `dies_at`, in the middle of it (half the bytes are written), or behind it. */
static int dies_at = 0, calls = 0; /* 0: nobody */
enum { BEFORE, HALF, BEHIND };
static int dies_how;

static bool dies(int how) { return dies_at && calls == dies_at && dies_how == how; }
#define STEP(call, half) \
    do { \
        calls++; \
        if (dies(BEFORE)) raise(SIGKILL); \
        if (dies(HALF)) { half; raise(SIGKILL); } \
        long r_ = (call); \
        if (dies(BEHIND)) raise(SIGKILL); \
        return r_; \
    } while (0)

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { OWN_CALLS = 0 }; /* its own are in the way */
#else
enum { OWN_CALLS = 1 };
ssize_t write(int fd, const void *p, size_t n) { STEP(syscall(SYS_write, fd, p, n), (void)syscall(SYS_write, fd, p, n / 2)); }
static long step(long (*f)(const void *, long), const void *p, long x) { STEP(f(p, x), (void)0); }
static long do_fsync(const void *p, long fd) { return (void)p, syscall(SYS_fsync, fd); }
static long do_fchmod(const void *p, long fd) { return syscall(SYS_fchmod, fd, *(const mode_t *)p); }
static const char *renamed_to;
static long do_rename(const void *p, long x) { return (void)x, syscall(SYS_renameat2, AT_FDCWD, p, AT_FDCWD, renamed_to, 0); }
int fsync(int fd) { return (int)step(do_fsync, NULL, fd); }
int fchmod(int fd, mode_t m) { return (int)step(do_fchmod, &m, fd); }
int rename(const char *from, const char *to) { return renamed_to = to, (int)step(do_rename, from, 0); }
#endif

static int in_child(const char *library, const char *cache, int major) {
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) _exit(compile_fast(library, cache, major, NULL, 0));
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_many(void) {
    enum { PROCESSES = 16, ROUNDS = 100 };
    char library[128], newer[128], cache[96], command[256], reason[320];
    if (!make_fast(12, library, sizeof library) || !make_fast(13, newer, sizeof newer)) {
        ok(true, "many processes # SKIP no C compiler");
        return;
    }
    snprintf(cache, sizeof cache, "%s/many", folder);
    is_int(1, compile_fast(library, cache, 12, reason, sizeof reason), "a quick compiler");
    is_int(0, compile_fast(library, cache, 12, reason, sizeof reason), "its second time");
    is_int(1, compile_fast(newer, cache, 13, reason, sizeof reason), "a newer one: a miss");
    has_str("kernel 'k' was compiled by weir ", reason, "and why");
    has_str(", NVRTC 12.0; this is weir ", reason, "... by whom");
    is_int(0, compile_fast(library, cache, 12, reason, sizeof reason), "the older one's is still there");

    /* Sixteen at once: in most rounds there is no entry, in some a damaged one. */
    int bad = 0, missed = 0, left = 0;
    snprintf(cache, sizeof cache, "%s/crowd", folder);
    snprintf(command, sizeof command, "%s/k-*.cubin", cache);
    for (int round = 0; round < ROUNDS; round++) {
        glob_t g;
        if (glob(command, 0, NULL, &g) == 0) {
            snprintf(entry, sizeof entry, "%s", g.gl_pathv[0]);
            if (g.gl_pathc != 1) bad++;
            if (round % 4 == 3) damage(40000 + 100 * round, -1);
            else unlink(entry);
            globfree(&g);
        }
        pid_t child[PROCESSES];
        fflush(stdout);
        for (int i = 0; i < PROCESSES; i++)
            if (!(child[i] = fork())) _exit(compile_fast(library, cache, 12, NULL, 0));
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;
            waitpid(child[i], &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) bad++;
            else missed += WEXITSTATUS(status);
        }
        left += compile_fast(library, cache, 12, NULL, 0);
    }
    ok(bad == 0, "16 processes at once, 100 rounds: each has the right bytes (%d of 1600 compiled them)", missed);
    is_int(0, left, "... and a whole entry is there behind each round");
    ok(missed >= ROUNDS, "... which somebody had to write");

    /* kill -9 in every step: the next one has the right bytes, by a hit or by a miss, and behind it there is a whole entry. */
    if (!OWN_CALLS) {
        ok(true, "kill -9 # SKIP under a sanitizer");
        return;
    }
    snprintf(command, sizeof command, "rm -rf %s", cache);
    int steps = 0, killed = 0, wrong = 0, misses = 0, hits = 0;
    for (int how = BEFORE; how <= BEHIND; how++)
        for (steps = 1; system(command) == 0; steps++) {
            dies_at = steps, dies_how = how, calls = 0;
            int end = in_child(library, cache, 12);
            dies_at = 0;
            killed += end == -SIGKILL;
            int next = compile_fast(library, cache, 12, NULL, 0);
            misses += next == 1, hits += next == 0;
            if (next == 2 || compile_fast(library, cache, 12, NULL, 0) != 0) wrong++;
            if (end != -SIGKILL) break; /* there are no more steps */
        }
    ok(wrong == 0, "kill -9 before, in and behind each of %d writing calls: who comes next has the right bytes, then hits", steps - 1);
    ok(killed == 3 * (steps - 1) && steps > 9, "%d were killed", killed);
    ok(misses >= killed - 4 && hits >= 3, "of those, %d left no entry, %d a whole one", misses, hits);
}

/* Eight processes, one entry: all get a whole cubin whoever writes first. */
static void test_processes(void) {
    unlink(entry);
    pid_t child[8];
    int bad = 0;
    fflush(stdout);
    for (int i = 0; i < 8; i++) {
        child[i] = fork();
        if (child[i]) continue;
        weir_ctx *ctx = open_in(folder);
        weiri_binary b;
        _exit(compile(ctx, plain, WEIR_ARCH_SM_90A, &b) == WEIR_OK && b.cubin_size > 0 ? 0 : 1);
    }
    for (int i = 0; i < 8; i++) {
        int status = 1;
        waitpid(child[i], &status, 0);
        bad += status != 0;
    }
    is_int(0, bad, "eight processes at once");
    ok(compile_hits(plain), "then a hit");
}

static void test_no_cache(void) {
    weir_ctx *ctx = open_in("/proc/no-such-place/weir");
    weiri_binary b;
    is_int(WEIR_OK, compile(ctx, plain, WEIR_ARCH_SM_90A, &b), "a cache that cannot be written is no error");
    has_str("cannot be written", logged, "but a line in the log");
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
    ctx = weir_open(&(weir_config){ .nvrtc_path = "/nowhere/libnvrtc.so", .cache_dir = "" });
    is_int(WEIR_E_NO_COMPILER, compile(ctx, plain, WEIR_ARCH_SM_90A, &b), "no NVRTC");
    has_str("NVRTC cannot be opened at the given path '/nowhere/libnvrtc.so'", weir_error(ctx), "names the path");
    weiri_binary_free(ctx, &b);
    is_int(WEIR_E_NO_COMPILER, compile(ctx, plain, WEIR_ARCH_SM_90A, &b), "again: the same answer");
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
}

/* An NVRTC that knows architectures up to 89 only. */
static const char old_nvrtc[] = "int nvrtcVersion(int *a, int *b) { *a = 11; *b = 8; return 0; }\n"
                                "const char *nvrtcGetErrorString(int r) { (void)r; return \"old\"; }\n"
                                "int nvrtcGetNumSupportedArchs(int *n) { *n = 3; return 0; }\n"
                                "int nvrtcGetSupportedArchs(int *a) { a[0] = 70, a[1] = 80, a[2] = 89; return 0; }\n"
                                "#define NONE(f) int f(void) { return 1; }\n"
                                "NONE(nvrtcCreateProgram) NONE(nvrtcCompileProgram) NONE(nvrtcGetProgramLogSize) "
                                "NONE(nvrtcGetProgramLog) NONE(nvrtcGetCUBINSize)\n"
                                "NONE(nvrtcGetCUBIN) NONE(nvrtcGetPTXSize) NONE(nvrtcGetPTX) NONE(nvrtcDestroyProgram)\n";

static void test_old_nvrtc(void) {
    char path[128], command[512];
    snprintf(path, sizeof path, "%s/old.c", folder);
    FILE *f = fopen(path, "w");
    fputs(old_nvrtc, f);
    fclose(f);
    snprintf(command, sizeof command, "${CC:-cc} -shared -fPIC -o %s/libnvrtc-old.so %s", folder, path);
    if (system(command)) {
        ok(true, "an old NVRTC # SKIP no C compiler");
        return;
    }
    snprintf(path, sizeof path, "%s/libnvrtc-old.so", folder);
    weir_ctx *ctx = weir_open(&(weir_config){ .nvrtc_path = path, .cache_dir = "" });
    weiri_binary b;
    is_int(WEIR_E_NO_COMPILER, compile(ctx, plain, WEIR_ARCH_SM_90A, &b), "an architecture newer than NVRTC knows");
    has_str("kernel 'k' is for sm_90a, but NVRTC 11.8 at ", weir_error(ctx), "names both");
    has_str(" knows 70 to 89: a newer NVRTC is needed (12.0 for sm_90a, 12.8 for sm_100a)", weir_error(ctx), "and the mend");
    weiri_binary_free(ctx, &b);
    weir_close(ctx);
}

static void test_hash(void) {
    weiri_hash h;
    uint8_t digest[32];
    char hex[65];
    weiri_hash_init(&h);
    weiri_hash_add(&h, "abc", 3);
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, 32, hex);
    is_str("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex, "SHA-256 of abc (FIPS 180-4)");
    weiri_hash_init(&h);
    for (int i = 0; i < 1000; i++)
        weiri_hash_add(
            &h,
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            100);
    weiri_hash_end(&h, digest);
    weiri_hash_hex(digest, 32, hex);
    is_str("6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee", hex, "of 100000 a's");
}

/* Where the cache is when the host says nothing. */
static const char *standard_cache(const char *xdg, const char *home) {
    static char out[256];
    if (xdg) setenv("XDG_CACHE_HOME", xdg, 1);
    else unsetenv("XDG_CACHE_HOME");
    if (home) setenv("HOME", home, 1);
    else unsetenv("HOME");
    weir_ctx *ctx = weir_open(NULL);
    snprintf(out, sizeof out, "%s", ctx->cfg.cache_dir);
    weir_close(ctx);
    return out;
}

static void test_standard_cache(void) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char keep[2][256];
    snprintf(keep[0], sizeof keep[0], "%s", xdg ? xdg : "");
    snprintf(keep[1], sizeof keep[1], "%s", home ? home : "");
    is_str("/x/weir", standard_cache("/x", "/h"), "$XDG_CACHE_HOME");
    is_str("/h/.cache/weir", standard_cache(NULL, "/h"), "else $HOME");
    is_str("/h/.cache/weir", standard_cache("cache", "/h"), "a relative $XDG_CACHE_HOME is none");
    is_str("", standard_cache(NULL, "here"), "nor is a relative $HOME");
    is_str("", standard_cache(NULL, NULL), "without both there is no cache");
    standard_cache(xdg ? keep[0] : NULL, home ? keep[1] : NULL);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    atexit(remove_folder);
    weir_ctx *ctx = open_in("");
    weiri_binary b;
    test_hash();
    test_standard_cache();
    test_log_facts();
    test_preamble_text(ctx);
    test_primitives();
    weir_status st = compile(ctx, plain, WEIR_ARCH_SM_90A, &b);
    weiri_binary_free(ctx, &b);
    if (st == WEIR_E_NO_COMPILER) {
        ok(true, "the rest # SKIP %s", weir_error(ctx));
    } else {
        test_ptxas(ctx);
    test_mma(ctx);
        test_cache();
        test_processes();
        test_many();
        test_no_cache();
        test_old_nvrtc();
    }
    weir_close(ctx);
    return done();
}
